"""What is shown of label maps, by hand: pictures pixel by pixel, many classes, and what other tools print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, pixels
from support.refusal import refuses
from support.shown import agree, check_figure, check_table

from steelyard.core import catalogue
from steelyard.core.explanation import Explanation, Step
from steelyard.core.state import State
from steelyard.maps.raster import PALETTE, colour
from steelyard.tasks.segmentation import views as segmentation_views
from steelyard.tasks.segmentation.counts import UNCLASSED, ClassPixels, Confusion
from steelyard.tasks.segmentation.views import explain
from steelyard.tasks.shared.tools import find_tools

FIRST, SECOND, THIRD = PALETTE[:3]
RIGHT, WRONG, VOID, NONE = "eef2ee", "d7263d", "c9c9c9", "101010"


def voided(missing: bool = False) -> Any:
    """Image a is right but for one pixel that is not a class; b has void, and no prediction where that is asked for."""
    truth = {"image": ["a", "b"], "map": np.array([[[0, 0, 1, 1]], [[0, 1, 1, 255]]])}
    prediction = {"image": ["a", "b"], "map": np.array([[[0, 0, 1, 9]], [[1, 1, 1, 1]]])}
    if missing:
        prediction = {"image": ["a"], "map": prediction["map"][:1]}
    return pairs_of(
        "segmentation",
        truth,
        prediction,
        missing="worst" if missing else "error",
        ignore=(255.0,),
        classes=3.0,
        unknown="wrong",
    )


def state_of(pairs: Any) -> State:
    return State.of(pairs, {ClassPixels(): None, Confusion(): None})


def test_colours_of_codes() -> None:
    assert [segmentation_views.class_colour(code) for code in (0, 1, UNCLASSED, UNCLASSED + 1, UNCLASSED + 2)] == [
        FIRST, SECOND, NONE, VOID, VOID,
    ]  # fmt: skip
    assert segmentation_views.class_colour(UNCLASSED - 1) == colour(UNCLASSED - 1)


def test_pictures_of_maps() -> None:
    """Costs: 0 has 1 wrong of a union of 3, 1 has 1 in a and 1 in b of 5: (1/5) / 2 and (1/3 + 1/5) / 2."""
    pairs = voided()
    figure = segmentation_views.maps(pairs, state_of(pairs))
    assert figure.columns["image"] == ["b", "a"]
    assert figure.columns["cost"] == pytest.approx([(1 / 3 + 1 / 5) / 2, (1 / 5) / 2])
    assert [pixels(one) for one in figure.columns["truth"]] == [
        [[FIRST, SECOND, SECOND, VOID]],
        [[FIRST, FIRST, SECOND, SECOND]],
    ]
    assert [pixels(one) for one in figure.columns["prediction"]] == [[[SECOND] * 4], [[FIRST, FIRST, SECOND, NONE]]]
    assert [pixels(one) for one in figure.columns["errors"]] == [
        [[WRONG, RIGHT, RIGHT, VOID]],
        [[RIGHT, RIGHT, RIGHT, WRONG]],
    ]
    assert figure.facts["legend"] == [["0", FIRST], ["1", SECOND], ["ignored", VOID]]


def test_a_picture_without_a_prediction() -> None:
    pairs = voided(missing=True)
    figure = segmentation_views.maps(pairs, state_of(pairs))
    at = figure.columns["image"].index("b")
    assert pixels(figure.columns["prediction"][at]) == [[NONE] * 4]
    assert pixels(figure.columns["errors"][at]) == [[WRONG, WRONG, WRONG, VOID]]
    shown = segmentation_views.scene(pairs, 1, catalogue.parse("miou", "segmentation"))
    assert [pixels(one.png) for one in shown.rasters] == [
        [[FIRST, SECOND, SECOND, VOID]],
        [[NONE] * 4],
        [[WRONG] * 3 + [VOID]],
    ]
    assert shown.title == "Image b: pixel accuracy 0.0000"
    assert shown.summary == "3 pixels count, 3 are wrong, 1 are ignored"
    assert shown.legend == (("0", FIRST), ("1", SECOND), ("right", RIGHT), ("wrong", WRONG), ("ignored", VOID))


def test_a_picture_of_nothing_but_void() -> None:
    truth, prediction = {"image": ["a"], "map": np.full((1, 2, 3), 255)}, {"image": ["a"], "map": np.full((1, 2, 3), 2)}
    pairs = pairs_of("segmentation", truth, prediction, ignore=(255.0,), classes=3.0)
    shown = segmentation_views.scene(pairs, 0, catalogue.parse("miou", "segmentation"))
    assert shown.title == "Image a: pixel accuracy undefined"
    assert shown.summary == "0 pixels count, 0 are wrong, 6 are ignored"
    assert shown.bounds == (0, 0, 3, 2)
    assert [(one.title, one.w, one.h) for one in shown.rasters] == [
        ("Truth", 3, 2),
        ("Prediction", 3, 2),
        ("Difference", 3, 2),
    ]
    assert shown.legend[0] == ("2", THIRD)
    assert segmentation_views.costs(state_of(pairs)).tolist() == [0]


def test_the_cost_of_an_image_of_one_class() -> None:
    pairs = pairs_of("segmentation", np.array([[[0, 0]]]), np.array([[[0, 9]]]), classes=1.0, unknown="wrong")
    assert segmentation_views.costs(state_of(pairs)).tolist() == [1 / 2]


def test_pictures_of_large_maps_are_thinned() -> None:
    """Of 1,100 pixels every second has an odd place; the first of each two is shown."""
    grid = np.tile(np.array([0, 1]), 550)[None, None]
    pairs = pairs_of("segmentation", {"image": ["a"], "map": grid}, {"image": ["a"], "map": 1 - grid})
    shown = segmentation_views.scene(pairs, 0, catalogue.parse("miou", "segmentation"))
    assert [pixels(one.png) for one in shown.rasters] == [[[FIRST] * 550], [[SECOND] * 550], [[WRONG] * 550]]
    assert shown.summary == "1,100 pixels count, 1,100 are wrong, 0 are ignored"
    assert shown.bounds == (0, 0, 1100, 1)


def many(classes: int) -> State:
    """A class more true pixels than the one before; of each but 0 one is taken for the class below."""
    truth = np.repeat(np.arange(classes), np.arange(classes) + 2)
    prediction = truth.copy()
    first = np.searchsorted(truth, np.arange(1, classes))
    prediction[first] -= 1
    return state_of(pairs_of("segmentation", truth[None, None], prediction[None, None]))


def test_pairs_of_classes_that_are_confused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation_views, "MOST_CLASSES", 4)
    monkeypatch.setattr(segmentation_views, "MOST_PAIRS", 3)
    check_figure(
        segmentation_views.confusion_figure(many(5)), ("confusion", "bars", "Classes that are taken for another most"),
        {"name": ["1 → 0", "2 → 1", "3 → 2"], "value": [1 / 3, 1 / 4, 1 / 5], "pixels": [1, 1, 1]},
        {"x": "share of the true class"}, "True class → predicted class, by pixels.",
    )  # fmt: skip
    monkeypatch.setattr(segmentation_views, "MOST_PAIRS", 20)
    assert len(segmentation_views.confusion_figure(many(5))) == 4
    assert segmentation_views.confusion_figure(many(4)).chart == "matrix"
    assert segmentation_views.confusion_figure(many(4)).table is not None


def test_iou_of_classes_worst_first() -> None:
    """Class 0 keeps 2 and gains one: 2/3; class 1 keeps 2 of 3 and gains one: 2/4; the last loses one alone: 3/4."""
    state = many(3)
    figure = segmentation_views.iou_by_class(state)
    agree(figure.columns, {"name": ["1", "0", "2"], "value": [2 / 4, 2 / 3, 3 / 4]})
    check_table(
        figure.table, ("classes", "Classes", "class"), "012",
        ("images", "pixels", "predicted", "IoU", "Dice", "accuracy", "precision"),
        [[1, 2, 3, 2 / 3, 4 / 5, 1, 2 / 3], [1, 3, 3, 1 / 2, 2 / 3, 2 / 3, 2 / 3], [1, 4, 3, 3 / 4, 6 / 7, 3 / 4, 1]],
    )  # fmt: skip
    long = segmentation_views.iou_by_class(many(25))
    assert long.caption == "The worst first. The worst 12 and the best 12 of 25; the table has all."
    assert len(long) == 24


def test_classes_without_a_number_are_not_drawn() -> None:
    pairs = pairs_of("segmentation", np.array([[[0, 1]]]), np.array([[[0, 0]]]), classes=4.0)
    agree(segmentation_views.iou_by_class(state_of(pairs)).columns, {"name": ["1", "0"], "value": [0, 1 / 2]})


def test_figures_and_tables_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = voided()
    state = state_of(pairs)
    assert list(segmentation_views.figures(pairs, state, ())) == ["maps", "iou_class", "confusion"]
    assert segmentation_views.figures(pairs, State.of(pairs, {Confusion(): None}), ()) == {}
    assert list(segmentation_views.tables(pairs, state)) == [
        "classes",
        "confusion",
        "confusion_true",
        "confusion_predicted",
    ]
    assert list(segmentation_views.tables(pairs, State.of(pairs, {ClassPixels(): None}))) == ["classes"]
    assert list(segmentation_views.tables(pairs, State.of(pairs, {Confusion(): None}))) == [
        "confusion",
        "confusion_true",
        "confusion_predicted",
    ]
    assert {name: str(metric) for name, metric in segmentation_views.class_metrics(many(3)).items()} == {
        "0": "iou(label=0)", "1": "iou(label=1)", "2": "iou(label=2)",
    }  # fmt: skip
    monkeypatch.setattr(segmentation_views, "MOST_CLASSES", 2)
    assert list(segmentation_views.class_metrics(many(3))) == ["1", "2"]
    assert list(segmentation_views.class_metrics(state)) == ["0", "1"]  # no pixel of 2 is true


def test_many_classes_in_the_legend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation_views, "MOST_CLASSES", 1)
    monkeypatch.setattr(segmentation_views, "SHOWN", 1)
    pairs = voided()
    figure = segmentation_views.maps(pairs, state_of(pairs))
    assert figure.columns["image"] == ["b"]
    assert figure.facts["legend"] == [["0", FIRST], ["ignored", VOID]]
    whole = pairs_of("segmentation", np.array([[[0, 1]]]), np.array([[[0, 1]]]))
    assert segmentation_views.maps(whole, state_of(whole)).facts["legend"] == [["0", FIRST]]


# Image a: 0 is right in 3 of 3 and predicted once more, 1 in 0 of 1. Image b: 1 is right in 2 of 2.
EXPLAINED = ({"image": ["a", "b"], "map": np.array([[[0, 0, 0, 1]], [[1, 1, 2, 2]]])},
             {"image": ["a", "b"], "map": np.array([[[0, 0, 0, 0]], [[1, 1, 0, 0]]])})  # fmt: skip
# All together: 0 has 3 of 6, 1 has 2 of 3, 2 has 0 of 2; Dice 6/9, 4/5 and 0.
OURS = {
    "miou": (3 / 6 + 2 / 3) / 3, "mdice": (6 / 9 + 4 / 5) / 3, "macc": (1 + 2 / 3) / 3, "accuracy": 5 / 8, "f1": (6 / 9 + 4 / 5) / 3,
}  # fmt: skip


def checked(one: Explanation, expected: Explanation) -> None:
    """Explanations that are alike, numbers within rounding."""
    assert (one.tool, one.version, one.remarks) == (expected.tool, expected.version, expected.remarks)
    assert one.ours == pytest.approx(expected.ours)
    assert one.theirs == pytest.approx(expected.theirs)
    for step, other in zip(one.steps, expected.steps, strict=True):
        assert (step.setting, step.ours, step.theirs, step.reason) == (
            other.setting,
            other.ours,
            other.theirs,
            other.reason,
        )
        assert step.values == pytest.approx(other.values)


def test_what_mmsegmentation_prints() -> None:
    (one,) = explain(pairs_of("segmentation", *EXPLAINED), ["mmseg"])
    theirs = {**OURS, "f1": (6 / 9 + 4 / 5) / 2}
    step = Step(
        "f1",
        "0 for a class without a right pixel",
        "no number for it",
        "mFscore then is the mean over better classes.",
        theirs,
    )
    remarks = (
        "It adds pixels in single precision: beyond 16 million pixels of a class, sums are rounded.",
        "Predicted values without a class are dropped there, and wrong here.",
    )
    checked(one, Explanation("mmseg", "1.2.2", OURS, (step,), theirs, remarks))


def test_what_torchmetrics_prints() -> None:
    """Dice by image: (6/7 + 0) / 2 and (1 + 0 + 0) / 3. IoU of all classes of images: 3/4, 0; 1, 0 (2), 0 (0)."""
    (one,) = explain(pairs_of("segmentation", *EXPLAINED), ["torchmetrics"])
    dice, iou = ((6 / 7) / 2 + 1 / 3) / 2, (3 / 4 + 0 + 1 + 0 + 0) / 5
    steps = (
        Step("Dice", "dataset", "image",
             "DiceScore takes the mean over the classes of each image, then over images; with aggregation_level='global' it "
             "does as we do.", {**OURS, "mdice": dice}),
        Step("IoU", "dataset", "class of an image",
             "MeanIoU takes the mean over all classes of all images at once, so that an image with more classes counts more; "
             "JaccardIndex does as we do.", {**OURS, "miou": iou}),
    )  # fmt: skip
    remarks = ("MeanIoU takes no value to ignore, and gives −1 for an absent class by class.",)
    checked(one, Explanation("torchmetrics", "1.9.0", OURS, steps, {**OURS, "mdice": dice, "miou": iou}, remarks))


def test_tools_that_are_not_known() -> None:
    pairs = pairs_of("segmentation", *EXPLAINED)
    with refuses("E-unknown-name", "'mseg'", "'mmseg'"):
        explain(pairs, ["mseg"])
    assert [one.tool for one in explain(pairs, ["torchmetrics", "mmseg"])] == ["torchmetrics", "mmseg"]
    assert find_tools(iter(["b"]), {"a": 1, "b": 2}) == {"b": 2}
    void = {"image": ["a"], "map": np.full((1, 1, 2), 9)}
    (nothing,) = explain(
        pairs_of("segmentation", void, {"image": ["a"], "map": np.zeros((1, 1, 2), int)}, ignore=(9.0,)),
        ["torchmetrics"],
    )
    assert np.isnan(nothing.theirs["miou"])
