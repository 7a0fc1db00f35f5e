"""Ellipses by hand: what is noted and left out, which images are drawn, lists of images, options, average precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of
from support.shown import check_figure

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.plan import POINT, UNITS
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import GivenRows, Role
from steelyard.tasks.ellipses import score, sums
from steelyard.tasks.ellipses import views as ellipses_views
from steelyard.tasks.ellipses import views as figures
from steelyard.tasks.ellipses.data import prepare
from steelyard.tasks.ellipses.detection import Areas, Detections
from steelyard.tasks.ellipses.matched import hits, match_input
from steelyard.tasks.ellipses.score import Score, TruthScore

nan = math.nan
COLUMNS = ("xc", "yc", "theta", "a", "b")


def table(rows: list[tuple[Any, ...]], *more: str) -> dict[str, list[Any]]:
    """Rows of image, centre, angle, axes, then others."""
    names = ("image", *COLUMNS, *more)
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def circles(*rows: tuple[Any, ...]) -> dict[str, list[Any]]:
    """Circles of radius 10 on a line: image and place, or the image alone."""
    return table([(row[0], row[1], 0.0, 0.0, 10.0, 10.0) if len(row) > 1 else (row[0], *[nan] * 5) for row in rows])


# Centres: greedily 1 and 21 apart, at best 9 and 11; the other image without a fault, the third without an ellipse.
TRUTH = circles(("i", 0.0), ("i", 10.0), ("k", 0.0), ("n",))
FOUND = circles(("i", 9.0), ("i", 21.0), ("k", 0.0), ("n",))
GREEDY, OPTIMAL = (1 + 5 / 21) / 2, (5 / 9 + 5 / 11) / 2


def evaluated(spec: str, truth: Any = TRUTH, predicted: Any = FOUND, **settings: Any) -> Any:
    return sy.evaluate("ellipses", truth, predicted, [spec], confidence=None, **settings)[spec]


PAIRINGS: list[tuple[Any, ...]] = [
    ("score(distance=center)", (GREEDY + 2) / 3, (OPTIMAL + 2) / 3, 3),
    ("score(distance=center, empty=skip)", (GREEDY + 1) / 2, (OPTIMAL + 1) / 2, 3),
    ("score_truths(distance=center)", (GREEDY + 1) / 2, (OPTIMAL + 1) / 2, 3),
]


def test_two_ways_of_pairing() -> None:
    for spec, own, other, images in PAIRINGS:
        for matching, value, theirs, their in (("greedy", own, other, "optimal"), ("optimal", other, own, "greedy")):
            named = spec if matching == "greedy" else f"{spec[:-1]}, matching=optimal)".replace(
                ", empty=skip, matching=optimal", ", matching=optimal, empty=skip"
            )  # fmt: skip
            made = evaluated(named)
            assert made.value == pytest.approx(value)
            assert made.notes == (
                f"Greedy and optimal pairing differ in 1 of {images} images: {value:.4f} with matching={matching}, "
                f"{theirs:.4f} with matching={their}.",
            )


def test_pairings_that_agree_and_those_that_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert evaluated("score", TRUTH, TRUTH).notes == ()
    monkeypatch.setattr(sums, "MOST_WORK", 2 * 2 * 2 + 1)  # of i and k together
    assert len(evaluated("score(distance=center)").notes) == 1
    assert evaluated("score(distance=center)").notes[0].startswith("Greedy and optimal pairing differ")
    said = ("Greedy and optimal pairing were not compared: there are too many ellipses in one image.",)
    monkeypatch.setattr(sums, "MOST_WORK", 8.5)
    assert evaluated("score(distance=center)").notes == said
    monkeypatch.setattr(sums, "MOST_WORK", 9)
    monkeypatch.setattr(score, "MOST_WORK", 8.5)
    assert evaluated("score(distance=center)").notes == said
    monkeypatch.setattr(score, "MOST_WORK", 9)
    assert evaluated("score(distance=center)").notes[0].startswith("Greedy and optimal pairing differ")


def test_what_is_left_out() -> None:
    for spec, what, count in (
        ("score(empty=skip)", "images without an ellipse", 1), ("score_truths", "images without truth", 1),
        ("angle_error", "pairs whose ellipses are near circles, which have no angle", 3),
    ):  # fmt: skip
        made = evaluated(spec)
        assert (made.excluded, made.n_excluded) == (what, count)
    assert (evaluated("score").excluded, evaluated("score").n_excluded) == ("", 0)


def test_axes() -> None:
    """Off by 2 of 10 and 1 of 4, and another that fits."""
    truth, predicted = (
        table([("i", 0, 0, 0, 10, 4), ("k", 0, 0, 0, 9, 3)]),
        table([("i", 0, 0, 0, 12, 5), ("k", 0, 0, 0, 9, 3)]),
    )
    for spec, expected in (
        ("axis_error", 0.75), ("axis_error(axis=major)", 1), ("axis_error(axis=minor)", 0.5),
        ("axis_error(relative=true)", (0.2 + 0.25) / 4), ("axis_error(axis=minor, relative=true)", 0.125),
        ("axis_error(within=0.1, axis=major)", 0),
    ):  # fmt: skip
        assert evaluated(spec, truth, predicted).value == pytest.approx(expected)


def test_images_alone() -> None:
    pairs = pairs_of("ellipses", TRUTH, FOUND)
    metric = Score(distance="center")
    np.testing.assert_allclose(metric.by_unit(pairs, SharedCache()), [GREEDY, 1, 1])
    np.testing.assert_allclose(Score(distance="center", empty="skip").by_unit(pairs, SharedCache()), [GREEDY, 1, nan])
    np.testing.assert_allclose(TruthScore(distance="center").by_unit(pairs, SharedCache()), [GREEDY, 1, nan])
    assert metric.matches(pairs, SharedCache()).distance.tolist() == [1, 21, 0]
    empty = ellipses_views.scene(pairs, 2, Score(empty="skip"))
    assert (empty.title, empty.summary, empty.shapes) == (
        "Image n: Ellipse score (param, t = 5) = undefined", "0 true, 0 detected, 0 pairs (greedy)", (),
    )  # fmt: skip
    paired = ellipses_views.scene(pairs, 0, Score(distance="center", matching="optimal"))
    assert paired.title == f"Image i: Ellipse score (center, t = 5, optimal pairs) = {OPTIMAL:.4f}"
    assert paired.summary == "2 true, 2 detected, 2 pairs (optimal)"
    assert [shape.label for shape in paired.shapes] == ["T1", "T2", "D1", "D2", "9", "11"]


def test_the_images_that_are_drawn() -> None:
    """Of eight: the four worst, the one in the middle, the best; each further off by one, of five that count nothing."""
    truth = circles(*((f"i{k}", 0.0) for k in range(8)))
    predicted = circles(*((f"i{k}", 5.0 + k) for k in range(8)))
    report = sy.evaluate("ellipses", truth, predicted, ["score(distance=center)"], confidence=None)
    figure = report.figure("overlays")
    drawn = (7, 6, 5, 4, 3, 0)
    assert figure.facts == {
        "titles": [f"Image i{k}: Ellipse score (center, t = 5) = {5 / (5 + k):.4f}" for k in drawn],
        "summaries": ["1 true, 1 detected, 1 pair (greedy)"] * 6,
    }
    columns = {
        "image": [k for k in range(6) for _ in range(3)], "role": ["truth", "prediction", "pair"] * 6,
        "x": [x for k in drawn for x in (0, 5 + k, 0)], "y": [0.0] * 18, "degrees": [0.0] * 18, "a": [10.0, 10, 0] * 6,
        "b": [10.0, 10, 0] * 6, "x2": [x for k in drawn for x in (0, 0, 5 + k)], "y2": [0.0] * 18, "matched": [1] * 18,
        "label": [text for k in drawn for text in ("T1", "D1", f"{5 + k}")],
    }  # fmt: skip
    check_figure(
        figure, ("overlays", "overlays", "Images: the worst, one in the middle, the best"), columns, figure.facts,
        "True ellipses are solid, detected ones dashed; those without a partner are filled. A line joins a pair, with "
        "distance. steelyard draw shows any other image.",
    )  # fmt: skip
    few = figures.overlays(pairs_of("ellipses", TRUTH, FOUND), Score(distance="center", empty="skip"))
    assert [title.split(":")[0] for title in few.facts["titles"]] == ["Image i", "Image k"]


def test_distances() -> None:
    """Of a hundred pairs one is a hundred pixels off: it stands beyond the 99th percentile."""
    truth = circles(*((f"i{k}", 0.0) for k in range(100)))
    predicted = circles(*((f"i{k}", 100.0 if k == 50 else 2.0) for k in range(100)))
    metric = Score(distance="center")
    most = 2 + 98 * (0.99 * 99 - 98)  # between the last two of a hundred
    counts = [0] * 24
    counts[int(2 / most * 24)] = 99
    columns = {
        "low": [k * most / 24 for k in range(24)], "high": [(k + 1) * most / 24 for k in range(24)], "count": counts,
    }  # fmt: skip
    check_figure(
        figures.distances(pairs_of("ellipses", truth, predicted), metric),
        ("distances", "histogram", "Distances of the pairs"), columns, {"x": "distance", "y": "pairs"},
        f"The distance that score(distance=center) measures. 1 of 100 pairs is beyond {most:.3g}.",
    )  # fmt: skip
    nothing = figures.distances(pairs_of("ellipses", circles(("i", 0.0)), circles(("i",))), metric)
    assert {name: len(column) for name, column in nothing.columns.items()} == {"low": 0, "high": 0, "count": 0}
    assert nothing.caption == "The distance that score(distance=center) measures."


def test_the_metric_that_figures_are_of() -> None:
    pairs = pairs_of("ellipses", TRUTH, FOUND)
    state = State.of(pairs, [])
    first, second = catalogue.parse("f1", "ellipses"), catalogue.parse("score_truths(distance=center)", "ellipses")
    assert figures.figures(pairs, state, (first, second))["distances"]().caption.startswith(
        "The distance that score_truths(distance=center) measures."
    )
    assert figures.figures(pairs, state, (first,))["distances"]().caption.startswith(
        "The distance that score measures."
    )


def test_listed_images() -> None:
    """An image of the list without a row gets an empty one behind the others, which says where it stands."""
    truth = {**circles(("k", 3.0)), "light": ["day"], "sample_weight": [2.0]}
    known = catalogue.find_task("ellipses")
    from steelyard.core.options import Options
    from steelyard.io.sources import read_sides

    options = Options(known.options, {})
    sides = read_sides(known, truth, circles(("k", 3.0), ("i", 1.0)), {}, options)
    listed = read_sides(known, {"image": ["i", "k", "n", "i"], "xc": [nan] * 4, "yc": [nan] * 4, "theta": [nan] * 4,
                                "a": [nan] * 4, "b": [nan] * 4}, circles(("k", 3.0)), {}, options)[0]  # fmt: skip
    mine, theirs = prepare(*sides, Options(known.options, {"images": listed}))
    assert (mine["image"].tolist(), theirs["image"].tolist()) == (["k", "i", "n"], ["k", "i", "n"])
    np.testing.assert_array_equal(mine["xc"], [3, nan, nan])
    np.testing.assert_array_equal(theirs["xc"], [3, 1, nan])
    np.testing.assert_array_equal(mine["sample_weight"], [2, nan, nan])
    assert mine.other["light"].tolist() == ["day", None, None]
    assert [mine.place(row) for row in range(3)] == ["truth, row 0", "truth, row 0", "truth, row 2"]
    whole = prepare(sides[1], sides[1], Options(known.options, {"images": sides[1]}))[0]
    assert whole["image"].tolist() == ["k", "i"]


def test_options() -> None:
    """Radians, full axes and y upward, on one side: the same ellipse."""
    truth = table([("i", 5.0, 30.0, 60.0, 4.0, 2.0)])
    for predicted, options in (
        (table([("i", 5.0, 30.0, math.pi / 3, 4.0, 2.0)]), {"prediction.angle": "radians"}),
        (table([("i", 5.0, 30.0, 60.0, 8.0, 4.0)]), {"prediction.axes": "full"}),
        (table([("i", 5.0, 70.0, -60.0, 4.0, 2.0)]), {"prediction.y_up": 100.0}),
        (table([("i", 5.0, 30.0, -30.0, 2.0, 4.0)]), {}),
    ):
        for spec, expected in (("mean_distance", 0), ("mean_iou", 1), ("angle_error", 0), ("axis_error", 0)):
            assert evaluated(spec, truth, predicted, options=options).value == pytest.approx(expected, abs=1e-9)
    moved = table([("i", 5.0, 33.0, 60.0, 4.0, 2.0)])
    assert evaluated("center_error", truth, moved, options={"y_up": 50.0}).value == pytest.approx(3)


SCORED = table(
    [("i", 0.0, 0.0, 0.0, 10.0, 10.0, 0.9), ("i", 500.0, 0.0, 0.0, 10.0, 10.0, 0.8), ("k", 0.0, 0.0, 0.0, 10.0, 8.0, 0.7),
     ("k", 900.0, 0.0, 0.0, 10.0, 10.0, 0.7)],
    "score",
)  # fmt: skip
OBJECTS = circles(("i", 0.0), ("k", 0.0), ("n", 50.0))


AREAS: list[tuple[Any, ...]] = [
    ("ap", 1 / 3 + 1 / 3 * 2 / 4, [1, 1 / 2, 0]),
    ("ap(iou=0.81)", 1 / 3, [1, 0, 0]),
    ("ap(kind=voc)", 1 / 3 + 1 / 3 * 2 / 4, [1, 1 / 2, 0]),
    ("ap(kind=voc11)", (4 + 3 / 2) / 11, [1, 1 / 2, 0]),
    ("ap(kind=coco)", (34 + 33 / 2) / 101, [1, 1 / 2, 0]),
    ("ap(iou=0.7:0.9:0.1)", (2 * (1 / 3 + 1 / 3 * 2 / 4) + 1 / 3) / 3, [1, 1 / 3, 0]),
]


def test_average_precision() -> None:
    """A hit, a false one, then a hit with IoU 0.8 and a false one of equal score, which are one step; one is missed."""
    for spec, expected, alone in AREAS:
        metric = catalogue.parse(spec, "ellipses")
        pairs = pairs_of("ellipses", OBJECTS, {name: [*column, *last] for (name, column), last in zip(
            SCORED.items(), (["n"], *[[nan]] * 6), strict=True)})  # fmt: skip
        wanted = [need for need in metric.requirements() if not hasattr(need, "ranking")] + [metric.curve.ranking]
        state = State.of(pairs, wanted)
        np.testing.assert_allclose(state.totals(POINT).of(metric), [expected])
        np.testing.assert_allclose(state.totals(UNITS).of(metric), alone)
        rows = GivenRows(np.array([[1.0, 1, 1], [0, 0, 0], [2, 0, 0]]), Role.DRAWS)
        read = metric.curve.read(state.blocks[metric.curve.ranking], rows, pairs.metadata)
        np.testing.assert_allclose(read, [expected, nan, 1])


def test_hits_by_score() -> None:
    predicted = {**SCORED, "image": ["i"] * 4, "xc": [1.0, 0.0, 900.0, 901.0], "b": [10.0] * 4}
    pairs = pairs_of("ellipses", circles(("i", 0.0)), predicted)
    assert hits(pairs, SharedCache(), (0.5, 0.95)).tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert match_input(pairs, SharedCache()).score.tolist() == [0.9, 0.8, 0.7, 0.7]
    block = Detections(0.5).measure(pairs, SharedCache())
    assert (block.events.columns["hit"].tolist(), block.events.unit.tolist()) == ([[1], [0], [0], [0]], [0] * 4)
    assert (block.positives.unit.tolist(), block.positives.columns["count"].tolist()) == ([0], [1])
    none = Detections(0.5).measure(pairs_of("ellipses", TRUTH, FOUND), SharedCache())
    assert none.events.columns["hit"].tolist() == [[0], [0], [0]]
    rows = GivenRows(np.ones((2, 3)), Role.DRAWS)
    assert np.isnan(Areas(Detections(0.5), 0).read(none, rows, pairs.metadata)).tolist() == [True, True]


def test_why_there_is_no_average_precision() -> None:
    assert evaluated("ap").undefined_reason == "the detections have no score"
    nothing = circles(("i",))
    assert evaluated("ap", nothing, {**SCORED, "image": ["i"] * 4}).undefined_reason == "there is no truth"
