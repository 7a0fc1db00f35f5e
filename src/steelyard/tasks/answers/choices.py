"""Answers that choose: one of several options, or yes and no; and scores that others gave: people, a judge, a harness.

`Share` and `ShareOf`, one column of a sum over another, are the bases of numbers, too.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.counts import share_text
from steelyard.core.errors import MissingData, UnknownName
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.language.replies import YES_NO
from steelyard.tasks.answers.data import AnswerPairs
from steelyard.tasks.answers.sums import QuestionSum
from steelyard.tasks.answers.texts import Said, chosen_options, said_texts


class OfSum(Metric):
    """Base of what is one column of a sum over another."""

    range = (0.0, 1.0)

    columns: ClassVar[tuple[int, int]] = (0, 1)

    @property
    @abstractmethod
    def statistic(self) -> Sum:
        """What is added up."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.statistic,)

    def both(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """What counts, and of how much."""
        sums = totals[self.statistic]
        return sums[:, self.columns[0]], sums[:, self.columns[1]]

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.both(totals))


class ShareOf(OfSum):
    """Base of those that are a share: each question or unit counts, or does not."""

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return self.both(totals)


Extract = Literal["stated", "strict"]
Reader = Literal["word", "whole", "pope"]


class ChoiceCounts(QuestionSum):
    """Multiple choice: right replies, what a guess would score, questions, replies that name an option."""

    name = "answers.choices"

    extract: Extract = "stated"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        choices = chosen_options(pairs, cache, self.extract)
        return np.stack([choices.right, choices.guess, choices.asked, choices.named], axis=1)


class AllChosen(Sum):
    """Units whose every choice is right, and units that have one; and what guessing would score."""

    name = "answers.all_choices"

    extract: Extract = "stated"

    def measure(self, pairs: AnswerPairs, cache: SharedCache) -> SumBlock:
        choices, units = chosen_options(pairs, cache, self.extract), len(pairs.units)
        asked = np.bincount(pairs.owner, weights=choices.asked, minlength=units)
        right = np.bincount(pairs.owner, weights=choices.right, minlength=units)
        logs = np.log(choices.guess, out=np.zeros(len(choices.guess)), where=choices.asked)
        guess = np.exp(np.bincount(pairs.owner, weights=logs, minlength=units))
        some = asked > 0
        return SumBlock(np.stack([some & (right == asked), some, np.where(some, guess, 0.0)], axis=1))


class YesNoCounts(QuestionSum):
    """Questions whose true answer is yes or no: true and false yes, true and false no, and replies that are neither
    where yes and where no is true.
    """

    name = "answers.yes_no"

    reader: Reader = "word"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache)
        true, replies = truth_of_yes_no(texts), texts.each(YES_NO[self.reader])
        says = np.array([{"yes": 1, "no": 0}.get(one, -1) for one in replies], dtype=np.int64)[texts.reply]
        if self.reader != "pope":  # whose script has no other
            says = np.where(texts.answered, says, -1)
        cells = [(1, 1), (0, 1), (0, 0), (1, 0), (1, -1), (0, -1)]
        return np.stack([(true == t) & (says == s) for t, s in cells], axis=1)


def truth_of_yes_no(texts: Said) -> Array:
    """1 for yes, 0 for no, -1 where a question is none of yes and no."""
    values = np.array([{"yes": 1, "no": 0}.get(t.strip().lower(), -1) for t in texts.distinct], dtype=np.int64)
    first = values[texts.accepted[texts.begin[:-1]]]
    same = np.minimum.reduceat(values[texts.accepted] == first[texts.of], texts.begin[:-1]) if len(first) else first
    return np.where(same, first, -1)


class _OfChoices(ShareOf):
    """Base of what is made of multiple choices: how the option is read is a setting, and is said."""

    extract: Extract = "stated"

    def _chance(self, guess: float, of: float) -> tuple[str, ...]:
        return (f"{self.name}: guessing alone would score {guess / of:.3g}.",) if of else ()


class Choice(_OfChoices):
    r"""Multiple choice: the share of questions whose reply names the right option.

    $A = \frac{1}{N} \sum_i [\,\mathrm{option}(r_i) = a_i\,]$

    The option is read from the reply. `extract=strict`: the whole reply is a letter, "(B)", "B. a dog", or an option's
    text; letter and text must agree. `extract=stated`: else its first line is, or it says "the answer is B" once, or it
    names one letter or one option's text and no other, unless it denies it ("not A", "A is wrong"). Nothing is drawn at
    random: a reply that names none is wrong.

    Undefined when no question has options.

    Pros:
    - The same reply always scores the same, and why can be said.

    Cons:
    - A guess is right one time in four; what guessing scores stands in a note.
    """

    name = "choice"
    title = "Multiple choice"
    columns = (0, 2)

    @property
    def label(self) -> str:
        return f"Multiple choice ({self.extract})"

    @property
    def statistic(self) -> ChoiceCounts:
        return ChoiceCounts(self.extract)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        _, guess, asked, named = (float(one) for one in totals[self.statistic][0])
        remarks = self._chance(guess, asked)
        if named < asked:
            nameless = round(asked - named)
            text = share_text(nameless, round(asked), "reply", "name")
            remarks += (f"{text} no option, and {'is' if nameless == 1 else 'are'} wrong.",)
        return remarks


class AllChoices(_OfChoices):
    r"""All choices of a unit: the share of units whose questions are all right.

    $A = \frac{1}{U} \sum_u \prod_{i \in u} [\,\mathrm{option}(r_i) = a_i\,]$

    For options in turned orders, which stand as questions of one `group`: a model that always says "A" scores nothing.

    Undefined when no question has options.

    Pros:
    - Guessing rarely gets there.

    Cons:
    - Falls with the number of questions per unit.
    """

    name = "choice_all"
    title = "Multiple choice, all of a unit right"

    @property
    def statistic(self) -> AllChosen:
        return AllChosen(self.extract)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        _, units, guess = (float(one) for one in totals[self.statistic][0])
        return self._chance(guess, units)


class _YesNo(Metric):
    """Base of what is made of yes and no. A reply that is neither is wrong; where yes is true, a yes is missed."""

    range = (0.0, 1.0)

    reader: Reader = "word"

    @abstractmethod
    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        """What counts, and of how much; `yes` and `no` are replies that are neither, by what is true."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (YesNoCounts(self.reader),)

    def of_all(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """What counts, and of how much, over all questions."""
        counts = totals[YesNoCounts(self.reader)]
        return self.shares(*(counts[:, i] for i in range(6)))

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.of_all(totals))

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        counts = totals[YesNoCounts(self.reader)][0]
        other = int(counts[4] + counts[5])
        if not other:
            return ()
        text = share_text(int(other), int(counts.sum()), "reply", "are")
        return (f"{text} neither yes nor no, and {'is' if other == 1 else 'are'} wrong.",)


class _YesNoShare(_YesNo):
    """Base of those that are a proportion."""

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return self.of_all(totals)


class YesNoAccuracy(_YesNoShare):
    r"""Yes/no accuracy: the share of questions of yes and no that are right.

    $A = (TP + TN) / N$

    How yes and no are read: `reader=word` takes the one of both that is among the words, in any case; `whole` wants
    nothing else; `pope` is POPE's script, for which whatever has no word for no is a yes. A reply that is neither is
    wrong.

    Undefined when no accepted answer is yes or no.

    Pros:
    - Simple.

    Cons:
    - Always saying the more frequent one scores well.
    """

    name = "yn_accuracy"
    title = "Yes/no accuracy"
    better = "higher"

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return tp + tn, tp + fp + tn + fn + yes + no


class YesNoPrecision(_YesNoShare):
    r"""Precision of yes: of the replies that say yes, the share that is right.

    $P = TP / (TP + FP)$

    A model that sees what is not there has a low one.

    Undefined when no reply says yes.

    Pros:
    - The measure of hallucinated objects.

    Cons:
    - Blind to what is missed.
    """

    name = "yn_precision"
    title = "Precision of yes"
    better = "higher"

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return tp, tp + fp


class YesNoRecall(_YesNoShare):
    r"""Recall of yes: of the questions whose answer is yes, the share whose reply says so.

    $R = TP / (TP + FN + O_{yes})$

    A reply that is neither yes nor no misses a yes.

    Undefined when no true answer is yes.

    Pros:
    - Shows what is missed.

    Cons:
    - Always saying yes is perfect.
    """

    name = "yn_recall"
    title = "Recall of yes"
    better = "higher"

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return tp, tp + fn + yes


class YesNoF1(_YesNoShare):
    r"""F1 of yes: precision and recall of yes in one number.

    $F_1 = 2TP / (2TP + FP + FN + O_{yes})$

    A reply that is neither yes nor no misses a yes.

    Undefined when nothing is yes, in truth or replies.

    Pros:
    - The number that POPE reports.

    Cons:
    - Does not count a right no.
    """

    name = "yn_f1"
    title = "F1 of yes"
    better = "higher"

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return 2 * tp, 2 * tp + fp + fn + yes


class YesRatio(_YesNoShare):
    r"""Yes ratio: of the replies that say yes or no, the share that says yes.

    $Y = (TP + FP) / (TP + FP + TN + FN)$

    What the model says, whatever is true. Beside the share of true answers that are yes, it shows a bias towards yes.

    Undefined when no reply is yes or no.

    Pros:
    - Unmasks a model that agrees with everything.

    Cons:
    - Neither good nor bad by itself.
    """

    name = "yes_ratio"
    title = "Replies that say yes"
    better = "none"

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return tp + fp, tp + fp + tn + fn


class YesBias(_YesNo):
    r"""Yes bias: how much more often yes is said than it is true, among replies that say yes or no.

    $B = \frac{FP - FN}{TP + FP + TN + FN}$

    A model with more than 0 says yes too often.

    Undefined when no reply is yes or no.

    Pros:
    - 0 for a model that errs both ways alike, whatever the share of true answers that are yes.

    Cons:
    - 0 does not mean right.
    """

    name = "yes_bias"
    title = "Bias towards yes"
    better = "zero"
    range = (-1, 1)

    def shares(self, tp: Floats, fp: Floats, tn: Floats, fn: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
        return fp - fn, tp + fp + tn + fn


CHOICES: tuple[type[Metric], ...] = (
    Choice, AllChoices, YesNoAccuracy, YesNoPrecision, YesNoRecall, YesNoF1, YesRatio, YesBias,
)  # fmt: skip


INFINITY = float("inf")


class JudgeSum(QuestionSum):
    """What people, or else a judge, say of the replies; and how many replies they say it of."""

    name = "answers.judge"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        if "verdict" in pairs.truth:
            values = pairs.truth_column("verdict")
        elif "judge" in pairs.prediction:
            values = pairs.prediction_column("judge", missing=0.0)
        else:
            raise MissingData(
                "there is no verdict",
                where=pairs.prediction.source,
                remedy="Give a column 'judge' in the predictions, or 'verdict' in the truth.",
            )
        return np.stack([values, np.ones(len(values))], axis=1)


class LoggedSum(QuestionSum):
    """A score that a harness logged, and how many questions have one."""

    name = "answers.logged"

    of: str = "score"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        """Value and 1; both 0 where a question has none."""
        name = f"logged:{self.of}"
        if name not in pairs.prediction:
            names = [one.partition(":")[2] for one in pairs.prediction.columns if one.startswith("logged:")]
            raise UnknownName(
                f"no score '{self.of}' is logged",
                where=pairs.prediction.source,
                remedy=f"There are: {', '.join(names)}." if names else "Only logs of a harness have some.",
            )
        values = pairs.prediction_column(name, missing=np.nan)
        has = ~np.isnan(values)
        return np.stack([np.where(has, values, 0.0), has], axis=1)


class Judge(OfSum):
    r"""Judge score: the mean of what people say of the replies, or else a judge.

    $J = \frac{1}{N} \sum_i j_i$

    Verdicts are from 0 to 1: `verdict` in the truth, which is a person's, or else `judge` in the predictions. A judge
    errs; with `proxy` its verdicts on all questions are corrected by people's on some: `judge_correction`.

    Undefined when there is no question.

    Pros:
    - For answers that no rule can compare.

    Cons:
    - Uncorrected it measures what the judge likes.
    """

    name = "judge"
    title = "Judge score"
    reaches_best = False

    @property
    def statistic(self) -> JudgeSum:
        return JudgeSum()


class Logged(OfSum):
    r"""A logged score: the mean of a score that a harness gave each question.

    $L = \frac{1}{N} \sum_i l_i$

    Beside a score of the same replies made here, it shows where a harness reads them differently. Which way is better,
    only the harness knows.

    Undefined when no question has the score.

    Pros:
    - Intervals and paired tests for the number that was published.

    Cons:
    - Whatever the harness got wrong is in it.
    """

    name = "logged"
    title = "Logged score"
    better = "none"
    range = (-INFINITY, INFINITY)

    score: str = "score"

    @property
    def label(self) -> str:
        return f"Logged: {self.score}"

    @property
    def statistic(self) -> LoggedSum:
        return LoggedSum(self.score)


VERDICTS: tuple[type[Metric], ...] = (Judge, Logged)
