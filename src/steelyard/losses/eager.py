"""Losses on eager PyTorch tensors: tile by tile, with the derivative in closed form. Imports PyTorch.

Autograd would keep about ten arrays of the size of the logits for the way back. Here the forward pass leaves one, the
derivative, which the first backward pass scales in place and hands over as the gradient. Half precision leaves
none: its derivative is computed on the way back, so that it is scaled before it is rounded.
"""

from __future__ import annotations

from typing import Any

import torch

from steelyard.losses.arrays import Array, computing_type, torch_namespace
from steelyard.losses.formula import Formula, tiles_of


def total(formula: Formula, x: Array, parts: Any) -> Array:
    """The sum of the loss over all elements."""
    tracked = torch.is_grad_enabled() and x.requires_grad
    keep = tracked and x.dtype in (torch.float32, torch.float64)
    return _Total.apply(formula, x, parts, keep)[0]


def each(formula: Formula, x: Array, parts: Any) -> Array:
    """The loss of each element."""
    return _Each.apply(formula, x, parts)


def _slope(formula: Formula, x: Array, parts: Any, scale: Array) -> Array:
    """The derivative times what comes from above, in the type of x."""
    xp = torch_namespace()
    if torch.is_grad_enabled():  # a gradient of the gradient is wanted
        value = formula.value(xp, x, parts)
        return torch.autograd.grad(value, x, scale.expand(value.shape), create_graph=True)[0]
    result = torch.empty_like(x)
    for tile in tiles_of(x):
        above = scale[tile] if scale.ndim else scale
        result[tile] = formula.value_and_slope(xp, x[tile].contiguous(), parts[tile])[1] * above
    return result


def _natively(formula: Formula, x: Array, parts: Any, slope: Array | None) -> float | None:
    """The sum, and the derivative, by native code; None where the tensors are not served."""
    plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.device.type == "cpu" and x.dtype == torch.float32
    if not plain or x.is_neg() or torch._C._are_functorch_transforms_active():
        return None
    into = None if slope is None else slope.numpy()
    return formula.native_sum(x.detach().numpy(), parts, into, torch.get_num_threads())


class _Total(torch.autograd.Function):
    """Gives the sum and, where it is to be kept, the derivative (without a gradient of its own)."""

    @staticmethod
    def forward(formula: Formula, x: Array, parts: Any, keep: bool) -> tuple[Array, Array | None]:
        xp = torch_namespace()
        slope = torch.empty_like(x) if keep else None
        whole = _natively(formula, x, parts, slope)
        if whole is not None:
            return torch.tensor(whole, dtype=x.dtype), slope
        sums = []
        for tile in tiles_of(x):
            if slope is None:
                value = formula.value(xp, x[tile].contiguous(), parts[tile])
            else:
                value, slope[tile] = formula.value_and_slope(xp, x[tile].contiguous(), parts[tile])
            sums.append(value.sum())
        return torch.stack(sums).sum(), slope

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.formula, x, ctx.parts, _ = inputs
        ctx.save_for_backward(x)
        ctx.slope = output[1]
        if ctx.slope is not None:
            ctx.mark_non_differentiable(ctx.slope)

    @staticmethod
    def backward(ctx: Any, scale: Array, _: Any) -> tuple[Any, ...]:
        slope, ctx.slope = ctx.slope, None
        if slope is not None and not torch.is_grad_enabled():
            gradient = slope.mul_(scale)
        else:
            gradient = _slope(ctx.formula, ctx.saved_tensors[0], ctx.parts, scale)
        return None, gradient, None, None


class _Each(torch.autograd.Function):
    @staticmethod
    def forward(formula: Formula, x: Array, parts: Any) -> Array:
        xp = torch_namespace()
        result = torch.empty_like(x, dtype=computing_type(xp, x))
        for tile in tiles_of(x):
            result[tile] = formula.value(xp, x[tile].contiguous(), parts[tile])
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
        ctx.formula, x, ctx.parts = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, scale: Array) -> tuple[Any, ...]:
        return None, _slope(ctx.formula, ctx.saved_tensors[0], ctx.parts, scale), None
