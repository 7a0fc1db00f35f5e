"""The manifest of a pack: what the archive holds, where the numbers come from, who made it and when."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from steelyard.core.errors import InputError, InvalidFile, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.io.json import json_text, parse_json
from steelyard.results.forms import At, form_of

if TYPE_CHECKING:
    from zipfile import ZipInfo

FORMAT, VERSION = "steelyard-pack", 1
NAME = "manifest.json"
CHUNK = 1 << 20
LONGEST_NAME = 1000
Role = Literal["result", "page", "document", "file", "data"]


class FileDigest(Frozen):
    """A file: its name with / between folders, its size in bytes, and the SHA-256 of its bytes."""

    name: str
    size: int
    sha256: str


class Member(Frozen):
    """A member of the archive: a result, a page made from one, a document about all, a file, or data."""

    name: str
    role: Role
    size: int
    sha256: str


class DataEntry(Frozen):
    """A file or folder of data by its name below the folder of data.

    `files` are the digests of the bytes; a folder has one for each file, named from the folder. They are empty if the
    data were not at hand when the pack was made: then only the digests of the columns in the results can be checked.
    """

    name: str
    files: tuple[FileDigest, ...]
    folder: bool = False
    included: bool = False


class InputFile(Frozen):
    """What a result calls one of its inputs, and the name of the data entry that it is."""

    source: str
    data: str


class PackedResult(Frozen):
    """A result: its member, what it is, the digest of its contents, and what is needed to compute it again.

    `beside` are data entries that the inputs name themselves, such as the images of a JSON file. `not_repeatable` says
    why it cannot be computed again from data; it is empty if it can.
    """

    member: str
    kind: str
    task: str
    digest: str
    version: str
    inputs: tuple[InputFile, ...] = ()
    beside: tuple[str, ...] = ()
    not_repeatable: str = ""


class Software(Frozen):
    """The versions that made the pack."""

    steelyard: str
    python: str
    numpy: str
    platform: str


class Manifest(Frozen):
    """What a pack holds. `created` is a time in UTC; `delimiter` and `decimal` are how text files are parsed."""

    created: str
    software: Software
    members: tuple[Member, ...]
    results: tuple[PackedResult, ...]
    data: tuple[DataEntry, ...] = ()
    title: str = ""
    purpose: str = ""
    by: str = ""
    delimiter: str | None = None
    decimal: str | None = None
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        """The manifest as JSON text."""
        return json_text({"format": FORMAT, "version": VERSION, **form_of(Manifest).encode(self)})


class _Place(At):
    """A place in a manifest."""

    def key(self, key: str) -> At:
        return _Place(self.source, super().key(key).way)

    def item(self, place: int) -> At:
        return _Place(self.source, super().item(place).way)

    def error(self, what: str) -> InputError:
        return InvalidFile(f"the manifest is broken: {what}", where=self.source, remedy="Make the pack again.")


def parse_manifest(data: bytes, source: str) -> Manifest:
    """The manifest of a pack, checked field by field."""
    where = f"{source}, {NAME}"
    at = _Place(where)
    try:
        values = parse_json(data.decode("utf-8"), where)
    except UnicodeDecodeError:
        raise at.error("it is not UTF-8 text") from None
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise InvalidFile("not a manifest of Steelyard", where=where, remedy="Give a pack of 'steelyard pack'.")
    version = values.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise Unsupported(
            f"the pack has version {version}, and this Steelyard reads version {VERSION}",
            where=where,
            remedy="Install a newer Steelyard.",
        )
    if version != VERSION or isinstance(version, bool):
        raise at.key("version").wrong(version, str(VERSION))
    try:
        manifest: Manifest = form_of(Manifest).decode(values, at)
    except RecursionError:
        raise at.error("it is nested too deeply") from None
    _check_entries(manifest, at)
    return manifest


def _check_entries(manifest: Manifest, at: At) -> None:
    """Refuse names that do not fit together."""
    members = [member.name for member in manifest.members]
    entries = [entry.name for entry in manifest.data]
    for names in (members, entries, [result.member for result in manifest.results]):
        counts = Counter(names)
        if counts and max(counts.values()) > 1:
            raise at.error(f"the name '{counts.most_common(1)[0][0]}' appears twice")
    if NAME in members:
        raise at.error("it lists itself")
    for name in (*members, *entries, *(file.name for entry in manifest.data for file in entry.files)):
        check_name(name, at.source)
    held, known = set(members), set(entries)
    for result in manifest.results:
        if result.member not in held:
            raise at.error(f"the result '{result.member}' is not a member")
        for name in (*(one.data for one in result.inputs), *result.beside):
            if name not in known:
                raise at.error(f"'{name}', which '{result.member}' needs, is not among the data")


def check_name(name: str, source: str) -> None:
    """Refuse a name that leads out of the folder it belongs in, or that some system cannot hold."""
    parts = name.split("/")
    wrong = len(name) > LONGEST_NAME or any(part in ("", ".", "..") for part in parts) or "\\" in name or ":" in name
    if wrong or any(ord(char) < 32 or ord(char) == 127 for char in name):
        raise InvalidFile(
            f"the name {name[:100]!a} is not a plain path inside the pack",
            where=source,
            remedy="Rename the file, and make the pack again.",
        )


def check_member(info: ZipInfo, source: str) -> None:
    """Refuse a member that is not a plain file."""
    check_name(info.filename, source)
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in (0, stat.S_IFREG) or info.is_dir():
        kind = "a link" if mode == stat.S_IFLNK else "a folder" if info.is_dir() else "not a regular file"
        raise InvalidFile(f"the member '{info.filename}' is {kind}", where=source, remedy="Make the pack again.")


def digest_chunks(chunks: Iterator[bytes]) -> tuple[int, str]:
    """The size of a file and the SHA-256 of its bytes."""
    total, size = hashlib.sha256(), 0
    for chunk in chunks:
        total.update(chunk)
        size += len(chunk)
    return size, f"sha256:{total.hexdigest()}"


def read_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, a part at a time."""
    while chunk := file.read(CHUNK):
        yield chunk


def files_below(folder: str) -> list[str]:
    """The files of a folder and of those in it, sorted by name, with / between folders; hidden ones are left out."""
    names_found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if not name.startswith("."):
                names_found.append(os.path.relpath(os.path.join(root, name), folder).replace(os.sep, "/"))
    return sorted(names_found)


def schema() -> dict[str, Any]:
    """The JSON schema of manifests."""
    names: dict[str, Any] = {}
    form_of(Manifest).schema(names)
    body = names.pop("Manifest")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The manifest of an evidence pack of Steelyard",
        **body,
        "required": ["format", "version", *body["required"]],
        "properties": {"format": {"const": FORMAT}, "version": {"const": VERSION}, **body["properties"]},
        "$defs": dict(sorted(names.items())),
    }
