"""Tables of HTML that are spoiled, data sets of tables that are incomplete, and settings that do not fit."""

from __future__ import annotations

import json
from typing import Any

from hostile.rows import Row, row

GOOD = "<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>"
TRUTH = f"table,html\nx,{GOOD}\ny,{GOOD}\n"
BOXES = '"[[0,0,1,1],[1,0,2,1],[0,1,1,2],null]"'
LOCATED = f"table,html,boxes\nx,{GOOD},{BOXES}\n"
TOKENS = {"structure": {"tokens": ["<tr>", "<td>", "</td>", "</tr>"]}, "cells": [{"tokens": ["a"]}]}
CELL = {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 9, 9], "cell_text": "a"}
VOC = "<annotation><object><name>{}</name><bndbox><xmin>0</xmin><ymin>0</ymin><xmax>{}</xmax><ymax>9</ymax></bndbox></object></annotation>"


def table(name: str, text: str | bytes, *says: str, side: str = "truth.csv", options: str = "", **more: Any) -> Row:
    """Rows of which one side is spoiled."""
    files = {"truth.csv": TRUTH, "pred.csv": TRUTH, side: text}
    return row(f"tables, {name}", f"evaluate tables truth.csv pred.csv {options}", *says, files=files, **more)


def located(name: str, boxes: str, *says: str) -> Row:
    """Boxes of cells that are spoiled."""
    files = {"truth.csv": LOCATED.replace(BOXES, boxes), "pred.csv": LOCATED}
    return row(f"tables, boxes, {name}", "evaluate tables truth.csv pred.csv -m grits_loc", *says, files=files)


def lines(name: str, entry: Any, *says: str) -> Row:
    """A line of PubTabNet."""
    text = entry if isinstance(entry, str) else json.dumps(entry) + "\n"
    return row(
        f"tables, pubtabnet, {name}",
        "evaluate tables truth.jsonl truth.jsonl",
        "truth.jsonl",
        *says,
        files={"truth.jsonl": text},
    )


def cells(name: str, value: Any, *says: str) -> Row:
    """Cells by the name of their table."""
    text = value if isinstance(value, str) else json.dumps({"t": value})
    files = {"truth.json": text}
    return row(f"tables, cells, {name}", "evaluate tables truth.json truth.json", "truth.json", *says, files=files)


def folder(name: str, files: dict[str, str | bytes], *says: str) -> Row:
    """A folder of tables."""
    inside = {f"truth/{file}": text for file, text in files.items()}
    return row(f"tables, folder, {name}", "evaluate tables truth truth", "truth", *says, files=inside)


def option(name: str, line: str, *says: str) -> Row:
    """A setting that does not fit."""
    return table(f"option, {name}", TRUTH, *says, options=line)


ROWS = [
    table("an empty file", "", "truth.csv", "empty"),
    table("a header alone", "table,html\n", "truth.csv", "no rows"),
    table("no html", TRUTH.replace("html", "markup"), "truth.csv", "'html'"),
    table("no name", TRUTH.replace("table,html", "number,html"), "'table'"),
    table("an empty name", TRUTH.replace("\ny,", "\n,"), "line 3", "id is empty"),
    table("two truths of a name", TRUTH.replace("\ny,", "\nx,"), "truth.csv", "x"),
    table("a truth that is text", f"table,html\nx,{GOOD}\ny,a list of things\n", "line 3", "a list of things"),
    table("a truth without cells", f"table,html\nx,{GOOD}\ny,<table><tr></tr></table>\n", "line 3", "not a table"),
    table("two tables in a truth", f"table,html\nx,{GOOD}{GOOD}\ny,{GOOD}\n", "line 2", "2 tables"),
    table("a truth with too many cells", f"table,html\nx,<table>{'<td>' * 5000}\ny,{GOOD}\n", "line 2", "too large"),
    table(
        "a truth with spans of 5,000 by 5,000",
        f"table,html\nx,<table>{'<tr><td colspan=5000 rowspan=5000>' * 99}\ny,{GOOD}\n",
        "line 2",
        "too large",
    ),
    table("a cell of 300,000 letters", f"table,html\nx,<table><td>{'a' * 300_000}\ny,{GOOD}\n", "line 2"),
    table(
        "two tables in a reply",
        f"table,html\nx,{GOOD}{GOOD}\ny,{GOOD}\n",
        "pred.csv",
        "line 2",
        "several",
        side="pred.csv",
    ),
    table("a reply without a truth", TRUTH.replace("\ny,", "\nz,"), "pred.csv", "z", side="pred.csv"),
    table("two replies to a table", TRUTH.replace("\ny,", "\nx,"), "pred.csv", "x", side="pred.csv"),
    table("bytes", b"table,html\nx,\xff\xfe\n", "truth.csv"),
    table("NUL", b"table,html\nx,<table>\0<td>a\n", "truth.csv"),
    table("a weight below 0", f"table,html,sample_weight\nx,{GOOD},-1\ny,{GOOD},1\n", "sample_weight"),
    option("rules that do not exist", '-m "teds(rules=html5)"', "rules", "clean"),
    option("rules of another metric", '-m "teds(rules=microsoft)"', "GriTS"),
    option("GriTS by the rules of TEDS", '-m "grits_top(rules=pubtabnet)"', "TEDS"),
    option("headers under rules that know them", '-m "teds(rules=pubtabnet, header=true)"', "header"),
    option("ignored tags under the clean rules", '-m "teds(ignore=b)"', "ignore"),
    option("an overlap that does not exist", '-m "grits_top(overlap=iou)"', "overlap", "hull"),
    option("a text rule that does not exist", '-m "grits_con(text=levenshtein)"', "text", "lcs"),
    option("boxes that are missing", "-m grits_loc", "'boxes'"),
    option("a tool that is not known", "--explain camelot", "camelot"),
    option("several as a number", "-O several=2", "several"),
    located("fewer than cells", '"[[0,0,1,1]]"', "line 2", "1 box", "4 cells"),
    located("not JSON", '"[0,0"', "line 2", "'boxes'"),
    located("three numbers", '"[[0,0,1],null,null,null]"', "line 2", "'boxes'"),
    located("texts", '"[[""a"",0,1,1],null,null,null]"', "line 2", "'boxes'"),
    located("1e300", '"[[1e300,0,1,1],null,null,null]"', "line 2", "'boxes'"),
    lines("a line that is cut off", '{"filename": "x", "html": {"structure"', "line 1"),
    lines("no name", {"html": TOKENS}, "line 1", "filename"),
    lines("no cells", {"filename": "x", "html": {"structure": TOKENS["structure"]}}, "line 1", "cells"),
    lines("fewer cells than the structure", {"filename": "x", "html": {**TOKENS, "cells": []}}, "line 1", "cells"),
    lines(
        "more cells than the structure",
        {"filename": "x", "html": {**TOKENS, "cells": TOKENS["cells"] * 2}},
        "line 1",
        "2 cells",
    ),
    lines("tokens that are a text", {"filename": "x", "html": {**TOKENS, "structure": {"tokens": "<tr>"}}}, "tokens"),
    cells("two on one place", [CELL, CELL], "cell 1", "one place"),
    cells("rows with a gap", [{**CELL, "row_nums": [0, 2]}], "cell 0", "row_nums"),
    cells("a row below 0", [{**CELL, "row_nums": [-1]}], "cell 0", "row_nums"),
    cells("a row of 10^9", [{**CELL, "row_nums": [10**9]}], "cell 0", "row_nums"),
    cells("a grid that is too large", [CELL, {**CELL, "row_nums": [19_000], "column_nums": [19_000]}], "too large"),
    cells("no columns", [{"row_nums": [0]}], "cell 0", "column_nums"),
    folder("nothing that is read", {"a.txt": "x"}, "no tables"),
    folder("two files of a name", {"a.html": GOOD, "a.htm": GOOD}, "a.htm"),
    folder("Latin-1", {"a.html": "<table><td>é</table>".encode("latin-1")}, "a.html", "byte 11"),
    folder("annotations without columns", {"a.xml": VOC.format("table row", 9)}, "a.xml", "columns"),
    folder("annotations with entities", {"a.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><annotation/>"}, "a.xml", "entities"),
    folder(
        "annotations without a box",
        {"a.xml": "<annotation><object><name>table row</name></object></annotation>"},
        "a.xml",
    ),
]
