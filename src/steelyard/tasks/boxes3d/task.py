"""Task `boxes3d`: boxes in space, by KITTI's and nuScenes' rules. Data: `data`, `pairs`; events: `statistics`.

Metrics
    `kitti_ap` by view, level and class, `aos`; `map` by the distance of centres, `mate`, `mase`, `maoe`, `mave`,
    `maae`, `nds`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.boxes3d.data import OPTIONS, PREDICTION, TRUTH
from steelyard.tasks.boxes3d.kitti import KITTI_METRICS
from steelyard.tasks.boxes3d.nuscenes import NUSCENES_METRICS
from steelyard.tasks.boxes3d.pairs import join
from steelyard.tasks.boxes3d.statistics import VIEWS

OF_NUSCENES = ("nds", "map", "mate", "mase", "maoe", "mave", "maae")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """KITTI's table by class where there are boxes in the image, else nuScenes' scores."""
    if metadata.flags["rules"] == "nuscenes":
        return OF_NUSCENES
    if "levels" not in metadata.holds:
        labels = metadata.axes["class"].display_names
        shown = [f"kitti_ap(level=all{place}, label={label})" for place in ("", ", view=bev") for label in labels]
        return ("map", "mate", "mase", "maoe", *(shown if "place" in metadata.holds else ()))
    specs = []
    for label in metadata.axes["class"].display_names:
        views = VIEWS[::-1] if "place" in metadata.holds else VIEWS[:1]
        specs += [_spec(views[0], level, label) for level in ("moderate", "easy", "hard")]
        specs += [_spec(view, "moderate", label) for view in views[1:]]
        specs += [f"aos(label={label})"] if "alpha" in metadata.holds else []
    return tuple(specs) or ("kitti_ap",)


def _spec(view: str, level: str, label: str) -> str:
    parts = [] if level == "moderate" else [f"level={level}"]
    parts += [f"label={label}"] + ([] if view == "3d" else [f"view={view}"])
    return f"kitti_ap({', '.join(parts)})"


TASK = Task(
    name="boxes3d",
    title="Boxes in space",
    unit="frame",
    item="box",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*KITTI_METRICS, *NUSCENES_METRICS),
    defaults=("kitti_ap", *OF_NUSCENES),
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="solid",
    views="steelyard.tasks.boxes3d.views",
    checks="steelyard.tasks.boxes3d.checks",
)
