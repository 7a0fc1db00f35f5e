"""Flow and disparity from files to scores, beside the formulas of RAFT and ptlflow written in NumPy.

Fields are drawn and have the size of KITTI's images. Flow is in .flo files and in KITTI's PNG files of 16 bits, with
70 % truth; peers read them with NumPy and OpenCV.
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
few = {"image": ["a"], "map": [np.ones((3, 4, 2))]}
sy.evaluate("flow", few, few, confidence=None)  # what is imported late is not counted
few = {"image": ["a"], "map": [np.ones((3, 4))]}
sy.evaluate("disparity", few, few, confidence=None)
"""
SCORE = "sy.evaluate('{task}', folder + '/{truth}', folder + '/{model}', {specs}, confidence={confidence})"
READ = """
import os, cv2, numpy as np
def flo(path):
    width, height = np.fromfile(path, np.int32, 2, offset=4)
    return np.fromfile(path, np.float32, offset=12).reshape(height, width, 2)
def read_flo(name):
    truth, model = flo(f"{folder}/flo_truth/{name}"), flo(f"{folder}/flo_model/{name}")
    return truth, model, np.abs(truth).max(axis=2) < 1e9
def png(path):
    pixels = cv2.imread(path, cv2.IMREAD_UNCHANGED)[:, :, ::-1].astype(np.float32)
    return (pixels[:, :, :2] - 32768) / 64, pixels[:, :, 2] > 0
def read_png(name):
    (truth, valid), (model, _) = png(f"{folder}/png_truth/{name}"), png(f"{folder}/png_model/{name}")
    return truth, model, valid
def read_disparity(name):
    truth, model = (cv2.imread(f"{folder}/{side}/{name}", cv2.IMREAD_UNCHANGED).astype(np.float32) / 256
                    for side in ("disparity_truth", "disparity_model"))
    return truth[:, :, None], model[:, :, None], truth > 0
"""
RAFT = """
errors, outliers = [], []
for name in sorted(os.listdir(folder + "/{truth}")):
    truth, model, valid = {read}(name)
    error = np.sqrt(((model - truth) ** 2).sum(axis=2)).ravel()
    length = np.sqrt((truth**2).sum(axis=2)).ravel()
    valid = valid.ravel()
    out = ((error > 3.0) & (error / length > 0.05)).astype(np.float32)
    errors.append(error[valid].mean())
    outliers.append(out[valid])
np.mean(errors), 100 * np.mean(np.concatenate(outliers))
"""
PTLFLOW = """
rows = []
for name in sorted(os.listdir(folder + "/{truth}")):
    truth, model, valid = {read}(name)
    error = np.sqrt(((model - truth) ** 2).sum(axis=2))
    length = np.sqrt((truth**2).sum(axis=2))
    n = valid.sum()
    row = [(error * valid).sum() / n, *(((error < t) * valid).sum() / n for t in (1, 3, 5)),
           ((error > 3) & (error > 0.05 * length) & valid).sum() / n]
    weights = 1 - np.arange(100) / 100
    inliers = [((error <= (k + 1) / 20) * valid).sum() / n for k in range(100)]
    rows.append([*row, 100 * np.dot(weights, inliers) / weights.sum()])
np.mean(rows, axis=0)
"""


def write_files(folder: Path) -> None:
    """Drawn fields: flow as .flo and PNG, disparity as PNG."""
    rng = np.random.default_rng(1)
    for name in ("flo", "png", "disparity"):
        for side in ("truth", "model"):
            (folder / f"{name}_{side}").mkdir()
    for number in range(IMAGES):
        flow = np.cumsum(rng.normal(0, 0.3, (*SIZE, 2)), axis=1)
        valid = rng.random(SIZE) < 0.7
        sides = {"truth": np.where(valid[:, :, None], flow, 1e10), "model": flow + rng.normal(0, 1.5, flow.shape)}
        for side, field in sides.items():
            header = np.array([202021.25], np.float32).tobytes() + np.array(SIZE[::-1], np.int32).tobytes()
            (folder / f"flo_{side}" / f"{number:03d}.flo").write_bytes(header + field.astype(np.float32).tobytes())
            shown = valid if side == "truth" else np.ones(SIZE, bool)
            pixels = np.zeros((*SIZE, 3), np.uint16)
            pixels[:, :, 2], pixels[:, :, 1] = np.where(shown, np.rint(np.moveaxis(field, 2, 0) * 64 + 32768), 0)
            pixels[:, :, 0] = shown
            cv2.imwrite(str(folder / f"png_{side}" / f"{number:03d}.png"), pixels)
        disparity = np.linspace(2, 90, SIZE[0])[:, None] * np.exp(rng.normal(0, 0.02, SIZE))
        for side, field in (("truth", np.where(valid, disparity, 0)), ("model", disparity + rng.normal(0, 1, SIZE))):
            pixels = np.rint(np.clip(field, 0, 255) * 256).astype(np.uint16)
            cv2.imwrite(str(folder / f"disparity_{side}" / f"{number:03d}.png"), pixels)


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = f"folder = {name!r}\n"
        write_files(Path(name))
        cases = {
            "Flow, .flo": ("flow", "flo", "read_flo", "fl"),
            "Flow, KITTI's PNG": ("flow", "png", "read_png", "fl"),
            "Disparity, PNG": ("disparity", "disparity", "read_disparity", "d1"),
        }
        for title, (task, kind, read, outliers) in cases.items():
            sides = {"task": task, "truth": f"{kind}_truth", "model": f"{kind}_model"}
            few, many = ["epe", outliers], ["epe", "bad@1", "bad@3", "bad@5", outliers, "wauc"]
            peer = {"truth": sides["truth"], "read": read}
            runs = {
                f"steelyard, epe and {outliers}": measure(
                    SCORE.format(**sides, specs=few, confidence=None), folder + OURS
                ),
                "steelyard with intervals": measure(SCORE.format(**sides, specs=few, confidence=0.95), folder + OURS),
                "RAFT's formulas": measure(RAFT.format(**peer), folder + READ),
                "steelyard, six metrics": measure(SCORE.format(**sides, specs=many, confidence=None), folder + OURS),
            }
            if task == "flow":
                runs["ptlflow's formulas"] = measure(PTLFLOW.format(**peer), folder + READ)
            table(f"{title}: {IMAGES} images, {SIZE[1]} x {SIZE[0]}", f"steelyard, epe and {outliers}", runs)


if __name__ == "__main__":
    main()
