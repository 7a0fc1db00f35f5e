"""What is kept of images: of each unit the mean over its frames, or the sums over them.

All statistics of a run look at a pair of pictures while it is open: each file is read once.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import Conflict, InputError, InvalidNumber, MissingColumn, nearest
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.maps.each import for_each
from steelyard.tasks.images import measures
from steelyard.tasks.images.data import PRESETS, ImagePairs, Sight

Level = Literal["unit", "frame"]
TOTAL, COUNT, INFINITE, UNDEFINED = range(4)


class OfImages(Sum):
    """A statistic that looks at every pair of pictures; `numbers` is how many it takes of each."""

    numbers: ClassVar[int] = 1

    @abstractmethod
    def of_image(self, sight: Sight) -> tuple[float, ...]:
        """The numbers of one pair."""

    def values(self, pairs: ImagePairs, cache: SharedCache) -> Array:
        """The numbers of all pairs, a row each; computed together with those of the other statistics."""

        def scan() -> dict[OfImages, Array]:
            wanted = [statistic for statistic in cache.statistics if isinstance(statistic, OfImages)]
            if self not in wanted:
                wanted.append(self)

            def look(pair: int) -> list[tuple[float, ...]]:
                sight = pairs.sight(pair)
                try:
                    return [statistic.of_image(sight) for statistic in wanted]
                except InputError as error:
                    if error.where:
                        raise
                    raise type(error)(error.what, where=pairs.place(pair, 0), remedy=error.remedy) from None

            rows = for_each(len(pairs.owner), look)
            return {
                statistic: np.array([row[i] for row in rows], dtype=np.float64).reshape(len(rows), statistic.numbers)
                for i, statistic in enumerate(wanted)
            }

        scanned = cache.once("images scan", scan)
        return scanned[self] if self in scanned else cache.once(("images scan", self), scan)[self]


class FrameMean(OfImages):
    """Of each unit: the mean over its frames, 1, whether a frame is infinite, and frames without a number.

    With level=frame: the sum over frames, how many there are, and how many are infinite.
    """

    level: Level = "unit"

    @abstractmethod
    def of_frame(self, sight: Sight) -> float:
        """The number of one pair; nan where there is none."""

    def of_image(self, sight: Sight) -> tuple[float, ...]:
        return (self.of_frame(sight),)

    def measure(self, pairs: ImagePairs, cache: SharedCache) -> SumBlock:
        return SumBlock(frame_columns(self.values(pairs, cache)[:, 0], pairs, self.level))


def frame_columns(values: Array, pairs: ImagePairs, level: str) -> Array:
    """The columns of a unit from one value for each frame."""
    units = len(pairs.units)
    finite, endless = np.isfinite(values), np.isinf(values)
    total = np.bincount(pairs.owner, weights=np.where(finite, values, 0.0), minlength=units)
    count, infinite, undefined = (
        np.bincount(pairs.owner, weights=part, minlength=units).astype(float)
        for part in (finite, endless, np.isnan(values))
    )
    if level == "unit":
        total = total / np.maximum(count, 1)
        infinite = np.minimum(infinite, 1)
        count = np.minimum(count + infinite, 1)
    else:
        count = count + infinite
    return np.stack([total, count, infinite, undefined], axis=1)


class PsnrSum(FrameMean):
    """PSNR of each image in dB; identical images are infinite, and counted by themselves."""

    name = "images.psnr"

    preset: str = ""
    region: str = ""
    cap: float = 0.0

    def of_frame(self, sight: Sight) -> float:
        value = measures.decibels(mean_square(sight, self.preset, self.region))
        return min(value, self.cap) if self.cap else value


def mean_square(sight: Sight, preset: str, region: str) -> float:
    """The mean squared error of range 1; nan where nothing is inside the mask."""
    squares, _, count = squares_of(sight, preset, region)
    own = preset or sight.pairs.rules.preset
    return squares / count + (PRESETS[own].eps if own else 0.0) if count else math.nan


def squares_of(sight: Sight, preset: str, region: str) -> tuple[float, float, int]:
    """Sums of squared and absolute errors of range 1, and the number of values."""
    x, y, peak = sight.pixels(preset)
    squares, sizes, count = measures.squared_error(x, y, sight.mask(region))
    return squares / (peak * peak), sizes / peak, count


class PooledSum(OfImages):
    """Of each unit: the sum of squared errors of range 1, values, and squares on the scale of the pixels."""

    name = "images.pooled"
    numbers = 3

    preset: str = ""
    region: str = ""

    def of_image(self, sight: Sight) -> tuple[float, ...]:
        squares, _, count = squares_of(sight, self.preset, self.region)
        return squares, float(count), squares * sight.pixels(self.preset)[2] ** 2

    def measure(self, pairs: ImagePairs, cache: SharedCache) -> SumBlock:
        values, units = self.values(pairs, cache), len(pairs.units)
        return SumBlock(np.stack([np.bincount(pairs.owner, weights=v, minlength=units) for v in values.T], axis=1))


class ErrorSum(FrameMean):
    """Root of the mean squared error, mean absolute error, or the first relative to the truth."""

    name = "images.error"

    kind: Literal["rmse", "mae", "nrmse"] = "rmse"
    preset: str = ""
    region: str = ""

    def of_frame(self, sight: Sight) -> float:
        x, y, _ = sight.pixels(self.preset)
        mask = sight.mask(self.region)
        squares, sizes, count = measures.squared_error(x, y, mask)
        if not count:
            return math.nan
        if self.kind == "mae":
            return sizes / count
        if self.kind == "rmse":
            return math.sqrt(squares / count)
        part = (x if mask is None else x[mask]).astype(np.float64).ravel()
        size = float(np.dot(part, part))
        return math.sqrt(squares / size) if size else math.nan


class SsimSum(FrameMean):
    """SSIM of each image."""

    name = "images.ssim"

    preset: str = ""
    region: str = ""

    def of_frame(self, sight: Sight) -> float:
        own = self.preset or sight.pairs.rules.preset or "wang"
        x, y, peak = sight.pixels(self.preset, structural=True)
        return measures.ssim(x, y, peak, PRESETS[own].ssim, sight.mask(self.region))


class MsSsimSum(FrameMean):
    """MS-SSIM of each image, as it is or in dB."""

    name = "images.ms_ssim"

    preset: str = ""
    db: bool = False

    def of_frame(self, sight: Sight) -> float:
        refuse_mask(sight, "ms_ssim")
        own = self.preset or sight.pairs.rules.preset
        x, y, peak = sight.pixels(self.preset, structural=True)
        value = measures.ms_ssim(x, y, peak, PRESETS[own].ms_ssim if own else "tensorflow")
        return measures.decibels(max(1 - value, 0.0)) if self.db else value


def refuse_mask(sight: Sight, metric: str) -> None:
    """Raise where images have masks and a metric looks at whole images."""
    if "mask" in sight.pairs.truth:
        raise Conflict(
            f"{metric} looks at whole images, and the truth has masks",
            where=sight.pairs.truth.source,
            remedy="Use psnr, ssim, rmse or mae, or leave the column mask out.",
        )


class QualitySum(FrameMean):
    """VIF, GMSD, FSIM, FSIMc or the universal index of each image."""

    name = "images.quality"

    kind: Literal["vif", "gmsd", "fsim", "fsimc", "uqi"] = "vif"
    preset: str = ""

    def of_frame(self, sight: Sight) -> float:
        refuse_mask(sight, self.kind)
        own = self.preset or sight.pairs.rules.preset
        if self.kind == "uqi":
            preset = self.preset or (PRESETS[own].quality if own else "paper")
            x, y, _ = sight.pixels()
            return measures.uqi(x, y, preset)
        if self.kind == "vif":
            preset = self.preset or (PRESETS[own].vif if own else "piq")
            return measures.vif(*(sight.plane("full") if preset == "piq" else sight.pixels()), preset)
        preset = self.preset or "piq"
        x, y, peak = sight.pixels()
        if x.shape[2] not in (1, 3) or (self.kind == "fsimc" and x.shape[2] != 3):
            needed = "RGB" if self.kind == "fsimc" else "gray or RGB"
            raise Conflict(f"{x.shape[2]} channels, and {self.kind} needs {needed}", remedy="Leave the metric out.")
        if self.kind == "gmsd":
            return measures.gmsd(x, y, peak, preset)
        return measures.fsim(x, y, peak, self.kind == "fsimc", preset)


class BandSum(FrameMean):
    """ERGAS, or the spectral angle in radians or degrees."""

    name = "images.bands"

    kind: Literal["ergas", "sam"] = "ergas"
    scale: float = 4.0
    degree: bool = False

    def of_frame(self, sight: Sight) -> float:
        refuse_mask(sight, self.kind)
        x, y, _ = sight.pixels()
        if self.kind == "ergas":
            return measures.ergas(x, y, self.scale)
        angle = measures.spectral_angle(x, y)[0]
        return math.degrees(angle) if self.degree else angle


class ZeroVectors(OfImages):
    """Pixels that have no angle, since a vector is zero."""

    name = "images.zero_vectors"
    drawn = False

    def of_image(self, sight: Sight) -> tuple[float, ...]:
        x, y, _ = sight.pixels()
        return (float(((x == 0).all(axis=2) | (y == 0).all(axis=2)).sum()),)

    def measure(self, pairs: ImagePairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.bincount(pairs.owner, weights=self.values(pairs, cache)[:, 0], minlength=len(pairs.units)))


class ColourSum(FrameMean):
    """The mean colour difference of each image."""

    name = "images.colour"

    kind: Literal["2000", "76"] = "2000"
    region: str = ""

    def of_frame(self, sight: Sight) -> float:
        x, y, peak = sight.pixels()
        if x.shape[2] != 3:
            raise Conflict(f"{x.shape[2]} channels, and delta_e needs RGB", remedy="Leave delta_e out.")
        mask = sight.mask(self.region)
        if mask is not None:
            x, y = x[mask], y[mask]
        if not x.size:
            return math.nan
        difference = measures.delta_e_2000 if self.kind == "2000" else measures.delta_e_76
        return float(difference(measures.to_lab(x, peak), measures.to_lab(y, peak)).mean())


class ColumnSum(Sum):
    """A number of each image that somebody computed."""

    name = "images.column"

    column: str
    level: Level = "unit"

    def measure(self, pairs: ImagePairs, cache: SharedCache) -> SumBlock:
        return SumBlock(frame_columns(column_values(pairs, self.column), pairs, self.level))


def column_values(pairs: ImagePairs, name: str) -> Array:
    """A column of numbers of the predictions, else of the truth: one for each image, nan where a cell is empty."""
    for records, rows in ((pairs.prediction, pairs.prediction_row), (pairs.truth, pairs.truth_row)):
        cells = records.find(name)
        if cells is None:
            continue
        values = np.full(len(rows), np.nan)
        for place, row in enumerate(rows.tolist()):
            cell = cells[row]
            try:
                empty = cell is None or (isinstance(cell, str) and not cell.strip())
                values[place] = math.nan if empty else float(cell)
            except (TypeError, ValueError, OverflowError):
                raise InvalidNumber(
                    f"'{cell}' is not a number", where=records.where(row, name), remedy="Write digits."
                ) from None
        if np.isinf(values).any():
            row = int(rows[int(np.argmax(np.isinf(values)))])
            raise InvalidNumber(
                "the number is infinite", where=records.where(row, name), remedy="Leave the cell empty."
            )
        return values
    has = [*pairs.prediction.columns, *pairs.prediction.other, *pairs.truth.columns, *pairs.truth.other]
    raise MissingColumn(
        f"column '{name}' is missing",
        where=pairs.prediction.source,
        remedy=nearest(name, dict.fromkeys(has)) or "Give it in the predictions, or in a table: scores=FILE.",
    )


class Frames(Sum):
    """Of each unit: 1, and how many frames it has."""

    name = "images.frames"
    drawn = False

    def measure(self, pairs: ImagePairs, cache: SharedCache) -> SumBlock:
        frames = np.bincount(pairs.owner, minlength=len(pairs.units)).astype(float)
        return SumBlock(np.stack([np.minimum(frames, 1), frames], axis=1))
