"""Several runs over the same units: seeds of a recipe, readers of cases, annotators of a truth, repeated replies.

Runs and units are crossed random factors. Each run is scored alone: T_r is its value and psi_r the influences of the
units on it (`flips`), Sigma = psi psi' / (n (n - 1)). With `own` the mean of Sigma's diagonal and `both` that off it:

    V_items = sum Sigma / R^2       V_runs = var(T_r) / R       V_both = (own - both) / R
    V = V_runs + max(V_items - V_both, 0)
    df = V^2 / (V_runs^2 / (R - 1) + max(V_items - V_both, 0)^2 / (n - 1))

V_both is in V_items and in V_runs, so it is taken out once. For readers and cases V is Obuchowski and Rockette's, and
Hillis's degrees of freedom leave out the term of the units. Two models with runs of their own add V_runs and V_both;
where run k of both belongs together, the same formulas hold for the differences of the pairs. p is by Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, Incompatible, InputError, InvalidSetting, MissingData, Unmatched, first_few
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.request import Request, RunDesign
from steelyard.core.slice import Slice, slice_key
from steelyard.core.state import State, Totals
from steelyard.core.task import Task
from steelyard.core.weights import Floats
from steelyard.engine.common import joined_rows
from steelyard.engine.compare import pair_of
from steelyard.engine.families import UnjudgedDifference, judged_together
from steelyard.engine.flips import FlipTest, influence_of
from steelyard.engine.intervals import SAME, Estimate
from steelyard.engine.margins import by_metric, margins_of
from steelyard.engine.measure import measure_state, per_unit_state, reads_curve
from steelyard.engine.names import IN_MEMORY, named_models, stem, unique
from steelyard.engine.paired import MetricTraits, Pair, draw_cap
from steelyard.engine.quantiles import t_quantile, t_tail
from steelyard.engine.report import applied_request, notes_of, sources_of, task_facts
from steelyard.engine.run import Measured, expand_metrics, measure_sides, metrics_of, model_columns
from steelyard.engine.score import left_out_totals, left_rows, nothing_drawn, placements_of, remarks, sample_of, score
from steelyard.engine.sides import sides_of
from steelyard.engine.slices import paired_slices
from steelyard.io.digest import sha256
from steelyard.io.once import truth_read_once
from steelyard.io.streams import read_once
from steelyard.results.comparison import Comparison
from steelyard.results.origin import Model, ModelRun, SourceInfo, Sources
from steelyard.results.report import Report
from steelyard.results.score import Difference, RunSpread, Score

ONLY_SPREAD = 2  # runs: their spread is known, but an interval would rest on one degree of freedom
FEW_RUNS = 4  # up to so many, intervals tend to be too narrow where runs vary strongly
TOO_FEW = "too few runs"
WORDS = {"seeds": "seed", "readers": "reader", "annotators": "annotator", "replies": "reply"}
Findings = Callable[[Measured, str], tuple[str, ...]]


class Crossed(Frozen):
    """The parts of the variance of a mean over runs, or of a sum of such means.

    `runs` and `units` are R and n; `df_runs` are the degrees of freedom of `v_runs`.
    """

    value: float
    v_items: float
    v_runs: float
    v_both: float
    df_runs: float
    runs: int
    units: int

    @property
    def from_items(self) -> float:
        """The variance that units make, without their interaction with runs."""
        return max(self.v_items - self.v_both, 0.0)

    def estimate_variance(self, design: RunDesign) -> tuple[float, float]:
        """The variance, and its degrees of freedom."""
        if design.fixed == "runs":
            return self.v_items, self.units - 1
        if design.fixed == "items":
            return self.v_runs, self.df_runs
        total = self.v_runs + self.from_items
        parts = self.v_runs**2 / self.df_runs
        if design.df == "satterthwaite":
            parts += self.from_items**2 / (self.units - 1)
        return total, total**2 / parts if parts > 0 else math.inf


def crossed_variance(groups: Sequence[tuple[Floats, Floats]]) -> Crossed:
    """The parts of the variance of a sum of means, from the values (R) and influences (R x n) of each group of runs."""
    v_runs = v_both = value = terms = 0.0
    total = np.zeros(groups[0][1].shape[1])
    n = len(total)
    for values, psi in groups:
        runs = len(values)
        sigma = psi @ psi.T / (n * (n - 1))
        own = float(np.trace(sigma)) / runs
        both = (float(sigma.sum()) - float(np.trace(sigma))) / (runs * (runs - 1))
        alike = float(np.ptp(values)) <= SAME * float(np.abs(values).max())  # rounding is not spread
        between = 0.0 if alike else float(values.var(ddof=1)) / runs
        v_runs, v_both, value = v_runs + between, v_both + (own - both) / runs, value + float(values.mean())
        terms += between**2 / (runs - 1)
        total = total + psi.mean(axis=0)
    counts = [len(values) for values, _ in groups]
    df_runs = v_runs**2 / terms if terms > 0 else float(min(counts) - 1)
    return Crossed(value, float((total**2).sum()) / (n * (n - 1)), v_runs, v_both, df_runs, min(counts), n)


class RunSide(Frozen):
    """One run: its state, its scores without intervals, and the influences of the units on each metric."""

    state: State
    scores: dict[str, Score]
    psi: dict[Metric, tuple[Floats, int]]
    request: Request

    @cached_property
    def _resampled_totals(self) -> Totals:
        return Totals(self.state, self.request.plan.bind(self.state.units))

    def value(self, metric: Metric) -> float:
        """The run's value."""
        return self.scores[str(metric)].value

    def draws(self, metric: Metric) -> Floats:
        """The run's values under the bootstrap draws, which all runs share."""
        return self._resampled_totals.of(metric)


def run_sides(states: Sequence[State], metrics: Sequence[Metric], request: Request) -> list[RunSide]:
    """The sides of states that list the same units."""
    design = request.runs
    assert design is not None
    sides = []
    for state in states:
        plain, leave_one_out = state.totals(POINT), left_out_totals(state)
        assert leave_one_out is not None  # the units are listed
        scores = score(state, metrics, replace(request, confidence=None), plain=plain)
        psi: dict[Metric, tuple[Floats, int]] = {}
        if state.units.n_resampled > 1:
            for metric in metrics:
                if design.covariance == "delong":
                    psi[metric] = (_placement_influences(metric, state), 0)
                else:
                    psi[metric] = influence_of(left_rows(state.units, leave_one_out.of(metric)))
        sides.append(RunSide(state, scores, psi, request))
    return sides


def _placement_influences(metric: Metric, state: State) -> Floats:
    """Influences whose covariance over units is that of DeLong: the placements, each class by its own number."""
    placements = placements_of(metric, state)
    placed = None if placements is None else placements.values
    if placed is None:
        raise InvalidSetting(
            f"cov='delong' needs an area under the ROC curve of single units without weights, which '{metric}' is not",
            remedy="Ask for roc_auc alone, or leave cov out.",
        )
    n = sum(map(len, placed))
    if min(map(len, placed)) < 2:
        raise MissingData(f"cov='delong' of '{metric}' needs two units of each class", remedy="Leave cov out.")
    return np.concatenate([(v - v.mean()) * math.sqrt(n * (n - 1) / (len(v) * (len(v) - 1))) for v in placed])


class CrossedRuns(Frozen):
    """The runs of one model, which are scored together."""

    sides: tuple[RunSide, ...]
    names: tuple[str, ...]
    design: RunDesign

    def values(self, metric: Metric) -> Floats:
        """The value of each run."""
        return np.array([side.value(metric) for side in self.sides])

    def psi(self, metric: Metric) -> Floats:
        """The influences of the units on each run."""
        return np.stack([side.psi[metric][0] for side in self.sides])

    def count_lost_units(self, metric: Metric) -> int:
        """How many units have no influence, since a run has no value without them."""
        return max(side.psi[metric][1] for side in self.sides)

    def draws(self, metric: Metric) -> Floats:
        """The mean of the runs under the bootstrap draws."""
        return np.asarray(np.mean([side.draws(metric) for side in self.sides], axis=0))

    def mean(self, metric: Metric) -> float:
        """The mean of the runs; nan where one has no value."""
        values = self.values(metric)
        return math.nan if np.isnan(values).any() else math.fsum(values) / len(values)

    def scores(self, metrics: Sequence[Metric], request: Request) -> dict[str, Score]:
        """The mean over the runs, metric by metric."""
        return {str(metric): self._score(metric, request) for metric in metrics}

    def _score(self, metric: Metric, request: Request) -> Score:
        each = [side.scores[str(metric)] for side in self.sides]
        units = self.sides[0].state.units
        undefined = next((i for i, one in enumerate(each) if not one.defined), None)
        mean = replace(
            each[0],
            value=self.mean(metric),
            undefined_reason=""
            if undefined is None
            else f"{self.names[undefined]} has no value: {each[undefined].undefined_reason}",
            n_excluded=max(one.n_excluded for one in each),
            excluded=next((one.excluded for one in each if one.excluded), ""),
            notes=tuple(dict.fromkeys(note for one in each for note in one.notes)),
        )
        if undefined is not None or units.n_resampled < 2:
            return replace(mean, notes=(*mean.notes, *remarks(str(metric), nothing_drawn(units, request))))
        parts = crossed_variance([self._scaled_influences(metric)])
        estimate = Estimate() if request.confidence is None or metric.total else self._estimate(metric, parts, request)
        return replace(
            mean,
            notes=(*mean.notes, *remarks(str(metric), estimate)),
            interval=estimate.interval,
            se=estimate.se,
            df=estimate.df,
            why_no_interval=estimate.undefined_reason,
            runs=spread_of(self.design, parts, self.values(metric), units.n_resampled),
        )

    def _scaled_influences(self, metric: Metric) -> tuple[Floats, Floats]:
        """The values and the influences, which are too large for ranked metrics and are held against the draws."""
        values, psi = self.values(metric), self.psi(metric)
        mean = psi.mean(axis=0)
        return values, psi * cap(metric, self.sides[0].state, mean, lambda: self.draws(metric))

    def _estimate(self, metric: Metric, parts: Crossed, request: Request) -> Estimate:
        assert request.confidence is not None
        if no_spread(parts, self.values(metric), self.design):
            only = score(self.sides[0].state, [metric], request)[str(metric)]
            return Estimate(only.interval, only.se, only.df, only.why_no_interval)
        return estimate_of(
            self.mean(metric), parts, self.design, metric.range, request.confidence, self.count_lost_units(metric)
        )


def cap(metric: Metric, state: State, psi: Floats, draws: Callable[[], Floats]) -> float:
    """By how much the jackknife is too large for a ranked metric; that of an area under the ROC curve is right."""
    n = len(psi)
    se = math.sqrt(float((psi**2).sum()) / (n * (n - 1)))
    return 1.0 if placements_of(metric, state) is not None else draw_cap(reads_curve(metric), se, draws)


def no_spread(parts: Crossed, values: Floats, design: RunDesign) -> bool:
    """Whether neither enough runs nor units move a value, up to rounding, so that it is that of one run."""
    if design.fixed == "items" or (parts.runs <= ONLY_SPREAD and design.fixed is None):
        return False
    return parts.v_runs + parts.v_items <= (SAME * float(np.abs(values).max(initial=0.0))) ** 2


def estimate_of(
    value: float, parts: Crossed, design: RunDesign, bounds: tuple[float, float], confidence: float, lost: int
) -> Estimate:
    """The interval by Student's t, inside the range."""
    if parts.runs <= ONLY_SPREAD and design.fixed != "runs":
        named = count_text(parts.runs, WORDS[design.factor])
        return Estimate(undefined_reason=f"{named} show only the spread between them; use 3 or more")
    variance, df = parts.estimate_variance(design)
    if variance <= 0:
        return Estimate(None, 0.0, df, f"all {count_text(parts.runs, WORDS[design.factor])} agree")
    se = math.sqrt(variance)
    reach = t_quantile((1 + confidence) / 2, df) * se
    notes = (f"has no value without {lost:,} of {parts.units:,} units; their influence is taken as 0",) if lost else ()
    return Estimate((max(value - reach, bounds[0]), min(value + reach, bounds[1])), se, df, notes=notes)


def spread_of(design: RunDesign, parts: Crossed, values: Sequence[float] | Floats, units: int) -> RunSpread:
    """What a result keeps of several runs."""
    shown = tuple(map(float, values))
    return RunSpread(design.factor, shown, parts.runs, units, parts.v_items, parts.v_runs, parts.v_both)


class CrossedPair(Pair):
    """One metric of two models with several runs each."""

    def __init__(self, metric: Metric, first: CrossedRuns, second: CrossedRuns, request: Request) -> None:
        self.models, self.request, self.design = (first, second), request, first.design
        self.metric, self.facts = metric, MetricTraits.of(metric)
        self.confidence = request.level
        self.best = {"zero": 0.0, "one": 1.0}.get(metric.better)
        self.a, self.b = (model.mean(metric) - (self.best or 0.0) for model in self.models)
        self.width = metric.range[1] - metric.range[0]

    def parts(self, times: float = -1.0) -> tuple[Crossed, Floats]:
        """The parts of the variance of B plus `times` A, and the values of the pairs of runs, where they are paired."""
        first, second = self.models
        psi = second.psi(self.metric).mean(axis=0) + times * first.psi(self.metric).mean(axis=0)
        factor = cap(self.metric, first.sides[0].state, psi, lambda: self.draws(times))
        groups = [(one.values(self.metric), factor * one.psi(self.metric)) for one in (first, second)]
        if not self.design.paired:
            return crossed_variance([groups[1], (times * groups[0][0], times * groups[0][1])]), np.zeros(0)
        joined = [own + times * other for own, other in zip(groups[1], groups[0], strict=True)]
        return crossed_variance([(joined[0], joined[1])]), joined[0]

    def draws(self, times: float) -> Floats:
        """The mean of B plus `times` that of A under the bootstrap draws."""
        first, second = (model.draws(self.metric) for model in self.models)
        return second + times * first

    def signed_estimate(self, times: float, shift: float = 0.0) -> tuple[Estimate, FlipTest]:
        """B plus `times` A less a shift, by Student's t; where nothing varies, as one run of each is compared."""
        difference = self.b + times * self.a - shift
        parts, _ = self.parts(times)
        every = np.concatenate([model.values(self.metric) for model in self.models])
        if no_spread(parts, every, self.design):
            sides = sides_of([model.sides[0].state for model in self.models], [self.metric], self.request)
            pair = pair_of(self.metric, sides[0], sides[1], sample_of(sides[0].state.units), self.confidence)
            pair.a, pair.b = self.a, self.b
            return pair.signed_estimate(times, shift)
        far = (1 + abs(times)) / 2 * self.width
        lost = max(model.count_lost_units(self.metric) for model in self.models)
        estimate = estimate_of(difference, parts, self.design, (-far - shift, far - shift), self.confidence, lost)
        p = t_tail(difference / estimate.se, estimate.df) if estimate.se > 0 else math.nan
        size, spread = abs(difference), max(estimate.se, 0.0) if estimate.se == estimate.se else 0.0
        return estimate, FlipTest(difference, p, "t", estimate.interval, np.zeros(0), size, spread, math.nan)


def null_hypothesis(metric: Metric, design: RunDesign) -> str:
    """What the p of a comparison of runs tests, in one line."""
    populations = {
        None: f"in the populations of {design.factor} and units",
        "runs": f"with these {design.factor}, in the population of units",
        "items": f"on these units, in the population of {design.factor}",
    }[design.fixed]
    if metric.better in ("zero", "one"):
        best = "0" if metric.better == "zero" else "1"
        return f"both models have the same distance of mean {metric} from {best} {populations}"
    return f"both models have the same mean {metric} {populations}"


def compare_crossed(
    first: CrossedRuns, second: CrossedRuns, metrics: Sequence[Metric], request: Request
) -> dict[str, UnjudgedDifference]:
    """B against A, metric by metric, not judged yet. No worlds are flipped, so a family is corrected by Holm."""
    units = first.sides[0].state.units
    scores = [model.scores(metrics, request) for model in (first, second)]
    margins = margins_of({spec: m for spec, m in request.margin.items() if spec in set(map(str, metrics))}, metrics)
    differences = {}
    for metric in metrics:
        spec, pair = str(metric), CrossedPair(metric, first, second, request)
        estimate, p, method, spread = Estimate(), math.nan, "", None
        if units.n_resampled < 2:
            estimate = nothing_drawn(units, request)
        elif not math.isnan(pair.difference):
            estimate, test = pair.estimate_difference()
            p, method = test.p, test.method
            parts, values = pair.parts()
            spread = spread_of(first.design, parts, values, units.n_resampled)
            if metric.total:
                estimate = Estimate()
        null = null_hypothesis(metric, first.design)
        difference = pair.difference_of_scores(scores[0][spec], scores[1][spec], estimate, p, method, null)
        shown = replace(difference, runs=spread, **pair.margin(margins.get(spec), estimate))
        differences[spec] = UnjudgedDifference(shown)
    return differences


def _verdicts(differences: Mapping[str, Difference], design: RunDesign) -> dict[str, Difference]:
    """The verdicts, where two runs cannot show anything and are not undefined."""

    def too_few(d: Difference) -> bool:
        return d.runs is not None and d.runs.n_runs <= ONLY_SPREAD and design.fixed != "runs" and math.isnan(d.p)

    return {spec: replace(d, verdict=TOO_FEW) if too_few(d) else d for spec, d in differences.items()}


class RunData(Frozen):
    """The runs of one model as they were read and measured, and what they are called."""

    data: tuple[Measured, ...]
    names: tuple[str, ...]

    def sources(self, design: RunDesign) -> Sources:
        """What was read: the runs one by one, and all of them as one side."""
        each = [sources_of(one) for one in self.data]
        own = [one.truth if design.factor == "annotators" else one.predictions for one in each]
        total = sha256()
        total.update("\n".join(side.digest for side in own).encode("ascii"))
        joined = SourceInfo(
            _pattern([side.source for side in own], design),
            sum(side.rows for side in own),
            f"sha256:{total.hexdigest()}",
        )
        runs = tuple(
            ModelRun(name, side.source, side.rows, side.digest) for name, side in zip(self.names, own, strict=True)
        )
        if design.factor == "annotators":
            return replace(each[0], truth=joined, runs=runs)
        return replace(each[0], predictions=joined, runs=runs)


def _pattern(sources: Sequence[str], design: RunDesign) -> str:
    """One text for the sources of all runs: what they share, with a star for the rest."""
    head = _common(sources)
    tail = _common([source[len(head) :][::-1] for source in sources])[::-1]
    if len(set(sources)) == 1 or not (head or tail):
        return f"{count_text(len(sources), WORDS[design.factor])} in memory"
    return f"{head}*{tail}"


def _common(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    same = [len(set(marks)) == 1 for marks in zip(*texts, strict=False)]
    return texts[0][: (*same, False).index(False)]


def measure_runs(
    task: Task, request: Request, truth: Any, predictions: Any, findings: Findings, place: int = 0, models: int = 1
) -> tuple[RunData, tuple[str, ...]]:
    """Read and measure each run of a model, and what the checks say of the first and of the others."""
    design = request.runs
    assert design is not None
    by_truth = design.factor == "annotators"
    word, what = WORDS[design.factor], "truths" if by_truth else "predictions"
    runs = truth if by_truth else predictions
    if not isinstance(runs, list | tuple | Mapping):
        raise InvalidSetting(
            f"runs='{design.factor}' needs {what} of several {design.factor}", remedy=f"Give a list of {what}."
        )
    each, names = named_models(runs)
    if len(each) < 2:
        raise InvalidSetting(
            f"runs='{design.factor}' needs at least 2 {design.factor}, and there is {len(each)}",
            remedy=f"Give more {what}, or leave runs out.",
        )
    columns = request.columns if models == 1 else model_columns(request.columns, place, models)
    own = replace(request, columns=columns)
    predictions = read_once(predictions, "predictions") if by_truth else predictions
    data: list[Measured] = []
    notes: list[str] = []
    with truth_read_once():
        for i, run in enumerate(each):
            called = f"{word} {i + 1}" if names is None else f"{word} '{names[i]}'"
            called += "" if models == 1 else f" of {'AB'[place]}"
            try:
                data.append(measure_sides(task, own, *((run, predictions) if by_truth else (truth, run))))
            except InputError as error:
                raise type(error)(f"{called}: {error.what}", where=error.where, remedy=error.remedy) from None
            notes += findings(data[-1], task.name)
    if names is None:
        sources = [(run.truth if by_truth else run.prediction).source for run in data]
        stems = [stem(source) for source in sources]
        in_memory = set(sources) <= {IN_MEMORY, "truth"}
        names = [f"{word} {i + 1}" for i in range(len(data))] if in_memory else unique(stems, sources)
    return RunData(tuple(data), tuple(names)), tuple(dict.fromkeys(notes))


def check_same(task: Task, request: Request, runs: Sequence[tuple[str, Measured]]) -> None:
    """Raise where a run is not of the same units as the first; the message names them."""
    design = request.runs
    assert design is not None
    first_name, first = runs[0]
    for name, run in runs:
        if design.factor == "readers" and run.coverage.missing:
            raise Unmatched(
                f"reader '{name}' lacks a reading of {count_text(run.coverage.missing, task.item)}",
                where=run.prediction.source,
                remedy="Every reader must read every case.",
            )
    sets: list[set[tuple[str, ...]]] = [{(str(unit),) for unit in run.pairs.units.tolist()} for _, run in runs]
    word, lacks = task.unit, any(run.coverage.missing for _, run in runs)
    if lacks and design.factor != "annotators" and request.policy(task).missing == "skip":
        sets, word = [joined_rows(task, run.pairs) for _, run in runs], task.item
    for (name, run), keys in zip(runs[1:], sets[1:], strict=True):
        for lacking, (poor, rich) in ((sets[0] - keys, (name, first_name)), (keys - sets[0], (first_name, name))):
            if lacking:
                shown = first_few(sorted("/".join(key) for key in lacking))
                raise Unmatched(
                    f"run '{poor}' lacks {count_text(len(lacking), word)} of run '{rich}': {shown}",
                    where=(run if poor == name else first).prediction.source,
                    remedy=f"All runs must be scored on the same {count_text(2, word).partition(' ')[2]}.",
                )
        mine, theirs = run.state.units, first.state.units
        if not mine.deduplicated and not theirs.deduplicated and (mine.own != theirs.own).any():
            raise Incompatible(
                f"run '{name}' has other weights of units than run '{first_name}'", remedy="Give both the same weights."
            )


def _check_request(request: Request) -> None:
    """Refuse what cannot be combined with several runs."""
    design = request.runs
    assert design is not None
    together = {
        "`sequence`": request.sequence is not None,
        "`superiority`": request.superiority,
        "`save_draws`": request.save_draws,
        "`save_influences`": request.save_influences,
        "`explain`": bool(request.explain),
        "`by`": bool(request.by) and request.runs is not None and request.runs.factor == "annotators",
    }
    for name, asked in together.items():
        if asked:
            raise Conflict(f"`runs` cannot be combined with {name}", remedy="Leave one of them out.")


def _notes(design: RunDesign, counts: Sequence[int]) -> list[str]:
    """What a reader of few runs must know."""
    runs = min(counts)
    if design.fixed == "runs" or not ONLY_SPREAD < runs <= FEW_RUNS:
        return []
    return [
        f"Only {count_text(runs, WORDS[design.factor])}: where {design.factor} vary strongly, 95 % intervals of 3 runs "
        "covered 87.5 % in simulations. Use 5 or more."
    ]


def _states(
    task: Task, request: Request, models: Sequence[RunData], chosen: Sequence[Metric]
) -> tuple[list[tuple[Any, State]], list[Metric]]:
    """The pairs and listed states of all runs, and the metrics that the choice comes to."""
    every = [one for model in models for one in model.data]
    unified = State.unified([one.state for one in every])
    metrics = expand_metrics(task, chosen, request.metrics is None, unified[0])
    states = State.unified([per_unit_state(one.pairs, one.state, metrics) for one in every])
    return [(one.pairs, state) for one, state in zip(every, states, strict=True)], metrics


def _runs_by_model(
    states: Sequence[State], models: Sequence[RunData], metrics: Sequence[Metric], request: Request
) -> list[CrossedRuns]:
    """The states of all runs, scored, by model."""
    design = request.runs
    assert design is not None
    sides, start, grouped = run_sides(State.unified(states), metrics, request), 0, []
    for model in models:
        stop = start + len(model.data)
        grouped.append(CrossedRuns(tuple(sides[start:stop]), model.names, design))
        start = stop
    return grouped


def _runs_by_slice(
    task: Task, request: Request, pairs: Sequence[tuple[Any, State]], models: Sequence[RunData],
    metrics: Sequence[Metric],
) -> dict[Slice, dict[Slice, list[CrossedRuns]]]:  # fmt: skip
    """The runs of each slice."""

    def measure(part: Any) -> State:
        return per_unit_state(part, measure_state(part, metrics), metrics)

    return {
        slice_key(names): {
            slice_key(value): _runs_by_model(parts, models, metrics, request)
            for value, parts in paired_slices(pairs, names, measure, task).items()
        }
        for names in request.by
    }


def evaluate_runs(request: Request, truth: Any, predictions: Any, findings: Findings) -> Report:
    """The report of several runs of one model; `findings` are what the checks say of data."""
    task, design = catalogue.find_task(request.task), request.runs
    assert design is not None
    _check_request(request)
    chosen = metrics_of(task, request.metrics)
    model, remarks = measure_runs(task, request, truth, predictions, findings)
    check_same(task, request, list(zip(model.names, model.data, strict=True)))
    request = replace(request, cluster=model.data[0].cluster)
    pairs, metrics = _states(task, request, [model], chosen)
    whole = _runs_by_model([state for _, state in pairs], [model], metrics, request)[0]
    sliced = _runs_by_slice(task, request, pairs, [model], metrics)
    first = model.data[0]
    return Report(
        request=applied_request(task, request, metrics, first.options.given),
        task_facts=task_facts(task),
        scores=whole.scores(metrics, request),
        slices={
            by: {value: runs[0].scores(metrics, request) for value, runs in parts.items()}
            for by, parts in sliced.items()
        },
        coverage=first.coverage,
        sources=model.sources(design),
        notes=tuple(
            dict.fromkeys(
                (
                    *getattr(first.truth, "notes", ()),
                    *remarks,
                    *notes_of(task, pairs[0][1], request),
                    *_notes(design, [len(model.data)]),
                )
            )
        ),
    )


def compare_runs(request: Request, truth: Any, runs_a: Any, runs_b: Any, findings: Findings) -> Comparison:
    """The comparison of two models with several runs each; `findings` are what the checks say of data."""
    task, design = catalogue.find_task(request.task), request.runs
    assert design is not None
    _check_request(request)
    request = by_metric(request)
    chosen = metrics_of(task, request.metrics)
    if design.paired and design.factor != "annotators" and _count(runs_a) != _count(runs_b):
        raise Incompatible(
            f"runs cannot be paired: A has {_count(runs_a)} {design.factor} and B has {_count(runs_b)}",
            remedy="Give both models the same runs in the same order, or do not pair them.",
        )
    with truth_read_once():
        read = [measure_runs(task, request, truth, runs, findings, i, 2) for i, runs in enumerate((runs_a, runs_b))]
    models = [model for model, _ in read]
    named = [
        (f"{letter}: {name}", run)
        for letter, model in zip("AB", models, strict=True)
        for name, run in zip(model.names, model.data, strict=True)
    ]
    check_same(task, request, named)
    request = replace(request, cluster=models[0].data[0].cluster)
    pairs, metrics = _states(task, request, models, chosen)
    margins_of(request.margin, metrics)
    confidence = request.level
    first, second = _runs_by_model([state for _, state in pairs], models, metrics, request)
    judged = judged_together({"": compare_crossed(first, second, metrics, request)}, confidence, request.adjust)[""]
    slices: dict[Slice, dict[Slice, dict[str, Difference]]] = {}
    for by, parts in _runs_by_slice(task, request, pairs, models, metrics).items():
        raw = {value: compare_crossed(a, b, metrics, request) for value, (a, b) in parts.items()}
        slices[by] = {value: {} for value in raw}
        for spec in map(str, metrics):
            family = {value: {spec: run[spec]} for value, run in raw.items()}
            for value, run in judged_together(family, confidence, request.adjust).items():
                slices[by][value].update(_verdicts(run, design))
    shared = dict.fromkeys(
        (
            *getattr(models[0].data[0].truth, "notes", ()),
            *(note for _, said in read for note in said),
            *notes_of(task, pairs[0][1], request),
            *_notes(design, [len(model.data) for model in models]),
        )
    )
    sources = [model.sources(design) for model in models]
    sources[1] = replace(sources[1], truth_units=None)  # the same units as those of A
    a, b = (
        Model(applied_request(task, request, metrics, model.data[0].options.given), source, model.data[0].coverage)
        for model, source in zip(models, sources, strict=True)
    )
    return Comparison(task_facts(task), a, b, _verdicts(judged, design), slices, notes=tuple(shared))


def _count(runs: Any) -> int:
    return len(runs) if isinstance(runs, list | tuple | Mapping) else 1
