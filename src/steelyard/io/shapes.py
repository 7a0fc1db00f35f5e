"""One reader for each shape of data: how a task's source becomes records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.core.records import Records, Schema
from steelyard.io.boxes import read_boxes

Reader = Callable[[Any, Schema, Mapping[str, str], str], Records]

# Shapes other than plain rows, which `to_records` reads.
READERS: dict[str, Reader] = {"boxes": read_boxes}
