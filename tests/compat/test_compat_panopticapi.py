"""The drop-in for panopticapi, compared with values of panopticapi itself (tools/make_panopticapi_goldens.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.panoptic_drawn import CATEGORIES, draw_panoptic
from support.paths import TESTS

from steelyard.compat.panopticapi import evaluation, utils

CASES: list[dict[str, Any]] = json.loads((TESTS / "goldens" / "panopticapi.json").read_text(encoding="utf-8"))["cases"]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch) -> None:
    monkeypatch.setattr(evaluation.multiprocessing, "cpu_count", lambda: 2)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_results_to_the_bit(case, tmp_path, capsys) -> None:
    truth, predicted = draw_panoptic(case["seed"], tmp_path)
    results = evaluation.pq_compute(truth, predicted)
    assert list(results) == list(case["results"])
    results["per_class"] = {str(category): values for category, values in results["per_class"].items()}
    assert results == case["results"]
    printed = capsys.readouterr().out.splitlines()
    assert printed[-6:-1] == case["printed"]
    assert printed[:9] == [
        "Evaluation panoptic segmentation metrics:",
        "Ground truth:", f"\tSegmentation folder: {truth[:-5]}", f"\tJSON file: {truth}",
        "Prediction:", f"\tSegmentation folder: {predicted[:-5]}", f"\tJSON file: {predicted}",
        "Number of cores: 2, images per core: 3", "Core: 0, 0 from 3 images processed",
    ]  # fmt: skip


def pair(folder, truth: list[Any], predicted: list[Any], pixels: Any, predicted_pixels: Any) -> list[Any]:
    for name, side in (("t", pixels), ("p", predicted_pixels)):
        (folder / name).mkdir()
        ids = np.array(side)
        Image.fromarray(utils.id2rgb(ids)).save(folder / name / "0.png")
    return [tuple({"image_id": 7, "file_name": "0.png", "segments_info": side} for side in (truth, predicted))]


def test_counts_by_hand(tmp_path) -> None:
    # Segment 5 of category 1 has 4 pixels and 3 of them are found: 3/4. Segment 6 is missed. Segment 9 is made up; of
    # segment 8 two of three pixels are void, so that it does not count.
    truth = [{"id": 5, "category_id": 1, "area": 4, "iscrowd": 0}, {"id": 6, "category_id": 2, "area": 2, "iscrowd": 0}]
    predicted = [{"id": i, "category_id": k} for i, k in ((70, 1), (8, 1), (9, 2))]
    sets = pair(tmp_path, truth, predicted, [[5, 5, 5, 5, 6], [6, 0, 0, 0, 0]], [[70, 70, 70, 0, 8], [9, 8, 8, 0, 0]])
    predicted_area = 1
    stat = evaluation.pq_compute_multi_core(sets, str(tmp_path / "t"), str(tmp_path / "p"), {1: {}, 2: {}})
    assert (stat[1].tp, stat[1].iou, stat[1].fp, stat[1].fn) == (1, 0.75, 0, 0)
    assert (stat[2].tp, stat[2].iou, stat[2].fp, stat[2].fn) == (0, 0.0, 1, 1)
    assert predicted[2]["area"] == predicted_area


def test_means_by_hand(tmp_path: Path) -> None:
    """Thing 1: a hit of 3/4, one missed, one made up. Thing 3 occurs on neither side: no mean counts it."""
    truth = [{"id": i, "category_id": 1, "area": a, "iscrowd": 0} for i, a in ((5, 4), (6, 2))]
    predicted = [{"id": i, "category_id": 1} for i in (70, 9)]
    sets = pair(tmp_path, truth, predicted, [[5, 5, 5, 5, 6], [6, 0, 0, 0, 0]], [[70, 70, 70, 0, 0], [9, 0, 0, 0, 0]])
    categories = {1: {"isthing": 1}, 2: {"isthing": 0}, 3: {"isthing": 1}}
    stat = evaluation.pq_compute_single_core(0, sets, str(tmp_path / "t"), str(tmp_path / "p"), categories)
    own, nothing = {"pq": 0.375, "sq": 0.75, "rq": 0.5}, {"pq": 0.0, "sq": 0.0, "rq": 0.0}
    assert stat.pq_average(categories, isthing=True) == ({**own, "n": 1}, {1: own, 3: nothing})
    assert stat.pq_average(categories, isthing=None) == ({**own, "n": 1}, {1: own, 2: nothing, 3: nothing})
    with pytest.raises(ZeroDivisionError):  # as in panopticapi: there is no stuff
        stat.pq_average(categories, isthing=False)


@pytest.mark.parametrize(
    ("predicted", "named"),
    [
        ([], "PNG and not presented in JSON"),
        ([{"id": 3, "category_id": 9}], "unknown category_id 9"),
        ([{"id": 3, "category_id": 1}, {"id": 4, "category_id": 1}], r"\[4\] are presented in JSON"),
    ],
)
def test_segments_that_do_not_fit(predicted, named, tmp_path, capsys) -> None:
    sets = pair(tmp_path, [], predicted, [[3, 3]], [[3, 3]])
    with pytest.raises(KeyError, match=named):
        evaluation.pq_compute_single_core(0, sets, str(tmp_path / "t"), str(tmp_path / "p"), {1: {}})
    assert "Caught exception in worker thread:" in capsys.readouterr().out


def test_what_is_missing(tmp_path) -> None:
    truth, predicted = draw_panoptic(1, tmp_path)
    with pytest.raises(Exception, match="nowhere"):
        evaluation.pq_compute(truth, predicted, pred_folder="nowhere")
    (tmp_path / "few.json").write_text(json.dumps({"annotations": []}))
    with pytest.raises(Exception, match="id: 0"):
        evaluation.pq_compute(truth, str(tmp_path / "few.json"), pred_folder=str(tmp_path))


def test_ids_and_colours(tmp_path) -> None:
    assert utils.rgb2id([1, 2, 3]) == 1 + 2 * 256 + 3 * 65536
    assert utils.id2rgb(1 + 2 * 256 + 3 * 65536) == [1, 2, 3]
    ids = np.array([[0, 256], [65536, 16777215]])
    colours = utils.id2rgb(ids)
    assert colours.dtype == np.uint8
    assert colours.tolist() == [[[0, 0, 0], [0, 1, 0]], [[0, 0, 1], [255, 255, 255]]]
    assert (utils.rgb2id(colours) == ids).all()
    made = utils.IdGenerator({category["id"]: category for category in CATEGORIES})
    assert made.get_id_and_color(5) == (utils.rgb2id([50, 20, 30]), [50, 20, 30])  # stuff has one colour
    np.random.seed(3)
    things = [made.get_id(1) for _ in range(5)]
    assert things[0] == utils.rgb2id([10, 20, 30])
    assert len(set(things)) == 5
    # What follows the first is near it, drawn by the global generator as the package does.
    np.random.seed(3)
    near = np.clip([10, 20, 30] + np.random.randint(low=-30, high=31, size=3), 0, 255)
    assert things[1] == utils.rgb2id(near)
    utils.save_json({"a": 1}, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 1}
