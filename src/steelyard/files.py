"""The public functions about files of annotations: check what they hold, convert them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from steelyard.checks.findings import CheckReport
from steelyard.checks.run import run
from steelyard.core import catalogue
from steelyard.core.errors import InvalidSetting, UnknownTask
from steelyard.io.dialect import csv_dialect
from steelyard.io.formats import convert as converting
from steelyard.io.formats.convert import Conversion
from steelyard.io.formats.format import ReadOptions, WriteOptions
from steelyard.io.options import resolve_options
from steelyard.tasks.boxes3d.convert import FORMATS as SOLID
from steelyard.tasks.boxes3d.convert import convert_solid


def check(
    task: str,
    truth: Any,
    predictions: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> CheckReport:
    """Check the data for problems that would make numbers silently wrong.

    The arguments are those of `evaluate`; without `predictions` the truth is checked, or both sides where it holds
    them. The report lists findings, each with a severity ("error", "warning", "note"), a count, examples and a remedy;
    `report.ok` says that there is no error.
    """
    if not isinstance(task, str) or catalogue.task_name(task) is None:
        shown = task if isinstance(task, str) else type(task).__name__
        raise UnknownTask(f"there is no task '{shown}'", remedy=f"Name the task first: {', '.join(catalogue.TASKS)}.")
    definition = catalogue.find_task(task)
    with csv_dialect(delimiter, decimal):
        return run(definition, truth, predictions, columns or {}, resolve_options(definition, options or {}))


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    from_format: str = "auto",
    to_format: str = "auto",
    images: str | None = None,
    names: str | None = None,
    like: str | PathLike[str] | None = None,
    pixels: str = "inclusive",
    whole: bool = False,
    polygons: bool = False,
    strict: bool = False,
    force: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Conversion:
    """Convert annotations or predictions; the result's `losses` list what the target format cannot hold.

    `images` is the folder of the pictures, `names` a list of class names, `like` another data set whose ids the target
    gets, `pixels` how VOC counts ("inclusive" or "edges"), `whole` rounds VOC's coordinates, `polygons` writes YOLO's
    polygons. Boxes in space are converted where one of the formats is "kitti" or "nuscenes". With `strict` nothing is
    written where something would be lost; `force` writes over what exists. `delimiter` and `decimal` are those of
    `evaluate`, for a source that is a text table.
    """
    if pixels not in ("inclusive", "edges"):
        raise InvalidSetting(f"pixels cannot be '{pixels}'", remedy="Choose 'inclusive' or 'edges'.")
    if from_format in SOLID or to_format in SOLID:
        task = catalogue.find_task("boxes3d")
        with csv_dialect(delimiter, decimal):
            return convert_solid(task, source, target, from_format, to_format, like=like, strict=strict, force=force)
    reading, writing = ReadOptions(from_format, images, names, pixels), WriteOptions(pixels, whole, polygons)
    with csv_dialect(delimiter, decimal):
        return converting.convert(source, target, reading, to_format, writing, like=like, strict=strict, force=force)
