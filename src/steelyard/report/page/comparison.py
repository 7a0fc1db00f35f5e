"""The page of two models or more on the same truth."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from steelyard.core.figure import Figure
from steelyard.report.numbers import count_text, interval_text, p_text, signed, value_text
from steelyard.report.page.frame import Section, bullets, document
from steelyard.report.page.report import provenance_facts, top
from steelyard.report.page.scores import whisker
from steelyard.report.page.tables import Cell, number_cell, table
from steelyard.report.text import ARROWS, legend

if TYPE_CHECKING:
    from steelyard.report.model import Comparison


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Every figure of a comparison."""
    return []


def comparison_page(comparison: Comparison) -> str:
    """The page."""
    units = next((d.units for d in comparison.differences.values()), 0)
    a, b = comparison.provenance_a, comparison.provenance_b
    rows = []
    for d in comparison.differences.values():
        rows.append(
            [
                Cell(f"<code>{escape(d.spec)}</code><br><small>{escape(d.label)}</small>", head=True),
                number_cell(d.a.value, f"{ARROWS[d.better]} {value_text(d.a.value, d.a.interval)}"),
                number_cell(d.b.value, value_text(d.b.value, d.b.interval)),
                number_cell(d.difference, signed(d.difference, d.interval)),
                Cell(escape(interval_text(d.difference, d.interval))),
                Cell(whisker(d.difference, d.interval)),
                number_cell(d.p_holm, p_text(d.p_holm)),
                Cell(f'<span class="verdict {d.verdict.split()[0]}">{escape(d.verdict)}</span>'),
            ]
        )
    said = legend(d.better for d in comparison.differences.values())
    sides = [("A: ", a), ("B: ", b)]
    body = (
        table("Differences", ["metric", "A", "B", "B − A", "interval", "", "p (Holm)", "B is"], rows)
        + f'<p class="legend">{escape(said)}. The dashed line in the picture is no difference.</p>'
    )
    sections = [
        Section("differences", "Differences", body),
        Section("remarks", "Remarks", bullets(comparison.notes) if comparison.notes else ""),
        Section("source", "Where the numbers come from", provenance_facts(sides)),
    ]
    line = f"{count_text(units, comparison.unit)}, paired"
    return document(f"Steelyard: {comparison.task}", top(f"Compared: {comparison.task}", line, sides), sections)
