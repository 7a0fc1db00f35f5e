"""From embeddings and labels to rankings: who is near whom, and who is like whom."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import check_policy
from steelyard.align.rankings import RankedPairs, as_rankings, unfold_rows
from steelyard.core.embeddings import DISTANCE, DeviceEmbeddings, Embeddings
from steelyard.core.errors import DuplicateKey, Incompatible, MissingKey, OutOfRange, TooLarge
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Coverage
from steelyard.core.plain import to_numpy
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.records import Records, as_object, factorize
from steelyard.core.task import Policy
from steelyard.match.neighbours import nearest_neighbours
from steelyard.match.ranks import RankQueries, Ranks, exact_ranks
from steelyard.tasks.rankings.single_shot import Gallery

LANDMARKS = {"oxford": "medium", **{f"revisited-{level}": level for level in ("easy", "medium", "hard")}}
JUNK_IS_OUT = ("market1501", "layumi")
OPTIONS = (
    Option("distance", "choice", "Distance between embeddings.", "cosine", ("cosine", "l2"), sides=False),
    Option("depth", "number", "Number of nearest vectors that are ranked.", 1000, minimum=0, sides=False),
    Option(
        "protocol",
        "choice",
        "Which documents are out of a query's list: by camera and junk, or by level.",
        choices=("market1501", "torchreid", "layumi", "open-reid", *LANDMARKS),
        sides=False,
    ),
    Option(
        "gallery",
        "choice",
        "Several gallery images of a person (open set): the best score counts, or their mean vector.",
        "max",
        ("max", "template"),
        sides=False,
    ),
)
MOST_ROWS = 1 << 30
MOST_COUNTED = 8  # wanted documents of a query: to sort its distances is faster for more


def landmark_level(options: Options) -> str | None:
    """The level of landmarks that is asked for."""
    protocol = options.of("protocol")
    return LANDMARKS.get(str(protocol))


def landmarks(truth: Records, level: str) -> Records:
    """Judgements of one level: of relevance 2 (easy), 1 (hard) and 0 (junk), some are right and some are out."""
    judged = unfold_rows(as_rankings(truth, ("query", "doc")))
    if not judged.content:  # the digest is that of the judgements as they were given
        sums = _native.ranking_sums(judged.documents.key, judged.values, judged.starts)
        judged.content.append(Content(np.diff(judged.starts), sums))
    wrong = np.flatnonzero(~np.isin(judged.values, (0, 1, 2)))
    if len(wrong):
        raise OutOfRange(
            f"relevance {judged.values[wrong[0]]:g} is not a kind of landmark",
            where=judged.where(int(wrong[0])),
            remedy="Give 2 for easy, 1 for hard and 0 for junk.",
        )
    right = {"easy": (2,), "medium": (1, 2), "hard": (1,)}[level]
    relevant = np.isin(judged.values, right)
    exclude = np.empty(len(relevant))
    exclude[np.arange(len(relevant)) if judged.order is None else judged.order] = ~relevant
    columns = {**judged.columns, "exclude": exclude}
    return replace(judged, columns=columns, values=relevant.astype(np.float64))


def without_junk(truth: Embeddings, prediction: Embeddings, options: Options) -> tuple[Embeddings, Embeddings]:
    """Both sides without gallery images of id -1, where the protocol takes them out of all lists."""
    protocol = _protocol(truth, options)
    if protocol not in JUNK_IS_OUT or "gallery_label" not in truth:
        return truth, prediction
    keep = np.flatnonzero([str(label).strip() != "-1" for label in truth["gallery_label"].tolist()])
    if len(keep) == len(truth["gallery_label"]):
        return truth, prediction
    sides = []
    for side in (truth, prediction):
        columns = {n: column[keep] if n.startswith("gallery") else column for n, column in side.columns.items()}
        if DISTANCE in columns and columns[DISTANCE].shape[1] == len(truth["gallery_label"]):
            columns[DISTANCE] = columns[DISTANCE][:, keep]
        sides.append(replace(side, columns=columns))
    return sides[0], sides[1]


def under_protocol(truth: Embeddings, prediction: Embeddings, policy: Policy, options: Options) -> RankedPairs:
    """The ranks under the protocol of the options; `gallery` can rank under another one."""
    pairs = ranked_pairs(*without_junk(truth, prediction, options), policy, options)

    def under(protocol: str) -> RankedPairs:
        other = replace(options, values={**options.values, "protocol": protocol})
        return under_protocol(truth, prediction, policy, other)

    def shown() -> Gallery:
        parts = _Parts([truth, prediction])
        return _gallery(truth, prediction, parts, *_alike_rows(truth, parts), options)

    return replace(pairs, gallery=replace(pairs.gallery, under=under, shown=shown))


def _protocol(truth: Embeddings, options: Options) -> str | None:
    """The protocol, which is Market-1501's where cameras are known."""
    protocol: str | None = options.of("protocol")
    cameras = "query_camera" in truth or "gallery_camera" in truth
    if protocol is None:
        return "market1501" if cameras else None
    if protocol in LANDMARKS:
        raise Incompatible(f"protocol {protocol} is for lists", where=truth.source, remedy="Give judgements and runs.")
    for name in ("query_camera", "gallery_camera"):
        _need(truth, name, f"Protocol {protocol} compares the cameras of queries and gallery.")
    return protocol


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
    if DISTANCE not in prediction:
        _need(prediction, "query", "The predictions are vectors.")
    parts = _Parts([truth, prediction])
    owner, row = _alike_rows(truth, parts)
    judged = _rankings(truth.source, parts, owner, row, np.ones(len(row)))
    excluded = _same_camera(truth, owner, row)
    sums = _native.ranking_sums(judged.documents.key, judged.values, judged.starts)
    judged.content.append(Content(np.diff(judged.starts), sums))
    many, last, in_order = len(parts.query), None, None
    depth = max(1, int(options.of("depth")))
    if DISTANCE in prediction or excluded is not None:  # lists whose documents are taken out are ranked whole
        depth = max(depth, len(parts.gallery))
    if DISTANCE in prediction:
        ranks, in_order, last = _distance_ranks(prediction[DISTANCE], judged.starts, row, _tie(parts), parts.itself)
    else:
        query, gallery = _vectors(prediction, parts)
        wanted = RankQueries(judged.starts, row, parts.itself, _tie(parts), depth)
        ranks = _search(prediction)(query, gallery, wanted, options.of("distance"), prediction.source)
    unit = _text_order(parts.query)
    size = len(parts.gallery)
    order, unit_of = _by_unit(judged.starts, unit, np.where(ranks.rank > 0, ranks.rank, size + 1))
    rank = ranks.rank[order]
    pairs = RankedPairs(
        truth=judged,
        units=judged.queries[unit],
        owner=unit_of,
        row=order,
        rank=rank,
        rank_input=rank if in_order is None else in_order[order],
        rank_single=ranks.single[order],
        relevance=np.ones(len(order)),
        retrieved=np.minimum(depth, size - (parts.itself >= 0))[unit].astype(np.float64),
        missing=np.zeros(many),
        tied=ranks.tied[unit],
        coverage=Coverage(many, many, many, 0, 0, policy.missing),
        rank_last=None if last is None else last[order],
        gallery=_gallery(truth, prediction, parts, owner, row, options),
        person=_names(truth["query_label"])[unit],
        default_cluster=None if excluded is None else "person",
    )
    return pairs if excluded is None else pairs.without(excluded[order])


def _gallery(
    truth: Embeddings, prediction: Embeddings, parts: _Parts, owner: Array, row: Array, options: Options
) -> Gallery:
    """The images that are ranked, for what needs all of their distances."""
    labels = truth["query_label"]
    _, (mine, theirs) = factorize(labels, labels if parts.alone else truth["gallery_label"])

    @cache
    def vectors() -> list[Array]:
        sides = [np.asarray(to_numpy(side), dtype=np.float64) for side in _vectors(prediction, parts)]
        if options.of("distance") == "cosine":
            sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
        return sides

    def distances(query: int) -> Array:
        if DISTANCE in prediction:
            return np.asarray(prediction[DISTANCE][query])
        queries, gallery = vectors()
        if options.of("distance") == "cosine":
            return np.asarray(-(gallery @ queries[query]))
        return np.asarray(((gallery - queries[query]) ** 2).sum(axis=1))

    cameras = "query_camera" in truth
    junk = np.zeros(len(theirs), dtype=bool)
    if "gallery_label" in truth and _protocol(truth, options) in JUNK_IS_OUT:
        junk = np.array([str(label).strip() == "-1" for label in truth["gallery_label"].tolist()])
    camera = factorize(truth["query_camera"], truth["gallery_camera"])[1] if cameras else []

    def out(query: int) -> Array:
        gone = junk.copy()
        if cameras:
            gone |= (theirs == mine[query]) & (camera[1] == camera[0][query])
        if parts.itself[query] >= 0:
            gone[parts.itself[query]] = True
        return gone

    return Gallery(
        distances,
        mine,
        theirs,
        _tie(parts),
        owner,
        row,
        (_names(parts.query), _names(parts.gallery)),
        out,
        _text_order(parts.query),
        cameras=cameras,
        vectors=None if DISTANCE in prediction else options.of("distance"),
    )


def _same_camera(truth: Embeddings, owner: Array, row: Array) -> Array | None:
    """Whether the query and a gallery image of its label are of one camera; None where there are no cameras."""
    if "query_camera" not in truth and "gallery_camera" not in truth:
        return None
    for name in ("query_camera", "gallery_camera"):
        _need(truth, name, "The camera rule compares both sides.")
    _, (query, gallery) = factorize(truth["query_camera"], truth["gallery_camera"])
    return np.asarray(query[owner] == gallery[row])


def _distance_ranks(
    distance: Array, starts: Array, row: Array, tie: Array, itself: Array
) -> tuple[Ranks, Array, Array]:
    """Ranks of the wanted documents, by input order, and of the last of equals: nearer ones are counted.

    The distances of a query with many wanted documents are sorted once, without their places.
    """
    rank, in_order, last = (np.zeros(len(row), dtype=np.int64) for _ in range(3))
    tied = np.zeros(len(starts) - 1, dtype=bool)
    for query, (begin, end) in enumerate(itertools.pairwise(starts.tolist())):
        line, own, places = distance[query], int(itself[query]), row[begin:end]
        values = line[places]
        if len(places) > MOST_COUNTED:
            ordered = np.sort(line)
            nearer, upto = ordered.searchsorted(values), ordered.searchsorted(values, side="right")
        else:
            nearer = np.array([np.count_nonzero(line < value) for value in values], dtype=np.int64)
            upto = np.array([np.count_nonzero(line <= value) for value in values], dtype=np.int64)
        first, earlier = np.zeros((2, len(places)), dtype=np.int64)
        for at in np.flatnonzero(upto - nearer > 1).tolist():
            equal = np.flatnonzero(line == values[at])
            equal = equal[equal != own]
            first[at] = np.count_nonzero(tie[equal] > tie[places[at]])
            earlier[at] = np.count_nonzero(equal < places[at])
            tied[query] |= len(equal) > 1
        if own >= 0:
            nearer, upto = nearer - (line[own] < values), upto - (line[own] <= values)
        rank[begin:end], in_order[begin:end], last[begin:end] = nearer + first + 1, nearer + earlier + 1, upto
    return Ranks(rank, rank.copy(), tied), in_order, last


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
        axis = 0 if part == "query" else 1
        sizes |= {side.source: side[DISTANCE].shape[axis] for side in self.sides if DISTANCE in side}
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
