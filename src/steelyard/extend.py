"""All that a package needs that brings a task, a metric, a check or a format of its own.

What stands here stays. The rooms behind it may change.
"""

from __future__ import annotations

from steelyard.align.join import join_rows
from steelyard.align.sets import SetPairs, join_sets
from steelyard.checks.check import Checks, Data, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.block import Block, CellsBlock, MomentsBlock, SumBlock
from steelyard.core.catalogue import lent
from steelyard.core.errors import InputError
from steelyard.core.explanation import Explanation
from steelyard.core.facts import Axis, Facts
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric, one_of, within_range
from steelyard.core.need import Cells, Curve, Moments, Need, Ranking, Rows, Sum, Work, sum_by_unit
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Coverage, Pairs
from steelyard.core.plan import COUNT, JACKKNIFE, POINT, UNITS, Plan
from steelyard.core.ranking import RankingBlock
from steelyard.core.records import Column, Records, Schema
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.task import Policy, Task
from steelyard.core.totals import Declared as Totals
from steelyard.core.totals import Wanted
from steelyard.core.weights import Entries, Floats, ratio
from steelyard.io.formats.dataset import Category, Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format
from steelyard.io.formats.manner import Loss, Manner
from steelyard.io.formats.reading import Reading

__all__ = [
    "COUNT",
    "JACKKNIFE",
    "POINT",
    "UNITS",
    "Axis",
    "Block",
    "BoxShape",
    "Category",
    "Cells",
    "CellsBlock",
    "Checks",
    "Column",
    "Coverage",
    "Curve",
    "Data",
    "Dataset",
    "EllipseShape",
    "Entries",
    "Explanation",
    "Facts",
    "Figure",
    "Floats",
    "Format",
    "Gatherer",
    "InputError",
    "LineShape",
    "Listing",
    "Loss",
    "Manner",
    "Metric",
    "Moments",
    "MomentsBlock",
    "Need",
    "Option",
    "Options",
    "Pairs",
    "Picture",
    "Plan",
    "Policy",
    "PolygonShape",
    "Problem",
    "Ranking",
    "RankingBlock",
    "RasterShape",
    "Reading",
    "Records",
    "Rows",
    "Scene",
    "Schema",
    "SetPairs",
    "State",
    "Sum",
    "SumBlock",
    "Table",
    "Task",
    "Texts",
    "Totals",
    "Wanted",
    "Work",
    "frozen",
    "join_rows",
    "join_sets",
    "lent",
    "one_of",
    "ratio",
    "sum_by_unit",
    "with_ids",
    "within_range",
]  # fmt: skip
