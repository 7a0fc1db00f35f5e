"""Labels counted on a device: how many rows there are of each pair of classes.

Rows have no ids: row i of a batch's truth goes with row i of its predictions, and a row that comes twice counts twice.
Few rows are kept too, in their order, since intervals of few rows resample row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from steelyard.core.counts import count_text
from steelyard.core.distinct import DISTINCT_FROM
from steelyard.core.errors import InvalidNumber, OutOfRange, ShapeMismatch, UnknownName
from steelyard.core.numerals import is_whole
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records
from steelyard.partial.tensors import Counter, Extremes, best, column, device_of, tensor, whole
from steelyard.tasks.labels.codes import MOST_IN_A_TABLE, Counted, CountedRecords

ROOM = 1024  # classes that are counted where none are declared: 0 to 1,023
SOURCES = ("gathered truth", "gathered predictions")


def counter(options: Options, device: Any) -> LabelCounter:
    """The counter of these options on a device."""
    return LabelCounter(device_of(device), _declared_classes(options))


def _declared_classes(options: Options) -> tuple[int, ...] | None:
    """The classes as whole numbers; None where they are not declared."""
    declared = options.of("classes")
    if declared is None:
        return None
    names = list(dict.fromkeys(str(name) for name in declared["label"].tolist()))
    wrong = [name for name in names if not (is_whole(name) and str(int(name)) == name and int(name) < 1 << 24)]
    if wrong:
        raise InvalidNumber(
            f"class '{wrong[0]}' is not a non-negative whole number", where=declared.source,
            remedy="A device counts whole numbers: declare the numbers that the tensors hold.",
        )  # fmt: skip
    if not 0 < len(names) <= MOST_IN_A_TABLE:
        raise OutOfRange(
            f"{count_text(len(names), 'class', 'are')} declared", where=declared.source,
            remedy=f"A device counts from 1 to {MOST_IN_A_TABLE:,}; leave device out for more.",
        )  # fmt: skip
    return tuple(map(int, names))


class LabelCounter(Counter):
    """A matrix of counts, truth by prediction, with one more place for rows of which a label is not a class."""

    def __init__(self, device: torch.device, classes: tuple[int, ...] | None) -> None:
        self.device, self.classes = device, classes
        self.size = ROOM if classes is None else len(classes)
        self.counts = torch.zeros(self.size**2 + 1, dtype=torch.int64, device=device)
        self.wrong = (Extremes(device), Extremes(device))
        self.unready = torch.zeros((), dtype=torch.int64, device=device)
        self.rows = 0
        self.kept: list[torch.Tensor] = []
        self._places: torch.Tensor | None = None
        self._values: torch.Tensor | None = None
        if classes is not None and classes != tuple(range(len(classes))):
            places = np.full(max(classes) + 1, -1, dtype=np.int64)
            places[list(classes)] = np.arange(len(classes))
            self._places = torch.from_numpy(places).to(device)
            self._values = torch.tensor(classes, dtype=torch.int64, device=device)

    def update(self, truth: Any, predictions: Any, batch: int) -> None:
        """Count the rows of a batch: labels, or scores (rows, classes), of which the highest is the label."""
        named = [f"batch {batch}, {side}" for side in ("truth", "predictions")]
        sides = [
            tensor(column(side, "label", where), self.device, where)
            for side, where in zip((truth, predictions), named, strict=True)
        ]
        right, predicted = sides
        if right.ndim != 1:
            raise ShapeMismatch(f"has {right.ndim} dimensions", where=named[0], remedy="Give one class per row.")
        unready = None
        if predicted.ndim == 2 and predicted.dtype.is_floating_point:
            if predicted.shape[1] != self.size and self.classes is not None:
                raise ShapeMismatch(
                    f"has {predicted.shape[1]} scores per row, and {self.size} classes are declared", where=named[1],
                    remedy="Give one score per class, in the order of the classes.",
                )  # fmt: skip
            places, unready = best(predicted, 1)
            predicted = places if self._values is None else self._values[places]
        if predicted.shape != right.shape:
            raise ShapeMismatch(
                f"has shape {tuple(predicted.shape)}, and the truth {tuple(right.shape)}", where=named[1],
                remedy="Give one class per row, or one score per row and class.",
            )  # fmt: skip
        values = [whole(side, where) for side, where in zip((right, predicted), named, strict=True)]
        self._count([self._class_places(values[0], 0), self._class_places(values[1], 1)])
        if unready is not None:
            self.unready += unready

    def _class_places(self, values: torch.Tensor, side: int) -> torch.Tensor:
        """Places of classes; -1 for what is none."""
        inside = (values >= 0) & (values < (self.size if self._places is None else len(self._places)))
        places = torch.where(inside, values, 0)
        if self._places is not None:
            places = self._places[places]
        places = torch.where(inside, places, -1)
        self.wrong[side].see(values, places < 0)
        return places

    def _count(self, places: list[torch.Tensor]) -> None:
        right, predicted = places
        cells = torch.where((right >= 0) & (predicted >= 0), right * self.size + predicted, self.size**2)
        self.counts.index_add_(0, cells, torch.ones_like(cells))
        self.rows += len(cells)
        self._keep([cells])

    def _keep(self, cells: list[torch.Tensor]) -> None:
        self.kept = [*self.kept, *cells] if self.rows < DISTINCT_FROM else []

    def merge(self, other: LabelCounter) -> None:
        """Add the counts of another counter of the same classes; its rows come behind these."""
        self.counts += other.counts.to(self.device)
        self.unready += other.unready.to(self.device)
        for mine, theirs in zip(self.wrong, other.wrong, strict=True):
            mine.add(theirs)
        self.rows += other.rows
        self._keep([cells.to(self.device) for cells in other.kept])

    def sides(self) -> tuple[Records, Records]:
        """Rows where they are few; else their numbers."""
        for source, wrong in zip(SOURCES, self.wrong, strict=True):
            wrong_values = wrong.text()
            if wrong_values:
                allowed = f"0 to {ROOM - 1:,}" if self.classes is None else f"the {self.size:,} that are declared"
                raise UnknownName(
                    f"{count_text(int(wrong.count), 'label', 'are')} not a known class: {wrong_values}", where=source,
                    remedy=f"Classes are {allowed}; declare others with options={{'classes': ...}}.",
                )  # fmt: skip
        if int(self.unready):
            raise InvalidNumber(
                f"{count_text(int(self.unready), 'row', 'hold')} a score that is not finite", where=SOURCES[1],
                remedy="Every score must be finite.",
            )  # fmt: skip
        values: Array = np.arange(self.size) if self.classes is None else np.array(self.classes, dtype=np.int64)
        if self.rows < DISTINCT_FROM:
            cells = torch.cat(self.kept).cpu().numpy() if self.kept else np.zeros(0, np.int64)
            labels = [values[code] for code in np.divmod(cells, self.size)]
            return Records(SOURCES[0], {"label": labels[0]}), Records(SOURCES[1], {"label": labels[1]})
        matrix = self.counts[:-1].cpu().numpy().reshape(self.size, self.size)
        if self.classes is None:
            there = np.flatnonzero(matrix.any(axis=0) | matrix.any(axis=1))
            values, matrix = values[there], np.ascontiguousarray(matrix[np.ix_(there, there)])
        counted = Counted(tuple(map(str, values.tolist())), matrix)
        truth, prediction = (CountedRecords(source, counted.rows(side), aggregated=counted)
                             for side, source in enumerate(SOURCES))  # fmt: skip
        return truth, prediction
