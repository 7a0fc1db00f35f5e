"""What is kept of tables: the score of each, added up over the tables of a unit."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from typing import Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.tasks.tables.data import TablePairs
from steelyard.tasks.tables.trees import Rules, grits_con, grits_top, parse_tables, teds

Inline = Literal["drop", "tokens"]
Overlap = Literal["hull", "union"]
Text = Literal["lcs", "difflib"]


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
    """Tables, those without a reply, and those whose reply holds no table."""

    name = "tables.count"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        replies = pairs.texts()[1]
        lost = pairs.prediction_row < 0
        bare = np.array([not parse_tables(text) for text in replies], dtype=bool) & ~lost
        return np.stack([np.ones(len(lost)), lost, bare], axis=1)


class TedsSum(TableSum):
    """TEDS of each table."""

    name = "tables.teds"

    structure: bool = False
    rules: Rules = "clean"
    header: bool = False
    inline: Inline = "drop"
    ignore: str = ""

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        ignore = tuple(self.ignore.split("/")) if self.ignore else ()
        return np.array(
            [
                [
                    teds(
                        truth,
                        reply,
                        rules=self.rules,
                        structure=self.structure,
                        header=self.header,
                        inline=self.inline,
                        ignore=ignore,
                    )
                ]
                for truth, reply in zip(*pairs.texts(), strict=True)
            ]
        ).reshape(-1, 1)


class GritsSum(TableSum):
    """GriTS of each table: F, precision, recall, the upper bound of F."""

    name = "tables.grits"

    kind: Literal["top", "con"]
    rules: Rules = "clean"
    overlap: Overlap = "hull"
    text: Text = "lcs"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        rows = []
        for truth, reply in zip(*pairs.texts(), strict=True):
            if self.kind == "top":
                score = grits_top(truth, reply, rules=self.rules, overlap=self.overlap)
            else:
                score = grits_con(truth, reply, rules=self.rules, text=self.text)
            rows.append([score.f, score.precision, score.recall, score.bound])
        return np.array(rows).reshape(-1, 4)


class CellSum(TableSum):
    """Cells of each table that both sides have, true cells, score cells, F1, and whether the shape is right."""

    name = "tables.cells"

    def of_tables(self, pairs: TablePairs, cache: SharedCache) -> Array:
        rows = []
        for texts in zip(*pairs.texts(), strict=True):
            first = [next(iter(parse_tables(text)), None) for text in texts]
            truth, reply = first
            assert truth is not None
            cells = [
                Counter((c.row, c.column, c.rowspan, c.colspan, c.text) for c in table.cells) if table else Counter()
                for table in first
            ]
            both = (cells[0] & cells[1]).total()
            sizes = [cell.total() for cell in cells]
            shape = reply is not None and (truth.rows, truth.columns) == (reply.rows, reply.columns)
            rows.append([both, *sizes, 2 * both / max(sum(sizes), 1), shape])
        return np.array(rows, dtype=float).reshape(-1, 5)
