"""Read any format, write any other, and say what was lost. A target is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from steelyard.core.errors import CannotWrite, EmptyInput, MissingFile, UnknownFormat, UnknownName
from steelyard.core.frozen import Frozen
from steelyard.core.numerals import is_whole
from steelyard.core.opening import is_entry
from steelyard.io.formats.dataset import Category, Dataset
from steelyard.io.formats.detect import TABLES, detect, ending_of, find_format
from steelyard.io.formats.fit import fit
from steelyard.io.formats.folder import recover, write_folder
from steelyard.io.formats.format import Loss, ReadOptions, WriteOptions
from steelyard.io.formats.losses import losses
from steelyard.io.formats.names import read_names
from steelyard.io.formats.sizes import picture_size
from steelyard.io.write import write_text

AS_IT_IS, PLAIN = ReadOptions(), WriteOptions()


class Conversion(Frozen):
    """What was read and written: formats, counts, and what was lost or changed on the way.

    `unit` is what `images` counts: frames, of boxes in space.
    """

    source: str
    source_format: str
    target: str
    target_format: str
    images: int
    boxes: int
    classes: int
    predictions: bool
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]
    unit: str = "images"

    @property
    def lossless(self) -> bool:
        """Whether nothing was lost."""
        return not any(loss.kind == "lost" for loss in self.losses)


def read_dataset(
    path: str | os.PathLike[str], reading: ReadOptions = AS_IT_IS, side: str = "", like: Dataset | None = None
) -> Dataset:
    """A data set in any format."""
    source, file = os.fspath(path), Path(path)
    file_format = find_format(detect(file, source) if reading.format == "auto" else reading.format)
    if file_format.folder and not file.exists():
        raise MissingFile("there is no such folder", where=source, remedy="Check the path.")
    dataset = file_format.read(file, source, side, reading, like)
    if not dataset.pictures and side != "prediction":
        raise EmptyInput("there is no image", where=source, remedy="It needs at least one.")
    if reading.images and file_format.name not in ("yolo", "yolo-obb"):
        _measure(dataset, Path(reading.images))
    if reading.names and file_format.name not in ("yolo", "yolo-obb"):
        dataset = _in_order(dataset, reading.names)
    return dataset


def _measure(dataset: Dataset, folder: Path) -> None:
    """Sizes that the file does not give, from the pictures."""
    if not folder.is_dir():
        raise MissingFile("there is no such folder", where=str(folder), remedy="Give the folder of the pictures.")
    for picture in dataset.pictures:
        if picture.width is None or picture.height is None:
            file = folder / (picture.file or str(picture.id))
            if not is_entry(file):
                raise MissingFile(f"there is no picture '{file.name}'", where=str(folder), remedy="Check the folder.")
            picture.width, picture.height = picture_size(file)


def _in_order(dataset: Dataset, names: str) -> Dataset:
    """The classes in the order of a list of names."""
    listed = read_names(Path(names))[0]
    like = replace(dataset, categories=[Category(n if dataset.by_name else i, n) for i, n in enumerate(listed)])
    for c in dataset.categories:
        if c.display_name not in listed and not (c.name == "" and is_whole(str(c.id)) and int(c.id) < len(listed)):
            raise UnknownName(
                f"class '{c.display_name}' is not in the list of names", where=names, remedy="Add it there."
            )
    fitted = fit(replace(dataset, numbered=False), like)
    return replace(fitted, pictures=dataset.pictures, picture=dataset.picture)


def target_format(target: Path) -> str:
    """The format that a target's name implies."""
    ending = target.suffix.lower()
    if name := ending_of(ending):
        return name
    if ending in TABLES:
        raise CannotWrite(f"'{ending}' cannot be written", where=str(target), remedy="Tables are written as .csv.")
    raise UnknownFormat(
        "the name does not say a format",
        where=str(target),
        remedy="Choose `to_format` voc, yolo, cvat, csv, coco or lvis.",
    )


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    reading: ReadOptions = AS_IT_IS,
    to: str = "auto",
    options: WriteOptions = PLAIN,
    *,
    like: str | os.PathLike[str] | None = None,
    strict: bool = False,
    force: bool = False,
) -> Conversion:
    """Read `source`, write `target`. With `strict`, nothing is written where something would be lost."""
    goal = Path(target)
    form = find_format(target_format(goal) if to == "auto" else to)
    if form.render is None:
        raise CannotWrite(f"the format '{form.name}' is read only", where=os.fspath(target), remedy="Choose another.")
    if form.folder:
        recover(goal)
    check_target(goal, form.folder, os.fspath(target), force)
    model = None if like is None else read_dataset(like)
    dataset = read_dataset(source, reading, like=model)
    read_as, notes = dataset.format, tuple(dataset.notes)
    if model is not None:
        dataset = fit(dataset, model)
    changes = tuple(losses(dataset, form.name, options) if form.losses is None else form.losses(dataset, options))
    if strict:
        refuse_losses(changes, os.fspath(target))
    _write(form.render(dataset, options), goal, dataset.source)
    return Conversion(
        os.fspath(source), read_as, os.fspath(target), form.name, len(dataset.pictures), len(dataset),
        len(dataset.categories), dataset.score is not None, changes, notes,
    )  # fmt: skip


def refuse_losses(changes: Iterable[Loss], target: str) -> None:
    """Raise where anything would be lost, before anything is written."""
    lost = [loss for loss in changes if loss.kind == "lost"]
    if lost:
        raise CannotWrite(
            f"{len(lost)} kinds of things would be lost; {lost[0].text()}", where=target,
            remedy="Nothing was written. Leave `strict` out to write it all the same.",
        )  # fmt: skip


def check_target(goal: Path, folder: bool, target: str, force: bool) -> None:
    """Refuse a target that is of another kind, or that holds something already."""
    if folder:
        if goal.is_file():
            raise CannotWrite("is a file, and the format needs a folder", where=target, remedy="Name a folder.")
        if goal.is_dir() and next(goal.iterdir(), None) is not None and not force:
            raise CannotWrite("the folder is not empty", where=target, remedy="Name a new one, or set `force=True`.")
    elif goal.is_dir():
        raise CannotWrite("is a folder, and the format is one file", where=target, remedy="Name a file.")
    elif goal.exists() and not force:
        raise CannotWrite("the file exists", where=target, remedy="Name a new one, or set `force=True`.")


def _write(rendered: str | Iterable[tuple[str, str]], goal: Path, source: str) -> None:
    if isinstance(rendered, str):
        write_text(goal, rendered)
    else:
        write_files(rendered, goal, source)


def write_files(files: Iterable[tuple[str, str]], goal: Path, source: str) -> None:
    """Write names and texts as the files of a folder, all or none."""
    write_folder(_check_names(files, source), goal)


def _check_names(files: Iterable[tuple[str, str]], source: str) -> Iterator[tuple[str, str]]:
    """Names of images become names of files: none may leave the folder or stand for two images."""
    seen: set[str] = set()
    for name, text in files:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or (parts and ":" in parts[0]):
            raise CannotWrite(
                f"an image named '{name}' cannot be a file of the target", where=source, remedy="Rename it."
            )
        if name.lower() in seen:
            raise CannotWrite(
                f"two images would be written to '{name}'", where=source, remedy="Give their files different names."
            )
        seen.add(name.lower())
        yield name, text
