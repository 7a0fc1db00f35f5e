"""SPICE of COCO's captions, without Java."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocoevalcap.texts import Texts, read_texts
from steelyard.language import scene, tables, tokens
from steelyard.tasks.captions.spice import CATEGORIES

_NAMES = {
    "All": "all", "Relation": "relation", "Cardinality": "count", "Attribute": "attribute", "Size": "size",
    "Color": "color", "Object": "object",
}  # fmt: skip
Scores = dict[str, dict[str, float]]


class Spice:
    """SPICE: the mean over images, and all parts of that of each image."""

    def float_convert(self, obj: Any) -> float:
        """A number, or nan where there is none."""
        try:
            return float(obj)
        except (TypeError, ValueError):
            return np.nan

    def compute_score(self, gts: Texts, res: Texts) -> tuple[float, list[Scores]]:
        """The mean over images, and by image precision, recall, F and counts of each kind of tuple, sorted by id."""
        candidates, references, starts = read_texts(gts, res, sorted(gts))
        lines = scene.tuple_lines(tokens.ptb([*candidates, *references]))
        graphs, others = lines[: len(candidates)], lines[len(candidates) :]
        joined = ["\n".join(filter(None, others[begin:end])) for begin, end in pairwise(starts)]
        counts = _native.scene_scores(tables.wordnet(), *tokens.pack(graphs), *tokens.pack(joined), True)
        places = {name: CATEGORIES.index(kind) for name, kind in _NAMES.items()}
        scores = [
            {name: _part(image[place], name == "All") for name, place in places.items()} for image in counts.tolist()
        ]
        return np.mean([score["All"]["f"] for score in scores]), scores  # type: ignore[return-value]

    def method(self) -> str:
        """The name that is printed."""
        return "SPICE"


def _part(counts: list[int], whole: bool) -> dict[str, float]:
    """Precision, recall and F are nan where the references have no such tuple."""
    candidate, reference, matched, _ = counts
    if reference or whole:
        precision, recall = matched / max(candidate, 1), matched / max(reference, 1)
        both = precision + recall
        f = 2 * precision * recall / both if both else 0.0
    else:
        precision = recall = f = np.nan
    errors = {"fp": float(candidate - matched), "fn": float(reference - matched)}
    return {"pr": precision, "re": recall, "f": f, "tp": float(matched), **errors}
