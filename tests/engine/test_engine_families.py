"""p-values and verdicts of families, by hand and against scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.engine.families import UnjudgedDifference, false_discovery, holm, judge_family, judged_together, max_t
from steelyard.engine.flips import FlipTest
from steelyard.results.score import Difference, Score

scipy_stats = lazy("scipy.stats")


def worlds(*parts: tuple[int, float]) -> Any:
    """So many worlds of each value."""
    return np.concatenate([np.full(count, value) for count, value in parts]).astype(np.float32)


def unjudged(
    p: float,
    difference: float = 1.0,
    better: Any = "higher",
    worlds: Any = None,
    method: str = "tail bound",
    least: float = 1e-9,
) -> UnjudgedDifference:
    score = Score("m", "M", 0.0)
    given = Difference("m", "M", score, score, difference, None, p, math.nan, "", 9, better=better)
    if worlds is None:
        return UnjudgedDifference(given)
    spread = math.sqrt(float((worlds.astype(float) ** 2).mean()))
    return UnjudgedDifference(
        given, FlipTest(difference, p, method, None, worlds, abs(difference), spread, least), least
    )


def test_max_t_by_hand() -> None:
    """Spreads 2, 1 and 4 make z = 3, 2 and 1; the largest z of each world is over the ones not yet passed."""
    given = [worlds((1, 1.0), (1, -7.0), (1, 2.0), (1, 0.0)), np.float32([2.5, 0.1, 1.0, 0.3])]
    given.append(np.float32([6.0, 2.0, -2.0, 4.8]))
    # In z: .5 3.5 1 -; 2.5 .1 1 .3; 1.5 .5 .5 1.2. Of all: 2.5 3.5 1 1.2. Of the last two: 2.5 .5 1 1.2.
    assert max_t([6.0, 2.0, 4.0], given, [2.0, 1.0, 4.0]) == [2 / 5, 2 / 5, 3 / 5]
    assert max_t([4.0, 2.0, 6.0], [given[2], given[1], given[0]], [4.0, 1.0, 2.0]) == [3 / 5, 2 / 5, 2 / 5]
    # A world that is as large up to rounding counts, and a p never falls below that of a larger difference.
    assert max_t([3.0], [np.float32([3.0, 2.9])], [1.0]) == [2 / 3]
    assert max_t([3.0 * (1 + 5e-7)], [np.float32([3.0, 2.9])], [1.0]) == [2 / 3]
    assert max_t([3.0 * (1 + 3e-6)], [np.float32([3.0, 2.9])], [1.0]) == [1 / 3]
    assert max_t([2.0, 1.9], [np.float32([5.0, 6.0]), np.float32([0.0, 0.0])], [1.0, 1.0]) == [1.0, 1.0]


def test_holm_and_the_false_discovery_rate() -> None:
    """.01 x 4, .02 x 3, .03 x 2 and .9; the false discovery rate is scipy's."""
    p = [0.03, 0.01, math.nan, 0.9, 0.02]
    assert holm(p) == pytest.approx([0.06, 0.04, math.nan, 0.9, 0.06], nan_ok=True)
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == false_discovery([]) == []
    known = [0.03, 0.01, 0.9, 0.02]
    expected = scipy_stats.false_discovery_control(known).tolist()
    expected.insert(2, math.nan)
    assert false_discovery(p) == pytest.approx(expected, nan_ok=True)
    assert false_discovery([0.9, 0.95, 0.001]) == pytest.approx([0.95, 0.95, 0.003])
    assert false_discovery([2.0]) == [1.0]


def family() -> list[UnjudgedDifference]:
    """Four differences in 999 worlds: one far out, one that loses, one like chance, one of worlds that are all alike."""
    normal = np.random.default_rng(0).normal(size=(3, 999)).astype(np.float32)
    return [
        unjudged(0.0001, 5.0, worlds=normal[0]),
        unjudged(0.004, -3.0, worlds=normal[1]),
        unjudged(0.6, 0.5, worlds=normal[2]),
        unjudged(1.0, 0.0, worlds=worlds((999, 0.0))),
    ]


def test_judged_by_max_t() -> None:
    """The worlds that are all alike are in no family: their p is 1, and nothing could be shown."""
    given = family()
    verdicts = judge_family(given, 0.05)
    used = given[:3]
    tests = [one.test for one in used if one.test is not None]
    expected = max_t([5.0, 3.0, 0.5], [one.worlds for one in tests], [one.spread for one in tests])
    assert [d.p_adjusted for d in verdicts] == [*expected, 1.0]
    assert [d.verdict for d in verdicts] == ["better", "worse", "no difference shown", "no difference shown"]
    assert [d.family for d in verdicts] == [3] * 4
    assert {d.adjust for d in verdicts} == {"max-t"}
    assert [d.p_holm for d in verdicts] == pytest.approx([0.0004, 0.012, 1.0, 1.0])
    assert [d.smallest_p for d in verdicts] == [1 / 1000] * 3 + [1.0]
    assert [d.p for d in verdicts] == [0.0001, 0.004, 0.6, 1.0]


def test_max_t_is_no_smaller_than_an_exact_p() -> None:
    """Of 99 sampled worlds none is as extreme, but of all worlds of few units .031 are."""
    few = worlds((99, 1.0))
    assert judge_family([unjudged(0.031, 3.0, worlds=few, method="all flips")], 0.05)[0].p_adjusted == 0.031
    assert judge_family([unjudged(1e-9, 3.0, worlds=few)], 0.05)[0].p_adjusted == 1 / 100


@pytest.mark.parametrize(
    ("adjust", "expected", "verdicts"),
    [
        ("holm", [0.0003, 0.008, 0.6, 1.0], ["better", "worse", "no difference shown", "no difference shown"]),
        ("fdr", [0.0003, 0.006, 0.6, 1.0], ["flagged", "flagged", "no difference shown", "no difference shown"]),
        ("none", [0.0001, 0.004, 0.6, 1.0], ["better", "worse", "no difference shown", "no difference shown"]),
    ],
)
def test_judged_otherwise(adjust: Any, expected: list[float], verdicts: list[str]) -> None:
    """.0001 x 3, .004 x 2, .6; the false discovery rate is .0001 x 3, .004 x 3 / 2, .6."""
    given = family()
    result = judge_family(given, 0.05, adjust)
    assert [d.p_adjusted for d in result] == pytest.approx(expected)
    assert [d.verdict for d in result] == verdicts
    assert {d.adjust for d in result} == {adjust}
    least = 1e-9 if adjust == "none" else 3e-9  # for three tests
    assert [d.smallest_p for d in result] == pytest.approx([least] * 3 + [1.0])


def test_without_worlds_max_t_is_holm() -> None:
    verdicts = judge_family([unjudged(0.01), unjudged(0.03, -1.0), unjudged(math.nan)], 0.05)
    assert [(d.adjust, d.family, d.verdict) for d in verdicts] == [
        ("holm", 2, "better"),
        ("holm", 2, "worse"),
        ("holm", 2, "undefined"),
    ]
    assert [d.p_adjusted for d in verdicts] == pytest.approx([0.02, 0.03, math.nan], nan_ok=True)
    assert all(math.isnan(d.smallest_p) for d in verdicts)
    mixed = judge_family([unjudged(0.01), *family()], 0.05)
    assert {d.adjust for d in mixed} == {"holm"}
    unknown = judge_family([unjudged(math.nan), *family()], 0.05)
    assert {d.adjust for d in unknown} == {"max-t"}


def test_the_level_of_a_verdict() -> None:
    """p must not be above the level; the false discovery rate has a level of its own, 10 %."""
    for p, adjust, expected in (
        (0.0501, "none", "no difference shown"),
        (0.05, "none", "better"),
        (0.1, "fdr", "flagged"),
        (0.1001, "fdr", "no difference shown"),
    ):
        assert judge_family([unjudged(p)], 0.05, adjust)[0].verdict == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("better", "difference", "expected"),
    [
        ("higher", 0.1, "better"),
        ("higher", -0.1, "worse"),
        ("lower", 0.1, "worse"),
        ("lower", -0.1, "better"),
        ("zero", -0.1, "better"),
        ("one", 0.1, "worse"),
        ("none", 0.1, "differs"),
        ("higher", 0.0, "no difference shown"),
    ],
)
def test_verdicts_by_direction(better: str, difference: float, expected: str) -> None:
    assert judge_family([unjudged(0.01, difference, better)], 0.05, "none")[0].verdict == expected


def test_what_cannot_be_shown() -> None:
    """Four units have eight worlds that differ in size, so no p below an eighth is possible; at 20 % that suffices."""
    few = worlds((12, 4.0), (87, 1.0))
    for better, difference, level, expected in (
        ("higher", 2.0, 0.05, "cannot be shown"),
        ("higher", 2.0, 0.12, "cannot be shown"),
        ("higher", 2.0, 0.13, "no difference shown"),
        ("higher", 0.0, 0.05, "no difference shown"),
        ("zero", 2.0, 0.05, "cannot be shown"),
    ):
        result = judge_family([unjudged(0.5, difference, better, few, "all flips", 1 / 8)], level)[0]
        assert result.verdict == expected
        assert result.smallest_p == 1 / 8
    shown = judge_family([unjudged(0.125, 4.0, worlds=few, method="all flips", least=1 / 8)], 0.2)[0]
    assert shown.verdict == "better"


def test_worlds_that_are_all_alike_have_no_bound() -> None:
    result = judge_family([unjudged(1.0, worlds=worlds((5, 0.0)))], 0.05, "holm")[0]
    assert (result.smallest_p, result.p_adjusted, result.family) == (1.0, 1.0, 0)


def test_groups_are_judged_as_one_family() -> None:
    """Two slices of two metrics each: four tests, and every difference back in its place."""
    p = {"a": {"x": 0.01, "y": 0.02}, "b": {"x": 0.5, "y": 0.012}, "c": {}}
    groups = {name: {spec: unjudged(value) for spec, value in group.items()} for name, group in p.items()}
    verdicts = judged_together(groups, 0.95, "holm")
    assert {name: {spec: d.p for spec, d in group.items()} for name, group in verdicts.items()} == p
    assert {d.family for group in verdicts.values() for d in group.values()} == {4}
    assert verdicts["a"]["x"].p_adjusted == pytest.approx(0.04)
    assert verdicts["a"]["x"].verdict == "better"
    assert verdicts["b"]["y"].p_adjusted == pytest.approx(0.04)
    assert judged_together({"a": {"x": family()[0]}}, 0.95)["a"]["x"].adjust == "max-t"
    assert judged_together({"a": {"x": unjudged(0.08)}}, 0.9, "none")["a"]["x"].verdict == "better"
    assert judged_together({"a": {"x": unjudged(0.2)}}, 0.9, "none")["a"]["x"].verdict == "no difference shown"
    assert judged_together({"a": {"x": family()[0]}}, 0.95, "none")["a"]["x"].adjust == "none"
