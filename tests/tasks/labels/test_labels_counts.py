"""Labels: counts of weighted rows, decisions at a threshold, and which classes a mean is over; by hand and by scikit-learn."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.tiers import slow_except

import steelyard as sy

sk = lazy("sklearn.metrics")


def value(truth: Any, prediction: Any, spec: str, **settings: Any) -> float:
    report = sy.evaluate("labels", truth, prediction, [spec], confidence=None, **settings)
    (score,) = report.scores.values()
    return float(score.value)


def labelled(truth: str, predicted: str, weight: list[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"label": list(truth), "weight": weight}, {"label": list(predicted)}


@pytest.mark.parametrize("spec", ["specificity(label=a)", "fpr(label=a)", "mcc(label=a)"])
def test_no_true_negative_is_none_whatever_the_weights(spec: str) -> None:
    """Every row is an a, so that TN = FP = 0; 0.1 + 0.2 + 0.3 is not 0.3 + 0.3, and the difference is not a row."""
    assert np.isnan(value(*labelled("aaa", "aab", [0.1, 0.2, 0.3]), spec))


def test_no_predicted_negative_is_none_whatever_the_weights() -> None:
    assert np.isnan(value(*labelled("aab", "aaa", [0.1, 0.2, 0.3]), "npv(label=a)"))


@pytest.mark.parametrize(
    "weight", slow_except([[0.1, 0.2, 0.3, 0.7], [0.1, 0.0, 0.3, 1e-3], [1e-9, 1.1, 2.2, 3.3]], [0.1, 0.0, 0.3, 1e-3])
)
def test_counts_of_weighted_rows_are_those_of_sums(weight: list[float]) -> None:
    """All 256 pairs of four labels: each of the four counts summed row by row, and the ratios of them."""
    w = np.array(weight)
    for truth, predicted in product(product("ab", repeat=4), repeat=2):
        t, p = np.array(truth) == "a", np.array(predicted) == "a"
        if "a" not in truth + predicted:
            continue
        tp, fp, fn, tn = ((w * side).sum() for side in (t & p, ~t & p, t & ~p, ~t & ~p))
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = {
                "specificity": np.float64(tn) / (tn + fp),
                "fpr": np.float64(fp) / (tn + fp),
                "npv": np.float64(tn) / (tn + fn),
                "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
            }
        specs = [f"{name}(label=a)" for name in expected]
        sides = labelled("".join(truth), "".join(predicted), weight)
        report = sy.evaluate("labels", *sides, specs, confidence=None)
        values = [float(report[spec].value) for spec in specs]
        assert values == pytest.approx(list(expected.values()), rel=1e-6, abs=1e-12, nan_ok=True)
        assert [np.isnan(v) for v in values] == [np.isnan(v) for v in expected.values()]


def test_no_true_negative_where_rows_have_several_labels() -> None:
    truth = {"id": [1, 2, 3], "labels": ["a", "a|b", "a"], "weight": [0.1, 0.2, 0.3]}
    prediction = {"id": [1, 2, 3], "labels": ["a", "a", "b"]}
    assert np.isnan(value(truth, prediction, "specificity(label=a)"))


PROBABILITIES = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
THREE = {f"probability:{k}": PROBABILITIES[:, k] for k in range(3)}
FOUR = {"label": [0, 1, 1, 0]}


def test_a_class_without_rows_counts_where_it_has_a_value() -> None:
    """No row is a 2, and its probabilities are wrong all the same."""
    hot = np.eye(3)[FOUR["label"]]
    brier = ((PROBABILITIES - hot) ** 2).mean(axis=0)
    surprise = -np.log(np.where(hot > 0, PROBABILITIES, 1 - PROBABILITIES)).mean(axis=0)
    assert value(FOUR, THREE, "macro(brier)") == pytest.approx(brier.mean(), rel=1e-14)
    assert value(FOUR, THREE, "macro(log_loss)") == pytest.approx(surprise.mean(), rel=1e-14)
    assert value(FOUR, THREE, "macro(ece)") == value(FOUR, THREE, "classwise_ece")
    assert value(FOUR, THREE, "weighted(brier)") == pytest.approx((brier[0] + brier[1]) / 2, rel=1e-14)
    # A ranking has no value without a positive: it stays out.
    two = [sk.roc_auc_score(hot[:, k], PROBABILITIES[:, k]) for k in (0, 1)]
    assert value(FOUR, THREE, "macro(roc_auc)") == pytest.approx(np.mean(two), rel=1e-14)


def drawn(seed: int, rows: int = 60) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows)
    return truth, np.round(rng.random(rows) * 0.7 + truth * 0.2, 1), rng.random(rows)


AT_A_THRESHOLD = {
    "precision": "precision_score",
    "recall": "recall_score",
    "f1": "f1_score",
    "jaccard": "jaccard_score",
    "accuracy": "accuracy_score",
    "mcc": "matthews_corrcoef",
}


@pytest.mark.parametrize("name", AT_A_THRESHOLD)
@pytest.mark.parametrize("kind", ["score", "probability", "probability:1"])
def test_at_a_threshold(name: str, kind: str) -> None:
    for seed, threshold in product(range(5), (0.3, 0.5, 0.7)):
        truth, score, weight = drawn(seed)
        expected = getattr(sk, AT_A_THRESHOLD[name])(truth, score >= threshold, sample_weight=weight)
        result = value({"label": truth, "weight": weight}, {kind: score}, f"{name}(threshold={threshold})")
        assert result == pytest.approx(expected, rel=1e-12)


def test_at_a_threshold_by_class() -> None:
    """Every class by its own score; of two with one column the other class is what the first is not."""
    truth, score, _ = drawn(9)
    sides = {"label": truth}, {"score": score}
    assert value(*sides, "recall(label=0, threshold=0.4)") == sk.recall_score(truth, score >= 0.4, pos_label=0)
    averages = {"macro(f1(threshold=0.4))": "macro", "weighted(f1(threshold=0.4))": "weighted"}
    for spec, average in averages.items():
        assert value(*sides, spec) == pytest.approx(sk.f1_score(truth, score >= 0.4, average=average), rel=1e-14)
    hot = np.eye(3)[FOUR["label"]]
    decided = PROBABILITIES >= 0.3
    expected = sk.f1_score(hot, decided, average=None)
    assert value(FOUR, THREE, "f1(label=1, threshold=0.3)") == expected[1]
    assert value(FOUR, THREE, "micro(f1(threshold=0.3))") == sk.f1_score(hot, decided, average="micro")
    assert value(FOUR, THREE, "f1(threshold=0.3)") != value(FOUR, THREE, "f1(threshold=0.3)")  # which class?
    several = {"id": [1, 2], "labels": ["a|b", "b"]}, {"id": [1, 2], "score:a": [2.0, 1.0], "score:b": [0.5, -1.0]}
    assert value(*several, "micro(precision(threshold=0))") == 2 / 3
    assert value(*several, "micro(recall(threshold=0))") == 2 / 3


def test_a_threshold_needs_scores() -> None:
    report = sy.evaluate("labels", {"label": [0, 1]}, {"label": [0, 1]}, ["f1(threshold=0.3)"], confidence=None)
    assert "no scores" in report["f1(threshold=0.3)"].undefined_reason
    with pytest.raises(sy.InputError, match="threshold cannot be high"):
        sy.evaluate("labels", {"label": [0, 1]}, {"score": [0, 1]}, ["f1(threshold=high)"])


def test_beta_from_nothing_to_infinity() -> None:
    truth, score, weight = drawn(3)
    predicted = (score > 0.4).astype(int)
    sides = {"label": truth, "weight": weight}, {"label": predicted}
    for beta in (0, 0.5, 2, np.inf):
        expected = sk.fbeta_score(truth, predicted, beta=beta, sample_weight=weight)
        assert value(*sides, f"fbeta(beta={beta})") == pytest.approx(expected, rel=1e-12)
    assert value(*sides, "fbeta(beta=0)") == pytest.approx(value(*sides, "precision"), rel=1e-14)


def test_micro_of_nothing_is_zero_where_asked() -> None:
    """Nothing is predicted: precision is 0 / 0, which scikit-learn takes for 0 unless asked otherwise."""
    truth, prediction = {"id": [1, 2], "labels": ["a|b", "b"]}, {"id": [1, 2], "labels": ["", ""]}
    hot, none = np.array([[1, 1], [0, 1]]), np.zeros((2, 2), int)
    assert np.isnan(value(truth, prediction, "micro(precision)"))
    assert np.isnan(sk.precision_score(hot, none, average="micro", zero_division=np.nan))
    assert value(truth, prediction, "micro(precision, undefined=zero)") == 0.0
    assert sk.precision_score(hot, none, average="micro", zero_division=0) == 0.0


@pytest.mark.parametrize("weights", ["plain", "linear", "quadratic"])
def test_kappa_is_the_references(weights: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth, predicted = rng.integers(0, 5, 80), rng.integers(0, 6, 80)
        expected = sk.cohen_kappa_score(truth, predicted, weights=None if weights == "plain" else weights)
        spec = f"kappa(weights={weights})"
        assert value({"label": truth}, {"label": predicted}, spec) == pytest.approx(expected, rel=1e-12)


def test_a_hundred_thousand_classes() -> None:
    """The default metrics need sums by class only; a table of pairs would take 74 GiB."""
    classes = 100_000
    truth = np.arange(classes)
    predicted = np.where(truth % 4, truth, (truth + 1) % classes)
    report = sy.evaluate("labels", {"label": truth}, {"label": predicted}, confidence=None)
    assert report["accuracy"].value == 0.75
    # Margins: of each 4 classes one is predicted twice and one never, so chance agrees in sum(t p) = 100,000 pairs.
    chance = 1 / classes
    assert report["kappa"].value == pytest.approx((0.75 - chance) / (1 - chance), rel=1e-12)
    assert report["macro(recall)"].value == 0.75
    for name in ("confusion", "confusion_true"):
        with pytest.raises(sy.InputError, match=r"'confusion.*100,000 classes"):
            report.table(name)


def test_many_weighted_rows_have_the_interval_of_rows_that_weigh_one() -> None:
    """Half the weight for every row changes nothing; 1,200 rows are left out in groups, and 0.5 is not a whole number."""
    rng = np.random.default_rng(3)
    truth = rng.choice(["a", "b"], 1200)
    predicted = np.where(rng.random(1200) < 0.8, truth, "a")
    specs = ["specificity(label=a)", "npv(label=a)", "macro(specificity)"]
    reports = [
        sy.evaluate("labels", {"label": truth, "weight": np.full(1200, w)}, {"label": predicted}, specs)
        for w in (1.0, 0.5)
    ]
    for spec in specs:
        one, half = (report[spec] for report in reports)
        assert (half.value, half.interval, half.se) == (one.value, one.interval, one.se)
        assert one.interval is not None
