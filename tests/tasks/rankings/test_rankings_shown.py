"""The list of judged documents and the pictures of a report of rankings, whole, by hand."""

from __future__ import annotations

import numpy as np
from support.shown import check_figure, check_listing

import steelyard as sy

# Of q1, b stands first and a second; c is not found. Of q2, d is found and not relevant; e is neither.
TRUTH = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 0, "e": 0, "f": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.5}, "q2": {"d": 0.4, "f": 0.3}}


def report(*metrics: str) -> sy.Report:
    return sy.evaluate("rankings", TRUTH, RUN, list(metrics), confidence=None)


def test_judged_documents() -> None:
    """Query by query in the order of the list, and behind it what the list does not have."""
    columns = {
        "query": ["q1", "q1", "q1", "q2", "q2", "q2"],
        "document": ["b", "a", "c", "d", "f", "e"],
        "relevance": [0, 2, 1, 0, 1, 0],
        "rank": [1, 2, np.nan, 1, 2, np.nan],
        "outcome": ["found, not relevant", "found", "not found", "found, not relevant", "found", "not relevant"],
    }
    check_listing(report("mrr").listing(), ("documents", "Judged documents"), columns, "outcome", "rank")


def test_scores_by_depth() -> None:
    """Both queries have their first relevant document at rank 2; q1 has two, of gains 2 and 1."""
    discount = 1 / np.log2(3)
    gains = (2 * discount / (2 + discount) + discount) / 2
    check_figure(
        report("mrr").figure("depth"),
        ("depth", "curves", "Scores by depth"),
        {
            "series": [name for name in ("nDCG", "recall", "precision", "hit rate") for _ in range(2)],
            "x": [1, 2] * 4,
            "y": [0, gains, 0, 3 / 4, 0, 1 / 2, 0, 1],
        },
        {"x": "first k documents", "y": "mean over queries", "ticks": [1, 2], "points": True},
        "What a reader has who looks at the first k. The axis of k is logarithmic.",
    )


def test_query_by_query() -> None:
    """Recall of the first two is 1/2 of q1 and 1 of q2."""
    check_figure(
        report("recall@2").figure("queries"),
        ("queries", "bars", "Recall at 2, query by query"),
        {"name": ["q1", "q2"], "value": [0.5, 1]},
        {"x": "Recall at 2"},
        "The worst first.",
    )
