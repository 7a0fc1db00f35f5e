"""Checks of every task: each fault is found where it is put in, none in healthy data; evaluation says the quick ones."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.check_faults import classified, every_fault, healthy, texts
from support.drawn import DRAW
from support.lazy import lazy
from support.paths import ROOT
from support.refusal import check_names

import steelyard as sy
from steelyard.checks.catalogue import ALL, checks_of
from steelyard.core import catalogue

jsonschema = lazy("jsonschema")

SAMPLES = ROOT / "src" / "steelyard" / "samples"
SCHEMA = json.loads((ROOT / "src/steelyard/results/schema/check-1.json").read_text())
TASKS = catalogue.built_in()


FAULTS = every_fault()
CASES = [(task, name) for task, faults in FAULTS.items() for name in faults]


@cache
def checked(task: str) -> tuple[list[Any], Any]:
    """Healthy data, and what the checks say of them."""
    data = list(healthy(task))
    return data, sy.check(task, *data)


@pytest.mark.parametrize(("task", "name"), CASES, ids=[f"{task}: {name}" for task, name in CASES])
def test_fault_is_found(task: str, name: str) -> None:
    apply, code, severity = FAULTS[task][name]
    data, before = checked(task)
    assert not before.errors + before.warnings, before
    assert code not in before
    data = copy.deepcopy(data)
    apply(data)
    report = sy.check(task, *data)
    assert code in report, report
    finding = report[code]
    assert finding.severity == severity, report
    assert finding.remedy
    assert 0 < finding.count <= max(finding.total, finding.count)
    jsonschema.validate(report.to_dict(), SCHEMA)
    quick = any(check.name == code and check.quick for check in checks_of(TASKS[task]))
    if quick and severity != "note" and code not in ("ids-differ", "repeated-rows"):
        notes = evaluated(task, data)
        assert any(f"({code})" in note and f'sy.check("{task}"' in note for note in notes), notes


def evaluated(task: str, data: Any, **settings: Any) -> tuple[str, ...]:
    metric = {"labels": "accuracy", "ellipses": "precision", "captions": "bleu@1"}.get(task)
    return sy.evaluate(task, data[0], data[1], metric, confidence=None, **settings).notes


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("model", ["model_a", "model_b"])
def test_samples_are_healthy(task: str, model: str) -> None:
    sample = catalogue.samples()[task]
    truth, given = SAMPLES / task / sample.truth, SAMPLES / task / (sample.a if model == "model_a" else sample.b)
    places = {name: SAMPLES / task / value for name, value in sample.options.items()}
    options = {name: str(path) if path.is_file() else sample.options[name] for name, path in places.items()}
    report = sy.check(task, truth, given, options=options)
    assert not report.errors + report.warnings, report
    assert not sy.check(task, truth, options=options).errors
    notes = evaluated(task, (truth, given), options=options)
    assert not [note for note in notes if "steelyard check" in note]


@pytest.mark.parametrize("task", list(TASKS))
def test_drawn_data_are_healthy(task: str) -> None:
    """No error and no warning for healthy data, of few units and of many."""
    for units, seeds in ((3, 4), (30, 2), (120, 1)):
        for seed in range(seeds):
            truth, given = DRAW[task](np.random.default_rng(1000 * units + seed), units)
            report = sy.check(task, truth, given)
            assert not report.errors + report.warnings, (units, seed, report)
            if units < 100:
                assert not [note for note in evaluated(task, (truth, given)) if "sy.check" in note]


def test_every_check_is_tested_and_told_apart() -> None:
    """Names are unique by side, and every finding that a task's own module gives has a fault above or in its own test."""
    elsewhere = {"angles-look-like-radians", "labels-spelt-apart", "true-and-false", "scores-reversed"}
    # tests/tasks/images/test_images.py
    elsewhere |= {"swapped-channels", "shifted-images", "settings-of-a-number", "unused-range", "other-border"}
    elsewhere |= {"values-below-0"}
    # of aligned maps, PNG files and names: tests/tasks/depth
    elsewhere |= {"depth-negative-scale", "depth-png-scale", "depth-frames", "normals-frames"}
    elsewhere |= {"unit-in-name"}  # of names of columns: tests/tasks/nutrients/test_nutrients.py
    elsewhere |= {"extractor-unknown"}  # of all data without one: tests/tasks/distributions/test_distributions.py
    elsewhere |= {  # of whole pages: tests/tasks/documents/test_documents.py
        "single-line-feeds",
        "page-repeated",
        "fences",
        "cut-off",
        "latex-tables",
        "sides-swapped",
        "no-order",
        "empty-replies",
    }
    elsewhere |= {"folds-of-one-kind", "cameras-differ"}  # of folds and cameras: tests/tasks/labels and rankings
    elsewhere |= {"above-the-scale", "unreadable-replies"}  # of replies: tests/tasks/grounding/test_grounding.py
    elsewhere |= {"several-true-boxes"}  # of phrases: tests/tasks/grounding/test_grounding_files.py
    elsewhere |= {"shrunk-masks", "specks"}  # of files and large masks: tests/tasks/anomalies/test_anomalies.py
    elsewhere |= {"empty-masks", "rectangles", "mostly-ignored", "angle-radians", "probiou"}
    elsewhere |= {
        "axes-reversed",
        "spacing-differs",
        "channels-as-labels",
    }  # of files: tests/tasks/volumes/test_volume_formats.py
    for task in TASKS:
        names = [(check.name, check.side) for check in checks_of(TASKS[task])]
        assert len(set(names)) == len(names)
        if task != "boxes":
            tested = {fault[1] for fault in FAULTS.get(task, {}).values()} | elsewhere
            known = {name for name, _ in names} - {"repeated-rows", "ids-differ"}
            assert known <= tested, known - tested
    assert {check.severity for check in ALL} <= {"error", "warning", "note"}


def test_labels_spelt_apart() -> None:
    truth, given = classified(0)
    names = np.array(["bread", "Pasta", "rice soup", "rice"], dtype=object)
    truth["label"], given["label"] = names[truth["label"] - 1], names[given["label"] - 1]
    given = {"id": given["id"], "label": given["label"]}
    assert not sy.check("labels", truth, given).findings
    for change in (str.lower, lambda t: t.replace(" ", "_"), str.upper):
        other = {**given, "label": texts(change)(given["label"])}
        assert sy.check("labels", truth, other)["labels-spelt-apart"].severity == "error"
        assert "labels-spelt-apart" in " ".join(evaluated("labels", (truth, other)))


def test_scores_of_two_classes_reversed() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    score = np.where(label == 1, 0.6, 0.4) + rng.normal(0, 0.1, 200)
    assert not sy.check("labels", {"label": label}, {"score": score}).findings
    assert sy.check("labels", {"label": label}, {"score": -score})["scores-reversed"].severity == "error"
    poor = rng.normal(0, 1, 200)  # a model that knows nothing is not a mistake
    assert not sy.check("labels", {"label": label}, {"score": poor}).findings


def test_angles_of_both_sides_in_radians() -> None:
    truth, given = healthy("ellipses")
    for side in (truth, given):
        side["theta"] = np.radians(side["theta"] % 180)
    report = sy.check("ellipses", truth, given)
    assert report["angles-look-like-radians"].severity == "warning"
    said = sy.check("ellipses", truth, given, options={"angle": "radians"})
    assert not said.errors + said.warnings, said
    level = {**truth, "theta": np.random.default_rng(0).normal(0, 1, len(truth["theta"]))}
    assert not sy.check("ellipses", level).warnings  # almost level, in degrees


def mask_data() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Triangles in 40 images as COCO gives them."""
    rng = np.random.default_rng(1)
    truth: dict[str, Any] = {
        "images": [{"id": i, "width": 100, "height": 80} for i in range(1, 41)],
        "categories": [{"id": 1, "name": "sail"}],
        "annotations": [],
    }
    results = []
    for image in range(1, 41):
        x, y, w, h = *rng.integers(2, 30, 2), *rng.integers(20, 40, 2)
        ring = [float(v) for v in (x, y, x + w, y, x, y + h)]
        box = [float(v) for v in (x, y, w, h)]
        truth["annotations"].append({"id": image, "image_id": image, "category_id": 1, "segmentation": [ring],
                                     "bbox": box, "area": float(w * h / 2), "iscrowd": 0})  # fmt: skip
        moved = [v + float(rng.normal(0, 1)) for v in ring]
        results.append({"image_id": image, "category_id": 1, "segmentation": [moved], "score": float(rng.random())})
    return truth, results


def test_masks() -> None:
    truth, results = mask_data()
    report = sy.check("masks", truth, results)
    assert not report.errors + report.warnings, report
    filled = copy.deepcopy(results)
    for row, annotation in zip(filled, truth["annotations"], strict=True):
        x, y, w, h = annotation["bbox"]
        row["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
    assert sy.check("masks", truth, filled)["rectangles"].severity == "warning"
    bare = copy.deepcopy(results)
    bare[3]["segmentation"] = {"size": [80, 100], "counts": [8000]}
    assert sy.check("masks", truth, bare)["empty-masks"].count == 1
    shifted = copy.deepcopy(results)
    for row in shifted:
        row["category_id"] = 0
    assert "unknown-class" in sy.check("masks", truth, shifted)
    assert sy.check("masks", truth, [{**row, "image_id": row["image_id"] + 100} for row in results]).errors


def boxes_of(change: Callable[[list[float]], list[float]], classes: int = 0) -> Any:
    truth = json.loads((SAMPLES / "boxes" / "truth.json").read_text())
    results = json.loads((SAMPLES / "boxes" / "model_a.json").read_text())
    for row in results:
        row["bbox"] = change(row["bbox"])
        row["category_id"] = row["category_id"] % 4 + 1 if classes else row["category_id"]
    return truth, results


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (boxes_of(lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]), "corners-as-size"),
        (boxes_of(lambda b: [b[0] + b[2] / 2, b[1] + b[3] / 2, b[2], b[3]]), "centres-as-corners"),
        (boxes_of(lambda b: [b[0] / 640, b[1] / 480, b[2] / 640, b[3] / 480]), "fractions"),
        (boxes_of(lambda b: [b[1], b[0], b[3], b[2]]), "axes-exchanged"),
        (boxes_of(lambda b: b, 1), "classes-shifted"),
        (boxes_of(lambda b: [b[0] + 5000, b[1], b[2], b[3]]), "nothing-fits"),
    ],
)
def test_evaluation_says_that_boxes_are_read_wrongly(data: Any, code: str, tmp_path: Path) -> None:
    truth, results = data
    notes = sy.evaluate("boxes", truth, results, "map", confidence=None).notes
    assert [note for note in notes if f"({code})" in note], notes
    (tmp_path / "t.json").write_text(json.dumps(truth))
    (tmp_path / "p.json").write_text(json.dumps(results))
    compared = sy.compare(
        "boxes", tmp_path / "t.json", SAMPLES / "boxes" / "model_a.json", tmp_path / "p.json", "map", draws=100
    )
    assert [n for n in compared.notes if f"({code})" in n and f"steelyard check boxes {tmp_path / 't.json'}" in n]


def test_table_of_checks_is_current() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "make_checks.py", "--check"], check=True)


def test_task_is_needed(steelyard: Callable[..., Any]) -> None:
    with pytest.raises(sy.InputError, match="Name the task first: weights"):
        sy.check("truth.json", "predictions.json")
    old = steelyard("check", SAMPLES / "boxes" / "truth.json", SAMPLES / "boxes" / "model_a.json")
    assert old.returncode == 2
    check_names(old.stderr, "steelyard check TASK")
    good = steelyard("check", "labels", SAMPLES / "labels" / "truth.csv", SAMPLES / "labels" / "model_a.csv")
    assert good.returncode == 0
    assert "Nothing was found" in good.stdout


def test_what_cannot_be_read_is_said_once_and_with_flags(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Gericht;Gewicht_g\nReis;120,5\nSuppe;98,0\n")
    (tmp_path / "p.csv").write_text("Gericht;Gewicht_g\nReis;118,2\nSuppe;101,0\n")
    report = sy.check("weights", tmp_path / "t.csv", tmp_path / "p.csv", columns={"id": "Gericht"})
    assert [(one.side, one.examples[0].partition(": ")[0]) for one in report.findings] == [
        ("predictions", "column 'id' cannot be mapped"),
        ("truth", str(tmp_path / "t.csv")),
        ("predictions", str(tmp_path / "p.csv")),
    ]
    assert all(one.remedy not in one.examples[0] for one in report.findings)
    given = "t.csv", "p.csv"
    ran = steelyard("check", "weights", *given)
    assert ran.returncode == 1
    printed = " ".join(ran.stdout.split())
    assert printed.count("--map dish=YOUR_COLUMN --map weight=YOUR_COLUMN") == 2
    assert "columns={" not in printed
    assert printed.count("'Gericht', 'Gewicht_g'") == 2, "the end of a long line is not cut off"
    assert max(map(len, ran.stdout.splitlines())) <= 80
    mapped = ("--map", "dish=Gericht", "--map", "weight=Gewicht_g")
    assert steelyard("check", "weights", *given, *mapped).returncode == 0


def test_refused_data_are_said_of_the_side_that_is_at_fault() -> None:
    once, twice = {"a": ["1", "1"], "b": ["2", "3"]}, {"a": ["1", "2"], "b": ["2", "1"]}
    same, score = {"same": [1, 0]}, {"score": [0.9, 0.2]}
    assert sy.check("labels", twice | same, once | score)["refused"].side == "truth"
    assert sy.check("labels", once | same, twice | score)["refused"].side == "predictions"
