"""Why OmniDocBench prints other numbers for the same pages: what each of its rules does on its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from functools import partial

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.statistic import SharedCache
from steelyard.tasks.documents.data import DocumentPairs, Memo
from steelyard.tasks.documents.sums import (
    BLOCKS,
    CHARGED,
    CHARGED_PAGES,
    EDITS,
    FREE,
    FREE_PAGES,
    LONGER,
    MISSING,
    SHARES,
    SURPLUS,
    SURPLUS_BLOCKS,
    OrderSums,
    TableSums,
    TextSums,
)
from steelyard.tasks.documents.texts import Norm
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

LETTERS = "letters, digits and underscores"
UNCOUNTED = "free"
QUICK = "quick_match"
LOST = "lost from the order"
NORMALISED = "th as td, symbols and cells normalised"
TEXT, WHOLE, BLOCK = "text_edit", "text_edit(average=whole)", "text_edit(average=block)"
ORDER, TABLES = "order_edit", "table_teds"


class DocumentConventions(Frozen):
    """How pages are compared. The defaults are ours."""

    norm: str = field(default="case and punctuation count", metadata={"title": "punctuation and blanks"})
    surplus: str = field(default="charged", metadata={"title": "surplus text and tables"})
    match: str = field(default="by runs", metadata={"title": "how texts are matched"})
    first: str = field(default="in its place", metadata={"title": "the first table of a reply"})
    tables: str = field(default="by the HTML standard", metadata={"title": "how tables are read"})


OMNIDOCBENCH = Tool(
    "omnidocbench",
    "1.6.0",
    DocumentConventions(LETTERS, UNCOUNTED, QUICK, LOST, NORMALISED),
    {
        "norm": "Blanks, punctuation and currency are taken out of both texts before they are compared.",
        "surplus": "Text and tables that the page does not have cost nothing.",
        "match": "Paragraphs are merged and assigned, and what is left is paired whatever its distance: a stranger in "
        "the place of a missing block lowers the distance, so that inventing beats leaving out.",
        "first": "Its index 0 is taken for none: pages with tables have an error of the order even where all is right.",
        "tables": "Cells are normalised and headers are cells; what is compared is other HTML.",
    },
    (TEXT, WHOLE, BLOCK, ORDER, TABLES),
    (
        "Its ALL_page_avg is the mean over pages, edit_whole is of all pages together, edit_sample_avg is over blocks.",
        "Its repairs of formulas and its time limits are not repeated: score its own result files for its numbers.",
    ),
)
TOOLS = {OMNIDOCBENCH.name: OMNIDOCBENCH}


def explain(pairs: DocumentPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these pages, and what each of their rules does."""
    quick = pairs if pairs.match == "results" else replace(pairs, match="quick", memo=Memo())
    runs = pairs if pairs.match != "quick" else replace(pairs, match="runs", memo=Memo())
    return tuple(explain_tool(tool, partial(values, runs, quick)) for tool in find_tools(tools, TOOLS).values())


def values(runs: DocumentPairs, quick: DocumentPairs, way: DocumentConventions) -> dict[str, float]:
    """Text in three averages, order and TEDS as a tool has them."""
    pairs = quick if way.match == QUICK else runs
    norm: Norm = "omnidocbench" if way.norm == LETTERS else "words"
    charged = way.surplus != UNCOUNTED
    weight = np.ones(len(pairs.units)) if pairs.weight is None else pairs.weight
    text, order, tables = (
        weight @ statistic.measure(pairs, SharedCache()).values
        for statistic in (
            TextSums(norm),
            OrderSums(norm, "first_table_lost" if way.first == LOST else "all"),
            TableSums("teds", "omnidocbench" if way.tables == NORMALISED else "clean"),
        )
    )
    rest = text[MISSING] + text[SURPLUS] * charged
    more = text[SURPLUS_BLOCKS] * charged
    share, pages = (CHARGED, CHARGED_PAGES) if charged else (FREE, FREE_PAGES)
    return {
        TEXT: _ratio(text[share], text[pages]),
        WHOLE: _ratio(text[EDITS] + rest, text[LONGER] + rest),
        BLOCK: _ratio(text[SHARES] + more, text[BLOCKS] + more),
        ORDER: _ratio(order[4], order[5]),
        TABLES: _ratio(tables[4], tables[5]) if charged else _ratio(tables[6], tables[7]),
    }


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
