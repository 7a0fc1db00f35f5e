"""Volumes by hand: structures of cases, distances, lesions, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core.metadata import Axis
from steelyard.core.plan import UNITS
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.volumes import data
from steelyard.tasks.volumes.cases import (
    CaseMean,
    CaseScore,
    Lesion,
    case_extents,
    case_values,
    case_voxels,
    lesion_distance,
    lesion_score,
    lesions,
    part_quality,
    surface_figure,
)
from steelyard.tasks.volumes.data import Case, Scanned, regions_of

nan, inf = np.nan, np.inf
DIAGONAL = math.sqrt(2**2 * 3**2 + 4**2)  # of 2 x 4 voxels of 3 x 1 mm


def cases(truth: Any, prediction: Any, **columns: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = [f"c{k}" for k in range(len(truth))]
    return (
        {"case": ids, "map": [np.array(one) for one in truth], **columns},
        {"case": ids, "map": [np.array(one) for one in prediction]},
    )


# Of c0 four voxels are true, six predicted, four shared; c1 has the structure in the truth alone, c2 in the prediction
# alone, c3 on neither side.
FOUR = [[1, 1, 0, 0], [1, 1, 0, 0]]
SIX = [[1, 1, 1, 0], [1, 1, 1, 0]]
NONE = [[0] * 4] * 2
TRUTH, FOUND = [FOUR, FOUR, NONE, NONE], [SIX, NONE, SIX, NONE]


def kept(figure: str, **settings: Any) -> list[list[float]]:
    """Value, number, on one side only, on neither, without a number: of each case."""
    pairs = pairs_of("volumes", *cases(TRUTH, FOUND), spacing=(3.0, 1.0))
    need = CaseScore(figure, **settings)
    shown = State.of(pairs, {need: None}).totals(UNITS)[need][:, 0]
    return [[float(v) for v in row] for row in shown]


MISSED, EMPTY, BARE = [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("figure", "value", "missed", "false"),
    [
        ("dice", 8 / 10, MISSED, MISSED), ("iou", 4 / 6, MISSED, MISSED), ("ppv", 4 / 6, MISSED, MISSED),
        ("sensitivity", 1, MISSED, BARE), ("volume_error", 2 / 4, [1, 1, 1, 0, 0], BARE),
    ],
)  # fmt: skip
def test_overlaps_of_cases(figure: str, value: float, missed: list[float], false: list[float]) -> None:
    assert kept(figure) == [pytest.approx([value, 1, 0, 0, 0]), missed, false, EMPTY]
    best = 0 if figure == "volume_error" else 1
    assert kept(figure, both_empty="best")[3] == [best, 1, 0, 1, 0]


def test_volumes_of_cases() -> None:
    """Voxels of 3 mm³: two more, four less, six more, none; every case has a number."""
    assert kept("volume_bias") == [
        pytest.approx([0.006, 1, 0, 0, 0]), pytest.approx([-0.012, 1, 1, 0, 0]), pytest.approx([0.018, 1, 1, 0, 0]),
        [0, 1, 1, 0, 0],
    ]  # fmt: skip


def test_distances_of_cases() -> None:
    """The third column lies 1 mm from the second."""
    for surface in ("elements", "voxels"):
        first, *others = kept("hd", surface=surface)
        assert first == [1, 1, 0, 0, 0]
        assert others == [pytest.approx([DIAGONAL, 1, 1, 0, 0])] * 2 + [EMPTY]
    assert kept("hd", missed="skip")[1:] == [BARE, BARE, EMPTY]
    assert kept("hd", missed=374)[1] == [374, 1, 1, 0, 0]
    assert kept("hd", missed="inf")[1] == [inf, 1, 1, 0, 0]
    assert kept("hd", both_empty="best")[3] == [0, 1, 0, 1, 0]
    assert kept("nsd", at=1.0) == [[1, 1, 0, 0, 0], MISSED, MISSED, EMPTY]
    assert kept("nsd", at=1.0, both_empty="best")[3] == [1, 1, 0, 1, 0]
    assert kept("assd", surface="voxels", missed=7.0) == [
        pytest.approx([2 / 10, 1, 0, 0, 0]), [7, 1, 1, 0, 0], [7, 1, 1, 0, 0], EMPTY,
    ]  # fmt: skip
    assert kept("asd", surface="voxels", of="truth")[0] == [0, 1, 0, 0, 0]
    assert kept("asd", surface="voxels")[0] == pytest.approx([2 / 6, 1, 0, 0, 0])
    assert kept("masd", surface="voxels")[0] == pytest.approx([1 / 6, 1, 0, 0, 0])


def test_lesions_of_cases() -> None:
    assert kept("lesion_f1", at=1.0) == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], EMPTY]
    assert kept("lesion_f1", at=1.0, minimum=12.0) == [EMPTY, EMPTY, [0, 1, 0, 0, 0], EMPTY]
    assert kept("lesion_dice", at=1.0)[0] == pytest.approx([0.8, 1, 0, 0, 0])
    assert kept("lesion_pq", at=0.0) == [pytest.approx([4 / 6, 1, 0, 0, 0]), [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], EMPTY]
    assert kept("lesion_hd", at=1.0) == [
        [1, 1, 0, 0, 0], pytest.approx([DIAGONAL, 1, 0, 0, 0]), pytest.approx([DIAGONAL, 1, 0, 0, 0]), EMPTY,
    ]  # fmt: skip
    assert kept("lesion_hd", at=1.0, missed=374)[1] == [374, 1, 0, 0, 0]
    assert kept("lesion_hd", at=1.0, percentile=10.0)[0] == [0, 1, 0, 0, 0]


def test_means_of_cases() -> None:
    """Structures 1 and 2: Dice 1 and 2/3 in the first case, 0 in the second, which has no 2; the third has neither."""
    truth, predicted = [[[1, 2, 2]], [[1, 0, 0]], [[0, 0, 0]]], [[[1, 2, 0]], [[0, 0, 0]], [[0, 0, 0]]]
    pairs = pairs_of("volumes", *cases(truth, predicted))
    assert pairs.metadata.axes == {"structure": Axis((1, 2), whole=True)}
    np.testing.assert_allclose(CaseMean().measure(pairs, SharedCache()).values, [[(1 + 2 / 3) / 2, 1], [0, 1], [0, 0]])
    assert case_voxels(pairs, SharedCache()).tolist() == [
        [[1, 1, 1], [2, 1, 1]],
        [[1, 0, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
    ]
    shown = values_of(
        "volumes", *cases(truth, predicted), ["dice", "dice(average=case)", "dice(label=each)", "iou(label=2)"]
    )
    assert shown == {
        "dice": pytest.approx((1 / 2 + 2 / 3) / 2), "dice(average=case)": pytest.approx((5 / 6) / 2), "dice(label=1)": 0.5,
        "dice(label=2)": pytest.approx(2 / 3), "iou(label=2)": 0.5,
    }  # fmt: skip


def test_all_kinds_of_surfaces_where_none_is_asked_for() -> None:
    pairs = pairs_of("volumes", *cases(TRUTH[:1], FOUND[:1]), spacing=(3.0, 1.0))
    for surface in ("elements", "voxels"):
        assert case_values(CaseScore("hd", surface=surface), pairs, SharedCache())[0, 0].tolist() == [1, 1, 0, 0, 0]
    np.testing.assert_allclose(case_extents(pairs), [[3, DIAGONAL]])


# From the truth's surface distances 0, 1 and 3 of weights 2, 1, 1; from the prediction's 0 and 2 of weights 1 and 2.
EVENTS: Any = tuple(
    np.array(one) for one in ([0.0, 1, 3], [2.0, 1, 1], [2, 1, 1], [0.0, 2], [1.0, 2], [1, 2])
)  # fmt: skip
FIGURES: list[tuple[dict[str, Any], float]] = [
    ({"figure": "nsd", "at": 0.0}, 3 / 7), ({"figure": "nsd", "at": 1.0}, 4 / 7), ({"figure": "nsd", "at": 2.0}, 6 / 7),
    ({"figure": "asd", "of": "truth"}, 1), ({"figure": "asd", "of": "prediction"}, 4 / 3),
    ({"figure": "masd"}, 7 / 6), ({"figure": "assd"}, 8 / 7),
    *(({"figure": "hd", "at": at, "rule": "area"}, value) for at, value in ((100, 3), (95, 3), (75, 2), (50, 2), (30, 0))),
    *(({"figure": "hd", "at": at, "rule": "linear"}, value) for at, value in ((100, 3), (95, 2.7), (50, 2), (30, 1.2))),
    *(({"figure": "hd", "at": at, "rule": "pooled"}, value) for at, value in ((100, 3), (50, 1), (30, 0), (95, 2.7))),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "value"), FIGURES)
def test_figures_of_surfaces(asked: dict[str, Any], value: float) -> None:
    assert surface_figure(CaseScore(**asked), EVENTS) == pytest.approx(value)
    assert surface_figure(CaseMean(**asked), EVENTS) == pytest.approx(value)


def row(*values: int) -> Any:
    return np.array([values], dtype=np.uint8)


TWO = row(1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0)
PARTS = row(1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1)


def measure(truth: Any, prediction: Any) -> float:
    return float(10 * truth.sum() + prediction.sum())


def test_lesions_are_found_by_parts_that_touch_them() -> None:
    """Half of the first is found; beside the second lies a part; the third part touches none."""
    assert lesions(TWO, PARTS, 2.0, 1) == ([Lesion(4, 2 / 3, 1), Lesion(2, 0, 1)], 1)
    assert lesions(TWO, PARTS, 2.0, 0) == ([Lesion(4, 2 / 3, 1), Lesion(2, 0, 0)], 2)
    assert lesions(TWO, PARTS, 1.0, 3) == ([Lesion(3, 2 / 5, 2)], 1)  # dilation joins them
    assert lesions(TWO, PARTS, 2.0, 1, measure) == ([Lesion(4, 2 / 3, 1, 21), Lesion(2, 0, 1, 11)], 1)
    assert lesions(TWO, row(*[0] * 12), 2.0, 1, measure) == ([Lesion(4, 0, 0), Lesion(2, 0, 0)], 0)


@pytest.mark.parametrize(
    ("minimum", "f1", "dice", "distance"),
    [
        (0, 4 / 5, (2 / 3) / 3, 132 / 3),
        (1.9, 4 / 5, (2 / 3) / 3, 132 / 3),
        (2, 2 / 3, (2 / 3) / 2, 121 / 2),
        (4, 0, 0, 100),
    ],
)
def test_scores_of_lesions(minimum: float, f1: float, dice: float, distance: float) -> None:
    """Lesions of 4 and 2 mm³, of which those up to the minimum do not count; the false part always does, as 100."""
    assert lesion_score("lesion_f1", TWO, PARTS, 2.0, 1, minimum) == pytest.approx(f1)
    assert lesion_score("lesion_dice", TWO, PARTS, 2.0, 1, minimum) == pytest.approx(dice)
    assert lesion_distance(TWO, PARTS, 2.0, 1, minimum, 100.0, measure) == pytest.approx(distance)


def test_lesions_that_are_missed() -> None:
    none = row(*[0] * 12)
    half = row(1, *[0] * 11)
    assert lesion_score("lesion_f1", TWO, half, 1.0, 1, 0) == pytest.approx(2 / 3)
    assert lesion_distance(TWO, half, 1.0, 1, 0, 100.0, measure) == pytest.approx((21 + 100) / 2)
    for minimum in (0, 2):
        assert lesion_score("lesion_f1", none, PARTS, 1.0, 1, minimum) == 0
    assert math.isnan(lesion_score("lesion_dice", none, none, 1.0, 1, 0))
    assert math.isnan(lesion_score("lesion_dice", TWO, half, 1.0, 1, 2))
    assert math.isnan(lesion_distance(none, none, 1.0, 1, 0, 1.0, measure))
    assert math.isnan(lesion_distance(TWO, half, 1.0, 1, 2, 1.0, measure))


def test_quality_of_parts() -> None:
    """2 of 3 is a pair; 1 of 2 is none: a missed and a false part."""
    assert part_quality(row(1, 1, 1, 0, 1, 1), row(1, 1, 0, 0, 1, 0)) == pytest.approx((2 / 3) / (1 + 0.5 + 0.5))
    assert part_quality(row(1, 1, 0, 0), row(0, 0, 0, 0)) == 0
    assert part_quality(row(0, 0, 0, 0), row(1, 0, 1, 0)) == 0
    assert part_quality(row(1, 0, 1, 0, 1), row(1, 0, 1, 0, 0)) == pytest.approx(2 / 2.5)
    assert math.isnan(part_quality(row(0, 0), row(0, 0)))


def test_masks_of_structures() -> None:
    """The box around label 1 or 3 of both sides, with a margin that ends at the rim."""
    truth, predicted = np.zeros((2, 5, 6), dtype=np.uint8)
    truth[1, 2], truth[4, 5], predicted[2, 3] = 1, 2, 3
    case = Case(truth, predicted, None, "here")
    first, second = case.masks((1, 3))  # type: ignore[misc]
    assert (first.tolist(), second.tolist()) == ([[1, 0], [0, 0]], [[0, 0], [0, 1]])
    first, second = case.masks((1, 3), 2)  # type: ignore[misc]
    assert first.shape == (5, 6)
    assert (np.argwhere(first).tolist(), np.argwhere(second).tolist()) == ([[1, 2]], [[2, 3]])
    first, second = case.masks((1,), 1)  # type: ignore[misc]
    assert (first.shape, np.argwhere(first).tolist(), second.any()) == ((3, 3), [[1, 1]], False)
    assert case.masks((2,))[0].tolist() == [[1]]  # type: ignore[index]
    assert case.masks((3,))[1].tolist() == [[1]]  # type: ignore[index]
    assert case.masks((7,)) is None


def test_regions() -> None:
    assert regions_of(None) == regions_of("") == regions_of(" ; ") == {}
    assert regions_of("WT=1,2, 3; ET = 3 ;") == {"WT": (1, 2, 3), "ET": (3,)}
    for part in ("ET", "ET=", "=1", "ET=x", "ET=0", "ET=1,-2", "ET 3"):
        with refuses("E-invalid-setting", "regions", f"'{part}'"):
            regions_of(f"WT=1; {part}")  # fmt: skip
    with refuses("E-invalid-setting", "regions", "'ET=2'"):
        regions_of("ET=1; ET=2")
    pairs = pairs_of("volumes", *cases([[[1, 2, 3]]], [[[1, 1, 0]]]), regions="WT=1,2,3; ET=3; A=9")
    assert pairs.metadata.axes == {"structure": Axis(("A", "ET", "WT"))}
    assert case_voxels(pairs, SharedCache()).tolist() == [[[0, 0, 0], [1, 0, 0], [3, 2, 2]]]


def test_sizes_of_voxels() -> None:
    known = Scanned((np.zeros(0),) * 3, (2, 4), np.array([3.0, 1.0]), "here")
    assert (known.voxel, known.diagonal()) == (3, pytest.approx(DIAGONAL))
    unknown = Scanned((np.zeros(0),) * 3, (2, 4, 5), None, "here")
    said = ("the size of a voxel is not known", "here", "Set the option `spacing=1,1,1`, in mm along each axis.")
    assert refusal(unknown.sizes) == refusal(unknown.diagonal) == said
    sizes = {"spacing": [[2.0, 1.0], [1.0, 5.0]]}
    pairs = pairs_of("volumes", *cases(TRUTH[:2], FOUND[:2], **sizes))
    assert [one.spacing.tolist() for one in pairs.scan] == [[2, 1], [1, 5]]
    other = pairs_of("volumes", *reversed(cases(TRUTH[:1], FOUND[:1], spacing=[[2.0, 1.0]])))
    assert other.scan[0].spacing.tolist() == [2, 1]
    near = cases(TRUTH[:1], FOUND[:1], spacing=[[2.0, 1.0]])
    near[1]["spacing"] = [[2.0009, 1.0]]
    assert pairs_of("volumes", *near).scan[0].spacing.tolist() == [2, 1]


WHERE = "truth, row 0 (case 'c0')"
FAULTS: list[tuple[Any, Any, dict[str, Any], tuple[str, str, str]]] = [
    (
        {}, {"map": [np.zeros((2, 5), int)]}, {},
        ("E-shape-mismatch", "2×4", "row 0", "'c0'", "2×5"),
    ),
    (
        {"spacing": [[2.0, 1.0]]}, {"spacing": [[2.0, 1.5]]}, {},
        ("E-shape-mismatch", "spacing", "2×1.5", "row 0", "'c0'"),
    ),
    (
        {"spacing": [[2.0, 1.0, 1.0]]}, {}, {},
        ("E-shape-mismatch", "spacing", "2×1×1", "row 0", "'c0'"),
    ),
    (
        {}, {"spacing": [[0.0, 1.0]]}, {},
        ("E-shape-mismatch", "spacing", "0×1", "2", "row 0", "'c0'"),
    ),
    ({}, {}, {"spacing": (2.0,)}, ("E-shape-mismatch", "spacing", "2", "row 0", "'c0'")),
    ({}, {}, {"spacing": (2.0, 0.0)}, ("E-out-of-range", "spacing", "2×0")),
]  # fmt: skip


@pytest.mark.parametrize(("true", "predicted", "options", "said"), FAULTS, ids=[case[3][0] for case in FAULTS])
def test_volumes_that_are_refused(
    true: Any, predicted: Any, options: dict[str, Any], said: tuple[str, str, str]
) -> None:
    truth, prediction = cases(TRUTH[:1], FOUND[:1])
    with refuses(*said):
        _ = pairs_of("volumes", {**truth, **true}, {**prediction, **predicted}, **options).scan


def test_places_of_volumes() -> None:
    """Axes are those of the file: columns of the affine."""
    eye = np.eye(4)
    assert (
        data._same_place(None, eye, "")
        is data._same_place(eye, None, "")
        is data._same_place(eye, eye + 9e-4, "")
        is None
    )
    for axis in range(3):
        mirrored = np.eye(4)
        mirrored[axis, axis] = -1
        with refuses("E-incompatible", str(axis), "here"):
            data._same_place(eye, mirrored, "here")  # fmt: skip
    moved = np.eye(4)
    moved[1, 3] = 12.3456
    with refuses("E-incompatible", "12.3", "here"):
        data._same_place(eye, moved, "here")  # fmt: skip


def test_a_lost_file_and_a_missing_prediction(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array(FOUR))
    lost = {"case": ["c0"], "map": [str(tmp_path / "b.npy")]}
    truth = {"case": ["c0"], "map": [str(tmp_path / "a.npy")]}
    with refuses("E-missing-file", f"'{tmp_path / 'b.npy'}'"):
        _ = pairs_of("volumes", truth, lost).scan
    two = cases(TRUTH[:2], FOUND[:2])
    pairs = pairs_of(
        "volumes", two[0], {name: values[:1] for name, values in two[1].items()}, missing="worst", spacing=(3.0, 1.0)
    )
    assert case_voxels(pairs, SharedCache()).tolist() == [[[4, 6, 4]], [[4, 0, 0]]]
    assert pairs.scan[1].voxel == 3
    assert pairs.case(1).where == "truth, row 1 (case 'c1')"
    assert sy.evaluate("volumes", truth, truth, ["dice"], confidence=None)["dice"].value == 1
