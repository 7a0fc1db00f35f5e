"""What is looked for in maps of depth: another unit, disparity given as depth, turned rows, a missing alignment."""

from __future__ import annotations

import math

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import median
from steelyard.tasks.depth.data import DepthPairs
from steelyard.tasks.depth.pixels import Change
from steelyard.tasks.depth.rules import Pixels
from steelyard.tasks.fields.checks import add_frames

CHECKS = add_frames(with_ids(Checks(), repeats=False), "depth")
QUICK_IMAGES, MOST_IMAGES = 3, 40  # that are looked at
MOST_PIXELS = 2000  # of an image, evenly over it
LEAST_PIXELS = 10
SCALES = (1.0, 100.0, 256.0, 1000.0, 5000.0)  # that files are written with
NEAR, VERY_NEAR = 1.33, 1.15  # the range around a scale, and around one that differs little from the present one
AGAINST = -0.5  # the rank correlation below which a prediction runs against the truth
POOR, BETTER = 0.3, 1 / 3  # AbsRel that is poor, and the share of it that an alignment must leave to be proposed
ALIGNMENTS = ("median", "affine")


class Look(Frozen):
    """What some images show. `ranks` are rank correlations as they are and with rows turned over; `errors` are AbsRel
    as they are and under each of `ALIGNMENTS`; `medians` are those of predictions and truth, before any alignment."""

    medians: Array
    ranks: Array
    errors: Array
    constant: int
    negative: int  # scales of the alignment
    empty: tuple[str, ...]
    images: int
    refused: str = ""


def look_once(data: CheckData) -> Look | None:
    """Some images, evenly over all, looked at once for all checks."""
    if "look" not in data.read:
        data.read["look"] = None
        if data.pairs is not None and len(data.pairs.owner) and data.pairs.measured is None:
            data.read["look"] = _look_at(data.pairs, QUICK_IMAGES if data.quick else MOST_IMAGES)
    seen: Look | None = data.read["look"]
    return seen


def _look_at(pairs: DepthPairs, most: int) -> Look:
    medians, ranks, errors, empty = [], [], [], []
    constant = negative = 0
    refused = ""
    chosen = evenly(len(pairs.owner), most)
    chosen = chosen[pairs.prediction_row[chosen] >= 0]
    for pair in chosen.tolist():
        try:
            row, pixels, (truth, prediction, mask) = pairs.measure(pair, np.zeros(0), sums=False)
        except InputError as error:
            refused = str(error)
            break
        negative += row.scale < 0
        if not len(pixels.g):
            empty.append(str(pairs.truth["image"][pairs.truth_row[pair]]))
        usable = pairs.rules.valid(truth, mask, "") & np.isfinite(prediction)
        if usable.sum() < LEAST_PIXELS:
            continue
        rows, columns = np.nonzero(usable)
        step = -(-len(rows) // MOST_PIXELS)
        rows, columns = rows[::step], columns[::step]
        g, x = (side[rows, columns].astype(np.float64) for side in (truth, prediction))
        turned = prediction[len(prediction) - 1 - rows, columns]
        constant += bool((x == x[0]).all())
        medians.append((median(x), median(g)))
        ranks.append((_rank_correlation(g, x), _rank_correlation(g, turned)))
        errors.append(_errors_under(pairs, g, x, pixels.of_map))
    return Look(
        np.array(medians, dtype=np.float64).reshape(-1, 2),
        np.array(ranks, dtype=np.float64).reshape(-1, 2),
        np.array(errors, dtype=np.float64).reshape(-1, 1 + len(ALIGNMENTS)),
        constant,
        negative,
        tuple(empty),
        len(chosen),
        refused,
    )


def _errors_under(pairs: DepthPairs, g: Array, x: Array, change: Change) -> tuple[float, ...]:
    """AbsRel of an image as it is and under each alignment of depth."""
    errors = [_abs_rel(g, change.apply(x))]
    depth = Pixels(g, x, Change(invert=pairs.rules.disparity), Change()).depth
    middle = median(depth)
    errors.append(_abs_rel(g, depth * (median(g) / middle)) if middle > 0 else math.nan)
    if np.isfinite(depth).all() and (depth != depth[0]).any():
        scale, shift = np.polyfit(depth - depth.mean(), g, 1)
        errors.append(_abs_rel(g, scale * (depth - depth.mean()) + shift) if scale > 0 else math.nan)
    else:
        errors.append(math.nan)
    return tuple(errors)


def _abs_rel(g: Array, depth: Array) -> float:
    return float((np.abs(depth - g) / g).mean())


def _rank_correlation(a: Array, b: Array) -> float:
    if (a == a[0]).all() or (b == b[0]).all() or not np.isfinite(b).all():
        return math.nan
    first, second = (np.argsort(np.argsort(side, kind="stable"), kind="stable").astype(np.float64) for side in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def _middle_ranks(data: CheckData, seen: Look) -> tuple[float, float]:
    """The median rank correlations, of depth with depth; 0 where there are none."""
    ranks = seen.ranks[np.isfinite(seen.ranks).all(axis=1)] * (-1.0 if data.pairs.rules.disparity else 1.0)
    return (median(ranks[:, 0]), median(ranks[:, 1])) if len(ranks) else (0.0, 0.0)


@CHECKS.add("depth-refused", "error", "evaluation refuses the maps", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    seen = look_once(data)
    if seen is None or not seen.refused:
        return None
    return Problem("Evaluation refuses these maps.", 1, max(seen.images, 1), (seen.refused,))


def present_scale(data: CheckData, side: int) -> float:
    """What the values of a side are divided by: the option, or 256 for PNG files, or nothing."""
    reading, records = data.pairs.readings[side], (data.truth, data.prediction)[side]
    if reading.scale is not None:
        return float(reading.scale)
    first = records["map"][0] if records is not None and len(records) else ""
    return float(reading.png_scale) if isinstance(first, str) and first.lower().endswith(".png") else 1.0


def likely_scale(data: CheckData, seen: Look) -> str:
    """The option that brings both sides to one unit, such as `prediction.scale=1000`; empty where none does."""
    medians = seen.medians[(seen.medians > 0).all(axis=1)]
    if data.pairs.rules.disparity or data.pairs.rules.align != "none" or not len(medians):
        return ""
    ratio = median(medians[:, 0] / medians[:, 1])
    near = {}
    for place, side in enumerate(("truth", "prediction")):
        present = present_scale(data, place)
        for scale in SCALES:
            change = scale / present
            # Another scale of the truth makes the ratio larger, one of the prediction smaller.
            off = abs(math.log(ratio * change if place == 0 else ratio / change))
            limit = NEAR if max(change, 1 / change) > 20 else VERY_NEAR
            if change != 1 and off < math.log(limit):
                near[f"{side}.scale={scale:g}"] = off
    return min(near, key=lambda name: near[name]) if near else ""


@CHECKS.add(
    "depth-unit",
    "error",
    "predictions are in another unit than the truth: every error is wrong by the factor",
    "Set the option scale for the side that is not in metres.",
)
def other_unit(data: CheckData) -> Problem | None:
    """Whether predictions are larger or smaller by a factor that files are stored with."""
    seen = look_once(data)
    option = "" if seen is None else likely_scale(data, seen)
    if seen is None or not option:
        return None
    ratio = median(seen.medians[:, 0] / seen.medians[:, 1])
    what = f"The median of predictions/truth is {ratio:.4g}: is {option} missing?"
    return Problem(what, len(seen.medians), len(seen.medians), remedy=f"Set the option {option}.")


@CHECKS.add(
    "depth-png-scale",
    "note",
    "of PNG files in millimetres all figures in metres, min and max are wrong, and AbsRel is right",
    "Set the option scale to 256 for KITTI's files, to 1000 for files in millimetres.",
)
def assumed_scale(data: CheckData) -> Problem | None:
    """Whether PNG files of both sides are divided by 256 because nothing says otherwise."""
    seen = look_once(data)
    if seen is None or not len(seen.medians) or data.pairs.rules.preset != "none":
        return None
    if any(reading.scale is not None for reading in data.pairs.readings):
        return None
    if any(present_scale(data, side) != 256.0 for side in (0, 1)):
        return None
    middle = median(seen.medians[:, 1])
    what = f"Values of PNG files are divided by 256, so that the median true depth is {middle:.3g} m."
    return Problem(what, len(data.truth), len(data.truth))


@CHECKS.add(
    "depth-reversed",
    "error",
    "predictions fall where depth rises: a disparity is scored as depth, or depth as disparity",
    "Set the option prediction.",
)
def reversed_maps(data: CheckData) -> Problem | None:
    """Whether near and far are exchanged in most images."""
    seen = look_once(data)
    if seen is None:
        return None
    plain, turned = _middle_ranks(data, seen)
    if plain > AGAINST or turned > -plain:
        return None
    kind = "depth" if data.pairs.rules.disparity else "disparity"
    what = f"The rank correlation with the truth is {plain:.2f}: are predictions {kind}?"
    return Problem(what, len(seen.ranks), len(seen.ranks), remedy=f"Set the option prediction={kind}.")


@CHECKS.add(
    "depth-upside-down",
    "error",
    "rows of one side run from the bottom to the top",
    "Write PFM files with the last row first, and arrays with the first row first.",
)
def upside_down(data: CheckData) -> Problem | None:
    """Whether predictions agree far better with their rows turned over."""
    seen = look_once(data)
    if seen is None:
        return None
    plain, turned = _middle_ranks(data, seen)
    if turned < 0.5 or turned < plain + 0.3 or turned <= -plain:
        return None
    what = f"The rank correlation with the truth rises from {plain:.2f} to {turned:.2f} with rows turned over."
    return Problem(what, len(seen.ranks), len(seen.ranks))


@CHECKS.add(
    "depth-not-aligned",
    "warning",
    "predictions without a scale of their own are scored as metres",
    "Set the option align, if the model predicts depth up to a scale.",
)
def not_aligned(data: CheckData) -> Problem | None:
    """Whether an alignment of each image takes most of a large error away."""
    seen = look_once(data)
    if seen is None or data.pairs.rules.align != "none" or not len(seen.errors) or likely_scale(data, seen):
        return None
    known = [some[~np.isnan(some)] for some in seen.errors.T]
    plain, *aligned = (median(some) if len(some) else math.inf for some in known)
    for align, error in zip(ALIGNMENTS, aligned, strict=True):
        if plain > POOR and error < BETTER * plain:
            what = f"The median AbsRel of images falls from {plain:.3g} to {error:.2g} with align={align}."
            return Problem(what, len(seen.errors), len(seen.errors), remedy=f"Set the option align={align}.")
    return None


@CHECKS.add(
    "depth-negative-scale",
    "warning",
    "a reversed map fits as well as a right one",
    "Is the prediction a disparity? Set the option prediction=disparity.",
    quick=False,
)
def negative_scales(data: CheckData) -> Problem | None:
    """Whether the alignment turns images over."""
    seen = look_once(data)
    if seen is None or not seen.negative:
        return None
    what = f"The scale of the alignment is negative in {seen.negative} of {seen.images} images."
    return Problem(what, seen.negative, seen.images)


@CHECKS.add(
    "depth-constant", "warning", "the model says the same of every pixel", "Are these the right files?", quick=False
)
def constant_maps(data: CheckData) -> Problem | None:
    """Whether predictions are constant."""
    seen = look_once(data)
    if seen is None or not seen.constant:
        return None
    return Problem("The prediction is constant in whole images.", seen.constant, seen.images)


@CHECKS.add(
    "depth-no-valid-pixel",
    "warning",
    "images without a valid pixel have no figure and are left out of means",
    "Check the options scale, min, max, crop and mask.",
    side="truth",
    quick=False,
)
def empty_images(data: CheckData) -> Problem | None:
    """Whether images have no valid pixel."""
    seen = look_once(data)
    if seen is None or not seen.empty:
        return None
    return Problem("Images have no valid pixel.", len(seen.empty), seen.images, seen.empty)
