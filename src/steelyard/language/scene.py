"""Scene graphs of captions: what objects a caption names, with what attributes, in what relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from steelyard import _native
from steelyard.core.errors import InvalidValue, TooLarge
from steelyard.core.frozen import Frozen
from steelyard.language import tables
from steelyard.language.tokens import pack, unpack

Tuples = tuple[tuple[str, ...], ...]

GRAPHS = ("original", "described")
Graph = Literal["original", "described"]

_parsed: dict[Graph, dict[str, str]] = {"original": {}, "described": {}}
_MOST_REMEMBERED = 200_000
MOST_WORDS = 2_000


class Token(Frozen):
    """A word with its tag, the number of its head (0: the root) and its relation to it."""

    word: str
    tag: str
    head: int
    relation: str


def tuple_lines(tokenised: Sequence[str], graph: Graph = "original") -> list[str]:
    """Tuples of tokenised captions, each as lines of fields between tabs. Identical captions are parsed once.

    `graph` is the reading: by the rules of the original SPICE, or what the caption describes.
    """
    for text in tokenised:
        if text.count(" ") >= MOST_WORDS:
            raise TooLarge(
                f"a caption of {text.count(' ') + 1:,} words, '{_value_text(text)}'",
                remedy=f"A caption is a sentence: at most {MOST_WORDS:,} words are parsed.",
            )
    cache = _parsed[graph]
    new = [text for text in dict.fromkeys(tokenised) if text not in cache]
    if len(cache) + len(new) > _MOST_REMEMBERED:
        cache.clear()
        new = list(dict.fromkeys(tokenised))
    if new:
        block = _native.caption_tuples(tables.parser(), tables.lemmas(), *pack(new), described=graph == "described")
        cache.update(zip(new, unpack(*block), strict=True))
    return [cache[text] for text in tokenised]


def tuples_of(lines: str) -> Tuples:
    """Tuples from their lines."""
    return tuple(tuple(line.split("\t")) for line in lines.split("\n") if line)


def lines_of(tuples: Sequence[Sequence[Any]], where: str = "") -> str:
    """Lines from tuples that a user gives; an error names the first that is none."""
    if not isinstance(tuples, list | tuple):
        raise InvalidValue(f"'{_value_text(tuples)}' is not a list of tuples", where=where, remedy=_EXAMPLE)
    lines = []
    for entry in tuples:
        texts = isinstance(entry, list | tuple) and all(isinstance(part, str) for part in entry)
        parts = [" ".join(part.lower().split()) for part in entry] if texts else []
        if not 1 <= len(parts) <= 3 or not all(parts):
            raise InvalidValue(
                f"'{_value_text(entry)}' is not a tuple of one to three words", where=where, remedy=_EXAMPLE
            )
        lines.append("\t".join(parts))
    return "\n".join(lines)


_EXAMPLE = 'Example: [["car"], ["car", "red"], ["car", "beside", "house"]].'


def _value_text(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def trees(tokenised: Sequence[str]) -> list[list[Token]]:
    """Dependency trees of tokenised captions."""
    texts = unpack(*_native.caption_trees(tables.parser(), *pack(tokenised)))
    return [[_token(line) for line in text.split("\n") if line] for text in texts]


def _token(line: str) -> Token:
    word, tag, head, relation = line.split("\t")
    return Token(word, tag, int(head), relation)


def tuples_of_tree(tokens: Sequence[Token], graph: Graph = "original") -> Tuples:
    """Tuples of a dependency tree (Universal Dependencies v1, basic), by the rules of SPICE or as it describes."""
    text = "\n".join(f"{t.word}\t{t.tag}\t{t.head}\t{t.relation}" for t in tokens)
    return tuples_of(unpack(*_native.tree_tuples(tables.lemmas(), *pack([text]), described=graph == "described"))[0])


_FUNCTION_WORDS = {
    "the", "and", "with", "that", "this", "his", "her", "its", "their", "for", "from", "are", "was", "were",
    "has", "have", "had", "not", "but", "she", "him", "they", "them", "these", "those", "who", "which", "what",
    "where", "when", "while", "into", "onto", "upon", "than", "then", "there", "some", "any", "all", "each",
    "other", "another", "our", "your", "you",
}  # fmt: skip


def count_known(tokenised: Sequence[str], cache: dict[str, bool]) -> tuple[int, int]:
    """Words of three letters and more, and how many are English as far as WordNet knows. `known` remembers words."""
    seen = matched = 0
    for text in tokenised:
        for word in text.split():
            if len(word) < 3 or word[0] in "0123456789-'":
                continue
            if word not in cache:
                cache[word] = word in _FUNCTION_WORDS or bool(len(tables.wordnet().similar(word.encode())))
            seen += 1
            matched += cache[word]
    return seen, matched
