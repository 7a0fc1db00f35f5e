"""A plan as a table for a terminal and as Markdown: a row per metric, a column per size of test set."""

from __future__ import annotations

from steelyard.core.counts import count_text
from steelyard.render.markdown import code, plain
from steelyard.render.text import bullet, grid
from steelyard.render.verdicts import size_text
from steelyard.results.plan import StudyPlan


def plan_text(plan: StudyPlan, width: int = 80) -> str:
    """The smallest difference that each size shows, then the units that each target needs."""
    header, rows = _table(plan)
    lines = [_top(plan, "\n"), "", grid(header, rows, "l" + "r" * (len(header) - 1), width), *_needs(plan)]
    return "\n".join([*lines, *(bullet(note, width) for note in plan.notes)])


def plan_markdown(plan: StudyPlan) -> str:
    """The same for a pull request."""
    header, rows = _table(plan)
    cells = [[f"`{code(row[0])}`", *row[1:]] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---", *["---:"] * (len(header) - 1)], *cells)]
    needs = "\n".join(f"- {plain(line)}" for line in [*_needs(plan), *plan.notes])
    return "\n\n".join(part for part in (plain(_top(plan, " ")), "\n".join(lines), needs) if part) + "\n"


def _top(plan: StudyPlan, between: str) -> str:
    return (
        f"From a pilot of {count_text(plan.units, plan.unit)}: the smallest difference shown with "
        f"{100 * plan.power:g} % power,{between}by number of units, one test at a time"
    )


def _table(plan: StudyPlan) -> tuple[list[str], list[list[str]]]:
    header = ["metric", *(f"{n:,}" for n, _, _ in plan.metrics[0].curve)]
    return header, [
        [f"{one.spec} {one.measured_in}".strip(), *(size_text(shown) for _, shown, _ in one.curve)]
        for one in plan.metrics
    ]


def _needs(plan: StudyPlan) -> list[str]:
    return [
        f"{one.spec} of {one.target:g}: about {one.needed.units:,} units; plan for {one.needed.cautious:,}."
        for one in plan.metrics
        if one.needed is not None
    ]
