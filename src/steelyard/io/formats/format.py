"""Format: how files of annotated boxes are found, read and written. All that a package says that brings one.

`ReadOptions` are what a user states about a source that the source does not say itself; `Loss` is what a format cannot
hold, and `WriteOptions` how it is written where it leaves a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from steelyard.core.deprecated import Renamed, RenamedKeywords
from steelyard.core.frozen import Frozen
from steelyard.io.formats.dataset import Dataset


class ReadOptions(Frozen):
    """How a source is to be read.

    `images` is the folder of the pictures, `names` a file of class names, `pixels` how VOC counts, `verified` the file
    of OpenImages' labels of whole images, `hierarchy` that of its classes.
    """

    format: str = "auto"
    images: str | None = None
    names: str | None = None
    pixels: str = "inclusive"
    verified: str | None = None
    hierarchy: str | None = None


class Loss(Frozen, metaclass=RenamedKeywords):
    """Something that the target cannot hold (`lost`), or holds in another way (`changed`)."""

    kind: str
    what: str
    count: int
    reason: str
    why = Renamed("reason")

    def text(self) -> str:
        """One line."""
        return f"{self.kind}: {self.what} ({self.count:,}): {self.reason}"


class WriteOptions(Frozen):
    """How a data set is to be written, where a format leaves a choice."""

    pixels: str = "inclusive"
    whole: bool = False
    polygons: bool = False


class Format(Frozen):
    """A format of boxes.

    `read(path, source, side, reading, like)` gives a data set: `source` is the path as messages show it, `side` is
    "truth", "prediction" or empty where the file decides, `reading` what the user says about it, and `like` the truth
    where predictions are read. `detects(path)` says whether a path that no built-in format takes is in this one.

    `render(dataset, options)` gives the text of a file, or of a format that is a folder the name and text of each file.
    A format without it is read and not written. `ending` is that of the file, `losses(dataset, options)` what of a data
    set it cannot hold; a format that is written needs both.
    """

    name: str
    title: str
    read: Callable[[Path, str, str, ReadOptions, Dataset | None], Dataset]
    detects: Callable[[Path], bool] | None = None
    render: Callable[[Dataset, WriteOptions], str | Iterable[tuple[str, str]]] | None = None
    losses: Callable[[Dataset, WriteOptions], Iterable[Loss]] | None = None
    folder: bool = False
    ending: str = ""
