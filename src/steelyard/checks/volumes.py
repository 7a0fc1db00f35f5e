"""What is looked for in volumes: files that do not fit each other, structures that are never found."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import Checks, Data, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError

CHECKS = with_ids(Checks())


@CHECKS.add("volumes-refused", "error", "evaluation refuses the volumes", "See the example.", quick=False)
def refused(data: Data) -> Problem | None:
    """What evaluation would refuse."""
    try:
        if data.pairs is not None:
            data.pairs.cells  # noqa: B018 - volumes are read and laid on each other there
    except InputError as error:
        data.read["refused"] = True
        return Problem("Evaluation refuses these volumes.", 1, 1, (str(error),))
    return None


@CHECKS.add(
    "never-found", "warning", "a structure scores 0 in every case", "Are the labels of the model those of the truth?"
)
def never(data: Data) -> Problem | None:
    """Structures of the truth of which no prediction shares a voxel."""
    if data.pairs is None or data.read.get("refused"):
        return None
    lost = []
    for name, labels in data.pairs.structures.items():
        true = shared = 0
        for a, b, count in data.pairs.cells:
            first = np.isin(a, labels)
            true += int(count[first].sum())
            shared += int(count[first & np.isin(b, labels)].sum())
        if true and not shared:
            lost.append(name)
    if not lost:
        return None
    total = len(data.pairs.structures)
    return Problem(f"Not a voxel of these structures is found: {', '.join(lost[:4])}.", len(lost), total)
