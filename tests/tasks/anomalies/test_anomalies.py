"""Task `anomalies`: goldens of the references that the catalogue names, laws of the field, formats and bad input.

tests/goldens/anomalies.json was made by the references themselves; it says which versions. Map values are whole numbers
k there, and the score is k / 1024.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.paths import TESTS
from support.refusal import check_names, refuses

import steelyard as sy
from steelyard.tasks.anomalies import pixels, statistics
from steelyard.tasks.anomalies.data import open_channels, open_scores

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "anomalies.json").read_text(encoding="utf-8"))
CASES = GOLDENS["cases"]


def sides(maps: Any, masks: Any, factor: float = 1.0, dtype: Any = np.float32) -> tuple[dict[str, Any], dict[str, Any]]:
    image = [f"i{number}" for number in range(len(maps))]
    scores = [(np.array(grid, dtype=np.float64) / GOLDENS["scale"] * factor).astype(dtype) for grid in maps]
    return {"image": image, "mask": [np.array(m, dtype=np.uint8) for m in masks]}, {"image": image, "map": scores}


def values(truth: Any, predictions: Any, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("anomalies", truth, predictions, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def approx(value: float | None, tolerance: float) -> Any:
    return pytest.approx(float("nan") if value is None else value, abs=tolerance, rel=0, nan_ok=True)


@pytest.mark.parametrize("name", CASES)
def test_aupro_as_its_references(name: str) -> None:
    """Exact counts to 1e-12, with 8 and 4 neighbours; the AD script, which holds rates in single precision, to 1e-6."""
    case = CASES[name]
    data = sides(case["maps"], case["masks"])
    for neighbours in (8, 4):
        expected = case["exact"][f"n{neighbours}"]["au_pro"]
        specs = [f"aupro@{limit}(neighbours={neighbours})" for limit in expected]
        assert values(*data, *specs) == [approx(value, 1e-12) for value in expected.values()]
    script = case["mvtec_ad_2022"]["au_pro"]
    assert values(*data, *(f"aupro@{limit}" for limit in script)) == [approx(value, 1e-6) for value in script.values()]
    if "image_auroc" in case["mvtec_ad_2022"]:
        assert values(*data, "image_auroc") == [approx(case["mvtec_ad_2022"]["image_auroc"], 1e-15)]


@pytest.mark.parametrize("name", CASES)
def test_images_and_pixels_as_scikit_learn(name: str) -> None:
    case = CASES[name]
    data = sides(case["maps"], case["masks"])
    for kind, tolerance in (("pixel", 1e-12), ("image", 1e-15)):
        expected = case["sklearn"][kind] or dict.fromkeys(("auroc", "ap", "f1_max", "aupr_trapezoid"))
        specs = [f"{kind}_auroc", f"{kind}_ap", f"{kind}_f1_max"]
        names = ["auroc", "ap", "f1_max"]
        if kind == "pixel":
            specs, names = [*specs, "pixel_ap(rule=trapezoid)"], [*names, "aupr_trapezoid"]
        assert values(*data, *specs) == [approx(expected[part], tolerance) for part in names]
        if case["sklearn"][kind]:
            best = sy.evaluate("anomalies", *data, [f"{kind}_f1_max"], confidence=None)[f"{kind}_f1_max"]
            assert f"from {expected['f1_max_threshold']:.6g} up" in " ".join(best.notes)


@pytest.mark.parametrize("name", CASES)
def test_presets_as_the_tools_they_name(name: str) -> None:
    case = CASES[name]
    data = sides(case["maps"], case["masks"])
    for many, expected in case["mvtec_3d_thresholds"].items():
        specs = [f"aupro@{limit}(like=mvtec3d, thresholds={many})" for limit in expected]
        assert values(*data, *specs) == [approx(value, 1e-12) for value in expected.values()]
    expected = case["anomalib_aupro"]["2.7.0"]
    specs = [f"aupro@{limit}(like=anomalib2.3)" for limit in expected]
    assert values(*data, *specs) == [approx(value, 1e-6) for value in expected.values()]


def test_a_mask_that_covers_its_image_is_lost_by_anomalib() -> None:
    case = GOLDENS["mask_covers_image"]
    data = sides(case["maps"], case["masks"])
    for limit, value in case["exact"]["au_pro"].items():
        assert values(*data, f"aupro@{limit}") == [value]
    for limit, value in case["anomalib"]["2.7.0"].items():
        assert values(*data, f"aupro@{limit}(like=anomalib2.3)") == [value]


def test_aupimo_as_anomalib_with_many_thresholds() -> None:
    case = CASES["drawn"]
    data = sides(case["maps"], case["masks"])
    for part in case["aupimo"]:
        low, high = part["bounds"]
        spec = f"aupimo(low={low}, high={high})"
        copied = f"aupimo(low={low}, high={high}, like=anomalib)"
        exact = part["exact"]
        assert values(*data, spec, copied) == [
            approx(exact["limit_mean"], 1e-12),
            approx(exact["limit_with_bounds_moved_mean"], 1e-12),
        ]
        finest = max(part["anomalib"], key=lambda row: row["num_thresholds"])
        assert values(*data, copied) == [approx(finest["mean"], 1e-12)]
        units = sy.evaluate("anomalies", *data, [spec, copied], confidence=None).units().values
        for key, row in ((spec, exact["limit_of_many_thresholds"]), (copied, finest["aupimo"])):
            assert units[key].tolist() == [approx(value, 1e-12) for value in row]


def test_images_that_are_better_by_aupimo_are_counted() -> None:
    """Model B finds one of two defects, which A misses; both miss the other: better on 1, equal on 1, no good image."""
    mask = np.zeros((4, 4), dtype=np.uint8)
    mask[1:3, 1:3] = 1
    truth = {"image": ["a", "b", "g", "h"], "mask": [mask, mask, 0 * mask, 0 * mask]}
    low, hits = np.linspace(0.1, 0.2, 16).reshape(4, 4), np.where(mask, 1.0, 0.1)
    first = {"image": truth["image"], "map": [0 * low, 0 * low, low, low]}
    second = {"image": truth["image"], "map": [hits, 0 * low, low, low]}
    spec = "aupimo(low=0.1, high=0.5)"
    units = sy.evaluate("anomalies", truth, second, [spec], confidence=None).units().values[spec]
    assert units.tolist() == [approx(1, 1e-14), 0.0, approx(None, 0), approx(None, 0)]
    comparison = sy.compare("anomalies", truth, first, second, metrics=[spec], draws=100, superiority=True)
    better = comparison.differences[spec].superiority
    assert (better.better, better.worse, better.ties, better.excluded) == (1, 0, 1, 2)


def write_loco(folder: Path, one_group: bool = False) -> Path:
    """The golden's images in MVTec LOCO's folders, its maps as float32 TIFF files beside them."""
    loco, place = GOLDENS["loco"], folder / "pushpins"
    place.mkdir()
    (place / "defects_config.json").write_text(json.dumps(loco["defects_config"]), encoding="utf-8")
    for number, image in enumerate(loco["images"]):
        grid = np.array(image["map"], dtype=np.float64) / GOLDENS["scale"]
        kind = "defects" if one_group and image["type"] != "good" else image["type"]
        path = place / "test" / kind / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros(grid.shape, dtype=np.uint8)).save(path)
        target = folder / "maps" / "pushpins" / "test" / kind / f"{number:03d}.tiff"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(grid.astype(np.float32)).save(target)
        for place_of, channel in enumerate(image["channels"]):
            masks = place / "ground_truth" / kind / f"{number:03d}"
            masks.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.array(channel, dtype=np.uint8)).save(masks / f"{place_of:03d}.png")
    return place


def test_spro_as_the_loco_script(tmp_path: Path) -> None:
    """The headline is the mean of the groups; each group is a slice with all good images."""
    truth, maps = write_loco(tmp_path), tmp_path / "maps" / "pushpins"
    expected = GOLDENS["loco"]["reference"]
    limits = expected["all"]["auc_spro_exact"]
    specs = [f"auspro@{limit}" for limit in limits]
    groups = ("logical_anomalies", "structural_anomalies")
    report = sy.evaluate("anomalies", truth, maps, [*specs, "image_auroc"], confidence=None, by="type")
    for limit, spec in zip(limits, specs, strict=True):
        both = [expected[group]["auc_spro_exact"][limit] for group in groups]
        assert report[spec].value == approx(sum(both) / 2, 1e-12)
    assert report["image_auroc"].value == expected["image_auroc"]
    assert set(report.slices["type"]) == set(groups)
    for group in groups:
        part = report.slices["type"][group]
        for limit, spec in zip(limits, specs, strict=True):
            assert part[spec].value == approx(expected[group]["auc_spro_exact"][limit], 1e-12)
            assert part[spec].value == approx(expected[group]["auc_spro_script"][limit], 1e-12)


def test_spro_of_all_defects_in_one_group(tmp_path: Path) -> None:
    """Without folders of logical and structural defects the value is that of all images, and areas saturate alike."""
    write_loco(tmp_path, one_group=True)
    expected = GOLDENS["loco"]["reference"]["all"]["auc_spro_exact"]
    specs = [f"auspro@{limit}" for limit in expected]
    truth, maps = tmp_path / "pushpins", tmp_path / "maps" / "pushpins"
    assert values(truth, maps, *specs) == [approx(value, 1e-12) for value in expected.values()]
    for number, areas in enumerate(GOLDENS["loco"]["reference"]["saturation_areas"]):
        masks = truth / "ground_truth" / "defects" / f"{number:03d}"
        if areas:
            assert [part.saturation for part in open_channels(os.path.join(masks, ""))[1]] == areas
        else:
            assert not masks.exists()


def test_image_auroc_of_ties_is_the_right_one() -> None:
    """The LOCO script gives 0.875, since it adds a point after the first of equal scores."""
    case = GOLDENS["image_ties"]
    scores = [*case["good"], *case["anomalous"]]
    names = [f"i{number}" for number in range(len(scores))]
    truth = {"image": names, "label": [0] * len(case["good"]) + [1] * len(case["anomalous"])}
    assert values(truth, {"image": names, "score": scores}, "image_auroc") == [case["sklearn"]]


def test_scores_of_any_scale_rank_alike() -> None:
    """Times 256, by exp, in float64, float16 or bytes: nothing changes."""
    case = CASES["drawn"]
    specs = (
        "pixel_auroc",
        "pixel_ap",
        "pixel_f1_max",
        "aupro@0.3",
        "aupro@0.05",
        "image_auroc",
        "aupimo(low=0.01, high=0.1)",
    )
    expected = values(*sides(case["maps"], case["masks"]), *specs)
    assert expected[0] == approx(GOLDENS["scaled_scores"]["1"]["torchmetrics_auroc"], 1e-6)
    for factor in (16, 64, 256):
        assert values(*sides(case["maps"], case["masks"], factor), *specs) == expected
    truth, predictions = sides(case["maps"], case["masks"], dtype=np.float64)
    assert values(truth, predictions, *specs) == expected
    raised = {**predictions, "map": [np.exp(grid * 5) - 90 for grid in predictions["map"]]}
    assert values(truth, raised, *specs) == expected
    whole = {**predictions, "map": [np.array(grid, dtype=np.uint16) for grid in case["maps"]]}
    assert values(truth, whole, *specs) == expected


def drawn_large() -> tuple[list[Any], list[Any]]:
    """Maps whose scores are negative, 0 and above, many of them equal and many alone."""
    rng = np.random.default_rng(8)
    masks = [np.zeros((120, 130), dtype=np.uint8) for _ in range(3)]
    for number, mask in enumerate(masks[1:], start=1):
        mask[10 : 20 * number, 30:60] = mask[80:90, 100 : 100 + 9 * number] = 1
    maps = [(rng.normal(0.0, 1.0, mask.shape) + 0.7 * mask).astype(np.float32) for mask in masks]
    for grid in maps:
        grid[:, ::3] = np.round(grid[:, ::3], 1)
        grid[:, 1::3] = np.maximum(grid[:, 1::3], 0)
    return maps, masks


def test_large_maps_count_as_pairs_do() -> None:
    """AUROC of pixels is the share of pairs that are in order; in float64 and in parts nothing changes."""
    maps, masks = drawn_large()
    scores, defective = (np.concatenate([grid.ravel() for grid in grids]) for grids in (maps, masks))
    normal, hits = np.sort(scores[defective == 0]), scores[defective == 1]
    wins = (np.searchsorted(normal, hits, side) for side in ("left", "right"))
    by_hand = sum(int(count.sum()) for count in wins) / (2 * len(normal) * len(hits))
    names = ["a", "b", "c"]
    truth, predictions = {"image": names, "mask": masks}, {"image": names, "map": maps}
    specs = ["pixel_auroc", "pixel_ap", "pixel_f1_max", "aupro@0.3", "aupro@0.05", "aupimo(low=0.001, high=0.1)"]
    specs += [
        "aupimo(low=0.001, high=0.1, like=anomalib)",
        "aupro(like=mvtec3d, thresholds=40)",
        "seg_f1(threshold=0.3)",
    ]
    expected = values(truth, predictions, *specs)
    assert expected[0] == pytest.approx(by_hand, abs=1e-14)
    assert values(truth, {**predictions, "map": [grid.astype(np.float64) for grid in maps]}, *specs) == expected
    parts = [sy.Accumulator("anomalies", confidence=None) for _ in names]
    for place in (2, 0, 1):
        rows = slice(place, place + 1)
        parts[place].update(*({key: column[rows] for key, column in side.items()} for side in (truth, predictions)))
        parts[place].compact(specs)
    parts[2].merge(parts[0])
    parts[2].merge(parts[1])
    report = parts[2].report(specs)
    assert [report[spec].value for spec in specs] == expected


def test_turning_and_cutting_change_nothing() -> None:
    case = CASES["drawn"]
    specs = ("pixel_auroc", "pixel_ap", "aupro@0.3", "aupro@0.05")
    expected = values(*sides(case["maps"], case["masks"]), *specs)
    for turn in (np.rot90, np.flipud, np.fliplr):
        turned = sides([turn(np.array(m)) for m in case["maps"]], [turn(np.array(m)) for m in case["masks"]])
        assert values(*turned, *specs) == pytest.approx(expected, abs=1e-14)
    maps, masks = [np.array(m) for m in case["maps"]], [np.array(m) for m in case["masks"]]
    tiles = [*np.split(maps[0], 2, axis=1), *maps[1:]], [*np.split(masks[0], 2, axis=1), *masks[1:]]
    assert not masks[0].any()
    assert values(*sides(*tiles), *specs) == pytest.approx(expected, abs=1e-14)
    assert values(*sides(maps * 2, masks * 2), *specs) == pytest.approx(expected, abs=1e-14)


def test_areas_by_hand() -> None:
    """A perfect map scores 1 at any limit, a constant one half the limit, and one-pixel regions make aupro@1 an AUROC."""
    mask = np.zeros((6, 6), dtype=np.uint8)
    mask[1, 1] = mask[4, 4] = mask[1, 4] = 1
    truth = {"image": ["a", "b"], "mask": [mask, np.zeros_like(mask)]}

    def of(*maps: Any) -> dict[str, Any]:
        return {"image": ["a", "b"], "map": [np.asarray(grid, dtype=np.float32) for grid in maps]}

    limits = ("aupro@0.01", "aupro@0.3", "aupro@1.0")
    assert values(truth, of(mask, 0 * mask), *limits) == [1.0, 1.0, 1.0]
    assert values(truth, of(0 * mask, 0 * mask), *limits) == pytest.approx([0.005, 0.15, 0.5])
    rng = np.random.default_rng(1)
    drawn = of(rng.random(mask.shape), rng.random(mask.shape))
    region, pixel = values(truth, drawn, "aupro@1.0", "pixel_auroc")
    assert region == pytest.approx(pixel, abs=1e-15)


def test_at_a_threshold_by_hand() -> None:
    """Two regions of 2 and 1 pixels; from 0.5 up: one pixel of the first, the second, and one false alarm."""
    mask = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], dtype=np.uint8)
    scores = np.array([[0.9, 0.4, 0.1, 0.5], [0.1, 0.1, 0.1, 0.6]])
    truth = {"image": ["a", "b"], "mask": [mask, 0 * mask]}
    predictions = {"image": ["a", "b"], "map": [scores, np.zeros((2, 4))]}
    scores = values(truth, predictions, "pro(threshold=0.5)", "seg_f1(threshold=0.5)", "seg_iou(threshold=0.5)")
    assert scores == pytest.approx([0.75, 2 * 2 / (3 + 3), 2 / 4])


def test_shards_count_to_the_same_bits() -> None:
    """In 1, 7 or all parts: the state that is merged is the state that is measured at once."""
    case = CASES["drawn"]
    truth, predictions = sides(case["maps"] * 3, case["masks"] * 3)
    specs = ["pixel_auroc", "pixel_ap", "aupro@0.3", "aupimo(low=0.01, high=0.1)", "image_auroc"]
    expected = values(truth, predictions, *specs)
    for parts in (7, len(truth["image"])):
        shards = []
        for part in range(parts):
            rows = slice(part, None, parts)
            shards.append(sy.Accumulator("anomalies", confidence=None))
            shards[-1].update(*({name: column[rows] for name, column in side.items()} for side in (truth, predictions)))
            shards[-1].compact(specs)
        for shard in shards[1:]:
            shards[0].merge(shard)
        report = shards[0].report(specs)
        assert [report[spec].value for spec in specs] == expected


def test_objects_are_never_pooled() -> None:
    """The mean of two objects, whose scores have different scales; pooling is asked for and said."""
    a, b = (
        sides(CASES["drawn"]["maps"], CASES["drawn"]["masks"]),
        sides(CASES["bytes"]["maps"], CASES["bytes"]["masks"], 99),
    )
    truth = {
        "image": [f"{name}{i}" for name, side in (("a", a), ("b", b)) for i in side[0]["image"]],
        "mask": [*a[0]["mask"], *b[0]["mask"]],
        "object": ["a"] * len(a[0]["image"]) + ["b"] * len(b[0]["image"]),
    }
    predictions = {"image": truth["image"], "map": [*a[1]["map"], *b[1]["map"]]}
    expected = [CASES[name]["sklearn"]["pixel"]["auroc"] for name in ("drawn", "bytes")]
    assert values(truth, predictions, "pixel_auroc") == [approx(sum(expected) / 2, 1e-12)]
    pooled = values(truth, predictions, "pixel_auroc", options={"objects": "pool"})
    bare = {name: column for name, column in truth.items() if name != "object"}
    assert pooled == values(bare, predictions, "pixel_auroc") != [sum(expected) / 2]


def test_slices_by_defect_hold_all_good_images() -> None:
    mask = np.zeros((4, 4), dtype=np.uint8)
    mask[0, 0] = 1
    names = ["g1", "g2", "s", "d"]
    maps = [np.full((4, 4), 0.1), np.full((4, 4), 0.2), np.where(mask, 0.15, 0.1), np.where(mask, 0.9, 0.1)]
    truth = {"image": names, "mask": [0 * mask, 0 * mask, mask, mask], "defect": ["good", "good", "scratch", "dent"]}
    report = sy.evaluate(
        "anomalies", truth, {"image": names, "map": maps}, ["image_auroc"], confidence=None, by="defect"
    )
    assert {key: part["image_auroc"].value for key, part in report.slices["defect"].items()} == {
        "dent": 1.0,
        "scratch": 0.5,
    }


def test_slices_by_the_size_of_regions_leave_other_regions_out() -> None:
    """Regions of 1, 4 and 9 pixels in two images: each size is a slice, in which the other regions count neither way."""
    both, one = np.zeros((8, 8), dtype=np.uint8), np.zeros((8, 8), dtype=np.uint8)
    both[0, 0] = both[3:5, 3:5] = 1
    one[4:7, 4:7] = 1
    grid = np.full((8, 8), 0.5)
    first = np.where(both, 0.9, 0.1)
    first[0, 0] = 0.05  # the small region lies below everything
    truth = {"image": ["a", "b", "g"], "mask": [both, one, 0 * one], "defect": ["x", "x", "good"]}
    predictions = {"image": truth["image"], "map": [first, grid, np.where(grid, 0.2, 0)]}
    specs = ["pixel_auroc", "aupro@0.5", "image_auroc"]
    report = sy.evaluate("anomalies", truth, predictions, specs, confidence=None, by="region_size")
    by_size = {
        name: [part[spec].value for spec in specs] + [part[specs[0]].units]
        for name, part in report.slices["region_size"].items()
    }
    rate = 55 / (55 + 64)  # of image b all pixels have one score, of the good image all lie below it
    auroc, aupro = 1 - rate / 2, (0.5 - rate / 2) / 0.5
    assert by_size == {
        "1 small (up to 1 px)": [0.0, 0.0, 1.0, 2],
        "2 medium (up to 4 px)": [1.0, 1.0, 1.0, 2],
        "3 large (up to 9 px)": [approx(auroc, 1e-12), approx(aupro, 1e-12), 1.0, 2],
    }


def test_mvtec_folders_with_maps_of_every_format(tmp_path: Path) -> None:
    """Two objects; maps as TIFF, .npy, .npz and PNG give the same numbers as arrays do."""
    case = CASES["drawn"]
    truth = tmp_path / "mvtec"
    for name in ("bolt", "nut"):
        for number, (grid, mask) in enumerate(zip(case["maps"], case["masks"], strict=True)):
            kind = "bent" if np.any(mask) else "good"
            image = truth / name / "test" / kind / f"{number:03d}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.array(grid, dtype=np.uint16).astype(np.uint8)).save(image)
            if kind != "good":
                target = truth / name / "ground_truth" / kind / f"{number:03d}_mask.png"
                target.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.array(mask, dtype=np.uint8) * 255).save(target)
            for ending in ("tiff", "npy", "npz", "png"):
                write_scores(tmp_path / ending / name / kind / f"{number:03d}.{ending}", np.array(grid))
    expected = [CASES["drawn"]["exact"]["n8"]["au_pro"]["0.3"], CASES["drawn"]["sklearn"]["image"]["auroc"]]
    for ending in ("tiff", "npy", "npz", "png"):
        scores = values(truth, tmp_path / ending, "aupro@0.3", "image_auroc")
        assert scores == [approx(value, 1e-12) for value in expected]
    alone = values(truth / "nut", tmp_path / "npy" / "nut", "aupro@0.3", "image_auroc")
    assert alone == [approx(value, 1e-12) for value in expected]


def write_scores(path: Path, grid: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".tiff":
        Image.fromarray((grid / 1024).astype(np.float32)).save(path, compression="tiff_deflate")
    elif path.suffix == ".npy":
        np.save(path, (grid / 1024).astype(np.float16))
    elif path.suffix == ".npz":
        np.savez_compressed(path, map=grid / 1024)
    else:
        Image.fromarray(grid.astype(np.uint16)).save(path)
    assert os.path.exists(path)


@pytest.mark.parametrize("factor", ["1", "16", "64", "256"])
def test_the_sigmoid_of_torchmetrics_is_explained(factor: str) -> None:
    """The same maps times a factor: ours stay, and what torchmetrics prints for them is its own output."""
    case, expected = CASES["drawn"], GOLDENS["scaled_scores"][factor]
    data = sides(case["maps"], case["masks"], float(factor))
    report = sy.evaluate("anomalies", *data, ["pixel_auroc"], confidence=None, explain=["torchmetrics", "anomalib"])
    ours, theirs = case["sklearn"]["pixel"], (expected["torchmetrics_auroc"], expected["torchmetrics_ap"])
    torchmetrics, anomalib = report.explanations
    assert [torchmetrics.ours["AUROC"], torchmetrics.ours["AP"]] == [
        approx(ours["auroc"], 1e-12),
        approx(ours["ap"], 1e-12),
    ]
    assert (torchmetrics.theirs["AUROC"], torchmetrics.theirs["AP"]) == (
        approx(theirs[0], 2e-6),
        approx(theirs[1], 2e-6),
    )
    assert anomalib.theirs["AUROC"] == torchmetrics.theirs["AUROC"]
    assert anomalib.theirs["AUPRO"] == approx(expected["anomalib_aupro_2.7.0"], 1e-6)


@pytest.mark.parametrize("packing", ["raw", "tiff_adobe_deflate", "tiff_lzw", "packbits"])
@pytest.mark.parametrize("predictor", [1, 2, 3])
def test_tiffs_of_every_packing_are_read(tmp_path: Path, packing: str, predictor: int) -> None:
    """Deflate, LZW, PackBits and none, with each predictor that fits: the values that Pillow wrote."""
    grid = np.random.default_rng(3).normal(size=(37, 53)) * 20 + 100
    for dtype in (np.float32, np.uint8, np.uint16):
        scores = grid.astype(dtype)
        if predictor > 1 and (packing in ("raw", "packbits") or (predictor == 3) != (dtype is np.float32)):
            continue
        path = tmp_path / f"{np.dtype(dtype).name}.tiff"
        Image.fromarray(scores).save(path, compression=packing, tiffinfo={317: predictor} if predictor > 1 else {})
        assert np.array_equal(open_scores(str(path), "here"), scores)


def test_draws_in_bins_stay_near_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more distinct scores than draws are exact for: within the bound that the note states, and around the value."""
    rng = np.random.default_rng(5)
    masks = [np.zeros((40, 50), dtype=np.uint8) for _ in range(12)]
    for number, mask in enumerate(masks[4:]):
        mask[5:22, 4 + number : 30] = 1
        mask[30:38, 30:45] = number % 2
    maps = [rng.normal(0.3, 0.1, mask.shape) + 0.12 * mask * rng.uniform(0.4, 1.6) for mask in masks]
    names = [f"i{number:02d}" for number in range(len(maps))]
    truth, predictions = {"image": names, "mask": masks}, {"image": names, "map": maps}
    areas = ["aupro@0.3", "aupro@0.05", "auspro@0.05"]
    specs = [*areas, "pixel_auroc", "pixel_ap", "pixel_f1_max", "aupimo(low=0.001, high=0.1)"]

    def report() -> Any:
        return sy.evaluate("anomalies", truth, predictions, specs, draws=200, save_draws=True)

    binned = report()
    bounds = [float(re.search(r"within (\S+) of", " ".join(binned[spec].notes))[1]) for spec in areas]
    monkeypatch.setattr(pixels, "EXACT", 10**6)
    exact = report()
    for spec in specs:
        assert binned[spec].value == exact[spec].value
        for a, b in zip(binned[spec].interval, exact[spec].interval, strict=True):
            assert a == pytest.approx(b, abs=1e-3)
    for spec, bound in zip(areas, bounds, strict=True):
        assert 0 < bound < 0.02
        assert np.nanmax(np.abs(binned[spec].draws - exact[spec].draws)) <= bound


def test_the_page_shows_every_figure(tmp_path: Path) -> None:
    """A report of two objects with its figures, tables and list of images, and a scene of an image."""
    sample = Path(sy.__file__).parent / "samples" / "anomalies"
    report = sy.evaluate("anomalies", sample / "truth", sample / "model_a", draws=100, by="defect")
    assert list(report.figures) == ["worst_images", "pro_curve", "pro_curve_log", "score_counts", "region_sizes"]
    assert set(report.tables) == {"objects", "defects"}
    table = report.table("objects")
    assert table.rows == ("bolt", "washer")
    assert table.values[:, table.columns.index("AUPRO 0.3")].mean() == pytest.approx(report["aupro@0.3"].value)
    report.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in report.figures:
        assert report.figure(name).title in page
    curve = report.figure("pro_curve")
    assert set(curve.columns["series"]) == {"bolt", "washer"}
    assert np.all(np.diff(np.asarray(curve.columns["y"])[:240]) >= 0)


def test_a_comparison_shows_the_curves_of_both_models(tmp_path: Path) -> None:
    """Each curve is the mean over objects: the area below it is AUPRO up to 1, and it lies in its band."""
    sample = Path(sy.__file__).parent / "samples" / "anomalies"
    folders = [sample / name for name in ("truth", "model_a", "model_b")]
    comparison = sy.compare("anomalies", *folders, ["aupro@1.0"], draws=100)
    d = comparison.differences["aupro@1.0"]
    assert comparison.details.figures == ("pro_curve", "pro_curve_log")
    for name in comparison.details.figures:
        columns = comparison.details.figure(name).columns
        series = np.asarray(columns["series"])
        x, y, low, high = (np.asarray(columns[key]) for key in ("x", "y", "low", "high"))
        assert np.all((low <= y + 1e-12) & (y <= high + 1e-12))
        assert np.any(high - low > 0.01)
        for side, value in (("A", d.a.value), ("B", d.b.value)):
            rate = x[series == side] if name == "pro_curve" else 10 ** x[series == side]
            heights = y[series == side]
            area = ((heights[1:] + heights[:-1]) / 2 * np.diff(rate)).sum()
            assert area == pytest.approx(value, abs=0.005)
    comparison.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f'id="figure-{name}_B"' in page for name in comparison.details.figures)
    comparison.to_json(tmp_path / "page.json", details=True)
    assert sy.load(tmp_path / "page.json").to_html() == page
    images = sy.compare("anomalies", *folders, ["image_auroc"], draws=100)
    assert images.details.figures == ()
    # AUROC of images has no value of a single image: there is nothing to list
    assert 'id="units"' not in images.to_html()
    assert 'id="explorer"' not in images.to_html()
    both = sy.compare("anomalies", *folders, ["image_auroc", "pixel_auroc"], draws=100)
    assert "By AUROC of pixels B is better on " in both.to_html()


def write_mvtec(place: Path, images: list[Any], masks: list[Any], test: str = "test", beside: bool = True) -> None:
    """An object's folder of images and masks; AD 2 has its masks inside the folder of its test images."""
    for number, (image, mask) in enumerate(zip(images, masks, strict=True)):
        kind = "bad" if np.any(mask) else "good"
        path = place / test / kind / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(image, dtype=np.uint8)).save(path)
        if kind == "bad":
            write_mask((place if beside else place / test) / "ground_truth" / kind / f"{number:03d}_mask.png", mask)


def write_mask(path: Path, mask: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(mask, dtype=np.uint8) * 255).save(path)


def write_maps(place: Path, maps: list[Any], masks: list[Any]) -> None:
    for number, (grid, mask) in enumerate(zip(maps, masks, strict=True)):
        write_scores(place / ("bad" if np.any(mask) else "good") / f"{number:03d}.npy", np.array(grid))


def expected_of_drawn() -> list[Any]:
    case = CASES["drawn"]
    return [approx(case["exact"]["n8"]["au_pro"]["0.3"], 1e-12), approx(case["sklearn"]["image"]["auroc"], 1e-15)]


def test_ad_2_has_its_masks_inside_test_public(tmp_path: Path) -> None:
    """Two objects with test_public/bad, test_public/good and test_public/ground_truth/bad; maps in anomaly_maps."""
    case = CASES["drawn"]
    for name in ("can", "vial"):
        write_mvtec(
            tmp_path / "truth" / name, [np.zeros((4, 4))] * len(case["maps"]), case["masks"], "test_public", False
        )
        write_maps(tmp_path / "sent" / "anomaly_maps" / name / "test_public", case["maps"], case["masks"])
    truth, maps = tmp_path / "truth", tmp_path / "sent" / "anomaly_maps"
    assert values(truth, maps, "aupro@0.3", "image_auroc") == expected_of_drawn()
    assert values(truth / "can", maps / "can", "aupro@0.3", "image_auroc") == expected_of_drawn()
    assert (
        values(truth, tmp_path / "sent", "aupro@0.3") == expected_of_drawn()[:1]
    )  # the maps below a folder of that name


def test_3d_ad_has_its_masks_beside_its_photographs(tmp_path: Path) -> None:
    """test/KIND/rgb, gt and xyz; good images have an empty mask, and maps lie in anomaly_maps/OBJECT/test/KIND."""
    case = CASES["drawn"]
    maps = tmp_path / "anomaly_maps" / "bagel" / "test"
    for number, mask in enumerate(case["masks"]):
        place = tmp_path / "truth" / "bagel" / "test" / ("hole" if np.any(mask) else "good")
        for name in ("rgb", "gt"):
            write_mask(place / name / f"{number:03d}.png", mask if name == "gt" else np.zeros((4, 4)))
        write_scores(place / "xyz" / f"{number:03d}.tiff", np.array(case["maps"][number]))
        write_scores(maps / place.name / f"{number:03d}.tiff", np.array(case["maps"][number]))
    truth = tmp_path / "truth"
    assert values(truth, tmp_path / "anomaly_maps", "aupro@0.3", "image_auroc") == expected_of_drawn()
    assert values(truth / "bagel", maps, "aupro@0.3", "image_auroc") == expected_of_drawn()


def test_a_folder_of_masks_is_a_truth(tmp_path: Path) -> None:
    """Good images have no mask there: they are those of the maps in a folder `good`."""
    case = CASES["drawn"]
    for number, mask in enumerate(case["masks"]):
        if np.any(mask):
            write_mask(tmp_path / "masks" / "bad" / f"{number:03d}_mask.png", mask)
    write_maps(tmp_path / "maps", case["maps"], case["masks"])
    assert values(tmp_path / "masks", tmp_path / "maps", "aupro@0.3", "image_auroc") == expected_of_drawn()


def test_mask_level_is_the_lowest_defective_value() -> None:
    """Three pixels with 127, 128 and 255: any value but 0 is defective, from 128 up two are, and from 200 up one."""
    blurred = np.array([[127, 128, 255, 0]], dtype=np.uint8)
    truth = {"image": ["a"], "mask": [blurred], "label": [1]}
    predictions = {"image": ["a"], "map": [np.array([[0.0, 1.0, 1.0, 0.0]])]}
    specs = ("seg_iou(threshold=0.5)", "seg_f1(threshold=0.5)")
    assert values(truth, predictions, *specs) == [approx(2 / 3, 1e-15), approx(4 / 5, 1e-15)]
    for level, iou, f1 in ((128, 1.0, 1.0), (200, 1 / 2, 2 / 3)):
        scores = values(truth, predictions, *specs, options={"mask_level": level})
        assert scores == [approx(iou, 1e-15), approx(f1, 1e-15)]


def test_smaller_maps_are_enlarged_between_the_centres_of_pixels() -> None:
    """A map of 0 and 4 on four pixels is 0, 1, 3 and 4; it is refused where nothing asks for it, or if it is larger."""
    mask = np.array([[0, 0, 1, 1]] * 2, dtype=np.uint8)
    truth, predictions = {"image": ["a"], "mask": [mask]}, {"image": ["a"], "map": [np.array([[0.0, 4.0]])]}
    counts = {0.5: (2, 3), 1.0: (2, 3), 1.5: (2, 2), 3.0: (2, 2), 3.5: (1, 1), 4.0: (1, 1)}  # hits and alarms of a row
    for threshold, (hits, alarms) in counts.items():
        score = values(truth, predictions, f"seg_f1(threshold={threshold})", options={"resize": "bilinear"})
        assert score == [approx(2 * hits / (alarms + 2), 1e-15)]
    with refuses("E-shape-mismatch", "2×1", "4×2"):
        values(truth, predictions, "pixel_auroc")
    larger = {"image": ["a"], "map": [np.zeros((2, 5))]}
    with refuses("E-shape-mismatch", "5×2", "4×2"):
        values(truth, larger, "pixel_auroc", options={"resize": "bilinear"})


def plain_tiff(grid: Any, order: str, tile: tuple[int, int] | None) -> bytes:
    """A TIFF file without compression, with one strip or with tiles, in either byte order."""
    height, width = grid.shape
    data = grid.astype(grid.dtype.newbyteorder(order))
    parts = [data]
    if tile is not None:
        rows, columns = (-(-size // step) for size, step in zip(grid.shape, tile, strict=True))
        padded = np.full((rows * tile[0], columns * tile[1]), 99, dtype=data.dtype)
        padded[:height, :width] = data
        parts = [part for row in np.split(padded, rows) for part in np.split(row, columns, axis=1)]
    bodies = [np.ascontiguousarray(part).tobytes() for part in parts]
    begins = [8 + sum(map(len, bodies[:number])) for number in range(len(bodies))]
    lists = struct.pack(f"{order}{2 * len(bodies)}I", *begins, *map(len, bodies))
    end = 8 + sum(map(len, bodies))
    many = len(bodies)
    offsets, sizes = (end, end + 4 * many) if many > 1 else (begins[0], len(bodies[0]))
    form = {"f": 3, "u": 1}[grid.dtype.kind]
    tags = [(256, 1, width), (257, 1, height), (258, 1, 8 * grid.itemsize), (259, 1, 1), (262, 1, 1), (277, 1, 1)]
    if tile is None:
        tags += [(273, many, offsets), (278, 1, height), (279, many, sizes)]
    else:
        tags += [(322, 1, tile[1]), (323, 1, tile[0]), (324, many, offsets), (325, many, sizes)]
    entries = [struct.pack(f"{order}HHII", tag, 4, count, value) for tag, count, value in [*tags, (339, 1, form)]]
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(f"{order}HI", 42, end + len(lists))
    table = struct.pack(f"{order}H", len(entries)) + b"".join(entries) + bytes(4)
    return head + b"".join(bodies) + lists + table


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("tile", [None, (16, 32), (48, 64)])
def test_tiffs_of_either_byte_order_in_strips_and_tiles(
    tmp_path: Path, order: str, tile: tuple[int, int] | None
) -> None:
    """The values of the grid, and what Pillow reads; tiles reach beyond the picture."""
    grid = np.random.default_rng(4).normal(size=(37, 53)) * 20 + 100
    for dtype in (np.float32, np.float64, np.uint8, np.uint16):
        path = tmp_path / f"{np.dtype(dtype).name}.tiff"
        path.write_bytes(plain_tiff(grid.astype(dtype), order, tile))
        assert np.array_equal(open_scores(str(path), "here"), grid.astype(dtype))
        if dtype in (np.float32, np.uint8):
            with Image.open(path) as picture:
                assert np.array_equal(np.asarray(picture), grid.astype(dtype))


def test_scores_above_the_limit_of_memory_lie_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of 2,000 bytes: the golden values, the same intervals, and files that are closed."""
    case, files = CASES["drawn"], []
    data = sides(case["maps"], case["masks"])
    specs = ["aupro@0.3", "pixel_auroc", "image_auroc"]
    expected = [
        case["exact"]["n8"]["au_pro"]["0.3"],
        case["sklearn"]["pixel"]["auroc"],
        case["sklearn"]["image"]["auroc"],
    ]
    in_memory = sy.evaluate("anomalies", *data, specs, draws=100)
    temporary = tempfile.TemporaryFile

    def open_file(*arguments: Any, **settings: Any) -> Any:
        files.append(temporary(*arguments, **settings))
        return files[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", open_file)
    monkeypatch.setattr(statistics, "SPOOL", 2000)
    spooled = sy.evaluate("anomalies", *data, specs, draws=100)
    assert files
    assert all(file.closed for file in files)
    assert [spooled[spec].value for spec in specs] == [approx(value, 1e-12) for value in expected]
    for spec in specs:
        assert (spooled[spec].value, spooled[spec].interval) == (in_memory[spec].value, in_memory[spec].interval)


def test_masks_smaller_than_their_images_are_noticed(tmp_path: Path) -> None:
    """Two of three masks are smaller, one in its height alone."""
    sizes = [(8, 8), (4, 4), (4, 8)]
    masks = [np.eye(*size, dtype=np.uint8) for size in sizes]
    write_mvtec(tmp_path / "truth", [np.zeros((8, 8))] * 4, [*masks, np.zeros((8, 8))])
    write_maps(tmp_path / "maps", [*masks, np.zeros((8, 8))], [*masks, np.zeros((8, 8))])
    finding = sy.check("anomalies", tmp_path / "truth", tmp_path / "maps")["shrunk-masks"]
    assert (finding.severity, finding.side, finding.count, finding.total) == ("warning", "truth", 2, 3)
    assert ["001.png" in finding.examples[0], "002.png" in finding.examples[1]] == [True, True]
    right = [np.eye(8, dtype=np.uint8)] * 3
    write_mvtec(tmp_path / "right", [np.zeros((8, 8))] * 4, [*right, np.zeros((8, 8))])
    write_maps(tmp_path / "whole", [*right, np.zeros((8, 8))], [*right, np.zeros((8, 8))])
    codes = [each.code for each in sy.check("anomalies", tmp_path / "right", tmp_path / "whole").findings]
    assert "shrunk-masks" not in codes


def test_specks_are_noticed() -> None:
    """Two regions of 4 pixels and one of 1 beside a defect, in an image of 90,000; those of 5 pixels are none."""
    mask = np.zeros((300, 300), dtype=np.uint8)
    mask[100:200, 100:200] = 1
    larger = mask.copy()
    mask[10:12, 10:12] = mask[20:22, 20:22] = mask[40, 40] = 1
    larger[10:11, 10:15] = larger[20:21, 20:25] = larger[40:41, 40:45] = 1

    def findings(own: Any) -> Any:
        truth = {"image": ["a", "b"], "mask": [own, 0 * own]}
        return sy.check("anomalies", truth, {"image": ["a", "b"], "map": [own / 2, own / 4]})

    finding = findings(mask)["specks"]
    assert (finding.severity, finding.side, finding.count, finding.total) == ("warning", "truth", 3, 4)
    assert "specks" not in [each.code for each in findings(larger).findings]
    small = mask[:150, :150]  # 22,500 pixels, of which a speck would have less than 2.25
    assert "specks" not in [each.code for each in findings(small).findings]


def test_slices_that_need_all_images_are_refused_in_parts() -> None:
    """The thirds of region areas, and the good images of each kind of defect, are those of all images."""
    case = CASES["drawn"]
    truth, predictions = sides(case["maps"], case["masks"])
    truth["defect"] = ["bent" if np.any(mask) else "good" for mask in case["masks"]]
    for column in ("defect", "region_size"):
        part = sy.Accumulator("anomalies", by=[column], confidence=None)
        part.update(truth, predictions)
        with refuses("E-unsupported", column):
            part.compact(["aupro@0.3"])
    with refuses("E-unsupported", "defect, region_size"):
        sy.evaluate("anomalies", truth, predictions, ["aupro@0.3"], by=[("defect", "region_size")], confidence=None)


def write_visa(folder: Path, table: str, scores: str) -> tuple[Path, Path]:
    """Drawn images as two objects in VisA's folders, with its split table; maps in folders that `scores` names."""
    case, rows = CASES["drawn"], ["object,split,label,image,mask"]
    for name in ("candle", "pcb1"):
        rows.append(f"{name},train,normal,{name}/Data/Images/Normal/0100.JPG,")
        for number, (grid, mask) in enumerate(zip(case["maps"], case["masks"], strict=True)):
            kind, label = ("Anomaly", "anomaly") if np.any(mask) else ("Normal", "normal")
            path = f"{name}/Data/Masks/{kind}/{number:04d}.png" if np.any(mask) else ""
            if path:
                write_mask(folder / "VisA" / path, mask)
            rows.append(f"{name},test,{label},{name}/Data/Images/{kind}/{number:04d}.JPG,{path}")
            write_scores(folder / "maps" / name / scores / kind / f"{number:04d}.npy", np.array(grid))
    place = folder / "VisA" / table
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place, folder / "maps"


@pytest.mark.parametrize("table", ["split_csv/1cls.csv", "1cls.csv"])
@pytest.mark.parametrize("scores", ["Data/Images", "."])
def test_the_split_table_of_visa_is_a_truth(tmp_path: Path, table: str, scores: str) -> None:
    """Its paths begin at the folder above the table; rows of the training split are left out."""
    truth, maps = write_visa(tmp_path, table, scores)
    assert values(truth, maps, "aupro@0.3", "image_auroc") == expected_of_drawn()
    report = sy.evaluate("anomalies", truth, maps, ["pixel_auroc"], confidence=None, by="object")
    assert set(report.slices["object"]) == {"candle", "pcb1"}


def test_reasons_and_notes_name_what_counts() -> None:
    """Too few pixels of good images for AUPIMO, and that scores of objects were pooled."""
    case = CASES["drawn"]
    truth, predictions = sides(case["maps"], case["masks"])
    good = sum(np.asarray(mask).size for mask in case["masks"] if not np.any(mask))
    report = sy.evaluate(
        "anomalies", truth, predictions, ["aupimo", "aupro"], confidence=None, options={"objects": "pool"}
    )
    assert np.isnan(report["aupimo"].value)
    assert f"{good:,} pixels" in report["aupimo"].undefined_reason
    assert any("pooled" in note for note in report["aupro@0.3"].notes)


def test_objects_without_maps_keep_their_slice() -> None:
    """With missing=skip the object whose images have no map has a slice without a value, under its own name."""
    case = CASES["drawn"]
    truth, predictions = sides(case["maps"], case["masks"])
    count = len(truth["image"])
    both = {
        "image": [*truth["image"], *(f"other{number}" for number in range(count))],
        "mask": truth["mask"] * 2,
        "object": ["bolt"] * count + ["nut"] * count,
    }
    report = sy.evaluate("anomalies", both, predictions, ["aupro"], confidence=None, missing="skip", by="object")
    assert [report.slices["object"][name]["aupro@0.3"].value for name in ("bolt", "nut")] == [
        approx(case["exact"]["n8"]["au_pro"]["0.3"], 1e-12),
        approx(None, 0),
    ]
    with refuses("E-unmatched", "choose `missing='skip'`"):  # and nothing else
        sy.evaluate("anomalies", both, predictions, ["aupro"], confidence=None)
    with refuses("E-invalid-spec", "worst"):
        sy.evaluate("anomalies", both, predictions, ["aupro"], confidence=None, missing="worst")


def test_slices_of_loco_by_kind_leave_the_pixels_of_other_kinds_out(tmp_path: Path) -> None:
    """AUROC of pixels by counting pairs, over good images and those with the kind, without pixels of other kinds."""
    truth = write_loco(tmp_path)
    name_of = {entry["pixel_value"]: entry["defect_name"] for entry in GOLDENS["loco"]["defects_config"]}
    report = sy.evaluate(
        "anomalies", truth, tmp_path / "maps" / "pushpins", ["pixel_auroc"], confidence=None, by="defect"
    )
    images: list[tuple[Any, dict[str, Any]]] = []
    for image in GOLDENS["loco"]["images"]:
        masks: dict[str, Any] = {}
        for channel in map(np.array, image["channels"]):
            kind = name_of[int(channel.max())]
            masks[kind] = masks.get(kind, False) | (channel > 0)
        images.append((np.array(image["map"]), masks))
    kinds = {kind for _, channels in images for kind in channels}
    assert len(kinds) > 2
    assert set(report.slices["defect"]) == kinds
    for kind in kinds:
        defective, normal = [], []
        for grid, channels in images:
            if channels and kind not in channels:
                continue
            every = np.any([np.zeros(grid.shape, dtype=bool), *channels.values()], axis=0)
            normal.append(grid[~every])
            defective.append(grid[channels[kind]] if channels else grid[:0].ravel())
        hits, others = np.concatenate(defective)[:, np.newaxis], np.concatenate(normal)
        area = np.mean((hits > others) + 0.5 * (hits == others))
        assert report.slices["defect"][kind]["pixel_auroc"].value == approx(float(area), 1e-12)


def test_figures_do_not_depend_on_the_precision_of_maps() -> None:
    """Maps of single precision are packed in another way than those of double precision: sums are equal to the bit."""
    rng = np.random.default_rng(7)
    grids = [rng.integers(0, 300, (11, 13)) for _ in range(9)]
    masks = [np.zeros((11, 13), np.uint8) for _ in grids]
    for mask in masks[5:]:
        mask[2:6, 3:9] = 1
    metrics = [
        "aupro@0.3",
        "aupimo(low=0.05, high=0.5)",
        "pixel_auroc",
        "pixel_ap",
        "pixel_f1_max",
        "seg_f1(threshold=0.1)",
    ]

    def report(dtype: Any) -> sy.Report:
        return sy.evaluate("anomalies", *sides(grids, masks, dtype=dtype), metrics, draws=100, save_draws=True)

    single, double = report(np.float32), report(np.float64)
    for metric in metrics:
        assert single[metric].value == double[metric].value
        assert np.array_equal(single[metric].draws, double[metric].draws, equal_nan=True)
        assert np.array_equal(single.units().values[metric], double.units().values[metric], equal_nan=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"pixel_value": "red"},
        {"pixel_value": math.inf},
        {"saturation_threshold": "half"},
        {"saturation_threshold": 0},
        {"saturation_threshold": math.inf},
        {"saturation_threshold": math.nan},
        {"defect_name": None},
        None,
    ],
    ids=str,
)
def test_configurations_of_loco_that_are_refused(tmp_path: Path, changed: dict[str, Any] | None) -> None:
    """An entry with a field of another kind or without its name, or a number in place of the list."""
    write_loco(tmp_path)
    path = tmp_path / "pushpins" / "defects_config.json"
    entries = [
        {key: value for key, value in (entry | (changed or {})).items() if value is not None}
        for entry in json.loads(path.read_text(encoding="utf-8"))
    ]
    path.write_text(json.dumps(entries if changed else 3), encoding="utf-8")
    with refuses("E-invalid-file", "defects_config.json"):
        values(tmp_path / "pushpins", tmp_path / "maps" / "pushpins", "spro")


def test_scores_beside_maps_name_an_image_once(tmp_path: Path) -> None:
    """The table's scores count, not the maxima of the maps; two scores of one image are refused, the same twice not."""
    case, table = CASES["drawn"], tmp_path / "scores.csv"
    truth, predictions = sides(case["maps"], case["masks"])
    defective = [bool(np.any(mask)) for mask in case["masks"]]
    rows = [f"{name}.png,{number}" for name, number in zip(truth["image"], defective, strict=True)]
    table.write_text("\n".join(["image,score", *rows, rows[0]]).replace("True", "1").replace("False", "0"))
    assert values(truth, predictions, "image_auroc", options={"scores": str(table)}) == [1.0]
    table.write_text(table.read_text() + f"\n{truth['image'][0]}.png,0.5")
    with refuses("E-duplicate-key", "scores.csv", f"'{truth['image'][0]}.png'"):
        values(truth, predictions, "image_auroc", options={"scores": str(table)})
    table.write_text("image,score\n" + rows[0].replace("True", "1").replace("False", "0"))
    with refuses("E-missing-data", "scores.csv", f"'{truth['image'][1]}'"):
        values(truth, predictions, "image_auroc", options={"scores": str(table)})


def test_files_that_a_table_names_and_that_are_not_there(tmp_path: Path) -> None:
    """The row is named: of the masks, and of the maps."""
    case = CASES["drawn"]
    truth, predictions = sides(case["maps"], case["masks"])
    names = "\n".join(f"{name},{name}.npy" for name in truth["image"])
    for side, column in (("truth", "mask"), ("maps", "map")):
        (tmp_path / f"{side}.csv").write_text(f"image,{column}\n{names}\n")
    with refuses("E-missing-file", "truth.csv, line 2", "i0.npy"):
        values(tmp_path / "truth.csv", predictions, "pixel_auroc")
    with refuses("E-missing-file", "maps.csv, line 2", "i0.npy"):
        values(truth, tmp_path / "maps.csv", "pixel_auroc")


def test_arrays_that_are_no_maps(tmp_path: Path) -> None:
    """A number or a vector, as a file or in memory, on either side."""
    truth, predictions = sides(CASES["drawn"]["maps"], CASES["drawn"]["masks"])
    for number, bad in enumerate((np.array(3.0), np.arange(3.0))):
        np.save(tmp_path / f"{number}.npy", bad)
        for given in ((truth, tmp_path / f"{number}.npy"), (truth, bad), (bad, predictions)):
            with refuses("E-shape-mismatch"):
                values(*given, "pixel_auroc")
    for given in ((truth | {"mask": 5}, predictions), (truth, predictions | {"map": None})):
        with refuses("E-invalid-value"):
            values(*given, "pixel_auroc")


def test_scores_of_images_that_are_turned_around_are_noticed() -> None:
    """Of 25 pairs of a defective and a good image, 2 are in order and 1 is equal: an AUROC of 0.1."""
    truth = {"image": [f"i{number}" for number in range(10)], "label": [1] * 5 + [0] * 5}
    scores = [0.1, 0.2, 0.3, 0.4, 0.55, 0.5, 0.53, 0.55, 0.6, 0.7]
    finding = sy.check("anomalies", truth, {"image": truth["image"], "score": scores})["scores-reversed"]
    assert (finding.severity, finding.count, finding.total) == ("warning", 5, 10)
    check_names(finding.what, "0.10")
    right = sy.check("anomalies", truth, {"image": truth["image"], "score": scores[::-1]})
    assert "scores-reversed" not in [each.code for each in right.findings]


def test_pages_of_objects_of_which_one_has_no_defect_or_no_normal_pixel() -> None:
    """The first object has good images alone, or masks that cover theirs: curves are of the other, and it is named."""
    mask = np.zeros((4, 4), dtype=np.uint8)
    mask[1:3, 1:3] = 1
    grid = np.arange(16.0).reshape(4, 4) / 16
    for first in (0 * mask, 0 * mask + 1):
        truth = {
            "image": ["a0", "a1", "b0", "b1"],
            "object": ["a", "a", "b", "b"],
            "mask": [first, first, mask, 0 * mask],
        }
        predictions = {"image": truth["image"], "map": [grid, grid, mask + grid, grid]}
        report = sy.evaluate("anomalies", truth, predictions, ["pixel_auroc"], draws=100)
        assert report["pixel_auroc"].value == 1.0  # each defective pixel of b scores above all others
        assert set(report.figure("pro_curve").columns["series"]) == {"b"}
        assert report.figure("score_counts").caption.startswith("Object b.")
        assert len(report.figure("worst_images").columns["image"]) == 4
        comparison = sy.compare("anomalies", truth, predictions, predictions, ["pixel_auroc"], draws=100)
        assert comparison.details.figures == ("pro_curve", "pro_curve_log")
        assert set(report.figures) == {"worst_images", "pro_curve", "pro_curve_log", "score_counts", "region_sizes"}


def test_nothing_is_drawn_or_explained_where_no_object_has_both() -> None:
    """One object has good images alone, masks cover those of the other: there is no curve, and tools print nan too."""
    whole, grid = np.ones((4, 4), dtype=np.uint8), np.arange(16.0).reshape(4, 4) / 16
    truth = {"image": ["a0", "b0"], "object": ["a", "b"], "mask": [0 * whole, whole]}
    predictions = {"image": truth["image"], "map": [grid, grid]}
    report = sy.evaluate(
        "anomalies", truth, predictions, ["pixel_auroc"], confidence=None, explain=("torchmetrics", "anomalib")
    )
    assert report.figures == ()
    printed = {each.tool: each.theirs for each in report.explanations}
    assert all(math.isnan(value) for value in printed["torchmetrics"].values())
    assert [math.isnan(printed["anomalib"][name]) for name in ("AUROC", "AUPR")] == [True, True]


@pytest.mark.parametrize(("good", "defective"), [(1, 60), (60, 1), (3, 60), (60, 5)])
def test_intervals_rest_on_the_rarer_kind_of_image(good: int, defective: int) -> None:
    """All ranked right: the exact limit of so many units that all agree, above chance for AUROC."""
    labels = [0] * good + [1] * defective
    image = [f"i{k}" for k in range(good + defective)]
    report = sy.evaluate(
        "anomalies", {"image": image, "label": labels}, {"image": image, "score": [k / 100 for k in range(len(image))]}
    )
    low = 0.025 ** (1 / min(good, defective))
    expected = {"image_auroc": 0.5 + low / 2, "image_ap": low, "image_f1_max": low}
    for spec, end in expected.items():
        assert report[spec].interval == (pytest.approx(end, abs=1e-12), 1.0)
        assert f"rests on {min(good, defective)} unit" in " ".join(report[spec].notes)


def test_intervals_of_pixels_rest_on_few_defective_images() -> None:
    """Few defective images decide a figure of pixels; few good ones do not, but for AUPIMO, which needs them."""
    specs = ["pixel_auroc", "pixel_ap", "pixel_f1_max", "aupro@0.3", "auspro@0.05", "pro(threshold=2)", "seg_iou"]
    specs.append("aupimo(low=0.1, high=0.5)")
    rng = np.random.default_rng(5)
    for good, defective in ((30, 3), (3, 30)):
        maps = [rng.normal(size=(8, 8)) for _ in range(good + defective)]
        masks = [np.zeros((8, 8), np.uint8) for _ in maps]
        for k in range(good, len(maps)):
            masks[k][2:5, 2:5] = 1
            maps[k] += rng.uniform(0, 3) * masks[k]
        image = [f"i{k}" for k in range(len(maps))]
        label = [0] * good + [1] * defective
        report = sy.evaluate(
            "anomalies", {"image": image, "label": label, "mask": masks}, {"image": image, "map": maps}, specs
        )
        few = [spec for spec in report.scores if "rests on 3 units" in " ".join(report[spec].notes)]
        assert few == (list(report.scores) if defective == 3 else ["aupimo(low=0.1, high=0.5)"])


def four_images() -> tuple[dict[str, Any], dict[str, Any]]:
    """Two good and two defective images; one good image has the highest score of all."""
    mask = np.zeros((3, 4), np.uint8)
    mask[1, 1:3] = 1
    maps = [np.full((3, 4), score) + shape * mask for score, shape in ((0.1, 0), (0.9, 0), (0.2, 0.3), (0.4, 0.2))]
    image = ["a", "b", "c", "d"]
    return {"image": image, "label": [0, 0, 1, 1], "mask": [mask * 0, mask * 0, mask, mask]}, {
        "image": image,
        "map": maps,
    }


def test_figures_of_images_need_no_masks() -> None:
    """Labels and maps alone: by hand 2 of 4 pairs are in order. Figures of pixels say what is missing."""
    truth, predictions = four_images()
    del truth["mask"]
    assert values(truth, predictions, "image_auroc") == [0.5]
    assert list(sy.evaluate("anomalies", truth, predictions, confidence=None).scores) == [
        "image_auroc",
        "image_ap",
        "image_f1_max",
    ]
    with refuses("E-missing-data", "c", "mask"):
        values(truth, predictions, "pixel_auroc")
    scores = {"image": truth["image"], "score": [0.1, 0.9, 0.2, 0.4]}
    for sides, reason in (((truth, scores), "maps"), ((four_images()[0], scores), "maps")):
        report = sy.evaluate("anomalies", *sides, ["pixel_auroc"], confidence=None)
        assert reason in report["pixel_auroc"].undefined_reason


@pytest.mark.parametrize("empty", ["", None, np.zeros((0, 0))], ids=["text", "none", "array"])
@pytest.mark.parametrize("metric", ["image_auroc", "pixel_auroc"])
def test_an_image_without_a_map_is_an_error(empty: Any, metric: str) -> None:
    truth, predictions = four_images()
    predictions["map"][2] = empty
    with refuses("E-missing-data", "c", "map"):
        values(truth, predictions, metric)


def test_a_mask_of_a_good_image_is_an_error() -> None:
    truth, predictions = four_images()
    truth["label"] = [0, 0, 0, 1]
    with refuses("E-invalid-value", "c", "2 defective pixels"):
        values(truth, predictions, "pixel_auroc")


def test_one_object_of_two_has_a_value() -> None:
    truth, predictions = four_images()
    truth["object"] = ["nut", "bolt", "nut", "nut"]
    assert sy.evaluate("anomalies", truth, predictions, ["image_auroc"], confidence=None)["image_auroc"].notes == (
        "Scores are means of 1 object; 1 other has no value.",
    )


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with refuses("E-invalid-spec", "threshold"):
        values(*four_images(), "seg_f1(threshold=nan)")
    with refuses("E-invalid-spec", "threshold"):
        values(*four_images(), "pro(threshold=high)")
