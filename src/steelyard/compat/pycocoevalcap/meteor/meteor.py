"""METEOR of COCO's captions, without Java and without tables of paraphrases."""

from __future__ import annotations

import re

from steelyard.compat.pycocoevalcap.texts import Texts, read_texts
from steelyard.language import tokens
from steelyard.tasks.captions.ngrams import METEOR_COLUMNS, meteor_counts, meteor_of

_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")


class Meteor:
    """METEOR: that of all images together, and that of each image."""

    def compute_score(self, gts: Texts, res: Texts) -> tuple[float, list[float]]:
        """The score of the counts of all images, and the score of each image."""
        candidates, references, starts = read_texts(gts, res)
        columns = meteor_counts(_words(candidates), _words(references), starts)
        sums = columns.sum(axis=0, keepdims=True)
        whole = meteor_of({name: sums[:, i] for i, name in enumerate(METEOR_COLUMNS)})
        return float(whole[0]), columns[:, METEOR_COLUMNS.index("score")].tolist()

    def method(self) -> str:
        """The name that is printed."""
        return "METEOR"


def _words(texts: list[str]) -> list[str]:
    """Tokens as METEOR normalises them: words are split at hyphens."""
    return [_HYPHEN.sub(" ", text) for text in tokens.ptb(texts)]
