"""Metrics of `images`: means over units of what each image scores, and errors pooled over all pixels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Annotated, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.images.measures import WINDOWS
from steelyard.tasks.images.sums import (
    COUNT,
    INFINITE,
    TOTAL,
    UNDEFINED,
    BandSum,
    ColourSum,
    ColumnSum,
    ErrorSum,
    FrameMean,
    Frames,
    Level,
    MsSsimSum,
    PooledSum,
    PsnrSum,
    QualitySum,
    SsimSum,
    ZeroVectors,
)

ENDLESS = float("inf")
Tool = Literal[
    "",
    "wang",
    "basicsr",
    "basicsr-y",
    "basicsr-pt",
    "basicsr-pt-y",
    "wang-down",
    "skimage",
    "skimage-gaussian",
    "torchmetrics",
    "torchmetrics-old",
    "torchmetrics-uniform",
    "matlab",
    "matlab-y",
    "zeros",
    "tensorflow",
    "pytorch-msssim",
    "piq",
    "pyiqa",
    "sewar",
    "edsr",
]


class MeanOfImages(Metric):
    """Base of metrics that are a mean over units of what each scores."""

    small_sample = "t"

    level: Level = "unit"

    @abstractmethod
    def statistic(self) -> FrameMean | ColumnSum:
        """What each unit scores."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.statistic(), Frames())

    def reduce(self, totals: TotalsView) -> Floats:
        columns = totals[self.statistic()]
        value = ratio(columns[:, TOTAL], columns[:, COUNT])
        return np.where((columns[:, INFINITE] > 0) & (columns[:, COUNT] > 0), ENDLESS, value)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Frames for which there is no number."""
        return float(totals[self.statistic()][0, UNDEFINED]), "images without a number"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        settings = totals.metadata.flags.get("settings", "")
        return (f"Settings: {settings}.",) if settings else ()


class OfPixels(MeanOfImages):
    """Base of those that a mask or a region restricts."""

    preset: Tool = ""
    region: str = ""

    @property
    def label(self) -> str:
        """Name what is not the default."""
        parts = [self.title]
        parts += [f"as {self.preset}"] if self.preset else []
        parts += [f"region {self.region}"] if self.region else []
        parts += ["of all frames"] if self.level == "frame" else []
        return ", ".join(parts)


class Psnr(OfPixels):
    r"""PSNR: the peak signal-to-noise ratio of each image, averaged over images.

    $10 \log_{10} \frac{\mathrm{range}^2}{\mathrm{MSE}}$

    The error is over all pixels and channels. The mean is over images; of video the mean over frames, then over clips.
    `level=frame` takes all frames alike, and `level=pooled` is the PSNR of the mean squared error of all pixels, as
    torchmetrics' class and video tools print it. An identical image is infinite, and so is the mean: `cap=100` cuts
    each image there. `preset=piq` and `preset=basicsr-pt` add 1e-8 to the error, so that identical images have 80 dB.

    Undefined when there is no image.

    Pros:
    - What nearly every paper reports; exact, and the same in all tools once the settings are.

    Cons:
    - Blur and a shift by one pixel count as noise does; dB of Y and of RGB cannot be compared.
    """

    name = "psnr"
    title = "PSNR"
    measured_in = "dB"
    reference = "scikit-image 0.26.0, BasicSR 8d56e3a0, torchmetrics 1.9.0, TensorFlow 2.19.0"

    level: Literal["unit", "frame", "pooled"] = "unit"  # type: ignore[assignment]
    cap: Annotated[float, Between(0, 1000)] = 0.0

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Without an end, or up to the cap."""
        return -ENDLESS, float(self.cap) or ENDLESS

    def check(self) -> None:
        if self.level == "pooled" and self.cap:
            raise InvalidSpec("metric 'psnr': cap is of single images", remedy="Leave cap or level=pooled out.")

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(level="pooled"), cls(cap=100.0)

    @property
    def label(self) -> str:
        """Name the level."""
        text = super().label + (", pooled" if self.level == "pooled" else "")
        return f"{text}, at most {self.cap:g}" if self.cap else text

    def statistic(self) -> FrameMean:
        level: Level = "frame" if self.level == "frame" else "unit"
        return PsnrSum(level, self.preset, self.region, float(self.cap))

    def requirements(self) -> tuple[Requirement, ...]:
        if self.level == "pooled":
            return (PooledSum(self.preset, self.region), Frames())
        return super().requirements()

    def reduce(self, totals: TotalsView) -> Floats:
        if self.level != "pooled":
            return super().reduce(totals)
        sums = totals[PooledSum(self.preset, self.region)]
        mean = ratio(sums[:, 0], sums[:, 1])
        with np.errstate(divide="ignore"):
            return np.asarray(-10 * np.log10(mean))

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return (0.0, "") if self.level == "pooled" else super().excluded(totals)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        if self.level == "pooled":
            return super().notes(totals)
        columns = totals[self.statistic()]
        endless, every = int(columns[0, INFINITE]), int(columns[0, COUNT])
        if not endless:
            return super().notes(totals)
        are = "is" if endless == 1 else "are"
        finite = "psnr(cap=100) is" if endless == every else "psnr(cap=100) and psnr(level=pooled) are"
        remark = f"{endless:,} of {count_text(every, 'image')} {are} identical: the mean is infinite; {finite} finite."
        return (remark, *super().notes(totals))


class Rmse(OfPixels):
    r"""RMSE: the root of the mean squared error of each image, averaged over images.

    $\sqrt{\frac{1}{N} \sum (x - y)^2}$

    On the scale of the pixels. `level=pooled` is the root of the mean over all pixels of all images.

    Undefined when there is no image.

    Pros:
    - Identical images have a plain 0.

    Cons:
    - Depends on the range: 8 and 16 bits cannot be compared.
    """

    name = "rmse"
    title = "RMSE"
    better = "lower"
    range = (0.0, ENDLESS)

    level: Literal["unit", "frame", "pooled"] = "unit"  # type: ignore[assignment]

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(level="pooled")

    def statistic(self) -> FrameMean:
        return ErrorSum("frame" if self.level == "frame" else "unit", "rmse", self.preset, self.region)

    def requirements(self) -> tuple[Requirement, ...]:
        if self.level == "pooled":
            return (PooledSum(self.preset, self.region), Frames())
        return super().requirements()

    def reduce(self, totals: TotalsView) -> Floats:
        if self.level != "pooled":
            return super().reduce(totals)
        sums = totals[PooledSum(self.preset, self.region)]
        return np.asarray(np.sqrt(ratio(sums[:, 2], sums[:, 1])))

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return (0.0, "") if self.level == "pooled" else super().excluded(totals)


class Mae(OfPixels):
    r"""MAE: the mean absolute error of each image, averaged over images.

    $\frac{1}{N} \sum |x - y|$

    On the scale of the pixels.

    Undefined when there is no image.

    Pros:
    - Few wrong pixels do not dominate.

    Cons:
    - Depends on the range.
    """

    name = "mae"
    title = "MAE"
    better = "lower"
    range = (0.0, ENDLESS)
    aliases = ("l1",)

    def statistic(self) -> FrameMean:
        return ErrorSum(self.level, "mae", self.preset, self.region)


class Nrmse(OfPixels):
    r"""NRMSE: the root of the squared error relative to that of the truth, averaged over images.

    $\sqrt{\sum (x - y)^2 / \sum x^2}$

    A truth that is black everywhere has none and is left out.

    Undefined when no truth has a pixel above 0.

    Pros:
    - Does not depend on the range.

    Cons:
    - Depends on how bright the truth is.
    """

    name = "nrmse"
    title = "NRMSE"
    better = "lower"
    range = (0.0, ENDLESS)
    reference = "scikit-image 0.26.0"

    def statistic(self) -> FrameMean:
        return ErrorSum(self.level, "nrmse", self.preset, self.region)


class Ssim(OfPixels):
    r"""SSIM: how alike means, contrasts and structure are in small windows, averaged over places, channels and images.

    $\frac{(2 \mu_x \mu_y + C_1)(2 \sigma_{xy} + C_2)}{(\mu_x^2 + \mu_y^2 + C_1)(\sigma_x^2 + \sigma_y^2 + C_2)}$

    `preset` names the tool whose windows, edges and corrections are taken; the default `wang` is the authors' own:
    11×11 Gaussian windows that lie inside. All presets work in double precision.

    Undefined when there is no image, or nothing is inside the masks.

    Pros:
    - Nearer to what people see than PSNR.

    Cons:
    - A number without its preset is not a result: tools differ by 0.1 on the same pair.
    """

    name = "ssim"
    title = "SSIM"
    range = (-1.0, 1.0)
    reference = "scikit-image 0.26.0, BasicSR 8d56e3a0, torchmetrics 1.9.0, piq 0.8.0, pytorch-msssim 1.0.0"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(preset="skimage")

    def statistic(self) -> FrameMean:
        return SsimSum(self.level, self.preset, self.region)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        window = WINDOWS.get(self.preset or _shared_preset(totals), WINDOWS["wang"])
        return (*super().notes(totals), f"{self}: {window.text}.")


def _shared_preset(totals: TotalsView) -> str:
    settings = str(totals.metadata.flags.get("settings", ""))
    return settings.partition("preset ")[2].partition(",")[0]


class MsSsim(MeanOfImages):
    r"""MS-SSIM: SSIM over five sizes of the image, averaged over images.

    $\prod_j c_j^{\beta_j} \cdot s_5^{\beta_5}$

    Contrast at four sizes and SSIM at the smallest, with the authors' exponents. `preset` says what happens to odd
    sides and to channels. `db=true` is $-10 \log_{10}(1 - x)$, as papers on compression print it.

    Undefined when there is no image.

    Pros:
    - Depends less on the distance of the viewer than SSIM does.

    Cons:
    - Needs images of 161 pixels; tools treat odd sides in five ways.
    """

    name = "ms_ssim"
    title = "MS-SSIM"
    aliases = ("msssim",)
    reference = "TensorFlow 2.19.0, pytorch-msssim 1.0.0, piq 0.8.0, torchmetrics 1.9.0"

    preset: Literal["", "tensorflow", "pytorch-msssim", "piq", "torchmetrics", "sewar"] = ""
    db: bool = False

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(preset="sewar"),)

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Decibels have no end."""
        return (-ENDLESS, ENDLESS) if self.db else (-1.0, 1.0)

    def statistic(self) -> FrameMean:
        return MsSsimSum(self.level, self.preset, self.db)


class OfQuality(MeanOfImages):
    """Base of those that look at whole images."""

    kind = "vif"
    preset: str = ""

    def statistic(self) -> FrameMean:
        return QualitySum(self.level, self.kind, self.preset)  # type: ignore[arg-type]


class Vif(OfQuality):
    r"""VIF: the information of the reference that the image still has, in the pixel domain, averaged over images.

    $\frac{\sum \log(1 + g^2 \sigma_x^2 / (\sigma_v^2 + \sigma_n^2))}{\sum \log(1 + \sigma_x^2 / \sigma_n^2)}$

    Of luma (`preset=piq`), or the mean over channels (`torchmetrics`, `sewar`). Pixels are always scaled to 0 to 255,
    for which the noise is meant.

    Undefined when there is no image.

    Pros:
    - Sharpening can pass 1: it sees added contrast.

    Cons:
    - Needs sides of 41 pixels; not bounded above.
    """

    name = "vif"
    title = "VIF"
    aliases = ("vifp", "vif_p")
    range = (0.0, ENDLESS)
    reaches_best = False
    reference = "piq 0.8.0, torchmetrics 1.9.0, sewar 0.4.10"

    preset: Literal["", "piq", "torchmetrics", "sewar"] = ""


class Gmsd(OfQuality):
    r"""GMSD: how unevenly gradients differ, averaged over images.

    $\mathrm{std}\left(\frac{2 g_x g_y + T}{g_x^2 + g_y^2 + T}\right)$

    Of luma. `preset=matlab` divides by n - 1, as the authors' code does.

    Undefined when there is no image.

    Pros:
    - Fast, and sees local damage.

    Cons:
    - Zeros outside the image count: two constants are not 0.
    """

    name = "gmsd"
    title = "GMSD"
    better = "lower"
    range = (0.0, 1.0)
    kind = "gmsd"
    reference = "piq 0.8.0"

    preset: Literal["", "piq", "matlab"] = ""


class Fsim(OfQuality):
    r"""FSIM: how alike phase congruency and gradients are, averaged over images.

    $\frac{\sum S_{PC} S_G \mathrm{PC}}{\sum \mathrm{PC}}$

    Of luma. `preset=matlab` takes the authors' constant and downsampling.

    Undefined when there is no image, or no image has any structure.

    Pros:
    - Weighs places that people look at.

    Cons:
    - Slow; noise in flat images decides.
    """

    name = "fsim"
    title = "FSIM"
    range = (0.0, 1.0)
    kind = "fsim"
    reference = "piq 0.8.0"

    preset: Literal["", "piq", "matlab"] = ""


class Fsimc(Fsim):
    r"""FSIMc: FSIM with colour, averaged over images.

    $\frac{\sum S_{PC} S_G (S_I S_Q)^{0.03} \mathrm{PC}}{\sum \mathrm{PC}}$

    Needs RGB.

    Undefined when there is no image, or no image has any structure.

    Pros:
    - Sees wrong colours.

    Cons:
    - Slow; noise in flat images decides.
    """

    name = "fsimc"
    title = "FSIMc"
    kind = "fsimc"


class Uqi(OfQuality):
    r"""UQI: the universal quality index of 2002, SSIM without constants, averaged over images.

    $\frac{4 \sigma_{xy} \mu_x \mu_y}{(\sigma_x^2 + \sigma_y^2)(\mu_x^2 + \mu_y^2)}$

    8×8 uniform windows as in the paper; `preset=torchmetrics` takes 11×11 Gaussian ones.

    Undefined when there is no image.

    Pros:
    - No constants to choose.

    Cons:
    - Unstable in flat regions, which is why SSIM followed.
    """

    name = "uqi"
    title = "UQI"
    range = (-1.0, 1.0)
    kind = "uqi"
    reference = "torchmetrics 1.9.0"

    preset: Literal["", "paper", "torchmetrics"] = ""


class Ergas(MeanOfImages):
    r"""ERGAS: the error of all bands relative to their means, averaged over images.

    $\frac{100}{s} \sqrt{\frac{1}{B} \sum_b \mathrm{MSE}_b / \mu_b^2}$

    `scale` is the ratio of the pixel sizes. An image with a band of mean 0 has none and is left out.

    Undefined when no image has bands of a mean above 0.

    Pros:
    - Usual for pansharpening.

    Cons:
    - Dark bands dominate.
    """

    name = "ergas"
    title = "ERGAS"
    better = "lower"
    range = (0.0, ENDLESS)
    reference = "torchmetrics 1.9.0, sewar 0.4.10"

    scale: Annotated[float, Between(0, 1000, open_low=True)] = 4.0

    def statistic(self) -> FrameMean:
        return BandSum(self.level, "ergas", float(self.scale))


class Sam(MeanOfImages):
    r"""SAM: the angle between the spectra of pixels, averaged over pixels and images.

    $\cos \alpha = \frac{x \cdot y}{|x| |y|}$

    In radians, or `unit=degree`. A pixel that is zero in all bands has no angle: it is left out and counted.

    Undefined when no pixel has an angle.

    Pros:
    - Does not see brightness: colours alone.

    Cons:
    - Does not see brightness.
    """

    name = "sam"
    title = "SAM"
    better = "lower"
    range = (0.0, 180.0)
    reference = "torchmetrics 1.9.0, sewar 0.4.10"

    unit: Literal["radian", "degree"] = "radian"

    def statistic(self) -> FrameMean:
        return BandSum(self.level, "sam", 4.0, self.unit == "degree")

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), ZeroVectors())

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        zero = int(np.ravel(totals[ZeroVectors()])[0])
        remark = (f"{count_text(zero, 'pixel', 'have')} no angle: a vector is zero.",) if zero else ()
        return (*remark, *super().notes(totals))


class DeltaE(MeanOfImages):
    r"""Colour difference: CIEDE2000 of each pixel, averaged over pixels and images.

    $\frac{1}{N} \sum_i \Delta E_{00}(x_i, y_i)$

    Of sRGB with D65 and 2°. `kind=76` is the plain distance in Lab.

    Undefined when there is no image.

    Pros:
    - About 1 is the smallest difference that people see.

    Cons:
    - Pixel by pixel: noise and wrong colours look alike.
    """

    name = "delta_e"
    title = "Colour difference"
    better = "lower"
    range = (0.0, ENDLESS)
    aliases = ("ciede2000",)
    reference = "scikit-image 0.26.0"

    kind: Literal[2000, 76] = 2000
    region: str = ""

    def statistic(self) -> FrameMean:
        return ColourSum(self.level, "2000" if self.kind == 2000 else "76", self.region)


class ColumnMean(MeanOfImages):
    r"""Column: a number of each image that another program computed, averaged over images.

    $\frac{1}{N} \sum_i v_i$

    LPIPS, DISTS and others need weights of networks, which Steelyard does not run: give their numbers in a column of
    the predictions or in a table (option `scores`), and say which direction is better.

    Undefined when no image has a number.

    Pros:
    - Intervals, slices and comparisons for any number.

    Cons:
    - Nothing checks how the number was computed.
    """

    name = "column"
    title = "Column"
    range = (-ENDLESS, ENDLESS)
    reaches_best = False

    column: str = "lpips"
    direction: Literal["higher", "lower"] = field(default="lower", metadata={"spec": "better"})

    bare = "column"  # what a value without a name sets: column(lpips)

    @property
    def better(self) -> str:  # type: ignore[override]
        """As the setting says."""
        return self.direction

    @property
    def label(self) -> str:
        """The name of the column."""
        return self.column

    def __str__(self) -> str:
        parts = [self.column, *([f"better={self.direction}"] if self.direction != "lower" else [])]
        parts += [f"level={self.level}"] if self.level != "unit" else []
        return f"column({', '.join(parts)})"

    def statistic(self) -> ColumnSum:
        return ColumnSum(self.column, self.level)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return ()


METRICS: tuple[type[Metric], ...] = (
    Psnr,
    Ssim,
    MsSsim,
    Rmse,
    Mae,
    Nrmse,
    Vif,
    Gmsd,
    Fsim,
    Fsimc,
    Uqi,
    Ergas,
    Sam,
    DeltaE,
    ColumnMean,
)
