"""What the page of captions shows: sentences with the tuples that matched and that did not, and what was missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.language import scene, tables
from steelyard.language.tokens import pack
from steelyard.tasks.captions.data import CaptionPairs, Captions, captions
from steelyard.tasks.captions.spice import Spice, SpiceCount, SpiceSum, scene_lines

WORST, BEST = 7, 3
MOST_MISSED = 12
PARTS = (("object", "objects"), ("attribute", "attributes"), ("relation", "relations"))


def figures(pairs: CaptionPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    graph: scene.Graph = next((metric.graph for metric in metrics if isinstance(metric, Spice)), "original")
    return {"sentences": lambda: sentences(pairs, state, graph)} if len(state) else {}


def _scores(pairs: CaptionPairs, state: State, cache: SharedCache, category: str, graph: scene.Graph) -> Array:
    """SPICE of each image, by kind of tuple; as it was measured, where it was. nan where an image has none."""
    values = []
    for statistic in (SpiceSum(category, graph=graph), SpiceCount(category, graph=graph)):
        block = state.blocks.get(statistic)
        values.append(block.values if isinstance(block, SumBlock) else statistic.measure(pairs, cache).values)
    return np.where(values[1] > 0, values[0], np.nan)


def sentences(pairs: CaptionPairs, state: State, graph: scene.Graph = "original") -> Figure:
    """The worst captions by SPICE and some of the best, word by word, with graphs as the first SPICE reads them."""
    work = SharedCache()
    scores = _scores(pairs, state, work, "all", graph)
    order = np.argsort(scores, kind="stable")
    chosen = list(dict.fromkeys([*order[:WORST].tolist(), *order[::-1][:BEST].tolist()]))
    texts = captions(pairs, work)
    graphs = zip(chosen, *scene_lines(pairs, work, graph, chosen), strict=True)
    shown = [_explain_tuples(texts, i, lines, refs) for i, lines, refs in graphs]
    return Figure(
        "sentences",
        "sentences",
        f"Captions: the worst {min(WORST, len(chosen))} by SPICE, and some of the best",
        {"image": [str(pairs.units[i]) for i in chosen], "spice": scores[chosen]},
        {"sentences": shown},
        "What the references say too is underlined, what none of them says is struck through. Missed is what they "
        "say and the caption does not.",
    )


def _explain_tuples(texts: Captions, i: int, lines: str, references: Sequence[str]) -> dict[str, Any]:
    candidate = list(dict.fromkeys(scene.tuples_of(lines)))
    wanted = list(dict.fromkeys(t for text in references for t in scene.tuples_of(text)))
    whole = "\n".join(text for text in references if text)
    hit = _match_tuples(candidate, whole)
    covered = _match_tuples(wanted, lines)
    good = {word for t, ok in zip(candidate, hit, strict=True) if ok for word in t}
    bad = {word for t, ok in zip(candidate, hit, strict=True) if not ok for word in t} - good
    return {
        "words": [[word, _state(word, good, bad)] for word in texts.candidates[i].split()],
        "matched": [" · ".join(t) for t, ok in zip(candidate, hit, strict=True) if ok],
        "wrong": [" · ".join(t) for t, ok in zip(candidate, hit, strict=True) if not ok],
        "missed": [" · ".join(t) for t, ok in zip(wanted, covered, strict=True) if not ok][:MOST_MISSED],
        "references": texts.of(i),
    }


def _match_tuples(tuples: Sequence[tuple[str, ...]], against: str) -> list[bool]:
    """Whether each tuple alone has a match in a scene graph: as an object, an attribute or a relation."""
    if not tuples or not against:
        return [False] * len(tuples)
    alone = ["\t".join(t) for t in tuples]
    counts = _native.scene_scores(tables.wordnet(), *pack(alone), *pack([against] * len(alone)), True)
    kinds = [len(t) for t in tuples]  # a tuple of two or three names objects too, which count apart
    return [bool(count) for count in np.asarray(counts)[np.arange(len(alone)), kinds, 2].tolist()]


def _state(word: str, good: set[str], bad: set[str]) -> str:
    plain = re.sub(r"[^\w'-]", "", word.lower())
    for state, words in (("hit", good), ("miss", bad)):
        if any(_same(plain, part) for text in words for part in text.split()):
            return state
    return ""


def _same(word: str, lemma: str) -> bool:
    """Whether a word may be a form of a lemma: they share their beginning, and what is left are endings."""
    if word == lemma:
        return True
    shared = 0
    while shared < min(len(word), len(lemma)) and word[shared] == lemma[shared]:
        shared += 1
    if shared < 3 or len(lemma) - shared > 1:
        return word.endswith("men") and lemma == f"{word[:-3]}man"
    rest = word[shared:]
    if rest[:1] == lemma[shared - 1 : shared]:  # sitting: sit
        rest = rest[1:]
    return rest in ("s", "es", "ed", "d", "ing", "ies", "n", "en")


def listing(pairs: CaptionPairs, state: State) -> Listing:
    """Every image: its caption, the first reference, and SPICE by part."""
    work = SharedCache()
    texts = captions(pairs, work)
    references = [texts.of(i) for i in range(len(pairs.units))]
    columns: dict[str, Array | Texts] = {
        "image": Texts(np.arange(len(pairs.units)), [str(u) for u in pairs.units.tolist()]),
        "caption": Texts.of(texts.candidates),
        "first reference": Texts.of([own[0] if own else "" for own in references]),
        "spice": _scores(pairs, state, work, "all", "original"),
    }
    columns |= {name: _scores(pairs, state, work, part, "original") for part, name in PARTS}
    return Listing("captions", "Captions", columns, x="spice")
