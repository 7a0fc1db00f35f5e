"""Why other tools print other numbers for the same tables: how they read HTML, and what they compare by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from functools import partial

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools
from steelyard.tasks.tables.data import TablePairs
from steelyard.tasks.tables.omnidocbench import normalised_table
from steelyard.tasks.tables.trees import Rules, grid_scores, tree_scores

BODY, TAGS, FREE = "right inside <html><body>", "tags inside cells count", "th and thead count"
COUNTED, NORMALISED, DIFFLIB, AS_WRITTEN = (
    "blanks count",
    "NFKC, signs and LaTeX names",
    "difflib",
    "as written, all tables as one",
)


class TableConventions(Frozen):
    """How HTML is read and compared. The defaults are ours."""

    tables: str = field(default="anywhere", metadata={"title": "where a table is looked for"})
    header: str = field(default="headers are cells", metadata={"title": "th and thead"})
    tags: str = field(default="dropped", metadata={"title": "tags inside cells"})
    texts: str = field(default="blanks folded", metadata={"title": "texts of cells"})
    letters: str = field(default="longest common subsequence", metadata={"title": "common letters"})


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "pubtabnet",
            "8ffde90",
            TableConventions(tables=BODY, header=FREE, tags=TAGS, texts=COUNTED),
            {
                "tables": "A bare <table>, or one inside a <div>, scores 0 even if both sides are equal.",
                "header": "th for td and a lost thead are edits; the text of th is free.",
                "tags": "Each tag inside a cell is a token and counts as a node, which dilutes all other errors.",
                "texts": "Blanks at the ends of a cell are letters.",
            },
            ("teds", "teds_struct"),
            ("A span that is not a number ends its run. The first of several tables counts.",),
        ),
        Tool(
            "omnidocbench",
            "1.6.0, 147cd5a",
            TableConventions(tags=TAGS, texts=NORMALISED),
            {
                "tags": "Each tag inside a cell (except sup, sub, span, p and div) is a token and counts as a node.",
                "texts": "Signs of one meaning become one, and a lone dash becomes a long one.",
            },
            ("teds", "teds_struct"),
            ("TEDS is 0 after a time limit of 120 s.",),
        ),
        Tool(
            "microsoft",
            "table-transformer 16d124f",
            TableConventions(texts=AS_WRITTEN, letters=DIFFLIB),
            {
                "texts": "Blanks count, and several tables become one grid.",
                "letters": "From 200 letters on, frequent letters do not begin a common run: one wrong digit may cost "
                "half the table.",
            },
            ("grits_top", "grits_con"),
            ("Rows of unequal length, a lost colspan and open tags end its run; here open places are empty cells.",),
        ),
    )
}


def explain(pairs: TablePairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these tables, and what each of their settings does."""
    named = find_tools(tools, TOOLS)
    return tuple(explain_tool(tool, partial(values, pairs)) for tool in named.values())


def _keep_blanks(text: str) -> str:
    """The text with its blanks as letters of private use, which are not folded."""
    return re.sub(r"(<[^>]*>)|\s", lambda match: match[1] or "\ue000", text)


def values(pairs: TablePairs, way: TableConventions) -> dict[str, float]:
    """The scores by a way of reading: that of a tool as a whole, or ours with one setting of another."""
    truths, replies = pairs.texts()
    whole = next((name for name, tool in TOOLS.items() if tool.conventions == way), "")
    scores: dict[str, float] = {}
    rules: Rules = "clean"
    if whole in ("pubtabnet", "omnidocbench"):
        rules = "pubtabnet" if whole == "pubtabnet" else "omnidocbench"
    elif way.texts == NORMALISED:
        truths, replies = ([normalised_table(text) for text in texts] for texts in (truths, replies))
    elif way.texts == COUNTED:
        truths, replies = ([_keep_blanks(text) for text in texts] for texts in (truths, replies))
    for name in ("teds", "teds_struct"):
        values_of, _ = tree_scores(
            truths,
            replies,
            rules=rules,
            structure=name == "teds_struct",
            header=not whole and way.header == FREE,
            inline="tokens" if not whole and way.tags == TAGS else "drop",
        )
        if not whole and way.tables == BODY:
            _, status = tree_scores(truths, replies, rules="pubtabnet")
            values_of = np.where(status == 1, 0.0, values_of)
        scores[name] = float(values_of.mean()) if len(values_of) else float("nan")
    grid_rules: Rules = "microsoft" if way.texts == AS_WRITTEN else "clean"
    for kind in ("top", "con"):
        text = "difflib" if way.letters == DIFFLIB else "lcs"
        grids, _ = grid_scores(truths, replies, kind, rules=grid_rules, text=text)  # type: ignore[arg-type]
        scores[f"grits_{kind}"] = float(grids[:, 0].mean()) if len(grids) else float("nan")
    return scores
