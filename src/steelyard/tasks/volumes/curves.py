"""Figures of all cases of a structure: NSD over the tolerance, and how volumes agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.figure import Figure
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.shared.agreement import bland_altman
from steelyard.tasks.volumes.cases import COUNT as CASES
from steelyard.tasks.volumes.cases import DISTANCES, VALUE, CaseScore, case_extents, case_values, case_voxels
from steelyard.tasks.volumes.data import VolumePairs

MOST_CURVES = 6
STEPS = 21  # tolerances of a curve
WIDEST = 10.0  # mm; where 99 % of all surfaces lie nearer, the curve ends there


def case_figures(pairs: VolumePairs, state: State) -> Mapping[str, Callable[[], Figure]]:
    """The limits of agreement of volumes where sizes are known, and NSD where distances were measured."""
    makers: dict[str, Callable[[], Figure]] = {}
    if _has_sizes(pairs):
        makers["bland_altman"] = lambda: volumes(pairs)
    kinds = {
        statistic.surface
        for statistic in state.blocks
        if isinstance(statistic, CaseScore) and statistic.figure in DISTANCES
    }
    if kinds:
        makers["nsd_tolerance"] = lambda: nsd_by_tolerance(pairs, min(kinds))
    return makers


def _has_sizes(pairs: VolumePairs) -> bool:
    try:
        case_extents(pairs)
    except InputError:
        return False
    return True


def volumes(pairs: VolumePairs) -> Figure:
    """Predicted less true volume against their mean, a point for each structure of a case that has any."""
    counts = case_voxels(pairs, SharedCache())
    millilitres = counts[:, :, :2] * case_extents(pairs)[:, np.newaxis, :1] / 1000.0
    truth, predicted = millilitres[counts[:, :, :2].sum(axis=2) > 0].T
    return bland_altman(truth, predicted, "structure", "ml")


def nsd_by_tolerance(pairs: VolumePairs, surface: str) -> Figure:
    """The mean over cases of NSD at each tolerance, by structure, and between which values half of the cases lie."""
    work = SharedCache((CaseScore("nsd", surface=surface),))
    farthest = case_values(CaseScore("hd", at=99.0, surface=surface, missed="skip"), pairs, work)
    far = farthest[:, :, VALUE][farthest[:, :, CASES] > 0]
    end = min(WIDEST, float(far.max())) if len(far) and far.max() > 0 else 1.0
    names = pairs.facts.axes["structure"].shown
    columns: dict[str, list[Any]] = {name: [] for name in ("series", "x", "y", "low", "high")}
    for tolerance in np.linspace(0.0, end, STEPS).tolist():
        table = case_values(CaseScore("nsd", at=tolerance, surface=surface), pairs, work)
        for place, name in enumerate(names[:MOST_CURVES]):
            values = table[table[:, place, CASES] > 0, place, VALUE]
            if len(values):
                low, high = np.quantile(values, [0.25, 0.75]).tolist()
                for key, value in zip(columns, (name, tolerance, float(values.mean()), low, high), strict=True):
                    columns[key].append(value)
    return Figure(
        "nsd_tolerance",
        "curves",
        "NSD by tolerance",
        columns,
        {"x": "tolerance, mm", "y": "NSD"},
        "The mean over cases of the share of surfaces that lie within the tolerance of each other. In the band lies "
        "the middle half of the cases. A case that lacks the structure on one side counts as 0.",
    )
