"""Results as one self-contained page: `render_html(report)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.report.model import Comparison, Lineup, Report


def render_html(result: Report | Comparison | Lineup) -> str:
    """The page of a report, or of a comparison of two models or more."""
    from steelyard.report.model import Lineup, Report

    if isinstance(result, Report):
        from steelyard.report.page.report import report_page

        return report_page(result)
    from steelyard.report.page.comparison import comparison_page

    return comparison_page(result.comparisons if isinstance(result, Lineup) else [result])
