"""Steelyard: one evaluation system for vision models.

Truth hangs on one arm, predictions on the other, and out comes a number that says how sure it is.

>>> import steelyard as sy
>>> report = sy.evaluate("weights", truth, predictions)  # doctest: +SKIP
"""

from steelyard.accumulator import Accumulator
from steelyard.api import compare, draw, evaluate, metrics, use_threads
from steelyard.core.errors import InputError, SteelyardError
from steelyard.report.model import Comparison, Report
from steelyard.version import __version__

__all__ = [
    "Accumulator",
    "Comparison",
    "InputError",
    "Report",
    "SteelyardError",
    "__version__",
    "compare",
    "draw",
    "evaluate",
    "metrics",
    "use_threads",
]
