"""The metrics of TrackEval."""

from steelyard.compat.trackeval.metrics.clear import CLEAR
from steelyard.compat.trackeval.metrics.count import Count
from steelyard.compat.trackeval.metrics.hota import HOTA
from steelyard.compat.trackeval.metrics.identity import Identity
from steelyard.compat.trackeval.metrics.vace import VACE

__all__ = ["CLEAR", "HOTA", "VACE", "Count", "Identity"]
