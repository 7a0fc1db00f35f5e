"""The drop-in for cityscapesscripts, compared with values of the package itself (tools/make_cityscapes_goldens.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.cityscapes_drawn import draw_cityscapes
from support.panoptic_drawn import draw_panoptic
from support.paths import TESTS
from support.refusal import refuses

from steelyard import compat
from steelyard.compat.cityscapesscripts.evaluation import evalPanopticSemanticLabeling as panoptic_module  # noqa: N813
from steelyard.compat.cityscapesscripts.evaluation import evalPixelLevelSemanticLabeling as pixel_module  # noqa: N813
from steelyard.compat.cityscapesscripts.helpers import labels as label_module

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "cityscapesscripts.json").read_text(encoding="utf-8"))
CITY = "aachen_000000_000000"


@pytest.fixture
def args(tmp_path) -> Any:
    own = deepcopy(pixel_module.args)
    own.exportFile = str(tmp_path / "out" / "result.json")
    own.colorized, own.bold, own.nocol = False, "", ""
    return own


def test_labels() -> None:
    assert [[*label[:-1], list(label.color)] for label in label_module.labels] == GOLDENS["labels"]
    assert label_module.name2label["car"].id == 26
    assert label_module.trainId2label[13].name == "car"
    assert label_module.trainId2label[255].name == "unlabeled"  # the first of those that share it
    assert [label.name for label in label_module.category2labels["human"]] == ["person", "rider"]
    names = [label_module.assureSingleInstanceName(name) for name in ("car", "cargroup", "skygroup", "foo")]
    assert names == ["car", "car", None, None]


@pytest.mark.parametrize("case", GOLDENS["pixels"], ids=lambda case: str(case["seed"]))
def test_results_file_and_text_to_the_bit(case, args, tmp_path, capsys) -> None:
    vars(args).update(case["settings"])
    results = pixel_module.evaluateImgLists(*draw_cityscapes(case["seed"], tmp_path), args)
    expected = case["written"]
    matrix = np.zeros((34, 34), dtype=np.int64)
    for true, predicted, count in expected["confMatrix"]:
        matrix[true, predicted] = count
    expected = json.dumps({**expected, "confMatrix": matrix.tolist()}, sort_keys=True, indent=4)
    with open(args.exportFile, encoding="utf-8") as file:
        assert file.read().replace(str(tmp_path), "FOLDER") == expected
    assert json.dumps(results, sort_keys=True, indent=4).replace(str(tmp_path), "FOLDER") == expected
    assert capsys.readouterr().out == case["printed"]


def save(folder, truth: Any, instances: Any, predicted: Any) -> tuple[list[str], list[str]]:
    images = {
        "gtFine_labelIds": (truth, np.uint8),
        "gtFine_instanceIds": (instances, np.uint16),
        "pred": (predicted, np.uint8),
    }
    for kind, (pixels, dtype) in images.items():
        Image.fromarray(np.array(pixels, dtype=dtype)).save(folder / f"{CITY}_{kind}.png")
    return [str(folder / f"{CITY}_pred.png")], [str(folder / f"{CITY}_gtFine_labelIds.png")]


def test_numbers_by_hand(args, tmp_path) -> None:
    # Car 26001 has 4 pixels and 3 are found; car 26002 has 1, taken for a truck. One pixel of road is called car. What
    # is called car where the truth is not evaluated (0) does not count.
    files = save(
        tmp_path,
        [[26, 26, 26, 26, 26], [7, 7, 7, 0, 0]],
        [[26001, 26001, 26001, 26001, 26002], [7, 7, 7, 0, 0]],
        [[26, 26, 26, 7, 27], [26, 7, 7, 26, 0]],
    )
    args.quiet, args.JSONOutput, args.avgClassSize = True, False, {"car": 2.0}
    results = pixel_module.evaluateImgLists(*files, args)
    assert results["classScores"]["car"] == 3 / 6
    assert results["classScores"]["road"] == 2 / 4
    assert results["averageScoreClasses"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)  # truck: 0 of 1
    # Weights are 2/4 and 2/1: tp 3 · 0.5, fn 1 · 0.5 + 1 · 2, fp 1.
    assert results["classInstScores"]["car"] == 1.5 / (1.5 + 2.5 + 1)
    # As vehicles, the truck is right: tp 3 · 0.5 + 2, fn 0.5, fp 1.
    assert results["categoryInstScores"]["vehicle"] == 3.5 / (3.5 + 0.5 + 1)
    assert results["categoryScores"]["vehicle"] == 4 / 6
    assert results["priors"]["road"] == 0.3


@pytest.mark.parametrize(
    ("truth", "predicted", "named"),
    [
        ([[7, 7]], [[7]], "Image widths of "),
        ([[7, 7]], [[7, 7], [7, 7]], "Image heights of "),
        ([[7, 7]], [[[7, 7, 7], [7, 7, 7]]], "Predicted image has multiple channels."),
        ([[7, 7]], [[[7, 255], [7, 255]]], "Predicted image has multiple channels."),
        ([[7, 99]], [[7, 7]], "Unknown label with id 99"),
    ],
)
def test_images_that_do_not_fit(truth, predicted, named, args, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        pixel_module.evaluateImgLists(*save(tmp_path, truth, truth, predicted), args)
    assert f"ERROR: {named}" in capsys.readouterr().out


def test_files_that_cannot_be_read(args, tmp_path, capsys) -> None:
    files = save(tmp_path, [[7]], [[7]], [[7]])
    (tmp_path / f"{CITY}_gtFine_instanceIds.png").write_bytes(b"\x89PNG")
    with pytest.raises(SystemExit):
        pixel_module.evaluateImgLists(*files, args)
    assert f"ERROR: Unable to load {tmp_path / CITY}_gtFine_instanceIds.png\n" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        pixel_module.evaluateImgLists([], files[1], args)
    with pytest.raises(IndexError):  # as the package: a predicted value that is not a label
        pixel_module.evaluateImgLists(*save(tmp_path, [[7]], [[7]], [[200]]), args)


@pytest.mark.parametrize(("bits", "value"), [(1, 1), (2, 2 * 85), (4, 2 * 17)])
def test_grey_of_few_bits_is_what_pillow_reads(bits, value, tmp_path) -> None:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    stored = bytes([0, (1 if bits == 1 else 2) << (8 - bits)])
    parts = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, bits, 0, 0, 0, 0)), (b"IDAT", zlib.compress(stored)), (b"IEND", b"")
    path = tmp_path / "few.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))
    matrix = np.zeros((256, 256), dtype=np.ulonglong)
    settings = SimpleNamespace(evalInstLevelScore=False, evalPixelAccuracy=False, evalLabels=range(256))
    assert pixel_module.evaluatePair(str(path), str(path), matrix, {}, {}, settings) == 1
    assert matrix[value, value] == 1


def test_predictions_are_found(args, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("CITYSCAPES_RESULTS", str(tmp_path))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / f"{CITY}_mine.png").touch()
    truth = f"gtFine/val/{CITY}_gtFine_labelIds.png"
    assert pixel_module.getPrediction(args, truth) == str(tmp_path / "deep" / f"{CITY}_mine.png")
    assert args.predictionPath == str(tmp_path)
    (tmp_path / f"{CITY}_other.png").touch()
    args.predictionWalk = None
    for file in (truth, "bern_000000_000000_gtFine_labelIds.png", "bern.png"):
        with pytest.raises(SystemExit):
            pixel_module.getPrediction(args, file)
    assert capsys.readouterr().out.splitlines() == [
        f"ERROR: Found multiple predictions for ground truth {truth}",
        "ERROR: Found no prediction for ground truth bern_000000_000000_gtFine_labelIds.png",
        "ERROR: Found 2 part(s) in given filename (bern.png). Expected 5 or 6.",
    ]


def test_images_are_searched_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments: the pattern's images of the truth, and for each the prediction of the same frame."""
    case = GOLDENS["pixels"][0]
    predicted, truth = draw_cityscapes(case["seed"], tmp_path)
    results = tmp_path / "results"
    results.mkdir()
    for file in predicted:
        Path(file).rename(results / Path(file).name)
    own = deepcopy(pixel_module.args)
    own.groundTruthSearch = str(tmp_path / "*_gtFine_labelIds.png")
    own.JSONOutput, own.colorized, own.bold, own.nocol = False, False, "", ""
    monkeypatch.setattr(pixel_module, "args", own)
    monkeypatch.setattr(pixel_module.glob, "glob", lambda pattern: sorted(truth) if pattern.endswith("Ids.png") else [])
    monkeypatch.setattr(sys, "argv", ["pixels"])
    monkeypatch.setenv("CITYSCAPES_RESULTS", str(results))
    pixel_module.main()
    assert capsys.readouterr().out == case["printed"]
    own.groundTruthSearch = "nowhere"
    with pytest.raises(SystemExit):
        pixel_module.main()
    assert "nowhere" in capsys.readouterr().out


def test_a_folder_of_results_that_is_missing(
    args: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CITYSCAPES_RESULTS", raising=False)
    monkeypatch.setenv("CITYSCAPES_DATASET", str(tmp_path))
    truth = f"gtFine/val/{CITY}_gtFine_labelIds.png"
    with pytest.raises(SystemExit):
        pixel_module.getPrediction(args, truth)
    assert "result root folder" in capsys.readouterr().out
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / f"{CITY}_mine.png").touch()
    assert pixel_module.getPrediction(args, truth) == str(tmp_path / "results" / f"{CITY}_mine.png")


def test_a_report_has_the_same_mean(args, tmp_path) -> None:
    with refuses("E-missing-data", "evaluateImgLists"):
        compat.report(args)
    args.quiet = True
    results = pixel_module.evaluateImgLists(*draw_cityscapes(3, tmp_path), args)
    report = compat.report(args, metrics=["miou"], draws=100)
    assert report["miou"].value == pytest.approx(results["averageScoreClasses"], abs=1e-12)
    assert report["miou"].interval is not None


@pytest.mark.parametrize("case", GOLDENS["panoptic"], ids=lambda case: str(case["seed"]))
def test_panoptic_to_the_bit(case, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    truth, predicted = draw_panoptic(case["seed"], tmp_path)
    saved = tmp_path / "result.json"
    panoptic_module.evaluatePanoptic(truth, truth[:-5], predicted, predicted[:-5], str(saved))
    assert saved.read_text() == case["written"]
    assert capsys.readouterr().out.splitlines()[-13:-1] == case["printed"]
    with pytest.raises(SystemExit):
        panoptic_module.evaluatePanoptic(truth, "nowhere", predicted, predicted[:-5], str(saved))


def test_command_lines(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    case = GOLDENS["panoptic"][0]
    truth, predicted = draw_panoptic(case["seed"], tmp_path)
    saved = tmp_path / "result.json"
    sides = ["--gt-json-file", truth, "--prediction-json-file", predicted]
    monkeypatch.setattr(sys, "argv", ["panoptic", *sides, "--results_file", str(saved)])
    panoptic_module.main()
    assert saved.read_text() == case["written"]
    monkeypatch.setattr(sys, "argv", ["panoptic", "--gt-json-file", "nowhere.json"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        panoptic_module.main()
    expected = "Could not find a ground truth json file in nowhere.json. Please run the script with '--help'"
    assert capsys.readouterr().out == f"ERROR: {expected}\n"

    case = GOLDENS["pixels"][0]
    sides = [file for files in draw_cityscapes(case["seed"], tmp_path) for file in files]
    monkeypatch.setattr(sys, "argv", ["pixels", *sides])
    monkeypatch.setattr(pixel_module.args, "JSONOutput", False)
    monkeypatch.setattr(pixel_module.args, "colorized", False)
    pixel_module.main()
    assert capsys.readouterr().out == case["printed"]


def test_other_modules_are_those_of_the_package(tmp_path) -> None:
    package = tmp_path / "cityscapesscripts"
    for folder in ("", "evaluation", "helpers", "viewer"):
        (package / folder).mkdir()
        (package / folder / "__init__.py").touch()
    (package / "evaluation" / "instance.py").write_text("NAME = 'its own'\n")
    (package / "helpers" / "labels.py").write_text("labels = 'its own'\n")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from steelyard import compat
compat.install("cityscapesscripts")
import cityscapesscripts.viewer
from cityscapesscripts.evaluation import instance
from cityscapesscripts.helpers.labels import labels
print(instance.NAME, len(labels))
compat.uninstall("cityscapesscripts")
from cityscapesscripts.helpers.labels import labels
print(labels)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("its own 35\nits own\n", "")
