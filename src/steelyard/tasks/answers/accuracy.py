"""Accuracies of answers: the share of questions, or of what a question can score, that the replies get right.

Of several accepted answers the one counts that the reply fits best, but for VQA accuracy, where all people have a say.
A question without an answer scores 0; `of=answered` leaves it out.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

from steelyard.core.counts import count_text, share_text
from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.answers.sums import (
    AnlsSum,
    BagSum,
    ExactSum,
    Form,
    Process,
    Questions,
    RelaxedSum,
    Rule,
    VqaRemarks,
    VqaSum,
)

ALL, ANSWERED = Questions(), Questions("answered")
Of = Literal["all", "answered"]


class MeanScore(Metric):
    """Base of metrics that are the mean over questions of what each scores."""

    range = (0.0, 1.0)

    of: Of = "all"

    @abstractmethod
    def score_sum(self) -> Sum:
        """What is added up."""

    @property
    def label(self) -> str:
        """Say when questions without an answer are left out."""
        return self.title if self.of == "all" else f"{self.title}, of what is answered"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.score_sum(), ALL, ANSWERED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.score_sum()], totals[Questions(self.of)])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Questions without an answer, where they are left out."""
        silent = float((totals[ALL] - totals[ANSWERED])[0])
        return (silent, "questions without an answer") if self.of == "answered" else (0, "")

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Questions without an answer, where they score 0."""
        silent, every = int((totals[ALL] - totals[ANSWERED])[0]), int(totals[ALL][0])
        if not silent or self.of == "answered":
            return ()
        share, scores = share_text(silent, every, "question", "have"), "scores" if silent == 1 else "score"
        return (f"{share} no answer and {scores} 0; of=answered leaves them out.",)


class Share(MeanScore):
    """Base of those that are a share of questions: each is right or wrong."""

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()], totals[Questions(self.of)]


class Exact(Share):
    r"""Exact match: the share of questions whose reply is an accepted answer, once both are made alike.

    $\mathrm{EM} = \frac{1}{N} \sum_i [\,\exists a \in A_i: n(r_i) = n(a)\,]$

    `norm` says how: `as_is`; `strip`; `lower` (strip and lower); `space` (lower, single blanks); `squad` (lower,
    without punctuation and articles); `vqa` (VQA's text rule); `number` (equal numbers). `unicode=nfkc` folds forms of
    the same character first.

    Undefined when there is no question.

    Pros:
    - Nothing to argue about: the text is the answer, or is not.

    Cons:
    - A right answer in other words is wrong.
    """

    name = "exact"
    title = "Exact match"
    reference = "SQuAD 1.1's script (norm=squad)"

    norm: Literal["as_is", "strip", "lower", "space", "squad", "vqa", "number"] = "space"
    unicode: Form = "as_is"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(norm="squad")

    def score_sum(self) -> Sum:
        return ExactSum(self.norm, self.unicode)


class Vqa(MeanScore):
    r"""VQA accuracy: how many of the people who were asked agree with the reply; three are enough.

    $\mathrm{acc}(r) = \frac{1}{n} \sum_{k=1}^{n} \min\left(1, \frac{\#\{j \ne k: a_j = r\}}{3}\right)$

    Each person is left out in turn, and the mean is taken (Antol et al. 2015), as the official script does. Texts go
    through its rule for marks, numbers, articles and contractions only where the people differ: with
    `process=official` the reply "Yes" is wrong where all ten say "yes". `process=always` does so everywhere, as
    harnesses do. `rule=simple` is min(1, matches / 3).

    Undefined when there is no question.

    Pros:
    - The number of the VQA benchmarks, from several people's answers.

    Cons:
    - With n people at most min(1, (n - 1) / 3) can be reached, with one nothing.
    """

    name = "vqa"
    title = "VQA accuracy"
    reference = "GT-Vision-Lab/VQA a013f00, vqaEval.py"
    reaches_best = False

    process: Process = "official"
    rule: Rule = "official"

    def score_sum(self) -> Sum:
        return VqaSum(self.process, self.rule)

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), VqaRemarks())

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        more, few = (int(one) for one in totals[VqaRemarks()][0])
        remarks = list(super().notes(totals))
        if self.process == "official" and more:
            remarks.append(
                f"{count_text(more, 'question', 'score')} more where texts are always processed: "
                "vqa(process=always), as harnesses do."
            )
        if self.rule == "official" and few:
            remarks.append(
                f"{count_text(few, 'question', 'have')} at most 3 accepted answers, of which VQA accuracy cannot "
                "reach 1; "
                "rule=simple does with 3."
            )
        return tuple(remarks)


class Anls(MeanScore):
    r"""ANLS: how alike reply and answer are by edit distance; below the threshold a reply counts as wrong.

    $s(a, r) = 1 - \frac{\mathrm{lev}(a, r)}{\max(|a|, |r|)}, \quad \mathrm{ANLS}_\tau = \frac{1}{N} \sum_i \max_{a \in
    A_i} s(a, r_i)\,[\,s \ge \tau\,]$

    Texts are lowered, with single blanks; lengths are those of the texts as they stand, as in the script of the
    benchmark (`length=folded` takes the lowered ones). At the threshold itself the script gives the score, the paper
    gives 0: `edge=paper`.

    Undefined when there is no question.

    Pros:
    - Forgives small slips of reading a text.

    Cons:
    - One digit off in a price is a small slip, too.
    """

    name = "anls"
    title = "ANLS"
    at = "threshold"
    reference = "the RRC script as VLMEvalKit and lmms-eval carry it"

    threshold: Annotated[float, Between(0, 1)] = 0.5
    edge: Literal["script", "paper"] = "script"
    length: Literal["raw", "folded"] = "raw"

    def score_sum(self) -> Sum:
        return AnlsSum(float(self.threshold), self.edge, self.length)


class Relaxed(Share):
    r"""Relaxed accuracy: the share of questions whose number is at most 5 % off, or whose text is equal.

    $|\hat y - y| \le 0.05\,|y|$

    Numbers are read as the script of ChartQA does: a percentage is divided by 100, "1,000" and "$5" are texts, and
    where the true number is 0 texts are compared. `lenient=true` reads those as numbers; `years=exact` asks years
    (1900 to 2100) to be equal.

    Undefined when there is no question.

    Pros:
    - Charts cannot be read to the last digit, and need not be.

    Cons:
    - 2019 for 2020 is right; see `years`.
    """

    name = "relaxed"
    title = "Relaxed accuracy"
    at = "tolerance"
    reference = "pix2struct's relaxed correctness, as VLMEvalKit and lmms-eval carry it"

    tolerance: Annotated[float, Between(0)] = 0.05
    years: Literal["relaxed", "exact"] = "relaxed"
    lenient: bool = False

    @property
    def label(self) -> str:
        title = f"Relaxed accuracy ({100 * self.tolerance:g} %{', lenient' if self.lenient else ''})"
        return title if self.of == "all" else f"{title}, of what is answered"

    def score_sum(self) -> Sum:
        return RelaxedSum(float(self.tolerance), self.years, self.lenient)


class WordF1(MeanScore):
    r"""Word F1: how many words reply and answer share, without order.

    $F_1 = \frac{2PR}{P + R}, \quad P = \frac{|R \cap A|}{|R|}, \quad R = \frac{|R \cap A|}{|A|}$

    Words are those of SQuAD's rule: lowered, without punctuation and articles.

    Undefined when there is no question.

    Pros:
    - Gives part of the score to part of the answer.

    Cons:
    - A reply that says the contrary with the same words scores well.
    """

    name = "word_f1"
    title = "Word F1"
    reference = "SQuAD 1.1's script"
    reaches_best = False  # an answer of articles alone has no word

    def score_sum(self) -> Sum:
        return BagSum("words")


class CharacterF1(MeanScore):
    r"""Character F1: how many characters reply and answer share, without order.

    $F_1 = \frac{2PR}{P + R}$

    Texts are lowered, with single blanks.

    Undefined when there is no question.

    Pros:
    - Works where words have no blanks between them.

    Cons:
    - An anagram is perfect.
    """

    name = "char_f1"
    title = "Character F1"

    def score_sum(self) -> Sum:
        return BagSum("characters")


class Answered(Metric):
    r"""Answered: the share of questions that have an answer.

    $C = \frac{1}{N} \sum_i [\,r_i \text{ is an answer}\,]$

    An empty reply is none, nor is one whose `outcome` is not "ok".

    Undefined when there is no question.

    Pros:
    - Says how much of an accuracy silence costs.

    Cons:
    - An answer need not be right.
    """

    name = "answered"
    title = "Answered"
    range = (0.0, 1.0)

    def requirements(self) -> tuple[Requirement, ...]:
        return ALL, ANSWERED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[ANSWERED], totals[ALL]


ACCURACIES: tuple[type[Metric], ...] = (Exact, Vqa, Anls, Relaxed, WordF1, CharacterF1, Answered)
