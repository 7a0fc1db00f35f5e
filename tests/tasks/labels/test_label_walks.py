"""Rankings of labels under whole weights: bootstrap draws, and each group of units left out, beside the walk of real ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.draws import unit_keys
from steelyard.core.weights import LeaveGroupOut, LeaveOneOut

AP, AUC = 0, 1
NO_VALUE = np.zeros(0)


def drawn_rankings(rng: np.random.Generator, sizes: list[int], units: int, digits: int) -> tuple[Any, ...]:
    """Where rankings begin, and the unit, class and end of ties of each event."""
    parts = []
    for size in sizes:
        unit, positive = rng.integers(0, units, size), (rng.random(size) < 0.3).astype(np.uint8)
        order, last, marked = _native.rank_order(np.round(rng.normal(positive, 1), digits), positive)
        parts.append((unit[order].astype(np.int32), marked, last))
    begin = np.cumsum([0, *sizes])
    return begin, *(np.concatenate(columns) for columns in zip(*parts, strict=True))


def by_real_weights(rows: Any, events: tuple[Any, ...], kind: int) -> Any:
    """What the walk of real weights gives, ranking by ranking."""
    begin, unit, positive, last = events
    parts = [slice(a, b) for a, b in itertools.pairwise(begin)]
    return np.stack(
        [_native.ranked(rows, unit[p].astype(np.int64), positive[p], last[p], NO_VALUE, kind) for p in parts], axis=1
    )


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("kind", [AP, AUC])
def test_drawn_counts_walk_rankings_to_the_same_bits(digits: int, kind: int) -> None:
    """Runs of equal scores long, short and none; 70 draws are two groups of 32 and six; a ranking may be empty."""
    rng = np.random.default_rng(digits)
    units, draws = 90, 70
    events = drawn_rankings(rng, [400, 0, 3, 1000], units, digits)
    keys = unit_keys(np.arange(units))
    expected = by_real_weights(_native.poisson_weights(keys, 3, 0, draws), events, kind)
    result = _native.ranked_draws(_native.poisson_counts(keys, 3, 0, draws), draws, *events, kind)
    np.testing.assert_array_equal(result, expected)


def groups_of(rng: np.random.Generator, units: int, groups: int, large: float) -> Any:
    """Groups of units, of which the first has the given share and some units have none."""
    group = rng.integers(-1, groups, units).astype(np.int32)
    group[rng.random(units) < large] = 0
    return group


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("kind", [AP, AUC])
@pytest.mark.parametrize(
    ("units", "groups", "large"), [(90, 20, 0.0), (4000, 1000, 0.0), (4000, 1000, 0.5), (50, 2, 0.9)]
)
def test_groups_left_out_are_weights_of_zero(digits: int, kind: int, units: int, groups: int, large: float) -> None:
    """AUC is made of whole numbers, to the bit; average precision is summed in another order."""
    rng = np.random.default_rng(units + digits)
    events = drawn_rankings(rng, [3000, 0, 2], units, digits)
    group = groups_of(rng, units, groups, large)
    rows = np.concatenate(list(LeaveGroupOut(np.ones(units), group, groups).blocks()))
    expected = by_real_weights(rows, events, kind)
    result = _native.ranked_left_out(group, groups, *events, kind)
    if kind == AUC:
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=0)


def test_left_out_by_hand() -> None:
    """Scores 4 3 3 1 of units 0 1 2 3, hits 0, 2 and 3; the group of units 0 and 3, then that of unit 1, goes."""
    begin, unit = np.array([0, 4]), np.arange(4, dtype=np.int32)
    events = (begin, unit, np.array([1, 0, 1, 1], np.uint8), np.array([1, 0, 1, 1], np.uint8))
    group = np.array([0, 1, -1, 0], np.int32)
    assert _native.ranked_left_out(group, 2, *events, AP)[:, 0].tolist() == [0.5, 1.0]
    area = _native.ranked_left_out(group, 2, *events, AUC)[:, 0]
    assert area[0] == 0.5  # a hit and a miss that are tied
    assert np.isnan(area[1])  # hits alone


def test_what_does_not_fit_is_refused() -> None:
    rng = np.random.default_rng(0)
    begin, unit, positive, last = drawn_rankings(rng, [40], 9, 1)
    counts, group = np.ones((1, 9, 32), np.uint8), np.zeros(9, np.int32)
    entries = (
        lambda *events: _native.ranked_draws(counts, 32, *events),
        lambda *events: _native.ranked_left_out(group, 1, *events),
    )
    for call in entries:
        for events, why in (
            ((begin, unit + 9, positive, last, AP), (ValueError, "unit")),
            ((begin, unit, positive, last, 2), (ValueError, "counted")),
            ((begin, unit, positive, np.zeros_like(last), AP), (ValueError, "end")),
            ((begin + 1, unit, positive, last, AP), (ValueError, "follow")),
            ((begin, unit[1:], positive, last, AP), (ValueError, "column")),
            ((np.zeros(0, np.int64), unit, positive, last, AP), (ValueError, "follow")),
        ):
            with refuses(*why):
                call(*events)
    for groups, why in (([-2] * 9, (ValueError, "group")), ([1] * 9, (ValueError, "group"))):
        with refuses(*why):
            _native.ranked_left_out(np.array(groups, np.int32), 1, begin, unit, positive, last, AP)


def test_weights_that_are_present_count_once() -> None:
    """Given weights become 1, and what is left out stays left out; of three alike units, two are still there."""
    given = np.array([0.5, 0, 2, 3])
    one = LeaveOneOut(given).present()
    assert (one @ np.eye(4)).tolist() == [[0, 0, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 0]]
    alike = LeaveOneOut(np.array([3.0, 1]), np.array([1.0, 1])).present()
    assert (alike @ np.eye(2)).tolist() == [[1, 1], [1, 0]]
    groups = LeaveGroupOut(given, np.array([0, -1, 0, 1], np.int32), 2).present()
    assert (groups @ np.eye(4)).tolist() == [[0, 0, 0, 1], [1, 0, 1, 0]]


def test_weighted_rows_above_a_thousand_have_intervals() -> None:
    """Specificity asks which rows have a weight; so many units are left out in groups."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 1500)
    predicted = np.where(rng.random(1500) < 0.7, truth, rng.integers(0, 3, 1500))
    sides = {"label": truth, "weight": rng.random(1500) + 0.5}, {"label": predicted}
    score = sy.evaluate("labels", *sides, "specificity(label=1)", draws=100)["specificity(label=1)"]
    assert score.interval is not None
    assert score.interval[0] < score.value < score.interval[1]
