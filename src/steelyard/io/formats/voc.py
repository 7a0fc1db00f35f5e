"""Pascal VOC: one XML file per image, in a folder.

VOC counts pixels from 1 and names the first and the last pixel of a box, so a box over the whole of a 500 x 375 image
is 1, 1, 500, 375. Many tools write the edges instead (0, 0, 500, 375) into the same elements. A file cannot say which
it means, so the user may: `pixels` is "inclusive" (VOC's own, the default) or "edges". What proves the other reading, a
coordinate of 0 or a fraction of a pixel, is refused and not shifted in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import CannotWrite, InvalidFile, InvalidNumber, InvalidValue, MissingKey, OutOfRange
from steelyard.core.opening import is_entry
from steelyard.io.formats.dataset import Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format
from steelyard.io.formats.numbers import EXACT, coordinate, corners, from_corners, plain, score
from steelyard.io.formats.sizes import whole_pixels
from steelyard.io.formats.xml import Node, escape, read_xml

_OBJECT = {"name", "difficult", "bndbox", "score", "confidence"}
_FLAGS = ("truncated", "occluded")


def files_of(path: Path) -> list[Path]:
    """The XML files of a data set: of the folder, or of its folder `Annotations`, with those below."""
    if is_entry(path):
        return [path]
    inner = path / "Annotations"
    folder = inner if inner.is_dir() else path
    return sorted(folder.rglob("*.xml"))


def read(path: Path, source: str, side: str = "", pixels: str = "inclusive") -> Dataset:
    """All images of a folder, or the one of a file."""
    gathered = Gatherer()
    files = files_of(path)
    inner = path / "Annotations"
    base = path.parent if is_entry(path) else inner if inner.is_dir() else path
    parts = 0
    for file in files:
        root = read_xml(file, str(file))
        if root.name != "annotation":
            raise InvalidFile(
                f"<{root.name}> where <annotation> is expected", where=str(file), remedy="Is it a Pascal VOC file?"
            )
        name = file.relative_to(base).with_suffix("").as_posix()
        gathered.pictures.append(_picture(root, name, str(file)))
        for node in root.all("object"):
            _object(gathered, node, f"{file}, line {node.line}", pixels)
            parts += sum(1 for _ in node.all("part"))
    counted = {"inclusive": "pixels counted from 1, the last one included", "edges": "edges, counted from 0"}
    notes = [f"Coordinates are read as {counted[pixels]}."]
    if parts:
        notes.append(f"{parts} parts of objects (<part>) are left out: they are not objects.")
    return gathered.dataset(source, "voc", side, notes=notes, by_file=True, by_name=True)


def _picture(root: Node, name: str, where: str) -> Picture:
    size = root.find("size")
    numbers: list[int | None] = [None, None]
    if size is not None:
        for i, side in enumerate(("width", "height")):
            text = size.value(side)
            pixels = whole_pixels(text)
            if pixels is None:
                raise InvalidNumber(
                    f"<{side}> is '{text[:40]}'", where=f"{where}, line {size.line}", remedy="Give whole pixels."
                )
            numbers[i] = pixels or None  # some tools write 0 for a size that they do not know
    extra: dict[str, Any] = {}
    for child in root.children:
        if child.name not in ("filename", "size", "object") and not child.children and child.text.strip():
            extra[child.name] = child.text.strip()
        elif child.name not in ("filename", "size", "object") and child.children:
            extra[child.name] = {c.name: c.text.strip() for c in child.children}
    if size is not None and size.value("depth"):
        extra["depth"] = size.value("depth")
    return Picture(name, root.value("filename") or name, numbers[0], numbers[1], extra)


def _object(gathered: Gatherer, node: Node, where: str, pixels: str) -> None:
    label = node.value("name")
    if not label:
        raise MissingKey("an object without a name", where=where, remedy="Every <object> needs a <name>.")
    box = node.find("bndbox")
    if box is None:
        raise MissingKey("an object without a box", where=where, remedy="Every <object> needs a <bndbox>.")
    left, top, right, low = (
        coordinate(box.value(name), f"<{name}>", where) for name in ("xmin", "ymin", "xmax", "ymax")
    )
    if pixels == "inclusive":
        for name, value in (("xmin", left), ("ymin", top)):
            if value < 1 and value == value.to_integral_value():
                raise OutOfRange(
                    f"{name} is {value}, and VOC counts pixels from 1",
                    where=where,
                    remedy="Say pixels=edges if these are edges (x from 0 to the width), as many tools write them.",
                )
            if value != value.to_integral_value():
                raise InvalidNumber(
                    f"{name} is {value}, a fraction of a pixel",
                    where=where,
                    remedy="Say pixels=edges if these are edges (x from 0 to the width), as many tools write them.",
                )
        left, top = EXACT.subtract(left, Decimal(1)), EXACT.subtract(top, Decimal(1))
    score_text = node.value("score") or node.value("confidence")
    extra: dict[str, Any] = {}
    for child in node.children:
        if child.name in _OBJECT or child.children or not child.text.strip():
            continue
        text = child.text.strip()
        extra[child.name] = int(text) if child.name in _FLAGS and text in ("0", "1") else text
    gathered.add(
        label,
        from_corners(left, top, right, low),
        where,
        score=score(score_text, where) if score_text else None,
        difficult=_flag(node.value("difficult"), where),
        extra=extra,
    )


def _flag(text: str, where: str) -> bool:
    flags = {"": False, "0": False, "1": True, "unspecified": False, "false": False, "true": True}
    if text.lower() not in flags:
        raise InvalidValue(f"<difficult> is '{text}'", where=where, remedy="Write 0 or 1.")
    return flags[text.lower()]


def render(dataset: Dataset, pixels: str = "inclusive", whole: bool = False) -> Iterator[tuple[str, str]]:
    """File name and text of every image."""
    split = np.flatnonzero((dataset.box[:, :2] != np.floor(dataset.box[:, :2])).any(axis=1))
    if len(split) and pixels == "inclusive" and not whole:
        raise CannotWrite(
            f"{count_text(len(split), 'box', 'begin')} inside a pixel, and VOC names whole pixels",
            where=dataset.place(int(split[0])),
            remedy="Set `pixels='edges'` to keep the fractions, or `whole=True`.",
        )
    rows: list[list[int]] = [[] for _ in dataset.pictures]
    for row, i in enumerate(dataset.picture.tolist()):
        rows[i].append(row)
    for picture, own in zip(dataset.pictures, rows, strict=True):
        yield f"{picture.stem}.xml", _text(dataset, picture, own, pixels, whole)


def _text(dataset: Dataset, picture: Picture, rows: list[int], pixels: str, whole: bool) -> str:
    extra = dict(picture.extra)
    depth = extra.pop("depth", "3")
    lines = ["<annotation>"]
    if isinstance(extra.get("folder"), str):
        lines.append(f"\t<folder>{escape(extra['folder'])}</folder>")
    lines.append(f"\t<filename>{escape(picture.file or picture.stem)}</filename>")
    for name in ("source", "owner"):
        if isinstance(extra.get(name), dict):
            inner = "".join(f"<{k}>{escape(v)}</{k}>" for k, v in extra[name].items() if k.isidentifier())
            lines.append(f"\t<{name}>{inner}</{name}>")
    if picture.width is not None and picture.height is not None:
        lines.append(
            f"\t<size><width>{picture.width}</width><height>{picture.height}</height>"
            f"<depth>{escape(depth)}</depth></size>"
        )
    lines.append(f"\t<segmented>{escape(extra.get('segmented', '0'))}</segmented>")
    for row in rows:
        lines += _object_lines(dataset, row, pixels, whole)
    return "\n".join([*lines, "</annotation>", ""])


def _object_lines(dataset: Dataset, row: int, pixels: str, whole: bool) -> list[str]:
    left, top, right, low = corners(dataset.box[row].tolist())
    offset = Decimal(1 if pixels == "inclusive" else 0)
    named = {"xmin": EXACT.add(left, offset), "ymin": EXACT.add(top, offset), "xmax": right, "ymax": low}
    if whole:
        named = {name: value.to_integral_value() for name, value in named.items()}
    extra = dataset.extra_of(row)
    difficult = dataset.difficult is not None and bool(dataset.difficult[row])
    lines = ["\t<object>", f"\t\t<name>{escape(dataset.categories[dataset.category[row]].display_name)}</name>"]
    lines.append(f"\t\t<pose>{escape(extra.get('pose', 'Unspecified'))}</pose>")
    lines.append(f"\t\t<truncated>{escape(extra.get('truncated', 0))}</truncated>")
    if "occluded" in extra:
        lines.append(f"\t\t<occluded>{escape(extra['occluded'])}</occluded>")
    lines.append(f"\t\t<difficult>{int(difficult)}</difficult>")
    if dataset.score is not None:
        lines.append(f"\t\t<score>{float(dataset.score[row])!r}</score>")
    inside = "".join(f"<{name}>{plain(value)}</{name}>" for name, value in named.items())
    return [*lines, f"\t\t<bndbox>{inside}</bndbox>", "\t</object>"]


FORMAT = Format(
    "voc",
    "Pascal VOC: a folder of XML files, one per image",
    lambda path, source, side, reading, like: read(path, source, side, reading.pixels),
    render=lambda dataset, options: render(dataset, options.pixels, options.whole),
    folder=True,
)
