"""Questions and replies from whatever the user has: tables of rows, VQA's annotations, logs of other harnesses.

Logs of other harnesses as tables of questions: inspect_ai, lmms-eval, lm-eval, VLMEvalKit; and VQA's annotations.

Each gives rows with `question`, `answers` (what is accepted), `prediction` (the reply), `outcome`, `group` where it is
known, `choices`, `logged:NAME` for scores that the harness gave, and whatever else may be sliced by. Nothing in a log
is run or written to disk, and no pickle is opened.
"""

from __future__ import annotations

import ast
import io
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    EmptyInput,
    InvalidFile,
    InvalidText,
    InvalidValue,
    MissingColumn,
    MissingKey,
    NotInstalled,
    UnreadableFile,
    Unsupported,
)
from steelyard.core.opening import check_declared, check_readable, is_entry, read_regular
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.csv import read_csv
from steelyard.io.excel import read_sheet
from steelyard.io.json import expect, parse_json, read_json, read_json_lines
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, open_bytes, read_bytes

FLAGS = ("True", "False")


def replies_of(replies: Any, target: Any, arguments: Any = None) -> list[str]:
    """The replies to one question: several where it was asked several times, none where only likelihoods were asked.

    Of options the most likely one is the reply, the first of equals: as its number where the target is one, else by
    its text, which `arguments` hold.
    """
    pairs = (
        [replies] if _is_pair(replies) else replies if isinstance(replies, list) and all(map(_is_pair, replies)) else []
    )
    if pairs:
        return _most_likely(pairs, target, arguments)
    return list(_texts(replies)) or [""]


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [] if value is None else [str(value)]


def _is_pair(value: Any) -> bool:
    """Whether a value is a log-likelihood and whether it is greedy."""
    return isinstance(value, list) and len(value) == 2 and str(value[1]) in FLAGS and _likelihood(value[0]) is not None


def _likelihood(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _most_likely(pairs: list[Any], target: Any, arguments: Any) -> list[str]:
    asked = [_argument(arguments, i) for i in range(len(pairs))]
    # For mutual information each option is asked a second time without its question.
    places = [i for i, (context, _) in enumerate(asked) if context != ""] or list(range(len(pairs)))
    if len(places) < 2:
        return []
    best = max(places, key=lambda i: (_likelihood(pairs[i][0]) or 0.0, -i))
    text = asked[best][1]
    by_number = str(target).strip().lstrip("-").isdecimal()
    return [str(best) if by_number or text is None else text.strip()]


def _argument(arguments: Any, place: int) -> tuple[str | None, str | None]:
    """The context and the continuation of a request, where the log has them."""
    argument = arguments.get(f"gen_args_{place}") if isinstance(arguments, Mapping) else None
    held = argument if isinstance(argument, Mapping) else {}
    context, text = held.get("arg_0"), held.get("arg_1")
    return context if isinstance(context, str) else None, text if isinstance(text, str) else None


Row = dict[str, Any]
ZSTANDARD = 93  # the method of inspect's members
INSPECT_VERSION = 2
VERDICTS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
ENDED = "run ended with"  # the column that says so, where a run did not succeed
FAILED = "Failed to obtain answer"
ROTATION = 1_000_000  # VLMEvalKit adds it to the index of a question whose options are turned
HARNESS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash", "input", "token_counts", "input_media",
}  # fmt: skip


def detect(path: Path) -> str:
    """What a file is: a format of the below, or "rows"."""
    suffix = ending(path)
    if suffix in (".eval", ".xlsx"):
        return "inspect" if suffix == ".eval" else "vlmevalkit"
    if suffix == ".json" and is_entry(path):
        with open_bytes(path, str(path)) as file:
            head = file.read(4096).lstrip()
        if head.startswith(b"{"):
            return "inspect" if b'"eval"' in head else "vqa"
    return "rows"


def read_log(path: Path, source: str, form: str) -> Table:
    """The questions of a log, of all logs of a folder."""
    reader, endings = FORMATS[form]
    files = [path]
    if os.path.isdir(path):
        files = sorted(one for one in path.rglob("*") if is_entry(one) and one.name.endswith(endings))
        if form in ("lmms-eval", "lm-eval"):
            files = [one for one in files if "samples_" in one.name]
        elif form == "vlmevalkit":  # numbers that were made of predictions are objects
            files = [one for one in files if ending(one) != ".json" or _begins(one, b"[")]
        if not files:
            remedy = "Was the run made with --log_samples?" if "eval" in form else f"A log ends in {endings[0]}."
            raise EmptyInput(f"there are no samples of {form}", where=source, remedy=remedy)
    else:
        check_readable(path, source)
    read = {file: list(reader(file, source if file == path else str(file))) for file in files}
    if form == "vlmevalkit":
        read = _without_copies(read)
    rows: list[Row] = []
    for file, held in read.items():
        for row in held:
            if len(read) > 1:
                row["question"] = f"{_name(file)}/{row['question']}"
                row["file"] = _name(file)
            rows.append(row)
    if not rows:
        raise EmptyInput("the log holds no sample", where=source, remedy="Was the run finished?")
    names = dict.fromkeys(name for row in rows for name in row)
    return Table(source, {name: as_object([row.get(name) for row in rows]) for name in names})


def _begins(file: Path, mark: bytes) -> bool:
    with open_bytes(file, str(file)) as held:
        return bytes(held.read(4096)).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(mark)


def _without_copies(read: dict[Path, list[Row]]) -> dict[Path, list[Row]]:
    """VLMEvalKit writes judged copies of predictions beside them, under longer names: of equals the longer stays."""
    replies = {file: {(row["question"], row["prediction"]) for row in rows} for file, rows in read.items()}

    def is_copy(file: Path) -> bool:
        longer = (one for one in read if one.parent == file.parent and _name(one).startswith(f"{_name(file)}_"))
        return any(replies[one] == replies[file] for one in longer)

    return {file: rows for file, rows in read.items() if not is_copy(file)}


def _name(file: Path) -> str:
    return file.name.removesuffix(".gz").rsplit(".", 1)[0]


def _accepted_list(target: Any) -> list[str]:
    """Accepted answers: a text, a list, or a text that is one."""
    if isinstance(target, str) and target.startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(target)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(value, list) and value and all(isinstance(one, str | int | float) for one in value):
                return [str(one) for one in value]
    if isinstance(target, list | tuple):
        return [str(one) for one in target]
    return ["" if target is None else str(target)]


def _scores(logged: Mapping[str, Any]) -> Row:
    """Scores by name, as numbers; what is none is left out."""
    scores = {}
    for name, value in logged.items():
        if isinstance(value, Mapping):
            value = value.get("score", value.get("value"))
        if isinstance(value, str):
            value = VERDICTS.get(value)
        if isinstance(value, bool | int | float):
            scores[f"logged:{name}"] = float(value)
    return scores


def _harness(file: Path, source: str) -> Iterator[Row]:
    """Samples of lm-eval and of lmms-eval, one object per line."""
    table = read_json_lines(file, source)
    names = list(table.columns)
    if "doc_id" not in names or "filtered_resps" not in names:
        raise InvalidFile(
            "these are not samples of a harness", where=source, remedy="A line needs doc_id and filtered_resps."
        )
    filters = sorted({str(one) for one in table.columns["filter"].tolist()}) if "filter" in names else []
    if len(filters) > 1:
        raise InvalidValue(
            f"there are rows of several filters: {', '.join(filters)}",
            where=source,
            remedy="Keep the lines of one of them.",
        )
    for i in range(len(table)):
        row = {name: column[i] for name, column in table.columns.items()}
        metric_names = row.get("metrics")
        scored = [name for name in names if name not in HARNESS]
        if isinstance(metric_names, list):
            scored = [expect(name, "a text", "metrics", table.place(i)) for name in metric_names]
        converted = {"question": row["doc_id"], "answers": _accepted_list(row.get("target"))}
        doc = row.get("doc")
        if isinstance(doc, Mapping):
            converted |= {
                name: doc[name] for name in ("image_id", "category", "split") if isinstance(doc.get(name), str | int)
            }
            if "image_id" in converted:
                converted["group"] = converted.pop("image_id")
        converted |= _scores({name: row.get(name) for name in scored})
        yield from _each_reply(converted, replies_of(row["filtered_resps"], row.get("target"), row.get("arguments")))


def _each_reply(row: Row, replies: list[str]) -> Iterator[Row]:
    """A row per reply; several to one question are questions of one unit, as epochs are."""
    if not replies:
        yield row | {"prediction": "", "outcome": "no text was asked for"}
    elif len(replies) == 1:
        yield row | {"prediction": replies[0]}
    else:
        for number, reply in enumerate(replies, 1):
            apart = {"question": f"{row['question']}, reply {number}", "group": row.get("group", row["question"])}
            yield row | apart | {"prediction": reply}


def _text(value: Any) -> str:
    return "" if value is None or value == [] else str(value)


def _inspect(file: Path, source: str) -> Iterator[Row]:
    """Samples of inspect_ai: an archive `.eval`, or the whole log as JSON."""
    if ending(file) == ".eval":
        members = _members(file, source)
        header = members.get("header.json", members.get("_journal/start.json"))
        if header is None:
            raise InvalidFile("there is no header in the archive", where=source, remedy="Was the run started?")
        log = _json(header(), f"{source}, header.json")
        names = sorted(n for n in members if n.startswith("samples/") and n.endswith(".json") and _is_sample(n))
        samples: Iterator[Any] = (_json(members[name](), f"{source}, {name}") for name in names)
    else:
        log = _json(read_bytes(file, source), source)
        samples = iter((log.get("samples") if isinstance(log, dict) else None) or [])
    if not isinstance(log, dict) or log.get("version", INSPECT_VERSION) != INSPECT_VERSION:
        version = log.get("version") if isinstance(log, dict) else None
        raise Unsupported(
            f"version {version} of inspect's logs is not known ({INSPECT_VERSION} is)",
            where=source,
            remedy="Convert it with a version of inspect_ai that writes that one.",
        )
    rows = _with_epochs([_sample(one, source) for one in samples])
    if log.get("status", "success") != "success":
        rows = [row | {ENDED: log["status"]} for row in rows]
    yield from rows


def _is_sample(name: str) -> bool:
    parts = name.split("/")
    return len(parts) == 2 or parts[-1] == "sample.json"


def _sample(sample: Any, source: str) -> Row:
    if not isinstance(sample, dict) or "id" not in sample or "target" not in sample:
        raise MissingKey("a sample has no id or no target", where=source, remedy="Is it a log of inspect_ai?")
    where = f"{source}, sample '{sample['id']}'"
    output = expect(sample.get("output") or {}, "an object", "output", where)
    choices = expect(output.get("choices") or [{}], "an array", "choices", where)
    first = expect(choices[0], "an object", "choices", where)
    stop, completion = first.get("stop_reason"), output.get("completion")
    if completion is None:
        completion = expect(first.get("message") or {}, "an object", "message", where).get("content")
    outcome = "failed" if sample.get("error") else "truncated" if stop == "max_tokens" else "ok"
    row = {
        "question": expect(sample["id"], "a text or a number", "id", source),
        "epoch": sample.get("epoch", 1),
        "answers": _accepted_list(sample["target"]),
        "prediction": _text(completion),
        "outcome": outcome,
    }
    if sample.get("choices"):
        row["choices"] = json.dumps(sample["choices"])
    metadata = sample.get("metadata")
    if isinstance(metadata, Mapping):
        row |= {str(n): v for n, v in metadata.items() if isinstance(v, str | int | float) and str(n) not in row}
    return row | _scores(expect(sample.get("scores") or {}, "an object", "scores", where))


def _with_epochs(rows: list[Row]) -> list[Row]:
    """Epochs of a sample are questions of one unit."""
    if all(row["epoch"] == 1 for row in rows):
        return [{name: value for name, value in row.items() if name != "epoch"} for row in rows]
    return [row | {"group": row["question"], "question": f"{row['question']}, epoch {row['epoch']}"} for row in rows]


def _json(data: bytes, where: str) -> Any:
    try:
        return parse_json(data.decode("utf-8"), where)
    except UnicodeDecodeError:
        raise InvalidText("the text is not UTF-8", where=where, remedy="Is the file whole?") from None


def _members(file: Path, source: str) -> dict[str, Callable[[], bytes]]:
    """Members of an archive, each read when it is asked for, also where zipfile does not know its method."""
    data = read_regular(file, source)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
    except Exception:  # zipfile raises what its parsers do
        raise UnreadableFile(
            "the archive cannot be read", where=source, remedy="Was the run ended while it was written?"
        ) from None
    check_declared(sum(one.file_size for one in listed), len(data), source)
    return {one.filename: lambda one=one: _unpack_member(data, one, source) for one in listed}  # type: ignore[misc]


def _unpack_member(data: bytes, member: zipfile.ZipInfo, source: str) -> bytes:
    where = f"{source}, {member.filename}"
    broken = UnreadableFile("the member is damaged", where=where, remedy="Copy the file again.")
    head = data[member.header_offset : member.header_offset + 30]
    if len(head) < 30 or head[:4] != b"PK\x03\x04":
        raise broken
    if member.flag_bits & 1:
        raise UnreadableFile("the member is encrypted", where=where, remedy="Write it without a password.")
    name, extra = struct.unpack("<HH", head[26:30])
    begin = member.header_offset + 30 + name + extra
    packed = data[begin : begin + member.compress_size]
    try:
        if member.compress_type == zipfile.ZIP_STORED:
            content = packed
        elif member.compress_type == zipfile.ZIP_DEFLATED:
            content = zlib.decompressobj(-15).decompress(packed, member.file_size + 1)
        elif member.compress_type == ZSTANDARD:
            content = _zstandard(packed, member.file_size, where)
        else:
            raise Unsupported(f"method {member.compress_type} is not known", where=where, remedy="Write it as .json.")
    except (zlib.error, EOFError):
        raise broken from None
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise broken
    return content


def _zstandard(packed: bytes, size: int, where: str) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise NotInstalled(
            "inspect packs its logs with Zstandard", where=where, remedy='Install it: pip install "steelyard[logs]".'
        ) from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as stream:
            return bytes(stream.read(size + 1))
    except zstandard.ZstdError:
        raise EOFError from None


def _vlmevalkit(file: Path, source: str) -> Iterator[Row]:
    """The predictions of VLMEvalKit: a sheet, a table or JSON, with the options in columns A, B, C ..."""
    suffix = ending(file)
    if suffix == ".xlsx":
        table = read_sheet(file, source)
    else:
        table = read_json(file, source) if suffix == ".json" else read_csv(file, source, "\t")
    lacking = [name for name in ("index", "answer", "prediction") if name not in table.columns]
    if lacking:
        raise MissingColumn(f"column '{lacking[0]}' is missing", where=source, remedy="Is it a result of VLMEvalKit?")
    letters = [name for name in "ABCDEFGHIJ" if name in table.columns]
    others = [n for n in ("category", "l2-category", "split", "type") if n in table.columns]
    for i in range(len(table)):
        row = {name: column[i] for name, column in table.columns.items()}
        index = _whole(row["index"])
        reply = _text(row["prediction"])
        converted: Row = {
            "question": expect(row["index"], "a text or a number", "index", table.place(i)),
            "answers": _accepted_list(row["answer"]),
            "prediction": "" if FAILED in reply else reply,
            "outcome": "failed" if FAILED in reply else "ok",
        }
        options = {name: str(row[name]) for name in letters if _text(row[name]).strip() not in ("", "nan")}
        if options:
            converted["choices"] = json.dumps(options)
        if index is not None:
            converted["group"] = index % ROTATION
        converted |= {name: row[name] for name in others}
        scores = {name: _number(row[name]) for name in ("hit", "score") if name in row}
        yield converted | _scores({name: value for name, value in scores.items() if value is not None})


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _vqa(file: Path, source: str) -> Iterator[Row]:
    """The annotations of VQA: ten people's answers to each question."""
    data = _json(read_bytes(file, source), source)
    notes = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(notes, list) or not all(
        isinstance(annotation, dict) and "question_id" in annotation for annotation in notes
    ):
        raise EmptyInput("there are no annotations of questions", where=source, remedy="An array of rows is read, too.")
    for annotation in notes:
        where = f"{source}, question {annotation['question_id']}"
        answers = expect(annotation.get("answers") or [], "an array", "answers", where)
        texts = [a.get("answer") if isinstance(a, dict) else a for a in answers]
        row = {
            "question": annotation["question_id"],
            "answers": _accepted_list(texts),
            "group": annotation.get("image_id", annotation["question_id"]),
        }
        yield row | {name: annotation[name] for name in ("question_type", "answer_type") if name in annotation}


FORMATS: dict[str, tuple[Callable[[Path, str], Iterator[Row]], tuple[str, ...]]] = {
    "inspect": (_inspect, (".eval",)),
    "lmms-eval": (_harness, (".jsonl",)),
    "lm-eval": (_harness, (".jsonl",)),
    "vlmevalkit": (_vlmevalkit, (".xlsx", ".tsv", ".json")),
    "vqa": (_vqa, (".json",)),
}


OF_REPLIES = (ENDED, "outcome", "prediction")


class LoggedRecords(Records):
    """The truth of a log, with what a reader of the scores must know."""

    notes: tuple[str, ...] = ()


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions: two sources, or one that holds both, as every log does."""
    options = options or Options(task.options)
    tables = [of_truth(_table, truth, options, "truth"), _table(predictions, options, "prediction")]
    if all(table is None for table in tables):
        return rows.read_sides(task, truth, predictions, columns)
    if predictions is None:
        tables[1] = tables[0]
        if tables[0] is not None and "prediction" not in tables[0].columns:
            raise EmptyInput(
                "there are no replies", where=tables[0].source, remedy="Give the file of replies behind it."
            )
    first, second = (
        rows.read_side(task, data, columns, side) if table is None else _side(task, table, side)
        for side, data, table in zip(("truth", "prediction"), (truth, predictions), tables, strict=True)
    )
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    return first, second


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    table = _table(data, Options(task.options), side)
    return rows.read_side(task, data, columns, side) if table is None else _side(task, table, side)


def _table(data: Any, options: Options, side: str) -> Table | None:
    """The questions of a log; None where the data are rows."""
    if not isinstance(data, str | PathLike):
        return None
    path = Path(data)
    form = options.of("format", side)
    if form == "auto":
        form = detect(path)
    if form == "rows":
        return None
    return read_log(path, str(data), form)


def _side(task: Task, table: Table, side: str) -> Records:
    """The columns of a log that belong to a side."""
    columns = dict(table.columns)
    if side == "truth":
        return of_truth(_truth, table, task)
    own_columns = {
        name: column
        for name, column in columns.items()
        if name in ("question", "outcome") or name.startswith("logged:")
    }
    if "prediction" not in columns:
        raise EmptyInput("there are no replies", where=table.source, remedy="It holds the truth alone.")
    own_columns["answer"] = columns["prediction"]
    own_columns["target"] = as_object([answers[0] if answers else "" for answers in columns["answers"].tolist()])
    return to_records(replace(table, columns=own_columns), task.prediction, {}, side)


def _truth(table: Table, task: Task) -> LoggedRecords:
    columns = dict(table.columns)
    kept = {name: column for name, column in columns.items() if not _of_replies(name)}
    made = to_records(replace(table, columns=kept), task.truth, {}, "truth")
    ends = {str(one) for one in columns.get(ENDED, as_object([])).tolist() if one}
    notes = [f"The log says that the run ended with '{end}': samples may be missing." for end in sorted(ends)]
    return LoggedRecords(made.source, made.columns, made.other, made.place, made.names, tuple(notes))


def _of_replies(name: str) -> bool:
    return name in OF_REPLIES or name.startswith("logged:")
