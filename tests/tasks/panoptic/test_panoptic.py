"""Panoptic segments: goldens of panopticapi, hotcoco and boundary-iou-api, COCO's files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.paths import TESTS

import steelyard as sy
from steelyard.core.errors import InputError

GOLDENS = json.loads((TESTS / "goldens" / "segmentation.json").read_text(encoding="utf-8"))["examples"]
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
    assert "no class of the kind has a segment" in report["pq(of=stuff)"].undefined_reason


@pytest.mark.parametrize("case", ["a", "b"])
def test_boundary_quality_as_its_authors_code_gives_it(case: str) -> None:
    example = GOLDENS["boundary_pq"][case]
    collected = []
    for side in ("truth", "prediction"):
        grid = np.zeros(example["shape"], dtype=np.int64)
        for number, (y0, y1, x0, x1) in example[side]:
            grid[y0:y1, x0:x1] = number
        segments = [{"id": number, "category_id": k + 1, "isthing": 1} for k, (number, _) in enumerate(example[side])]
        collected.append({"image": [1], "map": grid[np.newaxis], "segments": [segments]})
    expected = example["outputs"]["boundary-iou-api"]
    assert scores(*collected, ["pq", "pq(overlap=boundary)"]) == [expected["segm"]["pq"], expected["boundary"]["pq"]]


def test_ids_that_are_category_ids_do_not_disturb_boundaries() -> None:
    """Perfect maps with ids 10 and 3 of two categories: boundary-iou-api gives 0.524 there."""
    grid = np.repeat([[10] * 20 + [3] * 20], 30, axis=0)
    side = {
        "image": [1],
        "map": grid[np.newaxis],
        "segments": [[{"id": 10, "category_id": 1, "isthing": 1}, {"id": 3, "category_id": 2, "isthing": 1}]],
    }
    assert scores(side, side, ["pq(overlap=boundary)"]) == [1.0]


def test_a_stricter_threshold_makes_one_false_and_one_missed() -> None:
    """IoU of 2/3: a pair at 0.5, none at 0.75."""
    side = [
        {"image": [1], "map": np.array([[row]]), "segments": [[{"id": 1, "category_id": 1, "isthing": 1}]]}
        for row in ([1, 1, 1, 0],)
    ]
    moved = {"image": [1], "map": np.array([[[1, 1, 0, 0]]]), "segments": [[{"id": 1, "category_id": 1, "isthing": 1}]]}
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
    (put("truth", area=5), None, r"segment 11 has an area of 5 in the JSON and 12 pixels in the map.*`areas=json`"),
    (put("truth", id=70), None, r"segment 70 is listed twice"),
    (put("prediction", category_id=99), None, r"segment 6 is of category 99, which is not listed"),
    (None, lambda side, ids: ids[:4] if side == "prediction" else ids, r"10×8 pixels, and the prediction has 10×4"),
    (lambda side, content: content["annotations"].append(content["annotations"][0]), None, r"duplicate image 1"),
    (lambda side, content: content.pop("annotations"), None, r"t.json: is not a panoptic JSON: the key 'annotations' is missing"),
    (lambda side, content: content["annotations"][0].pop("segments_info"), None, r"annotations\[0\]: the key 'segments_info' is missing"),
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
        segments = [[{"id": v, "category_id": v % 2, "isthing": 1} for v in np.unique(one).tolist()] for one in maps]
        made.append({"image": list(range(4)), "map": maps, "segments": segments})
    metrics = ["pq", "rq", "sq", "pq(overlap=boundary)"]
    assert scores(*made, metrics) == scores(*made[::-1], metrics)


def test_stuff_without_a_threshold_by_hand() -> None:
    """The golden: person 0.75 / 1.5 and car 0 as in PQ; sky overlaps by 1, road by 8 / 10, each of one true segment."""
    assert scores(*sides(GOLDENS["panoptic"]), ["pq_dagger"]) == [pytest.approx((0.5 + 0 + 1 + 0.8) / 4, rel=1e-15)]


def test_stuff_that_is_only_predicted_by_hand() -> None:
    """Road is found completely: 1. Sky is predicted and never true: left out, or 0, so that the mean is a half."""
    kinds = {1: ("road", 0), 2: ("sky", 0)}
    made = [
        {
            "image": [1],
            "map": np.array([[row]]),
            "segments": [
                [{"id": k, "category_id": k, "name": kinds[k][0], "isthing": kinds[k][1]} for k in sorted(set(row))]
            ],
        }
        for row in ([1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 2, 2])
    ]
    report = sy.evaluate("panoptic", *made, ["pq_dagger", "pq_dagger(classes=union)", "pq"], confidence=None)
    assert [score.value for score in report.scores.values()] == [4 / 6, 2 / 6, 2 / 6]
    assert report["pq_dagger"].notes == (
        "Stuff that is predicted and never true is not in the mean: sky. classes=union counts it as 0.",
        "pq_dagger is of 1 class; 1 has no truth: sky.",
    )
    assert report["pq_dagger(classes=union)"].notes == (
        "pq_dagger(classes=union) is of 2 classes; 1 of them has no truth and counts as 0: sky.",
    )
    assert sy.evaluate("panoptic", made[0], made[0], ["pq_dagger"], confidence=None)["pq_dagger"].notes == ()


def test_predictions_may_leave_names_and_kinds_to_the_truth() -> None:
    truth, prediction = sides(GOLDENS["panoptic"])
    bare = [{key: one[key] for key in ("id", "category_id")} for one in prediction["segments"][0]]
    assert scores(truth, {**prediction, "segments": [bare]}, NINE) == scores(truth, prediction, NINE)
    none = [{key: one[key] for key in one if key not in ("name", "isthing")} for one in truth["segments"][0]]
    with pytest.raises(InputError, match=r"truth: the segments of category 1 have no 'isthing'"):
        scores({**truth, "segments": [none]}, {**prediction, "segments": [bare]}, ["pq"])
    alone = [{**one, "category_id": 99} if k == 0 else one for k, one in enumerate(bare)]
    with pytest.raises(InputError, match=r"predictions: the segments of category 99 have no 'isthing'"):
        scores(truth, {**prediction, "segments": [alone]}, ["pq"])


def without(key: str) -> Any:
    return lambda side, content: content.pop(key, None)


def test_categories_of_another_file(tmp_path: Path) -> None:
    expected = scores(*coco(tmp_path), NINE)
    listed = GOLDENS["panoptic"]["categories"]
    paths = coco(tmp_path, without("categories"))
    with pytest.raises(InputError, match=r"t\.json: the key 'categories' is missing, which says what is a thing"):
        scores(*paths, ["pq"])
    for content in (listed, {"categories": listed}):
        (tmp_path / "c.json").write_text(json.dumps(content), encoding="utf-8")
        assert scores(*paths, NINE, options={"categories": tmp_path / "c.json"}) == expected
    turned = [{**one, "isthing": 1 - one["isthing"]} for one in listed]
    (tmp_path / "c.json").write_text(json.dumps(turned), encoding="utf-8")
    swapped = scores(*coco(tmp_path), NINE, options={"categories": tmp_path / "c.json"})
    assert swapped == [*expected[:3], *expected[6:], *expected[3:6]]
    with pytest.raises(InputError, match="the option `categories` is for COCO's panoptic JSON files"):
        scores(*sides(GOLDENS["panoptic"]), ["pq"], options={"categories": tmp_path / "c.json"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "lists no categories"),
        ({}, "'categories' is null where an array is expected"),
        (7, "'categories' is a number where an array is expected"),
        ([7], r"categories\[0\]: 7 where an object is expected"),
        ([{"id": 1, "name": "car"}], r"categories\[0\]: the key 'isthing' is missing"),
        ([{"name": "car", "isthing": 1}], r"categories\[0\]: the key 'id' is missing"),
        ([{"id": 1, "isthing": 1}], r"categories\[0\]: the key 'name' is missing"),
        ([{"id": 1, "name": "car", "isthing": "yes"}], r"categories\[0\]: 'isthing' is 'yes'"),
        ([{"id": 1, "name": "car", "isthing": 2}], r"categories\[0\]: 'isthing' is 2"),
        ([{"id": 1.5, "name": "car", "isthing": 1}], r"categories\[0\]: 'id' is 1.5"),
        (
            [{"id": 1, "name": "car", "isthing": 1}, {"id": 1, "name": "cat", "isthing": 1}],
            "category 1 is listed twice",
        ),
    ],
)
def test_categories_that_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    paths = coco(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        scores(*paths, ["pq"], options={"categories": tmp_path / "c.json"})


def test_png_folders_of_another_name(tmp_path: Path) -> None:
    paths = coco(tmp_path)
    expected = scores(*paths, NINE)
    (tmp_path / "p").rename(tmp_path / "pngs")
    with pytest.raises(InputError, match=r"p\.json: there is no folder '.*p' with the PNG files.*prediction\.folder="):
        scores(*paths, NINE)
    assert scores(*paths, NINE, options={"prediction.folder": tmp_path / "pngs"}) == expected
    (tmp_path / "own").mkdir()
    for name in (tmp_path / "pngs" / "1.png", tmp_path / "p.json"):
        name.rename(tmp_path / "own" / name.name)
    assert scores(paths[0], tmp_path / "own" / "p.json", NINE) == expected
    with pytest.raises(InputError, match="there is no folder 'nowhere'"):
        scores(*paths[:1], tmp_path / "own" / "p.json", NINE, options={"prediction.folder": "nowhere"})
    with pytest.raises(InputError, match="the option `folder` is for COCO's panoptic JSON files"):
        scores(*sides(GOLDENS["panoptic"]), ["pq"], options={"truth.folder": "t"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda side, content: content["annotations"][0].pop("image_id"), "the key 'image_id' is missing"),
        (lambda side, content: content["annotations"][0].pop("file_name"), "the key 'file_name' is missing"),
        (lambda side, content: content["annotations"][0].update(segments_info=7), "'segments_info' is a number"),
        (lambda side, content: content.update(annotations=["x"]), r"annotations\[0\]: 'x' where an object is expected"),
        (lambda side, content: content.update(annotations={}), "'annotations' is an object where an array is expected"),
        (put("truth", id=None), "'id' is null. It must be a whole number"),
        (put("truth", category_id="cat"), "'category_id' is 'cat'. It must be a whole number"),
        (put("truth", iscrowd=[1]), r"'iscrowd' is \[1\]. It must be a whole number"),
        (put("truth", area=1.5), "'area' is 1.5. It must be a whole number"),
        (lambda side, content: content["categories"].append(3) if side == "truth" else 0, r"categories\[4\]: 3 where"),
    ],
)
def test_messages_of_panoptic_files_name_the_key(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        scores(*coco(tmp_path, change), ["pq"])


def test_stuff_below_half_counts_by_its_overlap() -> None:
    """A stuff segment of 5 pixels, 2 of them found: PQ is 0, PQ† 2 / 5."""
    made = [
        {"image": [1], "map": np.array([[row]]), "segments": [[{"id": 1, "category_id": 1, "isthing": 0}]]}
        for row in ([1, 1, 1, 1, 1], [1, 1, 0, 0, 0])
    ]
    assert scores(*made, ["pq", "pq_dagger"]) == [0.0, 0.4]
