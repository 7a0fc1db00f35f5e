"""Open-set identification: goldens by a plain loop over the rule, and numbers by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDEN: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))["open_set"]


def lists() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    similarity, mate = np.array(GOLDEN["similarity"]), GOLDEN["mate"]
    probes, people = similarity.shape
    names = [f"probe {i:02}" for i in range(probes)]
    truth = {
        "query": names,
        "doc": ["nobody" if m < 0 else f"p{m}" for m in mate],
        "relevance": [int(m >= 0) for m in mate],
    }
    run = {
        "query": [name for name in names for _ in range(people)],
        "doc": [f"p{k}" for _ in names for k in range(people)],
        "score": similarity.ravel().tolist(),
    }
    return truth, run


def test_rates_as_the_rule_says() -> None:
    for level, expected in GOLDEN["fpir"].items():
        if level == "0.0":
            continue
        specs = [f"fnir@{level}", f"tpir@{level}", f"fnir@{level}(rank=0)"]
        report = sy.evaluate("rankings", *lists(), specs, confidence=None)
        first, any_rank = expected["fnir_rank1"], expected["fnir_any_rank"]
        assert [report[spec].value for spec in specs] == pytest.approx([first, 1 - first, any_rank])
    report = sy.evaluate("rankings", *lists(), ["hit@1", "hit@2", "hit@5"], confidence=None)
    assert [report[f"hit@{k}"].value for k in (1, 2, 5)] == [GOLDEN["rank"][k] for k in ("1", "2", "5")]


def test_without_probes_that_are_not_enrolled_hit_rates_stay() -> None:
    truth, run = lists()
    mated = {name: column[:16] for name, column in truth.items()}
    report = sy.evaluate("rankings", mated, run, ["fnir@0.1", "hit@1"], confidence=None)
    assert np.isnan(report["fnir@0.1"].value)
    assert "every probe is enrolled" in report["fnir@0.1"].undefined_reason
    assert report["hit@1"].value == GOLDEN["rank"]["1"]
    strangers = {name: column[16:] for name, column in truth.items()}
    report = sy.evaluate("rankings", strangers, run, ["tpir@0.1"], confidence=None)
    assert np.isnan(report["tpir@0.1"].value)
    assert "no probe is enrolled" in report["tpir@0.1"].undefined_reason


def test_a_probe_whose_mate_is_not_found_is_missed() -> None:
    truth = {"query": ["a", "b", "x"], "doc": ["p", "q", "nobody"], "relevance": [1, 1, 0]}
    run = {"query": ["a", "a", "b", "x"], "doc": ["p", "q", "p", "p"], "score": [0.9, 0.2, 0.8, 0.3]}
    assert sy.evaluate("rankings", truth, run, ["fnir@0.5"], confidence=None)["fnir@0.5"].value == 0.5


def test_bad_settings_are_refused() -> None:
    for spec in ("fnir@0", "tpir@1", "fnir@0.1(rank=-1)", "fnir@0.1(rank=1.5)"):
        with refuses("E-invalid-spec"):
            sy.evaluate("rankings", *lists(), [spec], confidence=None)
    truth, run = lists()
    with refuses("E-unsupported", "exclude"):
        excluded = truth | {"exclude": [1] + [0] * 23}
        sy.evaluate("rankings", excluded, run, ["fnir@0.1"], confidence=None)


def watch_list() -> tuple[dict[str, Any], dict[str, Any]]:
    """The same scores as probes and people."""
    truth, run = lists()
    people = ["" if mate < 0 else f"p{mate}" for mate in GOLDEN["mate"]]
    scores = {"probe": run["query"], "person": run["doc"], "score": run["score"]}
    return {"probe": truth["query"], "person": people}, scores


def rates(truth: Any, predictions: Any, *specs: str, **options: str) -> list[float]:
    report = sy.evaluate("rankings", truth, predictions, specs, confidence=None, options=options)
    return [report[spec].value for spec in specs]


@pytest.mark.parametrize("form", ["scores", "distances", "named distances", "file", "run of queries"])
def test_probes_and_people_give_the_rates_of_the_rule(form: str, tmp_path: Path) -> None:
    truth, predictions = watch_list()
    distance = 1 - np.array(GOLDEN["similarity"])
    people = np.array([f"p{k}" for k in range(distance.shape[1])])
    if form == "distances":
        predictions = {"distance": distance, "gallery_label": people}
    elif form == "named distances":
        names = np.array(truth["probe"])[::-1]
        predictions = {"distance": distance[::-1], "gallery_label": people, "query_id": names}
    elif form == "file":
        np.savez(tmp_path / "probes.npz", **truth)
        lines = [f"{p},{q}" for p, q in zip(truth["probe"], truth["person"], strict=True)]
        (tmp_path / "probes.csv").write_text("\n".join(["probe,person", *lines]) + "\n")
        as_array, as_text = (rates(str(tmp_path / f"probes.{end}"), predictions, "fnir@0.25") for end in ("npz", "csv"))
        assert as_array == as_text
        truth = str(tmp_path / "probes.csv")  # type: ignore[assignment]
    elif form == "run of queries":
        predictions = lists()[1]
    for level, expected in GOLDEN["fpir"].items():
        limit = "0.001" if level == "0.0" else level  # below 1 of 8 probes: none may be taken for somebody
        values = rates(truth, predictions, f"fnir@{limit}", f"tpir@{limit}", f"fnir@{limit}(rank=0)")
        first, any_rank = expected["fnir_rank1"], expected["fnir_any_rank"]
        assert values == pytest.approx([first, 1 - first, any_rank])
    assert rates(truth, predictions, "hit@1", "hit@2", "hit@5") == [GOLDEN["rank"][k] for k in ("1", "2", "5")]


def test_the_best_image_of_a_person_counts() -> None:
    truth = {"probe": [1, 2, 3], "person": ["ann", "bob", ""]}
    run = {
        "probe": [1, 1, 1, 2, 2, 2, 3, 3, 3],
        "person": ["ann", "ann", "bob"] * 3,
        "score": [0.2, 0.9, 0.5, 0.7, 0.1, 0.6, 0.3, 0.4, 0.1],
    }
    # Probe 1 finds ann with 0.9; probe 2 has ann 0.7 before bob 0.6; probe 3 scores 0.4.
    assert rates(truth, run, "fnir@0.5", "fnir@0.5(rank=0)", "hit@1") == [0.5, 0.0, 0.5]
    distances = {"distance": -np.reshape(run["score"], (3, 3)), "gallery_label": np.array(["ann", "ann", "bob"])}
    assert rates(truth, distances, "fnir@0.5", "fnir@0.5(rank=0)", "hit@1") == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(("distance", "expected"), [("cosine", 1.0), ("l2", 0.5)])
def test_the_mean_vector_of_a_person_is_another_gallery(distance: str, expected: float) -> None:
    truth = {"probe": ["a", "b", "x"], "person": ["ann", "bob", None]}
    vectors = {
        "query": np.array([[1.0, 0], [0.6, 0.8], [-1, -1]]),
        "gallery": np.array([[1.0, 0], [0, 1], [0.8, 0.6]]),
        "gallery_label": np.array(["bob", "bob", "ann"]),
    }
    # The best image: probe a is bob's first image, and b is nearer to ann (cosine 0.96, distance 0.28) than to bob.
    assert rates(truth, vectors, "hit@1", "fnir@0.5", distance=distance) == [0.0, 1.0]
    # The mean of bob is (0.5, 0.5): a has ann at 0.8 and bob at 0.71, distances 0.63 and 0.71; b has ann at 0.96 and bob
    # at 0.99, distances 0.28 and 0.32.
    assert rates(truth, vectors, "hit@1", distance=distance, gallery="template") == [expected]


def test_equal_scores_of_the_mate_and_another_person() -> None:
    truth = {"probe": ["a", "b", "x"], "person": ["ann", "bob", ""]}
    run = {
        "probe": ["a", "a", "b", "b", "x", "x"],
        "person": ["ann", "bob"] * 3,
        "score": [0.9, 0.9, 0.2, 0.8, 0.1, 0.1],
    }
    specs = ("fnir@0.5", "fnir@0.5(ties=worst)", "tpir@0.5(ties=worst)", "fnir@0.5(rank=2, ties=worst)")
    assert rates(truth, run, *specs) == [0.0, 0.5, 0.5, 0.0]


def test_bad_probes_are_refused() -> None:
    truth, run = watch_list()
    people = np.array([f"p{k}" for k in range(8)])
    distance = 1 - np.array(GOLDEN["similarity"])
    with refuses("E-unmatched", "zoe"):
        rates(truth | {"person": ["zoe", *truth["person"][1:]]}, run, "hit@1")
    with refuses("E-duplicate-key", "probe 00"):
        rates({name: [*column, column[0]] for name, column in truth.items()}, run, "hit@1")
    with refuses("E-missing-column", "person"):
        rates(lists()[0], run, "hit@1")
    for predictions in (run, {"distance": distance, "gallery_label": people}):
        with refuses("E-unsupported", "template"):
            rates(truth, predictions, "hit@1", gallery="template")
    with refuses("E-missing-key", "gallery_label"):
        rates(truth, {"distance": distance}, "hit@1")
    with refuses("E-incompatible", "23"):
        rates(truth, {"distance": distance[:23], "gallery_label": people}, "hit@1")
    vectors = {"query": np.ones((24, 2)), "gallery": np.eye(8, 2), "gallery_label": people}
    with refuses("E-invalid-value", "row 2"):
        rates(truth, vectors, "hit@1")
    with refuses("E-duplicate-key", "query_id"):
        rates(truth, {"distance": distance, "gallery_label": people, "query_id": ["probe 00"] * 24}, "hit@1")


def test_people_are_clusters() -> None:
    truth, run = watch_list()
    truth["who"] = [name or probe for probe, name in zip(truth["probe"], truth["person"], strict=True)]
    columns = (None, "person", "who", "query")
    reports = [sy.evaluate("rankings", truth, run, ["hit@1"], cluster=column) for column in columns]
    default, people, who, single = (report["hit@1"].interval for report in reports)
    assert default == people == who != single
    assert [report.request.cluster for report in reports] == ["person", "person", "who", "query"]


@pytest.mark.parametrize("form", ["probes", "lists"])
def test_explanation_of_insightface(form: str) -> None:
    truth, run = watch_list() if form == "probes" else lists()
    (explanation,) = sy.explain("rankings", truth, run, "insightface")
    names = {"top1": "hit@1", "top5": "hit@5", "top10": "hit@10"}
    for line in GOLDEN["insightface_1n_output_on_mated_only"]:
        words = line.split()
        spec, value = (f"tpir@{float(words[2])}", words[5]) if words[0] == "far" else (names[words[0]], words[2])
        assert explanation.theirs[spec] == pytest.approx(float(value))
    assert len(explanation.theirs) == 5
    # Wrong pairs reach 0.85, above the mates of 0.8 and 0.7; of ours, nobody who is not enrolled scores 0.6.
    scores = {
        "probe": ["a", "a", "b", "b", "c", "c"],
        "person": ["ann", "bob"] * 3,
        "score": [0.8, 0.3, 0.85, 0.7, 0.5, 0.4],
    }
    (small,) = sy.explain("rankings", {"probe": ["a", "b", "c"], "person": ["ann", "bob", ""]}, scores, "insightface")
    assert (small.ours["tpir@0.1"], small.theirs["tpir@0.1"]) == (0.5, 0.0)


def test_insightface_needs_a_search_for_one_person() -> None:
    truth, run = lists()
    two = {name: [*column, column[0]] for name, column in truth.items()} | {"doc": [*truth["doc"], "p7"]}
    labels = {"query_label": [1, 1, 2, 2]}, {"query": np.eye(4)}
    for sides in ((two, run), labels):
        with refuses("E-unsupported"):
            sy.explain("rankings", *sides, "insightface")


def test_intervals_rest_on_the_rarer_kind_of_probe() -> None:
    """All enrolled probes are found, and three others are not taken for anybody: the exact limit of three probes."""
    people = [f"p{k}" for k in range(20)]
    truth = {"probe": [*people, "x", "y", "z"], "person": [*people, "", "", ""]}
    pairs = [(probe, person) for probe in truth["probe"] for person in people]
    run = {
        "probe": [probe for probe, _ in pairs],
        "person": [person for _, person in pairs],
        "score": [float(probe == person) for probe, person in pairs],
    }
    report = sy.evaluate("rankings", truth, run, ["tpir@0.01", "fnir@0.01"])
    low = 0.025 ** (1 / 3)
    assert report["tpir@0.01"].interval == pytest.approx((low, 1.0), abs=1e-12)
    assert report["fnir@0.01"].interval == pytest.approx((0.0, 1 - low), abs=1e-12)
    assert "3 units of class 'not enrolled'" in " ".join(report["tpir@0.01"].notes)
