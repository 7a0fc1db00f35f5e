"""What other tools print for the same images, and which settings give a number that somebody else printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.explanation import Explanation, Step
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.tasks.images import measures
from steelyard.tasks.images.data import PRESETS, ImagePairs, Planes, Preset, Sight
from steelyard.tasks.images.sums import COUNT, INFINITE, TOTAL, Level, frame_columns
from steelyard.tasks.shared.tools import find_tools


class Conventions(Frozen):
    """How PSNR and SSIM are computed: the planes of each, SSIM's windows, a constant, and how images are averaged."""

    psnr_planes: Planes
    ssim_planes: Planes
    window: str
    constant: float
    psnr_level: Level | str  # unit, frame or pooled
    ssim_level: Level


SETTINGS = {
    "psnr_planes": "channels of psnr",
    "ssim_planes": "channels of ssim",
    "window": "window of ssim",
    "constant": "constant",
    "psnr_level": "averaging of psnr",
    "ssim_level": "averaging of ssim",
}
LEVELS = {"unit": "mean over units", "frame": "mean over images", "pooled": "pooled over pixels"}


class Tool(Frozen):
    """Another tool: its version, its preset, why its numbers differ, and what cannot be seen in them."""

    version: str
    preset: str
    reasons: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    pooled: bool = False
    prints: tuple[str, ...] = ("psnr", "ssim")


_EPS = "It adds 1e-8 to a mean squared error of range 1: identical images have 80 dB."
_Y = "It compares Y of BT.601, whose range stays 255 although Y spans 219 levels."
TOOLS = {
    "basicsr": Tool("8d56e3a0", "basicsr", {}, ("With test_y_channel it compares Y: explain basicsr-y.",)),
    "basicsr-y": Tool("8d56e3a0", "basicsr-y", {"psnr_planes": _Y, "ssim_planes": _Y}),
    "skimage": Tool(
        "0.26.0",
        "skimage",
        {"window": "7×7 uniform windows and the sample covariance, unless gaussian_weights is set."},
    ),
    "torchmetrics": Tool(
        "1.9.0",
        "torchmetrics",
        {
            "window": "Edges are mirrored and all pixels count; up to version 1.4.1 the rim was cut.",
            "psnr_level": "Its class PeakSignalNoiseRatio pools all pixels of all images.",
        },
        ("Without data_range the largest span of a batch is the range: the batch size changes the score.",),
        pooled=True,
    ),
    "tensorflow": Tool("2.19.0", "tensorflow", {}, ("It works in single precision.",)),
    "pytorch-msssim": Tool("1.0.0", "pytorch-msssim", {}, ("It works in single precision.",), prints=("ssim",)),
    "pytorch-ssim": Tool(
        "183b60cb",
        "zeros",
        {"window": "Zeros stand outside the image, and all pixels count."},
        ("3D Gaussian splatting has a copy of it.",),
        prints=("ssim",),
    ),
    "piq": Tool("0.8.0", "piq", {"window": "Images above 384 pixels are made smaller first.", "constant": _EPS}),
    "pyiqa": Tool(
        "0.1.16",
        "pyiqa",
        {
            "ssim_planes": "Its ssim compares Y with weights 0.299, 0.587 and 0.114, rounded.",
            "window": "Negative contrast is set to 0.",
            "constant": _EPS,
        },
        ("Its psnry compares Y too.", "Its source was read, not run."),
    ),
    "sewar": Tool("0.4.10", "sewar", {"window": "11×11 uniform windows."}, prints=("ssim",)),
    "matlab": Tool(
        "R2024a",
        "matlab-y",
        {
            "psnr_planes": "rgb2ycbcr rounds Y of uint8 to whole levels.",
            "ssim_planes": "rgb2ycbcr rounds Y of uint8 to whole levels.",
            "window": "Edges are replicated and all pixels count.",
        },
        ("From its manual, not run. ssim of an RGB array treats it as a volume.",),
    ),
}
_FRAMES = "It averages all images alike, not first within each unit."


def conventions_of(preset: Preset, rules_planes: Callable[[bool], Planes], level: Level = "unit") -> Conventions:
    """The conventions of a preset, where planes are known."""
    windows = measures.WINDOWS
    window = next(name for name, window in windows.items() if window == windows[preset.ssim])
    return Conventions(rules_planes(False), rules_planes(True), window, preset.eps, level, level)


def explain(pairs: ImagePairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of each tool for these data, and what each of its settings does on its own."""
    rules, level = pairs.rules, "unit" if pairs.unit_name != "image" else "frame"
    own = PRESETS[rules.preset] if rules.preset else Preset()
    ours = conventions_of(own, lambda structural: rules.of_preset("", structural), level)  # type: ignore[arg-type]
    plain = replace(rules, preset="", named=rules.named - {"channels", "luma"}, channels="auto")
    steps_of: dict[str, dict[str, Conventions]] = {}
    every: dict[str, Conventions] = {}
    chosen = find_tools(tools, TOOLS)
    for name, tool in chosen.items():
        theirs = conventions_of(PRESETS[tool.preset], lambda s, t=tool: plain.of_preset(t.preset, s), "frame")  # type: ignore[misc]
        theirs = replace(theirs, psnr_level="pooled") if tool.pooled else theirs
        every[name] = theirs
        steps_of[name] = {
            f.name: replace(ours, **{f.name: getattr(theirs, f.name)})
            for f in fields(ours)
            if getattr(ours, f.name) != getattr(theirs, f.name)
            and f.name.partition("_")[0] in ("constant", "window", *tool.prints)
        }
    wanted = [ours, *every.values(), *(step for steps in steps_of.values() for step in steps.values())]
    numbers = numbers_of(pairs, wanted)

    def printed(name: str, conventions: Conventions) -> dict[str, float]:
        return {metric: numbers[conventions][metric] for metric in chosen[name].prints}

    return tuple(
        Explanation(
            name,
            tool.version,
            printed(name, ours),
            tuple(
                Step(
                    SETTINGS[field],
                    _text(getattr(ours, field)),
                    _text(getattr(every[name], field)),
                    tool.reasons.get(field, _FRAMES if field.endswith("level") else ""),
                    printed(name, step),
                )
                for field, step in steps_of[name].items()
            ),
            printed(name, every[name]),
            tool.remarks,
        )
        for name, tool in chosen.items()
    )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        channels, luma = value
        return f"Y, {luma}" if channels == "y" else "all" if channels == "auto" else str(channels)
    return LEVELS.get(str(value), f"{value:g}" if isinstance(value, float) else str(value))


def numbers_of(pairs: ImagePairs, wanted: Sequence[Conventions]) -> dict[Conventions, dict[str, float]]:
    """PSNR and SSIM under several conventions; each pair of pictures is opened once."""
    errors = {c.psnr_planes: np.zeros((len(pairs.owner), 2)) for c in wanted}
    similar = {(c.ssim_planes, c.window): np.zeros(len(pairs.owner)) for c in wanted}
    for pair in range(len(pairs.owner)):
        sight = pairs.sight(pair)
        for planes, rows in errors.items():
            rows[pair] = _errors(sight, planes)
        for (planes, window), values in similar.items():
            values[pair] = _similarity(sight, planes, window)
    result = {}
    for c in wanted:
        result[c] = {
            "psnr": _psnr(pairs, errors[c.psnr_planes], c.constant, str(c.psnr_level)),
            "ssim": _mean(pairs, similar[c.ssim_planes, c.window], c.ssim_level),
        }
    return result


def _errors(sight: Sight, planes: Planes) -> tuple[float, float]:
    """The sum of squared errors of range 1, and how many values it is of."""
    x, y, peak = sight.converted(planes)
    squares, _, count = measures.squared_error(x, y, sight.mask())
    return squares / (peak * peak), float(count)


def _similarity(sight: Sight, planes: Planes, window: str) -> float:
    x, y, peak = sight.converted(planes)
    try:
        return measures.ssim(x, y, peak, window, sight.mask())
    except InputError:  # the picture is smaller than the window
        return math.nan


def _psnr(pairs: ImagePairs, errors: Array, constant: float, level: str) -> float:
    if level == "pooled":
        squares, count = errors.sum(axis=0)
        return measures.decibels(squares / count + constant) if count else math.nan
    values = [measures.decibels(squares / count + constant) if count else math.nan for squares, count in errors]
    return _mean(pairs, np.array(values), level)


def _mean(pairs: ImagePairs, values: Array, level: str) -> float:
    """The mean over units or frames, as the metric has it; infinite where one is."""
    columns = frame_columns(values, pairs, level).sum(axis=0)
    if columns[INFINITE]:
        return math.inf
    return float(columns[TOTAL] / columns[COUNT]) if columns[COUNT] else math.nan


# Which settings give a number

BORDERS = (0, 1, 2, 3, 4, 6, 8, 10)
NEAREST = 3


def search(pairs: ImagePairs, number: float) -> tuple[bool, list[tuple[float, str]]]:
    """Whether settings were found that give a number to its last digit, and those or else the nearest.

    Tried are all presets, all weights of luma, pooling and borders. Of settings that give the same, one is named. Those
    that give the number are in the order in which they are tried, with the border of the run first.
    """
    digits = max(len(repr(float(number)).partition(".")[2]), 1)
    within = 0.5000001 * 10.0**-digits
    values: dict[str, float] = {}
    for border in dict.fromkeys((pairs.rules.border, *BORDERS)):
        cut = f", border={border}" if border else ""
        for name, value in _all_numbers(pairs, border).items():
            if not any(value == other for other in values.values()):
                values[name + cut] = value
    order = sorted((abs(value - number), i, name, value) for i, (name, value) in enumerate(values.items()))
    exact = [(value, name) for name, value in values.items() if abs(value - number) <= within]
    return bool(exact), exact or [(value, name) for _, _, name, value in order[:NEAREST]]


def _all_numbers(pairs: ImagePairs, border: int) -> dict[str, float]:
    """PSNR and SSIM by name under all presets and weights of luma, where there is a number; nothing where none fits."""
    rules = replace(pairs.rules, preset="", border=border)
    plain = replace(rules, named=rules.named - {"channels", "luma"}, channels="auto")
    other = replace(pairs, rules=rules)
    wanted: dict[str, Conventions] = {}
    for name, preset in ({"": Preset()} | PRESETS).items():
        label = f"(preset={name})" if name else ""
        c = conventions_of(preset, lambda s, n=name: rules.of_preset("", s) if not n else plain.of_preset(n, s))  # type: ignore[misc]
        wanted[f"psnr{label}"] = wanted[f"ssim{label}"] = c
    for weights in measures.LUMA:
        c = Conventions(("y", weights), ("y", weights), "wang", 0.0, "unit", "unit")
        wanted[f"psnr, channels=y, luma={weights}"] = wanted[f"ssim, channels=y, luma={weights}"] = c
    wanted["psnr(level=pooled)"] = replace(wanted["psnr"], psnr_level="pooled")
    try:
        numbers = numbers_of(other, list(dict.fromkeys(wanted.values())))
    except InputError:  # nothing is left within the border, or the pictures have no luma
        return {}
    values = {name: numbers[c][name[:4]] for name, c in wanted.items()}
    return {name: value for name, value in values.items() if math.isfinite(value)}
