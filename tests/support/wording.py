"""The form of errors, findings, figures and tables, whatever they say: checked in every test that makes one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from steelyard.checks.check import Problem
from steelyard.checks.findings import Finding
from steelyard.core.errors import InputError
from steelyard.core.figure import Figure, Listing
from steelyard.core.table import Table
from steelyard.render.charts.draw import CHARTS
from steelyard.render.charts.overlays import MARKUP


def is_prose(text: Any) -> bool:
    """Whether a text has words in small letters, or is an abbreviation such as ROC; "PQs" is prose, "PQand" is not."""
    if not isinstance(text, str) or re.match(r"[A-Z]{2,}(?!s\b)[a-z]", text):
        return False
    return bool(re.search(r"[a-z]", text) or re.fullmatch(r"[A-Z]{2,5}", text))


def is_sentence(text: Any) -> bool:
    """Whether a text begins with a capital, a digit, a quotation, a file or a name, and ends as sentences do."""
    if not is_prose(text):
        return False
    return bool(
        re.match(r"[A-Z0-9`'\"({\[/]|[a-z]+[A-Z]|\S+[@:_]|\w+ must be ", text) and re.search(r"[.?!`')…\]]\Z|\n", text)
    )


def check_error(error: InputError) -> None:
    assert is_prose(error.what) or re.match(r"\w+ is '", error.what), f"what is wrong: {error.what!r}"
    assert isinstance(error.where, str), f"where: {error.where!r}"
    assert error.remedy == "" or is_sentence(error.remedy), f"the remedy: {error.remedy!r}"


def check_remedy(error: InputError) -> None:
    assert error.remedy, f"{error.what}: no remedy"


def check_finding(finding: Finding | Problem) -> None:
    assert is_sentence(finding.what), f"what was found: {finding.what!r}"
    assert finding.remedy == "" or is_sentence(finding.remedy), f"the remedy: {finding.remedy!r}"
    assert all(isinstance(count, int | np.integer) for count in (finding.count, finding.total)), (
        finding.count,
        finding.total,
    )
    assert all(isinstance(place, str) for place in finding.examples), f"the examples: {finding.examples!r}"


def check_head(shown: Figure | Listing | Table) -> None:
    assert re.match(r"[a-z0-9]", shown.name), f"the name: {shown.name!r}"
    assert is_prose(shown.title), f"the title: {shown.title!r}"


def check_figure(figure: Figure) -> None:
    check_head(figure)
    assert is_sentence(f"{figure.title}.") or figure.title.isupper(), f"the title: {figure.title!r}"
    assert figure.caption == "" or is_sentence(figure.caption), f"the caption: {figure.caption!r}"
    assert figure.chart in {*CHARTS, *MARKUP}, f"the chart: {figure.chart!r}"
    assert len({len(column) for column in figure.columns.values()}) <= 1, "columns of different lengths"


def check_listing(listing: Listing) -> None:
    check_head(listing)
    assert len({len(column) for column in listing.columns.values()}) <= 1, "columns of different lengths"
    assert {listing.colour, listing.x} <= {"", *listing.columns}, f"no columns: {listing.colour!r}, {listing.x!r}"


def check_table(table: Table) -> None:
    check_head(table)
    assert isinstance(table.corner, str), f"the corner: {table.corner!r}"
    assert all(isinstance(name, str) for name in (*table.rows, *table.columns)), (table.rows, table.columns)
    assert table.values.shape == (len(table.rows), len(table.columns)), table.values.shape


# What is checked, how, and in which modules it is made: tests and plugins say what they like.
CHECKS: dict[type, tuple[tuple[Callable[[Any], None], tuple[str, ...]], ...]] = {
    InputError: ((check_error, ("steelyard.",)), (check_remedy, ("steelyard.core.", "steelyard.engine."))),
    Finding: ((check_finding, ("steelyard.",)),),
    Problem: ((check_finding, ("steelyard.",)),),
    Figure: ((check_figure, ("steelyard.tasks.",)),),
    Listing: ((check_listing, ("steelyard.tasks.",)),),
    Table: ((check_table, ("steelyard.tasks.",)),),
}


def check_when_made() -> Callable[[], None]:
    """Check each of these when it is made, until what this returns is called."""
    before: dict[Any, Callable[..., None]] = {kind: kind.__init__ for kind in CHECKS}  # type: ignore[misc]
    for kind, make in before.items():
        kind.__init__ = _with_checks(make, CHECKS[kind])

    def end() -> None:
        for kind, make in before.items():
            kind.__init__ = make

    return end


def _with_checks(
    make: Callable[..., None], checks: tuple[tuple[Callable[[Any], None], tuple[str, ...]], ...]
) -> Callable[..., None]:
    @wraps(make)
    def made(self: Any, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        module = sys._getframe(1).f_globals["__name__"]
        for check, modules in checks:
            if module.startswith(modules):
                check(self)

    return made
