"""Oriented boxes by hand: a rectangle that is found lying across, a square, and how other tools take them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of
from support.shown import check_figure

from steelyard.core import catalogue
from steelyard.core.scene import PolygonShape
from steelyard.core.state import State
from steelyard.tasks.boxes.pairs import DIFFICULT
from steelyard.tasks.boxes.precision import AveragePrecision
from steelyard.tasks.boxes.ranking import detections
from steelyard.tasks.oriented import views as oriented_views
from steelyard.tasks.oriented.views import COCO, DOTA, OURS, OrientedConventions, values

# Across, 8 by 6 and 6 by 8 share 36 of 60: IoU 0.6. As Gaussians their coefficient is 4 * 6 / 25 = 0.96, which is a
# probIoU of 1 - sqrt(0.04) = 0.8. The square is found one pixel off: 12 of 20.
TRUTH: dict[str, list[Any]] = {
    "image": ["i", "i"], "label": ["a", "a"], "cx": [10.0, 30], "cy": [10.0, 10], "w": [8.0, 4], "h": [6.0, 4],
    "angle": [0.0, 0],
}  # fmt: skip
FOUND = {**TRUTH, "cx": [10.0, 31], "angle": [math.pi / 2, 0], "score": [0.9, 0.8]}
TURNED_ROUND = {name: column[::-1] for name, column in FOUND.items()}
SAID = "Of what is matched at IoU 0.5, by the long edges. A centre beside 0 is a convention that differs."
HEAD = ("angles", "histogram", "Errors of the angle")
FACTS = {"x": "degrees from the true long edge, x towards y", "y": "matched detections"}


def angles(predicted: dict[str, list[Any]], truth: dict[str, list[Any]] = TRUTH, **options: Any) -> Any:
    pairs = pairs_of("oriented", truth, predicted, **options)
    return oriented_views.figures(pairs, State.of(pairs, []), ())["angles"]()


def bins(edge: float, *places: int) -> dict[str, list[float]]:
    edges = [-edge + k * 2 * edge / 18 for k in range(19)]
    return {"low": edges[:-1], "high": edges[1:], "count": [places.count(k) for k in range(18)]}


def test_errors_of_the_angle() -> None:
    for overlap in ("iou", "probiou"):
        check_figure(
            angles(FOUND, overlap=overlap), HEAD, bins(90, 0), FACTS, f"{SAID} 1 box is nearly square and has none."
        )
        near = {**FOUND, "angle": [math.radians(-7), 0]}  # ten degrees to either side are enough; -7 is the third of 18
        check_figure(
            angles(near, overlap=overlap), HEAD, bins(10, 2), FACTS, f"{SAID} 1 box is nearly square and has none."
        )
        small = {name: column[:1] for name, column in FOUND.items()} | {"angle": [math.radians(2)]}
        alone = {name: column[:1] for name, column in TRUTH.items()}
        check_figure(angles(small, alone, overlap=overlap), HEAD, bins(5, 12), FACTS, SAID)
        nothing = angles({**FOUND, "cx": [99.0, 199.0]}, overlap=overlap)
        check_figure(nothing, HEAD, bins(5), FACTS, SAID)


def test_long_edges() -> None:
    """Half a turn is none; an edge of 1.15 to 1 is seen, a shorter one is not; high and wide are the same rectangle."""
    truth = np.array(
        [[0, 0, 4, 2, 0.0], [0, 0, 2, 4, 0.0], [0, 0, 2.3, 2, 0.0], [0, 0, 2.29, 2, 0.0], [0, 0, 4, 2, 0.0]]
    )
    predicted = np.array(
        [[0, 0, 4, 2, math.pi], [0, 0, 4, 2, math.pi / 2], [0, 0, 2, 4, -math.pi / 2 + 0.1], [0, 0, 4, 2, 0.0],
         [0, 0, 4, 2, -0.2]]
    )  # fmt: skip
    off = oriented_views.angle_errors(predicted, truth)
    np.testing.assert_allclose(off, [0, 0, math.degrees(0.1), np.nan, -math.degrees(0.2)], atol=1e-9)


def test_a_picture() -> None:
    for overlap in ("iou", "probiou"):
        shown = oriented_views.scene(
            pairs_of("oriented", TRUTH, TURNED_ROUND, overlap=overlap), 0, catalogue.parse("f1(iou=0.5)", "oriented")
        )
        assert shown.title == "Image i: F1, IoU 0.5, score 0.5 = 1.0000"
        assert shown.summary == "2 true, 2 detected with a score from 0.5, 2 pairs at IoU 0.5"
        across, apart = "IoU 0.600, probIoU 0.800, angle off by -90.0°", "IoU 0.600, probIoU "
        expected = [
            ("truth", (6, 7, 14, 7, 14, 13, 6, 13), "a", across), ("truth", (28, 8, 32, 8, 32, 12, 28, 12), "a", apart),
            ("prediction", (13, 6, 13, 14, 7, 14, 7, 6), "a 0.90", across),
            ("prediction", (29, 8, 33, 8, 33, 12, 29, 12), "a 0.80", apart),
        ]  # fmt: skip
        for shape, (role, points, label, facts) in zip(shown.shapes, expected, strict=True):
            assert isinstance(shape, PolygonShape)
            assert (shape.role, shape.label, shape.matched) == (role, label, True)
            assert sorted(zip(shape.points[::2], shape.points[1::2], strict=True)) == [
                pytest.approx(corner) for corner in sorted(zip(points[::2], points[1::2], strict=True))
            ]
            assert shape.facts.startswith(f"{label}: {facts}")
            assert ("angle off" in shape.facts) is (facts == across)
        # Of the square the coefficient is exp(-1/8 * 1 / (16 / 12)): half a Mahalanobis distance of the middle.
        similar = 1 - math.sqrt(1 - math.exp(-1 / 8 / (16 / 12)))
        assert shown.shapes[1].facts == f"a: IoU 0.600, probIoU {similar:.3f}"
        far = oriented_views.scene(
            pairs_of("oriented", TRUTH, {**FOUND, "cx": [10.0, 99]}), 0, catalogue.parse("f1", "oriented")
        )
        assert [(shape.matched, shape.facts) for shape in far.shapes][1::2] == [(False, "a"), (False, "a 0.80")]


def test_columns_of_corners() -> None:
    """Corners, the box around them and the area; a rectangle of five numbers where they are compared as Gaussians."""
    for overlap, width in (("iou", 8), ("probiou", 5)):
        truth = pairs_of("oriented", {**TRUTH, "area": [7.0, 9.0]}, FOUND, overlap=overlap).truth
        assert truth["quad"][0].tolist() == [6, 7, 14, 7, 14, 13, 6, 13]
        assert truth["shape"].shape == (2, width)
        assert truth["area"].tolist() == [7, 9]
        assert [truth[name].tolist() for name in "xywh"] == [[6, 28], [7, 8], [8, 4], [6, 4]]
        assert truth["ignored"].tolist() == [False, False]
    predicted = pairs_of("oriented", TRUTH, {**FOUND, "difficult": [1, 0]}).prediction
    np.testing.assert_allclose(predicted["area"], [48, 16])


def test_what_is_shown() -> None:
    pairs = pairs_of("oriented", TRUTH, FOUND)
    state = State.of(pairs, [detections(0.5, "all", "coco")[0]])
    made = oriented_views.figures(pairs, state, ())
    assert list(made) == ["pr_iou", "pr_class", "ap_class", "errors", "scores", "confusion", "angles"]
    assert made["confusion"]().columns["count"].tolist() == [2, 0, 0, 0]
    tables = oriented_views.tables(pairs, state)
    assert list(tables) == ["classes", "confusion", "operating"]
    assert tables["classes"]().columns[-1] == "ar"
    np.testing.assert_allclose(tables["classes"]().values, [[2, 2, 0.3, 1, 0, 0.3]], atol=1e-9)
    standard = catalogue.parse("map", "oriented").iou
    assert oriented_views.class_metrics(state) == {"a": AveragePrecision(iou=standard, max_dets=65535, only="a")}
    empty = pairs_of("oriented", {name: [] for name in TRUTH} | {"images": ["i"]}, {name: [] for name in FOUND})
    assert oriented_views.figures(empty, State.of(empty, []), ()) == {}


def shapes(*rows: tuple[float, ...], **more: Any) -> dict[str, Any]:
    """Upright rectangles of one class and image: left edge, width and height."""
    size = len(rows)
    return {
        "image": ["i"] * size, "label": ["a"] * size, "cx": [x + w / 2 for x, w, _ in rows], "cy": [0.0] * size,
        "w": [w for _, w, _ in rows], "h": [h for _, _, h in rows], "angle": [0.0] * size, **more,
    }  # fmt: skip


# A square, one that is difficult, and a line one pixel wide, all found: the difficult one first, the square last.
KINDS = shapes((0, 10, 10), (100, 10, 10), (200, 1, 10), difficult=[False, True, False])
ALL = shapes((0, 10, 10), (100, 10, 10), (200, 1, 10), score=[0.9, 0.95, 0.92])
AP = "ap(kind=voc11, rule=dota)"


WAYS: list[tuple[Any, ...]] = [
    (OURS, 1), (OrientedConventions(difficult="left out"), 2 / 3), (OrientedConventions(small="left out"), 1 / 2),
    (OrientedConventions(difficult="left out", small="left out"), 1 / 3), (OrientedConventions(overlap="IoU of the smallest rectangles"), 1),
    (OrientedConventions(overlap="probIoU"), 1), (OrientedConventions(rule="IoU at the threshold or above"), 1),
]  # fmt: skip


def test_what_other_tools_leave_out() -> None:
    for way, expected in WAYS:
        s = pairs_of("oriented", KINDS, ALL)
        assert s.flags.tolist() == [0, DIFFICULT, 0]
        assert values(s, DOTA, way) == {AP: pytest.approx(expected)}


def test_an_edge_of_two_pixels_is_kept() -> None:
    s = pairs_of("oriented", shapes((0, 2, 10)), shapes((0, 2, 10), score=[0.9]))
    assert values(s, DOTA, OrientedConventions(small="left out")) == {AP: 1}


def test_an_iou_at_the_threshold() -> None:
    """Ten by ten in ten by twenty is a half: too little by DOTA's rule, enough by the other."""
    s = pairs_of("oriented", shapes((0, 20, 10)), shapes((0, 10, 10), score=[0.9]))
    assert values(s, DOTA, OURS) == {AP: 0}
    assert values(s, DOTA, OrientedConventions(rule="IoU at the threshold or above")) == {AP: 1}
    # As COCO has it, a hit at the first of ten thresholds
    assert values(s, COCO, OURS) == pytest.approx({"map": 0.1, "map50": 1, "map75": 0})
    # Straight lines end in 0 at recall 1, which costs half of the last step
    lines = values(s, COCO, OrientedConventions(curve="101 points, straight lines"))
    assert lines == pytest.approx({"map": 0.0995, "map50": 0.995, "map75": 0})


def test_rectangles_around_corners() -> None:
    """A triangle, with two corners in one, is half of the rectangle around it."""
    square = {"x1": 0, "y1": 0, "x2": 10, "y2": 0, "x3": 10, "y3": 6, "x4": 0, "y4": 6}
    truth = {"image": ["i"], "label": ["a"], **{name: [float(v)] for name, v in (square | {"x3": 10, "y3": 0}).items()}}
    predicted = {"image": ["i"], "label": ["a"], **{name: [float(v)] for name, v in square.items()}, "score": [0.9]}
    s = pairs_of("oriented", truth, predicted)
    assert values(s, COCO, OURS)["map"] == pytest.approx(0.1)
    assert values(s, COCO, OrientedConventions(overlap="IoU of the smallest rectangles"))["map"] == pytest.approx(1)
    assert values(s, COCO, OrientedConventions(overlap="probIoU"))["map"] == pytest.approx(1)


def test_most_detections() -> None:
    """The object is found last, behind 100 false ones; or behind 300, half of them of another class."""
    for wrong, limit, kept in ((100, "100 of a class and image", 0), (99, "100 of a class and image", 1 / 100),
                               (300, "300 of an image", 0), (299, "300 of an image", 1 / 150)):  # fmt: skip
        rows = [(500.0 * (k + 1), 10.0, 10.0) for k in range(wrong)]
        predicted = shapes(*rows, (0, 10, 10), score=[1 - k / 1000 for k in range(wrong + 1)])
        if wrong >= 299:
            predicted["label"] = ["a" if k % 2 else "b" for k in range(wrong)] + ["a"]
        s = pairs_of("oriented", shapes((0, 10, 10)), predicted)
        own = wrong if wrong < 299 else wrong // 2
        assert values(s, COCO, OURS)["map50"] == pytest.approx(1 / (own + 1))
        assert values(s, COCO, OrientedConventions(limit=limit))["map50"] == pytest.approx(kept)


def test_every_tool_is_explained() -> None:
    names = ("dota", "hotcoco", "mmrotate", "ultralytics")
    first, second, third, fourth = oriented_views.explain(pairs_of("oriented", KINDS, ALL), names)
    assert (first.ours, first.theirs, first.steps) == ({AP: 1}, {AP: 1}, ())
    assert second.ours == second.theirs == pytest.approx({"map": 1, "map50": 1, "map75": 1})
    assert [step.values[AP] for step in third.steps] == pytest.approx([1, 2 / 3, 1 / 2, 1])
    assert third.theirs == {AP: pytest.approx(1 / 3)}
    assert [step.setting for step in fourth.steps] == [
        "how boxes are compared", "most detections", "area under the curve",
    ]  # fmt: skip
    with refuses("E-unknown-name", "'dotta'", "'dota'"):
        oriented_views.explain(pairs_of("oriented", KINDS, ALL), ["dotta"])
