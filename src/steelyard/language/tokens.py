"""Tokens of captions: Penn Treebank as COCO scores with, and the tokens of sacrebleu and of rouge-score.

Texts as the native core takes them: one block of bytes and the end of each text in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native

Block = tuple[bytes, NDArray[np.int64]]


def pack(texts: Sequence[str]) -> Block:
    """A block of texts. A lone surrogate becomes a question mark."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = np.fromiter(accumulate(map(len, encoded)), dtype=np.int64, count=len(encoded))
    return b"".join(encoded), ends


def unpack(block: bytes, ends: NDArray[Any]) -> list[str]:
    """The texts of a block."""
    texts = []
    start = 0
    for end in ends.tolist():
        texts.append(block[start:end].decode("utf-8", "replace"))
        start = end
    return texts


def ptb(texts: Sequence[str], *, marks: bool = False) -> list[str]:
    """Penn Treebank tokens between blanks, lower-cased, without punctuation marks unless `marks`."""
    tokens = unpack(*_native.ptb_tokens(*pack(texts), marks))
    return [text if text.isascii() else text.lower() for text in tokens]


_MARKS = re.compile(r"([\{-\~\[-\`\!-\&\(-\+\:-\@\/])")
_MARK_BEHIND_WORD = re.compile(r"([^0-9])([\.,])")
_MARK_BEFORE_WORD = re.compile(r"([\.,])([^0-9])")
_DASH_BEHIND_DIGIT = re.compile(r"([0-9])(-)")


def mteval13a(text: str) -> str:
    """The tokens `13a` of mteval and sacrebleu, between blanks; case is kept."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, mark in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, mark)
    return separate_marks(f" {text} ")


def separate_marks(text: str) -> str:
    """Punctuation marks of Western languages apart from words, and from numbers at their ends."""
    text = _MARKS.sub(r" \1 ", text)
    text = _MARK_BEHIND_WORD.sub(r"\1 \2 ", text)
    text = _MARK_BEFORE_WORD.sub(r" \1 \2", text)
    text = _DASH_BEHIND_DIGIT.sub(r"\1 \2 ", text)
    return " ".join(text.split())


_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")


def alphanumeric(text: str) -> str:
    """The tokens of rouge-score without its stemmer: lower-cased letters and digits, between blanks."""
    return " ".join(_NOT_ALPHANUMERIC.sub(" ", text.lower()).split())
