"""What is kept of answers, added up over the questions of a unit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.counts import count_text
from steelyard.core.errors import TooLarge
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum, sum_by_unit
from steelyard.language import answers as alike
from steelyard.language import edits
from steelyard.language.replies import read_number
from steelyard.tasks.answers.data import MANY, AnswerPairs
from steelyard.tasks.answers.texts import Said, codes_of, said_texts

Process = Literal["official", "always"]
Rule = Literal["official", "simple"]
Form = Literal["as_is", "nfc", "nfkc"]
Read = Literal["whole", "only"]


MOST_ALIGNED = 1 << 36  # pairs of symbols of two texts that are aligned, which takes about 20 seconds


class QuestionSum(Sum):
    """A sum over the questions of each unit."""

    @abstractmethod
    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        """A value for each question, or several."""

    def measure(self, pairs: AnswerPairs, cache: SharedCache) -> SumBlock:
        values, units = np.asarray(self.of_questions(pairs, cache), dtype=np.float64), len(pairs.units)
        if values.ndim == 1:
            return sum_by_unit(values, pairs.owner, units)
        columns = [np.bincount(pairs.owner, weights=column, minlength=units) for column in values.T]
        return SumBlock(np.stack(columns, axis=1))


class Questions(QuestionSum):
    """Questions, or those that have an answer."""

    name = "answers.questions"

    of: Literal["all", "answered"] = "all"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        if self.of == "all":
            return np.ones(len(pairs.owner))
        return said_texts(pairs, cache, empty=True).answered


class ExactSum(QuestionSum):
    """Questions whose reply is an accepted answer, once both are made alike."""

    name = "answers.exact"

    norm: str = "space"
    form: Form = "as_is"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        """1 where it is one."""
        reply, accepted = codes_of(pairs, cache, self.norm, self.form)
        texts = said_texts(pairs, cache)
        return texts.best((accepted == reply[texts.of]).astype(float))


def vqa_scores(pairs: AnswerPairs, cache: SharedCache, process: str, rule: str) -> Array:
    """VQA accuracy of each question."""

    def make() -> Array:
        texts = said_texts(pairs, cache)
        if not len(texts.reply):
            return np.zeros(0)
        reply, accepted = codes_of(pairs, cache, "vqa", "as_is")
        hits = np.add.reduceat((accepted == reply[texts.of]).astype(np.int64), texts.begin[:-1])
        if process == "official":
            plain = np.asarray(_plain_codes(pairs, cache, texts))
            own = plain[texts.accepted]
            differs = np.add.reduceat((own != own[texts.begin[:-1]][texts.of]).astype(np.int64), texts.begin[:-1]) > 0
            same = np.add.reduceat((own == plain[texts.reply][texts.of]).astype(np.int64), texts.begin[:-1])
            hits = np.where(differs, hits, same)
        people = np.diff(texts.begin)
        if rule == "simple":
            return np.where(texts.answered, np.minimum(1.0, hits / 3), 0.0)
        others = hits * np.minimum(1.0, (hits - 1) / 3) + (people - hits) * np.minimum(1.0, hits / 3)
        return np.where(texts.answered, others / people, 0.0)

    return cache.once(("vqa", process, rule), make)


def _plain_codes(pairs: AnswerPairs, cache: SharedCache, texts: Said) -> Array:
    place: dict[str, int] = {}
    plain_codes = (place.setdefault(alike.plain(text), len(place)) for text in texts.distinct)
    return cache.once("plain", lambda: np.fromiter(plain_codes, np.int64, len(texts.distinct)))


class VqaSum(QuestionSum):
    """VQA accuracy, added up."""

    name = "answers.vqa"

    process: Process = "official"
    rule: Rule = "official"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        return vqa_scores(pairs, cache, self.process, self.rule)


class VqaRemarks(QuestionSum):
    """What a reader of VQA accuracy must know: what processing would turn right, and questions of few people."""

    name = "answers.vqa_remarks"
    drawn = False

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache)
        official, always = (vqa_scores(pairs, cache, process, "official") for process in ("official", "always"))
        return np.stack([always > official, np.diff(texts.begin) <= MANY], axis=1)


class AnlsSum(QuestionSum):
    """How alike reply and answer are by edit distance, 0 below a threshold."""

    name = "answers.anls"

    threshold: float = 0.5
    edge: Literal["script", "paper"] = "script"
    length: Literal["raw", "folded"] = "raw"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache)
        answers = [texts.distinct[i] for i in texts.accepted.tolist()]
        refuse_long(pairs, texts, answers, [texts.distinct[i] for i in texts.reply[texts.of].tolist()], "character")
        far = cache.once(("anls", self.length), lambda: shares_apart(texts, self.length))
        value = 1 - far
        low = value < self.threshold if self.edge == "script" else far >= self.threshold
        return texts.best(np.where(low, 0.0, value))


def refuse_long(pairs: AnswerPairs, texts: Said, answers: Sequence[Any], replies: Sequence[Any], symbol: str) -> None:
    """Raise where a reply and an answer are so long that aligning them would take minutes."""
    if max(map(len, answers), default=0) * max(map(len, replies), default=0) <= MOST_ALIGNED:
        return
    for place, (answer, reply) in enumerate(zip(answers, replies, strict=True)):
        if len(answer) * len(reply) > MOST_ALIGNED:
            row = int(pairs.truth_row[texts.of[place]])
            raise TooLarge(
                f"question '{pairs.truth['question'][row]}' has an answer of {count_text(len(answer), symbol)} and a "
                f"reply of {count_text(len(reply), symbol)}, which are too long to be aligned",
                where=pairs.truth.place(row),
                remedy="Cut the reply, split the question into lines or pages, or leave out metrics of edits.",
            )


def shares_apart(texts: Said, length: str) -> Array:
    """Edit distance of each accepted answer to the reply, as a share of the longer one's length."""
    folded = texts.each(alike.normalise_spaces)
    count = len(folded)
    sized = folded if length == "folded" else [text if text.isascii() else text.upper() for text in texts.distinct]
    lengths = np.fromiter(map(len, sized), np.int64, count)
    reply = texts.reply[texts.of]
    answers = [folded[i] for i in texts.accepted.tolist()]
    distance = edits.text_distances(answers, [folded[i] for i in reply.tolist()])
    longest = np.maximum(lengths[texts.accepted], lengths[reply])
    return np.divide(distance, longest, out=np.zeros(len(distance)), where=longest > 0)


class RelaxedSum(QuestionSum):
    """Questions whose number is near the true one, or whose text is equal."""

    name = "answers.relaxed"

    tolerance: float = 0.05
    years: Literal["relaxed", "exact"] = "relaxed"
    lenient: bool = False

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        """1 where it is."""
        texts = said_texts(pairs, cache)
        distinct = texts.distinct
        right = [
            alike.relaxed_match(distinct[reply], distinct[answer], self.tolerance, self.years, self.lenient)
            for reply, answer in zip(texts.reply[texts.of].tolist(), texts.accepted.tolist(), strict=True)
        ]
        return texts.best(np.array(right, dtype=float))


class BagSum(QuestionSum):
    """F1 of the words or characters that reply and answer share."""

    name = "answers.bags"

    of: Literal["words", "characters"] = "words"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache)
        bags = texts.each((lambda t: alike.squad(t).split()) if self.of == "words" else alike.normalise_spaces)
        pairs_of = zip(texts.reply[texts.of].tolist(), texts.accepted.tolist(), strict=True)
        return texts.best(np.array([alike.bag_f1(bags[reply], bags[answer]) for reply, answer in pairs_of]))


class EditSums(QuestionSum):
    """Words or characters that are kept, substituted, deleted and inserted; questions whose true text is empty."""

    name = "answers.edits"

    by: Literal["words", "characters"] = "words"
    form: Form = "as_is"
    space: Literal["blank", "any"] = "blank"

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        return cache.once(self, lambda: self._best_counts(pairs, cache))

    def texts(self, pairs: AnswerPairs, cache: SharedCache) -> tuple[list[str], list[str]]:
        """Each accepted answer, and beside it the reply."""
        texts, form = said_texts(pairs, cache, empty=True), alike.unicode_form(self.form)
        shaped = [form(text).strip() for text in texts.distinct]
        reply = texts.reply[texts.of].tolist()
        return [shaped[i] for i in texts.accepted.tolist()], [shaped[i] for i in reply]

    def _counts(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts, said = self.texts(pairs, cache), said_texts(pairs, cache, empty=True)
        if self.by == "characters":
            refuse_long(pairs, said, *texts, "character")
            return edits.text_counts(*texts)
        sides = [[alike.transcript_words(text, self.space) for text in side] for side in texts]
        refuse_long(pairs, said, sides[0], sides[1], "word")
        return edits.edit_counts(*edits.words(*sides))

    def _best_counts(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache, empty=True)
        counts = self._counts(pairs, cache).astype(np.float64)
        length, wrong = counts[:, :3].sum(axis=1), counts[:, 1:].sum(axis=1)
        rate = np.divide(wrong, length, out=np.where(wrong > 0, np.inf, 0.0), where=length > 0)
        best = np.lexsort((*counts.T, rate, texts.of))[texts.begin[:-1]]  # no order of rows decides between equals
        return np.column_stack([counts[best], length[best] == 0])


class TextRemarks(QuestionSum):
    """Texts with a tab or line end inside, and texts with characters in more than one form of Unicode."""

    name = "answers.text_remarks"
    drawn = False

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        texts = said_texts(pairs, cache, empty=True)
        nfc = alike.unicode_form("nfc")
        tabbed = np.array([any(mark in text.strip() for mark in "\t\n\r") for text in texts.distinct], dtype=bool)
        forms = np.array([nfc(text) != text for text in texts.distinct], dtype=bool)
        first = texts.accepted[texts.begin[:-1]]
        return np.stack([mark[first] | mark[texts.reply] for mark in (tabbed, forms)], axis=1)


def numbers_of(pairs: AnswerPairs, cache: SharedCache, read: str) -> tuple[Array, Array]:
    """The true number of each question that has one, the nearest to the reply's; and the reply's. nan where none."""

    def make() -> tuple[Array, Array]:
        texts = said_texts(pairs, cache)

        def numbers(reading: str) -> Array:
            values = [read_number(text, reading) for text in texts.distinct]
            return np.array([np.nan if value is None else value for value in values])

        reply = np.where(texts.answered, numbers(read)[texts.reply], np.nan)
        true = numbers("whole")[texts.accepted]
        away = np.abs(true - reply[texts.of])
        away = np.where(np.isnan(true), np.inf, np.where(np.isnan(away), 0.0, away))
        order = np.lexsort((away, texts.of))
        return true[order[texts.begin[:-1]]], reply

    return cache.once(("numbers", read), make)


class NumberHits(QuestionSum):
    """Questions whose reply is a number near the true one; and the questions that ask for a number."""

    name = "answers.number_hits"

    relative: float = 0.0
    absolute: float = 0.0
    read: Read = "whole"
    whole: bool = False

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        true, given = numbers_of(pairs, cache, self.read)
        asked = _countable_truth(true, self.whole)
        with np.errstate(invalid="ignore"):
            hit = np.abs(given - true) <= np.maximum(self.relative * np.abs(true), self.absolute)
        return np.stack([hit & asked, asked], axis=1)


def _countable_truth(true: Array, whole: bool) -> Array:
    asked = ~np.isnan(true)
    return asked & (true >= 0) & (true == np.floor(true)) if whole else asked


class NumberErrors(QuestionSum):
    """Of questions with a number on both sides: how many, errors (absolute, signed, squared, relative), how many have a
    relative one; and how many questions ask for a number.
    """

    name = "answers.number_errors"

    read: Read = "whole"
    whole: bool = False

    def of_questions(self, pairs: AnswerPairs, cache: SharedCache) -> Array:
        true, given = numbers_of(pairs, cache, self.read)
        asked = _countable_truth(true, self.whole)
        both = asked & ~np.isnan(given)
        error = np.where(both, given - np.where(asked, true, 0.0), 0.0)
        some = both & (true != 0)
        relative = np.divide(np.abs(error), np.abs(true), out=np.zeros(len(error)), where=some)
        return np.stack([both, np.abs(error), error, error**2, relative, some, asked], axis=1)
