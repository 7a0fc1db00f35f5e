"""FiftyOne: a data set's detections as both sides of boxes, and scores of each image written back to its samples.

`register` adds the method "steelyard" to `dataset.evaluate_detections`. Nothing else here imports FiftyOne: samples are
read through `sample.id`, `sample.metadata.width`, `sample[field].detections` and `sample.save()`. It is tested against
that interface (1.22), not against the package, which needs a database.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from steelyard import api
from steelyard.core.errors import MissingData, MissingKey, MissingPackage, UnknownName, nearest
from steelyard.core.request import Metrics
from steelyard.results.report import Report

CONFIG = "steelyard.integrations.fiftyone_method.SteelyardEvaluationConfig"


def register() -> None:
    """Make `dataset.evaluate_detections(..., method="steelyard")` known, for this process."""
    try:
        import fiftyone
    except ImportError:
        raise MissingPackage("steelyard.integrations.fiftyone.register", "fiftyone") from None
    fiftyone.evaluation_config.detection_backends["steelyard"] = {"config_cls": CONFIG}


def report_of(results: Any) -> Report:
    """The report behind the results of `evaluate_detections(..., method="steelyard")`.

    FiftyOne does not store it: results that are loaded from a data set have none.
    """
    report = getattr(results, "_steelyard_report", None)
    if report is None:
        raise MissingData("the results have no report", where="FiftyOne", remedy='Evaluate with method="steelyard".')
    return cast("Report", report)


def evaluate(
    samples: Iterable[Any], truth: str = "ground_truth", predictions: str = "predictions", metrics: Metrics = None,
    **settings: Any,
) -> Report:  # fmt: skip
    """Evaluate the detections of a data set or a view; `truth` and `predictions` name its fields.

    Call `dataset.compute_metadata()` first: boxes are relative, and the sizes of images make pixels of them.
    """
    sides: list[dict[str, list[Any]]] = [
        {name: [] for name in ("image", "label", "x", "y", "w", "h")} for _ in range(2)
    ]
    sides[1]["score"] = []
    ids = []
    for sample in samples:
        ids.append(str(sample.id))
        size = getattr(sample, "metadata", None)
        if size is None or not size.width or not size.height:
            raise MissingData(
                "the size of the image is not known", where=f"sample {sample.id}",
                remedy="Call dataset.compute_metadata().",
            )  # fmt: skip
        for field, side in zip((truth, predictions), sides, strict=True):
            if side is sides[0] and not _detections(sample, field):  # an image without an object is one all the same
                for name in side:
                    side[name].append(ids[-1] if name == "image" else None)
            for detection in _detections(sample, field):
                box = np.asarray(detection.bounding_box) * (size.width, size.height, size.width, size.height)
                for name, value in zip(
                    ("image", "label", *"xywh"), (ids[-1], detection.label, *box.tolist()), strict=True
                ):
                    side[name].append(value)
                if side is sides[1]:
                    if detection.confidence is None:
                        raise MissingKey(
                            "a detection has no confidence", where=f"sample {sample.id}, field '{field}'",
                            remedy="Predictions need one.",
                        )  # fmt: skip
                    side["score"].append(detection.confidence)
    return api.evaluate("boxes", sides[0], sides[1], metrics, **settings)


def write_back(samples: Iterable[Any], report: Report, prefix: str = "steelyard_") -> None:
    """Keep every image's own scores in its sample, as fields `steelyard_ap` and so on; undefined ones are None."""
    units = report.units()
    place = {str(unit): i for i, unit in enumerate(units.units)}
    for sample in samples:
        row = place.get(str(sample.id))
        if row is None:
            raise UnknownName(f"the report has no image '{sample.id}'", remedy="Write back to what was evaluated.")
        for spec, values in units.values.items():
            value = float(values[row])
            sample[prefix + "".join(c if c.isalnum() else "_" for c in spec).strip("_")] = (
                None if np.isnan(value) else value
            )
        sample.save()


def _detections(sample: Any, field: str) -> Any:
    try:
        held = sample[field]
    except (KeyError, AttributeError):
        remedy = nearest(field, getattr(sample, "field_names", ()))
        raise UnknownName(f"there is no field '{field}'", where=f"sample {sample.id}", remedy=remedy) from None
    return () if held is None else held.detections
