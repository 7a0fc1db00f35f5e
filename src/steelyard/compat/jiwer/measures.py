"""The error rates as functions."""

from __future__ import annotations

from typing import Any

from steelyard.compat.jiwer.process import Transform, process_characters, process_words
from steelyard.compat.jiwer.transformations import cer_default, wer_default

__all__ = ["cer", "mer", "wer", "wil", "wip"]


def wer(
    reference: Any = None,
    hypothesis: Any = None,
    reference_transform: Transform = wer_default,
    hypothesis_transform: Transform = wer_default,
) -> float:
    """Word error rate."""
    return process_words(reference, hypothesis, reference_transform, hypothesis_transform).wer


def mer(
    reference: Any = None,
    hypothesis: Any = None,
    reference_transform: Transform = wer_default,
    hypothesis_transform: Transform = wer_default,
) -> float:
    """Match error rate."""
    return process_words(reference, hypothesis, reference_transform, hypothesis_transform).mer


def wip(
    reference: Any = None,
    hypothesis: Any = None,
    reference_transform: Transform = wer_default,
    hypothesis_transform: Transform = wer_default,
) -> float:
    """Word information preserved."""
    return process_words(reference, hypothesis, reference_transform, hypothesis_transform).wip


def wil(
    reference: Any = None,
    hypothesis: Any = None,
    reference_transform: Transform = wer_default,
    hypothesis_transform: Transform = wer_default,
) -> float:
    """Word information lost."""
    return process_words(reference, hypothesis, reference_transform, hypothesis_transform).wil


def cer(
    reference: Any = None,
    hypothesis: Any = None,
    reference_transform: Transform = cer_default,
    hypothesis_transform: Transform = cer_default,
) -> float:
    """Character error rate."""
    return process_characters(reference, hypothesis, reference_transform, hypothesis_transform).cer
