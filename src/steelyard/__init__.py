"""Steelyard: one evaluation system for vision models.

Truth hangs on one arm, predictions on the other, and out comes a number that says how sure it is.

>>> import steelyard as sy
>>> report = sy.evaluate("weights", truth, predictions)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard import idle  # noqa: F401  # before anything else loads NumPy

# isort: split
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.accumulator import Accumulator
    from steelyard.api import compare, compare_all, evaluate, metrics, read, score, use_threads
    from steelyard.core.errors import InputError, SteelyardError
    from steelyard.core.progress import use_progress
    from steelyard.files import check, convert
    from steelyard.gating.gate import gate
    from steelyard.io.dialect import use_csv
    from steelyard.pictures import draw
    from steelyard.results.comparison import Comparison
    from steelyard.results.gate import Gate
    from steelyard.results.report import Report

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
    "score",
    "use_csv",
    "use_progress",
    "use_threads",
]


# Where each name is: a program loads what it uses, when it first uses it.
_HOMES = {
    "Accumulator": "accumulator",
    "Comparison": "results.comparison",
    "Gate": "results.gate",
    "InputError": "core.errors",
    "Report": "results.report",
    "SteelyardError": "core.errors",
    "check": "files",
    "compare": "api",
    "compare_all": "api",
    "convert": "files",
    "draw": "pictures",
    "evaluate": "api",
    "gate": "gating.gate",
    "metrics": "api",
    "read": "api",
    "score": "api",
    "use_csv": "io.dialect",
    "use_progress": "core.progress",
    "use_threads": "api",
}


# A folder has the name of a function. An import sets it as an attribute once, which is now, and never again.
import_module("steelyard.metrics")
globals().pop("metrics")


def __getattr__(name: str) -> Any:
    """Load a name from its module, and keep it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(f"steelyard.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, those that are not loaded too."""
    return sorted({*globals(), *__all__})
