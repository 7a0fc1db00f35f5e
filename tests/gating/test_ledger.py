"""The ledger of looks: what each may spend, what is not a new look, what is refused, and that hands are noticed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.forked import started
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.core.sketch import UnitSketch
from steelyard.engine.differences import by_draws
from steelyard.engine.flips import tail_bound
from steelyard.engine.looks import at_level, spent_at
from steelyard.gating.rules import parse_rule
from steelyard.io.locks import hold_lock

scipy_stats = lazy("scipy.stats")

RULE = "mae > baseline, p < 0.05"


def dishes(seed: int, spread: float = 20.0, units: int = 60) -> tuple[dict[str, Any], dict[str, Any]]:
    truth = np.random.default_rng(0).uniform(100, 400, units)
    errors = np.random.default_rng(seed).normal(0, spread, units)
    return {"dish": np.arange(units), "weight": truth}, {"dish": np.arange(units), "weight": truth + errors}


def scored(model: int, spread: float = 20.0, **settings: Any) -> Any:
    return sy.evaluate("weights", *dishes(model, spread), "mae", draws=200, save_draws=True, **settings)


BASE = scored(1)


def test_levels_by_hand() -> None:
    """Equal parts with a horizon; else 6 alpha / (pi k)^2, which adds up to alpha."""
    assert spent_at(0.05, 1, 20) == spent_at(0.05, 20, 20) == pytest.approx(0.0025)
    assert spent_at(0.05, 3, None) == pytest.approx(6 * 0.05 / (9 * math.pi**2))
    assert sum(spent_at(0.05, k, None) for k in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


def test_an_interval_at_another_level_is_what_that_level_gives() -> None:
    """A score at 95 % and at 99.5 % of the same draws: the first, moved, is the second."""
    truth, side = dishes(3)
    for spec, open_end in (("mae", 1), ("r2", 0), ("bias", None)):
        wide, narrow = (sy.evaluate("weights", truth, side, spec, draws=300, confidence=c)[spec] for c in (0.995, 0.95))
        bounds = next(type(m).range for m in sy.metrics("weights") if str(m) == spec)
        moved = at_level(narrow.value, narrow.interval, bounds, narrow.se, narrow.df, (0.05, 0.005))
        assert moved is not None
        for end in (0, 1):
            if end == open_end:  # the worst unit counts once more there: on the safe side, by little
                further = (moved[end] - wide.interval[end]) / (wide.interval[end] - wide.value)
                assert 0 <= further < 0.2
            else:
                assert moved[end] == pytest.approx(wide.interval[end])


def test_an_interval_of_units_that_agree_at_another_level() -> None:
    """12 of 12 at 99.5 %: [.0025 ** (1 / 12), 1]; no level makes an interval of what has none."""
    truth = {"id": np.arange(12), "label": np.ones(12, dtype=int)}
    score = sy.evaluate("labels", truth, truth, "accuracy")["accuracy"]
    moved = at_level(1.0, score.interval, (0.0, 1.0), score.se, score.df, (0.05, 0.005))
    assert moved == pytest.approx((0.0025 ** (1 / 12), 1.0))
    assert at_level(1.0, None, (0.0, 1.0), 0.0, 3.0, (0.05, 0.005)) is None


def test_a_p_of_draws_has_no_floor() -> None:
    """A difference of ten standard errors: with 200 draws counting alone gives 1 / 201; never below what t gives."""
    draws = np.random.default_rng(0).normal(10, 1, 200)
    ranking = by_draws(10.0, draws, 0.95, 59.0)
    assert 2 * scipy_stats.t.sf(10 / draws.std(ddof=1), 59) == pytest.approx(ranking.p)
    assert by_draws(2.0, draws - 8, 0.95, 59.0).p == pytest.approx(0.05, abs=0.03)


def test_looks_are_counted_and_spend_their_part(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    for k in range(1, 4):
        result = sy.gate(scored(k + 1), RULE, baseline=BASE, ledger=path, looks=20)
        (verdict,) = result.verdicts
        assert (verdict.look, verdict.planned, verdict.spent) == (k, 20, pytest.approx(0.0025))
        assert f"look {k} of 20 at a level of 0.0025" in str(result).replace("\n             ", " ")
    looks = json.loads(path.read_text())["looks"]
    assert [one["number"] for one in looks] == [1, 2, 3]
    first = looks[0]
    assert first["truth"] == BASE.sources.truth.digest
    assert (first["rule"], first["margin"], first["units"], first["level"]) == (RULE, "", 60, 0.0025)
    assert first["outcome"] in ("pass", "fail")
    assert first["time"].endswith("+00:00")
    assert len({one["result"] for one in looks}) == 3
    assert len({one["baseline"] for one in looks}) == 1


def test_the_level_of_the_look_decides(tmp_path: Path) -> None:
    """p of this pair lies between .0025 and .05: one look alone fails, one of twenty passes."""
    worse = next(
        one
        for one in (scored(seed, 24.0) for seed in range(50, 90))
        if 0.004 < sy.gate(one, RULE, baseline=BASE).verdicts[0].p < 0.04 and one["mae"].value > BASE["mae"].value
    )
    assert sy.gate(worse, RULE, baseline=BASE).outcome == "fail"
    verdict = sy.gate(worse, RULE, baseline=BASE, ledger=tmp_path / "looks.json", looks=20)
    assert verdict.outcome == "pass"
    assert "p is not below 0.0025" in verdict.verdicts[0].reason
    assert sy.gate(scored(7, 80.0), RULE, baseline=BASE, ledger=tmp_path / "looks.json", looks=20).outcome == "fail"


@pytest.mark.parametrize("rule", ["mae > 30", "mae > baseline + 1", "mae noninferior baseline + 5 %"])
def test_intervals_widen_to_the_level_of_the_look(rule: str, tmp_path: Path) -> None:
    """An interval of a look at .0025 is that of a confidence of 99.75 %, by the t that belongs to it."""
    new = scored(2)
    plain = sy.gate(new, rule, baseline=BASE).verdicts[0]
    wide = sy.gate(new, rule, baseline=BASE, ledger=tmp_path / "looks.json", looks=20).verdicts[0]
    df = min(new["mae"].df, BASE["mae"].df)
    if rule == "mae > 30":
        grown = scipy_stats.t.ppf(1 - 0.00125, new["mae"].df) / scipy_stats.t.ppf(0.975, new["mae"].df)
        ratio = [math.log(end / new["mae"].value) for end in wide.interval]
        assert ratio == pytest.approx([grown * math.log(end / new["mae"].value) for end in plain.interval])
        return
    middle, ends = plain.difference, (plain.difference_interval, wide.difference_interval)
    reach = [high - middle for _, high in ends]
    assert reach[1] / reach[0] == pytest.approx(scipy_stats.t.ppf(1 - 0.00125, df) / scipy_stats.t.ppf(0.975, df))


def test_a_comparison_at_the_level_of_its_look(tmp_path: Path) -> None:
    truth, a = dishes(1)
    compared = sy.compare("weights", truth, a, dishes(2)[1], "mae", draws=200)
    d = compared["mae"]
    result = sy.gate(compared, "mae > baseline + 1", ledger=tmp_path / "looks.json", looks=10).verdicts[0]
    wider = scipy_stats.t.ppf(1 - 0.0025, d.df) / scipy_stats.t.ppf(0.975, d.df)
    expected = [d.difference - 1 + wider * (end - d.difference) for end in d.interval]
    assert result.difference_interval == pytest.approx(expected)


def test_the_same_result_is_no_new_look(tmp_path: Path) -> None:
    path, new = tmp_path / "looks.json", scored(2)
    first = sy.gate(new, RULE, baseline=BASE, ledger=path, looks=20)
    written = path.read_bytes()
    again = sy.gate(new, RULE, baseline=BASE, ledger=path, looks=20)
    assert path.read_bytes() == written
    assert again.verdicts[0].look == 1
    assert again.outcome == first.outcome
    assert "the same result as before" in again.verdicts[0].reason
    # Other draws of it are: else a seed could be chosen.
    assert sy.gate(scored(2, seed=5), RULE, baseline=scored(1, seed=5), ledger=path, looks=20).verdicts[0].look == 2


def test_rules_have_their_own_levels(tmp_path: Path) -> None:
    path, new = tmp_path / "looks.json", scored(2)
    sy.gate(new, [RULE, "mae>baseline , p<0.05", "mae > 30"], baseline=BASE, ledger=path)
    looks = json.loads(path.read_text())["looks"]
    assert [(one["rule"], one["number"]) for one in looks] == [(RULE, 1), ("mae > 30.0", 1)]
    assert [one["sketch"] is None for one in looks] == [False, True]  # one is enough
    verdict = sy.gate(scored(3), RULE, baseline=BASE, ledger=path)
    assert verdict.verdicts[0].look == 2
    assert verdict.verdicts[0].spent == pytest.approx(6 * 0.05 / (2 * math.pi) ** 2)
    assert "Other rules about mae took 1 look at this test set" in str(verdict).replace("\n  ", " ")


def of_units(first: int, stop: int, model: int = 2, **settings: Any) -> Any:
    """A report on dishes from `first` to `stop`: a growing, shrinking or other test set."""
    truth, side = dishes(model, units=stop)
    truth, side = ({name: column[first:] for name, column in one.items()} for one in (truth, side))
    return sy.evaluate("weights", truth, side, "mae", draws=200, **settings)


def remarks(result: Any) -> str:
    return str(result).replace("\n  ", " ")


def test_a_truth_that_grows_is_the_same_test_set(tmp_path: Path) -> None:
    """60 dishes, then 80 of which 60 were there: look 2, not look 1; then 10 fewer."""
    path = tmp_path / "looks.json"
    first = sy.gate(of_units(0, 60), "mae > 30", ledger=path)
    assert first.verdicts[0].look == 1
    assert "The truth changed" not in str(first)
    grown = sy.gate(of_units(0, 80), "mae > 30", ledger=path)
    assert grown.verdicts[0].look == 2
    assert "The truth changed since look 1: 60 -> 80 units, 60 shared." in remarks(grown)
    again = sy.gate(of_units(0, 80), "mae > 30", ledger=path)
    assert again.verdicts[0].look == 2
    assert again.notes == grown.notes
    fewer = sy.gate(of_units(10, 80), "mae > 30", ledger=path)
    assert fewer.verdicts[0].look == 3
    assert "The truth changed since look 2: 80 -> 70 units, 70 shared." in remarks(fewer)
    data = json.loads(path.read_text())
    assert data["version"] == 2
    assert [one["sketch"]["units"] for one in data["looks"]] == [60, 80, 70]


def test_corrected_labels_are_the_same_test_set(tmp_path: Path) -> None:
    """The same predictions against a truth in which one weight was corrected are a new look at the same units."""
    path, (truth, side) = tmp_path / "looks.json", dishes(2)
    sy.gate(sy.evaluate("weights", truth, side, "mae", draws=200), "mae > 30", ledger=path)
    corrected = {**truth, "weight": truth["weight"] + (truth["dish"] == 3)}
    result = sy.gate(sy.evaluate("weights", corrected, side, "mae", draws=200), "mae > 30", ledger=path)
    assert result.verdicts[0].look == 2
    assert "The truth changed since look 1: 60 -> 60 units, 60 shared." in remarks(result)


def test_another_test_set_is_refused(tmp_path: Path) -> None:
    """No unit is shared: another ledger, or --fresh-units, which starts at look 1 and is written down."""
    path = tmp_path / "looks.json"
    for stop in (60, 80):
        sy.gate(of_units(0, stop), "mae > 30", ledger=path)
    written = path.read_bytes()
    with refuses("E-incompatible", "2", "looks.json"):
        sy.gate(of_units(100, 160), "mae > 30", ledger=path)
    assert path.read_bytes() == written
    fresh = sy.gate(of_units(100, 160), ["mae > 30", "mae > 40"], ledger=path, fresh_units=True)
    assert [verdict.look for verdict in fresh.verdicts] == [1, 1]
    assert [one["test_set"] for one in json.loads(path.read_text())["looks"]] == [1, 1, 2, 2]
    # Each set goes on where it was: nothing is reset by going back and forth.
    assert sy.gate(of_units(90, 160), "mae > 30", ledger=path).verdicts[0].look == 2
    assert sy.gate(of_units(0, 70), "mae > 30", ledger=path).verdicts[0].look == 3
    both = sy.gate(of_units(50, 120), "mae > 30", ledger=path)  # units of both: all looks count
    assert both.verdicts[0].look == 6


def test_fresh_units_that_are_not_fresh_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    sy.gate(of_units(0, 60), "mae > 30", ledger=path)
    with refuses("E-conflict", "1", "17"):
        sy.gate(of_units(50, 200), "mae > 30", ledger=path, fresh_units=True)
    with refuses("E-conflict", "ledger"):
        sy.gate(of_units(50, 200), "mae > 30", fresh_units=True)
    # The same result is never a new look, so a job that runs again does not fail.
    assert sy.gate(of_units(0, 60), "mae > 30", ledger=path, fresh_units=True).verdicts[0].look == 1


def test_one_unit_in_a_hundred_is_the_same_test_set(tmp_path: Path) -> None:
    """Of 200 units the 2 that are shared are 1 %: the same set. One of 200 is not."""
    path = tmp_path / "looks.json"
    sy.gate(of_units(0, 200), "mae > 30", ledger=path)
    with refuses("E-incompatible", "0.5", "1"):
        sy.gate(of_units(199, 399), "mae > 30", ledger=path)
    shared = sy.gate(of_units(198, 398), "mae > 30", ledger=path)
    assert "200 -> 200 units, 2 shared" in remarks(shared)
    assert shared.verdicts[0].look == 2


def version_1(path: Path) -> None:
    """The ledger as version 1 wrote it: without sketches and test sets, and with its own checksums."""
    data, check = json.loads(path.read_text()), ""
    for row in data["looks"]:
        row.pop("check"), row.pop("sketch"), row.pop("test_set")
        text = json.dumps(row, sort_keys=True, separators=(",", ":"))
        check = row["check"] = hashlib.sha256(f"{check}\n{text}".encode()).hexdigest()
    seal = hashlib.sha256(f"{len(data['looks'])} looks\n{check}".encode()).hexdigest()
    path.write_text(json.dumps({**data, "version": 1, "seal": seal}))


def test_ledgers_of_version_1_count_their_looks_together(tmp_path: Path) -> None:
    """What it cannot know counts: two looks at 60 units, then one at others that say nothing of being shared."""
    path = tmp_path / "looks.json"
    for model in (2, 3):
        sy.gate(of_units(0, 60, model), "mae > 30", ledger=path)
    version_1(path)
    third = sy.gate(of_units(100, 190), "mae > 30", ledger=path)
    assert third.verdicts[0].look == 3
    assert "The truth changed since look 2: 60 -> 90 units, how many are shared is unknown." in remarks(third)
    assert json.loads(path.read_text())["version"] == 2
    version_1(path)
    with refuses("E-conflict", "3"):
        sy.gate(of_units(300, 390), "mae > 30", ledger=path, fresh_units=True)


def test_comparisons_and_units_without_ids(tmp_path: Path) -> None:
    """A comparison holds the sketch once; labels that are joined by position have none, and count on."""
    path, (truth, a) = tmp_path / "looks.json", dishes(1)
    compared = sy.compare("weights", truth, a, dishes(2)[1], "mae", draws=200)
    assert compared.a.sources.truth_units.units == 60
    assert compared.b.sources.truth_units is None
    assert sy.gate(sy.load(compared.to_dict()), "mae > baseline", ledger=path).verdicts[0].look == 1
    assert json.loads(path.read_text())["looks"][0]["sketch"]["units"] == 60
    labels = [{"label": np.arange(units) % 3} for units in (40, 50)]
    reports = [sy.evaluate("labels", one, one, "accuracy", draws=200) for one in labels]
    assert reports[0].sources.truth_units is None
    looks = [sy.gate(one, "accuracy < 0.5", ledger=tmp_path / "labels.json") for one in reports]
    assert [one.verdicts[0].look for one in looks] == [1, 2]
    assert "40 -> 50 units, how many are shared is unknown" in remarks(looks[1])


def test_sketches_say_how_many_units_are_shared() -> None:
    """Exact up to 1,024 units; above, from keys that both sketches reach: 15,000 of 30,000 within 4 sd of 1,024 keys."""
    few, more = UnitSketch.of_ids(np.arange(30)), UnitSketch.of_ids(np.arange(20, 1024))
    assert few.shared_fraction(more) == more.shared_fraction(few) == 10 / 30
    many, half = UnitSketch.of_ids(np.arange(30_000)), UnitSketch.of_ids(np.arange(15_000, 80_000))
    assert len(many.values) == len(half.values) == 1024
    assert many.shared_fraction(half) == pytest.approx(
        0.5, abs=4 * 0.5 / math.sqrt(380)
    )  # keys of `many` below half's largest
    assert many.shared_fraction(UnitSketch.of_ids(np.arange(30_000, 60_000))) == 0
    assert few.shared_fraction(UnitSketch.of_ids(np.arange(5_000))) == 1.0  # 30 units are part of the 5,000
    assert few.shared_fraction(UnitSketch.of_ids(np.arange(10_000_000, 14_000_000))) in (None, 0.0)
    texts = UnitSketch.of_ids(np.array([str(i) for i in range(30)], dtype=object))
    assert texts == few
    broken = UnitSketch(30, few.keys[:-4])
    assert "keys" in broken.faults()
    assert "keys" in UnitSketch(29, few.keys).faults()
    assert "keys" in UnitSketch(30, "no base64").faults()


def test_shards_have_the_sketch_of_the_whole(tmp_path: Path) -> None:
    truth, side = dishes(2)
    for name, data in (("truth", truth), ("side", side)):
        for part in range(3):
            rows = [f"{d},{w}" for d, w in zip(data["dish"][part::3], data["weight"][part::3], strict=True)]
            (tmp_path / f"{name}_{part}.csv").write_text("\n".join(["dish,weight", *rows]))
    shards = sy.evaluate_shards(
        "weights", str(tmp_path / "truth_*.csv"), str(tmp_path / "side_*.csv"), "mae",
        work=tmp_path / "work", workers=1, draws=100,
    )  # fmt: skip
    gathered = sy.Accumulator("weights")
    gathered.update(truth, side)
    gathered.compact("mae")
    whole = sy.evaluate("weights", truth, side, "mae", draws=100).sources.truth_units
    assert shards.sources.truth_units == gathered.report("mae").sources.truth_units == whole


def test_refused_when_spent(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    for k in (2, 3):
        sy.gate(scored(k), RULE, baseline=BASE, ledger=path, looks=2)
    written = path.read_bytes()
    with refuses("E-too-large", "5", "2", "looks"):
        sy.gate(scored(4), ["mae > 30", RULE], baseline=BASE, ledger=path, looks=2)
    assert path.read_bytes() == written
    assert sy.gate(scored(3), RULE, baseline=BASE, ledger=path, looks=2).verdicts[0].look == 2


def test_refused(tmp_path: Path) -> None:
    path, new = tmp_path / "looks.json", scored(2)
    sy.gate(new, RULE, baseline=BASE, ledger=path, looks=20)
    for given, message in (
        ({"looks": 40}, ("E-conflict", "5", "20", "looks", "40")),
        ({}, ("E-conflict", "5", "20")),
        ({"looks": 0}, ("E-out-of-range", "0", "looks")),
        ({"looks": True}, ("E-out-of-range", "looks")),
    ):
        with refuses(*message):
            sy.gate(scored(3), RULE, baseline=BASE, ledger=path, **given)
    with refuses("E-conflict", "20", "looks"):
        sy.gate(new, RULE, baseline=BASE, looks=20)
    plain = sy.evaluate("weights", *dishes(2), "mae", confidence=None)
    with refuses("E-missing-data", "looks.json"):
        sy.gate(plain, "mae > 30", ledger=path, looks=20)
    single = sy.evaluate("weights", *dishes(2, units=1), "mae")
    with refuses("E-missing-data", "mae"):
        sy.gate(single, "mae > 30", ledger=tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


EDITS = {
    "a level": (lambda text: text.replace('"level": 0.0025', '"level": 0.0001', 1), ("E-invalid-result", "1")),
    "an outcome": (lambda text: text.replace('"units": 60', '"units": 61'), ("E-invalid-result", "1")),
    "the order": (lambda text: json.dumps(_changed(text, looks=lambda all_: all_[::-1])), ("E-invalid-result", "1")),
    "the first look": (lambda text: json.dumps(_changed(text, looks=lambda all_: all_[1:])), ("E-invalid-result", "1")),
    "the last look": (
        lambda text: json.dumps(_changed(text, looks=lambda all_: all_[:-1])),
        ("E-invalid-result", "looks.json", "end"),
    ),
    "all looks": (
        lambda text: json.dumps(_changed(text, looks=lambda all_: [])),
        ("E-invalid-result", "looks.json", "end"),
    ),
    "a text": (lambda text: json.dumps(_changed(text, looks=lambda all_: ["look"])), ("E-invalid-result", "look", "1")),
    "its version": (lambda text: json.dumps(_changed(text, version=lambda _: 7)), ("E-invalid-result", "version 7")),
    "its format": (
        lambda text: json.dumps(_changed(text, format=lambda _: "steelyard")),
        ("E-invalid-result", "looks.json", "ledger"),
    ),
    "half of it": (lambda text: text[: len(text) // 2], ("E-invalid-file", "looks.json")),
    "all of it": (lambda text: "", ("E-invalid-file", "looks.json")),
    "a byte": (lambda text: text.encode() + b"\xff", ("E-invalid-text", "UTF-8")),
}


def _changed(text: str, **changes: Any) -> dict[str, Any]:
    data = json.loads(text)
    return {**data, **{key: change(data[key]) for key, change in changes.items()}}


@pytest.mark.parametrize("name", EDITS)
def test_a_ledger_edited_by_hand_is_known_for_one(name: str, tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    for k in (2, 3):
        sy.gate(scored(k), RULE, baseline=BASE, ledger=path, looks=20)
    edit, message = EDITS[name]
    edited = edit(path.read_text())
    path.write_bytes(edited if isinstance(edited, bytes) else edited.encode())
    before = path.read_bytes()
    with refuses(*message, str(path)):
        sy.gate(scored(4), RULE, baseline=BASE, ledger=path, looks=20)
    assert path.read_bytes() == before
    assert not Path(f"{path}.lock").exists()


def test_on_the_command_line(tmp_path: Path, steelyard: Any) -> None:
    """Exit code 2 and one line where a ledger was edited; what the look was stands in text, JSON, JUnit and page."""
    BASE.to_json(tmp_path / "base.json")
    scored(2).to_json(tmp_path / "new.json")
    words = [
        "gate",
        "new.json",
        "--baseline",
        "base.json",
        "--fail-if",
        RULE,
        "--ledger",
        "looks.json",
        "--looks",
        "20",
    ]
    done = steelyard(*words, "--junit", "gate.xml")
    assert done.returncode == 0, done.stderr
    assert "  ledger    looks.json" in done.stdout
    assert "look 1 of 20 at a level of 0.0025" in (tmp_path / "gate.xml").read_text()
    data = json.loads(steelyard(*words, "--json").stdout)["body"]
    assert (data["ledger"], data["verdicts"][0]["look"], data["verdicts"][0]["spent"]) == ("looks.json", 1, 0.0025)
    read = sy.load(json.loads(steelyard(*words, "--json").stdout))
    assert "look 1 of 20" in read.to_html()
    assert "looks counted in `looks.json`" in read.to_markdown()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base.json", "gate.xml", "looks.json", "new.json"]
    path = tmp_path / "looks.json"
    path.write_text(path.read_text().replace('"units": 60', '"units": 600'))
    bad = steelyard(*words)
    assert bad.returncode == 2
    assert bad.stderr.startswith("steelyard: looks.json: was edited by hand: look 1 does not fit its checksum.")
    assert "Traceback" not in bad.stderr
    unknown = steelyard(*words[:6])
    assert "How many looks were taken at this test set is unknown: p < 0.05" in unknown.stdout.replace("\n  ", " ")
    assert "unknown" not in steelyard(*words[:4], "--fail-if", "mae > 30").stdout


GATES = """
import sys
import steelyard as sy
base, new = sy.load("base.json"), sy.load(f"new_{sys.argv[1]}.json")
print(sy.gate(new, "mae > 30", baseline=base, ledger="looks.json").verdicts[0].look)
"""


def test_gates_at_once_lose_no_look(tmp_path: Path) -> None:
    """Six processes, each with a result of its own, at once: six looks with six numbers, and no lock is left."""
    BASE.to_json(tmp_path / "base.json")
    for k in range(6):
        scored(k + 2).to_json(tmp_path / f"new_{k}.json")
    with ExitStack() as stack:
        commands = [[sys.executable, "-c", GATES, str(k)] for k in range(6)]
        running = [
            stack.enter_context(started(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True))
            for command in commands
        ]
        numbers = [int(process.communicate(timeout=120)[0]) for process in running]
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6]
    looks = json.loads((tmp_path / "looks.json").read_text())["looks"]
    assert [one["number"] for one in looks] == [1, 2, 3, 4, 5, 6]
    assert not (tmp_path / "looks.json.lock").exists()


HOLDER = """
import sys
from steelyard.io.locks import hold_lock
with hold_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with refuses("E-cannot-write", "held", "lock", "0.1"), hold_lock(path, 0.1):
            pass
    with hold_lock(path, 5):
        assert os.path.exists(f"{path}.lock")
    assert not os.path.exists(f"{path}.lock")


def test_a_ledger_that_cannot_be_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refuses("E-cannot-write", "looks.json"):
        sy.gate(BASE, "mae > 30", ledger=tmp_path / "file" / "looks.json")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mae>30", " mae  >  30.0"),
        ("map<baseline-0.010", "map < baseline - 0.01"),
        ('f1[light="dim"]<0.5', "f1[ light = dim ] < .5"),
        ("|bias|>baseline+2%,p<.05", "|bias| > baseline + 2 %, p < 0.05"),
    ],
)
def test_rules_written_in_two_ways_are_one(one: str, other: str) -> None:
    rules = [parse_rule(text) for text in (one, other)]
    assert rules[0].canonical("m") == rules[1].canonical("m")


def test_rules_that_differ_are_not_one() -> None:
    texts = ["m < 1", "m <= 1", "m < 2", "m < baseline", "m < baseline - 1", "m < baseline - 1 %", "|m| < 1",
             "m < baseline, p < 0.05", "m < baseline, p < 0.01", "m[a=b] < 1", "m noninferior baseline - 1"]  # fmt: skip
    assert len({parse_rule(text).canonical("m") for text in texts}) == len(texts)


def test_twenty_looks_keep_the_level() -> None:
    """1,000 pairs of equal models, 20 looks each at one test set of 60 units: the paired flips of a gate.

    At 5 % a look, most raise a false alarm; with the ledger's levels at most 6.5 %.
    """
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], (999, 60))
    alarms = {"ledger": 0, "endless": 0, "none": 0}
    errors = np.abs(rng.normal(0, 20, (60, 1000, 21)))
    differences = errors[..., 1:] - errors[..., :1]
    for pair in range(1000):
        if pair % 100 == 0:
            some = differences[:, pair : pair + 100]
            worlds = (signs @ some.reshape(60, -1) / 60).astype(np.float32).reshape(999, 100, 20)
        own, seen = worlds[:, pair % 100], differences[:, pair].mean(axis=0)
        far = np.sqrt((own**2).mean(axis=0))
        # A difference of less than a standard deviation of the worlds cannot have a p of 5 %.
        share = (1 + (np.abs(own) >= np.abs(seen) * (1 - 1e-6)).sum(axis=0)) / 1000
        p = np.array([min(q, tail_bound(d / s)) if d > s else 1 for d, s, q in zip(seen, far, share, strict=True)])
        worse = seen > 0
        alarms["none"] += bool((worse & (p < 0.05)).any())
        alarms["ledger"] += bool((worse & (p < spent_at(0.05, 1, 20))).any())
        alarms["endless"] += bool((worse & (p < [spent_at(0.05, k, None) for k in range(1, 21)])).any())
    assert alarms["none"] / 1000 >= 0.15
    assert alarms["ledger"] / 1000 <= 0.065
    assert alarms["endless"] / 1000 <= 0.065
