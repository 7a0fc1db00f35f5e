"""`cityscapesscripts.evaluation.evalPixelLevelSemanticLabeling`: IoU of classes and categories of label images.

Images are decoded and their pixels counted in the native core, in threads; all scores come from these counts.
"""

from __future__ import annotations

import fnmatch
import glob
import math
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.compat.cityscapesscripts.helpers.labels import (
    category2labels,
    id2label,
    labels,
    name2label,  # noqa: F401  # the package's module has it too
    trainId2label,  # noqa: F401
)
from steelyard.compat.cityscapesscripts.helpers.messages import (
    colors,
    ensurePath,
    getColorEntry,
    getCsFileInfo,
    printError,
    writeDict2JSON,
)
from steelyard.core.errors import InputError, MissingData
from steelyard.maps.each import for_each
from steelyard.maps.load import as_grid, open_map
from steelyard.maps.png import PngFile

Array = NDArray[Any]
_BATCH = 64  # images that are counted before their numbers are added
_LINE = "--------------------------------"


class CArgs:
    """The settings of an evaluation: attributes that a program may change."""

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """What `steelyard.compat.report` evaluates: the images of the last `evaluateImgLists` with these settings."""
        if not hasattr(self, "_evaluated"):
            raise MissingData("no images were evaluated", remedy="Call evaluateImgLists with these args first.")
        predicted, truth = ({"image": list(range(len(files))), "map": files} for files in self._evaluated)
        return "segmentation", truth, predicted, {"options": {"labels": "cityscapes"}}


def _default_args() -> CArgs:
    settings = CArgs()
    root = os.environ.get("CITYSCAPES_DATASET", os.getcwd())
    folder = os.environ.get("CITYSCAPES_EXPORT_DIR")
    if folder is not None and not os.path.isdir(folder):
        raise ValueError(f"CITYSCAPES_EXPORT_DIR {folder} is not a directory")
    folder = os.path.join(root, "evaluationResults") if folder is None else folder
    colorized = hasattr(sys.stderr, "isatty") and sys.stderr.isatty() and platform.system() == "Linux"
    vars(settings).update(
        cityscapesPath=root,
        exportFile=f"{folder}/resultPixelLevelSemanticLabeling.json",
        groundTruthSearch=os.path.join(root, "gtFine", "val", "*", "*_gtFine_labelIds.png"),
        evalInstLevelScore=True,
        evalPixelAccuracy=False,
        evalLabels=[],
        printRow=5,
        normalized=True,
        colorized=colorized,
        bold=colors.BOLD if colorized else "",
        nocol=colors.ENDC if colorized else "",
        JSONOutput=True,
        quiet=False,
        avgClassSize={  # pixels of an instance
            "person": 3462.4756337644,
            "rider": 3930.4788056518,
            "car": 12794.0202738185,
            "truck": 27855.1264367816,
            "bus": 35732.1511111111,
            "caravan": 36771.8241758242,
            "trailer": 16926.9763313609,
            "train": 67583.7075812274,
            "motorcycle": 6298.7200839748,
            "bicycle": 4672.3249222261,
        },
        predictionPath=None,
        predictionWalk=None,
    )
    return settings


args: Any = _default_args()


def getPrediction(args: Any, groundTruthFile: str) -> str:
    """The prediction whose file name begins with the city, sequence and frame of a ground truth image."""
    if not args.predictionPath:
        root = os.environ.get("CITYSCAPES_RESULTS")
        if root is None:
            root = os.path.join(os.environ.get("CITYSCAPES_DATASET", os.getcwd()), "results")
        if not os.path.isdir(root):
            printError("Could not find a result root folder. Please read the instructions of this method.")
        args.predictionPath = root
    if not args.predictionWalk:
        args.predictionWalk = [(folder, names) for folder, _, names in os.walk(args.predictionPath)]
    parts = getCsFileInfo(groundTruthFile)
    pattern = f"{parts.city}_{parts.sequenceNb}_{parts.frameNb}*.png"
    files: list[str] = [
        os.path.join(folder, name) for folder, names in args.predictionWalk for name in fnmatch.filter(names, pattern)
    ]
    if len(files) != 1:
        printError(f"Found {'multiple predictions' if files else 'no prediction'} for ground truth {groundTruthFile}")
    return files[0]


def generateMatrix(args: Any) -> Array:
    """An empty confusion matrix; `args.evalLabels` becomes the list of its labels."""
    args.evalLabels = [label.id for label in labels if label.id >= 0]
    size = max(args.evalLabels) + 1
    return np.zeros((size, size), dtype=np.ulonglong)


def generateInstanceStats(args: Any) -> dict[str, Any]:
    """Empty sums over instances, of the classes and of the categories whose classes all have instances."""
    zeros = dict.fromkeys(("tp", "tpWeighted", "fn", "fnWeighted"), 0.0)
    classes = {label.name: dict(zeros) for label in labels if label.hasInstances and not label.ignoreInEval}
    categories: dict[str, Any] = {}
    for category, members in category2labels.items():
        members = [label for label in members if label.id >= 0]
        if all(label.hasInstances for label in members):
            categories[category] = {**zeros, "labelIds": [label.id for label in members]}
    return {"classes": classes, "categories": categories}


def getMatrixFieldValue(confMatrix: Array, i: int, j: int, args: Any) -> Any:
    """A count of the confusion matrix, or its share of the row."""
    if not args.normalized:
        return confMatrix[i][j]
    total = confMatrix[i].sum()
    return float("nan") if total == 0 else float(confMatrix[i][j]) / total


def getIouScoreForLabel(label: int, confMatrix: Array, args: Any) -> Any:
    """IoU of a class; nan where it is not evaluated or does not occur."""
    if id2label[label].ignoreInEval:
        return float("nan")
    tp = np.longlong(confMatrix[label, label])
    fn = np.longlong(confMatrix[label, :].sum()) - tp
    return _iou(tp, _wrong_pixels([label], confMatrix, args, label), fn)


def getInstanceIouScoreForLabel(label: int, confMatrix: Array, instStats: Any, args: Any) -> Any:
    """IoU of a class whose instances have the same weight whatever their size."""
    stats = instStats["classes"].get(id2label[label].name)
    if id2label[label].ignoreInEval or stats is None:
        return float("nan")
    return _iou(stats["tpWeighted"], _wrong_pixels([label], confMatrix, args, label), stats["fnWeighted"])


def getIouScoreForCategory(category: str, confMatrix: Array, args: Any) -> Any:
    """IoU of a category: its classes count as one."""
    ids = [label.id for label in category2labels[category] if not label.ignoreInEval and label.id in args.evalLabels]
    if not ids:
        return float("nan")
    tp = np.longlong(confMatrix[ids, :][:, ids].sum())
    fn = np.longlong(confMatrix[ids, :].sum()) - tp
    return _iou(tp, _wrong_pixels(ids, confMatrix, args, category), fn)


def getInstanceIouScoreForCategory(category: str, confMatrix: Array, instStats: Any, args: Any) -> Any:
    """IoU of a category whose instances have the same weight whatever their size."""
    stats = instStats["categories"].get(category)
    if stats is None:
        return float("nan")
    fp = _wrong_pixels(stats["labelIds"], confMatrix, args, category)
    return _iou(stats["tpWeighted"], fp, stats["fnWeighted"])


def _wrong_pixels(ids: list[int], confMatrix: Array, args: Any, own: int | str) -> Any:
    """Pixels predicted as these labels whose true label is evaluated and is not this one, or not of this category."""
    others = [
        number
        for number in args.evalLabels
        if not id2label[number].ignoreInEval and own not in (number, id2label[number].category)
    ]
    return np.longlong(confMatrix[others, :][:, ids].sum())


def _iou(tp: Any, fp: Any, fn: Any) -> Any:
    total = tp + fp + fn
    return float("nan") if total == 0 else float(tp) / total


def getPrior(label: int, confMatrix: Array) -> Any:
    """Share of a class in the true pixels."""
    return float(confMatrix[label, :].sum()) / confMatrix.sum()


def getScoreAverage(scoreList: dict[str, Any], args: Any) -> float:
    """The mean of the scores that are not nan."""
    total, many = 0.0, 0
    for score in scoreList.values():
        if not math.isnan(score):
            total, many = total + score, many + 1
    return total / many if many else float("nan")


def createResultDict(
    confMatrix: Array,
    classScores: dict[str, Any],
    classInstScores: dict[str, Any],
    categoryScores: dict[str, Any],
    categoryInstScores: dict[str, Any],
    perImageStats: dict[str, Any],
    args: Any,
) -> dict[str, Any]:
    """All results."""
    scores = {
        "Classes": classScores,
        "InstClasses": classInstScores,
        "Categories": categoryScores,
        "InstCategories": categoryInstScores,
    }
    results = {
        "confMatrix": confMatrix.tolist(),
        "priors": {id2label[label].name: getPrior(label, confMatrix) for label in args.evalLabels},
        "labels": {id2label[label].name: label for label in args.evalLabels},
        "classScores": classScores,
        "classInstScores": classInstScores,
        "categoryScores": categoryScores,
        "categoryInstScores": categoryInstScores,
        **{f"averageScore{name}": getScoreAverage(values, args) for name, values in scores.items()},
    }
    return {**results, "perImageScores": perImageStats} if perImageStats else results


def writeJSONFile(wholeData: dict[str, Any], args: Any) -> None:
    """Write the results to `args.exportFile`."""
    ensurePath(os.path.dirname(args.exportFile))
    writeDict2JSON(wholeData, args.exportFile)


def printConfMatrix(confMatrix: Array, args: Any) -> None:
    """Print the confusion matrix."""
    # A backspace before each field takes back the blank behind the field before it.
    many, width = len(args.evalLabels), args.printRow
    rule = " ".join([f"\b{'-' * 14} ", *[f"\b{'-' * (width + 1)} "] * many, f"\b{'-' * (width + 2)} "])
    initials = [f"\b{id2label[label].name[0]:^{width}} |" for label in args.evalLabels]
    print(rule)
    print(" ".join([f"\b{'':13} |", *initials, f"\b{'Prior':>6} |"]))
    print(rule)
    shown = [label for label in range(len(confMatrix)) if label in args.evalLabels]
    for label in shown:
        prior = getPrior(label, confMatrix)
        if prior < 1e-9:
            continue
        fields = [f"\b{id2label[label].name[:13]:>13} |"]
        for other in shown:
            value = getMatrixFieldValue(confMatrix, label, other, args)
            fields.append(f"{getColorEntry(value, args)}\b{value:>{width}.2f}  {args.nocol}")
        print(" ".join([*fields, f"{getColorEntry(prior, args)}\b{prior:>6.4f} {args.nocol}"]))
    print(rule, end=" ")


def printClassScores(scoreList: dict[str, Any], instScoreList: dict[str, Any], args: Any) -> None:
    """Print the scores of the classes that are evaluated."""
    names = [id2label[label].name for label in args.evalLabels if not id2label[label].ignoreInEval]
    _print_scores("classes   ", names, scoreList, instScoreList, args)


def printCategoryScores(scoreDict: dict[str, Any], instScoreDict: dict[str, Any], args: Any) -> None:
    """Print the scores of the categories that are evaluated."""
    names = [name for name in scoreDict if not all(label.ignoreInEval for label in category2labels[name])]
    _print_scores("categories", names, scoreDict, instScoreDict, args)


def _print_scores(
    title: str, names: list[str], scores: dict[str, Any], instance_scores: dict[str, Any], args: Any
) -> None:
    if args.quiet:
        return
    print(f"{args.bold}{title}       IoU      nIoU{args.nocol}")
    print(_LINE)
    for name in names:
        print(f"{name:<14}: {_two_scores(scores[name], instance_scores[name], args)}")


def _two_scores(score: Any, instance_score: Any, args: Any) -> str:
    return "    ".join(f"{getColorEntry(value, args)}{value:>5.3f}{args.nocol}" for value in (score, instance_score))


def _print_average(scores: dict[str, Any], instance_scores: dict[str, Any], args: Any) -> None:
    print(_LINE)
    print(f"Score Average : {_two_scores(getScoreAverage(scores, args), getScoreAverage(instance_scores, args), args)}")
    print(f"{_LINE}\n")


def evaluateImgLists(predictionImgList: Sequence[str], groundTruthImgList: Sequence[str], args: Any) -> dict[str, Any]:
    """Compare pairs of images; print the tables and write the JSON file, as `args` say."""
    if len(predictionImgList) != len(groundTruthImgList):
        printError("List of images for prediction and groundtruth are not of equal size.")
    predicted, truth = list(predictionImgList), list(groundTruthImgList)
    args._evaluated = predicted, truth
    matrix, stats = generateMatrix(args), generateInstanceStats(args)
    per_image: dict[str, Any] = {}
    pixels = 0
    if not args.quiet:
        print(f"Evaluating {len(predictionImgList)} pairs of images...")
    for number, pair in enumerate(_counted(predicted, truth, args), 1):
        pixels += _add_pair(predicted[number - 1], pair, matrix, stats, per_image, args)
        if matrix.sum() != pixels:
            printError(
                "Number of analyzed pixels and entries in confusion matrix disagree: "
                f"contMatrix {matrix.sum()}, pixels {pixels}"
            )
        if not args.quiet:
            print(f"\rImages Processed: {number}", end=" ", flush=True)
    if not args.quiet:
        print("\n")
        printConfMatrix(matrix, args)
    names = {label: id2label[label].name for label in args.evalLabels}
    classes = {name: getIouScoreForLabel(label, matrix, args) for label, name in names.items()}
    of_instances = {name: getInstanceIouScoreForLabel(label, matrix, stats, args) for label, name in names.items()}
    if not args.quiet:
        print("\n")
        printClassScores(classes, of_instances, args)
        _print_average(classes, of_instances, args)
    categories = {name: getIouScoreForCategory(name, matrix, args) for name in category2labels}
    of_groups = {name: getInstanceIouScoreForCategory(name, matrix, stats, args) for name in category2labels}
    if not args.quiet:
        print()
        printCategoryScores(categories, of_groups, args)
        _print_average(categories, of_groups, args)
    results = createResultDict(matrix, classes, of_instances, categories, of_groups, per_image, args)
    if args.JSONOutput:
        writeJSONFile(results, args)
    return results


class _Pair(NamedTuple):
    """The counts of a pair of images: (true label, predicted label, pixels) and (instance, predicted label, pixels)."""

    pixels: int
    cells: list[tuple[int, int, int]]
    instances: list[tuple[int, int, int]]


class _Refused(Exception):
    """A pair of images that cannot be compared: the message to print."""


def evaluatePair(
    predictionImgFileName: str,
    groundTruthImgFileName: str,
    confMatrix: Array,
    instanceStats: dict[str, Any],
    perImageStats: dict[str, Any],
    args: Any,
) -> int:
    """Add a pair of images to the counts; the number of its pixels."""
    pair = _count_pair(predictionImgFileName, groundTruthImgFileName, args.evalInstLevelScore)
    return _add_pair(predictionImgFileName, pair, confMatrix, instanceStats, perImageStats, args)


def _counted(predicted: list[str], truth: list[str], args: Any) -> Iterator[_Pair | Exception]:
    """The counts of all pairs in order."""

    def count(begin: int, place: int) -> _Pair | Exception:
        return _count_pair(predicted[begin + place], truth[begin + place], args.evalInstLevelScore)

    for begin in range(0, len(truth), _BATCH):
        yield from for_each(min(_BATCH, len(truth) - begin), partial(count, begin))


def _count_pair(predicted_file: str, truth_file: str, by_instance: bool) -> _Pair | Exception:
    """The counts of a pair, or the error that is raised when its turn comes: pairs are counted in threads."""
    try:
        predicted, truth = _load(predicted_file), _load(truth_file)
        instances = _load(truth_file.replace("labelIds", "instanceIds")) if by_instance else None
        for axis, size in ((1, "widths"), (0, "heights")):
            if predicted.shape[axis] != truth.shape[axis]:
                raise _Refused(f"Image {size} of {predicted_file} and {truth_file} are not equal.")
        if predicted.ndim != 2:
            raise _Refused("Predicted image has multiple channels.")
        return _Pair(
            predicted.size, _cells(truth, predicted), [] if instances is None else _cells(instances, predicted)
        )
    except Exception as error:
        return error


def _load(file: str) -> Array:
    try:
        return _pixels(file)
    except ImportError:  # Pillow is not installed
        raise
    except Exception as error:
        raise _Refused(f"Unable to load {file}") from error


def _pixels(file: str) -> Array:
    """The values of an image as Pillow gives them; grey and palette PNG files are decoded in the native core."""
    if file.lower().endswith(".png"):
        try:
            opened = open_map(file)
            # Palettes (3) and grey (0), but not of 2 and 4 bits, which Pillow stretches to 255.
            bits, colour = opened.data[24:26] if isinstance(opened, PngFile) else (0, 0)
            if colour == 3 or (colour == 0 and bits in (1, 8, 16)):
                return opened.map()
        except InputError:
            pass  # Pillow reads more than the core does, such as palettes with transparent colours
    from PIL import Image

    with Image.open(file) as image:
        grid = np.asarray(image)
    return as_grid(grid.astype(np.uint8) if grid.dtype == bool else grid, file)  # Pillow's True has the byte 255


def _cells(rows: Array, columns: Array) -> list[tuple[int, int, int]]:
    if rows.shape != columns.shape:
        raise ValueError(f"images of {rows.shape} and {columns.shape} pixels cannot be compared")
    return sorted(zip(*(part.tolist() for part in _native.map_cells(rows, columns)), strict=True))


def _add_pair(
    file: str, pair: _Pair | Exception, matrix: Array, stats: dict[str, Any], per_image: dict[str, Any], args: Any
) -> int:
    if isinstance(pair, _Refused):
        printError(pair)
    if isinstance(pair, Exception):
        raise pair
    for true, predicted, pixels in pair.cells:
        if true not in args.evalLabels:
            printError(f"Unknown label with id {true}")
        matrix[true, predicted] += np.ulonglong(pixels)
    if args.evalInstLevelScore:
        _add_instances(pair.instances, stats, args)
    if args.evalPixelAccuracy:
        # As the package counts them: pixels whose true label is not evaluated, and those of them that differ.
        evaluated = {label for label in args.evalLabels if not id2label[label].ignoreInEval}
        ignored = [cell for cell in pair.cells if cell[0] not in evaluated]
        per_image[file] = {
            "nbNotIgnoredPixels": sum(pixels for _, _, pixels in ignored),
            "nbCorrectPixels": sum(pixels for true, predicted, pixels in ignored if true != predicted),
        }
    return pair.pixels


def _add_instances(cells: list[tuple[int, int, int]], stats: dict[str, Any], args: Any) -> None:
    """Add the instances of an image by their ids, each weighted by the mean size of its class over its own."""
    instances: dict[int, dict[int, int]] = {}
    for instance, predicted, pixels in cells:
        if instance > 1000:
            instances.setdefault(instance, {})[predicted] = pixels
    for instance, counts in instances.items():
        label = id2label[instance // 1000]
        if label.ignoreInEval:
            continue
        size = sum(counts.values())
        weight = args.avgClassSize[label.name] / float(size)
        _add_instance(stats["classes"][label.name], counts.get(label.id, 0), size, weight)
        if label.category in stats["categories"]:
            group = stats["categories"][label.category]
            _add_instance(group, sum(counts.get(number, 0) for number in group["labelIds"]), size, weight)


def _add_instance(sums: dict[str, Any], tp: int, size: int, weight: float) -> None:
    sums["tp"] += tp
    sums["fn"] += size - tp
    sums["tpWeighted"] += float(tp) * weight
    sums["fnWeighted"] += float(size - tp) * weight


def main() -> None:
    """Evaluate the images that the arguments name, or those that `args.groundTruthSearch` finds."""
    truth: list[str] = []
    predicted: list[str] = []
    if len(sys.argv) > 4:
        for argument in sys.argv[1:]:
            if "gt" in argument or "groundtruth" in argument:
                truth.append(argument)
            elif "pred" in argument:
                predicted.append(argument)
    elif len(sys.argv) == 1:
        truth = glob.glob(args.groundTruthSearch)
        if not truth:
            printError(
                f"Cannot find any ground truth images to use for evaluation. Searched for: {args.groundTruthSearch}"
            )
        predicted = [getPrediction(args, file) for file in truth]
    evaluateImgLists(predicted, truth, args)


if __name__ == "__main__":
    main()
