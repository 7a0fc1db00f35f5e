"""What is looked for in label maps: maps that are refused, labels that are one off, void taken for a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.core.errors import InputError
from steelyard.core.records import distinct_values

CHECKS = Checks()
MUCH = 0.2  # more agreement, as a share of pixels, than labels as they are
_VOID = 255


def _scan(data: CheckData) -> Any:
    """The counted maps; None where they cannot be, which the first check says."""
    if "scan" not in data.read:
        data.read["scan"], data.read["refused"] = None, ""
        try:
            if data.pairs is not None:
                data.pairs.pixels  # noqa: B018 - what has no class is refused there
                data.read["scan"] = data.pairs.scan
        except InputError as error:
            data.read["refused"] = str(error)
    return data.read["scan"]


@CHECKS.add("maps-refused", "error", "evaluation refuses the maps", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    _scan(data)
    text = data.read["refused"]
    return Problem("Evaluation refuses these maps.", 1, 1, (text,)) if text else None


@CHECKS.add(
    "labels-shifted",
    "error",
    "predictions are labelled one off, so that nearly nothing is right",
    "Say prediction.shift, or reduce_zero.",
)
def shifted_labels(data: CheckData) -> Problem | None:
    """Whether far more pixels agree when predictions are raised or lowered by one."""
    scan = _scan(data)
    if scan is None or not len(scan.count):
        return None
    labelling = data.pairs.labelling
    sides = []
    for side, values in enumerate((scan.truth, scan.predicted)):
        distinct, inverse = np.unique(values, return_inverse=True)
        sides.append(labelling.classes(distinct, side)[inverse.reshape(-1)])
    counted = (sides[0] >= 0) & (scan.predicted >= 0)
    total = float(scan.count[counted].sum())
    if not total:
        return None
    share = {step: float(scan.count[counted & (sides[0] == sides[1] + step)].sum()) / total for step in (-1, 0, 1)}
    best = max((-1, 1), key=lambda step: share[step])
    if share[best] < share[0] + MUCH or share[best] < 0.5:
        return None
    word = "lowered" if best < 0 else "raised"
    what = (
        f"{100 * share[best]:.0f} % of pixels agree if predictions are {word} by 1, "
        f"{100 * share[0]:.0f} % as they are: is prediction.shift missing?"
    )
    return Problem(what, int(total), int(total), remedy=f"Set the option prediction.shift={best}.")


@CHECKS.add(
    "void-counted",
    "warning",
    "pixels that belong to no class are scored as one",
    "Set the option ignore=255.",
    side="truth",
)
def void(data: CheckData) -> Problem | None:
    """Whether 255 is a class of its own beside classes that end far below it."""
    scan = _scan(data)
    if scan is None:
        return None
    labelling = data.pairs.labelling
    if labelling.ids is not None or any(labelling.colours) or _VOID in labelling.ignore:
        return None
    values = distinct_values(scan.truth)
    rest = values[values != _VOID]
    if _VOID not in values or (scan.predicted == _VOID).any() or (len(rest) and rest.max() > _VOID // 2):
        return None
    mine = scan.truth == _VOID
    return Problem(
        "255 counts as a class of the truth that is never predicted.",
        int(scan.count[mine].sum()),
        int(scan.count.sum()),
    )


@CHECKS.add(
    "mostly-ignored",
    "warning",
    "what is predicted on ignored pixels is free: IoU turns into recall",
    "Ignore less; miou(without=background) leaves a class out of the mean and still charges what is predicted on it.",
    side="truth",
    quick=False,
)
def mostly_ignored(data: CheckData) -> Problem | None:
    """Whether more than half of the truth is ignored."""
    if _scan(data) is None:
        return None
    pixels = data.pairs.pixels
    left, counted = int(pixels.ignored.sum()), int(pixels.count.sum())
    if left <= counted:
        return None
    return Problem("More than half of the truth's pixels are ignored.", left, left + counted)


@CHECKS.add("one-class", "warning", "the model says the same of every pixel", "Is it the right folder?", quick=False)
def constant(data: CheckData) -> Problem | None:
    """Whether all predictions are of one class while the truth has several."""
    if _scan(data) is None:
        return None
    pixels = data.pairs.pixels
    seen = distinct_values(pixels.predicted)
    if len(seen) != 1 or len(distinct_values(pixels.truth)) < 2:
        return None
    return Problem("All predicted pixels are of one class.", int(pixels.count.sum()), int(pixels.count.sum()))
