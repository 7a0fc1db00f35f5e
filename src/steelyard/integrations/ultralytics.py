"""A callback of Ultralytics: the boxes of a validation, evaluated against annotations in COCO's format.

    model.add_callback("on_val_end", Evaluation("instances_val.json"))
    model.val(data="plates.yaml", save_json=True)

Ultralytics is not imported: the callback reads `validator.jdict`, the rows that `save_json=True` writes too, and
`validator.names`. It is tested against that interface (8.4), not against the package, which needs torchvision.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
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

    `truth` is a file of COCO's format. Images are known by their file's name, classes by their name.
    """

    def __init__(self, truth: str | os.PathLike[str], metrics: Metrics = None, **settings: Any) -> None:
        self.truth, self.metrics, self.settings = Path(truth), metrics, settings
        self.report: Report | None = None

    def __call__(self, validator: Any) -> None:
        """Evaluate what the validation predicted."""
        rows = validator.jdict
        if not rows:
            raise MissingData(
                "the validation kept no predictions", where="ultralytics", remedy="Validate with save_json=True."
            )
        data = parse_json(read_bytes(self.truth, str(self.truth)).decode("utf-8", "replace"), str(self.truth))
        if not isinstance(data, Mapping) or not {"images", "categories"} <= data.keys():
            raise InvalidFile("is not a COCO file", where=str(self.truth), remedy="It needs images, categories.")
        images = {Path(str(one.get("file_name", one["id"]))).stem: one["id"] for one in data["images"]}
        labels = {str(one["name"]): one["id"] for one in data["categories"]}
        first = min(int(place) for place in validator.names)
        classes = {int(place) - first + 1: str(name) for place, name in validator.names.items()}
        coco = getattr(validator, "is_coco", False)
        results = []
        for row in rows:
            stem = Path(str(row.get("file_name", row["image_id"]))).stem
            name = classes.get(int(row["category_id"]))
            if stem not in images:
                raise Unmatched(f"image '{stem}' is not in the truth", where=str(self.truth), remedy="Is it the split?")
            if not coco and name not in labels:
                raise Unmatched(
                    f"class '{name}' is not in the truth, which has {first_few(labels)}", where=str(self.truth),
                    remedy="Name classes as the model does.",
                )  # fmt: skip
            label = row["category_id"] if coco else labels[str(name)]
            results.append({"image_id": images[stem], "category_id": label, "bbox": row["bbox"], "score": row["score"]})
        self.report = api.evaluate("boxes", self.truth, results, self.metrics, **self.settings)
