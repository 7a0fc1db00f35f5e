"""Steelyard: one evaluation system for vision models.

Truth hangs on one arm, predictions on the other, and out comes a number that says how sure it is.

>>> import steelyard as sy
>>> report = sy.evaluate("weights", truth, predictions)  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from steelyard.api import compare, draw, evaluate, metrics, use_threads
from steelyard.core.errors import InputError, SteelyardError
from steelyard.report.model import Comparison, Report
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.accumulator import Accumulator
    from steelyard.files import check, convert

__all__ = [
    "Accumulator",
    "Comparison",
    "InputError",
    "Report",
    "SteelyardError",
    "__version__",
    "check",
    "compare",
    "convert",
    "draw",
    "evaluate",
    "metrics",
    "use_threads",
]


def __getattr__(name: str) -> Any:
    """Look up when it is first asked for what most programs do not need: gathering batches, work on files."""
    if name == "Accumulator":
        from steelyard.accumulator import Accumulator

        return Accumulator
    if name in ("check", "convert"):
        from steelyard import files

        return getattr(files, name)
    raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
