"""Drawn data of answers: images with questions of every kind."""

from __future__ import annotations

import json

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

_WORDS = (
    "red",
    "blue",
    "a dog",
    "the bus stop",
    "Main Street",
    "12.50 EUR",
    "naïve café",
    "open",
    "left side",
    "two men",
)
_OPTIONS = ("a cat", "a dog", "a bird", "a fish")


def draw_answers(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Yes and no, a count, a choice, a text with several accepted answers; replies that slip, or say nothing."""
    truth: Data = {name: [] for name in ("question", "group", "answer", "choices", "kind", "sample_weight")}
    replies: Data = {name: [] for name in ("question", "answer", "judge", "logged:score", "outcome")}

    def ask(unit: int, kind: str, answers: list[str], reply: str, choices: str = "") -> None:
        question = f"q{unit}-{kind}"
        for answer in answers:
            row = (question, f"i{unit}", answer, choices, kind[:2], 1 + hash_of(f"i{unit}") % 3)
            for name, value in zip(truth, row, strict=True):
                truth[name].append(value)
        outcome = "refusal" if rng.random() < 0.05 else "ok"
        row = (question, reply, round(float(rng.random()), 2), float(rng.integers(3)), outcome)
        for name, value in zip(replies, row, strict=True):
            replies[name].append(value)

    for unit in range(units):
        for place, said in enumerate(("yes", "no")):
            reply = said if rng.random() < 0.7 else str(rng.choice(["Yes.", "No, there is none", "maybe"]))
            ask(unit, f"yn{place}", [said], reply)
        count = int(rng.integers(0, 9))
        ask(unit, "count", [str(count)], str(rng.choice([str(count), f"{count + 1}", "three", "many", f"{count}.0"])))
        letters = "ABCD"
        for place in range(int(rng.integers(1, 3))):
            right = int(rng.integers(4))
            given = letters[right] if rng.random() < 0.6 else str(rng.choice(["A", "(B) a dog", "a bird", "none", ""]))
            ask(unit, f"choice{place}", [letters[right]], given, json.dumps(list(_OPTIONS)))
        text = str(rng.choice(_WORDS))
        other = str(rng.choice(_WORDS))
        wrong = "".join(c for c in text if rng.random() > 0.15) + str(rng.choice(["", "", " and more", "!"]))
        ask(unit, "text", [text] * int(rng.integers(3, 6)) + [other], wrong if rng.random() < 0.8 else text.upper())
    return truth, replies


def perfect_answers(truth: Data) -> Data:
    """For every question its first accepted answer."""
    first = dict(zip(reversed(list(truth["question"])), reversed(list(truth["answer"])), strict=True))
    ones = [1.0] * len(first)
    return {"question": list(first), "answer": list(first.values()), "judge": ones, "logged:score": ones}


DRAWN = {"answers": Drawn(draw_answers, perfect_answers, unit="group", weight="sample_weight")}
