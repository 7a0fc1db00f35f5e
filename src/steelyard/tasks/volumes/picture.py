"""What a picture of one case shows: a slice of both volumes, and where they differ."""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import UnknownName
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import RasterShape, Scene, Steps
from steelyard.maps.raster import colour, coloured, indexed_png, thinned
from steelyard.tasks.volumes.data import Case, VolumePairs

MOST_SIDE = 1024  # voxels of a picture's longer side
BACKGROUND, RIGHT, MISSED, FALSE, OTHER = "f4f4f4", "cfe8cf", "2f6fb2", "d7263d", "f2c14e"
MEANINGS = (("right", RIGHT), ("missed", MISSED), ("made up", FALSE), ("another label", OTHER))


def wrong_by_slice(case: Case) -> Array:
    """How many voxels differ in each slice along the first axis."""
    differs = case.truth != case.prediction
    return np.asarray(differs.reshape(len(differs), -1).sum(axis=1))


def steps(pairs: VolumePairs, unit: int) -> Steps | None:
    """The slices of a volume in which either side has something; a flat mask has one picture."""
    case = pairs.case(int(np.flatnonzero(pairs.owner == unit)[0]))
    if case.truth.ndim != 3:
        return None
    some = ((case.truth > 0) | (case.prediction > 0)).reshape(len(case.truth), -1).any(axis=1)
    numbers = np.flatnonzero(some)
    if not len(numbers):
        return None
    wrong = wrong_by_slice(case)[numbers]
    return Steps(
        "slice", tuple(numbers.tolist()), {"wrong voxels": tuple(wrong.tolist())}, int(numbers[int(wrong.argmax())])
    )


def slice_of(case: Case, number: int | None) -> tuple[Array, Array]:
    """Both sides of a slice, or both masks where they are flat."""
    if case.truth.ndim == 2:
        return case.truth, case.prediction
    return case.truth[number or 0], case.prediction[number or 0]


def slice_pictures(truth: Array, prediction: Array, most: int) -> tuple[str, str, str]:
    """Labels of the truth and of the prediction, and where they differ."""
    first, second = (thinned(side, most).astype(np.int64) for side in (truth, prediction))
    state = np.select([(first == 0) & (second == 0), first == second, second == 0, first == 0], [0, 1, 2, 3], default=4)
    return (
        coloured(first, _shade),
        coloured(second, _shade),
        indexed_png(state, [BACKGROUND, *(c for _, c in MEANINGS)]),
    )


def _shade(label: int) -> str:
    return BACKGROUND if label == 0 else colour(label - 1)


def scene(pairs: VolumePairs, unit: int, metric: Metric, step: int | None = None) -> Scene:
    """A slice of the case at place `unit`, by its number; without one, that with the most wrong voxels."""
    name = str(pairs.units[unit])
    case = pairs.case(int(np.flatnonzero(pairs.owner == unit)[0]))
    known = steps(pairs, unit)
    at = step if step is not None or known is None else known.start
    if step is not None and (case.truth.ndim == 2 or not 0 <= step < len(case.truth)):
        last = "one picture" if case.truth.ndim == 2 else f"slices 0 to {len(case.truth) - 1}"
        raise UnknownName(f"case '{name}' has no slice {step}", remedy=f"It has {last}.")
    truth, prediction = slice_of(case, at)
    seen = sorted(
        {*np.unique(truth, return_counts=True)[0].tolist(), *np.unique(prediction, return_counts=True)[0].tolist()}
        - {0}
    )
    sizes = np.ones(2) if case.spacing is None else case.spacing[-2:]
    height, width = truth.shape[0] * float(sizes[0]), truth.shape[1] * float(sizes[1])
    first, second, state = slice_pictures(truth, prediction, MOST_SIDE)
    wrong, where = int((truth != prediction).sum()), "" if case.truth.ndim == 2 else f", slice {at or 0}"
    return Scene(
        title=f"Case {name}{where}: {wrong:,} wrong voxels",
        summary=f"{int((truth > 0).sum()):,} true and {int((prediction > 0).sum()):,} predicted voxels of all labels",
        shapes=(),
        bounds=(0.0, 0.0, width, height),
        rasters=(
            RasterShape("Truth", first, width, height),
            RasterShape("Prediction", second, width, height),
            RasterShape("Difference", state, width, height),
        ),
        legend=(*((f"label {label}", colour(label - 1)) for label in seen), *MEANINGS),
    )
