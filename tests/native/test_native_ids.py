"""Ids, codes and cells in the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from test_native_refusals import NAN, i64, u8

from steelyard import _native


# Ids and numbers of Python.
class Text(str):
    __slots__ = ()


class Number(float):
    pass


def column(*ids: object) -> Any:
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def test_ids_and_numbers_of_their_own_kind() -> None:
    (text, place, key), values, starts = _native.pack_nested({"q": {Text("a "): Number(2), "b": -1}})
    plain = _native.pack_objects(column("a", "b"))
    assert not isinstance(plain, int)
    assert [part.tolist() for part in (text, place, key)] == [part.tolist() for part in plain]
    assert (values.tolist(), starts.tolist()) == ([2, -1], [0, 2])


@pytest.mark.parametrize(
    ("documents", "wrong"),
    [
        ({"a": 10**400}, "a"), ({"a": True}, "a"), ({"a": NAN}, "a"), ({" ": 1}, " "), ({"\ud800": 1}, "\ud800"), ({7: 1}, 7),
        ({"x" * 65536: 1}, "x" * 65536), ([1], None),
    ],
    ids=lambda value: str(value)[:12].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_ids_and_numbers_that_are_none(documents: Any, wrong: Any) -> None:
    assert _native.pack_nested({"p": {"a": 1}, "q": documents}) == ("q", wrong)


def test_ids_one_after_the_other() -> None:
    """Blanks around an id do not count; a row that holds nothing else has none."""
    packed = _native.pack_offsets(u8(*b" a\tb"), i64(0, 3, 4))
    plain = _native.pack_objects(column("a", "b"))
    assert not isinstance(packed, int)
    assert not isinstance(plain, int)
    assert packed[1].tolist() == plain[2].tolist()
    assert _native.pack_offsets(u8(*b"a  b"), i64(0, 1, 3, 4)) == 1
    assert _native.pack_offsets(np.full(65537, 65, np.uint8), i64(0, 1, 65537)) == 1
    assert _native.pack_objects(column("a", 7)) == _native.pack_runs(column("a", 7)) == 1
    assert _native.factor_texts(["a", 7]) is None
    for array in (np.array([1, 2]), column("a", "b").reshape(1, 2)):
        with refuses(ValueError, "dimension"):
            _native.pack_objects(array)
    with pytest.raises((TypeError, BufferError)):
        _native.pack_objects(["a"])


# Tracks.
def test_codes_of_tracks_far_apart() -> None:
    """Codes go by the size of the ids; of rows whose track their frame has already the first is named."""
    frame, track = i64(0, 0, 1, 0, 0, 0), i64(1 << 40, 7, 1 << 40, 3, 3, 3)
    codes, again = _native.tracking_codes(frame, track, i64(0, 3, 6))
    assert (codes.tolist()[:5], again) == ([1, 0, 1, 0, 0], 4)
    both = _native.tracking_codes(i64(0, 0, 0, 0), i64(1, 1, 2, 2), i64(2, 4))
    assert (both[0].tolist(), both[1]) == ([0, 0, 0, 0], 1)
    assert _native.tracking_codes(i64(0, 1), i64(5, 5), i64(2))[1] == -1


# Tables for data frames.
@pytest.mark.parametrize(
    ("kind", "cell", "message"),
    [
        ("u", 1, (TypeError, "text")),
        ("g", "a", (TypeError, "number")),
        ("g", b"b", (TypeError, "number")),
        ("l", "a", (TypeError, "64")),
        ("l", 1 << 70, (TypeError, "64")),
    ],
)
def test_cells_of_another_kind_are_refused(kind: str, cell: object, message: tuple[str, ...]) -> None:
    with refuses(*message):
        _native.arrow_stream(["a"], [kind], [[None, cell]])


def test_names_and_kinds_are_texts() -> None:
    for names, kinds in (([1], ["g"]), (["a"], [1])):
        with refuses(TypeError, "expected"):
            _native.arrow_stream(names, kinds, [[1.0]])
    for names, kinds in ((["\ud800"], ["g"]), (["a"], ["\ud800"])):
        with refuses(UnicodeEncodeError, "surrogates"):
            _native.arrow_stream(names, kinds, [[1.0]])
