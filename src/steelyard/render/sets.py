"""Pooled sets and drift as tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.core.counts import count_text
from steelyard.render.markdown import code, plain
from steelyard.render.numbers import interval_text, p_text, percent_text, signed_text, value_text
from steelyard.render.remarks import merge_remarks
from steelyard.render.text import ARROWS, bullet, digits_of, grid, paragraph, undefined_remarks
from steelyard.render.verdicts import correction_text, verdict_text
from steelyard.results.score import Difference
from steelyard.results.sets import Drift, Pool

Table = tuple[list[str], list[list[str]], str]


def pool_text(pool: Pool, width: int = 80) -> str:
    """The sets with their weights, the pooled numbers, and what they are about."""
    parts = [pool_line(pool), *(_grid(one, width) for one in pool_tables(pool))]
    return _with_remarks(parts, pool_remarks(pool), pool.verdict, width)


def pool_markdown(pool: Pool) -> str:
    """The pool as Markdown, for a pull request."""
    return _markdown(pool_line(pool), pool.verdict, pool_tables(pool), pool_remarks(pool))


def drift_text(drift: Drift, width: int = 80) -> str:
    """What changed, the groups, and how it was computed."""
    parts = [drift_line(drift), *(_grid(one, width) for one in drift_tables(drift))]
    return _with_remarks(parts, drift_remarks(drift), drift.verdict, width)


def drift_markdown(drift: Drift) -> str:
    """The drift as Markdown, for a pull request."""
    return _markdown(drift_line(drift), drift.verdict, drift_tables(drift), drift_remarks(drift))


def pool_line(pool: Pool) -> str:
    """What was pooled."""
    return f"{pool.task}: {count_text(len(pool.sets), 'set')}, {count_text(pool.units, pool.unit)}, pooled"


def drift_line(drift: Drift) -> str:
    """What is held against what."""
    old, new = (count_text(count, drift.unit) for count in drift.units)
    mix = f", at the old mix of {drift.by}" if drift.by else ""
    return f"{drift.task}: from {drift.old} ({old}) to {drift.new} ({new}){mix}"


def pool_tables(pool: Pool) -> list[Table]:
    """The pooled numbers, then those of each set."""
    level = f"{percent_text(pool.confidence)} interval"
    if pool.differences:
        rows = [
            [*_start(d), *_change(d), p_text(d.p_adjusted), verdict_text(d.verdict).replace("difference", "diff.")]
            for d in pool.differences.values()
        ]
        top: Table = (["", "metric", "A", "B", "B − A", level, "p", "B is"], rows, "llrrrlrl")
    else:
        rows = [
            [
                ARROWS[s.better], s.spec, s.label, f"{value_text(s.value, s.interval)} {s.measured_in}".strip(),
                interval_text(s.value, s.interval) if s.defined else "undefined",
            ]
            for s in pool.scores.values()
        ]  # fmt: skip
        top = (["", "metric", "", "pooled", level], rows, "lllrl")
    specs = list(pool.differences or pool.scores)[:3]
    rows = []
    for member in pool.sets:
        cells = []
        for spec in specs:
            if pool.differences:
                d = member.differences[spec]
                cells.append(
                    f"{signed_text(d.difference, digits_of(d), 2)} {interval_text(d.difference, d.interval, 2)}"
                )
            else:
                s = member.scores[spec]
                cells.append(f"{value_text(s.value, s.interval)} {interval_text(s.value, s.interval)}")
        rows.append([member.name, f"{member.units:,}", f"{member.weight:.3f}", *(cell.strip() for cell in cells)])
    return [top, (["set", "units", "weight", *specs], rows, "lrr" + "l" * len(specs))]


def drift_tables(drift: Drift) -> list[Table]:
    """What changed, then the groups."""
    level, mixed = f"{percent_text(drift.confidence)} interval", bool(drift.by)
    rows = []
    for d in drift.differences.values():
        row = [*_start(d), *_change(d), p_text(d.p_adjusted), verdict_text(d.verdict).replace("difference", "diff.")]
        if mixed:
            row[4:4] = [
                signed_text(drift.plain[d.spec], digits_of(d), 2),
                signed_text(drift.mix[d.spec], digits_of(d), 2),
            ]
        rows.append(row)
    shown = ["plain", "mix"] if mixed else []
    header = ["", "metric", "old", "new", *shown, "old mix" if mixed else "change", level, "p", "new is"]
    tables: list[Table] = [(header, rows, "llrr" + "r" * len(shown) + "rlrl")]
    if mixed:
        groups = [
            [one.value, f"{one.old_units:,}", f"{one.new_units:,}", "left out" if one.excluded else f"{one.share:.3f}"]
            for one in drift.groups
        ]
        tables.append(([drift.by, "old units", "new units", "old share"], groups, "lrrr"))
    return tables


def pool_remarks(pool: Pool) -> list[str]:
    """What a reader must know beside the numbers."""
    weighed = {"equal": "Sets weigh the same.", "units": "Sets weigh as many units as they have."}
    remarks = [weighed.get(pool.weights, "Sets have the weights that were given.")]
    if pool.differences:
        differences = list(pool.differences.values())
        method = {"t over sets": "Student's t over the sets"}.get(differences[0].p_method, "sign flips over all units")
        remarks.append(f"p: {method}, {correction_text(differences)}.")
        remarks += [f"Null hypothesis of {d.spec}: {d.null_hypothesis}." for d in differences[:1]]
        remarks += [note for d in differences for note in d.notes]
        return [*remarks, *pool.notes, *undefined_remarks(differences)]
    own = [note for s in pool.scores.values() for note in s.notes]
    undefined = [f"{s.spec} is undefined: {s.undefined_reason}." for s in pool.scores.values() if not s.defined]
    return merge_remarks([*remarks, *pool.notes, *own, *undefined], pool.scores)


def drift_remarks(drift: Drift) -> list[str]:
    """What a reader must know beside the numbers."""
    differences = list(drift.differences.values())
    remarks = [f"p: Welch's t, two independent sets, {correction_text(differences)}."]
    if drift.by:
        remarks.append(
            f"old mix: the change in each group of {drift.by}, weighed by the group's share of the old set; plain: the "
            "change of the value itself; mix: the rest of it."
        )
    remarks += [note for d in differences for note in d.notes]
    return [*remarks, *drift.notes, *undefined_remarks(differences)]


def _start(d: Difference) -> list[str]:
    values = [value_text(s.value, digits_of(d) and s.interval, 2) for s in (d.a, d.b)]
    return [ARROWS[d.better], d.spec, *values]


def _change(d: Difference) -> list[str]:
    return [signed_text(d.difference, digits_of(d), 2), interval_text(d.difference, d.interval, 2)]


def _grid(table: Table, width: int) -> str:
    header, rows, align = table
    return grid(header, rows, align, width, shrink=1 if header[0] == "" else 0)


def _with_remarks(parts: Sequence[str], remarks: Sequence[str], verdict: str, width: int) -> str:
    end = [paragraph(verdict, width)] if verdict else []
    return "\n\n".join([*parts, "\n".join(bullet(remark, width) for remark in remarks), *end])


def _markdown(line: str, verdict: str, tables: Sequence[Table], remarks: Sequence[str]) -> str:
    parts = [plain(line), *([plain(verdict)] if verdict else [])]
    for header, rows, align in tables:
        marks = ["---:" if side == "r" else "---" for side in align]
        named = 1 if header[0] == "" else 0
        cells = [[f"`{code(text)}`" if i == named else plain(text) for i, text in enumerate(row)] for row in rows]
        parts.append("\n".join("| " + " | ".join(row) + " |" for row in (map(plain, header), marks, *cells)))
    return "\n\n".join([*parts, "\n".join(f"- {plain(remark)}" for remark in remarks)]) + "\n"
