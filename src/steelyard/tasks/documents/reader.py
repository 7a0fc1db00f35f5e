"""Reads pages of documents: OmniDocBench's truth, folders of Markdown or HTML, blocks as JSON, and tables of rows.

| format | files |
|---|---|
| `omnidocbench` | a JSON list with `layout_dets` and `page_info`; relations `truncated` join blocks |
| pages | a folder of `<page>.md`, `.mmd` or `.html`; one HTML file with `<!-- page NAME -->` before each page |
| `omnidocbench` results | `*_text_block_result.json` and its neighbours: its own matches, truth and reply in one |

Everything else is a table of rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    InvalidFile,
    InvalidText,
    InvalidValue,
    MissingData,
    Unmatched,
    first_few,
    nearest,
)
from steelyard.core.opening import is_entry
from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.json import columns_of, expect, parse_json, required
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, first_bytes, read_bytes
from steelyard.tasks.documents.data import ORDERS, REPLY, TEDS

Row = dict[str, Any]
FORMS = {".md": "markdown", ".mmd": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}
PICTURES = re.compile(r"\.(png|jpe?g|tiff?|webp|bmp|gif)$", re.IGNORECASE)


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, each by its own format."""
    if predictions is None:
        first = _records(_result_table(truth), task, "truth")
        return _with_scores(first, first, options), first.take(np.zeros(0, dtype=np.int64))
    table = of_truth(_table_of, truth, "truth")
    first = rows.read_side(task, truth, columns, "truth") if table is None else of_truth(_records, table, task, "truth")
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    second = read_side(task, predictions, columns, "prediction", [str(page) for page in first["page"].tolist()])
    return first, _with_scores(second, first, options)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str, pages: list[str] | None = None) -> Records:
    """One side alone. `pages` are those of the truth, by which files are named."""
    table = _table_of(data, side, pages)
    return rows.read_side(task, data, columns, side) if table is None else _records(table, task, side)


def _with_scores(records: Records, truth: Records, options: Options | None) -> Records:
    """The records with the mean CDM of the formulas of each page, where a file of scores is given."""
    path = None if options is None else options.of("scores")
    if not path:
        return records
    source = str(path)
    value = parse_json(decode(read_bytes(Path(path), source), source), source)
    if not isinstance(value, dict) or not value:
        raise InvalidFile(
            "the file has no scores of formulas", where=source, remedy="Give OmniDocBench's *_per_sample_CDM.json."
        )
    pages = {page_name(str(page)) for page in truth["page"].tolist()}
    sums: dict[str, list[float]] = {}
    for key, score in value.items():
        page = page_name(re.sub(r"_\d+_\[[^\]]*\]$", "", str(key)))
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise InvalidValue(f"the score of '{key}' is {score}", where=source, remedy="CDM is a number from 0 to 1.")
        if page not in pages:
            raise Unmatched(
                f"'{key}' is a formula of page '{page}', which the truth does not have",
                where=source,
                remedy=nearest(page, pages),
            )
        sums.setdefault(page, []).append(float(score))
    means = {page: sum(scores) / len(scores) for page, scores in sums.items()}
    column = np.array([means.get(page_name(str(page)), np.nan) for page in records["page"].tolist()])
    return replace(records, columns={**records.columns, "cdm": column})


def _records(table: Table, task: Task, side: str) -> Records:
    return to_records(table, task.truth if side == "truth" else task.prediction, {}, side)


def _table(source: str, made: list[Row]) -> Table:
    return Table(source, columns_of(made))


def _table_of(data: Any, side: str, pages: list[str] | None = None) -> Table | None:
    """The rows of files that are not tables; None for tables."""
    if not isinstance(data, str | PathLike):
        return None
    path, source = Path(data), str(data)
    if path.is_dir():
        return _folder(path, source, pages)
    if ending(path) in (".html", ".htm"):
        return _marked_pages(path, source, pages)
    if ending(path) != ".json" or not first_bytes(path, source).lstrip().startswith(b"["):
        return None
    value = parse_json(decode(read_bytes(path, source), source), source)
    if not value or not isinstance(value[0], dict) or "layout_dets" not in value[0]:
        return None
    return _table(source, list(_omnidocbench(value, source)))


def decode(data: bytes, source: str) -> str:
    """Text of UTF-8 without NUL."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"byte {error.start} ({data[error.start]:#04x}) is not UTF-8", where=source, remedy="Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise InvalidText(f"byte {data.index(0)} is NUL", where=source, remedy="The file is not text; copy it again.")
    return text


# Pages as files ----------------------------------------------------------------------------------------------------
def page_name(name: str) -> str:
    """The name of a page: that of its image without the ending of the file."""
    return PICTURES.sub("", os.path.basename(name))


def _folder(path: Path, source: str, pages: list[str] | None) -> Table:
    files = sorted(entry for entry in path.iterdir() if ending(entry) in FORMS and is_entry(entry))
    if not files:
        raise EmptyInput(
            "the folder has no pages", where=source, remedy="It holds a file <page>.md or <page>.html for each page."
        )
    names = [file.name[: -len(ending(file))] for file in files]
    known = None if pages is None else _known_names(pages)
    made: list[Row] = []
    seen: dict[str, str] = {}
    for file, name in zip(files, names, strict=True):
        page = name if known is None else _page_of_file(name, known, file)
        if page in seen:
            raise Conflict(
                f"page '{page}' has two files, {seen[page]} and {file.name}", where=source, remedy="Keep one of them."
            )
        seen[page] = file.name
        text = decode(read_bytes(file, str(file)), str(file))
        made.append({"page": page, "markdown": text, "form": FORMS[ending(file)]})
    return _table(source, made)


_MARK = re.compile(r"<!--\s*page[\s:]([^<>\n]*)-->", re.IGNORECASE)


def _marked_pages(path: Path, source: str, pages: list[str] | None) -> Table:
    """The pages of one HTML file, each behind a comment that names it; names are those that files may have."""
    text = decode(read_bytes(path, source), source)
    marks = list(_MARK.finditer(text))
    if not marks:
        raise InvalidFile(
            "the file does not say where pages begin", where=source, remedy="Write <!-- page NAME --> before each page."
        )
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    known = {} if pages is None else _known_names(pages)
    made: dict[str, Row] = {}
    for mark, end in zip(marks, ends, strict=True):
        page = mark.group(1).strip(" \t:")
        page = _page_of_file(page, known, path) if page in known else page
        if page in made:
            raise Conflict(f"page '{page}' begins twice", where=source, remedy="Name each page once.")
        made[page] = {"page": page, "markdown": text[mark.end() : end], "form": "html"}
    return _table(source, list(made.values()))


def _known_names(pages: list[str]) -> dict[str, set[str]]:
    """The pages by what their files may be called: the image's name without its ending, also without `.pdf`."""
    known: dict[str, set[str]] = {}
    for page in dict.fromkeys(pages):
        bare = page_name(page)
        for name in (page, bare, bare.replace(".pdf", "")):
            known.setdefault(name, set()).add(page)
    return known


def _page_of_file(name: str, known: dict[str, set[str]], file: Path) -> str:
    pages = known.get(name)
    if pages is None:
        raise Unmatched(
            f"no page of the truth is called '{name}'",
            where=str(file),
            remedy=nearest(name, list(known)) or "Remove it.",
        )
    if len(pages) > 1:
        raise Conflict(
            f"'{name}' may be any of the pages {first_few(sorted(pages))}", where=str(file), remedy="Rename the file."
        )
    return next(iter(pages))


# OmniDocBench --------------------------------------------------------------------------------------------------------
def _omnidocbench(value: list[Any], source: str) -> Iterator[Row]:
    """Blocks of OmniDocBench's truth; blocks that a relation `truncated` joins are one."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(value):
        where = f"{source}, page {number}"
        info = expect(required(entry, "page_info", where), "an object", "page_info", where)
        page = os.path.basename(str(required(info, "image_path", where)))
        if page in seen:
            raise Conflict(f"'{page}' is also page {seen[page]}", where=where, remedy="Keep one of them.")
        seen[page] = number
        attributes = info.get("page_attribute") or {}
        size = {key: info[key] for key in ("width", "height") if isinstance(info.get(key), int | float)}
        base: Row = {"page": page, **size, **{str(k): _plain_value(v) for k, v in dict(attributes).items()}}
        blocks = list(expect(required(entry, "layout_dets", where), "an array", "layout_dets", where))
        made = list(_page_blocks(blocks, (entry.get("extra") or {}).get("relation") or [], where))
        yield from (base | row for row in made or [{"block": "none", "type": "blank", "text": ""}])


def _plain_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _page_blocks(blocks: list[Any], relations: list[Any], where: str) -> Iterator[Row]:
    by_id = {required(block, "anno_id", f"{where}, block {i}"): block for i, block in enumerate(blocks)}
    joined = _truncated(by_id, relations, where)
    for number, block in enumerate(blocks):
        name = block["anno_id"]
        group = joined.get(name, [name])
        if group[0] != name:
            continue
        kind = str(required(block, "category_type", f"{where}, block {number}"))
        text = _join_parts([_content(by_id[other]) for other in group])
        row: Row = {
            "block": name,
            "type": kind,
            "text": text,
            "order": block.get("order"),
            "ignore": bool(block.get("ignore", False)),
        }
        row |= _box(block.get("poly"))
        attributes = block.get("attribute") or {}
        yield row | {str(k): _plain_value(v) for k, v in dict(attributes).items()}


_ENDS_INSIDE = re.compile(r"[-\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\uffef]\Z")
_BEGINS_INSIDE = re.compile(r"[\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\uffef]")


def _join_parts(texts: list[str]) -> str:
    """A text that goes on in another block: with a blank between them, but for hyphens and scripts without blanks."""
    joined = ""
    for text in texts:
        apart = joined and text and not _ENDS_INSIDE.search(joined) and not _BEGINS_INSIDE.match(text)
        joined += f" {text}" if apart else text
    return joined


def _box(poly: Any) -> Row:
    """The box around the corners of a block, for pictures."""
    if not isinstance(poly, list) or len(poly) < 4 or any(not isinstance(v, int | float) for v in poly):
        return {}
    x, y = poly[::2], poly[1::2]
    return {"x": min(x), "y": min(y), "w": max(x) - min(x), "h": max(y) - min(y)}


def _content(block: Any) -> str:
    """The content of a block: of a table its HTML, of a formula its LaTeX, whatever else it has."""
    kind = str(block.get("category_type"))
    first = ("html",) if kind == "table" else ("latex",) if kind.startswith("equation_iso") else ()
    return next((str(block[key]) for key in (*first, "text", "html", "latex") if block.get(key)), "")


def _truncated(by_id: dict[Any, Any], relations: list[Any], where: str) -> dict[Any, list[Any]]:
    """Groups of blocks that are one, each in reading order, by every block in it."""
    groups: dict[Any, list[Any]] = {}
    for relation in relations:
        if not isinstance(relation, dict) or relation.get("relation_type", relation.get("relation")) != "truncated":
            continue
        ends = [relation.get("source_anno_id"), relation.get("target_anno_id")]
        for end in ends:
            if end not in by_id:
                raise Unmatched(
                    f"the relation truncated {ends[0]} to {ends[1]} names block {end}, which the page does not have",
                    where=where,
                    remedy="Give both blocks, or remove the relation.",
                )
        group = [
            *groups.get(ends[0], [ends[0]]),
            *(e for e in groups.get(ends[1], [ends[1]]) if e not in groups.get(ends[0], [ends[0]])),
        ]
        for member in group:
            groups[member] = group
    position = {name: place for place, name in enumerate(by_id)}
    for group in groups.values():
        group.sort(key=lambda name: (_order(by_id[name]), position[name]))
    return groups


def _order(block: Any) -> float:
    order = block.get("order")
    return float(order) if isinstance(order, int | float) else float("inf")


# Results of OmniDocBench --------------------------------------------------------------------------------------------
_PARTS = {"text_block": "text", "display_formula": "formula", "table": "table", "reading_order": ""}
_RESULT = re.compile(r"(.*?_?)(text_block|display_formula|table|reading_order)_result\.json$")


def _result_table(data: Any) -> Table:
    """Matches of OmniDocBench as rows: a true block with what was matched, its edits and its scores."""
    path = Path(data) if isinstance(data, str | PathLike) else Path()
    source = str(data)
    if path.is_dir():
        named = sorted(entry for entry in path.iterdir() if _RESULT.match(entry.name))
        prefixes = sorted({_RESULT.match(entry.name).group(1) for entry in named})  # type: ignore[union-attr]
        if len(prefixes) != 1:
            raise InvalidFile(
                f"the folder has the results of {len(prefixes)} models",
                where=source,
                remedy="Name one file that ends with _text_block_result.json.",
            )
        folder, prefix = path, prefixes[0]
    else:
        match = _RESULT.match(path.name)
        if match is None:
            raise MissingData(
                "task 'documents' needs truth and predictions",
                where=source,
                remedy="Give both, or one file of OmniDocBench that ends with _text_block_result.json.",
            )
        folder, prefix = path.parent, match.group(1)
    made: list[Row] = []
    for part, kind in _PARTS.items():
        file = folder / f"{prefix}{part}_result.json"
        if file.exists():
            value = parse_json(decode(read_bytes(file, str(file)), str(file)), str(file))
            entries = expect(value, "an array", part, str(file))
            made += [_result_row(entry, part, kind, f"{file}, entry {i}", i) for i, entry in enumerate(entries)]
    if not made:
        raise EmptyInput("the results are empty", where=source, remedy="Run OmniDocBench again.")
    return _table(source, made)


def _result_row(entry: Any, part: str, kind: str, where: str, number: int) -> Row:
    name = str(required(entry, "img_id", where))
    page = entry.get("image_name") or (name if PICTURES.search(name) else name.rpartition("_")[0])
    if part == "reading_order":
        lists = [expect(required(entry, key, where), "an array", key, where) for key in ("gt", "pred")]
        if any(not isinstance(rank, int | float) for ranks in lists for rank in ranks):
            raise InvalidValue("an order is not a number", where=where, remedy="Run OmniDocBench again.")
        return {"page": page, "block": "order", "type": "blank", "text": "", ORDERS: lists}
    left, right = (str(entry.get(f"norm_{side}") or entry.get(side) or "") for side in ("gt", "pred"))
    place = required(entry, "gt_position", where)
    scores = entry.get("metric") or {}
    row: Row = {
        "page": page,
        "block": f"{part} {number}",
        "type": kind,
        "text": left,
        "order": next((v for v in place if isinstance(v, int | float)), None) if isinstance(place, list) else None,
        REPLY: right,
        TEDS: [scores.get("TEDS"), scores.get("TEDS_structure_only")],
    }
    attributes = entry.get("gt_attribute") or [{}]
    first = attributes[0] if isinstance(attributes, list) and attributes and isinstance(attributes[0], dict) else {}
    return {str(k): _plain_value(v) for k, v in first.items()} | row
