"""What judgements and runs have in common: numbers by query and document, in the order of ids and falling numbers."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from steelyard.core.errors import Unsupported

Nested = Mapping[str, Mapping[str, float]]


class Ranked:
    """Numbers by query and document."""

    _number: Callable[[Any], Any]  # the type of the numbers

    def __init__(self, values: Nested | None, name: str | None) -> None:
        number = self._number
        self._values: dict[str, dict[str, Any]] = {
            query: dict(zip(row, map(number, row.values()), strict=True)) for query, row in (values or {}).items()
        }
        self.sorted = False
        if values is not None:
            self.sort()
        self.name = name

    def keys(self) -> Any:
        """The ids of queries."""
        return self._values.keys()

    def add_score(self, q_id: str, doc_id: str, score: float) -> None:
        """Set the number of a document."""
        self._values.setdefault(q_id, {})[doc_id] = self._number(score)
        self.sorted = False

    def add(self, q_id: str, doc_ids: Sequence[str], scores: Sequence[float]) -> None:
        """Set the documents of a query."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Sequence[str], doc_ids: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> None:
        """Set the documents of several queries."""
        for query, documents, row in zip(q_ids, doc_ids, scores, strict=True):
            self._values[query] = dict(zip(documents, map(self._number, row), strict=True))
        self.sort()

    def get_query_ids(self) -> list[str]:
        """The ids of queries as a list."""
        return list(self._values)

    def get_doc_ids_and_scores(self) -> list[dict[str, Any]]:
        """The documents of each query."""
        return list(self._values.values())

    def sort(self) -> None:
        """Order queries by id, and the documents of each by falling numbers; equal ones stay in order."""
        self._values = {
            query: dict(sorted(self._values[query].items(), key=itemgetter(1), reverse=True))
            for query in sorted(self._values)
        }
        self.sorted = True

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The numbers as dicts."""
        return defaultdict(dict, {query: dict(row) for query, row in self._values.items()})

    def to_dataframe(self) -> Any:
        """A pandas data frame with the columns `q_id`, `doc_id` and `score`."""
        import pandas as pd

        rows = [(query, document, value) for query, row in self._values.items() for document, value in row.items()]
        names = ("q_id", "doc_id", "score")
        return pd.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(names)})

    def _save(self, path: str, kind: str | None, lines: Callable[[], Iterable[str]]) -> None:
        chosen = find_kind(path, kind)
        if chosen == "json":
            text = json.dumps(self._values, indent=2, ensure_ascii=False)
            Path(path).write_text(text, encoding="utf-8")
        elif chosen == "parquet":
            self.to_dataframe().to_parquet(path, index=False)
        else:
            rows = "\n".join(lines()).encode()
            Path(path).write_bytes(gzip.compress(rows, mtime=0) if chosen == "gz" else rows)

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self._values)

    def __getitem__(self, q_id: str) -> dict[str, Any]:
        return dict(self._values[q_id])

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        rows = (f"{query}: {_braces(row)}" for query, row in self._values.items())
        return "{" + ", ".join(rows) + "}"

    __repr__ = __str__


def _braces(row: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{document}: {value}" for document, value in row.items()) + "}"


def get_file_kind(path: str = "run.json", kind: str | None = None) -> str:
    """The kind of a file, by its name if it is not given."""
    ending = str(path).rpartition(".")[2]
    chosen = kind or {"txt": "trec", "parq": "parquet"}.get(ending, ending)
    if chosen not in ("json", "trec", "lz4", "gz", "parquet"):
        raise AssertionError("Error `kind` must be 'json', 'trec', 'lz4', 'gz', or 'parquet'")
    return chosen


def find_kind(path: str, kind: str | None) -> str:
    """The kind of a file that is read or written."""
    chosen = get_file_kind(path, kind)
    if chosen == "lz4":
        raise Unsupported(
            f"'{path}' is an LZ4 file, which the drop-in for ranx does not read or write",
            remedy="Use a file of TREC, JSON or Parquet.",
        )
    return chosen


def read_rows(path: str, kind: str) -> list[list[str]]:
    """The cells of a TREC file."""
    with gzip.open(path, "rt", encoding="utf-8") if kind == "gz" else Path(path).open(encoding="utf-8") as file:
        return [line.split() for line in file]


def read_json(path: str) -> Any:
    """The content of a JSON file."""
    return json.loads(Path(path).read_bytes())


def read_frame(frame: Any, columns: tuple[str, str, str], number: str) -> dict[str, dict[str, Any]]:
    """The rows of a data frame by query and document."""
    query, document, score = columns
    for name, what in ((query, "Query"), (document, "Document")):
        if str(frame[name].dtype) not in ("object", "str", "string"):
            raise AssertionError(f"DataFrame {what} IDs column dtype must be `object` (string)")
    if str(frame[score].dtype) != number:
        raise AssertionError(f"DataFrame scores column dtype must be `{number[:-2]}`")
    rows: dict[str, dict[str, Any]] = {}
    for q_id, doc_id, value in zip(*(frame[name].tolist() for name in columns), strict=True):
        rows.setdefault(q_id, {})[doc_id] = value
    return rows
