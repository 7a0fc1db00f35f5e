r"""Distances between ellipses, and pairing of truths with detections by them. The formulas stand in the native core.

Conventions
    An ellipse is a row x, y, angle, a, b: the centre, the angle in degrees from the x axis towards the y axis to the
    major axis, and the half axes. `canonical` brings rows to a ≥ b and 0 ≤ angle < 180, so that θ, θ + 180° and swapped
    axes with θ + 90° are the same row.

Distances
    `param`        Σ w |Δ| over x, y, angle (modulo 180°, so at most 90), a, b. 0 to ∞. Mixes pixels and degrees; is
                   not invariant under rotation; jumps for near circles, whose angle is noise (an exact circle has
                   none: its angle counts 0).
    `center`       |c₁ − c₂|. 0 to ∞. Blind to size and shape: 0 for concentric ellipses.
    `wasserstein`  W₂ of Gaussians with the half axes as standard deviations: √(|c₁ − c₂|² + tr(Σ₁ + Σ₂ −
                   2(Σ₁^½ Σ₂ Σ₁^½)^½)). 0 to ∞, in pixels; smooth also for circles. Not a distance of areas: two
                   circles of one centre are √2 |r₁ − r₂| apart.
    `iou`          1 − |E₁ ∩ E₂| / |E₁ ∪ E₂|, the areas exact. 0 to 1. All ellipses that do not touch are at 1, however
                   far, so greedy pairing of those goes by index.
    `hausdorff`    The largest distance from a point of either contour to the other contour. 0 to ∞, in pixels. For
                   convex shapes it is the maximum over directions u of |⟨c₁ − c₂, u⟩ + h₁(u) − h₂(u)|, h(u) = √(uᵀΣu),
                   found to 1e-6 of the largest half axis or better. The worst point decides.
    `probiou`      √(1 − exp(−BD)), the Hellinger distance of Gaussians with the covariances of uniform ellipses (Σ/4),
                   BD being Bhattacharyya's; 1 − ProbIoU. 0 to 1. It still ranks ellipses that do not touch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from steelyard import _native
from steelyard.core.errors import OutOfRange
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.match.assign import MATCHINGS, Matching, assign

LARGEST, SMALLEST = 1e12, 1e-12  # what the native core takes


class Distance(Frozen):
    """A distance: its number in the native core, whether it is in pixels (else 0 to 1), its usual threshold."""

    name: str
    code: int
    pixels: bool
    threshold: float


DISTANCES: dict[str, Distance] = {
    d.name: d
    for d in (
        Distance("param", 0, True, 5.0),
        Distance("center", 1, True, 5.0),
        Distance("wasserstein", 2, True, 5.0),
        Distance("iou", 3, False, 0.2),
        Distance("hausdorff", 4, True, 5.0),
        Distance("probiou", 5, False, 0.5),
    )
}


class OwnDistance(str):
    """A distance of the user's: a function of a true and a detected ellipse, each xc, yc, theta, a, b.

    Its text is the function's name, which stands in specs. Two are equal if their functions are the same.
    """

    function: Callable[[Array, Array], float]

    def __new__(cls, function: Callable[[Array, Array], float]) -> OwnDistance:
        """Name it as the function is named."""
        distance = super().__new__(cls, getattr(function, "__name__", type(function).__name__))
        distance.function = function
        return distance

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnDistance) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self) -> tuple[type[OwnDistance], tuple[Callable[[Array, Array], float]]]:
        return OwnDistance, (self.function,)

    def matrix(self, truth: Array, detected: Array) -> Array:
        """Distances of every truth (rows) to every detection (columns)."""
        values: Array = np.empty((len(truth), len(detected)))
        for row, mine in enumerate(truth):
            for column, theirs in enumerate(detected):
                value = self.function(mine.copy(), theirs.copy())
                try:
                    values[row, column] = value
                except (TypeError, ValueError):
                    values[row, column] = math.nan
                if not 0 <= values[row, column] < math.inf:
                    pair = f"{mine.tolist()} and {theirs.tolist()}"
                    raise OutOfRange(
                        f"the distance '{self}' of {pair} is {value!r}", remedy="It must be a number from 0 up."
                    )
        return values


WEIGHTS: tuple[float, ...] = (1 / 2, 1 / 2, 1 / 5, 1 / 3, 1 / 3)  # of x, y, angle, a, b in `param`


def canonical(rows: ArrayLike) -> Array:
    """Rows x, y, angle, a, b with a ≥ b and the angle in [0, 180)."""
    result: Array = np.array(rows, dtype=np.float64, ndmin=2)
    swapped = result[:, 3] < result[:, 4]
    result[swapped, 3:] = result[swapped, 4:2:-1]
    angle = np.mod(result[:, 2], 180.0) + np.where(swapped, 90.0, 0.0)
    angle = np.where(angle >= 180.0, angle - 180.0, angle)
    result[:, 2] = np.where(angle >= 180.0, 0.0, angle)  # -1e-20 mod 180 is 180
    return result


def distance_matrix(
    truth: ArrayLike, detected: ArrayLike, distance: str = "param", weights: tuple[float, ...] = WEIGHTS
) -> Array:
    """Distances of every truth (rows) to every detection (columns)."""
    values: Array = _native.ellipse_matrix(
        canonical(truth), canonical(detected), DISTANCES[distance].code, np.array(weights, dtype=np.float64)
    )
    return values


def distances(
    truth: ArrayLike, detected: ArrayLike, distance: str = "param", weights: tuple[float, ...] = WEIGHTS
) -> Array:
    """The distance of each truth to the detection of the same row.

    >>> distances([[150, 100, 45, 40, 20]], [[138, 112, 55, 40, 20]]).tolist()
    [14.0]
    """
    values: Array = _native.ellipse_pairwise(
        canonical(truth), canonical(detected), DISTANCES[distance].code, np.array(weights, dtype=np.float64)
    )
    return values


def overlap_area(truth: ArrayLike, detected: ArrayLike) -> Array:
    """The exact area that each truth shares with the detection of the same row."""
    area: Array = _native.ellipse_overlap(canonical(truth), canonical(detected))
    return area


def match(
    truth: Array,
    detected: Array,
    truth_ends: Array,
    detected_ends: Array,
    distance: str,
    matching: Matching = "greedy",
    weights: tuple[float, ...] = WEIGHTS,
) -> tuple[Array, Array, Array, Array]:
    """Pair canonical rows image by image; an image's rows end where `truth_ends` and `detected_ends` say.

    Gives for each pair its image, its truth, its detection and their distance: by image, inside one by distance.
    """
    if matching not in MATCHINGS:
        raise ValueError(f"there is no matching '{matching}'")
    if isinstance(distance, OwnDistance):
        return _match_by_own(truth, detected, truth_ends, detected_ends, distance, matching)
    image, true, predicted, length = _native.ellipse_match(
        truth,
        detected,
        truth_ends,
        detected_ends,
        DISTANCES[distance].code,
        np.array(weights, dtype=np.float64),
        matching == "optimal",
    )
    return image, true, predicted, length


def _match_by_own(
    truth: Array, detected: Array, truth_ends: Array, detected_ends: Array, distance: OwnDistance, matching: Matching
) -> tuple[Array, Array, Array, Array]:
    """As `match`, by a distance of the user's: image by image in Python."""
    parts: list[tuple[Array, Array, Array, Array]] = []
    first, start = 0, 0
    for image, (last, end) in enumerate(zip(truth_ends.tolist(), detected_ends.tolist(), strict=True)):
        costs = distance.matrix(truth[first:last], detected[start:end])
        column = assign(costs, matching) if costs.size else np.full(last - first, -1)
        row = np.flatnonzero(column >= 0)
        length = costs[row, column[row]]
        row = row[np.argsort(length, kind="stable")]
        parts.append((np.full(len(row), image), first + row, start + column[row], costs[row, column[row]]))
        first, start = last, end
    images, rows, columns, lengths = (np.concatenate([part[i] for part in parts]) for i in range(4))
    return images.astype(np.int64), rows.astype(np.int64), columns.astype(np.int64), lengths.astype(np.float64)


def match_by_score(
    truth: Array, detected: Array, truth_ends: Array, detected_ends: Array, score: Array, ious: tuple[float, ...]
) -> Array:
    """Which detections find a truth, by the rule of detection benchmarks; one column for each IoU asked for.

    The highest score first (ties by index); a detection takes the still free truth with the largest IoU, if that is at
    least the one asked for.
    """
    hit: Array = _native.ellipse_match_by_score(
        truth, detected, truth_ends, detected_ends, score, np.array(ious, dtype=np.float64)
    )
    return hit
