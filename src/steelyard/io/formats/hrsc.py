"""HRSC2016: an XML file per image with rotated boxes of ships. It is read, not written."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from steelyard.core.errors import InvalidFile, OutOfRange, Unsupported
from steelyard.core.quads import corners_of
from steelyard.io.formats.corners import Quads
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.format import Format, ReadOptions
from steelyard.io.formats.numbers import coordinate
from steelyard.io.formats.sizes import whole_pixels
from steelyard.io.formats.voc import files_of
from steelyard.io.formats.xml import Node, read_xml

NUMBERS = ("mbox_cx", "mbox_cy", "mbox_w", "mbox_h", "mbox_ang")
CLASS = "ship"  # as papers report it: one class, whatever Class_ID says


def read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    """All images of a folder, or the one of a file."""
    if side == "prediction":
        raise Unsupported("HRSC has no form for results", where=source, remedy="Give a table, JSON, or DOTA's files.")
    gathered = Quads()
    for file in files_of(path):
        root = read_xml(file, str(file))
        if root.name != "HRSC_Image":
            raise InvalidFile(
                f"<{root.name}> where <HRSC_Image> is expected", where=str(file), remedy="Is it an HRSC2016 file?"
            )
        width, height = (whole_pixels(root.value(name)) or None for name in ("Img_SizeWidth", "Img_SizeHeight"))
        gathered.image(file.stem, width, height)
        listed = root.find("HRSC_Objects")
        for node in listed.all("HRSC_Object") if listed is not None else ():
            _object(gathered, file.stem, node, f"{file}, line {node.line}")
    return gathered.dataset(source, "hrsc", side, by_name=True)


def _object(gathered: Quads, image: str, node: Node, where: str) -> None:
    cx, cy, w, h, angle = (float(coordinate(node.value(name), f"<{name}>", where)) for name in NUMBERS)
    if w < 0 or h < 0:
        raise OutOfRange(f"a box of negative size: {w:g} × {h:g}", where=where, remedy="Sizes are 0 or more.")
    if abs(angle) > 2 * math.pi:
        raise OutOfRange(f"angle {angle:g} looks like degrees", where=where, remedy="HRSC writes radians.")
    corners = corners_of(np.array([[cx, cy, w, h, angle]]))[0].tolist()
    gathered.add(image, CLASS, corners, where, difficult=node.value("difficult") not in ("", "0"))


FORMAT = Format("hrsc", "HRSC2016: an XML file per image", read, folder=True)
