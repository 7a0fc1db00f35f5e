"""Units that go together though nobody said so: a design effect from what each unit moves, and a warning.

Images of one video are alike. Drawn one by one they count as if they were not, and the interval is too narrow. Kish's
design effect says by how much the variance is too small: the squared sums of influences by group over those by unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.core.block import MomentsBlock, SumBlock
from steelyard.core.by_group import AnsweredBlock
from steelyard.core.counts import count_text
from steelyard.core.metric import Metric
from steelyard.core.plan import MOST_LEFT_OUT
from steelyard.core.request import Request
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader
from steelyard.core.task import Task
from steelyard.core.weights import Array, Floats, LeaveOneOut
from steelyard.results.score import ClusterVariance

SHUFFLES = 99
FIRST_SHUFFLES = 19
GLARING = 8  # standard deviations of the first shuffles
LEAST_EFFECT = 1.2
LEAST_GROUPS = 5
SHARE = 60  # squared units of a sample per unit of the data: about 3 % of what the draws cost
DENSE_UNITS = 5000


def together_notes(
    task: Task,
    request: Request,
    metrics: Sequence[Metric],
    states: Sequence[State],
    leave_one_out: Sequence[Totals | None],
) -> tuple[str, ...]:
    """A warning where units of one group go together. For two states it is about their difference.

    The first metric that has a value is asked. `leave_one_out` are the jackknives of the states, where they were made.
    """
    units = states[0].units
    if request.confidence is None or units.cluster is not None or units.deduplicated or units.n_resampled < 2:
        return ()
    candidates = {name: np.unique(keys, return_inverse=True)[1] for name, keys in units.groups.items()}
    worst, which = 0.0, ""
    for name, code in candidates.items():
        if not LEAST_GROUPS <= code.max(initial=-1) + 1 < len(units):
            continue
        effect = _effect(metrics, states, leave_one_out, code, request.seed)
        if effect > worst:
            worst, which = effect, name
    if not which:
        return ()
    those = count_text(2, task.unit).partition(" ")[2]
    return (
        f"{those[0].upper()}{those[1:]} of one {which} go together (design effect {worst:.1f}): intervals are about "
        f"{math.sqrt(worst):.1f} times too narrow. Resample by '{which}' (cluster).",
    )


def _effect(
    metrics: Sequence[Metric], states: Sequence[State], leave_one_out: Sequence[Totals | None], code: Array, seed: int
) -> float:
    """The design effect of groups, where it is large and no chance; else 0."""
    for metric in metrics:
        if metric.total:
            continue
        taken = _influences(metric, states, leave_one_out, code)
        if taken is None:
            continue
        u, mine = taken
        effect = design_effect(u, mine)
        return effect if effect > LEAST_EFFECT and not _by_chance(u, mine, effect, seed) else 0.0
    return 0.0


def design_effect(u: Floats, code: Array) -> float:
    """The squared sums of influences by group over the squared influences; 0 where nothing moves."""
    second = float((u**2).sum())
    return float((np.bincount(code, weights=u) ** 2).sum()) / second if second > 0 else 0.0


def cluster_variance(metric: Metric, states: Sequence[State]) -> ClusterVariance | None:
    """The variance of a difference between and within clusters; None where single units cannot be left out.

    A difference of distances from the best value has the influences of these. Of many units some whole clusters are
    taken.
    """
    units = states[0].units
    if units.cluster is None or units.deduplicated:
        return None
    code = units.drawn_as[1]
    wanted = [each.ranking if isinstance(each, RankingReader) else each for each in metric.requirements()]
    if any(isinstance(state.blocks[statistic], AnsweredBlock) for state in states for statistic in wanted):
        return None
    chosen = np.arange(len(code)) if len(code) <= MOST_LEFT_OUT else _some_groups(code, MOST_LEFT_OUT)
    parts = [state.take(chosen) for state in states]
    values = [Totals(part, LeaveOneOut(part.units.plain)).of(metric) for part in parts]
    best = {"zero": 0.0, "one": 1.0}.get(metric.better)
    if best is not None:
        values = [np.abs(one - best) for one in values]
    moved = values[1] - values[0]
    usable = (units.own[chosen] > 0) & ~np.isnan(moved)
    psi, group = (len(moved) - 1) * moved[usable], np.unique(code[chosen][usable], return_inverse=True)[1].reshape(-1)
    return one_way(psi, group, units.n_resampled)


def one_way(psi: Floats, group: Array, clusters: int) -> ClusterVariance | None:
    """The one-way analysis of variance of influences by cluster, as parts of the variance of so many clusters.

    None where there are fewer than two clusters, or no cluster has two units.
    """
    size = np.bincount(group).astype(np.float64)
    n, count = len(psi), len(size)
    if count < 2 or n <= count:
        return None
    means = np.bincount(group, weights=psi) / size
    between = float((size * (means - psi.mean()) ** 2).sum()) / (count - 1)
    within = float(((psi - means[group]) ** 2).sum()) / (n - count)
    each = (n - float((size**2).sum()) / n) / (count - 1)
    return ClusterVariance(max(0.0, (between - within) / each) / clusters, within / (each * clusters), clusters, each)


def _by_chance(u: Floats, code: Array, effect: float, seed: int) -> bool:
    """Whether influences that are dealt out at random go together as much, once in so many times.

    What is far above the first shuffles needs no more of them.
    """
    rng = np.random.default_rng([seed, len(u)])
    dealt: list[float] = []
    for _ in range(SHUFFLES):
        dealt.append(design_effect(rng.permutation(u), code))
        if dealt[-1] >= effect:
            return True
        if len(dealt) == FIRST_SHUFFLES and effect > np.mean(dealt) + GLARING * np.std(dealt):
            return False
    return False


def _influences(
    metric: Metric, states: Sequence[State], leave_one_out: Sequence[Totals | None], code: Array
) -> tuple[Floats, Array] | None:
    """What each unit moves, and its group: of all units, or of some groups where that would take long."""
    weighted = states[0].units.own > 0
    if len(weighted) <= MOST_LEFT_OUT and all(one is not None for one in leave_one_out):
        values = [one.of(metric) for one in leave_one_out if one is not None]
    else:
        wanted = [each.ranking if isinstance(each, RankingReader) else each for each in metric.requirements()]
        blocks = [state.blocks[statistic] for state in states for statistic in wanted]
        if any(isinstance(block, AnsweredBlock) for block in blocks):
            return None
        dense = all(isinstance(block, SumBlock | MomentsBlock) for block in blocks)
        most = DENSE_UNITS if dense else min(MOST_LEFT_OUT, int(math.sqrt(SHARE * len(weighted))))
        chosen = _some_groups(code, most)
        if len(np.unique(code[chosen])) < LEAST_GROUPS:
            return None
        code, weighted = code[chosen], weighted[chosen]
        parts = [state.take(chosen) for state in states]
        values = [Totals(part, LeaveOneOut(part.units.plain)).of(metric) for part in parts]
    moved = values[0] if len(values) == 1 else values[1] - values[0]
    weighted = weighted & ~np.isnan(moved)
    if weighted.sum() < 2:
        return None
    return moved[weighted] - moved[weighted].mean(), np.unique(code[weighted], return_inverse=True)[1].reshape(-1)


def _some_groups(code: Array, most: int) -> Array:
    """Rows of whole groups, as many as fit. Groups are numbered by their keys, which are in no order of the data."""
    size = np.bincount(code)
    return np.flatnonzero((np.cumsum(size) <= most)[code])
