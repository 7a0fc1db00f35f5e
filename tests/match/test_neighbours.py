"""The nearest vectors by hand: scores, ties, what a query must not find, and galleries that are too small."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.match import neighbours
from steelyard.match.neighbours import nearest_neighbours

GALLERY = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, -1.0]])
TIE = np.array([0, 1, 2, 3])


def nearest(query: list[list[float]], k: int, distance: str, exclude: int = -1) -> tuple[list[list[int]], np.ndarray]:
    hidden = np.full(len(query), exclude)
    places, scores = nearest_neighbours(np.array(query), GALLERY, k, distance, hidden, TIE, "x")
    return places.tolist(), scores


def test_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors 0 and 2 have the direction of the query: the larger tie goes first, at the cut too."""
    monkeypatch.setattr(neighbours, "BLOCK_BYTES", 1)  # a query at a time
    places, scores = nearest([[5.0, 0.0], [0.0, 1.0]], 2, "cosine")
    assert places == [[2, 0], [1, 2]]
    assert scores.tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert nearest([[5.0, 0.0]], 1, "cosine")[0] == [[2]]


def test_distances() -> None:
    places, scores = nearest([[1.0, 0.0]], 3, "l2")
    assert places == [[0, 3, 2]]
    assert scores[0] == pytest.approx([0.0, -np.sqrt(2), -2.0], abs=1e-12)


def test_a_query_does_not_find_itself_and_none_is_made_up() -> None:
    places, scores = nearest([[1.0, 0.0]], 9, "l2", exclude=0)
    assert places == [[3, 2, 1, -1]]
    assert scores[0, 3] == -np.inf


def test_a_vector_without_direction() -> None:
    with refuses("E-unsupported", "'query'", "row 1"):
        nearest([[1.0, 0.0], [0.0, 0.0]], 1, "cosine")
