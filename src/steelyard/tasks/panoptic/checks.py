"""What is looked for in panoptic data: maps and segments that do not fit each other, predictions that find nothing."""

from __future__ import annotations

from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError

CHECKS = with_ids(Checks())


@CHECKS.add("maps-refused", "error", "evaluation refuses the maps", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    try:
        if data.pairs is not None:
            data.pairs.fits  # noqa: B018 - maps and segments are looked at there
    except InputError as error:
        data.read["refused"] = True
        return Problem("Evaluation refuses these maps.", 1, 1, (str(error),))
    return None


@CHECKS.add("nothing-fits", "warning", "no segment of the truth is found: PQ is 0", "Are the category ids the same?")
def nothing(data: CheckData) -> Problem | None:
    """Whether no predicted segment overlaps one of its class by half."""
    if data.pairs is None or data.read.get("refused"):
        return None
    fits = data.pairs.fits
    missed = int(fits.lone[:, 1].sum()) if len(fits.lone) else 0
    if len(fits.overlap) or not missed:
        return None
    return Problem("No predicted segment fits one of the truth.", missed, missed)
