"""What is kept of captions: sums by image, and the rows that CIDEr looks at across images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.records import as_object
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.statistic import Rows, SharedCache, Sum
from steelyard.language import tables
from steelyard.language.texts import pack
from steelyard.language.tokens import alphanumeric, mteval13a
from steelyard.tasks.captions.data import CaptionPairs, captions, tokenised
from steelyard.tasks.captions.graphs import image_scores

OVERLAPS = (
    "matched1", "matched2", "matched3", "matched4", "guessed1", "guessed2", "guessed3", "guessed4",
    "length", "closest", "rouge_l", "cider_d", "cider", "rouge1", "rouge2", "rouge_lcs",
)  # fmt: skip
METEOR_COLUMNS = (
    "matched_candidate", "all_candidate", "matched_reference", "all_reference",
    "words_candidate", "words_reference", "chunks", "score",
)  # fmt: skip
TINY, SMALL = 1e-15, 1e-9  # what COCO's BLEU adds to numerators and denominators
Tokens = Literal["ptb", "mteval", "mteval_lower", "alphanumeric"]
_TOKENISED: dict[str, Callable[[str], str]] = {
    "mteval": mteval13a,
    "mteval_lower": lambda text: mteval13a(text.lower()),
    "alphanumeric": alphanumeric,
}


def overlap(candidates: Sequence[str], references: Sequence[str], starts: Array) -> dict[str, Array]:
    """Overlap of tokenised candidates with their references, a column a quantity."""
    shared = _native.ngram_overlap(*pack(candidates), *pack(references), starts)
    return {name: np.ascontiguousarray(shared[:, i]) for i, name in enumerate(OVERLAPS)}


def overlap_columns(pairs: CaptionPairs, cache: SharedCache, tokens: str = "ptb") -> dict[str, Array]:
    """The overlap by image, under some tokens."""

    def make() -> dict[str, Array]:
        texts = captions(pairs, cache)
        if tokens == "ptb":
            return overlap(*tokenised(pairs, cache), texts.starts)
        tokenise = _TOKENISED[tokens]
        references = [tokenise(text) for text in texts.references]
        return overlap([tokenise(text) for text in texts.candidates], references, texts.starts)

    return cache.once(("overlap", tokens), make)


@frozen
class ImageCount(Sum):
    """The images that have a reference."""

    name = "captions.images"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((np.bincount(pairs.owner, minlength=len(pairs.units)) > 0).astype(float))


@frozen
class OverlapSum(Sum):
    """A count of n-grams or words, or a score of each image, under some tokens."""

    name = "captions.overlap"

    of: str
    tokens: Tokens = "ptb"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(overlap_columns(pairs, cache, self.tokens)[self.of])


def bleu_of(sums: Mapping[str, Array], n: int) -> Array:
    """BLEU of counts: of all images together, or of each."""
    product = np.ones(len(sums["length"]))
    for k in range(1, n + 1):
        product = product * ((sums[f"matched{k}"] + TINY) / (sums[f"guessed{k}"] + SMALL))
    shape = (sums["length"] + TINY) / (sums["closest"] + SMALL)
    penalty = np.exp(np.minimum(0.0, 1 - 1 / shape))
    return np.asarray(product ** (1 / n) * penalty, dtype=np.float64)


@frozen
class ImageBleu(Sum):
    """The BLEU of each image."""

    name = "captions.bleu"

    n: int

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(bleu_of(overlap_columns(pairs, cache), self.n))


@frozen
class MeteorSum(Sum):
    """One of METEOR's counts, or its score, by image."""

    name = "captions.meteor"

    of: str

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        def make() -> Array:
            candidates, references = tokenised(pairs, cache)
            starts = captions(pairs, cache).starts
            counts: Array = _native.meteor_counts(tables.wordnet(), *pack(candidates), *pack(references), starts)
            return counts

        return SumBlock(np.ascontiguousarray(cache.once("meteor", make)[:, METEOR_COLUMNS.index(self.of)]))


@frozen
class CiderRows(Rows):
    """Captions in tokens: how rare an n-gram is, is counted over the references of all images.

    The first row of an image is its candidate, the others are its references.
    """

    name = "captions.cider"
    columns: ClassVar[Mapping[str, str]] = {"text": "text"}

    form: Literal["d", "plain"]

    @property
    def _of(self) -> str:
        return "cider_d" if self.form == "d" else "cider"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> RowsBlock:
        """The captions, and what they come to if there are no others."""
        return _rows(self, pairs, cache, {}, overlap_columns(pairs, cache)[self._of])

    def finish(self, rows: RowTable) -> SumBlock:
        return SumBlock(_overlap_of(rows)[self._of])

    def bare(self, rows: RowTable) -> RowTable:
        """Images without references."""
        return _candidates_of(rows)


@frozen
class SpiderRows(Rows):
    """The same, with the SPICE of each image beside its candidate."""

    name = "captions.spider"
    columns: ClassVar[Mapping[str, str]] = {"text": "text", "spice": "f"}

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> RowsBlock:
        """The captions, and what they come to if there are no others."""
        spice = image_scores(pairs, cache, "all", "any", True, "f1", "original")
        starts = captions(pairs, cache).starts
        beside = np.zeros(len(spice) + int(starts[-1]))
        beside[starts[:-1] + np.arange(len(spice))] = spice
        return _rows(self, pairs, cache, {"spice": beside}, (spice + overlap_columns(pairs, cache)["cider_d"]) / 2)

    def finish(self, rows: RowTable) -> SumBlock:
        first, has = rows.begin[:-1], np.diff(rows.begin) > 0
        spice = np.zeros(len(rows.ids))
        spice[has] = rows.columns["spice"][first[has]]
        return SumBlock((spice + _overlap_of(rows)["cider_d"]) / 2)

    def bare(self, rows: RowTable) -> RowTable:
        """Images without references."""
        return _candidates_of(rows)


def _rows(
    statistic: Rows, pairs: CaptionPairs, cache: SharedCache, beside: Mapping[str, Array], done: Array
) -> RowsBlock:
    units = len(pairs.units)

    def make() -> tuple[Array, Array]:
        candidates, references = tokenised(pairs, cache)
        starts = captions(pairs, cache).starts
        texts = as_object([*candidates, *references])
        owner = np.concatenate([np.arange(units), pairs.owner])
        return texts[np.argsort(owner, kind="stable")], starts + np.arange(units + 1)

    texts, begin = cache.once("caption rows", make)
    table = RowTable(statistic, pairs.units, begin, {"text": texts, **beside}, done)
    return RowsBlock((table,), np.arange(units))


def _overlap_of(rows: RowTable) -> dict[str, Array]:
    texts, begin = rows.columns["text"], rows.begin
    counts = np.diff(begin)
    is_first = np.zeros(len(texts), dtype=bool)
    is_first[begin[:-1][counts > 0]] = True
    candidates: Array = as_object([""] * len(rows.ids))
    candidates[counts > 0] = texts[is_first]
    starts = np.concatenate([[0], np.cumsum(np.maximum(counts - 1, 0))]).astype(np.int64)
    return overlap(candidates.tolist(), texts[~is_first].tolist(), starts)


def _candidates_of(rows: RowTable) -> RowTable:
    has = np.diff(rows.begin) > 0
    begin = np.concatenate([[0], np.cumsum(has)]).astype(np.int64)
    first = rows.begin[:-1][has]
    return RowTable(rows.need, rows.ids, begin, {name: column[first] for name, column in rows.columns.items()})
