"""Ellipses as the specification's pseudo-code has them: lists of lists, and a distance of one's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy

TRUTH: list[list[list[float]]] = [[[0, 0, 0, 10, 5], [50, 0, 0, 10, 5]], [[10, 10, 0, 5, 5]], [], [[1, 1, 0, 5, 4]]]
FOUND: list[list[list[float]]] = [[[3, 4, 0, 10, 5], [60, 0, 0, 10, 5]], [[10, 20, 0, 5, 5]], [], []]


def centres(truth: Any, detected: Any) -> float:
    return float(np.hypot(truth[0] - detected[0], truth[1] - detected[1]))


def metrics_elps(
    ground_truth: list[Any], detected: list[Any], tresh_dist: float, dist: Callable[[Any, Any], float]
) -> float:
    """The pseudo-code, with 1 for an image without ellipses and no division by zero."""
    total = 0.0
    for truths, detections in zip(ground_truth, detected, strict=True):
        pairs = sorted((dist(g, d), i, j) for i, g in enumerate(truths) for j, d in enumerate(detections))
        num, used = 0.0, (set[int](), set[int]())
        for length, i, j in pairs:
            if i not in used[0] and j not in used[1]:
                used[0].add(i)
                used[1].add(j)
                num += 1.0 if length <= tresh_dist else tresh_dist / length
        most = max(len(truths), len(detections))
        total += num / most if most else 1.0
    return total / len(ground_truth)


def own(function: Callable[[Any, Any], float], **settings: Any) -> Any:
    return replace(sy.metrics("ellipses")[0], distance=function, **settings)


def test_nested_lists_by_hand() -> None:
    """Distances 5 and 10, then 10, with t = 4: (0.8 + 0.4) / 2, 0.4, an empty image 1, a missed one 0."""
    report = sy.evaluate("ellipses", TRUTH, FOUND, "metrics_elps(distance=center, tresh_dist=4)", confidence=None)
    assert report["score(distance=center, t=4)"].value == pytest.approx((0.6 + 0.4 + 1 + 0) / 4)
    assert any("images are joined by position" in note for note in report.notes)


def test_a_function_is_a_distance() -> None:
    metric = own(centres, t=4)
    assert str(metric) == "score(distance=centres, t=4)"
    report = sy.evaluate("ellipses", TRUTH, FOUND, [metric, "score(distance=center, t=4)"], confidence=None)
    assert report["score(distance=centres, t=4)"].value == report["score(distance=center, t=4)"].value
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert own(centres, t=4) == metric != own(lambda a, b: 0.0, t=4)


@pytest.mark.parametrize("matching", ["greedy", "optimal"])
def test_any_distance_is_paired_as_the_pseudo_code_says(matching: str) -> None:
    def chebyshev(truth: Any, detected: Any) -> float:
        return float(np.max(np.abs(np.asarray(truth) - np.asarray(detected))))

    rng = np.random.default_rng(7)
    sides = [
        [
            [[*rng.uniform(0, 90, 2), rng.uniform(0, 170), 20 + rng.uniform(0, 9), 5 + rng.uniform(0, 9)] for _ in range(n)]
            for n in rng.integers(0, 5, 30)
        ]
        for _ in range(2)
    ]  # fmt: skip
    metric = own(chebyshev, t=20.0, matching=matching)
    value = sy.score("ellipses", *sides, metric)
    expected = metrics_elps(*sides, 20.0, chebyshev)
    assert value == pytest.approx(expected) if matching == "greedy" else value != expected


def test_a_distance_of_ones_own_has_intervals_comparisons_and_pages(tmp_path: Path) -> None:
    metric = own(centres, t=4)
    many = [TRUTH * 10, FOUND * 10]
    report = sy.evaluate("ellipses", *many, [metric], draws=200)
    low, high = report["score(distance=centres, t=4)"].interval or (0, 0)
    assert low < report["score(distance=centres, t=4)"].value < high
    report.to_json(tmp_path / "r.json")
    report.to_html(tmp_path / "r.html")
    assert sy.load(tmp_path / "r.json") == report
    assert sy.compare("ellipses", many[0], many[1], many[0], [metric], draws=200).differences


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (lambda: own(centres), ("E-invalid-spec", "'score'", "'centres'")),
        (lambda: own(lambda a, b: -1.0, t=1), ("E-out-of-range", "'<lambda>'", "0")),
        (lambda: own(lambda a, b: float("nan"), t=1), ("E-out-of-range", "nan", "0")),
        (lambda: own(lambda a, b: "far", t=1), ("E-out-of-range", "'far'", "0")),
        (lambda: own(centres, t=-1), ("E-invalid-spec", "'score'")),
        (
            lambda: replace(sy.metrics("ellipses")[0], distance="centers"),
            ("E-invalid-spec", "'score'", "distance", "centers"),
        ),
    ],
)
def test_what_no_distance_can_be(metric: Callable[[], Any], said: tuple[str, ...]) -> None:
    with refuses(*said):
        sy.evaluate("ellipses", TRUTH, FOUND, [metric()])


@pytest.mark.parametrize(
    ("truth", "detections", "said"),
    [
        (TRUTH, FOUND[:2], ("E-shape-mismatch", "4", "2")),
        ([[[1, 2, 3, 4]]], [[]], ("E-invalid-value", "image 0", "1", "2", "3", "4")),
        ([[[1, 2, 3, 4, 5, 0.5]]], [[]], ("E-invalid-value", "truth, image 0, ellipse 0")),
        ([[]], [[[1, 2, 3, "4", 5]]], ("E-invalid-value", "image 0")),
        ([[]], [[[1, 2, 3, float("nan"), 5]]], ("E-invalid-number", "predictions, image 0, ellipse 0")),
        ([[1, 2, 3, 4, 5]], [[]], ("E-invalid-value", "image 0", "1")),
        ([[[1, 2, 3, 0, 5]]], [[]], ("E-out-of-range", "0")),
    ],
)
def test_lists_that_are_no_ellipses(truth: Any, detections: Any, said: tuple[str, ...]) -> None:
    with refuses(*said):
        sy.evaluate("ellipses", truth, detections)


def test_arrays_and_scores_in_lists() -> None:
    truth = [np.array(image, dtype=float).reshape(-1, 5) for image in TRUTH]
    detections = [[[*ellipse, 0.5 + i / 10] for i, ellipse in enumerate(image)] for image in FOUND]
    plain = sy.evaluate("ellipses", TRUTH, FOUND, "score", confidence=None)
    assert sy.evaluate("ellipses", truth, detections, "score", confidence=None)["score"].value == plain["score"].value
    assert 0 <= sy.score("ellipses", TRUTH, detections, "ap") <= 1
