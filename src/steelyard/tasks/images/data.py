"""Task `images`: the data, from what was read to pairs of pictures that are opened one at a time.

Conventions
    A row is an image: its pixels in both sides. The unit is the image; it is the clip or the scene where the truth has
    such a column, since the frames of a clip are not independent.
    Before any metric, six settings say what is compared: `range`, `channels`, `luma`, `border`, `quantise`, `alpha`.
    A preset sets those that a tool fixes; what is given by name holds before a preset.
    Sizes that differ are an error, or cut from the upper left (`fit=crop`); nothing is ever resized.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.align.join import codes, join_rows
from steelyard.core.errors import (
    Conflict,
    Incompatible,
    InputError,
    InvalidSetting,
    InvalidSpec,
    MissingColumn,
    MissingFile,
    OutOfRange,
    ShapeMismatch,
    UnknownName,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, constant_in_unit, distinct_values, weight_column
from steelyard.core.task import Policy
from steelyard.maps.load import INSIDE
from steelyard.tasks.images.measures import LUMA, MS_LEAST, WINDOWS, luma
from steelyard.tasks.images.pixels import VIDEOS, Picture, open_picture, picture_size

PIXELS = Column(
    "pixels",
    "picture",
    aliases=("path", "file", "filename"),
    meaning="the pixels: the path of a file, or an array height × width × channels",
)
IMAGE = Column(
    "image", "id", aliases=("image_id", "name"), meaning="the image; in a folder the path without its ending"
)
TRUTH = Schema(
    key=("image",),
    columns=(
        IMAGE,
        replace(PIXELS, aliases=(*PIXELS.aliases, "truth", "gt", "reference", "target")),
        Column("clip", "id", required=False, meaning="the clip that a frame belongs to, which is then the unit"),
        Column("scene", "id", required=False, meaning="the scene that a view belongs to, which is then the unit"),
        Column("frame", "id", required=False, meaning="the frame of a clip"),
        Column("mask", "picture", required=False, meaning="pixels that count: those that are not 0"),
        Column("region", "picture", required=False, meaning="the region of each pixel, as whole numbers"),
        weight_column("image"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(
        IMAGE,
        replace(PIXELS, aliases=(*PIXELS.aliases, "prediction", "pred", "output")),
        Column("bytes", "number", False, 0, empty=True, meaning="the size of the compressed image"),
    ),
)
UNITS = ("auto", "image", "clip", "scene", "folder")
QUANTISE = ("none", "8")
ALPHA = ("error", "white", "black", "drop")
CHANNELS = ("auto", "rgb", "y", "gray", "u", "v")


Planes = tuple[str, str]  # channels and luma: what of the pictures is compared


class Preset(Frozen):
    """What a tool fixes: how SSIM's windows lie, which channels are compared, and what is added to an error.

    `structure` is what SSIM and MS-SSIM compare where errors are of other channels.
    """

    ssim: str = "wang"
    channels: str = ""
    luma: str = ""
    eps: float = 0.0  # added to the mean squared error of range 1
    ms_ssim: str = "tensorflow"
    vif: str = "piq"
    quality: str = "paper"  # of the universal index
    structure: Planes = ("", "")

    def planes(self, structural: bool) -> Planes:
        """The channels and luma that the tool fixes, or empty texts."""
        return self.structure if structural and self.structure[0] else (self.channels, self.luma)


PRESETS = {name: Preset(name) for name in WINDOWS} | {
    "basicsr-y": Preset("basicsr-y", "y", "bt601"),
    "basicsr-pt": Preset(eps=1e-8),
    "basicsr-pt-y": Preset("wang", "y", "bt601", 1e-8),
    "edsr": Preset("wang", "y", "edsr"),
    "matlab-y": Preset("matlab", "y", "bt601-round"),
    "torchmetrics": Preset("torchmetrics", ms_ssim="torchmetrics", vif="torchmetrics", quality="torchmetrics"),
    "pytorch-msssim": Preset("pytorch-msssim", ms_ssim="pytorch-msssim"),
    "piq": Preset("piq", eps=1e-8, ms_ssim="piq"),
    "pyiqa": Preset("pyiqa", eps=1e-8, structure=("y", "full+round")),
    "sewar": Preset("sewar", ms_ssim="sewar", vif="sewar"),
}
OPTIONS = (
    Option(
        "preset",
        "choice",
        "Settings of another tool, where none are given by name.",
        "",
        ("", *PRESETS),
        sides=False,
        metavar="TOOL",
    ),
    Option("range", "number", "Largest value of the pixels; 255 and 65535 for 8 and 16 bits.", minimum=0, metavar="X"),
    Option(
        "channels",
        "choice",
        "What is compared: all channels, luma, or one of equal ones.",
        "auto",
        CHANNELS,
        sides=False,
    ),
    Option("luma", "choice", "Weights of Y.", "bt601", tuple(LUMA), sides=False),
    Option("border", "number", "Pixels that are cut on all sides before anything else.", 0.0, minimum=-1, sides=False),
    Option("quantise", "choice", "Round floating-point pixels to 8 bits first.", "none", QUANTISE, sides=False),
    Option("alpha", "choice", "What is done with transparency.", "error", ALPHA, sides=False),
    Option(
        "fit",
        "choice",
        "Sizes that differ: an error, or cut from the upper left.",
        "error",
        ("error", "crop"),
        sides=False,
    ),
    Option(
        "layout", "choice", "Axes of arrays, where 1, 3 or 4 stands in two places.", "", ("", "hwc", "chw"), reads=True
    ),
    Option("resample", "choice", "What is resampled.", "auto", UNITS, sides=False),
    Option("regions", "pairs", "Names of the values of the column region.", metavar="NAME=VALUE", sides=False),
    Option("which", "number", "Find the settings that give this number.", sides=False, metavar="X"),
    Option(
        "scores",
        "path",
        "Table with more numbers of each image, for column(NAME).",
        reads=True,
        sides=False,
        metavar="FILE",
    ),
    Option(
        "truth_name", "text", "Name of the true images within one folder.", "", reads=True, sides=False, metavar="NAME"
    ),
    Option(
        "prediction_name",
        "text",
        "Name of the predicted images within one folder.",
        "",
        reads=True,
        sides=False,
        metavar="NAME",
    ),
    Option("size", "text", "Width and height of raw video: 352x288.", "", reads=True, metavar="WxH"),
    Option("format", "text", "Format of raw video: yuv420p, yuv420p10le, gray.", "", reads=True, metavar="NAME"),
)


class Rules(Frozen):
    """What is compared: the settings that hold before any metric."""

    channels: str = "auto"
    luma: str = "bt601"
    border: int = 0
    quantise: str = "none"
    alpha: str = "error"
    fit: str = "error"
    preset: str = ""
    named: frozenset[str] = frozenset()  # options that were given by name

    def of_preset(self, preset: str, structural: bool = False) -> Planes:
        """Channels and luma under a metric's own preset, else by name, else under the preset of all."""
        if preset:
            own = PRESETS[preset].planes(structural)
            return own if own[0] else (self.channels, self.luma)
        channels, weights = PRESETS[self.preset].planes(structural) if self.preset else ("", "")
        channels = self.channels if not channels or "channels" in self.named else channels
        return channels, self.luma if not weights or "luma" in self.named else weights


def rules_of(options: Options) -> Rules:
    """The rules that options say."""
    border = float(options.of("border"))
    if border < 0 or border != int(border):
        raise InvalidSetting(f"option border: {border:g} is not a whole number of pixels", remedy="Give 0, 4, ...")
    names = ("channels", "luma", "quantise", "alpha", "fit", "preset")
    settings = {name: str(options.of(name)) for name in names}
    return Rules(**settings, border=int(border), named=frozenset(options.values))


class Sight:
    """Both pictures of a pair, opened once for all statistics."""

    def __init__(self, pairs: ImagePairs, pair: int) -> None:
        self.pairs, self.pair = pairs, pair
        self._made: dict[Any, Any] = {}

    @cached_property
    def raw(self) -> tuple[Picture, Picture]:
        """The pictures as they were opened, of one size."""
        first, second = (self._open(side) for side in (0, 1))
        sizes = [side.pixels.shape[:2] for side in (first, second)]
        if sizes[0] != sizes[1]:
            if self.pairs.rules.fit != "crop":
                raise ShapeMismatch(
                    f"{_size(sizes[0])} pixels, and {self.pairs.place(self.pair, 1)} has {_size(sizes[1])}",
                    where=self.pairs.place(self.pair, 0),
                    remedy="Nothing is resized: fit=crop cuts the larger one from the upper left.",
                )
            height, width = (min(a, b) for a, b in zip(*sizes, strict=True))
            first, second = (
                replace(side, pixels=np.ascontiguousarray(side.pixels[:height, :width])) for side in (first, second)
            )
        return first, second

    def _open(self, side: int) -> Picture:
        pairs = self.pairs
        picture = pairs.open_side(self.pair, side)
        if picture.alpha or (pairs.rules.alpha != "error" and picture.pixels.shape[2] in (2, 4)):
            picture = self._without_alpha(picture, side)
        return picture

    def _without_alpha(self, picture: Picture, side: int) -> Picture:
        rule, colours, opacity = self.pairs.rules.alpha, picture.pixels[:, :, :-1], picture.pixels[:, :, -1:]
        full = picture.peak if picture.peak == picture.peak else 1.0
        if rule == "drop" or (rule == "error" and (opacity == full).all()):
            return replace(picture, pixels=np.ascontiguousarray(colours), alpha=False)
        if rule == "error":
            raise Conflict(
                "has transparent pixels",
                where=self.pairs.place(self.pair, side),
                remedy="Say what they mean: alpha=white, alpha=black or alpha=drop.",
            )
        share = opacity / full
        ground = full if rule == "white" else 0.0
        if picture.peak != picture.peak:
            ground = (self.pairs.ranges[side] or 1.0) if rule == "white" else 0.0
        return replace(picture, pixels=np.ascontiguousarray(colours * share + ground * (1 - share)), alpha=False)

    @cached_property
    def common(self) -> tuple[Array, Array, float]:
        """Both pictures in one type, with their range and without the border."""
        first, second = self.raw
        pairs, peaks = self.pairs, []
        pixels: list[Array] = []
        for side, picture in enumerate((first, second)):
            peak = self._peak(picture, side)
            values = picture.pixels
            if pairs.rules.quantise == "8" and values.dtype == np.float64:
                values, peak = np.rint(np.clip(values / peak, 0, 1) * 255).astype(np.uint8), 255.0
            pixels.append(values)
            peaks.append(peak)
        kinds = [values.dtype for values in pixels]
        if kinds[0] != kinds[1]:
            if np.float64 not in kinds:
                raise Incompatible(
                    f"{first.kind} (largest value {pixels[0].max()}), and {pairs.place(self.pair, 1)} has "
                    f"{second.kind} (largest value {pixels[1].max()})",
                    where=pairs.place(self.pair, 0),
                    remedy="Write both with the same number of bits.",
                )
            pixels = [values.astype(np.float64) for values in pixels]
        if peaks[0] != peaks[1]:
            if kinds[0] != np.float64 and kinds[1] != np.float64:
                raise Incompatible(
                    f"range {peaks[0]:g}, and {pairs.place(self.pair, 1)} has {peaks[1]:g}",
                    where=pairs.place(self.pair, 0),
                    remedy="Write both with the same number of bits.",
                )
            pixels[1] = pixels[1].astype(np.float64) * (peaks[0] / peaks[1])
            pixels[0] = pixels[0].astype(np.float64)
        border = pairs.rules.border
        if border:
            height, width = pixels[0].shape[:2]
            if 2 * border >= min(height, width):
                raise ShapeMismatch(
                    f"{_size((height, width))} pixels have nothing left without a border of {border}",
                    where=pairs.place(self.pair, 0),
                    remedy="Choose a smaller border, or leave the image out.",
                )
            pixels = [np.ascontiguousarray(p[border:-border, border:-border]) for p in pixels]
        return pixels[0], pixels[1], peaks[0]

    def _peak(self, picture: Picture, side: int) -> float:
        """The range of a side: as given, else that of its type."""
        pairs = self.pairs
        given, dtype = pairs.ranges[side], picture.pixels.dtype
        if given is None and dtype != np.float64 and picture.peak >= np.iinfo(dtype).max:
            return picture.peak  # no value can lie outside
        largest, least = float(picture.pixels.max()), float(picture.pixels.min())
        if given is None and picture.peak != picture.peak:
            guess = "1" if largest <= 1.5 else "255" if largest <= 256 else "65535"
            guess = "2" if largest <= 1.5 and least < -0.5 else guess
            raise InvalidSetting(
                f"values from {least:g} to {largest:g} are not of 8 or 16 bits: their range is not known",
                where=pairs.place(self.pair, side),
                remedy=f"Set range={guess}, or what the largest possible value is.",
            )
        peak = picture.peak if given is None else given
        slack = 1.5 if picture.pixels.dtype == np.float64 else 1.0  # networks overshoot; integers cannot
        if largest > slack * peak or least < -slack * peak:
            worst = largest if largest > slack * peak else least
            raise OutOfRange(
                f"a value of {worst:g} ({picture.kind}) does not fit range={peak:g}",
                where=pairs.place(self.pair, side),
                remedy="Set the range that the pixels have, or scale them.",
            )
        if picture.peak < peak:
            raise OutOfRange(
                f"range={peak:g} does not fit pixels of {picture.kind}, whose largest value is {picture.peak:g}",
                where=pairs.place(self.pair, side),
                remedy="Leave range out: 8 and 16 bits have their own.",
            )
        return peak

    def pixels(self, preset: str = "", structural: bool = False) -> tuple[Array, Array, float]:
        """Truth, prediction and range as a metric compares them under a preset."""
        return self.converted(self.pairs.rules.of_preset(preset, structural))

    def plane(self, weights: str) -> tuple[Array, Array, float]:
        """Luma of both, whatever the settings say; what has one channel stays."""
        channels = self.pairs.rules.of_preset("")[0]
        return self.pixels() if channels in ("y", "gray", "u", "v") else self.converted(("y", weights))

    def converted(self, planes: Planes) -> tuple[Array, Array, float]:
        """Truth, prediction and range with the channels and luma that are asked for."""
        if planes not in self._made:
            self._made[planes] = self._convert(*planes)
        made: tuple[Array, Array, float] = self._made[planes]
        return made

    def _convert(self, channels: str, weights: str) -> tuple[Array, Array, float]:
        first, second, peak = self.common
        counts = first.shape[2], second.shape[2]
        if channels == "gray":
            return self._one_channel(first, 0), self._one_channel(second, 1), peak
        if channels == "y" and counts != (1, 1):
            if not set(counts) <= {1, 3}:
                raise Conflict(
                    f"{max(counts)} channels have no luma",
                    where=self.pairs.place(self.pair, int(counts[0] in (1, 3))),
                    remedy="Set channels=rgb, or use metrics of all channels.",
                )
            # Beside colours, gray is a colour with three equal channels.
            planes = [luma(np.repeat(p, 3, axis=2) if p.shape[2] == 1 else p, weights, peak) for p in (first, second)]
            return planes[0], planes[1], peak
        if counts[0] != counts[1]:
            raise ShapeMismatch(
                f"{_channels(counts[0])}, and {self.pairs.place(self.pair, 1)} has {_channels(counts[1])}",
                where=self.pairs.place(self.pair, 0),
                remedy="Set channels=y to compare luma, or channels=gray where all channels are equal.",
            )
        return first, second, peak

    def _one_channel(self, pixels: Array, side: int) -> Array:
        if (pixels != pixels[:, :, :1]).any():
            raise Conflict(
                "has colours, and channels=gray needs equal channels",
                where=self.pairs.place(self.pair, side),
                remedy="Set channels=y to compare luma.",
            )
        return np.ascontiguousarray(pixels[:, :, :1])

    def mask(self, region: str = "") -> Array | None:
        """The pixels that count, without the border; None for all."""
        if ("mask", region) not in self._made:
            self._made["mask", region] = self._mask(region)
        mask: Array | None = self._made["mask", region]
        return mask

    def _mask(self, region: str) -> Array | None:
        pairs, row = self.pairs, int(self.pairs.truth_row[self.pair])
        mask = None
        if "mask" in pairs.truth:
            mask = self._extra("mask", row) != 0
        if region:
            if "region" not in pairs.truth:
                raise MissingColumn(
                    "column 'region' is missing", where=pairs.truth.source, remedy="It names a map of regions."
                )
            own = self._extra("region", row) == pairs.region_value(region)
            mask = own if mask is None else mask & own
        return mask

    def _extra(self, name: str, row: int) -> Array:
        value = self.pairs.truth[name][row]
        where = value if isinstance(value, str) else self.pairs.truth.where(row, name)
        grid = open_picture(value, where, self.pairs.layouts[0] or "").pixels[:, :, 0]
        height, width = self.raw[0].pixels.shape[:2]
        if self.pairs.rules.fit == "crop":
            grid = grid[:height, :width]
        if grid.shape != (height, width):
            raise ShapeMismatch(
                f"{_size(grid.shape)} pixels, and the image has {_size((height, width))}",
                where=where,
                remedy="A mask has the size of its image.",
            )
        border = self.pairs.rules.border
        return grid[border : height - border, border : width - border]


class ImagePairs(Pairs):
    """Pictures of both sides, which are opened when they are measured: never more of them at once than threads."""

    rules: Rules = Rules()
    ranges: tuple[float | None, float | None] = (None, None)
    layouts: tuple[str, str] = ("", "")
    raw_formats: tuple[str, str] = ("", "")
    regions: Mapping[str, str] | None = None
    unit_name: str = "image"
    which: float | None = None

    def sight(self, pair: int) -> Sight:
        """Both pictures of a pair."""
        return Sight(self, pair)

    def open_side(self, pair: int, side: int) -> Picture:
        """One picture as it is."""
        rows, records = ((self.truth_row, self.truth), (self.prediction_row, self.prediction))[side]
        plane = self.rules.channels if self.rules.channels in ("y", "u", "v") else ""
        try:
            picture = open_picture(
                records["pixels"][int(rows[pair])],
                self.place(pair, side),
                self.layouts[side],
                plane,
                self.raw_formats[side],
            )
        except InputError:
            _refuse_lost(records, int(rows[pair]))
            raise
        if plane in ("u", "v") and not picture.video:
            raise Conflict(
                f"has no plane {plane}",
                where=self.place(pair, side),
                remedy="Choose other channels: u and v are for video.",
            )
        if picture.video and self.rules.channels == "rgb":
            raise Conflict(
                "has planes Y, U and V, not RGB", where=self.place(pair, side), remedy="Set channels=y, u or v."
            )
        return picture

    def place(self, pair: int, side: int) -> str:
        """Where a picture of a pair stands."""
        rows, records = ((self.truth_row, self.truth), (self.prediction_row, self.prediction))[side]
        row = int(rows[pair])
        value = records["pixels"][row]
        return value if isinstance(value, str) else f"{records.place(row)} (image '{records['image'][row]}')"

    def region_value(self, name: str) -> float:
        """The value of a region that is named, or that is a number."""
        names = self.regions or {}
        text = names.get(name, name)
        try:
            return float(text)
        except ValueError:
            raise UnknownName(
                f"there is no region '{name}'", remedy=nearest(name, names) if names else "Set regions=face=1,sky=2."
            ) from None

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of the true pictures."""
        values = self.truth["pixels"][self.truth_row].tolist()
        return [picture_size(value, self.layouts[0], self.raw_formats[0]) for value in values]

    @cached_property
    def metadata(self) -> Metadata:
        """What was compared, which merged parts must share, and whether images are large enough for MS-SSIM."""
        if not len(self.owner):
            return Metadata(flags={"settings": None}, holds=frozenset({"large"}))
        holds, flags = set(), {"settings": self.settings}
        if min(min(size) for size in self.sizes) - 2 * self.rules.border >= MS_LEAST["tensorflow"]:
            holds.add("large")
        return Metadata(flags=flags, holds=frozenset(holds))

    @property
    def _range_text(self) -> str:
        """The range of each side: as given, else that of the first picture's type."""
        peaks = []
        for side, given in enumerate(self.ranges):
            peak = given
            if peak is None and len(self.owner):
                peak = self.open_side(0, side).peak
            peaks.append("of the type" if peak is None or peak != peak else f"{peak:g}")
        return " and ".join(dict.fromkeys(peaks))

    @property
    def _is_video(self) -> bool:
        """Whether pictures are frames of raw video, of which plane Y is compared."""
        value = self.truth["pixels"][int(self.truth_row[0])] if len(self.owner) else ""
        return isinstance(value, str) and value.partition(INSIDE)[0].lower().endswith(VIDEOS)

    @cached_property
    def settings(self) -> str:
        """The settings that hold before any metric, in words."""
        rules = self.rules
        channels, weights = rules.of_preset("")
        if channels == "auto":
            channels = "y of video" if self._is_video else "all"
        parts = [f"range {self._range_text}", f"channels {channels}"]
        parts += [f"luma {weights}"] if channels == "y" else []
        parts += [f"border {rules.border}", f"quantise {rules.quantise}", f"alpha {rules.alpha}"]
        parts += [f"preset {rules.preset}"] if rules.preset else []
        parts += ["fit crop"] if rules.fit != "error" else []
        parts += [f"unit {self.unit_name}"] if self.unit_name != "image" else []
        return ", ".join(parts)


def _refuse_lost(records: Records, row: int) -> None:
    """An error where a row of a table names a file that is not there."""
    value = records["pixels"][row]
    path = value.partition(INSIDE)[0] if isinstance(value, str) else ""
    if path and records.place(row) != value and not os.path.exists(path):
        remedy = "Paths are meant from the folder of the file that names them."
        raise MissingFile(f"there is no file '{path}'", where=records.place(row), remedy=remedy) from None


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def _channels(count: int) -> str:
    return {1: "gray", 3: "three channels"}.get(count, f"{count} channels")


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> ImagePairs:
    """Join pictures by image, and say what is compared."""
    if policy.missing == "worst":
        raise InvalidSpec("missing='worst' has no meaning: PSNR has no worst value", remedy="Use missing='skip'.")
    rules = rules_of(options)
    pairs = join_rows(truth, prediction, ("image",), policy, "sample_weight", worst=False)
    fields: dict[str, Any] = {name: getattr(pairs, name) for name in Pairs.__dataclass_fields__}
    used = distinct_values(pairs.owner)  # units that lost their row to the policy are left out
    fields |= {"units": pairs.units[used], "owner": np.searchsorted(used, pairs.owner), "partial": pairs.partial[used]}
    fields["weight"] = None if pairs.weight is None else pairs.weight[used]
    unit, grouped = _regroup(pairs, fields, str(options.of("resample")))
    raw = tuple(f"{options.of('size', side)} {options.of('format', side)}".strip() for side in ("truth", "prediction"))
    return ImagePairs(
        **grouped,
        rules=rules,
        ranges=(options.of("range", "truth"), options.of("range", "prediction")),
        layouts=(str(options.of("layout", "truth")), str(options.of("layout", "prediction"))),
        raw_formats=(raw[0], raw[1]),
        regions=options.of("regions"),
        unit_name=unit,
        which=options.of("which"),
    )


def _regroup(pairs: Pairs, fields: dict[str, Any], asked: str) -> tuple[str, dict[str, Any]]:
    """The pairs by clip or scene, where the truth has such a column or the option asks for it."""
    name = asked
    if asked == "auto":
        name = next((column for column in ("scene", "clip") if column in pairs.truth), "image")
    if name == "image":
        return name, fields
    values = pairs.truth.find(name)
    if values is None:
        raise MissingColumn(
            f"column '{name}' is missing, which resample={name} groups by",
            where=pairs.truth.source,
            remedy="Add it, or set resample=image.",
        )
    owner_rows = fields["truth_row"]
    units, (owner,) = codes(values[owner_rows])
    order = np.argsort(owner, kind="stable")
    partial = np.zeros(len(units), dtype=bool)
    partial[owner[fields["partial"][fields["owner"]]]] = True
    weight = None
    if "sample_weight" in pairs.truth:
        weight = np.nan_to_num(constant_in_unit(pairs.truth, "sample_weight", owner, owner_rows, len(units)))
    return name, {
        **fields,
        "units": units,
        "owner": owner[order],
        "truth_row": owner_rows[order],
        "prediction_row": fields["prediction_row"][order],
        "partial": partial,
        "weight": weight,
    }
