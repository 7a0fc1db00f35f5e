"""Make the sample data of `steelyard demo anomalies`: drawn, not measured. Run: python tools/make_anomalies_sample.py

Photographs of bolts and washers in MVTec AD's folders, good and with scratches, dents or stains; maps of scores as PNG
files of 8 bits. Model A finds large defects, model B small ones too, but its background is noisier.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import make_samples
import numpy as np

SIZE = 40
GOOD, DEFECTIVE = 8, 4  # images of an object, and of each kind of defect
KINDS = {"bolt": ("dent", "scratch"), "washer": ("scratch", "stain")}


def write_png(path: Path, grid: np.ndarray) -> None:
    """A grey PNG of 8 bits."""
    rows = np.zeros((grid.shape[0], grid.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = grid
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", grid.shape[1], grid.shape[0], 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    path.write_bytes(data)


def smooth(rng: np.random.Generator, scale: int) -> np.ndarray:
    """Noise without sharp edges, about 0 to 1."""
    grid = rng.random((SIZE // scale + 2, SIZE // scale + 2))
    return np.kron(grid, np.ones((scale, scale)))[:SIZE, :SIZE]


def draw_mask(rng: np.random.Generator, kind: str) -> np.ndarray:
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    y, x = (int(v) for v in rng.integers(10, SIZE - 12, 2))
    if kind == "scratch":
        for step in range(int(rng.integers(6, 10))):
            mask[y + step, x + step // 2 : x + step // 2 + 2] = True
    elif kind == "dent":
        mask[y : y + int(rng.integers(4, 8)), x : x + int(rng.integers(4, 8))] = True
    else:
        for _ in range(3):
            dy, dx = (int(v) for v in rng.integers(-6, 7, 2))
            mask[y + dy : y + dy + 2, x + dx : x + dx + 3] = True
    return mask


def draw_picture(rng: np.random.Generator, name: str, mask: np.ndarray) -> np.ndarray:
    rows, columns = np.mgrid[:SIZE, :SIZE] - SIZE / 2
    radius = np.hypot(rows, columns)
    part = radius < 17 if name == "bolt" else (radius < 18) & (radius > 3)
    grid = np.where(part, 150.0, 40.0) + 20 * smooth(rng, 4)
    return np.clip(np.where(mask & part, grid - 70, grid), 0, 255).astype(np.uint8)


def draw_scores(rng: np.random.Generator, mask: np.ndarray, hit: float, blur: int, noise: float) -> np.ndarray:
    near = np.zeros(mask.shape)
    for dy in range(-blur, blur + 1):
        for dx in range(-blur, blur + 1):
            near += np.roll(mask, (dy, dx), (0, 1))
    near /= (2 * blur + 1) ** 2
    grid = 40 + noise * smooth(rng, 3) + 12 * rng.random(mask.shape) + hit * near * rng.uniform(0.5, 1.2)
    if rng.random() < 0.4:  # a reflection
        y, x = (int(v) for v in rng.integers(4, SIZE - 8, 2))
        grid[y : y + 3, x : x + 3] += rng.uniform(20, 60)
    return np.clip(grid, 0, 255).astype(np.uint8)


def main() -> None:
    rng = np.random.default_rng(20261118)
    folder = make_samples.SAMPLES / "anomalies"
    for name, kinds in KINDS.items():
        for kind in ("good", *kinds):
            for number in range(GOOD if kind == "good" else DEFECTIVE):
                mask = np.zeros((SIZE, SIZE), dtype=bool) if kind == "good" else draw_mask(rng, kind)
                truth = folder / "truth" / name
                write_png(truth / "test" / kind / f"{number:03d}.png", draw_picture(rng, name, mask))
                if kind != "good":
                    write_png(truth / "ground_truth" / kind / f"{number:03d}_mask.png", mask.astype(np.uint8) * 255)
                for model, hit, blur, noise in (("model_a", 75.0, 2, 55.0), ("model_b", 95.0, 1, 70.0)):
                    scores = draw_scores(rng, mask, hit, blur, noise)
                    write_png(folder / model / name / "test" / kind / f"{number:03d}.png", scores)
    (folder / "sample.json").write_text('{"by": "defect"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
