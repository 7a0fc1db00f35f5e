"""What is wrong with the detections, and what each kind of error costs: the breakdown of TIDE (Bolya et al. 2020).

Every detection that is not a hit has one kind: `loc` (the class is right, the box is off), `cls` (the box is right,
the class is not), `dupe` (a second detection of an object), `bkg` (on nothing), `both` (box and class off). A truth
that none of these could be mended to find is `miss`. The cost of a kind is how much AP would rise if all of its errors
were mended.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Weights
from steelyard.metrics.boxes.matches import Matches, Sides, figures, overlaps, sides
from steelyard.metrics.boxes.pairs import UNCOUNTED
from steelyard.metrics.boxes.settings import check_ious

KINDS = ("cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn")
TITLES = {
    "cls": "wrong class", "loc": "loose box", "both": "wrong class and loose box", "dupe": "found twice",
    "bkg": "on background", "miss": "missed", "fp": "all false positives", "fn": "all misses",
}  # fmt: skip
HIT, CLS, LOC, BOTH, DUPE, BKG = range(6)
_CODES = {"cls": CLS, "loc": LOC, "both": BOTH, "dupe": DUPE, "bkg": BKG}
_MOST = 100  # detections an image
_GRID = np.arange(101) / 100


@frozen
class Breakdown:
    """One entry a detection that was looked at, and a flag a truth."""

    row: Array
    kind: Array
    ignored: Array  # inside a crowd: not counted unless mended
    mended: Array  # the class as which it is right once mended; -1 where mending removes it
    missed: Array
    found: Array


def breakdown(stats: Stats, iou: float, background: float) -> Breakdown:
    """Look at one image at a time."""
    made: Breakdown = stats.derived(("tide", iou, background), lambda: _look(stats, iou, background))
    return made


def _look(stats: Stats, iou: float, background: float) -> Breakdown:
    s, units = sides(stats), len(stats)
    t_order, d_order = np.argsort(s.image, kind="stable"), np.lexsort((-s.d_score, s.d_image))
    t_starts = np.searchsorted(s.image[t_order], np.arange(units + 1))
    d_starts = np.searchsorted(s.d_image[d_order], np.arange(units + 1))
    rows, kinds, ignored, mended = [], [], [], []
    found = np.zeros(len(s.image), dtype=bool)
    usable = np.zeros(len(s.image), dtype=bool)
    crowd = (s.flags & UNCOUNTED) != 0
    for unit in range(units):
        d = d_order[d_starts[unit] : d_starts[unit + 1]][:_MOST]
        every = t_order[t_starts[unit] : t_starts[unit + 1]]
        g, regions = every[~crowd[every]], every[crowd[every]]
        if not len(d):
            continue
        kind, inside, mend, used = _image(s, d, g, regions, iou, background)
        rows.append(d)
        kinds.append(kind)
        ignored.append(inside)
        found[g[used]] = True
        usable[g[mend[mend >= 0]]] = True
        classes = np.full(len(d), -1)
        first = {int(m): i for i, m in reversed(list(enumerate(mend.tolist()))) if m >= 0}  # the highest score wins
        for target, i in first.items():
            classes[i] = s.label[g[target]]
        mended.append(classes)

    def joined(parts: list[Array], kind: str) -> Array:
        return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)

    missed = ~found & ~usable & ~crowd
    return Breakdown(
        joined(rows, "int64"), joined(kinds, "int64"), joined(ignored, "bool"), joined(mended, "int64"), missed, found
    )


def _image(
    s: Sides, d: Array, g: Array, regions: Array, iou: float, background: float
) -> tuple[Array, Array, Array, Array]:
    """Kinds of the detections of one image, which are ignored, the truth each could be mended to, and truths found."""
    n, truths = len(d), len(g)
    kind, inside, mend = np.full(n, BKG), np.zeros(n, dtype=bool), np.full(n, -1)
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
        return kind, inside, mend, used
    other, taken = overlap * ~same, within * used
    for i in np.flatnonzero(kind != HIT).tolist():
        near, wrong = int(within[i].argmax()), int(other[i].argmax())
        if background <= within[i, near] <= iou:
            kind[i] = LOC
            mend[i] = -1 if used[near] else near
        elif other[i, wrong] >= iou:
            kind[i] = CLS
            mend[i] = -1 if used[wrong] else wrong
        elif taken[i].max() >= iou:
            kind[i] = DUPE
        elif overlap[i].max() > background:
            kind[i] = BOTH
    return kind, inside, mend, used


def _listed(stats: Stats, rows: Array, label: Array, score: Array, hit: Array, counts: Array) -> Matches:
    """Detections with given classes, scores and hits, as the ranking takes them."""
    s, classes = sides(stats), len(stats.facts["labels"])
    order = np.lexsort((-score, label))
    rows, label = rows[order], label[order]
    edges = np.searchsorted(label, np.arange(classes + 1))
    t_order = np.argsort(s.label, kind="stable")
    t_edges = np.searchsorted(s.label[t_order], np.arange(classes + 1))
    n = len(rows)
    return Matches(
        edges[:-1].astype(np.int64), edges[1:].astype(np.int64), rows.astype(np.int32), s.d_image[rows], score[order],
        np.zeros(n, np.uint16), hit[order].astype(np.uint32), np.zeros(n, np.uint32), t_edges.astype(np.int64),
        t_order, s.image[t_order], counts[t_order].astype(np.uint8), 1, np.zeros(0, np.int32), np.zeros(0),
    )  # fmt: skip


def _mended(stats: Stats, error: str, iou: float, background: float) -> Matches:
    """The detections as they would be with one kind of error mended; "" mends none."""
    b, s = breakdown(stats, iou, background), sides(stats)
    counts = (s.flags & UNCOUNTED) == 0
    label, score, hit = s.d_label[b.row].astype(np.int64), s.d_score[b.row].copy(), b.kind == HIT
    kept = ~b.ignored | hit
    if error in _CODES:
        mine = b.kind == _CODES[error]
        right = mine & (b.mended >= 0)
        label = np.where(right, b.mended, label)
        hit = hit | right
        kept = (kept & ~mine) | right
    elif error == "miss":
        counts = counts & ~b.missed
    elif error == "fn":
        counts = counts & b.found
    elif error == "fp":
        score = hit.astype(np.float64)
    return _listed(stats, b.row[kept], label[kept], score[kept], hit[kept], counts)


@frozen
class ErrorCost(Metric):
    r"""What one kind of error costs: how much AP would rise if all errors of that kind were mended.

    $\Delta\mathrm{AP}_e = \max(0, \mathrm{AP}(e\ \mathrm{mended}) - \mathrm{AP})$

    The kinds are `cls` (right box, wrong class), `loc` (right class, loose box), `both`, `dupe` (found twice), `bkg`
    (on background), `miss`, and the two sums `fp` and `fn`. As TIDE defines them: AP at `iou`, at most 100 detections
    an image, a detection below `background` with everything being on background. The costs do not add up to 1 − AP. The
    mean is over classes that have truth, before mending and after.

    Undefined when no class has truth.

    Pros:
    - Says where the next point of AP is to be had.

    Cons:
    - Each is taken alone: mending two kinds gives more or less than their sum.
    """

    name = "dap"
    title = "AP lost"
    better = "lower"
    reference = "tidecv 1.0.1"

    error: Literal["cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn"] = "loc"
    iou: float = 0.5
    background: float = 0.1

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """One of each kind."""
        return tuple(cls(error=kind) for kind in KINDS)  # type: ignore[arg-type]

    def check(self) -> None:
        """Check every setting."""
        one_of(self, "error", *KINDS)
        check_ious(self, self.iou)
        within_range(self, "background", 0, 1)

    @property
    def label(self) -> str:
        """Name the kind."""
        return f"AP lost: {TITLES[self.error]}"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """AP with the errors mended less AP as it is."""
        gain = self._ap(stats, weights, self.error) - self._ap(stats, weights, "")
        return np.where(np.isnan(gain), np.nan, np.maximum(gain, 0.0))

    def _ap(self, stats: Stats, weights: Weights, error: str) -> Floats:
        key = ("mended", error, self.iou, self.background)
        listed: Matches = stats.derived(key, lambda: _mended(stats, error, self.iou, self.background))
        return stats.under(weights, key, lambda: figures(listed, weights, _MOST, "voc11", _GRID)[0][:, 0])
