"""The one folder that may be looked into, and no path out of it.

A name that comes from a result, from data or from a browser is taken apart here and nowhere else. It must be relative
and plain: no `..`, no root, no drive, no backslash, no control character, nothing hidden. The file is then opened part
by part without following a symbolic link, so that what was checked is what is read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from steelyard.core.errors import UnreadableFile
from steelyard.core.opening import ANCHORED, open_below

DEEPEST, MOST_FILES = 8, 200_000
_LONGEST = 1024
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class Outside(Exception):
    """A name leads out of the folder, through a link, or to something other than a regular file."""


class Folder:
    """A folder, named by its real path."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root)
        if not os.path.isdir(self.root):
            raise UnreadableFile(
                "is not a folder", where=os.fspath(root), remedy="Give the folder that holds your results."
            )

    def parts(self, name: object) -> tuple[str, ...]:
        """The steps of a relative name; Outside where it is not plain."""
        if not isinstance(name, str) or not name or len(name) > _LONGEST:
            raise Outside("not a name")
        if _CONTROL.search(name):
            raise Outside("control characters")
        if "\\" in name or ":" in name or name.startswith(("/", "~")):
            raise Outside("not relative")
        steps = tuple(step for step in name.split("/") if step not in ("", "."))
        if not steps or len(steps) > 2 * DEEPEST:
            raise Outside("not a file")
        for step in steps:
            if step.startswith(".") or step.endswith((".", " ")) or step != step.strip() or len(step.encode()) > 255:
                raise Outside("hidden, or leads upward")
        return steps

    def relative(self, path: str, base: str = "") -> str:
        """A path as a result names it, as a name inside the folder: relative to `base`, or absolute and inside."""
        if os.path.isabs(path):
            inside = os.path.join(self.root, "")
            if not path.startswith(inside):
                raise Outside("absolute")
            return "/".join(self.parts(path[len(inside) :].replace(os.sep, "/")))
        return "/".join((*(self.parts(base) if base else ()), *self.parts(path.replace(os.sep, "/"))))

    def data(self, name: str) -> Path:
        """The path of a plain file inside, or of a folder that holds nothing but plain files and such folders."""
        where = os.path.join(self.root, *self.parts(name))
        if not os.path.isdir(where) or os.path.islink(where):
            return self.path(name)
        if os.path.realpath(where) != where:
            raise Outside("a link")
        seen, waiting = 0, [(where, 0)]
        while waiting:
            at, depth = waiting.pop()
            try:
                entries = list(os.scandir(at))
            except OSError:
                raise Outside("cannot be read") from None
            seen += len(entries)
            if seen > MOST_FILES or depth > DEEPEST:
                raise Outside("too many files")
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))
                elif not entry.is_file(follow_symlinks=False):
                    raise Outside("not a plain file")
        return Path(where)

    def path(self, name: str) -> Path:
        """The path of a plain file inside, for those who must open it themselves; no part of it is a link."""
        where = self.root
        steps = self.parts(name)
        for i, step in enumerate(steps):
            where = os.path.join(where, step)
            try:
                mode = os.lstat(where).st_mode
            except (OSError, ValueError):
                raise Outside("no such file") from None
            if not (stat.S_ISREG(mode) if i == len(steps) - 1 else stat.S_ISDIR(mode)):
                raise Outside("not a plain file")
        if os.path.realpath(where) != where:
            raise Outside("a link")
        return Path(where)

    def read(self, name: str, most: int) -> bytes:
        """The bytes of a plain file inside, `most` of them at most; a longer one is refused."""
        with self._open(name) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise Outside("too large")
            return file.read(most)

    def head(self, name: str, count: int) -> bytes:
        """The first bytes of a plain file inside, however long it is."""
        with self._open(name, checked=not ANCHORED) as file:
            return file.read(count)

    @contextmanager
    def _open(self, name: str, checked: bool = True) -> Iterator[BinaryIO]:
        """Open part by part; `checked` looks at the whole way first, which an anchored opening does not need."""
        steps = self.parts(name)
        if checked:
            self.path(name)
        try:
            number = open_below(self.root, steps)
            if not stat.S_ISREG(os.fstat(number).st_mode):
                os.close(number)
                raise Outside("not a plain file")
            with open(number, "rb") as file:
                yield file
        except OSError:
            raise Outside("cannot be read") from None

    def files(self, ending: str) -> Iterator[str]:
        """Names of the plain files with an ending, not hidden and through no link, in order."""
        return (name for name, _ in self.entries(ending))

    def entries(self, ending: str) -> Iterator[tuple[str, os.stat_result]]:
        """The files, each with its file system status."""
        seen = 0
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            steps = waiting.pop()
            try:
                entries = sorted(os.scandir(os.path.join(self.root, *steps)), key=lambda entry: entry.name)
            except OSError:
                continue
            deeper = []
            for entry in entries:
                seen += 1
                if seen > MOST_FILES:
                    return
                name = "/".join((*steps, entry.name))
                try:
                    self.parts(name)
                except Outside:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if len(steps) < DEEPEST:
                        deeper.append((*steps, entry.name))
                elif entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
                    try:
                        about = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    yield name, about
            waiting += reversed(deeper)
