"""Files of tracks: folders, archives or single files of MOTChallenge, KITTI, MOTS and CVAT, one per sequence."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from configparser import ConfigParser
from configparser import Error as IniError
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from steelyard.core.errors import DuplicateKey, EmptyInput, InvalidValue, ShapeMismatch, UnreadableFile
from steelyard.core.frozen import frozen
from steelyard.core.numerals import is_whole
from steelyard.core.opening import check_readable, is_entry, open_archive
from steelyard.core.records import Array, Records, as_object
from steelyard.io.text import read_bytes
from steelyard.tasks.tracking import rows as trackrows

_ATTRIBUTES = {"framerate": "frame_rate", "imwidth": "image_width", "imheight": "image_height"}
_READERS: dict[str, Callable[[bytes, str, trackrows.TrackReadOptions], trackrows.SequenceRows]] = {
    "motchallenge": trackrows.read_mot,
    "kitti": trackrows.read_kitti,
    "mots": trackrows.read_mots,
    "cvat": trackrows.read_cvat,
}


@frozen
class File:
    """One sequence: its name, what its file is called in messages, its bytes, what is known of it, and its size."""

    sequence: str
    source: str
    read: Callable[[], bytes]
    facts: dict[str, str]
    size: int


def read_files(
    path: Path, source: str, side: str, format_: str, first_frame: float | None, skip_untracked: bool
) -> Records:
    """The rows of all sequences of a folder, an archive or a file."""
    files = _files(path, source)
    name = format_ if format_ != "auto" else _detect(files, source)
    reading = trackrows.TrackReadOptions(side, None if first_frame is None else int(first_frame), skip_untracked)
    names: set[str] = set()
    for file in files:
        if file.sequence in names:
            raise DuplicateKey(
                f"sequence '{file.sequence}' appears twice", where=file.source, remedy="Rename one of them."
            )
        names.add(file.sequence)
    gathered = _Gathered(files)
    for file in files:
        gathered.add(file, _READERS[name](file.read(), file.source, reading))
    return gathered.records(source, side)


def _files(path: Path, source: str) -> list[File]:
    if path.is_dir():
        files = _in_folder(path)
        if not files:
            raise EmptyInput(
                "holds no files of tracks", where=source,
                remedy="Known are <sequence>/gt/gt.txt, <sequence>.txt, data/<sequence>.txt, label_02/<sequence>.txt.",
            )  # fmt: skip
        return files
    check_readable(path, source)
    if zipfile.is_zipfile(path):
        return _in_zip(path, source)
    inside = path.name in ("gt.txt", "det.txt") and path.parent.name in ("gt", "det")
    folder = path.parent.parent if inside else None
    name = folder.resolve().name if folder is not None else path.name.partition(".")[0]
    facts = {} if folder is None else _info(folder)
    return [File(name, source, lambda: read_bytes(path, source), facts, path.stat().st_size)]


def _in_folder(path: Path) -> list[File]:
    by_sequence = sorted(file for one in path.iterdir() if is_entry(file := one / "gt" / "gt.txt"))
    if by_sequence:
        return [_file(file, file.parent.parent.name, file.parent.parent) for file in by_sequence]
    if is_entry(path / "gt" / "gt.txt"):
        return [_file(path / "gt" / "gt.txt", path.resolve().name, path)]
    for folder in (path, path / "data", path / "label_02"):
        for pattern in ("*.txt", "*.xml"):
            flat = sorted(file for file in folder.glob(pattern) if is_entry(file) and file.name != "seqmap.txt")
            if flat:
                return [_file(file, file.stem, None) for file in flat]
    return []


def _file(path: Path, name: str, folder: Path | None) -> File:
    facts = {} if folder is None else _info(folder)
    check_readable(path, str(path))
    return File(name, str(path), lambda: read_bytes(path, str(path)), facts, path.stat().st_size)


def _info(folder: Path) -> dict[str, str]:
    """What `seqinfo.ini` says of a sequence."""
    path = folder / "seqinfo.ini"
    if not is_entry(path):
        return {}
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(read_bytes(path, str(path)).decode("utf-8", "replace"))
    except IniError as error:
        raise UnreadableFile(f"cannot be read: {str(error).splitlines()[0]}", where=str(path)) from None
    facts = dict(parser["Sequence"]) if parser.has_section("Sequence") else {}
    length = facts.get("seqlength", "")
    if length and not is_whole(length.strip(), 15):
        raise ShapeMismatch(f"seqLength is '{length}'", where=str(path), remedy="It must be a whole number.")
    return facts


def _in_zip(path: Path, source: str) -> list[File]:
    def reader(name: str) -> Callable[[], bytes]:
        def read() -> bytes:
            with open_archive(path, source) as archive:
                return archive.read(name)

        return read

    with open_archive(path, source) as archive:
        entries = sorted(archive.members.items())
    files = []
    for entry, about in entries:
        place = PurePosixPath(entry)
        if about.is_dir() or not entry.endswith(".txt") or place.parts[0] == "__MACOSX":
            continue
        inside = place.name == "gt.txt" and len(place.parts) >= 3
        name = place.parts[-3] if inside else place.stem
        files.append(File(name, f"{source}/{entry}", reader(entry), {}, about.file_size))
    if not files:
        raise InvalidValue("holds no .txt files", where=source, remedy="Pack one <sequence>.txt for each sequence.")
    return files


def _detect(files: Sequence[File], source: str) -> str:
    """The format, by the first line that there is."""
    for file in files:
        text = file.read()
        if file.source.endswith(".xml"):
            return "cvat"
        line = next((line for line in text[:65536].splitlines() if line.strip()), b"")
        fields = line.replace(b",", b" ").split()
        if not fields:
            continue
        if len(fields) in (17, 18) and not _is_number(fields[2]):
            return "kitti"
        return "mots" if len(fields) == 6 and b"," not in line and not _is_number(fields[5]) else "motchallenge"
    return "motchallenge"  # of which every file is empty


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@frozen
class _Sequence:
    """What stays of a file once its rows are in the columns: the line of each row, and how many frames it has."""

    file: File
    lines: Array | range
    frames: int

    def __len__(self) -> int:
        return max(1, len(self.lines))


class _Gathered:
    """The rows of all files in the columns that they end in: a file's own rows need not be held beside those of all.

    Room is made by the size of the files, as many rows for a byte as the first of them has.
    """

    def __init__(self, files: Sequence[File]) -> None:
        self._files = files
        self._bytes, self._read = sum(file.size for file in files), 0
        self._columns: dict[str, Array] = {}
        self._rows = 0
        self._empty: list[int] = []
        self._parts: list[_Sequence] = []

    def add(self, file: File, part: trackrows.SequenceRows) -> None:
        """One file more; one without rows has a row that only names its sequence."""
        count = len(part)
        self._parts.append(_Sequence(file, part.lines, part.frames))
        self._read += file.size
        if not count:
            self._empty.append(self._rows)
        elif self._columns and self._columns.keys() != part.columns.keys():
            odd = min(self._columns.keys() ^ part.columns.keys())
            what = f"has {odd}, and other files have none" if odd in part.columns else f"has no {odd}, and others have"
            raise InvalidValue(what, where=part.source, remedy="Write all files alike.")
        self._reserve(part)
        for key, values in part.columns.items() if count else ():
            self._columns[key][self._rows : self._rows + count] = values
        self._rows += max(1, count)

    def _reserve(self, part: trackrows.SequenceRows) -> None:
        """Room for the rows of a file, and of those behind it if they are like those before."""
        needed = self._rows + max(1, len(part))
        expected = int(1.02 * needed * self._bytes / max(1, self._read)) + len(self._files)
        for key, values in part.columns.items() if len(part) else ():
            column = self._columns.get(key)
            kind = values.dtype if column is None else np.promote_types(column.dtype, values.dtype)
            if column is None or len(column) < needed or column.dtype != kind:
                roomy = np.empty(max(needed, expected), kind)
                if column is not None:
                    roomy[: self._rows] = column[: self._rows]
                self._columns[key] = roomy

    def records(self, source: str, side: str) -> Records:
        """All sequences one after the other."""
        files, lengths = self._files, [len(part) for part in self._parts]
        columns: dict[str, Array] = {"sequence": np.repeat(as_object([file.sequence for file in files]), lengths)}
        for key in self._columns or ("frame", "track", "x", "y", "w", "h"):
            columns[key] = self._whole(key)
        if side == "truth":
            given = [part.file.facts.get("seqlength") or part.frames for part in self._parts]
            if any(given):
                numbers = [int(one) if one else 0 for one in given]
                short = all(given) and max(numbers) <= np.iinfo(np.int32).max
                known = np.array(numbers, np.int32) if short else np.array([one or np.nan for one in numbers])
                columns["frames"] = np.repeat(known, lengths)
        other: dict[str, Array] = {}
        for key, name in _ATTRIBUTES.items():
            if side == "truth" and all(key in file.facts for file in files):
                other[name] = np.repeat(_short([file.facts[key].strip() for file in files]), lengths)
        starts, parts = np.cumsum([0, *lengths]), self._parts

        def place(row: int) -> str:
            number = int(np.searchsorted(starts, row, side="right")) - 1
            lines, inside = parts[number].lines, row - int(starts[number])
            return f"{files[number].source}, line {lines[inside]}" if inside < len(lines) else files[number].source

        return Records(source, columns, other, place, {key: key for key in columns})

    def _whole(self, key: str) -> Array:
        """One column, with a cell that stands for nothing where a file has no rows."""
        values = self._columns.get(key, np.zeros(self._rows))[: self._rows]
        if not self._empty:
            return values
        nothing: Any = np.nan
        if values.dtype == object:
            nothing = trackrows.NO_MASK if key == "mask" else ""
        elif values.dtype == bool or key in ("track", "label"):
            nothing = 0
        elif values.dtype.kind != "f":
            values = values.astype(np.float64)
        values[self._empty] = nothing
        return values


def _short(texts: list[str]) -> Array:
    """Texts, or the whole numbers that they are, in two bytes each: there is one for every row of a sequence."""
    numbers = all(text.isascii() and text.isdigit() and len(text) < 5 and text == str(int(text)) for text in texts)
    return np.array(texts, dtype=np.int16) if numbers else as_object(texts)
