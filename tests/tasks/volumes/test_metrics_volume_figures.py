"""What is shown of volumes, by hand: pictures voxel by voxel, tables, curves, settings, and what other tools print."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.asked import pairs_of, pixels, refusal, values_of
from support.refusal import refuses
from support.shown import agree, check_figure, check_table
from test_metrics_volumes import FOUND, TRUTH, cases

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.explanation import Step
from steelyard.core.plan import POINT
from steelyard.core.scene import Steps
from steelyard.core.state import State
from steelyard.maps.raster import PALETTE
from steelyard.tasks.volumes import views
from steelyard.tasks.volumes.cases import CaseMean, CaseScore
from steelyard.tasks.volumes.views import explain

nan, inf = np.nan, np.inf
ONE, TWO, THREE = PALETTE[:3]
GROUND, RIGHT, MISSED, FALSE, OTHER = "f4f4f4", "cfe8cf", "2f6fb2", "d7263d", "f2c14e"
DICE = catalogue.parse("dice", "volumes")

REFUSED = {
    "dice(average=mean)": ("metric 'dice': average cannot be mean", "Choose one of: structure, case."),
    "iou(both_empty=0)": ("metric 'iou': both_empty cannot be 0", "Choose one of: skip, best."),
    "hd(surface=points)": ("metric 'hd': surface cannot be points", "Choose one of: elements, voxels."),
    "assd(missed=-1)": ("metric 'assd': missed cannot be -1", 'It must be a number from 0 up, or one of: diagonal, skip, "inf".'),
    "assd(missed=true)": ("metric 'assd': missed cannot be true", 'It must be a number from 0 up, or one of: diagonal, skip, "inf".'),
    "assd(missed=never)": ("metric 'assd': missed cannot be never", 'It must be a number from 0 up, or one of: diagonal, skip, "inf".'),
    "hd@0": ("metric 'hd': percentile cannot be 0", "It must be a number above 0 and at most 100."),
    "hd@100.5": ("metric 'hd': percentile cannot be 100.5", "It must be a number above 0 and at most 100."),
    "hd(rule=middle)": ("metric 'hd': rule cannot be middle", "Choose one of: area, linear, pooled."),
    "hd(like=itk)": ("metric 'hd': like cannot be itk", "Choose one of: deepmind, monai, medpy, none."),
    "hd(surface=voxels, like=monai)": (
        "'hd(surface=voxels, like=monai)': like= says surface and rule itself", "Leave the others out.",
    ),
    "hd(rule=linear, like=monai)": (
        "'hd(rule=linear, like=monai)': like= says surface and rule itself", "Leave the others out.",
    ),
    "asd(of=both)": ("metric 'asd': of cannot be both", "Choose one of: prediction, truth."),
    "nsd(tolerance=-0.5)": ("metric 'nsd': tolerance cannot be -0.5", "It must be a number from 0 up."),
    "lesion_f1(dilation=101)": ("metric 'lesion_f1': dilation cannot be 101", "It must be a number from 0 to 100."),
    "lesion_f1(dilation=-1)": ("metric 'lesion_f1': dilation cannot be -1", "It must be a number from 0 to 100."),
    "lesion_dice(dilation=1.5)": ("metric 'lesion_dice': dilation is a whole number", "BraTS takes 1 or 3."),
    "lesion_dice(minimum=-1)": ("metric 'lesion_dice': minimum cannot be -1", "It must be a number from 0 up."),
    "lesion_hd@0": ("metric 'lesion_hd': percentile cannot be 0", "It must be a number above 0 and at most 100."),
    "lesion_hd@101": ("metric 'lesion_hd': percentile cannot be 101", "It must be a number above 0 and at most 100."),
    "lesion_hd(missed=skip)": ("metric 'lesion_hd': missed cannot be skip", "It must be a number from 0 up, or one of: diagonal."),
    "lesion_hd(missed=false)": ("metric 'lesion_hd': missed cannot be false", "It must be a number from 0 up, or one of: diagonal."),
    "lesion_hd(missed=-1)": ("metric 'lesion_hd': missed cannot be -1", "It must be a number from 0 up, or one of: diagonal."),
    "dice(label=7)": ("there is no structure '7'", "Known: 1."),
}  # fmt: skip


@pytest.mark.parametrize("spec", REFUSED)
def test_settings_that_are_refused(spec: str) -> None:
    what, remedy = REFUSED[spec]
    assert refusal(values_of, "volumes", *cases(TRUTH, FOUND), [spec]) == (what, "", remedy)


BASE = {"both_empty": "skip"}
SURFACE = {**BASE, "surface": "elements", "missed": "diagonal"}
KEPT: dict[str, dict[str, Any]] = {
    "dice": BASE, "iou(both_empty=best)": {"both_empty": "best"},
    "hd": {**SURFACE, "rule": "area", "at": 100.0}, "hd@95": {**SURFACE, "rule": "area", "at": 95.0},
    "hd@95(surface=voxels, rule=pooled, missed=0)": {**SURFACE, "surface": "voxels", "rule": "pooled", "at": 95.0, "missed": 0},
    "hd(like=deepmind)": {**SURFACE, "rule": "area", "at": 100.0},
    "hd@95(like=monai)": {**SURFACE, "surface": "voxels", "rule": "linear", "at": 95.0},
    "hd@95(like=medpy)": {**SURFACE, "surface": "voxels", "rule": "pooled", "at": 95.0},
    "asd(of=truth, missed=skip, both_empty=best)": {**SURFACE, "of": "truth", "missed": "skip", "both_empty": "best"},
    "assd(missed=inf)": {**SURFACE, "missed": inf},
    "masd(surface=voxels)": {**SURFACE, "surface": "voxels"},
    "nsd(tolerance=2)": {**SURFACE, "at": 2.0}, "nsd(tolerance=0, missed=skip)": {**SURFACE, "at": 0.0},
    "lesion_f1": {**BASE, "at": 1.0, "minimum": 0.0}, "lesion_dice(dilation=3, minimum=50)": {**BASE, "at": 3.0, "minimum": 50.0},
    "lesion_f1(dilation=0)": {**BASE, "at": 0.0, "minimum": 0.0}, "lesion_f1(dilation=100)": {**BASE, "at": 100.0, "minimum": 0.0},
    "lesion_hd@90(missed=374)": {**BASE, "at": 1.0, "minimum": 0.0, "percentile": 90.0, "missed": 374},
    "lesion_hd(missed=0)": {**BASE, "at": 1.0, "minimum": 0.0, "percentile": 95.0, "missed": 0},
    "lesion_pq": {**BASE, "at": 0.0},
}  # fmt: skip


@pytest.mark.parametrize("spec", KEPT)
def test_what_settings_ask_for(spec: str) -> None:
    metric: Any = catalogue.parse(spec, "volumes")
    figure = spec.partition("(")[0].partition("@")[0]
    assert metric.settings() == KEPT[spec]
    assert metric.requirements() == (CaseScore(figure, **KEPT[spec]),)
    by_case: Any = catalogue.parse(f"{metric.name}(average=case)", "volumes")
    assert by_case.requirements() == (by_case.statistic(), CaseMean(figure, **by_case.settings()))


def test_what_metrics_are_called_and_shown_by() -> None:
    named = {
        "dice": "Dice", "dice(label=3)": "Dice: 3", "iou(average=case)": "IoU, mean of cases",
        "hd(label=3, average=case)": "Hausdorff distance: 3, mean of cases", "hd@95": "Hausdorff distance, 95 %",
        "hd@97.5(label=2, like=monai)": "Hausdorff distance, 97.5 %: 2, as monai", "nsd": "Normalised surface distance at 1 mm",
        "nsd(tolerance=0.5, label=2)": "Normalised surface distance at 0.5 mm: 2",
    }  # fmt: skip
    assert {spec: catalogue.parse(spec, "volumes").label for spec in named} == named
    shown = {cls.name: [str(one) for one in cls.examples()] for cls in catalogue.find_task("volumes").metrics}
    assert shown == {
        **{name: [name] for name in (
            "iou", "sensitivity", "ppv", "volume_error", "volume_bias", "asd", "masd", "nsd", "lesion_f1", "lesion_dice",
            "lesion_pq",
        )},
        "lesion_hd": ["lesion_hd@95.0"],
        "dice": ["dice", "dice(average=case)", "dice(both_empty=best)"],
        "hd": ["hd", "hd@95", "hd@95(like=deepmind)", "hd@95(like=monai)", "hd@95(like=medpy)", "hd(missed=skip)"],
        "assd": ["assd", "assd(surface=voxels)"],
    }  # fmt: skip


STANDS = "{} has 2 structures of cases on one side only, {}."
NOTED = {
    "dice": (1, "counted as 0"), "iou(both_empty=best)": (0, "counted as 0"), "sensitivity": (2, "counted as 0"),
    "volume_error": (2, "counted as 1, or without a number where the truth has none"), "volume_bias": (0, ""),
    "hd": (1, "counted as the diagonal of the volume"), "hd(missed=skip)": (3, "left out"), "hd(missed=374)": (1, "counted as 374 mm"),
    "assd(missed=inf)": (1, "counted as inf mm"), "nsd(missed=skip)": (1, "counted as 0"), "dice(label=1)": (1, "counted as 0"),
    "lesion_f1": (1, ""),
}  # fmt: skip


@pytest.mark.parametrize("spec", NOTED)
def test_what_is_noted_and_left_out(spec: str) -> None:
    left, counted = NOTED[spec]
    report = sy.evaluate("volumes", *cases(TRUTH, FOUND), [spec], options={"spacing": "3,1"}, confidence=None)
    score = report[spec]
    assert list(score.notes) == ([STANDS.format(spec, counted)] if counted else [])
    assert (score.n_excluded, score.excluded) == (left, "structures of cases, which have no number" if left else "")


def test_a_structure_that_a_slice_does_not_have() -> None:
    pairs = pairs_of("volumes", *cases(TRUTH, FOUND))
    metric: Any = catalogue.parse("dice(label=9)", "volumes")
    totals = State.of(pairs, dict.fromkeys(metric.requirements())).totals(POINT)
    assert np.isnan(totals.of(metric)).tolist() == [True]
    assert metric.excluded(totals) == (0, "structures of cases, which have no number")
    assert metric.notes(totals) == ()


def test_every_voxel_of_a_picture() -> None:
    truth, predicted = np.array([[0, 1, 2, 1], [0, 3, 0, 0]]), np.array([[0, 1, 1, 0], [2, 3, 0, 0]])
    assert [pixels(one) for one in views.slice_pictures(truth, predicted, 9)] == [
        [[GROUND, ONE, TWO, ONE], [GROUND, THREE, GROUND, GROUND]],
        [[GROUND, ONE, ONE, GROUND], [TWO, THREE, GROUND, GROUND]],
        [[GROUND, RIGHT, OTHER, MISSED], [FALSE, RIGHT, GROUND, GROUND]],
    ]
    assert [pixels(one) for one in views.slice_pictures(truth, predicted, 2)] == [
        [[GROUND, TWO]],
        [[GROUND, ONE]],
        [[GROUND, OTHER]],
    ]
    assert views.MEANINGS == (("right", RIGHT), ("missed", MISSED), ("made up", FALSE), ("another label", OTHER))


def test_flat_masks() -> None:
    """Without a size of voxels each is a pixel; with one the picture is as wide as the mask."""
    data = cases([[[0, 1, 2]] * 2], [[[0, 1, 1]] * 2])
    for spacing, width, height in (((), 3, 2), ((0.5, 2.0), 6, 1)):
        pairs = pairs_of("volumes", *data, spacing=spacing)
        assert views.steps(pairs, 0) is None
        shown = views.scene(pairs, 0, DICE)
        assert (shown.title, shown.summary) == (
            "Case c0: 2 wrong voxels",
            "4 true and 4 predicted voxels of all labels",
        )
        assert shown.bounds == (0, 0, width, height)
        assert [(one.title, one.w, one.h) for one in shown.rasters] == [
            (title, width, height) for title in ("Truth", "Prediction", "Difference")
        ]
        assert pixels(shown.rasters[2].png) == [[GROUND, RIGHT, OTHER]] * 2
        assert shown.legend == (("label 1", ONE), ("label 2", TWO), *views.MEANINGS)
        with refuses("E-unknown-name", "'c0'", "slice 0"):
            views.scene(pairs, 0, DICE, 0)
    figure = views.slices(pairs)
    assert (figure.columns["image"], figure.columns["cost"]) == (["c0"], [2 / 8])


def test_slices_of_a_volume() -> None:
    """The second of three slices has the most wrong voxels, and the first nothing."""
    truth, predicted = np.zeros((2, 2, 3, 2, 3), dtype=np.uint8)
    truth[1, 1, 0] = predicted[1, 2, 0] = truth[1, 2, 0] = 5
    predicted[1, 2, 1, 1] = 6
    pairs = pairs_of("volumes", *cases(truth, predicted), spacing=(9.0, 2.0, 3.0))
    assert views.wrong_by_slice(pairs.case(1)).tolist() == [0, 3, 1]
    assert views.steps(pairs, 1) == Steps("slice", (1, 2), {"wrong voxels": (3, 1)}, 1)
    shown = views.scene(pairs, 1, DICE)
    assert shown.title == "Case c1, slice 1: 3 wrong voxels"
    assert shown.bounds == (0, 0, 9, 4)
    assert pixels(shown.rasters[2].png) == [[MISSED] * 3, [GROUND] * 3]
    assert views.scene(pairs, 1, DICE, 2).summary == "3 true and 4 predicted voxels of all labels"
    figure = views.slices(pairs)
    assert figure.columns["image"] == ["c1, slice 1", "c0, slice 0"]
    assert figure.columns["cost"] == pytest.approx([4 / 10, 0])
    assert pixels(figure.columns["errors"][0]) == [[MISSED] * 3, [GROUND] * 3]
    assert pixels(figure.columns["truth"][0]) == [[PALETTE[4]] * 3, [GROUND] * 3]
    assert pixels(figure.columns["prediction"][0]) == [[GROUND] * 3] * 2
    assert figure.facts["legend"] == [["label 5", PALETTE[4]], *map(list, views.MEANINGS)]


def test_columns_of_tables() -> None:
    """Dice 0.8, 0, 0 of cases that have the structure; the distance of 1 mm and two of the diagonal."""
    asked = ["dice", "hd@95", "nsd(tolerance=0.5)", "assd(surface=voxels)", "volume_error", "dice(average=case)"]
    report = sy.evaluate("volumes", *cases(TRUTH, FOUND), asked, options={"spacing": "3,1"}, confidence=None)
    far = math.sqrt(36 + 16)
    titles = ["dice", "hd@95 (elements, area)", "nsd at 0.5 mm (elements)", "assd (voxels)", "volume_error"]
    table = report.table("structures")
    near = table.values[0, 2]
    assert 0 < near < 1 / 3
    check_table(
        table, ("structures", "Structures", "structure"), ["1"], [*titles, "on one side only", "on neither side"],
        [[0.8 / 3, (1 + 2 * far) / 3, near, (0.2 + 2 * far) / 3, (0.5 + 1) / 2, 2, 1]],
    )  # fmt: skip
    listing = report.listing()
    assert listing is not None
    columns = dict(listing.columns)
    own = columns.pop("nsd at 0.5 mm (elements)")
    assert np.asarray(own)[1:].tolist() == pytest.approx([0, 0, nan], nan_ok=True)
    agree(columns, {
        "case": ["c0", "c1", "c2", "c3"], "dice": [0.8, 0, 0, nan], "hd@95 (elements, area)": [1, far, far, nan],
        "assd (voxels)": [0.2, far, far, nan], "volume_error": [0.5, 1, nan, nan], "structures on one side only": [0, 1, 1, 0],
    })  # fmt: skip
    assert listing.x == "dice"
    assert list(report.figures) == ["slices", "dice_volume", "bland_altman", "nsd_tolerance"]
    assert report.figure("bland_altman").columns["y"].tolist() == pytest.approx([0.006, -0.012, 0.018])
    assert report.figure("nsd_tolerance").columns == views.nsd_by_tolerance(report.details.pairs, "elements").columns
    only = sy.evaluate(
        "volumes", *cases(TRUTH, FOUND), ["assd(surface=voxels)"], options={"spacing": "3,1"}, confidence=None
    )
    assert only.figure("nsd_tolerance").columns == views.nsd_by_tolerance(only.details.pairs, "voxels").columns
    assert list(sy.evaluate("volumes", *cases(TRUTH, FOUND), ["dice"], confidence=None).figures) == [
        "slices",
        "dice_volume",
    ]


def test_three_planes_of_the_worst_case() -> None:
    """A voxel is missed in the second case. It is 3 mm high, so the planes along the other axes have 9 rows."""
    truth = [np.zeros((3, 4, 5), np.uint8) for _ in range(2)]
    truth[0][0], truth[1][1, 2, 3] = 1, 1
    predicted = [truth[0], np.zeros((3, 4, 5), np.uint8)]
    sides = [{"case": ["a", "b"], "map": maps} for maps in (truth, predicted)]
    report = sy.evaluate("volumes", *sides, ["dice"], options={"spacing": "3,1,1"}, confidence=None)
    assert "planes" in report.figures
    figure = report.figure("planes")
    assert figure.columns["image"] == ["b, axis 0, slice 1", "b, axis 1, slice 2", "b, axis 2, slice 3"]
    assert figure.columns["cost"] == [1, 1, 1]
    sizes = [Image.open(io.BytesIO(base64.b64decode(png))).size for png in figure.columns["errors"]]
    assert sizes == [(5, 4), (5, 9), (4, 9)]


def test_what_there_is_to_show() -> None:
    pairs = pairs_of("volumes", *cases(TRUTH, FOUND))
    state, other = State.of(pairs, {CaseScore(): None}), State.of(pairs, {CaseMean(): None})
    assert list(views.tables(pairs, state)) == ["structures"]
    assert list(views.figures(pairs, state, ())) == ["slices", "dice_volume"]  # the size of a voxel is not known
    assert {name: str(metric) for name, metric in views.class_metrics(state).items()} == {"1": "dice(label=1)"}
    assert (views.tables(pairs, other), views.class_metrics(other), views.listing(pairs, other)) == ({}, {}, None)


def test_dice_by_size() -> None:
    """Structures of 1 to 12 true voxels, found but for one; one that is not true is in no group."""
    truth = np.repeat(np.arange(1, 13), np.arange(1, 13))[None, None]
    predicted = truth.copy()
    predicted[0, 0, np.searchsorted(truth[0, 0], np.arange(1, 13))] = 13
    figure = views.dice_by_volume(pairs_of("volumes", *cases(truth, predicted)))
    dice = [2 * (n - 1) / (2 * n - 1) for n in range(1, 13)]
    columns = {
        "name": ["1 to 6 voxels", "7 to 12 voxels"],
        "value": [sum(dice[:6]) / 6, sum(dice[6:]) / 6],
        "structures": [6, 6],
    }
    caption = "Structures of cases, sorted by their true size, in groups of equal number: small ones are harder."
    check_figure(figure, ("dice_volume", "bars", "Dice by size"), columns, {"x": "mean Dice"}, caption)


def test_volumes_against_each_other() -> None:
    """In ml: 0.012 and 0.018 of the first, 0.012 and 0, 0 and 0.018; the last case has neither."""
    figure = views.volumes(pairs_of("volumes", *cases(TRUTH, FOUND), spacing=(3.0, 1.0)))
    agree(figure.columns, {"x": [0.015, 0.006, 0.009], "y": [0.006, -0.012, 0.018]})
    assert figure.facts["x"] == "mean of true and predicted, ml"
    assert figure.facts["item"] == "structure"


def test_shares_of_surfaces_within_a_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Voxels: of 4 and 6, 4 and 4 lie on each other, all within 1 mm; the second case is missed, and counts as 0."""
    monkeypatch.setattr(views, "STEPS", 3)
    pairs = pairs_of("volumes", *cases(TRUTH[:2] + TRUTH[3:], FOUND[:2] + FOUND[3:]), spacing=(3.0, 1.0))
    figure = views.nsd_by_tolerance(pairs, "voxels")
    check_figure(
        figure, ("nsd_tolerance", "curves", "NSD by tolerance"),
        {"series": ["1"] * 3, "x": [0, 0.5, 1], "y": [0.4, 0.4, 0.5], "low": [0.2, 0.2, 0.25], "high": [0.6, 0.6, 0.75]},
        {"x": "tolerance, mm", "y": "NSD"},
        "The mean over cases of the share of surfaces that lie within the tolerance of each other. In the band lies the middle "
        "half of the cases. A case that lacks the structure on one side counts as 0.",
    )  # fmt: skip
    monkeypatch.setattr(views, "WIDEST", 0.5)
    assert views.nsd_by_tolerance(pairs, "voxels").columns["x"] == [0, 0.25, 0.5]
    same = pairs_of("volumes", *cases(TRUTH[:1], TRUTH[:1]), spacing=(3.0, 1.0))
    assert views.nsd_by_tolerance(same, "elements").columns["x"] == [0, 0.5, 1]
    missed = pairs_of("volumes", *cases(TRUTH[:2], [FOUND[1]] * 2), spacing=(3.0, 1.0))
    assert views.nsd_by_tolerance(missed, "voxels").columns["y"] == [0, 0, 0]
    both = pairs_of("volumes", *cases([[[1, 2]]], [[[1, 2]]]), spacing=(3.0, 1.0))
    monkeypatch.setattr(views, "MOST_CURVES", 1)
    assert views.nsd_by_tolerance(both, "voxels").columns["series"] == ["1"] * 3


WHY = {
    "surface": "Outermost voxels weigh 1 each; elements their length or area.",
    "rule": "By area, between ordered distances, or of both directions together.",
    "missed": "What a structure counts as that one side lacks.",
    "dice of an empty truth": "Without it, what is made up costs nothing in Dice.",
    "average": "First over the structures of a case, then over cases.",
}


def test_what_others_print() -> None:
    """Case 0 has both structures as they are; case 1 has the first made up: Dice 1/2 and 1, distances d/2 and 0."""
    data = cases([[[1, 2, 0, 0]] * 3, [[0] * 4] * 3], [[[1, 2, 0, 0]] * 3, [[1, 0, 0, 0]] * 3])
    pairs = pairs_of("volumes", *data, spacing=(1.0, 1.0))
    far = 5.0
    ours = {"dice": 0.75, "hd@95": far / 4, "assd": far / 4, "nsd": 0.75}

    def step(setting: str, own: str, theirs: str, **values: float) -> Step:
        return Step(
            setting, own, theirs, WHY[setting], {**ours, **{n.replace("hd", "hd@95"): v for n, v in values.items()}}
        )

    first, second, third = explain(pairs, ("surface-distance", "monai", "medpy"))
    assert (first.tool, first.version, first.ours) == ("surface-distance", "0.1", ours)
    assert first.steps == (step("missed", "diagonal", "inf", hd=inf, assd=inf),)
    assert first.theirs == {"dice": 0.75, "hd@95": inf, "assd": inf, "nsd": 0.75}
    assert first.remarks == ("HD of a structure that a side lacks is infinite there.",)
    assert (second.tool, second.version, second.ours) == ("monai", "1.6.1", ours)
    assert second.steps == (
        step("surface", "elements", "voxels"), step("rule", "area", "linear"), step("missed", "diagonal", "skip", hd=0, assd=0),
        step("dice of an empty truth", "0", "skip", dice=1),
        step("average", "structure", "case", dice=0.5, hd=far / 2, assd=far / 2, nsd=0.5),
    )  # fmt: skip
    assert second.theirs == {"dice": 1, "hd@95": 0, "assd": 0, "nsd": 0.5}
    assert second.remarks == (
        "HD95 of a structure that a side lacks is nan there and leaves the mean (MONAI#9095). Its numbers are of single "
        "precision.",
    )
    assert (third.tool, third.version, third.ours) == ("medpy", "0.5.2", ours)
    assert third.steps == (
        step("surface", "elements", "voxels"), step("rule", "area", "pooled"), step("missed", "diagonal", "skip", hd=0, assd=0),
    )  # fmt: skip
    assert third.theirs == {"dice": 0.75, "hd@95": 0, "assd": 0, "nsd": 0.75}
    assert third.remarks == ("It raises an error where a side lacks a structure.",)
    with refuses("E-unknown-name", "'itk'"):
        explain(pairs, ("itk",))
    none = pairs_of("volumes", *cases([[[0, 0]]], [[[0, 0]]]), spacing=(1.0, 1.0), regions="A=1")
    assert math.isnan(explain(none, ("medpy",))[0].ours["dice"])
