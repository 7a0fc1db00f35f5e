"""Files of tracks: folders, archives or single files of MOTChallenge, KITTI, MOTS and CVAT, one per sequence."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as IniError
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    InputError,
    InvalidFile,
    InvalidNumber,
    InvalidText,
    InvalidValue,
    OutOfRange,
    ShapeMismatch,
)
from steelyard.core.frozen import Frozen
from steelyard.core.numerals import is_whole
from steelyard.core.opening import check_readable, is_entry, open_archive
from steelyard.core.records import Array, Records, as_object
from steelyard.io.formats.numbers import coordinate
from steelyard.io.formats.xml import Node, parse_xml
from steelyard.io.text import read_bytes

MOT_COLUMNS = ("frame", "track", "x", "y", "w", "h", "flag", "label")
NO_MASK: bytes = _native.mask_pack({"size": [1, 1], "counts": [1]})
LARGEST = 1 << 53  # up to here a double knows every whole number
IGNORED = 10  # the class of MOTS whose masks are regions


class TrackReadOptions(Frozen):
    """How files of one side are read."""

    side: str
    first_frame: int | None = None
    skip_untracked: bool = False


class SequenceRows(Frozen):
    """Columns of one sequence, the line of each row, and how many frames it has where the file says so."""

    source: str
    columns: dict[str, Array]
    lines: Array | range = range(0)
    frames: int = 0

    def __len__(self) -> int:
        return len(self.lines)


def read_mot(text: bytes, source: str, reading: TrackReadOptions) -> SequenceRows:
    """MOTChallenge: frame, id, left, top, width, height, then a flag and a class in the truth, a score elsewhere."""
    count, columns_of, fields, lines, wrong_line, wrong_field, wrong = _native.number_rows(text, 8)
    values, fields, lines = columns_of[:, :count], fields[:count], lines[:count]
    if wrong_line:
        what = wrong.decode("utf-8", "replace")[:40]
        remedy = "Rows are frame, id, left, top, width, height and more numbers."
        if wrong_line == 1 and not any(c.isdigit() for c in what):
            remedy = "Leave out the header, or name the file .csv."
        raise InvalidNumber(
            f"'{what}' is not a number", where=f"{source}, line {wrong_line}, column {wrong_field + 1}", remedy=remedy
        )
    if not len(lines):
        return SequenceRows(source, {})

    def refuse(rows: Array, what: str, column: int, remedy: str, kind: type[InputError] = InvalidNumber) -> None:
        if rows.any():
            row = int(np.argmax(rows))
            shown = what.format(f"{values[column, row]:g}")
            raise kind(shown, where=f"{source}, line {lines[row]}, column {column + 1}", remedy=remedy)

    few = int(fields.min())
    if few < 6:
        row = int(np.argmin(fields))
        raise InvalidFile(
            f"the row has {count_text(few, 'number')}",
            where=f"{source}, line {lines[row]}",
            remedy="It needs six at least.",
        )
    if few < 8 <= int(fields.max()):
        row = int(np.argmax(fields < 8))
        raise InvalidFile(
            f"the row has {fields[row]} numbers and others have more", where=f"{source}, line {lines[row]}",
            remedy="Write all rows alike.",
        )  # fmt: skip
    for place in range(6) if not np.isfinite(values[:6]).all() else ():
        column = values[place]
        if not np.isfinite(column).all():
            refuse(
                ~np.isfinite(column),
                "{} where a finite number is needed",
                place,
                "Leave the row out, or give a number.",
            )
    refuse(_no_whole(values[0]), "frame {} is not a whole number", 0, "Frames are counted.")
    frame = values[0].astype(np.int64)
    first = 1 if reading.first_frame is None else reading.first_frame
    refuse(
        frame < first, f"frame {{}}, and frames count from {first}", 0,
        "If all frames are one lower, set the option `first_frame=0`, or `prediction.first_frame=0` for one side.",
        OutOfRange,
    )  # fmt: skip
    refuse(_no_whole(values[1]), "track {} is not a whole number", 1, "Give every object a whole number.")
    track = values[1].astype(np.int64)
    columns: dict[str, Array] = {"frame": frame + (1 - first), "track": track}
    for place, name in enumerate(MOT_COLUMNS[2:6], start=2):
        columns[name] = values[place]
    if few >= 7 and reading.side == "truth":
        flag = values[6]
        refuse(
            (flag > 0) & (flag < 1), "column 7 of the truth is a flag (0 or not), not a score: {}", 6,
            "Write 1 for rows that are scored.", InvalidValue,
        )  # fmt: skip
        refuse(~(np.abs(flag) < LARGEST), "{} where a flag is needed", 6, "Write 1 for rows that are scored.")
        columns["flag"] = _whole(flag)
    elif few >= 7:
        refuse(np.isnan(values[6]), "{} where a score is needed", 6, "Write 1 where there is none.")
    if few >= 8:
        label = values[7]
        refuse(_no_whole(label), "class {} is not a whole number", 7, "Column 8 is the class.")
        if reading.side == "truth" or (label > 0).any():
            columns["label"] = _whole(label)
    first, last = int(lines[0]), int(lines[-1])
    every = range(first, last + 1) if last - first == count - 1 else lines.copy()  # no blank line between
    return _with_track_column(SequenceRows(source, columns, every), track, reading)


def _no_whole(values: Array) -> Array:
    """Which numbers are not whole, or too large to be exact."""
    return np.asarray(~((values == np.floor(values)) & (np.abs(values) < LARGEST)))


def _whole(values: Array) -> Array:
    """Classes and flags as whole numbers, of one byte where they fit, as a benchmark's do."""
    return values.astype(np.int8 if (np.abs(values) < 128).all() else np.int64)


def _with_track_column(rows: SequenceRows, track: Array, reading: TrackReadOptions) -> SequenceRows:
    """The rows with a track of their own; -1 is what detectors write that follow nothing."""
    untracked = track < 0
    if not untracked.any():
        return rows
    if not reading.skip_untracked:
        row = int(np.argmax(untracked))
        raise InvalidValue(
            f"track {track[row]}, as detections have that were not tracked",
            where=f"{rows.source}, line {rows.lines[row]}",
            remedy="Set the option `untracked=skip` to leave such rows out.",
        )
    places = np.flatnonzero(~untracked)
    return SequenceRows(
        rows.source,
        {name: column[places] for name, column in rows.columns.items()},
        np.asarray(rows.lines)[places],
        rows.frames,
    )


def read_kitti(text: bytes, source: str, reading: TrackReadOptions) -> SequenceRows:
    """KITTI: frame, id, type, truncated, occluded, alpha, four corners, seven numbers, and a score in predictions."""
    names = ("frame", "track", "truncated", "occluded", "x", "y", "right", "bottom", "score")
    places = (0, 1, 3, 4, 6, 7, 8, 9, 17)
    columns: dict[str, list[float]] = {name: [] for name in names}
    labels: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(_decode_utf8(text, source).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        where = f"{source}, line {number}"
        if len(fields) not in (17, 18):
            raise InvalidFile(
                f"the row has {count_text(len(fields), 'field')}",
                where=where,
                remedy="KITTI's rows have 17, or 18 with a score.",
            )
        for name, place in zip(names, places, strict=True):
            columns[name].append(_number(fields[place], name, where) if place < len(fields) else 1.0)
        labels.append(fields[2])
        lines.append(number)
    numbers: dict[str, Array] = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    rows = _whole_columns(numbers, source, lines, reading, 0)
    region = np.array([label.lower() == "dontcare" for label in labels], dtype=bool)
    rows |= {"label": as_object(labels)}
    if reading.side == "truth":
        rows |= {"ignore": region}
        rows.pop("score")
    else:
        rows = {name: column for name, column in rows.items() if name not in ("truncated", "occluded")}
    tracked = np.flatnonzero((rows["track"] >= 0) | (region if reading.side == "truth" else False))
    rows = {name: column[tracked] for name, column in rows.items()}
    if reading.side == "truth":
        rows["track"] = np.where(rows["ignore"], 0, rows["track"])
    return SequenceRows(source, rows if lines else {}, np.array(lines, dtype=np.int64)[tracked])


def read_mots(text: bytes, source: str, reading: TrackReadOptions) -> SequenceRows:
    """MOTS: frame, id, class, height, width, and the run lengths of the mask as COCO packs them."""
    numbers: list[list[float]] = []
    masks: list[bytes] = []
    lines: list[int] = []
    for number, line in enumerate(_decode_utf8(text, source).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        where = f"{source}, line {number}"
        if len(fields) != 6:
            raise InvalidFile(
                f"the row has {count_text(len(fields), 'field')}", where=where, remedy="MOTS's rows have 6."
            )
        numbers.append([_number(value, "a number", where) for value in fields[:5]])
        try:
            size = [int(fields[3]), int(fields[4])]
            masks.append(_native.mask_pack({"size": size, "counts": fields[5]}))
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidValue(
                f"no mask: {error}", where=where, remedy="Give height, width and COCO's counts."
            ) from None
        lines.append(number)
    table = np.array(numbers).reshape(len(lines), 5)
    columns = {"frame": table[:, 0], "track": table[:, 1], "label": table[:, 2]}
    rows = _whole_columns(columns, source, lines, reading, 1)
    rows["mask"] = as_object(masks)
    if reading.side == "truth":
        rows["ignore"] = rows["label"] == IGNORED
    _refuse_overlaps(rows, source, lines)
    return SequenceRows(source, rows if lines else {}, np.array(lines, dtype=np.int64))


def _refuse_overlaps(rows: Mapping[str, Array], source: str, lines: list[int]) -> None:
    """A pixel belongs to one object: where areas add up to more than what is covered, two masks overlap."""
    order = np.argsort(rows["frame"], kind="stable")
    frames = rows["frame"][order]
    for part in np.split(order, np.flatnonzero(np.diff(frames)) + 1) if len(order) else []:
        masks = rows["mask"][part].tolist()
        try:
            union = _native.mask_area([_native.mask_merge(masks)])[0] if len(masks) > 1 else 0
        except ValueError as error:
            raise ShapeMismatch(
                str(error), where=f"{source}, line {lines[part[0]]}", remedy="A video has one size."
            ) from None
        if len(masks) > 1 and int(_native.mask_area(masks).sum()) != int(union):
            raise Conflict(
                f"masks of frame {frames[0] if len(part) == 0 else rows['frame'][part[0]]} overlap",
                where=f"{source}, line {lines[part[0]]}",
                remedy="In MOTS a pixel belongs to one object. Give other masks as a table with a column 'mask'.",
            )


def _whole_columns(
    columns: dict[str, Array], source: str, lines: list[int], reading: TrackReadOptions, counted_from: int
) -> dict[str, Array]:
    """Frames, tracks and classes as whole numbers; frames moved where the user says that they count otherwise."""
    rows: dict[str, Array] = dict(columns)
    first = counted_from if reading.first_frame is None else reading.first_frame
    for name in ("frame", "track", "label"):
        if name not in columns:
            continue
        wrong = _no_whole(columns[name])
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidNumber(
                f"{name} {columns[name][row]:g}",
                where=f"{source}, line {lines[row]}",
                remedy="It must be a whole number.",
            )
        early = columns[name] < first
        if name == "frame" and early.any():
            row = int(np.argmax(early))
            kind = " KITTI-MOTS counts from 0, MOTSChallenge from 1." if counted_from else ""
            raise OutOfRange(
                f"frame {columns[name][row]:g}, and frames count from {first}",
                where=f"{source}, line {lines[row]}",
                remedy=f"Set the option `first_frame=0`, or `prediction.first_frame=0` for one side.{kind}"
                if first > 0
                else "Frames must be 0 or more.",
            )
        rows[name] = columns[name].astype(np.int64)
    rows["frame"] = rows["frame"] + (counted_from - first)
    return rows


def _decode_utf8(text: bytes, source: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"byte {text[error.start]:#04x} is not UTF-8 text", where=source, remedy="Save it as UTF-8."
        ) from None


def _number(text: str, what: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidNumber(f"{what} is '{text[:40]}'", where=where, remedy="It must be a number.") from None
    if not np.isfinite(value):
        raise InvalidNumber(f"{what} is {text[:40]}", where=where, remedy="It must be finite.")
    return value


def read_cvat(text: bytes, source: str, reading: TrackReadOptions) -> SequenceRows:
    """CVAT for video 1.1: the boxes of each track. A box marked outside is skipped; nothing is interpolated."""
    root = parse_xml(text, source)
    if root.name != "annotations" or (root.find("track") is None and root.find("image") is not None):
        raise EmptyInput("holds no tracks", where=source, remedy="Export it as 'CVAT for video 1.1'.")
    first = 0 if reading.first_frame is None else reading.first_frame
    columns: dict[str, list[float]] = {name: [] for name in ("frame", "track", "x", "y", "right", "bottom")}
    labels: list[str] = []
    lines: list[int] = []
    for place, node in enumerate(root.all("track")):
        for box in node.all("box"):
            where = f"{source}, line {box.line}"
            if box.attributes.get("outside") == "1":
                continue
            frame = box.attributes.get("frame", "")
            if not is_whole(frame, 15) or int(frame) < first:
                raise InvalidNumber(f"frame is '{frame[:40]}'", where=where, remedy=f"Frames are counted from {first}.")
            columns["frame"].append(int(frame) - first)
            columns["track"].append(_track(node, place))
            for name, key in (("x", "xtl"), ("y", "ytl"), ("right", "xbr"), ("bottom", "ybr")):
                columns[name].append(float(coordinate(box.attributes.get(key, ""), key, where)))
            labels.append(node.attributes.get("label", ""))
            lines.append(box.line)
    rows: dict[str, Array] = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    rows |= {name: rows[name].astype(np.int64) for name in ("frame", "track")}
    rows["label"] = as_object(labels)
    return SequenceRows(source, rows if lines else {}, np.array(lines, dtype=np.int64), _cvat_frames(root))


def _track(node: Node, place: int) -> int:
    text = node.attributes.get("id", "")
    return int(text) if is_whole(text, 15) else place


def _cvat_frames(root: Node) -> int:
    """How many frames the head says that the video has."""
    for meta in root.all("meta"):
        for name in ("task", "job"):
            part = meta.find(name)
            if part is not None and is_whole(part.value("size"), 15):
                return int(part.value("size"))
    return 0


_ATTRIBUTES = {"framerate": "frame_rate", "imwidth": "image_width", "imheight": "image_height"}
_READERS: dict[str, Callable[[bytes, str, TrackReadOptions], SequenceRows]] = {
    "motchallenge": read_mot,
    "kitti": read_kitti,
    "mots": read_mots,
    "cvat": read_cvat,
}


class File(Frozen):
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
    reading = TrackReadOptions(side, None if first_frame is None else int(first_frame), skip_untracked)
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
                "contains no files of tracks", where=source,
                remedy="Expected: <sequence>/gt/gt.txt, <sequence>.txt, data/<sequence>.txt, label_02/<sequence>.txt.",
            )  # fmt: skip
        return files
    check_readable(path, source)
    if path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):  # which a damaged one is not, on Python 3.14
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
        raise InvalidFile(f"cannot be read: {str(error).splitlines()[0]}", where=str(path)) from None
    facts = dict(parser["Sequence"]) if parser.has_section("Sequence") else {}
    length = facts.get("seqlength", "")
    if length and not is_whole(length.strip(), 15):
        raise InvalidNumber(f"seqLength is '{length}'", where=str(path), remedy="It must be a whole number.")
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
        raise EmptyInput("holds no .txt files", where=source, remedy="Pack one <sequence>.txt for each sequence.")
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


class _Sequence(Frozen):
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

    def add(self, file: File, part: SequenceRows) -> None:
        """One file more; one without rows has a row that only names its sequence."""
        count = len(part)
        self._parts.append(_Sequence(file, part.lines, part.frames))
        self._read += file.size
        if not count:
            self._empty.append(self._rows)
        elif self._columns and self._columns.keys() != part.columns.keys():
            odd = min(self._columns.keys() ^ part.columns.keys())
            what = f"has {odd}, and other files have none" if odd in part.columns else f"has no {odd}, and others have"
            raise InvalidFile(what, where=part.source, remedy="Write all files alike.")
        self._reserve(part)
        for key, values in part.columns.items() if count else ():
            self._columns[key][self._rows : self._rows + count] = values
        self._rows += max(1, count)

    def _reserve(self, part: SequenceRows) -> None:
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
            lengths_given = [part.file.facts.get("seqlength") or part.frames for part in self._parts]
            if any(lengths_given):
                numbers = [int(one) if one else 0 for one in lengths_given]
                short = all(lengths_given) and max(numbers) <= np.iinfo(np.int32).max
                frame_counts = np.array(numbers, np.int32) if short else np.array([one or np.nan for one in numbers])
                columns["frames"] = np.repeat(frame_counts, lengths)
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
            nothing = NO_MASK if key == "mask" else ""
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
