"""Roboflow's CSV: a row per box with its corners, `filename,width,height,class,xmin,ymin,xmax,ymax`.

Corners are edges of pixels from 0. Predictions have a column `confidence` or `score` too. Roboflow's COCO and YOLO
exports are read as those formats.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.core.errors import EmptyCell, InvalidNumber, MissingColumn
from steelyard.io.formats.dataset import Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format
from steelyard.io.formats.numbers import coordinate, from_corners, score
from steelyard.io.formats.sizes import whole_pixels
from steelyard.io.read import read_table
from steelyard.io.text import ROBOFLOW_COLUMNS

CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read(path: Path, source: str, side: str = "") -> Dataset:
    """All rows of a file. Images without boxes are not listed in this format."""
    table = read_table(path, source)
    for name in ROBOFLOW_COLUMNS:
        if name not in table.columns:
            raise MissingColumn(
                f"column '{name}' is missing", where=source, remedy=f"It needs {', '.join(ROBOFLOW_COLUMNS)}."
            )
    names = ("confidence", "score") if side != "truth" else ()
    scored = next((name for name in names if name in table.columns), "")
    if side == "prediction" and not scored:
        raise MissingColumn("column 'confidence' is missing", where=source, remedy="Predictions need one.")
    columns = {
        name: ["" if v is None else str(v).strip() for v in table.columns[name].tolist()] for name in table.columns
    }
    rows: dict[str, list[int]] = {}
    for row, file in enumerate(columns["filename"]):
        if not file or not columns["class"][row]:
            empty = "filename" if not file else "class"
            raise EmptyCell("the cell is empty", where=f"{table.place(row)}, column '{empty}'", remedy="Fill it.")
        rows.setdefault(file, []).append(row)
    gathered = Gatherer()
    for file, own in rows.items():
        width, height = (_size(columns, own[0], name, table.place(own[0])) for name in ("width", "height"))
        gathered.pictures.append(Picture(Picture(0, file).stem, file, width, height))
        for row in own:
            where = table.place(row)
            box = from_corners(*(coordinate(columns[name][row], name, where) for name in CORNERS))
            value = score(columns[scored][row], where) if scored else None
            gathered.add(columns["class"][row], box, where, score=value)
    return gathered.dataset(source, "roboflow", side, by_file=True, by_name=True)


def _size(columns: dict[str, list[str]], row: int, name: str, where: str) -> int | None:
    if name not in columns:
        return None
    text = columns[name][row].removesuffix(".0")
    pixels = whole_pixels(text)
    if not pixels:
        raise InvalidNumber(f"{name} is '{text[:40]}'", where=where, remedy="It must be a whole number of pixels.")
    return pixels


FORMAT = Format(
    "roboflow",
    "Roboflow's CSV: a row per box with its corners",
    lambda path, source, side, reading, like: read(path, source, side),
)
