"""Metrics of captions that count n-grams: BLEU, ROUGE, METEOR, CIDEr, and SPIDEr, which adds SPICE.

Conventions: tokens are those of the Penn Treebank, lower-cased and without punctuation, as COCO's captions are
scored; `sacrebleu` and `rouge_score` have the tokens of those packages. An image has one candidate and one or more
references.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Statistic
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.captions.columns import (
    METEOR_COLUMNS,
    CiderRows,
    ImageBleu,
    ImageCount,
    MeteorSum,
    OverlapSum,
    SpiderRows,
    Tokens,
    bleu_of,
)

IMAGES = ImageCount()


@frozen
class _Mean(Metric):
    """A mean over images of what `need` keeps of each."""

    range = (0.0, 1.0)

    @property
    @abstractmethod
    def statistic(self) -> Statistic:
        """The value of each image."""

    def needs(self) -> tuple[Requirement, ...]:
        return self.statistic, IMAGES

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.statistic], totals[IMAGES])


@frozen
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

    def needs(self) -> tuple[Requirement, ...]:
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


@frozen
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

    def needs(self) -> tuple[Requirement, ...]:
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


@frozen
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


@frozen
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


@frozen
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


@frozen
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

    def needs(self) -> tuple[Requirement, ...]:
        return (*map(MeteorSum, ("score",) if self.level == "image" else METEOR_COLUMNS), IMAGES)

    def reduce(self, totals: TotalsView) -> Floats:
        if self.level == "image":
            return ratio(totals[MeteorSum("score")], totals[IMAGES])
        sums = {name: totals[MeteorSum(name)] for name in METEOR_COLUMNS}
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = sums["matched_candidate"] / sums["all_candidate"]
            recall = sums["matched_reference"] / sums["all_reference"]
            mean = 1 / (0.15 / precision + 0.85 / recall)
            value = mean * (
                1 - 0.6 * (sums["chunks"] / ((sums["words_candidate"] + sums["words_reference"]) / 2)) ** 0.2
            )
        value = np.where(sums["matched_candidate"] > 0, value, 0.0)
        return np.where(totals[IMAGES] > 0, value, np.nan)


@frozen
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
