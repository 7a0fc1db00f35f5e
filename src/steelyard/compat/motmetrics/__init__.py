"""Drop-in for `motmetrics` (py-motmetrics): accumulators of events, and the metrics of them. It needs pandas."""

from steelyard.compat.motmetrics import distances, io, lap, metrics, utils
from steelyard.compat.motmetrics.mot import MOTAccumulator

__all__ = ["MOTAccumulator", "distances", "io", "lap", "metrics", "utils"]
__version__ = "1.4.0"
