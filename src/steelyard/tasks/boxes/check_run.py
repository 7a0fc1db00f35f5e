"""Boxes, masks and keypoints: both sides as far as they can be read, and all findings about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.checks.findings import CheckReport, Finding, in_order, refusal
from steelyard.core.errors import InputError
from steelyard.core.options import Options
from steelyard.core.records import Array, BoxRecords, Records, Schema
from steelyard.core.task import Task
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.detect import TABLES, detect
from steelyard.io.formats.fit import fit
from steelyard.io.formats.format import ReadOptions
from steelyard.io.text import ending
from steelyard.tasks.boxes.check_alone import check_coordinates, check_ids, check_truth, places
from steelyard.tasks.boxes.check_geometry import extent
from steelyard.tasks.boxes.check_pairs import check_fit, check_join, check_repeats, check_scores
from steelyard.tasks.boxes.check_quick import has_points
from steelyard.tasks.boxes.check_side import CheckedSide, from_coco, from_dataset, from_records, unreadable
from steelyard.tasks.boxes.reader import read_boxes


def run_boxes(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], readings: tuple[ReadOptions, ReadOptions]
) -> CheckReport:
    """Check truth, and predictions where there are any."""
    first, like = _read(task.truth, truth, "truth", columns, readings[0], None)
    sides = [first]
    second = None
    if predictions is not None:
        second, results = _read(task.prediction, predictions, "predictions", columns, readings[1], (first, like))
        sides.append(second)
        if like is not None and results is not None and like.format == "openimages":
            check_verified(second, like, fit(results, like))
    _look(first, second)
    images = first.images if first.images is not None else np.unique(first.image)
    labels = first.labels if first.labels is not None else np.unique(first.label)
    counts = {"images": len(images), "objects": len(first), "classes": len(labels)}
    if second is not None:
        counts["predictions"] = len(second)
    findings = in_order(_findings(sides))
    return CheckReport(first.source, None if second is None else second.source, counts, findings, task.name)


def check_verified(side: CheckedSide, truth: Dataset, results: Dataset) -> None:
    """Detections of classes that nobody looked for in their image."""
    from steelyard.io.formats.openimages import looked_for

    side.report(
        "unverified-classes", "note", "Classes with neither a box nor a verified label in the image: OpenImages' rules "
        "leave these detections out.",
        np.flatnonzero(~looked_for(truth, results)), "If more were verified, name them with the option verified=FILE.",
        shown=side.naming("class", side.label),
    )  # fmt: skip


def look_at_objects(
    task: Task, truth: Records, prediction: Records | None, options: Options, hidden: set[str]
) -> list[Finding]:
    """Findings about objects that boxes could have too, ids, scores, classes, images, without the `hidden` ones."""
    try:
        sides = task.view("prepared")(truth, prediction if prediction is not None else truth, options)
    except InputError:  # which is a finding already, or, of truth alone, that of evaluation
        return []
    first, second = _objects(sides[0], "truth"), None
    if prediction is not None:
        second = _objects(sides[1], "predictions")
    _look(first, second, coordinates=False)
    return [
        finding for finding in _findings([s for s in (first, second) if s is not None]) if finding.code not in hidden
    ]


def _objects(records: Records, name: str) -> CheckedSide:
    side = from_records(records, name)
    if has_points(records):
        shape = records["shape"]
        seen = shape[:, 2::3] > 0 if name == "truth" else np.ones((len(shape), shape.shape[1] // 3), dtype=bool)
        side.box = extent(shape, seen)
    if name == "predictions":
        side.images, side.labels = None, None
    elif isinstance(records, BoxRecords) and records.sizes is not None:
        side.sizes = np.where(records.sizes < 0, np.nan, records.sizes.astype(np.float64))[:, ::-1]
    side.readings = ("axes-exchanged",)
    return side


def _findings(sides: list[CheckedSide]) -> list[Finding]:
    findings = [finding for side in sides for finding in side.findings]
    return [replace(finding, examples=tuple(filter(None, finding.examples))) for finding in findings]


def _look(first: CheckedSide, second: CheckedSide | None, *, coordinates: bool = True) -> None:
    """All checks, of boxes; masks and keypoints have no other reading of their coordinates."""
    if first.readable:
        check_ids(first)
        if coordinates:
            check_coordinates(first, _sizes(first, first.image))
        check_truth(first)
    if second is None or not second.readable:
        return
    check_scores(second)
    if coordinates:
        check_coordinates(second, _sizes(first, second.image))
    check_repeats(second)
    if first.readable:
        image = check_join(first, second)
        check_fit(first, second, image, _sizes(first, second.image))


def _sizes(truth: CheckedSide, image: Array) -> Array | None:
    """Width and height of each box's image; nan where they are not known, None where none is."""
    if truth.sizes is None or truth.images is None or not len(image) or not np.isfinite(truth.sizes).any():
        return None
    codes = places(truth.images, image)
    sizes: Array = truth.sizes[codes.clip(0)].copy()
    sizes[codes < 0] = np.nan
    sizes[(sizes <= 0).any(axis=1)] = np.nan
    return sizes


def _read(
    schema: Schema,
    data: Any,
    name: str,
    columns: Mapping[str, str],
    reading: ReadOptions,
    truth: tuple[CheckedSide, Dataset | None] | None,
) -> tuple[CheckedSide, Dataset | None]:
    """A side, and the data set it was read from where that gives ids to the other side."""
    source = fspath(data) if isinstance(data, str | PathLike) else name
    try:
        if not isinstance(data, str | PathLike):
            if _is_coco(data, name):
                return from_coco(data, name), None
            return from_records(read_boxes(data, schema, columns, _side(name)), name), None
        form = reading.format if reading.format != "auto" else detect(Path(data), source)
        foreign = truth is not None and truth[1] is not None and truth[1].by_file
        if form in ("coco", "lvis") and not foreign and not reading.names:
            return from_coco(data, name), None
        if form == "csv" and not foreign and columns and ending(data) in TABLES:
            return from_records(read_boxes(data, schema, columns, _side(name)), name), None
        like = _like(truth)
        dataset = read_dataset(data, reading, _side(name), like)
        if like is not None and (dataset.by_file or dataset.by_name or like.by_file):
            dataset = fit(dataset, like)
        return from_dataset(dataset, name), dataset
    except (InputError, OSError) as error:
        return unreadable(name, source, refusal(error, source)), None


def _like(truth: tuple[CheckedSide, Dataset | None] | None) -> Dataset | None:
    """The truth as a data set that predictions of another format can be fitted to."""
    if truth is None or not truth[0].readable:
        return None
    side, dataset = truth
    if dataset is not None:
        return dataset
    if isinstance(side.source, str) and ending(side.source) == ".json" and Path(side.source).is_file():
        try:
            return read_dataset(side.source, ReadOptions(), "truth")
        except InputError:
            return None
    return None


def _side(name: str) -> str:
    return "truth" if name == "truth" else "prediction"


def _is_coco(data: Any, name: str) -> bool:
    if name == "truth":
        return isinstance(data, Mapping) and "annotations" in data
    return isinstance(data, list | tuple) and all(isinstance(r, Mapping) and "image_id" in r for r in data)
