"""The digest of what was scored: the same for the same values, however they lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import _native
from steelyard.core.records import Records
from steelyard.io.digest import LARGE, digest


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 1001])
def test_words_that_lie_apart_have_the_fingerprint_of_their_bytes(rows: int) -> None:
    table = np.random.default_rng(rows).random((rows, 3))
    for column in table.T:
        together = np.ascontiguousarray(column)
        assert _native.fingerprint_words(column.view(np.uint64)) == _native.fingerprint(together.view(np.uint8))


@pytest.mark.parametrize("dtype", ["f8", "i8", "i4", "?", "f4"])
def test_every_value_counts_in_a_large_column(dtype: str) -> None:
    rows = LARGE + 7
    values = np.random.default_rng(3).integers(0, 2, rows).astype(dtype)
    before = digest(Records("a", {"x": values}))
    assert before == digest(Records("b", {"x": np.repeat(values, 2)[::2]}))
    for row in (0, rows // 2, rows - 1):
        changed = values.copy()
        changed[row] = not changed[row]
        assert digest(Records("a", {"x": changed})) != before


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4"])
def test_how_wide_whole_numbers_are_held_says_nothing(dtype: str) -> None:
    values = np.arange(100)
    assert digest(Records("a", {"x": values.astype(dtype)})) == digest(Records("b", {"x": values}))
