"""sacrebleu's own modules and names: BLEU of translations; see docs/compat/sacrebleu.md."""

from steelyard.compat.sacrebleu.compat import corpus_bleu, raw_corpus_bleu, sentence_bleu
from steelyard.compat.sacrebleu.metrics import BLEU

__version__ = "2.6.0"

__all__ = ["BLEU", "__version__", "corpus_bleu", "raw_corpus_bleu", "sentence_bleu"]
