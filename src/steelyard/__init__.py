"""Steelyard scores predictions of vision models against ground truth, with a confidence interval on every number.

>>> import steelyard as sy
>>> report = sy.evaluate("weights", truth, predictions)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard import idle  # noqa: F401  # before anything else loads NumPy

# isort: split
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.api import (
        compare,
        evaluate,
        evaluate_with_proxy,
        explain,
        label_next,
        load,
        metrics,
        score,
        use_threads,
    )
    from steelyard.core.errors import InputError, SteelyardError
    from steelyard.core.progress import use_progress
    from steelyard.files import check, convert
    from steelyard.gating.drift import drift
    from steelyard.gating.gate import gate
    from steelyard.gating.plan import plan
    from steelyard.gating.pool import pool
    from steelyard.packs.verify import verify
    from steelyard.packs.write import pack
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
    "convert",
    "draw",
    "drift",
    "evaluate",
    "evaluate_shards",
    "evaluate_with_proxy",
    "explain",
    "gate",
    "label_next",
    "load",
    "metrics",
    "pack",
    "plan",
    "pool",
    "score",
    "use_progress",
    "use_threads",
    "verify",
]


# The module of each name, which is imported when the name is first used.
_MODULES = {
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
    "convert": "files",
    "draw": "pictures",
    "drift": "gating.drift",
    "evaluate": "api",
    "evaluate_shards": "scale.run",
    "evaluate_with_proxy": "api",
    "explain": "api",
    "gate": "gating.gate",
    "label_next": "api",
    "load": "api",
    "metrics": "api",
    "pack": "packs.write",
    "plan": "gating.plan",
    "pool": "gating.pool",
    "score": "api",
    "use_progress": "core.progress",
    "use_threads": "api",
    "verify": "packs.verify",
}
_DEPRECATED = {"compare_all": "api", "read": "api", "use_csv": "io.dialect"}


def __getattr__(name: str) -> Any:
    """Import a public name from its module, and keep it."""
    module = _MODULES.get(name) or _DEPRECATED.get(name)
    if module is None:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(f"steelyard.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
