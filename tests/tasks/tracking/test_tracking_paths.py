"""Tracks from other sources, few sequences, slices, and what is shown beside the scores."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.lazy import lazy
from support.refusal import refuses
from test_tracking import GOLDENS, write

import steelyard as sy
from steelyard.engine.intervals import LINE, by_jackknife
from steelyard.tasks.tracking import statistics as needs

scipy_stats = lazy("scipy.stats")

SPECS = ["hota", "deta", "assa", "mota", "idf1", "idsw"]
CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version><meta><task><name>clip</name><size>4</size></task></meta>
<track id="0" label="car">
<box frame="0" outside="0" occluded="0" keyframe="1" xtl="10.5" ytl="5" xbr="50.5" ybr="45"></box>
<box frame="1" outside="0" occluded="0" keyframe="1" xtl="12.5" ytl="5" xbr="52.5" ybr="45"></box>
<box frame="2" outside="1" occluded="0" keyframe="1" xtl="12.5" ytl="5" xbr="52.5" ybr="45"></box>
</track>
<track id="1" label="person"><box frame="1" outside="0" occluded="0" keyframe="1" xtl="80" ytl="5" xbr="90" ybr="45"></box></track>
</annotations>
"""


def values(report: sy.Report) -> dict[str, float]:
    return {spec: score.value for spec, score in report.scores.items()}


def test_cvat_video_is_what_its_rows_are(tmp_path: Path) -> None:
    (tmp_path / "clip.xml").write_text(CVAT)
    predicted = {
        "sequence": ["clip"] * 3, "frame": [0, 1, 1], "track": ["a", "b", "c"], "label": ["car", "car", "person"],
        "x": [10.5, 12.5, 80], "y": [5, 5, 5], "right": [50.5, 52.5, 90], "bottom": [45, 45, 45],
    }  # fmt: skip
    report = sy.evaluate(
        "tracking", tmp_path / "clip.xml", predicted, [*SPECS, "fpf", "hota(label=person)"], confidence=None
    )
    assert report["idsw"].value == 1
    assert report["deta"].value == 1
    assert report["hota(label=person)"].value == 1
    assert report["assa"].value == (0.5 + 1) / 2  # a car of two names, and a person
    spoiled = CVAT.replace('xtl="80"', 'xtl="x"')
    (tmp_path / "bad.xml").write_text(spoiled)
    with refuses("E-invalid-number", "bad.xml", "line 8"):
        sy.evaluate("tracking", tmp_path / "bad.xml", predicted, "hota")


def test_zip_folder_and_frames_in_memory_agree(tmp_path: Path) -> None:
    sequences = {name: GOLDENS["mot"]["sequences"][name] for name in ("swap", "misses", "crowd")}
    truth, predicted = write(tmp_path, sequences)
    expected = values(sy.evaluate("tracking", truth, predicted, SPECS, confidence=None))
    with zipfile.ZipFile(tmp_path / "found.zip", "w") as archive:
        for path in sorted(predicted.iterdir()):
            archive.write(path, f"results/{path.name}")
    assert values(sy.evaluate("tracking", truth, tmp_path / "found.zip", SPECS, confidence=None)) == expected

    def frames(key: str, flag: int) -> list[dict[str, Any]]:
        made = []
        for name, sequence in sequences.items():
            rows = [list(map(float, line.split(","))) for line in sequence[key].split()]
            for frame in range(1, sequence["frames"] + 1):
                own = [row for row in rows if row[0] == frame]
                made.append({
                    "sequence": name, "frame": frame, "tracks": [int(row[1]) for row in own],
                    "boxes": np.array([row[2:6] for row in own]).reshape(-1, 4),
                })  # fmt: skip
        return made

    mine, theirs = frames("gt", 1), frames("tracker", 0)
    assert values(sy.evaluate("tracking", mine, theirs, SPECS, confidence=None)) == expected
    state = sy.Accumulator("tracking")
    for name in ("crowd", "swap", "misses"):
        state.update(*([one for one in side if one["sequence"] == name] for side in (mine, theirs)))
    assert values(state.report(SPECS, confidence=None)) == expected


def test_masks_in_memory_are_those_of_files(tmp_path: Path) -> None:
    golden = GOLDENS["mots"]
    truth, predicted = write(tmp_path, {"M1": golden})
    expected = values(sy.evaluate("tracking", truth, predicted, SPECS, confidence=None))
    sides = []
    for key in ("gt", "tracker"):
        rows = [line.split() for line in golden[key].splitlines()]
        side: dict[str, Any] = {
            "sequence": ["M1"] * len(rows), "frame": [int(r[0]) for r in rows], "track": [int(r[1]) for r in rows],
            "label": [int(r[2]) for r in rows],
            "mask": [{"size": [int(r[3]), int(r[4])], "counts": r[5]} for r in rows],
        }  # fmt: skip
        if key == "gt":
            side["ignore"] = [r[2] == "10" for r in rows]
        sides.append(side)
    assert values(sy.evaluate("tracking", *sides, SPECS, confidence=None)) == expected


def test_what_is_taken_out_is_said(tmp_path: Path) -> None:
    truth, predicted = write(tmp_path, {"distractors": GOLDENS["mot"]["sequences"]["distractors"]})
    report = sy.evaluate("tracking", truth, predicted, "hota", options={"benchmark": "mot17"}, confidence=None)
    # five frames with eight predictions, of which three are on distractors; nine truths, of which one is scored
    note = "Taken out before scoring: 15 predictions on objects that are not scored, 40 truth rows outside of what is scored."
    assert note in report["hota"].notes


def test_association_and_its_losses_add_up() -> None:
    truth, predicted = DRAW["tracking"](np.random.default_rng(1), 12)
    parts = [f"assa_loss(part={part})" for part in ("split", "miss", "merge", "extra")]
    parts = ["assa_loss" if "split" in part else part for part in parts]
    report = sy.evaluate("tracking", truth, predicted, ["assa", *parts], confidence=None)
    matched = sy.evaluate("tracking", truth, predicted, ["detre@0.95"], confidence=None)["detre@0.95"].value > 0
    assert matched  # at every threshold
    assert sum(score.value for score in report.scores.values()) == pytest.approx(1, abs=1e-12)


def test_threads_do_not_matter() -> None:
    truth, predicted = DRAW["tracking"](np.random.default_rng(2), 20)
    results = []
    for threads in (1, 3):
        with sy.use_threads(threads):
            results.append(values(sy.evaluate("tracking", truth, predicted, SPECS, confidence=None)))
    assert results[0] == results[1]


def test_long_sequences_are_cut_between_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = GOLDENS["mot"]["sequences"]
    truth, predicted = write(
        tmp_path, {name: sequences[name] for name in ("swap", "distractors", "empty_truth", "crowd")}
    )
    expected = sy.evaluate("tracking", truth, predicted, SPECS, options={"benchmark": "mot17"}, confidence=None)
    pieces = needs._pieces
    longest = []

    def cut(*frames: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        whole = pieces(*frames)
        longest.append(int(np.diff(whole[1] + whole[3], prepend=0).max()))
        return whole

    monkeypatch.setattr(needs, "_pieces", cut)
    monkeypatch.setattr(needs, "MOST_BOXES", 12)
    report = sy.evaluate("tracking", truth, predicted, SPECS, options={"benchmark": "mot17"}, confidence=None)
    assert values(report) == values(expected)
    assert 12 < longest[0] < 24  # the frames of the distractors have 17 boxes, the crowd's about ten


def test_t_interval_by_hand() -> None:
    # means of three of four numbers 1, 2, 3, 6: the jackknife of a mean is the mean and s over the root of n
    numbers = np.array([1.0, 2.0, 3.0, 6.0])
    left_out = (numbers.sum() - numbers) / 3
    reach = scipy_stats.t.ppf(0.975, 3) * numbers.std(ddof=1) / 2
    low, high = by_jackknife(3.0, left_out, LINE, 0.95).interval or (0.0, 0.0)
    assert (low, high) == pytest.approx((3 - reach, 3 + reach), rel=1e-9)
    assert by_jackknife(3.0, left_out, (0, 5), 0.95).interval == pytest.approx((0, 5))
    assert by_jackknife(3.0, left_out[:3], LINE, 0.95).interval is None
    assert by_jackknife(3.0, np.append(left_out, np.nan), LINE, 0.95).interval is None


@pytest.mark.parametrize("units", [3, 7])
def test_few_sequences(units: int) -> None:
    truth, predicted = DRAW["tracking"](np.random.default_rng(3), units)
    report = sy.evaluate("tracking", truth, predicted, ["hota", "idsw"], draws=100)
    assert (report["hota"].interval is None) == (units == 3)
    assert report["idsw"].interval is None
    table = report.table("sequences")
    assert table.rows == tuple(f"v{i}" for i in range(units))
    without = {
        k: [v for s, v in zip(truth["sequence"], column, strict=True) if s != "v1"] for k, column in truth.items()
    }
    rest = {
        k: [v for s, v in zip(predicted["sequence"], column, strict=True) if s != "v1"]
        for k, column in predicted.items()
    }
    alone = sy.evaluate("tracking", without, rest, "hota", confidence=None)["hota"].value
    assert table["v1", "HOTA without it"] == pytest.approx(alone, abs=1e-12)


def test_p_of_few_sequences_is_exact() -> None:
    """A model that is better in each of four sequences: of 16 worlds two are as extreme."""
    truth, predicted = DRAW["tracking"](np.random.default_rng(4), 4)
    perfect = {name: truth[name] for name in predicted}
    result = sy.compare("tracking", truth, predicted, perfect, ["hota", "idsw"], draws=100)
    assert result["hota"].p == result["hota"].smallest_p == 2 / 16
    assert result["hota"].p_adjusted >= 2 / 16  # corrected from drawn worlds, of which too few may be extreme
    alone = sy.compare("tracking", truth, predicted, perfect, "hota", draws=1000)["hota"]
    assert alone.p_adjusted == pytest.approx(2 / 16, abs=0.03)
    assert alone.p_adjusted >= 2 / 16
    assert result["hota"].verdict == "cannot be shown"
    assert result["idsw"].interval is None


def test_slices_by_attributes_of_sequences(tmp_path: Path) -> None:
    truth, predicted = write(
        tmp_path, {name: GOLDENS["mot"]["sequences"][name] for name in ("swap", "misses", "crowd")}
    )
    (tmp_path / "sequences.csv").write_text("sequence,light\nswap,day\nmisses,night\ncrowd,night\n")
    options = {"sequences": str(tmp_path / "sequences.csv")}
    report = sy.evaluate(
        "tracking", truth, predicted, "hota", by=["light", "frame_rate"], options=options, confidence=None
    )
    golden = GOLDENS["mot"]["runs"]["MOT15"]["results"]["swap"]["HOTA"]["HOTA"]
    assert report.slices["light"]["day"]["hota"].value == pytest.approx(np.mean(golden), abs=1e-12)
    assert report.slices["frame_rate"]["30"]["hota"].value == report["hota"].value
    (tmp_path / "sequences.csv").write_text("sequence,light\nswap,day\n")
    with refuses("E-unknown-name", "'crowd'"):
        sy.evaluate("tracking", truth, predicted, "hota", options=options)


def test_own_classes_and_distractors() -> None:
    box = {"x": [0, 100, 200], "y": [0] * 3, "w": [20] * 3, "h": [20] * 3}
    truth = {"sequence": ["a"] * 3, "frame": [1] * 3, "track": [1, 2, 3], "label": ["cow", "calf", "dog"], **box}
    predicted = {"sequence": ["a"] * 3, "frame": [1] * 3, "track": [1, 2, 3], "label": ["cow", "cow", "dog"], **box}
    plain = sy.evaluate("tracking", truth, predicted, "fp(label=cow)", confidence=None)
    assert plain["fp(label=cow)"].value == 1
    options = {"classes": ["cow"], "distractors": ["calf"]}
    report = sy.evaluate("tracking", truth, predicted, ["fp", "fn", "hota"], options=options, confidence=None)
    assert (report["fp"].value, report["fn"].value, report["hota"].value) == (0, 0, 1)


def test_switches_are_listed_and_drawn() -> None:
    truth = {
        "sequence": ["a"] * 4,
        "frame": [1, 2, 3, 4],
        "track": ["t"] * 4,
        "x": [0] * 4,
        "y": [0] * 4,
        "w": [9] * 4,
        "h": [9] * 4,
    }
    predicted = {**truth, "track": ["p", "p", "q", "p"]}
    report = sy.evaluate("tracking", truth, predicted, ["hota", "idsw"], confidence=None)
    listing = report.listing()
    assert listing is not None
    kinds = listing.columns["kind"]
    assert [kinds.names[code] for code in kinds.codes] == ["to a fresh id", "back to an old id"]
    assert listing.columns["frame"].tolist() == [3, 4]
    assert "frame 3" in sy.draw("tracking", truth, predicted, "a")
    assert sorted(report.figures) == ["losses", "plane", "thresholds", "timeline"]  # one class has no chart by class
