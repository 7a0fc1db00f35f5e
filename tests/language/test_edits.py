"""Edit distances: the same operations as rapidfuzz, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from steelyard.language import edits

ALPHABETS = ("ab", "abcde ", "abc日本語é👍\u0301", "0123456789.,", "".join(map(chr, range(0x20, 0x600))))
KIND = {"replace": edits.SUBSTITUTED, "delete": edits.DELETED, "insert": edits.INSERTED}


def drawn(rng: np.random.Generator) -> tuple[str, str]:
    """A text and another one, or the same with some edits; about the lengths at which a word of bits ends."""
    alphabet = ALPHABETS[rng.integers(len(ALPHABETS))]

    def letters(count: int) -> list[str]:
        return [alphabet[i] for i in rng.integers(len(alphabet), size=count)]

    length = int(rng.choice([0, 1, 2, 5, 20, 63, 64, 65, 127, 128, 129, 200, 320]))
    text = letters(length)
    if rng.random() < 0.4:
        return "".join(text), "".join(letters(int(rng.choice([0, 1, 3, length, length + 70]))))
    other = list(text)
    for _ in range(int(rng.integers(0, 9))):
        place = int(rng.integers(len(other) + 1))
        other[place : place + int(rng.integers(3))] = letters(int(rng.integers(3)))
    return "".join(text), "".join(other)


def test_the_operations_are_those_of_rapidfuzz() -> None:
    rng = np.random.default_rng(20)
    a, b = zip(*(drawn(rng) for _ in range(2500)), strict=True)
    sides = edits.characters(a), edits.characters(b)
    counts, distances = edits.edit_counts(*sides), edits.distances(*sides)
    listed: dict[int, list[tuple[int, int, int]]] = {}
    for row, *step in edits.edit_steps(*sides).tolist():
        listed.setdefault(row, []).insert(0, tuple(step))
    for row, (one, other) in enumerate(zip(a, b, strict=True)):
        expected = [
            (KIND[op.tag], -1 if op.tag == "insert" else op.src_pos, -1 if op.tag == "delete" else op.dest_pos)
            for op in Levenshtein.editops(one, other)
        ]
        assert listed.get(row, []) == expected, (one, other)
        kinds = [kind for kind, *_ in expected]
        assert counts[row].tolist() == [
            len(one) - sum(k != edits.INSERTED for k in kinds),
            *map(kinds.count, (1, 2, 3)),
        ]
        assert distances[row] == len(expected) == Levenshtein.distance(one, other)


@pytest.mark.parametrize("length", [3000, 22_000])
def test_long_texts(length: int) -> None:
    """Of the longer ones not all columns can be kept. Every edit stands alone, so that there is one alignment only."""
    base = "".join(map(chr, (np.arange(length) * 7919) % 1009 + 0x4E00))
    other = "".join(
        "x" if i % 500 == 250 else c + "yz" if i % 997 == 100 else c for i, c in enumerate(base) if i % 1500 != 7
    )
    substituted = sum(i % 500 == 250 for i in range(length))
    deleted = sum(i % 1500 == 7 for i in range(length))
    inserted = 2 * sum(i % 997 == 100 for i in range(length))
    counts = edits.edit_counts(edits.characters([base]), edits.characters([other]))[0].tolist()
    assert counts == [length - substituted - deleted, substituted, deleted, inserted]
    assert edits.distances(edits.characters([other]), edits.characters([base]))[0] == sum(counts[1:])


def test_words_are_symbols_too() -> None:
    a, b = [["the", "cat", "sat"], []], [["a", "cat"], ["dog"]]
    assert edits.edit_counts(*edits.words(a, b)).tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]
    assert edits.distances(*edits.words(a, b)).tolist() == [2, 1]
