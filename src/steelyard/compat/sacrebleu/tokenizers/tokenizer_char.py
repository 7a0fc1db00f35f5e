"""Characters as tokens."""

from __future__ import annotations

from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer


class TokenizerChar(BaseTokenizer):
    """Separate all characters."""

    def signature(self) -> str:
        return "char"

    def __call__(self, line: str) -> str:
        return " ".join(line)
