"""Oriented boxes of DOTA-val's shape: JSON in, COCO's numbers of rotated boxes out, beside hotcoco; and DOTA's files.

458 images, 28,853 objects of 15 classes, about 99,600 detections, drawn: rows of ships and cars that share a direction,
found, missed, turned a little, and found on nothing. Each tool runs as a fresh process (import, read, evaluate).

    python benchmarks/bench_oriented.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import measure, sized, table

CLASSES = 15
OURS = """
import steelyard as sy
report = sy.evaluate("oriented", TRUTH, RESULTS, METRICS, confidence=None)
print(report["map50"].value)
"""
HOTCOCO = """
from hotcoco import COCO, COCOeval
truth = COCO(TRUTH)
results = truth.loadRes(RESULTS)
evaluation = COCOeval(truth, results, "obb")
evaluation.params.maxDets = [1, 10, MOST]
evaluation.evaluate()
evaluation.accumulate()
evaluation.summarize()
"""


def make_data(folder: Path, images: int) -> tuple[Path, Path]:
    """Write truth and results as JSON with `obb`, or take what is there."""
    paths = folder / f"oriented_{images}_truth.json", folder / f"oriented_{images}_results.json"
    if all(path.exists() for path in paths):
        return paths
    rng = np.random.default_rng(11)
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image in range(1, images + 1):
        many = max(1, int(rng.lognormal(3.42, 1.2)))
        label = rng.integers(1, CLASSES + 1) if rng.random() < 0.7 else 0
        labels = np.full(many, label) if label else rng.integers(1, CLASSES + 1, many)
        centre, size = rng.uniform(0, 1024, (many, 2)), np.exp(rng.normal([3.2, 2.4], 0.5, (many, 2)))
        rows = np.column_stack([centre, size, rng.uniform(-np.pi / 2, np.pi / 2, many)]).round(2)
        for kind, row in zip(labels.tolist(), rows.tolist(), strict=True):
            number = len(annotations) + 1
            annotations.append({"id": number, "image_id": image, "category_id": kind, "obb": row, "bbox": [0, 0, 1, 1],
                                "area": row[2] * row[3], "iscrowd": 0})  # fmt: skip
        seen = np.repeat(np.arange(many), rng.poisson(1.9, many))
        moved = rows[seen] + rng.normal(0, 1, (len(seen), 5)) * np.array([1.5, 1.5, 1.5, 1.0, 0.06])
        false = int(rng.poisson(1.55 * many))
        noise = np.column_stack([rng.uniform(0, 1024, (false, 2)), np.exp(rng.normal([3.2, 2.4], 0.5, (false, 2))),
                                 rng.uniform(-1.5, 1.5, false)])  # fmt: skip
        every = np.concatenate([moved, noise])
        every[:, 2:4] = np.abs(every[:, 2:4]) + 1
        kinds = [*labels[seen].tolist(), *rng.choice(labels, false).tolist()]
        scores = np.concatenate([rng.beta(4, 2, len(seen)), rng.beta(2, 5, false)]).round(4)
        results += [
            {"image_id": image, "category_id": kind, "obb": row, "bbox": [0, 0, 1, 1], "score": score}
            for kind, row, score in zip(kinds, every.round(2).tolist(), scores.tolist(), strict=True)
        ]
    kinds = [{"id": k, "name": f"class{k}"} for k in range(1, CLASSES + 1)]
    size = {"width": 1024, "height": 1024}
    truth = {
        "images": [{"id": i, **size} for i in range(1, images + 1)],
        "annotations": annotations,
        "categories": kinds,
    }
    paths[0].write_text(json.dumps(truth))
    paths[1].write_text(json.dumps(results))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="keep the data in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        truth, results = make_data(folder, sized(458, 8))
        count = len(json.loads(results.read_text()))
        names = f"TRUTH, RESULTS = {str(truth)!r}, {str(results)!r}\n"
        coco = '["map", "map50", "map75", "map(area=small)", "map(area=medium)", "map(area=large)", "ar@100"]\n'
        runs = {"steelyard": measure(f"{names}METRICS = {coco}{OURS}", whole=True)}
        every = "METRICS = None\n"
        runs["steelyard, all 17 default metrics"] = measure(f"{names}{every}{OURS}", whole=True)
        for most in (100, 10_000):
            code = f"{names}MOST = {most}\n{HOTCOCO}"
            runs[f"hotcoco, at most {most:,} detections"] = measure(code, whole=True)
        table(f"Oriented boxes, COCO's numbers: {sized(458, 8)} images, {count:,} detections", "steelyard", runs)


if __name__ == "__main__":
    main()
