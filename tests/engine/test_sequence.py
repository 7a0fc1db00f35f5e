"""Confidence sequences: they hold at every look while data grow, for the metrics that they are for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.engine.sequence import STAKES, betting_interval, betting_p, mixture_p, mixture_reach


def labels(n: int, share: float = 0.8, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    named = np.where(rng.random(n) < share, truth, (truth + 1) % 3)
    return {"id": np.arange(n), "label": truth}, {"id": np.arange(n), "label": named}


def money(x: Any, mean: float) -> float:
    """The money of one who bets on scores above the mean, product by product."""
    return float(np.mean([np.prod([1 + stake * (value / mean - 1) for value in x]) for stake in STAKES]))


def test_ends_are_where_the_money_is_made() -> None:
    """At either end of the interval of six scores a gambler with half the money has made 1 / .05 of all."""
    x = np.array([0.9, 0.8, 1.0, 0.7, 0.95, 0.85])
    low, high = betting_interval(x, (0.0, 1.0), 0.95)
    assert money(x, low) / 2 == pytest.approx(20, rel=1e-6)
    assert high == 1.0 or money(1 - x, 1 - high) / 2 == pytest.approx(20, rel=1e-6)
    assert betting_p(x, (0.0, 1.0), low) == pytest.approx(0.05, rel=1e-6)
    assert betting_p(x, (0.0, 1.0), float(x.mean())) > 0.5
    moved = betting_interval(2 * x - 1, (-1.0, 1.0), 0.95)
    assert moved == pytest.approx((2 * low - 1, 2 * high - 1))


def test_the_order_of_units_changes_nothing() -> None:
    x = np.random.default_rng(0).beta(5, 2, 80)
    assert betting_interval(x, (0.0, 1.0), 0.95) == pytest.approx(betting_interval(x[::-1], (0.0, 1.0), 0.95))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_sequence_holds_at_every_look(share: float) -> None:
    """120 growing samples of 0/1 scores, 25 looks from 20 to 1,000 units: in at most 5 % (and chance) does any miss."""
    rng = np.random.default_rng(1)
    looks = np.unique(np.geomspace(20, 1000, 25).astype(int))
    missed = plain = 0
    for _ in range(120):
        x = (rng.random(1000) < share).astype(float)
        missed += any(betting_p(x[:n], (0.0, 1.0), share) < 0.05 for n in looks)
        ends = [(x[:n].mean(), 1.96 * x[:n].std() / math.sqrt(n)) for n in looks]
        plain += any(abs(mean - share) > reach for mean, reach in ends)
    assert missed <= 12  # binomial 99.5 % of 120 at .05
    assert plain >= 24  # what looking does to plain intervals


def test_the_normal_mixture_by_hand() -> None:
    """rho^2 is 7.94 / 250 at 95 %; at 250 units the reach is sqrt(2 (1 + 1 / 7.94) log(sqrt(8.94) / .05))."""
    times = -2 * math.log(0.05) + math.log(1 - 2 * math.log(0.05))
    assert mixture_reach(250, 0.95) == pytest.approx(
        math.sqrt(2 * (1 + 1 / times) * math.log(math.sqrt(times + 1) / 0.05))
    )
    assert mixture_p(mixture_reach(400, 0.95), 400, 0.95) == pytest.approx(0.05)
    assert mixture_p(0.0, 400, 0.95) == 1.0


def test_scores_with_a_sequence() -> None:
    """Accuracy is the mean of right rows, and its interval is theirs; it is wider than that of one look."""
    truth, side = labels(200)
    score = sy.evaluate("labels", truth, side, "accuracy", draws=200, sequence="exact")["accuracy"]
    right = (truth["label"] == side["label"]).astype(float)
    assert score.interval == pytest.approx(betting_interval(right, (0.0, 1.0), 0.95))
    one = sy.evaluate("labels", truth, side, "accuracy", draws=200)["accuracy"]
    assert score.interval[0] < one.interval[0] < one.interval[1] < score.interval[1]
    assert score.notes == ("accuracy: the interval holds at every look (betting).",)
    # Rows that are counted by kind are the same rows.
    many, named = labels(12_000)
    counted = sy.evaluate("labels", many, named, "accuracy", draws=100, sequence="exact")["accuracy"]
    every = (many["label"] == named["label"]).astype(float)
    assert counted.interval == pytest.approx(betting_interval(every, (0.0, 1.0), 0.95))


def test_units_that_agree() -> None:
    """12 of 12 right: the lower end is where (1 + stake (1 / m - 1)) ** 12, mixed, is 40; macro F1 is not a mean."""
    side = labels(12)[0]
    score = sy.evaluate("labels", side, side, "accuracy", draws=100, sequence="exact")["accuracy"]
    low, high = score.interval
    assert high == 1.0
    assert np.mean((1 + STAKES * (1 / low - 1)) ** 12) == pytest.approx(40, rel=1e-6)
    with pytest.raises(sy.InputError, match="not a mean of bounded unit scores"):
        sy.evaluate("labels", side, side, "macro(f1)", draws=100, sequence="exact")


def test_differences_with_a_sequence(tmp_path: Path) -> None:
    truth, a = labels(300)
    b = labels(300, 0.95, seed=0)[1]
    comparison = sy.compare("labels", truth, a, b, "accuracy", draws=200, sequence="exact")
    d = comparison["accuracy"]
    between = (b["label"] == truth["label"]).astype(float) - (a["label"] == truth["label"])
    assert d.interval == pytest.approx(betting_interval(between, (-1.0, 1.0), 0.95))
    assert (d.p, d.p_method) == (pytest.approx(betting_p(between, (-1.0, 1.0), 0.0)), "betting")
    assert d.verdict == "better"
    assert sy.load(comparison.to_dict()) == comparison
    gate = sy.gate(comparison, "accuracy < baseline, p < 0.05")
    assert not any("unknown" in note for note in gate.notes)
    with pytest.raises(sy.InputError, match="holds at every look already"):
        sy.gate(comparison, "accuracy < baseline, p < 0.05", ledger=tmp_path / "looks.json")
    assert not (tmp_path / "looks.json").exists()
    comparison.to_html()  # classes have plain intervals there


def test_other_metrics_are_approximate() -> None:
    truth, a = labels(300)
    b = labels(300, 0.95, seed=0)[1]
    plain = sy.compare("labels", truth, a, b, "macro(f1)", draws=200)["macro(f1)"]
    comparison = sy.compare("labels", truth, a, b, "macro(f1)", draws=200, sequence="approximate")["macro(f1)"]
    reach = mixture_reach(300, 0.95) * plain.se
    assert comparison.interval == pytest.approx((plain.difference - reach, plain.difference + reach))
    assert comparison.p_method == "normal mixture, approximate"
    assert any("approximate" in note for note in comparison.notes)
    score = sy.evaluate("labels", truth, a, "macro(f1)", draws=200, sequence="approximate")["macro(f1)"]
    assert "approximate" in score.notes[-1]


@pytest.mark.parametrize(
    ("n", "metric", "settings", "refusal"),
    [
        (200, "macro(f1)", {"sequence": "exact"}, ("E-unsupported", "'macro(f1)'", "sequence='approximate'")),
        (60, "macro(f1)", {"sequence": "approximate"}, ("E-missing-data", "60", "100")),
        (60, "accuracy", {"sequence": "always"}, ("E-invalid-setting", "'always'")),
        (60, "accuracy", {"sequence": "exact", "confidence": None}, ("E-conflict", "sequence")),
        (60, "accuracy", {"sequence": "exact", "cluster": "label"}, ("E-unsupported", "clusters")),
    ],
)
def test_refused(n: int, metric: str, settings: dict[str, Any], refusal: tuple[str, ...]) -> None:
    with refuses(*refusal):
        sy.evaluate("labels", *labels(n), metric, draws=100, **settings)


def test_weights_have_no_sequence() -> None:
    """Errors have no upper end, and user weights make no plain mean."""
    truth = {"dish": np.arange(40), "weight": np.full(40, 100.0)}
    with pytest.raises(sy.InputError, match="'mae' is not a mean of bounded unit scores"):
        sy.evaluate("weights", truth, truth, "mae", draws=100, sequence="exact")


def test_on_the_command_line(steelyard: Any, tmp_path: Path) -> None:
    truth, side = labels(50)
    for name, columns in (("truth", truth), ("named", side)):
        rows = "".join(f"{i},{label}\n" for i, label in zip(columns["id"], columns["label"], strict=True))
        (tmp_path / f"{name}.csv").write_text("id,label\n" + rows)
    done = steelyard("evaluate", "labels", "truth.csv", "named.csv", "-m", "accuracy", "--sequence", "exact")
    assert done.returncode == 0, done.stderr
    assert "accuracy: the interval holds at every look (betting)." in done.stdout
    bad = steelyard("evaluate", "labels", "truth.csv", "named.csv", "-m", "macro(f1)", "--sequence", "exact")
    assert bad.returncode == 2
    assert bad.stderr.startswith("steelyard: 'macro(f1)' is not a mean of bounded unit scores")
