"""What a report of tables shows beside its scores, whole: four tables whose edits are seen at a glance."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.asked import pixels
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.tables import views


def table(*rows: str) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split())}</tr>" for row in rows)
    return f"<html><body><table>{body}</table></body></html>"


# Two by two cells: right, one of four letters wrong, no table, and a row that is new.
TRUTH = table("p q", "r s")
REPLIES = [TRUTH, table("p q", "x s"), "a list", table("p q", "r s", "t u")]
# TEDS is 1 - edits / nodes of the larger tree below its root: two rows and four cells are 6, with the new row 9.
SCORES = [1, 5 / 6, 0, 6 / 9]


@cache
def shown() -> tuple[sy.Report, Any]:
    names = ["a.png", "b.png", "c.png", "d.png"]
    report = sy.evaluate("tables", {"table": names, "html": [TRUTH] * 4}, {"table": names, "html": REPLIES}, ["teds"])
    return report, report.details


def test_cells_by_outcome() -> None:
    """4 + 3 + 4 are right, one has another text, 4 are lost with the reply, and 2 are new."""
    values = [[11], [1], [0], [4], [2]]
    head = ("cells", "Cells by outcome", "outcome")
    check_table(shown()[0].table("cells"), head, ["right", "text", "span", "lost", "new"], ["cells"], values)


def test_scores_of_the_tables() -> None:
    assert shown()[0]["teds"].value == pytest.approx(sum(SCORES) / 4)
    edges = np.linspace(0, 1, 21)
    counts = np.zeros(20)
    counts[[19, 16, 0, 13]] += 1  # the bins of 1, 0.833, 0 and 0.667
    check_figure(
        shown()[0].figure("scores"),
        ("scores", "histogram", "TEDS of the tables"),
        {"low": edges[:-1].tolist(), "high": edges[1:].tolist(), "count": counts.tolist()},
        {"x": "TEDS", "y": "tables"},
        "Tables without a reply are at 0, and so are scores below 0.",
    )


def test_scores_by_size() -> None:
    """All have four cells: one point, at the median and the quartiles of 0, 2/3, 5/6 and 1."""
    check_figure(
        shown()[0].figure("sizes"),
        ("sizes", "curves", "TEDS by the size of the table"),
        {"x": [4], "y": [3 / 4], "low": [1 / 2], "high": [7 / 8], "series": ["TEDS"]},
        {"x": "cells of the true table", "y": "TEDS"},
        "Tables in groups of like size: the median of each, and its middle half.",
    )


def test_tables_one_by_one() -> None:
    columns = {
        "table": ["a.png", "b.png", "c.png", "d.png"],
        "reply": ["a table", "a table", "not a table", "a table"],
        "cells": [4] * 4,
        "TEDS": SCORES,
        "TEDS, structure": [1, 1, 0, 6 / 9],
        "edits": [
            "No edits.",
            "'r' → 'x' in row 2, column 1.",
            "the reply holds no table",
            "row 3 of the reply is new.",
        ],
    }
    check_listing(shown()[0].listing(), ("tables", "Tables one by one"), columns, "reply", "TEDS")


LINE = "5f6670"
RIGHT, WRONG, LOST, NEW = "c9e7cf", "f3d98b", "d9646a", "8aa9e0"


def cells(picture: str, rows: int, columns: int) -> list[list[str]]:
    """The colour in the middle of each place of 24 by 14 pixels; lines lie between them."""
    drawn = pixels(picture)
    assert (len(drawn), len(drawn[0])) == (14 * rows + 1, 24 * columns + 1)
    assert all(drawn[14 * row] == [LINE] * (24 * columns + 1) for row in range(rows + 1))
    assert all(line[24 * column] == LINE for line in drawn for column in range(columns + 1))
    for row, column in np.ndindex(rows, columns):
        assert len({drawn[14 * row + y][24 * column + x] for y in (1, 13) for x in (1, 23)}) == 1
    return [[drawn[14 * row + 7][24 * column + 12] for column in range(columns)] for row in range(rows)]


def test_both_tables_side_by_side() -> None:
    details = shown()[1]
    pairs, metric = details.pairs, details.metrics[0]
    scene = views.scene(pairs, 3, metric)
    truth, reply = scene.rasters
    assert (scene.title, scene.summary, scene.images) == ("Table d.png", "row 3 of the reply is new.", ("d",))
    assert [(one.title, one.w, one.h) for one in scene.rasters] == [("Truth", 49, 29), ("Reply", 49, 43)]
    assert cells(truth.png, 2, 2) == [[RIGHT, RIGHT], [RIGHT, RIGHT]]
    assert cells(reply.png, 3, 2) == [[RIGHT, RIGHT], [RIGHT, RIGHT], [NEW, NEW]]
    assert scene.legend == (("right", RIGHT), ("text", WRONG), ("span", "f0a35e"), ("lost", LOST), ("new", NEW))
    wrong = views.scene(pairs, 1, metric)
    assert [cells(raster.png, 2, 2) for raster in wrong.rasters] == [[[RIGHT, RIGHT], [WRONG, RIGHT]]] * 2
    silent = views.scene(pairs, 2, metric)
    assert [cells(raster.png, 2, 2) for raster in silent.rasters] == [[[LOST, LOST], [LOST, LOST]]]
    assert silent.legend == (("lost", LOST),)
