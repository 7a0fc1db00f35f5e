"""Gather batches into one: every unit once, in an order that depends on the ids alone.

A unit may come several times, since samplers of distributed training pad their last batch by repeating some. Copies of
the same truth count once. Where their predictions differ (a model in training mode, say), one copy is kept by its
contents, so that neither the order nor the split of the batches matters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.records import Array, BoxRecords, Records, as_object, factorize

Batch = tuple[Records, Records]
SHAPES = ("rows", "boxes", "masks", "keypoints")  # of data that can be gathered batch by batch


@frozen
class Place:
    """Where a row of a batch stands; unlike a function it can be pickled."""

    source: str

    def __call__(self, row: int) -> str:
        """Name the row."""
        return f"{self.source}, row {row}"


@frozen
class Gathered:
    """All batches as one, how many units came more than once, and how many of those with other predictions."""

    truth: Records
    prediction: Records
    repeated: int
    unlike: int


def gather(batches: Sequence[Batch], key: str) -> Gathered:
    """Join the batches, each unit from one of them."""
    owners: dict[str, list[int]] = {}
    for index, (truth, _) in enumerate(batches):
        for unit in dict.fromkeys(map(str, _units(truth, key).tolist())):
            owners.setdefault(unit, []).append(index)
    repeated = {unit: indices for unit, indices in owners.items() if len(indices) > 1}
    drop: dict[int, set[str]] = {}
    unlike = 0
    for unit, indices in repeated.items():
        kept, differs = _choose(batches, key, unit, indices)
        unlike += differs
        for index in indices:
            if index != kept:
                drop.setdefault(index, set()).add(unit)
    sides = [
        [_without(batch[side], key, drop.get(index, set())) for index, batch in enumerate(batches)] for side in (0, 1)
    ]
    return Gathered(_joined(sides[0], key), _joined(sides[1], key), len(repeated), unlike)


def _units(records: Records, key: str) -> Array:
    images = records.images if isinstance(records, BoxRecords) else None
    return records[key] if images is None else images


def _choose(batches: Sequence[Batch], key: str, unit: str, indices: Sequence[int]) -> tuple[int, bool]:
    """The batch that a unit is taken from: the one whose predictions have the smallest digest."""
    digests = []
    for index in indices:
        parts = []
        for records in batches[index]:
            rows = np.flatnonzero(np.array([str(v) == unit for v in records[key].tolist()], dtype=bool))
            parts.append(_digest(records, rows))
        digests.append((parts[0], parts[1], index))
    if len({truth for truth, _, _ in digests}) > 1:
        raise InputError(
            f"{key} '{unit}' came in {len(indices)} batches with different truth", remedy="Give every unit its own id."
        )
    smallest = min(digests)
    return smallest[2], len({prediction for _, prediction, _ in digests}) > 1


def _digest(records: Records, rows: Array) -> bytes:
    total = hashlib.sha256()
    for name in sorted(records.columns):
        total.update(f"{name}:{records[name][rows].tolist()};".encode("utf-8", "surrogatepass"))
    return total.digest()


def _without(records: Records, key: str, units: set[str]) -> Records:
    if not units:
        return records
    kept = np.flatnonzero(np.array([str(v) not in units for v in records[key].tolist()], dtype=bool))
    part = records.take(kept)
    if not isinstance(records, BoxRecords):
        return part
    images = records.images
    if images is not None:
        images = images[[str(v) not in units for v in images.tolist()]]
    return replace(records, columns=part.columns, other=part.other, place=part.place, images=images)


def _joined(parts: Sequence[Records], key: str) -> Records:
    """Rows of all parts, by unit."""
    columns = {name: _column(parts, name) for name in parts[0].columns}
    for part in parts[1:]:
        odd = set(part.columns) ^ set(columns)
        if odd:
            raise InputError(f"column '{min(odd)}' is given in some batches only", remedy="Give it in all, or in none.")
    others = set.intersection(*(set(part.other) for part in parts))
    other = {name: _column([Records("", part.other) for part in parts], name) for name in sorted(others)}
    order = np.argsort(factorize(columns[key])[1][0], kind="stable")
    starts = np.cumsum([0] + [len(part) for part in parts])

    def place(row: int) -> str:
        part = int(np.searchsorted(starts, order[row], side="right")) - 1
        return parts[part].place(int(order[row] - starts[part]))

    records = Records(
        f"{len(parts)} batches",
        {name: column[order] for name, column in columns.items()},
        {name: column[order] for name, column in other.items()},
        place,
        parts[0].names,
    )
    listed = [part for part in parts if isinstance(part, BoxRecords) and part.images is not None]
    if not listed:
        return records
    named = [_units(part, key) for part in parts]
    labels = [part.labels for part in listed if part.labels is not None]
    images, _ = factorize(*[ids for ids in named if len(ids)] or [named[0]])
    return BoxRecords(
        records.source, records.columns, records.other, records.place, records.names,
        images=images, labels=factorize(*labels)[0] if len(labels) == len(parts) else None,
    )  # fmt: skip


def _column(parts: Sequence[Records], name: str) -> Array:
    columns: list[Any] = [part[name] for part in parts if name in part and len(part[name])]
    if not columns:
        return parts[0][name]
    if len({column.dtype.kind == "O" for column in columns}) > 1:  # 7 of one batch is "7" of another
        columns = [as_object([str(v) for v in column.tolist()]) for column in columns]
    return np.concatenate(columns)
