"""The public functions: evaluate, compare, read, metrics. They tie the rooms together and hold no logic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from steelyard.core import catalogue
from steelyard.core.errors import Conflict, InvalidValue
from steelyard.core.metric import Metric
from steelyard.core.request import NOT_OF_READING, Metrics, Request, Settings, takes_settings
from steelyard.core.state import State
from steelyard.engine.report import report_of
from steelyard.engine.run import Measured, check_asked, expanded, measure_sides, metrics_of
from steelyard.engine.threads import use_threads
from steelyard.results.report import Report

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.gate import Gate
    from steelyard.results.plan import StudyPlan
    from steelyard.results.sets import Drift, Pool
    from steelyard.results.vlm import VlmScore

__all__ = ["compare", "compare_all", "evaluate", "label_next", "metrics", "read", "score", "use_threads"]


@takes_settings("adjust", "margin", "superiority")
def evaluate(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, *, proxy: Any = None,
    judge_correction: str = "difference", label_probability: str | None = None, runs: str | None = None,
    fixed: str | None = None, df: str | None = None, cov: str | None = None, like: str | None = None,
    **settings: Unpack[Settings],
) -> Report:  # fmt: skip
    """Score predictions against truth.

    `truth` and `predictions` are paths, data frames (pandas, polars, pyarrow) or dicts of arrays; without `predictions`
    the truth holds both sides. `by` names columns to slice by; an inner tuple crosses several. `confidence=None` makes
    no intervals. `missing` says what to do with truth that has no prediction: "error", "worst" or "skip"; `extra`
    likewise for predictions without truth: "error" or "skip"; "error" where nothing is said and the task has no other
    custom. `columns` renames: {"weight": "grams"}.
    `options` are the task's own: {"angle": "radians"}, or for one side {"truth.angle": "radians"}. `explain` names
    other tools ("pycocotools"): the report then says what they print for these data, and which setting moves it.
    `save_influences` keeps what each unit contributes to each score, so that finished results are compared, pooled
    and planned from without their data; `save_draws` keeps every score under the bootstrap draws.
    `cluster` names the column of units that are drawn together (the images of a video), and `strata` the column whose
    shares were fixed by design.
    `proxy` is for truth that only some units have: data like the truth, in which a judge or a cheap measurement stands
    for it on all units, or the name of a column of the truth that holds it. `judge_correction` "difference" takes its
    mean error out; "rates" is for labelled units that are no random part of all, and corrects a share of right units.
    `label_probability` names the truth's column of the probabilities with which `label_next` chose the labelled units.
    `runs` says that `predictions` is a list of runs, or a dict of runs by name: "seeds", "readers" or "replies"; with
    "annotators" `truth` is. Scores are means over runs, and intervals hold for other runs and units; `fixed` takes the
    "runs" or the "items" as given. `df`, `cov` and `like` are of reader studies: see docs/runs.md.
    `tags` ({"model": "small"}) are kept in the result, and `steelyard view` sorts and filters by them.
    """
    definition = catalogue.find_task(task)
    request = Request.of(definition.name, metrics, settings).with_runs(runs, False, fixed, df, cov, like)
    if proxy is not None or judge_correction != "difference" or label_probability is not None:
        from steelyard.engine.judged import evaluate_judged

        return evaluate_judged(request, truth, predictions, proxy, judge_correction, findings, label_probability)
    if request.runs is not None:
        from steelyard.engine.runs import evaluate_runs

        return evaluate_runs(request, truth, predictions, findings)
    check_asked(definition, request)
    data = measure_sides(definition, request, truth, predictions)
    return report_of(definition, request, data, findings(data, definition.name))


def findings(data: Measured, task: str) -> tuple[str, ...]:
    """What the quick checks say of data."""
    from steelyard.checks.quick import notes

    return data.notes + notes(catalogue.find_task(task), data.truth, data.prediction, data.pairs, data.options)


@takes_settings("explain", "save_draws")
def compare(
    task: str, truth: Any, predictions_a: Any, predictions_b: Any, metrics: Metrics = None, *,
    runs: str | None = None, pair_runs: bool = False, fixed: str | None = None, df: str | None = None,
    cov: str | None = None, like: str | None = None, proxy: Any = None, **settings: Unpack[Settings],
) -> Comparison:  # fmt: skip
    """Compare two models on the same truth, paired by unit. Differences are B minus A: A is the one to beat.

    The settings are those of `evaluate`. With `runs` both predictions are lists of runs, and the means over the runs
    are compared; `pair_runs` says that run k of both belongs together: one seed, split or reader.
    With `proxy` only some units need truth, as in `evaluate`.
    """
    request = Request.of(catalogue.find_task(task).name, metrics, settings)
    request = request.with_runs(runs, pair_runs, fixed, df, cov, like)
    if request.runs is not None:
        if proxy is not None:
            raise Conflict("several runs cannot be combined with a proxy", remedy="Leave one of them out.")
        from steelyard.engine.runs import compare_runs

        return compare_runs(request, truth, predictions_a, predictions_b, findings)
    return compare_all(task, truth, [predictions_a, predictions_b], metrics, proxy=proxy, **settings).comparisons[0]


@takes_settings("explain", "save_draws")
def compare_all(
    task: str, truth: Any, predictions: Sequence[Any] | Mapping[str, Any], metrics: Metrics = None, *,
    proxy: Any = None, **settings: Unpack[Settings],
) -> Lineup:  # fmt: skip
    """Compare two models or more on the same truth: each with the first, which is the one to beat.

    `predictions` is a list, or a dict whose keys are the models' names: {"base": a, "ours": b}. The settings are those
    of `evaluate`. `by` compares in slices too. p-values are corrected for all metrics and
    models shown, and in slices, metric by metric, for all slices and models: together by `adjust="max-t"`, or by
    "holm", "fdr" (a screening) or "none". `margin` says how much a metric may lose: {"map": 0.005}, or {"mae": "2%"}
    of A's value. `superiority` adds on how many units each model is better than the first, ties counting half.
    `proxy` is for truth that only some units have: a judge on all units, whose errors on the models are known from the
    labelled ones.
    """
    from steelyard.engine.judged import measure_compared
    from steelyard.engine.lineup import lineup
    from steelyard.engine.margins import by_metric, margins_of
    from steelyard.engine.names import named_models

    definition = catalogue.find_task(task)
    request = by_metric(Request.of(definition.name, metrics, settings))
    chosen = metrics_of(definition, request.metrics)
    each, names = named_models(predictions)
    if len(each) < 2:
        raise InvalidValue("a comparison needs two predictions or more", remedy="Name the one to beat first.")
    request, models, judged = measure_compared(definition, request, truth, each, proxy)
    chosen = expanded(definition, chosen, metrics is None, State.unified([m.state for m in models])[0])
    margins_of(request.margin, chosen)
    return lineup(
        definition, chosen, request, models, [findings(model, definition.name) for model in models], names, judged
    )


def label_next(
    predictions: Any, proxy: Any, budget: float, *, task: str | None = None, metric: str | None = None,
    id_column: str = "id", judge_probability: str = "probability", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Choose units to label: about `budget` of them, each by its own coin, so that the number is random.

    Without a task, `proxy` has the column `judge_probability`, how likely the judge takes a prediction to be right, and
    units that it is unsure of are chosen more often. With `task` and `metric`, `proxy` is data like the truth, and
    units whose score by the judge is far from the mean are. The result has the columns "id" and "probability"; keep the
    second beside the labels, and give its name to `evaluate` as `label_probability`. The gain over units chosen with
    equal probabilities is small.
    """
    from steelyard.engine.labelling import label_next as choose

    return choose(
        predictions, proxy, budget, task=task, metric=metric, id_column=id_column,
        judge_probability=judge_probability, seed=seed,
    )  # fmt: skip


def read(
    path: str | PathLike[str] | Mapping[str, Any],
) -> Report | Comparison | Lineup | VlmScore | Gate | StudyPlan | Pool | Drift:
    """Read a result that `to_json` wrote, of any kind: it is equal to the one that was written."""
    from steelyard.results.read import read_result

    return read_result(path)


@takes_settings(*NOT_OF_READING)
def score(task: str, truth: Any, predictions: Any, metric: str | Metric, **settings: Unpack[Settings]) -> float:
    """One metric as a plain number, without an interval: for loops and early stopping; nan where it is undefined.

    The settings are those of `evaluate` that say how data are read and joined.
    """
    settings["confidence"] = None
    scores = evaluate(task, truth, predictions, [metric], **settings).scores
    if len(scores) != 1:
        raise InvalidValue(f"'{metric}' is {len(scores)} numbers", remedy="Ask for one, or call evaluate.")
    return float(next(iter(scores.values())))


@takes_settings(*NOT_OF_READING)
def measure(
    task: str, truth: Any, predictions: Any = None, metrics: Metrics = None, **settings: Unpack[Settings]
) -> Measured:
    """Read, join and measure, for those who want to look at single units; the settings are those of `evaluate`."""
    definition = catalogue.find_task(task)
    return measure_sides(definition, Request.of(definition.name, metrics, settings), truth, predictions)


def metrics(task: str) -> tuple[Metric, ...]:
    """The catalogue of a task, as values."""
    return catalogue.metrics(task)
