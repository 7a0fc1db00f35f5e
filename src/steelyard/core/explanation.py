"""Explanation: why another tool says another number, one setting at a time."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.core.deprecated import Renamed, RenamedKeywords
from steelyard.core.frozen import Frozen


class Step(Frozen, metaclass=RenamedKeywords):
    """One setting in which a tool differs, and the numbers that come of changing it alone."""

    setting: str
    ours: str
    theirs: str
    reason: str
    values: Mapping[str, float]
    why = Renamed("reason")


class Explanation(Frozen):
    """Our numbers, what each setting of a tool does to them, and what the tool prints with all of them."""

    tool: str
    version: str
    ours: Mapping[str, float]
    steps: tuple[Step, ...]
    theirs: Mapping[str, float]
    remarks: tuple[str, ...] = ()
