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

from steelyard.core.errors import InputError, InvalidResult, MissingFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import is_entry
from steelyard.io.json import parse_json
from steelyard.io.text import open_text
from steelyard.io.write import write_text
from steelyard.version import __version__
from steelyard.vlm.answers import MODES, MOST_GRAMS
from steelyard.vlm.frames import Frame
from steelyard.vlm.images import Picture, blank
from steelyard.vlm.journal import reading_key
from steelyard.vlm.prompts import FOLLOW_UP
from steelyard.vlm.questions import Prompt, question
from steelyard.vlm.shots import Shots

NAME = "run.json"
SCHEMA = "steelyard/vlm-run/1"
MOST_REPEATS = 100
REAL, BLANK, SWAPPED = "real", "blank", "swapped"
# What of a question does not decide how a reply is read; pictures are known by their digests.
_NOT_READ = ("target", "minus", "follow_up", "images", "frames", "options_column", "target_format")
NO_NAME = "the prompt gives the food's name, and the frame has none"


class RunPlan(Frozen):
    """A model, how it is asked, and what it is asked. `asks` says of own questions what their answers are, by name.

    Each question about a frame is asked `repeat` times.
    """

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
    repeat: int = 1

    def prompts_by_name(self) -> dict[str, Prompt]:
        """The prompts by name, each with what its answer is."""
        return {
            name: question(name, {**self.asks[name], "prompt": text}, NAME) if name in self.asks else Prompt(name, text)
            for name, text in self.prompts.items()
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the frames that questions give or are scored by."""
        asked = [prompt for prompt in self.prompts_by_name().values() if prompt.fills]
        return tuple(dict.fromkeys(name for prompt in asked for name in prompt.needs))


class Question(Frozen):
    """One reading that is wanted. Without a picture or a needed value, `problem` says so, and `key` is empty.

    `more` are the pictures that are shown behind the first, `asked` is the question about this very row, `repeat` how
    often it was asked before.
    """

    frame: Frame
    prompt: str
    variant: str
    text: str
    picture: Picture | None
    key: str
    asked: Prompt
    follow_up: str
    problem: str = ""
    more: tuple[Picture, ...] = ()
    repeat: int = 0

    @property
    def picture_digests(self) -> str:
        """The pictures by their digests."""
        return pictures_key((self.picture, *self.more) if self.picture else ())


def pictures_key(pictures: Sequence[Picture]) -> str:
    """What pictures are known by: the digest of one, or of all in their order."""
    return pictures[0].digest if len(pictures) == 1 else "+".join(picture.digest for picture in pictures)


def questions(plan: RunPlan, frames: Sequence[Frame]) -> Iterator[Question]:
    """Every question of a plan, those about one frame together. Frames that are not valid are not asked about."""
    shown = [frame for frame in frames if frame.valid]
    prompts = list(plan.prompts_by_name().values())
    plain = [(prompt, prompt.follow_up or plan.follow_up, _settings(plan, prompt)) for prompt in prompts]
    others = {prompt.shots: _swapped_pictures(shown, prompt) if plan.controls else {} for prompt in prompts}
    max_side = int(plan.settings.get("max_side", 0))
    for frame in shown:
        for variant in (REAL, BLANK, SWAPPED) if plan.controls else (REAL,):
            for prompt, follow_up, settings in plain:
                seen = _pictures_for(frame, prompt, variant, others[prompt.shots])
                problem = seen.problem or _lacks(prompt, frame)
                asked = prompt
                if prompt.by_row:
                    try:
                        asked = prompt.about(frame.text, seen.pictures[0] if seen.pictures else None, max_side)
                    except InputError as error:
                        problem = problem or str(error)
                    follow_up, settings = asked.follow_up or plan.follow_up, _settings(plan, asked)
                text = asked.render(frame.food, frame.text)
                picture, *more = seen.pictures or (None,)
                for repeat in range(plan.repeat if variant == REAL else 1):
                    key = ""
                    if not problem:
                        own = {**settings, "repeat": repeat} if repeat else settings
                        key = reading_key(plan.fingerprint, text, follow_up, own, pictures_key(seen.pictures))
                    yield Question(
                        frame,
                        prompt.name,
                        variant,
                        text,
                        picture,
                        key,
                        asked,
                        follow_up,
                        problem,
                        tuple(filter(None, more)),
                        repeat,
                    )


def _pictures_for(frame: Frame, prompt: Prompt, variant: str, others: Mapping[tuple[str, int], Shots]) -> Shots:
    """The pictures that are shown: a frame's own, grey ones, or those of another sequence."""
    own = frame.pictures(prompt)
    if variant == SWAPPED:
        return others.get((frame.sequence, frame.t), Shots(problem="there is no other sequence to swap images with"))
    return Shots(tuple(map(blank, own.pictures)), own.problem) if variant == BLANK else own


def _settings(plan: RunPlan, prompt: Prompt) -> dict[str, Any]:
    """What an answer depends on beside the words: how it is read decides whether a follow-up is asked."""
    if prompt.kind.name == "grams":
        return {**plan.settings, "mode": plan.mode, "most": plan.most}
    spec = {name: value for name, value in prompt.spec.items() if name not in _NOT_READ}
    return {**plan.settings, "mode": plan.mode, "answer": spec}


def _lacks(prompt: Prompt, frame: Frame) -> str:
    """Why a prompt cannot be filled in for a frame; empty where it can."""
    if prompt.needs_name and not frame.food:
        return NO_NAME
    empty = next((name for name in prompt.columns if not frame.text(name).strip()), None)
    return f"the prompt gives the column '{empty}', and the frame has nothing there" if empty else ""


def _swapped_pictures(frames: Sequence[Frame], prompt: Prompt) -> dict[tuple[str, int], Shots]:
    """For each frame the pictures of another sequence, at the same place in it where it is that long."""
    by_sequence: dict[str, list[tuple[Frame, Shots]]] = {}
    for frame in frames:
        by_sequence.setdefault(frame.sequence, []).append((frame, frame.pictures(prompt)))
    names = [name for name, members in by_sequence.items() if any(shots.pictures for _, shots in members)]
    if len(names) < 2:
        return {}
    places = {name: place for place, name in enumerate(names)}
    chosen = {}
    for name, members in by_sequence.items():
        after = names[(places[name] + 1) % len(names)] if name in places else names[0]
        pictures = [shots for _, shots in by_sequence[after] if shots.pictures]
        for place, (frame, _) in enumerate(members):
            chosen[frame.sequence, frame.t] = pictures[place % len(pictures)]
    return chosen


def merged_plans(folder: Path, plan: RunPlan) -> list[RunPlan]:
    """The plans of a run with a new one; one of the same model is replaced."""
    plans = [old for old in read_plans(folder) if old.model != plan.model] if (folder / NAME).exists() else []
    return [*plans, plan]


def save_plans(folder: Path, plans: Sequence[RunPlan]) -> None:
    """Keep plans with the run."""
    data = {"schema": SCHEMA, "steelyard": __version__, "plans": [asdict(plan) for plan in plans]}
    write_text(folder / NAME, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def read_plans(folder: Path) -> list[RunPlan]:
    """The plans of a run, in the order of their first asking."""
    path = folder / NAME
    if not is_entry(path):
        raise MissingFile("not the folder of a run", where=str(folder), remedy="Give the folder that 'vlm run' wrote.")
    with open_text(path, str(path)) as file:
        text = file.read()
    try:
        data = parse_json(text, str(path))
        if data["schema"] != SCHEMA:
            raise InvalidResult(f"schema '{data['schema']}' is not known", where=str(path), remedy=f"Known: {SCHEMA}.")
        return [_plan(plan) for plan in data["plans"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InvalidResult(f"not readable: {error}", where=str(path)) from None


def _plan(data: dict[str, Any]) -> RunPlan:
    """A plan of plain values; ValueError where one is of another kind than a run writes."""
    plan = RunPlan(**data)
    texts = [plan.model, plan.label, plan.fingerprint, plan.follow_up, plan.mode]
    if not isinstance(plan.prompts, dict) or not all(isinstance(t, str) for t in [*texts, *plan.prompts.values()]):
        raise ValueError("a plan holds values of another kind")
    if not isinstance(plan.settings, dict) or type(plan.settings.get("max_side", 0)) is not int:
        raise ValueError("a plan holds settings of another kind")
    if type(plan.most) not in (int, float) or type(plan.controls) is not bool:
        raise ValueError("a plan holds settings of another kind")
    if type(plan.repeat) is not int or not 1 <= plan.repeat <= MOST_REPEATS:
        raise ValueError("a plan holds repeats of another kind")
    if not isinstance(plan.asks, dict) or not all(isinstance(spec, dict) for spec in plan.asks.values()):
        raise ValueError("a plan holds questions of another kind")
    plan.prompts_by_name()
    if plan.mode not in MODES:
        raise ValueError(f"there is no mode '{plan.mode}'")
    return plan
