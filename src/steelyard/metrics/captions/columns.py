"""What is measured of captions, as columns of stats; what is costly is measured when a metric first asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steelyard import _native
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.language import scene, tables
from steelyard.language.texts import pack

CATEGORIES = ("all", "object", "attribute", "relation", "color", "count", "size")
OVERLAPS = (
    "matched1", "matched2", "matched3", "matched4", "guessed1", "guessed2", "guessed3", "guessed4",
    "length", "closest", "rouge_l", "cider_d", "cider", "rouge1", "rouge2", "rouge_lcs",
)  # fmt: skip
METEOR_COLUMNS = (
    "matched_candidate", "all_candidate", "matched_reference", "all_reference",
    "words_candidate", "words_reference", "chunks", "score",
)  # fmt: skip


def overlap(candidates: Sequence[str], references: Sequence[str], starts: Array) -> dict[str, Array]:
    """Overlap of tokenised candidates with their references, a column a quantity."""
    found = _native.ngram_overlap(*pack(candidates), *pack(references), starts)
    return {name: np.ascontiguousarray(found[:, i]) for i, name in enumerate(OVERLAPS)}


def retokenised(stats: Stats, name: str, tokenise: Callable[[str], str]) -> dict[str, Array]:
    """The overlap under other tokens, of the captions as they were written."""
    made: dict[str, Array] = {}

    def column(quantity: str) -> Array:
        if not made:
            references = [tokenise(text) for texts in stats["references"].tolist() for text in texts]
            candidates = [tokenise(text) for text in stats["candidate"].tolist()]
            made.update(overlap(candidates, references, reference_starts(stats)))
        return made[quantity]

    return {q: stats.per_unit((name, q), lambda q=q: column(q)) for q in OVERLAPS}  # type: ignore[misc]


def meteor_column(stats: Stats, name: str) -> Array:
    """One of METEOR's counts, or its score, by image."""
    counts = stats.per_unit("meteor", lambda: _meteor_counts(stats))
    return stats.per_unit(("meteor", name), lambda: np.ascontiguousarray(counts[:, METEOR_COLUMNS.index(name)]))


def _meteor_counts(stats: Stats) -> Array:
    references = [text for texts in stats["reference_tokens"].tolist() for text in texts]
    candidates = pack(stats["candidate_tokens"].tolist())
    found: Array = _native.meteor_counts(tables.wordnet(), *candidates, *pack(references), reference_starts(stats))
    return found


def reference_starts(stats: Stats) -> Array:
    """Where the references of each image begin, among all."""
    return np.cumsum([0] + [len(texts) for texts in stats["references"].tolist()], dtype=np.int64)


def scene_counts(stats: Stats, *, synonyms: bool, graph: scene.Graph = "original") -> Array:
    """Numbers of tuples and matches: (images, categories, (candidate, reference, matched, matched one to one))."""
    return stats.per_unit(("scene", synonyms, graph), lambda: _count_scenes(stats, synonyms, graph))


def _count_scenes(stats: Stats, synonyms: bool, graph: scene.Graph) -> Array:
    candidates, references = scene_lines(stats, graph)
    joined = ["\n".join(line for line in lines if line) for lines in references]
    counts: Array = _native.scene_scores(tables.wordnet(), *pack(candidates), *pack(joined), synonyms)
    return counts.astype(np.float64)


def scene_lines(stats: Stats, graph: scene.Graph = "original") -> tuple[list[str], list[list[str]]]:
    """Tuples of every candidate and of every reference: those that the user gave, else those of the parsed captions."""
    given = stats["candidate_tuples"].tolist()
    given_references = stats["reference_tuples"].tolist()
    flat = [text for texts in stats["reference_tokens"].tolist() for text in texts]
    parsed = scene.tuple_lines([*stats["candidate_tokens"].tolist(), *flat], graph)
    candidates = [mine if g is None else g for g, mine in zip(given, parsed[: len(given)], strict=True)]
    references, at = [], len(given)
    for lines in given_references:
        own = parsed[at : at + len(lines)]
        references.append([mine if g is None else g for g, mine in zip(lines, own, strict=True)])
        at += len(lines)
    return candidates, references
