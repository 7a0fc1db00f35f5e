"""Sorted runs of several files, merged a part at a time: a ranking that is larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.core.ranking import tied_by_unit
from steelyard.core.records import Array
from steelyard.io.container import Reader, unfit
from steelyard.io.valid import check_range

Columns = dict[str, Array]


class SortedEvents:
    """The events of one class in one file, from the highest score to the lowest; `place` says which unit each is of."""

    def __init__(
        self, reader: Reader, prefix: str, columns: Sequence[str], start: int, stop: int, place: Array
    ) -> None:
        self.reader, self.prefix, self.columns, self.place = reader, prefix, columns, place
        self.next, self.stop = start, stop
        self.held: Columns = {}

    def __len__(self) -> int:
        return len(self.held["score"]) if self.held else 0

    @property
    def first(self) -> float:
        """The highest score that is held."""
        return float(self.held["score"][0])

    @property
    def last(self) -> float:
        """The lowest score that is held."""
        return float(self.held["score"][-1])

    @property
    def open(self) -> bool:
        """Whether there is more to read."""
        return self.next < self.stop

    def fill(self, rows: int) -> None:
        """Read on until so many rows are held."""
        more = min(rows - len(self), self.stop - self.next)
        if more > 0:
            part = self._read(more)
            joined = (
                {name: np.concatenate([self.held[name], part[name]]) for name in self.columns} if len(self) else part
            )
            self.held = joined

    def take(self, above: float | None) -> Columns:
        """Give away the rows with a score above this one, or all."""
        count = len(self) if above is None else int(np.searchsorted(-self.held["score"], -above, side="left"))
        taken = {name: column[:count] for name, column in self.held.items()}
        self.held = {name: column[count:] for name, column in self.held.items()}
        return taken

    def _read(self, rows: int) -> Columns:
        start, self.next = self.next, self.next + rows
        columns = {name: self.reader.rows(f"{self.prefix}{name}", start, self.next) for name in self.columns}
        check_range(columns["unit"], len(self.place), "unit", self.reader.path)
        if np.isnan(columns["score"]).any():
            raise unfit(self.reader.path, "a score is not a number")
        return columns | {"unit": self.place[columns["unit"]]}


def merge_events(runs: Sequence[SortedEvents], most: int) -> Iterator[Columns]:
    """All events from the highest score to the lowest, equal scores by unit, in parts of about so many rows.

    Equal scores come in one part, however many they are.
    """
    runs = [run for run in runs if run.open]
    each = max(2, most // max(1, len(runs)))
    while runs:
        for run in runs:
            run.fill(each)
        while True:
            reading = [run for run in runs if run.open]
            # What a run has not read yet is no higher than the last that it holds, but may be equal to it.
            cut = max((run.last for run in reading), default=None)
            if cut is None or any(run.first > cut for run in runs):
                break
            for run in reading:  # one score fills all that a run holds: look further
                if run.last == cut:
                    run.fill(2 * len(run))
        taken = [run.take(cut) for run in runs]
        columns = {name: np.concatenate([part[name] for part in taken]) for name in taken[0]}
        order = tied_by_unit(columns["score"], columns["unit"])
        yield {name: column[order] for name, column in columns.items()}
        runs = [run for run in runs if run.open or len(run)]
