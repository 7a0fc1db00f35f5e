"""YOLO-OBB: a text file per image, a line per object: class, four corners as fractions of the image, and a score."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InvalidFile, MissingData
from steelyard.io.formats.corners import Quads, corners_of_dataset
from steelyard.io.formats.dataset import Category, Dataset
from steelyard.io.formats.format import Format, Loss, ReadOptions, WriteOptions
from steelyard.io.formats.numbers import score
from steelyard.io.formats.sizes import picture_size
from steelyard.io.formats.yolo import (
    SIZES,
    Size,
    class_names,
    class_number,
    files_of,
    label_folder,
    label_lines,
    no_size,
    pictures_of,
    share,
    size_table,
    yaml_name,
)
from steelyard.io.write import csv_text


def read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    """All images of a folder; sizes come from the pictures, from `image_sizes.csv`, or from the truth."""
    folder = label_folder(path)
    classes = class_names(path, reading.names)[0]
    table = size_table(path, folder)
    sizes: dict[str, Size] = {}
    for p in like.pictures if like is not None else ():
        if p.width is not None and p.height is not None:
            sizes[p.stem] = sizes[PurePosixPath(p.stem).name] = (p.width, p.height)
    sizes |= table
    pictures = pictures_of(folder, reading.images)
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in files_of(path)}
    listed = {*files, *(() if side == "prediction" else (*pictures, *table))}
    if not listed:
        raise EmptyInput("the folder holds no label files", where=source, remedy="YOLO-OBB has one per image.")
    gathered = Quads()
    for name in sorted(listed):
        lines = label_lines(files[name]) if name in files else []
        size = sizes.get(name)
        if size is None and name in pictures:
            size = picture_size(pictures[name])
        if size is None and lines:
            raise no_size(name, folder, reading.images)
        gathered.image(name, *(size or (None, None)))
        for where, words in lines:
            _object(gathered, name, words, where, size or (0, 0), side, classes)
    count = max([len(classes), *(int(key) + 1 for key in gathered.labels)], default=0)
    categories = [Category(i, classes[i] if i < len(classes) else "") for i in range(count)]
    return gathered.dataset(source, "yolo-obb", side, categories=categories, numbered=not classes)


def _object(
    gathered: Quads, name: str, words: list[str], where: str, size: Size, side: str, classes: list[str]
) -> None:
    count = len(words)
    if count not in (9, 10) or (side == "truth" and count == 10) or (side == "prediction" and count == 9):
        remedy = "A tenth number is the score of a prediction." if count in (9, 10) else "Is it a YOLO-OBB label file?"
        expected = {"truth": "9", "prediction": "10"}.get(side, "9 or 10")
        raise InvalidFile(
            f"{count_text(count, 'number')} where {expected} are expected: "
            f"class, four corners{', score' if expected != '9' else ''}",
            where=where, remedy=remedy,
        )  # fmt: skip
    label = class_number(words[0], where, classes)
    corners = [float(share(text, where)) * size[i % 2] for i, text in enumerate(words[1:9])]
    gathered.add(name, str(label), corners, where, score=score(words[9], where) if count == 10 else None)


def render(dataset: Dataset, options: WriteOptions) -> Iterator[tuple[str, str]]:
    """The label files, the sizes and the list of classes."""
    corners = corners_of_dataset(dataset)
    rows: list[list[int]] = [[] for _ in dataset.pictures]
    for row, i in enumerate(dataset.picture.tolist()):
        rows[i].append(row)
    sizes = []
    for picture, own in zip(dataset.pictures, rows, strict=True):
        if own and (picture.width is None or picture.height is None):
            raise MissingData(
                f"the size of image '{picture.id}' is not known, and YOLO has fractions of it", where=dataset.source,
                remedy="Give the folder of the images (`images=FOLDER`), or a data set with their sizes (`like=FILE`).",
            )  # fmt: skip
        size = picture.width or 0, picture.height or 0
        if picture.width is not None:
            sizes.append((picture.stem, *size))
        lines = []
        for row in own:
            shares = " ".join(repr(v / size[i % 2]) for i, v in enumerate(corners[row].tolist()))
            last = "" if dataset.score is None else f" {float(dataset.score[row])!r}"
            lines.append(f"{int(dataset.category[row])} {shares}{last}\n")
        if dataset.score is None or own:
            yield f"labels/{picture.stem}.txt", "".join(lines)
    yield SIZES, csv_text(("image", "width", "height"), sizes)
    listed = "".join(f"  {i}: {yaml_name(c.display_name)}\n" for i, c in enumerate(dataset.categories))
    yield "data.yaml", f"path: .\ntrain: images\nval: images\nnc: {len(dataset.categories)}\nnames:\n{listed}"


def losses(dataset: Dataset, options: WriteOptions) -> list[Loss]:
    """Flags, and what else only JSON holds; corners may move by a rounding of their fractions."""
    lost = []
    for flags, what in ((dataset.crowd, "crowd flags"), (dataset.difficult, "difficult flags")):
        if flags is not None and flags.any():
            lost.append(Loss("lost", what, int(flags.sum()), "YOLO-OBB has no place for them"))
    rest = sum(bool(set(extra) - {"segmentation", "obb", "rbox", "poly", "id"}) for extra in dataset.extra)
    if rest:
        lost.append(Loss("lost", "other keys of objects", rest, "YOLO-OBB has class and corners"))
    return lost


FORMAT = Format(
    "yolo-obb", "YOLO-OBB: a folder of text files of four corners", read, render=render, losses=losses, folder=True
)
