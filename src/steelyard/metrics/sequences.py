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

import numpy as np

from steelyard.align.join import join
from steelyard.core.errors import InputError
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, constant_in_unit, factorize
from steelyard.core.stats import Stats
from steelyard.core.task import Policy, Task
from steelyard.metrics.instrument import RisingSteps, step_columns
from steelyard.metrics.regression import ROW_METRICS, regression_columns
from steelyard.metrics.sequence_errors import SEQUENCE_METRICS

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
        Column(
            "sample_weight",
            "number",
            required=False,
            flags=True,
            minimum=0,
            meaning="the user's weight of the sequence",
        ),
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
    columns = regression_columns(truth, prediction, owner, units) | step_columns(truth, prediction, owner, units)
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


TASK = Task(
    name="sequences",
    title="Eating sequences, frame by frame",
    unit="sequence",
    item="frame",
    truth=TRUTH,
    prediction=PREDICTION,
    pair=pair,
    measure=measure,
    metrics=(*SEQUENCE_METRICS, *ROW_METRICS, RisingSteps),
    defaults=(
        "mae_overall", "pmae_overall", "mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed",
        "mae_kcal", "pmae_kcal", "mae_sequence", "pmae_sequence",
        "mape", "bias", "rmse", "within@10", "within@20", "r2", "pearson",
    ),
    joined={"weight": "prediction"},
    pictures="steelyard.metrics.sequences_figures",
)  # fmt: skip
