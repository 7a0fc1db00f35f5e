"""Task `disparity`: how far each pixel of one image lies to the side in the other image of a stereo pair.

Conventions
    The unit is the image. Values are in pixels and positive. Pixels without a truth count nowhere. What a missing
    estimate is, the option `holes` says; by default it is an outlier. Pixels are not independent, so intervals resample
    images.

Metrics
    `epe`, `rms`, `d1`, `bad@2`, `wauc`, `a@90` and `density`, of all pixels, of a region or of a range of disparities.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.fields.data import field_schemas
from steelyard.tasks.fields.metrics import DISPARITY_METRICS
from steelyard.tasks.fields.presets import DISPARITY_OPTIONS, disparity_defaults, join_disparity

TRUTH, PREDICTION = field_schemas("the disparity of each pixel")

TASK = Task(
    name="disparity",
    title="Stereo disparity",
    unit="image",
    item="map",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join_disparity,
    metrics=DISPARITY_METRICS,
    defaults=("epe", "d1", "bad@1", "bad@2", "density"),
    defaults_for=disparity_defaults,
    options=DISPARITY_OPTIONS,
    reader="fields",
    views="steelyard.tasks.disparity.views",
    checks="steelyard.tasks.disparity.checks",
    device="steelyard.tasks.disparity.device",
)
