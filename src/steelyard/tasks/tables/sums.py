"""What is kept of tables: the scores of each, added up over the tables of a unit."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import TooLarge
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.tasks.tables.data import TablePairs
from steelyard.tasks.tables.trees import (
    MOST_COMPARED,
    NO_BOXES,
    OVERSIZE,
    STATUS,
    Inline,
    Kind,
    Overlap,
    Rules,
    Text,
    grid_scores,
    shared_cells,
    tree_scores,
)


class TableSum(Sum):
    """A sum over the tables of each unit."""

    @abstractmethod
    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        """Values of each table, a row for each."""

    def measure(self, pairs: TablePairs, cache: SharedCache) -> SumBlock:
        values, units = np.asarray(self.of_tables(pairs, cache), dtype=np.float64), len(pairs.units)
        columns = [np.bincount(pairs.owner, weights=column, minlength=units) for column in values.T]
        return SumBlock(np.stack(columns, axis=1))


class Tables(TableSum):
    """Tables: all, those without a reply, whose reply holds no table, one that is cut off, and one too large."""

    name = "tables.count"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        lost = pairs.prediction_row < 0
        scanned = np.zeros((len(lost), 5), dtype=np.int64)
        scanned[~lost] = pairs.scanned[pairs.prediction_row[~lost]]
        bare = (scanned[:, 0] == 0) & ~lost
        return np.stack([np.ones(len(lost)), lost, bare, scanned[:, 4] & 1 > 0, scanned[:, 4] & OVERSIZE > 0], axis=1)


class TedsSum(TableSum):
    """TEDS of each table, and whether the rules find a table in neither or one text, or a span that is not a number."""

    name = "tables.teds"

    structure: bool = False
    rules: Rules = "clean"
    header: bool = False
    inline: Inline = "drop"
    ignore: str = ""

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        scores, status = tree_scores(
            *pairs.texts(),
            rules=self.rules,
            structure=self.structure,
            header=self.header,
            inline=self.inline,
            ignore=self.ignore,
        )
        return np.stack([scores, status == STATUS.index("no table"), status == STATUS.index("unreadable span")], axis=1)


class GritsSum(TableSum):
    """GriTS of each table: F, precision, recall, the upper bound of F."""

    name = "tables.grits"

    kind: Kind
    rules: Rules = "clean"
    overlap: Overlap = "hull"
    text: Text = "lcs"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        own, other = pairs.boxes() if self.kind == "loc" else (NO_BOXES, NO_BOXES)
        scores, status = grid_scores(
            *pairs.texts(),
            self.kind,
            rules=self.rules,
            overlap=self.overlap,
            text=self.text,
            truth_boxes=own,
            reply_boxes=other,
        )
        large = np.flatnonzero(status == STATUS.index("too large")) if self.text == "difflib" else ()
        for place in large:
            row = int(pairs.prediction_row[place])
            if not pairs.scanned[row, 4] & OVERSIZE:
                raise TooLarge(
                    f"a cell of '{pairs.truth_column('table')[place]}' has more than {MOST_COMPARED:,} characters",
                    where=pairs.truth.place(int(pairs.truth_row[place])),
                    remedy="Use text=lcs, which takes any number.",
                )
        return scores


class CellSum(TableSum):
    """Cells of each table that both sides have, true cells, found cells, F1, and whether the shape is right."""

    name = "tables.cells"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        counts = shared_cells(*pairs.texts()).astype(np.float64)
        f1 = 2 * counts[:, 0] / np.maximum(counts[:, 1] + counts[:, 2], 1)
        return np.column_stack([counts[:, :3], f1, counts[:, 3]])
