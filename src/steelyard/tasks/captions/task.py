"""Task `captions`: one caption per image against the captions that people wrote.

Conventions
    The unit is the image. Columns: `image`, `caption`; several rows per image in the truth, one in the predictions.
    Instead of a caption, a row may give its scene graph as `tuples`, [["car"], ["car", "red"]]: SPICE parses nothing.
    References of an image are taken in the order in which they stand: merging synonyms depends on it, as in the
    original. An empty candidate is scored (and is 0 everywhere); an empty reference is an error.

Metrics
    `spice` and its parts, `bleu@4`, `rouge_l`, `meteor`, `cider` and `spider` as captioning papers have them;
    `sacrebleu` and `rouge_score` as those packages do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.plain import PlainPair
from steelyard.core.records import as_object
from steelyard.core.task import Task
from steelyard.tasks.captions.data import PREDICTION, TRUTH, join
from steelyard.tasks.captions.ngrams import NGRAM_METRICS
from steelyard.tasks.captions.spice import SPICE_METRICS

DEFAULTS = (
    "spice", "spice_object", "spice_attribute", "spice_relation", "spice_color", "spice_count", "spice_size",
    "cider", "spider", "bleu@1", "bleu@4", "rouge_l", "meteor",
)  # fmt: skip


def plain_sides(truth: Any, predictions: Any) -> PlainPair | None:
    """References and captions by image, {id: [texts]} and {id: text}, as columns."""
    if not (_by_image(truth) and _by_image(predictions)):
        return None
    sides = []
    for side in (truth, predictions):
        rows = [
            (image, text) for image, texts in side.items() for text in ([texts] if isinstance(texts, str) else texts)
        ]
        sides.append({"image": as_object([image for image, _ in rows]), "caption": as_object([t for _, t in rows])})
    return sides[0], sides[1], ()


def _by_image(side: Any) -> bool:
    """Whether a mapping is texts by image and no mapping of columns."""
    names = {name for column in TRUTH.columns for name in (column.name, *column.aliases)}
    if not isinstance(side, Mapping) or not side or names & set(map(str, side)):
        return False
    return all(
        isinstance(texts, str) or (isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts))
        for texts in side.values()
    )


TASK = Task(
    name="captions",
    title="Captions of images",
    unit="image",
    item="caption",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*SPICE_METRICS, *NGRAM_METRICS),
    defaults=DEFAULTS,
    views="steelyard.tasks.captions.views",
    checks="steelyard.tasks.captions.checks",
    plain=plain_sides,
    spellings={
        **{f"bleu{n}": f"bleu@{n}" for n in range(1, 5)},
        "spice_precision": "spice(value=precision)", "spice_recall": "spice(value=recall)",
    },
)  # fmt: skip
