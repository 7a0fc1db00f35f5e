"""The test of a difference and its interval, from what each resampling unit contributes.

The jackknife gives every unit an influence psi_i on a value T:

    psi_i = (n - 1) (mean of T(-j) - T(-i)),   sum 0,   se^2 = sum psi^2 / (n (n - 1))

A difference of two models has psi_B - psi_A. Under the hypothesis of no difference, psi_i + D is as likely positive as
negative, so each *world* flips the signs of the units by fair coins, and p is the share of worlds whose difference is
at least as large as the observed one (Fisher and Pitman's test on influences; for a mean it is the paired permutation
test, for right and wrong answers McNemar's exact test). No two models' scores are ever mixed, so p does not depend on
the scale of the scores.

The interval is the set of differences that this test does not reject, in closed form: in a world whose heads have h
units and the sum S of influences, a difference D + e is as extreme for all e between the two roots S / h and
-S / (n - h). So "p <= alpha" and "0 lies outside the interval" are the same statement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from steelyard import _native
from steelyard.core.draws import in_calls
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import coin_keys
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.engine.intervals import LEAST_DF, SAME, Estimate, UnitSample
from steelyard.engine.quantiles import normal

MOST_LISTED = 12  # units of which all worlds are walked
SLACK = 1e-9  # of the largest influence: worlds that tie with the observed one count as extreme
TAIL_FACTOR = 3.18  # of a normal tail, which bounds sums of random signs: Bentkus and Dzindzalieta 2015
FLIPS, ALL_FLIPS, TAIL, AGREEMENT = "flips", "all flips", "tail bound", "agreement"


class Coins(Frozen):
    """A fair coin for each resampling unit in each world, from (seed, key, world) alone.

    Metrics, models and slices share the coins of a unit, which is what corrections for many tests rest on.
    """

    keys: Array
    seed: int
    worlds: int

    __eq__, __hash__ = object.__eq__, object.__hash__

    @staticmethod
    def of(units: Units, seed: int, worlds: int) -> Coins:
        """The coins of the units, clusters or groups that the jackknife leaves out."""
        return Coins(coin_keys(units), seed & (2**64 - 1), worlds)

    @property
    def units(self) -> int:
        """How many coins a world has."""
        return len(self.keys)

    def sums(self, columns: Floats) -> Floats:
        """The sum of each column over the units that show heads, one row per world."""
        flat = np.ascontiguousarray(columns, dtype=np.float64)

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.flip_totals(self.keys, flat, self.seed, start, count)
            return totals

        return in_calls(self.worlds, flat.size + 8 * len(flat), make)

    @cached_property
    def heads(self) -> Floats:
        """How many units show heads in each world."""
        return self.sums(np.ones((self.units, 1)))[:, 0]

    @cached_property
    def every(self) -> Floats | None:
        """All worlds of few units as rows of zeros and ones; None for more units."""
        if self.units > MOST_LISTED:
            return None
        return (np.arange(1 << self.units)[:, np.newaxis] >> np.arange(self.units) & 1).astype(np.float64)


class Influence(Frozen):
    """The influences of the resampling units on a value, and their sums over heads in each world.

    `lost` counts rows of the jackknife without a value, whose influence is taken as 0.
    """

    coins: Coins
    psi: Floats
    sums: Floats
    lost: int = 0

    __eq__, __hash__ = object.__eq__, object.__hash__

    def add_weighted(self, other: Influence, own: float, others: float) -> Influence:
        """The influences on a weighted sum of two values."""
        psi, sums = own * self.psi + others * other.psi, own * self.sums + others * other.sums
        largest = max(float(np.abs(own * self.psi).max(initial=0)), float(np.abs(others * other.psi).max(initial=0)))
        if float(np.abs(psi).max(initial=0)) <= SAME * largest:  # rounding is not spread
            psi, sums = np.zeros_like(psi), np.zeros_like(sums)
        return Influence(self.coins, psi, sums, max(self.lost, other.lost))

    def scale_by(self, factor: float) -> Influence:
        """Return the influences times a factor."""
        if factor == 1:
            return self
        return Influence(self.coins, factor * self.psi, factor * self.sums, self.lost)

    @property
    def varies(self) -> bool:
        """Whether any unit moves the value."""
        return bool(self.psi.any())

    @property
    def se(self) -> float:
        """The jackknife's standard error."""
        return jackknife_se(self.psi)

    @property
    def df(self) -> float:
        """How many degrees of freedom that rests on, from the fourth moment."""
        return jackknife_df(self.psi)


def jackknife_se(psi: Floats) -> float:
    """The standard error of a value on which the units have these influences."""
    n = len(psi)
    return math.sqrt(float((psi**2).sum()) / (n * (n - 1))) if n > 1 else math.nan


def jackknife_df(psi: Floats) -> float:
    """The degrees of freedom of that standard error, from the fourth moment."""
    n, second = len(psi), float((psi**2).sum())
    if n < 2 or second == 0:
        return max(n - 1, 1)
    kurtosis = n * float((psi**4).sum()) / second**2
    df = math.inf if kurtosis <= 1 else 2 * n / (kurtosis - 1)
    return min(max(df, LEAST_DF), n - 1)


def influence_of(leave_one_out: Floats) -> tuple[Floats, int]:
    """The influence of each unit, from the values without it, and how many of these are undefined or infinite."""
    defined = np.isfinite(leave_one_out)
    psi = np.zeros(len(leave_one_out))
    values = leave_one_out[defined]
    if len(values):
        moved = values.mean() - values
        if np.abs(moved).max() > SAME * np.abs(values).max():
            psi[defined] = (len(leave_one_out) - 1) * moved
    return psi, len(leave_one_out) - len(values)


def with_coins(psi: Sequence[Floats], lost: Sequence[int], coins: Coins) -> list[Influence]:
    """Influences with their sums over heads; one pass over the coins serves all."""
    if not psi:
        return []
    matrix = np.stack(psi, axis=1)
    sums = coins.sums(matrix)
    return [Influence(coins, matrix[:, k], sums[:, k], count) for k, count in enumerate(lost)]


def influences(leave_one_out: Mapping[Metric, Floats], coins: Coins) -> dict[Metric, Influence]:
    """The influences of each metric, from its values without each unit."""
    each = [influence_of(values) for values in leave_one_out.values()]
    influences = with_coins([psi for psi, _ in each], [lost for _, lost in each], coins)
    return dict(zip(leave_one_out, influences, strict=True))


class FlipTest(Frozen):
    """What the flips say of one difference: p and its method, the interval, and the worlds for a family of tests.

    `size` and `spread` are the difference and the root mean square of the worlds; `least` is the smallest p that so
    many contributing units can give.
    """

    difference: float
    p: float
    method: str
    interval: tuple[float, float] | None
    worlds: Floats
    size: float
    spread: float
    least: float

    @property
    def z(self) -> float:
        """The difference over the spread of the worlds."""
        return self.size / self.spread if self.spread > 0 else 0.0


def flip_test(difference: float, influence: Influence, confidence: float) -> FlipTest:
    """Test a difference against 0 by flips, with the interval of the differences that are not rejected."""
    coins, psi, alpha = influence.coins, influence.psi, 1 - confidence
    n, slack = len(psi), SLACK * float(np.abs(psi).max(initial=0))
    if coins.every is None:
        sums, heads, method = influence.sums, coins.heads, FLIPS
        rejected = math.floor(alpha * (1 + len(sums)) + SLACK)
    else:
        sums, heads, method = coins.every @ psi, coins.every.sum(axis=1), ALL_FLIPS
        rejected = math.floor(alpha * len(sums) + SLACK) + 1
    low, high = _roots(sums, heads, n)
    low, high = difference + (low - slack), difference + (high + slack)
    extreme = int(np.count_nonzero((low <= 0) & (high >= 0)))
    p = (1 + extreme) / (1 + len(sums)) if coins.every is None else extreme / len(sums)
    ends = (-math.inf, math.inf)
    if 1 <= rejected <= len(sums):
        ends = (
            float(np.partition(low, rejected - 1)[rejected - 1]),
            float(-np.partition(-high, rejected - 1)[rejected - 1]),
        )
    second = float((psi**2).sum())
    p, method, ends = _bound_tail(difference, second, n, slack, alpha, p, method, ends)
    moved = psi + difference
    contributing = int(np.count_nonzero(np.abs(moved) > SLACK * float(np.abs(moved).max(initial=0))))
    worlds = np.abs(2 * influence.sums + difference * (2 * coins.heads - n)) / max(n, 1)
    return FlipTest(
        difference,
        min(p, 1.0),
        method,
        None if math.isinf(ends[0]) or math.isinf(ends[1]) else ends,
        worlds.astype(np.float32),
        abs(difference),
        math.sqrt(second + n * difference**2) / max(n, 1),
        2.0 ** (1 - max(contributing, 1)),
    )


def _roots(sums: Floats, heads: Floats, n: int) -> tuple[Floats, Floats]:
    """Between these distances from the difference a world is as extreme; all heads or all tails always are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = sums / heads, -sums / (n - heads)
    whole = (heads == 0) | (heads == n)
    return (
        np.where(whole, -np.inf, np.minimum(first, second)),
        np.where(whole, np.inf, np.maximum(first, second)),
    )


def _bound_tail(
    difference: float, second: float, n: int, slack: float, alpha: float, p: float, method: str,
    ends: tuple[float, float],
) -> tuple[float, str, tuple[float, float]]:  # fmt: skip
    """Return the p, or the bound of its tail if that is smaller: few worlds cannot show a small p."""
    size = max(abs(difference) - slack, 0.0)
    bound = tail_bound(size * n / math.sqrt(second + n * size**2)) if size > 0 else 1.0
    if bound < p:
        p, method = bound, TAIL
    z = -normal().inv_cdf(min(alpha / (2 * TAIL_FACTOR), 0.5))
    if second > 0 and n > z**2:
        reach = z * math.sqrt(second / n) / math.sqrt(n - z**2) + slack
        ends = max(ends[0], difference - reach), min(ends[1], difference + reach)
    return p, method, ends


def tail_bound(z: float) -> float:
    """At most so likely is a sum of random signs to be as far out as z standard deviations, on either side."""
    return min(1.0, TAIL_FACTOR * 2 * normal().cdf(-z))


def of_agreement(
    difference: float, width: float, sample: UnitSample, confidence: float, bound: float = 0.0
) -> tuple[Estimate, float]:
    """The interval of a difference that every unit shows alike, for a metric whose range has a width, and the p of its
    being `bound`.

    Up to a share s of all units may behave otherwise, and differ by as much as the range allows in the other
    direction: the ends are D - s (W + D) and D + s (W - D). For right and wrong answers p is McNemar's, 2 ** (1 - n).
    """
    share = sample.may_differ(confidence)
    low, high = difference - share * (width + difference), difference + share * (width - difference)
    away = difference - bound
    room = width + difference if away >= 0 else width - difference
    least = abs(away) / room if room > 0 else math.inf  # the share at which one end is the bound
    inner, outer = 0.0, 1.0
    for _ in range(60):
        level = (inner + outer) / 2
        inner, outer = (level, outer) if sample.may_differ(1 - level) > least else (inner, level)
    return Estimate((max(low, -width), min(high, width)), 0.0, max(sample.units - 1, 1)), outer


def nearer(tests: Sequence[FlipTest]) -> FlipTest:
    """Of a gap and a total, the one that is less surely different from 0."""
    return min(tests, key=lambda test: (-test.p, test.z))
