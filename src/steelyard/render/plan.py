"""A plan as a table for a terminal and as Markdown: rows per metric, a column per size of test set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from textwrap import fill

from steelyard.core.counts import count_text
from steelyard.render.markdown import code, plain
from steelyard.render.numbers import percent_text
from steelyard.render.text import bullet, grid
from steelyard.render.verdicts import size_text
from steelyard.results.plan import LABELLED, MOST_UNITS, MetricPlan, Planned, StudyPlan


def plan_text(plan: StudyPlan, width: int = 80) -> str:
    """What each size shows, then the units that each target needs."""
    header, rows = _table(plan)
    top = fill(quantity_line(plan), width)
    lines = [pilot_line(plan), top, "", grid(header, rows, "l" + "r" * (len(header) - 1), width)]
    lines += [bullet(line, width) for line in needs(plan)]
    for title, head, cells in tables(plan):
        lines += ["", fill(title, width), grid(head, cells, "r" * len(head), width)]
    return "\n".join([*lines, *(bullet(note, width) for note in plan.notes)])


def plan_markdown(plan: StudyPlan) -> str:
    """The plan as Markdown, for a pull request."""
    header, rows = _table(plan)
    parts = [plain(f"{pilot_line(plan)} {quantity_line(plan)}"), _markdown(header, rows)]
    parts.append("\n".join(f"- {plain(line)}" for line in needs(plan)))
    for title, head, cells in tables(plan):
        parts += [plain(title), _markdown(head, cells)]
    parts.append("\n".join(f"- {plain(note)}" for note in plan.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    cells = [[f"`{code(row[0].strip())}`", *row[1:]] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---", *["---:"] * (len(header) - 1)], *cells))


def pilot_line(plan: StudyPlan) -> str:
    """What the plan was made from."""
    part = f" ({plan.slice}, {percent_text(plan.share)} of all units)" if plan.slice else ""
    return f"From a pilot of {count_text(plan.units, plan.unit)}{part}:"


def quantity_line(plan: StudyPlan) -> str:
    """What the numbers of the table are."""
    by = f"by number of {plan.cluster or 'units'}" if not plan.cluster else f"by number of clusters ({plan.cluster})"
    if plan.quantity == "width":
        return f"width of the {percent_text(plan.confidence)} interval, {by}"
    tests = "per test"
    if plan.family > 1:
        tests = f"{plan.family:,} tests together by {plan.family_method}: {100 * plan.level:.2g} % each"
    return f"minimum detectable difference ({percent_text(plan.power)} power, {tests}), {by}"


def _table(plan: StudyPlan) -> tuple[list[str], list[list[str]]]:
    """Two rows per metric: what the pilot says, and the cautious number; then the range of pilots as a factor."""
    ranged = not any(math.isnan(metric.spread[0]) for metric in plan.metrics)
    header = ["metric", *(f"{n:,}" for n, _, _ in plan.metrics[0].curve), *(["10–90 % of pilots"] if ranged else [])]
    rows = []
    for metric in plan.metrics:
        low, high = (f"{math.sqrt(factor):.2f}" for factor in metric.spread)
        name, shown = f"{metric.spec} {metric.measured_in}".strip(), [size_text(shown) for _, shown, _ in metric.curve]
        rows.append([name, *shown, *([f"× {low}–{high}"] if ranged else [])])
        rows.append(["  cautious", *(size_text(careful) for _, _, careful in metric.curve), *([""] if ranged else [])])
    return header, rows


def needs(plan: StudyPlan) -> list[str]:
    """How many units each wish needs, as sentences."""
    lines = []
    for metric in plan.metrics:
        unit = f" {metric.measured_in}" if metric.measured_in else ""
        if metric.needed is not None:
            lines.append(
                f"{metric.spec} of {metric.target:g}{unit}: {_planned_text(plan, metric.needed, _unit_noun(plan))}"
            )
        if metric.width is not None:
            by_proxy = metric.table is not None and metric.table.row_name == LABELLED
            counted = LABELLED if by_proxy else _unit_noun(plan)
            units_text = (
                _planned_text(plan, metric.needed_for_width, counted)
                if metric.needed_for_width is not None
                else "no number of labels is enough; more units must be judged by the proxy."
            )
            lines.append(f"{metric.spec}, interval {metric.width:g}{unit} wide: {units_text}")
    return lines


def _unit_noun(plan: StudyPlan) -> str:
    return "clusters" if plan.cluster else "units"


def _planned_text(plan: StudyPlan, planned: Planned, counted: str) -> str:
    """Three numbers: the pilot's, the cautious one, and the range of pilots."""
    where = f" of {plan.slice}" if plan.slice else ""
    text = f"{number_text(planned.units)} {counted}{where} from this pilot; plan for {number_text(planned.cautious)}"
    if planned.high:
        text += f"; 10–90 % of such pilots say {number_text(planned.low)} to {number_text(planned.high)}"
    if plan.slice:
        whole = [number_text(math.ceil(n / plan.share - 1e-9)) for n in (planned.units, planned.cautious)]
        text += f". In all, {whole[0]} units; plan for {whole[1]}"
    return f"{text}."


def number_text(units: int) -> str:
    """A number of units; what no test set has is said so."""
    return f"{units:,}" if units < MOST_UNITS else "more than any test set has"


def tables(plan: StudyPlan) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """The tables of two things that can grow: a title, a header and rows, with the cautious number in parentheses."""
    for metric in plan.metrics:
        if metric.table is not None:
            table = metric.table
            header = [table.row_name, *(f"{n:,}" for n in table.columns)]
            cells = [
                [f"{n:,}", *(f"{size_text(said)} ({size_text(careful)})" for said, careful in row)]
                for n, row in zip(table.rows, table.cells, strict=True)
            ]
            yield table_title(plan, metric), header, cells


def table_title(plan: StudyPlan, metric: MetricPlan) -> str:
    """What a table of two things shows."""
    assert metric.table is not None
    width = plan.quantity == "width"
    shown = f"width of the {percent_text(plan.confidence)} interval" if width else "minimum detectable difference"
    unit = f" in {metric.measured_in}" if metric.measured_in else ""
    axes = f"{metric.table.row_name} and {metric.table.column_name}"
    return f"{metric.spec}: {shown}{unit}, by {axes} (cautious in parentheses)"
