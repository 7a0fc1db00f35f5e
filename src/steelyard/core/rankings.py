"""Rankings: one side of a ranking (judgements, or a run), grouped by query, with ids as flat columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.records import Array, Records, as_object


class Ids(Frozen):
    """Ids as one text, a place for each id (where it begins, times 65,536, plus its length), and 64-bit keys."""

    text: Array
    place: Array
    key: Array

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, row: int) -> str:
        begin, size = divmod(int(self.place[row]), 1 << 16)
        return bytes(self.text[begin : begin + size]).decode("utf-8", "replace")

    def take(self, rows: Array) -> Ids:
        """Some of the ids, over the same text."""
        return Ids(self.text, self.place[rows], self.key[rows])

    @staticmethod
    def none() -> Ids:
        """No ids."""
        return Ids(np.zeros(0, np.uint8), np.zeros(0, np.uint64), np.zeros(0, np.uint64))


class Content(Frozen):
    """What a digest is made of: the number of rows of each query, and a sum of their hashes."""

    rows: Array
    sums: Array


class Rankings(Records):
    """Rows of query, document and number (relevance or score), grouped by query.

    `queries` are the queries in the order of their first row and `starts` where each begins; `documents` and `values`
    hold the rows. `order` gives the row that each was in the source, where grouping moved them. `nested` is a run that
    lies in memory as {query: {document: score}} and is read only when it is joined; then rows are not held here.
    """

    queries: Array = field(default_factory=lambda: np.zeros(0, object))
    starts: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    documents: Ids = field(default_factory=Ids.none)
    values: Array = field(default_factory=lambda: np.zeros(0))
    order: Array | None = None
    nested: Mapping[str, Mapping[str, Any]] | None = None
    content: list[Content] = field(default_factory=list)  # one, as soon as the rows have been read

    def __len__(self) -> int:
        if self.nested is not None:
            return sum(map(len, self.nested.values()))
        return len(self.values)

    def source_row(self, row: int) -> int:
        """The row in the source of a grouped row."""
        return int(row if self.order is None else self.order[row])

    def where(self, row: int, column: str = "") -> str:
        """Where a grouped row stands, for a message."""
        place = self.place(self.source_row(row))
        return f"{place}, column '{self.names.get(column, column)}'" if column else place

    def query_of(self, row: int) -> str:
        """The query that a grouped row belongs to."""
        return str(self.queries[int(np.searchsorted(self.starts, row, side="right")) - 1])

    def digest(self) -> str:
        """A hash of the contents that were scored: the same whatever the format and the order of rows.

        SHA-256 over the queries, each with its number of rows and the sum of 64-bit hashes of its rows.
        """
        import hashlib  # slow to load: nothing needs it before data are read

        content = self.content[0]
        names = self.queries.tolist()
        order = sorted(range(len(names)), key=names.__getitem__)
        total = hashlib.sha256("\x1f".join(names[i] for i in order).encode("utf-8", "surrogatepass"))
        total.update(np.ascontiguousarray(content.rows[order], dtype="<i8").data)
        total.update(np.ascontiguousarray(content.sums[order], dtype="<u8").data)
        return f"sha256-rows:{total.hexdigest()}"

    @staticmethod
    def from_runs(
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
        ends = np.append(run_row, len(values)).astype(np.int64)
        starts, order = ends, None
        if len(code) < len(queries):
            row_code = np.repeat(codes, np.diff(ends))
            order = np.argsort(row_code, kind="stable")
            starts = np.append(0, np.cumsum(np.bincount(row_code, minlength=len(code)))).astype(np.int64)
            documents, values = documents.take(order), values[order]
        return Rankings(
            source,
            dict(columns or {}),
            dict(other or {}),
            place,
            dict(names or {}),
            queries=as_object(list(code)),
            starts=starts,
            documents=documents,
            values=values,
            order=order,
        )
