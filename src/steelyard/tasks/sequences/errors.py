"""The errors of an eating sequence, as the specification's equations 5 to 12 give them, and their means over sequences.

Each is a ratio of two totals by name; `SequenceSum` measures what the names stand for.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import constant_in_unit, factorize
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.sequences.meals import Smooth, smooth_label, smoothed_rows
from steelyard.tasks.shared.regression import INFINITY, regression_columns, row_columns


class SequenceSum(Sum):
    """A sum over a sequence, or something that a sequence is or has: its initial error, whether it has one."""

    name = "sequences.sum"

    of: str
    smooth: str = field(default="none", metadata={"added": True})

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        return SumBlock(sequence_columns(pairs, cache, self.smooth)[self.of])


def sequence_columns(pairs: Pairs, cache: SharedCache, smooth: str = "none") -> dict[str, Array]:
    """Columns by sequence, by what they are of."""
    return cache.once(("sequence columns", smooth), lambda: _columns(pairs, cache, smooth))


def _columns(pairs: Pairs, cache: SharedCache, smooth: str) -> dict[str, Array]:
    truth, prediction = smoothed_rows(pairs, cache, smooth)
    units, owner, t = len(pairs.units), pairs.owner, pairs.truth_column("t")
    if smooth == "none":
        columns = dict(row_columns(pairs, cache))
    else:
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
    return columns


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


class _Ratio(Metric):
    """A mean absolute error or its percentage: a numerator and a denominator by name."""

    better = "lower"
    range = (0, INFINITY)
    numerator: ClassVar[str]
    denominator: ClassVar[str]
    factor: ClassVar[float] = 1

    counted: ClassVar[tuple[str, ...]] = ()  # totals that remarks read

    smooth: Smooth = "none"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(map(self._sum, dict.fromkeys((self.numerator, self.denominator, *self.counted))))

    def reduce(self, totals: TotalsView) -> Floats:
        return self.factor * ratio(totals[self._sum(self.numerator)], totals[self._sum(self.denominator)])

    def _sum(self, of: str) -> SequenceSum:
        """A sum by its name; only errors depend on smoothing."""
        return SequenceSum(of, self.smooth if of.endswith("error") else "none")


class _NeedsStart(_Ratio):
    counted = ("sequences", "initial")

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Sequences without an initial frame."""
        every, started = (totals[self._sum(of)][0] for of in self.counted)
        return float(every - started), "sequences without a frame t = 0"

    def undefined_reason(self, totals: TotalsView) -> str:
        """Tell data without initial frames from initial frames that weigh nothing."""
        return self.documented_reason() if totals[self._sum("initial")][0] else "no sequence has a valid frame t = 0"


class _Consumed(_Ratio):
    counted = ("sequences", "consumed", "single")

    exclude_single: bool = False

    def reduce(self, totals: TotalsView) -> Floats:
        """As the base, without sequences of one frame where that is asked for: they add 0 to both sums."""
        below = totals[self._sum(self.denominator)]
        if self.exclude_single and self.denominator == "consumed":
            below = below - totals[self._sum("single")]
        return self.factor * ratio(totals[self._sum(self.numerator)], below)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Sequences whose first or last frame is not there."""
        every, complete, single = (totals[self._sum(of)][0] for of in self.counted)
        gone = float(every - complete)
        what = "sequences without a frame t = 0 or without a prediction at the end"
        if self.exclude_single:
            gone += float(single)
            what += ", or of a single frame"
        return gone, what

    def undefined_reason(self, totals: TotalsView) -> str:
        """Tell data without first or last frames from plates of which nothing was eaten."""
        if totals[self._sum("consumed")][0]:
            return self.documented_reason()
        return "no sequence has a valid frame t = 0 and a prediction at the end"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say how many sequences have one frame only."""
        single = int(totals[self._sum("single")][0])
        if not single or self.exclude_single:
            return ()
        return (
            f"{single} sequences have a single frame (n_single_frame): nothing was eaten there, by definition. "
            "exclude_single=true leaves them out.",
        )


class _Energy(_Ratio):
    counted = ("rows", "kcal_frames")

    def undefined_reason(self, totals: TotalsView) -> str:
        """Tell a missing column from a food without energy."""
        if not totals[self._sum("kcal_frames")][0]:
            return "no kcal_per_g is given"
        return "the foods hold no energy"

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Frames without an energy density."""
        frames, known = (totals[self._sum(of)][0] for of in self.counted)
        return float(frames - known), "frames without kcal_per_g"


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
    aliases = ("mae", "mean absolute error", "overall weight error")
    measured_in = "g"
    numerator, denominator = "abs_error", "rows"
    reference = "sklearn.metrics.mean_absolute_error"


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
    aliases = ("pmae", "percentage mean absolute error", "overall weight error")
    measured_in = "%"
    numerator, denominator, factor = "abs_error", "truth", 100


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
    aliases = ("mae", "mean absolute error", "initial frame weight error")
    measured_in = "g"
    numerator, denominator = "initial_error", "initial"


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
    aliases = ("pmae", "percentage mean absolute error", "initial frame weight error")
    measured_in = "%"
    numerator, denominator, factor = "initial_error", "initial_truth", 100


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
    aliases = ("mae", "mean absolute error", "consumed weight error")
    measured_in = "g"
    numerator, denominator = "consumed_error", "consumed"


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
    aliases = ("pmae", "percentage mean absolute error", "consumed weight error")
    measured_in = "%"
    numerator, denominator, factor = "consumed_error", "consumed_truth", 100


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
    aliases = ("mae", "mean absolute error", "overall caloric error")
    measured_in = "kcal"
    numerator, denominator = "kcal_error", "kcal_frames"


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
    aliases = ("pmae", "percentage mean absolute error", "overall caloric error")
    measured_in = "%"
    numerator, denominator, factor = "kcal_error", "kcal_truth", 100


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
    measured_in = "g"
    numerator, denominator = "mean_error", "sequences"


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
    measured_in = "%"
    numerator, denominator, factor = "mean_error", "mean_truth", 100


class SmoothedSequences(Sum):
    """Sequences of which smoothing changes a prediction."""

    name = "sequences.smoothed"
    drawn = False

    smooth: str

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        raw, smoothed = (smoothed_rows(pairs, cache, smooth)[1] for smooth in ("none", self.smooth))
        changed = np.bincount(pairs.owner[raw != smoothed], minlength=len(pairs.units)) > 0
        return SumBlock(changed.astype(float))


FEW_SMOOTHED = 20  # sequences: with fewer, intervals of 95 % covered 76 % in a simulation


class SmoothingGain(Metric):
    r"""What smoothing repairs: the MAE over all frames as predicted, minus that of the smoothed predictions.

    $\mathrm{MAE}_{\mathrm{overall}}(\hat W) - \mathrm{MAE}_{\mathrm{overall}}(S(\hat W))$

    Both are of the same frames, so the interval is that of a paired difference. `smooth=isotonic` is the falling curve
    nearest to the predictions, `smooth=running_median` the median of three frames.

    Undefined when there is no valid frame.

    Pros:
    - Tells noise, which post-processing removes, from errors that it cannot remove.

    Cons:
    - Not a property of the model alone: it depends on how many frames there are.
    - Its interval is too narrow where few sequences are changed, which a note then says.
    """

    name = "smoothing_gain"
    title = "MAE removed by smoothing"
    better = "none"
    range = (-INFINITY, INFINITY)
    measured_in = "g"

    smooth: Literal["running_median", "isotonic"] = "isotonic"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def requirements(self) -> tuple[Requirement, ...]:
        sums = SequenceSum("abs_error"), SequenceSum("abs_error", self.smooth), SequenceSum("rows")
        return *sums, SmoothedSequences(self.smooth)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say where few sequences are changed."""
        count = int(totals[SmoothedSequences(self.smooth)][0])
        if not 0 < count < FEW_SMOOTHED:
            return ()
        return (f"smoothing changes {count} sequences only: below {FEW_SMOOTHED} the interval is too narrow.",)

    def reduce(self, totals: TotalsView) -> Floats:
        gain = totals[SequenceSum("abs_error")] - totals[SequenceSum("abs_error", self.smooth)]
        return ratio(gain, totals[SequenceSum("rows")])


SEQUENCE_METRICS: tuple[type[Metric], ...] = (
    OverallError,
    OverallPercentage,
    InitialError,
    InitialPercentage,
    ConsumedError,
    ConsumedPercentage,
    EnergyError,
    EnergyPercentage,
    SequenceError,
    SequencePercentage,
    SmoothingGain,
)
