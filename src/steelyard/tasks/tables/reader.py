"""Reads tables: PubTabNet's JSON lines, folders of HTML, PubTables-1M, and tables of rows.

| format | files |
|---|---|
| `pubtabnet` | JSON lines with `html.structure.tokens` and `html.cells`; `filename` is the name |
| replies | a JSON object {name: HTML}, or {name: {"html": HTML}} |
| folder | `<name>.html` or `.htm` |
| `pubtables` | a folder of `<name>.xml` (PASCAL VOC) with `<name>_words.json`, or of `<name>.json` (cells) |
| cells | a JSON object {name: cells}; a cell has `row_nums`, `column_nums`, `cell_text` and `bbox` |

Everything else is a table of rows. A name is the same with and without the suffix of a picture.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    InvalidFile,
    InvalidText,
    InvalidValue,
    MissingFile,
    MissingKey,
    TooLarge,
)
from steelyard.core.opening import is_entry, read_regular
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.json import columns_of, expect, parse_json, required
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, first_bytes, open_bytes, read_bytes
from steelyard.tasks.tables.trees import MOST_PLACES

Row = dict[str, Any]
Box = tuple[float, float, float, float]
PICTURE = re.compile(r"\.(png|jpe?g|tiff?|webp|bmp|gif)$", re.IGNORECASE)
WORDS = "_words.json"
HEAD = 1 << 20  # bytes of the first line, which say what a file is
HALF = 0.5  # of a row or column that a spanning cell covers, from which on it spans it


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, each by its own format."""
    if predictions is None:
        return rows.read_sides(task, truth, predictions, columns)
    table = of_truth(_table_of, truth)
    first: Records = (
        rows.read_side(task, truth, columns, "truth") if table is None else of_truth(_records, table, task, "truth")
    )
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    return first, _same_names(read_side(task, predictions, columns, "prediction"), first)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    table = _table_of(data)
    return rows.read_side(task, data, columns, side) if table is None else _records(table, task, side)


def _records(table: Table, task: Task, side: str) -> Records:
    return to_records(table, task.truth if side == "truth" else task.prediction, {}, side)


def _same_names(records: Records, truth: Records) -> Records:
    """Predictions under the names of the truth, where these differ by the suffix of a picture."""
    names = [str(name) for name in truth["table"].tolist()]
    exact, bare = set(names), {PICTURE.sub("", name): name for name in names}
    own = records["table"].tolist()
    if all(str(name) in exact for name in own):
        return records
    renamed = [name if str(name) in exact else bare.get(PICTURE.sub("", str(name)), name) for name in own]
    return replace(records, columns={**records.columns, "table": as_object(renamed)})


def _table_of(data: Any) -> Table | None:
    """The rows of files that are not tables of rows; None where they are."""
    if not isinstance(data, str | PathLike):
        return None
    path, source = Path(data), str(data)
    if path.is_dir():
        return _table(source, list(_folder(path, source)))
    kind = ending(path)
    if kind in (".jsonl", ".ndjson"):
        with open_bytes(path, source) as file:
            if b'"structure"' not in file.readline(HEAD):
                return None
        return _table(source, list(_pubtabnet(_text(read_bytes(path, source), source), source)))
    if kind != ".json" or not first_bytes(path, source).lstrip().startswith(b"{"):
        return None
    value = parse_json(_text(read_bytes(path, source), source), source)
    return _table(source, list(_named(value, source))) if _is_named(value) else None


def _is_named(value: Any) -> bool:
    """Whether an object gives HTML or cells by name: its first entry says so."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    if isinstance(first, str):
        return True
    if isinstance(first, dict):
        return "html" in first
    return isinstance(first, list) and all(isinstance(cell, dict) and "row_nums" in cell for cell in first[:1])


def _table(source: str, read: list[Row]) -> Table:
    if not read:
        raise EmptyInput("there are no tables", where=source, remedy="Give at least one.")
    return Table(source, columns_of(read))


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"byte {error.start:,} is not UTF-8", where=source, remedy="Save the file as UTF-8."
        ) from None


def _named(value: dict[str, Any], source: str) -> Iterator[Row]:
    """HTML or cells by name."""
    for name, entry in value.items():
        where = f"{source}, '{name}'"
        if isinstance(entry, list):
            yield {"table": name} | _of_cells(entry, where)
            continue
        text = required(entry, "html", where) if isinstance(entry, dict) else entry
        if text is not None and not isinstance(text, str):
            raise InvalidValue(f"{str(text)[:60]} is not HTML", where=where, remedy="Give a text for each name.")
        yield {"table": name, "html": text or ""}


def _pubtabnet(text: str, source: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):  # a text may hold what `splitlines` takes for an end
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        entry = parse_json(line, where)
        name = entry.get("filename", entry.get("imgid")) if isinstance(entry, dict) else None
        if name is None:
            raise MissingKey("key 'filename' is missing", where=where, remedy="Is the file complete?")
        described = required(entry, "html", where)
        if isinstance(described, str):
            yield {"table": name, "html": described}
            continue
        row: Row = {"table": name} | _of_tokens(described, where)
        if "split" in entry:
            row["split"] = str(entry["split"])
        yield row


def _of_tokens(described: Any, where: str) -> Row:
    """HTML of PubTabNet's tokens: those of each cell follow the end of its start tag."""
    tokens = expect(required(required(described, "structure", where), "tokens", where), "an array", "tokens", where)
    cells = expect(required(described, "cells", where), "an array", "cells", where)
    parts: list[str] = []
    boxes: list[Any] = []
    place = 0
    for token in tokens:
        parts.append(str(token))
        if token not in ("<td>", ">", "<th>"):
            continue
        if place >= len(cells):
            raise InvalidValue(
                f"there are {len(cells):,} cells, and more in the structure",
                where=where,
                remedy="Give the tokens of each cell.",
            )
        cell = cells[place]
        place += 1
        own = expect(required(cell, "tokens", where), "an array", "tokens", where)
        parts += [html.escape(str(letter), False) if len(str(letter)) == 1 else str(letter) for letter in own]
        boxes.append(cell.get("bbox"))
    if place != len(cells):
        raise InvalidValue(
            f"there are {len(cells):,} cells, and {place:,} in the structure",
            where=where,
            remedy="Give the tokens of each cell.",
        )
    row: Row = {"html": f"<html><body><table>{''.join(parts)}</table></body></html>"}
    if any(box is not None for box in boxes):
        row["boxes"] = json.dumps(boxes)
    return row


def _folder(path: Path, source: str) -> Iterator[Row]:
    files = sorted(file for file in path.iterdir() if is_entry(file) and file.is_file())
    for endings, read in (((".html", ".htm"), _html_file), ((".xml",), _voc_file), ((".json",), _cell_file)):
        chosen = [file for file in files if file.suffix.lower() in endings and not file.name.endswith(WORDS)]
        if not chosen:
            continue
        for one, other in pairwise(sorted(chosen, key=lambda file: file.stem)):
            if one.stem == other.stem:
                raise Conflict(
                    f"{one.name} and {other.name} are the same table", where=source, remedy="Keep one of them."
                )
        for file in chosen:
            yield {"table": file.stem} | read(file)
        return
    raise InvalidFile(
        "the folder has no tables",
        where=source,
        remedy="It holds <name>.html, or <name>.xml or <name>.json of PubTables-1M.",
    )


def _html_file(file: Path) -> Row:
    return {"html": _text(read_regular(file, str(file)), str(file))}


def _cell_file(file: Path) -> Row:
    value = parse_json(_text(read_regular(file, str(file)), str(file)), str(file))
    return _of_cells(expect(value, "an array", "cells", str(file)), str(file))


def _numbers(value: Any, where: str, name: str) -> list[int]:
    whole = isinstance(value, list) and bool(value)
    if not whole or any(isinstance(v, bool) or not isinstance(v, int) or not 0 <= v < MOST_PLACES for v in value):
        raise InvalidValue(
            f"{name} {str(value)[:60]} are not rows or columns", where=where, remedy="Give whole numbers from 0 on."
        )
    ordered = sorted(set(value))
    if ordered != list(range(ordered[0], ordered[-1] + 1)):
        raise InvalidValue(
            f"{name} {str(value)[:60]} do not follow each other", where=where, remedy="A cell covers a rectangle."
        )
    return ordered


def _of_cells(cells: list[Any], where: str) -> Row:
    """HTML and boxes of cells with their rows and columns; places without a cell get an empty one."""
    placed: dict[tuple[int, int], tuple[int, int, int]] = {}  # number of the cell, and its spans, at its first place
    taken: set[tuple[int, int]] = set()
    for number, cell in enumerate(cells):
        here = f"{where}, cell {number}"
        high, wide = (_numbers(required(cell, name, here), here, name) for name in ("row_nums", "column_nums"))
        if len(high) * len(wide) > MOST_PLACES or len(taken) > MOST_PLACES:
            raise TooLarge("the table is too large", where=here, remedy=f"It has at most {MOST_PLACES:,} places.")
        places = {(r, c) for r in high for c in wide}
        if places & taken:
            raise Conflict("two cells cover one place", where=here, remedy="Give each place to one cell.")
        taken |= places
        placed[high[0], wide[0]] = (number, len(high), len(wide))
    rows_, columns = (max((place[axis] for place in taken), default=-1) + 1 for axis in (0, 1))
    if rows_ * columns > MOST_PLACES:
        raise TooLarge("the table is too large", where=where, remedy=f"It has at most {MOST_PLACES:,} places.")
    parts: list[str] = []
    boxes: list[Any] = []
    for r in range(rows_):
        parts.append("<tr>")
        for c in range(columns):
            if (r, c) in placed:
                number, rowspan, colspan = placed[r, c]
                cell = cells[number]
                tag = "th" if cell.get("is_column_header", cell.get("column header")) else "td"
                spans = (f' rowspan="{rowspan}"' if rowspan > 1 else "") + (
                    f' colspan="{colspan}"' if colspan > 1 else ""
                )
                text = html.escape(str(cell.get("cell_text", cell.get("cell text", "")) or ""), False)
                parts.append(f"<{tag}{spans}>{text}</{tag}>")
                boxes.append(cell.get("bbox"))
            elif (r, c) not in taken:
                parts.append("<td></td>")
                boxes.append(None)
        parts.append("</tr>")
    row: Row = {"html": f"<html><body><table>{''.join(parts)}</table></body></html>"}
    if any(box is not None for box in boxes):
        row["boxes"] = json.dumps(boxes)
    return row


def _voc_file(file: Path) -> Row:
    """Cells where rows and columns of an annotation meet, with the words that lie in them."""
    source = str(file)
    objects = _voc_objects(read_regular(file, source), source)
    high = sorted(objects.get("table row", []), key=lambda box: box[1] + box[3])
    wide = sorted(objects.get("table column", []), key=lambda box: box[0] + box[2])
    if not high or not wide:
        raise InvalidValue(
            "there are no rows or no columns", where=source, remedy="Give objects 'table row' and 'table column'."
        )
    if len(high) * len(wide) > MOST_PLACES:
        raise TooLarge("the table is too large", where=source, remedy=f"It has at most {MOST_PLACES:,} places.")
    heads = objects.get("table column header", [])
    spanning = objects.get("table spanning cell", []) + objects.get("table projected row header", [])
    cells: list[tuple[list[int], list[int]]] = []
    taken: set[tuple[int, int]] = set()
    for box in spanning:
        own_rows = [i for i, row in enumerate(high) if _share(row[1], row[3], box[1], box[3]) >= HALF]
        own_columns = [i for i, column in enumerate(wide) if _share(column[0], column[2], box[0], box[2]) >= HALF]
        places = {(r, c) for r in own_rows for c in own_columns}
        if places and not places & taken:
            taken |= places
            cells.append((own_rows, own_columns))
    cells += [([r], [c]) for r in range(len(high)) for c in range(len(wide)) if (r, c) not in taken]
    made: list[Row] = []
    for own_rows, own_columns in cells:
        box = (wide[own_columns[0]][0], high[own_rows[0]][1], wide[own_columns[-1]][2], high[own_rows[-1]][3])
        head = any(_share(box[1], box[3], other[1], other[3]) >= HALF for other in heads)
        made.append({"row_nums": own_rows, "column_nums": own_columns, "bbox": box, "is_column_header": head})
    _add_words(made, file.with_name(file.stem + WORDS))
    return _of_cells(made, source)


def _share(low: float, high: float, other_low: float, other_high: float) -> float:
    """The share of a stretch that another covers."""
    return max(0.0, min(high, other_high) - max(low, other_low)) / (high - low) if high > low else 0.0


def _voc_objects(data: bytes, source: str) -> dict[str, list[Box]]:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise InvalidFile("the file declares entities", where=source, remedy="Annotations have none.")
    objects: dict[str, list[Box]] = {}
    try:
        for thing in ElementTree.fromstring(data).iter("object"):
            corners = [float(thing.findtext(f"bndbox/{tag}") or "nan") for tag in ("xmin", "ymin", "xmax", "ymax")]
            if any(not abs(value) <= 1e7 for value in corners):
                raise ValueError(f"an object '{thing.findtext('name')}' has no box")
            objects.setdefault(str(thing.findtext("name")), []).append((*corners,))  # type: ignore[arg-type]
    except (ElementTree.ParseError, ValueError) as error:
        raise InvalidFile(f"not an annotation: {error}", where=source, remedy="Copy the file again.") from None
    return objects


def _add_words(cells: list[Row], file: Path) -> None:
    """The text of each cell: the words whose middle lies in it, in the order of the file."""
    if not is_entry(file):
        raise MissingFile(
            f"not found: {file.name}", where=str(file.parent), remedy="Words of an annotation lie beside it."
        )
    source = str(file)
    words = expect(parse_json(_text(read_regular(file, source), source), source), "an array", "words", source)
    texts: list[list[str]] = [[] for _ in cells]
    for number, word in enumerate(words):
        where = f"{source}, word {number}"
        box = required(word, "bbox", where)
        if not isinstance(box, list) or len(box) != 4 or any(not isinstance(v, int | float) for v in box):
            raise InvalidValue(f"{str(box)[:60]} is not a box", where=where, remedy="A box is [x1, y1, x2, y2].")
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        for place, cell in enumerate(cells):
            x1, y1, x2, y2 = cell["bbox"]
            if x1 <= x < x2 and y1 <= y < y2:
                texts[place].append(str(required(word, "text", where)))
                break
    for cell, own in zip(cells, texts, strict=True):
        cell["cell_text"] = " ".join(own)
