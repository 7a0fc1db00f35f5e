"""LVIS's rules: a class counts in an image only where it was looked for there.

Of an image's detections the 300 best count, over all classes. Those of a class that is neither annotated in the image
nor listed as looked for in vain are left out: nobody knows whether they are right. Where a class is listed as not
annotated to the end, a detection that no truth takes counts neither way: a crowd over the whole image takes it.
Truths and detections without area are left out, as LVIS's own package leaves them out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.records import Array, BoxRecords
from steelyard.io.formats.dataset import Dataset

MOST = 300
LARGEST_TABLE = 1 << 26
EVERYWHERE = [-1e11, -1e11, 2e11, 2e11]


def by_rules_of_lvis(truth: Dataset, prediction: Dataset) -> tuple[BoxRecords, BoxRecords]:
    """Both sides as the rules have them; `prediction` has the images and classes of `truth`."""
    if prediction.score is None:
        raise InputError("predictions without scores", where=prediction.source, remedy="Give every box a score.")
    width = len(prediction.categories)
    looked = _pairs(truth, "neg_category_ids", width)
    unsure = _pairs(truth, "not_exhaustive_category_ids", width)
    first = truth.records()
    rows = np.flatnonzero(first["area"] > 0)
    here = (truth.picture * width + truth.category)[rows]
    cell = prediction.picture * width + prediction.category
    listed = prediction.category < len(truth.categories)  # what the truth does not know is refused later
    known = _among(cell, looked, here) | ~listed | (prediction.picture >= len(truth.pictures))
    sized = prediction.box[:, 2] * prediction.box[:, 3] > 0
    kept = np.flatnonzero(known & sized & _best(prediction.picture, prediction.score))
    rest = np.intersect1d(unsure, cell[kept])
    columns = {name: column[rows] for name, column in first.columns.items()}
    crowd = np.zeros(len(rows), dtype=bool)  # LVIS has none
    picture, category = rest // width, rest % width
    images, labels = first.images, first.labels
    if images is None or labels is None:
        raise InputError("no list of images and classes", where=truth.source, remedy="LVIS lists both.")
    added: dict[str, Any] = {
        "image": images[picture], "label": labels[category], "area": np.full(len(rest), EVERYWHERE[2] ** 2),
        **{name: np.full(len(rest), value) for name, value in zip(("x", "y", "w", "h"), EVERYWHERE, strict=True)},
    }  # fmt: skip
    columns["crowd"] = np.concatenate([crowd, np.ones(len(rest), dtype=bool)])
    for name, values in added.items():
        columns[name] = np.concatenate([columns[name], values.astype(columns[name].dtype)])
    columns.pop("difficult", None)
    left = len(prediction) - len(kept)
    notes = (
        f"Scored by LVIS's rules: {left:,} detections are left out, beyond the {MOST} best of an image, of a class "
        f"that was not looked for there, or without area; {len(truth) - len(rows):,} objects without area are left "
        f"out; {len(rest):,} pairs of image and class are not annotated to the end and stand as crowds.",
    )
    second = prediction.records().take(kept)
    count = len(rows)

    def place(row: int) -> str:
        return first.place(int(rows[row])) if row < count else f"{first.source}, not_exhaustive_category_ids"

    return replace(first, columns=columns, notes=notes, place=place), BoxRecords(
        second.source, second.columns, second.other, second.place, second.names
    )


def _pairs(truth: Dataset, key: str, width: int) -> Array:
    """Image and class as one number, for every class that the images list under a key."""
    place = {c.id: i for i, c in enumerate(truth.categories)}
    cells = []
    for i, picture in enumerate(truth.pictures):
        listed = picture.extra.get(key)
        if not isinstance(listed, list) or not all(v in place for v in listed):
            raise InputError(
                f"'{key}' is not a list of category ids",
                where=f"{truth.source}, image {picture.id}",
                remedy="LVIS has it for every image.",
            )
        cells += [i * width + place[v] for v in listed]
    return np.array(cells, dtype=np.int64)


def _among(cell: Array, *known: Array) -> Array:
    """Which numbers are among the known ones, by a table where that is small."""
    size = 1 + max((int(some.max()) for some in (cell, *known) if len(some)), default=0)
    if size > LARGEST_TABLE:
        return np.isin(cell, np.concatenate(known))
    flags = np.zeros(size, dtype=bool)
    for some in known:
        flags[some] = True
    return np.asarray(flags[cell])


def _best(picture: Array, score: Array) -> Array:
    """Which detections are among the best of their image."""
    if not len(picture) or np.bincount(picture).max() <= MOST:
        return np.ones(len(picture), dtype=bool)
    order = np.lexsort((-score, picture))
    starts = np.flatnonzero(np.diff(picture[order], prepend=-1))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return rank < MOST
