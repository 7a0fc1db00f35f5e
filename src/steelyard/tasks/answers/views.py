"""What is shown of answers beside scores: characters that are mixed up, yes and no, numbers, every reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.language import edits
from steelyard.tasks.answers.choices import YesNoCounts
from steelyard.tasks.answers.data import AnswerPairs
from steelyard.tasks.answers.explain import explain
from steelyard.tasks.answers.sums import AnlsSum, EditSums, ExactSum, numbers_of
from steelyard.tasks.answers.texts import said
from steelyard.tasks.shared.agreement import agreement, other_texts

MOST_CONFUSIONS = 20
MOST_QUESTIONS = 20_000  # whose texts are aligned for a picture
NOTHING = "nothing"
SHOWN = {" ": "blank", "\n": "line end", "\t": "tab"}
BINS = 20


def tables(pairs: AnswerPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """What the data allow."""
    made: dict[str, Callable[[], Table]] = {}
    if "answers" not in state.facts.holds or not len(pairs.owner):
        return made
    if "yes or no" in state.facts.holds:
        made["yes_no"] = lambda: yes_no(pairs)
    else:
        made["confusions"] = lambda: confusions(pairs)
    return made


def figures(pairs: AnswerPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """What the data allow."""
    held, made = state.facts.holds, dict[str, Callable[[], Figure]]()
    if "answers" not in held or not len(pairs.owner):
        return made
    if "yes or no" in held:
        return {"yes_no": lambda: yes_no_figure(pairs)}
    true, given = numbers_of(pairs, SharedCache(), "whole")
    known = np.isfinite(true) & np.isfinite(given)
    if "numbers" in held and known.any():
        made["agreement"] = lambda: agreement(true[known], given[known], "question", "as answered")
    if "choices" not in held:
        made["similarity"] = lambda: similarity_figure(pairs)
        made["confusions"] = lambda: confusions_figure(pairs)
    return made


def yes_no(pairs: AnswerPairs) -> Table:
    """Questions by what is true and what was said."""
    counts = YesNoCounts().of_questions(pairs, SharedCache()).sum(axis=0)
    values = np.array([[counts[0], counts[3], counts[4]], [counts[1], counts[2], counts[5]]], dtype=float)
    return Table("yes_no", "Yes and no", "true", ("yes", "no"), ("yes", "no", "other"), values)


def yes_no_figure(pairs: AnswerPairs) -> Figure:
    """The table, shaded by the share of each row."""
    table = yes_no(pairs)
    share = np.nan_to_num(ratio(table.values, table.values.sum(axis=1, keepdims=True)))
    i, j = (place.ravel() for place in np.indices(table.values.shape))
    return Figure(
        "yes_no",
        "matrix",
        "Yes and no",
        {
            "row": [table.rows[k] for k in i],
            "column": [table.columns[k] for k in j],
            "count": table.values[i, j],
            "share": share[i, j],
            "text": [f"{value:g}" if value else "" for value in table.values[i, j]],
        },
        {"x": "said", "y": "true"},
        "Rows are true answers, columns what replies say; other is neither, or both. Shade is the share of the row.",
        table,
    )


def _counted(pairs: AnswerPairs) -> list[tuple[str, int]]:
    """The most frequent edits, as "a as o", with how often they come."""
    some = pairs if len(pairs.owner) <= MOST_QUESTIONS else pairs.select(np.arange(len(pairs.owner)) < MOST_QUESTIONS)
    work, statistic = SharedCache(), EditSums("characters")
    texts = said(some, work, empty=True)
    true, given = statistic.texts(some, work)
    first = np.zeros(len(texts.accepted), dtype=bool)
    first[texts.begin[:-1]] = texts.answered  # of several accepted answers the first is aligned
    counts: Counter[tuple[str, str]] = Counter()
    for row, _, i, j in edits.edit_steps(edits.characters(true), edits.characters(given)).tolist():
        if first[row]:
            wanted = NOTHING if i < 0 else _name(true[row][i])
            counts[wanted, NOTHING if j < 0 else _name(given[row][j])] += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(f"{wanted} as {read}", count) for (wanted, read), count in ranked[:MOST_CONFUSIONS]]


def _name(character: str) -> str:
    return SHOWN.get(character, character if character.isprintable() else f"U+{ord(character):04X}")


def confusions(pairs: AnswerPairs) -> Table:
    """The most frequent edits of characters."""
    counted = _counted(pairs)
    values = np.array([[count] for _, count in counted], dtype=float).reshape(-1, 1)
    return Table("confusions", "Characters that are mixed up", "edit", tuple(n for n, _ in counted), ("times",), values)


def confusions_figure(pairs: AnswerPairs) -> Figure:
    """The same as bars."""
    counted = _counted(pairs)
    return Figure(
        "confusions",
        "bars",
        "Characters that are mixed up",
        {"name": [name for name, _ in counted], "value": np.array([count for _, count in counted], dtype=float)},
        {"x": "times"},
        "What stands in the first accepted answer, as what the reply has; as nothing: left out, nothing as: added. "
        "Questions without an answer are not in it.",
        confusions(pairs),
    )


def similarity_figure(pairs: AnswerPairs) -> Figure:
    """How alike replies and answers are, before a threshold."""
    values = AnlsSum(0.0).of_questions(pairs, SharedCache())
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.histogram(values, edges)[0]
    return Figure(
        "similarity",
        "histogram",
        "How alike replies and answers are",
        {"low": edges[:-1], "high": edges[1:], "count": counts.astype(float)},
        {"x": "1 - edit distance / length", "y": "questions"},
        "ANLS without its threshold. What stands just below 1 is nearly right.",
    )


def listing(pairs: AnswerPairs, state: State) -> Listing | None:
    """Every question: what is accepted, the reply, and whether it is right."""
    if "answers" not in state.facts.holds:
        return None
    work = SharedCache()
    texts = said(pairs, work, empty=True)
    accepted = [
        " | ".join(dict.fromkeys(texts.distinct[k] for k in texts.accepted[low:high].tolist()))
        for low, high in zip(texts.begin[:-1].tolist(), texts.begin[1:].tolist(), strict=True)
    ]
    columns: dict[str, Array | Texts] = {"question": Texts.of(pairs.truth_column("question").tolist())}
    if pairs.grouped:
        columns["unit"] = Texts.of(pairs.units[pairs.owner].tolist())
    columns |= {"accepted": Texts.of(accepted), "reply": Texts.of([texts.distinct[k] for k in texts.reply.tolist()])}
    if all(texts.distinct[k].strip() for k in set(texts.accepted.tolist())):
        columns["similarity"] = AnlsSum(0.0).of_questions(pairs, work)
        columns["exact"] = ExactSum().of_questions(pairs, work)
    columns |= other_texts(pairs, pairs.truth_row)
    return Listing("questions", "Questions", columns, x="similarity" if "similarity" in columns else "")


__all__ = ["explain", "figures", "listing", "tables"]
