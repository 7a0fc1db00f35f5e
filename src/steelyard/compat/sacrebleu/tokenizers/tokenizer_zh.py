"""The tokens of Chinese text."""

from __future__ import annotations

import re

from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer
from steelyard.language.tokens import separate_marks

# sacrebleu's ranges. Its two ranges of extension B are written with four digits, so that they are U+2001 to U+2A6D.
_CHINESE = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2eff\u2f00-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef\u3200-\u33ff"
    "\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)


class TokenizerZh(BaseTokenizer):
    """Separate Chinese characters, and the rest as 13a does."""

    def signature(self) -> str:
        return "zh"

    def __call__(self, line: str) -> str:
        return separate_marks(_CHINESE.sub(r" \1 ", line.strip()))
