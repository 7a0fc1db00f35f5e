"""CIDEr-D of COCO's captions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.compat.pycocoevalcap.texts import Texts, count_overlap, read_texts
from steelyard.core.errors import Unsupported

_N, _SIGMA = 4, 6.0


class Cider:
    """CIDEr-D: the mean over images, and that of each image."""

    def __init__(self, test: Any = None, refs: Any = None, n: int = _N, sigma: float = _SIGMA) -> None:
        self._n = n
        self._sigma = sigma

    def compute_score(self, gts: Texts, res: Texts) -> tuple[float, NDArray[np.float64]]:
        """The mean over images, and the score of each image."""
        texts = read_texts(gts, res)
        if self._n != _N or self._sigma != _SIGMA:
            raise Unsupported(
                f"n is {self._n} and sigma is {self._sigma:g}", remedy=f"Only n={_N} and sigma={_SIGMA:g} are computed."
            )
        scores = count_overlap(texts)["cider_d"]
        return np.mean(scores), scores  # type: ignore[return-value]

    def method(self) -> str:
        """The name that is printed."""
        return "CIDEr"
