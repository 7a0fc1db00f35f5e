"""Checks of `rankings`: ids of queries and documents, and the direction of scores."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem
from steelyard.checks.ids import explain
from steelyard.core.counts import share_text
from steelyard.core.embeddings import Embeddings
from steelyard.core.pairs import Array
from steelyard.core.rankings import Rankings

CHECKS = Checks()


@CHECKS.add(
    "queries-differ", "error", "queries of another spelling: all that the run lacks count as 0",
    "Use the query ids of the truth.",
)  # fmt: skip
def queries_differ(data: CheckData) -> Problem | None:
    """Queries that do not meet."""
    coverage = None if data.pairs is None else data.pairs.coverage
    if data.quick and coverage is not None and coverage.missing < 0.2 * coverage.truth:
        return None
    run = data.prediction
    if not isinstance(data.truth, Rankings) or not isinstance(run, Rankings):
        return None
    run_queries = list(run.nested) if run.nested is not None else run.queries.tolist()
    return explain("query", [str(v) for v in data.truth.queries.tolist()], [str(v) for v in run_queries])


@CHECKS.add(
    "documents-differ", "error", "documents of another spelling: none is relevant",
    "Use the document ids of the truth.",
)  # fmt: skip
def documents_differ(data: CheckData) -> Problem | None:
    """Relevant documents of which the run has hardly any, and would have under another spelling."""
    pairs, run = data.pairs, data.prediction
    if pairs is None or not isinstance(run, Rankings) or not len(pairs.rank):
        return None
    asked = pairs.relevance > 0
    if asked.sum() < 5 or np.mean(pairs.rank[asked] > 0) > 0.05:
        return None
    truth = [pairs.truth.documents[int(row)] for row in pairs.row[asked][:5000]]
    if run.nested is not None:
        run_documents = [str(doc) for query in list(run.nested)[:200] for doc in run.nested[query]]
    else:
        run_documents = [run.documents[row] for row in range(min(len(run.documents), 20_000))]
    return explain("document", truth, run_documents)


def _distinct(owner: Array) -> int:
    """How many units own rows, which stand unit by unit."""
    return int(np.count_nonzero(np.diff(owner, prepend=-1)))


@CHECKS.add("scores-reversed", "error", "the lower score is the better one: distances, or ranks", "Negate the scores.")
def scores_reversed(data: CheckData) -> Problem | None:
    """Relevant documents that stand at the end of their lists."""
    pairs = data.pairs
    if pairs is None or not len(pairs.rank):
        return None
    length = pairs.retrieved[pairs.owner]
    there = (pairs.rank > 0) & (length >= 5)
    good, bad = there & (pairs.relevance > 0), there & (pairs.relevance <= 0)
    place = (pairs.rank - 0.5) / np.maximum(length, 1)
    queries = _distinct(pairs.owner[good])
    if queries < 10 or good.sum() < FEW:
        return None
    mean = float(place[good].mean())
    first = float(np.mean(1 / pairs.rank[good]))
    last = float(np.mean(1 / (length[good] + 1 - pairs.rank[good])))
    if mean < 0.5 + max(0.1, 1.5 / np.sqrt(good.sum())) or last < 1.5 * first:
        return None
    if bad.sum() >= FEW and float(place[bad].mean()) > mean:
        return None
    return Problem(
        f"Relevant documents stand {mean:.0%} down their lists on the mean: nearer to the end than to the top.",
        int(good.sum()), int(there.sum()), tuple(f"query '{pairs.units[u]}'" for u in np.unique(pairs.owner[good])[:3]),
    )  # fmt: skip


@CHECKS.add(
    "scores-equal",
    "warning",
    "all scores of a list are equal: ids alone make the ranking",
    "Write the scores, not the places.",
)
def scores_equal(data: CheckData) -> Problem | None:
    """Lists in which no score differs from another."""
    run = data.prediction
    if not isinstance(run, Rankings) or run.nested is not None or len(run.starts) < 2 or not len(run.values):
        return None
    starts = run.starts[:-1][np.diff(run.starts) > 1]
    if not len(starts):
        return None
    low, high = np.minimum.reduceat(run.values, run.starts[:-1]), np.maximum.reduceat(run.values, run.starts[:-1])
    flat = (low == high) & (np.diff(run.starts) > 1)
    if flat.sum() <= 0.2 * len(starts):
        return None
    return Problem(
        f"In {flat.sum()} of {len(starts)} lists all scores are equal.", int(flat.sum()), len(starts),
        tuple(f"query '{run.queries[q]}'" for q in np.flatnonzero(flat)[:3]),
    )  # fmt: skip


@CHECKS.add(
    "repeated-documents", "error", "a document twice in a list: refused here, counted twice elsewhere",
    "Write each document once for a query.", quick=False,
)  # fmt: skip
def repeated_documents(data: CheckData) -> Problem | None:
    """Documents that appear more than once in the list of a query."""
    run = data.prediction
    if not isinstance(run, Rankings) or run.nested is not None or not len(run.values):
        return None
    query = np.repeat(np.arange(len(run.starts) - 1), np.diff(run.starts))
    order = np.lexsort((run.documents.key, query))
    key = run.documents.key[order]
    twice = np.flatnonzero((query[order][1:] == query[order][:-1]) & (key[1:] == key[:-1]))
    if not len(twice):
        return None
    rows = np.sort(order[twice + 1])
    return Problem(
        "Documents appear more than once in the list of a query.", len(rows), len(run),
        tuple(f"{run.where(int(row))}: document '{run.documents[int(row)]}'" for row in rows[:3]),
    )  # fmt: skip


@CHECKS.add(
    "copies-of-truth",
    "warning",
    "a run of the judged documents with their relevance as scores",
    "Is this the run of a model?",
)
def copies(data: CheckData) -> Problem | None:
    """Lists that hold the judged documents and no other, in the order of their relevance."""
    pairs, run = data.pairs, data.prediction
    if pairs is None or not isinstance(run, Rankings) or run.nested is not None or len(pairs.units) < 10:
        return None
    judged = np.bincount(pairs.owner, minlength=len(pairs.units))
    if not (pairs.rank > 0).all() or (judged != pairs.retrieved).any() or len(np.unique(pairs.relevance)) < 2:
        return None
    values = np.sort(run.values)
    if len(values) != len(pairs.relevance) or (values != np.sort(pairs.relevance)).any():
        return None
    return Problem(
        "The run holds the judged documents alone, and its scores are their relevance.", len(values), len(values),
        tuple(f"query '{name}'" for name in pairs.units[:3]),
    )  # fmt: skip


@CHECKS.add(
    "constant", "warning", "every query has the same list", "Are these the answers to the queries?", quick=False
)
def constant(data: CheckData) -> Problem | None:
    """Lists whose first document is one and the same."""
    run = data.prediction
    if not isinstance(run, Rankings) or run.nested is not None or len(run.queries) < FEW:
        return None
    begin, end = run.starts[:-1], run.starts[1:]
    tops = [
        run.documents.key[a + int(np.argmax(run.values[a:b]))] for a, b in zip(begin, end, strict=True) if b > a + 2
    ]
    if len(tops) < FEW:
        return None
    _, counts = np.unique(np.array(tops), return_counts=True)
    if counts.max() < 0.9 * len(tops):
        return None
    return Problem(
        f"{share_text(int(counts.max()), len(tops), 'list', 'have')} the same document on top.",
        int(counts.max()),
        len(tops),
    )


@CHECKS.add(
    "cameras-differ",
    "warning",
    "no query shares a camera with the gallery: the camera rule takes nothing out",
    "Use the same camera ids on both sides.",
)
def cameras_differ(data: CheckData) -> Problem | None:
    """Cameras with other ids in the queries than in the gallery."""
    names = ("query_camera", "gallery_camera")
    if not isinstance(data.truth, Embeddings) or not all(name in data.truth for name in names):
        return None
    query, gallery = ({str(value).strip() for value in data.truth[name].tolist()} for name in names)
    if query & gallery:
        return None
    many = len(data.truth["query_camera"])
    shown = f"{', '.join(sorted(query)[:3])} and {', '.join(sorted(gallery)[:3])}"
    return Problem(f"Cameras of queries and gallery have no id in common: {shown}.", many, many)
