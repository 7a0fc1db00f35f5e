"""The tokens of mteval-v14 with its international option."""

from __future__ import annotations

import re
from unicodedata import category

from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer


class TokenizerV14International(BaseTokenizer):
    """Separate Unicode's symbols, and its punctuation where a neighbour is not a number."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._classes = {"N": "", "P": "", "S": ""}  # the characters seen, by the first letter of their category
        self._see({chr(code) for code in range(128)})

    def signature(self) -> str:
        return "intl"

    def __call__(self, line: str) -> str:
        unseen = set(line) - self._seen
        if unseen:
            self._see(unseen)
        for pattern, replacement in self._patterns:
            line = pattern.sub(replacement, line)
        return " ".join(line.split())

    def _see(self, characters: set[str]) -> None:
        """Let the patterns know these characters: `re` has no classes of Unicode."""
        self._seen |= characters
        for character in characters:
            kind = category(character)[0]
            if kind in self._classes:
                self._classes[kind] += re.escape(character)
        number, mark, symbol = self._classes.values()
        self._patterns = [
            (re.compile(f"([^{number}])([{mark}])"), r"\1 \2 "),
            (re.compile(f"([{mark}])([^{number}])"), r" \1 \2"),
            (re.compile(f"([{symbol}])"), r" \1 "),
        ]
