"""A folder of files that takes the place of another at once: a reader, or a crash, sees the old or the new one.

The new folder is made beside the old one, together with what the old one holds beside the files that are written again
(pictures, say). Linux and macOS let the two change places in one step. Elsewhere the old one is moved aside first, and
the next run moves it back if this one died in between.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from steelyard.core.errors import CannotWrite
from steelyard.io.parts import part_folder, sweep

_HERE = -100  # AT_FDCWD of Linux
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def write_folder(files: Iterable[tuple[str, str]], goal: Path) -> None:
    """Write names and texts as the files of a folder; files that it has beside those stay."""
    try:
        place = goal.resolve() if goal.is_dir() else goal
        place.parent.mkdir(parents=True, exist_ok=True)
        inside = place.is_dir() and _is_fixed(place)
        sweep(place if inside else place.parent)
        with part_folder(place if inside else place.parent) as new:
            names = _write_all(files, new)
            if inside:
                _move_each(names, new, place)
                return
            if place.is_dir():
                _bring_along(place, new)
                shutil.copymode(place, new)
            else:
                new.chmod(0o777 & ~_umask())
            _take_place(new, place)
    except OSError as error:
        raise CannotWrite(f"cannot be written: {error.strerror}", where=str(goal)) from None


def recover(goal: Path) -> None:
    """Bring back the folder that a run which died had moved aside."""
    aside = _aside(goal)
    if not aside.is_dir():
        return
    try:
        if goal.exists():
            shutil.rmtree(aside)
        else:
            os.rename(aside, goal)
    except OSError as error:
        raise CannotWrite(f"cannot be moved back: {error.strerror}", where=str(aside)) from None


def exchange(a: Path, b: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot."""
    if not sys.platform.startswith(("linux", "darwin")):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(a), os.fsencode(b)
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        return call is not None and call(*names, ctypes.c_uint(_EXCHANGE)) == 0
    call = getattr(library, "renameat2", None)
    return call is not None and call(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_EXCHANGE)) == 0


def _take_place(new: Path, goal: Path) -> None:
    if not goal.is_dir():
        os.rename(new, goal)
    elif not exchange(new, goal):
        aside = _aside(goal)
        os.rename(goal, aside)
        os.rename(new, goal)
        shutil.rmtree(aside, ignore_errors=True)


def _aside(goal: Path) -> Path:
    return goal.with_name(f".{goal.name}.steelyard-old")


def _is_fixed(goal: Path) -> bool:
    """Whether a folder cannot be moved: another file system begins there, or somebody stands in it."""
    here = Path.cwd()
    return os.path.ismount(goal) or goal == here or goal in here.parents


def _write_all(files: Iterable[tuple[str, str]], folder: Path) -> list[str]:
    names = []
    for name, text in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "x", encoding="utf-8", newline="\n") as out:
            out.write(text)
        names.append(name)
    return names


def _move_each(names: Iterable[str], new: Path, goal: Path) -> None:
    for name in names:
        place = goal / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, place)


def _bring_along(old: Path, new: Path) -> None:
    """What the old folder has and the new one has not, as second names of the same files where the system has such."""
    for folder, folders, files in os.walk(old):
        here = new / Path(folder).relative_to(old)
        for name in folders + files:
            source, target = Path(folder) / name, here / name
            if os.path.lexists(target):
                continue
            if source.is_symlink():
                target.symlink_to(os.readlink(source), target_is_directory=source.is_dir())
            elif source.is_dir():
                target.mkdir()
                shutil.copymode(source, target)
            else:
                try:
                    os.link(source, target)
                except OSError:
                    shutil.copy2(source, target)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
