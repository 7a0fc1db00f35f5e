"""Why other tools say another MOTA: one rule at a time, on these data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.explanation import Explanation, Step
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.tasks.shared.tools import find_tools
from steelyard.tasks.tracking.pairs import TrackPairs
from steelyard.tasks.tracking.statistics import Tracked, kept, tracked

TOOLS = {"py-motmetrics": "1.4.0", "trackeval": "1.3.0"}


def explain(pairs: TrackPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    work = SharedCache()
    return tuple(
        _motmetrics(pairs, work) if name == "py-motmetrics" else _trackeval(pairs, work)
        for name in find_tools(names, TOOLS)
    )


def _numbers(clear: Array, *, distance: bool = False) -> dict[str, float]:
    """What is shown of counts by run, all classes summed."""
    tp, fn, fp, similarity, idsw, _, mt = clear.sum(axis=0)[:7].tolist()
    truths = tp + fn
    motp = similarity / tp if tp else np.nan
    return {
        "mota": (tp - fp - idsw) / truths if truths else np.nan,
        "motp": 1 - motp if distance else motp,
        "idsw": idsw,
        "mt": mt,
    }


def _motmetrics(pairs: TrackPairs, cache: SharedCache) -> Explanation:
    ours, theirs = tracked(pairs, cache), tracked(pairs, cache, last_match=True)
    plain, all_rules = _numbers(ours.clear), _numbers(theirs.clear, distance=True)
    keeps = {**_numbers(theirs.clear), "mt": plain["mt"]}
    steps = (
        Step(
            "which pair goes on", "that of the last frame with both sides", "that of the last match, however long ago",
            "A track that is lost takes its old name again where it still fits, before others are paired.", keeps,
        ),
        Step(
            "mostly tracked", "more than 80 % of the frames", "at least 80 %",
            "A track at exactly 80 % is counted.", {**plain, "mt": _at_least(pairs, cache, ours)},
        ),
        Step(
            "motp", "a similarity", "a distance", "It prints 1 - IoU: lower is better.",
            {**plain, "motp": 1 - plain["motp"]},
        ),
    )  # fmt: skip
    return Explanation(
        "py-motmetrics", TOOLS["py-motmetrics"], plain, steps, all_rules,
        (
            "It takes nothing out before scoring: these numbers are of the rows that are left here.",
            "IoU below 0.5 counts as no pair, as here.",
            *_summed(pairs),
        ),
    )  # fmt: skip


def _summed(pairs: TrackPairs) -> tuple[str, ...]:
    """What a reader must know of the numbers where there are several classes."""
    return ("Counts of all classes are summed here: mota(over=det).",) if pairs.facts.size("class") > 1 else ()


def _at_least(pairs: TrackPairs, cache: SharedCache, ours: Tracked) -> float:
    """True tracks that are matched in 80 % of their frames or more."""
    rows = kept(pairs, cache)
    mine = np.flatnonzero(rows.scored[0])
    _, code = np.unique(rows.truth.run[mine] * (1 << 40) + rows.truth.track[mine], return_inverse=True)
    seen, matched = np.bincount(code), np.bincount(code, weights=ours.partner[mine] >= 0)
    return float(np.count_nonzero(matched / seen >= 0.8))


def _trackeval(pairs: TrackPairs, cache: SharedCache) -> Explanation:
    plain = _numbers(tracked(pairs, cache).clear)
    shown: Mapping[str, float] = {name: 0.0 if np.isnan(value) else value for name, value in plain.items()}
    return Explanation(
        "trackeval", TOOLS["trackeval"], plain, (), shown,
        (
            "Undefined numbers are printed as 0, and LocA without a match as 1.",
            "Frames of a sequence that is empty on one side are not counted, so FP per frame is higher there.",
            *_summed(pairs),
        ),
    )  # fmt: skip
