"""COCO, COCOeval and mask of the drop-in, method by method, beside pycocotools itself."""

from __future__ import annotations

import contextlib
import copy
import gc
import io

import numpy as np
import pycocotools.coco as theirs_coco
import pycocotools.cocoeval as theirs_eval
import pycocotools.mask as theirs_mask
import pytest
from support.refusal import refuses

from steelyard.compat.pycocotools import coco as ours_coco
from steelyard.compat.pycocotools import cocoeval as ours_eval
from steelyard.compat.pycocotools import mask as coco_mask
from steelyard.compat.pycocotools import mask as ours_mask

SQUARE = [2.0, 2.0, 2.0, 6.0, 6.0, 6.0, 6.0, 2.0]


TRUTH = {
    "info": {"year": 2026, "version": "one"},
    "images": [{"id": i, "height": 10, "width": 12, "file_name": f"{i}.png", "coco_url": f"there/{i}"} for i in (1, 2)],
    "categories": [{"id": 1, "name": "bolt"}, {"id": 2, "name": "nut"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "area": 16.0, "bbox": [2, 2, 4, 4], "segmentation": [SQUARE]},
        {"id": 2, "image_id": 2, "category_id": 1, "iscrowd": 0, "area": 16.0, "bbox": [2, 2, 4, 4], "segmentation": [SQUARE]},
    ],
}  # fmt: skip


SIDES = (ours_coco.COCO, theirs_coco.COCO)


def plain(value):
    """A value without arrays and tuples, so that whole ones can be compared."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain(held) for held in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def loaded(kind, truth=None):
    held = kind()
    held.dataset = copy.deepcopy(TRUTH if truth is None else truth)
    held.createIndex()
    return held


def results(kind, rows, truth=None):
    with contextlib.redirect_stdout(io.StringIO()):
        return plain(loaded(kind, truth).loadRes(copy.deepcopy(rows)).dataset)


def rle():
    return theirs_mask.frPyObjects([SQUARE], 10, 12)[0]


def scored(image=1, **more):
    return {"image_id": image, "category_id": 1, "score": 0.5, **more}


ROWS = {
    "captions": ([{"image_id": 2, "caption": "two bolts"}], None),
    "a box with its outline": ([scored(bbox=[1, 2, 3, 4], segmentation=[SQUARE])], None),
    "masks with boxes": ([scored(segmentation=rle()), scored(2, segmentation=rle(), bbox=[1, 1, 5, 5])], None),
}


@pytest.mark.parametrize("name", ROWS)
def test_results_are_completed_as_pycocotools_completes_them(name):
    ours, theirs = (results(kind, *ROWS[name]) for kind in SIDES)
    assert ours == theirs


def test_results_of_two_kinds_are_measured_by_their_own():
    """pycocotools refuses both lists: it completes a polygon by no area, and a row without a box not at all."""
    area, box = plain(theirs_mask.area(rle())), plain(theirs_mask.toBbox(rle()))
    rows = [scored(bbox=[0, 0, 1, 1]), scored(2, segmentation=rle())]
    mixed = results(ours_coco.COCO, rows)["annotations"]
    assert [(ann["area"], ann["bbox"]) for ann in mixed] == [(1, [0, 0, 1, 1]), (area, box)]
    outlines = results(
        ours_coco.COCO, [scored(segmentation=[SQUARE]), scored(2, segmentation=[SQUARE], bbox=[9, 9, 1, 1])]
    )
    measured = [(ann["area"], ann["bbox"], ann["iscrowd"]) for ann in outlines["annotations"]]
    assert measured == [(area, box, 0), (area, [9, 9, 1, 1], 0)]


def test_results_of_a_data_set_without_categories_are_taken():
    """pycocotools ends with a KeyError."""
    truth = {key: TRUTH[key] for key in ("images", "annotations")}
    row = {"id": 1, "area": 12, "iscrowd": 0, "segmentation": [[1, 2, 1, 6, 4, 6, 4, 2]]}
    held = results(ours_coco.COCO, [scored(bbox=[1, 2, 3, 4])], truth)
    assert held == {"info": {}, "images": TRUTH["images"], "annotations": [scored(bbox=[1, 2, 3, 4]) | row]}


def test_the_data_set_says_what_it_is(capsys):
    shown = []
    for kind in SIDES:
        held = loaded(kind)
        capsys.readouterr()
        held.info()
        shown.append(capsys.readouterr().out)
    assert shown == ["year: 2026\nversion: one\n"] * 2


def test_a_data_set_without_annotations_has_its_images_alone():
    ours, theirs = (loaded(kind, {key: TRUTH[key] for key in ("images", "categories")}) for kind in SIDES)
    assert [ours.anns, ours.imgs, ours.cats] == [theirs.anns, theirs.imgs, theirs.cats]
    assert (ours.anns, list(ours.imgs), list(ours.cats), dict(ours.catToImgs)) == ({}, [1, 2], [1, 2], {})


def test_a_file_that_is_no_data_set_is_refused(tmp_path):
    (tmp_path / "list.json").write_text("[1]")
    with refuses("E-results-error", str(tmp_path / "list.json")):
        ours_coco.COCO(tmp_path / "list.json")


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "cut.json").write_text('{"images": [')
    with refuses("E-invalid-file", str(tmp_path / "cut.json")):
        ours_coco.COCO(tmp_path / "cut.json")


def test_the_collector_stays_off_where_it_was_off():
    gc.disable()
    try:
        with ours_coco.many_objects():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    with ours_coco.many_objects():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_captions_are_printed(capsys):
    for kind in SIDES:
        held = loaded(kind)
        capsys.readouterr()
        assert held.showAnns([]) == 0
        assert held.showAnns([{"caption": "two bolts"}, {"caption": "a nut"}]) is None
        assert capsys.readouterr().out == "two bolts\na nut\n"


def test_annotations_of_no_kind_cannot_be_shown():
    with refuses("E-unsupported", "segmentation"):
        loaded(ours_coco.COCO).showAnns([{"bbox": [0, 0, 1, 1]}])


def test_images_are_fetched_once(tmp_path, monkeypatch, capsys):
    """Nothing is fetched over a network: the function that would is a stand-in."""
    for kind, place in zip(SIDES, ("ours", "theirs"), strict=True):
        asked = []
        monkeypatch.setattr("urllib.request.urlretrieve", lambda url, path, asked=asked: asked.append((url, path)))
        monkeypatch.setattr(theirs_coco, "urlretrieve", lambda url, path, asked=asked: asked.append((url, path)))
        folder = tmp_path / place
        folder.mkdir()
        (folder / "1.png").write_bytes(b"there")
        held = loaded(kind)
        capsys.readouterr()
        assert held.download() == -1
        assert capsys.readouterr().out == "Please specify target directory\n"
        assert held.download(str(folder)) is None
        assert held.download(str(folder), [1]) is None
        assert [line.partition(" (")[0] for line in capsys.readouterr().out.splitlines()] == [
            "downloaded 0/2 images",
            "downloaded 1/2 images",
            "downloaded 0/1 images",
        ]
        assert asked == [("there/2", str(folder / "2.png"))]


def test_annotations_are_drawn_with_and_without_boxes_and_points():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    held = loaded(ours_coco.COCO)
    outline = {"image_id": 1, "bbox": [1, 1, 2, 2], "segmentation": [SQUARE]}
    points = {"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "keypoints": [1, 1, 0]}
    drawn = []
    held.cats[1]["skeleton"] = []
    for anns, boxes in (([outline, points], False), ([outline, points], True)):
        plt.figure()
        held.showAnns(anns, draw_bbox=boxes)
        drawn.append([len(shapes.get_paths()) for shapes in plt.gca().collections])
        plt.close()
    assert drawn == [[1, 1], [3, 3]]


def both_evaluations(truth, rows, iou_type="bbox", change=None):
    held = []
    for kind, evaluation in zip(SIDES, (ours_eval.COCOeval, theirs_eval.COCOeval), strict=True):
        with contextlib.redirect_stdout(io.StringIO()):
            gt = loaded(kind, truth)
            run = evaluation(gt, gt.loadRes(copy.deepcopy(rows)), iou_type)
            if change is not None:
                change(run)
            run.evaluate()
            run.accumulate()
        held.append(run)
    return held


BOXES = [scored(bbox=[2, 2, 4, 3]), scored(2, bbox=[2, 2, 4, 4], score=0.9)]


@pytest.mark.parametrize("flag", [0, 1])
def test_the_old_flag_of_masks_is_heard(flag):
    ours, theirs = both_evaluations(TRUTH, BOXES, "bbox", lambda run: setattr(run.params, "useSegm", flag))
    assert ours.params.iouType == theirs.params.iouType == ("segm" if flag else "bbox")
    assert np.array_equal(ours.eval["precision"], theirs.eval["precision"])


def test_a_run_of_some_images_and_categories_counts_them_alone():
    def some(run):
        run.params.imgIds, run.params.catIds = [2], [1]

    ours, theirs = both_evaluations(TRUTH, [*BOXES, scored(2, bbox=[0, 0, 1, 1], category_id=2)], "bbox", some)
    assert np.array_equal(ours.eval["precision"], theirs.eval["precision"])
    assert np.array_equal(ours.eval["recall"], theirs.eval["recall"])


def test_a_run_of_no_image_has_no_precision():
    ours, theirs = both_evaluations(TRUTH, BOXES, "bbox", lambda run: setattr(run.params, "imgIds", []))
    assert np.array_equal(ours.eval["precision"], theirs.eval["precision"])
    assert set(ours.eval["precision"].ravel().tolist()) == {-1.0}


def test_a_category_that_nobody_shows_has_no_precision():
    ours, theirs = both_evaluations(TRUTH, BOXES)
    assert (ours.eval["precision"][:, :, 1] == -1).all()
    assert np.array_equal(ours.eval["precision"], theirs.eval["precision"])
    ours.evalImgs = copy.deepcopy(ours.evalImgs)  # the slow way, by the listed entries
    with contextlib.redirect_stdout(io.StringIO()):
        ours.accumulate()
    assert np.array_equal(ours.eval["precision"], theirs.eval["precision"])


def test_an_evaluation_of_nothing_says_what_it_takes(capsys):
    """pycocotools says the same, and then ends with an exception."""
    run = ours_eval.COCOeval(iouType="")
    assert capsys.readouterr().out == "iouType not specified. use default iouType segm\n"
    assert (run.params.iouType, run.params.imgIds, run.params.catIds) == ("segm", [], [])


def test_accumulating_before_evaluating_is_said(capsys):
    """Both then end with an AttributeError: there are no parameters of an evaluation."""
    for kind, evaluation in zip(SIDES, (ours_eval.COCOeval, theirs_eval.COCOeval), strict=True):
        run = evaluation(loaded(kind), None, "bbox")
        capsys.readouterr()
        with pytest.raises(AttributeError):
            run.accumulate()
        assert capsys.readouterr().out == "Accumulating evaluation results...\nPlease run evaluate() first\n"


def keypoint_truth():
    truth = copy.deepcopy(TRUTH)
    for ann in truth["annotations"]:
        ann |= {"keypoints": [3, 3, 2, 5, 5, 2], "num_keypoints": 2}
    return truth


def two_points(run):
    run.params.kpt_oks_sigmas = np.array([0.05, 0.1])


def test_the_similarity_of_one_cell_is_that_of_pycocotools():
    rows = [scored(keypoints=[3, 4, 1, 5, 5, 1]), scored(keypoints=[3, 3, 1, 5, 4, 1], score=0.9)]
    ours, theirs = both_evaluations(keypoint_truth(), rows, "keypoints", two_points)
    table = ours.computeOks(1, 1)
    assert table.shape == (2, 1)
    assert np.array_equal(table, theirs.computeOks(1, 1))
    with refuses("E-unsupported", "keypoints"):
        ours.computeIoU(1, 1)


def test_points_that_are_no_numbers_are_refused():
    for point, sigmas, text in (
        (np.inf, [0.05, 0.1], ("E-invalid-number", "id 1", "'keypoints'", "1e12")),
        (4, [0.0, 0.1], ("E-out-of-range", "sigma")),
    ):
        gt = loaded(ours_coco.COCO, keypoint_truth())
        run = ours_eval.COCOeval(gt, gt.loadRes([scored(keypoints=[3, point, 1, 5, 5, 1])]), "keypoints")
        run.params.kpt_oks_sigmas = np.array(sigmas)
        with refuses(*text):
            run.evaluate()


def test_boundaries_of_one_cell():
    """Of a mask beside itself, and of its left half: 16 pixels of edge in a square of 4, 8 of them held."""
    half = theirs_mask.frPyObjects([[2.0, 2.0, 2.0, 6.0, 4.0, 6.0, 4.0, 2.0]], 10, 12)[0]
    rows = [scored(segmentation=rle()), scored(segmentation=half, score=0.25)]
    gt = loaded(ours_coco.COCO)
    run = ours_eval.COCOeval(gt, gt.loadRes(rows), "boundary")
    run.params.dilation_ratio = 0.02
    run.evaluate()
    assert run.computeIoU(1, 1).tolist() == [[1.0], [6 / 14]]


def test_a_boundary_wider_than_the_image_is_refused():
    gt = loaded(ours_coco.COCO)
    run = ours_eval.COCOeval(gt, gt.loadRes([scored(segmentation=rle())]), "boundary")
    run.params.dilation_ratio = -1
    with refuses("E-out-of-range", "params.dilation_ratio", "0", "1"):
        run.evaluate()


MASKS = {
    "one box as an array": lambda m: m.frPyObjects(np.array([[1.0, 2.0, 3.0, 4.0]]), 10, 12),
    "uncompressed ones": lambda m: m.frPyObjects([{"size": [2, 3], "counts": [1, 3, 2]}], 2, 3),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_made_as_pycocotools_makes_them(name):
    assert MASKS[name](ours_mask) == MASKS[name](theirs_mask)


def test_one_polygon_gives_one_mask():
    """pycocotools ends with a TypeError."""
    assert ours_mask.frPyObjects(SQUARE, 10, 12) == rle()


def test_polygons_as_arrays_are_united():
    rings = [np.array(SQUARE), np.array([7.0, 7.0, 7.0, 9.0, 9.0, 9.0])]
    theirs = theirs_mask.merge(theirs_mask.frPyObjects([ring.tolist() for ring in rings], 10, 12))
    assert ours_mask.polygon_union(rings, 10, 12) == theirs


def test_regions_of_no_kind_are_refused():
    for regions, text in (
        (np.zeros((2, 3)), ("E-shape-mismatch", "2", "3")),
        ("ab", ("E-invalid-value", "detections")),
    ):
        with refuses(*text):
            ours_mask.iou(regions, [[0, 0, 1, 1]], [0])
    with refuses("E-invalid-value", "mask"):
        ours_mask.frPyObjects([], 2, 2)


def test_what_takes_the_place_of_pycocotools() -> None:
    rle = {"size": [2, 2], "counts": [0, 4]}
    with refuses("E-shape-mismatch", "detections"):
        coco_mask.iou([[0, 0, 1, 1]], [rle], [0])
    with refuses("E-shape-mismatch", "2", "1"):
        coco_mask.iou([rle], [rle], [0, 1])
    with refuses("E-invalid-value", "nor"):
        coco_mask.iou(["x"], ["x"], [0])
    assert coco_mask.iou([], [rle], [0]) == []
