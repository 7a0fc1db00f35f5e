"""Steelyard: one evaluation system for vision models.

Truth hangs on one arm, predictions on the other, and out comes a number that says how sure it is.

>>> import steelyard as sy
>>> report = sy.evaluate("weights", truth, predictions)  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from steelyard import idle  # noqa: F401  # before anything else loads NumPy

# isort: split
from steelyard.api import compare, compare_all, draw, evaluate, metrics, read, use_threads
from steelyard.core.errors import InputError, SteelyardError
from steelyard.results.comparison import Comparison
from steelyard.results.report import Report
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.accumulator import Accumulator
    from steelyard.files import check, convert
    from steelyard.gating.gate import gate
    from steelyard.results.gate import Gate

__all__ = [
    "Accumulator",
    "Comparison",
    "Gate",
    "InputError",
    "Report",
    "SteelyardError",
    "__version__",
    "check",
    "compare",
    "compare_all",
    "convert",
    "draw",
    "evaluate",
    "gate",
    "metrics",
    "read",
    "use_threads",
]


def __getattr__(name: str) -> Any:
    """Look up when it is first asked for what most programs do not need."""
    if name == "Accumulator":
        from steelyard.accumulator import Accumulator

        return Accumulator
    if name in ("check", "convert"):
        from steelyard import files

        return getattr(files, name)
    if name == "gate":
        from steelyard.gating.gate import gate

        return gate
    if name == "Gate":
        from steelyard.results.gate import Gate

        return Gate
    raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
