"""Other tools: what each does in another way, and the explanation that comes of it, one setting at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Generic, TypeVar

from steelyard.core.errors import UnknownName, nearest
from steelyard.core.explanation import Explanation, Step
from steelyard.core.frozen import Frozen

T = TypeVar("T")
W = TypeVar("W")


class Tool(Frozen, Generic[W]):
    """Another tool: what it does in another way and why, which numbers it prints, and what cannot be seen in them.

    A way is a frozen class of settings whose defaults are ours; a field's metadata has its title.
    """

    name: str
    version: str
    conventions: W
    reasons: Mapping[str, str]
    prints: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def find_tools(names: Iterable[str], tools: Mapping[str, T]) -> dict[str, T]:
    """What is known of the tools that are named."""
    names = tuple(names)
    for name in names:
        if name not in tools:
            raise UnknownName(f"'{name}' cannot be explained", remedy=nearest(name, tools))
    return {name: tools[name] for name in names}


def explain_tool(tool: Tool[W], values: Callable[[W], Mapping[str, float]]) -> Explanation:
    """What the tool prints by `values` of its way, and what each of its settings does on its own."""
    conventions: Any = tool.conventions
    ours = type(conventions)()

    def printed_values(way: W) -> dict[str, float]:
        every = values(way)
        return {name: every[name] for name in tool.prints}

    steps = []
    for f in fields(conventions):
        theirs = getattr(conventions, f.name)
        if theirs != f.default:
            alone = printed_values(replace(ours, **{f.name: theirs}))
            steps.append(Step(f.metadata["title"], str(f.default), theirs, tool.reasons[f.name], alone))
    return Explanation(
        tool.name, tool.version, printed_values(ours), tuple(steps), printed_values(conventions), tool.remarks
    )
