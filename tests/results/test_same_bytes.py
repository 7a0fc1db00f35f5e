"""The same data give the same bytes on every Python, every NumPy and every machine.

tests/goldens/results holds what was written on Python 3.11. Where a release changes what results hold, write the files
again and look at the difference: python tests/results/test_same_bytes.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.figure import Listing
from steelyard.results.details_json import pack

GOLDENS = Path(__file__).parents[1] / "goldens" / "results"
TRUTH = {
    "dish": [f"dish{n:02}" for n in range(12)],
    "item": ["rice"] * 12,
    "weight": [10.0 * (n + 1) for n in range(12)],
    "meal": ["a", "b"] * 6,
}
PREDICTIONS = {
    "dish": TRUTH["dish"],
    "item": TRUTH["item"],
    "weight": [10.0 * (n + 1) + (n % 5) - 2 for n in range(12)],
}
LABELS = {"id": TRUTH["dish"], "label": ["cat", "dog", "cow"] * 4}
GUESSES = {"id": TRUTH["dish"], "label": ["cat", "dog", "dog"] * 4}
BOXES: dict[str, Any] = {
    "images": [{"id": n, "width": 64, "height": 64, "file_name": f"{n}.png"} for n in (1, 2, 3, 4)],
    "annotations": [
        {"id": n, "image_id": n, "category_id": 1, "bbox": [8, 8, 16, 16], "area": 256, "iscrowd": 0}
        for n in (1, 2, 3, 4)
    ],
    "categories": [{"id": 1, "name": "cup"}],
}
FOUND = [{"image_id": n, "category_id": 1, "bbox": [8, 8, 16, 16 - 4 * (n % 2)], "score": n / 8} for n in (1, 2, 3, 4)]
# Without intervals every number is a sum, a difference or a quotient: the same bits wherever IEEE 754 holds.
EXACT = {
    "weights": lambda: sy.evaluate("weights", TRUTH, PREDICTIONS, ["mae", "within@10"], by=["meal"], confidence=None),
    "labels": lambda: sy.evaluate("labels", LABELS, GUESSES, ["accuracy", "recall"], confidence=None),
    "boxes": lambda: sy.evaluate("boxes", BOXES, FOUND, ["map50", "recall"], confidence=None),
}
# With intervals, functions of the C library take part, which may differ in the last bit.
NEAR = {
    "weights_draws": lambda: sy.evaluate("weights", TRUTH, PREDICTIONS, ["mae"], draws=100, save_draws=True),
    "weights_interval": lambda: sy.evaluate("weights", TRUTH, PREDICTIONS, ["mae"], by=["meal"], draws=100),
}


def rounded(text: str) -> str:
    """The text with 12 digits of every fraction, and without the digest of all digits."""
    text = re.sub(r'\n  "digest": "[^"]*",', "", text)
    return re.sub(r"-?\d+\.\d+(?:e[-+]\d+)?", lambda match: f"{float(match[0]):.12g}", text)


def stored(name: str) -> str:
    return (GOLDENS / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXACT)
def test_bytes_of_results(name: str) -> None:
    assert EXACT[name]().to_json(details=name == "weights") == stored(name)


@pytest.mark.parametrize("name", NEAR)
def test_bytes_of_results_with_intervals(name: str) -> None:
    assert rounded(NEAR[name]().to_json()) == rounded(stored(name))


def test_bytes_of_a_packed_listing() -> None:
    """RFC 1952: magic, deflate, no flags, no time, no extra flags, Unix; `gzip.compress` of Python 3.13 says 'unknown'."""
    import base64

    raw = base64.b64decode(pack(Listing("rows", "All", {"x": np.arange(4)})))
    assert raw[:10].hex() == "1f8b0800" + "00000000" + "00" + "03"


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for name, make in EXACT.items():
        (GOLDENS / f"{name}.json").write_text(make().to_json(details=name == "weights"), encoding="utf-8")
    for name, make in NEAR.items():
        (GOLDENS / f"{name}.json").write_text(make().to_json(), encoding="utf-8")
