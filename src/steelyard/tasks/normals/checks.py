"""What is looked for in maps of normals: maps that are refused, flipped axes, components that were not mapped."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.tasks.fields.checks import add_frames

CHECKS = add_frames(with_ids(Checks(), repeats=False), "normals")
QUICK, MOST = 2, 20  # images that are looked at
PIXELS = 1000  # pixels of an image
CLEAR = 20.0  # degrees by which the mean angle must fall
UNEVEN = 0.05  # the spread of true lengths over their mean; mapped normals have one length


class Look(Frozen):
    """The mean angle for each way the axes may lie, as the option writes it, that with rows turned over, and whether no
    component of the predictions or of the truth is negative where it should be."""

    angles: dict[str, float]
    turned: float
    positive: bool
    positive_truth: bool
    images: int


def _look(data: CheckData) -> Look | None:
    """Some images, evenly over all; None where they cannot be read, which the first check says."""
    if "look" not in data.read:
        data.read["look"], data.read["refused"] = None, ""
        try:
            if data.pairs is not None and len(data.pairs.owner) and data.pairs.measured is None:
                data.read["look"] = _look_at(data.pairs, QUICK if data.quick else MOST, quick=data.quick)
        except InputError as error:
            data.read["refused"] = str(error)
    look: Look | None = data.read["look"]
    return look


def _look_at(pairs: Any, most: int, *, quick: bool) -> Look | None:
    sides: list[tuple[Any, Any]] = []
    true_lengths: list[Any] = []
    turned: list[float] = []
    chosen = evenly(len(pairs.owner), most)
    for pair in chosen[pairs.prediction_row[chosen] >= 0].tolist():
        if not quick:
            pairs.angles(pair)  # what evaluation refuses
        truth, prediction, mask = pairs.maps(pair)
        upside_down, _, _, _ = _native.normal_angles(truth, np.ascontiguousarray(prediction[::-1]), None)
        turned.append(float(upside_down.mean()) if len(upside_down) else 90.0)
        step = -(-(truth.shape[0] * truth.shape[1]) // PIXELS)
        a, b = (side.reshape(-1, 3)[::step].astype(np.float64) for side in (truth, prediction))
        lengths = [np.linalg.norm(side, axis=1) for side in (a, b)]
        usable = (lengths[0] > 0) & (lengths[1] > 0) & np.isfinite(lengths[0]) & np.isfinite(lengths[1])
        if mask is not None:
            usable &= np.asarray(mask).reshape(-1)[::step] != 0
        a, b = (side[usable] / size[usable][:, None] for side, size in zip((a, b), lengths, strict=True))
        sides.append((a, b))
        true_lengths.append(lengths[0][usable])
    if not sides:
        return None
    truth, prediction = (np.concatenate([pair[side] for pair in sides]) for side in (0, 1))
    if not len(truth):
        return None
    angles = {}
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            name = " ".join(f"{'-' if sign < 0 else ''}{'xyz'[axis]}" for axis, sign in zip(order, signs, strict=True))
            cosine = (truth * prediction[:, order] * np.array(signs)).sum(axis=1)
            angles[name] = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))).mean())
    lengths_of_truth = np.concatenate(true_lengths)
    uneven = bool(lengths_of_truth.std() > UNEVEN * lengths_of_truth.mean())
    return Look(
        angles,
        float(np.mean(turned)),
        bool((prediction >= 0).all() and (truth < 0).any()),
        uneven and bool((truth >= 0).all()),
        len(sides),
    )


@CHECKS.add("normals-refused", "error", "evaluation refuses the maps", "See the example.", quick=False)
def refused_maps(data: CheckData) -> Problem | None:
    """What evaluation would refuse."""
    _look(data)
    text = data.read["refused"]
    return Problem("Evaluation refuses these maps.", 1, 1, (text,)) if text else None


@CHECKS.add(
    "normals-not-mapped",
    "error",
    "components from 0 to 1 were not mapped to -1 to 1: every angle is wrong",
    "Map the components to -1 to 1.",
)
def positive_components(data: CheckData) -> Problem | None:
    """Whether no predicted component is negative where true ones are, or no true one in vectors of many lengths."""
    look = _look(data)
    if look is None or not (look.positive or look.positive_truth):
        return None
    if look.positive_truth:
        what = "All true components are 0 or more, and the vectors have different lengths."
        return Problem(what, look.images, look.images)
    return Problem("All predicted components are 0 or more.", look.images, look.images)


@CHECKS.add(
    "normals-upside-down",
    "error",
    "rows of one side run from the bottom to the top",
    "Write PFM files with the last row first, and arrays with the first row first.",
)
def upside_down(data: CheckData) -> Problem | None:
    """Whether the mean angle falls clearly if rows are turned over, and not as far if axes are."""
    look = _look(data)
    if look is None or look.positive or look.positive_truth:
        return None
    plain = look.angles["x y z"]
    if look.turned > min(plain - CLEAR, plain / 2) or look.turned > min(look.angles.values()):
        return None
    what = f"The mean angle falls from {plain:.0f}° to {look.turned:.0f}° with rows turned over."
    return Problem(what, look.images, look.images)


@CHECKS.add(
    "normals-axes",
    "error",
    "the axes of predictions lie in another way than those of the truth",
    "Set the option axes.",
)
def other_axes(data: CheckData) -> Problem | None:
    """Whether the mean angle falls clearly if axes are flipped or exchanged."""
    look = _look(data)
    if look is None or look.positive or look.positive_truth:
        return None
    plain, best = look.angles["x y z"], min(look.angles, key=lambda name: look.angles[name])
    if look.turned < look.angles[best]:
        return None
    if look.angles[best] > plain - CLEAR or look.angles[best] > plain / 2:
        return None
    what = f"The mean angle falls from {plain:.0f}° to {look.angles[best]:.0f}° with the axes '{best}'."
    return Problem(what, look.images, look.images, remedy=f"Set the option axes='{best}'.")
