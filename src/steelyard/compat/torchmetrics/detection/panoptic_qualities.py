"""`torchmetrics.detection.panoptic_qualities`: panoptic quality of segments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics.metric import Metric
from torchmetrics.utilities import rank_zero_warn

from steelyard import _native
from steelyard.compat.pycocotools.oks import Array

_STATES = (
    ("iou_sum", torch.double),
    ("true_positives", torch.int),
    ("false_positives", torch.int),
    ("false_negatives", torch.int),
)


class _Quality(Metric):
    """Overlaps and counts of segments by category: things first, then stuff, each by their ids."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    _modified = False  # whether stuff counts by its overlap, however small

    def __init__(
        self, things: Collection[int], stuffs: Collection[int], allow_unknown_preds_category: bool, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.things, self.stuffs = _categories(things, stuffs)
        self.void_color = 1 + max([0, *self.things, *self.stuffs]), 0
        self.cat_id_to_continuous_id = {
            category: place for place, category in enumerate([*sorted(self.things), *sorted(self.stuffs)])
        }
        self.allow_unknown_preds_category = allow_unknown_preds_category
        for name, dtype in _STATES:
            self.add_state(name, torch.zeros(len(self.cat_id_to_continuous_id), dtype=dtype), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add images: category and instance of each pixel, batch × ... × 2."""
        _check(preds, target)
        sides = []
        for tensor, all_known in ((preds, not self.allow_unknown_preds_category), (target, False)):
            pixels = tensor.detach().cpu().numpy().reshape(len(tensor), -1, 2)
            sides.append([self._coded(image, all_known) for image in pixels])
        total = [np.zeros(len(self.iou_sum), dtype=float if place == 0 else np.int32) for place in range(4)]
        for predicted, true in zip(*sides, strict=True):
            for whole, part in zip(total, self._counts(predicted, true), strict=True):
                whole += part
        for (name, _), part in zip(_STATES, total, strict=True):
            state = getattr(self, name)
            state += torch.from_numpy(part).to(state.device)

    def _coded(self, pixels: Array, all_known: bool) -> tuple[Array, int | Array, Array]:
        """Segments as numbers in the order of (category, instance), what makes categories of them, and their ids.

        That is a divisor, or a table: of places among the ids, the number of ids where it is void.
        """
        ids = np.array(sorted(self.cat_id_to_continuous_id))
        place = np.minimum(np.searchsorted(ids, pixels[:, 0]), len(ids) - 1)
        known = ids[place] == pixels[:, 0]
        if all_known and not known.all():
            raise ValueError(f"Unknown categories found: {torch.from_numpy(pixels[~known])}")
        is_thing = np.isin(ids, list(self.things))
        instance = np.where(known & is_thing[place], pixels[:, 1], 0)
        place = np.where(known, place, len(ids))
        low, high = instance.min(initial=0), instance.max(initial=0)
        span = int(high) - int(low) + 1
        if instance.dtype.kind in "iu" and span * (len(ids) + 1) < 1 << 31:
            codes = (place * span + (instance - low)).astype(np.uint32)
            return codes, span, ids
        pairs, codes = np.unique(np.stack([place, instance], axis=1), axis=0, return_inverse=True)
        return codes.astype(np.uint32).ravel(), pairs[:, 0].astype(np.int64), ids

    def _counts(self, predicted: Any, true: Any) -> tuple[Array, Array, Array, Array]:
        """Sum of overlaps, hits, and segments that were made up or missed, of one image by category."""
        ids = predicted[2]
        void = len(ids)
        a, b, shared = (np.asarray(column) for column in _native.map_cells(predicted[0][None], true[0][None]))
        order = np.lexsort((b, a))
        a, b, shared = a[order], b[order], shared[order].astype(np.int64)
        (p, p_cell, p_area, p_place), (t, t_cell, t_area, t_place) = (
            _segments(column, shared, side) for column, side in ((a, predicted), (b, true))
        )
        p_void, t_void = np.zeros(len(p), np.int64), np.zeros(len(t), np.int64)
        np.add.at(p_void, p_cell, np.where(t_place[t_cell] == void, shared, 0))
        np.add.at(t_void, t_cell, np.where(p_place[p_cell] == void, shared, 0))
        pair = (t_place[t_cell] != void) & (p_place[p_cell] == t_place[t_cell])
        p_cell, t_cell, shared = p_cell[pair], t_cell[pair], shared[pair]
        union = p_area[p_cell] - p_void[p_cell] + t_area[t_cell] - t_void[t_cell] - shared
        iou = torch.from_numpy(shared) / torch.from_numpy(union)  # in the type that torch divides whole numbers in
        stuff = np.array([category in self.stuffs for category in ids.tolist()] + [False]) & self._modified
        in_stuff = stuff[t_place[t_cell]]
        hit = ~in_stuff & (iou > 0.5).numpy()
        sums, hits, wrong, missed = (np.zeros(void + 1, dtype) for dtype in (float, np.int32, np.int32, np.int32))
        counted = hit | in_stuff
        np.add.at(sums, t_place[t_cell][counted], iou.double().numpy()[counted])
        np.add.at(hits, t_place[t_cell][hit], 1)
        np.add.at(hits, t_place[stuff[t_place]], 1)
        for count, place, area, in_void, matched in (
            (wrong, p_place, p_area, p_void, p_cell[hit]),
            (missed, t_place, t_area, t_void, t_cell[hit]),
        ):
            left = (place != void) & ~stuff[place]
            left[matched] = False
            left &= (torch.from_numpy(in_void) / torch.from_numpy(area) <= 0.5).numpy()
            np.add.at(count, place[left], 1)
        order = np.searchsorted(ids, list(self.cat_id_to_continuous_id))
        return sums[order], hits[order], wrong[order], missed[order]

    def _qualities(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """PQ, SQ and RQ of each category, and which of them count."""
        sq = torch.where(self.true_positives > 0.0, self.iou_sum / self.true_positives, 0.0)
        size = self.true_positives + 0.5 * self.false_positives + 0.5 * self.false_negatives
        rq = torch.where(size > 0.0, self.true_positives / size, 0.0)
        return sq * rq, sq, rq, size > 0

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw values with matplotlib."""
        return self._plot(val, ax)


class PanopticQuality(_Quality):
    """Panoptic quality: the mean of the categories, or of each; with `return_sq_and_rq` its two factors too."""

    def __init__(
        self,
        things: Collection[int],
        stuffs: Collection[int],
        allow_unknown_preds_category: bool = False,
        return_sq_and_rq: bool = False,
        return_per_class: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(things, stuffs, allow_unknown_preds_category, **kwargs)
        self.return_sq_and_rq, self.return_per_class = return_sq_and_rq, return_per_class

    def compute(self) -> Tensor:
        """The quality of what was added."""
        *parts, counts = self._qualities()
        if self.return_per_class:
            return torch.stack(parts, dim=-1) if self.return_sq_and_rq else parts[0].view(1, -1)
        means = [torch.mean(part[counts]) for part in parts]
        return torch.stack(means, dim=0) if self.return_sq_and_rq else means[0]


class ModifiedPanopticQuality(_Quality):
    """Panoptic quality in which stuff counts by its overlap alone."""

    _modified = True

    def __init__(
        self,
        things: Collection[int],
        stuffs: Collection[int],
        allow_unknown_preds_category: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(things, stuffs, allow_unknown_preds_category, **kwargs)

    def compute(self) -> Tensor:
        """The quality of what was added."""
        pq, _, _, counts = self._qualities()
        return torch.mean(pq[counts])


def _segments(codes: Array, shared: Array, side: Any) -> tuple[Array, Array, Array, Array]:
    """The segments of a side: their numbers, which of them each cell has, their areas, and their categories' places."""
    numbers, cell = np.unique(codes, return_inverse=True)
    area = np.zeros(len(numbers), np.int64)
    np.add.at(area, cell, shared)
    _, table, _ = side
    place = numbers // table if isinstance(table, int) else table[numbers]
    return numbers, cell, area, place.astype(np.int64)


def _categories(things: Collection[int], stuffs: Collection[int]) -> tuple[set[int], set[int]]:
    parsed = set(things), set(stuffs)
    for name, given, ids in (("things", things, parsed[0]), ("stuffs", stuffs, parsed[1])):
        if len(ids) < len(given):
            rank_zero_warn(
                f"The provided `{name}` categories contained duplicates, which have been removed.", UserWarning
            )
        if not all(isinstance(category, int) for category in ids):
            raise TypeError(f"Expected argument `{name}` to contain `int` categories, but got {given}")
    if parsed[0] & parsed[1]:
        raise ValueError(
            f"Expected arguments `things` and `stuffs` to have distinct keys, but got {things} and {stuffs}"
        )
    if not (parsed[0] | parsed[1]):
        raise ValueError("At least one of `things` and `stuffs` must be non-empty.")
    return parsed


def _check(preds: Any, target: Any) -> None:
    for name, side in (("preds", preds), ("target", target)):
        if not isinstance(side, Tensor):
            raise TypeError(f"Expected argument `{name}` to be of type `torch.Tensor`, but got {type(side)}")
    if preds.shape != target.shape:
        raise ValueError(
            f"Expected argument `preds` and `target` to have the same shape, but got {preds.shape} and {target.shape}"
        )
    if preds.dim() < 3:
        raise ValueError(
            f"Expected argument `preds` to have at least one spatial dimension (B, *spatial_dims, 2), got {preds.shape}"
        )
    if preds.shape[-1] != 2:
        raise ValueError(
            "Expected argument `preds` to have exactly 2 channels in the last dimension (category, instance), "
            f"got {preds.shape} instead"
        )
