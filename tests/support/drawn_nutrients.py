"""Drawn data of nutrients: dishes with items, five targets, lists of ingredients and amounts that are not known."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns

TARGETS = ("mass", "energy", "fat", "carbohydrate", "protein")
FOODS = ("rice", "beans", "egg", "Chicken", "olive oil", "bread")


def draw_nutrients(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """One or two items per dish; an unknown fat here and there, and a dish without salt."""
    dish, item = [], []
    for unit in range(units):
        count = 1 + (rng.random() < 0.3)
        dish += [f"d{unit}"] * count
        item += [f"i{i}" for i in range(count)]
    rows = len(dish)
    mass = np.round(rng.gamma(3.0, 60.0, rows) + 20, 1)
    share = 0.6 * rng.dirichlet([2.0, 1.0, 2.0, 1.5], rows)
    truth: Data = {"dish": dish, "item": item, "mass": mass}
    predicted: Data = {"dish": dish, "item": item, "mass": np.round(mass * rng.uniform(0.5, 1.6, rows), 1)}
    for k, name in enumerate(("fat", "carbohydrate", "protein"), start=1):
        truth[name] = np.round(mass * share[:, k], 1)
        predicted[name] = np.round(predicted["mass"] * share[:, k] * rng.uniform(0.7, 1.4, rows), 1)
    truth["fat"][rng.random(rows) < 0.1] = 0.0
    for side in (truth, predicted):
        side["energy"] = np.round(4 * side["protein"] + 4 * side["carbohydrate"] + 9 * side["fat"], 1)
    truth["fat"][rng.random(rows) < 0.05] = np.nan
    lists = [_foods(rng) for _ in range(rows)]
    truth["ingredients"] = [_listed(rng, foods, grams) for foods, grams in zip(lists, mass, strict=True)]
    predicted["ingredients"] = [
        _listed(rng, foods if rng.random() < 0.4 else _foods(rng), grams)
        for foods, grams in zip(lists, predicted["mass"], strict=True)
    ]
    truth["group"] = [f"g{hash_of(d) % 3}" for d in dish]
    return truth, predicted


def _foods(rng: np.random.Generator) -> list[str]:
    return [FOODS[i] for i in rng.choice(len(FOODS), size=int(rng.integers(1, 4)), replace=False)]


def _listed(rng: np.random.Generator, foods: list[str], grams: float) -> str:
    """Foods with their parts of the mass."""
    shares = rng.dirichlet(np.full(len(foods), 3.0))
    return "|".join(f"{food}={grams * share:.1f}" for food, share in zip(foods, shares, strict=True))


def perfect_nutrients(truth: Data) -> Data:
    """The truth, with any number where it is not known."""
    same = same_columns("dish", "item", *TARGETS, "ingredients")(truth)
    return {**same, "fat": np.nan_to_num(same["fat"])}


DRAWN = {"nutrients": Drawn(draw_nutrients, perfect_nutrients)}
