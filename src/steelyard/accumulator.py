"""Accumulator: batches in, as a training loop or several machines make them; one report out.

The report is that of all the data at once, to the bit: the order of the batches, their split and the machine that saw
them do not matter, and a unit that was seen twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.align.gather import SHAPES, Batch, Place, gather
from steelyard.api import By, evaluate
from steelyard.core.errors import InputError
from steelyard.core.metric import Metric
from steelyard.io.sources import read_sides
from steelyard.metrics import catalogue
from steelyard.report.model import Report


class Accumulator:
    """Gather batches of a task, then report.

    `update` takes what `evaluate` takes, for some of the units; `merge` takes over another accumulator, which may come
    from another process (it can be pickled); `report` evaluates all that was gathered.
    """

    def __init__(self, task: str, *, columns: Mapping[str, str] | None = None) -> None:
        self.task = catalogue.find_task(task)
        if self.task.shape not in SHAPES:
            raise InputError(f"task '{task}' cannot be gathered batch by batch", remedy="Evaluate all data at once.")
        self.columns = dict(columns or {})
        self.batches: list[Batch] = []

    def update(self, truth: Any, predictions: Any = None) -> None:
        """Take one batch."""
        sides = read_sides(self.task, truth, predictions, self.columns)
        batch = len(self.batches)
        self.batches.append(
            (
                replace(sides[0], place=Place(f"batch {batch}, truth")),
                replace(sides[1], place=Place(f"batch {batch}, predictions")),
            )
        )

    def merge(self, other: Accumulator) -> None:
        """Take over what another accumulator of the same task has gathered."""
        if other.task.name != self.task.name:
            raise InputError(f"an accumulator of '{other.task.name}' cannot be merged into one of '{self.task.name}'")
        self.batches += other.batches

    def __len__(self) -> int:
        return len(self.batches)

    def report(
        self,
        metrics: Sequence[str | Metric] | str | None = None,
        *,
        by: By = (),
        confidence: float | None = 0.95,
        draws: int = 1000,
        seed: int = 0,
        missing: str | None = None,
        extra: str | None = None,
        options: Mapping[str, Any] | None = None,
        save_draws: bool = False,
    ) -> Report:
        """Evaluate all batches as one; the settings are those of `evaluate`."""
        if not self.batches:
            raise InputError("nothing was gathered", remedy="Call update() first.")
        gathered = gather(self.batches, self.task.truth.key[0])
        report = evaluate(
            self.task.name,
            gathered.truth,
            gathered.prediction,
            metrics,
            by=by,
            confidence=confidence,
            draws=draws,
            seed=seed,
            missing=missing,
            extra=extra,
            options=options,
            save_draws=save_draws,
        )
        notes = list(report.notes)
        if gathered.repeated:
            notes.append(f"{gathered.repeated} units ({self.task.unit}) came more than once and count once.")
        if gathered.unlike:
            notes.append(f"{gathered.unlike} of them came with other predictions; one copy is kept by its contents.")
        return replace(report, notes=tuple(notes))

    def __getstate__(self) -> dict[str, Any]:
        return {"task": self.task.name, "columns": self.columns, "batches": self.batches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.task = catalogue.find_task(state["task"])
        self.columns, self.batches = state["columns"], state["batches"]
