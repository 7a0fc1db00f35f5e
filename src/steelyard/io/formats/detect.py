"""Which format a path is in: by its ending, its outermost element, or what a folder holds. Never by values.

A path that no built-in format takes is shown to those that other packages bring.

Every format of boxes by name: those here, and those that packages bring as entry points `steelyard.formats`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path

from steelyard.core import registry
from steelyard.core.errors import InputError, InvalidFile, MissingFile, UnknownFormat, nearest
from steelyard.core.opening import check_readable, is_entry
from steelyard.io.formats import voc, yolo
from steelyard.io.formats.format import Format
from steelyard.io.formats.xml import root_name
from steelyard.io.text import ending, first_bytes, labelled_by, refuse_foreign

# One line per format: where its Format is. A module is imported when its format is first asked for.
PLACES = {
    "coco": "steelyard.io.formats.coco:FORMAT",
    "lvis": "steelyard.io.formats.coco:LVIS",
    "voc": "steelyard.io.formats.voc:FORMAT",
    "yolo": "steelyard.io.formats.yolo:FORMAT",
    "cvat": "steelyard.io.formats.cvat:FORMAT",
    "labelstudio": "steelyard.io.formats.labelstudio:FORMAT",
    "roboflow": "steelyard.io.formats.roboflow:FORMAT",
    "csv": "steelyard.io.formats.table:FORMAT",
    "dota": "steelyard.io.formats.dota:FORMAT",
    "yolo-obb": "steelyard.io.formats.obb:FORMAT",
    "hrsc": "steelyard.io.formats.hrsc:FORMAT",
    "openimages": "steelyard.io.formats.openimages:FORMAT",
}


def names() -> tuple[str, ...]:
    """The names of all formats."""
    return (*PLACES, *(name for name in registry.plugins(registry.FORMATS) if name not in PLACES))


def find_format(name: str) -> Format:
    """The format of that name, or an error that knows the nearest."""
    if name in PLACES:
        module, _, constant = PLACES[name].partition(":")
        form: Format = getattr(import_module(module), constant)
        return form
    if name in registry.plugins(registry.FORMATS):
        return registry.load(registry.FORMATS, name, Format, "format")
    raise UnknownFormat(f"there is no format '{name}'", remedy=nearest(name, names()))


def brought_for(path: Path) -> str:
    """The format of another package that takes a path, or nothing."""
    others = [name for name in registry.plugins(registry.FORMATS) if name not in PLACES]
    formats = [find_format(name) for name in others]
    return next((form.name for form in formats if form.detects is not None and form.detects(path)), "")


def ending_of(ending: str) -> str:
    """The format whose files end so, or nothing."""
    return next((name for name in names() if (own := find_format(name).ending) and own == ending), "")


YAML = (".yaml", ".yml")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
EXPORTS = ("_annotations.coco.json", "_annotations.csv")
ROOTS = {"annotation": "voc", "annotations": "cvat"}


def detect(path: Path, source: str) -> str:
    """The format of a file or folder; LVIS reads as `coco` here, since only its images tell."""
    if path.is_dir():
        return _folder(path, source)
    suffix = ending(path)
    if tool := labelled_by(path):
        return tool
    if suffix == ".json":
        return "coco"
    if suffix in TABLES:
        return "csv"
    if suffix in YAML and path.exists():
        return "yolo"
    if suffix == ".xml":
        check_readable(path, source)
        root = root_name(path)
        if root in ROOTS:
            return ROOTS[root]
        raise InvalidFile(
            f"the root element is '{root}'" if root else "not readable as XML", where=source,
            remedy="VOC files begin with <annotation>, CVAT files with <annotations>.",
        )  # fmt: skip
    if not path.exists():
        raise MissingFile("there is no such file or folder", where=source, remedy="Check the path.")
    other = brought_for(path)
    if other:
        return other
    refuse_foreign(first_bytes(path, source), source)
    raise _unknown(source, f"'{path.suffix}' is not the extension of a supported format")


def _folder(path: Path, source: str) -> str:
    for name in EXPORTS:
        if is_entry(path / name):
            raise InvalidFile(
                "the folder is an export of Roboflow", where=source, remedy=f"Give its file: {path / name}."
            )
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
    return UnknownFormat(what, where=source, remedy=f"Say the format; known are {', '.join(names())}.")
