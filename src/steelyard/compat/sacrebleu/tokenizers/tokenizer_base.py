"""What a tokenizer has."""

from __future__ import annotations


class BaseTokenizer:
    """A tokenizer with its name in signatures."""

    def signature(self) -> str:
        """Its name."""
        raise NotImplementedError

    def __call__(self, line: str) -> str:
        """The tokens of a line, between blanks."""
        raise NotImplementedError
