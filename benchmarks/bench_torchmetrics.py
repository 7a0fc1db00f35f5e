"""torchmetrics.detection: the drop-in beside torchmetrics itself.

`MeanAveragePrecision` of 500 images with 80 classes, 7 objects and 50 detections per image, and `PanopticQuality` of 8
maps of 512 × 1024 pixels; update and compute, without imports. torchmetrics needs torchvision to convert boxes: where
that is not installed, a module that returns them as they are takes its place, and the boxes need no conversion.

    python benchmarks/bench_torchmetrics.py
"""

from __future__ import annotations

from measure import measure, sized, table

SETUP = """
import sys, warnings
from types import ModuleType
import numpy as np, torch, torchmetrics
warnings.simplefilter("ignore")
ops = ModuleType("torchvision.ops")
ops.box_convert = lambda boxes, in_fmt, out_fmt: boxes.clone()
sys.modules |= {"torchvision": ModuleType("torchvision"), "torchvision.ops": ops}
from PACKAGE import mean_ap, panoptic_qualities
mean_ap._TORCHVISION_AVAILABLE = True
rng = np.random.default_rng(3)
"""
BOXES = """
preds, target = [], []
for _ in range(IMAGES):
    boxes = np.concatenate([rng.uniform(0, 500, (7, 2)), np.exp(rng.normal(3.8, 0.9, (7, 2)))], axis=1)
    labels = rng.integers(0, 80, 7)
    chosen = rng.integers(0, 7, 50)
    moved = boxes[chosen] + rng.normal(0, 0.1, (50, 4)) * boxes[chosen][:, [2, 3, 2, 3]]
    moved[:, 2:] = np.abs(moved[:, 2:]) + 1
    target.append({"boxes": torch.tensor(boxes, dtype=torch.float32), "labels": torch.tensor(labels)})
    said = np.where(rng.random(50) < 0.8, labels[chosen], rng.integers(0, 80, 50))
    preds.append({"boxes": torch.tensor(moved, dtype=torch.float32), "labels": torch.tensor(said),
                  "scores": torch.tensor(rng.random(50), dtype=torch.float32)})
"""
MAP = """
metric = mean_ap.MeanAveragePrecision(box_format="xywh", class_metrics=CLASSES)
metric.update(preds, target)
print(metric.compute()["map"])
"""
MAPS = """
coarse = np.stack([rng.integers(0, 19, (IMAGES, 16, 32)), rng.integers(0, 12, (IMAGES, 16, 32))], axis=-1)
target = coarse.repeat(32, axis=1).repeat(32, axis=2)
preds = np.where(rng.random((*target.shape[:3], 1)) < 0.9, target, np.roll(target, 9, axis=2))
preds, target = torch.tensor(preds), torch.tensor(target)
"""
PANOPTIC = """
metric = panoptic_qualities.PanopticQuality(things=set(range(8)), stuffs=set(range(8, 19)))
metric.update(preds, target)
print(metric.compute())
"""
PACKAGES = {"drop-in": "steelyard.compat.torchmetrics.detection", "torchmetrics": "torchmetrics.detection"}


def main() -> None:
    images, maps = sized(500, 5), sized(8, 1)
    rows = [
        (f"MeanAveragePrecision: {images:,} images", BOXES, images, MAP.replace("CLASSES", "False")),
        (f"MeanAveragePrecision(class_metrics=True): {images:,} images", BOXES, images, MAP.replace("CLASSES", "True")),
        (f"PanopticQuality: {maps} maps of 512 × 1024", MAPS, maps, PANOPTIC),
    ]
    for title, data, count, work in rows:
        runs = {
            name: measure(work, (SETUP + data).replace("PACKAGE", package).replace("IMAGES", str(count)))
            for name, package in PACKAGES.items()
        }
        table(title, "drop-in", runs)


if __name__ == "__main__":
    main()
