"""Task `images`: a restored, enlarged, compressed or rendered image against the image that it should be.

Metrics
    `psnr`, `ssim`, `ms_ssim` in the presets of the usual tools; `rmse`, `mae`, `nrmse`, `vif`, `gmsd`, `fsim`, `fsimc`,
    `uqi`, `ergas`, `sam`, `delta_e`; and `column(NAME)` for numbers that other programs computed.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.images.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.images.metrics import METRICS


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows: MS-SSIM too where all images are large enough."""
    return ("psnr", "ssim", "ms_ssim") if "large" in metadata.holds else ("psnr", "ssim")


TASK = Task(
    name="images",
    title="Images against a reference",
    unit="image",
    item="image",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=("psnr", "ssim"),
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="images",
    views="steelyard.tasks.images.views",
    checks="steelyard.tasks.images.checks",
    worst=False,
)
