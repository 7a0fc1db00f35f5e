"""Make the sample data of `steelyard demo tracking`: drawn, not measured. Run: python tools/make_tracking_samples.py

Ten short videos of people and bicycles, from a street and from a square. Model A finds more and mixes up who is who;
model B finds less and keeps its names.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).parent.parent / "src" / "steelyard" / "samples"
FRAMES = 24
Rows = list[list[object]]


def follow(rng: np.random.Generator, own: Rows, miss: float, jitter: float, switch: float) -> Rows:
    """One model's tracks of a video: with misses, noise, names that change, and boxes where nothing is."""
    rows: Rows = []
    names: dict[object, int] = {}
    last = 0
    for sequence, frame, track, x, y, w, h, label, *_ in own:
        if track not in names or rng.random() < switch:
            last += 1
            others = [other for other in names if other != track]
            if track in names and others and rng.random() < 0.5:  # two names are exchanged
                other = others[int(rng.integers(len(others)))]
                names[track], names[other] = names[other], names[track]
            else:
                names[track] = last
        if rng.random() < miss:
            continue
        box = np.array([x, y, w, h], dtype=float) + rng.normal(0, jitter, 4) * float(w) * [1, 1, 0.5, 0.5]
        rows.append(
            [sequence, frame, names[track], *np.round(box, 1).tolist(), label, round(float(rng.uniform(0.5, 1)), 2)]
        )
    for frame in range(1, FRAMES + 1):
        if rng.random() < 0.25:
            x, y = rng.uniform([0, 100], [600, 300])
            rows.append([own[0][0], frame, 900 + frame // 4, round(x, 1), round(y, 1), 40, 90, "person", 0.41])
    return sorted(rows, key=lambda row: (row[0], row[1]))  # type: ignore[type-var]


def once_a_frame(rows: Rows) -> Rows:
    """The rows without those whose name stands in their frame already."""
    seen: set[tuple[object, ...]] = set()
    return [row for row in rows if tuple(row[:3]) not in seen and not seen.add(tuple(row[:3]))]  # type: ignore[func-returns-value]


def draw(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    truth: Rows = []
    a: Rows = []
    b: Rows = []
    for number in range(1, 11):
        sequence, camera = f"video{number:02d}", "street" if number % 2 else "square"
        own: Rows = []
        for track in range(1, int(rng.integers(3, 7)) + 1):
            label = "bicycle" if track % 3 == 0 else "person"
            w, h = (70.0, 80.0) if label == "bicycle" else (36.0, 92.0)
            x, y = rng.uniform([0, 120], [560, 300])
            speed = rng.uniform(-9, 9), rng.uniform(-1, 1)
            first = int(rng.integers(1, 6))
            for frame in range(first, FRAMES + 1):
                x, y = x + speed[0], y + speed[1]
                own.append([sequence, frame, track, round(x, 1), round(y, 1), w, h, label, camera, FRAMES])
        own.sort(key=lambda row: row[1])  # type: ignore[arg-type,return-value]
        truth += own
        a += follow(rng, own, 0.08, 0.06, 0.03)
        b += follow(rng, own, 0.2, 0.06, 0.006)
    return truth, once_a_frame(a), once_a_frame(b)


def main() -> None:
    truth, a, b = draw(np.random.default_rng(23))
    names = ["sequence", "frame", "track", "x", "y", "w", "h", "label"]
    folder = SAMPLES / "tracking"
    folder.mkdir(exist_ok=True)
    sides = ((truth, "truth", ["camera", "frames"]), (a, "model_a", ["score"]), (b, "model_b", ["score"]))
    for rows, name, more in sides:
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([[*names, *more], *rows])
    (folder / "sample.json").write_text('{"by": "camera"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
