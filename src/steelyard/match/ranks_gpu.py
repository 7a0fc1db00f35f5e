"""Exact ranks on a GPU: see `ranks`. Imports Triton, which comes with PyTorch builds for CUDA.

A product in half precision, which is counted while it is in registers, leaves few pairs open. They are scored in
double precision, and those that are nearly equal by the sum that has the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from steelyard.core.frozen import frozen
from steelyard.match import rank_kernels
from steelyard.match.ranks import (
    RankQueries,
    Ranks,
    Space,
    bound,
    pieces,
    power_below,
    ranks_of,
    refuse_zeros,
    tree_sum,
)

MOST_SLOTS = 8  # thresholds of a query in one pass; one with more has several rows
FIRST, LAST = 2048, 1 << 17  # of the gallery in one launch: few at first, since many thresholds are decided by them
ROOM = 1 << 26  # pairs that are listed in one launch
PIECE_BYTES = 1 << 30
SHAPE = {"M": 128, "N": 256, "K": 64, "GROUP": 16, "num_warps": 8, "num_stages": 3}


def ranks_on_gpu(
    query: torch.Tensor, gallery: torch.Tensor, requirement: RankQueries, distance: str, source: str
) -> Ranks:
    """The ranks of the wanted vectors; `wanted` has arrays."""
    device = query.device
    starts, row, exclude, tie = (
        torch.as_tensor(np.ascontiguousarray(values), device=device)
        for values in (requirement.starts, requirement.row, requirement.exclude, requirement.tie)
    )
    space = _space_of(query.contiguous(), gallery.contiguous(), distance, source)
    counts = _Counts(space, RankQueries(starts, row, exclude, tie, requirement.depth))
    if len(row) and len(gallery):
        _count(counts)
    above, single, equal, owner = (
        values.cpu().numpy() for values in (*counts.without_excluded(), counts.equal, counts.owner)
    )
    return ranks_of(requirement, owner, above, single, equal)


def _space_of(query: torch.Tensor, gallery: torch.Tensor, distance: str, source: str) -> Space:
    if distance != "cosine":
        largest = max((float(matrix.abs().max()) for matrix in (query, gallery) if matrix.numel()), default=0.0)
        none = torch.zeros(0, device=query.device)
        return Space(distance, query, gallery, none, none, power_below(largest))
    lengths = []
    for name, matrix in (("query", query), ("gallery", gallery)):
        length = torch.empty(len(matrix), dtype=torch.float64, device=matrix.device)
        for part in pieces(len(matrix), matrix.shape[1], PIECE_BYTES):
            length[part] = tree_sum(matrix[part].double() ** 2)
        refuse_zeros(torch.nonzero(length == 0)[:1, 0], name, source)
        lengths.append(length.sqrt_())
    return Space(distance, query, gallery, lengths[0], lengths[1], 1.0)


class _Counts:
    """How many vectors stand above each wanted one, on the device."""

    def __init__(self, space: Space, requirement: RankQueries) -> None:
        self.space, self.wanted = space, requirement
        device, many = requirement.row.device, len(requirement.row)
        queries = torch.arange(len(requirement.starts) - 1, device=device)
        self.owner = torch.repeat_interleave(queries, torch.diff(requirement.starts), output_size=many)
        self.score = self._scores(self.owner, requirement.row)
        self.above, self.single = (torch.zeros(many, dtype=torch.int64, device=device) for _ in range(2))
        self.equal = torch.zeros((2, many), dtype=torch.int64, device=device)

    def _scores(self, query: torch.Tensor, gallery: torch.Tensor) -> torch.Tensor:
        space = self.space
        scores = torch.empty(len(query), dtype=torch.float64, device=query.device)
        for part in pieces(len(query), space.query.shape[1], PIECE_BYTES):
            scores[part] = space.scores(space.rows(0, query[part]), space.rows(1, gallery[part]))
        return scores

    def decide(self, which: torch.Tensor, place: torch.Tensor, into: Sequence[torch.Tensor]) -> None:
        """Count vectors by their exact scores, into counts by score, by its single precision, and of equal ones.

        The last may be left out.
        """
        scores = self._scores(self.owner[which], place)
        own, row = self.score[which], self.wanted.row[which]
        before = self.wanted.tie[place] > self.wanted.tie[row]
        equal = scores == own
        rounded, own_rounded = (s.float() for s in (scores, own))
        into[0].index_add_(0, which, ((scores > own) | (equal & before)).long())
        into[1].index_add_(0, which, ((rounded > own_rounded) | ((rounded == own_rounded) & before)).long())
        if len(into) > 2:
            equal = equal & (place != row) & (place != self.wanted.exclude[self.owner[which]])
            into[2][0].index_add_(0, which, (equal & before).long())
            into[2][1].index_add_(0, which, equal.long())

    def without_excluded(self) -> tuple[torch.Tensor, torch.Tensor]:
        """What stands above, less the vectors that a query does not find."""
        excluded = self.wanted.exclude[self.owner]
        which = torch.nonzero(excluded >= 0)[:, 0]
        above, single = torch.zeros_like(self.above), torch.zeros_like(self.single)
        self.decide(which, excluded[which], (above, single))
        return self.above - above, self.single - single


@frozen
class _Halves:
    """Rows in half precision, padded with zeros, their lengths, and the lengths of what rounding took from them."""

    rows: torch.Tensor
    length: torch.Tensor
    lost: torch.Tensor
    square: torch.Tensor


def _half_precision(space: Space, side: int, width: int) -> _Halves:
    matrix = (space.query, space.gallery)[side]
    many, own, device = len(matrix), matrix.shape[1], matrix.device
    rows = torch.zeros((many, width), dtype=torch.float16, device=device)
    length, lost, square = (torch.empty(many, dtype=torch.float64, device=device) for _ in range(3))
    for part in pieces(many, own, PIECE_BYTES):
        exact = space.rows(side, part)
        rows[part, :own] = exact.half()
        near = rows[part, :own].double()
        length[part] = torch.linalg.vector_norm(near, dim=1)
        lost[part] = torch.linalg.vector_norm(exact - near, dim=1)
        square[part] = tree_sum(exact**2)
    return _Halves(rows, length, lost, square)


def _slots(counts: _Counts) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Rows of thresholds: the query of each, the number of the wanted vector in each slot (-1: none), and the slots."""
    starts = counts.wanted.starts
    each = torch.diff(starts)
    slots = min(MOST_SLOTS, 1 << (int(each.max()) - 1).bit_length())
    parts = (each + slots - 1) // slots
    many = int(parts.sum())
    query = torch.repeat_interleave(torch.arange(len(each), device=each.device), parts, output_size=many)
    part = torch.arange(many, device=each.device) - (torch.cumsum(parts, 0) - parts)[query]
    which = starts[query][:, None] + part[:, None] * slots + torch.arange(slots, device=each.device)
    return query, torch.where(which < starts[query + 1][:, None], which, -1), slots


def _count(counts: _Counts) -> None:
    """Walk the gallery. After each stretch the pairs that are open are decided, and thresholds that lie deep rest."""
    space, wanted, device = counts.space, counts.wanted, counts.owner.device
    cosine, own = space.distance == "cosine", space.query.shape[1]
    width = -(-own // SHAPE["K"]) * SHAPE["K"]
    query, gallery = _half_precision(space, 0, width), _half_precision(space, 1, width)
    owner, which, slots = _slots(counts)
    score = counts.score
    middle = score if cosine else (query.square[counts.owner] - score**2) / 2
    off = bound(
        cosine, width, 2.0**-22, (query.length[counts.owner], query.lost[counts.owner]),
        (gallery.length.max(), gallery.lost.max()), score,
    )  # fmt: skip
    ends = _ends(middle, off, which)
    straight = len(owner) == len(query.rows) and bool((owner == torch.arange(len(owner), device=device)).all())
    rows = query.rows if straight else query.rows[owner]
    half = (gallery.square / 2).float() if not cosine else gallery.length
    above = torch.zeros(which.shape, dtype=torch.int32, device=device)
    room = max(ROOM, which.numel())  # one vector of the gallery has no more pairs
    near, close, crowded = (torch.empty(room, dtype=torch.int64, device=device) for _ in range(3))
    many = torch.zeros(3, dtype=torch.int64, device=device)  # of each of the three
    scores = torch.where(which >= 0, score[which], 0.0)
    matrices, described = _descriptors_of(rows, gallery.rows)

    def launch(begin: int, end: int) -> int:
        """Count a stretch; how many pairs are open."""
        programs = -(-len(rows) // SHAPE["M"]) * -(-(end - begin) // SHAPE["N"])
        rank_kernels.count[(programs,)](
            *matrices, ends[0], ends[1], half, above, near, crowded, many, len(rows), begin, end, room,
            DESCRIBED=described, WIDTH=width, SLOTS=slots, HALVES=not cosine, **SHAPE,
        )  # fmt: skip
        again = int(many[2])
        if 0 < again <= room:
            rank_kernels.crowd[(again,)](
                crowded, rows, gallery.rows, ends[0], ends[1], half, above, near, many, end, room, WIDTH=width,
                SLOTS=slots, HALVES=not cosine, N=SHAPE["N"], K=SHAPE["K"], num_warps=4,
            )  # fmt: skip
        return max(again, int(many[0]))

    def stretch(begin: int, end: int) -> None:
        many.zero_()
        before = above.clone()
        listed = launch(begin, end)
        if listed > room:  # too many lie near: a shorter stretch has fewer
            above.copy_(before)
            stretch(begin, (begin + end) // 2)
            stretch((begin + end) // 2, end)
            return
        if not listed:
            return
        rank_kernels.decide[(-(-listed // 16),)](
            near, listed, space.query, space.gallery, owner, space.query_length, space.gallery_length, scores, above,
            close, many[1:], room, space.factor, WIDTH=own, SLOTS=slots, COSINE=cosine, PAIRS=16, K=64, num_warps=4,
        )  # fmt: skip
        pairs = close[: int(many[1])]
        counts.decide(which.view(-1)[pairs >> 32], pairs & 0xFFFFFFFF, (counts.above, counts.single, counts.equal))

    begin, step = 0, FIRST
    there = which >= 0
    while begin < len(space.gallery):
        end = min(len(space.gallery), begin + step)
        stretch(begin, end)
        begin, step = end, min(2 * step, LAST)
        for one in ends:
            one[there] = torch.where(_all_above(counts, above, which) > wanted.depth, torch.inf, one)[there]
    surely = above.long()[there]
    counts.above[which[there]] += surely
    counts.single[which[there]] += surely


def _descriptors_of(query: torch.Tensor, gallery: torch.Tensor) -> tuple[tuple[Any, Any], bool]:
    """Descriptors of both matrices where the GPU has an engine that reads by them, and Triton knows it."""
    try:
        from triton.tools.tensor_descriptor import TensorDescriptor
    except ImportError:
        return (query, gallery), False
    if not query.is_cuda or torch.cuda.get_device_capability(query.device) < (9, 0):
        return (query, gallery), False
    shapes = (SHAPE["M"], SHAPE["K"]), (SHAPE["N"], SHAPE["K"])
    descriptors = [
        TensorDescriptor.from_tensor(m, list(shape)) for m, shape in zip((query, gallery), shapes, strict=True)
    ]
    return (descriptors[0], descriptors[1]), True


def _all_above(counts: _Counts, above: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    return above + counts.above[which.clamp(min=0)]


def _ends(middle: torch.Tensor, off: torch.Tensor, which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The ends of what is too near to each threshold, rounded outward; infinity where a slot is empty."""
    limit = torch.tensor(torch.inf, device=middle.device)
    high = torch.nextafter((middle + off).float(), limit)
    low = torch.nextafter((middle - off).float(), -limit)
    empty = which < 0
    return torch.where(empty, limit, high[which]), torch.where(empty, limit, low[which])
