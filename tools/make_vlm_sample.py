"""Make the sample of `steelyard demo vlm`: meals on drawn plates. Run: python tools/make_vlm_sample.py"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import plates

FOLDER = Path(__file__).resolve().parent.parent / "src" / "steelyard" / "samples" / "vlm"


def main() -> None:
    rng = np.random.default_rng(20260703)
    rows: list[list[object]] = []
    (FOLDER / "images").mkdir(parents=True, exist_ok=True)
    for meal in range(12):
        food = list(plates.FOODS)[meal % len(plates.FOODS)]
        _, relative, density = plates.FOODS[food]
        grams = float(rng.uniform(0.55, 0.95)) * plates.FULL_GRAMS * relative
        for t in range(4):
            name = f"meal{meal + 1:02d}_{t}.png"
            plates.draw(round(grams), food, rng).save(FOLDER / "images" / name, optimize=True)
            rows.append([f"meal{meal + 1:02d}", t, f"images/{name}", food, round(grams), density])
            grams *= float(rng.uniform(0.45, 0.8))
    with (FOLDER / "frames.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sequence", "t", "image", "food", "weight", "kcal_per_g"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
