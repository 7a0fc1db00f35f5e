"""Truth on some units and a proxy on all: what is read, how it becomes a report, and whole messages."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refused

from steelyard.core import catalogue
from steelyard.core.request import Request
from steelyard.engine.judged import Judged, evaluate_judged, measure_judged, report_of_judged
from steelyard.engine.proxy import proxy_scores
from steelyard.engine.report import applied_request, sources_of, task_facts
from steelyard.engine.run import Measured, measure_sides
from steelyard.io.digest import digest
from steelyard.io.table import Table
from steelyard.results.origin import SourceInfo
from steelyard.results.report import Report

WEIGHTS, LABELS, BOXES = (catalogue.find_task(name) for name in ("weights", "labels", "boxes"))
MAE = catalogue.parse("mae", "weights")
IDS = [f"d{i:02}" for i in range(12)]
RNG = np.random.default_rng(11)
TRUE = np.round(RNG.uniform(50, 200, 12), 1)
CHEAP = np.round(TRUE + RNG.normal(0, 5, 12), 1)
PREDICTED = np.round(TRUE + RNG.normal(3, 10, 12), 1)
SOME = [9, 2, 5, 7]  # dishes with truth, in no order
Columns = dict[str, Any]


def given() -> tuple[Columns, Columns, Columns]:
    truth = {"dish": [IDS[i] for i in SOME], "weight": TRUE[SOME]}
    return truth, {"dish": IDS, "weight": PREDICTED}, {"dish": IDS, "weight": CHEAP}


def nothing(data: Measured, task: str) -> tuple[str, ...]:
    return ()


def judged(
    truth: Any, predictions: Any, proxy: Any, task: str = "weights", metrics: Any = "mae", **more: Any
) -> Report:
    correction = more.pop("judge_correction", "difference")
    request = Request.of(task, metrics, {"draws": 100, **more})
    return evaluate_judged(request, truth, predictions, proxy, correction, nothing)


def test_a_report_of_truth_and_proxy() -> None:
    truth, predictions, proxy = given()
    asked: list[Any] = []

    def findings(data: Measured, task: str) -> tuple[str, ...]:
        asked.append((len(data.truth), len(data.prediction), task))
        return ("odd",)

    request = Request.of("weights", None, {"draws": 100, "seed": 3})
    report = evaluate_judged(request, truth, predictions, proxy, "difference", findings)
    assert asked == [(4, 12, "weights")]
    labelled = measure_sides(WEIGHTS, replace(request, extra="skip"), truth, predictions)
    every = measure_sides(WEIGHTS, request, proxy, predictions)
    used = replace(request, proxy="in memory")
    assert report.request == applied_request(WEIGHTS, used, labelled.metrics, {})
    assert (report.request.proxy, report.request.judge_correction, report.request.extra) == (
        "in memory",
        "difference",
        "error",
    )
    same = np.array([every.state.units.ids.tolist().index(one) for one in labelled.state.units.ids.tolist()])
    others = [i for i in range(12) if i not in SOME]
    assert [every.state.units.ids[i] for i in others] == [IDS[i] for i in others]
    expected = proxy_scores(
        labelled.state, every.state.take(same), every.state.take(np.array(others)), labelled.metrics, used
    )
    assert list(report.scores) == list(WEIGHTS.defaults)
    assert report.scores == expected
    about = report["mae"].few_labels
    assert about is not None
    assert about.labels_alone == pytest.approx(np.abs(PREDICTED - TRUE)[SOME].mean())
    assert about.proxy_alone == pytest.approx(np.abs(PREDICTED - CHEAP)[others].mean())
    assert report.task_facts == task_facts(WEIGHTS)
    assert (report.slices, report.coverage) == ({}, every.coverage)
    assert report.sources == replace(sources_of(labelled), proxy=SourceInfo("truth", 12, digest(every.truth)))
    assert report.notes == (
        "odd",
        "Truth on 4 dishes, and a proxy (in memory) on these and 8 more: the units with truth must be a random part of "
        "all of them.",
        "Only 4 dishes with truth: an interval is rough and tends to be too narrow.",
    )
    assert report.units().units.tolist() == labelled.state.units.ids.tolist()
    assert report.details.pairs.units.tolist() == labelled.state.units.ids.tolist()
    assert report.details.metrics == labelled.metrics
    assert report.details.task is WEIGHTS


def test_the_proxy_is_named_as_it_was_given(tmp_path: Path) -> None:
    truth, predictions, proxy = given()
    rows = "\n".join(f"{name},{value}" for name, value in zip(IDS, CHEAP.tolist(), strict=True))
    path = tmp_path / "judge.csv"
    path.write_text(f"dish,weight\n{rows}\n", encoding="utf-8")
    whole = judged(truth, predictions, proxy)
    for named in (path, str(path)):
        report = judged(truth, predictions, named)
        assert report.request.proxy == str(path)
        assert report.scores == whole.scores
        assert report.sources.proxy is not None
        assert report.sources.proxy.source == str(path)


def test_notes_of_enough_units_and_without_intervals() -> None:
    n, ids = 1200, list(range(1200))
    truth = {"id": ids[:30], "label": ["a", "b"] * 15}
    predictions, judge = {"id": ids, "label": ["a"] * n}, {"id": ids, "label": ["a", "b"] * (n // 2)}
    report = judged(truth, predictions, judge, "labels", "accuracy")
    assert report.notes == (
        "Truth on 30 units, and a proxy (in memory) on these and 1,170 more: the units with truth must be a random "
        "part of all of them.",
    )
    few = {name: column[:29] for name, column in truth.items()}
    assert len(judged(few, predictions, judge, "labels", "accuracy").notes) == 2
    assert len(judged(few, predictions, judge, "labels", "accuracy", confidence=None).notes) == 1
    rates = judged(truth, predictions, judge, "labels", "accuracy", judge_correction="rates")
    assert rates.notes == (
        "Truth on 30 units says how often the judge (in memory) errs on 1,170 more: it must err as often on those.",
    )
    assert rates.request.judge_correction == "rates"


def test_a_column_of_the_truth_may_hold_the_proxy() -> None:
    """The rows with truth are the labelled ones, in the order of the file; all of them are judged."""
    truth, predictions, proxy = given()
    known = [TRUE[i] if i in SOME else None for i in range(12)]
    rows = {"dish": IDS, "weight": known, "cheap": CHEAP, "person": list("pq") * 6}
    report = judged(rows, predictions, "cheap")
    assert report.request.proxy == "cheap"
    order = {name: [column[k] for k in np.argsort(SOME)] for name, column in truth.items()}
    assert report.scores == judged(order, predictions, proxy).scores
    assert report.sources.proxy is not None
    assert (report.sources.proxy.rows, report.sources.truth.rows) == (12, 4)


def test_columns_by_other_names() -> None:
    """`truth.weight` goes before `weight`; the key may be renamed too."""
    truth, predictions, proxy = given()
    known = [TRUE[i] if i in SOME else None for i in range(12)]
    rows = {"plate": IDS, "grams": known, "cheap": CHEAP}
    predicted = {"plate": IDS, "weight": PREDICTED}
    columns = {"dish": "plate", "truth.weight": "grams"}
    order = {name: [column[k] for k in np.argsort(SOME)] for name, column in truth.items()}
    whole = judged(order, predictions, proxy)
    report = judged(rows, predicted, "cheap", columns=columns)
    assert report.scores == whole.scores
    assert report.request.columns == columns
    both = {"plate": IDS, "grams": PREDICTED}
    assert judged(rows, both, "cheap", columns={"dish": "plate", "weight": "grams"}).scores == whole.scores


def test_units_of_several_rows() -> None:
    """A group of rows is the unit: it has truth in all rows or in none."""
    truth = {
        "id": list("stuvwx"),
        "group": [1, 1, 2, 2, 3, 3],
        "label": ["a", "b", "", "", "", ""],
        "judge": list("abbaab"),
    }
    predictions = {"id": list("stuvwx"), "label": list("aabbab")}
    report = judged(truth, predictions, "judge", "labels", "accuracy")
    score = report["accuracy"]
    assert (score.value, score.units) == (0.5, 1)
    assert score.few_labels is not None
    assert (score.few_labels.others, score.few_labels.proxy_alone) == (2, 0.75)
    torn = {**truth, "label": ["a", "", "", "", "b", ""]}
    assert refused(judged, torn, predictions, "judge", "labels", metrics="accuracy") == (
        "truth: unit '1' has truth in some rows only. Give the truth of all rows of a unit, or of none."
    )


def test_lines_of_a_file_are_kept(tmp_path: Path) -> None:
    """A fault in a row with truth, or in one by the proxy, is said with its own line."""
    path = tmp_path / "truth.csv"
    path.write_text("dish,weight,cheap\na,,1\nb,-2,2\nc,3,3\n", encoding="utf-8")
    predictions = {"dish": list("abc"), "weight": [1.0, 2.0, 3.0]}
    assert refused(judged, path, predictions, "cheap").startswith(f"{path}, line 3, column 'weight': ")
    path.write_text("dish,weight,cheap\na,,1\nb,2,2\nc,,-3\n", encoding="utf-8")
    assert refused(judged, path, predictions, "cheap").startswith(f"{path}, line 4, column 'weight': ")


def test_the_units_with_truth_must_be_judged() -> None:
    truth, predictions, proxy = given()
    one = {name: column[:9] for name, column in proxy.items()}
    assert refused(judged, truth, predictions, one, extra="skip") == (
        "truth: dish 'd09' of truth has truth and no proxy. The proxy must hold every dish that has truth, by the same "
        "id."
    )
    two = {name: column[:6] for name, column in proxy.items()}
    assert refused(judged, truth, predictions, two, extra="skip") == (
        "truth: dish 'd07' of truth has truth and no proxy (2 of 4 are so: 'd07', 'd09'). The proxy must hold every "
        "dish that has truth, by the same id."
    )
    none = {name: column[:2] for name, column in proxy.items()}
    assert refused(judged, truth, predictions, none, extra="skip") == (
        "truth: no dish of truth is in the proxy. The proxy must hold every dish that has truth, by the same id."
    )
    assert refused(judged, truth, predictions, truth, extra="skip") == (
        "truth: every dish of the proxy has truth, so the proxy adds nothing. Leave the proxy out, or let it judge more."
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"strata": "dish"},
            "`proxy` cannot be combined with `strata`: labelled units must be a random part of all, not of each "
            "stratum. Leave one of them out.",
        ),
        (
            {"save_draws": True},
            "`proxy` cannot be combined with `save_draws`: its interval does not rest on draws alone. "
            "Leave one of them out.",
        ),
        (
            {"explain": ["sklearn"]},
            "`proxy` cannot be combined with `explain`: other tools score truth alone. Leave one of them out.",
        ),
        ({"judge_correction": "rate"}, "'rate' is not a known correction of a judge. Choose difference or rates."),
    ],
)
def test_what_no_proxy_can_have(more: Columns, said: str) -> None:
    assert refused(judged, *given(), **more) == said


def test_what_is_asked_for_is_checked_before_any_reading() -> None:
    assert refused(judged, "none.csv", "none.csv", "none.csv", metrics=["mea"]).endswith("Did you mean 'mae'?")
    assert refused(judged, "none.csv", "none.csv", None, judge_correction="rates") == (
        "there is no judge to correct. Give its labels as the proxy."
    )


def test_a_proxy_that_is_no_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with an ending or a separator, or of a file that exists, is a file; any other is a column."""
    truth, predictions, _ = given()
    assert refused(judged, truth, predictions, "wieght") == (
        "truth: the proxy 'wieght' is neither a file nor a column. Did you mean 'weight'?"
    )
    monkeypatch.chdir(tmp_path)
    for name in ("judge.CSV", "judge.jsonl", "no/such", os.path.join("no", "such")):
        said = refused(judged, truth, predictions, name)
        assert said.startswith(f"{name}: ")
        assert "neither" not in said
    (tmp_path / "here").write_text("dish,weight\n", encoding="utf-8")
    assert refused(judged, truth, predictions, "here").startswith("here: '' is not a supported format. Known: .csv")
    boxes = {"image": [1], "label": ["a"], "x": [0], "y": [0], "w": [5], "h": [5], "score": [1]}
    assert refused(judged, boxes, boxes, "judge", "boxes", metrics="map") == (
        "the proxy 'judge' is not a file, and truth of task 'boxes' is not one column that a judge fills. Give a file "
        "like the truth that holds the judge's objects."
    )


ROWS = {"dish": ["a", "b", "c"], "weight": [10.0, None, 30.0], "cheap": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("rows", "column", "said"),
    [
        ({"dish": ["a"], "cheap": [1.0]}, "cheap",
         "truth: the proxy 'cheap' replaces no true value: the columns are dish, cheap. The truth needs 'dish', a column "
         "with the truth of some rows, and the proxy's column."),
        ({"weight": [1.0], "cheap": [1.0]}, "cheap",
         "truth: the proxy 'cheap' replaces no true value: the columns are weight, cheap. The truth needs 'dish', a "
         "column with the truth of some rows, and the proxy's column."),
        (ROWS, "weight",
         "truth: the proxy 'weight' replaces no true value: the columns are dish, weight, cheap. The truth needs 'dish', "
         "a column with the truth of some rows, and the proxy's column."),
        ({**ROWS, "cheap": [1.0, None, ""]}, "cheap",
         "truth, row 1, column 'cheap': the proxy has no value in 2 of 3 rows. It must judge every row; leave out the "
         "rows that it cannot."),
        ({**ROWS, "weight": [None, None, None]}, "cheap",
         "truth: no row has a value in 'weight'. The truth of some rows must be known."),
        ({**ROWS, "dish": ["b", "b", "a"], "item": ["x", "y", "x"]}, "cheap",
         "truth: dish 'b' has truth in some rows only. Give the truth of all rows of a dish, or of none."),
    ],
)  # fmt: skip
def test_columns_that_are_no_proxy(rows: Columns, column: str, said: str) -> None:
    predictions = {name: rows[name] for name in ("dish", "item") if name in rows} | {"weight": rows["cheap"]}
    assert refused(judged, rows, predictions, column) == said


def test_both_sides_are_measured() -> None:
    """A column of the truth: the labelled rows and all of them, with the proxy in the place of the truth."""
    rows = Table("t.csv", {name: np.array(column, dtype=object) for name, column in ROWS.items()}, np.array([2, 3, 5]))
    predictions = {"dish": ["a", "b", "c"], "weight": [9.0, 9.0, 9.0]}
    request = Request.of("weights", "mae", {"draws": 100})
    data = measure_judged(WEIGHTS, request, rows, predictions, "cheap")
    assert isinstance(data, Judged)
    assert data.labelled.truth["weight"].tolist() == [10.0, 30.0]
    assert data.labelled.state.units.ids.tolist() == ["a", "c"]
    assert data.every.truth["weight"].tolist() == [1.0, 2.0, 3.0]
    assert "cheap" in data.every.truth.other
    assert data.labelled.truth.place(1) == "t.csv, line 5"
    assert data.every.truth.place(1) == "t.csv, line 3"
    report = report_of_judged(WEIGHTS, replace(request, proxy="cheap"), data, ("kept",))
    assert report.notes[0] == "kept"
    assert report["mae"].few_labels is not None
    assert report["mae"].few_labels.labels_alone == pytest.approx((1 + 21) / 2)
    assert report["mae"].few_labels.proxy_alone == 7.0
