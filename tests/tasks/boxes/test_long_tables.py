"""`report.table("matches")`, `"pr_points"` and `"pr_curves"`: each detection and each point, by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from support.refusal import refuses
from test_box_cap import as_task
from test_boxes import ranked_case

import steelyard as sy

TRUTH = {
    "image": ["a", "a", "b", "b"], "label": ["cat", "dog", "cat", "cat"], "x": [0.0, 50.0, 0.0, 200.0],
    "y": [0.0] * 4, "w": [10.0] * 4, "h": [10.0] * 4, "crowd": [False, False, False, True],
}  # fmt: skip
# In the order of the input: a cat that fits by 8/12, a dog on nothing, a cat in the crowd, a cat that fits exactly, a
# second one on the same object.
DETECTED = {
    "image": ["a", "a", "b", "b", "b"], "label": ["cat", "dog", "cat", "cat", "cat"],
    "x": [2.0, 99.0, 200.0, 0.0, 0.0], "y": [0.0] * 5, "w": [10.0] * 5, "h": [10.0] * 5,
    "score": [0.5, 0.6, 0.7, 0.8, 0.4],
}  # fmt: skip


def test_each_detection_with_what_it_found() -> None:
    report = sy.evaluate("boxes", TRUTH, DETECTED, "map", confidence=None)
    table = report.table("matches")
    assert (table.name, table.corner, table.rows) == ("matches", "detection", ("1", "2", "3", "4", "5"))
    assert table.columns == ("image", "class", "score", "outcome", "iou", "area")
    assert [row[:4] for row in table.values.tolist()] == [
        ["a", "cat", 0.5, "TP"], ["a", "dog", 0.6, "FP"], ["b", "cat", 0.7, "ignored"], ["b", "cat", 0.8, "TP"],
        ["b", "cat", 0.4, "FP"],
    ]  # fmt: skip
    overlap = table.values[:, 4].astype(float)
    np.testing.assert_allclose(overlap, [8 / 12, np.nan, np.nan, 1, np.nan], rtol=1e-12)
    assert table["4", "outcome"] == "TP"
    assert table["4", "iou"] == 1.0
    assert "ignored" in str(table)
    assert table.to_dict()["values"][1] == ["a", "dog", 0.6, "FP", None, 100.0]


def test_the_points_that_ap_is_made_of() -> None:
    """Two cats that count: 0.8 right, 0.5 right, 0.4 wrong. One dog: 0.6 wrong."""
    table = sy.evaluate("boxes", TRUTH, DETECTED, "map", confidence=None).table("pr_points")
    assert table.columns == ("image", "class", "score", "outcome", "tp", "fp", "precision", "recall")
    assert table.rows == ("1", "2", "3", "1")
    assert table.values.tolist() == [
        ["b", "cat", 0.8, "TP", 1, 0, 1.0, 0.5], ["a", "cat", 0.5, "TP", 2, 0, 1.0, 1.0],
        ["b", "cat", 0.4, "FP", 2, 1, 2 / 3, 1.0], ["a", "dog", 0.6, "FP", 0, 1, 0.0, 0.0],
    ]  # fmt: skip


def test_the_plain_sum_of_the_points_is_ap() -> None:
    truth, predicted = ranked_case([1, 3, 10, 12, 13, 14, 23], 24, 15)
    report = sy.evaluate("boxes", truth, predicted, "ap(kind=step)", confidence=None)
    points = report.table("pr_points")
    precision, recall = (points.values[:, points.columns.index(name)].astype(float) for name in ("precision", "recall"))
    assert [k + 1 for k, one in enumerate(points.values[:, 3]) if one == "TP"] == [1, 3, 10, 12, 13, 14, 23]
    assert (precision * np.diff(recall, prepend=0)).sum() == pytest.approx(0.22783564261825132, abs=1e-12)


def test_curves_as_a_table() -> None:
    """Dogs are never found: precision 0. Cats at IoU 0.5 have precision 1 throughout; at 0.75 up to recall 0.5."""
    report = sy.evaluate("boxes", TRUTH, DETECTED, "map", confidence=None)
    table = report.table("pr_curves")
    assert table.columns == ("class", "iou", "recall", "precision")
    assert len(table.rows) == 2 * 10 * 101
    rows = {(name, iou): [] for name in ("cat", "dog") for iou in (0.5, 0.75)}
    for name, iou, recall, precision in table.values.tolist():
        if (name, round(iou, 2)) in rows:
            rows[name, round(iou, 2)].append((recall, precision))
    assert all(precision == 1 for _, precision in rows["cat", 0.5])
    assert [p for r, p in rows["cat", 0.75]] == pytest.approx([1.0] * 51 + [0.0] * 50, abs=1e-12)
    assert {p for _, p in rows["dog", 0.5]} == {0.0}
    mean = np.mean([precision for *_, precision in table.values.tolist()])
    assert mean == pytest.approx(report["map"].value, abs=1e-12)


@pytest.mark.parametrize("task", ["oriented", "keypoints"])
def test_other_tasks_have_them(task: str) -> None:
    plain = {name: column for name, column in TRUTH.items() if name != "crowd"}
    report = sy.evaluate(task, *as_task(task, (plain, DETECTED)), "map", confidence=None)
    assert report.table("matches").values[3, 3] == "TP"
    assert len(report.table("pr_points").rows) == 5
    assert report.table("pr_curves").name == "pr_curves"


def test_masks_have_them() -> None:
    """Squares of one image of 20 × 20 pixels, drawn as polygons: one that fits, one that does not."""

    def square(x: float) -> list[list[float]]:
        return [[x, 0.0, x + 4, 0.0, x + 4, 4.0, x, 4.0]]

    rest = {"height": [20], "width": [20]}
    truth = {"image": ["a"], "label": ["cat"], "mask": [square(0)], **rest}
    detected = {
        "image": ["a"] * 2, "label": ["cat"] * 2, "mask": [square(1), square(12)], "score": [0.5, 0.9],
        "height": [20] * 2, "width": [20] * 2,
    }  # fmt: skip
    table = sy.evaluate("masks", truth, detected, "map", confidence=None).table("matches")
    assert [row[3] for row in table.values.tolist()] == ["TP", "FP"]
    assert table["1", "iou"] == pytest.approx(12 / 20)


def test_they_are_written_and_not_shown(tmp_path: Path) -> None:
    report = sy.evaluate("boxes", TRUTH, DETECTED, "map", confidence=None)
    assert report.tables == ("classes", "confusion", "operating")
    assert report.long_tables == ("matches", "pr_points", "pr_curves")
    names = [Path(path).name for path in report.write_tables(tmp_path)]
    assert names == [f"{name}.csv" for name in (*report.tables, *report.long_tables)]
    with (tmp_path / "matches.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["detection", "image", "class", "score", "outcome", "iou", "area"]
    assert rows[1][:5] == ["1", "a", "cat", "0.5", "TP"]
    assert "pr_points" not in report.to_html()


def test_nothing_detected() -> None:
    report = sy.evaluate("boxes", TRUTH, {name: [] for name in DETECTED}, "map", confidence=None)
    assert [len(report.table(name).rows) for name in report.long_tables] == [0, 0, 2 * 10 * 101]
    with refuses(KeyError, "'match'", "'matches'"):
        report.table("match")
