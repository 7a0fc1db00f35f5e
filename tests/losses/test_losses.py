"""Losses against effdet's and torchvision's own numbers, by hand, in every library, at extremes and in their gradients."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import subprocess
import sys
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch  # not lazily: functions that use it are compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import TESTS
from support.tiers import slow_except, slow_rows_except

from steelyard import losses
from steelyard.core.errors import InputError
from steelyard.losses import detection_loss, effdet, focal_loss, huber_loss, smooth_l1_loss
from steelyard.losses import formula as evaluation

GOLDENS = json.loads((TESTS / "goldens" / "losses.json").read_text(encoding="utf-8"))
ANCHORS, CLASSES = 3, 5


def with_gradient(function: Any, *inputs: Any) -> tuple[Any, list[Any]]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    loss = function(*leaves)
    return loss.detach(), list(torch.autograd.grad(loss.sum(), leaves))


# ---- infinite logits: the limits of the formula

ENDLESS = [math.inf, -math.inf, math.inf, -math.inf, 0.0]
HARD_TARGETS = [1.0, 0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["soft", "hard"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_logits(gamma: float, smoothing: float, kind: str, dtype: str) -> None:
    """Surely right costs 0 and surely wrong infinity. Smoothed without a modulating factor, both cost infinity."""
    import jax
    import jax.numpy as jnp

    both = bool(smoothing) and not gamma
    expected = [math.inf if both else 0.0] * 2 + [math.inf] * 2
    options: dict[str, Any] = {"gamma": gamma, "label_smoothing": smoothing}
    x, t = np.array(ENDLESS, dtype)[:, None], np.array(HARD_TARGETS, dtype if kind == "soft" else bool)[:, None]
    libraries: dict[str, Any] = {"numpy": (x, t), "torch": (torch.tensor(x), torch.tensor(t))}
    if dtype == "float32":
        libraries["jax"] = (jnp.asarray(x), jnp.asarray(t))
    for logits, targets in libraries.values():
        result = np.asarray(focal_loss(logits, targets, reduction="none", **options)).ravel()
        assert result[:4].tolist() == expected
        assert 0 < result[4] < 1
    leaf, target = libraries["torch"][0].requires_grad_(), libraries["torch"][1]
    for reduction in ("none", "sum"):
        (slope,) = torch.autograd.grad(focal_loss(leaf, target, reduction=reduction, **options).sum(), leaf)
        assert torch.isfinite(slope).all()
        assert slope[4] < 0
    if dtype == "float32":
        slope = jax.grad(lambda v: focal_loss(v, libraries["jax"][1], reduction="sum", **options))(libraries["jax"][0])
        assert np.isfinite(np.asarray(slope)).all()
        assert slope[4, 0] < 0


def test_infinite_logits_of_labels_and_of_soft_targets() -> None:
    x = np.array([[math.inf, -math.inf, -math.inf], [-math.inf, -math.inf, -math.inf], [-math.inf, 3.0, math.inf]])
    result = focal_loss(x, np.array([0, -1, 1]), reduction="none")
    assert result[:2].tolist() == [[0.0] * 3] * 2
    assert result[2, 0] == 0
    assert result[2, 2] == math.inf
    between = focal_loss(np.array([math.inf, -math.inf]), np.array([0.5, 0.5]), reduction="none")
    assert between.tolist() == [math.inf, math.inf]


# ---- effdet and torchvision


def levels(name: str, numbers: int | None, dtype: Any) -> list[Any]:
    """effdet's (batch, anchors x numbers, height, width) as (batch, height, width, anchors, numbers)."""
    tensors = [torch.tensor(level, dtype=dtype) for level in GOLDENS["detection"][name]]
    return tensors if numbers is None else [from_effdet(t, numbers) for t in tensors]


def from_effdet(tensor: Any, numbers: int) -> Any:
    return tensor.permute(0, 2, 3, 1).unflatten(-1, (ANCHORS, numbers))


@pytest.mark.parametrize("planes", [True, False])
@pytest.mark.parametrize("tile", [1 << 20, 64])
@pytest.mark.parametrize("given_positives", [True, False])
@pytest.mark.parametrize("case", GOLDENS["detection"]["cases"], ids=lambda c: f"{c['label_smoothing']}-{c['legacy']}")
def test_effdet(
    case: dict[str, Any], given_positives: bool, tile: int, planes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 1e-6 in float32: the three losses, and every gradient relative to the largest of its level."""
    monkeypatch.setattr(evaluation, "HOST_TILE", tile)
    logits = [x.requires_grad_() for x in levels("logits", None, torch.float32)]
    boxes = [x.requires_grad_() for x in levels("boxes", None, torch.float32)]
    labels = levels("labels", None, torch.int64)
    targets = [t.unflatten(-1, (ANCHORS, 4)) for t in levels("box_targets", None, torch.float32)]
    loss = dataclasses.replace(effdet, label_smoothing=case["label_smoothing"])
    positives = torch.tensor(GOLDENS["detection"]["positives"]) if given_positives else None
    if planes:
        whole = levels("box_targets", None, torch.float32)
        result = loss(logits, boxes, labels, whole, positives=positives, anchors=ANCHORS)
    else:
        views = [from_effdet(x, CLASSES) for x in logits], [from_effdet(x, 4) for x in boxes]
        result = loss(*views, labels, targets, positives=positives)
    for name in ("total", "classes", "boxes"):
        assert getattr(result, name).item() == pytest.approx(case[name], rel=1e-6)
    result.total.backward()
    for tensors, name in ((logits, "logits_gradient"), (boxes, "boxes_gradient")):
        for tensor, expected in zip(tensors, case[name], strict=True):
            golden = torch.tensor(expected)
            torch.testing.assert_close(tensor.grad, golden, rtol=1e-6, atol=1e-6 * golden.abs().max().item())


@pytest.mark.parametrize(
    ("change", "anchors", "message"),
    [
        ({}, 0, "anchors is 0"),
        ({}, True, "anchors is True"),
        ({"logits": np.zeros((1, 7, 2, 2))}, 3, r"logits has the shape \(1, 7, 2, 2\), and a cell has 3 anchors"),
        ({"boxes": np.zeros((1, 2, 2, 12))}, 3, "boxes has the shape"),
        ({"box_targets": np.zeros((1, 2, 2, 3, 4))}, 3, "box_targets has the shape"),
    ],
)
def test_planes_of_other_anchors_are_refused(change: dict[str, Any], anchors: Any, message: str) -> None:
    arrays = {"logits": np.zeros((1, 6, 2, 2)), "boxes": np.zeros((1, 12, 2, 2)),
              "class_targets": np.zeros((1, 2, 2, 3), np.int64), "box_targets": np.zeros((1, 2, 2, 12))}  # fmt: skip
    assert np.isfinite(effdet(**arrays, anchors=3).total)
    with pytest.raises(InputError, match=message):
        effdet(**(arrays | change), anchors=anchors)


@pytest.mark.parametrize(
    "case",
    GOLDENS["elementwise"]["cases"],
    ids=lambda c: f"{c['source']}-{c['targets']}-{c['alpha']}-{c['gamma']}",
)
def test_elementwise_in_float64(case: dict[str, Any]) -> None:
    """effdet's and torchvision's focal loss, each element and its gradient; torchvision's alpha < 0 is not a balance."""
    logits = torch.tensor(GOLDENS["elementwise"]["logits"], dtype=torch.float64)
    targets = torch.tensor(GOLDENS["elementwise"][case["targets"]], dtype=torch.float64)
    choice = {"alpha": case["alpha"]} if case["alpha"] >= 0 else {"alpha": 1.0, "constant_alpha": True}
    choice |= {"gamma": case["gamma"], "label_smoothing": case["label_smoothing"]}
    kinds = [targets, targets.bool(), targets.int()] if case["targets"] == "hard" else [targets]
    for kind in kinds:
        loss, (gradient,) = with_gradient(lambda x, t=kind: focal_loss(x, t, reduction="none", **choice), logits)
        torch.testing.assert_close(loss, torch.tensor(case["loss"], dtype=torch.float64), rtol=1e-11, atol=1e-14)
        torch.testing.assert_close(
            gradient, torch.tensor(case["gradient"], dtype=torch.float64), rtol=1e-10, atol=1e-13
        )


@pytest.mark.parametrize("case", GOLDENS["boxes"]["cases"], ids=lambda c: f"{c['loss']}-{c['delta']}-{c['reduction']}")
def test_boxes(case: dict[str, Any]) -> None:
    prediction = torch.tensor(GOLDENS["boxes"]["prediction"], dtype=torch.float64)
    target = torch.tensor(GOLDENS["boxes"]["target"], dtype=torch.float64)
    function = {"huber": huber_loss, "smooth_l1": smooth_l1_loss}[case["loss"]]
    loss, (gradient,) = with_gradient(
        lambda p: function(p, target, delta=case["delta"], reduction=case["reduction"]), prediction
    )
    assert loss.item() == pytest.approx(case["value"], rel=1e-12)
    torch.testing.assert_close(gradient, torch.tensor(case["gradient"], dtype=torch.float64), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("gamma", [1.0, 1.5, 2.0, 2.5])
def test_every_element_in_float32(gamma: float) -> None:
    """Each element and each slope within 1e-6 of itself in float64, which the goldens above hold, also where tiny."""
    rng = torch.Generator().manual_seed(8)
    logits, targets = torch.rand(20_000, generator=rng) * 50 - 25, torch.rand(20_000, generator=rng) < 0.5
    for kind in (targets, targets.float()):

        def loss(x: Any, t: Any = kind) -> Any:
            return focal_loss(x, t, gamma=gamma, reduction="none")

        single, (slope,) = with_gradient(loss, logits)
        double, (expected,) = with_gradient(loss, logits.double())
        torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-36)
        torch.testing.assert_close(slope.double(), expected, rtol=1e-6, atol=1e-36)


# ---- by hand


def test_worked_values() -> None:
    """The specification's formulas by hand: α_t as trained with, the literal α, smooth L1 and Huber with δ = 0.1."""
    logits, targets = np.array([2.0, -1.0]), np.array([1.0, 0.0])
    p = 1 / (1 + np.exp(-logits))
    by_hand = 0.25 * (1 - p[0]) ** 1.5 * -math.log(p[0]) + 0.75 * p[1] ** 1.5 * -math.log(1 - p[1])
    assert by_hand == pytest.approx(0.03407434746623039, rel=1e-6)  # effdet, in float32
    assert focal_loss(logits, targets, reduction="sum") == pytest.approx(by_hand, rel=1e-12)
    by_hand = 0.25 * ((1 - p[0]) ** 1.5 * -math.log(p[0]) + p[1] ** 1.5 * -math.log(1 - p[1]))
    assert by_hand == pytest.approx(0.012228749692440033, rel=1e-6)
    assert focal_loss(logits, targets, constant_alpha=True, reduction="sum") == pytest.approx(by_hand, rel=1e-12)
    error, zero = np.array([0.05, 0.1, 0.3]), np.zeros(3)
    assert smooth_l1_loss(error, zero, delta=0.1, reduction="none") == pytest.approx([0.0125, 0.05, 0.25])
    assert huber_loss(-error, zero, delta=0.1, reduction="none") == pytest.approx([0.00125, 0.005, 0.025])


def test_detection_is_the_weighted_sum_of_its_parts() -> None:
    rng = np.random.default_rng(0)
    logits, boxes, targets = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6, 4)), rng.normal(size=(2, 6, 4))
    labels = np.array([[0, -1, 2, -2, -1, 1], [-1, -1, 0, -2, 2, -1]])
    result = detection_loss(logits, boxes, labels, targets, class_weight=2.0, box_weight=3.0, gamma=2.0, delta=0.5)
    classes = focal_loss(logits, labels, gamma=2.0, reduction="positives")
    box = smooth_l1_loss(boxes, targets, delta=0.5, ignore=labels < 0, reduction="positives", positives=5)
    assert (result.classes, result.boxes) == (pytest.approx(classes), pytest.approx(box))
    assert result.total == pytest.approx(2 * classes + 3 * box)
    dense = (labels[..., None] == np.arange(3)).astype(float)
    same = detection_loss(
        logits, boxes, dense, targets, ignore=labels == -2, class_weight=2.0, box_weight=3.0, gamma=2.0, delta=0.5
    )
    assert tuple(same) == pytest.approx(tuple(result))
    for reduction in ("sum", "mean"):
        whole = detection_loss(logits, boxes, labels, targets, reduction=reduction)
        halves = detection_loss(
            [logits[:1], logits[1:]], [boxes[:1], boxes[1:]], [labels[:1], labels[1:]], [targets[:1], targets[1:]],
            reduction=reduction,
        )  # fmt: skip
        assert tuple(halves) == pytest.approx(tuple(whole))
        mean = huber_loss(boxes, targets, ignore=labels < 0, reduction=reduction)
        assert detection_loss(logits, boxes, labels, targets, reduction=reduction, box_loss="huber").boxes == (
            pytest.approx(mean)
        )


def test_reductions_and_what_counts() -> None:
    rng = np.random.default_rng(1)
    logits, labels = rng.normal(size=(5, 4)), np.array([3, -1, -2, 0, -1])
    each = focal_loss(logits, labels, reduction="none")
    assert (each[2] == 0).all()
    assert focal_loss(logits, labels, reduction="sum") == pytest.approx(each.sum())
    assert focal_loss(logits, labels, reduction="mean") == pytest.approx(each.sum() / 16)
    assert focal_loss(logits, labels, reduction="positives") == pytest.approx(each.sum() / 3)
    assert focal_loss(logits, labels, reduction="positives", positives=9) == pytest.approx(each.sum() / 10)
    assert focal_loss(logits, labels, reduction="positives", positives=np.array([4, 5])) == pytest.approx(
        each.sum() / 10
    )

    rows, cells = np.array([False, True, False, True, False]), rng.random((5, 4)) < 0.5
    wild = logits.copy()
    wild[1], wild[2], wild[3] = np.nan, np.inf, -np.inf  # what does not count may be anything
    kept = each[[0, 4]].sum()
    assert focal_loss(wild, labels, ignore=rows, reduction="sum") == pytest.approx(kept)
    assert focal_loss(wild, labels, ignore=rows, reduction="mean") == pytest.approx(kept / 8)
    assert focal_loss(wild, labels, ignore=rows, reduction="positives") == pytest.approx(kept / 2)
    counted = ~cells & (labels != -2)[:, None]
    assert focal_loss(logits, labels, ignore=cells) == pytest.approx(each[counted].mean())
    dense = (labels[:, None] == np.arange(4)).astype(float)
    ignored = (labels == -2)[:, None] | cells
    assert focal_loss(logits, dense, ignore=ignored) == pytest.approx(each[counted].mean())
    expected = each[counted].sum() / (dense[~ignored].sum() + 1)
    assert focal_loss(logits, dense, ignore=ignored, reduction="positives") == pytest.approx(expected)

    factors = np.array([1.0, 0.0, 2.5, 4.0])
    assert focal_loss(logits, labels, weight_by_class=factors, reduction="none") == pytest.approx(each * factors)
    assert math.isnan(focal_loss(logits, labels, ignore=np.ones(5, bool)))
    assert focal_loss(logits, labels, ignore=np.ones(5, bool), reduction="positives") == 0
    assert math.isnan(smooth_l1_loss(logits, logits, ignore=np.ones(5, bool)))


def test_ignored_tensors_have_a_gradient_of_zero() -> None:
    values, ignore = torch.tensor([[1.0, 2.0], [math.nan, -math.inf]]), torch.tensor([False, True])
    for function in (
        lambda x: focal_loss(x, torch.tensor([0, 1]), ignore=ignore),
        lambda x: focal_loss(x, torch.tensor([0, -2])),
        lambda x: focal_loss(x, torch.tensor([[1.0, 0.2], [0.0, 0.0]]), ignore=ignore, reduction="none"),
        lambda x: huber_loss(x, torch.zeros(2, 2), ignore=ignore),
    ):
        for used in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
            loss, (gradient,) = with_gradient(used, values)
            assert torch.isfinite(loss).all()
            assert (gradient[1] == 0).all()
            assert (gradient[0] != 0).all()


# ---- gradients


GAMMAS, REDUCTIONS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.3), ("none", "sum", "mean", "positives")
GRADCHECKS = [(gamma, "sum") for gamma in GAMMAS] + [(1.5, reduction) for reduction in REDUCTIONS]


@pytest.mark.parametrize(("gamma", "reduction"), slow_rows_except(itertools.product(GAMMAS, REDUCTIONS), *GRADCHECKS))
def test_gradcheck_focal(gamma: float, reduction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "HOST_TILE", 8)
    rng = torch.Generator().manual_seed(2)
    logits = torch.randn(4, 3, generator=rng, dtype=torch.float64) * 3
    logits[0, 0] = 0.0
    labels, soft = torch.tensor([2, -1, -2, 0]), torch.rand(4, 3, generator=rng, dtype=torch.float64)
    factors = torch.rand(3, generator=rng, dtype=torch.float64)
    for targets in (labels, soft):

        def loss(x: Any, t: Any = targets) -> Any:
            return focal_loss(
                x, t, alpha=0.3, gamma=gamma, label_smoothing=0.1, weight_by_class=factors, reduction=reduction
            )

        x = logits.clone().requires_grad_()
        assert torch.autograd.gradcheck(loss, x)
        x = (logits + 0.5).requires_grad_()
        assert torch.autograd.gradgradcheck(loss, x)


@pytest.mark.parametrize("function", [smooth_l1_loss, huber_loss])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_gradcheck_boxes(function: Any, reduction: str) -> None:
    rng = torch.Generator().manual_seed(3)
    prediction = torch.randn(6, 4, generator=rng, dtype=torch.float64).requires_grad_()
    target = torch.randn(6, 4, generator=rng, dtype=torch.float64)
    ignore = torch.tensor([True, False, False, False, True, False])

    def loss(p: Any, t: Any) -> Any:
        return function(p, t, delta=0.7, ignore=ignore, reduction=reduction)

    assert torch.autograd.gradcheck(lambda p: loss(p, target), prediction)
    assert torch.autograd.gradcheck(loss, (prediction, target.clone().requires_grad_()))  # both sides learn


def test_backward_twice_and_scaled() -> None:
    """The first way back hands the kept derivative over; a second one must not see what became of it."""
    logits = torch.randn(30, 4, dtype=torch.float64).requires_grad_()
    labels = torch.randint(-2, 4, (30,))
    loss = focal_loss(logits, labels, reduction="sum")
    first = torch.autograd.grad(3 * loss, logits, retain_graph=True)[0]
    first_copy = first.clone()
    second = torch.autograd.grad(5 * loss, logits, retain_graph=True)[0]
    torch.testing.assert_close(first, first_copy, rtol=0, atol=0)
    torch.testing.assert_close(second * 3, first * 5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-60, 60), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0, 1), st.floats(0, 5), st.floats(0, 1), st.booleans(),
)  # fmt: skip
def test_closed_slope_is_what_autograd_finds(
    rows: list[tuple[float, float]], alpha: float, gamma: float, smoothing: float, constant: bool
) -> None:
    """The derivative in closed form against automatic differentiation of the value that the compiler is given."""
    x, t = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    for targets in (t, t > 0.5):
        formula = losses.focal.Focal(alpha, gamma, constant, smoothing)
        parts = losses.focal.Parts(None, targets, None, None, None)
        xp = losses.arrays.torch_namespace()
        leaf = x.clone().requires_grad_()
        expected = torch.autograd.grad(formula.value(xp, leaf, parts).sum(), leaf)[0]
        value, slope = formula.value_and_slope(xp, x, parts)
        assert (value >= 0).all()
        torch.testing.assert_close(slope, expected, rtol=1e-9, atol=1e-12)


# ---- extremes


EVERY_TYPE = ["float64", "float32", "float16", "bfloat16"]


@pytest.mark.parametrize(
    ("way", "dtype", "gamma"),
    [(w, d, g) for w in ("bool", "soft") for d in EVERY_TYPE for g in (0.0, 0.5, 1.0, 1.5, 2.0, 5.0)]
    + slow_rows_except(
        [("compiled", "float32", 0.5), ("compiled", "float16", 1.5), ("compiled", "float64", 2.0)],
        ("compiled", "float16", 1.5),
    ),
    ids=str,
)
def test_extreme_logits(way: str, dtype: Any, gamma: float) -> None:
    """Far out, the loss of what is wrong is α_t |x| with slope α_t, and of what is right 0 with slope 0."""
    dtype = getattr(torch, dtype)
    values = torch.tensor([-1000.0, -100.0, 100.0, 1000.0]).to(dtype)
    for target, alpha in ((0.0, 0.75), (1.0, 0.25)):
        sign = -1 if target else 1
        wrong = (sign * values.double()).clamp(min=0)
        targets = torch.full((4,), target) if way == "soft" else torch.full((4,), target).bool()

        def loss(x: Any, t: Any = targets) -> Any:
            return focal_loss(x, t, gamma=gamma, reduction="none")

        torch._dynamo.reset()
        used = torch.compile(loss, backend="aot_eager", fullgraph=True) if way == "compiled" else loss
        result, (gradient,) = with_gradient(used, values)
        assert result.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert gradient.dtype == dtype
        torch.testing.assert_close(result.double(), alpha * wrong, rtol=1e-6, atol=1e-20)
        torch.testing.assert_close(gradient.double(), sign * alpha * (wrong > 0).double(), rtol=1e-2, atol=1e-20)
    numpy = focal_loss(values.float().numpy(), np.ones(4), gamma=gamma, reduction="none")
    assert np.isfinite(numpy).all()


def test_half_precision_is_summed_in_single() -> None:
    """In float16 the sum would overflow at 65,504, and a small derivative vanish before it is scaled."""
    logits = torch.full((400, 1000), 10.0, dtype=torch.float16)
    assert focal_loss(logits, torch.zeros(400, dtype=torch.int64) - 1, reduction="sum").item() == pytest.approx(
        400_000 * focal_loss(np.array([[10.0]]), np.array([-1]), reduction="sum"), rel=1e-5
    )
    small = torch.full((1, 1), -8.0, dtype=torch.float16)
    _, (gradient,) = with_gradient(lambda x: 65536 * focal_loss(x, torch.tensor([-1]), reduction="sum"), small)
    expected = 65536 * torch.autograd.functional.jacobian(
        lambda x: focal_loss(x, torch.tensor([-1]), reduction="sum"), small.double()
    )
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-3, atol=0)


# ---- libraries


def arrays() -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    labels = rng.integers(-2, 5, (6, 9))
    return (
        (rng.normal(size=(6, 9, 5)) * 4).astype(np.float32),
        rng.normal(size=(6, 9, 4)).astype(np.float32),
        labels,
        rng.normal(size=(6, 9, 4)).astype(np.float32),
    )


CALLS: dict[str, Any] = {
    "effdet": lambda x, b, l, t: effdet(x, b, l, t).total,
    "detection": lambda x, b, l, t: detection_loss(x, b, l, t, ignore=l == 3, reduction="mean").total,
    "labels": lambda x, b, l, t: focal_loss(x, l, gamma=2.5, reduction="positives"),
    "dense": lambda x, b, l, t: focal_loss(x, x / 100 + 0.5 if not isinstance(x, torch.Tensor) else x.detach() / 100 + 0.5),
    "none": lambda x, b, l, t: focal_loss(x, l, label_smoothing=0.1, reduction="none"),
    "weights": lambda x, b, l, t: focal_loss(x, l, weight_by_class=t[0, :5, 0] ** 2, reduction="sum"),
    "huber": lambda x, b, l, t: huber_loss(b, t, delta=0.3),
    "smooth_l1": lambda x, b, l, t: smooth_l1_loss(b, t, ignore=l < 0, reduction="positives", positives=l),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_every_library_gives_the_same(name: str) -> None:
    """NumPy, PyTorch, and the strict reference of the array API standard, which has nothing beyond the standard."""
    expected = CALLS[name](*arrays())
    result = CALLS[name](*map(torch.from_numpy, arrays()))
    np.testing.assert_allclose(result.numpy(), expected, rtol=2e-6, atol=1e-9)
    strict = CALLS[name](*map(array_api_strict.asarray, arrays()))
    np.testing.assert_allclose(np.from_dlpack(strict), expected, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("name", slow_except(CALLS, "effdet", "labels", "huber"))
def test_torch_compile_without_graph_breaks(name: str) -> None:
    inputs = [torch.from_numpy(a) for a in arrays()]
    torch._dynamo.reset()
    compiled = torch.compile(CALLS[name], backend="aot_eager", fullgraph=True)
    results = []
    for function in (CALLS[name], compiled):
        x, b = (a.clone().requires_grad_() for a in inputs[:2])
        loss = function(x, b, *inputs[2:])
        gradients = torch.autograd.grad(loss.sum(), (x, b), allow_unused=True)
        results.append([loss.detach(), *(g for g in gradients if g is not None)])
    for eager, traced in zip(*results, strict=True):
        torch.testing.assert_close(traced, eager, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("name", slow_except(CALLS, "effdet", "labels", "huber"))
def test_jax(name: str) -> None:
    import jax

    inputs = [jax.numpy.asarray(a) for a in arrays()]
    np.testing.assert_allclose(CALLS[name](*inputs), CALLS[name](*arrays()), rtol=2e-6, atol=1e-8)

    def total(x: Any, b: Any) -> Any:
        return CALLS[name](x, b, *inputs[2:]).sum()

    result = jax.jit(jax.grad(total, argnums=(0, 1)))(*inputs[:2])
    x, b, labels, targets = (torch.from_numpy(a) for a in arrays())
    x, b = x.requires_grad_(), b.requires_grad_()
    CALLS[name](x, b, labels, targets).sum().backward()
    for gradient, leaf in zip(result, (x, b), strict=True):
        if leaf.grad is not None and name != "dense":  # there the target depends on x, and JAX follows it
            np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=5e-6, atol=1e-8)


def test_jax_at_extremes() -> None:
    import jax

    x = jax.numpy.asarray([-1000.0, -100.0, 0.0, 100.0, 1000.0])
    for gamma in (0.0, 0.5, 1.5, 2.0):
        slope = jax.grad(lambda a, g=gamma: focal_loss(a, jax.numpy.ones(5), gamma=g, reduction="sum"))(x)
        assert np.isfinite(slope).all()
        np.testing.assert_allclose(slope[:2], -0.25, rtol=1e-6)


def test_a_class_that_does_not_exist_is_nan_where_it_cannot_be_an_error() -> None:
    import jax

    logits, labels = jax.numpy.zeros((2, 3)), jax.numpy.asarray([0, 3])
    assert math.isnan(focal_loss(logits, labels))
    each = np.asarray(focal_loss(logits, labels, reduction="none"))
    assert np.isfinite(each[0]).all()
    assert np.isnan(each[1]).all()


def test_importing_costs_nothing() -> None:
    code = (
        "import sys, steelyard, steelyard.losses\n"
        "import numpy as np; steelyard.losses.focal_loss(np.zeros((2, 3)), np.array([0, 1]))\n"
        "print([m for m in ('torch', 'jax', 'array_api_compat') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_without_the_extra() -> None:
    code = (
        "import sys; sys.modules['array_api_compat'] = None; sys.modules['array_api_compat.torch'] = None\n"
        "import torch, steelyard.losses as l\n"
        "try: l.huber_loss(torch.zeros(2), torch.zeros(2))\n"
        "except ImportError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'steelyard[losses]'" in result.stdout


# ---- bad arguments

X, L, B = np.zeros((2, 3)), np.array([0, -1]), np.zeros((2, 4))
BAD: dict[str, tuple[Any, list[str]]] = {
    "alpha above": (lambda: focal_loss(X, L, alpha=1.5), ["alpha=1.5", "from 0 to 1"]),
    "alpha below": (lambda: focal_loss(X, L, alpha=-0.1), ["alpha=-0.1"]),
    "alpha text": (lambda: focal_loss(X, L, alpha="a"), ["alpha='a'"]),
    "gamma": (lambda: focal_loss(X, L, gamma=-1), ["gamma=-1", "from 0 up"]),
    "gamma nan": (lambda: focal_loss(X, L, gamma=math.nan), ["gamma=nan"]),
    "gamma infinite": (lambda: focal_loss(X, L, gamma=math.inf), ["gamma=inf"]),
    "smoothing": (lambda: focal_loss(X, L, label_smoothing=2), ["label_smoothing=2"]),
    "delta 0": (lambda: smooth_l1_loss(B, B, delta=0), ["delta=0", "more than 0"]),
    "delta below": (lambda: huber_loss(B, B, delta=-1.0), ["delta=-1.0"]),
    "delta flag": (lambda: huber_loss(B, B, delta=True), ["delta=True"]),
    "reduction": (lambda: focal_loss(X, L, reduction="avg"), ["reduction='avg'", "mean"]),
    "box reduction": (lambda: huber_loss(B, B, reduction="mena"), ["reduction='mena'", "'mean'"]),
    "logits integers": (lambda: focal_loss(X.astype(int), L), ["logits has the type int64"]),
    "logits complex": (lambda: focal_loss(X + 0j, L), ["logits has the type complex"]),
    "logits list": (lambda: focal_loss([[0.0]], L), ["logits is a list", "array"]),
    "logits scalar": (lambda: focal_loss(np.float64(1), np.float64(1)), ["logits has no axis"]),
    "targets shape": (lambda: focal_loss(X, np.zeros(3, int)), ["targets has the shape (3,)", "(2, 3) or (2,)"]),
    "targets floating labels": (lambda: focal_loss(X, np.zeros(2)), ["targets has the type float64", "integers"]),
    "targets text": (lambda: focal_loss(X, np.full((2, 3), "a")), ["targets has the type"]),
    "targets above": (lambda: focal_loss(X, L + 3), ["targets has the value 3", "from 0 to 2"]),
    "targets below": (lambda: focal_loss(X, L - 2), ["targets has the value -3"]),
    "targets dense": (lambda: focal_loss(X, X + 2), ["targets has the value 2", "from 0 to 1"]),
    "targets nan": (lambda: focal_loss(X, X + math.nan), ["targets has the value nan"]),
    "targets gradient": (
        lambda: focal_loss(torch.zeros(2, 3), torch.zeros(2, 3, requires_grad=True)),
        ["targets requires a gradient"],
    ),
    "torch targets": (lambda: focal_loss(torch.zeros(2, 3), torch.tensor([0, 3])), ["targets has the value 3"]),
    "mixed": (lambda: focal_loss(torch.zeros(2, 3), L), ["different libraries", "targets is numpy.ndarray"]),
    "weights shape": (lambda: focal_loss(X, L, weight_by_class=np.ones(2)), ["weight_by_class has the shape (2,)"]),
    "weights type": (lambda: focal_loss(X, L, weight_by_class=np.ones(3, int)), ["weight_by_class has the type"]),
    "ignore type": (lambda: focal_loss(X, L, ignore=np.zeros(2)), ["ignore has the type float64", "booleans"]),
    "ignore shape": (lambda: focal_loss(X, L, ignore=np.zeros(3, bool)), ["ignore has the shape (3,)"]),
    "prediction type": (lambda: huber_loss(B.astype(int), B), ["prediction has the type int64"]),
    "target type": (lambda: huber_loss(B, B.astype(int)), ["target has the type int64"]),
    "target shape": (lambda: smooth_l1_loss(B, X), ["target has the shape (2, 3)", "(2, 4)"]),
    "positives": (lambda: huber_loss(B, B, reduction="positives"), ["positives is missing"]),
    "class_weight": (lambda: detection_loss(X, B, L, B, class_weight=-1), ["class_weight=-1"]),
    "box_weight": (lambda: detection_loss(X, B, L, B, box_weight=math.nan), ["box_weight=nan"]),
    "box_loss": (lambda: detection_loss(X, B, L, B, box_loss="hubber"), ["box_loss='hubber'", "'huber'"]),
    "box_terms": (lambda: detection_loss(X, B, L, B, box_terms="some"), ["box_terms='some'"]),
    "detection none": (lambda: detection_loss(X, B, L, B, reduction="none"), ["reduction='none'"]),
    "boxes shape": (lambda: detection_loss(X, B[:1], L, B), ["boxes has the shape (1, 4)"]),
    "box_targets shape": (lambda: detection_loss(X, B, L, X), ["box_targets has the shape (2, 3)"]),
    "levels": (lambda: detection_loss([X], [B], [L, L], [B]), ["class_targets is 2 levels", "1 levels"]),
    "levels mixed": (lambda: detection_loss([X], B, [L], [B]), ["boxes is one array"]),
    "no level": (lambda: detection_loss([], [], [], []), ["logits has no level"]),
    "replaced": (lambda: dataclasses.replace(effdet, alpha=2), ["alpha=2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name: str) -> None:
    call, expected = BAD[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    for text in expected:
        assert text in str(caught.value)


def test_empty_batches() -> None:
    none = torch.zeros(0, 3).requires_grad_()
    loss = focal_loss(none, torch.zeros(0, dtype=torch.int64), reduction="sum")
    loss.backward()
    assert loss.item() == 0
    assert math.isnan(focal_loss(none, torch.zeros(0, dtype=torch.int64)).item())
    assert focal_loss(np.zeros((0, 3)), np.zeros(0, int), reduction="none").shape == (0, 3)
