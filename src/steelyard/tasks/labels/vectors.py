"""Vectors of faces, voices or fingers, and the scores of their pairs.

Pairs are those of a list, of a list of templates, or all pairs of images (`pairing=all`), which are computed block by
block. Scores are rounded to a multiple of a power of two, far below what a vector can tell, so that equal vectors have
equal scores on every machine, whether a pair comes from a list or from a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import field
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core import ranking
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    Incompatible,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    MissingKey,
    OutOfRange,
    ShapeMismatch,
    UnknownName,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.plain import to_numpy
from steelyard.core.records import Records, as_object
from steelyard.io.digest import digest
from steelyard.maps.arrays import array_names, numpy_file

VECTOR = "vector"
KEYS = ("image", "template", "media")
ARRAYS = (VECTOR, *KEYS)
SIDES = {"image": ("a", "b"), "template": ("template_a", "template_b")}  # columns of a list of pairs
LARGEST = 1e100
BITS = 40  # of a score, below the power of two above all scores
ROOM = 1 << 22  # elements that are multiplied at a time


class Vectors(Frozen):
    """A matrix with a vector in each row, and the names of its rows: images or templates; None where there are none."""

    source: str
    values: Array
    key: str = "image"
    names: Array | None = None

    def __len__(self) -> int:
        return len(self.values)


class ManyPairs(Records):
    """All pairs of images, too many to list: `person` is the place of each image's person among `people`.

    There are no rows, so columns are empty.
    """

    people: Array = field(default_factory=lambda: np.zeros(0, dtype=object))
    person: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.person) * (len(self.person) - 1) // 2

    def digest(self) -> str:
        """A hash of the people of all images."""
        return digest(Records(self.source, {"person": self.people[self.person]}))


class UnlistedScores(Records):
    """Scores of all pairs of images, too many to list: `scorer` gives them."""

    scorer: Scorer | None = None

    def digest(self) -> str:
        """A hash of what scores are made of."""
        return digest(Records(self.source, {} if self.scorer is None else {"vector": self.scorer.values.ravel()}))


class AllPairs(Records):
    """All pairs of images: `people` are the distinct people, and `owners` the two of each pair."""

    people: Array = field(default_factory=lambda: np.zeros(0, dtype=object))
    owners: tuple[Array, Array] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))


def is_vectors(data: Any) -> bool:
    """Whether data are vectors rather than a table."""
    if is_arrays(data):
        return not {"label", "labels", "score", "probability"} & {n.partition(":")[0] for n in array_names(str(data))}
    return isinstance(data, Mapping) and VECTOR in data


def is_arrays(data: Any) -> bool:
    """Whether data are a file of NumPy's arrays."""
    return isinstance(data, str | PathLike) and str(data).lower().endswith(".npz")


def read_npz(path: str, known: tuple[str, ...] = ()) -> dict[str, Array]:
    """All arrays of a file that NumPy wrote, or those that are known."""
    return {name: numpy_file(path, name) for name in array_names(path) if not known or name in known}


def read_vectors(data: Any) -> Vectors:
    """Vectors of a `.npz` file or a mapping, checked; those of a template become one."""
    source = "predictions"
    if isinstance(data, str | PathLike):
        source = str(data)
        names = array_names(source)
        data = dict.fromkeys(names) | read_npz(source, ARRAYS)
    if VECTOR not in data:
        has = ", ".join(f"'{name}'" for name in data) or "none"
        raise MissingKey(
            f"there is no array '{VECTOR}'; the arrays are {has}",
            where=source,
            remedy=f"Call vectors '{VECTOR}', and other predictions 'label', 'score' or 'probability'.",
        )
    for name in map(str, data):
        if name not in ARRAYS:
            raise UnknownName(f"there is no array '{name}' among vectors", where=source, remedy=nearest(name, ARRAYS))
    values = _matrix(data[VECTOR], source)
    keys = {name: _names(data[name], name, len(values), source) for name in KEYS if name in data}
    if "template" in keys:
        template, sums = templates(values, keys["template"], keys.get("media"))
        return Vectors(source, sums, "template", template)
    if "media" in keys:
        raise MissingKey("there is 'media' and no 'template'", where=source, remedy="Give both, or neither.")
    if "image" in keys:
        distinct, count = np.unique(keys["image"], return_counts=True)
        if len(distinct) < len(values):
            name = distinct[np.argmax(count > 1)]
            raise DuplicateKey(f"image '{name}' has {count.max()} vectors", where=source, remedy="Keep one of them.")
    return Vectors(source, values, "image", keys.get("image"))


def _matrix(given: Any, source: str) -> Array:
    values = np.asarray(to_numpy(given))
    if values.ndim != 2 or values.shape[1] == 0 or values.dtype.kind not in "fiu":
        raise ShapeMismatch(
            f"array '{VECTOR}' has shape {values.shape} and type {values.dtype}",
            where=source,
            remedy="Vectors are a matrix of numbers, one per row.",
        )
    values = np.ascontiguousarray(values, dtype=np.float64)
    for row in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1].tolist():
        raise InvalidNumber("a vector holds a number that is not finite", where=f"{source}, '{VECTOR}', row {row}")
    for row in np.flatnonzero((np.abs(values) > LARGEST).any(axis=1))[:1].tolist():
        raise OutOfRange(f"a vector holds a number beyond {LARGEST:g}", where=f"{source}, '{VECTOR}', row {row}")
    return values


def _names(given: Any, name: str, rows: int, source: str) -> Array:
    values = np.asarray(to_numpy(given))
    if values.ndim != 1 or len(values) != rows:
        raise Incompatible(
            f"array '{name}' has shape {values.shape}, and there are {rows} vectors",
            where=source,
            remedy="Give one value per vector.",
        )
    return as_object([str(value).strip() for value in values.tolist()])


def templates(values: Array, template: Array, media: Array | None) -> tuple[Array, Array]:
    """A vector for each template: the sum over media of the mean of their images.

    Images are not normalised before, as in insightface's script for IJB.
    """
    names, owner = np.unique(template, return_inverse=True)
    if media is None:
        part_owner, part = owner, np.arange(len(owner))
    else:
        _, medium = np.unique(media, return_inverse=True)
        pairs, part = np.unique(owner * np.int64(len(media)) + medium, return_inverse=True)
        part_owner = pairs // len(media)
    many = len(part_owner)
    count = np.bincount(part, minlength=many)
    means, sums = np.zeros((many, values.shape[1])), np.zeros((len(names), values.shape[1]))
    np.add.at(means, part, values)
    np.add.at(sums, part_owner, means / count[:, np.newaxis])
    return names, sums


class Scorer:
    """Scores of pairs of rows: the cosine, or minus the (squared) distance."""

    def __init__(self, vectors: Vectors, distance: str) -> None:
        values = vectors.values
        # No square is too large or too small.
        largest = float(np.abs(values).max(initial=0.0))
        self.unit = float(2.0 ** -np.frexp(largest)[1]) if largest > 0 else 1.0
        values = values * self.unit
        self.square = np.einsum("ij,ij->i", values, values)
        self.distance = distance
        if distance == "cosine":
            for row in np.flatnonzero(self.square == 0)[:1].tolist():
                name = "" if vectors.names is None else f", {vectors.key} '{vectors.names[row]}'"
                raise InvalidValue(
                    "a vector of zeros has no direction",
                    where=f"{vectors.source}, row {row}{name}",
                    remedy="Remove it, or set the option `distance=l2`.",
                )
            values /= np.sqrt(self.square)[:, np.newaxis]
        self.values = values
        above = 1.0 if distance == "cosine" else 4 * float(self.square.max(initial=0.0))
        self.step = float(2.0 ** (np.frexp(above)[1] - BITS)) if above > 0 else 1.0

    def listed(self, first: Array, second: Array) -> Array:
        """The scores of some pairs."""
        product = np.empty(len(first))
        size = max(1, ROOM // max(1, self.values.shape[1]))
        for start in range(0, len(first), size):
            part = slice(start, start + size)
            product[part] = np.einsum("ij,ij->i", self.values[first[part]], self.values[second[part]])
        return self._of_product(product, self.square[first], self.square[second])

    def take(self, order: Array) -> Scorer:
        """The scorer of the same rows in another order, which gives every pair the same score."""
        other = copy(self)
        other.values, other.square = self.values[order], self.square[order]
        return other

    def tile(self, first: slice, second: slice) -> Array:
        """The scores of some rows with others."""
        product = self.values[first] @ self.values[second].T
        return self._of_product(product, self.square[first, np.newaxis], self.square[second])

    def every(self) -> Array:
        """The scores of all pairs of rows: the first with all behind it, then the second, ..."""
        many = len(self.values)
        scores, at = np.empty(many * (many - 1) // 2), 0
        size = max(1, ROOM // max(1, many))
        for start in range(0, many, size):
            stop = min(start + size, many)
            block = self.tile(slice(start, stop), slice(start, many))
            for row in range(stop - start):
                line = block[row, row + 1 :]
                scores[at : at + len(line)] = line
                at += len(line)
        return scores

    def _of_product(self, product: Array, first: Array, second: Array) -> Array:
        if self.distance == "cosine":
            return np.asarray(np.round(product / self.step) * self.step)
        squared = np.maximum(np.round((first + second - 2 * product) / self.step) * self.step, 0.0)
        return np.asarray(-squared / self.unit**2 if self.distance == "squared" else -np.sqrt(squared) / self.unit)


def scores_of_list(truth: Records, vectors: Vectors, distance: str) -> Records:
    """Predictions for the pairs of a list, in its order."""
    columns = SIDES[vectors.key]
    sides = [truth.find(name) for name in columns]
    if vectors.names is None and all(side is None for side in sides):
        if len(vectors) != 2 * len(truth):
            raise Incompatible(
                f"there are {len(vectors)} vectors without names and {len(truth)} pairs",
                where=vectors.source,
                remedy="Give two vectors per pair, one after the other, or an array 'image' with their names.",
            )
        rows = np.arange(len(truth)) * 2
        return _scored(vectors, Scorer(vectors, distance).listed(rows, rows + 1))
    for name, side in zip(columns, sides, strict=True):
        if side is None:
            raise MissingColumn(
                f"there is no column '{name}'",
                where=truth.source,
                remedy=f"Name the two {vectors.key}s of a pair in columns '{columns[0]}' and '{columns[1]}', "
                f"or set the option `pairing=all`.",
            )
    if vectors.names is None:
        raise MissingKey(
            "there is no array 'image', which names the vectors of pairs", where=vectors.source, remedy="Add it."
        )
    place = {name: row for row, name in enumerate(vectors.names.tolist())}
    places = []
    for name, side in zip(columns, sides, strict=True):
        texts = [str(value).strip() for value in (() if side is None else side.tolist())]
        rows = np.array([place.get(text, -1) for text in texts], dtype=np.int64)
        for row in np.flatnonzero(rows < 0)[:1].tolist():
            raise MissingKey(
                f"there is no vector of {vectors.key} '{texts[row]}'",
                where=truth.where(row, name),
                remedy=nearest(texts[row], list(place)[:10_000]),
            )
        places.append(rows)
    return _scored(vectors, Scorer(vectors, distance).listed(*places))


def _scored(vectors: Vectors, scores: Array) -> Records:
    return Records(vectors.source, {"score": scores}, place=lambda row: f"{vectors.source}, pair {row}")


def all_pairs(truth: Records, vectors: Vectors, distance: str) -> tuple[AllPairs | ManyPairs, Records]:
    """All pairs of images, or of templates, each of one person."""
    person = truth.find("person")
    if person is None:
        raise MissingColumn(
            "there is no column 'person'",
            where=truth.source,
            remedy="With `pairing=all` the truth names the person of each image.",
        )
    people = [str(value).strip() for value in person.tolist()]
    for row in [row for row, name in enumerate(people) if not name][:1]:
        raise InvalidValue("the person is empty", where=truth.where(row, "person"), remedy="Name the person.")
    rows = _rows_of(truth, vectors)
    many = len(rows)
    count = many * (many - 1) // 2
    if not count:
        raise EmptyInput("one image makes no pair", where=truth.source, remedy="Give at least two.")
    names, code = np.unique(as_object(people), return_inverse=True)
    chosen = Vectors(vectors.source, vectors.values[rows], vectors.key, as_object([str(r) for r in rows.tolist()]))
    if count > ranking.MOST_DRAWN:
        none = np.zeros(0)
        unlisted = ManyPairs(truth.source, {"label": none.astype(np.int64)}, people=names, person=code)
        return unlisted, UnlistedScores(vectors.source, {"score": none}, scorer=Scorer(chosen, distance))
    first, second = np.triu_indices(many, 1)
    owners = code[first], code[second]
    label = (owners[0] == owners[1]).astype(np.int64)
    scores = Scorer(chosen, distance).every()
    place = _PairPlace(truth.source, many)
    pairs = AllPairs(truth.source, {"label": label}, {}, place, {}, people=names, owners=owners)
    return pairs, _scored(vectors, scores)


class _PairPlace(Frozen):
    """Names a pair by the rows of its two sides."""

    source: str
    many: int

    def __call__(self, row: int) -> str:
        first = 0
        while row >= self.many - 1 - first:
            row -= self.many - 1 - first
            first += 1
        return f"{self.source}, rows {first} and {first + 1 + row}"


def _rows_of(truth: Records, vectors: Vectors) -> Array:
    """The vector of each row of truth."""
    named = truth.find(vectors.key)
    if named is None or vectors.names is None:
        if named is None and vectors.names is None and len(truth) == len(vectors):
            return np.arange(len(vectors))
        where, what = (truth.source, "column") if named is None else (vectors.source, "array")
        raise MissingColumn(
            f"there is no {what} '{vectors.key}'", where=where, remedy="Name the vectors on both sides, or on neither."
        )
    place = {name: row for row, name in enumerate(vectors.names.tolist())}
    texts = [str(value).strip() for value in named.tolist()]
    seen: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text not in place:
            raise MissingKey(
                f"there is no vector of {vectors.key} '{text}'",
                where=truth.place(row),
                remedy=nearest(text, list(place)[:10_000]),
            )
        if text in seen:
            raise DuplicateKey(
                f"{vectors.key} '{text}' has two rows", where=truth.place(row), remedy="Keep one of them."
            )
        seen[text] = row
    return np.array([place[text] for text in texts], dtype=np.int64)


def require_listed(option: str) -> None:
    """Refuse pairing=all where there are scores."""
    if option == "all":
        raise Conflict(
            "option `pairing=all` needs vectors", remedy="Give the predictions as .npz with an array 'vector'."
        )
