"""Strides: how arrays lie in memory, whatever their axes mean.

Axes are sorted by their strides, and those that lie one behind the other in every array are joined. Strides are counted
in elements.
"""

from __future__ import annotations

from collections.abc import Sequence

Strides = tuple[int, ...]


def is_packed(shape: Strides, strides: Strides) -> bool:
    """Whether an array lies in the order of its axes, without gaps."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def is_dense(shape: Strides, strides: Strides) -> bool:
    """Whether elements fill a stretch of memory, each once."""
    step = 1
    for size, stride in sorted(zip(shape, strides, strict=True), key=lambda one: one[1]):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def join_axes(shape: Strides, arrays: Sequence[Strides]) -> tuple[list[int], list[list[int]]]:
    """Sizes of the joined axes, outermost first by the strides of the first array, and each array's strides."""
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in arrays]
    for axis in sorted((a for a in range(len(shape)) if shape[a] != 1), key=lambda a: -arrays[0][a]):
        steps = [of[axis] for of in arrays]
        if sizes and all(merged[-1] == step * shape[axis] for merged, step in zip(strides, steps, strict=True)):
            sizes[-1] *= shape[axis]
            for merged, step in zip(strides, steps, strict=True):
                merged[-1] = step
        else:
            sizes.append(shape[axis])
            for merged, step in zip(strides, steps, strict=True):
                merged.append(step)
    return (sizes, strides) if sizes else ([1], [[1] for _ in arrays])
