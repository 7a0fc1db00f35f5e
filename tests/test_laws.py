"""Laws that hold for every metric of the catalogue. None is named here: a new one is tested by being listed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from drawn import DRAW, PERFECT, VARIANTS

from steelyard import api
from steelyard.core.draws import BootstrapDraws, SwapDraws, unit_keys
from steelyard.core.legacy import is_legacy, state_of, stats_of
from steelyard.core.metric import Metric, describe
from steelyard.core.plan import JACKKNIFE, Plan
from steelyard.core.plan import UNITS as UNITS_ALONE
from steelyard.core.state import State
from steelyard.core.task import Policy
from steelyard.core.totals import Totals
from steelyard.core.weights import EachUnit, LeaveOneOut, Plain, Role, Weights
from steelyard.engine.measure import measured as measure_state
from steelyard.engine.measure import shown
from steelyard.io.read import read_table, to_records
from steelyard.metrics import catalogue

UNITS = 24
EVERY = [
    pytest.param(task, metric, id=f"{task}-{metric}") for task in catalogue.TASKS for metric in catalogue.metrics(task)
]
VARIED = [
    pytest.param(name, catalogue.parse(spec, "labels"), id=f"{name}-{spec}")
    for name, (_, specs) in VARIANTS.items()
    for spec in specs
]
DATA = DRAW | {name: draw for name, (draw, _) in VARIANTS.items()}
every_metric = pytest.mark.parametrize(("task", "metric"), EVERY)
every_metric_and_variant = pytest.mark.parametrize(("task", "metric"), EVERY + VARIED)
listed_variants = [case for case in VARIED if case.values[0] != "labels:counted"]
every_metric_listed = pytest.mark.parametrize(("task", "metric"), EVERY + listed_variants)
every_task = pytest.mark.parametrize("task", list(catalogue.TASKS))


def pairs_of(task: str, truth: Any, predictions: Any) -> Any:
    """Both sides, read and joined."""
    kind = catalogue.find_task(task.partition(":")[0])
    sides = [
        to_records(read_table(data, side), schema, {}, side)
        for data, side, schema in ((truth, "truth", kind.truth), (predictions, "prediction", kind.prediction))
    ]
    return kind.join(*sides, Policy())


def measured(task: str, truth: Any, predictions: Any, rows: int | None = None) -> State:
    """The state of all metrics of a task; of data that are a part of so many `rows`, where that decides the form."""
    kind = catalogue.find_task(task.partition(":")[0])
    pairs = pairs_of(task, truth, predictions)
    if rows is not None and kind.measure_part is not None:
        return state_of(kind.measure_part(pairs, rows))
    return measure_state(kind, pairs, catalogue.metrics(kind.name))


_cache: dict[tuple[str, int], State] = {}


def drawn(task: str, seed: int) -> State:
    if (task, seed) not in _cache:
        _cache[task, seed] = measured(task, *DATA[task](np.random.default_rng(seed), UNITS))
    return _cache[task, seed]


def value(metric: Metric, state: State, weights: Any = None) -> float:
    return float(Totals(state, Plain(state.units.own if weights is None else weights)).of(metric)[0])


def same(a: float, b: float, tolerance: float = 1e-12) -> bool:
    return (np.isnan(a) and np.isnan(b)) or bool(np.isclose(a, b, rtol=tolerance, atol=tolerance))


@every_task
def test_has_drawn_data(task: str) -> None:
    assert task in DRAW
    assert task in PERFECT


@every_task
def test_defaults_are_specs_of_the_task(task: str) -> None:
    for spec in catalogue.find_task(task).defaults:
        assert str(catalogue.parse(spec, task)) == spec


@every_metric
def test_spec_round_trip(task: str, metric: Metric) -> None:
    assert catalogue.parse(str(metric), task) == metric


@every_metric
def test_pickle(task: str, metric: Metric) -> None:
    assert pickle.loads(pickle.dumps(metric)) == metric


@every_metric
def test_is_described(task: str, metric: Metric) -> None:
    about = describe(type(metric))
    assert about.summary.endswith(".")
    assert about.formula
    assert about.undefined.endswith(".")
    assert about.pros
    assert about.cons
    assert metric.better in ("lower", "higher", "zero", "one", "none")
    assert metric.range[0] < metric.range[1]


@every_metric
def test_is_defined_and_in_range_on_drawn_data(task: str, metric: Metric) -> None:
    found = value(metric, drawn(task, 1))
    assert metric.range[0] <= found <= metric.range[1]


@every_metric
def test_order_of_rows_and_units_does_not_matter(task: str, metric: Metric) -> None:
    truth, predictions = DRAW[task](np.random.default_rng(2), UNITS)
    rng = np.random.default_rng(3)

    def shuffled(data: dict[str, Any]) -> dict[str, Any]:
        order = rng.permutation(len(next(iter(data.values()))))
        return {name: np.asarray(column)[order] for name, column in data.items()}

    before = measured(task, truth, predictions)
    after = measured(task, shuffled(truth), shuffled(predictions))
    assert (before.units.ids == after.units.ids).all()
    assert same(value(metric, before), value(metric, after), 0.0)  # to the bit


@every_metric_listed
def test_merge_is_concat(task: str, metric: Metric) -> None:
    stats = drawn(task, 4)
    parts = [stats.take(np.arange(start, UNITS, 3)) for start in range(3)]
    for order in ([0, 1, 2], [2, 0, 1]):
        assert same(value(metric, merged([parts[i] for i in order])), value(metric, stats), 0.0)


APART = {  # what a unit keeps depends on all the others
    ("captions", name): "document frequencies are of all references, and each part measures its own"
    for name in ("cider", "spider")
}


def measured_apart() -> list[Any]:
    found = []
    for case in EVERY + VARIED:
        task, metric = case.values
        reason = APART.get((task, metric.name)) if catalogue.find_task(task.partition(":")[0]).measure else None
        marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
        found.append(pytest.param(task, metric, id=case.id, marks=marks))
    return found


_apart: dict[str, tuple[State, list[State]]] = {}


def in_parts(task: str) -> tuple[State, list[State]]:
    """The state of all the data, and those of three parts, each read, joined and measured on its own."""
    if task not in _apart:
        truth, predictions = DATA[task](np.random.default_rng(17), UNITS)
        key = catalogue.find_task(task.partition(":")[0]).truth.key[0]
        unit = "group" if task == "labels" else key
        group = dict(zip(map(str, truth[key]), map(str, truth[unit]), strict=True))
        place = {name: i for i, name in enumerate(dict.fromkeys(group.values()))}
        states = []
        for number in range(3):
            sides = []
            for side in (truth, predictions):
                keep = np.array([place[group[str(value)]] % 3 == number for value in side[key]])
                sides.append({name: np.asarray(column)[keep] for name, column in side.items()})
            states.append(measured(task, *sides, rows=len(truth[key])))
        _apart[task] = measured(task, truth, predictions), states
    return _apart[task]


@pytest.mark.parametrize(("task", "metric"), measured_apart())
def test_parts_measured_apart_merge_to_the_whole(task: str, metric: Metric) -> None:
    whole, (a, b, c) = in_parts(task)
    orders = [merged([a, b, c]), merged([c, a, b]), merged([merged([b, c]), a])]
    for found in orders:
        assert same(value(metric, found, found.units.plain), value(metric, whole, whole.units.plain), 0.0)
        if whole.units.copies is None:
            assert (found.units.ids == whole.units.ids).all()
            for plan in (UNITS_ALONE, JACKKNIFE, Plan(Role.DRAWS, seed=1, rows=50)):
                np.testing.assert_array_equal(found.totals(plan).of(metric), whole.totals(plan).of(metric))


@every_metric_listed
def test_jackknife_rows_are_states_without_a_unit(task: str, metric: Metric) -> None:
    state = drawn(task, 18)
    found = state.totals(JACKKNIFE).of(metric)
    for i in (0, 7, UNITS - 1):
        rest = state.take(np.delete(np.arange(UNITS), i))
        assert same(found[i], value(metric, rest), 1e-9)


MANY = 256
FAST = ("weights", "sequences", "boxes", "losses", "ellipses", "labels", "rankings")


class Given(Weights):
    """Rows of weights as numbers, which no kernel may take for counts."""

    role = Role.DRAWS

    def __init__(self, rows: Any) -> None:
        self.array, (self.rows, self.units) = rows, rows.shape

    def blocks(self) -> Iterator[Any]:
        yield self.array


_many: dict[tuple[str, int], State] = {}


def many_units(task: str, seed: int) -> State:
    """Many units that all weigh 1."""
    if (task, seed) not in _many:
        truth, predictions = DATA[task](np.random.default_rng(seed), MANY)
        truth.pop("weight" if task.startswith("labels") else "", None)
        _many[task, seed] = measured(task, truth, predictions)
    return _many[task, seed]


@pytest.mark.parametrize(
    ("task", "metric"), [case for case in EVERY + listed_variants if case.values[0].partition(":")[0] in FAST]
)
def test_byte_counts_agree_with_rows(task: str, metric: Metric) -> None:
    """Draws and swaps of many units that weigh 1 come as bytes, which kernels may reduce in single precision."""
    a, b = many_units(task, 19), many_units(task, 20)
    keys, base = unit_keys(a.units.ids), np.ones(MANY)
    stacked = State.stack([a, b])
    for state, weights in (
        (a, BootstrapDraws(keys, base, 1, 40)),
        (stacked, SwapDraws(keys, base, 1, 40)),
        (stacked, SwapDraws(keys, base, 1, 40, other=True)),
    ):
        assert weights.counts() is not None
        expected = Totals(state, Given(np.concatenate(list(weights.blocks())))).of(metric)
        np.testing.assert_allclose(Totals(state, weights).of(metric), expected, rtol=1.2e-7, atol=1.2e-7)


@every_metric
def test_what_is_not_declared_cannot_be_read(task: str, metric: Metric) -> None:
    asked = metric.adapted()
    nothing = Totals(drawn(task, 1), Plain(np.ones(UNITS))).only(())
    assert asked.needs()
    with pytest.raises(KeyError, match="was not declared"):
        asked.reduce(nothing)


def merged(parts: list[State]) -> State:
    """Parts as one, whatever the task measures into."""
    if is_legacy(parts[0]):
        return state_of(type(stats_of(parts[0])).concat([stats_of(part) for part in parts]))
    return State.merge(parts)


@every_metric_listed
def test_slice_is_a_weight_of_zero_or_one(task: str, metric: Metric) -> None:
    stats = drawn(task, 5)
    mask = np.arange(UNITS) % 2 == 0
    assert same(value(metric, stats.take(np.flatnonzero(mask))), value(metric, stats, mask.astype(float)), 1e-9)


@every_metric_listed
def test_integer_weights_are_repeated_units(task: str, metric: Metric) -> None:
    stats = drawn(task, 6)
    counts = np.random.default_rng(7).integers(0, 4, UNITS)
    repeated = State.stack([stats.take(np.array([i])) for i in range(UNITS) for _ in range(counts[i])])
    assert same(value(metric, repeated), value(metric, stats, counts.astype(float)), 1e-9)


@every_metric_listed
def test_scale_of_weights_does_not_matter(task: str, metric: Metric) -> None:
    stats = drawn(task, 8)
    weights = np.random.default_rng(9).uniform(0.1, 2, UNITS)
    assert same(value(metric, stats, weights), value(metric, stats, 8 * weights), 1e-9)


@every_metric
def test_nothing_is_undefined_with_a_reason(task: str, metric: Metric) -> None:
    stats = drawn(task, 10)
    nothing = Totals(stats, Plain(np.zeros(UNITS)))
    assert np.isnan(nothing.of(metric)[0])
    asked = metric.adapted()
    assert asked.why(nothing.only(asked.needs()))


@pytest.mark.parametrize(("task", "metric"), [case for case in EVERY if case.values[1].better != "none"])
def test_perfect_predictions_are_best(task: str, metric: Metric) -> None:
    truth, predictions = DRAW[task](np.random.default_rng(11), UNITS)
    best = {"lower": metric.range[0], "higher": metric.range[1], "zero": 0.0, "one": 1.0}[metric.better]
    found = value(metric, measured(task, truth, PERFECT[task](truth)))
    if metric.reaches_best:
        assert same(found, best)
    else:  # how near the end of the range is depends on the data
        assert abs(found - best) < abs(value(metric, measured(task, truth, predictions)) - best)


@every_metric_listed
def test_every_kind_of_weights_agrees_with_the_plain_ones(task: str, metric: Metric) -> None:
    """A row of draws, of the jackknife or of single units gives what the same weights give by themselves."""
    a, b = drawn(task, 12), drawn(task, 13)
    if (a.units.ids != b.units.ids).any():
        pytest.fail("drawn data of one size must have the same unit ids")
    keys, base = unit_keys(a.units.ids), np.random.default_rng(14).uniform(0.5, 2, UNITS)
    stacked = State.stack([a, b])
    cases = [
        (a, EachUnit(UNITS)),
        (a, LeaveOneOut(base)),
        (a, BootstrapDraws(keys, base, 1, 40)),
        (stacked, SwapDraws(keys, base, 1, 40)),
        (stacked, SwapDraws(keys, base, 1, 40, other=True)),
    ]
    for stats, weights in cases:
        found = Totals(stats, weights).of(metric)
        rows = np.concatenate(list(weights.blocks()))
        assert found.shape == (weights.rows,) == (len(rows),)
        expected = [value(metric, stats, row) for row in rows]
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def expandable(state: State) -> Any:
    return shown(state) if is_legacy(state) else state.facts


@every_task
def test_report_of_all_metrics(task: str) -> None:
    truth, predictions = DRAW[task](np.random.default_rng(15), UNITS)
    wanted = list(catalogue.metrics(task))
    report = api.evaluate(task, truth, predictions, wanted, draws=200)
    again = api.evaluate(task, truth, predictions, wanted, draws=200)
    for metric in [m for one in wanted for m in one.expand(expandable(drawn(task, 15)))]:
        score = report[str(metric)]
        assert score.interval is not None
        assert score.interval[0] <= score.interval[1]
        assert score.interval == again[str(metric)].interval
        assert score.units == UNITS


@every_task
def test_comparison_with_itself_shows_nothing(task: str) -> None:
    truth, predictions = DRAW[task](np.random.default_rng(16), UNITS)
    comparison = api.compare(task, truth, predictions, predictions, list(catalogue.metrics(task)), draws=200)
    for difference in comparison.differences.values():
        assert difference.difference == 0
        assert difference.p == 1
        assert difference.verdict == "no difference shown"
