"""What a report of boxes in space shows beside numbers: a car found 0.4 m off and turned, one missed, one false."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.shown import check_figure, check_listing

import steelyard as sy

nan = np.nan


def box(x: float, **changed: Any) -> dict[str, Any]:
    return {
        "sample_token": "s", "translation": [x, 0.0, 1.0], "size": [2.0, 4.0, 1.5], "rotation": [1.0, 0, 0, 0],
        "velocity": [1.0, 0.0], "detection_name": "car", "attribute_name": "vehicle.moving", **changed,
    }  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> sy.Report:
    turned = box(10.4, rotation=[0.0, 0, 0, 1.0], detection_score=0.9)
    sides = {"truth": [box(10.0), box(20.0)], "results": [turned, box(40.0, detection_score=0.8)]}
    for name, boxes in sides.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"meta": {}, "results": {"s": boxes}}))
    return sy.evaluate("boxes3d", tmp_path / "truth.json", tmp_path / "results.json", ["nds"], confidence=None)


def test_every_box(report: sy.Report) -> None:
    columns = {
        "frame": ["s"] * 3, "class": ["car"] * 3, "kind": ["found", "false", "missed"], "score": [0.9, 0.8, nan],
        "distance, m": [0.4, nan, nan], "heading, rad": [math.pi, nan, nan],
    }  # fmt: skip
    listing = report.listing()
    assert listing is not None
    check_listing(listing, ("boxes", "Boxes"), columns, "kind", "score")


def test_headings(report: sy.Report) -> None:
    edges = [k * math.pi / 18 for k in range(19)]
    check_figure(
        report.figure("headings"), ("headings", "histogram", "Headings of matches below 2 m"),
        {"low": edges[:-1], "high": edges[1:], "count": [0] * 17 + [1]},
        {"x": "error of the heading, radians", "y": "matches"},
        "A peak at 3.14 is boxes that look the other way, one at 1.57 another convention of the heading.",
    )  # fmt: skip


def test_precision_by_distance(report: sy.Report) -> None:
    figure = report.figure("recalls")
    assert (figure.name, figure.chart, figure.title) == ("recalls", "curves", "Precision by the distance of centres")
    assert list(figure.columns) == ["series", "x", "y"]
    assert figure.columns["series"] == [name for name in ("0.5 m", "1 m", "2 m", "4 m") for _ in range(101)]
    np.testing.assert_allclose(figure.columns["x"], np.tile(np.arange(101) / 100, 4))
    curves = np.reshape(figure.columns["y"], (4, 101))  # half of the cars are found, without a false one before
    np.testing.assert_allclose(curves[:, :50], 1)
    np.testing.assert_allclose(curves[:, 51:], 0)
    assert figure.facts == {"x": "recall", "y": "precision", "unit": True}
    assert figure.caption == ("The mean of the classes with truth. A gap between the lines is what loose places cost.")


def test_errors_over_recall(report: sy.Report) -> None:
    names = ("translation", "scale", "orientation", "velocity", "attribute")
    columns = {
        "series": [name for name in names for _ in range(40)], "x": [at / 100 for at in range(11, 51)] * 5,
        "y": [error for error in (0.4, 0, math.pi, 0, 0) for _ in range(40)],
    }  # fmt: skip
    check_figure(
        report.figure("errors"), ("errors", "curves", "Errors of matches below 2 m"), columns,
        {"x": "recall", "y": "error"},
        "Translation in metres, scale and attribute from 0 to 1, orientation in radians, velocity in metres a second; "
        "recalls up to 0.1 are not scored.",
    )  # fmt: skip


def test_what_is_shown_of_centres(report: sy.Report) -> None:
    assert list(report.figures) == ["recalls", "errors", "headings"]
    assert list(report.tables) == ["centres"]
    table = report.table("centres")
    assert (table.title, table.corner) == ("By the distance of centres, by class", "class")
    row = dict(zip(table.columns, table.values[table.rows.index("car")].tolist(), strict=True))
    assert list(row.values())[5:] == pytest.approx([0.4, 0, math.pi, 0, 0], abs=1e-6)
    assert len(row) == 10
