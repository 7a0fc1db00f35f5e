"""What is said of tracks, answers, captions and specs that cannot be taken: the whole of what and of the remedy."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refused_evaluation

import steelyard as sy
from steelyard.core import catalogue
from steelyard.tasks.answers.data import LONGEST

TRACK: dict[str, list[Any]] = {
    "sequence": ["s", "s"], "frame": [1, 2], "track": ["t", "t"], "x": [0.0, 0.0], "y": [0.0, 0.0], "w": [9.0, 9.0],
    "h": [9.0, 9.0],
}  # fmt: skip
TRACKS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"track": ["t", ""]}, "the track is empty. Name every object."),
    "no number": ({"y": [0.0, math.nan]}, "'y' is empty or nan. Give a finite number, or no row."),
    "no width": (
        {"w": [9.0, 0.0]},
        "the width is 0. It must be more than 0; -O degenerate=keep keeps such boxes, which fit nothing.",
    ),
    "no height": (
        {"h": [-1.0, 9.0]},
        "the height is -1. It must be more than 0; -O degenerate=keep keeps such boxes, which fit nothing.",
    ),
    "classes on one side": ({"label": ["cow", "cow"]}, "has none. Give both sides a label, or neither."),
}


@pytest.mark.parametrize("case", TRACKS)
def test_tracks(case: str) -> None:
    changed, said = TRACKS[case]
    assert refused_evaluation("tracking", TRACK, {**TRACK, **changed}).endswith(said)


def test_a_track_twice() -> None:
    said = refused_evaluation("tracking", TRACK, {**TRACK, "frame": [1, 1], "x": [0.0, 50.0]})
    assert "track t stands twice in frame 1 of sequence 's', also at " in said
    assert said.endswith(". A track has one box per frame. Are ids given by class? Then name the label.")


def test_tracks_without_a_column() -> None:
    assert refused_evaluation("tracking", TRACK, {name: TRACK[name] for name in TRACK if name != "w"}).endswith(
        "column 'w' is missing; the columns are 'sequence', 'frame', 'track', 'x', 'y', 'h'. Map it: --map w=YOUR_COLUMN. An "
        "object is x, y, w, h, or x, y, right, bottom, or a mask."
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


ASKED: dict[str, list[Any]] = {"question": ["p", "q"], "answer": ["a", "b"]}
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no truth": (
        {"question": ["p", "q"], "text": ["a", "b"]}, ASKED,
        "column 'answer' is missing; the columns are 'question', 'text'. Rename the column, or map it: --map "
        "answer=YOUR_COLUMN.",
    ),
    "no reply": (
        ASKED, {"question": ["p", "q"], "text": ["a", "b"]},
        "column 'answer' is missing. Map it: --map prediction.answer=YOUR_COLUMN.",
    ),
    "no list": (
        {"question": ["p"], "answers": ["a, b"]}, {"question": ["p"], "answer": ["a"]},
        "'a, b' is no list of texts. Write JSON: [\"two\", \"2\"].",
    ),
    "an empty list": (
        {"question": ["p"], "answers": ["[]"]}, {"question": ["p"], "answer": ["a"]},
        "there is no accepted answer. Give at least one.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str) -> None:
    truth, predicted, said = ANSWERS[case]
    assert refused_evaluation("answers", truth, predicted).endswith(said)


def test_an_answer_that_is_too_long() -> None:
    long = {"question": ["p"], "answer": ["a" * (LONGEST + 1)]}
    assert refused_evaluation("answers", {"question": ["p"], "answer": ["a"]}, long).endswith(
        f"the answer has {LONGEST + 1:,} characters. At most {LONGEST:,} are taken."
    )


def test_choices_of_answers() -> None:
    assert refused_evaluation("answers", ASKED, ASKED, ["choice"]).endswith(
        'column \'choices\' is missing, which the metric needs. Give the options of each question, as JSON: ["a cat", "a '
        'dog"].'
    )
    offered = {**ASKED, "choices": ['["x", "y"]', '["x", "y"]']}
    assert refused_evaluation("answers", {**offered, "answer": ["z", "x"]}, ASKED, ["choice"]).endswith(
        "question 'p': the answer 'z' is not among A, B. Give the letter or the text of one option."
    )
    assert refused_evaluation("answers", {**offered, "choices": ["x or y", "[]"]}, ASKED, ["choice"]).endswith(
        '\'x or y\' are no options. Write JSON: ["a cat", "a dog"].'
    )


def test_an_empty_truth() -> None:
    assert refused_evaluation("answers", {**ASKED, "answer": ["", "b"]}, ASKED, ["anls"]).endswith(
        "question 'p' has an accepted answer that is empty. Remove the row, or choose metrics that take an empty text: cer, "
        "wer."
    )


CAPTION: dict[str, list[Any]] = {"image": ["i", "j"], "caption": ["a red car", "a dog"]}
CAPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no column": (
        {"image": ["i", "j"], "text": ["a", "b"]}, CAPTION,
        "column 'caption' is missing; the columns are 'image', 'text'. Rename the column, or map it: --map "
        "caption=YOUR_COLUMN.",
    ),
    "two candidates": (
        CAPTION, {"image": ["i", "j", "j"], "caption": ["a", "b", "c"]}, "row 1. Give one caption per image.",
    ),
    "no candidate": (
        CAPTION, {"image": ["i"], "caption": ["a"]},
        "1 of 2 images have no candidate: 'j'. Add them, or choose --missing worst or skip.",
    ),
    "no reference": (
        CAPTION, {"image": ["i", "j", "k"], "caption": ["a", "b", "c"]},
        "1 images have a candidate and no reference: 'k'. Add references, or choose --extra skip.",
    ),
    "an empty reference": (
        {**CAPTION, "caption": ["a", " "]}, CAPTION, "the reference caption is empty. Remove the row.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAPTIONS)
def test_captions(case: str) -> None:
    truth, predicted, said = CAPTIONS[case]
    assert refused_evaluation("captions", truth, predicted, ["bleu"]).endswith(said)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mae@5", "metric 'mae' takes no '@'. It has no settings."),
        ("mea", "task 'weights' has no metric 'mea'. Did you mean 'mae'?"),
        ("mape(skip)", "metric 'mape' takes settings by name only. Its settings: zero."),
        ("mape(zeros=skip)", "metric 'mape' has no setting 'zeros'. Its settings: zero."),
    ],
)
def test_specs(spec: str, said: str) -> None:
    with pytest.raises(sy.InputError) as raised:
        catalogue.parse(spec, "weights")
    assert str(raised.value) == said


def test_a_task_that_there_is_not() -> None:
    with pytest.raises(sy.InputError) as raised:
        catalogue.find_task("wieghts")
    assert str(raised.value) == "there is no task 'wieghts'. Did you mean 'weights'?"
