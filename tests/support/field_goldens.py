"""Values of references for disparity and flow, and what evaluates the same arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy

Array = np.ndarray[Any, Any]
GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "fields.json").read_text(encoding="utf-8"))
CLOSE = 1e-6  # relative: the references compute in single precision


def numbers(values: Any, kind: Any = np.float32) -> Array:
    """An array of a file of goldens, where nan and inf are texts."""
    return np.array(values, dtype=object).astype(np.float64).astype(kind)


def scores(
    task: str,
    truth: Sequence[Array],
    predictions: Sequence[Array],
    specs: Sequence[str],
    masks: dict[str, Sequence[Array]] | None = None,
    **options: Any,
) -> dict[str, float]:
    """The scores of fields in memory; `masks` are the columns mask and region:NAME."""
    ids = list(range(len(truth)))
    options.setdefault("channels", "last")
    report = sy.evaluate(
        task,
        {"image": ids, "map": list(truth), **{name: list(parts) for name, parts in (masks or {}).items()}},
        {"image": ids, "map": list(predictions)},
        list(specs),
        options=options,
        confidence=None,
    )
    return {spec: report[spec].value for spec in specs}
