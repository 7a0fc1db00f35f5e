"""Several pictures in one cell: a JSON list of paths, or a folder with the frames of a video, in order of their names.

A question may take so many of them, in even steps, the first and the last among them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.core.errors import EmptyInput, InputError, InvalidValue, TooLarge, UnreadableFile
from steelyard.core.frozen import Frozen
from steelyard.vlm.images import Picture, read_picture

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif")
MOST = 256  # pictures of one question


class Shots(Frozen):
    """The pictures of a cell; none where one cannot be read, and `problem` says why."""

    pictures: tuple[Picture, ...] = ()
    problem: str = ""

    def stored_cell(self) -> str:
        """As a cell of the frames that a run keeps."""
        held: dict[str, Any] = {"pictures": [[one.digest, one.width, one.height] for one in self.pictures]}
        return json.dumps(held | ({"problem": self.problem} if self.problem else {}))


def read_shots(folder: Path, cell: str, key: str, picture_cache: dict[Path, Picture]) -> Shots:
    """The pictures that a cell names; `key` is its column and, behind `#`, how many are taken."""
    try:
        paths = _paths(folder, cell.strip())
        count = int(key.rpartition("#")[2]) if "#" in key else 0
        pictures = []
        for path in _even(paths, count):
            if path not in picture_cache:
                picture_cache[path] = read_picture(path)
            pictures.append(picture_cache[path])
        return Shots(tuple(pictures))
    except InputError as error:
        return Shots(problem=str(error))


def stored_shots(cell: str, where: str) -> Shots:
    """The pictures as a run kept them."""
    try:
        held = json.loads(cell)
        pictures = tuple(Picture(_text(digest), int(width), int(height)) for digest, width, height in held["pictures"])
        return Shots(pictures, _text(held.get("problem", "")))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise InvalidValue(f"'{cell[:40]}' is not a list of images of a run", where=where) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def several(cell: str) -> bool:
    """Whether a cell is a list of pictures."""
    return cell.lstrip().startswith("[")


def _paths(folder: Path, cell: str) -> list[Path]:
    if not cell:
        raise EmptyInput("no image is named")
    if cell.startswith("["):
        try:
            names = json.loads(cell)
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise InvalidValue(f"'{cell[:60]}' is not a list of images", remedy='Write ["a.jpg", "b.jpg"].')
        return [folder / name for name in names]
    place = folder / cell
    try:
        if not place.is_dir():
            return [place]
        paths = sorted(path for path in place.iterdir() if path.suffix.lower() in ENDINGS)
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"the folder cannot be read: {error}", where=str(place)) from None
    if not paths:
        raise EmptyInput("the folder holds no images", where=str(place), remedy=f"Known: {', '.join(ENDINGS)}.")
    return paths


def _even(paths: list[Path], count: int) -> list[Path]:
    if count and len(paths) > count:
        last = len(paths) - 1
        return [paths[(2 * i * last + count - 1) // (2 * (count - 1))] for i in range(count)]
    if len(paths) > MOST:
        remedy = f"At most {MOST} are shown: say 'frames: 8' in the question."
        raise TooLarge(f"there are {len(paths)} images", where=str(paths[0].parent), remedy=remedy)
    return paths


def shots_of(shots: Mapping[str, Shots], keys: tuple[str, ...]) -> Shots:
    """The pictures of several cells, one after the other."""
    held = [shots.get(key, Shots(problem=f"the frames of this run have no images '{key}'")) for key in keys]
    problem = next((one.problem for one in held if one.problem), "")
    return Shots(problem=problem) if problem else Shots(tuple(picture for one in held for picture in one.pictures))
