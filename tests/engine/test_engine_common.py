"""Models that lack predictions are compared on what all of them have, and an empty cell is a missing prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy

ELLIPSE: dict[str, list[Any]] = {
    "image": ["a", "b", "c"],
    "xc": [9, 9, 9],
    "yc": [9, 9, 9],
    "a": [4, 4, 4],
    "b": [3, 3, 3],
    "theta": [0, 0, 0],
}
FULL = np.ones((2, 2), np.int64)
# Truth of three, a model that lacks the third and one that lacks the first; on the second, what each scores.
LACKING: dict[str, tuple[Any, Any, Any, str, float, float]] = {
    "weights": (
        {"dish": ["a", "b", "c"], "weight": [10, 20, 30]}, {"dish": ["a", "b"], "weight": [11, 22]},
        {"dish": ["b", "c"], "weight": [20, 60]}, "mae", 2.0, 0.0,
    ),
    "sequences": (
        {"sequence": ["a", "a", "b"], "t": [0, 1, 0], "weight": [10, 20, 30]},
        {"sequence": ["a", "a"], "t": [0, 1], "weight": [11, 22]},
        {"sequence": ["a", "b"], "t": [1, 0], "weight": [20, 60]}, "mae_overall", 2.0, 0.0,
    ),
    "labels": (
        {"id": ["a", "b", "c"], "label": [1, 2, 1]}, {"id": ["a", "b"], "label": [2, 2]},
        {"id": ["b", "c"], "label": [1, 1]}, "accuracy", 1.0, 0.0,
    ),
    "answers": (
        {"question": ["a", "b", "c"], "answer": ["x", "y", "z"]}, {"question": ["a", "b"], "answer": ["x", "q"]},
        {"question": ["b", "c"], "answer": ["y", "q"]}, "exact", 0.0, 1.0,
    ),
    "rankings": (
        {"query": ["a", "b", "c"], "doc": ["d", "d", "d"], "relevance": [1, 1, 1]},
        {"query": ["a", "b"], "doc": ["d", "e"], "score": [1.0, 1.0]},
        {"query": ["b", "c"], "doc": ["d", "e"], "score": [1.0, 1.0]}, "ap", 0.0, 1.0,
    ),
    "captions": (
        {"image": ["a", "b", "c"], "caption": ["a car", "a dog", "a cat"]},
        {"image": ["a", "b"], "caption": ["a car", "moon"]}, {"image": ["b", "c"], "caption": ["a dog", "sun"]},
        "rouge_l", 0.0, 1.0,
    ),
    "ellipses": (
        ELLIPSE, {**{k: v[:2] for k, v in ELLIPSE.items()}, "score": [1, 1]},
        {**{k: v[1:] for k, v in ELLIPSE.items()}, "a": [400, 4], "score": [1, 1]}, "score(distance=iou, t=0.5)", 1.0, 0.5 / (1 - 0.01),
    ),
    "segmentation": (
        {"image": ["a", "b", "c"], "map": [FULL, FULL, FULL]}, {"image": ["a", "b"], "map": [FULL, FULL]},
        {"image": ["b", "c"], "map": [FULL + 1, FULL]}, "accuracy", 1.0, 0.0,
    ),
    "volumes": (
        {"case": ["a", "b", "c"], "map": [FULL[None]] * 3}, {"case": ["a", "b"], "map": [FULL[None]] * 2},
        {"case": ["b", "c"], "map": [FULL[None] * 0, FULL[None]]}, "dice", 1.0, 0.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("missing", ["skip", "common"])
@pytest.mark.parametrize("task", LACKING)
def test_models_are_compared_on_what_both_have(task: str, missing: str) -> None:
    truth, a, b, metric, first, second = LACKING[task]
    result = sy.compare(task, truth, a, b, metrics=metric, missing=missing)
    (difference,) = result.differences.values()
    assert difference.a.value == pytest.approx(first, abs=1e-9)
    assert difference.b.value == pytest.approx(second, abs=1e-9)
    assert difference.difference == pytest.approx(second - first, abs=1e-9)
    assert (result.a.coverage.matched, result.b.coverage.matched) == (1, 1)
    assert any("that all models have a prediction for: model 1 lacks" in note for note in result.notes)


def test_units_that_lose_rows_are_partial() -> None:
    """`wmae_total` refuses dishes that lack an item, also where only the other model lacks it."""
    truth = {"dish": ["a", "a", "b"], "item": [1, 2, 1], "weight": [10, 20, 30]}
    whole = {"dish": ["a", "a", "b"], "item": [1, 2, 1], "weight": [11, 20, 33]}
    less = {"dish": ["a", "b"], "item": [1, 1], "weight": [12, 30]}
    result = sy.compare("weights", truth, whole, less, metrics="wmae_total", missing="skip")
    for side in (result.differences["wmae_total"].a, result.differences["wmae_total"].b):
        assert "1 of 2 dishes is incomplete" in side.undefined_reason


def test_nothing_in_common_is_an_error() -> None:
    truth = {"dish": ["a", "b"], "weight": [1, 2]}
    with refuses("E-unmatched", "prediction"):
        sy.compare("weights", truth, {"dish": ["a"], "weight": [1]}, {"dish": ["b"], "weight": [2]}, missing="skip")


def test_one_model_has_all_in_common_with_itself() -> None:
    truth, a, *_ = LACKING["weights"]
    scores = [sy.score("weights", truth, a, "mae", missing=missing) for missing in ("skip", "common")]
    assert scores == [1.5, 1.5]


# An empty cell is a missing prediction in a file of its own and beside the truth.
CELLS = {"weights": ("dish", "weight", "mae", ["10", "", "30"]), "labels": ("id", "label", "accuracy", ["x", "", "y"]),
         "probability": ("id", "probability", "accuracy", ["0.9", "", "0.1"])}  # fmt: skip


@pytest.mark.parametrize("kind", CELLS)
def test_an_empty_cell_is_a_missing_prediction_in_both_kinds_of_files(kind: str, tmp_path: Path) -> None:
    key, column, metric, given = CELLS[kind]
    task = "labels" if kind != "weights" else kind
    own = "weight" if task == "weights" else "label"
    true = {"weights": ["20", "20", "20"], "labels": ["x", "x", "x"], "probability": ["1", "0", "1"]}[kind]
    beside = {"weights": "prediction", "labels": "prediction", "probability": "probability"}[kind]
    (tmp_path / "truth.csv").write_text(f"{key},{own}\n" + "".join(f"u{i},{v}\n" for i, v in enumerate(true)))
    (tmp_path / "pred.csv").write_text(f"{key},{column}\n" + "".join(f"u{i},{v}\n" for i, v in enumerate(given)))
    rows = zip(true, given, strict=True)
    (tmp_path / "both.csv").write_text(
        f"{key},{own},{beside}\n" + "".join(f"u{i},{a},{b}\n" for i, (a, b) in enumerate(rows))
    )
    sides = [(tmp_path / "truth.csv", tmp_path / "pred.csv"), (tmp_path / "both.csv", None)]
    expected = {"weights": 10.0, "labels": 0.5, "probability": 0.5}[kind]  # of the first and the third
    for truth, predictions in sides:
        report = sy.evaluate(task, truth, predictions, metrics=metric, missing="skip", confidence=None)
        assert report[metric].value == pytest.approx(expected)
        assert report.coverage.missing == 1
        name = "pred.csv" if predictions else "both.csv"
        with refuses("E-unmatched", str(name), "line 3"):
            sy.evaluate(task, truth, predictions, metrics=metric, confidence=None)


def test_labels_beside_a_missing_one_stay_numbers() -> None:
    truth = {"id": ["a", "b", "c"], "label": [10, 2, 10]}
    report = sy.evaluate(
        "labels", truth, {"id": ["a", "b", "c"], "label": [10, None, 2]}, metrics="accuracy", missing="skip"
    )
    assert report["accuracy"].value == 0.5


def test_a_class_that_is_empty_in_a_row_is_an_error(tmp_path: Path) -> None:
    truth = {"id": ["1", "2"], "label": ["a", "b"]}
    given = {"id": ["1", "2"], "probability:a": [0.5, None], "probability:b": [0.5, 0.5]}
    with refuses("E-invalid-value", "row 1", "'probability:a'"):
        sy.evaluate("labels", truth, given, metrics="accuracy", missing="skip")
    given["probability:b"] = [0.5, None]
    assert sy.evaluate("labels", truth, given, metrics="accuracy", missing="skip").coverage.missing == 1


def test_without_ids_an_empty_cell_stays_an_error() -> None:
    with refuses("E-empty-cell", "predictions, row 1, column 'label'"):
        sy.evaluate("labels", {"label": ["a", "b"]}, {"label": ["a", None]}, metrics="accuracy", missing="skip")


@pytest.mark.parametrize("spec", ["mae_initial", "pmae_initial", "mae_consumed", "pmae_consumed"])
def test_sequences_without_a_first_frame_say_so(spec: str) -> None:
    truth = {"sequence": ["s", "s"], "t": [1, 2], "weight": [100, 50]}
    score = sy.evaluate("sequences", truth, truth, metrics=spec)[spec]
    assert "no sequence has a valid frame t = 0" in score.undefined_reason


def test_empty_plates_say_so() -> None:
    truth = {"sequence": ["s", "s"], "t": [0, 1], "weight": [0, 0]}
    assert (
        sy.evaluate("sequences", truth, truth, metrics="pmae_initial")["pmae_initial"].undefined_reason
        == "the initial weights add up to 0"
    )


def test_two_models_in_two_columns_of_one_table(tmp_path: Path) -> None:
    table = {"dish": ["x", "y"], "weight": [10, 20], "app_a": [11, 22], "app_b": [10, 26]}
    result = sy.compare(
        "weights", table, table, table, metrics="mae", columns={"a.weight": "app_a", "b.weight": "app_b"}
    )
    assert (result.differences["mae"].a.value, result.differences["mae"].b.value) == (1.5, 3.0)
    with refuses("E-missing-column", "'app_c'"):
        sy.compare("weights", table, table, table, columns={"a.weight": "app_a", "b.weight": "app_c"})
