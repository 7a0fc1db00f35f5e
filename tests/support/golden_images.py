"""The pairs of pictures of tests/goldens/images.json: whole numbers from NumPy's frozen legacy generator."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np

from support.paths import TESTS

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "images.json").read_text(encoding="utf-8"))


def smoothed(picture: Any, radius: int) -> Any:
    """Means over a square, rounded to whole numbers, edges repeated."""
    padded = np.pad(picture.astype(np.int64), ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    side = 2 * radius + 1
    height, width = picture.shape[:2]
    total = sum(padded[i : i + height, j : j + width] for i in range(side) for j in range(side))
    return (2 * total + side * side) // (2 * side * side)


def scene(height: int, width: int, channels: int, seed: int) -> Any:
    """Smoothed blocks."""
    blocks = np.random.RandomState(seed).randint(0, 256, (height // 6 + 2, width // 6 + 2, channels))
    return smoothed(blocks.repeat(6, 0).repeat(6, 1)[:height, :width], 2).astype(np.uint8)


def noisy(picture: Any, seed: int, most: int) -> Any:
    """The picture with whole numbers added."""
    extra = np.random.RandomState(seed).randint(-most, most + 1, picture.shape)
    return np.clip(picture.astype(np.int64) + extra, 0, 255).astype(np.uint8)


def with_noise(height: int, width: int, channels: int, seed: int, most: int) -> tuple[Any, Any]:
    first = scene(height, width, channels, seed)
    return first, noisy(first, seed + 1, most)


@cache
def golden_pairs() -> dict[str, tuple[Any, Any]]:
    """All pairs; their bytes are those that the references saw."""
    pairs = {
        "gray_noise_48x40": with_noise(48, 40, 1, 1, 25),
        "rgb_noise_48x56": with_noise(48, 56, 3, 4, 25),
        "gray_11x11": with_noise(11, 11, 1, 9, 30),
        "gray_10x20_too_small": with_noise(10, 20, 1, 11, 30),
        "gray_7x7": with_noise(7, 7, 1, 13, 30),
        "rgb_177x181": with_noise(177, 181, 3, 18, 40),
        "gray_400x387": with_noise(400, 387, 1, 21, 40),
        "gray_640x660": with_noise(640, 660, 1, 23, 40),
    }
    for name, seed, channels in (("gray_blur_45x37", 3, 1), ("rgb_blur_45x37", 6, 3)):
        first = scene(45, 37, channels, seed)
        pairs[name] = first, smoothed(first, 1).astype(np.uint8)
    first = scene(24, 24, 3, 7)
    pairs["rgb_identical_24x24"] = first, first.copy()
    zeros = np.zeros((20, 22, 1), np.uint8)
    for name, a, b in (("constant_100_120", 100, 120), ("constant_equal", 100, 100), ("black_white", 0, 255)):
        pairs[name] = zeros + np.uint8(a), zeros + np.uint8(b)
    for name, side, seed in (("gray_inverted_32x32", 32, 8), ("gray_inverted_170x170", 170, 20)):
        first = scene(side, side, 1, seed)
        pairs[name] = first, 255 - first
    first = scene(30, 30, 3, 15)
    second = first.copy()
    second[14, 15, 1] ^= 1
    pairs["rgb_one_level_of_one_pixel"] = first, second
    first = scene(176, 180, 1, 16)
    pairs["gray_176x180"] = first, noisy(smoothed(first, 1).astype(np.uint8), 17, 12)
    wide = scene(48, 40, 1, 25).astype(np.int64) * 257
    extra = np.random.RandomState(26).randint(-3000, 3001, wide.shape)
    pairs["gray16_48x40"] = wide.astype(np.uint16), np.clip(wide + extra, 0, 65535).astype(np.uint16)
    for name, sides in pairs.items():
        entry = GOLDENS["pairs"][name]
        for side, digest in zip(sides, entry["sha256"], strict=True):
            assert hashlib.sha256(np.ascontiguousarray(side).tobytes()).hexdigest() == digest, name
    return pairs
