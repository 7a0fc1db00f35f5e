"""Ranks of several models with the uncertainty of all of them together.

All pairs of models are compared by the paired draws, each difference over its standard error, and step-down max-T says
which are shown at the level of the intervals, for all pairs at once. A model's rank then lies between one more than the
models shown better and the last but those shown worse: with that confidence all ranks lie in their sets (Mogstad,
Romano, Shaikh and Wilhelm 2024). Ranks of the draws themselves would not do: of equal models they cover next to never.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from steelyard.core.letters import compact_letters
from steelyard.core.metric import Metric
from steelyard.core.weights import Floats
from steelyard.engine.families import max_t
from steelyard.results.comparison import Standing


def standing(metric: Metric, values: Sequence[float], draws: Sequence[Floats], confidence: float) -> Standing | None:
    """Where the models stand in a metric, by their values and their paired draws; None where no order is better.

    A model without a value has no rank, which is written as 0.
    """
    best = {"zero": 0.0, "one": 1.0}.get(metric.better)
    known = [i for i, value in enumerate(values) if not np.isnan(value)]
    if metric.better == "none" or metric.total or len(known) < 2:
        return None
    turn = 1.0 if metric.better == "higher" else -1.0
    gain = [turn * (v if best is None else abs(v - best)) for v in values]
    drawn = [turn * (d if best is None else np.abs(d - best)) for d in draws]
    pairs = list(combinations(known, 2))
    shown = dict(
        zip(pairs, _shown([(gain[i] - gain[j], drawn[i] - drawn[j]) for i, j in pairs], confidence), strict=True)
    )
    above, below = np.zeros(len(values), dtype=int), np.zeros(len(values), dtype=int)
    for (i, j), is_shown in shown.items():
        if is_shown:
            winner, loser = (i, j) if gain[i] > gain[j] else (j, i)
            above[loser] += 1
            below[winner] += 1
    ranks = tuple((1 + int(above[i]), len(known) - int(below[i])) if i in known else (0, 0) for i in range(len(values)))
    order = sorted(known, key=lambda i: (-gain[i], i))
    letters = compact_letters(order, [pair for pair, is_shown in shown.items() if is_shown])
    groups = tuple(letters.get(i, "") for i in range(len(values))) if letters else ()
    return Standing(str(metric), ranks, confidence, groups)


def _shown(differences: Sequence[tuple[float, Floats]], confidence: float) -> list[bool]:
    """Which differences are shown not to be 0, all together; one whose draws do not vary is none."""
    centred = [(size, (draws - size).astype(np.float32)) for size, draws in differences]
    spreads = [_spread(draws) for _, draws in differences]
    tested = [k for k, spread in enumerate(spreads) if spread > 1e-12 * (1 + abs(differences[k][0]))]
    shown = [False] * len(differences)
    if tested:
        p = max_t([abs(centred[k][0]) for k in tested], [centred[k][1] for k in tested], [spreads[k] for k in tested])
        for k, one in zip(tested, p, strict=True):
            shown[k] = one <= 1 - confidence + 1e-12
    return shown


def _spread(draws: Floats) -> float:
    kept = draws[np.isfinite(draws)]
    return float(kept.std(ddof=1)) if len(kept) > 1 else 0.0
