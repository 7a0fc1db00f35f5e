"""LVIS's rules: a class counts in an image only where it was looked for there.

Of an image's detections the 300 best count, over all classes. Those of a class that is neither annotated in the image
nor listed as looked for in vain are left out: nobody knows whether they are right. Where a class is listed as not
annotated to the end, a detection that no truth takes counts neither way: a crowd over the whole image takes it.
Truths and detections without area are left out, as LVIS's own package leaves them out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidFile, InvalidValue, MissingKey, UnknownName
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array, BoxRecords, Records, box_columns
from steelyard.io.coco import read_coco, read_federated
from steelyard.io.once import of_truth

if TYPE_CHECKING:
    from steelyard.io.formats.dataset import Dataset

MOST = 300
FEDERATED = ("neg_category_ids", "not_exhaustive_category_ids")
LARGEST_TABLE = 1 << 26
EVERYWHERE = [-1e11, -1e11, 2e11, 2e11]
# Without counts: files that are read apart say it once.
RULES = (
    f"Scored by LVIS's rules: detections beyond an image's {MOST} best or of a class that was not looked for there "
    "are left out, as is what has no area; a class that is not annotated to the end in an image is a crowd there."
)


class Federation(Frozen):
    """An LVIS truth: its records, the places of their images and classes, and cells of an image and a class each.

    `looked` are those that were looked for in vain, `unsure` those that are not annotated to the end.
    """

    records: BoxRecords
    picture: Array
    category: Array
    looked: Array
    unsure: Array


class Results(Frozen):
    """Predictions: their records, and the places of their images and classes in the truth; -1 where it has none."""

    records: Records
    picture: Array
    category: Array


def by_rules_of_lvis(truth: Dataset, prediction: Dataset) -> tuple[BoxRecords, BoxRecords]:
    """Both sides as the rules have them; `prediction` has the images and classes of `truth`."""
    if prediction.score is None:
        raise MissingKey("predictions without scores", where=prediction.source, remedy="Give every box a score.")
    width, pictures = len(truth.categories), len(truth.pictures)
    looked, unsure = (_pairs(truth, key, width) for key in FEDERATED)
    picture = np.where(prediction.picture < pictures, prediction.picture, -1)
    category = np.where(prediction.category < width, prediction.category, -1)
    first = Federation(truth.records(), truth.picture, truth.category, looked, unsure)
    return _apply_rules(first, Results(prediction.records(), picture, category), width)


def read_lvis(truth: str, predictions: str) -> tuple[BoxRecords, BoxRecords] | None:
    """Both sides from plain JSON files, by the native reader alone; None where they need a closer look."""
    first, columns = of_truth(read_federated, truth)
    second = read_coco(predictions, "prediction")
    images, labels = first.images, first.labels
    ids = (images, labels, first["image"], first["label"], second["image"], second["label"])
    if images is None or labels is None or any(column is None or column.dtype.kind != "i" for column in ids):
        return None
    picture, category = _places(images, first["image"]), _places(labels, first["label"])
    cells = [_listed_cells(columns.get(key), labels) for key in ("vain", "unsure")]
    if cells[0] is None or cells[1] is None or (picture < 0).any() or (category < 0).any():
        return None
    often = tuple(columns["frequency"])
    records = replace(first, zero_id=-1, frequency=often if any(often) else ())
    results = Results(second, _places(images, second["image"]), _places(labels, second["label"]))
    return _apply_rules(Federation(records, picture, category, cells[0], cells[1]), results, len(labels))


def read_lvis_masks(truth: str, predictions: str) -> tuple[BoxRecords, BoxRecords]:
    """Both sides with masks. Where a class is not annotated to the end, a crowd covers the whole image."""
    first, columns = of_truth(read_federated, truth, "masks")
    second = read_coco(predictions, "prediction", what="masks", truth=first)
    images, labels = first.images, first.labels
    assert images is not None  # a COCO file lists both
    assert labels is not None
    ids = (images, labels, first["image"], first["label"], second["image"], second["label"])
    cells: list[Array] = []
    for key, name in zip(("vain", "unsure"), FEDERATED, strict=True):
        whole = all(not len(column) or column.dtype.kind == "i" for column in ids)
        listed = _listed_cells(columns.get(key), labels) if whole else None
        if listed is None:
            raise InvalidFile(
                f"the truth is not one of LVIS: '{name}' is not a list of category ids in every image",
                where=first.source,
                remedy="Leave the format out to score by COCO's rules.",
            )
        cells.append(listed)
    picture, category = _places(images, first["image"]), _places(labels, first["label"])
    for name, column, places in (("image", first["image"], picture), ("label", first["label"], category)):
        if (places < 0).any():
            row = int(np.flatnonzero(places < 0)[0])
            raise UnknownName(
                f"{ {'image': 'image', 'label': 'category'}[name] } {column[row]} is not listed in the file",
                where=first.where(row, name),
            )
    often = tuple(columns["frequency"])
    records = replace(first, zero_id=-1, frequency=often if any(often) else ())
    results = Results(second, _places(images, second["image"]), _places(labels, second["label"]))
    return _apply_rules(Federation(records, picture, category, cells[0], cells[1]), results, len(labels))


def _whole_images(truth: BoxRecords, picture: Array) -> Array:
    """A mask of every pixel of each of these images."""
    masks: Array = np.empty(len(picture), dtype=object)
    sizes = None if truth.sizes is None else np.asarray(truth.sizes)
    for row, place in enumerate(picture.tolist()):
        height, width = (-1, -1) if sizes is None else sizes[place].tolist()
        if height < 0 or width < 0:
            image = truth.images[place] if truth.images is not None else place
            raise MissingKey(
                "the image has no height and width", where=f"{truth.source}, image {image}", remedy="LVIS has both."
            )
        masks[row] = _native.mask_pack({"size": [height, width], "counts": [0, height * width]}, height, width)
    return masks


def _listed_cells(lists: Any, labels: Array) -> Array | None:
    """Cells of images and the classes that they list; None where an image has no list, or an unknown class."""
    if lists is None or (lists[1] < 0).any():
        return None
    category = _places(labels, lists[0])
    if (category < 0).any():
        return None
    return np.asarray(np.repeat(np.arange(len(lists[1])), lists[1]) * len(labels) + category)


def _places(labels: Array, column: Array) -> Array:
    """The place of each id among the known ones; -1 where it is not there."""
    values = np.ascontiguousarray(column)
    if (labels[1:] > labels[:-1]).all():
        return np.asarray(_native.places(labels, values).astype(np.int64))
    order = np.argsort(labels, kind="stable")
    at = _native.places(labels[order], values)
    return np.where(at >= 0, order[at], -1)


def _apply_rules(truth: Federation, results: Results, width: int) -> tuple[BoxRecords, BoxRecords]:
    first, second = truth.records, results.records
    rows = np.flatnonzero(first["area"] > 0)
    here = (truth.picture * width + truth.category)[rows]
    listed = (results.picture >= 0) & (results.category >= 0)  # what the truth does not know is refused later
    cell = np.where(listed, results.picture * width + results.category, 0)
    masks = "mask" in second
    sized = _native.mask_area(second["mask"].tolist()) > 0 if masks else second["w"] * second["h"] > 0
    checked = _among(cell, truth.looked, here) | ~listed
    kept = np.flatnonzero(checked & sized & _best(second["score"], results.picture))
    rest = np.sort(truth.unsure)
    rest = rest[np.append(True, rest[1:] != rest[:-1])[: len(rest)] & _among(rest, cell[kept][listed[kept]])]
    columns = {name: column[rows] for name, column in first.columns.items()}
    crowd = np.zeros(len(rows), dtype=bool)  # LVIS has none
    picture, category = rest // width, rest % width
    images, labels = first.images, first.labels
    assert images is not None  # a data set lists both
    assert labels is not None
    added: dict[str, Any] = {
        "image": images[picture], "label": labels[category], "area": np.full(len(rest), EVERYWHERE[2] ** 2),
        **box_columns(np.tile(EVERYWHERE, (len(rest), 1))),
    }  # fmt: skip
    if masks:
        added["mask"] = _whole_images(first, picture)
    columns["crowd"] = np.concatenate([crowd, np.ones(len(rest), dtype=bool)])
    for name, values in added.items():
        columns[name] = np.concatenate([columns[name], values.astype(columns[name].dtype)])
    columns.pop("difficult", None)
    second = second.take(kept)
    count = len(rows)

    def place(row: int) -> str:
        return first.place(int(rows[row])) if row < count else f"{first.source}, not_exhaustive_category_ids"

    return replace(first, columns=columns, notes=(RULES,), place=place), BoxRecords(
        second.source, second.columns, second.other, second.place, second.names
    )


def _pairs(truth: Dataset, key: str, width: int) -> Array:
    """Image and class as one number, for every class that the images list under a key."""
    place = {c.id: i for i, c in enumerate(truth.categories)}
    cells = []
    for i, picture in enumerate(truth.pictures):
        listed = picture.extra.get(key)
        if not isinstance(listed, list) or not all(isinstance(v, int | str) and v in place for v in listed):
            raise InvalidValue(
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


def _best(score: Array, picture: Array) -> Array:
    """Which detections are among the best of their image; those of unknown images are as of one."""
    if not len(picture) or np.bincount(picture + 1).max() <= MOST:
        return np.ones(len(picture), dtype=bool)
    order = np.lexsort((-score, picture))
    starts = np.flatnonzero(np.diff(picture[order], prepend=-2))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return rank < MOST
