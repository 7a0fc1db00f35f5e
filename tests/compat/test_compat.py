"""The drop-in for pycocotools, held to pycocotools 2.0.11 itself.

Numbers are compared to the bit, on every machine. Boxes and masks are made of sums, products and quotients, which IEEE 754
rounds alike everywhere, and the native core is built without fused multiply-adds. Keypoints need exp, which no standard
rounds: NumPy has its own for some processors and the C library's for others. The drop-in asks NumPy, as the reference does,
with arrays of the same type, length and layout, so that both sides get the same bits whichever exp that is.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import compat_probes
from support.coco_drawn import draw_coco, evaluated, quiet, reference_eval
from support.compat_probes import PROBES, pycocotools_tools, same, same_numbers
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard.compat import pycocotools as ours

# pycocotools itself warns under numpy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
DOCS = ROOT / "docs" / "compat" / "pycocotools.md"


@pytest.mark.parametrize("question", list(PROBES))
def test_probe(question: str) -> None:
    assert compat_probes.TOLERANCE == 0.0
    PROBES[question](ours, pycocotools_tools())


def test_the_table_holds_every_probe() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for question in PROBES:
        assert f"| {question} | yes |" in page, "run tools/make_compat_table.py"


CHANGES: dict[str, Any] = {
    "plain": {},
    "all classes as one": {"useCats": 0},
    "own settings": {
        "areaRng": [[0, 500], [500, 1e9]],
        "areaRngLbl": ["few", "many"],
        "iouThrs": np.array([0.3, 0.5, 0.77]),
        "recThrs": np.linspace(0, 1, 11),
        "maxDets": [2, 5, 7],
    },
}


@pytest.mark.parametrize("kind", ["bbox", "segm", "keypoints"])
@pytest.mark.parametrize("change", CHANGES)
def test_everything_is_equal_over_drawn_data(kind: str, change: str) -> None:
    """Not the numbers alone: every match of every image, every IoU, and the same once more from the lists."""

    def set_params(e: Any) -> None:
        for name, value in CHANGES[change].items():
            setattr(e.params, name, copy.deepcopy(value))

    for seed in range(20, 32):
        data, results = draw_coco(seed, texts=seed % 4 == 0)
        e = evaluated(ours.COCO, ours.COCOeval, data, results[kind], kind, set_params)
        expected = reference_eval(data, results[kind], kind, set_params)
        same_numbers(e, expected)
        same(expected.evalImgs, e.evalImgs, "evalImgs")
        same(
            {k: np.asarray(v) for k, v in expected.ious.items()}, {k: np.asarray(v) for k, v in e.ious.items()}, "ious"
        )
        for one, other in zip(expected.evalImgs, e.evalImgs, strict=True):
            for name in (
                ("dtMatches", "gtMatches", "gtIgnore", "dtIgnore") if one is not None and other is not None else ()
            ):
                assert one[name].dtype == other[name].dtype or one[name].size == 0
        quiet(e.accumulate)
        same_numbers(e, expected)


def test_exp_is_asked_of_numpy_as_the_reference_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever exp the machine has, both get it: here one that is off in the last bits, and another by the length."""
    exp = np.exp

    def other(values: Any) -> Any:
        return exp(values) * (1 + 3e-16 * (1 + len(values) % 3))

    data, results = draw_coco(24)
    monkeypatch.setattr(np, "exp", other)
    for change in (lambda e: None, lambda e: setattr(e, "computeOks", type(e).computeOks.__get__(e))):
        collected = []
        for tools in (ours, pycocotools_tools()):
            e = evaluated(tools.COCO, tools.COCOeval, data, results["keypoints"], "keypoints", change)
            collected.append({k: np.asarray(v) for k, v in e.ious.items()})
        assert sum(np.count_nonzero(table) for table in collected[1].values()) > 20
        same(collected[1], collected[0], "ious")


def test_exp_does_not_depend_on_the_array_around_an_element() -> None:
    """What lets the drop-in ask for many pairs at once: NumPy's exp of a row is that of the row alone, to the bit."""
    rng = np.random.default_rng(3)
    rows = [-rng.exponential(scale, size) for size in range(1, 40) for scale in (0.01, 1.0, 40.0, 800.0)]
    expected = np.concatenate([np.exp(row) for row in rows])
    assert np.array_equal(np.exp(np.concatenate(rows)), expected)


def test_ids_that_the_reference_takes_for_none() -> None:
    """A truth with id 0 is never found, and a detection with id 0 takes no truth: the drop-in repeats both."""
    data, results = draw_coco(7)
    data["annotations"][0]["id"] = 0
    e, expected = (
        evaluated(tools.COCO, tools.COCOeval, data, results["bbox"], "bbox") for tools in (ours, pycocotools_tools())
    )
    same_numbers(e, expected)
    predicted = []
    for tools in (ours, pycocotools_tools()):
        truth, detections = tools.COCO(), tools.COCO()
        truth.dataset = copy.deepcopy(data)
        boxes = [
            {**r, "id": i - 2, "area": r["bbox"][2] * r["bbox"][3], "iscrowd": 0} for i, r in enumerate(results["bbox"])
        ]
        detections.dataset = {**copy.deepcopy(data), "annotations": copy.deepcopy(boxes)}
        for coco in (truth, detections):
            quiet(coco.createIndex)
        e = tools.COCOeval(truth, detections, "bbox")
        for step in (e.evaluate, e.accumulate, e.summarize):
            quiet(step)
        predicted.append(e)
    same_numbers(*predicted)
    same(predicted[1].evalImgs, predicted[0].evalImgs)


def test_points_that_no_pair_needs_are_not_asked_for() -> None:
    """Results of boxes against no truth at all: the reference finds nothing to compare, and neither do we."""
    data, results = draw_coco(3)
    data["annotations"] = []
    e, expected = (
        evaluated(tools.COCO, tools.COCOeval, data, results["bbox"], "keypoints")
        for tools in (ours, pycocotools_tools())
    )
    same_numbers(e, expected)
    assert set(e.stats) == {-1.0}


def test_annotation_ids_may_be_texts() -> None:
    data, results = draw_coco(3)
    plain = evaluated(ours.COCO, ours.COCOeval, data, results["bbox"], "bbox")
    for ann in data["annotations"]:
        ann["id"] = f"ann {ann['id']}"
    e = evaluated(ours.COCO, ours.COCOeval, data, results["bbox"], "bbox")
    assert list(e.stats) == list(plain.stats)
    matched = {v for one in e.evalImgs if one for v in one["dtMatches"].ravel().tolist()}
    assert any(isinstance(v, str) for v in matched)


def test_patched_methods_are_called() -> None:
    """Not only a subclass: a method set on one object, or on the class, counts as well."""
    data, results = draw_coco(3)

    def nothing(e: Any) -> None:
        e.computeIoU = lambda imgId, catId: []

    e = evaluated(ours.COCO, ours.COCOeval, data, results["bbox"], "bbox", nothing)
    expected = reference_eval(data, results["bbox"], "bbox", nothing)
    same_numbers(e, expected)
    assert e.stats[0] == 0


def test_unchanged_code_runs_after_one_line(tmp_path: Path) -> None:
    data, results = draw_coco(3)
    (tmp_path / "truth.json").write_text(json.dumps(data))
    (tmp_path / "results.json").write_text(json.dumps(results["segm"]))
    code = """
import pycocotools.mask as mask_util
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval, Params
truth = COCO("truth.json")
e = COCOeval(truth, truth.loadRes("results.json"), "segm")
e.evaluate(); e.accumulate(); e.summarize()
print(COCO.__module__, mask_util is mask)
print(repr(e.stats.tolist()))
"""
    printed = []
    for head in ("import steelyard.compat; steelyard.compat.install_pycocotools()\n", ""):
        done = subprocess.run(
            [sys.executable, "-c", head + code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        printed.append(done.stdout.splitlines())
    assert printed[0][-2] == "steelyard.compat.pycocotools.coco True"
    assert printed[1][-2] == "pycocotools.coco True"
    assert printed[0][-1] == printed[1][-1]
    summary = [line for line in printed[0] if line.startswith(" Average")]
    assert len(summary) == 12
    assert summary == [line for line in printed[1] if line.startswith(" Average")]


def test_install_can_be_undone() -> None:
    import pycocotools.coco

    from steelyard.compat import install_pycocotools, uninstall_pycocotools

    real = pycocotools.coco
    install_pycocotools()
    install_pycocotools()
    try:
        assert sys.modules["pycocotools.coco"] is ours.coco
    finally:
        uninstall_pycocotools()
    assert sys.modules["pycocotools.coco"] is real


def test_boundary_is_an_iou_type() -> None:
    data, results = draw_coco(3)
    e = evaluated(ours.COCO, ours.COCOeval, data, results["segm"], "boundary")
    plain = evaluated(ours.COCO, ours.COCOeval, data, results["segm"], "segm")
    assert 0 < e.stats[0] <= plain.stats[0]
    for key, table in plain.ious.items():
        if len(table):
            assert (np.asarray(e.ious[key]) <= np.asarray(table)).all()
    report = sy.evaluate("masks", data, results["segm"], "map", confidence=None, options={"overlap": "boundary"})
    assert report["map"].value == e.stats[0]


def test_showing_annotations_draws_them() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    data, _ = draw_coco(3)
    data["categories"] = [{**c, "skeleton": [[1, 2], [2, 3]]} for c in data["categories"]]
    coco = ours.COCO()
    coco.dataset = data
    quiet(coco.createIndex)
    coco.showAnns(list(coco.anns.values()), draw_bbox=True)
    assert len(plt.gca().collections) == 2
    plt.close("all")


BAD: dict[str, tuple[Any, list[str]]] = {
    "unknown image": (lambda c: c.loadRes([{"image_id": -5, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1}]),
                      ["E-results-error", "'-5'"]),
    "a dict of results": (lambda c: c.loadRes({}), ["E-results-error", "dict"]),
    "an array of six columns": (lambda c: c.loadRes(np.zeros((2, 6))), ["E-results-error", "2", "6", "7"]),
    "a score that is a text": (lambda c: _evaluate(c, score="high"), ["E-number-error", "'high'", "'score'"]),
    "a box of three": (lambda c: _evaluate(c, bbox=[0, 0, 1], area=1), ["E-shape-mismatch", "4", "'bbox'"]),
    "no such kind": (lambda c: ours.COCOeval(c, c, "points"), ["E-unsupported", "'points'"]),
    "summary before evaluation": (lambda c: ours.COCOeval(c, c, "bbox").summarize(), ["E-missing-data", "accumulate"]),
    "a mask that is too short": (lambda c: _masks(c, counts="01"), ["E-invalid-value", "annotation with id 1, image 179, key 'segmentation'"]),
    "a polygon of two points": (lambda c: c.annToRLE({"image_id": c.dataset["images"][0]["id"], "segmentation": [[1, 2, 3, 4, 5]]}),
                                ["E-invalid-value", "5"]),
}  # fmt: skip


def _evaluate(coco: Any, **changed: Any) -> None:
    image, cat = coco.dataset["images"][0]["id"], coco.dataset["categories"][0]["id"]
    results = [{"image_id": image, "category_id": cat, "bbox": [0, 0, 5, 5], "score": 0.5}]
    result = coco.loadRes(results)
    result.anns[1].update(changed)
    ours.COCOeval(coco, result, "bbox").evaluate()


def _masks(coco: Any, counts: str) -> None:
    image, cat = coco.dataset["images"][0]["id"], coco.dataset["categories"][0]["id"]
    good = ours.mask.encode(np.ones((90, 120), dtype=np.uint8, order="F"))
    result = coco.loadRes([{"image_id": image, "category_id": cat, "segmentation": good, "score": 0.5}])
    result.anns[1]["segmentation"]["counts"] = counts
    ours.COCOeval(coco, result, "segm").evaluate()


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    coco = ours.COCO()
    coco.dataset = draw_coco(3)[0]
    quiet(coco.createIndex)
    act, parts = BAD[case]
    with refuses(*parts):
        quiet(act, coco)
