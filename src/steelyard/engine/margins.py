"""Verdicts with a margin: whether a model is equivalent, at least not worse, or worse by more than may be lost.

One shown interval decides, so each side of it has half of its level: 2.5 % where the interval is of 95 %. The margin
must be named before the result is seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.core.errors import DuplicateKey, InvalidSetting, OutOfRange, UnknownName, Unsupported, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.engine.intervals import Interval
from steelyard.results.score import canonical

EQUIVALENT, NOT_WORSE, WORSE, UNDECIDED = "equivalent", "not worse", "worse beyond margin", "undecided"


class Margin(Frozen):
    """How much may be lost: a size, or with `relative` a share of the first model's value."""

    size: float
    relative: bool = False


def parse_margin(spec: str, value: Any) -> Margin:
    """A margin from a number, or from a text such as "0.005" or "2%"."""
    text = str(value).strip()
    relative = text.endswith("%")
    try:
        size = float(text.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        size = math.nan
    if isinstance(value, bool) or math.isnan(size) or math.isinf(size):
        raise InvalidSetting(f"the margin of '{spec}' is {value!r}", remedy="Give a number, or a share such as 2%.")
    if size <= 0:
        raise OutOfRange(
            f"the margin of '{spec}' is {text}, which is not above 0",
            remedy="Say how much may be lost, whatever the metric's direction: map=0.005, or mae=2%.",
        )
    return Margin(size, relative)


def by_metric(request: Request) -> Request:
    """The request with its margins by the metrics' own names, whatever they were called."""
    margins: dict[str, str] = {}
    for spec, size in request.margin.items():
        named = canonical(spec, request.task)
        if named in margins:
            raise DuplicateKey(f"there are two margins for '{named}'", remedy="Give it once.")
        margins[named] = size
    return replace(request, margin=margins)


def margins_of(sizes: Mapping[str, Any], metrics: Sequence[Metric]) -> dict[str, Margin]:
    """The margins by spec; each must be of a metric that is compared and has a direction."""
    by_spec = {str(metric): metric for metric in metrics}
    margins = {}
    for spec, value in sizes.items():
        if spec not in by_spec:
            raise UnknownName(f"there is a margin for '{spec}', which is not compared", remedy=nearest(spec, by_spec))
        if by_spec[spec].better == "none":
            raise Unsupported(f"'{spec}' has no better side, so it cannot be worse", remedy="Leave its margin out.")
        margins[spec] = parse_margin(spec, value)
    return margins


def margin_verdict(plus: Interval | None, minus: Interval | None) -> str:
    """The verdict, from intervals of the gain plus the margin, and of the gain less the margin."""
    if plus is None or minus is None:
        return UNDECIDED
    if plus[0] > 0:
        return EQUIVALENT if minus[1] < 0 else NOT_WORSE
    return WORSE if plus[1] < 0 else UNDECIDED
