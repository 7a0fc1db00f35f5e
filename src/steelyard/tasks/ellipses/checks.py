"""Checks of `ellipses`: angles, axes and centres in another convention."""

from __future__ import annotations

from functools import partial

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.ids import again, with_ids
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array, Records, median

CHECKS = with_ids(Checks(), repeats=False)
PARAMETERS = ("xc", "yc", "theta", "a", "b")
LONG = 1.15  # the ratio of axes from which on an angle can be seen


class Nearest(Frozen):
    """True ellipses with the found one whose centre lies nearest, inside the larger of their axes."""

    truth: Array  # (n, 5): xc, yc, theta, a, b as the task takes them, in degrees
    predicted: Array
    row: Array  # rows of the predictions, as read
    truth_row: Array
    total: int  # true ellipses that were looked at

    def __len__(self) -> int:
        return len(self.row)


def _side(records: Records, rows: Array) -> Array:
    return np.column_stack([records[name][rows] for name in PARAMETERS])


def nearest(data: CheckData) -> Nearest | None:
    """Ellipses that belong together by place alone."""
    if "nearest" not in data.read:
        data.read["nearest"] = _nearest(data)
    nearest: Nearest | None = data.read["nearest"]
    return nearest


def _nearest(data: CheckData, swap: bool = False) -> Nearest | None:
    pairs = data.pairs
    if pairs is None or not len(pairs.truth_row) or not len(pairs.prediction_row):
        return None
    units = evenly(len(pairs.units), 60 if data.quick else 2000)
    chosen = np.zeros(len(pairs.units), dtype=bool)
    chosen[units] = True
    mine, theirs = np.flatnonzero(chosen[pairs.truth_owner]), np.flatnonzero(chosen[pairs.prediction_owner])
    truth = _side(pairs.truth, pairs.truth_row[mine])
    predicted = _side(pairs.prediction, pairs.prediction_row[theirs])
    if swap:
        predicted[:, :2] = predicted[:, 1::-1]
    there, seen = ~np.isnan(truth[:, 0]), ~np.isnan(predicted[:, 0])
    truth, owner, own = truth[there], pairs.truth_owner[mine][there], pairs.truth_row[mine][there]
    predicted, other, row = predicted[seen], pairs.prediction_owner[theirs][seen], pairs.prediction_row[theirs][seen]
    if not len(truth) or not len(predicted):
        return None
    begin, end = np.searchsorted(other, owner), np.searchsorted(other, owner, side="right")
    many = end - begin
    left = np.repeat(np.arange(len(truth)), many)
    right = np.repeat(begin, many) + np.arange(len(left)) - np.repeat(np.cumsum(many) - many, many)
    distance = np.hypot(*(truth[left, :2] - predicted[right, :2]).T)
    order = np.lexsort((distance, left))
    first = order[np.flatnonzero(np.diff(left[order], prepend=-1))] if len(order) else order
    close = first[distance[first] <= np.maximum(truth[left[first], 3:].max(axis=1), 1e-9)]
    return Nearest(truth[left[close]], predicted[right[close]], row[right[close]], own[left[close]], len(truth))


def _turn(a: Array, b: Array) -> Array:
    """The angle between two axes, 0 to 90 degrees."""
    difference: Array = np.abs((a - b + 90) % 180 - 90)
    return difference


def _long(near: Nearest) -> Array:
    long: Array = np.minimum(near.truth[:, 3] / near.truth[:, 4], near.predicted[:, 3] / near.predicted[:, 4]) >= LONG
    return long


def _fits(near: Nearest) -> Array:
    """Where centres and axes are nearly those of the truth."""
    away = np.hypot(*(near.predicted[:, :2] - near.truth[:, :2]).T) <= 0.3 * near.truth[:, 3]
    sizes: Array = away & (np.abs(np.log(near.predicted[:, 3:] / near.truth[:, 3:])) < 0.25).all(axis=1)
    return sizes


def raw(data: CheckData, side: str) -> Records | None:
    """A side as it was read, before angles and axes were converted."""
    return data.truth if side == "truth" else data.prediction


@CHECKS.add(
    "radians-as-degrees", "error", "angles are radians where degrees are expected, all or some of them",
    "Set the option prediction.angle=radians (or truth.angle), or write degrees.",
)  # fmt: skip
def radians(data: CheckData) -> Problem | None:
    """Angles that are far off as they stand and right as radians, beside others or not; on either side."""
    near = nearest(data)
    if near is None:
        return None
    options = data.options
    for side, records, rows, other in (
        ("prediction", data.prediction, near.row, near.truth[:, 2]),
        ("truth", data.truth, near.truth_row, near.predicted[:, 2]),
    ):
        if (
            records is None
            or "theta" not in records
            or options.of("angle", side) == "radians"
            or options.of("y_up", side)
        ):
            continue
        theta, swapped = records["theta"][rows], records["a"][rows] < records["b"][rows]
        small = np.abs(theta) <= 2 * np.pi
        plain = _turn(theta + 90 * swapped, other)
        odd = np.flatnonzero(_long(near) & small & (plain > 15))
        if len(odd) < FEW:  # so few that they must fit in all else, and well
            odd = odd[_fits(near)[odd] & (np.abs(theta[odd]) <= 3.15) & (plain[odd] > 30)]
        read = _turn(np.degrees(theta[odd]) + 90 * swapped[odd], other[odd])
        many = len(odd) >= FEW
        right = read < (15 if many else 1)  # a few may be right by chance
        if len(odd) < (3 if len(near) >= FEW else 1) or right.mean() < (0.6 if many else 0.99):
            continue
        which = "truth" if side == "truth" else "predictions"
        beside = "" if small.all() else ", beside others that are degrees"
        return Problem(
            f"Angles of the {which} are {median(plain[odd]):.0f}° off as degrees and "
            f"{median(read[right]):.2g}° off "
            f"as radians{beside}.",
            int(right.sum()), len(near), some_rows(records, rows[odd[right]], "theta"),
            severity="error" if many else "warning",
        )  # fmt: skip
    return None


@CHECKS.add(
    "angles-look-like-radians", "warning", "both sides hold radians: angles then hardly count, and scores are too high",
    "Set the option angle=radians where it is so.", side="truth",
)  # fmt: skip
def looks_like_radians(data: CheckData) -> Problem | None:
    """Angles that fill half a turn or a whole one of radians, and go no further."""
    theta = data.truth.columns.get("theta")
    if theta is None or (data.options is not None and data.options.of("angle", "truth") == "radians"):
        return None
    angles = theta[~np.isnan(theta)]
    if len(angles) < 30 or (angles == np.round(angles)).all():
        return None
    for low, high in ((0, np.pi), (-np.pi / 2, np.pi / 2), (-np.pi, np.pi), (0, 2 * np.pi)):
        inside = (angles >= low - 1e-6) & (angles <= high + 1e-6)
        if not inside.all():
            continue
        spread = np.abs(np.sort((angles - low) / (high - low)) - (np.arange(len(angles)) + 0.5) / len(angles)).max()
        if spread < 0.2:
            return Problem(
                f"All {len(angles)} angles lie evenly between {low:.3g} and {high:.3g}.", len(angles), len(angles),
                some_rows(data.truth, np.flatnonzero(~np.isnan(theta)), "theta"),
            )  # fmt: skip
    return None


@CHECKS.add(
    "full-axes", "error", "full axes where half axes are expected, or the other way round",
    "Set the option prediction.axes=full (or truth.axes), or give half axes.",
)  # fmt: skip
def full_axes(data: CheckData) -> Problem | None:
    """Axes that are twice or half as long as the truth's, all alike."""
    near = nearest(data)
    if near is None or len(near) < FEW:
        return None
    ratio = np.log2(near.predicted[:, 3:] / near.truth[:, 3:]).mean(axis=1)
    middle = median(ratio)
    spread = median(np.abs(ratio - middle))
    if abs(abs(middle) - 1) > 0.2 or spread > 0.35:
        return None
    return Problem(
        f"The axes of the predictions are {2**middle:.2g} times as long as those of the true ellipses at "
        f"the same place.",
        len(near), near.total, some_rows(data.prediction, near.row, "a"),  # type: ignore[arg-type]
    )  # fmt: skip


@CHECKS.add(
    "axes-exchanged", "error", "the angle is that of the other axis: a and b are exchanged",
    "Exchange a and b, or add 90°: theta goes from the x axis to the axis a.",
)  # fmt: skip
def axes_exchanged(data: CheckData) -> Problem | None:
    """Angles that are a quarter turn off."""
    near = nearest(data)
    if near is None:
        return None
    use = _long(near)
    if use.sum() < FEW:
        return None
    plain = _turn(near.predicted[use, 2], near.truth[use, 2])
    return _turned_angles(data, near, use, plain, 90 - plain, "with a quarter turn more")


@CHECKS.add(
    "angle-reversed",
    "error",
    "angles run the other way, as where y goes up",
    "Negate theta, or set the option y_up=HEIGHT.",
)
def angle_reversed(data: CheckData) -> Problem | None:
    """Angles that are right with the other sign."""
    near = nearest(data)
    if near is None:
        return None
    use = _long(near)
    if use.sum() < FEW:
        return None
    plain = _turn(near.predicted[use, 2], near.truth[use, 2])
    return _turned_angles(
        data, near, use, plain, _turn(-near.predicted[use, 2], near.truth[use, 2]), "with the other sign"
    )


def _turned_angles(
    data: CheckData, near: Nearest, use: Array, plain: Array, other: Array, reading: str
) -> Problem | None:
    if median(other) > 20 or median(plain) < 2 * median(other) + 10:
        return None
    return Problem(
        f"Half of the angles are {median(plain):.0f}° or more off, and {median(other):.2g}° {reading}.",
        int(use.sum()), near.total, some_rows(data.prediction, near.row[use], "theta"),  # type: ignore[arg-type]
    )  # fmt: skip


@CHECKS.add(
    "centres-exchanged", "error", "x and y are exchanged", "Write xc before yc: x goes right and y down.", quick=False
)
def centres_exchanged(data: CheckData) -> Problem | None:
    """Centres that lie on true ellipses when x and y change places."""
    near, other = nearest(data), _nearest(data, swap=True)
    if other is None or other.total < FEW:
        return None
    plain, share = (0 if near is None else len(near)) / other.total, len(other) / other.total
    if share < max(2 * plain, plain + 0.3):
        return None
    return Problem(
        f"{plain:.0%} of the true ellipses have a prediction on them, and {share:.0%} where x and y are exchanged.",
        len(other), other.total, some_rows(data.prediction, other.row, "xc"),  # type: ignore[arg-type]
    )  # fmt: skip


@CHECKS.add(
    "fractions",
    "error",
    "fractions of the image where pixels are expected",
    "Multiply by the image's width and height.",
)
def fractions(data: CheckData) -> Problem | None:
    """Predictions inside the unit square, beside truth that is not."""
    near = data.pairs
    if near is None or data.prediction is None:
        return None
    sizes = [
        np.abs(_side(records, rows[: 10 * FEW])[:, [0, 1, 3, 4]])
        for records, rows in ((near.truth, near.truth_row), (near.prediction, near.prediction_row))
    ]
    highest = [float(np.nanmax(v, initial=0)) for v in sizes]
    if np.count_nonzero(~np.isnan(sizes[1][:, 0])) < 5 or highest[1] > 1.5 or highest[0] < 20:
        return None
    return Problem(
        f"No number of the predictions is above {highest[1]:.2g}, and the truth reaches {highest[0]:g}.",
        len(near.prediction_row), len(near.prediction_row), some_rows(data.prediction, [0, 1, 2], "xc"),
    )  # fmt: skip


@CHECKS.add("copies-of-truth", "warning", "predictions that are the truth itself", "Are these predictions of a model?")
def copies(data: CheckData) -> Problem | None:
    """Ellipses that are equal in every digit."""
    near = nearest(data)
    if near is None or len(near) < FEW:
        return None
    same = (near.truth == near.predicted).all(axis=1)
    if same.sum() < 0.95 * near.total:
        return None
    return Problem(
        f"{same.sum() / near.total:.0%} of the true ellipses have a prediction equal to them in every digit.",
        int(same.sum()), near.total, some_rows(data.prediction, near.row[same], "xc"),  # type: ignore[arg-type]
    )  # fmt: skip


def repeated_ellipses(side: str, data: CheckData) -> Problem | None:
    """Ellipses that appear twice in an image, equal in all."""
    records = raw(data, side)
    if records is None or "xc" not in records or not all(name in records for name in PARAMETERS):
        return None
    there = np.flatnonzero(~np.isnan(records["xc"]))
    numbers = np.column_stack([records[name][there] for name in PARAMETERS])
    if not len(there):
        return None
    code = np.unique(numbers, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    rows = there[again([records["image"][there], code])]
    if not len(rows):
        return None
    return Problem(
        "Ellipses appear twice in an image, equal in all.", len(rows), len(there), some_rows(records, rows, "xc")
    )


for _name, _effect in (("truth", "one of two is a sure miss"), ("predictions", "each copy is a false positive")):
    CHECKS.add("repeated-rows", "warning", _effect, "Write each ellipse once.", side=_name, quick=False)(
        partial(repeated_ellipses, _name)
    )


@CHECKS.add(
    "nothing-fits",
    "warning",
    "hardly any true ellipse has a prediction on it",
    "Are these predictions of the same images?",
)
def nothing_fits(data: CheckData) -> Problem | None:
    """True ellipses with no found centre inside."""
    near = nearest(data)
    if data.pairs is None or near is None or near.total < FEW or len(near) > 0.05 * near.total:
        return None
    return Problem(
        f"{len(near) / near.total:.1%} of the true ellipses have the centre of a prediction inside.",
        near.total - len(near), near.total, some_rows(data.truth, [0, 1, 2], "xc"),
    )  # fmt: skip
