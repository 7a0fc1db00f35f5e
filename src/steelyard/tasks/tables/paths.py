"""The edits that make one table the other: for pictures, and in words ("row 3 lost; colspan 2 → 1")."""

from __future__ import annotations

from steelyard import _native
from steelyard.core.frozen import Frozen
from steelyard.tasks.tables.trees import STATUS, Cell, Table, encode, parse_tables

RIGHT, TEXT, SPAN, LOST, NEW = OUTCOMES = ("right", "text", "span", "lost", "new")
MOST_WORDS = 12  # edits that are named


class Path(Frozen):
    """Both tables, the outcome of each of their cells in their order, and the edits in words."""

    truth: Table
    reply: Table
    true_cells: tuple[str, ...]
    reply_cells: tuple[str, ...]
    words: tuple[str, ...]


def edit_path(truth: str, reply: str) -> Path | None:
    """The edits of TEDS by the clean rules; None where a text holds no table, or one too large."""
    steps, status = _native.table_path(encode(truth), encode(reply))
    if STATUS[status] != "scored":
        return None
    first, second = parse_tables(truth)[0], parse_tables(reply)[0]
    outcomes = ([LOST] * len(first.cells), [NEW] * len(second.cells))
    words: list[tuple[int, str]] = []
    lost_rows = {a for a, cell, b, _ in steps.tolist() if cell < 0 and a >= 0 and b < 0}
    new_rows = {b for a, _, b, cell in steps.tolist() if cell < 0 and b >= 0 and a < 0}
    for row in lost_rows:
        words.append((row, f"row {row + 1} lost"))
    for row in new_rows:
        words.append((row, f"row {row + 1} of the reply is new"))
    for true_row, true_cell, row, cell in steps.tolist():
        if true_cell >= 0 and cell >= 0:
            own, other = first.cells[true_cell], second.cells[cell]
            outcome = _outcome(own, other)
            outcomes[0][true_cell] = outcomes[1][cell] = outcome
            if outcome != RIGHT:
                words.append((true_row, f"{_change(own, other)} in {_place(own)}"))
        elif true_cell >= 0 and true_row not in lost_rows and row < 0:
            words.append((true_row, f"{_place(first.cells[true_cell])} lost"))
        elif cell >= 0 and row not in new_rows and true_row < 0:
            words.append((row, f"{_place(second.cells[cell])} of the reply is new"))
    words.sort(key=lambda entry: entry[0])
    return Path(first, second, tuple(outcomes[0]), tuple(outcomes[1]), tuple(text for _, text in words))


def _outcome(own: Cell, other: Cell) -> str:
    if (own.rowspan, own.colspan) != (other.rowspan, other.colspan):
        return SPAN
    return RIGHT if own.text == other.text else TEXT


def _place(cell: Cell) -> str:
    return f"row {cell.row + 1}, column {cell.column + 1}"


def _change(own: Cell, other: Cell) -> str:
    spans = [
        f"{name} {before} → {after}"
        for name, before, after in (
            ("colspan", own.colspan, other.colspan),
            ("rowspan", own.rowspan, other.rowspan),
        )
        if before != after
    ]
    return ", ".join(spans) if spans else f"'{own.text[:30]}' → '{other.text[:30]}'"


def in_words(path: Path) -> str:
    """The edits as a sentence, the first of many."""
    if not path.words:
        return "No edits."
    more = len(path.words) - MOST_WORDS
    return "; ".join(path.words[:MOST_WORDS]) + (f"; {more} more." if more > 0 else ".")
