"""Make the sample data of `steelyard demo boxes3d`: drawn, not measured. Run: python tools/make_boxes3d_samples.py

Sixty frames of a street and of a motorway in KITTI's columns: cars, people and cyclists. Model A finds more and places
boxes loosely; model B finds less, and what it finds lies well.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).parent.parent / "src" / "steelyard" / "samples"
SIZES = {"Car": (3.9, 1.65, 1.5), "Pedestrian": (0.8, 0.6, 1.75), "Cyclist": (1.8, 0.6, 1.7)}
FOCAL, MIDDLE, LOW = 720.0, (610.0, 170.0), 1.65  # pixels, pixels, metres from the camera to the ground
BOX = (
    "frame", "label", "alpha", "left", "top", "right", "bottom", "height", "width", "length", "x", "y", "z", "yaw",
)  # fmt: skip
Row = dict[str, object]


def image_box(size: np.ndarray, x: float, z: float, yaw: float) -> tuple[float, float, float, float]:
    """The box around the corners, seen by the camera."""
    length, width, height = size
    corners = np.array([(a * length / 2, b * width / 2) for a in (-1, 1) for b in (-1, 1)])
    across = x + np.cos(yaw) * corners[:, 0] + np.sin(yaw) * corners[:, 1]
    ahead = np.maximum(z - np.sin(yaw) * corners[:, 0] + np.cos(yaw) * corners[:, 1], 1.0)
    u = MIDDLE[0] + FOCAL * across / ahead
    low, high = MIDDLE[1] + FOCAL * LOW / ahead, MIDDLE[1] + FOCAL * (LOW - height) / ahead
    return tuple(np.round([u.min(), high.min(), u.max(), low.max()], 1).tolist())


def row(frame: str, label: str, size: np.ndarray, x: float, z: float, yaw: float) -> Row:
    box = image_box(size, x, z, yaw)
    alpha = (yaw - np.arctan2(x, z) + np.pi) % (2 * np.pi) - np.pi
    values = [frame, label, round(float(alpha), 2), *box, *np.round(size[::-1], 2).tolist(), round(x, 2), LOW]
    return dict(zip(BOX, [*values, round(z, 2), round(yaw, 2)], strict=True))


def seen(rng: np.random.Generator, own: list[Row], loose: float, miss: float, false: float) -> list[Row]:
    """What a model finds: with misses, noise, headings turned around, and boxes where nothing is."""
    rows: list[Row] = []
    for one in own:
        far = float(one["z"]) / 40  # type: ignore[arg-type]
        if rng.random() < miss * (0.5 + far):
            continue
        size = np.array([one["length"], one["width"], one["height"]], dtype=float) * rng.normal(1, 0.03, 3)
        x, z = (float(one[name]) + rng.normal(0, loose * (0.5 + far)) for name in ("x", "z"))  # type: ignore[arg-type]
        yaw = float(one["yaw"]) + rng.normal(0, 0.08) + (np.pi if rng.random() < 0.06 else 0)  # type: ignore[arg-type]
        score = float(np.clip(rng.normal(0.85 - 0.25 * far, 0.12), 0.05, 0.99))
        rows.append({**row(str(one["frame"]), str(one["label"]), size, x, z, yaw), "score": round(score, 3)})
    for _ in range(int(rng.poisson(false))):
        label = str(rng.choice(list(SIZES)))
        x, z, yaw = rng.uniform(-12, 12), rng.uniform(12, 40), rng.uniform(-3, 3)
        false = row(str(own[0]["frame"]), label, np.array(SIZES[label]), x, z, yaw)
        rows.append({**false, "score": round(float(rng.uniform(0.05, 0.6)), 3)})
    return rows


def draw(rng: np.random.Generator) -> tuple[list[Row], list[Row], list[Row]]:
    truth: list[Row] = []
    a: list[Row] = []
    b: list[Row] = []
    for number in range(60):
        frame, road = f"{number:06d}", "street" if number % 2 else "motorway"
        own: list[Row] = []
        for lane in range(int(rng.integers(3, 6))):
            share = (0.95, 0.02, 0.03) if road == "motorway" else (0.5, 0.3, 0.2)
            label = str(rng.choice(list(SIZES), p=share))
            size = np.array(SIZES[label]) * rng.normal(1, 0.05, 3)
            x, z = -9 + 4.5 * lane + rng.uniform(-1, 1), rng.uniform(9, 38)
            yaw = rng.choice([-1.57, 1.57]) + rng.normal(0, 0.15 if road == "motorway" else 0.6)
            hidden = {"truncated": float(rng.choice([0, 0, 0, 0.2])), "occluded": int(rng.choice([0, 0, 1, 2]))}
            own.append({**row(frame, label, size, x, z, float(yaw)), **hidden, "road": road})
        truth += own
        a += seen(rng, own, 0.22, 0.12, 0.9)
        b += seen(rng, own, 0.10, 0.25, 0.4)
    return truth, a, b


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    folder = SAMPLES / "boxes3d"
    folder.mkdir(exist_ok=True)
    for name, rows in zip(("truth", "model_a", "model_b"), draw(np.random.default_rng(24)), strict=True):
        write(folder / f"{name}.csv", rows)
    (folder / "sample.json").write_text('{"by": "road"}\n', encoding="utf-8")
