"""The public interface for packages that add tasks, metrics, checks or formats.

Names listed here stay; the modules behind them may change.
"""

from __future__ import annotations

from steelyard.align.join import join_rows
from steelyard.align.sets import SetPairs, join_sets
from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.block import Block, CellsBlock, MomentsBlock, SumBlock
from steelyard.core.catalogue import registered
from steelyard.core.deprecated import warn_renamed as _warn_renamed
from steelyard.core.errors import InputError
from steelyard.core.explanation import Explanation
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.metric import Between, Metric, one_of, within_range
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Coverage, Pairs
from steelyard.core.plan import COUNT, JACKKNIFE, POINT, UNITS, WeightPlan
from steelyard.core.ranking import RankingBlock
from steelyard.core.records import Column, Records, Schema
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, RasterShape, Scene
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import (
    Cells,
    Moments,
    Ranking,
    RankingReader,
    Requirement,
    Rows,
    SharedCache,
    Statistic,
    Sum,
    sum_by_unit,
)
from steelyard.core.table import Table
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Entries, Floats, ratio
from steelyard.io.formats.dataset import Category, Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format, Loss, ReadOptions, WriteOptions

__all__ = [
    "COUNT",
    "JACKKNIFE",
    "POINT",
    "UNITS",
    "Axis",
    "Between",
    "Block",
    "BoxShape",
    "Category",
    "Cells",
    "CellsBlock",
    "CheckData",
    "Checks",
    "Column",
    "Coverage",
    "Dataset",
    "EllipseShape",
    "Entries",
    "Explanation",
    "Figure",
    "Floats",
    "Format",
    "Gatherer",
    "InputError",
    "LineShape",
    "Listing",
    "Loss",
    "Metadata",
    "Metric",
    "Moments",
    "MomentsBlock",
    "Option",
    "Options",
    "Pairs",
    "Picture",
    "Policy",
    "PolygonShape",
    "Problem",
    "Ranking",
    "RankingBlock",
    "RankingReader",
    "RasterShape",
    "ReadOptions",
    "Records",
    "Requirement",
    "Rows",
    "Scene",
    "Schema",
    "SetPairs",
    "SharedCache",
    "State",
    "Statistic",
    "Sum",
    "SumBlock",
    "Table",
    "Task",
    "Texts",
    "TotalsView",
    "WeightPlan",
    "WriteOptions",
    "frozen",
    "join_rows",
    "join_sets",
    "one_of",
    "ratio",
    "registered",
    "sum_by_unit",
    "with_ids",
    "within_range",
]  # fmt: skip

_RENAMED = {
    "Curve": "RankingReader",
    "Data": "CheckData",
    "Facts": "Metadata",
    "Manner": "WriteOptions",
    "Need": "Statistic",
    "Plan": "WeightPlan",
    "Reading": "ReadOptions",
    "Totals": "TotalsView",
    "Wanted": "Requirement",
    "Work": "SharedCache",
    "lent": "registered",
}


def __getattr__(name: str) -> object:
    """Return the object that an old name stands for, with a DeprecationWarning."""
    if name not in _RENAMED:
        raise AttributeError(f"module 'steelyard.extend' has no attribute '{name}'")
    _warn_renamed(f"steelyard.extend.{name}", f"steelyard.extend.{_RENAMED[name]}")
    value: object = globals()[_RENAMED[name]]
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
