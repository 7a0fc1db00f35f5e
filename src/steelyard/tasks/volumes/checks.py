"""What is looked for in volumes: files that do not fit each other, axes in opposite orders, structures never found."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError

CHECKS = with_ids(Checks())
BETTER = 0.3  # by how much reversed axes must fit better to be named


@CHECKS.add("volumes-refused", "error", "evaluation refuses the volumes", "See the example.", quick=False)
def refused_volumes(data: CheckData) -> Problem | None:
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
def never(data: CheckData) -> Problem | None:
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


@CHECKS.add(
    "axes-reversed",
    "error",
    "the volumes of one side are read with their axes in the opposite order",
    "Write both sides in the same order: z, y, x.",
)
def axes_reversed(data: CheckData) -> Problem | None:
    """Whether badly fitting cases fit far better once the axes of the prediction are reversed."""
    if data.pairs is None or data.read.get("refused"):
        return None
    fit = data.pairs.reversed_fit()
    if fit is None or fit.after < max(0.5, fit.before + BETTER):
        return None
    tried = "1 case that was tried" if fit.cases == 1 else f"{fit.cases} cases that were tried"
    what = (
        f"With the axes of the predictions reversed, Dice of all labels is {fit.after:.2f} instead of "
        f"{fit.before:.2f} in {tried}: one side is x, y, z and the other z, y, x"
    )
    remedy = f"set the option {fit.option}" if fit.option else "write both in the same order"
    return Problem(f"{what}; {remedy}.", fit.cases, len(data.pairs.units), (fit.where,))


@CHECKS.add(
    "spacing-differs",
    "warning",
    "distances and volumes are measured with one of two sizes of a voxel",
    "Write the right spacing into the whole header.",
    side="truth",
)
def spacing_differs(data: CheckData) -> Problem | None:
    """Headers that say two sizes of a voxel, an unknown unit, or axes that are not perpendicular."""
    return _remarks(data, ("spacing", "units", "shear"))


@CHECKS.add(
    "channels-as-labels",
    "note",
    "labels are made of channels, and their numbers depend on how those are read",
    "Write one label for each voxel.",
    side="truth",
)
def channels_as_labels(data: CheckData) -> Problem | None:
    """Files whose channels were read as labels."""
    return _remarks(data, ("channels",))


def _remarks(data: CheckData, kinds: tuple[str, ...]) -> Problem | None:
    """The first remark of files that have one of some kinds, and how many files have one."""
    if data.pairs is None or data.read.get("refused"):
        return None
    remarks = [(place, text) for case in data.pairs.scan for kind, place, text in case.remarks if kind in kinds]
    if not remarks:
        return None
    files = len({place for place, _ in remarks})
    texts = dict.fromkeys(text for _, text in remarks)
    what = f"{remarks[0][0]}: {remarks[0][1]}" + (f" ({files} files have such a remark)." if files > 1 else ".")
    return Problem(what, files, len(data.pairs.units) * 2, tuple(texts)[:3])
