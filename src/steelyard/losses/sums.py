"""Sums of a loss over an array: how the formulas of this room are evaluated, whatever the library.

A formula is elementwise in the prediction, so it can be evaluated tile by tile: temporaries stay in the cache and the
peak of memory is the gradient itself. Where a library compiles (JAX, torch.compile) the whole array goes through at
once and the compiler does the same.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from steelyard.losses.arrays import Array, Namespace, cast, compiling, is_torch
from steelyard.losses.formula import Formula, tiles_of


def total(xp: Namespace, formula: Formula, x: Array, parts: Any) -> Array:
    """The sum of the loss over all elements."""
    if xp is np:
        whole = formula.native_sum(x, parts, None, 0)
        if whole is not None:
            return np.asarray(whole, dtype=x.dtype)[()]
        sums = [formula.value(xp, x[tile], parts[tile]).sum() for tile in tiles_of(x)]
        return np.sum(np.stack(sums))
    if is_torch(x) and not compiling():
        from steelyard.losses import eager

        return eager.total(formula, x, parts)
    return xp.sum(formula.value(xp, x, parts))


def each(xp: Namespace, formula: Formula, x: Array, parts: Any) -> Array:
    """The loss of each element."""
    if is_torch(x) and not compiling():
        from steelyard.losses import eager

        return eager.each(formula, x, parts)
    return formula.value(xp, x, parts)


def divide(xp: Namespace, loss: Array, count: Any) -> Array:
    """A sum over a count; nan where nothing was counted."""
    if isinstance(count, int | float):
        return loss / count if count else loss * float("nan")
    if xp is np:
        return loss / np.asarray(count, loss.dtype) if count else loss * loss.dtype.type("nan")
    return loss / cast(xp, count, loss.dtype)


def count(xp: Namespace, mask: Array) -> Array:
    """How many are true."""
    return xp.sum(cast(xp, mask, xp.int64 if xp is np or is_torch(mask) else xp.int32))


def on_gpu(x: Any) -> ModuleType | None:
    """The fused kernels where they can be tried: on a CUDA tensor, outside of a compiler, where Triton is there."""
    return _fused_module() if is_torch(x) and x.device.type == "cuda" and not compiling() else None


@cache
def _fused_module() -> ModuleType | None:
    if find_spec("triton") is None:
        return None
    from steelyard.losses import fused

    return fused
