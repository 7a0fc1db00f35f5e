"""Task `sequences`: the weight of a food while it is eaten, frame by frame.

Conventions
    The unit is the eating sequence. Columns: `sequence`, `t` (0 is the initial frame), `weight` in grams;
    in the truth also `kcal_per_g` (constant inside a sequence), `valid` (false takes a frame out) and `sample_weight`.
    Only valid frames count. t = 1 never stands in for a missing t = 0: that sequence is out of the initial and the
    consumed error, and counted.

Metrics
    MAE and PMAE (the ratio of means, never the mean of ratios) over all frames, at the initial frame, of the weight
    consumed, and in kilocalories; the mean over sequences beside the mean over frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.align.join import join
from steelyard.core.errors import InputError
from steelyard.core.metric import Metric, one_of
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, constant_in_unit, factorize
from steelyard.core.stats import Stats
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.metrics.regression import INFINITY, ROW_METRICS, regression_columns

TRUTH = Schema(
    key=("sequence", "t"),
    columns=(
        Column("sequence", "id", meaning="the eating sequence, which is the unit"),
        Column("t", "integer", minimum=0, meaning="the frame's number; 0 is the initial frame"),
        Column("weight", "number", minimum=0, meaning="grams left on the plate"),
        Column(
            "kcal_per_g",
            "number",
            required=False,
            minimum=0,
            empty=True,
            meaning="energy density of the food",
        ),
        Column("valid", "flag", required=False, meaning="false takes the frame out"),
        Column("sample_weight", "number", required=False, minimum=0, meaning="the user's weight of the sequence"),
    ),
)
PREDICTION = Schema(
    key=("sequence", "t"),
    columns=(
        Column("sequence", "id", meaning="as in the truth"),
        Column("t", "integer", minimum=0, meaning="as in the truth"),
        Column("weight", "number", meaning="predicted grams"),
    ),
)


def pair(truth: Records, prediction: Records, policy: Policy) -> Pairs:
    """Join valid frames by sequence and t. A prediction for an invalid frame is neither used nor missed."""
    if "valid" in truth:
        valid = truth["valid"]
        invalid = truth.take(np.flatnonzero(~valid))
        if len(invalid):
            beside = join(invalid, prediction, TRUTH.key, Policy(missing="skip", extra="skip"))
            unused = np.zeros(len(prediction), dtype=bool)
            unused[beside.prediction_row] = True
            prediction = prediction.take(np.flatnonzero(~unused))
            truth = truth.take(np.flatnonzero(valid))
        if not len(truth):
            raise InputError("no frame is valid", where=truth.source, remedy="Mark valid frames with true.")
    return join(truth, prediction, TRUTH.key, policy)


def measure(pairs: Pairs) -> Stats:
    """Sums by sequence. A missing prediction that the policy keeps counts as 0 g."""
    truth, prediction = pairs.truth_column("weight"), pairs.prediction_column("weight", missing=0.0)
    units, owner, t = len(pairs.units), pairs.owner, pairs.truth_column("t")
    columns = regression_columns(truth, prediction, owner, units)
    frames = columns["rows"]

    columns["sequences"] = (frames > 0).astype(float)
    columns["mean_error"] = np.divide(columns["abs_error"], frames, out=np.zeros(units), where=frames > 0)
    columns["mean_truth"] = np.divide(columns["truth"], frames, out=np.zeros(units), where=frames > 0)

    last, single = _last_frame(pairs)
    at_start, at_end = t == 0, t == last[owner]
    start_truth, start_prediction, has_start = _at(at_start, owner, truth, prediction, units)
    end_truth, end_prediction, has_end = _at(at_end, owner, truth, prediction, units)
    both = has_start & has_end
    columns["initial"] = has_start.astype(float)
    columns["initial_error"] = np.abs(start_prediction - start_truth)
    columns["initial_truth"] = start_truth
    eaten, predicted = (start_truth - end_truth) * both, (start_prediction - end_prediction) * both
    columns["consumed"] = both.astype(float)
    columns["consumed_error"] = np.abs(eaten - predicted)
    columns["consumed_truth"] = eaten
    columns["single"] = (both & single).astype(float)

    density: Array = np.full(units, np.nan)
    if "kcal_per_g" in pairs.truth:
        density = constant_in_unit(pairs.truth, "kcal_per_g", owner, pairs.truth_row, units)
    known = ~np.isnan(density)
    density = np.nan_to_num(density)
    columns["kcal_frames"] = frames * known
    columns["kcal_error"] = columns["abs_error"] * density
    columns["kcal_truth"] = columns["truth"] * density

    weight = None
    if "sample_weight" in pairs.truth:
        weight = np.nan_to_num(constant_in_unit(pairs.truth, "sample_weight", owner, pairs.truth_row, units))
    return Stats(pairs.units, columns, events={"truth": truth, "prediction": prediction}, owner=owner, weight=weight)


def _last_frame(pairs: Pairs) -> tuple[Array, Array]:
    """The last valid frame of each sequence as the truth has it, and whether it is the only one."""
    _, (unit, row_unit) = factorize(pairs.units, pairs.truth["sequence"])
    position = np.full(int(max(unit.max(initial=-1), row_unit.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[unit] = np.arange(len(unit))
    rows = position[row_unit]
    inside = rows >= 0
    last = np.full(len(pairs.units), -1, dtype=np.int64)
    np.maximum.at(last, rows[inside], pairs.truth["t"][inside])
    return last, np.bincount(rows[inside], minlength=len(pairs.units)) == 1


def _at(mask: Array, owner: Array, truth: Array, prediction: Array, units: int) -> tuple[Array, Array, Array]:
    values, predicted, present = np.zeros(units), np.zeros(units), np.zeros(units, dtype=bool)
    values[owner[mask]], predicted[owner[mask]], present[owner[mask]] = truth[mask], prediction[mask], True
    return values, predicted, present


@dataclass(frozen=True)
class _Ratio(Metric):
    """A mean absolute error or its percentage: a numerator and a denominator by name."""

    better = "lower"
    range = (0, INFINITY)
    numerator: ClassVar[str]
    denominator: ClassVar[str]
    factor: ClassVar[float] = 1

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Numerator's total over denominator's total."""
        return self.factor * ratio(weights @ stats[self.numerator], weights @ stats[self.denominator])


class _NeedsStart(_Ratio):
    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Sequences without an initial frame."""
        return float((weights @ stats["sequences"] - weights @ stats["initial"])[0]), "sequences without a frame t = 0"


@dataclass(frozen=True)
class _Consumed(_Ratio):
    exclude_single: bool = False

    def check(self) -> None:
        """Check that the setting is true or false."""
        one_of(self, "exclude_single", True, False)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """As the base, without sequences of one frame where that is asked for: they add 0 to both sums."""
        below = weights @ stats[self.denominator]
        if self.exclude_single and self.denominator == "consumed":
            below = below - weights @ stats["single"]
        return self.factor * ratio(weights @ stats[self.numerator], below)

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Sequences whose first or last frame is not there."""
        gone = float((weights @ stats["sequences"] - weights @ stats["consumed"])[0])
        what = "sequences without a frame t = 0 or without a prediction at the end"
        if self.exclude_single:
            gone += float((weights @ stats["single"])[0])
            what += ", or of a single frame"
        return gone, what

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Say how many sequences have one frame only."""
        single = int(np.count_nonzero(stats["single"]))
        if not single or self.exclude_single:
            return ()
        return (
            f"{single} sequences have a single frame (n_single_frame): nothing was eaten there, by definition. "
            "exclude_single=true leaves them out.",
        )


class _Energy(_Ratio):
    def why(self, stats: Stats, weights: Weights) -> str:
        """Tell a missing column from a food without energy."""
        if not stats["kcal_frames"].any():
            return "no kcal_per_g is given"
        return "the foods hold no energy"

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Frames without an energy density."""
        return float((weights @ stats["rows"] - weights @ stats["kcal_frames"])[0]), "frames without kcal_per_g"


@dataclass(frozen=True)
class OverallError(_Ratio):
    r"""MAE over all frames: how far off a frame's weight is, on average.

    $\mathrm{MAE}_{\mathrm{overall}} = \sum_i \sum_t |W_{i,t} - \hat W_{i,t}| \;/\; \sum_i T_i$

    A mean over frames, so long sequences count more; `mae_sequence` is the mean over sequences.

    Undefined when there is no valid frame.

    Pros:
    - Frame-by-frame accuracy across the entire data set.

    Cons:
    - Long sequences dominate.
    """

    name = "mae_overall"
    title = "MAE, all frames"
    measure = "g"
    numerator, denominator = "abs_error", "rows"
    reference = "sklearn.metrics.mean_absolute_error"


@dataclass(frozen=True)
class OverallPercentage(_Ratio):
    r"""PMAE over all frames: MAE as a percentage of the mean true weight.

    $\mathrm{PMAE}_{\mathrm{overall}} = 100\,\mathrm{MAE}_{\mathrm{overall}}
    \;/\; \frac{1}{\sum_i T_i}\sum_i \sum_t W_{i,t}$

    The ratio of means, never the mean of ratios: an empty plate divides nothing by zero.

    Undefined when the true weights add up to 0.

    Pros:
    - Comparable between foods of different weight.

    Cons:
    - Says little about the last bites, where the plate is nearly empty.
    """

    name = "pmae_overall"
    title = "PMAE, all frames"
    measure = "%"
    numerator, denominator, factor = "abs_error", "truth", 100


@dataclass(frozen=True)
class InitialError(_NeedsStart):
    r"""MAE of the initial frame: how far off the whole portion is.

    $\mathrm{MAE}_{\mathrm{initial}} = \frac{1}{N} \sum_i |W_{i,0} - \hat W_{i,0}|$

    Undefined when no sequence has a valid frame t = 0.

    Pros:
    - Isolates the accuracy at the start of the meal.

    Cons:
    - Sees one frame a sequence.
    """

    name = "mae_initial"
    title = "MAE, initial frame"
    measure = "g"
    numerator, denominator = "initial_error", "initial"


@dataclass(frozen=True)
class InitialPercentage(_NeedsStart):
    r"""PMAE of the initial frame: its MAE as a percentage of the mean initial weight.

    $\mathrm{PMAE}_{\mathrm{initial}} = 100\,\mathrm{MAE}_{\mathrm{initial}} \;/\; \frac{1}{N}\sum_i W_{i,0}$

    Undefined when the initial weights add up to 0.

    Pros:
    - Comparable between data sets with different portions.

    Cons:
    - Sees one frame a sequence.
    """

    name = "pmae_initial"
    title = "PMAE, initial frame"
    measure = "%"
    numerator, denominator, factor = "initial_error", "initial_truth", 100


@dataclass(frozen=True)
class ConsumedError(_Consumed):
    r"""MAE of the weight consumed: from the initial frame to the last valid one.

    $\mathrm{MAE}_{\mathrm{consumed}} = \frac{1}{N}
    \sum_i |(W_{i,0} - W_{i,T_i-1}) - (\hat W_{i,0} - \hat W_{i,T_i-1})|$

    A sequence of one frame consumed nothing and is included, as the formula says; `exclude_single=true` leaves it out.

    Undefined when no sequence has both its frames.

    Pros:
    - The mass removed over the whole meal, which dietary tracking is about.

    Cons:
    - A constant error in every frame cancels.
    """

    name = "mae_consumed"
    title = "MAE, weight consumed"
    measure = "g"
    numerator, denominator = "consumed_error", "consumed"


@dataclass(frozen=True)
class ConsumedPercentage(_Consumed):
    r"""PMAE of the weight consumed: its MAE as a percentage of the mean weight consumed.

    $\mathrm{PMAE}_{\mathrm{consumed}} = 100\,\mathrm{MAE}_{\mathrm{consumed}}
    \;/\; \frac{1}{N}\sum_i (W_{i,0} - W_{i,T_i-1})$

    Undefined when nothing was eaten: the mean weight consumed is not positive.

    Pros:
    - Comparable between meals of different size.

    Cons:
    - Unstable where little was eaten.
    """

    name = "pmae_consumed"
    title = "PMAE, weight consumed"
    measure = "%"
    numerator, denominator, factor = "consumed_error", "consumed_truth", 100


@dataclass(frozen=True)
class EnergyError(_Energy):
    r"""MAE in kilocalories: each frame's error times the food's energy density.

    $\mathrm{MAE}_{\mathrm{kcal}} = \sum_i \sum_t |W_{i,t} - \hat W_{i,t}|\,D_i \;/\; \sum_i T_i$

    Undefined when no kcal_per_g is given.

    Pros:
    - The nutritional impact of the error.

    Cons:
    - Energy-dense foods dominate, so weight errors compound asymmetrically.
    """

    name = "mae_kcal"
    title = "MAE, energy"
    measure = "kcal"
    numerator, denominator = "kcal_error", "kcal_frames"


@dataclass(frozen=True)
class EnergyPercentage(_Energy):
    r"""PMAE in kilocalories: the energy MAE as a percentage of the mean true energy.

    $\mathrm{PMAE}_{\mathrm{kcal}} = 100\,\mathrm{MAE}_{\mathrm{kcal}}
    \;/\; \frac{1}{\sum_i T_i}\sum_i \sum_t W_{i,t}\,D_i$

    Undefined when no kcal_per_g is given, or the foods hold no energy.

    Pros:
    - Comparable between diets.

    Cons:
    - Energy-dense foods dominate.
    """

    name = "pmae_kcal"
    title = "PMAE, energy"
    measure = "%"
    numerator, denominator, factor = "kcal_error", "kcal_truth", 100


@dataclass(frozen=True)
class SequenceError(_Ratio):
    r"""Mean over sequences of each sequence's MAE: every meal counts the same.

    $\mathrm{MAE}_{\mathrm{sequence}} = \frac{1}{N} \sum_i \frac{1}{T_i} \sum_t |W_{i,t} - \hat W_{i,t}|$

    Undefined when there is no valid frame.

    Pros:
    - A long meal counts no more than a short one.

    Cons:
    - Not the paper's overall error, which is a mean over frames.
    """

    name = "mae_sequence"
    title = "MAE, mean over sequences"
    measure = "g"
    numerator, denominator = "mean_error", "sequences"


@dataclass(frozen=True)
class SequencePercentage(_Ratio):
    r"""Mean over sequences of each sequence's MAE, as a percentage of the mean over sequences of its mean weight.

    $\mathrm{PMAE}_{\mathrm{sequence}} = 100 \sum_i \frac{1}{T_i} \sum_t |W_{i,t} - \hat W_{i,t}|
    \;/\; \sum_i \frac{1}{T_i} \sum_t W_{i,t}$

    Undefined when the true weights add up to 0.

    Pros:
    - A long meal counts no more than a short one.

    Cons:
    - Not the paper's overall percentage.
    """

    name = "pmae_sequence"
    title = "PMAE, mean over sequences"
    measure = "%"
    numerator, denominator, factor = "mean_error", "mean_truth", 100


TASK = Task(
    name="sequences",
    title="Eating sequences, frame by frame",
    unit="sequence",
    item="frame",
    truth=TRUTH,
    prediction=PREDICTION,
    pair=pair,
    measure=measure,
    metrics=(
        OverallError, OverallPercentage, InitialError, InitialPercentage, ConsumedError, ConsumedPercentage,
        EnergyError, EnergyPercentage, SequenceError, SequencePercentage, *ROW_METRICS,
    ),
    defaults=(
        "mae_overall", "pmae_overall", "mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed",
        "mae_kcal", "pmae_kcal", "mae_sequence", "pmae_sequence",
        "mape", "bias", "rmse", "within@10", "within@20", "r2", "pearson",
    ),
    joined={"weight": "prediction"},
)  # fmt: skip
