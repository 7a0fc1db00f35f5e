"""CVAT for images 1.1: one XML file with all images, their boxes, polygons and masks.

Polygons and masks carry no box of their own: theirs is the one around them. So a segmentation is written only where its
box is the annotation's own, to the last digit; else the box is written and the segmentation counted as lost.

Runs of a mask: COCO counts down the columns of the whole image, CVAT along the rows of a box around the object.

Only what carrying a mask from one file to the other takes; scoring masks has its own, in the native core.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import DuplicateKey, InvalidFile, InvalidNumber, InvalidValue, MissingData, MissingKey
from steelyard.core.numerals import is_whole
from steelyard.core.records import Array
from steelyard.io.formats.dataset import Category, Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format
from steelyard.io.formats.numbers import coordinate, corners, exact, from_corners, plain, polygon_of, score
from steelyard.io.formats.sizes import whole_pixels
from steelyard.io.formats.xml import Node, escape, quote_attribute, read_xml

LARGEST = 1 << 28  # pixels of one image


def counts_of(shape: dict[str, Any]) -> list[int]:
    """The runs of COCO's mask, written out or packed into text; none where they are something else."""
    counts = shape.get("counts")
    if isinstance(counts, list):
        return counts if all(type(run) is int for run in counts) else []
    text = counts.encode() if isinstance(counts, str) else b""
    runs: list[int] = []
    value = shift = 0
    for byte in text:
        bits = byte - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


def bounds(counts: list[int], width: int, height: int) -> tuple[int, int, int, int] | None:
    """Left, top, width, height of the mask; None where it is empty, or where its runs do not fill its image."""
    if any(run < 0 for run in counts) or sum(counts) != width * height or width * height > LARGEST:
        return None
    ends = np.cumsum(np.array(counts, dtype=np.int64))
    starts, stops = ends[0::2][: len(ends) // 2], ends[1::2]  # of the runs of ones
    filled = stops > starts
    starts, stops = starts[filled], stops[filled] - 1
    if not len(starts):
        return None
    left, right = int(starts[0]) // height, int(stops[-1]) // height
    whole = starts // height != stops // height  # a run over the end of a column touches both edges
    top = 0 if whole.any() else int((starts % height).min())
    low = height - 1 if whole.any() else int((stops % height).max())
    return left, top, right - left + 1, low - top + 1


def to_rows(counts: list[int], box: tuple[int, int, int, int], width: int, height: int) -> list[int]:
    """COCO's runs as CVAT's, inside the box that `bounds` says."""
    flat = np.repeat(np.arange(len(counts)) % 2, counts).astype(np.uint8)
    left, top, wide, high = box
    return _runs(flat.reshape(width, height).T[top : top + high, left : left + wide].ravel())


def from_rows(runs: list[int], box: tuple[int, int, int, int], size: tuple[int, int]) -> list[int]:
    """CVAT's runs as COCO's over the whole image."""
    left, top, wide, high = box
    width, height = size
    if left + wide > width or top + high > height or width * height > LARGEST:
        raise ValueError(f"of {wide} × {high} at {left}, {top} in an image of {width} × {height}")
    if sum(runs) != wide * high:
        raise ValueError(f"whose runs hold {sum(runs)} pixels where its box has {wide * high}")
    full = np.zeros((height, width), dtype=np.uint8)
    full[top : top + high, left : left + wide] = (
        np.repeat(np.arange(len(runs)) % 2, runs).astype(np.uint8).reshape(high, wide)
    )
    return _runs(full.T.ravel())


def _runs(flat: Array) -> list[int]:
    """Lengths of equal values, from zeros on."""
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff(np.concatenate([[0], edges, [len(flat)]]))
    runs: list[int] = lengths.tolist()
    return [0, *runs] if len(flat) and flat[0] else runs


SHAPES = ("box", "polygon", "mask")
OTHERS = ("polyline", "points", "ellipse", "cuboid", "skeleton", "tag")
_OWN = {"label", "xtl", "ytl", "xbr", "ybr", "points", "rle", "left", "top", "width", "height"}
_WHOLE = ("occluded", "z_order", "group_id")


def read(path: Path, source: str, side: str = "") -> Dataset:
    """All images of a file."""
    root = read_xml(path, source)
    if root.name != "annotations":
        raise InvalidFile(f"<{root.name}> where <annotations> is expected", where=source, remedy="Is it a CVAT file?")
    if root.find("track") is not None:
        raise InvalidFile(
            "tracks of a video", where=source, remedy="Export it as 'CVAT for images 1.1', with one image per frame."
        )  # fmt: skip
    gathered = Gatherer()
    left_out: Counter[str] = Counter()
    turned = 0
    for node in root.all("image"):
        where = f"{source}, line {node.line}"
        gathered.pictures.append(_picture(node, where, len(gathered.pictures)))
        for shape in node.children:
            if shape.name in OTHERS:
                left_out[shape.name] += 1
            elif shape.name in SHAPES:
                place = f"{source}, line {shape.line}"
                turned += coordinate(shape.attributes.get("rotation") or "0", "rotation", place) != 0
                _shape(gathered, shape, place, gathered.pictures[-1])
    _refuse_twice(gathered.pictures, source)
    notes = [
        f"{count_text(count, 'shape', 'are', f'of kind <{name}>')} left out: only boxes are read."
        for name, count in left_out.items()
    ]
    if turned:
        notes.append(f"{count_text(turned, 'box', 'are')} turned; corners are taken as they stand before the turn.")
    named = list(dict.fromkeys([*_labels(root), *sorted(gathered.categories)]))
    categories = [gathered.categories.get(name) or Category(name, name) for name in named]
    return gathered.dataset(source, "cvat", side, categories=categories, notes=notes, by_file=True, by_name=True)


def _labels(root: Node) -> list[str]:
    """The classes that the head lists, in its order."""
    names = []
    stack = [node for node in root.children if node.name == "meta"]
    while stack:
        node = stack.pop()
        if node.name == "label" and node.find("name") is not None:
            names.append(node.value("name"))
        stack += reversed(node.children)
    return names


def _picture(node: Node, where: str, place: int) -> Picture:
    name = node.attributes.get("name", "")
    if not name:
        raise MissingKey("an image without a name", where=where, remedy="Every <image> needs a name.")
    size = []
    for side in ("width", "height"):
        text = node.attributes.get(side, "")
        pixels = whole_pixels(text)
        if not pixels:
            raise InvalidNumber(f"{side} is '{text[:40]}'", where=where, remedy="It must be a whole number of pixels.")
        size.append(pixels)
    extra: dict[str, Any] = {k: v for k, v in node.attributes.items() if k not in ("id", "name", "width", "height")}
    number = node.attributes.get("id", "")
    if is_whole(number, 18):
        extra["cvat_id"] = int(number)
    return Picture(Picture(place, name).stem, name, size[0], size[1], extra)


def _refuse_twice(pictures: list[Picture], source: str) -> None:
    seen: set[Any] = set()
    for picture in pictures:
        if picture.id in seen:
            raise DuplicateKey(f"image '{picture.file}' appears twice", where=source, remedy="Image names are unique.")
        seen.add(picture.id)


def _shape(gathered: Gatherer, node: Node, where: str, picture: Picture) -> None:
    label = node.attributes.get("label", "")
    if not label:
        raise MissingKey(f"a <{node.name}> without a label", where=where, remedy="Every shape needs a label.")
    extra: dict[str, Any] = {}
    for name, text in node.attributes.items():
        if name not in _OWN:
            extra[name] = int(text) if name in _WHOLE and is_whole(text, 18, signed=True) else text
    attributes = {a.attributes.get("name", ""): a.text for a in node.all("attribute")}
    score_text = attributes.pop("score", None)
    if attributes:
        extra["attributes"] = attributes
    if node.name == "box":
        box = from_corners(
            *(coordinate(node.attributes.get(name, ""), name, where) for name in ("xtl", "ytl", "xbr", "ybr"))
        )
    elif node.name == "polygon":
        box, extra["segmentation"] = _polygon(node, where)
    else:
        box, extra["segmentation"] = _mask(node, where, picture)
    gathered.add(label, box, where, score=None if score_text is None else score(score_text, where), extra=extra)


def _polygon(node: Node, where: str) -> tuple[tuple[float, float, float, float], list[list[float]]]:
    xs: list[Decimal] = []
    ys: list[Decimal] = []
    for pair in node.attributes.get("points", "").split(";"):
        x, comma, y = pair.partition(",")
        if not comma:
            raise InvalidValue(f"'{pair}' is not a point", where=where, remedy="Points are written x,y;x,y;x,y.")
        xs.append(coordinate(x, "x of a point", where))
        ys.append(coordinate(y, "y of a point", where))
    flat = [float(v) for pair in zip(xs, ys, strict=True) for v in pair]
    return from_corners(min(xs), min(ys), max(xs), max(ys)), [flat]


def _mask(node: Node, where: str, picture: Picture) -> tuple[tuple[float, float, float, float], dict[str, Any]]:
    texts = [node.attributes.get(name, "") for name in ("left", "top", "width", "height")]
    runs = [text.strip() for text in node.attributes.get("rle", "").split(",")]
    if not all(text.isascii() and text.isdigit() and len(text) <= 9 for text in [*texts, *runs]):
        raise InvalidNumber(
            "a mask with a value that is not a whole number", where=where, remedy="See the format of CVAT."
        )
    left, top, width, height = map(int, texts)
    size = picture.width or 0, picture.height or 0
    try:
        counts = from_rows([int(run) for run in runs], (left, top, width, height), size)
    except ValueError as error:
        raise InvalidFile(
            f"a mask {error}", where=where, remedy="Was the file cut, or is it of another image?"
        ) from None
    return (float(left), float(top), float(width), float(height)), {
        "size": [picture.height, picture.width],
        "counts": counts,
    }


def render(dataset: Dataset) -> str:
    """The file's text."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<annotations>", "  <version>1.1</version>", "  <meta>"]
    lines.append("    <job>\n      <labels>")
    for category in dataset.categories:
        lines.append(f"        <label><name>{escape(category.display_name)}</name><attributes></attributes></label>")
    lines.append("      </labels>\n    </job>\n  </meta>")
    rows: list[list[int]] = [[] for _ in dataset.pictures]
    for row, i in enumerate(dataset.picture.tolist()):
        rows[i].append(row)
    for number, (picture, own) in enumerate(zip(dataset.pictures, rows, strict=True)):
        if picture.width is None or picture.height is None:
            raise MissingData(
                f"the size of image '{picture.id}' is not known, and CVAT needs it",
                where=dataset.source,
                remedy="Give the folder of the images (`images=FOLDER`), or a data set with their sizes (`like=FILE`).",
            )
        id_ = picture.extra.get("cvat_id", number)
        size = f'width="{picture.width}" height="{picture.height}"'
        lines.append(f'  <image id="{id_}" name={quote_attribute(picture.file or picture.stem)} {size}>')
        lines += [_shape_text(dataset, row, picture) for row in own]
        lines.append("  </image>")
    return "\n".join([*lines, "</annotations>", ""])


def segmentation_fits(dataset: Dataset, row: int, picture: Picture) -> str:
    """`polygon` or `mask` where CVAT can hold a box and its segmentation as one shape; else empty."""
    shape = dataset.extra_of(row).get("segmentation")
    box = dataset.box[row].tolist()
    flat = polygon_of(shape)
    if flat is not None:
        xs, ys = ([exact(v) for v in flat[i::2]] for i in (0, 1))
        return "polygon" if list(from_corners(min(xs), min(ys), max(xs), max(ys))) == box else ""
    if isinstance(shape, dict) and picture.width and picture.height:
        if shape.get("size") != [picture.height, picture.width]:
            return ""
        covered = bounds(counts_of(shape), picture.width, picture.height)
        return "mask" if covered is not None and [float(v) for v in covered] == box else ""
    return ""


def _shape_text(dataset: Dataset, row: int, picture: Picture) -> str:
    extra = dataset.extra_of(row)
    label = dataset.categories[dataset.category[row]].display_name
    fixed = {"label": label, "source": extra.get("source", "manual"), "occluded": extra.get("occluded", 0)}
    common = " ".join(f"{name}={quote_attribute(value)}" for name, value in fixed.items())
    kind = segmentation_fits(dataset, row, picture)
    if kind == "polygon":
        flat = extra["segmentation"][0]
        texts = [plain(exact(float(v))) for v in flat]
        pairs = ";".join(f"{x},{y}" for x, y in zip(texts[::2], texts[1::2], strict=True))
        own = f'points="{pairs}"'
    elif kind == "mask":
        counts = counts_of(extra["segmentation"])
        left, top, width, height = (int(v) for v in dataset.box[row])
        runs = to_rows(counts, (left, top, width, height), picture.width or 0, picture.height or 0)
        own = f'rle="{", ".join(map(str, runs))}" left="{left}" top="{top}" width="{width}" height="{height}"'
    else:
        kind = "box"
        names = ("xtl", "ytl", "xbr", "ybr")
        own = " ".join(f'{n}="{plain(v)}"' for n, v in zip(names, corners(dataset.box[row].tolist()), strict=True))
    more = f" z_order={quote_attribute(extra.get('z_order', 0))}"
    if "group_id" in extra:
        more += f" group_id={quote_attribute(extra['group_id'])}"
    stored = extra.get("attributes")
    attributes = dict(stored) if isinstance(stored, dict) else {}
    if dataset.score is not None:
        attributes["score"] = repr(float(dataset.score[row]))
    inside = "".join(f"<attribute name={quote_attribute(k)}>{escape(v)}</attribute>" for k, v in attributes.items())
    return f"    <{kind} {common} {own}{more}>{inside}</{kind}>"


FORMAT = Format(
    "cvat",
    "CVAT for images 1.1: one XML file",
    lambda path, source, side, reading, like: read(path, source, side),
    render=lambda dataset, options: render(dataset),
    ending=".xml",
)
