"""ranx's own names: judgements, runs, their evaluation and comparison; see docs/compat/ranx.md."""

from steelyard.compat.ranx.data_structures import Qrels, Run
from steelyard.compat.ranx.meta import compare, evaluate

__all__ = ["Qrels", "Run", "compare", "evaluate"]
