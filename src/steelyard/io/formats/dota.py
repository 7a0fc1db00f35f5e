"""DOTA: truth as a text file per image with a line per object, results as a file `Task1_{class}.txt` per class.

A line of truth is `x1 y1 x2 y2 x3 y3 x4 y4 class difficult`; two lines about the image may stand before them. A line of
results is `image score x1 y1 ... x4 y4`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from steelyard.core.counts import count_text
from steelyard.core.errors import CannotWrite, EmptyInput, InvalidFile, InvalidNumber, InvalidValue
from steelyard.core.opening import is_entry
from steelyard.io.formats.corners import Quads, corners_of_dataset
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.format import Format, Loss, ReadOptions, WriteOptions
from steelyard.io.text import open_text

HEADS = ("imagesource:", "gsd:")
RESULTS = "Task1_"
FIELDS = "9 or 10 are expected: 8 coordinates, class, difficult"


def files_of(path: Path) -> list[Path]:
    """The text files: of the folder `labelTxt` in it, of the folder itself, or the one that is named."""
    if is_entry(path):
        return [path]
    inner = path / "labelTxt"
    return sorted((inner if inner.is_dir() else path).glob("*.txt"))


def looks_like(path: Path) -> bool:
    """Whether a folder holds such files: by a name of results, or by a line whose ninth word is not a number."""
    files = files_of(path)
    if any(file.name.startswith(RESULTS) for file in files):
        return True
    for file in files:
        with open_text(file, str(file)) as text:
            for line in islice(text, 4):
                words = line.split()
                if line.startswith(HEADS):
                    return True
                if words:
                    return len(words) in (9, 10) and _number(words[8]) is None
    return False


def read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    """Truth or results, as the names of the files say unless `side` demands one."""
    files = files_of(path)
    if not files:
        raise EmptyInput("the folder holds no text files", where=source, remedy="DOTA has one per image, or per class.")
    results = [file.name.startswith(RESULTS) for file in files]
    if side == "prediction" or (not side and all(results)):
        wrong = next((file for file, named in zip(files, results, strict=True) if not named), None)
        if wrong is not None:
            raise InvalidFile(
                "is not a file of results", where=str(wrong), remedy="They are called Task1_{class}.txt, one per class."
            )
        return _results(files, source)
    if side == "truth" and any(results):
        wrong = files[results.index(True)]
        raise InvalidFile("results where truth is expected", where=str(wrong), remedy="Truth is a file per image.")
    return _truth(files, source, side)


def _truth(files: list[Path], source: str, side: str) -> Dataset:
    gathered = Quads()
    for file in files:
        gathered.image(file.stem)
        for where, words in _lines(file):
            if len(words) not in (9, 10):
                raise InvalidFile(
                    f"the line has {count_text(len(words), 'field')}; {FIELDS}", where=where, remedy="Correct the line."
                )
            difficult = words[9] if len(words) == 10 else "0"
            if _number(difficult) is None:
                raise InvalidValue(f"difficult is '{difficult}'", where=where, remedy="It is 0 or 1.")
            gathered.add(file.stem, words[8], _coordinates(words[:8], where), where, difficult=float(difficult) != 0)
    return gathered.dataset(source, "dota", side, by_name=True)


def _results(files: list[Path], source: str) -> Dataset:
    gathered = Quads()
    for file in files:
        label = file.stem.removeprefix(RESULTS)
        for where, words in _lines(file):
            if len(words) != 10:
                raise InvalidFile(
                    f"the line has {count_text(len(words), 'field')}; 10 are expected: image, score, 8 "
                    "coordinates", where=where,
                    remedy="Upright boxes (Task2) are read by the task 'boxes', from a table." if len(words) == 6
                    else "Correct the line.",
                )  # fmt: skip
            score = _number(words[1])
            if score is None or score - score != 0:
                raise InvalidNumber(f"the score is '{words[1]}'", where=where, remedy="It must be a finite number.")
            gathered.add(words[0], label, _coordinates(words[2:], where), where, score=score)
    return gathered.dataset(source, "dota", "prediction", by_name=True)


def _lines(file: Path) -> Iterator[tuple[str, list[str]]]:
    with open_text(file, str(file)) as text:
        for number, line in enumerate(text, start=1):
            words = line.split()
            if words and not line.startswith(HEADS):
                yield f"{file}, line {number}", words


def _number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _coordinates(words: list[str], where: str) -> list[float]:
    numbers = [_number(word) for word in words]
    if None in numbers:
        wrong = words[numbers.index(None)]
        raise InvalidNumber(f"a coordinate is '{wrong}'", where=where, remedy="Eight numbers: x and y of four corners.")
    return [number for number in numbers if number is not None]


def render(dataset: Dataset, options: WriteOptions) -> Iterator[tuple[str, str]]:
    """A file per image, or per class where there are scores."""
    corners = corners_of_dataset(dataset)
    for kind in dataset.categories:
        if not kind.display_name or any(c.isspace() or c in "/\\" for c in kind.display_name):
            raise CannotWrite(
                f"class '{kind.display_name}' cannot stand in a line of DOTA", where=dataset.source,
                remedy="Its words are separated by spaces: name it without.",
            )  # fmt: skip
    texts = [" ".join(repr(v) for v in row) for row in corners.tolist()]
    if dataset.score is not None:
        for k, kind in enumerate(dataset.categories):
            rows = [row for row, c in enumerate(dataset.category.tolist()) if c == k]
            lines = [f"{_stem(dataset, row)} {float(dataset.score[row])!r} {texts[row]}\n" for row in rows]
            yield f"{RESULTS}{kind.display_name}.txt", "".join(lines)
        return
    rows_of: list[list[int]] = [[] for _ in dataset.pictures]
    for row, i in enumerate(dataset.picture.tolist()):
        rows_of[i].append(row)
    for picture, rows in zip(dataset.pictures, rows_of, strict=True):
        lines = []
        for row in rows:
            hard = int(bool(dataset.difficult[row])) if dataset.difficult is not None else 0
            lines.append(f"{texts[row]} {dataset.categories[dataset.category[row]].display_name} {hard}\n")
        yield f"{picture.stem}.txt", "".join(lines)


def _stem(dataset: Dataset, row: int) -> str:
    stem: str = dataset.pictures[dataset.picture[row]].stem
    if any(c.isspace() for c in stem):
        raise CannotWrite(
            f"image '{stem}' cannot stand in a line of DOTA", where=dataset.source, remedy="It has spaces."
        )
    return stem


def losses(dataset: Dataset, options: WriteOptions) -> list[Loss]:
    """Crowds, areas, sizes of images, and what else only JSON holds."""
    lost = []
    if dataset.crowd is not None and dataset.crowd.any():
        lost.append(Loss("lost", "crowd flags", int(dataset.crowd.sum()), "DOTA has no place for them"))
    sizes = sum(picture.width is not None for picture in dataset.pictures)
    if sizes:
        lost.append(Loss("lost", "sizes of images", sizes, "DOTA has no place for them"))
    rest = sum(bool(set(extra) - {"segmentation", "obb", "rbox", "poly", "id"}) for extra in dataset.extra)
    if rest:
        lost.append(Loss("lost", "other keys of objects", rest, "DOTA has corners, class and difficult"))
    return lost


FORMAT = Format(
    "dota", "DOTA: text files of four corners, a file per image or per class", read, render=render, losses=losses,
    folder=True,
)  # fmt: skip
