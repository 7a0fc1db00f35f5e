"""Metrics of boxes as they are written: examples, what each setting may be, and what is said of another value."""

from __future__ import annotations

from typing import Any

import pytest
from support.made import check_examples
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue

AREAS = ("small", "medium", "large")
MAP = (("map", "mAP, IoU 0.5:0.95"), *((f"map(area={a})", f"mAP, IoU 0.5:0.95, {a} objects") for a in AREAS))
KINDS = ("ap", "ap(kind=voc)", "ap(kind=voc11)", "ap(kind=step)")
ERRORS = {
    "dap(error=cls)": "wrong class", "dap": "loose box", "dap(error=both)": "wrong class and loose box",
    "dap(error=dupe)": "found twice", "dap(error=bkg)": "on background", "dap(error=miss)": "missed",
    "dap(error=fp)": "all false positives", "dap(error=fn)": "all misses",
}  # fmt: skip
AT_SCORE = {"precision": "Precision", "recall": "Recall (true positive rate)", "f1": "F1"}
LRP = {
    "olrp": "Optimal LRP error", "olrp(part=loc)": "Optimal LRP error, localisation",
    "olrp(part=fp)": "Optimal LRP error, false positives", "olrp(part=fn)": "Optimal LRP error, misses",
}  # fmt: skip
BOXES: dict[str, tuple[tuple[str, str], ...]] = {
    "map": MAP,
    "map50": (("map50", "mAP, IoU 0.5"),),
    "map75": (("map75", "mAP, IoU 0.75"),),
    "ar": (
        ("ar@10", "Average recall, 10 detections"), ("ar@100", "Average recall, 100 detections"),
        *((f"ar@100(area={a})", f"Average recall, 100 detections, {a} objects") for a in AREAS),
    ),
    "ap": tuple((spec, "Average precision") for spec in (*KINDS, "ap(kind=voc11, rule=voc)")),
    **{
        name: (
            (name, f"{title}, IoU 0.5, score 0.5"), (f"{name}(iou=0.5:0.95)", f"{title}, IoU 0.5:0.95, score 0.5"),
        )
        for name, title in AT_SCORE.items()
    },
    "fbeta": (("fbeta", "F2, IoU 0.5, score 0.5"),),
    "best_f1": (("best_f1", "Best F1 over score thresholds"),),
    "precision_at": (("precision_at", "Precision at recall 0.5, IoU 0.5"),),
    "recall_at": (("recall_at", "Recall at precision 0.9, IoU 0.5"),),
    "dece": (("dece", "Detection calibration error"),),
    "laece": (("laece", "Localisation-aware calibration error"),),
    "olrp": tuple(LRP.items()),
    "sensitivity": (("sensitivity@1.0", "Sensitivity at 1 false positives per image"),),
    "cpm": (("cpm", "FROC: mean sensitivity (CPM)"),),
    "wafroc": (("wafroc", "wAFROC area"),),
    "wafroc1": (("wafroc1", "wAFROC1 area"),),
    "fpr_image": (("fpr_image", "False positive rate by image"),),
    "fpr_candidate": (("fpr_candidate", "False positive rate by candidate"),),
    "fppi": (("fppi", "False positives per image"),),
    "mean_iou": (("mean_iou", "Mean IoU of the matched"),),
    "lamr": (("lamr", "Log-average miss rate"),),
    "mr2": (("mr2", "MR-2 (CrowdHuman)"),),
    "ji": (("ji", "Jaccard index (CrowdHuman)"),),
    "dap": tuple((spec, f"AP lost: {what}") for spec, what in ERRORS.items()),
}  # fmt: skip
ORIENTED = {name: shown for name, shown in BOXES.items() if name not in ("mr2", "ji")} | {
    "ap": tuple(
        (spec, "Average precision") for spec in (*KINDS, "ap(kind=voc11, rule=dota)", "ap(kind=voc, rule=dota)")
    ),
}
POINTS = {
    name: tuple((spec, label.replace("IoU", "OKS")) for spec, label in shown)
    for name, shown in BOXES.items()
    if name not in ("ar", "laece", "sensitivity", "cpm", "wafroc", "wafroc1", "mean_iou", "mr2", "ji")
} | {
    "ar": (
        ("ar@20", "Average recall, 20 detections"),
        *((f"ar@20(area={a})", f"Average recall, 20 detections, {a} objects") for a in AREAS[1:]),
    ),
    "mean_oks": (("mean_oks", "Mean OKS of the matched"),),
}  # fmt: skip


def test_examples_and_what_they_are_called() -> None:
    check_examples("boxes", BOXES)
    check_examples("masks", BOXES)
    check_examples("oriented", ORIENTED)
    check_examples("keypoints", POINTS)


NAMED = {
    "map(iou=0.5)": "mAP, IoU 0.5",
    "map(area=[0, 100])": "mAP, IoU 0.5:0.95, area 0 to 100",
    "map(frequency=r)": "mAP, IoU 0.5:0.95, rare classes",
    "map(frequency=c)": "mAP, IoU 0.5:0.95, common classes",
    "map(frequency=f)": "mAP, IoU 0.5:0.95, frequent classes",
    "map(classes=[cat, 7])": "mAP, IoU 0.5:0.95, 'cat', '7'",
    "map(classes=cat)": "mAP, IoU 0.5:0.95, 'cat'",
    "map50(area=small, frequency=c)": "mAP, IoU 0.5, small objects, common classes",
    "map75(classes=[cat])": "mAP, IoU 0.75, 'cat'",
    "ar@7(area=[10, 20.5])": "Average recall, 7 detections, area 10 to 20.5",
    "precision(score=0.25, label=dog)": "Precision of dog, IoU 0.5, score 0.25",
    "fbeta(beta=0.5)": "F0.5, IoU 0.5, score 0.5",
    "precision_at(recall=0.75, label=dog)": "Precision of dog at recall 0.75, IoU 0.5",
    "recall_at(iou=0.75)": "Recall at precision 0.9, IoU 0.75",
    "sensitivity@0.125": "Sensitivity at 0.125 false positives per image",
}


def test_settings_in_names() -> None:
    for spec in NAMED:
        assert catalogue.parse(spec, "boxes").label == NAMED[spec]


ALLOWED = (
    *(f"ap(kind={kind})" for kind in ("voc", "voc11", "step")),
    *(f"ap(rule={rule})" for rule in ("voc", "dota", "openimages", "openimages_v2")),
    *(f"map(kind={kind})" for kind in ("voc", "voc11", "step")),
    "map(iou=1)", "map(iou=1e-09)", "map(iou=0.5:0.9)", "map(area=[0, 0])", "map(area=[3, 9.5])",
    "map(max_dets=1)", "map(max_dets=65535)", "map(frequency=r)", "map(frequency=c)", "map(frequency=f)",
    "map(classes=[a, 1])", "map50(max_dets=1)", "map75(area=large)", "ar@1", "ar@65535", "f1(score=-1e+300)",
    "f1(score=1e+300)", "fbeta(beta=0)", "fbeta(beta=1000000)", "dece(bins=1)", "dece(bins=1000)", "dece(edges=right)",
    "laece(edges=left)", "laece(tau=0)", "laece(tau=0.999)", "olrp(tau=1e-06)", "olrp(tau=0.999)", "sensitivity@1e-06",
    "sensitivity@1000000", "cpm(repeats=wrong)", "precision_at(recall=1e-09)", "precision_at(recall=1)",
    "recall_at(precision=1)", "dap(background=0)", "dap(background=1)", "fpr_image(score=2)", "mean_iou(score=-1)",
)  # fmt: skip


def test_settings_that_are_taken() -> None:
    for spec in ALLOWED:
        assert str(catalogue.parse(spec, "boxes")) == spec


OF_IOU = "Give a number above 0 and at most 1, or a range of at most 32: 0.5:0.95."
OF_MOST = "It must be a whole number from 1 to 65535."
OF_AREA = "Choose one of all, small, medium, large, or two ends in square pixels: [0, 1024]."
OF_KIND = "Choose one of: coco, voc, voc11, step, loop."
OF_SCORE = "It must be a number from -1e+300 to 1e+300."
WITH_IOU = (
    "ap", "map", "ar", "precision", "recall", "f1", "fbeta", "best_f1", "precision_at", "recall_at", "dece", "sensitivity",
    "cpm", "wafroc", "wafroc1", "fpr_candidate", "fppi", "mean_iou", "lamr", "mr2", "ji", "dap",
)  # fmt: skip
WITH_MOST = (
    "ap", "map", "map50", "map75", "ar", "precision", "recall", "f1", "fbeta", "best_f1", "precision_at", "recall_at",
    "dece", "laece", "olrp", "sensitivity", "cpm", "fpr_candidate", "fppi", "mean_iou", "lamr", "mr2",
)  # fmt: skip
WITH_SCORE = ("precision", "recall", "f1", "fbeta", "fpr_image", "fpr_candidate", "fppi", "mean_iou")
WITH_AREA = ("ap", "map", "map50", "map75", "ar")
WITH_GROUP = ("map", "map50", "map75")
REFUSED: list[tuple[str, str, str, str, str]] = [
    *((name, "iou", value, value, OF_IOU) for name in WITH_IOU for value in ("0", "1.01", "true", "0.5:1.5")),
    *((name, "max_dets", value, value, OF_MOST) for name in WITH_MOST for value in ("0", "65536", "1.5", "true")),
    *((name, "score", value, value, OF_SCORE) for name in WITH_SCORE for value in ("high", "true")),
    *(
        (name, "area", value, value, OF_AREA)
        for name in WITH_AREA
        for value in ("tiny", "[1]", "[1, 2, 3]", "[-1, 2]", "[2, 1]", "[a, b]", "5")
    ),
    *((name, "frequency", "x", "x", "Choose one of: r, c, f, none.") for name in WITH_GROUP),
    *((name, "classes", "[]", "()", "Give [name, name].") for name in WITH_GROUP),
    ("map", "classes", "[1.5]", "(1.5,)", "Give [name, name]."),
    ("map", "classes", "1.5", "1.5", "Give [name, name]."),
    ("map", "iou", "0.01:0.33:0.01", "0.01:0.33:0.01", OF_IOU),
    ("ap", "kind", "roc", "roc", OF_KIND),
    ("map", "kind", "roc", "roc", OF_KIND),
    ("ap", "rule", "none", "none", "Choose one of: coco, voc, dota, openimages, openimages_v2."),
    ("fbeta", "beta", "-0.5", "-0.5", "It must be a number from 0 to 1e+06."),
    ("fbeta", "beta", "1000001", "1000001", "It must be a number from 0 to 1e+06."),
    *(("dece", "bins", value, value, "It must be a whole number from 1 to 1000.") for value in ("0", "1001")),
    *((name, "bins", "1.5", "1.5", "It must be a whole number from 1 to 1000.") for name in ("dece", "laece")),
    *((name, "edges", "both", "both", "Choose one of: left, right.") for name in ("dece", "laece")),
    *(("laece", "tau", value, value, "It must be a number from 0 to 0.999.") for value in ("-0.1", "1")),
    *(("olrp", "tau", value, value, "It must be a number from 1e-06 to 0.999.") for value in ("0", "1")),
    ("olrp", "part", "tp", "tp", "Choose one of: all, loc, fp, fn."),
    *(("sensitivity", "fppi", value, value, "It must be a number from 1e-06 to 1e+06.") for value in ("0", "1000001")),
    *((name, "repeats", "right", "right", "Choose one of: ignore, wrong.") for name in ("sensitivity", "cpm")),
    *(("precision_at", "recall", value, value, "It must be a number from 1e-09 to 1.") for value in ("0", "1.5")),
    *(("recall_at", "precision", value, value, "It must be a number from 1e-09 to 1.") for value in ("0", "1.5")),
    ("dap", "error", "tp", "tp", "Choose one of: cls, loc, both, dupe, bkg, miss, fp, fn."),
    *(("dap", "background", value, value, "It must be a number from 0 to 1.") for value in ("-0.1", "1.1")),
]


def test_settings_that_are_refused() -> None:
    for name, setting, given, shown, remedy in REFUSED:
        with pytest.raises(sy.InputError) as raised:
            catalogue.parse(f"{name}({setting}={given})", "boxes")
        assert str(raised.value) == f"metric '{name}': {setting} cannot be {shown}. {remedy}"


def test_classes_are_named_once() -> None:
    for name in ("map", "map50", "map75"):
        with refuses("E-conflict", f"'{name}(frequency=r, classes=[a])'"):
            catalogue.parse(f"{name}(frequency=r, classes=[a])", "boxes")


def test_a_range_of_as_many_thresholds_as_are_taken() -> None:
    assert str(catalogue.parse("map(iou=0.01:0.32:0.01)", "boxes")) == "map(iou=0.01:0.32:0.01)"


OTHER_CLASSES: list[tuple[Any, ...]] = [
    ("precision(label=dgo)", ("E-unknown-name", "'dgo'", "'dog'")),
    ("precision_at(label=dgo)", ("E-unknown-name", "'dgo'", "'dog'")),
    ("ap(label=dgo)", ("E-unknown-name", "'dgo'", "'dog'")),
    ("map(classes=[cat, dgo])", ("E-unknown-name", "'dgo'", "'dog'")),
    (
        "map(frequency=r)",
        ("E-missing-key", "'frequency'"),
    ),
]


def test_classes_that_are_not_there() -> None:
    for spec, said in OTHER_CLASSES:
        truth = {
            "image": ["i", "i"], "label": ["cat", "dog"], "x": [0.0, 9], "y": [0.0, 0], "w": [5.0, 5], "h": [5.0, 5],
        }  # fmt: skip
        with refuses(*said):
            sy.evaluate("boxes", truth, {**truth, "score": [0.5, 0.5]}, [spec], confidence=None)


def test_what_other_names_mean() -> None:
    for spelling, spec in {
        "mAP": "map", "mAP50": "map50", "AP50": "map50", "mAP75": "map75", "AP75": "map75", "APs": "map(area=small)",
        "APm": "map(area=medium)", "APl": "map(area=large)", "tpr": "recall", "fpr": "fpr_image",
    }.items():  # fmt: skip
        assert str(catalogue.parse(spelling, "boxes")) == spec
