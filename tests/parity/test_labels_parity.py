"""Labels against scikit-learn, over drawn inputs: absent classes, ties, weights, strings and integers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.lazy import lazy

import steelyard as sy

sk = lazy("sklearn.metrics")
calibration = lazy("sklearn.calibration")

Array = NDArray[Any]
SEEDS = range(8)
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])


def value(truth: dict[str, Any], predictions: dict[str, Any], spec: str, **more: Any) -> float:
    return sy.evaluate("labels", truth, predictions, spec, confidence=None, **more)[spec].value


def draw_classes(seed: int) -> tuple[Array, Array, Array]:
    """Labels of up to six classes; some stand on one side only. Weights hold zeros."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(20, 120))
    truth = rng.choice(5, rows, p=[0.5, 0.3, 0.15, 0.05, 0.0])
    predicted = np.where(rng.random(rows) < 0.5, truth, rng.choice([0, 1, 2, 5], rows))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], rows, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    weight[0] = 1.0
    return truth, predicted, weight


def averaged(function: str, average: str | None, **more: Any) -> Callable[[Array, Array, Array], Any]:
    return lambda t, p, w: getattr(sk, function)(t, p, sample_weight=w, average=average, zero_division=np.nan, **more)


def with_zero(function: str, average: str) -> Callable[[Array, Array, Array], Any]:
    return lambda t, p, w: getattr(sk, function)(t, p, sample_weight=w, average=average, zero_division=0)


def plain(function: str, **more: Any) -> Callable[[Array, Array, Array], Any]:
    return lambda t, p, w: getattr(sk, function)(t, p, sample_weight=w, **more)


HARD: dict[str, Callable[[Array, Array, Array], Any]] = {
    "accuracy": plain("accuracy_score"),
    "exact_match": plain("accuracy_score"),
    "hamming": plain("hamming_loss"),
    "mcc": plain("matthews_corrcoef"),
    "kappa": plain("cohen_kappa_score"),
    "kappa(weights=linear)": plain("cohen_kappa_score", weights="linear"),
    "kappa(weights=quadratic)": plain("cohen_kappa_score", weights="quadratic"),
    "macro(precision)": averaged("precision_score", "macro"),
    "macro(recall)": averaged("recall_score", "macro"),
    "macro(f1)": averaged("f1_score", "macro"),
    "micro(precision)": averaged("precision_score", "micro"),
    "micro(recall)": averaged("recall_score", "micro"),
    "micro(f1)": averaged("f1_score", "micro"),
    "weighted(precision)": averaged("precision_score", "weighted"),
    "weighted(recall)": averaged("recall_score", "weighted"),
    "weighted(f1)": averaged("f1_score", "weighted"),
    "macro(fbeta(beta=2))": averaged("fbeta_score", "macro", beta=2),
    "weighted(fbeta(beta=0.5))": averaged("fbeta_score", "weighted", beta=0.5),
    "macro(precision, undefined=zero)": with_zero("precision_score", "macro"),
    "weighted(precision, undefined=zero)": with_zero("precision_score", "weighted"),
    "macro(jaccard)": with_zero("jaccard_score", "macro"),
    "micro(jaccard)": with_zero("jaccard_score", "micro"),
    "weighted(jaccard)": with_zero("jaccard_score", "weighted"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("spec", HARD)
def test_hard_labels(spec: str) -> None:
    for seed in SEEDS:
        truth, predicted, weight = draw_classes(seed)
        kept = weight > 0  # scikit-learn counts a class whose rows weigh nothing as one; we count what weighs
        expected = HARD[spec](truth[kept], predicted[kept], weight[kept])
        for names in (np.arange(6), NAMES):
            result = value({"label": names[truth], "weight": weight}, {"label": names[predicted]}, spec)
            assert result == pytest.approx(expected, rel=1e-12, abs=1e-12), (seed, names)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true:UserWarning")
@pytest.mark.parametrize("adjusted", [False, True])
def test_balanced_accuracy(adjusted: bool) -> None:
    spec = "balanced_accuracy(adjusted=true)" if adjusted else "balanced_accuracy"
    for seed in SEEDS:
        truth, predicted, weight = draw_classes(seed)
        kept = weight > 0
        expected = sk.balanced_accuracy_score(
            truth[kept], predicted[kept], sample_weight=weight[kept], adjusted=adjusted
        )
        result = value({"label": truth, "weight": weight}, {"label": predicted}, spec)
        assert result == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_each_class(seed: int) -> None:
    """All four counts, hence every metric that is a ratio of them, from scikit-learn's own counts by class."""
    truth, predicted, weight = draw_classes(seed)
    labels = np.union1d(truth, predicted)
    tables = sk.multilabel_confusion_matrix(truth, predicted, sample_weight=weight, labels=labels)
    ratios: dict[str, Callable[[float, float, float, float], tuple[float, float]]] = {
        "specificity": lambda tn, fp, fn, tp: (tn, tn + fp),
        "fpr": lambda tn, fp, fn, tp: (fp, tn + fp),
        "fnr": lambda tn, fp, fn, tp: (fn, fn + tp),
        "npv": lambda tn, fp, fn, tp: (tn, tn + fn),
        "fdr": lambda tn, fp, fn, tp: (fp, fp + tp),
        "precision": lambda tn, fp, fn, tp: (tp, fp + tp),
        "recall": lambda tn, fp, fn, tp: (tp, fn + tp),
        "f1": lambda tn, fp, fn, tp: (2 * tp, 2 * tp + fn + fp),
        "jaccard": lambda tn, fp, fn, tp: (tp, tp + fn + fp),
        "accuracy": lambda tn, fp, fn, tp: (tp + tn, tp + fn + fp + tn),
    }
    specs = [f"{name}(label={label})" for name in ratios for label in labels]
    report = sy.evaluate("labels", {"label": truth, "weight": weight}, {"label": predicted}, specs, confidence=None)
    for name, parts in ratios.items():
        for label, table in zip(labels, tables, strict=True):
            above, below = parts(*table.ravel().tolist())
            result = report[f"{name}(label={label})"].value
            assert (np.isnan(result) and below == 0) or result == pytest.approx(above / below, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_confusion_matrix(seed: int) -> None:
    truth, predicted, weight = draw_classes(seed)
    report = sy.evaluate(
        "labels", {"label": truth, "weight": weight}, {"label": predicted}, "accuracy", confidence=None
    )
    ours = report.table("confusion")
    np.testing.assert_allclose(ours.values, sk.confusion_matrix(truth, predicted, sample_weight=weight), rtol=1e-12)
    assert ours.rows == tuple(str(x) for x in np.union1d(truth, predicted))
    for name, normalize in (("confusion_true", "true"), ("confusion_predicted", "pred"), ("confusion_all", "all")):
        expected = sk.confusion_matrix(truth, predicted, sample_weight=weight, normalize=normalize)
        np.testing.assert_allclose(np.nan_to_num(report.table(name).values), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_several_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, classes = int(rng.integers(10, 60)), 5
    truth = (rng.random((rows, classes)) < [0.5, 0.3, 0.2, 0.1, 0.0]).astype(int)
    predicted = np.where(rng.random((rows, classes)) < 0.7, truth, rng.random((rows, classes)) < 0.4).astype(int)
    predicted[:, 3] = 0  # never predicted
    weight = rng.choice([0.5, 1.0, 2.0], rows)
    sets = [{"labels": [list(NAMES[:5][row > 0]) for row in side]} for side in (truth, predicted)]
    columns = [{"label": dict(zip(NAMES[:5], side.T, strict=True))} for side in (truth, predicted)]
    for average in ("macro", "micro", "weighted"):
        for name, function in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
            expected = function(truth, predicted, sample_weight=weight, average=average, zero_division=np.nan)
            for t, p in (sets, columns):
                result = value({**t, "weight": weight}, p, f"{average}({name})")
                assert result == pytest.approx(expected, rel=1e-12, abs=1e-12)
    t, p = columns
    data = {**t, "weight": weight}
    assert value(data, p, "exact_match") == pytest.approx(sk.accuracy_score(truth, predicted, sample_weight=weight))
    assert value(data, p, "accuracy") == pytest.approx(sk.accuracy_score(truth, predicted, sample_weight=weight))
    assert value(data, p, "hamming") == pytest.approx(sk.hamming_loss(truth, predicted, sample_weight=weight))


def draw_scores(seed: int) -> tuple[Array, Array, Array]:
    """Two classes with ties among the scores."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(10, 200))
    truth = (rng.random(rows) < 0.3).astype(int)
    truth[:2] = 0, 1
    score = rng.normal(truth, 1.0)
    if seed % 2:
        score = np.round(score, int(seed % 3))
    return truth, score, rng.choice([0.5, 1.0, 2.0], rows)


@pytest.mark.parametrize("seed", range(16))
def test_binary_scores(seed: int) -> None:
    truth, score, weight = draw_scores(seed)
    data, predictions = {"label": truth, "weight": weight}, {"score": score}
    assert value(data, predictions, "roc_auc") == pytest.approx(
        sk.roc_auc_score(truth, score, sample_weight=weight), rel=1e-12
    )
    assert value(data, predictions, "ap") == pytest.approx(
        sk.average_precision_score(truth, score, sample_weight=weight), rel=1e-12
    )
    precision, recall, thresholds = sk.precision_recall_curve(truth, score, sample_weight=weight)
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
    assert value(data, predictions, "best_f1") == pytest.approx(f1.max(), rel=1e-12)
    best = value(data, predictions, "best_threshold")
    assert f1[np.flatnonzero(thresholds == best)[0]] == pytest.approx(f1.max(), rel=1e-12)
    fpr, tpr, _ = sk.roc_curve(truth, score, sample_weight=weight, drop_intermediate=False)
    for rate in (0.0, 0.05, 0.2, 1.0):
        assert value(data, predictions, f"tpr_at_fpr@{rate}") == pytest.approx(tpr[fpr <= rate].max(), rel=1e-12)


def draw_probabilities(seed: int, classes: int = 4) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(30, 150))
    truth = np.concatenate([np.arange(classes), rng.integers(0, classes, rows)])
    probability = rng.dirichlet(np.ones(classes), len(truth))
    probability[np.arange(len(truth)), truth] += rng.random(len(truth))
    probability /= probability.sum(axis=1, keepdims=True)
    if seed % 2:  # ties
        probability = np.round(probability * 8) + 0.25
        probability /= probability.sum(axis=1, keepdims=True)
    return truth, probability, rng.choice([0.5, 1.0, 2.0], len(truth))


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_of_many_classes(seed: int) -> None:
    truth, probability, weight = draw_probabilities(seed)
    data, predictions = {"label": truth, "weight": weight}, {"probability": probability}
    onehot = np.eye(4)[truth]

    def check(spec: str, expected: float) -> None:
        assert value(data, predictions, spec) == pytest.approx(expected, rel=1e-11), spec

    auc: dict[str, Any] = {"sample_weight": weight, "multi_class": "ovr"}
    check("macro(roc_auc)", sk.roc_auc_score(truth, probability, average="macro", **auc))
    check("weighted(roc_auc)", sk.roc_auc_score(truth, probability, average="weighted", **auc))
    check("micro(roc_auc)", sk.roc_auc_score(truth, probability, average="micro", **auc))
    for average in ("macro", "weighted", "micro"):
        expected = sk.average_precision_score(onehot, probability, average=average, sample_weight=weight)
        check(f"{average}(ap)", expected)
    check("log_loss", sk.log_loss(truth, probability, sample_weight=weight))
    check("brier", sk.brier_score_loss(truth, probability, sample_weight=weight, labels=[0, 1, 2, 3]))
    check(
        "brier(form=half)",
        sk.brier_score_loss(truth, probability, sample_weight=weight, labels=[0, 1, 2, 3], scale_by_half=True),
    )
    check("accuracy", sk.accuracy_score(truth, probability.argmax(axis=1), sample_weight=weight))
    for k in (1, 2, 3):
        expected = sk.top_k_accuracy_score(truth, probability, k=k, sample_weight=weight)
        check(f"topk@{k}(ties=last)", expected)
        if seed % 2 == 0:
            check(f"topk@{k}", expected)
    check("topk@1", sk.accuracy_score(truth, probability.argmax(axis=1), sample_weight=weight))
    plain = {"label": truth}
    for spec, average in (("ovo(roc_auc)", "macro"), ("ovo(roc_auc, weighted=true)", "weighted")):
        expected = sk.roc_auc_score(truth, probability, multi_class="ovo", average=average)
        assert value(plain, predictions, spec) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_of_two_classes(seed: int) -> None:
    truth, probability, weight = draw_probabilities(seed, classes=2)
    p = probability[:, 1]
    data = {"label": NAMES[truth], "weight": weight}
    for predictions in ({"probability": p}, {"probability": {"ant": 1 - p, "bee": p}}, {"probability": {"ant": 1 - p}}):
        # In the last the positive class is the one that has the column.
        label = 0 if list(predictions.get("probability", [])) == ["ant"] else 1  # type: ignore[call-overload]
        positive, chance = (truth == label).astype(int), p if label else 1 - p
        for spec, expected in (
            ("log_loss", sk.log_loss(positive, chance, sample_weight=weight)),
            ("brier", sk.brier_score_loss(positive, chance, sample_weight=weight)),
            ("roc_auc", sk.roc_auc_score(positive, chance, sample_weight=weight)),
            ("ap", sk.average_precision_score(positive, chance, sample_weight=weight)),
            ("brier(label=ant)", sk.brier_score_loss(truth == 0, 1 - p, sample_weight=weight)),
            ("log_loss(label=ant)", sk.log_loss(truth == 0, 1 - p, sample_weight=weight)),
        ):
            assert value(data, predictions, spec) == pytest.approx(expected, rel=1e-9), spec


@pytest.mark.parametrize("seed", SEEDS)
def test_calibration(seed: int) -> None:
    """The bins, the frequencies and the mean probabilities are those of scikit-learn's calibration_curve."""
    truth, probability, _ = draw_probabilities(seed)
    data, predictions = {"label": truth}, {"probability": probability}

    def gaps(hit: Array, p: Array, bins: int) -> tuple[Array, Array]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frequency, mean = calibration.calibration_curve(hit, p, n_bins=bins)
        rows = np.bincount(np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p), minlength=bins)
        return np.abs(frequency - mean), rows[rows > 0] / len(p)

    for bins in (5, 15):
        each = []
        for k in range(4):
            gap, share = gaps((truth == k).astype(int), probability[:, k], bins)
            assert value(data, predictions, f"ece(label={k}, bins={bins})".replace(", bins=15", "")) == pytest.approx(
                (gap * share).sum(), abs=1e-12
            )
            each.append((gap * share).sum())
        spec = "classwise_ece" if bins == 15 else "classwise_ece(bins=5)"
        assert value(data, predictions, spec) == pytest.approx(np.mean(each), abs=1e-12)
        hit = (probability.argmax(axis=1) == truth).astype(int)
        gap, share = gaps(hit, probability.max(axis=1), bins)
        suffix = "" if bins == 15 else "(bins=5)"
        assert value(data, predictions, f"ece{suffix}") == pytest.approx((gap * share).sum(), abs=1e-12)
        assert value(data, predictions, f"mce{suffix}") == pytest.approx(gap.max(), abs=1e-12)


@pytest.mark.parametrize("rows", [9_999, 10_000, 30_000])
def test_many_rows_are_counted_and_listed_alike(rows: int) -> None:
    """From 10,000 rows on cells are counted; the numbers are those of scikit-learn all the same."""
    rng = np.random.default_rng(rows)
    truth = rng.integers(-3, 40, rows)
    predicted = np.where(rng.random(rows) < 0.6, truth, rng.integers(-5, 45, rows))
    for t, p in ((truth, predicted), (truth.astype(str), predicted.astype(str)), (truth * 10**9, predicted * 10**9)):
        report = sy.evaluate(
            "labels", {"label": t}, {"label": p}, ["macro(f1)", "weighted(f1)", "mcc", "kappa(weights=linear)"],
            confidence=None,
        )  # fmt: skip
        assert report["macro(f1)"].value == pytest.approx(
            sk.f1_score(truth, predicted, average="macro", zero_division=np.nan), rel=1e-12
        )
        assert report["weighted(f1)"].value == pytest.approx(
            sk.f1_score(truth, predicted, average="weighted"), rel=1e-12
        )
        assert report["mcc"].value == pytest.approx(sk.matthews_corrcoef(truth, predicted), rel=1e-12)
        assert report["kappa(weights=linear)"].value == pytest.approx(
            sk.cohen_kappa_score(truth, predicted, weights="linear"), rel=1e-12
        )
        np.testing.assert_array_equal(report.table("confusion").values, sk.confusion_matrix(truth, predicted))
