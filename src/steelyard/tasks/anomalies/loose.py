"""Scores of images as they were read, which are counted as they are and packed only when a state needs the bytes.

Sorting and packing takes several times as long as counting, and most states are only counted: they are neither saved
nor merged. The scores lie in memory, or from `SPOOL` bytes on in a temporary file, so files and arrays may change
meanwhile.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.rows import RowTable
from steelyard.maps.each import for_each

SPOOL = 32 << 20  # bytes of scores in memory
PACKED_SPOOL = 256 << 20  # bytes of packed scores in memory
MOST_LOOSE = 4 << 30  # bytes of scores that are kept as they are; those of later images are packed at once
AT_ONCE = 32  # images that are packed between two writes
NO_SKIP = np.zeros(0, np.uint8)


class Store:
    """Arrays by number: in memory, and from some size on in a temporary file. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: list[tuple[int, int, np.dtype[Any]]] = []
        self._memory: dict[int, Array] = {}
        self._file: Any = None
        self._held = 0
        self.size = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, array: Array) -> int:
        """Keep an array, and return its number."""
        with self._lock:
            number = len(self._places)
            self._places.append((self.size, array.size, array.dtype))
            self._memory[number] = array
            self._held += array.nbytes
            self.size += array.nbytes
            if self._held > SPOOL:
                self._write()
            return number

    def _write(self) -> None:
        self._file = self._file or _temporary_file()
        self._file.seek(0, 2)
        for array in self._memory.values():
            self._file.write(array.view(np.uint8).data)
        self._memory, self._held = {}, 0

    def get(self, number: int) -> Array:
        """The array with a number."""
        with self._lock:
            if number in self._memory:
                return self._memory[number]
            place, size, dtype = self._places[number]
            array: Array = np.empty(size, dtype)
            self._file.seek(place)
            self._file.readinto(array.view(np.uint8).data)
            return array


class LooseImage(Frozen):
    """An image: what its header says, its regions (and their union) packed, and the number of its normal scores."""

    facts: Mapping[str, Any]
    sets: Sequence[bytes]
    normal: int


class LooseTable(RowTable):
    """A table of packed scores that are packed when they are first asked for."""

    images: Sequence[LooseImage | None]  # type: ignore[misc]
    store: Store  # type: ignore[misc]

    def __init__(self, need: Any, ids: Array, images: Sequence[LooseImage | None], store: Store) -> None:
        self.__dict__.update(need=need, ids=ids, images=images, store=store, done=None)

    def __reduce__(self) -> Any:
        return RowTable, (self.need, self.ids, self.begin, self.columns)

    @cached_property
    def _packed(self) -> tuple[Array, Array]:
        spool = _Spool(len(self.images))
        for start in range(0, len(self.images), AT_ONCE):
            part = self.images[start : start + AT_ONCE]
            for i, packed in enumerate(for_each(len(part), lambda i, part=part: self._pack(part[i]))):  # type: ignore[misc]
                spool.add(start + i, packed)
        return spool.finish()

    @cached_property  # type: ignore[misc]
    def begin(self) -> Array:
        """Where the bytes of each unit begin."""
        return self._packed[1]

    @cached_property  # type: ignore[misc]
    def columns(self) -> Mapping[str, Array]:
        """The packed bytes of all units."""
        return {"data": self._packed[0]}

    def _pack(self, image: LooseImage | None) -> bytes:
        """A header in JSON, behind its length in four bytes, and then the packed sets: normal, regions, their union."""
        if image is None:
            return b""
        sets = [self.packed_normal(image).tobytes(), *image.sets]
        text = json.dumps({**image.facts, "sets": [len(packed) for packed in sets]}).encode()
        return len(text).to_bytes(4, "little") + text + b"".join(sets)

    def packed_normal(self, image: LooseImage) -> Array:
        """The scores of the normal pixels of an image, packed."""
        scores = self.store.get(image.normal)
        return scores if scores.dtype == np.uint8 else np.frombuffer(_native.pack_scores(scores, NO_SKIP), np.uint8)


def keep_scores(store: Store, scores: Array, skip: Array) -> int:
    """Keep the scores that are not skipped: as they are, or packed where they have few values. Their number."""
    if scores.dtype in (np.float32, np.float64) and store.size + scores.nbytes <= MOST_LOOSE:
        return store.add(scores[skip == 0] if len(skip) else scores)
    return store.add(np.frombuffer(_native.pack_scores(scores, np.ascontiguousarray(skip)), np.uint8))


class _Spool:
    """Bytes of units that come in order: in memory, and from some size on in a temporary file."""

    def __init__(self, units: int) -> None:
        self.sizes = np.zeros(units, dtype=np.int64)
        self.parts: list[bytes] = []
        self.held = 0
        self.file: Any = None

    def add(self, unit: int, packed: bytes) -> None:
        self.sizes[unit] = len(packed)
        self.parts.append(packed)
        self.held += len(packed)
        if self.held > PACKED_SPOOL:
            self.file = self.file or _temporary_file()
            self.file.write(b"".join(self.parts))
            self.parts, self.held = [], 0

    def finish(self) -> tuple[Array, Array]:
        begin = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        if self.file is None:
            return np.frombuffer(b"".join(self.parts), dtype=np.uint8), begin
        with self.file:  # the array maps the file, which therefore lasts as long as the array
            self.file.write(b"".join(self.parts))
            self.file.flush()
            data: Array = np.memmap(self.file, dtype=np.uint8, mode="r", shape=(int(begin[-1]),))
        return data, begin


def _temporary_file() -> Any:
    """A file without a name, which lives as long as what holds it."""
    return tempfile.TemporaryFile()
