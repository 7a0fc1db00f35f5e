"""Scene graphs of captions, image by image: their tuples, how many match, and what is kept of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.language import scene, tables
from steelyard.language.scene import Graph, count_known
from steelyard.language.tokens import pack
from steelyard.tasks.captions.data import CaptionPairs, captions, tokenised

CATEGORIES = ("all", "object", "attribute", "relation", "color", "count", "size")


def scene_lines(
    pairs: CaptionPairs, cache: SharedCache, graph: Graph, images: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """Tuples of the candidate and of every reference of some images: those that the user gave, else the parsed ones."""
    texts = captions(pairs, cache)
    candidate_tokens, reference_tokens = tokenised(pairs, cache)
    rows = [range(texts.starts[i], texts.starts[i + 1]) for i in images]
    flat = [row for some in rows for row in some]
    lines = scene.tuple_lines([candidate_tokens[i] for i in images] + [reference_tokens[r] for r in flat], graph)
    parsed = iter(lines)
    candidates = [_given(texts.candidate_graphs[i], next(parsed)) for i in images]
    return candidates, [[_given(texts.reference_graphs[r], next(parsed)) for r in some] for some in rows]


def _given(graph: str | None, parsed: str) -> str:
    return parsed if graph is None else graph


def scene_counts(pairs: CaptionPairs, cache: SharedCache, synonyms: bool, graph: Graph) -> Array:
    """Numbers of tuples and matches: (images, categories, (candidate, reference, matched, matched one to one))."""

    def make() -> Array:
        images = range(len(pairs.units))
        candidates, references = cache.once(("scene lines", graph), lambda: scene_lines(pairs, cache, graph, images))
        joined = ["\n".join(line for line in lines if line) for lines in references]
        counts: Array = _native.scene_scores(tables.wordnet(), *pack(candidates), *pack(joined), synonyms)
        return counts.astype(np.float64)

    return cache.once(("scene counts", synonyms, graph), make)


def image_scores(
    pairs: CaptionPairs, cache: SharedCache, category: str, matching: str, synonyms: bool, value: str, graph: Graph
) -> Array:
    """The score of each image; nan where its references have no tuple of the category."""
    counts = scene_counts(pairs, cache, synonyms, graph)
    of = counts[:, CATEGORIES.index(category)]
    candidate, reference, matched = of[:, 0], of[:, 1], of[:, 2 if matching == "any" else 3]
    precision = np.divide(matched, candidate, out=np.zeros(len(of)), where=candidate > 0)
    recall = np.divide(matched, reference, out=np.zeros(len(of)), where=reference > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros(len(of)), where=both > 0)
    score = {"f1": f1, "precision": precision, "recall": recall}[value]
    return score if category == "all" else np.where(reference > 0, score, np.nan)


@frozen
class _Spice(Sum):
    category: str
    matching: str = "any"
    synonyms: bool = True
    value: str = "f1"
    graph: Graph = "original"

    def scores(self, pairs: CaptionPairs, cache: SharedCache) -> Array:
        """The score of each image; nan where it has none."""
        return image_scores(pairs, cache, self.category, self.matching, self.synonyms, self.value, self.graph)


@frozen
class SpiceSum(_Spice):
    """The SPICE of each image, by kind of tuple; 0 where it has none."""

    name = "captions.spice"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.nan_to_num(self.scores(pairs, cache)))


@frozen
class SpiceCount(_Spice):
    """The images that have a SPICE of that kind."""

    name = "captions.spice_count"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((~np.isnan(self.scores(pairs, cache))).astype(float))


@frozen
class SpiceLeftOut(_Spice):
    """The images that have none."""

    name = "captions.spice_left_out"
    drawn = False

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.isnan(self.scores(pairs, cache)).astype(float))


@frozen
class SilentImages(Sum):
    """The images whose references have no tuple."""

    name = "captions.silent"
    drawn = False

    synonyms: bool
    graph: Graph

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((scene_counts(pairs, cache, self.synonyms, self.graph)[:, 0, 1] == 0).astype(float))


@frozen
class KnownWords(Sum):
    """Words of each image's captions: how many there are, and how many are English."""

    name = "captions.known_words"
    drawn = False

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        known: dict[str, bool] = {}
        candidates, references = tokenised(pairs, cache)
        starts = captions(pairs, cache).starts.tolist()
        counts = [
            count_known([text, *references[starts[i] : starts[i + 1]]], known) for i, text in enumerate(candidates)
        ]
        return SumBlock(np.array(counts, dtype=np.float64).reshape(-1, 2))


@frozen
class _Weighted(Sum):
    """F1 by kind of tuple, weighted: `shares` are those of object, attribute, relation, color, count, size."""

    shares: tuple[float, ...]
    graph: Graph
    matching: str = field(default="any", metadata={"added": True})
    synonyms: bool = field(default=True, metadata={"added": True})

    def scores(self, pairs: CaptionPairs, cache: SharedCache) -> Array:
        """The weighted mean over the kinds that an image has; nan where it has none."""
        units = len(pairs.units)
        total, weight = np.zeros(units), np.zeros(units)
        for kind, share in zip(CATEGORIES[1:], self.shares, strict=True):
            if share > 0:
                scores = image_scores(pairs, cache, kind, self.matching, self.synonyms, "f1", self.graph)
                defined = ~np.isnan(scores)
                total[defined] += share * scores[defined]
                weight[defined] += share
        means: Array = np.divide(total, weight, out=np.full(units, np.nan), where=weight > 0)
        return means


@frozen
class WeightedSum(_Weighted):
    """The weighted SPICE of each image; 0 where it has none."""

    name = "captions.spice_weighted"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.nan_to_num(self.scores(pairs, cache)))


@frozen
class WeightedCount(_Weighted):
    """The images that have one."""

    name = "captions.spice_weighted_count"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((~np.isnan(self.scores(pairs, cache))).astype(float))
