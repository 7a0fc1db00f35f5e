"""The board of the viewer's first page, and the rule that says since when a series is worse."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulate_trends import draw_series, false_alarms
from support.view_help import inside, make_week, table
from support.viewer import Server, run_id

import steelyard as sy
from steelyard.gating.pairing import compare_results
from steelyard.view.entry import Entry, Shown
from steelyard.view.runs import StoredRun, distinct_titles
from steelyard.view.trend import Reading, Series, find_changes, reading_of, series_of


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html.replace("<wbr>", ""))).split())


# --- the rule


def test_a_step_by_hand() -> None:
    """10, 10, 16 with errors of 1: 16 against the mean 10 is 6 with an error of sqrt(1 + 1/2)."""
    (change,) = find_changes([Reading(value, 1.0, math.inf) for value in (10.0, 10.0, 16.0)])
    assert (change.place, change.before, change.after, change.paired) == (2, 2, 1, False)
    error = math.sqrt(1.5)
    assert change.difference == pytest.approx(6.0)
    assert change.interval == pytest.approx((6 - 1.959964 * error, 6 + 1.959964 * error), abs=1e-5)
    assert change.p == pytest.approx(math.erfc(6 / error / math.sqrt(2)), rel=1e-9)
    assert find_changes([Reading(value, 1.0, math.inf) for value in (10.0, 10.0, 13.0)]) == []


def test_levels_by_hand() -> None:
    """At the third run there are two tests and a level of 0.05 / 6: each needs p < 0.05 / 12, |z| > 2.8653."""
    error = math.sqrt(1.5)
    for z, flagged in ((2.86, 0), (2.87, 1)):
        runs = [Reading(value, 1.0, math.inf) for value in (0.0, 0.0, z * error)]
        assert len(find_changes(runs)) == flagged


def test_paired_differences_by_hand() -> None:
    """Eight units fall by 1 or 2 each: the mean is 1.5, its error sqrt(8 * 0.25 / 56), though units lie far apart."""
    units = np.array([0.0, 100, 200, 300, 400, 500, 600, 700])
    later = units - np.array([1.0, 2] * 4)
    runs = [Reading(float(v.mean()), float(v.std(ddof=1) / 8**0.5), 7, "u", v - v.mean()) for v in (units, later)]
    (change,) = find_changes(runs)
    assert (change.place, change.paired, change.difference) == (1, True, pytest.approx(-1.5))
    reach = change.interval[1] + 1.5
    assert reach == pytest.approx(2.364624 * math.sqrt(8 * 0.25 / 56), rel=1e-6)  # Student's t with 7 df
    assert change.p == 2.0**-7  # sign flips of eight units show no less
    apart = [Reading(run.value, run.se, run.df) for run in runs]
    assert find_changes(apart) == []


def test_a_constant_shift_has_no_spread() -> None:
    units = np.arange(12.0)
    runs = [Reading(float(v.mean()), 1.0, 11, "u", v - v.mean()) for v in (units, units, units + 1)]
    assert [(c.place, c.interval) for c in find_changes(runs)] == [(2, (1.0, 1.0))]
    assert find_changes(runs[:2]) == []
    assert find_changes([]) == []


def test_runs_without_an_error_are_not_judged() -> None:
    assert find_changes([Reading(1.0, math.nan, math.inf), Reading(9.0, math.nan, math.inf)]) == []


def test_false_alarms() -> None:
    """3.2 % of series are flagged in 1,000 (docs/view.md); 5 % is the bound of the rule, and 8 % leaves room for 200."""
    assert false_alarms(200, 60, "normal", paired=True) <= 0.08
    assert false_alarms(60, 12, "skewed (exponential)", paired=False) <= 0.05


def test_a_large_step_is_found_where_it_is() -> None:
    rng = np.random.default_rng(3)
    series = [draw_series(rng, 200, "normal", True, runs=15, step=0.6, at=8) for _ in range(20)]
    assert sum([change.place for change in changes] == [8] for changes in series) >= 17


def test_a_distance_from_the_best_value() -> None:
    """A bias of -3 lies 3 from the best, and a unit that lowers the bias raises the distance."""
    truth = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0]}
    guess = {"dish": list("abcd"), "weight": [6.0, 18.0, 27.0, 37.0]}
    report = sy.evaluate("weights", truth, guess, ["bias"], save_influences=True)
    reading = reading_of(report, "bias")
    assert reading is not None
    assert reading.value == pytest.approx(3.0)
    assert sorted(reading.psi) == pytest.approx([-1.0, 0.0, 0.0, 1.0])
    assert reading_of(report, "mae") is None
    assert report.influences is not None
    place = int(np.argmax(reading.psi))  # the unit with the lowest error, -4
    keys = np.sort(report.influences.unit_keys)
    assert report.influences.models[0]["bias"].psi[report.influences.unit_keys == keys[place]] == pytest.approx(-1.0)


# --- series and names


def entry(name: str, **more: Any) -> Entry:
    scores = {"mae": Shown(1.0, (0.5, 1.5), "lower", "g", "MAE")}
    return Entry(name, name, 0.0, **{"kind": "report", "task": "weights", "date": 0.0, "scores": scores, **more})


def test_series() -> None:
    runs = [
        entry("b2", models=("b",), date=2.0),
        entry("a", models=("a",), date=5.0),
        entry("b1", models=("b",), date=1.0),
        entry("other", models=("b",), date=3.0, data="night"),
        entry("gate", kind="gate", models=("b",), date=9.0),
    ]
    each = series_of(runs)
    assert [(one.model, one.data, [run.name for run in one.runs]) for one in each] == [
        ("a", "", ["a"]),
        ("b", "night", ["other"]),
        ("b", "", ["b1", "b2"]),
    ]
    assert (each[2].before, each[0].before) == (runs[2], None)
    moved = Series("weights", "", "b", (entry("1", truth="old"), entry("2", truth="new"), entry("3", truth="new")))
    assert [run.name for run in moved.judged] == ["2", "3"]  # another truth is another test


def test_what_runs_are_called() -> None:
    truth = {"dish": list("abc"), "weight": [10.0, 20.0, 30.0]}

    def run(name: str, **tags: str) -> StoredRun:
        return StoredRun(name, name, 0.0, sy.evaluate("weights", truth, truth, "mae", confidence=None, tags=tags))

    first, second = run("1.json", model="a", date="2026-03-01"), run("2.json", model="b")
    assert distinct_titles([first, second]) == ["a", "b"]
    later = run("3.json", model="a", date="2026-03-02")
    assert distinct_titles([first, later]) == ["a, 2026-03-01", "a, 2026-03-02"]
    again = run("4.json", model="a", date="2026-03-01")
    assert distinct_titles([first, again, run("5.json")]) == ["a, 1.json", "a, 4.json", "5.json"]


# --- pages


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """Two models for a week, and a third whose errors triple on its fifth day."""
    folder = tmp_path_factory.mktemp("week")
    make_week(folder, 3, save_influences=True)
    rng = np.random.default_rng(1)
    weights = rng.uniform(50, 200, 40)
    (folder / "many.csv").write_text(table(weights))
    with inside(folder):
        for day in range(1, 8):
            size = 30.0 if day >= 5 else 10.0
            (folder / "p.csv").write_text(table(weights + size * rng.normal(0, 1, 40)))
            tags = {"model": "drifting", "date": f"2026-04-{day:02}", "data": "many"}
            report = sy.evaluate("weights", "many.csv", "p.csv", ["mae"], tags=tags, save_influences=True)
            report.to_json(f"drift_{day}.json")
    made = Server(folder)
    yield made, folder
    made.close()


def test_the_board(week: tuple[Server, Path]) -> None:
    server, folder = week
    page = server.get("/").text
    board = page.split('<table class="latest">')[1].split("</table>")[0]
    rows = [text_of(row) for row in re.findall("<tr.*?</tr>", board)][1:]
    assert [row.split()[0] for row in rows] == ["weights", "drifting", "weights", "large", "small"]  # the best first
    assert rows[0].startswith("weights on many ↓ mae: Mean absolute error, g")
    before, after = (sy.load(folder / f"small_{day}.json") for day in (2, 3))
    expected = compare_results(before, after)["mae"]  # type: ignore[arg-type]
    assert "3 runs" in rows[4]
    assert expected.verdict in rows[4]
    assert f"{expected.difference:+.1f}".replace("-", "−")[:3] in rows[4]
    assert rows[4].endswith("2026-03-03")
    assert f'/run/{run_id("small_3.json")}">small</a>' in board
    assert board.count("<polyline") == 3
    assert "Latest run per model" not in server.get("/?metric=mae").text
    narrowed = server.get("/?model=large").text.split('<table class="latest">')[1].split("</table>")[0]
    assert narrowed.count('scope="row"') == 1


def test_since_when(week: tuple[Server, Path]) -> None:
    server, folder = week
    page = server.get("/?model=drifting&metric=mae").text
    said = text_of(page.split('<ul class="changes">')[1].split("</ul>")[0])
    values = [sy.load(folder / f"drift_{day}.json")["mae"].value for day in range(1, 8)]
    match = re.match(
        r"drifting : mae is worse since drift_5\.json \(2026-04-05\): \+([\d.]+) g \[([\d.]+), ([\d.]+)\], "
        r"(this run|the mean of \d runs) against the 4 runs before, paired\.$",
        said,
    )
    assert match is not None, said
    after = 1 if match[4] == "this run" else int(match[4].split()[-2])
    assert float(match[1]) == pytest.approx(np.mean(values[4 : 4 + after]) - np.mean(values[:4]), abs=0.051)
    assert page.count('class="flag') == 3  # once in each size of the chart
    assert "a change begins here" in page
    calm = text_of(server.get("/?model=drifting&metric=mae&until=2026-04-04").text)
    assert "drifting : no change shown in mae over 4 runs since 2026-04-01." in calm
