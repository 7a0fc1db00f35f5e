"""Rows of a ranking grouped by query, whatever order they came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard import _native
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.records import Array


def grouped(
    source: str,
    place: Callable[[int], str],
    queries: Sequence[str],
    run_row: Array,
    documents: Ids,
    values: Array,
    *,
    columns: Mapping[str, Array] | None = None,
    other: Mapping[str, Array] | None = None,
    names: Mapping[str, str] | None = None,
) -> Rankings:
    """Rankings from runs of rows with the same query: `queries[i]` holds from row `run_row[i]` on.

    Most sources have each query in one piece and nothing moves; else rows are gathered in the order they had.
    """
    code: dict[str, int] = {}
    codes = np.array([code.setdefault(query, len(code)) for query in queries], dtype=np.int64)
    ends = np.append(run_row, len(values))
    order = None
    if len(code) == len(queries):
        starts = ends.astype(np.int64)
    else:
        row_code = np.repeat(codes, np.diff(ends))
        order = np.argsort(row_code, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(row_code, minlength=len(code)))]).astype(np.int64)
        documents, values = documents.take(order), values[order]
    sums = _native.ranking_sums(documents.key, values, starts)
    distinct: Array = np.empty(len(code), dtype=object)
    distinct[:] = list(code)
    return Rankings(
        source,
        dict(columns or {}),
        dict(other or {}),
        place,
        dict(names or {}),
        queries=distinct,
        starts=starts,
        documents=documents,
        values=values,
        order=order,
        content=[Content(np.diff(starts), sums)],
    )
