"""Scores of label maps by hand: outlines, means, settings and what is noted of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.segmentation.counts import UNCLASSED, coders
from steelyard.tasks.segmentation.overlap import class_place, mean_defined
from steelyard.tasks.segmentation.scores import edge_of, edge_scores

nan = np.nan


def scored(truth: Any, prediction: Any, metrics: list[str], **options: Any) -> list[float]:
    """The numbers of images that are given as lists."""
    return list(values_of("segmentation", np.array(truth), np.array(prediction), metrics, options=options).values())


def block(left: int) -> Any:
    """A square of 5 in a map of 7, from the second row on."""
    grid = np.zeros((1, 7, 7), dtype=np.uint8)
    grid[0, 1:6, left : left + 5] = 1
    return grid


def test_bands_of_a_square_that_is_moved() -> None:
    """Its ring of 16 pixels moved by one shares rows 1 and 5 of columns 2 to 5.

    Within 2 pixels of the edge lies all but the centre: 18 of 30; within 3 all of it: 20 of 30. Of the other class every
    pixel lies at an edge: 24 on both sides, of which 19 are shared.
    """
    asked = ["boundary_iou(label=1)", "boundary_iou(label=1, width=0.2)", "boundary_iou(label=1, width=0.3)"]
    values = [8 / 24, 18 / 30, 20 / 30]
    assert scored(block(1), block(2), asked) == pytest.approx(values)
    assert [scored(block(1), block(2), [one])[0] for one in asked] == pytest.approx(values)
    assert scored(block(1), block(2), ["boundary_iou(label=0)", "mbiou"]) == pytest.approx(
        [19 / 29, (8 / 24 + 19 / 29) / 2]
    )
    void = block(1)
    void[0, 0, 0] = 255
    assert scored(void, block(2), ["boundary_iou(label=0)"], ignore=255, classes=2) == pytest.approx([18 / 28])
    assert scored(block(1), block(2), ["mbiou(without=0)"]) == pytest.approx([1 / 3])


def test_bands_of_many_classes() -> None:
    """Codes of one byte do not hold 300 classes: half of 299 and half of 255 is right, all of 0 and of 43."""
    truth, prediction = [[[0, 43, 299, 299, 255]]], [[[0, 43, 299, 255, 255]]]
    assert scored(truth, prediction, ["mbiou"], classes=300) == pytest.approx([(1 + 1 + 1 / 2 + 1 / 2) / 4])
    for many in (253, 254, 255):
        grid = [[[0, many - 1, many - 1, many - 2]]]
        assert scored(grid, [[[0, many - 1, 0, many - 2]]], ["mbiou"], classes=many) == pytest.approx(
            [(1 / 2 + 1 / 2 + 1) / 3]
        )


def test_what_has_no_class_is_near_no_edge() -> None:
    truth, prediction = [[[0, 0, 1, 1]]], [[[0, 7, 1, 1]]]
    assert scored(truth, prediction, ["mbiou", "boundary_f1(tolerance=0)"], classes=2, unknown="wrong") == [
        (1 / 2 + 1) / 2, (0 + 1) / 2,
    ]  # fmt: skip


def test_codes_of_values() -> None:
    """Places on the axis; void of the truth, and what no class has, have codes of their own."""
    truth, prediction = np.array([[[3, 5, 255]]]), np.array([[[5, 9, 255]]])
    data = ({"image": ["i"], "map": truth}, {"image": ["i"], "map": prediction})
    known = {"ignore": (255.0,), "unknown": "wrong", "truth.shift": -3.0, "prediction.shift": -4.0, "classes": 3.0}
    first, second = coders(pairs_of("segmentation", *data, **known))
    assert first(np.array([[3, 5, 255, 77]], dtype=np.uint8)).tolist() == [[0, 2, UNCLASSED + 1, UNCLASSED]]
    assert second(np.array([[5, 9, 255, 77]], dtype=np.uint8)).tolist() == [[1, UNCLASSED, UNCLASSED, UNCLASSED]]


def test_edges() -> None:
    """A pixel that differs from the right, the lower or the right lower one; the last row looks right, the last column down."""
    inside = np.zeros((4, 4), dtype=bool)
    inside[1:3, 1:3] = True
    assert edge_of(inside).tolist() == [[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    right, low, corner = np.zeros((3, 3, 3), dtype=bool)
    right[:, 2] = low[2] = corner[2, 2] = True
    assert edge_of(right).tolist() == [[0, 1, 0]] * 3
    assert edge_of(low).tolist() == [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert edge_of(corner).tolist() == [[0, 0, 0], [0, 1, 1], [0, 1, 0]]
    part = np.zeros((3, 3), dtype=bool)
    part[1, 2] = part[2, 0] = True
    assert edge_of(part).tolist() == [[0, 1, 1], [1, 1, 1], [1, 0, 0]]


def codes(*values: int) -> Any:
    return np.array([values], dtype=np.uint16)


def test_scores_of_edges() -> None:
    """Of the truth an edge at 1, of the prediction at 1, 3 and 5: P is 1/3 at 0, 2/3 within 2, and R is 1."""
    one, three = codes(1, 1, 0, 0, 0, 0, 0, 0), codes(1, 1, 0, 0, 1, 1, 0, 0)
    for reach, score in ((0, 1 / 2), (1, 1 / 2), (2, 4 / 5), (3, 4 / 5), (4, 1)):
        assert edge_scores(one, three, 2, reach) == [(0, pytest.approx(score)), (1, pytest.approx(score))]
        assert edge_scores(three, one, 2, reach) == [(0, pytest.approx(score)), (1, pytest.approx(score))]
    two = codes(1, 1, 1, 1, 1, 0, 0, 1)  # edges at 4 and 6: within 1 of them lie 3 and 5, and each has one
    assert edge_scores(three, two, 2, 1) == [(label, pytest.approx(2 * (2 / 3) / (5 / 3))) for label in (0, 1)]
    assert edge_scores(one, codes(1, 1, 1, 1, 1, 0, 0, 0), 2, 2) == [(0, 0.0), (1, 0.0)]
    assert edge_scores(one, codes(0, 0, 0, 0, 0, 0, 0, 0), 2, 9) == [(0, 0.0), (1, 0.0)]
    assert edge_scores(codes(0, 0), codes(0, 0), 2, 1) == []
    assert edge_scores(codes(0, 2, 2), codes(0, 2, 2), 2, 1) == [(0, 1.0)]
    # What is void is not a part of a class on either side.
    assert edge_scores(codes(0, 0, UNCLASSED + 1, 0), codes(0, 0, 1, 0), 2, 0) == [(0, 1.0)]


def test_f1_of_edges_is_a_mean_of_images_and_then_of_classes() -> None:
    """8 pixels have a diagonal of 8.06: a tolerance of 0.2 is 2 pixels. Classes 0 and 1 score 4/5 and 1, class 2 scores 1."""
    one, three = [[1, 1, 0, 0, 0, 0, 0, 0]], [[1, 1, 0, 0, 1, 1, 0, 0]]
    same = [[0, 0, 1, 1, 2, 2, 2, 2]]
    mean = (0.8 + 1) / 2
    assert scored([one, same], [three, same], ["boundary_f1(tolerance=0.2)"]) == pytest.approx([(mean + mean + 1) / 3])
    assert scored(
        [one], [three], ["boundary_f1", "boundary_f1(tolerance=0)", "boundary_f1(tolerance=1)"]
    ) == pytest.approx([0.5, 0.5, 1])


def test_means_over_classes_that_have_a_number() -> None:
    values = np.array([[0.5, nan, 1.0], [nan, nan, nan]])
    np.testing.assert_array_equal(mean_defined(values), [0.75, nan])
    np.testing.assert_array_equal(mean_defined(values, np.array([[True, True, False]] * 2)), [0.5, nan])


def test_names_as_specs_have_them() -> None:
    assert [as_spec(name) for name in ("3", "03", "-3", "road", "0", "٣")] == [3, "03", "-3", "road", 0, "٣"]


def test_numbers_of_classes() -> None:
    """Class 0: 2 of 3 true, 3 predicted. Class 1: 1 true, 1 predicted, none right. Class 2: predicted once. 3: never."""
    truth, prediction = [[[0, 0, 0, 1]]], [[[0, 0, 1, 2]]]
    asked = {
        "iou(label=0)": 2 / 3, "iou(label=1)": 0, "iou(label=2)": 0, "iou(label=3)": nan, "dice(label=0)": 4 / 5,
        "acc(label=0)": 2 / 3, "acc(label=2)": nan, "precision(label=0)": 1, "precision(label=2)": 0, "recall(label=0)": 2 / 3,
        "f1(label=0)": 4 / 5, "miou": 2 / 9, "miou(classes=truth)": 1 / 3, "miou(without=1)": 1 / 3, "mdice": 4 / 15,
        "mdice(without=2)": 2 / 5, "macc": 1 / 3, "macc(without=0)": 0, "accuracy": 1 / 2, "fwiou": (3 * 2 / 3 + 0) / 4,
        "precision": 1 / 3, "recall": 1 / 3, "f1": 4 / 15, "f1(mmseg=true)": 4 / 5, "miou(level=image)": 2 / 9,
        "mdice(level=image)": 4 / 15,
    }  # fmt: skip
    shown = values_of("segmentation", np.array(truth), np.array(prediction), list(asked), options={"classes": 4})
    assert shown == {name: pytest.approx(value, nan_ok=True) for name, value in asked.items()}


def test_which_metrics_stand_for_classes() -> None:
    truth = np.array([[[0, 1]]])
    shown = values_of("segmentation", truth, truth, ["iou", "precision"], options={"names": ["no", "yes"]})
    assert shown == {"iou(label=no)": 1, "iou(label=yes)": 1, "precision": 1}
    report = sy.evaluate("segmentation", truth, truth, options={"names": ["no", "yes"]}, confidence=None)
    assert list(report.scores) == ["miou", "mdice", "macc", "accuracy", "fwiou", "mbiou"]
    facts = pairs_of("segmentation", truth, truth, classes=2.0).metadata
    assert class_place(facts, 1) == 1
    with refuses("E-unknown-name", "'3'"):
        class_place(facts, "3")


UNKNOWN_CLASS = ("there is no class 'yess'", "", "Did you mean 'yes'?")
REFUSED: dict[str, tuple[str, str, str]] = {
    "miou(level=pixel)": ("metric 'miou': level cannot be pixel", "", "Choose one of: dataset, image."),
    "mdice(classes=all)": ("metric 'mdice': classes cannot be all", "", "Choose one of: union, truth."),
    "miou(groups=kind)": ("metric 'miou': groups cannot be kind", "", 'Choose one of: "none", category.'),
    **{
        f"miou({more}level=image{last})": (
            f"'miou({more}level=image{last})': level=image has no other settings", "", "Leave the others out.",
        )
        for more, last in (("", ", classes=truth"), ("", ", groups=category"), ("without=no, ", ""))
    },
    "miou(groups=category)": ("the classes have no categories", "", "Set the option `labels=cityscapes`."),
    "mbiou(width=0)": ("metric 'mbiou': width cannot be 0", "", "It must be a number above 0 and at most 1."),
    "boundary_iou(width=1.5)": ("metric 'boundary_iou': width cannot be 1.5", "", "It must be a number above 0 and at most 1."),
    "boundary_f1(tolerance=-1)": ("metric 'boundary_f1': tolerance cannot be -1", "", "It must be a number from 0 to 1."),
    "boundary_f1(tolerance=1.1)": ("metric 'boundary_f1': tolerance cannot be 1.1", "", "It must be a number from 0 to 1."),
    "iou(label=yess)": UNKNOWN_CLASS, "precision(label=yess)": UNKNOWN_CLASS, "miou(without=yess)": UNKNOWN_CLASS,
    "mbiou(without=yess)": UNKNOWN_CLASS,
}  # fmt: skip


@pytest.mark.parametrize("spec", REFUSED)
def test_settings_that_are_refused(spec: str) -> None:
    truth = np.array([[[0, 1]]])
    assert refusal(values_of, "segmentation", truth, truth, [spec], options={"names": ["no", "yes"]}) == REFUSED[spec]


def test_what_metrics_are_called_and_shown_by() -> None:
    named = {
        "miou": "Mean IoU", "miou(level=image)": "Mean IoU of images", "mdice(groups=category)": "Mean Dice of categories",
        "iou": "IoU", "iou(label=road)": "IoU: road", "boundary_iou(label=3)": "Boundary IoU: 3",
    }  # fmt: skip
    assert {spec: catalogue.parse(spec, "segmentation").label for spec in named} == named
    shown = {cls.name: [str(one) for one in cls.examples()] for cls in catalogue.find_task("segmentation").metrics}
    assert shown == {
        **{name: [name] for name in (
            "iou", "dice", "macc", "acc", "accuracy", "fwiou", "precision", "recall", "f1", "mbiou", "boundary_iou",
            "boundary_f1",
        )},
        "miou": ["miou", "miou(level=image)", "miou(classes=truth)"],
        "mdice": ["mdice", "mdice(level=image)"],
    }  # fmt: skip


def noted(truth: Any, prediction: Any, metric: str, **options: Any) -> list[str]:
    report = sy.evaluate(
        "segmentation", np.array(truth), np.array(prediction), [metric], options=options, confidence=None
    )
    return list(report[metric].notes)


def test_notes_of_means() -> None:
    """Classes that are predicted and never true, and those that few images have."""
    truth, prediction = [[[0, 0, 1, 1]]] * 5, [[[0, 0, 1, 1]]] * 5
    assert noted(truth, prediction, "miou") == []
    other = [*prediction[:4], [[2, 3, 1, 1]]]
    for spec in ("miou", "mdice", "mbiou"):
        assert noted(truth, other, spec) == [
            f"{spec} is of 4 classes; 2 of them have no truth and count as 0: 2, 3.",
            f"{spec} has 2 classes that rest on fewer than 5 units: 2, 3.",
        ]
    assert noted(truth, other, "macc") == ["macc is of 2 classes; 2 have no truth: 2, 3."]
    assert noted(truth, other, "miou(level=image)") == []
    many = [[[0, 1, 2, 3, 4, 5, 6]], *[[[0, 0, 0, 0, 0, 0, 0]]] * 4]
    assert noted(many, many, "miou") == ["miou has 6 classes that rest on fewer than 5 units: 1, 2, 3, 4 and 2 more."]
    assert noted(many[:4], many[:4], "miou") == []  # of four images no class can have more


def test_notes_of_single_classes() -> None:
    truth = [[[0, 1]]] * 4
    assert noted(truth, truth, "iou(label=1)") == ["Fewer than 5 images have class 1: its interval is rough."]
    assert noted([*truth, [[0, 1]]], [*truth, [[0, 1]]], "iou(label=1)") == []
    assert noted(truth, truth, "iou(label=2)", classes=3) == noted(truth, truth, "precision") == []


def test_notes_of_what_is_ignored_or_no_class() -> None:
    void = "75 % of the pixels are ignored: what is predicted there is free. To leave a class out of a mean, say miou(without=background)."
    assert noted([[[0, 9, 9, 9]]] * 5, [[[0, 0, 0, 0]]] * 5, "accuracy", ignore=9) == [void]
    assert noted([[[0, 0, 9, 9]]] * 5, [[[0, 0, 0, 0]]] * 5, "accuracy", ignore=9) == []
    wrong = "5 pixels are predicted as no class, which counts as wrong."
    assert noted([[[0, 9, 9, 9]]] * 5, [[[4, 0, 0, 0]]] * 5, "fwiou", ignore=9, classes=2, unknown="wrong") == [
        void,
        wrong,
    ]
    many = np.full((1, 30, 50), 7)
    assert noted(np.zeros((1, 30, 50), int), many, "accuracy", classes=2, unknown="wrong") == [
        "1,500 pixels are predicted as no class, which counts as wrong."
    ]


def test_a_class_that_a_slice_does_not_have() -> None:
    pairs = pairs_of("segmentation", np.array([[[0, 1]]]), np.array([[[0, 0]]]))
    for spec in ("iou(label=7)", "miou(without=7)"):
        metric: Any = catalogue.parse(spec, "segmentation")
        totals = State.of(pairs, dict.fromkeys(metric.requirements())).totals(POINT)
        assert totals.of(metric).tolist() == pytest.approx([nan if "label" in spec else (1 / 2 + 0) / 2], nan_ok=True)
        assert metric.notes(totals) == ()


def test_what_is_left_out_and_what_is_undefined() -> None:
    truth = np.array([[[0, 0, 1, 1]]])
    report = sy.evaluate(
        "segmentation",
        truth,
        truth,
        ["miou", "miou(without=3)", "iou(label=3)"],
        options={"classes": 4},
        confidence=None,
    )
    assert (report["miou"].n_excluded, report["miou"].excluded) == (2, "classes that have no pixel")
    assert report["miou(without=3)"].n_excluded == 1
    assert report["iou(label=3)"].undefined_reason == "neither side has a pixel of the class"
