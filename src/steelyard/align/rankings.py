"""Join a run with judgements: by query, then by document inside each query, and find the ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import check_policy
from steelyard.core.counts import share_text
from steelyard.core.errors import (
    DuplicateKey,
    EmptyCell,
    InvalidNumber,
    InvalidText,
    InvalidValue,
    TooLarge,
    Unmatched,
    first_few,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array, Coverage, no_slice_column
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.records import Records, constant_in_unit
from steelyard.core.task import Policy


class RankedPairs(Frozen):
    """The judged documents of each query, with their ranks in the run; 0 where the run does not have them.

    Rows are sorted by unit, then by rank, those that were not retrieved last. `row` is a row's place in the truth.
    `rank`, `rank_input` and `rank_single` differ where scores are equal: by document id, by the order of the input, by
    document id after rounding scores to single precision. `rank_last` is that of the last of equal scores, where it is
    known, and `gallery` the images that embeddings are ranked among. `person` is the label of each unit, of embeddings,
    and `default_cluster` the column whose units are resampled together unless the user names another.
    """

    truth: Rankings
    units: Array
    owner: Array
    row: Array
    rank: Array
    rank_input: Array
    rank_single: Array
    relevance: Array
    retrieved: Array
    missing: Array
    tied: Array
    coverage: Coverage
    weight: Array | None = None
    rank_last: Array | None = None
    run: Rankings | None = None
    gallery: Any = None
    person: Array | None = None
    default_cluster: str | None = None

    @property
    def metadata(self) -> Metadata:
        """Rankings have no classes."""
        return Metadata()

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column of the truth, one value a judged document; or the person of each unit."""
        values = self.truth.find(name)
        if name == "person" and values is None and self.person is not None:
            return self.person, np.arange(len(self.person))
        if values is None:
            raise no_slice_column(self.truth, name, "A TREC file or a nested dict has no such columns.")
        return values[self.source_rows()], self.owner

    def unit_values(self, name: str) -> Array | None:
        """The person of each unit, where the truth has labels; or its query, which is a cluster of its own."""
        return {"person": self.person, "query": self.units}.get(name)

    def source_rows(self) -> Array:
        """The row in the source of each judged document."""
        return self.row if self.truth.order is None else self.truth.order[self.row]

    def select(self, keep: Array) -> RankedPairs:
        """The judged documents that a mask keeps; the others are taken for unjudged. All units stay."""
        parts = ["owner", "row", "rank", "rank_input", "rank_single", "relevance"]
        parts += [] if self.rank_last is None else ["rank_last"]
        return replace(self, **{name: getattr(self, name)[keep] for name in parts})

    def without(self, excluded: Array) -> RankedPairs:
        """The lists without some judged documents: those behind them move up."""
        if not excluded.any():
            return self
        moved = {}
        for name in ("rank", "rank_input", "rank_single", "rank_last"):
            rank = getattr(self, name)
            if rank is not None:
                moved[name] = rank - self._before(rank, excluded, including=name == "rank_last")
        gone = np.bincount(self.owner[excluded & (self.rank > 0)], minlength=len(self.units))
        return replace(self, **moved, retrieved=self.retrieved - gone, run=None).select(~excluded)

    def scores(self) -> tuple[Array, Array, Array, Array] | None:
        """Of each unit the highest score, that of its best relevant document, and the first and last rank of that.

        Minus infinity and 0 where there is none; None where no scores are kept.
        """
        if self.run is None:
            return None
        run = unfold_rows(self.run)
        place = {query: index for index, query in enumerate(run.queries.tolist())}
        top, mate = np.full(len(self.units), -np.inf), np.full(len(self.units), -np.inf)
        rank, last = np.zeros((2, len(self.units)), dtype=np.int64)
        best = np.full(len(self.units), np.iinfo(np.int64).max)
        retrieved = (self.rank > 0) & (self.relevance >= 1)
        np.minimum.at(best, self.owner[retrieved], self.rank[retrieved])
        for unit, query in enumerate(self.units.tolist()):
            at = place.get(query)
            if at is None or run.starts[at] == run.starts[at + 1]:
                continue
            scores = np.sort(run.values[run.starts[at] : run.starts[at + 1]])
            top[unit] = scores[-1]
            if best[unit] <= len(scores):
                mate[unit] = scores[len(scores) - best[unit]]
                rank[unit] = len(scores) - np.searchsorted(scores, mate[unit], side="right") + 1
                last[unit] = len(scores) - np.searchsorted(scores, mate[unit], side="left")
        return top, mate, rank, last

    def _before(self, rank: Array, excluded: Array, *, including: bool) -> Array:
        """How many excluded documents of its query stand before each document; at the same rank too if `including`."""
        out = np.flatnonzero(excluded & (rank > 0))
        size = int(rank.max(initial=0)) + 2
        places = np.sort(self.owner[out].astype(np.int64) * size + rank[out])
        each = self.owner.astype(np.int64) * size
        end = np.searchsorted(places, each + rank, side="right" if including else "left")
        return np.where(rank > 0, end - np.searchsorted(places, each), 0)


def join_rankings(truth: Records, run: Records, key: tuple[str, str], policy: Policy, weight: str = "") -> RankedPairs:
    """Join a run with the truth. Units come out in the order of their ids, whatever order they came in.

    `weight` names the column of the truth that is the weight of a unit, where it has one.
    """
    check_policy(policy)
    judged = _flat(as_rankings(truth, key))
    scored = as_rankings(run, key)
    place = {query: index for index, query in enumerate(scored.queries.tolist())}
    run_of = np.array([place.get(query, -1) for query in judged.queries.tolist()], dtype=np.int64)
    missing = run_of < 0
    extra = np.ones(len(scored.queries), dtype=bool)
    extra[run_of[~missing]] = False
    _refuse_one_sided(judged, scored, missing, extra, policy)
    _refuse_repeats(judged)

    ranks, rows, tied, retrieved = _ranks(judged, scored, run_of)
    keep = ~missing if policy.missing == "skip" else np.ones(len(missing), dtype=bool)
    names = judged.queries.tolist()
    chosen = np.array(sorted(np.flatnonzero(keep).tolist(), key=names.__getitem__), dtype=np.int64)
    rows, owner = _gather(rows, judged.starts, chosen)
    counts = np.where(missing, 0, retrieved[run_of] if len(retrieved) else 0)
    pairs = RankedPairs(
        truth=judged,
        units=judged.queries[chosen],
        owner=owner,
        row=rows,
        rank=ranks[0][rows],
        rank_input=ranks[1][rows],
        rank_single=ranks[2][rows],
        relevance=judged.values[rows],
        retrieved=counts[chosen].astype(np.float64),
        missing=missing[chosen].astype(np.float64),
        tied=tied[chosen],
        coverage=Coverage(
            len(missing), len(extra), int((~missing).sum()), int(missing.sum()), int(extra.sum()), policy.missing
        ),
        run=scored,
    )
    if weight in judged.columns:
        own = constant_in_unit(judged, weight, pairs.owner, pairs.source_rows(), len(pairs.units))
        pairs = replace(pairs, weight=np.nan_to_num(own))
    if "exclude" in judged.columns:
        pairs = pairs.without(judged.columns["exclude"][pairs.source_rows()] > 0)
    return pairs


def as_rankings(records: Records, key: tuple[str, str]) -> Rankings:
    """Rankings from plain records with a column of queries, one of documents, and one of numbers."""
    if isinstance(records, Rankings):
        return records
    query, document = (_pack_ids(records[name]) for name in key)
    number = next(name for name in ("relevance", "score") if name in records)
    rows = _native.text_runs(query.text, query.place, query.key)
    return Rankings.from_runs(
        records.source,
        records.place,
        [query[row] for row in rows.tolist()],
        rows,
        document,
        np.ascontiguousarray(records[number], dtype=np.float64),
        columns={name: column for name, column in records.columns.items() if name not in (*key, number)},
        other=records.other,
        names=records.names,
    )


def _pack_ids(column: Array) -> Ids:
    if column.dtype != object:
        return Ids(*_native.pack_integers(np.ascontiguousarray(column, dtype=np.int64)))
    packed = _native.pack_objects(np.ascontiguousarray(column))
    if isinstance(packed, int):
        raise TooLarge(f"the id in row {packed} is not text, or too long", remedy="Give every row a short id.")
    return Ids(*packed)


def unfold_rows(side: Rankings) -> Rankings:
    """Return the side with its rows held as columns."""
    return side if side.nested is None else _unfold(side)


def _flat(side: Rankings) -> Rankings:
    """Rows of a side that lies as a nested dict, and what its digest is made of."""
    if side.nested is not None:
        side = _unfold(side)
    if not side.content:
        sums = _native.ranking_sums(side.documents.key, side.values, side.starts)
        side.content.append(Content(np.diff(side.starts), sums))
    return side


def _unfold(side: Rankings) -> Rankings:
    nested = side.nested or {}
    plain: Any = nested if _is_plain(side) else _check_nested(nested, side.source)
    packed: Any = _native.pack_nested(plain)
    if len(packed) == 2:
        packed = _native.pack_nested(_check_nested(nested, side.source))
    documents, values, starts = Ids(*packed[0]), packed[1], packed[2]

    def place(row: int) -> str:
        query = side.queries[int(np.searchsorted(starts, row, side="right")) - 1]
        return f"{side.source}, query '{query}', document '{documents[row]}'"

    # The list of contents is shared: the caller's records know their digest as soon as this one is filled.
    return replace(side, documents=documents, values=values, starts=starts, place=place, nested=None)


def _is_plain(side: Rankings) -> bool:
    """Whether the native core can try to walk it: a dict, whose queries differ without the blanks around them."""
    names = set(side.queries.tolist())
    return type(side.nested) is dict and len(names) == len(side.queries) and "" not in names


def _check_nested(nested: Mapping[Any, Any], source: str) -> dict[str, dict[str, float]]:
    """Ids as text and numbers as floats, each looked at; an error names the first that is wrong."""
    result: dict[str, dict[str, float]] = {}
    for query, documents in nested.items():
        name = _id(query, f"{source}, query {query!r}")
        if name in result:
            raise DuplicateKey(f"query '{name}' appears twice", where=source, remedy="Each may appear only once.")
        if not isinstance(documents, Mapping):
            raise InvalidValue(
                f"query '{name}' holds {type(documents).__name__}, where others hold documents",
                where=source,
                remedy="Give {query: {document: number}}.",
            )
        row: dict[str, float] = {}
        for document, value in documents.items():
            where = f"{source}, query '{name}', document '{document}'"
            text = _id(document, where)
            if text in row:
                raise DuplicateKey(f"document '{text}' appears twice", where=where, remedy="Name each once per query.")
            row[text] = _number(value, where)
        result[name] = row
    return result


def _id(value: Any, where: str) -> str:
    text = "" if value is None or value != value else str(value).strip()
    if not text:
        raise EmptyCell("the id is empty", where=where, remedy="Give every row an id.")
    raw = text.encode("utf-8", "replace")
    if len(raw) > 0xFFFF or raw.decode() != text:
        raise InvalidText("the id is longer than 65,535 bytes, or no text that can be written as UTF-8", where=where)
    return text


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        shown = str(value) if not isinstance(value, int) or abs(value) < 1 << 64 else "an integer of so many digits"
        raise InvalidNumber(f"'{shown[:40]}' is not allowed here", where=where, remedy="It must be a finite number.")
    return number


def _refuse_one_sided(truth: Rankings, run: Rankings, missing: Array, extra: Array, policy: Policy) -> None:
    for wanted, mask, side, other, here, words in (
        (policy.missing, missing, truth, run, "of the truth", "not in the run"),
        (policy.extra, extra, run, truth, "of the run", "not in the truth"),
    ):
        if wanted != "error" or not mask.any():
            continue
        choice = "`missing='worst'` or `missing='skip'`" if side is truth else "`extra='skip'`"
        raise Unmatched(
            f"{share_text(int(mask.sum()), len(mask), 'query', 'are', here)} {words} {other.source}: "
            f"{first_few(sorted(side.queries[mask].tolist()))}",
            where=side.source,
            remedy=f"Add them, or choose {choice}.",
        )


def _refuse_repeats(side: Rankings) -> None:
    documents = side.documents
    repeats = _native.ranking_repeats(documents.text, documents.place, documents.key, side.values, side.starts)
    _refuse_repeated(side, *repeats.tolist())


def _refuse_repeated(side: Rankings, second: int, first: int) -> None:
    if second >= 0:
        raise DuplicateKey(
            f"query '{side.query_of(second)}', document '{side.documents[second]}' appears twice, "
            f"first at {side.where(first)}",
            where=side.where(second),
            remedy="Each document may appear only once in a query.",
        )


def _ranks(truth: Rankings, run: Rankings, run_of: Array) -> tuple[list[Array], Array, Array, Array]:
    """Ranks by the three rules, rows of the truth in the order of rank, which queries had ties, rows per run query."""
    judged = (truth.documents.text, truth.documents.place, truth.documents.key, truth.values, truth.starts)
    if run.nested is not None:
        nested: Any = run.nested  # plain dicts, where it is plain
        joined = _native.join_nested(*judged, nested, run_of) if _is_plain(run) else None
        if joined is not None:
            *ranks, rows, tied, counts, sums = joined
            run.content.append(Content(counts, sums))
            return ranks, rows, tied, counts
        run = _unfold(run)
    documents = run.documents
    order = np.zeros(0, np.int64) if run.order is None else np.ascontiguousarray(run.order, dtype=np.int64)
    *ranks, rows, tied, sums, repeated = _native.join_rankings(
        *judged, documents.text, documents.place, documents.key, run.values, run.starts, run_of, order
    )
    _refuse_repeated(run, *repeated.tolist())
    counts = np.diff(run.starts)
    run.content.append(Content(counts, sums))
    return ranks, rows, tied, counts


def _gather(rows: Array, starts: Array, chosen: Array) -> tuple[Array, Array]:
    """Rows of the chosen queries one after the other, and which of them each belongs to."""
    lengths = (starts[1:] - starts[:-1])[chosen]
    owner = np.repeat(np.arange(len(chosen)), lengths)
    if len(chosen) == len(starts) - 1 and (chosen == np.arange(len(chosen))).all():
        return rows, owner
    begins = np.cumsum(lengths) - lengths
    index = np.arange(int(lengths.sum())) - np.repeat(begins - starts[:-1][chosen], lengths)
    return rows[index], owner
