"""Checks of `losses`: logits, targets and coordinates."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.checks.numbers import constant, copies, lower_is_better, surely_reversed
from steelyard.core.records import distinct_values, median

CHECKS = with_ids(Checks())


@CHECKS.add(
    "probabilities-as-logits", "error", "probabilities where logits are expected: the sigmoid is taken twice",
    "Give the numbers before the sigmoid: log(p / (1 - p)).",
)  # fmt: skip
def probabilities(data: CheckData) -> Problem | None:
    """Logits that all lie from 0 to 1."""
    _, logit = data.numbers("target", "logit")
    logit = logit[~np.isnan(logit)]
    if len(logit) < FEW or logit.min() < 0 or logit.max() > 1 or len(distinct_values(logit)) < 3:
        return None
    return Problem(
        f"All {len(logit):,} logits that were looked at lie from {logit.min():.2g} to {logit.max():.2g}.",
        len(logit), len(logit), some_rows(data.pairs.prediction, data.paired_rows[1], "logit"),
    )  # fmt: skip


@CHECKS.add("logits-reversed", "error", "positives have the lower logits", "Negate the logits, or correct the targets.")
def reversed_logits(data: CheckData) -> Problem | None:
    """An area under the ROC curve far below one half."""
    target, logit = data.numbers("target", "logit")
    use = ~np.isnan(logit) & ((target == 0) | (target == 1))
    positive = target[use] == 1
    area = lower_is_better(logit[use], positive)
    if not surely_reversed(area, int(positive.sum()), int((~positive).sum())) or area > 0.3:
        return None
    return Problem(
        f"A positive has the higher logit in {area:.0%} of the pairs of a positive and a negative.",
        int(use.sum()), len(use), some_rows(data.pairs.prediction, data.paired_rows[1][use], "logit"),
    )  # fmt: skip


@CHECKS.add(
    "scale-of-values", "error", "coordinates of one side are pixels, and those of the other are coded",
    "Code boxes in the same way on both sides.",
)  # fmt: skip
def scale_of_values(data: CheckData) -> Problem | None:
    """Coordinates that are fifty times as large on one side."""
    truth, predicted = data.numbers("value", "value")
    use = ~np.isnan(truth) & ~np.isnan(predicted)
    if use.sum() < FEW:
        return None
    sizes = [median(np.abs(v[use])) for v in (truth, predicted)]
    if min(sizes) <= 0 or max(sizes) < 50 * min(sizes):
        return None
    return Problem(
        f"Half of the truth's values are above {sizes[0]:.3g} in size, and half of the predictions' above "
        f"{sizes[1]:.3g}.",
        int(use.sum()), len(use), some_rows(data.pairs.prediction, data.paired_rows[1][use], "value"),
    )  # fmt: skip


CHECKS.add("constant-logits", "warning", "all logits are the same", "Are these the model's outputs?")(
    constant("target", "logit")
)
CHECKS.add("copies-of-truth", "warning", "predictions that are the truth itself", "Are these predictions of a model?")(
    copies("value", "value")
)
