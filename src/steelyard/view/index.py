"""The files of a folder as a list shows them: the head of each is read once, and again when the file has changed.

The head of a result: what a list shows of it, without the rest of a file that may hold megabytes.

A result says first what it is, what was asked for and what came out; slices and details stand last. Here the members
are read one by one until nothing more is wanted.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from os import stat_result
from threading import Lock
from typing import Any

from steelyard.core.errors import SteelyardError
from steelyard.io.json import parse_json
from steelyard.view.entry import Entry, entry_of
from steelyard.view.folder import Folder, Outside

HEAD_BYTES = 64 << 10
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_WANTED = {
    "report": {"request", "task_facts", "scores", "sources"},
    "comparison": {"task_facts", "a", "b", "differences"},
}


class NoHead(Exception):
    """The text is not the head of a result: truncated, or something else."""


def head_of(text: str) -> tuple[str, dict[str, Any]]:
    """The kind of a result and the members of its body that a list shows; all of them for kinds that are short."""
    try:
        top = _members(text, _skip(text, 0), {"format", "version", "kind"})
        at = top.pop("", None)
        if (top.get("format"), top.get("version")) != ("steelyard", 2) or at is None:
            raise NoHead
        kind = top["kind"]
        body = _members(text, at, _WANTED[kind]) if kind in _WANTED else _DECODER.raw_decode(text, at)[0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise NoHead from None
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise NoHead
    return kind, body


def _members(text: str, at: int, wanted: set[str]) -> dict[str, Any]:
    """Members of the object that begins there, until all that are wanted are read; "" is where a body begins."""
    if text[at] != "{":
        raise NoHead
    members: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":" or not isinstance(key, str):
            raise NoHead
        at = _skip(text, at + 1)
        if key == "body" and "kind" in wanted:
            return {**members, "": at}
        value, at = _DECODER.raw_decode(text, at)
        if key in wanted:
            members[key] = value
            if len(members) == len(wanted) and "kind" not in wanted:
                return members
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise NoHead
    return members


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


MOST_BYTES = 256 << 20
MOST_RUNS, MOST_FOREIGN = 10_000, 10_000
_OURS = re.compile(rb'"format":\s*"steelyard"|"schema":\s*"steelyard/(report|comparison|lineup|vlm-score|gate)/')
_CHECK = re.compile(rb'"schema":\s*"steelyard/(check|conversion)/')
_BROKEN = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


def run_id(name: str) -> str:
    """What a file is known by in addresses: no path ever stands there."""
    return hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]


@dataclass
class Index:
    """The entries of a folder."""

    folder: Folder
    _known: dict[str, tuple[tuple[int, int, int], Entry]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def entries(self) -> list[Entry]:
        """Every JSON file in the order of the names: results, those that cannot be read, and what is none."""
        entries, seen = [], {False: 0, True: 0}
        before, current = self._known, {}
        for name, about in self.folder.entries(".json"):  # no lock is held while files are read
            stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
            held = before.get(name)
            if held is None or held[0] != stamp:
                held = stamp, self._read(name, about)
            current[name] = held
            seen[held[1].foreign] += 1
            if seen[held[1].foreign] <= (MOST_FOREIGN if held[1].foreign else MOST_RUNS):
                entries.append(held[1])
        with self._lock:
            for name, held in self._known.items():  # a file may have been marked meanwhile
                if held is not before.get(name) and name in current and current[name][0] == held[0]:
                    current[name] = held
            self._known = current
        return entries

    def name_of(self, run: str) -> str | None:
        """The name of the file with that id."""
        for name, (_, entry) in list(self._known.items()):
            if entry.id == run:
                return name
        return next((entry.name for entry in self.entries() if entry.id == run), None)

    def mark(self, name: str, problem: str) -> None:
        """Remember what was wrong with a file when it was opened: its head alone did not show it."""
        with self._lock:
            if name in self._known:
                stamp, entry = self._known[name]
                file = Entry(entry.id, entry.name, entry.changed, date=entry.changed)
                self._known = {**self._known, name: (stamp, replace(file, problem=problem))}

    def _read(self, name: str, about: stat_result) -> Entry:
        file = Entry(run_id(name), name, about.st_mtime, date=about.st_mtime)
        try:
            head = self.folder.head(name, HEAD_BYTES)
        except Outside:
            return replace(file, problem=f"{name}: it cannot be read")
        if not _OURS.search(head, 0, 200):
            what = "not a result of Steelyard"
            if (other := _CHECK.search(head, 0, 400)) is not None:
                what = f"what 'steelyard {'check' if other[1] == b'check' else 'convert'}' found, and no result"
            return replace(file, foreign=True, problem=f"It is {what}.")
        if about.st_size > MOST_BYTES:
            return replace(file, problem=f"{name}: larger than {MOST_BYTES >> 20} MB")
        try:
            whole = about.st_size <= len(head)
            if whole and not head.rstrip().endswith(b"}"):
                raise NoHead
            return entry_of(file, *head_of(head.decode("utf-8", "strict" if whole else "ignore")))
        except (NoHead, *_BROKEN):
            return self._read_whole(file, name)

    def _read_whole(self, file: Entry, name: str) -> Entry:
        """An entry from all of a file, or what is wrong with it."""
        try:
            data, problem = load(self.folder, name)
            if problem:
                return replace(file, problem=problem)
            return entry_of(file, data["kind"], data["body"])
        except Exception as error:  # whatever one file holds, the others are shown
            return replace(file, problem=f"{name}: it cannot be read ({type(error).__name__})")


def is_result(folder: Folder, name: str) -> bool:
    """Whether a file says in its first bytes that it is a result."""
    try:
        return bool(_OURS.search(folder.head(name, 200)))
    except Outside:
        return False


def load(folder: Folder, name: str) -> tuple[Any, str]:
    """What the JSON of a result says, and what is wrong with it where something is."""
    from steelyard.results.read import parse_result  # only for what a head does not tell

    try:
        data = parse_json(folder.read(name, MOST_BYTES).decode("utf-8-sig"), name)
        parse_result(data, name)
        return data, ""
    except Outside as error:
        why = f"larger than {MOST_BYTES >> 20} MB" if str(error) == "too large" else "it cannot be read"
        return None, f"{name}: {why}"
    except UnicodeDecodeError:
        return None, f"{name}: is not UTF-8 text"
    except SteelyardError as error:
        return None, str(error)
    except Exception as error:  # whatever one file holds, the others are shown
        return None, f"{name}: it cannot be read ({type(error).__name__})"
