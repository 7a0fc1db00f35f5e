"""What callbacks take as batches and as truth."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from support.refusal import refuses

from steelyard.integrations.batches import as_batch
from steelyard.integrations.ultralytics import Evaluation as OfUltralytics
from steelyard.partial.accumulator import Accumulator


def test_batches_of_columns_and_of_arrays() -> None:
    state = Accumulator("labels")
    columns = {"id": [1], "label": ["a"]}
    assert as_batch(state, columns, columns, None, 0, 0) == (columns, columns)
    with refuses("E-conflict", "arrays"):
        as_batch(state, columns, columns, [1], 0, 0)
    with refuses("E-unsupported", "arrays"):
        as_batch(Accumulator("captions"), ["a dog"], ["a cat"], None, 0, 0)


def test_truth_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"images": []}))
    validator = SimpleNamespace(jdict=[{}], names={0: "a"})
    with refuses("E-invalid-file", str(path)):
        OfUltralytics(path)(validator)
