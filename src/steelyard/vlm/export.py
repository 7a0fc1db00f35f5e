"""Readings as the files that `evaluate` and `compare` take: the truth, and predictions by model and prompt."""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.core.errors import CannotWrite
from steelyard.io.write import csv_text, write_text
from steelyard.vlm.plan import REAL
from steelyard.vlm.readings import Taken, VlmRun
from steelyard.vlm.score_answers import replies
from steelyard.vlm.sides import BOX_COLUMNS, PLACE_COLUMNS, Asked, SideColumns, known_columns, weight_sides


def write_sides(run: VlmRun, folder: Path) -> list[str]:
    """Write the files; gives their paths. Weights are as `sequences` takes them, own questions as their task does."""
    groups: dict[tuple[str, str, int], list[Taken]] = {}
    repeated = {(taken.model, taken.prompt) for taken in run.taken if taken.repeat}
    for taken in run.taken:
        if taken.variant == REAL:
            groups.setdefault((taken.model, taken.prompt, taken.repeat), []).append(taken)
    own = tuple(name for name in known_columns(run) if name not in ("answer", "choices", "group", "question"))
    asked = Asked({}, own, None, {}, {})
    files: dict[str, SideColumns] = {}
    for (model, prompt, repeat), taken_here in groups.items():
        if taken_here[0].asked.weighs:
            weighed = {(f.sequence, f.t): f for f in run.frames if f.valid and f.weight == f.weight}
            values = {(r.frame.sequence, r.frame.t): r.answer.grams for r in taken_here if r.answer.ok}
            truth, predictions = weight_sides(weighed, values, "sequences", asked)
            name = "truth.csv"
        else:
            answers = replies(model, taken_here, str(run.folder))
            taken_names = {"boxes": BOX_COLUMNS, "grounding": PLACE_COLUMNS}.get(answers.task, ())
            theirs = [name for name in own if name not in taken_names]
            truth, predictions = answers.sides(answers.truth, Asked({}, tuple(theirs), None, {}, {}))
            name = f"{_safe(prompt)}-truth.csv"
        files[name] = truth
        place = f"{_safe(model)}--{_safe(prompt)}{f'--{repeat + 1}' if (model, prompt) in repeated else ''}.csv"
        if place in files:
            raise CannotWrite(f"two prompts would be written to {place}", remedy="Rename one of them.")
        files[place] = predictions
    for name, side in files.items():
        write_text(folder / name, csv_text(list(side), zip(*side.values(), strict=True)))
    return [str(folder / name) for name in files]


def _safe(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "_", name).strip(".") or "_"
