"""Task `answers`: the data, from what was read to questions with the answers that are accepted.

Conventions
    A row is a question. Truth: `question`, and `answer` in as many rows per question as there are accepted answers, or
    `answers`, a JSON list of them. `group` (also `image`, `video`) is the unit where several questions share one; else
    each question is a unit. `choices` are the options of a multiple choice, a JSON list or {"A": "a cat"}. `verdict` is
    what a person says of the reply, from 0 to 1.
    Predictions: `question`, `answer` (the reply), and optionally `outcome` ("ok", or why there is no answer), `judge`
    (what a judge says of the reply, from 0 to 1) and `logged:NAME` (a score that a harness gave).
    A reply that is empty, or whose outcome is not "ok", is not an answer: it is wrong in every accuracy, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard.align.join import codes, join_rows
from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, EmptyInput, Incompatible, InvalidValue, MissingColumn, TooLarge
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Countable, Pairs
from steelyard.core.records import Column, Records, Schema, as_object, constant_in_unit, weight_column
from steelyard.core.task import Policy
from steelyard.language.replies import read_number

LONGEST = 1 << 20
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MANY = 3  # accepted answers of a question, from which on people differ and VQA accuracy is shown

TRUTH = Schema(
    key=("question",),
    columns=(
        Column(
            "question",
            "id",
            aliases=("question_id",),
            ahead=("question_id",),
            meaning="the question; several rows where several answers are accepted",
        ),
        Column("answer", "text", required=False, meaning="an accepted answer"),
        Column("answers", "text", required=False, meaning="all accepted answers: a JSON list of texts"),
        Column(
            "group",
            "id",
            required=False,
            aliases=("image", "image_id", "video"),
            meaning="the unit, where several questions share an image or a video",
        ),
        Column("choices", "text", required=False, meaning='the options: a JSON list, or {"A": "a cat", "B": "a dog"}'),
        Column(
            "verdict",
            "number",
            required=False,
            flags=True,
            minimum=0,
            maximum=1,
            meaning="what a person says of the reply",
        ),
        weight_column("unit"),
    ),
)
PREDICTION = Schema(
    key=("question",),
    columns=(
        Column(
            "question",
            "id",
            aliases=("question_id",),
            ahead=("question_id",),
            meaning="as in the truth, one row each",
        ),
        Column("answer", "text", required=False, meaning="the reply", beside="prediction"),
        Column("outcome", "text", required=False, meaning="ok, or why there is no answer"),
        Column(
            "judge",
            "number",
            required=False,
            flags=True,
            minimum=0,
            maximum=1,
            meaning="what a judge says of the reply",
        ),
        Column(
            "logged",
            "number",
            required=False,
            flags=True,
            many="number",
            empty=True,
            meaning="a harness's own score, logged:NAME",
        ),
        Column("target", "text", required=False, meaning="what the reply was held against, where a log says it"),
    ),
)
FORMATS = ("auto", "rows", "vqa", "inspect", "lmms-eval", "lm-eval", "vlmevalkit")
OPTIONS = (
    Option(
        "format", "choice", "Format of the files: rows, VQA annotations, or the log of a harness.",
        default="auto", choices=FORMATS, reads=True,
    ),
)  # fmt: skip


class AnswerPairs(Pairs, Countable):
    """Questions with their replies. The accepted answers of question i are `accepted[begin[i]:begin[i + 1]]`.

    `place` says which question each pair is. `held` is what all answers have in common: what is shown by default
    depends on it.
    """

    place: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    accepted: Array = field(default_factory=lambda: np.zeros(0, object))
    begin: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    held: frozenset[str] = frozenset()

    @property
    def metadata(self) -> Metadata:
        """Answers have no classes; what they all are decides what is shown."""
        return Metadata(holds=self.held)

    @property
    def grouped(self) -> bool:
        """Whether the unit is more than the question."""
        return "group" in self.truth

    @property
    def own_units(self) -> bool:
        return not self.grouped

    def select(self, keep: Array) -> AnswerPairs:
        return replace(super().select(keep), place=self.place[keep])


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> AnswerPairs:
    """Join replies and questions by the id of the question."""
    truth, prediction = prepare_sides(truth, prediction, options)
    questions, (code,) = codes(truth["question"])
    order = np.argsort(code, kind="stable")
    begin = np.searchsorted(code[order], np.arange(len(questions) + 1)).astype(np.int64)
    first = order[begin[:-1]]
    _refuse_two(truth, code, first)
    one = truth.take(first)
    joined = join_rows(one, prediction, ("question",), policy)
    _refuse_other_targets(truth, prediction, joined, order, begin)
    texts = truth["answer"][order] if "answer" in truth else np.zeros(0, object)
    if "answer" not in truth:
        begin = np.zeros(len(questions) + 1, np.int64)
    units, owner, weight = joined.units, joined.owner, None
    if "group" in one:
        units, (group,) = codes(one["group"])
        owner = group[joined.truth_row]
    if "sample_weight" in one:
        weight = np.nan_to_num(constant_in_unit(one, "sample_weight", owner, joined.truth_row, len(units)))
    return AnswerPairs(
        one,
        prediction,
        units,
        owner,
        joined.truth_row,
        joined.prediction_row,
        np.zeros(len(units), dtype=bool),
        joined.coverage,
        weight,
        joined.truth_row,
        texts,
        begin,
        _common_columns(one, prediction, texts, begin),
    )


def prepare_sides(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """One accepted answer per row, and texts that are not too long."""
    truth = _explode_answers(truth)
    if "answer" not in truth and "verdict" not in truth and "judge" not in prediction:
        has = ", ".join(f"'{name}'" for name in [*truth.columns, *truth.other])
        raise MissingColumn(
            f"column 'answer' is missing; the columns are {has}",
            where=truth.source,
            remedy="Rename the column, or map it: `columns={'answer': 'YOUR_COLUMN'}`.",
        )
    for records in (truth, prediction):
        if "answer" in records:
            lengths = np.fromiter(map(len, records["answer"].tolist()), np.int64, len(records))
            if len(lengths) and lengths.max() > LONGEST:
                raise TooLarge(
                    f"the answer has {count_text(lengths.max(), 'character')}",
                    where=records.where(int(lengths.argmax()), "answer"),
                    remedy=f"At most {LONGEST:,} are taken.",
                )
    if "answer" not in prediction and "judge" not in prediction and "verdict" not in truth:
        raise MissingColumn(
            "column 'answer' is missing",
            where=prediction.source,
            remedy="Map it: `columns={'prediction.answer': 'YOUR_COLUMN'}`.",
        )
    return truth, prediction


def _explode_answers(truth: Records) -> Records:
    """The truth with one accepted answer in each row, where rows give lists of them."""
    if "answers" not in truth:
        return truth
    lists = []
    for row, text in enumerate(truth["answers"].tolist()):
        lists.append(_texts_of(text, truth.where(row, "answers")))
    many = np.fromiter(map(len, lists), np.int64, len(lists))
    if (many == 0).any():
        raise EmptyInput(
            "there is no accepted answer",
            where=truth.where(int(np.argmin(many)), "answers"),
            remedy="Give at least one.",
        )
    taken = truth.take(np.repeat(np.arange(len(lists)), many))
    columns = {name: column for name, column in taken.columns.items() if name != "answers"}
    return replace(taken, columns={**columns, "answer": as_object([text for texts in lists for text in texts])})


def _texts_of(text: str, where: str) -> list[str]:
    problem = InvalidValue(f"'{text[:40]}' is not a list of strings", where=where, remedy='Write JSON: ["two", "2"].')
    try:
        listed = json.loads(text) if text else []
    except (ValueError, RecursionError):
        raise problem from None
    if not isinstance(listed, list):
        raise problem
    texts = []
    for item in listed:
        answer: Any = item.get("answer") if isinstance(item, Mapping) else item  # as VQA's own files have them
        if isinstance(answer, bool) or not isinstance(answer, str | int | float):
            raise problem
        texts.append(str(answer))
    return texts


def choices_of(text: str, where: str) -> dict[str, str]:
    """The options of a multiple choice by letter."""
    remedy = 'Write JSON: ["a cat", "a dog"].'
    problem = InvalidValue(f"'{text[:40]}' is not a list of options", where=where, remedy=remedy)
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        raise problem from None
    if isinstance(options, list) and 0 < len(options) <= len(LETTERS):
        return {LETTERS[i]: str(option).strip() for i, option in enumerate(options)}
    if isinstance(options, dict) and options and all(len(key) == 1 and key.isalpha() for key in options):
        return {key.upper(): str(option).strip() for key, option in options.items()}
    raise problem


def _refuse_two(truth: Records, code: Array, first: Array) -> None:
    """A question has one group, weight and list of options, in whatever row they stand."""
    for name in ("group", "sample_weight", "choices", "verdict"):
        if name not in truth:
            continue
        values = truth[name]
        own = values[first[code]]
        differs = np.flatnonzero(values != own)
        if len(differs):
            row = int(differs[0])
            raise Conflict(
                f"question '{truth['question'][row]}' has '{values[row]}' here and '{own[row]}' at "
                f"{truth.place(int(first[code[row]]))}",
                where=truth.where(row, name),
                remedy="It must be the same in all rows of a question.",
            )


def _refuse_other_targets(truth: Records, prediction: Records, joined: Pairs, order: Array, begin: Array) -> None:
    """A log says what its replies were held against: that must be the truth."""
    if "target" not in prediction or "answer" not in truth:
        return
    answers, targets = truth["answer"], prediction["target"]
    for question, row in zip(joined.truth_row.tolist(), joined.prediction_row.tolist(), strict=True):
        if row < 0 or not targets[row]:
            continue
        accepted = {str(answers[place]) for place in order[begin[question] : begin[question + 1]].tolist()}
        if targets[row] not in accepted:
            raise Incompatible(
                f"question '{joined.truth['question'][question]}': the logs disagree on the truth "
                f"('{targets[row][:40]}' against '{min(accepted)[:40]}')",
                where=prediction.place(row),
                remedy="Compare runs over the same data.",
            )


def _common_columns(truth: Records, prediction: Records, texts: Array, begin: Array) -> frozenset[str]:
    """What all answers have in common."""
    held = {name for name, given in (("verdict", "verdict" in truth), ("judge", "judge" in prediction)) if given}
    held |= {f"logged:{name.partition(':')[2]}" for name in prediction.columns if name.startswith("logged:")}
    if not len(texts) or "answer" not in prediction:
        return frozenset(held)
    held.add("answers")
    listed = texts.tolist()
    said = [text.strip().lower() for text in listed]
    first = np.repeat(begin[:-1], np.diff(begin)).tolist()
    if all(text in ("yes", "no") and text == said[place] for text, place in zip(said, first, strict=True)):
        held.add("yes or no")  # where people disagree, no reply is simply right
    if all(read_number(text) is not None for text in listed):
        held.add("numbers")
    if "choices" in truth:
        held.add("choices")
    if (np.diff(begin) >= MANY).all():
        held.add("many")
    return frozenset(held)
