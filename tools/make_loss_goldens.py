"""Make tests/goldens/losses.json: values and gradients of effdet's and torchvision's own losses on drawn inputs.

Neither package is installed, since effdet pulls in torchvision, which does not belong beside the project's PyTorch:
one file of each is read, by a Python that has PyTorch.

    python3 -m venv /tmp/goldens && cd /tmp/goldens && bin/pip install torch==2.13.0 setuptools wheel
    bin/pip download --no-deps --no-binary :all: --no-build-isolation effdet==0.4.1 && tar xf effdet-0.4.1.tar.gz
    bin/pip download --no-deps torchvision==0.29.2 && bin/python -m zipfile -e torchvision-*.whl wheel
    bin/python .../tools/make_loss_goldens.py effdet-0.4.1/effdet/loss.py wheel/torchvision/ops/focal_loss.py

Only numbers are written. float32 numbers have nine digits, which give each back to the bit.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import torch

GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "losses.json"
BATCH, ANCHORS, CLASSES, SIDES = 2, 3, 5, (4, 2)


def load(path: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def torchvision_focal(path: str) -> Any:
    """The one file, with a stand-in for the logging function that it imports from its package."""
    utils = types.ModuleType("torchvision.utils")
    utils._log_api_usage_once = lambda *_: None  # type: ignore[attr-defined]
    for name in ("torchvision", "torchvision.ops"):
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    sys.modules["torchvision.utils"] = utils
    return load(path, "torchvision.ops.focal_loss").sigmoid_focal_loss


def numbers(tensor: torch.Tensor) -> Any:
    digits = 17 if tensor.dtype == torch.float64 else 9
    if tensor.dtype == torch.int64:
        return tensor.tolist()

    def rounded(value: Any) -> Any:
        return [rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.{digits}g}")

    return rounded(tensor.detach().tolist())


def detection(effdet: Any) -> dict[str, Any]:
    torch.manual_seed(4)
    logits = [(torch.randn(BATCH, ANCHORS * CLASSES, s, s) * 3 - 1).requires_grad_() for s in SIDES]
    boxes = [(torch.randn(BATCH, ANCHORS * 4, s, s) * 0.3).requires_grad_() for s in SIDES]
    labels = [torch.randint(-2, CLASSES, (BATCH, s, s, ANCHORS)) for s in SIDES]
    targets = []
    for label in labels:
        target = torch.randn(*label.shape[:3], ANCHORS * 4) * 0.2 * (label >= 0).repeat_interleave(4, -1)
        target[..., ::7] = 0.0  # a coordinate that is 0 by chance has no term
        targets.append(target)
    positives = torch.stack([(label >= 0).flatten(1).sum(1) for label in labels]).sum(0).float()
    cases = []
    for smoothing, legacy in ((0.0, False), (0.01, False), (0.1, False), (0.0, True)):
        losses = effdet.loss_fn(
            logits, boxes, labels, targets, positives, num_classes=CLASSES, alpha=0.25, gamma=1.5, delta=0.1,
            box_loss_weight=50.0, label_smoothing=smoothing, legacy_focal=legacy,
        )  # fmt: skip
        gradients = torch.autograd.grad(losses[0], logits + boxes)
        cases.append({
            "label_smoothing": smoothing, "legacy": legacy,
            "total": numbers(losses[0]), "classes": numbers(losses[1]), "boxes": numbers(losses[2]),
            "logits_gradient": [numbers(g) for g in gradients[: len(SIDES)]],
            "boxes_gradient": [numbers(g) for g in gradients[len(SIDES) :]],
        })  # fmt: skip
    return {
        "logits": [numbers(x) for x in logits], "boxes": [numbers(x) for x in boxes],
        "labels": [numbers(x) for x in labels], "box_targets": [numbers(x) for x in targets],
        "positives": numbers(positives), "cases": cases,
    }  # fmt: skip


def elementwise(effdet: Any, torchvision: Any) -> dict[str, Any]:
    """Each element in float64, from targets that are hard and soft."""
    torch.manual_seed(5)
    logits = (torch.randn(6, 4, dtype=torch.float64) * 4).requires_grad_()
    hard = (torch.rand(6, 4) < 0.4).double()
    soft = torch.rand(6, 4, dtype=torch.float64)
    cases = []
    for source, function in (("effdet", effdet.new_focal_loss), ("torchvision", torchvision)):
        for kind, targets in (("hard", hard), ("soft", soft)):
            for alpha, gamma in ((0.25, 1.5), (0.25, 2.0), (0.6, 0.7), (0.5, 0.0), (0.9, 1.0), (-1, 2.0)):
                if source == "effdet":
                    if alpha < 0:
                        continue
                    loss = function(logits, targets, alpha, gamma, 1.0, 0.05)
                else:
                    loss = function(logits, targets, alpha, gamma)
                gradient = torch.autograd.grad(loss.sum(), logits)[0]
                cases.append({
                    "source": source, "targets": kind, "alpha": alpha, "gamma": gamma,
                    "label_smoothing": 0.05 if source == "effdet" else 0.0,
                    "loss": numbers(loss), "gradient": numbers(gradient),
                })  # fmt: skip
    return {"logits": numbers(logits), "hard": numbers(hard), "soft": numbers(soft), "cases": cases}


def boxes(effdet: Any) -> dict[str, Any]:
    torch.manual_seed(6)
    prediction = torch.randn(8, 4, dtype=torch.float64).requires_grad_()
    target = torch.randn(8, 4, dtype=torch.float64)
    cases = []
    for name, function, setting in (
        ("huber", effdet.huber_loss, "delta"),
        ("smooth_l1", effdet.smooth_l1_loss, "beta"),
    ):
        for delta in (0.1, 1.0, 3.0):
            for mean in (True, False):
                loss = function(prediction, target, size_average=mean, **{setting: delta})
                gradient = torch.autograd.grad(loss, prediction)[0]
                cases.append({
                    "loss": name, "delta": delta, "reduction": "mean" if mean else "sum",
                    "value": numbers(loss), "gradient": numbers(gradient),
                })  # fmt: skip
    return {"prediction": numbers(prediction), "target": numbers(target), "cases": cases}


def main() -> None:
    effdet, torchvision = load(sys.argv[1], "effdet_loss"), torchvision_focal(sys.argv[2])
    result = {
        "made_by": "tools/make_loss_goldens.py (its first lines say how), effdet 0.4.1 loss.py, torchvision 0.29.2 "
        f"ops/focal_loss.py, torch {torch.__version__}",
        "detection": detection(effdet),
        "elementwise": elementwise(effdet, torchvision),
        "boxes": boxes(effdet),
    }
    GOLDENS.parent.mkdir(exist_ok=True)
    GOLDENS.write_text(json.dumps(result, separators=(",", ":")).replace('],"', '],\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
