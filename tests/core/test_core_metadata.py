"""Facts and axes by hand: how classes unite, what must agree, how a user's word finds a class."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.metadata import Axis, Metadata


def test_a_class_is_found_by_name_or_id() -> None:
    axis = Axis((3, 7, 9), ("cat", "9", "dog"))
    assert (len(axis), axis.display_names) == (3, ("cat", "9", "dog"))
    assert [axis.find(word) for word in ("cat", "dog", 3, "7", "9", 9, "bird", 1)] == [0, 2, 0, 1, 1, 1, -1, -1]
    assert Axis((3, 7)).display_names == ("3", "7")
    assert Axis((3, 7)).find("7") == 1


def test_mixed_ids_unite_as_texts() -> None:
    axis, codes = Axis.union([Axis((10, 2)), Axis(("2", "x"))])
    assert axis.ids == ("10", "2", "x")
    assert [code.tolist() for code in codes] == [[0, 1], [1, 2]]
    assert {code.dtype for code in codes} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("ids", "order"),
    [
        (("10", "9"), ("9", "10")),
        (("10", "-9", "5", "-10"), ("-10", "-9", "5", "10")),
        (("10", "9-"), ("10", "9-")),
        (("10", "9", "x"), ("10", "9", "x")),  # one is not a number: as texts
        (("10", "09"), ("09", "10")),  # written otherwise than a number is
        (("10", "٩"), ("10", "٩")),
        (("10", "--9"), ("--9", "10")),
        (("10", ""), ("", "10")),
    ],
)
def test_whole_texts_are_ordered_as_numbers(ids: tuple[str, ...], order: tuple[str, ...]) -> None:
    axis, _ = Axis.union([Axis(ids, whole=True), Axis((), whole=True)])
    assert (axis.ids, axis.whole) == (order, True)


def test_equal_axes_keep_their_order() -> None:
    axis = Axis(("b", "a"), ("B", "A"))
    for parts in ([axis], [axis, Axis(("b", "a"), ("B", "A"))]):
        union, codes = Axis.union(parts)
        assert union is axis
        assert [code.tolist() for code in codes] == [[0, 1]] * len(parts)
        assert {code.dtype for code in codes} == {np.dtype(np.int64)}
    union, codes = Axis.union([Axis((3,)), Axis(())])
    assert (union.ids, [code.tolist() for code in codes]) == ((3,), [[0], []])
    assert {code.dtype for code in codes} == {np.dtype(np.int64)}
    assert Axis.union([Axis(("9", "10"), whole=True), Axis(("10",))])[0].ids == ("9", "10")
    assert Axis.union([Axis(("9", "10")), Axis(("10",), whole=True)])[0].ids == ("10", "9")  # the first one says


def test_names_unite() -> None:
    axis, codes = Axis.union([Axis((5,), ("five",)), Axis((2, 5), ("two", "five")), Axis((9,))])
    assert (axis.ids, axis.names) == ((2, 5, 9), ("two", "five", "9"))
    assert [code.tolist() for code in codes] == [[1], [0, 1], [2]]
    assert Axis.union([Axis((1,)), Axis((2,))])[0].names == ()
    with refuses("E-conflict", "'k'", "'cat'", "'dog'"):
        Axis.union([Axis(("k",), ("cat",)), Axis(("k",), ("dog",))])


def test_facts_merge() -> None:
    first = Metadata({"class": Axis(("b",)), "rater": Axis((1,))}, {"several": False}, frozenset({"score", "box"}))
    second = Metadata({"class": Axis(("a", "b")), "rater": Axis((0,))}, {"several": False}, frozenset({"box", "mask"}))
    merged, codes = Metadata.merge([first, second])
    assert {name: axis.ids for name, axis in merged.axes.items()} == {"class": ("a", "b"), "rater": (0, 1)}
    assert (merged.flags, merged.holds) == ({"several": False}, {"box"})
    assert [{n: c.tolist() for n, c in part.items()} for part in codes] == [
        {"class": [1], "rater": [1]},
        {"class": [0, 1], "rater": [0]},
    ]
    assert (merged.size("class"), Metadata().axes, Metadata().flags, Metadata().holds) == (2, {}, {}, frozenset())


def test_facts_that_do_not_merge() -> None:
    with refuses("E-incompatible", "measurements"):
        Metadata.merge([Metadata({"class": Axis(())}), Metadata({"class": Axis(())}), Metadata()])
    with refuses("E-incompatible", "'angle'", "degrees", "radians"):
        Metadata.merge([Metadata(flags={"angle": "degrees"}), Metadata(flags={"angle": "radians"})])
    with refuses("E-incompatible", "'angle'", "degrees"):
        Metadata.merge([Metadata(flags={"angle": "degrees"}), Metadata()])
