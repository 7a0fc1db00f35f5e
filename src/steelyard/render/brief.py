"""Results in a few lines: what an interpreter shows of one that is not printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steelyard.core.counts import count_text
from steelyard.render.numbers import in_unit, interval_text, p_text, signed_text, value_text
from steelyard.render.verdicts import verdict_text

if TYPE_CHECKING:
    from steelyard.results.details import UnitTable
    from steelyard.results.score import Difference, Gap, Score

LINES = 10  # at most
LONGEST = 110  # characters of a line


def brief(result: Any) -> str:
    """The first lines of the result as text, without empty ones, and how many more there are."""
    lines = [line for line in result.to_text().splitlines() if line.strip("─ ")]
    shown = [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines[: LINES - 1]]
    left = len(lines) - len(shown)
    more = [lines[-1]] if left == 1 else [f"… {count_text(left, 'more line')}: print it"] if left else []
    return "\n".join([*shown, *more])


def score_brief(score: Score) -> str:
    """A score in one line."""
    if not score.defined:
        return f"Score({score.spec} is undefined: {score.undefined_reason})"
    parts = [f"{score.spec} = {in_unit(value_text(score.value, score.interval), score.measured_in)}"]
    parts.append(interval_text(score.value, score.interval))
    return f"Score({_join_sentences(parts)}, {count_text(score.units, 'unit')})"


def difference_brief(d: Difference) -> str:
    """A difference in one line."""
    parts = [f"{d.spec}: {in_unit(signed_text(d.difference, d.interval), d.measured_in)}"]
    parts.append(interval_text(d.difference, d.interval))
    return f"Difference({_join_sentences(parts)}, p {p_text(d.p_adjusted)}, {verdict_text(d.verdict)})"


def gap_brief(gap: Gap) -> str:
    """A gap in one line."""
    parts = [f"{gap.spec} by {gap.by}: {value_text(gap.difference, gap.interval)} {gap.measured_in}".strip()]
    parts.append(interval_text(gap.difference, gap.interval))
    worst = f", worst {gap.worst}" if gap.worst else ""
    return f"Gap({_join_sentences(parts)}{worst}, p {p_text(gap.p_adjusted)})"


def units_brief(table: UnitTable) -> str:
    """A table of units in one line."""
    specs = list(table.values)
    more = f" and {len(specs) - 6} more" if len(specs) > 6 else ""
    return f"UnitTable({count_text(len(table.units), table.unit)}: {', '.join(specs[:6])}{more})"


def _join_sentences(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)
