"""Drawn data of every task: what the laws and many other tests are tested on.

Each module `drawn_*.py` beside this one has `DRAWN`: a `steelyard.testing.Drawn` by the name of its task. A new task
brings a module of its own; nothing here needs to know it. `VARIANTS`, where a module has it, are other forms of a
task's data and the metrics that they are drawn for.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from steelyard.testing import Drawn
from support.drawn_common import Data
from support.drawn_objects import draw_boxes, perfect_boxes

__all__ = ["DRAW", "DRAWN", "PERFECT", "VARIANTS", "Data", "draw_boxes", "perfect_boxes"]

_MODULES = [import_module(f"support.{path.stem}") for path in sorted(Path(__file__).parent.glob("drawn_*.py"))]
DRAWN: dict[str, Drawn] = {name: drawn for module in _MODULES for name, drawn in getattr(module, "DRAWN", {}).items()}
VARIANTS: dict[str, Any] = {
    name: variant for module in _MODULES for name, variant in getattr(module, "VARIANTS", {}).items()
}
DRAW = {name: drawn.draw for name, drawn in DRAWN.items()}
PERFECT = {name: drawn.perfect for name, drawn in DRAWN.items()}
