"""Drop-in for `trackeval` (TrackEval): the same classes, configs, result dicts, files and printed tables."""

from steelyard.compat.trackeval import datasets, metrics, plotting, utils
from steelyard.compat.trackeval.eval import Evaluator

__version__ = "1.3.0"
__all__ = ["Evaluator", "datasets", "metrics", "plotting", "utils"]
