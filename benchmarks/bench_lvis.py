"""LVIS's shape: JSON in, LVIS's numbers out, beside hotcoco; and the drop-in for lvis beside lvis itself.

1,500 images, 1,203 classes, 18,000 objects, 225,000 results (150 per image), drawn; every image lists classes that were
looked for in vain and classes that are not annotated to the end. Each tool runs as a fresh process (import, read,
evaluate).

    python benchmarks/bench_lvis.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import measure, sized, table

CLASSES = 1203
OURS = """
import steelyard as sy
rest = [f"map(max_dets=300, frequency={f})" for f in "rcf"]
rest += [f"map(max_dets=300, area={a})" for a in ("small", "medium", "large")]
metrics = ["map(max_dets=300)", "map50(max_dets=300)", "map75(max_dets=300)", "ar@300", *rest]
report = sy.evaluate("boxes", TRUTH, RESULTS, metrics, confidence=None, options={"format": "lvis"})
print([round(score.value, 6) for score in report.scores.values()])
"""
HOTCOCO = """
from hotcoco import LVIS, LVISEval, LVISResults
truth = LVIS(TRUTH)
evaluation = LVISEval(truth, LVISResults(truth, RESULTS), "bbox")
evaluation.run()
print(evaluation.get_results())
"""
DROP_IN = """
from PACKAGE import LVISEval
evaluation = LVISEval(TRUTH, RESULTS, "bbox")
evaluation.run()
print(dict(evaluation.get_results()))
"""
OLD_NUMPY = "import numpy\nnumpy.float = float  # lvis is older than NumPy 1.24\n"


def make_data(folder: Path, images: int) -> tuple[Path, Path]:
    """Write truth and results as JSON, or take what is there."""
    paths = folder / f"lvis_{images}_truth.json", folder / f"lvis_{images}_results.json"
    if all(path.exists() for path in paths):
        return paths
    rng = np.random.default_rng(12)
    share = 1 / np.arange(1, CLASSES + 1) ** 0.8
    share /= share.sum()
    listed: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image in range(1, images + 1):
        kinds = rng.choice(CLASSES, 12, p=share) + 1
        boxes = np.column_stack([rng.uniform(0, 500, (12, 2)), np.exp(rng.normal(3.8, 0.9, (12, 2)))]).round(2)
        for kind, box in zip(kinds.tolist(), boxes.tolist(), strict=True):
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": kind, "bbox": box,
                                "area": box[2] * box[3]})  # fmt: skip
        missing = rng.choice(CLASSES, 30, p=share, replace=False) + 1
        vain = sorted(set(missing.tolist()) - set(kinds.tolist()))
        listed.append({
            "id": image, "width": 640, "height": 640, "coco_url": f"http://x/val2017/{image:012d}.jpg",
            "neg_category_ids": vain, "not_exhaustive_category_ids": [int(kinds[0])] if image % 3 == 0 else [],
        })  # fmt: skip
        seen = rng.integers(0, 12, 60)
        moved = boxes[seen] + rng.normal(0, 1, (60, 4)) * np.maximum(boxes[seen][:, [2, 3, 2, 3]] * 0.12, 1)
        noise = np.column_stack([rng.uniform(0, 500, (90, 2)), np.exp(rng.normal(3.8, 0.9, (90, 2)))])
        every = np.concatenate([moved, noise])
        every[:, 2:] = np.abs(every[:, 2:]) + 1
        said = np.where(rng.random(60) < 0.7, kinds[seen], rng.choice(CLASSES, 60, p=share) + 1)
        other = np.where(rng.random(90) < 0.4, rng.choice(vain, 90), rng.choice(CLASSES, 90, p=share) + 1)
        scores = np.concatenate([rng.beta(4, 3, 60), rng.beta(2, 6, 90)]).round(5)
        results += [
            {"image_id": image, "category_id": kind, "bbox": box, "score": score}
            for kind, box, score in zip([*said.tolist(), *other.tolist()], every.round(2).tolist(), scores.tolist(),
                                        strict=True)
        ]  # fmt: skip
    count = np.bincount([one["category_id"] for one in annotations], minlength=CLASSES + 1)
    categories = [
        {"id": k, "name": f"class{k}", "synset": f"class{k}.n.01", "synonyms": [], "def": "",
         "image_count": int(count[k]), "instance_count": int(count[k]),
         "frequency": "r" if count[k] < 3 else "c" if count[k] < 12 else "f"}
        for k in range(1, CLASSES + 1)
    ]  # fmt: skip
    paths[0].write_text(
        json.dumps({"info": {}, "images": listed, "annotations": annotations, "categories": categories})
    )
    paths[1].write_text(json.dumps(results))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="keep the data in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        images = sized(1500, 8)
        truth, results = make_data(folder, images)
        names = f"TRUTH, RESULTS = {str(truth)!r}, {str(results)!r}\n"
        runs = {"steelyard": measure(f"{names}{OURS}", whole=True), "hotcoco": measure(f"{names}{HOTCOCO}", whole=True)}
        table(f"LVIS's numbers: {images:,} images, {CLASSES:,} classes, {150 * images:,} results", "steelyard", runs)
        drop_in = DROP_IN.replace("PACKAGE", "steelyard.compat.lvis")
        runs = {
            "drop-in for lvis": measure(f"{names}{drop_in}", whole=True),
            "lvis": measure(f"{names}{OLD_NUMPY}{DROP_IN.replace('PACKAGE', 'lvis')}", whole=True),
        }
        title = f"LVISEval.run(): {images:,} images, {CLASSES:,} classes, {150 * images:,} results"
        table(title, "drop-in for lvis", runs)


if __name__ == "__main__":
    main()
