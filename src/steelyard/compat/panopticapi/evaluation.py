"""`panopticapi.evaluation`: panoptic quality of COCO's panoptic format, with the package's names, text and numbers.

Pixels are counted in the native core, row by row of the two PNG files, and images in threads of one process, where the
package decodes whole images in one process for each core.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from steelyard.compat.panopticapi.utils import get_traceback
from steelyard.maps.each import for_each
from steelyard.maps.load import count_pairs, open_map

OFFSET = 256 * 256 * 256
VOID = 0


class PQStatCat:
    """Sum of overlaps, and segments that are right, made up or missed, of a category."""

    def __init__(self) -> None:
        self.iou, self.tp, self.fp, self.fn = 0.0, 0, 0, 0

    def __iadd__(self, pq_stat_cat: PQStatCat) -> PQStatCat:
        for name in ("iou", "tp", "fp", "fn"):
            setattr(self, name, getattr(self, name) + getattr(pq_stat_cat, name))
        return self


class PQStat:
    """The same of all categories, by id."""

    def __init__(self) -> None:
        self.pq_per_cat: dict[Any, PQStatCat] = defaultdict(PQStatCat)

    def __getitem__(self, i: Any) -> PQStatCat:
        return self.pq_per_cat[i]

    def __iadd__(self, pq_stat: PQStat) -> PQStat:
        for label, counts in pq_stat.pq_per_cat.items():
            self.pq_per_cat[label] += counts
        return self

    def pq_average(self, categories: Mapping[Any, Any], isthing: bool | None) -> tuple[dict[str, Any], dict[Any, Any]]:
        """The means over categories, and the numbers of each: of things, of stuff or of all."""
        total, n = {"pq": 0.0, "sq": 0.0, "rq": 0.0}, 0
        per_class: dict[Any, dict[str, float]] = {}
        for label, info in categories.items():
            if isthing is not None and isthing != (info["isthing"] == 1):
                continue
            stat = self.pq_per_cat[label]
            if stat.tp + stat.fp + stat.fn == 0:
                per_class[label] = {"pq": 0.0, "sq": 0.0, "rq": 0.0}
                continue
            n += 1
            size = stat.tp + 0.5 * stat.fp + 0.5 * stat.fn
            per_class[label] = {
                "pq": stat.iou / size,
                "sq": stat.iou / stat.tp if stat.tp != 0 else 0,
                "rq": stat.tp / size,
            }
            for name, value in per_class[label].items():
                total[name] += value
        return {**{name: value / n for name, value in total.items()}, "n": n}, per_class


@dataclass
class _Image:
    """What one image adds: categories and overlaps of the matches, in their order, and categories of the others."""

    hits: list[tuple[Any, float]] = field(default_factory=list)
    missed: list[Any] = field(default_factory=list)
    wrong: list[Any] = field(default_factory=list)


@get_traceback
def pq_compute_single_core(
    proc_id: int, annotation_set: Sequence[Any], gt_folder: str, pred_folder: str, categories: Mapping[Any, Any]
) -> PQStat:
    """Compare pairs of images: annotations of truth and prediction, whose PNG files are in these folders."""
    return compare_images(proc_id, annotation_set, gt_folder, pred_folder, categories, 100)


def compare_images(
    proc_id: int,
    annotation_set: Sequence[Any],
    gt_folder: str,
    pred_folder: str,
    categories: Mapping[Any, Any],
    every: int,
) -> PQStat:
    """Compare pairs of images and print a line after as many images as `every` says."""

    def compared(begin: int, place: int) -> _Image:
        truth, predicted = annotation_set[begin + place]
        return _compared(truth, predicted, gt_folder, pred_folder, categories)

    stat, many = PQStat(), len(annotation_set)
    for begin in range(0, many, every):
        print(f"Core: {proc_id}, {begin} from {many} images processed")
        for image in for_each(min(every, many - begin), partial(compared, begin)):
            for category, iou in image.hits:
                stat[category].tp += 1
                stat[category].iou += iou
            for category in image.missed:
                stat[category].fn += 1
            for category in image.wrong:
                stat[category].fp += 1
    print(f"Core: {proc_id}, all {many} images processed")
    return stat


def _compared(truth: Any, predicted: Any, gt_folder: str, pred_folder: str, categories: Mapping[Any, Any]) -> _Image:
    true_segments = {segment["id"]: segment for segment in truth["segments_info"]}
    segments = {segment["id"]: segment for segment in predicted["segments_info"]}
    files = os.path.join(gt_folder, truth["file_name"]), os.path.join(pred_folder, predicted["file_name"])
    columns = count_pairs(*(open_map(file) for file in files))
    shared = {(a, b): count for a, b, count in sorted(zip(*(column.tolist() for column in columns), strict=True))}
    areas: dict[int, int] = defaultdict(int)
    for (_, b), count in shared.items():
        areas[b] += count
    _check_segments(truth["image_id"], segments, areas, categories)
    image, matched, true_matched = _Image(), set(), set()
    for (a, b), count in shared.items():
        true, segment = true_segments.get(a), segments.get(b)
        if true is None or segment is None or true["iscrowd"] == 1 or true["category_id"] != segment["category_id"]:
            continue
        iou = count / (segment["area"] + true["area"] - count - shared.get((VOID, b), 0))
        if iou > 0.5:
            image.hits.append((true["category_id"], iou))
            true_matched.add(a)
            matched.add(b)
    crowds = {}
    for a, true in true_segments.items():
        if a not in true_matched and true["iscrowd"] == 1:
            crowds[true["category_id"]] = a
        elif a not in true_matched:
            image.missed.append(true["category_id"])
    for b, segment in segments.items():
        if b not in matched:
            excused = shared.get((VOID, b), 0)
            if segment["category_id"] in crowds:
                excused += shared.get((crowds[segment["category_id"]], b), 0)
            if excused / segment["area"] <= 0.5:
                image.wrong.append(segment["category_id"])
    return image


def _check_segments(
    image: Any, segments: dict[int, Any], areas: Mapping[int, int], categories: Mapping[Any, Any]
) -> None:
    """Note the areas of predicted segments, and refuse those that only the PNG file or only the JSON file has."""
    for label in sorted(areas):
        if label not in segments:
            if label == VOID:
                continue
            raise KeyError(
                f"In the image with ID {image} segment with ID {label} is presented in PNG and not presented in JSON."
            )
        segments[label]["area"] = areas[label]
        if segments[label]["category_id"] not in categories:
            raise KeyError(
                f"In the image with ID {image} segment with ID {label} has unknown category_id "
                f"{segments[label]['category_id']}."
            )
    missing = [label for label in segments if label not in areas]
    if missing:
        raise KeyError(
            f"In the image with ID {image} the following segment IDs {missing} are presented in JSON and not presented "
            "in PNG."
        )


def pq_compute_multi_core(
    matched_annotations_list: Sequence[Any], gt_folder: str, pred_folder: str, categories: Mapping[Any, Any]
) -> PQStat:
    """Compare pairs of images in shares, as many as there are cores: their sums are added as the package adds them."""
    return compare_shares(pq_compute_single_core, matched_annotations_list, gt_folder, pred_folder, categories)


def compare_shares(
    compare: Callable[..., PQStat],
    matched_annotations_list: Sequence[Any],
    gt_folder: str,
    pred_folder: str,
    categories: Mapping[Any, Any],
) -> PQStat:
    """Call a function for the share of each core and add what it returns."""
    cores = multiprocessing.cpu_count()
    shares = [part.tolist() for part in np.array_split(np.arange(len(matched_annotations_list)), cores)]
    print(f"Number of cores: {cores}, images per core: {len(shares[0])}")
    stat = PQStat()
    for number, rows in enumerate(shares):
        pairs = [matched_annotations_list[row] for row in rows]
        stat += compare(number, pairs, gt_folder, pred_folder, categories)
    return stat


def pq_compute(
    gt_json_file: str, pred_json_file: str, gt_folder: str | None = None, pred_folder: str | None = None
) -> dict[str, Any]:
    """PQ, SQ and RQ of all categories, of things and of stuff, and of each; a folder is named as its JSON file."""
    start = time.time()
    with open(gt_json_file, encoding="utf-8") as file:
        truth = json.load(file)
    with open(pred_json_file, encoding="utf-8") as file:
        predicted = json.load(file)
    gt_folder = gt_json_file.replace(".json", "") if gt_folder is None else gt_folder
    pred_folder = pred_json_file.replace(".json", "") if pred_folder is None else pred_folder
    categories = {category["id"]: category for category in truth["categories"]}
    print("Evaluation panoptic segmentation metrics:")
    for title, folder, path in (("Ground truth", gt_folder, gt_json_file), ("Prediction", pred_folder, pred_json_file)):
        print(f"{title}:\n\tSegmentation folder: {folder}\n\tJSON file: {path}")
    for kind, folder in (("ground truth", gt_folder), ("predicted", pred_folder)):
        if not os.path.isdir(folder):
            raise Exception(f"Folder {folder} with {kind} segmentations doesn't exist")
    by_image = {annotation["image_id"]: annotation for annotation in predicted["annotations"]}
    pairs = []
    for annotation in truth["annotations"]:
        if annotation["image_id"] not in by_image:
            raise Exception(f"no prediction for the image with id: {annotation['image_id']}")
        pairs.append((annotation, by_image[annotation["image_id"]]))
    stat = pq_compute_multi_core(pairs, gt_folder, pred_folder, categories)
    groups = (("All", None), ("Things", True), ("Stuff", False))
    results: dict[str, Any] = {}
    for name, isthing in groups:
        results[name], per_class = stat.pq_average(categories, isthing=isthing)
        if name == "All":
            results["per_class"] = per_class
    print(f"{'':10s}| {'PQ':>5s}  {'SQ':>5s}  {'RQ':>5s} {'N':>5s}")
    print("-" * (10 + 7 * 4))
    for name, _ in groups:
        row = results[name]
        print(f"{name:10s}| {100 * row['pq']:5.1f}  {100 * row['sq']:5.1f}  {100 * row['rq']:5.1f} {row['n']:5d}")
    print(f"Time elapsed: {time.time() - start:0.2f} seconds")
    return results


def main() -> None:
    """The package's command line."""
    parser = argparse.ArgumentParser()
    for name in ("gt_json_file", "pred_json_file", "gt_folder", "pred_folder"):
        parser.add_argument(f"--{name}", type=str, default=None)
    asked = parser.parse_args()
    pq_compute(asked.gt_json_file, asked.pred_json_file, asked.gt_folder, asked.pred_folder)


if __name__ == "__main__":
    main()
