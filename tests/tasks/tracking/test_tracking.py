"""Task tracking: TrackEval's outputs on its own goldens, by sequence and combined, from files and from memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = json.loads((TESTS / "goldens" / "tracking.json").read_text())
DRAWN = json.loads((TESTS / "goldens" / "tracking_drawn.json").read_text())
ALPHAS = [f"{alpha:g}" for alpha in np.arange(0.05, 0.99, 0.05)]
BENCHMARK = {"MOT17": "mot17", "MOT20": "mot20", "MOT15": "mot15", "MOT17_no_preproc": "mot15"}
COUNTS = {
    "CLR_TP": None, "CLR_FN": "fn", "CLR_FP": "fp", "IDSW": "idsw", "Frag": "fragments", "MT": "mt", "PT": "pt", "ML": "ml",
}  # fmt: skip
CURVES = {
    "HOTA": "hota", "DetA": "deta", "AssA": "assa", "DetRe": "detre", "DetPr": "detpr", "AssRe": "assre",
    "AssPr": "asspr", "LocA": "loca",
}  # fmt: skip
RATES = {
    "MOTA": "mota", "MOTP": "motp", "MODA": "moda", "sMOTA": "smota", "CLR_Re": "recall", "CLR_Pr": "precision",
    "MTR": "mtr", "MLR": "mlr", "FP_per_frame": "fpf",
}  # fmt: skip
IDENTITY = {"IDF1": "idf1", "IDR": "idr", "IDP": "idp"}
SPECS = [
    *CURVES.values(),
    *(f"{name}@{alpha}" for name in CURVES.values() for alpha in ALPHAS),
    *(name for name in COUNTS.values() if name),
    *RATES.values(),
    *IDENTITY.values(),
]


def write(folder: Path, sequences: dict[str, dict[str, Any]]) -> tuple[Path, Path]:
    for name, sequence in sequences.items():
        place = folder / "truth" / name
        (place / "gt").mkdir(parents=True)
        (place / "gt" / "gt.txt").write_text(sequence["gt"])
        (place / "seqinfo.ini").write_text(f"[Sequence]\nname={name}\nseqLength={sequence['frames']}\nframeRate=30\n")
        (folder / "found").mkdir(exist_ok=True)
        (folder / "found" / f"{name}.txt").write_text(sequence["tracker"])
    return folder / "truth", folder / "found"


def check(value: Any, golden: dict[str, Any]) -> None:
    """Every number of one golden result; `value(spec)` is ours."""
    hota, clear, identity = golden["HOTA"], golden["CLEAR"], golden["Identity"]
    any_box = hota["HOTA_TP"][0] + hota["HOTA_FN"][0] + hota["HOTA_FP"][0] > 0
    matched = hota["HOTA_TP"][0] > 0
    for field, name in CURVES.items():
        known = any_box if field != "LocA" else matched
        expected = np.array(hota[field]) if known else np.full(19, np.nan)  # TrackEval prints 0, and 1 for LocA
        ours = np.array([value(f"{name}@{alpha}") for alpha in ALPHAS])
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(value(name), np.mean(expected), rtol=0, atol=1e-12, err_msg=name)
    for field, name in COUNTS.items():
        if name:
            assert value(name) == clear[field], name
    truths, result = clear["CLR_TP"] + clear["CLR_FN"], clear["CLR_TP"] + clear["CLR_FP"]
    over = {"MOTP": clear["CLR_TP"], "CLR_Pr": result, "FP_per_frame": clear["CLR_Frames"]}
    for field, name in RATES.items():
        divisor = over.get(field, truths)
        if field == "FP_per_frame" and not divisor:
            continue  # TrackEval forgets the frames of a sequence that is empty on one side
        expected = clear[field] if divisor else np.nan
        np.testing.assert_allclose(value(name), expected, rtol=0, atol=1e-12, err_msg=name)
    over = {"IDF1": truths + result, "IDR": truths, "IDP": result}
    for field, name in IDENTITY.items():
        expected = identity[field] if over[field] else np.nan
        np.testing.assert_allclose(value(name), expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("run", list(GOLDENS["mot"]["runs"]))
def test_mot_goldens(run: str, tmp_path: Path) -> None:
    truth, predicted = write(tmp_path, GOLDENS["mot"]["sequences"])
    options = {"benchmark": BENCHMARK[run], "degenerate": "keep"}
    report = sy.evaluate("tracking", truth, predicted, SPECS, options=options, confidence=None)
    results = GOLDENS["mot"]["runs"][run]["results"]
    units = report.units()
    for place, name in enumerate(units.units.tolist()):
        check(lambda spec, place=place: units.values[spec][place], results[name])
    combined = results["COMBINED_SEQ"]
    combined["CLEAR"]["CLR_Frames"] = 0  # those of the sequences that TrackEval counts
    check(lambda spec: report[spec].value, combined)
    frames = sum(sequence["frames"] for sequence in GOLDENS["mot"]["sequences"].values())
    assert report["fpf"].value == combined["CLEAR"]["CLR_FP"] / frames


@pytest.mark.parametrize("label", ["car", "pedestrian"])
def test_kitti_goldens(label: str, tmp_path: Path) -> None:
    golden = GOLDENS["kitti"]
    for side, key in (("truth/label_02", "gt"), ("found/data", "tracker")):
        (tmp_path / side).mkdir(parents=True)
        (tmp_path / side / "0000.txt").write_text(golden[key])
    specs = [spec if "(" in spec else f"{spec}(label={label})" for spec in SPECS]
    report = sy.evaluate(
        "tracking", tmp_path / "truth", tmp_path / "found", specs, options={"benchmark": "kitti"}, confidence=None
    )
    check(lambda spec: report[f"{spec}(label={label})"].value, golden[label]["results"]["COMBINED_SEQ"])


def test_mots_goldens(tmp_path: Path) -> None:
    golden = GOLDENS["mots"]
    truth, predicted = write(tmp_path, {"M1": golden})
    report = sy.evaluate("tracking", truth, predicted, SPECS, options={"benchmark": "mots"}, confidence=None)
    check(lambda spec: report[spec].value, golden["pedestrian"]["results"]["COMBINED_SEQ"])


@pytest.mark.parametrize("run", list(DRAWN["runs"]))
def test_drawn_sequences_with_many_equal_overlaps(run: str, tmp_path: Path) -> None:
    results = DRAWN["runs"][run]
    truth, predicted = write(tmp_path, {name: DRAWN["sequences"][name] for name in results})
    report = sy.evaluate("tracking", truth, predicted, SPECS, options={"benchmark": BENCHMARK[run]}, confidence=None)
    units = report.units()
    for place, name in enumerate(units.units.tolist()):
        check(lambda spec, place=place: units.values[spec][place], results[name])


@pytest.mark.parametrize("over", ["class_mean", "det"])
def test_classes_are_combined_as_the_reference_does(over: str, tmp_path: Path) -> None:
    golden = GOLDENS["kitti"]
    for side, key in (("truth/label_02", "gt"), ("found/data", "tracker")):
        (tmp_path / side).mkdir(parents=True)
        (tmp_path / side / "0000.txt").write_text(golden[key])
    setting = "" if over == "class_mean" else "(over=det)"
    names = {**CURVES, **RATES, **IDENTITY}
    del names["FP_per_frame"]  # summed over classes the reference counts every frame once for each
    report = sy.evaluate(
        "tracking", tmp_path / "truth", tmp_path / "found", [f"{name}{setting}" for name in names.values()],
        options={"benchmark": "kitti"}, confidence=None,
    )  # fmt: skip
    expected = {field: value for part in DRAWN["classes"][over].values() for field, value in part.items()}
    for field, name in names.items():
        assert report[f"{name}{setting}"].value == pytest.approx(np.mean(expected[field]), abs=1e-12), name


COLUMNS = ("frame", "track", "x", "y", "w", "h", "label")


def draw_classes(rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Rows of four frames: class 1 and 2 on both sides, 3 in the truth alone, 4 and 5 in the predictions alone."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for frame in range(1, 5):
        for side, labels in zip(sides, ((1, 1, 2, 3), (1, 2, 2, 4, 5)), strict=True):
            for place, label in enumerate(labels):
                if rng.random() < 0.8 or frame == 1:
                    x, y = (float(v) for v in 12 * place + rng.integers(-3, 4, 2))
                    side.append((frame, 10 * label + place, x, y, 10.0, 12.0, label))
    return sides


def class_means(sides: tuple[list[Any], list[Any]]) -> dict[str, float]:
    """TrackEval's own metrics of every class, and its mean over classes."""
    import trackeval

    by_class: dict[str, dict[int, Any]] = {name: {} for name in ("HOTA", "CLEAR", "Identity")}
    for label in range(1, 6):
        data: dict[str, Any] = {"num_timesteps": 4}
        for side, rows in zip(("gt", "tracker"), sides, strict=True):
            mine = [row for row in rows if row[6] == label]
            numbers = {track: i for i, track in enumerate(dict.fromkeys(row[1] for row in mine))}
            frames = [[row for row in mine if row[0] == frame] for frame in range(1, 5)]
            data[f"{side}_ids"] = [np.array([numbers[row[1]] for row in rows], dtype=int) for rows in frames]
            data[f"{side}_boxes"] = frames
            data[f"num_{side}_ids"], data[f"num_{side}_dets"] = len(numbers), len(mine)
        data["similarity_scores"] = [
            np.array([[overlap(a, b) for b in second] for a in first]).reshape(len(first), len(second))
            for first, second in zip(data["gt_boxes"], data["tracker_boxes"], strict=True)
        ]
        for metric in (trackeval.metrics.HOTA(), quiet(trackeval.metrics.CLEAR), quiet(trackeval.metrics.Identity)):
            by_class[metric.get_name()][label] = metric.combine_sequences({"a": metric.eval_sequence(data)})
    means = {}
    for metric in (trackeval.metrics.HOTA(), quiet(trackeval.metrics.CLEAR), quiet(trackeval.metrics.Identity)):
        result = metric.combine_classes_class_averaged(by_class[metric.get_name()])
        means |= {field: float(np.mean(value)) for field, value in result.items()}
    return means


def quiet(metric: Any) -> Any:
    return metric({"THRESHOLD": 0.5, "PRINT_CONFIG": False})


def overlap(a: Any, b: Any) -> float:
    width = min(a[2] + a[4], b[2] + b[4]) - max(a[2], b[2])
    height = min(a[3] + a[5], b[3] + b[5]) - max(a[3], b[3])
    both = max(0.0, width) * max(0.0, height)
    return both / (a[4] * a[5] + b[4] * b[5] - both)


@pytest.mark.parametrize("seed", range(8))
def test_all_classes_count_as_in_trackeval_where_that_is_asked_for(seed: int) -> None:
    """Classes of one side only: TrackEval divides by 1 where there is nothing to divide by."""
    drawn = draw_classes(np.random.default_rng(seed))
    sides = [
        {"sequence": ["a"] * len(rows)} | {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
        for rows in drawn
    ]
    names = {**CURVES, **RATES, **IDENTITY}
    del names["FP_per_frame"]  # it counts no frames of a class that one side lacks
    expected = class_means(drawn)
    report = sy.evaluate("tracking", *sides, [f"{name}(over=trackeval)" for name in names.values()], confidence=None)
    for field, name in names.items():
        assert report[f"{name}(over=trackeval)"].value == pytest.approx(expected[field], abs=1e-12), name
    plain = sy.evaluate("tracking", *sides, ["mota"], confidence=None)["mota"]
    assert plain.value > expected["MOTA"]
    assert plain.notes[-1] == (
        "The mean leaves out 2 of 5 classes (4, 5): there is no truth. over=trackeval counts them as TrackEval does."
    )


def test_a_class_without_truth_by_hand() -> None:
    """Class a: two of two found, MOTA 1. Class b: no truth and three false boxes, -3 in TrackEval. The mean is -1."""
    box = {"y": 0, "w": 9, "h": 9}
    truth = [{"sequence": "s", "frame": t, "track": 1, "x": 0, "label": "a", **box} for t in (1, 2)]
    false = [{"sequence": "s", "frame": t, "track": 7, "x": 50, "label": "b", **box} for t in (1, 2, 3)]
    sides = [{name: [row[name] for row in rows] for name in truth[0]} for rows in (truth, truth + false)]
    report = sy.evaluate("tracking", *sides, ["mota", "mota(over=trackeval)", "fp"], confidence=None)
    assert [score.value for score in report.scores.values()] == [1.0, -1.0, 3.0]
    with refuses("E-invalid-spec", "'idsw'", "over"):
        sy.evaluate("tracking", *sides, ["idsw(over=trackeval)"])


def test_a_label_that_no_class_has_is_an_error(tmp_path: Path) -> None:
    golden = GOLDENS["mots"]
    files = write(tmp_path, {"M1": golden})
    for options, label in ({"benchmark": "mots"}, "pedestrian"), ({"benchmark": "mots"}, "2"), ({}, "2"):
        report = sy.evaluate("tracking", *files, [f"hota(label={label})"], options=options, confidence=None)
        expected = np.mean(golden["pedestrian"]["results"]["COMBINED_SEQ"]["HOTA"]["HOTA"])
        assert report[f"hota(label={label})"].value == pytest.approx(expected, abs=1e-12)
    for metric in ("hota", "mota", "idsw", "fpf", "hota_sequence"):
        with refuses("E-unknown-name", "'pedestrian'", "benchmark=mots"):
            sy.evaluate("tracking", *files, [f"{metric}(label=pedestrian)"], confidence=None)
        with refuses("E-unknown-name", "'tram'"):
            sy.evaluate("tracking", *files, [f"{metric}(label=tram)"], confidence=None)


def sequence_of(name: str) -> tuple[str, str]:
    golden = DRAWN["motmetrics"][name]
    source = golden if "gt" in golden else GOLDENS["mot"]["sequences"][name]
    return source["gt"], source["tracker"]


@pytest.mark.parametrize("name", list(DRAWN["motmetrics"]))
def test_py_motmetrics_is_explained(name: str) -> None:
    """What it prints for rows of which nothing is taken out."""
    golden = DRAWN["motmetrics"][name]
    texts = sequence_of(name)
    sides = []
    for text in texts:
        rows = [line.split(",")[:6] for line in text.split()]
        columns = {c: [float(row[i]) for row in rows] for i, c in enumerate(("frame", "track", "x", "y", "w", "h"))}
        sides.append({"sequence": ["s"] * len(rows), **columns})
    report = sy.evaluate("tracking", *sides, ["mota"], explain=("py-motmetrics",), confidence=None)
    theirs = report.explanations[0].theirs
    assert theirs["mota"] == pytest.approx(golden["mota"], abs=1e-12)
    assert theirs["idsw"] == golden["num_switches"]
    assert theirs["mt"] == golden["mostly_tracked"]
    if golden["motp"] is not None:
        assert theirs["motp"] == pytest.approx(golden["motp"], abs=1e-12)
