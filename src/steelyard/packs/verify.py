"""Checking a pack: every digest, then every result computed again from its data."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import field
from os import PathLike, fspath
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    InputError,
    InvalidFile,
    MissingData,
    MissingFile,
    OutOfRange,
    TooLarge,
)
from steelyard.core.frozen import Frozen
from steelyard.core.opening import Archive, open_archive, open_regular
from steelyard.io.dialect import csv_dialect
from steelyard.io.json import json_text, parse_json
from steelyard.packs.manifest import (
    CHUNK,
    NAME,
    DataEntry,
    Manifest,
    Member,
    PackedResult,
    check_member,
    digest_chunks,
    files_below,
    parse_manifest,
    read_chunks,
)
from steelyard.packs.repeat import TOLERANCE, Change, at_sheet, changes_between, inputs_of, keys_of, packed_name, repeat
from steelyard.packs.signature import check_signature
from steelyard.results.codec import EDITED, digest_of
from steelyard.results.gate import Gate
from steelyard.results.read import parse_result
from steelyard.results.result import Result
from steelyard.version import __version__

Path = str | PathLike[str]
MOST_MANIFEST = 256 << 20  # bytes: digests of a million files
MOST_CHANGES = 10_000
MOST_SHOWN = 20


class Checked(Frozen):
    """A result of a pack: how many values were compared, which differ, and why it was not computed again if so."""

    member: str
    kind: str
    compared: int = 0
    changed: int = 0
    not_repeated: str = ""
    failed: str = ""

    @property
    def equal(self) -> bool:
        """Whether it was computed again, and every value is the same."""
        return not (self.changed or self.failed or self.not_repeated)


class Verification(Frozen):
    """What `verify` found: `ok` if nothing differs.

    `changes` are the values that differ, `changed_data` the data files whose bytes are not those of the manifest, by
    name with the reason. `signature` says who signed, where a signature was given.
    """

    pack: str
    manifest: Manifest
    results: tuple[Checked, ...]
    changes: tuple[Change, ...] = ()
    changed_data: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing differs: results that cannot be computed again do not count."""
        return not (self.changed_data or any(one.changed or one.failed for one in self.results))

    @property
    def exit_code(self) -> int:
        """Of the command: 0 equal, 1 differs."""
        return 0 if self.ok else 1

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """What was found, as plain values."""
        return {
            "format": "steelyard-verification",
            "version": 1,
            "steelyard": __version__,
            "pack": self.pack,
            "ok": self.ok,
            "created": self.manifest.created,
            "by": self.manifest.by,
            "signature": self.signature,
            "results": [
                {
                    "member": one.member,
                    "kind": one.kind,
                    "compared": one.compared,
                    "changed": one.changed,
                    "not_repeated": one.not_repeated,
                    "failed": one.failed,
                }
                for one in self.results
            ],
            "changes": [
                {"result": one.result, "place": one.place, "packed": one.packed, "repeated": one.repeated}
                for one in self.changes
            ],
            "changed_data": dict(self.changed_data),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """What was found, as JSON text."""
        return json_text(self.to_dict())

    def to_text(self, width: int = 80) -> str:
        """What was found, in lines."""
        made = f"made {self.manifest.created}" + (f" by {self.manifest.by}" if self.manifest.by else "")
        lines = [f"{self.pack}: {count_text(len(self.results), 'result')}, {made}", ""]
        wide = max((len(one.member) for one in self.results), default=0)
        lines += [f"  {one.member.ljust(wide)}  {_outcome(one)}" for one in self.results]
        lines += [f"  data '{name}': {reason}" for name, reason in self.changed_data.items()]
        shown = self.changes[:MOST_SHOWN]
        if shown:
            lines += ["", *(f"  {change}" for change in shown)]
            total = sum(one.changed for one in self.results)
            if total > len(shown):
                lines.append(f"  and {total - len(shown):,} more")
        lines += ["", *([self.signature] if self.signature else []), *self.notes]
        lines.append(self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        again = [one for one in self.results if not one.not_repeated]
        if not self.ok:
            differ = [one.member for one in self.results if one.changed or one.failed]
            parts = [*([f"{count_text(len(differ), 'result')}"] if differ else [])]
            parts += [count_text(len(self.changed_data), "data file")] if self.changed_data else []
            return f"Different: {' and '.join(parts)}."
        if not again:
            return "Every digest matches. No result was computed again."
        left = len(self.results) - len(again)
        more = f" Not computed again: {count_text(left, 'result')}." if left else ""
        return f"Equal: every digest matches, and {count_text(len(again), 'result')} computed again.{more}"

    def __str__(self) -> str:
        return self.to_text()


def _outcome(one: Checked) -> str:
    if one.not_repeated:
        return f"not computed again: {one.not_repeated}"
    if one.failed:
        return f"cannot be computed again: {one.failed}"
    if one.changed:
        return f"differs in {one.changed:,} of {count_text(one.compared, 'value')}"
    return f"equal: {count_text(one.compared, 'value')}"


def verify(
    pack: Path,
    *,
    data: Path | None = None,
    digests_only: bool = False,
    signature: Path | None = None,
    signers: Path | None = None,
    tolerance: float = TOLERANCE,
) -> Verification:
    """Check an evidence pack: every digest, then every result computed again from its data.

    `data` is the folder of the data, where the pack does not hold them. `digests_only` computes nothing. `signature`
    is a detached signature of the pack by ssh-keygen or gpg, and `signers` the file of those who may sign: allowed
    signers of ssh-keygen, or public keys of gpg. Numbers are equal if they differ by at most `tolerance` of their size:
    the last digits of sums differ between machines.

    A pack that is damaged, or was not made by `pack`, raises InputError.
    """
    if not 0 <= tolerance < 1:
        raise OutOfRange(f"a tolerance of {tolerance:g} is out of range", remedy="Choose from 0 to 1, such as 1e-9.")
    source = fspath(pack)
    signed = "" if signature is None else check_signature(source, fspath(signature), _text(signers))
    with ExitStack() as stack:
        archive = stack.enter_context(open_archive(source))
        manifest = _read_manifest(archive, source)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        results = _check_members(archive, manifest, source, folder, unpack_data=data is None and not digests_only)
        if digests_only:
            checked = [
                Checked(one.member, one.kind, not_repeated="only digests are checked") for one in manifest.results
            ]
            return Verification(source, manifest, tuple(checked), signature=signed, notes=_version_notes(manifest))
        return _repeat_all(source, manifest, results, folder, _text(data), signed, tolerance)


def _text(path: Path | None) -> str | None:
    return None if path is None else fspath(path)


def _read_manifest(archive: Archive, source: str) -> Manifest:
    if NAME not in archive.members:
        raise InvalidFile(f"there is no {NAME}", where=source, remedy="Give a pack of 'steelyard pack'.")
    check_member(archive.members[NAME], source)
    if archive.members[NAME].file_size > MOST_MANIFEST:
        raise TooLarge(f"{NAME} is larger than {MOST_MANIFEST >> 20} MB", where=source, remedy="Make the pack again.")
    return parse_manifest(archive.read(NAME), source)


def _check_members(
    archive: Archive, manifest: Manifest, source: str, folder: str, *, unpack_data: bool
) -> dict[str, str]:
    """Check that the archive holds what the manifest lists, and nothing else; results and data go into a folder.

    Returns where results lie, by member.
    """
    for info in archive.members.values():
        check_member(info, source)
    listed = {member.name: member for member in manifest.members}
    for name in archive.members:
        if name != NAME and name not in listed:
            raise InvalidFile(
                f"the member '{name}' is not in the manifest", where=source, remedy="Make the pack again."
            )
    places = {}
    for name, member in listed.items():
        if name not in archive.members:
            raise InvalidFile(f"the member '{name}' is missing", where=source, remedy="Copy the pack again.")
        wanted = member.role == "result" or (member.role == "data" and unpack_data)
        place = os.path.join(folder, *name.split("/")) if wanted else None
        _check_one(archive, member, source, place)
        if member.role == "result" and place is not None:
            places[name] = place
    for result in manifest.results:
        if listed[result.member].role != "result":
            raise InvalidFile(
                f"the member '{result.member}' is not a result", where=source, remedy="Make the pack again."
            )
    return places


def _check_one(archive: Archive, member: Member, source: str, place: str | None) -> None:
    if archive.members[member.name].file_size != member.size:
        raise _wrong_digest(member, source)
    if place is None:
        digest = digest_chunks(archive.chunks(member.name, CHUNK))
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb") as out:
            digest = digest_chunks(_written(archive.chunks(member.name, CHUNK), out))
    if digest != (member.size, member.sha256):
        raise _wrong_digest(member, source)


def _written(chunks: Iterator[bytes], out: Any) -> Iterator[bytes]:
    for chunk in chunks:
        out.write(chunk)
        yield chunk


def _wrong_digest(member: Member, source: str) -> InputError:
    return InvalidFile(
        f"the member '{member.name}' does not match its digest in the manifest",
        where=source,
        remedy="The pack was changed or damaged: do not use it.",
    )


def _repeat_all(
    source: str,
    manifest: Manifest,
    results: Mapping[str, str],
    folder: str,
    data: str | None,
    signed: str,
    tolerance: float,
) -> Verification:
    needed = {
        name
        for result in manifest.results
        if not result.not_repeatable
        for name in (*(one.data for one in result.inputs), *result.beside)
    }
    entries = {entry.name: entry for entry in manifest.data if entry.name in needed}
    places = {name: _place(entry, folder, data, source) for name, entry in entries.items()}
    changed_data: dict[str, str] = {}
    if data is not None:
        for name, entry in entries.items():
            changed_data |= _changed_files(entry, places[name])
    gates = {one.member for one in manifest.results if one.kind == Gate.kind}
    gated = {name: place for name, place in results.items() if name not in gates}
    checked, changes = [], list[Change]()
    with csv_dialect(manifest.delimiter, manifest.decimal):
        for packed in manifest.results:
            paths = {one.source: at_sheet(places[one.data], one.source) for one in packed.inputs}
            one, own = _check_result(packed, results[packed.member], paths, gated, source, tolerance)
            checked.append(one)
            changes += own[: MOST_CHANGES - len(changes)]
    notes = _version_notes(manifest)
    return Verification(source, manifest, tuple(checked), tuple(changes), changed_data, signed, notes)


def _version_notes(manifest: Manifest) -> tuple[str, ...]:
    versions = sorted({one.version for one in manifest.results if one.version and one.version != __version__})
    if not versions:
        return ()
    return (f"Results were computed by Steelyard {', '.join(versions)}; this is {__version__}: numbers may differ.",)


def _place(entry: DataEntry, folder: str, data: str | None, source: str) -> str:
    """Where data lie: in the folder that was given, else unpacked."""
    if data is None:
        if not entry.included:
            raise MissingData(
                f"the data '{entry.name}' are not in the pack",
                where=source,
                remedy="Give their folder as `data`, or check only digests with `digests_only`.",
            )
        place = os.path.join(folder, "data", *entry.name.split("/"))
        if not os.path.exists(place):
            raise InvalidFile(f"the data '{entry.name}' are missing", where=source, remedy="Make the pack again.")
        return place
    tried = [os.path.join(data, *entry.name.split("/")), os.path.join(data, entry.name.rpartition("/")[2])]
    place = next((place for place in tried if os.path.exists(place)), "")
    if not place:
        raise MissingFile(f"there is no '{entry.name}', which results need", where=data, remedy="Check the folder.")
    return place


def _changed_files(entry: DataEntry, place: str) -> dict[str, str]:
    """The files of an entry that are not as the manifest says, with the reason."""
    changed: dict[str, str] = {}
    if entry.files and os.path.isdir(place) != entry.folder:
        return {entry.name: "a folder and a file were exchanged"}
    for file in entry.files:
        name = f"{entry.name}/{file.name}" if entry.folder else entry.name
        path = os.path.join(place, *file.name.split("/")) if entry.folder else place
        if not os.path.exists(path):
            changed[name] = "is missing"
            continue
        with open_regular(path) as opened:
            if digest_chunks(read_chunks(opened)) != (file.size, file.sha256):
                changed[name] = "was changed: its bytes do not match the digest in the manifest"
    if entry.folder and entry.files:
        new = set(files_below(place)) - {file.name for file in entry.files}
        changed |= {f"{entry.name}/{name}": "is new" for name in sorted(new)}
    return changed


def _check_result(
    packed: PackedResult, place: str, paths: dict[str, str], gated: Mapping[str, str], source: str, tolerance: float
) -> tuple[Checked, list[Change]]:
    where = f"{source}, {packed.member}"
    with open_regular(place, where) as file:
        values = parse_json(file.read().decode("utf-8", "replace"), where)
    result = parse_result(values, where)
    changes: list[Change] = []
    if EDITED in result.notes or digest_of(values) != packed.digest:
        own = str(values.get("digest", "none"))
        changes.append(Change(packed.member, "digest", own, digest_of(values)))
    if packed.not_repeatable:
        return Checked(packed.member, packed.kind, 0, len(changes), packed.not_repeatable), changes
    if isinstance(result, Gate):
        paths |= {name: gated[own] for name in inputs_of(result)[0] if (own := packed_name(name, gated))}
    elif set(inputs_of(result)[0]) - set(paths):
        raise InvalidFile(f"the manifest lacks data of '{packed.member}'", where=source, remedy="Make the pack again.")
    try:
        again: Result = repeat(result, paths)
    except InputError as error:
        return Checked(packed.member, packed.kind, 0, len(changes), failed=_plain(str(error), paths)), changes
    except KeyError:  # a gate names a result that the pack lacks
        reason = "it names a result that is not in the pack"
        return Checked(packed.member, packed.kind, 0, len(changes), failed=reason), changes
    compared = 0
    differing = len(changes)
    for change in changes_between(result, again, packed.member, paths, tolerance, keys_of(values)):
        compared += 1
        if change is not None:
            differing += 1
            if len(changes) < MOST_CHANGES:
                changes.append(change)
    return Checked(packed.member, packed.kind, compared, differing), changes


def _plain(text: str, paths: Mapping[str, str]) -> str:
    for name, path in paths.items():
        text = text.replace(path, name)
    return text


__all__ = ["Checked", "Verification", "verify"]
