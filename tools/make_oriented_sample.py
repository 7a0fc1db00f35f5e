"""Make the sample of `oriented`: drawn harbours seen from above. Run: python tools/make_oriented_sample.py

Ships lie along piers, trucks stand in rows, planes lie anywhere. Model A finds nearly all and turns them a few degrees
wrong; model B lies better, misses small ones, and takes some trucks for ships.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "src" / "steelyard" / "samples" / "oriented"
SIZES = {"ship": (90, 22), "truck": (30, 11), "plane": (52, 47)}
SITES = ("harbour", "depot", "airfield")
SIDE = 1024


def objects(rng: np.random.Generator, site: str) -> list[tuple[str, float, float, float, float, float]]:
    """Of one image: class, centre, size and angle, in rows that share a direction."""
    made = []
    share = {"harbour": (0.6, 0.3), "depot": (0.1, 0.8), "airfield": (0.0, 0.3)}[site]
    for _ in range(int(rng.integers(1, 4))):
        pick = rng.random()
        label = "ship" if pick < share[0] else "truck" if pick < sum(share) else "plane"
        along, across = SIZES[label]
        angle, start = float(rng.uniform(-np.pi / 2, np.pi / 2)), rng.uniform(200, SIDE - 200, 2)
        for i in range(int(rng.integers(1, 5))):
            step = i * across * 1.5
            place = start + step * np.array([-np.sin(angle), np.cos(angle)]) + rng.normal(0, 1.5, 2)
            size = np.array([along, across]) * np.exp(rng.normal(0, 0.12))
            turned = (
                angle + float(rng.normal(0, 0.04)) if label != "plane" else float(rng.uniform(-np.pi / 2, np.pi / 2))
            )
            if ((place > 0) & (place < SIDE)).all():
                made.append((label, *place, *size, (turned + np.pi / 2) % np.pi - np.pi / 2))
    return made


def detected(
    rng: np.random.Generator, truth: list[tuple[str, ...]], turn: float, fit: float, miss: float, wrong: float
) -> list[list[object]]:
    """What a model finds of one image."""
    rows: list[list[object]] = []
    for label, x, y, w, h, angle in truth:
        small = float(w) < 40
        if rng.random() < miss * (2 if small else 1):
            continue
        seen = "ship" if label == "truck" and rng.random() < wrong else label
        x, y = (float(v) + rng.normal(0, fit * float(h)) for v in (x, y))
        w, h = (float(v) * np.exp(rng.normal(0, fit)) for v in (w, h))
        angle = float(angle) + rng.normal(0, turn)
        rows.append([seen, x, y, w, h, angle, rng.beta(6, 2) if seen == label else rng.beta(3, 3)])
        if rng.random() < 0.06:
            rows.append([seen, x + 3, y + 2, w, h, angle, rng.beta(2, 4)])
    for _ in range(int(rng.poisson(0.6))):
        label = str(rng.choice(list(SIZES)))
        along, across = SIZES[label]
        rows.append([label, *rng.uniform(100, SIDE - 100, 2), along, across, rng.uniform(-1.5, 1.5), rng.beta(2, 5)])
    return rows


def write(name: str, header: list[str], rows: list[list[object]]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow([round(float(v), 3) if isinstance(v, float) else v for v in row])


def main() -> None:
    rng = np.random.default_rng(2024)
    truth, a, b = [], [], []
    for number in range(60):
        image, site = f"P{number:04d}", SITES[number % 3]
        own = objects(rng, site)
        for label, *shape in own:
            truth.append([image, label, *map(float, shape), int(rng.random() < 0.06), site])
        a += [[image, *row] for row in detected(rng, own, 0.10, 0.05, 0.05, 0.02)]
        b += [[image, *row] for row in detected(rng, own, 0.03, 0.05, 0.12, 0.10)]
    shape = ["cx", "cy", "w", "h", "angle"]
    write("truth.csv", ["image", "label", *shape, "difficult", "site"], truth)
    for name, rows in (("model_a.csv", a), ("model_b.csv", b)):
        kept = {row[0] for row in truth}
        write(name, ["image", "label", *shape, "score"], [row for row in rows if row[0] in kept])
    (FOLDER / "sample.json").write_text('{"by": "site"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
