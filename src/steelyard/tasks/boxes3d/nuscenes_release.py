"""The truth of nuScenes' detection task from the tables of a release.

Categories that are none of the ten classes are left out, but bicycle racks. A velocity is the way from the box of the
sample before to that of the sample behind over the time between; from one side alone at the ends of a track. It is not
known where there is neither, or where that takes more than 1.5 s (3 s with both).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.core.errors import InvalidValue, MissingKey, UnknownName
from steelyard.core.opening import is_entry
from steelyard.io.json import expect, parse_json
from steelyard.io.text import open_text

CLASSES = {
    "movable_object.barrier": "barrier", "movable_object.trafficcone": "traffic_cone", "vehicle.bicycle": "bicycle",
    "vehicle.bus.bendy": "bus", "vehicle.bus.rigid": "bus", "vehicle.car": "car", "vehicle.trailer": "trailer",
    "vehicle.construction": "construction_vehicle", "vehicle.motorcycle": "motorcycle", "vehicle.truck": "truck",
    "human.pedestrian.adult": "pedestrian", "human.pedestrian.child": "pedestrian",
    "human.pedestrian.construction_worker": "pedestrian", "human.pedestrian.police_officer": "pedestrian",
    "static_object.bicycle_rack": "bicycle_rack",
}  # fmt: skip
LONGEST = 1.5  # seconds from one box of a track to the next
# What stands under a key, where that is no text: its kind, and how many of it an array has (0: any number).
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
    kept = [token for token in samples if wanted is None or token in wanted]
    results: dict[str, list[Row]] = {token: [] for token in kept}
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
            raise InvalidValue(f"{len(states_of)} attributes", where=where, remedy="A box has one at most.")
        results[sample].append({
            "sample_token": sample, "translation": box["translation"], "size": box["size"],
            "rotation": box["rotation"], "velocity": _velocity(box, boxes, samples, where), "detection_name": name,
            "attribute_name": _find(states, states_of[0], where, "attribute")["name"] if states_of else "",
            "num_pts": box["num_lidar_pts"] + box["num_radar_pts"],
        })  # fmt: skip
    scene = {
        token: _find(scenes, samples[token]["scene_token"], f"{folder}, sample '{token}'", "scene")["name"]
        for token in kept
    }
    return {"meta": {}, "results": results, "ego": _places(folder, results), "scene": scene}


def _table(folder: Path, name: str, *needed: str) -> dict[str, Row]:
    """The rows of a table by their tokens."""
    path = folder / f"{name}.json"
    if not is_entry(path):
        raise UnknownName(
            f"there is no {name}.json",
            where=str(folder),
            remedy="Give the folder of a release's tables: v1.0-trainval.",
        )
    with open_text(path, str(path)) as file:
        rows = parse_json(file.read(), str(path))
    if not isinstance(rows, list):
        raise InvalidValue("is no list of rows", where=str(path), remedy="Give a table as nuScenes has it.")
    made: dict[str, Row] = {}
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
                raise InvalidValue(
                    f"'{key}' has {len(values)} numbers, not {count}", where=where, remedy="Is it whole?"
                )
        made[row["token"]] = row
    return made


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


def _places(folder: Path, kept: Mapping[str, Any]) -> dict[str, list[float]]:
    """Where the car stands when its upper lidar looks."""
    poses = _table(folder, "ego_pose", "translation")
    places = {}
    for token, row in _table(folder, "sample_data", "sample_token", "ego_pose_token", "filename").items():
        if row["sample_token"] in kept and row.get("is_key_frame") and "/LIDAR_TOP/" in row["filename"]:
            where = f"{folder}, sample_data '{token}'"
            places[row["sample_token"]] = _find(poses, row["ego_pose_token"], where, "ego_pose")["translation"]
    lacking = next((token for token in kept if token not in places), None)
    if lacking is not None:
        raise UnknownName(
            f"sample '{lacking}' has no sample_data of LIDAR_TOP", where=str(folder), remedy="Is the table whole?"
        )
    return places
