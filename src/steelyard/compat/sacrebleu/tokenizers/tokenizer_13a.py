"""The tokens of mteval-v13a."""

from __future__ import annotations

from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer
from steelyard.language.tokens import mteval13a


class Tokenizer13a(BaseTokenizer):
    """Separate punctuation from words, and from numbers at their ends."""

    def signature(self) -> str:
        return "13a"

    def __call__(self, line: str) -> str:
        return mteval13a(line)
