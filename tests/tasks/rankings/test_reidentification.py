"""Re-identification and landmarks: documents that are out of a query's list, by camera, junk and level.

tests/goldens/verification.json was made by the references themselves; `versions` there says which.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "verification.json").read_text(encoding="utf-8"))
ARRAYS = {
    "query_label": "query_id",
    "gallery_label": "gallery_id",
    "query_camera": "query_camera",
    "gallery_camera": "gallery_camera",
}


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-7, abs=1e-12)  # references add up in single precision


def evaluate(golden: dict[str, Any], *metrics: str, **options: str) -> Any:
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    predictions = {"distance": np.array(golden["distance"])}
    return sy.evaluate("rankings", truth, predictions, metrics, confidence=None, options=options)


def values(golden: dict[str, Any], *metrics: str, **options: str) -> list[float]:
    report = evaluate(golden, *metrics, **options)
    return [report[metric].value for metric in metrics]


def untied(golden: dict[str, Any]) -> Any:
    """Queries with a match whose matches share their distance with no other image."""
    distance, label = np.array(golden["distance"]), np.array(golden["gallery_id"])
    alone = []
    for query, line in zip(golden["query_id"], distance, strict=True):
        if (label == query).any():
            alone.append(all((line == value).sum() == 1 for value in line[label == query]))
    return np.array(alone)


def ordered(golden: dict[str, Any], first: bool) -> dict[str, Any]:
    """Without ties: the matches come before, or behind, all images at the same distance."""
    distance = np.array(golden["distance"])
    match = np.array(golden["query_id"])[:, None] == np.array(golden["gallery_id"])[None]
    gaps = np.diff(np.unique(distance))
    return golden | {"distance": distance + (-1 if first else 1) * gaps.min() / 4 * match}


def assert_some_order(expected: Any, own: Any, worst: Any, best: Any) -> None:
    """Both values are those of some order of equal distances: references sort in an unstable way."""
    for value in (expected, own):
        assert np.all(np.array(worst) <= np.array(value) + 1e-7)
        assert np.all(np.array(value) <= np.array(best) + 1e-7)


@pytest.mark.parametrize("name", ["drawn", "ties"])
def test_rank_and_precision_by_query_as_the_references(name: str) -> None:
    golden = GOLDENS["reid"][name]
    alone = untied(golden)
    assert name == "ties" or alone.sum() >= 4
    for protocol, metric, expected in (
        ("torchreid", "map", golden["fastreid"]["ap"]),
        ("torchreid", "minp", golden["fastreid"]["inp"]),
        ("layumi", "map_trapezoid", golden["layumi"]["ap"]),
    ):
        own, worst, best = (
            np.array(evaluate(data, metric, protocol=protocol).units().values[metric])
            for data in (golden, ordered(golden, first=False), ordered(golden, first=True))
        )
        kept = ~np.isnan(own)  # the query without a match has none
        assert kept.sum() == golden["layumi"]["valid_queries"]
        assert own[kept][alone] == near(np.array(expected)[alone])
        assert_some_order(expected, own[kept], worst[kept], best[kept])


@pytest.mark.parametrize("name", ["drawn", "ties"])
def test_means_as_the_references(name: str) -> None:
    golden = GOLDENS["reid"][name]
    sides = (golden, ordered(golden, first=False), ordered(golden, first=True))
    cmc = [f"hit@{k}" for k in range(1, 11)]
    over_all = [f"hit@{k}(empty=zero)" for k in range(1, 11)]
    spread = [f"hit@{k}(spread=yes)" for k in range(1, 11)]
    layumi, market = golden["layumi"], golden["openreid"]["cmc_market"]
    for protocol, specs, expected in (
        ("torchreid", ("map", *cmc), [golden["torchreid"]["map"], *golden["torchreid"]["cmc"]]),
        ("torchreid", ("map", *cmc), [golden["torchreid_cython"]["map"], *golden["torchreid_cython"]["cmc"]]),
        ("torchreid", ("map", *cmc), [golden["fastreid"]["map"], *golden["fastreid"]["cmc"]]),
        ("torchreid", ("minp",), [golden["fastreid"]["minp"]]),
        ("layumi", ("map_trapezoid(empty=zero)",), [layumi["map_over_all_queries"]]),
        ("layumi", over_all, layumi["cmc_over_all_queries"]),
        ("open-reid", (*cmc, *spread), [*market, *golden["openreid"]["cmc_default"]]),
    ):
        own, worst, best = (values(side, *specs, protocol=protocol) for side in sides)
        settled = np.array(worst) == np.array(best)
        assert np.array(own)[settled] == near(np.array(expected)[settled])
        assert_some_order(expected, own, worst, best)
    assert values(golden, "map(ties=pooled)", protocol="open-reid") == [near(golden["openreid"]["map"])]


def test_fewer_images_left_than_the_rank_asked_for() -> None:
    own = values(GOLDENS["reid"]["few_left"], *(f"hit@{k}" for k in range(1, 6)))
    assert own == [0.0, 0.5, 0.5, 0.5, 1.0]
    theirs = GOLDENS["reid"]["few_left"]["cython"]  # at ranks 3 and 4 it shows what the query before left
    assert [own[k] for k in (0, 1, 4)] == [theirs[k] for k in (0, 1, 4)]
    assert theirs[2:4] == [0.0, 0.0]


def test_junk_is_out_by_default_and_vectors_agree_with_distances() -> None:
    golden = GOLDENS["reid"]["drawn"]
    specs = ("map", "minp", "hit@1")
    assert values(golden, *specs) == values(golden, *specs, protocol="market1501")
    assert values(golden, *specs)[0] > values(golden, *specs, protocol="torchreid")[0]
    rng = np.random.default_rng(3)
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    query, gallery = rng.normal(size=(10, 4)), rng.normal(size=(60, 4))
    distance = np.sqrt(((query[:, None] - gallery) ** 2).sum(axis=2))
    reports = [
        sy.evaluate("rankings", truth, side, specs, confidence=None, options={"distance": "l2"})
        for side in ({"query": query, "gallery": gallery}, {"distance": distance})
    ]
    assert reports[0].scores == reports[1].scores


def test_excluded_documents_may_be_added_or_taken_away() -> None:
    truth = {"query": ["q"] * 4, "doc": ["a", "b", "x", "y"], "relevance": [1, 1, 1, 0], "exclude": [0, 0, 1, 1]}
    run = {"query": ["q"] * 5, "doc": ["x", "a", "y", "c", "b"], "score": [5, 4, 3, 2, 1]}
    specs = ("map", "hit@1", "minp", "map_trapezoid", "precision@2", "mp@5")
    report = sy.evaluate("rankings", truth, run, specs, confidence=None)
    # a is first, c is second, b is third
    expected = [(1 + 2 / 3) / 2, 1.0, 2 / 3, (1 + (1 / 2 + 2 / 3) / 2) / 2, 0.5, 2 / 3]
    assert [report[spec].value for spec in specs] == [near(value) for value in expected]
    less = {name: [column[i] for i in (1, 3, 4)] for name, column in run.items()}
    again = sy.evaluate("rankings", truth, less, specs, confidence=None)
    assert [again[spec].value for spec in specs] == [report[spec].value for spec in specs]


def test_hit_rates_never_fall_with_k() -> None:
    rates = values(GOLDENS["reid"]["ties"], *(f"hit@{k}" for k in (1, 2, 3, 5, 10, 30)))
    assert rates == sorted(rates)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_landmarks_by_level(level: str) -> None:
    golden = GOLDENS["landmarks"]
    truth: dict[str, list[Any]] = {"query": [], "doc": [], "relevance": []}
    run: dict[str, list[Any]] = {"query": [], "doc": [], "score": []}
    for place, query in enumerate(golden["queries"]):
        for grade, kind in ((2, "easy"), (1, "hard"), (0, "junk")):
            truth["query"] += [f"q{place}"] * len(query[kind])
            truth["doc"] += [f"d{doc}" for doc in query[kind]]
            truth["relevance"] += [grade] * len(query[kind])
        run["query"] += [f"q{place}"] * len(query["ranked"])
        run["doc"] += [f"d{doc}" for doc in query["ranked"]]
        run["score"] += list(range(len(query["ranked"]), 0, -1))
    specs = ("map_trapezoid", "map", "mp@1", "mp@5", "mp@10")
    report = sy.evaluate("rankings", truth, run, specs, confidence=None, options={"protocol": f"revisited-{level}"})
    kept = [query for query in golden["queries"] if query["ap"][level] is not None]
    assert report["map_trapezoid"].value == near(golden["map"][level])
    assert report["map"].value == near(float(np.mean([query["ap_without_trapezoid"][level] for query in kept])))
    for k in ("1", "5", "10"):
        assert report[f"mp@{k}"].value == near(float(np.mean([query["mp"][level][k] for query in kept])))


def test_bad_input_is_refused() -> None:
    golden = GOLDENS["reid"]["few_left"]
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    distance = np.array(golden["distance"])

    def run(side: dict[str, Any], predictions: dict[str, Any], metric: str = "map", **options: str) -> None:
        sy.evaluate("rankings", side, predictions, [metric], confidence=None, options=options)

    labels = {name: truth[name] for name in ("query_label", "gallery_label")}
    with refuses("E-missing-key", "query_camera"):
        run(labels, {"distance": distance}, protocol="market1501")
    with refuses("E-missing-key", "gallery_camera"):
        run(labels | {"query_camera": truth["query_camera"]}, {"distance": distance})
    with refuses("E-incompatible", "4"):
        run(truth, {"distance": distance[:, :4]})
    with refuses("E-invalid-number", "row 1"):
        run(truth, {"distance": np.array([[1.0, 2, 3, 4, 5], [1, np.nan, 3, 4, 5]])})
    with refuses("E-conflict", "distance"):
        run(truth, {"distance": distance, "query": distance})
    with refuses("E-incompatible", "revisited-easy"):
        run(truth, {"distance": distance}, protocol="revisited-easy")
    lists = {"query": ["q"], "doc": ["a"], "relevance": [3]}, {"query": ["q"], "doc": ["a"], "score": [1]}
    with refuses("E-out-of-range", "3"):
        run(*lists, protocol="revisited-hard")
    with refuses("E-unsupported", "distance"):
        run(*lists, "map(ties=pooled)")
    with refuses("E-out-of-range"):
        run(lists[0] | {"exclude": [2]}, lists[1])


def single_shot_by_all_draws(golden: dict[str, Any], k: int) -> float:
    """The mean over queries, and over every gallery with one image of each identity that the camera rule leaves."""
    gallery, camera = np.array(golden["gallery_id"]), np.array(golden["gallery_camera"])
    queries = []
    for query, own, line in zip(golden["query_id"], golden["query_camera"], golden["distance"], strict=True):
        distance = np.array(line)
        left = (gallery != query) | (camera != own)
        if not (left & (gallery == query)).any():
            continue
        images = [np.flatnonzero(left & (gallery == identity)) for identity in np.unique(gallery[left])]
        hits = [
            float(sum(distance[i] < distance[own_image] for i in draw) < k)
            for draw in itertools.product(*images)
            for own_image in draw
            if gallery[own_image] == query
        ]
        queries.append(float(np.mean(hits)))
    return float(np.mean(queries))


def test_one_gallery_image_of_each_identity_is_the_mean_over_all_draws() -> None:
    rng = np.random.default_rng(5)
    golden: dict[str, Any] = {
        "query_id": [1, 2, 3, 9],
        "query_camera": [0, 1, 0, 0],
        "gallery_id": [1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5],
        "gallery_camera": [0, 1, 2, 0, 2, 1, 2, 1, 0, 1, 2],
        "distance": rng.permutation(44).reshape(4, 11).tolist(),
    }
    specs = [f"hit@{k}(shot=single)" for k in (1, 2, 3, 5)]
    expected = [single_shot_by_all_draws(golden, k) for k in (1, 2, 3, 5)]
    assert values(golden, *specs) == [near(value) for value in expected]
    assert expected[0] < 1
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    vectors = {"query": rng.normal(size=(4, 5)), "gallery": rng.normal(size=(11, 5))}
    unit = {name: side / np.linalg.norm(side, axis=1, keepdims=True) for name, side in vectors.items()}
    report = sy.evaluate("rankings", truth, vectors, specs, confidence=None)
    golden["distance"] = (-unit["query"] @ unit["gallery"].T).tolist()
    expected = [single_shot_by_all_draws(golden, k) for k in (1, 2, 3, 5)]
    assert [report[spec].value for spec in specs] == [near(value) for value in expected]


def test_single_shot_needs_a_cut_and_all_distances() -> None:
    lists = {"query": ["q"], "doc": ["a"], "relevance": [1]}, {"query": ["q"], "doc": ["a"], "score": [1]}
    with refuses("E-unsupported", "distance"):
        sy.evaluate("rankings", *lists, ["hit@1(shot=single)"], confidence=None)
    for spec in ("hit(shot=single)", "hit@1(shot=single, spread=yes)"):
        with refuses("E-invalid-spec", "hit@1(shot=single)"):
            sy.evaluate("rankings", *lists, [spec], confidence=None)


def test_the_cmc_has_the_hit_rates_and_a_band() -> None:
    report = evaluate(GOLDENS["reid"]["drawn"], "hit@1", "hit@10")
    columns = report.figure("cmc").columns
    assert (columns["x"][0], columns["y"][0]) == (1, report["hit@1"].value)
    assert (columns["x"][9], columns["y"][9]) == (10, report["hit@10"].value)
    assert all(low <= y <= high for low, y, high in zip(columns["low"], columns["y"], columns["high"], strict=True))
    assert columns["y"] == sorted(columns["y"])


def test_old_oxford_takes_good_and_ok_for_right() -> None:
    truth = {"query": ["q"] * 4, "doc": ["good", "ok", "junk", "none"], "relevance": [2, 1, 0, 0]}
    run = {"query": ["q"] * 5, "doc": ["junk", "good", "x", "ok", "none"], "score": [5, 4, 3, 2, 1]}
    report = sy.evaluate("rankings", truth, run, ["map_trapezoid"], confidence=None, options={"protocol": "oxford"})
    # good is first, and ok third: (1 + 1) / 2 and (1 / 2 + 2 / 3) / 2.
    assert report["map_trapezoid"].value == near((1 + (1 / 2 + 2 / 3) / 2) / 2)


def test_cameras_without_a_common_id_are_noticed() -> None:
    golden = GOLDENS["reid"]["drawn"]
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    predictions = {"distance": np.array(golden["distance"])}
    assert "cameras-differ" not in {finding.code for finding in sy.check("rankings", truth, predictions).findings}
    moved = truth | {"gallery_camera": truth["gallery_camera"] + 10}
    assert sy.check("rankings", moved, predictions)["cameras-differ"].severity == "warning"


def explained(golden: dict[str, Any], *tools: str) -> dict[str, dict[str, float]]:
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    predictions = {"distance": np.array(golden["distance"])}
    report = sy.evaluate("rankings", truth, predictions, ["map"], confidence=None, explain=tools)
    return {each.tool: dict(each.theirs) for each in report.explanations}


@pytest.mark.parametrize("name", ["drawn", "ties"])
def test_explanations_have_the_numbers_of_the_tools(name: str) -> None:
    golden = GOLDENS["reid"][name]
    tools = explained(golden, "torchreid", "fast-reid", "layumi", "open-reid")
    worst, best = (explained(ordered(golden, first), *tools) for first in (False, True))
    for tool, cmc in (
        ("torchreid", golden["torchreid"]["cmc"]),
        ("fast-reid", golden["fastreid"]["cmc"]),
        ("layumi", golden["layumi"]["cmc_over_all_queries"]),
        ("open-reid", golden["openreid"]["cmc_market"]),
    ):
        for k in (1, 5, 10):
            assert_some_order(cmc[k - 1], *(side[tool][f"hit@{k}"] for side in (tools, worst, best)))
    for tool, metric, expected in (
        ("torchreid", "map", golden["torchreid"]["map"]),
        ("torchreid", "map", golden["torchreid_cython"]["map"]),
        ("fast-reid", "map", golden["fastreid"]["map"]),
        ("fast-reid", "minp", golden["fastreid"]["minp"]),
        ("layumi", "map", golden["layumi"]["map_over_all_queries"]),
    ):
        assert_some_order(expected, *(side[tool][metric] for side in (tools, worst, best)))
    assert tools["open-reid"]["map"] == near(golden["openreid"]["map"])
    for level, expected in golden["fastreid"]["tpr_at_fpr"].items():
        assert tools["fast-reid"][f"tpr@{level}"] == near(expected)


@pytest.mark.parametrize("name", ["drawn", "ties"])
def test_what_fast_reid_calls_tpr_is_not_tar(name: str) -> None:
    golden = GOLDENS["reid"][name]
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    (explanation,) = sy.explain("rankings", truth, {"distance": np.array(golden["distance"])}, "fast-reid")
    junk, _ = explanation.steps
    for level, expected in golden["tar_at_far_same_pairs"].items():
        assert junk.values[f"tpr@{level}"] == near(expected)


def test_the_rate_of_fast_reid_reads_the_curve_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(60):
        many, images, values = rng.integers(2, 6), rng.integers(8, 25), rng.integers(3, 60)
        data = {
            "query_id": rng.integers(0, 4, many),
            "query_camera": rng.integers(0, 2, many),
            "gallery_id": rng.integers(0, 4, images),
            "gallery_camera": rng.integers(0, 2, images),
            "distance": rng.integers(0, values, (many, images)),
        }
        same = data["query_id"][:, None] == data["gallery_id"]
        kept = ~(same & (data["query_camera"][:, None] == data["gallery_camera"]))
        if not (same & kept).any():
            continue
        fpr, tpr, _ = metrics.roc_curve(~same[kept], data["distance"][kept])
        shown = explained(data, "fast-reid")["fast-reid"]
        for level in (0.01, 0.1):
            assert shown[f"tpr@{level}"] == near(tpr[np.argmin(np.abs(fpr - level))])


def test_vectors_have_the_rates_of_their_distances() -> None:
    golden, rng = GOLDENS["reid"]["drawn"], np.random.default_rng(3)
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    query, gallery = rng.normal(size=(10, 4)), rng.normal(size=(60, 4))
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (query, gallery)]
    for distance, matrix in (
        ("l2", ((query[:, None] - gallery) ** 2).sum(axis=2)),
        ("cosine", 1 - unit[0] @ unit[1].T),
    ):
        shown = [
            sy.explain("rankings", truth, side, "fast-reid", options={"distance": distance})[0].theirs
            for side in ({"query": query, "gallery": gallery}, {"distance": matrix})
        ]
        assert shown[0] == near(shown[1])


def test_explanations_need_cameras() -> None:
    truth, predictions = {"query_label": [1, 1, 2, 2]}, {"query": np.eye(4)}
    with refuses("E-unsupported", "cameras"):
        sy.evaluate("rankings", truth, predictions, ["map"], confidence=None, explain=["layumi"])
    lists = {"query": ["q"], "doc": ["a"], "relevance": [1]}, {"query": ["q"], "doc": ["a"], "score": [1]}
    with refuses("E-unsupported", "cameras"):
        sy.evaluate("rankings", *lists, ["map"], confidence=None, explain=["layumi"])


@pytest.mark.parametrize("name", ["drawn", "ties"])
def test_tar_of_the_pairs_that_the_camera_rule_leaves(name: str) -> None:
    golden = GOLDENS["reid"][name]
    query, gallery = np.array(golden["query_id"]), np.array(golden["gallery_id"])
    same = query[:, None] == gallery
    camera = np.array(golden["query_camera"])[:, None] == np.array(golden["gallery_camera"])
    kept = ~(same & camera)
    label, distance = same[kept].astype(int), np.array(golden["distance"], dtype=float)[kept]
    for far, expected in golden["tar_at_far_same_pairs"].items():
        report = sy.evaluate("labels", {"label": label}, {"score": -distance}, [f"tar@{far}"], confidence=None)
        assert report[f"tar@{far}"].value == near(expected)


def test_people_are_resampled_unless_queries_are_asked_for() -> None:
    golden = GOLDENS["reid"]["drawn"]
    truth = {name: np.array(golden[column]) for name, column in ARRAYS.items()}
    predictions = {"distance": np.array(golden["distance"])}
    rows = [(q, g) for q in range(10) for g in range(60) if golden["gallery_id"][g] != -1]
    ids, cameras = (golden["query_id"], golden["gallery_id"]), (golden["query_camera"], golden["gallery_camera"])
    judged = {
        "query": [q for q, _ in rows],
        "doc": [g for _, g in rows],
        "relevance": [int(ids[0][q] == ids[1][g]) for q, g in rows],
        "exclude": [int(ids[0][q] == ids[1][g] and cameras[0][q] == cameras[1][g]) for q, g in rows],
        "person": [ids[0][q] for q, _ in rows],
    }
    run = {"query": judged["query"], "doc": judged["doc"], "score": [-golden["distance"][q][g] for q, g in rows]}
    for clusters in ((None, "person"), ("person", "person"), ("query", None)):
        sides = zip(((truth, predictions), (judged, run)), clusters, strict=True)
        arrays, lists = (sy.evaluate("rankings", *side, ["minp"], cluster=cluster)["minp"] for side, cluster in sides)
        assert arrays.value == near(lists.value)
        assert arrays.interval is not None
        assert lists.interval is not None
        assert arrays.interval == tuple(near(end) for end in lists.interval)


def crowd(people: int = 30, seed: int = 2) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Two models of people with four queries each, whom one quality moves together."""
    rng = np.random.default_rng(seed)
    query, gallery = np.repeat(np.arange(people), 4), np.repeat(np.arange(people), 5)
    truth = {
        "query_label": query,
        "gallery_label": gallery,
        "query_camera": np.zeros(len(query), int),
        "gallery_camera": np.ones(len(gallery), int),
    }
    hard = np.repeat(rng.normal(0, 0.5, people), 4)[:, None]
    far = query[:, None] != gallery
    models = [{"distance": rng.normal(0, 1, far.shape) + far * (gain - hard)} for gain in (1.0, 1.5)]
    return truth, models


def test_every_path_has_people_for_units(tmp_path: Path) -> None:
    truth, models = crowd()
    named = sy.evaluate("rankings", truth, models[0], ["map"], cluster="person", save_influences=True)
    report = sy.evaluate("rankings", truth, models[0], ["map"], save_influences=True)
    assert report == named
    report.to_json(tmp_path / "report.json")
    assert sy.load(tmp_path / "report.json") == report
    assert report["map"].clusters == 30
    queries = sy.evaluate("rankings", truth, models[0], ["map"], cluster="query")["map"]
    assert queries.clusters == 120
    assert report["map"].se > 1.3 * queries.se  # queries of one person go together
    assert sy.compare("rankings", truth, *models, ["map"]) == sy.compare(
        "rankings", truth, *models, ["map"], cluster="person"
    )
    runs = sy.evaluate("rankings", truth, models, ["map"], runs="seeds")
    assert runs == sy.evaluate("rankings", truth, models, ["map"], runs="seeds", cluster="person")
    assert runs.request.cluster == "person"
    other = sy.evaluate("rankings", truth, models[1], ["map"], save_influences=True)
    verdicts = [sy.gate(other, ["map < baseline - 0.02"], baseline=base) for base in (report, named)]
    assert verdicts[0] == verdicts[1]


def test_a_setting_that_knows_no_clusters_has_queries_for_units() -> None:
    truth, models = crowd()
    reports = [
        sy.evaluate("rankings", truth, models[0], ["hit@1"], sequence="exact"),
        sy.evaluate("rankings", truth, models[0], ["hit@1"], cluster="query"),
    ]
    assert reports[0].request.cluster is None
    assert any("sequence" in note for note in reports[0].notes)
    assert not any("sequence" in note for note in reports[1].notes)
    strata = sy.evaluate("rankings", truth, models[0], ["hit@1"], strata="person")
    assert (strata.request.cluster, strata["hit@1"].clusters) == (None, 0)


def test_labels_without_cameras_are_no_people() -> None:
    truth, models = crowd()
    labels = {name: column for name, column in truth.items() if name.endswith("label")}
    assert sy.evaluate("rankings", labels, models[0], ["hit@1"]).request.cluster is None


def test_the_page_shows_the_nearest_images_of_the_worst_queries(tmp_path: Path) -> None:
    distance = np.array([[5, 1, 2, 3, 4], [3, 1, 2, 5, 4]])
    truth = {
        "query_label": np.array([1, 2]),
        "gallery_label": np.array([1, 2, 1, -1, 1]),
        "query_camera": np.array([0, 0]),
        "gallery_camera": np.array([1, 1, 0, 0, 2]),
        "query_id": np.array(["q1", "q2"]),
        "gallery_id": np.array(["a", "b", "c", "d", "e"]),
    }
    report = sy.evaluate("rankings", truth, {"distance": distance}, ["map"], confidence=None)
    gallery = report.details.gallery()
    shown = {
        shot.unit: [(mark.label, mark.matched if mark.counts else None) for mark in shot.layers[0].marks]
        for shot in gallery.shots
    }
    assert shown == {
        # b is another person, c is of the query's camera, d is junk
        "q1": [("q1", True), ("1 b", False), ("2 c", None), ("3 d", None), ("4 e", True), ("5 a", True)],
        "q2": [("q2", True), ("1 b", True), ("2 c", False), ("3 a", False), ("4 e", False), ("5 d", None)],
    }
    assert [shot.unit for shot in gallery.shots] == ["q1", "q2"]  # q1 has ap (1/2 + 2/3) / 2, q2 has 1
    image = pytest.importorskip("PIL.Image")
    for name in ("q1", "a", "b"):
        image.new("RGB", (8, 16), (200, 0, 0)).save(tmp_path / f"{name}.png")
    report.to_html(tmp_path / "page.html", images=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<image ") == 5  # q1, and a and b in both rows
    for words in ("2 right, 1 wrong, 2 taken out", "1 right, 3 wrong, 1 taken out", "Thumbnails: 5 of 12."):
        assert words in page
    assert "missed (false negative)" not in page


def test_the_page_of_vectors_shows_distances() -> None:
    truth = {"query_label": np.array([1, 2]), "gallery_label": np.array([2, 1])}
    vectors = {"query": np.array([[1.0, 0], [0, 2]]), "gallery": np.array([[3.0, 4], [0, 1]])}
    for distance, expected in (("cosine", ["0.4 0", "1 1"]), ("l2", ["1.41 1", "4.47 0"])):
        report = sy.evaluate("rankings", truth, vectors, ["map"], confidence=None, options={"distance": distance})
        first = next(shot for shot in report.details.gallery().shots if shot.unit == "0")
        assert [mark.label for mark in first.layers[0].marks][1:] == expected
    lists = {"query": ["q"], "doc": ["a"], "relevance": [1]}, {"query": ["q"], "doc": ["a"], "score": [1]}
    assert sy.evaluate("rankings", *lists, ["map"], confidence=None).details.gallery() is None


@pytest.mark.parametrize("images", [3, 30])
def test_equal_distances_have_the_ranks_of_lists(images: int) -> None:
    rng = np.random.default_rng(images)
    labels, distance = rng.integers(0, 2, images), rng.integers(0, 6, (4, images))
    query = np.array([0, 1, 0, 1])
    truth = {"query_label": query, "gallery_label": labels}
    rows = [(q, g) for q in range(4) for g in range(images)]
    judged = {"query": [q for q, _ in rows], "doc": [g for _, g in rows]}
    relevant = {"relevance": [int(query[q] == labels[g]) for q, g in rows]}
    run = judged | {"score": [-int(distance[q, g]) for q, g in rows]}
    specs = ("map", "minp", "hit@1", "mrr(ties=input)")
    arrays = sy.evaluate("rankings", truth, {"distance": distance}, specs, confidence=None)
    lists = sy.evaluate("rankings", judged | relevant, run, specs, confidence=None)
    for spec in specs:
        assert arrays.units().values[spec] == pytest.approx(lists.units().values[spec], nan_ok=True)
