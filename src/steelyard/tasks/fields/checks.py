"""What is looked for in disparity and flow: another sign, scale, order of channels or rows than the truth has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.checks.check import CheckData, Checks, Problem, evenly
from steelyard.checks.ids import with_ids
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import median
from steelyard.tasks.fields.errors import ErrorPairs, LoadedPair

LEAST_FRAMES, REGULAR = 8, 0.9  # of a folder, and the share of equal steps, for names to look like frames
MOST_IMAGES, QUICK_IMAGES = 20, 2  # that are looked at
MOST_PIXELS = 16384  # of an image, evenly over it
BETTER = 0.5  # a changed prediction must have less than this share of the error
SCALES = (1000.0, 256.0, 100.0, 64.0, 5000.0)
NEAR_SCALE = 0.15  # of a ratio of medians around a scale
MANY_ZEROS = 0.01  # the share of true disparities that are exactly 0


class Trial(Frozen):
    """Mean errors of some images as they are and with a change of the prediction; `refused` says what cannot be read.

    `ratio` is the median length of predictions over that of the truth, `negative` the share of estimates below 0,
    `zero` that of true values that are 0.
    """

    errors: dict[str, float]
    ratio: float
    negative: float
    images: int
    refused: str = ""
    zero: float = 0.0


def try_changes(data: CheckData) -> Trial | None:
    """Errors under every change that is looked for, made once for all checks."""
    if "trial" not in data.read:
        data.read["trial"] = _try_changes(data)
    trial: Trial | None = data.read["trial"]
    return trial


def _try_changes(data: CheckData) -> Trial | None:
    pairs: ErrorPairs | None = data.pairs
    if pairs is None or not len(pairs.owner):
        return None
    chosen = evenly(len(pairs.owner), QUICK_IMAGES if data.quick else MOST_IMAGES)
    chosen = chosen[pairs.prediction_row[chosen] >= 0]
    sums: dict[str, list[float]] = {}
    lengths: tuple[list[Array], list[Array]] = ([], [])
    below = estimates = 0
    plain = replace(pairs, holes="outlier")
    for pair in chosen.tolist():
        try:
            loaded = plain.load(pair)
        except InputError as error:
            return Trial({}, 1.0, 0.0, len(chosen), str(error))
        for name, value in _errors(loaded, pairs.channels).items():
            sums.setdefault(name, []).append(value)
        truth = loaded.truth[..., 0, :] if pairs.several else loaded.truth
        step = thin_step(loaded.shape)
        for side, field in enumerate((truth, loaded.predicted)):
            lengths[side].append(_lengths(field[::step, ::step], pairs.channels))
        if pairs.channels == 1:
            some = loaded.predicted[::step, ::step]
            known = some[np.isfinite(some)]
            below, estimates = below + int((known < 0).sum()), estimates + known.size
    medians = [median(np.concatenate(parts)) if any(map(len, parts)) else 0.0 for parts in lengths]
    errors = {name: float(np.nanmean(values)) for name, values in sums.items() if not np.isnan(values).all()}
    ratio = medians[1] / medians[0] if medians[0] else 1.0
    true_lengths = np.concatenate(lengths[0]) if lengths[0] else np.zeros(0)
    zero = float((true_lengths == 0).mean()) if len(true_lengths) else 0.0
    return Trial(errors, ratio, below / estimates if estimates else 0.0, len(chosen), zero=zero)


def thin_step(shape: tuple[int, ...]) -> int:
    """Every how many rows and columns of an image are looked at."""
    return max(1, int(np.ceil(np.sqrt(shape[0] * shape[1] / MOST_PIXELS))))


def _lengths(field: Array, channels: int) -> Array:
    flat = field.reshape(-1, channels).astype(np.float64)
    known = flat[np.isfinite(flat).all(axis=1) & (np.abs(flat) < 1e9).all(axis=1)]
    return np.asarray(np.sqrt((known**2).sum(axis=1)))


def _errors(loaded: LoadedPair, channels: int) -> dict[str, float]:
    """The mean error of an image under each change; nan where no pixel is valid and estimated."""
    step = thin_step(loaded.shape)
    truth = loaded.truth.reshape(*loaded.shape, -1, channels)[::step, ::step].astype(np.float64)
    whole = loaded.predicted.reshape(*loaded.shape, 1, channels)
    predicted, turned = (field[::step, ::step].astype(np.float64) for field in (whole, whole[::-1]))
    changed: dict[str, Array] = {
        "as they are": predicted,
        "negated": -predicted,
        "rows turned over": turned,
    }
    if channels == 2:
        changed["u and v swapped"] = predicted[..., ::-1]
        changed["the sign of u changed"] = predicted * np.array([-1.0, 1.0])
        changed["the sign of v changed"] = predicted * np.array([1.0, -1.0])
    return {name: _mean_error(truth, field) for name, field in changed.items()}


def _mean_error(truth: Array, predicted: Array) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.sqrt(((predicted - truth) ** 2).sum(axis=-1)).min(axis=-1)
    known = errors[np.isfinite(errors) & (errors < 1e9)]
    return float(known.mean()) if known.size else float("nan")


def better_change(data: CheckData, *names: str) -> tuple[str, float, float] | None:
    """Of some changes the best, where it has far less error: its name, the error before and after it."""
    trial = try_changes(data)
    if trial is None or "as they are" not in trial.errors:
        return None
    before = trial.errors["as they are"]
    best = min(trial.errors, key=lambda name: trial.errors[name])
    if best not in names or not trial.errors[best] < BETTER * before:
        return None
    return best, before, trial.errors[best]


_FRAME = re.compile(r"(.*?)(\d+)$")


def count_frames(images: Sequence[str]) -> int:
    """How many images look like frames of videos: numbered one after the other, or at equal steps, in their folder."""
    numbers: dict[str, list[int]] = {}
    for image in images:
        match = _FRAME.match(image)
        if match is not None and len(match[2]) < 18:
            numbers.setdefault(match[1], []).append(int(match[2]))
    frames = 0
    for own in numbers.values():
        steps = np.diff(np.sort(np.array(own, dtype=np.int64)))
        if len(own) >= LEAST_FRAMES and (steps == steps[0]).mean() >= REGULAR and steps[0] > 0:
            frames += len(own)
    return frames


def add_frames(checks: Checks, task: str) -> Checks:
    """The check of names that look like frames of videos."""

    @checks.add(
        f"{task}-frames",
        "note",
        "frames of a video are alike: intervals that resample them are too narrow",
        "If these are videos, resample them: `cluster=folder`.",
        side="truth",
        quick=False,
    )
    def frames(data: CheckData) -> Problem | None:
        """Whether images of several folders are numbered."""
        images = [str(name) for name in data.truth["image"].tolist()]
        folders = {image.rpartition("/")[0] for image in images}
        count = count_frames(images) if len(folders) > 1 else 0
        if 2 * count < len(images) or not count:
            return None
        return Problem("Images are numbered like the frames of videos.", count, len(images))

    return checks


def add_checks(checks: Checks, task: str) -> Checks:
    """The checks that both tasks have."""

    @checks.add(f"{task}-refused", "error", "evaluation refuses the fields", "See the example.", quick=False)
    def refused(data: CheckData) -> Problem | None:
        """What evaluation would refuse."""
        trial = try_changes(data)
        if trial is None or not trial.refused:
            return None
        return Problem("Evaluation refuses these fields.", 1, trial.images, (trial.refused,))

    @checks.add(
        f"{task}-negated",
        "error",
        "predictions have the other sign, or are of the other direction",
        "Set the option negate=yes.",
    )
    def negated(data: CheckData) -> Problem | None:
        """Whether the error falls by half where the sign is changed."""
        return _change_problem(data, "negated")

    @checks.add(
        f"{task}-upside-down",
        "error",
        "rows of one side run from the bottom to the top",
        "Write PFM files with the last row first, and arrays with the first row first.",
    )
    def upside_down(data: CheckData) -> Problem | None:
        """Whether the error falls by half where the rows are turned over."""
        return _change_problem(data, "rows turned over")

    @checks.add(
        f"{task}-scale",
        "warning",
        "one side is in another scale",
        "Set the option scale, or prediction.scale.",
    )
    def other_scale(data: CheckData) -> Problem | None:
        """Whether the medians differ by a factor that files are written with."""
        trial = try_changes(data)
        if trial is None or trial.refused or not trial.ratio > 0:
            return None
        for scale in SCALES:
            for ratio, side in ((trial.ratio, "prediction"), (1 / trial.ratio, "truth")):
                if abs(ratio / scale - 1) < NEAR_SCALE:
                    return Problem(
                        f"The median length of predictions is {trial.ratio:.3g} times that of the truth.",
                        trial.images,
                        trial.images,
                        remedy=f"Is the option {side}.scale={scale:g} missing?",
                    )
        return None

    return checks


def _change_problem(data: CheckData, *names: str) -> Problem | None:
    change = better_change(data, *names)
    trial = try_changes(data)
    if change is None or trial is None:
        return None
    name, before, after = change
    what = f"The mean error falls from {before:.3g} to {after:.3g} px with {name}."
    return Problem(what.replace("with negated", "if predictions are negated"), trial.images, trial.images)


def flow_checks() -> Checks:
    """The checks of flow."""
    checks = add_checks(with_ids(Checks(), repeats=False), "flow")

    @checks.add(
        "flow-swapped",
        "error",
        "u and v are stored in the other order, or one of them has the other sign",
        "Write u (to the right) first and v (down) second.",
    )
    def swapped(data: CheckData) -> Problem | None:
        """Whether the error falls by half where channels are swapped or one changes its sign."""
        return _change_problem(data, "u and v swapped", "the sign of u changed", "the sign of v changed")

    return checks


def disparity_checks() -> Checks:
    """The checks of disparity."""
    checks = add_checks(with_ids(Checks(), repeats=False), "disparity")

    @checks.add(
        "disparity-negative",
        "warning",
        "disparities below 0 can never be right",
        "Set the option negate=yes if the model writes them negative.",
        side="predictions",
    )
    def negative(data: CheckData) -> Problem | None:
        """Whether most disparities are below 0, and the sign is not what is wrong with all."""
        trial = try_changes(data)
        if trial is None or trial.negative < 0.5 or better_change(data, "negated"):
            return None
        what = f"{100 * trial.negative:.0f} % of the predicted disparities are below 0."
        return Problem(what, trial.images, trial.images)

    @checks.add(
        "disparity-zero",
        "warning",
        "true disparities of 0 are compared: 0 means no value in PNG files only",
        "Write nan where there is no truth, or name the valid pixels with the option mask.",
        side="truth",
    )
    def zero(data: CheckData) -> Problem | None:
        """Whether many true disparities are exactly 0."""
        trial = try_changes(data)
        if trial is None or trial.zero < MANY_ZEROS:
            return None
        what = f"{100 * trial.zero:.0f} % of the true disparities are 0, and they are compared."
        return Problem(what, trial.images, trial.images)

    return checks
