"""Plots of TrackEval, which the drop-in does not draw."""

from __future__ import annotations

import warnings
from typing import Any

from steelyard.core.errors import Unsupported

_REMEDY = "Use the package itself for plots: steelyard.compat.uninstall('trackeval')."


def note_left_out() -> None:
    """Warn, once, that curves are not drawn."""
    warnings.warn(f"the drop-in for trackeval does not draw curves (PLOT_CURVES). {_REMEDY}", stacklevel=3)


def plot_compare_trackers(*args: Any, **kw: Any) -> None:
    """Not drawn."""
    raise Unsupported("the drop-in for trackeval does not draw plots", remedy=_REMEDY)


def create_comparison_plot(*args: Any, **kw: Any) -> None:
    """Not drawn."""
    raise Unsupported("the drop-in for trackeval does not draw plots", remedy=_REMEDY)
