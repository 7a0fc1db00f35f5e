"""Maps of depth measured on a device, by the rules of `depth.rules` and its kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from steelyard.core.errors import Unsupported
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.partial.tensors import device_of
from steelyard.tasks.depth.measured import ENDLESS, HOLES, LOST, THRESHOLDS
from steelyard.tasks.depth.pixels import crop_box
from steelyard.tasks.depth.rules import DepthRules, readings, rules_of
from steelyard.tasks.fields.device import (
    Fault,
    FieldCounter,
    at_places,
    count,
    divided,
    fill_rows,
    is_marked,
    medians,
    over,
    sorted_values,
    total,
)


def counter(options: Options, device: Any) -> DepthCounter:
    """The counter of these options on a device."""
    rules = rules_of(options)
    if rules.align_per != "image":
        raise Unsupported(
            f"option `align_per={rules.align_per}` needs all maps before it measures any",
            remedy="Leave device out, or set scale_by.",
        )
    return DepthCounter(device_of(device), rules, options)


class DepthCounter(FieldCounter):
    """The columns of `depth.measured`, for each image."""

    def __init__(self, device: torch.device, rules: DepthRules, options: Options) -> None:
        super().__init__(device, readings(options), options)
        self.rules = rules

    def faults(self, rows: Array) -> tuple[Fault, ...]:
        rules, endless = self.rules, np.zeros(0)
        if not math.isfinite(rules.high):
            endless = rows[:, ENDLESS]
        return (
            Fault(rows[:, HOLES] if rules.holes == "error" else np.zeros(0)),
            Fault(rows[:, LOST], "aligned by no factor: their median is 0 or infinite", "Set align=affine."),
            Fault(endless, "infinitely far", "Set the option `max` to the depth that they count as."),
        )

    def measure(self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        truth, predicted = truth[..., 0], predicted[..., 0]
        if self.rules.holes == "fill":
            known = torch.isfinite(predicted) & (predicted > 0)
            predicted = fill_rows(predicted.unsqueeze(-1), known, -1.0)[..., 0]
        valid = self._valid(truth, mask)
        holes = count(valid & ~torch.isfinite(predicted))
        scale, shift = self._alignment(truth, predicted, mask)
        lost = torch.where(torch.isnan(scale), count(valid), 0.0)
        valid = valid & (count(valid) >= self.rules.least)[:, None, None]
        n = count(valid)
        g, x = truth.to(torch.float64), predicted.to(torch.float64)
        flat = torch.zeros_like(n)
        if self.rules.align.startswith("affine"):
            least, most = (torch.where(valid, x, end).flatten(1) for end in (torch.inf, -torch.inf))
            flat = ((n > 1) & (least.amin(1) == most.amax(1))).to(torch.float64)
        low, high = (self.rules.low, self.rules.high) if self.rules.clamp else (-math.inf, math.inf)
        p, far = self._depth(x, scale, shift)
        clamped = count(valid & (p < low)), count(valid & (p > high))
        p = p.clamp(low, high)
        aligned = (n > 0) & (self.rules.align != "none")
        extent = torch.isfinite(g) & (g > 0)
        ends = [torch.where(extent, g, end).flatten(1) for end in (torch.inf, -torch.inf)]
        known = extent.flatten(1).any(1)
        columns = [
            *self._sums(g, p, valid, n),
            *clamped,
            *self._logs(g, p, valid)[1],
            torch.where(aligned, scale, torch.nan),
            torch.where(aligned, shift, torch.nan),
            holes,
            torch.full_like(n, truth[0].numel()),
            flat,
            torch.where(known, ends[0].amin(1), torch.nan),
            torch.where(known, ends[1].amax(1), torch.nan),
            count(valid & far),
            lost,
        ]
        return torch.stack(columns, 1)

    def _valid(self, truth: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Which pixels count; bounds are compared in the type of the maps."""
        kind = np.float32 if truth.dtype == torch.float32 else np.float64
        low, high = float(kind(self.rules.low)), float(kind(self.rules.high))
        if self.rules.closed:
            low = low or float(np.finfo(kind).tiny)
        inside = (truth >= low) & (truth <= high) if self.rules.closed else (truth > low) & (truth < high)
        top, bottom, left, right = crop_box(self.rules.crop, tuple(truth.shape[1:]), "gathered truth")
        kept = torch.zeros_like(inside)
        kept[:, top:bottom, left:right].fill_(True)
        valid = inside & kept & torch.isfinite(truth)
        return valid if mask is None else valid & is_marked(mask)

    def _alignment(
        self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and shift of each image."""
        rules = self.rules
        one = torch.ones(len(truth), dtype=torch.float64, device=self.device)
        if rules.align == "none":
            return one * rules.scale_by, torch.zeros_like(one)
        chosen = self._valid(truth, mask) & torch.isfinite(predicted)
        truth, predicted, chosen = self._thinned(truth, predicted, chosen)
        in_disparity = rules.align_in == "disparity"
        x, y = predicted.to(torch.float64), truth.to(torch.float64)
        x = _inverse(x) if in_disparity != rules.disparity else x
        y = 1.0 / y if in_disparity else y
        if rules.align.startswith("median"):
            return _ratio(chosen, y, x, lower=rules.align == "median-lower"), torch.zeros_like(one)
        chosen = chosen & torch.isfinite(x)
        if rules.positive:
            chosen = chosen & (x > 0)
        n = count(chosen)
        mean_x, mean_y = divided(total(chosen, x), n), divided(total(chosen, y), n)
        a, b = x - mean_x[:, None, None], y - mean_y[:, None, None]
        xx, xy = total(chosen, a * a), total(chosen, a * b)
        if rules.align == "scale":
            return divided(xy + n * mean_x * mean_y, xx + n * mean_x * mean_x), torch.zeros_like(one)
        constant = (xx <= 1e-24 * n * mean_x * mean_x) | (xx == 0.0)
        scale = divided(xy, xx)
        shift = mean_y - scale * mean_x
        shortest = mean_y / (mean_x * mean_x + 1.0)
        if rules.align == "affine-midas":
            shortest = torch.zeros_like(shortest)
        return torch.where(constant, mean_x * shortest, scale), torch.where(constant, shortest, shift)

    def _thinned(
        self, truth: torch.Tensor, predicted: torch.Tensor, chosen: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The maps with at most `align_size` pixels on the longer side, by nearest pixels."""
        size, longer = self.rules.align_size, max(truth.shape[1:])
        if not size or longer <= size:
            return truth, predicted, chosen
        share = size / longer
        for axis, n in ((1, truth.shape[1]), (2, truth.shape[2])):
            at = torch.arange(max(int(n * share), 1), dtype=torch.float64, device=self.device)
            places = over(at, share).to(torch.int64).clamp(max=n - 1)
            truth, predicted = truth.index_select(axis, places), predicted.index_select(axis, places)
            chosen = chosen.index_select(axis, places)
        return truth, predicted, chosen

    def _depth(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Predicted depths before they are clamped, and which of them are infinitely far."""
        rules = self.rules
        in_disparity = rules.align != "none" and rules.align_in == "disparity"
        invert = rules.disparity != in_disparity
        scale, shift = scale[:, None, None], shift[:, None, None]
        used = (scale != 0) & invert  # a scale of 0 leaves the shift
        p = scale * torch.where(used, _inverse(x), x) + shift
        if in_disparity:
            p = 1.0 / torch.where(p > rules.floor, p, rules.floor)
        far = torch.isinf(x)
        if not in_disparity and not (rules.clamp and math.isfinite(rules.high)):
            far = far | (used & (x <= 0))
        p = torch.where(far, rules.high, p)
        return torch.where(torch.isnan(x), rules.low, p), far

    def _sums(self, g: torch.Tensor, p: torch.Tensor, valid: torch.Tensor, n: torch.Tensor) -> list[torch.Tensor]:
        """The columns of `SUMS`, and pixels below each threshold."""
        error = p - g
        size, near = error.abs(), 1.0 / g
        relative = size * near
        logs, _ = self._logs(g, p, valid)
        columns = [n, total(valid, size), total(valid, relative), total(valid, relative * size)]
        columns += [total(valid, relative * relative), total(valid, error * error), *logs]
        columns += [count(valid & (p < t * g) & (g < t * p)) for t in THRESHOLDS]
        return columns

    def _logs(
        self, g: torch.Tensor, p: torch.Tensor, valid: torch.Tensor
    ) -> tuple[list[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        """Sums of logarithms and inverse depths, and the moments of the logarithms; 0 where a depth is not above 0."""
        bright = ~(valid & ~(p > 0)).flatten(1).any(1)
        chosen = valid & bright[:, None, None]
        n = count(chosen)
        ratio = p / g
        plain = (ratio > 1e-290) & (ratio < 1e290)
        q = torch.where(plain, torch.log(ratio), torch.log(p) - torch.log(g))
        inverse = 1000.0 * (1.0 / p - 1.0 / g).abs()
        mean = divided(total(chosen, q), n)
        mean = torch.where(torch.isfinite(mean), mean, torch.nan)
        centred = q - mean[:, None, None]
        sums = [n, total(chosen, q), total(chosen, q.abs()), total(chosen, q * q)]
        sums += [total(chosen, inverse), total(chosen, inverse * inverse)]
        return sums, (mean, total(chosen, centred * centred))


def _inverse(values: torch.Tensor) -> torch.Tensor:
    """1/v; infinite for 0 and negative values."""
    return torch.where(values <= 0, torch.inf, 1.0 / values)


def _ratio(chosen: torch.Tensor, truth: torch.Tensor, predicted: torch.Tensor, *, lower: bool) -> torch.Tensor:
    """The ratio of the medians of each image: 1 where no pixel is chosen, nan where no factor aligns it."""
    if lower:
        middle = (chosen.flatten(1).sum(1) - 1) // 2
        above, below = (at_places(sorted_values(chosen, side), middle) for side in (truth, predicted))
    else:
        above, below = medians(chosen, truth), medians(chosen, predicted)
    good = torch.isfinite(below) & (below != 0)
    return torch.where(chosen.flatten(1).any(1), torch.where(good, above / below, torch.nan), 1.0)
