"""Counts in words."""

from __future__ import annotations

import re

_SINGULAR_VERBS = {"are": "is", "have": "has", "do": "does"}


def count_text(count: int, word: str, verb: str = "", of: str = "") -> str:
    """A count with its word, and a verb, in the right number: 1 dish has, 1,200 dishes have, 2 queries, 2 days.

    `verb` is given in the plural, `of` is what comes between: 1 pair of image and class has.
    """
    noun, has = (word, _SINGULAR_VERBS.get(verb, f"{verb}s")) if count == 1 else (plural(word), verb)
    return " ".join([f"{count:,}", noun, *([of] if of else []), *([has] if verb else [])])


def share_text(count: int, total: int, word: str, verb: str, of: str = "") -> str:
    """A part of a count with a verb in the right number: 1 of 3 rows has, 2 of 3 rows have, 1 of 1 row has."""
    has = _SINGULAR_VERBS.get(verb, f"{verb}s") if count == 1 else verb
    return f"{count:,} of {count_text(total, word, of=of)} {has}"


def plural(word: str) -> str:
    """Dishes, queries, days."""
    if word == "axis":
        return "axes"
    if word.endswith(("s", "sh", "ch", "x")):
        return f"{word}es"
    if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
        return f"{word[:-1]}ies"
    return f"{word}s"


def counted(count: int, words: str) -> str:
    """A count before words that begin with a plural: 1 image without truth, 2 classes that have no pixel."""
    if count != 1:
        return f"{count:,} {words}"
    noun, _, rest = words.partition(" ")
    singular = f"{noun[:-3]}y" if noun.endswith("ies") else re.sub("(?<=sh|ss)es$|s$", "", noun)
    rest = re.sub(
        r"^(.*?, which|that) (have|name)\b", lambda m: f"{m[1]} {_SINGULAR_VERBS.get(m[2], m[2] + 's')}", rest
    )
    return f"1 {singular} {rest}".rstrip()
