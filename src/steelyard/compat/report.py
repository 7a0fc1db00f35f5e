"""Intervals and comparisons for what a drop-in has evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.core.errors import Conflict, Unsupported

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.report import Report


def report(evaluator: Any, *others: Any, **settings: Any) -> Report | Comparison | Lineup:
    """Score what an evaluator holds with `steelyard.evaluate`: every number with its confidence interval.

    With several evaluators of the same ground truth the models are compared, as by `steelyard.compare`. `settings` are
    those of these functions (`metrics=`, `by=`, `confidence=`, ...).
    """
    from steelyard import api

    task, truth, predictions, own = _inputs(evaluator)
    if not others:
        return api.evaluate(task, truth, predictions, **{**own, **settings})
    models = [predictions]
    for other in others:
        other_task, other_truth, other_predictions, _ = _inputs(other)
        if other_task != task or not (other_truth is truth or other_truth == truth):
            raise Conflict(
                "the evaluators have different ground truth",
                remedy="Give evaluators of the same ground truth, or report each by itself.",
            )
        models.append(other_predictions)
    return api.compare(task, truth, *(models if len(models) == 2 else [models]), **{**own, **settings})


def _inputs(evaluator: Any) -> tuple[str, Any, Any, dict[str, Any]]:
    """The arguments of `steelyard.evaluate` for the same data: task, ground truth, predictions, settings."""
    if not hasattr(evaluator, "steelyard_inputs"):
        raise Unsupported(
            f"{type(evaluator).__name__} is not an evaluator of a drop-in",
            remedy="Give an evaluator of a class that is imported from steelyard.compat, or after its install().",
        )
    inputs: tuple[str, Any, Any, dict[str, Any]] = evaluator.steelyard_inputs()
    return inputs
