"""Pictures of grounding that are not of single boxes: pmF1 by threshold, sizes of unions, and masks."""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.core.figure import Figure
from steelyard.core.outline import mask_rings
from steelyard.core.pairs import Array
from steelyard.core.scene import PolygonShape, Role
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.grounding.concepts import THRESHOLDS, PmF1
from steelyard.tasks.grounding.data import GroundingPairs, Objects
from steelyard.tasks.grounding.sums import united_masks

DRAWS = 200  # of the band around pmF1


def concept_sums(pairs: GroundingPairs) -> Array:
    """The sums of concepts by the default rules, by unit."""
    return PmF1().concept_sum().measure(pairs, SharedCache()).values


def concept_table(pairs: GroundingPairs) -> Table:
    """Matches and mistakes of the items that have truth, by threshold."""
    sums = concept_sums(pairs)
    total = sums.sum(axis=0)
    matches, false, missed = total[0:10], total[10:20], total[20:30]
    with np.errstate(invalid="ignore"):
        shares = [
            matches / (matches + false),
            matches / (matches + missed),
            PmF1().f1_of(total[np.newaxis])[0],
        ]
    return Table(
        "concepts",
        "Concepts by IoU: items with truth",
        "IoU",
        tuple(f"{threshold:.2f}" for threshold in THRESHOLDS),
        ("matches", "false", "missed", "precision", "recall", "pmF1"),
        np.stack([matches, false, missed, *shares], axis=1),
    )


def pmf1_curve(pairs: GroundingPairs) -> Figure:
    """pmF1 by threshold, with a band from resampled units."""
    metric, sums = PmF1(), concept_sums(pairs)
    weight = np.ones(len(sums)) if pairs.weight is None else pairs.weight
    rng, units = np.random.default_rng(0), len(sums)
    drawn = []
    for _ in range(DRAWS):
        copies = np.bincount(rng.integers(0, units, units), minlength=units)
        drawn.append(metric.f1_of(_total(sums, weight * copies)))
    low, high = np.nanpercentile(np.concatenate(drawn), [2.5, 97.5], axis=0)
    columns = {"x": THRESHOLDS, "y": metric.f1_of(_total(sums, weight))[0], "low": low, "high": high}
    return Figure(
        "concepts",
        "curves",
        "pmF1 by IoU",
        columns,
        {"x": "IoU that a match must reach", "y": "pmF1", "points": True},
        f"The mean over these thresholds is pmf1. The band holds 95 % of {DRAWS} resamples of the units.",
    )


def _total(sums: Array, weight: Array) -> Array:
    total: Array = (weight @ sums)[np.newaxis]
    return total


def union_table(pairs: GroundingPairs) -> Table:
    """How much of the pixels of all unions the largest expressions hold, which is their weight in `oiou`."""
    unions = np.sort(united_masks(pairs, SharedCache(), "mask")[1])[::-1]
    total = max(float(unions.sum()), 1.0)
    shares = [0.01, 0.1, 0.5]
    counts = [max(1, round(share * len(unions))) for share in shares]
    return Table(
        "unions",
        "Share of the pixels of all unions, which is the weight in oiou",
        "the largest",
        tuple(f"{share:.0%} of expressions" for share in shares),
        ("expressions", "share of the union"),
        np.array([[count, unions[:count].sum() / total] for count in counts], dtype=float),
    )


def mask_shapes(pairs: GroundingPairs, place: int, label: str) -> list[PolygonShape]:
    """Outlines of what both masks of an expression mark, of what is missed, and of what is marked falsely."""
    true = _pixels(pairs.true, int(pairs.truth_row[place]))
    marked = _pixels(pairs.predicted, int(pairs.prediction_row[place]))
    if true is None or marked is None or true.shape != marked.shape:
        parts: list[tuple[Role, Array | None, bool]] = [("truth", true, False), ("prediction", marked, False)]
    else:
        parts = [
            ("prediction", true & marked, True),
            ("truth", true & ~marked, False),
            ("prediction", marked & ~true, False),
        ]
    return [
        PolygonShape(role, tuple(ring), label, matched)
        for role, mask, matched in parts
        if mask is not None
        for ring in mask_rings(mask)
    ]


def _pixels(side: Objects, group: int) -> Array | None:
    """The united masks of a group as pixels (height, width); None without any."""
    masks = side.mask
    if masks is None or group < 0:
        return None
    own = masks[side.begin[group] : side.begin[group + 1]]
    return np.asarray(_native.mask_decode(own.tolist()).any(axis=0).T) if len(own) else None
