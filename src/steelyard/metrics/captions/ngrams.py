"""Metrics of captions that count n-grams: BLEU, ROUGE, METEOR, CIDEr, and SPIDEr, which adds SPICE.

Conventions: tokens are those of the Penn Treebank, lower-cased and without punctuation, as COCO's captions are
scored; `sacrebleu` and `rouge_score` have the tokens of those packages. An image has one candidate and one or more
references.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.language.tokens import alphanumeric, mteval13a
from steelyard.metrics.captions.columns import METEOR_COLUMNS, meteor_column, retokenised
from steelyard.metrics.captions.spice import image_scores

TINY, SMALL = 1e-15, 1e-9  # what COCO's BLEU adds to numerators and denominators


def _mean(stats: Stats, weights: Weights, column: Array) -> Floats:
    return ratio(weights @ column, weights @ stats["images"])


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

    n: int = 4
    level: Literal["corpus", "image"] = "corpus"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """BLEU-1 to BLEU-4."""
        return tuple(cls(n) for n in range(1, 5))

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "n", 1, 2, 3, 4)
        one_of(self, "level", "corpus", "image")

    @property
    def label(self) -> str:
        """BLEU-4."""
        return f"BLEU-{self.n}" + ("" if self.level == "corpus" else ", mean over images")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """BLEU of the summed counts, or the mean of the images' own."""
        if self.level == "image":
            own = stats.per_unit(("bleu", self.n), lambda: self._bleu({q: stats[q] for q in self._needed()}))
            return _mean(stats, weights, own)
        value = self._bleu({q: weights @ stats[q] for q in self._needed()})
        return np.where(weights @ stats["images"] > 0, value, np.nan)

    def _needed(self) -> list[str]:
        return [f"{q}{k}" for k in range(1, self.n + 1) for q in ("matched", "guessed")] + ["length", "closest"]

    def _bleu(self, sums: dict[str, Array]) -> Floats:
        product = np.ones(len(sums["length"]))
        for k in range(1, self.n + 1):
            product = product * ((sums[f"matched{k}"] + TINY) / (sums[f"guessed{k}"] + SMALL))
        shape = (sums["length"] + TINY) / (sums["closest"] + SMALL)
        penalty = np.exp(np.minimum(0.0, 1 - 1 / shape))
        return np.asarray(product ** (1 / self.n) * penalty, dtype=np.float64)


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

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "case", "mixed", "lower")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """BLEU of the summed counts."""
        lower = self.case == "lower"
        columns = retokenised(stats, str(self), lambda text: mteval13a(text.lower() if lower else text))
        length, closest = weights @ columns["length"], weights @ columns["closest"]
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.where(length < closest, np.exp(1 - closest / length), 1.0)
            logs, smooth = np.zeros(len(length)), np.ones(len(length))
            matched = [weights @ columns[f"matched{k}"] for k in range(1, 5)]
            for k in range(4):
                total = weights @ columns[f"guessed{k + 1}"]
                smooth = np.where((matched[k] == 0) & (total > 0), smooth * 2, smooth)
                precision = np.where(matched[k] > 0, matched[k], 1 / smooth) / total
                logs = logs + np.where(total > 0, np.log(precision), -np.inf)
            value = np.where(sum(matched) > 0, 100 * penalty * np.exp(logs / 4), 0.0)
        return np.where(weights @ stats["images"] > 0, value, np.nan)


@frozen
class RougeL(Metric):
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
    reference = "pycocoevalcap.rouge"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images."""
        return _mean(stats, weights, stats["rouge_l"])


@frozen
class RougeScore(Metric):
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
        """All three kinds."""
        return (cls(1), cls(2), cls("L"))

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "kind", 1, 2, "L")

    @property
    def label(self) -> str:
        """ROUGE-2 (rouge-score)."""
        return f"ROUGE-{self.kind} (rouge-score)"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images."""
        columns = retokenised(stats, self.name, alphanumeric)
        return _mean(stats, weights, columns[self._columns[self.kind]])


@frozen
class Cider(Metric):
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
        """Both forms."""
        return (cls(), cls("plain"))

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "form", "d", "plain")

    @property
    def label(self) -> str:
        """CIDEr-D or CIDEr."""
        return "CIDEr-D" if self.form == "d" else "CIDEr, first form"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images."""
        return _mean(stats, weights, stats["cider_d" if self.form == "d" else "cider"])


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

    level: Literal["image", "corpus"] = "image"

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "level", "image", "corpus")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images, or the score of the summed counts."""
        if self.level == "image":
            return _mean(stats, weights, meteor_column(stats, "score"))
        sums = {name: weights @ meteor_column(stats, name) for name in METEOR_COLUMNS}
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = sums["matched_candidate"] / sums["all_candidate"]
            recall = sums["matched_reference"] / sums["all_reference"]
            mean = 1 / (0.15 / precision + 0.85 / recall)
            value = mean * (
                1 - 0.6 * (sums["chunks"] / ((sums["words_candidate"] + sums["words_reference"]) / 2)) ** 0.2
            )
        value = np.where(sums["matched_candidate"] > 0, value, 0.0)
        return np.where(weights @ stats["images"] > 0, value, np.nan)


@frozen
class Spider(Metric):
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

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images of the two scores' mean."""
        both = stats.per_unit(self.name, lambda: (image_scores(stats, "all", "any", True, "f1") + stats["cider_d"]) / 2)
        return _mean(stats, weights, both)


NGRAM_METRICS: tuple[type[Metric], ...] = (Bleu, RougeL, Meteor, Cider, Spider, SacreBleu, RougeScore)
