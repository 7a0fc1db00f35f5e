"""Embeddings: what image retrieval has instead of lists: matrices of vectors, and labels that say what is alike."""

from __future__ import annotations

from steelyard.core.frozen import frozen
from steelyard.core.records import Records


@frozen
class Embeddings(Records):
    """One side of a retrieval by vectors.

    Predictions have the columns `query` and, unless the queries search among themselves, `gallery`: matrices with a
    vector per row. Truth has `query_label` and likewise `gallery_label`. Either may have `query_id` and `gallery_id`.
    """

    def __len__(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)
