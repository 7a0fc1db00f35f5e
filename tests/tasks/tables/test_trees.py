"""Tables of HTML as trees and grids: goldens of PubTabNet, OmniDocBench and GriTS, and numbers by hand."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from steelyard.tasks.tables.omnidocbench import normalised_table
from steelyard.tasks.tables.trees import grits_con, grits_top, parse_tables, teds, teds_struct

GOLDENS = json.loads((Path(__file__).parents[2] / "goldens" / "tables.json").read_text(encoding="utf-8"))
TABLES: dict[str, dict[str, Any]] = GOLDENS["tables"]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "colspan_word"])
def test_goldens_of_teds(name: str) -> None:
    case = TABLES[name]
    truth, reply = case["truth"], case["prediction"]
    close = {"rel": 0, "abs": 1e-12}
    assert teds(truth, reply, rules="pubtabnet") == pytest.approx(case["IBM TEDS"], **close)
    assert teds_struct(truth, reply, rules="pubtabnet") == pytest.approx(case["IBM TEDS, structure"], **close)
    assert teds(truth, reply, rules="pubtabnet", ignore=("b",)) == pytest.approx(case["IBM TEDS, ignore b"], **close)
    assert normalised_table(reply) == case["OmniDocBench normalised prediction"]
    assert teds(truth, reply, rules="omnidocbench") == pytest.approx(case["OmniDocBench TEDS"], **close)
    assert teds_struct(truth, reply, rules="omnidocbench") == pytest.approx(
        case["OmniDocBench TEDS, structure"], **close
    )


@pytest.mark.parametrize("name", [name for name, case in TABLES.items() if isinstance(case["GriTS"], dict)])
def test_goldens_of_grits(name: str) -> None:
    case = TABLES[name]
    truth, reply, expected = case["truth"], case["prediction"], case["GriTS"]
    top = grits_top(truth, reply, rules="microsoft")
    con = grits_con(truth, reply, rules="microsoft", text="difflib")
    for kind, score, tolerance in (("top", top, 1e-6), ("con", con, 1e-12)):
        names = (f"grits_{kind}", f"grits_precision_{kind}", f"grits_recall_{kind}", f"grits_{kind}_upper_bound")
        values = (score.f, score.precision, score.recall, score.bound)
        assert values == pytest.approx([expected[key] for key in names], rel=0, abs=tolerance)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-", "—"),
        (" − ", "—"),
        ("-–", "-–"),  # two of them are a text
        ("\\checkmark", "√"),
        ("✗", "×"),
        ("$\\alpha$", "α"),
        ("$$x_1$$", "x_1"),
        ("$a$ b$", "$a$ b$"),
        ("5\\%\u3000ﬁx\u200b", "5% fix"),
    ],
)
def test_texts_of_cells_as_omnidocbench(text: str, expected: str) -> None:
    """What OmniDocBench 1.6.0 makes of the text of a cell."""
    table = f"<table><tr><td>{text}</td></tr></table>"
    head, tail = '<html><body><table border="1" ><tr><td>', "</td></tr></table></body></html>"
    assert normalised_table(table) == f"{head}{unicodedata.normalize('NFKC', expected)}{tail}"


def test_cells_of_a_table() -> None:
    (table,) = parse_tables("text <table><tr><th colspan=2>a &amp; b<tr><td rowspan=9>c<td>d<br>e</table> more")
    assert (table.rows, table.columns) == (2, 2)
    assert [(c.row, c.column, c.rowspan, c.colspan, c.text, c.header) for c in table.cells] == [
        (0, 0, 1, 2, "a & b", True),
        (1, 0, 1, 1, "c", False),
        (1, 1, 1, 1, "d e", False),
    ]
    assert table.html[:7] + table.html[-8:] == "<table></table>"
