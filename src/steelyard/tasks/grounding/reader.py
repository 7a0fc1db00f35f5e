"""Expressions and replies from the files of data sets and of other tools.

| format | files |
|---|---|
| `mdetr` | COCO JSON whose images are expressions: `caption`, `original_id`; category -1 is "no target" |
| `saco` | COCO JSON whose images are phrases: `text_input`, `is_instance_exhaustive`; one file per annotator |
| `refer` | `refs(...).p` or `grefs(...).json` beside `instances.json`: the file, or its folder |
| `flickr30k` | a folder with `Sentences/*.txt`, `Annotations/*.xml` and optionally `train.txt`, `val.txt`, `test.txt` |
| `qwen-vl` | JSON lines with `image`, `sent`, `bbox` (corners), `width`, `height` |
| `lmms-eval` | samples of `refcoco_grounding`, `refcoco_bbox_rec` or `groundingme` (`--log_samples`), for both sides |
| `vlmevalkit` | its table of RefCOCO with `prediction` (.tsv, .xlsx), for both sides |
| `results` | predictions: `image_id`, `bbox` or `segmentation`, `score`; or `image_id`, `sentence_id`, `boxes` |

Everything else is a table of rows. Pickles are read without running what they hold: lists, dicts, texts and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    InvalidFile,
    MissingData,
    ShapeMismatch,
    Unmatched,
    Unsupported,
)
from steelyard.core.opening import is_entry, read_regular
from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.json import columns_of, expect, parse_json, required
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, first_bytes, read_bytes
from steelyard.tasks.grounding.data import SAME_CLASS
from steelyard.tasks.grounding.entries import Row, box_row, corner_row, flag, required_id, required_list
from steelyard.tasks.grounding.harnesses import log_rows
from steelyard.tasks.grounding.pickles import read_pickle
from steelyard.tasks.grounding.sizes import with_sizes

_REFERENCES = re.compile(r"g?refs\(.*\)\.(p|json)")  # refs(unc).p, grefs(unc).json
_PHRASE = re.compile(r"\[/EN#(\d+)((?:/[\w-]+)+) ([^\]]*)\]")


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, each by its own format. The log of a harness holds both."""
    if options is not None and options.of("annotators"):
        truth = [truth, *(path.strip() for path in str(options.of("annotators")).split(","))]
    table = of_truth(_truth_table, truth)
    first: Records = rows.read_side(task, truth, columns, "truth") if table is None else of_truth(_records, table, task)
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    if predictions is None:
        if not isinstance(truth, str | PathLike) or log_rows(Path(truth), str(truth), "prediction") is None:
            raise MissingData("the predictions are missing", where=first.source, remedy="Give truth and predictions.")
        predictions = truth
    sizes = None if options is None else options.of("sizes")
    first = first if sizes is None else with_sizes(first, sizes)
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
    return Table(source, columns_of(made))


def _truth_table(data: Any) -> Table | None:
    """The truth of a data set's own files; None where it is a table of rows."""
    if isinstance(data, list | tuple) and data and all(isinstance(path, str | PathLike) for path in data):
        return _table(
            ", ".join(map(str, data)), [row for who, path in enumerate(data) for row in _annotator(path, who)]
        )
    if not isinstance(data, str | PathLike):
        return None
    path, source = Path(data), str(data)
    if path.is_dir():
        return _table(source, list(_folder(path, source)))
    if _REFERENCES.fullmatch(path.name):
        return _table(source, list(_refer(path, path.parent / "instances.json")))
    log = log_rows(path, source, "truth")
    if log is not None:
        return _table(source, log)
    if ending(path) != ".json" or not first_bytes(path, source).lstrip().startswith(b"{"):
        return None
    value = _load(path)
    if _is_saco(value):
        return _table(source, list(_saco(value, source, 0)))
    images = value.get("images")
    if isinstance(images, list) and images and isinstance(images[0], dict) and "caption" in images[0]:
        return _table(source, list(_mdetr(value, source)))
    return None


def _load(path: Path) -> Any:
    source = str(path)
    return parse_json(read_bytes(path, source).decode("utf-8", "replace"), source)


def _mdetr(value: Any, source: str) -> Iterator[Row]:
    """MDETR's annotations: an "image" is an expression."""
    boxes: dict[Any, list[Row]] = {}
    for number, annotation in enumerate(required_list(value, "annotations", source)):
        where = f"{source}, annotation {number}"
        image = required_id(annotation, "image_id", where)
        own = boxes.setdefault(image, [])
        if annotation.get("category_id") != -1:
            own.append(box_row(required(annotation, "bbox", where), where))
    for number, entry in enumerate(required_list(value, "images", source)):
        where = f"{source}, image {number}"
        name = required_id(entry, "id", where)
        row = {
            "image": entry.get("original_id", entry.get("file_name", name)),
            "expression": name,
            "text": str(entry.get("caption", "")),
        }
        row |= {key: entry[key] for key in ("width", "height", "dataset_name") if key in entry}
        yield from (row | box for box in boxes.get(name) or [{}])


def _annotator(path: str | PathLike[str], who: int) -> Iterator[Row]:
    """The file of one of several annotators, which SA-Co alone has."""
    value = _load(Path(path))
    if not _is_saco(value):
        raise Unsupported(
            "several files are several annotators, and this one is not of SA-Co",
            where=str(path),
            remedy="Give one file, or files whose images have is_instance_exhaustive.",
        )
    return _saco(value, str(path), who)


def _is_saco(value: Any) -> bool:
    images = value.get("images") if isinstance(value, dict) else None
    first = images[0] if isinstance(images, list) and images else None
    return isinstance(first, dict) and "is_instance_exhaustive" in first


def _saco(value: Any, source: str, who: int) -> Iterator[Row]:
    """SA-Co's annotations: an "image" is a phrase of a picture. Where objects have masks, their boxes are not used: in
    the published files they are divided by the size of the image.
    """
    masks: dict[Any, list[Row]] = {}
    for number, annotation in enumerate(required_list(value, "annotations", source)):
        where = f"{source}, annotation {number}"
        own: Row = {"crowd": flag(annotation, "iscrowd", False, where)}
        own |= (
            {"mask": annotation["segmentation"]}
            if annotation.get("segmentation")
            else box_row(required(annotation, "bbox", where), where)
        )
        masks.setdefault(required_id(annotation, "image_id", where), []).append(own)
    masked = any("mask" in own for listed in masks.values() for own in listed)
    for number, image in enumerate(required_list(value, "images", source)):
        where = f"{source}, image {number}"
        name = required_id(image, "id", where)
        row = {
            "image": image.get("file_name", name),
            "expression": name,
            "text": str(image.get("text_input", "")),
            "annotator": who,
            "exhaustive": flag(image, "is_instance_exhaustive", True, where),
        }
        row |= {key: image[key] for key in ("width", "height") if key in image}
        none = {"crowd": False} | ({"mask": _no_pixels(image, where)} if masked else {})
        yield from (row | own for own in masks.get(name) or [none])


def _no_pixels(image: Any, where: str) -> Row:
    """A mask without a pixel, of the size of an image."""
    height, width = (expect(required(image, key, where), "a number", key, where) for key in ("height", "width"))
    return {"size": [height, width], "counts": [height * width]}


def _folder(path: Path, source: str) -> Iterator[Row]:
    """The files of a data set in a folder: Flickr30k Entities, or RefCOCO and gRefCOCO."""
    if (path / "Sentences").is_dir() and (path / "Annotations").is_dir():
        yield from _flickr(path)
        return
    references = sorted(file for file in path.iterdir() if is_entry(file) and _REFERENCES.fullmatch(file.name))
    if len(references) > 1:
        raise Conflict(
            f"the folder holds {len(references)} files of references: {', '.join(file.name for file in references)}",
            where=source,
            remedy="Give the file of the one to use.",
        )
    if not references:
        raise InvalidFile(
            "the folder is not that of a data set of expressions",
            where=source,
            remedy="It holds Sentences and Annotations (Flickr30k Entities), or refs(...).p or grefs(...).json beside "
            "instances.json (RefCOCO).",
        )
    yield from _refer(references[0], path / "instances.json")


def _refer(references: Path, instances: Path) -> Iterator[Row]:
    """RefCOCO's references: one expression for each sentence."""
    source = str(references)
    data = _load(references) if references.suffix == ".json" else read_pickle(read_regular(references, source), source)
    if not is_entry(instances):
        raise MissingData(
            "instances.json is missing, which has the boxes of the references",
            where=source,
            remedy="Put COCO's instances.json of the data set beside it.",
        )
    held = _load(instances)
    objects, images = (
        {required_id(entry, "id", f"{instances}, {key}[{number}]"): entry for number, entry in enumerate(entries)}
        for key in ("annotations", "images")
        for entries in [required_list(held, key, str(instances))]
    )
    of_class: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for number, entry in enumerate(objects.values()):
        box = box_row(
            required(entry, "bbox", f"{instances}, annotations[{number}]"), f"{instances}, annotations[{number}]"
        )
        of_class.setdefault(_class_in_image(entry), []).append(tuple(box.values()))
    same_class = {key: tuple(boxes) for key, boxes in of_class.items()}
    for number, reference in enumerate(expect(data, "an array", "refs", source)):
        where = f"{source}, ref {number}"
        named = required(reference, "ann_id", where)
        targets = [target for target in (named if isinstance(named, list) else [named]) if target != -1]
        if reference.get("no_target"):
            targets = []
        image = required_id(reference, "image_id", where)
        row: Row = {"image": image, "split": _text(reference, "split", where)}
        row |= {key: images[image][key] for key in ("width", "height") if key in images.get(image, {})}
        for target in targets:
            if expect(target, "a text or a number", "ann_id", where) not in objects:
                raise Unmatched(
                    f"annotation {target} is not in {instances.name}",
                    where=where,
                    remedy="Use the file of this data set.",
                )
        kinds = {_class_in_image(objects[target]) for target in targets}
        row["same_class"] = sum(len(same_class[kind]) for kind in kinds)
        row[SAME_CLASS] = (
            tuple(box for kind in kinds for box in same_class[kind])
            if len(kinds) > 1
            else same_class.get(next(iter(kinds), ("", "")), ())
        )
        own = [box_row(required(objects[target], "bbox", where), where) for target in targets] or [{}]
        for sentence in expect(required(reference, "sentences", where), "an array", "sentences", where):
            words = {"expression": required_id(sentence, "sent_id", where), "text": _text(sentence, "sent", where)}
            yield from (row | words | box for box in own)


def _text(entry: Row, key: str, where: str) -> str:
    return str(expect(entry.get(key, ""), "a text or a number", key, where))


def _class_in_image(annotation: Row) -> tuple[str, str]:
    return str(annotation.get("image_id")), str(annotation.get("category_id"))


def _flickr(path: Path) -> Iterator[Row]:
    """Phrases of sentences with their boxes; those without a box are left out.

    A phrase is known by its place among the phrases of its sentence that have boxes, as predictions list them.
    """
    splits: dict[str, str] = {}
    for split in ("train", "val", "test"):
        if is_entry(path / f"{split}.txt"):
            names = read_regular(path / f"{split}.txt", str(path)).decode("utf-8", "replace").split()
            splits |= dict.fromkeys(names, split)
    for file in sorted((path / "Sentences").glob("*.txt")):
        boxes, size = _flickr_boxes(path / "Annotations" / f"{file.stem}.xml")
        lines = read_regular(file, str(file)).decode("utf-8", "replace").split("\n")
        own = {"image": file.stem, **size, **({"split": splits.get(file.stem, "")} if splits else {})}
        for number, line in enumerate(lines):
            phrases = [phrase for phrase in _PHRASE.findall(line) if phrase[0] in boxes]
            for place, (name, kinds, words) in enumerate(phrases):
                row = {**own, "expression": f"{number}/{place}", "text": words, "type": kinds[1:]}
                yield from (row | box for box in boxes[name])


def _flickr_boxes(path: Path) -> tuple[dict[str, list[Row]], Row]:
    from xml.etree import ElementTree  # slow to load

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
    log = log_rows(path, source, "prediction")
    if log is not None:
        return to_records(_table(source, log), task.prediction, {}, "prediction")
    if ending(path) != ".json":
        return rows.read_side(task, data, columns, "prediction")
    if not first_bytes(path, source).lstrip().startswith(b"["):
        return rows.read_side(task, data, columns, "prediction")
    value = _load(path)
    if not value or not isinstance(value[0], dict) or "image_id" not in value[0] or "expression" in value[0]:
        return rows.read_side(task, data, columns, "prediction")
    made = list(_phrase_results(value, source, truth) if "sentence_id" in value[0] else _results(value, source, truth))
    return to_records(_table(source, made), task.prediction, {}, "prediction")


def _phrase_results(value: list[Any], source: str, truth: Records | None) -> Iterator[Row]:
    """Boxes of the phrases of sentences, in the order of rank: corners."""
    phrases: dict[tuple[str, str], set[str]] = {}
    if truth is not None:
        for image, name in zip(truth["image"].tolist(), truth["expression"].tolist(), strict=True):
            phrases.setdefault((str(image), str(name).partition("/")[0]), set()).add(str(name))
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(value):
        where = f"{source}, entry {number}"
        image, sentence = str(required_id(entry, "image_id", where)), str(required(entry, "sentence_id", where))
        if (image, sentence) in seen:
            raise DuplicateKey(
                f"sentence {sentence} of image '{image}' appears twice", where=where, remedy="Keep one of them."
            )
        seen.add((image, sentence))
        listed = expect(required(entry, "boxes", where), "an array", "boxes", where)
        expected = len(phrases.get((image, sentence), ()))
        if phrases and len(listed) != expected:
            raise ShapeMismatch(
                f"there are boxes for {count_text(len(listed), 'phrase')}, and sentence {sentence} of image '{image}' "
                f"has {count_text(expected, 'phrase')} with a true box",
                where=where,
                remedy="Give a list for each phrase that has a true box, in the order of the sentence.",
            )
        for place, boxes in enumerate(listed):
            for box in expect(boxes, "an array", "boxes", where):
                yield {"image": image, "expression": f"{sentence}/{place}", **corner_row(box, where)}


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
        name = required_id(entry, "image_id", where)
        seen.add(str(name))
        row: Row = {"image": image_of.get(str(name), name), "expression": name}
        if "segmentation" in entry and (masked or "bbox" not in entry):
            row["mask"] = entry["segmentation"]
            masks += 1
        elif "bbox" in entry:
            row |= box_row(entry["bbox"], where)
        if "score" in entry:
            row["score"] = entry["score"]
        yield row
    for name, image in image_of.items():  # an expression without a record has nothing that was found
        if name not in seen:
            none = {"mask": _no_pixels(size_of[name], source)} if masks and name in size_of else {}
            yield {"image": image, "expression": name, **none}
