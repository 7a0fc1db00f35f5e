"""What metrics read from the two sets: a value, and how much each vector moves it.

A value is computed at the units' own weights. Under bootstrap draws and the jackknife it is the value plus the weighted
mean of the influences of each side: one pass over the sets serves all rows of weights.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidValue
from steelyard.core.metadata import Metadata
from steelyard.core.rows import RowsBlock
from steelyard.core.statistic import RankingReader, Statistic
from steelyard.core.weights import Array, Floats, Role, Weights
from steelyard.tasks.distributions.data import (
    GENERATED,
    REAL,
    FeatureRows,
    FeatureSets,
    ProbabilityRows,
    base_weights,
    take_rows,
    whole_weights,
)
from steelyard.tasks.distributions.kernels import (
    Kernel,
    discrepancy,
    gaussian,
    kernel_sums,
    null_spread,
    permutation_p,
    polynomial,
)
from steelyard.tasks.distributions.moments import (
    Moments,
    frechet,
    frechet_influence,
    merge_moments,
    moments_of_rows,
    transport,
)
from steelyard.tasks.distributions.neighbours import EDGES, Centred, Counts, count_balls, few_nearest_of

GROUPS = 10  # that are left out in turn to correct the bias of the Fréchet distance
LEAST = 3  # vectors per dimension, below which the Fréchet distance says nothing
POINTS = 15  # sizes of an extrapolation
ALIKE = 3.0  # standard errors of alike sets, within which a discrepancy has no interval
UNIT_LENGTH = 1e-3
Influences = tuple[Floats | None, Floats | None]


class SetReader(RankingReader):
    """A value of two sets with its influences."""

    ranking: Statistic = FeatureRows()

    @abstractmethod
    def value(self, sets: FeatureSets, weights: Floats) -> float:
        """The value under weights of units; nan where it is undefined."""

    @abstractmethod
    def influences(self, sets: FeatureSets, weights: Floats) -> Influences:
        """How much each vector of either side moves the value; None where a side has none."""

    def shown(self, sets: FeatureSets, weights: Floats) -> Influences:
        """What a table of units shows."""
        return self.influences(sets, weights)

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        """The value for each row of weights."""
        sets = self.sets(block)
        base = base_weights(weights, sets.units)
        value = self.at(sets, base)
        if weights.role in (Role.POINT, Role.COUNT):
            return np.array([value])
        if math.isnan(value):
            return np.full(weights.rows, np.nan)
        if weights.role is Role.UNITS:
            column = np.full(sets.units, np.nan)
            for code, f in enumerate(sets.once((self, "shown", base.tobytes()), lambda: self.shown(sets, base))):
                if f is not None:
                    column[sets.unit[code]] = f
            return weights @ column
        return linear_rows(sets, weights, value, self.moved(sets, base))

    def sets(self, block: RowsBlock) -> FeatureSets:
        """The sets of a block."""
        return FeatureSets.of(block)

    def at(self, sets: FeatureSets, weights: Floats) -> float:
        """The value under weights of units, computed once."""
        return float(sets.once((self, weights.tobytes()), lambda: self.value(sets, weights)))

    def moved(self, sets: FeatureSets, weights: Floats) -> Influences:
        """The influences, computed once."""
        held: Influences = sets.once((self, "f", weights.tobytes()), lambda: self.influences(sets, weights))
        return held


def linear_rows(sets: FeatureSets, weights: Weights, value: float, moved: Influences) -> Floats:
    """The value plus the weighted mean of each side's influences, for each row of weights."""
    columns = np.zeros((sets.units, 4))
    for code, f in enumerate(moved):
        if f is not None:
            columns[sets.unit[code], 2 * code] = 1.0
            columns[sets.unit[code], 2 * code + 1] = f
    totals = weights @ columns
    result = np.full(weights.rows, value)
    for code, f in enumerate(moved):
        if f is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                result = result + totals[:, 2 * code + 1] / totals[:, 2 * code]
    return result


def own_weights(sets: FeatureSets, weights: Floats) -> tuple[Floats, Floats]:
    """The weights of the vectors of both sides."""
    return whole_weights(weights[sets.unit[REAL]]), whole_weights(weights[sets.unit[GENERATED]])


class SetSizes(RankingReader):
    """How many vectors each set has, and their length: (rows, 3)."""

    ranking: Statistic = FeatureRows()

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        """The sizes under the units' own weights, for each row."""
        sets = FeatureSets.of(block)
        real, generated = sets.counts(base_weights(weights, sets.units))
        return np.tile([real, generated, float(sets.dimensions)], (weights.rows, 1))


class Copies(RankingReader):
    """Real and generated vectors that repeat another of their set, and generated ones that equal a real one."""

    ranking: Statistic = FeatureRows()

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        """The counts, for each row of weights."""
        return np.tile(np.array(FeatureSets.of(block).copies(), dtype=np.float64), (weights.rows, 1))


class Frechet(SetReader):
    """The Fréchet distance; `bias` "keep", "groups" (ten groups left out in turn) or "extrapolate" (to endless n)."""

    bias: str = "keep"

    def value(self, sets: FeatureSets, weights: Floats) -> float:
        moments = self.pair(sets, weights)
        if moments is None:
            return math.nan
        plain = float(sets.once(("frechet", weights.tobytes()), lambda: frechet(*moments)))
        if self.bias == "groups":
            return corrected(sets, weights, moments, plain)
        if self.bias == "extrapolate":
            return extrapolated(sets, weights, moments)
        return plain

    def influences(self, sets: FeatureSets, weights: Floats) -> Influences:
        key = ("frechet f", weights.tobytes())
        held: Influences = sets.once(key, lambda: self._influences(sets, weights))
        return held

    def pair(self, sets: FeatureSets, weights: Floats) -> tuple[Moments, Moments] | None:
        """The moments of both sides."""
        held = sets.once(
            ("moments", weights.tobytes()), lambda: tuple(sets.moments(code, weights) for code in (REAL, GENERATED))
        )
        return None if None in held else held

    def _influences(self, sets: FeatureSets, weights: Floats) -> Influences:
        moments = self.pair(sets, weights)
        if moments is None:
            return None, None
        x, y = moments
        transported = transport(x, y)
        result: list[Floats | None] = [None, None]
        for code, (own, other) in enumerate(((x, y), (y, x))):
            if len(sets.unit[code]) and not sets.parts[code]:
                matrix = transported[0] if code == GENERATED else transported[1]
                f = frechet_influence(sets.rows[code], own, other, matrix)
                result[code] = np.where(weights[sets.unit[code]] > 0, f, 0.0)
        return result[0], result[1]


def corrected(
    sets: FeatureSets,
    weights: Floats,
    moments: tuple[Moments, Moments],
    plain: float,
    groups: tuple[Array, Array] | None = None,
) -> float:
    """The distance less its bias: g·FID - (g - 1)·mean of FID with a group left out, for each side that has vectors."""
    if all(sets.parts):
        return math.nan
    value = plain
    for code in (REAL, GENERATED):
        if sets.parts[code]:
            continue
        used = np.flatnonzero(weights[sets.unit[code]] > 0)
        keys = sets.keys(code)[used] % np.uint64(GROUPS) if groups is None else groups[code][used]
        rows, own = sets.rows[code], whole_weights(weights[sets.unit[code]])[used]
        parts = [
            moments_of_rows(take_rows(rows, used[keys == g]), own[keys == g])
            for g in range(GROUPS)
            if (keys == g).any()
        ]
        if len(parts) < 2 or sum(part.count for part in parts) - max(part.count for part in parts) < 2:
            return math.nan
        left = []
        for g in range(len(parts)):
            rest = [part for i, part in enumerate(parts) if i != g]
            pair = list(moments)
            pair[code] = merge_moments(rest)
            left.append(frechet(pair[0], pair[1]))
        value -= (len(parts) - 1) * (float(np.mean(left)) - plain)
    return value


def fid_by_size(sets: FeatureSets, weights: Floats, reference: Moments) -> tuple[Floats, Floats]:
    """Sizes of random parts of the generated set, and their distances to the reference."""
    used = np.flatnonzero(weights[sets.unit[GENERATED]] > 0)
    least = max(2, len(used) // 10)
    sizes = np.unique(np.linspace(least, len(used), POINTS).astype(np.int64))
    rng = np.random.RandomState(0)
    values = []
    for size in sizes.tolist():
        chosen = np.sort(used[rng.permutation(len(used))[:size]])
        values.append(frechet(reference, moments_of_rows(take_rows(sets.rows[GENERATED], chosen))))
    return sizes.astype(np.float64), np.array(values)


def extrapolated(sets: FeatureSets, weights: Floats, moments: tuple[Moments, Moments]) -> float:
    """The distance of an endless generated set, by a line through distances of parts over 1/size."""
    if sets.parts[GENERATED]:
        return math.nan
    sizes, values = sets.once(("sizes", weights.tobytes()), lambda: fid_by_size(sets, weights, moments[REAL]))
    if len(sizes) < 2:
        return math.nan
    return float(np.polyfit(1 / sizes, values, 1)[1])


class Discrepancy(SetReader):
    """A squared maximum mean discrepancy: kernel "polynomial" or "gaussian".

    `subsets` of `size` vectors are drawn as torch-fidelity draws them.
    """

    kernel: str = "polynomial"
    biased: bool = False
    normalise: bool | None = False
    subsets: int = 0
    size: int = 1000
    seed: int = 2020

    def value(self, sets: FeatureSets, weights: Floats) -> float:
        counts = [np.count_nonzero(weights[unit]) for unit in sets.unit]
        if min(counts) < (1 if self.biased else 2):
            return math.nan
        if self.subsets:
            return float(np.mean(self.each_subset(sets, weights)))
        return self._whole(sets, weights)[0]

    def influences(self, sets: FeatureSets, weights: Floats) -> Influences:
        return self._whole(sets, weights)[1]

    def _whole(self, sets: FeatureSets, weights: Floats) -> tuple[float, Influences]:
        def make() -> tuple[float, Influences]:
            x, y = self.rows(sets)
            wx, wy = own_weights(sets, weights)
            key = ("sums", self.kernel, self.normalise, weights.tobytes())
            sums = sets.once(key, lambda: kernel_sums(x, y, wx, wy, self._function))
            return discrepancy(sums, wx, wy, self.biased)

        held: tuple[float, Influences] = sets.once((self.kernel, self.biased, self.normalise, weights.tobytes()), make)
        return held

    @property
    def _function(self) -> Kernel:
        return polynomial if self.kernel == "polynomial" else gaussian

    def rows(self, sets: FeatureSets) -> tuple[Array, Array]:
        """The vectors of both sides, of length 1 where that is asked for."""
        if self.normalise is False:
            return sets.rows[REAL], sets.rows[GENERATED]
        rows: tuple[Array, Array] = sets.once(("unit rows", self.normalise), lambda: self._unit_rows(sets))
        return rows

    def _unit_rows(self, sets: FeatureSets) -> tuple[Array, Array]:
        out = []
        for rows, side in zip(sets.rows, ("real", "generated"), strict=True):
            out.append(unit_rows(rows, side, "cmmd", self.normalise))
        return out[0], out[1]

    def each_subset(self, sets: FeatureSets, weights: Floats) -> Floats:
        """The discrepancies of random subsets, drawn as torch-fidelity draws them: the generated set first."""

        def make() -> Floats:
            rng, rows, values = np.random.RandomState(self.seed), self.rows(sets), []
            used = [np.flatnonzero(weights[unit] > 0) for unit in sets.unit]
            ones = np.ones(self.size)
            for _ in range(self.subsets):
                y = rows[GENERATED][used[GENERATED][rng.choice(len(used[GENERATED]), self.size, replace=False)]]
                x = rows[REAL][used[REAL][rng.choice(len(used[REAL]), self.size, replace=False)]]
                values.append(discrepancy(kernel_sums(x, y, ones, ones, self._function), ones, ones, self.biased)[0])
            return np.array(values)

        held: Floats = sets.once((self, "subsets", weights.tobytes()), make)
        return held

    def alike_p(self, sets: FeatureSets, weights: Floats) -> float | None:
        """The p of a permutation test where both sets are so alike that there is no interval; else None.

        It is a test of the unbiased discrepancy, whatever this one is.
        """
        if self.biased:
            return replace(self, biased=False).alike_p(sets, weights)

        def make() -> float | None:
            value = self._whole(sets, weights)[0]
            used = [np.flatnonzero(weights[unit] > 0) for unit in sets.unit]
            x, y = (take_rows(rows, mine) for rows, mine in zip(self.rows(sets), used, strict=True))
            if min(len(x), len(y)) < 4 or math.isnan(value):
                return None
            spread = null_spread(x, y, self._function)
            if value > ALIKE * spread:
                return None
            return permutation_p(x, y, value, self._function)

        held: float | None = sets.once((self.kernel, self.normalise, "alike", weights.tobytes()), make)
        return held


def unit_rows(rows: Array, side: str, metric: str, normalise: bool | None) -> Array:
    """Rows of length 1: checked, or divided by their length."""
    if not len(rows):
        return rows
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if normalise:
        if not length.all():
            row = int(np.argmin(length))
            raise InvalidValue(
                f"{metric}: {side} vector {row} is zero and has no direction",
                remedy="Leave such vectors out.",
            )
        return np.asarray(rows / length[:, np.newaxis])
    if np.abs(length - 1).max() > UNIT_LENGTH:
        inception = " They are all at least 0, as Inception's are: is this the wrong extractor?"
        raise InvalidValue(
            f"{metric} needs vectors of length 1, and {side} ones have lengths from {length.min():.3g} to "
            f"{length.max():.3g}",
            remedy=f"Write {metric}(normalise=true).{inception if rows.min() >= 0 else ''}",
        )
    return rows


class Neighbours(RankingReader):
    """Balls around vectors: `part` "precision", "recall", "density" or "coverage"; `edge` "closed" or "open"."""

    ranking: Statistic = FeatureRows()
    part: str = "precision"
    k: int = 3
    edge: str = "closed"

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        """The value at the units' own weights; of single units, whether each is inside, or how many balls hold it."""
        sets = FeatureSets.of(block)
        base = base_weights(weights, sets.units)
        counted = self.each(sets, base)
        if counted is None:
            return np.full(weights.rows, np.nan)
        unit, values = counted
        if weights.role is Role.UNITS:
            column = np.full(sets.units, np.nan)
            column[unit] = values
            return weights @ column
        return np.full(weights.rows, float(np.average(values, weights=base[unit])))

    def each(self, sets: FeatureSets, weights: Floats) -> tuple[Array, Floats] | None:
        """The units that the mean is over, and the value of each; None where a set has too few vectors."""
        used = [unit[weights[unit] > 0] for unit in sets.unit]
        if min(map(len, used)) <= self.k:
            return None
        counts, code = self.counts(sets, weights), EDGES.index(self.edge)
        if self.part == "precision":
            return used[GENERATED], (counts.balls[code] > 0).astype(np.float64)
        if self.part == "density":
            return used[GENERATED], counts.balls[code] / self.k
        covered = counts.recalled[code] if self.part == "recall" else counts.covered[code]
        return used[REAL], covered.astype(np.float64)

    def counts(self, sets: FeatureSets, weights: Floats, *, halves: bool = False) -> Counts:
        """The counts of balls, computed once for all metrics with this k."""
        mask = [weights[unit] > 0 for unit in sets.unit]
        key = ("balls", self.k, halves, mask[0].tobytes(), mask[1].tobytes())

        def make() -> Counts:
            used = [np.flatnonzero(inside) for inside in mask]
            x, y = (take_rows(rows, mine) for rows, mine in zip(sets.rows, used, strict=True))
            most = 8 * (max(self.k, 5) + 1) if halves else max(self.k, 5) + 3
            centred, nearest = sets.once(("nearest", most, *key[3:]), lambda: _nearest(x, y, most))
            keys = tuple(sets.keys(code)[used[code]] for code in (REAL, GENERATED)) if halves else None
            return count_balls(x, y, self.k, nearest, centred, keys)  # type: ignore[arg-type]

        held: Counts = sets.once(key, make)
        return held

    def halves(self, block: Any, weights: Floats) -> Floats | None:
        """The value in both halves of 15 random splits of both sets: (splits, 2)."""
        sets = FeatureSets.of(block)
        if min(np.count_nonzero(weights[unit] > 0) for unit in sets.unit) < 2 * (self.k + 2):
            return None
        numbers = self.counts(sets, weights, halves=True).halves
        assert numbers is not None
        place = ("precision", "recall", "density", "coverage").index(self.part)
        return np.asarray(numbers[:, :, EDGES.index(self.edge), place])


def _nearest(x: Array, y: Array, most: int) -> tuple[Any, Any]:
    centre = np.asarray(x[: 1 << 14].mean(axis=0), dtype=np.float64)
    sets = (Centred(x, centre), Centred(y, centre))
    return sets, tuple(few_nearest_of(rows, most) for rows in sets)


class Vendi(SetReader):
    """The exponential of the entropy of the generated set's similarity, of order q."""

    q: float = 1.0

    def value(self, sets: FeatureSets, weights: Floats) -> float:
        spectrum = self._spectrum(sets, weights)
        return math.nan if spectrum is None else vendi(spectrum[0], self.q)

    def influences(self, sets: FeatureSets, weights: Floats) -> Influences:
        spectrum = self._spectrum(sets, weights)
        if spectrum is None:
            return None, None
        values, squares, used = spectrum
        score = vendi(values, self.q)
        if self.q == 1:
            f = score * (-(squares @ np.log(values)) - math.log(score))
        elif math.isinf(self.q):
            f = -(score**2) * (squares[:, int(np.argmax(values))] - values.max())
        else:
            power = float((values**self.q).sum())
            f = score * self.q / (1 - self.q) * ((squares @ values ** (self.q - 1)) / power - 1)
        out = np.zeros(len(sets.unit[GENERATED]))
        out[used] = f
        return None, out

    def _spectrum(self, sets: FeatureSets, weights: Floats) -> tuple[Floats, Floats, Array] | None:
        """Eigenvalues of the similarity, squared coordinates of the rows along their vectors, and the rows used."""

        def make() -> tuple[Floats, Floats, Array] | None:
            own = weights[sets.unit[GENERATED]]
            used = np.flatnonzero(own > 0)
            if not len(used):
                return None
            rows = unit_rows(take_rows(sets.rows[GENERATED], used).astype(np.float64), "generated", "vendi", True)
            scaled = rows * np.sqrt(own[used] / own[used].sum())[:, np.newaxis]
            _, singular, turned = np.linalg.svd(scaled, full_matrices=False)
            values = singular**2
            inside = values > 1e-15
            return values[inside], (rows @ turned[inside].T) ** 2, used

        held: tuple[Floats, Floats, Array] | None = sets.once(("spectrum", weights.tobytes()), make)
        return held


def vendi(values: Floats, q: float) -> float:
    """The exponential of Rényi's entropy of order q."""
    if q == 1:
        return float(np.exp(-(values * np.log(values)).sum()))
    if math.isinf(q):
        return float(1 / values.max())
    return float(np.exp(np.log((values**q).sum()) / (1 - q)))


class SplitScore(RankingReader):
    """The inception score of parts: their mean; `shuffle` mixes rows as torch-fidelity does."""

    ranking: Statistic = ProbabilityRows()
    splits: int = 10
    shuffle: bool = False
    seed: int = 2020

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        """The mean over parts of the rows that weigh something, and what each row moves it."""
        table, index = block.merged().tables[0], block.merged().index
        count = np.diff(table.begin)[index]
        base = base_weights(weights, len(index))
        unit = np.flatnonzero((count > 0) & (base > 0))
        probs = table.columns["probs"][table.begin[index[unit]]]
        if len(unit) < self.splits:
            return np.full(weights.rows, np.nan)
        scores, f = self.each_part(probs)
        value = float(scores.mean())
        if weights.role in (Role.POINT, Role.COUNT):
            return np.array([value])
        columns = np.zeros((len(index), 2))
        columns[unit, 0], columns[unit, 1] = 1.0, f
        if weights.role is Role.UNITS:
            return weights @ np.where(columns[:, 0] > 0, columns[:, 1], np.nan)
        totals = weights @ columns
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(value + totals[:, 1] / totals[:, 0])

    def each_part(self, probs: Floats) -> tuple[Floats, Floats]:
        """The score of each part, and what each row moves the mean by."""
        order = np.random.RandomState(self.seed).permutation(len(probs)) if self.shuffle else np.arange(len(probs))
        scores, f = [], np.zeros(len(probs))
        for part in range(self.splits):
            mine = order[part * len(order) // self.splits : (part + 1) * len(order) // self.splits]
            rows = probs[mine]
            with np.errstate(divide="ignore", invalid="ignore"):
                each = np.where(rows > 0, rows * (np.log(rows) - np.log(rows.mean(axis=0))), 0.0).sum(axis=1)
            score = float(np.exp(each.mean()))
            scores.append(score)
            f[mine] = score * (each - each.mean())
        return np.array(scores), f
