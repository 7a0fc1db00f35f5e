"""Rankings as plain rows, so that batches of them are gathered as any other rows are."""

from __future__ import annotations

import numpy as np

from steelyard.align.rankings import as_rankings, unfolded
from steelyard.core.embeddings import Embeddings
from steelyard.core.errors import Unsupported
from steelyard.core.rankings import Rankings
from steelyard.core.records import Array, Records, as_object

NUMBER = ("relevance", "score")


def is_ranked(records: Records) -> bool:
    """Whether the records have a shape of rankings."""
    return isinstance(records, Rankings | Embeddings)


def as_rows(records: Records, key: tuple[str, ...]) -> Records:
    """Query, document and number as columns, in the order of the source inside each query."""
    if isinstance(records, Embeddings):
        raise Unsupported(
            "embeddings are searched as a whole and cannot be gathered batch by batch",
            where=records.source,
            remedy="Give them to evaluate() at once, or gather lists of query, document and score.",
        )
    if not isinstance(records, Rankings):
        return records
    side = unfolded(records)
    query, document = key
    moved = slice(None) if side.order is None else side.order
    columns = {
        query: np.repeat(side.queries, np.diff(side.starts)),
        document: as_object([side.documents[row] for row in range(len(side.documents))]),
        "value": side.values,
        **{name: column[moved] for name, column in side.columns.items()},
    }
    return Records(
        side.source,
        columns,
        {name: column[moved] for name, column in side.other.items()},
        lambda row: side.where(int(row)),
        side.names,
    )


def ranked_again(records: Records, key: tuple[str, ...]) -> Rankings:
    """The shape that rankings are joined in."""
    columns: dict[str, Array] = {name: column for name, column in records.columns.items() if name != "value"}
    columns["score"] = records["value"] if "value" in records else np.zeros(0)
    for name in key:
        columns[name] = as_object([str(value) for value in records[name].tolist()])
    return as_rankings(Records(records.source, columns, records.other, records.place, records.names), (key[0], key[1]))
