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


def test_random_sets_that_agree_have_no_interval() -> None:
    """Five sets of 0.9 have a variance of 0, of which Student's t says nothing, however rounding moves their mean."""
    made = sy.pool([evaluated(share(9, 10), 100 * k) for k in range(5)], sets="random")["accuracy"]
    assert made.value == pytest.approx(0.9)
    assert made.interval is None
    assert "5 sets" in made.why_no_interval
    better = [compared(share(6, 10), share(9, 10), 100 * k) for k in range(5)]
    difference = sy.pool(better, sets="random")["accuracy"]
    assert isinstance(difference, sy.Difference)
    assert difference.difference == pytest.approx(0.3)
    assert difference.interval is None
    assert math.isnan(difference.p)
    assert difference.verdict == "undefined"


def test_groups_of_large_sets_have_coins_of_their_own() -> None:
    rng = np.random.default_rng(8)
    sets = []
    for k in range(2):
        a, b = rng.random((2, 1200)) < 0.8
        sets.append(compared(a, b, 5000 * k, draws=200))
    made = sy.pool(sets)
    assert made.shared_units == 0
    assert made["accuracy"].se == pytest.approx(math.hypot(*(one["accuracy"].se for one in sets)) / 2, rel=0.02)


def test_pooled_sets_that_share_some_units() -> None:
    """MOVER with the correlation of the sets' values (Zou and Donner 2008): here that of means with 30 shared units.

    cov(T1, T2) = n12 c12 / (n1 n2), with c12 the sum of products of deviations over the shared units by n12. The degrees
    of freedom are Satterthwaite's.
    """
    rng = np.random.default_rng(12)
    right = rng.random(90) < 0.7
    parts = right[:60], right[30:]
    reports = [evaluated(part, first) for part, first in zip(parts, (0, 30), strict=True)]
    # both sets give the row of an id the same truth, and the same prediction
    w, made = np.array([0.75, 0.25]), sy.pool(reports, weights=[3, 1], shared_units=True)
    assert made.shared_units == 30
    off = [part - part.mean() for part in parts]
    r = float(off[0][30:] @ off[1][:30]) / math.sqrt(float(off[0] @ off[0]) * float(off[1] @ off[1]))
    matrix = np.array([[1.0, r], [r, 1.0]])
    scores = [report["accuracy"] for report in reports]
    values = np.array([part.mean() for part in parts])
    below, above = (
        w * np.abs([score.interval[k] - value for score, value in zip(scores, values, strict=True) if score.interval])
        for k in (0, 1)
    )
    expected = w @ values - math.sqrt(below @ matrix @ below), w @ values + math.sqrt(above @ matrix @ above)
    assert made["accuracy"].value == pytest.approx(w @ values)
    assert made["accuracy"].interval == pytest.approx(expected)
    errors = w * [score.se for score in scores]
    variance = errors @ matrix @ errors
    assert made["accuracy"].se == pytest.approx(math.sqrt(variance))
    assert made["accuracy"].df == pytest.approx(variance**2 / (errors**4 / [score.df for score in scores]).sum())


def test_random_sets_of_distances_from_the_best_value() -> None:
    """Biases count as distances from 0: -3 and +3 of one model and +2 of the other differ by 1 each time."""
    rng = np.random.default_rng(13)
    biases = [(-3.0, 2.0), (3.0, -1.0), (2.5, 2.0), (-4.0, -3.5), (1.0, 1.5)]
    sets = []
    for k, pair in enumerate(biases):
        noise = rng.normal(0, 0.1, 12)
        (truth, a), (_, b) = (errors(at + noise - noise.mean(), 100 * k) for at in pair)
        sets.append(sy.compare("weights", truth, a, b, "bias", save_influences=True))
    made = sy.pool(sets, sets="random")["bias"]
    assert isinstance(made, sy.Difference)
    distances = [abs(b) - abs(a) for a, b in biases]
    expected = scipy.stats.ttest_1samp(distances, 0.0)
    low, high = expected.confidence_interval(0.95)
    assert made.difference == pytest.approx(np.mean(distances))
    assert made.p == pytest.approx(expected.pvalue)
    assert made.interval == pytest.approx((low, high))


@pytest.mark.parametrize("weights", [np.array([3, 1]), (0.75, 0.25), [1.5e308, 5e307], {"set 1": 6, "set 2": 2}])
def test_weights_in_every_form(weights: Any) -> None:
    sets = [evaluated(share(9, 10)), evaluated(share(15, 30), 100)]
    made = sy.pool(sets, weights=weights)
    assert made["accuracy"].value == pytest.approx(0.75 * 0.9 + 0.25 * 0.5)
    assert [one.weight for one in made.sets] == pytest.approx([0.75, 0.25])
    assert made.weights == "given"


def tracked(first: int, metrics: list[str]) -> sy.Report:
    """Four sequences of one object in two frames; the first changes its identity."""
    columns: dict[str, list[Any]] = {"sequence": [], "frame": [], "track": []}
    for k in range(4):
        columns["sequence"] += [f"s{first + k}"] * 2
        columns["frame"] += [1, 2]
        columns["track"] += [1, 1]
    boxes = {name: [at] * 8 for name, at in (("x", 0.0), ("y", 0.0), ("w", 10.0), ("h", 10.0))}
    given = {**columns, **boxes, "track": [1, 2, 1, 1, 1, 1, 1, 1]}
    return sy.evaluate("tracking", {**columns, **boxes}, given, metrics, save_influences=True)


def test_metrics_of_some_sets_and_counts_are_not_pooled() -> None:
    """MOTA is 1 - 1 / 8 in each set; switches of identity are counts, which have no mean over sets."""
    made = sy.pool([tracked(0, ["mota", "idsw", "idf1"]), tracked(10, ["mota", "idsw"])])
    assert list(made.scores) == ["mota"]
    assert made["mota"].value == pytest.approx(1 - 1 / 8)
    notes = "\n".join(made.notes)
    assert "idf1" in notes
    assert "idsw" in notes
    with refuses("E-incompatible", "counts"):
        sy.pool([tracked(0, ["idsw"]), tracked(10, ["idsw"])])


def test_a_set_without_a_value_has_no_pooled_value() -> None:
    """kappa of a set of one class is undefined; its accuracy is not."""
    alike = {"id": np.arange(50, 56), "label": np.zeros(6, int)}
    one = sy.evaluate("labels", alike, alike, ["kappa", "accuracy"], save_influences=True)
    made = sy.pool([evaluated([1, 1, 1, 1, 0, 1], 0, ["kappa", "accuracy"]), one])
    assert not made["kappa"].defined
    assert made["kappa"].interval is None
    assert "set 2" in made["kappa"].undefined_reason
    assert made["accuracy"].value == pytest.approx((5 / 6 + 1) / 2)


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
    (lambda: evaluated(share(5, 9)), {}, ("E-missing-data", "list")),
    (lambda: [evaluated(share(5, 9)), sy.plan(evaluated(share(5, 9)), width=0.1)], {}, ("E-invalid-result", "2", "plan")),
    (lambda: [evaluated(share(5, 9)), sy.evaluate("weights", *errors([1.0, 2.0], 0), "mae", save_influences=True)], {},
     ("E-incompatible", "2", "'weights'", "'labels'")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"names": ["a", "a"]}, ("E-duplicate-key", "a")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": 3}, ("E-invalid-setting", "weights")),
    (lambda: [evaluated(share(5, 9)), evaluated(share(5, 9), 20)], {"weights": ["x", 1]}, ("E-invalid-value", "'x'")),
    (lambda: [evaluated(share(5, 9), 10 * k) for k in range(5)], {"sets": "random", "weights": "units"}, ("E-conflict",)),
    (lambda: [evaluated(share(5, 9)), sy.evaluate("labels", *labels(share(5, 9), 20), "accuracy", confidence=0.9,
                                                  save_influences=True)], {}, ("E-incompatible", "90", "95")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("set,share\nday,1\nnight,2\n", ("E-missing-column", "'weight'")),
        ("set,weight\nday,1\nnight,2\nday,3\n", ("E-duplicate-key", "'day'")),
        ("set,weight\nday,1\nnigth,2\n", ("E-unknown-name", "night", "nigth")),
    ],
)
def test_tables_of_weights_that_cannot_be_used(tmp_path: Path, table: str, message: tuple[str, ...]) -> None:
    (tmp_path / "w.csv").write_text(table)
    sets = [evaluated(share(9, 10)), evaluated(share(15, 30), 100)]
    with refuses(*message):
        sy.pool(sets, weights=tmp_path / "w.csv", names=["day", "night"])


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


def test_drift_of_a_bias_is_that_of_its_size() -> None:
    """The change, the part by the mix and the change at the old mix are all of the distance from 0.

    Old: -6 in a and -2 in b, 3 to 1, so -5. New: -3 and -1, 1 to 1, so -2. At the old mix -2.5: the distance falls by 2.5
    of 3, and the other mix explains the rest.
    """
    spread = np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 0.0])
    old = sy.evaluate(
        "weights", *_sited({"a": (-6, 3), "b": (-2, 1)}, spread, 0), "bias", by="site", save_influences=True
    )
    new = sy.evaluate(
        "weights", *_sited({"a": (-3, 2), "b": (-1, 2)}, spread, 900), "bias", by="site", save_influences=True
    )
    made = sy.drift(old, new, by="site")
    assert made["bias"].difference == pytest.approx(-2.5)
    assert made.plain["bias"] == pytest.approx(-3.0)
    assert made.mix["bias"] == pytest.approx(-0.5)
    plain = sy.drift(old, new)["bias"]
    assert plain.difference == pytest.approx(-3.0)


def _sited(sites: dict[str, tuple[float, int]], spread: Any, first: int) -> Any:
    """Errors with a mean in each site and so many times the same spread."""
    values = np.concatenate([at + np.tile(spread, times) for at, times in sites.values()])
    truth, given = errors(values, first)
    names = np.repeat(list(sites), [len(spread) * times for _, times in sites.values()])
    return {**truth, "site": names}, given


def test_names_of_the_two_sets(tmp_path: Path) -> None:
    """Files are called by their paths, unless both sets are named."""
    sides = {
        "march": evaluated(share(15, 20)),
        "may": evaluated(share(10, 20), 50),
    }
    for name, one in sides.items():
        one.to_json(tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.json") for name in sides]
    unnamed = sy.drift(*files)
    assert [unnamed.old, unnamed.new] == files
    named = sy.drift(*files, names=("March", "May"))
    assert (named.old, named.new) == ("March", "May")
    assert (sy.drift(*sides.values()).old, sy.drift(*sides.values(), names=["a", "b"]).new) == ("old", "b")


def test_what_differs_between_the_two_results_is_noted() -> None:
    """Nine of ten ids are in both sets, a metric is in one alone, and one leaves out what is missing."""
    old = evaluated(share(7, 10), 0, ["accuracy", "kappa"])
    truth, given = labels(share(5, 10), 1)
    new = sy.evaluate("labels", truth, given, "accuracy", missing="skip", save_influences=True)
    made = sy.drift(old, new)
    assert list(made.differences) == ["accuracy"]
    notes = "\n".join(made.notes)
    for said in ("9 units", "kappa", "missing"):
        assert said in notes


def test_a_group_of_one_unit_is_noted() -> None:
    """Its unit has no spread to go by. The error is then that of the others.

    Old: 3 of 4 right in a, 1 of 2 in b. New: 2 of 4 in a, and the one in b. c = (-1/4, 1/2), at the old mix 0. Old units
    make (4 / 16 + 2 / 4 + 3 / 4 + 1 / 2) / (6 * 5), new ones ((4 / 6 * 5 / 4)^2 * 1) / (5 * 4).
    """
    old = evaluated([1, 1, 1, 0, 1, 0], by=["site"], site=list("aaaabb"))
    new = evaluated([1, 1, 0, 0, 1], 50, by=["site"], site=list("aaaab"))
    made = sy.drift(old, new, by="site")
    own, other = (4 / 16 + 2 / 4 + 3 / 4 + 1 / 2) / 30, (4 / 6 * 5 / 4) ** 2 / 20
    assert made["accuracy"].difference == pytest.approx(0)
    assert made["accuracy"].se == pytest.approx(math.sqrt(own + other))
    assert made["accuracy"].df == pytest.approx((own + other) ** 2 / (own**2 / 5 + other**2 / 4))
    assert [note for note in made.notes if "'b'" in note]


def test_too_few_units_in_the_groups_of_both_sets() -> None:
    """Group a, which alone is in both, has one old unit, of which there is no spread."""
    old = evaluated([1, 0, 1, 1, 0, 1], by=["site"], site=list("abbbbb"))
    new = evaluated([1, 1, 0, 0, 1, 1], 50, by=["site"], site=list("aaaacc"))
    with refuses("E-incompatible", "new", "two units"):
        sy.drift(old, new, by="site")


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


def test_groups_whose_units_all_agree() -> None:
    """MOVER over the groups' own intervals (Zou and Donner 2008): no unit varies, but few are seen.

    a is all right and b all wrong in both sets, with 12 and 4 units. Of n units without one that differs, up to
    1 - 0.025^(1/n) of all may. To one side of 0 these are a's new and b's old units, to the other a's old and b's new.
    """
    sites = list("a" * 12 + "b" * 4)
    sides = [evaluated([1] * 12 + [0] * 4, first, by=["site"], site=sites) for first in (0, 50)]
    one = sy.drift(*sides, by="site")["accuracy"]
    reach = math.hypot(12 / 16 * (1 - 0.025 ** (1 / 12)), 4 / 16 * (1 - 0.025 ** (1 / 4)))
    assert (one.difference, one.p) == (0, 1)
    assert one.interval == pytest.approx((-reach, reach))
    few = [evaluated([right] * 3, at, by=["site"], site=list("aaa")) for right, at in ((1, 0), (0, 50))]
    plain, mixed = sy.drift(*few)["accuracy"], sy.drift(*few, by="site")["accuracy"]
    assert mixed.interval == pytest.approx((-1.0, -1 + math.sqrt(2) * (1 - 0.025 ** (1 / 3))))
    assert (mixed.interval, mixed.p) == (plain.interval, plain.p)


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
    (lambda: (evaluated(share(5, 9)), evaluated(share(5, 9), 20)), {"names": ["a"]}, ("E-shape-mismatch", "1", "2")),
    (lambda: (evaluated(share(5, 9)), sy.plan(evaluated(share(5, 9)), width=0.1)), {}, ("E-invalid-result", "new", "plan")),
    (lambda: (evaluated(share(5, 9)), sy.evaluate("weights", *errors([1.0, 2.0], 0), "mae")), {},
     ("E-incompatible", "new", "'weights'", "'labels'")),
    (lambda: (evaluated(share(5, 9)), sy.evaluate("labels", *labels(share(5, 9), 20), "accuracy", confidence=None)), {},
     ("E-missing-data", "new")),
    (lambda: (sy.evaluate("labels", *labels(share(5, 9)), "accuracy", sequence="exact"), evaluated(share(5, 9), 20)), {},
     ("E-unsupported", "old")),
    (lambda: (evaluated(share(5, 9), by=["site"], site=list("aaaabbbbb")),
              sy.evaluate("labels", *labels(share(5, 9), 20, site=list("aaaabbbbb")), "accuracy", by=["site"],
                          cluster="site", save_influences=True)), {"by": "site"}, ("E-unsupported", "new")),
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
