"""What a command writes, looked at before any work is done: a file that cannot be written keeps all others away."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from steelyard.core.errors import CannotWrite, NotInstalled

NEEDED = {".xlsx": ("openpyxl", "excel")}  # the package of an ending, and the extra that brings it


def check_targets(files: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Refuse what lacks a package, appears twice, or lies where nothing can be written."""
    seen: set[str] = set()
    for file in files:
        _check_package(file)
        whole = os.path.normcase(os.path.abspath(file))
        if whole in seen:
            raise CannotWrite(f"'{file}' is to be written twice", remedy="Give each output a name of its own.")
        seen.add(whole)
        if not os.path.exists(file):  # what is there may be a device or a pipe, and is written as it is
            _check_folder(file, os.path.dirname(whole))
    for folder in folders:
        _check_folder(folder, os.path.abspath(folder))


def _check_package(file: str) -> None:
    package, extra = NEEDED.get(Path(file).suffix.lower(), ("", ""))
    if package and find_spec(package) is None:
        raise NotInstalled(
            f"cannot write '{file}': {package} is not installed",
            remedy=f"Install the extra: pip install 'steelyard[{extra}]'.",
        )


def _check_folder(given: str, folder: str) -> None:
    """A folder that is not there is made, in the nearest one that is."""
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise CannotWrite(f"cannot be written: '{folder}' is not a folder", where=given, remedy="Choose another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotWrite(f"cannot be written: '{folder}' may not be written to", where=given)
