"""Judgements."""

from __future__ import annotations

from typing import Any

from steelyard.compat.ranx.data_structures.nested import (
    Nested,
    Ranked,
    find_kind,
    get_file_kind,
    read_frame,
    read_json,
    read_rows,
)

__all__ = ["Qrels", "get_file_kind"]


class Qrels(Ranked):
    """The relevance of documents by query."""

    _number = int

    def __init__(self, qrels: Nested | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements."""
        return self._values

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """Lower all judgements, so that this level becomes 1."""
        for row in self._values.values():
            for document in row:
                row[document] -= rel_lvl - 1

    def save(self, path: str = "qrels.json", kind: str | None = None) -> None:
        """Write a file of JSON, TREC or Parquet, by its name."""
        rows = self._values.items()
        self._save(path, kind, lambda: (f"{q} 0 {doc} {value}" for q, row in rows for doc, value in row.items()))

    @staticmethod
    def from_dict(d: Nested) -> Qrels:
        """Judgements from dicts."""
        return Qrels(d)

    @staticmethod
    def from_file(path: str, kind: str | None = None) -> Qrels:
        """Judgements from a file of JSON or TREC, also packed with gzip."""
        chosen = find_kind(path, kind)
        if chosen == "json":
            return Qrels(read_json(path))
        qrels: dict[str, dict[str, int]] = {}
        for query, _, document, relevance in read_rows(path, chosen):
            qrels.setdefault(query, {})[document] = int(relevance)
        return Qrels(qrels)

    @staticmethod
    def from_df(df: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score") -> Qrels:
        """Judgements from a pandas data frame."""
        return Qrels(read_frame(df, (q_id_col, doc_id_col, score_col), "int64"))

    @staticmethod
    def from_parquet(
        path: str,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None,
    ) -> Qrels:
        """Judgements from a Parquet file."""
        import pandas as pd

        return Qrels.from_df(pd.read_parquet(path, **(pd_kwargs or {})), q_id_col, doc_id_col, score_col)
