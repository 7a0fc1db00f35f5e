"""Every format of boxes by name: those here, and those that packages bring as entry points `steelyard.formats`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from steelyard.core import registry
from steelyard.core.errors import UnknownFormat, nearest
from steelyard.io.formats.format import Format

# One line per format: where its Format is. A module is imported when its format is first asked for.
PLACES = {
    "coco": "steelyard.io.formats.coco:FORMAT",
    "lvis": "steelyard.io.formats.coco:LVIS",
    "voc": "steelyard.io.formats.voc:FORMAT",
    "yolo": "steelyard.io.formats.yolo:FORMAT",
    "cvat": "steelyard.io.formats.cvat:FORMAT",
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
