"""What is said of tracks that cannot be scored."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refused_evaluation

TRACK: dict[str, list[Any]] = {
    "sequence": ["s", "s"], "frame": [1, 2], "track": ["t", "t"], "x": [0.0, 0.0], "y": [0.0, 0.0], "w": [9.0, 9.0],
    "h": [9.0, 9.0],
}  # fmt: skip


TRACKS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"track": ["t", ""]}, "the track is empty. Name every object."),
    "no number": ({"y": [0.0, math.nan]}, "'y' is empty or nan. Give a finite number, or no row."),
    "no width": (
        {"w": [9.0, 0.0]},
        "the width is 0. It must be more than 0; the option `degenerate=keep` keeps such boxes, which fit nothing.",
    ),
    "no height": (
        {"h": [-1.0, 9.0]},
        "the height is -1. It must be more than 0; the option `degenerate=keep` keeps such boxes, which fit nothing.",
    ),
    "classes on one side": ({"label": ["cow", "cow"]}, "has none. Give both sides a label, or neither."),
}


@pytest.mark.parametrize("case", TRACKS)
def test_tracks(case: str) -> None:
    changed, said = TRACKS[case]
    assert refused_evaluation("tracking", TRACK, {**TRACK, **changed}).endswith(said)


def test_a_track_twice() -> None:
    said = refused_evaluation("tracking", TRACK, {**TRACK, "frame": [1, 1], "x": [0.0, 50.0]})
    assert "track t appears twice in frame 1 of sequence 's', also at " in said
    assert said.endswith(". A track has one box per frame. Are ids given by class? Then name the label.")


def test_tracks_without_a_column() -> None:
    assert refused_evaluation("tracking", TRACK, {name: TRACK[name] for name in TRACK if name != "w"}).endswith(
        "column 'w' is missing; the columns are 'sequence', 'frame', 'track', 'x', 'y', 'h'. Map it: `columns={'w': 'YOUR_COLUMN'}`. "
        "Or give x, y, right, bottom, or a mask."
    )


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("frame", "'frame' varies inside a sequence, and slicing by it would cut tracks. Slice by what holds for whole "
                  "sequences (camera, light), or by label."),
        ("light", "'light' varies inside sequence 's', and slicing by it would cut tracks. A column to slice by must be the "
                  "same in all rows of a sequence."),
        ("ligth", "tracking cannot be sliced by 'ligth'. Did you mean 'light'?"),
    ],
)  # fmt: skip
def test_slices_of_tracks(by: str, said: str) -> None:
    assert refused_evaluation("tracking", {**TRACK, "light": ["day", "night"]}, TRACK, by=[by]).endswith(said)


def test_distractors_without_a_class() -> None:
    labelled = {**TRACK, "label": ["cow", "calf"]}
    said = refused_evaluation("tracking", labelled, labelled, options={"distractors": ["calf"]})
    assert said == "distractors are of one class, and it is not named. Name it by the option classes."
