"""Boxes in space from one format into another: KITTI's label files, nuScenes' JSON, tables of columns.

Places of KITTI are those of a camera (x right, y down, z ahead, the middle of the bottom), those of nuScenes have z up
and are the middle of the box. A table has the axes of KITTI where it has boxes in the image, else those of nuScenes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import CannotWrite, InvalidValue, MissingColumn, MissingKey
from steelyard.core.opening import open_regular
from steelyard.core.records import Array
from steelyard.core.task import Task
from steelyard.io.formats.convert import Conversion, check_target, refuse_losses, write_files
from steelyard.io.formats.folder import recover
from steelyard.io.formats.write_options import Loss
from steelyard.io.json import parse_json
from steelyard.io.text import open_text, read_bytes
from steelyard.io.write import csv_text, write_text
from steelyard.tasks.boxes3d.nuscenes_release import read_release
from steelyard.tasks.boxes3d.reader import SolidRecords, read_as

FORMATS = ("kitti", "nuscenes")
IMAGE, PLACE = ("left", "top", "right", "bottom"), ("x", "y", "z", "length", "width", "height", "yaw")
KITTI = ("truncated", "occluded", "alpha", *IMAGE, "height", "width", "length", "x", "y", "z", "yaw", "score")
UNKNOWN = {"truncated": -1.0, "occluded": -1.0, "alpha": -10.0, **dict.fromkeys(IMAGE, -1.0)}
NUSCENES = (
    "car", "truck", "bus", "trailer", "construction_vehicle", "pedestrian", "motorcycle", "bicycle", "traffic_cone",
    "barrier",
)  # fmt: skip
AXES = {
    "kitti": "with x right, y down, z ahead, from the middle of the bottom",
    "nuscenes": "with x ahead, y left, z up, from the middle of the box",
}
_SCORE = re.compile(rb'"detection_score"\s*:\s*(-?)[0-9]')


def convert_solid(
    task: Task, source: str | os.PathLike[str], target: str | os.PathLike[str], given: str, to: str, *,
    like: str | os.PathLike[str] | None = None, strict: bool = False, force: bool = False,
) -> Conversion:  # fmt: skip
    """Read `source`, write `target`. With `strict`, nothing is written where something would be lost.

    A folder of nuScenes' tables becomes the truth of its detection task, of the samples of `like` where it is given.
    """
    path, goal = Path(source), Path(target)
    if to == "auto":
        to = {".csv": "csv", ".json": "nuscenes"}.get(goal.suffix.lower(), "kitti")
    if to not in (*FORMATS, "csv"):
        raise CannotWrite(
            f"boxes in space cannot be written as '{to}'", where=str(target), remedy="Choose kitti, nuscenes or csv."
        )
    if to == "kitti":
        recover(goal)
    check_target(goal, to == "kitti", os.fspath(target), force)
    if given == "nuscenes" and path.is_dir():
        return _from_release(path, goal, to, like, os.fspath(source), os.fspath(target))
    form = given if given != "auto" else "kitti" if path.is_dir() else "csv"
    records = read_as(task, path, _side(path, os.fspath(source), form), form)
    camera = records.form == "kitti" or all(name in records for name in IMAGE)
    losses = tuple(_losses(records, to, camera))
    if strict:
        refuse_losses(losses, os.fspath(target))
    if to == "kitti":
        write_files(_kitti(records, camera), goal, records.source)
    else:
        write_text(goal, _table(records) if to == "csv" else _nuscenes(records, camera))
    objects = _objects(records)
    return Conversion(
        os.fspath(source), form, os.fspath(target), to, len(set(records["frame"].tolist())), int(objects.sum()),
        len(set(records["label"][objects].tolist())), "score" in records, losses, (), "frames",
    )  # fmt: skip


def _from_release(
    path: Path, goal: Path, to: str, like: str | os.PathLike[str] | None, source: str, target: str
) -> Conversion:
    if to != "nuscenes":
        raise InvalidValue("tables of a release become a .json file", where=target, remedy="Convert that one further.")
    wanted = None
    if like is not None:
        with open_text(Path(like), os.fspath(like)) as file:
            given = parse_json(file.read(), os.fspath(like))
        results = given.get("results") if isinstance(given, dict) else None
        if not isinstance(results, dict):
            raise MissingKey("has no 'results'", where=os.fspath(like), remedy="Give the JSON of a submission.")
        wanted = set(results)
    made = read_release(path, wanted)
    write_text(goal, json.dumps(made, ensure_ascii=False) + "\n")
    names = [box["detection_name"] for boxes in made["results"].values() for box in boxes]
    return Conversion(
        source, "nuscenes", target, to, len(made["results"]), len(names), len(set(names)), False, (), (), "frames"
    )


def _side(path: Path, source: str, form: str) -> str:
    """Whether a source has scores: by the columns of its first line, or by its first score."""
    if form == "nuscenes":
        score = _SCORE.search(read_bytes(path, source))
        return "truth" if score is None or score[1] else "prediction"
    if form == "csv":
        with open_regular(path, source, pipes=True) as file:
            return "prediction" if b"score" in file.readline().replace(b'"', b"").strip().split(b",") else "truth"
    folders = (folder for inner in ("", "label_2", "data") if (folder := path / inner).is_dir())
    for file_ in (one for folder in folders for one in sorted(folder.glob("*.txt"))):
        fields = read_bytes(file_, str(file_)).split(b"\n", 1)[0].split()
        if fields:
            return "prediction" if len(fields) == 16 else "truth"
    return "truth"


def _objects(records: SolidRecords) -> Array:
    """Which rows have a box; the others only name their frame."""
    return np.array([str(one) != "" for one in records["label"].tolist()], dtype=bool)


def _known(records: SolidRecords, name: str) -> int:
    """How many boxes say something in a column."""
    column = records[name]
    return sum(str(one) != "" for one in column.tolist()) if column.dtype == object else int((~np.isnan(column)).sum())


def _losses(records: SolidRecords, to: str, camera: bool) -> Iterator[Loss]:
    held = set(PLACE) | {"frame", "label", "score"}
    if to == "csv":
        if records.tilted:
            yield Loss("lost", "turns that are not about the vertical axis", records.tilted, "a heading is one number")
        bare = len(set(records.ego) - {str(frame) for frame in records["frame"][_objects(records)].tolist()})
        if bare:
            yield Loss("lost", "places of the car", bare, "a table has them beside boxes, and these samples have none")
        return
    held |= set(KITTI) if to == "kitti" else {"vx", "vy", "attribute", "points", "ego_dx", "ego_dy"}
    for name in records.columns:
        if name not in held and (count := _known(records, name)):
            yield Loss("lost", f"'{name}'", count, f"{to} has no place for it")
    for name, column in records.other.items():
        if (to, name) != ("nuscenes", "scene"):
            yield Loss("lost", f"'{name}'", len(column), f"{to} has no place for it")
    if records.tilted:
        yield Loss("lost", "turns that are not about the vertical axis", records.tilted, "a heading is one number")
    count = int(_objects(records).sum())
    if camera != (to == "kitti"):
        yield Loss("changed", "places and headings", count, f"the same boxes {AXES[to]}")
    if to == "kitti" and not all(name in records for name in IMAGE):
        yield Loss("changed", "boxes in the image", count, "not known, written as -1: score them with level=all")
    if to == "nuscenes":
        regions = int(_regions(records).sum())
        if regions:
            yield Loss("lost", "DontCare", regions, "nuScenes has no regions")
        renamed = sum(_class(str(one)) != str(one) for one in records["label"].tolist())
        if renamed:
            yield Loss("changed", "names of classes", renamed, "nuScenes writes them small")


def _regions(records: SolidRecords) -> Array:
    return np.array([str(one).lower() == "dontcare" for one in records["label"].tolist()], dtype=bool)


def _class(name: str) -> str:
    return name.lower() if name.lower() in NUSCENES else name


def _place(records: SolidRecords, camera: bool, to_camera: bool) -> dict[str, Array]:
    """The place and size of every box, in the axes of the target."""
    for name in PLACE:
        if name not in records:
            raise MissingColumn(
                f"column '{name}' is missing", where=records.source, remedy=f"A box in space is {', '.join(PLACE)}."
            )
    place = {name: records[name] for name in PLACE}
    x, y, z, half, yaw = place["x"], place["y"], place["z"], place["height"] / 2, place["yaw"]
    if camera and not to_camera:
        place |= {"x": z, "y": -x, "z": half - y, "yaw": -yaw - np.pi / 2}
    elif to_camera and not camera:
        place |= {"x": -y, "y": half - z, "z": x, "yaw": -yaw - np.pi / 2}
    return place


def _kitti(records: SolidRecords, camera: bool) -> Iterator[tuple[str, str]]:
    """A file per frame, in the order of the frames."""
    place = _place(records, camera, to_camera=True)
    columns = []
    for name in KITTI if "score" in records else KITTI[:-1]:
        column = place.get(name, records.columns.get(name))
        unknown = UNKNOWN.get(name, np.nan)
        columns.append(
            np.full(len(records), unknown) if column is None else np.where(np.isnan(column), unknown, column)
        )
    lines: dict[str, list[str]] = {}
    objects, labels = _objects(records), records["label"].tolist()
    rows = np.stack(columns, axis=1).tolist()
    for row, frame in enumerate(map(str, records["frame"].tolist())):
        mine = lines.setdefault(frame, [])
        if not objects[row]:
            continue
        name = str(labels[row])
        if any(one.isspace() for one in name):
            raise InvalidValue(
                f"class '{name}' has a space", where=records.place(row), remedy="KITTI's names have none."
            )
        mine.append(" ".join([name, *map(_number, rows[row])]))
    for frame, mine in lines.items():
        yield f"{frame}.txt", "".join(f"{line}\n" for line in mine)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _nuscenes(records: SolidRecords, camera: bool) -> str:
    """The JSON of a submission, or of a truth with points and the car's place."""
    place = {name: column.tolist() for name, column in _place(records, camera, to_camera=False).items()}
    columns = {name: column.tolist() for name, column in records.columns.items()}
    results: dict[str, list[Any]] = {}
    kept = _objects(records) & ~_regions(records)
    for row, frame in enumerate(map(str, columns["frame"])):
        mine = results.setdefault(frame, [])
        if not kept[row]:
            continue
        yaw = place["yaw"][row]
        box: dict[str, Any] = {
            "sample_token": frame,
            "translation": [place[name][row] for name in ("x", "y", "z")],
            "size": [place[name][row] for name in ("width", "length", "height")],
            "rotation": [float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))],
            "velocity": [columns[name][row] if name in columns else float("nan") for name in ("vx", "vy")],
            "detection_name": _class(str(columns["label"][row])),
            "attribute_name": str(columns["attribute"][row]) if "attribute" in columns else "",
        }
        offset = [columns[name][row] if name in columns else float("nan") for name in ("ego_dx", "ego_dy")]
        if not np.isnan(offset).any():
            box["ego_translation"] = [*offset, 0.0]
        if "score" in columns:
            box["detection_score"] = columns["score"][row]
        elif "points" in columns and not np.isnan(columns["points"][row]):
            box["num_pts"] = int(columns["points"][row])
        mine.append(box)
    whole: dict[str, Any] = {"meta": {}, "results": results}
    if records.ego:
        whole["ego"] = {frame: list(at) for frame, at in records.ego.items()}
    if "scene" in records.other:
        whole["scene"] = dict(zip(map(str, columns["frame"]), map(str, records.other["scene"].tolist()), strict=True))
    return json.dumps(whole, ensure_ascii=False) + "\n"


def _table(records: SolidRecords) -> str:
    """The columns that say something, and those of the user's own."""
    columns = {name: records[name] for name in records.columns if name in ("frame", "label") or _known(records, name)}
    columns |= dict(records.other)
    if records.ego and "ego_dx" not in columns:
        at = np.array([records.ego.get(str(frame), (np.nan,) * 3) for frame in records["frame"].tolist()])
        columns |= {"ego_dx": records["x"] - at[:, 0], "ego_dy": records["y"] - at[:, 1]}
    cells = [[_cell(value) for value in column.tolist()] for column in columns.values()]
    return csv_text(list(columns), list(zip(*cells, strict=True)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else _number(value)
    return str(value)
