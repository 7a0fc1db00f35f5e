"""The task's schemas, steps and metrics in one value."""

from __future__ import annotations

from steelyard.core.options import Option
from steelyard.core.task import Task
from steelyard.tasks.boxes.calibration import DetectionCalibrationError, LocalisationCalibrationError
from steelyard.tasks.boxes.counts import (
    F1,
    BestF1,
    FalsePositiveRateCandidate,
    FalsePositiveRateImage,
    FalsePositivesPerImage,
    FBeta,
    LogAverageMissRate,
    MeanIou,
    Precision,
    Recall,
)
from steelyard.tasks.boxes.crowds import CrowdMissRate, JaccardIndex
from steelyard.tasks.boxes.errors import ErrorCost
from steelyard.tasks.boxes.froc import CompetitionMetric, Sensitivity, WeightedAfroc, WeightedAfroc1
from steelyard.tasks.boxes.lrp import OptimalLrp
from steelyard.tasks.boxes.pairs import PREDICTION, TRUTH, join
from steelyard.tasks.boxes.precision import (
    AveragePrecision,
    AverageRecall,
    MeanAveragePrecision,
    MeanAveragePrecision50,
    MeanAveragePrecision75,
)
from steelyard.tasks.boxes.working import PrecisionAt, RecallAt

OPTIONS = (
    Option(
        "format",
        "choice",
        "Format of the files.",
        "auto",
        ("auto", "coco", "lvis", "voc", "yolo", "cvat", "labelstudio", "roboflow", "openimages", "csv"),
        reads=True,
        group="steelyard.formats",
    ),
    Option(
        "images",
        "path",
        "Directory of the images: YOLO needs their sizes, and an HTML report shows thumbnails.",
        metavar="FOLDER",
        reads=True,
    ),
    Option(
        "verified",
        "path",
        "Image-level labels of OpenImages: which classes were verified.",
        metavar="FILE",
        sides=False,
        reads=True,
    ),
    Option("hierarchy", "path", "Class hierarchy of OpenImages.", metavar="FILE", sides=False, reads=True),
    Option(
        "names", "path", "Class names in order: data.yaml, or a file with one per line.", metavar="FILE", reads=True
    ),
    Option(
        "pixels",
        "choice",
        "VOC coordinates: pixels from 1, or pixel edges.",
        "inclusive",
        ("inclusive", "edges"),
        reads=True,
    ),
)

SPELLINGS = {
    "AP50": "map50", "AP75": "map75", "map@0.5": "map50", "map@50": "map50", "map@0.75": "map75", "map@75": "map75",
    "mAP50-95": "map",
    "APs": "map(area=small)", "APm": "map(area=medium)", "APl": "map(area=large)",
    "APr": "map(max_dets=300, frequency=r)", "APc": "map(max_dets=300, frequency=c)",
    "APf": "map(max_dets=300, frequency=f)",
}  # fmt: skip
TASK = Task(
    name="boxes",
    title="Object detection",
    unit="image",
    item="object",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(
        MeanAveragePrecision,
        MeanAveragePrecision50,
        MeanAveragePrecision75,
        AverageRecall,
        AveragePrecision,
        Precision,
        Recall,
        F1,
        FBeta,
        BestF1,
        PrecisionAt,
        RecallAt,
        DetectionCalibrationError,
        LocalisationCalibrationError,
        OptimalLrp,
        Sensitivity,
        CompetitionMetric,
        WeightedAfroc,
        WeightedAfroc1,
        FalsePositiveRateImage,
        FalsePositiveRateCandidate,
        FalsePositivesPerImage,
        MeanIou,
        LogAverageMissRate,
        CrowdMissRate,
        JaccardIndex,
        ErrorCost,
    ),
    defaults=(
        "map",
        "map50",
        "map75",
        "map(area=small)",
        "map(area=medium)",
        "map(area=large)",
        "ar@1",
        "ar@10",
        "ar@100",
        "ap(kind=step)",
        "best_f1",
        "precision",
        "recall",
        "f1",
        "fpr_image",
        "fppi",
        "mean_iou",
    ),
    options=OPTIONS,
    reader="boxes",
    views="steelyard.tasks.boxes.views",
    checks="steelyard.tasks.boxes.checks",
    spellings=SPELLINGS,
)
