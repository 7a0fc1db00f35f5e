"""Errors of disparity and flow: what is read of an image, and the sums that states keep."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.errors import Conflict, EmptyInput, InvalidSpec, ShapeMismatch, UnknownName, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.maps.each import for_each
from steelyard.tasks.fields.data import FieldPairs, not_kept

What = Literal["error", "square", "outlier", "bad", "wauc", "angle", "density", "quantile"]
Average = Literal["", "pixel", "image"]
Rule = Literal["", "exact", "kitti"]
VALID, ESTIMATED, ERROR, SQUARE, WAUC, ANGLE, OUTLIER, KITTI, ABOVE = range(9)  # columns of the kernel
NUMERATOR, DENOMINATOR, LOST, EMPTY = range(4)  # columns that are kept
_SPEEDS = re.compile(r"s(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?)|\+)")
MOST_LENGTH = 1e9  # of a value: larger ones stand for "none"
NO_BITS: Array = np.zeros(0, dtype=np.uint32)


def speed_range(of: str) -> tuple[float, float] | None:
    """The true lengths of `s10-40` or `s40+`; None where a name is not of such a bin."""
    match = _SPEEDS.fullmatch(of)
    if match is None:
        return None
    return float(match[1]), float("inf") if match[2] is None else float(match[2])


def check_of(of: str, metadata: Metadata) -> None:
    """Raise where `of` names neither a region nor a range of speeds."""
    limits = speed_range(of)
    if limits is not None and limits[0] >= limits[1]:
        raise InvalidSpec(f"of={of}: the range is empty", remedy="Give the smaller number first, as in s10-40.")
    regions = metadata.axes["region"].display_names if "region" in metadata.axes else ()
    if of == "all" or limits is not None or of in regions:
        return
    remedy = nearest(of, ("all", *regions)) if regions else f"Set the option `region={of}=FOLDER`."
    raise UnknownName(f"there is no region '{of}'", remedy=remedy)


class LoadedPair(Frozen):
    """One image: the truth, with further truths of a pixel on the last axis, and the estimates.

    `predicted` has nan where nothing is estimated; `filled` has such gaps filled where the options ask for it.
    """

    truth: Array
    predicted: Array
    filled: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width."""
        return self.predicted.shape[:2]


class ErrorPairs(FieldPairs):
    """Images of disparity (one channel) or flow (two).

    `holes` says what a missing estimate is, `average` and `rule` are the defaults of metrics. `several` is for four
    truths per pixel. `clip` is the largest disparity of predictions; `below` that of the truth.
    """

    channels: int = 1
    holes: str = "outlier"
    average: str = "pixel"
    rule: str = "exact"
    preset: str = "none"
    changed: str = ""  # options that the user gives and that the preset sets otherwise
    several: bool = False
    negate: bool = False
    swap: bool = False
    clip: float | None = None
    round: bool = False
    below: float | None = None

    @cached_property
    def metadata(self) -> Metadata:
        flags = {"average": self.average, "rule": self.rule, "holes": self.holes, "preset": self.preset}
        flags["changed"] = self.changed
        return Metadata({"region": Axis(tuple(sorted(self.regions)))}, flags)

    def load(self, pair: int) -> LoadedPair:
        """Both fields of a pair as they are compared."""
        truth, predicted = self.open_truth(pair), self.open_prediction(pair)
        height, width = truth.shape[:2]
        if self.several:
            truth = self._four_truths(pair, truth)
            height, width = truth.shape[:2]
        if self.below is not None:
            truth = np.where(truth < self.below, truth, truth.dtype.type(np.nan))
        if predicted is None:
            predicted = np.full((height, width, 2) if self.channels == 2 else (height, width), np.nan, truth.dtype)
        predicted = self._prepare(pair, predicted, (height, width))
        mask = self.mask(pair, (height, width))
        if mask is not None:
            gone = ~mask.reshape((height, width, *(1,) * (truth.ndim - 2)))
            truth = np.where(gone, truth.dtype.type(np.nan), truth)
        if truth.dtype != predicted.dtype:
            truth, predicted = truth.astype(np.float64), predicted.astype(np.float64)
        truth, predicted = np.ascontiguousarray(truth), np.ascontiguousarray(predicted)
        filled = predicted
        if self.holes == "fill" and not np.isfinite(predicted).all():
            filled = _native.fill_rows(predicted, -1.0 if self.channels == 1 else 0.0)
        return LoadedPair(truth, predicted, filled)

    def _prepare(self, pair: int, predicted: Array, shape: tuple[int, int]) -> Array:
        """A prediction as it is compared: sign, range, size and what is not an estimate."""
        if self.negate:
            predicted = -predicted
        if self.swap:
            predicted = predicted[:, :, ::-1]
        if self.clip is not None:
            predicted = np.where(np.isfinite(predicted), np.clip(predicted, 0, self.clip), np.nan).astype(
                predicted.dtype
            )
        if predicted.shape[:2] != shape:
            before = predicted.shape
            predicted = self.resized(pair, predicted, shape)
            ratio = np.array([shape[1] / before[1], shape[0] / before[0]][: self.channels], predicted.dtype)
            predicted = predicted * (ratio if self.channels == 2 else ratio[0])
        if self.round:
            predicted = np.floor(predicted + predicted.dtype.type(0.5))
        if self.holes == "skip":
            with np.errstate(invalid="ignore"):
                beyond = ~(np.abs(predicted) <= shape[1])
            gone = beyond.any(axis=2, keepdims=True) if self.channels == 2 else beyond
            predicted = np.where(gone, predicted.dtype.type(np.nan), predicted)
        return predicted

    def _four_truths(self, pair: int, truth: Array) -> Array:
        """The truth of Spring, which has two by two values for each pixel: (height, width, 4, channels)."""
        height, width = truth.shape[:2]
        if height % 2 or width % 2:
            raise ShapeMismatch(
                f"has {width}×{height} values",
                where=self.place(pair, 0),
                remedy="With the preset spring, the truth has two by two values for each pixel.",
            )
        parts = truth.reshape(height // 2, 2, width // 2, 2, -1).transpose(0, 2, 1, 3, 4)
        return np.ascontiguousarray(parts.reshape(height // 2, width // 2, 4, self.channels))

    def region_of(self, pair: int, name: str, shape: tuple[int, ...]) -> Array:
        """Which pixels belong to a region; one of Spring's maps may have the size of its truth."""
        if not self.several:
            return self.region(pair, name, shape)
        try:
            return self.region(pair, name, shape)
        except ShapeMismatch:
            marked = self.region(pair, name, (2 * shape[0], 2 * shape[1]))
            return np.asarray(marked.reshape(shape[0], 2, shape[1], 2).any(axis=(1, 3)))


class ErrorRequest(Frozen):
    """All that one pass over the pixels sums up."""

    groups: tuple[str, ...]
    thresholds: tuple[float, ...]
    wauc: bool
    angles: bool
    kitti: bool
    quantiles: tuple[tuple[str, float], ...]

    @staticmethod
    def for_statistics(statistics: tuple[FieldSum, ...], rule: str) -> ErrorRequest:
        """What these statistics need."""
        asked = {statistic.what for statistic in statistics}
        kitti = any(s.what == "outlier" and (s.rule or rule) == "kitti" for s in statistics)
        return ErrorRequest(
            tuple(dict.fromkeys(s.of for s in statistics)),
            tuple(sorted({float(s.at) for s in statistics if s.what == "bad"})),
            "wauc" in asked,
            "angle" in asked,
            kitti,
            tuple(dict.fromkeys((s.of, float(s.at)) for s in statistics if s.what == "quantile")),
        )


class ImageErrors(Frozen):
    """Sums of one image by group, (groups, columns), and the quantiles that are asked for."""

    sums: Array
    quantiles: tuple[float, ...]


def device_request(channels: int, preset: str) -> ErrorRequest:
    """All that is summed on a device, where it is not yet known which metrics will be asked for."""
    quantiles = tuple(("all", at) for at in (50.0, 90.0, 95.0, 99.0)) if preset == "eth3d" else ()
    thresholds = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
    return ErrorRequest(("all", "s0-10", "s10-40", "s40+"), thresholds, True, channels == 2, True, quantiles)


def measure_images(pairs: ErrorPairs, request: ErrorRequest) -> list[ImageErrors]:
    """Sum up the errors of all images, or take the sums that a device made."""
    if pairs.several and (request.kitti or request.angles):
        what = "rule=kitti" if request.kitti else "aae"
        raise Conflict(
            f"{what} is defined for one truth per pixel, and the preset spring has four",
            remedy=f"Leave out {what} or the preset.",
        )
    if pairs.measured is None:
        return for_each(len(pairs.owner), lambda pair: measure_image(pairs, pair, request))
    kept = device_request(pairs.channels, pairs.preset)
    for asked, known, name in (
        (request.groups, kept.groups, "of={}"),
        (request.thresholds, kept.thresholds, "a threshold of {:g} px"),
        (request.quantiles, kept.quantiles, "a quantile ({0[0]}, {0[1]:g} %)"),
    ):
        lacking = [name.format(one) for one in asked if one not in known]
        if lacking:
            raise not_kept(f"a metric needs {lacking[0]}", pairs.truth.source)
    columns = [*range(ABOVE), *(ABOVE + kept.thresholds.index(limit) for limit in request.thresholds), -1]
    groups = [kept.groups.index(name) for name in request.groups]
    quantiles = [kept.quantiles.index(one) for one in request.quantiles]
    end = len(kept.groups) * (ABOVE + len(kept.thresholds) + 1)
    return [
        ImageErrors(row[:end].reshape(len(kept.groups), -1)[groups][:, columns], tuple(row[end:][quantiles].tolist()))
        for row in pairs.measured
    ]


def refuse_empty(pairs: ErrorPairs, images: list[ImageErrors], request: ErrorRequest) -> list[ImageErrors]:
    """The same images; an error where none of them has a valid pixel."""
    if images and "all" in request.groups:
        place = request.groups.index("all")
        if not any(image.sums[place, VALID] for image in images):
            beyond = "" if pairs.below is None else f", {pairs.below:g} px and more"
            raise EmptyInput(
                f"no valid pixel in any image: all true values are missing, masked{beyond} or above {MOST_LENGTH:g}",
                where=pairs.truth.source,
                remedy="Check the truth, the mask and the preset.",
            )
    return images


def measure_image(pairs: ErrorPairs, pair: int, request: ErrorRequest) -> ImageErrors:
    """Sum up the errors of one image."""
    loaded = pairs.load(pair)
    return sum_errors(pairs, pair, loaded, request)


def sum_errors(pairs: ErrorPairs, pair: int, loaded: LoadedPair, request: ErrorRequest) -> ImageErrors:
    """Sum up the errors of an image that is loaded."""
    shape = loaded.shape
    marked = [name for name in request.groups if name != "all" and speed_range(name) is None]
    bits = NO_BITS
    if marked:
        bits = np.zeros(shape, dtype=np.uint32)
        for place, name in enumerate(marked):
            bits |= pairs.region_of(pair, name, shape).astype(np.uint32) << np.uint32(place)
    regions = np.array([marked.index(name) if name in marked else -1 for name in request.groups], dtype=np.int32)
    speeds = np.array([speed_range(name) or (0.0, np.inf) for name in request.groups]).reshape(-1, 2)
    limits = np.array(request.thresholds, dtype=np.float64)

    def sums(predicted: Array, thresholds: Array, wauc: bool, angles: bool, kitti: bool, each: bool) -> Any:
        return _native.field_errors(
            loaded.truth, predicted, bits, pairs.channels, regions, speeds, thresholds, wauc, angles, kitti, each
        )

    each = bool(request.quantiles)
    values, errors = sums(loaded.filled, limits, request.wauc, request.angles, request.kitti, each)
    if loaded.filled is not loaded.predicted:  # the share of estimates is that before gaps are filled
        before, _ = sums(loaded.predicted, limits[:0], False, False, False, False)
        values = np.concatenate([values, before[:, [ESTIMATED]]], axis=1)
    else:
        values = np.concatenate([values, values[:, [ESTIMATED]]], axis=1)
    quantiles = []
    for of, at in request.quantiles:
        chosen = errors.reshape(shape)
        if of != "all":
            chosen = np.where(_members(pairs, pair, loaded, of), chosen, np.nan)
        quantiles.append(_quantile(chosen[~np.isnan(chosen)], at))
    return ImageErrors(values, tuple(quantiles))


def _members(pairs: ErrorPairs, pair: int, loaded: LoadedPair, of: str) -> Array:
    limits = speed_range(of)
    if limits is None:
        return pairs.region_of(pair, of, loaded.shape)
    length = true_lengths(loaded.truth, pairs.channels)
    return np.asarray((length >= limits[0]) & (length < limits[1]))


def true_lengths(truth: Array, channels: int) -> Array:
    """The length of the truth at each pixel; the mean of several truths."""
    wide = truth.astype(np.float64)
    length = np.abs(wide) if channels == 1 else np.sqrt((wide**2).sum(axis=-1))
    if channels == 1 and length.ndim == 4:
        length = length[..., 0]
    return np.asarray(length.mean(axis=2) if length.ndim == 3 else length)


def _quantile(errors: Array, percent: float) -> float:
    """As ETH3D takes it: the error at place floor(n q) of the sorted errors, with q in single precision."""
    if not len(errors):
        return float("nan")
    place = int(np.floor(np.float32(len(errors)) * np.float32(percent / 100)))
    place = min(place, len(errors) - 1)
    return float(np.partition(errors, place)[place])


class FieldSum(Sum):
    """A figure of every image: numerator, denominator, whether nothing is estimated, whether no pixel is valid.

    By pixel the numerator and denominator are sums over pixels; by image they are the figure and 1.
    """

    name = "fields.sum"

    what: What = "error"
    of: str = "all"
    at: float = 0.0
    average: Average = ""
    rule: Rule = ""

    def measure(self, pairs: ErrorPairs, cache: SharedCache) -> SumBlock:
        wanted = tuple(s for s in cache.statistics if isinstance(s, FieldSum)) or (self,)
        request = ErrorRequest.for_statistics(wanted, pairs.rule)
        images = cache.once(
            ("fields errors", request),
            lambda: refuse_empty(pairs, measure_images(pairs, request), request),
        )
        values = np.zeros((len(pairs.units), 4))
        for unit, image in zip(pairs.owner.tolist(), images, strict=True):
            quantile = float("nan")
            if self.what == "quantile":
                quantile = image.quantiles[request.quantiles.index((self.of, float(self.at)))]
            columns = image.sums[request.groups.index(self.of)]
            values[unit] = self.kept_columns(columns, request.thresholds, quantile, pairs)
        return SumBlock(values)

    def kept_columns(
        self, sums: Array, thresholds: tuple[float, ...], quantile: float, pairs: ErrorPairs
    ) -> tuple[float, float, float, float]:
        """What is kept of an image's sums; the last column is the estimates before gaps were filled."""
        valid, estimated, before = float(sums[VALID]), float(sums[ESTIMATED]), float(sums[-1])
        if not valid:
            return 0.0, 0.0, 0.0, 1.0
        numerator, denominator = self._figure(sums, thresholds, pairs)
        if self.what == "density":
            numerator, denominator = before, valid
        by_image = (self.average or pairs.average) == "image" or self.what == "quantile"
        if self.what == "quantile":
            numerator, denominator = quantile * estimated if estimated else 0.0, estimated
        if not denominator:
            share = self.what in ("outlier", "bad", "wauc")
            return (1.0 if share and by_image and self.what != "wauc" else 0.0), float(share and by_image), 1.0, 0.0
        if not by_image:
            return numerator, denominator, 0.0, 0.0
        figure = quantile if self.what == "quantile" else numerator / denominator
        return (float(np.sqrt(figure)) if self.what == "square" else figure), 1.0, 0.0, 0.0

    def _figure(self, sums: Array, thresholds: tuple[float, ...], pairs: ErrorPairs) -> tuple[float, float]:
        valid, estimated = float(sums[VALID]), float(sums[ESTIMATED])
        if self.what in ("error", "square", "angle"):
            column = {"error": ERROR, "square": SQUARE, "angle": ANGLE}[self.what]
            return float(sums[column]), estimated
        missing = valid - estimated
        if self.what == "wauc":
            total = float(sums[WAUC]) + (missing if pairs.holes == "good" else 0.0)
            return total, estimated if pairs.holes == "skip" else valid
        if self.what == "bad":
            count = float(sums[ABOVE + thresholds.index(float(self.at))])
        else:
            count = float(sums[KITTI if (self.rule or pairs.rule) == "kitti" else OUTLIER])
        if pairs.holes in ("outlier", "fill"):
            count += missing
        return count, estimated if pairs.holes == "skip" else valid
