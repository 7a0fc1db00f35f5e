"""Counts in words."""

from __future__ import annotations


def count_text(count: int, word: str) -> str:
    """A count with its word in the right number: 1 dish, 1,200 dishes, 2 queries, 2 days."""
    return f"{count:,} {word if count == 1 else _plural(word)}"


def _plural(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x")):
        return f"{word}es"
    if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
        return f"{word[:-1]}ies"
    return f"{word}s"
