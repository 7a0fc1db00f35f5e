"""What the drop-in has beyond pycocotools: CrowdPose's numbers and `extended_metrics`; and input that it refuses or takes."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from typing import Any

import numpy as np
import pytest
from pycocotools import coco as reference_coco
from pycocotools import cocoeval as reference_eval
from pycocotools import mask as reference_mask
from support.compat_extended import boxes, crowd
from support.paths import TESTS
from support.refusal import refuses

from steelyard.compat.pycocotools import mask
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.cocoeval import COCOeval

GOLDENS = json.loads((TESTS / "goldens" / "faster_coco_eval.json").read_text(encoding="utf-8"))


def evaluated(sides: tuple[Any, Any], kind: str, **settings: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = sides[0]
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(sides[1]), kind, **settings)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def close(got: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key, value in expected.items():
            close(got[key], value)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            close(one, other)
    else:
        assert got == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize("case", GOLDENS["extended"], ids=lambda case: str(case["seed"]))
def test_extended_metrics(case: dict[str, Any]) -> None:
    close(evaluated(boxes(case["seed"]), "bbox").extended_metrics, case["metrics"])


@pytest.mark.parametrize("case", GOLDENS["crowd"], ids=lambda case: f"{case['seed']}-{case['area']}")
def test_crowd_pose(case: dict[str, Any]) -> None:
    evaluation = evaluated(crowd(case["seed"]), "keypoints_crowd", use_area=case["area"])
    close(evaluation.stats_as_dict, case["stats"])
    assert len(evaluation.stats) == 9
    assert len(evaluation.params.imgIds) == 12  # the parts leave the evaluator as it was


def test_crowd_pose_step_by_step() -> None:
    """A subclass's own step is called for every image, with the same numbers; areas are those of boxes by default."""
    calls = []

    class Own(COCOeval):
        def computeOks(self, imgId: Any, catId: Any) -> Any:
            calls.append(imgId)
            return super().computeOks(imgId, catId)

    sides = crowd(1)
    for annotation in sides[0]["annotations"]:
        del annotation["area"]
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = sides[0]
        truth.createIndex()
        evaluation = Own(truth, truth.loadRes(sides[1]), "keypoints_crowd")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    assert set(calls) == set(range(1, 13))
    close(evaluation.stats_as_dict, next(c["stats"] for c in GOLDENS["crowd"] if c["seed"] == 1 and not c["area"]))


def test_a_part_without_images_is_undefined() -> None:
    sides = crowd(2)
    for image in sides[0]["images"]:
        image["crowdIndex"] = 0.1
    evaluation = evaluated(sides, "keypoints_crowd")
    assert evaluation.stats[7:].tolist() == [-1, -1]
    assert evaluation.stats[6] == pytest.approx(evaluation.stats[0], abs=1e-4)


@pytest.mark.parametrize("index", [None, "0.5", True])
def test_an_image_without_a_crowd_index(index: Any) -> None:
    sides = crowd(2)
    sides[0]["images"][3]["crowdIndex"] = index
    with refuses("E-invalid-value", "image 4", "'crowdIndex'", "0", "1"):
        evaluated(sides, "keypoints_crowd")


def test_numbers_of_keypoints_by_name() -> None:
    """The ten numbers of the summary in its order; CrowdPose's 14 points with their own sigmas."""
    sigmas = np.full(14, 0.08)
    evaluation = evaluated(crowd(1), "keypoints", kpt_oks_sigmas=sigmas)
    kinds = ["AP_all", "AP_50", "AP_75", "AP_medium", "AP_large", "AR_all", "AR_50", "AR_75", "AR_medium", "AR_large"]
    sides = crowd(1)
    with contextlib.redirect_stdout(io.StringIO()):
        truth = reference_coco.COCO()
        truth.dataset = sides[0]
        truth.createIndex()
        other = reference_eval.COCOeval(truth, truth.loadRes(sides[1]), "keypoints")
        other.params.kpt_oks_sigmas = sigmas
        other.evaluate()
        other.accumulate()
        other.summarize()
    assert evaluation.stats_as_dict == dict(zip(kinds, other.stats.tolist(), strict=True))
    assert 0 < evaluation.stats_as_dict["AP_all"] < 1


def test_extended_metrics_need_the_threshold() -> None:
    evaluation = evaluated(boxes(1), "bbox")
    evaluation.params.iouThrs = np.array([0.75])
    with refuses("E-invalid-setting", "0.5"):
        _ = evaluation.extended_metrics
    with refuses("E-missing-data", "accumulate"):
        _ = COCOeval().extended_metrics
    with refuses("E-missing-data", "summarize"):
        _ = COCOeval().stats_as_dict


def test_a_hit_on_a_crowd_is_not_right() -> None:
    """faster-coco-eval counts it, and its recall rises above 1."""
    sides = boxes(3)
    box = [200.0, 200.0, 50.0, 50.0]
    kind, image = sides[0]["categories"][0]["id"], sides[0]["images"][0]["id"]
    sides[0]["annotations"] = [
        {"id": 1, "image_id": image, "category_id": kind, "bbox": [0.0, 0.0, 9.0, 9.0], "area": 81.0, "iscrowd": 0},
        {"id": 2, "image_id": image, "category_id": kind, "bbox": box, "area": 2500.0, "iscrowd": 1},
    ]
    results = [{"image_id": image, "category_id": kind, "bbox": b, "score": 0.9} for b in ([0.0, 0.0, 9.0, 9.0], box)]
    metrics = evaluated((sides[0], results), "bbox").extended_metrics
    assert (metrics["precision"], metrics["recall"]) == (0.5, 1.0)


BASE = {
    "images": [{"id": 1, "width": 100, "height": 100}],
    "categories": [{"id": 1, "name": "c"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0.0, 0.0, 20.0, 20.0], "area": 400.0, "iscrowd": 0}
    ],
}
RESULT = [{"image_id": 1, "category_id": 1, "bbox": [0.0, 0.0, 20.0, 20.0], "score": 0.9}]


@pytest.mark.parametrize("value", [None, "0.9", b"0.9", True, [0.9]])
def test_scores_that_are_not_numbers_are_refused(value: Any) -> None:
    """pycocotools raises TypeError."""
    results = [*copy.deepcopy(RESULT), {**RESULT[0], "score": value}]
    for sides in ((copy.deepcopy(BASE), results[1:]), (copy.deepcopy(BASE), results)):
        if value is True and sides[1] is results:
            continue  # beside other numbers it is 1, in both
        with refuses("E-number-error", "'score'"):
            evaluated(sides, "bbox")


@pytest.mark.parametrize("value", [None, "400", b"400", {}])
def test_areas_that_are_not_numbers_are_refused(value: Any) -> None:
    data = copy.deepcopy(BASE)
    data["annotations"][0]["area"] = value
    with refuses("E-number-error", "id 1", "'area'"):
        evaluated((data, copy.deepcopy(RESULT)), "bbox")


def test_a_data_set_without_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    data = copy.deepcopy(BASE)
    del data["annotations"]
    truth = COCO()
    truth.dataset = data
    truth.createIndex()
    assert truth.getAnnIds(imgIds=[1]) == []
    evaluation = COCOeval(truth, truth.loadRes(copy.deepcopy(RESULT)), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    assert evaluation.stats.tolist() == [-1] * 12
    assert "The data set has no 'annotations': every number is -1." in capsys.readouterr().out


@pytest.mark.parametrize("counts", [[3, 4], [3, 4, 2], [], [0, 7, 1, 2]])
def test_counts_that_end_early_are_background(counts: list[int]) -> None:
    """Area and box are those of pycocotools, which leaves the last pixels of the array as they are in memory."""
    given = {"size": [4, 5], "counts": counts}
    with pytest.warns(UserWarning, match="pixels before its size 4 x 5; the rest is background"):
        made = mask.frPyObjects(given, 4, 5)
    other = reference_mask.frPyObjects(given, 4, 5)
    assert mask.area(made) == reference_mask.area(other)
    assert mask.toBbox(made).tolist() == reference_mask.toBbox(other).tolist()
    flat = [k % 2 for k, count in enumerate(counts) for _ in range(count)]
    assert mask.decode(made).T.ravel().tolist() == flat + [0] * (20 - len(flat))
    assert given["counts"] == counts


def test_counts_beyond_the_size_are_refused() -> None:
    with refuses("E-invalid-value", "37"):
        mask.frPyObjects({"size": [4, 5], "counts": [3, 4, 30]}, 4, 5)
