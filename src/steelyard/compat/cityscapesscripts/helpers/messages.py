"""What the evaluations print, and how they stop: the functions of `csHelpers` that they use.

`cityscapesscripts.helpers.csHelpers` is not replaced, because modules of the package import much more from it.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any, NamedTuple, NoReturn


class colors:  # noqa: N801
    """Colours of a terminal."""

    RED = "\033[31;1m"
    GREEN = "\033[32;1m"
    YELLOW = "\033[33;1m"
    BLUE = "\033[34;1m"
    MAGENTA = "\033[35;1m"
    CYAN = "\033[36;1m"
    BOLD = "\033[1m"
    UNDERLINE = "\033[4m"
    ENDC = "\033[0m"


class CsFile(NamedTuple):
    """The parts of a file name of Cityscapes."""

    city: str
    sequenceNb: str
    frameNb: str
    type: str
    type2: str
    ext: str


def printError(message: Any) -> NoReturn:
    """Print an error and end the program."""
    print(f"ERROR: {message}")
    sys.exit(-1)


def getColorEntry(val: Any, args: Any) -> str:
    """The colour of a score, if the output is coloured."""
    if not args.colorized:
        return ""
    if not isinstance(val, float) or math.isnan(val):
        return colors.ENDC
    steps = ((0.2, colors.RED), (0.4, colors.YELLOW), (0.6, colors.BLUE), (0.8, colors.CYAN))
    return next((color for limit, color in steps if val < limit), colors.GREEN)


def getCsFileInfo(fileName: str) -> CsFile:
    """The parts of a file name: CITY_SEQUENCE_FRAME_TYPE[_TYPE2].EXT."""
    *parts, last = os.path.basename(fileName).split("_")
    parts += last.split(".")
    if len(parts) == 5:
        parts.insert(4, "")
    elif len(parts) != 6:
        printError(f"Found {len(parts)} part(s) in given filename ({fileName}). Expected 5 or 6.")
    return CsFile(*parts)


def ensurePath(path: str) -> None:
    """Make a folder."""
    if path and not os.path.isdir(path):
        os.makedirs(path)


def writeDict2JSON(dictName: Any, fileName: str) -> None:
    """Write JSON."""
    text = json.dumps(dictName, default=lambda value: value.__dict__, sort_keys=True, indent=4)
    with open(fileName, "w", encoding="utf-8") as file:
        file.write(text)
