"""Boxes: worked values, other references, the kinds of input."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.coco_reference import TWELVE, draw
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue

Data = dict[str, Any]


def ranked_case(hits: list[int], detections: int, truths: int) -> tuple[Data, Data]:
    """One image of far apart objects; detection i (from 1) is right where it is in `hits`."""
    x = 100.0 * np.arange(truths)
    truth = {"image": ["a"] * truths, "label": ["c"] * truths, "x": x, "y": 0 * x, "w": 0 * x + 10, "h": 0 * x + 10}
    places, next_hit = [], 0
    for rank in range(1, detections + 1):
        places.append(100.0 * next_hit if rank in hits else 1e6)
        next_hit += rank in hits
    result = np.array(places)
    return truth, {
        "image": ["a"] * detections, "label": ["c"] * detections, "x": result, "y": 0 * result, "w": 0 * result + 10,
        "h": 0 * result + 10, "score": np.linspace(0.9, 0.1, detections),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("step", 0.22783564261825132),
        ("voc11", 0.26839826839826836),
        ("voc", 0.24568668046928915),
        ("coco", 0.24816021974868288),
    ],
)
def test_the_worked_example_of_the_kinds(kind: str, expected: float) -> None:
    truth, predicted = ranked_case([1, 3, 10, 12, 13, 14, 23], 24, 15)
    spec = str(catalogue.parse(f"ap(kind={kind})", "boxes"))
    assert sy.evaluate("boxes", truth, predicted, spec, confidence=None)[spec].value == pytest.approx(
        expected, abs=1e-12
    )


def test_four_of_four_right_is_one() -> None:
    truth, predicted = ranked_case([1, 2, 3, 4], 4, 4)
    report = sy.evaluate("boxes", truth, predicted, "ap(kind=step)", confidence=None)
    assert report["ap(kind=step)"].value == 1.0


def test_step_is_sklearns_with_ties_as_one_step() -> None:
    from sklearn import metrics

    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, truths = int(rng.integers(5, 60)), int(rng.integers(5, 40))
        right = np.flatnonzero(rng.random(n) < 0.5)[:truths] + 1
        truth, predicted = ranked_case(right.tolist(), n, truths)
        predicted["score"] = np.round(rng.random(n), 1)
        if len(right) == 0:
            continue
        labels = np.isin(np.arange(1, n + 1), right)
        expected = metrics.average_precision_score(labels, predicted["score"]) * len(right) / truths
        value = sy.evaluate("boxes", truth, predicted, "ap(kind=step)", confidence=None)["ap(kind=step)"].value
        assert value == pytest.approx(expected, abs=1e-12)


def voc_ap(hits: Any, positives: int, points: int | None) -> float:
    """The text of the VOC development kit, written down again: all points, or `points` of recall."""
    tp = np.cumsum(hits)
    precision, recall = tp / np.arange(1, len(hits) + 1), tp / positives
    if points is not None:
        reached = [precision[recall >= t] for t in np.linspace(0, 1, points)]
        return float(np.mean([p.max() if len(p) else 0.0 for p in reached]))
    r = np.concatenate([[0.0], recall, [1.0]])
    p = np.concatenate([[0.0], precision, [0.0]])
    p = np.maximum.accumulate(p[::-1])[::-1]
    return float(np.sum(np.diff(r) * p[1:]))


def test_voc_kinds_against_an_independent_implementation() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, truths = int(rng.integers(3, 80)), int(rng.integers(3, 60))
        hits = np.zeros(n, dtype=bool)
        hits[np.flatnonzero(rng.random(n) < 0.6)[:truths]] = True
        truth, predicted = ranked_case((np.flatnonzero(hits) + 1).tolist(), n, truths)
        report = sy.evaluate("boxes", truth, predicted, ["ap(kind=voc)", "ap(kind=voc11)"], confidence=None)
        assert report["ap(kind=voc)"].value == pytest.approx(voc_ap(hits, truths, None), abs=1e-12)
        assert report["ap(kind=voc11)"].value == pytest.approx(voc_ap(hits, truths, 11), abs=1e-12)


def test_vocs_rule_gives_a_taken_truth_no_second_choice() -> None:
    truth = {
        "image": [1, 1],
        "label": ["c", "c"],
        "x": [0.0, 3.0],
        "y": [0.0, 0.0],
        "w": [10.0, 10.0],
        "h": [10.0, 10.0],
    }
    predicted = {
        "image": [1, 1], "label": ["c", "c"], "x": [0.0, 1.0], "y": [0.0, 0.0], "w": [10.0, 10.0], "h": [10.0, 10.0],
        "score": [0.9, 0.8],
    }  # fmt: skip
    report = sy.evaluate("boxes", truth, predicted, ["ap(kind=voc)", "ap(kind=voc, rule=voc)"], confidence=None)
    assert report["ap(kind=voc)"].value == 1.0
    assert report["ap(kind=voc, rule=voc)"].value == 0.5


def small() -> tuple[Data, Data]:
    """Two classes, three images; image 3 has no object. By hand below."""
    truth = {
        "image": [1, 1, 2], "label": ["cat", "dog", "cat"], "x": [0.0, 50.0, 0.0], "y": [0.0, 0.0, 0.0],
        "w": [10.0, 10.0, 10.0], "h": [10.0, 10.0, 10.0], "images": [1, 2, 3],
    }  # fmt: skip
    predicted = {
        "image": [1, 1, 2, 3, 3], "label": ["cat", "cat", "cat", "dog", "cat"], "x": [0.0, 0.0, 2.0, 0.0, 0.0],
        "y": [0.0] * 5, "w": [10.0] * 5, "h": [10.0] * 5, "score": [0.9, 0.8, 0.7, 0.6, 0.2],
    }  # fmt: skip
    return truth, predicted


def test_a_working_point_by_hand() -> None:
    report = sy.evaluate(
        "boxes", *small(),
        ["precision", "recall", "f1", "fppi", "fpr_image", "fpr_candidate", "mean_iou", "best_f1", "precision(label=dog)"],
        confidence=None,
    )  # fmt: skip
    # Kept at 0.5: cat hit, cat duplicate, cat hit (IoU 80/120), dog on nothing.
    assert report["precision"].value == pytest.approx(2 / 4)
    assert report["recall"].value == pytest.approx(2 / 3)
    assert report["f1"].value == pytest.approx(4 / 7)
    assert report["fppi"].value == pytest.approx(2 / 3)
    # Absent: image 2 no dog; image 3 neither. Detected there: dog in 3.
    assert report["fpr_image"].value == pytest.approx(1 / 3)
    assert report["fpr_candidate"].value == pytest.approx(2 / 3)
    assert report["mean_iou"].value == pytest.approx((1 + 80 / 120) / 2)
    assert report["best_f1"].value == pytest.approx(4 / 6)  # at 0.7: two right of three kept, three objects
    assert "0.7" in report["best_f1"].notes[0]
    assert report["precision(label=dog)"].value == 0.0
    table = report.table("confusion")
    assert table["cat", "cat"] == 2
    assert table["dog", "(background)"] == 1
    assert table["(background)", "cat"] == 1
    assert table["(background)", "dog"] == 1
    assert table.values.sum() == 5


def test_confusion_names_the_other_class() -> None:
    truth, predicted = small()
    predicted = {**predicted, "label": ["dog", "cat", "cat", "dog", "cat"]}
    table = sy.evaluate("boxes", truth, predicted, "map", confidence=None).table("confusion")
    assert table["cat", "cat"] == 2  # the second box takes the cat within its class
    assert table["(background)", "dog"] == 2
    predicted = {**predicted, "x": [0.0, 500.0, 2.0, 0.0, 0.0]}
    table = sy.evaluate("boxes", truth, predicted, "map", confidence=None).table("confusion")
    assert table["cat", "dog"] == 1


def test_log_average_miss_rate_by_its_text() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, truths = int(rng.integers(3, 60)), int(rng.integers(3, 40))
        hits = np.zeros(n, dtype=bool)
        hits[np.flatnonzero(rng.random(n) < 0.6)[:truths]] = True
        truth, predicted = ranked_case((np.flatnonzero(hits) + 1).tolist(), n, truths)
        images = 25
        truth["images"] = ["a", *(f"empty {i}" for i in range(images - 1))]
        fppi = np.concatenate([[-1.0], np.cumsum(~hits) / images])
        miss = np.concatenate([[1.0], 1 - np.cumsum(hits) / truths])
        at = [miss[np.flatnonzero(fppi <= f)[-1]] for f in np.logspace(-2.0, 0.0, 9)]
        expected = np.exp(np.mean(np.log(np.maximum(1e-10, at))))
        assert sy.evaluate("boxes", truth, predicted, "lamr", confidence=None)["lamr"].value == pytest.approx(expected)


def test_the_same_from_every_source(tmp_path: Path) -> None:
    data, results = draw(21)
    (tmp_path / "truth.json").write_text(json.dumps(data, indent=1))
    (tmp_path / "results.json").write_text(json.dumps(results))
    expected = sy.evaluate("boxes", tmp_path / "truth.json", tmp_path / "results.json", TWELVE, confidence=None)
    columns: Data = {
        "image": [a["image_id"] for a in data["annotations"]], "label": [a["category_id"] for a in data["annotations"]],
        **{name: [a["bbox"][i] for a in data["annotations"]] for i, name in enumerate("xywh")},
        "area": [a["area"] for a in data["annotations"]], "crowd": [a["iscrowd"] for a in data["annotations"]],
    }  # fmt: skip
    predicted: Data = {
        "image": [r["image_id"] for r in results], "label": [r["category_id"] for r in results],
        **{name: [r["bbox"][i] for r in results] for i, name in enumerate("xywh")},
        "score": [r["score"] for r in results],
    }  # fmt: skip
    images = [i["id"] for i in data["images"]]
    cases: list[tuple[Any, Any]] = [
        (data, results),
        ({**columns, "images": images}, predicted),
        ({**{k: np.array(v) for k, v in columns.items()}, "images": np.array(images)}, {k: np.array(v) for k, v in predicted.items()}),
    ]  # fmt: skip
    with contextlib.suppress(ImportError):
        import polars

        empty = [i for i in images if i not in columns["image"]]
        frame = {k: [*v, *([None] * len(empty) if k != "image" else empty)] for k, v in columns.items()}
        cases.append((polars.DataFrame(frame), polars.DataFrame(predicted)))
    with contextlib.suppress(ImportError):
        import torch

        cases.append(
            (
                {**{k: torch.tensor(v, dtype=torch.float64 if k in "xywharea" else None) for k, v in columns.items()}, "images": images},
                {k: torch.tensor(v, dtype=torch.float64 if k in ("x", "y", "w", "h", "score") else None) for k, v in predicted.items()},
            )
        )  # fmt: skip
    for truth, predictions in cases:
        report = sy.evaluate("boxes", truth, predictions, TWELVE, confidence=None)
        assert [str(report[n].value) for n in TWELVE] == [str(expected[n].value) for n in TWELVE]


def test_names_of_images_may_be_texts() -> None:
    data, results = draw(22)
    expected = sy.evaluate("boxes", data, results, TWELVE, confidence=None)
    named = json.loads(json.dumps(data))
    for item in named["images"]:
        item["id"] = f"image {item['id']:04d} – ü"
    for item in [*named["annotations"], *(again := json.loads(json.dumps(results)))]:
        item["image_id"] = f"image {item['image_id']:04d} – ü"
    report = sy.evaluate("boxes", named, again, TWELVE, confidence=None)
    assert [str(report[n].value) for n in TWELVE] == [str(expected[n].value) for n in TWELVE]


def test_empty_results_score_zero_not_a_crash() -> None:
    data, _ = draw(3)
    report = sy.evaluate("boxes", data, [], ["map", "ar@100", "recall", "precision"], confidence=None)
    assert report["map"].value == 0.0
    assert report["ar@100"].value == 0.0
    assert report["recall"].value == 0.0
    assert np.isnan(report["precision"].value)
    assert report["precision"].undefined_reason


def test_no_truth_is_undefined() -> None:
    data, results = draw(3)
    report = sy.evaluate("boxes", {**data, "annotations": []}, results, ["map", "fppi(score=0)"], confidence=None)
    assert np.isnan(report["map"].value)
    assert report["map"].undefined_reason == "no class has truth"
    assert report["fppi(score=0)"].value > 0


def test_detections_of_classes_without_truth_are_counted_in_a_note() -> None:
    truth, predicted = small()
    truth = {k: v if k == "images" else [x for x, label in zip(v, truth["label"], strict=True) if label == "cat"]
             for k, v in truth.items()}  # fmt: skip
    report = sy.evaluate("boxes", truth, predicted, "map", confidence=None)
    assert "1 detection of 1 class without ground truth" in " ".join(report["map"].notes)


def test_slices_by_class_and_by_a_column_of_the_image() -> None:
    data, results = draw(25)
    report = sy.evaluate("boxes", data, results, ["map", "ap"], by=["label"], confidence=None)
    for name, scores in report.slices["label"].items():
        spec = f'ap(label="{name}")'
        alone = sy.evaluate("boxes", data, results, spec, confidence=None)[spec].value
        assert str(scores["ap"].value) == str(alone)


def test_compare_pairs_the_models() -> None:
    data, results = draw(25)
    worse = [{**r, "score": float(i % 7) / 7} for i, r in enumerate(results)]
    comparison = sy.compare("boxes", data, results, worse, ["map", "map50"], draws=200)
    assert comparison["map"].difference == pytest.approx(comparison["map"].b.value - comparison["map"].a.value)


def test_threads_change_nothing(tmp_path: Path) -> None:
    from steelyard import _native

    results = draw(30)[1]
    text = json.dumps([{**r, "image_id": r["image_id"]} for r in results for _ in range(3000)])
    assert len(text) > 3_000_000  # several chunks
    one, two = (_native.coco_parse(text.encode(), False, threads) for threads in (1, 3))
    for name in one:
        assert np.array_equal(one[name], two[name])
    reread = json.loads(text)
    assert one["score"].tolist() == [r["score"] for r in reread]
    assert one["box"].tolist() == [r["bbox"] for r in reread]


def test_summary_is_silent() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        sy.evaluate("boxes", *small(), confidence=None)
    assert out.getvalue() == ""


def test_numbers_too_small_for_a_double_are_nothing() -> None:
    data, results = draw(30)
    for text in ("1e-999", "0." + "0" * 500 + "1", "1" + "0" * 300 + "e-800", "-1e-400"):
        given = json.dumps([{**results[0], "score": 0.123456789}]).replace("0.123456789", text)
        from steelyard.io.coco import parse_coco

        assert parse_coco(given.encode(), "prediction")["score"].tolist() == [0.0]
    assert data


def test_a_picture_shows_what_found_what() -> None:
    """Two objects, one found; a detection on nothing, one below the score of the metric: by hand."""
    truth = [{"image": 1, "boxes": [[0, 0, 10, 10], [50, 50, 10, 10]], "labels": [3, 3]}]
    predicted = [
        {
            "image": 1,
            "boxes": [[0, 0, 10, 9], [80, 0, 5, 5], [50, 50, 10, 10]],
            "labels": [3, 3, 3],
            "scores": [0.9, 0.8, 0.1],
        }
    ]
    svg = sy.draw("boxes", truth, predicted, 1, "f1")
    assert "F1, IoU 0.5, score 0.5 = 0.5000" in svg
    assert "2 true, 2 detected with a score from 0.5, 1 pair at IoU 0.5" in svg
    boxes = re.findall(r'<rect class="(\w+)"[^>]* fill="([^"]+)"', svg)
    assert [(role, fill == "none") for role, fill in boxes] == [
        ("truth", True), ("truth", False), ("prediction", True), ("prediction", False),
    ]  # fmt: skip
    assert "3 detected with a score from 0," in sy.draw("boxes", truth, predicted, 1)
    with refuses("E-unknown-name", "'2'"):
        sy.draw("boxes", truth, predicted, 2)
