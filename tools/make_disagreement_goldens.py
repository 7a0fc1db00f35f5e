"""What torchmetrics and Ultralytics print for the drawn data of the parity tests, from the packages themselves.

    pip install --no-deps --target REFERENCES torchmetrics==1.9.0 lightning-utilities ultralytics==8.4.190
    python tools/make_disagreement_goldens.py REFERENCES

Needs torch and pycocotools too, but not torchvision: of that torchmetrics calls one function, which turns corners into
sizes and stands here in a line. What a user would do is done: boxes, labels and scores as tensors of single precision,
without areas or crowds for torchmetrics; for Ultralytics the crowds left out, as its converter does, the 300 best of
an image kept, matched by its validator and scored by its `ap_per_class`. Scores get a small number added there, so that
none are equal: the order of equals depends on the machine.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]
SEEDS = range(40)


def sides(
    data: dict[str, Any], results: list[dict[str, Any]], *, crowds: bool
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Predictions and targets of each image, in the order of the ids: corners, in single precision."""
    import torch

    pairs = []
    for image in sorted(i["id"] for i in data["images"]):
        made = []
        for rows in (results, data["annotations"]):
            own = [r for r in rows if r["image_id"] == image and (crowds or not r.get("iscrowd"))]
            box = np.array([r["bbox"] for r in own], dtype=np.float64).reshape(-1, 4)
            side = {
                "boxes": torch.tensor(np.column_stack([box[:, :2], box[:, :2] + box[:, 2:]]), dtype=torch.float32),
                "labels": torch.tensor([r["category_id"] for r in own], dtype=torch.int64),
            }
            if rows is results:
                side["scores"] = torch.tensor([r["score"] for r in own], dtype=torch.float32)
            made.append(side)
        pairs.append((made[0], made[1]))
    return pairs


def torchmetrics_values(data: dict[str, Any], results: list[dict[str, Any]]) -> dict[str, float]:
    import torch

    stand_in = types.ModuleType("torchvision")
    ops = types.ModuleType("torchvision.ops")
    ops.box_convert = lambda boxes, in_fmt, out_fmt: torch.cat([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], dim=1)  # type: ignore[attr-defined]
    sys.modules.update({"torchvision": stand_in, "torchvision.ops": ops})
    try:
        from torchmetrics.detection import mean_ap

        mean_ap._TORCHVISION_AVAILABLE = True
        metric = mean_ap.MeanAveragePrecision(backend="pycocotools")
        metric.warn_on_many_detections = False
        pairs = sides(data, results, crowds=True)
        metric.update([p for p, _ in pairs], [t for _, t in pairs])
        computed = metric.compute()
    finally:
        del sys.modules["torchvision"], sys.modules["torchvision.ops"]
    sizes = ("small", "medium", "large")
    names = {"map": "map", "map50": "map_50", "map75": "map_75", **{f"map_{size}": f"map_{size}" for size in sizes}}
    return {name: float(computed[theirs]) for name, theirs in names.items()}


def ultralytics_values(data: dict[str, Any], results: list[dict[str, Any]]) -> dict[str, float]:
    import torch
    from ultralytics.engine.validator import BaseValidator
    from ultralytics.utils.metrics import ap_per_class, box_iou

    holder = types.SimpleNamespace(iouv=torch.linspace(0.5, 0.95, 10))
    tp, conf, pred, target = [], [], [], []
    for detected, truth in sides(data, results, crowds=False):
        order = torch.argsort(detected["scores"], descending=True, stable=True)[:300]
        order = order[detected["scores"][order] > 0.001]
        boxes, labels, scores = detected["boxes"][order], detected["labels"][order], detected["scores"][order]
        if len(truth["labels"]) and len(labels):
            iou = box_iou(truth["boxes"], boxes)
            hits = BaseValidator.match_predictions(holder, labels, truth["labels"], iou).numpy()
        else:
            hits = np.zeros((len(labels), 10), dtype=bool)
        tp.append(hits)
        conf.append(scores.numpy())
        pred.append(labels.numpy())
        target.append(truth["labels"].numpy())
    if not sum(map(len, target)):
        return {"map": float("nan"), "map50": float("nan"), "map75": float("nan")}
    ap = ap_per_class(np.concatenate(tp), np.concatenate(conf), np.concatenate(pred), np.concatenate(target))[5]
    return {"map": float(ap.mean()), "map50": float(ap[:, 0].mean()), "map75": float(ap[:, 5].mean())}


def untied(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**result, "score": result["score"] + i * 1e-5} for i, result in enumerate(results)]


def undefined(values: dict[str, float]) -> dict[str, float | None]:
    return {name: None if value != value else value for name, value in values.items()}


def main() -> None:
    sys.path.append(sys.argv[1])
    os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.mkdtemp())
    import torchmetrics  # noqa: F401  before torchvision seems to be there

    version = importlib.metadata.version  # Ultralytics asks for torchvision's version when it is imported, and no more
    importlib.metadata.version = lambda name: "0.0" if name == "torchvision" else version(name)
    from support.coco_reference import draw

    cases: list[dict[str, Any]] = []
    for seed in SEEDS:
        data, results = draw(seed)
        if results:
            case = {"seed": seed, "torchmetrics": undefined(torchmetrics_values(data, results))}
            cases.append({**case, "ultralytics": undefined(ultralytics_values(data, untied(results)))})
    made = {
        "command": "python tools/make_disagreement_goldens.py REFERENCES",
        "versions": {name: version(name) for name in ("numpy", "torch", "pycocotools", "torchmetrics", "ultralytics")},
        "cases": cases,
    }  # fmt: skip
    path = ROOT / "tests" / "goldens" / "disagreements.json"
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
