"""Maps of scores from memory and from files to AUPRO, AUROC and AP, beside scikit-learn, torchmetrics and tifffile.

The peer for AUPRO is the rule of the MVTec AD evaluation (2022), written here with NumPy and SciPy: all scores of an
object in one falling order. anomalib 2.7.0 takes AUROC and AP from torchmetrics. Drawn maps, about 2.5 % of the
pixels defective.
"""

from __future__ import annotations

import tempfile

from measure import measure, sized, table

SIDE, IMAGES = sized(1024, 64), sized(10, 3)
DRAWN = """
import numpy as np
rng = np.random.default_rng(1)
maps, masks = [], []
for image in range({images}):
    mask = np.zeros(({side}, {side}), np.uint8)
    for _ in range(0 if image < {images} // 3 else 3):
        y, x = rng.integers(0, {side} * 3 // 4, 2)
        mask[y : y + {side} // 9, x : x + {side} // 8] = 1
    noise = rng.normal(0.3, 0.1, mask.shape) + 0.02 * image
    maps.append((noise + 0.2 * mask * rng.uniform(0.5, 1.5)).astype(np.float32))
    masks.append(mask)
names = [f"i{{image:03d}}" for image in range({images})]
"""
OURS = """
import steelyard as sy
sy.use_threads(1)
few = np.eye(4, dtype=np.float32)
small = {"image": ["a", "b"], "mask": [few, 0 * few]}, {"image": ["a", "b"], "map": [few, few]}
sy.evaluate("anomalies", *small, draws=100)  # what is imported late is not counted
truth = {"image": names, "mask": masks}
"""
MANY = """
import numpy as np
rng = np.random.default_rng(1)
maps, masks = [], []
for image in range({images}):
    mask = np.zeros((300, 300), np.uint8)
    mask[10 : 10 + {rows}, 10:103] = 1
    maps.append((rng.normal(0.3, 0.1, mask.shape) + 0.2 * mask).astype(np.float32))
    masks.append(mask)
names = [f"i{{image:03d}}" for image in range({images})]
"""
SCORE = """
report = sy.evaluate("anomalies", truth, {{"image": names, "map": maps}},
    ["aupro@0.3", "aupro@0.05", "aupro@0.01", "pixel_auroc", "pixel_ap", "pixel_f1_max"], confidence={confidence})
"""
RULE = """
from scipy.ndimage import label
def curve(maps, masks):
    scores, normal, share, regions = [], [], [], 0
    for grid, mask in zip(maps, masks):
        parts, count = label(mask, np.ones((3, 3), int))
        size = np.bincount(parts.ravel(), minlength=count + 1)
        regions += count
        scores.append(grid.ravel())
        normal.append((parts == 0).ravel())
        share.append(np.where(parts > 0, 1.0 / size[parts], 0.0).ravel())
    scores, normal, share = map(np.concatenate, (scores, normal, share))
    order = np.argsort(scores)[::-1]
    scores = scores[order]
    rate = np.cumsum(normal[order], dtype=np.float32) / np.float32(normal.sum())
    overlap = np.cumsum(share[order]) / regions
    last = np.append(np.diff(scores) != 0, True)
    return np.append(0.0, rate[last]), np.append(0.0, overlap[last])
def area(x, y, limit):
    inside = x <= limit
    end = np.interp(limit, x, y)
    x, y = np.append(x[inside], limit), np.append(y[inside], end)
    return (0.5 * (y[1:] + y[:-1]) * np.diff(x)).sum() / limit
"""
SKLEARN = """
from sklearn.metrics import average_precision_score, roc_auc_score
"""
TORCHMETRICS = """
import torch
from torchmetrics.functional.classification import binary_auroc, binary_average_precision
y, s = torch.as_tensor(np.concatenate(masks).ravel().astype(np.int64)), torch.as_tensor(np.concatenate(maps).ravel())
"""
WRITE = """
import os
os.makedirs(folder, exist_ok=True)
try:
    import tifffile
    for name, grid in zip(names, maps):
        tifffile.imwrite(f"{folder}/{name}.tiff", grid, compression="zlib")
except ImportError:
    from PIL import Image
    for name, grid in zip(names, maps):
        Image.fromarray(grid).save(f"{folder}/{name}.tiff", compression="tiff_adobe_deflate")
"""
READ_OURS = """
from steelyard.tasks.anomalies.data import open_scores
"""


def main() -> None:
    """Print the tables."""
    drawn = DRAWN.format(images=IMAGES, side=SIDE)
    runs = {
        "steelyard": measure(SCORE.format(confidence=None), drawn + OURS),
        "steelyard with intervals": measure(SCORE.format(confidence=0.95), drawn + OURS),
        "MVTec AD's rule, one curve": measure("x, y = curve(maps, masks); area(x, y, 0.3)", drawn + RULE),
        "scikit-learn, AUROC and AP": measure(
            "y = np.concatenate(masks).ravel(); s = np.concatenate(maps).ravel(); "
            "roc_auc_score(y, s); average_precision_score(y, s)",
            drawn + SKLEARN,
        ),
        "torchmetrics (as anomalib), AUROC and AP": measure(
            "binary_auroc(s, y); binary_average_precision(s, y)", drawn + TORCHMETRICS
        ),
    }
    table(f"AUPRO at three limits, AUROC, AP and F1 of {IMAGES} maps of {SIDE}×{SIDE}", "steelyard", runs)
    halves = drawn + OURS + "maps = [grid.astype(np.float16) for grid in maps]\n"
    table(
        "The same maps in half precision",
        "steelyard",
        {"steelyard": measure(SCORE.format(confidence=None), halves)},
    )
    if SIDE > 64:
        wide = DRAWN.format(images=4 * IMAGES, side=SIDE) + OURS
        grown = {"steelyard": measure(SCORE.format(confidence=None), wide)}
        table(f"Four times as many maps, {4 * IMAGES}", "steelyard", grown)
    count = sized(150, 3)
    defects = {
        f"steelyard, {count * rows * 93:,} defective pixels": measure(
            SCORE.format(confidence=None), MANY.format(images=count, rows=rows) + OURS
        )
        for rows in (6, 96, 279)
    }
    table(f"{count} maps of 300×300 by the number of defective pixels", next(iter(defects)), defects)
    with tempfile.TemporaryDirectory() as name:
        written = f"folder = {name!r}\n" + drawn + WRITE
        reads = {
            "steelyard": measure("[open_scores(f'{folder}/{n}.tiff', n) for n in names]", written + READ_OURS),
            "tifffile": measure(
                "[tifffile.imread(f'{folder}/{n}.tiff') for n in names]", written + "import tifffile\n"
            ),
            "Pillow": measure(
                "[np.asarray(Image.open(f'{folder}/{n}.tiff')) for n in names]", written + "from PIL import Image\n"
            ),
        }
        table(f"Reading {IMAGES} TIFF files of {SIDE}×{SIDE} floats, deflate", "steelyard", reads)


if __name__ == "__main__":
    main()
