"""Disparity against KITTI's, Middlebury's and ETH3D's programs, RAFT-Stereo and Spring, and rules by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.field_goldens import CLOSE, GOLDENS, Array, numbers, scores
from support.refusal import refuses

import steelyard as sy
from steelyard import _native

DISPARITY = GOLDENS["disparity"]


def disparity(truth: Any, predicted: Any, specs: list[str], masks: Any = None, **options: Any) -> dict[str, float]:
    """The scores of one image, or of several."""
    return scores("disparity", truth, predicted, specs, masks, **options)


def without_zero(values: Any) -> Array:
    """0 is "none" in KITTI's files."""
    field = numbers(values)
    return np.where(field > 0, field, np.float32(np.nan))


def close(value: float, expected: Any) -> None:
    expected = float(expected)
    if math.isnan(expected):
        assert math.isnan(value)
    else:
        assert value == pytest.approx(expected, rel=CLOSE, abs=1e-9)


@pytest.mark.parametrize("case", DISPARITY["kitti2015"], ids=lambda case: case.get("name", "drawn")[:20])
def test_kitti_2015(case: dict[str, Any]) -> None:
    truth, predicted, devkit = without_zero(case["gt"]), without_zero(case["pred"]), case["devkit"]
    masks = {"region:fg": [numbers(case["objects"])]}
    specs = ["d1", "d1(of=fg)", "d1(of=bg)", "density"]
    result = disparity([truth], [predicted], specs, masks, preset="kitti2015")
    for spec, part in (("d1", "all"), ("d1(of=fg)", "fg"), ("d1(of=bg)", "bg")):
        pixels = devkit[f"pixels_{part}"]
        close(result[spec], devkit[f"errors_{part}"] / pixels if pixels else math.nan)
    assert result["density"] == pytest.approx(devkit["density"], rel=1e-7)
    masks["mask"] = [np.isfinite(predicted)]
    estimated = disparity([truth], [predicted], specs[:3], masks, preset="kitti2015")
    for spec, part in (("d1", "all"), ("d1(of=fg)", "fg"), ("d1(of=bg)", "bg")):
        pixels = devkit[f"pixels_{part}_estimated"]
        if pixels:
            close(estimated[spec], devkit[f"errors_{part}_estimated"] / pixels)
    np.testing.assert_array_equal(_native.fill_rows(predicted, -1.0), numbers(devkit["filled"]))


def test_kitti_2015_edges() -> None:
    ties, edges = DISPARITY["ties"], DISPARITY["kitti2015_edges"]
    truth, predicted = numbers(ties["gt"])[:, :4], numbers(ties["pred"])[:, :4]
    nothing = np.full_like(truth, np.nan)
    assert edges["no truth"]["pixels_all"] == 0
    with refuses("E-empty-input", "no valid pixel"):
        disparity([nothing], [predicted], ["d1"], preset="kitti2015")
    result = disparity([truth], [nothing], ["d1", "density"], preset="kitti2015")
    close(result["d1"], edges["no estimate"]["errors_all"] / edges["no estimate"]["pixels_all"])
    close(result["density"], edges["no estimate"]["density"])
    result = disparity([truth[:, :1]], [numbers(ties["pred"])[:, 2:3]], ["d1", "density"], preset="kitti2015")
    assert result == {"d1": 1.0, "density": 1.0}


def test_ties_of_three_pixels_and_five_percent() -> None:
    """KITTI divides in single precision: exactly 5 % is an outlier there, and not elsewhere."""
    ties = DISPARITY["ties"]
    truth, predicted = numbers(ties["gt"]), numbers(ties["pred"])
    for i in range(truth.shape[1]):
        for kind in (np.float32, np.float64):
            pair = [truth[:, [i]].astype(kind)], [predicted[:, [i]].astype(kind)]
            result = disparity(*pair, ["d1", "d1(rule=kitti)"])
            assert result["d1"] == ties["flow_library outlier, float64"][i] == ties["flow_library outlier, float32"][i]
            assert result["d1(rule=kitti)"] == ties["kitti devkit outlier, pixel by pixel"][i]
    assert disparity([truth], [predicted], ["d1"], preset="kitti2015")["d1"] == 0.8
    assert disparity([truth], [predicted], ["d1"])["d1"] == 0.3


@pytest.mark.parametrize(
    ("name", "threshold", "half", "masked", "options"),
    [
        ("all bad2 maxdisp 64", 2.0, False, False, {"max_disparity": 64}),
        ("nonocc bad2 maxdisp 64", 2.0, False, True, {"max_disparity": 64}),
        ("nonocc bad0.5 rounded", 0.5, False, True, {"max_disparity": 64, "round": "yes"}),
        ("half size, bad1, maxdisp 32", 1.0, True, False, {"max_disparity": 32, "resize": "nearest"}),
        ("no estimate", 2.0, False, False, {"max_disparity": 64}),
        ("no truth", 2.0, False, False, {"max_disparity": 64}),
    ],
)
def test_middlebury(name: str, threshold: float, half: bool, masked: bool, options: dict[str, Any]) -> None:
    golden = DISPARITY["middlebury"]
    expected = golden[name]
    truth, predicted = numbers(golden["gt"]), numbers(golden["half_pred" if half else "pred"])
    if name == "no estimate":
        predicted = np.full_like(predicted, np.inf)
    if name == "no truth":
        assert math.isnan(float(expected["avgerr"]))
        with refuses("E-empty-input", "no valid pixel"):
            disparity([np.full_like(truth, np.inf)], [predicted], ["epe"], preset="middlebury", **options)
        return
    masks = {"mask": [numbers(golden["mask"])]} if masked else None
    bad = f"bad@{threshold:g}"
    result = disparity([truth], [predicted], [bad, "epe", "density"], masks, preset="middlebury", **options)
    good = disparity([truth], [predicted], [bad], masks, preset="middlebury", holes="good", **options)
    close(result[bad], float(expected["totbad"]) / 100)
    close(good[bad], float(expected["bad"]) / 100)
    close(result["epe"], expected["avgerr"])
    close(result["density"], 1 - float(expected["invalid"]) / 100)


@pytest.mark.parametrize("part", ["all", "nonocc"])
def test_eth3d(part: str) -> None:
    golden = DISPARITY["eth3d"]
    masks = {"mask": [numbers(golden["mask"])]} if part == "nonocc" else None
    names = {
        "coverage": "density",
        "bad0.5": "bad@0.5",
        "bad1": "bad@1",
        "bad2": "bad@2",
        "bad4": "bad@4",
        "avgerr": "epe",
        "rms": "rms",
        "a50": "a@50",
        "a90": "a@90",
        "a95": "a@95",
        "a99": "a@99",
    }
    pair = [numbers(golden["gt"])], [numbers(golden["pred"])]
    result = disparity(*pair, list(names.values()), masks, preset="eth3d")
    for name, spec in names.items():
        close(result[spec], golden[part][name])


@pytest.mark.parametrize("name", ["no estimate", "one pixel, disparity wider than the image", "one pixel"])
def test_eth3d_edges(name: str) -> None:
    golden = DISPARITY["eth3d"]
    truth, predicted = numbers(golden["gt"]), np.full_like(numbers(golden["pred"]), np.inf)
    if name.startswith("one pixel"):
        wide = "wider" in name
        truth, predicted = np.full((1, 1), 5 if wide else 0.25), np.full((1, 1), 5.75 if wide else 1.0)
    result = disparity([truth], [predicted], ["density", "bad@1", "bad@0.5", "epe", "rms", "a@90"], preset="eth3d")
    expected = golden[name]
    close(result["density"], expected["coverage"])
    close(result["bad@1"], expected["bad1"])
    close(result["bad@0.5"], expected["bad0.5"])
    for spec, key in (("epe", "avgerr"), ("rms", "rms"), ("a@90", "a90")):
        close(result[spec], expected[key])


def test_raft_stereo() -> None:
    """Its "D1" is the share above 3 px, and its Middlebury line counts pixels that are not valid."""
    golden = DISPARITY["raft_stereo"]
    every = [numbers(item["gt"]) for item in golden["items"]]
    valid = [numbers(item["valid"]) > 0 for item in golden["items"]]
    truth = [np.where(mask, field, np.float32(np.nan)) for field, mask in zip(every, valid, strict=True)]
    predicted = [-numbers(item["pred"]) for item in golden["items"]]  # RAFT-Stereo writes them so
    options = {"negate": "yes"}
    result = disparity(truth, predicted, ["bad@3", "d1", "epe(average=image)", "bad@1(average=image)"], **options)
    kitti = golden["validate_kitti (its D1 has no 5 % rule)"]
    close(result["bad@3"], kitti["kitti-d1"] / 100)
    close(result["epe(average=image)"], kitti["kitti-epe"])
    assert result["d1"] == pytest.approx(0.123, abs=5e-4)
    eth3d = golden["validate_eth3d"]
    close(result["bad@1(average=image)"], eth3d["eth3d-d1"] / 100)
    close(result["epe(average=image)"], eth3d["eth3d-epe"])
    things = golden["validate_things (gt < 192)"]
    below = disparity(truth, predicted, ["bad@1", "epe(average=image)"], preset="things", **options)
    close(below["bad@1"], things["things-d1"] / 100)
    close(below["epe(average=image)"], things["things-epe"])
    middlebury = golden["validate_middlebury (valid is not used)"]
    loose = disparity(every, predicted, ["bad@2(average=image)", "epe(average=image)"], **options)
    close(loose["bad@2(average=image)"], next(v for k, v in middlebury.items() if k.endswith("d1")) / 100)
    close(loose["epe(average=image)"], next(v for k, v in middlebury.items() if k.endswith("epe")))


def spring_truth(four: Array) -> Array:
    """Four truths of each of n pixels as the two by two values of a row of pixels."""
    parts = four.reshape(len(four), 2, 2, *four.shape[2:])
    return np.concatenate(list(parts), axis=1)


def test_spring() -> None:
    golden, flow = DISPARITY["spring"], GOLDENS["flow"]["spring"]
    truth = np.abs(spring_truth(numbers(flow["gt_4_per_pixel"])[..., 0]))
    predicted = np.abs(numbers(flow["pred"])[:, 0])[np.newaxis]
    detail, _, unmatched, sky = (numbers(m)[np.newaxis] for m in flow["detailmap, rigidmap, matchmap, skymap"])
    masks = {"region:highdetail": [detail], "region:unmatched": [unmatched], "region:sky": [sky]}
    parts = [
        "all",
        "lowdetail",
        "highdetail",
        "notsky",
        "sky",
        "matched",
        "unmatched",
        "s0-10",
        "s10-40",
        "s40+",
    ]
    names = {"1px": ("bad@1", 100), "abs": ("epe", 1), "d1": ("d1", 100)}
    for key, (metric, factor) in names.items():
        specs = [metric if part == "all" else f"{metric}(of={part})" for part in parts]
        result = disparity([truth], [predicted], specs, masks, preset="spring")
        for spec, expected in zip(specs, golden[key], strict=True):
            close(result[spec], float(expected) / factor)


def test_holes_by_hand() -> None:
    """Errors 0, 1.5, 4 and a hole."""
    truth = np.array([[10.0, 10.0, 10.0, 10.0]])
    predicted = np.array([[10.0, 11.5, 14.0, np.nan]])
    specs = ["bad@1", "bad@2", "epe", "density", "d1", "wauc"]
    expected = {
        "outlier": (0.75, 0.5, 5.5 / 3, 0.75, 0.5),
        "good": (0.5, 0.25, 5.5 / 3, 0.75, 0.25),
        "skip": (2 / 3, 1 / 3, 5.5 / 3, 0.75, 1 / 3),
        "fill": (0.75, 0.5, 9.5 / 4, 0.75, 0.5),  # the gap takes 14
    }
    weights = [1.0, 71 * 72 / 10100, 21 * 22 / 10100]
    areas = {"outlier": sum(weights) / 4, "good": (sum(weights) + 1) / 4, "skip": sum(weights[:2]) / 2}
    areas["fill"] = (sum(weights) + weights[2]) / 4
    for holes, values in expected.items():
        wide = {"outlier": predicted, "good": predicted, "fill": predicted}.get(holes)
        pair = ([truth], [predicted if wide is None else wide])
        if holes == "skip":  # values above the width of the image are no estimates
            pair = ([np.tile(truth, 4)], [np.tile(predicted, 4)])
            areas["skip"] = sum(weights) / 3
        result = disparity(*pair, specs, holes=holes)
        assert [result[spec] for spec in specs[:5]] == pytest.approx(list(values), rel=1e-12)
        assert result["wauc"] == pytest.approx(areas[holes], rel=1e-12)


def test_a_value_beyond_the_width_is_not_an_estimate_where_holes_are_skipped() -> None:
    truth, predicted = np.full((1, 5), 3.0), np.array([[3.0, 5.0, 5.5, -6.0, np.inf]])
    assert disparity([truth], [predicted], ["density"], holes="skip")["density"] == 0.4
    assert disparity([truth], [predicted], ["density"])["density"] == 0.8


def test_resized_disparities_are_scaled() -> None:
    truth, small = np.full((4, 8), 6.0), np.full((2, 4), 3.0)
    for method in ("bilinear", "corners", "nearest"):
        assert disparity([truth], [small], ["epe"], resize=method)["epe"] == 0
    with refuses("E-shape-mismatch", "8×4", "4×2"):
        disparity([truth], [small], ["epe"])


def test_unknown_regions_and_settings() -> None:
    pair = ([np.ones((2, 2))], [np.ones((2, 2))])
    with refuses("E-unknown-name", "noc"):
        disparity(*pair, ["epe(of=noc)"])
    with refuses("E-invalid-spec"):
        disparity(*pair, ["epe(of=s40-10)"])
    with refuses("E-invalid-spec", "threshold"):
        disparity(*pair, ["bad@-1"])
    for percent in ("0", "100", "-5"):
        with refuses("E-invalid-spec", "percent"):
            disparity(*pair, [f"a@{percent}"])
    with refuses("E-unknown-metric"):
        disparity(*pair, ["aae"])
    with refuses("E-invalid-setting"):
        disparity(*pair, ["epe"], holes="worst")
    with refuses("E-unknown-name"):
        disparity(*pair, ["epe"], crop="garg")


def test_curves_and_pictures() -> None:
    """Errors 1 and 5 px of disparities 6 and 50 px."""
    truth, predicted = (np.array([values], dtype=np.float32) for values in ((6, 50, np.nan), (7, 45, 1)))
    report = sy.evaluate("disparity", {"image": ["a"], "map": [truth]}, {"image": ["a"], "map": [predicted]})
    over = report.figure("lengths")
    assert (over.columns["x"].tolist(), over.columns["y"].tolist()) == ([7.5, 60.0], [1.0, 5.0])
    assert over.title == "End-point error over disparity"
    values = report.table("lengths").values.tolist()
    assert (values[0], values[2]) == ([1.0, 1.0, 0.0, 0.0], [1.0, 5.0, 1.0, 1.0])
    assert values[1][0] == 0
    assert np.isnan(values[1][1:]).all()
    assert report.figure("error_maps").columns["cost"] == [3.0]


def test_what_raft_stereo_prints() -> None:
    golden = DISPARITY["raft_stereo"]["items"], DISPARITY["raft_stereo"]["validate_kitti (its D1 has no 5 % rule)"]
    ids = list(range(len(golden[0])))
    truth = [np.where(numbers(item["valid"]) > 0, numbers(item["gt"]), np.float32(np.nan)) for item in golden[0]]
    predicted = [numbers(item["pred"]) for item in golden[0]]
    sides = {"image": ids, "map": truth}, {"image": ids, "map": predicted}
    report = sy.evaluate("disparity", *sides, confidence=None, explain=["raft", "kitti"])
    raft, kitti = report.explanations
    close(raft.theirs["epe"], golden[1]["kitti-epe"])
    close(raft.theirs["d1"], golden[1]["kitti-d1"] / 100)
    assert raft.ours["d1"] == pytest.approx(0.123, abs=5e-4)
    assert list(kitti.theirs) == ["d1"]
    with refuses("E-unknown-name", "ptlflow"):
        sy.evaluate("disparity", *sides, confidence=None, explain=["ptlflow"])


def test_an_infinite_error_has_no_interval() -> None:
    """With holes=skip, an image without any estimate has an infinite error, as in ETH3D."""
    truth, predicted = np.full((4, 3, 9), 2.0), np.full((4, 3, 9), 2.5)
    predicted[1] = np.nan
    ids = list("abcd")
    sides = [{"image": ids, "map": list(side)} for side in (truth, predicted)]
    report = sy.evaluate("disparity", *sides, "epe", options={"preset": "eth3d"})
    assert report["epe"].value == math.inf
    assert report["epe"].interval is None
    assert report["epe"].why_no_interval == "the value is infinite"


def test_the_label_names_the_preset_and_a_note_what_differs() -> None:
    sides = [{"image": ["a"], "map": [np.full((2, 9), 2.0 + k)]} for k in (0, 1)]
    report = sy.evaluate("disparity", *sides, "epe", options={"preset": "eth3d", "holes": "outlier"}, confidence=None)
    assert report["epe"].label == "End-point error, eth3d"
    assert "Other than in the preset eth3d: holes=outlier." in report.notes + report["epe"].notes
    plain = sy.evaluate("disparity", *sides, "epe", confidence=None)
    assert plain["epe"].label == "End-point error"


def test_an_infinite_difference_has_no_p() -> None:
    truth, predicted = np.full((8, 3, 9), 2.0), np.full((8, 3, 9), 2.5)
    holes = predicted.copy()
    holes[1] = np.nan
    truths, first, second = ({"image": list("abcdefgh"), "map": list(side)} for side in (truth, holes, predicted))
    difference = sy.compare("disparity", truths, first, second, "epe", options={"preset": "eth3d"})["epe"]
    assert difference.difference == -math.inf
    assert math.isnan(difference.p)
    assert difference.interval is None
    assert "a value is infinite" in " ".join(difference.notes)


def test_quantiles_of_parts_by_hand() -> None:
    """Errors 1, 2, 3, 9 and 0 at true disparities of 5, 5, 5, 20 and 50: place floor(n / 2) of each part's."""
    truth, predicted = np.array([[5.0, 5, 5, 20, 50]]), np.array([[6.0, 7, 8, 29, 50]])
    marked = {"region:near": [np.array([[1, 0, 0, 1, 0]], np.uint8)]}
    specs = ["a@50", "a@50(of=s0-10)", "a@50(of=near)", "a@90(of=s10+)", "a@50(of=s100+)"]
    report = sy.evaluate(
        "disparity",
        {"image": ["i"], "map": [truth], **marked},
        {"image": ["i"], "map": [predicted]},
        specs,
        confidence=None,
    )
    assert [report[spec].value for spec in specs] == pytest.approx([2, 2, 9, 9, math.nan], nan_ok=True)


def test_regions_from_a_folder(tmp_path: Path) -> None:
    """By hand: the region of each image has its name, in folders of any depth; a name that two files fit is refused."""
    images, errors = ["a/1", "b/2"], [np.array([[1.0, 3.0]]), np.array([[5.0, 7.0]])]
    truth = {"image": images, "map": [np.full((1, 2), 9.0)] * 2}
    said = {"image": images, "map": [9.0 + error for error in errors]}
    masks = tmp_path / "masks"
    (masks / "deep").mkdir(parents=True)
    np.save(masks / "1.npy", np.array([[1, 0]], np.uint8))
    spec, options = "epe(of=near)", {"region": {"near": str(masks)}}

    def errors_of(rows: Any) -> float:
        return sy.evaluate("disparity", rows, said, [spec], confidence=None, options=options)[spec].value

    with refuses("E-missing-file", "'b/2'", "near"):
        errors_of(truth)
    np.save(masks / "deep" / "2.npy", np.array([[0, 1]], np.uint8))
    assert errors_of(truth) == pytest.approx((1 + 7) / 2)
    with refuses("E-conflict", "'region:near'"):
        errors_of(truth | {"region:near": [np.ones((1, 2), np.uint8)] * 2})
    np.save(masks / "2.npy", np.array([[0, 1]], np.uint8))
    with refuses("E-duplicate-key", "'b/2'"):
        errors_of(truth)


def test_a_mask_is_of_one_image(tmp_path: Path) -> None:
    """The mask of frame 1 of scene a is not taken for that of scene b, which has none."""
    images, maps = ["a/1", "b/1"], [np.full((1, 2), 9.0)] * 2
    (tmp_path / "a").mkdir()
    np.save(tmp_path / "a" / "1.npy", np.array([[1, 0]], np.uint8))
    sides = [{"image": images, "map": maps}] * 2
    with refuses("E-duplicate-key", "'a/1'", "'b/1'"):
        sy.evaluate("disparity", *sides, ["epe"], confidence=None, options={"mask": str(tmp_path)})
