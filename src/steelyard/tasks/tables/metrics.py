"""Metrics of `tables`: each is a mean over tables of what each scores. A lost table scores 0."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from steelyard.core.counts import share_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.tables.sums import CellSum, GritsSum, Tables, TableSum, TedsSum
from steelyard.tasks.tables.trees import Inline, Overlap, Rules, Text

TABLES = Tables()
PARTS = ("f", "precision", "recall", "bound")


class MeanOfTables(Metric):
    """Base of metrics that are the mean over tables of what each scores."""

    range = (0.0, 1.0)

    @abstractmethod
    def table_sum(self) -> TableSum:
        """What is added up."""

    def column(self) -> int:
        """Which of its columns."""
        return 0

    def requirements(self) -> tuple[Requirement, ...]:
        return self.table_sum(), TABLES

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.table_sum()][:, self.column()], totals[TABLES][:, 0])

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Tables without a reply, and replies without a table, which score 0; and replies that are cut off."""
        every, lost, bare, cut, large = (int(value) for value in totals[TABLES][0])
        notes = []
        if lost:
            notes.append(f"{share_text(lost, every, 'table', 'have')} no reply: score 0.")
        if bare:
            notes.append(f"{share_text(bare, every, 'reply', 'hold')} no table: score 0.")
        if large:
            notes.append(f"{share_text(large, every, 'reply', 'are')} too large to compare: score 0.")
        if cut:
            notes.append(f"{share_text(cut, every, 'reply', 'have')} no </table>, and the rest of the text counts.")
        return tuple(notes)


class Teds(MeanOfTables):
    r"""TEDS: how alike the trees of two tables are, with the texts of their cells.

    $\mathrm{TEDS} = 1 - \frac{d(T, P)}{\max(|T|, |P|)}$

    $d$ is the least cost of edits that make one tree the other: 1 for a row or cell that is deleted or inserted and
    for a cell with another span, and the edit distance of the texts by the longer one for two cells. $|T|$ counts rows
    and cells.

    `rules` says how HTML is read: `clean` by the HTML standard; `pubtabnet` and `omnidocbench` as these tools do.
    `header=true` charges `th` for `td` and a lost `thead`; `inline=tokens` compares the tags inside cells; `ignore`
    names tags that `rules=pubtabnet` takes out (`b`, or `b/i`).

    Undefined when there is no table.

    Pros:
    - What papers on PubTabNet, FinTabNet and OmniDocBench report.

    Cons:
    - A lost row costs as many edits as it has cells; the number alone does not say whether structure or text is wrong.
    """

    name = "teds"
    title = "TEDS"
    range = (-1.0, 1.0)
    reference = "PubTabNet 8ffde90, OmniDocBench 147cd5a"
    structure: ClassVar[bool] = False

    rules: Rules = "clean"
    header: bool = False
    inline: Inline = "drop"
    ignore: str = ""

    def check(self) -> None:
        if self.rules == "microsoft":
            raise InvalidSpec(
                f"metric '{self.name}': rules=microsoft is for GriTS", remedy="Use grits_top or grits_con."
            )
        if self.rules != "clean" and (self.header or self.inline != "drop"):
            raise InvalidSpec(
                f"metric '{self.name}': rules={self.rules} says how headers and tags are compared",
                remedy="Leave out header and inline.",
            )
        if self.ignore and self.rules == "clean":
            raise InvalidSpec(
                f"metric '{self.name}': ignore is of rules=pubtabnet",
                remedy="Tags inside cells are dropped by default.",
            )

    def table_sum(self) -> TableSum:
        return TedsSum(self.structure, self.rules, self.header, self.inline, self.ignore)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        if self.rules == "clean":
            return super().notes(totals)
        every = int(totals[TABLES][0, 0])
        unseen, unread = (int(value) for value in totals[self.table_sum()][0, 1:])
        notes = []
        if unseen and self.rules == "pubtabnet":
            share = share_text(unseen, every, "table", "are")
            notes.append(f"{share} not right inside <html><body> on both sides: score 0, as in the published code.")
        if unread:
            share = share_text(unread, every, "table", "have")
            notes.append(f"{share} a span that is not a number: score 0; the published code stops.")
        return (*notes, *super().notes(totals))


class TedsStruct(Teds):
    r"""TEDS of structure: the same without the texts of cells.

    $\mathrm{TEDS}_s = 1 - \frac{d_s(T, P)}{\max(|T|, |P|)}$

    Two cells with the same spans cost nothing.

    Undefined when there is no table.

    Pros:
    - Tells errors of structure from those of recognition.

    Cons:
    - Rows that are swapped cost nothing.
    """

    name = "teds_struct"
    title = "TEDS, structure"
    aliases = ("steds", "s_teds", "teds_s")
    structure = True


class GritsTop(MeanOfTables):
    r"""GriTS of topology: how alike the grids of two tables are by the spans of their cells.

    $\mathrm{GriTS} = \frac{2 \sum_{i,j} f(\tilde T_{ij}, \tilde P_{ij})}{|T| + |P|}$

    Rows and columns are aligned by dynamic programming, and $f$ compares the places that meet: the boxes of their
    cells relative to the place. `overlap=hull` divides the intersection by the smallest box around both, as the
    published code does, `union` by the union, as the paper says. `part` is `f`, `precision`, `recall` or `bound`, the
    upper bound of F.

    Undefined when there is no table.

    Pros:
    - Rows and columns count alike, and a cell lies where it is seen.

    Cons:
    - An alignment of rows and one of columns, each by itself: a heuristic with a known upper bound.
    """

    name = "grits_top"
    title = "GriTS, topology"
    reference = "table-transformer 16d124f"

    rules: Rules = "clean"
    overlap: Overlap = "hull"
    part: Literal["f", "precision", "recall", "bound"] = "f"

    def check(self) -> None:
        _check_rules(self.name, self.rules)

    def column(self) -> int:
        return PARTS.index(self.part)

    def table_sum(self) -> TableSum:
        return GritsSum("top", self.rules, self.overlap, "lcs")


class GritsCon(MeanOfTables):
    r"""GriTS of content: how alike the grids of two tables are by the texts of their cells.

    $f(a, b) = \frac{2\,|\mathrm{LCS}(a, b)|}{|a| + |b|}$

    This is the similarity of two texts, 1 if both are empty; the rest is as in `grits_top`.

    `text=difflib` finds common letters as Python's difflib does, which the published code uses: from 200 letters on,
    frequent ones are ignored.

    Undefined when there is no table.

    Pros:
    - Says whether the right text stands at the right place.

    Cons:
    - Empty places that meet count as right.
    """

    name = "grits_con"
    title = "GriTS, content"
    reference = "table-transformer 16d124f"

    rules: Rules = "clean"
    text: Text = "lcs"
    part: Literal["f", "precision", "recall", "bound"] = "f"

    def check(self) -> None:
        _check_rules(self.name, self.rules)

    def column(self) -> int:
        return PARTS.index(self.part)

    def table_sum(self) -> TableSum:
        return GritsSum("con", self.rules, "hull", self.text)


class GritsLoc(MeanOfTables):
    r"""GriTS of location: how alike the grids of two tables are by the boxes of their cells.

    $f(a, b) = \frac{|a \cap b|}{|\mathrm{hull}(a, b)|}$

    This is the similarity of two boxes; `overlap=union` divides by the union. The rest is as in `grits_top`. Both sides
    need `boxes`. A place without a box scores 0 whatever it meets, as in the published code: a perfect reply is below
    1 where cells have no box.

    Undefined when there is no table.

    Pros:
    - Says whether cells are found where they are, whatever is read in them.

    Cons:
    - Boxes around the text and boxes up to the lines are different, though neither is wrong.
    """

    name = "grits_loc"
    title = "GriTS, location"
    reference = "table-transformer 16d124f"

    overlap: Overlap = "hull"
    part: Literal["f", "precision", "recall", "bound"] = "f"

    def column(self) -> int:
        return PARTS.index(self.part)

    def table_sum(self) -> TableSum:
        return GritsSum("loc", "clean", self.overlap, "lcs")


def _check_rules(name: str, rules: str) -> None:
    if rules == "pubtabnet":
        raise InvalidSpec(
            f"metric '{name}': rules=pubtabnet is for TEDS", remedy="Use clean, microsoft or omnidocbench."
        )


class CellF1(MeanOfTables):
    r"""Cell F1: cells with the right place, spans and text.

    $F_1 = \frac{2\,|T \cap P|}{|T| + |P|}$

    $T$ and $P$ are the cells of a table as (row, column, spans, text), and the mean is over tables; `average=cell`
    takes the cells of all tables together.

    Undefined when there is no table.

    Pros:
    - Cells that can be used as they are.

    Cons:
    - A lost row makes all cells below it wrong.
    """

    name = "cell_f1"
    title = "Cell F1"

    average: Literal["table", "cell"] = "table"

    def table_sum(self) -> TableSum:
        return CellSum()

    def reduce(self, totals: TotalsView) -> Floats:
        cells = totals[CellSum()]
        if self.average == "cell":
            return ratio(2 * cells[:, 0], cells[:, 1] + cells[:, 2])
        return ratio(cells[:, 3], totals[TABLES][:, 0])


class Shape(MeanOfTables):
    r"""Shape: the share of tables with the right number of rows and columns.

    $\frac{1}{N} \sum_i [\,(R_i, C_i) = (\hat R_i, \hat C_i)\,]$

    Undefined when there is no table.

    Pros:
    - Says at once whether structure is the problem.

    Cons:
    - Nothing of what is in the cells.
    """

    name = "shape"
    title = "Right shape"

    def table_sum(self) -> TableSum:
        return CellSum()

    def column(self) -> int:
        return 4

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        return totals[CellSum()][:, 4], totals[TABLES][:, 0]


METRICS = (Teds, TedsStruct, GritsTop, GritsCon, GritsLoc, CellF1, Shape)
