"""Arguments of the native core that do not fit, where several are checked in one breath, and values at their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_native_refusals import GOOD, MASK, NAN, OBJECTS, PACKED, f64, i32, i64, ones, u8

from steelyard import _native
from steelyard.language import tables
from steelyard.language.texts import pack

STARTS = "begin at 0, grow and stay inside"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ngram_overlap", {"starts": i64(-1, 2)}, STARTS),
    ("ngram_overlap", {"starts": i64(1, 2)}, STARTS),
    ("ngram_overlap", {"starts": i64(0, 3)}, STARTS),
    ("ngram_overlap", {"candidates": b"ab", "candidate_ends": i64(2, 1), "starts": i64(0, 1, 2)}, "ends must grow"),
    ("tracking_codes", {"ends": i64(-1)}, "the ends of the runs must rise"),
    ("ranked_each", {"starts": i64(-1, 2)}, "stay inside the events"),
    ("ranked", {"owner": i64(0)}, "as many in every column"),
    ("oks", {"t_box": ones(2, 4)}, "columns of the truth differ"),
    ("oks", {"t_box": ones(1, 5)}, "columns of the truth differ"),
    ("oks", {"t_area": f64()}, "columns of the truth differ"),
    ("oks", {"sigmas": f64()}, "from 1 to 65536 sigmas"),
    ("oks", {"sigmas": np.ones(65537)}, "from 1 to 65536 sigmas"),
    ("oks", {"d_points": ones(1, 4)}, "a detection needs x, y and v"),
    ("boxes_match", {"t_label": i32(-1)}, "out of range|label"),
    ("boxes_match", {"d_image": i32(-1)}, "out of range|image"),
    ("boxes_match", {"t_box": f64(0, 0, 1, -1).reshape(1, 4)}, "a negative width or height"),
    ("boxes_match", {"t_box": f64(0, 0, -1, 1).reshape(1, 4)}, "a negative width or height"),
    ("boxes_match", {"ious": f64(1.5)}, "above 0 and at most 1"),
    ("boxes_match", {"ious": f64(0)}, "above 0 and at most 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changed", "message"), REFUSED, ids=[f"{name}, {', '.join(changed)}" for name, changed, _ in REFUSED]
)
def test_refused(name: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(_native, name)(**{**GOOD[name], **changed})


@pytest.mark.parametrize("head", ["x", "-1", "1000000", "9"])
def test_a_head_is_the_number_of_a_word(head: str) -> None:
    with pytest.raises(ValueError, match="a head must be the number of a word, or 0"):
        _native.tree_tuples(tables.lemmas(), *pack([f"dog\tNN\t{head}\troot"]))


def test_many_keypoints_are_added_up() -> None:
    """All 200 points are where they belong: the similarity is 1."""
    points = np.tile(f64(3, 4, 2), 200).reshape(1, 600)
    one = _native.oks(points, points, ones(1, 4), f64(4), np.full(200, 0.1))
    assert one.tolist() == [[1.0]]


# Masks.
def copied(size: Any = (2, 2), counts: Any = (0, 4)) -> Any:
    return _native.mask_copy({"size": size, "counts": counts})


def test_masks_in_every_form() -> None:
    """Lists, tuples, texts and bytes; a run of no pixel joins its neighbours. "04" is a run of none and a run of four."""
    for size in ([2, 2], (2, 2)):
        for counts in ([0, 4], (0, 4), "04", b"04"):
            assert copied(size, counts) == {"size": [2, 2], "counts": b"04"}
    merged = _native.mask_merge(
        [{"size": [2, 2], "counts": [0, 1, 0, 3]}, {"size": [2, 2], "counts": [1, 0, 3]}], False
    )
    assert merged == {"size": [2, 2], "counts": b"04"}
    assert _native.mask_merge([MASK], True) == {"size": [2, 2], "counts": b"04"}
    nothing = {"size": [0, 0], "counts": [0]}
    assert _native.mask_merge([nothing, nothing], False) == {"size": [0, 0], "counts": b"0"}
    assert _native.mask_merge([], False)["size"] == [0, 0]
    assert _native.mask_decode([]).shape == (0, 0, 0)
    assert _native.mask_encode(np.zeros((0, 2, 1), np.uint8, order="F")) == [{"size": [0, 2], "counts": b"0"}]


@pytest.mark.parametrize(
    ("size", "counts", "message"),
    [
        ((2, 2), (0, 1.5, 2.5), "a count is not a whole number"),
        ((2, 2), (0, NAN), "a count is not a whole number"),
        ((2, 2), (0, 5e9), "a count is not a whole number"),
        ((2, 2), (-1, 5), "a count is not a whole number"),
        ((2, 2), None, "neither a text nor a list"),
        ((2, 2), "\ud800", "a character that is none of theirs"),
        ("22", (0, 4), "a mask's size is no list of numbers"),
        ((2.5, 2), (0, 4), "a mask's size is not whole"),
        ((1 << 33, 1), (0, 4), "is too large"),
        ((1, 1 << 33), (0, 4), "is too large"),
        ((1 << 17, 1 << 17), (0, 4), "is too large"),
        ((-1, 2), (0, 4), "is negative"),
        ((2, -1), (0, 4), "is negative"),
        ((2, 2), (0, 3), "the counts add up to 3 pixels"),
    ],
)
def test_masks_that_are_none(size: Any, counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        copied(size, counts)


def test_masks_of_other_sizes_cannot_be_compared() -> None:
    """-1 says so. A mask without a pixel shares none."""
    wide, high, empty = ({"size": s, "counts": c} for s, c in (([2, 3], [0, 6]), ([3, 2], [0, 6]), ([2, 2], [4])))
    assert _native.mask_iou([MASK], [wide, high, MASK, empty], u8(0, 0, 0, 0)).tolist() == [[-1, -1, 1, 0]]
    begin = i64(0, 1), i64(0, 3)
    assert _native.cell_mask_ious(*begin, [MASK], [wide, high, empty], u8(0, 0, 0)).tolist() == [-1, -1, 0]
    with pytest.raises(ValueError, match="masks of different size cannot be merged: 2 x 2 and 2 x 3"):
        _native.mask_merge([MASK, wide], False)
    with pytest.raises(ValueError, match="a mask is not packed"):
        _native.mask_sizes(["none"])
    with pytest.raises(ValueError, match="a mask is not packed"):
        _native.mask_sizes([b"short"])
    for ratio in (-0.5, 1.5):
        with pytest.raises(ValueError, match="from 0 to 1"):
            _native.mask_boundary(MASK, ratio)


def test_a_mask_has_the_size_of_its_image() -> None:
    assert _native.mask_pack(MASK, 2, 2) == _native.mask_pack(MASK) == PACKED
    for height, width in ((2, 3), (3, 2), (-1, 2), (2, -1)):
        with pytest.raises(ValueError, match="the mask's size is not that of its image"):
            _native.mask_pack(MASK, height, width)
    with pytest.raises(ValueError, match="masks of different size cannot be stacked"):
        _native.mask_decode([MASK, {"size": [2, 3], "counts": [0, 6]}])


CURVES: dict[str, Any] = {
    "order": i64(1, 0), "score": f64(0.5, 0.9), "hit": np.ones((1, 2), np.uint8), "ignored": np.zeros((1, 2), np.uint8),
    "positives": 2.0, "recalls": f64(0, 0.5, 1),
}  # fmt: skip


def test_curves_as_pycocotools_has_them() -> None:
    """Both rows are hits: precision is 1 up to the end, and the score that of the row that reaches a recall."""
    precision, recall, scores = _native.reference_curves(**CURVES)
    assert precision.tolist() == [[1, 1, 1]]
    assert recall.tolist() == [1]
    assert scores.tolist() == [[0.9, 0.9, 0.5]]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"hit": np.ones((1, 3), np.uint8)}, "columns differ"), ({"ignored": np.ones((2, 2), np.uint8)}, "columns differ"),
        ({"ignored": np.ones((1, 3), np.uint8)}, "columns differ"), ({"positives": 0.0}, "there must be a truth"),
        ({"order": i64(0, 2)}, "a row is out of range"), ({"order": i64(-1, 0)}, "a row is out of range"),
    ],
)  # fmt: skip
def test_curves_that_do_not_fit(part: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.reference_curves(**{**CURVES, **part})


def changed(place: int, value: int) -> bytes:
    """The packed mask (height, width, area, left, top, right, low, counts) with another number at a place."""
    words = np.frombuffer(PACKED, np.uint32).copy()
    words[place] = value
    return words.tobytes()


INSIDE = "the extent of a packed mask is not inside it"


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        ("text", "a mask is not packed"), (PACKED[:8], "broken"), (PACKED + b"\0", "broken"), (changed(2, 5), INSIDE),
        (changed(3, 3), INSIDE), (changed(4, 3), INSIDE), (changed(5, 3), INSIDE), (changed(6, 3), INSIDE),
        (changed(8, 3), "do not add up"), (changed(0, 0xFFFFFFFF), "too large"),
    ],
)  # fmt: skip
def test_packed_masks_that_are_broken(packed: Any, message: str) -> None:
    objects = _native.Objects(**OBJECTS)
    with pytest.raises(ValueError, match=message):
        _native.masks_match(objects, [packed], [PACKED], f64(4), 0.5)


def test_masks_and_objects_are_as_many() -> None:
    objects = _native.Objects(**OBJECTS)
    for masks in (([], [PACKED], f64(4)), ([PACKED], [], f64(4)), ([PACKED], [PACKED], f64())):
        with pytest.raises(ValueError, match="one mask for each object"):
            _native.masks_match(objects, *masks, 0.0)
    for ratio in (-0.1, 1.1):
        with pytest.raises(ValueError, match="from 0 to 1"):
            _native.masks_match(objects, [PACKED], [PACKED], f64(4), ratio)


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
        with pytest.raises(ValueError, match="an array of objects with one dimension"):
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
        ("u", 1, "a text is expected"),
        ("g", "a", "a number is expected"),
        ("g", b"b", "a number is expected"),
        ("l", "a", "a count of 64 bits is expected"),
        ("l", 1 << 70, "a count of 64 bits is expected"),
    ],
)
def test_cells_of_another_kind_are_refused(kind: str, cell: object, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        _native.arrow_stream(["a"], [kind], [[None, cell]])


def test_names_and_kinds_are_texts() -> None:
    for names, kinds in (([1], ["g"]), (["a"], [1])):
        with pytest.raises(TypeError, match=r"^a text is expected$"):
            _native.arrow_stream(names, kinds, [[1.0]])
    for names, kinds in ((["\ud800"], ["g"]), (["a"], ["\ud800"])):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            _native.arrow_stream(names, kinds, [[1.0]])
