"""The journal: every reading that was paid for, on disk before the next is counted done.

One line per reading, only ever appended. The line begins with the key and its state at fixed places, so that a journal
of a million readings is resumed by looking at the first bytes of each line. A line that a crash left torn is dropped
when the journal is next opened for writing. Prompts are kept once, under their hash: the journal alone tells whole
conversations.

The key hashes the model's fingerprint, the rendered prompt, the follow-up, the settings and the picture's bytes:
whatever changes, an old answer is never taken for a new one. No key, token or header of a server is ever written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from steelyard.core.errors import CannotWrite, InputError, InvalidResult, MissingFile, UnreadableFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import open_regular
from steelyard.vlm.ordinary import reason

NAME = "journal.jsonl"
MOST_LINE = 64 << 20  # bytes; two answers of the most that is read from a server, escaped, are below
# A FIFO in its place must not hold the run up before it is known for one.
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_START = b'{"key":"'
_KEY = slice(8, 40)
_STATE = slice(51, 52)  # behind `","state":"`
_TEXT = b'{"text":"'
_SHORT = json.JSONEncoder(separators=(",", ":")).encode  # made once: they are called for every reading
_IN_ORDER = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def text_digest(text: str) -> str:
    """The hash that a text is kept under."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def reading_key(fingerprint: str, prompt: str, follow_up: str, settings: Mapping[str, Any], image: str) -> str:
    """The key of a reading: 32 hexadecimal digits."""
    parts = _IN_ORDER([fingerprint, prompt, follow_up, dict(settings), image])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


class Turn(Frozen):
    """One question and its reply. `error` says why there is none.

    `refused` is not written down: it says that the server will not answer such a question.
    """

    ask: str
    reply: str
    finish: str = "stop"
    usage: Mapping[str, int] | None = None
    latency: float = 0.0
    attempts: int = 1
    error: str = ""
    refused: bool = False


class JournalEntry(Frozen):
    """A conversation about one picture: what was asked and what came back."""

    key: str
    model: str
    prompt: str
    image: str
    turns: tuple[Turn, ...]

    @property
    def pictures(self) -> int:
        """How many pictures were shown: `image` has the digest of each."""
        return 1 + self.image.count("+")

    @property
    def error(self) -> str:
        """Why the reading failed; empty where it did not."""
        return self.turns[-1].error if self.turns else "nothing was asked"

    def line(self) -> bytes:
        """The reading as a line of the journal."""
        turns = []
        for turn in self.turns:
            data: dict[str, Any] = {"ask": text_digest(turn.ask), "reply": turn.reply, "finish": turn.finish}
            data |= {"usage": dict(turn.usage or {}), "latency": round(turn.latency, 4), "attempts": turn.attempts}
            turns.append(data | ({"error": turn.error} if turn.error else {}))
        state = "failed" if self.error else "done"
        data = {"key": self.key, "state": state, "model": self.model, "prompt": self.prompt, "image": self.image}
        return _SHORT(data | {"turns": turns}).encode() + b"\n"


class Journal:
    """A journal open for appending. `done` holds the keys that need no asking."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, _FLAGS, 0o644)
        except (OSError, ValueError) as error:
            raise UnreadableFile(f"the journal cannot be opened: {reason(error)}", where=str(self.path)) from None
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UnreadableFile(
                    "the journal is not a regular file", where=str(self.path), remedy="Give another folder."
                )
            _lock(self._file, self.path)
            self.dropped = _drop_torn_line(self._file)
            self.done, self._texts = _index(self.path)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, readings: Iterable[JournalEntry]) -> None:
        """Write readings and bring them to disk; only then do they count as done. A full disk leaves none by half."""
        lines = []
        texts: set[str] = set()
        readings = list(readings)
        for reading in readings:
            for turn in reading.turns:
                digest = text_digest(turn.ask)
                if digest not in self._texts and digest not in texts:
                    texts.add(digest)
                    lines.append(json.dumps({"text": digest, "body": turn.ask}, separators=(",", ":")).encode() + b"\n")
            lines.append(reading.line())
        data = memoryview(b"".join(lines))
        size = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # what stays is cut off when the journal is next opened
                os.ftruncate(self._file, size)
            remedy = "What was read before is kept; make room and run the same command again."
            raise CannotWrite(
                f"the journal cannot be written: {reason(error)}", where=str(self.path), remedy=remedy
            ) from None
        self._texts |= texts
        self.done.update(reading.key.encode() for reading in readings if not reading.error)

    def close(self) -> None:
        """Close the file, and let another run have it."""
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_journal(
    folder: Path, wanted: Sequence[str] | None = None, seen: Callable[[JournalEntry], None] | None = None
) -> dict[str, JournalEntry]:
    """Readings by key: the last one that is done, else the last that failed. A torn last line is passed over.

    `seen` is called with every reading of the journal, also of keys that are not wanted.
    """
    readings: dict[str, JournalEntry] = {}
    keep = None if wanted is None else set(wanted)
    for reading in every_reading(folder):
        if seen is not None:
            seen(reading)
        if keep is not None and reading.key not in keep:
            continue
        if reading.key not in readings or not reading.error or readings[reading.key].error:
            readings[reading.key] = reading
    return readings


def every_reading(folder: Path) -> Iterator[JournalEntry]:
    """Every reading that was ever written, also what failed and was asked again."""
    path = folder / NAME
    if not path.exists():
        raise MissingFile("there is no journal", where=str(folder), remedy="Give the folder of 'steelyard vlm run'.")
    if not path.is_file():
        raise UnreadableFile("the journal is not a regular file", where=str(path))
    texts: dict[str, str] = {}
    for number, line in _lines(path):
        if line.startswith(_TEXT):
            data = _decode(line, path, number)
            if not isinstance(data.get("text"), str) or not isinstance(data.get("body"), str):
                raise _damaged_line(path, number, "it holds no text")
            texts[data["text"]] = data["body"]
        else:
            yield _reading(_decode(line, path, number), texts, path, number)


def _reading(data: dict[str, Any], texts: Mapping[str, str], path: Path, number: int) -> JournalEntry:
    try:
        key, model, prompt, image = names = [data["key"], data["model"], data["prompt"], data["image"]]
        if not all(isinstance(name, str) for name in names):
            raise _damaged_line(path, number, "a name is not text")
        return JournalEntry(key, model, prompt, image, tuple(_turn(t, texts, path, number) for t in data["turns"]))
    except KeyError as error:
        raise _damaged_line(path, number, f"{error} is missing") from None
    except (TypeError, AttributeError):
        raise _damaged_line(path, number, "its turns are malformed") from None


def _turn(data: dict[str, Any], texts: Mapping[str, str], path: Path, number: int) -> Turn:
    reply_texts = [data["reply"], data["finish"], data.get("error", ""), data["ask"]]
    counted = [data["latency"], data["attempts"]]
    plain = all(isinstance(v, str) for v in reply_texts) and all(isinstance(v, int | float) for v in counted)
    if not plain or not isinstance(data["usage"], dict):
        raise _damaged_line(path, number, "a turn holds values of another kind")
    reply, finish, error = (text.encode("utf-8", "replace").decode() for text in reply_texts[:3])  # no half of a pair
    return Turn(texts.get(reply_texts[3], ""), reply, finish, data["usage"], counted[0], counted[1], error)


def _decode(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(line)  # it begins with a brace: see `_lines`
    except (ValueError, RecursionError) as error:
        raise _damaged_line(path, number, str(error)) from None
    return data


def _damaged_line(path: Path, number: int, why: str) -> InputError:
    remedy = "Remove that line; its reading will be asked again."
    return InvalidResult(f"the line is damaged ({why})", where=f"{path}, line {number}", remedy=remedy)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with open_regular(path) as file:
        for number, line in _bounded_lines(file, path):
            if not line.endswith(b"\n"):
                return
            if not line.startswith((_START, _TEXT)):
                raise _damaged_line(path, number, "it begins like no reading")
            yield number, line


def _bounded_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; none is longer than any that a run writes, so that a file cannot fill the memory."""
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), 1):
        if len(line) > MOST_LINE:
            raise _damaged_line(path, number, f"it is longer than {MOST_LINE >> 20} MB")
        yield number, line


def _index(path: Path) -> tuple[set[bytes], set[str]]:
    """Keys that are done and texts that are kept, by the first bytes of each line."""
    done: set[bytes] = set()
    texts: set[str] = set()
    with open_regular(path) as file:
        for number, line in _bounded_lines(file, path):
            if line.startswith(_START):
                if line[_STATE] == b"d":
                    done.add(line[_KEY])
            elif line.startswith(_TEXT):
                texts.add(line[9:25].decode("ascii", "replace"))
            else:
                raise _damaged_line(path, number, "it begins like no reading")
    return done, texts


def _drop_torn_line(file: int) -> int:
    """Cut off what stands behind the last line end; how many bytes that were."""
    size = os.fstat(file).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        block = os.pread(file, end - start, start) if hasattr(os, "pread") else _read_at(file, start, end - start)
        place = block.rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
    return size - end


def _read_at(file: int, start: int, size: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, size)


def _lock(file: int, path: Path) -> None:
    """One run at a time writes a journal. Where the system has no such lock, nothing is checked."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        remedy = "Wait for it to end, or give another folder."
        raise CannotWrite("another run is writing this journal", where=str(path), remedy=remedy) from None
