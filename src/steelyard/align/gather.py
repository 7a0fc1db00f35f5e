"""Gather batches into one: every unit once, in an order that depends on the ids alone.

A unit comes whole in a batch. It may come several times, since samplers of distributed training pad their last batch by
repeating some: copies of the same data count once, and copies that differ are an error, or, where the user chose
`on_conflict="keep"`, one of them is kept by its contents. So neither the order nor the split of the batches matters.

Rankings as plain rows, so that batches of them are gathered as any other rows are.

Cut records by unit: the rows, and what a row cannot say (images without any), of some units only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.join import codes
from steelyard.align.rankings import as_rankings, unfold_rows
from steelyard.align.unit_digest import total_digest, unit_digests
from steelyard.core.embeddings import Embeddings
from steelyard.core.errors import Conflict, DuplicateKey, MissingColumn, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.rankings import Rankings
from steelyard.core.records import Array, BoxRecords, Records, as_object, factorize

NUMBER = ("relevance", "score")


def is_ranked(records: Records) -> bool:
    """Whether the records have a shape of rankings."""
    return isinstance(records, Rankings | Embeddings)


def as_rows(records: Records, key: tuple[str, ...]) -> Records:
    """Query, document and number as columns, in the order of the source inside each query."""
    if isinstance(records, Embeddings):
        raise Unsupported(
            "embeddings are searched as a whole and cannot be gathered batch by batch",
            where=records.source,
            remedy="Give them to evaluate() at once, or gather lists of query, document and score.",
        )
    if not isinstance(records, Rankings):
        return records
    side = unfold_rows(records)
    query, document = key
    moved = slice(None) if side.order is None else side.order
    columns = {
        query: np.repeat(side.queries, np.diff(side.starts)),
        document: as_object([side.documents[row] for row in range(len(side.documents))]),
        "value": side.values,
        **{name: column[moved] for name, column in side.columns.items()},
    }
    return Records(
        side.source,
        columns,
        {name: column[moved] for name, column in side.other.items()},
        lambda row: side.where(int(row)),
        side.names,
    )


def ranked_again(records: Records, key: tuple[str, ...]) -> Rankings:
    """The shape that rankings are joined in."""
    columns: dict[str, Array] = {name: column for name, column in records.columns.items() if name != "value"}
    columns["score"] = records["value"] if "value" in records else np.zeros(0)
    for name in key:
        columns[name] = as_object([str(value) for value in records[name].tolist()])
    return as_rankings(Records(records.source, columns, records.other, records.place, records.names), (key[0], key[1]))


Batch = tuple[Records, Records]
ON_CONFLICT = ("error", "keep")


class SeenUnits(Frozen):
    """The ids of units of either side, with the digests (units, 2, 2) of their truth and of their predictions, and how
    many rows (units, 2) there are of either.
    """

    ids: Array
    digests: Array
    rows: Array

    @property
    def totals(self) -> Array:
        """Sums over the digests of either side, which say what was scored."""
        return np.stack([total_digest(self.ids, self.digests[:, side]) for side in (0, 1)])

    def take(self, kept: Array) -> SeenUnits:
        """Some of the units."""
        return SeenUnits(self.ids[kept], self.digests[kept], self.rows[kept])

    @staticmethod
    def merge(parts: Sequence[SeenUnits]) -> SeenUnits:
        """The units of parts that share none, in the order of their ids."""
        ids = _column([part.ids for part in parts])
        order = np.argsort(ids, kind="stable")
        digests, rows = (np.concatenate(arrays) for arrays in zip(*((p.digests, p.rows) for p in parts), strict=True))
        return SeenUnits(ids[order], digests[order], rows[order])


class FirstSeen:
    """Tells units that are new from those that were seen before, by id and digest.

    `key` is what a unit is called. One that comes again with other data is an error.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.digests: dict[str, bytes] = {}

    def is_new(self, unit: str, digest: bytes) -> bool:
        """Whether the unit was not seen before; from now on it was."""
        if unit not in self.digests:
            self.digests[unit] = digest
            return True
        if self.digests[unit] != digest:
            raise DuplicateKey(
                f"{self.key} '{unit}' came twice with different data", remedy="Give every unit its own id."
            )
        return False


class Gathered(Frozen):
    """All batches as one, the units that came more than once, and those of them that came with other predictions."""

    truth: Records
    prediction: Records
    repeated: Array
    unlike: Array
    seen: SeenUnits


def gather(
    batches: Sequence[Batch], key: tuple[str, ...], on_conflict: str = "error", drop: frozenset[str] = frozenset()
) -> Gathered:
    """Join the batches, each unit from one of them. `key` are the columns that identify a row, the unit's first.

    Units in `drop` are left out.
    """
    ranked = any(is_ranked(side) for batch in batches for side in batch)
    if ranked:
        batches = [(as_rows(truth, key), as_rows(prediction, key)) for truth, prediction in batches]
    unit = key[0]
    sides = [_SideBatches.of([batch[side] for batch in batches], unit) for side in (0, 1)]
    named = [side.ids for side in sides] + [side.images for side in sides]
    filled = [ids for ids in named if len(ids)]
    units, coded = codes(*filled) if filled else (named[0], [])
    place = iter(coded)
    code = [next(place) if len(ids) else np.zeros(0, np.int64) for ids in named]
    entries = [side.entries(code[i], code[i + 2], len(batches)) for i, side in enumerate(sides)]
    chosen, repeated, differ = _choose(entries, units, len(batches), unit, on_conflict, sides)
    wanted = np.ones(len(units), dtype=bool)
    if drop:
        wanted = np.array([str(one) not in drop for one in units.tolist()], dtype=bool)
        for of_side in chosen:
            of_side[~wanted] = -1
    joined = [side.select_rows(code[i], chosen[i], units) for i, side in enumerate(sides)]
    if ranked:
        joined = [ranked_again(records, key) for records in joined]
    digests, rows = np.zeros((len(units), 2, 2), dtype=np.uint64), np.zeros((len(units), 2), dtype=np.int64)
    for i, entry in enumerate(entries):
        mine = chosen[i][entry.code] == entry.batch
        digests[entry.code[mine], i] = entry.digest[mine]
        rows[:, i] = np.bincount(code[i][chosen[i][code[i]] == sides[i].batch], minlength=len(units))
    seen = SeenUnits(units, digests, rows).take(wanted)
    return Gathered(joined[0], joined[1], units[repeated], units[differ], seen)


class _Entries(Frozen):
    """The units of each batch, by unit and then by batch, with the digest of their rows."""

    code: Array
    batch: Array
    digest: Array

    def twice(self) -> Array:
        """Places of entries whose unit the entry before them has too."""
        return np.flatnonzero(self.code[1:] == self.code[:-1]) + 1


class _SideBatches(Frozen):
    """The batches of one side, one after the other."""

    parts: Sequence[Records]
    columns: dict[str, Array]
    other: dict[str, Array]
    batch: Array  # of each row
    unit: str
    images: Array  # that the batches list, whether or not they have rows
    image_batch: Array

    @staticmethod
    def of(parts: Sequence[Records], unit: str) -> _SideBatches:
        first = parts[0]
        for part in parts:
            reason = getattr(part, "not_gathered", "")
            if reason:
                raise Unsupported(
                    reason,
                    where=part.source,
                    remedy="Give them to evaluate(), or sum batches: Accumulator(..., device='cpu').",
                )
            if unit not in part:
                raise MissingColumn(
                    f"column '{unit}' is missing, which says what a unit is",
                    where=part.source,
                    remedy="Batches are joined by it: give every row an id.",
                )
            odd = set(part.columns) ^ set(first.columns)
            if odd:
                raise MissingColumn(
                    f"column '{min(odd)}' is given in some batches only", remedy="Give it in all, or in none."
                )
        others = set.intersection(*(set(part.other) for part in parts))
        lengths = [len(part) for part in parts]
        listed = [(i, images) for i, images in enumerate(map(_images, parts)) if images is not None]
        return _SideBatches(
            parts,
            {name: _column([part.columns[name] for part in parts]) for name in first.columns},
            {name: _column([part.other[name] for part in parts]) for name in sorted(others)},
            np.repeat(np.arange(len(parts)), lengths),
            unit,
            _column([images for _, images in listed]) if listed else np.zeros(0, np.int64),
            np.repeat(np.array([i for i, _ in listed], dtype=np.int64), [len(images) for _, images in listed]),
        )

    @property
    def ids(self) -> Array:
        return self.columns[self.unit]

    def entries(self, code: Array, image_code: Array, batches: int) -> _Entries:
        place = code * batches + self.batch
        order = np.argsort(place, kind="stable")
        every = np.unique(np.concatenate([place, image_code * batches + self.image_batch]))
        starts = np.searchsorted(place[order], np.append(every, np.iinfo(np.int64).max))
        digest = unit_digests({name: column[order] for name, column in self.columns.items()}, starts)
        return _Entries(every // batches, every % batches, digest)

    def where(self, batch: int) -> str:
        return self.parts[batch].place(0).rpartition(",")[0] or self.parts[batch].source

    def select_rows(self, code: Array, chosen: Array, units: Array) -> Records:
        """The rows of the chosen batches, by unit."""
        rows = np.flatnonzero(chosen[code] == self.batch)
        rows = rows[np.argsort(code[rows], kind="stable")]
        parts, batch = self.parts, self.batch
        starts = np.cumsum([0] + [len(part) for part in parts])

        def place(row: int) -> str:
            mine = int(batch[rows[row]])
            return parts[mine].place(int(rows[row] - starts[mine]))

        records = Records(
            "gathered batches" if len(parts) > 1 else parts[0].source,
            {name: column[rows] for name, column in self.columns.items()},
            {name: column[rows] for name, column in self.other.items()},
            place,
            parts[0].names,
        )
        if not len(self.images):
            return records
        images = units[chosen >= 0]
        zero = [int(starts[i] + p.zero_id) for i, p in enumerate(parts) if isinstance(p, BoxRecords) and p.zero_id >= 0]
        lost = np.flatnonzero(rows == zero[0]) if zero else np.zeros(0, np.int64)
        return BoxRecords(
            records.source, records.columns, records.other, records.place, records.names,
            images, *_classes(parts), zero_id=int(lost[0]) if len(lost) else -1,
        )  # fmt: skip


def _images(part: Records) -> Array | None:
    return part.images if isinstance(part, BoxRecords) else None


def _classes(parts: Sequence[Records]) -> tuple[Array | None, tuple[str, ...]]:
    """The classes that all parts list, with their names; None where one does not list them."""
    listed = [part for part in parts if isinstance(part, BoxRecords) and part.labels is not None]
    if len(listed) < len(parts):
        return None, ()
    labels = factorize(*[part.labels for part in listed if part.labels is not None])[0]
    shown: dict[str, str] = {}
    for part in listed:
        for label, name in zip(part.labels.tolist() if part.labels is not None else [], part.label_names, strict=False):
            if shown.setdefault(str(label), name) != name:
                raise Conflict(
                    f"class '{label}' is called '{shown[str(label)]}' and '{name}'", remedy="Name each class alike."
                )
    return labels, tuple(shown.get(str(label), "") for label in labels.tolist()) if shown else ()


def _choose(
    entries: Sequence[_Entries], units: Array, batches: int, key: str, on_conflict: str, sides: Sequence[_SideBatches]
) -> tuple[list[Array], Array, Array]:
    """The batch that each unit is taken from on each side, the units that came more than once, and the unlike ones."""
    truth, prediction = entries
    _refuse_unlike(truth, truth.digest, units, key, "truth", sides[0])
    place = np.searchsorted(prediction.code * batches + prediction.batch, truth.code * batches + truth.batch)
    inside = np.minimum(place, max(0, len(prediction.code) - 1))
    with_truth = np.zeros_like(truth.digest)  # of the predictions that came with each truth; 0 where none did
    if len(prediction.code):
        same = (prediction.code[inside] == truth.code) & (prediction.batch[inside] == truth.batch)
        with_truth[same] = prediction.digest[inside[same]]
    if on_conflict == "error":
        _refuse_unlike(truth, with_truth, units, key, "predictions", sides[1])
        _refuse_unlike(prediction, prediction.digest, units, key, "predictions", sides[1])
    chosen = []
    for entry in entries:
        first: Array = np.full(len(units), -1, dtype=np.int64)
        first[entry.code[::-1]] = entry.batch[::-1]
        chosen.append(first)
    repeated = np.unique(np.concatenate([truth.code[truth.twice()], prediction.code[prediction.twice()]]))
    differ: list[int] = []
    if on_conflict == "keep":
        for code in repeated.tolist():
            came = next(entry for entry in (truth, prediction) if np.count_nonzero(entry.code == code) > 1)
            rows = np.flatnonzero(came.code == code)
            digests = with_truth[rows] if came is truth else prediction.digest[rows]
            if len(np.unique(digests, axis=0)) > 1:
                differ.append(code)
                chosen[1][code] = came.batch[rows[np.lexsort((digests[:, 1], digests[:, 0]))[0]]]
    return chosen, repeated, np.array(differ, dtype=np.int64)


def _refuse_unlike(entry: _Entries, digest: Array, units: Array, key: str, what: str, side: _SideBatches) -> None:
    twice = entry.twice()
    bad = twice[(digest[twice] != digest[twice - 1]).any(axis=1)]
    if not len(bad):
        return
    many = len(np.unique(entry.code[bad]))
    at = int(bad[0])
    remedy = "Give every unit its own id"
    if what == "predictions":
        remedy += ", or choose on_conflict='keep' where a model gave one unit two answers"
    raise DuplicateKey(
        f"{key} '{units[entry.code[at]]}' came twice with different {what}, in {side.where(int(entry.batch[at - 1]))} "
        f"and in {side.where(int(entry.batch[at]))}" + (f" ({many} units did)" if many > 1 else ""),
        remedy=f"{remedy}.",
    )


def _column(parts: Sequence[Any]) -> Array:
    filled = [column for column in parts if len(column)]
    if not filled:
        empty: Array = parts[0]
        return empty
    if len({column.dtype.kind in "OU" for column in filled}) > 1:  # 7 of one batch is "7" of another
        filled = [as_object([str(v) for v in column.tolist()]) for column in filled]
    return filled[0] if len(filled) == 1 else np.concatenate(filled)


def cut(records: Records, key: tuple[str, ...], part: Callable[[Array], Array], parts: int) -> list[Records]:
    """Records in parts: `part` gives the part that each of some unit ids belongs to."""
    ranked = is_ranked(records)
    rows = as_rows(records, key) if ranked else records
    of_row = part(rows[key[0]])
    images = records.images if isinstance(records, BoxRecords) else None
    of_image = None if images is None else part(images)
    pieces: list[Records] = []
    for number in range(parts):
        mine = np.flatnonzero(of_row == number)
        one = rows.take(mine)
        if isinstance(records, BoxRecords):
            lost = np.flatnonzero(mine == records.zero_id)
            one = replace(
                records,
                columns=one.columns,
                other=one.other,
                place=one.place,
                images=None if images is None or of_image is None else images[of_image == number],
                zero_id=int(lost[0]) if records.zero_id >= 0 and len(lost) else -1,
            )
        pieces.append(ranked_again(one, key) if ranked else one)
    return pieces


def nothing_of(records: Records, key: tuple[str, ...]) -> Records:
    """Return the records without any unit."""
    return cut(records, key, lambda ids: np.ones(len(ids), dtype=np.int64), 1)[0]
