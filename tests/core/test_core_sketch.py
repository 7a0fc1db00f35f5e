"""The share of units that two sets have in common, as far as sketches of them tell."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from steelyard.core.draws import unit_keys
from steelyard.core.sketch import SIZE, UnitSketch


def sketch(keys: range) -> UnitSketch:
    return UnitSketch.of_keys(np.array(keys, dtype=np.uint64)[::-1])


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        (range(0), range(0)),
        (range(3, 6), range(3, 6)),
        (range(SIZE), range(SIZE)),
        (range(5, SIZE + 6), range(5, SIZE + 5)),
    ],
)
def test_the_smallest_keys_are_kept(keys: range, kept: range) -> None:
    made = sketch(keys)
    assert made.units == len(keys)
    assert made.values.tolist() == list(kept)
    assert made.values.dtype == np.dtype("<u8")
    assert made.faults() == {}


def test_a_sketch_of_ids_is_that_of_their_keys() -> None:
    ids = np.array(["b", "a", "c"])
    assert UnitSketch.of_ids(ids) == UnitSketch(3, base64.b64encode(np.sort(unit_keys(ids)).tobytes()).decode())


@pytest.mark.parametrize(
    ("mine", "other", "share"),
    [
        (range(10), range(5, 25), 0.5),  # 5 of the 10 units of the smaller set
        (range(5, 25), range(10), 0.5),
        (range(10), range(2, 12), 0.8),
        (range(10), range(10, 20), 0.0),
        (range(0), range(10), None),
        (range(10), range(0), None),
        (range(SIZE), range(SIZE), 1.0),
        # below the largest key that both reach, 1,023: 512 of the 1,024 keys of one, all of the other's
        (range(2 * SIZE), range(0, 4 * SIZE, 2), 0.5),
        (range(0, 4 * SIZE, 2), range(2 * SIZE), 1.0),
        # of a set of 3 units and one of many, whose keys are all below: nothing can be said
        (range(10**6, 10**6 + 3), range(2 * SIZE), None),
        (range(2 * SIZE), range(10**6, 10**6 + 3), None),
        # 2 of the 3 units lie up to the last key of the other, 2,046, and one of them is there
        (range(2043, 2050, 3), range(0, 4 * SIZE, 2), 0.5),
    ],
)
def test_the_shared_fraction(mine: range, other: range, share: float | None) -> None:
    assert sketch(mine).shared_fraction(sketch(other)) == share


def packed(*keys: int) -> str:
    return base64.b64encode(np.array(keys, dtype="<u8").tobytes()).decode()


@pytest.mark.parametrize(
    ("units", "keys", "fault"),
    [
        (2, packed(1, 2), None),
        (2, "no base64!", "is not base64 of 64-bit integers"),
        (1, base64.b64encode(b"1234567").decode(), "is not base64 of 64-bit integers"),
        (2, packed(2, 1), "does not hold 2 rising keys"),
        (2, packed(1, 1), "does not hold 2 rising keys"),
        (3, packed(1, 2), "does not hold 3 rising keys"),
        (1, packed(1, 2), "does not hold 1 rising keys"),
        (SIZE + 1, packed(*range(SIZE)), None),
        (SIZE + 1, packed(*range(SIZE + 1)), "does not hold 1,024 rising keys"),
    ],
)
def test_what_is_no_sketch(units: int, keys: str, fault: str | None) -> None:
    assert UnitSketch(units, keys).faults() == ({} if fault is None else {"keys": fault})
