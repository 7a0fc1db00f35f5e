"""Drawn boxes in the form of OpenImages: text of its CSV files, and its hierarchy."""

from __future__ import annotations

import numpy as np

HIERARCHY = {
    "LabelName": "root",
    "Subcategory": [
        {
            "LabelName": "animal",
            "Subcategory": [
                {"LabelName": "cat"},
                {"LabelName": "dog", "Subcategory": [{"LabelName": "puppy"}]},
                {"LabelName": "pet", "Subcategory": [{"LabelName": "cat"}]},  # a cat has two classes right above it
            ],
        },
        {"LabelName": "tree"},
    ],
}
KINDS = ("animal", "cat", "dog", "pet", "puppy", "tree")
BOXES = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"


def drawn(seed: int) -> tuple[str, str, str]:
    """Boxes, verified labels and predictions of a few images, as text; no two overlaps or scores are equal."""
    rng = np.random.default_rng(seed)
    boxes, labels, detections = (
        [BOXES],
        ["ImageID,Source,LabelName,Confidence"],
        ["ImageID,LabelName,Score,XMin,XMax,YMin,YMax"],
    )
    for image in range(int(rng.integers(2, 8))):
        name = f"{image:016x}"
        for kind in rng.permutation(KINDS)[: rng.integers(1, 5)]:
            labels.append(f"{name},verification,{kind},{int(rng.random() < 0.5)}")
        for _ in range(int(rng.integers(0, 6))):
            kind, group = rng.choice(KINDS), rng.random() < 0.35
            size = rng.uniform(0.3, 0.7, 2) if group else rng.uniform(0.05, 0.3, 2)
            x, y = rng.uniform(0, 1 - size)
            boxes.append(f"{name},x,{kind},1,{x},{x + size[0]},{y},{y + size[1]},0,0,{int(group)},0,0")
            for _ in range(int(rng.integers(0, 5)) if group else int(rng.integers(0, 3))):
                part = size * rng.uniform(0.2, 0.6, 2) if group else size * rng.uniform(0.7, 1.2, 2)
                at = np.array([x, y]) + (rng.uniform(-0.2, 1.0, 2) * (size - part) if group else rng.normal(0, 0.02, 2))
                other = rng.choice(KINDS) if rng.random() < 0.3 else kind
                ends = [at[0], at[0] + part[0], at[1], at[1] + part[1]]
                detections.append(f"{name},{other},{rng.random()},{','.join(map(str, ends))}")
        if len(boxes) == 1:
            boxes.append(f"{name},x,cat,1,0.1,0.2,0.1,0.2,0,0,0,0,0")
    return "\n".join(boxes) + "\n", "\n".join(labels) + "\n", "\n".join(detections) + "\n"
