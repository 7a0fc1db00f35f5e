"""The options of depth: which pixels count, and what happens to a prediction before it is compared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidNumber, InvalidSetting
from steelyard.core.frozen import Frozen
from steelyard.core.options import Option, Options
from steelyard.maps.fields import Reading
from steelyard.tasks.depth.pixels import (
    BOUNDARY_RATIOS,
    NO_SUMS,
    SUMS,
    Array,
    Change,
    Fit,
    ImageRow,
    as_pair,
    boundary_score,
    crop_box,
    fill_holes,
    inverse,
    parse_crop,
    refuse_holes,
)
from steelyard.tasks.fields.data import readings_of
from steelyard.tasks.fields.options import Chosen, preset_option

PRESETS: dict[str, dict[str, Any]] = {
    "kitti_eigen": {"png_scale": 256.0, "min": 1e-3, "max": 80.0, "crop": "garg"},
    "kitti_depth": {"png_scale": 256.0, "min": 0.0, "clamp": "no", "holes": "fill"},
    "nyu": {"png_scale": 1000.0, "min": 1e-3, "max": 10.0, "crop": "nyu"},
    "dav2": {"bounds": "closed", "clamp": "no", "resize": "corners", "min_pixels": 10.0},
    "affine_invariant": {"align": "affine", "align_in": "depth"},
    "midas": {"prediction": "disparity", "align": "affine", "align_in": "disparity"},
}
OPTIONS = (
    preset_option(PRESETS),
    Option(
        "min",
        "number",
        "Least true depth that counts, and the least that a prediction is clamped to. Default: 0.001.",
        default=0.001,
        sides=False,
        metavar="DEPTH",
    ),
    Option(
        "max",
        "number",
        "Largest true depth that counts, and the largest that a prediction is clamped to. Default: no limit.",
        sides=False,
        minimum=0,
        metavar="DEPTH",
    ),
    Option(
        "bounds",
        "choice",
        "Whether true depths of exactly min and max count (closed) or not (open, the default).",
        choices=("open", "closed"),
        default="open",
        sides=False,
    ),
    Option(
        "crop",
        "text",
        "Part of the image that counts: garg, eigen, nyu or benchmark; + chains them, as in benchmark+garg.",
        default="none",
        sides=False,
        metavar="CROP",
    ),
    Option(
        "clamp",
        "choice",
        "Clamp predictions to min and max after the alignment. Default: yes.",
        choices=("yes", "no"),
        default="yes",
        sides=False,
    ),
    Option(
        "holes",
        "choice",
        "Predicted pixels without a finite value: an error (the default), the worst depth "
        "(infinite counts as max, nan as min), or filled from the row as KITTI does.",
        choices=("error", "worst", "fill"),
        default="error",
        sides=False,
    ),
    Option(
        "prediction",
        "choice",
        "What the predictions are: depth (the default) or disparity, which is 1/depth up to a factor.",
        choices=("depth", "disparity"),
        default="depth",
        sides=False,
    ),
    Option(
        "align",
        "choice",
        "Fit predictions to the truth: by medians, a scale, or a scale and a shift (affine). Default: none.",
        choices=("none", "median", "median-lower", "scale", "affine", "affine-midas"),
        default="none",
        sides=False,
    ),
    Option(
        "align_in",
        "choice",
        "Fit depth (the default) or disparity, 1/depth.",
        choices=("depth", "disparity"),
        default="depth",
        sides=False,
    ),
    Option(
        "align_per",
        "choice",
        "Fit each image (the default), each sequence (the folder of the image), or all images at once.",
        choices=("image", "sequence", "dataset"),
        default="image",
        sides=False,
    ),
    Option(
        "align_fit",
        "choice",
        "Pixels that a fit of disparities uses: all valid ones (the default), or those whose prediction is positive.",
        choices=("valid", "positive"),
        default="valid",
        sides=False,
    ),
    Option(
        "align_size",
        "number",
        "Fit on every n-th pixel, so that the longer side has at most this many.",
        minimum=0,
        sides=False,
        metavar="PIXELS",
    ),
    Option(
        "scale_by",
        "number",
        "A fixed factor for predictions, instead of a fit.",
        minimum=0,
        sides=False,
        metavar="FACTOR",
    ),
    Option(
        "disparity_floor",
        "number",
        "Least disparity after a fit of disparities. Default: 1/max, or 0.001.",
        minimum=0,
        sides=False,
        metavar="VALUE",
    ),
    Option(
        "resize_in",
        "choice",
        "Resize the depth (the default) or the disparity of predictions.",
        choices=("depth", "disparity"),
        default="depth",
        sides=False,
    ),
    Option(
        "min_pixels",
        "number",
        "Leave out images with fewer valid pixels than this.",
        default=0.0,
        sides=False,
        metavar="N",
    ),
)


class DepthRules(Frozen):
    """The options as they are used; see `OPTIONS`."""

    preset: str = "none"
    changed: str = ""  # options that the user gives and that the preset sets otherwise
    low: float = 1e-3
    high: float = math.inf
    closed: bool = False
    crop: tuple[str, ...] = ()
    clamp: bool = True
    holes: str = "error"
    disparity: bool = False
    align: str = "none"
    align_in: str = "depth"
    align_per: str = "image"
    positive: bool = False
    align_size: int = 0
    scale_by: float = 1.0
    floor: float = 1e-3
    resize: str = "off"
    resize_in: str = "depth"
    least: int = 0

    def prepared(self, truth: Array, prediction: Array) -> tuple[Array, Array]:
        """Both maps as they are packed: one type, and holes of the prediction filled where the rules say so."""
        truth, prediction = as_pair(truth, prediction)
        return truth, fill_holes(prediction) if self.holes == "fill" else prediction

    def pack(self, truth: Array, prediction: Array, mask: Array | None, where: str) -> tuple[Array, Array, int]:
        """The valid pixels of both maps, and how many of the predicted ones are not finite.

        Bounds are compared in the type of the maps, as the references do: 0.001 in 32 bits is not above a `min` of
        0.001.
        """
        box = crop_box(self.crop, truth.shape, where)
        mask = None if mask is None else np.ascontiguousarray(mask, dtype=np.uint8)
        low, high = self._bounds(truth)
        g, x, bad, first = _native.depth_pack(truth, prediction, mask, *box, low, high, self.closed)
        if bad and self.holes == "error":
            refuse_holes(bad, first, truth.shape[1], float(prediction.flat[first]), where)
        return g, x, bad

    def _bounds(self, truth: Array) -> tuple[float, float]:
        """`low` and `high` in the type of the truth; a depth of 0 is never valid."""
        low, high = (float(truth.dtype.type(end)) for end in (self.low, self.high))
        return (low or float(np.finfo(truth.dtype).tiny), high) if self.closed else (low, high)

    def valid(self, truth: Array, mask: Array | None, where: str) -> Array:
        """Which pixels count."""
        top, bottom, left, right = crop_box(self.crop, truth.shape, where)
        low, high = self._bounds(truth)
        inside = (truth >= low) & (truth <= high) if self.closed else (truth > low) & (truth < high)
        usable = np.zeros(truth.shape, dtype=bool)
        usable[top:bottom, left:right] = (inside & np.isfinite(truth))[top:bottom, left:right]
        return usable if mask is None else usable & (mask != 0)

    def moments(self, g: Array, x: Array) -> Fit:
        """What a fit of these pixels rests on."""
        in_disparity = self.align_in == "disparity"
        if in_disparity != self.disparity:
            x = inverse(x)
            if not np.isfinite(x).all():  # infinitely far or near: nothing to fit
                g, x = g[np.isfinite(x)], x[np.isfinite(x)]
        n, mx, my, xx, xy, yy = _native.depth_fit(x, g, in_disparity, self.positive).tolist()
        return Fit(int(n), (mx, my), (xx, xy, yy))

    def thinned(self, *maps: Array) -> tuple[Array, ...]:
        """The maps with at most `align_size` pixels on the longer side, by nearest pixels."""
        shape = maps[0].shape
        share = self.align_size / max(shape)
        if not self.align_size or share >= 1:
            return maps
        down, across = (np.minimum((np.arange(max(int(n * share), 1)) / share).astype(np.int64), n - 1) for n in shape)
        return tuple(np.ascontiguousarray(side[np.ix_(down, across)]) for side in maps)

    def change(self, g: Array, x: Array, fit: Fit | None, where: str) -> Change:
        """What happens to predictions, with the alignment of these pixels, or of `fit` where it is of more images."""
        low, high = (self.low, self.high) if self.clamp else (-math.inf, math.inf)
        in_disparity = self.align != "none" and self.align_in == "disparity"
        plain = Change(self.disparity != in_disparity, in_disparity, self.scale_by, 0.0, self.floor, low, high)
        if self.align == "none":
            return plain
        if self.align.startswith("median"):
            return replace(plain, scale=self._ratio(g, x, where))
        moments = self.moments(g, x) if fit is None else fit
        scale, shift = moments.scale(), 0.0
        if self.align != "scale":
            scale, shift = moments.affine(like_midas=self.align == "affine-midas")
        return replace(plain, scale=scale, shift=shift, invert=plain.invert and scale != 0)

    def _ratio(self, g: Array, x: Array, where: str) -> float:
        if not len(g):
            return 1.0
        p = inverse(x) if self.disparity != (self.align_in == "disparity") else x
        g = 1.0 / g if self.align_in == "disparity" else g
        if self.align == "median-lower":
            k = (len(g) - 1) // 2
            top, bottom = float(np.partition(g, k)[k]), float(np.partition(p, k)[k])
        else:
            top, bottom = float(np.median(g)), float(np.median(p))
        if bottom and math.isfinite(bottom):
            return top / bottom
        raise InvalidNumber(
            f"the median of the prediction is {bottom:g}: no factor aligns it",
            where=where,
            remedy="Set align=affine, or leave the image out.",
        )

    def fitted(self, truth: Array, prediction: Array, mask: Array | None, where: str) -> tuple[Array, Array]:
        """The pixels that an alignment is fitted to: valid, with a finite prediction."""
        if self.align_size and max(truth.shape) > self.align_size:
            usable = self.valid(truth, mask, where).astype(np.uint8)
            small = self.thinned(truth, prediction, usable)
            g, x, bad = replace(self, crop=()).pack(small[0], small[1], small[2], where)
        else:
            g, x, bad = self.pack(truth, prediction, mask, where)
        if bad:
            finite = np.isfinite(x)
            g, x = g[finite], x[finite]
        return g, x

    def measure(
        self,
        truth: Array,
        prediction: Array,
        mask: Array | None,
        thresholds: Array,
        where: str,
        fit: Fit | None = None,
        *,
        sums: bool = True,
    ) -> tuple[ImageRow, Pixels]:
        """The row of an image, without sums where they are not needed, and its pixels with what happens to them."""
        g, x, bad = self.pack(truth, prediction, mask, where)
        if self.align == "none" or fit is not None or not (bad or self.align_size):
            change = self.change(g, x, fit, where)
        else:
            change = self.change(*self.fitted(truth, prediction, mask, where), None, where)
        if len(g) < self.least:
            g, x = g[:0], x[:0]
        aligned = (change.scale, change.shift) if self.align != "none" and len(g) else (math.nan, math.nan)
        pixels = self.pixels(g, x, bad, change, where)
        flat = self.align.startswith("affine") and len(g) > 1 and bool((x == x[0]).all())
        row = pixels.row(thresholds) if sums else NO_SUMS
        aligned_row = replace(row, scale=aligned[0], shift=aligned[1], flat=flat)
        return replace(aligned_row, holes=float(bad), pixels=float(truth.size)), pixels

    def pixels(self, g: Array, x: Array, bad: int, change: Change, where: str) -> Pixels:
        """Valid pixels with what happens to them: of `bad` holes, infinite is the farthest depth and nan the nearest.

        Holes are filled after the alignment. What is infinitely far needs a `max`.
        """
        endless = change.invert and not change.disparity and math.isinf(change.high)
        if not bad and not endless:
            return Pixels(g, x, change, change)
        far = np.isinf(x) | (endless & (x <= 0))
        if far.any() and math.isinf(self.high):
            raise InvalidNumber(
                f"{count_text(int(far.sum()), 'predicted pixel', 'are')} infinitely far",
                where=where,
                remedy="Set the option `max` to the depth that they count as.",
            )
        depth = np.where(far, self.high, replace(change, low=-math.inf, high=math.inf).apply(x))
        return Pixels(g, np.where(np.isnan(x), self.low, depth), Change(low=change.low, high=change.high), change)

    def edges(
        self, truth: Array, prediction: Array, mask: Array | None, change: Change, *, pooled: bool, where: str
    ) -> float:
        """The boundary score of an image: of all pixels, or with `pooled` of pairs of valid ones."""
        usable = self.valid(truth, mask, where).astype(np.uint8) if pooled else None
        if not change.is_identity:
            truth = truth.astype(np.float64)
            prediction = replace(change, low=-math.inf, high=math.inf).apply(prediction)
        if usable is not None:
            usable &= np.isfinite(prediction)
        # The ratio of inverse depths is that of depths the other way round.
        counts = _native.depth_edges(truth, prediction, usable, BOUNDARY_RATIOS)
        return boundary_score(np.asarray(counts), pooled=pooled)


class Pixels(Frozen):
    """The valid pixels of an image: true depths, predictions, what happens to these, and to those of the whole map."""

    g: Array
    x: Array
    change: Change
    of_map: Change

    def row(self, thresholds: Array) -> ImageRow:
        """What is summed over them."""
        change = self.change
        sums, moments, below = _native.depth_sums(
            self.g,
            self.x,
            change.invert,
            change.disparity,
            change.scale,
            change.shift,
            change.floor,
            change.low,
            change.high,
            thresholds,
        )
        low, high = sums[len(SUMS) :].tolist()
        return ImageRow(sums[: len(SUMS)], moments, below, clamped=(low, high))

    def band(self, low: float, high: float) -> Pixels:
        """Those whose true depth is from `low` to below `high`."""
        inside = (self.g >= low) & (self.g < high)
        return replace(self, g=self.g[inside], x=self.x[inside])

    @property
    def depth(self) -> Array:
        """The predicted depths."""
        return self.change.apply(self.x)


def rules_of(options: Options) -> DepthRules:
    """What the options and the preset say; what contradicts itself is an error."""
    chosen = Chosen.from_presets(options, PRESETS)
    low, high = float(chosen.of("min")), float(math.inf if chosen.of("max") is None else chosen.of("max"))
    if not 0 <= low < high:
        raise InvalidSetting(
            f"options min and max: {low:g} and {high:g}", remedy="Give a min of 0 or more, less than max."
        )
    align, per, factor = str(chosen.of("align")), str(chosen.of("align_per")), chosen.of("scale_by")
    if align == "none" and per != "image":
        raise Conflict(f"option `align_per={per}` needs an alignment", remedy="Set `align=affine` or `align=scale`.")
    if align.startswith("median") and per != "image":
        raise Conflict(
            f"option `align={align}` fits each image, and `align_per` is {per}",
            remedy="Use `align=scale` or `align=affine`.",
        )
    if factor is not None and align != "none":
        raise Conflict("option `scale_by` replaces a fit, and `align` is set", remedy="Leave one of them out.")
    refuse_unused(options, align, str(chosen.of("align_in")), str(chosen.of("resize")))
    floor, size, least = chosen.of("disparity_floor"), chosen.of("align_size"), float(chosen.of("min_pixels"))
    for name, value, lowest in (("align_size", 1 if size is None else size, 1), ("min_pixels", least, 0)):
        if value < lowest or value % 1:
            raise InvalidSetting(f"option {name}: {value:g}", remedy=f"Give a whole number from {lowest} on.")
    if floor is None:
        floor = 1.0 / high if chosen.name == "midas" and math.isfinite(high) else 1e-3
    return DepthRules(
        preset=chosen.name,
        changed=", ".join(chosen.changed()),
        low=low,
        high=high,
        closed=chosen.of("bounds") == "closed",
        crop=parse_crop(chosen.of("crop")),
        clamp=chosen.of("clamp") == "yes",
        holes=str(chosen.of("holes")),
        disparity=chosen.of("prediction") == "disparity",
        align=align,
        align_in=str(chosen.of("align_in")),
        align_per=per,
        positive=chosen.of("align_fit") == "positive",
        align_size=int(size or 0),
        scale_by=float(factor or 1.0),
        floor=float(floor),
        resize=str(chosen.of("resize")),
        resize_in=str(chosen.of("resize_in")),
        least=int(least),
    )


def refuse_unused(options: Options, align: str, align_in: str, resize: str) -> None:
    """Raise for options that are given and have no effect."""
    unused = {
        "align_in": (align == "none", "align"),
        "align_size": (align == "none", "align"),
        "align_fit": (align == "none" or align_in != "disparity", "align and align_in=disparity"),
        "disparity_floor": (align == "none" or align_in != "disparity", "align and align_in=disparity"),
        "resize_in": (resize == "off", "resize"),
    }
    for name, (useless, needed) in unused.items():
        if useless and name in options.values:
            raise Conflict(f"option {name} has no effect", remedy=f"Set {needed} too, or leave {name} out.")


def readings(options: Options) -> tuple[Reading, Reading]:
    """How both sides are read: 0 means no value in the truth, and a depth of 0 in predictions."""
    chosen = Chosen.from_presets(options, PRESETS)
    truth, prediction = readings_of(chosen, "depth", 1, png_scale=chosen.setting("png_scale", 256.0))
    return truth, replace(prediction, zero=False)
