"""What a report of tracking shows beside numbers, by hand: one object under three names, missed once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.tracking import views

# Frames 1 to 6 of one object, found as p, p, q, p, not, r: five of six boxes; of the tracks 3, 1 and 1 frames agree.
DETA, ASSA = 5 / 6, (3 * 3 / 6 + 2 * 1 / 6) / 5
HOTA = math.sqrt(DETA * ASSA)


def rows(sequence: str, frames: list[int], tracks: list[str], x: list[int]) -> dict[str, list[Any]]:
    size = len(frames)
    return {
        "sequence": [sequence] * size, "frame": frames, "track": tracks, "x": x, "y": [0] * size, "w": [9] * size,
        "h": [9] * size,
    }  # fmt: skip


def joined(*parts: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


TRUE = rows("a", [1, 2, 3, 4, 5, 6], ["t"] * 6, [0] * 6)
PREDICTED = rows("a", [1, 2, 3, 4, 6], ["p", "p", "q", "p", "r"], [0] * 5)
PERFECT = rows("b", [1, 2], ["t", "t"], [0, 0])
METRICS = ["hota", "deta", "assa", "mota", "idf1", "idsw"]


def report(*more: dict[str, list[Any]]) -> sy.Report:
    return sy.evaluate("tracking", joined(TRUE, *more), joined(PREDICTED, *more), METRICS, confidence=None)


def test_sequences() -> None:
    names = tuple(metric.label for metric in views.SHOWN)
    own = [HOTA, DETA, ASSA, 1 - (1 + 3) / 6, 2 * 3 / (6 + 5), 3]
    assert list(report().tables) == ["sequences"]
    check_table(report().table("sequences"), ("sequences", "By sequence", "sequence"), ["a"], names, [own])
    check_table(
        report(PERFECT).table("sequences"), ("sequences", "By sequence", "sequence"), ["a", "b"],
        (*names, f"{names[0]} without it"), [[*own, 1], [1, 1, 1, 1, 1, 0, HOTA]],
    )  # fmt: skip


def test_classes() -> None:
    """The same of cows, and a dog without a fault."""
    truth, predicted = joined(TRUE, PERFECT), joined(PREDICTED, PERFECT)
    truth["label"], predicted["label"] = ["cow"] * 6 + ["dog"] * 2, ["cow"] * 5 + ["dog"] * 2
    shown = sy.evaluate("tracking", truth, predicted, METRICS, confidence=None)
    names = tuple(metric.label for metric in views.SHOWN)
    check_table(
        shown.table("classes"), ("classes", "By class", "class"), ["cow", "dog"], names,
        [[HOTA, DETA, ASSA, 1 / 3, 6 / 11, 3], [1, 1, 1, 1, 1, 0]],
    )  # fmt: skip


def test_thresholds() -> None:
    shown = report().figure("thresholds")
    places = [round(0.05 * k, 2) for k in range(1, 20)]
    names = [metric.title for metric in views.SHOWN[:3]] + [views.LocA().title]
    columns = {
        "series": [name for name in names for _ in places], "x": places * 4,
        "y": [HOTA] * 19 + [DETA] * 19 + [ASSA] * 19 + [1.0] * 19,
    }  # fmt: skip
    check_figure(
        shown, ("thresholds", "curves", "HOTA over thresholds"), columns,
        {"x": "threshold of similarity", "y": "value", "points": True},
        "A line that falls early says that boxes are loose; AssA below DetA that names are lost, not objects.",
    )  # fmt: skip
    check_table(
        shown.table, ("thresholds", "By threshold", "threshold"), [f"{place:g}" for place in places], names,
        [[HOTA, DETA, ASSA, 1]] * 19,
    )  # fmt: skip


def test_thresholds_of_loose_boxes() -> None:
    """Two pixels off of nine: IoU 7/11, which is enough up to 0.6."""
    loose = {**PREDICTED, "x": [2] * 5}
    figure = sy.evaluate("tracking", TRUE, loose, METRICS, confidence=None).figure("thresholds")
    hota, deta, assa, loca = np.reshape(figure.columns["y"], (4, 19))
    assert hota.tolist() == pytest.approx([HOTA] * 12 + [0] * 7)
    assert deta.tolist() == pytest.approx([DETA] * 12 + [0] * 7)
    assert assa.tolist() == pytest.approx([ASSA] * 12 + [0] * 7)
    assert loca.tolist() == pytest.approx([7 / 11] * 12 + [1] * 7)


def test_the_plane() -> None:
    columns = {
        "x": [DETA, DETA], "y": [ASSA, ASSA], "hota": [HOTA, HOTA], "name": ["a", "all"], "series": ["sequence", "all"],
    }  # fmt: skip
    check_figure(
        report().figure("plane"), ("plane", "plane", "Detection against association"), columns, {"x": "DetA", "y": "AssA"},
        "Each point is a sequence; the lines have equal DetA · AssA. To the right more is found, upward names stay.",
    )  # fmt: skip


def test_what_association_loses() -> None:
    columns = {
        "name": ["split: under other names", "miss: not found", "merge: on other objects", "extra: on nothing"],
        "value": [(3 * 2 / 6 + 2 * 4 / 6) / 5, 1 / 6, 0, 0],
    }
    check_figure(
        report().figure("losses"), ("losses", "bars", "What association loses"), columns, {"x": "points of AssA"},
        "For a matched box, the frames in which its two tracks are not matched with each other: what happens instead.",
    )  # fmt: skip


SAID = "Each row is a true track, coloured by the name that it is found under; grey is missed, a tick is a switch."


def test_the_timeline_of_the_worst_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        "row": ["t"] * 5, "x": [1, 3, 4, 5, 6], "x2": [3, 4, 5, 6, 7], "series": ["p", "q", "p", "missed", "r"],
        "event": ["", "switch", "switch", "", "switch"],
    }  # fmt: skip
    check_figure(
        report(PERFECT).figure("timeline"), ("timeline", "timeline", "Sequence a, track by track"), columns,
        {"x": "frame", "y": "true track"}, SAID,
    )  # fmt: skip
    monkeypatch.setattr(views, "MOST_TRACKS", 1)
    two = sy.evaluate("tracking", *swapped(), METRICS, confidence=None).figure("timeline")
    assert two.columns["row"] == ["t", "t"]
    assert two.caption == f"{SAID} 1 more tracks are not shown."


def swapped() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Two objects far apart whose names change places."""
    frames, x = [1, 1, 2, 2], [0, 100, 0, 100]
    return rows("a", frames, ["t", "u", "t", "u"], x), rows("a", frames, ["p", "q", "q", "p"], x)


def test_switches() -> None:
    columns = {
        "sequence": ["a"] * 3, "frame": [3, 4, 6], "true track": ["t"] * 3, "from": ["p", "q", "p"], "to": ["q", "p", "r"],
        "kind": ["to a fresh id", "back to an old id", "to a fresh id"], "frames without a match": [0, 0, 1],
    }  # fmt: skip
    check_listing(report().listing(), ("switches", "Switches"), columns, "kind", "frame")
    columns = {
        "sequence": ["a"] * 2, "frame": [2, 2], "true track": ["t", "u"], "from": ["p", "q"], "to": ["q", "p"],
        "kind": ["to a neighbour's id"] * 2, "frames without a match": [0, 0],
    }  # fmt: skip
    listed = sy.evaluate("tracking", *swapped(), METRICS, confidence=None).listing()
    assert listed is not None
    assert np.all(listed.columns["frame"] == 2)
    check_listing(listed, ("switches", "Switches"), columns, "kind", "frame")
