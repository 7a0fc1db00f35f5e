"""Files of boxes in space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def columns(**changed: Any) -> dict[str, Any]:
    """One car and its columns as the drawn data have them."""
    one = {
        "frame": ["a"], "label": ["Car"], "x": [0.0], "y": [1.6], "z": [20.0], "length": [4.0], "width": [2.0],
        "height": [1.5], "yaw": [0.3], "left": [0.0], "top": [0.0], "right": [60.0], "bottom": [50.0], "alpha": [0.3],
    }  # fmt: skip
    return {**one, **changed}


def nuscenes_box(sample: str = "s", **changed: Any) -> dict[str, Any]:
    box = {
        "sample_token": sample, "translation": [10.0, 0.0, 1.0], "size": [2.0, 4.0, 1.5], "rotation": [1.0, 0, 0, 0],
        "velocity": [1.0, 0.0], "detection_name": "car", "attribute_name": "vehicle.moving",
    }  # fmt: skip
    return {**box, **changed}


def write_nuscenes(folder: Path, truth: Any, results: Any, **more: Any) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    (folder / "t.json").write_text(json.dumps({"meta": {}, "results": truth, **more}))
    (folder / "p.json").write_text(json.dumps({"meta": {}, "results": results}))
    return folder / "t.json", folder / "p.json"
