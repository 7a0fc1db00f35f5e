"""The same data on every path give an equal report, to the bit: scores with intervals and draws, slices, coverage,
notes, settings, units, tables and figures.

Two things name the path and differ: the sources and digests of the two sides, and the note about a unit that came more
than once, which `evaluate` refuses.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import re
import socket
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.paths_help import (
    Case,
    coco_case,
    contents,
    drawn_case,
    grouped_case,
    labels_case,
    lvis_case,
    radians_case,
    table_cut,
    write_parts,
)
from support.tiers import slow_except, slow_rows_except

import steelyard as sy
from steelyard.core import catalogue
from steelyard.results.report import Report
from steelyard.scale import evaluate_shards

DRAWS = 100
CASES: dict[str, Callable[[], Case]] = {task: partial(drawn_case, task) for task in catalogue.TASKS} | {
    "boxes of COCO, not sliced": partial(coco_case, "boxes"),
    "boxes of LVIS": lvis_case,
    "ellipses in radians, not sliced": radians_case,
    "labels of declared classes": partial(labels_case, "multiclass"),
    "labels weighed, not sliced": partial(labels_case, "weighed"),
    "labels in sets": partial(labels_case, "multilabel"),
    "labels that are counted": partial(labels_case, "counted"),
    "weights by cluster": partial(grouped_case, "weights", cluster="person"),
    "boxes by cluster": partial(grouped_case, "boxes", cluster="person", by=()),
    "weights in strata": partial(grouped_case, "weights", strata="light"),
    "tracking by cluster, in strata": partial(grouped_case, "tracking", cluster="person", strata="light"),
    "labels that could be counted, by cluster": partial(labels_case, "clustered"),
}


@cache
def case_of(name: str) -> Case:
    return CASES[name]()


@cache
def expected(name: str) -> Report:
    """The report of all the data at once."""
    case = case_of(name)
    sides = case.given(case.sides, "whole")
    return sy.evaluate(case.task, *sides, case.metrics, draws=DRAWS, save_draws=True, **case.settings)


@cache
def expected_contents(name: str) -> dict[str, str]:
    return contents(expected(name))


def accumulator(case: Case) -> sy.Accumulator:
    return sy.Accumulator(case.task, **case.settings)


def gathered(case: Case, count: int, again: bool) -> list[sy.Accumulator]:
    """An accumulator for each of so many parts."""
    collected = []
    for number, part in enumerate(case.parts(count, again)):
        collected.append(accumulator(case))
        collected[-1].update(*case.given(part, f"part {number} of {count}"))
    return collected


def report_of(case: Case, state: sy.Accumulator) -> Report:
    return state.report(case.metrics, draws=DRAWS, save_draws=True)


def one_batch(case: Case, folder: Path) -> Report:
    return report_of(case, gathered(case, 1, False)[0])


def shuffled_batches(case: Case, folder: Path) -> Report:
    state = accumulator(case)
    parts = case.parts(7, True)
    for number in np.random.default_rng(33).permutation(7).tolist():
        state.update(*case.given(parts[number], f"batch {number}"))
    return report_of(case, state)


def two_levels(case: Case, folder: Path) -> Report:
    return report_of(case, merged(case))


def merged(case: Case) -> sy.Accumulator:
    """Five parts: the second takes over the last, the fourth the third; then the first takes over these two."""
    parts = gathered(case, 5, True)
    parts[1].merge(parts[4])
    parts[3].merge(parts[2])
    parts[0].merge(parts[3])
    parts[0].merge(parts[1])
    return parts[0]


def saved(case: Case, folder: Path) -> Report:
    merged(case).save(folder / "state")
    return report_of(case, sy.Accumulator.load(folder / "state"))


def as_bytes(case: Case, folder: Path) -> Report:
    parts = gathered(case, 3, True)
    for part in parts[1:]:
        parts[0].merge(sy.Accumulator.from_bytes(part.to_bytes()))
    return report_of(case, sy.Accumulator.from_bytes(parts[0].to_bytes()))


def pickled(case: Case, folder: Path) -> Report:
    parts = [pickle.loads(pickle.dumps(part)) for part in gathered(case, 3, True)]
    for part in parts[1:]:
        parts[0].merge(part)
    return report_of(case, pickle.loads(pickle.dumps(parts[0])))


def in_pairs(case: Case, folder: Path) -> Report:
    paths = write_parts(folder, case.parts(3, True))
    return shards(case, folder, paths, join="pairs")


def by_hash(case: Case, folder: Path) -> Report:
    truth = write_parts(folder / "3", case.parts(3, True))[0]
    predictions = write_parts(folder / "2", case.parts(2, True))[1]
    return shards(case, folder, [truth, predictions], join="hash", buckets=4)


def shards(case: Case, folder: Path, paths: list[list[str]], **named: Any) -> Report:
    engine = {"workers": 1, "draws": DRAWS, "save_draws": True, "work": folder / "work", **named}
    return evaluate_shards(case.task, *paths, case.metrics, **engine, **case.settings)


PATHS = {
    "one batch": (one_batch, False),
    "seven shuffled batches": (shuffled_batches, True),
    "two-level merge": (two_levels, True),
    "saved and loaded": (saved, True),
    "bytes": (as_bytes, True),
    "pickled": (pickled, True),
    "shards in pairs": (in_pairs, True),
    "shards by hash": (by_hash, True),
}


# Each path is tried in `make test` for a few cases, and each case on one path; all of them in `make test-slow`.
EVERY_PATH = ("weights", "labels that are counted", "boxes of COCO, not sliced")
FAST = [
    (name, path) for name, path in itertools.product(CASES, PATHS) if name in EVERY_PATH or path == "shards in pairs"
]


@pytest.mark.parametrize(("name", "path"), slow_rows_except(itertools.product(CASES, PATHS), *FAST))
def test_every_path_gives_an_equal_report(name: str, path: str, tmp_path: Path) -> None:
    case = case_of(name)
    make, repeats = PATHS[path]
    if case.files and path == "shards by hash":
        with pytest.raises(sy.InputError, match=r"option truth\.format is about how files are read"):
            make(case, tmp_path)
        return
    assert_equal(make(case, tmp_path), name, repeats)


@pytest.mark.parametrize("name", slow_except(CASES, *EVERY_PATH, "boxes", "segmentation"))
def test_pickled_and_read_back_reports_are_equal(name: str, tmp_path: Path) -> None:
    report = expected(name)
    assert pickle.loads(pickle.dumps(report)) == report
    assert_equal(pickle.loads(pickle.dumps(report.with_details())), name, repeats=False)
    report.to_json(tmp_path / "report.json", details=True)
    again = sy.load(tmp_path / "report.json")
    assert isinstance(again, Report)
    assert again == report
    assert again.to_dict() == report.to_dict(details=True)
    ids, values = again.units().units.tolist(), again.units().values
    assert list(map(str, ids)) == list(map(str, report.units().units.tolist()))
    assert repr({spec: column.tolist() for spec, column in values.items()}) == repr(
        {spec: column.tolist() for spec, column in report.units().values.items()}
    )


def assert_equal(report: Report, name: str, repeats: bool) -> None:
    """Raise where a report is not that of all the data at once; names the parts that differ."""
    wanted, said = expected_contents(name), contents(report)
    assert [part for part in {**wanted, **said} if said.get(part) != wanted.get(part)] == []
    again = f"1 {catalogue.find_task(case_of(name).task).unit} came more than once and counts once."
    notes = [*expected(name).notes, *([again] if repeats else [])]
    assert sorted(report.notes) == sorted(notes)


def finding_case() -> Case:
    """Predictions in kilograms, which the quick checks find."""
    truth, predictions = DRAW["weights"](np.random.default_rng(37), 40)
    predictions["weight"] = np.array(predictions["weight"]) / 1000
    units = tuple(dict.fromkeys(truth["dish"]))
    return Case("weights", (truth, predictions), table_cut("dish"), units, ["mae"], {"confidence": None})


def test_findings_of_the_quick_checks_reach_an_accumulator() -> None:
    case = finding_case()
    expected = sy.evaluate(case.task, *case.sides, case.metrics, **case.settings).notes
    assert any("tells more" in note for note in expected)
    state = accumulator(case)
    for part in case.parts(3, False):
        state.update(*part)
    assert state.report(case.metrics).notes == expected


@pytest.mark.parametrize("makers", [("pairs", 3), ("hash", 2)], ids=lambda m: m[0])
def test_findings_of_the_quick_checks_reach_shards(tmp_path: Path, makers: tuple[str, int]) -> None:
    """In each part of enough rows, in the words of the first; the whole data say the same with their own counts."""
    join, parts = makers
    case = finding_case()
    whole = sy.evaluate(case.task, *case.sides, case.metrics, **case.settings).notes
    (code,) = re.findall(r"\((\S+)\). sy.check", " ".join(whole))
    paths = write_parts(tmp_path, case.parts(parts, False))
    report = evaluate_shards(
        case.task, *paths, case.metrics, work=tmp_path / "work", workers=1, join=join, **case.settings
    )
    (note,) = [note for note in report.notes if "tells more" in note]
    assert re.fullmatch(
        rf".* \({code}, in [123] of {parts} parts\)\. `steelyard check weights` of one part's files tells more\.", note
    )


def test_a_finding_of_parts_is_said_once() -> None:
    """As the first part says it, and in how many parts; what less than half of them have is not said."""
    from steelyard.checks.findings import Finding
    from steelyard.checks.quick import notes_of_parts
    from steelyard.core import catalogue

    def finding(code: str, what: str) -> Finding:
        return Finding(code, "warning", "predictions", what, 1, 2)

    parts = [[], [finding("b", "Two.")], [finding("a", "One"), finding("b", "Three."), finding("b", "Four.")], []]
    assert notes_of_parts(catalogue.find_task("weights"), parts) == [
        "Two (b, in 2 of 4 parts). `steelyard check weights` of one part's files tells more.",
    ]


def test_paths_that_name_the_same_units_have_the_same_digest(tmp_path: Path) -> None:
    case = case_of("weights")
    for makers in ((one_batch, shuffled_batches, saved), (in_pairs, by_hash)):
        sides = []
        for make in makers:
            folder = tmp_path / make.__name__
            folder.mkdir()
            sources = make(case, folder).sources
            sides.append((sources.truth.digest, sources.predictions.digest))
        assert len(set(sides)) == 1


def test_a_slice_of_counted_rows_has_its_own_units() -> None:
    report = expected("labels that are counted")
    sites = case_of("labels that are counted").sides[0]["site"][:-1]  # the last has no prediction and is left out
    for site, scores in report.slices["site"].items():
        assert scores["accuracy"].units == sites.count(site)


def test_lvis_rules_are_refused_for_data_in_memory() -> None:
    truth, results = case_of("boxes of LVIS").sides
    with pytest.raises(sy.InputError, match="format=lvis is about a file, and the truth is in memory"):
        sy.evaluate("boxes", truth, results, options={"format": "lvis"})


@pytest.mark.slow
def test_dask_gives_an_equal_report(tmp_path: Path) -> None:
    pytest.importorskip("distributed")  # installed by requirements/test.txt
    case = case_of("weights")
    paths = write_parts(tmp_path, case.parts(3, True))
    with socket.socket() as taken:  # Dask's usual port belongs to another program
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        assert_equal(shards(case, tmp_path, paths, join="pairs", engine="dask"), "weights", True)
