"""A callback of Ultralytics: the boxes of a validation, evaluated against its data.yaml or a file in COCO's format.

    model.add_callback("on_val_end", Evaluation())
    model.val(data="plates.yaml", save_json=True)

Ultralytics is not imported: the callback reads `validator.jdict`, the rows that `save_json=True` writes too,
`validator.names` and `validator.data["yaml_file"]`. It is tested against that interface (8.4), not against the package,
which needs torchvision.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import api
from steelyard.core.errors import InvalidFile, MissingData, Unmatched, first_few
from steelyard.core.request import Metrics
from steelyard.io.json import parse_json
from steelyard.io.text import read_bytes
from steelyard.results.report import Report


class Evaluation:
    """Call it at the end of a validation; `report` is the last one. `settings` are those of `evaluate`.

    `truth` is a file of COCO's format or a data.yaml; without it, the data.yaml of the validation. Images are known by
    their file's name, classes by their name.
    """

    def __init__(self, truth: str | os.PathLike[str] | None = None, metrics: Metrics = None, **settings: Any) -> None:
        self.truth = None if truth is None else Path(truth)
        self.metrics, self.settings = metrics, settings
        self.report: Report | None = None

    def __call__(self, validator: Any) -> None:
        """Evaluate what the validation predicted."""
        rows = validator.jdict
        if not rows:
            raise MissingData(
                "the validation kept no predictions", where="ultralytics", remedy="Validate with save_json=True."
            )
        truth = self.truth if self.truth is not None else _data_of(validator)
        if truth.suffix.lower() in (".yaml", ".yml"):
            if getattr(validator, "is_coco", False):
                raise MissingData(
                    "predictions have the ids of COCO", where=str(truth), remedy="Give COCO's annotations as the truth."
                )
            results = [{**row, "image_id": _stem(row)} for row in rows]
        else:
            results = _with_ids(rows, validator, truth)
        self.report = api.evaluate("boxes", truth, results, self.metrics, **self.settings)


def _data_of(validator: Any) -> Path:
    """The data.yaml of a validation."""
    file = (getattr(validator, "data", None) or {}).get("yaml_file")
    if not file:
        raise MissingData("the validation names no data.yaml", where="ultralytics", remedy="Give the truth's path.")
    return Path(file)


def _stem(row: Mapping[str, Any]) -> str:
    return Path(str(row.get("file_name", row["image_id"]))).stem


def _with_ids(rows: Sequence[Mapping[str, Any]], validator: Any, truth: Path) -> list[dict[str, Any]]:
    """The rows with the ids of images and classes that a file of COCO's format has."""
    data = parse_json(read_bytes(truth, str(truth)).decode("utf-8", "replace"), str(truth))
    if not isinstance(data, Mapping) or not {"images", "categories"} <= data.keys():
        raise InvalidFile("is not a COCO file", where=str(truth), remedy="It needs images, categories.")
    images = {Path(str(image.get("file_name", image["id"]))).stem: image["id"] for image in data["images"]}
    labels = {str(category["name"]): category["id"] for category in data["categories"]}
    first = min(int(place) for place in validator.names)
    classes = {int(place) - first + 1: str(name) for place, name in validator.names.items()}
    coco = getattr(validator, "is_coco", False)
    results = []
    for row in rows:
        stem = _stem(row)
        name = classes.get(int(row["category_id"]))
        if stem not in images:
            raise Unmatched(f"image '{stem}' is not in the truth", where=str(truth), remedy="Is it the split?")
        if not coco and name not in labels:
            raise Unmatched(
                f"class '{name}' is not in the truth, which has {first_few(labels)}",
                where=str(truth),
                remedy="Name classes as the model does.",
            )
        label = row["category_id"] if coco else labels[str(name)]
        results.append({"image_id": images[stem], "category_id": label, "bbox": row["bbox"], "score": row["score"]})
    return results
