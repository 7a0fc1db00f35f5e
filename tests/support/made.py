"""Pairs and metrics as a test needs them, and what an error says in its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader
from steelyard.core.task import Policy
from steelyard.core.weights import Role
from steelyard.io.sources import read_sides
from support.refusal import refused_parts


def in_turn(names: Sequence[str] | str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A test of many quick cases, run one after the other: a failure names its case. As pytest's parametrize."""
    several = not isinstance(names, str)

    def made(test: Callable[..., None]) -> Callable[[], None]:
        def every() -> None:
            for case in cases:
                try:
                    test(*case) if several else test(case)
                except BaseException as error:
                    error.add_note(f"The case is {case!r}.")
                    raise

        every.__name__, every.__doc__, every.__module__ = test.__name__, test.__doc__, test.__module__
        return every

    return made


def pairs_of(task: str, truth: Any, predictions: Any, policy: Policy | None = None, **options: Any) -> Any:
    """What a task joins of two sides."""
    known = catalogue.find_task(task)
    given = Options(known.options, options)
    return known.join(*read_sides(known, truth, predictions, {}, given), policy or known.policy, given)


def refusal(act: Callable[..., Any], *arguments: Any, **settings: Any) -> list[str]:
    """What an error says: what is wrong, where, and the remedy."""
    return [*refused_parts(act, *arguments, **settings)]


def refused(task: str, truth: Any, predictions: Any, metrics: Any = None, **settings: Any) -> list[str]:
    """What an evaluation that cannot be made says."""
    return refusal(sy.evaluate, task, truth, predictions, metrics, confidence=None, **settings)


def check_examples(task: str, expected: Mapping[str, tuple[tuple[str, str], ...]]) -> None:
    """The examples of every metric of a task, as they are written and as they are called."""
    known = catalogue.find_task(task)
    assert {cls.name for cls in known.metrics} == set(expected)
    for cls in known.metrics:
        assert tuple((str(made), made.label) for made in cls.examples()) == expected[cls.name]


def metric(task: str, spec: str) -> Metric:
    """The metric of a spec."""
    return catalogue.parse(spec, task)


def examples(task: str) -> dict[str, list[str]]:
    """The examples of every metric of a task, as specs."""
    return {cls.name: [str(one) for one in cls.examples()] for cls in catalogue.find_task(task).metrics}


def labels(task: str, *specs: str) -> list[str]:
    """What tables call metrics."""
    return [metric(task, spec).label for spec in specs]


def check_choices(task: str, spec: str, field: str, *allowed: str) -> None:
    """A setting takes each of its values, and refuses others and other spellings of them; `spec` has a place {}."""
    name = spec.partition("(")[0].partition("@")[0].partition("{")[0]
    for value in allowed:
        assert metric(task, spec.format(value)) is not None
    for value in ("other", *(value.upper() for value in allowed if value.islower())):
        said = refusal(metric, task, spec.format(value))
        assert said == [f"metric '{name}': {field} cannot be {value}", "", f"Choose one of: {', '.join(allowed)}."]


def check_range(task: str, spec: str, field: str, taken: list[str], not_taken: list[str], remedy: str) -> None:
    """A setting takes some numbers and refuses others; `spec` has a place {}."""
    name = spec.partition("(")[0].partition("@")[0]
    for value in taken:
        assert metric(task, spec.format(value)) is not None
    for value in not_taken:
        assert refusal(metric, task, spec.format(value)) == [f"metric '{name}': {field} cannot be {value}", "", remedy]


def values(task: str, truth: Any, predictions: Any, *specs: str, **settings: Any) -> list[float]:
    """The values of some metrics."""
    report = sy.evaluate(task, truth, predictions, list(specs), confidence=None, **settings)
    return [report[spec].value for spec in specs]


def by_unit(task: str, truth: Any, predictions: Any, spec: str, **settings: Any) -> list[float]:
    """The values of one metric, unit by unit."""
    report = sy.evaluate(task, truth, predictions, [spec], confidence=None, **settings)
    return [float(value) for value in report.units().values[spec]]


def state_of(pairs: Any, *metrics: Metric) -> State:
    """What is kept of pairs for some metrics."""
    wanted = [need for one in metrics for need in one.requirements()]
    return State.of(pairs, [need.ranking if isinstance(need, RankingReader) else need for need in wanted])


def check_left_out(task: str, truth: Any, predicted: Any, key: str, specs: Sequence[str], **options: Any) -> None:
    """Metrics of each unit left out, for all rows of weights at once, are those of the data without it."""
    asked = [metric(task, spec) for spec in specs]
    state = state_of(pairs_of(task, truth, predicted, **options), *asked)
    totals = state.totals(WeightPlan(Role.JACKKNIFE))
    values = {str(one): totals.of(one) for one in asked}
    units = [str(unit) for unit in state.units.ids.tolist()]
    for row, unit in enumerate(units):
        without = pairs_of(task, _without(truth, key, unit), _without(predicted, key, unit), **options)
        alone = state_of(without, *asked).totals(POINT)
        for one in asked:
            expected = float(alone.of(one)[0])
            assert float(values[str(one)][row]) == pytest.approx(expected, nan_ok=True, abs=1e-9), (str(one), unit)


def check_alone(task: str, truth: Any, predicted: Any, key: str, specs: Sequence[str], **options: Any) -> None:
    """Metrics of each unit alone, for all units at once, are those of the data of that unit."""
    asked = [metric(task, spec) for spec in specs]
    state = state_of(pairs_of(task, truth, predicted, **options), *asked)
    totals = state.totals(UNITS)
    values = {str(one): totals.of(one) for one in asked}
    for row, unit in enumerate(str(unit) for unit in state.units.ids.tolist()):
        own = pairs_of(task, _only(truth, key, unit), _only(predicted, key, unit), **options)
        alone = state_of(own, *asked).totals(POINT)
        for one in asked:
            expected = float(alone.of(one)[0])
            assert float(values[str(one)][row]) == pytest.approx(expected, nan_ok=True, abs=1e-9), (str(one), unit)


def _without(data: Any, key: str, unit: str) -> dict[str, Any]:
    kept = [i for i, name in enumerate(data[key]) if str(name) != unit]
    return {name: [column[i] for i in kept] for name, column in data.items()}


def _only(data: Any, key: str, unit: str) -> dict[str, Any]:
    kept = [i for i, name in enumerate(data[key]) if str(name) == unit]
    return {name: [column[i] for i in kept] for name, column in data.items()}
