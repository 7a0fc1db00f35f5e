"""The viewer's pages in a real browser: nothing clipped, over each other or too wide, in both themes; and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from browser import HOW, Browser, Page, find
from support.paths import TESTS
from support.view_help import make_kinds, make_week
from support.viewer import TOKEN, Server, run_id

pytestmark = pytest.mark.skipif(find() is None, reason=HOW)
LAYOUT = (TESTS / "support" / "view_layout.js").read_text(encoding="utf-8")
LONG = "a-model-with-a-name-that-nobody-would-want-to-read-aloud-in-a-meeting"
WIDTHS = (390, 768, 1100, 1400)


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
PAGES = {
    "the list": "/",
    "a metric by model": f"/?metric=mae&group=model&run={run_id('small_1.json')}&tag=lr%3D1e-4",
    "a chart over runs": "/?metric=bias&group=tag%3Alr&over=runs&sort=metric",
    "eight runs": "/compare?" + "&".join(f"run={run_id(name)}" for name in EIGHT),
    "a problem": "/compare?run=x",
    "units": f"/run/{run_id('small_1.json')}/units",
    "a unit": f"/run/{run_id('small_1.json')}/unit/0",
    "what changed": f"/both/{run_id('small_1.json')}/{run_id('large_1.json')}",
    "a unit of two runs": f"/both/{run_id('small_1.json')}/{run_id('large_1.json')}/unit/0",
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
    assert page.run("document.querySelector('.runs tbody .name').textContent") == "small_1.json"
    assert page.run("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "ascending"

    for place in (0, 6):
        page.run(f"document.querySelectorAll('input[name=run]')[{place}].focus()")
        page.press(" ")
    page.run("document.querySelector('button[name=sort]').focus()")
    submit(page, " ")
    assert page.run("[...document.querySelectorAll('input[name=run]:checked')].length") == 2
    assert page.run("document.querySelector('.runs tbody .name').textContent") == "small_7.json"

    page.run("document.querySelector('button[formaction]').focus()")
    submit(page, "Enter")
    assert page.run("document.querySelector('h1').textContent") == "2 runs compared"
    assert page.run("document.querySelector('.board th[scope=row]').textContent") == "small_1.json"
    page.run("document.querySelector('select[name=base]').selectedIndex = 1")
    page.run("document.querySelector('form.base button').focus()")
    submit(page, "Enter")
    assert page.run("document.querySelector('.board th[scope=row]').textContent") == "small_7.json"
    assert complaints(page) == []
    page.close()


def submit(page: Page, key: str) -> None:
    page.loaded = False
    page.press(key)
    page.wait(lambda: page.loaded, 30)
