"""Maps of normals measured on a device, by the rules of the kernel."""

from __future__ import annotations

from typing import Any

import torch

from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.partial.tensors import device_of
from steelyard.tasks.fields.device import Fault, FieldCounter, count, is_marked, medians, total
from steelyard.tasks.fields.options import Chosen
from steelyard.tasks.normals.data import BINS, LIMITS, NOT_FINITE, PRESETS, field_readings, parse_axes

MOST = 1e150  # of the sum of a vector's components, as in the kernel
DEGREES = 57.295779513082320877


def counter(options: Options, device: Any) -> NormalCounter:
    """The counter of these options on a device."""
    chosen = Chosen.from_presets(options, PRESETS)
    return NormalCounter(device_of(device), chosen, options)


class NormalCounter(FieldCounter):
    """The columns of `normals.data.measured_row`, for each image."""

    def __init__(self, device: torch.device, chosen: Chosen, options: Options) -> None:
        super().__init__(device, field_readings(chosen), options)
        self.axes = parse_axes(str(chosen.of("axes")))

    def faults(self, rows: Array) -> tuple[Fault, ...]:
        return (Fault(rows[:, NOT_FINITE]),)

    def measure(self, truth: torch.Tensor, predicted: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        own = truth.to(torch.float64)
        other = torch.stack([predicted[..., axis] * sign for axis, sign in self.axes], -1).to(torch.float64)
        size = own.abs().sum(-1)
        valid = (size > 0) & (size < MOST)
        if mask is not None:
            valid = valid & is_marked(mask)
        length = other.abs().sum(-1)
        zero, wrong = length == 0, ~(length < MOST)
        angles = torch.where(zero | wrong, 90.0, _angles(own, other))
        n = count(valid)
        columns = [n, total(valid, angles), total(valid, angles * angles), count(valid & zero), count(valid & wrong)]
        columns.append(medians(valid, angles))
        columns += [count(valid & (angles < limit)) for limit in LIMITS]
        return torch.cat([torch.stack(columns, 1), self._bins(valid, torch.where(valid, angles, 0.0))], 1)

    def _bins(self, valid: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        """Pixels of each image by bin of their angle."""
        wide = torch.where(angles < 60, 600 + (angles - 30) * 10, 900 + (angles - 60) * 2)
        at = torch.where(angles < 30, angles * 20, wide).clamp(max=BINS - 2.0).to(torch.int64) + 1
        at = torch.where(angles > 0, at, 0)
        many = len(angles)
        first = torch.arange(many, device=self.device).mul_(BINS)[:, None, None]
        counts = torch.zeros(many * BINS, dtype=torch.int64, device=self.device)
        counts.index_add_(0, (at + first).reshape(-1), valid.reshape(-1).to(torch.int64))
        return counts.reshape(many, BINS).to(torch.float64)


def _angles(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The angle between both vectors in degrees; the largest component of each becomes 1 in size before."""
    sides = []
    for vectors in (a, b):
        most = vectors.abs().amax(-1, keepdim=True)
        sides.append((vectors / torch.where(most > 0, most, 1.0)).unbind(-1))
    (x, y, z), (u, v, w) = sides
    cross = y * w - z * v, z * u - x * w, x * v - y * u
    sine = (cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]).sqrt()
    return torch.atan2(sine, x * u + y * v + z * w) * DEGREES
