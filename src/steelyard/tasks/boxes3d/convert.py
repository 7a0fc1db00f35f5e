"""Boxes in space from one format into another: KITTI's label files, nuScenes' JSON, tables of columns.

Places of KITTI are those of a camera (x right, y down, z ahead, the middle of the bottom), those of nuScenes have z up
and are the middle of the box. A table has the axes of KITTI where it has boxes in the image, else those of nuScenes.

The truth of nuScenes' detection task from the tables of a release.

Categories that are none of the ten classes are left out, but bicycle racks. A velocity is the way from the box of the
sample before to that of the sample behind over the time between; from one side alone at the ends of a track. It is not
known where there is neither, or where that takes more than 1.5 s (3 s with both).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    CannotWrite,
    InvalidFile,
    InvalidValue,
    MissingColumn,
    MissingData,
    MissingFile,
    MissingKey,
    ShapeMismatch,
    UnknownName,
)
from steelyard.core.opening import is_entry, open_regular
from steelyard.core.records import Array
from steelyard.core.task import Task
from steelyard.io.formats.convert import Conversion, check_target, refuse_losses, write_files
from steelyard.io.formats.folder import recover
from steelyard.io.formats.format import Loss
from steelyard.io.json import expect, parse_json
from steelyard.io.text import open_text, read_bytes
from steelyard.io.write import csv_text, write_text
from steelyard.tasks.boxes3d.reader import SolidRecords, read_as

CLASSES = {
    "movable_object.barrier": "barrier", "movable_object.trafficcone": "traffic_cone", "vehicle.bicycle": "bicycle",
    "vehicle.bus.bendy": "bus", "vehicle.bus.rigid": "bus", "vehicle.car": "car", "vehicle.trailer": "trailer",
    "vehicle.construction": "construction_vehicle", "vehicle.motorcycle": "motorcycle", "vehicle.truck": "truck",
    "human.pedestrian.adult": "pedestrian", "human.pedestrian.child": "pedestrian",
    "human.pedestrian.construction_worker": "pedestrian", "human.pedestrian.police_officer": "pedestrian",
    "static_object.bicycle_rack": "bicycle_rack",
}  # fmt: skip
LONGEST = 1.5  # seconds from one box of a track to the next
# The type under a key that does not hold text, and how many values an array has (0: any number).
KINDS: dict[str, tuple[str, int | None]] = {
    "timestamp": ("a number", None), "num_lidar_pts": ("a number", None), "num_radar_pts": ("a number", None),
    "translation": ("a number", 3), "size": ("a number", 3), "rotation": ("a number", 4),
    "attribute_tokens": ("a text", 0),
}  # fmt: skip
Row = dict[str, Any]


def read_release(folder: Path, wanted: set[str] | None) -> Row:
    """The truth as `steelyard` takes it, of the samples that are wanted, or of all."""
    samples = _table(folder, "sample", "timestamp", "scene_token")
    if wanted is not None:
        lacking = min(wanted - samples.keys(), default=None)
        if lacking is not None:
            raise UnknownName(f"sample '{lacking}' is not in the release", where=str(folder), remedy="Is it that one?")
    scenes, kinds = _table(folder, "scene", "name"), _table(folder, "category", "name")
    objects, states = _table(folder, "instance", "category_token"), _table(folder, "attribute", "name")
    boxes = _table(
        folder, "sample_annotation", "sample_token", "instance_token", "translation", "size", "rotation", "prev",
        "next", "attribute_tokens", "num_lidar_pts", "num_radar_pts",
    )  # fmt: skip
    tokens = [token for token in samples if wanted is None or token in wanted]
    results: dict[str, list[Row]] = {token: [] for token in tokens}
    for token, box in boxes.items():
        where = f"{folder}, sample_annotation '{token}'"
        sample = box["sample_token"]
        _find(samples, sample, where, "sample")
        kind = _find(objects, box["instance_token"], where, "instance")["category_token"]
        name = CLASSES.get(_find(kinds, kind, where, "category")["name"])
        if sample not in results or name is None:
            continue
        states_of = box["attribute_tokens"]
        if len(states_of) > 1:
            raise InvalidValue(count_text(len(states_of), "attribute"), where=where, remedy="A box has one at most.")
        results[sample].append({
            "sample_token": sample, "translation": box["translation"], "size": box["size"],
            "rotation": box["rotation"], "velocity": _velocity(box, boxes, samples, where), "detection_name": name,
            "attribute_name": _find(states, states_of[0], where, "attribute")["name"] if states_of else "",
            "num_pts": box["num_lidar_pts"] + box["num_radar_pts"],
        })  # fmt: skip
    scene = {
        token: _find(scenes, samples[token]["scene_token"], f"{folder}, sample '{token}'", "scene")["name"]
        for token in tokens
    }
    return {"meta": {}, "results": results, "ego": _places(folder, results), "scene": scene}


def _table(folder: Path, name: str, *needed: str) -> dict[str, Row]:
    """The rows of a table by their tokens."""
    path = folder / f"{name}.json"
    if not is_entry(path):
        raise MissingFile(
            f"there is no {name}.json",
            where=str(folder),
            remedy="Give the folder of a release's tables: v1.0-trainval.",
        )
    with open_text(path, str(path)) as file:
        rows = parse_json(file.read(), str(path))
    if not isinstance(rows, list):
        raise InvalidFile("is not a list of rows", where=str(path), remedy="Give a table as nuScenes has it.")
    by_token: dict[str, Row] = {}
    for i, row in enumerate(rows):
        where = f"{path}, row {i}"
        for key in ("token", *needed):
            if not isinstance(row, dict) or key not in row:
                raise MissingKey(f"the key '{key}' is missing", where=where, remedy="Is the file whole?")
            kind, count = KINDS.get(key, ("a text", None))
            values = [row[key]] if count is None else expect(row[key], "an array", key, where)
            for value in values:
                expect(value, kind, key, where)
            if count is not None and count != len(values) and count:
                raise ShapeMismatch(
                    f"'{key}' has {count_text(len(values), 'number')}, not {count}", where=where, remedy="Is it whole?"
                )
        by_token[row["token"]] = row
    return by_token


def _find(table: Mapping[str, Row], token: Any, where: str, name: str) -> Row:
    if token not in table:
        raise UnknownName(f"there is no {name} '{token}'", where=where, remedy="Are the tables of one release?")
    return table[token]


def _velocity(box: Row, boxes: Mapping[str, Row], samples: Mapping[str, Row], where: str) -> list[float]:
    first, last = (_find(boxes, box[key], where, "sample_annotation") if box[key] else box for key in ("prev", "next"))
    start, end = (_find(samples, one["sample_token"], where, "sample")["timestamp"] for one in (first, last))
    seconds = 1e-6 * (end - start)
    longest = LONGEST * (2 if box["prev"] and box["next"] else 1)
    if first is last or not 0 < seconds <= longest:
        return [float("nan")] * 2
    return [(last["translation"][k] - first["translation"][k]) / seconds for k in (0, 1)]


def _places(folder: Path, tokens: Mapping[str, Any]) -> dict[str, list[float]]:
    """Where the car stands when its upper lidar looks."""
    poses = _table(folder, "ego_pose", "translation")
    places = {}
    for token, row in _table(folder, "sample_data", "sample_token", "ego_pose_token", "filename").items():
        if row["sample_token"] in tokens and row.get("is_key_frame") and "/LIDAR_TOP/" in row["filename"]:
            where = f"{folder}, sample_data '{token}'"
            places[row["sample_token"]] = _find(poses, row["ego_pose_token"], where, "ego_pose")["translation"]
    lacking = next((token for token in tokens if token not in places), None)
    if lacking is not None:
        raise MissingData(
            f"sample '{lacking}' has no sample_data of LIDAR_TOP", where=str(folder), remedy="Is the table whole?"
        )
    return places


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
    task: Task, source: str | os.PathLike[str], target: str | os.PathLike[str], from_format: str, to: str, *,
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
    if from_format == "nuscenes" and path.is_dir():
        return _from_release(path, goal, to, like, os.fspath(source), os.fspath(target))
    form = from_format if from_format != "auto" else "kitti" if path.is_dir() else "csv"
    records = read_as(task, path, _side(path, os.fspath(source), form), form)
    camera = records.form == "kitti" or all(name in records for name in IMAGE)
    losses = tuple(_losses(records, to, camera))
    if strict:
        refuse_losses(losses, os.fspath(target))
    if to == "kitti":
        write_files(_kitti(records, camera), goal, records.source)
    else:
        write_text(goal, _table_text(records) if to == "csv" else _nuscenes(records, camera))
    objects = _objects(records)
    return Conversion(
        os.fspath(source), form, os.fspath(target), to, len(set(records["frame"].tolist())), int(objects.sum()),
        len(set(records["label"][objects].tolist())), "score" in records, losses, (), "frames",
    )  # fmt: skip


def _from_release(
    path: Path, goal: Path, to: str, like: str | os.PathLike[str] | None, source: str, target: str
) -> Conversion:
    if to != "nuscenes":
        raise CannotWrite("tables of a release become a .json file", where=target, remedy="Convert that one further.")
    wanted = None
    if like is not None:
        with open_text(Path(like), os.fspath(like)) as file:
            like_file = parse_json(file.read(), os.fspath(like))
        results = like_file.get("results") if isinstance(like_file, dict) else None
        if not isinstance(results, dict):
            raise MissingKey("has no 'results'", where=os.fspath(like), remedy="Give the JSON of a submission.")
        wanted = set(results)
    release = read_release(path, wanted)
    write_text(goal, json.dumps(release, ensure_ascii=False) + "\n")
    names = [box["detection_name"] for boxes in release["results"].values() for box in boxes]
    return Conversion(
        source, "nuscenes", target, to, len(release["results"]), len(names), len(set(names)), False, (), (), "frames"
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


def _count_known(records: SolidRecords, name: str) -> int:
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
        if name not in held and (count := _count_known(records, name)):
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
            raise CannotWrite(
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
    is_object = _objects(records) & ~_regions(records)
    for row, frame in enumerate(map(str, columns["frame"])):
        mine = results.setdefault(frame, [])
        if not is_object[row]:
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


def _table_text(records: SolidRecords) -> str:
    """The columns that say something, and those of the user's own."""
    columns = {
        name: records[name] for name in records.columns if name in ("frame", "label") or _count_known(records, name)
    }
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
