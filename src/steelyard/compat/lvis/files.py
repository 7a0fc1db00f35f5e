"""Data in memory as files, for what reads files only."""

from __future__ import annotations

import json
import os
import shutil
import weakref
from pathlib import Path
from tempfile import mkdtemp
from typing import Any


class JsonFile(os.PathLike[str]):
    """A JSON file of these data: written when its path is asked for, deleted with the object, equal if the data are."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any, name: str) -> None:
        self.data, self.name, self.path = data, name, ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonFile) and bool(self.data == other.data)

    def __fspath__(self) -> str:
        if not self.path:
            folder = mkdtemp(prefix="steelyard-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / f"{self.name}.json"
            path.write_text(json.dumps(self.data, default=_plain), encoding="utf-8")
            self.path = str(path)
        return self.path

    __str__ = __fspath__


def _plain(value: Any) -> Any:
    """Counts of masks, and NumPy's numbers and arrays, as JSON has them."""
    return value.decode("ascii") if isinstance(value, bytes) else value.tolist()
