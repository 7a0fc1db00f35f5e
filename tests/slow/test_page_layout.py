"""The layout of pages in a real browser: nothing clipped, nothing over another, nothing wider than the screen.

Every task of the catalogue is here, at four widths and in both themes, in one tab of one browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import HOW, Browser, Page, find
from support.paths import ROOT, TESTS
from support.tiers import slow_except

import steelyard as sy
from steelyard.core import catalogue
from steelyard.results.result import Result

SAMPLE = ROOT / "src" / "steelyard" / "samples"
SAMPLES = catalogue.samples()
WRONG = (TESTS / "support" / "page_layout.js").read_text(encoding="utf-8")
WIDTHS = (390, 768, 1100, 1400)
pytestmark = pytest.mark.skipif(find() is None, reason=HOW)


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    page = browser.page()
    yield page
    page.close()


def resize(tab: Page, width: int) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


def faults(tab: Page, result: Result, path: Path) -> dict[str, list[str]]:
    """What is wrong with the page of a result, by width and theme."""
    result.to_html(path)
    tab.go(path.as_uri())
    wrong = {}
    for width in WIDTHS:
        resize(tab, width)
        for theme in ("light", "dark"):
            tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            wrong[f"{width} {theme}"] = tab.run(WRONG)
    assert tab.errors == []
    return {place: faults_there for place, faults_there in wrong.items() if faults_there}


def sides(task: str) -> tuple[str, str, str]:
    sample = SAMPLES[task]
    truth, a, b = (str(SAMPLE / task / name) for name in (sample.truth, sample.a, sample.b))
    return truth, a, b


def report_of(task: str) -> sy.Report:
    truth, a, _ = sides(task)
    by = SAMPLES[task].by
    return sy.evaluate(task, truth, a, by=[by] if by else [], draws=100)


TITLES = """[...document.querySelectorAll('h1, h2, h3, figcaption')].filter(e => e.checkVisibility())
  .map(e => e.textContent.trim())"""


CHARTS = """[...document.querySelectorAll('figure svg.chart[role=img]')].filter(svg => svg.checkVisibility()).map(svg => [
  svg.getAttribute('aria-label'), svg.getBoundingClientRect().width > 50, !!svg.closest('figure').querySelector('details')])"""
LEFT = "[...document.querySelectorAll('#pictures .picture')].map(e => Math.round(e.getBoundingClientRect().left))"
SHARES = """[...document.querySelectorAll('.figures .drawn .chart:not(.own)')].filter(e => e.checkVisibility()).map(
  e => e.getBoundingClientRect().width / Math.min(e.closest('figure').getBoundingClientRect().width, 736))"""


@pytest.mark.parametrize("task", slow_except(SAMPLES, "weights"))
def test_every_task_at_every_width(task: str, tab: Page, tmp_path: Path) -> None:
    tab.requests.clear()
    assert faults(tab, report_of(task), tmp_path / "r.html") == {}
    assert [one for one in tab.requests[1:] if not one.startswith("data:image/png;base64,")] == []
    assert tab.dialogs == []
    titles = tab.run(TITLES)
    assert len(titles) == len(set(titles)), sorted(title for title in titles if titles.count(title) > 1)
    assert Path(sides(task)[1]).name.partition(".")[0] in titles[0]
    # Two columns above 1,100 px, one below, and a chart is as wide as its column.
    for width, columns in ((1400, 2), (768, 1)):
        resize(tab, width)
        assert len(set(tab.run(LEFT))) <= columns
        assert all(share > 0.9 for share in tab.run(SHARES))
    charts = tab.run(CHARTS)
    assert len(charts) >= (2 if task in ("losses", "captions", "panoptic") else 3)
    assert all(name and wide and (table or task == "ellipses") for name, wide, table in charts), charts
    by = ["slices"] if SAMPLES[task].by else []
    for section in ("scores", *by, "units", "explorer", "definitions", "source"):
        assert tab.run(f"!!document.querySelector('section#{section} h2')"), section
    assert tab.run("document.querySelector('header .says').textContent").endswith(".")
    assert tab.run("document.querySelectorAll('.explorer .grid').length") >= 1


LONG = "a model whose name is as long as a sentence, with_words_that_nothing_breaks_" + "x" * 30


@pytest.mark.slow
@pytest.mark.parametrize("task", ["labels", "weights"])
def test_models_side_by_side(task: str, tab: Page, tmp_path: Path) -> None:
    truth, a, b = sides(task)
    named = {"base": a, LONG: b, f"{LONG} again": a, "d": b}
    lineup = sy.compare(task, truth, named, by=[SAMPLES[task].by], draws=100)
    assert faults(tab, lineup, tmp_path / "r.html") == {}
    titles = tab.run(TITLES)
    assert len(titles) == len(set(titles)), sorted(title for title in titles if titles.count(title) > 1)


@pytest.mark.slow
def test_a_thousand_classes(tab: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"class {i:04d} of the species with a long name" for i in range(1000)]
    truth = rng.integers(0, 1000, 4000)
    guess = np.where(rng.random(4000) < 0.7, truth, (truth + rng.integers(1, 4, 4000)) % 1000)
    count = len(set(truth.tolist()) | set(guess.tolist()))
    ids = [f"i{i}" for i in range(4000)]
    sides = [{"id": ids, "label": [names[k] for k in column]} for column in (truth, guess)]
    result = sy.evaluate("labels", *sides, ["accuracy"], draws=100)
    assert faults(tab, result, tmp_path / "r.html") == {}
    assert (tmp_path / "r.html").stat().st_size < 2_000_000
    table = "[...document.querySelectorAll('#tables .explorer')].find(e => e.dataset.listing === 'data-table-classes')"
    find = f"(() => {{ const place = {table}; place.closest('details').open = true; const box = place.querySelector("
    find += "'input[type=search]'); box.value = 'class 0123'; box.dispatchEvent(new Event('input'));"
    assert tab.run(f"{find} return place.querySelector('output').textContent; }})()") == f"1 of {count} rows"
    assert tab.run("!!document.querySelector('#figure-confusion_near svg')")


BAD: dict[str, Callable[[], str]] = {
    "overlaps": lambda: (
        "document.querySelector('#scores tbody tr:nth-child(2) td').style.transform = 'translateY(-34px)'"
    ),
    "wider than the screen": lambda: "document.querySelector('#remarks ul').style.width = '3000px'",
    "the page is": lambda: (
        "document.querySelector('#remarks li').textContent = 'x'.repeat(900);"
        "document.querySelector('#remarks li').style.whiteSpace = 'nowrap'"
    ),
    "slides off its picture": lambda: (
        "document.querySelectorAll('.chart text').forEach(e => e.style.fontSize = '60px')"
    ),
    "clipped": lambda: (
        "Object.assign(document.querySelector('#scores .wide').style, {overflow: 'hidden', width: '200px'})"
    ),
    "scrolls without a cue": lambda: (
        "Object.assign(document.querySelector('#scores .wide').style, {background: 'none', width: '200px'})"
    ),
}


@pytest.mark.slow
def test_the_measure_sees_faults(tab: Page, tmp_path: Path) -> None:
    report_of("weights").to_html(tmp_path / "r.html")
    resize(tab, 1100)
    for fault, made in BAD.items():
        tab.go((tmp_path / "r.html").as_uri())
        tab.run(f"(() => {{ {made()} }})()")
        assert any(one.startswith(fault) for one in tab.run(WRONG)), fault
