"""Metrics of parsed pages: text, reading order, what is missing and what is surplus."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from steelyard.core.counts import share_text
from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.documents.sums import (
    BLOCKS,
    CHARGED,
    CHARGED_PAGES,
    EDITS,
    FREE,
    FREE_PAGES,
    LONGER,
    MISSING,
    REPEATED,
    REPLY,
    SHARES,
    SURPLUS,
    SURPLUS_BLOCKS,
    TRUE,
    CdmSums,
    MatchedEdits,
    Order,
    OrderSums,
    PageEdits,
    Table,
    TableSums,
    TextSums,
)
from steelyard.tasks.documents.texts import Norm

INFINITY = float("inf")
Average = Literal["page", "whole", "block"]
Surplus = Literal["charged", "free"]


class _Text(Metric):
    """Base of metrics of matched texts."""

    better = "lower"
    range = (0.0, 1.0)
    of: ClassVar[str] = "text"

    norm: Norm = "words"

    @property
    def sums(self) -> TextSums:
        """What is added up."""
        return TextSums(self.norm, self.of)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.sums,)


class TextEdit(_Text):
    r"""Text edit distance: edits between the true and the predicted text, as a share of the longer text.

    $\frac{1}{P} \sum_p \frac{\sum_i d_i + m_p + s_p}{\sum_i L_i + m_p + s_p}$

    $d_i$ are the edits of matched blocks and $L_i$ the length of the longer side; $m_p$ are characters of the truth
    without a match and $s_p$ characters of the reply without one (0 with `surplus=free`). `average=whole` adds up all
    pages first, and `average=block` is the mean over blocks.

    Undefined when no page has text.

    Pros:
    - Charges invented text as much as missing text.
    - Does not depend on where a reply breaks its lines.

    Cons:
    - A page with one line weighs as much as a newspaper, unless `average=whole`.
    """

    name = "text_edit"
    title = "Text edit distance"
    reference = "OmniDocBench 1.6.0"
    aliases: ClassVar[tuple[str, ...]] = ("normalised edit distance", "ned")

    average: Average = "page"
    surplus: Surplus = "charged"

    @property
    def label(self) -> str:
        averages = {"page": "", "whole": ", all pages together", "block": ", mean over blocks"}
        return f"{self.title}{averages[self.average]}"

    def reduce(self, totals: TotalsView) -> Floats:
        sums, charged = totals[self.sums], self.surplus == "charged"
        if self.average == "page":
            share, pages = (CHARGED, CHARGED_PAGES) if charged else (FREE, FREE_PAGES)
            return ratio(sums[:, share], sums[:, pages])
        if self.average == "block":
            more = sums[:, SURPLUS_BLOCKS] * charged
            return ratio(sums[:, SHARES] + more, sums[:, BLOCKS] + more)
        rest = sums[:, MISSING] + sums[:, SURPLUS] * charged
        return ratio(sums[:, EDITS] + rest, sums[:, LONGER] + rest)


class FormulaEdit(TextEdit):
    r"""Formula edit distance: edits between true and predicted display formulas, as a share of the longer one.

    $\frac{1}{P} \sum_p \frac{\sum_i d_i + m_p + s_p}{\sum_i L_i + m_p + s_p}$

    LaTeX is normalised first: fonts, spacing, tags and braces that change nothing are free, and so is case.

    Undefined when no page has a formula.

    Pros:
    - Needs no LaTeX to be run.

    Cons:
    - Two ways to write one formula differ; OmniDocBench's CDM compares what is rendered.
    """

    name = "formula_edit"
    title = "Formula edit distance"
    aliases = ()
    of = "formula"


class PageEdit(_Text):
    r"""Page edit distance: edits between all text of a page in reading order, as a share of the longer text.

    $\frac{1}{P} \sum_p d_p / L_p$

    The order is that of both sides, so that another one costs, too. Tables are not in it, nor blocks that are left out
    of the scores and the text that matches these.

    Undefined when no page has text.

    Pros:
    - No matching decides anything.

    Cons:
    - Two swapped columns cost as much as a page of other text.
    """

    name = "page_edit"
    title = "Page edit distance"

    average: Literal["page", "whole"] = "page"

    @property
    def page_sums(self) -> PageEdits:
        """What is added up."""
        return PageEdits(self.norm)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.page_sums,)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.page_sums]
        return ratio(sums[:, 2], sums[:, 3]) if self.average == "page" else ratio(sums[:, 0], sums[:, 1])


class _Share(_Text):
    """Base of shares of characters over all pages."""

    part: ClassVar[int]
    total: ClassVar[bool] = False
    whole: ClassVar[int]

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.sums]
        return ratio(sums[:, self.part], sums[:, self.whole])


class Missing(_Share):
    r"""Missing text: the share of the true characters that no part of the reply matches.

    $\sum_p m_p / \sum_p |T_p|$

    Undefined when the truth has no text.

    Pros:
    - Tells text that was left out from text that was misread.

    Cons:
    - A block that is misread beyond recognition is missing, too.
    """

    name = "missing"
    title = "Missing text"
    part, whole = MISSING, TRUE


class SurplusText(_Share):
    r"""Surplus text: the share of the characters of the reply that match nothing on the page.

    $\sum_p s_p / \sum_p |R_p|$

    Invented and repeated text, which other scores leave out. Text that matches headers, captions and other blocks
    outside the scores is not surplus.

    Undefined when the replies have no text.

    Pros:
    - Shows hallucination as a number.

    Cons:
    - Text that is in the picture but not in the truth counts, too.
    """

    name = "surplus"
    title = "Surplus text"
    aliases = ("hallucination",)
    part, whole = SURPLUS, REPLY


class Repeated(_Share):
    r"""Repeated text: the share of the characters of the reply that say again what it has said already.

    $\sum_p r_p / \sum_p |R_p|$

    The part of `surplus` whose lines are equal to a matched block or line of the same page.

    Undefined when the replies have no text.

    Pros:
    - Tells a model that loops from one that invents.

    Cons:
    - A line must be repeated to the letter.
    """

    name = "repeated"
    title = "Repeated text"
    part, whole = REPEATED, REPLY


class _Order(Metric):
    """Base of metrics of the reading order."""

    better = "lower"
    range = (0.0, 1.0)

    norm: Norm = "words"

    @property
    def sums(self) -> OrderSums:
        """What is added up."""
        return OrderSums(self.norm)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.sums,)


class OrderEdit(_Order):
    r"""Reading order: the edit distance between the true order of blocks and that of the reply, over the longer list.

    $\frac{1}{P} \sum_p \frac{d(O_p, \hat O_p)}{\max(|O_p|, |\hat O_p|)}$

    Blocks are those of the truth; the reply's list has the matched ones by where they stand in it. A missing block is a
    deletion. Tables are in it. `order=first_table_lost` repeats OmniDocBench's faults: the first table of a reply is
    missing, and a text of which the normalisation leaves nothing hands its place to the next text.

    Undefined when no page has an order.

    Pros:
    - Nothing in the matching looks at the order.

    Cons:
    - Missing blocks count here and in the text.
    """

    name = "order_edit"
    title = "Reading order edit distance"
    reference = "OmniDocBench 1.6.0"

    order: Order = "all"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.sums]
        return ratio(sums[:, 4], sums[:, 5])

    @property
    def sums(self) -> OrderSums:
        return OrderSums(self.norm, self.order)


class OrderMoved(_Order):
    r"""Moved blocks: the share of the matched blocks that must be moved to bring the reply into the true order.

    $\frac{1}{P} \sum_p 1 - \frac{\mathrm{LIS}_p}{n_p}$

    $\mathrm{LIS}$ is the longest run of blocks that are in order already, not necessarily neighbours.

    Undefined when no page has an order and a matched block.

    Pros:
    - Missing blocks do not count.

    Cons:
    - A block that moved far counts as much as one that moved by one place.
    """

    name = "order_moved"
    title = "Blocks out of order"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.sums]
        return ratio(sums[:, 6], sums[:, 7])


class _Table(Metric):
    """Base of metrics of the tables of pages."""

    range = (-1.0, 1.0)
    score: ClassVar[Table]

    surplus: Surplus = "charged"
    average: Literal["page", "table"] = "page"

    @property
    def sums(self) -> TableSums:
        """What is added up."""
        return TableSums(self.score)

    @property
    def label(self) -> str:
        return self.title if self.average == "page" else f"{self.title}, mean over tables"

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.sums,)

    def reduce(self, totals: TotalsView) -> Floats:
        sums, charged = totals[self.sums], self.surplus == "charged"
        if self.average == "table":
            return ratio(sums[:, 1], sums[:, 0] + sums[:, 3] * charged)
        return ratio(sums[:, 4], sums[:, 5]) if charged else ratio(sums[:, 6], sums[:, 7])


class TableTeds(_Table):
    r"""TEDS of tables: how alike the trees of the true and the predicted table are, with the texts of cells.

    $\frac{1}{P} \sum_p \frac{1}{n_p} \sum_i \mathrm{TEDS}_i$

    Tables of a page are matched one to one by their HTML. A lost table is 0, and with `surplus=charged` so is a table
    that the page does not have. `rules=omnidocbench` normalises HTML as OmniDocBench does. Task `tables`
    has the formula.

    Undefined when no page has a table.

    Pros:
    - Structure and text in one number.

    Cons:
    - A value says little about what is wrong.
    """

    name = "table_teds"
    title = "TEDS of tables"
    reference = "OmniDocBench 1.6.0"
    score: ClassVar[Table] = "teds"

    rules: Literal["clean", "omnidocbench"] = "clean"

    @property
    def sums(self) -> TableSums:
        return TableSums(self.score, self.rules)


class TableTedsStruct(TableTeds):
    r"""TEDS of the structure of tables: the same without the texts of cells.

    $\frac{1}{P} \sum_p \frac{1}{n_p} \sum_i \mathrm{TEDS}^{\mathrm{S}}_i$

    Undefined when no page has a table.

    Pros:
    - Tells a wrong grid from misread cells.

    Cons:
    - Cells that moved by one column may cost nothing.
    """

    name = "table_teds_struct"
    title = "TEDS of tables, structure"
    score = "teds_struct"


class TableGritsCon(_Table):
    r"""GriTS of the content of tables: how much text the aligned places of both grids share.

    $\frac{1}{P} \sum_p \frac{1}{n_p} \sum_i \mathrm{GriTS}^{\mathrm{con}}_i$

    Undefined when no page has a table.

    Pros:
    - Knows rows and columns, which a tree does not.

    Cons:
    - Slow for large tables.
    """

    name = "table_grits_con"
    title = "GriTS of tables, content"
    range = (0.0, 1.0)
    score = "grits_con"


class _Rate(Metric):
    """Base of error rates of the matched text."""

    better = "lower"
    range = (0.0, INFINITY)
    by: ClassVar[str]

    norm: Norm = "words"

    @property
    def sums(self) -> MatchedEdits:
        """What is added up."""
        return MatchedEdits(self.by, self.norm)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.sums,)

    def reduce(self, totals: TotalsView) -> Floats:
        kept, substituted, deleted, inserted = totals[self.sums].T
        return ratio(substituted + deleted + inserted, kept + substituted + deleted)


class Overall(Metric):
    r"""Overall: OmniDocBench's mean of text, tables and formulas, in percent.

    $\frac{100}{3} \left((1 - \mathrm{edit}) + \mathrm{TEDS} + \mathrm{CDM}\right)$

    Text, TEDS and CDM are means over pages. CDM compares formulas as they are rendered, which needs LaTeX: it is read
    from OmniDocBench's scores (`scores=..._per_sample_CDM.json`).

    Undefined when the pages have no text, no tables or no scores of formulas.

    Pros:
    - The number of the board.

    Cons:
    - Says nothing about reading order and invented text.
    """

    name = "overall"
    title = "Overall of OmniDocBench"
    range = (-100 / 3, 100.0)
    measured_in = "%"
    reference = "OmniDocBench 1.6.0"

    norm: Norm = "omnidocbench"
    surplus: Surplus = "free"
    rules: Literal["clean", "omnidocbench"] = "omnidocbench"

    @property
    def text(self) -> TextEdit:
        """The part of texts."""
        return TextEdit(norm=self.norm, surplus=self.surplus)

    @property
    def table(self) -> TableTeds:
        """The part of tables."""
        return TableTeds(surplus=self.surplus, rules=self.rules)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.text.sums, self.table.sums, CdmSums()

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        _, every, bare = totals[CdmSums()][0]
        if not bare:
            return ()
        counts = "counts" if bare == 1 else "count"
        return (f"{share_text(int(bare), int(every), 'page', 'have')} formulas without a CDM, and {counts} as 0.",)

    def values(self, totals: TotalsView) -> dict[str, Floats]:
        """The three parts."""
        sums = totals[CdmSums()]
        return {
            "text": 1 - self.text.reduce(totals),
            "tables": self.table.reduce(totals),
            "scores of formulas (CDM)": ratio(sums[:, 0], sums[:, 1]),
        }

    def reduce(self, totals: TotalsView) -> Floats:
        first, second, third = self.values(totals).values()
        return (first + second + third) / 3 * 100

    def undefined_reason(self, totals: TotalsView) -> str:
        missing = [name for name, value in self.values(totals).items() if np.isnan(value[0])]
        return f"the pages have no {' and no '.join(missing)}"


class CharacterRate(_Rate):
    r"""Character error rate of matched blocks, with blanks folded and punctuation kept.

    $(S + D + I) / (H + S + D)$

    Shows what a normalisation hides. `norm` is that of the matching.

    Undefined when nothing is matched.

    Pros:
    - Counts punctuation and case.

    Cons:
    - Text without a match is not in it.
    """

    name = "cer"
    title = "Character error rate of matched blocks"
    by = "characters"


class WordRate(_Rate):
    r"""Word error rate of matched blocks: words between blanks, with punctuation.

    $(S + D + I) / (H + S + D)$

    Undefined when nothing is matched.

    Pros:
    - Close to what a reader has to correct.

    Cons:
    - One wrong letter is a wrong word.
    """

    name = "wer"
    title = "Word error rate of matched blocks"
    by = "words"


METRICS: tuple[type[Metric], ...] = (
    TextEdit,
    PageEdit,
    Missing,
    SurplusText,
    Repeated,
    OrderEdit,
    OrderMoved,
    TableTeds,
    TableTedsStruct,
    TableGritsCon,
    FormulaEdit,
    CharacterRate,
    WordRate,
    Overall,
)
