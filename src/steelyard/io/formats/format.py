"""Format: how files of annotated boxes are found, read and written. All that a package says that brings one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from steelyard.core.frozen import frozen
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.read_options import ReadOptions
from steelyard.io.formats.write_options import Loss, WriteOptions


@frozen
class Format:
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
