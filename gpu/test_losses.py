"""The losses on a GPU: values, gradients and memory of the fused kernels, held to the same losses in float64.

Run by `make gpu-test` on a machine with CUDA and Triton; no other test needs one.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from steelyard.core.errors import InputError
from steelyard.losses import detection_loss, effdet, focal_loss, fused, huber_loss, smooth_l1_loss

SHAPES = [(3, 700, 17), (1,), (5, 1), (2, 1, 3, 4, 5), (40000, 3), (2, 9, 64, 7)]
GAMMAS = [0.0, 0.7, 1.0, 1.5, 2.0, 5.0]
CLOSE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 2e-3, torch.float16: 2e-3}


def drawn(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    made = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=made, dtype=torch.float64) * 4).cuda()


def labels_of(shape: tuple[int, ...], seed: int = 1) -> torch.Tensor:
    made = torch.Generator().manual_seed(seed)
    return torch.randint(-2, shape[-1], shape[:-1], generator=made).cuda()


def both(loss: Any, x: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A loss and the gradient of its square, which says whether what comes from above is taken in."""
    x = x.detach().to(dtype).clone().requires_grad_()
    value = loss(x)
    (value * value).backward()
    assert x.grad is not None
    return value.detach(), x.grad


def plain(loss: Any, x: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The same in float64 on the CPU, where no kernel of the GPU has a part; the numbers are those of `dtype`."""
    return both(loss, x.to(dtype).cpu(), torch.float64)


def agree(loss: Any, x: torch.Tensor, dtype: torch.dtype, **on_gpu: torch.Tensor | None) -> None:
    """The loss on the GPU is that of the CPU; `on_gpu` are its other tensors, which go along."""
    value, gradient = both(lambda logits: loss(logits, **on_gpu), x, dtype)
    on_cpu = {name: None if tensor is None else tensor.cpu() for name, tensor in on_gpu.items()}
    expected, slope = plain(lambda logits: loss(logits, **on_cpu), x, dtype)
    close = CLOSE[dtype]
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert gradient.dtype == dtype
    torch.testing.assert_close(value.cpu().double(), expected, rtol=max(close, 1e-6) if close > 1e-9 else close, atol=0)
    torch.testing.assert_close(gradient.cpu().double(), slope, rtol=close, atol=close * float(slope.abs().max()))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the kernels took the arrays, call by call."""
    calls: list[bool] = []
    losses = fused.losses

    def noted(*arguments: Any) -> Any:
        results = losses(*arguments)
        calls.append(results is not None)
        return results

    monkeypatch.setattr(fused, "losses", noted)
    return calls


def test_the_kernels_are_used(served: list[bool]) -> None:
    x, targets = drawn((2, 30, 5)).float(), labels_of((2, 30, 5))
    planes = x.transpose(1, 2).contiguous().transpose(1, 2)
    for logits in (x, planes):
        focal_loss(logits, targets)
        focal_loss(logits, targets, ignore=targets == 1, weight_by_class=x[0, 0].abs())
        effdet(logits, drawn((2, 30, 4)).float(), targets, drawn((2, 30, 4)).float())
    focal_loss(x, torch.sigmoid(x))
    focal_loss(x, x > 0)
    assert served == [True] * 8
    focal_loss(x, targets, ignore=x > 1)  # element by element: the formula
    focal_loss(x[:, ::2], targets[:, ::2])
    assert served[8:] == [False] * 2


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("gamma", GAMMAS)
def test_focal_of_labels(gamma: float, dtype: torch.dtype) -> None:
    shape = SHAPES[0]
    agree(
        lambda x, targets: focal_loss(x, targets, gamma=gamma, reduction="sum"),
        drawn(shape), dtype, targets=labels_of(shape),
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["soft", "bool", "zero and one", "labels"])
@pytest.mark.parametrize("reduction", ["mean", "positives"])
def test_focal_of_every_target(shape: tuple[int, ...], kind: str, reduction: str) -> None:
    if kind == "labels":
        targets = labels_of(shape)
    else:
        targets = torch.sigmoid(drawn(shape, 2))
        targets = targets > 0.7 if kind == "bool" else (targets > 0.7).double() if kind == "zero and one" else targets
    agree(
        lambda x, targets: focal_loss(x, targets, reduction=reduction, label_smoothing=0.1),
        drawn(shape), torch.float64, targets=targets,
    )  # fmt: skip


@pytest.mark.parametrize("ignore", ["anchors", "elements"])
@pytest.mark.parametrize("constant_alpha", [False, True])
def test_focal_with_all_that_goes_along(ignore: str, constant_alpha: bool) -> None:
    shape = SHAPES[0]
    left_out = drawn(shape if ignore == "elements" else shape[:-1], 3) > 2
    weight = torch.rand(shape[-1], dtype=torch.float64, generator=torch.Generator().manual_seed(4)).cuda()
    agree(
        lambda x, targets, ignore, weight: focal_loss(
            x, targets, ignore=ignore, weight_by_class=weight, constant_alpha=constant_alpha, alpha=0.4
        ),
        drawn(shape), torch.float64, targets=labels_of(shape), ignore=left_out, weight=weight,
    )  # fmt: skip


@pytest.mark.parametrize("gamma", [0.0, 1.5, 2.0])
@pytest.mark.parametrize("kind", ["labels", "soft"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_infinite_logits(gamma: float, kind: str, smoothing: float) -> None:
    """Right ones add nothing, wrong ones make the loss infinite; the gradient stays a number."""
    x = torch.tensor([[torch.inf, -torch.inf, 0.0, 60.0, -60.0], [2.0, -1.0, 0.0, -torch.inf, 5.0]]).double()
    for labels in ([0, -1], [1, 3]):
        targets: torch.Tensor = torch.tensor(labels)
        if kind == "soft":
            targets = (targets[:, None] == torch.arange(5)).double()
        for dtype in (torch.float32, torch.float64):
            results = []
            for device, exact in (("cuda", dtype), ("cpu", torch.float64)):
                at = x.to(device, exact).clone().requires_grad_()
                value = focal_loss(at, targets.to(device), gamma=gamma, label_smoothing=smoothing)
                value.backward()
                assert at.grad is not None
                results.append((value.detach().cpu().double(), at.grad.cpu().double()))
            torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-6, atol=0)
            torch.testing.assert_close(results[0][1], results[1][1], rtol=2e-6, atol=1e-20)


def test_labels_that_do_not_exist_make_the_loss_nan() -> None:
    x = drawn((4, 3)).float()
    assert torch.isnan(focal_loss(x, torch.tensor([0, 1, 2, 3]).cuda()))
    with pytest.raises(InputError):
        focal_loss(x, torch.zeros(4, device="cuda"))


def test_memory_as_it_lies() -> None:
    """Logits as a network gives them, (batch, anchors × classes, height, width), seen as (batch, ..., classes)."""
    raw = drawn((2, 9 * 5, 16, 12))
    targets = labels_of((2, 16, 12, 9, 5))
    agree(
        lambda x, targets: focal_loss(x.permute(0, 2, 3, 1).unflatten(-1, (9, 5)), targets, reduction="sum"),
        raw, torch.float64, targets=targets,
    )  # fmt: skip
    agree(
        lambda x, targets: focal_loss(x[:, ::2], targets, reduction="sum"),
        drawn((6, 8, 5)), torch.float64, targets=labels_of((6, 4, 5)),
    )  # fmt: skip


@pytest.mark.parametrize("loss", [smooth_l1_loss, huber_loss])
@pytest.mark.parametrize("dtype", list(CLOSE))
def test_box_losses(loss: Any, dtype: torch.dtype) -> None:
    shape = (3, 700, 4)
    targets = drawn(shape, 5).to(dtype).double()
    agree(lambda x, targets: loss(x, targets.to(x.dtype), delta=0.3), drawn(shape), dtype, targets=targets)
    ignore = drawn(shape[:-1], 6) > 0
    agree(
        lambda x, targets, ignore: loss(x, targets.to(x.dtype), delta=2.0, ignore=ignore),
        drawn(shape), dtype, targets=targets, ignore=ignore,
    )  # fmt: skip


@pytest.mark.parametrize("settings", [effdet, None])
def test_the_loss_of_a_detector(settings: Any) -> None:
    shapes = [(2, 40, 7), (2, 12, 7)]
    boxes = [drawn((*shape[:-1], 4), i) for i, shape in enumerate(shapes)]
    labels = [labels_of(shape, i) for i, shape in enumerate(shapes)]
    targets = [drawn((*shape[:-1], 4), 9 + i) * (labels[i][..., None] >= 0) for i, shape in enumerate(shapes)]
    results = []
    for device in ("cuda", "cpu"):
        x = [drawn(shape, 20 + i).to(device).requires_grad_() for i, shape in enumerate(shapes)]
        b = [box.to(device).clone().requires_grad_() for box in boxes]
        rest = [one.to(device) for one in labels], [one.to(device) for one in targets]
        losses = (settings or detection_loss)(x, b, *rest)
        losses.total.backward()
        results.append([*(v.detach().cpu() for v in losses), *(t.grad.cpu() for t in (*x, *b))])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_planes_as_a_convolution_leaves_them(dtype: torch.dtype, served: list[bool]) -> None:
    """Without views, the loss and the gradients of the same on the CPU in float64."""
    sides, anchors, classes = (8, 5, 2), 3, 7
    made = torch.Generator().manual_seed(5)
    logits = [torch.randn(2, anchors * classes, s, s, generator=made, dtype=torch.float64) for s in sides]
    boxes = [torch.randn(2, anchors * 4, s, s, generator=made, dtype=torch.float64) for s in sides]
    labels = [torch.randint(-2, classes, (2, s, s, anchors), generator=made) for s in sides]
    targets = [torch.randn(2, s, s, anchors * 4, generator=made, dtype=torch.float64).to(dtype) for s in sides]
    results = []
    for on_gpu in (True, False):
        leaves = [[x.to(dtype) for x in of] for of in (logits, boxes)]
        if on_gpu:
            leaves = [[x.cuda().requires_grad_() for x in of] for of in leaves]
        else:
            leaves = [[x.double().requires_grad_() for x in of] for of in leaves]
        others = [[t.cuda() if on_gpu else t for t in labels], [t.cuda() if on_gpu else t.double() for t in targets]]
        total = effdet(*leaves, *others, anchors=anchors).total
        total.backward()
        results.append([total.detach().cpu().double(), *(x.grad.cpu().double() for of in leaves for x in of)])
    assert served == [True]
    for given, expected in zip(*results, strict=True):
        close = CLOSE[dtype]
        torch.testing.assert_close(given, expected, rtol=max(close, 1e-6), atol=close * float(expected.abs().max()))


def test_what_comes_from_above_is_taken_in() -> None:
    """The parts of a detector's loss have gradients of their own, a second way back gives the same, and so do streams."""
    x, boxes, labels = drawn((2, 40, 7)), drawn((2, 40, 4), 1), labels_of((2, 40, 7))
    targets = drawn((2, 40, 4), 2)
    results = []
    for device in ("cuda", "cpu"):
        at, box = (one.detach().to(device).requires_grad_() for one in (x, boxes))
        losses = effdet(at, box, labels.to(device), targets.to(device))
        (3 * losses.total + 2 * losses.classes - losses.boxes).backward(retain_graph=True)
        once = at.grad, box.grad
        at.grad = box.grad = None
        losses.classes.backward()
        results.append([one.cpu() for one in (*once, at.grad)])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-13)
    with torch.cuda.stream(torch.cuda.Stream()):
        aside = focal_loss(x, labels)
    torch.cuda.synchronize()
    torch.testing.assert_close(aside.cpu(), focal_loss(x.cpu(), labels.cpu()), rtol=1e-11, atol=0)


def test_a_gradient_of_the_gradient() -> None:
    x, targets = drawn((5, 4)), labels_of((5, 4))
    results = []
    for device in ("cuda", "cpu"):
        at = x.to(device).requires_grad_()
        (first,) = torch.autograd.grad(focal_loss(at, targets.to(device), reduction="sum"), at, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), at)
        results.append(second.cpu())
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-13)


def test_the_peak_of_memory_is_one_gradient() -> None:
    x = torch.randn(4, 49104, 90, device="cuda").requires_grad_()
    targets = labels_of((4, 49104, 90))
    focal_loss(x[:1], targets[:1]).backward()  # what is made once
    x.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    focal_loss(x, targets).backward()
    own = x.numel() * x.element_size()
    assert torch.cuda.max_memory_allocated() - before < 1.1 * own


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # PyTorch's own import
def test_compiled_losses_are_equal() -> None:
    x, targets = drawn((50, 9)).float(), labels_of((50, 9))
    compiled = torch.compile(lambda x, t: focal_loss(x, t, reduction="sum"))
    torch.testing.assert_close(compiled(x, targets), focal_loss(x, targets, reduction="sum"), rtol=1e-5, atol=0)
