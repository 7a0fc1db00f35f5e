"""Error rates of texts: words or characters substituted, deleted and inserted, over those that there are.

Conventions: rates are ratios of sums over all questions, never means of rates. S, D and I are those of one alignment
with the least edits, which is jiwer's. Words stand between blanks; a tab or a line end inside a text separates nothing,
as in jiwer (`space=any` takes all white space). Characters are code points of the stripped text; `unicode=nfc` joins
those that are written in two. Of several accepted texts the one with the lowest rate counts.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.metric import Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.answers.sums import EditSums, Form, TextRemarks

INFINITY = float("inf")
By = Literal["words", "characters"]
Space = Literal["blank", "any"]


class _Transcript(Metric):
    """Base of the rates of a text."""

    better = "lower"
    reference = "jiwer 4.0.0"
    range = (0.0, 1.0)
    by: ClassVar[By] = "words"

    unicode: Form = "as_is"

    @property
    def edits(self) -> EditSums:
        """What is added up."""
        return EditSums(self.by, self.unicode)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.edits, TextRemarks()

    def counts(self, totals: TotalsView) -> tuple[Floats, Floats, Floats, Floats]:
        """Kept, substituted, deleted, inserted."""
        sums = totals[self.edits]
        return sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3]

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Empty true texts, separators that are none, characters in two forms."""
        empty = int(totals[self.edits][0, 4])
        tabbed, forms = (int(one) for one in totals[TextRemarks()][0])
        remarks = []
        if empty:
            remarks.append(
                f"{empty:,} true texts are empty: what is inserted there adds to the errors, and nothing to the length."
            )
        if tabbed and self.by == "words" and self.edits.space == "blank":
            remarks.append(
                f"{count_text(tabbed, 'question', 'have')} a tab or line end inside a text, which separates no "
                "words; space=any does."
            )
        if forms and self.unicode == "as_is":
            remarks.append(
                f"{count_text(forms, 'question', 'have')} characters in more than one form of Unicode; "
                "unicode=nfc joins them."
            )
        return tuple(remarks)


class _Words(_Transcript):
    """Base of the rates of words."""

    space: Space = "blank"

    @property
    def edits(self) -> EditSums:
        return EditSums("words", self.unicode, self.space)


class _Characters(_Transcript):
    """Base of the rates of characters."""

    by: ClassVar[By] = "characters"


class _Rate(_Transcript):
    """Base of the rates of all edits, or of one kind of edit."""

    range = (0, INFINITY)
    part: ClassVar[str] = "all"

    def reduce(self, totals: TotalsView) -> Floats:
        correct, substituted, deleted, inserted = self.counts(totals)
        edits = {"all": substituted + deleted + inserted, "s": substituted, "d": deleted, "i": inserted}
        return ratio(edits[self.part], correct + substituted + deleted)


_PART = r"""{title}: the part of the {unit} error rate that is {unit}s {done}.

    ${letter} / (H + S + D)$

    With the two others it adds up to `{of}`.

    Undefined when the true texts are empty.

    Pros:
    - Says what kind of error there is.

    Cons:
    - Which edit stands where is a choice where several alignments are as short.
    """


def _parts(base: type[_Rate], unit: str) -> tuple[type[Metric], ...]:
    """The metrics of each kind of edit."""
    kinds = {"s": ("Substitutions", "substituted"), "d": ("Deletions", "deleted"), "i": ("Insertions", "inserted")}
    words = {"unit": unit, "of": base.name}
    rows = {
        part: {
            "name": f"{base.name}_{part}",
            "title": f"{kind} by {unit}",
            "letter": part.upper(),
            "done": done,
            **words,
        }
        for part, (kind, done) in kinds.items()
    }
    return family(base, "part", _PART, **rows)


class WordErrorRate(_Rate, _Words):
    r"""Word error rate: edits that make the true text the reply, over its words.

    $\mathrm{WER} = \frac{S + D + I}{H + S + D}$

    A reply much longer than the text can have more than 1. An empty reply deletes all.

    Undefined when the true texts are empty.

    Pros:
    - The measure of speech and text recognition; its parts say what goes wrong.

    Cons:
    - Case and punctuation count as much as letters.
    """

    name = "wer"
    title = "Word error rate"


class CharacterErrorRate(_Rate, _Characters):
    r"""Character error rate: edits that make the true text the reply, over its characters.

    $\mathrm{CER} = \frac{S + D + I}{H + S + D}$

    A reply much longer than the text can have more than 1. An empty reply deletes all.

    Undefined when the true texts are empty.

    Pros:
    - The measure of text recognition; its parts say what goes wrong.

    Cons:
    - Case and punctuation count as much as letters.
    """

    name = "cer"
    title = "Character error rate"


class MatchErrorRate(_Words):
    r"""Match error rate: the share of matches and edits that are edits.

    $\mathrm{MER} = \frac{S + D + I}{H + S + D + I}$

    At most 1, unlike `wer`.

    Undefined when there is no word.

    Pros:
    - Reads as a probability.

    Cons:
    - Less known than WER.
    """

    name = "mer"
    title = "Match error rate"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        kept, substituted, deleted, inserted = self.counts(totals)
        return ratio(substituted + deleted + inserted, kept + substituted + deleted + inserted)


def _preserved_share(correct: Floats, true: Floats, predicted: Floats) -> Floats:
    """Share of the true words that are kept, times that of the said ones; 0 where one side has no word, as in jiwer."""
    both: Floats = ratio(correct, true) * ratio(correct, predicted)
    return np.where(np.isnan(both) & (true + predicted > 0), 0.0, both)


class WordInformationPreserved(_Words):
    r"""Word information preserved: the share of true words that are kept, times the share of said words that are right.

    $\mathrm{WIP} = \frac{H}{H + S + D} \cdot \frac{H}{H + S + I}$

    1 where all is right (Morris et al. 2004), and 0 where no reply has a word.

    Undefined when there is no word on either side.

    Pros:
    - Counts omissions and inventions alike.

    Cons:
    - Less known than WER.
    """

    name = "wip"
    title = "Word information preserved"
    better = "higher"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        kept, substituted, deleted, inserted = self.counts(totals)
        return _preserved_share(kept, kept + substituted + deleted, kept + substituted + inserted)


class WordInformationLost(_Words):
    r"""Word information lost: one minus the word information preserved.

    $\mathrm{WIL} = 1 - \frac{H}{H + S + D} \cdot \frac{H}{H + S + I}$

    0 where all is right (Morris et al. 2004), and 1 where no reply has a word.

    Undefined when there is no word on either side.

    Pros:
    - Counts omissions and inventions alike.

    Cons:
    - Less known than WER.
    """

    name = "wil"
    title = "Word information lost"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        kept, substituted, deleted, inserted = self.counts(totals)
        return 1 - _preserved_share(kept, kept + substituted + deleted, kept + substituted + inserted)


TRANSCRIPTS: tuple[type[Metric], ...] = (
    CharacterErrorRate, *_parts(CharacterErrorRate, "character"), WordErrorRate, *_parts(WordErrorRate, "word"),
    MatchErrorRate, WordInformationPreserved, WordInformationLost,
)  # fmt: skip
