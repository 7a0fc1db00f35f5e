"""Ellipses as plain nested lists: one list per image, one list of five numbers per ellipse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidNumber, InvalidValue
from steelyard.core.plain import PlainPair, to_numpy
from steelyard.tasks.ellipses.data import PARAMETERS

NOTE = "Ellipses without names are xc, yc, theta, a and b (degrees, half axes); images are joined by position."


def plain_sides(truth: Any, predictions: Any) -> PlainPair | None:
    """Lists of ellipses by image as columns; None where a side is something else."""
    if not (_by_image(truth) and _by_image(predictions)):
        return None
    if len(truth) != len(predictions):
        raise InvalidValue(
            f"truth has {len(truth):,} images and predictions have {len(predictions):,}",
            remedy="Lists are joined by position: give one list per image on both sides, empty where there is none.",
        )
    return _columns(truth, "truth", 5), _columns(predictions, "predictions", 6), (NOTE,)


def _by_image(side: Any) -> bool:
    """Whether a side is a list whose entries are lists or arrays."""
    return isinstance(side, list | tuple) and all(
        isinstance(image, list | tuple) or hasattr(image, "__array__") for image in side
    )


def _columns(side: Sequence[Any], name: str, most: int) -> dict[str, Any]:
    rows = [row for number, image in enumerate(side) for row in _rows(image, number, name, most)]
    table = np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 6)
    columns: dict[str, Any] = {"image": np.array([row[0] for row in rows], dtype=np.int64)}
    columns |= {parameter: table[:, place] for place, parameter in enumerate(PARAMETERS)}
    if not np.isnan(table[:, 5]).all():
        columns["score"] = table[:, 5]
    return columns


def _rows(image: Any, number: int, side: str, most: int) -> list[tuple[int, list[float]]]:
    """The image's ellipses, each with a score or nan; one row of nan for an image without any."""
    ellipses = [to_numpy(ellipse) for ellipse in to_numpy(image)]
    rows = []
    for place, ellipse in enumerate(ellipses):
        values = ellipse.tolist() if hasattr(ellipse, "tolist") else ellipse
        numbers = isinstance(values, list | tuple) and all(
            isinstance(value, Real) and not isinstance(value, bool) for value in values
        )
        if not numbers or not 5 <= len(values) <= most:
            more = ", and in predictions a score behind them" if most > 5 else ""
            raise InvalidValue(
                f"{values!r} is not an ellipse", where=f"{side}, image {number}, ellipse {place}",
                remedy=f"Give five numbers: xc, yc, theta, a, b{more}.",
            )  # fmt: skip
        if not all(math.isfinite(value) for value in values):
            raise InvalidNumber(
                f"{values!r} has a value that is not finite", where=f"{side}, image {number}, ellipse {place}",
                remedy="Give five finite numbers, or leave the ellipse out.",
            )  # fmt: skip
        rows.append((number, [*map(float, values), *[math.nan] * (6 - len(values))]))
    return rows or [(number, [math.nan] * 6)]
