"""The score of own questions: by the task and the metrics of the kind of answer, over the sequences of the frames.

A reply that is not an answer is wrong in every accuracy and has no numeric error; numbers are compared on the frames
that both models answered. Boxes are scored by task `boxes` and the place of one thing by `grounding`, over images.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard import api
from steelyard.core.errors import MissingData
from steelyard.core.frozen import Frozen
from steelyard.results.comparison import Comparison
from steelyard.results.vlm import Effort, Pair, PromptScore
from steelyard.vlm.answers import Answer
from steelyard.vlm.frames import Frame
from steelyard.vlm.kinds import MEANINGS
from steelyard.vlm.plan import BLANK, REAL, SWAPPED
from steelyard.vlm.questions import Prompt
from steelyard.vlm.readings import Taken
from steelyard.vlm.sides import (
    EXTRA,
    Asked,
    Key,
    SideColumns,
    answer_sides,
    box_sides,
    grounding_sides,
    nutrient_sides,
    page_sides,
)


class Replies(Frozen):
    """What one model said to one question: the true answers that are known, and the answers, by frame.

    `rows` are the question as it was asked about each frame.
    """

    model: str
    asked: Prompt
    truth: Mapping[Key, str]
    answers: Mapping[Key, Answer]
    frames: Mapping[Key, Frame]
    rows: Mapping[Key, Prompt]

    @property
    def task(self) -> str:
        """The task that scores the answers."""
        return self.asked.kind.task

    def sides(self, truth: Mapping[Key, str], asked: Asked) -> tuple[SideColumns, SideColumns]:
        """True answers and replies to them, as the task takes them."""
        if self.task == "boxes":
            return box_sides(truth, self.frames, self.answers, asked)
        if self.task == "grounding":
            return grounding_sides(self.rows, truth, self.frames, self.answers, asked)
        if self.task == "documents":
            return page_sides(truth, self.frames, self.answers, asked)
        if self.task == "nutrients":
            return nutrient_sides(truth, self.asked.targets, self.frames, self.answers, asked)
        return answer_sides(self.rows, truth, self.frames, self.answers, asked)


def by_repeat(taken: Sequence[Taken]) -> list[list[Taken]]:
    """Readings of the first, the second, ... time that each question was asked."""
    repeats: dict[int, list[Taken]] = {}
    for reading in taken:
        repeats.setdefault(reading.repeat, []).append(reading)
    return [repeats[number] for number in sorted(repeats)]


def medians(sets: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """The median of the numbers of each frame."""
    keys = dict.fromkeys(key for one in sets for key in one)
    return {key: statistics.median(one[key] for one in sets if key in one) for key in keys}


def spread(sets: Sequence[Mapping[Key, float]]) -> float:
    """The standard deviation of repeated readings of a frame, pooled over frames by their degrees of freedom."""
    numbers = [[one[key] for one in sets if key in one] for key in dict.fromkeys(key for one in sets for key in one)]
    squares = sum(statistics.variance(several) * (len(several) - 1) for several in numbers if len(several) > 1)
    df = sum(len(several) - 1 for several in numbers)
    return math.sqrt(squares / df) if df else math.nan


def replies(model: str, taken: Sequence[Taken], where: str) -> Replies:
    """The readings of one question; `where` names their run."""
    asked = taken[0].asked.of_any_row
    answers = {(r.frame.sequence, r.frame.t): r.answer for r in taken}
    truth = {}
    for r in taken:
        true_answer = r.asked.kind.truth(asked.true_cell(r.frame.text))
        if true_answer:
            truth[r.frame.sequence, r.frame.t] = true_answer
    if not truth:
        raise MissingData(
            f"question '{asked.name}' has the target '{asked.target}', and no frame has a true answer there",
            where=where,
            remedy="Add the true answers to the frames and run again.",
        )
    frames = {(r.frame.sequence, r.frame.t): r.frame for r in taken}
    return Replies(model, asked, truth, answers, frames, {(r.frame.sequence, r.frame.t): r.asked for r in taken})


def row(own: Replies, variants: Mapping[str, Sequence[Taken]], asked: Asked, where: str, effort: Effort) -> PromptScore:
    """The score of one question, and of its controls."""
    metrics = asked.of(own.task, own.asked.kind.metrics)
    real = variants[REAL]
    outcomes = dict(Counter(r.answer.outcome for r in real))
    controls: dict[str, Comparison] = {}
    for variant in (BLANK, SWAPPED):
        if variant in variants:
            against = _compare(replies(own.model, variants[variant], where), own, metrics[:1], asked)
            controls |= {variant: against} if against else {}
    settings = {**asked.report, **EXTRA[own.task]}
    repeats = [replies(own.model, taken, where) for taken in by_repeat(real)]
    known = own.truth
    if own.task == "nutrients":  # which have no answer that is wrong in every metric
        settings["missing"] = asked.missing
        if asked.missing == "skip":
            known = {key: text for key, text in known.items() if all(one.answers[key].ok for one in repeats)}
    report = None
    if known and len(repeats) > 1:
        runs = {str(number): one.sides(known, asked)[1] for number, one in enumerate(repeats, 1)}
        report = api.evaluate(own.task, own.sides(known, asked)[0], runs, metrics or None, runs="replies", **settings)
    elif known:
        report = api.evaluate(own.task, *own.sides(known, asked), metrics or None, **settings)
    numbers = [
        {key: float(answer.said) for key, answer in one.answers.items() if answer.ok} if own.asked.kind.numeric else {}
        for one in repeats
    ]
    return PromptScore(
        model=own.model,
        prompt=own.asked.name,
        report=report,
        readings=len(real),
        parsed=sum(r.answer.ok for r in real),
        followed_up=sum(r.turns > 1 for r in real),
        outcomes=outcomes,
        lost={outcome: MEANINGS[outcome] for outcome in outcomes if outcome != "ok"},
        problems=dict(Counter(r.problem for r in real if r.problem)),
        constant=None,
        guess=math.nan,
        controls=controls,
        effort=effort,
        repeats=len(repeats),
        spread=spread(numbers),
    )


def pairs(every: Sequence[Replies], asked: Asked) -> list[Pair]:
    """Prompts of one model for the same answer, and models with the same question."""
    models = list(dict.fromkeys(own.model for own in every))
    wanted = []
    for i, b in enumerate(every):
        for a in every[:i]:
            if a.model == b.model and (a.asked.targets, a.asked.kind) == (b.asked.targets, b.asked.kind):
                wanted.append((a, b, "is it the better prompt?"))
                break
    for b in every:
        for a in every:
            if a.model == models[0] != b.model and a.asked == b.asked:
                wanted.append((a, b, "is it the better model?"))
    compared = []
    for a, b, why in wanted:
        comparison = _compare(a, b, asked.of(b.task, b.asked.kind.metrics), asked)
        if comparison is not None:
            names = [f"{x.model}: {x.asked.name}" if len(models) > 1 else x.asked.name for x in (a, b)]
            compared.append(Pair(names[0], names[1], why, len(_common(a, b)), comparison))
    return compared


def _common(a: Replies, b: Replies) -> dict[Key, str]:
    """The frames that two can be compared on."""
    common = {key: truth for key, truth in b.truth.items() if key in a.answers and key in b.answers}
    if b.asked.kind.numeric or b.task == "nutrients":
        return {key: truth for key, truth in common.items() if a.answers[key].ok and b.answers[key].ok}
    return common


def _compare(a: Replies, b: Replies, metrics: Sequence[str], asked: Asked) -> Comparison | None:
    common = _common(a, b)
    if not common:
        return None
    truth, second = b.sides(common, asked)
    first = a.sides(common, asked)[1]
    return api.compare(b.task, truth, first, second, metrics or None, **{**asked.comparison, **EXTRA[b.task]})
