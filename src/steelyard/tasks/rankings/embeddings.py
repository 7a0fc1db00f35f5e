"""From embeddings and labels to rankings: who is near whom, and who is like whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import check_policy
from steelyard.align.rankings import RankedPairs
from steelyard.core.embeddings import DeviceEmbeddings, Embeddings
from steelyard.core.errors import DuplicateKey, Incompatible, MissingKey, TooLarge
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Coverage
from steelyard.core.plain import to_numpy
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.records import Records, as_object, factorize
from steelyard.core.task import Policy
from steelyard.match.neighbours import nearest_neighbours
from steelyard.match.ranks import RankQueries, Ranks, exact_ranks

OPTIONS = (
    Option("distance", "choice", "Distance between embeddings.", "cosine", ("cosine", "l2"), sides=False),
    Option("depth", "number", "Number of nearest vectors that are ranked.", 1000, minimum=0, sides=False),
)
MOST_ROWS = 1 << 30


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Rankings where a side is embeddings; other records as they are."""
    sides = [side for side in (truth, prediction) if isinstance(side, Embeddings)]
    if not sides:
        return truth, prediction
    if isinstance(truth, Embeddings):
        _need(truth, "query_label", "The truth of embeddings is labels.")
    if isinstance(prediction, Embeddings):
        _need(prediction, "query", "The predictions are vectors.")
    parts = _Parts(sides)
    if isinstance(truth, Embeddings):
        truth = _alike(truth, parts)
    if isinstance(prediction, Embeddings):
        prediction = _near(prediction, parts, int(options.of("depth")), options.of("distance"))
    return truth, prediction


def ranked_pairs(truth: Embeddings, prediction: Embeddings, policy: Policy, options: Options) -> RankedPairs:
    """The ranks of the vectors with a query's label, without lists of the others."""
    check_policy(policy)
    _need(truth, "query_label", "The truth of embeddings is labels.")
    _need(prediction, "query", "The predictions are vectors.")
    parts = _Parts([truth, prediction])
    owner, row = _alike_rows(truth, parts)
    judged = _rankings(truth.source, parts, owner, row, np.ones(len(row)))
    sums = _native.ranking_sums(judged.documents.key, judged.values, judged.starts)
    judged.content.append(Content(np.diff(judged.starts), sums))
    query, gallery = _vectors(prediction, parts)
    depth = max(1, int(options.of("depth")))
    wanted = RankQueries(judged.starts, row, parts.itself, _tie(parts), depth)
    ranks = _search(prediction)(query, gallery, wanted, options.of("distance"), prediction.source)
    unit = _text_order(parts.query)
    order, unit_of = _by_unit(judged.starts, unit, np.where(ranks.rank > 0, ranks.rank, len(gallery) + 1))
    rank, many = ranks.rank[order], len(parts.query)
    return RankedPairs(
        truth=judged,
        units=judged.queries[unit],
        owner=unit_of,
        row=order,
        rank=rank,
        rank_input=rank,
        rank_single=ranks.single[order],
        relevance=np.ones(len(order)),
        retrieved=np.minimum(depth, len(gallery) - (parts.itself >= 0))[unit].astype(np.float64),
        missing=np.zeros(many),
        tied=ranks.tied[unit],
        coverage=Coverage(many, many, many, 0, 0, policy.missing),
    )


def _by_unit(starts: Array, unit: Array, rank: Array) -> tuple[Array, Array]:
    """Rows unit by unit and by rank, and the unit of each."""
    each = np.diff(starts)[unit]
    owner = np.repeat(np.arange(len(unit)), each)
    order = np.arange(len(rank)) - np.repeat(np.cumsum(each) - each - starts[:-1][unit], each)
    if each.max(initial=0) > 1:
        order = order[np.lexsort((rank[order], owner))]
    return order, owner


def _search(prediction: Embeddings) -> Callable[..., Ranks]:
    """What searches the vectors, where they are."""
    if not isinstance(prediction, DeviceEmbeddings):
        return exact_ranks
    from steelyard.match.ranks_gpu import ranks_on_gpu  # imports Triton

    return ranks_on_gpu


def _text_order(ids: Array) -> Array:
    """The order of ids as texts. Whole numbers are sorted by their leading digits, without the texts."""
    if ids.dtype == object or (len(ids) and (ids.min() < 0 or ids.max() >= 10**17)):
        return np.argsort(_names(ids), kind="stable")
    digits = np.searchsorted(10 ** np.arange(1, 18), ids, side="right")
    return np.lexsort((digits, ids * 10 ** (17 - digits)))


def _tie(parts: _Parts) -> Array:
    """The rank of each id as text: what orders equal scores, here as in every list."""
    tie = np.empty(len(parts.gallery), dtype=np.int64)
    tie[_text_order(parts.gallery)] = np.arange(len(parts.gallery))
    return tie


class _Parts:
    """Ids of queries and gallery, from whichever side has them; else they are counted from 0."""

    def __init__(self, sides: list[Embeddings]) -> None:
        self.sides = sides
        self.alone = not any("gallery" in side or "gallery_label" in side for side in sides)
        self.query = self._ids("query")
        self.gallery = self.query if self.alone else self._ids("gallery")
        self.gallery_ids = _pack_ids(self.gallery)
        _, (query, gallery) = factorize(self.query, self.gallery)
        where = np.full(int(max(query.max(initial=-1), gallery.max(initial=-1))) + 1, -1, dtype=np.int64)
        where[gallery] = np.arange(len(gallery))
        named = any("query_id" in side for side in sides)
        # Without ids the two parts are different things, however they are counted.
        self.itself: Array = where[query] if self.alone or named else np.full(len(query), -1, dtype=np.int64)

    def _ids(self, part: str) -> Array:
        sizes = {side.source: len(side[n]) for side in self.sides for n in side.columns if n.split("_")[0] == part}
        if len(set(sizes.values())) > 1:
            sizes_text = " and ".join(f"{size} in {source}" for source, size in sizes.items())
            raise Incompatible(
                f"the sides differ in the number of {part} vectors: {sizes_text}", remedy="Give the same ones."
            )
        if not sizes:
            raise MissingKey(f"there is no '{part}'", where=self.sides[0].source, remedy="Give it on both sides.")
        with_ids = [side for side in self.sides if f"{part}_id" in side]
        if not with_ids:
            return np.arange(next(iter(sizes.values())))
        ids = with_ids[0][f"{part}_id"]
        if len(with_ids) > 1 and [str(x) for x in ids.tolist()] != [str(x) for x in with_ids[1][f"{part}_id"].tolist()]:
            raise Incompatible(
                f"'{part}_id' differs between {with_ids[0].source} and {with_ids[1].source}",
                remedy="Give it on one side.",
            )
        if len(set(ids.tolist())) < len(ids):
            raise DuplicateKey(
                f"'{part}_id' names a vector twice", where=with_ids[0].source, remedy="Ids appear only once."
            )
        return ids


def _need(side: Embeddings, name: str, remedy: str) -> None:
    if name not in side:
        has = ", ".join(f"'{column}'" for column in side.columns) or "none"
        raise MissingKey(f"array '{name}' is missing; the arrays are {has}", where=side.source, remedy=remedy)


def _pack_ids(ids: Array) -> Ids:
    if ids.dtype != object:
        return Ids(*_native.pack_integers(np.ascontiguousarray(ids, dtype=np.int64)))
    packed: Any = _native.pack_objects(ids)
    if isinstance(packed, int):
        raise TooLarge(f"the id in row {packed} is not text, or too long", remedy="Give every vector a short id.")
    return Ids(*packed)


def _names(ids: Array) -> Array:
    return as_object([str(x) for x in ids.tolist()])


def _alike(truth: Embeddings, parts: _Parts) -> Rankings:
    """Judgements: what has the query's label is relevant, but not the query itself."""
    owner, row = _alike_rows(truth, parts)
    return _rankings(truth.source, parts, owner, row, np.ones(len(row)))


def _alike_rows(truth: Embeddings, parts: _Parts) -> tuple[Array, Array]:
    """Queries, and places in the gallery that have their label, query by query; without the query itself."""
    if not parts.alone:
        _need(truth, "gallery_label", "The gallery needs labels too.")
    labels = truth["query_label"]
    _, (query, gallery) = factorize(labels, labels if parts.alone else truth["gallery_label"])
    by_label = np.argsort(gallery, kind="stable")
    first = np.searchsorted(gallery[by_label], query, side="left")
    count = np.searchsorted(gallery[by_label], query, side="right") - first
    if int(count.sum()) > MOST_ROWS:
        raise TooLarge(
            f"{int(count.sum()):,} pairs have the same label, more than {MOST_ROWS:,}",
            where=truth.source,
            remedy="Score a sample of the queries.",
        )
    owner = np.repeat(np.arange(len(query)), count)
    row = by_label[np.arange(len(owner)) - np.repeat(np.cumsum(count) - count - first, count)]
    others = row != parts.itself[owner]
    return owner[others], row[others]


def _near(prediction: Embeddings, parts: _Parts, depth: int, distance: str) -> Rankings:
    """A run: the nearest of the gallery, without the query itself."""
    query, gallery = (np.asarray(to_numpy(side), dtype=np.float64) for side in _vectors(prediction, parts))
    places, scores = nearest_neighbours(
        query, gallery, max(1, depth), distance, parts.itself, _tie(parts), prediction.source
    )
    owner, column = np.nonzero(places >= 0)
    return _rankings(prediction.source, parts, owner, places[owner, column], scores[owner, column])


def _vectors(prediction: Embeddings, parts: _Parts) -> tuple[Any, Any]:
    if not parts.alone:
        _need(prediction, "gallery", "The labels have a gallery.")
    return prediction["query"], prediction["query" if parts.alone else "gallery"]


def _rankings(source: str, parts: _Parts, owner: Array, row: Array, values: Array) -> Rankings:
    starts = np.append(0, np.cumsum(np.bincount(owner, minlength=len(parts.query)))).astype(np.int64)
    return Rankings(
        source,
        {},
        place=lambda at: f"{source}, query '{parts.query[owner[at]]}'",
        queries=_names(parts.query),
        starts=starts,
        documents=parts.gallery_ids.take(row),
        values=values,
    )
