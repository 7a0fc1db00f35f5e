"""COCO files that are read into columns, and become dicts only when somebody looks at them."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard import _native
from steelyard.compat.pycocotools.sides import KEYS, Columns
from steelyard.core.errors import InvalidFile

_FIRST = 1 << 16  # bytes in which the first record of a file of results is expected
_WHAT = {"bbox": 0, "segmentation": 1, "keypoints": 2}  # of the native reader


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


def result_key(first: dict[str, Any]) -> str | None:
    """Where results have what they show; the first of them says so, as in the reference."""
    if "caption" in first:
        return None
    return "bbox" if first.get("bbox") else next((key for key in ("segmentation", "keypoints") if key in first), None)


class HeldFile:
    """A file that was read into columns. It stays open, so that its dicts can be made as long as it does not change."""

    columns: Columns

    def __init__(self, path: Any, truth: bool) -> None:
        self.path, self.truth, self.file = path, truth, open(path, "rb")  # noqa: SIM115
        self.stamp = self._stamp()
        self.key = "bbox" if truth else self._first_key()
        self._by_key: dict[str, Columns | None] = {}

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    @classmethod
    def of(cls, path: Any, truth: bool) -> HeldFile | None:
        """The file, or None where only its dicts can say what the reference makes of it."""
        if os.name == "nt" or not os.path.isfile(path):  # an open file cannot be deleted on Windows
            return None
        held = cls(path, truth)
        read = None if held.key is None else held._read(held.key, truth) or held._read(held.key, False)
        columns = None if read is None else Columns.of_truth(read) if truth else Columns.of_results(read)
        if columns is None:
            return None
        held.columns = columns
        return held

    def columns_of(self, kind: str) -> Columns | None:
        """The columns that an evaluation of this kind needs; None where it needs the dicts."""
        key = KEYS[kind]
        if key == self.key:
            return self.columns
        if self.truth and key == "keypoints":
            return self.columns if self.columns.points is not None else None
        if self.key != "bbox":
            return None
        if key not in self._by_key:
            read = self._read(key)
            self._by_key[key] = None if read is None else self.columns.with_shapes(read)
        return self._by_key[key]

    def _read(self, key: str, beside: bool = False) -> dict[str, Any] | None:
        """What the native reader makes of the file; None where it refuses it, or where the file was replaced.

        `beside` boxes of the truth, keypoints are read where every annotation has some.
        """
        compact = beside or key != "bbox"
        try:
            read: Any = _native.coco_read(os.fspath(self.path), self.truth, 0, _WHAT[key], None, None, compact)
            same = self._stamp() == self.stamp and os.path.samestat(os.stat(self.path), self.status)
        except (OSError, ValueError):
            return None
        return None if isinstance(read, tuple) or not same else read

    def _stamp(self) -> tuple[int, int]:
        self.status = os.fstat(self.file.fileno())
        return self.status.st_size, self.status.st_mtime_ns

    def _first_key(self) -> str | None:
        """What the first record has: it says of which kind all results are."""
        head = self.file.read(_FIRST).lstrip()
        try:
            first = json.JSONDecoder().raw_decode(head[1:].decode("utf-8", "ignore").lstrip())[0]
        except ValueError:
            return None
        return result_key(first) if head[:1] == b"[" and isinstance(first, dict) else None

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

    def __init__(self, results: list[Any], key: str) -> None:
        self.results, self.listed, self.key = results, list(results), key

    @classmethod
    def of(cls, results: Any) -> tuple[HeldList, Columns] | None:
        """Results with boxes or masks, and their columns; None where only Python can read them."""
        if type(results) is not list or not results or type(results[0]) is not dict:
            return None
        key = result_key(results[0])
        if key not in ("bbox", "segmentation"):
            return None
        held = cls(results, key)
        columns = held._columns(complete=False)
        return None if columns is None else (held, columns)

    def columns_of(self, kind: str) -> Columns | None:
        """The columns of what the dicts hold now."""
        return self._columns(complete=True) if KEYS[kind] == self.key else None

    def _columns(self, complete: bool) -> Columns | None:
        read: Any = _native.result_columns(self.listed, complete, self.key == "bbox")
        if read is None:
            return None
        image, category, box, score, area = read
        columns = Columns({"image": image, "label": category, "box": box, "score": score, "area": area})
        if complete and self.key == "segmentation":
            try:
                columns.masks = _native.mask_column([result["segmentation"] for result in self.listed])
            except (KeyError, ValueError):
                return None
        return columns

    def parse(self) -> list[Any]:
        """The list of the caller."""
        return self.results
