"""The chart library, imported when the first chart is drawn: it is an extra, and takes its time."""

from __future__ import annotations

from functools import cache
from typing import Any

from steelyard.core.errors import NotInstalled

REMEDY = "Install it: pip install 'steelyard[report]'."


def available() -> bool:
    """Whether charts can be drawn here."""
    from importlib.util import find_spec

    return find_spec("altair") is not None and find_spec("vl_convert") is not None


@cache
def altair() -> Any:
    """Altair, or a message that says how to get it."""
    try:
        import altair
    except ImportError:
        raise NotInstalled("charts need the package altair", remedy=REMEDY) from None
    altair.data_transformers.disable_max_rows()
    return altair


@cache
def vl_convert() -> Any:
    """vl-convert, or a message that says how to get it."""
    try:
        import vl_convert
    except ImportError:
        raise NotInstalled("charts need the package vl-convert-python", remedy=REMEDY) from None
    return vl_convert
