"""The drop-in for torchmetrics.detection, compared with torchmetrics itself to the bit.

torchmetrics needs torchvision to convert boxes, and for the IoU family. Here its place is taken by a module that returns
boxes as they are, for boxes that need no conversion; the values of the IoU family are computed by hand.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import torchmetrics
from support.coco_drawn import quiet
from torchmetrics.detection import mean_ap as their_mean_ap
from torchmetrics.detection import panoptic_qualities as their_panoptic

from steelyard import compat
from steelyard.compat.torchmetrics import detection as ours
from steelyard.compat.torchmetrics.detection.boxes import converted

# pycocotools itself warns under numpy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
HEIGHT, WIDTH = 30, 40


@pytest.fixture
def theirs(monkeypatch) -> Any:
    """Their MeanAveragePrecision, with boxes that are x, y, width, height."""
    ops = ModuleType("torchvision.ops")
    ops.box_convert = lambda boxes, in_fmt, out_fmt: boxes.clone()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.ops", ops)
    monkeypatch.setattr(their_mean_ap, "_TORCHVISION_AVAILABLE", True)
    return their_mean_ap.MeanAveragePrecision


def drawn(seed: int, images: int = 6) -> tuple[list[Any], list[Any]]:
    """Predictions and targets with boxes and masks: ties, crowds, areas, images without either side."""
    rng = np.random.default_rng(seed)
    preds, target = [], []

    def regions(count: int, near: Any = None) -> dict[str, torch.Tensor]:
        low, size = rng.integers(0, 20, (count, 2)), rng.integers(2, 18, (count, 2))
        if near is not None and len(near):
            chosen = near[rng.integers(0, len(near), count)]
            low, size = chosen[:, :2] + rng.integers(0, 2, (count, 2)), chosen[:, 2:] + rng.integers(0, 2, (count, 2))
        pixels = np.zeros((count, HEIGHT, WIDTH), dtype=bool)
        for mask, (x, y), (w, h) in zip(pixels, low, size, strict=True):
            mask[y : y + h, x : x + w] = rng.random((min(h, HEIGHT - y), min(w, WIDTH - x))) < 0.9
        return {
            "boxes": torch.tensor(np.concatenate([low, size], axis=1), dtype=torch.float32).reshape(-1, 4) * 4,
            "masks": torch.tensor(pixels),
            "labels": torch.tensor(rng.integers(2, 6, count)),
            "corners": torch.tensor(np.concatenate([low, size], axis=1)),
        }

    for _ in range(images):
        truth = regions(int(rng.poisson(2)))
        predicted = regions(int(rng.poisson(4)) * int(rng.random() < 0.8), truth["corners"].numpy())
        if rng.random() < 0.7 and len(truth["labels"]):
            predicted["labels"] = truth["labels"][
                torch.tensor(rng.integers(0, len(truth["labels"]), len(predicted["labels"])))
            ]
        predicted["scores"] = torch.tensor(np.round(rng.random(len(predicted["labels"])), 1), dtype=torch.float32)
        if rng.random() < 0.5:
            truth["iscrowd"] = torch.tensor((rng.random(len(truth["labels"])) < 0.2).astype(int))
        if rng.random() < 0.5:
            truth["area"] = torch.tensor(rng.integers(0, 3, len(truth["labels"])) * 600.5)
        preds.append({key: value for key, value in predicted.items() if key != "corners"})
        target.append({key: value for key, value in truth.items() if key != "corners"})
    return preds, target


def assert_same(a: Any, b: Any, where: str = "") -> None:
    if isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        assert torch.equal(a, b) or (torch.isnan(a) & torch.isnan(b)).all(), (where, a, b)
    else:
        assert a == b, where


SETTINGS: list[dict[str, Any]] = [
    {},
    {"class_metrics": True},
    {"average": "micro", "class_metrics": True, "extended_summary": True},
    {"iou_type": "segm", "extended_summary": True, "class_metrics": True},
    {"iou_type": ("bbox", "segm"), "class_metrics": True},
    {"iou_type": ("segm", "bbox"), "class_metrics": True, "average": "micro", "extended_summary": True},
    {"iou_thresholds": [0.3, 0.5], "rec_thresholds": [0.0, 0.4, 1.0], "max_detection_thresholds": [3, 2, 100]},
    {"max_detection_thresholds": [1, 2, 3], "class_metrics": True},
]


@pytest.mark.filterwarnings("ignore:Encountered more than:UserWarning")
@pytest.mark.parametrize("place", range(len(SETTINGS)))
def test_mean_average_precision_to_the_bit(place, theirs) -> None:
    for seed in range(2):
        preds, target = drawn(10 * place + seed, images=6 if seed == 0 else 1)
        mine, other = (kind(box_format="xywh", **SETTINGS[place]) for kind in (ours.MeanAveragePrecision, theirs))
        for metric in (mine, other):
            metric.update(preds[:2], target[:2])
            metric.update(preds[2:], target[2:])
        assert_same(*(quiet(metric.compute) for metric in (mine, other)))


def test_nothing_and_one_side_alone(theirs) -> None:
    boxes = {"boxes": torch.tensor([[1.0, 2.0, 30.0, 40.0]]), "labels": torch.tensor([3])}
    nothing = {"boxes": torch.tensor([]), "labels": torch.tensor([], dtype=torch.int64)}
    masks = {"masks": torch.ones(1, 5, 5, dtype=torch.bool), "labels": torch.tensor([3])}
    no_masks = {"masks": torch.zeros(0, 5, 5, dtype=torch.bool), "labels": torch.tensor([], dtype=torch.int64)}
    score, no_score = {"scores": torch.tensor([0.5])}, {"scores": torch.tensor([])}
    cases: list[tuple[str, list[Any]]] = [
        ("bbox", []), ("segm", []),
        ("bbox", [([{**boxes, **score}], [nothing])]), ("bbox", [([{**nothing, **no_score}], [boxes])]),
        ("segm", [([{**masks, **score}], [no_masks])]), ("segm", [([{**no_masks, **no_score}], [masks])]),
    ]  # fmt: skip
    for kind, updates in cases:
        mine, other = (
            made(box_format="xywh", iou_type=kind, class_metrics=True) for made in (ours.MeanAveragePrecision, theirs)
        )
        for metric in (mine, other):
            for update in updates:
                metric.update(*update)
            metric._update_count = 1  # else it warns that nothing was added
        assert_same(mine.compute(), other.compute(), kind)


@pytest.mark.parametrize("box_format", ["xyxy", "cxcywh"])
def test_formats_of_boxes(box_format) -> None:
    boxes = torch.tensor([[10.0, 20.0, 30.0, 50.0]])
    expected = {"xyxy": [10.0, 20.0, 20.0, 30.0], "cxcywh": [-5.0, -5.0, 30.0, 50.0]}
    assert converted(boxes, box_format, "xywh").tolist() == [expected[box_format]]
    corners = {"xyxy": [10.0, 20.0, 30.0, 50.0], "cxcywh": [-5.0, -5.0, 25.0, 45.0]}
    assert converted(boxes, box_format, "xyxy").tolist() == [corners[box_format]]
    assert converted(boxes, "xywh", "xyxy").tolist() == [[10.0, 20.0, 40.0, 70.0]]
    metric = ours.MeanAveragePrecision(box_format=box_format)
    item = {"boxes": boxes, "labels": torch.tensor([1])}
    metric.update([{**item, "scores": torch.tensor([0.5])}], [item])
    assert metric.compute()["map"] == 1.0


def test_states_are_gathered_and_moved() -> None:
    preds, target = drawn(1)
    alone = ours.MeanAveragePrecision(box_format="xywh", iou_type=("bbox", "segm"))
    alone.update(preds, target)
    expected = alone.compute()
    assert isinstance(alone, torchmetrics.Metric)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        alone._computed = None
        alone.sync_on_compute, alone.distributed_available_fn = True, lambda: True
        assert_same(alone.compute(), expected)
    finally:
        torch.distributed.destroy_process_group()
    alone.distributed_available_fn = lambda: False
    moved = alone.to(torch.float64)
    moved._computed = None
    assert_same(moved.compute(), expected)
    alone.reset()
    assert alone.detection_box == []


def test_files_of_coco(theirs, tmp_path) -> None:
    preds, target = drawn(4)
    target = [{**item, "iscrowd": torch.zeros_like(item["labels"])} for item in target]
    for kind in ("bbox", "segm", ("bbox", "segm")):
        mine, other = (made(box_format="xywh", iou_type=kind) for made in (ours.MeanAveragePrecision, theirs))
        for name, metric in (("mine", mine), ("other", other)):
            metric.update(preds, target)
            metric.tm_to_coco(str(tmp_path / name))
        for end in ("preds", "target"):
            a, b = (json.loads((tmp_path / f"{name}_{end}.json").read_text()) for name in ("mine", "other"))
            for side in (a, b) if end == "target" else ():
                side.pop("info", None)
            assert a == b
        paths = [str(tmp_path / f"mine_{end}.json") for end in ("preds", "target")]
        again = [metric.coco_to_tm(*paths, kind) for metric in (mine, other)]
        for side in (0, 1):
            for a, b in zip(again[0][side], again[1][side], strict=True):
                assert_same(dict(sorted(a.items())), {k: v.reshape(a[k].shape) for k, v in sorted(b.items())})


def test_a_report_has_the_same_numbers() -> None:
    preds, target = drawn(3)
    for item in (*preds, *target):
        item.pop("iscrowd", None)
    for place, item in enumerate(preds):
        item["scores"] = item["scores"] + torch.arange(len(item["scores"])) * 1e-3 + place * 1e-2
    for kind in ("bbox", "segm"):
        metric = ours.MeanAveragePrecision(box_format="xywh", iou_type=kind)
        metric.update(preds, target)
        report = compat.report(metric, metrics=["map", "ar@100"], draws=100)
        values = [score.value for score in report.scores.values()]
        assert values == pytest.approx([metric.compute()[name].item() for name in ("map", "mar_100")], abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"box_format": "yxyx"}, "box_format"),
        ({"iou_type": "keypoints"}, "iou_type"),
        ({"iou_thresholds": 0.5}, "iou_thresholds"),
        ({"rec_thresholds": 0.5}, "rec_thresholds"),
        ({"max_detection_thresholds": 5}, "max_detection_thresholds"),
        ({"max_detection_thresholds": [1, 10]}, "length 3"),
        ({"class_metrics": 1}, "class_metrics"),
        ({"extended_summary": 0}, "extended_summary"),
        ({"average": "all"}, "average"),
        ({"backend": "numpy"}, "backend"),
    ],
)
def test_arguments_that_are_refused(arguments, named, theirs) -> None:
    messages = []
    for made in (ours.MeanAveragePrecision, theirs):
        with pytest.raises(ValueError, match=named) as caught:
            made(**arguments)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def _scored(metric: Any, preds: Any, target: Any) -> Any:
    metric.update(preds, target)
    return metric.compute()


def test_inputs_that_are_refused(theirs) -> None:
    item = {"boxes": torch.tensor([[1.0, 2.0, 3.0, 4.0]]), "labels": torch.tensor([1]), "scores": torch.tensor([0.5])}
    cases: list[tuple[Any, Any]] = [
        (item, [item]),
        ([item], [item, item]),
        ([{}], [item]),
        ([item], [{"boxes": item["boxes"]}]),
        ([{**item, "scores": 0.5}], [item]),
        ([item], [{**item, "labels": [1]}]),
        ([item], [{**item, "labels": torch.tensor([1, 2])}]),
        ([{**item, "scores": torch.tensor([0.5, 0.6])}], [item]),
        ([{**item, "labels": torch.tensor([1.0])}], [item]),
        ([{**item, "scores": torch.tensor([1])}], [item]),
        ([{**item, "boxes": torch.tensor([[1.0, 2.0, 3.0]])}], [item]),
    ]
    for preds, target in cases:
        messages = []
        for made in (ours.MeanAveragePrecision, theirs):
            metric = made(box_format="xywh")
            with pytest.raises(ValueError, match=r".") as caught:
                _scored(metric, preds, target)
            messages.append(" ".join(str(caught.value).split()))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("name", ["iscrowd", "area"])
def test_crowds_and_areas_of_another_length_are_refused(name: str) -> None:
    """Too few in one image and too many in the next: in sum as many as labels, and yet none may move over."""
    boxes = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    item = {"boxes": boxes, "labels": torch.tensor([1, 1]), "scores": torch.tensor([0.5, 0.4])}
    metric = ours.MeanAveragePrecision()
    metric.update([item, item], [{**item, name: torch.ones(1)}, {**item, name: torch.ones(3)}])
    with pytest.raises(ValueError, match=rf"'{name}'.* 1 .* 2 "):
        metric.compute()


@pytest.mark.parametrize("kind", [ours.MeanAveragePrecision, ours.IntersectionOverUnion])
def test_boxes_without_four_numbers_are_refused(kind: Any) -> None:
    item = {"boxes": torch.ones(1, 5), "labels": torch.tensor([1]), "scores": torch.tensor([0.5])}
    with pytest.raises(ValueError, match=r"\(1, 5\)"):
        kind(box_format="cxcywh").update([item], [item])


def test_many_detections_warn() -> None:
    metric = ours.MeanAveragePrecision(max_detection_thresholds=[1, 2, 3])
    many = {"boxes": torch.ones(4, 4), "labels": torch.ones(4, dtype=torch.int64), "scores": torch.ones(4)}
    with pytest.warns(UserWarning, match="Encountered"):
        metric.update([many], [many])
    metric.warn_on_many_detections = False
    metric.update([many], [many])


# Boxes (0, 0, 4, 4) and (2, 0, 6, 2): they share 4 of 16 + 8 - 4 = 20; around both is 6 × 4 = 24; their middles (2, 2)
# and (4, 1) are 5 apart, squared, and the diagonal is 36 + 16 = 52; their shapes are 1 : 1 and 2 : 1.
SHAPE = 4 / math.pi**2 * (math.atan(1) - math.atan(2)) ** 2
OVERLAPS = {
    "IntersectionOverUnion": ("iou", 0.2),
    "GeneralizedIntersectionOverUnion": ("giou", 0.2 - 4 / 24),
    "DistanceIntersectionOverUnion": ("diou", 0.2 - 5 / 52),
    "CompleteIntersectionOverUnion": ("ciou", 0.2 - 5 / 52 - SHAPE**2 / (1 - 0.2 + SHAPE)),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_by_hand(name) -> None:
    key, value = OVERLAPS[name]
    a, b = torch.tensor([[0.0, 0.0, 4.0, 4.0]]), torch.tensor([[2.0, 0.0, 6.0, 2.0]])
    both = torch.cat([a, b])
    preds = [{"boxes": both, "labels": torch.tensor([1, 2])}, {"boxes": a, "labels": torch.tensor([7])}]
    target = [{"boxes": b, "labels": torch.tensor([1])}, {"boxes": a, "labels": torch.tensor([7])}]
    made = getattr(ours, name)
    results = made(class_metrics=True)(preds, target)
    assert list(results) == [key, f"{key}/cl_1", f"{key}/cl_2", f"{key}/cl_7"]
    assert [v.item() for v in results.values()] == pytest.approx([(value + 1) / 2, value, 0.0, 1.0], abs=1e-6)
    everything = made(respect_labels=False)(preds, target)
    assert everything[key].item() == pytest.approx((value + 1 + 1) / 3, abs=1e-6)
    above = made(iou_threshold=0.5)(preds, target)
    assert above[key].item() == pytest.approx(1.0)
    nothing = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    assert made()([nothing], [nothing])[key] == 0.0
    assert made()([nothing], [target[0]])[key] == 0.0
    for wrong in ({"box_format": "x"}, {"class_metrics": 1}, {"respect_labels": 1}):
        with pytest.raises(ValueError, match="Expected"):
            made(**wrong)
    with pytest.raises(ValueError, match="shape"):
        made()([{"boxes": torch.zeros(1, 3), "labels": torch.tensor([1])}], [target[0]])


@pytest.mark.parametrize("kind", ["plain", "sq and rq", "classes", "all", "modified"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_panoptic_quality_to_the_bit(kind, dtype) -> None:
    rng = np.random.default_rng(len(kind))
    arguments: dict[str, Any] = {"things": {0, 4}, "stuffs": {7, 2}, "allow_unknown_preds_category": True}
    if kind != "modified":
        arguments |= {"return_sq_and_rq": kind in ("sq and rq", "all"), "return_per_class": kind in ("classes", "all")}
    name = "ModifiedPanopticQuality" if kind == "modified" else "PanopticQuality"
    mine, other = (getattr(module, name)(**arguments) for module in (ours, their_panoptic))
    for large in (3, 3, 1 << 40 if dtype == torch.int64 else 1 << 30):
        coarse = rng.choice([0, 2, 4, 7, 9], (2, 6, 5, 1)), rng.integers(-1, 2, (2, 6, 5, 1)) * large
        target = np.concatenate(coarse, axis=-1).repeat(3, axis=1).repeat(4, axis=2)
        preds = np.where(rng.random((*target.shape[:3], 1)) < 0.8, target, np.roll(target, 3, axis=2))
        for metric in (mine, other):
            metric.update(torch.tensor(preds, dtype=dtype), torch.tensor(target, dtype=dtype))
    for state in ("iou_sum", "true_positives", "false_positives", "false_negatives"):
        assert_same(getattr(mine, state), getattr(other, state), state)
    assert_same(mine.compute(), other.compute())
    assert (mine.void_color, mine.cat_id_to_continuous_id) == (other.void_color, other.cat_id_to_continuous_id)


def test_panoptic_inputs_that_are_refused() -> None:
    map_of = torch.zeros(1, 2, 2, 2, dtype=torch.int64)
    cases: list[tuple[type[Exception], dict[str, Any], Any]] = [
        (TypeError, {"things": {0}, "stuffs": {1}}, ([], map_of)),
        (ValueError, {"things": {0}, "stuffs": {1}}, (map_of, map_of[:, :1])),
        (ValueError, {"things": {0}, "stuffs": {1}}, (map_of[0, 0], map_of[0, 0])),
        (ValueError, {"things": {0}, "stuffs": {1}}, (map_of[..., :1], map_of[..., :1])),
        (ValueError, {"things": {3}, "stuffs": {1}}, (map_of, map_of)),
        (TypeError, {"things": {"a"}, "stuffs": {1}}, None),
        (ValueError, {"things": {1}, "stuffs": {1}}, None),
        (ValueError, {"things": [], "stuffs": []}, None),
    ]
    for error, arguments, maps in cases:
        messages = []
        for module in (ours, their_panoptic):
            with pytest.raises(error) as caught:
                module.PanopticQuality(**arguments).update(*maps)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    with pytest.warns(UserWarning, match="duplicates"):
        ours.PanopticQuality(things=[0, 0], stuffs=[1])


CODE = """
from steelyard import compat
compat.install("torchmetrics")
for _ in range(2):  # at first torchmetrics is not imported, then it is
    import torchmetrics
    from torchmetrics.detection import MeanAveragePrecision
    from torchmetrics.detection.helpers import CocoBackend
    import torchmetrics.detection.iou as iou
    print(MeanAveragePrecision.__module__, iou.__name__, issubclass(MeanAveragePrecision, torchmetrics.Metric))
    compat.uninstall("torchmetrics")
    from torchmetrics.detection import PanopticQuality
    print(PanopticQuality.__module__, CocoBackend.__module__)
    compat.install("torchmetrics")
"""


@pytest.mark.slow  # a process of its own that imports torch
def test_it_is_installed_before_and_after_torchmetrics_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    name = "steelyard.compat.torchmetrics.detection"
    once = f"{name}.mean_ap {name}.iou True\ntorchmetrics.detection.panoptic_qualities torchmetrics.detection.helpers\n"
    assert done.stdout == 2 * once
