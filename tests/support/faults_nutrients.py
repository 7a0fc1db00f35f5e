"""Faults of nutrients that `check` must find: what is done to healthy data, the finding, its severity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support.check_faults import Fault, put, scaled, texts

NUTRIENTS = ("energy", "fat", "carbohydrate", "protein")


def times(side: int, factor: float, *names: str) -> Callable[[Any], None]:
    def apply(data: Any) -> None:
        for name in names:
            data[side][name] = data[side][name] * factor

    return apply


def swapped(data: Any) -> None:
    data[1]["fat"], data[1]["carbohydrate"] = data[0]["carbohydrate"] * 1.02, np.nan_to_num(data[0]["fat"]) * 1.02


def per_100_grams(data: Any) -> None:
    data[0]["mass"], data[1]["mass"] = data[0]["mass"] * 3, data[1]["mass"] * 3
    for side in data:
        for name in NUTRIENTS:
            side[name] = side[name] * 3
    for name in NUTRIENTS:
        data[1][name] = np.nan_to_num(data[0][name]) * 1.03 / data[0]["mass"] * 100


def days(data: Any) -> None:
    for side in data:
        for name in ("mass", *NUTRIENTS):
            side[name] = side[name] * 20


FAULTS: dict[str, dict[str, Fault]] = {
    "nutrients": {
        "kilograms": (scaled(1, "mass", 1e-3), "unit-of-amount", "error"),
        "ounces": (scaled(1, "mass", 1 / 28.35), "unit-of-amount", "error"),
        "truth in pounds": (scaled(0, "mass", 1 / 453.6), "unit-of-amount", "error"),
        "milligrams of fat": (scaled(1, "fat", 1e3), "unit-of-amount", "error"),
        "kilojoules": (scaled(1, "energy", 4.184), "kilojoules", "error"),
        "truth in kilojoules": (scaled(0, "energy", 4.184), "kilojoules", "error"),
        "both in kilojoules": (
            lambda data: [scaled(side, "energy", 4.184)(data) for side in (0, 1)] and None,
            "energy-of-macronutrients",
            "warning",
        ),
        "energy too high": (
            put(1, "energy", lambda d: 2 * d[1]["energy"] + 300),
            "energy-of-macronutrients",
            "warning",
        ),
        "macronutrients above the mass": (times(1, 4.0, *NUTRIENTS), "mass-below-macronutrients", "error"),
        "per 100 g": (per_100_grams, "per-100-grams", "error"),
        "whole days": (days, "whole-days", "warning"),
        "fat and carbohydrate": (swapped, "targets-swapped", "error"),
        "next row": (put(1, "mass", lambda d: np.roll(d[0]["mass"] * 1.03, 1)), "rows-shifted", "error"),
        "one number": (put(1, "protein", lambda d: d[1]["protein"] * 0 + 12), "constant", "warning"),
        "the truth": (put(1, "mass", lambda d: d[0]["mass"].copy()), "copies-of-truth", "warning"),
        "below 0": (put(1, "protein", lambda d: d[1]["protein"] - 40), "negative", "note"),
        "lists without mass": (
            put(1, "ingredients", lambda d: ["rice=1"] * len(d[1]["dish"])),
            "ingredients-and-mass",
            "note",
        ),
        "capitals": (put(1, "dish", lambda d: texts(str.upper)(d[1]["dish"])), "ids-differ", "error"),
    }
}
