"""Images on pages in a real browser: the slider, the legend, images of an error, the swipe, without scripts, and size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import HOW, Browser, Page, find
from PIL import Image
from support.paths import ROOT

import steelyard as sy
from steelyard.core.gallery import Gallery

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes"
TRUTH, A, B = (SAMPLE / f"{name}.json" for name in ("truth", "model_a", "model_b"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(find() is None, reason=HOW)]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Gallery]:
    report = sy.evaluate("boxes", TRUTH, A, draws=100)
    path = tmp_path_factory.mktemp("gallery") / "report.html"
    report.to_html(path, images=SAMPLE / "images")
    gallery = report.details.gallery()
    assert gallery is not None
    return path, gallery


@pytest.fixture
def page(drawn: tuple[Path, Gallery], browser: Browser) -> Iterator[Page]:
    page = browser.open(drawn[0])
    yield page
    page.run("0")
    assert page.errors == []
    assert all(address.startswith(("file:", "data:image/jpeg;base64,")) for address in page.requests)
    page.close()


def shown(page: Page) -> dict[str, str]:
    """What the panel of the threshold shows, by name."""
    values: dict[str, str] = page.run(
        "Object.fromEntries([...document.querySelectorAll('.sweep [data-of]')].filter(e => e.dataset.of !== 'point')"
        ".map(e => [e.dataset.of, e.textContent]))"
    )
    return values


def marks(page: Page) -> dict[str, int]:
    """How many marks of each kind are in sight, over all shots."""
    counts: dict[str, int] = page.run(
        "Object.fromEntries(['tp', 'fp', 'fn', 'gt'].map(k => [k, [...document.querySelectorAll('#images .shot .' + k)]"
        ".filter(e => getComputedStyle(e).display !== 'none').length]))"
    )
    return counts


def set_threshold(page: Page, place: int) -> None:
    page.run(
        f"(() => {{ const e = document.getElementById('threshold'); e.value = '{place}';"
        "e.dispatchEvent(new Event('input')); })()"
    )


def marks_at(gallery: Gallery, score: float) -> dict[str, int]:
    """The same from the data."""
    counts = dict.fromkeys(("tp", "fp", "fn", "gt"), 0)
    for shot in gallery.shots:
        for mark in shot.layers[0].marks:
            if not mark.counts:
                continue
            passes = mark.score is not None and mark.score >= score
            if mark.role == "truth":
                counts["gt" if mark.matched and passes else "fn"] += 1
            elif passes:
                counts["tp" if mark.matched else "fp"] += 1
    return counts


def test_the_slider_moves_everything_together(page: Page, drawn: tuple[Path, Gallery]) -> None:
    gallery = drawn[1]
    assert gallery.sweep is not None
    page.run("document.querySelector('.more').open = true")
    for place in (gallery.sweep.start, 20, 83):
        set_threshold(page, place)
        score, (tp, fp, fn) = gallery.sweep.scores[place], gallery.sweep.counts[place]
        values = shown(page)
        assert (int(values["TP"]), int(values["FP"]), int(values["FN"])) == (tp, fp, fn)
        specs = [f"{name}(score={score})" for name in ("precision", "recall", "f1")]
        report = sy.evaluate("boxes", TRUTH, A, metrics=specs, confidence=None)
        engine = [f"{score.value:.3f}" for score in report.scores.values()]
        assert [values["precision"], values["recall"], values["F1"]] == engine
        assert float(values["score"]) == score
        assert marks(page) == marks_at(gallery, score)
        x, y = page.run("['cx', 'cy'].map(n => Number(document.querySelector('[data-of=point]').getAttribute(n)))")
        assert (x, y) == pytest.approx((28 + 200 * tp / (tp + fn), 8 + 200 * (1 - tp / (tp + fp))), abs=0.06)
        row = np.array(gallery.sweep.cells[place]).reshape(-1, 3)
        classes = [*gallery.sweep.classes, "(background)"]
        cells = page.run(
            "Object.fromEntries([...document.querySelectorAll('#figure-confusion .w540 text[data-row]')]"
            ".filter(e => e.textContent).map(e => [e.dataset.row + '>' + e.dataset.column, Number(e.textContent)]))"
        )
        assert cells == {f"{classes[t]}>{classes[d]}": n for t, d, n in row.tolist()}


def test_the_slider_takes_the_keyboard(page: Page) -> None:
    page.run("document.getElementById('threshold').focus()")
    before = shown(page)
    page.press("ArrowUp")
    assert float(shown(page)["score"]) == pytest.approx(float(before["score"]) + 0.01)
    assert page.run("document.getElementById('threshold').getAttribute('aria-valuetext')") == "0.51"
    assert "Score from 0.51" in page.run("document.querySelector('.sweep output').textContent")
    page.press("Home")
    assert shown(page)["score"] == "0"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_legend_hides_and_shows(page: Page) -> None:
    before = marks(page)
    page.run("document.querySelector('.key button').focus()")
    page.press("Enter")
    assert page.run("document.activeElement.getAttribute('aria-pressed')") == "false"
    assert marks(page) == {**before, "tp": 0}
    page.press(" ")
    assert marks(page) == before


SHOTS = "[...document.querySelectorAll('#images .shot')].filter(e => !e.hidden).map(e => e.id)"


def test_a_cell_of_the_confusion_matrix_shows_its_images(page: Page, drawn: tuple[Path, Gallery]) -> None:
    gallery = drawn[1]
    sweep = gallery.sweep
    assert sweep is not None
    every = page.run(SHOTS)
    cell = next(
        t * 100 + d for t, d, _ in np.array(sweep.cells[50]).reshape(-1, 3).tolist() if t != d and 4 not in (t, d)
    )
    true, predicted = sweep.classes[cell // 100], sweep.classes[cell % 100]
    rect = f'#figure-confusion .w540 rect[data-row="{true}"][data-column="{predicted}"]'
    page.run(f"document.querySelector('{rect}').focus()")
    page.press("Enter")
    wanted = []
    for i, shot in enumerate(gallery.shots):
        tags = [
            tag
            for mark in shot.layers[0].marks
            for tag in mark.tags
            if tag.startswith(f"cell:{cell // 100}>{cell % 100}:")
        ]
        spans = [[int(end) for end in tag.rpartition(":")[2].split("-")] for tag in tags]
        if any(first <= 50 <= last for first, last in spans):
            wanted.append(f"shot-{i}")
    assert wanted
    assert page.run(SHOTS) == wanted
    assert f"{len(wanted)} image" in page.run("document.querySelector('.filter output').textContent")
    assert page.run("document.activeElement.textContent") == "Show all"
    page.press("Enter")
    assert page.run(SHOTS) == every
    assert page.run(f"document.activeElement === document.querySelector('{rect}')")


def test_a_bar_of_errors_shows_its_images(page: Page, drawn: tuple[Path, Gallery]) -> None:
    page.run(
        "document.querySelector('#figure-errors .w540 [data-name=\"on background\"]').dispatchEvent(new Event('click'))"
    )
    wanted = [
        f"shot-{i}"
        for i, shot in enumerate(drawn[1].shots)
        if any("error:on background" in m.tags and (m.score or 0) >= 0.5 for m in shot.layers[0].marks)
    ]
    assert page.run(SHOTS) == wanted
    assert page.run("document.querySelectorAll('.wanted').length") >= len(wanted)


def test_the_swipe_between_two_models(browser: Browser, tmp_path: Path) -> None:
    comparison = sy.compare("boxes", TRUTH, {"base": A, "ours": B}, draws=100)
    comparison.to_html(tmp_path / "two.html", images=SAMPLE / "images")
    page = browser.open(tmp_path / "two.html")
    assert page.run("document.querySelectorAll('.swipe.live').length") == 8
    page.run("document.querySelector('.swipe input').focus()")
    clip = "document.querySelector('.swipe .over').style.clipPath"
    assert page.run(clip) == "inset(0px 0px 0px 50%)"
    for _ in range(5):
        page.press("ArrowUp")
    assert page.run(clip) == "inset(0px 0px 0px 55%)"
    assert page.run("document.activeElement.getAttribute('aria-valuetext')") == "55 % base, 45 % ours"
    boxes = page.run(
        "[...document.querySelectorAll('#pair-0-0 .layer svg')].map(e => JSON.stringify(e.getBoundingClientRect()))"
    )
    assert boxes[0] == boxes[1]  # one lies on the other
    assert page.errors == []
    page.close()


def test_the_page_is_complete_without_scripts(drawn: tuple[Path, Gallery], browser: Browser, tmp_path: Path) -> None:
    page = browser.page()
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.visit(drawn[0].as_uri())
    nodes = page.call("DOMSnapshot.captureSnapshot", computedStyles=["display"])
    texts = nodes["strings"]
    assert {"174", "21", "66", "0.892"} <= set(texts)
    layout = page.call("Page.getLayoutMetrics")["cssContentSize"]
    assert layout["height"] > 3000
    page.close()


def test_the_accessibility_tree(page: Page) -> None:
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""), node)
        for node in tree
        if not node.get("ignored") and "role" in node
    ]
    slider = next(node for role, name, node in named if role == "slider" and name == "Score threshold")
    assert {p["name"]: p["value"].get("value") for p in slider["properties"]}["focusable"]
    images = [name for role, name, _ in named if role in ("image", "img") and "TP" in name]
    assert len(images) >= 12
    assert any(name == "22 table022.png: 0 TP, 0 FP, 1 FN" for name in images)
    pressed = [name for role, name, node in named if role == "button" and "true positive" in name]
    assert pressed
    assert any(
        role == "button" and name.startswith("true ") and name.endswith("Show images.") for role, name, _ in named
    )
    unnamed = [node for role, name, node in named if role in ("button", "slider") and not name]
    assert unnamed == []


def test_tall_images_have_a_limit(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    truth: dict[str, Any] = {
        "images": [{"id": i, "file_name": f"{i}.png", "width": 60, "height": 900} for i in (1, 2)],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [
            {"id": i, "image_id": i, "category_id": 1, "bbox": [5, 5, 40, 400], "area": 16000, "iscrowd": 0}
            for i in (1, 2)
        ],
    }
    for i in (1, 2):
        Image.new("RGB", (60, 900), "tan").save(tmp_path / "images" / f"{i}.png")
    detections = [{"image_id": 1, "category_id": 1, "bbox": [5, 5, 40, 400], "score": 0.9}]
    sy.evaluate("boxes", truth, detections, metrics=["f1"], confidence=None).to_html(
        tmp_path / "tall.html", images=tmp_path / "images"
    )
    page = browser.open(tmp_path / "tall.html")
    heights = page.run("[...document.querySelectorAll('.shot svg')].map(e => e.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert max(heights) <= 0.7 * page.run("innerHeight") + 1
    page.close()


def test_a_page_of_100_000_units(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    units = 100_000
    place = rng.uniform(0, 500, (units, 2)).round(1)
    label = rng.integers(1, 11, units)
    truth = {"image": np.arange(units), "label": label, "x": place[:, 0], "y": place[:, 1],
             "w": np.full(units, 50.0), "h": np.full(units, 40.0)}  # fmt: skip
    moved = place + rng.normal(0, 6, (units, 2)).round(1)
    wrong = np.where(rng.random(units) < 0.1, rng.integers(1, 11, units), label)
    detections = {**truth, "label": wrong, "x": moved[:, 0], "y": moved[:, 1], "score": rng.random(units).round(3)}
    (tmp_path / "images").mkdir()
    report = sy.evaluate("boxes", truth, detections, metrics=["f1"], confidence=None)
    gallery = report.details.gallery()
    assert gallery is not None
    for shot in gallery.shots:
        noise = rng.integers(0, 255, (400, 600, 3), dtype=np.uint8)
        Image.fromarray(noise).save(tmp_path / "images" / f"{shot.unit}.jpg")
    report.to_html(tmp_path / "large.html", images=tmp_path / "images")
    size = (tmp_path / "large.html").stat().st_size
    assert size < 6_000_000
    text = (tmp_path / "large.html").read_text(encoding="utf-8")
    assert f"of {units:,} images are shown." in text
    page = browser.open(tmp_path / "large.html")
    ready = float(page.run("document.documentElement.dataset.ready"))
    print(f"{size / 1e6:.2f} MB, ready after {ready:.0f} ms")
    page.close()
