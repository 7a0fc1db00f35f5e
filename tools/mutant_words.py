"""Which mutants change the words of a message only.

The tests assert the codes and fields of errors, not their sentences, so such mutants survive by design. A mutant
changes words only if the syntax tree of its function equals the original's except for string constants, also those
within f-strings, that are words: they contain white space and a word of two letters, they are part of a `raise`
statement or end as a sentence does, and no source uses the same text as a name. A name is what a source compares,
looks up, splits, formats or searches: see `names_in`. A message that is removed, or replaced by None, is a change of
the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

# The methods whose receiver and arguments are names; `once` takes the key of a cache.
READING = {*dir(str), *dir(bytes), *dir(dict), *dir(list), *dir(set), *dir(re), "once", "strftime", "strptime"}
WORD = re.compile(r"[^\W\d_]{2}")


def is_words(text: str, names: frozenset[str], raised: bool = False) -> bool:
    """Whether a string is a sentence, or a part of one that is raised."""
    spaced = any(map(str.isspace, text)) and WORD.search(text) is not None
    return spaced and (raised or text.rstrip().endswith((".", "?", "!"))) and text not in names


def names_of(sources: Iterable[Path]) -> frozenset[str]:
    """The strings with white space that source files use as names."""
    used = (text for path in sources for text in names_in(ast.parse(path.read_text(encoding="utf-8"))))
    return frozenset(text for text in used if any(map(str.isspace, text)))


def names_in(tree: ast.AST) -> Iterator[str]:
    """The strings that a source uses as names.

    They are compared, or keys of a mapping or a subscript, or patterns of a `match`, or the left side of `%`, or format
    specifications, or stand in a list of nothing but strings, or are the receiver or an argument of a method that
    strings, mappings, lists, sets or the module `re` have.
    """
    for node in ast.walk(tree):
        used: list[ast.AST | None] = []
        match node:
            case ast.Compare():
                used = [node.left, *node.comparators]
            case ast.Dict():
                used = list(node.keys)
            case ast.Subscript():
                used = [node.slice]
            case ast.MatchValue():
                used = [node.value]
            case ast.BinOp(op=ast.Mod()):
                used = [node.left]
            case ast.FormattedValue():
                used = [node.format_spec]
            case ast.Tuple() | ast.List() | ast.Set() if all(map(is_string, node.elts)):
                used = list(node.elts)
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in READING:
                used = [node.func.value, *node.args, *(keyword.value for keyword in node.keywords)]
        for part in used:
            yield from strings(part)


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def strings(node: ast.AST | None) -> Iterator[str]:
    """The strings of an expression, those within lists, conditions and concatenations too, but not within calls."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.JoinedStr(values=parts):
            for part in parts:
                yield from strings(part)
        case ast.BoolOp(values=parts):
            for part in parts:
                yield from strings(part)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from strings(one)
            yield from strings(other)
        case ast.Starred(value=value):
            yield from strings(value)


def changes_words_only(original: str, mutant: str, names: frozenset[str]) -> bool:
    """Whether the sources of two functions or methods of one name differ in words only."""
    return original != mutant and equal(parsed(original), parsed(mutant), names)


@lru_cache(maxsize=2)
def parsed(function: str) -> ast.AST:
    """The syntax tree of a function, which may be indented."""
    text = function.lstrip("\n")
    return ast.parse(f"if True:\n{text}" if text.startswith(" ") else text)


def equal(one: object, other: object, names: frozenset[str], raised: bool = False) -> bool:
    """Whether two syntax trees, or parts of them, are equal except for words."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(equal(a, b, names, raised) for a, b in zip(one, other, strict=True))
    if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
        before, after = one.value, other.value
        if isinstance(before, str) and isinstance(after, str) and before != after:
            return is_words(before, names, raised) and is_words(after, names, True)
        return type(before) is type(after) and repr(before) == repr(after)
    if isinstance(one, ast.FormattedValue) and isinstance(other, ast.FormattedValue):
        specified = [part.format_spec and ast.dump(part.format_spec) for part in (one, other)]
        converted = one.conversion == other.conversion
        return converted and specified[0] == specified[1] and equal(one.value, other.value, names, raised)
    if isinstance(one, ast.AST):
        raised = raised or isinstance(one, ast.Raise)
        fields = ((getattr(one, field, None), getattr(other, field, None)) for field in one._fields)
        return all(equal(a, b, names, raised) for a, b in fields)
    return one == other
