"""What the native core counts of captions: n-grams, METEOR's alignment and matched tuples, each calculated by hand."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest

from steelyard import _native
from steelyard.language import scene
from steelyard.language.tokens import pack


def starts(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.int64)


def test_ngrams_of_blanks_an_empty_reference_and_none() -> None:
    """ "a  dog" against "a dog runs" and a reference without words; "cat" against no reference at all."""
    result = _native.ngram_overlap(*pack(["a  dog", "cat"]), *pack(["a dog runs", ""]), starts(0, 2, 2))
    rouge_l = (1 + 1.2**2) * 1 * (2 / 3) / (2 / 3 + 1.2**2 * 1)
    # Every n-gram is in the references of one image of two, so that all weigh log 2, which cancels.
    products = 2 / (math.sqrt(2) * math.sqrt(3)) + 1 / math.sqrt(2)
    cider_d, cider = (10 * products * penalty / (4 * 2) for penalty in (math.exp(-1 / 72), 1))
    wanted: list[list[float]] = [
        [2, 1, 0, 0, 2, 1, 0, 0, 2, 3, rouge_l, cider_d, cider, 2 * 1 * (2 / 3) / (5 / 3), 2 * 1 * 0.5 / 1.5, 0.8],
        [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(result, wanted, rtol=1e-14)


NO_SYNONYMS = _native.WordNet(b"SYWN0001" + struct.pack("<II", 0, 0))


def meteor(candidate: str, *references: str) -> list[float]:
    counts = _native.meteor_counts(NO_SYNONYMS, *pack([candidate]), *pack(references), starts(0, len(references)))
    return [float(value) for value in counts[0]]


def by_formula(precision: float, recall: float, broken: float) -> float:
    """METEOR 1.5 for English: alpha 0.85, beta 0.2, gamma 0.6."""
    return float((1 - 0.6 * broken**0.2) / (0.15 / precision + 0.85 / recall))


@pytest.mark.parametrize("words", [3, 100, 300])
def test_meteor_of_one_word_again_and_again(words: int) -> None:
    """Every word matches every other: the nearest are looked at. A word that is not a function word weighs 0.75."""
    text = " ".join(["dog"] * words)
    weight = 0.75 * words
    assert meteor(text, text) == [weight, weight, weight, weight, words, words, 1, 1]


def test_meteor_of_a_match_behind_the_end_of_the_candidate() -> None:
    counts = meteor("dog " * 300, "cat " * 400 + "dog")
    score = by_formula(1 / 300, 1 / 401, 1)
    assert counts == pytest.approx([0.75, 225, 0.75, 300.75, 1, 1, 1, score], rel=1e-14)


def test_meteor_takes_the_best_reference() -> None:
    """A function word weighs 0.25. Without a word on one side there is nothing to score."""
    assert meteor("a  dog", "cat", "a dog", "dog") == [1, 1, 1, 1, 2, 2, 1, 1]
    assert meteor("dog", "") == [0, 0.75, 0, 0, 0, 0, 0, 0]
    assert meteor("", "dog") == [0, 0, 0, 0.75, 0, 0, 0, 0]


def net(**synsets: list[int]) -> Any:
    """A table in which words have synsets of their own."""
    entries = [
        struct.pack("BB", 0, len(word)) + word.encode() + bytes([len(ids), *ids]) for word, ids in synsets.items()
    ]
    return _native.WordNet(b"SYWN0001" + struct.pack("<II", len(entries), 0) + b"".join(entries))


CATEGORIES = ("all", "object", "attribute", "relation", "color", "count", "size")


def scores(wordnet: Any, candidate: str, reference: str, synonyms: bool = True) -> dict[str, tuple[int, ...]]:
    """By category: tuples of the candidate, of the reference, matched by any, matched one to one. Zeros are left out."""
    table = _native.scene_scores(wordnet, *pack([candidate]), *pack([reference]), synonyms)[0]
    return {name: tuple(map(int, row)) for name, row in zip(CATEGORIES, table, strict=True) if any(row)}


def test_tuples_are_matched_one_to_one_by_exchange() -> None:
    """pet means either of the reference's words, puss only the first: pet gives the first up for puss."""
    wordnet = net(pet=[1, 3], puss=[2], cat=[1, 2], dog=[3])
    assert scores(wordnet, "pet\npuss", "cat\ndog") == {"all": (2, 2, 2, 2), "object": (2, 2, 2, 2)}
    assert scores(wordnet, "pet\npuss", "cat") == {"all": (2, 1, 2, 1), "object": (2, 1, 2, 1)}


def test_a_synonym_of_a_colour_is_none() -> None:
    """red and crimson match as attributes; of the colours only blue and blue do."""
    result = scores(net(red=[5], crimson=[5]), "dog\tred\ncat\tblue", "dog\tcrimson\n\ncat\tblue")
    assert result == {
        "all": (4, 4, 4, 4), "object": (2, 2, 2, 2), "attribute": (2, 2, 2, 2), "color": (2, 1, 1, 1),
    }  # fmt: skip


def test_relations_between_the_same_things() -> None:
    """near and by are one relation where synonyms count, and two where they do not; "be near" is near."""
    wordnet = net(near=[7], by=[7])
    candidate, reference = "Dog\tnear\tcat\nDog\tby\tcat\nDog\tbe near\tcat", "Dog\tby\tcat"
    assert scores(wordnet, candidate, reference) == {
        "all": (3, 3, 3, 3), "object": (2, 2, 2, 2), "relation": (1, 1, 1, 1),
    }  # fmt: skip
    assert scores(wordnet, candidate, reference, synonyms=False) == {
        "all": (4, 3, 3, 3), "object": (2, 2, 2, 2), "relation": (2, 1, 1, 1),
    }  # fmt: skip


def test_words_are_looked_up_in_small_letters_and_without_blanks() -> None:
    wordnet = net(cat=[1], puss=[1], hot_dog=[2], frank=[2])
    assert scores(wordnet, "CAT\n hot dog ", "puss\nfrank") == {"all": (2, 2, 2, 2), "object": (2, 2, 2, 2)}
    assert scores(wordnet, " ", "cat") == {"all": (1, 1, 0, 0), "object": (1, 1, 0, 0)}


def test_blanks_and_captions_without_a_word() -> None:
    """More blanks than one part words as one does; a caption without a word has no tree."""
    plain, spaced, empty, blank = scene.trees(["a dog", " a  dog ", "", "  "])
    assert [(token.word, token.tag) for token in plain] == [("a", "DT"), ("dog", "NN")]
    assert (spaced, empty, blank) == (plain, [], [])


def test_a_long_caption_is_read_in_pieces() -> None:
    """Of 120 words each: heads count from the first word of all, and every piece has a root of its own."""
    whole, full, rest = scene.trees([" ".join(["a dog"] * many) for many in (130, 60, 10)])
    assert len(whole) == 260
    for begin, piece in ((0, full), (120, full), (240, rest)):
        moved = [scene.Token(t.word, t.tag, t.head + begin if t.head else 0, t.relation) for t in piece]
        assert whole[begin : begin + len(piece)] == moved
