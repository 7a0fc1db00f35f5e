"""Moments of vectors counted on a device: all that the Fréchet distance needs of a batch.

Vectors are not kept, and have no ids: one that comes twice counts twice. Sums are in double precision, about the mean
of the first batch of a side. A side may also be statistics, which are given once or with every batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import torch

from steelyard.core.errors import Conflict, EmptyInput, InvalidNumber, ShapeMismatch, Unsupported
from steelyard.core.options import Options
from steelyard.core.records import Records, RowLocation
from steelyard.partial.tensors import Counter, column, device_of, tensor
from steelyard.tasks.distributions.data import FeatureRecords
from steelyard.tasks.distributions.moments import Moments, Products
from steelyard.tasks.distributions.reader import LARGEST, read_set

SOURCES = ("gathered truth", "gathered predictions")


def counter(options: Options, device: Any) -> MomentCounter:
    """The counter of vectors on a device."""
    chosen = device_of(device)
    try:
        torch.zeros(1, dtype=torch.float64, device=chosen)
    except (RuntimeError, TypeError):
        raise Unsupported(f"device '{device}' has no double precision", remedy="Choose 'cuda' or 'cpu'.") from None
    return MomentCounter(chosen)


class SideSums:
    """Sums of the vectors of a side about an origin, or the statistics that stand for them."""

    def __init__(self, device: torch.device) -> None:
        self.count = 0
        self.origin: torch.Tensor | None = None
        self.total = torch.zeros(0, dtype=torch.float64, device=device)
        self.products = self.total
        self.wrong = torch.zeros((), dtype=torch.int64, device=device)
        self.statistics: FeatureRecords | None = None

    def add(self, rows: torch.Tensor, where: str) -> None:
        """Add the vectors of a batch."""
        if rows.ndim == 4 and rows.shape[2:] == (1, 1):
            rows = rows[:, :, 0, 0]
        if rows.ndim != 2 or not rows.is_floating_point():
            raise ShapeMismatch(
                f"'features' has shape {tuple(rows.shape)} and type {str(rows.dtype).removeprefix('torch.')}",
                where=where,
                remedy="Vectors are a matrix of floating-point numbers, one vector per row.",
            )
        if not len(rows):
            return
        rows = rows.to(torch.float64)
        self.wrong += (~(rows.abs() <= LARGEST)).any(1).sum()
        if self.origin is None:
            self._start(rows.mean(dim=0))
        self._check_width(rows.shape[1], where)
        centred = rows - self.origin
        self.count += len(rows)
        self.total += centred.sum(dim=0)
        self.products.addmm_(centred.T, centred)

    def merge(self, other: SideSums, where: str) -> None:
        """Take over the sums of another counter."""
        if other.statistics is not None:
            self.use(other.statistics, where)
        if other.origin is None:
            return
        origin, total, products = (part.to(self.wrong.device) for part in (other.origin, other.total, other.products))
        if self.origin is None:
            self._start(origin)
        self._check_width(len(origin), where)
        shift = origin - self.origin
        self.products += products + torch.outer(total, shift) + torch.outer(shift, total)
        self.products += other.count * torch.outer(shift, shift)
        self.total += total + other.count * shift
        self.count += other.count
        self.wrong += other.wrong.to(self.wrong.device)

    def use(self, statistics: FeatureRecords, where: str) -> None:
        """Let statistics stand for this side."""
        known = self.statistics
        if known is not None and not _are_equal(known, statistics):
            raise Conflict("statistics differ from those of an earlier batch", where=where, remedy="Give them once.")
        self.statistics = statistics

    def records(self, source: str) -> Records:
        """The side as the task's `join` takes it."""
        if self.statistics is not None:
            if self.count:
                raise Conflict("vectors and statistics are both given", where=source, remedy="Keep one.")
            return self.statistics
        if self.origin is None or not self.count:
            raise EmptyInput("there are no vectors", where=source, remedy="A set needs at least two.")
        wrong = int(self.wrong)  # waits for the device
        if wrong:
            raise InvalidNumber(
                f"{wrong:,} of {self.count:,} vectors have numbers that are not finite or beyond {LARGEST:g}",
                where=source,
                remedy="Leave out such vectors, or extract them again.",
            )
        origin, total, products = (part.cpu().numpy() for part in (self.origin, self.total, self.products))
        mean = origin + total / self.count
        centred = products - np.outer(total, total) / self.count
        moments = Products(float(self.count), mean, np.zeros((0, len(mean))), (centred + centred.T) / 2)
        return FeatureRecords(source, {}, {}, RowLocation(source), statistics=moments.with_factor())

    def _start(self, origin: torch.Tensor) -> None:
        self.origin = origin
        self.total = torch.zeros_like(origin)
        self.products = torch.zeros((len(origin), len(origin)), dtype=torch.float64, device=origin.device)

    def _check_width(self, width: int, where: str) -> None:
        if width != len(self.total):
            raise ShapeMismatch(
                f"vectors have {width:,} numbers, and those before {len(self.total):,}",
                where=where,
                remedy="All vectors of a set have the same length.",
            )


class MomentCounter(Counter):
    """Count, mean and centred products of the real and of the generated vectors."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.sums = (SideSums(device), SideSums(device))

    def update(self, truth: Any, predictions: Any, batch: int) -> None:
        """Add the vectors of a batch; a side may be missing, or be statistics."""
        for sums, given, side in zip(self.sums, (truth, predictions), ("truth", "predictions"), strict=True):
            where = f"batch {batch}, {side}"
            if given is None:
                continue
            if isinstance(given, str | PathLike) or (isinstance(given, Mapping) and "mu" in given):
                read = read_set(given, {}, "truth" if side == "truth" else "prediction")
                if read.statistics is None:
                    raise Unsupported(
                        "files of vectors are not counted on a device",
                        where=read.source,
                        remedy="Give tensors, or leave device out.",
                    )
                sums.use(read, where)
            else:
                sums.add(tensor(column(given, "features", where), self.device, where), where)

    def merge(self, other: MomentCounter) -> None:
        for mine, theirs, side in zip(self.sums, other.sums, SOURCES, strict=True):
            mine.merge(theirs, side)

    def metrics(self, defaults: tuple[str, ...]) -> tuple[str, ...]:
        """The only one that needs no vectors."""
        return ("fid",)

    def sides(self) -> tuple[Records, Records]:
        real, generated = (sums.records(source) for sums, source in zip(self.sums, SOURCES, strict=True))
        return real, generated


def _are_equal(one: FeatureRecords, other: FeatureRecords) -> bool:
    first, second = one.statistics, other.statistics
    if not isinstance(first, Moments) or not isinstance(second, Moments):
        return False
    return first is second or (np.array_equal(first.mean, second.mean) and np.array_equal(first.factor, second.factor))
