"""From probes and people to rankings: identification in an open set (1:N).

The truth has a row per probe with its person, empty for one that is not enrolled. The predictions are scores of probes
and people, vectors, or distances. The document that is searched for is the person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from steelyard import _native
from steelyard.align.rankings import as_rankings, unfold_rows
from steelyard.core.embeddings import DISTANCE, Embeddings
from steelyard.core.errors import (
    DuplicateKey,
    Incompatible,
    InvalidValue,
    MissingColumn,
    MissingKey,
    TooLarge,
    Unmatched,
    Unsupported,
)
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.plain import to_numpy
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import Column, Records, Schema, as_object, factorize, weight_column

PROBE, PERSON = "probe", "person"
NOT_ENROLLED = "(not enrolled)"
TRUTH = Schema((PROBE,), (Column(PROBE, "id"), Column(PERSON, "text", empty=True), weight_column(PROBE, "weight")))
PREDICTION = Schema((PROBE, PERSON), (Column(PROBE, "id"), Column(PERSON, "id"), Column("score", "number")))
MOST_SCORES = 1 << 26
BLOCK = 256
BITS = 40  # of a score, so that equal vectors have equal scores wherever they stand


def is_of_probes(names: Collection[str], mapping: Mapping[str, str]) -> bool:
    """Whether a table with these columns has probes and people, not queries and documents."""
    taken = {*names, *mapping.values()} & {"query", "doc"} or {*mapping.values()} & {PROBE, PERSON}
    return PROBE in names and PERSON in names and not taken


def has_probes(records: Records) -> bool:
    """Whether rows are of probes and people."""
    return not isinstance(records, Rankings | Embeddings) and PROBE in records and PERSON in records


def as_lists(truth: Records, prediction: Records, options: Options) -> tuple[Rankings, Rankings]:
    """Judgements whose only document is the probe's person, and a run with the score of each person."""
    if not has_probes(truth):
        raise MissingColumn(
            f"the columns '{PROBE}' and '{PERSON}' are missing, which {prediction.source} has",
            where=truth.source,
            remedy="Give the person of each probe, or the columns query and doc on both sides.",
        )
    template = options.of("gallery") == "template"
    if template and (not isinstance(prediction, Embeddings) or DISTANCE in prediction):
        raise Unsupported(
            "gallery=template needs the vectors of the gallery",
            where=prediction.source,
            remedy="Give arrays 'query' and 'gallery', or leave gallery=max.",
        )
    if isinstance(prediction, Embeddings):
        run = _from_vectors(truth, prediction, options.of("distance"), template)
    elif has_probes(prediction):
        run = _best_of_each_person(prediction)
    else:
        run = unfold_rows(as_rankings(prediction, ("query", "doc")))
    return _judgements(truth, run), run


def _judgements(truth: Records, run: Rankings) -> Rankings:
    probes = [str(probe) for probe in truth[PROBE].tolist()]
    people = [person.strip() for person in truth[PERSON].tolist()]
    first: dict[str, int] = {}
    for row, probe in enumerate(probes):
        if first.setdefault(probe, row) < row:
            raise DuplicateKey(
                f"probe '{probe}' appears twice, first at {truth.place(first[probe])}",
                where=truth.where(row, PROBE),
                remedy="Each probe has one row.",
            )
    _, rows = np.unique(run.documents.key, return_index=True)
    gallery = {run.documents[row] for row in rows.tolist()}
    for row, person in enumerate(people):
        if person and person not in gallery:
            raise Unmatched(
                f"probe '{probes[row]}' is enrolled as '{person}', whom the gallery of {run.source} lacks",
                where=truth.where(row, PERSON),
                remedy="Leave the person empty if the probe is not enrolled.",
            )
    columns = {name: column for name, column in truth.columns.items() if name not in (PROBE, PERSON)}
    groups = [person or f"{NOT_ENROLLED} {probe}" for probe, person in zip(probes, people, strict=True)]
    return Rankings(
        truth.source,
        columns | {PERSON: as_object(groups)},
        truth.other,
        truth.place,
        truth.names,
        queries=as_object(probes),
        starts=np.arange(len(probes) + 1),
        documents=_pack([person or NOT_ENROLLED for person in people], truth.source),
        values=np.array([float(bool(person)) for person in people]),
    )


def _best_of_each_person(records: Records) -> Rankings:
    """The best score of each person for each probe, in the order of the input."""
    probes, (probe,) = factorize(records[PROBE])
    people, (person,) = factorize(records[PERSON])
    score = records["score"]
    order = np.lexsort((-score, person, probe))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(probe[order]) != 0) | (np.diff(person[order]) != 0)
    rows = np.sort(order[first])
    rows = rows[np.argsort(probe[rows], kind="stable")]
    names = [str(name) for name in probes]
    return Rankings(
        records.source,
        {},
        place=records.place,
        queries=as_object(names),
        starts=np.append(0, np.cumsum(np.bincount(probe[rows], minlength=len(names)))).astype(np.int64),
        documents=_pack([str(name) for name in people], records.source).take(person[rows]),
        values=np.ascontiguousarray(score[rows], dtype=np.float64),
        order=rows,
    )


def _from_vectors(truth: Records, prediction: Embeddings, distance: str, template: bool) -> Rankings:
    """The score of each person for each probe, from blocks of a product or from distances."""
    for name in ("gallery_label", *(() if DISTANCE in prediction else ("query", "gallery"))):
        if name not in prediction:
            raise MissingKey(
                f"array '{name}' is missing",
                where=prediction.source,
                remedy="Give 'query' and 'gallery' or 'distance', and in 'gallery_label' each gallery image's person.",
            )
    labels, (identity,) = factorize(prediction["gallery_label"])
    order = np.argsort(identity, kind="stable")
    first = np.searchsorted(identity[order], np.arange(len(labels)))
    if DISTANCE in prediction:
        matrix = prediction[DISTANCE]
        many, images = matrix.shape
    else:
        query, gallery = (np.asarray(to_numpy(prediction[name]), dtype=np.float64) for name in ("query", "gallery"))
        if template:
            gallery = np.add.reduceat(gallery[order], first, axis=0) / np.bincount(identity)[:, None]
            order = first = np.arange(len(labels))
        if distance == "cosine":
            of_template = [f"the mean of '{label}'" for label in labels] if template else ()
            query = _unit(query, "query", prediction.source)
            gallery = _unit(gallery, "gallery", prediction.source, of_template)
        many, images = len(query), len(prediction["gallery"])
    if images != len(identity):
        raise Incompatible(
            f"there are {images} gallery images and {len(identity)} people in 'gallery_label'", where=prediction.source
        )
    names = _probe_names(truth, prediction, many)
    if many * len(labels) > MOST_SCORES:
        raise TooLarge(
            f"{many:,} probes and {len(labels):,} people have more than {MOST_SCORES:,} scores",
            where=prediction.source,
            remedy="Score a sample of the probes.",
        )
    scores = np.empty((many, len(labels)))
    for start in range(0, many, BLOCK):
        part = slice(start, start + BLOCK)
        if DISTANCE in prediction:
            block = -np.asarray(matrix[part], dtype=np.float64)
        elif distance == "cosine":
            block = _rounded(query[part] @ gallery.T)
        else:
            block = -np.stack([np.sqrt(((gallery - line) ** 2).sum(axis=1)) for line in query[part]])
        scores[part] = np.maximum.reduceat(block[:, order], first, axis=1)
    each = np.arange(many + 1) * len(labels)
    return Rankings(
        prediction.source,
        {},
        place=lambda row: f"{prediction.source}, probe '{names[row // len(labels)]}'",
        queries=as_object(names),
        starts=each.astype(np.int64),
        documents=_pack([str(label) for label in labels], prediction.source).take(
            np.tile(np.arange(len(labels)), many)
        ),
        values=scores.ravel(),
    )


def _probe_names(truth: Records, prediction: Embeddings, many: int) -> list[str]:
    """Names of the rows of vectors: their own, or those of the truth in its order."""
    if "query_id" not in prediction:
        if many != len(truth):
            raise Incompatible(
                f"there are {many} probes in {prediction.source} and {len(truth)} in {truth.source}",
                remedy="Give the array 'query_id' with the name of each probe.",
            )
        return [str(probe) for probe in truth[PROBE].tolist()]
    names = [str(name) for name in prediction["query_id"].tolist()]
    if len(set(names)) < len(names):
        raise DuplicateKey("'query_id' names a probe twice", where=prediction.source, remedy="Ids appear only once.")
    return names


def _unit(vectors: Array, name: str, source: str, of: Sequence[str] = ()) -> Array:
    """Vectors of length 1."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    zero = np.flatnonzero(largest == 0)
    if len(zero):
        what = of[zero[0]] if len(of) else f"array '{name}', row {zero[0]}"
        raise InvalidValue("a vector has length 0", where=f"{source}, {what}", remedy="Cosine needs a direction.")
    scaled = vectors / largest[:, None]
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def _rounded(scores: Array) -> Array:
    """Cosines without their last bits, which depend on where a vector stands in a product."""
    return np.asarray(np.round(scores * 2.0**BITS) / 2.0**BITS)


def _pack(names: list[str], source: str) -> Ids:
    packed = _native.pack_objects(as_object(names))
    if isinstance(packed, int):
        raise TooLarge(f"the id in row {packed} is not text, or too long", where=source, remedy="Give a shorter one.")
    return Ids(*packed)
