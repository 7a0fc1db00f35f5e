"""Checks of `images`: red and blue swapped, pictures that are shifted, and the settings that give a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError
from steelyard.core.pairs import Array
from steelyard.tasks.images.data import ImagePairs

CHECKS = with_ids(Checks(), repeats=False)
MOST = 100  # images that are looked at
BETTER = 6.0  # decibels by which another reading must be better
Pictures = list[tuple[Array, Array, float]]


def _pictures(data: CheckData) -> Pictures:
    """Some pairs of pictures as they are compared; those that cannot be are left to the evaluation."""
    if "pictures" not in data.read:
        pairs: ImagePairs | None = data.pairs
        opened: Pictures = []
        for pair in [] if pairs is None else evenly(len(pairs.owner), MOST).tolist():
            try:
                x, y, peak = data.pairs.sight(pair).common
            except InputError:
                continue
            if x.shape == y.shape:
                opened.append((x.astype(np.float64) / peak, y.astype(np.float64) / peak, peak))
        data.read["pictures"] = opened
    pictures: Pictures = data.read["pictures"]
    return pictures


def _gain(pictures: Pictures, change: Callable[[Array, Array], tuple[Array, Array]]) -> float:
    """By how many decibels the pooled PSNR rises under a change of both pictures."""
    before = after = 0.0
    for x, y, _ in pictures:
        before += float(((x - y) ** 2).mean())
        a, b = change(x, y)
        after += float(((a - b) ** 2).mean())
    return 10 * math.log10(before / after) if before > 0 and after > 0 else math.inf if before > 0 else 0.0


@CHECKS.add(
    "swapped-channels",
    "warning",
    "red and blue are swapped on one side: every metric of colours is far too low",
    "Convert BGR to RGB before saving.",
    quick=False,
)
def swapped_channels(data: CheckData) -> Problem | None:
    """Swapping red and blue of the predictions makes them much nearer to the truth."""
    pictures = [entry for entry in _pictures(data) if entry[0].shape[2] == 3]
    if not pictures:
        return None
    gain = _gain(pictures, lambda x, y: (x, y[:, :, ::-1]))
    if gain < BETTER:
        return None
    return Problem(f"Swapping red and blue raises PSNR by {gain:.1f} dB.", len(pictures), len(pictures))


@CHECKS.add(
    "shifted-images",
    "warning",
    "predictions are shifted by a pixel: PSNR and SSIM measure the shift",
    "Align them; resizing and cropping often move images by one pixel.",
    quick=False,
)
def shifted_images(data: CheckData) -> Problem | None:
    """A shift by one pixel makes predictions much nearer to the truth."""
    pictures = [entry for entry in _pictures(data) if min(entry[0].shape[:2]) > 4]
    best = (0.0, (0, 0))
    for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)):

        def shift(x: Array, y: Array, down: int = down, across: int = across) -> tuple[Array, Array]:
            moved = np.roll(y, (down, across), axis=(0, 1))
            return x[1:-1, 1:-1], moved[1:-1, 1:-1]

        if pictures:
            best = max(best, (_gain(pictures, shift), (down, across)))
    if best[0] < BETTER:
        return None
    return Problem(f"A shift of {best[1]} raises PSNR by {best[0]:.1f} dB.", len(pictures), len(pictures))


@CHECKS.add("settings-of-a-number", "note", "the settings that give the number of option which", "Use these settings.")
def settings_of_a_number(data: CheckData) -> Problem | None:
    """The presets and borders that give a number that somebody else printed, or come nearest to it."""
    if data.pairs is None or data.pairs.which is None:
        return None
    from steelyard.tasks.images.tools import search

    exact, settings = search(data.pairs, data.pairs.which)
    count = len(data.pairs.owner)
    if not settings:
        return None
    if exact:
        names = "; ".join(name for _, name in settings[:5])
        return Problem(f"{data.pairs.which:g} is given by: {names}.", count, count)
    shown = "; ".join(f"{name} gives {value:.6g}" for value, name in settings)
    remedy = "Other images, another model or another resampling of the truth may be the reason."
    return Problem(f"No preset or border gives {data.pairs.which:g}. Nearest: {shown}.", count, count, remedy=remedy)
