"""Metrics of two sets of feature vectors."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.distributions.data import SPATIAL, FeatureRows, FeatureSets, Probabilities
from steelyard.tasks.distributions.readers import (
    LEAST,
    Copies,
    Discrepancy,
    Frechet,
    Neighbours,
    SetSizes,
    SplitScore,
    Vendi,
)

INCEPTION = ("", "inception", "inception-2048", "inception_v3", "inceptionv3", "inception-v3")
BIAS_SHOWN = 256  # dimensions up to which a plain distance is shown with its bias
UNKNOWN = "The extractor is not known, and distances of two extractors cannot be compared: set the option extractor."


def sizes_of(totals: TotalsView) -> tuple[float, float, float]:
    """Real and generated vectors, and their length."""
    real, generated, dimensions = totals[SetSizes()][0]
    return float(real), float(generated), float(dimensions)


def lacks_vectors(totals: TotalsView) -> bool:
    """Whether a side is statistics: a mean and a covariance without vectors."""
    return "statistics" in totals.metadata.holds


def size_text(size: float) -> str:
    """A number of vectors; 0 where statistics do not say it."""
    return f"{size:,.0f}" if size else "an unknown number of"


def own_weights(state: State) -> Floats:
    """The units' own weights."""
    return np.asarray(next(iter(POINT.bind(state.units).blocks()))[0], dtype=np.float64)


class SetMetric(Metric):
    """Base of metrics of two sets of vectors."""

    by_count: ClassVar[bool] = True
    reaches_best: ClassVar[bool] = False

    @abstractmethod
    def reader(self) -> Any:
        """What is read from the sets."""

    def requirements(self) -> tuple[Requirement, ...]:
        """The value, the sizes of the sets and their copies."""
        return (self.reader(), SetSizes(), Copies())

    def reduce(self, totals: TotalsView) -> Floats:
        """The value that was read."""
        return np.asarray(totals[self.reader()], dtype=np.float64)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Vectors that both sets share or that a set repeats, and whether the extractor is known."""
        real, generated, _ = sizes_of(totals)
        twice_real, twice_generated, shared = totals[Copies()][0]
        notes = []
        if shared:
            notes.append(
                f"{shared:,.0f} of {generated:,.0f} generated vectors equal a real one: the same file, or copies?"
            )
        for side, copies, count in (("real", twice_real, real), ("generated", twice_generated, generated)):
            if copies and self.of_pairs:
                notes.append(
                    f"{copies:,.0f} of {count:,.0f} {side} vectors repeat another, which raises kid and shrinks radii."
                )
        return (*notes, *(() if totals.metadata.flags.get("extractor") else (UNKNOWN,)))

    def undefined_reason(self, totals: TotalsView) -> str:
        """The sizes, where they are too small, or that there are no vectors."""
        if lacks_vectors(totals):
            return f"{self.name} needs the vectors of both sets, and one of them is statistics"
        real, generated, _ = sizes_of(totals)
        return f"there are {real:,.0f} real and {generated:,.0f} generated vectors, and each set needs 2"


class FrechetMetric(SetMetric):
    """Base of the Fréchet distances. `least` is how many vectors per dimension each set needs."""

    least: Annotated[float, Between(0)] = LEAST

    better: ClassVar[str] = "lower"
    resampling: ClassVar[str] = "linear"

    def label_for(self, metadata: Metadata) -> str:
        """The extractor beside the name: only Inception's distance is called FID."""
        extractor = str(metadata.flags.get("extractor", ""))
        if extractor.lower() in INCEPTION:
            return f"{self.title}, spatial" if metadata.flags.get("layer") == SPATIAL else self.title
        return f"{self.title.replace('FID', 'Fréchet distance')}, {extractor}"

    def enough(self, totals: TotalsView) -> bool:
        """Whether both sets have enough vectors; a size that is not known is taken to be."""
        real, generated, dimensions = sizes_of(totals)
        return min(real or math.inf, generated or math.inf) >= self.least * dimensions

    def reduce(self, totals: TotalsView) -> Floats:
        """The value, where there are enough vectors."""
        return np.asarray(totals[self.reader()] if self.enough(totals) else totals.undefined())

    def undefined_reason(self, totals: TotalsView) -> str:
        """How many vectors there are for how many dimensions."""
        real, generated, dimensions = sizes_of(totals)
        if self.enough(totals):
            return super().undefined_reason(totals)
        fewest = min(real or math.inf, generated or math.inf)
        return (
            f"{count_text(int(fewest), 'vector')} for {dimensions:,.0f} dimensions: {self.name} has no useful value "
            f"below {self.least:g} per dimension; use kid"
        )


class Fid(FrechetMetric):
    r"""FID: Fréchet distance between the features of real and generated images, as all tools compute it.

    $\mathrm{FID} = |\mu_x - \mu_y|^2 + \mathrm{tr}(\Sigma_x + \Sigma_y - 2 (\Sigma_x \Sigma_y)^{1/2})$

    Covariances are over n - 1. The trace of the root is a sum of singular values, so that few or repeated vectors lose
    no digits. The value of n vectors is too high by about c/n: `fid_corrected` takes that off, and has the interval.
    Two models with as many generated vectors are compared by it, since the bias cancels.

    Undefined when a set has fewer than `least` vectors per dimension (3), or fewer than two.

    Pros:
    - What papers report.

    Cons:
    - Biased upwards: values of different n cannot be compared.
    - Sees means and covariances only.
    - Depends on the extractor and on how images were resized.
    """

    name, title, range = "fid", "FID", (0.0, float("inf"))
    reference: ClassVar[str] = "pytorch-fid 0.3.0, clean-fid 0.1.35, torch-fidelity 0.4.0"
    reaches_best: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("frechet", "frechet_inception_distance", "fd")

    def reader(self) -> Frechet:
        """The distance as it is."""
        return Frechet()

    def requirements(self) -> tuple[Requirement, ...]:
        """The corrected distance too, for the note."""
        return (Frechet(), Frechet(bias="groups"), SetSizes(), Copies())

    def no_interval_of(self, state: State) -> str:
        """An interval around a biased value would not hold the true one."""
        return "it is biased upwards; fid_corrected has one"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """How large the bias is, where that is quickly said."""
        real, generated, dimensions = sizes_of(totals)
        notes = super().notes(totals)
        if not self.enough(totals):
            return notes
        sizes = f"{size_text(generated)} generated and {size_text(real)} real vectors"
        if dimensions > BIAS_SHOWN:
            return (f"{self} is biased upwards at {sizes}; fid_corrected estimates by how much.", *notes)
        value, corrected = (float(totals[Frechet(bias=bias)][0]) for bias in ("keep", "groups"))
        if math.isnan(corrected):
            return notes
        return (
            f"{self} is {value:.4g} at {sizes}, of which about {value - corrected:.2g} is bias; corrected "
            f"{corrected:.4g}.",
            *notes,
        )


class FidCorrected(FrechetMetric):
    r"""Corrected FID: the Fréchet distance less its bias.

    $\mathrm{FID}_c = \mathrm{FID} - \sum_s (g - 1)(\overline{\mathrm{FID}_{-i}} - \mathrm{FID})$

    Ten groups of each side s, by a hash of the ids, are left out in turn. Nearly unbiased from 3 vectors per dimension
    on, with no more spread than FID. May be below 0 for sets that are alike.

    Undefined when a set has fewer than `least` vectors per dimension (3), or fewer than two.

    Pros:
    - Values of different n can be compared.
    - Has an interval that holds.

    Cons:
    - Not what papers report.
    - A side that is a file of statistics is not corrected.
    """

    name, title, range = "fid_corrected", "FID, corrected", (-float("inf"), float("inf"))

    def reader(self) -> Frechet:
        """The distance less its bias."""
        return Frechet(bias="groups")

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Whether a side is moments without vectors."""
        notes = super().notes(totals)
        if lacks_vectors(totals):
            return (f"{self} leaves out the bias and the spread of a side that is statistics without vectors.", *notes)
        return notes

    def undefined_reason(self, totals: TotalsView) -> str:
        """That there are no groups to leave out."""
        if not self.enough(totals):
            return super().undefined_reason(totals)
        if lacks_vectors(totals):
            return "both sets are statistics without vectors, or one has too few vectors to leave groups out"
        return "a set has too few vectors to leave groups out"


class FidInfinity(FrechetMetric):
    r"""FID∞: the Fréchet distance of an endless generated set, by extrapolation.

    $\mathrm{FID}(n) \approx \mathrm{FID}_\infty + c / n$

    A line is fitted through the distances of 15 random parts of the generated set, from a tenth of it to all, with a
    fixed seed (Chong and Forsyth 2020). The bias of the real set stays.

    Undefined when a set has fewer than `least` vectors per dimension (3), or fewer than two.

    Pros:
    - Known from papers.

    Cons:
    - More spread than `fid_corrected`, and too low with few vectors per dimension.
    """

    name, title, range = "fid_infinity", "FID∞", (-float("inf"), float("inf"))
    resampling: ClassVar[str] = "approximate"
    of_pairs: ClassVar[bool] = True

    def no_interval_of(self, state: State) -> str:
        """The line's own spread is not known."""
        return "its spread is not known; fid_corrected has one"

    def reader(self) -> Frechet:
        """The extrapolated distance."""
        return Frechet(bias="extrapolate")

    def undefined_reason(self, totals: TotalsView) -> str:
        """That there are no parts of several sizes."""
        if not self.enough(totals):
            return super().undefined_reason(totals)
        return "the generated set is statistics, or has too few vectors for parts of several sizes"


def alike_text(reader: Discrepancy, state: State) -> str:
    """Why a discrepancy of alike sets has no interval, with the p of a test; nothing where it has one."""
    sets = FeatureSets.of(state.blocks[FeatureRows()])  # type: ignore[arg-type]
    p = reader.alike_p(sets, own_weights(state))
    return "" if p is None else f"the two sets are not shown to differ (permutation test: p = {p:.2g})"


class Kid(SetMetric):
    r"""KID: squared maximum mean discrepancy with a cubic kernel, by all pairs.

    $\mathrm{KID} = \overline{k(x, x')} + \overline{k(y, y')} - 2 \overline{k(x, y)},\; k = (x \cdot y / d + 1)^3$

    Means are over pairs of different vectors, so it is unbiased, and may be below 0. No draw is made; with
    `subsets=100` it is the mean over random subsets of `size` vectors, drawn as torch-fidelity draws them (`seed`).
    `scale=1000` multiplies, as papers do. Where both sets are so alike that the statistic is degenerate, a permutation
    test replaces the interval.

    Undefined when a set has fewer than two vectors, or fewer than `size` with `subsets`.

    Pros:
    - Unbiased: sets of a few hundred vectors can be used.
    - Sees more than means and covariances.

    Cons:
    - On no natural scale.
    - Repeated vectors raise it: they are pairs at distance 0.
    """

    subsets: Annotated[int, Between(0, 100_000, whole=True)] = 0
    size: Annotated[int, Between(2, whole=True)] = 1000
    seed: Annotated[int, Between(0, 2**32 - 1, whole=True)] = 2020
    scale: Annotated[float, Between(0, open_low=True)] = 1.0

    name, title, range, better = "kid", "KID", (-float("inf"), float("inf")), "lower"
    reference: ClassVar[str] = "torch-fidelity 0.4.0, torchmetrics 1.9.0, clean-fid 0.1.35"
    resampling: ClassVar[str] = "linear"
    of_pairs: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("kernel_inception_distance",)

    def reader(self) -> Discrepancy:
        """All pairs, or subsets."""
        return Discrepancy(subsets=self.subsets, size=self.size, seed=self.seed)

    def _fits(self, totals: TotalsView) -> bool:
        real, generated, _ = sizes_of(totals)
        return not self.subsets or min(real, generated) >= self.size

    def reduce(self, totals: TotalsView) -> Floats:
        """The value, times the scale."""
        return np.asarray(self.scale * totals[self.reader()]) if self._fits(totals) else totals.undefined()

    def undefined_reason(self, totals: TotalsView) -> str:
        """The sizes, where they are too small."""
        if self._fits(totals) or lacks_vectors(totals):
            return super().undefined_reason(totals)
        real, generated, _ = sizes_of(totals)
        fewest = min(real, generated)
        return f"subsets of {self.size:,} cannot be drawn from {fewest:,.0f} vectors; set size to {fewest:.0f} or less"

    def no_interval_of(self, state: State) -> str:
        """Alike sets have no interval, but a test."""
        return alike_text(self.reader(), state)


class Cmmd(SetMetric):
    r"""CMMD: squared maximum mean discrepancy with a Gaussian kernel, times 1,000; for CLIP features of length 1.

    $\mathrm{CMMD} = 1000 \left(\overline{k(x, x')} + \overline{k(y, y')} - 2 \overline{k(x, y)}\right),\;
    k = e^{-|x - y|^2 / 200}$

    Diagonals are in the means, as in the published code; `unbiased=true` leaves them out. Vectors must have length 1:
    `normalise=true` divides, `normalise=false` takes them as they are. With length 1 the kernel is nearly a line, and
    CMMD is about 10 times the squared distance of the means: it sees little else. Where both sets are so alike that the
    statistic is degenerate, a permutation test replaces the interval.

    Undefined when a set is empty (with `unbiased`, has fewer than two vectors).

    Pros:
    - Needs few vectors.

    Cons:
    - Nearly blind to anything but the mean.
    - Biased upwards by about 10 (tr Σx/n + tr Σy/m).
    """

    unbiased: bool = False
    normalise: bool | None = None

    name, title, range, better = "cmmd", "CMMD", (-float("inf"), float("inf")), "lower"
    reference: ClassVar[str] = "cmmd of google-research, commit 01553912"
    resampling: ClassVar[str] = "linear"

    def reader(self) -> Discrepancy:
        """All pairs with the Gaussian kernel."""
        return Discrepancy(kernel="gaussian", biased=not self.unbiased, normalise=self.normalise)

    def no_interval_of(self, state: State) -> str:
        """Alike sets have no interval, but a test."""
        return alike_text(self.reader(), state)

    def reduce(self, totals: TotalsView) -> Floats:
        """The value, times 1,000."""
        return np.asarray(1000 * totals[self.reader()])

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Drawn vectors have any length."""
        return (cls(normalise=True),)


class NeighbourMetric(SetMetric):
    """Base of the metrics by balls around vectors."""

    k: Annotated[int, Between(1, whole=True)] = 3
    edge: Literal["closed", "open"] = "closed"
    like: Literal["", "kynkaanniemi", "prdc"] = ""
    equal: bool | None = None

    better: ClassVar[str] = "higher"
    resampling: ClassVar[str] = "halves"
    of_pairs: ClassVar[bool] = True
    needs_equal: ClassVar[bool] = False

    def reader(self) -> Neighbours:
        """The balls with this k and edge; a preset names both."""
        k, edge = {"kynkaanniemi": (3, "closed"), "prdc": (5, "open")}.get(self.like, (self.k, self.edge))
        return Neighbours(part=self.name, k=k, edge=edge)

    def _unequal(self, totals: TotalsView) -> bool:
        real, generated, _ = sizes_of(totals)
        asked = self.needs_equal and not self.like if self.equal is None else self.equal
        return bool(asked) and real != generated

    def reduce(self, totals: TotalsView) -> Floats:
        """The value, where sizes allow it."""
        return np.asarray(totals.undefined() if self._unequal(totals) else totals[self.reader()])

    def undefined_reason(self, totals: TotalsView) -> str:
        """Sizes that differ, or are too small."""
        real, generated, _ = sizes_of(totals)
        if lacks_vectors(totals):
            return super().undefined_reason(totals)
        if self._unequal(totals):
            return (
                f"{real:,.0f} real and {generated:,.0f} generated vectors: {self.name} rises with the size of a set; "
                f"use equal sizes (option equal=yes cuts the larger), or {self.name}(equal=false)"
            )
        return (
            f"there are {real:,.0f} real and {generated:,.0f} generated vectors, and neighbour "
            f"{self.reader().k} needs more"
        )

    def halves(self, state: State) -> Floats | None:
        """The value in random halves of both sets."""
        return self.reader().halves(state.blocks[FeatureRows()], own_weights(state))

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Any sizes, and both edges."""
        return (cls(equal=False),)


class Precision(NeighbourMetric):
    r"""Precision: share of generated vectors inside a ball of real ones.

    $P = \frac{1}{m} |\{y : \exists x, |y - x| \le r_k(x)\}|$

    The radius of a vector is the distance to its k-th neighbour in its own set. `edge=open` counts only what is nearer.
    Presets: `like=kynkaanniemi` (k = 3, closed) and `like=prdc` (k = 5, open).

    Undefined when a set has k vectors or fewer.

    Pros:
    - Says how real images look, apart from how varied they are.

    Cons:
    - One outlier among the real ones has a large ball.
    """

    name, title, range = "precision", "Precision", (0.0, 1.0)
    reference: ClassVar[str] = "torch-fidelity 0.4.0, prdc 0.2"
    reaches_best: ClassVar[bool] = True


class Recall(NeighbourMetric):
    r"""Recall: share of real vectors inside a ball of generated ones.

    $R = \frac{1}{n} |\{x : \exists y, |x - y| \le r_k(y)\}|$

    Needs sets of equal size, since it rises with the number of generated vectors; `equal=false` computes it anyway.
    Presets as in `precision`.

    Undefined when a set has k vectors or fewer, or the sizes differ.

    Pros:
    - Says how varied images are, apart from how real they look.

    Cons:
    - Vectors that are far from the rest have large balls and raise it.
    """

    name, title, range = "recall", "Recall", (0.0, 1.0)
    reference: ClassVar[str] = "torch-fidelity 0.4.0, prdc 0.2"
    needs_equal: ClassVar[bool] = True
    reaches_best: ClassVar[bool] = True


class Density(NeighbourMetric):
    r"""Density: how many balls of real vectors hold a generated one, over k, on average.

    $D = \frac{1}{k m} \sum_{y} |\{x : |y - x| < r_k(x)\}|$

    Can pass 1. Presets as in `precision`.

    Undefined when a set has k vectors or fewer.

    Pros:
    - One outlier among the real vectors counts little.

    Cons:
    - Has no upper end: 2 is not twice as good as 1.
    """

    k: Annotated[int, Between(1, whole=True)] = 5
    edge: Literal["closed", "open"] = "open"

    name, title, range = "density", "Density", (0.0, float("inf"))
    reference: ClassVar[str] = "prdc 0.2"


class Coverage(NeighbourMetric):
    r"""Coverage: share of real vectors whose ball holds a generated one.

    $C = \frac{1}{n} |\{x : \exists y, |x - y| < r_k(x)\}|$

    Needs sets of equal size, since it rises with the number of generated vectors; `equal=false` computes it anyway.
    Presets as in `precision`.

    Undefined when a set has k vectors or fewer, or the sizes differ.

    Pros:
    - Balls are those of real vectors only: generated outliers do not raise it.

    Cons:
    - Rises with the number of generated vectors.
    """

    k: Annotated[int, Between(1, whole=True)] = 5
    edge: Literal["closed", "open"] = "open"

    name, title, range = "coverage", "Coverage", (0.0, 1.0)
    reference: ClassVar[str] = "prdc 0.2"
    needs_equal: ClassVar[bool] = True
    reaches_best: ClassVar[bool] = True


class VendiScore(SetMetric):
    r"""Vendi score: how many different vectors the generated set is worth.

    $V = e^{-\sum_i \lambda_i \ln \lambda_i}$

    The λ are the eigenvalues of the mean of y yᵀ over vectors of length 1. `q` is the order of the entropy: 1, 2 or
    inf. At most the smaller of n and d. It rises with n: compare sets of equal size.

    Undefined when there is no generated vector.

    Pros:
    - Needs no real images.

    Cons:
    - Noise is diverse too.
    - Rises with n.
    """

    q: Annotated[float, Between(0, open_low=True)] = 1.0

    name, title, range, better = "vendi", "Vendi score", (1.0, float("inf")), "higher"
    reference: ClassVar[str] = "vendi-score 0.0.3"
    resampling: ClassVar[str] = "linear"

    def reader(self) -> Vendi:
        """The spectrum of the generated set."""
        return Vendi(q=float(self.q))

    def undefined_reason(self, totals: TotalsView) -> str:
        """There is none."""
        return super().undefined_reason(totals) if lacks_vectors(totals) else "there is no generated vector"


class InceptionScore(Metric):
    r"""Inception score: how sure and how varied the classes of generated images are.

    $\mathrm{IS} = \exp \frac{1}{m} \sum_y \mathrm{KL}(p(c \mid y) \| p(c))$

    Takes class probabilities of generated images; real ones do not matter. `splits=10` is the mean over parts in order,
    and with `shuffle=true` over parts that are mixed as torch-fidelity mixes them. Parts of few images push it down.

    Undefined when there are no generated images, or fewer than `splits`.

    Pros:
    - Needs no real images.

    Cons:
    - Blind to anything that the classifier's classes do not see.
    - Rises with the number of images.
    """

    splits: Annotated[int, Between(1, whole=True)] = 1
    shuffle: bool = False
    seed: Annotated[int, Between(0, 2**32 - 1, whole=True)] = 2020

    name, title, range, better = "inception_score", "Inception score", (1.0, float("inf")), "higher"
    reference: ClassVar[str] = "torch-fidelity 0.4.0"
    reaches_best: ClassVar[bool] = False
    aliases: ClassVar[tuple[str, ...]] = ("is", "isc")

    def requirements(self) -> tuple[Requirement, ...]:
        """Sums; the rows where there are parts."""
        return (Probabilities(),) if self.splits == 1 else (self._parts(),)

    def _parts(self) -> SplitScore:
        return SplitScore(splits=self.splits, shuffle=self.shuffle, seed=self.seed)

    def reduce(self, totals: TotalsView) -> Floats:
        """The score from sums, or the mean over parts."""
        if self.splits > 1:
            return np.asarray(totals[self._parts()])
        sums = totals[Probabilities()]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sums[:, :-2] / sums[:, -1:]
            marginal = np.where(mean > 0, mean * np.log(mean), 0.0).sum(axis=1)
            value = np.exp(sums[:, -2] / sums[:, -1] - marginal)
        return np.where(sums[:, -1] > 0, np.maximum(value, 1.0), np.nan)

    def no_interval_of(self, state: State) -> str:
        """A mean over parts is too low by an amount that depends on their size."""
        return "" if self.splits == 1 else "parts of few images push it down; splits=1 has one"

    def undefined_reason(self, totals: TotalsView) -> str:
        """Too few images."""
        return f"there are fewer than {self.splits} generated images with probabilities"


METRICS = (
    Fid,
    FidCorrected,
    FidInfinity,
    Kid,
    Cmmd,
    Precision,
    Recall,
    Density,
    Coverage,
    InceptionScore,
    VendiScore,
)
