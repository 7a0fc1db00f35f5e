"""The public function `draw`: one unit as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core import catalogue
from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.io.dialect import csv_dialect


def draw(
    task: str, truth: Any, predictions: Any, unit: object, metric: str | Metric | None = None, *,
    step: int | None = None, columns: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None,
    delimiter: str | None = None, decimal: str | None = None,
) -> str:  # fmt: skip
    """Draw one unit (an image) as SVG text: truth, predictions, and how the metric pairs them.

    `step` picks one of the pictures of a unit that has many: a frame of a sequence. The other arguments are those of
    `evaluate`.
    """
    from steelyard.engine.picture import scene_of
    from steelyard.render.svg import scene_svg

    definition = catalogue.find_task(task)
    request = Request(
        definition.name, None if metric is None else (metric,), missing="worst" if definition.worst else "skip",
        extra="skip", columns=dict(columns or {}), options=dict(options or {}),
    )  # fmt: skip
    with csv_dialect(delimiter, decimal):
        return scene_svg(scene_of(definition, request, truth, predictions, unit, step))
