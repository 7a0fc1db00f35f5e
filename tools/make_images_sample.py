"""Make the sample of `steelyard demo images`: drawn pictures as small PNG files, the same bytes on every machine.

Model A blurs, model B adds noise; both are worse on pictures with fine detail. The pixels are packed without
compression, since compressors differ between machines.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

SIDE, IMAGES = 32, 20


def png(path: Path, picture: Any) -> None:
    """A PNG of 8 bits per channel whose data are stored, not compressed."""
    rows = np.zeros((SIDE, SIDE * 3 + 1), dtype=np.uint8)
    rows[:, 1:] = picture.reshape(SIDE, -1)
    raw = rows.tobytes()
    size = struct.pack("<BHH", 1, len(raw), len(raw) ^ 0xFFFF)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", b"\x78\x01" + size + raw + struct.pack(">I", zlib.adler32(raw))),
        (b"IEND", b""),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    path.write_bytes(data)


def smoothed(picture: Any, radius: int) -> Any:
    """Whole-number means over a square, edges repeated."""
    padded = np.pad(picture, ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    side = 2 * radius + 1
    total = sum(padded[i : i + SIDE, j : j + SIDE] for i in range(side) for j in range(side))
    return (2 * total + side * side) // (2 * side * side)


def main() -> None:
    folder = Path(__file__).parents[1] / "src" / "steelyard" / "samples" / "images"
    rng = np.random.RandomState(43)
    for number in range(IMAGES):
        fine = number % 2 == 1
        block = 3 if fine else 9
        blocks = rng.randint(20, 236, (SIDE // block + 1, SIDE // block + 1, 3)).repeat(block, 0).repeat(block, 1)
        picture = smoothed(blocks[:SIDE, :SIDE].astype(np.int64), 1)
        name = f"{'fine' if fine else 'smooth'}/{number:02d}.png"
        strength = int(rng.randint(10, 19))
        noise = rng.randint(-strength, strength + 1, picture.shape)
        png(folder / "truth" / name, picture)
        png(folder / "model_a" / name, smoothed(picture, 1))
        png(folder / "model_b" / name, np.clip(picture + noise, 0, 255))
    (folder / "sample.json").write_text(json.dumps({"by": "folder"}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
