"""Verification, rows out of distribution and rejection: goldens of the references, and numbers by hand.

tests/goldens/verification.json was made by the references themselves; `versions` there says which.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.tasks.shared.rates import FIGURES

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))
TruthAndScores = tuple[dict[str, Any], dict[str, Any]]


def near(value: float | None) -> Any:
    return pytest.approx(float("nan") if value is None else value, rel=1e-12, abs=1e-12, nan_ok=True)


def scores(sides: TruthAndScores, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("labels", *sides, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def pairs_of(golden: dict[str, Any]) -> TruthAndScores:
    genuine, impostor = golden["genuine"], golden["impostor"]
    return {"label": [1] * len(genuine) + [0] * len(impostor)}, {"score": genuine + impostor}


@pytest.mark.parametrize("name", GOLDENS["verification"])
def test_verification_as_its_references(name: str) -> None:
    golden = GOLDENS["verification"][name]
    sides, expected, bob, pyeer = pairs_of(golden), golden["sklearn"], golden["bob"], golden["pyeer"]
    assert scores(sides, "eer", "eer(rule=mean)", "roc_auc") == [
        near(expected["eer"]["crossing"]),
        near(expected["eer"]["nearest_threshold_mean"]),
        near(expected["auroc"]),
    ]
    if "eer" in bob:
        assert scores(sides, "eer(rule=mean)") == [near(bob["eer"]["value"])]
    for far, values in expected["tar_at_far"].items():
        rules = {"at_most": "at_most", "nearest": "nearest_ijb", "interpolated": "interpolated"}
        for rule, key in rules.items():
            specs = f"tar@{far}(rule={rule})", f"frr@{far}(rule={rule})"
            assert scores(sides, *specs) == [near(values[key]), near(1 - values[key])], (far, rule)
        assert scores(sides, f"tpr_at_fpr@{far}") == [near(values["at_most"])]
        if "far_threshold" in bob:
            assert scores(sides, f"tar@{far}(rule=impostor)") == [near(bob["far_threshold"][far]["tar"])]
    for costs in expected["min_dcf"].values():
        settings = f"p={costs['p_target']}, c_miss={costs['c_miss']}, c_fa={costs['c_fa']}"
        both = scores(sides, f"min_dcf({settings})", f"min_dcf({settings}, normalise=no)")
        assert both == [near(costs["normalised"]), near(costs["raw"])]
    if name not in ("all_equal", "one_each"):  # pyeer has no point above all scores, and no spread is 1 to it
        assert scores(sides, "eer(rule=pyeer)") == [near(pyeer["eer"])]
        assert abs(scores(sides, "dprime")[0]) == near(pyeer["decidability"])


# Without a metric of ours, so not compared: pyeer's eer_low, eer_high and eer_th (bounds and place of its EER), j_index
# and mccoef; of scikit-learn the number of points of det_curve and TAR read after points were dropped; figures of bob's
# thresholds are compared, the thresholds themselves being no metric.
@pytest.mark.parametrize("name", ["drawn", "no_ties", "separated", "reversed", "tie_at_limit"])
def test_errors_at_limits_as_pyeer(name: str) -> None:  # not of equal scores: pyeer has no point above all scores
    golden = GOLDENS["verification"][name]
    sides, pyeer = pairs_of(golden), golden["pyeer"]
    limits = {"fmr1000": 0.001, "fmr100": 0.01, "fmr20": 0.05, "fmr10": 0.1}
    if name == "no_ties":  # FAR 1/150 and 2/150 are equally near to 0.01: rounding decides in pyeer
        del limits["fmr100"]
    specs = [f"frr@{limit}(rule=nearest)" for limit in limits.values()]
    assert scores(sides, *specs) == [near(pyeer[key]) for key in limits]
    lowest = 0.5 / len(golden["impostor"])
    assert scores(sides, f"frr@{lowest}", "fpr@100(positive=1)", "roc_auc") == [
        near(pyeer[key]) for key in ("fmr0", "fnmr0", "auc")
    ]


@pytest.mark.parametrize("name", GOLDENS["verification"])
def test_rates_at_the_thresholds_of_bob(name: str) -> None:
    golden = GOLDENS["verification"][name]
    sides, bob = pairs_of(golden), golden["bob"]
    points = [(bob["eer"]["threshold"], bob["eer"]["far"], bob["eer"]["frr"])]
    points += [(at["threshold"], at["far"], 1 - at["tar"]) for at in bob.get("far_threshold", {}).values()]
    for threshold, far, frr in points:
        specs = f"far_at_threshold@{threshold!r}", f"frr_at_threshold@{threshold!r}"
        assert scores(sides, *specs) == [near(far), near(frr)]
    if "min_weighted_0.99" in bob and name != "all_equal":  # bob has no threshold above all scores
        assert scores(sides, "min_dcf(p=0.01, normalise=no)") == [near(bob["min_weighted_0.99"])]


def few_shot(*columns: Any) -> TruthAndScores:
    episode, kind, right, weight = (list(column) for column in zip(*columns, strict=True))
    truth = {"label": [1] * len(right), "episode": episode, "class": kind, "weight": weight}
    return truth, {"label": right}


def test_the_standard_error_over_episodes_is_that_of_their_mean() -> None:
    golden = GOLDENS["few_shot"]  # an episode as two rows: the right share and the rest
    rows = [
        (f"e{k}", "c", right, share)
        for k, accuracy in enumerate(golden["episode_accuracy"])
        for right, share in ((1, accuracy), (0, 1 - accuracy))
    ]
    score = sy.evaluate("labels", *few_shot(*rows), "accuracy", cluster="episode")["accuracy"]
    assert score.value == near(golden["mean"])
    assert score.se == pytest.approx(golden["half_width"]["1.96_std_ddof1"] / 1.96, rel=1e-9)
    low, high = score.interval
    assert low < golden["mean"] < high


def test_clusters_say_whether_episodes_or_classes_are_new() -> None:
    rng = np.random.default_rng(5)
    skill, right = rng.uniform(0.3, 0.9, 8), np.zeros((50, 8))
    right[:] = rng.random((50, 8)) < skill
    rows = [(f"e{i}", f"c{j}", int(right[i, j]), 1) for i in range(50) for j in range(8)]
    for cluster, axis in (("episode", 1), ("class", 0)):
        means = right.mean(axis=axis)
        score = sy.evaluate("labels", *few_shot(*rows), "accuracy", cluster=cluster)["accuracy"]
        assert score.value == near(right.mean())
        assert score.se == pytest.approx(means.std(ddof=1) / np.sqrt(len(means)), rel=1e-9)


def test_rates_at_a_fixed_threshold_and_best_accuracy_by_hand() -> None:
    sides = {"label": [1, 1, 1, 0, 0, 0, 0]}, {"score": [0.9, 0.6, 0.4, 0.7, 0.6, 0.2, 0.1]}
    assert scores(
        sides,
        "frr_at_threshold@0.6",
        "far_at_threshold@0.6",
        "frr_at_threshold@0.61",
        "far_at_threshold@2",
        "best_accuracy",
    ) == [near(1 / 3), near(2 / 4), near(2 / 3), 0.0, near(5 / 7)]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("levels", [3, 40, 10**6])
def test_rates_without_owners_are_those_of_owners_that_weigh_one(share: float, levels: int) -> None:
    rng = np.random.default_rng(levels)
    none, parameters = np.zeros(0, np.int64), np.array([0.1, 0.0, 1.0, 1.0])
    for rows in (1, 7, 8, 9, 1003):
        score = np.sort(rng.integers(0, levels, rows) / levels)[::-1].copy()
        kind = (rng.random(rows) < share).astype(np.uint8) + 2 * rng.integers(0, 2, rows).astype(np.uint8)
        last = np.append(score[1:] != score[:-1], True).astype(np.uint8)
        for code in FIGURES.values():
            read = kind, last, np.zeros(0), score, code, parameters
            alone = _native.rates(np.ones((1, 1)), none, none, *read)
            owned = _native.rates(np.ones((1, rows)), np.arange(rows), none, *read)
            np.testing.assert_array_equal(alone, owned, err_msg=f"{rows} rows, figure {code}")


def test_one_kind_alone_has_no_rate() -> None:
    for label in (0, 1):
        values = scores(({"label": [label] * 3}, {"score": [0.1, 0.2, 0.3]}), "tar@0.1", "eer", "min_dcf", "dprime")
        assert np.isnan(values).all()
    assert scores(({"label": [1, 1]}, {"score": [0.1, 0.7]}), "frr_at_threshold@0.5") == [0.5]


def test_notes_say_how_few_errors_decide_and_doubt_distances() -> None:
    truth = {"label": [1] * 10 + [0] * 100}
    similar = {"score": np.concatenate([np.linspace(0.5, 1, 10), np.linspace(0, 0.6, 100)])}
    report = sy.evaluate("labels", truth, similar, ["tar@0.001", "tar@0.1", "eer"], confidence=None)
    assert any("FAR 0" in note for note in report["tar@0.001"].notes)
    assert any("10 false accepts" in note for note in report["tar@0.1"].notes)
    assert not any("distances" in note for note in report["eer"].notes)
    distances = {"score": -similar["score"]}
    report = sy.evaluate("labels", truth, distances, ["tar@0.1", "eer"], confidence=None)
    assert all(any("distances" in note for note in report[name].notes) for name in ("tar@0.1", "eer"))


def ood_of(golden: dict[str, Any]) -> TruthAndScores:
    labels = ["unknown" if label == -1 else str(label) for label in golden["label"]]
    return {"label": labels}, {"score": golden["confidence"], "label": [str(label) for label in golden["predicted"]]}


@pytest.mark.parametrize("name", GOLDENS["ood"])
def test_out_of_distribution_as_its_references(name: str) -> None:
    golden, options = GOLDENS["ood"][name], {"ood": "unknown", "higher": "id"}
    sides = ood_of(golden)
    for positive, expected in golden["sklearn"].items():
        rules = ("first", "thinned", "interpolated")
        specs = [f"fpr@95(positive={positive}, rule={rule})" for rule in rules]
        specs += [f"aupr(positive={positive}, rule={rule})" for rule in ("step", "trapezoid")]
        keys = "fpr95_all_points", "fpr95_drop_intermediate", "fpr95_interpolated", "ap", "aupr_trapezoid"
        assert scores(sides, *specs, options=options) == [near(expected[key]) for key in keys]
    openood, other = golden["openood"], golden["pytorch_ood"]
    specs = ["roc_auc", "id_accuracy", "ccr@0.1", "ccr@0.2"]
    assert scores(sides, *specs, options=options) == [
        near(golden["auroc"]),
        near(openood["accuracy"]),
        *(near(openood["ccr_at_fpr"][far]) for far in ("0.1", "0.2")),
    ]
    thinned = [f"fpr@95(positive={positive}, rule=thinned)" for positive in ("ood", "id")]
    areas = [f"aupr(positive={positive}, rule=trapezoid)" for positive in ("id", "ood")]
    assert scores(sides, *thinned, *areas, options=options) == [
        near(openood[key]) for key in ("fpr95_ood_positive", "fpr95_id_positive", "aupr_in", "aupr_out")
    ]
    specs = ["fpr@95(positive=ood)", *areas]
    assert scores(sides, *specs, options=options) == [near(other[key]) for key in ("fpr95", "aupr_in", "aupr_out")]
    turned = sides[0], sides[1] | {"score": [-value for value in sides[1]["score"]]}
    flags = sides[0] | {"ood": [int(label == "unknown") for label in sides[0]["label"]]}
    assert scores(turned, *specs, options={"ood": "unknown", "higher": "ood"}) == scores(sides, *specs, options=options)
    assert scores((flags, sides[1]), *specs, options={"higher": "id"}) == scores(sides, *specs, options=options)


def test_open_set_area_by_hand() -> None:
    # By falling confidence: right, OOD, wrong, right, OOD. CCR is 1/3 up to FPR 1/2 and 2/3 after it.
    truth = {"label": ["a", "x", "a", "b", "x"]}
    predictions = {"label": ["a", "b", "b", "b", "a"], "score": [5, 4, 3, 2, 1]}
    assert scores((truth, predictions), "oscr", options={"ood": "x", "higher": "id"}) == [near(1 / 6 + 2 / 6)]


def rejected(golden: dict[str, Any]) -> TruthAndScores:
    wrong = golden["wrong"]
    return {"label": [0] * len(wrong)}, {"label": wrong, "confidence": golden["confidence"]}


@pytest.mark.parametrize("name", GOLDENS["selective"])
def test_rejection_as_its_references(name: str) -> None:
    golden = GOLDENS["selective"][name]
    specs = ["aurc", "e_aurc", "e_aurc(oracle=closed)", "augrc"]
    assert scores(rejected(golden), *specs) == [
        near(golden["mean_of_risks_expected_over_ties"]),
        near(golden["e_aurc_discrete"]),
        near(golden["e_aurc_closed"]),
        near(golden["augrc_expected_over_ties"]),
    ]
    if name != "ties":  # torch-uncertainty sorts ties in an order of its own
        single, risk = (golden["torch_uncertainty_0.13.0"][key] for key in ("CovAt5Risk", "RiskAt80Cov"))
        coverage = float("nan") if single is None else single
        close = pytest.approx(coverage, abs=1e-7, nan_ok=True)
        assert scores(rejected(golden), "coverage@0.05", "risk@0.8") == [close, near(risk)]


def test_rejection_of_ties_is_the_mean_over_orders() -> None:
    # All three orders of one error among three equal rows, behind one right row: k = 2 is the rows' mean 1/3 over 2.
    sides = {"label": [0, 0, 0, 0]}, {"label": [0, 1, 0, 0], "confidence": [0.9, 0.5, 0.5, 0.5]}
    risks = [0, (1 / 3) / 2, (2 / 3) / 3, 1 / 4]
    assert scores(sides, "aurc", "risk@0.5", "risk@0.75", "augrc", "coverage@0.2") == [
        near(sum(risks) / 4),
        near(risks[1]),
        near(risks[2]),
        near((1 / 3 + 2 / 3 + 1) / 16),
        near(2 / 4),
    ]
    weights = {"label": [0, 0], "weight": [1, 3]}, {"label": [0, 1], "confidence": [0.9, 0.5]}
    copies = {"label": [0, 0, 0, 0]}, {"label": [0, 1, 1, 1], "confidence": [0.9, 0.5, 0.5, 0.5]}
    assert scores(weights, "aurc", "augrc", "e_aurc") == scores(copies, "aurc", "augrc", "e_aurc")
    halves = weights[0] | {"weight": [0.5, 1]}, weights[1]
    assert np.isnan(scores(halves, "aurc")).all()


def test_the_closed_form_of_many_ties_is_the_sum() -> None:
    rng = np.random.default_rng(3)
    confidence, wrong = rng.integers(0, 4, 3000), (rng.random(3000) < 0.3).astype(int)
    total, before, errors = 0.0, 0, 0
    for level in (3, 2, 1, 0):
        block = wrong[confidence == level]
        m = np.arange(1, len(block) + 1)
        total += float(((errors + block.sum() * m / len(block)) / (before + m)).sum())
        before, errors = before + len(block), errors + block.sum()
    sides = {"label": np.zeros(3000, int)}, {"label": wrong, "confidence": confidence}
    assert scores(sides, "aurc") == [near(total / 3000)]


def test_confidence_is_the_highest_probability_where_no_column_says_it() -> None:
    truth = {"label": ["a", "b", "b", "a"]}
    probability = {"probability:a": [0.9, 0.6, 0.3, 0.2], "probability:b": [0.1, 0.4, 0.7, 0.8]}
    labels = {"label": ["a", "a", "b", "b"], "confidence": [0.9, 0.6, 0.7, 0.8]}
    specs = ("aurc", "augrc", "risk@0.5")
    assert scores((truth, probability), *specs) == scores((truth, labels), *specs)


def test_settings_are_refused_with_their_range() -> None:
    sides = {"label": [1, 0]}, {"score": [0.9, 0.1]}
    for spec in (
        "tar@0",
        "tar@1",
        "frr@-0.1",
        "min_dcf(p=0)",
        "min_dcf(p=1)",
        "risk@0",
        "coverage@1",
        "fpr@0.95(positive=1)",
        "min_dcf(c_fa=0)",
        "eer(rule=hull)",
        "tar@0.1(rule=best)",
        "ccr@0",
    ):
        with refuses("E-invalid-spec"):
            scores(sides, spec)
    with refuses("E-invalid-spec", "positive=ood", "positive=id"):
        scores(sides, "fpr@95")
    with refuses("E-invalid-spec", "AUPR-IN", "AUPR-OUT"):
        scores(sides, "aupr")


def test_bad_declarations_of_what_is_out_of_distribution() -> None:
    truth, predictions = {"label": ["a", "b", "x"]}, {"label": ["a", "b", "b"], "score": [1, 2, 0]}
    both = {"ood": "x", "higher": "id"}
    with refuses("E-conflict", "id", "ood"):
        scores((truth, predictions), "roc_auc", options={"ood": "x"})
    with refuses("E-empty-input", "'y'"):
        scores((truth, predictions), "roc_auc", options={"ood": "y", "higher": "id"})
    with refuses("E-conflict", "'x'", "label"):
        scores((truth, {"label": ["a", "b", "x"], "score": [1, 2, 0]}), "roc_auc", options=both)
    with refuses("E-missing-column", "score"):
        scores((truth, {"label": ["a", "b", "b"]}), "id_accuracy", options=both)
    with refuses("E-missing-column", "ood"):
        scores((truth, predictions), "roc_auc", options={"higher": "id"})
    with refuses("E-invalid-value", "maybe"):
        scores((truth | {"ood": ["0", "maybe", "1"]}, predictions), "roc_auc", options={"higher": "id"})


LAWFUL = ("tar@0.1", "frr@0.2", "eer", "min_dcf(p=0.2)", "best_accuracy", "roc_auc")


def drawn(seed: int) -> TruthAndScores:
    rng = np.random.default_rng(seed)
    label = (rng.random(200) < 0.3).astype(int)
    return {"label": label}, {"score": np.round(rng.normal(label, 1.0), 1)}


@pytest.mark.parametrize("seed", range(4))
def test_a_rising_map_of_scores_changes_nothing(seed: int) -> None:
    truth, predictions = drawn(seed)
    assert scores((truth, {"score": np.exp(predictions["score"])}), *LAWFUL) == scores((truth, predictions), *LAWFUL)


@pytest.mark.parametrize("seed", range(4))
def test_eer_of_swapped_kinds_and_negated_scores_is_the_same(seed: int) -> None:
    truth, predictions = drawn(seed)
    swapped = {"label": 1 - truth["label"]}, {"score": -predictions["score"]}
    assert scores(swapped, "eer", "best_accuracy") == [
        near(v) for v in scores((truth, predictions), "eer", "best_accuracy")
    ]


@pytest.mark.parametrize("rule", ["at_most", "nearest", "impostor", "interpolated"])
def test_tar_rises_with_the_far(rule: str) -> None:
    values = scores(drawn(7), *(f"tar@{far}(rule={rule})" for far in (0.01, 0.05, 0.1, 0.3, 0.5, 0.9)))
    assert values == sorted(values)


def test_each_source_is_scored_against_all_rows_in_distribution() -> None:
    truth = {"label": ["a", "b", "a", "x", "x", "x"], "source": ["", "", "", "near", "far", "near"]}
    predictions = {"score": [0.9, 0.5, 0.3, 0.6, 0.1, 0.4]}
    options = {"ood": "x", "higher": "id"}
    settings: dict[str, Any] = {"by": "source", "options": options, "confidence": None}
    report = sy.evaluate("labels", truth, predictions, ["roc_auc", "fpr@95(positive=id)"], **settings)
    specs = "roc_auc", "fpr@95(positive=id)"
    values = {source: [part[spec].value for spec in specs] for source, part in report.slices["source"].items()}
    for source in ("near", "far"):
        rows = [i for i in range(6) if truth["source"][i] in ("", source)]
        sides = [{name: [column[i] for i in rows] for name, column in side.items()} for side in (truth, predictions)]
        assert values[source] == scores((sides[0], sides[1]), "roc_auc", "fpr@95(positive=id)", options=options)
    assert list(values) == ["far", "near"]


def shown(sides: TruthAndScores, *metrics: str, **options: str) -> Any:
    return sy.evaluate("labels", *sides, list(metrics), confidence=None, options=options)


def test_the_curve_of_both_errors_passes_through_the_rates() -> None:
    golden = GOLDENS["verification"]["drawn"]
    report = shown(pairs_of(golden), "tar@0.1", "eer", "frr_at_threshold@1")
    assert {"det", "error_rates", "scores"} <= set(report.figures)
    columns = report.figure("det").columns
    curve = [place for place, name in enumerate(columns["series"]) if name == "DET"]
    far, frr = (np.array(columns[name])[curve] for name in ("x", "y"))
    expected = near(1 - golden["sklearn"]["tar_at_far"]["0.1"]["at_most"])
    assert frr[far <= 0.1].min() == expected
    low, high = (np.array(columns[name])[curve] for name in ("low", "high"))
    assert ((low <= high) & (low <= frr + 0.05) & (frr - 0.05 <= high)).all()
    limit = [columns["y"][place] for place, name in enumerate(columns["series"]) if name == "FAR 0.1"]
    assert limit[1] == expected
    rates = report.figure("error_rates").columns
    assert [rates["x"][place] for place, name in enumerate(rates["series"]) if name == "threshold 1"] == [1.0, 1.0]
    spread = report.figure("scores").columns
    for kind in ("genuine", "impostor"):
        assert sum(y for y, name in zip(spread["y"], spread["series"], strict=True) if name == kind) == near(100)
    assert "det" not in shown(({"label": [1, 0]}, {"score": [0.9, 0.1]}), "roc_auc").figures


def test_the_roc_has_a_line_for_both_meanings_of_fpr95() -> None:
    for golden in GOLDENS["ood"].values():
        report = shown(ood_of(golden), "fpr@95(positive=ood)", "fpr@95(positive=id)", ood="unknown", higher="id")
        columns = report.figure("roc").columns
        ends = {}
        for name, axis in (("FPR95, positive=ood", "x"), ("FPR95, positive=id", "y")):
            line = [columns[axis][place] for place, series in enumerate(columns["series"]) if series == name]
            ends[name] = line[1] - line[0]
        for positive in ("ood", "id"):
            assert ends[f"FPR95, positive={positive}"] == near(golden["sklearn"][positive]["fpr95_all_points"])


def test_risk_over_coverage_ends_at_the_share_of_errors() -> None:
    golden = GOLDENS["selective"]["drawn"]
    columns = shown(rejected(golden), "aurc").figure("risk_coverage").columns
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, x, y in zip(columns["series"], columns["x"], columns["y"], strict=True):
        lines.setdefault(name, []).append((x, y))
    share = float(np.mean(golden["wrong"]))
    assert all(line[-1] == (1.0, near(share)) for line in lines.values())
    assert all(best <= y for (_, y), (_, best) in zip(*lines.values(), strict=True))


@pytest.mark.parametrize(("accepted", "rejected"), [(0, 0), (2, 1)])
def test_rates_at_a_threshold_rest_on_their_own_kind_of_pair(accepted: int, rejected: int) -> None:
    """FAR is a proportion of the impostors and FRR one of the genuine pairs, as FPR and FNR of the decisions are."""
    truth = {"label": [1] * 5 + [0] * 60}
    score = [0.1] * rejected + [0.9] * (5 - rejected) + [0.9] * accepted + [0.1] * (60 - accepted)
    report = sy.evaluate("labels", truth, {"score": score}, ["far_at_threshold@0.5", "frr_at_threshold@0.5"])
    decided = sy.evaluate("labels", truth, {"label": [int(s > 0.5) for s in score]}, ["fpr(label=1)", "fnr(label=1)"])
    for spec, plain in (("far_at_threshold@0.5", "fpr(label=1)"), ("frr_at_threshold@0.5", "fnr(label=1)")):
        assert report[spec].value == pytest.approx(decided[plain].value)
        assert report[spec].interval == pytest.approx(decided[plain].interval, abs=1e-12)
        assert not any("rests on" in note for note in report[spec].notes)
    if not accepted:
        assert report["far_at_threshold@0.5"].interval == pytest.approx((0, 1 - 0.025 ** (1 / 60)), abs=1e-12)


def test_accuracy_in_distribution_rests_on_rows_in_distribution() -> None:
    truth = {"label": ["a"] * 60 + ["x"] * 2}
    said = {"label": ["a"] * 62, "score": [0.9] * 60 + [0.1] * 2}
    report = sy.evaluate("labels", truth, said, ["id_accuracy"], options={"ood": "x", "higher": "id"})
    assert report["id_accuracy"].interval == pytest.approx((0.025 ** (1 / 60), 1.0), abs=1e-12)
