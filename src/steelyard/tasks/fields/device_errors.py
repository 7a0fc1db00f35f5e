"""Errors of disparity and flow measured on a device, by the rules of `fields.errors` and its kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from steelyard.core.errors import ShapeMismatch
from steelyard.core.options import Options
from steelyard.partial.tensors import device_of
from steelyard.tasks.fields.device import (
    FieldCounter,
    at_places,
    count,
    fill_rows,
    is_marked,
    over,
    sorted_values,
    total,
)
from steelyard.tasks.fields.errors import MOST_LENGTH, device_request, speed_range
from steelyard.tasks.fields.options import Chosen
from steelyard.tasks.fields.presets import Presets, error_settings


def error_counter(options: Options, presets: Presets, channels: int, device: Any) -> ErrorCounter:
    """The counter of these options on a device."""
    chosen = Chosen.from_presets(options, presets)
    return ErrorCounter(device_of(device), SimpleNamespace(**error_settings(chosen, channels)), options)


class ErrorCounter(FieldCounter):
    """The sums of `device_request`, for each image."""

    def __init__(self, device: torch.device, rules: Any, options: Options) -> None:
        super().__init__(device, rules.readings, options)
        self.rules, self.request = rules, device_request(rules.channels, rules.preset)

    def check_shapes(
        self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None, named: list[str]
    ) -> None:
        if not self.rules.several:
            super().check_shapes(truth, predicted, mask, named)
            return
        if truth.shape[1] % 2 or truth.shape[2] % 2:
            raise ShapeMismatch(
                f"has {truth.shape[2]}×{truth.shape[1]} values", where=named[0],
                remedy="With the preset spring, the truth has two by two values for each pixel.",
            )  # fmt: skip
        super().check_shapes(truth[:, ::2, ::2], predicted, mask, named)

    def measure(self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        truths = self._truths(truth)
        predicted = self._prepare(predicted)
        before = _is_pixel(predicted)
        if self.rules.holes == "fill":
            predicted = fill_rows(predicted, before, -1.0 if self.rules.channels == 1 else 0.0)
        estimated = _is_pixel(predicted)
        valid = torch.stack([_is_pixel(one) for one in truths]).all(0)
        if mask is not None:
            valid = valid & self._counts(mask)
        wide = [one.to(torch.float64) for one in truths]
        estimate = predicted.to(torch.float64)
        lengths = [_length(one) for one in wide]
        errors = torch.stack([_length(estimate - one) for one in wide]).amin(0)
        errors = torch.where(estimated, errors, 0.0)
        speed = sum(lengths[1:], lengths[0])
        speed = over(speed, len(lengths))
        longest = torch.stack(lengths).amax(0)
        outlier = estimated & (errors > 3.0) & (errors > 0.05 * longest)
        kitti = estimated & _kitti_outlier(truths[0], predicted)
        weights = torch.where(estimated, _wauc_weight(errors), 0.0)
        angles = torch.zeros_like(errors)
        if self.request.angles:
            angles = torch.where(estimated, _angle(wide[0], estimate), 0.0)
        rows: list[torch.Tensor] = []
        for name in self.request.groups:
            limits = speed_range(name)
            members = valid if limits is None else valid & (speed >= limits[0]) & (speed < limits[1])
            rows += [
                count(members),
                count(members & estimated),
                total(members, errors),
                total(members, errors * errors),
            ]
            rows += [total(members, weights), total(members, angles), count(members & outlier), count(members & kitti)]
            rows += [count(members & (errors > limit)) for limit in self.request.thresholds]
            rows.append(count(members & before))
        if self.request.quantiles:
            known = valid & estimated
            ascending, many = sorted_values(known, errors), known.flatten(1).sum(1)
            for _, percent in self.request.quantiles:
                place = torch.floor(many.to(torch.float32) * float(np.float32(percent / 100))).to(torch.int64)
                at = at_places(ascending, torch.minimum(place, many - 1))
                rows.append(torch.where(many > 0, at, torch.nan))
        return torch.stack(rows, 1)

    def _truths(self, truth: torch.Tensor) -> list[torch.Tensor]:
        """The truths of each pixel: one, or with the preset spring four."""
        if self.rules.below is not None:
            truth = torch.where(truth < self.rules.below, truth, torch.nan)
        if not self.rules.several:
            return [truth]
        return [truth[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]

    def _prepare(self, predicted: torch.Tensor) -> torch.Tensor:
        """Predictions as they are compared: sign, range, and what is not an estimate."""
        if self.rules.negate:
            predicted = -predicted
        if self.rules.clip is not None:
            predicted = torch.where(torch.isfinite(predicted), predicted.clamp(0, self.rules.clip), torch.nan)
        if self.rules.round:
            predicted = torch.floor(predicted + 0.5)
        if self.rules.holes == "skip":
            beyond = ~(predicted.abs() <= predicted.shape[2]).all(-1, keepdim=True)
            predicted = torch.where(beyond, torch.nan, predicted)
        return predicted

    def _counts(self, mask: torch.Tensor) -> torch.Tensor:
        """Which pixels a mask lets count."""
        marked = is_marked(mask)
        if self.rules.mask_value is not None and mask.dtype != torch.bool:
            levels = mask.flatten(1).amax(1)[:, None, None] > 1  # a mask of 0 and 1 has none
            marked = torch.where(levels, mask == self.rules.mask_value, marked)
        return ~marked if self.rules.mask_marks_invalid else marked


def _is_pixel(fields: torch.Tensor) -> torch.Tensor:
    return (fields.abs() <= MOST_LENGTH).all(-1)


def _length(vectors: torch.Tensor) -> torch.Tensor:
    if vectors.shape[-1] == 1:
        return vectors[..., 0].abs()
    u, v = vectors.unbind(-1)
    return (u * u + v * v).sqrt()


def _kitti_outlier(truth: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """KITTI's outliers: single precision, and the ratio against a double."""
    truth, predicted = truth.to(torch.float32), predicted.to(torch.float32)
    error = _length(predicted - truth)
    return (error > 3.0) & ((error / _length(truth)).to(torch.float64) > 0.05)


def _wauc_weight(errors: torch.Tensor) -> torch.Tensor:
    """The weight of each error in WAUC; thresholds are i / 20, compared as such."""
    capped = errors.clamp(max=6.0)
    k = torch.ceil(capped * 20.0).clamp(min=1.0)
    k = k - ((k > 1.0) & (capped <= over(k - 1.0, 20.0))).to(torch.float64)
    k = k + (capped > over(k, 20.0)).to(torch.float64)
    rest = torch.where(k <= 100.0, 101.0 - k, 0.0)
    return over(rest * (rest + 1.0), 10100.0)


def _angle(truth: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """The angle between (u, v, 1) of both, in radians."""
    u, v = truth.unbind(-1)
    x, y = predicted.unbind(-1)
    a, b, c = v - y, x - u, u * y - v * x
    return torch.atan2((a * a + b * b + c * c).sqrt(), u * x + v * y + 1.0)
