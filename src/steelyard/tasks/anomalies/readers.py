"""Figures of pixels and of images, read from the packed scores under any rows of weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.statistic import RankingReader
from steelyard.core.weights import Floats, Role, Weights
from steelyard.tasks.anomalies import curves
from steelyard.tasks.anomalies.curves import Curve
from steelyard.tasks.anomalies.pixels import (
    Grid,
    Pixels,
    count_sets,
    grid_of,
    has_grid,
    is_binned,
    pixels_of,
    unpack_set,
    whole_curve,
)
from steelyard.tasks.anomalies.statistics import ImageScores, Regions

ROWS = 1 << 21  # weighted counts that are held at once
TRIALS = 100  # draws by which the error of bins is bounded
MOST_KEPT = 1 << 22  # weighted counts of a curve that is kept for the next figure


class PixelFigure(RankingReader):
    """A figure of the pixels of each object, or of each group of defects of it: (rows, objects); nan where undefined.

    `figure` is one of auroc, ap, f1, f1_threshold, aupro, aupimo, pro, seg_f1, seg_iou, bound, good_pixels. `limit` is
    the highest false positive rate, `low` the lowest of aupimo; `threshold` is that of pro, seg_f1 and seg_iou.
    """

    ranking: Regions
    figure: str
    limit: float = 1.0
    low: float = 0.0
    normal: str = "all"
    rule: str = "step"
    saturated: bool = False
    like: str = ""
    thresholds: int = 0
    threshold: float = 0.0

    def read(self, block: RowsBlock, weights: Weights, metadata: Metadata) -> Floats:
        pixels = pixels_of(block)
        members = list(pixels.members(self.saturated).values())
        values = np.full((weights.rows, max(1, len(members))), np.nan)
        if weights.role is Role.UNITS:
            start, stop = getattr(weights, "start", 0), getattr(weights, "stop", weights.units)
            if self.figure == "aupimo":
                values[:, 0] = self.image_recalls(pixels)[start:stop]
                return values
            for unit in range(start, stop):
                if pixels.there[unit]:
                    values[unit - start, 0] = self._point(pixels, np.array([unit]), np.ones(1))
            return values
        if weights.role in (Role.POINT, Role.COUNT):
            row = next(iter(weights.blocks()))[0]
            for place, units in enumerate(members):
                values[0, place] = self._point(pixels, units, row[units])
            return values
        for place, units in enumerate(members):
            values[:, place] = self._rows(pixels, units, weights)
        return values

    def _rows(self, pixels: Pixels, units: Array, weights: Weights) -> Floats:
        """The figure of many rows of weights. In bins, and where a tool is copied, moved by what the bins change."""
        if self.figure in ("pro", "seg_f1", "seg_iou"):
            table = self.counts_at(pixels, units)
            rows = np.concatenate([block[:, units] @ table for block in weights.blocks()])
            return self._of_counts(rows)
        grid = grid_of(pixels, units, self.saturated)
        key = ("curve", self.ranking, units.tobytes(), self.normal, self.saturated, self.figure == "aupimo")
        curve = _last_curve(pixels, weights, key)
        if curve is not None:
            return self._evaluate(curve) + self._shift(pixels, units, grid)
        if weights.rows * len(grid.score) <= MOST_KEPT:  # one product for all figures
            rows = np.concatenate([block[:, units] for block in weights.blocks()])
            curve = self._curve(pixels, grid, rows)
            _keep_curve(pixels, weights, key, curve)
            return self._evaluate(curve) + self._shift(pixels, units, grid)
        step = max(1, ROWS // max(1, len(grid.score)))
        values = [
            self._evaluate(self._curve(pixels, grid, np.ascontiguousarray(block[start : start + step][:, units])))
            for block in weights.blocks()
            for start in range(0, len(block), step)
        ]
        return np.concatenate(values) + self._shift(pixels, units, grid)

    def _curve(self, pixels: Pixels, grid: Grid, rows: Floats) -> Curve:
        if self.figure != "aupimo":
            return grid.curve(rows, rows * self._normal_factor(pixels, grid.units))
        good, masked = self._recall_weights(pixels, grid.units)
        curve = grid.curve(rows * masked, rows * good)
        images = rows @ (masked > 0)
        enough = (rows > 0) @ np.where(good > 0, grid.normal, 0.0) * self.low >= 1 - 1e-9
        return Curve(
            grid.score, curve.overlap, curve.positive, curve.tie, curve.above, rows @ (good > 0) * enough, images
        )

    def _normal_factor(self, pixels: Pixels, units: Array) -> Floats:
        return np.where(pixels.good[units], 0.0, 1.0) if self.normal == "defective" else np.ones(len(units))

    @staticmethod
    def _recall_weights(pixels: Pixels, units: Array) -> tuple[Floats, Floats]:
        """For recall by image: what a normal pixel of a good image and a defective one of another image count."""
        size = np.bincount(pixels.union.unit, weights=pixels.union.count, minlength=len(pixels.there))[units]
        normal = pixels.normal[units]
        good = np.where(pixels.good[units] & (normal > 0), 1 / np.maximum(normal, 1.0), 0.0)
        return good, np.where(size > 0, 1 / np.maximum(size, 1.0), 0.0)

    def _point(self, pixels: Pixels, units: Array, row: Floats) -> float:
        """The figure under one row of weights, at every score."""
        if self.figure in ("pro", "seg_f1", "seg_iou"):
            return float(self._of_counts((row @ self.counts_at(pixels, units))[np.newaxis])[0])
        if self.figure == "bound":
            return self._bound(pixels, units)
        if self.figure == "good_pixels":
            return float(row @ np.where(pixels.good[units], pixels.normal[units], 0.0))
        if self.like == "mvtec3d":
            return self._fixed_thresholds(pixels, units, row)
        weights, normal = row, row * self._normal_factor(pixels, units)
        if self.figure == "aupimo":
            good, masked = self._recall_weights(pixels, units)
            weights, normal = row * masked, row * good
        curve = whole_curve(pixels, units, weights, normal, self.saturated)
        if self.figure == "aupimo":
            enough = (row > 0) @ np.where(good > 0, pixels.normal[units], 0.0) * self.low >= 1 - 1e-9
            curve = Curve(
                curve.score,
                curve.overlap,
                curve.positive,
                curve.tie,
                curve.above,
                np.array([row @ (good > 0) * enough]),
                np.array([row @ (masked > 0)]),
            )
        return float(self._evaluate(curve, self._bounds(pixels, units, row))[0])

    def _evaluate(self, curve: Curve, bounds: tuple[float, float] | None = None) -> Floats:
        if self.figure == "auroc":
            return curves.roc_area(curve)
        if self.figure == "ap":
            return curves.average_precision(curve, self.rule)
        if self.figure == "f1":
            return curves.best_f1(curve)[0]
        if self.figure == "f1_threshold":
            return curves.best_f1(curve)[1]
        if self.figure == "aupimo":
            gain = self._log_gain(curve, curve.normal, bounds)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.asarray((curve.positive * gain).sum(axis=1) / curve.regions)
            return np.where((curve.normal > 0) & (curve.regions > 0), mean, np.nan)
        value = curves.region_area(curve, self.limit)
        if self.like == "anomalib2.3":  # where every region was lost, it gives 0
            value = np.where((curve.regions == 0) & (curve.normal > 0), 0.0, value)
        return value

    def _log_gain(self, curve: Curve, images: Floats, bounds: tuple[float, float] | None) -> Floats:
        """What a defective pixel with each score adds to the recall, by the mean rate over so many good images."""
        low, high = bounds or (self.low, self.limit)
        with np.errstate(divide="ignore", invalid="ignore"):
            above, at = curve.above / images[:, None], (curve.above + curve.tie) / images[:, None]
            return np.asarray(curves.log_gain(at, above, low, high) / np.log(self.limit / self.low))

    def _shift(self, pixels: Pixels, units: Array, grid: Grid) -> float:
        """What the bins, or a copied tool's own rule, change under weights of 1."""
        moved = self.like == "mvtec3d" or (self.like == "anomalib" and self.figure == "aupimo")
        if not moved and not is_binned(pixels, units):
            return 0.0

        def make() -> float:
            ones = np.ones((1, len(units)))
            value = self._point(pixels, units, ones[0]) - float(self._evaluate(self._curve(pixels, grid, ones))[0])
            return 0.0 if np.isnan(value) else value

        return pixels.once(("shift", self, units.tobytes()), make)

    def _bound(self, pixels: Pixels, units: Array) -> float:
        """By how much draws in bins can be off, by upper and lower sums of trial draws.

        It is nan where draws are exact, or where none were made.
        """
        if not is_binned(pixels, units) or not has_grid(pixels, units, self.saturated):
            return float("nan")
        grid = grid_of(pixels, units, self.saturated)
        rows = np.random.default_rng(0).multinomial(len(units), np.full(len(units), 1 / len(units)), size=TRIALS)
        curve = self._curve(pixels, grid, np.vstack([np.ones(len(units)), rows]).astype(np.float64))
        gaps = curves.region_area(curve, self.limit, 0.0) - curves.region_area(curve, self.limit, 1.0)
        shift = replace(self, figure="aupro")._shift(pixels, units, grid)
        return float(np.nanmax(gaps)) + abs(shift)

    def image_recalls(self, pixels: Pixels) -> Floats:
        """The AUPIMO of each defective image, by the rates of all good images of its object; nan of the others."""

        def make() -> Floats:
            many = len(pixels.there)
            recalls = np.full(many, np.nan)
            for units in pixels.members().values():
                good, masked = self._recall_weights(pixels, units)
                normal = float(pixels.normal[units] @ (good > 0))
                if normal * self.low < 1 - 1e-9:
                    continue
                curve = whole_curve(pixels, units, masked, good, False)
                bounds = self._bounds(pixels, units, np.ones(len(units)))
                gain = self._log_gain(curve, np.array([(good > 0).sum()]), bounds)
                entries = pixels.union
                mine = np.flatnonzero(np.isin(entries.unit, units))
                place = np.searchsorted(-curve.score, -entries.score[mine])
                won = np.bincount(entries.unit[mine], weights=entries.count[mine] * gain[0, place], minlength=many)
                size = np.bincount(entries.unit[mine], weights=entries.count[mine], minlength=many)
                recalls[units] = np.where(size > 0, won / np.maximum(size, 1), np.nan)[units]
            return recalls

        return pixels.once(("recalls", self), make)

    def _bounds(self, pixels: Pixels, units: Array, row: Floats) -> tuple[float, float] | None:
        """The bounds of aupimo moved to the nearest rates of the curve, as anomalib moves them."""
        if self.figure != "aupimo" or self.like != "anomalib":
            return None
        good = units[pixels.good[units] & (row > 0) & (pixels.normal[units] > 0)]
        if not len(good):
            return None
        sets = [unpack_set(pixels.data[a:b]) for a, b in pixels.places[good].tolist()]
        score = np.concatenate([s for s, _ in sets])
        share = np.concatenate([count / count.sum() / len(good) for _, count in sets])
        distinct, place = np.unique(score, return_inverse=True)
        rate = np.cumsum(np.bincount(place.reshape(-1), weights=share, minlength=len(distinct))[::-1])
        low, high = (float(rate[np.abs(rate - end).argmin()]) for end in (self.low, self.limit))
        return low, high

    def _fixed_thresholds(self, pixels: Pixels, units: Array, row: Floats) -> float:
        """The area from so many thresholds at equal steps of the sorted normal scores, rates by their place."""
        used = units[(row > 0) & (self._normal_factor(pixels, units) > 0)]
        entries, inside = pixels.entries, np.isin(pixels.entries.unit, units[row > 0])
        regions = len(np.unique(entries.region[inside]))
        sets = [unpack_set(pixels.data[a:b]) for a, b in pixels.places[used].tolist()]
        if not sets or not regions:
            return float("nan")
        score, count = (np.concatenate([one[i] for one in sets]) for i in range(2))
        order = np.argsort(score, kind="stable")
        score, count = score[order], np.cumsum(count[order])
        normal = int(count[-1]) if len(count) else 0
        if not normal:
            return float("nan")
        place = np.linspace(0, normal - 1, num=self.thresholds, dtype=int)
        cut = score[np.searchsorted(count, place, side="right")]
        rising = np.argsort(entries.score[inside], kind="stable")
        overlap = pixels.saturated if self.saturated else pixels.overlap
        total = np.cumsum(overlap[inside][rising][::-1])[::-1]
        above = np.append(total, 0.0)[np.searchsorted(entries.score[inside][rising], cut, side="right")] / regions
        x = np.append(1.0, 1.0 - (place + 1) / normal)[::-1]
        return curves.fixed_threshold_area((x, np.append(1.0, above)[::-1]), self.limit)

    def counts_at(self, pixels: Pixels, units: Array) -> Floats:
        """Of each unit at one threshold: hits, false alarms, defective pixels, summed overlap, regions."""
        entries, many = pixels.entries, len(pixels.there)
        false = count_sets(pixels.data, pixels.places[units], np.array([self.threshold]), None)[:, 0, 0]
        union = pixels.union
        over = union.score >= self.threshold
        hit = np.bincount(union.unit, weights=union.count * over, minlength=many)[units]
        size = np.bincount(union.unit, weights=union.count, minlength=many)[units]
        hits = pixels.overlap * (entries.score >= self.threshold)
        overlap = np.bincount(entries.unit, weights=hits, minlength=many)[units]
        regions = np.bincount(pixels.region_unit, minlength=many)[units]
        return np.stack([hit, false, size, overlap, regions], axis=1).astype(np.float64)

    def _of_counts(self, counts: Floats) -> Floats:
        hit, false, size, overlap, regions = counts.T
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.figure == "pro":
                return np.where(regions > 0, overlap / regions, np.nan)
            if self.figure == "seg_iou":
                return np.where(size > 0, hit / (size + false), np.nan)
            return np.where(size > 0, 2 * hit / (size + hit + false), np.nan)


def _last_curve(pixels: Pixels, weights: Weights, key: Any) -> Curve | None:
    """The curve of the last rows of weights that were read."""
    last = pixels.__dict__.get("_last")
    return last[1].get(key) if last is not None and last[0] is weights else None


def _keep_curve(pixels: Pixels, weights: Weights, key: Any, curve: Curve) -> None:
    last = pixels.__dict__.get("_last")
    if last is None or last[0] is not weights:
        pixels.__dict__["_last"] = (weights, {})
    pixels.__dict__["_last"][1][key] = curve


class ImageFigure(RankingReader):
    """A figure of the images of each object by their scores: (rows, objects); nan where undefined."""

    ranking: ImageScores
    figure: str

    def read(self, block: RowsBlock, weights: Weights, metadata: Metadata) -> Floats:
        unit, objects, score, defective = image_rows(block)
        names = sorted(set(objects.tolist()))
        values = np.full((weights.rows, max(1, len(names))), np.nan)
        if weights.role is Role.UNITS:  # one image alone is good or defective, never both
            return values
        for place, name in enumerate(names):
            mine = np.flatnonzero(objects == name)
            order = mine[np.argsort(-score[mine], kind="stable")]
            begin = np.flatnonzero(np.append(True, np.diff(score[order]) != 0)) if len(order) else np.zeros(0, int)
            step, at = max(1, ROWS // max(1, len(order))), 0
            for rows in weights.blocks():
                for start in range(0, len(rows), step):
                    part = np.ascontiguousarray(rows[start : start + step][:, unit[order]])
                    values[at : at + len(part), place] = self._figure(part, defective[order], begin, score[order])
                    at += len(part)
        return values

    def _figure(self, rows: Floats, defective: Array, begin: Array, score: Floats) -> Floats:
        positive = np.add.reduceat(rows * defective, begin, axis=1)
        tie = np.add.reduceat(rows * ~defective, begin, axis=1)
        above = np.cumsum(tie, axis=1) - tie
        normal, total = tie.sum(axis=1), positive.sum(axis=1)
        curve = Curve(score[begin], positive, positive, tie, above, normal, total)
        if self.figure == "auroc":
            return curves.roc_area(curve)
        if self.figure == "ap":
            return curves.average_precision(curve)
        value, threshold = curves.best_f1(curve)
        return threshold if self.figure == "f1_threshold" else value


def image_rows(block: RowsBlock) -> tuple[Array, Array, Floats, Array]:
    """Unit, object, score and whether it is defective, of each image."""
    units, objects, scores, defective = [], [], [], []
    start = 0
    for table in block.tables:
        place = np.flatnonzero((block.index >= start) & (block.index < start + len(table.ids)))
        row = table.begin[block.index[place] - start]
        there = table.begin[block.index[place] - start + 1] > row
        units.append(place[there])
        objects.append(table.columns["object"][row[there]])
        scores.append(table.columns["score"][row[there]])
        defective.append(table.columns["defective"][row[there]] > 0)
        start += len(table.ids)
    order = np.argsort(np.concatenate(units), kind="stable")
    return (
        np.concatenate(units)[order],
        np.concatenate(objects)[order].astype(str),
        np.concatenate(scores)[order].astype(np.float64),
        np.concatenate(defective)[order],
    )
