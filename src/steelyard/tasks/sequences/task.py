"""Task `sequences`: the weight of a food while it is eaten, frame by frame.

Conventions
    The unit is the eating sequence. Columns: `sequence`, `t` (0 is the initial frame), `weight` in grams;
    in the truth also `kcal_per_g` (constant inside a sequence), `time` in seconds, `valid` (false takes a frame out)
    and `sample_weight`.
    Only valid frames count. t = 1 never stands in for a missing t = 0: that sequence is out of the initial and the
    consumed error, and counted.

Metrics
    MAE and PMAE (the ratio of means, never the mean of ratios) over all frames, at the initial frame, of the weight
    consumed, and in kilocalories; the mean over sequences beside the mean over frames. The meal as a curve: thirds,
    eating rate, bites. `smooth` repairs the predictions of a sequence before they are scored.
"""

from __future__ import annotations

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.errors import EmptyInput, InvalidValue
from steelyard.core.options import Options
from steelyard.core.pairs import Pairs
from steelyard.core.records import LARGEST, Column, Records, Schema, weight_column
from steelyard.core.task import Policy, Task
from steelyard.tasks.sequences.errors import SEQUENCE_METRICS
from steelyard.tasks.sequences.meal_metrics import MEAL_METRICS
from steelyard.tasks.shared.regression import ROW_METRICS, RisingSteps, RoundNumbers

TRUTH = Schema(
    key=("sequence", "t"),
    columns=(
        Column("sequence", "id", meaning="the eating sequence, which is the unit"),
        Column("t", "integer", minimum=0, meaning="the frame's number; 0 is the initial frame"),
        Column("weight", "number", minimum=0, maximum=LARGEST, meaning="grams left on the plate"),
        Column(
            "kcal_per_g",
            "number",
            required=False,
            minimum=0,
            maximum=LARGEST,
            empty=True,
            meaning="energy density of the food",
        ),
        Column(
            "time",
            "number",
            required=False,
            minimum=0,
            maximum=LARGEST,
            empty=True,
            meaning="when the frame was taken, in seconds; rises with t",
        ),
        Column("valid", "flag", required=False, meaning="false takes the frame out"),
        weight_column("sequence"),
    ),
)
PREDICTION = Schema(
    key=("sequence", "t"),
    columns=(
        Column("sequence", "id", meaning="as in the truth"),
        Column("t", "integer", minimum=0, meaning="as in the truth"),
        Column("weight", "number", minimum=-LARGEST, maximum=LARGEST, meaning="predicted grams", beside="prediction"),
    ),
)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> Pairs:
    """Join valid frames by sequence and t. A prediction for an invalid frame is neither used nor missed."""
    if "valid" in truth:
        valid = truth["valid"]
        invalid = truth.take(np.flatnonzero(~valid))
        if len(invalid):
            beside = join_rows(invalid, prediction, TRUTH.key, Policy(missing="skip", extra="skip"))
            unused = np.zeros(len(prediction), dtype=bool)
            unused[beside.prediction_row] = True
            prediction = prediction.take(np.flatnonzero(~unused))
            truth = truth.take(np.flatnonzero(valid))
        if not len(truth):
            raise EmptyInput("no frame is valid", where=truth.source, remedy="Mark valid frames with true.")
    pairs = join_rows(truth, prediction, TRUTH.key, policy, weight="sample_weight")
    if "time" in truth:
        _check_times(pairs)
    return pairs


def _check_times(pairs: Pairs) -> None:
    """Raise where a frame is earlier than one before it in its sequence."""
    rows = np.flatnonzero(~np.isnan(pairs.truth_column("time")))
    time, owner = pairs.truth_column("time")[rows], pairs.owner[rows]
    wrong = np.flatnonzero((owner[1:] == owner[:-1]) & (time[1:] < time[:-1]))
    if not len(wrong):
        return
    row, name = pairs.truth_row[rows[wrong[0] + 1]], pairs.units[owner[wrong[0]]]
    raise InvalidValue(
        f"time {time[wrong[0] + 1]:g} of sequence '{name}', t {pairs.truth['t'][row]}, is before {time[wrong[0]]:g} of "
        "an earlier frame",
        where=pairs.truth.place(int(row)),
        remedy="Give the seconds since the first frame; they must rise with t.",
    )


TASK = Task(
    name="sequences",
    title="Eating sequences, frame by frame",
    unit="sequence",
    item="frame",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*SEQUENCE_METRICS, *MEAL_METRICS, *ROW_METRICS, RoundNumbers, RisingSteps),
    defaults=(
        "mae_overall", "pmae_overall", "mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed",
        "mae_kcal", "pmae_kcal", "mae_sequence", "pmae_sequence",
        "mape", "bias", "rmse", "within@10", "within@20", "r2", "pearson",
    ),
    views="steelyard.tasks.sequences.views",
    checks="steelyard.tasks.sequences.checks",
)  # fmt: skip
