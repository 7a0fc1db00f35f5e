"""COCO files that are read into columns, and become dicts only when somebody looks at them."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard import _native
from steelyard.compat.pycocotools.sides import Columns
from steelyard.core.errors import InvalidFile

_FIRST = 1 << 16  # bytes in which the first record of a file of results is expected


@contextmanager
def many_objects() -> Iterator[None]:
    """Put off the collector of cycles while many objects are made that all stay: it would walk them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_json(path: Any) -> Any:
    """The contents of a JSON file as Python objects."""
    with open(path, "rb") as file:
        return _parse_json(file, path)


def _parse_json(file: Any, path: Any) -> Any:
    try:
        with many_objects():
            return json.loads(file.read().decode("utf-8"))
    except ValueError as error:
        raise InvalidFile(f"not valid JSON: {error}", where=os.fspath(path)) from None


class HeldFile:
    """A file that was read into columns. It stays open, so that its dicts can be made as long as it does not change."""

    columns: Columns

    def __init__(self, path: Any) -> None:
        self.path, self.file = path, open(path, "rb")  # noqa: SIM115
        self.stamp = self._stamp()

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    @classmethod
    def of(cls, path: Any, truth: bool) -> HeldFile | None:
        """The file, or None where only its dicts can say what the reference makes of it."""
        if os.name == "nt" or not os.path.isfile(path):  # an open file cannot be deleted on Windows
            return None
        held = cls(path)
        if not truth and not held._holds_boxes():
            return None
        try:
            read = _native.coco_read(os.fspath(path), truth, 0, 0)
        except ValueError:
            return None
        if isinstance(read, tuple) or held._stamp() != held.stamp or not os.path.samestat(os.stat(path), held.status):
            return None
        columns = Columns.of_truth(read) if truth else Columns.of_results(read)
        if columns is None:
            return None
        held.columns = columns
        return held

    def _stamp(self) -> tuple[int, int]:
        self.status = os.fstat(self.file.fileno())
        return self.status.st_size, self.status.st_mtime_ns

    def _holds_boxes(self) -> bool:
        """Whether the first record has a box: it says of which kind all results are."""
        head = self.file.read(_FIRST).lstrip()
        try:
            first = json.JSONDecoder().raw_decode(head[1:].decode("utf-8", "ignore").lstrip())[0]
        except ValueError:
            return False
        return head[:1] == b"[" and isinstance(first, dict) and "caption" not in first and bool(first.get("bbox"))

    def parse(self) -> Any:
        """The contents as Python objects."""
        if self._stamp() != self.stamp:
            raise InvalidFile(
                "the file was changed after it was read, and before its annotations were looked at",
                where=os.fspath(self.path),
                remedy="Look at `dataset` or `anns` before you write the file again.",
            )
        self.file.seek(0)
        with self.file:
            return _parse_json(self.file, self.path)


class HeldList:
    """Results that are dicts of the caller's list: read when they are needed, since what is changed in them counts."""

    def __init__(self, results: list[Any]) -> None:
        self.results, self.listed = results, list(results)

    @classmethod
    def of(cls, results: Any) -> tuple[HeldList, Columns] | None:
        """Results with boxes, and their columns; None where only Python can read them."""
        if type(results) is not list or not results or type(results[0]) is not dict or "caption" in results[0]:
            return None
        read: Any = _native.result_columns(results, False)
        if read is None:
            return None
        image, category, box, score, _ = read
        return cls(results), Columns(image, category, box, score=score)

    @property
    def columns(self) -> Columns | None:
        """The columns of what the dicts hold now."""
        read: Any = _native.result_columns(self.listed, True)
        if read is None:
            return None
        image, category, box, score, area = read
        return Columns(image, category, box, area, score=score)

    def parse(self) -> list[Any]:
        """The list of the caller."""
        return self.results
