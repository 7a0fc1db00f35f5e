"""What a format cannot hold of a data set, counted before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.core.records import Array
from steelyard.io.formats.cvat import segmentation_fits
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.format import Loss, WriteOptions

# Keys of a box that a format has a place for; None: all of them.
_BOX_KEYS: dict[str, set[str] | None] = {
    "coco": None,
    "lvis": None,
    "csv": None,
    "voc": {"pose", "truncated", "occluded"},
    "cvat": {"occluded", "z_order", "source", "group_id", "attributes"},
    "yolo": set(),
}
_IMAGE_KEYS: dict[str, set[str] | None] = {
    "coco": None,
    "lvis": None,
    "csv": set(),
    "voc": {"folder", "source", "owner", "segmented", "depth"},
    "cvat": {"cvat_id"},
    "yolo": set(),
}


def losses(dataset: Dataset, target: str, options: WriteOptions) -> list[Loss]:
    """All that differs between the data set and what a reader of the target will find."""
    results = dataset.score is not None and target in ("coco", "lvis")
    changes = [
        *_images(dataset, target, results),
        *_classes(dataset, target, results),
        *_boxes(dataset, target, options),
    ]
    if dataset.header and (target not in ("coco", "lvis") or results):
        keys = ", ".join(dataset.header)
        changes.append(Loss("lost", f"the file's head ({keys})", len(dataset.header), f"{target} has no place for it"))
    return changes


def _images(dataset: Dataset, target: str, results: bool) -> Iterator[Loss]:
    pictures = dataset.pictures
    if target in ("voc", "yolo", "cvat"):
        renamed = sum(str(p.id) != p.stem for p in pictures)
        if renamed:
            yield Loss("lost", "ids of images", renamed, f"{target} names an image by its file")
    elif target in ("coco", "lvis") and dataset.by_file and not results:
        yield Loss("changed", "names of images", len(pictures), "ids count from 1, the name stands in file_name")
    if results:
        sized = sum(p.width is not None or bool(p.file) for p in pictures)
        if sized:
            yield Loss("lost", "sizes and files of images", sized, "COCO's results hold only ids")
        return
    if target == "yolo":
        endings = sum("." in p.file.rpartition("/")[2] and p.file != p.stem for p in pictures)
        if endings:
            yield Loss("lost", "endings of image files", endings, "YOLO names an image without it")
    if target == "lvis":
        plain = sum(bool(p.file) and not p.extra.get("coco_url") for p in pictures)
        if plain:
            yield Loss("changed", "files of images", plain, "LVIS names them in coco_url")
        if dataset.format != "lvis":
            yield Loss(
                "changed", "classes that an image lacks", len(pictures),
                "written as looked for in vain, since the source is taken to be annotated in full",
            )  # fmt: skip
    held = _IMAGE_KEYS[target]
    if held is not None:
        yield from _keys((p.extra for p in pictures), held, "of images", target)


def _classes(dataset: Dataset, target: str, results: bool) -> Iterator[Loss]:
    categories = dataset.categories
    used = set(dataset.category.tolist())
    if target in ("voc", "cvat"):
        numbered = sum(str(c.id) != c.display_name for c in categories)
        if numbered:
            yield Loss("lost", "ids of classes", numbered, f"{target} has names only")
    elif target == "yolo":
        moved = sum(c.id != i for i, c in enumerate(categories))
        if moved:
            yield Loss("changed", "ids of classes", moved, "YOLO counts from 0 without gaps, in the order of the list")
    elif target in ("coco", "lvis") and dataset.by_name and not results:
        yield Loss("changed", "names of classes", len(categories), "they get ids from 1 in the order of the list")
    if target in ("voc", "csv") or results:
        idle = len(categories) - len(used)
        if idle:
            yield Loss(
                "lost", "classes without boxes", idle, f"{'COCO’s results' if results else target} list no classes"
            )
    if results:
        named = sum(bool(c.name) and c.name != str(c.id) for c in categories)
        if named:
            yield Loss("lost", "names of classes", named, "COCO's results hold only ids")
    if target not in ("coco", "lvis") or results:
        yield from _keys((c.extra for c in categories), set(), "of classes", target)


def _boxes(dataset: Dataset, target: str, options: WriteOptions) -> Iterator[Loss]:
    count = len(dataset)
    if target in ("voc", "yolo", "cvat"):
        if dataset.area is not None:
            own = dataset.box[:, 2] * dataset.box[:, 3]
            other = int(np.count_nonzero(~np.isnan(dataset.area) & (dataset.area != own)))
            if other:
                yield Loss("lost", "areas that are not width × height", other, f"{target} has no place for them")
        ids = sum("id" in extra for extra in dataset.extra)
        if ids:
            yield Loss("lost", "ids of boxes", ids, f"{target} has none")
    if target in ("lvis", "voc", "yolo", "cvat") and _count(dataset.crowd):
        yield Loss("lost", "crowd flags", _count(dataset.crowd), f"{target} has none: they become ordinary objects")
    if target in ("yolo", "cvat") and _count(dataset.difficult):
        yield Loss(
            "lost", "difficult flags", _count(dataset.difficult), f"{target} has none: they become ordinary objects"
        )
    if target != "csv" and _count(dataset.group):
        yield Loss("lost", "boxes of groups", _count(dataset.group), f"{target} has none: they become ordinary objects")
    if target in ("coco", "lvis") and _count(dataset.difficult):
        why = "kept under the key 'difficult', which evaluators of COCO ignore"
        yield Loss("changed", "difficult flags", _count(dataset.difficult), why)
    yield from _segmentations(dataset, target, options)
    held = _BOX_KEYS[target]
    if held is not None:
        yield from _keys(dataset.extra, held | {"id", "segmentation"}, "of boxes", target)
    if dataset.score is not None and target in ("voc", "cvat"):
        name = "<score>" if target == "voc" else "an attribute 'score'"
        yield Loss("changed", "scores", count, f"written as {name}, which is not part of the format")
    if target == "voc" and options.whole:
        moved = int(np.count_nonzero((dataset.box != np.floor(dataset.box)).any(axis=1)))
        if moved:
            yield Loss("lost", "fractions of pixels", moved, "rounded as asked")


def _segmentations(dataset: Dataset, target: str, options: WriteOptions) -> Iterator[Loss]:
    rows = [row for row, extra in enumerate(dataset.extra) if _is_filled(extra.get("segmentation"))]
    if not rows or target in ("coco", "lvis", "csv") or (target == "yolo" and options.polygons):
        return
    if target == "cvat":
        pictures = dataset.pictures
        lost = sum(not segmentation_fits(dataset, row, pictures[dataset.picture[row]]) for row in rows)
        if lost:
            yield Loss("lost", "segmentations", lost, "of several parts, or whose box is not the annotation's own")
        return
    more = "; `polygons=True` writes them instead of boxes" if target == "yolo" else ""
    yield Loss("lost", "segmentations", len(rows), f"{target} has boxes{more}")


def _is_filled(value: Any) -> bool:
    return value is not None and value != []


def _count(flags: Array | None) -> int:
    return 0 if flags is None else int(np.count_nonzero(flags))


def _keys(extras: Any, held: set[str], of: str, target: str) -> Iterator[Loss]:
    counts: dict[str, int] = {}
    for extra in extras:
        for name, value in extra.items():
            if name not in held and value not in (None, "", [], {}):
                counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        yield Loss("lost", f"'{name}' {of}", count, f"{target} has no place for it")
