"""Expressions and replies from the files of data sets and of other tools.

| format | files |
|---|---|
| `mdetr` | COCO JSON whose images are expressions: `caption`, `original_id`; category -1 is "no target" |
| `saco` | COCO JSON whose images are phrases: `text_input`, `is_instance_exhaustive`; one file per annotator |
| `refer` | a folder with `refs(...).p` or `grefs(...).json` and `instances.json` |
| `flickr30k` | a folder with `Sentences/*.txt` and `Annotations/*.xml` |
| `qwen-vl` | JSON lines with `image`, `sent`, `bbox` (corners), `width`, `height` |
| `lmms-eval` | samples of `refcoco_grounding` (`--log_samples`), for both sides |
| `vlmevalkit` | its table of RefCOCO with `prediction`, for both sides |
| `results` | predictions: `image_id`, `bbox` or `segmentation`, `score`; or `image_id`, `sentence_id`, `boxes` |

Everything else is a table of rows. Pickles are read without running what they hold: lists, dicts, texts and numbers.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from steelyard.core.errors import EmptyInput, InvalidFile, InvalidValue, MissingKey, Unmatched, Unsupported
from steelyard.core.opening import is_entry, read_regular
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.csv import read_csv
from steelyard.io.json import expect, parse_json, read_json_lines
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, first_bytes, open_bytes, read_bytes
from steelyard.language.coordinates import read_reply

Row = dict[str, Any]
PEEK = 1 << 16  # bytes of the first line by which a log is recognised
_PHRASE = re.compile(r"\[/EN#(\d+)((?:/[\w-]+)+) ([^\]]*)\]")


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, each by its own format."""
    table = of_truth(_truth_table, truth)
    first: Records = rows.read_side(task, truth, columns, "truth") if table is None else of_truth(_records, table, task)
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    return first, _predictions(task, predictions, columns, first)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    if side == "prediction":
        return _predictions(task, data, columns, None)
    table = _truth_table(data)
    return rows.read_side(task, data, columns, side) if table is None else _records(table, task)


def _records(table: Table, task: Task) -> Records:
    return to_records(table, task.truth, {}, "truth")


def _table(source: str, made: list[Row]) -> Table:
    names = dict.fromkeys(name for row in made for name in row)
    return Table(source, {name: as_object([row.get(name) for row in made]) for name in names})


def _truth_table(data: Any) -> Table | None:
    """The truth of a data set's own files; None where it is a table of rows."""
    several = isinstance(data, list | tuple) and all(isinstance(path, str | PathLike) for path in data)
    if several and data:
        made = [row for who, path in enumerate(data) for row in _saco(_load(Path(path)), str(path), who)]
        return _table(", ".join(map(str, data)), made)
    if not isinstance(data, str | PathLike):
        return None
    path, source = Path(data), str(data)
    if path.is_dir():
        return _table(source, list(_folder(path, source)))
    log = _log_rows(path, source, "truth")
    if log is not None:
        return _table(source, log)
    if ending(path) != ".json" or not first_bytes(path, source).lstrip().startswith(b"{"):
        return None
    value = _load(path)
    images = value.get("images")
    if not isinstance(images, list) or not images or not isinstance(images[0], dict):
        return None
    if "is_instance_exhaustive" in images[0]:
        return _table(source, list(_saco(value, source, 0)))
    if "caption" in images[0]:
        return _table(source, list(_mdetr(value, source)))
    return None


def _log_rows(path: Path, source: str, side: str) -> list[Row] | None:
    """A side of the log of a harness, or expressions of Qwen-VL's files; None where it is something else."""
    kind = ending(path)
    if kind not in (".jsonl", ".tsv") or not is_entry(path):
        return None
    with open_bytes(path, source) as file:
        head = bytes(file.read(PEEK)).split(b"\n", 1)[0]
    if kind == ".tsv":
        names = head.decode("utf-8", "replace").strip("\ufeff\r").split("\t")
        if not {"index", "prediction"} <= set(names) or not ({"bbox_x1", "answer"} & set(names)):
            return None
        return list(_vlmevalkit(read_csv(path, source, "\t"), side))
    if b'"filtered_resps"' in head or b'"resps"' in head:
        return list(_lmms(read_json_lines(path, source), side))
    if side == "truth" and b'"sent"' in head and b'"bbox"' in head:
        return list(_qwen(read_json_lines(path, source)))
    return None


def _table_rows(table: Table) -> Iterator[tuple[Row, str]]:
    for number in range(len(table)):
        yield {name: column[number] for name, column in table.columns.items()}, table.place(number)


def _of_corners(value: Any, where: str) -> Row:
    box = _box(value, where)
    return box | {"w": box["w"] - box["x"], "h": box["h"] - box["y"]}


def _qwen(table: Table) -> Iterator[Row]:
    """Expressions of Qwen-VL's evaluation files: the text is the expression, boxes are corners."""
    for row, where in _table_rows(table):
        made = {"image": _held(row, "image", where), "expression": str(row["sent"]), **_of_corners(row["bbox"], where)}
        yield made | {key: row[key] for key in ("width", "height") if row.get(key) is not None}


def _lmms(table: Table, side: str) -> Iterator[Row]:
    """Samples of lmms-eval's refcoco_grounding: what it logs for each metric has the true box in pixels."""
    for row, where in _table_rows(table):
        logged = next((row[name] for name in row if name.startswith("refcoco_grounding_")), None)
        if not isinstance(logged, dict):
            raise Unsupported(
                "these are samples of lmms-eval, but not of refcoco_grounding",
                where=where,
                remedy="Give a table with image, expression, x, y, w, h and the replies in a column 'reply'.",
            )
        doc = row["doc"] if isinstance(row.get("doc"), dict) else {}
        name = _held(row, "doc_id", where)
        image = next((doc[key] for key in ("file_name", "image_id") if isinstance(doc.get(key), str | int)), name)
        made: Row = {"image": image, "expression": name}
        if side == "prediction":
            replies = row.get("filtered_resps") or row.get("resps")
            while isinstance(replies, list) and replies:
                replies = replies[0]
            yield made | {"reply": replies if isinstance(replies, str) else ""}
            continue
        words = logged.get("answer")
        texts = words if isinstance(words, list) else [words]
        size = {key: doc[key] for key in ("width", "height") if isinstance(doc.get(key), int | float)}
        yield made | size | {"text": ", ".join(map(str, texts)), **_of_corners(_held(logged, "bbox", where), where)}


def _vlmevalkit(table: Table, side: str) -> Iterator[Row]:
    """A table of VLMEvalKit's RefCOCO: boxes in columns, or as corners in `answer`, in pixels."""
    for row, where in _table_rows(table):
        name = _held(row, "index", where)
        made: Row = {"image": row.get("image_path") or name, "expression": name}
        if side == "prediction":
            yield made | {"reply": str(row["prediction"] or "")}
            continue
        corners: Any = [row.get(key) for key in ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2")]
        if corners[0] is None:
            reply = read_reply(str(row["answer"]))
            corners = list(reply.boxes[0]) if len(reply.boxes) == 1 else row["answer"]
        made |= {key: row[key] for key in ("width", "height", "split") if row.get(key) is not None}
        yield made | {"text": str(row.get("question") or ""), **_of_corners(_numbers(corners), where)}


def _numbers(values: Any) -> Any:
    """Texts of numbers as numbers; what is none stays."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        return values


def _load(path: Path) -> Any:
    source = str(path)
    return parse_json(read_bytes(path, source).decode("utf-8", "replace"), source)


def _held(entry: Any, key: str, where: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise MissingKey(f"key '{key}' is missing", where=where, remedy="Is the file complete?")
    return entry[key]


def _entries(value: Any, key: str, source: str) -> list[Any]:
    return list(expect(_held(value, key, source), "an array", key, source))


def _box(value: Any, where: str) -> Row:
    numbers = isinstance(value, list | tuple) and len(value) == 4
    if not numbers or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise InvalidValue(f"{str(value)[:60]} is not a box", where=where, remedy="A box is [x, y, width, height].")
    return dict(zip(("x", "y", "w", "h"), map(float, value), strict=True))


def _mdetr(value: Any, source: str) -> Iterator[Row]:
    """MDETR's annotations: an "image" is an expression."""
    boxes: dict[Any, list[Row]] = {}
    for number, annotation in enumerate(_entries(value, "annotations", source)):
        where = f"{source}, annotation {number}"
        image = _held(annotation, "image_id", where)
        own = boxes.setdefault(image, [])
        if annotation.get("category_id") != -1:
            own.append(_box(_held(annotation, "bbox", where), where))
    for number, image in enumerate(_entries(value, "images", source)):
        where = f"{source}, image {number}"
        name = _held(image, "id", where)
        row = {
            "image": image.get("original_id", image.get("file_name", name)),
            "expression": name,
            "text": str(image.get("caption", "")),
        }
        row |= {key: image[key] for key in ("width", "height", "dataset_name") if key in image}
        yield from (row | box for box in boxes.get(name) or [{}])


def _saco(value: Any, source: str, who: int) -> Iterator[Row]:
    """SA-Co's annotations: an "image" is a phrase of a picture."""
    masks: dict[Any, list[Row]] = {}
    for number, annotation in enumerate(_entries(value, "annotations", source)):
        where = f"{source}, annotation {number}"
        own = _box(_held(annotation, "bbox", where), where) | {"crowd": bool(annotation.get("iscrowd", 0))}
        own |= {"mask": annotation["segmentation"]} if annotation.get("segmentation") else {}
        masks.setdefault(_held(annotation, "image_id", where), []).append(own)
    masked = any("mask" in own for listed in masks.values() for own in listed)
    for number, image in enumerate(_entries(value, "images", source)):
        where = f"{source}, image {number}"
        name = _held(image, "id", where)
        row = {
            "image": image.get("file_name", name),
            "expression": name,
            "text": str(image.get("text_input", "")),
            "annotator": who,
            "exhaustive": bool(image.get("is_instance_exhaustive", True)),
        }
        row |= {key: image[key] for key in ("width", "height") if key in image}
        none = {"crowd": False} | ({"mask": _no_pixels(image, where)} if masked else {})
        yield from (row | own for own in masks.get(name) or [none])


def _no_pixels(image: Any, where: str) -> Row:
    """A mask without a pixel, of the size of an image."""
    height, width = (expect(_held(image, key, where), "a number", key, where) for key in ("height", "width"))
    return {"size": [height, width], "counts": [height * width]}


def _folder(path: Path, source: str) -> Iterator[Row]:
    """The files of a data set in a folder: Flickr30k Entities, or RefCOCO and gRefCOCO."""
    if (path / "Sentences").is_dir() and (path / "Annotations").is_dir():
        yield from _flickr(path)
        return
    references = sorted(
        one for one in path.iterdir() if is_entry(one) and re.match(r"g?refs\(.*\)\.(p|json)$", one.name)
    )
    if len(references) != 1 or not is_entry(path / "instances.json"):
        raise InvalidFile(
            "the folder is not that of a data set of expressions",
            where=source,
            remedy="It holds Sentences and Annotations (Flickr30k Entities), or one refs(...).p or grefs(...).json "
            "beside instances.json (RefCOCO).",
        )
    yield from _refer(references[0], path / "instances.json")


def _refer(references: Path, instances: Path) -> Iterator[Row]:
    """RefCOCO's references: one expression for each sentence."""
    source = str(references)
    data = _load(references) if references.suffix == ".json" else _unpickle(read_regular(references, source), source)
    held = _load(instances)
    boxes = {one.get("id"): one.get("bbox") for one in _entries(held, "annotations", str(instances))}
    images = {one.get("id"): one for one in _entries(held, "images", str(instances))}
    for number, reference in enumerate(expect(data, "an array", "refs", source)):
        where = f"{source}, ref {number}"
        objects = _held(reference, "ann_id", where)
        targets = [one for one in (objects if isinstance(objects, list) else [objects]) if one != -1]
        if reference.get("no_target"):
            targets = []
        image = _held(reference, "image_id", where)
        row: Row = {"image": image, "split": str(reference.get("split", ""))}
        row |= {key: images[image][key] for key in ("width", "height") if key in images.get(image, {})}
        for target in targets:
            if target not in boxes:
                raise Unmatched(
                    f"annotation {target} is not in {instances.name}",
                    where=where,
                    remedy="Use the file of this data set.",
                )
        own = [_box(boxes[target], where) for target in targets] or [{}]
        for sentence in expect(_held(reference, "sentences", where), "an array", "sentences", where):
            words = {"expression": _held(sentence, "sent_id", where), "text": str(sentence.get("sent", ""))}
            yield from (row | words | box for box in own)


class _PlainUnpickler(pickle.Unpickler):
    """Reads lists, dicts, texts and numbers; everything else is refused, so that nothing is run."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _unpickle(data: bytes, source: str) -> Any:
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="utf-8").load()
    except pickle.UnpicklingError as error:
        raise Unsupported(
            f"the pickle holds more than lists, dicts, texts and numbers ({str(error)[:60]}); it is not loaded",
            where=source,
            remedy="Write it as JSON with the tool that made it.",
        ) from None
    except Exception as error:  # a damaged pickle may raise anything
        raise InvalidFile(f"not a pickle: {str(error)[:60]}", where=source, remedy="Copy the file again.") from None


def _flickr(path: Path) -> Iterator[Row]:
    """Phrases of sentences with their boxes; those without a box are left out."""
    for file in sorted((path / "Sentences").glob("*.txt")):
        boxes, size = _flickr_boxes(path / "Annotations" / f"{file.stem}.xml")
        lines = read_regular(file, str(file)).decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines):
            for place, (name, kinds, words) in enumerate(_PHRASE.findall(line)):
                row = {"image": file.stem, "expression": f"{number}/{place}", "text": words, "type": kinds[1:], **size}
                yield from (row | box for box in boxes.get(name, ()))


def _flickr_boxes(path: Path) -> tuple[dict[str, list[Row]], Row]:
    source = str(path)
    text = read_regular(path, source)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise InvalidFile("the file declares entities", where=source, remedy="Annotations have none.")
    try:
        root = ElementTree.fromstring(text)
        size = {tag: float(root.findtext(f"size/{tag}") or "nan") for tag in ("width", "height")}
        boxes: dict[str, list[Row]] = {}
        for thing in root.iter("object"):
            for bound in thing.iter("bndbox"):
                corner = [float(bound.findtext(tag) or "nan") for tag in ("xmin", "ymin", "xmax", "ymax")]
                box = {"x": corner[0], "y": corner[1], "w": corner[2] - corner[0], "h": corner[3] - corner[1]}
                for name in thing.iter("name"):
                    boxes.setdefault(str(name.text), []).append(box)
    except (ElementTree.ParseError, ValueError) as error:
        raise InvalidFile(f"not valid XML: {error}", where=source, remedy="Copy the file again.") from None
    return boxes, size


def _predictions(task: Task, data: Any, columns: Mapping[str, str], truth: Records | None) -> Records:
    """Replies: a table of rows, or a list of results that name expressions by `image_id`."""
    if not isinstance(data, str | PathLike):
        return rows.read_side(task, data, columns, "prediction")
    path, source = Path(data), str(data)
    log = _log_rows(path, source, "prediction")
    if log is not None:
        return to_records(_table(source, log), task.prediction, {}, "prediction")
    if ending(path) != ".json":
        return rows.read_side(task, data, columns, "prediction")
    if not first_bytes(path, source).lstrip().startswith(b"["):
        return rows.read_side(task, data, columns, "prediction")
    value = _load(path)
    if not value or not isinstance(value[0], dict) or "image_id" not in value[0] or "expression" in value[0]:
        return rows.read_side(task, data, columns, "prediction")
    made = list(_phrase_results(value, source) if "sentence_id" in value[0] else _results(value, source, truth))
    return to_records(_table(source, made), task.prediction, {}, "prediction")


def _phrase_results(value: list[Any], source: str) -> Iterator[Row]:
    """Boxes of the phrases of sentences, in the order of rank: corners."""
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(value):
        where = f"{source}, entry {number}"
        image, sentence = str(_held(entry, "image_id", where)), str(_held(entry, "sentence_id", where))
        if (image, sentence) in seen:
            raise InvalidValue(
                f"sentence {sentence} of image '{image}' stands a second time", where=where, remedy="Keep one of them."
            )
        seen.add((image, sentence))
        for place, boxes in enumerate(expect(_held(entry, "boxes", where), "an array", "boxes", where)):
            for box in expect(boxes, "an array", "boxes", where):
                corner = _box(box, where)
                corner["w"], corner["h"] = corner["w"] - corner["x"], corner["h"] - corner["y"]
                yield {"image": image, "expression": f"{sentence}/{place}", **corner}


def _results(value: list[Any], source: str, truth: Records | None) -> Iterator[Row]:
    """COCO results whose `image_id` is an expression; the truth says of which picture."""
    image_of: dict[str, Any] = {}
    size_of: dict[str, Row] = {}
    if truth is not None:
        names, images = truth["expression"].tolist(), truth["image"].tolist()
        image_of = dict(zip(map(str, names), images, strict=True))
        if "width" in truth and "height" in truth:
            sizes = zip(truth["width"].tolist(), truth["height"].tolist(), strict=True)
            size_of = {
                str(n): {"width": int(w), "height": int(h)}
                for n, (w, h) in zip(names, sizes, strict=True)
                if w > 0 and h > 0
            }
    seen: set[str] = set()
    masked, masks = truth is not None and "mask" in truth, 0
    for number, entry in enumerate(value):
        where = f"{source}, record {number}"
        name = _held(entry, "image_id", where)
        seen.add(str(name))
        row: Row = {"image": image_of.get(str(name), name), "expression": name}
        if "bbox" in entry:
            row |= _box(entry["bbox"], where)
        if "segmentation" in entry and (masked or "bbox" not in entry):
            row["mask"] = entry["segmentation"]
            masks += 1
        if "score" in entry:
            row["score"] = entry["score"]
        yield row
    for name, image in image_of.items():  # an expression without a record has nothing that was found
        if name not in seen:
            none = {"mask": _no_pixels(size_of[name], source)} if masks and name in size_of else {}
            yield {"image": image, "expression": name, **none}
