"""Pictures, packed bytes and shapes in the native core, against zlib and by hand."""

from __future__ import annotations

import gzip
import struct
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_native_refusals import GOOD, OBJECTS, RULES, f64, i64, ones

from steelyard import _native
from steelyard.tasks.boxes.pairs import MatchRules


def picture(
    pixels: list[list[int]], width: int | None = None, height: int | None = None, data: bytes | None = None
) -> Any:
    """A PNG of bytes, whose header or packed rows may say something else."""
    size = struct.pack(">II", len(pixels[0]) if width is None else width, len(pixels) if height is None else height)
    rows = b"".join(b"\0" + bytes(row) for row in pixels)
    chunks = {
        b"IHDR": size + bytes([8, 0, 0, 0, 0]),
        b"IDAT": zlib.compress(rows) if data is None else data,
        b"IEND": b"",
    }
    parts = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks.items()
    ]
    return _native.PngFile(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


GOOD_ROWS, OTHER_ROWS = [[1, 1, 2], [1, 3, 3]], [[5, 5, 5], [6, 6, 5]]


def test_pixels_of_two_pictures() -> None:
    a, b = picture(GOOD_ROWS), picture(OTHER_ROWS)
    assert (a.fault, a.height, a.width, a.channels, a.plain) == ("", 2, 3, 1, True)
    assert a.map().tolist() == GOOD_ROWS
    cells = [column.tolist() for column in _native.png_cells(a, b)]
    assert sorted(zip(*cells, strict=True)) == [(1, 5, 2), (1, 6, 1), (2, 5, 1), (3, 5, 1), (3, 6, 1)]


@pytest.mark.parametrize(("width", "height"), [(0, 2), (3, 0), (1 << 20, 1 << 20)])
def test_sizes_that_no_picture_has(width: int, height: int) -> None:
    with pytest.raises(ValueError, match="the size is out of range"):
        picture(GOOD_ROWS, width, height).map()


BROKEN = [
    (zlib.compress(b"\0\1\1\2"), "the data are not those of the picture"),
    (zlib.compress(b"\0\1\1\2" * 3), "the data are not those of the picture"),
    (zlib.compress(b"\0\1\1\2" * 2)[:-1] + b"\0", "the data are not those of the picture"),
    (zlib.compress(b"\0\1\1\2" + b"\7\1\1\2"), "a row has a filter that does not exist"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_pictures_that_are_broken(data: bytes, message: str) -> None:
    good, bad = picture(GOOD_ROWS), picture(GOOD_ROWS, data=data)
    for call in (bad.map, lambda: _native.png_cells(good, bad), lambda: _native.png_cells(bad, good)):
        with pytest.raises(ValueError, match=message):
            call()


def test_pictures_of_different_sizes() -> None:
    for other in ([[1, 1, 2]], [[1, 1], [1, 1]]):
        with pytest.raises(ValueError, match="the pictures are of different sizes"):
            _native.png_cells(picture(GOOD_ROWS), picture(other))


def test_gzip_is_unpacked_up_to_a_limit() -> None:
    data = bytes(range(256)) * 300
    for level in (0, 1, 9):
        packed = gzip.compress(data, level, mtime=0)
        assert bytes(_native.gunzip(packed, len(data))) == data
        for wrong, most in ((packed, len(data) - 1), (packed[:-1], len(data)), (b"", 5)):
            with pytest.raises(ValueError, match="the data are damaged, or more than are wanted"):
                _native.gunzip(wrong, most)


# Ellipses: x, y, degrees, and the half axes.
FOUR = np.array([[100.0 * i, 50.0, 30.0, 8.0, 4.0] for i in range(4)])


@pytest.mark.parametrize("distance", range(6))
@pytest.mark.parametrize("optimal", [True, False])
def test_pairs_of_equal_distance_stand_by_truth(distance: int, optimal: bool) -> None:
    """Four ellipses, found in another order: each lies on its own."""
    order = [2, 0, 3, 1]
    ends = i64(4)
    predicted = _native.ellipse_match(FOUR, FOUR[order], ends, ends, distance, np.ones(5), optimal)
    columns = [column.tolist() for column in predicted[:4]]
    assert columns[0] == [0, 0, 0, 0]
    assert sorted(zip(columns[1], columns[2], strict=True)) == [(truth, order.index(truth)) for truth in range(4)]
    assert columns[3] == pytest.approx([0, 0, 0, 0], abs=1e-7)
    by_distance = list(zip(columns[3], columns[1], strict=True))
    assert by_distance == sorted(by_distance)


def test_a_large_matrix_of_ellipses() -> None:
    """More pairs than one thread takes. Centres 100 apart in a row are as far apart as their numbers."""
    many = np.repeat(FOUR[:1], 200, axis=0)
    many[:, 0] = 100.0 * np.arange(200)
    matrix = _native.ellipse_matrix(many, many, 1, np.ones(5))
    np.testing.assert_array_equal(matrix, 100.0 * np.abs(np.arange(200)[:, None] - np.arange(200)))


# Objects whose own columns do not fit their shapes.
@pytest.mark.parametrize("wrong", [{"box": ones(2, 4)}, {"box": ones(1, 5)}, {"area": f64(1, 1)}])
def test_truths_of_keypoints(wrong: dict[str, Any]) -> None:
    good = GOOD["oks"]
    shapes = {"shape": good["t_points"], "d_shape": good["d_points"], "d_area": f64(1)}
    with pytest.raises(ValueError, match="columns of the truth differ in length"):
        _native.keypoints_match(SimpleNamespace(**OBJECTS | shapes | wrong), MatchRules(**RULES), good["sigmas"])


SQUARE = f64(0, 0, 1, 0, 1, 1, 0, 1).reshape(1, 8)


@pytest.mark.parametrize(
    ("wrong", "side"),
    [
        ({"box": ones(2, 4)}, "truth"), ({"box": ones(1, 5)}, "truth"), ({"d_box": ones(2, 4)}, "detections"),
        ({"d_box": ones(1, 5)}, "detections"),
    ],
)  # fmt: skip
def test_boxes_of_quadrilaterals(wrong: dict[str, Any], side: str) -> None:
    shapes = {"shape": SQUARE, "d_shape": SQUARE, "d_area": f64(1)}
    with pytest.raises(ValueError, match=f"columns of the {side} differ in length"):
        _native.quads_match(SimpleNamespace(**OBJECTS | shapes | wrong), MatchRules(**RULES))


def test_information_of_flat_pictures_is_none_and_of_equal_ones_the_same() -> None:
    flat = np.full((41, 41, 2), 7, np.uint8)
    assert _native.image_information(flat, flat, 1.0, 1e-10).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    noise = np.random.default_rng(0).integers(0, 256, (41, 300, 1)).astype(np.uint8)  # more than one strip of columns
    carried, there = _native.image_information(noise, noise, 1.0, 1e-10)[0].tolist()
    assert there > 0
    assert carried == pytest.approx(there, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "eps", "message"),
    [
        (np.zeros((40, 41, 1)), np.zeros((40, 41, 1)), 1e-8, "fewer than 41 rows or columns"),
        (np.zeros((41, 41, 1)), np.zeros((41, 42, 1)), 1e-8, "of different sizes"),
        (np.zeros((41, 41, 1)), np.zeros((41, 41, 1), np.uint8), 1e-8, "of different types"),
        (np.zeros((41, 41, 1)), np.zeros((41, 41, 1)), 0.0, "eps is out of range"),
    ],
)
def test_pictures_whose_information_is_refused(x: Any, y: Any, eps: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.image_information(x, y, 1.0, eps)
