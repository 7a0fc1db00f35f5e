"""Make the sample data of `steelyard demo distributions`: drawn, not measured.

Run: python tools/make_distributions_sample.py

Feature vectors of 8 numbers of 160 real images of cups and plates, and of as many of two generators. Model A is near to
the real images and lacks some of their variety; model B is varied, and shifted.
"""

from __future__ import annotations

import make_samples
import numpy as np

ROWS, WIDTH = 160, 8


def drawn_rows(rng: np.random.Generator, spread: float, shift: float) -> list[list[object]]:
    """Rows of a set: id, kind, and a vector whose columns have falling spread."""
    rows: list[list[object]] = []
    for row in range(ROWS):
        kind = ("cup", "plate")[row % 2]
        vector = rng.normal(size=WIDTH) * spread / np.sqrt(np.arange(WIDTH) + 1) + shift
        vector[0] += 1.5 if kind == "cup" else 0.0
        rows.append([f"{row:04d}", kind, *np.round(vector, 3).tolist()])
    return rows


def main() -> None:
    """Write the sample."""
    rng = np.random.default_rng(20261119)
    folder = make_samples.SAMPLES / "distributions"
    header = ["id", "kind", *(f"f{place}" for place in range(WIDTH))]
    for name, spread, shift in (("truth", 1.0, 0.0), ("model_a", 0.85, 0.05), ("model_b", 1.0, 0.3)):
        make_samples.write(folder / f"{name}.csv", header, drawn_rows(rng, spread, shift))
    (folder / "sample.json").write_text('{"by": "kind", "options": {"extractor": "sample-8"}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
