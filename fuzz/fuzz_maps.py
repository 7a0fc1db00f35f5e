"""Fuzz the kernels of label maps: pairs of classes, bands, packing, PNG pixels, surfaces and connected parts."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native

TYPES = (np.uint8, np.uint16, np.uint32)


def drawn_map(draw: Draw, *shape: int) -> np.ndarray:
    """A map with few values in large patches, or with many."""
    kind, rng = draw.rng.choice(TYPES), draw.rng
    values = draw.whole(rng.choice([2, 4, 250]), *shape, kind=kind)
    return np.ascontiguousarray(np.sort(values, axis=-1) if rng.random() < 0.5 else values)


@target("maps.cells")
def fuzz_cells(rng: random.Random) -> None:
    draw = Draw(rng)
    shape = [1 + draw.size(12) for _ in range(rng.choice([2, 2, 3]))]
    one, other = drawn_map(draw, *shape), drawn_map(draw, *shape)
    draw.call(_native.map_cells, one, other)
    draw.call(_native.map_bands, one, 1 + draw.size(4), rng.choice([0, 1, 255]), rng.choice([-1, 0, 255]))
    values = np.unique(draw.whole(9, draw.size(6), kind=np.uint32))
    draw.call(_native.map_recode, one, values, draw.whole(9, len(values), kind=np.uint16), rng.choice([0, 65535]))
    draw.call(_native.map_boxes, one)
    draw.call(_native.map_pack, one)
    packed = _native.map_pack(one)
    if not np.array_equal(_native.map_unpack(packed), one):
        raise AssertionError("a packed map comes back as another one")
    broken = bytearray(packed)
    broken[rng.randrange(len(broken))] = rng.randrange(256)
    draw.call(_native.map_unpack, bytes(broken[: rng.randrange(len(broken) + 1)]))


@target("maps.pixels")
def fuzz_pixels(rng: random.Random) -> None:
    draw = Draw(rng)
    height, width, channels = 1 + draw.size(9), 1 + draw.size(9), rng.choice([1, 1, 3, 4])
    depth = rng.choice([1, 2, 4, 8, 16]) if channels == 1 else 8
    row = (width * depth * channels + 7) // 8
    lines = [bytes([rng.randrange(6), *(rng.randrange(256) for _ in range(row))]) for _ in range(height)]
    draw.call(_native.png_map, b"".join(lines), height, width, depth, channels)


@target("maps.surfaces")
def fuzz_surfaces(rng: random.Random) -> None:
    draw = Draw(rng)
    axes = rng.choice([2, 3])
    shape = [1 + draw.size(7) for _ in range(axes)]
    one, other = (draw.whole(2, *shape, kind=np.uint8) for _ in range(2))
    spacing = rng.choice([np.ones(axes), draw.real(axes, low=0.1, high=3.0)])
    draw.call(_native.surface_distances, one, other, spacing, rng.choice(["voxels", "surface", "elements", "none"]))
    draw.call(_native.squared_distances, one, spacing)
    draw.call(_native.connected_parts, one)
    draw.call(_native.dilate_mask, one, draw.size(3))
    draw.call(_native.element_sizes, spacing)
