"""Few labels: truth on some units and a proxy on all, held to hand calculations and to the formulas of PPI++."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy

N, LABELLED = 1000, 100
IDS = [f"d{i:04d}" for i in range(N)]
Columns = dict[str, Any]


def dishes(seed: int = 3) -> tuple[Columns, Columns, Any]:
    """Truth of the first hundred dishes, predictions of a thousand, and the true weights of all."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(50, 200, N)
    predictions = {"dish": IDS, "weight": true + rng.normal(5, 10, N)}
    return {"dish": IDS[:LABELLED], "weight": true[:LABELLED]}, predictions, true


def answers(counts: list[tuple[str, str, int]], rest: tuple[int, int]) -> tuple[Columns, Columns, Columns]:
    """Labelled answers by (truth, judge) and others by the judge: those that are as predicted, and those that are not."""
    truth = [t for t, _, count in counts for _ in range(count)]
    judge = [j for _, j, count in counts for _ in range(count)] + ["yes"] * rest[0] + ["no"] * rest[1]
    ids = list(range(len(judge)))
    labelled = {"id": ids[: len(truth)], "label": truth}
    return labelled, {"id": ids, "label": ["yes"] * len(ids)}, {"id": ids, "label": judge}


def test_a_perfect_proxy_gives_the_standard_error_of_all_units() -> None:
    truth, predictions, true = dishes()
    score = sy.evaluate("weights", truth, predictions, ["bias"], proxy={"dish": IDS, "weight": true}, draws=4000)[
        "bias"
    ]
    about = score.few_labels
    assert about is not None
    off = np.array(predictions["weight"]) - true
    assert about.others == N - LABELLED
    assert about.labels_alone == pytest.approx(off[:LABELLED].mean())
    assert about.proxy_alone == pytest.approx(off[LABELLED:].mean())
    assert about.trust == pytest.approx(0.9, abs=0.03)  # N / (n + N): units that count alike
    expected = off[:LABELLED].mean() + about.trust * (off[LABELLED:].mean() - off[:LABELLED].mean())
    assert score.value == pytest.approx(expected, rel=1e-12)
    assert score.se == pytest.approx(off.std(ddof=1) / math.sqrt(N), rel=0.1)
    assert about.labels_se == pytest.approx(off[:LABELLED].std(ddof=1) / 10, rel=0.05)


def test_a_proxy_that_is_always_wrong_alike_moves_nothing() -> None:
    truth, predictions, true = dishes()
    right, shifted = (
        sy.evaluate("weights", truth, predictions, ["bias"], proxy={"dish": IDS, "weight": true + shift})["bias"]
        for shift in (0.0, 40.0)
    )
    assert shifted.value == pytest.approx(right.value, abs=1e-9)
    assert shifted.interval == pytest.approx(right.interval, abs=1e-9)


def test_a_proxy_that_knows_nothing_is_not_trusted() -> None:
    truth, predictions, _ = dishes()
    noise = {"dish": IDS, "weight": np.random.default_rng(9).uniform(50, 200, N)}
    score = sy.evaluate("weights", truth, predictions, ["mae"], proxy=noise)["mae"]
    assert score.few_labels is not None
    assert score.few_labels.trust < 0.15
    assert score.se == pytest.approx(score.few_labels.labels_se, rel=0.1)


def test_a_column_of_the_truth_may_hold_the_proxy(tmp_path: Path) -> None:
    truth, predictions, true = dishes()
    cheap = np.round(true + np.random.default_rng(1).normal(0, 3, N), 1)
    whole = sy.evaluate("weights", truth, predictions, proxy={"dish": IDS, "weight": cheap})
    rows = [f"{d},{true[i] if i < LABELLED else ''},{cheap[i]}" for i, d in enumerate(IDS)]
    (tmp_path / "truth.csv").write_text("\n".join(["dish,weight,cheap", *rows]) + "\n", encoding="utf-8")
    by_column = sy.evaluate("weights", tmp_path / "truth.csv", predictions, proxy="cheap")
    assert by_column.scores == whole.scores
    assert by_column.request.proxy == "cheap"
    assert whole.request.proxy == "in memory"
    assert sy.load(json.loads(whole.to_json())) == whole
    assert by_column.sources.proxy is not None
    assert by_column.sources.proxy.rows == N


def test_a_metric_without_a_value_by_the_proxy_is_that_of_the_labels() -> None:
    """The judge never says "c": its recall of c has no value."""
    labelled = {"id": [0, 1, 2, 3], "label": ["a", "a", "c", "c"]}
    predictions = {"id": list(range(8)), "label": ["a", "c", "c", "c", "a", "c", "c", "a"]}
    judge = {"id": list(range(8)), "label": ["a"] * 8}
    report = sy.evaluate("labels", labelled, predictions, ["recall(label=c)"], proxy=judge)
    assert report["recall(label=c)"].value == 1
    assert report["recall(label=c)"].notes[0].startswith("recall(label=c) has no value by the proxy")


def test_the_value_is_the_same_without_intervals() -> None:
    truth, predictions, true = dishes()
    asked = {"proxy": {"dish": IDS, "weight": true}}
    plain = sy.evaluate("weights", truth, predictions, ["bias"], confidence=None, **asked)["bias"]
    whole = sy.evaluate("weights", truth, predictions, ["bias"], **asked)["bias"]
    assert plain.value == whole.value
    assert plain.few_labels is not None
    assert whole.few_labels is not None
    assert replace(plain.few_labels, labels_interval=None, labels_se=0.0) == replace(
        whole.few_labels, labels_interval=None, labels_se=0.0
    )
    assert plain.interval is None
    assert whole.interval is not None


def test_one_label_says_nothing_of_the_proxy() -> None:
    truth, predictions, true = dishes()
    one = {name: column[:1] for name, column in truth.items()}
    score = sy.evaluate("weights", one, predictions, ["bias"], proxy={"dish": IDS, "weight": true})["bias"]
    assert score.value == pytest.approx(predictions["weight"][0] - truth["weight"][0])


def test_rates_are_those_of_rogan_and_gladen() -> None:
    """Sensitivity 45 of 50, specificity 40 of 50, and half of the others right by the judge: (.5 + .8 - 1) / .7."""
    given = answers([("yes", "yes", 45), ("yes", "no", 5), ("no", "no", 40), ("no", "yes", 10)], (500, 500))
    report = sy.evaluate("labels", given[0], given[1], ["accuracy"], proxy=given[2], judge_correction="rates")
    score = report["accuracy"]
    assert score.value == pytest.approx(0.3 / 0.7)
    assert score.interval is not None
    # The delta method (Rogan and Gladen 1978): three binomial variances, each times the square of its slope.
    gain, theta = 0.7, 0.3 / 0.7
    parts = (0.25 / 1000, (theta**2) * 0.09 / 50, ((1 - theta) ** 2) * 0.16 / 50)
    assert score.se == pytest.approx(math.sqrt(sum(parts)) / gain, rel=0.1)
    assert score.interval[0] < theta < score.interval[1]
    assert "says how often the judge (in memory) errs on 1,000 more" in report.notes[-1]


JUDGED = answers([("yes", "yes", 45), ("yes", "no", 5), ("no", "no", 40), ("no", "yes", 10)], (50, 50))
CHANCE = answers([("yes", "yes", 5), ("yes", "no", 5), ("no", "no", 5), ("no", "yes", 5)], (50, 50))
ALL_RIGHT = answers([("yes", "yes", 45), ("yes", "no", 5)], (50, 50))


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (JUDGED, {"proxy": {"id": ["x", "y"], "label": ["yes", "no"]}, "extra": "skip", "missing": "worst"},
         "no unit of truth is in the proxy"),
        (JUDGED, {"proxy": {"id": JUDGED[2]["id"][1:], "label": JUDGED[2]["label"][1:]}, "extra": "skip"},
         "unit '0' of truth has truth and no proxy"),
        (JUDGED, {"proxy": JUDGED[0], "extra": "skip"}, "every unit of the proxy has truth, so the proxy adds nothing"),
        (JUDGED, {"proxy": "judge"}, "the proxy 'judge' is neither a file nor a column"),
        (JUDGED, {"proxy": "label"}, "the proxy 'label' replaces no true value"),
        (JUDGED, {"proxy": "no/such.csv"}, "no/such.csv"),
        (JUDGED, {"proxy": JUDGED[2], "by": ["label"]}, "lies in slice 'no', and in another one by the proxy"),
        (JUDGED, {"proxy": JUDGED[2], "cluster": "id", "judge_correction": "rates"},
         "`judge_correction='rates'` cannot be combined with `cluster`"),
        (JUDGED, {"proxy": JUDGED[2], "strata": "label"}, "`proxy` cannot be combined with `strata`"),
        (JUDGED, {"proxy": JUDGED[2], "save_draws": True}, "`proxy` cannot be combined with `save_draws`"),
        (JUDGED, {"proxy": JUDGED[2], "judge_correction": "rate"}, "'rate' is not a known correction of a judge"),
        (JUDGED, {"judge_correction": "rates"}, "there is no judge to correct. Give its labels as the proxy"),
        (JUDGED, {"proxy": JUDGED[2], "judge_correction": "rates", "metrics": ["macro(f1)"]},
         "is not the share of units that are right"),
        (CHANCE, {"proxy": CHANCE[2], "judge_correction": "rates"}, "the judge may be no better than chance for 'accuracy'"),
        (ALL_RIGHT, {"proxy": ALL_RIGHT[2], "judge_correction": "rates"}, "all 50 labelled units are right by 'accuracy'"),
    ],
)  # fmt: skip
def test_wrong_proxies_are_refused(given: tuple[Columns, ...], settings: Columns, said: str) -> None:
    asked = {"metrics": ["accuracy"], **settings}
    with pytest.raises(sy.InputError, match=said):
        sy.evaluate("labels", given[0], given[1], asked.pop("metrics"), **asked)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cheap": [1.0, None, 3.0]}, "the proxy has no value in 1 of 3 rows"),
        ({"weight": [None, None, None]}, "no row has a value in 'weight'"),
        ({"dish": ["a", "a", "b"], "item": ["x", "y", "x"]}, "dish 'a' has truth in some rows only"),
    ],
)
def test_wrong_columns_of_a_proxy_are_refused(change: Columns, said: str) -> None:
    truth = {"dish": ["a", "b", "c"], "weight": [10.0, None, 30.0], "cheap": [1.0, 2.0, 3.0], **change}
    predictions = {name: truth[name] for name in ("dish", "item") if name in truth} | {"weight": [1.0, 2.0, 3.0]}
    with pytest.raises(sy.InputError, match=said):
        sy.evaluate("weights", truth, predictions, ["mae"], proxy="cheap")


def test_objects_have_no_column_that_a_judge_could_give() -> None:
    boxes = {"image": [1], "label": ["a"], "x": [0], "y": [0], "w": [5], "h": [5], "score": [1]}
    with pytest.raises(sy.InputError, match="truth of task 'boxes' is not one column that a judge fills"):
        sy.evaluate("boxes", boxes, boxes, proxy="judge")


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=False)


def test_the_command_line_takes_a_file_or_a_column(tmp_path: Path) -> None:
    for name, columns in zip(("truth", "predictions", "judge"), JUDGED, strict=True):
        rows = [f"{i},{label}" for i, label in zip(columns["id"], columns["label"], strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,label", *rows]) + "\n", encoding="utf-8")
    paths = [str(tmp_path / f"{name}.csv") for name in ("truth", "predictions")]
    judged = command("evaluate", "labels", *paths, "-m", "accuracy", "--proxy", str(tmp_path / "judge.csv"))
    assert (judged.returncode, judged.stderr) == (0, "")
    assert "by truth alone" in judged.stdout
    wrong = command("evaluate", "labels", *paths, "--proxy", "judge")
    assert wrong.returncode == 2
    assert "the proxy 'judge' is neither a file nor a column" in wrong.stderr
    for more, name in (
        (["--explain", "sklearn"], "--explain"),
        (["--strata", "x"], "--strata"),
        (["--save-draws"], "--save-draws"),
    ):
        both = command("evaluate", "labels", *paths, "--proxy", str(tmp_path / "judge.csv"), *more)
        assert both.returncode == 2
        assert both.stderr.startswith(f"steelyard: --proxy cannot be combined with {name}: ")
        assert both.stderr.endswith(" Leave one of them out. [E-conflict]\n")
    compared = command("compare", "labels", *paths, paths[1], "-m", "accuracy", "--proxy", str(tmp_path / "judge.csv"))
    assert (compared.returncode, compared.stderr) == (0, "")
    assert "100 labelled and 100 judged units" in " ".join(compared.stdout.split())
    many = command("evaluate", "labels", str(tmp_path / "t*.csv"), paths[1], "--proxy", "judge.csv")
    assert many.returncode == 2
    assert "--proxy needs all data in one place" in many.stderr


def test_a_slice_is_estimated_from_its_own_units(tmp_path: Path) -> None:
    """As if the others were not there; a slice with truth on all units has no proxy, one with none is left out."""
    truth, predictions, true = dishes()
    rng = np.random.default_rng(8)
    proxy = {"dish": IDS, "weight": true + rng.normal(0, 4, N)}
    tray = ["full" if i < 20 else "ab"[i % 2] if i < 900 else "far" for i in range(N)]
    file = tmp_path / "trays.csv"
    file.write_text("dish,tray\n" + "".join(f"{name},{one}\n" for name, one in zip(IDS, tray, strict=True)))
    whole = sy.evaluate("weights", truth, predictions, ["bias", "rmse"], proxy=proxy, by=[f"tray@{file}"])
    inside = sy.evaluate(
        "weights", {**truth, "tray": tray[:LABELLED]}, predictions, ["bias", "rmse"],
        proxy={**proxy, "tray": tray}, by=["tray"],
    )  # fmt: skip
    parts = whole.slices[f"tray@{file}"]
    assert list(parts) == ["a", "b", "full"]
    assert "far' has truth" in " ".join(whole.notes)
    for name in ("a", "b"):
        kept = [i for i in range(N) if tray[i] == name]
        few = [i for i in kept if i < LABELLED]
        own = sy.evaluate(
            "weights",
            {"dish": [IDS[i] for i in few], "weight": true[few]},
            {"dish": [IDS[i] for i in kept], "weight": predictions["weight"][kept]},
            ["bias", "rmse"],
            proxy={"dish": [IDS[i] for i in kept], "weight": proxy["weight"][kept]},
        )
        for spec in ("bias", "rmse"):
            for one in (parts[name][spec], inside.slices["tray"][name][spec]):
                assert (one.value, one.interval, one.se) == (own[spec].value, own[spec].interval, own[spec].se)
    assert parts["full"]["bias"].few_labels is None
    assert parts["full"]["bias"].value == pytest.approx((predictions["weight"][:20] - true[:20]).mean())


def test_slices_that_truth_and_proxy_see_apart_are_refused() -> None:
    truth, predictions, true = dishes()
    tray = ["ab"[i % 2] for i in range(N)]
    with pytest.raises(sy.InputError, match="'d0000' of truth lies in slice 'a', and in another one by the proxy"):
        sy.evaluate(
            "weights", {**truth, "tray": tray[:LABELLED]}, predictions, ["bias"],
            proxy={"dish": IDS, "weight": true, "tray": ["b", *tray[1:]]}, by=["tray"],
        )  # fmt: skip
    labelled, named, judge = answers([("yes", "yes", 30), ("no", "no", 20)], (30, 20))
    with pytest.raises(sy.InputError, match="`judge_correction='rates'` cannot be combined with `by`"):
        sy.evaluate("labels", labelled, named, ["accuracy"], proxy=judge, judge_correction="rates", by=["label"])


def test_whole_clusters_are_drawn_where_they_have_truth_or_none() -> None:
    """Six answers of a person are alike: as sure as ten persons, by truth and by the others alike."""
    person = np.repeat(np.arange(60), 6)
    right = (person % 3 > 0).astype(int)
    ids, labelled = np.arange(360), 180
    truth = {"id": ids[:labelled], "label": right[:labelled], "person": person[:labelled]}
    judge = np.where(ids % 10 == 0, 1 - right, right)
    given = ("labels", truth, {"id": ids, "label": np.ones(360, int)}, ["accuracy"])
    proxy = {"id": ids, "label": judge, "person": person}
    by_person = sy.evaluate(*given, proxy=proxy, cluster="person", draws=400)
    alone = sy.evaluate(*given, proxy=proxy, draws=400)
    assert by_person["accuracy"].clusters == 30
    assert by_person["accuracy"].se > 1.5 * alone["accuracy"].se
    assert any("30 clusters of 180 units by 'person'" in note for note in by_person.notes)
    moved = {**proxy, "person": np.where(ids == 3, 1, person)}
    with pytest.raises(sy.InputError, match="unit '3' is of person '0' by the truth, and of '1' by the proxy"):
        sy.evaluate(*given, proxy=moved, cluster="person")
    mixed = {name: values[:-1] for name, values in truth.items()}
    with pytest.raises(sy.InputError, match="person '29' has both units with truth and units without"):
        sy.evaluate(given[0], mixed, *given[2:], proxy=proxy, cluster="person")
    lacking = {name: proxy[name] for name in ("id", "label")}
    with pytest.raises(sy.InputError, match="column 'person' is missing, which `cluster` names"):
        sy.evaluate(*given, proxy=lacking, cluster="person")
