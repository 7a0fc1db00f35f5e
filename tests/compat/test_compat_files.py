"""The drop-in for pycocotools on files, which it reads into columns until somebody looks at their dicts."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.coco_drawn import draw_coco, mask_of, quiet, uncompressed
from support.compat_probes import pycocotools_tools, same, same_numbers

import steelyard as sy
from steelyard.compat import pycocotools as ours

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
Change = Callable[[Any], None]


def written(folder: Path, data: Any, results: Any) -> tuple[Path, Path]:
    paths = folder / "truth.json", folder / "results.json"
    for path, content in zip(paths, (data, results), strict=True):
        path.write_text(json.dumps(content))
    return paths


def run(evaluator: Any) -> Any:
    for step in (evaluator.evaluate, evaluator.accumulate, evaluator.summarize):
        quiet(step)
    return evaluator


def from_files(tools: Any, paths: tuple[Path, Path], change: Change | None = None, kind: str = "bbox") -> Any:
    truth = quiet(tools.COCO, str(paths[0]))
    evaluator = quiet(tools.COCOeval, truth, quiet(truth.loadRes, str(paths[1])), kind)
    if change is not None:
        change(evaluator)
    return run(evaluator)


def both(paths: tuple[Path, Path], change: Change | None = None, kind: str = "bbox") -> tuple[Any, Any]:
    return from_files(ours, paths, change, kind), from_files(pycocotools_tools(), paths, change, kind)


def is_unseen(coco: Any, kind: str = "bbox") -> bool:
    params = SimpleNamespace(iouType=kind, imgIds=[1], catIds=[1], kpt_oks_sigmas=np.ones(17))
    return coco.unseen_columns(params) is not None


def no_categories(e: Any) -> None:
    e.params.useCats = 0


def some_ids(e: Any) -> None:
    e.params.imgIds, e.params.catIds = e.params.imgIds[1:], e.params.catIds[:1]


def own_settings(e: Any) -> None:
    e.params.areaRng, e.params.areaRngLbl = [[0, 500], [500, 1e9]], ["few", "many"]
    e.params.iouThrs, e.params.recThrs = np.linspace(0.3, 0.9, 70), np.array([0.5, 0.0, 0.2, 1.0])
    e.params.maxDets = [2, 5, 7]


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
@pytest.mark.parametrize("change", [None, no_categories, some_ids, own_settings])
def test_files_are_evaluated_as_pycocotools_evaluates_them(change: Change | None, kind: str, tmp_path: Path) -> None:
    """Every array, then every match and IoU, which are made when they are read, and the same from those lists."""
    for seed in range(40, 52):
        data, results = draw_coco(seed)
        mine, theirs = both(written(tmp_path, data, results[kind]), change, kind)
        if kind == "bbox" or change is not no_categories:  # keypoints without categories go step by step
            assert is_unseen(mine.cocoGt, kind) or kind == "keypoints"
            assert is_unseen(mine.cocoDt, kind) or kind == "keypoints"
        same_numbers(mine, theirs)
        same(theirs.evalImgs, mine.evalImgs, "evalImgs")
        ious = [{key: np.asarray(value) for key, value in e.ious.items()} for e in (theirs, mine)]
        same(*ious, "ious")
        quiet(mine.accumulate)
        same_numbers(mine, theirs)


def with_boxes(results: Any) -> Any:
    """Results of any kind with boxes beside: then the area is that of the box."""
    return [{**one, "bbox": box["bbox"]} for one, box in zip(results[0], results[1], strict=True)]


@pytest.mark.parametrize("kind", ["segm", "keypoints"])
def test_results_with_boxes_beside(kind: str, tmp_path: Path) -> None:
    for seed in range(60, 66):
        data, results = draw_coco(seed)
        paths = written(tmp_path, data, with_boxes((results[kind], results["bbox"])))
        mine, theirs = both(paths, kind=kind)
        assert is_unseen(mine.cocoDt, kind)
        same_numbers(mine, theirs)
        same(theirs.evalImgs, mine.evalImgs, "evalImgs")
        same_numbers(*both(paths))


def test_boxes_of_masks(tmp_path: Path) -> None:
    """Masks have boxes of their own, also where the first evaluation was of masks."""
    for seed in range(60, 64):
        data, results = draw_coco(seed)
        paths = written(tmp_path, data, results["segm"])
        same_numbers(*both(paths))
        pair = both(paths, kind="segm")
        for e in pair:
            e.params.iouType = "bbox"
        same_numbers(*map(run, pair))


def polygons(results: Any) -> Any:
    return [{**r, "segmentation": [[1, 1, 30, 1, 30, 30, 1, 30]]} for r in results]


def uncompressed_masks(results: Any) -> Any:
    """As `counts` is a list in the truth, and never in results that pycocotools takes."""
    return [{**r, "segmentation": uncompressed(r["segmentation"])} for r in results]


@pytest.mark.parametrize("change", [polygons, uncompressed_masks])
def test_masks_that_pycocotools_does_not_take(change: Callable[[Any], Any], tmp_path: Path) -> None:
    """Polygons and uncompressed masks count as the masks that they stand for."""
    for seed in range(64, 68):
        data, results = draw_coco(seed)
        changed = change(results["segm"])
        compressed = results["segm"]
        if change is polygons:
            ring = mask_of([[1, 1, 30, 1, 30, 30, 1, 30]])
            compressed = [{**r, "segmentation": ring} for r in results["segm"]]
        theirs = from_files(pycocotools_tools(), written(tmp_path, data, compressed), kind="segm")
        mine = from_files(ours, written(tmp_path, data, changed), kind="segm")
        same_numbers(mine, theirs)
        quiet(mine.evaluate)
        assert all(type(ann["segmentation"]) is dict for ann in mine.cocoDt.anns.values())


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
def test_the_dicts_are_those_of_pycocotools(kind: str, tmp_path: Path) -> None:
    """With all that loading results and evaluating leaves in them."""
    for seed in range(66, 70):
        data, results = draw_coco(seed)
        mine, theirs = both(written(tmp_path, data, results[kind]), kind=kind)
        for name in ("dataset", "anns", "imgs", "cats"):
            same(getattr(theirs.cocoDt, name), getattr(mine.cocoDt, name), name)
            same(getattr(theirs.cocoGt, name), getattr(mine.cocoGt, name), name)
        for name in ("imgToAnns", "catToImgs"):
            same(dict(getattr(theirs.cocoGt, name)), dict(getattr(mine.cocoGt, name)), name)
        assert not is_unseen(mine.cocoGt)
        assert mine.cocoDt.imgs[data["images"][0]["id"]] is mine.cocoGt.imgs[data["images"][0]["id"]]
        quiet(mine.evaluate)
        cells = [{key: anns for key, anns in e._gts.items() if anns} for e in (theirs, mine)]
        same(*cells, "_gts")


def edit_values(e: Any) -> None:
    for ann in list(e.cocoGt.anns.values())[::2]:
        ann["area"], ann["bbox"] = 900.0, [3.0, 4.0, 30.0, 30.0]
        ann["keypoints"] = [30.0, 20.0, 2] * 17
    for ann in next(iter(e.cocoGt.imgToAnns.values())):
        ann["iscrowd"] = 1 - ann["iscrowd"]
    for ann in e.cocoDt.dataset["annotations"][::3]:
        ann["score"] = 0.5


def edit_entries(e: Any) -> None:
    truths = e.cocoGt.dataset["annotations"]
    del truths[::4]
    truths.append({**truths[0], "id": 9999, "bbox": [1.0, 1.0, 9.0, 9.0], "area": 81.0})
    quiet(e.cocoGt.createIndex)
    del e.cocoDt.dataset["annotations"][-1]
    quiet(e.cocoDt.createIndex)


def edit_masks(e: Any) -> None:
    for coco in (e.cocoGt, e.cocoDt):
        for ann in list(coco.anns.values())[::2]:
            ann["segmentation"] = mask_of([[5.0, 5.0, 50.0, 5.0, 40.0, 60.0]])


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
@pytest.mark.parametrize("edit", [edit_values, edit_entries, edit_masks])
def test_what_is_changed_counts(edit: Change, kind: str, tmp_path: Path) -> None:
    """Changed before the evaluation, and after one."""
    for seed in range(72, 76):
        data, results = draw_coco(seed)
        paths = written(tmp_path, data, results[kind])
        same_numbers(*both(paths, edit, kind))
        pair = both(paths, kind=kind)
        lists = copy.deepcopy(pair[1].evalImgs)
        for e in pair:
            edit(e)
        same(lists, pair[0].evalImgs, "evalImgs before the change")
        same_numbers(*map(run, pair))


def test_the_truth_is_changed_after_the_results_are_loaded(tmp_path: Path) -> None:
    data, results = draw_coco(80)
    paths = written(tmp_path, data, results["bbox"])
    loaded = []
    for tools in (ours, pycocotools_tools()):
        truth = quiet(tools.COCO, str(paths[0]))
        loaded_results = quiet(truth.loadRes, str(paths[1]))
        truth.dataset["info"]["description"] = "changed"
        truth.dataset["images"].pop()
        truth.dataset["categories"][0]["name"] = "changed"
        loaded.append(loaded_results.dataset)
    same(loaded[1], loaded[0], "dataset")


def test_one_side_is_looked_at(tmp_path: Path) -> None:
    for seed in range(82, 86):
        data, results = draw_coco(seed)
        paths = written(tmp_path, data, results["bbox"])
        for side in ("cocoGt", "cocoDt"):
            mine, theirs = both(paths, lambda e, side=side: len(getattr(e, side).anns))
            same_numbers(mine, theirs)
            other = {"cocoGt": "cocoDt", "cocoDt": "cocoGt"}[side]
            assert is_unseen(getattr(mine, other)) == (side == "cocoGt")


def test_results_can_be_deleted_and_truth_in_dicts(tmp_path: Path) -> None:
    data, results = draw_coco(86)
    paths = written(tmp_path, data, results["bbox"])
    truth = quiet(ours.COCO)
    truth.dataset = copy.deepcopy(data)
    quiet(truth.createIndex)
    loaded_results = quiet(truth.loadRes, str(paths[1]))
    paths[1].unlink()
    same_numbers(
        run(quiet(ours.COCOeval, truth, loaded_results, "bbox")), both(written(tmp_path, data, results["bbox"]))[1]
    )
    assert [ann["score"] for ann in loaded_results.anns.values()] == [result["score"] for result in results["bbox"]]


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    data, results = draw_coco(87)
    paths = written(tmp_path, data, results["bbox"])
    truth = quiet(ours.COCO, str(paths[0]))
    loaded_results = quiet(truth.loadRes, str(paths[1]))
    paths[1].write_text("[]")
    for _ in range(2):
        with pytest.raises(sy.InputError) as caught:
            loaded_results.anns  # noqa: B018
        assert (caught.value.code, caught.value.where) == ("E-invalid-file", str(paths[1]))


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
@pytest.mark.parametrize("twin", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy])
def test_copies(twin: Callable[[Any], Any], kind: str, tmp_path: Path) -> None:
    data, results = draw_coco(88)
    mine, theirs = both(written(tmp_path, data, results[kind]), kind=kind)
    copied = twin(mine)
    same(theirs.evalImgs, copied.evalImgs, "evalImgs")
    same_numbers(run(copied), theirs)


def without_area(data: Any) -> None:
    counts = (ann for ann in data["annotations"] if not ann["iscrowd"] and ann["num_keypoints"])
    del next(counts)["area"]


def repeated_id(data: Any) -> None:
    data["annotations"][0]["id"] = data["annotations"][1]["id"]


def unknown_image(data: Any) -> None:
    data["annotations"][0]["image_id"] = 123_456


def zero_id(data: Any) -> None:
    data["annotations"][0]["id"] = 0


def without_crowd(data: Any) -> None:
    data["annotations"][0]["iscrowd"] = True


def without_points(data: Any) -> None:
    del data["annotations"][0]["num_keypoints"]


def other_size(data: Any) -> None:
    """A mask that does not fit its image, which has no IoU with others."""
    data["annotations"][0]["segmentation"] = {"size": [4, 4], "counts": [3, 9, 4]}


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
@pytest.mark.parametrize(
    "change", [without_area, repeated_id, unknown_image, zero_id, without_crowd, without_points, other_size]
)
def test_odd_files_are_taken_as_pycocotools_takes_them(change: Change, kind: str, tmp_path: Path) -> None:
    for seed in range(90, 94):
        data, results = draw_coco(seed)
        change(data)
        paths = written(tmp_path, data, results[kind])
        try:
            theirs = from_files(pycocotools_tools(), paths, kind=kind)
        except KeyError:
            with pytest.raises(KeyError):
                from_files(ours, paths, kind=kind)
            continue
        same_numbers(from_files(ours, paths, kind=kind), theirs)


def test_ids_that_are_far_apart(tmp_path: Path) -> None:
    """Ids of images and categories up to 10 ** 12, of which an evaluation takes some."""
    for seed in range(90, 94):
        data, results = draw_coco(seed)
        rows = results["bbox"]
        far = {image["id"]: 10**12 // (place + 1) for place, image in enumerate(data["images"])}
        for image in data["images"]:
            image["id"] = far[image["id"]]
        for category in data["categories"]:
            category["id"] = category["id"] ** 9
        for ann in (*data["annotations"], *rows):
            ann["image_id"], ann["category_id"] = far[ann["image_id"]], ann["category_id"] ** 9
        paths = written(tmp_path, data, rows)
        for change in (None, some_ids):
            same_numbers(*both(paths, change))


def test_ids_that_are_texts(tmp_path: Path) -> None:
    data, results = draw_coco(91)
    rows = results["bbox"]
    for image in data["images"]:
        image["id"] = f"image {image['id']}"
    for ann in (*data["annotations"], *rows):
        ann["image_id"] = f"image {ann['image_id']}"
    same_numbers(*both(written(tmp_path, data, rows)))


def test_results_of_unknown_images_are_refused(tmp_path: Path) -> None:
    data, results = draw_coco(97)
    results["bbox"][0]["image_id"] = 123_456
    paths = written(tmp_path, data, results["bbox"])
    truth = quiet(ours.COCO, str(paths[0]))
    with pytest.raises(AssertionError) as caught:
        quiet(truth.loadRes, str(paths[1]))
    assert "123456" in str(caught.value)


def test_a_class_that_reads_by_itself_is_asked(tmp_path: Path) -> None:
    data, results = draw_coco(98)
    paths = written(tmp_path, data, results["bbox"])
    asked = []

    class Own(ours.COCO):
        def createIndex(self) -> None:
            asked.append("createIndex")
            super().createIndex()

    same_numbers(from_files(SimpleNamespace(COCO=Own, COCOeval=ours.COCOeval), paths), both(paths)[1])
    assert asked == ["createIndex"]


def from_list(tools: Any, path: Path, results: Any, before: Change | None = None, kind: str = "bbox") -> Any:
    truth = quiet(tools.COCO, str(path))
    listed = copy.deepcopy(results)
    evaluator = quiet(tools.COCOeval, truth, quiet(truth.loadRes, listed), kind)
    if before is not None:
        before(listed)
    return run(evaluator), listed


def edit_list(listed: Any) -> None:
    """Through the caller's own list: changed dicts count, and entries that come and go do not."""
    listed[0]["bbox"], listed[0]["score"] = [1.0, 2.0, 30, 40], 0.75
    listed[-1]["area"] = 5000.0
    listed.append(dict(listed[0]))
    del listed[1]


def odd_list(listed: Any) -> None:
    listed[0]["score"] = np.float32(0.5)
    listed[-1]["bbox"] = np.array([1.0, 2.0, 30.0, 40.0])


@pytest.mark.parametrize("edit", [None, edit_list, odd_list])
def test_lists_of_results(edit: Change | None, tmp_path: Path) -> None:
    for seed in range(100, 110):
        data, results = draw_coco(seed)
        for result in results["bbox"][::2]:
            result["bbox"] = [round(value) + 1 for value in result["bbox"]]  # whole numbers stay whole
        path = written(tmp_path, data, [])[0]
        (mine, my_list), (theirs, their_list) = (
            from_list(tools, path, results["bbox"], edit) for tools in (ours, pycocotools_tools())
        )
        same_numbers(mine, theirs)
        same(their_list, my_list, "list")
        same(theirs.evalImgs, mine.evalImgs, "evalImgs")
        for name in ("dataset", "anns"):
            same(getattr(theirs.cocoDt, name), getattr(mine.cocoDt, name), name)
        assert mine.cocoDt.dataset["annotations"] is my_list


def edit_listed_masks(listed: Any) -> None:
    listed[0]["segmentation"] = mask_of([[5.0, 5.0, 50.0, 5.0, 40.0, 60.0]])
    listed[-1]["segmentation"]["counts"] = listed[0]["segmentation"]["counts"].encode()
    listed[-1]["area"], listed[-1]["score"] = 5000.0, 0.75


@pytest.mark.parametrize("kind", ["segm", "keypoints"])
@pytest.mark.parametrize("edit", [None, edit_listed_masks])
def test_lists_of_masks_and_keypoints(edit: Change | None, kind: str, tmp_path: Path) -> None:
    for seed in range(100, 106):
        data, results = draw_coco(seed)
        path = written(tmp_path, data, [])[0]
        change = edit if kind == "segm" else None
        (mine, my_list), (theirs, their_list) = (
            from_list(tools, path, results[kind], change, kind) for tools in (ours, pycocotools_tools())
        )
        assert is_unseen(mine.cocoDt, kind) == (kind == "segm")
        same_numbers(mine, theirs)
        same(their_list, my_list, "list")
        same(theirs.evalImgs, mine.evalImgs, "evalImgs")
        same(theirs.cocoDt.anns, mine.cocoDt.anns, "anns")
        for one, other in zip(their_list, my_list, strict=True):
            assert {name: type(value) for name, value in one.items()} == {k: type(v) for k, v in other.items()}


def test_a_list_with_one_dict_twice(tmp_path: Path) -> None:
    data, results = draw_coco(111)
    path = written(tmp_path, data, [])[0]
    collected = []
    for tools in (ours, pycocotools_tools()):
        truth = quiet(tools.COCO, str(path))
        listed = copy.deepcopy(results["bbox"])
        collected.append(run(quiet(tools.COCOeval, truth, quiet(truth.loadRes, [*listed, listed[0]]), "bbox")))
    same_numbers(*collected)
