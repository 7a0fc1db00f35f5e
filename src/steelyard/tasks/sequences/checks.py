"""Checks of `sequences`: grams over time, frame by frame."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.ids import with_ids
from steelyard.checks.numbers import constant, copies, negative, unit_of_weight
from steelyard.core.records import Array, Records, factorize
from steelyard.tasks.sequences.meals import MOUTHFUL

CHECKS = with_ids(Checks())
CHECKS.add(
    "unit-of-weight", "error", "kilograms, ounces or pounds where grams are expected", "Give grams on both sides."
)(unit_of_weight)
CHECKS.add("constant", "warning", "all predictions are the same number", "Are these the model's answers?")(
    constant("weight", "weight")
)
CHECKS.add("copies-of-truth", "warning", "predictions that are the truth itself", "Are these predictions of a model?")(
    copies("weight", "weight")
)
CHECKS.add(
    "negative", "note", "weights below 0 for more than 5 % of the frames",
    "Cut them off at 0 where they are meant to be 0.",
    quick=False,
)(negative)  # fmt: skip
SHARE = 0.2  # of sequences or steps: fewer may be chance
MOST = 2000  # sequences whose frames are joined again
RATES = (1000.0, 24.0, 25.0, 30.0, 50.0, 60.0)


def _frames(data: CheckData) -> tuple[Array, Array, Array, Array, Array, Array] | None:
    """Sequence, t and weight of both sides, of valid frames of some sequences."""
    if "frames" in data.read:
        frames: tuple[Array, Array, Array, Array, Array, Array] | None = data.read["frames"]
        return frames
    data.read["frames"] = None
    truth, predicted = data.truth, data.prediction
    if predicted is None or len(predicted) < FEW or len(truth) < FEW or data.quick:
        return None
    names, (mine, theirs) = factorize(truth["sequence"], predicted["sequence"])
    chosen = np.zeros(len(names), dtype=bool)
    chosen[evenly(len(names), MOST)] = True
    keep = chosen[mine] & truth.columns.get("valid", True)
    other = chosen[theirs]
    data.read["frames"] = (
        mine[keep], truth["t"][keep].astype(np.int64), truth["weight"][keep],
        theirs[other], predicted["t"][other].astype(np.int64), predicted["weight"][other],
    )  # fmt: skip
    return data.read["frames"]  # type: ignore[no-any-return]


def _match_frames(frames: tuple[Array, ...], change: Callable[[Array, Array], Array]) -> tuple[float, float, int]:
    """The share of true frames that meet a prediction whose time was changed, the mean error there, and how many."""
    sequence, t, weight, other, at, predicted = frames
    moved = change(at, other)
    whole = np.isfinite(moved) & (moved == np.floor(moved)) & (moved >= 0) & (moved < 2**31)
    key = sequence * (1 << 32) + t
    theirs = other[whole] * (1 << 32) + moved[whole].astype(np.int64)
    order = np.argsort(theirs, kind="stable")
    place = np.searchsorted(theirs[order], key).clip(max=max(0, len(theirs) - 1))
    if not len(theirs):
        return 0.0, np.inf, 0
    met = theirs[order][place] == key
    if not met.any():
        return 0.0, np.inf, 0
    error = np.abs(predicted[whole][order][place[met]] - weight[met])
    return float(met.mean()), float(error.mean()), int(met.sum())


@CHECKS.add(
    "time-shifted", "error", "frames are counted from another start: each has its neighbour's prediction",
    "Count t from 0 at the initial frame on both sides.", quick=False,
)  # fmt: skip
def time_shifted(data: CheckData) -> Problem | None:
    """Whether predictions fit, or meet, the frame one later or earlier."""
    frames = _frames(data)
    if frames is None:
        return None
    plain, error, met = _match_frames(frames, lambda t, _: t.astype(float))
    for step in (-1, 1):
        share, moved, count = _match_frames(frames, lambda t, _, step=step: t + float(step))  # type: ignore[misc]
        better = count >= FEW and moved < error / 2 and share > 0.6 * plain
        meets = share >= 0.95 and plain < share - 0.05 and moved <= error and count > met
        if better or meets:
            return Problem(
                f"The mean error is {error:.3g} g over {plain:.0%} of the frames, and {moved:.3g} g over "
                f"{share:.0%} where "
                f"predictions are taken one frame {'earlier' if step < 0 else 'later'}.",
                len(frames[4]), len(frames[4]), some_rows(data.prediction, range(3), "t"),  # type: ignore[arg-type]
            )  # fmt: skip
    return None


@CHECKS.add(
    "unit-of-time", "error", "seconds or milliseconds where the number of a frame is expected",
    "Give the frame's number, 0, 1, 2, ..., on both sides.", quick=False,
)  # fmt: skip
def unit_of_time(data: CheckData) -> Problem | None:
    """Whether times of the predictions meet those of the truth after a division or a multiplication."""
    frames = _frames(data)
    if frames is None:
        return None
    plain, _, _ = _match_frames(frames, lambda t, _: t.astype(float))
    for rate in RATES:
        for factor, word in ((1 / rate, f"divided by {rate:g}"), (rate, f"multiplied by {rate:g}")):
            share, _, count = _match_frames(frames, lambda t, _, f=factor: np.round(t * f, 9))  # type: ignore[misc]
            if share > 0.8 and plain < 0.5 * share and count >= 10:
                return Problem(
                    f"{plain:.0%} of the true frames have a prediction, and {share:.0%} where its t is {word}.",
                    len(frames[4]), len(frames[4]), some_rows(data.prediction, range(3), "t"),  # type: ignore[arg-type]
                )  # fmt: skip
    return None


@CHECKS.add(
    "time-reversed", "error", "the last frame stands first", "Sort frames by time before numbering them.", quick=False
)
def time_reversed(data: CheckData) -> Problem | None:
    """Whether predictions fit when each sequence is turned round."""
    frames = _frames(data)
    if frames is None:
        return None
    last = np.zeros(int(max(frames[0].max(initial=0), frames[3].max(initial=0))) + 1, dtype=np.int64)
    np.maximum.at(last, frames[3], frames[4])
    _, error, _ = _match_frames(frames, lambda t, _: t.astype(float))
    share, moved, count = _match_frames(frames, lambda t, sequence: (last[sequence] - t).astype(float))
    if count < FEW or moved > 0.6 * error or share < 0.5:
        return None
    return Problem(
        f"The mean error is {error:.3g} g, and {moved:.3g} g where each sequence of predictions is turned round.",
        len(frames[4]), len(frames[4]), some_rows(data.prediction, range(3), "t"),  # type: ignore[arg-type]
    )  # fmt: skip


@CHECKS.add(
    "consumed-as-left", "error", "what was eaten stands where what is left is expected",
    "Give the weight that is left on the plate.",
)  # fmt: skip
def consumed_as_left(data: CheckData) -> Problem | None:
    """Whether predictions fit the initial weight minus the truth."""
    rows, places = data.paired_rows
    if data.pairs is None or len(rows) < FEW:
        return None
    truth, predicted = data.numbers("weight", "weight")
    _, (sequence,) = factorize(data.pairs.truth["sequence"][rows])
    t = data.pairs.truth["t"][rows]
    first = np.full(int(sequence.max()) + 1, np.nan)
    first[sequence[t == 0]] = truth[t == 0]
    eaten = first[sequence] - truth
    use = np.isfinite(eaten) & (t > 0)
    if np.count_nonzero(use) < FEW:
        return None
    plain, other = (float(np.mean(np.abs(predicted[use] - v[use]))) for v in (truth, eaten))
    if other > 0.6 * plain:
        return None
    return Problem(
        f"After the initial frame the mean error is {plain:.3g} g, and {other:.3g} g against what was "
        f"eaten until then.",
        int(use.sum()), len(rows), some_rows(data.pairs.prediction, places[use], "weight"),
    )  # fmt: skip


@CHECKS.add(
    "energy-density", "error", "kcal per 100 g, or kilojoules, where kcal per g is expected: no food has more than 9",
    "Divide kcal per 100 g by 100, kilojoules by 4.184.", side="truth",
)  # fmt: skip
def energy_density(data: CheckData) -> Problem | None:
    """Densities that no food has."""
    density = data.truth.columns.get("kcal_per_g")
    if density is None:
        return None
    rows = np.flatnonzero(density > 9.5)
    if not len(rows):
        return None
    return Problem(
        f"The column kcal_per_g reaches {np.nanmax(density):g}; pure fat has 9.", len(rows), len(density),
        some_rows(data.truth, rows, "kcal_per_g"),
    )  # fmt: skip


def _curve(records: Records) -> tuple[Array, Array, Array]:
    """The rows in order of sequence and t, the code of each one's sequence, and its weight; no invalid frames."""
    _, (owner,) = factorize(records["sequence"])
    order = np.lexsort((records["t"], owner))
    if "valid" in records:
        order = order[records["valid"][order]]
    return order, owner[order], records["weight"][order]


def _flat(records: Records) -> Problem | None:
    """Sequences of three frames or more in which all weights are the same."""
    rows, owner, weight = _curve(records)
    frames = np.bincount(owner)
    changes = np.bincount(owner[1:][(owner[1:] == owner[:-1]) & (np.diff(weight) != 0)], minlength=len(frames))
    flat = (frames >= 3) & (changes == 0)
    total = int(np.count_nonzero(frames >= 3))
    if np.count_nonzero(flat) < max(3, SHARE * total):
        return None
    begins = np.flatnonzero(flat[owner] & np.diff(owner, prepend=-1).astype(bool))
    return Problem(
        f"{np.count_nonzero(flat)} of {total} sequences have the same weight in all frames.",
        int(np.count_nonzero(flat)),
        total,
        some_rows(records, rows[begins], "weight"),
    )


@CHECKS.add(
    "flat-sequences",
    "warning",
    "all frames of a sequence have the same prediction",
    "Was each frame shown on its own, or the name of the food alone?",
    quick=False,
)
def flat_sequences(data: CheckData) -> Problem | None:
    """Whether predictions stay the same in many sequences, though the true weights do not."""
    problem = None if data.prediction is None else _flat(data.prediction)
    return None if problem is None or _flat(data.truth) is not None else problem


@CHECKS.add(
    "flat-sequences",
    "note",
    "sequences in which nothing is eaten",
    "Are these the readings of all frames?",
    side="truth",
    quick=False,
)
def flat_truth(data: CheckData) -> Problem | None:
    """Whether the weight stays the same in many sequences."""
    return _flat(data.truth)


@CHECKS.add(
    "jumps",
    "note",
    "more than 5 % of steps that are larger than a mouthful, and than twice any true step",
    "Smooth them, and score both: mae_overall(smooth=isotonic) beside mae_overall.",
    quick=False,
)
def jumps(data: CheckData) -> Problem | None:
    """Whether predictions jump by more than any true step."""
    if data.prediction is None:
        return None
    _, owner, weight = _curve(data.truth)
    true_steps = np.abs(np.diff(weight))[owner[1:] == owner[:-1]]
    limit = max(MOUTHFUL, 2 * float(true_steps.max(initial=0.0)))
    rows, owner, weight = _curve(data.prediction)
    inside = owner[1:] == owner[:-1]
    ends = np.flatnonzero(inside & (np.abs(np.diff(weight)) > limit)) + 1
    if len(ends) <= 0.05 * np.count_nonzero(inside):
        return None
    return Problem(
        f"{len(ends)} steps to the next frame change the weight by more than {limit:g} g.",
        len(ends),
        int(np.count_nonzero(inside)),
        some_rows(data.prediction, rows[ends], "weight"),
    )


@CHECKS.add(
    "rises",
    "note",
    "weights that rise while the food is eaten: frames out of order, a refill, or noise",
    "Sort frames by time, and end a sequence where the plate is filled again.",
    side="truth",
    quick=False,
)
def rises(data: CheckData) -> Problem | None:
    """Whether many steps rise, or one rises by more than a mouthful."""
    rows, owner, weight = _curve(data.truth)
    inside = owner[1:] == owner[:-1]
    ends = np.flatnonzero(inside & (np.diff(weight) > 0)) + 1
    high = np.diff(weight)[ends - 1].max(initial=0.0)
    steps = int(np.count_nonzero(inside))
    if steps < FEW or (len(ends) < SHARE * steps and high <= MOUTHFUL):
        return None
    return Problem(
        f"The weight rises in {len(ends)} of {steps} steps to the next frame, by up to {high:g} g.",
        len(ends),
        steps,
        some_rows(data.truth, rows[ends], "weight"),
    )
