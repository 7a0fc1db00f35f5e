"""Which format a path is in: by its ending, its outermost element, or what a folder holds. Never by values.

A path that no built-in format takes is shown to those that other packages bring.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from steelyard.core.errors import InputError, InvalidFile, MissingFile, UnreadableFile
from steelyard.core.opening import check_readable, is_entry
from steelyard.io.formats import voc, yolo
from steelyard.io.formats.known import brought_for, names
from steelyard.io.formats.xml import root_name
from steelyard.io.text import ending, first_bytes, refuse_foreign

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
ROOTS = {"annotation": "voc", "annotations": "cvat"}


def detect(path: Path, source: str) -> str:
    """The format of a file or folder; LVIS reads as `coco` here, since only its images tell."""
    if path.is_dir():
        return _folder(path, source)
    suffix = ending(path)
    if suffix == ".json":
        return "coco"
    if suffix in TABLES:
        return "csv"
    if suffix == ".xml":
        check_readable(path, source)
        root = root_name(path)
        if root in ROOTS:
            return ROOTS[root]
        raise UnreadableFile(
            f"the root element is '{root}'" if root else "not readable as XML", where=source,
            remedy="VOC files begin with <annotation>, CVAT files with <annotations>.",
        )  # fmt: skip
    if not path.exists():
        raise MissingFile("there is no such file or folder", where=source, remedy="Check the path.")
    other = brought_for(path)
    if other:
        return other
    refuse_foreign(first_bytes(path, source), source)
    raise _unknown(source, f"'{path.suffix}' is no ending of a known format")


def _folder(path: Path, source: str) -> str:
    formats = []
    xml = list(islice(voc.files_of(path), 1))
    if xml:
        root = root_name(xml[0])
        if ROOTS.get(root) == "cvat":
            raise InvalidFile("the folder holds a CVAT file", where=source, remedy=f"Give the file itself: {xml[0]}.")
        formats.append("voc")
    if _any(yolo.files_of(path)) or (path / "labels").is_dir() or is_entry(path / yolo.SIZES):
        formats.append("yolo")
    if len(formats) == 1:
        return formats[0]
    if not formats and (other := brought_for(path)):
        return other
    if formats:
        raise _unknown(source, "the folder holds both XML and text files")
    raise _unknown(source, "the folder holds neither XML files (VOC) nor label files (YOLO)")


def _any(items: Iterable[object]) -> bool:
    return next(iter(items), None) is not None


def _unknown(source: str, what: str) -> InputError:
    return InvalidFile(what, where=source, remedy=f"Say the format; known are {', '.join(names())}.")
