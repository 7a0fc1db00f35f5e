"""p-values of a family of comparisons: one at a time, and corrected for all of them together.

The worlds of the flips share their coins: world 17 flips the same units for every metric, model and slice. So the
largest of all standardised differences can be compared with the largest that chance makes in each world: step-down
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

from steelyard.core.frozen import Frozen
from steelyard.core.request import Adjust
from steelyard.core.weights import Floats
from steelyard.engine.flips import TAIL, FlipTest
from steelyard.results.score import Difference

NO_DIFFERENCE = "no difference shown"
CANNOT_SHOW = "cannot be shown"
FLAGGED = "flagged"
FDR_LEVEL = 0.1
SLACK = 1e-6  # worlds are held in single precision
ROUNDING = 1e-12
G = TypeVar("G", bound=Hashable)
Worlds = NDArray[np.float32]


class UnjudgedDifference(Frozen):
    """A difference that is not judged yet, with its test by flips where there is one, and the smallest p there is."""

    difference: Difference
    test: FlipTest | None = None
    least: float = math.nan


def _extreme(size: float, sizes: Floats) -> int:
    """How many worlds have a difference of that size or a larger one, up to rounding."""
    return int(np.count_nonzero(sizes >= size * (1 - SLACK)))


def max_t(sizes: Sequence[float], worlds: Sequence[Worlds | Floats], spreads: Sequence[float]) -> list[float]:
    """Step-down max-T: p of each difference, corrected for all. All worlds must be as many, with the same coins."""
    z = np.array([size / spread for size, spread in zip(sizes, spreads, strict=True)])
    order = np.argsort(-z, kind="stable")
    count = len(worlds[0])
    corrected = [math.nan] * len(z)
    # From the smallest up: the largest of the ones not yet passed, in each world.
    largest = np.zeros(count, dtype=np.float64)
    for place in order[::-1]:
        scaled = np.abs(worlds[place]).astype(np.float64) / spreads[place]
        largest = np.maximum(largest, scaled)
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
    together = judge_family([groups[name][spec] for name, spec in flat], 1 - confidence, adjust)
    judged_groups: dict[G, dict[str, Difference]] = {name: {} for name in groups}
    for (name, spec), difference in zip(flat, together, strict=True):
        judged_groups[name][spec] = difference
    return judged_groups


def judge_family(differences: Sequence[UnjudgedDifference], alpha: float, adjust: Adjust = "max-t") -> list[Difference]:
    """The differences as one family: p corrected, and the verdicts at that level.

    Where the worlds are not known (two finished results), max-T is not possible, and Holm's method is used.
    """
    p_values = [one.difference.p for one in differences]
    tested = [i for i, one in enumerate(differences) if _in_family(one)]
    if adjust == "max-t" and any(differences[i].test is None for i in tested):
        adjust = "holm"
    corrected = [math.nan if p != p else 1.0 for p in p_values]
    uncorrected = [p_values[i] for i in tested]
    family = len(tested)
    if adjust == "max-t" and tested:
        tests = [test for i in tested if (test := differences[i].test) is not None]
        together = max_t([t.size for t in tests], [t.worlds for t in tests], [t.spread for t in tests])
        # Where all worlds of few units are walked, p is exact, and the sampled worlds do not undercut it.
        together = [max(p, t.p) if t.method != TAIL else p for p, t in zip(together, tests, strict=True)]
    else:
        together = {"holm": holm, "fdr": false_discovery}.get(adjust, list)(uncorrected)
    for i, p in zip(tested, together, strict=True):
        corrected[i] = p
    level = FDR_LEVEL if adjust == "fdr" else alpha
    everything = zip(differences, corrected, holm(p_values), strict=True)
    return [_judge_difference(one, p, p_holm, adjust, family, level) for one, p, p_holm in everything]


def _in_family(raw: UnjudgedDifference) -> bool:
    """Whether anything could be found: p is known, and the worlds are not all alike."""
    return not math.isnan(raw.difference.p) and (raw.test is None or raw.test.spread > 0)


def _judge_difference(
    raw: UnjudgedDifference, p: float, p_holm: float, adjust: Adjust, family: int, level: float
) -> Difference:
    d, least = raw.difference, math.nan
    if raw.test is not None and not math.isnan(d.p):
        least = raw.least if raw.test.spread > 0 else 1.0
        if adjust == "max-t":
            least = max(least, 1 / (1 + len(raw.test.worlds)))
        elif adjust in ("holm", "fdr"):
            least *= max(family, 1)
        least = min(1.0, least)
    verdict = _verdict(d, p, level, adjust)
    if verdict == NO_DIFFERENCE and least > level and d.difference != 0:
        verdict = CANNOT_SHOW
    return replace(d, p_adjusted=p, p_holm=p_holm, adjust=adjust, family=family, smallest_p=least, verdict=verdict)


def _verdict(d: Difference, p: float, level: float, adjust: Adjust) -> str:
    if d.p != d.p:
        return "undefined"
    if p > level + ROUNDING or d.difference == 0:
        return NO_DIFFERENCE
    if adjust == "fdr":
        return FLAGGED
    if d.better == "none":
        return "differs"
    return "better" if (d.difference > 0) == (d.better == "higher") else "worse"
