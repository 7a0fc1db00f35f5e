"""Pooled sets and drift: by hand, against SciPy, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard.engine.intervals import Estimate
from steelyard.engine.sets import pooled_estimate

scipy = lazy("scipy")

GOLDENS = json.loads((TESTS / "goldens" / "statistics2.json").read_text())


def labels(right: Any, first: int = 0, **columns: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Truth and predictions whose rows are right where they are said to be; ids begin at `first`."""
    right = np.asarray(right, dtype=bool)
    ids = np.arange(first, first + len(right))
    truth = np.resize([0, 1], len(right))
    return {"id": ids, "label": truth, **columns}, {"id": ids, "label": np.where(right, truth, 1 - truth)}


def share(right: int, of: int) -> list[bool]:
    return [True] * right + [False] * (of - right)


def evaluated(right: Any, first: int = 0, metrics: Any = "accuracy", by: Any = (), **columns: Any) -> sy.Report:
    return sy.evaluate("labels", *labels(right, first, **columns), metrics, by=by, save_influences=True)


def compared(a: Any, b: Any, first: int = 0, metrics: Any = "accuracy", **settings: Any) -> sy.Comparison:
    truth, one = labels(a, first)
    return sy.compare("labels", truth, one, labels(b, first)[1], metrics, save_influences=True, **settings)


def errors(values: Any, first: int) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = [f"d{i}" for i in range(first, first + len(values))]
    truth = {"dish": ids, "item": ["x"] * len(ids), "weight": np.full(len(ids), 1000.0)}
    return truth, {**truth, "weight": 1000.0 + np.asarray(values)}


def ends(p: float, n: float) -> tuple[float, float]:
    """The mean of the Clopper-Pearson and the Jeffreys ends, by SciPy."""
    x, y = p * n, n - p * n
    low = [scipy.stats.beta.ppf(0.025, a, b) for a, b in ((x, y + 1), (x + 0.5, y + 0.5))]
    high = [scipy.stats.beta.ppf(0.975, a, b) for a, b in ((x + 1, y), (x + 0.5, y + 0.5))]
    return float(np.mean(low)), float(np.mean(high))


def test_pooled_proportions_are_the_golden() -> None:
    golden = GOLDENS["pooled"]
    units = [int(n) for n in golden["units"]]
    each = [Estimate(ends(p, n), 0.1, n - 1) for p, n in zip(golden["values"], units, strict=True)]
    plain = pooled_estimate(np.array(golden["values"]), each, np.full(3, 1 / 3), np.eye(3), (0.0, 1.0))
    assert plain.interval == pytest.approx(golden["interval"], rel=1e-9)
    sets, first = [], 0
    for p, n in zip(golden["values"], units, strict=True):
        sets.append(evaluated(share(round(p * n), n), first))
        first += n
    made = sy.pool(sets, names=["a", "b", "c"])
    assert made["accuracy"].value == pytest.approx(golden["mean"], rel=1e-12)
    assert made["accuracy"].interval == pytest.approx(
        golden["interval"], abs=1e-3
    )  # a set of 60 has 59 effective units
    assert [one.weight for one in made.sets] == pytest.approx([1 / 3] * 3)
    assert made.units == 300
    assert "these 3 sets" in made.notes[0]


def test_weights_by_units_and_by_name(tmp_path: Path) -> None:
    sets = [evaluated(share(9, 10)), evaluated(share(15, 30), 100)]
    assert sy.pool(sets, weights="units")["accuracy"].value == pytest.approx(24 / 40)
    assert sy.pool(sets, weights=[3, 1])["accuracy"].value == pytest.approx(0.75 * 0.9 + 0.25 * 0.5)
    for name, one in zip(("day", "night"), sets, strict=True):
        one.to_json(tmp_path / f"{name}.json")
    files = [tmp_path / "day.json", tmp_path / "night.json"]
    (tmp_path / "w.csv").write_text("set,weight\nnight,1\nday,3\n")
    made = sy.pool(files, weights=tmp_path / "w.csv")
    assert made["accuracy"].value == pytest.approx(0.8)
    assert made.weights == "given"
    made.to_json(tmp_path / "pool.json")
    assert sy.load(tmp_path / "pool.json") == made


def test_pooled_differences_flip_the_units_of_all_sets() -> None:
    """Twelve units in all: every world is walked, by hand here, on psi = w_k (d - D_k) n / n_k."""
    rng = np.random.default_rng(3)
    sizes, first, sets, d = (5, 7), 0, [], []
    for n in sizes:
        a, b = rng.integers(0, 2, (2, n))
        sets.append(compared(a, b, first))
        d.append((b - a).astype(float))
        first += n
    made = sy.pool(sets)["accuracy"]
    assert isinstance(made, sy.Difference)
    value = np.mean([one.mean() for one in d])
    psi = np.concatenate([0.5 * 12 / len(one) * (one - one.mean()) for one in d])
    signs = 1 - 2 * (np.arange(1 << 12)[:, np.newaxis] >> np.arange(12) & 1)
    worlds = np.abs(signs @ (psi + value)) / 12
    assert made.difference == pytest.approx(value)
    assert made.p == pytest.approx(np.mean(worlds >= abs(value) - 1e-9))
    assert made.p_method == "all flips"
    assert "in the mean over these 2 sets, equally weighed" in made.null_hypothesis


def test_one_set_cut_in_two_has_the_test_of_the_whole() -> None:
    """Weighed by units, a mean over parts is the mean over all; psi then differs by the means of the parts alone."""
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 400)) < np.array([[0.7], [0.8]])
    whole = compared(a, b)["accuracy"]
    parts = sy.pool([compared(a[:150], b[:150]), compared(a[150:], b[150:], 150)], weights="units")["accuracy"]
    assert isinstance(parts, sy.Difference)
    assert parts.difference == pytest.approx(whole.difference)
    assert parts.se == pytest.approx(whole.se, rel=0.02)
    assert parts.interval == pytest.approx(whole.interval, abs=0.01)


def test_shared_units_are_joined() -> None:
    """The same set twice is the set: with R = 1 everywhere MOVER gives back its own interval, and flips its own p."""
    right = share(40, 60)
    report = evaluated(right)
    with refuses("E-duplicate-key", "60", "1", "2"):
        sy.pool([report, report])
    made = sy.pool([report, report], shared_units=True)
    assert made.shared_units == 60
    assert made["accuracy"].interval == pytest.approx(report["accuracy"].interval)
    comparison = compared(share(30, 60), right)
    pooled = sy.pool([comparison, comparison], shared_units=True)["accuracy"]
    assert isinstance(pooled, sy.Difference)
    assert pooled.p == comparison["accuracy"].p
    assert pooled.interval == pytest.approx(comparison["accuracy"].interval)


def test_random_sets_are_a_t_test_over_sets() -> None:
    rights = (8, 6, 9, 5, 7, 9)
    sets = [evaluated(share(right, 10), 100 * i) for i, right in enumerate(rights)]
    made = sy.pool(sets, sets="random")["accuracy"]
    values = np.array(rights) / 10
    se = values.std(ddof=1) / math.sqrt(6)
    reach = scipy.stats.t.ppf(0.975, 5) * se
    assert made.interval == pytest.approx((values.mean() - reach, values.mean() + reach))
    comparisons = [compared(share(5, 10), share(right, 10), 100 * i) for i, right in enumerate(rights)]
    difference = sy.pool(comparisons, sets="random")["accuracy"]
    assert isinstance(difference, sy.Difference)
    expected = scipy.stats.ttest_1samp(values - 0.5, 0.0)
    assert difference.p == pytest.approx(expected.pvalue)
    assert difference.p_method == "t over sets"
    assert "the population that these 6 sets were drawn from" in difference.null_hypothesis


def test_groups_of_large_sets_have_coins_of_their_own() -> None:
    rng = np.random.default_rng(8)
    sets = []
    for k in range(2):
        a, b = rng.random((2, 1200)) < 0.8
        sets.append(compared(a, b, 5000 * k, draws=200))
    made = sy.pool(sets)
    assert made.shared_units == 0
    assert made["accuracy"].se == pytest.approx(math.hypot(*(one["accuracy"].se for one in sets)) / 2, rel=0.02)


BAD_POOLS: list[tuple[Any, dict[str, Any], str]] = [
    (lambda: [evaluated(share(5, 9))], {}, ("E-missing-data", "pooled")),
    (lambda: [evaluated(share(5, 9)), sy.evaluate("labels", *labels(share(5, 9), 20))], {},
     ("E-missing-data", "2", "influences")),
    (lambda: [evaluated(share(5, 9)), compared(share(5, 9), share(6, 9), 20)], {}, ("E-incompatible", "1")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"sets": "random"}, ("E-missing-data", "2", "too")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"sets": "some"}, ("E-invalid-setting", "'some'")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": [1, -1]}, ("E-invalid-value", "2")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": [1]}, ("E-shape-mismatch", "1", "weights", "2")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": [0, 0]}, ("E-out-of-range", "weights", "0")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": "none.csv"}, ("E-invalid-setting", "weights")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": {"set 1": 1}}, ("E-unknown-name", "2")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"names": ["a"]}, ("E-shape-mismatch", "1", "2")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20, "kappa")], {}, ("E-incompatible", "share")),
]  # fmt: skip


@pytest.mark.parametrize(("sets", "settings", "message"), BAD_POOLS)
def test_what_cannot_be_pooled_is_refused(sets: Any, settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.pool(sets(), **settings)


def test_drift_of_means_is_welchs_test(tmp_path: Path) -> None:
    golden = GOLDENS["unpaired"]
    reports = [
        sy.evaluate("weights", *errors(golden[name], first), "mae", save_influences=True)
        for name, first in (("first", 0), ("second", 100))
    ]
    made = sy.drift(*reports)
    one = made["mae"]
    assert one.difference == pytest.approx(golden["difference"])
    assert one.df == pytest.approx(golden["df"])
    assert one.p == pytest.approx(golden["p"])
    assert one.interval == pytest.approx(golden["interval"])
    made.to_json(tmp_path / "drift.json")
    assert sy.load(tmp_path / "drift.json") == made
    assert made.to_html().startswith("<!doctype html>")
    assert "Welch" in made.to_text()


def test_drift_at_the_old_mix_is_the_golden() -> None:
    golden = GOLDENS["drift"]
    old = evaluated(golden["old"], 0, by=["site"], site=[f"s{int(g)}" for g in golden["old_group"]])
    new = evaluated(golden["new"], 50, by=["site"], site=[f"s{int(g)}" for g in golden["new_group"]])
    made = sy.drift(old, new, by="site")
    assert made.plain["accuracy"] == pytest.approx(golden["plain"])
    assert made["accuracy"].difference == pytest.approx(golden["at_old_mix"])
    assert made.mix["accuracy"] == pytest.approx(golden["mix"])
    assert made["accuracy"].se == pytest.approx(golden["se"])
    assert made["accuracy"].df == pytest.approx(golden["df"])
    assert [one.share for one in made.groups] == pytest.approx([0.5, 0.375, 0.125])


def test_groups_of_one_set_alone_are_left_out_and_named() -> None:
    old = evaluated([1, 0, 1, 1, 0, 0, 1, 1], by=["site"], site=list("aaaabbcc"))
    new = evaluated([1, 1, 0, 0, 0, 1], 50, by=["site"], site=list("aabbdd"))
    made = sy.drift(old, new, by="site")
    assert [(one.value, one.excluded) for one in made.groups] == [("a", False), ("b", False), ("c", True), ("d", True)]
    # 4 and 2 old units are left: 2/3 (1 - 3/4) + 1/3 (0 - 0)
    assert made["accuracy"].difference == pytest.approx(2 / 3 * 0.25)
    assert made.plain["accuracy"] == pytest.approx(0.5 - 5 / 8)
    assert "Left out, without new units: site 'c'." in made.notes
    assert "Left out, without old units: site 'd'." in made.notes


def test_many_units_of_a_group_count_as_units() -> None:
    """1,500 units of a group are kept as groups, and weigh as 1,500."""
    rng = np.random.default_rng(5)
    sides = []
    for _ in range(2):
        site = np.repeat(["a", "b"], [1500, 500])
        sides.append((rng.random(2000) < 0.8, site))
    old, new = (evaluated(right, 5000 * k, by=["site"], site=site) for k, (right, site) in enumerate(sides))
    made = sy.drift(old, new, by="site")["accuracy"]
    parts = [(right[site == g].mean(), (site == g).sum()) for right, site in sides for g in "ab"]
    variance = sum((n / 2000) ** 2 * p * (1 - p) / n for p, n in parts)
    assert made.se == pytest.approx(math.sqrt(variance), rel=0.05)


def test_metrics_that_are_no_means_say_why() -> None:
    old = evaluated([1, 0, 1, 1, 0, 1], metrics=["accuracy", "kappa"], by=["site"], site=list("aaabbb"))
    new = evaluated([1, 1, 0, 0, 1, 1], 50, ["accuracy", "kappa"], by=["site"], site=list("aaaabb"))
    made = sy.drift(old, new, by="site")
    assert made["kappa"].verdict == "undefined"
    assert "kappa is not a mean" in made["kappa"].undefined_reason
    assert "unit weights" in made["kappa"].undefined_reason
    with refuses("E-incompatible", "new"):
        sy.drift(
            evaluated([1, 0, 1, 1, 0, 1], metrics="kappa", by=["site"], site=list("aaabbb")),
            evaluated([1, 1, 0, 0, 1, 1], 50, "kappa", by=["site"], site=list("aaaabb")),
            by="site",
        )


def test_distances_must_be_shown_by_gap_and_total() -> None:
    """Biases of +5 and -5 have equal distances, however far apart they are."""
    rng = np.random.default_rng(6)
    sides = [errors(shift + rng.normal(0, 3, 40), first) for shift, first in ((5.0, 0), (-5.0, 100))]
    made = sy.drift(*(sy.evaluate("weights", *side, "bias", save_influences=True) for side in sides))["bias"]
    assert abs(made.difference) < 2
    assert made.p > 0.05


def test_sets_whose_units_all_agree() -> None:
    made = sy.drift(evaluated(share(20, 20)), evaluated(share(30, 30), 50))["accuracy"]
    assert made.difference == 0
    assert made.p == 1
    low, high = made.interval or (0.0, 0.0)
    assert low == pytest.approx(-(1 - 0.025 ** (1 / 30)))
    assert high == pytest.approx(1 - 0.025 ** (1 / 20))


BAD_DRIFTS: list[tuple[Any, dict[str, Any], str]] = [
    (lambda: (evaluated(share(5, 9)), compared(share(5, 9), share(6, 9), 20)), {}, ("E-invalid-result", "new")),
    (lambda: (evaluated(share(5, 9)), evaluated(share(5, 9))), {}, ("E-incompatible", "new", "old")),
    (lambda: (evaluated(share(5, 9)), evaluated(share(5, 9), 20, "kappa")), {}, ("E-incompatible", "share")),
    (lambda: (evaluated(share(5, 9)), evaluated(share(5, 9), 20)), {"by": "site"}, ("E-missing-data", "'site'")),
    (lambda: (sy.evaluate("labels", *labels(share(5, 9))), evaluated(share(5, 9), 20)), {"by": "site"},
     ("E-missing-data", "old")),
    (lambda: (evaluated(share(5, 9), by=["site"], site=list("aaaaaaaab")),
              evaluated(share(5, 9), 20, by=["site"], site=list("ccccccccc"))), {"by": "site"}, ("E-incompatible", "new", "results")),
]  # fmt: skip


@pytest.mark.parametrize(("reports", "settings", "message"), BAD_DRIFTS)
def test_what_has_no_drift_is_refused(reports: Any, settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.drift(*reports(), **settings)


def test_results_without_influences_drift_by_their_errors() -> None:
    old, new = (sy.evaluate("labels", *labels(share(n, 40), first), "accuracy") for n, first in ((30, 0), (20, 100)))
    made = sy.drift(old, new)["accuracy"]
    assert made.difference == pytest.approx(-0.25)
    assert made.se == pytest.approx(math.hypot(old["accuracy"].se, new["accuracy"].se))


def test_an_interval_that_one_set_lacks() -> None:
    each = [Estimate((0.1, 0.4), 0.1, 9), Estimate(None, 0.1, 9)]
    made = pooled_estimate(np.array([0.2, 0.3]), each, np.array([0.5, 0.5]), np.eye(2), (0.0, 1.0))
    assert made.interval is None
    assert made.se == pytest.approx(math.hypot(0.05, 0.05))


def test_the_command_line(tmp_path: Path, steelyard: Any) -> None:
    for name, right, first in (("day", 45, 0), ("night", 30, 100)):
        evaluated(share(right, 60), first, by=["site"], site=["a", "b"] * 30).to_json(tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.json") for name in ("day", "night")]
    done = steelyard(
        "pool", *files, "--weights", "units", "-o", str(tmp_path / "p.json"), "--html", str(tmp_path / "p.html")
    )
    assert done.returncode == 0, done.stderr
    assert "these 2 sets" in done.stdout
    assert sy.load(tmp_path / "p.json")["accuracy"].value == pytest.approx(0.625)  # type: ignore[index]
    done = steelyard("drift", *files, "--by", "site", "-o", str(tmp_path / "d.md"))
    assert done.returncode == 0, done.stderr
    assert "at the old mix of site" in done.stdout
    assert "| `accuracy` |" in (tmp_path / "d.md").read_text(encoding="utf-8")
    done = steelyard("pool", files[0], files[0])
    assert done.returncode == 2
    assert "is given twice" in done.stderr
    done = steelyard("drift", *files, "-o", "x.pdf")
    assert done.returncode == 2
