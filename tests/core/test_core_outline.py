"""Outlines of masks, walked by hand on small ones."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from steelyard.core.outline import MOST_RINGS, mask_rings


@pytest.mark.parametrize(
    ("rows", "rings"),
    [
        (["..", ".."], []),
        (["....", "....", "...#"], [[3, 2, 4, 2, 4, 3, 3, 3]]),
        ([".....", ".###.", ".###."], [[1, 1, 4, 1, 4, 3, 1, 3]]),
        (["##", "#."], [[0, 0, 2, 0, 2, 1, 1, 1, 1, 2, 0, 2]]),
        # the hole after the outer ring, the other way around
        (["###", "#.#", "###"], [[0, 0, 3, 0, 3, 3, 0, 3], [1, 2, 2, 2, 2, 1, 1, 1]]),
        # cells that touch at a corner are two parts
        (["#.", ".#"], [[0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 2, 1, 2, 2, 1, 2]]),
        # the ring of most corners first
        (["#.##", "..#."], [[2, 0, 4, 0, 4, 1, 3, 1, 3, 2, 2, 2], [0, 0, 1, 0, 1, 1, 0, 1]]),
    ],
)
@pytest.mark.parametrize("value", [True, 7, -1, 0.5])
def test_rings_of_small_masks(rows: list[str], rings: list[list[int]], value: float) -> None:
    mask = np.array([[value if cell == "#" else 0 for cell in row] for row in rows])
    assert mask_rings(mask) == rings


def test_no_more_rings_than_a_picture_shows() -> None:
    mask = np.zeros((1, 2 * MOST_RINGS + 1), dtype=bool)
    mask[0, ::2] = True
    assert mask_rings(mask) == [[2 * i, 0, 2 * i + 1, 0, 2 * i + 1, 1, 2 * i, 1] for i in range(MOST_RINGS)]


@pytest.mark.parametrize(
    ("height", "width", "side", "right", "bottom"),
    [
        (2, 96, 96, 96, 2),  # one cell per pixel
        (2, 97, 96, 98, 2),  # every second pixel: 49 columns of 2, one row of 2
        (5, 200, 96, 201, 6),  # every third: 67 columns, 2 rows
        (200, 5, 96, 6, 201),
        (4, 4, 2, 4, 4),
    ],
)
def test_a_large_mask_is_thinned(height: int, width: int, side: int, right: int, bottom: int) -> None:
    mask = np.zeros((height + 3, width + 2), dtype=bool)
    mask[3:, 2:] = True
    x, y = 2 + right, 3 + bottom
    assert mask_rings(mask, side) == [[2, 3, x, 3, x, y, 2, y]]


def stairs(steps: int) -> tuple[np.ndarray, list[int]]:
    """A mask below a staircase, and the corners of its outline."""
    y, x = np.mgrid[:steps, :steps]
    corners = [0, 0]
    for step in range(1, steps + 1):
        corners += [step, step - 1, step, step]
    return x <= y, [*corners, 0, steps]


def test_corners_near_a_line_are_left_out() -> None:
    """Corners of a staircase lie 0.71 cells from the diagonal. A ring of up to 12 corners keeps them."""
    for steps in (3, 5):  # 8 and 12 corners
        mask, corners = stairs(steps)
        assert mask_rings(mask) == [corners]
    for steps in (6, 8):  # 14 and 18
        assert mask_rings(stairs(steps)[0]) == [[0, 0, steps, steps, 0, steps]]


def simplified(corners: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """What GEOS leaves of a closed line with a tolerance of one cell."""
    line = shapely.LineString([*corners, corners[0]]).simplify(1.0, preserve_topology=False)
    return list(line.coords)[:-1]


@pytest.mark.parametrize("seed", range(12))
def test_a_blob_is_simplified_as_by_geos(seed: int) -> None:
    """A pile of rows of chance widths: one ring, whose corners are known. Seeds 1 and 4 have spikes beyond a line."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 30, size=24)
    mask = np.arange(30) < widths[:, None]
    corners = [(0, 0)]
    for row, width in enumerate(widths.tolist()):
        if corners[-1][0] != width:
            corners += [(width, row)] if row == 0 else [(corners[-1][0], row), (width, row)]
    corners += [(corners[-1][0], len(widths)), (0, len(widths))]
    ring = mask_rings(mask)[0]
    assert list(zip(ring[::2], ring[1::2], strict=True)) == simplified(corners)
