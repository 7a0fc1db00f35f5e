"""What tests of metrics ask for: joined data, and the words of what is refused."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

import steelyard as sy
from steelyard.core.task import Policy
from support import made


def pairs_of(task: str, truth: Any, predictions: Any, missing: Any = "error", **options: Any) -> Any:
    """Both sides, joined as the task joins them."""
    return made.pairs_of(task, truth, predictions, Policy(missing), **options)


def refusal(call: Callable[..., Any], *args: Any, **settings: Any) -> tuple[str, ...]:
    """What is refused, where it stands, and the remedy."""
    return tuple(made.refusal(call, *args, **settings))


def values_of(task: str, truth: Any, predictions: Any, metrics: list[str], **settings: Any) -> dict[str, float]:
    """The number of each metric, without intervals."""
    report = sy.evaluate(task, truth, predictions, metrics, confidence=None, **settings)
    return {name: score.value for name, score in report.scores.items()}


def pixels(png: str) -> list[list[str]]:
    """The colours of a picture, row by row."""
    grid = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"))
    return [["".join(f"{v:02x}" for v in pixel) for pixel in row.tolist()] for row in grid]
