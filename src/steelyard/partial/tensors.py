"""What counters of all tasks share: tensors in, whole numbers on a device, and no waiting for it before the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    DuplicateKey,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    ShapeMismatch,
    Unmatched,
    Unsupported,
)
from steelyard.core.pairs import Array
from steelyard.core.plain import is_plain
from steelyard.core.records import Records

WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Counter(ABC):
    """Counts of a task on a device. Only `sides` waits for the device."""

    device: torch.device

    @abstractmethod
    def update(self, truth: Any, predictions: Any, batch: int) -> None:
        """Count one batch; `batch` is its number, for messages."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Take over the counts of another counter."""

    @abstractmethod
    def sides(self) -> tuple[Records, Records]:
        """Both sides as the task's `join` takes them. Raises if a counted value is not a class."""

    def metrics(self, defaults: tuple[str, ...]) -> tuple[str, ...] | None:
        """The metrics of a report that asks for none, of the task's; None where counts are enough for all."""
        return None

    def notes(self) -> tuple[str, ...]:
        """What a report says of how the tensors were taken."""
        return ()


class Extremes:
    """How many values were not a class, and the smallest and the largest of them, kept on the device."""

    def __init__(self, device: torch.device) -> None:
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.ends = torch.tensor([2**62, -(2**62)], dtype=torch.int64, device=device)

    def see(self, values: torch.Tensor, wrong: torch.Tensor) -> None:
        """Look at the values of a batch; `wrong` marks those that are not a class."""
        if values.numel():
            least = torch.where(wrong, values, 2**62).amin()
            most = torch.where(wrong, values, -(2**62)).amax()
            self.ends = torch.stack([torch.minimum(self.ends[0], least), torch.maximum(self.ends[1], most)])
            self.count += wrong.sum()

    def add(self, other: Extremes) -> None:
        """Take over what another saw."""
        self.count += other.count.to(self.count.device)
        ends = other.ends.to(self.ends.device)
        self.ends = torch.stack([torch.minimum(self.ends[0], ends[0]), torch.maximum(self.ends[1], ends[1])])

    def text(self) -> str:
        """The values for a message; empty where there were none."""
        if not int(self.count):
            return ""
        low, high = self.ends.tolist()
        return f"{low}" if low == high else f"{low} to {high}"


def device_of(name: Any) -> torch.device:
    """The device of that name, which must be there."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        said = str(error).splitlines()[0]
        raise Unsupported(f"device '{name}' cannot be used: {said}", remedy="Choose 'cuda' or 'cpu'.") from None
    return device


def column(side: Any, name: str, where: str, beside: tuple[str, ...] = ()) -> Any:
    """A column of a side: of a dict, or the bare tensor. What counts cannot hold is refused by its name."""
    if not isinstance(side, Mapping):
        if side is not None and is_plain(side):
            return side
        raise Unsupported(
            f"{type(side).__name__} is not counted on a device", where=where, remedy=f"Give {{'{name}': a tensor}}."
        )
    other = [key for key in side if key not in (name, *beside)]
    if other or name not in side:
        what = f"column '{other[0]}' is not counted on a device" if other else f"column '{name}' is missing"
        raise InvalidValue(what, where=where, remedy="Leave device out to gather rows with all their columns.")
    return side[name]


def tensor(values: Any, device: torch.device, where: str) -> torch.Tensor:
    """Values as a tensor on the device; one that is there stays where it is."""
    if not isinstance(values, torch.Tensor):
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise InvalidNumber(
                "holds values that are not numbers",
                where=where,
                remedy="A device counts classes that are whole numbers.",
            )
        values = torch.from_numpy(np.ascontiguousarray(array.astype(np.int64) if array.dtype.kind == "u" else array))
    return values.detach().to(device, non_blocking=True)


def whole(values: torch.Tensor, where: str) -> torch.Tensor:
    """Classes as 64-bit numbers."""
    if values.dtype not in WHOLE:
        raise InvalidValue(
            f"is of type {str(values.dtype).removeprefix('torch.')}", where=where, remedy="Classes are whole numbers."
        )
    return values.to(torch.int64)


def best(scores: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The place of the highest score, the first of equals; and how many places hold a score that is not finite."""
    wrong = (~torch.isfinite(scores)).any(dim).sum()
    return scores.argmax(dim), wrong


def image_names(sides: tuple[Any, Any], named: list[str], many: int) -> list[Any]:
    """The names of a batch's images, which both sides have in one order."""
    image_lists = [list(side["image"]) if isinstance(side, Mapping) and "image" in side else None for side in sides]
    for where, images in zip(named, image_lists, strict=True):
        if images is None:
            raise MissingColumn("column 'image' is missing", where=where, remedy="Name each map's image.")
        if len(images) != many:
            raise ShapeMismatch(f"names {count_text(len(images), 'image')} and has {many} maps", where=where)
    if list(map(str, image_lists[0] or ())) != list(map(str, image_lists[1] or ())):
        raise Unmatched(
            "the images are not those of the truth, in its order", where=named[1], remedy="Give both sides alike."
        )
    return image_lists[0] or []


def distinct_images(images: list[Any], rows: Array, tolerance: float = 0.0) -> Array:
    """The first row of each image; an image that came with other numbers is an error."""
    first: dict[str, int] = {}
    for i, image in enumerate(map(str, images)):
        at = first.setdefault(image, i)
        if at != i and not np.allclose(rows[at], rows[i], rtol=tolerance, atol=0.0, equal_nan=True):
            raise DuplicateKey(f"image '{image}' came twice with different data", remedy="Give every image its own id.")
    return np.array(list(first.values()), dtype=np.int64)
