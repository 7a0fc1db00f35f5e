"""What can be done to sentences before they are aligned."""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

__all__ = [
    "AbstractTransform",
    "Compose",
    "ExpandCommonEnglishContractions",
    "ReduceToListOfListOfChars",
    "ReduceToListOfListOfWords",
    "ReduceToSingleSentence",
    "RemoveEmptyStrings",
    "RemoveKaldiNonWords",
    "RemoveMultipleSpaces",
    "RemovePunctuation",
    "RemoveSpecificWords",
    "RemoveWhiteSpace",
    "Strip",
    "SubstituteRegexes",
    "SubstituteWords",
    "ToLowerCase",
    "ToUpperCase",
]


class AbstractTransform:
    """Base of the transforms: `process_string` changes a sentence, `process_list` a list of them."""

    def __call__(self, sentences: str | list[str]) -> Any:
        """Transform a sentence or a list of sentences."""
        if isinstance(sentences, str):
            return self.process_string(sentences)
        if isinstance(sentences, list):
            return self.process_list(sentences)
        raise ValueError(f"input {sentences} was expected to be a string or list of strings")

    def process_string(self, s: str) -> Any:
        """Transform a sentence."""
        raise NotImplementedError

    def process_list(self, inp: list[str]) -> Any:
        """Transform each sentence of a list."""
        return [self.process_string(s) for s in inp]


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms: list[AbstractTransform]) -> None:
        self.transforms = transforms

    def __call__(self, text: Any) -> Any:
        """What the last transform returns."""
        for transform in self.transforms:
            text = transform(text)
        return text


class BaseRemoveTransform(AbstractTransform):
    """Replace tokens, wherever they are in a sentence."""

    def __init__(self, tokens_to_remove: Iterable[str], replace_token: str = "") -> None:
        self.tokens_to_remove = tokens_to_remove
        self.replace_token = replace_token
        self._table: dict[int, str] | None = None
        # Characters are replaced in one pass: in any order the outcome is the same.
        if (
            isinstance(tokens_to_remove, Collection)
            and len(replace_token) <= 1
            and all(len(token) == 1 for token in tokens_to_remove)
        ):
            self._table = {ord(token): replace_token for token in tokens_to_remove}

    def process_string(self, s: str) -> str:
        if self._table is not None:
            return s.translate(self._table)
        for token in self.tokens_to_remove:
            s = s.replace(token, self.replace_token)
        return s


class _Reduce(AbstractTransform):
    """Base of those that end a pipeline: lists of words or characters."""

    def _split(self, s: str) -> list[str]:
        raise NotImplementedError

    def process_string(self, s: str) -> list[list[str]]:
        return [self._split(s)]

    def process_list(self, inp: list[str]) -> list[list[str]]:
        return [self.process_string(s)[0] for s in inp] or [[]]


class ReduceToListOfListOfWords(_Reduce):
    """Split each sentence into words, at a delimiter."""

    def __init__(self, word_delimiter: str = " ") -> None:
        self.word_delimiter = word_delimiter

    def _split(self, s: str) -> list[str]:
        return [word for word in s.split(self.word_delimiter) if word]


class ReduceToListOfListOfChars(_Reduce):
    """Split each sentence into characters."""

    def _split(self, s: str) -> list[str]:
        return list(s)


class ReduceToSingleSentence(AbstractTransform):
    """Join all sentences into one."""

    def __init__(self, word_delimiter: str = " ") -> None:
        self.word_delimiter = word_delimiter

    def process_string(self, s: str) -> str:
        return s

    def process_list(self, inp: list[str]) -> list[str]:
        sentences = [s for s in inp if len(s) >= 1]
        return [self.word_delimiter.join(sentences)] if sentences else []


class SubstituteRegexes(AbstractTransform):
    """Replace what regular expressions match, one expression after the other."""

    def __init__(self, substitutions: Mapping[str, str]) -> None:
        self.substitutions = substitutions

    def process_string(self, s: str) -> str:
        for pattern, replacement in self.substitutions.items():
            s = re.sub(pattern, replacement, s)
        return s


class SubstituteWords(AbstractTransform):
    """Replace whole words by others."""

    def __init__(self, substitutions: Mapping[str, str]) -> None:
        self.substitutions = substitutions

    def process_string(self, s: str) -> str:
        for word, replacement in self.substitutions.items():
            s = re.sub(rf"\b{re.escape(word)}\b", replacement, s)
        return s


class RemoveSpecificWords(SubstituteWords):
    """Replace whole words by a blank."""

    def __init__(self, words_to_remove: list[str]) -> None:
        super().__init__(dict.fromkeys(words_to_remove, " "))


class RemoveWhiteSpace(BaseRemoveTransform):
    """Remove ASCII white space, or replace it by blanks."""

    def __init__(self, replace_by_space: bool = False) -> None:
        super().__init__(list(string.whitespace), " " if replace_by_space else "")


@cache
def _punctuation() -> frozenset[str]:
    points = map(chr, range(sys.maxunicode + 1))
    return frozenset(point for point in points if unicodedata.category(point).startswith("P"))


class RemovePunctuation(BaseRemoveTransform):
    """Remove the characters that Unicode calls punctuation."""

    def __init__(self) -> None:
        super().__init__(_punctuation())


class RemoveMultipleSpaces(AbstractTransform):
    """Replace runs of white space by a blank; a single tab or line end stays."""

    _runs = re.compile(r"\s\s+")

    def process_string(self, s: str) -> str:
        return self._runs.sub(" ", s)


class Strip(AbstractTransform):
    """Remove white space around a sentence."""

    def process_string(self, s: str) -> str:
        return s.strip()


class RemoveEmptyStrings(AbstractTransform):
    """Drop sentences that have nothing but white space from a list."""

    def process_string(self, s: str) -> str:
        return s.strip()

    def process_list(self, inp: list[str]) -> list[str]:
        return [s for s in inp if self.process_string(s) != ""]


class ExpandCommonEnglishContractions(AbstractTransform):
    """Spell contractions out, by a short list."""

    _whole = (("won't", "will not"), ("can't", "can not"), ("let's", "let us"))
    _endings = (
        ("n't", "not"), ("'re", "are"), ("'s", "is"), ("'d", "would"), ("'ll", "will"), ("'t", "not"), ("'ve", "have"),
        ("'m", "am"),
    )  # fmt: skip

    def process_string(self, s: str) -> str:
        if "'" not in s:
            return s
        for contraction, words in self._whole:
            s = s.replace(contraction, words)
        for ending, word in self._endings:
            s = s.replace(ending, f" {word}")
        return s


class ToLowerCase(AbstractTransform):
    """Lower-case the sentence."""

    def process_string(self, s: str) -> str:
        return s.lower()


class ToUpperCase(AbstractTransform):
    """Upper-case the sentence."""

    def process_string(self, s: str) -> str:
        return s.upper()


class RemoveKaldiNonWords(AbstractTransform):
    """Remove what is between square or angle brackets, as Kaldi writes laughter and unknown words."""

    _bracketed = re.compile(r"[<\[][^>\]]*[>\]]")

    def process_string(self, s: str) -> str:
        return self._bracketed.sub("", s)
