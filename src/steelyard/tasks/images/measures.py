"""What two pictures of one size differ by: functions of pixels (height, width, channels) of one type."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidSpec, ShapeMismatch
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array

LUMA = {
    "bt601": ((65.481 / 255, 128.553 / 255, 24.966 / 255), 16.0),
    "bt601-round": ((65.481 / 255, 128.553 / 255, 24.966 / 255), 16.0),
    "full": ((0.299, 0.587, 0.114), 0.0),
    "edsr": ((65.738 / 256, 129.057 / 256, 25.064 / 256), 0.0),
}


def luma(pixels: Array, rule: str, peak: float) -> Array:
    """The plane Y of RGB pixels, (height, width, 1), on the scale of the pixels."""
    weights, offset = LUMA[rule.removesuffix("+round")]
    plane = pixels.astype(np.float64) @ np.array(weights) + offset * peak / 255
    if rule == "bt601-round":
        plane = np.floor(plane * (255 / peak) + 0.5) * (peak / 255)
    elif rule.endswith("+round"):
        plane = np.rint(plane * (255 / peak)) * (peak / 255)
    return np.ascontiguousarray(plane[:, :, np.newaxis])


def squared_error(x: Array, y: Array, mask: Array | None = None) -> tuple[float, float, int]:
    """Sums of squared and of absolute differences over all pixels and channels, and how many values there are."""
    if mask is not None:
        x, y = (np.ascontiguousarray(side[mask])[np.newaxis] for side in (x, y))
    if not x.size:
        return 0.0, 0.0, 0
    if x.dtype != np.float64:
        flat = (x.shape[0], -1, 1)
        squares, sizes = _native.image_errors(x.reshape(flat), y.reshape(flat))[0].tolist()
        return float(squares), float(sizes), x.size
    difference = (x - y).ravel()
    return float(np.dot(difference, difference)), float(np.abs(difference).sum()), x.size


def decibels(mean_square: float) -> float:
    """PSNR of a mean squared error of range 1."""
    return math.inf if mean_square == 0 else -10 * math.log10(mean_square)


# SSIM


class Window(Frozen):
    """How SSIM is computed: the window, what stands outside, and what is done before."""

    size: int = 11
    uniform: bool = False
    edges: str = "inner"
    sample: bool = False  # variances times n / (n - 1)
    down: str = ""  # "wang": ssim.m; "blocks": plain blocks
    positive: bool = False

    @property
    def taps(self) -> Array:
        """The window along one axis."""
        return np.full(self.size, 1 / self.size) if self.uniform else gaussian(self.size, 1.5)

    @property
    def text(self) -> str:
        """What a reader must know."""
        kind = "uniform" if self.uniform else "Gaussian"
        edges = {"inner": "inner region", "mirror": "mirrored edges", "replicate": "replicated edges"}
        parts = [f"{self.size}×{self.size} {kind} window", edges.get(self.edges, "zeros outside")]
        parts += ["sample covariance"] if self.sample else []
        parts += ["downsampled above 384 pixels"] if self.down else []
        parts += ["negative contrast set to 0"] if self.positive else []
        return ", ".join(parts)


WANG = Window()
WINDOWS = {
    "wang": WANG,
    "basicsr": WANG,
    "basicsr-y": WANG,
    "wang-down": Window(down="wang"),
    "skimage": Window(7, True, sample=True),
    "skimage-gaussian": Window(sample=True),
    "torchmetrics": Window(edges="mirror"),
    "torchmetrics-old": WANG,
    "torchmetrics-uniform": Window(7, True, "mirror"),
    "matlab": Window(edges="replicate"),
    "zeros": Window(edges="zeros"),
    "tensorflow": WANG,
    "pytorch-msssim": WANG,
    "piq": Window(down="blocks"),
    "pyiqa": Window(positive=True),
    "sewar": Window(11, True),
}


@lru_cache(maxsize=32)
def _gaussian(size: int, sigma: float) -> Array:
    at = np.arange(size) - (size - 1) / 2
    weights = np.exp(-(at * at) / (2 * sigma * sigma))
    weights = (weights + weights[::-1]) / 2
    return np.asarray(weights / weights.sum())


def gaussian(size: int, sigma: float) -> Array:
    """A Gaussian window along one axis, which adds up to 1."""
    return _gaussian(size, float(sigma))


def constants(peak: float) -> tuple[float, float]:
    """C1 and C2 of SSIM."""
    return (0.01 * peak) ** 2, (0.03 * peak) ** 2


def require_side(shape: tuple[int, ...], least: int, metric: str, preset: str) -> None:
    """Raise where a picture is smaller than a window."""
    if min(shape[:2]) < least:
        raise ShapeMismatch(
            f"{shape[1]}×{shape[0]} pixels are too small for {metric} ({preset}), which needs {least}×{least}",
            remedy="Leave the image out, or choose a metric with a smaller window.",
        )


def ssim_map(x: Array, y: Array, peak: float, window: Window) -> tuple[float, Array]:
    """The mean over places and channels, and the index at each place, averaged over channels."""
    values, places = _windows(x, y, peak, window, map=True)
    return float(values[:, 0].mean()), places


def ssim(x: Array, y: Array, peak: float, preset: str = "wang", mask: Array | None = None) -> float:
    """SSIM as a tool computes it; with a mask, the mean over windows whose centre is inside (nan for none)."""
    window = WINDOWS[preset]
    x, y = (reduced(side, window.down) for side in (x, y))
    require_side(x.shape, window.size if window.edges == "inner" else window.size // 2 + 1, "ssim", preset)
    if mask is None:
        return float(_windows(x, y, peak, window)[0][:, 0].mean())
    if window.down and mask.shape != x.shape[:2]:
        raise InvalidSpec(
            f"ssim(preset={preset}) makes large images smaller, and a mask cannot be", remedy="Use preset=wang."
        )
    places = ssim_map(x, y, peak, window)[1]
    cut = (mask.shape[0] - places.shape[0]) // 2, (mask.shape[1] - places.shape[1]) // 2
    inside = mask[cut[0] : cut[0] + places.shape[0], cut[1] : cut[1] + places.shape[1]]
    return float(places[inside].mean()) if inside.any() else math.nan


def _windows(x: Array, y: Array, peak: float, window: Window, **more: Any) -> tuple[Array, Array]:
    count = window.size * window.size
    correction = count / (count - 1) if window.sample else 1.0
    c1, c2 = constants(peak)
    result: tuple[Array, Array] = _native.image_similarity(
        x, y, window.taps, window.edges, c1, c2, correction, window.positive, **more
    )
    return result


def reduced(pixels: Array, rule: str) -> Array:
    """Large pictures made smaller, as some tools do before SSIM: by round(shorter side / 256)."""
    shorter = min(pixels.shape[:2]) / 256
    if rule == "wang":
        factor = max(1, math.floor(shorter + 0.5))
        return pixels if factor == 1 else np.ascontiguousarray(_smoothed(pixels, factor)[::factor, ::factor])
    factor = max(1, round(shorter)) if rule == "blocks" else 1
    return pixels if factor == 1 else blocks(pixels, factor)


def blocks(pixels: Array, factor: int) -> Array:
    """Means of plain blocks; what is left at the ends is cut."""
    height, width = (side // factor for side in pixels.shape[:2])
    part = pixels[: height * factor, : width * factor].astype(np.float64)
    return np.ascontiguousarray(part.reshape(height, factor, width, factor, -1).mean(axis=(1, 3)))


def _smoothed(pixels: Array, factor: int) -> Array:
    """Means of factor × factor pixels with mirrored edges, the edge repeated; the centre of an even one is before."""
    before = (factor + 1) // 2 - 1
    pad = (before, factor - 1 - before)
    padded = np.pad(pixels.astype(np.float64), (pad, pad, (0, 0)), mode="symmetric")
    height, width = pixels.shape[:2]
    rows = np.sum([padded[i : i + height] for i in range(factor)], axis=0)
    return np.asarray(np.sum([rows[:, j : j + width] for j in range(factor)], axis=0) / factor**2)


# MS-SSIM

EXPONENTS = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333])
MS_LEAST = {"tensorflow": 161, "pytorch-msssim": 161, "piq": 161, "torchmetrics": 176, "sewar": 11}


def ms_ssim(x: Array, y: Array, peak: float, preset: str = "tensorflow") -> float:
    """MS-SSIM of five levels, as a tool computes it."""
    require_side(x.shape, MS_LEAST[preset], "ms_ssim", preset)
    contrasts, last = [], np.zeros(0)
    levels = sum(min(x.shape[:2]) >= 11 << k for k in range(5)) if preset == "sewar" else 5
    for level in range(levels):
        values = _windows(x, y, peak, WANG, contrast=True)[0]
        contrasts.append(values[:, 1])
        last = values[:, 0]
        if level == 4 and preset == "torchmetrics":
            last = _windows(x, y, peak, WINDOWS["torchmetrics"])[0][:, 0]
        if level + 1 < levels:
            x, y = (_half(side, preset) for side in (x, y))
    terms = np.array([*contrasts[:-1], last])  # levels × channels
    exponents = EXPONENTS[:levels]
    if preset in ("torchmetrics", "sewar"):
        means = terms.mean(axis=1)
        if preset == "sewar":
            return float(np.prod(means.astype(np.complex128) ** exponents).real)
        return float(np.prod(np.maximum(means, 0) ** exponents))
    return float(np.prod(np.maximum(terms, 0) ** exponents[:, np.newaxis], axis=0).mean())


def _half(pixels: Array, preset: str) -> Array:
    """Means of 2×2 pixels; what happens to odd sides differs between tools."""
    odd = pixels.shape[0] % 2, pixels.shape[1] % 2
    if preset == "sewar":
        return _half_across(pixels)
    if any(odd) and preset != "torchmetrics":
        if preset == "tensorflow":
            pixels = np.pad(pixels, ((0, odd[0]), (0, odd[1]), (0, 0)), mode="symmetric")
        elif preset == "pytorch-msssim":
            pixels = np.pad(pixels, ((odd[0], odd[0]), (odd[1], odd[1]), (0, 0)))
        else:
            pixels = np.pad(pixels, ((1, 0), (1, 0), (0, 0)), mode="edge")
    return np.asarray(_native.image_halve(np.ascontiguousarray(pixels)))


def _half_across(pixels: Array) -> Array:
    """Means of a pixel and the one before along rows, columns and channels, every second one (sewar)."""
    padded = np.pad(pixels.astype(np.float64), ((1, 0), (1, 0), (1, 0)), mode="symmetric")
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        padded = (padded[tuple(low)] + padded[tuple(high)]) / 2
    return np.ascontiguousarray(padded[::2, ::2])


# Universal index, VIF, GMSD, FSIM


def uqi(x: Array, y: Array, preset: str = "paper") -> float:
    """The universal quality index of 2002: 8×8 uniform windows, or torchmetrics' Gaussian ones."""
    require_side(x.shape, 8 if preset == "paper" else 11, "uqi", preset)
    if preset == "paper":
        values, _ = _native.image_similarity(x, y, np.full(8, 1 / 8), "inner", 0.0, 0.0, universal=True)
    else:
        eps = float(np.finfo(np.float64).eps)
        values, _ = _native.image_similarity(x, y, gaussian(11, 1.5), "inner", 0.0, 0.0, universal=True, eps=eps)
    return float(values[:, 0].mean())


def vif(x: Array, y: Array, peak: float, preset: str = "piq") -> float:
    """Visual information fidelity in the pixel domain; x is the reference."""
    require_side(x.shape, 41, "vif", preset)
    eps = 1e-8 if preset == "piq" else 1e-10
    parts = _native.image_information(x, y, 255 / peak, eps).tolist()  # of each channel: what y carries, what there is
    if preset == "piq":
        return float((parts[0][0] + eps) / (parts[0][1] + eps))
    return float(np.mean([carried / there if there else math.nan for carried, there in parts]))


YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])


def yiq(pixels: Array, peak: float) -> Array:
    """Luma and two colour planes on 0 to 255, (planes, height, width); gray has luma alone."""
    scaled = pixels.astype(np.float64) * (255 / peak)
    if pixels.shape[2] != 3:
        return np.moveaxis(scaled[:, :, :1], 2, 0)
    return np.moveaxis(scaled @ YIQ.T, 2, 0)


def _gradient(plane: Array, side: float, middle: float) -> Array:
    """The size of the gradient by a filter of three rows, zeros outside."""
    padded = np.pad(plane, 1)
    across = padded[:, 2:] - padded[:, :-2]
    down = padded[2:] - padded[:-2]
    x = side * (across[:-2] + across[2:]) + middle * across[1:-1]
    y = side * (down[:, :-2] + down[:, 2:]) + middle * down[:, 1:-1]
    return np.asarray(np.sqrt(x * x + y * y))


def _alike(a: Array, b: Array, constant: float) -> Array:
    return np.asarray((2 * a * b + constant) / (a * a + b * b + constant))


def gmsd(x: Array, y: Array, peak: float, preset: str = "piq") -> float:
    """Gradient magnitude similarity deviation."""
    maps = []
    for side in (x, y):
        plane = yiq(side, peak)[0]
        odd = (plane.shape[0] % 2, plane.shape[1] % 2)
        extra = (max(odd),) * 2 if preset == "piq" else odd
        plane = np.pad(plane, ((0, extra[0]), (0, extra[1])))
        maps.append(_gradient(blocks(plane[:, :, np.newaxis], 2)[:, :, 0], 1 / 3, 1 / 3))
    return float(_alike(maps[0], maps[1], 170.0).std(ddof=0 if preset == "piq" else 1))


def fsim(x: Array, y: Array, peak: float, colour: bool, preset: str = "piq") -> float:
    """Feature similarity: phase congruency and gradients, with colour for `fsimc`."""
    rule = "blocks" if preset == "piq" else "wang"
    first, second = (
        np.moveaxis(reduced(np.ascontiguousarray(np.moveaxis(yiq(side, peak), 0, 2)), rule), 2, 0) for side in (x, y)
    )
    eps = float(np.finfo(np.float64).eps) if preset == "piq" else 1e-4
    phases = [_phase_congruency(side[0], eps) for side in (first, second)]
    gradients = [_gradient(side[0], 3 / 16, 10 / 16) for side in (first, second)]
    weight = np.maximum(*phases)
    score = _alike(phases[0], phases[1], 0.85) * _alike(gradients[0], gradients[1], 160.0) * weight
    if colour:
        score = score * np.abs(_alike(first[1], second[1], 200.0) * _alike(first[2], second[2], 200.0)) ** 0.03
    total = float(weight.sum())
    return float(score.sum()) / total if total else math.nan


SCALES, ORIENTATIONS = 4, 4


@lru_cache(maxsize=4)
def _log_gabor(height: int, width: int) -> Array:
    """Filters (orientations, scales, height, width) in the frequency domain, the zero frequency in the corner."""
    rows, columns = (_frequencies(side) for side in (height, width))
    across, down = np.meshgrid(rows, columns, indexing="ij")
    radius = np.fft.ifftshift(np.sqrt(across**2 + down**2))
    theta = np.fft.ifftshift(np.arctan2(-down, across))
    low_pass = 1 / (1 + (radius / 0.45) ** 30)
    radius[0, 0] = 1
    radial = []
    for scale in range(SCALES):
        band = np.exp(-(np.log(radius * 6 * 2**scale) ** 2) / (2 * math.log(0.55) ** 2)) * low_pass
        band[0, 0] = 0
        radial.append(band)
    sigma = math.pi / (ORIENTATIONS * 1.2)
    filters = []
    for orientation in range(ORIENTATIONS):
        angle = orientation * math.pi / ORIENTATIONS
        sine = np.sin(theta) * math.cos(angle) - np.cos(theta) * math.sin(angle)
        cosine = np.cos(theta) * math.cos(angle) + np.sin(theta) * math.sin(angle)
        spread = np.exp(-(np.arctan2(sine, cosine) ** 2) / (2 * sigma**2))
        filters.append([spread * band for band in radial])
    return np.array(filters)


def _frequencies(side: int) -> Array:
    if side % 2:
        return np.linspace(-(side - 1) / 2, (side - 1) / 2, side) / max(side - 1, 1)
    return np.arange(-side / 2, side / 2) / side


def _phase_congruency(plane: Array, eps: float) -> Array:
    height, width = plane.shape
    filters, spectrum = _log_gabor(height, width), np.fft.fft2(plane)
    energy_all, amplitude_all = np.zeros(plane.shape), np.zeros(plane.shape)
    tiny = float(np.finfo(np.float64).eps)
    for bank in filters:
        responses = np.fft.ifft2(spectrum * bank)
        even, odd = responses.real, responses.imag
        amplitude = np.abs(responses)
        sum_even, sum_odd = even.sum(axis=0), odd.sum(axis=0)
        size = np.sqrt(sum_even**2 + sum_odd**2) + eps
        mean_even, mean_odd = sum_even / size, sum_odd / size
        energy = (even * mean_even + odd * mean_odd - np.abs(even * mean_odd - odd * mean_even)).sum(axis=0)
        squares = np.sort((amplitude[0] ** 2).ravel())
        median = squares[(len(squares) - 1) // 2]
        power = (-median / math.log(0.5)) / float((bank[0] ** 2).sum())
        spatial = np.fft.ifft2(bank).real * math.sqrt(height * width)
        own = float((spatial**2).sum())
        cross = sum(float((spatial[s] * spatial[s + 1 :]).sum()) for s in range(SCALES - 1))
        tau = math.sqrt(max((2 * power * own + 4 * power * cross) / 2, 0))
        noise = tau * math.sqrt(math.pi / 2) + 2 * math.sqrt((2 - math.pi / 2) * tau**2)
        energy_all += np.maximum(energy - noise / 1.7, 0)
        amplitude_all += amplitude.sum(axis=0)
    return (energy_all + tiny) / (amplitude_all + tiny)


# Bands and colours


def ergas(x: Array, y: Array, scale: float) -> float:
    """Relative error of all bands; nan where a band of the truth has mean 0."""
    if x.dtype == np.float64:
        errors = ((x - y) ** 2).mean(axis=(0, 1))
    else:
        errors = _native.image_errors(x, y)[:, 0] / (x.shape[0] * x.shape[1])
    means = x.mean(axis=(0, 1), dtype=np.float64)
    if (means == 0).any():
        return math.nan
    return float(100 / scale * math.sqrt((errors / means**2).mean()))


def spectral_angle(x: Array, y: Array) -> tuple[float, int]:
    """The mean angle between the pixels' vectors in radians, and how many pixels have a zero vector and no angle."""
    if x.shape[2] < 2:
        raise ShapeMismatch("one band has no angle", remedy="Leave sam out: it needs two bands or more.")
    a, b = x.astype(np.float64), y.astype(np.float64)
    sizes = np.sqrt((a * a).sum(axis=2) * (b * b).sum(axis=2))
    there = sizes > 0
    if not there.any():
        return math.nan, x.shape[0] * x.shape[1]
    cosine = np.clip((a * b).sum(axis=2)[there] / sizes[there], -1, 1)
    return float(np.arccos(cosine).mean()), int((~there).sum())


_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])


def to_lab(pixels: Array, peak: float) -> Array:
    """CIE Lab of sRGB pixels, D65 and 2°."""
    rgb = pixels.astype(np.float64) / peak
    linear = np.where(rgb > 0.04045, ((np.maximum(rgb, 0) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    xyz = linear @ _XYZ.T / _WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def delta_e_76(one: Array, other: Array) -> Array:
    """The distance of Lab colours."""
    return np.asarray(np.sqrt(((one - other) ** 2).sum(axis=-1)))


def delta_e_2000(one: Array, other: Array) -> Array:
    """CIEDE2000 of Lab colours."""
    (l1, a1, b1), (l2, a2, b2) = (np.moveaxis(side, -1, 0) for side in (one, other))
    c_mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    grey = 0.5 * (1 - np.sqrt(c_mean**7 / (c_mean**7 + 25.0**7)))
    a1, a2 = a1 * (1 + grey), a2 * (1 + grey)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.arctan2(b, a) % (2 * np.pi) for a, b in ((a1, b1), (a2, b2)))
    coloured = c1 * c2 != 0
    turn = h2 - h1
    turn = np.where(turn > np.pi, turn - 2 * np.pi, np.where(turn < -np.pi, turn + 2 * np.pi, turn))
    turn = np.where(coloured, turn, 0)
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(turn / 2)
    h_sum = h1 + h2
    far = np.abs(h1 - h2) > np.pi
    h_mean = np.where(far, np.where(h_sum < 2 * np.pi, h_sum + 2 * np.pi, h_sum - 2 * np.pi), h_sum) / 2
    h_mean = np.where(coloured, h_mean, h_sum)
    l_mean, c_mean = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * np.cos(h_mean - np.pi / 6)
        + 0.24 * np.cos(2 * h_mean)
        + 0.32 * np.cos(3 * h_mean + np.pi / 30)
        - 0.20 * np.cos(4 * h_mean - 63 * np.pi / 180)
    )
    s_l = 1 + 0.015 * (l_mean - 50) ** 2 / np.sqrt(20 + (l_mean - 50) ** 2)
    s_c, s_h = 1 + 0.045 * c_mean, 1 + 0.015 * c_mean * t
    rotation = -np.sin(2 * np.radians(30 * np.exp(-(((np.degrees(h_mean) - 275) / 25) ** 2))))
    rotation = rotation * 2 * np.sqrt(c_mean**7 / (c_mean**7 + 25.0**7))
    d_l, d_c, d_h = (l2 - l1) / s_l, (c2 - c1) / s_c, d_h / s_h
    return np.asarray(np.sqrt(np.maximum(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h, 0)))
