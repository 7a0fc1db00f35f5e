"""Checks: each finding on data that has the fault and only it; none on healthy data; fast, tolerant, described by a schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.paths import ROOT

import steelyard as sy
from steelyard.io.formats.convert import convert
from steelyard.io.formats.format import WriteOptions

jsonschema = lazy("jsonschema")

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes"
SCHEMA = json.loads((ROOT / "src/steelyard/results/schema/check-1.json").read_text())

Data = tuple[dict[str, Any], list[dict[str, Any]]]


def healthy(seed: int, images: int = 60, classes: tuple[int, ...] = (1, 2, 3, 5, 8)) -> Data:
    """A model that is neither good nor bad on drawn pictures: misses, loose boxes, confusions, false alarms."""
    rng = np.random.default_rng(seed)
    width, height = [(640, 480), (1920, 1080), (100, 300)][seed % 3]
    truths: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    whole = seed % 4 == 1
    for image in range(1, images + 1):
        for _ in range(int(rng.poisson(4))):
            size = rng.uniform(0.04, 0.6, 2) * (width, height)
            corner = rng.uniform(0, 1, 2) * ((width, height) - size)
            box = [float(v) for v in np.round([*corner, *size], 0 if whole else 2)]
            label = int(rng.choice(classes))
            if any(t["image_id"] == image and t["category_id"] == label and iou(t["bbox"], box) > 0.7 for t in truths):
                continue
            truth = {
                "id": len(truths) + 1,
                "image_id": image,
                "category_id": label,
                "bbox": box,
                "iscrowd": int(rng.random() < 0.02),
            }
            truth["area"] = box[2] * box[3] * (0.6 if seed % 2 else 1.0)
            truths.append(truth)
            if rng.random() < 0.8:
                moved = np.array(box) + rng.normal(0, 0.06, 4) * [box[2], box[3], box[2], box[3]]
                kind = label if rng.random() < 0.85 else int(rng.choice(classes))
                results.append(result(image, kind, moved, rng.beta(4, 2)))
        for _ in range(int(rng.poisson(6))):
            size = rng.uniform(0.03, 0.5, 2) * (width, height)
            corner = rng.uniform(0, 1, 2) * ((width, height) - size)
            results.append(result(image, int(rng.choice(classes)), np.array([*corner, *size]), rng.beta(1, 6)))
    data = {
        "images": [{"id": i, "width": width, "height": height, "file_name": f"{i}.jpg"} for i in range(1, images + 1)],
        "annotations": truths,
        "categories": [{"id": c, "name": f"kind {c}"} for c in classes],
    }
    return data, results


def result(image: int, label: int, box: Any, score: float) -> dict[str, Any]:
    box = [float(v) for v in box]
    return {
        "image_id": image,
        "category_id": label,
        "bbox": [box[0], box[1], abs(box[2]), abs(box[3])],
        "score": float(max(score, 0.001)),
    }


def iou(a: Any, b: Any) -> float:
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(w, 0) * max(h, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


@pytest.mark.parametrize("seed", range(36))
def test_healthy_data_give_no_error_and_no_warning(seed: int) -> None:
    truth, results = healthy(seed)
    report = sy.check("boxes", truth, results)
    assert report.ok
    assert not report.warnings, report
    alone = sy.check("boxes", truth)
    assert not alone.findings, alone


@pytest.mark.parametrize(("classes", "images"), [((1,), 60), (tuple(range(1, 81)), 200), ((0,), 40), ((7, 9), 25)])
def test_healthy_data_of_other_shapes(classes: tuple[int, ...], images: int) -> None:
    for seed in range(3):
        truth, results = healthy(seed, images, classes)
        report = sy.check("boxes", truth, results)
        assert not report.errors, report
        assert not {f.code for f in report.warnings} - {"classes-without-predictions"}, report


@pytest.mark.parametrize("model", ["model_a.json", "model_b.json"])
def test_samples_are_healthy(model: str) -> None:
    report = sy.check("boxes", SAMPLE / "truth.json", SAMPLE / model)
    assert not report.errors
    assert not report.warnings


def test_large_objects_in_every_image_are_not_corners() -> None:
    """Objects that fill their image are wider than they are far from its edge, and no corners for it."""
    rng = np.random.default_rng(0)
    truth, _ = healthy(0)
    truth["annotations"] = []
    for i in range(1, 61):
        x, y = rng.uniform(0, 60, 2)
        truth["annotations"].append(
            {"id": i, "image_id": i, "category_id": 1, "bbox": [x, y, 560 - x, 400 - y], "area": 1000.0, "iscrowd": 0}
        )
    assert not sy.check("boxes", truth).findings
    for image in truth["images"]:
        del image["width"], image["height"]
    assert not sy.check("boxes", truth).findings


# Faults: what is done to healthy data, the finding, its severity and side, and how many it must count.
def each(rows: str) -> Callable[[Data], Any]:
    return lambda data: data[0]["annotations"] if rows == "truth" else data[1]


def change(side: str, edit: Callable[[dict[str, Any]], Any], every: int = 1) -> Callable[[Data], int]:
    def apply(data: Data) -> int:
        rows = (data[0]["annotations"] if side == "truth" else data[1])[::every]
        for row in rows:
            edit(row)
        return len(rows)

    return apply


def corners(row: dict[str, Any]) -> None:
    x, y, w, h = row["bbox"]
    row["bbox"] = [max(x, 0), max(y, 0), max(x, 0) + w, max(y, 0) + h]


def centre(row: dict[str, Any]) -> None:
    x, y, w, h = row["bbox"]
    row["bbox"] = [x + w / 2, y + h / 2, w, h]


def fractions(row: dict[str, Any]) -> None:
    x, y, w, h = row["bbox"]
    row["bbox"] = [min(max(x / 640, 0), 1), min(max(y / 480, 0), 1), 0.0 if x > 640 else w / 1280, h / 960]


def twice(data: Data) -> int:
    data[1].extend(copy.deepcopy(data[1]))
    return len(data[1]) // 2


def copy_truth(data: Data) -> int:
    copies = [
        dict(t, id=10_000 + i, bbox=[v + 0.01 for v in t["bbox"]])
        for i, t in enumerate(data[0]["annotations"][:4])
        if not t["iscrowd"]
    ]
    data[0]["annotations"].extend(copies)
    return len(copies)


def last_images(data: Data) -> int:
    data[1][:] = [r for r in data[1] if r["image_id"] <= 50]
    return len({t["image_id"] for t in data[0]["annotations"] if t["image_id"] > 50})


def no_class(data: Data) -> int:
    data[1][:] = [r for r in data[1] if r["category_id"] != 3]
    return 1


def crowd_of_boxes(data: Data) -> int:
    rng = np.random.default_rng(1)
    data[1].extend(
        [dict(r, bbox=[v + rng.uniform(0, 0.2) for v in r["bbox"]], score=r["score"] * 0.9) for r in data[1]]
    )
    return -1


def over_limit(data: Data) -> int:
    rng = np.random.default_rng(1)
    have = sum(r["image_id"] == 1 and r["category_id"] == 1 for r in data[1])
    data[1].extend(result(1, 1, [*rng.uniform(0, 300, 2), 40, 40], 0.001 + i * 1e-6) for i in range(120))
    return have + 20


FAULTS: dict[str, tuple[Callable[[Data], int], str, str, str]] = {
    "unknown image of the truth": (change("truth", lambda r: r.update(image_id=999), 10), "unknown-image", "error", "truth"),
    "unknown class of the truth": (change("truth", lambda r: r.update(category_id=99), 10), "unknown-class", "error", "truth"),
    "unknown image": (change("predictions", lambda r: r.update(image_id=999), 10), "unknown-image", "error", "predictions"),
    "unknown class": (change("predictions", lambda r: r.update(category_id=99), 10), "unknown-class", "error", "predictions"),
    "ids as texts": (change("predictions", lambda r: r.update(image_id=f"im{r['image_id']}")), "unknown-image", "error", "predictions"),
    "duplicate image": (lambda d: d[0]["images"].append(d[0]["images"][0]) or 1, "duplicate-image-id", "error", "truth"),
    "duplicate class": (lambda d: d[0]["categories"].append({"id": 1, "name": "again"}) or 1, "duplicate-class-id", "error", "truth"),
    "duplicate annotation": (lambda d: d[0]["annotations"][3].update(id=1) or 1, "duplicate-box-id", "error", "truth"),
    "id zero": (lambda d: d[0]["annotations"][3].update(id=0) or 1, "id-zero", "note", "truth"),
    "names alike": (lambda d: d[0]["categories"][1].update(name="Kind_1 ") or 2, "class-names", "warning", "truth"),
    "outside": (change("truth", lambda r: r.update(bbox=[600, 100, 100, 50], area=5000.0), 50), "outside-image", "warning", "truth"),
    "off the image": (change("truth", lambda r: r.update(bbox=[700, 100, 50, 50], area=2500.0), 50), "off-image", "error", "truth"),
    "predictions off the image": (change("predictions", lambda r: r.update(bbox=[-90, 10, 50, 50]), 50), "off-image", "warning", "predictions"),
    "truth as corners": (change("truth", corners), "corners-as-size", "error", "truth"),
    "predictions as corners": (change("predictions", corners), "corners-as-size", "error", "predictions"),
    "centres": (change("predictions", centre), "centres-as-corners", "error", "predictions"),
    "axes": (change("predictions", lambda r: r.update(bbox=[r["bbox"][i] for i in (1, 0, 3, 2)])), "axes-exchanged", "error", "predictions"),
    "truth as fractions": (change("truth", fractions), "fractions", "error", "truth"),
    "predictions as fractions": (change("predictions", fractions), "fractions", "error", "predictions"),
    "percent": (change("predictions", lambda r: r.update(score=r["score"] * 100)), "score-range", "error", "predictions"),
    "logits": (change("predictions", lambda r: r.update(score=np.log(r["score"] / (1.001 - r["score"])))), "score-range", "error", "predictions"),
    "one score": (change("predictions", lambda r: r.update(score=1.0)), "score-constant", "warning", "predictions"),
    "cut": (lambda d: d[1].__setitem__(slice(None), [r for r in d[1] if r["score"] >= 0.3]) or len(d[1]), "score-cut", "warning", "predictions"),
    "rounded": (change("predictions", lambda r: r.update(score=round(r["score"], 1))), "score-ties", "note", "predictions"),
    "classes from zero": (change("predictions", lambda r: r.update(category_id=r["category_id"] - 1)), "classes-shifted", "error", "predictions"),
    "classes one up": (change("predictions", lambda r: r.update(category_id=r["category_id"] + 1)), "classes-shifted", "error", "predictions"),
    "places for ids": (change("predictions", lambda r: r.update(category_id=[1, 2, 3, 5, 8].index(r["category_id"]))), "classes-shifted", "error", "predictions"),
    "images one up": (change("predictions", lambda r: r.update(image_id=r["image_id"] % 60 + 1)), "images-shifted", "error", "predictions"),
    "the last images": (last_images, "images-without-predictions", "warning", "predictions"),
    "a class": (no_class, "classes-without-predictions", "warning", "predictions"),
    "no width": (change("truth", lambda r: r["bbox"].__setitem__(2, 0), 40), "zero-area", "warning", "truth"),
    "no height": (change("predictions", lambda r: r["bbox"].__setitem__(3, 0), 40), "zero-area", "warning", "predictions"),
    "twins": (copy_truth, "near-duplicates", "warning", "truth"),
    "areas too large": (change("truth", lambda r: r.update(area=r["bbox"][2] * r["bbox"][3] * 3 + 9), 9), "area", "warning", "truth"),
    "crowds": (change("truth", lambda r: r.update(iscrowd=1), 2), "crowds", "warning", "truth"),
    "joined twice": (twice, "repeated", "error", "predictions"),
    "no suppression": (crowd_of_boxes, "no-suppression", "warning", "predictions"),
    "many detections": (over_limit, "over-limit", "note", "predictions"),
    "no size": (lambda d: d[0]["images"][4].update(width=0) or 1, "image-size", "error", "truth"),
    "negative width": (change("truth", lambda r: r["bbox"].__setitem__(2, -5), 30), "negative-size", "error", "truth"),
    "negative height": (change("predictions", lambda r: r["bbox"].__setitem__(3, -5), 30), "negative-size", "error", "predictions"),
    "score is a text": (change("predictions", lambda r: r.update(score="high"), 30), "broken-record", "error", "predictions"),
    "no box": (change("truth", lambda r: r.pop("bbox"), 30), "broken-record", "error", "truth"),
    "other pictures": (change("predictions", lambda r: r.update(bbox=[v * 0.31 for v in r["bbox"]])), "nothing-fits", "warning", "predictions"),
    "the truth itself": (lambda d: d[1].extend(result(t["image_id"], t["category_id"], t["bbox"], 0.97) for t in d[0]["annotations"]) or -1, "copies-of-truth", "warning", "predictions"),
    "a class without truth": (lambda d: d[0]["categories"].append({"id": 77, "name": "x"}) or d[1].append(result(1, 77, [1, 1, 20, 20], 0.2)) or 1, "classes-without-truth", "note", "predictions"),
}  # fmt: skip

ALSO = {  # what a fault brings with it, and may be said too
    "unknown image of the truth": {"images-without-predictions"},
    "the last images": set(),
    "ids as texts": {"images-without-predictions"},
    "classes from zero": {"unknown-class", "classes-without-predictions"},
    "classes one up": {"unknown-class", "classes-without-predictions"},
    "places for ids": {"unknown-class", "classes-without-predictions"},
    "duplicate image": set(),
    "one score": set(),
    "outside": {"near-duplicates"},
    "off the image": {"near-duplicates"},
    "crowds": set(),
    "unknown class of the truth": set(),
    "no suppression": set(),
    "predictions as fractions": {"zero-area"},
}


@cache
def without_fault() -> Data:
    data = healthy(3)
    assert not sy.check("boxes", *data).warnings
    return data


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    apply, code, severity, side = FAULTS[name]
    data = copy.deepcopy(without_fault())
    count = apply(data)
    report = sy.check("boxes", *data)
    assert code in report, report
    finding = next(f for f in report.findings if f.code == code and f.side == side)
    assert finding.severity == severity
    assert finding.what
    assert finding.remedy
    assert finding.examples
    assert len(finding.examples) <= 3
    if count >= 0 and code not in (
        "corners-as-size",
        "centres-as-corners",
        "axes-exchanged",
        "classes-shifted",
        "images-shifted",
        "score-range",
        "score-ties",
        "nothing-fits",
        "over-limit",
        "crowds",
    ):
        assert finding.count == count
    others = {f.code for f in report.errors + report.warnings} - {code}
    assert not others - ALSO.get(name, set()), report
    jsonschema.validate(report.to_dict(), SCHEMA)


def test_files_that_stand_twice(tmp_path: Path) -> None:
    text = "<annotation><filename>same.jpg</filename><size><width>9</width><height>9</height></size></annotation>"
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text(text)
    (tmp_path / "c.xml").write_text(text.replace("same", "other"))
    report = sy.check("boxes", tmp_path)
    assert report["same-file"].count == 2
    assert report["empty-images"].count == 3


def test_federated_truth_is_named() -> None:
    truth, results = healthy(3)
    for image in truth["images"]:
        image |= {"neg_category_ids": [], "not_exhaustive_category_ids": []}
    report = sy.check("boxes", truth, results)
    assert report["federated"].severity == "note"
    assert not report.warnings


def test_same_findings_from_files_and_memory(tmp_path: Path) -> None:
    for name in ("twins", "predictions as corners", "negative height", "classes from zero"):
        data = copy.deepcopy(healthy(3))
        FAULTS[name][0](data)
        (tmp_path / "t.json").write_text(json.dumps(data[0]))
        (tmp_path / "p.json").write_text(json.dumps(data[1]))
        files = sy.check("boxes", tmp_path / "t.json", tmp_path / "p.json")
        memory = sy.check("boxes", *data)
        assert [(f.code, f.count) for f in files.findings] == [(f.code, f.count) for f in memory.findings]


@pytest.mark.parametrize("target", ["voc", "yolo", "cvat", "csv", "lvis"])
def test_every_format_is_checked(target: str, tmp_path: Path) -> None:
    truth, results = healthy(3)
    copy_truth((truth, results))
    for annotation in truth["annotations"]:
        annotation["iscrowd"] = 0
    (tmp_path / "t.json").write_text(json.dumps(truth))
    name = {"voc": "t", "yolo": "t", "cvat": "t.xml", "csv": "t.csv", "lvis": "l.json"}[target]
    convert(tmp_path / "t.json", tmp_path / name, to=target, options=WriteOptions("edges"))
    (tmp_path / "p.json").write_text(json.dumps(results))
    convert(
        tmp_path / "p.json", tmp_path / f"p{name}", to=target, options=WriteOptions("edges"), like=tmp_path / "t.json"
    )
    report = sy.check("boxes", tmp_path / name, tmp_path / f"p{name}", options={"pixels": "edges"})
    assert {f.code for f in report.errors + report.warnings} == {"near-duplicates"}, report
    mixed = sy.check("boxes", tmp_path / "t.json", tmp_path / f"p{name}", options={"pixels": "edges"})
    assert {f.code for f in mixed.errors + mixed.warnings} == {"near-duplicates"}, mixed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ('{"images": [', "not valid JSON"),
        ("[1,2]", "array where an object"),
        ('{"images": []}', "missing"),
    ],
)
def test_unreadable_truth(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    report = sy.check("boxes", tmp_path / "t.json", healthy(1)[1])
    assert report["unreadable"].severity == "error"
    assert says in report["unreadable"].examples[0]
    jsonschema.validate(report.to_dict(), SCHEMA)


def test_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    good = steelyard("check", "boxes", SAMPLE / "truth.json", SAMPLE / "model_a.json")
    assert good.returncode == 0
    assert "Nothing was found" in good.stdout
    data = copy.deepcopy(healthy(3))
    copy_truth(data)
    (tmp_path / "t.json").write_text(json.dumps(data[0]))
    (tmp_path / "p.json").write_text(json.dumps(data[1]))
    warned = steelyard("check", "boxes", "t.json", "p.json", "--json", "-o", "out.json")
    assert warned.returncode == 0
    printed = json.loads(warned.stdout)
    jsonschema.validate(printed, SCHEMA)
    assert json.loads((tmp_path / "out.json").read_text()) == printed
    assert printed["ok"] is True
    for row in data[1]:
        corners(row)
    (tmp_path / "p.json").write_text(json.dumps(data[1]))
    bad = steelyard("check", "boxes", "t.json", "p.json")
    assert bad.returncode == 1
    assert "corners-as-size" in bad.stdout
    assert max(map(len, bad.stdout.splitlines())) <= 80
    assert steelyard("check", "boxes", "none.json").returncode == 1


def test_big_files_are_looked_through_whole() -> None:
    """Half a million detections, of which one appears twice."""
    rng = np.random.default_rng(5)
    n = 500_000
    predictions = {
        "image": rng.integers(0, 5000, n), "label": rng.integers(0, 80, n), "x": rng.uniform(0, 500, n),
        "y": rng.uniform(0, 400, n), "w": rng.uniform(5, 100, n), "h": rng.uniform(5, 100, n), "score": rng.beta(1, 6, n),
    }  # fmt: skip
    for column in predictions.values():
        column[-1] = column[1234]
    truth = {name: column[:40_000] for name, column in predictions.items() if name != "score"}
    report = sy.check("boxes", truth, predictions)
    assert report["repeated"].count == 1
