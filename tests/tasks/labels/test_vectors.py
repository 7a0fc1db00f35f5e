"""Pairs from vectors: listed pairs, all pairs, templates of IJB, folds and files of LFW.

tests/goldens/verification.json was made by the references themselves; `versions` there says which.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.task import Policy
from steelyard.io.sources import read_sides

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))
PEOPLE = {"people": "person_a,person_b"}
METRICS = ["tar@0.01", "eer", "roc_auc", "dprime"]


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def pair_scores(truth: Any, vectors: Any, **options: str) -> list[float]:
    task = catalogue.find_task("labels")
    scores: list[float] = read_sides(task, truth, vectors, {}, Options(task.options, options))[1]["score"].tolist()
    return scores


def drawn(seed: int = 0, people: int = 12, images: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    person = np.repeat([f"p{k:02}" for k in range(people)], images)
    vectors = rng.normal(size=(people, 6))[np.repeat(np.arange(people), images)]
    vectors = vectors + 0.7 * rng.normal(size=vectors.shape)
    image = np.array([f"i{k:03}" for k in range(len(person))])
    return {"image": image, "person": person}, {"image": image, "vector": vectors}


def listed(truth: dict[str, Any]) -> dict[str, Any]:
    first, second = np.triu_indices(len(truth["image"]), 1)
    image, person = truth["image"], truth["person"]
    return {"a": image[first], "b": image[second], "person_a": person[first], "person_b": person[second]}


def test_scores_of_pairs_by_hand() -> None:
    vectors = {"image": ["x", "y", "z"], "vector": [[3.0, 4.0], [4.0, 3.0], [0.0, 2.0]]}
    truth = {"a": ["x", "x", "z"], "b": ["y", "z", "z"], "same": [1, 0, 1]}
    vectors["vector"] = np.array(vectors["vector"])  # type: ignore[assignment]
    assert pair_scores(truth, vectors) == near([24 / 25, 4 / 5, 1.0])
    assert pair_scores(truth, vectors, distance="squared") == near([-2.0, -13.0, 0.0])
    assert pair_scores(truth, vectors, distance="l2") == near([-(2**0.5), -(13**0.5), 0.0])


def test_templates_as_insightface() -> None:
    golden = GOLDENS["templates"]
    vectors = {name: np.array(golden[name]) for name in ("template", "media")}
    names = sorted(set(golden["template"]))
    first, second = np.triu_indices(len(names), 1)
    truth = {"template_a": np.array(names)[first], "template_b": np.array(names)[second], "same": [0] * len(first)}
    expected = np.array(golden["cosine"])[first, second].tolist()
    assert pair_scores(truth, vectors | {"vector": np.array(golden["features"])}) == near(expected)


@pytest.mark.parametrize("distance", ["cosine", "l2", "squared"])
def test_all_pairs_are_the_pairs_of_a_list(distance: str) -> None:
    truth, vectors = drawn()
    order = np.random.default_rng(1).permutation(len(truth["image"]))
    shuffled = {name: column[order] for name, column in vectors.items()}
    every = sy.evaluate("labels", truth, shuffled, METRICS, draws=200, options={"pairing": "all", "distance": distance})
    options = PEOPLE | {"distance": distance}
    some = sy.evaluate("labels", listed(truth), vectors, METRICS, draws=200, options=options)
    for metric in METRICS:
        assert (every[metric].value, every[metric].interval) == (some[metric].value, some[metric].interval)


def test_all_pairs_of_templates() -> None:
    golden = GOLDENS["templates"]
    vectors = {"vector": np.array(golden["features"]), "template": golden["template"], "media": golden["media"]}
    truth = {"template": [1, 2, 3, 4, 5], "person": ["a", "b", "a", "b", "a"]}
    report = sy.evaluate("labels", truth, vectors, ["roc_auc"], confidence=None, options={"pairing": "all"})
    cosine, same = np.array(golden["cosine"]), np.equal.outer(truth["person"], truth["person"])
    first, second = np.triu_indices(5, 1)
    genuine, impostor = (cosine[first, second][same[first, second] == kind] for kind in (True, False))
    expected = float(np.mean(genuine[:, np.newaxis] > impostor))
    assert report["roc_auc"].value == near(expected)


def test_equal_vectors_have_equal_scores() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=(3, 64))
    vectors = np.concatenate([base, 3 * base, base / 7])
    person = np.arange(9) % 3
    options = {"pairing": "all"}
    truth = {"person": person}
    report = sy.evaluate(
        "labels", truth, {"vector": vectors}, ["eer", "best_accuracy"], confidence=None, options=options
    )
    assert (report["eer"].value, report["best_accuracy"].value) == (0.0, 1.0)
    assert set(pair_scores(truth, {"vector": vectors}, **options)[2:3]) == {1.0}


def test_folds_as_insightface() -> None:
    golden = GOLDENS["lfw"]
    same, vectors = np.array(golden["same"]), np.array(golden["embeddings"])
    specs = ["fold_accuracy", "fold_accuracy(grid=insightface)"]
    options = {"distance": "squared"}
    report = sy.evaluate("labels", {"same": same}, {"vector": vectors}, specs, confidence=None, options=options)
    for spec, name in zip(specs, ("thresholds_at_midpoints", "insightface"), strict=True):
        assert report[spec].value == near(golden[name]["accuracy"])
        assert any(f"{golden[name]['std']:.4f}" in note for note in report[spec].notes)
    order = np.argsort(-same, kind="stable")
    rows = np.stack([2 * order, 2 * order + 1], axis=1).ravel()
    sides = {"same": same[order]}, {"vector": vectors[rows]}
    report = sy.evaluate("labels", *sides, specs[1:], confidence=None, options=options)
    assert report[specs[1]].value == near(golden["pairs_sorted_by_label"]["accuracy"])
    assert any(f"{golden['pairs_sorted_by_label']['std']:.4f}" in note for note in report[specs[1]].notes)


def test_folds_by_column_and_their_thresholds_by_hand() -> None:
    # Fold 1 is scored at the threshold of fold 2 (between 0.4 and 0.6), fold 2 at that of fold 1 (between 0.7 and 0.8).
    truth = {"label": [1, 0, 1, 0, 1, 0], "fold": [1, 1, 1, 2, 2, 2]}
    predictions = {"score": [0.9, 0.7, 0.8, 0.4, 0.6, 0.2]}
    report = sy.evaluate("labels", truth, predictions, ["fold_accuracy"], confidence=None)
    assert report["fold_accuracy"].value == near((2 / 3 + 2 / 3) / 2)
    order = [5, 0, 3, 2, 4, 1]
    sides = [{name: [column[i] for i in order] for name, column in side.items()} for side in (truth, predictions)]
    again = sy.evaluate("labels", *sides, ["fold_accuracy"], confidence=None)
    assert again["fold_accuracy"].value == report["fold_accuracy"].value


def state_of(truth: dict[str, Any], predictions: dict[str, Any], metric: Any) -> State:
    task = catalogue.find_task("labels")
    options = Options(task.options, {})
    sides = read_sides(task, truth, predictions, {}, options)
    pairs = task.join(*sides, Policy("error", "error"), options)
    return State.of(pairs, [getattr(need, "ranking", need) for need in metric.requirements()])


def test_folds_of_parts_need_a_column() -> None:
    rng, metric = np.random.default_rng(0), catalogue.parse("fold_accuracy", "labels")
    label, fold, ids = rng.integers(0, 2, 40), np.repeat(np.arange(4), 10), np.arange(40)
    score, values = rng.normal(label), []
    for columns in ({"label": label}, {"label": label, "fold": fold}):
        parts = []
        for rows in (slice(0, 15), slice(15, 40)):
            truth = {"id": ids[rows]} | {name: column[rows] for name, column in columns.items()}
            parts.append(state_of(truth, {"id": ids[rows], "score": score[rows]}, metric))
        values.append(State.merge(parts).totals(POINT).of(metric)[0])
    whole = sy.evaluate("labels", {"label": label, "fold": fold}, {"score": score}, ["fold_accuracy"], confidence=None)
    assert np.isnan(values[0])
    assert values[1] == near(whole["fold_accuracy"].value)


def lfw(path: Path) -> Path:
    file = path / "pairs.txt"
    lines = ["2\t2", "Ann\t1\t2", "Bob_Li\t1\t2", "Ann\t1\tBob_Li\t1", "Ann\t2\tCid\t3"]
    lines += ["Ann\t1\t3", "Cid\t1\t3", "Bob_Li\t2\tCid\t1", "Ann\t3\tBob_Li\t1"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_list_of_lfw_with_vectors_or_scores(tmp_path: Path) -> None:
    pairs, rng = lfw(tmp_path), np.random.default_rng(2)
    people = {"Ann": [1, 2, 3], "Bob_Li": [1, 2], "Cid": [1, 3]}
    images = [f"{name}/{name}_{number:04}.jpg" for name, numbers in people.items() for number in numbers]
    centre = {name: rng.normal(size=5) for name in people}
    vectors = np.stack([centre[image.partition("/")[0]] + 0.3 * rng.normal(size=5) for image in images])
    np.savez(tmp_path / "faces.npz", image=np.array(images), vector=vectors)
    specs = ["eer", "fold_accuracy", "best_accuracy"]
    report = sy.evaluate("labels", str(pairs), str(tmp_path / "faces.npz"), specs, confidence=None)
    scores = pair_scores(str(pairs), str(tmp_path / "faces.npz"))
    assert report.units().units.tolist() == ["Ann", "Bob_Li", "Cid"]
    place = {image.partition("/")[2].removesuffix(".jpg"): row for row, image in enumerate(images)}
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert scores[0] == near(float(unit[place["Ann_0001"]] @ unit[place["Ann_0002"]]))
    assert scores[3] == near(float(unit[place["Ann_0002"]] @ unit[place["Cid_0003"]]))
    again = sy.evaluate("labels", str(pairs), {"score": scores}, specs, confidence=None)
    assert [again[spec].value for spec in specs] == [report[spec].value for spec in specs]


def test_a_list_of_templates(tmp_path: Path) -> None:
    golden = GOLDENS["templates"]
    (tmp_path / "pairs.txt").write_text("1 2 0\n1 3 1\n4 5 0\n", encoding="utf-8")
    vectors = {"vector": np.array(golden["features"]), "template": golden["template"], "media": golden["media"]}
    cosine = np.array(golden["cosine"])
    expected = [cosine[0, 1], cosine[0, 2], cosine[3, 4]]
    assert pair_scores(str(tmp_path / "pairs.txt"), vectors) == near(expected)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "E-empty-input", ()),
        ("folds\nAnn 1 2\n", "E-invalid-file", ("folds", "line 1")),
        ("1 1\nAnn 1 2\nAnn 1 Bob\n", "E-invalid-file", ("Ann 1 Bob", "line 3")),
        ("1 2\nAnn 1 2\nAnn 1 Bob 1\n", "E-invalid-file", ("2 pairs",)),
        ("1 2 0\n1 3 2\n", "E-invalid-file", ("1 3 2", "line 2")),
        ("1 2 0\n1 3\n", "E-invalid-file", ("line 2",)),
    ],
)
def test_bad_lists_are_refused(text: str, code: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text(text, encoding="utf-8")
    with refuses(code, *words):
        sy.evaluate("labels", str(tmp_path / "pairs.txt"), {"score": [0.1]}, ["eer"])


def test_bad_vectors_are_refused() -> None:
    truth, vectors = drawn(people=3, images=2)
    pairs = listed(truth)

    def run(side: dict[str, Any], given: dict[str, Any], metric: str = "eer", **options: str) -> None:
        sy.evaluate("labels", side, given, [metric], confidence=None, options=options)

    def changed(row: int, value: float) -> dict[str, Any]:
        values = vectors["vector"].copy()
        values[row] = value
        return vectors | {"vector": values}

    every = {"pairing": "all"}
    with refuses("E-invalid-number", "row 2"):
        run(pairs, changed(2, np.nan))
    with refuses("E-out-of-range", "row 1"):
        run(pairs, changed(1, 1e200))
    with refuses("E-invalid-value", "i003", "distance=l2"):
        run(pairs, changed(3, 0.0))
    run(pairs, changed(3, 0.0), distance="l2")
    with refuses("E-unknown-name", "vectors"):
        run(pairs, {"vectors": vectors["vector"], "vector": vectors["vector"]})
    with refuses("E-shape-mismatch"):
        run(pairs, vectors | {"vector": vectors["vector"][:, 0]})
    with refuses("E-incompatible", "image"):
        run(pairs, vectors | {"image": vectors["image"][:3]})
    with refuses("E-duplicate-key", "i000"):
        run(pairs, vectors | {"image": np.array(["i000"] * 6)})
    with refuses("E-missing-key", "i005"):
        run(pairs, {name: column[:5] for name, column in vectors.items()})
    with refuses("E-missing-column", "'a'", "pairing=all"):
        run(truth, vectors)
    with refuses("E-incompatible", "6 vectors", "15 pairs"):
        run({"same": (pairs["person_a"] == pairs["person_b"]).astype(int)}, {"vector": vectors["vector"]})
    with refuses("E-missing-column", "person"):
        run({"image": truth["image"]}, vectors, **every)
    with refuses("E-missing-key", "i005"):
        run(truth, {name: column[:5] for name, column in vectors.items()}, **every)
    with refuses("E-duplicate-key", "i000"):
        run(truth | {"image": np.array(["i000"] * 6)}, vectors, **every)
    with refuses("E-invalid-value", "person"):
        run(truth | {"person": np.array(["", *truth["person"][1:]])}, vectors, **every)
    with refuses("E-conflict", "all"):
        run(truth, {"score": [1.0] * 6}, **every)
    with refuses("E-missing-key", "template"):
        run(pairs, {"vector": vectors["vector"], "media": vectors["image"]})
    with refuses("E-unsupported", "squared"):
        run(pairs, vectors, "fold_accuracy(grid=insightface)")
    with refuses("E-invalid-value", "first"):
        run({"label": [0, 1], "fold": ["first", "second"]}, {"score": [0.1, 0.2]}, "fold_accuracy")


def test_pairs_in_either_order_unless_they_are_ordered() -> None:
    truth = {"a": ["x", "y", "x"], "b": ["y", "z", "z"], "same": [1, 0, 0]}
    turned = {"a": ["z", "y", "z"], "b": ["x", "x", "y"], "score": [0.2, 0.9, 0.4]}
    report = sy.evaluate("labels", truth, turned, ["eer", "dprime"], confidence=None)
    straight = sy.evaluate(
        "labels", {"label": [1, 0, 0]}, {"score": [0.9, 0.4, 0.2]}, ["eer", "dprime"], confidence=None
    )
    assert [report[name].value for name in ("eer", "dprime")] == [straight[name].value for name in ("eer", "dprime")]
    twice = {"a": ["x", "y"], "b": ["y", "x"], "same": [1, 1]}
    with refuses("E-duplicate-key"):
        sy.evaluate("labels", twice, {"a": ["x", "y"], "b": ["y", "x"], "score": [0.1, 0.2]}, ["dprime"])
    sides = {"a": ["x", "y"], "b": ["y", "x"], "same": [1, 1]}, {"a": ["y", "x"], "b": ["x", "y"], "score": [0.1, 0.7]}
    report = sy.evaluate("labels", *sides, ["frr_at_threshold@0.5"], confidence=None, options={"pairing": "ordered"})
    assert report["frr_at_threshold@0.5"].value == 0.5


def test_folds_of_one_kind_are_noticed() -> None:
    mixed = {"label": [1, 0, 1, 0], "fold": [0, 0, 1, 1]}
    predictions = {"score": [0.9, 0.2, 0.8, 0.1]}
    assert "folds-of-one-kind" not in {finding.code for finding in sy.check("labels", mixed, predictions).findings}
    apart = mixed | {"label": [1, 1, 0, 0]}
    assert sy.check("labels", apart, predictions)["folds-of-one-kind"].severity == "warning"
