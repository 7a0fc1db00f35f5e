"""Which code computes a loss: kernels, native code or formulas, by the layout of the arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.losses import detection, focal, sums
from steelyard.losses.arrays import kind, torch_namespace
from steelyard.losses.host import focal_sum

torch = lazy("torch")


LOGITS = np.array([[[0.5, -1.0, 2.0], [0.0, 1.0, -0.5]]])


LABELS = np.array([[0, 1]])


def test_complex_numbers_are_of_no_kind() -> None:
    xp = torch_namespace()
    kinds = [kind(xp, torch.zeros(1, dtype=one)) for one in (torch.float16, torch.int8, torch.bool, torch.complex64)]
    assert kinds == ["floating", "integer", "bool", "other"]


def test_an_anchor_of_which_no_element_counts_is_no_positive() -> None:
    ignore = np.zeros(LOGITS.shape, bool)
    ignore[0, 0] = True
    total, shared = (
        focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction=reduction) for reduction in ("sum", "positives")
    )
    assert shared == pytest.approx(total / (1 + 1))
    ignore[0, 0, 2] = False
    assert focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction="positives") == pytest.approx(
        focal.focal_loss(LOGITS, LABELS, ignore=ignore, reduction="sum") / (2 + 1)
    )


def test_logits_of_a_layout_that_no_kernel_walks() -> None:
    planes = np.zeros((2, 3, 4, 5), np.float32).transpose(0, 2, 3, 1)
    turned = np.zeros((2, 3, 4), np.float32).transpose(1, 0, 2)  # classes last, and the anchors before them turned
    sums_of = [
        focal_sum(lies, np.zeros(lies.shape[:-1], np.int64), (0.25, 0.75), 0.0, None, 1) for lies in (planes, turned)
    ]
    # Of a logit of 0 the cross-entropy is log 2: one class of three is the anchor's.
    assert sums_of == [pytest.approx(40 * math.log(2) * (0.25 + 2 * 0.75), rel=1e-6), None]


class Kernels:
    """Stands for the kernels of a GPU; None is what they give of arrays that they do not know."""

    Settings = staticmethod(lambda *given, **named: given)
    Level = staticmethod(lambda *given: given)

    def __init__(self, known: bool) -> None:
        self.known = known

    def losses(self, settings: Any, levels: Any, weight: Any, positives: Any, plain: Any, anchors: Any = None) -> Any:
        made = plain()
        return made if self.known else None


@pytest.mark.parametrize("known", [True, False])
def test_kernels_are_asked_first_and_the_formulas_else(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, targets = np.ones((1, 2, 4)), np.zeros((1, 2, 4))
    before = detection.detection_loss(LOGITS, boxes, LABELS, targets)
    alone = focal.focal_loss(LOGITS, LABELS, reduction="sum")
    for module in (detection, focal):
        monkeypatch.setattr(module, "on_gpu", lambda x: Kernels(known))
    assert detection.detection_loss(LOGITS, boxes, LABELS, targets) == before
    assert focal.focal_loss(LOGITS, LABELS, reduction="sum") == alone


def test_without_triton_there_are_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "find_spec", lambda name: None)
    assert sums._fused_module.__wrapped__() is None
