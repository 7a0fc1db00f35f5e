"""KITTI's matching in the native core, by hand: what a class has at every score, and what is left out of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard import _native

BOX = (0, 0, 10, 10)
Detection = tuple[tuple[int, ...], float, int, int, float]  # box, score, class, levels at which it is small, angle


def match(
    truths: list[tuple[int, ...]], predicted: list[Detection], levels: int = 1, regions: Any = ()
) -> list[list[float]]:
    """Events of one frame and class, whose truths count at every level, as cell, score, hits, tp, fp and similarity."""
    boxes, score, group, small, alpha = zip(*predicted, strict=True)
    count = len(truths)
    answer: Any = _native.kitti_match(
        0, np.array([0, count]), np.array(truths, float).reshape(-1, 4), np.zeros(count, np.int32),
        np.ones(count, np.uint8), np.full(count, 255, np.uint8), np.zeros(count), np.array([0, len(predicted)]),
        np.array(boxes, float), np.array(group, np.int32), np.array(small, np.uint8), np.array(alpha, float),
        np.array(score), np.array([0, len(regions)]), np.array(regions, float).reshape(-1, 4), np.array([0.5]), levels,
    )  # fmt: skip
    assert answer["count"].tolist() == [count] * levels * (count > 0)
    names = ("cell", "score", "hits", "tp", "fp", "similarity")
    return np.column_stack([answer[name] for name in names]).tolist()


def test_truths_do_not_share_a_detection() -> None:
    """Two truths in one place: the better detection is the first one's, the other's the second; a small one adds nothing."""
    predicted: list[Detection] = [(BOX, 0.9, 0, 0, 0), ((0, 0, 10, 9), 0.8, 0, 0, 0), (BOX, 0.7, 0, 1, 0)]
    assert match([BOX, BOX], predicted) == [[0, 0.9, 1, 1, 0, 1], [0, 0.8, 1, 1, 0, 1]]


def test_a_small_detection_gives_way() -> None:
    """It is small at the first level, where it hides the hit until a full one comes, and of another class at the second."""
    predicted: list[Detection] = [(BOX, 0.9, -1, 1, 0), ((0, 0, 10, 8), 0.6, 0, 0, 0)]
    assert match([BOX], predicted, levels=2) == [[0, 0.6, 0, 1, 0, 1], [1, 0.6, 1, 1, 0, 1]]


def test_what_lies_in_a_region_is_no_false_positive() -> None:
    region = (50, 0, 60, 10)
    predicted: list[Detection] = [(region, 0.5, 0, 0, 0), ((80, 0, 90, 10), 0.4, 0, 0, 0)]
    assert match([], predicted, regions=[region, region]) == [[0, 0.4, 0, 0, 1, 0]]


def test_a_better_place_may_be_turned_the_wrong_way() -> None:
    """At the lower score the truth is found in its very place, but backwards; the first detection lies in a region."""
    first = (0, 0, 10, 8)
    predicted: list[Detection] = [(first, 0.9, 0, 0, 0), (BOX, 0.8, 0, 0, math.pi)]
    assert match([BOX], predicted, regions=[first]) == [[0, 0.9, 1, 1, 0, 1], [0, 0.8, 0, 0, 0, -1]]
    assert match([BOX], predicted) == [[0, 0.9, 1, 1, 0, 1], [0, 0.8, 0, 0, 1, -1]]
