"""What is looked for in maps of depth: maps that are refused, another unit, disparity given as depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array

CHECKS = Checks()
QUICK, MOST = 3, 40  # images that are looked at
PIXELS = 2000  # pixels of an image whose order is compared
FACTORS = (256.0, 1000.0, 100.0, 5000.0)
CLEAR = -0.5  # the rank correlation below which a prediction runs against the truth


class Look(Frozen):
    """What some images show: the ratio of medians, the correlation of ranks, and whether the prediction is constant."""

    ratios: Array
    ranks: Array
    constant: int
    scales: Array


def _look(data: CheckData) -> Look | None:
    """Some images, evenly over all; None where they cannot be read, which the first check says."""
    if "look" not in data.read:
        data.read["look"], data.read["refused"] = None, ""
        try:
            if data.pairs is not None and len(data.pairs.owner):
                data.read["look"] = _look_at(data.pairs, QUICK if data.quick else MOST)
        except InputError as error:
            data.read["refused"] = str(error)
    look: Look | None = data.read["look"]
    return look


def _look_at(pairs: Any, most: int) -> Look:
    ratios, ranks, scales, constant = [], [], [], 0
    for pair in np.unique(np.linspace(0, len(pairs.owner) - 1, most).astype(np.int64)).tolist():
        if pairs.prediction_row[pair] < 0:
            continue
        row, pixels, _ = pairs.measure(pair, np.zeros(0), sums=False)
        scales.append(row.scale)
        g, x = pixels.g, pixels.x
        finite = np.isfinite(x)
        g, x = g[finite], x[finite]
        if len(g) < 10:
            continue
        step = -(-len(g) // PIXELS)
        g, x = g[::step], x[::step]
        constant += bool((x == x[0]).all())
        ratios.append(float(np.median(x)) / float(np.median(g)))
        ranks.append(_rank_correlation(g, x))
    return Look(np.array(ratios), np.array(ranks), constant, np.array(scales))


def _rank_correlation(a: Array, b: Array) -> float:
    first, second = (np.argsort(np.argsort(side, kind="stable"), kind="stable").astype(np.float64) for side in (a, b))
    if (a == a[0]).all() or (b == b[0]).all():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


@CHECKS.add("depth-refused", "error", "evaluation refuses the maps", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    _look(data)
    text = data.read["refused"]
    return Problem("Evaluation refuses these maps.", 1, 1, (text,)) if text else None


@CHECKS.add(
    "depth-unit",
    "error",
    "predictions are in another unit than the truth: every error is wrong by the factor",
    "Set the option scale for the side that is not in metres.",
)
def other_unit(data: CheckData) -> Problem | None:
    """Whether predictions are larger or smaller by a factor that files are stored with."""
    look = _look(data)
    if look is None or not len(look.ratios) or data.pairs.rules.disparity or data.pairs.rules.align != "none":
        return None
    ratio = float(np.median(look.ratios))
    for factor in FACTORS:
        for side, value in (("prediction", ratio), ("truth", 1.0 / ratio if ratio else 0.0)):
            if 0.75 * factor < value < 1.33 * factor:
                what = f"The median of predictions/truth is {ratio:.4g}: is {side}.scale={factor:g} missing?"
                return Problem(
                    what, len(look.ratios), len(look.ratios), remedy=f"Set the option {side}.scale={factor:g}."
                )
    return None


@CHECKS.add(
    "depth-reversed",
    "error",
    "predictions fall where depth rises: a disparity is scored as depth, or depth as disparity",
    "Set the option prediction.",
)
def reversed_maps(data: CheckData) -> Problem | None:
    """Whether near and far are exchanged in most images."""
    look = _look(data)
    if look is None:
        return None
    ranks = look.ranks[np.isfinite(look.ranks)] * (-1.0 if data.pairs.rules.disparity else 1.0)
    against = int((ranks < CLEAR).sum())
    if not len(ranks) or 2 * against <= len(ranks):
        return None
    kind = "depth" if data.pairs.rules.disparity else "disparity"
    what = f"The rank correlation of predictions and truth is {float(np.median(ranks)):.2f}: are predictions {kind}?"
    return Problem(what, against, len(ranks), remedy=f"Set the option prediction={kind}.")


@CHECKS.add(
    "depth-negative-scale",
    "warning",
    "a reversed map fits as well as a right one",
    "Is the prediction a disparity? Set the option prediction=disparity.",
    quick=False,
)
def negative_scales(data: CheckData) -> Problem | None:
    """Whether the alignment turns images over."""
    look = _look(data)
    if look is None:
        return None
    negative = int((look.scales < 0).sum())
    what = f"The scale of the alignment is negative in {negative} of {len(look.scales)} images."
    return Problem(what, negative, len(look.scales)) if negative else None


@CHECKS.add(
    "depth-constant", "warning", "the model says the same of every pixel", "Are these the right files?", quick=False
)
def constant_maps(data: CheckData) -> Problem | None:
    """Whether predictions are constant."""
    look = _look(data)
    if look is None or not look.constant:
        return None
    return Problem("The prediction is constant in whole images.", look.constant, len(look.ratios))
