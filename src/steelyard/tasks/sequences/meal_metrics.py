"""Metrics of the meal as a curve: error by phase and by grams left, eating rate, bites, implausible readings."""

from __future__ import annotations

from typing import Annotated, Literal

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.sequences.meals import (
    MOUTHFUL,
    PHASES,
    Bites,
    Durations,
    Flat,
    FramesLeft,
    Jumps,
    PhaseFrames,
    Rates,
    Smooth,
    smooth_label,
)
from steelyard.tasks.shared.regression import INFINITY


class PhaseError(Metric):
    r"""MAE in a third of the meal: how far off a frame's weight is at the beginning, in the middle, and at the end.

    $\mathrm{MAE}_{p} = \sum_i \sum_{t \in p} |W_{i,t} - \hat W_{i,t}| \;/\; \sum_i |\{t \in p\}|$

    Frame k of T valid frames (from 0) is in the third floor(3 (k + 1/2) / T), so that the thirds are as equal as
    possible and the same from both ends; the only frame of a sequence is in the first.

    Undefined when no frame is in that third.

    Pros:
    - Shows where in a meal a model fails: full plates, or the last bites.

    Cons:
    - Thirds are of frames, not of grams or minutes.
    """

    name = "mae_phase"
    title = "MAE, third of the meal"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"

    phase: Literal["first", "middle", "last"] = "first"
    smooth: Smooth = "none"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return tuple(cls(phase=phase) for phase in PHASES)  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        return f"MAE, {self.phase} third{smooth_label(self.smooth)}"

    def requirements(self) -> tuple[Requirement, ...]:
        return (PhaseFrames(self.phase, self.smooth),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[PhaseFrames(self.phase, self.smooth)]
        return ratio(sums[:, 0], sums[:, 1])


class LeftError(Metric):
    r"""MAE by what is left: over the frames whose true weight is from `low` to below `high` grams.

    $\mathrm{MAE}_{a,b} = \sum_i \sum_t |W_{i,t} - \hat W_{i,t}|\,[a \le W_{i,t} < b]
    \;/\; \sum_i \sum_t [a \le W_{i,t} < b]$

    Undefined when no frame has so much left.

    Pros:
    - Tells errors on nearly empty plates from errors on full ones.

    Cons:
    - Few frames may lie in a narrow range.
    """

    name = "mae_left"
    title = "MAE by grams left"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"

    low: Annotated[float, Between(0)] = 0
    high: Annotated[float, Between(0)] = 50
    smooth: Smooth = "none"

    @property
    def label(self) -> str:
        return f"MAE, {self.low:g} to {self.high:g} g left{smooth_label(self.smooth)}"

    def check(self) -> None:
        if self.low >= self.high:
            raise InvalidSpec(f"metric '{self}': low is not below high", remedy="Write mae_left(low=50, high=100).")

    def _frames(self) -> FramesLeft:
        return FramesLeft(float(self.low), float(self.high), self.smooth)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self._frames(),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._frames()]
        return ratio(sums[:, 0], sums[:, 1])


class _Rate(Metric):
    better = "lower"
    range = (0, INFINITY)

    smooth: Smooth = "none"

    def requirements(self) -> tuple[Requirement, ...]:
        return (Rates(self.smooth),)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        sums = totals[Rates(self.smooth)][0]
        return float(sums[3] - sums[0]), "sequences without times, or without a first or a last frame"

    def undefined_reason(self, totals: TotalsView) -> str:
        sums = totals[Rates(self.smooth)][0]
        if not sums[4]:
            return NO_TIME
        return self.documented_reason() if sums[0] else "no sequence has times at t = 0 and at a later last frame"


NO_TIME = "the truth has no times (column 'time', in seconds)"


class RateError(_Rate):
    r"""MAE of the eating rate: grams per minute, from the initial frame to the last valid one.

    $\mathrm{MAE}_{\mathrm{rate}} = \frac{1}{N} \sum_i \left|\frac{W_{i,0} - W_{i,T_i-1}}{D_i}
    - \frac{\hat W_{i,0} - \hat W_{i,T_i-1}}{D_i}\right|$

    D is the time between the two frames in minutes, by the column `time` of the truth.

    Undefined when the truth has no times.

    Pros:
    - The quantity that studies of eating behaviour report.

    Cons:
    - Depends on two frames of each sequence; pauses count as eating time.
    """

    name = "mae_rate"
    title = "MAE, eating rate"
    measured_in = "g/min"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[Rates(self.smooth)]
        return ratio(sums[:, 1], sums[:, 0])


class RatePercentage(_Rate):
    r"""PMAE of the eating rate: its MAE as a percentage of the mean true rate.

    $\mathrm{PMAE}_{\mathrm{rate}} = 100\,\mathrm{MAE}_{\mathrm{rate}}
    \;/\; \frac{1}{N} \sum_i \frac{W_{i,0} - W_{i,T_i-1}}{D_i}$

    Undefined when nothing was eaten, or the truth has no times.

    Pros:
    - Comparable between slow and fast eaters.

    Cons:
    - Unstable where little was eaten.
    """

    name = "pmae_rate"
    title = "PMAE, eating rate"
    measured_in = "%"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[Rates(self.smooth)]
        return 100 * ratio(sums[:, 1], sums[:, 2])


class DurationError(Metric):
    r"""MAE of the duration of eating: from the beginning of the first bite to the end of the last one, in seconds.

    $\mathrm{MAE}_{\mathrm{duration}} = \frac{1}{N} \sum_i |D_i - \hat D_i|$

    A bite is a step down by at least `threshold` grams. It begins at the frame before the step and ends at the frame
    after it. A sequence without bites lasts 0 s.

    Undefined when the truth has no times.

    Pros:
    - Shows whether the beginning and the end of eating are seen.

    Cons:
    - One false bite after the meal changes it by much.
    """

    name = "mae_duration"
    title = "MAE, duration of eating"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "s"

    threshold: Annotated[float, Between(0, open_low=True)] = 5
    smooth: Smooth = "none"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def _durations(self) -> Durations:
        return Durations(float(self.threshold), self.smooth)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self._durations(),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._durations()]
        return ratio(sums[:, 1], sums[:, 0])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        sums = totals[self._durations()][0]
        return float(sums[3] - sums[0]), "sequences without a time in each frame"

    def undefined_reason(self, totals: TotalsView) -> str:
        return NO_TIME


class _Bite(Metric):
    """Base of the metrics of bites: `threshold` grams make a bite, `tolerance` frames or seconds a match."""

    threshold: Annotated[float, Between(0, open_low=True)] = 5
    tolerance: Annotated[float, Between(0, 100)] = 1
    by: Literal["frame", "second"] = "frame"
    smooth: Smooth = "none"

    @property
    def label(self) -> str:
        return f"{self.title}{smooth_label(self.smooth)}"

    def _bites(self) -> Bites:
        return Bites(float(self.threshold), float(self.tolerance), self.by, self.smooth)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self._bites(),)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        sums = totals[self._bites()][0]
        return float(sums[7] - sums[6]), "sequences without a time in each frame"

    def undefined_reason(self, totals: TotalsView) -> str:
        return self.documented_reason() if totals[self._bites()][0][6] else NO_TIME


class BitePrecision(_Bite):
    r"""Precision of bites: the share of predicted bites that are true ones.

    $P = \sum_i m_i \;/\; \sum_i \hat b_i$

    A bite is a step from a frame to the next in which the weight falls by at least `threshold` grams; it happens at the
    second frame. A true and a predicted bite match if they are at most `tolerance` frames apart (`by=second`: seconds).
    Each has at most one partner: the number of pairs m is the greatest possible, then the distances are the least,
    and ties go to the earlier bites.

    Undefined when no bite is predicted.

    Pros:
    - Shows bites that are only noise of the readings.

    Cons:
    - Depends on the threshold and on the frames per minute.
    """

    name = "bite_precision"
    title = "Precision of bites"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        sums = totals[self._bites()]
        return sums[:, 2], sums[:, 1]


class BiteRecall(_Bite):
    r"""Recall of bites: the share of true bites that are found.

    $R = \sum_i m_i \;/\; \sum_i b_i$

    Bites and matches are those of `bite_precision`.

    Undefined when there is no true bite.

    Pros:
    - Shows bites that a model misses.

    Cons:
    - A model that predicts a bite in each step finds all.
    """

    name = "bite_recall"
    title = "Recall of bites"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        sums = totals[self._bites()]
        return sums[:, 2], sums[:, 0]


class BiteF1(_Bite):
    r"""F1 of bites: the harmonic mean of their precision and recall.

    $F_1 = 2 \sum_i m_i \;/\; \sum_i (b_i + \hat b_i)$

    Bites and matches are those of `bite_precision`.

    Undefined when there is no bite on either side.

    Pros:
    - One number for missed and for invented bites.

    Cons:
    - Says nothing about their size.
    """

    name = "bite_f1"
    title = "F1 of bites"
    range = (0, 1)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._bites()]
        return ratio(2 * sums[:, 2], sums[:, 0] + sums[:, 1])


class BiteSizeError(_Bite):
    r"""MAE of the size of bites: over the bites that match.

    $\mathrm{MAE}_{\mathrm{size}} = \sum_i \sum_{(a,b)} |g_a - \hat g_b| \;/\; \sum_i m_i$

    Bites and matches are those of `bite_precision`; g is the fall in grams.

    Undefined when no bite matches.

    Pros:
    - Grams for each bite that was found.

    Cons:
    - Bites that were missed do not count.
    """

    name = "mae_bite_size"
    title = "MAE, size of a bite"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._bites()]
        return ratio(sums[:, 3], sums[:, 2])


class BiteCountError(_Bite):
    r"""MAE of the number of bites of a sequence.

    $\mathrm{MAE}_{\mathrm{bites}} = \frac{1}{N} \sum_i |\hat b_i - b_i|$

    Undefined when no sequence is scored.

    Pros:
    - Easy to read: so many bites too many or too few.

    Cons:
    - Missed and invented bites of one sequence cancel.
    """

    name = "mae_bite_count"
    title = "MAE, number of bites"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "bites"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._bites()]
        return ratio(sums[:, 5], sums[:, 6])


class BiteCountBias(_Bite):
    r"""Bias of the number of bites of a sequence; above 0 the model predicts too many.

    $\mathrm{bias}_{\mathrm{bites}} = \frac{1}{N} \sum_i (\hat b_i - b_i)$

    Undefined when no sequence is scored.

    Pros:
    - Tells invented bites from missed ones.

    Cons:
    - Sequences with too many and with too few cancel.
    """

    name = "bias_bite_count"
    title = "Bias, number of bites"
    better = "zero"
    range = (-INFINITY, INFINITY)
    measured_in = "bites"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self._bites()]
        return ratio(sums[:, 4], sums[:, 6])


class ImplausibleJumps(Metric):
    r"""Jumps: how often the predicted weight changes by more than a mouthful from a frame to the next, though the true
    weight does not.

    $100 \sum_i \sum_t [\,|\hat W_{i,t+1} - \hat W_{i,t}| > g \ge |W_{i,t+1} - W_{i,t}|\,]
    \;/\; \sum_i \sum_t [\,|W_{i,t+1} - W_{i,t}| \le g\,]$

    Undefined when the true weight changes by more than that in all steps.

    Pros:
    - Counts readings that cannot be true, however small the mean error is.

    Cons:
    - What is a mouthful depends on the time between frames.
    """

    name = "jumps"
    title = "Jumps larger than a mouthful"
    better = "lower"
    range = (0, 100)
    measured_in = "%"
    at = "grams"

    grams: Annotated[float, Between(0, open_low=True)] = MOUTHFUL

    @property
    def label(self) -> str:
        return f"Jumps by more than {self.grams:g} g"

    def requirements(self) -> tuple[Requirement, ...]:
        return (Jumps(float(self.grams)),)

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        sums = totals[Jumps(float(self.grams))]
        return sums[:, 1], sums[:, 0]


class FlatSequences(Metric):
    r"""Flat sequences: the share of meals in which the prediction is one number in all frames, though food is eaten.

    $100 \sum_i [\max_t \hat W_{i,t} = \min_t \hat W_{i,t}] \;/\; N$

    The N sequences are those whose true weight changes. A model that answers the same in all frames does not look at
    the image.

    Undefined when the true weight changes in no sequence.

    Pros:
    - Unmasks an answer that is made from the name of the food alone.

    Cons:
    - A model that adds noise to a guess is not found.
    """

    name = "flat"
    title = "Sequences with one answer"
    better = "lower"
    range = (0, 100)
    measured_in = "%"

    def requirements(self) -> tuple[Requirement, ...]:
        return (Flat(),)

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        sums = totals[Flat()]
        return sums[:, 1], sums[:, 0]


MEAL_METRICS: tuple[type[Metric], ...] = (
    PhaseError,
    LeftError,
    RateError,
    RatePercentage,
    DurationError,
    BitePrecision,
    BiteRecall,
    BiteF1,
    BiteSizeError,
    BiteCountError,
    BiteCountBias,
    ImplausibleJumps,
    FlatSequences,
)
