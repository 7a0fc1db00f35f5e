"""Functions of the checks, each alone: findings, ids, the checks of single tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.checks import ids, run
from steelyard.checks import run as checking
from steelyard.checks.check import CheckData, Problem
from steelyard.checks.findings import CheckReport, Finding, _details
from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.records import Records
from steelyard.tasks.answers import checks as answers
from steelyard.tasks.boxes import check_pairs as pairs
from steelyard.tasks.boxes import check_quick as objects
from steelyard.tasks.boxes import check_run as run_boxes
from steelyard.tasks.boxes import check_side as sides
from steelyard.tasks.boxes.check_geometry import draw_sample
from steelyard.tasks.boxes.check_side import CheckedSide
from steelyard.tasks.captions import checks as captions
from steelyard.tasks.ellipses import checks as ellipses
from steelyard.tasks.keypoints import checks as keypoints
from steelyard.tasks.labels import checks as labels
from steelyard.tasks.oriented import checks as oriented
from steelyard.tasks.rankings import checks as rankings
from steelyard.tasks.segmentation import checks as segmentation
from steelyard.tasks.tracking import checks as tracking


def side(**columns: Any) -> Records:
    return Records("x.csv", {name: np.asarray(values) for name, values in columns.items()})


NONE = side(image=[])


ROWS = np.arange(60)


def joined(truth: Records, prediction: Records, rows: int) -> CheckData:
    """Both sides, row by row."""
    held = SimpleNamespace(
        truth=truth, prediction=prediction, truth_row=np.arange(rows), prediction_row=np.arange(rows)
    )
    return CheckData(truth, prediction, held)


def report(*severities: str) -> CheckReport:
    findings = tuple(Finding(f"code-{i}", one, "truth", "What.", 1, 2) for i, one in enumerate(severities))
    return CheckReport("t.csv", None, {"rows": 2}, findings, "weights")


@pytest.mark.parametrize(
    ("severities", "text"),
    [
        ((), "Nothing was found that would make numbers wrong."),
        (("note",), "1 note. Nothing was found that would make numbers wrong."),
        (
            ("warning", "note"),
            "1 warning, 1 note. Nothing is surely wrong; read the warnings before you believe a number.",
        ),
        (("error",), "1 error. Do not believe a number from these data before the errors are corrected."),
    ],
)
def test_the_verdict_of_findings(severities: tuple[str, ...], text: str) -> None:
    assert report(*severities)._verdict() == text


def test_findings_by_their_code() -> None:
    held = report("note")
    assert held["code-0"] is held.findings[0]
    with refuses(KeyError, "'other'"):
        held["other"]
    assert _details(held.findings[0], 80) == "note: code-0 (truth)\n  What."


def test_ids_of_nothing_differ_in_nothing() -> None:
    assert ids.explain("image", [], ["a"]) is ids.explain("image", ["a"], []) is None
    assert ids.ids_differ(CheckData(NONE)) is None
    truth, prediction = side(image=["a"], item=["1"]), side(image=["a"])
    assert ids.ids_differ(CheckData(truth, prediction, read={"key": ["image", "item"]})) is None


def test_rows_that_stand_again() -> None:
    read = {"key": ["image"], "keys": 1, "whole_key": ["image"]}
    assert (
        ids.repeated_keys("truth")(CheckData(NONE, read=read))
        is ids.repeated_keys("prediction")(CheckData(NONE, read=read))
        is None
    )
    problem = ids.repeated_keys("truth")(CheckData(side(image=["a", "b", "a"]), read=read))
    assert problem is not None
    assert (problem.what, problem.count, problem.total) == ("Rows appear more than once by 'image'.", 1, 3)


def test_labels_that_true_answers_have_too_are_no_fault() -> None:
    accepted = np.array(["Answer: 4"])
    data = CheckData(NONE, NONE, SimpleNamespace(accepted=accepted))
    assert answers.labelled_replies(data) is None


def test_references_without_captions_repeat_none() -> None:
    assert captions.repeated_references(CheckData(side(image=["a", "a"]))) is None
    problem = captions.repeated_references(CheckData(side(image=["a", "a", "b"], caption=["x", "x", "x"])))
    assert problem is not None
    assert (problem.count, problem.total) == (1, 3)


def test_ellipses_that_are_not_there() -> None:
    assert ellipses.fractions(CheckData(NONE)) is None
    numbers = {name: [1.0, 1.0] for name in ellipses.PARAMETERS}
    assert ellipses.repeated_ellipses("truth", CheckData(NONE)) is None
    assert (
        ellipses.repeated_ellipses("truth", CheckData(side(image=["a", "a"], **numbers | {"xc": [np.nan, np.nan]})))
        is None
    )
    problem = ellipses.repeated_ellipses("truth", CheckData(side(image=["a", "a"], **numbers)))
    assert problem is not None
    assert problem.count == 1


def test_keypoints_of_no_object() -> None:
    assert keypoints.nothing_visible(CheckData(NONE)) is keypoints.at_the_corner(CheckData(NONE)) is None
    unseen = side(image=ROWS, keypoints=np.zeros((60, 6)))
    problem = keypoints.nothing_visible(CheckData(unseen))
    assert problem is not None
    assert (problem.what, problem.count, problem.total) == ("Objects have no visible point.", 60, 60)


def test_scores_that_are_all_alike() -> None:
    truth, prediction = side(id=ROWS, label=ROWS % 2), side(id=ROWS, score=np.full(60, 0.5))
    assert labels.constant(joined(truth, prediction, 60)) == Problem("Every row has the same score.", 60, 60)
    prediction = side(id=ROWS, probability=ROWS / 60)
    assert labels.constant(joined(truth, prediction, 60)) is None


@pytest.mark.parametrize(("rows", "said"), [(40, False), (60, True)])
def test_scores_that_are_the_truth(rows: int, said: bool) -> None:
    places = np.arange(rows)
    truth, prediction = side(id=places, label=places % 2), side(id=places, score=(places % 2).astype(float))
    whole = Problem("Every score is 1 for the true class and 0 for all others.", rows, rows)
    assert labels.copies(joined(truth, prediction, rows)) == (whole if said else None)


SQUARE = {"x1": 0, "y1": 0, "x2": 4, "y2": 0, "x3": 4, "y3": 4, "x4": 0, "y4": 4}


def test_polygons_that_do_not_cross_and_boxes_without_an_area() -> None:
    square = side(image=["a"], **{name: [float(value)] for name, value in SQUARE.items()})
    assert oriented.corners_order("truth", CheckData(square)) is None
    assert oriented.flat("truth", CheckData(NONE)) is oriented.flat("truth", CheckData(side(image=["a"]))) is None
    quads = np.array([[0, 0, 4, 0, 4, 4, 0, 4], [0, 0, 4, 0, 4, 0, 0, 0]], dtype=np.float64)
    for flat in (side(image=["a", "b"], quad=quads), side(image=["a", "b"], w=[1.0, 0.0], h=[1.0, 1.0])):
        problem = oriented.flat("truth", CheckData(flat))
        assert problem is not None
        assert (problem.what, problem.count, problem.total) == ("Boxes have no area.", 1, 2)
    assert oriented.tiles(CheckData(NONE)) is None


def test_frames_of_nothing_joined() -> None:
    assert tracking.frames_thinned(CheckData(NONE)) is None


def test_maps_of_which_no_pixel_counts() -> None:
    scan = SimpleNamespace(count=np.array([3]), truth=np.array([255]), predicted=np.array([1]))
    known = SimpleNamespace(classes=lambda values, which: np.full(len(values), -1))
    assert (
        segmentation.shifted_labels(CheckData(NONE, NONE, SimpleNamespace(labelling=known), read={"scan": scan}))
        is None
    )


def boxes(score: Any = None, rows: int = 0) -> CheckedSide:
    return CheckedSide("predictions", "p.json", np.zeros(rows, int), np.zeros(rows, int), np.ones((rows, 4)), score)


def test_boxes_without_scores_have_none_to_look_at() -> None:
    for held in (boxes(), boxes(np.zeros(0))):
        pairs.check_scores(held)
        pairs.check_repeats(held)
        assert held.findings == []


def test_the_fullest_images_are_left_out_of_a_sample() -> None:
    image = np.repeat([0, 1], [1000, 2])
    sample = draw_sample(image, np.ones(1002, bool), image, np.zeros(1002))
    assert sample.truths.tolist() == [1000, 1001]


def test_objects_of_one_box_and_two_shapes_are_two() -> None:
    columns: dict[str, Any] = {"image": [1, 1], "label": [1, 1], **{name: [2.0, 2.0] for name in "xywh"}}

    def held(shapes: list[str]) -> Any:
        return SimpleNamespace(
            units=[1], truth=side(**columns, shape=shapes), image=np.zeros(2, int), label=np.zeros(2, int)
        )

    assert objects.repeated_truth(held(["a", "b"])) == []
    (finding,) = objects.repeated_truth(held(["a", "a"]))
    assert finding.what == "1 object of the truth appears twice, equal in all: the second of two is a sure miss."


def test_truth_that_is_no_data_set_of_coco() -> None:
    held = boxes()
    held.source = "truth.csv"
    assert run_boxes._like(None) is run_boxes._like((held, None)) is None


def test_rankings_that_are_none() -> None:
    data = CheckData(NONE, NONE)
    assert rankings.queries_differ(data) is rankings.repeated_documents(data) is None


def test_relevant_documents_behind_others_that_stand_even_lower() -> None:
    """Ten queries of ten documents each: the relevant ones at places 9, the others at 10, and then at 1."""
    owner = np.repeat(np.arange(30), 2)

    def placed(good: int, bad: int) -> Problem | None:
        held = SimpleNamespace(
            rank=np.tile([good, bad], 30), retrieved=np.full(30, 10), owner=owner, relevance=np.tile([1, 0], 30),
            units=np.arange(30),
        )  # fmt: skip
        return rankings.scores_reversed(CheckData(NONE, NONE, held))

    assert placed(9, 10) is None
    problem = placed(9, 1)
    assert problem is not None
    assert problem.what.startswith("Relevant documents stand 85% down their lists on the mean")


def ranked(values: list[float]) -> Any:
    each = len(values) // 30
    return rankings.Rankings(
        "r.run", {}, queries=np.arange(30).astype(object), starts=np.arange(0, len(values) + 1, each),
        documents=SimpleNamespace(key=np.zeros(len(values), np.int64)), values=np.array(values),
    )  # fmt: skip


def test_short_lists_have_no_common_top() -> None:
    assert rankings.constant(CheckData(NONE, ranked([1.0] * 60))) is None
    assert rankings.constant(CheckData(NONE, ranked([1.0] * 90))) == Problem(
        "30 of 30 lists have the same document on top.", 30, 30
    )


def test_scores_that_are_not_the_relevance_are_no_copy() -> None:
    held = SimpleNamespace(
        owner=np.repeat(np.arange(30), 2), units=np.arange(30), rank=np.tile([1, 2], 30), retrieved=np.full(30, 2),
        relevance=np.tile([1.0, 0.0], 30),
    )  # fmt: skip
    assert rankings.copies(CheckData(NONE, ranked([0.9, 0.1] * 30), held)) is None
    problem = rankings.copies(CheckData(NONE, ranked([1.0, 0.0] * 30), held))
    assert problem is not None
    assert problem.what == "The run holds the judged documents alone, and its scores are their relevance."


def test_no_prediction_at_all() -> None:
    assert run._coverage(catalogue.find_task("weights"), None, NONE) == [
        Finding(
            "no-predictions",
            "error",
            "predictions",
            "There is no prediction at all.",
            0,
            0,
            (),
            "Is it the right file?",
        )
    ]


def test_sides_that_can_be_read_alone_and_not_together(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Records("t.csv", {"dish": np.array(["a"])})

    def together(*given: Any) -> Any:
        raise InputError("the two do not fit", where="p.csv, line 2", remedy="Give others.")

    monkeypatch.setattr(checking, "read_sides", together)
    monkeypatch.setattr(checking, "read_side", lambda *given: alone)
    truth, prediction, findings = checking._read(catalogue.find_task("weights"), {}, {}, {}, {}, "t.csv", "p.csv")  # type: ignore[arg-type]
    assert (truth, prediction) == (alone, None)
    assert [(one.code, one.severity, one.side, one.what) for one in findings] == [
        ("unreadable", "error", "predictions", "The data cannot be read.")
    ]
    assert "p.csv, line 2: the two do not fit" in findings[0].examples[0]


def test_a_text_that_is_no_data_set_of_coco() -> None:
    held = sides._record_by_record(None, b'{"images": 7}', "truth", "t.json", ())
    assert (held.readable, [one.code for one in held.findings]) == (False, ["unreadable"])


def test_few_objects_in_the_images_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 images two are looked at, and they hold too few objects to say anything."""
    monkeypatch.setattr(objects, "IMAGES", 2)
    columns = {name: np.arange(40.0) for name in "xywh"} | {"image": np.arange(40), "label": np.zeros(40, int)}
    records = Records("t.json", columns)
    pairs = SimpleNamespace(
        truth=records, prediction=records, units=np.arange(40), image=np.arange(40),
        d_image=np.arange(40), label=np.zeros(40, int), labels=np.array([0]),
    )  # fmt: skip
    assert objects.look(pairs) == []
