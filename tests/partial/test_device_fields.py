"""Dense fields measured on a device: the numbers of the rows themselves. `gpu/test_counts.py` holds a GPU to the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

torch = lazy("torch")

CLOSE = 1e-11  # relative: sums are made in another order
NAMES = [f"image{k}" for k in (3, 0, 4, 1, 2)]
Array = np.ndarray[Any, Any]
Drawn = tuple[Array, Array]


def flow(channels: int = 2, several: bool = False) -> Drawn:
    """Steps of 1/64 px and errors on thresholds; holes, an image without truth, and one without an estimate."""
    rng = np.random.default_rng(channels)
    truth = np.round(rng.normal(0, 15, (5, 14, 18, channels)) * 64) / 64
    truth = np.abs(truth) if channels == 1 else truth
    predicted = truth + rng.choice([0, 0.05, 1, 3, 4, -2, -5], truth.shape)
    if several:
        truth = np.kron(truth, np.ones((1, 2, 2, 1))) + rng.choice([0, 1], (5, 28, 36, channels))
    truth[rng.random(truth.shape[:3]) < 0.2] = np.nan
    predicted[rng.random(predicted.shape[:3]) < 0.2] = np.nan
    predicted[:, [0, 6, 13]] = np.nan
    truth[1], predicted[2] = np.nan, np.nan
    shape = slice(None) if channels == 2 else 0
    return truth[..., shape].astype(np.float32), predicted[..., shape].astype(np.float32)


def disparity() -> Drawn:
    return flow(1)


def depth(size: tuple[int, int] = (21, 34), holes: bool = False) -> Drawn:
    rng = np.random.default_rng(5)
    truth = rng.uniform(0.5, 60, (5, *size)).astype(np.float32)
    predicted = (truth * rng.lognormal(0, 0.2, truth.shape)).astype(np.float32)
    truth[rng.random(truth.shape) < 0.3] = 0
    truth[1] = 0
    predicted[2], predicted[3, 2] = 3.0, 0
    if holes:
        predicted[rng.random(truth.shape) < 0.05] = np.nan
        predicted[rng.random(truth.shape) < 0.05] = np.inf
    return truth, predicted


def normals() -> Drawn:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=(5, 12, 16, 3))
    predicted = truth + rng.normal(size=truth.shape) * rng.choice([1e-3, 0.1, 1], truth.shape)
    truth[rng.random(truth.shape[:3]) < 0.2] = 0
    truth[1], predicted[2] = 0, truth[2]
    predicted[rng.random(truth.shape[:3]) < 0.05] = 0
    return truth, predicted


FIELD = [
    "epe",
    "rms",
    "bad@1",
    "bad@0.5",
    "bad@3",
    "wauc",
    "density",
    "epe(average=image)",
    "bad@5(average=image)",
    "epe(of=s10-40)",
]
FLOW = [*FIELD, *["fl", "fl(rule=kitti)", "fl(average=image,of=s40+)", "aae", "aae(average=image)"]]
DISPARITY = [*FIELD, *["d1", "d1(rule=kitti)", "d1(of=s0-10)"]]
SPRING = [*FIELD, "fl"]
DEPTH = [
    "abs_rel",
    "sq_rel",
    "sq_rel(by=squared)",
    "rmse",
    "mae",
    "rmse_log",
    "log10",
    "irmse",
    "imae",
    "silog",
    "silog(weight=0.5)",
    "delta@1",
    "delta@2",
    "delta@3",
    "delta(threshold=1.05)",
    "rmse(average=pixel)",
    "silog(average=pixel)",
    "delta@1(average=pixel)",
]
NORMALS = [
    "angle",
    "angle_rmse",
    "angle_median(exact=false)",
    "angle_median(average=image)",
    "within@11.25",
    "within@30",
    "within@5(average=image)",
    "angle(average=image)",
]
IN_DISPARITY = {"align": "affine", "align_in": "disparity", "prediction": "disparity", "max": 80}
CASES: list[tuple[str, Callable[[], Drawn], dict[str, Any], list[str]]] = [
    ("flow", flow, {}, FLOW),
    ("flow", flow, {"holes": "skip"}, FLOW),
    ("flow", flow, {"preset": "kitti2015"}, FLOW),
    ("flow", flow, {"preset": "sintel", "negate": "yes", "scale": 10}, FLOW),
    ("flow", lambda: flow(2, several=True), {"preset": "spring"}, SPRING),
    ("flow", flow, {"preset": "viper", "holes": "good"}, FLOW),
    ("disparity", disparity, {}, DISPARITY),
    ("disparity", disparity, {"preset": "kitti2012"}, DISPARITY),
    ("disparity", disparity, {"preset": "things"}, DISPARITY),
    ("disparity", disparity, {"preset": "middlebury", "max_disparity": 20, "round": "yes"}, DISPARITY),
    ("disparity", disparity, {"preset": "eth3d"}, [*DISPARITY, "a@50", "a@90", "a@99"]),
    ("depth", depth, {}, DEPTH),
    ("depth", depth, {"bounds": "closed", "clamp": "no", "max": 40, "min_pixels": 297, "scale_by": 1.5}, DEPTH),
    ("depth", depth, {"preset": "kitti_eigen", "align": "median"}, DEPTH),
    ("depth", depth, {"prediction": "disparity", "align": "median-lower", "max": 80}, DEPTH),
    ("depth", depth, {"align": "affine", "align_size": 16}, [*DEPTH, "scale_spread"]),
    ("depth", depth, {"align": "scale", "align_in": "disparity"}, DEPTH),
    ("depth", depth, {**IN_DISPARITY, "align_fit": "positive"}, DEPTH),
    ("depth", depth, {**IN_DISPARITY, "align": "affine-midas"}, DEPTH),
    ("depth", lambda: depth(holes=True), {"holes": "worst", "align": "affine", "max": 70}, DEPTH),
    ("depth", lambda: depth(holes=True), {"preset": "kitti_depth"}, DEPTH),
    ("depth", lambda: depth((480, 640)), {"preset": "nyu"}, DEPTH),
    ("normals", normals, {"channels": "last"}, NORMALS),
    ("normals", normals, {"axes": "x -y z"}, NORMALS),
]


def gathered(task: str, sides: Drawn, mask: Array | None, options: dict[str, Any], step: int = 2) -> sy.Accumulator:
    made = sy.Accumulator(task, device="cpu", options=options)
    for k in range(0, len(NAMES), step):
        part = slice(k, k + step)
        marked = {} if mask is None else {"mask": torch.as_tensor(mask[part])}
        made.update(
            {"image": NAMES[part], "map": torch.as_tensor(sides[0][part]), **marked},
            {"image": NAMES[part], "map": torch.as_tensor(sides[1][part])},
        )
    return made


def of_rows(task: str, sides: Drawn, mask: Array | None, options: dict[str, Any], specs: list[str] | None) -> sy.Report:
    marked = {} if mask is None else {"mask": list(mask)}
    return sy.evaluate(
        task,
        {"image": NAMES, "map": list(sides[0]), **marked},
        {"image": NAMES, "map": list(sides[1])},
        specs,
        options=options,
        confidence=None,
    )


def assert_close(report: sy.Report, expected: sy.Report) -> None:
    assert list(report.scores) == list(expected.scores)
    for spec, score in expected.scores.items():
        assert report[spec].value == pytest.approx(score.value, rel=CLOSE, abs=1e-14, nan_ok=True), spec
        assert report[spec].n_excluded == score.n_excluded


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(map(str, case[2].values())) or 'plain'}")
def test_measured_on_a_device_as_from_rows(case: tuple[str, Callable[[], Drawn], dict[str, Any], list[str]]) -> None:
    task, draw, options, specs = case
    sides = draw()
    mask = np.random.default_rng(1).random(sides[1].shape[:3]) < 0.9
    marks = mask.astype(np.uint8) * (255 if options.get("preset") in ("middlebury", "eth3d") else 1)
    on_device = gathered(task, sides, marks, options)
    assert_close(on_device.report(specs, confidence=None), of_rows(task, sides, marks, options, specs))
    if task != "normals":  # without exact=false, the median of all pixels is exact for rows alone
        assert_close(on_device.report(confidence=None), of_rows(task, sides, marks, options, None))


def test_intervals_are_those_of_the_rows() -> None:
    sides = disparity()
    report = gathered("disparity", sides, None, {}).report("epe")
    maps = [{"image": NAMES, "map": list(side)} for side in sides]
    expected = sy.evaluate("disparity", *maps, "epe")
    assert report["epe"].interval == pytest.approx(expected["epe"].interval, rel=CLOSE)


@pytest.mark.parametrize(
    ("task", "shape", "options"),
    [("flow", (0, 3, 1, 2), {}), ("normals", (0, 3, 1, 2), {}), ("depth", None, {}), ("disparity", None, {})],
)
def test_channels_of_batches(task: str, shape: Any, options: dict[str, Any]) -> None:
    """Channels first, and one channel with an axis of its own."""
    truth, predicted = ({"flow": flow, "normals": normals, "depth": depth, "disparity": disparity}[task])()
    expected = of_rows(task, (truth, predicted), None, options, None if task != "normals" else ["angle"])
    turned = [side.transpose(shape) if shape else side[:, np.newaxis] for side in (truth, predicted)]
    assert_close(
        gathered(task, (turned[0], turned[1]), None, options, 5).report(list(expected.scores), confidence=None),
        expected,
    )


def test_integers_and_half_precision_by_hand() -> None:
    made = sy.Accumulator("disparity", device="cpu")
    truth = torch.tensor([[[10, 20, 30, 40]]], dtype=torch.int16)
    made.update(
        {"image": ["a"], "map": truth, "mask": torch.tensor([[[True, True, True, False]]])},
        {"image": ["a"], "map": torch.tensor([[[10.0, 21.5, 34.0, 99.0]]], dtype=torch.bfloat16)},
    )
    report = made.report(["epe", "bad@1", "d1"], confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx([5.5 / 3, 2 / 3, 1 / 3])


def test_parts_that_are_merged_and_images_that_come_twice() -> None:
    sides = flow()
    whole = gathered("flow", sides, None, {}).report(confidence=None)
    first = sy.Accumulator("flow", device="cpu")
    second = first.empty()
    for made, part in ((first, slice(0, 3)), (second, slice(2, 5))):
        truth, predicted = ({"image": NAMES[part], "map": torch.as_tensor(side[part])} for side in sides)
        made.update(truth, predicted)
    first.merge(second)
    assert first.report(confidence=None).scores == whole.scores
    first.update(
        {"image": NAMES[:1], "map": torch.as_tensor(sides[0][:1])},
        {"image": NAMES[:1], "map": torch.as_tensor(sides[1][1:2])},
    )
    with refuses("E-duplicate-key", NAMES[0]):
        first.report()


ZERO = np.zeros((1, 2, 4), np.float32)
MOTION = np.zeros((1, 2, 4, 2), np.float32)


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("depth", {"predicted": ZERO * np.nan + 1 / ZERO.size * np.inf, "truth": ZERO + 1}, ("E-invalid-number", "'a'", "8")),
        ("depth", {"options": {"prediction": "disparity"}, "truth": ZERO + 1}, ("E-invalid-number", "'a'", "max")),
        ("depth", {"options": {"align": "median"}, "truth": ZERO + 1}, ("E-invalid-number", "'a'", "median")),
        ("depth", {"options": {"align": "affine", "align_per": "dataset"}}, ("E-unsupported", "align_per=dataset")),
        ("depth", {"metric": "abs_rel(of=d0-20)", "truth": ZERO + 1}, ("E-missing-data", "d0-20")),
        ("depth", {"metric": "boundary_f1", "truth": ZERO + 1}, ("E-missing-data", "edges")),
        ("depth", {"metric": "delta(threshold=1.07)", "truth": ZERO + 1}, ("E-missing-data", "1.07")),
        ("depth", {"metric": "scale_spread", "truth": ZERO + 1}, ("E-missing-data", "scales")),
        ("depth", {}, ("E-empty-input", "no valid pixel")),
        ("normals", {"truth": np.ones((1, 2, 4, 3)), "predicted": np.full((1, 2, 4, 3), np.nan)}, ("E-invalid-number", "'a'")),
        ("normals", {"truth": np.ones((1, 2, 4, 3)), "predicted": np.ones((1, 2, 4, 3)), "metric": "within@12"}, ("E-missing-data", "12")),
        ("disparity", {"metric": "bad@2.5"}, ("E-missing-data", "2.5")),
        ("disparity", {"metric": "a@90"}, ("E-missing-data", "90")),
        ("disparity", {"metric": "epe(of=s0-20)"}, ("E-missing-data", "s0-20")),
        ("disparity", {"metric": "epe(of=noc)"}, ("E-unknown-name", "noc")),
        ("disparity", {"options": {"mask": "masks"}}, ("E-unsupported", "mask")),
        ("disparity", {"truth": ZERO[:, :1]}, ("E-shape-mismatch", "batch 0, predictions", "4×1")),
        ("disparity", {"mask": ZERO[:, :1]}, ("E-shape-mismatch", "batch 0, truth", "mask")),
        ("disparity", {"mask": ZERO[0]}, ("E-shape-mismatch", "batch 0, truth", "mask")),
        ("disparity", {"truth": MOTION, "predicted": MOTION}, ("E-shape-mismatch", "batch 0, truth")),
        ("disparity", {"truth": ZERO > 0}, ("E-invalid-number", "batch 0, truth", "bool")),
        ("disparity", {"truth": ZERO[:, :0], "predicted": ZERO[:, :0]}, ("E-shape-mismatch", "no pixel")),
        ("disparity", {"names": ["b"]}, ("E-unmatched", "batch 0, predictions")),
        ("flow", {"truth": MOTION[:, :, :2].reshape(1, 2, 2, 2), "predicted": MOTION}, ("E-conflict", "channels=last")),
        ("flow", {"truth": ZERO, "predicted": MOTION}, ("E-shape-mismatch", "batch 0, truth")),
        ("flow", {"truth": MOTION[:, :1].repeat(3, 1), "predicted": MOTION, "options": {"preset": "spring", "channels": "last"}}, ("E-shape-mismatch", "two by two")),
        ("flow", {"truth": MOTION.repeat(2, 1).repeat(2, 2), "predicted": MOTION, "options": {"preset": "spring", "channels": "last"}, "metric": "aae"}, ("E-conflict", "aae", "spring")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_wrong_fields_are_refused(task: str, change: dict[str, Any], message: tuple[str, ...]) -> None:
    def reported() -> None:
        made = sy.Accumulator(task, device="cpu", options=change.get("options", {}))
        truth = torch.as_tensor(change.get("truth", ZERO))
        marked = {"mask": torch.as_tensor(change["mask"])} if "mask" in change else {}
        made.update(
            {"image": ["a"], "map": truth, **marked},
            {"image": change.get("names", ["a"]), "map": torch.as_tensor(change.get("predicted", ZERO))},
        )
        made.report(change.get("metric"), confidence=None)

    with refuses(*message):
        reported()


def test_pictures_need_the_fields() -> None:
    for task, draw in (("flow", flow), ("depth", depth), ("disparity", disparity)):
        report = gathered(task, draw(), None, {}).report(confidence=None)
        assert not {"error_maps", "depth_maps", "distance", "lengths"} & set(report.figures)
