"""Make the samples of `steelyard demo flow` and `demo disparity`: drawn, not measured.

Run: python tools/make_fields_sample.py

Small scenes seen from a car, in the folders city and road: flow in KITTI's PNG files, disparity as PFM. Model A is
off a little everywhere; model B is better, but for fast motion near the border of the image.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import make_samples
import numpy as np

HEIGHT, WIDTH, IMAGES = 16, 28, 32


def png(samples: np.ndarray) -> bytes:
    """A PNG of 16 bits per channel, each row stored as the difference to the row above."""
    height, width, channels = samples.shape
    raw = samples.astype(">u2").view(np.uint8).reshape(height, -1)
    rows = np.zeros((height, raw.shape[1] + 1), dtype=np.uint8)
    rows[:, 0] = 2
    rows[:, 1:] = np.diff(raw, axis=0, prepend=np.zeros((1, raw.shape[1]), np.uint8))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, {1: 0, 3: 2}[channels], 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def smooth_noise(rng: np.random.Generator, spread: float) -> np.ndarray:
    """Errors that neighbours share: a coarse grid, each of its values over several pixels."""
    coarse = rng.standard_t(3, (HEIGHT // 4, WIDTH // 4)) * spread
    return np.kron(coarse, np.ones((4, 4)))


def write_flow(folder: Path, name: str, flow: np.ndarray, valid: np.ndarray) -> None:
    codes = np.where(valid[:, :, np.newaxis], np.round(flow * 64) + 32768, 0)
    path = folder / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(np.dstack([codes, valid])))


def write_disparity(folder: Path, name: str, disparity: np.ndarray, valid: np.ndarray) -> None:
    path = folder / f"{name}.pfm"
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.where(valid, np.round(disparity * 256) / 256, np.inf)[::-1].astype("<f4")
    path.write_bytes(f"Pf\n{WIDTH} {HEIGHT}\n-1.0\n".encode() + values.tobytes())


def main() -> None:
    rng = np.random.default_rng(20261118)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for image in range(IMAGES):
        name = f"{('city', 'road')[image % 2]}/{image:03d}"
        speed = rng.uniform(0.2, 0.8) if image % 2 == 0 else rng.uniform(0.8, 2.5)
        flow = np.stack([(x - WIDTH / 2) * speed, (y - HEIGHT / 3) * speed * 0.6], axis=2) + rng.normal(0, 1, 2)
        disparity = 4 + 60 * np.maximum(y / HEIGHT - 0.3, 0.05) * rng.uniform(0.5, 1.2)
        left, top = int(rng.integers(2, WIDTH - 12)), int(rng.integers(6, HEIGHT - 8))
        flow[top : top + 6, left : left + 10] += rng.normal(0, 4, 2)  # a car
        disparity[top : top + 6, left : left + 10] = disparity[top + 5, left] + 2
        valid = rng.random((HEIGHT, WIDTH)) > 0.25
        edge = np.abs(x - WIDTH / 2) > WIDTH * 0.42
        for model, spread, fast in (("model_a", 0.8, 1.0), ("model_b", 0.45, 5.0)):
            guess = flow + np.stack([smooth_noise(rng, spread), smooth_noise(rng, spread)], axis=2)
            guess[edge] += rng.normal(0, 0.5 * fast * speed, 2)
            everywhere = np.ones((HEIGHT, WIDTH), dtype=bool)
            write_flow(make_samples.SAMPLES / "flow" / model, name, guess, everywhere)
            estimate = np.maximum(disparity + smooth_noise(rng, spread), 1.0)
            estimated = everywhere if model == "model_a" else rng.random((HEIGHT, WIDTH)) > 0.03
            write_disparity(make_samples.SAMPLES / "disparity" / model, name, estimate, estimated)
        write_flow(make_samples.SAMPLES / "flow" / "truth", name, flow, valid)
        write_disparity(make_samples.SAMPLES / "disparity" / "truth", name, disparity, valid)
    for task in ("flow", "disparity"):
        (make_samples.SAMPLES / task / "sample.json").write_text('{"by": "folder"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
