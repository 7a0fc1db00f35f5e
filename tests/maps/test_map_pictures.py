"""Pictures of label maps, segments and slices: every pixel has the colour of what it is."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.tiers import slow_except

import steelyard as sy
from steelyard.core.errors import InputError
from steelyard.core.scene import EllipseShape, RasterShape, Scene
from steelyard.maps.raster import PALETTE, colour_codes
from steelyard.render.charts.layout import text_width
from steelyard.render.svg import scene_svg

FIRST, SECOND = PALETTE[:2]
RIGHT, WRONG, GREY = "eef2ee", "d7263d", "c9c9c9"


class _Images(HTMLParser):
    """The pictures of an SVG."""

    def __init__(self) -> None:
        super().__init__()
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") or ""
        if tag == "image" and href.startswith("data:image/png;base64,"):
            self.data.append(href.partition(",")[2])


def colours(png: str) -> list[list[str]]:
    grid = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"))
    return [["".join(f"{v:02x}" for v in pixel) for pixel in row.tolist()] for row in grid]


def panels(svg: str) -> list[list[list[str]]]:
    parser = _Images()
    parser.feed(svg)
    return [colours(png) for png in parser.data]


def test_classes_what_differs_and_what_is_ignored() -> None:
    truth, prediction = np.array([[[0, 0, 1, 255]]]), np.array([[[0, 1, 1, 1]]])
    svg = sy.draw("segmentation", truth, prediction, "0", options={"classes": 2, "ignore": 255})
    assert panels(svg) == [
        [[FIRST, FIRST, SECOND, GREY]],
        [[FIRST, SECOND, SECOND, SECOND]],
        [[RIGHT, WRONG, RIGHT, GREY]],
    ]
    assert "pixel accuracy 0.6667" in svg
    assert "3 pixels count, 1 are wrong, 1 are ignored" in svg


def test_segments_that_are_paired_missed_false_and_ignored() -> None:
    """Segment 1 is paired and its outline differs by a pixel, 2 is missed, 9 is false, 0 is void."""
    sides: list[Any] = [
        {
            "image": [1],
            "map": np.array([[ids]]),
            "segments": [[{"id": i, "category_id": c, "isthing": 1} for i, c in kinds]],
        }
        for ids, kinds in (
            ([1, 1, 1, 1, 2, 2, 0, 0], ((1, 1), (2, 1))),
            ([1, 1, 1, 0, 9, 0, 0, 0], ((1, 1), (9, 2))),
        )
    ]
    svg = sy.draw("panoptic", *sides, 1)
    paired, missed, false, other = "cfe8cf", "2f6fb2", "d7263d", "f2c14e"
    assert panels(svg)[2] == [[paired, paired, paired, other, false, missed, GREY, GREY]]
    assert "1 segments paired, 1 missed, 1 false" in svg


def test_slices_of_volumes() -> None:
    truth, prediction = np.zeros((2, 3, 1, 4), dtype=np.uint8)
    truth[1, 0], prediction[1, 0] = [1, 1, 2, 0], [1, 0, 1, 2]
    truth[2, 0, 0] = 1
    svg = sy.draw("volumes", truth[None], prediction[None], "0", step=None)
    right, missed, false, other = "cfe8cf", "2f6fb2", "d7263d", "f2c14e"
    assert panels(svg)[2] == [[right, missed, other, false]]
    assert "Case 0, slice 1: 3 wrong voxels" in svg
    assert panels(sy.draw("volumes", truth[None], prediction[None], "0", step=2))[2] == [[missed, *["f4f4f4"] * 3]]
    with pytest.raises(InputError, match=r"case '0' has no slice 3.*slices 0 to 2"):
        sy.draw("volumes", truth[None], prediction[None], "0", step=3)


def test_many_codes_share_the_last_colour() -> None:
    codes = np.arange(300).reshape(1, 300)
    shown = colours(colour_codes(codes, lambda code: f"{code:06x}"))[0]
    assert shown[:256] == [f"{code:06x}" for code in range(256)]
    assert set(shown[256:]) == {f"{255:06x}"}


@pytest.mark.parametrize("task", slow_except(["segmentation", "panoptic", "volumes"], "panoptic"))
def test_pages_show_the_worst_units(task: str) -> None:
    sample = Path(sy.__file__).parent / "samples" / task
    ending = ".json" if task == "panoptic" else ""
    options = {"ignore": 255} if task == "segmentation" else {}
    report = sy.evaluate(task, sample / f"truth{ending}", sample / f"model_a{ending}", options=options, confidence=None)
    page = report.to_html()
    assert "img-src data:" in page
    planes = 9 if task == "volumes" else 0  # truth, prediction and errors of the worst case, in three planes each
    assert page.count("data:image/png;base64,") == 18 + planes


def test_volumes_agree_and_surfaces_lie_near() -> None:
    """By hand: squares of one voxel's height moved by a voxel, of 2 mm along x; volumes of 4 and 6 voxels of 8 mm³."""
    truth, prediction = np.zeros((2, 2, 1, 6, 8), dtype=np.uint8)
    truth[0, 0, 2:4, 2:4] = prediction[0, 0, 2:4, 2:4] = 1  # equal
    truth[1, 0, 2:4, 2:4], prediction[1, 0, 2:4, 2:5] = 1, 1  # one column more
    options = {"spacing": "2,2,2"}
    report = sy.evaluate(
        "volumes", truth, prediction, ["dice", "nsd(surface=voxels)"], options=options, confidence=None
    )
    agreement = report.figure("bland_altman")
    np.testing.assert_allclose(agreement.columns["y"], [0.0, 0.016])  # ml: two voxels of 8 mm³ more
    np.testing.assert_allclose(agreement.columns["x"], [0.032, 0.040])
    assert agreement.facts["bias"] == pytest.approx(0.008)
    curve = report.figure("nsd_tolerance")
    # All 4 and all 6 voxels are surface. At 0 mm 4 of 4 and 4 of 6 lie on the other one, at 2 mm all do.
    assert curve.columns["y"][0] == pytest.approx((1.0 + 8 / 10) / 2)
    assert curve.columns["y"][-1] == 1.0
    assert curve.columns["x"][-1] == 2.0
    assert "nsd_tolerance" not in sy.evaluate("volumes", truth, prediction, ["dice"], confidence=None).figures


@pytest.mark.parametrize("rasters", [(RasterShape("true", "", 4, 4),), ()])
def test_entries_of_a_legend_do_not_touch(rasters: tuple[RasterShape, ...]) -> None:
    """Long names of classes, and those of ellipses and their pairs: each ends before the next begins, with its swatch."""
    names = ("sidewalk and curbs", "traffic light pole", "vegetation in pots", "a" * 40)
    legend = tuple((name, f"{place:06x}") for place, name in enumerate(names))
    shapes = (EllipseShape("truth", 0, 0, 0, 40, 30),) if not rasters else ()
    svg = scene_svg(Scene("title", "summary", shapes, rasters=rasters, legend=legend))
    placed = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*font-size="(\d+)"[^>]*>([^<]+)</text>', svg)
    lines: dict[str, list[tuple[float, float]]] = {}
    for x, y, size, words in placed:
        lines.setdefault(y, []).append((float(x), float(x) + text_width(words, float(size))))
    assert max(map(len, lines.values())) >= 3
    swatch = 18 if rasters else 0
    for line in lines.values():
        assert all(end + swatch < start for (_, end), (start, _) in pairwise(sorted(line)))
        assert max(end for _, end in line) <= 720
