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
    from steelyard.api import compare, compare_all, evaluate, label_next, metrics, read, score, use_threads
    from steelyard.core.errors import InputError, SteelyardError
    from steelyard.core.progress import use_progress
    from steelyard.files import check, convert
    from steelyard.gating.drift import drift
    from steelyard.gating.gate import gate
    from steelyard.gating.plan import plan
    from steelyard.gating.pool import pool
    from steelyard.io.dialect import use_csv
    from steelyard.partial.accumulator import Accumulator
    from steelyard.pictures import draw
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.gate import Gate
    from steelyard.results.report import Report
    from steelyard.results.score import Difference, Score
    from steelyard.scale.run import evaluate_shards

__all__ = [
    "Accumulator",
    "Comparison",
    "Difference",
    "Gate",
    "InputError",
    "Lineup",
    "Report",
    "Score",
    "SteelyardError",
    "__version__",
    "check",
    "compare",
    "compare_all",
    "convert",
    "draw",
    "drift",
    "evaluate",
    "evaluate_shards",
    "gate",
    "label_next",
    "metrics",
    "plan",
    "pool",
    "read",
    "score",
    "use_csv",
    "use_progress",
    "use_threads",
]


# Where each name is: a program loads what it uses, when it first uses it.
_HOMES = {
    "Accumulator": "partial.accumulator",
    "Comparison": "results.comparison",
    "Difference": "results.score",
    "Gate": "results.gate",
    "InputError": "core.errors",
    "Lineup": "results.comparison",
    "Report": "results.report",
    "Score": "results.score",
    "SteelyardError": "core.errors",
    "check": "files",
    "compare": "api",
    "compare_all": "api",
    "convert": "files",
    "draw": "pictures",
    "drift": "gating.drift",
    "evaluate": "api",
    "evaluate_shards": "scale.run",
    "gate": "gating.gate",
    "label_next": "api",
    "metrics": "api",
    "plan": "gating.plan",
    "pool": "gating.pool",
    "read": "api",
    "score": "api",
    "use_csv": "io.dialect",
    "use_progress": "core.progress",
    "use_threads": "api",
}


def __getattr__(name: str) -> Any:
    """Load a name from its module, and keep it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(f"steelyard.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
