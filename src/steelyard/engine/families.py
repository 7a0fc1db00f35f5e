"""p-values of a family of comparisons: one at a time, and corrected for all of them together.

The worlds of the randomisation share their coins: world 17 swaps the same units for every metric, model and slice. So
the largest of all standardised differences can be compared with the largest that chance makes in each world: step-down
max-T (Westfall and Young 1993), which knows how metrics go together, and whose smallest p does not grow with the
family. Holm's method, Benjamini and Hochberg's false discovery rate, and no correction are choices.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import frozen
from steelyard.core.request import Adjust
from steelyard.core.weights import Floats
from steelyard.engine.distributions import normal
from steelyard.results.score import Difference

NO_DIFFERENCE = "no difference shown"
CANNOT_SHOW = "cannot be shown"
FLAGGED = "flagged"
FDR_LEVEL = 0.1
ENOUGH = 10  # worlds as extreme as what was seen: fewer count badly
TAIL_FACTOR = 3.18  # of a normal tail, which bounds sums of random signs: Bentkus and Dzindzalieta 2015
SLACK = 1e-6  # worlds are held in single precision
G = TypeVar("G", bound=Hashable)
Worlds = NDArray[np.float32]


@frozen
class UnjudgedDifference:
    """A difference that is not judged yet, and the same difference in the worlds of the randomisation.

    `size` is how large the difference is as the worlds are made, which may be in single precision. `least` is the
    smallest p that there is, where few units let all worlds be walked and so its own p is exact.
    """

    difference: Difference
    worlds: Worlds | None = None
    size: float = math.nan
    least: float = math.nan

    @property
    def spread(self) -> float:
        """The root mean square of the worlds."""
        sizes = np.zeros(0) if self.worlds is None else _sizes(self.worlds)
        return math.sqrt(float((sizes**2).mean())) if len(sizes) else math.nan


def p_value(size: float, worlds: Worlds) -> tuple[float, str]:
    """The two-sided p of one difference, and how it was had.

    It is the share of worlds that are as extreme, this one counted. Where fewer than ten of them are, so that the share
    is a poor estimate and cannot be small, a bound of the normal tail is taken where it is smaller.
    """
    sizes = _sizes(worlds)
    extreme = _extreme(size, sizes)
    share = (1 + extreme) / (1 + len(sizes))
    if extreme >= ENOUGH or not sizes.any():
        return share, "swaps"
    bound = tail_bound(size / math.sqrt(float((sizes**2).mean())))
    return (bound, "tail bound") if bound < share else (share, "swaps")


def exact_p(size: float, worlds: Floats) -> float:
    """The share of all worlds that are as extreme; the one that was seen is among them."""
    return float((_sizes(worlds) >= abs(size) * (1 - 1e-12)).mean())


def _share(size: float, worlds: Worlds) -> float:
    sizes = _sizes(worlds)
    return (1 + _extreme(size, sizes)) / (1 + len(sizes))


def _extreme(size: float, sizes: Floats) -> int:
    """How many worlds have a difference of that size or a larger one, up to rounding."""
    return int(np.count_nonzero(sizes >= size * (1 - SLACK)))


def _sizes(worlds: Worlds | Floats) -> Floats:
    """How large the difference is in each world; worlds without a value are left out."""
    return np.abs(worlds[~np.isnan(worlds)].astype(np.float64))


def tail_bound(z: float) -> float:
    """At most so likely is a sum of random signs to be as far out as z standard deviations, on either side."""
    return min(1.0, TAIL_FACTOR * 2 * normal().cdf(-z))


def smallest_p(worlds: Worlds) -> float:
    """The share of worlds that are as extreme as the most extreme one: no difference can have a smaller p.

    With four units there are eight worlds that differ in size, and one in eight is the most extreme.
    """
    sizes = _sizes(worlds)
    return _share(float(sizes.max()), worlds) if sizes.any() else 1.0


def max_t(sizes: Sequence[float], worlds: Sequence[Worlds], spreads: Sequence[float]) -> list[float]:
    """Step-down max-T: p of each difference, corrected for all. All worlds must be as many, with the same coins."""
    z = np.array([size / spread for size, spread in zip(sizes, spreads, strict=True)])
    order = np.argsort(-z, kind="stable")
    count = len(worlds[0])
    corrected = [math.nan] * len(z)
    # From the smallest up: the largest of the ones not yet passed, in each world.
    largest = np.zeros(count, dtype=np.float64)
    for place in order[::-1]:
        scaled = np.abs(worlds[place]).astype(np.float64) / spreads[place]
        largest = np.maximum(largest, np.nan_to_num(scaled, nan=0.0))
        corrected[place] = (1 + _extreme(z[place], largest)) / (1 + count)
    running = 0.0
    for place in order:
        running = corrected[place] = max(running, corrected[place])
    return corrected


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction. nan stays nan and does not count."""
    order = sorted((i for i, p in enumerate(p_values) if p == p), key=lambda i: p_values[i])
    corrected = [math.nan] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's correction. nan stays nan and does not count."""
    order = sorted((i for i, p in enumerate(p_values) if p == p), key=lambda i: p_values[i])
    corrected = [math.nan] * len(p_values)
    smallest = 1.0
    for rank in range(len(order), 0, -1):
        i = order[rank - 1]
        smallest = corrected[i] = min(smallest, p_values[i] * len(order) / rank)
    return corrected


def judged_together(
    groups: Mapping[G, Mapping[str, UnjudgedDifference]], confidence: float, adjust: Adjust = "max-t"
) -> dict[G, dict[str, Difference]]:
    """Differences with p-values corrected over all groups at once: slices, classes, or several models."""
    flat = [(name, spec) for name, group in groups.items() for spec in group]
    together = judged([groups[name][spec] for name, spec in flat], 1 - confidence, adjust)
    judged_groups: dict[G, dict[str, Difference]] = {name: {} for name in groups}
    for (name, spec), difference in zip(flat, together, strict=True):
        judged_groups[name][spec] = difference
    return judged_groups


def judged(differences: Sequence[UnjudgedDifference], alpha: float, adjust: Adjust = "max-t") -> list[Difference]:
    """The differences as one family: p corrected, and the verdicts at that level.

    Where the worlds are not known (two finished results), max-T cannot be had, and Holm's method is taken.
    """
    p_values = [one.difference.p for one in differences]
    tested = [i for i, one in enumerate(differences) if _in_family(one)]
    if adjust == "max-t" and any(differences[i].worlds is None for i in tested):
        adjust = "holm"
    corrected = [math.nan if p != p else 1.0 for p in p_values]
    given = [p_values[i] for i in tested]
    family = len(tested)
    if adjust == "max-t" and tested:
        worlds = [w for i in tested if (w := differences[i].worlds) is not None]
        spreads = [differences[i].spread for i in tested]
        sizes = [differences[i].size for i in tested]
        # A world in which a metric is undefined is left out of its own p, so p is no smaller than that.
        own = [_share(size, w) for size, w in zip(sizes, worlds, strict=True)]
        own = [max(p, given[i]) if differences[tested[i]].least > 0 else p for i, p in enumerate(own)]
        together = [max(p, least) for p, least in zip(max_t(sizes, worlds, spreads), own, strict=True)]
    else:
        together = {"holm": holm, "fdr": false_discovery}.get(adjust, list)(given)
    for i, p in zip(tested, together, strict=True):
        corrected[i] = p
    level = FDR_LEVEL if adjust == "fdr" else alpha
    everything = zip(differences, corrected, holm(p_values), strict=True)
    return [_judged(one, p, p_holm, adjust, family, level) for one, p, p_holm in everything]


def _in_family(one: UnjudgedDifference) -> bool:
    """Whether anything could be found: p is known, and the worlds are not all alike."""
    return not math.isnan(one.difference.p) and (one.worlds is None or one.spread > 0)


def _judged(one: UnjudgedDifference, p: float, p_holm: float, adjust: Adjust, family: int, level: float) -> Difference:
    d = one.difference
    least = math.nan
    if one.worlds is not None and not math.isnan(d.p):
        least = smallest_p(one.worlds) if math.isnan(one.least) else one.least
        if adjust in ("holm", "fdr") and least * (1 + len(one.worlds)) < 1 + ENOUGH and one.spread > 0:
            least = min(least, tail_bound(float(_sizes(one.worlds).max()) / one.spread)) * family
        least = min(1.0, least)
    verdict = _verdict(d, p, level, adjust)
    # Of two distances from the best value the difference cannot grow beyond their sum, in any number of units.
    few = least >= level and d.difference != 0 and d.better not in ("zero", "one")
    if verdict == NO_DIFFERENCE and few:
        verdict = CANNOT_SHOW
    return replace(d, p_adjusted=p, p_holm=p_holm, adjust=adjust, family=family, smallest_p=least, verdict=verdict)


def _verdict(d: Difference, p: float, level: float, adjust: Adjust) -> str:
    if d.p != d.p:
        return "undefined"
    if p >= level or d.difference == 0:
        return NO_DIFFERENCE
    if adjust == "fdr":
        return FLAGGED
    if d.better == "none":
        return "differs"
    return "better" if (d.difference > 0) == (d.better == "higher") else "worse"
