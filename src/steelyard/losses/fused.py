"""Losses of CUDA tensors by Triton: every level, classes and boxes, value and gradient in one launch.

Imports Triton, which comes with PyTorch builds for CUDA. The formulas are those of `focal` and `boxes`. Labels are
counted first, so that the derivative is written as the gradient of the total. Where something else comes from above,
the way back scales it in place. Half precision keeps nothing: its derivative is computed on the way back, where it is
scaled before it is rounded. What is not served here goes through `eager`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from steelyard.losses import kernels
from steelyard.losses.arrays import Array
from steelyard.losses.formula import FocalSettings, QuadraticSettings
from steelyard.losses.layout import BLOCK, LEVELS, ROOM, TURNS, WIDTH, LaunchPlan, plan_of

SUM, MEAN, POSITIVES, GIVEN = range(4)  # what a sum is divided by
MOST_COUNTS = 1024
Losses = tuple[Array, Array, Array]


class Settings(NamedTuple):
    """What is computed: the formulas (None: no boxes), their weights, and what the sums are divided by."""

    focal: FocalSettings
    boxes: QuadraticSettings | None = None
    class_weight: float = 1.0
    box_weight: float = 0.0
    nonzero: bool = False
    reduction: str = "sum"


class Level(NamedTuple):
    """The arrays of one level: logits, labels or dense targets, what is left out, boxes and their targets."""

    logits: Array
    targets: Array
    ignore: Array | None = None
    boxes: Array | None = None
    box_targets: Array | None = None


def losses(
    settings: Settings, levels: Sequence[Level], weight: Array | None, positives: Any, plain: Callable[[], Losses],
    anchors: int | None = None,
) -> Losses | None:  # fmt: skip
    """The total, the loss of the classes and that of the boxes; None where these arrays are not served.

    `plain` gives the same by other means, where a gradient of the gradient is wanted. With `anchors` arrays are as a
    convolution leaves them: see `plan_of`.
    """
    plan = _plan(settings, levels, weight, positives, anchors)
    if plan is None:
        return None
    boxes = [level.boxes for level in levels if level.boxes is not None]
    call = _Call(settings, levels, weight, positives, plan, plain)
    three: Losses = _Fused.apply(call, *[level.logits for level in levels], *boxes)
    return three


def _plan(
    settings: Settings, levels: Sequence[Level], weight: Array | None, positives: Any, anchors: int | None
) -> LaunchPlan | None:
    """How the arrays are walked, or None where one is of a kind that the kernels do not know."""
    first = levels[0].logits
    device, place = first.device, first.get_device()
    if len(levels) > LEVELS or torch._C._are_functorch_transforms_active():
        return None
    for tensor in (weight, positives if isinstance(positives, torch.Tensor) else None):
        if tensor is not None and (tensor.device != device or tensor.requires_grad or not tensor.is_contiguous()):
            return None
    if isinstance(positives, torch.Tensor) and positives.numel() > MOST_COUNTS:
        return None
    key = []
    for level in levels:
        for tensor in level:
            if tensor is not None and (not isinstance(tensor, torch.Tensor) or tensor.get_device() != place):
                return None
        if level.targets.requires_grad or (level.box_targets is not None and level.box_targets.requires_grad):
            return None
        key.append(tuple(None if tensor is None else (tensor.shape, tensor.stride(), tensor.dtype) for tensor in level))
    plan = plan_of(tuple(key), str(device), anchors)
    dense = plan is not None and not plan.labels
    return None if dense and settings.reduction == "positives" and positives is None else plan


class _Call(NamedTuple):
    settings: Settings
    levels: Sequence[Level]
    weight: Array | None
    positives: Any
    plan: LaunchPlan
    plain: Callable[[], Losses]

    def divisor_numbers(self) -> tuple[Array, int, int]:
        """What the sums are divided by, as the kernels read it: numbers, how many, and of which kind."""
        s, x = self.settings, self.levels[0].logits
        if s.reduction == "sum":
            return x, 0, SUM
        if s.reduction == "positives" and self.positives is not None:
            positives = self.positives
            if not isinstance(positives, torch.Tensor):
                positives = torch.full((1,), positives, dtype=torch.float64, device=x.device)
            return positives, positives.numel(), GIVEN
        if not self.plan.labels:  # of dense targets all elements count
            many = sum(level.logits.numel() for level in self.levels)
            return torch.full((1,), many - 1, dtype=torch.float64, device=x.device), 1, GIVEN
        programs, work, table = self.plan.counting()
        counts = torch.empty((programs, 2), dtype=torch.int64, device=x.device)
        kernels.count[(programs,)](
            self._each("targets"), self._bytes("ignore"), counts, table,
            IGNORE=self.levels[0].ignore is not None, LEVELS=len(self.levels), WORK=work, ROOM=ROOM, WIDTH=WIDTH,
            num_warps=4,
        )  # fmt: skip
        return counts, programs, MEAN if s.reduction == "mean" else POSITIVES

    def launch(
        self, losses: Array | None, gradients: Sequence[Array], counts: tuple[Array, int, int], above: Sequence[Any]
    ) -> None:
        """Write the three losses, and the gradients, where there is room for them."""
        s, first, plan = self.settings, self.levels[0], self.plan
        f, q = s.focal, s.boxes
        x = first.logits
        kind = 1 if plan.labels else 3 if first.targets.dtype.is_floating_point else 2
        logits = self._each("logits")
        boxes = self._each("boxes") if q else logits
        written = tuple(gradients) or logits
        sums = None if losses is None else torch.empty(plan.programs, dtype=losses.dtype, device=x.device)
        kernels.walk[(plan.programs,)](
            logits, self._bytes("targets"), self._bytes("ignore"), boxes, self._each("box_targets") if q else logits,
            written[: len(self.levels)], written[len(self.levels) :] or written,
            x if self.weight is None else self.weight, plan.table, x if sums is None else sums,
            counts[0], counts[1], *(x if one is None else one for one in above), x if losses is None else losses,
            x if losses is None else _finished_counter(x.device), plan.class_programs, plan.programs,
            COUNTED=counts[2], TARGET=kind, IGNORE=first.ignore is not None, WEIGHT=self.weight is not None,
            SUMS=sums is not None, SLOPES=bool(gradients), BOXES=q is not None, NONZERO=s.nonzero,
            **_losses_with_gradient(above), BACK=any(one is not None for one in above), ALPHA=f.alpha, GAMMA=f.gamma,
            CONSTANT_ALPHA=f.constant_alpha, SMOOTHING=f.label_smoothing, HUBER=q is not None and q.huber,
            DELTA=1.0 if q is None else q.delta, CLASS_WEIGHT=s.class_weight, BOX_WEIGHT=s.box_weight,
            TINY=float(torch.finfo(_sum_type(x)).smallest_normal), DOUBLE=x.dtype == torch.float64,
            ALIGNED=plan.aligned and all(a.data_ptr() % 16 == 0 for a in logits),
            **plan.facts,
        )  # fmt: skip

    def _each(self, name: str) -> tuple[Array, ...]:
        place = Level._fields.index(name)
        return tuple([level[place] for level in self.levels])

    def _bytes(self, name: str) -> tuple[Array, ...]:
        """Booleans as bytes where they lie; where there are none, any pointer."""
        tensors = self._each(name)
        if tensors[0] is None:
            return self._each("logits")
        return tuple(one.view(torch.uint8) for one in tensors) if tensors[0].dtype == torch.bool else tensors


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Array) -> Losses:
        ctx.call, ctx.kept = call, None
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.counts = counts = call.divisor_numbers()
        losses = torch.empty(3, dtype=_sum_type(tensors[0]), device=tensors[0].device)
        wanted = any(ctx.needs_input_grad) and tensors[0].dtype in (torch.float32, torch.float64)
        if wanted:
            ctx.kept = [torch.empty_like(one) for one in tensors]
        call.launch(losses, ctx.kept or (), counts, (None, None, None))
        total, classes, boxes = losses.unbind()
        return total, classes, boxes

    @staticmethod
    def backward(ctx: Any, *above: Array | None) -> tuple[Any, ...]:
        call = ctx.call
        gradients, ctx.kept = ctx.kept, None
        if gradients is not None and not torch.is_grad_enabled():
            _rescale(call, gradients, above)
            return (None, *gradients)
        tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a gradient of the gradient is wanted
            outputs = [(out, up) for out, up in zip(call.plain(), above, strict=True) if up is not None]
            values, ups = zip(*outputs, strict=True)
            again = torch.autograd.grad(values, tensors, ups, create_graph=True, allow_unused=True)
            return (None, *again)
        gradients = [torch.empty_like(one) for one in tensors]
        call.launch(None, gradients, ctx.counts, above)
        return (None, *gradients)


_counters: dict[tuple[torch.device, int], Array] = {}


def _finished_counter(device: torch.device) -> Array:
    """Where the programs of a launch count how many have ended: a place for each stream, 0 between launches."""
    key = device, torch._C._cuda_getCurrentRawStream(device.index) if device.type == "cuda" else 0
    if key not in _counters:
        _counters[key] = torch.zeros(1, dtype=torch.int32, device=device)
    return _counters[key]


def _rescale(call: _Call, gradients: Sequence[Array], above: Sequence[Array | None]) -> None:
    """Multiply gradients of the total by what comes from above; where that is 1 nothing is touched."""
    many, s = len(call.levels), call.settings
    programs, table = call.plan.scaling()
    kernels.rescale[(programs,)](
        tuple(gradients), table, *(gradients[0] if one is None else one for one in above),
        **_losses_with_gradient(above), CLASS_WEIGHT=s.class_weight, BOX_WEIGHT=s.box_weight, CLASS_ARRAYS=many,
        ARRAYS=len(gradients), ROOM=ROOM, WIDTH=WIDTH, BLOCK=BLOCK * 4, TURNS=TURNS, num_warps=4,
    )  # fmt: skip


def _losses_with_gradient(above: Sequence[Array | None]) -> dict[str, bool]:
    """Which of the three losses have a gradient from above."""
    return dict(zip(("TOTAL", "OWN_CLASSES", "OWN_BOXES"), (one is not None for one in above), strict=True))


def _sum_type(x: Array) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32
