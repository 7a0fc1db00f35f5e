"""`cityscapesscripts.evaluation.evalPanopticSemanticLabeling`: panoptic quality, computed as for panopticapi."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.compat.cityscapesscripts.helpers.labels import labels as csLabels  # noqa: F401, N812
from steelyard.compat.cityscapesscripts.helpers.messages import printError
from steelyard.compat.panopticapi.evaluation import (
    OFFSET,  # noqa: F401  # the package's module has these too
    VOID,  # noqa: F401
    PQStat,
    PQStatCat,  # noqa: F401
    compare_images,
    compare_shares,
)
from steelyard.compat.panopticapi.utils import get_traceback, rgb2id  # noqa: F401

_GROUPS = {"All": None, "Things": True, "Stuff": False}


@get_traceback
def pq_compute_single_core(
    proc_id: int, annotation_set: Sequence[Any], gt_folder: str, pred_folder: str, categories: Mapping[Any, Any]
) -> PQStat:
    """Compare pairs of images: annotations of truth and prediction, whose PNG files are in these folders."""
    return compare_images(proc_id, annotation_set, gt_folder, pred_folder, categories, 30)


def pq_compute_multi_core(
    matched_annotations_list: Sequence[Any], gt_folder: str, pred_folder: str, categories: Mapping[Any, Any]
) -> PQStat:
    """Compare pairs of images in shares, as many as there are cores: their sums are added as the package adds them."""
    return compare_shares(pq_compute_single_core, matched_annotations_list, gt_folder, pred_folder, categories)


def average_pq(pq_stat: PQStat, categories: Mapping[Any, Any]) -> dict[str, Any]:
    """PQ, SQ and RQ of all categories, of things and of stuff, and of each."""
    results: dict[str, Any] = {}
    for name, isthing in _GROUPS.items():
        results[name], per_class = pq_stat.pq_average(categories, isthing=isthing)
        if name == "All":
            results["per_class"] = per_class
    return results


def print_results(results: Mapping[str, Any], categories: Mapping[Any, Any]) -> None:
    """Print the numbers of each category and the means."""

    def line(name: str, row: Mapping[str, float]) -> str:
        return f"{name:14s}| {100 * row['pq']:5.1f}  {100 * row['sq']:5.1f}  {100 * row['rq']:5.1f}"

    heading = f"| {'PQ':>5s}  {'SQ':>5s}  {'RQ':>5s}"
    print(f"{'Category':14s}{heading}")
    for label in sorted(results["per_class"]):
        print(line(categories[label]["name"], results["per_class"][label]))
    print("-" * 41)
    print(f"{'':14s}{heading} {'N':>5s}")
    for name in _GROUPS:
        print(f"{line(name, results[name])} {results[name]['n']:5d}")


def evaluatePanoptic(
    gt_json_file: str, gt_folder: str, pred_json_file: str, pred_folder: str, resultsFile: str
) -> dict[str, Any]:
    """Compare files in COCO's panoptic format; the results are printed and written as JSON."""
    start = time.time()
    with open(gt_json_file, encoding="utf-8") as file:
        truth = json.load(file)
    with open(pred_json_file, encoding="utf-8") as file:
        predicted = json.load(file)
    categories = {category["id"]: category for category in truth["categories"]}
    print("Evaluation panoptic segmentation metrics:")
    for title, folder, path in (("Ground truth", gt_folder, gt_json_file), ("Prediction", pred_folder, pred_json_file)):
        print(f"{title}:\n\tSegmentation folder: {folder}\n\tJSON file: {path}")
    for kind, folder in (("ground truth", gt_folder), ("predicted", pred_folder)):
        if not os.path.isdir(folder):
            printError(f"Folder {folder} with {kind} segmentations doesn't exist")
    by_image = {annotation["image_id"]: annotation for annotation in predicted["annotations"]}
    pairs = []
    for annotation in truth["annotations"]:
        if annotation["image_id"] not in by_image:
            raise Exception(f"no prediction for the image with id: {annotation['image_id']}")
        pairs.append((annotation, by_image[annotation["image_id"]]))
    results = average_pq(pq_compute_multi_core(pairs, gt_folder, pred_folder, categories), categories)
    with open(resultsFile, "w", encoding="utf-8") as file:
        print(f"Saving computed results in {resultsFile}")
        json.dump(results, file, sort_keys=True, indent=4)
    print_results(results, categories)
    print(f"Time elapsed: {time.time() - start:0.2f} seconds")
    return results


def main() -> None:
    """The package's command line."""
    root = os.environ.get("CITYSCAPES_DATASET", os.getcwd())
    name = "cityscapes_panoptic_val.json"
    truth = os.path.join(root, "gtFine", name)
    predicted = os.path.join(os.environ.get("CITYSCAPES_RESULTS", os.path.join(root, "results")), name)
    parser = argparse.ArgumentParser()
    options = {
        "gt-json-file": ("gtJsonFile", truth),
        "gt-folder": ("gtFolder", None),
        "prediction-json-file": ("predictionJsonFile", predicted),
        "prediction-folder": ("predictionFolder", None),
        "results_file": ("resultsFile", "resultPanopticSemanticLabeling.json"),
    }
    for option, (dest, default) in options.items():
        parser.add_argument(f"--{option}", dest=dest, default=default)
    asked = parser.parse_args()
    for kind, path in (("ground truth", asked.gtJsonFile), ("prediction", asked.predictionJsonFile)):
        if not os.path.isfile(path):
            printError(f"Could not find a {kind} json file in {path}. Please run the script with '--{'help'}'")
    evaluatePanoptic(
        asked.gtJsonFile,
        asked.gtFolder or os.path.splitext(asked.gtJsonFile)[0],
        asked.predictionJsonFile,
        asked.predictionFolder or os.path.splitext(asked.predictionJsonFile)[0],
        asked.resultsFile,
    )


if __name__ == "__main__":
    main()
