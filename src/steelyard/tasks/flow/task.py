"""Task `flow`: optical flow, the motion of each pixel between two images.

Conventions
    The unit is the image. Values are in pixels: u to the right, v down. Pixels without a truth count nowhere. What a
    missing estimate is, the option `holes` says; by default it is an outlier. Pixels are not independent, so intervals
    resample images.

Metrics
    `epe`, `rms`, `fl`, `bad@1`, `wauc`, `aae`, `a@90` and `density`, of all pixels, of a region or by speed.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.fields.data import field_schemas
from steelyard.tasks.fields.metrics import FLOW_METRICS
from steelyard.tasks.fields.presets import FLOW_OPTIONS, flow_defaults, join_flow

TRUTH, PREDICTION = field_schemas("the flow (u, v) of each pixel")

TASK = Task(
    name="flow",
    title="Optical flow",
    unit="image",
    item="map",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join_flow,
    metrics=FLOW_METRICS,
    defaults=("epe", "fl", "bad@1", "wauc"),
    defaults_for=flow_defaults,
    options=FLOW_OPTIONS,
    reader="fields",
    views="steelyard.tasks.flow.views",
    checks="steelyard.tasks.flow.checks",
    device="steelyard.tasks.flow.device",
)
