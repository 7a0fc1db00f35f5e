"""Cases and comparison for test_paths: data with every awkwardness a task allows, and a report as plain values."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from steelyard.core import catalogue
from steelyard.results.report import Report
from support.drawn import DRAW, DRAWN
from support.scale_help import plain

Data = dict[str, Any]
TruthAndPredictions = tuple[Any, Any]
UNITS = 14
SCRATCH = tempfile.TemporaryDirectory()


@dataclasses.dataclass(frozen=True)
class Case:
    """What is evaluated: both sides, how they are cut by unit, and what is asked for."""

    task: str
    sides: TruthAndPredictions
    cut: Callable[[TruthAndPredictions, set[str]], TruthAndPredictions]
    units: tuple[str, ...]
    metrics: list[str] | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    files: bool = False  # every part is read from files, since the options are about them

    def parts(self, count: int, again: bool) -> list[TruthAndPredictions]:
        """The data in so many parts, each unit whole in one; with `again` the first unit in the last part too."""
        chosen = [set(self.units[number::count]) for number in range(count)]
        if again:
            chosen[-1] = chosen[-1] | {self.units[0]}
        return [self.cut(self.sides, units) for units in chosen]

    def given(self, sides: TruthAndPredictions, name: str) -> TruthAndPredictions:
        """The sides as they are given: in memory, or as files."""
        if not self.files:
            return sides
        paths = write_parts(Path(SCRATCH.name) / name, [sides])
        return paths[0][0], paths[1][0]


def table_cut(key: str) -> Callable[[TruthAndPredictions, set[str]], TruthAndPredictions]:
    """Cut two tables by the unit that a column names."""

    def cut(sides: TruthAndPredictions, units: set[str]) -> TruthAndPredictions:
        parts = []
        for side in sides:
            keep = np.array([str(value) in units for value in side[key]], dtype=bool)
            parts.append({name: taken(column, keep) for name, column in side.items()})
        return parts[0], parts[1]

    return cut


def taken(column: Any, keep: Any) -> Any:
    """The kept values of a column, which may hold lists."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column[keep]
    return [value for value, wanted in zip(column, keep, strict=True) if wanted]


def policy_of(task: str) -> dict[str, str]:
    """What a part of the rows is missing or extra under."""
    return dict(DRAWN[task].policy) or {"missing": "worst", "extra": "skip"}


SITES = ("p, q", "p", "p")
CUTS = ("r", "q, r", "r")
OF_WHOLE_DATA = ("fold_accuracy",)  # folds by position are undefined in merged parts
CROSSED = ("weights", "boxes", "segmentation")  # tasks whose slices are crossed too


def drawn_case(task: str, **settings: Any) -> Case:
    """The task's drawn data: weighed, with gaps on both sides, and columns to slice by whose values have commas."""
    truth, predictions = DRAW[task](np.random.default_rng(31), UNITS)
    key = catalogue.find_task(task).truth.key[0]
    ids = list(dict.fromkeys(map(str, truth[key])))
    place = {unit: number for number, unit in enumerate(ids)}
    of_row = [place[str(value)] for value in truth[key]]
    truth["site"], truth["cut"] = ([values[i % 3] for i in of_row] for values in (SITES, CUTS))
    if "sample_weight" in catalogue.find_task(task).truth.names:
        owner = list(map(str, truth[DRAWN[task].unit or key]))
        number = {unit: i for i, unit in enumerate(dict.fromkeys(owner))}
        truth["sample_weight"] = [0.5 + number[unit] % 4 for unit in owner]
    if task in ("boxes", "masks", "keypoints"):  # a class that one unit alone has
        truth["label"] = np.where(np.array(truth[key]) == ids[2], "yak", truth["label"])
        predictions["score"] = np.round(predictions["score"], 1)
    if task == "losses":  # soft targets and hard ones, of which a row is lost below
        truth["site"] = [SITES[i % 3] for i in range(len(of_row))]
    order = np.random.default_rng(32).permutation(len(predictions[key]))
    listed = {name: list(column) for name, column in predictions.items()}
    predictions = {name: [column[i] for i in order] for name, column in listed.items()}
    predictions = with_gaps(predictions, key, ids)
    policy = policy_of(task)
    by = ["site", ("site", "cut")] if task in CROSSED else ["site"]
    metrics = [str(metric) for metric in catalogue.metrics(task) if metric.name not in OF_WHOLE_DATA]
    settings = {"by": by, **policy, **settings}
    return Case(task, (truth, predictions), table_cut(key), (*ids, "zz"), metrics, settings=settings)


def grouped_case(task: str, **settings: Any) -> Case:
    """The same with columns of clusters, five of three units or fewer, and of strata, one of which has a single unit."""
    case = drawn_case(task, **settings)
    truth = case.sides[0]
    key = catalogue.find_task(task).truth.key[0]
    place = {unit: number for number, unit in enumerate(case.units)}
    of_row = [place[str(value)] for value in truth[key]]
    truth["person"] = [f"person {i % 5}" for i in of_row]
    truth["light"] = ["dusk" if i % 5 == 4 else "dark" if i % 5 < 2 else "lit" for i in of_row]
    return case


def with_gaps(predictions: Data, key: str, ids: Sequence[str]) -> Data:
    """Nothing for one unit, one row less in another where it has several, and a unit that the truth lacks."""
    of_unit = [str(value) for value in predictions[key]]
    keep = np.array([unit != ids[-1] for unit in of_unit])
    several = [i for i, unit in enumerate(of_unit) if unit == ids[1]]
    if len(several) > 1:
        keep[several[0]] = False
    extra = of_unit.index(ids[0])
    return {
        name: [*taken(list(column), keep), "zz" if name == key else column[extra]]
        for name, column in predictions.items()
    }


def radians_case() -> Case:
    """Ellipses whose angles the options give in radians; not sliced, so that workers walk the rankings."""
    case = drawn_case("ellipses")
    for side in case.sides:
        side["theta"] = np.radians(np.array(side["theta"], dtype=float))
    settings = {"missing": "worst", "extra": "skip", "options": {"angle": "radians"}}
    return dataclasses.replace(case, settings=settings)


def labels_case(variant: str) -> Case:
    """Rows as units: declared classes with probabilities, sliced or not; sets of labels; or so many that they are counted."""
    rng = np.random.default_rng(34)
    units = 10_200 if variant in ("counted", "clustered") else 24
    ids = [f"r{i}" for i in range(units)]
    names = np.array(["ant", "bee", "cat"])
    label = rng.choice(names, units)
    label[0] = "yak"  # the first unit alone has it
    truth: Data = {"id": ids, "site": [SITES[i % 3] for i in range(units)], "cut": [CUTS[i % 3] for i in range(units)]}
    predictions: Data = {"id": ids}
    settings: dict[str, Any] = {"by": ["site", ("site", "cut")], **policy_of("labels")}
    metrics = None
    if variant == "multilabel":
        truth["labels"] = ["|".join(dict.fromkeys([label[i], *names[rng.random(3) < 0.4]])) for i in range(units)]
        predictions["labels"] = ["|".join(names[rng.random(3) < 0.6]) for _ in range(units)]
    else:
        truth["label"] = label
    if variant in ("multiclass", "weighed"):
        every = [*names, "yak", "zebra"]
        truth["weight"] = np.round(rng.uniform(0.5, 2, units), 2)
        probability = rng.dirichlet(np.ones(len(every)), units)
        predictions |= {f"probability:{name}": probability[:, i] for i, name in enumerate(every)}
        settings["options"] = {"classes": every}
    if variant == "weighed":
        del settings["by"]
    if variant == "clustered":
        truth["person"] = [f"person {i % 40}" for i in range(units)]
        settings |= {"cluster": "person", "by": ["site"]}
    if variant in ("counted", "clustered"):
        predictions["label"] = np.where(rng.random(units) < 0.7, label, rng.choice(names, units))
        metrics = ["accuracy", "macro(f1)", "mcc", "f1(label=yak)"]
    predictions = with_gaps(predictions, "id", ids)
    return Case("labels", (truth, predictions), table_cut("id"), (*ids, "zz"), metrics, settings)


def coco_case(task: str, **settings: Any) -> Case:
    """COCO's files of one drawn data set; a part lists the classes that it has, and some images have no objects."""
    rng = np.random.default_rng(35)
    images = list(range(1, UNITS + 1))
    annotations: list[Data] = []
    results: list[Data] = []
    for image in images:
        for _ in range(int(rng.integers(0, 4)) + (image == 1)):
            box = [*(rng.random(2) * 300), *(rng.random(2) * 120 + 4)]
            kind = 9 if image == 1 else int(rng.choice([1, 2, 3]))
            row = {"image_id": image, "category_id": kind, "bbox": [round(float(v), 2) for v in box]}
            annotations.append(
                {**row, "id": len(annotations) + 1, "area": row["bbox"][2] * row["bbox"][3], "iscrowd": 0}
            )
            for _ in range(int(rng.integers(0, 3))):
                moved = [round(float(v), 2) for v in np.array(box) + rng.normal(0, 3, 4)]
                results.append(
                    {**row, "bbox": [*moved[:2], *np.abs(moved[2:])], "score": float(rng.integers(1, 10)) / 10}
                )
    names = {1: "cat", 2: "dog", 3: "owl", 9: "yak"}  # the first image alone has the last
    truth = {
        "images": [{"id": image, "width": 500, "height": 500} for image in images],
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for number, name in names.items()],
    }
    return Case(task, (truth, results), cut_coco, tuple(map(str, images)), settings=settings)


def cut_coco(sides: TruthAndPredictions, units: set[str]) -> TruthAndPredictions:
    """The images of a part with all that belongs to them, and the classes that it has."""
    truth, results = sides
    annotations = [one for one in truth["annotations"] if str(one["image_id"]) in units]
    kept = [one for one in results if str(one["image_id"]) in units]
    images = [one for one in truth["images"] if str(one["id"]) in units]
    here = {one["category_id"] for one in (*annotations, *kept)}
    for image in images:
        here.update(image.get("neg_category_ids", ()))
        here.update(image.get("not_exhaustive_category_ids", ()))
    classes = [one for one in truth["categories"] if one["id"] in here]
    return {**truth, "images": images, "annotations": annotations, "categories": classes}, kept


def lvis_case() -> Case:
    """The same under LVIS's rules, which the reader's options ask for: some classes were not looked for in an image."""
    case = dataclasses.replace(coco_case("boxes", options={"truth.format": "lvis"}), files=True)
    rng = np.random.default_rng(36)
    truth = case.sides[0]
    for annotation in truth["annotations"]:
        del annotation["iscrowd"]
    for image in truth["images"]:
        present = {one["category_id"] for one in truth["annotations"] if one["image_id"] == image["id"]}
        image["neg_category_ids"] = [k for k in (1, 2, 3) if k not in present and rng.random() < 0.5]
        image["not_exhaustive_category_ids"] = sorted(k for k in present if rng.random() < 0.4)
    return case


def write_parts(
    folder: Path, parts: Sequence[TruthAndPredictions], sides: Sequence[str] = ("truth", "pred")
) -> list[list[str]]:
    """Each part as a file of either side; gives the paths of both."""
    folder.mkdir(exist_ok=True)
    paths: list[list[str]] = [[], []]
    for number, part in enumerate(parts):
        for place, side in enumerate(sides):
            tabular = isinstance(part[place], dict) and "images" not in part[place]
            path = folder / f"{side}{number}.{'parquet' if tabular else 'json'}"
            if tabular:
                pq.write_table(pa.table({name: plain(column) for name, column in part[place].items()}), path)
            else:
                path.write_text(json.dumps(part[place]), encoding="utf-8")
            paths[place].append(str(path))
    return paths


def contents(report: Report) -> dict[str, str]:
    """All that a report says and shows, part by part, as texts that are equal if it is equal to the bit."""
    parts = {"scores": values(report.scores), "slices": values(report.slices), "coverage": values(report.coverage)}
    parts |= {"request": values(report.request), "version": report.sources.version}
    parts["rows"] = values((report.sources.truth.rows, report.sources.predictions.rows))
    units = report.units()
    parts |= {"unit ids": values(units.units), "unit values": values(units.values)}
    parts |= {f"table {name}": values(report.table(name)) for name in report.tables}
    parts |= {f"figure {name}": values(report.figure(name)) for name in report.figures}
    parts["listing"] = values(report.listing())
    parts |= {
        "facts": values((report.task, report.unit, report.item, report.title)),
        "definitions": values(report.details.definitions()),
    }
    return parts


def values(entries: Any) -> str:
    """Any value as text, with every digit and every array whole."""
    return repr(_values(entries))


def _values(entries: Any) -> Any:
    if entries is None or isinstance(entries, str | int | float):
        return entries.item() if isinstance(entries, np.generic) else entries
    if isinstance(entries, np.ndarray):
        return [_values(value) for value in entries.tolist()] if entries.dtype == object else entries.tolist()
    if isinstance(entries, np.generic):
        return entries.item()
    if dataclasses.is_dataclass(entries) and not isinstance(entries, type):
        return {field.name: _values(getattr(entries, field.name)) for field in dataclasses.fields(entries)}
    if isinstance(entries, Mapping):
        return {key: _values(value) for key, value in entries.items()}
    if isinstance(entries, list | tuple):
        return [_values(value) for value in entries]
    return entries
