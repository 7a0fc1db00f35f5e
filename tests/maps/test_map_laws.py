"""Laws of label maps on drawn ones: files, runs, swapped sides, tiles, and gates over them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

import steelyard as sy
from steelyard import _native
from steelyard.maps.png import png_cells, png_file

SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 40))


def patches(kind: Any, most: int) -> st.SearchStrategy[Any]:
    """Maps of a few values, in patches or as noise."""
    few = SHAPES.flatmap(lambda shape: arrays(kind, shape, elements=st.integers(0, most)))
    return st.tuples(few, st.integers(1, 5)).map(lambda drawn: drawn[0].repeat(drawn[1], 0).repeat(drawn[1], 1))


def written(grid: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grid).save(buffer, "png")
    return buffer.getvalue()


@settings(max_examples=60, deadline=None)
@given(st.one_of(patches(np.uint8, 3), patches(np.uint8, 255), patches(np.uint16, 60000)))
def test_a_file_is_read_as_it_was_written(grid: Any) -> None:
    file = png_file(written(grid), "drawn")
    assert (file.map() == grid).all()
    a, b, count = png_cells(file, file)
    assert (a == b).all()
    assert dict(zip(a.tolist(), count.tolist(), strict=True)) == {
        value: int((grid == value).sum()) for value in np.unique(grid).tolist()
    }


@settings(max_examples=40, deadline=None)
@given(patches(np.uint8, 4), st.randoms(use_true_random=False))
def test_cells_are_turned_by_swapping_and_kept_by_turning(grid: Any, random: Any) -> None:
    other = grid.copy().ravel()
    np.random.default_rng(random.randrange(1 << 30)).shuffle(other)
    other = other.reshape(grid.shape)
    one = set(zip(*(part.tolist() for part in _native.map_cells(grid, other)), strict=True))
    two = {(b, a, n) for a, b, n in zip(*(part.tolist() for part in _native.map_cells(other, grid)), strict=True)}
    turned = [np.ascontiguousarray(side.T) for side in (grid, other)]
    assert one == two == set(zip(*(part.tolist() for part in _native.map_cells(*turned)), strict=True))


@settings(max_examples=15, deadline=None)
@given(patches(np.uint8, 2), st.integers(0, 1 << 30))
def test_swapping_sides_keeps_iou(grid: Any, seed: int) -> None:
    other = np.random.default_rng(seed).permutation(grid.ravel()).reshape(grid.shape)
    sides = [one[np.newaxis] for one in (grid, other)]
    found_by = [
        [
            score.value
            for score in sy.evaluate("segmentation", *pair, ["miou", "mdice", "mbiou"], confidence=None).scores.values()
        ]
        for pair in (sides, sides[::-1])
    ]
    np.testing.assert_allclose(found_by[0], found_by[1], rtol=1e-15)


def test_gates_over_maps_segments_and_volumes() -> None:
    """A rule fails what is below 0.9: a model that is always wrong, and not a perfect one."""
    maps = np.kron(np.arange(12).reshape(3, 2, 2) % 3 + 1, np.ones((1, 6, 6), int))
    segments = [[{"id": int(v), "category_id": int(v), "isthing": 1} for v in np.unique(one)] for one in maps]
    wrong = [[{"id": one["id"], "category_id": 9, "isthing": 1} for one in listed] for listed in segments]
    ids = [0, 1, 2]
    cases = {
        "segmentation": ("miou", {"image": ids, "map": maps}, {"image": ids, "map": maps % 3 + 1}),
        "panoptic": (
            "pq",
            {"image": ids, "map": maps, "segments": segments},
            {"image": ids, "map": maps, "segments": wrong},
        ),
        "volumes": ("dice", {"case": ids, "map": maps}, {"case": ids, "map": maps * 0}),
    }
    for task, (metric, truth, bad) in cases.items():
        outcomes = [
            sy.gate(sy.evaluate(task, truth, prediction, [metric], confidence=None), f"{metric} < 0.9").outcome
            for prediction in (truth, bad)
        ]
        assert outcomes == ["pass", "fail"], task
