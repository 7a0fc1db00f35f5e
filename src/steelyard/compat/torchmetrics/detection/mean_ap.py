"""`torchmetrics.detection.mean_ap`: COCO's mean average precision of boxes and masks."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist
from torchmetrics.metric import Metric
from torchmetrics.utilities import rank_zero_warn

from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.cocoeval import COCOeval
from steelyard.compat.torchmetrics.detection.boxes import check_format, check_inputs, converted
from steelyard.compat.torchmetrics.detection.columns import Mask, TensorSide

_TYPES = ("segm", "bbox")
_BACKENDS = ("pycocotools", "faster_coco_eval")
_MASKS = ("detection_mask", "groundtruth_mask")
_STATES = (
    "detection_box",
    "detection_mask",
    "detection_scores",
    "detection_labels",
    "groundtruth_box",
    "groundtruth_mask",
    "groundtruth_labels",
    "groundtruth_crowds",
    "groundtruth_area",
)


class MeanAveragePrecision(Metric):
    """COCO's AP and AR: of all objects, by area and by number of detections; with `class_metrics` of each class.

    `backend` is checked and otherwise ignored: both give the numbers of pycocotools.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    warn_on_many_detections = True

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_type: str | tuple[str, ...] = "bbox",
        iou_thresholds: list[float] | None = None,
        rec_thresholds: list[float] | None = None,
        max_detection_thresholds: list[int] | None = None,
        class_metrics: bool = False,
        extended_summary: bool = False,
        average: str = "macro",
        backend: str = "pycocotools",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.box_format = check_format(box_format)
        self.iou_type = _types(iou_type)
        for name, values, kind in (
            ("iou_thresholds", iou_thresholds, "floats"),
            ("rec_thresholds", rec_thresholds, "floats"),
            ("max_detection_thresholds", max_detection_thresholds, "ints"),
        ):
            if values is not None and not isinstance(values, list):
                raise ValueError(f"Expected argument `{name}` to either be `None` or a list of {kind} but got {values}")
        self.iou_thresholds = iou_thresholds or torch.linspace(0.5, 0.95, 10).tolist()
        self.rec_thresholds = rec_thresholds or torch.linspace(0.0, 1.0, 101).tolist()
        if max_detection_thresholds is not None and len(max_detection_thresholds) != 3:
            raise ValueError(
                "When providing a list of max detection thresholds it should have length 3."
                f" Got value {len(max_detection_thresholds)}"
            )
        self.max_detection_thresholds = sorted(int(limit) for limit in max_detection_thresholds or [1, 10, 100])
        for name, flag in (("class_metrics", class_metrics), ("extended_summary", extended_summary)):
            if not isinstance(flag, bool):
                raise ValueError(f"Expected argument `{name}` to be a boolean")
        self.class_metrics, self.extended_summary = class_metrics, extended_summary
        if average not in ("macro", "micro"):
            raise ValueError(f"Expected argument `average` to be one of ('macro', 'micro') but got {average}")
        self.average = average
        if backend not in _BACKENDS:
            raise ValueError(f"Expected argument `backend` to be one of {_BACKENDS} but got {backend}")
        for state in _STATES:
            self.add_state(state, default=[], dist_reduce_fx=None)

    def update(self, preds: list[dict[str, Tensor]], target: list[dict[str, Tensor]]) -> None:
        """Add images: a dict each with `boxes` or `masks` and `labels`, and `scores` of predictions."""
        check_inputs(preds, target, self.iou_type)
        for item in preds:
            count = self._add_regions("detection", item)
            if self.warn_on_many_detections and count > self.max_detection_thresholds[-1]:
                rank_zero_warn(
                    f"Encountered more than {self.max_detection_thresholds[-1]} detections in a single image: those "
                    "with the lowest scores are ignored. Set `max_detection_thresholds` to change that, or the "
                    "attribute `warn_on_many_detections=False` to silence this warning.",
                    UserWarning,
                )
            self.detection_labels.append(item["labels"])
            self.detection_scores.append(item["scores"])
        for item in target:
            self._add_regions("groundtruth", item)
            labels = item["labels"]
            self.groundtruth_labels.append(labels)
            self.groundtruth_crowds.append(item.get("iscrowd", torch.zeros_like(labels)))
            self.groundtruth_area.append(item.get("area", torch.zeros_like(labels)))

    def _add_regions(self, side: str, item: dict[str, Tensor]) -> int:
        """Add the boxes and masks of an image; how many there are."""
        count = 0
        if "bbox" in self.iou_type:
            boxes = converted(item["boxes"], self.box_format, "xywh")
            getattr(self, f"{side}_box").append(boxes)
            count = len(boxes)
        if "segm" in self.iou_type:
            encoded = _encoded(item["masks"])
            getattr(self, f"{side}_mask").append(encoded)
            count = max(count, len(encoded))
        return count

    def _sides(self) -> tuple[TensorSide, TensorSide]:
        truth = TensorSide(
            self.groundtruth_labels,
            self.groundtruth_box or None,
            self.groundtruth_mask or None,
            crowds=self.groundtruth_crowds,
            areas=self.groundtruth_area,
        )
        detected = TensorSide(
            self.detection_labels, self.detection_box or None, self.detection_mask or None, scores=self.detection_scores
        )
        return truth, detected

    def compute(self) -> dict[str, Tensor]:
        """The numbers by name; -1 where there is none."""
        truth, detected = self._sides()
        classes = np.unique(np.concatenate([detected.labels, truth.labels]))
        together = self.average == "micro"
        results: dict[str, Any] = {}
        for kind in self.iou_type:
            prefix = "" if len(self.iou_type) == 1 else f"{kind}_"
            if not detected.images or not truth.images:
                results |= self._named([-1.0] * 12, prefix)
                continue
            evaluator = self._evaluated(kind, truth, detected, None if together else classes)
            results |= self._named(evaluator.stats, prefix)
            if self.extended_summary:
                results[f"{prefix}ious"] = {
                    cell: torch.tensor(table, dtype=torch.float32) if isinstance(table, np.ndarray) else table
                    for cell, table in evaluator.ious.items()
                }
                for name in ("precision", "recall", "scores"):
                    results[f"{prefix}{name}"] = torch.tensor(evaluator.eval[name])
            by_class = [torch.tensor([-1], dtype=torch.float32)] * 2
            if self.class_metrics:
                if together:
                    evaluator = self._evaluated(kind, truth, detected, classes)
                    together = False  # as in torchmetrics: what follows is no longer counted together
                by_class = _by_class(evaluator)
            results[f"{prefix}map_per_class"] = by_class[0]
            results[f"{prefix}mar_{self.max_detection_thresholds[-1]}_per_class"] = by_class[1]
        results["classes"] = torch.tensor(classes.tolist(), dtype=torch.int32)
        return results

    def _evaluated(self, kind: str, truth: TensorSide, detected: TensorSide, classes: Any) -> COCOeval:
        """COCO's evaluation of boxes or of masks; without classes, of all together."""
        evaluator = COCOeval(iouType=kind)
        p = evaluator.params
        p.imgIds, p.catIds = list(np.asarray(truth.images)), [0] if classes is None else list(classes)
        p.iouThrs, p.recThrs = (
            np.array(values, dtype=np.float64) for values in (self.iou_thresholds, self.rec_thresholds)
        )
        p.maxDets = self.max_detection_thresholds
        by_mask = "segm" in self.iou_type
        with contextlib.redirect_stdout(io.StringIO()):
            evaluator.match_sides(
                truth.chosen(p.imgIds, classes, by_mask), detected.chosen(p.imgIds, classes, kind == "segm")
            )
            evaluator.accumulate()
            evaluator.summarize()
        return evaluator

    def _named(self, stats: Sequence[float], prefix: str) -> dict[str, Tensor]:
        names = ["map", "map_50", "map_75", "map_small", "map_medium", "map_large"]
        names += [f"mar_{limit}" for limit in self.max_detection_thresholds] + ["mar_small", "mar_medium", "mar_large"]
        return {
            f"{prefix}{name}": torch.tensor([value], dtype=torch.float32)
            for name, value in zip(names, stats, strict=True)
        }

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The task, ground truth, results and settings with which `steelyard.compat.report` scores the same data.

        With two kinds of IoU these are of the first. Data that are spread over processes are those of this process.
        """
        truth, detected = self._sides()
        images, annotations = truth.as_coco(self.iou_type)
        _, results = detected.as_coco(self.iou_type)
        images = [image for image in images if image["id"] in set(truth.images)]
        results = [result for result in results if result["image_id"] in set(truth.images)]
        categories = [{"id": label, "name": str(label)} for label in self._classes(truth, detected)]
        data = {"images": images, "annotations": annotations, "categories": categories}
        return "boxes" if self.iou_type[0] == "bbox" else "masks", data, results, {}

    @staticmethod
    def _classes(truth: TensorSide, detected: TensorSide) -> list[int]:
        return [int(label) for label in np.unique(np.concatenate([detected.labels, truth.labels]))]

    def tm_to_coco(self, name: str = "tm_map_input") -> None:
        """Write what was added as COCO's files: NAME_preds.json and NAME_target.json."""
        truth, detected = self._sides()
        images, annotations = truth.as_coco(self.iou_type)
        _, results = detected.as_coco(self.iou_type)
        target = {
            "images": images,
            "annotations": annotations,
            "categories": [{"id": 0, "name": "0"}],
            "info": {"description": "Written by tm_to_coco"},
        }
        for end, content in (("preds", results), ("target", target)):
            with open(f"{name}_{end}.json", "w", encoding="utf-8") as file:
                json.dump(content, file, indent=4)

    def coco_to_tm(
        self,
        coco_preds: str,
        coco_target: str,
        iou_type: str | tuple[str, ...] = ("bbox",),
        backend: str = "pycocotools",
    ) -> tuple[list[dict[str, Tensor]], list[dict[str, Tensor]]]:
        """Predictions and targets for `update`, from COCO's files: of the images with truths."""
        kinds = _types(iou_type)
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO(coco_target)
            results = truth.loadRes(coco_preds)
        images: dict[Any, tuple[list[Any], list[Any]]] = {}
        for ann in truth.dataset["annotations"]:
            images.setdefault(ann["image_id"], ([], []))[1].append(ann)
        for ann in results.dataset["annotations"]:
            if ann["image_id"] in images:
                images[ann["image_id"]][0].append(ann)
        preds, target = [], []
        for predicted, true in images.values():
            preds.append({"scores": _tensor(predicted, "score"), **_regions(predicted, kinds, truth)})
            crowds = _tensor(true, "iscrowd", torch.int32)
            target.append({"iscrowd": crowds, "area": _tensor(true, "area"), **_regions(true, kinds, truth)})
        return preds, target

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw values with matplotlib."""
        return self._plot(val, ax)

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = ()) -> torch.nn.Module:
        """Move the states to another device; masks are not tensors."""
        return super()._apply(fn, exclude_state=(*exclude_state, *_MASKS))

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Gather the states of all processes; masks as objects."""
        super()._sync_dist(dist_sync_fn=dist_sync_fn, process_group=process_group)
        if "segm" in self.iou_type:
            for state in _MASKS:
                setattr(self, state, self._gather_tuple_list(getattr(self, state), process_group))

    @staticmethod
    def _gather_tuple_list(list_to_gather: list[Any], process_group: Any = None) -> list[Any]:
        """The lists of all processes, image by image, as tensors are gathered."""
        parts: list[Any] = [None] * dist.get_world_size(group=process_group)
        dist.barrier(group=process_group)
        dist.all_gather_object(parts, list_to_gather, group=process_group)
        return [part[place] for place in range(len(parts[0])) for part in parts]


def _types(iou_type: str | tuple[str, ...]) -> tuple[str, ...]:
    types = (iou_type,) if isinstance(iou_type, str) else iou_type
    if any(kind not in _TYPES for kind in types):
        raise ValueError(f"Expected argument `iou_type` to be one of {_TYPES} or a tuple of, but got {types}")
    return types


def _encoded(pixels: Tensor) -> tuple[Mask, ...]:
    """Masks, n × height × width, as sizes and counts."""
    if not len(pixels):
        return ()
    encoded = masks.encode(pixels.detach().cpu().numpy().transpose(1, 2, 0))
    return tuple((tuple(mask["size"]), mask["counts"]) for mask in encoded)


def _by_class(evaluator: COCOeval) -> list[Tensor]:
    """AP, and AR at the highest limit, of each class."""
    limits = evaluator.params.maxDets
    hundred = [place for place, limit in enumerate(limits) if limit == 100]  # as in COCO's summary
    precision, recall = evaluator.eval["precision"][:, :, :, 0][..., hundred], evaluator.eval["recall"][:, :, 0, 2]
    means = [[_mean(precision[:, :, k]), _mean(recall[:, k])] for k in range(recall.shape[1])]
    return [torch.tensor([row[column] for row in means], dtype=torch.float32) for column in (0, 1)]


def _mean(values: Any) -> float:
    values = values[values > -1]
    return float(np.mean(values)) if len(values) else -1.0


def _tensor(anns: list[Any], key: str, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor([ann[key] for ann in anns], dtype=dtype)


def _regions(anns: list[Any], kinds: tuple[str, ...], truth: COCO) -> dict[str, Tensor]:
    regions = {"labels": _tensor(anns, "category_id", torch.int32)}
    if "bbox" in kinds:
        regions["boxes"] = _tensor(anns, "bbox")
    if "segm" in kinds:
        regions["masks"] = torch.tensor(np.array([truth.annToMask(ann) for ann in anns]), dtype=torch.uint8)
    return regions
