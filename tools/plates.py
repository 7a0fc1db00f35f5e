"""Drawn plates: the pictures that the small model of `steelyard demo vlm` is trained on and shown.

A plate is a grey disc on a table; the food is a disc on it whose area gives its volume. Two foods share each colour and
differ in density, so that the picture alone cannot tell their weight apart: the food's name helps, as it may in life.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

SIDE = 56
SCALE = 4  # drawn larger and averaged down, so that the area is right to a fraction of a pixel
FULL = 22.0  # radius of a full plate's food, in pixels
FULL_GRAMS = 250.0

# name: (colour, density relative to the mean of its colour, kcal a gram)
FOODS: dict[str, tuple[tuple[int, int, int], float, float]] = {
    "rice": ((240, 236, 214), 1.2, 1.3),
    "popcorn": ((240, 236, 214), 0.8, 3.9),
    "lentils": ((150, 92, 44), 1.2, 1.2),
    "granola": ((150, 92, 44), 0.8, 4.7),
    "spinach": ((52, 128, 56), 0.8, 0.2),
    "peas": ((52, 128, 56), 1.2, 0.8),
}


def radius_of(grams: float, food: str) -> float:
    """The radius that so many grams of a food fill."""
    return FULL * float(np.sqrt(grams / (FULL_GRAMS * FOODS[food][1])))


def draw(grams: float, food: str, rng: np.random.Generator) -> Image.Image:
    """A picture of so many grams of a food, a little off the middle and in changing light."""
    side = SIDE * SCALE
    light = float(rng.uniform(0.92, 1.08))

    def shade(colour: tuple[int, int, int]) -> tuple[int, int, int]:
        r, g, b = (min(255, int(c * light)) for c in colour)
        return r, g, b

    image = Image.new("RGB", (side, side), shade((72, 62, 60)))
    pen = ImageDraw.Draw(image)
    x, y = (float(side / 2 + rng.uniform(-1, 1) * SCALE) for _ in range(2))
    for radius, colour in ((26.0, (176, 180, 186)), (radius_of(grams, food), FOODS[food][0])):
        r = radius * SCALE
        pen.ellipse((x - r, y - r, x + r, y + r), fill=shade(colour))
    return image.resize((SIDE, SIDE), Image.Resampling.BOX)
