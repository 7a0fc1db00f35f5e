"""The frames of a run: which picture, of which sequence and moment, of which food, and what it truly weighed.

A frame whose picture cannot be read does not stop the run: it is kept with its problem, and the report counts it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from steelyard.core.errors import DuplicateKey, EmptyInput, InputError, InvalidFile, InvalidValue
from steelyard.core.frozen import Frozen
from steelyard.core.records import Column, Schema, as_object
from steelyard.io.read import check_mapping, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.write import csv_text, write_text
from steelyard.vlm.images import Picture, read_picture
from steelyard.vlm.questions import IMAGE, Prompt, cell_text
from steelyard.vlm.shots import Shots, read_shots, several, shots_of, stored_shots

FRAMES = Schema(
    key=("sequence", "t"),
    columns=(
        Column("sequence", "id", meaning="the eating sequence"),
        Column("t", "integer", minimum=0, meaning="the frame's number; 0 is the initial frame"),
        Column("image", "text", meaning="path of the picture, from the file's own folder"),
        Column("food", "text", required=False, meaning="the food's name, for prompts that give it"),
        Column("weight", "number", required=False, minimum=0, empty=True, meaning="grams left on the plate"),
        Column("kcal_per_g", "number", required=False, minimum=0, empty=True, meaning="energy density"),
        Column("valid", "flag", required=False, meaning="false takes the frame out"),
    ),
)
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif", ".avif")
_FIELDS = frozenset(FRAMES.names)
_STORED = ("image_sha256", "width", "height", "problem")
_SHOTS = "pictures:"  # before the name of a column of pictures there
_OWN = "column:"  # before the name of a user's column in the frames that a run keeps


class Frame(Frozen):
    """One row of the frames: `picture` is None where it cannot be read, and `problem` says why.

    `columns` are the values of the row as text, of those columns that no field stands for; `shots` the pictures of
    questions that show several.
    """

    sequence: str
    t: int
    image: str
    food: str = ""
    weight: float = math.nan
    kcal_per_g: float = math.nan
    valid: bool = True
    picture: Picture | None = None
    problem: str = ""
    columns: Mapping[str, str] = field(default_factory=dict, repr=False)
    shots: Mapping[str, Shots] = field(default_factory=dict, repr=False)

    def pictures(self, prompt: Prompt) -> Shots:
        """The pictures that a question shows."""
        if prompt.shots:
            return shots_of(self.shots, prompt.shots)
        return Shots((self.picture,) if self.picture else (), self.problem)

    def text(self, name: str) -> str:
        """The value of a column as text; empty where there is none."""
        if name in _FIELDS:
            return cell_text(getattr(self, name))
        return self.columns.get(name, "")


def read_frames(
    path: str | Path,
    seen: Callable[[int, int], None] | None = None,
    table: Table | None = None,
    shots: Sequence[str] = (),
) -> tuple[Frame, ...]:
    """Read a table of frames, or a folder of pictures, and every picture's header and hash.

    `seen(done, all)` hears of progress. `table` is what stands at `path` where it is read already, `shots` what
    questions show beside the one picture; without a column of images the first of these is shown in small.
    """
    table = table or frame_table(path)
    if shots and IMAGE not in table.columns and (shown := shots[0].partition("#")[0]) in table.columns:
        table = replace(table, columns={**table.columns, IMAGE: table.columns[shown]})
    records = to_records(table, FRAMES, {}, "frames")
    if not len(records):
        raise EmptyInput("there are no frames", where=str(path), remedy="Give at least one row.")
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    rows = len(records)
    columns = {name: records[name].tolist() for name in FRAMES.names if name in records}
    other = {name: list(map(cell_text, values.tolist())) for name, values in records.other.items()}
    first: dict[tuple[str, int], int] = {}
    pictures: dict[str, tuple[Picture | None, str]] = {}
    picture_cache: dict[Path, Picture] = {}
    cells = {key: columns[IMAGE] if (name := key.partition("#")[0]) == IMAGE else other[name] for key in shots}
    frames = []
    for row in range(rows):
        key = (str(columns["sequence"][row]), int(columns["t"][row]))
        if key in first:
            raise DuplicateKey(
                f"sequence '{key[0]}', t '{key[1]}' appears twice, first at {records.place(first[key])}",
                where=records.place(row),
                remedy="Each frame may appear only once.",
            )
        first[key] = row
        image = columns["image"][row]
        if image not in pictures:
            pictures[image] = _picture(folder, image)
        picture, problem = pictures[image]
        frames.append(
            Frame(
                *key,
                image=image,
                food=columns.get("food", [""] * rows)[row].strip(),
                weight=columns.get("weight", [math.nan] * rows)[row],
                kcal_per_g=columns.get("kcal_per_g", [math.nan] * rows)[row],
                valid=bool(columns.get("valid", [True] * rows)[row]),
                picture=picture,
                problem=problem,
                columns={name: values[row] for name, values in other.items()},
                shots={key: read_shots(folder, cells[key][row], key, picture_cache) for key in shots},
            )
        )
        if seen:
            seen(row + 1, rows)
    return tuple(sorted(frames, key=lambda frame: (frame.sequence, frame.t)))


def frame_table(path: str | Path, mapping: Mapping[str, str] | None = None) -> Table:
    """The table of frames at a path; `mapping` gives columns of the file the names that frames have.

    A folder is a table of its pictures: each in the folder itself is a sequence of its own, those in a folder inside
    are one sequence, in the order of their names, where 2 comes before 10.
    """
    table = _folder_table(Path(path)) if Path(path).is_dir() else read_table(path, "frames")
    if not mapping:
        return table
    check_mapping(mapping, {"frames": FRAMES}, {"frames": table})
    names = {target.removeprefix("frames."): given for target, given in mapping.items()}
    others = {name: values for name, values in table.columns.items() if name not in (*names, *names.values())}
    return replace(table, columns={**{name: table.columns[given] for name, given in names.items()}, **others})


def _folder_table(folder: Path) -> Table:
    groups: dict[str, list[str]] = {}
    for place, inside, files in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        images = [name for name in files if name.lower().endswith(ENDINGS) and not name.startswith(".")]
        within = Path(place).relative_to(folder).as_posix()
        for name in images:
            groups.setdefault("" if within == "." else within, []).append(name)
    alone = [name.rpartition(".")[0] for name in groups.get("", ())]
    rows = []
    for group in sorted(groups, key=_natural):
        for t, name in enumerate(sorted(groups[group], key=_natural)):
            stem = name.rpartition(".")[0]
            own = stem if alone.count(stem) == 1 and stem not in groups else name
            rows.append((group, t, f"{group}/{name}") if group else (own, 0, name))
    if not rows:
        remedy = f"Give a table of frames, or a folder of {', '.join(ENDINGS[:3])} and other pictures."
        if (folder / "frames.csv").is_file():
            remedy = f"Give the table: {folder / 'frames.csv'}."
        raise EmptyInput("the folder holds no picture", where=str(folder), remedy=remedy)
    columns = zip(("sequence", "t", "image"), zip(*rows, strict=True), strict=True)
    return Table(str(folder), {name: as_object(values) for name, values in columns})


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key by which 2 comes before 10."""
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d{1,18})", name)]


def _picture(folder: Path, image: str) -> tuple[Picture | None, str]:
    if not image.strip():
        return None, "no image is named"
    if several(image):
        return None, "several images are named, and the question shows one: 'images: [image]' in its file shows all"
    try:
        return read_picture(folder / image), ""
    except InputError as error:
        return None, str(error)


def write_frames(path: Path, frames: Sequence[Frame], columns: Sequence[str] = ()) -> None:
    """Keep the frames with the run: the hash of each picture, not the picture, and the other columns named."""
    own = [name for name in columns if name not in FRAMES.names]
    shots = list(dict.fromkeys(key for frame in frames for key in frame.shots))
    header = [*FRAMES.names, *_STORED, *(f"{_OWN}{name}" for name in own), *(f"{_SHOTS}{key}" for key in shots)]
    rows = []
    for f in frames:
        p = f.picture
        seen = [p.digest, p.width, p.height] if p else ["", "", ""]
        fixed = [f.sequence, f.t, f.image, f.food, f.weight, f.kcal_per_g, str(f.valid).lower(), *seen, f.problem]
        rows.append([*fixed, *(f.text(name) for name in own), *(f.shots[key].stored_cell() for key in shots)])
    write_text(path, csv_text(header, rows))


def stored_frames(path: Path) -> tuple[Frame, ...]:
    """The frames as a run kept them."""
    table = read_table(path, "frames")
    records = to_records(table, FRAMES, {}, "frames")
    extra = {name: [str(v) for v in table.columns[name].tolist()] for name in _STORED if name in table.columns}
    if len(extra) != len(_STORED):
        raise InvalidFile("these are not a run's frames", where=str(path), remedy="Give the folder of 'vlm run'.")
    own = {name.removeprefix(_OWN): v.tolist() for name, v in records.other.items() if name.startswith(_OWN)}
    held = {name.removeprefix(_SHOTS): v.tolist() for name, v in records.other.items() if name.startswith(_SHOTS)}
    frames = []
    for row in range(len(records)):
        digest, width, height, problem = (extra[name][row] for name in _STORED)
        if digest and not (width.isdecimal() and height.isdecimal() and len(width + height) < 20):
            raise InvalidValue(f"'{width}' by '{height}' is not an image size", where=records.place(row))
        picture = Picture(digest, int(width), int(height)) if digest else None
        frames.append(
            Frame(
                str(records["sequence"][row]), int(records["t"][row]), records["image"][row], records["food"][row],
                float(records["weight"][row]), float(records["kcal_per_g"][row]), bool(records["valid"][row]),
                picture, problem, {name: cell_text(values[row]) for name, values in own.items()},
                {key: stored_shots(str(values[row]), records.place(row)) for key, values in held.items()},
            )
        )  # fmt: skip
    return tuple(frames)
