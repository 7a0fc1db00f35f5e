"""What a picture of one unit shows, from the data to the scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.core import catalogue
from steelyard.core.errors import UnknownName, Unsupported, nearest
from steelyard.core.request import Request
from steelyard.core.scene import Scene
from steelyard.core.task import Task
from steelyard.engine.run import measure_sides, metrics_of


def scene_of(task: Task, request: Request, truth: Any, predictions: Any, unit: object, step: int | None) -> Scene:
    """The scene of a unit by its id, for the metric that is asked for; of a unit with many pictures, that of a step."""
    if task.scene is None:
        drawn = [name for name, other in catalogue.loaded_tasks()[0].items() if other.scene is not None]
        raise Unsupported(f"task '{task.name}' has no pictures", remedy=f"Tasks that have: {', '.join(drawn)}.")
    if step is not None and task.steps is None:
        raise Unsupported(f"a unit of task '{task.name}' has one picture", remedy="Leave the step out.")
    metric = metrics_of(task, list(request.metrics or task.defaults)[:1])[0]
    pairs = measure_sides(task, replace(request, metrics=(metric,)), truth, predictions).pairs
    place = {str(name): i for i, name in enumerate(pairs.units.tolist())}
    if str(unit) not in place:
        raise UnknownName(f"there is no {task.unit} '{unit}' in the truth", remedy=nearest(str(unit), place))
    return task.scene(pairs, place[str(unit)], metric, *([] if step is None else [step]))
