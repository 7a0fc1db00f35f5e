"""Tokens of the Penn Treebank, without Java."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.language import tokens

# What is left out of the tokens.
PUNCTUATIONS = [
    "''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";",
]  # fmt: skip


class PTBTokenizer:
    """Tokens in lower case, without punctuation."""

    def tokenize(self, captions_for_image: Mapping[Any, Sequence[Mapping[str, Any]]]) -> dict[Any, list[str]]:
        """Tokenise the captions of each image: lists of dicts with a `caption`. Images without any are left out."""
        images = [image for image, captions in captions_for_image.items() for _ in captions]
        texts = [caption["caption"] for captions in captions_for_image.values() for caption in captions]
        tokenised: dict[Any, list[str]] = {}
        for image, text in zip(images, tokens.ptb(texts), strict=True):
            tokenised.setdefault(image, []).append(text)
        return tokenised
