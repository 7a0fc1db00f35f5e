"""Task `depth`: the distance of each pixel.

Conventions
    The unit is the image; with align_per=sequence it is the sequence, since the error of a frame then depends on the
    others. Pixels count whose true depth is finite and between min and max, inside the crop and the mask. Order of
    work: resize, crop, align, clamp, compare. Pixels are not independent, so intervals resample images.

Metrics
    `abs_rel`, `rmse`, `silog`, `delta@1` and their family, by image or by pixel; edges; the spread of scales.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.depth.data import PREDICTION, TRUTH, join
from steelyard.tasks.depth.metrics import METRICS
from steelyard.tasks.depth.rules import OPTIONS
from steelyard.tasks.fields.options import COMMON

DEFAULTS = ("abs_rel", "rmse", "rmse_log", "silog", "delta@1", "delta@2", "delta@3")
_OF_PRESET = {
    "kitti_depth": ("silog(factor=1)", "abs_rel", "sq_rel(by=squared)", "mae", "rmse", "imae", "irmse"),
    "dav2": (
        "delta@1",
        "delta@2",
        "delta@3",
        "abs_rel",
        "sq_rel",
        "rmse",
        "rmse_log",
        "log10",
        "silog(weight=0.5, factor=1)",
    ),
    "midas": ("abs_rel", "delta_above@1", "rmse"),
}


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """The metrics of the preset; the spread of scales where predictions are aligned."""
    own = _OF_PRESET.get(metadata.flags["preset"], DEFAULTS)
    return own if metadata.flags["align"] == "none" else (*own, "scale_spread")


TASK = Task(
    name="depth",
    title="Monocular depth",
    unit="image",
    item="map",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=DEFAULTS,
    defaults_for=defaults_for,
    options=(*OPTIONS, *COMMON),
    reader="fields",
    views="steelyard.tasks.depth.views",
    checks="steelyard.tasks.depth.checks",
    device="steelyard.tasks.depth.device",
    spellings={
        "abs_relative_difference": "abs_rel",
        "rmse_linear": "rmse",
        "a1": "delta@1",
        "a2": "delta@2",
        "a3": "delta@3",
        "d1": "delta@1",
        "d2": "delta@2",
        "d3": "delta@3",
        "delta1": "delta@1",
        "delta2": "delta@2",
        "delta3": "delta@3",
        "delta1_acc": "delta@1",
        "delta2_acc": "delta@2",
        "delta3_acc": "delta@3",
        "silog_rmse": "silog",
    },
)
