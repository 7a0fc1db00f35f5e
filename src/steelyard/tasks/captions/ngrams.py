"""Metrics of captions that count n-grams: BLEU, ROUGE, METEOR, CIDEr, and SPIDEr, which adds SPICE.

Conventions: tokens are those of the Penn Treebank, lower-cased and without punctuation, as COCO's captions are
scored; `sacrebleu` and `rouge_score` have the tokens of those packages. An image has one candidate and one or more
references. States keep sums by image, and the rows that CIDEr looks at across images.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.records import as_object
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Rows, SharedCache, Statistic, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.language import tables
from steelyard.language.tokens import alphanumeric, mteval13a, pack
from steelyard.tasks.captions.data import CaptionPairs, captions, tokenise_pairs
from steelyard.tasks.captions.spice import image_scores

OVERLAPS = (
    "matched1", "matched2", "matched3", "matched4", "guessed1", "guessed2", "guessed3", "guessed4",
    "length", "closest", "rouge_l", "cider_d", "cider", "rouge1", "rouge2", "rouge_lcs",
)  # fmt: skip
METEOR_COLUMNS = (
    "matched_candidate", "all_candidate", "matched_reference", "all_reference",
    "words_candidate", "words_reference", "chunks", "score",
)  # fmt: skip
TINY, SMALL = 1e-15, 1e-9  # what COCO's BLEU adds to numerators and denominators
Tokens = Literal["ptb", "mteval", "mteval_lower", "alphanumeric"]
_TOKENISED: dict[str, Callable[[str], str]] = {
    "mteval": mteval13a,
    "mteval_lower": lambda text: mteval13a(text.lower()),
    "alphanumeric": alphanumeric,
}


def overlap(candidates: Sequence[str], references: Sequence[str], starts: Array) -> dict[str, Array]:
    """Overlap of tokenised candidates with their references, a column a quantity."""
    shared = _native.ngram_overlap(*pack(candidates), *pack(references), starts)
    return {name: np.ascontiguousarray(shared[:, i]) for i, name in enumerate(OVERLAPS)}


def overlap_columns(pairs: CaptionPairs, cache: SharedCache, tokens: str = "ptb") -> dict[str, Array]:
    """The overlap by image, under some tokens."""

    def make() -> dict[str, Array]:
        texts = captions(pairs, cache)
        if tokens == "ptb":
            return overlap(*tokenise_pairs(pairs, cache), texts.starts)
        tokenise = _TOKENISED[tokens]
        references = [tokenise(text) for text in texts.references]
        return overlap([tokenise(text) for text in texts.candidates], references, texts.starts)

    return cache.once(("overlap", tokens), make)


class ImageCount(Sum):
    """The images that have a reference."""

    name = "captions.images"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((np.bincount(pairs.owner, minlength=len(pairs.units)) > 0).astype(float))


class OverlapSum(Sum):
    """A count of n-grams or words, or a score of each image, under some tokens."""

    name = "captions.overlap"

    of: str
    tokens: Tokens = "ptb"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(overlap_columns(pairs, cache, self.tokens)[self.of])


def bleu_of(sums: Mapping[str, Array], n: int) -> Array:
    """BLEU of counts: of all images together, or of each."""
    product = np.ones(len(sums["length"]))
    for k in range(1, n + 1):
        product = product * ((sums[f"matched{k}"] + TINY) / (sums[f"guessed{k}"] + SMALL))
    shape = (sums["length"] + TINY) / (sums["closest"] + SMALL)
    penalty = np.exp(np.minimum(0.0, 1 - 1 / shape))
    return np.asarray(product ** (1 / n) * penalty, dtype=np.float64)


class ImageBleu(Sum):
    """The BLEU of each image."""

    name = "captions.bleu"

    n: int

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(bleu_of(overlap_columns(pairs, cache), self.n))


class MeteorSum(Sum):
    """One of METEOR's counts, or its score, by image."""

    name = "captions.meteor"

    of: str

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        def make() -> Array:
            return meteor_counts(*tokenise_pairs(pairs, cache), captions(pairs, cache).starts)

        return SumBlock(np.ascontiguousarray(cache.once("meteor", make)[:, METEOR_COLUMNS.index(self.of)]))


def meteor_counts(candidates: Sequence[str], references: Sequence[str], starts: Array) -> Array:
    """METEOR's counts and score of tokenised candidates, by image, in the order of `METEOR_COLUMNS`.

    A candidate that matches a reference from end to end has no chunk, as in METEOR 1.5's sums over a file.
    """
    counts: Array = _native.meteor_counts(tables.wordnet(), *pack(candidates), *pack(references), starts)
    columns = dict(zip(METEOR_COLUMNS, counts.T, strict=True))
    whole = (columns["chunks"] == 1) & (columns["score"] > 0.99 * _meteor_mean(columns))  # without a penalty
    columns["chunks"][whole] = 0.0
    return counts


def _meteor_mean(sums: Mapping[str, Array]) -> Array:
    """The mean of precision and recall, before the penalty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = sums["matched_candidate"] / sums["all_candidate"]
        recall = sums["matched_reference"] / sums["all_reference"]
        return np.asarray(1 / (0.15 / precision + 0.85 / recall), dtype=np.float64)


def meteor_of(sums: Mapping[str, Array]) -> Array:
    """METEOR of counts that were added up over images."""
    with np.errstate(divide="ignore", invalid="ignore"):
        broken = sums["chunks"] / ((sums["words_candidate"] + sums["words_reference"]) / 2)
        value = _meteor_mean(sums) * (1 - 0.6 * broken**0.2)
    return np.where(sums["matched_candidate"] > 0, value, 0.0)


class CiderRows(Rows):
    """Captions in tokens: how rare an n-gram is, is counted over the references of all images.

    The first row of an image is its candidate, the others are its references.
    """

    name = "captions.cider"
    columns: ClassVar[Mapping[str, str]] = {"text": "text"}

    form: Literal["d", "plain"]

    @property
    def _of(self) -> str:
        return "cider_d" if self.form == "d" else "cider"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> RowsBlock:
        """The captions, and what they come to if there are no others."""
        return _rows(self, pairs, cache, {}, overlap_columns(pairs, cache)[self._of])

    def finish(self, rows: RowTable) -> SumBlock:
        return SumBlock(_overlap_of(rows)[self._of])

    def bare(self, rows: RowTable) -> RowTable:
        """Images without references."""
        return _candidates_of(rows)


class SpiderRows(Rows):
    """The caption columns, with the SPICE of each image beside its candidate."""

    name = "captions.spider"
    columns: ClassVar[Mapping[str, str]] = {"text": "text", "spice": "f"}

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> RowsBlock:
        """The captions, and what they come to if there are no others."""
        spice = image_scores(pairs, cache, "all", "any", True, "f1", "original")
        starts = captions(pairs, cache).starts
        beside = np.zeros(len(spice) + int(starts[-1]))
        beside[starts[:-1] + np.arange(len(spice))] = spice
        return _rows(self, pairs, cache, {"spice": beside}, (spice + overlap_columns(pairs, cache)["cider_d"]) / 2)

    def finish(self, rows: RowTable) -> SumBlock:
        first, has = rows.begin[:-1], np.diff(rows.begin) > 0
        spice = np.zeros(len(rows.ids))
        spice[has] = rows.columns["spice"][first[has]]
        return SumBlock((spice + _overlap_of(rows)["cider_d"]) / 2)

    def bare(self, rows: RowTable) -> RowTable:
        """Images without references."""
        return _candidates_of(rows)


def _rows(
    statistic: Rows, pairs: CaptionPairs, cache: SharedCache, beside: Mapping[str, Array], done: Array
) -> RowsBlock:
    units = len(pairs.units)

    def make() -> tuple[Array, Array]:
        candidates, references = tokenise_pairs(pairs, cache)
        starts = captions(pairs, cache).starts
        texts = as_object([*candidates, *references])
        owner = np.concatenate([np.arange(units), pairs.owner])
        return texts[np.argsort(owner, kind="stable")], starts + np.arange(units + 1)

    texts, begin = cache.once("caption rows", make)
    table = RowTable(statistic, pairs.units, begin, {"text": texts, **beside}, done)
    return RowsBlock((table,), np.arange(units))


def _overlap_of(rows: RowTable) -> dict[str, Array]:
    texts, begin = rows.columns["text"], rows.begin
    counts = np.diff(begin)
    is_first = np.zeros(len(texts), dtype=bool)
    is_first[begin[:-1][counts > 0]] = True
    candidates: Array = as_object([""] * len(rows.ids))
    candidates[counts > 0] = texts[is_first]
    starts = np.concatenate([[0], np.cumsum(np.maximum(counts - 1, 0))]).astype(np.int64)
    return overlap(candidates.tolist(), texts[~is_first].tolist(), starts)


def _candidates_of(rows: RowTable) -> RowTable:
    has = np.diff(rows.begin) > 0
    begin = np.concatenate([[0], np.cumsum(has)]).astype(np.int64)
    first = rows.begin[:-1][has]
    return RowTable(rows.need, rows.ids, begin, {name: column[first] for name, column in rows.columns.items()})


IMAGES = ImageCount()


class _Mean(Metric):
    """A mean over images of what `need` keeps of each."""

    range = (0.0, 1.0)

    @property
    @abstractmethod
    def statistic(self) -> Statistic:
        """The value of each image."""

    def requirements(self) -> tuple[Requirement, ...]:
        return self.statistic, IMAGES

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.statistic], totals[IMAGES])


class Bleu(Metric):
    r"""BLEU: the share of a caption's n-grams that stand in a reference, with a penalty for short captions.

    $\mathrm{BLEU}_n = \exp\!\left(\min\left(0, 1 - \frac{r}{c}\right)\right) \left(\prod_{k \le n} \frac{\sum_i
    m_{ik}}{\sum_i g_{ik}}\right)^{1/n}$

    Matches $m$ are clipped at the largest count in one reference, $g$ are the candidates' n-grams, $c$ their words,
    $r$ the words of the reference closest in length. `level=corpus` adds up over images before dividing, as COCO
    does; `level=image` is the mean of the images' own BLEU.

    Undefined when there is no image.

    Pros:
    - Known everywhere, and cheap.

    Cons:
    - Counts overlap of words, whether or not the meaning is right.
    - An image whose caption has no matching n-gram of the longest kind has a BLEU near 0.
    """

    name = "bleu"
    title = "BLEU"
    at = "n"
    reference = "pycocoevalcap.bleu"
    range = (0.0, 1.0)

    n: Annotated[int, Literal[1, 2, 3, 4]] = 4
    level: Literal["corpus", "image"] = "corpus"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return tuple(cls(n) for n in range(1, 5))

    @property
    def label(self) -> str:
        return f"BLEU-{self.n}" + ("" if self.level == "corpus" else ", mean over images")

    def requirements(self) -> tuple[Requirement, ...]:
        own = (ImageBleu(self.n),) if self.level == "image" else tuple(OverlapSum(q) for q in self._counts)
        return (*own, IMAGES)

    def reduce(self, totals: TotalsView) -> Floats:
        if self.level == "image":
            return ratio(totals[ImageBleu(self.n)], totals[IMAGES])
        value = bleu_of({q: totals[OverlapSum(q)] for q in self._counts}, self.n)
        return np.where(totals[IMAGES] > 0, value, np.nan)

    @property
    def _counts(self) -> list[str]:
        return [f"{q}{k}" for k in range(1, self.n + 1) for q in ("matched", "guessed")] + ["length", "closest"]


class SacreBleu(Metric):
    r"""BLEU as sacrebleu computes it: tokens of mteval, case kept, from 0 to 100.

    $100\,\exp\!\left(\min\left(0, 1 - \frac{r}{c}\right)\right) \left(\prod_{k \le 4} p_k\right)^{1/4}$

    Precisions $p_k$ of n-grams over the whole corpus, with exponential smoothing where one is zero. `case=lower` is
    sacrebleu's `lowercase`.

    Undefined when there is no image.

    Pros:
    - Reproducible from the raw text: no tokeniser to choose.

    Cons:
    - Not the BLEU of captioning papers, which drops case and punctuation.
    """

    name = "sacrebleu"
    title = "BLEU (sacrebleu)"
    range = (0, 100)
    reference = "sacrebleu.corpus_bleu"

    case: Literal["mixed", "lower"] = "mixed"

    def _count(self, of: str) -> OverlapSum:
        tokens: Tokens = "mteval_lower" if self.case == "lower" else "mteval"
        return OverlapSum(of, tokens)

    def requirements(self) -> tuple[Requirement, ...]:
        counts = (f"{q}{k}" for k in range(1, 5) for q in ("matched", "guessed"))
        return (*map(self._count, ("length", "closest", *counts)), IMAGES)

    def reduce(self, totals: TotalsView) -> Floats:
        length, closest = totals[self._count("length")], totals[self._count("closest")]
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.where(length < closest, np.exp(1 - closest / length), 1.0)
            logs, smooth = np.zeros(len(length)), np.ones(len(length))
            matched = [totals[self._count(f"matched{k}")] for k in range(1, 5)]
            for k in range(4):
                total = totals[self._count(f"guessed{k + 1}")]
                smooth = np.where((matched[k] == 0) & (total > 0), smooth * 2, smooth)
                precision = np.where(matched[k] > 0, matched[k], 1 / smooth) / total
                logs = logs + np.where(total > 0, np.log(precision), -np.inf)
            value = np.where(sum(matched) > 0, 100 * penalty * np.exp(logs / 4), 0.0)
        return np.where(totals[IMAGES] > 0, value, np.nan)


class RougeL(_Mean):
    r"""ROUGE-L as COCO computes it: the longest common subsequence with the references, recall weighing more.

    $F = \frac{(1 + \beta^2)\,P R}{R + \beta^2 P}, \quad \beta = 1.2$

    Precision and recall are each the best over the references; the value is the mean over images.

    Undefined when there is no image.

    Pros:
    - Rewards the right order of words without asking for unbroken n-grams.

    Cons:
    - Best precision and best recall may come from different references.
    """

    name = "rouge_l"
    title = "ROUGE-L"
    aliases = ("rouge",)
    reference = "pycocoevalcap.rouge"

    @property
    def statistic(self) -> OverlapSum:
        return OverlapSum("rouge_l")


class RougeScore(_Mean):
    r"""ROUGE-1, ROUGE-2 or ROUGE-L as the package rouge-score computes it, against the best reference.

    $F_1 = \frac{2 P R}{P + R}$

    `rouge_score@1` counts words, `rouge_score@2` pairs of words, `rouge_score@L` the longest common subsequence.
    Tokens are lower-cased letters and digits, not stemmed.

    Undefined when there is no image.

    Pros:
    - The ROUGE of summarisation papers.

    Cons:
    - Not the ROUGE-L of captioning papers, which has another F.
    """

    name = "rouge_score"
    title = "ROUGE (rouge-score)"
    at = "kind"
    reference = "rouge_score.rouge_scorer.RougeScorer.score_multi"

    kind: Literal[1, 2, "L"] = "L"

    _columns: ClassVar[dict[int | str, str]] = {1: "rouge1", 2: "rouge2", "L": "rouge_lcs"}

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(1), cls(2), cls("L"))

    @property
    def label(self) -> str:
        return f"ROUGE-{self.kind} (rouge-score)"

    @property
    def statistic(self) -> OverlapSum:
        return OverlapSum(self._columns[self.kind], "alphanumeric")


class Cider(_Mean):
    r"""CIDEr: n-grams in common with the references, each weighing more the fewer images' references have it.

    $\mathrm{CIDEr} = \frac{10}{4} \sum_{n \le 4} \frac{1}{m} \sum_j \frac{g^n(c) \cdot
    g^n(s_j)}{\|g^n(c)\|\,\|g^n(s_j)\|}$

    `form=d`, the default and what COCO's tools print as CIDEr, is CIDEr-D: counts are clipped at the reference's
    and a difference in length is penalised; `form=plain` is the first form. How rare an n-gram is, is counted once
    over the references of all images measured; draws and slices weigh the images' scores and leave that count as it
    is.

    Undefined when there is no image.

    Pros:
    - Made for captions: common phrases weigh little, telling words much.

    Cons:
    - An image's score depends on the references of all others: values of different sets of images cannot be compared.
    """

    name = "cider"
    title = "CIDEr"
    range = (0, 10)
    reference = "pycocoevalcap.cider"
    aliases = ("cider_d",)

    form: Literal["d", "plain"] = "d"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls("plain"))

    @property
    def label(self) -> str:
        return "CIDEr-D" if self.form == "d" else "CIDEr, first form"

    @property
    def statistic(self) -> CiderRows:
        return CiderRows(self.form)


class Meteor(Metric):
    r"""METEOR: words in common with the best reference, exactly, by stem or by synonym, in as few pieces as can be.

    $\mathrm{METEOR} = \left(1 - \gamma\,(c/m)^{\beta}\right) \frac{P R}{\alpha P + (1 - \alpha) R}, \quad \alpha =
    0.85, \beta = 0.2, \gamma = 0.6$

    Matches weigh 1, 0.6 (stem) or 0.8 (synonym); function words weigh 0.25, others 0.75; $c$ chunks cover the $m$
    matched words. The published parameters of METEOR 1.5, without its paraphrase tables, which are not shipped.
    `level=image` is the mean over images; `level=corpus` adds up counts first, as the original prints for a whole
    file.

    Undefined when there is no image.

    Pros:
    - Forgives inflection and synonyms, and asks for recall.

    Cons:
    - Without paraphrases values are a little lower than those of papers, and an image may differ.
    """

    name = "meteor"
    title = "METEOR"
    reference = "METEOR 1.5, modules exact, stem and synonym: equal for 99.8 % of pairs of captions"
    range = (0.0, 1.0)

    level: Literal["image", "corpus"] = "image"

    def requirements(self) -> tuple[Requirement, ...]:
        return (*map(MeteorSum, ("score",) if self.level == "image" else METEOR_COLUMNS), IMAGES)

    def reduce(self, totals: TotalsView) -> Floats:
        if self.level == "image":
            return ratio(totals[MeteorSum("score")], totals[IMAGES])
        value = meteor_of({name: totals[MeteorSum(name)] for name in METEOR_COLUMNS})
        return np.where(totals[IMAGES] > 0, value, np.nan)


class Spider(_Mean):
    r"""SPIDEr: the mean of SPICE and CIDEr.

    $\mathrm{SPIDEr} = \frac{\mathrm{SPICE} + \mathrm{CIDEr}}{2}$

    SPICE sees what is said, CIDEr how: a caption needs both.

    Undefined when there is no image.

    Pros:
    - Harder to game than either.

    Cons:
    - CIDEr's range is ten times that of SPICE, and weighs as much more.
    """

    name = "spider"
    title = "SPIDEr"
    range = (0, 5.5)
    reference = "the mean of SPICE and pycocoevalcap.cider"

    @property
    def statistic(self) -> SpiderRows:
        return SpiderRows()


NGRAM_METRICS: tuple[type[Metric], ...] = (Bleu, RougeL, Meteor, Cider, Spider, SacreBleu, RougeScore)
