"""Laws of a task: its report, its comparison, its pages, and every way on which its data may come."""

from __future__ import annotations

from typing import Any

from steelyard.api import compare, evaluate
from steelyard.core.catalogue import parse_for
from steelyard.files import check
from steelyard.partial.accumulator import Accumulator
from steelyard.results.report import Report
from steelyard.testing.case import PARTS, UNITS, Case
from steelyard.testing.drawn import cut
from steelyard.testing.expect import require, require_equal

DRAWS = 200


def _report(case: Case, seed: int, **settings: Any) -> Report:
    truth, predictions = case.draw(seed)
    policy: Any = dict(case.drawn.policy)
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
    for spec, score in report.scores.items():
        low, high = score.interval or (1.0, 0.0)
        require(low <= high or spec in totals, f"'{spec}' has no interval")
        require(score.interval is None or spec not in totals, f"'{spec}' is a total and has an interval")
        require(score == again.scores[spec], f"'{spec}' differs from run to run")
        require(score.units == UNITS, f"'{spec}' stands on {score.units} units of {UNITS}")


def comparison_with_itself_shows_nothing(case: Case) -> None:
    """A model does not differ from itself."""
    truth, predictions = case.draw(16)
    policy: Any = dict(case.drawn.policy)
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
        policy: Any = dict(case.drawn.policy)
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
    report = check(case.task.name, *case.draw(23))
    errors = [finding.what for finding in report.errors]
    require(not errors, f"`check` finds errors in drawn data: {errors}")


TASK_LAWS = (
    defaults_are_specs, report_is_repeatable, comparison_with_itself_shows_nothing, batches_are_the_whole,
    report_can_be_shown, drawn_data_are_healthy,
)  # fmt: skip
