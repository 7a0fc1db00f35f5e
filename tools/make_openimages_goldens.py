"""What TensorFlow's object_detection says of drawn OpenImages data: expansion by the hierarchy, then its evaluator.

python tools/make_openimages_goldens.py REFERENCES

REFERENCES holds `object_detection` of github.com/tensorflow/models (research/), e006f5f0. TensorFlow itself is not
needed: what it is imported for takes no part in these numbers.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]
SEEDS = range(25)


def main() -> None:
    sys.path.append(sys.argv[1])
    for name in ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1", "object_detection.utils.label_map_util"):
        sys.modules[name] = MagicMock()
    maps = sys.modules["object_detection.utils.label_map_util"]
    maps.create_category_index = lambda listed: {one["id"]: one for one in listed}  # type: ignore[attr-defined]
    np.float = float  # type: ignore[attr-defined]  # the package is older than numpy 1.24
    from object_detection.dataset_tools.oid_hierarchical_labels_expansion import OIDHierarchicalLabelsExpansion
    from object_detection.utils.object_detection_evaluation import OpenImagesChallengeEvaluator
    from support.drawn_openimages import HIERARCHY, KINDS, drawn

    expansion = OIDHierarchicalLabelsExpansion(HIERARCHY)
    number = {name: i + 1 for i, name in enumerate(KINDS)}

    def rows(text: str, expand: Any = None) -> list[dict[str, str]]:
        head, *lines = text.splitlines()
        every = [line for one in lines for line in (expand(one) if expand else [one])]
        return list(csv.DictReader(io.StringIO("\n".join([head, *every]))))

    def boxes(some: list[dict[str, str]]) -> Any:
        return np.array([[float(r[n]) for n in ("YMin", "XMin", "YMax", "XMax")] for r in some]).reshape(-1, 4)

    def kinds(some: list[dict[str, str]]) -> Any:
        return np.array([number[r["LabelName"]] for r in some], dtype=int)

    cases = []
    for seed in SEEDS:
        texts = drawn(seed)
        truth = rows(texts[0], lambda row: expansion.expand_boxes_or_segments_from_csv(row, 2))
        labels = rows(texts[1], lambda row: expansion.expand_labels_from_csv(row, 2, 3))
        detections = rows(texts[2])
        case: dict[str, Any] = {"seed": seed}
        for weight in (1.0, 0.0):
            evaluator = OpenImagesChallengeEvaluator(
                [{"id": i, "name": name} for name, i in number.items()], group_of_weight=weight
            )
            for image in sorted({r["ImageID"] for r in (*truth, *labels)}):
                t, v, d = ([r for r in side if r["ImageID"] == image] for side in (truth, labels, detections))
                evaluator.add_single_ground_truth_image_info(image, {
                    "groundtruth_boxes": boxes(t), "groundtruth_classes": kinds(t),
                    "groundtruth_group_of": np.array([int(r["IsGroupOf"]) for r in t], dtype=bool),
                    "groundtruth_image_classes": kinds(v),
                })  # fmt: skip
                evaluator.add_single_detected_image_info(image, {
                    "detection_boxes": boxes(d), "detection_classes": kinds(d),
                    "detection_scores": np.array([float(r["Score"]) for r in d]),
                })  # fmt: skip
            values = evaluator.evaluate()
            names = {f"OpenImagesDetectionChallenge_PerformanceByCategory/AP@0.5IOU/{name}": name for name in KINDS}
            names["OpenImagesDetectionChallenge_Precision/mAP@0.5IOU"] = "mean"
            given = {short: float(values[name]) for name, short in names.items() if name in values}
            case[f"weight {weight:g}"] = {name: None if np.isnan(v) else v for name, v in given.items()}
        cases.append(case)
    made = {
        "command": "python tools/make_openimages_goldens.py REFERENCES", "tensorflow/models": "e006f5f0",
        "cases": cases,
    }  # fmt: skip
    target = ROOT / "tests" / "goldens" / "openimages.json"
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
