"""SPICE: scene graphs of candidate and references compared, tuple by tuple.

Conventions: an image's candidate has one scene graph, its references together have one. A tuple is an object, an
object with an attribute, or two objects with a relation. Scores are those of an image, then their mean over images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric, family
from steelyard.core.pairs import Array
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.language import scene, tables
from steelyard.language.scene import Graph, count_known
from steelyard.language.tokens import pack
from steelyard.tasks.captions.data import CaptionPairs, captions, tokenise_pairs

CATEGORIES = ("all", "object", "attribute", "relation", "color", "count", "size")


def scene_lines(
    pairs: CaptionPairs, cache: SharedCache, graph: Graph, images: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """Tuples of the candidate and of every reference of some images: those that the user gave, else the parsed ones."""
    texts = captions(pairs, cache)
    candidate_tokens, reference_tokens = tokenise_pairs(pairs, cache)
    rows = [range(texts.starts[i], texts.starts[i + 1]) for i in images]
    flat = [row for some in rows for row in some]
    lines = scene.tuple_lines([candidate_tokens[i] for i in images] + [reference_tokens[r] for r in flat], graph)
    parsed = iter(lines)
    candidates = [_graph_or_parsed(texts.candidate_graphs[i], next(parsed)) for i in images]
    return candidates, [[_graph_or_parsed(texts.reference_graphs[r], next(parsed)) for r in some] for some in rows]


def _graph_or_parsed(graph: str | None, parsed: str) -> str:
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


class _Spice(Sum):
    category: str
    matching: str = "any"
    synonyms: bool = True
    value: str = "f1"
    graph: Graph = "original"

    def scores(self, pairs: CaptionPairs, cache: SharedCache) -> Array:
        """The score of each image; nan where it has none."""
        return image_scores(pairs, cache, self.category, self.matching, self.synonyms, self.value, self.graph)


class SpiceSum(_Spice):
    """The SPICE of each image, by kind of tuple; 0 where it has none."""

    name = "captions.spice"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.nan_to_num(self.scores(pairs, cache)))


class SpiceCount(_Spice):
    """The images that have a SPICE of that kind."""

    name = "captions.spice_count"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((~np.isnan(self.scores(pairs, cache))).astype(float))


class SpiceLeftOut(_Spice):
    """The images that have none."""

    name = "captions.spice_left_out"
    drawn = False

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.isnan(self.scores(pairs, cache)).astype(float))


class SilentImages(Sum):
    """The images whose references have no tuple."""

    name = "captions.silent"
    drawn = False

    synonyms: bool
    graph: Graph

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((scene_counts(pairs, cache, self.synonyms, self.graph)[:, 0, 1] == 0).astype(float))


class KnownWords(Sum):
    """Words of each image's captions: how many there are, and how many are English."""

    name = "captions.known_words"
    drawn = False

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        word_cache: dict[str, bool] = {}
        candidates, references = tokenise_pairs(pairs, cache)
        starts = captions(pairs, cache).starts.tolist()
        counts = [
            count_known([text, *references[starts[i] : starts[i + 1]]], word_cache) for i, text in enumerate(candidates)
        ]
        return SumBlock(np.array(counts, dtype=np.float64).reshape(-1, 2))


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


class WeightedSum(_Weighted):
    """The weighted SPICE of each image; 0 where it has none."""

    name = "captions.spice_weighted"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.nan_to_num(self.scores(pairs, cache)))


class WeightedCount(_Weighted):
    """The images that have one."""

    name = "captions.spice_weighted_count"

    def measure(self, pairs: CaptionPairs, cache: SharedCache) -> SumBlock:
        return SumBlock((~np.isnan(self.scores(pairs, cache))).astype(float))


ENGLISH = 0.5  # of captions in English nearly all words are known, of others hardly any


Weight = Annotated[float, Between(0)]


class Spice(Metric):
    r"""SPICE: how much of the references' scene graph the caption names, and how much of what it names is there.

    $\mathrm{SPICE} = \frac{1}{N} \sum_i F_1(G_i, R_i), \quad P = \frac{|G \otimes R|}{|G|}, \quad R = \frac{|G
    \otimes R|}{|R|}$

    Captions are parsed into objects, attributes and relations; tuples match when their words are equal or share a
    WordNet synset. `matching=any` lets several tuples of the candidate match one of the references, as the original
    does; `matching=one` matches one to one. `synonyms=false` compares words as they stand. `value` is f1, precision
    or recall. `graph=original` reads graphs by the original's rules, quirks included, so that published numbers can be
    compared; `graph=described` reads what a caption describes: the subject of a passive or a participle keeps its
    relation.

    Undefined when there is no image.

    Pros:
    - Follows what people care about: the right objects, with the right attributes and relations.
    - Says where a caption fails, by its parts: objects, attributes, relations, colours, counts, sizes.

    Cons:
    - Blind to fluency: a heap of right words with the right grammar of relations scores well.
    - Rests on a parser, whose mistakes are the metric's.
    """

    name = "spice"
    title = "SPICE"
    reference = "SPICE 1.0 (Anderson et al. 2016), given the same dependency trees"
    range = (0.0, 1.0)
    category: ClassVar[str] = "all"

    matching: Literal["any", "one"] = "any"
    synonyms: bool = True
    value: Literal["f1", "precision", "recall"] = "f1"
    graph: Graph = "original"

    @property
    def label(self) -> str:
        of = self.title if self.value == "f1" else f"{self.title}, {self.value}"
        return of if self.graph == "original" else f"{of}, as described"

    @property
    def _of(self) -> tuple[str, str, bool, str, Graph]:
        return self.category, self.matching, self.synonyms, self.value, self.graph

    @property
    def _silent(self) -> SilentImages:
        return SilentImages(self.synonyms, self.graph)

    def requirements(self) -> tuple[Requirement, ...]:
        """The images' scores; of all tuples also what the notes speak of."""
        scores = SpiceSum(*self._of), SpiceCount(*self._of), SpiceLeftOut(*self._of)
        return scores if self.category != "all" else (*scores, KnownWords(), self._silent)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[SpiceSum(*self._of)], totals[SpiceCount(*self._of)])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return float(totals[SpiceLeftOut(*self._of)][0]), f"images whose references have no {self.category}"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Warn of captions that are not English, and of references that say nothing."""
        if self.category != "all":
            return ()
        remarks = []
        words, known_words = totals[KnownWords()][0].tolist()
        if words and known_words / words < ENGLISH:
            share = f"{100 * known_words / words:.0f} %"
            remarks.append(
                f"Only {share} of the words are known: the parser reads English, and SPICE means little elsewhere."
            )
        silent = float(totals[self._silent][0])
        if silent:
            remarks.append(
                f"{count_text(round(silent), 'image', 'have')} references without any object, "
                "which scores 0 as in the original."
            )
        return tuple(remarks)


_CATEGORY = r"""SPICE of {topic}.

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{{one}}}, R_i^{\mathrm{{one}}})$

    {meaning}

    Undefined when no image's references {give}.

    Pros:
    - {pro}

    Cons:
    - {con}
    """
_WITH_ONE = "over the images whose references give one."
_CATEGORIES = family(
    Spice,
    "category",
    _CATEGORY,
    object={
        "name": "spice_object",
        "title": "SPICE, objects",
        "aliases": ("object f1",),
        "topic": "objects alone: are the right things named",
        "one": "object",
        "meaning": "The same as SPICE, over the objects of the scene graphs. Images whose references name no object "
        "are left out.",
        "give": "name an object",
        "pro": "The part of SPICE that depends least on the parser.",
        "con": "Says nothing of what the objects are like or do.",
    },
    attribute={
        "name": "spice_attribute",
        "title": "SPICE, attributes",
        "aliases": ("attribute f1",),
        "topic": "attributes alone: are the right properties given to the right things",
        "one": "attribute",
        "meaning": "The same as SPICE, over pairs of object and attribute: colours, sizes, counts and all others.",
        "give": "give an attribute",
        "pro": "Shows whether a model sees properties or only things.",
        "con": "A wrong object makes a right attribute wrong.",
    },
    relation={
        "name": "spice_relation",
        "title": "SPICE, relations",
        "aliases": ("relation f1",),
        "topic": "relations alone: is what things do to each other, and where they are, right",
        "one": "relation",
        "meaning": "The same as SPICE, over triples of object, relation and object.",
        "give": "give a relation",
        "pro": "The part that n-grams cannot see.",
        "con": "All three places must match, so that values are low, and the parser's mistakes weigh most here.",
    },
    color={
        "name": "spice_color",
        "title": "SPICE, colours",
        "aliases": ("color f1",),
        "topic": "colours alone",
        "one": "colour",
        "meaning": f"Attributes that are one of 18 colour words, {_WITH_ONE}",
        "give": "give a colour",
        "pro": "A sharp question that a caption answers or does not.",
        "con": "A concept merged of two spellings (gray and grey) is in no class, as in the original.",
    },
    count={
        "name": "spice_count",
        "title": "SPICE, counts",
        "aliases": ("count f1",),
        "topic": 'counts alone: "two dogs"',
        "one": "count",
        "meaning": f"Attributes that are a number from one to ten in words, {_WITH_ONE}",
        "give": "give a count",
        "pro": "Shows whether a model counts.",
        "con": 'Numbers in digits are not seen, and "one dog" gives no count, as in the original.',
    },
    size={
        "name": "spice_size",
        "title": "SPICE, sizes",
        "aliases": ("size f1",),
        "topic": 'sizes alone: "a large bowl"',
        "one": "size",
        "meaning": f"Attributes that are one of 105 words of size, {_WITH_ONE}",
        "give": "give a size",
        "pro": "Shows whether a model speaks of size as people do.",
        "con": "Few captions speak of size, so that intervals are wide.",
    },
)


class SpiceWeighted(Metric):
    r"""SPICE as a weighted sum over kinds of tuples, the weights being the user's.

    $\mathrm{SPICE}_w = \frac{1}{N} \sum_i \sum_k w_k\,F_1^k(G_i, R_i) \;/\; \sum_k w_k$

    Each kind has its own F1 in an image; kinds that the image's references do not have are left out of its sum, and
    the weights of the others add up to 1. The default weighs objects, attributes and relations alike. `graph`,
    `matching` and `synonyms` are as in `spice`.

    Undefined when no image's references have a tuple of a kind that weighs something.

    Pros:
    - Relations do not drown among the many objects.

    Cons:
    - Values depend on the weights and cannot be compared between papers that chose others.
    """

    name = "spice_weighted"
    title = "SPICE, weighted by kind"
    range = (0.0, 1.0)

    object: Weight = 1.0
    attribute: Weight = 1.0
    relation: Weight = 1.0
    color: Weight = 0.0
    count: Weight = 0.0
    size: Weight = 0.0
    graph: Graph = "original"
    matching: Literal["any", "one"] = "any"
    synonyms: bool = True

    def check(self) -> None:
        """At least one weight is more than 0."""
        if not any(getattr(self, kind) > 0 for kind in CATEGORIES[1:]):
            raise InvalidSpec(f"metric '{self.name}': all weights are 0", remedy="Give at least one kind a weight.")

    @property
    def _of(self) -> tuple[tuple[float, ...], Graph, str, bool]:
        shares = tuple(float(getattr(self, kind)) for kind in CATEGORIES[1:])
        return shares, self.graph, self.matching, self.synonyms

    def requirements(self) -> tuple[Requirement, ...]:
        return WeightedSum(*self._of), WeightedCount(*self._of)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[WeightedSum(*self._of)], totals[WeightedCount(*self._of)])


SPICE_METRICS: tuple[type[Metric], ...] = (
    Spice,
    *_CATEGORIES,
    SpiceWeighted,
)
