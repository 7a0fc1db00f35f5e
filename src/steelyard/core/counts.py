"""Counts in words."""

from __future__ import annotations


def count_text(count: int, word: str) -> str:
    """A count with its word in the right number: 1 dish, 1,200 dishes."""
    if count != 1:
        word += "es" if word.endswith(("s", "sh", "ch", "x")) else "s"
        if word.endswith("ys"):
            word = word[:-2] + "ies"
    return f"{count:,} {word}"
