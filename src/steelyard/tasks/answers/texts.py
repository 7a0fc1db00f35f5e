"""What the statistics of `answers` share: every distinct text once, and what is read in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import EmptyCell, MissingColumn, UnknownName
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.language import answers as alike
from steelyard.language.replies import read_choice
from steelyard.tasks.answers.data import AnswerPairs, choices_of


class Said(Frozen):
    """All texts by their places in `distinct`: `reply`, one per question, and `accepted`, of question `of`.

    `begin` says where the accepted answers of each question begin, and their end. `answered` is whether there is a
    reply that counts as an answer, and `blank` whether a distinct text holds nothing.
    """

    distinct: list[str]
    reply: Array
    accepted: Array
    of: Array
    begin: Array
    answered: Array
    blank: Array

    def best(self, values: Array) -> Array:
        """The highest value over the accepted answers of each question; 0 where a question has no answer."""
        if not len(self.reply):
            return np.zeros(0)
        top = values if len(values) == len(self.reply) else np.maximum.reduceat(values, self.begin[:-1])
        return np.where(self.answered, top, 0.0)

    def each(self, function: Callable[[str], Any]) -> list[Any]:
        """What a function makes of each distinct text."""
        return list(map(function, self.distinct))


def said_texts(pairs: AnswerPairs, cache: SharedCache, *, empty: bool = False) -> Said:
    """The texts. An accepted answer that is empty is an error, unless a metric can take it."""
    texts = cache.once("said", lambda: _collect_texts(pairs))
    if not empty:
        cache.once("no empty truth", lambda: _refuse_empty(pairs, texts))
    return texts


def _collect_texts(pairs: AnswerPairs) -> Said:
    if "answer" not in pairs.prediction or not len(pairs.accepted):
        side = pairs.prediction if len(pairs.accepted) else pairs.truth
        raise MissingColumn(
            "column 'answer' is missing, which the metric needs",
            where=side.source,
            remedy="Map it: `columns={'answer': 'YOUR_COLUMN'}`.",
        )
    counts = np.diff(pairs.begin)[pairs.place]
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.arange(begin[-1]) + np.repeat(pairs.begin[pairs.place] - begin[:-1], counts)
    replies = _replies(pairs)
    every = [*replies, *pairs.accepted[rows].tolist()]
    code, first = _code_texts(every)
    distinct = [every[i] for i in first.tolist()]
    reply = code[: len(replies)]
    blank = np.fromiter((not text or text.isspace() for text in distinct), dtype=bool, count=len(distinct))
    answered = ~blank[reply]
    if "outcome" in pairs.prediction:
        good = np.array(
            [text.strip().lower() in ("", "ok") for text in pairs.prediction["outcome"].tolist()], dtype=bool
        )
        answered &= good[pairs.prediction_row] | (pairs.prediction_row < 0)
    of = np.repeat(np.arange(len(counts)), counts)
    return Said(distinct, reply, code[len(replies) :], of, begin, answered, blank)


def _code_texts(texts: list[str]) -> tuple[Array, Array]:
    """Codes of texts in the order in which they first come, and where each does."""
    factored = _native.factor_texts(list[object](texts))
    if factored is None:
        raise TypeError("answers must be texts")
    return np.asarray(factored[0], dtype=np.int64), factored[1]


def _replies(pairs: AnswerPairs) -> list[str]:
    if not len(pairs.prediction):
        return [""] * len(pairs.prediction_row)
    texts = pairs.prediction["answer"][pairs.prediction_row]
    if (pairs.prediction_row < 0).any():
        texts = texts.copy()
        texts[pairs.prediction_row < 0] = ""
    listed: list[str] = texts.tolist()
    return listed


def _refuse_empty(pairs: AnswerPairs, texts: Said) -> bool:
    wrong = np.flatnonzero(texts.blank[texts.accepted])
    if len(wrong):
        row = int(pairs.truth_row[texts.of[wrong[0]]])
        raise EmptyCell(
            f"question '{pairs.truth['question'][row]}' has an accepted answer that is empty",
            where=pairs.truth.place(row),
            remedy="Remove the row, or choose metrics that take an empty text: cer, wer.",
        )
    return True


def codes_of(pairs: AnswerPairs, cache: SharedCache, norm: str, form: str) -> tuple[Array, Array]:
    """Texts made alike, as codes: of the replies, and of the accepted answers."""

    def make() -> Array:
        texts = said_texts(pairs, cache)
        shape, make_alike = alike.unicode_form(form), alike.NORMS[norm]
        return _code_texts([make_alike(shape(text)) for text in texts.distinct])[0]

    texts = said_texts(pairs, cache)
    code = cache.once(("alike", norm, form), make)
    return code[texts.reply], code[texts.accepted]


class Chosen(Frozen):
    """Of each question with options: whether it has any, the option that the reply names (-1 for none), whether it is
    right, and what a guess would score.
    """

    asked: Array
    named: Array
    right: Array
    guess: Array


def chosen_options(pairs: AnswerPairs, cache: SharedCache, extract: str) -> Chosen:
    """What replies choose."""
    return cache.once(("chosen", extract), lambda: _choose_options(pairs, cache, extract))


def _choose_options(pairs: AnswerPairs, cache: SharedCache, extract: str) -> Chosen:
    texts = said_texts(pairs, cache)
    n = len(texts.reply)
    asked, named, right, guess = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool), np.zeros(n)
    if "choices" not in pairs.truth:
        raise MissingColumn(
            "column 'choices' is missing, which the metric needs",
            where=pairs.truth.source,
            remedy='Give the options of each question, as JSON: ["a cat", "a dog"].',
        )
    cells = pairs.truth["choices"]
    parsed: dict[str, dict[str, str]] = {}
    read: dict[tuple[str, str], str | None] = {}
    for i, row in enumerate(pairs.truth_row.tolist()):
        cell = cells[row]
        if not cell:
            continue
        if cell not in parsed:
            parsed[cell] = choices_of(cell, pairs.truth.where(row, "choices"))
        options = parsed[cell]
        asked[i], guess[i] = True, 1 / len(options)
        wanted = {
            _option(texts.distinct[k], options, pairs, row)
            for k in texts.accepted[texts.begin[i] : texts.begin[i + 1]].tolist()
        }
        if not texts.answered[i]:
            continue
        key = (cell, texts.distinct[texts.reply[i]])
        if key not in read:
            read[key] = read_choice(key[1], options, extract)
        named[i], right[i] = read[key] is not None, read[key] in wanted
    return Chosen(asked, named, right, guess)


def _option(answer: str, options: dict[str, str], pairs: AnswerPairs, row: int) -> str:
    """The letter of a true answer, which is a letter or an option's text."""
    letter = answer.strip().upper()
    if letter in options:
        return letter
    alike_text = [
        key for key, option in options.items() if alike.normalise_spaces(option) == alike.normalise_spaces(answer)
    ]
    if len(alike_text) == 1:
        return alike_text[0]
    raise UnknownName(
        f"question '{pairs.truth['question'][row]}': the answer '{answer[:40]}' is not among {', '.join(options)}",
        where=pairs.truth.place(row),
        remedy="Give the letter or the text of one option.",
    )
