"""Task ellipses: the loop of the specification, worked values, scikit-learn, and the decisions at the edges."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.lazy import lazy
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.weights import EachUnit
from steelyard.match.ellipses import DISTANCES, WEIGHTS, distance_matrix

sklearn_metrics = lazy("sklearn.metrics")

COLUMNS = ("xc", "yc", "theta", "a", "b")
TRUTH = [150, 100, 45, 40, 20]


def table(images: dict[Any, list[list[float]]]) -> dict[str, list[Any]]:
    """Rows xc, yc, theta, a, b (and score) by image; an image without rows gets an empty one."""
    rows = [(image, *row) for image, members in images.items() for row in members or [[math.nan] * 5]]
    names = ("image", *COLUMNS, "score")
    width = max(len(row) for row in rows)
    padded = [row + (math.nan,) * (width - len(row)) for row in rows]
    return {name: list(column) for name, column in zip(names, zip(*padded, strict=True), strict=False)}


def one(truth: list[list[float]], predicted: list[list[float]], spec: str = "score", **settings: Any) -> float:
    """The value for a single image."""
    return float(score(table({"i": truth}), table({"i": predicted}), spec, **settings).value)


def score(truth: Any, predicted: Any, spec: str = "score", **settings: Any) -> Any:
    return sy.evaluate("ellipses", truth, predicted, spec, confidence=None, **settings)[spec]


# ---- the score ----


def literal(truth: np.ndarray, predicted: np.ndarray, t: float, distance: str, weights=WEIGHTS) -> tuple[float, float]:
    """The pseudo-code of the specification for one image, and the variant that divides by the truths."""
    if not len(truth) or not len(predicted):
        return float(len(truth) == len(predicted)), math.nan if not len(truth) else 0.0
    dists = distance_matrix(truth, predicted, distance, weights)
    num, rem1, rem2 = 0.0, [], []
    for _ in range(min(dists.shape)):
        best = None
        for i in range(dists.shape[0]):
            for j in range(dists.shape[1]):
                if i not in rem1 and j not in rem2 and (best is None or dists[i, j] < dists[best]):
                    best = (i, j)
        rem1.append(best[0])
        rem2.append(best[1])
        num += min(1.0, t / dists[best]) if dists[best] else 1.0
    return num / max(dists.shape), num / dists.shape[0]


def by_image(data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows = np.column_stack([np.asarray(data[name], dtype=float) for name in COLUMNS])
    image = np.asarray(data["image"])
    return {i: rows[(image == i) & ~np.isnan(rows[:, 0])] for i in dict.fromkeys(data["image"])}


@pytest.mark.parametrize("distance", list(DISTANCES))
def test_score_is_the_loop_of_the_specification(distance: str) -> None:
    truth, predicted = DRAW["ellipses"](np.random.default_rng(1), 40)
    t = DISTANCES[distance].threshold / 2
    sides = by_image(truth), by_image(predicted)
    expected = np.array([literal(sides[0][i], sides[1][i], t, distance) for i in sides[0]])
    spec = f"score(distance={distance}, t={t:g})" if distance != "param" else f"score(t={t:g})"
    assert score(truth, predicted, spec).value == pytest.approx(expected[:, 0].mean(), rel=1e-12)
    spec = spec.replace("score", "score_truths")
    assert score(truth, predicted, spec).value == pytest.approx(np.nanmean(expected[:, 1]), rel=1e-12)


def test_worked_values() -> None:
    """From the source of the score; the pairs are (score, score_truths)."""
    result = [138, 112, 55, 40, 20]
    assert one([TRUTH], [result]) == pytest.approx(0.35714, abs=5e-6)
    assert one([TRUTH], [result], "score(normalise=true)") == pytest.approx(0.66667, abs=5e-6)
    turned, extra = [150, 100, 225, 40, 20], [[10, 10, 0, 9, 8], [20, 10, 0, 9, 8], [30, 10, 0, 9, 8]]
    assert one([TRUTH], [turned]) == 1.0
    assert one([TRUTH], [TRUTH, *extra]) == 0.25
    assert one([TRUTH], [TRUTH, *extra], "score_truths") == 1.0
    wrong = [[185, 135, 45, 40, 20], [500, 500, 0, 9, 8]]  # the nearer one is 35 off, or 18.75 when normalised
    assert one([TRUTH], wrong) == pytest.approx(0.0714285714)
    assert one([TRUTH], wrong, "score_truths") == pytest.approx(0.1428571429)
    assert one([TRUTH], wrong, "score(normalise=true)") == pytest.approx(0.1333333333)
    assert one([TRUTH], wrong, "score_truths(normalise=true)") == pytest.approx(0.2666666667)


def test_threshold_and_zero_distance() -> None:
    """f(t) = 1, f(0) = 1 even for t = 0; just beyond the threshold it falls."""
    assert one([[0, 0, 0, 2, 1]], [[5, 0, 0, 2, 1]], "score(distance=center, t=5)") == 1.0
    assert one([[0, 0, 0, 2, 1]], [[10, 0, 0, 2, 1]], "score(distance=center, t=5)") == 0.5
    assert one([[0, 0, 0, 2, 1]], [[0, 0, 0, 2, 1]], "score(t=0)") == 1.0
    assert one([[0, 0, 0, 2, 1]], [[1, 0, 0, 2, 1]], "score(t=0)") == 0.0


def test_images_without_ellipses() -> None:
    assert one([], []) == 1.0
    assert one([TRUTH], []) == 0.0
    assert one([], [TRUTH]) == 0.0
    both = score(table({"a": [TRUTH], "b": []}), table({"a": [TRUTH], "b": []}))
    assert both.value == 1.0
    assert both.units == 2
    truths = score(table({"a": [TRUTH], "b": []}), table({"a": [], "b": [TRUTH]}), "score_truths")
    assert truths.value == 0.0
    assert truths.n_excluded == 1
    nothing = score(table({"a": []}), table({"a": [TRUTH]}), "score_truths")
    assert math.isnan(nothing.value)
    assert "no image has a truth" in nothing.undefined_reason


def test_ties_go_to_the_first_truth_and_detection() -> None:
    truth = [[0, 0, 0, 2, 1], [2, 0, 0, 2, 1]]
    predicted = [[1, 0, 0, 2, 1], [5, 0, 0, 2, 1]]  # the first is 1 from both truths
    spec = "score(distance=center, t=1)"
    assert one(truth, predicted, spec) == pytest.approx((1 + 1 / 3) / 2)
    assert one(truth[::-1], predicted, spec) == pytest.approx((1 + 1 / 5) / 2)


def test_greedy_and_optimal_differ_and_the_report_says_so() -> None:
    truth = [[0, 0, 0, 9, 9], [10, 0, 0, 9, 9]]
    predicted = [[9, 0, 0, 9, 9], [21, 0, 0, 9, 9]]  # greedy: 1 + 21; optimal: 9 + 11
    greedy = score(table({"i": truth, "k": [TRUTH]}), table({"i": predicted, "k": [TRUTH]}), "score(distance=center)")
    expected = (1 + 5 / 21) / 2, (5 / 9 + 5 / 11) / 2
    assert greedy.value == pytest.approx((expected[0] + 1) / 2)
    (note,) = greedy.notes
    assert "differ in 1 of 2 images" in note
    assert f"{(expected[0] + 1) / 2:.4f} with matching=greedy" in note
    assert f"{(expected[1] + 1) / 2:.4f} with matching=optimal" in note
    assert one(truth, predicted, "score(distance=center, matching=optimal)") == pytest.approx(expected[1])
    assert score(table({"i": [TRUTH]}), table({"i": [TRUTH]})).notes == ()


# ---- what was found ----


def test_precision_recall_f1_by_hand() -> None:
    """Two circles of radius 10; one found with its centre 1 off (IoU 0.8804), one found half, one false."""
    truth = {"a": [[0, 0, 0, 10, 10], [100, 0, 0, 10, 10]], "b": [[0, 0, 0, 10, 10]]}
    predicted = {"a": [[1, 0, 0, 10, 10], [105, 0, 0, 10, 10], [50, 50, 0, 5, 5]], "b": []}
    sides = table(truth), table(predicted)
    assert score(*sides, "precision").value == pytest.approx(1 / 3)
    assert score(*sides, "recall").value == pytest.approx(1 / 3)
    assert score(*sides, "f1").value == pytest.approx(2 / 6)
    assert score(*sides, "precision(iou=0.5)").value == pytest.approx(2 / 3)
    assert score(*sides, "recall(distance=center, t=5)").value == pytest.approx(2 / 3)
    assert score(*sides, "recall(distance=center, t=4.9)").value == pytest.approx(1 / 3)
    assert score(*sides, "detection_rate@5").value == pytest.approx(2 / 3)
    assert score(*sides, "detection_rate@1").value == pytest.approx(1 / 3)
    empty = table({"a": []})
    assert "no detection" in score(table({"a": [TRUTH]}), empty, "precision").undefined_reason
    assert "no truth" in score(empty, table({"a": [TRUTH]}), "recall").undefined_reason
    assert math.isnan(score(empty, empty, "f1").value)


def test_a_pair_at_the_iou_asked_for_counts() -> None:
    truth, predicted = [0, 0, 0, 10, 10], [0, 0, 0, 10, 8]
    assert one([truth], [predicted], "precision") == 1.0
    assert one([truth], [[*predicted, 1]], "ap") == 1.0
    assert one([truth], [predicted], "precision(iou=0.8000001)") == 0.0


def test_errors_of_the_matched_by_hand() -> None:
    truth = [[0, 0, 10, 10, 5], [100, 0, 0, 10, 9.9]]
    predicted = [[3, 4, 175, 12, 4], [100, 0, 60, 10, 9.9]]
    assert one(truth, predicted, "center_error") == pytest.approx(2.5)
    assert one(truth, predicted, "axis_error") == pytest.approx(0.75)
    assert one(truth, predicted, "axis_error(axis=major)") == pytest.approx(1)
    assert one(truth, predicted, "axis_error(axis=minor, relative=true)") == pytest.approx(0.1)
    angle = score(table({"i": truth}), table({"i": predicted}), "angle_error")
    assert angle.value == pytest.approx(15)  # 10 to 175 is 15; the other pair is nearly a circle
    assert angle.n_excluded == 1
    assert one(truth, predicted, "angle_error(round=1)") == pytest.approx((15 + 60) / 2)
    assert one(truth, predicted, "mean_distance(distance=center)") == pytest.approx(2.5)
    assert one(truth, predicted, "mean_distance(distance=center, within=1)") == pytest.approx(0)
    assert one([[0, 0, 0, 10, 5]], [[0, 0, 0, 10, 4]], "mean_iou") == pytest.approx(0.8)
    assert "no pair" in score(table({"i": truth}), table({"i": []}), "mean_iou").undefined_reason


def test_average_precision_is_that_of_scikit_learn() -> None:
    """scikit-learn knows no missed truths: its recall is over the hits, ours over the truths."""
    rng = np.random.default_rng(2)
    for kind_of_score in (lambda n: rng.random(n), lambda n: rng.integers(0, 4, n) / 4):
        truth, predicted = DRAW["ellipses"](rng, 60)
        known = ~np.isnan(np.asarray(predicted["xc"], dtype=float))
        predicted["score"] = np.where(known, kind_of_score(len(known)), np.nan)
        hit, truths = brute_hits(truth, predicted, 0.5)
        expected = (
            sklearn_metrics.average_precision_score(hit, np.asarray(predicted["score"])[known]) * hit.sum() / truths
        )
        assert score(truth, predicted, "ap(iou=0.5)").value == pytest.approx(expected, rel=1e-12)


def brute_hits(truth: dict[str, Any], predicted: dict[str, Any], iou: float) -> tuple[np.ndarray, int]:
    """The highest score takes the free truth with the largest IoU: written out, with plain loops."""
    true, seen = by_image(truth), by_image(predicted)
    image = np.asarray(predicted["image"])
    scores = np.asarray(predicted["score"], dtype=float)
    known = ~np.isnan(np.asarray(predicted["xc"], dtype=float))
    hits = np.zeros(len(image), dtype=int)
    for name in true:
        rows = np.flatnonzero((image == name) & known)
        if not len(rows) or not len(true[name]):
            continue
        overlap = 1 - distance_matrix(true[name], seen[name], "iou")
        free = set(range(len(true[name])))
        for j in sorted(range(len(rows)), key=lambda j: (-scores[rows[j]], j)):
            best = max(free, key=lambda i: overlap[i, j], default=None)
            if best is not None and overlap[best, j] >= iou:
                free.remove(best)
                hits[rows[j]] = 1
    return hits[known], sum(map(len, true.values()))


@pytest.mark.parametrize(
    ("kind", "expected"), [("step", 0.22784), ("voc11", 0.26840), ("voc", 0.24569), ("coco", 0.24816)]
)
def test_average_precision_of_the_worked_example(kind: str, expected: float) -> None:
    """24 detections, 15 truths, true positives at ranks 1, 3, 10, 12, 13, 14, 23."""
    truth = {f"i{n:02}": [[0, 0, 0, 5, 5]] for n in range(15)}
    truth |= {f"j{n:02}": [] for n in range(17)}
    right = dict(zip((1, 3, 10, 12, 13, 14, 23), range(7), strict=True))
    predicted: dict[str, list[list[float]]] = {name: [] for name in truth}
    for rank in range(1, 25):
        name = f"i{right[rank]:02}" if rank in right else f"j{(rank % 17):02}"
        predicted[name].append([0, 0, 0, 5, 5, 1 - rank / 100])
    spec = "ap" if kind == "step" else f"ap(kind={kind})"
    assert score(table(truth), table(predicted), spec).value == pytest.approx(expected, abs=5e-6)


def test_average_precision_needs_scores() -> None:
    scores = score(table({"i": [TRUTH]}), table({"i": [TRUTH]}), "ap")
    assert math.isnan(scores.value)
    assert scores.undefined_reason == "the detections have no score"
    assert one([TRUTH], [[*TRUTH, 0.5]], "ap(iou=0.5:0.95, kind=coco)") == 1.0
    assert score(table({"i": [TRUTH], "k": []}), table({"i": [], "k": []}), "ap").value == 0.0


def test_average_precision_of_single_images() -> None:
    """The table of units agrees with images scored alone."""
    truth, predicted = DRAW["ellipses"](np.random.default_rng(3), 20)
    metric = catalogue.parse("ap(iou=0.5, kind=coco)", "ellipses")
    report = sy.evaluate("ellipses", truth, predicted, metric, confidence=None)
    units = report.units()
    for name, value in zip(units.units, units.values[str(metric)], strict=True):
        sides = [{k: [v for v, i in zip(c, data["image"], strict=True) if i == name] for k, c in data.items()}
                 for data in (truth, predicted)]  # fmt: skip
        alone = score(*sides, str(metric)).value
        assert value == pytest.approx(alone, nan_ok=True)
    assert EachUnit(3).rows == 3


def test_the_native_curve_checks_what_it_is_given() -> None:
    weights, truths = np.ones((2, 3)), np.ones(3)
    owner, hit = np.array([0, 3]), np.ones(2, dtype=np.uint8)
    with refuses(ValueError, "owner"):
        _native.ranked_ap(weights, truths, owner, hit, hit, 0)
    with refuses(ValueError, "kind"):
        _native.ranked_ap(weights, truths, owner % 3, hit, hit, 7)
    with refuses(ValueError):
        _native.ranked_ap_by_unit(truths, np.array([1, 0]), hit, hit, 0)


# ---- data ----


def test_angle_axes_and_direction_are_options() -> None:
    truth = table({"i": [TRUTH]})
    radians = table({"i": [[150, 100, math.radians(45), 40, 20]]})
    full = table({"i": [[150, 100, 45, 80, 40]]})
    up = table({"i": [[150, 380, -45, 40, 20]]})
    for data, options in ((radians, {"angle": "radians"}), (full, {"axes": "full"}), (up, {"y_up": 480})):
        assert score(truth, data).value < 1
        sided = {f"prediction.{name}": value for name, value in options.items()}
        assert score(truth, data, "mean_distance", options=sided).value == pytest.approx(0, abs=1e-12)
        assert score(data, data, options=options).value == 1
    report = sy.evaluate("ellipses", truth, up, options={"prediction.y-up": "480"}, confidence=None)
    assert report.to_dict()["body"]["request"]["options"] == {"prediction.y_up": "480"}


def test_contours_are_fitted(tmp_path: Path) -> None:
    t = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    c, s = math.cos(math.radians(45)), math.sin(math.radians(45))
    points = np.column_stack(
        [150 + 40 * c * np.cos(t) - 20 * s * np.sin(t), 100 + 40 * s * np.cos(t) + 20 * c * np.sin(t)]
    )
    truth = table({"i": [TRUTH], "k": []})
    flat = " ".join(f"{v:.17g}" for v in points.ravel())
    (tmp_path / "pred.csv").write_text(f"image,points\ni,{flat}\nk,\n", encoding="utf-8")
    import json

    lines = [{"image": "i", "points": points.tolist()}, {"image": "k"}]
    (tmp_path / "pred.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for predicted in (tmp_path / "pred.csv", tmp_path / "pred.jsonl", {"image": ["i", "k"], "points": [points, None]}):
        assert score(truth, predicted, "mean_distance").value == pytest.approx(0, abs=1e-6)
        assert score(truth, predicted).value == 1
    # y upwards holds for contours too
    up = {"image": ["i", "k"], "points": [np.column_stack([points[:, 0], 480 - points[:, 1]]), None]}
    assert score(truth, up, "mean_distance", options={"prediction.y_up": 480}).value == pytest.approx(0, abs=1e-6)


def test_all_formats_give_the_same(tmp_path: Path) -> None:
    import json

    truth, predicted = DRAW["ellipses"](np.random.default_rng(4), 12)
    expected = score(truth, predicted).value
    for name, data in (("truth", truth), ("found", predicted)):
        rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
        rows = [{k: v for k, v in row.items() if v == v} for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        lines = [",".join(str(row.get(k, "")) for k in data) for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(data), *lines]) + "\n", encoding="utf-8")
    for ending in ("csv", "jsonl"):
        assert score(tmp_path / f"truth.{ending}", tmp_path / f"found.{ending}").value == expected


def test_images_can_be_listed(tmp_path: Path) -> None:
    truth, predicted = table({"a": [TRUTH]}), table({"b": [TRUTH]})
    (tmp_path / "images.txt").write_text("a\nb\n\nc\n", encoding="utf-8")
    (tmp_path / "images.csv").write_text("image,place\na,x\nb,x\nc,y\n", encoding="utf-8")
    for images in (["a", "b", "c"], str(tmp_path / "images.txt"), tmp_path / "images.csv", {"image": ["a", "b", "c"]}):
        listed = sy.evaluate("ellipses", truth, predicted, "score", options={"images": images}, confidence=None)
        assert listed["score"].value == pytest.approx(1 / 3)  # a missed, b false, c empty on both sides
        assert listed["score"].units == 3
    numbers = sy.evaluate(
        "ellipses", table({1: [TRUTH]}), table({1: [TRUTH]}), options={"images": [1, 2]}, confidence=None
    )
    assert numbers.units().units.tolist() == [1, 2]
    with refuses("E-unmatched", "'a'"):
        score(truth, truth, options={"images": ["b"]})


def test_missing_and_extra_images() -> None:
    truth, predicted = table({"a": [TRUTH], "b": [TRUTH, TRUTH]}), table({"a": [TRUTH], "c": [TRUTH]})
    with refuses("E-unmatched", "'c'"):
        score(truth, predicted)
    with refuses("E-unmatched", "'b'"):
        score(truth, predicted, extra="skip")
    worst = sy.evaluate("ellipses", truth, predicted, extra="skip", missing="worst", confidence=None)
    assert worst["score"].value == 0.5
    assert (worst.coverage.missing, worst.coverage.extra, worst.coverage.truth) == (2, 1, 3)
    skipped = sy.evaluate("ellipses", truth, predicted, extra="skip", missing="skip", confidence=None)
    assert skipped["score"].value == 1
    assert skipped["score"].units == 1


def test_slices() -> None:
    truth = table({"a": [TRUTH, [10, 10, 0, 5, 4]], "b": [TRUTH], "c": []})
    predicted = table({"a": [TRUTH], "b": [], "c": [TRUTH]})
    scene = [*"xx", "x", "y"]
    report = sy.evaluate("ellipses", {**truth, "scene": scene}, predicted, by=["scene"], confidence=None)
    assert report.slices["scene"]["x"]["score"].value == pytest.approx(0.25)
    assert report.slices["scene"]["y"]["score"].value == 0
    # a column that varies inside an image splits both sides
    size = {**truth, "size": ["big", "small", "big", ""]}, {**predicted, "size": ["big", "", "big"]}
    report = sy.evaluate("ellipses", *size, by=["size"], confidence=None)
    assert report.slices["size"]["big"]["recall"].value == 0.5
    assert report.slices["size"]["small"]["recall"].value == 0
    with refuses("E-missing-column", "truth, row 1"):
        sy.evaluate("ellipses", size[0], predicted, by=["size"], confidence=None)


def test_sample_weights_of_images() -> None:
    truth = {**table({"a": [TRUTH], "b": [TRUTH]}), "sample_weight": [3, 1]}
    assert score(truth, table({"a": [TRUTH], "b": []})).value == 0.75


def test_samples_are_what_their_script_makes(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import make_ellipse_samples as m;"
        "m.SAMPLES = pathlib.Path(sys.argv[2]); m.main()"
    )
    subprocess.run([sys.executable, "-c", code, ROOT / "tools", tmp_path], check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv"))
    assert len(made) == 3
    for path in made:
        assert (tmp_path / path).read_bytes() == (ROOT / "src/steelyard/samples" / path).read_bytes(), path


# ---- pictures ----


def test_picture(tmp_path: Path, steelyard) -> None:
    from xml.etree import ElementTree

    truth = {"image": ["<7>"] * 2, "xc": [50, 10], "yc": [40, 90], "theta": [30, 0], "a": [20, 5], "b": [10, 5]}
    predicted = {name: values[:1] for name, values in truth.items()} | {"xc": [53], "yc": [44]}
    picture = sy.draw("ellipses", truth, predicted, "<7>", "score(distance=center)")
    root = ElementTree.fromstring(picture)
    shapes = [node for node in root.iter() if node.tag.endswith("}ellipse")]
    assert [node.get("class") for node in shapes] == ["truth", "truth", "prediction"]
    assert [node.get("fill") == "none" for node in shapes] == [True, False, True]
    texts = ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("}text")]
    assert {"T1", "T2", "D1", "5"} <= set(texts)  # the pair's distance
    assert any("<7>" in text and "0.5000" in text for text in texts)

    folder = ROOT / "src/steelyard/samples/ellipses"
    args = ("draw", "ellipses", folder / "truth.csv", folder / "model_a.csv", "--image", "img001.png")
    written = steelyard(*args, "-o", "out.svg")
    assert written.returncode == 0
    assert written.stdout == ""
    assert steelyard(*args).stdout == (tmp_path / "out.svg").read_text(encoding="utf-8")
    empty = sy.draw("ellipses", table({"i": []}), table({"i": []}), "i")
    assert ElementTree.fromstring(empty) is not None


@pytest.mark.parametrize(("task", "unit", "spec", "message"), [
    ("ellipses", "img01.png", "score", ("E-unknown-name", "'img01.png'")),
    ("ellipses", "i", "recall", ("E-invalid-spec", "makes")),
    ("weights", "i", "score", ("E-unsupported", "pictures")),
])  # fmt: skip
def test_no_picture(task: str, unit: str, spec: str, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.draw(task, table({"i": [TRUTH]}), table({"i": [TRUTH]}), unit, spec)


def test_an_image_without_an_ellipse_can_be_left_out() -> None:
    """By hand: 5/14 for i, 0 for k whose ellipse was missed, and e is empty: 1, or 0 / 0 as the specification has it."""
    truth = {"image": ["i", "k"], "xc": [150, 10], "yc": [100, 10], "theta": [45, 0], "a": [40, 5], "b": [20, 5]}
    predicted = {"image": ["i"], "xc": [138], "yc": [112], "theta": [55], "a": [40], "b": [20]}
    report = sy.evaluate(
        "ellipses",
        truth,
        predicted,
        ["score", "score(empty=skip)"],
        confidence=None,
        options={"images": ["i", "k", "e"]},
    )
    assert report["score"].value == pytest.approx((5 / 14 + 0 + 1) / 3, rel=1e-14)
    assert report["score(empty=skip)"].value == pytest.approx((5 / 14 + 0) / 2, rel=1e-14)
    assert report["score(empty=skip)"].n_excluded == 1
