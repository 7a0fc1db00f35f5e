"""Repeated questions and recalibration: values by hand, what is asked once, and lines that never see their own meal."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.refusal import refuses
from support.vlm_help import Scripted, frames_csv, grey_of

import steelyard as sy
from steelyard.vlm.export import write_sides
from steelyard.vlm.frames import Frame, read_frames
from steelyard.vlm.prompts import PROMPTS
from steelyard.vlm.readings import read_run, write_readings
from steelyard.vlm.recalibrate import FOLDS, cross_fit, folds_of
from steelyard.vlm.run import run
from steelyard.vlm.score import score

DIRECT = (PROMPTS["direct"],)
OFF = (10, -20, 40)  # what the model adds the first, the second and the third time


def ask(folder: Path, repeat: int = 3, answer=lambda c: str(grey_of(c) + OFF[c.repeat]), **options):
    model = Scripted(answer)
    return run(read_frames(folder / "frames.csv"), model, DIRECT, folder / "run", repeat=repeat, **options), model


def test_repeats_are_asked_once_each(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    progress, model = ask(tmp_path, 2)
    assert (progress.wanted, progress.done) == (12, 12)
    assert sorted(c.repeat for c in model.asked) == [0] * 6 + [1] * 6
    progress, model = ask(tmp_path, 3)
    assert (progress.wanted, progress.held, progress.done) == (18, 12, 6)
    assert {c.repeat for c in model.asked} == {2}


def test_scores_of_repeats_by_hand(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=5)
    ask(tmp_path)
    result = score(tmp_path / "run", ["mae_overall", "bias"])
    plain, median = result.rows
    assert (plain.prompt, plain.repeats, plain.readings) == ("direct", 3, 45)
    assert plain.report["mae_overall"].value == pytest.approx((10 + 20 + 40) / 3)
    assert plain.report["mae_overall"].runs.values == pytest.approx(tuple(map(abs, OFF)))
    assert plain.report["mae_overall"].runs.factor == "replies"
    assert plain.spread == pytest.approx(math.sqrt((0**2 + 30**2 + 30**2) / 2))  # around the mean of 10
    assert (median.prompt, median.made_of, median.readings, median.parsed) == ("direct (median)", "direct", 15, 15)
    assert median.report["bias"].value == pytest.approx(10)  # the median of 10, -20 and 40
    assert "spread of repeats" in result.to_text()
    assert "30 g" in result.to_text()
    assert "5 sequences, 15 frames, one question each, 3 times" in result.to_text()
    result.to_json(tmp_path / "score.json")
    assert sy.load(tmp_path / "score.json") == result


def test_frames_without_a_number_in_a_repeat_are_left_out_of_all(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=5)
    silent = {"200": 1}  # the first frame has no number the second time

    def answer(conversation):
        grey = grey_of(conversation)
        return "no idea" if silent.get(str(grey)) == conversation.repeat else str(grey + OFF[conversation.repeat])

    ask(tmp_path, answer=answer)
    plain, median = score(tmp_path / "run", ["bias"]).rows
    assert plain.report["bias"].value == pytest.approx(10)
    assert plain.report.coverage.truth == 14
    assert median.parsed == 15
    assert median.report["bias"].value == pytest.approx((14 * 10 + 25) / 15)  # of 10 and 40: 25


def test_repeats_in_files(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    ask(tmp_path)
    held = read_run(tmp_path / "run")
    write_readings(tmp_path / "readings.csv", held.taken)
    with (tmp_path / "readings.csv").open() as file:
        assert [row["repeat"] for row in csv.DictReader(file)][:3] == ["1", "2", "3"]
    names = [Path(path).name for path in write_sides(held, tmp_path)]
    assert names == ["truth.csv", *(f"scripted--direct--{k}.csv" for k in (1, 2, 3))]
    files = [str(tmp_path / name) for name in names]
    report = sy.evaluate("sequences", files[0], files[1:], "bias", runs="replies")
    assert report["bias"].value == pytest.approx(10)


def test_own_questions_are_repeated(tmp_path: Path) -> None:
    from steelyard.vlm.questions import question

    frames_csv(tmp_path, sequences=5)
    asked = question("grams", {"prompt": "How heavy?", "target": "weight", "answer": "number"}, "test")
    model = Scripted(lambda c: str(grey_of(c) + OFF[c.repeat]))
    run(read_frames(tmp_path / "frames.csv"), model, (asked,), tmp_path / "run", repeat=3)
    (row,) = score(tmp_path / "run", ["mae"]).rows
    assert row.report["mae"].value == pytest.approx(70 / 3)
    assert row.spread == pytest.approx(30)


@pytest.mark.parametrize("repeat", [0, -1, 101])
def test_numbers_of_repeats_that_are_refused(tmp_path: Path, repeat: int) -> None:
    frames_csv(tmp_path)
    with refuses("E-out-of-range", str(repeat)):
        ask(tmp_path, repeat)


def test_plans_with_other_repeats_are_refused(tmp_path: Path) -> None:
    frames_csv(tmp_path)
    ask(tmp_path)
    path = tmp_path / "run" / "run.json"
    data = json.loads(path.read_text())
    for spoiled in (0, "3", 10**9, None, 2.5):
        data["plans"][0]["repeat"] = spoiled
        path.write_text(json.dumps(data))
        with refuses("E-invalid-result"):
            read_run(tmp_path / "run")
    del data["plans"][0]["repeat"]  # as version 0.2 writes it
    path.write_text(json.dumps(data))
    assert {taken.repeat for taken in read_run(tmp_path / "run").taken} == {0}


# --- recalibration ----------------------------------------------------------------------------------------------------


def frames(weights: dict[str, float], foods: dict[str, str] | None = None) -> dict[tuple[str, int], Frame]:
    return {
        (name, 0): Frame(name, 0, "", (foods or {}).get(name, "rice"), weight, math.nan, True, None, "")
        for name, weight in weights.items()
    }


def test_a_wrong_scale_is_repaired() -> None:
    weights = {f"s{i}": 50.0 + 10 * i for i in range(20)}
    truth = frames(weights)
    values = {key: 30 + frame.weight / 2 for key, frame in truth.items()}
    repaired = cross_fit(values, truth)
    assert repaired == pytest.approx({key: frame.weight for key, frame in truth.items()})


def test_each_food_has_its_line() -> None:
    weights = {f"s{i}": 50.0 + 10 * i for i in range(30)}
    foods = {name: ("rice", "soup", "fig")[i % 3] if i < 27 else "tea" for i, name in enumerate(weights)}
    scale = {"rice": 2.0, "soup": 0.5, "fig": 1.0, "tea": 1.0}
    truth = frames(weights, foods)
    values = {key: frame.weight * scale[frame.food] for key, frame in truth.items()}
    repaired = cross_fit(values, truth, by_food=True)
    common = cross_fit(values, truth)
    for key, frame in truth.items():  # three meals of tea are too few without one's own fold
        wanted = common[key] if frame.food == "tea" else frame.weight
        assert repaired[key] == pytest.approx(wanted)


def test_no_line_has_seen_its_own_meal() -> None:
    rng = np.random.default_rng(0)
    truth = frames({f"s{i}": float(w) for i, w in enumerate(rng.uniform(50, 300, 25))})
    values = {key: frame.weight + rng.normal(0, 20) for key, frame in truth.items()}
    before = cross_fit(values, truth)
    folds = folds_of([name for name, _ in values])
    changed = frames({name: frame.weight + (9999 if folds[name] == 2 else 0) for (name, _), frame in truth.items()})
    after = cross_fit(values, changed)
    for key in values:
        assert (after[key] == before[key]) == (folds[key[0]] == 2)
    assert set(folds.values()) == set(range(FOLDS))


def test_clusters_stay_in_one_fold() -> None:
    truth = frames({f"s{i}": 50.0 + 10 * i for i in range(20)})
    values = {key: frame.weight for key, frame in truth.items()}
    clusters = {name: f"p{i // 2}" for i, (name, _) in enumerate(truth)}
    folds = folds_of(list(clusters.values()))
    changed = {key: value + 500 * (folds[clusters[key[0]]] == 0) for key, value in values.items()}
    lines = cross_fit(changed, truth, clusters=clusters)
    assert [lines[key] for key in values if folds[clusters[key[0]]] == 0] == pytest.approx(
        [changed[key] for key in values if folds[clusters[key[0]]] == 0]
    )  # fitted on the others, which are right


def test_recalibrated_rows(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=6, length=2)
    ask(tmp_path, 1, lambda c: str(0.5 * grey_of(c) + 20))
    result = score(tmp_path / "run", ["mae_overall"], recalibrate=True)
    raw, repaired = result.rows
    assert repaired.prompt == "direct (recalibrated)"
    assert raw.report["mae_overall"].value > 20
    assert repaired.report["mae_overall"].value == pytest.approx(0, abs=1e-9)
    (pair,) = result.pairs
    assert pair.comparison["mae_overall"].difference == pytest.approx(-raw.report["mae_overall"].value)


def test_too_few_sequences_to_recalibrate(tmp_path: Path) -> None:
    frames_csv(tmp_path, sequences=4)
    ask(tmp_path, 1)
    with refuses("E-missing-data", "5", "4"):
        score(tmp_path / "run", recalibrate=True)
