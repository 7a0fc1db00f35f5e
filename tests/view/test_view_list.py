"""The list of the viewer: every kind of file, search, filters, order, groups, the chart, and up to eight runs compared."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.view_help import BROKEN, METRICS, make_kinds, make_week
from support.viewer import TOKEN, Looked, Server, run_id, settled
from test_view import PAYLOADS

import steelyard as sy
from steelyard.gating.pairing import compare_many, compare_results
from steelyard.results.codec import KINDS
from steelyard.view import runs as index
from steelyard.view.entry import Entry, Shown, entry_of
from steelyard.view.folder import Folder
from steelyard.view.listing import nice_ticks, tick_texts, time_ticks
from steelyard.view.query import A_PAGE, Query, matching, parse_query
from steelyard.view.runs import NoHead, head_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("list")
    make_week(root)
    make_kinds(root)
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    yield made
    made.close()


def names(page: str) -> list[str]:
    """The files of a page's runs, in their order: what a run is called, or what follows its model's name."""
    rows = re.findall(r'class="name"[^>]*>(.*?)</(?:a|span)>(?: <small class="about">(.*?)</small>)?', page)
    plain = [[re.sub("<[^>]*>", "", unescape(text)) for text in row] for row in rows]
    return [name if name.endswith(".json") else about.split(" on ")[0] for name, about in plain]


# --- every file


def test_every_kind_is_listed_and_opens(server: Server) -> None:
    page = server.get("/").text
    assert "<h1>22 runs</h1>" in page
    for kind in KINDS:
        name = "small_1.json" if kind == "report" else f"{kind}.json"
        assert name in names(page), kind
        assert names(server.get(f"/?kind={kind}&q={name}").text) == [name], kind
    assert server.get(f"/run/{run_id('gate.json')}").status == 200  # pages with charts have tests of their own
    row = page.split('class="name">broken.json')[1].split("</tr>")[0]
    assert "body.request" in unescape(row)
    assert "is missing" in row
    foreign = unescape(page.split("<summary>2 other JSON files</summary>")[1])
    assert "foreign.json</code> <small>It is not a result of Steelyard." in foreign
    assert "checked.json</code> <small>It is what 'steelyard check' found, and no result." in foreign
    assert server.get(f"/run/{run_id('foreign.json')}").status == 404
    assert server.get(f"/run/{run_id('broken.json')}").status == 422


def test_a_head_is_what_the_whole_file_says(folder: Path) -> None:
    for kind in KINDS:
        name = "small_1.json" if kind == "report" else f"{kind}.json"
        text = (folder / name).read_text(encoding="utf-8")
        made, body = head_of(text)
        data = json.loads(text)
        assert made == kind
        assert all(data["body"][key] == value for key, value in body.items())
        file = Entry("i", name, 7.0)
        assert entry_of(file, kind, body) == entry_of(file, kind, data["body"])
    for text in ("", "{}", "[]", BROKEN[:40], '{"format": "steelyard", "version": 3, "kind": "gate", "body": {}}', "x"):
        with pytest.raises(NoHead):
            head_of(text)


def test_only_the_head_of_a_long_result_is_read(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads((folder / "small_1.json").read_text())
    data["details"] = {"much": "x" * 300_000}
    (tmp_path / "long.json").write_text(json.dumps(data))
    monkeypatch.setattr(Folder, "read", lambda *_: pytest.fail("the whole file was read"))
    entry = index.Index(Folder(tmp_path), settled).entries()[0]
    assert (entry.kind, entry.task, entry.models, entry.problem) == ("report", "weights", ("small",), "")


def test_files_that_are_cut_off_or_damaged(folder: Path, tmp_path: Path) -> None:
    """Whatever a file holds, it is listed with a reason or as the result that it still is; nothing fails."""
    text = (folder / "small_1.json").read_text()
    for at in range(0, len(text) - 2, 97):
        (tmp_path / f"cut_{at}.json").write_text(text[:at])
    swaps = ('"units": 12', '"units": -1'), ('"better": "lower"', '"better": []'), ('"tags": {', '"tags": [{')
    for i, (old, new) in enumerate((*swaps, ('"source": "truth.csv"', '"source": "\\ud800"'))):
        assert old in text
        (tmp_path / f"swap_{i}.json").write_text(text.replace(old, new))
    entries = index.Index(Folder(tmp_path), settled).entries()
    assert len(entries) == len(list(tmp_path.iterdir()))
    assert all(entry.problem for entry in entries)
    assert all(entry.foreign for entry in entries if entry.name == "cut_0.json")


def test_what_opening_shows_is_listed_from_then_on(tmp_path: Path, folder: Path) -> None:
    data = json.loads((folder / "small_1.json").read_text())
    data["body"]["slices"] = 7  # stands behind the head
    (tmp_path / "r.json").write_text(json.dumps(data))
    server = Server(tmp_path)
    try:
        assert "body.slices" not in server.get("/").text
        assert server.get(f"/run/{run_id('r.json')}").status == 422
        assert "body.slices is 7 where an array is expected" in server.get("/").text
        shutil.copy(folder / "small_1.json", tmp_path / "r.json")
        assert "body.slices" not in server.get("/").text
    finally:
        server.close()


# --- search, filters, order, groups


def entry(name: str, **more: Any) -> Entry:
    scores = {"mae": Shown(more.pop("mae"), None, "lower", "g", "MAE")} if "mae" in more else {}
    return Entry(name, name, 0.0, **{"kind": "report", "task": "weights", "date": 0.0, "scores": scores, **more})


def order(entries: list[Entry], **query: Any) -> list[str]:
    return [one.name for one in matching(entries, Query(**query))]


def test_order() -> None:
    runs = [
        entry("a10", mae=1.0, units=5),
        entry("a9", mae=math.nan, units=7),
        entry("b", units=6),
        entry("c", mae=0.5),
    ]
    assert order(runs, sort="name") == ["a9", "a10", "b", "c"]
    assert order(runs, sort="-name") == ["c", "b", "a10", "a9"]
    assert order(runs, sort="metric", metric="mae") == ["c", "a10", "a9", "b"]
    assert order(runs, sort="-metric", metric="mae") == ["a10", "c", "a9", "b"]  # what has no value is last either way
    assert order(runs, sort="-units") == ["a9", "b", "a10", "c"]
    tagged = [entry("x", tags={"lr": "10"}), entry("y", tags={"lr": "9"}), entry("z")]
    assert order(tagged, sort="tag:lr") == ["y", "x", "z"]
    assert order(tagged, sort="-tag:lr") == ["x", "y", "z"]


def test_filters() -> None:
    day = 86400.0
    runs = [
        entry("a", models=("small",), data="coco", tags={"lr": "1"}, date=day),
        entry("b", models=("large",), data="coco", tags={"lr": "2"}, date=1.5 * day, task="boxes"),
        entry("c", kind="lineup", models=("large", "old"), date=2 * day),
    ]
    for query, expected in (
        ({"task": "boxes"}, "b"), ({"kind": "lineup"}, "c"), ({"model": "large"}, "bc"), ({"data": "coco"}, "ab"),
        ({"tags": ("lr=1",)}, "a"), ({"tags": ("lr=1", "lr=2")}, ""), ({"since": "1970-01-03"}, "c"),
        ({"until": "1970-01-02"}, "ab"), ({"since": "1970-01-02", "until": "1970-01-02"}, "ab"),
        ({"q": "LARGE coco"}, "b"), ({"q": "lr=2"}, "b"), ({"q": "nothing like it"}, ""),
    ):  # fmt: skip
        assert "".join(order(runs, sort="name", **query)) == expected, query
    assert order(runs, sort="-name", group="task") == ["b", "c", "a"]
    assert order(runs, sort="name", group="tag:lr") == ["a", "b", "c"]  # those without the tag come last


def test_the_address_holds_the_view() -> None:
    query = Query(q="a b&c", task="t", tags=("x=1", "y=2"), sort="name", group="tag:x", at=3, runs=("0" * 16,))
    assert parse_query(query.text()) == (query, True)
    assert Query().text() == ""
    sent = "q=&task=&metric=&group=&sort=-date&kind=&model=&data=&tag=&since=&until=&over=time"  # a form as it is
    assert parse_query(sent) == (Query(), True)
    assert parse_query("sort=name&sort=-units")[0].sort == "-units"  # a button stands behind the field
    for text in (
        "sort=__class__", "group=haystack", "since=2026-99-99", "until=x", "at=-1", "run=../../x", "q=" + "x" * 999,
        "q=%00", "over=x", "tag=novalue", "&".join(f"a{i}=1" for i in range(500)), "q=%ud800",
    ):  # fmt: skip
        made, _ = parse_query(text)
        assert made == Query() or made == Query(q="%ud800"), text
        assert matching([entry("a")], made) == [entry("a")] or made.q


def test_the_list_of_a_server(server: Server) -> None:
    answer = server.get("/?q=large&task=&metric=&sort=name")
    assert (answer.status, answer.headers["location"]) == (303, f"/{TOKEN}/?q=large&sort=name")
    assert server.get("/?q=&sort=-date").headers["location"] == f"/{TOKEN}/"
    page = server.get("/?q=model%3Dlarge&sort=name").text
    assert names(page) == [f"large_{day}.json" for day in range(1, 8)]
    assert "<h1>7 of 22 runs</h1>" in page
    assert names(server.get("/?model=large&sort=-tag%3Alr").text)[:2] == ["large_7.json", "large_6.json"]
    assert names(server.get("/?until=2026-03-01").text) == ["large_1.json", "small_1.json"]
    grouped = server.get("/?kind=report&metric=mae&group=model").text
    groups = re.findall(r'rowgroup" colspan="6">(\w+) <small>([^<]*)', grouped)
    assert [name for name, _ in groups] == ["large", "small"]
    assert groups[0][1].startswith("7 runs; mae ")
    assert "No run is like that." in server.get("/?q=zzz").text


def test_many_runs_have_pages(tmp_path: Path, folder: Path) -> None:
    for i in range(A_PAGE + 5):
        shutil.copy(folder / "small_1.json", tmp_path / f"r{i:03}.json")
    server = Server(tmp_path)
    try:
        first, second = server.get("/?sort=name").text, server.get("/?sort=name&at=1").text
        assert names(first) + names(second) == [f"r{i:03}.json" for i in range(A_PAGE + 5)]
        assert "1 to 50 of 55" in first
        assert names(server.get("/?sort=name&at=99").text) == names(second)
    finally:
        server.close()


# --- the chart


def test_ticks() -> None:
    assert nice_ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert nice_ticks(-1.0, 1.0) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert nice_ticks(3.0, 3.0) == [3.0]
    assert tick_texts([0.05, 0.1]) == ["0.05", "0.10"]
    assert tick_texts([-1.0, 0.0, 1.0]) == ["−1", "0", "1"]
    assert tick_texts([0.0, 2000.0]) == ["0", "2,000"]
    day = 86400.0
    assert time_ticks(0.5 * day, 3.2 * day, 3) == [(k * day, f"1970-01-0{k + 1}") for k in (1, 2, 3)]
    assert time_ticks(0.5 * day, 3.6 * day, 3) == [(2 * day, "1970-01-03")]
    assert time_ticks(0.0, 6 * day, 8) == [(k * day, f"1970-01-0{k + 1}") for k in range(7)]
    assert time_ticks(0.0, 7200.0, 8) == [(0.0, "01-01 00:00"), (3600.0, "01:00"), (7200.0, "02:00")]
    assert time_ticks(5.0, 5.0, 8) == [(5.0, "1970-01-01 00:00")]
    assert len(time_ticks(0.0, 1e12, 8)) <= 8


def test_the_chart_is_to_scale(server: Server, folder: Path) -> None:
    """Heights are linear in the values, and days are as far apart as days are."""
    page = server.get("/?kind=report&metric=mae&group=model").text
    drawing = page.split('class="plot wide"')[1].split("</svg>")[0]
    marks = re.findall(r'<a href="/\S+/run/(\w+)"[^>]*class="c(\d)">.*?<circle cx="([\d.]+)" cy="([\d.]+)"', drawing)
    assert len(marks) == 14
    values = {run_id(path.name): sy.load(path)["mae"].value for path in folder.glob("*_[1-7].json")}
    points = [(values[run], float(x), float(y), colour) for run, colour, x, y in marks]
    (low, _, y_low, _), (high, _, y_high, _) = min(points), max(points)
    for value, _, y, _ in points:
        assert y == pytest.approx(y_low + (y_high - y_low) * (value - low) / (high - low), abs=0.1)
    days = sorted({x for _, x, _, _ in points})
    assert len(days) == 7
    assert [b - a for a, b in pairwise(days)] == pytest.approx([(days[-1] - days[0]) / 6] * 6, abs=0.1)
    assert {colour for *_, colour in points} == {"0", "1"}
    over_runs = server.get("/?kind=report&metric=mae&over=runs").text
    assert (
        len(set(re.findall(r'<circle cx="([\d.]+)"', over_runs.split('class="plot wide"')[1].split("</svg>")[0]))) == 14
    )
    assert "there is nothing to draw" in server.get("/?kind=gate&metric=mae").text


# --- up to eight runs


def test_only_what_can_be_compared_is_offered(server: Server) -> None:
    boxes = server.get("/?sort=name").text.count('type="checkbox" name="run"')
    assert boxes == 14  # reports; no comparison, gate, plan or broken file
    picked = server.get(f"/?run={run_id('small_1.json')}&q=large").text
    assert f'<input type="hidden" name="run" value="{run_id("small_1.json")}">' in picked  # out of sight, still picked
    assert picked.count('type="checkbox" name="run"') == 7


def test_runs_compared(server: Server, folder: Path) -> None:
    """Values and differences are those of the results; p-values are one family of all runs and metrics."""
    chosen = ["small_1.json", "large_1.json", "small_7.json", "large_7.json"]
    asked = "&".join(f"run={run_id(name)}" for name in reversed(chosen))
    page = unescape(server.get(f"/compare?as=table&{asked}").text)
    assert "<h1>4 runs compared</h1>" in page
    reports = [sy.load(folder / name) for name in ["large_1.json", "small_1.json", "large_7.json", "small_7.json"]]
    lineup = compare_many(reports)  # type: ignore[arg-type]
    assert page.count("<small>baseline</small>") == len(METRICS)
    assert [names.b.request.tags["model"] for names in lineup.comparisons] == ["small", "large", "small"]
    for other, one in zip(reports[1:], lineup.comparisons, strict=True):
        for spec in METRICS:
            alone = compare_results(reports[0], other)[spec]  # type: ignore[arg-type]
            assert (one[spec].difference, one[spec].p, one[spec].interval) == (
                alone.difference,
                alone.p,
                alone.interval,
            )
    flat = sorted((d.p, d.p_adjusted) for one in lineup.comparisons for d in one.differences.values())
    holm = [min(1.0, max((len(flat) - k) * flat[k][0] for k in range(i + 1))) for i in range(len(flat))]
    assert [adjusted for _, adjusted in flat] == pytest.approx(holm)
    based = server.get(f"/compare?as=table&{asked}&base={run_id('small_7.json')}").text
    assert f'<option value="{run_id("small_7.json")}">small, 2026-03-07</option><option' in based
    first = based.split("<tbody>")[1].split("</tr>")[0]
    assert "small, 2026-03-07" in first


def test_what_cannot_be_compared(server: Server) -> None:
    small = run_id("small_1.json")
    for query, status, said in (
        ("", 404, "Tick two to 8 runs of the list; 0 are picked."),
        (f"run={small}", 404, "1 are picked"),
        (f"run={small}&run={'0' * 16}", 404, "1 are picked"),
        ("&".join(f"run={run_id(f'{m}_{d}.json')}" for m in ("small", "large") for d in range(1, 6)), 422, "10 are picked"),
        (f"run={small}&run={run_id('gate.json')}", 422, "Only results of 'evaluate' can be compared here."),
        (f"run={small}&run={run_id('broken.json')}", 422, "Only results"),
    ):  # fmt: skip
        answer = server.get(f"/compare?{query}")
        assert answer.status == status, query
        assert said in unescape(answer.text)


def test_payloads_in_tags_and_names(tmp_path: Path, folder: Path) -> None:
    """In tags, models, data sets, specs and file names; and in addresses: all of it is text."""
    clean = [p.replace("\x00", " ")[:200] for p in PAYLOADS]
    data = json.loads((folder / "small_1.json").read_text())
    for i, payload in enumerate(clean[:8]):
        data["body"]["request"]["tags"] = {"model": payload, "data": payload, "note": payload, "date": payload}
        data["body"]["scores"]["mae"].update(label=payload, measured_in=payload)
        (tmp_path / f"{i} {payload.replace('/', '')}.json").write_text(json.dumps(data))
    ours = {
        "html", "head", "meta", "title", "style", "body", "a", "nav", "ul", "li", "header", "div", "p", "h1", "h2", "main", "form", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "label", "select", "option", "datalist", "details", "summary", "figure", "figcaption", "input", "small", "strong", "span", "button", "br", "wbr", "code", "svg", "line", "text", "circle",
        "polyline", "polygon", "section",
    }  # fmt: skip
    server = Server(tmp_path)
    try:
        runs = [one.id for one in index.Index(Folder(tmp_path), settled).entries() if one.kind]
        assert len(runs) == 8
        paths = ["/", "/?metric=mae&group=model", "/?metric=mae&group=tag%3Anote", f"/?run={runs[0]}"]
        paths += ["/export/html", f"/compare?as=table&{'&'.join(f'run={run}' for run in runs)}"]
        for name in ("q", "task", "model", "metric", "tag", "group", "sort"):
            paths += [f"/?{name}=x%3D%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"]
        for path in paths:
            answer = server.get(path)
            answer = answer if answer.status != 303 else server.ask(answer.headers["location"])
            assert answer.status == 200, path
            Looked(ours).feed(answer.text)
    finally:
        server.close()
