"""Task `depth`: pairs of maps, read one at a time, and what is measured of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.errors import Conflict, EmptyInput
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.tasks.depth.measured import Asked, measured_row
from steelyard.tasks.depth.pixels import Array, Fit, ImageRow, N
from steelyard.tasks.depth.rules import DepthRules, Pixels, readings, rules_of
from steelyard.tasks.fields.data import FieldPairs, field_schemas, join_fields

TRUTH, PREDICTION = field_schemas("the depth of each pixel")
NO_EXTENT = (float("nan"), float("nan"))


class ImageResult(Frozen):
    """One image: its valid pixels, a row for each part that was asked for, and its scores of edges."""

    valid: int
    rows: Mapping[str, ImageRow]
    edges: Mapping[bool, float]
    scale: float = float("nan")


class SharedFits:
    """The alignment of groups of images, fitted once for all slices of the data."""

    def __init__(self) -> None:
        self.pairs: DepthPairs | None = None
        self._fits: dict[int, Fit] | None = None

    def of(self, row: int) -> Fit:
        """The fit for a row of the truth."""
        return self.pool()[row]

    def pool(self) -> dict[int, Fit]:
        """The fit for each row of the truth."""
        if self._fits is None:
            self._fits = {} if self.pairs is None else self._pool(self.pairs)
        return self._fits

    @staticmethod
    def _pool(pairs: DepthPairs) -> dict[int, Fit]:
        every = for_each(len(pairs.owner), pairs.fit_of)
        groups = pairs.owner.tolist() if pairs.rules.align_per == "sequence" else [0] * len(every)
        pooled: dict[int, Fit] = {}
        for group, fit in zip(groups, every, strict=True):
            pooled[group] = pooled[group].add(fit) if group in pooled else fit
        return {int(row): pooled[group] for row, group in zip(pairs.truth_row.tolist(), groups, strict=True)}


Maps = tuple[Array, Array, Array | None]


class DecodedMaps:
    """Maps that several measurements look at, kept up to a number of pixels."""

    def __init__(self, most: int = 1 << 25) -> None:
        self.left = most
        self.maps: dict[int, Maps] = {}

    def keep(self, row: int, maps: Maps) -> None:
        """Keep the maps of a row of the truth, where there is room."""
        if maps[0].size <= self.left:
            self.left -= maps[0].size
            self.maps[row] = maps


class DepthPairs(FieldPairs):
    """Images with both maps, which are read when they are measured."""

    rules: DepthRules = DepthRules()
    fits: SharedFits | None = None
    decoded: DecodedMaps | None = None

    @cached_property
    def metadata(self) -> Metadata:
        """What measurements must have in common: how predictions are aligned, and one fit of all images."""
        rules = self.rules
        per = "" if rules.align_per == "image" else f" per {rules.align_per}"
        flags = {"preset": rules.preset, "changed": rules.changed, "align": f"{rules.align}{per}", "fit": None}
        if self.fits is not None and rules.align_per == "dataset" and len(self.owner):
            fit = self.fits.of(int(self.truth_row[0]))
            flags["fit"] = f"scale {fit.affine()[0]:.17g}, n {fit.n}"
        return Metadata({"region": Axis(self.regions)}, flags)

    def with_rules(self, **changes: Any) -> DepthPairs:
        """The same images under other rules, fitted again."""
        rules = replace(self.rules, **changes)
        fits = SharedFits() if rules.align_per != "image" and rules.align != "none" else None
        pairs = replace(self, rules=rules, fits=fits)
        if fits is not None:
            fits.pairs = pairs
        return pairs

    def maps(self, pair: int) -> Maps:
        """Truth, prediction and mask of a pair; a missing prediction is 0 everywhere."""
        row = int(self.truth_row[pair])
        maps = None if self.decoded is None else self.decoded.maps.get(row)
        if maps is None:
            maps = self._decode(pair)
            if self.decoded is not None:
                self.decoded.keep(row, maps)
        return *self.rules.prepared(maps[0], maps[1]), maps[2]

    def _decode(self, pair: int) -> Maps:
        truth, prediction = self.open_truth(pair), self.open_prediction(pair)
        if prediction is None:
            prediction = np.zeros_like(truth)
        if prediction.shape != truth.shape:
            prediction = self.resized(pair, prediction, truth.shape)
        return truth, prediction, self.mask(pair, truth.shape)

    def resized(self, pair: int, prediction: Array, shape: tuple[int, ...]) -> Array:
        """A prediction in the size of the truth, by its depth or its disparity."""
        if self.resize == "off" or self.rules.resize_in == ("disparity" if self.rules.disparity else "depth"):
            return super().resized(pair, prediction, shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1.0 / super().resized(pair, 1.0 / prediction, shape))

    def place_of(self, pair: int) -> str:
        """Where the prediction of a pair is, or the truth where there is none."""
        return self.place(pair, int(self.prediction_row[pair] >= 0))

    def fit_of(self, pair: int) -> Fit:
        """What the image adds to a fit of several; nothing without a prediction."""
        if self.prediction_row[pair] < 0:
            return Fit()
        truth, prediction, mask = self.maps(pair)
        return self.rules.moments(*self.rules.fitted(truth, prediction, mask, self.place_of(pair)))

    def measure(self, pair: int, thresholds: Array, *, sums: bool = True) -> tuple[ImageRow, Pixels, Maps]:
        """The row of an image, its pixels and its maps; a missing prediction is not aligned."""
        maps, rules, fit = self.maps(pair), self.rules, None
        if self.prediction_row[pair] < 0:
            rules = replace(rules, align="none", disparity=False, scale_by=1.0)
        elif self.fits is not None:
            fit = self.fits.of(int(self.truth_row[pair]))
        row, pixels = rules.measure(*maps, thresholds, self.place_of(pair), fit, sums=sums)
        return row, pixels, maps

    def scan(self, asked: Asked) -> list[ImageResult]:
        """All images; an error where none of them has a valid pixel."""
        thresholds = np.array(asked.thresholds, dtype=np.float64)
        if self.fits is not None:
            self.fits.pool()  # once, before threads ask for it

        def of_image(pair: int) -> tuple[ImageResult, tuple[float, float]]:
            row, pixels, (truth, prediction, mask) = self.measure(pair, thresholds, sums=asked.sums)
            rows = {"all": row}
            for part in asked.parts:
                if part != "all":
                    rows[part] = self.part(pair, part, pixels, thresholds, truth, prediction, mask)
            edges = {
                pooled: self.rules.edges(
                    truth, prediction, mask, pixels.of_map, pooled=pooled, where=self.place(pair, 0)
                )
                if len(pixels.g) >= self.rules.least
                else float("nan")
                for pooled in asked.edges
            }
            scale = self.scale_of(row, pixels) if asked.scales else float("nan")
            n = len(pixels.g)
            return ImageResult(n, rows, edges, scale), NO_EXTENT if n else extent_of(truth)

        numbers = self.measured
        if numbers is None:
            results = for_each(len(self.owner), of_image)
        else:
            results = []
            for own in numbers:
                row, extent = measured_row(own, asked, self.truth.source)
                results.append((ImageResult(int(row.sums[N]), {"all": row}, {}, row.scale), extent))
        if results and not any(result.valid for result, _ in results):
            self._refuse_empty([extent for _, extent in results])
        return [result for result, _ in results]

    def scale_of(self, row: ImageRow, pixels: Pixels) -> float:
        """The scale of an image: that of its alignment, or else the ratio of the medians of both sides."""
        if self.rules.align != "none" and self.rules.align_per == "image":
            return row.scale
        if not len(pixels.g):
            return float("nan")
        predicted = float(np.median(pixels.depth))
        return float(np.median(pixels.g)) / predicted if predicted else float("nan")

    def part(
        self,
        pair: int,
        part: str,
        pixels: Pixels,
        thresholds: Array,
        truth: Array,
        prediction: Array,
        mask: Array | None,
    ) -> ImageRow:
        """The row of a band of distance, such as 0-20m, or of a region."""
        band = band_of(part)
        if band is not None:
            return pixels.band(*band).row(thresholds)
        inside, where = self.region(pair, part, truth.shape), self.place_of(pair)
        if not len(pixels.g):  # the image is left out
            return pixels.row(thresholds)
        both = inside if mask is None else inside & (mask != 0)
        g, x, bad = self.rules.pack(truth, prediction, both, where)
        return self.rules.pixels(g, x, bad, pixels.of_map, where).row(thresholds)

    def _refuse_empty(self, extents: Sequence[tuple[float, float]]) -> None:
        low = min((a for a, _ in extents if a == a), default=float("nan"))
        high = max((b for _, b in extents if b == b), default=float("nan"))
        rules = self.rules
        extent = "the truth has no positive value" if low != low else f"the truth is {low:.3g} to {high:.3g}"
        raise EmptyInput(
            f"no valid pixel in any image: min {rules.low:g}, max {rules.high:g}, crop "
            f"{'+'.join(rules.crop) or 'none'}; {extent}",
            where=self.truth.source,
            remedy="Check the options `scale`, `min`, `max` and `crop`.",
        )


def extent_of(truth: Array) -> tuple[float, float]:
    """The least and the largest positive finite value."""
    some = truth[np.isfinite(truth) & (truth > 0)]
    return (float(some.min()), float(some.max())) if len(some) else (float("nan"), float("nan"))


_BAND = re.compile(r"d?(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?|inf)m?|m?\+)$")


def band_of(part: str) -> tuple[float, float] | None:
    """The ends of a band of depth: `0-20m`, `40m+`, `d0-20`, `d40-inf`; None where the text names something else."""
    match = _BAND.match(part)
    if match is None:
        return None
    low, high = float(match[1]), float(match[2] or "inf")
    return (low, high) if low < high else None


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> DepthPairs:
    """Join the maps by image; with align_per=sequence the folder of an image is the unit."""
    rules = rules_of(options)
    fits = SharedFits() if rules.align_per != "image" else None
    pairs = join_fields(
        DepthPairs, truth, prediction, policy, readings=readings(options), resize=rules.resize, rules=rules, fits=fits
    )
    if rules.align_per == "sequence":
        pairs = by_sequence(pairs)
    if fits is not None:
        fits.pairs = pairs
    return pairs


def by_sequence(pairs: DepthPairs) -> DepthPairs:
    """The pairs with sequences, the folders of the images, for units."""
    images = [str(unit) for unit in pairs.units.tolist()]
    folders = [image.rpartition("/")[0] or "." for image in images]
    names, code = np.unique(np.array(folders, dtype=object).astype(str), return_inverse=True)
    weight = None
    if pairs.weight is not None:
        weight = np.zeros(len(names))
        weight[code] = pairs.weight
        if not np.array_equal(weight[code], pairs.weight):
            raise Conflict(
                "images of one sequence have different weights",
                where=pairs.truth.source,
                remedy="Give all images of a sequence one weight.",
            )
    partial = np.zeros(len(names), dtype=bool)
    np.logical_or.at(partial, code, pairs.partial)
    units = np.array(names.tolist(), dtype=object)
    owner = code.reshape(-1)[pairs.owner]
    order = np.argsort(owner, kind="stable")
    return replace(
        pairs,
        units=units,
        owner=owner[order],
        truth_row=pairs.truth_row[order],
        prediction_row=pairs.prediction_row[order],
        partial=partial,
        weight=weight,
    )
