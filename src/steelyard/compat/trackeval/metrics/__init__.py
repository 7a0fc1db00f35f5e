"""The metrics of TrackEval."""

from steelyard.compat.trackeval.metrics.clear import CLEAR
from steelyard.compat.trackeval.metrics.count import Count
from steelyard.compat.trackeval.metrics.hota import HOTA
from steelyard.compat.trackeval.metrics.identity import Identity
from steelyard.compat.trackeval.metrics.j_and_f import JAndF
from steelyard.compat.trackeval.metrics.track_map import TrackMAP
from steelyard.compat.trackeval.metrics.vace import VACE

__all__ = ["CLEAR", "HOTA", "VACE", "Count", "Identity", "JAndF", "TrackMAP"]
