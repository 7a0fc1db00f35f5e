"""Which units to label next, and means by labels that were chosen with probabilities."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.engine.labelling import label_probabilities, unit_coins

N = 1000
IDS = np.arange(N)
Columns = dict[str, Any]


def judged(seed: int) -> tuple[Any, Columns, Columns]:
    """Whether each prediction is right, the predictions, and a judge with its probabilities."""
    rng = np.random.default_rng(seed)
    sure = rng.beta(4, 1, N)
    right = (rng.random(N) < sure).astype(int)
    judge = {"id": IDS, "label": (sure > 0.5).astype(int), "probability": sure}
    return right, {"id": IDS, "label": np.ones(N, int)}, judge


def labelled(right: Any, chosen: Columns) -> Columns:
    pick = chosen["id"].astype(int)
    return {"id": pick, "label": right[pick], "probability": chosen["probability"]}


def test_probabilities_are_half_by_spread_and_half_equal() -> None:
    """Budget 2 of four units with spreads 1, 1, 2, 4: 2 (1/16 + 1/8), the last 2 (4/16 + 1/8), cut to 1 for budget 3."""
    spread = np.array([1.0, 1.0, 2.0, 4.0])
    assert label_probabilities(spread, 2) == pytest.approx([0.375, 0.375, 0.5, 0.75])
    assert label_probabilities(spread, 3) == pytest.approx([0.5625, 0.5625, 0.75, 1.0])
    assert label_probabilities(np.zeros(4), 2) == pytest.approx([0.5] * 4)


def test_every_unit_has_its_own_coin() -> None:
    """Neither the order nor other units matter; the seed does. Coins are uniform."""
    coins = unit_coins(IDS, 3)
    assert unit_coins(IDS[::-1], 3).tolist() == coins[::-1].tolist()
    assert unit_coins(IDS[5:9], 3).tolist() == coins[5:9].tolist()
    assert unit_coins(IDS.astype(str).astype(object), 3).tolist() == coins.tolist()
    assert abs(np.corrcoef(coins, unit_coins(IDS, 4))[0, 1]) < 0.1
    assert (coins.min() >= 0, coins.max() < 1) == (True, True)
    assert coins.mean() == pytest.approx(0.5, abs=0.03)
    assert coins.var() == pytest.approx(1 / 12, rel=0.1)


def test_units_are_chosen_by_the_judges_probability() -> None:
    _, predictions, judge = judged(1)
    chosen = sy.label_next(predictions, judge, 100, seed=2)
    expected = label_probabilities(np.sqrt(judge["probability"] * (1 - judge["probability"])), 100)
    taken = unit_coins(IDS, 2) < expected
    assert chosen["id"].tolist() == IDS[taken].astype(str).tolist()
    assert chosen["probability"].tolist() == expected[taken].tolist()
    assert 70 < len(chosen["id"]) < 130


def test_units_are_chosen_by_the_score_of_the_judges_labels() -> None:
    _, predictions, judge = judged(1)
    labels = {"id": IDS, "label": judge["label"]}
    chosen = sy.label_next(predictions, labels, 100, task="labels", metric="accuracy")
    f = judge["label"].astype(float)
    expected = label_probabilities(np.abs(f - f.mean()), 100)
    assert chosen["probability"].tolist() == pytest.approx(expected[chosen["id"].astype(int)].tolist())


def test_the_mean_is_that_of_horvitz_and_thompson() -> None:
    right, predictions, judge = judged(4)
    truth = labelled(right, sy.label_next(predictions, judge, 120))
    given = ("labels", truth, predictions, ["accuracy"])
    score = sy.evaluate(*given, proxy=judge, label_probability="probability")["accuracy"]
    f, pick = judge["label"].astype(float), truth["id"]
    z = f.copy()
    z[pick] += (right[pick] - f[pick]) / truth["probability"]
    assert score.value == pytest.approx(z.mean())
    assert score.se == pytest.approx(z.std(ddof=1) / math.sqrt(N), rel=0.15)
    assert score.interval is not None
    assert score.interval[0] < z.mean() < score.interval[1]
    about = score.few_labels
    assert about is not None
    weight = 1 / truth["probability"]
    assert about.labels_alone == pytest.approx((weight * right[pick]).sum() / weight.sum())
    assert (about.labelled, about.others, about.trust) == (len(pick), N - len(pick), 1.0)
    whole = sy.evaluate(*given, proxy=judge, label_probability="probability")
    assert f"Truth on {len(pick)} units, each chosen with its own probability (probability)" in " ".join(whole.notes)
    assert sy.load(whole.to_dict()) == whole
    plain = sy.evaluate(*given, proxy=judge, label_probability="probability", confidence=None)["accuracy"]
    assert (plain.value, plain.interval) == (score.value, None)


def test_equal_probabilities_and_a_column_of_the_truth() -> None:
    """Where all are chosen alike, labels alone are the plain mean; the judge may be a column of the truth."""
    right, predictions, judge = judged(5)
    known = [int(right[i]) if i < 100 else None for i in range(N)]
    truth = {"id": IDS, "label": known, "judge": judge["label"], "chosen": np.full(N, 0.1)}
    score = sy.evaluate("labels", truth, predictions, ["accuracy"], proxy="judge", label_probability="chosen")[
        "accuracy"
    ]
    f = judge["label"]
    assert score.value == pytest.approx(f.mean() + (right[:100] - f[:100]).sum() / 0.1 / N)
    assert score.few_labels is not None
    assert score.few_labels.labels_alone == pytest.approx(right[:100].mean())
    never = {**truth, "chosen": np.where(IDS < N - 12, 0.1, 0.0)}
    with pytest.raises(sy.InputError, match="12 units could never be chosen"):
        sy.evaluate("labels", never, predictions, ["accuracy"], proxy="judge", label_probability="chosen")


def test_slices_are_means_of_their_own_units() -> None:
    right, predictions, judge = judged(6)
    site = np.array(["north", "south"])[IDS % 2]
    chosen = sy.label_next(predictions, judge, 200)
    truth = {**labelled(right, chosen), "site": site[chosen["id"].astype(int)]}
    report = sy.evaluate(
        "labels", truth, predictions, ["accuracy"], proxy={**judge, "site": site}, label_probability="probability",
        by=["site"],
    )  # fmt: skip
    f, pick = judge["label"].astype(float), truth["id"]
    z = f.copy()
    z[pick] += (right[pick] - f[pick]) / truth["probability"]
    assert report.slices["site"]["north"]["accuracy"].value == pytest.approx(min(z[::2].mean(), 1.0))


@pytest.mark.slow
def test_chosen_labels_hold_without_bias() -> None:
    held, values, sets = 0, [], 120
    for k in range(sets):
        right, predictions, judge = judged(100 + k)
        truth = labelled(right, sy.label_next(predictions, judge, 100, seed=k))
        score = sy.evaluate(
            "labels", truth, predictions, ["accuracy"], proxy=judge, label_probability="probability", draws=100
        )["accuracy"]
        assert score.interval is not None
        held += score.interval[0] <= 0.8 <= score.interval[1]
        values.append(score.value)
    assert held / sets >= 0.9
    assert np.mean(values) == pytest.approx(0.8, abs=0.015)


RIGHT, PREDICTIONS, JUDGE = judged(7)
LABELLED = {"id": [0, 1, 2], "label": [1, 1, 0], "probability": [0.1, 0.2, 0.1]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"label_probability": "chosen"}, "column 'chosen' is missing"),
        ({"truth": {**LABELLED, "probability": [0.1, 0.0, 0.1]}}, "1 unit could never be chosen"),
        ({"truth": {**LABELLED, "probability": [0.1, 1.5, 0.1]}}, "'1.5' of unit '1' is not a probability"),
        ({"truth": {**LABELLED, "probability": ["a", 0.5, 0.1]}}, "'a' of unit '0' is not a probability"),
        ({"metrics": ["macro(f1)"]}, "is not a mean of unit scores"),
        ({"proxy": None}, "labels chosen with probabilities need a proxy"),
        ({"judge_correction": "rates"}, "`label_probability` cannot be combined with `judge_correction='rates'`"),
        ({"cluster": "id"}, "`label_probability` cannot be combined with `cluster`"),
        ({"label_probability": 3}, "label_probability is 3"),
    ],
)
def test_wrong_probabilities_are_refused(settings: Columns, said: str) -> None:
    asked = {"truth": LABELLED, "metrics": ["accuracy"], "proxy": JUDGE, "label_probability": "probability", **settings}
    with pytest.raises(sy.InputError, match=said):
        sy.evaluate("labels", asked.pop("truth"), PREDICTIONS, asked.pop("metrics"), **asked)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budget": 0}, "a budget of 0 is not a number of labels"),
        ({"budget": "many"}, "a budget of 'many' is not a number of labels"),
        ({"budget": 2000}, "a budget of 2000 exceeds the 1,000 units"),
        ({"judge_probability": "sure"}, "column 'sure' is missing"),
        ({"id_column": "unit"}, "column 'unit' is missing"),
        ({"proxy": {"id": [0], "probability": [0.5]}}, "999 of 1,000 units have no row"),
        ({"proxy": {"id": [0, 0], "probability": [0.5, 0.5]}}, "id '0' is a duplicate"),
        ({"proxy": {"id": [0], "probability": [1.5]}}, "'1.5' is not a probability"),
        ({"task": "labels"}, "task 'labels' needs a metric"),
        ({"task": "labels", "metric": "macro(f1)"}, "is not a mean of unit scores"),
    ],
)
def test_wrong_choices_are_refused(change: Columns, said: str) -> None:
    asked = {"proxy": JUDGE, "budget": 10, **change}
    with pytest.raises(sy.InputError, match=said):
        sy.label_next(PREDICTIONS, asked.pop("proxy"), asked.pop("budget"), **asked)


def test_the_command_line(tmp_path: Path) -> None:
    for name, columns in (("predictions", PREDICTIONS), ("judge", JUDGE)):
        rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(columns), *rows]) + "\n", encoding="utf-8")

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    done = command("label-next", "predictions.csv", "--proxy", "judge.csv", "--budget", "100", "-o", "to_label.csv")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "to_label.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "id,probability"
    assert f"wrote {len(lines) - 1} units to to_label.csv" in done.stderr
    rows = [f"{line.split(',')[0]},{RIGHT[int(line.split(',')[0])]},{line.split(',')[1]}" for line in lines[1:]]
    (tmp_path / "labelled.csv").write_text("\n".join(["id,label,probability", *rows]) + "\n", encoding="utf-8")
    evaluated = command(
        "evaluate", "labels", "labelled.csv", "predictions.csv", "-m", "accuracy", "--proxy", "judge.csv",
        "--label-probability", "probability",
    )  # fmt: skip
    assert evaluated.returncode == 0, evaluated.stderr
    assert "each chosen with its own probability" in " ".join(evaluated.stdout.split())
    wrong = command("label-next", "predictions.csv", "--proxy", "judge.csv", "--budget", "0", "-o", "to_label.csv")
    assert wrong.returncode == 2
    assert "a budget of 0" in wrong.stderr
    ending = command("label-next", "predictions.csv", "--proxy", "judge.csv", "--budget", "10", "-o", "to_label.json")
    assert ending.returncode == 2
    assert "the units are written as CSV" in ending.stderr
