"""The tables and the parser's model that come with the package, each read when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from steelyard import _native


def data(name: str) -> bytes:
    """A file of the package's language data."""
    return files("steelyard.language").joinpath("data", name).read_bytes()


@cache
def wordnet() -> Any:
    """Synsets of words, from WordNet 3.0."""
    return _native.WordNet(data("wordnet.bin"))


@cache
def lemmas() -> Any:
    """Lemmas of nouns and verbs by their endings."""
    return _native.Lemmas(data("lemmas.txt"))


@cache
def parser() -> Any:
    """The tagger and dependency parser."""
    return _native.ParserModel(data("parser.bin"))
