"""The meal as a curve: values by hand, the matching of bites, smoothing against scikit-learn, and times."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.sequences.meals import isotonic, match_events, phase_of, running_median

# Frames every 30 s. Drops of the truth: a 30, 50, 0, 10; b 0. Drops of the predictions: a 20, 20, 40, -5; b 8.
TIMES = [0, 30, 60, 90, 120, 0, 30]
TRUTH = {
    "sequence": ["a"] * 5 + ["b"] * 2,
    "t": [0, 1, 2, 3, 4, 0, 1],
    "weight": [100, 70, 20, 20, 10, 50, 50],
    "time": TIMES,
}
PREDICTED = {**{k: TRUTH[k] for k in ("sequence", "t")}, "weight": [110, 90, 70, 30, 35, 40, 32]}


def value(spec: str, truth: dict[str, Any] = TRUTH, predicted: dict[str, Any] = PREDICTED) -> float:
    report = sy.evaluate("sequences", truth, predicted, spec, confidence=None)
    (score,) = report.scores.values()
    return float(score.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # Errors: a 10, 20, 50, 10, 25; b 10, 18. Thirds of five frames: 2, 1, 2; of two: 1, 0, 1.
        ("mae_phase(phase=first)", (10 + 20 + 10) / 3),
        ("mae_phase(phase=middle)", 50.0),
        ("mae_phase(phase=last)", (10 + 25 + 18) / 3),
        ("mae_left", (50 + 10 + 25) / 3),  # 20, 20 and 10 g; 50 g is not below 50
        ("mae_left(low=50, high=100)", (20 + 10 + 18) / 3),
        ("mae_left(low=100, high=1000)", 10.0),
        # a: 90 g and 75 g in 2 minutes; b: 0 g and 8 g in half a minute.
        ("mae_rate", (7.5 + 16) / 2),
        ("pmae_rate", 100 * (7.5 + 16) / 45),
        # Bites of 5 g: true a at 1, 2, 4; predicted a at 1, 2, 3, b at 1. Within a frame 4 is matched by 3.
        ("bite_precision", 3 / 4),
        ("bite_recall", 1.0),
        ("bite_f1", 6 / 7),
        ("mae_bite_size", (10 + 30 + 30) / 3),
        ("mae_bite_count", 1 / 2),
        ("bias_bite_count", 1 / 2),
        ("bite_precision(tolerance=0)", 2 / 4),
        ("bite_recall(tolerance=0)", 2 / 3),
        ("mae_bite_size(tolerance=0)", (10 + 30) / 2),
        ("bite_recall(tolerance=29, by=second)", 2 / 3),
        ("bite_recall(tolerance=30, by=second)", 1.0),
        ("bite_recall(threshold=30)", 1 / 2),  # true at 1 and 2; predicted at 3
        # True eating lasts from 0 to 120 s in a, 0 s in b; predicted from 0 to 90 s and from 0 to 30 s.
        ("mae_duration", 30.0),
        ("mae_duration(threshold=30)", (abs(60 - 30) + 0) / 2),
        # Steps of at most 30 g: a 30, 0, 10; b 0. The prediction falls by 40 g in the second of them.
        ("jumps@30", 25.0),
        ("jumps", 0.0),
        ("flat", 0.0),
        # Isotonic: a 110, 90, 70, 32.5, 32.5; b as it is.
        ("mae_overall(smooth=isotonic)", (10 + 20 + 50 + 12.5 + 22.5 + 10 + 18) / 7),
        ("smoothing_gain", 0.0),
        ("mae_consumed(smooth=isotonic)", (abs(90 - 77.5) + 8) / 2),
        # The median of three: a 110, 90, 70, 35, 35.
        ("mae_overall(smooth=running_median)", (10 + 20 + 50 + 15 + 25 + 10 + 18) / 7),
        ("smoothing_gain(smooth=running_median)", -5 / 7),
    ],
)
def test_values_by_hand(spec: str, expected: float) -> None:
    assert value(spec) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def brute_force(true: list[float], predicted: list[float], tolerance: float) -> tuple[int, float]:
    """The number of pairs and their distance, by trying all."""
    best = (0, 0.0)
    for size in range(1, min(len(true), len(predicted)) + 1):
        for mine in itertools.combinations(true, size):
            for theirs in itertools.combinations(predicted, size):
                gaps = [abs(a - b) for a, b in zip(mine, theirs, strict=True)]
                if max(gaps) <= tolerance:
                    best = max(best, (size, -sum(gaps)))
    return best


def test_matching_is_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    for _ in range(120):
        true, predicted = (sorted(rng.choice(12, rng.integers(0, 6), replace=False).tolist()) for _ in range(2))
        for tolerance in (0, 1, 3):
            pairs = match_events(true, predicted, tolerance)
            gaps = [abs(true[i] - predicted[j]) for i, j in pairs]
            assert (len(pairs), -sum(gaps)) == brute_force(true, predicted, tolerance)
            assert max(gaps, default=0) <= tolerance
            assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_ties_of_the_matching_go_to_the_earlier() -> None:
    assert match_events([2], [1, 3], 1) == [(0, 0)]
    assert match_events([1, 3], [2], 1) == [(0, 0)]
    assert match_events([1, 2], [2, 3], 1) == [(0, 0), (1, 1)]  # two pairs, not one of distance 0


def test_isotonic_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    owner = np.sort(rng.integers(0, 30, 400))
    values = rng.normal(100, 40, 400).round(-1)  # with ties
    expected = np.concatenate(
        [
            IsotonicRegression(increasing=False).fit_transform(np.arange(np.sum(owner == unit)), values[owner == unit])
            for unit in np.unique(owner)
        ]
    )
    np.testing.assert_allclose(isotonic(values, owner), expected, rtol=1e-12)
    assert isotonic(np.zeros(0), np.zeros(0, np.int64)).shape == (0,)


def test_running_median_stays_inside_a_sequence() -> None:
    values, owner = np.array([5.0, 1, 9, 4, 8, 2, 7]), np.array([0, 0, 0, 0, 1, 1, 2])
    np.testing.assert_array_equal(running_median(values, owner), [5, 5, 4, 4, 8, 2, 7])
    np.testing.assert_array_equal(running_median(values[:2], owner[:2]), [5, 1])


@pytest.mark.parametrize(
    ("frames", "phases"),
    [(1, "0"), (2, "02"), (3, "012"), (4, "0112"), (5, "00122"), (6, "001122"), (7, "0011122"), (9, "000111222")],
)
def test_thirds(frames: int, phases: str) -> None:
    assert "".join(map(str, phase_of(np.arange(frames), np.full(frames, frames)).tolist())) == phases


def test_thirds_are_of_all_valid_frames_whichever_are_predicted() -> None:
    predicted = {name: column[:2] + column[3:] for name, column in PREDICTED.items()}
    report = sy.evaluate("sequences", TRUTH, predicted, "mae_phase(phase=middle)", missing="skip", confidence=None)
    assert math.isnan(report["mae_phase(phase=middle)"].value)
    report = sy.evaluate("sequences", TRUTH, predicted, "mae_phase", missing="skip", confidence=None)
    assert report["mae_phase"].value == pytest.approx(40 / 3)


def test_a_missing_reading_is_not_repaired() -> None:
    predicted = {name: column[:2] + column[3:] for name, column in PREDICTED.items()}
    spec = "mae_overall(smooth=isotonic)"
    report = sy.evaluate("sequences", TRUTH, predicted, spec, missing="worst", confidence=None)
    assert report[spec].value == pytest.approx((10 + 20 + 20 + 12.5 + 22.5 + 10 + 18) / 7)


@pytest.mark.parametrize("spec", ["mae_rate", "pmae_rate", "mae_duration", "bite_f1(by=second)"])
def test_times_that_are_not_given(spec: str) -> None:
    without = {name: column for name, column in TRUTH.items() if name != "time"}
    score = sy.evaluate("sequences", without, PREDICTED, spec, confidence=None)[spec]
    assert math.isnan(score.value)
    assert "'time'" in score.undefined_reason
    some = {**TRUTH, "time": [*TIMES[:5], None, None]}
    score = sy.evaluate("sequences", some, PREDICTED, spec, confidence=None)[spec]
    assert score.n_excluded == 1
    assert score.value == pytest.approx(
        {"mae_rate": 7.5, "pmae_rate": 100 * 7.5 / 45, "mae_duration": 30}.get(spec, 4 / 6)  # two of three match
    )


def test_times_must_rise() -> None:
    with refuses("E-invalid-value", "'a'", "20", "30"):
        sy.evaluate("sequences", {**TRUTH, "time": [0, 30, 20, 90, 120, 0, 30]}, PREDICTED)


def test_one_answer_for_all_frames() -> None:
    flat = {**PREDICTED, "weight": [60] * 5 + [40, 32]}
    assert value("flat", predicted=flat) == 100  # the plate of b does not change
    assert value("flat", predicted={**flat, "weight": [60] * 4 + [61, 40, 32]}) == 0


def test_intervals_slices_and_comparison() -> None:
    rng = np.random.default_rng(8)
    sequence = np.repeat([f"s{i:02d}" for i in range(30)], 6)
    t = np.tile(np.arange(6), 30)
    weight = np.round(np.repeat(rng.uniform(80, 300, 30), 6) * (1 - t / 6), 1)
    truth = {"sequence": sequence, "t": t, "weight": weight, "time": 20 * t, "food": np.repeat(["x", "y"], 90)}
    a, b = ({"sequence": sequence, "t": t, "weight": weight + rng.normal(0, s, 180)} for s in (25, 5))
    specs = ["mae_phase", "mae_rate", "bite_f1", "smoothing_gain", "mae_overall(smooth=isotonic)"]
    report = sy.evaluate("sequences", truth, a, specs, by="food")
    for score in report.scores.values():
        assert score.interval is not None
        assert score.interval[0] < score.value < score.interval[1]
    assert report["smoothing_gain"].interval[0] > 0  # noise that falls within a sequence is repaired
    compared = sy.compare("sequences", truth, a, b, specs[:3])
    assert all(compared[spec].verdict == "better" for spec in specs[:3])


def test_a_gain_of_few_sequences_says_so() -> None:
    def notes(spec: str) -> tuple[str, ...]:
        return sy.evaluate("sequences", TRUTH, PREDICTED, spec, confidence=None)[spec].notes

    assert len(notes("smoothing_gain")) == 1  # of a alone, whose last reading rises
    many = {
        name: [x for i in range(20) for x in (f"{v}{i}" if name == "sequence" else v for v in column)]
        for name, column in PREDICTED.items()
    }
    truth = {
        name: [x for i in range(20) for x in (f"{v}{i}" if name == "sequence" else v for v in column)]
        for name, column in TRUTH.items()
    }
    assert not sy.evaluate("sequences", truth, many, "smoothing_gain", confidence=None)["smoothing_gain"].notes


def test_pictures_by_hand() -> None:
    report = sy.evaluate("sequences", TRUTH, PREDICTED, "mae_overall", confidence=None)
    shown = report.figure("consumption")
    assert shown.columns["series"] == ["true"] * 21 + ["predicted"] * 21
    assert shown.columns["x"][:3] == pytest.approx([0, 5, 10])
    at_half = 10  # true 20 and 50 g, predicted 70 and 36 g
    assert shown.columns["y"][at_half] == pytest.approx((20 + 50) / 2)
    assert shown.columns["y"][21 + at_half] == pytest.approx((70 + 36) / 2)
    assert shown.columns["low"] == shown.columns["high"] == shown.columns["y"]  # no interval of two sequences
    third = {"sequence": ["c"] * 2, "t": [0, 1], "weight": [30, 0], "time": [0, 1]}
    three = ({name: [*side[name], *third[name]] for name in side} for side in (TRUTH, PREDICTED))
    shown = sy.evaluate("sequences", *three, "mae_overall", confidence=None).figure("consumption")
    spread = np.std([100, 50, 30], ddof=1) / math.sqrt(3)
    assert shown.columns["high"][0] - shown.columns["y"][0] == pytest.approx(4.303 * spread, rel=0.08)
    phases = report.figure("error_by_phase")
    assert phases.columns["count"] == [3, 1, 3]
    assert phases.columns["p50"] == [10, 50, 10]  # 10, 20, -10; 50; 10, 25, -18


def test_single_frames_have_no_curve() -> None:
    one = {"sequence": ["a", "b"], "t": [0, 0], "weight": [10, 20]}
    report = sy.evaluate("sequences", one, one, "mae_overall", confidence=None)
    assert "consumption" not in report.figures
    assert "error_by_phase" not in report.figures
