"""Runs."""

from __future__ import annotations

from collections import defaultdict
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
from steelyard.compat.ranx.data_structures.qrels import Qrels
from steelyard.core.errors import Unsupported

__all__ = ["Run", "get_file_kind"]


class Run(Ranked):
    """The scores of documents by query, and what evaluations said about them."""

    _number = float

    def __init__(self, run: Nested | None = None, name: str | None = None) -> None:
        super().__init__(run, name)
        self.metadata: dict[str, Any] = {}
        self.scores: dict[str, dict[str, float]] = defaultdict(dict)
        self.mean_scores: dict[str, Any] = {}
        self.std_scores: dict[str, Any] = {}
        self.evaluated: tuple[Nested, list[str]] | None = None  # the judgements and specs of the last evaluation

    @property
    def run(self) -> dict[str, dict[str, float]]:
        """The scores."""
        return self._values

    def make_comparable(self, qrels: Qrels) -> Run:
        """Add empty results for queries that are missing, and remove those that are not judged."""
        self._values = {query: self._values.get(query, {}) for query in qrels.qrels}
        self.sort()
        return self

    def save(self, path: str = "run.json", kind: str | None = None) -> None:
        """Write a file of JSON, TREC or Parquet, by its name."""
        if not self.sorted:
            self.sort()
        rows = self._values.items()
        self._save(
            path,
            kind,
            lambda: (
                f"{query} Q0 {document} {rank} {score} {self.name}"
                for query, row in rows
                for rank, (document, score) in enumerate(row.items(), 1)
            ),
        )

    @staticmethod
    def from_dict(d: Nested, name: str | None = None) -> Run:
        """A run from dicts."""
        return Run(d, name)

    @staticmethod
    def from_file(path: str, kind: str | None = None, name: str | None = None) -> Run:
        """A run from a file of JSON or TREC, also packed with gzip."""
        chosen = find_kind(path, kind)
        if chosen == "json":
            return Run(read_json(path), name)
        run: dict[str, dict[str, float]] = {}
        for query, _, document, _, score, tag in read_rows(path, chosen):
            run.setdefault(query, {})[document] = float(score)
            name = tag if name is None else name
        return Run(run, name)

    @staticmethod
    def from_df(
        df: Any,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        name: str | None = None,
    ) -> Run:
        """A run from a pandas data frame."""
        return Run(read_frame(df, (q_id_col, doc_id_col, score_col), "float64"), name)

    @staticmethod
    def from_parquet(
        path: str,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> Run:
        """A run from a Parquet file."""
        import pandas as pd

        return Run.from_df(pd.read_parquet(path, **(pd_kwargs or {})), q_id_col, doc_id_col, score_col, name)

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the last evaluation of this run."""
        if self.evaluated is None or not self.evaluated[1]:
            raise Unsupported(
                "this run was not evaluated by a metric that Steelyard has too",
                remedy="Call evaluate(qrels, run, metrics) first, with one of map, mrr, ndcg, precision or recall.",
            )
        truth, specs = self.evaluated
        return "rankings", {q: dict(row) for q, row in truth.items()}, dict(self.to_dict()), {"metrics": specs}
