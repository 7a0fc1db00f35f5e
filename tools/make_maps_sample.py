"""Make the sample of `steelyard demo segmentation`: drawn streets as small PNG maps, the same bytes on every machine.

The pixels are packed without compression, since compressors differ between machines.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("road", "pavement", "building", "sky", "tree", "person", "car", "sign")
COLOURS = ("804080", "f423e8", "464646", "4682b4", "6b8e23", "dc143c", "00008e", "dcdc00")
HEIGHT, WIDTH = 48, 80
IGNORE = 255


def png(path: Path, grid: Any) -> None:
    """A palette PNG of 8 bits whose data are stored, not compressed."""
    rows = np.zeros((grid.shape[0], grid.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = grid
    raw = rows.tobytes()
    packed = (
        b"\x78\x01" + struct.pack("<BHH", 1, len(raw), len(raw) ^ 0xFFFF) + raw + struct.pack(">I", zlib.adler32(raw))
    )
    palette = b"".join(bytes.fromhex(code) for code in COLOURS).ljust(768, b"\0")
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", grid.shape[1], grid.shape[0], 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"IDAT", packed),
        (b"IEND", b""),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    path.write_bytes(data)


def street(rng: np.random.Generator) -> tuple[Any, list[tuple[int, int, int, int, int]]]:
    """A background of sky, buildings, trees and road, and the boxes that stand on it: class, y, x, height, width."""
    grid = np.full((HEIGHT, WIDTH), 3, dtype=np.uint8)
    horizon = int(rng.integers(16, 22))
    left = 0
    while left < WIDTH:
        width, top = int(rng.integers(8, 20)), int(rng.integers(3, horizon - 2))
        grid[top:horizon, left : left + width] = 2 if rng.random() < 0.7 else 4
        left += width
    grid[horizon:] = 1
    bend = rng.normal(0, 6)
    for y in range(horizon, HEIGHT):
        far = (y - horizon) / (HEIGHT - horizon)
        middle, half = WIDTH / 2 + bend * (1 - far), 4 + far * 34
        grid[y, max(0, round(middle - half)) : round(middle + half)] = 0
    things = []
    for _ in range(int(rng.integers(2, 6))):
        kind = int(rng.choice([5, 6, 6, 7]))
        far = float(rng.uniform(0.15, 1.0))
        foot = horizon + round(far * (HEIGHT - horizon - 1))
        high = max(3, round({5: 14, 6: 10, 7: 12}[kind] * far))
        wide = max(2, round({5: 5, 6: 18, 7: 4}[kind] * far))
        things.append((kind, foot - high, int(rng.integers(0, WIDTH - wide)), high, wide))
    return grid, things


def laid(grid: Any, things: list[tuple[int, int, int, int, int]]) -> Any:
    grid = grid.copy()
    for kind, y, x, high, wide in things:
        grid[max(0, y) : y + high, max(0, x) : x + wide] = kind
    return grid


def guessed(rng: np.random.Generator, grid: Any, things: list[Any], shake: float, loss: float, swap: float) -> Any:
    """The street as a model sees it: things moved, missed or taken for another; borders of the background moved."""
    step = round(float(rng.normal(0, shake)))
    seen = np.roll(grid, step, axis=1)
    seen[:, : max(step, 0)] = grid[:, : max(step, 0)]
    moved = []
    for kind, y, x, high, wide in things:
        if rng.random() < loss:
            continue
        taken = kind if rng.random() >= swap else int(rng.choice([5, 6, 7, 2]))
        dy, dx = (round(float(rng.normal(0, shake))) for _ in range(2))
        moved.append((taken, y + dy, x + dx, high, wide))
    return laid(seen, moved)


def main(folder: Path) -> None:
    rng = np.random.default_rng(20261115)
    for number in range(36):
        light = ("day", "night")[number % 3 == 2]
        hard = 1.0 if light == "day" else 1.8
        grid, things = street(rng)
        truth = laid(grid, things)
        truth[HEIGHT - 4 :, 20:60] = IGNORE  # the bonnet of the car that looks
        name = f"{light}/street{number:02d}.png"
        png(folder / "truth" / name, truth)
        png(folder / "model_a" / name, guessed(rng, grid, things, 0.9 * hard, 0.10 * hard, 0.08 * hard))
        png(folder / "model_b" / name, guessed(rng, grid, things, 0.6 * hard, 0.06 * hard, 0.07 * hard))
    (folder / "names.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8", newline="\n")
