"""Boxes in detail, by hand: crowds and other flags, ids that are numbers, notes, the reference's arrays, many detections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.scene import BoxShape
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes import views as boxes_views
from steelyard.tasks.boxes.pairs import CROWD, DIFFICULT, GROUP, LOST
from steelyard.tasks.boxes.precision import AveragePrecision, reference_arrays
from steelyard.tasks.boxes.ranking import RankingFigure, RankingSummary, detections

nan = np.nan


def boxes(rows: list[tuple[Any, ...]], *names: str) -> dict[str, list[Any]]:
    """Rows of image, class and left edge, then other columns; boxes are 10 by 10 on one line."""
    heads = ("image", "label", "x", *names)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(heads)}
    return columns | {"y": [0.0] * len(rows), "w": [10.0] * len(rows), "h": [10.0] * len(rows)}


# A cat that is found, a crowd of dogs with two detections on it, a dog that need not be found and is, a dog that is missed.
TRUTH = boxes(
    [("i", "cat", 0.0, 0, 0, 0), ("i", "dog", 100.0, 1, 0, 0), ("i", "dog", 200.0, 0, 1, 0), ("j", "dog", 0.0, 0, 0, 1)],
    "crowd", "difficult", "group_of",
)  # fmt: skip
FOUND = boxes(
    [("i", "cat", 0.0, 0.9), ("i", "dog", 100.0, 0.8), ("i", "dog", 101.0, 0.7), ("i", "dog", 200.0, 0.6),
     ("j", "dog", 500.0, 0.55)],
    "score",
)  # fmt: skip


def test_flags() -> None:
    both = pairs_of("boxes", TRUTH, FOUND)
    assert both.flags.tolist() == [0, CROWD, DIFFICULT, GROUP]
    assert (len(both.units), both.classes) == (2, 2)
    assert both.area.tolist() == [100] * 4
    assert both.box.tolist() == [[x, 0, 10, 10] for x in (0, 100, 200, 0)]
    part = both.part(np.array([3, 1]), np.array([2]))
    assert (part.flags.tolist(), part.image.tolist(), part.label.tolist()) == ([GROUP, CROWD], [1, 0], [1, 1])
    assert (part.box[:, 0].tolist(), part.area.tolist()) == ([0, 100], [100, 100])
    assert (part.d_image.tolist(), part.d_label.tolist(), part.d_score.tolist()) == ([0], [1], [0.7])
    assert part.d_box.tolist() == [[101, 0, 10, 10]]
    one = both.of_one_class()
    assert (one.classes, one.label.tolist(), one.d_label.tolist()) == (1, [0] * 4, [0] * 5)
    alone = both.alone(1)
    assert (alone.image.tolist(), alone.d_image.tolist(), alone.flags.tolist()) == ([1], [1], [GROUP])


def test_masks_of_parts() -> None:
    mask = {"size": [1, 4], "counts": [0, 2, 2]}
    other = {"size": [1, 4], "counts": [1, 3]}
    truth = {"image": ["i", "i"], "label": ["a", "a"], "mask": [mask, other]}
    both = pairs_of("masks", truth, {**truth, "score": [0.9, 0.8]})
    assert (both.area.tolist(), both.d_area.tolist()) == ([2, 3], [2, 3])
    assert both.box.tolist() == both.d_box.tolist() == [[0, 0, 2, 1], [1, 0, 3, 1]]
    part = both.part(np.array([1]), np.array([1]))
    assert (part.area.tolist(), part.d_area.tolist(), len(part.shape), len(part.d_shape)) == ([3], [3], 1, 1)
    assert part.shape[0] == both.shape[1]
    assert part.d_shape[0] == both.d_shape[1]


def test_the_listing_of_flags() -> None:
    columns = {
        "image": ["i"] * 5 + ["j"] * 2, "class": ["cat", "dog", "dog", "dog", "dog", "dog", "dog"],
        "outcome": [
            "hit", "counts neither way", "counts neither way", "counts neither way", "missed object", "false positive",
            "missed object",
        ],
        "score": [0.9, 0.8, 0.7, 0.6, nan, 0.55, nan], "IoU": [1, nan, nan, nan, nan, nan, nan], "area": [100] * 7,
    }  # fmt: skip
    listing = sy.evaluate("boxes", TRUTH, FOUND, ["map"], confidence=None).listing()
    check_listing(listing, ("detections", "Detections and missed objects"), columns, "outcome", "score")


def test_a_picture_of_flags() -> None:
    pairs = pairs_of("boxes", TRUTH, FOUND)
    shown = boxes_views.scene(pairs, 0, catalogue.parse("f1", "boxes"))
    assert shown.title == "Image i: F1, IoU 0.5, score 0.5 = 1.0000"
    assert shown.summary == "3 true, 4 detected with a score from 0.5, 1 pair at IoU 0.5"
    assert shown.shapes == (
        BoxShape("truth", 0, 0, 10, 10, "cat", True), BoxShape("truth", 100, 0, 10, 10, "dog (crowd)", True),
        BoxShape("truth", 200, 0, 10, 10, "dog", False), BoxShape("prediction", 0, 0, 10, 10, "cat 0.90", True),
        BoxShape("prediction", 100, 0, 10, 10, "dog 0.80", True), BoxShape("prediction", 101, 0, 10, 10, "dog 0.70", True),
        BoxShape("prediction", 200, 0, 10, 10, "dog 0.60", True),
    )  # fmt: skip
    sure = boxes_views.scene(
        pairs, 0, catalogue.parse("f1(score=1, iou=1)", "boxes")
    )  # whole numbers are thresholds, too
    assert sure.summary == "3 true, 0 detected with a score from 1, 0 pairs at IoU 1"
    few = boxes_views.scene(pairs, 0, catalogue.parse("map50(max_dets=1)", "boxes"))
    assert few.summary == "3 true, 2 detected with a score from 0, 1 pair at IoU 0.5"
    wrong = boxes_views.scene(pairs, 1, catalogue.parse("f1(score=0.6)", "boxes"))
    assert wrong.title == "Image j: F1, IoU 0.5, score 0.6 = 0.0000"
    assert wrong.shapes == (BoxShape("truth", 0, 0, 10, 10, "dog", False),)
    none = boxes_views.scene(pairs, 0, catalogue.parse("recall(label=dog)", "boxes"))
    assert none.title == "Image i: Recall (true positive rate) of dog, IoU 0.5, score 0.5 = undefined"


def test_confusion_of_flags() -> None:
    """Neither a crowd nor what need not be found is missed; a detection below the score is not kept."""
    pairs = pairs_of("boxes", TRUTH, FOUND)
    names = ("cat", "dog", "(background)")
    head = ("confusion", "Confusion matrix at IoU 0.5 and score {}: rows of truth by prediction", "truth")
    for score, values in ((0.55, [[1, 0, 0], [0, 0, 1], [0, 1, 0]]), (0.56, [[1, 0, 0], [0, 0, 1], [0, 0, 0]])):
        table = boxes_views.confusion(pairs, SharedCache(), score=score)
        check_table(table, (head[0], head[1].format(score), head[2]), names, names, values)
    named = pairs_of(
        "boxes", boxes([("i", "cat", 0.0)]), boxes([("i", "dog", 2.0, 0.5), ("i", "dog", 0.0, 0.9)], "score")
    )
    assert boxes_views.confusion(named, SharedCache()).values.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    assert boxes_views.confusion(named, SharedCache(), max_dets=1).values.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    loose = pairs_of("boxes", boxes([("i", "cat", 0.0)]), boxes([("i", "cat", 2.0, 0.5)], "score"))  # IoU 2/3
    assert boxes_views.confusion(loose, SharedCache(), iou=0.66).values.tolist() == [[1, 0], [0, 0]]
    assert boxes_views.confusion(loose, SharedCache(), iou=0.67).values.tolist() == [[0, 1], [1, 0]]


def test_ids_that_are_numbers() -> None:
    """Classes of both sides in order, images of the truth; 12 comes behind 7."""
    truth = boxes([(10, 12, 0.0), (9, 7, 0.0)])
    predicted = boxes([(9, 7, 0.0, 0.9), (9, 3, 0.0, 0.8), (10, 12, 0.0, 0.7)], "score")
    pairs = pairs_of("boxes", truth, predicted)
    assert (pairs.units.tolist(), pairs.labels.tolist()) == ([9, 10], [3, 7, 12])
    assert (pairs.image.tolist(), pairs.label.tolist()) == ([1, 0], [2, 1])
    assert (pairs.d_image.tolist(), pairs.d_label.tolist()) == ([0, 0, 1], [1, 0, 2])
    table = sy.evaluate("boxes", truth, predicted, ["map"], confidence=None).table("classes")
    assert table.rows == ("3", "7", "12")
    np.testing.assert_allclose(table.values[:, :3], [[0, 1, nan], [1, 1, 1], [1, 1, 1]])
    mixed = pairs_of("boxes", truth, {**predicted, "label": ["7", "b", "12"]})
    assert mixed.labels.tolist() == ["12", "7", "b"]
    assert (mixed.label.tolist(), mixed.d_label.tolist()) == ([0, 1], [1, 2, 0])


def test_slices_by_class_and_by_image() -> None:
    truth = {**boxes([("i", "cat", 0.0), ("i", "dog", 50.0), ("j", "cat", 0.0)]), "light": ["day", "day", "night"]}
    predicted = boxes([("i", "cat", 0.0, 0.9), ("i", "dog", 90.0, 0.9), ("j", "cat", 90.0, 0.9)], "score")
    report = sy.evaluate("boxes", truth, predicted, ["recall", "precision"], by=["label", "light"], confidence=None)
    by_label = {name: part["recall"].value for name, part in report.slices["label"].items()}
    assert by_label == {"cat": 0.5, "dog": 0}
    by_light = {name: (part["recall"].value, part["precision"].value) for name, part in report.slices["light"].items()}
    assert by_light == {"day": (0.5, 0.5), "night": (0, 0)}
    named = {"images": [{"id": 1}], "categories": [{"id": 3, "name": "cat"}], "annotations": []}
    ids = pairs_of("boxes", named, [{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "score": 0.5}])
    values, owner = ids.slice_values("label")
    assert (values.tolist(), owner.tolist(), ids.metadata.axes["class"].display_names) == (["cat"], [0], ("cat",))


def test_notes() -> None:
    """Two cows of classes without truth and a tie; the best F1 keeps the two right ones."""
    truth = boxes([("i", "cat", 0.0), ("i", "cat", 50.0)])
    predicted = boxes(
        [("i", "cat", 0.0, 0.9), ("i", "cat", 50.0, 0.8), ("i", "cat", 99.0, 0.7), ("i", "cow", 0.0, 0.6),
         ("i", "hen", 0.0, 0.5)],
        "score",
    )  # fmt: skip

    def notes(spec: str, **changed: Any) -> tuple[str, ...]:
        return sy.evaluate("boxes", truth, {**predicted, **changed}, [spec], confidence=None)[spec].notes

    hidden = "2 detections of 2 classes without ground truth: false positives that count in no AP."
    assert notes("map") == (hidden,)
    assert notes("map", score=[0.9, 0.8, 0.8, 0.6, 0.6]) == (
        hidden, "1 detection ties with another of the same class; ties keep input order.",
    )  # fmt: skip
    assert notes("map", score=[0.8, 0.8, 0.8, 0.8, 0.8], label=["cat"] * 5) == (
        "4 detections tie with another of the same class; ties keep input order.",
    )
    assert notes("map(area=small)") == ()
    assert notes("best_f1") == ("The best F1 is reached with detections of score 0.8 or more.",)
    assert notes("best_f1", x=[500.0] * 5) == ()
    assert notes("precision_at(recall=1)") == (
        "Precision at recall 1, IoU 0.5 is reached with detections of score 0.8 or more.",
    )
    assert notes("precision_at(recall=1)", x=[0.0] * 5) == ()
    assert notes("recall_at(precision=0.5, label=cat)") == (
        "Recall of cat at precision 0.5, IoU 0.5 is reached with detections of score 0.8 or more.",
    )
    assert notes("ji") == ("The best Jaccard index is reached with detections of score above 0.7.",)


@pytest.mark.parametrize("quirks", [False, True])
def test_arrays_of_the_reference(quirks: bool) -> None:
    """A small object found by the second detection; annotation 0 is never matched there."""
    predicted = [
        {"image_id": 1, "category_id": 1, "bbox": [50, 0, 10, 10], "score": 0.9},
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.8},
    ]
    for identity in (0, 5):
        truth = {
            "images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}],
            "annotations": [{"id": identity, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100}],
        }  # fmt: skip
        pairs = pairs_of("boxes", truth, predicted)
        assert pairs.flags.tolist() == [LOST if identity == 0 else 0]
        arrays = reference_arrays(pairs, most=(1, 5)) if quirks else reference_arrays(pairs, quirks=False, most=(1, 5))
        lost = quirks and identity == 0
        assert {name: array.shape for name, array in arrays.items()} == {
            "precision": (10, 101, 1, 4, 2), "recall": (10, 1, 4, 2), "scores": (10, 101, 1, 4, 2),
        }  # fmt: skip
        for area in (0, 1):  # all, small
            assert (arrays["recall"][..., area, 0] == 0).all()
            assert (arrays["recall"][..., area, 1] == (0 if lost else 1)).all()
            assert (arrays["precision"][..., area, 0] == 0).all()
            assert (arrays["precision"][..., area, 1] == (0 if lost else 0.5)).all()
            assert (arrays["scores"][:, 0, :, area, 1] == 0.9).all()  # recall 0 is reached by the first
            assert (arrays["scores"][:, 1:, :, area, 1] == (0 if lost else 0.8)).all()
        for name in arrays:
            assert (arrays[name][..., 2:, :] == -1).all()


def test_more_than_a_hundred_detections() -> None:
    """The last of 101 finds the object. Working points see it; a table of AP does with a cap of 101, not of 100."""
    truth = boxes([("i", "cat", 0.0)])
    predicted = boxes([("i", "cat", 0.0 if k == 100 else 500.0, 1 - k / 200) for k in range(101)], "score")
    pairs = pairs_of("boxes", truth, predicted)
    heads = ("objects", "detections", "ap", "ap50", "ap75")
    for most, last, counted, ap in ((100, "ar@100", 100, 0), (101, "ar", 101, 1 / 101)):
        table = boxes_views.classes(pairs, SharedCache(), most)
        check_table(
            table, ("classes", "Average precision by class", "class"), ["cat"], [*heads, last],
            [[1, counted, ap, ap, ap, float(most == 101)]],
        )  # fmt: skip
    operating = boxes_views.operating(pairs, SharedCache())
    assert (operating.title, operating.columns[4:]) == (
        "Working points by class, IoU 0.5", ("precision at recall 0.5", "recall at precision 0.9"),
    )  # fmt: skip
    np.testing.assert_allclose(operating.values, [[2 / 102, 0.5, 1 / 101, 1, 1 / 101, nan]], atol=1e-12)
    made = boxes_views.figures(pairs, State.of(pairs, []), (), 101)
    assert sum(made["scores"]().columns["count"]) == 101
    assert max(made["pr_class"]().columns["y"]) == pytest.approx(1 / 101)
    assert made["ap_class"]().columns["value"] == pytest.approx([1 / 101])
    assert made["confusion"]().columns["count"].tolist() == [1, 0, 100, 0]


def test_few_detections_at_a_working_point() -> None:
    """The first of each class and image counts: a hit and two false ones remain of five."""
    truth = boxes([("i", "cat", 0.0), ("i", "cat", 50.0), ("j", "dog", 0.0)])
    predicted = boxes(
        [("i", "cat", 0.0, 0.9), ("i", "cat", 50.0, 0.8), ("j", "dog", 99.0, 0.7), ("j", "dog", 0.0, 0.6),
         ("j", "cat", 0.0, 0.4)],
        "score",
    )  # fmt: skip
    expected = {
        "precision(max_dets=1)": 1 / 2, "precision(score=0.3, max_dets=1)": 1 / 3, "recall(max_dets=1)": 1 / 3,
        "fpr_candidate(max_dets=1)": 1 / 2, "mean_iou(max_dets=1)": 1, "fppi(max_dets=1)": 1 / 2, "precision": 3 / 4,
        "best_f1(max_dets=1)": 2 / 4, "recall(label=dog, max_dets=1)": 0, "recall(label=dog)": 1,
        "precision(label=cat, score=0.3)": 2 / 3, "f1(label=cat, score=0.3)": 4 / 5, "fpr_image": 0,
        "fpr_image(score=0.4)": 1 / 2, "fbeta(beta=1)": 6 / 7,
    }  # fmt: skip
    report = sy.evaluate("boxes", truth, predicted, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected)


def test_what_metrics_read() -> None:
    """A kind that walks all detections reads one threshold, where it is asked for one; others share the ten."""
    need = detections(0.5, "all", "coco")[0]
    ten = tuple(range(10))
    for spec, figure, places in (
        ("ap", RankingFigure(need, "coco", 0, 100), (0,)),
        ("ap(iou=0.75)", RankingFigure(need, "coco", 0, 100), (5,)),
        ("ap(kind=voc)", RankingFigure(need, "voc", 0, 65535, 0), (0,)),
        ("ap(kind=step, iou=0.75, area=large)", RankingFigure(need, "step", 3, 65535, 5), (0,)),
        ("ap(kind=voc11, label=cat)", RankingFigure(need, "voc11", 0, 65535, None, "cat"), (0,)),
        ("map", RankingFigure(need, "coco", 0, 100), ten),
        ("map(kind=step, classes=[a])", RankingFigure(need, "step", 0, 65535, None, None, ("classes", "a")), ten),
        ("map(iou=0.5, kind=voc, classes=[a])", RankingFigure(need, "voc", 0, 65535, 0, None, ("classes", "a")), (0,)),
        ("map75(frequency=c)", RankingFigure(need, "coco", 0, 100, None, None, ("frequency", "c")), (5,)),
        ("ar@10", RankingFigure(need, "recall", 0, 10), ten),
        ("ar@100", RankingFigure(need, "coco", 0, 100), ten),
        ("ar@300", RankingFigure(detections(0.5, "all", "coco")[0], "coco", 0, 300), ten),
        ("ap(rule=voc, max_dets=7)", RankingFigure(detections(0.5, "all", "voc")[0], "coco", 0, 7), (0,)),
    ):
        metric: Any = catalogue.parse(spec, "boxes")
        assert metric.figure == (figure, places), spec
        assert metric.requirements()[0] == figure
    for spec, cap in (("map", 100), ("map(area=small)", 100), ("ap(kind=step)", 65535), ("map50(max_dets=7)", 7)):
        assert catalogue.parse(spec, "boxes").requirements()[1:] == (RankingSummary(need, cap),)
    assert catalogue.parse("ar@100", "boxes").requirements()[1:] == ()


def test_scores_beyond_shares() -> None:
    truth = boxes([("i", "cat", 0.0)])
    predicted = boxes([("i", "cat", 0.0, 4.0), ("i", "cat", 99.0, -1.0)], "score")
    edges = np.linspace(-1, 4, 26)
    counts = [0] * 25
    check_figure(
        sy.evaluate("boxes", truth, predicted, ["map"], confidence=None).figure("scores"),
        ("scores", "histogram", "Scores of hits and false positives"),
        {
            "low": [*edges[:-1]] * 2, "high": [*edges[1:]] * 2, "count": [*counts[:-1], 1, 1, *counts[:-1]],
            "series": ["hit"] * 25 + ["false positive"] * 25,
        },
        {"x": "score", "y": "detections"}, "At IoU 0.5. Where the two overlap, no score threshold can part them.",
    )  # fmt: skip
    nothing = sy.evaluate("boxes", truth, {name: [] for name in predicted}, ["map"], confidence=None).figure("scores")
    assert nothing.columns == {"low": [], "high": [], "count": [], "series": []}


def test_classes_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of("boxes", boxes([("i", "cat", 0.0)]), boxes([("i", "cow", 0.0, 0.9)], "score"))
    need = detections(0.5, "all", "coco")[0]
    standard = catalogue.parse("map", "boxes").iou
    cat = AveragePrecision(iou=standard, only="cat")
    assert boxes_views.class_metrics(State.of(pairs, [need])) == {"cat": cat}
    cow = AveragePrecision(iou=standard, max_dets=7, only="cow")
    many = boxes_views.class_metrics(State.of(pairs, []), 7)
    assert many == {"cat": AveragePrecision(iou=standard, max_dets=7, only="cat"), "cow": cow}
    three = boxes([("i", "cat", 0.0), ("i", "dog", 50.0), ("i", "dog", 90.0)])
    state = State.of(pairs_of("boxes", three, {**three, "score": [0.9] * 3}), [need])
    assert list(boxes_views.class_metrics(state)) == ["cat", "dog"]
    monkeypatch.setattr(boxes_views, "MOST_CLASSES", 1)
    assert list(boxes_views.class_metrics(state)) == ["dog"]
