"""Make the sample data of `steelyard demo grounding`: drawn, not measured. Run: python tools/make_grounding_sample.py

Photographs of tables with two to four expressions each ("the cup beside the fork"); the image is the unit. Model A
draws tight boxes and takes the wrong object now and then; model B rarely does, and its boxes are loose.
"""

from __future__ import annotations

import make_samples
import numpy as np

THINGS = ("cup", "fork", "plate", "bottle", "bowl", "spoon")
PLACES = ("left", "right", "behind the bowl", "beside the plate", "in front")
WIDTH, HEIGHT = 640, 480


def drawn_box(rng: np.random.Generator, scale: float) -> np.ndarray:
    """A box inside the image, as x, y, width and height."""
    extent = np.array([WIDTH, HEIGHT]) * scale * rng.uniform(0.7, 1.3, 2)
    corner = rng.uniform(0, 1, 2) * (np.array([WIDTH, HEIGHT]) - extent)
    return np.concatenate([corner, extent]).round(1)


def moved_box(rng: np.random.Generator, box: np.ndarray, share: float) -> np.ndarray:
    """The same box with its sides moved by a share of its size."""
    x, y, w, h = box
    x1, x2 = x + rng.normal(0, share) * w, x + w + rng.normal(0, share) * w
    y1, y2 = y + rng.normal(0, share) * h, y + h + rng.normal(0, share) * h
    x1, y1, x2, y2 = np.clip([min(x1, x2 - 4), min(y1, y2 - 4), x2, y2], 0, [WIDTH, HEIGHT] * 2)
    return np.array([x1, y1, max(x2 - x1, 1), max(y2 - y1, 1)]).round(1)


def main() -> None:
    rng = np.random.default_rng(20261118)
    truth: list[list[object]] = []
    models: dict[str, list[list[object]]] = {"model_a": [], "model_b": []}
    for image in range(60):
        name, size = f"table_{image:03d}.jpg", ("small", "large")[image % 2]
        for place in range(int(rng.integers(2, 5))):
            words = f"the {rng.choice(THINGS)} {rng.choice(PLACES)}"
            box, other = (drawn_box(rng, 0.12 if size == "small" else 0.3) for _ in range(2))
            expression = f"{image:03d}-{place}"
            truth.append([name, expression, words, *box.tolist(), WIDTH, HEIGHT, size])
            for model, wrong, loose in (("model_a", 0.22, 0.05), ("model_b", 0.1, 0.1)):
                if rng.random() < 0.02:
                    continue  # no answer
                said = moved_box(rng, other if rng.random() < wrong else box, loose)
                models[model].append([name, expression, *said.tolist()])
    folder = make_samples.SAMPLES / "grounding"
    header = ["image", "expression", "text", "x", "y", "w", "h", "width", "height", "size"]
    make_samples.write(folder / "truth.csv", header, truth)
    for model, rows in models.items():
        make_samples.write(folder / f"{model}.csv", ["image", "expression", "x", "y", "w", "h"], rows)
    (folder / "sample.json").write_text('{"by": "size"}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
