"""SPICE: scene graphs of candidate and references compared, tuple by tuple.

Conventions: an image's candidate has one scene graph, its references together have one. A tuple is an object, an
object with an attribute, or two objects with a relation. Scores are those of an image, then their mean over images.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.language.scene import GRAPHS, Graph, count_known
from steelyard.metrics.captions.columns import CATEGORIES, scene_counts


def image_scores(
    stats: Stats, category: str, matching: str, synonyms: bool, value: str, graph: Graph = "original"
) -> Array:
    """The score of each image; nan where its references have no tuple of the category."""
    return stats.per_unit(
        ("spice", category, matching, synonyms, value, graph),
        lambda: _image_scores(scene_counts(stats, synonyms=synonyms, graph=graph), category, matching, value),
    )


def _image_scores(counts: Array, category: str, matching: str, value: str) -> Array:
    of = counts[:, CATEGORIES.index(category)]
    candidate, reference, matched = of[:, 0], of[:, 1], of[:, 2 if matching == "any" else 3]
    precision = np.divide(matched, candidate, out=np.zeros(len(of)), where=candidate > 0)
    recall = np.divide(matched, reference, out=np.zeros(len(of)), where=reference > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros(len(of)), where=both > 0)
    score = {"f1": f1, "precision": precision, "recall": recall}[value]
    return score if category == "all" else np.where(reference > 0, score, np.nan)


ENGLISH = 0.5  # of captions in English nearly all words are known, of others hardly any


def known_words(stats: Stats) -> float:
    """The share of all captions' words that are English; nan without words."""

    def make() -> Array:
        known: dict[str, bool] = {}
        texts = zip(stats["candidate_tokens"].tolist(), stats["reference_tokens"].tolist(), strict=True)
        counts = [count_known([candidate, *references], known) for candidate, references in texts]
        return np.array(counts, dtype=np.float64).reshape(-1, 2)

    seen, found = stats.per_unit("known words", make).sum(axis=0).tolist()
    return float(found / seen) if seen else float("nan")


def mean_of_defined(stats: Stats, weights: Weights, key: object, scores: Array) -> Floats:
    """Weighted mean over the images that have a score."""
    total = stats.per_unit((key, "sum"), lambda: np.nan_to_num(scores))
    count = stats.per_unit((key, "count"), lambda: (~np.isnan(scores)).astype(float))
    return ratio(weights @ total, weights @ count)


@frozen
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
    category: ClassVar[str] = "all"

    matching: Literal["any", "one"] = "any"
    synonyms: bool = True
    value: Literal["f1", "precision", "recall"] = "f1"
    graph: Graph = "original"

    def check(self) -> None:
        """Check the settings."""
        one_of(self, "matching", "any", "one")
        one_of(self, "synonyms", True, False)
        one_of(self, "value", "f1", "precision", "recall")
        one_of(self, "graph", *GRAPHS)

    @property
    def label(self) -> str:
        """Say which of the three it is, and that graphs are described ones."""
        of = self.title if self.value == "f1" else f"{self.title}, {self.value}"
        return of if self.graph == "original" else f"{of}, as described"

    def images(self, stats: Stats) -> Array:
        """The score of each image."""
        return image_scores(stats, self.category, self.matching, self.synonyms, self.value, self.graph)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over the images that have a score."""
        return mean_of_defined(stats, weights, (type(self).name, str(self)), self.images(stats))

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Images whose references say nothing of the kind."""
        undefined = np.isnan(self.images(stats)).astype(float)
        return float((weights @ undefined)[0]), f"images whose references have no {self.category}"

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Warn of captions that are not English, and of references that say nothing."""
        if self.category != "all":
            return ()
        said = []
        if known_words(stats) < ENGLISH:
            share = f"{100 * known_words(stats):.0f} %"
            said.append(
                f"Only {share} of the words are known: the parser reads English, and SPICE means little elsewhere."
            )
        counts = scene_counts(stats, synonyms=self.synonyms, graph=self.graph)
        silent = float((weights @ (counts[:, 0, 1] == 0).astype(float))[0])
        if silent:
            said.append(f"{silent:g} images have references without any object; they score 0, as in the original.")
        return tuple(said)


@frozen
class SpiceObject(Spice):
    r"""SPICE of objects alone: are the right things named.

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{object}}, R_i^{\mathrm{object}})$

    The same as SPICE, over the objects of the scene graphs. Images whose references name no object are left out.

    Undefined when no image's references name an object.

    Pros:
    - The part of SPICE that depends least on the parser.

    Cons:
    - Says nothing of what the objects are like or do.
    """

    name = "spice_object"
    title = "SPICE, objects"
    category = "object"


@frozen
class SpiceAttribute(Spice):
    r"""SPICE of attributes alone: are the right properties given to the right things.

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{attribute}}, R_i^{\mathrm{attribute}})$

    The same as SPICE, over pairs of object and attribute: colours, sizes, counts and all others.

    Undefined when no image's references give an attribute.

    Pros:
    - Shows whether a model sees properties or only things.

    Cons:
    - A wrong object makes a right attribute wrong.
    """

    name = "spice_attribute"
    title = "SPICE, attributes"
    category = "attribute"


@frozen
class SpiceRelation(Spice):
    r"""SPICE of relations alone: is what things do to each other, and where they are, right.

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{relation}}, R_i^{\mathrm{relation}})$

    The same as SPICE, over triples of object, relation and object.

    Undefined when no image's references give a relation.

    Pros:
    - The part that n-grams cannot see.

    Cons:
    - All three places must match, so that values are low, and the parser's mistakes weigh most here.
    """

    name = "spice_relation"
    title = "SPICE, relations"
    category = "relation"


@frozen
class SpiceColor(Spice):
    r"""SPICE of colours alone.

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{colour}}, R_i^{\mathrm{colour}})$

    Attributes that are one of 18 colour words, over the images whose references give one.

    Undefined when no image's references give a colour.

    Pros:
    - A sharp question that a caption answers or does not.

    Cons:
    - A concept merged of two spellings (gray and grey) is in no class, as in the original.
    """

    name = "spice_color"
    title = "SPICE, colours"
    category = "color"


@frozen
class SpiceCount(Spice):
    r"""SPICE of counts alone: "two dogs".

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{count}}, R_i^{\mathrm{count}})$

    Attributes that are a number from one to ten in words, over the images whose references give one.

    Undefined when no image's references give a count.

    Pros:
    - Shows whether a model counts.

    Cons:
    - Numbers in digits are not seen, and "one dog" gives no count, as in the original.
    """

    name = "spice_count"
    title = "SPICE, counts"
    category = "count"


@frozen
class SpiceSize(Spice):
    r"""SPICE of sizes alone: "a large bowl".

    $\frac{1}{N} \sum_i F_1(G_i^{\mathrm{size}}, R_i^{\mathrm{size}})$

    Attributes that are one of 105 words of size, over the images whose references give one.

    Undefined when no image's references give a size.

    Pros:
    - Shows whether a model speaks of size as people do.

    Cons:
    - Few captions speak of size, so that intervals are wide.
    """

    name = "spice_size"
    title = "SPICE, sizes"
    category = "size"


@frozen
class SpiceWeighted(Metric):
    r"""SPICE as a weighted sum over kinds of tuples, the weights being the user's.

    $\mathrm{SPICE}_w = \frac{1}{N} \sum_i \sum_k w_k\,F_1^k(G_i, R_i) \;/\; \sum_k w_k$

    Each kind has its own F1 in an image; kinds that the image's references do not have are left out of its sum, and
    the weights of the others add up to 1. The default weighs objects, attributes and relations alike. `graph` is how
    captions are read, as in `spice`.

    Undefined when no image's references have a tuple of a kind that weighs something.

    Pros:
    - Relations do not drown among the many objects.

    Cons:
    - Values depend on the weights and cannot be compared between papers that chose others.
    """

    name = "spice_weighted"
    title = "SPICE, weighted by kind"

    object: float = 1.0
    attribute: float = 1.0
    relation: float = 1.0
    color: float = 0.0
    count: float = 0.0
    size: float = 0.0
    graph: Graph = "original"

    def check(self) -> None:
        """Weights are numbers from 0 up, and one is more."""
        one_of(self, "graph", *GRAPHS)
        for kind in CATEGORIES[1:]:
            within_range(self, kind, 0, float("inf"))
        if not any(getattr(self, kind) > 0 for kind in CATEGORIES[1:]):
            raise InputError(f"metric '{self.name}': all weights are 0", remedy="Give at least one kind a weight.")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images of the weighted sum of their kinds' F1."""
        scores = stats.per_unit((self.name, str(self)), lambda: self._images(stats))
        return mean_of_defined(stats, weights, str(self), scores)

    def _images(self, stats: Stats) -> Array:
        total, weight = np.zeros(len(stats)), np.zeros(len(stats))
        for kind in CATEGORIES[1:]:
            share = float(getattr(self, kind))
            if share > 0:
                scores = image_scores(stats, kind, "any", True, "f1", self.graph)
                defined = ~np.isnan(scores)
                total[defined] += share * scores[defined]
                weight[defined] += share
        found: Array = np.divide(total, weight, out=np.full(len(stats), np.nan), where=weight > 0)
        return found


SPICE_METRICS: tuple[type[Metric], ...] = (
    Spice, SpiceObject, SpiceAttribute, SpiceRelation, SpiceColor, SpiceCount, SpiceSize, SpiceWeighted,
)  # fmt: skip
