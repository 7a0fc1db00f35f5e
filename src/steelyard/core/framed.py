"""Framed: what has rows, as data frames of pandas and polars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from steelyard.core.errors import NotInstalled


class Framed:
    """Base of what has `to_frame`: columns by name, which other libraries take."""

    def to_frame(self) -> Any:
        """Columns that pandas, polars, pyarrow and DuckDB take: `polars.DataFrame(report.to_frame())`."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The rows of `to_frame` as a pandas DataFrame."""
        return _frame_library("pandas").DataFrame(self.to_frame())

    def to_polars(self) -> Any:
        """The rows of `to_frame` as a polars DataFrame."""
        return _frame_library("polars").DataFrame(self.to_frame())


def _frame_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise NotInstalled(f"{name} is not installed", remedy=f"Install it: pip install {name}.") from None
