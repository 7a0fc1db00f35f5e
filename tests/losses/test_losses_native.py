"""The focal loss of labels in native code: values and gradients of the formula in float64, as the logits lie in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

from steelyard import _native
from steelyard.losses import effdet, focal_loss, host

torch = lazy("torch")

GAMMAS = [0.0, 1.0, 1.5, 2.0]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether native code took the arrays, call by call."""
    calls: list[bool] = []
    focal_sum = host.focal_sum

    def noted(*arguments: Any) -> float | None:
        result = focal_sum(*arguments)
        calls.append(result is not None)
        return result

    monkeypatch.setattr(host, "focal_sum", noted)
    return calls


def by_definition(x: Any, labels: Any, alpha: float, gamma: float, constant: bool) -> tuple[float, Any]:
    """−α_t (1 − p_t)^γ log p_t and its derivative by the chain rule, in float64."""
    x = x.astype(np.float64)
    hit = labels[..., None] == np.arange(x.shape[-1])
    z = np.where(hit, -x, x)
    q, p = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(z))
    alpha_t = np.where(hit, alpha, alpha if constant else 1 - alpha) * (labels != -2)[..., None]
    entropy = -np.log(p)
    slope = alpha_t * (gamma * q**gamma * p * entropy + q ** (gamma + 1))
    return float((alpha_t * q**gamma * entropy).sum()), np.where(hit, -slope, slope)


def drawn(*shape: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(len(shape))
    return (rng.normal(size=shape) * 4).astype(np.float32), rng.integers(-2, shape[-1], shape[:-1])


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 3, 4, 1, 2), (0, 4, 3, 1, 2), (4, 0, 1, 2, 3)])
def test_values_and_gradients(order: tuple[int, ...], gamma: float, constant: bool, served: list[bool]) -> None:
    """The axes lie in memory in that order: anchor by anchor, or planes of a class."""
    x, labels = drawn(2, 5, 7, 3, 11)
    expected, slope = by_definition(x, labels, 0.3, gamma, constant)
    lying = torch.tensor(x).permute(order).contiguous().permute(*np.argsort(order).tolist()).requires_grad_()
    settings: dict[str, Any] = {"alpha": 0.3, "gamma": gamma, "constant_alpha": constant, "reduction": "sum"}
    loss = focal_loss(lying, torch.tensor(labels), **settings)
    (2 * loss).backward()
    assert served == [True]
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-6)
    assert lying.grad is not None
    assert lying.grad.stride() == lying.stride()
    np.testing.assert_allclose(lying.grad.numpy(), 2 * slope, rtol=2e-6, atol=1e-6 * np.abs(slope).max())
    assert float(focal_loss(x, labels, **settings)) == pytest.approx(expected, rel=1e-6)


def test_what_is_not_served_is_computed_by_the_formula(served: list[bool]) -> None:
    x, labels = (torch.tensor(one) for one in drawn(40, 6))
    want: dict[str, Any] = {"gamma": 2.0, "reduction": "sum"}
    plain = focal_loss(x.double(), labels, **want)
    for same in (x, x.T.contiguous().T):
        assert float(focal_loss(same, labels, **want)) == pytest.approx(float(plain), rel=1e-6)
    assert served == [True, True]
    twice = torch.stack([x, x], 1)[:, 0]  # every other row of memory
    assert float(focal_loss(twice, labels, **want)) == pytest.approx(float(plain), rel=1e-6)
    assert served[2:] == [False]
    ignore = x > 1
    kept = focal_loss(x, labels, ignore=ignore, **want)
    assert float(kept) == pytest.approx(float(focal_loss(x.double(), labels, ignore=ignore, **want)), rel=1e-6)
    assert len(served) == 3


@pytest.mark.parametrize("gamma", GAMMAS)
def test_extremes(gamma: float) -> None:
    """Infinite logits cost nothing where they are right and infinity where they are wrong; what is ignored may be nan."""
    endless = torch.tensor([[-math.inf, math.inf], [-200.0, 95.0], [math.nan, 3e38]]).requires_grad_()
    labels = torch.tensor([1, 1, -2])
    loss = focal_loss(endless, labels, gamma=gamma, reduction="sum")
    loss.backward()
    assert loss < 1e-40
    assert endless.grad is not None
    assert endless.grad.abs().max() < 1e-37
    wrong = torch.tensor([[-math.inf, 3e38]]).requires_grad_()
    loss = focal_loss(wrong, torch.tensor([0]), gamma=gamma, reduction="sum")
    loss.backward()
    assert float(loss.detach()) == math.inf
    assert wrong.grad is not None
    assert wrong.grad.tolist() == [[-0.25, 0.75]]
    assert math.isnan(focal_loss(np.array([[np.nan]], dtype=np.float32), np.array([-1]), gamma=gamma, reduction="sum"))


def test_small_logits_keep_their_digits() -> None:
    """Down to where single precision ends, a sure background costs exp(x)."""
    x = np.arange(-87, -2, 0.37, dtype=np.float32)
    slope = np.empty_like(x)
    for k, value in enumerate(x):
        part = slice(k, k + 1)
        total = _native.focal_of_rows(x[part], np.array([-1]), 1, 1.0, 1.0, 0.0, slope[part], 1)
        assert total == pytest.approx(math.log1p(math.exp(float(value))), rel=3e-7)
    np.testing.assert_allclose(slope, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=3e-7)


def test_threads_and_lengths_change_no_bits() -> None:
    """Vector code and what is left over at the end of a stretch give the same, on any number of threads."""
    x, labels = drawn(3000, 23)
    whole = np.empty(x.size, dtype=np.float32)
    sums = {_native.focal_of_rows(x.ravel(), labels, 23, 0.25, 0.75, 1.5, whole, threads) for threads in (1, 2, 3)}
    assert len(sums) == 1
    alone = np.empty(23, dtype=np.float32)
    for row in range(40):
        _native.focal_of_rows(x[row].copy(), labels[row : row + 1], 23, 0.25, 0.75, 1.5, alone, 1)
        assert alone.tobytes() == whole[23 * row : 23 * row + 23].tobytes()
        one = np.empty(1, dtype=np.float32)
        if labels[row] == -1:
            _native.focal_of_rows(x[row, :1].copy(), np.array([-1]), 1, 0.25, 0.75, 1.5, one, 1)
            assert one[0] == alone[0]


def test_planes_of_a_detector(served: list[bool]) -> None:
    rng = torch.Generator().manual_seed(1)
    x, boxes = (torch.randn(2, 3 * many, 4, 5, generator=rng) for many in (6, 4))
    labels = torch.randint(-2, 6, (2, 4, 5, 3), generator=rng)
    targets = torch.randn(2, 4, 5, 12, generator=rng)
    single = effdet(x.requires_grad_(), boxes, labels, targets, anchors=3)
    double = effdet(x.double(), boxes.double(), labels, targets.double(), anchors=3)
    assert served == [True]
    assert float(single.total.detach()) == pytest.approx(float(double.total.detach()), rel=1e-6)
