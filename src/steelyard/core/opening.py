"""The one way to open a file that somebody names, and the budget for unpacking it.

Every reader and the viewer open files here. A path may come from a user, a folder, a table cell or a result, and may
lead to a named pipe, an endless device or a file outside the folder that is served.

- `open_regular(path, source)` opens a regular file, and refuses a directory, named pipe, device or socket with one
  sentence. `read_regular` returns its bytes. `check_readable` makes the same checks for code that opens the path itself
  (the native core, pyarrow), and `check_listed` makes them for thousands of files of a folder.
- `is_entry(path)` replaces `is_file()` where a reader looks for files: a named pipe that stands in the place of one is
  then refused when it is opened, not passed over.
- `pipes=True` also accepts the unnamed pipe of `<(command)` and of standard input (`/dev/fd/N`, `/dev/stdin`,
  `/proc/self/fd/N`): for paths of the command line, never for a path that data name.
- `with confined(root):` refuses every file outside of `root`, with links resolved, in everything that is called inside
  the block, and files of more than 1 GB that would be read whole. It holds for the current thread;
  `contextvars.copy_context` carries it to another.
- `most_unpacked(size)` is the number of bytes that `size` packed bytes may become: 256 MB or 200 times their size,
  whichever is larger. So a file is refused only if it is large and packed far more tightly than real data are.
  `check_declared` applies it to a size that a header declares, before anything is unpacked; `Unpacked` counts bytes
  while a stream is unpacked, and 64 more for each line, which takes memory and time even if it is empty; `open_archive`
  opens a ZIP file under the same budget.
- `with record_opened() as opened:` collects what is opened inside the block, in the current thread.
- The environment variable STEELYARD_UNPACK_LIMIT replaces the 256 MB: "2GB", "800MB", "none".
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, BinaryIO

from steelyard.core.errors import DuplicateKey, InputError, InvalidNumber, MissingFile, TooLarge, UnreadableFile

if TYPE_CHECKING:
    from zipfile import ZipInfo

Name = str | os.PathLike[str]
LIMIT, RATIO = 256 << 20, 200
VARIABLE = "STEELYARD_UNPACK_LIMIT"
MOST_CONFINED = 1 << 30  # bytes of a file that is read whole for the viewer
LINE = 64  # bytes that the reading of a line takes, at least
MOST_DEFLATED = 1032  # bytes that DEFLATE makes of one, at most
_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _flag, 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
ANCHORED = os.open in os.supports_dir_fd and bool(_NO_FOLLOW)
_ROOT: ContextVar[str] = ContextVar("root", default="")
_RECORD: ContextVar[dict[str, None] | None] = ContextVar("record", default=None)


@contextmanager
def confine_to(root: Name) -> Iterator[None]:
    """Open nothing outside of a directory inside this block."""
    before = _ROOT.set(os.path.realpath(root))
    try:
        yield
    finally:
        _ROOT.reset(before)


@contextmanager
def record_opened() -> Iterator[dict[str, None]]:
    """Collect the paths of all files that are opened inside this block, as keys."""
    opened: dict[str, None] = {}
    before = _RECORD.set(opened)
    try:
        yield opened
    finally:
        _RECORD.reset(before)


def open_regular(path: Name, source: str = "", *, pipes: bool = False, most: int | None = None) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; `source` names it in messages."""
    source = source or os.fsdecode(path)
    check_readable(path, source, pipes=pipes)
    try:
        number = _open(os.fsdecode(path), source)
    except OSError as error:
        raise _unreadable(error, source) from None
    try:
        status = os.fstat(number)
        _check_kind(status.st_mode, path, source, pipes)
        if most is not None and status.st_size > most:
            raise TooLarge(f"is larger than {_amount(most)}", where=source, remedy="Give a smaller file.")
        if not stat.S_ISREG(status.st_mode):
            os.set_blocking(number, True)
        return open(number, "rb")
    except BaseException:
        os.close(number)
        raise


def read_regular(path: Name, source: str = "", *, most: int | None = None) -> bytes:
    """The bytes of a regular file."""
    source = source or os.fsdecode(path)
    if most is None and _ROOT.get():
        most = MOST_CONFINED
    with open_regular(path, source, most=most) as file:
        try:
            data = file.read() if most is None else file.read(most + 1)
        except OSError as error:
            raise _unreadable(error, source) from None
    if most is not None and len(data) > most:  # it grew meanwhile
        raise TooLarge(f"is larger than {_amount(most)}", where=source, remedy="Give a smaller file.")
    return data


def check_readable(path: Name, source: str = "", *, pipes: bool = True) -> None:
    """Say what is wrong with a path before it is opened: some devices act on being opened."""
    source = source or os.fsdecode(path)
    if (record := _RECORD.get()) is not None:
        record[os.path.abspath(os.fsdecode(path))] = None
    try:
        mode = os.stat(path).st_mode
        real = os.path.realpath(path) if _ROOT.get() else ""
    except OSError as error:
        raise _unreadable(error, source) from None
    except ValueError:
        what = "the path contains a null byte" if "\0" in os.fspath(path) else "the path is not valid text"
        raise UnreadableFile(what, where=ascii(source), remedy="Check the path.") from None
    if real:
        _steps_below(real, source)
    _check_kind(mode, path, source, pipes)
    if not os.access(path, os.R_OK):
        raise UnreadableFile("cannot be read: Permission denied", where=source, remedy="Change its permissions.")


def check_listed(entries: Iterable[os.DirEntry[str]], shown: str) -> None:
    """`check_readable` for the files of a folder; what the listing shows to be a regular file is not looked up again.

    A file without the permission to read is then found when it is opened.
    """
    every = bool(_ROOT.get()) or _RECORD.get() is not None
    for entry in entries:
        if every or not entry.is_file(follow_symlinks=False):
            check_readable(entry.path, os.path.join(shown, entry.name))


def is_entry(path: Name) -> bool:
    """Whether something other than a directory has that name: readers pass over nothing that they cannot open."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _open(path: str, source: str) -> int:
    if not _ROOT.get():
        return os.open(path, _FLAGS)
    real = os.path.realpath(path)
    steps = _steps_below(real, source)
    return open_below(_ROOT.get(), steps)


def open_below(root: str, steps: list[str] | tuple[str, ...]) -> int:
    """Open a file below a directory step by step, following no link: what was checked is what is opened.

    Systems without anchored opening (Windows) open the whole path.
    """
    if not ANCHORED:
        return os.open(os.path.join(root, *steps), _FLAGS)
    held = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in steps[:-1]:
            deeper = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | _NO_FOLLOW, dir_fd=held)
            os.close(held)
            held = deeper
        return os.open(steps[-1], _FLAGS | _NO_FOLLOW, dir_fd=held)
    finally:
        os.close(held)


def _steps_below(real: str, source: str) -> list[str]:
    root = os.path.join(_ROOT.get(), "")
    if not real.startswith(root) or real == root:
        raise UnreadableFile("lies outside the folder that is shown", where=source, remedy="Copy it into the folder.")
    return real[len(root) :].split(os.sep)


def _check_kind(mode: int, path: Name, source: str, pipes: bool) -> None:
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode) and not _ROOT.get() and _is_unnamed(os.fsdecode(path))):
        return
    if stat.S_ISDIR(mode):
        raise UnreadableFile("is a folder, not a file", where=source, remedy="Give a file.")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise UnreadableFile("is a device, not a regular file", where=source, remedy="Some never end: give a file.")
    if stat.S_ISFIFO(mode):
        remedy = f"It may wait without end: give {'<(command), or ' if pipes else ''}a file."
        raise UnreadableFile("is a named pipe, not a regular file", where=source, remedy=remedy)
    raise UnreadableFile("is a socket, not a regular file", where=source, remedy="Give a file.")


def _is_unnamed(path: str) -> bool:
    """Whether a pipe is that of `<(command)` or of standard input, and is named so, not through a link elsewhere."""
    return re.fullmatch(r"/dev/stdin|(/dev|/proc/(self|[0-9]+))/fd/[0-9]+", path) is not None


def _unreadable(error: OSError, source: str) -> InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return MissingFile("there is no such file", where=source, remedy="Check the path.")
    return UnreadableFile(f"cannot be read: {error.strerror or error}", where=source, remedy="Check the path.")


def unpack_limit() -> int | None:
    """The bytes that any packed file may become, as STEELYARD_UNPACK_LIMIT says; None without a limit."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return LIMIT
    if text.lower() == "none":
        return None
    match = re.fullmatch(r"([0-9]{1,12})\s*([KMGT]?B?)", text.upper())
    unit = match[2] if match and match[2] in _UNITS else f"{match[2]}B" if match else ""
    if match is None or not int(match[1]):
        raise InvalidNumber(f"'{text}' is not a size", where=VARIABLE, remedy='Write "2GB", "800MB" or "none".')
    return int(match[1]) * _UNITS[unit]


def most_unpacked(size: int) -> int:
    """The number of bytes that a packed file of `size` bytes may become."""
    limit = unpack_limit()
    return 1 << 62 if limit is None else max(limit, RATIO * size)


def check_declared(declared: int, size: int, source: str) -> None:
    """Refuse a packed file of `size` bytes that declares to hold more than it may."""
    if declared > most_unpacked(size):
        raise too_much(size, source)


def too_much(size: int, source: str, condition: str = "") -> InputError:
    """The error for a file of `size` bytes that unpacks to more than it may."""
    most = most_unpacked(size)
    return TooLarge(
        f"holds more than {_amount(most)} once unpacked, far more than its size says",
        where=source,
        remedy=f"Unpack it first{condition}, or set {VARIABLE}, to 2GB for instance.",
    )


def _amount(count: int) -> str:
    return f"{count >> 20:,} MB" if count >= 1 << 20 else f"{count:,} bytes"


class Unpacked(io.RawIOBase):
    """What gzip packed, within the budget: a small file must not fill the memory."""

    def __init__(self, file: BinaryIO, source: str) -> None:
        import gzip  # few files are packed
        import zlib

        self.source, self.count = source, 0
        self.size = os.fstat(file.fileno()).st_size
        self.most = most_unpacked(self.size)
        self._check_trailer(file)
        self.inner = gzip.GzipFile(fileobj=file)
        self.faults = (EOFError, gzip.BadGzipFile, zlib.error)

    def _check_trailer(self, file: BinaryIO) -> None:
        """The last four bytes declare the size of the last member, unless the file is cut off."""
        if self.size < 18:
            return
        file.seek(-4, os.SEEK_END)
        declared = int.from_bytes(file.read(4), "little")
        file.seek(0)
        if self.most < declared <= MOST_DEFLATED * self.size:  # more is impossible: the file is damaged, and says so
            raise too_much(self.size, self.source, " if it is whole")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; refuse what grows beyond the budget."""
        try:
            data = self.inner.read(len(buffer))
        except self.faults as error:
            raise UnreadableFile(
                f"cannot be unpacked: {error}", where=self.source, remedy="Is the file whole?"
            ) from None
        self.count += len(data) + LINE * data.count(b"\n")
        if self.count > self.most:
            raise too_much(self.size, self.source)
        buffer[: len(data)] = data
        return len(data)


class Archive:
    """A ZIP file whose members together declare no more than the budget; each is read whole, or refused."""

    def __init__(self, file: BinaryIO, source: str) -> None:
        import zipfile  # few files are archives

        self.source = source
        try:
            self.inner = zipfile.ZipFile(file)
        except Exception as error:  # zipfile raises what its parsers do
            raise _unpacking_error(error, source) from None
        self.members: dict[str, ZipInfo] = {}
        for member in self.inner.infolist():
            if member.filename in self.members:
                raise DuplicateKey(f"holds '{member.filename}' twice", where=source, remedy="Pack it again.")
            self.members[member.filename] = member
        declared = sum(member.file_size for member in self.members.values())
        check_declared(declared, os.fstat(file.fileno()).st_size, source)

    def read(self, name: str) -> bytes:
        """All bytes of a member, of which there are never more than it declares."""
        try:
            return self.inner.read(name)
        except Exception as error:
            raise _unpacking_error(error, f"{self.source}/{name}") from None

    def chunks(self, name: str, size: int) -> Iterator[bytes]:
        """The bytes of a member, `size` at a time."""
        try:
            with self.inner.open(name) as file:
                while chunk := file.read(size):
                    yield chunk
        except Exception as error:
            raise _unpacking_error(error, f"{self.source}/{name}") from None


def _unpacking_error(error: Exception, where: str) -> InputError:
    text = "it is encrypted" if "password required" in str(error) else str(error).splitlines()[0] if str(error) else ""
    return UnreadableFile(f"cannot be unpacked: {text or 'it is damaged'}", where=where, remedy="Is the file whole?")


@contextmanager
def open_archive(path: Name, source: str = "") -> Iterator[Archive]:
    """Open a ZIP file: a regular file within the budget, without members of the same name."""
    source = source or os.fsdecode(path)
    with open_regular(path, source) as file:
        archive = Archive(file, source)
        with archive.inner:
            yield archive
