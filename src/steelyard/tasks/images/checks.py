"""Checks of `images`: red and blue swapped, shifted images, other borders, unused ranges, and settings of a number."""

from __future__ import annotations

import math

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.tasks.images.data import ImagePairs
from steelyard.tasks.images.measures import squared_error

CHECKS = with_ids(Checks(), repeats=False)
QUICK, MOST = 2, 100  # images that are looked at
BETTER = 6.0  # decibels by which another reading must be better
RIM = 4  # pixels of a border
BORDER_BETTER = 3.0  # decibels by which PSNR must rise without the border
UNUSED = 1 / 15  # share of the range that no value exceeds: 12 bits in 16 are a sixteenth
BELOW, MANY_BELOW = 0.05, 0.05  # of the range below 0, and the share of values there; networks overshoot by less
SHIFTS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))


class Look(Frozen):
    """What some images show: sums of mean squared errors of range 1 before and after a change, and the largest value.

    `shifted` has the error without a shift first; `largest` and `peak` are of the image that uses most of its range;
    `least` is the least value, and `below` the largest share of values that are clearly below 0.
    """

    images: int = 0
    colours: int = 0
    swapped: tuple[float, ...] = (0.0, 0.0)
    shifted: tuple[float, ...] = (0.0,) * (1 + len(SHIFTS))
    rim: tuple[float, ...] = (0.0, 0.0)
    largest: float = 0.0
    peak: float = 1.0
    least: float = 0.0
    below: float = 0.0


def _look(data: CheckData) -> Look:
    """Some pairs of pictures as they are compared; those that cannot be are left to the evaluation."""
    if "look" not in data.read:
        data.read["look"] = Look() if data.pairs is None else _look_at(data.pairs, data.quick)
    look: Look = data.read["look"]
    return look


def _look_at(pairs: ImagePairs, quick: bool) -> Look:
    images = colours = 0
    swapped, shifted, rim = np.zeros(2), np.zeros(1 + len(SHIFTS)), np.zeros(2)
    largest, peak_of_largest = 0.0, 1.0
    least = below = 0.0
    for pair in evenly(len(pairs.owner), QUICK if quick else MOST).tolist():
        try:
            x, y, peak = pairs.sight(pair).common
        except InputError:
            continue
        if x.shape != y.shape:
            continue
        images += 1
        top = max(float(x.max()), float(y.max()))
        if top / peak > largest / peak_of_largest:
            largest, peak_of_largest = top, peak
        for side in (x, y):
            bottom = float(side.min())
            if bottom < -BELOW * peak:
                least, below = min(least, bottom), max(below, float((side < -BELOW * peak).mean()))
        plain = _error(x, y, peak)
        if x.shape[2] == 3:
            colours += 1
            swapped += plain, _error(x, _swap_red_and_blue(y), peak)
        if quick:
            continue
        height, width = x.shape[:2]
        if min(height, width) > 4:
            inside = x[1:-1, 1:-1]
            moved = [y[1 - down : height - 1 - down, 1 - across : width - 1 - across] for down, across in SHIFTS]
            shifted += [_error(inside, side, peak) for side in (y[1:-1, 1:-1], *moved)]
        if min(height, width) > 4 * RIM:
            rim += plain, _error(x[RIM:-RIM, RIM:-RIM], y[RIM:-RIM, RIM:-RIM], peak)
    sums = [tuple(part.tolist()) for part in (swapped, shifted, rim)]
    return Look(images, colours, sums[0], sums[1], sums[2], largest, peak_of_largest, least, below)


def _swap_red_and_blue(pixels: Array) -> Array:
    swapped = np.empty_like(pixels)
    for channel in range(3):  # three times as fast as a copy of a reversed view
        swapped[:, :, channel] = pixels[:, :, 2 - channel]
    return swapped


def _error(x: Array, y: Array, peak: float) -> float:
    squares, _, count = squared_error(np.ascontiguousarray(x), np.ascontiguousarray(y))
    return squares / (count * peak * peak)


def _gain(before: float, after: float) -> float:
    """By how many decibels PSNR rises."""
    return 10 * math.log10(before / after) if before > 0 and after > 0 else math.inf if before > 0 else 0.0


@CHECKS.add(
    "swapped-channels",
    "warning",
    "red and blue are swapped on one side: every metric of colours is far too low",
    "Convert BGR to RGB before saving.",
)
def swapped_channels(data: CheckData) -> Problem | None:
    """Swapping red and blue of the predictions makes them much nearer to the truth."""
    look = _look(data)
    gain = _gain(look.swapped[0], look.swapped[1])
    if gain < BETTER:
        return None
    return Problem(f"Swapping red and blue raises PSNR by {gain:.1f} dB.", look.colours, look.colours)


@CHECKS.add(
    "unused-range",
    "warning",
    "the range is far larger than the values: PSNR is too high, and the constants of SSIM are too large",
    "Set the option range to the largest possible value.",
)
def unused_range(data: CheckData) -> Problem | None:
    """No value is near the end of the range: 10 bits in files of 16, or values up to 1 with range=255."""
    look = _look(data)
    if not look.images or not 0 < look.largest <= UNUSED * look.peak:
        return None
    what = f"The largest value is {look.largest:g}, and the range {look.peak:g}: is the range right?"
    bits = next((2**bits - 1 for bits in (8, 10, 12) if look.largest <= 2**bits - 1), 0)
    remedy = f"Set range={1 if look.largest <= 1 else bits}." if bits else ""
    return Problem(what, look.images, look.images, remedy=remedy)


@CHECKS.add(
    "values-below-0",
    "warning",
    "pixels from -1 to 1: PSNR is too low with range=1, and SSIM is wrong with any range",
    "Map the values to 0 to 1, and set range=1.",
)
def values_below_zero(data: CheckData) -> Problem | None:
    """Many values of one side are below 0."""
    look = _look(data)
    if look.below < MANY_BELOW:
        return None
    what = f"{100 * look.below:.0f} % of the values of one side are below 0, the least is {look.least:g}."
    return Problem(what, look.images, look.images)


@CHECKS.add(
    "shifted-images",
    "warning",
    "predictions are shifted by a pixel: PSNR and SSIM measure the shift",
    "Align them; resizing and cropping often move images by one pixel.",
    quick=False,
)
def shifted_images(data: CheckData) -> Problem | None:
    """A shift by one pixel makes predictions much nearer to the truth."""
    look = _look(data)
    gain, shift = max(zip((_gain(look.shifted[0], after) for after in look.shifted[1:]), SHIFTS, strict=True))
    if gain < BETTER:
        return None
    return Problem(f"A shift of {shift} raises PSNR by {gain:.1f} dB.", look.images, look.images)


@CHECKS.add(
    "other-border",
    "note",
    "predictions are wrong at the border: it decides the error",
    "Cut it from both sides with the option border, and say so beside the number.",
    quick=False,
)
def other_border(data: CheckData) -> Problem | None:
    """Most of the error is in the outermost pixels."""
    look = _look(data)
    gain = _gain(look.rim[0], look.rim[1])
    if gain < BORDER_BETTER:
        return None
    return Problem(f"Cutting {RIM} pixels on all sides raises PSNR by {gain:.1f} dB.", look.images, look.images)


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
