"""What is wrong with the detections, and what each kind of error costs: the breakdown of TIDE (Bolya et al. 2020).

Every detection that is not a hit has one kind: `loc` (the class is right, the box is off), `cls` (the box is right,
the class is not), `dupe` (a second detection of an object), `bkg` (on nothing), `both` (box and class off). A truth
that none of these could be repaired to find is `miss`. The cost of a kind is how much AP would rise if all of its
errors were repaired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, Requirement, SharedCache
from steelyard.core.weights import Floats
from steelyard.tasks.boxes.matches import UNCOUNTED, overlaps
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.ranking import RankingFigure, RankingSummary, ranking_columns
from steelyard.tasks.boxes.settings import check_ious

KINDS = ("cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn")
TITLES = {
    "cls": "wrong class", "loc": "loose box", "both": "wrong class and loose box", "dupe": "found twice",
    "bkg": "on background", "miss": "missed", "fp": "all false positives", "fn": "all misses",
}  # fmt: skip
HIT, CLS, LOC, BOTH, DUPE, BKG = range(6)
_CODES = {"cls": CLS, "loc": LOC, "both": BOTH, "dupe": DUPE, "bkg": BKG}
_MOST = 100  # detections per image


class Breakdown(Frozen):
    """One entry per detection that was looked at, and a flag per truth."""

    row: Array
    kind: Array
    ignored: Array  # inside a crowd: not counted unless repaired
    repaired: Array  # the class as which it is right once repaired; -1 where the repair removes it
    missed: Array
    matched: Array
    beyond: Array  # detections beyond the most of an image, which were not looked at


def breakdown(pairs: BoxPairs, cache: SharedCache, iou: float, background: float) -> Breakdown:
    """Look at one image at a time."""
    return cache.once(("tide", iou, background), lambda: _look(pairs, iou, background))


def _look(s: BoxPairs, iou: float, background: float) -> Breakdown:
    units = len(s.units)
    t_order, d_order = np.argsort(s.image, kind="stable"), np.lexsort((-s.d_score, s.d_image))
    t_starts = np.searchsorted(s.image[t_order], np.arange(units + 1))
    d_starts = np.searchsorted(s.d_image[d_order], np.arange(units + 1))
    rows, kinds, ignored, repaired, beyond = [], [], [], [], []
    matched = np.zeros(len(s.image), dtype=bool)
    usable = np.zeros(len(s.image), dtype=bool)
    crowd = (s.flags & UNCOUNTED) != 0
    for unit in range(units):
        d = d_order[d_starts[unit] : d_starts[unit + 1]]
        if len(d) > _MOST:
            beyond.append(d[_MOST:])
            d = d[:_MOST]
        every = t_order[t_starts[unit] : t_starts[unit + 1]]
        g, regions = every[~crowd[every]], every[crowd[every]]
        if not len(d):
            continue
        kind, inside, target, used = _image(s, d, g, regions, iou, background)
        rows.append(d)
        kinds.append(kind)
        ignored.append(inside)
        matched[g[used]] = True
        usable[g[target[target >= 0]]] = True
        classes = np.full(len(d), -1)
        first = {int(t): i for i, t in reversed(list(enumerate(target.tolist()))) if t >= 0}  # the highest score wins
        for truth, i in first.items():
            classes[i] = s.label[g[truth]]
        repaired.append(classes)

    def concatenate_parts(parts: list[Array], kind: str) -> Array:
        return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)

    missed = ~matched & ~usable & ~crowd
    return Breakdown(
        concatenate_parts(rows, "int64"),
        concatenate_parts(kinds, "int64"),
        concatenate_parts(ignored, "bool"),
        concatenate_parts(repaired, "int64"),
        missed,
        matched,
        concatenate_parts(beyond, "int64"),
    )


def _image(
    s: BoxPairs, d: Array, g: Array, regions: Array, iou: float, background: float
) -> tuple[Array, Array, Array, Array]:
    """Kinds of an image's detections, which are ignored, the truth each could be repaired to, and truths found."""
    n, truths = len(d), len(g)
    kind, inside, target = np.full(n, BKG), np.zeros(n, dtype=bool), np.full(n, -1)
    used = np.zeros(truths, dtype=bool)
    d_label, g_label = s.d_label[d], s.label[g]
    overlap = overlaps(s, d, g)
    same = d_label[:, None] == g_label[None, :]
    within = overlap * same
    free = within.copy()
    for i in range(n if truths else 0):
        best = int(free[i].argmax())
        if free[i, best] >= iou:
            kind[i], used[best] = HIT, True
            free[:, best] = 0
    for region in regions.tolist():
        share = overlaps(s, d, np.array([region]), crowd=True)[:, 0]
        inside |= (kind != HIT) & (share > iou) & (d_label == s.label[region])
    if not truths:
        return kind, inside, target, used
    other, taken = overlap * ~same, within * used
    for i in np.flatnonzero(kind != HIT).tolist():
        near, wrong = int(within[i].argmax()), int(other[i].argmax())
        if background <= within[i, near] <= iou:
            kind[i] = LOC
            target[i] = -1 if used[near] else near
        elif other[i, wrong] >= iou:
            kind[i] = CLS
            target[i] = -1 if used[wrong] else wrong
        elif taken[i].max() >= iou:
            kind[i] = DUPE
        elif overlap[i].max() > background:
            kind[i] = BOTH
    return kind, inside, target, used


class Repaired(Ranking):
    """The detections as they would be with one kind of error repaired; "" repairs none. Positives are the truths.

    Where none is repaired, detections beyond the most of an image are there too, with a rank that does not count.
    """

    name = "boxes.repaired"
    levels = 1

    error: str
    iou: float
    background: float

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return ranking_columns(1)

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        """By class and falling score; equal scores in the order of images."""
        b = breakdown(pairs, cache, self.iou, self.background)
        counted = (pairs.flags & UNCOUNTED) == 0
        label, score, hit = pairs.d_label[b.row].astype(np.int64), pairs.d_score[b.row].copy(), b.kind == HIT
        used = ~b.ignored | hit
        if self.error in _CODES:
            mine = b.kind == _CODES[self.error]
            right = mine & (b.repaired >= 0)
            label = np.where(right, b.repaired, label)
            hit = hit | right
            used = (used & ~mine) | right
        elif self.error == "miss":
            counted = counted & ~b.missed
        elif self.error == "fn":
            counted = counted & b.matched
        elif self.error == "fp":
            score = hit.astype(np.float64)
        rows, label, score, hit = b.row[used], label[used], score[used], hit[used]
        rank = np.zeros(len(rows), np.uint16)
        if not self.error:
            rows = np.concatenate([rows, b.beyond])
            label, score = (
                np.concatenate([a, d[b.beyond]]) for a, d in ((label, pairs.d_label), (score, pairs.d_score))
            )
            hit = np.concatenate([hit, np.zeros(len(b.beyond), dtype=bool)])
            rank = np.concatenate([rank, np.full(len(b.beyond), _MOST, np.uint16)])
        return _ranking(pairs, rows, label, score, hit, counted, rank)


def _ranking(
    s: BoxPairs, rows: Array, label: Array, score: Array, hit: Array, counted: Array, rank: Array
) -> RankingBlock:
    """Detections with given classes, scores, hits and ranks."""
    order = np.lexsort((-score, label))
    truths = np.lexsort((s.image, s.label))
    classes = np.arange(s.classes + 1)
    events = {
        "score": score[order],
        "rank": rank[order],
        "hit0": hit[order].astype(np.uint16),
        "ignored0": np.zeros(len(order), np.uint16),
    }
    return RankingBlock(
        CLASS,
        Grouped(np.searchsorted(label[order], classes).astype(np.int64), s.d_image[rows[order]], events),
        Grouped(
            np.searchsorted(s.label[truths], classes).astype(np.int64),
            s.image[truths],
            {"counted0": counted[truths].astype(np.uint8)},
        ),
    )


class ErrorCost(Metric):
    r"""What one kind of error costs: how much AP would rise if all errors of that kind were repaired.

    $\Delta\mathrm{AP}_e = \max(0, \mathrm{AP}(e\ \mathrm{repaired}) - \mathrm{AP})$

    The kinds are `cls` (right box, wrong class), `loc` (right class, loose box), `both`, `dupe` (found twice), `bkg`
    (on background), `miss`, and the two sums `fp` and `fn`. As TIDE defines them: AP at `iou`, at most 100 detections
    per image, a detection below `background` with everything being on background. The costs do not add up to 1 − AP.
    The mean is over classes that have truth, before the repair and after.

    Undefined when no class has truth.

    Pros:
    - Shows which errors cost the most AP.

    Cons:
    - Each is taken alone: repairing two kinds gives more or less than their sum.
    """

    name = "dap"
    title = "AP lost"
    better = "lower"
    reference = "tidecv 1.0.1"
    range = (0.0, 1.0)

    error: Literal["cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn"] = "loc"
    iou: float = 0.5
    background: Annotated[float, Between(0, 1)] = 0.1

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return tuple(cls(error=kind) for kind in KINDS)  # type: ignore[arg-type]

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def label(self) -> str:
        return f"AP lost: {TITLES[self.error]}"

    def curve(self, error: str) -> RankingFigure:
        """Average precision with one kind of error repaired."""
        return RankingFigure(Repaired(error, float(self.iou), float(self.background)), "tide", max_dets=_MOST)

    @property
    def curves(self) -> tuple[RankingFigure, RankingFigure]:
        """The same with its errors repaired, and with none."""
        return self.curve(self.error), self.curve("")

    @property
    def summary(self) -> RankingSummary:
        """How many detections the cap leaves out."""
        return RankingSummary(self.curve("").ranking, _MOST)

    def requirements(self) -> tuple[Requirement, ...]:
        return *self.curves, self.summary

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say where the cap leaves detections out."""
        count = int(totals[self.summary][3].sum())
        if not count:
            return ()
        subject = "1 detection is left out" if count == 1 else f"{count:,} detections are left out"
        return (f"{subject} of dap: at most {_MOST} per image count, as in TIDE.",)

    def reduce(self, totals: TotalsView) -> Floats:
        repaired, plain = (totals[curve].figure[:, 0] for curve in self.curves)
        gain = repaired - plain
        return np.where(np.isnan(gain), np.nan, np.maximum(gain, 0.0))
