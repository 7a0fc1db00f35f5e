"""Weights and eating sequences by hand: what is added up of them, their settings, names, notes and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.statistic import SharedCache
from steelyard.tasks.sequences.errors import SequenceSum, sequence_columns
from steelyard.tasks.shared.regression import (
    EpsilonError,
    PearsonCorrelation,
    RoundExcess,
    RowMoments,
    RowSum,
    RowsWithin,
    Slope,
    Steps,
    _variance,
    regression_columns,
    row_columns,
    step_columns,
)
from steelyard.tasks.weights.task import DishSum, dish_columns, plain_sides

nan = np.nan


def listed(columns: dict[str, Any]) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in columns.items()}


def dishes(*rows: tuple[str, float, float], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of dish, true and predicted grams."""
    keys = {"dish": [row[0] for row in rows], "item": list(range(len(rows)))}
    return {**keys, "weight": [row[1] for row in rows], **more}, {**keys, "weight": [row[2] for row in rows]}


def test_sums_of_rows() -> None:
    """Unit 0: 100 g as 110, 0 g as 5; unit 1: 50 g as 40; unit 2 has no row."""
    columns = regression_columns(np.array([100.0, 0, 50]), np.array([110.0, 5, 40]), np.array([0, 0, 1]), 3)
    assert listed(columns) == {
        "rows": [2, 1, 0], "zero_rows": [1, 0, 0], "positive_rows": [1, 1, 0], "error": [15, -10, 0], "abs_error": [15, 10, 0],
        "squared_error": [125, 100, 0], "relative_error": [0.1, 0.2, 0], "truth": [100, 50, 0], "prediction": [115, 40, 0],
    }  # fmt: skip
    pairs = pairs_of("weights", *dishes(("A", 100, 110), ("A", 0, 5), ("B", 50, 40)))
    work = SharedCache()
    assert row_columns(pairs, work) is row_columns(pairs, work)
    assert RowSum("error").measure(pairs, work).values.tolist() == [15, -10]
    assert RowSum().measure(pairs, work).values.tolist() == [2, 1]
    eps = np.finfo(np.float64).eps
    np.testing.assert_allclose(EpsilonError().measure(pairs, work).values, [0.1 + 5 / eps, 0.2])
    for percent, within in ((10, [1, 0]), (9.99, [0, 0]), (20, [1, 1]), (1000, [1, 1])):
        assert RowsWithin(percent).measure(pairs, work).values.tolist() == within
    # Of the true weights 100, 0 and 50 are multiples of 10, of the predictions 110 and 40.
    assert RoundExcess(10.0).measure(pairs, work).values.tolist() == [-1, 0]
    assert RoundExcess(5.0).measure(pairs, work).values.tolist() == [0, 0]
    assert RoundExcess(4.0).measure(pairs, work).values.tolist() == [-2, 1]


def test_a_missing_prediction_weighs_nothing() -> None:
    truth, predicted = dishes(("A", 100, 110), ("A", 30, 5))
    short = {name: values[:1] for name, values in predicted.items()}
    pairs = pairs_of("weights", truth, short, missing="worst")
    assert RowSum("error").measure(pairs, SharedCache()).values.tolist() == [10 - 30]


def test_sums_of_dishes() -> None:
    """A: (10 * 100 + 5 * 50) / 150; B weighs nothing; C is marked as incomplete in one row."""
    data = dishes(
        ("A", 100, 110), ("A", 50, 45), ("B", 0, 9), ("C", 0.5, 2.5), ("C", 0.25, 0.25), complete=[True, True, True, True, False]
    )  # fmt: skip
    pairs = pairs_of("weights", *data)
    work = SharedCache()
    assert listed(dish_columns(pairs, work)) == {
        "weighted_error": [1250, 0, 1], "weighable": [1, 0, 1], "dish_error": pytest.approx([1250 / 150, 0, 1 / 0.75]),
        "dishes": [1, 1, 1], "partial": [0, 0, 1],
    }  # fmt: skip
    assert DishSum("weighted_error").measure(pairs, work).values.tolist() == [1250, 0, 1]
    report = sy.evaluate(
        "weights", *data, ["wmae_total", "wmae_total(partial=allow)", "wmae_sample", "mae"], confidence=None
    )
    assert [one.value for one in report.scores.values()] == pytest.approx(
        [nan, (1250 / 150 + 1 / 0.75) / 2, 1251 / 150.75, (10 + 5 + 9 + 2) / 5], nan_ok=True
    )
    assert report["wmae_total"].undefined_reason == (
        "1 of 3 dishes is incomplete; wmae_sample takes the items at hand, and so does wmae_total(partial=allow)"
    )
    left = (1, "dishes whose true weights add up to 0")
    assert [(report[name].n_excluded, report[name].excluded) for name in report.scores] == [
        left,
        left,
        (0, ""),
        (0, ""),
    ]
    free = (
        "1 item has a true weight of 0 g, which weighs nothing in weighted MAE: a hallucinated food is free there. MAE still "
        "charges it."
    )
    assert [list(report[name].notes) for name in report.scores] == [[], [free], [free], []]
    assert sy.evaluate("weights", *dishes(("A", 0, 1)), ["wmae_total"], confidence=None)[
        "wmae_total"
    ].undefined_reason == ("no dish has a positive total")


def test_dishes_that_lost_rows() -> None:
    """B loses an item to the policy, and C all of its items: it is none of the dishes that are left."""
    truth, predicted = dishes(("A", 10, 12), ("B", 10, 10), ("B", 10, 10), ("C", 10, 10))
    kept = {name: values[:2] for name, values in predicted.items()}
    report = sy.evaluate("weights", truth, kept, ["wmae_total"], missing="skip", confidence=None)
    assert report["wmae_total"].undefined_reason.startswith("1 of 2 dishes is incomplete; ")


def test_bare_arrays() -> None:
    made = plain_sides(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert made is not None
    truth, predicted, notes = made
    assert {name: list(values) for name, values in truth.items()} == {"dish": [0, 1], "weight": [1, 2]}
    assert {name: list(values) for name, values in predicted.items()} == {"dish": [0, 1], "weight": [3, 4]}
    assert notes == ("Weights without names: each value is taken for a dish of its own.",)
    assert plain_sides({"dish": [1]}, {"dish": [1]}) is None
    for truth, predicted in ((np.zeros((2, 2)), np.zeros(2)), (np.zeros(2), np.zeros((2, 2)))):
        with refuses("E-shape-mismatch", "dish"):
            plain_sides(truth, predicted)  # fmt: skip


def meals(rows: list[tuple[str, int, float, float]], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    keys = {"sequence": [row[0] for row in rows], "t": [row[1] for row in rows]}
    return {**keys, "weight": [row[2] for row in rows], **more}, {**keys, "weight": [row[3] for row in rows]}


FRAMES = [
    ("a", 2, 20, 30), ("a", 0, 100, 110), ("a", 1, 70, 60), ("b", 1, 50, 40), ("b", 2, 40, 44), ("c", 0, 30, 33),
    ("d", 0, 80, 70), ("d", 5, 60, 65),
]  # fmt: skip


def test_sums_of_sequences() -> None:
    """a has three frames; b no first one; c one alone; of d the last has no prediction; kcal of d is not known."""
    truth, predicted = meals(FRAMES, kcal_per_g=[2.0] * 3 + [0.5] * 2 + [3.0] + [nan] * 2)
    short = {name: values[:-1] for name, values in predicted.items()}
    pairs = pairs_of("sequences", truth, short, missing="skip")
    work = SharedCache()
    columns = listed(sequence_columns(pairs, work))
    assert columns == {
        "rows": [3, 2, 1, 1], "zero_rows": [0] * 4, "positive_rows": [3, 2, 1, 1], "error": [10, -6, 3, -10],
        "abs_error": [30, 14, 3, 10], "squared_error": [300, 116, 9, 100],
        "relative_error": pytest.approx([0.1 + 1 / 7 + 0.5, 0.2 + 0.1, 0.1, 1 / 8]), "truth": [190, 90, 30, 80],
        "prediction": [200, 84, 33, 70], "sequences": [1] * 4, "mean_error": [10, 7, 3, 10],
        "mean_truth": [pytest.approx(190 / 3), 45, 30, 80], "initial": [1, 0, 1, 1], "initial_error": [10, 0, 3, 10],
        "initial_truth": [100, 0, 30, 80], "consumed": [1, 0, 1, 0], "consumed_error": [0, 0, 0, 0],
        "consumed_truth": [80, 0, 0, 0], "single": [0, 0, 1, 0], "kcal_frames": [3, 2, 1, 0], "kcal_error": [60, 7, 9, 0],
        "kcal_truth": [380, 45, 90, 0],
    }  # fmt: skip
    assert SequenceSum("single").measure(pairs, work).values.tolist() == [0, 0, 1, 0]
    assert sequence_columns(pairs, work) is sequence_columns(pairs, work)
    asked = {
        "mae_overall": 57 / 7, "pmae_overall": 100 * 57 / 390, "mae_initial": 23 / 3, "pmae_initial": 100 * 23 / 210,
        "mae_consumed": 0, "pmae_consumed": 0, "mae_kcal": 76 / 6, "pmae_kcal": 100 * 76 / 515, "mae_sequence": 30 / 4,
        "pmae_sequence": 100 * 30 / (190 / 3 + 155), "mae_consumed(exclude_single=true)": 0,
    }  # fmt: skip
    report = sy.evaluate("sequences", truth, short, list(asked), missing="skip", confidence=None)
    assert {name: score.value for name, score in report.scores.items()} == {
        n: pytest.approx(v) for n, v in asked.items()
    }
    ends = "sequences without a frame t = 0 or without a prediction at the end"
    left = {
        "mae_initial": (1, "sequences without a frame t = 0"), "pmae_initial": (1, "sequences without a frame t = 0"),
        "mae_consumed": (2, ends), "pmae_consumed": (2, ends), "mae_consumed(exclude_single=true)": (3, f"{ends}, or of a single frame"),
        "mae_kcal": (1, "frames without kcal_per_g"), "pmae_kcal": (1, "frames without kcal_per_g"),
    }  # fmt: skip
    assert {name: (one.n_excluded, one.excluded) for name, one in report.scores.items() if one.n_excluded} == left
    note = (
        "1 sequences have a single frame (n_single_frame): nothing was eaten there, by definition. exclude_single=true leaves "
        "them out."
    )
    assert {name: list(one.notes) for name, one in report.scores.items() if one.notes} == {
        "mae_consumed": [note], "pmae_consumed": [note],
    }  # fmt: skip


def test_a_sequence_that_lost_all_frames() -> None:
    """It adds nothing, and is not a sequence that counts."""
    truth, predicted = meals(FRAMES[:3] + [("z", 0, 5, 5)], kcal_per_g=[2.0] * 4)
    kept = {name: values[:3] for name, values in predicted.items()}
    columns = listed(sequence_columns(pairs_of("sequences", truth, kept, missing="skip"), SharedCache()))
    zero = {name: values[1] for name, values in columns.items()}
    assert zero == dict.fromkeys(columns, 0)
    assert columns["mean_truth"][0] == pytest.approx(190 / 3)


def test_single_frames_are_left_out_where_that_is_asked_for() -> None:
    """Eaten 80 g and said 70: 10 g of one sequence, 5 g of two."""
    data = meals([("a", 0, 100, 100), ("a", 1, 20, 30), ("b", 0, 10, 10)])
    asked = ["mae_consumed", "mae_consumed(exclude_single=true)", "pmae_consumed", "pmae_consumed(exclude_single=true)"]
    assert list(values_of("sequences", *data, asked).values()) == [5, 10, 12.5, 12.5]


def test_energy_that_is_not_there() -> None:
    why = {
        name: {n: s.undefined_reason for n, s in sy.evaluate("sequences", *meals(FRAMES, **more), ["mae_kcal", "pmae_kcal"], confidence=None).scores.items()}
        for name, more in (("none", {}), ("zero", {"kcal_per_g": [0.0] * len(FRAMES)}))
    }  # fmt: skip
    assert why == {
        "none": {"mae_kcal": "no kcal_per_g is given", "pmae_kcal": "no kcal_per_g is given"},
        "zero": {"mae_kcal": "", "pmae_kcal": "the foods hold no energy"},
    }


def test_frames_that_are_not_valid() -> None:
    """A prediction of an invalid frame is neither used nor missed; where no frame is valid there is nothing to score."""
    truth, predicted = meals(FRAMES[:3], valid=[False, True, True])
    assert values_of("sequences", truth, predicted, ["mae_overall"]) == {"mae_overall": 10}
    only = {name: values[1:] for name, values in predicted.items()}
    assert values_of("sequences", truth, only, ["mae_overall", "mae_consumed"]) == {
        "mae_overall": 10,
        "mae_consumed": 20,
    }
    assert values_of("sequences", {**truth, "valid": [True] * 3}, predicted, ["mae_overall"]) == {"mae_overall": 10}
    with refuses("E-empty-input", "truth"):
        values_of("sequences", {**truth, "valid": [False] * 3}, predicted, ["mae_overall"])  # fmt: skip


def test_steps_that_rise() -> None:
    """Of unit 0 the truth falls twice and rises once; the prediction rises at the second of the falls."""
    truth, predicted = np.array([9.0, 8, 9, 9, 5, 5]), np.array([9.0, 9, 5, 6, 1, 2])
    columns = step_columns(truth, predicted, np.array([0, 0, 0, 0, 1, 1]), 3)
    assert listed(columns) == {"steps": [2, 1, 0], "rises": [1, 1, 0]}
    data = meals([("a", t, w, p) for t, (w, p) in enumerate(zip(truth.tolist(), predicted.tolist(), strict=True))])
    assert Steps().measure(pairs_of("sequences", *data), SharedCache()).values.tolist() == [[4, 2]]
    assert values_of("sequences", *data, ["rises"]) == {"rises": 50}


def test_lines_through_predictions() -> None:
    """1, 2, 3 as 1, 3, 5: a slope of 2, squared errors of 5 over 2 around the mean."""
    data = dishes(("A", 1, 1), ("B", 2, 3), ("C", 3, 5))
    assert values_of("weights", *data, ["r2", "pearson", "slope"]) == {
        "r2": pytest.approx(1 - 5 / 2), "pearson": pytest.approx(1), "slope": pytest.approx(2),
    }  # fmt: skip
    flat = dishes(("A", 5, 1), ("B", 5, 3))
    assert np.isnan(list(values_of("weights", *flat, ["r2", "pearson", "slope"]).values())).all()
    level = dishes(("A", 1, 3), ("B", 5, 3))
    assert values_of("weights", *level, ["r2", "slope", "pearson"]) == {
        "r2": 0,
        "slope": 0,
        "pearson": pytest.approx(nan, nan_ok=True),
    }


class Stub:
    """Moments of which one is off by rounding."""

    def __init__(self, both: float, own: float = 1.0) -> None:
        self.both, self.own = both, own

    def covariance(self, a: int, b: int) -> tuple[Any, Any]:
        return np.array([self.own if a == b else self.both]), np.array([1.0])


def test_rounding_is_no_variance() -> None:
    metric: Any = PearsonCorrelation()
    assert metric.reduce({RowMoments(): Stub(1 + 1e-9)}).tolist() == [1]
    assert metric.reduce({RowMoments(): Stub(-1 - 1e-9)}).tolist() == [-1]
    slope: Any = Slope()
    assert slope.reduce({RowMoments(): Stub(1 + 1e-9)}).tolist() == [1 + 1e-9]
    stub: Any = Stub(1, 1e-12)
    assert np.isnan(_variance(stub, 0)).all()
    stub = Stub(1, 1.1e-12)
    assert _variance(stub, 0).tolist() == [1.1e-12]


REFUSED = {
    ("weights", "mape(zero=no)"): ("metric 'mape': zero cannot be no", "Choose one of: skip, error, eps."),
    ("weights", "within@0"): ("metric 'within': percent cannot be 0", "It must be a number above 0."),
    ("weights", "heaping@0"): ("metric 'heaping': step cannot be 0", "It must be a number from 1e-09 to 1e+09."),
    ("weights", "heaping@2e9"): ("metric 'heaping': step cannot be 2000000000.0", "It must be a number from 1e-09 to 1e+09."),
    ("weights", "wmae_total(partial=some)"): ("metric 'wmae_total': partial cannot be some", "Choose one of: refuse, allow."),
    ("weights", "mape(zero=error)"): (
        "metric 'mape(zero=error)': 2 rows have a true weight of 0",
        "Remove them, or use mape, which leaves them out and counts them.",
    ),
    ("sequences", "mae_consumed(exclude_single=2)"): (
        "metric 'mae_consumed': exclude_single cannot be 2", "Choose one of: true, false.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("task", "spec"), REFUSED)
def test_settings_that_are_refused(task: str, spec: str) -> None:
    data = dishes(("A", 0, 1), ("B", 0, 1), ("C", 1, 1)) if task == "weights" else meals(FRAMES)
    what, remedy = REFUSED[task, spec]
    assert refusal(values_of, task, *data, [spec]) == (what, "", remedy)


def test_a_true_weight_of_zero() -> None:
    """100 g as 110 is 10 %; 0 g as 0 is within, and as 1 is not."""
    data = dishes(("A", 100, 110), ("B", 0, 0), ("C", 0, 1))
    report = sy.evaluate(
        "weights", *data, ["mape", "within@10", "within", "mape(zero=eps)", "heaping", "heaping@3"], confidence=None
    )
    assert report["mape"].value == pytest.approx(10)
    assert (report["mape"].n_excluded, report["mape"].excluded) == (2, "rows with a true weight of 0")
    assert (report["mape(zero=eps)"].n_excluded, report["mape(zero=eps)"].excluded) == (0, "")
    assert report["mape(zero=eps)"].value == pytest.approx(100 * (0.1 + 1 / np.finfo(np.float64).eps) / 3)
    assert report["within@10"].value == pytest.approx(200 / 3)
    assert report["heaping@10"].value == pytest.approx(100 * (2 - 3) / 3)
    assert report["heaping@3"].value == pytest.approx(100 * (1 - 2) / 3)
    fine = sy.evaluate("weights", *dishes(("A", 100, 110)), ["mape(zero=error)"], confidence=None)
    assert fine["mape(zero=error)"].value == pytest.approx(10)


def test_names_and_examples() -> None:
    named = {
        "within@20": "Within 20 percent", "within@2.5": "Within 2.5 percent", "heaping@5": "Heaping on multiples of 5",
        "wmae_total": "Total weighted MAE", "wmae_total(partial=allow)": "Total weighted MAE, with incomplete dishes",
    }  # fmt: skip
    assert {spec: catalogue.parse(spec, "weights").label for spec in named} == named
    rows = ["mape", "wape", "bias", "rmse", "within@10", "r2", "pearson", "slope"]
    assert [str(one) for one in catalogue.metrics("weights")] == [
        "mae",
        *rows,
        "heaping@10",
        "wmae_total",
        "wmae_sample",
    ]
    sequences = ["mae_overall", "mae_initial", "mae_consumed", "mae_kcal", "mae_sequence"]
    assert [str(one) for one in catalogue.metrics("sequences")] == [
        *(name for one in sequences for name in (one, f"p{one}")), "smoothing_gain", "mae_phase",
        "mae_phase(phase=middle)", "mae_phase(phase=last)", "mae_left", "mae_rate", "pmae_rate", "mae_duration",
        "bite_precision", "bite_recall", "bite_f1", "mae_bite_size", "mae_bite_count", "bias_bite_count", "jumps@50",
        "flat", *rows, "heaping@10", "rises",
    ]  # fmt: skip
