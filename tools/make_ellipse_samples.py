"""Make the sample data of `steelyard demo ellipses`: drawn, not measured. Run: python tools/make_ellipse_samples.py

Coins and plates seen from aside. Model A finds nearly everything and fits roughly; model B fits better and misses small
ones. Some images are empty, and say so by a row with nothing but their name.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).parent.parent / "src" / "steelyard" / "samples"
SCENES = ("table", "street", "lab")
Rows = list[list[object]]


def draw(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    truth: Rows = []
    a: Rows = []
    b: Rows = []
    for number in range(1, 49):
        image, scene = f"img{number:03d}.png", SCENES[number % 3]
        many = 0 if number % 12 == 0 else int(rng.integers(1, 6))
        own = []
        for _ in range(many):
            major = float(rng.uniform(8, 60))
            own.append(
                [*rng.uniform([60, 60], [580, 420]), major, major * float(rng.uniform(0.35, 1)), rng.uniform(0, 180)]
            )
        truth += [[image, *(round(float(v), 1) for v in row), scene] for row in own] or [[image, *[""] * 5, scene]]
        blur = {"table": 1.0, "street": 1.8, "lab": 0.6}[scene]
        a += seen(rng, image, own, blur * 1.6, 0.29, 0.0)
        b += seen(rng, image, own, blur * 0.8, 0.18, 14.0)
    return truth, a, b


def seen(
    rng: np.random.Generator, image: str, own: list[list[float]], blur: float, ghosts: float, smallest: float
) -> Rows:
    rows: Rows = []
    for row in own:
        if row[2] < smallest or rng.random() < 0.05:
            continue
        noise = rng.normal(0, [1.5, 1.5, 1.2, 1.2, 4.0]) * blur
        moved = np.array(row, dtype=float) + noise
        moved[2:4] = np.maximum(moved[2:4], 2)
        rows.append([image, *(round(float(v), 1) for v in moved), round(float(np.clip(rng.normal(0.8, 0.1), 0, 1)), 3)])
    if rng.random() < ghosts:
        ghost = [*rng.uniform([60, 60], [580, 420]), *rng.uniform(6, 30, 2), rng.uniform(0, 180)]
        rows.append(
            [image, *(round(float(v), 1) for v in ghost), round(float(np.clip(rng.normal(0.5, 0.15), 0, 1)), 3)]
        )
    return rows or [[image, *[""] * 6]]


def write(name: str, header: list[str], rows: Rows) -> None:
    folder = SAMPLES / "ellipses"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main() -> None:
    ellipse = ["image", "xc", "yc", "a", "b", "theta"]
    truth, a, b = draw(np.random.default_rng(20260703))
    write("truth.csv", [*ellipse, "scene"], truth)
    write("model_a.csv", [*ellipse, "score"], a)
    write("model_b.csv", [*ellipse, "score"], b)


if __name__ == "__main__":
    main()
