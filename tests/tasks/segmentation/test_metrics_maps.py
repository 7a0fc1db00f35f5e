"""Label maps by hand: what is counted of them, what is refused of them, and which words come with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core.metadata import Axis
from steelyard.core.options import Options
from steelyard.core.plan import UNITS
from steelyard.core.records import Records
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.task import Policy
from steelyard.tasks.segmentation.counts import (
    ClassPixels,
    ClassTable,
    Confusion,
    GroupPixels,
    ImageScore,
    PixelSums,
)
from steelyard.tasks.segmentation.data import Coded, CountedMaps, MapPairs, Scan, join
from steelyard.tasks.segmentation.labelling import OPTIONS


def sides(truth: Any, prediction: Any, ids: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = [f"i{k}" for k in range(len(truth))] if ids is None else ids
    return {"image": ids, "map": [np.array(one) for one in truth]}, {
        "image": ids,
        "map": [np.array(one) for one in prediction],
    }


def by_unit(pairs: Any, need: Any) -> Any:
    """What a statistic keeps of each unit."""
    return State.of(pairs, {need: None}).totals(UNITS)[need]


# Two images of 1 x 4: of the first a pixel of 0 is taken for 1; of the second 2 is right twice, 1 is missed, one is void.
TRUTH = [[[0, 0, 1, 1]], [[2, 2, 1, 255]]]
PREDICTED = [[[0, 1, 1, 1]], [[2, 2, 0, 1]]]


def test_pixels_of_maps() -> None:
    pairs = pairs_of("segmentation", *sides(TRUTH, PREDICTED), ignore=(255.0,), classes=3.0)
    assert pairs.metadata.axes == {"class": Axis((0, 1, 2)), "group": Axis(())}
    pixels = pairs.pixels
    rows = list(
        zip(*(column.tolist() for column in (pixels.owner, pixels.truth, pixels.predicted, pixels.count)), strict=True)
    )
    assert sorted(rows) == [(0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 2), (1, 1, 0, 1), (1, 2, 2, 2)]
    assert pixels.ignored.tolist() == [0, 1]
    assert pairs.scan.size.tolist() == [[1, 4], [1, 4]]
    table = ClassTable.of(pixels, 3)
    assert table.owner.tolist() == [0, 0, 1, 1, 1]
    assert table.label.tolist() == [0, 1, 0, 1, 2]
    assert table.pixels.tolist() == [[1, 2, 1], [2, 2, 3], [0, 0, 1], [0, 1, 0], [2, 2, 2]]
    work = SharedCache()
    assert PixelSums().measure(pairs, work).values.tolist() == [[4, 0, 0], [3, 1, 0]]
    image = ImageScore("iou").measure(pairs, work).values
    np.testing.assert_allclose(image, [[(1 / 2 + 2 / 3) / 2, 1], [1 / 3, 1]])
    dice = ImageScore("dice").measure(pairs, work).values
    np.testing.assert_allclose(dice, [[(2 / 3 + 4 / 5) / 2, 1], [1 / 3, 1]])


def test_a_table_of_no_class() -> None:
    none = np.zeros(0, dtype=np.int64)
    table = ClassTable.of(Coded(none, none, none, none, np.zeros(1)), 0)
    assert (table.owner.tolist(), table.label.tolist(), table.pixels.tolist()) == ([], [], [])
    void = pairs_of("segmentation", *sides([[[255, 255]]], [[[0, 1]]]), ignore=(255.0,), classes=2.0)
    assert ImageScore().measure(void, SharedCache()).values.tolist() == [[0, 0]]


def test_what_is_predicted_as_no_class_is_wrong() -> None:
    """7 is not a class: a pixel of 0 and one of 1 are wrong, and neither class has them predicted."""
    pairs = pairs_of("segmentation", *sides([[[0, 0, 1, 1]]], [[[0, 7, 1, 7]]]), classes=2.0, unknown="wrong")
    assert PixelSums().measure(pairs, SharedCache()).values.tolist() == [[4, 0, 2]]
    table = ClassTable.of(pairs.pixels, 2)
    assert (table.label.tolist(), table.pixels.tolist()) == ([0, 1], [[1, 2, 1], [1, 2, 1]])


def test_groups_of_classes() -> None:
    """Road and sidewalk are flat, so one for the other is right; a car for a road is wrong; 34 is not a class of theirs."""
    data = sides([[[0, 0, 1, 13]]], [[[1, 13, 1, 34]]])
    pairs = pairs_of("segmentation", *data, labels="cityscapes-train")
    names = ("construction", "flat", "human", "nature", "object", "sky", "vehicle")
    assert pairs.metadata.axes["group"] == Axis(names)
    assert pairs.metadata.flags["groups"].startswith("road:flat;sidewalk:flat;building:construction;wall:")
    groups = by_unit(pairs, GroupPixels())[0]
    assert groups[1].tolist() == [2, 3, 2, 1]
    assert groups[6].tolist() == [0, 1, 1, 1]
    assert groups[[0, 2, 3, 4, 5]].sum() == 0
    shown = values_of(
        "segmentation",
        *data,
        ["miou(groups=category)", "mdice(groups=category)"],
        options={"labels": "cityscapes-train"},
    )
    assert list(shown.values()) == pytest.approx([(2 / 3 + 0) / 2, (4 / 5 + 0) / 2])


def test_cells_of_classes() -> None:
    """Right, true, predicted and images; then truth by prediction, without what is predicted as no class."""
    data = sides([[[0, 0, 1]], [[1, 1, 1]]], [[[0, 1, 7]], [[1, 0, 0]]])
    pairs = pairs_of("segmentation", *data, classes=2.0, unknown="wrong")
    assert by_unit(pairs, ClassPixels()).tolist() == [[[1, 2, 1, 1], [0, 1, 1, 1]], [[0, 0, 2, 1], [1, 3, 1, 1]]]
    assert by_unit(pairs, Confusion()).tolist() == [[[1, 1], [0, 0]], [[0, 0], [2, 1]]]


def test_scans() -> None:
    parts = [
        (np.array([0, 3], np.uint8), np.array([1, 1], np.uint8), np.array([5, 6])),
        (np.array([2]), np.array([0]), np.array([9])),
    ]
    scan = Scan.of(parts, np.array([4, 2]), np.zeros((2, 2)))
    assert [column.tolist() for column in (scan.owner, scan.truth, scan.predicted, scan.count)] == [
        [4, 4, 2], [0, 3, 2], [1, 1, 0], [5, 6, 9],
    ]  # fmt: skip
    none = Scan.of([], np.zeros(0, int), np.zeros((0, 2)))
    assert [column.tolist() for column in (none.owner, none.truth, none.predicted, none.count)] == [[], [], [], []]


def counted() -> MapPairs:
    """Counts of images b, a and c, of which c is not asked for."""
    ids = np.array(["b", "a"], dtype=object)
    scan = Scan(
        np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([3, 1, 4]), np.array([[2, 2], [1, 4]])
    )
    truth, prediction = (CountedMaps(side, {"image": ids, "map": ids}, scan=scan) for side in ("truth", "predictions"))
    return join(truth, prediction, Policy(), Options(OPTIONS))


def test_maps_that_were_counted_elsewhere() -> None:
    pairs = counted()
    assert pairs.units.tolist() == ["a", "b"]
    assert [column.tolist() for column in (pairs.scan.owner, pairs.scan.truth, pairs.scan.predicted, pairs.scan.count)] == [
        [0, 1, 1], [1, 0, 1], [1, 0, 0], [4, 3, 1],
    ]  # fmt: skip
    assert pairs.scan.size.tolist() == [[1, 4], [2, 2]]
    assert by_unit(pairs, ClassPixels()).tolist() == [[[0, 0, 0, 0], [4, 4, 4, 1]], [[3, 3, 4, 1], [0, 1, 0, 1]]]
    with refuses("E-missing-data", "truth"):
        pairs.open_pair(0)  # fmt: skip


def test_weights_of_images_that_are_left() -> None:
    """b has no prediction and is left out with its weight: (2 * 1 + 3 * 0) / 5."""
    truth = {"image": ["a", "b", "c"], "map": np.array([[[1, 1]]] * 3), "sample_weight": [2.0, 7.0, 3.0]}
    prediction = {"image": ["c", "a"], "map": np.array([[[0, 0]], [[1, 1]]])}
    pairs = pairs_of("segmentation", truth, prediction, missing="skip")
    assert (pairs.units.tolist(), pairs.owner.tolist(), pairs.weight.tolist()) == (["a", "c"], [0, 1], [2, 3])
    assert pairs.partial.tolist() == [False, False]
    shown = values_of("segmentation", truth, prediction, ["accuracy"], missing="skip")
    assert shown == {"accuracy": pytest.approx(2 / 5)}


def test_an_image_without_a_prediction() -> None:
    """All of it is wrong and nothing is predicted: right 2 of 6, and no class gains a predicted pixel."""
    truth, prediction = sides([[[0, 1]], [[0, 0, 0, 1]]], [[[0, 1]], [[0, 0, 0, 1]]])
    missing = {name: values[:1] for name, values in prediction.items()}
    pairs = pairs_of("segmentation", truth, missing, missing="worst")
    assert by_unit(pairs, ClassPixels())[1].tolist() == [[0, 3, 0, 1], [0, 1, 0, 1]]
    assert PixelSums().measure(pairs, SharedCache()).values.tolist() == [[2, 0, 0], [4, 0, 4]]
    assert pairs.maps(1)[0].tolist() == [[0, 0, 0, 1]]
    assert pairs.maps(1)[1] is None
    asked = ["accuracy", "miou", "mbiou", "boundary_f1", "miou(level=image)"]
    shown = values_of("segmentation", truth, missing, asked, missing="worst")
    # Every pixel of rows of one is near an edge, so that boundary IoU is IoU; an edge without another has F1 0.
    assert list(shown.values()) == pytest.approx([2 / 6, (1 / 4 + 1 / 2) / 2, (1 / 4 + 1 / 2) / 2, 0.5, 0.5])


REFUSED: list[tuple[Any, Any, dict[str, Any], tuple[str, str, str]]] = [
    (
        [[[0, 0, 7, 7]], [[7, 9, 0, 0]]], [[[0, 0, 0, 0]]] * 2, {"classes": 2.0},
        ("E-unknown-name", "7", "row 0", "column 2", "'i0'"),
    ),
    (
        [[[0, 0], [0, 0]]], [[[0, 1], [5, 5]]], {"classes": 2.0},
        ("E-unknown-name", "5", "row 1", "column 0", "2", "row 0", "'i0'"),
    ),
    (
        [[[0, 3]]], [[[0, 1]]], {"truth.shift": -1.0},
        ("E-unknown-name", "row 0", "column 0", "1", "'i0'"),
    ),
    (
        [[[0, 3]]], [[[2, 0]]], {"prediction.shift": -1.0},
        ("E-unknown-name", "row 0", "column 1", "'i0'"),
    ),
    (
        [[[0, 3, 3]]], [[[0, 3]]], {},
        ("E-shape-mismatch", "3×1", "row 0", "'i0'", "2×1"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "prediction", "options", "said"), REFUSED, ids=[case[3][0] for case in REFUSED])
def test_maps_that_are_refused(
    truth: Any, prediction: Any, options: dict[str, Any], said: tuple[str, str, str]
) -> None:
    pairs = pairs_of("segmentation", *sides(truth, prediction), **options)
    with refuses(*said):
        _ = pairs.pixels


def save(path: Path, grid: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(np.array(grid, dtype=np.uint8)).save(path)
    return path


def test_files_that_are_refused(tmp_path: Path) -> None:
    flat, wide = [[0, 1], [1, 0]], [[[1, 2, 3], [4, 5, 6]]]
    for side in ("t", "p"):
        save(tmp_path / side / "x.png", flat)
        save(tmp_path / f"{side}3" / "x.PNG", wide)
    text = str(tmp_path / "t" / "x.png")

    def run(truth: str, prediction: str, **options: Any) -> Any:
        return sy.evaluate(
            "segmentation", tmp_path / truth, tmp_path / prediction, ["miou"], options=options, confidence=None
        )

    assert refusal(run, "t", "p", palette=["a=000000"]) == (
        "has no colours",
        text,
        "Its values are classes: leave out `palette`, or set `prediction.palette=FILE`.",
    )
    with refuses("E-shape-mismatch", "x.PNG", str(tmp_path / "t3" / "x.PNG")):
        run("t3", "p3")  # fmt: skip
    with refuses(
        "E-unknown-name",
        "#010203",
        "row 0",
        "column 0",
        "1",
        str(tmp_path / "t3" / "x.PNG"),
        "ignore=010203",
    ):
        run("t3", "p3", palette=["a=040506", "b=ffffff"])  # fmt: skip


def test_a_map_of_three_axes() -> None:
    pairs = pairs_of("segmentation", *sides([[[0, 1]]], [[[0, 1]]]))
    solid = {"case": ["i0"], "map": np.zeros((1, 2, 2, 2), dtype=np.uint8)}
    packed = pairs_of("volumes", solid, solid).truth["map"]
    records = Records("truth", {"image": np.array(["i0"], dtype=object), "map": packed})
    with_volume = replace(pairs, truth=records)
    with refuses("E-shape-mismatch", "3", "row 0", "'i0'", "row 0 (image 'i0')"):
        with_volume.open_pair(0)
