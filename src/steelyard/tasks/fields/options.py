"""Options of all tasks of dense fields, and presets: what a benchmark sets unless the user says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard.core.frozen import Frozen
from steelyard.core.options import Option, Options

COMMON = (
    Option(
        "scale",
        "number",
        "Number that all values are divided by, such as 1000 for millimetres; without it, grey "
        "PNG files of 16 bits are divided by 256.",
        minimum=0,
        metavar="NUMBER",
    ),
    Option(
        "channels",
        "choice",
        "Place of the channels in arrays, where the shape does not say it.",
        default="auto",
        choices=("auto", "first", "last"),
    ),
    Option(
        "mask",
        "path",
        "Folder of masks named as the truth: pixels of 0 are left out.",
        sides=False,
        reads=True,
        metavar="FOLDER",
    ),
    Option(
        "region",
        "pairs",
        "Folder of masks that mark a region for of=NAME, as NAME=FOLDER.",
        sides=False,
        reads=True,
        metavar="NAME=FOLDER",
    ),
    Option(
        "resize",
        "choice",
        "Resize predictions of another size: bilinear as OpenCV and PyTorch do, corners as "
        "align_corners=True does, or nearest.",
        default="off",
        choices=("off", "bilinear", "corners", "nearest"),
        sides=False,
    ),
    Option(
        "suffix", "text", "Suffix of the file names, such as _10; other files are skipped.", reads=True, metavar="TEXT"
    ),
)


def preset_option(presets: Mapping[str, Mapping[str, Any]]) -> Option:
    """The option that chooses one of the presets."""
    meaning = "Settings of a benchmark or tool; options that are given win."
    return Option("preset", "choice", meaning, default="none", choices=("none", *presets), sides=False, reads=True)


class Chosen(Frozen):
    """Options of a run on top of a preset: what the user gives, else what the preset sets, else the default."""

    options: Options
    preset: Mapping[str, Any] = field(default_factory=dict)
    name: str = "none"

    @staticmethod
    def from_presets(options: Options, presets: Mapping[str, Mapping[str, Any]]) -> Chosen:
        """The options on top of the preset that they name."""
        name = str(options.of("preset"))
        return Chosen(options, presets.get(name, {}), name)

    def of(self, name: str, side: str = "") -> Any:
        """The value of an option for a side."""
        values = self.options.values
        if name in self.preset and name not in values and f"{side}.{name}" not in values:
            return self.preset[name]
        return self.options.of(name, side)

    def setting(self, name: str, default: Any = None) -> Any:
        """A setting that only a preset has."""
        return self.preset.get(name, default)

    def changed(self) -> tuple[str, ...]:
        """Options that the user gives and that the preset sets otherwise, as texts."""
        return tuple(
            f"{name}={self.options.of(name)}"
            for name in self.preset
            if name in self.options.values and self.options.of(name) != self.preset[name]
        )
