"""The scores of a block's images, packed or as they were read, and how they are counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidResult
from steelyard.core.pairs import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.weights import Floats
from steelyard.tasks.anomalies.loose import LooseTable

Image = tuple[int, dict[str, Any], list[Array]]  # unit, header, and packed sets of its regions and their union


class PackedSets:
    """Packed scores, as states keep them."""

    def __init__(self, block: RowsBlock) -> None:
        tables = block.tables
        data = tables[0].columns["data"] if len(tables) == 1 else np.concatenate([t.columns["data"] for t in tables])
        starts = np.cumsum([0] + [len(table.columns["data"]) for table in tables])
        begins = [(table.begin[:-1] + s, table.begin[1:] + s) for table, s in zip(tables, starts, strict=False)]
        self.first, self.last = (np.concatenate(ends)[block.index] for ends in zip(*begins, strict=True))
        self.data = data
        self.places = np.zeros((len(block.index), 2), dtype=np.int64)

    def images(self) -> Iterator[Image]:
        """The images that are there."""
        for unit in np.flatnonzero(self.last > self.first).tolist():
            try:
                header, at = self._header(int(self.first[unit]), int(self.last[unit]))
                ends = at + np.cumsum([0, *map(int, header["sets"])])
                if ends[-1] != self.last[unit] or (np.diff(ends) <= 0).any():
                    raise ValueError
            except (ValueError, KeyError, TypeError, IndexError, OverflowError):
                raise damaged() from None
            self.places[unit] = ends[:2]
            yield unit, header, [self.data[a:b] for a, b in pairwise(ends[1:].tolist())]

    def _header(self, first: int, last: int) -> tuple[dict[str, Any], int]:
        length = int.from_bytes(self.data[first : first + 4].tobytes(), "little")
        at = first + 4 + length
        if at > last:
            raise ValueError
        header = json.loads(self.data[first + 4 : at].tobytes())
        if len(header["sets"]) != 1 + len(header["saturation"]) + bool(header["union"]):
            raise ValueError
        return header, at

    def packed(self, unit: int) -> Array:
        """The packed scores of the normal pixels of a unit."""
        first, last = self.places[unit].tolist()
        packed: Array = self.data[first:last]
        return packed

    def count(self, units: Array, thresholds: Floats, weights: Floats | None) -> Floats:
        """Normal scores at or above, and above, thresholds: of each unit, or weighted sums."""
        return count_packed(np.asarray(self.data), self.places[units], thresholds, weights)


class LooseSets:
    """Scores as they were read."""

    def __init__(self, table: LooseTable, index: Array) -> None:
        self.table, self.loose = table, [table.images[place] for place in index.tolist()]

    def images(self) -> Iterator[Image]:
        """The images that are there."""
        for unit, image in enumerate(self.loose):
            if image is not None:
                yield unit, dict(image.facts), [np.frombuffer(packed, np.uint8) for packed in image.sets]

    def packed(self, unit: int) -> Array:
        """The packed scores of the normal pixels of a unit."""
        image = self.loose[unit]
        assert image is not None
        return self.table.packed_normal(image)

    def count(self, units: Array, thresholds: Floats, weights: Floats | None) -> Floats:
        """Normal scores at or above, and above, thresholds: of each unit, or weighted sums."""
        tally, each = _native.Tally(thresholds), weights is None
        counts: Floats = np.zeros((len(units) if each else 1, 2, len(thresholds)))
        pending = False  # whether the tally holds scores of images that weigh 1: sums of whole numbers are exact
        for place, unit in enumerate(units.tolist()):
            weight = 1.0 if weights is None else float(weights[place])
            image = self.loose[unit]
            if image is None or not weight:
                continue
            row = counts[place if each else 0]
            scores = self.table.store.get(image.normal)
            if scores.dtype == np.uint8:  # packed, since there are few values
                row += count_packed(scores, np.array([[0, len(scores)]]), thresholds, np.array([weight]))
            elif weight == 1.0 and not each:
                tally.add(scores)
                pending = True
            else:
                if pending:
                    row += tally.pour()
                    pending = False
                tally.add(scores)
                row += tally.pour() if weight == 1.0 else weight * tally.pour()
        if pending:
            counts[0] += tally.pour()
        return counts if each else counts[0]


def count_packed(data: Array, places: Array, thresholds: Floats, weights: Floats | None) -> Floats:
    """Packed scores at or above, and above, rising thresholds: of each set, or their sums under weights."""
    each = weights is None
    ones = np.ones(len(places)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    places = np.ascontiguousarray(places, dtype=np.int64)
    try:
        counts: Floats = _native.count_scores(data, places, thresholds, ones, each)
    except ValueError:
        raise damaged() from None
    return counts if each else counts[0]


def unpack_set(packed: Array) -> tuple[Floats, Array]:
    """The distinct scores of a packed set, rising, and how often each occurs."""
    try:
        return _native.unpack_scores(np.ascontiguousarray(packed))
    except ValueError:
        raise damaged() from None


def damaged() -> InvalidResult:
    """The error for bytes that were not packed here."""
    return InvalidResult("the packed scores of a state are damaged", remedy="Make the state again.")
