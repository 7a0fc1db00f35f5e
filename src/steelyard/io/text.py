"""Opening files for reading: what is packed is unpacked, and what cannot be read is named for what it is."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, TextIO

from steelyard.core.errors import InputError, InvalidFile, InvalidText, TooLarge, UnreadableFile
from steelyard.core.opening import Unpacked, open_regular

if TYPE_CHECKING:
    from pathlib import Path

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
MOST_BLANK = 1_000_000  # blank lines of a table
_FOREIGN = (
    (b"\xff\xfe", "is UTF-16 text", "Save the file as UTF-8."),
    (b"\xfe\xff", "is UTF-16 text", "Save the file as UTF-8."),
    (b"PK\x03\x04", "is a ZIP archive", "Unpack it, and give the file inside; a workbook is named .xlsx."),
    (b"BZh", "is packed with bzip2", "Unpack it, or pack it with gzip."),
    (b"\xfd7zXZ\0", "is packed with xz", "Unpack it, or pack it with gzip."),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd", "Unpack it, or pack it with gzip."),
    (b"7z\xbc\xaf", "is a 7z archive", "Unpack it, and give the file inside."),
    (b"PAR1", "is a Parquet file", "Name it .parquet."),
    (b"\xd0\xcf\x11\xe0", "is a workbook of Excel", "Export it as CSV."),
)


def ending(path: str | os.PathLike[str]) -> str:
    """The ending that says a file's format, in small letters; `.gz` behind it only says that it is packed."""
    from pathlib import Path  # slow to load: data in memory need it nowhere

    given = Path(sheet_path(os.fspath(path))[0])
    packed = given.suffix.lower() == ".gz" and given.with_suffix("").suffix
    return (given.with_suffix("") if packed else given).suffix.lower()


def sheet_path(path: str) -> tuple[str, str]:
    """The path of a workbook and the sheet that `book.xlsx#sheet` names; nothing where none is named."""
    place = path.lower().rfind(".xlsx#")
    return (path, "") if place < 0 else (path[: place + 5], path[place + 6 :])


@contextmanager
def open_text(path: Path, source: str) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading; a byte-order mark is skipped, and a file that gzip packed is unpacked."""
    with open_bytes(path, source) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise InvalidText(
                f"byte {error.object[error.start]:#04x} is not UTF-8 text",
                where=source,
                remedy="Save the file as UTF-8.",
            ) from None


@contextmanager
def open_bytes(path: Path, source: str) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked where gzip packed it; an archive and UTF-16 are refused by name."""
    try:
        with open_regular(path, source, pipes=True) as file:
            head = _head(file)
            refuse_foreign(head, source)
            if head.startswith(GZIP):
                with io.BufferedReader(Unpacked(file, source)) as unpacked:
                    inner = unpacked.peek(8)[:8]
                    if inner.startswith(GZIP):
                        raise UnreadableFile("is packed twice", where=source, remedy="Unpack it once.")
                    refuse_foreign(inner, source)
                    yield unpacked
            else:
                yield file
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror or error}", where=source) from None


def read_bytes(path: Path, source: str) -> bytes:
    """All bytes of a text file, unpacked and without a byte-order mark."""
    with open_bytes(path, source) as file:
        return file.read().removeprefix(BOM)


def is_plain(path: Path, source: str) -> bool:
    """Whether a text file's bytes can be taken as they lie: neither packed nor with a byte-order mark."""
    head = first_bytes(path, source)
    refuse_foreign(head, source)
    return not head.startswith((GZIP, BOM))


def first_bytes(path: Path, source: str) -> bytes:
    """The first few bytes, once the path is known to be readable."""
    try:
        with open_regular(path, source, pipes=True) as file:
            return _head(file)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", where=source) from None


ROBOFLOW_COLUMNS = ("filename", "class", "xmin", "ymin", "xmax", "ymax")
_TASKS = rb'(?s)\[\s*\{(?:(?!"(?:image_id|category_id|bbox)"\s*:).)*?"(?:annotations|predictions|data)"\s*:\s*[\[{]'


def labelled_by(path: Path) -> str:
    """The labelling tool whose export a JSON or CSV file is, "labelstudio" or "roboflow"; else nothing."""
    kind = ending(path)
    if kind not in (".json", ".csv") or not path.is_file():
        return ""
    try:
        with open_bytes(path, str(path)) as file:
            head = file.read(1 << 14).removeprefix(BOM).lstrip()
    except InputError:  # the reader of the file says what is wrong
        return ""
    if kind == ".json":
        return "labelstudio" if head.startswith(b"[") and re.match(_TASKS, head) else ""
    names = {name.strip(b' "') for name in head.partition(b"\n")[0].rstrip().split(b",")}
    return "roboflow" if {name.encode() for name in ROBOFLOW_COLUMNS} <= names else ""


def _head(file: BinaryIO) -> bytes:
    """The first few bytes of a regular file, which stays where it is. What is read from a pipe is gone."""
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return b""
    head = file.read(8)
    file.seek(0)
    return head


def refuse_foreign(head: bytes, source: str) -> None:
    """Name what a file is by its first bytes, if it is not readable text."""
    for start, what, remedy in _FOREIGN:
        if head.startswith(start):
            raise (InvalidText if "UTF" in what else InvalidFile)(what, where=source, remedy=remedy)
    if len(head) >= 4 and (head[1] == head[3] == 0 != head[0] or head[0] == head[2] == 0 != head[1]):
        raise InvalidText("is UTF-16 text", where=source, remedy="Save the file as UTF-8.")


def check_blank(count: int, source: str) -> None:
    """Refuse a file that is mostly blank lines: reading it would take minutes."""
    if count > MOST_BLANK:
        raise TooLarge(
            f"holds more than {MOST_BLANK:,} blank lines", where=source, remedy="Remove them: is it a table?"
        )
