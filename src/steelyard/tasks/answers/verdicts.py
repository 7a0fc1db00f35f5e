"""Scores that others gave: people, a judge, a harness."""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import MissingData, UnknownName
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.tasks.answers.data import AnswerPairs
from steelyard.tasks.answers.shares import OfSum
from steelyard.tasks.answers.sums import QuestionSum

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
