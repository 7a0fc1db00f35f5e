"""Depth: checks of units with files, and of maps that run against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.field_files import png

import steelyard as sy

RNG = np.random.default_rng(8)
TRUTH = [np.linspace(9, 2, 20)[:, None] + RNG.uniform(0, 1, (20, 30)) for _ in range(3)]  # metres
MODEL = [depth * np.exp(RNG.normal(0, 0.05, depth.shape)) for depth in TRUTH]


def write(folder: Path, maps: list[Any], factor: float | None = None) -> str:
    """PNG files of 16 bits where there is a factor, else .npy."""
    folder.mkdir()
    for number, depth in enumerate(maps):
        if factor is None:
            np.save(folder / f"{number}.npy", depth)
        else:
            (folder / f"{number}.png").write_bytes(png(np.round(depth * factor).astype(np.uint16)))
    return str(folder)


def remedies(truth: str, model: str, **options: Any) -> dict[str, str]:
    return {finding.code: finding.remedy for finding in sy.check("depth", truth, model, options=options).findings}


@pytest.mark.parametrize(
    ("true", "predicted", "options", "missing"),
    [
        (1000, None, {}, "truth.scale=1000"),  # read as KITTI's: 3.9 times too long
        (None, 1000, {}, "prediction.scale=1000"),
        (5000, None, {}, "truth.scale=5000"),
        (100, None, {}, "truth.scale=100"),
        (1000, None, {"scale": 1000}, "prediction.scale=1"),
        (256, 1000, {}, "prediction.scale=1000"),
        (1000, 256, {}, "truth.scale=1000"),
    ],
)
def test_the_scale_of_files_is_found(
    true: float | None, predicted: float | None, options: dict[str, Any], missing: str, tmp_path: Path
) -> None:
    truth, model = write(tmp_path / "truth", TRUTH, true), write(tmp_path / "model", MODEL, predicted)
    named = remedies(truth, model, **options)
    assert missing in named["depth-unit"]
    side, _, scale = missing.partition(".scale=")
    assert "depth-unit" not in remedies(truth, model, **{**options, f"{side}.scale": float(scale)})
    notes = " ".join(sy.evaluate("depth", truth, model, "abs_rel", options=options).notes)
    assert missing in notes


def test_a_note_says_how_png_files_are_read(tmp_path: Path) -> None:
    truth, model = write(tmp_path / "truth", TRUTH, 1000), write(tmp_path / "model", MODEL, 1000)
    assert set(remedies(truth, model)) == {"depth-png-scale"}
    assert any("(depth-png-scale)" in note for note in sy.evaluate("depth", truth, model, "rmse").notes)
    assert not remedies(truth, model, scale=1000)
    assert not remedies(truth, model, preset="nyu", crop="none")


def test_disparity_and_turned_rows_are_told_apart(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth", TRUTH)
    for name, maps, code in (
        ("disparity", [1 / depth for depth in MODEL], "depth-reversed"),
        ("turned", [depth[::-1] for depth in MODEL], "depth-upside-down"),
    ):
        named = remedies(truth, write(tmp_path / name, maps))
        assert {"depth-reversed", "depth-upside-down"} & set(named) == {code}
    disparity = str(tmp_path / "disparity")
    assert not remedies(truth, disparity, prediction="disparity")
    assert "prediction=depth" in remedies(truth, truth, prediction="disparity")["depth-reversed"]


def test_a_missing_alignment_is_proposed(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth", TRUTH)
    scaled = write(tmp_path / "scaled", [(3 + k) * depth for k, depth in enumerate(MODEL)])
    assert "align=median" in remedies(truth, scaled)["depth-not-aligned"]
    assert not remedies(truth, scaled, align="median")
    shifted = write(tmp_path / "shifted", [0.05 * depth + 3 + k for k, depth in enumerate(MODEL)])
    assert "align=affine" in remedies(truth, shifted)["depth-not-aligned"]


@pytest.mark.parametrize(
    ("names", "frames"),
    [
        ([f"{street}/{number:06d}" for street in "ab" for number in range(12)], 24),
        ([f"{street}/frame_{5 * number}" for street in "ab" for number in range(12)], 24),
        ([f"{number:06d}" for number in range(24)], 0),  # no folder says where a video ends
        ([f"{street}/{number**2:06d}" for street in "ab" for number in range(12)], 0),
        ([f"{street}/{letter}" for street in "ab" for letter in "defghijklmno"], 0),
    ],
)
@pytest.mark.parametrize("task", ["depth", "normals"])
def test_frames_of_videos_are_noted(task: str, names: list[str], frames: int) -> None:
    maps = [RNG.uniform(1, 9, (5, 6)) if task == "depth" else RNG.normal(size=(5, 6, 3)) for _ in names]
    report = sy.check(task, {"image": names, "map": maps}, {"image": names, "map": maps})
    noted = {finding.code: finding for finding in report.findings}
    assert set(noted) == ({f"{task}-frames"} if frames else set())
    if frames:
        assert (noted[f"{task}-frames"].count, noted[f"{task}-frames"].severity) == (frames, "note")


@pytest.mark.parametrize("beside", [True, False])
def test_masks_of_diode_are_joined(beside: bool, tmp_path: Path) -> None:
    """00019_depth_mask.npy is the mask of 00019_depth.npy, in the folder of the truth or another."""
    truth, model, masks = (tmp_path / name for name in ("truth", "model", "masks"))
    for folder in (truth, model, masks):
        folder.mkdir()
    expected = []
    for number, (true, predicted) in enumerate(zip(TRUTH, MODEL, strict=True)):
        mask = RNG.random(true.shape) < 0.7
        np.save(truth / f"{number:05d}_depth.npy", true[:, :, np.newaxis])
        np.save((truth if beside else masks) / f"{number:05d}_depth_mask.npy", mask.astype(np.float32))
        np.save(model / f"{number:05d}.npy", predicted)
        expected.append((np.abs(predicted - true) / true)[mask].mean())
    options = {"truth.suffix": "_depth", "mask": str(truth if beside else masks)}
    report = sy.evaluate("depth", str(truth), str(model), ["abs_rel"], options=options, confidence=None)
    assert report["abs_rel"].value == pytest.approx(np.mean(expected), rel=1e-12)
