"""The public functions that evaluate and compare. They call the engine and hold no logic of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, overload

from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.deprecated import warn_renamed
from steelyard.core.errors import Conflict, InvalidSpec, InvalidValue
from steelyard.core.metric import Metric
from steelyard.core.request import NOT_OF_READING, Metrics, Request, Settings, takes_settings
from steelyard.core.state import State
from steelyard.engine.report import report_of
from steelyard.engine.run import Measured, check_asked, expand_metrics, measure_sides, metrics_of
from steelyard.engine.threads import use_threads
from steelyard.io.dialect import csv_dialect
from steelyard.results.report import Report

if TYPE_CHECKING:
    from steelyard.core.explanation import Explanation
    from steelyard.core.task import Task
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.gate import Gate
    from steelyard.results.plan import StudyPlan
    from steelyard.results.sets import Drift, Pool
    from steelyard.results.vlm import VlmScore

__all__ = [
    "compare",
    "compare_all",
    "evaluate",
    "evaluate_with_proxy",
    "explain",
    "label_next",
    "load",
    "metrics",
    "read",
    "score",
    "use_threads",
]


@takes_settings("adjust", "margin", "superiority")
def evaluate(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, *, proxy: Any = None,
    judge_correction: str = "difference", label_probability: str | None = None, runs: str | None = None,
    fixed: str | None = None, df: str | None = None, cov: str | None = None, like: str | None = None,
    **settings: Unpack[Settings],
) -> Report:  # fmt: skip
    """Score predictions against ground truth.

    `truth` and `predictions` are paths, data frames (pandas, polars, pyarrow), Arrow streams or dicts of arrays;
    without `predictions` the truth holds both sides. `metrics` are specs such as "mae" or "within@10"; without them the
    task's default set is computed. `by` names columns to slice by: "food", or "food,cut" to cross two; a tuple of names
    crosses them too.

    `confidence=None` computes no intervals. `cluster` names the column of units that are resampled together (the images
    of a video), and `strata` the column whose shares were fixed by design. `save_influences` stores what each unit
    contributes to each score, so that finished results can be compared, pooled and planned from without their data;
    `save_draws` stores every score under the bootstrap draws.

    `missing` is what to do with truth that has no prediction: "error", "worst" or "skip"; `extra` is the same for
    predictions without truth: "error" or "skip". Without them the task's default applies. `columns` renames columns:
    {"weight": "grams"}. `options` are the task's own: {"angle": "radians"}, or for one side {"truth.angle": "radians"}.
    `delimiter` (a character, or "semicolon", "tab", "pipe", ...) and `decimal` ("comma" or "point") set how text files
    are parsed, where the file does not show it. `tags` ({"model": "small"}) are stored in the result, and
    `steelyard view` sorts and filters by them.

    `runs` says that `predictions` is a list of runs, or a dict of runs by name: "seeds", "readers" or "replies"; with
    "annotators" `truth` is. Scores are means over runs, and intervals hold for other runs and units; `fixed` takes the
    "runs" or the "items" as given. `df`, `cov` and `like` are for reader studies: see docs/runs.md.
    `proxy`, `judge_correction` and `label_probability` are those of `evaluate_with_proxy`, and `explain` is that of
    `explain`.
    """
    definition = catalogue.find_task(task)
    with _dialect(settings):
        request = Request.of(definition.name, metrics, settings).with_runs(runs, False, fixed, df, cov, like)
        return evaluate_request(request, truth, predictions, proxy, judge_correction, label_probability)


def evaluate_request(
    request: Request,
    truth: Any,
    predictions: Any,
    proxy: Any = None,
    judge_correction: str = "difference",
    label_probability: str | None = None,
) -> Report:
    """What `evaluate` returns for a request, such as that of a stored result."""
    if proxy is not None or judge_correction != "difference" or label_probability is not None:
        from steelyard.engine.judged import evaluate_judged

        return evaluate_judged(request, truth, predictions, proxy, judge_correction, findings, label_probability)
    if request.runs is not None:
        from steelyard.engine.runs import evaluate_runs

        return evaluate_runs(request, truth, predictions, findings)
    definition = catalogue.find_task(request.task)
    check_asked(definition, request)
    data = measure_sides(definition, request, truth, predictions)
    return report_of(definition, request, data, findings(data, definition.name))


@takes_settings("adjust", "margin", "superiority", "explain", "save_draws", "sequence")
def evaluate_with_proxy(
    task: str, truth: Any, predictions: Any, proxy: Any, metrics: Metrics = None, *, correction: str = "difference",
    label_probability: str | None = None, **settings: Unpack[Settings],
) -> Report:  # fmt: skip
    """Score predictions where only some units have ground truth, with the help of a judge or a cheap measurement.

    `proxy` is data like the truth, in which the judge's values stand for it on all units, or the name of a column of
    the truth that holds them. `correction` "difference" subtracts the proxy's mean error; "rates" is for labelled units
    that are not a random sample of all, and corrects a proportion of correct units. `label_probability` names the
    column of the truth with the probabilities by which `label_next` chose the labelled units. The other settings are
    those of `evaluate`.
    """
    return evaluate(
        task, truth, predictions, metrics, proxy=proxy, judge_correction=correction,
        label_probability=label_probability, **settings,
    )  # fmt: skip


@takes_settings(*NOT_OF_READING)
def explain(
    task: str, truth: Any, predictions: Any, tools: Sequence[str] | str, **settings: Unpack[Settings]
) -> tuple[Explanation, ...]:
    """Explain why other tools print other numbers for the same data: one `Explanation` for each tool.

    `tools` are names such as "pycocotools", in a list or joined by commas. An explanation has the numbers of Steelyard
    (`ours`) and of the tool (`theirs`), and in `steps` what each setting of the tool changes alone. The other settings
    are those of `evaluate` that say how data are read and joined.
    """
    settings["confidence"] = None
    settings["explain"] = tools
    return evaluate(task, truth, predictions, **settings).explanations


def _dialect(settings: Settings) -> AbstractContextManager[None]:
    """Take out of the settings how text files are parsed, and parse them so inside the block."""
    return csv_dialect(settings.pop("delimiter", None), settings.pop("decimal", None))


def findings(data: Measured, task: str) -> tuple[str, ...]:
    """What the quick checks say of data."""
    from steelyard.checks.quick import notes

    return data.notes + notes(catalogue.find_task(task), data.truth, data.prediction, data.pairs, data.options)


@overload
def compare(
    task: str, truth: Any, predictions_a: Sequence[Any] | Mapping[str, Any], predictions_b: None = None,
    metrics: Metrics = None, *, proxy: Any = None, **settings: Unpack[Settings],
) -> Lineup: ...  # fmt: skip


@overload
def compare(
    task: str, truth: Any, predictions_a: Any, predictions_b: Any, metrics: Metrics = None, *,
    runs: str | None = None, pair_runs: bool = False, fixed: str | None = None, df: str | None = None,
    cov: str | None = None, like: str | None = None, proxy: Any = None, **settings: Unpack[Settings],
) -> Comparison: ...  # fmt: skip


@takes_settings("explain", "save_draws")
def compare(
    task: str, truth: Any, predictions_a: Any, predictions_b: Any = None, metrics: Metrics = None, *,
    runs: str | None = None, pair_runs: bool = False, fixed: str | None = None, df: str | None = None,
    cov: str | None = None, like: str | None = None, proxy: Any = None, **settings: Unpack[Settings],
) -> Comparison | Lineup:  # fmt: skip
    """Compare two or more models on the same truth, paired by unit.

    `compare(task, truth, a, b)` returns the `Comparison` of two models. `compare(task, truth, [a, b, c])`, or a dict
    whose keys are the names of the models ({"base": a, "ours": b}), returns a `Lineup`: each model against the first.
    Differences are B minus A: A, or the first model, is the baseline.

    The settings are those of `evaluate`; `by` compares in slices too. p-values are corrected for all metrics and models
    shown, and in slices, metric by metric, for all slices and models: together by `adjust="max-t"`, or by "holm", "fdr"
    (for screening) or "none". `margin` is how much a metric may lose: {"map": 0.005}, or {"mae": "2%"} of A's value.
    `superiority` adds on how many units each model is better than the baseline, where ties count half.
    With `proxy` only some units need truth, as in `evaluate_with_proxy`.
    With `runs` the predictions of two models are lists of runs, and the means over the runs are compared; `pair_runs`
    says that run k of both belongs together: one seed, split or reader.
    """
    with _dialect(settings):
        definition = catalogue.find_task(task)
        request = Request.of(definition.name, metrics, settings)
        request = request.with_runs(runs, pair_runs, fixed, df, cov, like)
        return compare_request(request, truth, predictions_a, predictions_b, proxy)


def compare_request(
    request: Request, truth: Any, predictions_a: Any, predictions_b: Any = None, proxy: Any = None
) -> Comparison | Lineup:
    """What `compare` returns for a request, such as that of a stored result."""
    if request.runs is not None:
        if proxy is not None:
            raise Conflict("`proxy` cannot be combined with `runs`", remedy="Leave one of them out.")
        if predictions_b is None:
            raise Conflict("`runs` compares two models", remedy="Leave `runs` out.")
        from steelyard.engine.runs import compare_runs

        return compare_runs(request, truth, predictions_a, predictions_b, findings)
    definition = catalogue.find_task(request.task)
    if predictions_b is None:
        return _lineup(definition, request, truth, predictions_a, proxy)
    return _lineup(definition, request, truth, [predictions_a, predictions_b], proxy).comparisons[0]


def _lineup(definition: Task, request: Request, truth: Any, predictions: Any, proxy: Any) -> Lineup:
    """Compare each model with the first."""
    from steelyard.engine.judged import measure_compared
    from steelyard.engine.lineup import lineup
    from steelyard.engine.margins import by_metric, margins_of
    from steelyard.engine.names import named_models

    request, by_default = by_metric(request), request.metrics is None
    chosen = metrics_of(definition, request.metrics)
    each, names = named_models(predictions)
    if len(each) < 2:
        raise InvalidValue("a comparison needs two models or more", remedy="Name the baseline first.")
    request, models, judged = measure_compared(definition, request, truth, each, proxy)
    chosen = expand_metrics(definition, chosen, by_default, State.unified([m.state for m in models])[0])
    margins_of(request.margin, chosen)
    return lineup(
        definition, chosen, request, models, [findings(model, definition.name) for model in models], names, judged
    )


@takes_settings("explain", "save_draws")
def compare_all(
    task: str, truth: Any, predictions: Sequence[Any] | Mapping[str, Any], metrics: Metrics = None, *,
    proxy: Any = None, **settings: Unpack[Settings],
) -> Lineup:  # fmt: skip
    """Deprecated: `compare` takes a list or a dict of models."""
    warn_renamed("steelyard.compare_all", "steelyard.compare with a list or a dict of models")
    return compare(task, truth, predictions, metrics=metrics, proxy=proxy, **settings)


def label_next(
    predictions: Any, proxy: Any, budget: float, *, task: str | None = None, metric: str | None = None,
    id_column: str = "id", judge_probability: str = "probability", seed: int = 0, delimiter: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Choose units to label: about `budget` of them, each by its own coin, so that the number is random.

    Without a task, `proxy` has the column `judge_probability`, how likely the judge takes a prediction to be right, and
    units that it is unsure of are chosen more often. With `task` and `metric`, `proxy` is data like the truth, and
    units whose score by the judge is far from the mean are. The result has the columns "id" and "probability"; keep the
    second beside the labels, and give its name to `evaluate` as `label_probability`. The gain over units chosen with
    equal probabilities is small. `delimiter` and `decimal` are those of `evaluate`.
    """
    from steelyard.engine.labelling import label_next as choose

    with csv_dialect(delimiter, decimal):
        return choose(
            predictions, proxy, budget, task=task, metric=metric, id_column=id_column,
            judge_probability=judge_probability, seed=seed,
        )  # fmt: skip


def load(
    path: str | PathLike[str] | Mapping[str, Any],
) -> Report | Comparison | Lineup | VlmScore | Gate | StudyPlan | Pool | Drift:
    """Load a result of any kind that `to_json` wrote: it is equal to the one that was written."""
    from steelyard.results.read import read_result

    return read_result(path)


def read(path: str | PathLike[str] | Mapping[str, Any]) -> Any:
    """Deprecated: use `load`."""
    warn_renamed("steelyard.read", "steelyard.load")
    return load(path)


@takes_settings(*NOT_OF_READING)
def score(task: str, truth: Any, predictions: Any, metric: str | Metric, **settings: Unpack[Settings]) -> float:
    """One metric as a plain number, without an interval: for loops and early stopping; nan where it is undefined.

    The settings are those of `evaluate` that say how data are read and joined.
    """
    settings["confidence"] = None
    if not isinstance(metric, str) and isinstance(metric, Sequence):
        raise InvalidSpec(f"score takes one metric, and {metric!r} are several", remedy="Call evaluate.")
    scores = evaluate(task, truth, predictions, [metric], **settings).scores
    if len(scores) != 1:
        raise InvalidSpec(f"'{metric}' is {count_text(len(scores), 'number')}", remedy="Ask for one, or call evaluate.")
    return float(next(iter(scores.values())))


@takes_settings(*NOT_OF_READING)
def measure(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, **settings: Unpack[Settings]
) -> Measured:
    """Read, join and measure, for those who want to look at single units; the settings are those of `evaluate`."""
    definition = catalogue.find_task(task)
    with _dialect(settings):
        return measure_sides(definition, Request.of(definition.name, metrics, settings), truth, predictions)


def metrics(task: str) -> tuple[Metric, ...]:
    """The catalogue of a task, as values."""
    return catalogue.metrics(task)
