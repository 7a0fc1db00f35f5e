"""The pipelines of transforms that jiwer names."""

from __future__ import annotations

from steelyard.compat.jiwer.transforms import (
    AbstractTransform,
    Compose,
    ExpandCommonEnglishContractions,
    ReduceToListOfListOfChars,
    ReduceToListOfListOfWords,
    ReduceToSingleSentence,
    RemoveKaldiNonWords,
    RemoveMultipleSpaces,
    RemoveWhiteSpace,
    Strip,
    ToLowerCase,
)

__all__ = [
    "cer_contiguous",
    "cer_default",
    "wer_contiguous",
    "wer_default",
    "wer_standardize",
    "wer_standardize_contiguous",
]


def _words(*first: AbstractTransform, one_sentence: bool = False) -> Compose:
    join = [ReduceToSingleSentence()] if one_sentence else []
    return Compose([*first, RemoveMultipleSpaces(), Strip(), *join, ReduceToListOfListOfWords()])


def _standardize() -> tuple[AbstractTransform, ...]:
    contractions = ExpandCommonEnglishContractions()
    return ToLowerCase(), contractions, RemoveKaldiNonWords(), RemoveWhiteSpace(replace_by_space=True)


wer_default = _words()
wer_contiguous = _words(one_sentence=True)
wer_standardize = _words(*_standardize())
wer_standardize_contiguous = _words(*_standardize(), one_sentence=True)
cer_default = Compose([Strip(), ReduceToListOfListOfChars()])
cer_contiguous = Compose([Strip(), ReduceToSingleSentence(), ReduceToListOfListOfChars()])
