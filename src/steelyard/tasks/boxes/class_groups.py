"""Settings of a mean over some of the classes: by LVIS's frequency, or by name."""

from __future__ import annotations

from typing import Any, Literal

from steelyard.core.errors import Conflict, InvalidSpec, first_few
from steelyard.core.metric import one_of

Frequency = Literal["r", "c", "f"]
Classes = tuple[str | int, ...]
OFTEN = {"r": "rare", "c": "common", "f": "frequent"}


def class_group(metric: Any) -> tuple[Any, ...] | None:
    """The classes that a metric is a mean over; None for all."""
    if metric.frequency is not None:
        return ("frequency", metric.frequency)
    if metric.classes is None:
        return None
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    return ("classes", *listed)


def check_group(metric: Any) -> None:
    """Check the classes of a mean."""
    if metric.frequency is not None:
        one_of(metric, "frequency", "r", "c", "f")
    if metric.frequency is not None and metric.classes is not None:
        raise Conflict(f"'{metric}': frequency and classes both say which classes", remedy="Give one of them.")
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    if metric.classes is not None and not (listed and all(isinstance(v, str | int) for v in listed)):
        raise InvalidSpec(f"metric '{metric.name}': classes cannot be {metric.classes}", remedy="Give [name, name].")


def titled(title: str, metric: Any) -> str:
    """A title with the classes behind it."""
    if metric.frequency is not None:
        return f"{title}, {OFTEN[metric.frequency]} classes"
    if metric.classes is None:
        return title
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    return f"{title}, {first_few(list(map(str, listed)))}"
