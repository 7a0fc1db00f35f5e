"""ROUGE-L of COCO's captions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.compat.pycocoevalcap.texts import Texts, read_texts
from steelyard.core.errors import Unsupported
from steelyard.tasks.captions.ngrams import overlap

_BETA = 1.2


class Rouge:
    """ROUGE-L: the mean over images, and that of each image."""

    def __init__(self) -> None:
        self.beta = _BETA

    def calc_score(self, candidate: list[str], refs: list[str]) -> float:
        """The score of one caption."""
        return float(self.compute_score({0: refs}, {0: candidate})[1][0])

    def compute_score(self, gts: Texts, res: Texts) -> tuple[float, NDArray[np.float64]]:
        """The mean over images, and the score of each image."""
        if self.beta != _BETA:
            raise Unsupported(f"beta is {self.beta:g}", remedy=f"Only a beta of {_BETA} is computed.")
        candidates, references, starts = read_texts(gts, res)
        scores = overlap(list(map(_words, candidates)), list(map(_words, references)), starts)["rouge_l"]
        return np.mean(scores), scores  # type: ignore[return-value]

    def method(self) -> str:
        """The name that is printed."""
        return "Rouge"


def _words(text: str) -> str:
    """Between two blanks there is an empty word, which counts in the original: here it is a control character."""
    return (
        text if text and "  " not in text and text.strip(" ") == text else " ".join(w or "\0" for w in text.split(" "))
    )
