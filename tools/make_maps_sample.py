"""Make the sample of `steelyard demo segmentation`: drawn streets as small PNG maps, the same bytes on every machine.

The pixels are packed without compression, since compressors differ between machines.
"""

from __future__ import annotations

import json
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
    """A PNG of 8 bits whose data are stored, not compressed: indices of the palette, or colours."""
    colours = grid.ndim == 3
    flat = grid.reshape(grid.shape[0], -1)
    rows = np.zeros((flat.shape[0], flat.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = flat
    raw = rows.tobytes()
    packed = (
        b"\x78\x01" + struct.pack("<BHH", 1, len(raw), len(raw) ^ 0xFFFF) + raw + struct.pack(">I", zlib.adler32(raw))
    )
    palette = b"".join(bytes.fromhex(code) for code in COLOURS).ljust(768, b"\0")
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", grid.shape[1], grid.shape[0], 8, 2 if colours else 3, 0, 0, 0)),
        *([] if colours else [(b"PLTE", palette)]),
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


def panoptic(folder: Path) -> None:
    """The streets again, every thing a segment of its own: COCO's panoptic format."""
    rng = np.random.default_rng(20261116)
    categories = [{"id": k + 1, "name": name, "isthing": int(k >= 5)} for k, name in enumerate(NAMES)]
    sides: dict[str, list[Any]] = {"truth": [], "model_a": [], "model_b": []}
    for number in range(1, 13):
        grid, things = street(rng)
        for side, shake, loss in (("truth", 0.0, 0.0), ("model_a", 1.0, 0.15), ("model_b", 0.6, 0.12)):
            kept = [one for one in things if rng.random() >= loss]
            moved = [(k, *(v + round(float(rng.normal(0, shake))) for v in at[:2]), *at[2:]) for k, *at in kept]
            step = round(float(rng.normal(0, 1.5 * shake)))
            ids = np.roll(grid, step, axis=1).astype(np.int64) + 1
            for place, (_, y, x, high, wide) in enumerate(moved):
                ids[max(0, y) : y + high, max(0, x) : x + wide] = 300 + place
            if side == "truth":
                ids[HEIGHT - 4 :, 20:60] = 0
            segments = []
            for value in np.unique(ids[ids > 0]).tolist():
                category = value if value < 300 else moved[value - 300][0] + 1
                entry = {"id": value, "category_id": category}
                if side == "truth":
                    entry |= {"iscrowd": 0, "area": int((ids == value).sum())}
                segments.append(entry)
            name = f"street{number:02d}.png"
            png(folder / side / name, np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=2).astype(np.uint8))
            sides[side].append({"image_id": number, "file_name": name, "segments_info": segments})
    for side, images in sides.items():
        content: dict[str, Any] = {"annotations": images}
        if side == "truth":
            content["categories"] = categories
        (folder / f"{side}.json").write_text(json.dumps(content) + "\n", encoding="utf-8", newline="\n")


def nifti(path: Path, grid: Any, spacing: tuple[float, float, float]) -> None:
    """A NIfTI-1 file of bytes; `grid` is z, y, x and so is the spacing."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *grid.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<8f", header, 76, 1.0, *spacing[::-1], 0, 0, 0, 0)
    struct.pack_into("<3f", header, 108, 352.0, 1.0, 0.0)
    struct.pack_into("<2h", header, 252, 0, 1)
    rows = [spacing[2], 0, 0, 0, 0, spacing[1], 0, 0, 0, 0, spacing[0], 0]
    struct.pack_into("<12f", header, 280, *rows)
    header[344:348] = b"n+1\0"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(header) + grid.astype(np.uint8).tobytes())


def ellipsoid(shape: tuple[int, ...], centre: Any, axes: Any) -> Any:
    place = np.indices(shape).reshape(3, -1).T
    return ((((place - centre) / axes) ** 2).sum(axis=1) <= 1).reshape(shape)


def volumes(folder: Path) -> None:
    """A large organ (1) with small lesions (2) in it, from two scanners with other spacings."""
    rng = np.random.default_rng(20261117)
    for number in range(24):
        thick = number % 2 == 1
        shape, spacing = ((8, 22, 22), (5.0, 1.5, 1.5)) if thick else ((14, 22, 22), (3.0, 1.5, 1.5))
        middle, axes = np.array(shape) / 2 - 0.5 + rng.normal(0, 0.4, 3), np.array(shape) * rng.uniform(0.3, 0.42, 3)
        many = int(rng.integers(0, 4))
        spots = [(middle + rng.normal(0, 0.4, 3) * axes * 0.6, rng.uniform(1.0, 2.8)) for _ in range(many)]
        for side, shake, loss in (("truth", 0.0, 0.0), ("model_a", 0.8, 0.25), ("model_b", 0.5, 0.15)):
            grid = np.zeros(shape, dtype=np.uint8)
            grid[ellipsoid(shape, middle + rng.normal(0, 0.5, 3) * shake, axes * (1 + rng.normal(0, 0.05) * shake))] = 1
            for centre, radius in spots:
                if rng.random() >= loss:
                    grid[ellipsoid(shape, centre + rng.normal(0, 0.6, 3) * shake, radius * np.array([0.6, 1, 1]))] = 2
            nifti(folder / side / ("thick" if thick else "thin") / f"case{number:02d}.nii", grid, spacing)
