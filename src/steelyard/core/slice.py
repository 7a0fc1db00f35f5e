"""Names of slices. One column or value is a text; several crossed are a tuple of texts, so that no comma can confuse.

report.slices["food"]["rice"]["mae"]
report.slices["food", "cut"]["rice", "a, b"]["mae"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_IN_FILE = re.compile(r"(?<=.)@.+\.(csv|tsv|jsonl|ndjson|json|parquet|pq|xlsx)(\.gz|#.*)?$", re.IGNORECASE | re.DOTALL)
Slice = str | tuple[str, ...]


def slice_key(parts: Sequence[str]) -> Slice:
    """The key for some columns, or for their values."""
    return parts[0] if len(parts) == 1 else tuple(parts)


def slice_parts(key: Slice) -> tuple[str, ...]:
    """The columns or values of a key."""
    return (key,) if isinstance(key, str) else tuple(key)


def slice_heading(by: Slice, between: str = ", ") -> str:
    """The columns of a key for a heading or a file's name: of COLUMN@FILE the column alone."""
    return between.join(_IN_FILE.sub("", part) for part in slice_parts(by))


def slice_text(key: Slice, between: str = ", ") -> str:
    """What a reader sees."""
    return between.join(slice_parts(key))
