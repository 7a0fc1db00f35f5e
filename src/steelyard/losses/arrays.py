"""What the losses need of an array library: its namespace, a few things the standard leaves open, and checks.

NumPy's own namespace serves NumPy; every other library is reached through array-api-compat, which is imported only
then. No library is imported here: a user who has tensors has PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.core.errors import (
    Incompatible,
    InputError,
    InvalidSetting,
    InvalidValue,
    MissingExtra,
    ShapeMismatch,
    nearest,
)

Array = Any
Namespace = Any
Tile = tuple[Any, ...]

REDUCTIONS = ("none", "sum", "mean", "positives")

# Temporaries of a tile of this many elements stay in the cache of a CPU core; a GPU wants fewer, larger launches.
HOST_TILE, DEVICE_TILE = 1 << 20, 1 << 23


def is_torch(array: Array) -> bool:
    """Whether it is a PyTorch tensor, asked without importing PyTorch."""
    return type(array).__module__.partition(".")[0] == "torch" or hasattr(array, "requires_grad")


def namespace(**arrays: Array) -> Namespace:
    """The namespace that all arrays (those that are not None) share; an error names the argument that has another."""
    present = {name: array for name, array in arrays.items() if array is not None}
    for name, array in present.items():
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise InvalidValue(
                f"{name} is a {type(array).__name__}, not an array",
                remedy="Give an array of NumPy, PyTorch, JAX or another library of the array API standard.",
            )
    torches = [is_torch(array) for array in present.values()]
    if all(torches):
        return torch_namespace()
    if any(torches):
        raise _mixed_libraries(present)
    if all(isinstance(array, (np.ndarray, np.generic)) for array in present.values()):
        return np
    try:
        import array_api_compat
    except ImportError:
        raise MissingExtra("a loss on arrays other than NumPy's", "losses") from None
    try:
        return array_api_compat.array_namespace(*present.values())
    except TypeError:
        raise _mixed_libraries(present) from None


def torch_namespace() -> Namespace:
    """PyTorch as the standard has it."""
    try:
        import array_api_compat.torch
    except ImportError:
        raise MissingExtra("a loss on PyTorch tensors", "losses") from None
    return array_api_compat.torch


def _mixed_libraries(arrays: dict[str, Array]) -> InputError:
    kinds = ", ".join(f"{name} is {type(a).__module__}.{type(a).__name__}" for name, a in arrays.items())
    return Incompatible(f"the arrays are of different libraries: {kinds}", remedy="Convert them to one library.")


def cast(xp: Namespace, array: Array, dtype: Any) -> Array:
    """The array in another type; itself where it has that type."""
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if xp is np else xp.astype(array, dtype)


def kind(xp: Namespace, array: Array) -> str:
    """The kind of an array's type: "floating", "integer", "bool" or "other"."""
    if xp is np:
        return {"f": "floating", "i": "integer", "u": "integer", "b": "bool"}.get(array.dtype.kind, "other")
    for name, standard in (("floating", "real floating"), ("integer", "integral"), ("bool", "bool")):
        if xp.isdtype(array.dtype, standard):
            return name
    return "other"


def computing_type(xp: Namespace, array: Array) -> Any:
    """The type to compute in: float64 for float64, else float32."""
    return xp.float64 if array.dtype == xp.float64 else xp.float32


def indices(xp: Namespace, array: Array, count: int) -> Array:
    """The numbers 0..count-1 where the array is."""
    return xp.arange(count, device=array.device) if is_torch(array) else xp.arange(count)


def scalar(xp: Namespace, like: Array, value: float) -> Array:
    """A number as an array without axes, of the type of another array and where that is."""
    if is_torch(like):  # filled where it is: a copy from the host would make a GPU wait
        return xp.full((), value, dtype=like.dtype, device=like.device)
    return xp.full((), value, dtype=like.dtype)


def size(array: Array) -> int:
    """The number of elements."""
    return math.prod(array.shape)


def extremes(xp: Namespace, array: Array) -> tuple[float, float]:
    """The least and the greatest value, as Python numbers."""
    if is_torch(array):
        low, high = array.aminmax()
        return low.item(), high.item()
    return array.min().item(), array.max().item()


def compiling() -> bool:
    """Whether PyTorch is tracing this call for its compiler."""
    import torch

    return bool(torch.compiler.is_compiling())


def readable(xp: Namespace, array: Array) -> bool:
    """Whether values may be looked at now without stopping a device or breaking a trace."""
    if xp is np:
        return True
    return is_torch(array) and array.device.type == "cpu" and not compiling()


def tiles(shape: tuple[int, ...], limit: int) -> Iterator[Tile]:
    """Indices of the leading axes that cut an array into tiles of about `limit` elements.

    The last axis is never cut: it holds the classes of an anchor or the coordinates of a box.
    """
    axis = 0
    while axis < len(shape) - 2 and math.prod(shape[axis + 1 :]) > limit:
        axis += 1
    if len(shape) < 2 or math.prod(shape) <= limit:
        yield (Ellipsis,)
        return
    step = max(1, limit // max(1, math.prod(shape[axis + 1 :])))
    for outer in np.ndindex(*shape[:axis]):
        for start in range(0, shape[axis], step):
            yield (*outer, slice(start, start + step))


def check_number(name: str, value: float, low: float, high: float = math.inf, *, open_low: bool = False) -> None:
    """Raise where a setting is not a number in its range."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or math.isnan(value) or not low <= value <= high or (open_low and value == low) or value == math.inf:
        ends = f"{'more than' if open_low else 'from'} {low:g}" + (" up" if high == math.inf else f" to {high:g}")
        raise InvalidSetting(f"{name}={value!r} is not allowed", remedy=f"{name} must be a number {ends}.")


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise where a setting is none of the words it may be."""
    if value not in allowed:
        raise InvalidSetting(f"{name}={value!r} is not allowed", remedy=nearest(str(value), allowed))


def check_floating(xp: Namespace, name: str, array: Array) -> None:
    """Raise where an array is not of a floating type."""
    if kind(xp, array) != "floating":
        raise ShapeMismatch(f"{name} has the type {array.dtype}", remedy=f"{name} must be of a floating type.")


def check_shape(name: str, array: Array, allowed: tuple[tuple[int, ...], ...], of: str) -> None:
    """Raise where an array has none of the shapes it may have."""
    if tuple(array.shape) not in allowed:
        shapes = " or ".join(str(shape) for shape in dict.fromkeys(allowed))
        raise ShapeMismatch(
            f"{name} has the shape {tuple(array.shape)}", remedy=f"It must be {shapes}, to go with {of}."
        )


def check_mask(xp: Namespace, name: str, array: Array, allowed: tuple[tuple[int, ...], ...], of: str) -> None:
    """Raise where a mask is not of booleans or has another shape."""
    if kind(xp, array) != "bool":
        raise ShapeMismatch(
            f"{name} has the type {array.dtype}", remedy=f"{name} must be of booleans, true = left out."
        )
    check_shape(name, array, allowed, of)
