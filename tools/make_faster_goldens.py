"""What faster-coco-eval says of drawn data: `extended_metrics`, and CrowdPose's numbers (`keypoints_crowd`).

pip install --no-deps --target REFERENCES faster-coco-eval==1.8.0
python tools/make_faster_goldens.py REFERENCES
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]
SEEDS = range(12)


def main() -> None:
    sys.path.append(sys.argv[1])
    from faster_coco_eval import COCO, COCOeval_faster
    from support.compat_extended import boxes, crowd

    sigmas = np.array([0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89, 0.79, 0.79]) / 10.0

    def run(sides: Any, kind: str, ious: Any = None, **settings: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "truth.json"
            path.write_text(json.dumps(sides[0]), encoding="utf-8")
            truth = COCO(str(path))
            evaluation = COCOeval_faster(truth, truth.loadRes(sides[1]), kind, extra_calc=True, **settings)
            evaluation.params.iouThrs = evaluation.params.iouThrs if ious is None else np.array(ious)
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
            return evaluation.extended_metrics if kind == "bbox" else evaluation.stats_as_dict

    def extended(seed: int) -> Any:
        """AP of all thresholds; precision and recall of 0.5 alone: with more, a hit at any of them is right there."""
        whole, half = run(boxes(seed), "bbox"), run(boxes(seed), "bbox", [0.5])
        for row, other in zip([*whole["class_map"], whole], [*half["class_map"], half], strict=True):
            row |= {name: other[name] for name in ("precision", "recall")}
        return whole

    def numbers(stats: Any) -> Any:
        names = ("AP_all", "AP_50", "AP_75", "AR_all", "AR_50", "AR_75", "AP_easy", "AP_medium", "AP_hard")
        return {name: float(stats[name]) for name in names}

    made = {
        "command": "python tools/make_faster_goldens.py REFERENCES",
        "faster-coco-eval": "1.8.0",
        "extended": [{"seed": seed, "metrics": extended(seed)} for seed in SEEDS],
        "crowd": [
            {"seed": seed, "area": area, "stats": numbers(
                run(crowd(seed), "keypoints_crowd", kpt_oks_sigmas=sigmas, use_area=area))}
            for seed in SEEDS for area in (False, True)
        ],
    }  # fmt: skip
    target = ROOT / "tests" / "goldens" / "faster_coco_eval.json"
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
