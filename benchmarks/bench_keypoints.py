"""Keypoints: COCO JSON in, the ten numbers out, against every installed peer.

The data are those of bench_boxes.py (COCO val2017's shape) as persons with 17 points each: truths have points in their
boxes, some of them hidden, and a detection repeats the points of the nearest truth, moved into its own box. Each tool
runs as a fresh process (import, load both files, evaluate, summarise), in turn, several times; the least CPU time
counts.

    python benchmarks/bench_keypoints.py [S] [M] [L] [--rounds 2] [--no-draws] [--all] [--keep FOLDER]
"""

from __future__ import annotations

import json
from pathlib import Path

import bench_boxes as boxes
import numpy as np
from bench_masks import run_kind

POINTS = 17
NUMBERS = ["map", "map50", "map75", "map(area=medium)", "map(area=large)", "ar@20", "ar@20(iou=0.5)", "ar@20(iou=0.75)"]
NUMBERS += ["ar@20(area=medium)", "ar@20(area=large)"]
OURS = boxes.OURS.replace('"boxes"', '"keypoints"')
PEERS = {
    name: (module, code.replace('"bbox"', '"keypoints"').replace("IouType.bbox()", "IouType.keypoints()"))
    for name, (module, code) in boxes.PEERS.items()
}


def make_data(size: str, folder: Path) -> tuple[Path, Path]:
    """Write truth and results with keypoints, or take what is there."""
    truth_path, results_path = folder / f"{size}_keypoints_truth.json", folder / f"{size}_keypoints_results.json"
    if truth_path.exists() and results_path.exists():
        return truth_path, results_path
    truth, results = (json.loads(path.read_text()) for path in boxes.make_data(size, folder))
    rng = np.random.default_rng(29)
    truth["categories"] = [{"id": 1, "name": "person", "supercategory": "person"}]
    annotations = truth["annotations"]
    box = np.array([annotation["bbox"] for annotation in annotations])
    place = rng.random((len(box), POINTS, 2))
    seen = rng.choice([0, 1, 2], (len(box), POINTS), p=[0.3, 0.1, 0.6])
    seen[rng.random(len(box)) < 0.3] = 0  # persons without a point that is labelled
    seen[[row for row, annotation in enumerate(annotations) if annotation["iscrowd"]]] = 0
    by_image: dict[int, list[int]] = {}
    for row, annotation in enumerate(annotations):
        xy = np.round(place[row] * box[row, 2:] + box[row, :2]) * (seen[row] > 0)[:, None]
        points = np.column_stack([xy, seen[row]]).astype(int)
        annotation |= {"keypoints": points.ravel().tolist(), "num_keypoints": int((seen[row] > 0).sum())}
        annotation |= {"category_id": 1, "segmentation": []}
        by_image.setdefault(annotation["image_id"], []).append(row)
    truth_path.write_text(json.dumps(truth))
    with open(results_path, "w") as file:
        for number, result in enumerate(results):
            own = np.array(result["bbox"])
            near = by_image.get(result["image_id"], [0])
            row = near[int(np.argmin(np.abs(box[near] - own).sum(axis=1)))]
            xy = place[row] * own[2:] + own[:2] + rng.normal(0, 0.02, (POINTS, 2)) * own[2:]
            points = np.column_stack([np.round(xy, 2), np.round(rng.random(POINTS), 3)]).ravel().tolist()
            record = {"image_id": result["image_id"], "category_id": 1, "keypoints": points, "score": result["score"]}
            file.write(("[" if number == 0 else ", ") + json.dumps(record))
        file.write("]")
    return truth_path, results_path


if __name__ == "__main__":
    boxes.NUMBERS = NUMBERS
    run_kind("keypoints", OURS, PEERS, make_data, __doc__)
