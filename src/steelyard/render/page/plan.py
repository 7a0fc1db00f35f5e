"""The page of a plan: what difference test sets of each size show, as curves and as a table, and what targets need."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape

import numpy as np

from steelyard.core.figure import Figure
from steelyard.core.table import Table
from steelyard.render.page.figures import figure_blocks
from steelyard.render.page.frame import Section, bullets, document
from steelyard.render.page.tables import Cell, head_cell, number_cell, table
from steelyard.render.plan import needs, number_text, pilot_line, quantity_line, tables
from steelyard.render.verdicts import size_text
from steelyard.results.plan import MetricPlan, StudyPlan

POINTS = 40  # along a curve


def plan_page(plan: StudyPlan) -> str:
    """The page."""
    sections = [
        Section("targets", "What is needed", _targets(plan), "Targets"),
        Section("sizes", _capital(quantity_line(plan)), _sizes(plan), "Sizes"),
        Section("tables", "Two things that can grow", _tables(plan), "Tables"),
        Section("curves", "The same as curves", figure_blocks(plan_figures(plan)), "Curves"),
        Section("remarks", "Remarks", bullets(_remarks(plan))),
    ]
    line = pilot_line(plan).removesuffix(":")
    top = f'<p class="kicker">Steelyard</p><h1>Plan of a test set</h1><p class="line">{escape(line)}</p>'
    return document("Steelyard: plan", top, sections)


def plan_figures(plan: StudyPlan) -> list[Figure]:
    """A curve per metric, with a band up to what holds if the pilot's error is too small."""
    return [_curve(plan, i, one) for i, one in enumerate(plan.metrics) if len({n for n, _, _ in one.curve}) > 1]


def _curve(plan: StudyPlan, place: int, metric: MetricPlan) -> Figure:
    ordered = sorted(set(metric.curve))
    units = np.geomspace(ordered[0][0], ordered[-1][0], POINTS)
    # Both fall with the square root of the number of units, or nearly so: the logarithms are joined by lines.
    log_sizes = np.log([n for n, _, _ in ordered])
    shown, careful = (np.exp(np.interp(np.log(units), log_sizes, np.log([row[k] for row in ordered]))) for k in (1, 2))
    measure = f", {metric.measured_in}" if metric.measured_in else ""
    wanted = "".join(f" {line}" for line in needs(replace(plan, metrics=(metric,))))
    names, numbers = tuple(f"{n:,}" for n, _, _ in ordered), np.array([ends for _, *ends in ordered])
    axis = "width" if plan.quantity == "width" else "difference"
    title = f"{metric.spec}: {'width of the interval' if plan.quantity == 'width' else 'minimum detectable difference'}"
    return Figure(
        f"plan_{place + 1}",
        "curves",
        title,
        {"x": units, "y": shown, "low": shown, "high": careful},
        {"x": f"units ({plan.unit})", "y": f"{axis}{measure}", "ticks": [n for n, _, _ in ordered]},
        f"{_capital(quantity_line(plan))}; the band ends where the pilot's error is too small.{wanted}",
        Table(f"plan_{place + 1}", title, "units", names, ("from the pilot", "cautious"), numbers),
    )


def _sizes(plan: StudyPlan) -> str:
    sizes = [n for n, _, _ in plan.metrics[0].curve]
    rows = [
        [head_cell(f"{one.spec} {one.measured_in}".strip()), *(_size(one, *row) for row in one.curve)]
        for one in plan.metrics
    ]
    legend = "Below each number: the cautious one, and the range that 10 to 90 % of such pilots would say."
    return table(_capital(quantity_line(plan)), ["metric", *(f"{n:,}" for n in sizes)], rows) + (
        f'<p class="legend">{legend}</p>'
    )


def _size(metric: MetricPlan, units: int, plain: float, careful: float) -> Cell:
    low, high = (size_text(math.sqrt(factor) * plain) for factor in metric.spread)
    ends = "" if math.isnan(metric.spread[0]) else f"<br><small>{escape(f'{low}–{high}')}</small>"
    return Cell(f"{escape(size_text(plain))}<br><small>{escape(size_text(careful))}</small>{ends}", plain)


def _tables(plan: StudyPlan) -> str:
    return "".join(
        table(title, header, [[head_cell(row[0]), *(Cell(escape(text), 0.0) for text in row[1:])] for row in rows])
        for title, header, rows in tables(plan)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _targets(plan: StudyPlan) -> str:
    header = ["metric", "wanted", "from this pilot", "plan for", "10–90 % of pilots"]
    rows = []
    for metric in plan.metrics:
        wishes = (
            (metric.target, metric.needed, "difference of"),
            (metric.width, metric.needed_for_width, "interval width"),
        )
        for size, planned, what in wishes:
            if size is not None and planned is not None:
                rows.append(
                    [
                        head_cell(metric.spec),
                        number_cell(size, f"{what} {size:g} {metric.measured_in}".strip()),
                        number_cell(planned.units, number_text(planned.units)),
                        number_cell(planned.cautious, number_text(planned.cautious)),
                        number_cell(
                            planned.low,
                            f"{number_text(planned.low)}–{number_text(planned.high)}" if planned.high else "",
                        ),
                    ]
                )
    remarks = bullets(needs(plan)) if plan.slice else ""
    return (table("Units that are needed", header, rows) if rows else "") + remarks


def _remarks(plan: StudyPlan) -> list[str]:
    return [
        *plan.notes,
        "The standard error shrinks with the square root of the number of units; a pilot knows it only roughly.",
        "Plan from a difference that would matter, never from the pilot's own.",
    ]
