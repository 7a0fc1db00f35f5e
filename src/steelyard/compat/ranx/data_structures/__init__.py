"""ranx's data structures."""

from steelyard.compat.ranx.data_structures.qrels import Qrels
from steelyard.compat.ranx.data_structures.report import FrozensetDict, Report
from steelyard.compat.ranx.data_structures.run import Run

__all__ = ["FrozensetDict", "Qrels", "Report", "Run"]
