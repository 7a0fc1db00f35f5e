"""Label maps counted on a device: in each image, how many pixels there are of each pair of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    InvalidNumber,
    InvalidValue,
    ShapeMismatch,
    UnknownName,
    Unsupported,
)
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records, as_object
from steelyard.maps.scores import ScoreRules
from steelyard.partial.tensors import (
    Counter,
    Extremes,
    best,
    column,
    device_of,
    distinct_images,
    image_names,
    tensor,
    whole,
)
from steelyard.tasks.segmentation.data import CountedMaps, Scan
from steelyard.tasks.segmentation.labelling import IGNORED, Labelling, labelling_of, score_rules

SOURCES = ("gathered truth", "gathered predictions")
MOST_VALUES = 1 << 20


def counter(options: Options, device: Any) -> MapCounter:
    """The counter of these options on a device."""
    labelling = labelling_of(options)
    if labelling.ids is None or any(labelling.colours):
        what = "colours are not counted on a device" if any(labelling.colours) else "the classes are not declared"
        raise InvalidValue(what, remedy="Say how many there are: options={'classes': 19}.")
    return MapCounter(device_of(device), labelling, labelling.ids, score_rules(options))


class MapCounter(Counter):
    """A matrix of counts per image, truth by prediction, with places for ignored pixels and for unknown values."""

    def __init__(self, device: torch.device, labelling: Labelling, ids: tuple[int, ...], rules: ScoreRules) -> None:
        self.device, self.known, self.classes, self.rules = device, labelling, len(ids), rules
        self.shape = (len(ids) + 2, len(ids) + 1)
        self.images: list[Any] = []
        self.sizes: list[tuple[int, int]] = []
        self.counts: list[torch.Tensor] = []
        self.wrong = (Extremes(device), Extremes(device))
        self.unready = torch.zeros((), dtype=torch.int64, device=device)
        tables = [_places(labelling, ids, side) for side in (0, 1)]
        # A value for each place, which a reader of the counts takes for the class.
        self.values = [_values(table, size) for table, size in zip(tables, self.shape, strict=True)]
        self._places = [torch.from_numpy(table).to(device) for table in tables]

    def update(self, truth: Any, predictions: Any, batch: int) -> None:
        """Count the maps of a batch: images × height × width; predictions also images × classes × height × width."""
        named = [f"batch {batch}, {side}" for side in ("truth", "predictions")]
        side_maps = [
            tensor(column(side, "map", where, ("image",)), self.device, where)
            for side, where in zip((truth, predictions), named, strict=True)
        ]
        images = image_names((truth, predictions), named, len(side_maps[0]))
        side_maps = [_one_channel(maps) for maps in side_maps]
        side_maps[1], unready = self._classes(side_maps[1], named[1])
        if side_maps[0].ndim != 3 or side_maps[1].shape != side_maps[0].shape:
            raise ShapeMismatch(
                f"has shape {tuple(side_maps[1].shape)}, and the truth {tuple(side_maps[0].shape)}", where=named[1],
                remedy="Maps are images × height × width, of one size on both sides.",
            )  # fmt: skip
        values = [whole(maps, where) for maps, where in zip(side_maps, named, strict=True)]
        right, predicted = (self._class_places(maps, side) for side, maps in enumerate(values))
        self.wrong[0].see(values[0], right == self.shape[0] - 1)
        self.wrong[1].see(values[1], (predicted == self.shape[1] - 1) & (right < self.classes))
        many, cells = len(right), self.shape[0] * self.shape[1]
        first = torch.arange(many, device=self.device).mul_(cells)[:, None, None]
        at = (right * self.shape[1] + predicted + first).reshape(-1)
        counts = torch.zeros(many * cells, dtype=torch.int64, device=self.device)
        counts.index_add_(0, at, torch.ones_like(at))
        self.counts.append(counts.reshape(many, cells))
        self.images += images
        self.sizes += [(side_maps[0].shape[1], side_maps[0].shape[2])] * many
        if unready is not None:
            self.unready += unready

    def _classes(self, maps: torch.Tensor, where: str) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Predicted classes, and how many pixels have a score that is not finite; None where there are no scores."""
        if maps.ndim == 4:
            self.rules.check_channels(maps.shape[1], where)
            if not maps.is_floating_point():
                raise ShapeMismatch(
                    f"{maps.shape[1]} channels of {str(maps.dtype).removeprefix('torch.')}", where=where,
                    remedy="Give labels (images × height × width), or scores as floating-point numbers.",
                )  # fmt: skip
            return best(maps, 1)
        if self.rules.threshold is None:
            return maps, None
        if not maps.is_floating_point():
            raise Conflict(
                "the predictions are labels, and the option `threshold` is for scores", where=where,
                remedy="Leave threshold out, or give scores as floating-point numbers.",
            )  # fmt: skip
        self.rules.check_threshold(where)
        return maps >= self.rules.threshold, (~torch.isfinite(maps)).sum()

    def notes(self) -> tuple[str, ...]:
        return (self.rules.note,) if self.rules.note else ()

    def _class_places(self, values: torch.Tensor, side: int) -> torch.Tensor:
        """Places of values; the last is for values that are not a class."""
        table = self._places[side]
        inside = (values >= 0) & (values < len(table))
        return torch.where(inside, table[torch.where(inside, values, 0)], self.shape[side] - 1)

    def merge(self, other: MapCounter) -> None:
        self.images += other.images
        self.sizes += other.sizes
        self.counts += [counts.to(self.device) for counts in other.counts]
        self.unready += other.unready.to(self.device)
        for mine, theirs in zip(self.wrong, other.wrong, strict=True):
            mine.add(theirs)

    def metrics(self, defaults: tuple[str, ...]) -> tuple[str, ...]:
        """Those without outlines, which counts do not hold."""
        return tuple(spec for spec in defaults if not spec.startswith(("mbiou", "boundary")))

    def sides(self) -> tuple[Records, Records]:
        for side, (source, wrong) in enumerate(zip(SOURCES, self.wrong, strict=True)):
            values = wrong.text()
            if values and (side == 0 or self.known.unknown == "error"):
                more = "ignore it, or relabel it" if side == 0 else "options={'unknown': 'wrong'} counts it as wrong"
                raise UnknownName(
                    f"{count_text(int(wrong.count), 'pixel', 'are')} not of a known class: value {values}",
                    where=source,
                    remedy=f"Or {more}.",
                )
        if int(self.unready):
            raise InvalidNumber(
                f"{count_text(int(self.unready), 'pixel', 'have')} a score that is not finite", where=SOURCES[1],
                remedy="Every score must be finite.",
            )  # fmt: skip
        counts = torch.cat(self.counts).cpu().numpy()
        first_rows = distinct_images(self.images, counts)
        counts, sizes = counts[first_rows], np.array(self.sizes, dtype=np.int64)[first_rows]
        image, cell = np.nonzero(counts)
        right, predicted = np.divmod(cell, self.shape[1])
        scan = Scan(image, self.values[0][right], self.values[1][predicted], counts[image, cell], sizes)
        ids = as_object([str(self.images[i]) for i in first_rows])
        maps = as_object([counts[i].tobytes() for i in range(len(first_rows))])
        truth, prediction = (CountedMaps(source, {"image": ids, "map": maps}, scan=scan) for source in SOURCES)
        return truth, prediction


def _one_channel(maps: torch.Tensor) -> torch.Tensor:
    """Maps without a channel axis of 1."""
    return maps[:, 0] if maps.ndim == 4 and maps.shape[1] == 1 else maps


def _places(labelling: Labelling, ids: tuple[int, ...], side: int) -> Array:
    """The place of each value: a class, then (in the truth) ignored, then no class."""
    table, shift = labelling.tables[side], labelling.shift[side]
    most = max([*(table or ()), *labelling.ignore, max(ids) - shift if table is None else 0], default=0)
    if most >= MOST_VALUES:
        raise Unsupported(f"a value of {most:,} is not counted on a device", remedy="Leave device out.")
    place = {label: i for i, label in enumerate(ids)} | ({IGNORED: len(ids)} if side == 0 else {})
    last = len(ids) + 1 - side
    return np.array([place.get(labelling.class_of(value, side), last) for value in range(most + 2)], dtype=np.int64)


def _values(table: Array, places: int) -> Array:
    """A value that has each place; a negative one where none has it."""
    values = np.full(places, -2, dtype=np.int64)
    values[table[::-1]] = np.arange(len(table))[::-1]
    return values
