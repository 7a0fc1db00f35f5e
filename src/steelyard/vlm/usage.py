"""What a reply cost in tokens, from the counts that its server or model gave.

The journal keeps the counts under the names that they came with; a count inside an object has the object's name before
it: `prompt_tokens_details.cached_tokens`. Three vocabularies are known: OpenAI's (also of models that run here),
Anthropic's and Gemini's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.core.frozen import Frozen
from steelyard.core.visible import visible

LONGEST_NAME = 64
_MOST_COUNTS = 32


class Tokens(Frozen):
    """Counts of one reply; None where they are not known.

    `cached` is the part of `prompt` that the server had already, `reasoning` the part of `completion` that is not
    shown.
    """

    prompt: int | None = None
    cached: int = 0
    completion: int | None = None
    reasoning: int = 0


def tokens_of(usage: Mapping[str, int] | None) -> Tokens:
    """The counts of a turn's `usage` in one vocabulary."""
    counts = {name: value for name, value in (usage or {}).items() if type(value) is int and value >= 0}

    def total(first: str, *others: str) -> int | None:
        return sum(counts.get(name, 0) for name in (first, *others)) if first in counts else None

    if "input_tokens" in counts or "output_tokens" in counts:
        return Tokens(
            total("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
            counts.get("cache_read_input_tokens", 0),
            total("output_tokens"),
        )
    if "promptTokenCount" in counts:
        thoughts = counts.get("thoughtsTokenCount", 0)
        candidates = total("candidatesTokenCount", "thoughtsTokenCount")
        return Tokens(
            total("promptTokenCount"),
            counts.get("cachedContentTokenCount", 0),
            thoughts if candidates is None and thoughts else candidates,
            thoughts,
        )
    return Tokens(
        total("prompt_tokens"),
        counts.get("prompt_tokens_details.cached_tokens", 0),
        total("completion_tokens"),
        counts.get("completion_tokens_details.reasoning_tokens", 0),
    )


def read_usage(data: Any, scrub: Callable[[str], str]) -> dict[str, int]:
    """Counts of tokens, as far as they are counts: they decide nothing, so what is odd is passed over."""
    if not isinstance(data, dict):
        return {}
    counts: dict[str, int] = {}
    for name, value in data.items():
        inner = value if isinstance(value, dict) else {}
        for path, count in ((name, value), *((f"{name}.{key}", held) for key, held in inner.items())):
            if type(count) is int and 0 <= count < 2**63 and len(counts) < _MOST_COUNTS:
                counts[visible(scrub(path))[:LONGEST_NAME]] = count
    return counts
