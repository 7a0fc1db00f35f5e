"""Scores with intervals: the plain value, then the same reduction under bootstrap draws of units."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.score import Score
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, LeaveOneOut, Plain
from steelyard.stats.draws import BootstrapDraws, unit_keys
from steelyard.stats.intervals import BCA_BELOW, Interval, bca_interval, centred_interval, percentile_interval

_Drawn = tuple[Interval | None, Floats | None]


@frozen
class Resampling:
    """How intervals are made. `confidence` None makes none; `keep` keeps the draws' values beside them."""

    confidence: float | None = 0.95
    draws: int = 1000
    seed: int = 0
    keep: bool = False

    def check(self) -> None:
        """Raise InputError where a setting is out of its range."""
        for name, value, kind in (
            ("confidence", self.confidence, Real),
            ("draws", self.draws, Integral),
            ("seed", self.seed, Integral),
        ):
            if value is not None and not isinstance(value, kind):
                said = "a number" if kind is Real else "a whole number"
                raise InputError(f"{name} is {value!r}", remedy=f"It must be {said}.")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise InputError(
                f"a confidence of {self.confidence:g} is not between 0 and 1", remedy="For 95 % write 0.95."
            )
        if self.confidence is not None and not 100 <= self.draws <= 1_000_000:
            raise InputError(f"{self.draws} draws are too few or too many", remedy="Choose from 100 to 1,000,000.")
        if self.confidence is not None and (1 - self.confidence) * self.draws < 1:
            raise InputError(
                f"{self.draws:,} draws cannot show a confidence of {self.confidence!r}",
                remedy="Choose a lower level, or more draws: 1 / (1 - level) at least.",
            )
        if self.keep and self.confidence is None:
            raise InputError("without intervals there are no draws to save", remedy="Leave --ci out, or --save-draws.")
        if self.seed < 0:
            raise InputError(f"the seed {self.seed} is negative", remedy="Choose a whole number from 0 up.")
        if self.seed >= 1 << 63:
            raise InputError("the seed has more than 63 bits", remedy="Choose a smaller one.")


def score(
    stats: Stats, metrics: Sequence[Metric], how: Resampling, shared: BootstrapDraws | None = None
) -> dict[str, Score]:
    """Score every metric; all share the draws, and one pass over them. `shared`: draws that others need as well."""
    plain = stats.whole()
    values = [float(metric.reduce(stats, plain)[0]) for metric in metrics]
    units = stats.unit_count
    nothing: list[_Drawn] = [(None, None)] * len(metrics)
    drawn = _intervals(stats, metrics, values, plain, how, shared) if units > 1 else nothing
    counted = plain if stats.unweighted else Plain(stats.counted)
    if (
        how.keep and units > 1 and stats.copies is not None
    ):  # drawn by kind of unit; only draws by unit are paired between models
        listed = stats.by_unit()
        again = _intervals(listed, metrics, values, listed.whole(), how)
        drawn = [(interval, draws) for (interval, _), (_, draws) in zip(drawn, again, strict=True)]
    return {
        str(metric): _score(metric, stats, plain, counted, value, interval, units, draws if how.keep else None)
        for metric, value, (interval, draws) in zip(metrics, values, drawn, strict=True)
    }


def _intervals(
    stats: Stats,
    metrics: Sequence[Metric],
    values: Sequence[float],
    plain: Plain,
    how: Resampling,
    drawn: BootstrapDraws | None = None,
) -> list[_Drawn]:
    if how.confidence is None:
        return [(None, None)] * len(metrics)
    if drawn is None:
        drawn = BootstrapDraws(unit_keys(stats.units), stats.weight, how.seed, how.draws, stats.copies)
    drawn.prefetch(plain.seen.values())
    left_out = LeaveOneOut(plain.array)
    found: list[_Drawn] = []
    for metric, value in zip(metrics, values, strict=True):
        if np.isnan(value):
            found.append((None, None))
            continue
        draws = metric.reduce(stats, drawn)
        if metric.leans:
            interval = centred_interval(draws, value, how.confidence, metric.range)
        elif stats.copies is None and len(stats) < BCA_BELOW:
            interval = bca_interval(draws, value, metric.reduce(stats, left_out), how.confidence)
        else:
            interval = percentile_interval(draws, how.confidence)
        found.append((interval, draws if how.keep else None))
    return found


def _score(
    metric: Metric,
    stats: Stats,
    plain: Plain,
    counted: Plain,
    value: float,
    interval: Interval | None,
    units: int,
    draws: Floats | None,
) -> Score:
    undefined = np.isnan(value)
    count, what = metric.left_out(stats, counted)
    return Score(
        spec=str(metric),
        label=metric.label,
        value=value,
        interval=interval,
        units=units,
        undefined=round(count),
        left_out=what if count else "",
        why=metric.why(stats, plain) if undefined else "",
        notes=() if undefined else metric.notes(stats, counted),
        better=metric.better,
        measure=metric.measure,
        draws=draws,
    )
