"""BLEU-1 to BLEU-4 of COCO's captions."""

from __future__ import annotations

import math
from typing import Any

from steelyard.compat.pycocoevalcap.texts import Texts, count_overlap, read_texts
from steelyard.tasks.captions.ngrams import SMALL, TINY


class Bleu:
    """BLEU up to `n`, of all images together and of each."""

    def __init__(self, n: int = 4) -> None:
        self._n = n
        self._hypo_for_image: dict[Any, Any] = {}
        self.ref_for_image: dict[Any, Any] = {}

    def compute_score(self, gts: Texts, res: Texts, verbose: int = 1) -> tuple[list[float], list[list[float]]]:
        """The BLEU of all images for each length of n-grams, and the list of that of each image."""
        columns = count_overlap(read_texts(gts, res))
        if self._n > 4:
            raise IndexError("list index out of range")
        names = [f"{name}{k}" for name in ("guessed", "matched") for k in range(1, self._n + 1)]
        rows = list(zip(*(columns[name].astype(int).tolist() for name in ("length", "closest", *names)), strict=True))
        by_image: list[list[float]] = [[] for _ in range(self._n)]
        for row in rows:
            for scores, value in zip(by_image, self._bleu(row), strict=True):
                scores.append(value)
        total = tuple(map(sum, zip(*rows, strict=True))) or (0,) * (2 + 2 * self._n)
        if verbose > 0:
            counts = {"guess": list(total[2 : 2 + self._n]), "correct": list(total[2 + self._n :])}
            print({"testlen": total[0], "reflen": total[1], **counts})
            print("ratio:", (total[0] + TINY) / (total[1] + SMALL))
        return self._bleu(total), by_image

    def _bleu(self, counts: tuple[int, ...]) -> list[float]:
        length, closest, *others = counts
        ratio = (length + TINY) / (closest + SMALL)
        penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        product, values = 1.0, []
        for k, (guessed, matched) in enumerate(zip(others[: self._n], others[self._n :], strict=True), 1):
            product *= (matched + TINY) / (guessed + SMALL)
            values.append(product ** (1 / k) * penalty)
        return values

    def method(self) -> str:
        """The name that is printed."""
        return "Bleu"
