"""Sizes of images from a file of their own, for data that lack them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from steelyard.core.errors import MissingColumn
from steelyard.core.records import Records
from steelyard.io.json import parse_json
from steelyard.io.read import read_table
from steelyard.io.text import ending, first_bytes, read_bytes
from steelyard.tasks.grounding.entries import required_list

SIDES = ("width", "height")


def with_sizes(truth: Records, path: str | PathLike[str]) -> Records:
    """The truth with the sizes of its images from a file: COCO's `images`, or a table of image, width and height.

    Sizes that the truth has itself stay.
    """
    sizes = _read_sizes(Path(path), str(path))
    sides = np.array([sizes.get(str(image), (np.nan, np.nan)) for image in truth["image"].tolist()]).reshape(-1, 2)
    columns = dict(truth.columns)
    for place, name in enumerate(SIDES):
        own = truth[name] if name in truth else np.full(len(truth), np.nan)
        columns[name] = np.where(np.isnan(own), sides[:, place], own)
    return Records(truth.source, columns, truth.other, truth.place, truth.names)


def _read_sizes(path: Path, source: str) -> dict[str, tuple[float, float]]:
    """Width and height by the name of the image: its id, or the name of its file."""
    if ending(path) == ".json" and first_bytes(path, source).lstrip().startswith(b"{"):
        value = parse_json(read_bytes(path, source).decode("utf-8", "replace"), source)
        entries = required_list(value, "images", source)
        rows = [
            (entry.get(name), *(entry.get(side) for side in SIDES)) for name in ("id", "file_name") for entry in entries
        ]
    else:
        table = read_table(path, "truth")
        lacking = [name for name in ("image", *SIDES) if name not in table.columns]
        if lacking:
            raise MissingColumn(
                f"column '{lacking[0]}' is missing",
                where=source,
                remedy="A table of sizes has image, width and height.",
            )
        rows = list(zip(*(table.columns[name].tolist() for name in ("image", *SIDES)), strict=True))
    sizes = {str(name): (_number(width), _number(height)) for name, width, height in rows if name is not None}
    return {name: size for name, size in sizes.items() if min(size) > 0}


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
