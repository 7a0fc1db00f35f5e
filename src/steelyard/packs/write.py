"""Making a pack: results with their pages, the digests of their data or the data, and a manifest."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike, fspath
from typing import Any, BinaryIO

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import CannotWrite, EmptyInput, Incompatible, InvalidNumber, InvalidResult, MissingFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import open_regular, read_regular, record_opened
from steelyard.io.dialect import csv_dialect
from steelyard.io.json import parse_json
from steelyard.io.text import sheet_path
from steelyard.io.write import write_durably
from steelyard.packs import documents
from steelyard.packs.manifest import (
    NAME,
    DataEntry,
    FileDigest,
    InputFile,
    Manifest,
    Member,
    PackedResult,
    Role,
    Software,
    check_name,
    digest_chunks,
    files_below,
    read_chunks,
)
from steelyard.packs.repeat import TOLERANCE, at_sheet, changes_between, inputs_of, keys_of, packed_name, repeat
from steelyard.results.codec import EDITED, digest_of
from steelyard.results.gate import Gate
from steelyard.results.read import parse_result
from steelyard.results.result import Result
from steelyard.version import __version__

Path = str | PathLike[str]
ENDINGS = (".html", ".md", ".tex", ".csv", ".xlsx", ".svg", ".png", ".pdf", ".xml", ".txt")  # of files beside results
HEAD = re.compile(rb'"format"\s*:\s*"steelyard"')
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # whose own data every result may read
EARLIEST = 315532800  # 1980-01-01: archives know no earlier time
DOCUMENTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "test-report": ("Test report", documents.report_parts),
    "model-card": ("Model card", documents.card_parts),
}


class _Found(Frozen):
    """A result that was stored: its file, its name in the pack, and what it holds."""

    file: str
    name: str
    result: Any
    digest: str
    keys: frozenset[str]


def pack(
    results: Path | Sequence[Path],
    path: Path,
    *,
    data: Path | None = None,
    include_data: bool = False,
    by: str = "",
    title: str = "",
    purpose: str = "",
    unchecked: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Manifest:
    """Write an evidence pack: a ZIP archive of results with all that is needed to check them; returns its manifest.

    `results` is a folder, or a list of folders and files. Their JSON results are packed with a page for each, with
    other files of the folders (pages, tables, charts), and with a test report and a model card made from the numbers;
    a folder may bring its own `test-report.md` and `model-card.md`. The data of the results are looked for in the
    folder `data`, else where the results say and beside them: the pack holds their digests, or with `include_data` the
    data too. `by` says who made the pack, `title` and `purpose` are for the documents. `delimiter` and `decimal` are
    those of `evaluate`, where they were needed.

    Every result whose data are at hand is computed again first, and InputError is raised if a number differs; this also
    finds the files that data name, such as images. `unchecked` leaves it out.

    The time of making is that of the environment variable SOURCE_DATE_EPOCH, or now. The same files at the same time
    give the same archive.
    """
    target = os.path.abspath(fspath(path))
    listed = [results] if isinstance(results, str | PathLike) else list(results)
    files = _files_of([fspath(one) for one in listed], target)
    stored = [one for name, file in files.items() if (one := _result_of(name, file)) is not None]
    if not stored:
        raise EmptyInput(
            "there are no results to pack",
            where=fspath(listed[0]) if listed else "",
            remedy="Write some with 'steelyard evaluate ... -o results/result.json'.",
        )
    packed, places, absent = _find_data(stored, None if data is None else fspath(data), include_data)
    notes: list[str] = []
    with csv_dialect(delimiter, decimal):
        if not unchecked:
            packed = [_check_result(*both, places, stored, notes) for both in zip(stored, packed, strict=True)]
    used = {name for one in packed for name in (*(entry.data for entry in one.inputs), *one.beside)}
    entries = [_entry(name, place, include_data) for name, place in places.items() if name in used]
    entries = sorted([*entries, *(DataEntry(name, ()) for name in absent if name in used)], key=lambda one: one.name)
    sources: dict[str, tuple[Role, str | bytes]] = {one.name: ("result", one.file) for one in stored}
    inputs = {os.path.realpath(place) for place in places.values()}
    skipped = []
    for name, file in files.items():
        if name in sources or os.path.realpath(file) in inputs or _inside(file, inputs):
            continue
        if os.path.splitext(file)[1].lower() in ENDINGS:
            sources[name] = ("page" if name.endswith(".html") else "file", file)
        else:
            skipped.append(name)
    for one in stored:
        page = f"{os.path.splitext(one.name)[0]}.html"
        if page not in sources:
            sources[page] = ("page", one.result.to_html().encode())
    if include_data:
        for entry in entries:
            base = places[entry.name]
            for digest in entry.files:
                inner = f"data/{entry.name}/{digest.name}" if entry.folder else f"data/{entry.name}"
                sources[inner] = ("data", os.path.join(base, digest.name) if entry.folder else base)
    notes += [f"{name} is not in the pack: it is not a result, page, table or chart." for name in skipped]
    created = _created()
    manifest = Manifest(
        created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        _software(),
        (),
        tuple(packed),
        tuple(entries),
        title,
        purpose,
        by,
        delimiter,
        decimal,
        tuple(notes),
    )
    _add_documents(sources, manifest, {one.name: one.result for one in stored})
    return _write(target, manifest, sources, created)


def _files_of(listed: Sequence[str], target: str) -> dict[str, str]:
    """The files to look at by their names in the pack."""
    files: dict[str, str] = {}
    for place in listed:
        if os.path.isdir(place):
            inside = {f"results/{name}": os.path.join(place, name) for name in files_below(place)}
        elif os.path.exists(place):
            inside = {f"results/{os.path.basename(place)}": place}
        else:
            raise MissingFile("there is no such file or folder", where=place, remedy="Check the path.")
        for name, file in inside.items():
            if os.path.abspath(file) == target or not os.path.isfile(file):
                continue
            check_name(name, file)
            if files.setdefault(name, file) != file:
                raise CannotWrite(
                    f"two files would be called '{name}' in the pack",
                    where=file,
                    remedy="Rename one of them, or pack their common folder.",
                )
    return files


def _result_of(name: str, file: str) -> _Found | None:
    """The result in a file, if it is one."""
    if not name.endswith(".json"):
        return None
    with open_regular(file) as opened:
        if HEAD.search(opened.read(4096)) is None:
            return None
    values = parse_json(read_regular(file).decode("utf-8", "replace"), file)
    result = parse_result(values, file)
    if EDITED in result.notes:
        raise InvalidResult(
            "the result was changed after Steelyard wrote it: its contents do not match its digest",
            where=file,
            remedy="Compute it again, or leave it out.",
        )
    return _Found(file, name, result, digest_of(values), keys_of(values))


def _find_data(
    stored: Sequence[_Found], folder: str | None, include: bool
) -> tuple[list[PackedResult], dict[str, str], set[str]]:
    """The results with the names of their data, where data entries lie by name, and those that are not at hand."""
    places: dict[str, str] = {}
    real: dict[str, str] = {}  # names by real path
    absent: dict[str, str] = {}  # names by source
    packed = []
    gated = [one.name for one in stored if not isinstance(one.result, Gate)]
    for one in stored:
        sources, reason = inputs_of(one.result)
        inputs = []
        if isinstance(one.result, Gate):
            lacking = [source for source in sources if not packed_name(source, gated)]
            reason = reason or (f"its result '{lacking[0]}' is not in the pack" if lacking else "")
            sources = ()
        for source in sources:
            place = _place_of(source, one.file, folder)
            if place is not None:
                name = real.get(os.path.realpath(place)) or _free_name(source, {*places, *absent.values()})
                places.setdefault(name, place)
                real[os.path.realpath(place)] = name
            elif source in ("truth", "predictions") or source.endswith(" in memory") or "*" in source:
                reason = reason or f"the data '{source}' were not read from one file or folder"
                continue
            elif include:
                raise MissingFile(
                    "the data are not at hand",
                    where=f"{one.file}, '{source}'",
                    remedy="Give their folder as `data`, or leave `include_data` out.",
                )
            else:
                name = absent.setdefault(source, _free_name(source, {*places, *absent.values()} - {absent.get(source)}))
            inputs.append(InputFile(source, name))
        about = (one.name, one.result.kind, _task(one.result), one.digest, _version(one.result))
        packed.append(PackedResult(*about, () if reason else tuple(inputs), (), reason))
    return packed, places, set(absent.values())


def _check_result(
    one: _Found, packed: PackedResult, places: dict[str, str], stored: Sequence[_Found], notes: list[str]
) -> PackedResult:
    """Compute a result again where its data are at hand, and note the files beside the data that this reads."""
    if packed.not_repeatable or any(entry.data not in places for entry in packed.inputs):
        return packed
    paths = {entry.source: at_sheet(places[entry.data], entry.source) for entry in packed.inputs}
    if isinstance(one.result, Gate):
        files = {other.name: other.file for other in stored if not isinstance(other.result, Gate)}
        paths = {source: files[packed_name(source, files)] for source in inputs_of(one.result)[0]}
    with record_opened() as opened:
        again = repeat(one.result, paths)
    changes = [change for change in changes_between(one.result, again, one.name, paths, TOLERANCE, one.keys) if change]
    if changes:
        raise Incompatible(
            f"{count_text(len(changes), 'value', 'differ')} from the data at hand: {changes[0].place} is "
            f"{changes[0].packed} in the result, and {changes[0].repeated} from the data",
            where=one.file,
            remedy="Name the folder of its data with `data`, compute the result again, or pack it with `unchecked`.",
        )
    inputs = {entry.data: places[entry.data] for entry in packed.inputs}
    return replace(packed, beside=_beside(opened, inputs, places, one.name, notes)) if inputs else packed


def _beside(
    opened: Iterable[str], inputs: dict[str, str], places: dict[str, str], result: str, notes: list[str]
) -> tuple[str, ...]:
    """The names of data entries for files that were read beside the inputs, which go into `places`."""
    real = {os.path.realpath(place) for place in inputs.values()}
    names = []
    for file in opened:
        true = os.path.realpath(file)
        if true in real or _inside(true, real) or _inside(true, {PACKAGE}):
            continue
        for name, place in inputs.items():
            base = os.path.dirname(os.path.abspath(place))
            if _inside(true, {os.path.realpath(base)}):
                inner = os.path.relpath(true, os.path.realpath(base)).replace(os.sep, "/")
                own = "/".join([*name.split("/")[:-1], inner])
                if os.path.realpath(places.setdefault(own, file)) == true:
                    names.append(own)
                    break
        else:
            notes.append(f"{result} reads a file outside the folders of its data, which is not in the pack: {file}.")
    return tuple(dict.fromkeys(names))


def _place_of(source: str, file: str, folder: str | None) -> str | None:
    """Where a source lies: in the folder of data, where the result says, or beside the result."""
    bare = sheet_path(source)[0]
    tried = [bare, os.path.join(os.path.dirname(file), bare)]
    if folder is not None:
        inside = [] if os.path.isabs(bare) else [os.path.join(folder, bare)]
        tried = [*inside, os.path.join(folder, os.path.basename(os.path.normpath(bare))), *tried]
    return next((place for place in tried if os.path.isfile(place) or os.path.isdir(place)), None)


def _plain_name(source: str) -> str:
    """The name of data in the pack: the path itself if it leads downward, else its last part."""
    bare = os.path.normpath(sheet_path(source)[0]).replace(os.sep, "/")
    inside = not (os.path.isabs(bare) or bare.startswith("..") or bare == ".")
    return bare if inside else os.path.basename(os.path.abspath(bare)) or "data"


def _free_name(source: str, taken: set[str]) -> str:
    name, number = _plain_name(source), 2
    while name in taken:
        name, number = f"{number}/{_plain_name(source)}", number + 1
    return name


def _entry(name: str, place: str, include: bool) -> DataEntry:
    check_name(name, place)
    folder = os.path.isdir(place)
    digests = []
    for inner in files_below(place) if folder else [os.path.basename(name)]:
        check_name(inner, place)
        with open_regular(os.path.join(place, inner) if folder else place) as file:
            digests.append(FileDigest(inner, *digest_chunks(read_chunks(file))))
    return DataEntry(name, tuple(digests), folder, include)


def _inside(file: str, folders: Iterable[str]) -> bool:
    real = os.path.realpath(file)
    return any(real.startswith(os.path.join(folder, "")) for folder in folders)


def _task(result: Result) -> str:
    shown: Any = result
    return str(shown[0].task if result.kind == "lineup" else getattr(shown, "task", ""))


def _version(result: Result) -> str:
    shown: Any = result
    if result.kind == "lineup":
        shown = shown[0]
    sources = getattr(shown, "sources", None) or getattr(getattr(shown, "b", None), "sources", None)
    return str(sources.version) if sources is not None else ""


def _software() -> Software:
    return Software(__version__, platform.python_version(), np.__version__, f"{sys.platform} {platform.machine()}")


def _created() -> datetime:
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not re.fullmatch(r"[0-9]{1,11}", text):
        raise InvalidNumber(
            f"'{text[:40]}' is not a number of seconds", where="SOURCE_DATE_EPOCH", remedy="Write seconds since 1970."
        )
    return datetime.fromtimestamp(int(text) if text else int(time.time()), UTC)


def _add_documents(
    sources: dict[str, tuple[Role, str | bytes]], manifest: Manifest, results: dict[str, Result]
) -> None:
    """The test report and the model card, where the folder does not bring its own."""
    line = f"{manifest.created}, {manifest.by or 'author not stated'}"
    for name, (heading, make) in DOCUMENTS.items():
        title = f"{heading}: {manifest.title}" if manifest.title else heading
        own = {ending: sources.pop(f"results/{name}{ending}", None) for ending in (".md", ".html")}
        parts = make(manifest, results)
        written = {".md": documents.as_markdown(title, parts), ".html": documents.as_page(title, line, parts)}
        for ending, brought in own.items():
            if brought is not None:
                sources[f"{name}{ending}"] = ("document", brought[1])
            elif not any(own.values()):
                sources[f"{name}{ending}"] = ("document", written[ending].encode())


@contextmanager
def _opened(content: str | bytes) -> Iterator[Iterator[bytes]]:
    if isinstance(content, bytes):
        yield iter([content])
    else:
        with open_regular(content) as file:
            yield read_chunks(file)


def _write(
    target: str, manifest: Manifest, sources: dict[str, tuple[Role, str | bytes]], created: datetime
) -> Manifest:
    """Write the archive through a temporary file; members are sorted, behind the manifest."""
    members = []
    for name, (role, content) in sorted(sources.items()):
        with _opened(content) as chunks:
            members.append(Member(name, role, *digest_chunks(chunks)))
    manifest = replace(manifest, members=tuple(members))
    when = datetime.fromtimestamp(max(EARLIEST, created.timestamp()), UTC).timetuple()[:6]
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            _add_member(archive, NAME, when, iter([manifest.to_json().encode()]), 0)
            for member in members:
                with _opened(sources[member.name][1]) as chunks:
                    written = _add_member(archive, member.name, when, chunks, member.size)
                if written != (member.size, member.sha256):
                    raise CannotWrite(
                        f"'{member.name}' changed while it was packed",
                        where=target,
                        remedy="Pack again when nothing writes to it.",
                    )
        file.seek(0)
        write_durably(target, read_chunks(file))
    return manifest


def _add_member(archive: zipfile.ZipFile, name: str, when: Any, chunks: Iterator[bytes], size: int) -> tuple[int, str]:
    info = zipfile.ZipInfo(name, when)
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
    with archive.open(info, "w", force_zip64=size > 1 << 30) as out:
        return digest_chunks(_copied(chunks, out))  # type: ignore[arg-type]


def _copied(chunks: Iterator[bytes], out: BinaryIO) -> Iterator[bytes]:
    for chunk in chunks:
        out.write(chunk)
        yield chunk
