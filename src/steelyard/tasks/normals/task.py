"""Task `normals`: the direction of the surface at each pixel.

Conventions
    The unit is the image. Pixels count whose true normal is finite and not zero, inside the mask. Vectors may have any
    length. Angles are in degrees, by atan2 in double precision. Pixels are not independent, so intervals resample
    images.

Metrics
    `angle`, `angle_median`, `angle_rmse` and `within@11.25`, over all pixels or as means of images.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.fields.options import COMMON
from steelyard.tasks.normals.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.normals.metrics import METRICS

TASK = Task(
    name="normals",
    title="Surface normals",
    unit="image",
    item="map",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=("angle", "angle_median", "angle_rmse", "within@11.25", "within@22.5", "within@30"),
    options=(*OPTIONS, *COMMON),
    reader="fields",
    views="steelyard.tasks.normals.views",
    checks="steelyard.tasks.normals.checks",
    device="steelyard.tasks.normals.device",
    spellings={
        "mean_angular_error": "angle",
        "median_angular_error": "angle_median",
        "rmse_angular_error": "angle_rmse",
        "sub5_error": "within@5",
        "sub7_5_error": "within@7.5",
        "sub11_25_error": "within@11.25",
        "sub22_5_error": "within@22.5",
        "sub30_error": "within@30",
    },
)
