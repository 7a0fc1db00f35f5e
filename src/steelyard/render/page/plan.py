"""The page of a plan: what difference test sets of each size show, as curves and as a table, and what targets need."""

from __future__ import annotations

from html import escape

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.figure import Figure
from steelyard.core.table import Table
from steelyard.render.charts.library import available
from steelyard.render.numbers import percent_text
from steelyard.render.page.figures import NO_CHARTS, figure_blocks
from steelyard.render.page.frame import Section, bullets, document
from steelyard.render.page.tables import Cell, head_cell, number_cell, table
from steelyard.render.verdicts import size_text
from steelyard.results.plan import MetricPlan, StudyPlan

POINTS = 40  # along a curve


def plan_page(plan: StudyPlan) -> str:
    """The page."""
    sections = [
        Section("targets", "Units that a difference needs", _targets(plan), "Targets"),
        Section("sizes", "Smallest difference shown, by number of units", _sizes(plan), "Sizes"),
        Section("curves", "The same as curves", figure_blocks(plan_figures(plan)), "Curves"),
        Section("remarks", "Remarks", bullets(_remarks(plan))),
    ]
    line = f"From a pilot of {count_text(plan.units, plan.unit)}, at {percent_text(plan.power)} power"
    top = f'<p class="kicker">Steelyard</p><h1>Plan of a test set</h1><p class="line">{escape(line)}</p>'
    return document("Steelyard: plan", top, sections)


def plan_figures(plan: StudyPlan) -> list[Figure]:
    """A curve per metric, with a band up to what holds if the pilot's error is too small."""
    return [_curve(plan, i, one) for i, one in enumerate(plan.metrics) if len({n for n, _, _ in one.curve}) > 1]


def _curve(plan: StudyPlan, place: int, one: MetricPlan) -> Figure:
    ordered = sorted(set(one.curve))
    units = np.geomspace(ordered[0][0], ordered[-1][0], POINTS)
    first, shown, careful = ordered[0]
    shrink = np.sqrt(first / units)  # a standard error shrinks with the square root of the number of units
    measure = f", {one.measured_in}" if one.measured_in else ""
    wanted = ""
    if one.needed is not None:
        size = f"{one.target:g} {one.measured_in}".strip()
        wanted = f" {size} need about {one.needed.units:,} units; plan for {one.needed.cautious:,}."
    names, numbers = tuple(f"{n:,}" for n, _, _ in ordered), np.array([ends for _, *ends in ordered])
    return Figure(
        f"plan_{place + 1}",
        "curves",
        f"{one.spec}: smallest difference shown",
        {"x": units, "y": shown * shrink, "low": shown * shrink, "high": careful * shrink},
        {"x": f"units ({plan.unit})", "y": f"difference{measure}", "ticks": [n for n, _, _ in ordered]},
        f"Shown with {percent_text(plan.power)} power, one test at a time; the band ends where the pilot took its "
        f"error too small.{wanted}",
        Table(
            f"plan_{place + 1}",
            f"{one.spec}: smallest difference shown",
            "units",
            names,
            ("shown", "cautious"),
            numbers,
        ),
    )


def _sizes(plan: StudyPlan) -> str:
    sizes = [n for n, _, _ in plan.metrics[0].curve]
    rows = [
        [
            head_cell(f"{one.spec} {one.measured_in}".strip()),
            *(_size(plain, careful) for _, plain, careful in one.curve),
        ]
        for one in plan.metrics
    ]
    legend = "Below each number: the same if the pilot took its error too small."
    return table("Smallest difference shown", ["metric", *(f"{n:,}" for n in sizes)], rows) + (
        f'<p class="legend">{legend}</p>'
    )


def _size(plain: float, careful: float) -> Cell:
    return Cell(f"{escape(size_text(plain))}<br><small>{escape(size_text(careful))}</small>", plain)


def _targets(plan: StudyPlan) -> str:
    rows = [
        [
            head_cell(one.spec),
            number_cell(one.target or 0.0, f"{one.target:g} {one.measured_in}".strip()),
            number_cell(one.needed.units, f"{one.needed.units:,}"),
            number_cell(one.needed.cautious, f"{one.needed.cautious:,}"),
        ]
        for one in plan.metrics
        if one.needed is not None
    ]
    return (
        table("Units that a difference needs", ["metric", "difference", "units, about", "plan for"], rows)
        if rows
        else ""
    )


def _remarks(plan: StudyPlan) -> list[str]:
    remarks = [
        *plan.notes,
        "The standard error shrinks with the square root of the number of units; a pilot knows it only roughly.",
        "Plan from a difference that would matter, never from the pilot's own.",
    ]
    return remarks if available() else [*remarks, NO_CHARTS]
