"""Volumes: goldens of surface-distance, MONAI, MedPy, MetricsReloaded and BraTS; NIfTI files; what is refused."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.paths import TESTS

import steelyard as sy
from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.tasks.volumes.cases import lesions

ndimage = lazy("scipy.ndimage")

GOLDENS = json.loads((TESTS / "goldens" / "segmentation.json").read_text(encoding="utf-8"))["examples"]
EXAMPLES = ("distance_2d_iso", "distance_2d_aniso", "distance_3d_aniso")


def scores(truth: Any, prediction: Any, metrics: list[str], spacing: Any = None, **settings: Any) -> list[float]:
    ids = list(range(len(truth)))
    sides = [{"case": ids, "map": [np.asarray(one) for one in side]} for side in (truth, prediction)]
    if spacing is not None:
        for side in sides:
            side["spacing"] = [list(spacing)] * len(ids)
    report = sy.evaluate("volumes", *sides, metrics, confidence=None, **settings)
    return [score.value for score in report.scores.values()]


@pytest.mark.parametrize("name", EXAMPLES)
def test_elements_as_surface_distance_has_them(name: str) -> None:
    example = GOLDENS[name]
    expected = example["outputs"]["surface-distance"]
    metrics = ["hd", "hd@95", "asd(of=truth)", "asd", *(f"nsd(tolerance={t})" for t in expected["nsd"])]
    result = scores([example["truth"]], [example["prediction"]], metrics, example["spacing"])
    values = [expected["hd"], expected["hd95"], *expected["asd_gt_to_pred_and_back"], *expected["nsd"].values()]
    np.testing.assert_allclose(result, values, rtol=1e-12)
    if name == "distance_2d_iso":
        assert result == values  # to the bit where spacing is 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_voxels_as_monai_medpy_and_metrics_reloaded_have_them(name: str) -> None:
    example = GOLDENS[name]
    monai, medpy, reloaded = (example["outputs"][tool] for tool in ("monai", "medpy", "metrics-reloaded"))
    one = ([example["truth"]], [example["prediction"]])
    tolerances = [f"nsd(surface=voxels, tolerance={t})" for t in monai["nsd"]]
    result = scores(
        *one, ["hd(like=monai)", "hd@95(like=monai)", "asd(surface=voxels)", *tolerances], example["spacing"]
    )
    values = [monai["hd"], monai["hd95"], monai["asd_pred_to_gt"], *monai["nsd"].values()]
    np.testing.assert_allclose(result, values, rtol=1e-6)  # MONAI is single precision
    subvoxels = [f"nsd(tolerance={t})" for t in monai["nsd_subvoxel"]]
    result = scores(*one, subvoxels, example["spacing"])
    np.testing.assert_allclose(result, list(monai["nsd_subvoxel"].values()), rtol=1e-6)
    metrics = ["hd(like=medpy)", "hd@95(like=medpy)", "assd(surface=voxels)", "masd(surface=voxels)"]
    result = scores(*one, metrics, example["spacing"])
    values = [medpy["hd"], medpy["hd95"], medpy["assd"], reloaded["masd"]]
    np.testing.assert_allclose(result, values, rtol=1e-12)
    tolerances = [f"nsd(surface=voxels, tolerance={t})" for t in reloaded["nsd"]]
    np.testing.assert_allclose(scores(*one, tolerances, example["spacing"]), list(reloaded["nsd"].values()), rtol=1e-12)


def test_empty_masks_are_counted_and_never_look_better() -> None:
    example = GOLDENS["dice_empty"]
    sides = (example["truth"], example["prediction"])
    ours = example["outputs"]["surface_distance"]["per_case"]
    defined = [v for v in ours if v != "nan"]
    assert scores(*sides, ["dice", "dice(both_empty=best)"]) == [
        np.mean(defined), example["outputs"]["monai_ignore_empty_false"]["mean"][0],
    ]  # fmt: skip
    diagonal = float(np.hypot(2, 4))
    result = scores(*sides, ["hd", "hd(missed=skip)", "hd(missed=374)", "hd(missed=inf)", "nsd"], [1, 1])
    assert result[0] == pytest.approx((1.0 + 2 * diagonal) / 3)
    assert result[1:4] == [1.0, (1.0 + 2 * 374) / 3, np.inf]
    report = sy.evaluate(
        "volumes", {"case": range(4), "map": np.array(sides[0]), "spacing": [[1, 1]] * 4},
        {"case": range(4), "map": np.array(sides[1])}, ["hd"], confidence=None,
    )  # fmt: skip
    assert report["hd"].n_excluded == 1
    assert any(
        "hd has 2 structures of cases on one side only, counted as the diagonal" in n for n in report["hd"].notes
    )


def test_lesions_as_the_script_of_brats_pairs_them() -> None:
    example = GOLDENS["lesionwise"]
    sides = []
    for side in ("truth", "prediction"):
        grid = np.zeros(example["shape"], dtype=np.uint8)
        for z0, z1, y0, y1, x0, x1 in example[f"{side}_boxes"]:
            grid[z0:z1, y0:y1, x0:x1] = 3
        sides.append(grid)
    expected = example["outputs"]["brats"]
    result, false = lesions(*((side > 0).astype(np.uint8) for side in sides), 1.0, 1)
    rows = [(one["volume"], one["dice"], one["prediction_parts"]) for one in expected["lesions"]]
    assert [(one.volume, one.dice, one.parts) for one in result] == rows
    assert false == expected["n_false_positive"]
    assert sum(one.parts == 0 for one in result) == expected["n_false_negative"]
    dices = [one["dice"] for one in expected["lesions"]]
    metrics = ["dice", "hd@95", "lesion_dice", "lesion_f1", "lesion_dice(minimum=50)"]
    values = [expected["full_dice"], expected["full_hd95"], sum(dices) / 4, 2 * 2 / (2 * 2 + 1 + 1), sum(dices[1:]) / 3]
    np.testing.assert_allclose(scores([sides[0]], [sides[1]], metrics, [1, 1, 1]), values, rtol=1e-15)


def test_distances_of_lesions_as_the_script_of_brats_adds_them() -> None:
    """HD95 of the golden's lesions is 2 and 1; one is missed and one part is false: 374 each, as in the script."""
    example = GOLDENS["lesionwise"]
    sides = []
    for side in ("truth", "prediction"):
        grid = np.zeros(example["shape"], dtype=np.uint8)
        for z0, z1, y0, y1, x0, x1 in example[f"{side}_boxes"]:
            grid[z0:z1, y0:y1, x0:x1] = 3
        sides.append(grid)
    distances = [one["hd95"] for one in example["outputs"]["brats"]["lesions"]]
    assert distances == ["inf", 2.0, 1.0]
    metrics = ["lesion_hd(missed=374)", "lesion_hd(missed=374, minimum=50)", "lesion_hd"]
    diagonal = float(np.sqrt(12**2 + 30**2 + 30**2))
    values = [(374 + 2 + 1 + 374) / 4, (2 + 1 + 374) / 3, (2 + 1 + 2 * diagonal) / 4]
    np.testing.assert_allclose(scores([sides[0]], [sides[1]], metrics, [1, 1, 1]), values, rtol=1e-15)


def test_quality_of_parts_by_hand() -> None:
    """Of two true parts one is found with an IoU of 3 / 4; of three predicted parts two are false: 0.75 / (1 + 1 + 0.5)."""
    truth, prediction = np.zeros((2, 1, 5, 12), dtype=np.uint8)
    truth[0, 0, 0:4] = truth[0, 4, 0:2] = 1
    prediction[0, 0, 0:3] = prediction[0, 4, 6] = prediction[0, 2, 11] = 1
    assert scores([truth], [prediction], ["lesion_pq"]) == [pytest.approx(0.75 / (1 + 0.5 + 1), rel=1e-15)]
    same = scores([truth], [truth], ["lesion_pq", "lesion_hd"], [1, 1, 1])
    assert same == [1.0, 0.0]


def test_volumes_by_hand() -> None:
    """6 and 4 voxels of 1.5 mm³: one third too small, 3 mm³ are 0.003 ml."""
    truth, prediction = np.zeros((2, 1, 3, 4), dtype=np.uint8)
    truth[0, :2, :3] = 1
    prediction[0, :2, :2] = 1
    metrics = ["volume_error", "volume_bias", "sensitivity", "ppv", "iou"]
    result = scores([truth], [prediction], metrics, [1.5, 1, 1])
    np.testing.assert_allclose(result, [2 / 6, -0.003, 4 / 6, 1, 4 / 6], rtol=1e-15)


def test_distances_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for spacing in ([1.0, 1.0, 1.0], [3.0, 1.0, 0.7], [0.5, 2.0]):
        for share in (0.3, 0.02, 0.001):
            shape = (9, 14, 17)[-len(spacing) :]
            mask = (rng.random(shape) < share).astype(np.uint8)
            mask.flat[0] = 1
            expected = ndimage.distance_transform_edt(1 - mask, sampling=spacing)
            result = np.sqrt(_native.squared_distances(mask, np.array(spacing)))
            np.testing.assert_allclose(result, expected, rtol=1e-14)
    parts, count = ndimage.label(rng.random((6, 9, 9)) < 0.15, np.ones((3, 3, 3)))
    result, many = _native.connected_parts((parts > 0).astype(np.uint8))
    assert many == count
    assert (result == parts).all()
    mask = (rng.random((6, 9, 9)) < 0.02).astype(np.uint8)
    grown = ndimage.binary_dilation(mask, ndimage.generate_binary_structure(3, 2), iterations=2)
    assert (_native.dilate_mask(mask, 2) == grown).all()


@pytest.mark.parametrize("spacing", [[1.0, 1.0, 1.0], [5.0, 0.5, 3.0], [0.25, 2.0, 0.5], [1.0, 0.7, 0.9]])
def test_surfaces_near_and_far_are_as_far_apart_as_their_nearest_points(spacing: list[float]) -> None:
    rng = np.random.default_rng(2)
    near, far = np.zeros((2, 6, 24, 26), dtype=bool)
    near[1:5, 8:15, 9:17] = far[4:, 19:, 20:] = True
    noise = near ^ (rng.random(near.shape) < 0.01)
    for a, b in ((near, np.roll(near, 2, axis=1)), (near, noise), (near, far), (noise, far), (far, near | far)):
        result = _native.surface_distances(a.view(np.uint8), b.view(np.uint8), np.array(spacing), "voxels")
        first, second = (np.argwhere(side & ~ndimage.binary_erosion(side)) * spacing for side in (a, b))
        squares = ((first[:, None] - second) ** 2).sum(axis=2)
        for nearest, distance, count in ((squares.min(axis=1), *result[0:3:2]), (squares.min(axis=0), *result[3:6:2])):
            np.testing.assert_allclose(np.repeat(distance, count), np.sort(np.sqrt(nearest)), rtol=1e-14)


def test_laws_of_scaling_turning_and_swapping() -> None:
    rng = np.random.default_rng(4)
    truth, prediction = (np.kron(rng.integers(0, 2, (4, 5, 5)), np.ones((2, 2, 2), int)) for _ in range(2))
    metrics = ["hd", "hd@95", "assd", "asd", "assd(surface=voxels)"]
    before = scores([truth], [prediction], metrics, [2, 1, 1.5])
    np.testing.assert_allclose(scores([truth], [prediction], metrics, [6, 3, 4.5]), np.array(before) * 3, rtol=1e-12)
    turned = [side.transpose(2, 0, 1) for side in (truth, prediction)]
    np.testing.assert_allclose(scores([turned[0]], [turned[1]], metrics, [1.5, 2, 1]), before, rtol=1e-12)
    symmetric = ["hd", "hd@95", "assd", "nsd", "dice"]
    swapped = scores([prediction], [truth], symmetric, [2, 1, 1.5])
    np.testing.assert_allclose(swapped, scores([truth], [prediction], symmetric, [2, 1, 1.5]), rtol=1e-15)


def test_regions_are_unions_of_labels() -> None:
    truth, prediction = np.array([[[1, 1, 2, 3]]]), np.array([[[1, 2, 2, 0]]])
    options = {"regions": "WT=1,2,3; ET=3"}
    report = sy.evaluate("volumes", truth, prediction, ["dice(label=each)", "dice"], options=options, confidence=None)
    assert report["dice(label=WT)"].value == 6 / 7
    assert report["dice(label=ET)"].value == 0.0
    assert report["dice"].value == 3 / 7


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_others_print_is_explained(name: str) -> None:
    example = GOLDENS[name]
    sides = [
        {"case": [1], "map": [np.array(example[s])], "spacing": [example["spacing"]]} for s in ("truth", "prediction")
    ]
    report = sy.evaluate("volumes", *sides, ["hd@95"], explain=("surface-distance", "monai", "medpy"), confidence=None)
    first, second, third = report.explanations
    assert first.theirs["hd@95"] == report["hd@95"].value == first.ours["hd@95"]
    outputs = example["outputs"]
    np.testing.assert_allclose(second.theirs["hd@95"], outputs["monai"]["hd95"], rtol=1e-6)
    np.testing.assert_allclose(second.theirs["assd"], outputs["metrics-reloaded"]["assd"], rtol=1e-12)
    np.testing.assert_allclose(third.theirs["hd@95"], outputs["medpy"]["hd95"], rtol=1e-12)
    changed = ["surface", "rule", "missed", "dice of an empty truth", "average"]
    assert [step.setting for step in second.steps] == changed
    with pytest.raises(InputError, match="'itk' cannot be explained"):
        sy.evaluate("volumes", *sides, ["hd@95"], explain=("itk",), confidence=None)


def test_dice_of_others_is_explained() -> None:
    """The golden's four cases: MONAI leaves the empty truth out, and what is made up there costs nothing."""
    example = GOLDENS["dice_empty"]
    sides = [np.array(example[s])[:, np.newaxis] for s in ("truth", "prediction")]
    report = sy.evaluate(
        "volumes", *sides, ["dice"], explain=("monai", "medpy"), options={"spacing": "1,1,1"}, confidence=None
    )
    monai, medpy = report.explanations
    assert monai.theirs["dice"] == example["outputs"]["monai_ignore_empty_true(default)"]["mean"][0]
    assert monai.ours["dice"] == medpy.theirs["dice"] == report["dice"].value


def test_means_by_structure_and_by_case_differ() -> None:
    """Structure 1 scores 1 and 0, structure 2 scores 1 in one case: (0.5 + 1) / 2, or (1 + 0) / 2."""
    truth, prediction = np.array([[[1, 2]], [[1, 0]]]), np.array([[[1, 2]], [[0, 1]]])
    assert scores(truth, prediction, ["dice", "dice(average=case)"]) == [0.75, 0.5]


def nifti(path: Path, grid: Any, spacing: Any = (1.0, 1.0, 1.0), kind: str = "<i2", code: int = 4, **more: Any) -> None:
    """A NIfTI-1 file of a grid z, y, x."""
    order = kind[0]
    header = bytearray(352)
    struct.pack_into(f"{order}i", header, 0, 348)
    dims = [*grid.shape[::-1], *more.get("channels", ())]
    struct.pack_into(f"{order}8h", header, 40, len(dims), *dims, *[1] * (7 - len(dims)))
    struct.pack_into(f"{order}h", header, 70, code)
    struct.pack_into(f"{order}8f", header, 76, 1.0, *spacing[::-1], *[0] * (7 - len(spacing)))
    struct.pack_into(f"{order}3f", header, 108, 352.0, *more.get("scale", (1.0, 0.0)))
    struct.pack_into(f"{order}2h", header, 252, 0, 1)
    x = more.get("flip", 1.0) * spacing[-1]
    rows = [x, 0, 0, more.get("origin", 0.0), 0, spacing[-2], 0, 0, 0, 0, spacing[0], 0]
    struct.pack_into(f"{order}12f", header, 280, *rows)
    header[344:348] = b"n+1\0"
    data = bytes(header) + np.ascontiguousarray(grid).astype(np.dtype(kind)).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize(
    ("kind", "code"), [("<i2", 4), (">i2", 4), ("<u1", 2), ("<f4", 16), (">f8", 64), ("<i8", 1024)]
)
@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
def test_files_of_nifti(tmp_path: Path, kind: str, code: int, ending: str) -> None:
    example = GOLDENS["distance_3d_aniso"]
    for side, name in (("truth", "t"), ("prediction", "p")):
        nifti(tmp_path / name / f"case{ending}", np.array(example[side]), example["spacing"], kind, code)
    report = sy.evaluate("volumes", tmp_path / "t", tmp_path / "p", ["hd@95", "asd"], confidence=None)
    expected = example["outputs"]["surface-distance"]
    result = [report["hd@95"].value, report["asd"].value]
    np.testing.assert_allclose(result, [expected["hd95"], expected["asd_gt_to_pred_and_back"][1]], rtol=1e-12)
    assert report.units().units.tolist() == ["case"]


REFUSED = [
    ({"spacing": (3.0, 1.0, 1.0)}, r"spacing 1×1×1 mm in the truth, 3×1×1 mm in the prediction \(z×y×x\)"),
    ({"spacing": (1.0, 1.0, 0.0)}, r"p.case.nii: spacing 1×1×0 of 3 axes.*above zero"),
    ({"flip": -1.0}, r"the prediction is mirrored along axis 0"),
    ({"origin": 5.0}, r"their affines differ by 5"),
    ({"kind": "<f4", "code": 16, "add": 0.5}, r"case.nii: 24 voxels are not whole \(0.5 at 0, 0, 0\).*nearest neighbour"),
    ({"scale": (0.5, 0.0), "add": 1}, r"voxels are not whole"),
    ({"channels": (4,), "times": 4, "add": 2}, r"its 4 channels are neither one-hot nor probabilities"),
    ({"code": 128}, r"of type 128"),
    ({"cut": 100}, r"the header is cut off|is not a NIfTI"),
    ({"cut": 380}, r"ends before its 24 voxels do"),
    ({"shape": (2, 3, 5)}, r"2×3×4 voxels, and .*case.nii has 2×3×5"),
    ({"add": -3}, r"value -3 is out of range"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[r[1] for r in REFUSED])
def test_files_that_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    settings = dict(change)
    grid = np.zeros(settings.pop("shape", (2, 3, 4))) + settings.pop("add", 0)
    grid = np.concatenate([grid] * settings.pop("times", 1))
    cut = settings.pop("cut", None)
    nifti(tmp_path / "t" / "case.nii", np.zeros((2, 3, 4)))
    if "channels" in settings:
        grid = grid.reshape(-1)[:96].reshape(4, 2, 3, 4)
        settings["channels"] = ()
    nifti(tmp_path / "p" / "case.nii", grid, **settings)
    if cut is not None:
        data = (tmp_path / "p" / "case.nii").read_bytes()
        (tmp_path / "p" / "case.nii").write_bytes(data[:cut])
    with pytest.raises(InputError, match=message):
        sy.evaluate("volumes", tmp_path / "t", tmp_path / "p", ["dice"], confidence=None)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    nifti(tmp_path / "t" / "case.nii.gz", np.zeros((2, 3, 4)))
    nifti(tmp_path / "p" / "case.nii.gz", np.zeros((2, 3, 4)))
    data = (tmp_path / "p" / "case.nii.gz").read_bytes()
    (tmp_path / "p" / "case.nii.gz").write_bytes(data[:-9])
    with pytest.raises(InputError, match=r"case.nii.gz: cannot be unpacked"):
        sy.evaluate("volumes", tmp_path / "t", tmp_path / "p", ["dice"])


def test_settings_that_are_refused() -> None:
    grid = np.ones((1, 2, 2), dtype=int)
    for metric, message in (
        ("hd@0", "percentile cannot be 0"),
        ("hd@101", "percentile cannot be 101"),
        ("nsd(tolerance=-1)", "tolerance cannot be -1"),
        ("hd(missed=perhaps)", "missed cannot be perhaps"),
        ("hd(like=monai, rule=linear)", "like= says surface and rule itself"),
        ("dice(label=7)", "there is no structure '7'"),
    ):
        with pytest.raises(InputError, match=message):
            scores(grid, grid, [metric])
    with pytest.raises(InputError, match=r"the size of a voxel is not known.*`spacing=1,1"):
        scores(grid, grid, ["hd"])
    with pytest.raises(InputError, match=r"option spacing: 0×1"):
        scores(grid, grid, ["hd"], options={"spacing": "0,1"})
    with pytest.raises(InputError, match="'ET' is not a valid region"):
        scores(grid, grid, ["dice"], options={"regions": "ET"})
    assert scores(grid, grid, ["hd"], options={"spacing": "1,1"}) == [0.0]
