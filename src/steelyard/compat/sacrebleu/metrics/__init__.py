"""sacrebleu's metrics."""

from steelyard.compat.sacrebleu.metrics.bleu import BLEU, BLEUScore

METRICS = {"BLEU": BLEU}

__all__ = ["BLEU", "METRICS", "BLEUScore"]
