"""One image of depth: the valid pixels of truth and prediction, their alignment, and what is summed over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidNumber, InvalidSetting, ShapeMismatch
from steelyard.core.frozen import Frozen

Array = NDArray[Any]
CROPS = ("none", "garg", "eigen", "nyu", "benchmark")
_SHARES = {
    "garg": (0.40810811, 0.99189189, 0.03594771, 0.96405229),
    "eigen": (0.3324324, 0.91351351, 0.0359477, 0.96405229),
}
# What is summed over the valid pixels of an image, in this order; e = p - g, q = ln p - ln g.
SUMS = ("n", "abs", "abs_rel", "sq_rel", "sq_rel2", "sq", "logs", "log", "log_abs", "log_sq", "inv_abs", "inv_sq")
N, ABS, ABS_REL, SQ_REL, SQ_REL2, SQ, LOGS, LOG, LOG_ABS, LOG_SQ, INV_ABS, INV_SQ = range(len(SUMS))
BOUNDARY_RATIOS = np.linspace(1.05, 1.25, 10)


class Fit(Frozen):
    """Moments of pixels that an alignment is fitted to: how many, means of x and y, and centred products."""

    n: int = 0
    mean: tuple[float, float] = (0.0, 0.0)
    products: tuple[float, float, float] = (0.0, 0.0, 0.0)  # xx, xy, yy

    def add(self, other: Fit) -> Fit:
        """The moments of both sets of pixels."""
        n = self.n + other.n
        if not self.n or not other.n:
            return self if self.n else other
        dx, dy = other.mean[0] - self.mean[0], other.mean[1] - self.mean[1]
        share, both = other.n / n, self.n * other.n / n
        mean = (self.mean[0] + dx * share, self.mean[1] + dy * share)
        own = zip(self.products, other.products, (dx * dx, dx * dy, dy * dy), strict=True)
        xx, xy, yy = (a + b + d * both for a, b, d in own)
        return Fit(n, mean, (xx, xy, yy))

    def affine(self, *, like_midas: bool = False) -> tuple[float, float]:
        """Scale and shift of least squares; of a constant prediction the shortest pair, or 0 and 0 as in MiDaS."""
        x, y = self.mean
        if not self.n:
            return 0.0, 0.0
        if self.products[0] <= 1e-24 * self.n * x * x or self.products[0] == 0.0:
            return (0.0, 0.0) if like_midas else (x * y / (x * x + 1.0), y / (x * x + 1.0))
        scale = self.products[1] / self.products[0]
        return scale, y - scale * x

    def scale(self) -> float:
        """The factor of least squares without a shift."""
        x, y = self.mean
        squares = self.products[0] + self.n * x * x
        return (self.products[1] + self.n * x * y) / squares if squares else 0.0


def crop_box(crop: tuple[str, ...], shape: tuple[int, ...], where: str) -> tuple[int, int, int, int]:
    """First and last-but-one row and column of what the crops leave, applied one after the other."""
    top, left = 0, 0
    rows, columns = shape
    for name in crop:
        if name in _SHARES:
            a, b, c, d = _SHARES[name]
            first, last, start, stop = int(a * rows), int(b * rows), int(c * columns), int(d * columns)
        elif name == "nyu":
            if (rows, columns) != (480, 640):
                raise ShapeMismatch(
                    f"{columns}×{rows} pixels, and the crop nyu is defined for 640×480",
                    where=where,
                    remedy="Leave the crop out (crop=none), or give maps of 640×480.",
                )
            first, last, start, stop = 45, 471, 41, 601
        elif name == "benchmark":
            if rows < 352 or columns < 1216:
                raise ShapeMismatch(
                    f"{columns}×{rows} pixels, and the crop benchmark keeps 1216×352",
                    where=where,
                    remedy="Leave the crop out (crop=none), or give maps of at least 1216×352.",
                )
            start = int((columns - 1216) / 2)
            first, last, stop = rows - 352, rows, start + 1216
        else:
            continue
        top, left, rows, columns = top + first, left + start, last - first, stop - start
    return top, top + rows, left, left + columns


def parse_crop(text: str) -> tuple[str, ...]:
    """The crops of a text such as `benchmark+garg`."""
    names = tuple(part.strip() for part in str(text).split("+"))
    wrong = next((name for name in names if name not in CROPS), None)
    if wrong is not None:
        raise InvalidSetting(
            f"option crop: '{wrong}' is not a valid choice", remedy=f"Choose from: {', '.join(CROPS)}; + chains them."
        )
    return tuple(name for name in names if name != "none")


class Change(Frozen):
    """What a prediction becomes before it is compared.

    s v + t, with v the value or (`invert`) its inverse; with `disparity` the inverse of that, or of `floor` where that
    is more; then clamped to `low` and `high`. The inverse of 0 and of negative values is infinite.
    """

    invert: bool = False
    disparity: bool = False
    scale: float = 1.0
    shift: float = 0.0
    floor: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_identity(self) -> bool:
        """Whether nothing happens but the clamping."""
        return (self.invert, self.disparity, self.scale, self.shift) == (False, False, 1.0, 0.0)

    def apply(self, values: Array) -> Array:
        """The values, changed; those that are not finite stay so."""
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = np.asarray(values, dtype=np.float64)
            changed = self.scale * (inverse(wide) if self.invert else wide) + self.shift
            if self.disparity:
                changed = 1.0 / np.where(changed > self.floor, changed, self.floor)
        return np.asarray(np.clip(changed, self.low, self.high))


def inverse(values: Array) -> Array:
    """1/v; infinite for 0 and negative values, nan for nan."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(values <= 0, np.inf, 1.0 / values))


class ImageRow(Frozen):
    """What is kept of one image: `sums` as `SUMS` names them, mean and squares of the logarithms, counts below the
    thresholds, scale and shift of the alignment, pixels clamped from below and above, and holes."""

    sums: Array
    moments: Array
    below: Array
    scale: float = math.nan
    shift: float = math.nan
    clamped: tuple[float, float] = (0.0, 0.0)
    holes: float = 0.0
    pixels: float = 0.0
    flat: bool = False  # whether an alignment met a constant prediction


NO_SUMS = ImageRow(np.zeros(len(SUMS)), np.zeros(2), np.zeros(0))


def as_pair(truth: Array, prediction: Array) -> tuple[Array, Array]:
    """Both maps of one floating-point type, in C order."""
    kind = np.float64 if np.float64 in (truth.dtype, prediction.dtype) else np.float32
    return np.ascontiguousarray(truth, dtype=kind), np.ascontiguousarray(prediction, dtype=kind)


def boundary_score(counts: Array, *, pooled: bool) -> float:
    """F1 of edges: the mean over the ratios, weighed by the ratio; nan where neither side has an edge.

    `counts` (4, 3, steps + 1) are as the kernel gives them: direction, then prediction, truth and both, by how many of
    the ratios are exceeded. `pooled` adds the directions before precision and recall are taken.
    """
    above = np.cumsum(counts[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:].astype(np.float64)
    if not above[:, :2].any():
        return math.nan
    if pooled:
        above = above.sum(axis=0, keepdims=True)
    predicted, true, both = above[:, 0], above[:, 1], above[:, 2]
    precision = (both / np.maximum(predicted, 1.0)).mean(axis=0)
    recall = (both / np.maximum(true, 1.0)).mean(axis=0)
    total = precision + recall
    f1 = np.where(total > 0, 2.0 * precision * recall / np.where(total > 0, total, 1.0), 0.0)
    if pooled:  # a ratio that no edge of either side exceeds says nothing
        some = (predicted + true)[0] > 0
        return float((f1 * BOUNDARY_RATIOS)[some].sum() / BOUNDARY_RATIOS[some].sum())
    return float((f1 * BOUNDARY_RATIOS).sum() / BOUNDARY_RATIOS.sum())


def fill_holes(values: Array) -> Array:
    """A prediction without holes (values that are not above 0), as KITTI's development kit fills them.

    A gap in a row takes the smaller of its two ends, row ends the nearest value, and empty rows at the top and bottom
    the nearest row; an empty row between others stays -1.
    """
    filled = np.where(np.isfinite(values) & (values > 0), values, -1.0)
    rows = np.flatnonzero((filled > 0).any(axis=1))
    for row in rows.tolist():
        line = filled[row]
        at = np.flatnonzero(line > 0)
        line[: at[0]], line[at[-1] + 1 :] = line[at[0]], line[at[-1]]
        for start, end in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
            if end - start > 1:
                line[start + 1 : end] = min(line[start], line[end])
    if len(rows):
        filled[: rows[0]], filled[rows[-1] + 1 :] = filled[rows[0]], filled[rows[-1]]
    return np.asarray(filled, dtype=values.dtype)


def refuse_holes(count: int, first: int, width: int, value: float, where: str) -> None:
    """Raise for predictions that are not finite."""
    row, column = divmod(first, width)
    word = "nan" if math.isnan(value) else "infinite"
    raise InvalidNumber(
        f"{count_text(count, 'predicted pixel', 'are')} not finite (first: {word} at row {row}, column {column})",
        where=where,
        remedy="Set the option `holes=worst` to count them as the farthest and nearest depth, or write finite numbers.",
    )
