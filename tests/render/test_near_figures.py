"""Figures of numbers that are equal but for rounding: bins between them would have no width."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.figure import CELLS, MOST_POINTS, points_or_cells

NEAR = (0.3, 0.1 + 0.2)  # one step of a float apart


def test_a_page_of_units_that_are_nearly_equal(tmp_path: Path) -> None:
    truth = {"dish": np.arange(60), "frame": np.zeros(60, np.int64), "weight": 1.0 + np.arange(60) % 2}
    pred = {**truth, "weight": truth["weight"] + 0.3}  # off by 0.30000000000000004 or 0.2999999999999998
    report = sy.evaluate("weights", truth, pred, ["mae"], draws=100)
    report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "figure-units_1" not in page  # as for equal ones: nothing is spread


@pytest.mark.parametrize("near", [NEAR, (7.0, 7.0), (1e17, 1e17 + 16), (0.0, 0.0), (-1e-320, 1e-320)])
def test_cells_of_points_that_are_nearly_equal(near: tuple[float, float]) -> None:
    x, y = np.arange(MOST_POINTS + 2.0), np.resize(near, MOST_POINTS + 2)
    for cells in (points_or_cells(x, y), points_or_cells(y, x)):
        assert cells["count"].sum() == MOST_POINTS + 2
        assert (cells["x"] < cells["x2"]).all()
        assert (cells["y"] < cells["y2"]).all()


def test_cells_of_points_that_differ() -> None:
    x = np.arange(MOST_POINTS + 2.0)
    cells = points_or_cells(x, 2 * x)
    assert (cells["x"].min(), cells["x2"].max(), cells["y2"].max()) == (0, x[-1], 2 * x[-1])
    assert len(cells["count"]) == CELLS  # along the diagonal
