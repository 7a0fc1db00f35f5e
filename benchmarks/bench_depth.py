"""Depth and normals from files to scores, beside OpenCV with the formulas of ZoeDepth and Marigold written in NumPy.

Maps are drawn. Depth has the size of KITTI's images and 16-bit PNG files on both sides, with 70 % or 4.5 % truth;
normals and edges are 480 x 640 arrays.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np
from measure import measure, sized, table

IMAGES = sized(20, 2)
SIZE = (375, 1242)
OURS = """
import steelyard as sy, numpy as np
sy.use_threads(1)
few = {"image": ["a"], "map": [np.ones((2, 2))]}
sy.evaluate("depth", few, few, confidence=None)  # what is imported late is not counted
few = {"image": ["a"], "map": [np.ones((4, 5, 3))]}
sy.evaluate("normals", few, few, confidence=None)
"""
SCORE = "sy.evaluate('depth', folder + '/truth', folder + '/model', confidence={confidence}, options={options})"
EDGES = "sy.evaluate('depth', folder + '/rooms', folder + '/drawn', ['si_boundary_f1'], confidence=None)"
NORMALS = "sy.evaluate('normals', folder + '/normals', folder + '/turned', confidence=None)"
READ = """
import os, cv2, numpy as np
names = sorted(os.listdir(folder + "/truth"))
def both(name):
    return [cv2.imread(f"{folder}/{side}/{name}", cv2.IMREAD_UNCHANGED).astype(np.float32) / 256
            for side in ("truth", "model")]
"""
ZOE = """
rows = []
for name in names:
    g, p = both(name)
    p = np.clip(p, 1e-3, 80)
    p[np.isinf(p)], p[np.isnan(p)] = 80, 1e-3
    inside = np.zeros(g.shape, bool)
    h, w = g.shape
    inside[int(0.40810811 * h):int(0.99189189 * h), int(0.03594771 * w):int(0.96405229 * w)] = True
    inside &= (g > 1e-3) & (g < 80)
    g, p = g[inside], p[inside]
    ratio = np.maximum(g / p, p / g)
    logs = np.log(p) - np.log(g)
    rows.append([(ratio < 1.25).mean(), (ratio < 1.25**2).mean(), (ratio < 1.25**3).mean(),
                 np.mean(np.abs(g - p) / g), np.mean((g - p) ** 2 / g), np.sqrt(((g - p) ** 2).mean()),
                 np.sqrt(((np.log(g) - np.log(p)) ** 2).mean()), np.sqrt(np.mean(logs**2) - np.mean(logs) ** 2) * 100,
                 np.abs(np.log10(g) - np.log10(p)).mean()])
np.mean(rows, axis=0)
"""
MARIGOLD = """
names = sorted(os.listdir(folder + "/normals"))
rows = []
for name in names:
    g, p = (np.load(f"{folder}/{side}/{name}").astype(np.float32) for side in ("normals", "turned"))
    g, p = (side / np.maximum(np.linalg.norm(side, axis=2, keepdims=True), 1e-8) for side in (g, p))
    cosine = np.clip((g * p).sum(axis=2), -1, 1)[np.abs(g).sum(axis=2) > 0]
    angles = np.degrees(np.arccos(cosine))
    rows.append([angles.mean(), np.median(angles), np.sqrt((angles**2).mean()),
                 *((angles < limit).mean() for limit in (5, 7.5, 11.25, 22.5, 30))])
np.mean(rows, axis=0)
"""
DEPTH_PRO = """
def edges(depth, t):
    d = 1.0 / np.maximum(depth, 1e-6)
    return [d[:, :-1] / d[:, 1:] > t, d[:-1] / d[1:] > t, d[:, 1:] / d[:, :-1] > t, d[1:] / d[:-1] > t]
scores = []
for name in sorted(os.listdir(folder + "/rooms")):
    g, p = (np.load(f"{folder}/{side}/{name}") for side in ("rooms", "drawn"))
    ratios, values = np.linspace(1.05, 1.25, 10), []
    for t in ratios:
        mine, true = edges(p, t), edges(g, t)
        hits = [np.count_nonzero(a & b) for a, b in zip(mine, true)]
        recall = np.mean([n / max(np.count_nonzero(b), 1) for n, b in zip(hits, true)])
        precision = np.mean([n / max(np.count_nonzero(a), 1) for n, a in zip(hits, mine)])
        values.append(2 * precision * recall / (precision + recall) if precision + recall else 0.0)
    scores.append(float((np.array(values) * ratios).sum() / ratios.sum()))
np.mean(scores)
"""


def write_files(folder: Path, density: float) -> None:
    """Drawn maps of depth as KITTI stores them, and smaller rooms and normals as arrays."""
    rng = np.random.default_rng(1)
    for name in ("truth", "model", "rooms", "drawn", "normals", "turned"):
        (folder / name).mkdir(exist_ok=True)
    for number in range(IMAGES):
        rows = np.linspace(70, 4, SIZE[0])[:, None] * np.exp(rng.normal(0, 0.02, SIZE))
        model = rows * np.exp(rng.normal(0, 0.1, SIZE))
        truth = np.where(rng.random(SIZE) < density, rows, 0)
        for side, depth in (("truth", truth), ("model", model)):
            cv2.imwrite(str(folder / side / f"{number:03d}.png"), np.round(depth * 256).astype(np.uint16))
        room = (2 + np.cumsum(rng.random((480, 640)) < 0.01, axis=1) * 0.2).astype(np.float32)
        np.save(folder / "rooms" / f"{number:03d}.npy", room)
        np.save(
            folder / "drawn" / f"{number:03d}.npy", (room * np.exp(rng.normal(0, 0.02, room.shape))).astype(np.float32)
        )
        normal = rng.normal(0, 1, (480, 640, 3)).astype(np.float32) + np.array([0, 0, 2], np.float32)
        np.save(folder / "normals" / f"{number:03d}.npy", normal)
        turned = normal + rng.normal(0, 0.3, normal.shape).astype(np.float32)
        np.save(folder / "turned" / f"{number:03d}.npy", turned)


def main() -> None:
    """Print the tables."""
    options = {"preset": "kitti_eigen"}
    for density, title in ((0.7, "dense truth"), (0.045, "sparse truth")):
        with tempfile.TemporaryDirectory() as name:
            folder = f"folder = {name!r}\n"
            write_files(Path(name), density)
            runs = {
                "steelyard": measure(SCORE.format(confidence=None, options=options), folder + OURS),
                "steelyard with intervals": measure(SCORE.format(confidence=0.95, options=options), folder + OURS),
                "steelyard, affine": measure(
                    SCORE.format(confidence=None, options={**options, "align": "affine"}), folder + OURS
                ),
                "OpenCV and ZoeDepth's formulas": measure(ZOE, folder + READ),
            }
            table(f"Depth of {IMAGES} images, {SIZE[1]} x {SIZE[0]}, {title}", "steelyard", runs)
            if density > 0.5:
                runs = {
                    "steelyard": measure(NORMALS, folder + OURS),
                    "Marigold's formulas": measure(MARIGOLD, folder + READ),
                }
                table(f"Normals of {IMAGES} images, 640 x 480", "steelyard", runs)
                runs = {
                    "steelyard": measure(EDGES, folder + OURS),
                    "Depth Pro's formula": measure(DEPTH_PRO, folder + READ),
                }
                table(f"Boundary F1 of {IMAGES} images, 640 x 480", "steelyard", runs)


if __name__ == "__main__":
    main()
