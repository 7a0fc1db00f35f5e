"""Panoptic segments: goldens of panopticapi, hotcoco and boundary-iou-api, COCO's files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import steelyard as sy
from steelyard.core.errors import InputError

GOLDENS = json.loads((Path(__file__).parent / "goldens" / "segmentation.json").read_text(encoding="utf-8"))["examples"]
NINE = [f"{name}{of}" for of in ("", "(of=things)", "(of=stuff)") for name in ("pq", "sq", "rq")]


def scores(truth: Any, predictions: Any, metrics: list[str], **settings: Any) -> list[float]:
    report = sy.evaluate("panoptic", truth, predictions, metrics, confidence=None, **settings)
    return [score.value for score in report.scores.values()]


def sides(example: Any) -> list[Any]:
    """Both sides of a golden as rows in memory."""
    known = {one["id"]: one for one in example["categories"]}
    collected = []
    for side in ("truth", "prediction"):
        segments = [
            {**one, "name": known[one["category_id"]]["name"], "isthing": known[one["category_id"]]["isthing"]}
            for one in example[f"{side}_segments"]
        ]
        collected.append({"image": [1], "map": np.array([example[f"{side}_ids"]]), "segments": [segments]})
    return collected


def test_crowds_and_void_as_panopticapi_has_them() -> None:
    example = GOLDENS["panoptic"]
    expected = example["outputs"]["hotcoco"]["stats"]
    np.testing.assert_allclose(scores(*sides(example), NINE, options={"crowds": "last"}), expected, rtol=1e-12)
    report = sy.evaluate("panoptic", *sides(example), ["pq"], options={"crowds": "last"}, confidence=None)
    table, names = report.table("classes"), {1: "person", 2: "car", 7: "sky", 8: "road"}
    for category, (_, *counts) in example["outputs"]["panopticapi"]["sums_iou_tp_fp_fn"].items():
        assert [table[names[int(category)], column] for column in ("TP", "FP", "FN")] == counts


def test_all_crowds_of_a_class_excuse() -> None:
    """The golden says it: where all crowds count, class 1 has one FP, so that its PQ is 0.75 / 1.5."""
    report = sy.evaluate("panoptic", *sides(GOLDENS["panoptic"]), ["pq(of=each)"], confidence=None)
    assert report["pq(label=person)"].value == 0.5
    assert report.table("classes")["person", "FP"] == 1


def test_what_panopticapi_prints_is_explained() -> None:
    """The golden's two crowds of class 1: the reference keeps the last, which costs a false segment."""
    example = GOLDENS["panoptic"]
    report = sy.evaluate("panoptic", *sides(example), ["pq"], explain="panopticapi, hotcoco", confidence=None)
    assert [explanation.tool for explanation in report.explanations] == ["panopticapi", "hotcoco"]
    for explanation in report.explanations:
        np.testing.assert_allclose(
            [explanation.theirs[name] for name in NINE], example["outputs"]["hotcoco"]["stats"], rtol=1e-12
        )
        assert explanation.ours["pq"] == report["pq"].value > explanation.theirs["pq"]
        assert [step.setting for step in explanation.steps] == ["crowds"]
    with pytest.raises(InputError, match="'detectron' cannot be explained"):
        sy.evaluate("panoptic", *sides(example), ["pq"], explain=("detectron",), confidence=None)


def test_an_overlap_of_exactly_half_is_no_match() -> None:
    example = GOLDENS["panoptic_half"]
    expected = [np.nan if v == -1 else v for v in example["outputs"]["hotcoco"]["stats"]]
    np.testing.assert_allclose(scores(*sides(example), NINE), expected, rtol=1e-12)
    report = sy.evaluate("panoptic", *sides(example), ["pq(of=stuff)"], confidence=None)
    assert "no class of the kind has a segment" in report["pq(of=stuff)"].why


@pytest.mark.parametrize("case", ["a", "b"])
def test_boundary_quality_as_its_authors_code_gives_it(case: str) -> None:
    example = GOLDENS["boundary_pq"][case]
    collected = []
    for side in ("truth", "prediction"):
        grid = np.zeros(example["shape"], dtype=np.int64)
        for number, (y0, y1, x0, x1) in example[side]:
            grid[y0:y1, x0:x1] = number
        segments = [{"id": number, "category_id": k + 1} for k, (number, _) in enumerate(example[side])]
        collected.append({"image": [1], "map": grid[np.newaxis], "segments": [segments]})
    expected = example["outputs"]["boundary-iou-api"]
    assert scores(*collected, ["pq", "pq(overlap=boundary)"]) == [expected["segm"]["pq"], expected["boundary"]["pq"]]


def test_ids_that_are_category_ids_do_not_disturb_boundaries() -> None:
    """Perfect maps with ids 10 and 3 of two categories: boundary-iou-api gives 0.524 there."""
    grid = np.repeat([[10] * 20 + [3] * 20], 30, axis=0)
    side = {
        "image": [1],
        "map": grid[np.newaxis],
        "segments": [[{"id": 10, "category_id": 1}, {"id": 3, "category_id": 2}]],
    }
    assert scores(side, side, ["pq(overlap=boundary)"]) == [1.0]


def test_a_stricter_threshold_makes_one_false_and_one_missed() -> None:
    """IoU of 2/3: a pair at 0.5, none at 0.75."""
    side = [
        {"image": [1], "map": np.array([[row]]), "segments": [[{"id": 1, "category_id": 1}]]} for row in ([1, 1, 1, 0],)
    ]
    moved = {"image": [1], "map": np.array([[[1, 1, 0, 0]]]), "segments": [[{"id": 1, "category_id": 1}]]}
    result = scores(side[0], moved, ["pq", "pq(iou=0.75)", "rq(iou=0.75)", "sq", "sq(iou=0.75, matched=true)"])
    np.testing.assert_allclose(result, [2 / 3, 0, 0, 2 / 3, np.nan])


def coco(folder: Path, change: Any = None, change_map: Any = None) -> tuple[Path, Path]:
    """The golden as COCO's files."""
    example = json.loads(json.dumps(GOLDENS["panoptic"]))
    for side, name in (("truth", "t"), ("prediction", "p")):
        ids = np.array(example[f"{side}_ids"])
        if change_map is not None:
            ids = change_map(side, ids)
        (folder / name).mkdir(exist_ok=True)
        Image.fromarray(np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=2).astype(np.uint8)).save(
            folder / name / "1.png"
        )
        annotation = {"image_id": 1, "file_name": "1.png", "segments_info": example[f"{side}_segments"]}
        content = {"annotations": [annotation]}
        if side == "truth":
            content["categories"] = example["categories"]
        if change is not None:
            change(side, content)
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "t.json", folder / "p.json"


def test_files_of_coco(tmp_path: Path) -> None:
    paths = coco(tmp_path)
    assert scores(*paths, NINE) == scores(*sides(GOLDENS["panoptic"]), NINE)


def drop(side: str, key: str) -> Any:
    def change(given: str, content: Any) -> None:
        if given == side:
            del content["annotations"][0]["segments_info"][0]

    return change


def put(side: str, **values: Any) -> Any:
    def change(given: str, content: Any) -> None:
        if given == side:
            content["annotations"][0]["segments_info"][1].update(values)

    return change


REFUSED = [
    (drop("truth", "70"), None, r"t.json, image 1: id 70 in the map \(30 pixels\) is not in segments_info"),
    (drop("prediction", "5"), None, r"p.json, image 1: id 5 in the map \(30 pixels\) is not in segments_info"),
    (None, lambda side, ids: np.where((ids == 12) & (side == "truth"), 0, ids), r"segment 12 \(car\) has no pixel in the map"),
    (put("truth", area=5), None, r"segment 11 has an area of 5 in the JSON and 12 pixels in the map.*--areas json"),
    (put("truth", id=70), None, r"segment 70 stands twice"),
    (put("prediction", category_id=99), None, r"segment 6 is of category 99, which is not listed"),
    (None, lambda side, ids: ids[:4] if side == "prediction" else ids, r"10×8 pixels, and the prediction has 10×4"),
    (lambda side, content: content["annotations"].append(content["annotations"][0]), None, r"image 1 stands twice"),
    (lambda side, content: content.pop("annotations"), None, r"is no panoptic JSON"),
    (lambda side, content: content["annotations"][0].pop("segments_info"), None, r"annotations\[0\]: KeyError"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "change_map", "message"), REFUSED, ids=[r[2] for r in REFUSED])
def test_files_that_are_refused(change: Any, change_map: Any, message: str, tmp_path: Path) -> None:
    paths = coco(tmp_path, change, change_map)
    with pytest.raises(InputError, match=message):
        scores(*paths, ["pq"])


def test_areas_of_the_json_are_taken_where_that_is_asked_for(tmp_path: Path) -> None:
    """Segment 11 with an area of 9 in place of 12: its IoU is 9 / 9 and PQ of person 1 / 1.5."""
    paths = coco(tmp_path, put("truth", area=9))
    assert scores(*paths, ["pq(label=person)"], options={"areas": "json"}) == [pytest.approx(1 / 1.5)]


def test_a_lost_png_is_named(tmp_path: Path) -> None:
    paths = coco(tmp_path)
    (tmp_path / "p" / "1.png").unlink()
    with pytest.raises(InputError, match=r"p\.json, image 1: there is no file .*1\.png"):
        scores(*paths, ["pq"])


def test_thresholds_below_half_are_refused() -> None:
    with pytest.raises(InputError, match=r"iou cannot be 0\.3"):
        scores(*sides(GOLDENS["panoptic"]), ["pq(iou=0.3)"])


def test_swapping_sides_keeps_pq_where_nothing_is_void() -> None:
    rng = np.random.default_rng(3)
    made = []
    for _ in range(2):
        maps = rng.integers(1, 4, (4, 5, 6)).repeat(3, axis=1).repeat(3, axis=2)
        segments = [[{"id": v, "category_id": v % 2} for v in np.unique(one).tolist()] for one in maps]
        made.append({"image": list(range(4)), "map": maps, "segments": segments})
    metrics = ["pq", "rq", "sq", "pq(overlap=boundary)"]
    assert scores(*made, metrics) == scores(*made[::-1], metrics)


def test_stuff_without_a_threshold_by_hand() -> None:
    """The golden: person 0.75 / 1.5 and car 0 as in PQ; sky overlaps by 1, road by 8 / 10, each of one true segment."""
    assert scores(*sides(GOLDENS["panoptic"]), ["pq_dagger"]) == [pytest.approx((0.5 + 0 + 1 + 0.8) / 4, rel=1e-15)]


def test_stuff_below_half_counts_by_its_overlap() -> None:
    """A stuff segment of 5 pixels, 2 of them found: PQ is 0, PQ† 2 / 5."""
    made = [
        {"image": [1], "map": np.array([[row]]), "segments": [[{"id": 1, "category_id": 1, "isthing": 0}]]}
        for row in ([1, 1, 1, 1, 1], [1, 1, 0, 0, 0])
    ]
    assert scores(*made, ["pq", "pq_dagger"]) == [0.0, 0.4]
