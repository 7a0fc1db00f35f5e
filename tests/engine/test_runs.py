"""Several runs over the same units: the variance of runs and units, against hand calculations and published figures."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.paths import TESTS

import steelyard as sy
from steelyard.core.request import RunDesign
from steelyard.engine.runs import crossed_variance

stats = lazy("scipy.stats")

GOLDEN = json.loads((TESTS / "goldens" / "statistics2.json").read_text(encoding="utf-8"))["crossed"]
READINGS = np.array(GOLDEN["scores"])
CASES = {"id": np.arange(30), "label": np.array(GOLDEN["truth"])}


def readings(scores: Any) -> list[dict[str, Any]]:
    """The predictions of each reader."""
    return [{"id": np.arange(len(row)), "score": np.asarray(row)} for row in scores]


def auc(score: Any, truth: Any) -> float:
    positive, negative = score[truth == 1][:, None], score[truth == 0]
    return float(((positive > negative) + 0.5 * (positive == negative)).mean())


def jackknifed(score: Any, truth: Any) -> Any:
    """Influences of units on the AUC, by leaving each out."""
    n = len(score)
    left = np.array([auc(np.delete(score, k), np.delete(truth, k)) for k in range(n)])
    return (n - 1) * (left.mean() - left)


def test_readers_of_both_models_as_the_golden_values() -> None:
    golden = GOLDEN["same_readers"]
    d = sy.compare("labels", CASES, *map(readings, READINGS), ["roc_auc"], runs="readers", pair_runs=True)["roc_auc"]
    assert d.difference == pytest.approx(golden["difference"], rel=1e-12)
    assert d.runs is not None
    assert d.runs.v_items == pytest.approx(golden["V_items"], rel=1e-9)
    assert d.runs.v_runs == pytest.approx(golden["V_runs"], rel=1e-9)
    assert d.runs.v_both == pytest.approx(golden["V_both"], rel=1e-9)
    assert (d.runs.n_runs, d.runs.n_units, d.runs.factor) == (4, 30, "readers")
    assert d.runs.values == pytest.approx(np.subtract(GOLDEN["auc"][1], GOLDEN["auc"][0]))
    assert d.se == pytest.approx(golden["se"], rel=1e-9)
    assert d.df == pytest.approx(golden["df_hillis"], rel=1e-9)
    assert d.p == pytest.approx(golden["p"], rel=1e-9)
    reach = stats.t.ppf(0.975, golden["df_hillis"]) * golden["se"]
    assert d.interval == pytest.approx((golden["difference"] - reach, golden["difference"] + reach))
    assert d.p_method == "t"
    assert d.adjust == "holm"


def test_seeds_of_each_model_as_the_golden_values() -> None:
    golden = GOLDEN["own_seeds"]
    d = sy.compare("labels", CASES, *map(readings, READINGS), ["roc_auc"], runs="seeds")["roc_auc"]
    assert d.runs is not None
    assert d.runs.values == ()
    assert d.runs.v_items == pytest.approx(golden["V_items"], rel=1e-9)
    assert d.runs.v_runs == pytest.approx(golden["V_runs"], rel=1e-9)
    assert d.se == pytest.approx(golden["se"], rel=1e-9)
    assert d.df == pytest.approx(golden["df"], rel=1e-9)
    assert d.p == pytest.approx(golden["p"], rel=1e-9)
    assert d.a.runs is not None
    assert d.a.runs.values == pytest.approx(GOLDEN["auc"][0])


def test_obuchowski_and_rockette_with_hillis_written_out() -> None:
    """2/r [MS(TR) + r max(Cov2 - Cov3, 0)], from their covariances and mean squares, with other readings."""
    rng = np.random.default_rng(5)
    r, n = 5, 40
    truth = (np.arange(n) < 15).astype(int)
    scores = rng.normal(0, 1, n) + truth + rng.normal(0, 0.8, (2, r, n)).round(1)
    area = np.array([[auc(s, truth) for s in model] for model in scores])
    psi = np.array([[jackknifed(s, truth) for s in model] for model in scores])
    cov = np.einsum("ijn,kln->ijkl", psi, psi) / (n * (n - 1))
    pairs = [(j, k) for j, k in itertools.permutations(range(r), 2)]
    cov2 = np.mean([cov[i, j, i, k] for i in range(2) for j, k in pairs])
    cov3 = np.mean([cov[i, j, 1 - i, k] for i in range(2) for j, k in pairs])
    residual = area - area.mean(0) - area.mean(1, keepdims=True) + area.mean()
    ms = (residual**2).sum() / (r - 1)
    variance = 2 / r * (ms + r * max(cov2 - cov3, 0))
    df = (ms + r * max(cov2 - cov3, 0)) ** 2 / (ms**2 / (r - 1))
    data = {"id": np.arange(n), "label": truth}
    d = sy.compare("labels", data, *map(readings, scores), ["roc_auc"], runs="readers", like="or-dbm")["roc_auc"]
    assert d.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert d.df == pytest.approx(df, rel=1e-9)
    assert d.p == pytest.approx(2 * stats.t.sf(abs(d.difference) / math.sqrt(variance), df), rel=1e-9)
    fixed = {
        name: sy.compare(
            "labels", data, *map(readings, scores), ["roc_auc"], runs="readers", pair_runs=True, fixed=name
        )["roc_auc"]
        for name in ("runs", "items")
    }
    each = np.diff(psi, axis=0)[0].mean(0)
    assert fixed["runs"].se == pytest.approx(math.sqrt((each**2).sum() / (n * (n - 1))), rel=1e-9)
    assert fixed["runs"].df == n - 1
    assert fixed["items"].se == pytest.approx(np.diff(area, axis=0)[0].std(ddof=1) / math.sqrt(r), rel=1e-9)
    assert fixed["items"].df == pytest.approx(r - 1)


def test_delong_covariances_of_readers() -> None:
    """S10 / m + S01 / k of DeLong, DeLong and Clarke-Pearson (1988), written out."""
    rng = np.random.default_rng(6)
    r, n = 4, 40
    truth = (np.arange(n) % 3 == 0).astype(int)
    scores = rng.normal(0, 1, n) + truth + rng.normal(0, 0.8, (2, r, n)).round(1)
    v10, v01 = [], []
    for s in scores.reshape(-1, n):
        positive, negative = s[truth == 1][:, None], s[truth == 0]
        above = (positive > negative) + 0.5 * (positive == negative)
        v10.append(above.mean(1))
        v01.append(above.mean(0))
    cov = (np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])).reshape(2, r, 2, r)
    area = np.array([v.mean() for v in v10]).reshape(2, r)
    difference = area[1] - area[0]
    sigma = cov[1, :, 1] + cov[0, :, 0] - cov[0, :, 1] - cov[1, :, 0]
    own, both = np.trace(sigma) / r, (sigma.sum() - np.trace(sigma)) / (r * (r - 1))
    v_runs, v_items = difference.var(ddof=1) / r, sigma.sum() / r**2
    variance = v_runs + max(v_items - (own - both) / r, 0)
    data = {"id": np.arange(n), "label": truth}
    d = sy.compare("labels", data, *map(readings, scores), ["roc_auc"], runs="readers", like="mrmcaov-delong")[
        "roc_auc"
    ]
    assert d.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert d.df == pytest.approx(variance**2 / (v_runs**2 / (r - 1)), rel=1e-9)


def test_one_model_of_seeds_written_out() -> None:
    """Accuracy of three seeds: influences of a mean are the deviations from it."""
    right = np.array([[1, 1, 0, 1, 1, 0, 1, 1], [1, 0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]], dtype=float)
    r, n = right.shape
    truth = {"id": np.arange(n), "label": np.ones(n, int)}
    runs = {f"seed {k}": {"id": np.arange(n), "label": row.astype(int)} for k, row in enumerate(right)}
    report = sy.evaluate("labels", truth, runs, ["accuracy"], runs="seeds")
    score = report["accuracy"]
    psi = right - right.mean(1, keepdims=True)
    sigma = psi @ psi.T / (n * (n - 1))
    both = (sigma.sum() - np.trace(sigma)) / (r * (r - 1))
    v_runs, items = right.mean(1).var(ddof=1) / r, sigma.sum() / r**2 - (np.trace(sigma) / r - both) / r
    variance = v_runs + items
    df = variance**2 / (v_runs**2 / (r - 1) + items**2 / (n - 1))
    reach = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert score.value == pytest.approx(right.mean())
    assert score.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert score.df == pytest.approx(df, rel=1e-9)
    assert score.interval == pytest.approx((right.mean() - reach, min(right.mean() + reach, 1.0)))
    assert score.runs is not None
    assert score.runs.share_runs == pytest.approx(v_runs / variance)
    assert score.runs.share_items == pytest.approx(items / variance)
    assert [run.name for run in report.sources.runs] == ["seed 0", "seed 1", "seed 2"]
    assert sy.load(report.to_dict()) == report


def test_groups_of_runs_add_up() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 12)), rng.normal(size=(5, 12))
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    alone = [crossed_variance([(rng.normal(size=len(psi)), psi)]) for psi in (a, b)]
    both = crossed_variance([(np.array([1.0, 2.0, 4.0]), a), (np.array([1.0, 1.0, 1.0, 1.0, 2.0]), b)])
    assert both.v_both == pytest.approx(alone[0].v_both + alone[1].v_both)
    assert both.v_runs == pytest.approx(np.var([1, 2, 4], ddof=1) / 3 + np.var([1, 1, 1, 1, 2], ddof=1) / 5)
    assert both.runs == 3
    assert (
        crossed_variance([(np.array([1.0, 1.0]), a[:2])]).estimate_variance(RunDesign("seeds", df="hillis"))[1]
        == math.inf
    )


LABELS = {"id": [1, 2, 3, 4, 5, 6, 7, 8], "label": [1, 0, 1, 0, 1, 0, 1, 0]}


def run(wrong: Any = (), ids: Any = None) -> dict[str, Any]:
    """Predictions that are wrong on some rows."""
    labels = [1 - true if i in wrong else true for i, true in zip(LABELS["id"], LABELS["label"], strict=True)]
    kept = LABELS["id"] if ids is None else ids
    return {"id": list(kept), "label": [labels[i - 1] for i in kept]}


A = [run([1, 2]), run([1, 3]), run([4])]
B = [run([1]), run([2]), run([])]


def test_seeds_in_another_order_are_the_same_without_pairs() -> None:
    first = sy.compare("labels", LABELS, A, B, ["accuracy"], runs="seeds")["accuracy"]
    second = sy.compare("labels", LABELS, A[::-1], [B[1], B[2], B[0]], ["accuracy"], runs="seeds")["accuracy"]
    assert (second.difference, second.p) == pytest.approx((first.difference, first.p))
    paired = [
        sy.compare("labels", LABELS, A, b, ["accuracy"], runs="seeds", pair_runs=True)["accuracy"].p
        for b in (B, [B[1], B[2], B[0]])
    ]
    assert paired[0] != pytest.approx(paired[1])


def test_a_and_b_turned_round() -> None:
    d = sy.compare("labels", LABELS, A, B, ["accuracy"], runs="seeds")["accuracy"]
    back = sy.compare("labels", LABELS, B, A, ["accuracy"], runs="seeds")["accuracy"]
    assert back.p == pytest.approx(d.p)
    assert back.interval is not None
    assert d.interval is not None
    assert back.interval == pytest.approx((-d.interval[1], -d.interval[0]))


def test_two_runs_show_only_their_spread() -> None:
    score = sy.evaluate("labels", LABELS, A[:2], ["accuracy"], runs="seeds")["accuracy"]
    assert score.value == 0.75
    assert score.interval is None
    assert "2 seeds show only the spread between them" in score.why_no_interval
    assert score.runs is not None
    assert score.runs.values == (0.75, 0.75)
    d = sy.compare("labels", LABELS, A[:2], B, ["accuracy"], runs="seeds")["accuracy"]
    assert d.verdict == "too few runs"
    assert math.isnan(d.p)
    fixed = sy.compare("labels", LABELS, A[:2], B[:2], ["accuracy"], runs="seeds", fixed="runs")["accuracy"]
    assert fixed.interval is not None


def test_few_runs_are_noted_and_many_are_not() -> None:
    assert any("3 seeds" in note and "87.5 %" in note for note in sy.evaluate("labels", LABELS, A, runs="seeds").notes)
    many = sy.evaluate("labels", LABELS, [*A, *B], runs="seeds").notes
    assert not any("87.5" in note for note in many)


def test_runs_that_are_all_right_rest_on_the_units() -> None:
    """All runs 8 of 8: the exact interval of one run, 1 - (1 - c)^(1/n) apart from 1."""
    score = sy.evaluate("labels", LABELS, [run()] * 3, ["accuracy"], runs="seeds")["accuracy"]
    assert score.interval == pytest.approx((0.025 ** (1 / 8), 1.0))
    d = sy.compare("labels", LABELS, [run()] * 3, [run()] * 3, ["accuracy"], runs="seeds")["accuracy"]
    assert d.difference == 0
    assert d.verdict == "no difference shown"
    assert d.interval is not None
    assert d.interval[0] < 0 < d.interval[1]


def test_annotators_are_truths() -> None:
    """Each annotator is a truth of the same predictions, and a comparison is paired by annotator."""
    truths = {"ann": LABELS, "bob": run([5]), "eve": run([6])}
    report = sy.evaluate("labels", truths, run([1]), ["accuracy"], runs="annotators")
    runs = report["accuracy"].runs
    assert runs is not None
    assert runs.values == (7 / 8, 6 / 8, 6 / 8)
    assert [one.name for one in report.sources.runs] == ["ann", "bob", "eve"]
    d = sy.compare("labels", truths, run([1]), run(), ["accuracy"], runs="annotators")["accuracy"]
    assert d.runs is not None
    assert d.runs.values == (1 / 8, 1 / 8, 1 / 8)


def test_slices_and_clusters_of_runs() -> None:
    truth = {**LABELS, "site": list("aaaabbbb"), "person": list("ppqqrrss")}
    report = sy.evaluate("labels", truth, A, ["accuracy"], runs="seeds", by=["site"], cluster="person")
    runs = report.slices["site"]["a"]["accuracy"].runs
    assert runs is not None
    assert runs.values == (0.5, 0.5, 0.75)
    assert runs.n_units == 2
    assert report["accuracy"].clusters == 4
    compared = sy.compare("labels", truth, A, B, ["accuracy", "kappa"], runs="seeds", by=["site"])
    part = compared.slices["site"]
    assert part["a"]["accuracy"].family == 2
    assert part["a"]["accuracy"].p_adjusted == pytest.approx(
        min(1, max(2 * min(part[s]["accuracy"].p for s in "ab"), part["a"]["accuracy"].p))
        if part["a"]["accuracy"].p >= part["b"]["accuracy"].p
        else min(1, 2 * part["a"]["accuracy"].p)
    )


def test_distances_of_a_bias_and_margins() -> None:
    """|b| - |a| = 0 where b = a or b = -a: biases of +5 and -5 are equal."""
    rng = np.random.default_rng(2)
    n = 60
    truth = {"dish": np.arange(n), "weight": np.full(n, 200.0)}
    sides = [
        [{"dish": np.arange(n), "weight": 200 + mean + rng.normal(0, 5, n) + rng.normal(0, 0.5)} for _ in range(4)]
        for mean in (5, -5)
    ]
    d = sy.compare("weights", truth, *sides, ["bias", "mae"], runs="seeds", margin={"mae": "50%"})
    assert d["bias"].p > 0.1
    assert d["bias"].interval is not None
    assert d["bias"].interval[0] < 0 < d["bias"].interval[1]
    assert d["mae"].margin_verdict == "equivalent"


def test_ranked_metrics_are_held_against_the_draws() -> None:
    """The mean of R equal runs has the items' variance of one, capped as in `compare`."""
    rng = np.random.default_rng(3)
    n = 50
    truth = {"id": np.arange(n), "label": rng.integers(0, 2, n)}
    scores = [{"id": np.arange(n), "score": truth["label"] + rng.normal(0, 1, n)} for _ in range(2)]
    alone = sy.compare("labels", truth, *scores, ["ap"])["ap"]
    several = sy.compare("labels", truth, *([one] * 3 for one in scores), ["ap"], runs="seeds", fixed="runs")["ap"]
    assert several.se == pytest.approx(alone.se, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "runs_a", "runs_b", "said"),
    [
        ({}, A, [B[0], run(ids=[1, 2, 3, 4, 5])], "seed 2 of B: 3 of 8 rows of the truth have no prediction"),
        (
            {"missing": "skip"},
            A,
            [*B, run(ids=[1, 2, 3, 4, 5])],
            r"run 'B: seed 4' lacks 3 rows of run 'A: seed 1'.*'6'",
        ),
        ({"pair_runs": True}, A, [*B, *B], "runs cannot be paired: A has 3 seeds and B has 6"),
        ({}, A, B[:1], "needs at least 2 seeds, and there is 1"),
        ({}, "a.csv", B, "needs predictions of several seeds"),
        ({"fixed": "none"}, A, B, "fixed='none' is not a valid choice"),
        ({"like": "or-dbm"}, A, B, "like='or-dbm' sets the covariance"),
        ({"cov": "delong"}, A, B, "'accuracy' is not"),
        ({"sequence": "exact"}, A, B, "cannot be combined with `sequence`"),
    ],
)
def test_what_cannot_be_compared(settings: Any, runs_a: Any, runs_b: Any, said: str) -> None:
    with pytest.raises(sy.InputError, match=said):
        sy.compare("labels", LABELS, runs_a, runs_b, ["accuracy"], **{"runs": "seeds", **settings})


def test_what_cannot_be_evaluated() -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("runs='weeks' is not a valid choice", {"runs": "weeks"}),
        ("`fixed` is only for several runs", {"fixed": "runs"}),
        ("cannot be combined with `save_draws`", {"runs": "seeds", "save_draws": True}),
        ("`proxy` cannot be combined with `runs`", {"runs": "seeds", "proxy": LABELS}),
        ("like='x' is not a known preset", {"runs": "readers", "like": "x"}),
    ]
    for said, settings in refused:
        with pytest.raises(sy.InputError, match=said):
            sy.evaluate("labels", LABELS, A, ["accuracy"], **settings)
    with pytest.raises(sy.InputError, match="needs one truth for all runs"):
        sy.evaluate("labels", A, LABELS, ["accuracy"], runs="annotators", cov="delong")
    with pytest.raises(sy.InputError, match="run 'seed 3' lacks 2 rows of run 'seed 1': '7', '8'"):
        sy.evaluate("labels", LABELS, [A[0], A[1], run(ids=[1, 2, 3, 4, 5, 6])], runs="seeds", missing="skip")


def test_missing_readings_are_refused() -> None:
    for missing in ("worst", "skip"):
        with pytest.raises(sy.InputError, match="reader 3' lacks a reading of 2 rows"):
            sy.evaluate("labels", LABELS, [A[0], A[1], run(ids=[1, 2, 3, 4, 5, 6])], runs="readers", missing=missing)


def test_every_form_shows_the_runs() -> None:
    compared = sy.compare("labels", LABELS, A, B, ["accuracy"], runs="seeds")
    report = sy.evaluate("labels", LABELS, A, ["accuracy", "kappa"], runs="seeds")
    for result in (compared, report):
        for text in (result.to_text(), result.to_markdown(), result.to_html()):
            assert "variance from seeds" in text
            assert "seed 3" in text
        assert sy.load(result.to_dict()) == result
        assert result.to_csv()
        assert result.to_latex()
    text = " ".join(compared.to_text().split())
    assert "paired, 3 seeds each" in text
    assert "p: Student's t over seeds and units, corrected for 1 test (Holm)." in text
    assert "Null hypothesis: both models have the same mean accuracy in the populations of seeds and units." in text
    assert "labels: 8 units, 3 seeds" in report.to_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of a truth and of three seeds of two models."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, data: Any) -> None:
        rows = zip(data["id"], data["label"], strict=True)
        text = "id,label\n" + "".join(f"{i},{label}\n" for i, label in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")

    write("truth.csv", LABELS)
    for letter, runs in (("a", A), ("b", B)):
        for k, one in enumerate(runs):
            write(f"{letter}{k + 1}.csv", one)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_command_line_takes_runs(steelyard: Any) -> None:
    seeds = ("a1.csv", "a2.csv", "a3.csv")
    done = steelyard("evaluate", "labels", "truth.csv", *seeds, "--runs", "seeds", "-m", "accuracy", "--json")
    assert done.returncode == 0, done.stderr
    assert sy.load(json.loads(done.stdout)) == sy.evaluate(
        "labels", "truth.csv", list(seeds), ["accuracy"], runs="seeds"
    )
    others = ("b1.csv", "b2.csv", "b3.csv")
    for more in ((), ("--pair-runs",), ("--fixed", "items")):
        words = ("--runs", "seeds", "-m", "accuracy", "--json", *more)
        done = steelyard("compare", "labels", "truth.csv", *seeds, "--against", *others, *words)
        assert done.returncode == 0, done.stderr
        settings: Any = {"pair_runs": "--pair-runs" in more, "fixed": "items" if "--fixed" in more else None}
        wanted = sy.compare("labels", "truth.csv", list(seeds), list(others), ["accuracy"], runs="seeds", **settings)
        assert sy.load(json.loads(done.stdout)) == wanted
    done = steelyard("compare", "labels", "truth.csv", "a?.csv", "--against", "b?.csv", "--runs", "seeds", "--json")
    assert [one["name"] for one in json.loads(done.stdout)["body"]["b"]["sources"]["runs"]] == ["b1", "b2", "b3"]
    done = steelyard("evaluate", "labels", "truth.csv", "b1.csv", "b2.csv", "a1.csv", "--runs", "annotators", "--json")
    assert [one["name"] for one in json.loads(done.stdout)["body"]["sources"]["runs"]] == ["truth", "b1", "b2"]
    words = ("--against", "a2.csv", "--runs", "annotators", "--json")
    done = steelyard("compare", "labels", "truth.csv", "b1.csv", "b2.csv", "a1.csv", *words)
    assert json.loads(done.stdout)["body"]["differences"]["accuracy"]["runs"]["n_runs"] == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "labels", "truth.csv", "a1.csv", "a2.csv"), "say with --runs what they are"),
        (("evaluate", "labels", "truth.csv", "--runs", "seeds"), "needs the files of several runs"),
        (("evaluate", "labels", "truth.csv", "a1.csv", "--runs", "seeds"), "needs at least 2 seeds, and there is 1"),
        (("evaluate", "labels", "truth.csv", "a1.csv", "a2.csv", "--runs", "seeds", "--units", "u.csv"), "--units"),
        (("evaluate", "labels", "truth.csv", "a1.csv", "--fixed", "runs"), "--fixed is only for several runs"),
        (("compare", "labels", "truth.csv", "a1.csv", "a2.csv", "--runs", "seeds"), "behind --against"),
        (("compare", "labels", "truth.csv", "a1.csv", "--against", "b1.csv"), "Missing argument 'B...'"),
        (("compare", "labels", "truth.csv", "a1.csv", "a2.csv", "--against", "b1.csv"), "are for several runs"),
        (("compare", "labels", "truth.csv", "a1.csv", "--runs", "seeds", "--against"), "requires an argument"),
        (
            ("compare", "labels", "truth.csv", "a?.csv", "--runs", "seeds", "--against", "b?.csv", "--proxy", "b1.csv"),
            "--proxy cannot be combined with --runs",
        ),
        (
            ("compare", "labels", "truth.csv", "b1.csv", "a1.csv", "--against", "a2.csv", "a3.csv", "--runs", "annotators"),
            "compares two predictions",
        ),
    ],
)  # fmt: skip
def test_what_the_command_line_refuses(words: tuple[str, ...], said: str, steelyard: Any) -> None:
    done = steelyard(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


SAMPLES = Path(sy.__file__).parent / "samples"


@pytest.mark.parametrize("task", ["weights", "boxes", "segmentation", "rankings", "captions", "tracking", "ellipses"])
def test_runs_of_every_kind_of_task(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of two runs is that of their scores, and has no interval, whatever they show."""
    monkeypatch.chdir(SAMPLES / task)
    (truth,), (first,), (second,) = (sorted(Path().glob(f"{name}*"))[:1] for name in ("truth", "model_a", "model_b"))
    settings: Any = json.loads(Path("sample.json").read_text(encoding="utf-8"))
    settings.pop("by", None)
    alone = [sy.evaluate(task, truth, one, confidence=None, **settings) for one in (first, second)]
    both = sy.evaluate(task, truth, [first, second], runs="seeds", **settings)
    assert list(both.scores) == list(alone[0].scores)
    for spec, score in both.scores.items():
        values = [one[spec].value for one in alone]
        assert score.value == pytest.approx(sum(values) / 2, nan_ok=True), spec
        assert score.runs is None or score.runs.values == pytest.approx(values)
        assert score.interval is None


def test_finished_results_of_runs_are_compared(folder: Path, steelyard: Any) -> None:
    for letter in "ab":
        report = sy.evaluate("labels", "truth.csv", [f"{letter}{k}.csv" for k in (1, 2, 3)], ["accuracy"], runs="seeds")
        report.to_json(folder / f"{letter}.json")
    done = steelyard("compare", "a.json", "b.json")
    assert done.returncode == 0, done.stderr
    assert "as if independent" in done.stdout
    assert "paired only where the files of all runs are compared" in " ".join(done.stdout.split())
    assert "Null hypothesis" not in done.stdout
    assert "variance from" not in done.stdout


def test_equal_runs_on_fixed_units_have_no_interval() -> None:
    """The mean of three times 0.7 is rounded: the difference must not count as spread and give an interval."""
    ids = np.arange(10)
    truth, run = {"id": ids, "label": np.ones(10, int)}, {"id": ids, "label": (ids < 7).astype(int)}
    score = sy.evaluate("labels", truth, [run] * 3, ["accuracy"], runs="seeds", fixed="items")["accuracy"]
    assert score.value == pytest.approx(0.7)
    assert score.interval is None
    assert "3 seeds" in score.why_no_interval
