"""Remarks that several metrics share, said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.core.counts import count_text
from steelyard.results.score import Score

_PLURAL = {"rests": "rest", "has": "have", "leaves": "leave", "is": "are"}
_MOST = 6


def merge_remarks(remarks: Iterable[str], specs: Iterable[str]) -> list[str]:
    """Each remark once: "rmse rests on ..." and "r2 rests on ..." become "rmse and r2 rest on ...".

    A remark belongs to a metric where it begins with its spec; others stay as they are, in their order.
    """
    longest_first = sorted(specs, key=len, reverse=True)
    shared: dict[str, list[str]] = {}
    for remark in dict.fromkeys(remarks):
        spec = next((name for name in longest_first if remark.startswith(f"{name} ")), "")
        shared.setdefault(remark[len(spec) :] if spec else remark, []).append(spec)
    return [_merged_remark(rest, named) for rest, named in shared.items()]


def _merged_remark(rest: str, named: list[str]) -> str:
    if len(named) == 1:
        return named[0] + rest
    verb, _, more = rest.strip().partition(" ")
    return f"{list_names(named)} {_PLURAL.get(verb, verb)} {more}"


def list_names(named: Sequence[str]) -> str:
    """The first of these, and how many more there are."""
    if len(named) == 1:
        return named[0]
    first, last = named[:-1], named[-1]
    if len(named) > _MOST:
        first, last = named[: _MOST - 1], f"{len(named) - _MOST + 1} more metrics"
    return f"{', '.join(first)} and {last}"


def rests_on(scores: Iterable[Score], unit: str) -> list[str]:
    """What scores of an open range rest on, and what may be missing, in one sentence."""
    endless = [score for score in scores if score.rests_on > 0]
    if not endless:
        return []
    first = endless[0]
    word, units = ("cluster", first.clusters) if first.clusters else (unit, first.units)
    counts = sorted({round(score.rests_on) for score in endless})
    span = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    verb = "rests" if len(endless) == 1 else "rest"
    rare = f"rarer than 1 in {count_text(round(1 / first.unseen), word)}"
    if first.unseen > 0.5:
        rare = f"of up to {100 * first.unseen:.0f} % of {count_text(2, word).partition(' ')[2]}"
    named = list_names([score.spec for score in endless])
    return [f"{named} {verb} on {span} of {count_text(units, word)}; errors {rare} may be missing here, however large."]


def largest_shares(scores: Iterable[Score], unit: str) -> list[str]:
    """Which unit makes the largest part of each score of an open range, in one sentence."""
    with_share = [score for score in scores if score.largest_share > 0]
    if not with_share:
        return []
    word = "cluster" if with_share[0].clusters else unit
    shares = [f"{score.spec} {100 * score.largest_share:.0f} % ('{score.largest_unit}')" for score in with_share]
    return [f"Largest share of one {word}: {', '.join(shares)}."]
