"""`compute_metrics` for the Trainer of Hugging Face transformers: image classification, detection and segmentation.

    Trainer(..., compute_metrics=image_classification(labels=model.config.id2label))

Each function returns an object that takes an `EvalPrediction` and returns scores as a dict; its `report` is the last
report. It also works with `batch_eval_metrics=True`, where the Trainer hands over one batch at a time.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import api
from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InvalidValue, MissingData, MissingKey, ShapeMismatch
from steelyard.core.plain import to_numpy
from steelyard.core.request import Metrics
from steelyard.loggers.flat import flat
from steelyard.results.report import Report

Array = NDArray[Any]
Labels = Mapping[int, str] | Sequence[str] | None
# (outputs with `logits` and `pred_boxes`, threshold, target_sizes) -> scores, labels and boxes of each image
PostProcess = Callable[..., Sequence[Mapping[str, Any]]]


class ComputeMetrics:
    """What a Trainer calls. `report` is the last report, with intervals where these were asked for."""

    def __init__(
        self, task: str, read: Callable[[Any], tuple[Any, Any]], metrics: Metrics, intervals: bool, settings: Any
    ) -> None:
        self.task, self.metrics = task, metrics
        self.settings = dict(settings) if intervals else {"confidence": None, **settings}
        self.report: Report | None = None
        self._read = read
        self._batches: list[tuple[Any, Any]] = []

    def __call__(self, prediction: Any, compute_result: bool = True) -> dict[str, float]:
        """Take predictions and labels; return every score by name once all batches are there."""
        self._batches.append(self._read(prediction))
        if not compute_result:
            return {}
        truth, predicted = (_joined(side) for side in zip(*self._batches, strict=True))
        self._batches = []
        self.report = api.evaluate(self.task, truth, predicted, self.metrics, **self.settings)
        return flat(self.report)


def image_classification(
    metrics: Metrics = None, *, labels: Labels = None, intervals: bool = False, **settings: Any
) -> ComputeMetrics:
    """Scores of the task `labels` from logits and class numbers; `labels` names the classes (`model.config.id2label`).

    `intervals` adds the ends of intervals, as `accuracy_low` and `accuracy_high`. Other settings are those of
    `evaluate`.
    """
    names = _class_names(labels)

    def read(prediction: Any) -> tuple[Any, Any]:
        batches = [(_first(outputs), _first(targets)) for outputs, targets in _batches(prediction)]
        if not batches:
            raise EmptyInput("there are no predictions")
        logits, truth = (np.concatenate(list(map(np.atleast_1d, side))) for side in zip(*batches, strict=True))
        if logits.ndim != 2 or logits.shape[1] < 2 or truth.shape != logits.shape[:1]:
            shapes = " and ".join(" × ".join(map(str, array.shape)) for array in (logits, truth))
            raise ShapeMismatch(
                f"logits and labels are {shapes}", remedy="Give rows × classes and one class number per row."
            )
        columns: list[Any] = list(names or range(logits.shape[1]))
        if len(columns) != logits.shape[1]:
            raise ShapeMismatch(
                f"{count_text(len(columns), 'label')} and {logits.shape[1]} classes of logits",
                remedy="Name every class once.",
            )
        if len(truth) and not (truth.min() >= 0 and truth.max() < len(columns)):
            raise InvalidValue(
                f"class {int(truth.min() if truth.min() < 0 else truth.max())} is not one of {len(columns)}",
                where="labels",
                remedy="Classes count from 0.",
            )
        probability = dict(zip(columns, _softmax(logits).T, strict=True))
        return {"label": np.array(columns, dtype=object)[truth.astype(np.int64)]}, {"probability": probability}

    return ComputeMetrics("labels", read, metrics, intervals, settings)


def object_detection(
    metrics: Metrics = None,
    *,
    post_process: PostProcess | None = None,
    threshold: float = 0.0,
    labels: Labels = None,
    intervals: bool = False,
    **settings: Any,
) -> ComputeMetrics:
    """Scores of the task `boxes` for models of the DETR family.

    Set `eval_do_concat_batches=False` in the TrainingArguments, as images have different numbers of boxes. Labels are
    those of the image processors: `class_labels`, `boxes` (centre and size as shares of the image) and `orig_size`.
    `post_process` makes boxes of outputs: `image_processor.post_process_object_detection`. Without it, it is DETR's
    and YOLOS's rule: a softmax whose last class is "no object". Detections below `threshold` are left out.

    The number of images must be a multiple of the batch size: of a last batch of n images, the Trainer (accelerate
    1.15) keeps only the first n boxes of each image's labels.
    """
    names = _class_names(labels)
    process = post_process or softmax_boxes
    batch_sizes: list[int] = []

    def read(prediction: Any) -> tuple[Any, Any]:
        truth, predicted = [], []
        whole = isinstance(prediction.predictions, list) and len(prediction.predictions) == 1  # all in one batch
        for outputs, listed in _batches(prediction):
            targets = _of_images(listed)
            sizes = _sizes(targets)
            batch_sizes.append(len(targets))
            if whole or len(targets) < max(batch_sizes):
                _warn_if_cut(targets)
            logits, boxes = _detections(outputs)
            if post_process is not None:  # image processors take tensors
                import torch

                logits, boxes, sizes_of = (torch.as_tensor(np.asarray(to_numpy(a))) for a in (logits, boxes, sizes))
            else:
                sizes_of = sizes
            outputs = SimpleNamespace(logits=logits, pred_boxes=boxes)
            images = process(outputs, threshold=threshold, target_sizes=sizes_of)
            if not len(images) == len(targets) == len(logits):
                raise ShapeMismatch(f"{count_text(len(images), 'image')} of predictions and {len(targets)} of labels")
            for target, image, (height, width) in zip(targets, images, sizes.tolist(), strict=True):
                centred = np.asarray(to_numpy(_key(target, "boxes")), dtype=np.float64).reshape(-1, 4)
                own = _corner_and_size(centred) * (width, height, width, height)
                item = {"boxes": own, "labels": _named(_key(target, "class_labels"), names)}
                if "iscrowd" in target:
                    item["crowd"] = np.asarray(to_numpy(target["iscrowd"])).astype(bool)
                truth.append(item)
                corners = np.asarray(to_numpy(image["boxes"]), dtype=np.float64).reshape(-1, 4)
                size = corners[:, 2:] - corners[:, :2]
                scores = np.asarray(to_numpy(image["scores"]), dtype=np.float64)
                shown = _named(image["labels"], names)
                predicted.append({"boxes": np.hstack([corners[:, :2], size]), "labels": shown, "scores": scores})
        return truth, predicted

    return ComputeMetrics("boxes", read, metrics, intervals, settings)


def semantic_segmentation(
    metrics: Metrics = None,
    *,
    labels: Labels = None,
    ignore_index: int | None = 255,
    intervals: bool = False,
    **settings: Any,
) -> ComputeMetrics:
    """Scores of the task `segmentation` from logits, which are resized to the labels bilinearly, or from class maps.

    Class maps come from `preprocess_logits_for_metrics`, which saves memory. `labels` names the classes
    (`model.config.id2label`), and pixels of `ignore_index` count nowhere. Use `batch_eval_metrics=True` for large sets.
    """
    options = dict(settings.pop("options", None) or {})
    if ignore_index is not None:
        options.setdefault("ignore", [ignore_index])
    if labels is not None:
        options.setdefault("names", _class_names(labels))

    def read(prediction: Any) -> tuple[Any, Any]:
        truth, predicted = [], []
        for outputs, targets in _batches(prediction):
            maps = np.asarray(to_numpy(_first(outputs)))
            if maps.ndim not in (3, 4) or len(maps) != len(targets):
                shape = " × ".join(map(str, maps.shape))
                raise ShapeMismatch(
                    f"predictions are {shape}, and there are {len(targets)} label maps",
                    remedy="Give images × classes × height × width, or class maps.",
                )
            if maps.ndim == 4 and labels is None:
                options.setdefault("classes", maps.shape[1])
            for target, single in zip(targets, maps, strict=True):
                own = np.asarray(to_numpy(target))
                truth.append(own)
                predicted.append(single if single.ndim == 2 else _resized_classes(single, own.shape))
        return truth, predicted

    return ComputeMetrics("segmentation", read, metrics, intervals, {**settings, "options": options})


def softmax_boxes(outputs: Any, threshold: float, target_sizes: Any) -> list[dict[str, Array]]:
    """The boxes of each image by DETR's rule, as corners in pixels: the best class but for the last, "no object"."""
    shares = _softmax(np.asarray(to_numpy(outputs.logits)))[..., :-1]
    boxes = np.asarray(to_numpy(outputs.pred_boxes), dtype=np.float64)
    images = []
    for share, own, (height, width) in zip(shares, boxes, np.asarray(to_numpy(target_sizes)).tolist(), strict=True):
        scores, labels = share.max(axis=1), share.argmax(axis=1)
        chosen = scores >= threshold
        corners = _corner_and_size(own[chosen])
        corners[:, 2:] += corners[:, :2]
        scale = np.array([width, height, width, height])
        images.append({"scores": scores[chosen], "labels": labels[chosen], "boxes": corners * scale})
    return images


def _class_names(labels: Labels) -> list[str] | None:
    """The names of the classes by number; one that several classes have is followed by the number."""
    if labels is None:
        return None
    numbers = range(len(labels))
    unnamed = next((number for number in numbers if isinstance(labels, Mapping) and number not in labels), None)
    if unnamed is not None:
        raise MissingKey(f"class {unnamed} has no name", where="labels", remedy="The keys are 0, 1, 2 and so on.")
    names = [str(labels[number]) for number in numbers]
    shared = Counter(names)
    return [f"{name} ({number})" if shared[name] > 1 else name for number, name in enumerate(names)]


def _batches(prediction: Any) -> Iterator[tuple[Any, Any]]:
    """Outputs and labels batch by batch; a Trainer hands over lists of both, or one array of all."""
    outputs, targets = prediction.predictions, prediction.label_ids
    if isinstance(outputs, list) and isinstance(targets, list | tuple) and len(outputs) == len(targets):
        yield from zip(outputs, targets, strict=True)
    else:
        yield outputs, targets


def _detections(outputs: Any) -> tuple[Any, Any]:
    """Logits and boxes among the outputs of a model: the boxes are the first with four numbers for each query."""
    if isinstance(outputs, Mapping):
        outputs = tuple(outputs.values())
    arrays = [part for part in outputs if getattr(part, "ndim", 0) == 3] if isinstance(outputs, list | tuple) else []
    for logits, boxes in pairwise(arrays):
        if boxes.shape[-1] == 4 and boxes.shape[:2] == logits.shape[:2]:
            return logits, boxes
    raise MissingData("the outputs have no logits and boxes", remedy="Is it a model for object detection?")


def _of_images(targets: Any) -> list[Mapping[str, Any]]:
    """The labels of a batch, one mapping per image."""
    if not isinstance(targets, list | tuple) or not all(isinstance(target, Mapping) for target in targets):
        raise InvalidValue(
            "labels are not one mapping per image",
            where="label_ids",
            remedy="Set eval_do_concat_batches=False in the TrainingArguments.",
        )
    return list(targets)


_MULTIPLE = "Choose per_device_eval_batch_size so that it divides the number of images."


def _sizes(targets: Sequence[Mapping[str, Any]]) -> Array:
    """Height and width of each image."""
    sizes = [np.asarray(_key(target, "orig_size")).reshape(-1) for target in targets]
    if any(len(size) != 2 for size in sizes):
        raise ShapeMismatch("the labels of the last batch were cut by the Trainer", where="label_ids", remedy=_MULTIPLE)
    return np.array(sizes).reshape(-1, 2)


def _warn_if_cut(targets: Sequence[Mapping[str, Any]]) -> None:
    """Warn where accelerate may have cut the labels of a last batch: none has more boxes than the batch has images."""
    most = max((len(np.asarray(_key(target, "boxes"))) for target in targets), default=0)
    if most and most == len(targets):
        message = f"the labels of the last batch may have been cut to {most} boxes by the Trainer. {_MULTIPLE}"
        warnings.warn(message, UserWarning, stacklevel=4)


def _key(target: Mapping[str, Any], name: str) -> Any:
    if name not in target:
        raise MissingKey(f"the key '{name}' is missing", where="label_ids", remedy="Label as image processors do.")
    return to_numpy(target[name])


def _named(labels: Any, names: list[str] | None) -> Array:
    numbers = np.asarray(to_numpy(labels)).astype(np.int64).reshape(-1)
    if names is None:
        return numbers
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(names)):
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise InvalidValue(f"class {wrong} is not one of {len(names)}", where="labels", remedy="Classes count from 0.")
    return np.array([*names, None], dtype=object)[numbers]


def _corner_and_size(centred: Array) -> Array:
    return np.hstack([centred[:, :2] - centred[:, 2:] / 2, centred[:, 2:]])


def _softmax(logits: Array) -> Array:
    shifted = np.asarray(logits, dtype=np.float64)
    powers = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _resized_classes(logits: Array, shape: Sequence[int]) -> Array:
    """The best class of each pixel, once the logits have the height and width of the labels."""
    if logits.shape[1:] != tuple(shape):
        import torch

        whole = torch.as_tensor(logits, dtype=torch.float32)[None]
        logits = torch.nn.functional.interpolate(whole, tuple(shape), mode="bilinear", align_corners=False)[0].numpy()
    classes: Array = logits.argmax(axis=0).astype(np.int32)
    return classes


def _first(outputs: Any) -> Array:
    """The logits: the outputs themselves, or the first of several."""
    while isinstance(outputs, tuple | list) and len(outputs):
        outputs = outputs[0]
    return np.asarray(to_numpy(outputs))


def _joined(parts: Sequence[Any]) -> Any:
    """The batches of a side as one. Images are numbered; rows are joined by position."""
    if isinstance(parts[0], list):
        items = [item for part in parts for item in part]
        if items and isinstance(items[0], dict):
            return [{"image": place, **item} for place, item in enumerate(items)]
        return {"image": np.arange(len(items)), "map": items}
    joined: dict[str, Any] = {}
    for name, first in parts[0].items():
        if isinstance(first, dict):
            joined[name] = {key: np.concatenate([part[name][key] for part in parts]) for key in first}
        else:
            joined[name] = np.concatenate([part[name] for part in parts])
    return joined
