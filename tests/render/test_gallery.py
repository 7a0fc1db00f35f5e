"""Images on pages: which marks they show, thumbnails within a budget, and counts at every score threshold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard.core.gallery import Gallery, Layer, Mark, Shot
from steelyard.core.outline import mask_rings
from steelyard.io.thumbnails import ImageFolder
from steelyard.render.page import gallery as pages
from steelyard.render.page.frame import SCRIPTS

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes"
TRUTH, A, B = (SAMPLE / f"{name}.json" for name in ("truth", "model_a", "model_b"))

# Two images. In the first a cup is found, a bowl is missed, and a cup is seen on nothing with a score of 0.4.
TINY_TRUTH = {
    "image": ["one", "one", "two"],
    "label": ["cup", "bowl", "cup"],
    "x": [10, 60, 0],
    "y": [10, 60, 0],
    "w": [20, 20, 50],
    "h": [20, 20, 50],
}
TINY_FOUND = {
    "image": ["one", "one", "two"],
    "label": ["cup", "cup", "bowl"],
    "x": [10, 100, 0],
    "y": [10, 100, 0],
    "w": [20, 10, 50],
    "h": [20, 10, 50],
    "score": [0.9, 0.4, 0.7],
}


def tiny() -> sy.Report:
    return sy.evaluate("boxes", TINY_TRUTH, TINY_FOUND, metrics=["f1"], confidence=None)


def gallery_of(report: Any) -> Gallery:
    gallery = report.details.gallery()
    assert gallery is not None
    return gallery


def marks_in(page: str, unit: str) -> list[tuple[str, ...]]:
    figure = next(part for part in page.split("<figure")[1:] if f"<figcaption>{unit}<small>" in part)
    return re.findall(r'<g class="mark ([^"]*)"[^>]*><title>([^<]*)</title>', figure)


def test_marks_of_two_images() -> None:
    gallery = gallery_of(tiny())
    assert [shot.unit for shot in gallery.shots] == ["two", "one"]  # F1 of 0 and of 2/3 at a score of 0.5
    page = tiny().to_html()
    assert marks_in(page, "one") == [
        ("gt", "true object that was found: cup"),
        ("fn", "missed (false negative): bowl"),
        ("tp", "true positive: cup 0.90"),
        ("fp below", "false positive: cup 0.40"),
    ]
    assert marks_in(page, "two") == [
        ("fn", "missed (false negative): cup"),
        ("fp", "false positive: bowl 0.70"),
    ]
    assert '<span class="count">1 TP, 0 FP, 1 FN</span>' in page
    assert '<span class="count">0 TP, 1 FP, 1 FN</span>' in page


def test_errors_and_cells_are_named_by_mark() -> None:
    tags = {
        (shot.unit, mark.role, mark.label): mark.tags
        for shot in gallery_of(tiny()).shots
        for mark in shot.layers[0].marks
    }
    # classes: bowl 0, cup 1, background 2; thresholds 0, 0.01 ... 1
    assert tags["one", "truth", "bowl"] == ("error:missed", "cell:0>2:0-100")
    assert tags["one", "prediction", "cup 0.40"] == ("error:on background", "cell:2>1:0-40")
    assert tags["one", "prediction", "cup 0.90"] == ("cell:1>1:0-90",)
    assert tags["two", "prediction", "bowl 0.70"] == ("error:wrong class", "cell:1>0:0-70")
    assert tags["two", "truth", "cup"] == ("cell:1>0:0-70", "cell:1>2:71-100")


def test_counts_of_a_tiny_sweep() -> None:
    sweep = gallery_of(tiny()).sweep
    assert sweep is not None
    counts = dict(zip(sweep.scores, sweep.counts, strict=True))
    assert counts[0.0] == counts[0.4] == (1, 2, 2)
    assert counts[0.41] == counts[0.7] == (1, 1, 2)
    assert counts[0.71] == counts[0.9] == (1, 0, 2)
    assert counts[0.91] == counts[1.0] == (0, 0, 3)
    assert sweep.scores[sweep.start] == 0.5
    assert pages.rates_of((1, 1, 2)) == {
        "TP": "1",
        "FP": "1",
        "FN": "2",
        "precision": "0.500",
        "recall": "0.333",
        "F1": "0.400",
    }


def test_sweep_is_the_engine_at_each_threshold() -> None:
    sweep = gallery_of(sy.evaluate("boxes", TRUTH, A, confidence=None)).sweep
    assert sweep is not None
    assert len(sweep.scores) == 101
    detections = json.loads(A.read_text(encoding="utf-8"))
    for place in (0, 31, 50, 77):
        score, (tp, fp, fn) = sweep.scores[place], sweep.counts[place]
        specs = [f"{name}(score={score})" for name in ("precision", "recall", "f1")]
        report = sy.evaluate("boxes", TRUTH, A, metrics=specs, confidence=None)
        values = [report[spec].value for spec in report.scores]
        assert values == pytest.approx([tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn)], rel=1e-15)
        # the confusion matrix of what is left, moved above its threshold of 0.5
        left = [{**one, "score": 0.5 + one["score"] / 2} for one in detections if one["score"] >= score]
        table = sy.evaluate("boxes", TRUTH, left, metrics=["f1"], confidence=None).table("confusion").values
        cells = np.zeros_like(table)
        row = np.array(sweep.cells[place]).reshape(-1, 3)
        cells[row[:, 0], row[:, 1]] = row[:, 2]
        assert (cells == table).all()


def test_stored_details_give_the_same_page(tmp_path: Path) -> None:
    report = sy.evaluate("boxes", TRUTH, A, metrics=["ap50"], confidence=None)
    report.to_json(tmp_path / "result.json", details=True)
    stored = sy.load(tmp_path / "result.json")
    assert stored.details.gallery() == report.details.gallery()
    images = SAMPLE / "images"
    assert stored.to_html(images=images) == report.to_html(images=images)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("shots", 0, "layers", 0, "marks", 0, "parts"), [[1, 2]]),
        (("shots", 0, "bounds"), [0, 0, 0, 10]),
        (("sweep", "counts"), [[1, 2, 3]]),
    ],
)
def test_a_broken_gallery_is_refused(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    data = tiny().to_dict(details=True)
    inside = data["details"]["gallery"]
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    with refuses("E-invalid-result"):
        sy.load(tmp_path / "result.json")


def test_comparisons_show_both_models() -> None:
    comparison = sy.compare("boxes", TRUTH, A, B, metrics=["ap50"], draws=100)
    gallery = gallery_of(comparison)
    a, b = comparison.units()
    change = np.abs(next(iter(b.values.values())) - next(iter(a.values.values())))
    assert [str(a.units[np.nanargmax(change)])] == [gallery.shots[0].unit]
    assert all(len(shot.layers) == 2 for shot in gallery.shots)
    page = comparison.to_html(images=SAMPLE / "images")
    assert page.count('<figure class="shot swipe"') == len(gallery.shots) == 8
    assert page.count("<image ") == page.count("<use ") == 8  # each image lies in the page once


def test_labels_do_not_overlap() -> None:
    marks = tuple(
        Mark("box", "prediction", ((10.0 + i / 4, 10.0 + i / 4, 40.0, 40.0),), f"plate {i}", False, score=0.9)
        for i in range(40)
    )
    shot = Shot("a", "a", (0.0, 0.0, 100.0, 100.0), (Layer(marks),), fits=True)
    page = pages.report_gallery(Gallery("image", 1, "F1", (shot,)), None, 10**6).body
    places = [
        (float(x), float(y), text) for x, y, text in re.findall(r'<text x="([\d.]+)" y="([\d.]+)">([^<]*)<', page)
    ]
    assert 2 <= len(places) < 40  # where there is no room there is no label, and the tooltip says it
    for i, (x, y, text) in enumerate(places):
        for other_x, other_y, other in places[i + 1 :]:
            apart_x = abs(x - other_x) >= 6 * min(len(text), len(other))
            assert apart_x or abs(y - other_y) >= 11


def test_hostile_names_are_escaped() -> None:
    evil = '"><script>alert(1)</script>'
    shot = Shot(
        evil, evil, (0.0, 0.0, 10.0, 10.0), (Layer((Mark("box", "truth", ((1.0, 1.0, 2.0, 2.0),), evil),), evil),)
    )
    body = pages.report_gallery(Gallery(evil, 1, evil, (shot,)), None, 10**6).body
    assert "<script>alert" not in body


def test_rings_around_masks() -> None:
    mask = np.zeros((6, 8), np.uint8)
    mask[1:4, 2:7] = 1
    assert mask_rings(mask) == [[2, 1, 7, 1, 7, 4, 2, 4]]
    mask[2, 4] = 0
    assert mask_rings(mask) == [[2, 1, 7, 1, 7, 4, 2, 4], [4, 3, 5, 3, 5, 2, 4, 2]]
    assert mask_rings(np.zeros((3, 3))) == []
    y, x = np.mgrid[:300, :300]
    (ring,) = mask_rings((x - 150) ** 2 + (y - 150) ** 2 < 100**2)
    radii = np.hypot(np.array(ring[::2]) - 150, np.array(ring[1::2]) - 150)
    assert len(radii) < 60
    assert np.all(np.abs(radii - 100) < 8)


def test_thumbnails_are_found_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "images" / "deep").mkdir(parents=True)
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 600, 3), dtype=np.uint8))
    picture.save(tmp_path / "images" / "a.png")
    picture.save(tmp_path / "images" / "deep" / "b.jpg")
    picture.save(tmp_path / "outside.png")
    (tmp_path / "images" / "text.png").write_text("no image", encoding="utf-8")
    folder = ImageFolder(tmp_path / "images")
    small = folder.thumbnail(["a.png"])
    assert small is not None
    assert (small.media, small.width, small.height) == ("image/jpeg", 600, 300)
    assert folder.thumbnail(["a"]) == folder.thumbnail(["else/where/a.jpg"]) == small
    assert folder.thumbnail(["deep/b"]) is not None
    for name in ("../outside.png", str(tmp_path / "outside.png"), "text.png", "none", "", "a\0.png"):
        assert folder.thumbnail([name]) is None
    with refuses("E-missing-file"):
        ImageFolder(tmp_path / "none")


def test_thumbnails_are_left_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    report = sy.evaluate("boxes", TRUTH, A, metrics=["ap50"], confidence=None)
    whole = report.to_html(images=SAMPLE / "images")
    shots = len(gallery_of(report).shots)
    assert whole.count("data:image/jpeg;base64,") == shots
    monkeypatch.setattr(pages, "IMAGE_BYTES", 12_000)
    page = report.to_html(images=SAMPLE / "images")
    images = re.findall(r"data:image/jpeg;base64,([^\"]*)", page)
    assert 0 < sum(map(len, images)) <= 12_000
    assert f"Thumbnails: {len(images)} of {shots}. {shots - len(images)} left out to keep the page small." in page
    assert page.count('<figure class="shot"') == shots  # the marks stay


def test_a_page_has_at_most_60_kb_of_script() -> None:
    page = sy.evaluate("boxes", TRUTH, A, metrics=["ap50"], confidence=None).to_html()
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1
    assert len(scripts[0].encode()) <= 60_000
    assert len(SCRIPTS) == 3


def test_frames_of_tracking_are_those_of_switches() -> None:
    folder = SAMPLE.parent / "tracking"
    report = sy.evaluate("tracking", folder / "truth.csv", folder / "model_a.csv", metrics=["hota"], confidence=None)
    shots = gallery_of(report).shots
    assert len(shots) == 12
    assert all("switches 0" not in shot.layers[0].summary for shot in shots)
    assert all(any(mark.label == "switch" for mark in shot.layers[0].marks) for shot in shots)
