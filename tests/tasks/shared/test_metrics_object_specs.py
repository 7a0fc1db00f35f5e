"""Metrics of ellipses, tracks and boxes in space as they are written: examples, names, and what settings may be."""

from __future__ import annotations

from typing import Any

import pytest
from support.made import check_examples
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue

ELLIPSES: dict[str, tuple[tuple[str, str], ...]] = {
    "score": (("score", "Ellipse score (param, t = 5)"),
              ("score(distance=wasserstein)", "Ellipse score (wasserstein, t = 5)")),
    "score_truths": (("score_truths", "Ellipse score over truths (param, t = 5)"),),
    **{
        name: ((name, f"{title} (IoU ≥ 0.8)"), (f"{name}(distance=center)", f"{title} (center ≤ 5)"))
        for name, title in {"precision": "Precision", "recall": "Recall", "f1": "F1"}.items()
    },
    "ap": (("ap", "Average precision (IoU ≥ 0.8, step)"),
           ("ap(iou=0.5:0.95, kind=coco)", "Average precision (IoU ≥ 0.5:0.95, coco)")),
    "detection_rate": (("detection_rate@5", "Detection rate within 5 px"),),
    "mean_distance": (("mean_distance", "Mean distance of pairs (param)"),),
    "mean_iou": (("mean_iou", "Mean IoU of pairs"),),
    "center_error": (("center_error", "Centre error of pairs"),),
    "axis_error": (("axis_error", "Axis error of pairs"),),
    "angle_error": (("angle_error", "Angle error of pairs"),),
}  # fmt: skip
PLAIN = {
    "deta": "DetA", "assa": "AssA", "detre": "DetRe", "detpr": "DetPr", "assre": "AssRe", "asspr": "AssPr", "loca": "LocA",
    "hota_sequence": "HOTA, mean over sequences", "mota": "MOTA", "moda": "MODA", "smota": "sMOTA", "motp": "MOTP",
    "recall": "Recall", "precision": "Precision", "mota_sequence": "MOTA, mean over sequences", "idf1": "IDF1",
    "idp": "IDP", "idr": "IDR", "idsw": "Switches", "fragments": "Fragments", "fp": "False positives", "fn": "Misses",
    "mt": "Mostly tracked", "pt": "Partly tracked", "ml": "Mostly lost", "mtr": "Mostly tracked, share",
    "mlr": "Mostly lost, share", "idsw_per_track": "Switches per track", "fpf": "False positives per frame",
}  # fmt: skip
TRACKING: dict[str, tuple[tuple[str, str], ...]] = {
    "hota": (("hota", "HOTA"), ("hota@0.5", "HOTA at 0.5"), ("hota(over=det)", "HOTA, classes summed")),
    "assa_loss": (("assa_loss", "AssA lost to split"),
                  *((f"assa_loss(part={part})", f"AssA lost to {part}") for part in ("miss", "merge", "extra"))),
    **{name: ((name, title),) for name, title in PLAIN.items()},
}  # fmt: skip
SOLID: dict[str, tuple[tuple[str, str], ...]] = {
    "kitti_ap": (("kitti_ap", "3D"), ("kitti_ap(positions=11, overlap=loose, view=bev)", "BEV R11 loose"),
                 ("kitti_ap(level=easy, view=bbox)", "2D easy"), ("kitti_ap(level=all)", "3D all")),
    "aos": (("aos", "AOS"),),
    "nds": (("nds", "NDS"),),
    "map": (("map", "mAP (centre distance)"), ("map@2.0", "mAP at 2 m")),
    "mate": (("mate", "mATE, translation"),),
    "mase": (("mase", "mASE, scale"),),
    "maoe": (("maoe", "mAOE, orientation"),),
    "mave": (("mave", "mAVE, velocity"),),
    "maae": (("maae", "mAAE, attribute"),),
}  # fmt: skip


def test_examples_and_what_they_are_called() -> None:
    check_examples("ellipses", ELLIPSES)
    check_examples("tracking", TRACKING)
    check_examples("boxes3d", SOLID)


NAMED = {
    ("ellipses", "score(matching=optimal, t=2.5)"): "Ellipse score (param, t = 2.5, optimal pairs)",
    ("ellipses", "score(distance=iou)"): "Ellipse score (iou, t = 0.2)",
    ("ellipses", "score(distance=probiou)"): "Ellipse score (probiou, t = 0.5)",
    ("ellipses", "precision(iou=0.5)"): "Precision (IoU ≥ 0.5)",
    ("ellipses", "recall(distance=hausdorff, t=3.5)"): "Recall (hausdorff ≤ 3.5)",
    ("ellipses", "ap(iou=0.75, kind=voc)"): "Average precision (IoU ≥ 0.75, voc)",
    ("ellipses", "detection_rate@2.5"): "Detection rate within 2.5 px",
    ("ellipses", "mean_distance(within=7)"): "Mean distance of pairs (param ≤ 7)",
    ("ellipses", "mean_iou(within=7.5, distance=center)"): "Mean IoU of pairs (center ≤ 7.5)",
    ("ellipses", "axis_error(axis=major)"): "Axis error of pairs, major",
    ("ellipses", "axis_error(axis=minor, relative=true)"): "Axis error of pairs, minor, relative",
    ("ellipses", "axis_error(relative=true, within=3)"): "Axis error of pairs (param ≤ 3), relative",
    ("tracking", "hota@0.05(label=cow)"): "HOTA, cow at 0.05",
    ("tracking", "mota(label=cow)"): "MOTA, cow",
    ("tracking", "mota(over=det)"): "MOTA, classes summed",
    ("tracking", "assa_loss(part=extra)"): "AssA lost to extra",
    ("boxes3d", "kitti_ap(label=Car)"): "Car 3D",
    ("boxes3d", "kitti_ap(label=Car, level=hard, positions=11, overlap=0.25, view=bev)"): "Car BEV hard R11 0.25",
    ("boxes3d", "aos(label=Car, level=easy)"): "Car AOS easy",
    ("boxes3d", "aos(positions=11)"): "AOS R11",
    ("boxes3d", "map@0.5(label=car)"): "AP at 0.5 m, car",
    ("boxes3d", "map(label=car)"): "AP (centre distance), car",
    ("boxes3d", "nds(label=car)"): "NDS, car",
    ("boxes3d", "mate(label=car)"): "mATE, translation, car",
}


def test_settings_in_names() -> None:
    for task, spec in NAMED:
        assert catalogue.parse(spec, task).label == NAMED[task, spec]


ALLOWED = {
    "ellipses": (
        *(f"score(distance={d})" for d in ("center", "wasserstein", "iou", "hausdorff", "probiou")), "score(t=0)",
        "score(distance=iou, t=0.999)", "score(distance=center, t=1)", "score(matching=optimal)", "score(normalise=true)",
        "score(weights=[1, 0, 0, 0, 0])", "score(weights=[0, 0, 0, 0, 1000000000000])", "score(empty=skip)",
        "score_truths(matching=optimal)", "precision(iou=1)", "precision(iou=1e-09)", "recall(distance=param, t=0)",
        *(f"ap(kind={kind})" for kind in ("voc", "voc11", "coco")), "ap(iou=1)", "ap(iou=0.5:1)", "ap(iou=0.05:0.95)",
        "detection_rate@0", "mean_distance(within=0)", "mean_distance(distance=probiou, within=0.5)",
        *(f"axis_error(axis={axis})" for axis in ("major", "minor")), "angle_error(round=1)", "angle_error(round=1e-09)",
    ),
    "tracking": (
        "hota@0.05", "hota@0.15", "hota@0.95", "hota(over=det)", "mota(iou=1)", "mota(iou=1e-09)", "assa@0.5(over=det)",
        *(f"assa_loss(part={part})" for part in ("miss", "merge", "extra")), "idf1(over=det, iou=0.25)",
    ),
    "boxes3d": (
        *(f"kitti_ap(level={level})" for level in ("easy", "hard", "all")), "kitti_ap(positions=11)",
        *(f"kitti_ap(view={view})" for view in ("bbox", "bev")), "kitti_ap(overlap=loose)", "kitti_ap(overlap=0)",
        "kitti_ap(overlap=1)", "aos(level=hard)", *(f"map@{distance}" for distance in ("0.5", "1.0", "2.0", "4.0")),
    ),
}  # fmt: skip


def test_settings_that_are_taken() -> None:
    for task in ALLOWED:
        for spec in ALLOWED[task]:
            assert str(catalogue.parse(spec, task)) == spec


WEIGHTS = "Give five numbers from 0 up: of xc, yc, theta, a, b. Example: weights=[1, 1, 0.1, 1, 1]."
DISTANCES = "Choose one of: param, center, wasserstein, iou, hausdorff, probiou."
SHARE = "It must be a number above 0 and at most 1."
OF_PAIRS = ("mean_distance", "mean_iou", "center_error", "axis_error", "angle_error")
PAIRED = ("score", "score_truths", "precision", "recall", "f1", *OF_PAIRS)
OF_HOTA = ("hota", "deta", "assa", "detre", "detpr", "assre", "asspr", "loca")
OF_CLEAR = tuple(
    name for name in PLAIN if name not in OF_HOTA and name != "hota_sequence"
)  # fmt: skip
WITHOUT_TRACKEVAL = (
    "mota_sequence",
    "idsw",
    "fragments",
    "fp",
    "fn",
    "mt",
    "pt",
    "ml",
    "fpf",
)  # counts, and means of sequences
REFUSED: list[tuple[str, str, str, str, str]] = [
    *(("ellipses", name, "distance", "far", DISTANCES) for name in PAIRED),
    *(("ellipses", name, "matching", "best", "Choose one of: greedy, optimal.") for name in PAIRED),
    *(("ellipses", name, "normalise", "2", "Choose one of: true, false.") for name in PAIRED),
    *(
        ("ellipses", name, "weights", weights, WEIGHTS)
        for name in PAIRED
        for weights in ("[1, 1, 1, 1]", "[0, 0, 0, 0, 0]", "[1, 1, 1, 1, -1]", "[1, 1, 1, 1, 2000000000000]", "[1, 1, 1, 1, x]", "1")
    ),
    *(("ellipses", name, "t", "-1", "It must be a number from 0 up.") for name in ("score", "score_truths")),
    *(("ellipses", name, "within", "-1", "It must be a number from 0 up.") for name in OF_PAIRS),
    ("ellipses", "score", "empty", "zero", "Choose one of: one, skip."),
    *(("ellipses", name, "iou", iou, SHARE) for name in ("precision", "recall", "f1", "ap") for iou in ("0", "1.1")),
    *(("ellipses", "ap", "iou", iou, "It must be above 0, up to 1.") for iou in ("0.5:1.5", "0.0:0.5")),
    ("ellipses", "ap", "kind", "roc", "Choose one of: step, voc, voc11, coco."),
    ("ellipses", "detection_rate", "pixels", "-1", "It must be a number from 0 up."),
    ("ellipses", "axis_error", "axis", "long", "Choose one of: both, major, minor."),
    ("ellipses", "axis_error", "relative", "2", "Choose one of: true, false."),
    *(("ellipses", "angle_error", "round", value, SHARE) for value in ("0", "1.5")),
    *(
        ("tracking", name, "over", "video", f"Choose one of: class_mean, det{'' if name in WITHOUT_TRACKEVAL else ', trackeval'}.")
        for name in (*OF_HOTA, *OF_CLEAR)
    ),
    *(("tracking", name, "iou", iou, SHARE) for name in OF_CLEAR for iou in ("0", "1.5")),
    ("tracking", "assa_loss", "part", "all", "Choose one of: split, miss, merge, extra."),
    ("tracking", "assa_loss", "over", "all", "Choose one of: class_mean, det."),
    ("tracking", "hota_sequence", "over", "all", "Choose one of: class_mean, det."),
    *(("boxes3d", name, "level", "any", "Choose one of: easy, moderate, hard, all.") for name in ("kitti_ap", "aos")),
    *(("boxes3d", name, "positions", "41", "Choose one of: 11, 40.") for name in ("kitti_ap", "aos")),
    *(("boxes3d", name, "overlap", "half", "It must be a number from 0 to 1, or one of: strict, loose.") for name in ("kitti_ap", "aos")),
    *(
        ("boxes3d", name, "overlap", value, "It must be a number from 0 to 1, or one of: strict, loose.")
        for name in ("kitti_ap", "aos")
        for value in ("-0.5", "1.5")
    ),
    ("boxes3d", "kitti_ap", "view", "top", "Choose one of: bbox, bev, 3d."),
    ("boxes3d", "map", "distance", "3", "Choose one of: none, 0.5, 1.0, 2.0, 4.0."),
]  # fmt: skip


def test_settings_that_are_refused() -> None:
    for task, name, setting, given, remedy in REFUSED:
        with pytest.raises(sy.InputError) as raised:
            catalogue.parse(f"{name}({setting}={given})", task)
        assert str(raised.value) == f"metric '{name}': {setting} cannot be {given}. {remedy}"


APART: list[tuple[Any, ...]] = [
    *(("tracking", f"{name}@0.07",
       ("E-invalid-spec", f"'{name}'", "0.07"))
      for name in OF_HOTA),
    ("tracking", "hota@0.0", ("E-invalid-spec", "'hota'", "0")),
    ("ellipses", "score(distance=iou, t=1)",
     ("E-invalid-spec", "'score'", "distance=iou", "t=1")),
    ("ellipses", "mean_iou(distance=probiou, within=1)",
     ("E-invalid-spec", "'mean_iou'", "distance=probiou", "within=1")),
    ("ellipses", "f1(t=0.5)", ("E-invalid-spec", "'f1'")),
    ("ellipses", "recall(iou=0.5, distance=center)",
     ("E-invalid-spec", "'recall'", "iou", "distance=center")),
]  # fmt: skip


def test_settings_that_do_not_go_together() -> None:
    for task, spec, said in APART:
        with refuses(*said):
            catalogue.parse(spec, task)
