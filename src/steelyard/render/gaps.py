"""Gaps between the groups of a slice as a table: for text, Markdown, pages and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.core.slice import Slice, slice_text
from steelyard.render.numbers import in_unit, interval_text, p_text, percent_text, value_text

if TYPE_CHECKING:
    from steelyard.results.report import Report
    from steelyard.results.score import Gap


def gaps_by(report: Report, by: Slice) -> list[Gap]:
    """The gaps of one slicing."""
    return [gap for gap in report.gaps if gap.by == slice_text(by)]


def gap_cells(gaps: Sequence[Gap]) -> tuple[list[str], list[list[str]]]:
    """A header and a row per metric; a ratio where one has it."""
    if not gaps:
        return [], []
    level = f"{percent_text(gaps[0].confidence)} interval"
    rated = any(gap.ratio_interval is not None for gap in gaps)
    rows = []
    for gap in gaps:
        size = in_unit(value_text(gap.difference, gap.interval), gap.measured_in)
        row = [gap.spec, size, interval_text(gap.difference, gap.interval)]
        if rated:
            row += [value_text(gap.ratio, gap.ratio_interval, 2) if gap.ratio_interval else "–"]
            row += [interval_text(gap.ratio, gap.ratio_interval, 2)]
        rows.append([*row, gap.worst, p_text(gap.p_adjusted)])
    return ["metric", "gap", level, *(["ratio", level] if rated else []), "worst", "p"], rows


def gap_legend(gaps: Sequence[Gap]) -> str:
    """How the table is to be read."""
    most, left_out = max(gap.groups for gap in gaps), max(gap.excluded for gap in gaps)
    pairs = "" if most == 2 else f" The interval and p hold for all pairs of {most} groups together."
    without = f" Without an interval: {count_text(left_out, 'group')}." if left_out else ""
    return f"Gap: the highest value less the lowest; ratio: the lowest over the highest.{pairs}{without}"
