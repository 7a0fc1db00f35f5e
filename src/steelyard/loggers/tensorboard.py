"""Log a result to TensorBoard, through any writer that has `add_scalar`: PyTorch's, tensorboardX's, Lightning's."""

from __future__ import annotations

from typing import Any

from steelyard.loggers.flat import Result, flat, result_of


def log(result: Result, writer: Any, step: int | None = None, *, prefix: str = "") -> dict[str, float]:
    """Write every score as a scalar, and the table of scores as text; gives the scalars."""
    loaded = result_of(result)
    values = flat(loaded, prefix)
    for name, value in values.items():
        writer.add_scalar(name, value, step)
    if hasattr(writer, "add_text"):
        writer.add_text(f"{prefix}report", loaded.to_markdown(), step)
    return values
