"""Pages in a real browser: they render, sort, filter, take the keyboard, follow light and dark, and run nothing foreign."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import HOW, Browser, Page, find
from support.paths import ROOT
from support.payloads import PAYLOADS
from support.tiers import slow_except
from support.vlm_help import Scripted, frames_csv

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.figure import Texts

SAMPLE = ROOT / "src" / "steelyard" / "samples"
SAMPLES = catalogue.samples()
pytestmark = pytest.mark.skipif(find() is None, reason=HOW)


def sides(task: str) -> tuple[Path, Path, Path, str]:
    s = SAMPLES[task]
    return SAMPLE / task / s.truth, SAMPLE / task / s.a, SAMPLE / task / s.b, s.by


def report_of(task: str) -> sy.Report:
    truth, a, _, by = sides(task)
    return sy.evaluate(task, truth, a, by=[by] if by else [], draws=100)


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sy.Report]:
    report = report_of("boxes")
    path = tmp_path_factory.mktemp("boxes") / "report.html"
    report.to_html(path)
    return path, report


def quiet(page: Page) -> None:
    """Nothing complained, nothing was asked for but the page itself, nothing foreign ran."""
    page.run("0")
    assert page.errors == []
    assert page.dialogs == []
    assert [
        r for r in page.requests[1:] if not r.startswith(("data:image/jpeg;base64,", "data:image/png;base64,"))
    ] == []
    assert page.run("window.ran") is None


@pytest.mark.slow
@pytest.mark.parametrize("task", ["weights", "labels", "boxes"])
def test_comparisons_render(task: str, browser: Browser, tmp_path: Path) -> None:
    truth, a, b, by = sides(task)
    sy.compare(task, truth, [a, b, a], by=[by], draws=100).to_html(tmp_path / "three.html")
    sy.compare(task, truth, a, b, draws=100).to_html(tmp_path / "two.html")
    for name in ("two", "three"):
        page = browser.open(tmp_path / f"{name}.html")
        quiet(page)
        assert page.run("!!document.querySelector('#units table')")
        assert page.run("!!document.querySelector('#classes table')") == (task != "weights")
        assert page.run("!!document.querySelector('#slices table')") == (name == "three")
        page.close()


def test_policy_is_strict(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    text = boxes[0].read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    parts = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert parts["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/]+='", parts["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/]+='", parts["style-src"])
    assert "img-src" not in parts
    assert not re.search(r'\s(style|on\w+)="', text.partition("<script>")[0])
    page = browser.open(boxes[0])
    tried = """new Promise(done => { const s = document.createElement('img'); s.onerror = () => done('refused');
      s.onload = () => done('loaded'); s.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; document.body.append(s); })"""
    assert page.run(tried) == "refused"
    page.close()


def rows(page: Page, table: str) -> list[list[str]]:
    result: list[list[str]] = page.run(
        f"[...document.querySelectorAll('{table} tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return result


@pytest.mark.slow
def test_tables_sort(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0])
    table = "#tables details:first-of-type table.sortable"
    names = [row[0] for row in rows(page, table)]
    click = f"document.querySelectorAll('{table} thead button')[%d].click()"
    page.run(click % 3)
    values = [float(row[3]) for row in rows(page, table)]
    assert values == sorted(values, reverse=True)
    head = f"document.querySelectorAll('{table} thead th')[3].getAttribute('aria-sort')"
    assert page.run(head) == "descending"
    page.run(f"document.querySelectorAll('{table} thead button')[3].focus()")
    page.press("Enter")
    assert page.run(head) == "ascending"
    assert [float(row[3]) for row in rows(page, table)] == sorted(values)
    page.run(click % 0)
    assert [row[0] for row in rows(page, table)] == sorted(names)
    quiet(page)
    page.close()


def seen(page: Page, place: int = 0) -> list[list[str]]:
    """The rows of an explorer that are in sight, in the order in which they stand there."""
    result: list[list[str]] = page.run(
        f"[...document.querySelectorAll('.explorer')[{place}].querySelectorAll('.body .row')].filter(r => !r.hidden)"
        ".sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map(r => [...r.children].map(c => c.textContent))"
    )
    return result


def said(page: Page, place: int = 0) -> int:
    text = str(page.run(f"document.querySelectorAll('.explorer output')[{place}].textContent"))
    return int(text.split(" ")[0].replace(",", ""))


def set_to(page: Page, selector: str, value: str, place: int = 0) -> None:
    page.run(
        f"(() => {{ const e = document.querySelectorAll('.explorer')[{place}].querySelector('{selector}');"
        f"e.value = {json.dumps(value)}; e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input')); }})()"
    )


@pytest.mark.slow
def test_explorer_filters_and_sorts(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    path, report = boxes
    listing = report.listing()
    assert listing is not None
    label, outcome, score = (listing.columns[name] for name in ("class", "outcome", "score"))
    assert isinstance(label, Texts)
    assert isinstance(outcome, Texts)
    assert not isinstance(score, Texts)
    names, outcomes = np.array(label.names)[label.codes], np.array(outcome.names)[outcome.codes]

    page = browser.open(path)
    assert said(page) == len(listing)
    set_to(page, "input[type=search]", "CUP")
    assert said(page) == np.count_nonzero(np.char.find(names.astype(str), "cup") >= 0)
    set_to(page, "input[type=number]", "0.5")
    wanted = (np.char.find(names.astype(str), "cup") >= 0) & (score >= 0.5)
    assert said(page) == np.count_nonzero(wanted)
    assert all(row[1] == "cup" and float(row[3]) >= 0.5 for row in seen(page))
    page.run("document.querySelectorAll('.explorer [role=columnheader] button')[3].click()")
    shown = [float(row[3]) for row in seen(page)]
    assert shown == pytest.approx(sorted(score[wanted], reverse=True)[: len(shown)], rel=1e-3)
    page.run("[...document.querySelectorAll('.explorer button.plain')][0].click()")  # reset
    assert said(page) == len(listing)
    place = page.run("[...document.querySelectorAll('.explorer')[0].querySelectorAll('label')].findIndex(l => "
                     "l.firstChild.textContent === 'outcome')")  # fmt: skip
    set_to(page, f"label:nth-of-type({place + 1}) select", "3")
    assert said(page) == np.count_nonzero(outcomes == "missed object")
    assert {row[2] for row in seen(page)} == {"missed object"}
    quiet(page)
    page.close()


@pytest.mark.slow
def test_explorer_takes_the_keyboard(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0])
    count = said(page)
    active = ("(() => { const r = document.querySelector('.explorer .row[aria-selected=true]');"
              "return r && Number(r.getAttribute('aria-rowindex')); })()")  # fmt: skip
    page.run("document.querySelector('.explorer .body').focus()")
    assert page.run(active) == 2
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert page.run(active) == 4
    page.press("End")
    page.wait(lambda: page.run(active) == count + 1)
    points_at = (
        "document.getElementById(document.querySelector('.explorer .body').getAttribute('aria-activedescendant'))"
    )
    assert page.run(f"{points_at}.getAttribute('aria-rowindex')") == str(count + 1)
    page.press("PageUp")
    assert page.run(active) < count + 1
    page.press("Home")
    page.wait(lambda: page.run(active) == 2)
    quiet(page)
    page.close()


@pytest.mark.slow
def test_definitions_on_focus_and_escape(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0])
    for _ in range(40):
        page.press("Tab")
        if page.run("!!document.activeElement.closest('.scores .term')"):
            break
    tip = "document.getElementById(document.activeElement.getAttribute('aria-describedby'))"
    assert "mean average precision" in page.run(f"{tip}.textContent.toLowerCase()")
    shown = f"getComputedStyle({tip}).display"
    assert page.run(shown) == "block"
    page.press("Escape")
    assert page.run(shown) == "none"
    page.press("Tab")
    assert page.run(shown) == "block"
    quiet(page)
    page.close()


@pytest.mark.slow
def test_everything_can_be_reached_by_tab(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0])
    page.press("Tab")
    assert page.run("document.activeElement.className") == "skip"
    wanted = page.run(
        "[...document.querySelectorAll('button, input, select, summary, nav a')].filter(e => e.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted + 60):
        page.press("Tab")
        key = page.run("(() => { const e = document.activeElement; e.dataset.n ??= String(Math.random());"
                       "return [e.tagName, e.dataset.n].join(' '); })()")  # fmt: skip
        reached.add(key)
    kinds = {key.split(" ")[0] for key in reached}
    assert {"A", "BUTTON", "INPUT", "SELECT", "SUMMARY", "DIV"} <= kinds
    assert len(reached) >= 0.9 * wanted
    page.close()


BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.slow
def test_light_and_dark(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    light, dark = browser.open(boxes[0]), browser.open(boxes[0], dark=True)
    assert light.run(BACKGROUND) == "rgb(255, 255, 255)"
    assert dark.run(BACKGROUND) == "rgb(18, 22, 28)"
    colour = "getComputedStyle(document.querySelector('svg.chart .f-ink')).fill"
    assert light.run(colour) != dark.run(colour)
    press = "document.getElementById('theme').click()"
    light.run(press)
    light.run(press)
    assert light.run(BACKGROUND) == "rgb(18, 22, 28)"
    dark.run(f"{press}")
    assert dark.run(BACKGROUND) == "rgb(255, 255, 255)"
    for page in (light, dark):
        quiet(page)
        page.close()


CONTRAST = """(() => {
  const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => { v /= 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = lum(getComputedStyle(document.body).backgroundColor);
  const ratio = c => { const a = lum(c); return (Math.max(a, ground) + .05) / (Math.min(a, ground) + .05); };
  const texts = [...document.querySelectorAll('h1, h2, p, td, th, small, .legend, dt, dd, nav a, summary, .verdict')];
  return Math.min(...texts.map(e => ratio(getComputedStyle(e).color)));
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(dark: bool, browser: Browser, tmp_path: Path) -> None:
    truth, a, b, _ = sides("weights")
    sy.compare("weights", truth, a, b, draws=100).to_html(tmp_path / "r.html")
    page = browser.open(tmp_path / "r.html", dark=dark)
    assert page.run(CONTRAST) >= 4.5  # WCAG AA
    page.close()


@pytest.mark.slow
def test_phone(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0], width=360, height=740, phone=True)
    assert page.run("document.documentElement.scrollWidth") <= 360
    widest = "Math.max(...[...document.querySelectorAll('svg.chart')].map(s => s.getBoundingClientRect().width))"
    assert page.run(widest) <= 360
    quiet(page)
    page.close()


@pytest.mark.slow
def test_paper(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0], dark=True)
    assert page.pdf().startswith(b"%PDF")
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.run("getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()") == "#fff"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    quiet(page)
    page.close()


@pytest.mark.slow
def test_screen_reader_has_names(boxes: tuple[Path, sy.Report], browser: Browser) -> None:
    page = browser.open(boxes[0])
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]

    def of(role: str) -> list[str]:
        return [n.get("name", {}).get("value", "") for n in nodes if n.get("role", {}).get("value") == role]

    for role in ("button", "table", "image", "img", "searchbox", "combobox", "spinbutton", "grid", "region", "heading"):
        names = of(role)
        assert all(names), (role, names)
    assert len(of("image") + of("img")) >= 6
    assert "main" in {n.get("role", {}).get("value") for n in nodes}
    page.close()


# What data can hold: ids, items, labels, documents, captions, columns to slice by and their values, files' names.


def hostile(task: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    p = [*PAYLOADS, *PAYLOADS]
    n = len(PAYLOADS)
    rng = np.random.default_rng(0)
    if task == "weights":
        truth = {"dish": p, "item": [f"{v}{i}" for i, v in enumerate(p)], "weight": rng.uniform(1, 9, 2 * n)}
        return {**truth, "food": p}, {**truth, "weight": rng.uniform(1, 9, 2 * n)}, {"by": "food"}
    if task == "sequences":
        truth = {"sequence": p, "t": [0] * n + [1] * n, "weight": rng.uniform(1, 9, 2 * n)}
        return {**truth, "food": p}, {**truth, "weight": rng.uniform(1, 9, 2 * n)}, {"by": "food"}
    if task == "labels":
        truth = {"id": list(range(n)), "label": list(PAYLOADS), "group": list(PAYLOADS), "light": list(PAYLOADS)}
        return truth, {"id": list(range(n)), "label": [*PAYLOADS[1:], PAYLOADS[0]]}, {"by": "light"}
    if task == "boxes":
        box = {"image": list(PAYLOADS), "label": list(PAYLOADS), "x": rng.uniform(0, 9, n), "y": [0.0] * n,
               "w": [20.0] * n, "h": [20.0] * n}  # fmt: skip
        return (
            {**box, "place": list(PAYLOADS)},
            {**box, "x": box["x"] + 1, "score": rng.uniform(0, 1, n)},
            {"by": "label"},
        )
    if task == "ellipses":
        one = {"image": list(PAYLOADS), "xc": rng.uniform(0, 9, n), "yc": [5.0] * n, "a": [9.0] * n, "b": [4.0] * n,
               "theta": [10.0] * n}  # fmt: skip
        return {**one, "scene": list(PAYLOADS)}, {**one, "yc": [6.0] * n}, {"by": "scene"}
    if task == "rankings":
        p = [v for v in PAYLOADS if "\ud800" not in v]  # ids are UTF-8 there, and refused else
        truth = {"query": p, "doc": p, "relevance": [1.0] * len(p), "kind": p}
        return truth, {"query": p, "doc": p, "score": rng.uniform(0, 1, len(p))}, {"by": "kind"}
    p = [v for v in PAYLOADS if "\ud800" not in v]  # half a character in a text is refused
    truth = {"image": p, "caption": [f"a dog {v}" for v in p], "scene": p}
    return truth, {"image": p, "caption": [f"{v} a red dog" for v in p]}, {"by": "scene"}


def attacked(page: Page) -> None:
    """Open, search, sort and press everything; then nothing may have run and nothing foreign may be there."""
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.run("document.querySelectorAll('thead button, [role=columnheader] button').forEach(b => b.click())")
    for payload in ("<script>", "onerror", ""):
        for place in range(page.run("document.querySelectorAll('.explorer').length")):
            set_to(page, "input[type=search]", payload, place)
    page.run("document.querySelectorAll('*').forEach(e => e.dispatchEvent(new MouseEvent('mouseover')))")
    page.press("Tab")
    quiet(page)
    foreign = "iframe, object, embed, form, video, audio, link, base, template, math, marquee, img, a[href*=script]"
    assert page.run(f"document.querySelectorAll('{foreign}').length") == 0
    scripts = page.run("[...document.scripts].map(s => s.type)")
    assert scripts.count("") == 1
    assert set(scripts) <= {"", "application/octet-stream"}
    assert (
        page.run(
            "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).length"
        )
        == 0
    )


@pytest.mark.parametrize(
    "task", slow_except(["weights", "sequences", "labels", "boxes", "ellipses", "rankings", "captions"], "weights")
)
def test_nothing_that_data_hold_runs(task: str, browser: Browser, tmp_path: Path) -> None:
    truth, predicted, options = hostile(task)
    report = sy.evaluate(task, truth, predicted, by=[options["by"]], confidence=None)
    report.to_html(tmp_path / "r.html")
    page = browser.open(tmp_path / "r.html")
    text = str(page.run("document.body.innerText"))
    assert "window.ran=1" in text  # it is there, as text
    attacked(page)
    page.close()
    first = next(iter(report.scores))
    sy.compare(task, truth, predicted, predicted, first, by=[options["by"]], draws=100).to_html(tmp_path / "c.html")
    page = browser.open(tmp_path / "c.html")
    attacked(page)
    page.close()


@pytest.mark.slow
def test_nothing_that_names_of_files_and_columns_hold_runs(browser: Browser, tmp_path: Path) -> None:
    for i, payload in enumerate(p for p in PAYLOADS if "/" not in p and "\ud800" not in p and p.strip() == p):
        name = payload.replace("\n", " ")[:80]
        truth, predicted = tmp_path / f"{i}{name}.csv", tmp_path / f"p{i}{name}.csv"
        column = '"' + payload.replace('"', '""') + '"'
        truth.write_text(f"dish,item,weight,{column}\na,x,1,u\nb,y,2,v\nc,z,3,u\n", encoding="utf-8")
        predicted.write_text("dish,item,weight\na,x,2\nb,y,2\nc,z,1\n", encoding="utf-8")
        report = sy.evaluate("weights", truth, predicted, "mae", confidence=None, by=[(payload,)])
        (tmp_path / "r.html").write_text(report.to_html(), encoding="utf-8")
        page = browser.open(tmp_path / "r.html") if i % 6 == 0 else None  # the others are looked at as text
        if page is not None:
            attacked(page)
            page.close()
        body = re.sub(r"<script[ >].*?</script>", "", (tmp_path / "r.html").read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"<(script|img|svg on|iframe|body on|a href=.java)", body.partition("</head>")[2])


@pytest.mark.slow
def test_nothing_that_a_result_holds_runs(browser: Browser, tmp_path: Path) -> None:
    kept = {
        "format",
        "kind",
        "better",
        "digest",
        "units",
        "rows",
        "draws",
        "adjust",
        "resampling",
        "judge_correction",
        "keys",
        "role",
    }
    whole = [p for p in PAYLOADS if "\ud800" not in p]  # half a character is refused
    used = set()

    def spoiled(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            parts = {k: v if k in kept and not isinstance(v, list) else spoiled(v, k) for k, v in value.items()}
            return {v.get("spec", k) if isinstance(v, dict) else k: v for k, v in parts.items()}
        if isinstance(value, list):
            return [spoiled(v, key) for v in value]
        if isinstance(value, str) and key != "columns":
            payload = whole[sum(map(ord, value)) % len(whole)]
            used.add(payload)
            return value + payload
        return value

    for task in ("labels", "captions", "ellipses"):
        data = json.loads(report_of(task).to_json(details=True))
        (tmp_path / "r.json").write_text(json.dumps(spoiled(data)))
        sy.load(tmp_path / "r.json").to_html(tmp_path / "r.html")
        page = browser.open(tmp_path / "r.html")
        attacked(page)
        page.close()
    assert len(used) >= 40


@pytest.mark.slow
def test_nothing_that_a_model_says_runs(browser: Browser, tmp_path: Path) -> None:
    from steelyard.vlm.frames import read_frames
    from steelyard.vlm.prompts import Prompt
    from steelyard.vlm.run import run
    from steelyard.vlm.score import score

    path = frames_csv(tmp_path, sequences=4, length=3)
    text = path.read_text().replace("rice", '"' + PAYLOADS[0].replace('"', '""') + '"')
    path.write_text(text)
    said_by = iter(PAYLOADS * 20)
    model = Scripted(lambda c: f"{next(said_by)} 12" if len(c.texts) == 1 else "120")
    prompts = tuple(Prompt(f"p{i}{p}", f"{p} how heavy is [FOOD_NAME]?") for i, p in enumerate(PAYLOADS[:6]))
    run(read_frames(path), model, prompts, tmp_path / "run", model=f"scripted{PAYLOADS[12]}")
    score(tmp_path / "run", draws=100).to_html(tmp_path / "r.html", images=tmp_path)
    page = browser.open(tmp_path / "r.html")
    assert page.run("document.querySelectorAll('.frame img').length") >= 1
    page.run("document.querySelectorAll('.frame img').forEach(i => i.remove())")
    attacked(page)
    page.close()
