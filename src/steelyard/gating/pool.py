"""Results on several test sets as one number: scores by MOVER, differences by flips over the units of all sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    Incompatible,
    InvalidResult,
    InvalidSetting,
    InvalidValue,
    MissingColumn,
    MissingData,
    OutOfRange,
    ShapeMismatch,
    UnknownName,
    nearest,
)
from steelyard.core.weights import Floats
from steelyard.engine.compare import null_hypothesis, unjudged_difference
from steelyard.engine.families import UnjudgedDifference, judge_family
from steelyard.engine.intervals import Estimate, UnitSample
from steelyard.engine.kept import KeptModel, facts_of
from steelyard.engine.paired import BEST, ModelMetric, Pair
from steelyard.engine.score import remarks
from steelyard.engine.sets import LEAST_RANDOM, Joined, pooled_estimate, pooled_metrics, random_estimate
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.influences import Influences
from steelyard.results.origin import Sources
from steelyard.results.read import edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.score import Score
from steelyard.results.sets import Pool, PooledSet, Sets

Source = Report | Comparison | Lineup | str | PathLike[str] | Mapping[str, Any]
Weights = str | PathLike[str] | Sequence[float] | Floats | Mapping[str, float]
Held = Report | Comparison


def pool(
    results: Sequence[Source], *, weights: Weights = "equal", shared_units: bool = False, sets: Sets = "fixed",
    names: Sequence[str] = (),
) -> Pool:  # fmt: skip
    """Weigh results on several test sets together: `pool(["day.json", "night.json"])`.

    All are of `evaluate`, or of `compare` with two models, and made with `save_influences`. `weights` is "equal",
    "units", a number for each set, a mapping from its name, or a CSV file with the columns set and weight. A unit in
    two sets is refused; `shared_units` joins what it contributes to each. The sets are "fixed": the number is about
    these sets. With `sets="random"` it is about the sets that they are a random sample of, which takes five sets at
    least. `names` are those of the sets.
    """
    if isinstance(results, str | PathLike | Mapping | Result) or not isinstance(results, Sequence):
        raise MissingData("one result alone cannot be pooled", remedy="Give a list of two results or more.")
    held, called, edited = _read(results, names)
    if sets not in ("fixed", "random"):
        raise InvalidSetting(f"'{sets}' is not a valid choice of sets", remedy="Choose fixed or random.")
    _check(held, called, sets)
    specs, notes = _specs(held)
    units = [max((score.units for score in _own(one)[-1].values()), default=0) for one in held]
    weighed, weighing = _weights(weights, called, units)
    if sets == "random" and weighing != "equal":
        raise Conflict("random sets weigh the same", remedy="Leave the weights out, or take the sets as fixed.")
    joined = _join_sets(held, called, shared_units)
    if joined.n_shared:
        notes.append(
            f"{count_text(joined.n_shared, 'unit')} in more than one set: what they contribute is joined by id."
        )
    models_of_sets = [_kept_models(one) for one in held]
    confidence = _confidence(held, called)
    scores = [
        {
            spec: _pooled_score([models[i] for models in models_of_sets], spec, weighed, joined, sets, confidence)
            for spec in specs
        }
        for i in range(len(models_of_sets[0]))
    ]
    first = held[0]
    pooled = Pool(
        first.task, first.unit, confidence,
        tuple(
            PooledSet(name, count, float(weight), *_shown_values(one, specs))
            for name, count, weight, one in zip(called, units, weighed, held, strict=True)
        ),
        sets, weighing, joined.n_shared, notes=(*edited, *_scope(sets, len(held)), *notes),
    )  # fmt: skip
    if isinstance(first, Report):
        return replace(pooled, scores=scores[0])
    where = _population(sets, len(held), weighing)
    if sets == "random":
        raw = [_random_difference(models_of_sets, spec, scores, where, confidence) for spec in specs]
    else:
        a, b = pooled_metrics(models_of_sets, specs, weighed, joined)
        raw = []
        for spec in specs:
            pair = Pair(facts_of(scores[1][spec], models_of_sets[0][1].metric(spec)), a[spec], b[spec], confidence)
            estimate, test = (Estimate(), None) if math.isnan(pair.difference) else pair.shown_estimate()
            raw.append(unjudged_difference(pair, scores[0][spec], scores[1][spec], estimate, test, where))
    adjust = first.b.request.adjust
    return replace(pooled, differences={d.spec: d for d in judge_family(raw, 1 - confidence, adjust)})


def _population(sets: Sets, count: int, weighing: str) -> str:
    if sets == "random":
        return f"in the mean over the population that these {count} sets were drawn from"
    weighed = {"equal": "equally weighed", "units": "weighed by their units"}.get(weighing, "with the given weights")
    return f"in the mean over these {count} sets, {weighed}, each in the population of its units"


def _scope(sets: Sets, count: int) -> tuple[str, ...]:
    if sets == "random":
        return (f"The sets are taken as a random sample: the numbers are about the sets that these {count} stand for.",)
    return (f"The sets are fixed: the numbers are about these {count} sets.",)


def _read(results: Sequence[Source], names: Sequence[str]) -> tuple[list[Held], list[str], tuple[str, ...]]:
    if len(results) < 2:
        raise MissingData("one result alone cannot be pooled", remedy="Give two results or more.")
    if names and len(names) != len(results):
        raise ShapeMismatch(
            f"{count_text(len(names), 'name')} for {len(results)} sets", remedy="Name every set, or none."
        )
    held: list[Held] = []
    called = [
        fspath(source) if isinstance(source, str | PathLike) else f"set {i + 1}" for i, source in enumerate(results)
    ]
    called = [str(name) for name in names] or called
    raw = []
    for source, name in zip(results, called, strict=True):
        result = source if isinstance(source, Result) else read_result(source, name)
        raw.append(result)
        if isinstance(result, Lineup) and len(result) == 1:
            result = result[0]
        if not isinstance(result, Report | Comparison):
            raise InvalidResult(
                f"is a {result.kind}, and results of evaluate or of compare with two models are pooled", where=name,
                remedy="Give one of those.",
            )  # fmt: skip
        held.append(result)
    return held, called, edit_notes(zip(called, raw, strict=True))


def _check(held: Sequence[Held], called: Sequence[str], sets: Sets) -> None:
    """Refuse what cannot be pooled."""
    first = held[0]
    for result, name in zip(held, called, strict=True):
        if result.kind != first.kind:
            raise Incompatible(
                f"is a {result.kind}, and {called[0]} is a {first.kind}", where=name, remedy="Pool results of one kind."
            )
        if result.task != first.task:
            raise Incompatible(
                f"is of task '{result.task}', and {called[0]} of '{first.task}'", where=name,
                remedy="Pool results of one task.",
            )  # fmt: skip
        if result.influences is None:
            raise MissingData("has no influences", where=name, remedy="Make it with `save_influences=True`.")
    if len(set(called)) < len(called):
        twice = next(name for name in called if called.count(name) > 1)
        raise DuplicateKey("is given twice", where=twice, remedy="Give every set once.")
    if sets == "random" and len(held) < LEAST_RANDOM:
        raise MissingData(
            f"{count_text(len(held), 'set', 'are')} too few to stand for others",
            remedy=f"Give {LEAST_RANDOM} or more, or take them as fixed.",
        )


def _own(result: Held) -> list[Mapping[str, Score]]:
    """The scores of each model."""
    if isinstance(result, Report):
        return [result.scores]
    return [{spec: getattr(d, side) for spec, d in result.differences.items()} for side in ("a", "b")]


def _sources(result: Held) -> Sources:
    return result.sources if isinstance(result, Report) else result.a.sources


def _kept_models(result: Held) -> list[KeptModel]:
    assert result.influences is not None
    request = result.request if isinstance(result, Report) else result.b.request
    return [KeptModel(result.influences, i, own, request.seed, request.draws) for i, own in enumerate(_own(result))]


def _confidence(held: Sequence[Held], called: Sequence[str]) -> float:
    levels = [(one.request if isinstance(one, Report) else one.b.request).level for one in held]
    for name, level in zip(called, levels, strict=True):
        if level != levels[0]:
            raise Incompatible(
                f"has intervals at {100 * level:g} %, and {called[0]} at {100 * levels[0]:g} %", where=name,
                remedy="Make all results with the same `confidence`.",
            )  # fmt: skip
    return levels[0]


def _specs(held: Sequence[Held]) -> tuple[list[str], list[str]]:
    """The metrics that all sets have and that can be pooled, and what is said of the others."""
    models: list[Mapping[str, Any]] = []
    for result in held:
        assert result.influences is not None
        models += result.influences.models
    every = list(dict.fromkeys(spec for model in models for spec in model))
    shared = [spec for spec in every if all(spec in model for model in models)]
    if not shared:
        raise Incompatible("the results share no metric", remedy="Evaluate all sets with the same metrics.")
    means = [spec for spec in shared if not models[0][spec].total]
    if not means:
        raise Incompatible("the results share only counts, which have no mean", remedy="Evaluate other metrics.")
    notes = []
    if left := [spec for spec in every if spec not in shared]:
        notes.append(f"Not in every set: {', '.join(left)}.")
    if counts := [spec for spec in shared if spec not in means]:
        notes.append(f"Counts are not pooled: {', '.join(counts)}.")
    return means, notes


def _shown_values(result: Held, specs: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A set's own scores or differences, as the pool keeps them."""
    if isinstance(result, Report):
        return {spec: replace(result.scores[spec], draws=None) for spec in specs}, {}
    plain = {spec: result.differences[spec] for spec in specs}
    return {}, {spec: replace(d, a=replace(d.a, draws=None), b=replace(d.b, draws=None)) for spec, d in plain.items()}


def _weights(weights: Weights, called: Sequence[str], units: Sequence[int]) -> tuple[Floats, str]:
    """The weight of each set, which add up to 1, and what kind of weights they are."""
    weighing = weights if isinstance(weights, str) and weights in ("equal", "units") else "given"
    if weighing == "equal":
        raw_weights = [1.0] * len(called)
    elif weighing == "units":
        raw_weights = [float(count) for count in units]
    elif isinstance(weights, Mapping):
        raw_weights = _by_name({str(name): weight for name, weight in weights.items()}, called, "the weights")
    elif isinstance(weights, str | PathLike):
        raw_weights = _by_name(_weight_file(fspath(weights)), called, fspath(weights))
    else:
        if not isinstance(weights, Iterable):
            raise InvalidSetting(f"weights={weights!r} is not a list of weights", remedy="Give a number for each set.")
        weights = list(weights)
        if len(weights) != len(called):
            raise ShapeMismatch(
                f"weights: {len(weights)} for {len(called)} sets",
                remedy="Give a weight for each set.",
            )
        raw_weights = weights
    values = np.array([_weight(weight, name) for weight, name in zip(raw_weights, called, strict=True)])
    if not values.any():
        raise OutOfRange("all weights are 0", remedy="Give one set a weight above 0.")
    values = values / values.max()  # so that no sum overflows
    return values / values.sum(), weighing


def _weight(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InvalidValue(f"the weight of {name} is {value!r}", remedy="Give a number from 0 up.")
    return number


def _weight_file(path: str) -> dict[str, Any]:
    """Weights by set, from a table with the columns set and weight."""
    from steelyard.io.read import read_table

    if not Path(path).exists():
        raise InvalidSetting(
            f"'{path}' is neither a kind of weights nor a file", remedy="Choose equal, units, or name a CSV file."
        )
    table = read_table(path, "weights")
    for name in ("set", "weight"):
        if name not in table.columns:
            raise MissingColumn(
                f"column '{name}' is missing", where=path,
                remedy="Give the columns set and weight, with a row for each result.",
            )  # fmt: skip
    names = [str(name) for name in table.columns["set"].tolist()]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise DuplicateKey(f"set '{twice}' has two weights", where=path, remedy="Give every set one row.")
    return dict(zip(names, table.columns["weight"].tolist(), strict=True))


def _by_name(by_name: Mapping[str, Any], called: Sequence[str], where: str) -> list[Any]:
    """The weight of each set, by its name as it was given, or that of its file."""
    in_order = []
    for name in called:
        keys = [key for key in (name, Path(name).name, Path(name).stem) if key in by_name]
        if not keys:
            raise UnknownName(f"there is no weight of {name}", where=where, remedy=nearest(Path(name).stem, by_name))
        in_order.append(by_name[keys[0]])
    return in_order


def _join_sets(held: Sequence[Held], called: Sequence[str], shared: bool) -> Joined:
    influences = [one.influences for one in held if one.influences is not None]
    if shared:
        kinds = list(dict.fromkeys(one.of for one in influences))
        if len(kinds) > 1:
            raise Incompatible(
                f"one set is resampled by {kinds[0]}, another by {kinds[1]}, so their units cannot be joined",
                remedy="Leave `shared_units` out where no unit is in two sets.",
            )
    else:
        for i, j in combinations(range(len(held)), 2):
            _check_apart([influences[i], influences[j]], [_sources(held[i]), _sources(held[j])], (called[i], called[j]))
    return Joined.of([one.unit_keys for one in influences], [one.of == "groups" for one in influences], shared=shared)


def _check_apart(influences: Sequence[Influences], sources: Sequence[Sources], called: tuple[str, str]) -> None:
    """Refuse two sets that share units."""
    overlap = ""
    if "groups" not in (influences[0].of, influences[1].of):
        count = len(np.intersect1d(influences[0].unit_keys, influences[1].unit_keys))
        overlap = f"{count_text(count, influences[0].of.removesuffix('s'))} of {called[0]}" if count else ""
    elif sources[0].truth_units is not None and sources[1].truth_units is not None:
        share = sources[0].truth_units.shared_fraction(sources[1].truth_units)
        overlap = f"about {100 * share:.2g} % of the units of {called[0]}" if share else ""
    elif sources[0].truth.digest == sources[1].truth.digest:
        overlap = f"all units of {called[0]}"
    if overlap:
        raise DuplicateKey(
            f"{overlap} {'is' if overlap.startswith('1 ') else 'are'} in {called[1]} too",
            remedy="Join them with `shared_units=True`, or give other units ids of their own.",
        )


def _pooled_score(
    models: Sequence[KeptModel], spec: str, weights: Floats, joined: Joined, sets: Sets, confidence: float
) -> Score:
    own = [model.scores[spec] for model in models]
    influences = [model.metric(spec) for model in models]
    values = np.array([one.value for one in influences])
    if sets == "random":
        estimate = (
            random_estimate(values, influences[0].range, confidence)[0] if not np.isnan(values).any() else Estimate()
        )
    else:
        correlation = joined.correlation(influences) if joined.n_shared else np.eye(len(influences))
        each = [Estimate(one.interval, one.se, one.df) for one in own]
        estimate = pooled_estimate(values, each, weights, correlation, influences[0].range)
    value = float(weights @ values)
    lacking = [f"set {i + 1} has none" for i, one in enumerate(own) if one.interval is None and one.defined]
    if estimate.interval is None and not estimate.undefined_reason and lacking and not math.isnan(value):
        estimate = replace(estimate, undefined_reason=lacking[0])
    why = next((f"set {i + 1}: {one.undefined_reason}" for i, one in enumerate(own) if not one.defined), "")
    return Score(
        spec, own[0].label, value, None if math.isnan(value) else estimate.interval, sum(one.units for one in own),
        sum(one.n_excluded for one in own), own[0].excluded, why, remarks(spec, estimate), own[0].better,
        own[0].measured_in, why_no_interval=estimate.undefined_reason, se=estimate.se, df=estimate.df,
    )  # fmt: skip


def _random_difference(
    models_of_sets: Sequence[Sequence[KeptModel]],
    spec: str,
    scores: Sequence[Mapping[str, Score]],
    where: str,
    confidence: float,
) -> UnjudgedDifference:
    """The mean of the sets' differences, with their own variance; of distances from a best value, of those."""
    facts = facts_of(scores[1][spec], models_of_sets[0][1].metric(spec))
    best = BEST.get(facts.better)
    pairs = np.array([[model.metric(spec).value - (best or 0.0) for model in models] for models in models_of_sets])
    if best is not None:
        pairs = np.abs(pairs)
    differences = pairs[:, 1] - pairs[:, 0]
    estimate, p = (
        (Estimate(), math.nan)
        if np.isnan(differences).any()
        else random_estimate(differences, (-math.inf, math.inf), confidence)
    )
    values = [ModelMetric(float(column.mean()), None, lambda: None, lambda: UnitSample(0)) for column in pairs.T]
    pair = Pair(replace(facts, better="higher"), values[0], values[1], confidence)  # distances are differences already
    null = null_hypothesis(spec, facts.better, where)
    shown = pair.difference_of_scores(scores[0][spec], scores[1][spec], estimate, p, "t over sets", null)
    return UnjudgedDifference(replace(shown, undefined_reason=shown.undefined_reason or estimate.undefined_reason))
