"""ranx's functions."""

from steelyard.compat.ranx.meta.compare import compare
from steelyard.compat.ranx.meta.evaluate import evaluate

__all__ = ["compare", "evaluate"]
