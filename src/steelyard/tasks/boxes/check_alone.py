"""Checks that either side stands alone: ids, sizes, coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from steelyard.core.records import Array
from steelyard.tasks.boxes.check_geometry import twins
from steelyard.tasks.boxes.check_side import CheckedSide, texts

TWIN = 0.95  # overlap of two boxes that are one
FEW = 20  # boxes below which statistics say nothing
SLACK = 2.0  # pixels by which a rounded box may reach over an edge


def places(ids: Array, column: Array) -> Array:
    """Where each id stands among the known ones; -1 where it does not."""
    if ids.dtype.kind == "i" and column.dtype.kind == "i":
        order = np.argsort(ids, kind="stable")
        at = np.searchsorted(ids[order], column)
        inside = np.minimum(at, len(ids) - 1)
        named = (ids[order][inside] == column) if len(ids) else np.zeros(len(column), dtype=bool)
        return np.where(named, order[inside] if len(ids) else 0, -1)
    place: dict[str, int] = {}
    for i, value in enumerate(ids.tolist()):
        place.setdefault(str(value), i)
    return np.array([place.get(str(v), -1) for v in column.tolist()], dtype=np.int64)


def check_ids(side: CheckedSide) -> None:
    """Ids that appear twice, and rows of images or classes that are not listed."""
    for ids, what, listed in ((side.images, "image", "images"), (side.labels, "class", "classes")):
        if ids is None:
            continue
        rows = _repeated_ids(ids)
        side.report(
            f"duplicate-{what}-id", "error",
            f"Ids of {listed} appear more than once: boxes of the one are counted with the other.", rows,
            f"Give every {what} an id of its own.", total=len(ids), shown=_id_of(ids),
        )  # fmt: skip
        codes = places(ids, side.image if what == "image" else side.label)
        column = side.image if what == "image" else side.label
        side.report(
            f"unknown-{what}", "error",
            f"Objects of {listed} that are not listed: evaluation refuses them, other tools drop them in silence.",
            np.flatnonzero(codes < 0), f"List every {what}, or leave the rows out.",
            shown=side.naming(what, column),
        )  # fmt: skip
    if side.id is not None:
        with_id = np.flatnonzero(side.id >= 0)
        rows = with_id[_repeated_ids(side.id[with_id])]
        side.report(
            "duplicate-box-id", "error", "Ids of annotations appear more than once: pycocotools keeps only the "
            "last of each.",
            rows, "Give every annotation an id of its own.", shown=lambda row: f"{side.place(row)}: id {side.id[row]}",  # type: ignore[index]
        )  # fmt: skip
        zero = np.flatnonzero(side.id == 0)
        side.report(
            "id-zero", "note", "An annotation has the id 0: pycocotools takes a match with it for no match; "
            "Steelyard counts it.",
            zero, "Number annotations from 1 where others score the same file.",
        )  # fmt: skip
    check_names(side)


def _id_of(ids: Array) -> Callable[[int], str]:
    return lambda row: f"id {ids[row]}"


def _repeated_ids(ids: Array) -> Array:
    """Rows whose id stands in an earlier row."""
    if not len(ids):
        return np.zeros(0, np.int64)
    values = ids if ids.dtype.kind == "i" else texts(ids).astype(str)
    _, first = np.unique(values, return_index=True)
    again = np.ones(len(ids), dtype=bool)
    again[first] = False
    return np.flatnonzero(again)


def check_names(side: CheckedSide) -> None:
    """Names of classes that differ in nothing that a reader sees, and files that stand for two images."""
    plain = [" ".join(name.lower().replace("_", " ").replace("-", " ").split()) for name in side.names]
    many = {name for name, count in Counter(plain).items() if count > 1 and name}
    rows = np.array([i for i, name in enumerate(plain) if name in many], dtype=np.int64)
    side.report(
        "class-names", "warning", "Classes whose names are the same but for case, blanks or hyphens: one class "
        "may be two.",
        rows, "Merge them, or name them apart.", total=len(side.names),
        shown=lambda row: f"'{side.names[row]}' (id {side.labels[row] if side.labels is not None else row})",
    )  # fmt: skip
    counts = Counter(file for file in side.files if file)
    twice = np.array([i for i, file in enumerate(side.files) if counts[file] > 1], dtype=np.int64)
    side.report(
        "same-file", "warning", "Several images have the same file: its objects are counted for each.", twice,
        "List every picture once.", total=len(side.files), shown=lambda row: side.files[row],
    )  # fmt: skip


def check_coordinates(side: CheckedSide, sizes: Array | None) -> None:
    """Corners or fractions where sizes are expected, empty boxes, boxes outside their image. `sizes` is by box."""
    if not len(side):
        return
    if _fractions(side, sizes) or _corners(side, sizes):
        return  # what follows from it need not be said too
    w, h = side.box[:, 2], side.box[:, 3]
    empty = np.flatnonzero((w == 0) | (h == 0))
    lost = "can never be found: each is a sure miss" if side.name == "truth" else "can never be right"
    side.report("zero-area", "warning", f"Boxes without area {lost}.", empty, "Leave them out, or correct them.")
    if sizes is not None:
        _outside(side, sizes)


def _fractions(side: CheckedSide, sizes: Array | None) -> bool:
    """Whether all boxes lie within the unit square, though images are larger."""
    if side.shares:
        return False
    far = side.box[:, :2] + side.box[:, 2:]
    inside = bool((far <= 1.02).all() and (side.box[:, :2] >= -0.02).all())
    large = sizes is None or bool(np.nanmin(sizes, initial=np.inf) > 4)
    if not (inside and large and len(side) >= 5 and bool((side.box[:, 2:] > 0).any())):
        return False
    side.report(
        "fractions", "error", "All boxes lie between 0 and 1: they look like fractions of the image where "
        "pixels are expected.",
        np.arange(len(side)), "Multiply x and width by the image's width, y and height by its height.",
    )  # fmt: skip
    return True


def _corners(side: CheckedSide, sizes: Array | None) -> bool:
    """Whether boxes look like two corners: the third number always beyond the first, and too far as a size.

    Boxes x, y, width, height that are all wider than they are far from the edge, and reach out of the image in large
    part, are rare enough to be taken for corners. Where sizes of images are not known, the widths must also grow with
    the place, as far corners do and sizes do not.
    """
    x, y, w, h = side.box.T
    beyond = (w >= x) & (h >= y)
    if len(side) < FEW or np.mean(beyond) < 0.999:
        return False
    if sizes is not None and np.isfinite(sizes).any():
        has_size = np.isfinite(sizes).all(axis=1)
        out = (x + w > sizes[:, 0] + SLACK) | (y + h > sizes[:, 1] + SLACK)
        fits = (w <= sizes[:, 0] + SLACK) & (h <= sizes[:, 1] + SLACK)
        suspect = bool(has_size.any() and np.mean(out[has_size]) > 0.2 and np.mean(fits[has_size]) > 0.99)
    else:
        spread = np.std(x) > 0 and np.std(y) > 0
        suspect = bool(spread and min(np.corrcoef(x, w)[0, 1], np.corrcoef(y, h)[0, 1]) > 0.3)
    if suspect:
        side.report(
            "corners-as-size", "error",
            "The boxes look like two corners (x1, y1, x2, y2) where x, y, width, height are expected: the third "
            "and fourth "
            "number are never below the first and second, and as sizes they reach out of the images.",
            np.flatnonzero(beyond), "Write x2 − x1 and y2 − y1 in place of x2 and y2.",
        )  # fmt: skip
    return suspect


def _outside(side: CheckedSide, sizes: Array) -> None:
    x, y, w, h = side.box.T
    width, height = sizes.T
    with np.errstate(invalid="ignore"):
        off = (x >= width) | (y >= height) | (x + w <= 0) | (y + h <= 0)
        over = np.maximum.reduce([x + w - width, y + h - height, -x, -y])
        slack = np.maximum(SLACK, 0.02 * np.maximum(width, height))
        part = ~off & (over > slack)
    off &= (w > 0) & (h > 0)
    truth = side.name == "truth"
    side.report(
        "off-image", "error" if truth else "warning", "Boxes that lie fully outside their image.", np.flatnonzero(off),
        "Is it the right image, and is its size the one that was annotated?",
        shown=lambda row: f"{side.place(row)}: {side.box_text(row)} in {width[row]:g} × {height[row]:g}",
    )  # fmt: skip
    side.report(
        "outside-image", "warning" if truth else "note", "Boxes that reach out of their image by more than 2 %.",
        np.flatnonzero(part), "Clip them, or correct the sizes of the images: IoU counts what lies outside too.",
        shown=lambda row: f"{side.place(row)}: {side.box_text(row)} in {width[row]:g} × {height[row]:g}",
    )  # fmt: skip


def check_truth(side: CheckedSide) -> None:
    """What only truth can have wrong: twins, areas, crowds."""
    crowd = np.zeros(len(side), dtype=bool) if side.crowd is None else side.crowd.astype(bool)
    plain = np.flatnonzero(~crowd & (side.box[:, 2] > 0) & (side.box[:, 3] > 0))
    a, b = twins(cells(side)[plain], side.box[plain], TWIN)
    later = np.unique(plain[np.maximum(a, b)]) if len(a) else np.zeros(0, np.int64)
    partner = {int(max(i, j)): int(min(i, j)) for i, j in zip(plain[a].tolist(), plain[b].tolist(), strict=True)}
    side.report(
        "near-duplicates", "warning",
        "Objects of one class that lie on one another (IoU 0.95 or more): a detector finds one of them, the "
        "other is a miss.",
        later, "Remove the copies.", shown=lambda row: f"{side.place(row)}: {side.box_text(row)} as in "
        f"{side.place(partner[row])}",
    )  # fmt: skip
    if side.area is not None and not misread(side):
        own = side.box[:, 2] * side.box[:, 3]
        with np.errstate(invalid="ignore"):
            large = (side.area > own * 1.05 + 2) & (own > 0)
            none = (side.area == 0) & (own > 0)
        side.report(
            "area", "warning",
            "Areas that are larger than their box, or 0: the object is counted in another range of sizes than "
            "it belongs to.",
            np.flatnonzero(large | none), "Give the area of the mask, or leave 'area' out.",
            shown=lambda row: f"{side.place(row)}: area {side.area[row]:g}, box {own[row]:g}",  # type: ignore[index]
        )  # fmt: skip
    if len(side) >= FEW and np.mean(crowd) > 0.2:
        side.report(
            "crowds", "warning", "Many objects are crowds, which count neither as found nor as missed.",
            np.flatnonzero(crowd), "Is iscrowd set by mistake?",
        )  # fmt: skip
    if side.group is not None:
        side.report(
            "groups", "note", "Boxes that hold a group: most metrics count each as a single object.",
            np.flatnonzero(side.group), "Score them with ap(rule=openimages).",
        )  # fmt: skip
    if side.images is not None:
        held = np.unique(places(side.images, side.image))
        bare = np.setdiff1d(np.arange(len(side.images)), held)
        if len(bare) > 0.5 * len(side.images):
            side.report(
                "empty-images", "note", "More than half of the images have no object.", bare,
                "Fine where they were looked at; else leave them out: every detection there is wrong.",
                total=len(side.images), shown=lambda row: f"image {side.images[row]}",  # type: ignore[index]
            )  # fmt: skip
    if side.sizes is not None:
        wrong = np.flatnonzero((side.sizes <= 0).any(axis=1))
        side.report(
            "image-size", "error", "Images of a size of 0 or less.", wrong, "Give width and height in pixels.",
            total=len(side.sizes), shown=lambda row: f"image {side.images[row]}: {side.sizes[row].tolist()}",  # type: ignore[index]
        )  # fmt: skip


def cells(side: CheckedSide) -> Array:
    """A number for each image and class together."""
    columns = [c if c.dtype.kind == "i" else texts(c).astype(str) for c in (side.image, side.label)]
    codes = [np.unique(c, return_inverse=True)[1].astype(np.int64) for c in columns]
    return codes[0] * (int(codes[1].max(initial=0)) + 1) + codes[1]


MISREAD = {"corners-as-size", "fractions", "centres-as-corners", "axes-exchanged"}


def misread(side: CheckedSide) -> bool:
    """Whether the numbers of a side mean something else than they are taken for: much else then follows from it."""
    return any(finding.code in MISREAD for finding in side.findings)
