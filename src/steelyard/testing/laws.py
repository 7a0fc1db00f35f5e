"""Laws of a metric: what its value may depend on, and what it must not.

Then laws of a task: its report, its comparison, its pages, and every way on which its data may come.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.api import compare, evaluate
from steelyard.core.catalogue import parse_for
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.errors import InputError
from steelyard.core.metric import Metric, describe
from steelyard.core.plan import JACKKNIFE, POINT, WeightPlan
from steelyard.core.plan import UNITS as UNITS_ALONE
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader, Statistic
from steelyard.core.weights import EachUnit, Floats, LeaveOneOut, Plain, Role, Weights
from steelyard.files import check
from steelyard.partial.accumulator import Accumulator
from steelyard.results.report import Report
from steelyard.testing.case import PARTS, UNITS, Case
from steelyard.testing.drawn import cut, shuffled
from steelyard.testing.expect import require, require_equal

Counts = NDArray[np.int64]
ROUNDING = 1e-9  # where sums are taken in another order
SINGLE = 1.2e-7  # where counts are reduced in single precision


class GivenRows(Weights):
    """Rows of weights as numbers, which no kernel may take for counts."""

    role = Role.DRAWS

    def __init__(self, rows: Floats) -> None:
        self.array, (self.rows, self.units) = rows, rows.shape

    def blocks(self) -> Iterator[Floats]:
        yield self.array


def spec_round_trip(case: Case, metric: Metric) -> None:
    """The text of a metric is read as the metric, and so is that of each of its statistics."""
    require(parse_for(str(metric), case.task) == metric, f"'{metric}' is read as {parse_for(str(metric), case.task)!r}")
    for wanted in metric.requirements():
        statistic = wanted.ranking if isinstance(wanted, RankingReader) else wanted
        if "." in statistic.name:
            require(
                Statistic.parse(str(statistic)) == statistic,
                f"the statistic '{statistic}' is not what its text is read as",
            )


def pickles(case: Case, metric: Metric) -> None:
    """A metric travels to other processes."""
    require(pickle.loads(pickle.dumps(metric)) == metric, f"'{metric}' is another one after pickling")


def is_described(case: Case, metric: Metric) -> None:
    """The docstring says what the catalogue shows: a summary, a formula, when it is undefined, its pros and cons."""
    about = describe(type(metric))
    for part, text in (("a summary", about.summary), ("an 'Undefined ...'", about.undefined)):
        require(text.endswith("."), f"the docstring of '{metric}' needs {part} that ends with a full stop")
    for part, there in (("a formula between $", about.formula), ("'Pros:'", about.pros), ("'Cons:'", about.cons)):
        require(there, f"the docstring of '{metric}' needs {part}")
    directions = ("lower", "higher", "zero", "one", "none")
    require(metric.better in directions, f"'{metric}': better is '{metric.better}', not one of {directions}")
    require(metric.range[0] < metric.range[1], f"'{metric}': the range {metric.range} is empty")


def in_range(case: Case, metric: Metric) -> None:
    """Drawn data give a number within the range."""
    try:
        value = case.value(metric, case.state(1))
    except InputError as error:
        raise AssertionError(str(error)) from None
    require(metric.range[0] <= value <= metric.range[1], f"'{metric}' is {value}, outside {metric.range}")


def order_of_rows(case: Case, metric: Metric) -> None:
    """The order of rows and units does not matter, to the bit."""
    truth, predictions = case.draw(2)
    rng = np.random.default_rng(3)
    before = case.once(("ordered",), lambda: case.measure((truth, predictions)))
    after = case.once(("shuffled",), lambda: case.measure((shuffled(truth, rng), shuffled(predictions, rng))))
    require((before.units.ids == after.units.ids).all(), "units come in another order when rows do")
    require_equal(case.value(metric, after), case.value(metric, before), f"'{metric}' of shuffled rows")


def merge_of_cut_state(case: Case, metric: Metric) -> None:
    """A state that is cut and merged again, in any order, is the same."""
    state = case.state(4)
    parts = [state.take(np.arange(start, UNITS, 3)) for start in range(3)]
    for order in ([0, 1, 2], [2, 0, 1]):
        again = case.merge([parts[i] for i in order])
        require_equal(case.value(metric, again), case.value(metric, state), f"'{metric}' of a state cut and merged")


def merge_is_measuring_at_once(case: Case, metric: Metric) -> None:
    """Parts that are read, joined and measured apart merge to the whole: associative, commutative, to the bit."""
    whole, (a, b, c) = case.parts(17)
    for merged in case.once(
        ("merged",), lambda: [case.merge([a, b, c]), case.merge([c, a, b]), case.merge([case.merge([b, c]), a])]
    ):
        plain = case.value(metric, merged, merged.units.plain)
        require_equal(plain, case.value(metric, whole, whole.units.plain), f"'{metric}' of merged parts")
        if whole.units.copies is not None:
            continue
        require((merged.units.ids == whole.units.ids).all(), "merged parts have other units than the whole")
        for plan in (UNITS_ALONE, JACKKNIFE, WeightPlan(Role.DRAWS, seed=1, rows=50)):
            value, expected = (state.totals(plan).of(metric) for state in (merged, whole))
            require_equal(value, expected, f"'{metric}' of merged parts, {plan.role.value}")


def take_is_weights_of_zero_and_one(case: Case, metric: Metric) -> None:
    """Units that are left out weigh 0."""
    state = case.state(5)
    mask = np.arange(UNITS) % 2 == 0
    value = case.value(metric, state.take(np.flatnonzero(mask)))
    expected = case.value(metric, state, mask * state.units.own)
    require_equal(value, expected, f"'{metric}' of every other unit", ROUNDING)


def whole_weights_are_repetition(case: Case, metric: Metric) -> None:
    """A unit that weighs 3 stands there three times, but where a twin is a pair of its own at distance 0."""
    if metric.of_pairs:
        return
    state, counts, repeated = _repeat_units(case)
    value, expected = case.value(metric, state, counts * state.units.own), case.value(metric, repeated)
    require_equal(value, expected, f"'{metric}' under whole weights", ROUNDING)


def copies_are_listed_units(case: Case, metric: Metric) -> None:
    """A row that stands for three alike units scores as three rows do, but where a twin is a pair of its own."""
    if metric.of_pairs:
        return
    state, counts, repeated = _repeat_units(case)
    alike = replace(state, units=replace(state.units, copies=counts))
    value, expected = alike.totals(POINT).of(metric), repeated.totals(POINT).of(metric)
    require_equal(value, expected, f"'{metric}' of units with copies", ROUNDING)


def _repeat_units(case: Case) -> tuple[State, Counts, State]:
    """A state, how often each of its units is to stand there, and the state in which it does."""

    def make() -> tuple[State, Counts, State]:
        state, counts = case.state(6), np.random.default_rng(7).integers(0, 4, UNITS)
        return state, counts, State.stack([state.take(np.array([i])) for i in range(UNITS) for _ in range(counts[i])])

    return case.once(("repeated",), make)


def scale_of_weights(case: Case, metric: Metric) -> None:
    """Only the proportions of weights matter; a total over all units grows with them, and a rule may count units."""
    if metric.by_count:
        return
    state = case.state(8)
    weights = np.random.default_rng(9).uniform(0.1, 2, UNITS)
    value, expected = (case.value(metric, state, factor * weights) for factor in (8, 1))
    expected *= 8 if metric.total else 1
    require_equal(value, expected, f"'{metric}' under weights eight times as large", ROUNDING)


def jackknife_leaves_one_unit_out(case: Case, metric: Metric) -> None:
    """Row i of the jackknife is the score of the state without unit i, but where rows are linear in the weights."""
    if metric.resampling:
        return
    state = case.state(18)
    values = state.totals(JACKKNIFE).of(metric)
    for i in (0, 7, UNITS - 1):
        rest = state.take(np.delete(np.arange(UNITS), i))
        require_equal(values[i], case.value(metric, rest), f"'{metric}' without unit {i}", ROUNDING)


def every_role_is_plain_rows(case: Case, metric: Metric) -> None:
    """A row of draws, the jackknife or single units gives what the same weights give by themselves."""
    if metric.resampling:
        return
    state, other = case.state(12), case.state(13)
    require((state.units.ids == other.units.ids).all(), "drawn data of one size must have the same unit ids")
    keys, base = unit_keys(state.units.ids), np.random.default_rng(14).uniform(0.5, 2, UNITS)
    own = () if metric.among_units else (EachUnit(UNITS),)  # a unit's own value may depend on the others
    for weights in (*own, LeaveOneOut(base), BootstrapDraws(keys, base, 1, 40)):
        rows = np.concatenate(list(weights.blocks()))
        expected = [case.value(metric, state, row) for row in rows]
        what = f"'{metric}' under {type(weights).__name__}"
        require_equal(case.values(metric, state, weights), expected, what, 1e-7)


def linear_rows_are_first_order(case: Case, metric: Metric) -> None:
    """Where rows are linear in the weights, a unit's influence is the derivative of the value by its weight."""
    if metric.resampling != "linear":
        return
    state = case.equal_units(20)
    value, n = case.value(metric, state), len(state)
    left = state.totals(JACKKNIFE).of(metric)
    for i in (3, n - 5):  # of either side, where units are of two
        without, twice = np.ones(n), np.ones(n)
        without[i], twice[i] = 0.0, 2.0
        rise, fall = (case.value(metric, state, weights) - value for weights in (twice, without))
        expected = (rise - fall) / 2 if not metric.of_pairs else -fall  # a twin is a pair of its own there
        moved, scale = value - left[i], float(np.abs(value - left).max())
        require(abs(moved - expected) <= 0.1 * scale, f"'{metric}': unit {i} moves {moved:.3g}, not {expected:.3g}")


def counts_agree_with_rows(case: Case, metric: Metric) -> None:
    """Draws of many units that weigh 1 come as bytes, which kernels may reduce in single precision."""
    state = case.equal_units(19)
    weights = BootstrapDraws(unit_keys(state.units.ids), np.ones(len(state)), 1, 40)
    require(weights.counts() is not None, "draws of units that weigh 1 must come as counts")
    expected = case.values(metric, state, GivenRows(np.concatenate(list(weights.blocks()))))
    require_equal(case.values(metric, state, weights), expected, f"'{metric}' of byte counts", SINGLE)


def reads_what_it_declares(case: Case, metric: Metric) -> None:
    """A statistic that is not declared cannot be read."""
    require(metric.requirements(), f"'{metric}' declares no need")
    nothing = Totals(case.state(1), Plain(np.ones(UNITS))).only(())
    try:
        metric.reduce(nothing)
    except KeyError as error:
        require("was not declared" in str(error), f"'{metric}' raises {error!r} without its needs")
    else:
        raise AssertionError(f"'{metric}' gives a value without reading any need")


def nothing_is_undefined_with_a_reason(case: Case, metric: Metric) -> None:
    """Where no unit weighs anything there is no number, and the metric says why."""
    nothing = Totals(case.state(10), Plain(np.zeros(UNITS)))
    value = float(nothing.of(metric)[0])
    require(np.isnan(value), f"'{metric}' of nothing is {value}, not nan")
    reason = metric.undefined_reason(nothing.only(metric.requirements()))
    require(reason, f"'{metric}' does not say why it is undefined")


def perfect_is_best(case: Case, metric: Metric) -> None:
    """Perfect predictions score the good end of the range, or at least nearer to it than drawn ones."""
    best = _best(metric)
    if best is None:
        return
    truth, predictions = case.draw(11)
    perfect = case.once(("perfect",), lambda: case.measure((truth, case.drawn.perfect(truth))))
    value = case.value(metric, perfect)
    if metric.reaches_best:
        require_equal(value, best, f"'{metric}' of perfect predictions", 1e-12)
        return
    other = case.value(metric, case.once(("imperfect",), lambda: case.measure((truth, predictions))))
    if abs(best) == float("inf"):  # which perfect predictions reach, or are undefined where they would
        require(not value * np.sign(best) < other * np.sign(best), f"'{metric}' of perfect predictions is {value}")
        return
    require(abs(value - best) < abs(other - best), f"'{metric}' of perfect predictions is {value}, of drawn {other}")


def worst_is_no_better(case: Case, metric: Metric) -> None:
    """The worst predictions score no nearer to the good end than drawn ones."""
    best = _best(metric)
    if best is None or case.drawn.worst is None:
        return
    make, (truth, predictions) = case.drawn.worst, case.draw(11)
    value = case.value(metric, case.once(("worst",), lambda: case.measure((truth, make(truth)))))
    other = case.value(metric, case.once(("imperfect",), lambda: case.measure((truth, predictions))))
    nearer = abs(value - best) < abs(other - best)
    require(not nearer, f"'{metric}' of the worst predictions is {value}, of drawn ones {other}")


def _best(metric: Metric) -> float | None:
    ends = {"lower": metric.range[0], "higher": metric.range[1], "zero": 0.0, "one": 1.0}
    best = ends.get(metric.better)
    return None if best is None or np.isinf(best) else best


METRIC_LAWS = (
    spec_round_trip, pickles, is_described, in_range, order_of_rows, merge_of_cut_state, merge_is_measuring_at_once,
    take_is_weights_of_zero_and_one, whole_weights_are_repetition, copies_are_listed_units, scale_of_weights,
    jackknife_leaves_one_unit_out, every_role_is_plain_rows, linear_rows_are_first_order, counts_agree_with_rows,
    reads_what_it_declares, nothing_is_undefined_with_a_reason, perfect_is_best, worst_is_no_better,
)  # fmt: skip


DRAWS = 200


def _options(case: Case) -> dict[str, Any]:
    return {"options": dict(case.drawn.options)} if case.drawn.options else {}


def _report(case: Case, seed: int, **settings: Any) -> Report:
    truth, predictions = case.draw(seed)
    policy: Any = dict(case.drawn.policy) | _options(case)
    return evaluate(case.task.name, truth, predictions, case.metrics, draws=DRAWS, **policy, **settings)


def defaults_are_specs(case: Case) -> None:
    """The default set names metrics of the task, each as its text."""
    for spec in case.task.defaults:
        metric = parse_for(spec, case.task)
        require(str(metric) == spec, f"the default '{spec}' is written '{metric}'")


def report_is_repeatable(case: Case) -> None:
    """Every metric has a score with an interval, and the same data give the same numbers again."""
    report, again = _report(case, 15), _report(case, 15)
    require(report.scores, "the report has no score")
    totals = {str(metric) for metric in case.metrics if metric.total}
    without = {spec for spec, score in report.scores.items() if score.why_no_interval}
    for spec, score in report.scores.items():
        low, high = score.interval or (1.0, 0.0)
        require(low <= high or spec in totals | without, f"'{spec}' has no interval")
        require(score.interval is None or spec not in totals, f"'{spec}' is a total and has an interval")
        require(score == again.scores[spec], f"'{spec}' differs from run to run")
        require(score.units == UNITS, f"'{spec}' stands on {score.units} units of {UNITS}")


def comparison_with_itself_shows_nothing(case: Case) -> None:
    """A model does not differ from itself."""
    truth, predictions = case.draw(16)
    policy: Any = dict(case.drawn.policy) | _options(case)
    result = compare(case.task.name, truth, predictions, predictions, case.metrics, draws=DRAWS, **policy)
    for spec, difference in result.differences.items():
        require(difference.difference == 0 and difference.p == 1, f"'{spec}' differs from itself: {difference}")


def batches_are_the_whole(case: Case) -> None:
    """Batches, merged and saved accumulators give the report of all data at once, to the bit."""
    sides = case.draw(21)
    key = case.task.truth.key[0]
    expected = _report(case, 21)
    gathered = []
    for part in reversed(cut(sides, key, case.drawn.unit or key, PARTS)):
        policy: Any = dict(case.drawn.policy) | _options(case)
        accumulator = Accumulator(case.task.name, **policy)
        accumulator.update(*part)
        gathered.append(Accumulator.from_bytes(accumulator.to_bytes()))
    for other in gathered[1:]:
        gathered[0].merge(other)
    report = gathered[0].report(case.metrics, draws=DRAWS)
    require(report.scores == expected.scores, "the scores of batches differ from those of all data at once")
    units, whole = report.units(), expected.units()
    require(list(units.units) == list(whole.units), "batches have other units than all data at once")
    for spec, values in whole.values.items():
        require_equal(units.values[spec], values, f"'{spec}' by unit, of batches")


def report_can_be_shown(case: Case) -> None:
    """Text, Markdown, JSON and the page can be made, with all tables, figures and the listing."""
    report = _report(case, 22)
    for text in (report.to_text(), report.to_markdown(), report.to_json(), report.to_html()):
        require(text, "a form of the report is empty")
    for name in report.tables:
        require(report.table(name), f"there is no table '{name}'")


def drawn_data_are_healthy(case: Case) -> None:
    """`check` finds no error in data that are as they should be."""
    report = check(case.task.name, *case.draw(23), **_options(case))
    errors = [finding.what for finding in report.errors]
    require(not errors, f"`check` finds errors in drawn data: {errors}")


TASK_LAWS = (
    defaults_are_specs, report_is_repeatable, comparison_with_itself_shows_nothing, batches_are_the_whole,
    report_can_be_shown, drawn_data_are_healthy,
)  # fmt: skip
