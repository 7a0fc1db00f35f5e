"""Drawn data of documents: pages of blocks in reading order; replies with other letters, blocks that are lost or added."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

WORDS = (
    "scale",
    "plate",
    "grams",
    "rice",
    "soup",
    "bread",
    "warm",
    "guests",
    "sheet",
    "menu",
    "mean",
    "twice",
    "lunch",
)
TRUTH = ("page", "block", "type", "text", "order", "kind", "sample_weight")
REPLY = ("page", "block", "type", "text", "order", "cdm")
KINDS = ("header", "title", "text", "text", "formula", "table")


def sentence(rng: np.random.Generator, count: int) -> str:
    return " ".join(rng.choice(WORDS, count))


def cells(values: np.ndarray) -> str:
    rows = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in values.reshape(-1, 2).tolist())
    return f"<table>{rows}</table>"


def misread(rng: np.random.Generator, kind: str, text: str) -> str:
    if kind == "table":
        return text.replace("1", "7", 1) if rng.random() < 0.5 else text
    letters = list(text)
    for _ in range(int(rng.integers(0, 4))):
        letters[int(rng.integers(0, len(letters)))] = str(rng.choice(list("xyz")))
    return "".join(letters)


def draw_documents(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Of each page: a header, a title, two texts, a formula, a table; two may be swapped, one lost, one invented."""
    truth: Data = {name: [] for name in TRUTH}
    reply: Data = {name: [] for name in REPLY}
    for unit in range(units):
        page, weight = f"p{unit}", 1 + hash_of(f"p{unit}") % 3
        blocks = []
        for place, kind in enumerate(KINDS):
            count = {"header": 2, "title": 3, "formula": 1}.get(kind, int(rng.integers(5, 14)))
            text = cells(rng.integers(10, 200, 6)) if kind == "table" else f"{sentence(rng, count)} {unit}"
            blocks.append((kind, f"$${text} = {place}$$" if kind == "formula" else text))
            row = (page, f"b{place}", kind, blocks[-1][1], float(place), "abc"[place % 3], float(weight))
            for name, value in zip(TRUTH, row, strict=True):
                truth[name].append(value)
        said = [(kind, misread(rng, kind, text)) for kind, text in blocks if kind != "header" or rng.random() < 0.5]
        if rng.random() < 0.4:
            said[1], said[2] = said[2], said[1]
        if rng.random() < 0.3:
            del said[int(rng.integers(0, len(said)))]
        if rng.random() < 0.4:
            said.append(("text", said[1][1] if rng.random() < 0.5 else sentence(rng, 8).upper()))
        if rng.random() < 0.1:
            said = [("text", "")]  # an empty reply
        cdm = float(rng.choice([0.25, 0.5, 0.9]))
        for place, (kind, text) in enumerate(said):
            for name, value in zip(REPLY, (page, f"r{place}", kind, text, float(place), cdm), strict=True):
                reply[name].append(value)
    return truth, reply


def perfect_documents(truth: Data) -> Data:
    """The true blocks themselves."""
    return {name: list(truth[name]) for name in REPLY[:-1]} | {"cdm": [1.0] * len(truth["page"])}


DRAWN = {"documents": Drawn(draw_documents, perfect_documents, unit="page", weight="sample_weight")}
