"""YOLO: a text file per image, one line per box: class, centre, size as fractions of the image, and perhaps a score.

Lines of more than six numbers are polygons, as Ultralytics takes them. Sizes come from the headers of the pictures, or
from `image_sizes.csv` beside the labels, which is written here since the format has no place for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Incompatible,
    InputError,
    InvalidFile,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    MissingData,
    MissingFile,
    MissingKey,
    OutOfRange,
)
from steelyard.core.opening import is_entry
from steelyard.io.csv import read_csv
from steelyard.io.formats.dataset import Category, Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format, ReadOptions
from steelyard.io.formats.names import read_names, read_settings
from steelyard.io.formats.numbers import EXACT, SHORT, coordinate, exact, plain, polygon_of, score
from steelyard.io.formats.sizes import ENDINGS, picture_size, whole_pixels
from steelyard.io.text import open_text
from steelyard.io.write import csv_text

SIZES = "image_sizes.csv"
NAME_FILES = ("data.yaml", "dataset.yaml", "data.yml", "classes.txt", "obj.names", "names.txt")
NOT_LABELS = {"classes.txt", "names.txt", "train.txt", "val.txt", "test.txt", "readme.txt", "notes.txt"}
DIGITS = (6, 10, 14, 18, 24, 40)
MOST_SHARE = 10
MANY_DIGITS = 350  # for numbers that no picture has

Size = tuple[int, int]


def label_folder(path: Path) -> Path:
    """Where the label files are: `labels` of a data set, or the folder itself."""
    return path / "labels" if (path / "labels").is_dir() else path


def files_of(path: Path) -> list[Path]:
    """The label files of a folder and of those below."""
    return sorted(file for file in label_folder(path).rglob("*.txt") if file.name.lower() not in NOT_LABELS)


def read(
    path: Path,
    source: str,
    side: str = "",
    *,
    images: str | None = None,
    names: str | None = None,
    known: Mapping[str, Size] | None = None,
) -> Dataset:
    """All images of a folder. `known` gives sizes of images by name, before any picture is looked for."""
    folder = label_folder(path)
    classes, points = class_names(path, names)
    sizes = {**(known or {}), **size_table(path, folder)}
    pictures = pictures_of(folder, images)
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in files_of(path)}
    order = sorted(
        {
            *files,
            *(pictures if side != "prediction" else ()),
            *(size_table(path, folder) if side != "prediction" else ()),
        }
    )
    gathered = Gatherer()
    skipped = 0
    for name in order:
        lines = label_lines(files[name]) if name in files else []
        size = sizes.get(name)
        if size is None and name in pictures:
            size = picture_size(pictures[name])
        if size is None and lines:
            raise no_size(name, folder, images)
        file = _file_name(pictures.get(name), folder, images, name)
        gathered.pictures.append(Picture(name, file, *(size or (None, None))))
        polygons = any(len(numbers) > 6 for _, numbers in lines) and not points
        for where, numbers in lines:
            skipped += len(numbers) - 6 if points else 0
            _box(gathered, numbers, where, size or (0, 0), polygons, points, classes)
    used = {int(key) for key in gathered.categories}
    count = max([len(classes), *(key + 1 for key in used)], default=0)
    notes = [f"{skipped} numbers of keypoints are left out."] if skipped else []
    categories = [Category(i, classes[i] if i < len(classes) else "") for i in range(count)]
    return gathered.dataset(
        source, "yolo", side, categories=categories, by_file=True, numbered=not classes, notes=notes
    )


def validation_folders(path: Path, source: str) -> tuple[Path, Path]:
    """The labels and the images of the validation split that a data.yaml names, as Ultralytics and Roboflow do."""
    settings = read_settings(path)
    split = settings.get("val", "")
    if not split or split[0] in "[{":
        raise MissingKey("'val' does not name one folder", where=source, remedy="Give the folder of labels itself.")
    relative = split
    while relative.startswith("../"):
        relative = relative[3:]
    root = path.parent / settings.get("path", "")
    places = [root / split, path.parent / split, root / relative, path.parent / relative]
    images = next((place for place in places if place.is_dir()), None)
    if images is None:
        raise MissingFile(
            f"'val' is '{split}', and there is no such folder",
            where=source,
            remedy="Correct the path, or give the folder of labels itself.",
        )
    parts = list(images.parts)
    at = max((i for i, part in enumerate(parts) if part == "images"), default=-1)
    labels = Path(*parts[:at], "labels", *parts[at + 1 :]) if at >= 0 else images
    if not labels.is_dir():
        raise MissingFile("there is no such folder of labels", where=str(labels), remedy=f"It belongs to {images}.")
    return labels, images


def class_names(path: Path, names: str | None) -> tuple[list[str], bool]:
    """The names of the classes, given or beside the labels, and whether labels hold keypoints."""
    if names:
        return read_names(Path(names))
    for folder in (path, label_folder(path), path.parent):
        for name in NAME_FILES:
            if is_entry(folder / name):
                return read_names(folder / name)
    return [], False


def size_table(path: Path, folder: Path) -> dict[str, Size]:
    """Sizes of images from a table beside the labels."""
    for file in (path / SIZES, folder / SIZES):
        if is_entry(file):
            return read_sizes(file)
    return {}


def read_sizes(file: Path) -> dict[str, Size]:
    """A table of image, width, height."""
    table = read_csv(file, str(file))
    for name in ("image", "width", "height"):
        if name not in table.columns:
            raise MissingColumn(f"column '{name}' is missing", where=str(file), remedy="It needs image, width, height.")
    sizes = {}
    for row in range(len(table)):
        width, height = (str(table.columns[name][row]).strip() for name in ("width", "height"))
        if not (whole_pixels(width) and whole_pixels(height)):
            shown = f"'{width[:40]}' × '{height[:40]}'"
            raise InvalidNumber(f"a size of {shown}", where=table.place(row), remedy="Give whole pixels.")
        sizes[str(table.columns["image"][row]).strip()] = (int(width), int(height))
    return sizes


def image_folder(folder: Path, images: str | None) -> Path:
    """Where the pictures are: as given, or `images` in place of the last `labels`, or beside the labels."""
    if images:
        path = Path(images)
        if not path.is_dir():
            raise MissingFile("there is no such folder", where=images, remedy="Give the folder of the pictures.")
        return path
    parts = list(folder.parts)
    for i in range(len(parts) - 1, -1, -1):
        if parts[i] == "labels":
            sibling = Path(*parts[:i], "images", *parts[i + 1 :])
            return sibling if sibling.is_dir() else folder
    return folder / "images" if (folder / "images").is_dir() else folder


def pictures_of(folder: Path, images: str | None) -> dict[str, Path]:
    """Files of pictures by their names without ending."""
    base = image_folder(folder, images)
    by_stem: dict[str, Path] = {}
    for directory, _, names in os.walk(base):
        for name in names:
            if name.lower().endswith(ENDINGS):
                file = Path(directory, name)
                stem = file.relative_to(base).with_suffix("").as_posix()
                if stem in by_stem:
                    other = by_stem[stem].name
                    raise Incompatible(f"'{other}' and '{name}' differ only in their endings", where=str(base))
                by_stem[stem] = file
    return by_stem


def _file_name(picture: Path | None, folder: Path, images: str | None, name: str) -> str:
    return name if picture is None else picture.relative_to(image_folder(folder, images)).as_posix()


def no_size(name: str, folder: Path, images: str | None) -> InputError:
    """An error about an image whose size nothing says."""
    return MissingFile(
        f"the size of image '{name}' is not known: there is no such picture in {image_folder(folder, images)}",
        where=str(folder),
        remedy=f"Give the folder of the pictures (images=FOLDER), or a file {SIZES} with image, width, height.",
    )


def label_lines(file: Path) -> list[tuple[str, list[str]]]:
    """Where each line of a file stands, and its words."""
    rows = []
    with open_text(file, str(file)) as text:
        for number, line in enumerate(text, start=1):
            if line.strip():
                rows.append((f"{file}, line {number}", line.split()))
    return rows


def share(text: str, where: str) -> Decimal:
    """A coordinate as a share of the picture; a little outside is a box that is cut off, far outside are pixels."""
    value = coordinate(text, "a coordinate", where)
    if abs(value) > MOST_SHARE:
        raise OutOfRange(
            f"a coordinate is '{text}', {MOST_SHARE} pictures away",
            where=where,
            remedy="YOLO's numbers are shares of the picture, from 0 to 1: divide pixels by its size.",
        )
    return value


def _box(
    gathered: Gatherer, numbers: list[str], where: str, size: Size, polygons: bool, points: bool, classes: list[str]
) -> None:
    count = len(numbers)
    if count < 5 or (polygons and count < 7):
        expected = "a class and at least three points" if polygons else "class, x, y, width, height (and score)"
        raise InvalidFile(
            f"{count_text(count, 'number')} where {expected} are expected",
            where=where,
            remedy="Is it a YOLO label file?",
        )
    label = class_number(numbers[0], where, classes)
    if polygons:
        number = numbers[-1] if count % 2 == 0 else None
        flat = [share(text, where) for text in numbers[1 : count - (count % 2 == 0)]]
        xs = [EXACT.multiply(v, Decimal(size[0])) for v in flat[::2]]
        ys = [EXACT.multiply(v, Decimal(size[1])) for v in flat[1::2]]
        left, top = min(xs), min(ys)
        box = (float(left), float(top), float(EXACT.subtract(max(xs), left)), float(EXACT.subtract(max(ys), top)))
        extra: dict[str, Any] = {"segmentation": [[float(v) for pair in zip(xs, ys, strict=True) for v in pair]]}
    else:
        number = numbers[5] if count == 6 else None
        cx, cy, w, h = (share(text, where) for text in numbers[1:5])
        box = _from_centre(cx, cy, w, h, size)
        extra = {}
    gathered.add(str(label), box, where, score=score(number, where) if number is not None else None, extra=extra)


def class_number(text: str, where: str, classes: list[str]) -> int:
    """A class, counted from 0."""
    whole = text.removesuffix(".0") if text.endswith(".0") else text
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 9):
        raise InvalidNumber(f"the class is '{text}'", where=where, remedy="It must be a whole number from 0 up.")
    if classes and int(whole) >= len(classes):
        raise MissingKey(
            f"class {whole} has no name: there are {len(classes)} names, from 0 to {len(classes) - 1}",
            where=where,
            remedy="Classes of YOLO count from 0. Is the list of names the right one?",
        )
    return int(whole)


def _from_centre(cx: Decimal, cy: Decimal, w: Decimal, h: Decimal, size: Size) -> tuple[float, float, float, float]:
    width, height = (EXACT.multiply(v, Decimal(n)) for v, n in ((w, size[0]), (h, size[1])))
    half = Decimal("0.5")
    x = EXACT.subtract(EXACT.multiply(cx, Decimal(size[0])), EXACT.multiply(width, half))
    y = EXACT.subtract(EXACT.multiply(cy, Decimal(size[1])), EXACT.multiply(height, half))
    return float(x), float(y), float(width), float(height)


def render(dataset: Dataset, polygons: bool = False) -> Iterator[tuple[str, str]]:
    """The label files, the list of classes and the sizes."""
    rows: list[list[int]] = [[] for _ in dataset.pictures]
    for row, i in enumerate(dataset.picture.tolist()):
        rows[i].append(row)
    sizes = []
    for picture, own in zip(dataset.pictures, rows, strict=True):
        if own and (picture.width is None or picture.height is None):
            raise MissingData(
                f"the size of image '{picture.id}' is not known, and YOLO has fractions of it",
                where=dataset.source,
                remedy="Give the folder of the images (`images=FOLDER`), or a data set with their sizes (`like=FILE`).",
            )
        if picture.width is not None and picture.height is not None:
            sizes.append((picture.stem, picture.width, picture.height))
        if dataset.score is None or own:
            lines = [_line(dataset, row, (picture.width or 0, picture.height or 0), polygons) for row in own]
            yield f"labels/{picture.stem}.txt", "".join(f"{line}\n" for line in lines)
    yield SIZES, csv_text(("image", "width", "height"), sizes)
    listed = "".join(f"  {i}: {yaml_name(c.display_name)}\n" for i, c in enumerate(dataset.categories))
    yield "data.yaml", f"path: .\ntrain: images\nval: images\nnc: {len(dataset.categories)}\nnames:\n{listed}"


def _line(dataset: Dataset, row: int, size: Size, polygons: bool) -> str:
    label = int(dataset.category[row])
    if polygons:
        text = _polygon(dataset, row, size)
    else:
        text = " ".join(_fractions(dataset.box[row].tolist(), size))
    last = "" if dataset.score is None else f" {float(dataset.score[row])!r}"
    return f"{label} {text}{last}"


def _fractions(box: list[float], size: Size) -> list[str]:
    """Centre and size with as many digits as it takes to read the same box again."""
    x, y, w, h = map(exact, box)
    width, height = Decimal(size[0]), Decimal(size[1])
    half = Decimal("0.5")
    centre = EXACT.add(x, EXACT.multiply(w, half)), EXACT.add(y, EXACT.multiply(h, half))
    parts = (centre[0], width), (centre[1], height), (w, width), (h, height)
    short = [SHORT.divide(v, n) for v, n in parts]
    for digits in DIGITS:
        rounded = [_round_digits(part, digits) for part in short]
        if _from_centre(rounded[0], rounded[1], rounded[2], rounded[3], size) == tuple(box):
            return [plain(part) for part in rounded]
    return [plain(_round_digits(EXACT.divide(v, n), MANY_DIGITS)) for v, n in parts]


def _round_digits(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), context=EXACT)


def _polygon(dataset: Dataset, row: int, size: Size) -> str:
    flat = polygon_of(dataset.extra_of(row).get("segmentation"))
    if flat is None:
        raise InvalidValue(
            "an object that is not one polygon",
            where=dataset.place(row),
            remedy="YOLO's polygons need exactly one for each object; leave `polygons` out to write boxes.",
        )
    texts = []
    for i, value in enumerate(flat):
        side = Decimal(size[i % 2])
        share = EXACT.divide(exact(value), side)
        shorter = (_round_digits(share, digits) for digits in (*DIGITS, MANY_DIGITS))
        texts.append(plain(next((one for one in shorter if float(EXACT.multiply(one, side)) == value), share)))
    return " ".join(texts)


def yaml_name(name: str) -> str:
    """A name in quotes unless it is a plain word."""
    if name.replace("_", "a").replace("-", "a").isalnum() and name[0].isalpha() and name.lower() not in _WORDS:
        return name
    return "'" + name.replace("'", "''") + "'"


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def _read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    """Sizes of images come from the truth, too, where predictions are read."""
    sizes = {}
    for p in like.pictures if like is not None else ():
        if p.width is not None and p.height is not None:
            sizes[p.stem] = sizes[PurePosixPath(p.stem).name] = (p.width, p.height)
    images, names = reading.images, reading.names
    if path.is_file():  # a data.yaml
        names = names or str(path)
        path, pictures = validation_folders(path, source)
        images = images or str(pictures)
    return read(path, source, side, images=images, names=names, known=sizes)


FORMAT = Format(
    "yolo",
    "YOLO: a folder of text files, one per image",
    _read,
    render=lambda dataset, options: render(dataset, options.polygons),
    folder=True,
)
