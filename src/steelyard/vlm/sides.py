"""Frames and readings as the two sides that `evaluate` and `compare` take, with the columns that settings name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard.core import catalogue
from steelyard.core.errors import Conflict, InputError, InvalidNumber, MissingColumn, nearest
from steelyard.core.frozen import Frozen
from steelyard.io.beside import in_file, values_beside
from steelyard.vlm.answers import Answer
from steelyard.vlm.frames import FRAMES, Frame
from steelyard.vlm.kinds import INGREDIENTS, nutrient_cell
from steelyard.vlm.questions import Prompt
from steelyard.vlm.readings import VlmRun

Key = tuple[str, int]
SideColumns = dict[str, list[Any]]
WEIGHT = "sample_weight"
BOX_COLUMNS = ("image", "label", "x", "y", "w", "h", "score")
PLACE_COLUMNS = ("image", "expression", "x", "y", "w", "h", "width", "height")
# A class that no true box has is wrong, and no reason to stop.
EXTRA: dict[str, dict[str, Any]] = {
    "boxes": {"extra": "skip"},
    "answers": {},
    "nutrients": {},
    "grounding": {},
    "documents": {},
}


class Asked(Frozen):
    """What is asked for of every report: metrics by task, columns of the frames that come along, and settings.

    `beside` are columns that lie in a file of their own (COLUMN@FILE): by name, the value of each sequence. `missing`
    is the policy for frames without a number.
    """

    metrics: Mapping[str, tuple[str, ...] | None]
    columns: tuple[str, ...]
    weight: str | None
    report: Mapping[str, Any]
    comparison: Mapping[str, Any]
    beside: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: str = "skip"

    def of(self, task: str, defaults: Sequence[str]) -> Sequence[str]:
        """The metrics of a task: those that were asked for, as far as it has them, else its defaults."""
        return self.metrics.get(task) or defaults


def metrics_by_task(metrics: Sequence[str], tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which of the metrics each task has. One that none has, or that is set wrongly, is an error."""
    taken: dict[str, tuple[str, ...]] = dict.fromkeys(tasks, ())
    for spec in metrics:
        errors = []
        for task in tasks:
            try:
                metric = catalogue.parse(spec, task)
            except InputError as error:
                errors.append(error)
            else:
                taken[task] = (*taken[task], str(metric))
        if len(errors) == len(tasks) and errors:
            raise errors[0]
    return taken


def known_columns(run: VlmRun) -> list[str]:
    """The columns that the frames of a run have."""
    return [*FRAMES.names, *dict.fromkeys(name for frame in run.frames for name in frame.columns)]


def check_columns(run: VlmRun, columns: Sequence[str]) -> None:
    """Refuse a column that the frames of a run have not."""
    run_columns = known_columns(run)
    for name in columns:
        if name not in run_columns:
            remedy = f"{nearest(name, run_columns)} A run keeps the columns of its frames: run the same command again."
            raise MissingColumn(f"the frames of this run have no column '{name}'", where=str(run.folder), remedy=remedy)


def columns_beside(runs: Sequence[VlmRun], named: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The columns that are named as COLUMN@FILE: the value of each sequence. `named` says which option named each."""
    sequences = list(dict.fromkeys(frame.sequence for run in runs for frame in run.frames))
    task = catalogue.find_task("sequences")
    return {
        name: dict(zip(sequences, values_beside(task, sequences, name, option).tolist(), strict=True))
        for name, option in named.items()
        if in_file(name) is not None and not any(name in known_columns(run) for run in runs)
    }


def weight_sides(
    frames: Mapping[Key, Frame], values: Mapping[Key, float], task: str, asked: Asked
) -> tuple[SideColumns, SideColumns]:
    """Truth and predictions of weights, for `weights` or `sequences`."""
    unit, item = ("dish", "item") if task == "weights" else ("sequence", "t")
    truth: SideColumns = {unit: [s for s, _ in frames], item: [t for _, t in frames]}
    predictions: SideColumns = {unit: [s for s, _ in values], item: [t for _, t in values]}
    truth["weight"] = [frame.weight for frame in frames.values()]
    predictions["weight"] = list(values.values())
    if task == "sequences" and any(not math.isnan(frame.kcal_per_g) for frame in frames.values()):
        truth["kcal_per_g"] = [frame.kcal_per_g for frame in frames.values()]
    if task == "sequences" and any(map(_needs_time, asked.metrics.get(task) or ())):
        truth["time"] = [
            _number(frame, "time", "time") if frame.text("time") else math.nan for frame in frames.values()
        ]
    return _with_columns(
        truth, list(frames.values()), asked, ("weight", "kcal_per_g", "time", "sequence", "t")
    ), predictions


def answer_sides(
    rows: Mapping[Key, Prompt],
    truth: Mapping[Key, str],
    frames: Mapping[Key, Frame],
    answers: Mapping[Key, Answer],
    asked: Asked,
) -> tuple[SideColumns, SideColumns]:
    """True answers and replies, for `answers`."""
    names = [f"{sequence}/{t}" for sequence, t in truth]
    side: SideColumns = {
        "question": names,
        "group": [sequence for sequence, _ in truth],
        "answer": list(truth.values()),
    }
    if any(rows[key].kind.options for key in truth):
        side["choices"] = [json.dumps(dict(rows[key].kind.options)) for key in truth]
    replies = [answers[key] for key in truth]
    predictions: SideColumns = {
        "question": names,
        "answer": [answer.said if answer.ok else "" for answer in replies],
        "outcome": [answer.outcome for answer in replies],
    }
    return _with_columns(side, [frames[key] for key in truth], asked, ()), predictions


def box_sides(
    truth: Mapping[Key, str], frames: Mapping[Key, Frame], answers: Mapping[Key, Answer], asked: Asked
) -> tuple[SideColumns, SideColumns]:
    """True boxes and those of replies, for `boxes`: a reply that is not an answer has none."""
    side, keys = _boxes(truth)
    replies = {key: answers[key].said if answers[key].ok else "[]" for key in truth}
    predictions, _ = _boxes({key: text for key, text in replies.items() if text != "[]"})
    del side["score"]
    return _with_columns(side, [frames[key] for key in keys], asked, ()), predictions


def grounding_sides(
    rows: Mapping[Key, Prompt],
    truth: Mapping[Key, str],
    frames: Mapping[Key, Frame],
    answers: Mapping[Key, Answer],
    asked: Asked,
) -> tuple[SideColumns, SideColumns]:
    """True boxes of what questions name and the replies, for `grounding`: frames of one picture are one unit."""
    side: SideColumns = {name: [] for name in PLACE_COLUMNS}
    keys = []
    for key, text in truth.items():
        frame, (sequence, t), form = frames[key], key, rows[key].kind.boxes
        for x1, y1, x2, y2 in json.loads(text) or [[math.nan] * 4]:
            keys.append(key)
            size = (form.width or math.nan, form.height or math.nan)
            values = (frame.image or sequence, f"{sequence}/{t}", x1, y1, x2 - x1, y2 - y1, *size)
            for name, value in zip(side, values, strict=True):
                side[name].append(value)
    predictions: SideColumns = {
        "image": [frames[key].image or key[0] for key in truth],
        "expression": [f"{sequence}/{t}" for sequence, t in truth],
        # In pixels, or the name of the outcome, which nothing reads as a box.
        "reply": [answers[key].said if answers[key].ok else answers[key].outcome for key in truth],
    }
    named = {key: " ".join(frames[key].text(name) for name in rows[key].columns) for key in truth}
    if any(named.values()):
        side["text"] = [named[key] for key in keys]
    return _with_columns(side, [frames[key] for key in keys], asked, ("image",)), predictions


def nutrient_sides(
    truth: Mapping[Key, str],
    targets: Sequence[str],
    frames: Mapping[Key, Frame],
    answers: Mapping[Key, Answer],
    asked: Asked,
) -> tuple[SideColumns, SideColumns]:
    """True nutrients and those of replies, for `nutrients`: a dish is a sequence, its frames are items if several."""
    several = len({sequence for sequence, _ in truth}) < len(truth)

    def side_of(held: Mapping[Key, Mapping[str, Any]]) -> SideColumns:
        side: SideColumns = {"dish": [sequence for sequence, _ in held]}
        if several:
            side["item"] = [t for _, t in held]
        for name in targets:
            empty = "" if name == INGREDIENTS else math.nan
            side[name] = [nutrient_cell(values[name]) if name in values else empty for values in held.values()]
        return side

    true = side_of({key: json.loads(text) for key, text in truth.items()})
    predicted = side_of({key: json.loads(answers[key].said) for key in truth if answers[key].ok})
    return _with_columns(true, [frames[key] for key in truth], asked, tuple(true)), predicted


def page_sides(
    truth: Mapping[Key, str], frames: Mapping[Key, Frame], answers: Mapping[Key, Answer], asked: Asked
) -> tuple[SideColumns, SideColumns]:
    """True pages and those of replies, for `documents`: a sequence is a document, and a reply that failed is empty."""
    names = [f"{sequence}/{t}" for sequence, t in truth]
    side: SideColumns = {"page": names, "markdown": list(truth.values()), "document": [key[0] for key in truth]}
    replies = [answers[key].said if answers[key].ok else "" for key in truth]
    return _with_columns(side, [frames[key] for key in truth], asked, ()), {"page": names, "markdown": replies}


def _boxes(held: Mapping[Key, str]) -> tuple[SideColumns, list[Key]]:
    """Boxes one in a row, and the frame of each; a frame without any has a row without a label."""
    side: SideColumns = {name: [] for name in BOX_COLUMNS}
    keys = []
    for (sequence, t), text in held.items():
        boxes = json.loads(text) or [{"box": [0, 0, 0, 0], "label": "", "score": 0}]
        for box in boxes:
            keys.append((sequence, t))
            values = (f"{sequence}/{t}", box["label"], *box["box"], box["score"])
            for name, value in zip(side, values, strict=True):
                side[name].append(value)
    return side, keys


def _with_columns(side: SideColumns, frames: Sequence[Frame], asked: Asked, same: Sequence[str]) -> SideColumns:
    """The truth with the frames' columns that settings name; `same` are those that it has by the same name."""
    for name in asked.columns:
        if name in side and name not in same:
            raise Conflict(
                f"the column '{name}' of the frames has a name that the task needs",
                remedy="Give it another name in the frames, and run the same command again.",
            )
        of = asked.beside.get(name)
        side.setdefault(name, [frame.text(name) if of is None else of[frame.sequence] for frame in frames])
    if asked.weight is not None:
        side[WEIGHT] = [_number(frame, asked.weight, "weight") for frame in frames]
    return side


def _needs_time(spec: str) -> bool:
    return spec.split("(")[0] in ("mae_rate", "pmae_rate", "mae_duration") or "by=second" in spec


def _number(frame: Frame, column: str, what: str) -> float:
    """A column of a frame as a number of at least 0."""
    text = frame.text(column)
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise InvalidNumber(
            f"the {what} '{text}' in the column '{column}' is not a number of at least 0",
            where=f"frame {frame.t} of sequence '{frame.sequence}'",
            remedy="Correct the frames, and run the same command again.",
        )
    return weight
