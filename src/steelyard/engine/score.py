"""Scores with intervals: the plain value, then the same reduction under bootstrap draws of units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from steelyard.core.by_group import AnsweredBlock
from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric, Placements
from steelyard.core.plan import COUNT, JACKKNIFE, MOST_LEFT_OUT, POINT, UNITS, left_out_rows
from steelyard.core.progress import steps
from steelyard.core.records import distinct_values
from steelyard.core.request import Request
from steelyard.core.state import State, Totals
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.engine.intervals import (
    FEW_UNITS,
    Bounds,
    ByClass,
    Estimate,
    Parts,
    UnitSample,
    by_halves,
    by_influence,
    by_jackknife,
    by_parts,
    by_placements,
    by_range,
    by_signed,
)
from steelyard.engine.measure import needs_of, reads_curve, unit_values
from steelyard.results.score import Direction, Score

NOTHING = Estimate()
FEW_OF_UNITS = 5  # units of a class, below which a mean over classes names it
MOST_NAMED = 4
CELLS = 1 << 22  # of units and parts that are looked at together
_Drawn = tuple[Estimate, Floats | None]


def score(
    state: State,
    metrics: Sequence[Metric],
    request: Request,
    shared: Totals | None = None,
    per_unit: Callable[[], State] | None = None,
    leave_one_out: Totals | None = None,
    plain: Totals | None = None,
) -> dict[str, Score]:
    """Score every metric; all share the draws, and one pass over them. `shared`: totals of draws that others
    need as well.

    `per_unit` gives the same state with one row per unit, where equal units share a row. `leave_one_out` are the totals
    of the jackknife and `plain` those of the plain weights, where they exist already.
    """
    point = state.totals(POINT) if plain is None else plain
    values = [float(point.of(metric)[0]) for metric in metrics]
    units = state.units
    nothing: list[_Drawn] = [(nothing_drawn(units, request), None)] * len(metrics)
    drawn = (
        _intervals(state, metrics, values, point, request, shared, leave_one_out) if units.n_resampled > 1 else nothing
    )
    counted = point if units.unweighted else state.totals(COUNT)
    keeping = [keeps_draws(metric, request) for metric in metrics]
    if any(keeping) and units.n_resampled > 1 and units.deduplicated and per_unit is not None:
        # Drawn by kind of unit; only draws by unit are paired between models.
        each = per_unit()
        again = _intervals(each, metrics, values, each.totals(POINT), request)
        drawn = [(estimate, draws) for (estimate, _), (_, draws) in zip(drawn, again, strict=True)]
    scores = {
        str(metric): _score(metric, point, counted, value, estimate, draws if keep else None)
        for metric, value, (estimate, draws), keep in zip(metrics, values, drawn, keeping, strict=True)
    }
    if request.sequence is None:
        return scores
    from steelyard.engine.sequence import sequential_scores  # few ask for it

    return sequential_scores(state, metrics, scores, request)


def keeps_draws(metric: Metric, request: Request) -> bool:
    """Whether a score holds its draws."""
    return request.save_draws or (request.save_influences and reads_curve(metric))


def nothing_drawn(units: Units, request: Request) -> Estimate:
    """The estimate if there are fewer than two units to resample."""
    if units.cluster is None or request.confidence is None:
        return NOTHING
    return Estimate(
        undefined_reason=f"all {units.count:,} units are of one {request.cluster}, and an interval needs two"
    )


def left_out_totals(state: State) -> Totals | None:
    """The jackknife's totals; None where units are counted by kind and the kinds are too many."""
    if state.units.copies is not None and len(state) > MOST_LEFT_OUT:
        return None
    return state.totals(JACKKNIFE)


def sample_of(units: Units) -> UnitSample:
    """The resampling units: clusters, or units."""
    weighted = units.unit_counts > 0
    if units.cluster is not None:
        size: Floats = np.bincount(units.drawn_as[1], weights=units.own).astype(np.float64)
        size = size[size > 0]
        return UnitSample(units.n_resampled, None if (size == size[:1]).all() else size)
    copies = None
    if units.copies is not None and len(units) <= MOST_LEFT_OUT:
        copies = np.asarray(units.unit_counts, dtype=np.float64)
    elif len(units) <= MOST_LEFT_OUT and not weighted.all():
        copies = weighted.astype(np.float64)  # a unit without a weight moves nothing, and is none
    shares = None if units.unweighted else units.own[weighted].repeat(units.unit_counts[weighted].astype(np.int64))
    return UnitSample(units.count, shares, copies)


def with_values(state: State, metric: Metric, sample: UnitSample) -> UnitSample:
    """The units that have a value of their own; all of them where none has, or where a ranking lies elsewhere."""
    if any(isinstance(state.blocks[statistic], AnsweredBlock) for statistic in needs_of([metric])):
        return sample
    defined = ~np.isnan(unit_values(state, [metric])[str(metric)]) & (state.units.unit_counts > 0)
    return sample_of(state.units.take(np.flatnonzero(defined))) if defined.any() else sample


def _intervals(
    state: State,
    metrics: Sequence[Metric],
    values: Sequence[float],
    point: Totals,
    request: Request,
    shared: Totals | None = None,
    leave_one_out: Totals | None = None,
) -> list[_Drawn]:
    if request.confidence is None:
        return [(NOTHING, None)] * len(metrics)
    drawn = Totals(state, request.plan.bind(state.units)) if shared is None else shared
    leave_one_out, sample = leave_one_out or left_out_totals(state), sample_of(state.units)
    intervals: list[_Drawn] = []
    for metric, value in steps("draws", list(zip(metrics, values, strict=True))):
        if np.isnan(value):
            intervals.append((NOTHING, None))
            continue
        reason = ""
        if metric.resampling == "halves" or (reason := metric.no_interval_of(state)):
            estimate = (
                by_halves(value, metric.halves(state), metric.range, request.confidence)
                if metric.resampling == "halves"
                else Estimate(undefined_reason=reason)
            )
            intervals.append((estimate, None))
            continue
        if not all(state.blocks[statistic].resampled for statistic in needs_of([metric])):
            assert leave_one_out is not None
            rows = left_rows(state.units, leave_one_out.of(metric))
            intervals.append((by_jackknife(value, rows, metric.range, request.confidence), None))
            continue
        draws = drawn.of(metric)
        left = None if leave_one_out is None else leave_one_out.of(metric)
        parts = parts_of(metric, point, drawn, leave_one_out, sample)
        if metric.total:
            estimate = NOTHING
        elif math.isinf(value):
            estimate = Estimate(undefined_reason="the value is infinite")
        elif metric.small_sample == "t" and sample.units < FEW_UNITS and left is not None:
            agreeing = partial(with_values, state, metric, sample)
            estimate = by_jackknife(value, left_rows(state.units, left), metric.range, request.confidence, agreeing)
        elif metric.resampling == "linear" and left is not None:
            estimate = by_influence(value, left, metric.range, sample, request.confidence)
        elif (placed := placements_of(metric, state)) is not None:
            estimate = by_placements(value, placed, request.confidence)
        elif (signed := _signed_values(metric, point)) is not None:
            moved = (
                _signed_values(metric, drawn),
                None if leave_one_out is None else _signed_values(metric, leave_one_out),
            )
            assert moved[0] is not None
            power = metric.signed_power
            estimate = by_signed(float(signed[0]), moved[0], moved[1], metric.range, power, sample, request.confidence)
        elif parts is None:
            agreeing = partial(with_values, state, metric, sample)
            classes = classes_of(metric, state)
            estimate = by_range(value, draws, left, metric.range, sample, request.confidence, agreeing, classes)
        else:
            estimate = by_parts(value, draws, left, parts, metric.range, sample, request.confidence)
        if math.isfinite(value):
            estimate = _of_open_range(estimate, metric.range, value, left, state.units, sample, request.confidence)
        intervals.append((estimate, draws if request.save_draws or request.save_influences else None))
    return intervals


def _of_open_range(
    estimate: Estimate,
    bounds: Bounds,
    value: float,
    leave_one_out: Floats | None,
    units: Units,
    sample: UnitSample,
    confidence: float,
) -> Estimate:
    """The same with what it rests on, where errors may be of any size: units that are not here may have larger ones."""
    below, above = math.isinf(bounds[0]), math.isinf(bounds[1])
    if estimate.interval is None or not (below or above):
        return estimate
    rests_on, unseen = min(estimate.df + 1, sample.units), sample.may_differ(confidence)
    estimate = replace(estimate, rests_on=rests_on, unseen=unseen)
    end = bounds[1] if below else bounds[0]
    drawn = np.arange(len(units)) if units.cluster is None else np.unique(units.drawn_as[1][units.own > 0])
    if (
        leave_one_out is None
        or (below and above)
        or value == end
        or units.deduplicated
        or len(leave_one_out) != len(drawn)
    ):
        return estimate
    # A unit's share of a mean of n units is (T + psi) / (n T), with the distance from the range's end for T.
    places = drawn if units.cluster is not None else np.flatnonzero(units.own > 0)
    rows = leave_one_out if units.cluster is not None else leave_one_out[places]
    if np.isnan(rows).all():
        return estimate
    mean = float(np.nanmean(rows))
    with np.errstate(invalid="ignore"):
        share = (1 + (len(rows) - 1) * (mean - rows) / (value - end)) / len(rows)
    largest = int(np.nanargmax(share))
    named = units.drawn_as[0][places[largest]]
    return replace(estimate, largest_share=float(share[largest]), largest_unit=str(named))


def _signed_values(metric: Metric, totals: Totals) -> Floats | None:
    return metric.signed(totals.only(metric.requirements()))


def placements_of(metric: Metric, state: State) -> Placements | None:
    """The placements of an area under the ROC curve, where single units are resampled and weigh the same."""
    units = state.units
    if units.has_design or units.deduplicated or not units.unweighted:
        return None
    return metric.placements(state)


def classes_of(metric: Metric, state: State) -> ByClass | None:
    """The true classes of the units, where a score rests on how many there are of each.

    Of the classes that a row of the jackknife holds (a cluster, or a group of units) the rarest counts.
    """
    held, units = metric.unit_classes(state), state.units
    if held is None:
        return None
    weighted = units.unit_counts[held.unit] > 0
    unit, code = held.unit[weighted].astype(np.int64), held.code[weighted]
    if not len(unit):
        return None
    clustered, count = units.cluster is not None, max(len(held.names), 2)
    drawn, each = np.divmod(distinct_values((units.drawn_as[1][unit] if clustered else unit) * count + code), count)
    size = np.bincount(each, None if clustered else units.unit_counts[drawn], minlength=count)
    rows = left_out_rows(units)
    rarest_last = np.argsort(-size[code], kind="stable")
    row_code = np.zeros(int(rows.max(initial=-1)) + 1, dtype=np.int64)
    row_code[rows[unit[rarest_last]]] = code[rarest_last]
    largest = int(np.argmax(size))
    fewest = round(float(size.sum() - size[largest]))
    others = np.flatnonzero((size > 0) & (np.arange(count) != largest))
    if not held.names:
        described = count_text(fewest, "negative" if largest else "positive")
    elif len(others) == 1:
        described = f"{count_text(fewest, 'unit')} of class '{held.names[others[0]]}'"
    else:
        described = f"{count_text(fewest, 'unit')} outside class '{held.names[largest]}'"
    return ByClass(row_code, fewest, described, metric.chance)


def left_rows(units: Units, leave_one_out: Floats) -> Floats:
    """The rows of a jackknife that leave something out."""
    return (
        leave_one_out
        if len(leave_one_out) != len(units) or units.cluster is not None
        else leave_one_out[units.unit_counts > 0]
    )


def parts_of(
    metric: Metric, point: Totals, drawn: Totals, leave_one_out: Totals | None, sample: UnitSample
) -> Parts | None:
    """The proportions, or the class scores, that a metric is the mean of, where it says so."""
    if (classes := _class_parts(metric, point, drawn, leave_one_out, sample)) is not None:
        return classes
    share, rows = part_shares(metric, point)
    if share is None:
        return None
    defined = ~np.isnan(share[0])
    state = point.state
    stratified = _in_strata(metric, state, share[0])
    if stratified is not None:
        return stratified
    if not state.units.unweighted:
        rows = part_shares(metric, state.totals(COUNT))[1]
    moved, _ = part_shares(metric, drawn if leave_one_out is None else leave_one_out)
    assert moved is not None
    deviations, factor = _deviations(moved[:, defined], leave_one_out is not None, sample)
    units = part_units(metric, state, defined)
    # Rows that carry weights below 1 add up to less than their number, but each unit has one at least.
    return Parts.of(share[0][defined], np.maximum(rows[0][defined], units), units, deviations, factor)


def _class_parts(
    metric: Metric, point: Totals, drawn: Totals, leave_one_out: Totals | None, sample: UnitSample
) -> Parts | None:
    """The scores of two classes or more, as shares of a finite range."""
    scores, (low, high) = _class_scores(metric, point), metric.range
    if scores is None or not math.isfinite(high - low):
        return None
    defined = ~np.isnan(scores[0])
    if np.count_nonzero(defined) < 2:
        return None
    share = np.clip((scores[0][defined] - low) / (high - low), 0.0, 1.0)
    moved = _class_scores(metric, drawn if leave_one_out is None else leave_one_out)
    assert moved is not None
    moved = (moved[:, defined] - low) / (high - low)
    moved = np.where(np.isnan(moved), share, moved)  # a class keeps its score where its only unit is left out
    deviations, factor = _deviations(moved, leave_one_out is not None, sample)
    units = part_units(metric, point.state, defined)
    return Parts.of_classes(share, units, deviations, factor, metric.class_variance)


def _deviations(moved: Floats, leave_one_out: bool, sample: UnitSample) -> tuple[Floats, float]:
    """What each row of the jackknife, or each draw, moves in each part, and the factor from the sum of squares to the
    square of a standard error."""
    times = np.asarray(sample.copies) if leave_one_out and sample.copies is not None else np.ones(len(moved))
    n = float(times.sum())
    with np.errstate(invalid="ignore"):
        present = ~np.isnan(moved) * times[:, np.newaxis]
        mean = np.nan_to_num(moved * times[:, np.newaxis]).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    deviations = np.nan_to_num(moved - mean) * np.sqrt(times)[:, np.newaxis]
    deviations[:, np.sqrt((deviations**2).sum(axis=0)) <= 1e-12] = 0.0
    return deviations, (n - 1) / n if leave_one_out else 1 / max(len(moved) - 1, 1)


def _class_scores(metric: Metric, totals: Totals) -> Floats | None:
    return metric.class_scores(totals.only(metric.requirements()))


def _in_strata(metric: Metric, state: State, share: Floats) -> Parts | None:
    """One proportion of strata whose sizes were fixed, where every unit counts in it; None where it is none.

    Rows that go together in their unit, or cluster, count as many as their design effect leaves.
    """
    units = state.units
    if units.stratum is None or len(share) != 1:
        return None
    pieces = [
        part_shares(metric, Totals(state, piece)) for piece in UNITS.bind(units).parts(max(1, CELLS // len(share)))
    ]
    weighted = units.own > 0
    rows = np.concatenate([of[:, 0] for _, of in pieces])[weighted]
    if not (rows > 0).all():  # how many count in it was not fixed by design
        return None
    right = np.concatenate([one[:, 0] for one, _ in pieces if one is not None])[weighted] * rows
    weight, total = units.own[weighted], float(share[0])
    names, stratum = len(units.strata[0]), units.strata[1][weighted]
    drawn = units.drawn_as[1][weighted]
    first, place = np.unique(stratum * (int(drawn.max()) + 1) + drawn, return_inverse=True)
    stratum_of = first // (int(drawn.max()) + 1)
    moved = np.bincount(place.reshape(-1), weight * (right - total * rows))

    def sum_by_stratum(values: Array, by: Array = stratum) -> Floats:
        return np.bincount(by, values, minlength=names).astype(np.float64)

    size = sum_by_stratum(np.ones(len(moved)), stratum_of)
    weighed = sum_by_stratum(weight * rows)
    count = np.maximum(sum_by_stratum(rows), size)
    centred = moved - (sum_by_stratum(moved, stratum_of) / size)[stratum_of]
    return Parts.of_strata(
        total, weighed / weighed.sum(), sum_by_stratum(weight * right) / weighed, count, size,
        sum_by_stratum(centred**2, stratum_of) / weighed**2,
    )  # fmt: skip


def part_shares(metric: Metric, totals: Totals) -> tuple[Floats | None, Floats]:
    """The proportions that a metric is the mean of, for each row of weights, and of how much each is; None where it is
    no such mean.
    """
    parts = metric.proportions(totals.only(metric.requirements()))
    if parts is None:
        return None, np.zeros((1, 0))
    hits, of = (np.asarray(one, dtype=np.float64).reshape(totals.rows, -1) for one in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(of > 0, hits / of, np.nan), of


def part_units(metric: Metric, state: State, defined: Floats) -> Floats:
    """How many units, or clusters, each part stands on."""
    own_units = metric.part_units(state)
    if own_units is not None:
        return np.asarray(own_units[defined])
    total = np.zeros(int(defined.sum()))
    counted, cluster = state.units.unit_counts, state.units.drawn_as[1]
    seen = np.zeros((0 if state.units.cluster is None else len(state.units.drawn_as[0]), len(total)), dtype=bool)
    start = 0
    for piece in UNITS.bind(state.units).parts(max(1, CELLS // max(1, len(defined)))):
        stands = _stands(metric, Totals(state, piece))[:, defined]
        stop = start + len(stands)
        stands &= (counted[start:stop] > 0)[:, np.newaxis]
        if len(seen):
            np.logical_or.at(seen, cluster[start:stop], stands)
        else:
            total += counted[start:stop] @ stands
        start = stop
    return seen.sum(axis=0) if len(seen) else total


def _stands(metric: Metric, units: Totals) -> Array:
    """Whether each unit, alone, has something of each part, or a score of each class."""
    scores = _class_scores(metric, units)
    return np.asarray(part_shares(metric, units)[1] > 0 if scores is None else ~np.isnan(scores))


class ClassFacts(Frozen):
    """Of a mean over classes: those without truth, those that rest on few units, and what notes say of both."""

    absent: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def class_facts(metric: Metric, counted: Totals) -> ClassFacts:
    """What the classes of a mean are like; nothing of another metric."""
    scores = _class_scores(metric, counted)
    if scores is None or not scores.shape[1]:
        return ClassFacts()
    state, inside = counted.state, ~np.isnan(scores[0])
    truth_classes = metric.class_truth(state)
    truth = inside if truth_classes is None else truth_classes
    few = np.zeros_like(inside)
    by_unit = all(block.by_unit for block in state.blocks.values() if isinstance(block, AnsweredBlock))
    if state.units.n_resampled >= FEW_OF_UNITS and inside.any() and by_unit:  # of fewer no class can have more
        few[inside] = part_units(metric, state, inside) < FEW_OF_UNITS
    names, word = np.array(state.metadata.axes[metric.class_axis].display_names, dtype=object), metric.class_axis
    notes = []
    if not truth.all():
        still_in = bool(inside[~truth].all())
        zero = " and {} as 0" if still_in and not scores[0][~truth].any() else ""
        zero = zero.format("counts" if (~truth).sum() == 1 else "count")
        has = "has" if (~truth).sum() == 1 else "have"
        notes.append(
            f"is of {count_text(int(inside.sum()), word)}; {(~truth).sum():,}{' of them' if still_in else ''} {has} no "
            f"truth{zero}: {_names_text(names[~truth])}"
        )
    if few.any():
        unit = "unit" if state.units.cluster is None else "cluster"
        rest = "rests" if few.sum() == 1 else "rest"
        notes.append(
            f"has {count_text(int(few.sum()), word)} that {rest} on fewer than {count_text(FEW_OF_UNITS, unit)}: "
            f"{_names_text(names[few])}"
        )
    return ClassFacts(tuple(names[~truth]), tuple(names[few]), tuple(f"{metric} {note}." for note in notes))


def _names_text(names: Array) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def remarks(spec: str, estimate: Estimate) -> tuple[str, ...]:
    """What a reader of an interval must know, with the metric's name."""
    why = (f"has no interval: {estimate.undefined_reason}",) if estimate.undefined_reason else ()
    return tuple(f"{spec} {note}." for note in (*why, *estimate.notes))


def _score(
    metric: Metric, point: Totals, counted: Totals, value: float, estimate: Estimate, draws: Floats | None
) -> Score:
    undefined, units = math.isnan(value), point.state.units
    signed = None if undefined else _signed_values(metric, point)
    counts = counted.only(metric.requirements())
    count, what = metric.excluded(counts)
    classes = ClassFacts() if undefined else class_facts(metric, counted)
    return Score(
        spec=str(metric),
        label=metric.label_for(point.metadata),
        value=value,
        interval=estimate.interval,
        units=units.count,
        n_excluded=round(count),
        excluded=what if count else "",
        undefined_reason=metric.undefined_reason(counts) if undefined else "",
        notes=() if undefined else (*metric.notes(counts), *classes.notes, *remarks(str(metric), estimate)),
        better=cast("Direction", metric.better),
        measured_in=metric.unit_of_measure(point.metadata),
        draws=draws,
        why_no_interval=estimate.undefined_reason,
        se=estimate.se,
        df=estimate.df,
        rests_on=estimate.rests_on,
        unseen=estimate.unseen,
        largest_share=estimate.largest_share,
        largest_unit=estimate.largest_unit,
        clusters=0 if units.cluster is None else units.n_resampled,
        signed=math.nan if signed is None else float(signed[0]),
        classes_absent=classes.absent,
        classes_few=classes.small,
    )
