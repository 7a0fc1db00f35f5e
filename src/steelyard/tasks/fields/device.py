"""Dense fields measured on a device: batches of tensors in, a row of numbers for each image kept."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidNumber, ShapeMismatch, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records, as_object
from steelyard.maps.fields import Order, Reading
from steelyard.partial.tensors import Counter, column, distinct_images, image_names, tensor
from steelyard.tasks.fields.data import MeasuredFields

SOURCES = ("gathered truth", "gathered predictions")
MOST_PIXELS = 1 << 23  # that are measured at once: temporary tensors stay below about 2 GB
SAME = 1e-9  # relative: sums of one image in another batch may differ in their last digits
_FORMS = {1: "images × height × width", 2: "images × 2 × height × width", 3: "images × 3 × height × width"}


class Fault(Frozen):
    """How many pixels of each image are invalid, what they are, and what to do about it."""

    pixels: Array
    what: str = "not finite"
    remedy: str = "Predict finite numbers, or leave the pixels out with a mask."


class FieldCounter(Counter):
    """A row of sums for each image; `sides` waits for the device."""

    def __init__(self, device: torch.device, readings: tuple[Reading, Reading], options: Options) -> None:
        for name in ("mask", "region"):
            if options.of(name):
                raise Unsupported(
                    f"option {name} names files, which are not read on a device",
                    remedy="Give the truth a 'mask' tensor, or leave device out.",
                )
        self.device, self.readings = device, readings
        self.images: list[Any] = []
        self.kept: list[torch.Tensor] = []

    @abstractmethod
    def measure(self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """A row for each image: (images, columns). The sides are images × height × width × channels."""

    def faults(self, rows: Array) -> tuple[Fault, ...]:
        """What makes predictions invalid."""
        return ()

    def update(self, truth: Any, predictions: Any, batch: int) -> None:
        """Measure the fields of a batch; the truth may have a tensor `mask`, whose pixels of 0 are left out."""
        named = [f"batch {batch}, {side}" for side in ("truth", "predictions")]
        beside = (("image", "mask"), ("image",))
        fields = [
            as_fields(tensor(column(side, "map", where, more), self.device, where), reading, where)
            for side, where, more, reading in zip((truth, predictions), named, beside, self.readings, strict=True)
        ]
        images = image_names((truth, predictions), named, len(fields[0]))
        mask = truth.get("mask") if isinstance(truth, dict) else None
        if mask is not None:
            mask = _as_mask(tensor(mask, self.device, named[0]), named[0])
        self.check_shapes(fields[0], fields[1], mask, named)
        if fields[0].dtype != fields[1].dtype:
            fields = [side.to(torch.float64) for side in fields]
        step = max(1, MOST_PIXELS // max(1, fields[0].shape[1] * fields[0].shape[2]))
        for start in range(0, len(images), step):
            part = slice(start, start + step)
            self.kept.append(self.measure(fields[0][part], fields[1][part], None if mask is None else mask[part]))
        self.images += images

    def check_shapes(
        self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None, named: list[str]
    ) -> None:
        """Raise where the sizes of a batch differ."""
        if predicted.shape != truth.shape:
            raise ShapeMismatch(
                f"has {_size(predicted)}, and the truth {_size(truth)}", where=named[1],
                remedy="Resize the predictions before: a device does not.",
            )  # fmt: skip
        if mask is not None and mask.shape != predicted.shape[:3]:
            raise ShapeMismatch(
                f"the mask has {_size(mask)}, and the predictions {_size(predicted)}", where=named[0],
                remedy="Give masks of the size of the fields.",
            )  # fmt: skip

    def merge(self, other: FieldCounter) -> None:
        self.images += other.images
        self.kept += [rows.to(self.device) for rows in other.kept]

    def sides(self) -> tuple[Records, Records]:
        rows = torch.cat(self.kept).cpu().numpy()
        for fault in self.faults(rows):
            if fault.pixels.any():
                first = int(np.flatnonzero(fault.pixels)[0])
                what = f"image '{self.images[first]}': {count_text(int(fault.pixels[first]), 'predicted pixel', 'are')}"
                raise InvalidNumber(f"{what} {fault.what}", where=SOURCES[1], remedy=fault.remedy)
        distinct = distinct_images(self.images, rows, SAME)
        rows = rows[distinct]
        ids, digests = as_object([str(self.images[i]) for i in distinct]), as_object([row.tobytes() for row in rows])
        truth, prediction = (MeasuredFields(name, {"image": ids, "map": digests}, numbers=rows) for name in SOURCES)
        return truth, prediction


def as_fields(values: torch.Tensor, reading: Reading, where: str) -> torch.Tensor:
    """A batch as images × height × width × channels, of 32 or 64 bits, as `maps.fields` reads one field."""
    if values.dtype == torch.bool or values.is_complex():
        raise InvalidNumber(
            f"holds {_name(values)}, not numbers", where=where, remedy="Give tensors of float32."
        )  # fmt: skip
    if values.dtype not in (torch.float32, torch.float64):
        narrow = values.is_floating_point() or values.element_size() <= 2
        values = values.to(torch.float32 if narrow else torch.float64)
    fields = channels_last(values, reading.channels, reading.order, where)
    if not fields[0].numel():
        raise ShapeMismatch(f"has {_size(fields)}: no pixel", where=where, remedy="A field needs at least one.")
    if reading.scale is not None:
        fields = over(fields, reading.scale)
    if reading.limit is not None:
        beyond = (fields.abs() > reading.limit).any(-1, keepdim=True)
        fields = torch.where(beyond, torch.nan, fields)
    return fields


def channels_last(values: torch.Tensor, wanted: int, order: Order, where: str) -> torch.Tensor:
    """The batch with its channels at the end."""
    if values.ndim == 3 and wanted == 1 and len(values):
        return values.unsqueeze(-1)
    if values.ndim == 4 and len(values):
        first, last = values.shape[1] == wanted, values.shape[3] == wanted
        if first and last and order == "auto" and wanted > 1:
            raise Conflict(
                f"shape {tuple(values.shape)}: the channels may be first or last", where=where,
                remedy="Set the option `channels=last`, or `channels=first`.",
            )  # fmt: skip
        if (last and order != "first") or (last and not first):
            return values
        if first and order != "last":
            return values.movedim(1, -1)
    raise ShapeMismatch(f"has shape {tuple(values.shape)}", where=where, remedy=f"A batch is {_FORMS[wanted]}.")


def _as_mask(values: torch.Tensor, where: str) -> torch.Tensor:
    if values.ndim == 4 and 1 in (values.shape[1], values.shape[3]):
        values = values[:, 0] if values.shape[1] == 1 else values[..., 0]
    if values.ndim != 3:
        raise ShapeMismatch(f"the mask has shape {tuple(values.shape)}", where=where, remedy=f"A mask is {_FORMS[1]}.")
    return values


def is_marked(mask: torch.Tensor) -> torch.Tensor:
    """Which pixels of a mask are not 0."""
    return mask if mask.dtype == torch.bool else (mask != 0) & torch.isfinite(mask)


def _size(fields: torch.Tensor) -> str:
    images, height, width, *channels = fields.shape
    more = f" of {channels[0]} channels" if channels and channels[0] > 1 else ""
    return f"{images} × {width}×{height} pixels{more}"


def _name(values: torch.Tensor) -> str:
    return str(values.dtype).removeprefix("torch.")


def count(chosen: torch.Tensor) -> torch.Tensor:
    """How many pixels of each image are chosen."""
    return chosen.flatten(1).sum(1).to(torch.float64)


def total(chosen: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The sum of the values of chosen pixels of each image."""
    return torch.where(chosen, values, 0.0).flatten(1).sum(1)


def over(values: torch.Tensor, number: float) -> torch.Tensor:
    """The values divided by a number. By a plain number CUDA would multiply with its inverse, which rounds twice."""
    return values / torch.full((), number, dtype=values.dtype, device=values.device)


def divided(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a / b, and 0 where b is 0."""
    return torch.where(b != 0, a / torch.where(b != 0, b, 1.0), 0.0)


def sorted_values(chosen: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The chosen values of each image in ascending order, then infinities."""
    return torch.where(chosen, values, torch.inf).flatten(1).sort(1).values


def at_places(ascending: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Of each row the value at a place."""
    return ascending.gather(1, places.clamp(0, ascending.shape[1] - 1).unsqueeze(1)).squeeze(1)


def medians(chosen: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The median of the chosen values of each image, of two middle ones the mean; nan where none is chosen."""
    ascending, many = sorted_values(chosen, values), chosen.flatten(1).sum(1)
    middle = (at_places(ascending, (many - 1) // 2) + at_places(ascending, many // 2)) / 2
    return torch.where(many > 0, middle, torch.nan)


def fill_rows(values: torch.Tensor, known: torch.Tensor, rest: float) -> torch.Tensor:
    """Fields without holes, as KITTI fills them.

    A gap in a row takes the smaller of its two ends, row ends the nearest value, and empty rows at the top and bottom
    the nearest row; an empty row between others becomes `rest`.
    """
    height, width = known.shape[1:]
    columns, rows = (torch.arange(size, device=values.device) for size in (width, height))
    left = torch.where(known, columns, -1).cummax(2).values
    right = torch.where(known, columns, width).flip(2).cummin(2).values.flip(2)
    before, after = (values.gather(2, at.clamp(0, width - 1).unsqueeze(-1).expand_as(values)) for at in (left, right))
    has_left, has_right = (left >= 0).unsqueeze(-1), (right < width).unsqueeze(-1)
    filled = torch.where(has_left & has_right, torch.minimum(before, after), torch.where(has_left, before, after))
    full = known.any(2)
    top = torch.where(full, rows, height).amin(1, keepdim=True)
    bottom = torch.where(full, rows, -1).amax(1, keepdim=True)
    source = torch.minimum(torch.maximum(rows, top), bottom).clamp(0, height - 1)
    filled = filled.gather(1, source[:, :, None, None].expand_as(filled))
    between = ~full & (rows >= top) & (rows <= bottom)
    return torch.where((between | (bottom < 0))[:, :, None, None], rest, filled)
