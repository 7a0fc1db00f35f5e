"""Task `distributions`: feature vectors of real and of generated images, compared as two sets.

Metrics
    Fréchet distances `fid`, `fid_corrected`, `fid_infinity`; kernels `kid`, `cmmd`; neighbours `precision`, `recall`,
    `density`, `coverage`; of generated images alone `inception_score`, `vendi`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Policy, Task
from steelyard.tasks.distributions.data import OPTIONS, PREDICTION, TRUTH, align_models, join
from steelyard.tasks.distributions.metrics import METRICS

FEATURES = ("fid", "fid_corrected", "kid", "precision", "recall", "density", "coverage")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the sets allow."""
    if "features" not in metadata.holds:
        return ("inception_score",)
    if "statistics" in metadata.holds:
        return ("fid",)
    return (*FEATURES, "inception_score") if "probabilities" in metadata.holds else FEATURES


TASK = Task(
    name="distributions",
    title="Generated images, as a set",
    unit="image",
    item="vector",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=FEATURES,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="distributions",
    views="steelyard.tasks.distributions.views",
    checks="steelyard.tasks.distributions.checks",
    device="steelyard.tasks.distributions.device",
    policy=Policy(),
    align=align_models,
)
