"""`torchmetrics.detection.iou`: the mean IoU of predicted and true boxes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics.metric import Metric

from steelyard.compat.torchmetrics.detection.boxes import check_format, check_inputs, converted, overlap


class IntersectionOverUnion(Metric):
    """The mean overlap of all pairs of predicted and true boxes, or of those with the same label."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = True

    _iou_type = "iou"
    _invalid_val = -1.0

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_threshold: float | None = None,
        class_metrics: bool = False,
        respect_labels: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.box_format = check_format(box_format)
        self.iou_threshold = iou_threshold
        for name, value in (("class_metrics", class_metrics), ("respect_labels", respect_labels)):
            if not isinstance(value, bool):
                raise ValueError(f"Expected argument `{name}` to be a boolean")
        self.class_metrics, self.respect_labels = class_metrics, respect_labels
        for state in ("groundtruth_labels", "pred_labels", "iou_matrix"):
            self.add_state(state, default=[], dist_reduce_fx=None)

    def update(self, preds: list[dict[str, Tensor]], target: list[dict[str, Tensor]]) -> None:
        """Add images: a dict with `boxes` and `labels` each."""
        check_inputs(preds, target, scored=False)
        for predicted, true in zip(preds, target, strict=True):
            boxes, true_boxes = (converted(side["boxes"], self.box_format, "xyxy") for side in (predicted, true))
            labels, true_labels = predicted["labels"], true["labels"]
            self.groundtruth_labels.append(true_labels)
            self.pred_labels.append(labels)
            table = self._overlaps(boxes, true_boxes)
            if self.respect_labels:
                if boxes.numel() and true_boxes.numel():
                    same = labels.unsqueeze(1) == true_labels.unsqueeze(0)
                else:
                    same = torch.eye(len(table), dtype=torch.bool, device=table.device)
                table[~same] = self._invalid_val
            self.iou_matrix.append(table)

    def _overlaps(self, boxes: Tensor, true_boxes: Tensor) -> Tensor:
        for name, side in (("preds", boxes), ("target", true_boxes)):
            if side.ndim != 2 or side.shape[-1] != 4:
                raise ValueError(f"Expected {name} to be of shape (N, 4) but got {side.shape}")
        if not boxes.numel() or not true_boxes.numel():  # as in torchmetrics: zeros, as many as there are of the others
            size = len(boxes) if boxes.numel() else len(true_boxes)
            return torch.zeros(size, size, device=true_boxes.device, dtype=torch.float32)
        table = overlap(self._iou_type, boxes, true_boxes)
        if self.iou_threshold is not None:
            table[table < self.iou_threshold] = self._invalid_val
        return table

    def compute(self) -> dict[str, Tensor]:
        """The mean by name, and that of each class if they are asked for."""
        name, invalid = self._iou_type, self._invalid_val
        valid = [table[table != invalid] for table in self.iou_matrix if torch.any(table != invalid)]
        score = torch.cat(valid, 0).mean() if valid else torch.tensor(0.0, device=self.device)
        results = {name: torch.tensor(0.0, device=score.device) if torch.isnan(score) else score}
        for label in self._classes() if self.class_metrics else ():
            total, count = torch.zeros_like(score), torch.zeros_like(score)
            for table, true_labels in zip(self.iou_matrix, self.groundtruth_labels, strict=True):
                values = table[:, true_labels == label]
                values = values[values != invalid]
                total += values.sum()
                count += values.numel()
            mean = total / count if count.item() else torch.tensor(0.0, device=score.device)
            results[f"{name}/cl_{label}"] = mean
        return results

    def _classes(self) -> list[Any]:
        labels = [*_listed(self.groundtruth_labels), *_listed(self.pred_labels)]
        return torch.cat(labels).unique().tolist() if labels else []

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw values with matplotlib."""
        return self._plot(val, ax)


def _listed(state: Any) -> list[Tensor]:
    return state if isinstance(state, list) else [state]
