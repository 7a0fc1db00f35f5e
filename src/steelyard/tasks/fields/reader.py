"""Both sides of a task of dense fields, with the masks and regions that options name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.core.errors import Conflict, DuplicateKey, MissingFile
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import maps
from steelyard.io.maps import bare_name, find_files, read_side

__all__ = ["read_side", "read_sides"]


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options
) -> tuple[Records, Records]:
    """Truth and predictions; the truth has a column for each mask and region."""
    first, second = maps.read_sides(task, truth, predictions, columns, options)
    folders = {f"region:{name}": path for name, path in (options.of("region") or {}).items()}
    if options.of("mask"):
        folders["mask"] = options.of("mask")
    for column, folder in folders.items():
        if column in first:
            raise Conflict(
                f"the truth has a column '{column}', and an option names a folder",
                where=first.source,
                remedy="Give one of them.",
            )
        files = _files_by_id(first, task.truth.key[0], column, str(folder))
        first = replace(first, columns={**first.columns, column: as_object(files)})
    return first, second


def _files_by_id(records: Records, key: str, column: str, folder: str) -> list[str]:
    """The file of a folder that belongs to each image: of the same name, else of the name without what datasets add."""
    option = "mask" if column == "mask" else f"region {column.partition(':')[2]}"
    if not os.path.isdir(folder):
        raise MissingFile("there is no such folder", where=folder, remedy=f"The option {option} names it.")
    ids, files = find_files(folder, "fields")
    exact = dict(zip(ids, files, strict=True))
    if column == "mask":  # DIODE's 00019_depth_mask.npy beside 00019_depth.npy
        exact = {name.removesuffix("_mask"): exact[name] for name in ids if name.endswith("_mask")} or exact
    near: dict[str, list[str]] = {}
    for name, file in exact.items():
        for short in {bare_name(name), name.rpartition("/")[2], bare_name(name.rpartition("/")[2])}:
            near.setdefault(short, []).append(file)
    chosen: list[str] = []
    owner: dict[str, str] = {}
    for name in map(str, records[key].tolist()):
        places = near.get(name) or near.get(bare_name(name)) or near.get(bare_name(name.rpartition("/")[2])) or []
        places = [exact[name]] if name in exact else places
        if len(places) > 1:
            what = f"'{name}' may be '{places[0]}' or '{places[1]}'"
            raise DuplicateKey(what, where=folder, remedy="Lay the masks out as the truth.")
        if not places:
            raise MissingFile(
                f"there is no mask for image '{name}'",
                where=folder,
                remedy=f"The option {option} needs a file for each image of the truth.",
            )
        if (other := owner.setdefault(places[0], name)) != name:
            what = f"'{places[0]}' is the only mask for '{other}' and '{name}'"
            raise DuplicateKey(what, where=folder, remedy="Lay the masks out as the truth.")
        chosen.append(places[0])
    return chosen
