"""What a run asks: every frame with every prompt, and the controls. Known by keys, so that nothing is asked twice.

A plan is kept in the run's folder for each model; scoring makes the same questions again and looks their keys up in the
journal. So a journal may hold answers to older prompts, and they are never mixed with new ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.io.text import open_text
from steelyard.io.write import write_text
from steelyard.version import __version__
from steelyard.vlm.answers import MODES, MOST_GRAMS
from steelyard.vlm.frames import Frame
from steelyard.vlm.images import Picture, blank
from steelyard.vlm.journal import reading_key
from steelyard.vlm.prompts import FOLLOW_UP
from steelyard.vlm.questions import Prompt, question

NAME = "run.json"
SCHEMA = "steelyard/vlm-run/1"
REAL, BLANK, SWAPPED = "real", "blank", "swapped"
NO_NAME = "the prompt gives the food's name, and the frame has none"


@frozen
class Plan:
    """A model, how it is asked, and what it is asked. `asks` says of own questions what their answers are, by name."""

    model: str
    label: str
    fingerprint: str
    settings: Mapping[str, Any]
    prompts: Mapping[str, str]
    follow_up: str = FOLLOW_UP
    mode: str = "whole"
    most: float = MOST_GRAMS
    controls: bool = False
    environment: Mapping[str, Any] = field(default_factory=dict)
    asks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def asked(self) -> dict[str, Prompt]:
        """The prompts by name, each with what its answer is."""
        return {
            name: question(name, {**self.asks[name], "prompt": text}, NAME) if name in self.asks else Prompt(name, text)
            for name, text in self.prompts.items()
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the frames that questions give or are scored by."""
        asked = [prompt for prompt in self.asked().values() if prompt.fills]
        return tuple(dict.fromkeys(name for prompt in asked for name in (*prompt.columns, prompt.target)))


@frozen
class Question:
    """One reading that is wanted. Without a picture or a needed value, `problem` says so, and `key` is empty."""

    frame: Frame
    prompt: str
    variant: str
    text: str
    picture: Picture | None
    key: str
    asked: Prompt
    follow_up: str
    problem: str = ""


def questions(plan: Plan, frames: Sequence[Frame]) -> Iterator[Question]:
    """Every question of a plan, those about one frame together. Frames that are not valid are not asked about."""
    shown = [frame for frame in frames if frame.valid]
    other = _swapped(shown) if plan.controls else {}
    asked = [(prompt, prompt.follow_up or plan.follow_up, _settings(plan, prompt)) for prompt in plan.asked().values()]
    for frame in shown:
        variants: dict[str, tuple[Picture | None, str]] = {REAL: (frame.picture, frame.problem)}
        if plan.controls:
            variants[BLANK] = (blank(frame.picture) if frame.picture else None, frame.problem)
            swap = other.get((frame.sequence, frame.t))
            variants[SWAPPED] = (swap, "" if swap else "there is no other sequence to swap images with")
        for variant, (picture, problem) in variants.items():
            for prompt, follow_up, settings in asked:
                lacks = _lacks(prompt, frame)
                rendered = prompt.render(frame.food, frame.text)
                key = ""
                if picture is not None and not lacks:
                    key = reading_key(plan.fingerprint, rendered, follow_up, settings, picture.digest)
                yield Question(frame, prompt.name, variant, rendered, picture, key, prompt, follow_up, problem or lacks)


def _settings(plan: Plan, prompt: Prompt) -> dict[str, Any]:
    """What an answer depends on beside the words: how it is read decides whether a follow-up is asked."""
    if prompt.kind.name == "grams":
        return {**plan.settings, "mode": plan.mode, "most": plan.most}
    spec = {name: value for name, value in prompt.spec.items() if name not in ("target", "follow_up")}
    return {**plan.settings, "mode": plan.mode, "answer": spec}


def _lacks(prompt: Prompt, frame: Frame) -> str:
    """Why a prompt cannot be filled in for a frame; empty where it can."""
    if prompt.needs_name and not frame.food:
        return NO_NAME
    empty = next((name for name in prompt.columns if not frame.text(name).strip()), None)
    return f"the prompt gives the column '{empty}', and the frame has nothing there" if empty else ""


def _swapped(frames: Sequence[Frame]) -> dict[tuple[str, int], Picture]:
    """For each frame the picture of another sequence, at the same place in it where it is that long."""
    by_sequence: dict[str, list[Frame]] = {}
    for frame in frames:
        by_sequence.setdefault(frame.sequence, []).append(frame)
    names = [name for name, members in by_sequence.items() if any(frame.picture for frame in members)]
    if len(names) < 2:
        return {}
    chosen = {}
    for name, members in by_sequence.items():
        after = names[(names.index(name) + 1) % len(names)] if name in names else names[0]
        pictures = [frame.picture for frame in by_sequence[after] if frame.picture]
        for place, frame in enumerate(members):
            chosen[frame.sequence, frame.t] = pictures[place % len(pictures)]
    return chosen


def merged_plans(folder: Path, plan: Plan) -> list[Plan]:
    """The plans of a run with a new one; one of the same model is replaced."""
    plans = [old for old in read_plans(folder) if old.model != plan.model] if (folder / NAME).exists() else []
    return [*plans, plan]


def save_plans(folder: Path, plans: Sequence[Plan]) -> None:
    """Keep plans with the run."""
    data = {"schema": SCHEMA, "steelyard": __version__, "plans": [asdict(plan) for plan in plans]}
    write_text(folder / NAME, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def read_plans(folder: Path) -> list[Plan]:
    """The plans of a run, in the order of their first asking."""
    path = folder / NAME
    if not path.is_file():
        raise InputError("this is no run's folder", where=str(folder), remedy="Give what 'vlm run --out' was given.")
    with open_text(path, str(path)) as file:
        text = file.read()
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise InputError(f"schema '{data['schema']}' is not known", where=str(path), remedy=f"Known: {SCHEMA}.")
        return [_plan(plan) for plan in data["plans"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not readable: {error}", where=str(path)) from None


def _plan(data: dict[str, Any]) -> Plan:
    """A plan of plain values; ValueError where one is of another kind than a run writes."""
    plan = Plan(**data)
    texts = [plan.model, plan.label, plan.fingerprint, plan.follow_up, plan.mode]
    if not isinstance(plan.prompts, dict) or not all(isinstance(t, str) for t in [*texts, *plan.prompts.values()]):
        raise ValueError("a plan holds values of another kind")
    if not isinstance(plan.settings, dict) or type(plan.most) not in (int, float) or type(plan.controls) is not bool:
        raise ValueError("a plan holds settings of another kind")
    if not isinstance(plan.asks, dict) or not all(isinstance(spec, dict) for spec in plan.asks.values()):
        raise ValueError("a plan holds questions of another kind")
    plan.asked()
    if plan.mode not in MODES:
        raise ValueError(f"there is no mode '{plan.mode}'")
    return plan
