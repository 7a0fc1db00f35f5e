"""Label maps: goldens of other tools, readers, options, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.lazy import lazy
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.errors import InputError

torch = lazy("torch")

GOLDENS = json.loads((TESTS / "goldens" / "segmentation.json").read_text(encoding="utf-8"))["examples"]


def scores(truth: Any, predictions: Any, metrics: list[str], **settings: Any) -> list[float]:
    report = sy.evaluate("segmentation", truth, predictions, metrics, confidence=None, **settings)
    return [score.value for score in report.scores.values()]


def number(value: Any) -> float:
    return float(value)


def test_a_data_set_as_mmsegmentation_and_hotcoco_score_it() -> None:
    example = GOLDENS["semantic_dataset"]
    truth, prediction = np.array(example["truth"]), np.array(example["prediction"])
    options = {"classes": 5, "ignore": 255}
    each = example["outputs"]["mmseg"]["per_class"]
    mean = example["outputs"]["mmseg"]["mean"]
    for metric, name in (("iou", "IoU"), ("dice", "Dice"), ("acc", "Acc")):
        result = scores(truth, prediction, [metric], options=options)
        np.testing.assert_allclose(result, [number(v) for v in each[name]], atol=1e-7)  # theirs are single precision
    metrics = ["miou", "mdice", "macc", "accuracy", "precision", "recall", "f1(mmseg=true)"]
    expected = [mean[name] for name in ("IoU", "Dice", "Acc", "aAcc", "Precision", "Recall", "Fscore")]
    np.testing.assert_allclose(scores(truth, prediction, metrics, options=options), expected, atol=1e-7)
    exact = scores(truth, prediction, ["miou", "fwiou", "macc", "accuracy"], options=options)
    np.testing.assert_allclose(exact, example["outputs"]["hotcoco"]["stats"], rtol=1e-15)


def test_what_mmsegmentation_prints_is_explained() -> None:
    example = GOLDENS["semantic_dataset"]
    sides = (np.array(example["truth"]), np.array(example["prediction"]))
    report = sy.evaluate(
        "segmentation",
        *sides,
        options={"classes": 5, "ignore": 255},
        explain=("mmseg",),
        confidence=None,
    )
    mean, (first,) = example["outputs"]["mmseg"]["mean"], report.explanations
    result = [first.theirs[name] for name in ("miou", "macc", "accuracy", "f1")]
    np.testing.assert_allclose(result, [mean[name] for name in ("IoU", "Acc", "aAcc", "Fscore")], atol=1e-7)


def test_what_torchmetrics_gives_is_explained() -> None:
    """Drawn maps, of which some lack classes. Its numbers are those of DiceScore and MeanIoU of torchmetrics 1.9.0."""
    rng = np.random.default_rng(8)
    truth, prediction = np.minimum(rng.integers(0, 9, (2, 7, 6, 5)), rng.integers(1, 5, (7, 1, 1)))
    report = sy.evaluate(
        "segmentation", truth, prediction, ["miou"], options={"classes": 5}, explain=("torchmetrics",), confidence=None
    )
    theirs = report.explanations[0].theirs
    np.testing.assert_allclose([theirs["mdice"], theirs["miou"]], [0.3006967008113861, 0.207868292927742], rtol=1e-6)


def test_the_confusion_matrix_is_that_of_hotcoco() -> None:
    example = GOLDENS["semantic_dataset"]
    report = sy.evaluate(
        "segmentation",
        np.array(example["truth"]),
        np.array(example["prediction"]),
        options={"classes": 5, "ignore": 255},
    )
    assert report.table("confusion").values.tolist() == example["outputs"]["hotcoco"]["confusion"]


def test_reduced_zero_label() -> None:
    example = GOLDENS["reduce_zero_label"]
    truth, prediction = np.array(example["truth_file"]), np.array(example["prediction_array"])
    expected = example["outputs"]["hotcoco_pred_0_based"]["result"]["stats"]
    metrics = ["miou", "fwiou", "macc", "accuracy"]
    options = {"classes": 3, "reduce_zero": "truth"}
    np.testing.assert_allclose(scores(truth, prediction, metrics, options=options), expected, rtol=1e-15)
    options = {"classes": 3, "reduce_zero": "both"}
    np.testing.assert_allclose(scores(truth, prediction + 1, metrics, options=options), expected, rtol=1e-15)
    options = {"classes": 3, "ignore": 0, "truth.shift": -1}
    np.testing.assert_allclose(scores(truth, prediction, metrics, options=options), expected, rtol=1e-15)


def test_cityscapes_as_its_scripts_score_it() -> None:
    example = GOLDENS["cityscapes"]
    truth, prediction = np.array([example["truth_labelIds"]]), np.array([example["prediction_labelIds"]])
    expected = example["outputs"]["cityscapesScripts"]
    report = sy.evaluate(
        "segmentation", truth, prediction, ["miou", "miou(groups=category)", "iou"], options={"labels": "cityscapes"}
    )
    assert report["miou"].value == expected["averageScoreClasses"]
    assert report["miou(groups=category)"].value == expected["averageScoreCategories"]
    assert {name: report[f"iou(label={name})"].value for name in expected["classScores"]} == expected["classScores"]


@pytest.mark.parametrize("ratio", ["0.02", "0.005", "0.05"])
def test_boundary_iou_as_its_authors_code_gives_it(ratio: str) -> None:
    example = GOLDENS["boundary_iou"]
    sides = []
    for side in ("truth", "prediction"):
        grid = np.zeros(example["shape"], dtype=np.uint8)
        for y0, y1, x0, x1 in example[f"{side}_rects"]:
            grid[y0:y1, x0:x1] = 1
        sides.append(grid[np.newaxis])
    expected = example["outputs"][f"dilation_{ratio}"]
    result = scores(*sides, [f"boundary_iou(label=1, width={ratio})", "iou(label=1)"])
    assert result == [expected["iou"], example["mask_iou"]]


def test_ignored_pixels_cut_the_bands_of_both_sides_alike() -> None:
    """A perfect map scores 1, whatever stands under a stripe that is ignored and crosses an edge."""
    rng = np.random.default_rng(0)
    truth = np.zeros((1, 30, 40), dtype=np.uint8)
    truth[:, 8:22, 10:30] = 1
    truth[:, 12:15] = 255
    metrics = ["mbiou", "boundary_iou(label=1)", "boundary_iou(label=0, width=0.1)", "boundary_f1"]
    right = np.where(truth == 255, 0, truth)
    moved = np.roll(right, 2, axis=2)
    expected = scores(truth, moved, metrics, options={"ignore": 255, "classes": 2})
    assert all(0 < value < 1 for value in expected)
    for _ in range(3):
        anything = rng.integers(0, 2, truth.shape)
        full = np.where(truth == 255, anything, right)
        assert scores(truth, full, metrics, options={"ignore": 255, "classes": 2}) == [1.0] * 4
        other = np.where(truth == 255, anything, moved)
        assert scores(truth, other, metrics, options={"ignore": 255, "classes": 2}) == expected


def test_a_band_beside_ignored_pixels_by_hand() -> None:
    """One row: truth 1 1 1 1 x x 0 0 0 0, prediction 1 1 1 0 . . 0 0 0 0, bands one pixel wide, ends are edges.

    Class 1: the row is one pixel high, so that every pixel is at the rim and in its band: 4 true, 3 predicted, 3 both.
    """
    truth = np.array([[[1, 1, 1, 1, 9, 9, 0, 0, 0, 0]]])
    prediction = np.array([[[1, 1, 1, 0, 1, 0, 0, 0, 0, 0]]])
    result = scores(truth, prediction, ["boundary_iou"], options={"ignore": 9, "classes": 2})
    assert result == [4 / 5, 3 / 4]


def test_boundary_f1_by_hand() -> None:
    """A square of 4 moved by one pixel: every edge pixel has one of the other within 1, and 7 of 15 at distance 0.

    Edges are pixels that differ from their right, lower or right lower neighbour. Those of the square at rows and
    columns 3 to 6: column 2 and column 6 of rows 2 to 6 (10), row 2 and row 6 of columns 3 to 5 (6): 16 pixels.
    """
    truth, moved = np.zeros((2, 12, 12), dtype=np.uint8)
    truth[3:7, 3:7] = 1
    moved[3:7, 4:8] = 1
    # Both have 16 edge pixels; rows 2 and 6 share columns 3..6, and column 6 of rows 3..5 is none of the other's.
    both = {(y, x) for y in (2, 6) for x in (3, 4, 5, 6)}
    expected = len(both) / 16
    # Class 0 has the same edges, so that the mean is the same.
    assert scores(truth[None], moved[None], ["boundary_f1(tolerance=0)"]) == [expected]
    assert scores(truth[None], moved[None], ["boundary_f1(tolerance=0.05)"]) == [1.0]


def test_image_level_means_by_hand() -> None:
    """Two images: IoU 1 and 1 of two classes in the first; 2/4 and 0/2 in the second, whose mean is a quarter."""
    truth = np.array([[[0, 0, 1, 1]], [[0, 0, 0, 0]]])
    prediction = np.array([[[0, 0, 1, 1]], [[0, 0, 1, 1]]])
    assert scores(truth, prediction, ["miou(level=image)"]) == [(1.0 + 0.25) / 2]
    assert scores(truth, prediction, ["mdice(level=image)"]) == pytest.approx([(1.0 + (2 * 2 / 6) / 2) / 2])


def test_unknown_predictions_are_wrong_and_never_dropped() -> None:
    truth, prediction = np.array([[[0, 0, 1, 1]]]), np.array([[[0, 255, 1, 1]]])
    with pytest.raises(InputError, match=r"value 255 at row 0, column 1 \(1 pixel\) is not a class.*`unknown=wrong`"):
        scores(truth, prediction, ["miou"], options={"classes": 2})
    report = sy.evaluate(
        "segmentation", truth, prediction, ["miou"], options={"classes": 2, "unknown": "wrong"}, confidence=None
    )
    assert report["miou"].value == 0.75
    assert any("1 pixel is predicted as no class" in note for note in report["miou"].notes)


def test_a_class_that_neither_side_has_is_left_out_and_counted() -> None:
    truth = np.array([[[0, 0, 1, 1]]])
    report = sy.evaluate("segmentation", truth, truth, ["miou"], options={"classes": 4}, confidence=None)
    assert (report["miou"].value, report["miou"].n_excluded) == (1.0, 2)


def test_classes_of_the_truth_only_and_without_one() -> None:
    truth, prediction = np.array([[[0, 0, 1, 1]]]), np.array([[[0, 2, 1, 1]]])
    result = scores(truth, prediction, ["miou", "miou(classes=truth)", "miou(without=0)"])
    assert result == [(0.5 + 1 + 0) / 3, (0.5 + 1) / 2, (1 + 0) / 2]


def test_scores_of_classes_become_the_highest_and_tensors_are_taken() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, 4, 7, 9)).astype(np.float32)
    truth = rng.integers(0, 4, (3, 7, 9))
    expected = scores(truth, logits.argmax(axis=1), ["miou"])
    assert scores(torch.tensor(truth), torch.tensor(logits), ["miou"]) == expected


BINARY = np.array([[[0, 1], [1, 0]], [[1, 1], [0, 0]]])  # two images of 2×2 pixels, half of each class
RIGHT = np.where(BINARY == 1, 0.9, 0.2)


@pytest.mark.parametrize("kind", ["uint8", "int64", "bool", "float32"])
def test_a_channel_axis_of_one_is_dropped_on_both_sides(kind: str) -> None:
    """Every pixel is right: 1. Every pixel is wrong: 0. With the truth and both sides alike."""
    right, wrong = BINARY[:, np.newaxis].astype(kind), (1 - BINARY[:, np.newaxis]).astype(kind)
    assert scores(right, right, ["miou"]) == [1.0]
    assert scores(BINARY, right, ["miou"]) == [1.0]
    assert scores(right, wrong, ["miou", "accuracy"]) == [0.0, 0.0]


@pytest.mark.parametrize("axis", [None, 1])
def test_one_channel_of_scores_is_cut_at_the_threshold(axis: int | None) -> None:
    probability = RIGHT if axis is None else np.expand_dims(RIGHT, axis)
    report = sy.evaluate(
        "segmentation", BINARY, torch.tensor(probability), ["miou"], options={"threshold": 0.5}, confidence=None
    )
    assert report["miou"].value == 1.0
    assert any("a pixel is of class 1 from a score of 0.5" in note for note in report.notes)
    logits = np.log(probability / (1 - probability))
    assert scores(BINARY, logits, ["miou"], options={"threshold": 0, "classes": 2}) == [1.0]
    # A score of the threshold itself is class 1: of 8 pixels 4 are true, and all are predicted.
    assert scores(BINARY, np.full_like(probability, 0.5), ["iou"], options={"threshold": 0.5}) == [0.0, 0.5]


def test_scores_in_files_are_read_as_those_in_memory(tmp_path: Path) -> None:
    for side in ("truth", "one", "two"):
        (tmp_path / side).mkdir()
    for k in range(2):
        np.save(tmp_path / "truth" / f"{k}.npy", BINARY[k][np.newaxis])
        np.save(tmp_path / "one" / f"{k}.npy", RIGHT[k])
        np.save(tmp_path / "two" / f"{k}.npy", np.stack([1 - RIGHT[k], RIGHT[k]]))
    assert scores(tmp_path / "truth", tmp_path / "one", ["miou"], options={"threshold": 0.5}) == [1.0]
    assert scores(tmp_path / "truth", tmp_path / "two", ["miou"], options={"classes": 2}) == [1.0]
    with pytest.raises(InputError, match=r"two.0\.npy: 2 channels of scores, and the classes need 3"):
        scores(tmp_path / "truth", tmp_path / "two", ["miou"], options={"classes": 3})
    with pytest.raises(InputError, match=r"two.0\.npy: a true map of shape 2×2×2"):
        scores(tmp_path / "two", tmp_path / "two", ["miou"])
    save(tmp_path / "png" / "0.png", BINARY[0].astype(np.uint8))
    save(tmp_path / "png" / "1.png", BINARY[1].astype(np.uint8))
    with pytest.raises(
        InputError, match=r"0\.png: the predictions are labels, and the option `threshold` is for scores"
    ):
        scores(tmp_path / "truth", tmp_path / "png", ["miou"], options={"threshold": 0.5})


TWO = np.stack([1 - RIGHT, RIGHT], axis=1)
NOT_SCORES = [
    (BINARY, RIGHT, {}, "value 0.2 is not a class .4 pixels.*`threshold`: 0.5 for probabilities, 0 for logits"),
    (BINARY, RIGHT[:, np.newaxis], {}, "value 0.2 is not a class"),
    (RIGHT, BINARY, {}, "truth, row 0, column 'map': value 0.2 is not a class"),
    (TWO, BINARY, {}, "truth, row 0, column 'map': a true map of shape 2×2×2. Give the class of each pixel"),
    (TWO > 0.5, BINARY, {}, "a true map of shape 2×2×2"),
    (BINARY[:, np.newaxis, np.newaxis], BINARY, {}, "a map of shape 1×1×2×2"),
    (BINARY, BINARY[:, np.newaxis, np.newaxis], {}, "a map of shape 1×1×2×2"),
    (BINARY, np.full((2, 3, 2, 2), np.nan), {}, "4 pixels have a score that is not finite"),
    (BINARY, np.where(TWO > 0.8, np.inf, TWO), {}, "pixels have a score that is not finite"),
    (BINARY, np.full((2, 1, 2, 2), np.nan), {"threshold": 0.5}, "4 pixels have a score that is not finite"),
    (BINARY, TWO, {"classes": 3}, "2 channels of scores, and the classes need 3"),
    (BINARY, np.repeat(TWO, 2, axis=1), {"names": ["a", "b"]}, "4 channels of scores, and the classes need 2"),
    (BINARY, np.repeat(TWO, 9, axis=1), {"labels": "cityscapes"}, "18 channels of scores, and the classes need 34"),
    (BINARY, TWO, {"palette": ["a=000000", "b=010000"]}, "an array of shape 2×2×2, and the classes are colours"),
    (BINARY, TWO, {"threshold": 0.5}, "2 channels of scores, and the option `threshold` is for one"),
    (
        BINARY,
        BINARY,
        {"threshold": 0.5},
        "the predictions are labels .int64., and the option `threshold` is for scores",
    ),
    (BINARY, RIGHT, {"threshold": 0.5, "classes": 3}, "one channel of scores, and the classes need 3"),
    (BINARY, (100 * TWO).astype(np.uint8), {}, "2 channels of uint8 that are not one-hot"),
    (BINARY, np.zeros((2, 9, 9, 1)), {}, "scores of shape 9×9×1. Classes come first: 1×9×9"),
    (BINARY, np.zeros((2, 2, 2, 3)), {"classes": 3}, "2 channels of scores.*classes × height × width"),
]


@pytest.mark.parametrize(("truth", "prediction", "options", "message"), NOT_SCORES, ids=[r[3] for r in NOT_SCORES])
@pytest.mark.parametrize("way", ["evaluate", "accumulator"])
def test_scores_that_are_refused(truth: Any, prediction: Any, options: Any, message: str, way: str) -> None:
    def reported() -> None:
        if way == "evaluate":
            sy.evaluate("segmentation", truth, prediction, ["miou"], options=options, confidence=None)
        gathered = sy.Accumulator("segmentation", options=options)
        gathered.update({"image": ["a", "b"], "map": truth}, {"image": ["a", "b"], "map": prediction})

    with pytest.raises(InputError, match=message):
        reported()


def test_one_hot_predictions_are_labels() -> None:
    one_hot = np.stack([BINARY == 0, BINARY == 1], axis=1)
    assert scores(BINARY, one_hot, ["miou"], options={"classes": 2}) == [1.0]
    assert scores(BINARY, one_hot.astype(np.int64), ["miou"]) == [1.0]


def test_channels_that_the_options_give_no_class() -> None:
    """A third channel that is nowhere the highest; values beyond the classes are said to be wrong, or have no class."""
    three = np.concatenate([TWO, np.zeros_like(TWO[:, :1])], axis=1)
    assert scores(BINARY, three, ["miou"], options={"classes": 2, "unknown": "wrong"}) == [1.0]
    relabel = ["0=1", "1=0", "2=ignore"]
    assert scores(1 - BINARY, three, ["miou"], options={"classes": 2, "prediction.relabel": relabel}) == [1.0]
    with pytest.raises(InputError, match="2 channels of scores, and the classes need 3"):
        scores(1 - BINARY, TWO, ["miou"], options={"classes": 2, "prediction.relabel": ["0=1", "2=0"]})


def test_batches_give_the_report_of_all() -> None:
    rng = np.random.default_rng(1)
    truth, prediction = rng.integers(0, 4, (2, 6, 8, 9))
    ids = [f"i{k}" for k in range(6)]
    whole = sy.evaluate("segmentation", {"image": ids, "map": truth}, {"image": ids, "map": prediction})
    gathered = sy.Accumulator("segmentation")
    for k in (4, 0, 2):
        part = slice(k, k + 2)
        gathered.update({"image": ids[part], "map": truth[part]}, {"image": ids[part], "map": prediction[part]})
    report = gathered.report()
    assert {k: (s.value, s.interval) for k, s in report.scores.items()} == {
        k: (s.value, s.interval) for k, s in whole.scores.items()
    }


def save(path: Path, grid: Any, mode: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(grid), mode).save(path)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(2)
    for name in ("a/one", "a/two", "b/three"):
        grid = rng.integers(0, 3, (6, 8)).astype(np.uint8)
        save(tmp_path / "truth" / f"{name}_gtFine_labelIds.png", grid)
        save(tmp_path / "model" / f"{name}_leftImg8bit.png", np.where(grid == 2, 1, grid).astype(np.uint8))
    return tmp_path / "truth", tmp_path / "model"


def test_folders_are_joined_by_name_without_what_data_sets_add(folders: tuple[Path, Path]) -> None:
    report = sy.evaluate("segmentation", *folders, ["miou"], by=["folder"], confidence=None)
    assert report.units().units.tolist() == ["a/one", "a/two", "b/three"]
    assert len(report.slices["folder"]) == 2
    options = {"truth.suffix": "_gtFine_labelIds", "prediction.suffix": "_leftImg8bit"}
    assert scores(*folders, ["miou"], options=options) == [report["miou"].value]


def test_files_of_numpy_and_tables_of_paths(folders: tuple[Path, Path], tmp_path: Path) -> None:
    expected = scores(*folders, ["miou"])
    names = ["a/one", "a/two", "b/three"]
    grids = [
        [np.asarray(Image.open(folder / f"{name}{suffix}.png")) for name in names]
        for folder, suffix in zip(folders, ("_gtFine_labelIds", "_leftImg8bit"), strict=True)
    ]
    for side, maps in zip(("t", "p"), grids, strict=True):
        np.save(tmp_path / f"{side}.npy", np.stack(maps))
        np.savez(
            tmp_path / f"{side}.npz", **{name.replace("/", "_"): one for name, one in zip(names, maps, strict=True)}
        )
        for name, one in zip(names, maps, strict=True):
            (tmp_path / side).mkdir(exist_ok=True)
            np.save(tmp_path / side / f"{name.replace('/', '_')}.npy", one)
    assert scores(tmp_path / "t.npy", tmp_path / "p.npy", ["miou"]) == expected
    assert scores(tmp_path / "t.npz", tmp_path / "p.npz", ["miou"]) == expected
    assert scores(tmp_path / "t", tmp_path / "p", ["miou"]) == expected
    for side, folder, suffix in (("t", "truth", "_gtFine_labelIds"), ("p", "model", "_leftImg8bit")):
        rows = [f"{name},{folder}/{name}{suffix}.png" for name in names]
        (tmp_path / f"{side}.csv").write_text("\n".join(["image,map", *rows]), encoding="utf-8")
    assert scores(tmp_path / "t.csv", tmp_path / "p.csv", ["miou"]) == expected


def test_colours_by_a_palette(tmp_path: Path) -> None:
    codes = np.array([[0, 0, 1], [1, 1, 0]])
    colours = np.array([[128, 64, 128], [0, 0, 142]], dtype=np.uint8)
    save(tmp_path / "t" / "x.png", colours[codes])
    save(tmp_path / "p" / "x.png", colours[[[0, 0, 1], [1, 0, 0]]])
    palette = ["road=804080", "car,0,0,142"]
    report = sy.evaluate(
        "segmentation", tmp_path / "t", tmp_path / "p", ["iou"], options={"palette": palette}, confidence=None
    )
    assert {k: s.value for k, s in report.scores.items()} == {"iou(label=road)": 0.75, "iou(label=car)": 2 / 3}
    save(tmp_path / "t" / "x.png", np.full((2, 3, 3), 9, dtype=np.uint8))
    with pytest.raises(InputError, match=r"x.png: colour #090909 at row 0, column 0 \(6 pixels\) is not a class"):
        scores(tmp_path / "t", tmp_path / "p", ["miou"], options={"palette": palette})


def test_ignored_colours(tmp_path: Path) -> None:
    """`ignore=RRGGBB` in a palette excludes pixels of the truth, and counts as wrong where it is predicted."""
    colours = np.array([[255, 0, 0], [0, 0, 142], [224, 224, 192]], dtype=np.uint8)
    save(tmp_path / "t" / "x.png", colours[[[0, 0, 1], [1, 1, 2]]])
    save(tmp_path / "p" / "x.png", colours[[[0, 0, 1], [1, 0, 0]]])
    save(tmp_path / "q" / "x.png", colours[[[2, 0, 1], [1, 0, 0]]])
    options = {"palette": ["rider=ff0000", "car,0,0,142", "ignore=e0e0c0"]}

    def ious(prediction: str, **more: Any) -> dict[str, float]:
        sides = (tmp_path / "t", tmp_path / prediction)
        report = sy.evaluate("segmentation", *sides, ["iou"], options={**options, **more}, confidence=None)
        return {spec: score.value for spec, score in report.scores.items()}

    assert ious("p") == {"iou(label=rider)": 2 / 3, "iou(label=car)": 2 / 3}
    assert ious("q", unknown="wrong") == {"iou(label=rider)": 1 / 3, "iou(label=car)": 2 / 3}
    assert ious("p", labels="voc") == ious("p")  # 255 is not ignored with a palette
    with refuses("E-unknown-name"):
        ious("q")
    with refuses("E-conflict"):  # 255 would be the colour of riders
        ious("p", ignore=255)
    with refuses("E-duplicate-key"):
        ious("p", palette=["rider=ff0000", "ignore=ff0000"])
    with refuses("E-invalid-setting"):
        ious("p", palette=["ignore=ff0000"])


def test_a_palette_for_one_side(tmp_path: Path) -> None:
    """The other side has numbers of classes: in the order of the names, else of the palette."""
    colours = np.array([[128, 64, 128], [0, 0, 142]], dtype=np.uint8)
    save(tmp_path / "t" / "x.png", colours[[[0, 0, 1], [1, 1, 0]]])
    save(tmp_path / "p" / "x.png", np.array([[0, 0, 1], [1, 0, 0]], dtype=np.uint8))
    palette = ["road=804080", "car,0,0,142"]
    expected = {"iou(label=road)": 0.75, "iou(label=car)": 2 / 3}

    def ious(truth: str, prediction: str, options: dict[str, Any]) -> dict[str, float]:
        sides = (tmp_path / truth, tmp_path / prediction)
        report = sy.evaluate("segmentation", *sides, ["iou"], options=options, confidence=None)
        return {spec: score.value for spec, score in report.scores.items()}

    assert ious("t", "p", {"truth.palette": palette}) == expected
    assert ious("p", "t", {"prediction.palette": palette}) == expected
    save(tmp_path / "q" / "x.png", np.array([[2, 2, 1], [1, 2, 2]], dtype=np.uint8))
    named = ious("t", "q", {"truth.palette": palette, "names": ["sky", "car", "road"]})
    assert {spec: named[spec] for spec in expected} == expected
    save(tmp_path / "o" / "x.png", 255 - colours[[[0, 0, 1], [1, 0, 0]]])
    both = {"truth.palette": palette, "prediction.palette": ["car=ffff71", "road=7fbf7f"]}
    assert ious("t", "o", both) == expected
    for options, message in (
        ({"palette": palette}, r"p.x.png: has no colours.*truth.palette=FILE"),
        ({"prediction.palette": palette}, r"t.x.png: has three channels.*truth.palette=FILE"),
        ({"truth.palette": palette, "names": ["road", "sky"]}, "class 'car' is not among the names"),
        (
            {"truth.palette": palette, "prediction.palette": ["road=804080"]},
            "class 'car' has a colour on one side only",
        ),
        ({"truth.palette": []}, "option palette.*no colour"),
    ):
        with pytest.raises(InputError, match=message):
            ious("t", "p", options)


def test_relabelled_values() -> None:
    truth, prediction = np.array([[[7, 7, 8, 9]]]), np.array([[[0, 1, 1, 0]]])
    options = {"names": ["road", "kerb"], "truth.relabel": ["7=road", "8=1", "9=ignore"]}
    report = sy.evaluate("segmentation", truth, prediction, ["iou"], options=options, confidence=None)
    assert {k: s.value for k, s in report.scores.items()} == {"iou(label=road)": 0.5, "iou(label=kerb)": 0.5}


REFUSED = [
    ({"map": np.zeros((1, 4, 5), int)}, {}, {}, r"5×4 pixels, and .* has 3×4.*Resize the predictions"),
    ({}, {"map": np.full((1, 4, 3), 7)}, {"classes": 3}, r"value 7 at row 0, column 0 \(12 pixels\) is not a class"),
    ({"map": np.full((1, 4, 3), 34)}, {}, {"classes": 3}, r"value 34 .*3 classes are named: 0 to 2.*`ignore=34`"),
    ({}, {"map": np.full((1, 4, 3), 0.37)}, {}, r"value 0.37 is not a class.*`threshold`: 0.5 for"),
    ({"map": np.full((1, 4, 3), -1)}, {}, {}, r"value -1 is out of range"),
    ({}, {"map": np.zeros((1, 40, 30, 2))}, {}, r"scores of shape 40×30×2.*Classes come first: 2×40×30"),
    ({}, {"image": [9]}, {}, "has no prediction"),
    ({}, {}, {"classes": 2.5}, "not a whole number"),
    ({}, {}, {"ignore": "1.5"}, "1.5 is not a whole number"),
    ({}, {}, {"names": ["a", "a"]}, "two classes have one name"),
    ({}, {}, {"relabel": ["7:2"]}, "'7:2' is not VALUE=CLASS"),
    ({}, {}, {"names": ["a"], "relabel": ["7=b"]}, "there is no class 'b'"),
    ({}, {}, {"palette": ["road=zz"]}, "'road=zz' is not a colour"),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "prediction", "options", "message"), REFUSED, ids=[r[3] for r in REFUSED])
def test_arrays_that_are_refused(truth: Any, prediction: Any, options: Any, message: str) -> None:
    good = {"image": [1], "map": np.zeros((1, 4, 3), dtype=np.uint8)}
    with pytest.raises(InputError, match=message):
        scores({**good, **truth}, {**good, **prediction}, ["miou"], options=options)


def test_files_that_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    truth, model = folders
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no file ends in \.png"):
        scores(truth, tmp_path / "empty", ["miou"])
    with pytest.raises(InputError, match="there is no such folder"):
        scores(truth, tmp_path / "nowhere", ["miou"])
    save(model / "a" / "one_leftImg8bit.png", np.zeros((6, 8, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"one_leftImg8bit.png: has three channels.*`palette"):
        scores(truth, model, ["miou"])
    (model / "a" / "one_leftImg8bit.png").unlink()
    with pytest.raises(InputError, match=r"1 of 3 rows of the truth has no prediction.*a/one"):
        scores(truth, model, ["miou"])
    assert len(sy.evaluate("segmentation", truth, model, ["miou"], missing="skip").units().units) == 2
    save(tmp_path / "photo" / "x.jpg", np.zeros((6, 8), dtype=np.uint8))
    with pytest.raises(InputError, match="JPEG changes labels"):
        scores(tmp_path / "photo", model, ["miou"])


def test_a_missing_prediction_is_wrong_everywhere() -> None:
    truth = {"image": ["a", "b"], "map": np.array([[[0, 1]], [[0, 1]]])}
    prediction = {"image": ["a"], "map": np.array([[[0, 1]]])}
    assert scores(truth, prediction, ["miou", "accuracy"], missing="worst") == [0.5, 0.5]


def test_labels_that_are_one_off_are_noted() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, (4, 8, 8))
    report = sy.evaluate("segmentation", truth, truth + 1, ["miou"], confidence=None)
    assert any(
        "100 % of pixels agree if predictions are lowered by 1, 0 % as they are" in note for note in report.notes
    )
    problems = sy.check("segmentation", truth, truth + 1)
    assert "labels-shifted" in [finding.code for finding in problems.findings]


def test_void_that_counts_as_a_class_is_noted() -> None:
    truth = np.where(np.arange(64).reshape(1, 8, 8) < 8, 255, np.arange(64).reshape(1, 8, 8) % 3)
    prediction = np.where(truth == 255, 0, truth)
    report = sy.evaluate("segmentation", truth, prediction, ["miou"], confidence=None)
    assert any("255 counts as a class" in note for note in report.notes)
    assert not sy.evaluate("segmentation", truth, prediction, options={"ignore": 255}, confidence=None).notes


def test_laws_of_relabelling_transposing_and_tiling() -> None:
    rng = np.random.default_rng(6)
    truth, prediction = rng.integers(0, 4, (2, 5, 12, 10))
    before = scores(truth, prediction, ["iou"])
    turn = np.array([2, 0, 3, 1])
    after = scores(turn[truth], turn[prediction], ["iou"])
    np.testing.assert_allclose([after[turn[c]] for c in range(4)], before, rtol=1e-15)
    metrics = ["miou", "mbiou", "fwiou"]
    assert scores(truth.transpose(0, 2, 1), prediction.transpose(0, 2, 1), metrics) == scores(
        truth, prediction, metrics
    )
    tiles = [side.reshape(5, 2, 6, 2, 5).transpose(0, 1, 3, 2, 4).reshape(20, 6, 5) for side in (truth, prediction)]
    assert scores(*tiles, ["miou", "accuracy"]) == scores(truth, prediction, ["miou", "accuracy"])


def test_packed_maps_come_back_and_damage_is_refused() -> None:
    rng = np.random.default_rng(7)
    for kind in (np.uint8, np.uint16, np.uint32):
        for shape in ((5, 7), (3, 4, 6)):
            grid = rng.integers(0, min(np.iinfo(kind).max, 70000), shape).astype(kind)
            packed = _native.map_pack(grid)
            assert (_native.map_unpack(packed) == grid).all()
            for end in range(0, len(packed) - 1, 5):
                with pytest.raises(ValueError, match="packed map"):
                    _native.map_unpack(packed[:end])


def test_check_says_where_most_of_the_truth_is_ignored() -> None:
    """Five of eight pixels are void: IoU charges nothing that is predicted there."""
    truth = np.array([[255, 255, 255, 255], [255, 0, 1, 1]], np.uint8)
    data = [{"image": ["a"], "map": [one]} for one in (truth, np.ones_like(truth))]
    half = [
        {"image": ["a"], "map": [one]}
        for one in (np.where(truth == 255, [[255] * 4, [0] * 4], truth), data[1]["map"][0])
    ]
    result = sy.check("segmentation", *data, options={"ignore": "255"})["mostly-ignored"]
    assert (result.severity, result.count, result.total) == ("warning", 5, 8)
    assert "mostly-ignored" not in sy.check("segmentation", *half, options={"ignore": "255"})
