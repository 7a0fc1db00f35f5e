"""What is said of tracks that cannot be scored."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy

TRACK: dict[str, list[Any]] = {
    "sequence": ["s", "s"], "frame": [1, 2], "track": ["t", "t"], "x": [0.0, 0.0], "y": [0.0, 0.0], "w": [9.0, 9.0],
    "h": [9.0, 9.0],
}  # fmt: skip


TRACKS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"track": ["t", ""]}, ("E-empty-cell", "predictions, row 1, column 'track'")),
    "no number": ({"y": [0.0, math.nan]}, ("E-empty-cell", "'y'")),
    "no width": (
        {"w": [9.0, 0.0]},
        ("E-out-of-range", "0"),
    ),
    "no height": (
        {"h": [-1.0, 9.0]},
        ("E-out-of-range", "predictions, row 0, column 'h'"),
    ),
    "classes on one side": ({"label": ["cow", "cow"]}, ("E-missing-data", "truth")),
}


@pytest.mark.parametrize("case", TRACKS)
def test_tracks(case: str) -> None:
    changed, said = TRACKS[case]
    with refuses(*said):
        sy.evaluate("tracking", TRACK, {**TRACK, **changed}, confidence=None)


def test_a_track_twice() -> None:
    with refuses("E-duplicate-key", "frame 1", "'s'", "predictions, row 1, column 'track'"):
        sy.evaluate("tracking", TRACK, {**TRACK, "frame": [1, 1], "x": [0.0, 50.0]}, confidence=None)


def test_tracks_without_a_column() -> None:
    with refuses("E-missing-column", "'w'", "'sequence'", "'frame'", "'track'", "'x'", "'y'", "'h'"):
        sy.evaluate("tracking", TRACK, {name: TRACK[name] for name in TRACK if name != "w"}, confidence=None)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("frame", ("E-unsupported", "'frame'")),
        ("light", ("E-conflict", "'light'", "'s'")),
        ("ligth", ("E-unknown-name", "'ligth'", "'light'")),
    ],
)  # fmt: skip
def test_slices_of_tracks(by: str, said: tuple[str, ...]) -> None:
    with refuses(*said):
        sy.evaluate("tracking", {**TRACK, "light": ["day", "night"]}, TRACK, confidence=None, by=[by])


def test_distractors_without_a_class() -> None:
    labelled = {**TRACK, "label": ["cow", "calf"]}
    with refuses("E-invalid-setting", "distractors"):
        sy.evaluate("tracking", labelled, labelled, confidence=None, options={"distractors": ["calf"]})
