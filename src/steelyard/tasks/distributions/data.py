"""Two sets of feature vectors: schemas, units, and the rows that metrics look at.

No vector has a partner on the other side. A unit is one vector, of either side: `real:ID` or `generated:ID`. A file of
statistics (mean and covariance) is one unit whose rows are the mean and a factor of the centred products, so that
moments of parts merge as rows do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.counts import count_text
from steelyard.core.draws import unit_keys
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    Incompatible,
    MissingData,
    ShapeMismatch,
    first_few,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Coverage, no_slice_column
from steelyard.core.records import Column, Records, Schema, as_object, weight_column
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.statistic import Rows, SharedCache, Sum
from steelyard.core.task import Policy
from steelyard.core.weights import Floats, Role, Weights
from steelyard.tasks.distributions.moments import Moments, merge_moments, moments_of_rows

SIZE_BIASED = ("fid", "fid_infinity", "vendi", "inception_score", "recall", "coverage")
ON_DISK = 256 << 20  # bytes of rows, from which they are held in a file
SIDES = ("real", "generated")
REAL, GENERATED, REAL_STATISTICS, GENERATED_STATISTICS = range(4)  # what a row is
SPATIAL = "spatial"  # the layer of the statistics mu_s and sigma_s of guided-diffusion
FINGERPRINT = ("extractor", "weights", "layer", "input", "normalised")
KNOWN_SIZES = {
    2048: "Inception",
    2023: "Inception, spatial",
    768: "DINOv2 ViT-B or CLIP ViT-L/14",
    1024: "DINOv2 ViT-L",
    512: "CLIP ViT-B",
}

_COLUMNS = (
    Column("id", "id", required=False, aliases=("ids", "name", "image"), meaning="name of the image"),
    Column(
        "features", "numbers", required=False, aliases=("feats", "pool_3", "reps", "f0"), meaning="the feature vector"
    ),
    Column("mu", "numbers", required=False, meaning="mean of the vectors, where there are statistics alone"),
    Column("sigma", "numbers", required=False, meaning="their covariance, d×d"),
    Column("probs", "numbers", required=False, aliases=("probabilities",), meaning="class probabilities"),
    Column("logits", "numbers", required=False, meaning="class scores before the softmax"),
    Column("label", "label", required=False, meaning="class of the image, to slice by"),
    weight_column("image"),
)
TRUTH = Schema(("id",), _COLUMNS)
PREDICTION = Schema(("id",), _COLUMNS)
OPTIONS = (
    Option("extractor", "text", "the network that the features come from: inception-2048, dinov2-vitl14", ""),
    Option(
        "fingerprint",
        "pairs",
        "more on the features: weights, layer, input, normalised",
        {},
        metavar="NAME=TEXT",
    ),
    Option("n", "number", "images behind a file of statistics, which does not say it", 0, minimum=1),
    Option(
        "equal",
        "choice",
        "cut all sets to the size of the smallest, by a hash of the ids",
        "no",
        ("no", "yes"),
        sides=False,
    ),
    Option(
        "keep",
        "choice",
        "what is kept of features: rows, or only their moments (fid and nothing else)",
        "rows",
        ("rows", "moments"),
        sides=False,
    ),
)


class FeatureRecords(Records):
    """One side; `statistics` are the moments of a file that has no rows. Their count is 0 where it is not known."""

    statistics: Moments | None = None
    given: frozenset[str] = frozenset()  # names of the columns or arrays of the source

    @property
    def not_gathered(self) -> str:
        """Why batches of these records are not gathered; empty where they are."""
        if self.statistics is None:
            return ""
        return "statistics have no rows to gather"


class DistributionPairs(Frozen):
    """Both sets in the order of their units' ids. `row` is a unit's row in its side, -1 for one without rows here."""

    truth: Records
    prediction: Records
    units: Array
    side: Array
    row: Array
    coverage: Coverage
    weight: Array | None = None
    statistics: tuple[Moments | None, Moments | None] = (None, None)
    flags: Mapping[str, Any] = field(default_factory=dict)
    holds: frozenset[str] = frozenset()
    moments_only: bool = False
    equal: bool = False

    @property
    def metadata(self) -> Metadata:
        """The length of vectors and their fingerprint, which merged parts must share."""
        return Metadata(flags=self.flags, holds=self.holds)

    @property
    def sides(self) -> tuple[Records, Records]:
        """Real and generated."""
        return self.truth, self.prediction

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column to slice by, one value per vector.

        Where only the truth has it, a generated vector takes the value of the real one with its id, if there is one.
        """
        own = self.truth.find(name)
        if own is None:
            raise no_slice_column(self.truth, name, "Both sides need it.")
        real, generated = (np.flatnonzero((self.side == code) & (self.row >= 0)) for code in (REAL, GENERATED))
        if any(moments is not None for moments in self.statistics):
            raise no_slice_column(self.truth, name, "Statistics have no rows to slice.")
        values, other = own[self.row[real]], self.prediction.find(name)
        if other is not None:
            theirs = other[self.row[generated]]
        else:
            of_id = dict(zip((str(unit).partition(":")[2] for unit in self.units[real].tolist()), values, strict=True))
            names = [str(unit).partition(":")[2] for unit in self.units[generated].tolist()]
            held = [place for place, one in enumerate(names) if one in of_id]
            if not held and names and self.row[real].size:
                raise no_slice_column(self.prediction, name, "No generated vector has the id of a real one either.")
            generated = generated[held]
            theirs = as_object([of_id[names[place]] for place in held])
        unit = np.concatenate([real, generated])
        order = np.argsort(unit, kind="stable")
        return np.concatenate([values.astype(object), theirs.astype(object)])[order], unit[order]

    def unit_values(self, name: str) -> Array | None:
        """A column by unit, for clusters and strata; None where a side does not have it."""
        if any(records.find(name) is None for records in self.sides):
            return None
        values, unit = self.slice_values(name)
        texts = np.full(len(self.units), "", dtype=object)
        texts[unit] = values
        return texts

    def select(self, keep: Array) -> Self:
        """The vectors that a mask keeps. All units stay."""
        row = np.full(len(self.units), -1, dtype=np.int64)
        present = np.flatnonzero(self.row >= 0)[: len(keep)]
        row[present[keep]] = self.row[present[keep]]
        return replace(self, row=row)

    def with_units(self, units: Array, weight: Array | None) -> Self:
        """Return the pairs with the units of other models too, which have no rows here."""
        place = {str(unit): i for i, unit in enumerate(self.units.tolist())}
        at = np.array([place.get(str(unit), -1) for unit in units.tolist()], dtype=np.int64)
        there = at >= 0
        side = np.array([SIDES.index(str(unit).partition(":")[0]) for unit in units.tolist()], dtype=np.int64)
        row = np.where(there, self.row[at], -1)
        return replace(self, units=units, side=side, row=row, weight=weight)

    def cut(self, count: int) -> Self:
        """So many vectors of each side that has rows, by a hash of their ids."""
        keep = np.ones(len(self.units), dtype=bool)
        for code in (REAL, GENERATED):
            mine = np.flatnonzero(self.side == code)
            if self.statistics[code] is None:
                keep[mine] = False
                keep[mine[_smallest_hashes(self.units[mine], count)]] = True
        weight = None if self.weight is None else self.weight[keep]
        return replace(self, units=self.units[keep], side=self.side[keep], row=self.row[keep], weight=weight)

    def matrix(self, name: str) -> Array:
        """A column of vectors of all units that have a row, in their order; on disk where it is large."""
        present = np.flatnonzero(self.row >= 0)
        parts = [records.columns.get(name) for records in self.sides]
        width = max((part.shape[1] for part in parts if part is not None and part.ndim == 2), default=0)
        kind = np.result_type(np.float32, *(part.dtype for part in parts if part is not None and len(part)))
        out = empty_matrix(len(present), width, np.float64 if kind == np.float64 else np.float32)
        for start in range(0, len(present), 4096):
            mine = present[start : start + 4096]
            for code, part in enumerate(parts):
                inside = self.side[mine] == code
                if inside.any() and part is not None:
                    out[start : start + len(mine)][inside] = part[self.row[mine[inside]]]
        return out


def align_models(models: Sequence[DistributionPairs], metrics: Sequence[Metric]) -> list[DistributionPairs]:
    """The pairs of several generators with the units of all: vectors with equal ids are paired, others stand alone.

    Metrics whose bias depends on the size of a set are refused where the sizes differ.
    """
    if all(pairs.equal for pairs in models):
        models = [pairs.cut(min(min(np.bincount(one.side, minlength=2)) for one in models)) for pairs in models]
    sizes = [int(np.count_nonzero((pairs.side == GENERATED) & (pairs.row >= 0))) for pairs in models]
    biased = next((metric for metric in metrics if metric.name in SIZE_BIASED), None)
    has_rows = all(pairs.statistics[GENERATED] is None for pairs in models)
    if biased is not None and has_rows and len(set(sizes)) > 1:
        raise Conflict(
            f"'{biased}' of {' and '.join(f'{size:,}' for size in dict.fromkeys(sizes))} generated vectors cannot be "
            "compared: its bias depends on their number",
            remedy="Set the option `equal=yes`, which cuts all sets to the smallest, or compare fid_corrected or kid.",
        )
    first = models[0]
    if all(len(other.units) == len(first.units) and (other.units == first.units).all() for other in models[1:]):
        return list(models)
    weights: dict[str, float] = {}
    for pairs in models:
        own = np.ones(len(pairs.units)) if pairs.weight is None else pairs.weight
        for unit, weight in zip(pairs.units.tolist(), own.tolist(), strict=True):
            if weights.setdefault(str(unit), weight) != weight:
                raise Conflict(f"'{unit}' weighs {weights[unit]:g} and {weight:g}", remedy="Weigh it alike.")
    units = as_object(sorted(weights))
    weighed = any(pairs.weight is not None for pairs in models)
    weight_of = np.array([weights[unit] for unit in units.tolist()]) if weighed else None
    return [pairs.with_units(units, weight_of) for pairs in models]


def empty_matrix(rows: int, width: int, kind: Any) -> Array:
    """Room for a matrix: in memory, or in an unnamed file where it is large."""
    size = rows * width * np.dtype(kind).itemsize
    if size < ON_DISK:
        return np.empty((rows, width), dtype=kind)
    with tempfile.TemporaryFile() as file:  # the mapping outlives it
        file.truncate(size)
        return np.memmap(file, dtype=kind, mode="r+", shape=(rows, width))


def row_hashes(rows: Array) -> Array:
    """A 64-bit hash of each vector, equal for equal vectors."""
    out = np.zeros(len(rows), dtype=np.uint64)
    odd = (np.arange(1, 2 * rows.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    for start in range(0, len(rows), 1024):
        part = np.ascontiguousarray(rows[start : start + 1024], dtype=np.float64) + 0.0
        bits = part.view(np.uint32).astype(np.uint64).reshape(len(part), -1) + np.uint64(1)
        bits *= odd
        bits ^= bits >> np.uint64(29)
        out[start : start + 1024] = bits.sum(axis=1)
    return out


def take_rows(matrix: Array, rows: Array) -> Array:
    """Some rows of a matrix; the matrix itself where they are all, in order."""
    if len(rows) == len(matrix) and (rows == np.arange(len(rows))).all():
        return matrix
    out = empty_matrix(len(rows), matrix.shape[1], matrix.dtype)
    for start in range(0, len(rows), 4096):
        out[start : start + 4096] = matrix[rows[start : start + 4096]]
    return out


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> DistributionPairs:
    """Put both sets side by side. Nothing is matched: both must come from the same extractor."""
    sides = (truth, prediction)
    names, order_of = [], []
    for records, side in zip(sides, SIDES, strict=True):
        own, order = _unit_names(records, side)
        names.append(own)
        order_of.append(order)
    flags = _check_sides(sides, options)
    statistics = [
        _sized_statistics(records, options, side) for records, side in zip(sides, ("truth", "prediction"), strict=True)
    ]
    if options.of("keep") == "moments":
        _check_moment_weights(sides)
    equal = options.of("equal") == "yes" and not any(statistics)
    units: list[Array] = []
    code_of: list[Array] = []
    row: list[Array] = []
    for code in (GENERATED, REAL):  # the order of the names
        if statistics[code] is not None:
            units.append(as_object([f"{SIDES[code]}:statistics"]))
            code_of.append(np.array([code]))
            row.append(np.array([0]))
        else:
            units.append(names[code])
            code_of.append(np.full(len(names[code]), code))
            row.append(order_of[code])
    count = sum(map(len, units))
    pairs = DistributionPairs(
        truth,
        prediction,
        np.concatenate(units).astype(object),
        np.concatenate(code_of).astype(np.int64),
        np.concatenate(row).astype(np.int64),
        Coverage(count, len(prediction), count, 0, 0, policy.missing),
        statistics=(statistics[0], statistics[1]),
        flags=flags,
        moments_only=options.of("keep") == "moments",
        equal=equal,
    )
    pairs = replace(pairs, weight=_weights(pairs), holds=_holds(pairs))
    return pairs.cut(min(map(len, names))) if equal else pairs


def _sized_statistics(records: Records, options: Options, side: str) -> Moments | None:
    """The moments of a side without rows; the option n says how many images are behind them."""
    held: Moments | None = getattr(records, "statistics", None)
    count = float(options.of("n", side) or 0)
    if held is None or held.count or not count:
        return held
    return Moments.of_statistics(held.mean, held.factor, count)


def _check_moment_weights(sides: tuple[Records, Records]) -> None:
    """Weights that are not whole are scaled to a mean of 1 over the set, which a part of it does not know."""
    for records in sides:
        weights = records.columns.get("sample_weight")
        if weights is not None and (weights != np.round(weights)).any():
            row = int(np.argmax(weights != np.round(weights)))
            raise Conflict(
                f"the weight {weights[row]:g} is not a whole number, and keep=moments pools parts by counts",
                where=records.where(row, "sample_weight"),
                remedy="Give whole weights, or leave keep=moments out.",
            )


def _unit_names(records: Records, side: str) -> tuple[Array, Array]:
    """The names of a side's units in order, and the row of each."""
    count = len(records)
    if "id" in records:
        ids = [str(value) for value in records["id"].tolist()]
        if len(set(ids)) < count:
            seen: set[str] = set()
            twice = [name for name in ids if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
            raise DuplicateKey(
                f"{count_text(len(twice), 'id')} occur more than once: {first_few(twice)}",
                where=records.source,
                remedy="Give every vector its own id, or leave the column out.",
            )
    else:
        ids = [f"{row:09d}" for row in range(count)]
    order = sorted(range(count), key=ids.__getitem__)
    rows = np.array(order, dtype=np.int64)
    return as_object([f"{side}:{ids[i]}" for i in order]), rows


def _smallest_hashes(names: Array, count: int) -> Array:
    """So many of the units, by a hash of their ids, in their order."""
    return np.sort(np.argsort(unit_keys(names), kind="stable")[:count])


def _check_sides(sides: tuple[Records, Records], options: Options) -> dict[str, Any]:
    """What both sides must share: the length of vectors and the fingerprint of the extractor."""
    flags: dict[str, Any] = {}
    widths = [_width(records) for records in sides]
    if 0 not in widths and widths[0] != widths[1]:
        named = [
            count_text(width, "number") + (f" ({KNOWN_SIZES[width]})" if width in KNOWN_SIZES else "")
            for width in widths
        ]
        raise ShapeMismatch(
            f"real vectors have {named[0]} and generated ones {named[1]}",
            where=f"{sides[0].source} and {sides[1].source}",
            remedy="Both sets must come from the same layer of the same network.",
        )
    flags["dimensions"] = max(widths)
    differ = []
    for name in FINGERPRINT:
        said = [
            fingerprint_of(records, options, side).get(name, "")
            for records, side in zip(sides, ("truth", "prediction"), strict=True)
        ]
        if said[0] and said[1] and said[0] != said[1]:
            differ.append(f"{name} is '{said[0]}' and '{said[1]}'")
        flags[name] = said[0] or said[1]
    if differ:
        raise Incompatible(
            f"the sets come from different extractors: {'; '.join(differ)}",
            where=f"{sides[0].source} and {sides[1].source}",
            remedy="Extract both sets in the same way: distances between extractors mean nothing.",
        )
    return flags


def fingerprint_of(records: Records, options: Options, side: str) -> dict[str, str]:
    """What is known of the extractor of one side: from its file, a JSON file beside it, or options."""
    known: dict[str, str] = {}
    for name in FINGERPRINT:
        column = records.other.get(name)
        values = set() if column is None else set(column.tolist())
        if values and all(isinstance(value, str) for value in values):
            if len(values) > 1:
                raise Conflict(
                    f"the set has vectors of several extractors: {name} is {first_few(sorted(values))}",
                    where=records.source,
                    remedy="Score each extractor by itself.",
                )
            known[name] = values.pop()
    stated = {**options.of("fingerprint", side), **({"extractor": e} if (e := options.of("extractor", side)) else {})}
    for name, value in stated.items():
        if known.get(name, value) != value:
            raise Incompatible(
                f"the file says {name} '{known[name]}', and the options say '{value}'",
                where=records.source,
                remedy="Leave the option out, or correct it.",
            )
    return {**known, **stated}


def _width(records: Records) -> int:
    statistics = getattr(records, "statistics", None)
    if statistics is not None:
        return len(statistics.mean)
    features = records.columns.get("features")
    return int(features.shape[1]) if features is not None and features.ndim == 2 else 0


def _weights(pairs: DistributionPairs) -> Array | None:
    if not any("sample_weight" in records for records in pairs.sides):
        return None
    weight = np.ones(len(pairs.units))
    for code, records in enumerate(pairs.sides):
        if "sample_weight" in records:
            mine = np.flatnonzero(pairs.side == code)
            weight[mine] = records["sample_weight"][pairs.row[mine]]
    return weight


def _holds(pairs: DistributionPairs) -> frozenset[str]:
    """What decides the default metrics."""
    holds = set()
    if any(moments is not None for moments in pairs.statistics):
        holds.add("statistics")
    if pairs.flags["dimensions"] and not _without_vectors(pairs):
        holds.add("features")
    if pairs.moments_only:
        holds.add("statistics")
    if "probs" in pairs.prediction:
        holds.add("probabilities")
    return frozenset(holds)


def _without_vectors(pairs: DistributionPairs) -> list[Records]:
    """The sides that have rows, but neither vectors nor statistics."""
    return [
        records
        for records, statistics in zip(pairs.sides, pairs.statistics, strict=True)
        if len(records) and statistics is None and "features" not in records
    ]


class FeatureRows(Rows):
    """The vectors of both sets, and the moments of parts that have no vectors."""

    name = "distributions.features"
    drawn = False  # readers look at the rows themselves
    columns: ClassVar[Mapping[str, str]] = {"features": "f", "role": "i", "count": "f"}

    def measure(self, pairs: DistributionPairs, cache: SharedCache) -> RowsBlock:
        """One row per vector; the mean and a factor of the centred products where there are only moments."""
        lacking = _without_vectors(pairs)
        if lacking or not pairs.flags["dimensions"]:
            raise MissingData(
                "there are no feature vectors",
                where=(lacking or [pairs.prediction])[0].source,
                remedy="Give 'features' (n×d), or ask for inception_score, which takes probabilities.",
            )
        table: RowTable = cache.once("distributions.rows", lambda: self._table(pairs))
        return RowsBlock((table,), np.arange(len(pairs.units)))

    def _table(self, pairs: DistributionPairs) -> RowTable:
        statistics = list(pairs.statistics)
        if pairs.moments_only:
            for code, records in enumerate(pairs.sides):
                if statistics[code] is None and "features" in records:
                    mine = np.flatnonzero((pairs.side == code) & (pairs.row >= 0))
                    rows = take_rows(records["features"], pairs.row[mine])
                    if len(rows):
                        weight = None if pairs.weight is None else pairs.weight[mine]
                        statistics[code] = moments_of_rows(rows, weight).with_factor()
        if all(moments is None for moments in statistics):
            features = pairs.matrix("features")
            count = (pairs.row >= 0).astype(np.int64)
            role = pairs.side[pairs.row >= 0].astype(np.int8)
            begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
            return RowTable(self, pairs.units, begin, _columns(features, role, np.ones(len(role))))
        return self._with_moments(pairs, statistics)

    def _with_moments(self, pairs: DistributionPairs, statistics: list[Moments | None]) -> RowTable:
        blocks: list[Array] = []
        roles: list[Array] = []
        counts: list[Array] = []
        begin = [0]
        heavy = np.ones(len(pairs.units), dtype=bool) if pairs.weight is None else pairs.weight > 0
        carries = [int(np.argmax(heavy & (pairs.side == side))) for side in (REAL, GENERATED)]
        for unit, (side, row) in enumerate(zip(pairs.side.tolist(), pairs.row.tolist(), strict=True)):
            moments = statistics[side]
            if moments is None:
                rows = pairs.sides[side]["features"][row : row + 1] if row >= 0 else np.zeros((0, 1))
                role, count = np.full(len(rows), side), np.ones(len(rows))
            elif unit == carries[side]:
                rows = np.concatenate([moments.mean[np.newaxis], moments.factor])
                role, count = np.full(len(rows), side + REAL_STATISTICS), np.full(len(rows), moments.count)
            else:  # one unit of a side has the moments of all its rows
                rows, role, count = np.zeros((0, len(moments.mean))), np.zeros(0), np.zeros(0)
            if len(rows):
                blocks.append(np.asarray(rows, dtype=np.float64))
                roles.append(role)
                counts.append(count)
            begin.append(begin[-1] + len(rows))
        columns = _columns(np.concatenate(blocks), np.concatenate(roles).astype(np.int8), np.concatenate(counts))
        return RowTable(self, pairs.units, np.array(begin, dtype=np.int64), columns)

    def finish(self, rows: Any) -> SumBlock:
        """Whether each unit has a vector."""
        return SumBlock(np.diff(rows.begin) > 0)


def _columns(features: Array, role: Array, count: Array) -> dict[str, Array]:
    return {"features": features, "role": role, "count": count.astype(np.float64)}


class Probabilities(Sum):
    """Class probabilities of generated images: each class, the sum of p log p, and whether there are any."""

    name = "distributions.probabilities"

    def measure(self, pairs: DistributionPairs, cache: SharedCache) -> SumBlock:
        """One row per unit; zeros for real ones."""
        probs, mine = probabilities(pairs)
        values = np.zeros((len(pairs.units), probs.shape[1] + 2))
        values[mine, :-2] = probs
        with np.errstate(divide="ignore", invalid="ignore"):
            values[mine, -2] = np.where(probs > 0, probs * np.log(probs), 0.0).sum(axis=1)
        values[mine, -1] = 1.0
        return SumBlock(values)


class ProbabilityRows(Rows):
    """Class probabilities of generated images in their order, for scores of parts."""

    name = "distributions.probability_rows"
    drawn = False
    columns: ClassVar[Mapping[str, str]] = {"probs": "f"}

    def measure(self, pairs: DistributionPairs, cache: SharedCache) -> RowsBlock:
        """One row per generated unit."""
        probs, mine = probabilities(pairs)
        count = np.zeros(len(pairs.units), dtype=np.int64)
        count[mine] = 1
        begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        return RowsBlock((RowTable(self, pairs.units, begin, {"probs": probs}),), np.arange(len(pairs.units)))

    def finish(self, rows: Any) -> SumBlock:
        """Whether each unit has probabilities."""
        return SumBlock(np.diff(rows.begin) > 0)


def probabilities(pairs: DistributionPairs) -> tuple[Floats, Array]:
    """The probabilities of generated images, and their units."""
    if "probs" not in pairs.prediction:
        raise MissingData(
            "there are no class probabilities",
            where=pairs.prediction.source,
            remedy="Give 'probs' or 'logits' (n×classes) beside the features.",
        )
    mine = np.flatnonzero((pairs.side == GENERATED) & (pairs.row >= 0))
    return np.asarray(pairs.prediction["probs"][pairs.row[mine]], dtype=np.float64), mine


class FeatureSets:
    """The rows of a block as two sets, each in the order of its units: what a reader works on.

    `rows` are matrices, `unit` the units of their rows, `parts` moments of parts without rows. What readers compute is
    kept in `once`.
    """

    def __init__(self, block: RowsBlock) -> None:
        whole = block.merged()
        table, index = whole.tables[0], whole.index
        count = np.diff(table.begin)[index]
        start = table.begin[index]
        features, role = table.columns["features"], table.columns["role"]
        first = role[np.minimum(start, max(len(role) - 1, 0))] if len(role) else np.zeros(len(index))
        kind = np.where(count > 0, first, -1)
        self.units = len(index)
        self.ids = table.ids[index]
        self.dimensions = features.shape[1]
        self.unit = [np.flatnonzero(kind == code) for code in (REAL, GENERATED)]
        self.rows = [take_rows(features, start[unit]) for unit in self.unit]
        self.parts: list[list[tuple[int, Moments]]] = [[], []]
        for code in (REAL, GENERATED):
            for unit in np.flatnonzero(kind == code + REAL_STATISTICS).tolist():
                rows = features[start[unit] : start[unit] + count[unit]]
                held = Moments(float(table.columns["count"][start[unit]]), rows[0], rows[1:])
                self.parts[code].append((unit, held))
        self._made: dict[Any, Any] = {}

    @staticmethod
    def of(block: RowsBlock) -> FeatureSets:
        """The sets of a block, made once."""
        held: FeatureSets | None = block.__dict__.get("_feature_sets")
        if held is None:
            held = FeatureSets(block)
            block.__dict__["_feature_sets"] = held
        return held

    def once(self, key: Any, make: Any) -> Any:
        """What `make` gives, made at the first call with this key."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def keys(self, code: int) -> Array:
        """Hashes of the ids of one side."""
        return np.asarray(self.once(("keys", code), lambda: unit_keys(self.ids[self.unit[code]])))

    def counts(self, weights: Floats) -> tuple[float, float]:
        """How many vectors each set has: the sum of whole weights, or how many weigh something."""
        sizes = []
        for code in (REAL, GENERATED):
            own = whole_weights(weights[self.unit[code]])
            parts = [moments.count for unit, moments in self.parts[code] if weights[unit] > 0]
            sizes.append(float(own.sum()) + sum(parts))
        return sizes[0], sizes[1]

    def copies(self) -> tuple[int, int, int]:
        """Real and generated vectors that repeat another of their set, and generated ones that equal a real one."""

        def count() -> tuple[int, int, int]:
            real, generated = (row_hashes(rows) for rows in self.rows)
            repeated = [len(hashes) - len(np.unique(hashes)) for hashes in (real, generated)]
            return repeated[0], repeated[1], int(np.isin(generated, real).sum())

        held: tuple[int, int, int] = self.once("copies", count)
        return held

    def moments(self, code: int, weights: Floats) -> Moments | None:
        """The moments of a side under weights of units; None where fewer than two vectors weigh something."""
        own = weights[self.unit[code]]
        parts = [moments for unit, moments in self.parts[code] if weights[unit] > 0]
        if np.count_nonzero(own):
            used = np.flatnonzero(own)
            rows = take_rows(self.rows[code], used)
            parts.insert(0, moments_of_rows(rows, None if (own[used] == 1).all() else whole_weights(own[used])))
        if not parts:
            return None
        merged = merge_moments(parts)
        return None if merged.count == 1 else merged


def whole_weights(weights: Floats) -> Floats:
    """Weights as numbers of copies: whole ones as they are, others scaled to a mean of 1 over those above 0."""
    if not len(weights) or (weights == np.round(weights)).all():
        return np.asarray(weights, dtype=np.float64)
    return np.asarray(weights / weights[weights > 0].mean(), dtype=np.float64)


def base_weights(weights: Weights, units: int) -> Floats:
    """The units' own weights behind rows of weights: what influences are computed at."""
    if weights.role in (Role.POINT, Role.COUNT):
        return np.asarray(next(iter(weights.blocks()))[0], dtype=np.float64)
    base = getattr(weights, "base", None)
    if base is None:
        return np.ones(units)
    copies = getattr(weights, "copies", None)
    return np.asarray(base if copies is None else base * copies, dtype=np.float64)
