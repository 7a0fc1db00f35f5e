"""Questions to a drop-in for pycocotools, each answered by running it beside pycocotools 2.0.11 itself.

`PROBES[name](tools, reference)` returns nothing where the answer is right and raises where it is not. The tests ask them of
Steelyard; `tools/make_compat_table.py` asks them of every installed peer.
"""

from __future__ import annotations

import copy
import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from support.coco_drawn import HEIGHT, WIDTH, draw_coco, evaluated, quiet, ring
from support.compat_flows import demo, detectron2, torchvision

KINDS = ("bbox", "segm", "keypoints")
SEEDS = (3, 7, 11)
TOLERANCE = 0.0  # of numbers; the table of the peers forgives the last digits where the question is another one
Probe = Callable[[Any, Any], None]
PROBES: dict[str, Probe] = {}


def probe(name: str) -> Callable[[Probe], Probe]:
    def keep(function: Probe) -> Probe:
        PROBES[name] = function
        return function

    return keep


def pycocotools_tools() -> Any:
    """The reference as a namespace."""
    from pycocotools import mask
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    return SimpleNamespace(COCO=COCO, COCOeval=COCOeval, mask=mask)


def same(a: Any, b: Any, where: str = "") -> None:
    """Equal, whatever it is made of: to the bit, or within the tolerance."""
    if isinstance(a, dict):
        assert set(a) == set(b), f"{where}: keys differ"
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), f"{where}: {len(a)} and {len(b)}"
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(a, np.ndarray):
        assert np.shape(a) == np.shape(b), f"{where}: shapes {np.shape(a)} and {np.shape(b)}"
        if TOLERANCE and a.dtype.kind == "f":
            equal = np.allclose(a, np.asarray(b), rtol=0, atol=TOLERANCE, equal_nan=True)
        else:
            equal = np.array_equal(a, np.asarray(b), equal_nan=a.dtype.kind == "f")
        assert equal, f"{where}: values differ"
    elif isinstance(a, float):
        assert a == b or (a != a and b != b) or abs(a - b) <= TOLERANCE, f"{where}: {a} and {b}"
    else:
        assert a == b, f"{where}: {a} and {b}"


def both(tools: Any, reference: Any, kind: str, change: Any = None, seed: int = 3, **options: Any) -> tuple[Any, Any]:
    data, results = draw_coco(seed, **options)
    return tuple(evaluated(t.COCO, t.COCOeval, data, results[kind], kind, change) for t in (tools, reference))  # type: ignore[return-value]


def same_numbers(ours: Any, theirs: Any) -> None:
    same(np.asarray(theirs.stats), np.asarray(ours.stats), "stats")
    for name in ("precision", "recall", "scores"):
        same(theirs.eval[name], ours.eval[name], name)


def numbers_of(kind: str) -> Probe:
    def ask(tools: Any, reference: Any) -> None:
        for seed in SEEDS:
            same_numbers(*both(tools, reference, kind, seed=seed))

    return ask


for _kind in KINDS:
    PROBES[f"{_kind}: stats and whole arrays equal to the bit"] = numbers_of(_kind)


@probe("`anns` edited in place is seen")
def _anns(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    collected = []
    for t in (tools, reference):
        e = evaluated(t.COCO, t.COCOeval, data, results["bbox"], "bbox")
        before = list(e.stats)
        for key in list(e.cocoGt.anns)[::2]:
            e.cocoGt.anns[key]["bbox"] = [1.0, 2.0, 30.0, 40.0]
            e.cocoGt.anns[key]["area"] = 1200.0
        for key in list(e.cocoDt.anns)[::3]:
            e.cocoDt.anns[key]["score"] = 0.5
        for step in (e.evaluate, e.accumulate, e.summarize):
            quiet(step)
        assert before != list(e.stats), "the edit changed nothing"
        collected.append(e)
    same_numbers(*collected)


@probe("`dataset` edited in place is seen")
def _dataset(tools: Any, reference: Any) -> None:
    data, results = draw_coco(7)
    collected = []
    for t in (tools, reference):
        e = evaluated(t.COCO, t.COCOeval, data, results["bbox"], "bbox")
        e.cocoGt.dataset["annotations"] = e.cocoGt.dataset["annotations"][1::2]
        for ann in e.cocoGt.dataset["annotations"]:
            ann["iscrowd"] = 1 - ann["iscrowd"]
        quiet(e.cocoGt.createIndex)
        again = t.COCOeval(e.cocoGt, e.cocoDt, "bbox")
        for step in (again.evaluate, again.accumulate, again.summarize):
            quiet(step)
        collected.append(again)
    same_numbers(*collected)


@probe("a subclass's `computeIoU` is called")
def _compute(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    collected = []
    for t in (tools, reference):

        class Halved(t.COCOeval):  # type: ignore[misc, name-defined]
            def computeIoU(self, imgId: Any, catId: Any) -> Any:
                ious = super().computeIoU(imgId, catId)
                return ious if len(ious) == 0 else np.asarray(ious) * 0.8

        collected.append(evaluated(t.COCO, Halved, data, results["bbox"], "bbox"))
    same_numbers(*collected)
    plain, _ = both(tools, reference, "bbox")
    assert list(plain.stats) != list(collected[0].stats), "it was not called"


@probe("a subclass's `evaluateImg` is called")
def _evaluate_img(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    collected = []
    for t in (tools, reference):

        class Forgetful(t.COCOeval):  # type: ignore[misc, name-defined]
            def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: Any) -> Any:
                return None if imgId == self.params.imgIds[0] else super().evaluateImg(imgId, catId, aRng, maxDet)

        collected.append(evaluated(t.COCO, Forgetful, data, results["bbox"], "bbox"))
    same_numbers(*collected)
    plain, _ = both(tools, reference, "bbox")
    assert list(plain.stats) != list(collected[0].stats), "it was not called"


@probe("a subclass's `summarize` is called")
def _summarize(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    collected = []
    for t in (tools, reference):

        class Own(t.COCOeval):  # type: ignore[misc, name-defined]
            def summarize(self) -> None:
                self.stats = np.array([self.eval["precision"][0].mean(), len(self.params.imgIds)])

        collected.append(evaluated(t.COCO, Own, data, results["bbox"], "bbox"))
    same(np.asarray(collected[1].stats), np.asarray(collected[0].stats))


@probe("COCO and COCOeval can be pickled")
def _pickle(tools: Any, reference: Any) -> None:
    e, expected = both(tools, reference, "segm")
    again = pickle.loads(pickle.dumps(e))
    quiet(again.accumulate)
    quiet(again.summarize)
    same_numbers(again, expected)
    same(expected.cocoGt.anns.keys() - {None}, pickle.loads(pickle.dumps(e.cocoGt)).anns.keys() - {None})


@probe("COCO and COCOeval can be deep-copied")
def _copy(tools: Any, reference: Any) -> None:
    e, expected = both(tools, reference, "bbox")
    again = copy.deepcopy(e)
    for ann in e.cocoGt.anns.values():
        ann["bbox"] = [0.0, 0.0, 1.0, 1.0]
    for step in (again.evaluate, again.accumulate, again.summarize):
        quiet(step)
    same_numbers(again, expected)


@probe("`evalImgs` has the reference's layout")
def _layout(tools: Any, reference: Any) -> None:
    for kind in KINDS:
        e, expected = both(tools, reference, kind)
        same(list(expected.evalImgs), list(e.evalImgs), "evalImgs")


@probe("`ious` has the reference's layout")
def _ious(tools: Any, reference: Any) -> None:
    for kind in KINDS:
        e, expected = both(tools, reference, kind)
        same(
            {k: np.asarray(v) for k, v in expected.ious.items()}, {k: np.asarray(v) for k, v in e.ious.items()}, "ious"
        )


@probe("`eval` and `params` have the reference's layout")
def _eval(tools: Any, reference: Any) -> None:
    for kind in KINDS:
        e, expected = both(tools, reference, kind)
        assert set(expected.eval) <= set(e.eval)
        same(expected.eval["counts"], list(e.eval["counts"]), "counts")
        for name in (
            "imgIds",
            "catIds",
            "iouThrs",
            "recThrs",
            "maxDets",
            "areaRng",
            "areaRngLbl",
            "useCats",
            "iouType",
        ):
            same(getattr(expected.params, name), getattr(e.params, name), name)


@probe("`evalImgs` assigned from elsewhere is accumulated")
def _assigned(tools: Any, reference: Any) -> None:
    data, results = draw_coco(11)
    collected = []
    for t in (tools, reference):
        e = evaluated(t.COCO, t.COCOeval, data, results["bbox"], "bbox")
        e.evalImgs = [None if i % 3 == 0 else one for i, one in enumerate(e.evalImgs)]
        quiet(e.accumulate)
        quiet(e.summarize)
        collected.append(e)
    same_numbers(*collected)


def with_params(kind: str, **settings: Any) -> Probe:
    def change(e: Any) -> None:
        for name, value in settings.items():
            setattr(e.params, name, value(e.params) if callable(value) else copy.deepcopy(value))

    def ask(tools: Any, reference: Any) -> None:
        for seed in SEEDS:
            same_numbers(*both(tools, reference, kind, change, seed=seed))

    return ask


PROBES["custom `areaRng`"] = with_params(
    "bbox", areaRng=[[0, 1e10], [0, 300], [300, 2000]], areaRngLbl=["all", "small", "large"]
)
PROBES["custom `imgIds`"] = with_params("bbox", imgIds=lambda p: p.imgIds[::2])
PROBES["custom `catIds`"] = with_params("bbox", catIds=lambda p: p.catIds[:1])
PROBES["custom `maxDets`"] = with_params("bbox", maxDets=[3, 1, 30])
PROBES["custom `iouThrs` and `recThrs`"] = with_params(
    "bbox", iouThrs=np.array([0.35, 0.5, 0.6, 0.9]), recThrs=np.linspace(0, 1, 41)
)
PROBES["`useCats = 0`"] = with_params("bbox", useCats=0)
PROBES["custom keypoint sigmas"] = with_params("keypoints", kpt_oks_sigmas=np.linspace(0.02, 0.15, 17))


@probe("`loadRes` of a path, a list and an array")
def _load(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    rows = [[r["image_id"], *r["bbox"], r["score"], r["category_id"]] for r in results["bbox"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        path.write_text(json.dumps(results["bbox"]))
        for given in (str(path), results["bbox"], np.array(rows)):
            result = [evaluated(t.COCO, t.COCOeval, data, given, "bbox") for t in (tools, reference)]
            same_numbers(*result)


@probe("`loadRes` of nothing: no AP, no crash")
def _nothing(tools: Any, reference: Any) -> None:
    data, _ = draw_coco(3)
    for kind in KINDS:
        e = evaluated(tools.COCO, tools.COCOeval, data, [], kind)
        assert float(e.stats[0]) == 0.0, e.stats  # there are truths, and nothing was found


@probe("segm results without `bbox`")
def _no_box(tools: Any, reference: Any) -> None:
    data, results = draw_coco(7)
    assert all("bbox" not in r for r in results["segm"])
    e, expected = (evaluated(t.COCO, t.COCOeval, data, results["segm"], "segm") for t in (tools, reference))
    same_numbers(e, expected)
    for key, ann in expected.cocoDt.anns.items():
        same([float(v) for v in ann["bbox"]], [float(v) for v in e.cocoDt.anns[key]["bbox"]], "bbox")


@probe("ids of images and classes that are texts")
def _texts(tools: Any, reference: Any) -> None:
    for kind in KINDS:
        same_numbers(*both(tools, reference, kind, texts=True))


@probe("the demo notebook's flow")
def _demo(tools: Any, reference: Any) -> None:
    data, results = draw_coco(3)
    collected = []
    for t in (tools, reference):
        with tempfile.TemporaryDirectory() as folder:
            collected.append(demo(t, data, results, Path(folder)))
    same(collected[1], collected[0], "demo")


@probe("an evaluator in torchvision's style")
def _torchvision(tools: Any, reference: Any) -> None:
    for seed in SEEDS:
        data, results = draw_coco(seed)
        same(torchvision(reference, data, results), torchvision(tools, data, results), "torchvision")


@probe("an evaluator in detectron2's style")
def _detectron2(tools: Any, reference: Any) -> None:
    for seed in SEEDS:
        data, results = draw_coco(seed)
        same(detectron2(reference, data, results), detectron2(tools, data, results), "detectron2")


@probe("500 polygons drawn bit for bit")
def _polygons(tools: Any, reference: Any) -> None:
    rng = np.random.default_rng(1)
    rings = [ring(rng, [*rng.uniform(-20, 80, 2), *rng.uniform(1, 90, 2)]) for _ in range(500)]
    ours, theirs = (t.mask.frPyObjects(rings, HEIGHT, WIDTH) for t in (tools, reference))
    same([m["counts"] for m in theirs], [m["counts"] for m in ours], "counts")


@probe("`mask` encodes, decodes, merges and measures alike")
def _mask(tools: Any, reference: Any) -> None:
    rng = np.random.default_rng(2)
    pixels = np.asfortranarray((rng.random((31, 17, 6)) < 0.4).astype(np.uint8))
    ours, theirs = tools.mask, reference.mask
    a, b = ours.encode(pixels), theirs.encode(pixels)
    same([m["counts"] for m in b], [m["counts"] for m in a], "encode")
    same(theirs.decode(b), ours.decode(a), "decode")
    same(theirs.area(b), ours.area(a), "area")
    same(theirs.toBbox(b), ours.toBbox(a), "toBbox")
    same(theirs.merge(b)["counts"], ours.merge(a)["counts"], "merge")
    same(theirs.iou(b[:3], b[3:], [0, 1, 0]), ours.iou(a[:3], a[3:], [0, 1, 0]), "iou")


@probe("broken counts and sizes: an error, no crash and no number")
def _broken(tools: Any, reference: Any) -> None:
    good = reference.mask.encode(np.asfortranarray(np.ones((9, 9), dtype=np.uint8)))
    broken = [
        {"size": [9, 9], "counts": good["counts"][:-1]},
        {"size": [9, 9], "counts": b"0" + good["counts"] * 3},
        {"size": [9, 9], "counts": b"\xff\xfe"},
        {"size": [90000, 90000], "counts": good["counts"]},
        {"size": [-9, 9], "counts": good["counts"]},
        {"size": [9, 9], "counts": b"oooooooooooooooo"},
    ]
    for mask in broken:
        try:
            tools.mask.decode(mask)
        except Exception:
            continue
        raise AssertionError(f"decoded {mask}")
