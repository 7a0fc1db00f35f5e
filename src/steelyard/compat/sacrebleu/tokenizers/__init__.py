"""sacrebleu's tokenizers that need no model."""

from steelyard.compat.sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

__all__ = ["BaseTokenizer"]
