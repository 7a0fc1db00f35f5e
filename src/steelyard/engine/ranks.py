"""Ranks of several models with the uncertainty of all of them together.

All pairs of models are tested by flips, each difference over the spread of its worlds, and step-down max-T says which
are shown at the level of the intervals, for all pairs at once. A model's rank then lies between one more than the
models shown better and the last but those shown worse: with that confidence all ranks lie in their sets (Mogstad,
Romano, Shaikh and Wilhelm 2024). Ranks of bootstrap draws themselves would almost never cover those of equal models.

Compact letters: models that share one are not shown to differ. They are computed by insert and absorb (Piepho 2004):
all models begin in one group; each pair that differs splits every group that holds both, and a group that lies in
another is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np

from steelyard.engine.families import max_t
from steelyard.engine.flips import FlipTest, Influence, flip_test, nearer
from steelyard.engine.paired import BEST, MetricTraits
from steelyard.results.comparison import Standing

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compact_letters(order: Sequence[int], different: Iterable[tuple[int, int]]) -> dict[int, str]:
    """The letters of each model of `order`, the best first; nothing where there are more groups than letters."""
    groups = [frozenset(order)]
    for i, j in different:
        split: list[frozenset[int]] = []
        for group in groups:
            split += [group - {i}, group - {j}] if i in group and j in group else [group]
        groups = _maximal_groups(split)
        if len(groups) > len(ALPHABET):
            return {}
    place = {model: at for at, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[model] for model in group))
    return {
        model: "".join(letter for letter, group in zip(ALPHABET, groups, strict=False) if model in group)
        for model in order
    }


def _maximal_groups(groups: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The groups that lie in no other."""
    maximal: list[frozenset[int]] = []
    for group in sorted(set(groups), key=lambda one: (-len(one), sorted(one))):
        if not any(group <= other for other in maximal):
            maximal.append(group)
    return maximal


Combined = Callable[[int, int, float], tuple[float, Influence]]  # model i plus so many times model j


def standing(
    facts: MetricTraits, values: Sequence[float], influences: Sequence[Influence], confidence: float,
    combined: Combined | None = None,
) -> Standing | None:  # fmt: skip
    """Where the models stand in a metric, by their values and the influences of the units on them; None where no order
    is better.

    A model without a value has no rank, which is written as 0. Nothing is shown of a model with an infinite value.
    `combined` gives the differences where they do not follow from the values.
    """
    best = BEST.get(facts.better)
    defined = [i for i, value in enumerate(values) if not np.isnan(value)]
    if facts.better == "none" or facts.total or len(defined) < 2:
        return None
    turn = 1.0 if facts.better == "higher" else -1.0
    gain = [turn * (v if best is None else abs(v - best)) for v in values]
    pairs = list(combinations([i for i in defined if np.isfinite(values[i])], 2))

    def test_gap(i: int, j: int) -> FlipTest:
        """The gap of two models; for distances from the best value also their sum, of which the less sure counts."""
        signs = (-1.0,) if best is None else (-1.0, 1.0)
        return nearer([flip_test(*(combined or plain)(i, j, s), confidence) for s in signs])

    def plain(i: int, j: int, s: float) -> tuple[float, Influence]:
        off = best or 0.0
        return values[i] - off + s * (values[j] - off), influences[i].add_weighted(influences[j], 1.0, s)

    tests = [test_gap(i, j) for i, j in pairs]
    shown = dict(zip(pairs, _significant_gaps(tests, confidence), strict=True))
    first_is_larger = {
        (i, j): turn * test.difference > 0 if best is None else gain[i] > gain[j]
        for (i, j), test in zip(pairs, tests, strict=True)
    }
    above, below = np.zeros(len(values), dtype=int), np.zeros(len(values), dtype=int)
    for (i, j), is_shown in shown.items():
        if is_shown:
            winner, loser = (i, j) if first_is_larger[i, j] else (j, i)
            above[loser] += 1
            below[winner] += 1
    ranks = tuple(
        (1 + int(above[i]), len(defined) - int(below[i])) if i in defined else (0, 0) for i in range(len(values))
    )
    order = sorted(defined, key=lambda i: (-gain[i], i))
    letters = compact_letters(order, [pair for pair, is_shown in shown.items() if is_shown])
    groups = tuple(letters.get(i, "") for i in range(len(values))) if letters else ()
    return Standing(facts.spec, ranks, confidence, groups)


def _significant_gaps(tests: Sequence[FlipTest], confidence: float) -> list[bool]:
    """Which differences are shown not to be 0, all together; one that no unit moves is not."""
    tested = [k for k, test in enumerate(tests) if test.size > 0 and test.spread > 0]
    shown = [False] * len(tests)
    if tested:
        chosen = [tests[k] for k in tested]
        p = max_t([t.size for t in chosen], [t.worlds for t in chosen], [t.spread for t in chosen])
        for k, corrected_p in zip(tested, p, strict=True):
            shown[k] = max(corrected_p, tests[k].p) <= 1 - confidence + 1e-12
    return shown
