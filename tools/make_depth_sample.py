"""Make the samples of `steelyard demo depth` and `steelyard demo normals`: drawn rooms and streets, the same bytes on
every machine.

True depth is stored as KITTI stores it, in PNG files of 16 bits (metres times 256, 0 where there is none), true normals
in PNG files of 8 bits, and predictions as arrays. Nothing is compressed, since compressors differ between machines.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

HEIGHT, WIDTH = 24, 32
IMAGES = 30


def write_png(path: Path, grid: Any) -> None:
    """A PNG of 16 bits of grey, or of 8 bits of colours, whose data are stored."""
    colours = grid.ndim == 3
    flat = grid.reshape(grid.shape[0], -1) if colours else grid.astype(">u2").view(np.uint8).reshape(grid.shape[0], -1)
    rows = np.zeros((flat.shape[0], flat.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = flat
    raw = rows.tobytes()
    packed = (
        b"\x78\x01" + struct.pack("<BHH", 1, len(raw), len(raw) ^ 0xFFFF) + raw + struct.pack(">I", zlib.adler32(raw))
    )
    chunks = (
        (
            b"IHDR",
            struct.pack(">IIBBBBB", grid.shape[1], grid.shape[0], 8 if colours else 16, 2 if colours else 0, 0, 0, 0),
        ),
        (b"IDAT", packed),
        (b"IEND", b""),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    path.write_bytes(data)


def write_array(path: Path, name: str, array: Any) -> None:
    """An .npz file of one array, stored, of half precision."""
    path = path.with_suffix(".npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{name: array.astype(np.float16)})


def draw_depth(rng: np.random.Generator, outdoor: bool) -> Any:
    """A floor, a far wall or the open street, and boxes that stand on it, in metres."""
    far, near = (60.0, 4.0) if outdoor else (6.0, 1.2)
    rows = np.linspace(0, 1, HEIGHT)[:, None]
    depth = np.repeat(far * (near / far) ** rows, WIDTH, axis=1)
    depth[: HEIGHT // 3] = far * rng.uniform(0.8, 1.0)
    for _ in range(int(rng.integers(2, 5))):
        height, width = (int(n) for n in rng.integers(5, 12, 2))
        y, x = int(rng.integers(2, HEIGHT - height)), int(rng.integers(0, WIDTH - width))
        depth[y : y + height, x : x + width] = depth[y + height - 1, x] * rng.uniform(0.8, 1.0)
    return depth


def blur(grid: Any) -> Any:
    """A mean over the neighbours in a row."""
    return (np.roll(grid, 1, axis=1) + grid + np.roll(grid, -1, axis=1)) / 3


def sixteen_bits(depth: Any) -> Any:
    return np.clip(np.rint(depth * 256), 0, 65535).astype(np.uint16)


def make_depth(folder: Path) -> None:
    """Model a has sharp edges and a scale that drifts; model b is blurred and nearer to metric."""
    rng = np.random.default_rng(2026)
    for number in range(IMAGES):
        place = "street" if number % 3 else "room"
        depth = draw_depth(rng, place == "street")
        name = f"{place}/{number:02d}.png"
        drift = float(np.exp(rng.normal(0, 0.10)))
        models = {
            "model_a": depth * drift * np.exp(rng.normal(0, 0.05, depth.shape)),
            "model_b": blur(depth) * float(np.exp(rng.normal(0.02, 0.04))) * np.exp(rng.normal(0, 0.07, depth.shape)),
        }
        truth = np.where(rng.random(depth.shape) < (0.4 if place == "street" else 0.1), 0.0, depth)
        write_png(folder / "truth" / name, sixteen_bits(truth))
        for model, predicted in models.items():
            write_array(folder / model / name, "depth", predicted)
    (folder / "sample.json").write_text(json.dumps({"by": "folder", "options": {"max": "80"}}) + "\n")


def normals_of(depth: Any, focal: float = 40.0) -> Any:
    """The normals of a surface whose depth is given, towards the camera."""
    dy, dx = np.gradient(depth)
    normals = np.stack([-dx * focal / depth, -dy * focal / depth, np.ones_like(depth)], axis=2)
    return normals / np.linalg.norm(normals, axis=2, keepdims=True)


def make_normals(folder: Path) -> None:
    """Model a is noisy everywhere; model b is smooth and wrong at edges."""
    rng = np.random.default_rng(2027)
    for number in range(IMAGES):
        place = "street" if number % 3 else "room"
        depth = draw_depth(rng, place == "street")
        true = normals_of(depth)
        noisy = true + rng.normal(0, 0.18, true.shape)
        smooth = normals_of(blur(blur(depth))) + rng.normal(0, 0.06, true.shape)
        missing = rng.random(depth.shape) < 0.1
        for side, field in (("truth", true), ("model_a", noisy), ("model_b", smooth)):
            path = folder / side / place / f"{number:02d}.png"
            unit = field / np.linalg.norm(field, axis=2, keepdims=True)
            if side != "truth":
                write_array(path, "normals", unit)
                continue
            pixels = np.rint((unit + 1) / 2 * 255).astype(np.uint8)
            pixels[missing] = 0
            write_png(path, pixels)
    (folder / "sample.json").write_text(json.dumps({"by": "folder"}) + "\n")


if __name__ == "__main__":
    samples = Path(__file__).parent.parent / "src" / "steelyard" / "samples"
    make_depth(samples / "depth")
    make_normals(samples / "normals")
