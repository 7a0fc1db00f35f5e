"""Make the sample of task `nutrients`: drawn dishes, not measured ones. Run: python tools/make_nutrients_sample.py

Sixty dishes of twenty people. Model A recognises foods well and guesses portions; model B sees portions better,
mistakes foods for similar ones and overlooks fat. Amounts per 100 g are rounded, for illustration.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from make_samples import CUISINES, SAMPLES, write

# name: typical grams; per 100 g: kcal, fat, carbohydrate, protein; a food that it is mistaken for
TABLE = """
rice 180 130 0.3 28.0 2.7 couscous
couscous 170 112 0.2 23.0 3.8 rice
pasta 200 157 0.9 31.0 5.8 noodles
noodles 200 138 2.1 25.0 4.5 pasta
potato 150 87 0.1 20.0 1.9 turnip
turnip 120 22 0.1 5.1 0.7 potato
chicken 130 165 3.6 0.0 31.0 tofu
tofu 110 144 8.7 2.8 17.0 cheese
salmon 120 206 12.0 0.0 22.0 trout
trout 120 168 7.4 0.0 24.0 salmon
egg 55 155 11.0 1.1 13.0 tofu
lentils 140 116 0.4 20.0 9.0 chickpeas
chickpeas 140 164 2.6 27.0 8.9 lentils
broccoli 80 35 0.4 7.2 2.4 beans
beans 80 35 0.3 7.9 1.9 broccoli
carrot 60 35 0.2 8.2 0.8 pumpkin
pumpkin 90 20 0.1 4.9 0.7 carrot
cheese 30 402 33.0 1.3 25.0 tofu
oil 10 884 100.0 0.0 0.0
sauce 25 90 4.0 12.0 1.5
"""
ROWS = [line.split() for line in TABLE.split("\n") if line]
FOODS = {name: tuple(map(float, values[:5])) for name, *values in ROWS}
MISTAKEN = {row[0]: row[6] for row in ROWS if len(row) > 6}
TARGETS = ("mass", "energy", "fat", "carbohydrate", "protein")


def totals(grams: dict[str, float]) -> list[float]:
    """Mass and nutrients of a list of foods."""
    nutrients = [sum(g * FOODS[food][1 + k] / 100 for food, g in grams.items()) for k in range(4)]
    return [round(value, 1) for value in (sum(grams.values()), *nutrients)]


def listed(grams: dict[str, float]) -> str:
    return "|".join(f"{food}={amount}" for food, amount in grams.items())


def seen(
    rng: np.random.Generator, true: dict[str, float], pull: float, noise: float, mistakes: float, overlooked: float
) -> dict[str, float]:
    """What a model makes of a dish: foods mistaken or overlooked, and portions between the true and a typical one."""
    whole = float(np.exp(rng.normal(0, noise)))  # a dish is misjudged as a whole
    result: dict[str, float] = {}
    for food, grams in true.items():
        typical, other = FOODS[food][0], MISTAKEN.get(food)
        if not other and rng.random() < overlooked:
            continue
        name = other if other and rng.random() < mistakes else food
        amount = ((1 - pull) * grams + pull * typical) * whole * float(np.exp(rng.normal(0, noise / 2)))
        result[name] = round(result.get(name, 0.0) + amount, 1)
    return result


def main(folder: Path) -> None:
    """Write the truth, two models and what the sample is sliced by."""
    rng = np.random.default_rng(20261118)
    rows: dict[str, list[list[object]]] = {"truth": [], "model_a": [], "model_b": []}
    main_foods = list(MISTAKEN)
    for dish in range(1, 61):
        cuisine = CUISINES[dish % 3]
        person = f"p{(dish - 1) % 20 + 1:02d}"
        chosen = [
            main_foods[i] for i in sorted(rng.choice(len(main_foods), size=int(rng.integers(2, 5)), replace=False))
        ]
        chosen += [food for food, share in (("oil", 0.6), ("sauce", 0.4)) if rng.random() < share]
        scale = {"canteen": 1.15, "home": 1.0, "restaurant": 0.85}[cuisine]
        true = {food: round(FOODS[food][0] * scale * float(np.exp(rng.normal(0, 0.35))), 1) for food in chosen}
        name = f"dish{dish:03d}"
        rows["truth"].append([name, *totals(true), listed(true), cuisine, person])
        for model, settings in (("model_a", (0.45, 0.22, 0.08, 0.3)), ("model_b", (0.15, 0.12, 0.25, 0.7))):
            predicted = seen(rng, true, *settings)
            rows[model].append([name, *totals(predicted), listed(predicted)])
    write(folder / "truth.csv", ["dish", *TARGETS, "ingredients", "cuisine", "person"], rows["truth"])
    for model in ("model_a", "model_b"):
        write(folder / f"{model}.csv", ["dish", *TARGETS, "ingredients"], rows[model])
    (folder / "sample.json").write_text(json.dumps({"by": "cuisine"}) + "\n")


if __name__ == "__main__":
    main(SAMPLES / "nutrients")
