"""Task `images`: goldens of the references that the catalogue names, settings, units, formats and bad input by hand.

tests/goldens/images.json holds what the references gave; it says which, and at which versions.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
from PIL import Image
from support.golden_images import GOLDENS, golden_pairs
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.images import measures
from steelyard.tasks.images.pixels import open_picture
from steelyard.tasks.images.views import steps

# What a column of the goldens is called here: the metric, and the options that it needs.
COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    "own_mae": ("mae", {}),
    "own_rmse": ("rmse", {}),
    "own_ssim_wang": ("ssim", {}),
    "own_ssim_wang_downsampled": ("ssim(preset=wang-down)", {}),
    "own_ssim_matlab_builtin": ("ssim(preset=matlab)", {}),
    "own_uqi_8x8": ("uqi", {}),
    "own_psnr_edsr_y_border4": ("psnr(preset=edsr)", {"border": 4}),
    "own_psnr_y_rounded": ("psnr(preset=matlab-y)", {}),
    "own_psnr_y_full_range": ("psnr", {"channels": "y", "luma": "full"}),
    "skimage_psnr": ("psnr(preset=skimage)", {}),
    "skimage_ssim_default": ("ssim(preset=skimage)", {}),
    "skimage_ssim_gaussian_sample": ("ssim(preset=skimage-gaussian)", {}),
    "skimage_ssim_wang": ("ssim(preset=wang)", {}),
    "skimage_nrmse": ("nrmse", {}),
    "skimage_delta_e_2000": ("delta_e", {}),
    "torchmetrics_psnr": ("psnr(preset=torchmetrics)", {}),
    "torchmetrics_ssim": ("ssim(preset=torchmetrics)", {}),
    "torchmetrics_ssim_uniform7": ("ssim(preset=torchmetrics-uniform)", {}),
    "torchmetrics_ms_ssim": ("ms_ssim(preset=torchmetrics)", {}),
    "torchmetrics_vif_0_255": ("vif(preset=torchmetrics)", {}),
    "torchmetrics_uqi": ("uqi(preset=torchmetrics)", {}),
    "torchmetrics_ergas": ("ergas", {}),
    "torchmetrics_sam": ("sam", {}),
    "pytorch_msssim_ssim": ("ssim(preset=pytorch-msssim)", {}),
    "pytorch_msssim_ms_ssim": ("ms_ssim(preset=pytorch-msssim)", {}),
    "piq_psnr": ("psnr(preset=piq)", {}),
    "piq_ssim": ("ssim(preset=piq)", {}),
    "piq_ssim_no_downsampling": ("ssim(preset=basicsr)", {}),
    "piq_ms_ssim": ("ms_ssim(preset=piq)", {}),
    "piq_vif_p": ("vif", {}),
    "piq_gmsd": ("gmsd", {}),
    "piq_fsim": ("fsim", {}),
    "piq_fsimc": ("fsimc", {}),
    "su_ssim_zero_padding": ("ssim(preset=zeros)", {}),
    "basicsr_psnr_rgb": ("psnr(preset=basicsr)", {}),
    "basicsr_psnr_rgb_border4": ("psnr(preset=basicsr)", {"border": 4}),
    "basicsr_psnr_y": ("psnr(preset=basicsr-y)", {}),
    "basicsr_psnr_y_border4": ("psnr", {"preset": "basicsr-y", "border": 4}),
    "basicsr_psnr_pt": ("psnr(preset=basicsr-pt)", {}),
    "basicsr_psnr_pt_y": ("psnr(preset=basicsr-pt-y)", {}),
    "basicsr_ssim_rgb": ("ssim", {"preset": "basicsr"}),
    "basicsr_ssim_rgb_border4": ("ssim(preset=basicsr)", {"border": 4}),
    "basicsr_ssim_y": ("ssim(preset=basicsr-y)", {}),
    "basicsr_ssim_y_border4": ("ssim", {"preset": "basicsr-y", "border": 4}),
    "sewar_ssim": ("ssim(preset=sewar)", {}),
    "sewar_ms_ssim": ("ms_ssim(preset=sewar)", {}),
    "sewar_ergas": ("ergas", {}),
    "sewar_sam": ("sam", {}),
    "sewar_vifp": ("vif(preset=sewar)", {}),
    "tensorflow_psnr": ("psnr(preset=tensorflow)", {}),
    "tensorflow_ssim": ("ssim(preset=tensorflow)", {}),
    "tensorflow_ms_ssim": ("ms_ssim(preset=tensorflow)", {}),
}
# Columns of functions below, and one that is a fault of its tool: means where its formula needs sums.
ELSEWHERE = {"torchmetrics_ssim_no_range", "torchmetrics_vif_0_1", "torchmetrics_ms_ssim_plain", "sewar_uqi"}
FLAT = ("constant_100_120", "constant_equal", "black_white")
SINGLE = ("tensorflow", "pytorch_msssim", "su_ssim", "basicsr_psnr_y", "basicsr_ssim_y", "basicsr_psnr_pt_y")
# Rounding decides what these print of pictures without structure.
NOISE = {("torchmetrics_uqi", name) for name in FLAT} | {("piq_fsim", name) for name in FLAT}


def tolerance(column: str, pair: str) -> float:
    if column.startswith((*SINGLE, "torchmetrics_psnr", "torchmetrics_ms_ssim")):
        return 1e-3 if pair in FLAT else 5e-5
    return 1e-8 if column.endswith("_sam") else 1e-12


def side(*pictures: Any, **more: Any) -> dict[str, Any]:
    return {"image": [f"i{i}" for i in range(len(pictures))], "pixels": list(pictures), **more}


def score(truth: Any, prediction: Any, *metrics: str, **options: Any) -> list[float]:
    report = sy.evaluate("images", truth, prediction, list(metrics), confidence=None, options=options)
    return [report[metric].value for metric in metrics]


# The smallest side of images that a column's metric takes, where its name does not say it.
LEAST = {
    "skimage_ssim_default": 7,
    "own_ssim_matlab_builtin": 6,
    "su_ssim_zero_padding": 6,
    "torchmetrics_ssim": 6,
    "torchmetrics_ssim_uniform7": 4,
    "torchmetrics_ms_ssim": 176,
    "sewar_ms_ssim": 11,
    "own_uqi_8x8": 8,
    "torchmetrics_uqi": 11,
}


def least_side(column: str) -> int:
    """The smallest image for which we give what the column holds."""
    if column in LEAST:
        return LEAST[column]
    return 161 if "ms_ssim" in column else 11 if "ssim" in column else 41 if "vif" in column else 1


def beyond_windows(pair: str, column: str) -> bool:
    """Whether the page says that we refuse the image, whatever the tool gives for it."""
    height, width, channels = GOLDENS["pairs"][pair]["shape"]
    small = min(height, width) - (8 if "border4" in column else 0)
    return small < least_side(column) or (column.endswith("_sam") and channels < 2)


@pytest.mark.parametrize("pair", list(GOLDENS["pairs"]))
def test_goldens(pair: str) -> None:
    first, second = golden_pairs()[pair]
    values = GOLDENS["pairs"][pair]["values"]
    assert set(values) <= set(COLUMNS) | ELSEWHERE
    asked: dict[str, dict[str, Any]] = {}
    for column, expected in values.items():
        if column in ELSEWHERE or (column, pair) in NOISE or expected in ("error", "nan"):
            continue
        metric, options = COLUMNS[column]
        if beyond_windows(pair, column):
            with refuses("E-shape-mismatch"):
                score(side(first), side(second), metric, **options)
            continue
        key = str(options)
        asked.setdefault(key, {"options": options, "columns": []})["columns"].append((column, metric, float(expected)))
    for group in asked.values():
        specs = list(dict.fromkeys(metric for _, metric, _ in group["columns"]))
        scored = dict(zip(specs, score(side(first), side(second), *specs, **group["options"]), strict=True))
        for column, metric, expected in group["columns"]:
            if column in ("skimage_nrmse", "sewar_ergas", "torchmetrics_ergas") and math.isinf(expected):
                assert math.isnan(scored[metric]), column  # undefined, not infinite
                continue
            assert scored[metric] == pytest.approx(expected, rel=0, abs=tolerance(column, pair)), (column, metric)


def test_goldens_of_functions() -> None:
    """The range that torchmetrics takes from a batch, and VIF of pixels that are not scaled."""
    for pair, (first, second) in golden_pairs().items():
        values, peak = GOLDENS["pairs"][pair]["values"], GOLDENS["pairs"][pair]["range"]
        span = float(max(int(side.max()) - int(side.min()) for side in (first, second)))
        expected = values.get("torchmetrics_ssim_no_range", "error")
        if span and isinstance(expected, float):
            assert measures.ssim(first, second, span, "torchmetrics") == pytest.approx(expected, abs=1e-12)
        expected = values.get("torchmetrics_vif_0_1", "error")
        if isinstance(expected, float):
            scaled = first / peak, second / peak
            assert measures.vif(*scaled, 255.0, "torchmetrics") == pytest.approx(expected, abs=1e-12)
        expected = values.get("torchmetrics_ms_ssim_plain", "error")
        if isinstance(expected, float):
            assert measures.ms_ssim(first, second, peak, "torchmetrics") == pytest.approx(expected, abs=5e-5)


def test_colour_differences() -> None:
    for row in GOLDENS["delta_e_2000"]:
        one, other = (np.array(row[name], dtype=float) for name in ("lab1", "lab2"))
        assert float(measures.delta_e_2000(one, other)) == pytest.approx(row["value"], abs=1e-12)
        assert float(measures.delta_e_76(one, other)) == pytest.approx(math.dist(one, other), abs=1e-12)


# By hand


def flat(value: float, *shape: int, dtype: Any = np.uint8) -> Any:
    return np.full(shape or (5, 5, 3), value, dtype=dtype)


def test_errors_by_hand() -> None:
    """A difference of 3 everywhere: MSE 9, PSNR 10 log10(255² / 9)."""
    truth, predicted = side(flat(10), flat(40)), side(flat(13), flat(37))
    decibels = 10 * math.log10(255**2 / 9)
    assert score(truth, predicted, "psnr", "rmse", "mae") == [pytest.approx(decibels), 3.0, 3.0]
    assert score(truth, predicted, "nrmse")[0] == pytest.approx((3 / 10 + 3 / 40) / 2)


def test_mean_and_pooled() -> None:
    """Errors of 0.1 and 1 of range 10: PSNR 40 and 20, mean 30; pooled 10 log10(100 / 0.505)."""
    truth = side(flat(0, dtype=float), flat(0, dtype=float))
    predicted = side(flat(0.1, dtype=float), flat(1, dtype=float))
    scored = score(truth, predicted, "psnr", "psnr(level=pooled)", "rmse(level=pooled)", range=10)
    assert scored == pytest.approx([30.0, 10 * math.log10(100 / 0.505), math.sqrt(0.505)])


def test_identical_images_are_infinite() -> None:
    truth, predicted = side(flat(10), flat(20)), side(flat(10), flat(21))
    report = sy.evaluate("images", truth, predicted, ["psnr", "psnr(cap=100)", "psnr(level=pooled)"], confidence=None)
    one = 10 * math.log10(255**2)
    assert report["psnr"].value == math.inf
    assert report["psnr(cap=100)"].value == pytest.approx((100 + one) / 2)
    assert report["psnr(level=pooled)"].value == pytest.approx(one + 10 * math.log10(2))
    assert any("1 of 2 images" in remark for remark in report["psnr"].notes)


def test_a_weight_of_zero_takes_an_infinite_image_out() -> None:
    truth = side(flat(10), flat(20), sample_weight=[0, 1])
    assert score(truth, side(flat(10), flat(21)), "psnr") == [pytest.approx(10 * math.log10(255**2))]


def test_clips_are_units() -> None:
    """Clip a has frames of 20 and 40 dB, b one of 60: mean over clips 45, over frames 40."""
    pictures = [flat(value, 2, 2, 1, dtype=float) for value in (0.1, 0.01, 0.001)]
    truth = side(*[flat(0, 2, 2, 1, dtype=float)] * 3, clip=["a", "a", "b"])
    assert score(truth, side(*pictures), "psnr", "psnr(level=frame)", range=1) == pytest.approx([45, 40])
    assert score(truth, side(*pictures), "psnr", range=1, resample="image") == [pytest.approx(40)]


def test_the_unit_is_printed_where_it_is_not_the_image() -> None:
    truth = side(*[flat(100, 12, 12, 1)] * 3, scene=["a", "a", "b"])
    report = sy.evaluate("images", truth, side(*[flat(90, 12, 12, 1)] * 3), ["psnr"], confidence=None)
    assert any(remark.endswith("unit scene.") for remark in report["psnr"].notes)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    first, second = golden_pairs()["rgb_177x181"]
    specs = ["psnr", "ssim", "ssim(preset=torchmetrics)", "ms_ssim", "vif", "gmsd", "fsimc", "uqi", "delta_e"]
    scored = []
    for threads in (1, 3):
        with sy.use_threads(threads):
            scored.append(score(side(*[first] * 3), side(*[second] * 3), *specs))
    assert scored[0] == scored[1]


def test_masks_and_regions() -> None:
    """Only the upper row is wrong: by 2."""
    truth_picture, predicted = flat(10, 5, 5, 1), flat(10, 5, 5, 1)
    predicted[0] += 2
    mask, region = np.zeros((5, 5), np.uint8), np.ones((5, 5), np.uint8)
    mask[:2], region[0] = 1, 7
    truth = side(truth_picture, mask=[mask], region=[region])
    specs = ("mae", "mae(region=sky)", "mae(region=1)")
    assert score(truth, side(predicted), *specs, regions="sky=7") == [1.0, 2.0, 0.0]


def test_masks_are_cropped_as_images_are() -> None:
    """Of 5×5 pixels 4×5 are compared; the mask of the whole truth holds its first row, which is wrong by 2."""
    predicted, mask = flat(10, 4, 5, 1), np.zeros((5, 5), np.uint8)
    predicted[0] += 2
    mask[[0, 4]] = 1
    assert score(side(flat(10, 5, 5, 1), mask=[mask]), side(predicted), "mae", fit="crop", layout="hwc") == [2.0]


def test_mask_of_ssim_takes_window_centres() -> None:
    first, second = golden_pairs()["rgb_noise_48x56"]
    mask = np.zeros(first.shape[:2], np.uint8)
    mask[20:30, 10:40] = 1
    places = measures.ssim_map(first, second, 255.0, measures.WANG)[1]
    expected = places[15:25, 5:35].mean()
    assert score(side(first, mask=[mask]), side(second), "ssim") == [pytest.approx(expected, abs=1e-12)]


def test_columns_of_other_programs() -> None:
    truth, predicted = side(flat(1), flat(2)), side(flat(1), flat(2), lpips=[0.2, 0.4], niqe=["3", "5"])
    assert score(truth, predicted, "column(lpips)", "column(niqe, better=higher)") == pytest.approx([0.3, 4.0])
    with refuses("E-missing-column", "lpipz"):
        score(truth, predicted, "column(lpipz)")


def test_settings() -> None:
    """Luma of a difference of 10 in red: weights of the rules; the border takes the wrong pixel away."""
    first, second = flat(100, 6, 6, 3), flat(100, 6, 6, 3)
    second[..., 0] += 10
    for rule, weight in (("bt601", 65.481 / 255), ("full", 0.299), ("edsr", 65.738 / 256)):
        expected = 20 * math.log10(255 / (10 * weight))
        assert score(side(first), side(second), "psnr", channels="y", luma=rule) == [pytest.approx(expected)]
    spot = first.copy()
    spot[0, 0] = 0
    assert score(side(first), side(spot), "mae", border=1) == [0.0]
    cut = flat(100, 8, 7, 3)
    assert score(side(first), side(cut), "mae", fit="crop") == [0.0]


def test_quantise_and_mixed_types() -> None:
    """A renderer's 0.5 is 127.5 beside 8 bits, and 128 once it is rounded."""
    truth, predicted = side(flat(128, 2, 2, 3)), side(flat(0.5, 2, 2, 3, dtype=float))
    options = {"prediction.range": 1}
    assert score(truth, predicted, "mae", **options) == [pytest.approx(0.5)]
    assert score(truth, predicted, "mae", quantise="8", **options) == [0.0]


REFUSALS: list[tuple[Any, Any, dict[str, Any], str, tuple[str, ...]]] = [
    (flat(1, 5, 6, 3), flat(1, 6, 5, 3), {}, "E-shape-mismatch", ("6×5", "5×6", "crop")),
    (flat(0.5, dtype=float), flat(0.5, dtype=float), {}, "E-invalid-setting", ("0.5", "range=1")),
    (flat(200.0, dtype=float), flat(3, dtype=float), {"range": 1}, "E-out-of-range", ("200", "range=1")),
    (flat(9), flat(9), {"range": 1023}, "E-out-of-range", ("1023", "8 bits")),
    (flat(200), flat(9), {"range": 199}, "E-out-of-range", ("200", "199")),
    (flat(9, dtype=np.uint16), flat(9), {}, "E-incompatible", ("16", "8")),
    (flat(9, 5, 5, 3), flat(9, 5, 5, 1), {}, "E-shape-mismatch", ("channels=y",)),
    (flat(math.nan, dtype=float), flat(0, dtype=float), {"range": 1}, "E-invalid-number", ("75 values", "row 0")),
    (flat(1, 5, 5, 3), flat(1, 5, 5, 3), {"border": 3}, "E-shape-mismatch", ("5×5", "3")),
    (flat(1, 3, 4, 3), flat(1, 3, 4, 3), {}, "E-shape-mismatch", ("layout=hwc",)),
    (flat(1, 5, 5, 7), flat(1, 5, 5, 7), {"channels": "y", "layout": "hwc"}, "E-conflict", ("7",)),
]


@pytest.mark.parametrize("row", range(len(REFUSALS)))
def test_refusals(row: int) -> None:
    first, second, options, code, names = REFUSALS[row]
    with refuses(code, *names):
        score(side(first), side(second), "psnr", **options)


def test_too_small_names_the_sizes() -> None:
    with refuses("E-shape-mismatch", "20×10", "11×11"):
        score(side(flat(1, 10, 20, 1)), side(flat(1, 10, 20, 1)), "ssim")
    with refuses("E-shape-mismatch", "160×170", "161×161"):
        score(side(flat(1, 170, 160, 1)), side(flat(1, 170, 160, 1)), "ms_ssim")


def test_missing_worst_is_refused() -> None:
    with refuses("E-invalid-spec", "missing='skip'"):
        sy.evaluate("images", side(flat(1), flat(2)), side(flat(1)), ["psnr"], missing="worst")
    with refuses("E-unmatched", "choose `missing='skip'`"):  # and nothing else
        sy.evaluate("images", side(flat(1), flat(2)), side(flat(1)), ["psnr"])


# Other tools, pictures and checks


def noise_pair() -> tuple[dict[str, Any], dict[str, Any]]:
    first, second = golden_pairs()["rgb_noise_48x56"]
    return side(first), side(second)


def test_explain_gives_the_numbers_of_tools() -> None:
    report = sy.evaluate("images", *noise_pair(), ["psnr"], confidence=None, explain=["basicsr-y", "skimage", "piq"])
    values = GOLDENS["pairs"]["rgb_noise_48x56"]["values"]
    theirs = {each.tool: each.theirs for each in report.explanations}
    assert theirs["basicsr-y"]["psnr"] == pytest.approx(values["basicsr_psnr_y"], abs=5e-5)
    assert theirs["basicsr-y"]["ssim"] == pytest.approx(values["basicsr_ssim_y"], abs=5e-5)
    assert theirs["skimage"]["ssim"] == pytest.approx(values["skimage_ssim_default"], abs=1e-12)
    assert theirs["piq"]["psnr"] == pytest.approx(values["piq_psnr"], abs=1e-12)


def test_explain_starts_from_the_settings_of_the_run() -> None:
    """Ours is what the report says; a tool has the border of the run and channels of its own."""
    options = {"preset": "basicsr-y", "border": 4}
    report = sy.evaluate(
        "images", *noise_pair(), ["psnr", "ssim"], confidence=None, options=options, explain=["basicsr", "matlab"]
    )
    values = GOLDENS["pairs"]["rgb_noise_48x56"]["values"]
    basicsr, matlab = report.explanations
    assert basicsr.ours == {name: report[name].value for name in ("psnr", "ssim")}
    assert basicsr.theirs["psnr"] == pytest.approx(values["basicsr_psnr_rgb_border4"], abs=1e-12)
    assert basicsr.theirs["ssim"] == pytest.approx(values["basicsr_ssim_rgb_border4"], abs=1e-12)
    assert [step.setting for step in basicsr.steps] == ["channels of psnr", "channels of ssim"]
    assert basicsr.steps[0].values == {"psnr": basicsr.theirs["psnr"], "ssim": basicsr.ours["ssim"]}
    assert "window of ssim" in [step.setting for step in matlab.steps]
    plain = sy.evaluate("images", *noise_pair(), ["psnr"], confidence=None, explain=["matlab"]).explanations[0]
    assert plain.theirs["psnr"] == pytest.approx(values["own_psnr_y_rounded"], abs=1e-12)


def test_explain_pools_what_torchmetrics_pools() -> None:
    """Clip a has errors of 1 and 3, clip b of 2. Mean over clips; the class of torchmetrics pools the squares."""
    truth = side(*[flat(100, 12, 12, 1)] * 3, clip=["a", "a", "b"])
    predicted = side(*[flat(100 + error, 12, 12, 1) for error in (1, 3, 2)])
    report = sy.evaluate("images", truth, predicted, ["psnr"], confidence=None, explain=["torchmetrics", "tensorflow"])
    torchmetrics, tensorflow = report.explanations
    each = [20 * math.log10(255 / error) for error in (1, 3, 2)]
    assert torchmetrics.ours["psnr"] == pytest.approx(((each[0] + each[1]) / 2 + each[2]) / 2)
    assert torchmetrics.ours["psnr"] == report["psnr"].value
    assert torchmetrics.theirs["psnr"] == pytest.approx(10 * math.log10(255**2 * 3 / (1 + 9 + 4)))
    assert tensorflow.theirs["psnr"] == pytest.approx(sum(each) / 3)
    assert tensorflow.steps[0].setting == "averaging of psnr"


def found_by_which(number: float, *sides: Any) -> str:
    (text,) = [
        each.what
        for each in sy.check("images", *sides, options={"which": number}).findings
        if each.code == "settings-of-a-number"
    ]
    return text


def test_which_finds_the_settings_of_a_number() -> None:
    """0.8338 is what BasicSR prints for Y with a border of 4; 10 log10(255² 2 / 10) is pooled; 0.5 is nothing."""
    assert "given by: ssim(preset=basicsr-y), border=4" in found_by_which(0.8338, *noise_pair())
    sides = side(*[flat(100, 12, 12, 1)] * 2), side(flat(101, 12, 12, 1), flat(103, 12, 12, 1))
    assert "given by: psnr(level=pooled)" in found_by_which(round(10 * math.log10(255**2 / 5), 4), *sides)
    assert "No preset" in found_by_which(0.5, *noise_pair())


def test_which_names_the_settings_of_the_run_first() -> None:
    """PSNR is 48.138 as it is, and 48.131 without the border, which is nearer to 48.1."""
    predicted = flat(101, 24, 24, 1)
    predicted[0, 0] = 100
    assert "given by: psnr; " in found_by_which(48.1, side(flat(100, 24, 24, 1)), side(predicted))


def test_pyiqa_compares_luma_for_ssim_alone() -> None:
    """As its source has it: PSNR of RGB with 1e-8; SSIM of rounded luma, negative contrast 0, never made smaller."""
    first, second = golden_pairs()["gray_400x387"]
    values = GOLDENS["pairs"]["gray_400x387"]["values"]
    assert score(side(first), side(second), "ssim(preset=pyiqa)")[0] == pytest.approx(
        values["own_ssim_wang"], abs=1e-12
    )
    rgb = GOLDENS["pairs"]["rgb_noise_48x56"]["values"]
    assert score(*noise_pair(), "psnr(preset=pyiqa)")[0] == pytest.approx(rgb["piq_psnr"], abs=1e-12)
    y = side(*(measures.luma(golden_pairs()["rgb_noise_48x56"][i], "full+round", 255.0) for i in [0]))
    other = side(measures.luma(golden_pairs()["rgb_noise_48x56"][1], "full+round", 255.0))
    expected = score(y, other, "ssim", range=255)[0]  # no window of this pair has a negative contrast
    assert score(*noise_pair(), "ssim", preset="pyiqa")[0] == pytest.approx(expected, abs=1e-12)


def codes_of(truth: Any, predicted: Any, **options: Any) -> list[str]:
    return [each.code for each in sy.check("images", truth, predicted, options=options).findings]


def test_checks_find_what_makes_numbers_wrong() -> None:
    first = golden_pairs()["rgb_noise_48x56"][0]
    framed = first.copy()
    framed[:, :2], framed[:2] = 0, 0
    for predicted, code in (
        (first[:, :, ::-1], "swapped-channels"),
        (np.roll(first, 1, axis=1), "shifted-images"),
        (framed, "other-border"),
    ):
        assert codes_of(side(first), side(np.ascontiguousarray(predicted))) == [code]
    ten = side(np.full((6, 6, 1), 1023, np.uint16)), side(np.full((6, 6, 1), 1000, np.uint16))
    assert codes_of(*ten) == ["unused-range"]
    assert codes_of(*ten, range=1023) == []
    ones = side(flat(1.0, dtype=float)), side(flat(0.5, dtype=float))
    assert codes_of(*ones, range=255) == ["unused-range"]
    shifted = first / 127.5 - 1
    for sides in ((shifted, shifted), (first / 255, shifted)):
        assert codes_of(*map(side, sides), range=1) == ["values-below-0"]
    overshoot = first / 255
    overshoot[20, 20] = -0.3
    assert codes_of(side(first / 255), side(overshoot), range=1) == []
    assert codes_of(*noise_pair()) == []


def test_evaluation_notes_swapped_channels_and_unused_ranges() -> None:
    first = golden_pairs()["rgb_noise_48x56"][0]
    report = sy.evaluate(
        "images", side(first), side(np.ascontiguousarray(first[:, :, ::-1])), ["psnr"], confidence=None
    )
    assert any("swapped-channels" in remark for remark in report.notes)
    wide = side(np.full((6, 6, 1), 1023, np.uint16)), side(np.full((6, 6, 1), 1000, np.uint16))
    report = sy.evaluate("images", *wide, ["psnr"], confidence=None)
    assert any("1023" in remark and "unused-range" in remark for remark in report.notes)
    shifted = side(first / 127.5 - 1), side(first / 127.5 - 1)
    report = sy.evaluate("images", *shifted, ["psnr"], options={"range": 1}, confidence=None)
    assert any("values-below-0" in remark for remark in report.notes)


def test_identical_images_do_not_prove_that_all_are() -> None:
    """1 - 0.025^(1/6) of all images may differ; errors have no largest value, so that their interval is open."""
    pixels = np.random.default_rng(6).integers(0, 256, (6, 12, 12, 3)).astype(np.uint8)
    report = sy.evaluate("images", side(*pixels), side(*pixels), ["ssim", "rmse", "gmsd"])
    share = 1 - 0.025 ** (1 / 6)
    assert report["ssim"].interval == (pytest.approx(1 - 2 * share), 1.0)
    assert report["gmsd"].interval == (0.0, pytest.approx(share))
    assert report["rmse"].interval is None


def test_the_heading_counts_clips_as_units() -> None:
    pixels = np.random.default_rng(6).integers(0, 256, (4, 12, 12, 3)).astype(np.uint8)
    report = sy.evaluate("images", side(*pixels, clip=["a", "a", "b", "b"]), side(*pixels), "rmse", confidence=None)
    assert str(report).splitlines()[0] == "images: 2 units of 4 images"


def test_figures_of_a_report() -> None:
    """Errors of 1 to 8 of 255: PSNR falls; the first two, the middle two and the last two are shown, by the formula."""
    truth = side(*[flat(100, 12, 12, 1)] * 8)
    predicted = side(*[flat(100 + error, 12, 12, 1) for error in range(1, 9)])
    report = sy.evaluate("images", truth, predicted, ["psnr", "ssim"], confidence=None)
    decibels = [20 * math.log10(255 / error) for error in range(1, 9)]
    shown = report.figure("pictures").columns
    assert list(shown["image"]) == ["worst: i7", "worst: i6", "median: i4", "median: i3", "best: i1", "best: i0"]
    assert list(shown["cost"]) == pytest.approx([decibels[i] for i in (7, 6, 4, 3, 1, 0)])
    # Flat images: SSIM is its luminance term alone.
    ssim = [(2 * 100 * b + 2.55**2) / (100**2 + b**2 + 2.55**2) for b in range(101, 109)]
    points = report.figure("psnr_ssim").columns
    assert np.asarray(points["x"]) == pytest.approx(decibels)
    assert np.asarray(points["y"]) == pytest.approx(ssim)
    assert report.listing() is None  # images are the units, which are listed anyway


def test_figures_leave_out_what_has_no_place() -> None:
    """Two identical images and two others: too few points; without SSIM there are no axes."""
    truth, predicted = side(*[flat(100, 12, 12, 1)] * 4), side(*[flat(100 + e, 12, 12, 1) for e in (0, 0, 1, 2)])
    for metrics in (["psnr", "ssim"], ["psnr"]):
        report = sy.evaluate("images", truth, predicted, metrics, confidence=None)
        assert list(report.figures) == ["pictures"]


def test_frames_of_clips_are_listed() -> None:
    truth = side(*[flat(100, 5, 5, 1)] * 3, clip=["b", "a", "b"])
    predicted = side(*[flat(100 + error, 5, 5, 1) for error in (1, 2, 3)])
    listing = sy.evaluate("images", truth, predicted, ["psnr"], confidence=None).listing()
    assert listing is not None
    assert list(listing.columns) == ["clip", "image", "PSNR"]  # 5×5 is too small for SSIM
    assert np.asarray(listing.columns["PSNR"]) == pytest.approx([20 * math.log10(255 / e) for e in (2, 1, 3)])


# Formats


def png16(path: Path, pixels: Any) -> None:
    """A PNG of 16 bits and three channels, written plainly: Pillow writes none."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks))


def write(path: Path, value: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(flat(value, 6, 5, 3)).save(path)


def test_one_folder_of_renders(tmp_path: Path) -> None:
    """Scene a has errors of 1 and 3, b of 8: by scene (2 + 8) / 2, by image 4."""
    for scene, name, error in (("a", "0.png", 1), ("a", "1.png", 3), ("b", "0.png", 8)):
        write(tmp_path / scene / "gt" / name, 100)
        write(tmp_path / scene / "renders" / name, 100 + error)
    assert score(tmp_path, None, "mae") == [5.0]
    assert score(tmp_path, None, "mae", resample="image") == [4.0]


def test_one_folder_without_scenes(tmp_path: Path) -> None:
    for name, error in (("0.png", 1), ("1.png", 3)):
        write(tmp_path / "gt" / name, 100)
        write(tmp_path / "renders" / name, 100 + error)
    report = sy.evaluate("images", tmp_path, None, ["mae"], confidence=None)
    assert (report["mae"].value, report["mae"].units) == (2.0, 2)


def test_both_files_in_a_folder_of_each_image(tmp_path: Path) -> None:
    for name, error in (("p", 2), ("q", 4)):
        write(tmp_path / name / "clean.png", 100)
        write(tmp_path / name / "pred.png", 100 + error)
        write(tmp_path / name / "second.png", 100 + 10 * error)
    assert score(tmp_path, None, "mae") == [3.0]
    assert score(tmp_path, None, "mae", prediction_name="second") == [30.0]
    with refuses("E-empty-input", "third", "prediction_name"):
        score(tmp_path, None, "mae", prediction_name="third")


def test_arrays_by_name(tmp_path: Path) -> None:
    """Images of an .npz file are joined by name, whatever their order; channels may come first."""
    np.savez(tmp_path / "truth.npz", p=flat(10, 6, 5, 3), q=flat(20, 6, 5, 3))
    np.savez(tmp_path / "predicted.npz", q=flat(26, 6, 5, 3), p=flat(12, 3, 6, 5))
    assert score(tmp_path / "truth.npz", tmp_path / "predicted.npz", "mae") == [4.0]


def test_a_batch_in_one_array(tmp_path: Path) -> None:
    np.save(tmp_path / "truth.npy", np.zeros((2, 3, 6, 5)))
    np.save(tmp_path / "predicted.npy", np.stack([np.full((3, 6, 5), value) for value in (0.1, 0.01)]))
    assert score(tmp_path / "truth.npy", tmp_path / "predicted.npy", "psnr", range=1) == [pytest.approx(30.0)]


def test_sixteen_bits_of_three_channels(tmp_path: Path) -> None:
    """Green differs by 300 of 65,535: the mean error is 100, the mean square 30,000."""
    first = np.full((6, 5, 3), (40_000, 500, 65_535), np.uint16)
    second = first + np.array([0, 300, 0], np.uint16)
    for name, pixels in (("truth", first), ("predicted", second)):
        (tmp_path / name).mkdir()
        png16(tmp_path / name / "p.png", pixels)
    decibels = 10 * math.log10(65_535**2 / 30_000)
    scored = score(tmp_path / "truth", tmp_path / "predicted", "mae", "psnr")
    assert scored == [pytest.approx(100.0), pytest.approx(decibels)]


def test_names_are_joined_without_what_tools_add(tmp_path: Path) -> None:
    for name, value in (("baby", 10), ("bird", 50)):
        write(tmp_path / "HR" / f"{name}_HR.png", value)
    for name, value in (("bird", 51), ("baby", 13)):
        write(tmp_path / "SR" / f"{name}x4_SR.png", value)
    report = sy.evaluate("images", tmp_path / "HR", tmp_path / "SR", ["mae"], confidence=None)
    assert report["mae"].value == 2.0
    assert any("_SR" in remark for remark in report.notes)


def test_equal_names_keep_what_tools_add(tmp_path: Path) -> None:
    """One equal id is enough: `p` and `p_out` are then two images, and the second has no prediction."""
    write(tmp_path / "truth" / "p.png", 10)
    write(tmp_path / "truth" / "p_out.png", 10)
    write(tmp_path / "predicted" / "p.png", 11)
    with refuses("E-unmatched", "p_out"):
        score(tmp_path / "truth", tmp_path / "predicted", "mae")


def test_jpeg_is_decoded_by_pillow(tmp_path: Path) -> None:
    """One gray level survives JPEG; the report says who decoded it, and that a true JPEG has losses."""
    for name, value in (("truth", 128), ("predicted", 124)):
        (tmp_path / name).mkdir()
        Image.fromarray(flat(value, 16, 16)).save(tmp_path / name / "p.jpg", quality=95)
    report = sy.evaluate("images", tmp_path / "truth", tmp_path / "predicted", ["mae"], confidence=None)
    assert report["mae"].value == 4.0
    assert any(PIL.__version__ in remark for remark in report.notes)
    assert any("JPEG" in remark for remark in report.notes)


def test_table_of_scores(tmp_path: Path) -> None:
    table = tmp_path / "lpips.csv"
    table.write_text("image,lpips\ni1,0.5\ni0,0.1\n")
    truth, predicted = side(flat(1), flat(2)), side(flat(1), flat(2))
    assert score(truth, predicted, "column(lpips)", scores=str(table)) == [pytest.approx(0.3)]
    table.write_text("image,lpips\ni1,0.5\n")
    with refuses("E-unmatched", "i0"):
        score(truth, predicted, "column(lpips)", scores=str(table))


def test_forms_of_data_in_memory(tmp_path: Path) -> None:
    """Images by name, columns of both sides, true and false, and a list of files without names of images."""
    first, second = {"p": flat(10), "q": flat(20)}, {"q": flat(26), "p": flat(12)}
    assert score(first, second, "mae") == [4.0]
    columns = {"truth": [flat(10), flat(20)], "prediction": [flat(12), flat(26)]}
    assert score(columns, None, "mae") == [4.0]
    black = np.zeros((6, 7), dtype=bool)
    half = black.copy()
    half[:3] = True
    assert score([black], [half], "mae") == [127.5]
    truth = side(flat(10), mask=[np.eye(5, dtype=bool)])
    changed = flat(10)
    changed[0, 0] = 15
    assert score(truth, side(changed), "mae") == [1.0]
    for name, value in (("a", 10), ("b", 20)):
        write(tmp_path / f"{name}.png", value)
        write(tmp_path / f"{name}_out.png", value + 3)
    (tmp_path / "list.csv").write_text("truth,prediction\na.png,a_out.png\nb.png,b_out.png\n")
    report = sy.evaluate("images", tmp_path / "list.csv", None, ["mae"], confidence=None)
    assert (report["mae"].value, report.units().units.tolist()) == (3.0, ["a", "b"])


def y4m(path: Path, frames: list[int], tag: str = "C420jpeg") -> None:
    """A video of 6×4 pixels: planes Y of one level each, planes U and V of 100."""
    body = b"".join(b"FRAME\n" + bytes([level] * 24) + bytes([100] * 12) for level in frames)
    path.write_bytes(f"YUV4MPEG2 W6 H4 F25:1 {tag}\n".encode() + body)


def test_video(tmp_path: Path) -> None:
    """Two clips: errors of 1 and 3 in one, 6 in the other: by clip (2 + 6) / 2. Planes U are equal; there is no RGB."""
    for folder, clips in (("truth", ([10, 20], [30])), ("predicted", ([11, 23], [36]))):
        (tmp_path / folder).mkdir()
        for name, frames in zip("ab", clips, strict=True):
            y4m(tmp_path / folder / f"{name}.y4m", frames)
    sides = tmp_path / "truth", tmp_path / "predicted"
    report = sy.evaluate("images", *sides, ["mae"], confidence=None)
    assert (report["mae"].value, report["mae"].units) == (4.0, 2)
    assert any("channels y of video" in remark for remark in report["mae"].notes)
    assert score(*sides, "mae", channels="u") == [0.0]
    with refuses("E-conflict", "Y, U and V"):
        score(*sides, "mae", channels="rgb")
    frames = [path / "a.y4m" for path in sides]
    for path in frames:
        path.with_suffix(".yuv").write_bytes(path.read_bytes().partition(b"\n")[2].replace(b"FRAME\n", b""))
    raw = [path.with_suffix(".yuv") for path in frames]
    assert score(*raw, "mae", size="6x4", format="yuv420p") == [2.0]
    for size, kind, code in (
        ("", "", "E-invalid-setting"),
        ("6x4", "yuv411p", "E-invalid-setting"),
        ("6x4", f"yuv420p{'9' * 5000}", "E-invalid-setting"),
        ("0x4", "yuv420p", "E-out-of-range"),
        ("6x4", "yuv420p17", "E-out-of-range"),
        ("6x5", "yuv420p", "E-invalid-file"),
    ):
        with refuses(code, "a.yuv"):
            score(*raw, "mae", size=size, format=kind)


def test_default_metrics_of_large_images() -> None:
    """MS-SSIM is a default where every image has sides of 161 pixels once the border is cut."""
    large, small = flat(9, 161, 161, 1), flat(9, 160, 161, 1)
    for pictures, border, more in (([large] * 2, 0, True), ([large, small], 0, False), ([large] * 2, 1, False)):
        report = sy.evaluate("images", side(*pictures), side(*pictures), confidence=None, options={"border": border})
        assert list(report.scores) == ["psnr", "ssim", *(["ms_ssim"] if more else [])]


def test_a_picture_is_drawn_also_where_others_lack_predictions() -> None:
    svg = sy.draw("images", side(flat(10, 12, 12, 3), flat(20, 12, 12, 3)), side(flat(13, 12, 12, 3)), "i0")
    assert svg.startswith("<svg")
    assert all(name in svg for name in ("PSNR 38.59 dB", "Truth", "Prediction", "Difference", "SSIM"))


def tiff16(path: Path, pixels: Any) -> None:
    """A plain TIFF of 16 bits and three channels: Pillow writes none."""
    height, width, channels = pixels.shape
    body = pixels.astype("<u2").tobytes()
    bits = 8 + len(body)
    entries = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, channels, bits),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, 8),
        (277, 3, 1, channels),
        (278, 4, 1, height),
        (279, 4, 1, len(body)),
    ]
    table = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    widths = struct.pack(f"<{channels}H", *[16] * channels)
    path.write_bytes(b"II*\0" + struct.pack("<I", bits + len(widths)) + body + widths + table)


def test_sixteen_bits_are_never_read_as_eight(tmp_path: Path) -> None:
    """Pillow keeps 8 bits of colours in TIFF and PPM; gray PGM files keep all 16."""
    colours = np.full((6, 5, 3), 700, np.uint16)
    tiff16(tmp_path / "a.tiff", colours)
    (tmp_path / "a.ppm").write_bytes(b"P6\n5 6\n65535\n" + colours.astype(">u2").tobytes())
    for name in ("a.tiff", "a.ppm"):
        with refuses("E-unsupported", name, "16 bits"):
            score(tmp_path / name, tmp_path / name, "mae")
    for name, value in (("t", 700), ("p", 703)):
        gray = np.full((6, 5), value, ">u2")
        (tmp_path / f"{name}.pgm").write_bytes(b"P5\n5 6\n65535\n" + gray.tobytes())
    report = sy.evaluate("images", tmp_path / "t.pgm", tmp_path / "p.pgm", ["mae"], confidence=None)
    assert report["mae"].value == 3.0
    assert any("range 65535" in remark for remark in report["mae"].notes)
    (tmp_path / "huge.ppm").write_bytes(b"P6\n60000 60000\n255\nabc")
    with refuses("E-too-large", "huge.ppm"):
        score(tmp_path / "huge.ppm", tmp_path / "huge.ppm", "mae")


def test_each_frame_of_a_clip_can_be_drawn() -> None:
    """Frame 1 of clip a is the worst: 20 log10(255 / 4); clips have steps, images have none."""
    truth = side(*[flat(100, 12, 12, 1)] * 3, clip=["a", "a", "b"])
    predicted = side(*[flat(100 + error, 12, 12, 1) for error in (1, 4, 2)])
    first, second = (sy.draw("images", truth, predicted, "a", step=step) for step in (0, 1))
    assert "i0: PSNR 48.13 dB" in first
    assert "i1: PSNR 36.09 dB" in second
    with refuses("E-out-of-range", "2"):
        sy.draw("images", truth, predicted, "a", step=2)
    pairs = sy.evaluate("images", truth, predicted, ["psnr"], confidence=None).details.pairs
    frames = steps(pairs, 0)
    assert frames is not None
    assert (frames.name, frames.numbers, frames.start) == ("frame", (0, 1), 1)
    assert frames.counts == {"dB below the best": (0, 12)}


def test_rate_against_psnr() -> None:
    """18 bytes for 12×12 pixels are one bit per pixel."""
    truth, predicted = side(*[flat(100, 12, 12, 1)] * 3), side(*[flat(100 + e, 12, 12, 1) for e in (4, 2, 1)])
    report = sy.evaluate("images", truth, {**predicted, "bytes": [18, 36, 72]}, ["psnr"], confidence=None)
    points = report.figure("rate").columns
    assert np.asarray(points["x"]) == pytest.approx([1.0, 2.0, 4.0])
    assert np.asarray(points["y"]) == pytest.approx([20 * math.log10(255 / e) for e in (4, 2, 1)])


def opaque_where(path: Path) -> Any:
    """The picture as Pillow turns it into red, green, blue and opacity."""
    with Image.open(path) as opened:
        return np.asarray(opened.convert("RGBA"))


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("opacity", [b"", b"\x00\x80"])
def test_palettes_are_the_colours_that_pillow_shows(tmp_path: Path, bits: int, opacity: bytes) -> None:
    """Of every depth; the first two colours are clear and half so, where the file says it."""
    grid = np.arange(15, dtype=np.uint8).reshape(3, 5) % min(1 << bits, 15)
    picture = Image.fromarray(grid).convert("P")
    picture.putpalette([(37 * i + 11 * c) % 256 for i in range(1 << bits) for c in range(3)])
    picture.putdata(grid.ravel().tolist())
    picture.save(tmp_path / "a.png", bits=bits, **({"transparency": opacity} if opacity else {}))
    opened = open_picture(str(tmp_path / "a.png"), "")
    shown = opaque_where(tmp_path / "a.png")
    assert (opened.peak, opened.alpha) == (255.0, bool(opacity))
    assert opened.pixels.tolist() == (shown if opacity else shown[:, :, :3]).tolist()


@pytest.mark.parametrize("kind", ["L", "RGB"])
def test_a_clear_colour_is_one_level_or_one_colour(tmp_path: Path, kind: str) -> None:
    pixels = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    clear: Any = 6 if kind == "L" else (3, 4, 5)
    Image.fromarray(pixels[:, :, 0] if kind == "L" else pixels).save(tmp_path / "a.png", transparency=clear)
    opened, shown = open_picture(str(tmp_path / "a.png"), ""), opaque_where(tmp_path / "a.png")
    assert opened.alpha
    assert opened.pixels.tolist() == (shown[:, :, [0, 3]] if kind == "L" else shown).tolist()
    assert (opened.pixels[:, :, -1] == 0).sum() == 1


def test_frames_of_a_video_are_named_by_number(tmp_path: Path) -> None:
    y4m(tmp_path / "t.y4m", [10, 20])
    y4m(tmp_path / "p.y4m", [11, 27])

    def table(side_name: str, frame: str) -> dict[str, Any]:
        return {"image": ["a"], "pixels": [f"{tmp_path / side_name}.y4m::{frame}"]}

    assert score(table("t", "1"), table("p", "1"), "mae") == [7.0]
    assert score(table("t", "0"), table("p", "1"), "mae") == [17.0]
    with refuses("E-out-of-range", "2", "t.y4m"):
        score(table("t", "2"), table("p", "1"), "mae")
    for frame in ("last", "-1", "1.0"):
        with refuses("E-unknown-name", f"'{frame}'", "t.y4m"):
            score(table("t", frame), table("p", "1"), "mae")


def y4m_of(head: bytes, frame: bytes = b"FRAME\n" + bytes(36)) -> bytes:
    return b"YUV4MPEG2 " + head + b"\n" + frame


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "E-invalid-file"),
        (b"YUV4MPEG2 W6 H4", "E-invalid-file"),
        (y4m_of(b"W6 H4 C411"), "E-unsupported"),
        (y4m_of(b"W6 Hx"), "E-unsupported"),
        (y4m_of(b"W0 H4"), "E-unsupported"),
        (y4m_of(b"W6 H4 C420p3"), "E-unsupported"),
        (y4m_of(b"W6 H4 C420p" + b"9" * 4000), "E-unsupported"),
        (y4m_of(b"W6 H4", b"FRAME\n" + bytes(35)), "E-invalid-file"),
        (y4m_of(b"W6 H4", b"FRAMEX" + bytes(36)), "E-invalid-file"),
    ],
    ids=str,
)
def test_videos_that_are_refused(tmp_path: Path, data: bytes, code: str) -> None:
    (tmp_path / "a.y4m").write_bytes(data)
    with refuses(code, "a.y4m"):
        score(tmp_path / "a.y4m", tmp_path / "a.y4m", "mae")


def test_damaged_files_of_other_formats(tmp_path: Path) -> None:
    """No picture at all, one that ends early, and a TIFF whose second page has no width."""
    tiff16(tmp_path / "a.tiff", np.zeros((2, 2, 3), np.uint16))
    whole = (tmp_path / "a.tiff").read_bytes()
    page = whole[-(2 + 9 * 12 + 4) : -4].replace(
        struct.pack("<HHII", 258, 3, 3, 32), struct.pack("<HHII", 258, 3, 1, 8)
    )
    second = struct.pack("<H", 8) + page[2 + 12 :] + bytes(4)
    Image.fromarray(flat(9, 40, 40, 3)).save(tmp_path / "a.jpg")
    for name, data in (
        ("b.jpg", b"no picture"),
        ("c.jpg", (tmp_path / "a.jpg").read_bytes()[:-200]),
        ("d.tiff", whole[:-4] + struct.pack("<I", len(whole)) + second),
    ):
        (tmp_path / name).write_bytes(data)
        with refuses("E-invalid-file", name):
            score(tmp_path / name, tmp_path / name, "mae")


def test_numbers_of_other_programs_that_are_none() -> None:
    truth = side(flat(1), flat(2))
    assert score(truth, side(flat(1), flat(2), lpips=["0.5", ""]), "column(lpips)") == [0.5]
    for cell in ("high", 10**400, math.inf):
        with refuses("E-invalid-number", "'lpips'"):
            score(truth, side(flat(1), flat(2), lpips=[0.5, cell]), "column(lpips)")


def test_one_value_is_no_column_of_pictures() -> None:
    for pixels in (5, None):
        with refuses("E-invalid-value", "'pixels'"):
            score({"image": ["a"], "pixels": pixels}, side(flat(1)), "mae")
    with refuses("E-invalid-file", "row 0", "'pixels'"):
        score({"image": ["a"], "pixels": [5]}, side(flat(1)), "mae")
