"""The drop-in for lvis, compared with lvis 0.5.3 itself to the bit."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from support.coco_reference import draw
from support.refusal import refuses

from steelyard import compat
from steelyard.compat import lvis as ours

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
FIELDS = ("precision", "recall", "counts", "dt_pointers")


@pytest.fixture
def theirs(monkeypatch) -> Any:
    """The package, which uses names that NumPy 1.24 and Python 3.13 removed."""
    monkeypatch.setattr(np, "float", float, raising=False)
    monkeypatch.setattr(logging.Logger, "warn", logging.Logger.warning, raising=False)
    import lvis

    return lvis


def federated(seed: int, masks: bool = False) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Drawn data with ties, more than 300 results in an image, negative and incomplete classes, and ignored truths."""
    data, results = draw(seed)
    rng = np.random.default_rng(seed)
    kinds = [category["id"] for category in data["categories"]]
    if seed % 10 == 0 or not results:
        image = data["images"][0]["id"]
        results += [
            {"image_id": image, "category_id": int(rng.choice(kinds)), "bbox": [*(rng.random(2) * 100), 20.0, 20.0],
             "score": float(np.round(rng.random(), 2))}
            for _ in range(350)
        ]  # fmt: skip
    for truth in data["annotations"]:
        del truth["iscrowd"]
        if rng.random() < 0.05:
            truth["ignore"] = 1
    present = {(truth["image_id"], truth["category_id"]) for truth in data["annotations"]}
    for image in data["images"]:
        here = {kind for kind in kinds if (image["id"], kind) in present}
        image["neg_category_ids"] = [kind for kind in kinds if kind not in here and rng.random() < 0.5]
        image["not_exhaustive_category_ids"] = [kind for kind in kinds if rng.random() < 0.3]
        image |= {"width": 150, "height": 120, "coco_url": f"http://x/val/{image['id']}.jpg"}
    for category in data["categories"]:
        category["frequency"] = str(rng.choice(["r", "c", "f"]))
    for item in (*data["annotations"], *results) if masks else ():
        x, y, w, h = (min(value, limit) for value, limit in zip(item["bbox"], (110, 80, 40, 40), strict=True))
        item["segmentation"] = [[x, y, x + w + 2, y + 1, x + w + 1, y + h + 3, x, y + h + 2]]
    for item in results if masks else ():
        item["segmentation"] = coco_mask.merge(coco_mask.frPyObjects(item["segmentation"], 120, 150))
        if seed % 2:
            del item["bbox"]
    return data, results


def evaluator(package: Any, data: Any, results: Any, kind: str, **changes: Any) -> Any:
    truth = package.LVIS.__new__(package.LVIS)
    truth.logger = logging.getLogger("lvis.lvis")
    truth.dataset = copy.deepcopy(data)
    truth._create_index()
    made = package.LVISEval(truth, package.LVISResults(truth, copy.deepcopy(results)), kind)
    for name, value in changes.items():
        setattr(made.params, name, value)
    return made


def printed(evaluation: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        evaluation.print_results()
    return text.getvalue()


def assert_same(a: Any, b: Any, where: str = "") -> None:
    """Equal in kind, type of array, shape and bits, part by part."""
    if isinstance(a, dict):
        assert set(a) == set(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for place, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, f"{where}[{place}]")
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        np.testing.assert_array_equal(a, b, err_msg=where)
    else:
        assert a == b, where


@pytest.mark.parametrize("seed", range(50))
def test_fifty_drawn_sets_to_the_bit(seed, theirs) -> None:
    kind = "segm" if seed % 3 == 2 else "bbox"
    data, results = federated(seed, masks=kind == "segm")
    changes: dict[str, Any] = {}
    if seed % 7 == 0:
        changes = {"area_rng": [[0, 500], [500, 1e9]], "area_rng_lbl": ["all", "small"], "max_dets": 50,
                   "iou_thrs": np.array([0.3, 0.5, 0.77]), "rec_thrs": np.linspace(0, 1, 11)}  # fmt: skip
    if seed % 11 == 0:
        changes["img_ids"] = [image["id"] for image in data["images"]][::2]
        changes["cat_ids"] = [category["id"] for category in data["categories"]][::-1]
    mine, other = (evaluator(package, data, results, kind, **changes) for package in (ours, theirs))
    mine.run()
    other.run()
    assert list(mine.get_results()) == list(other.get_results())
    assert_same(dict(mine.results), dict(other.results), "results")
    assert printed(mine) == printed(other)
    assert_same(*({name: side.eval[name] for name in FIELDS} for side in (mine, other)), "eval")
    assert_same(mine.freq_groups, other.freq_groups)
    if seed % 2:
        assert_same(mine.ious, other.ious, "ious")
        assert_same(mine.eval_imgs, other.eval_imgs, "eval_imgs")
        mine.accumulate()  # now from the list
        assert_same(*({name: side.eval[name] for name in FIELDS} for side in (mine, other)), "listed")
    assert_same(mine.lvis_gt.dataset, other.lvis_gt.dataset, "dataset")
    assert_same(mine.lvis_dt.dataset, other.lvis_dt.dataset, "results' dataset")


def test_a_subclass_and_settings_that_need_every_step(theirs) -> None:
    data, results = federated(4)

    def evaluation(package: Any) -> Any:
        class Strict(package.LVISEval):
            def evaluate_img(self, img_id, cat_id, area_rng):
                return None if img_id == data["images"][0]["id"] else super().evaluate_img(img_id, cat_id, area_rng)

        made = evaluator(package, data, results, "bbox")
        made.__class__ = Strict
        made.run()
        return made

    mine, other = evaluation(ours), evaluation(theirs)
    assert_same(mine.eval_imgs, other.eval_imgs)
    assert_same(dict(mine.results), dict(other.results))
    mine, other = (evaluator(package, data, results, "bbox", use_cats=0) for package in (ours, theirs))
    for side in (mine, other):
        side.evaluate()
        side.accumulate()
    assert_same(*({name: side.eval[name] for name in FIELDS} for side in (mine, other)))
    mine, other = (evaluator(package, data, results, "bbox") for package in (ours, theirs))
    for side in (mine, other):  # the second time everything counts twice, there as here
        side.run()
        side.run()
    assert_same(mine.eval_imgs, other.eval_imgs)
    assert_same(dict(mine.results), dict(other.results))


def test_paths_filters_and_top_results(theirs, tmp_path, caplog) -> None:
    data, results = federated(10)
    truth, predictions = tmp_path / "truth.json", tmp_path / "results.json"
    truth.write_text(json.dumps(data))
    predictions.write_text(json.dumps(results))
    mine, other = (package.LVISEval(str(truth), str(predictions), "bbox") for package in (ours, theirs))
    for side in (mine, other):
        side.run()
    assert_same(dict(mine.results), dict(other.results))
    image, kinds = data["images"][0]["id"], [data["categories"][0]["id"]]
    for side in ("lvis_gt", "lvis_dt"):
        a, b = getattr(mine, side), getattr(other, side)
        for filters in ({}, {"img_ids": [image]}, {"cat_ids": kinds, "area_rng": [100, 900]}):
            assert a.get_ann_ids(**filters) == b.get_ann_ids(**filters)
        assert a.load_anns() == b.load_anns()
        assert (a.load_cats(kinds), a.load_imgs([image])) == (b.load_cats(kinds), b.load_imgs([image]))
        assert (a.img_ann_map, a.cat_img_map, a.imgs, a.cats) == (b.img_ann_map, b.cat_img_map, b.imgs, b.cats)
    assert mine.lvis_dt.get_top_results(image, 0.5) == other.lvis_dt.get_top_results(image, 0.5)
    caplog.clear()
    for package in (ours, theirs):
        package.LVISResults(str(truth), copy.deepcopy(results))
        evaluator(package, data, results, "bbox").get_results()
    said = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert len(said) == 6


def test_masks_of_annotations(theirs) -> None:
    data, _ = federated(5, masks=True)
    data["annotations"][0]["segmentation"] = {"size": [120, 150], "counts": [100, 50, 17850]}
    mine, other = (evaluator(package, data, [{"image_id": data["images"][0]["id"], "category_id": 1, "score": 1.0,
                                              "bbox": [0, 0, 1, 1]}], "segm").lvis_gt for package in (ours, theirs))  # fmt: skip
    for ann in data["annotations"]:
        assert mine.ann_to_rle(ann) == other.ann_to_rle(ann)
        assert_same(mine.ann_to_mask(ann), other.ann_to_mask(ann))


def test_images_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched over a network: the function that would is a stand-in."""
    data, results = federated(3)
    for image in data["images"]:
        image["coco_url"] = f"far/away/{image['id']}.jpg"
    first = data["images"][0]["id"]
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr("urllib.request.urlretrieve", lambda url, path: asked.append((url, path)))
    truth = evaluator(ours, data, results, "bbox").lvis_gt
    (tmp_path / f"{first}.jpg").write_bytes(b"there")
    truth.download(str(tmp_path), [first])
    assert asked == []
    truth.download(str(tmp_path))
    names = [f"{image['id']}.jpg" for image in data["images"][1:]]
    assert asked == [(f"far/away/{name}", str(tmp_path / name)) for name in names]


def test_what_does_not_fit_is_refused(tmp_path) -> None:
    data, results = federated(3)
    truth = evaluator(ours, data, results, "bbox").lvis_gt
    for wrong in (3, None):
        with pytest.raises(TypeError):
            ours.LVISEval(wrong, results)
        with pytest.raises(TypeError):
            ours.LVISEval(truth, wrong)
        with pytest.raises(TypeError):
            ours.LVISResults(wrong, results)
    with pytest.raises(ValueError, match="keypoints"):
        ours.LVISEval(truth, results, "keypoints")
    with pytest.raises(RuntimeError):
        ours.LVISEval(truth, results, "bbox").summarize()
    with pytest.raises(AssertionError):
        ours.LVISResults(truth, {"image_id": 1})
    with pytest.raises(AssertionError, match="-7"):
        ours.LVISResults(truth, [{**results[0], "image_id": -7}])
    path = tmp_path / "list.json"
    path.write_text("[]")
    with pytest.raises(AssertionError, match=r"list\.json"):
        ours.LVIS(path)


def test_no_results_score_zero() -> None:
    data, _ = federated(3)
    evaluation = evaluator(ours, data, [], "bbox")
    evaluation.run()
    assert evaluation.results["AP"] == 0.0


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_a_report_has_the_same_numbers_with_intervals(kind) -> None:
    data, results = federated(7, masks=kind == "segm")
    for place, result in enumerate(results):
        result["score"] += place * 1e-7  # of equal scores, the task takes others first
    for truth in data["annotations"]:
        truth.pop("ignore", None)
    evaluation, other = (evaluator(ours, data, rows, kind) for rows in (results, results[1:]))
    evaluation.run()
    other.run()
    settings: dict[str, Any] = {"metrics": ["map(max_dets=300)", "ar@300"], "draws": 100}
    scored = compat.report(evaluation, **settings)
    assert [score.value for score in scored.scores.values()] == pytest.approx(
        [evaluation.results["AP"], evaluation.results["AR@300"]], abs=1e-12
    )
    compared = compat.report(evaluation, other, **settings)
    difference = other.results["AP"] - evaluation.results["AP"]
    assert compared.differences["map(max_dets=300)"].difference == pytest.approx(difference, abs=1e-12)
    other.params.img_ids = other.params.img_ids[1:]
    with refuses("E-conflict", "ground truth"):
        compat.report(evaluation, other)
