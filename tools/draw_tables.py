"""Draw the pictures of the sample of boxes: tables with dishes, flat colours. Run: python tools/draw_tables.py"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent.parent / "src" / "steelyard" / "samples" / "boxes"
TABLES = ((168, 128, 92), (122, 104, 90), (196, 176, 148), (92, 112, 120))
BOWL, CUP, FORK, PLATE = 1, 2, 3, 4


def draw(image: dict[str, object], objects: list[dict[str, object]]) -> Image.Image:
    """A table from above, with each object inside its true box."""
    rng = np.random.default_rng(int(str(image["id"])))
    table = TABLES[int(str(image["id"])) % len(TABLES)]
    picture = Image.new("RGB", (int(str(image["width"])), int(str(image["height"]))), table)
    pen = ImageDraw.Draw(picture)
    dark = tuple(int(0.93 * c) for c in table)
    for y in range(int(rng.integers(20, 80)), picture.height, 96):  # boards
        pen.line((0, y, picture.width, y), fill=dark, width=2)
    for item in objects:
        x, y, w, h = (float(v) for v in item["bbox"])  # type: ignore[attr-defined]
        _object(pen, int(str(item["category_id"])), x, y, x + w, y + h)
    return picture.quantize(32, dither=Image.Dither.NONE)


def _object(pen: ImageDraw.ImageDraw, label: int, x: float, y: float, x2: float, y2: float) -> None:
    w, h = x2 - x, y2 - y

    def ring(share: float, fill: str) -> None:
        pen.ellipse((x + share * w, y + share * h, x2 - share * w, y2 - share * h), fill=fill)

    if label == PLATE:
        ring(0, "#f4f1ea")
        ring(0.14, "#e3ded2")
        ring(0.3, "#8fae5d")
    elif label == BOWL:
        ring(0, "#35576e")
        ring(0.12, "#e8d9b0")
    elif label == CUP:
        pen.rounded_rectangle((x, y, x2 - 0.15 * w, y2), radius=0.18 * min(w, h), fill="#b5483a")
        pen.arc((x + 0.6 * w, y + 0.25 * h, x2, y + 0.75 * h), -90, 90, fill="#b5483a", width=3)
        pen.ellipse((x + 0.08 * w, y + 0.04 * h, x2 - 0.23 * w, y + 0.3 * h), fill="#3b2218")
    else:
        middle = (y + y2) / 2
        pen.rectangle((x + 0.35 * w, middle - 0.08 * h, x2, middle + 0.08 * h), fill="#c9ced6")
        for part in (0.0, 0.3, 0.6):
            pen.rectangle((x, y + part * h, x + 0.35 * w, y + (part + 0.2) * h), fill="#c9ced6")
        pen.rectangle((x + 0.28 * w, y, x + 0.36 * w, y + 0.8 * h), fill="#c9ced6")


def main() -> None:
    """Write a picture for each image of the truth."""
    truth = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
    (FOLDER / "images").mkdir(exist_ok=True)
    for image in truth["images"]:
        objects = [item for item in truth["annotations"] if item["image_id"] == image["id"]]
        draw(image, sorted(objects, key=lambda item: -item["area"])).save(
            FOLDER / "images" / image["file_name"], optimize=True
        )


if __name__ == "__main__":
    main()
