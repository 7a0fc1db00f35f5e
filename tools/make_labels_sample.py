"""Make the sample data of `steelyard demo labels`: drawn, not measured. Run: python tools/make_labels_sample.py

Photographs of single foods, several of one meal; the meal is the unit. Model A is sure of itself and mixes up what
looks alike; model B is right more often and says how sure it is.
"""

from __future__ import annotations

import make_samples
import numpy as np

FOODS = ("bread", "pasta", "rice", "salad", "soup")
SIMILARITY = np.array(
    [
        [3.0, 0.8, 0.3, 0.1, 0.0],
        [0.8, 3.0, 1.4, 0.1, 0.3],
        [0.3, 1.4, 3.0, 0.3, 0.4],
        [0.1, 0.1, 0.3, 3.0, 0.5],
        [0.0, 0.3, 0.4, 0.5, 3.0],
    ]
)


def probabilities(rng: np.random.Generator, food: int, meal: np.ndarray, skill: float, heat: float) -> list[str]:
    """Softmax of how alike the foods look in this photograph, rounded so that they add up to 1."""
    seen = skill * SIMILARITY[food] + meal + rng.normal(0, 1.0, len(FOODS))
    p = np.exp(heat * (seen - seen.max()))
    thousandths = np.floor(1000 * p / p.sum()).astype(int)
    thousandths[np.argmax(p)] += 1000 - thousandths.sum()
    return [f"{n / 1000:.3f}" for n in thousandths]


def main() -> None:
    rng = np.random.default_rng(20260703)
    truth: list[list[object]] = []
    a: list[list[object]] = []
    b: list[list[object]] = []
    for meal in range(70):
        light = ("day", "lamp")[int(rng.random() < 0.4)]
        hard_a, hard_b = rng.normal(0, 0.7, len(FOODS)), rng.normal(0, 0.5, len(FOODS))
        for _ in range(int(rng.integers(2, 6))):
            food = int(rng.choice(5, p=[0.30, 0.25, 0.20, 0.15, 0.10]))
            name = f"photo{len(truth):03d}"
            truth.append([name, FOODS[food], f"meal{meal:02d}", light])
            dim = 0.75 if light == "lamp" else 1.0
            a.append([name, *probabilities(rng, food, hard_a, 0.75 * dim, 2.0)])
            b.append([name, *probabilities(rng, food, hard_b, 0.95 * dim, 1.0)])
    folder = make_samples.SAMPLES / "labels"
    write = make_samples.write
    write(folder / "truth.csv", ["id", "label", "group", "light"], truth)
    header = ["id", *(f"probability:{food}" for food in FOODS)]
    write(folder / "model_a.csv", header, a)
    write(folder / "model_b.csv", header, b)


if __name__ == "__main__":
    main()
