"""Checks of `grounding`: coordinates in another space or order, replies that cannot be read, boxes that never move."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.counts import share_text
from steelyard.core.records import BOX
from steelyard.core.statistic import SharedCache
from steelyard.language.coordinates import ORDERS, PADS, SCALES, to_corners, to_pixels
from steelyard.tasks.grounding.data import GroundingPairs, space_of
from steelyard.tasks.grounding.overlap import Rule, overlaps
from steelyard.tasks.grounding.sums import RecallSum

CHECKS = with_ids(Checks(), repeats=False)
SPACES = ("pixels", *SCALES, *(f"square:{pad}:{scale}" for pad in PADS for scale in ("1", "100", "1000")))
BETTER = 0.2  # by how much another reading must be better, as a share of all boxes
MOST = 5000  # expressions that are tried


class _Raw:
    """The first box of the reply to each expression with one object: as written, with the true box and the size."""

    def __init__(self, pairs: GroundingPairs) -> None:
        single = np.flatnonzero((pairs.targets == 1) & (pairs.prediction_row >= 0))[:MOST]
        if pairs.read is not None:
            row = pairs.prediction_row[single]
            said = np.flatnonzero(pairs.read.begin[row + 1] > pairs.read.begin[row])
            first = pairs.read.numbers[pairs.read.begin[row[said]]]
            boxes = ~np.isnan(first[:, 2])  # and not points
            held, numbers = said[boxes], first[boxes]
            self.orders: tuple[str, ...] = tuple(ORDERS)
        else:
            columns = [pairs.prediction[name] for name in BOX if name in pairs.prediction]
            boxes = np.stack(columns, axis=1)[pairs.prediction_row[single]] if len(columns) == 4 else np.zeros((0, 4))
            held = np.flatnonzero(~np.isnan(boxes).any(axis=1))
            numbers, self.orders = boxes[held], ("xywh",)
        self.place = single[held]
        self.numbers = numbers
        self.true = pairs.true.box[pairs.true.begin[pairs.truth_row[self.place]]]
        self.size = pairs.size[pairs.truth_row[self.place]]

    def fit(self, space: str, order: str) -> tuple[float, float]:
        """The share of the boxes that reach IoU 0.5 in a reading, and the mean IoU, which tells like readings apart."""
        boxes = to_pixels(to_corners(self.numbers, order), space, self.size)
        value = overlaps(boxes, self.true, self.size, Rule())
        return float((value >= 0.5).mean()), float(value.mean())


def _raw(data: CheckData) -> _Raw | None:
    if data.pairs is None:
        return None
    if "raw" not in data.read:
        data.read["raw"] = _Raw(data.pairs)
    raw: _Raw = data.read["raw"]
    return raw if len(raw.place) >= FEW else None


@CHECKS.add(
    "coordinate-space",
    "error",
    "coordinates are read in a space or order that the model did not use",
    "Declare it: coordinates=1000, order=yxyx.",
    quick=False,
)
def coordinate_space(data: CheckData) -> Problem | None:
    """Another space or order in which far more boxes lie on the true ones; one answer for the whole file."""
    raw = _raw(data)
    if raw is None:
        return None
    space = space_of(data.options, "prediction")
    order = data.options.of("order", "prediction") if len(raw.orders) > 1 else "xywh"
    known = ~np.isnan(raw.size).any(axis=1).any()
    fits = {(other, way): raw.fit(other, way) for other in (SPACES if known else ("pixels",)) for way in raw.orders}
    best = max(fits, key=lambda key: fits[key])
    shares = {reading: share for reading, (share, _) in fits.items()}
    declared = shares.get((space, order), 0.0)
    if shares[best] < declared + BETTER:
        return None
    above = float((raw.numbers > float(best[0])).mean()) if best[0] in SCALES else 0.0
    setting = f"coordinates={best[0]}" + (f" order={best[1]}" if best[1] != order else "")
    return Problem(
        f"As declared ({space}, {order}), {declared:.0%} of the boxes reach IoU 0.5; read as {best[0]}, {best[1]}: "
        f"{shares[best]:.0%}, with {above:.0%} of the numbers above that scale. Is {setting} missing?",
        round((shares[best] - declared) * len(raw.place)),
        len(raw.place),
        some_rows(data.pairs.prediction, data.pairs.prediction_row[raw.place[:3]], _column(data)),
    )


def _column(data: CheckData) -> str:
    return "reply" if "reply" in data.pairs.prediction else "x"


@CHECKS.add(
    "above-the-scale", "error", "numbers are larger than the declared space allows", "Declare the space that was used."
)
def above_the_scale(data: CheckData) -> Problem | None:
    """Numbers above 1000 in a space of 0 to 1000."""
    raw = _raw(data)
    space = space_of(data.options, "prediction").rpartition(":")[2] if data.options is not None else "pixels"
    if raw is None or space not in SCALES:
        return None
    odd = np.flatnonzero((raw.numbers > float(space) * 1.001).any(axis=1))
    if not len(odd):
        return None
    return Problem(
        f"{share_text(len(odd), len(raw.place), 'reply', 'have')} numbers above {space} although coordinates={space}; "
        f"the first is {raw.numbers[odd[0]].max():g} for expression "
        f"'{data.pairs.truth['expression'][data.pairs.truth_row[raw.place[odd[0]]]]}'.",
        len(odd),
        len(raw.place),
        some_rows(data.pairs.prediction, data.pairs.prediction_row[raw.place[odd[:3]]], _column(data)),
    )


@CHECKS.add(
    "unreadable-replies",
    "warning",
    "replies are not boxes, or boxes that cannot be meant, and count as wrong",
    "Look at the replies, and ask for JSON.",
)
def unreadable_replies(data: CheckData) -> Problem | None:
    """Replies whose outcome is not ok, with how many there are of each kind."""
    pairs = data.pairs
    if pairs is None or "reply" not in pairs.prediction:
        return None
    rows = data.paired_rows[1]
    outcomes = pairs.outcomes[rows]
    bad = np.flatnonzero(outcomes != "ok")
    if len(bad) < max(1, 0.02 * len(rows)):
        return None
    kinds, counts = np.unique(outcomes[bad].astype(str), return_counts=True)
    named = ", ".join(f"{kind} {count}" for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True))
    return Problem(
        f"{share_text(len(bad), len(rows), 'reply', 'are')} not an answer: {named}.",
        len(bad),
        len(rows),
        some_rows(pairs.prediction, rows[bad[:3]], "reply"),
    )


@CHECKS.add(
    "several-true-boxes",
    "note",
    "recall differs between the two protocols for phrases with several true boxes",
    "Say boxes=any or boxes=merged, as the numbers to compare with do.",
    side="truth",
    quick=False,
)
def several_true_boxes(data: CheckData) -> Problem | None:
    """Phrases of which the first box is a hit with one of the true boxes or with the box around all, and not both."""
    pairs = data.pairs
    if pairs is None or "type" not in pairs.truth or "annotators" in pairs.held or not len(pairs.predicted.box):
        return None
    cache = SharedCache()
    hits = [RecallSum(1, 0.5, boxes).of_expressions(pairs, cache) for boxes in ("any", "merged")]
    odd = np.flatnonzero(hits[0] != hits[1])
    if not len(odd):
        return None
    words = [
        f"'{text}'" for text in pairs.truth["text" if "text" in pairs.truth else "expression"][pairs.truth_row[odd[:3]]]
    ]
    return Problem(
        f"{share_text(len(odd), len(pairs.owner), 'phrase', 'are')} right in one protocol and wrong in the other: "
        f"recall@1 is {hits[0].sum() / max(1, (pairs.targets > 0).sum()):.3f} with any true box and "
        f"{hits[1].sum() / max(1, (pairs.targets > 0).sum()):.3f} with the box around all; the first are "
        f"{', '.join(words)}.",
        len(odd),
        len(pairs.owner),
    )


@CHECKS.add(
    "constant-boxes",
    "warning",
    "nearly all boxes are the same, and the true ones are not",
    "Were the pictures looked at?",
)
def constant_boxes(data: CheckData) -> Problem | None:
    """One box for nearly everything."""
    raw = _raw(data)
    if raw is None:
        return None
    # A box that most of them are stands in the middle of them, number by number.
    same, true = ((boxes == np.sort(boxes, axis=0)[len(boxes) // 2]).all(axis=1) for boxes in (raw.numbers, raw.true))
    if same.mean() < 0.9 or true.mean() >= 0.9:
        return None
    return Problem(
        f"{share_text(int(same.sum()), len(same), 'box', 'are')} {raw.numbers[np.argmax(same)].tolist()}.",
        int(same.sum()),
        len(same),
    )
