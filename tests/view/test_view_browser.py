"""The viewer's pages in a real browser: nothing clipped, over each other or too wide, in both themes; and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import copy

import pytest
from browser import HOW, Browser, Page, find
from support.paths import TESTS
from support.view_help import make_kinds, make_week
from support.viewer import TOKEN, Server, run_id

pytestmark = pytest.mark.skipif(find() is None, reason=HOW)
LAYOUT = (TESTS / "support" / "view_layout.js").read_text(encoding="utf-8")
LONG = "a-model-with-a-name-that-nobody-would-want-to-read-aloud-in-a-meeting"
WIDTHS = (390, 768, 1280, 1920)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("seen")
    make_week(folder)
    make_kinds(folder)
    data = json.loads((folder / "large_7.json").read_text())
    data["body"]["request"]["tags"] |= {"model": LONG, "note": "word " * 30 + "x" * 40}
    data["body"]["sources"]["predictions"]["source"] = f"{LONG}/" * 4
    (folder / f"{LONG}_{'y' * 60}.json").write_text(json.dumps(data))
    (folder / f"broken_{'z' * 90}.json").write_text('{"format": "steelyard", "version": 2}')
    made = Server(folder)
    yield made
    made.close()


def visit(page: Page, server: Server, path: str) -> None:
    page.visit(f"http://127.0.0.1:{server.port}/{TOKEN}{path}")
    page.run("document.querySelectorAll('details').forEach(one => one.open = true)")


def complaints(page: Page) -> list[str]:
    """What the console says, but for the status of a page, and of the icon that is not to be had without the token."""
    return [error for error in page.errors if "responded with a status of 40" not in error]


EIGHT = [f"{model}_{day}.json" for day in (1, 3, 5) for model in ("small", "large")] + [
    "small_7.json",
    f"{LONG}_{'y' * 60}.json",
]
FOUR = "&".join(f"run={run_id(name)}" for name in EIGHT[:4])
PAGES = {
    "the list": "/",
    "a metric by model": f"/?metric=mae&group=model&run={run_id('small_1.json')}&tag=lr%3D1e-4",
    "a chart over runs": "/?metric=bias&group=tag%3Alr&over=runs&sort=metric",
    "eight runs": "/compare?as=table&" + "&".join(f"run={run_id(name)}" for name in EIGHT),
    "a problem": "/compare?run=x",
    "units": f"/run/{run_id('small_1.json')}/units",
    "a unit": f"/run/{run_id('small_1.json')}/unit/0",
    "what changed": f"/beside?run={run_id('small_1.json')}&run={run_id('large_1.json')}",
    "what differs": f"/beside?{FOUR}",
    "a unit of four runs": f"/beside/0?{FOUR}&by=bias",
    "a unit of two runs": f"/beside/0?run={run_id('small_1.json')}&run={run_id('large_1.json')}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_layout(name: str, server: Server, browser: Browser) -> None:
    grounds = set()
    for dark in (False, True):
        page = browser.page(dark=dark)
        visit(page, server, PAGES[name])
        grounds.add(page.run("getComputedStyle(document.body).backgroundColor"))
        for width in WIDTHS:
            page.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
            )
            assert page.run(LAYOUT) == [], (width, dark)
        own = (f"http://127.0.0.1:{server.port}/", "data:")  # the browser draws its fields from data
        outside = [one for one in page.requests if not one.startswith(own)]
        assert (outside, complaints(page)) == ([], [])
        page.close()
    assert len(grounds) == 2


def test_the_keyboard(server: Server, browser: Browser) -> None:
    """Tab leads to the search, Enter shows, a column's name sorts, Space ticks, and ticks outlive all of it."""
    page = browser.page(width=1100)
    page.visit(f"http://127.0.0.1:{server.port}/{TOKEN}/")
    for _ in range(20):
        page.press("Tab")
        if page.run("document.activeElement.name") == "q":
            break
    page.call("Input.insertText", text="model=small")
    submit(page, "Enter")
    assert page.run("location.search") == "?q=model%3Dsmall"
    assert page.run("document.querySelectorAll('.runs tbody tr').length") == 7

    page.run("document.querySelector('button[name=sort]').focus()")
    submit(page, "Enter")
    assert page.run("location.search") == "?q=model%3Dsmall&sort=name"
    first = "document.querySelector('.runs tbody .about').textContent.split(' ')[0]"
    assert page.run(first) == "small_1.json"
    assert page.run("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "ascending"

    for place in (0, 6):
        page.run(f"document.querySelectorAll('input[name=run]')[{place}].focus()")
        page.press(" ")
    page.run("document.querySelector('button[name=sort]').focus()")
    submit(page, " ")
    assert page.run("[...document.querySelectorAll('input[name=run]:checked')].length") == 2
    assert page.run(first) == "small_7.json"

    page.run("document.querySelector('button[formaction]').focus()")
    submit(page, "Enter")
    assert "small, 2026-03-01" in page.run("document.querySelector('h1').parentElement.textContent")  # the report page
    follow(page, "Table and baseline")
    assert page.run("document.querySelector('h1').textContent") == "2 runs compared"
    assert page.run("document.querySelector('.board th[scope=row]').textContent") == "small, 2026-03-01"
    page.run("document.querySelector('select[name=base]').selectedIndex = 1")
    page.run("document.querySelector('form.base button').focus()")
    submit(page, "Enter")
    assert page.run("document.querySelector('.board th[scope=row]').textContent") == "small, 2026-03-07"
    assert complaints(page) == []
    page.close()


def submit(page: Page, key: str) -> None:
    page.loaded = False
    page.press(key)
    page.wait(lambda: page.loaded, 30)


def follow(page: Page, text: str) -> None:
    """Follow the link with this text by keyboard."""
    links = f"[...document.querySelectorAll('a')].find(a => a.textContent.trim() === {json.dumps(text)})"
    assert page.run(f"!!{links}"), text
    page.run(f"{links}.focus()")
    submit(page, "Enter")


@pytest.fixture
def growing(tmp_path: Path, server: Server) -> Iterator[tuple[Path, Server, list[float]]]:
    """A folder with one run, and the clocks of its server: seconds that pass only when a test says so."""
    copy(Path(server.folder) / "small_1.json", tmp_path / "small_1.json")
    made, now = Server(tmp_path), [0.0]
    made.app.watcher.clock = lambda: now[0]
    yield tmp_path, made, now
    made.close()


def look(page: Page, now: list[float]) -> None:
    """Let the page ask now, instead of after five seconds, and the server look again."""
    now[0] += 60
    page.run("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_new_result_appears(growing: tuple[Path, Server, list[float]], server: Server, browser: Browser) -> None:
    """Without a reload: the row and the board are new, ticks and focus stay, and a screen reader hears of it."""
    folder, made, now = growing
    page = browser.page(width=1100)
    page.visit(f"http://127.0.0.1:{made.port}/{TOKEN}/")
    page.run("window.same = true")
    page.run("document.querySelector('input[name=run]').focus()")
    page.press(" ")
    copy(Path(server.folder) / "large_1.json", folder / "large_1.json")
    look(page, now)
    page.wait(lambda: page.run("document.querySelectorAll('tr[data-run]').length") == 2, 30)
    assert page.run("document.getElementById('news').textContent") == "1 new result: large."
    assert page.run("document.getElementById('news').getAttribute('aria-live')") == "polite"
    assert page.run("document.querySelector('h1').textContent") == "2 runs"
    assert page.run("document.querySelectorAll('.latest th[scope=row]').length") == 2
    assert page.run("[...document.querySelectorAll('input[name=run]:checked')].map(e => e.value)") == [
        run_id("small_1.json")
    ]
    assert page.run("document.activeElement.value") == run_id("small_1.json")
    assert page.run("document.querySelector('tr.new').dataset.name") == "large"
    (folder / "large_1.json").unlink()
    look(page, now)
    page.wait(lambda: page.run("document.querySelectorAll('tr[data-run]').length") == 1, 30)
    assert page.run("document.getElementById('news').textContent") == "The results have changed."
    assert page.run("window.same") is True  # it was never loaded again
    assert complaints(page) == []
    page.close()


@pytest.mark.slow
def test_the_first_result_appears_in_an_empty_folder(tmp_path: Path, server: Server, browser: Browser) -> None:
    made, now = Server(tmp_path), [0.0]
    made.app.watcher.clock = lambda: now[0]
    try:
        page = browser.page(width=1100)
        page.visit(f"http://127.0.0.1:{made.port}/{TOKEN}/")
        assert page.run("document.querySelector('h1').textContent") == "No runs"
        copy(Path(server.folder) / "large_1.json", tmp_path / "large_1.json")
        look(page, now)
        page.wait(lambda: page.run("document.querySelectorAll('tr[data-run]').length") == 1, 30)
        assert page.run("document.getElementById('news').textContent") == "1 new result: large."
        page.close()
    finally:
        made.close()


@pytest.mark.slow
def test_without_scripts_a_reload_shows_it(
    growing: tuple[Path, Server, list[float]], server: Server, browser: Browser
) -> None:
    folder, made, _ = growing
    page = browser.page(width=1100)
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    address = f"http://127.0.0.1:{made.port}/{TOKEN}/"
    page.visit(address)
    copy(Path(server.folder) / "large_1.json", folder / "large_1.json")
    page.visit(address)
    assert page.run("document.querySelectorAll('tr[data-run]').length") == 2
    page.close()


@pytest.mark.slow
def test_from_ticks_to_units_of_four_runs(server: Server, browser: Browser) -> None:
    """Board to trend, ticks to the comparison, side by side, and back: the address holds all of it."""
    page = browser.page(width=1280)
    page.visit(f"http://127.0.0.1:{server.port}/{TOKEN}/?model=small&sort=name")
    page.run("document.querySelector('.latest .spark a').focus()")
    submit(page, "Enter")
    assert "metric=mae" in page.run("location.search")
    assert page.run("document.getElementById('changes').textContent") == "Since when?"
    for place in (0, 2, 4, 6):
        page.run(f"document.querySelectorAll('input[name=run]')[{place}].focus()")
        page.press(" ")
    page.run("document.querySelector('button[formaction]').focus()")
    submit(page, "Enter")
    assert page.run("new URLSearchParams(location.search).getAll('run').length") == 4
    follow(page, "Side by side")
    assert page.run("document.querySelector('h1').textContent") == "What differs most"
    follow(page, "bias")
    assert page.run("document.querySelector('[aria-current]').textContent") == "bias"
    page.run("document.querySelector('.card a').focus()")
    submit(page, "Enter")
    assert page.run("document.querySelectorAll('.pair > section').length") == 4
    assert "by=bias" in page.run("location.search")
    address = page.run("location.href")
    page.visit("about:blank")
    page.visit(address)  # a link that can be sent
    assert page.run("document.querySelectorAll('.pair > section').length") == 4
    follow(page, "The comparison")
    assert page.run("new URLSearchParams(location.search).getAll('run').length") == 4
    assert complaints(page) == []
    page.close()


def test_headings_labels_and_the_order_of_focus(server: Server, browser: Browser) -> None:
    """Headings go down one level at a time, every field has a name, and Tab follows the page from top to bottom."""
    page = browser.page(width=1100, height=4000)
    page.visit(f"http://127.0.0.1:{server.port}/{TOKEN}/?metric=mae&kind=report")
    levels = page.run("[...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    unnamed = (
        "[...document.querySelectorAll('input:not([type=hidden]),select,button')].filter(e => !e.textContent.trim()"
    )
    unnamed += " && !(e.getAttribute('aria-label') || (e.labels && e.labels.length))).length"
    assert page.run(unnamed) == 0
    assert page.run(
        "[...document.querySelectorAll('[aria-labelledby]')].every(e => document.getElementById(e.getAttribute('aria-labelledby')))"
    )
    tops = []
    for _ in range(30):
        page.press("Tab")
        where = page.run(
            "(e => { const r = e.getBoundingClientRect(); return [e.closest('.bar') ? 1e6 : r.top + scrollY, e.className] })(document.activeElement)"
        )
        if where[1] == "skip":
            continue
        tops.append(where[0])
    assert all(b > a - 45 for a, b in pairwise(tops)), tops  # fields of one row are a little higher or lower
    page.close()
