"""Figures for journals: their size on paper by their own heads, what differs without colours, and what is refused."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.refusal import refuses

import steelyard as sy
from steelyard.core.figure import Figure
from steelyard.render.charts.draw import chart_svg
from steelyard.render.charts.export import export_figures, paper_of
from steelyard.render.charts.layout import fit_names, text_width

SAMPLE = Path(str(files("steelyard") / "samples"))
TRUTH, A, B = (str(SAMPLE / "weights" / name) for name in ("truth.csv", "model_a.csv", "model_b.csv"))


def test_sizes_on_paper(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    done = steelyard("evaluate", "weights", TRUTH, A, "-m", "mae", "--draws", "100", "--figures", "f",
                     "--figure-format", "pdf,svg,png", "--width", "85mm", "--dpi", "300", "--font", "Times New Roman")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "wrote f/agreement.pdf" in done.stderr.replace("\\", "/")
    svg = (tmp_path / "f" / "agreement.svg").read_text(encoding="utf-8")
    wide = re.search(r'width="([\d.]+)mm"', svg)
    assert wide
    assert float(wide[1]) == pytest.approx(85, abs=0.3)
    assert "Times New Roman" in svg
    pdf = (tmp_path / "f" / "agreement.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box
    assert float(box[1]) == pytest.approx(85 / 25.4 * 72, abs=1)  # points
    png = (tmp_path / "f" / "agreement.png").read_bytes()
    assert set(Image.open(io.BytesIO(png)).convert("RGBA").getchannel("A").tobytes()) == {255}
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(85 / 25.4 * 300, abs=3)
    at = png.index(b"pHYs") + 4
    assert struct.unpack(">I", png[at : at + 4])[0] == pytest.approx(300 / 0.0254, rel=0.001)  # dots per metre


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--figure-format", "eps"], "there is no figure in the format 'eps'. Choose svg, png, pdf."),
        (["--width", "85"], "'85' is not a figure width"),
        (["--width", "3col"], "'3col' is not a figure width"),
        (["--width", "5mm"], "a figure of 5mm is too narrow or too wide"),
        (["--dpi", "10"], "10 dots per inch are out of range"),
        (["--font", "x<y"], "'x<y' is not a font name"),
    ],
)
def test_what_is_refused_is_refused_first(
    asked: list[str], said: str, steelyard: Callable[..., Any], tmp_path: Path
) -> None:
    # The truth is not there: a message about it would mean that work had begun.
    done = steelyard("evaluate", "weights", "no.csv", "no.csv", "--figures", "f", "-o", "r.json", *asked)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
    done = steelyard("compare", "weights", TRUTH, A, B, *asked)
    assert done.stderr.endswith("Add --figures DIR. [E-invalid-setting]\n")


def test_widths() -> None:
    for text, millimetres in {"85mm": 85, "8.5 cm": 85, "3.5in": 88.9, "72pt": 25.4 * 72 / 72, "1col": 89}.items():
        if millimetres >= 40:
            assert paper_of(width=text).width == pytest.approx(millimetres)
    assert paper_of(width=85).width == paper_of(width="85mm").width == 85
    with refuses("E-out-of-range", "5mm"):
        paper_of(width=5.0)
    assert paper_of("pdf, .PNG,pdf").formats == ("pdf", "png")
    assert paper_of().formats == ("svg", "png", "pdf")


def test_the_background_is_white_or_transparent(tmp_path: Path) -> None:
    figure = Figure("bars", "bars", "Bars", {"name": ["a"], "value": [1.0], "low": [0.5], "high": [1.5]}, {"x": "x"})
    pixels = {}
    for transparent in (False, True):
        folder = tmp_path / str(transparent)
        export_figures([figure], folder, width="1col", transparent=transparent)
        assert ('fill="#ffffff"' in (folder / "bars.svg").read_text()) is not transparent
        with Image.open(folder / "bars.png") as image:
            assert abs(image.width - 89 / 25.4 * 288) < 2  # whole pixels of the drawing are three here
            pixels[transparent] = np.asarray(image.convert("RGBA"), dtype=float)
    assert pixels[False][0, 0].tolist() == [255, 255, 255, 255]
    assert pixels[True][0, 0, 3] == 0
    alpha = pixels[True][:, :, 3:] / 255
    assert ((alpha > 0.1) & (alpha < 0.9)).any()
    on_white = pixels[True][:, :, :3] * alpha + 255 * (1 - alpha)
    assert on_white == pytest.approx(pixels[False][:, :, :3], abs=3)  # shades are not darker


def test_long_names_of_rows_have_two_lines_and_are_not_cut() -> None:
    names = ["wrong class and loose box", "missed", "x" * 60]
    svg = chart_svg(Figure("f", "bars", "F", {"name": names, "value": [1.0, 2.0, 3.0]}, {"x": "x"}), 330.0)
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"wrong class and loose", "box", "missed"} <= set(labels)
    assert any("…" in label for label in labels)  # one word that has no room


def test_labels_without_room_are_left_out_evenly() -> None:
    columns = {"low": np.arange(8.0) * 100, "high": np.arange(8.0) * 100 + 99}
    columns |= {name: np.full(8, float(i)) for i, name in enumerate(("p10", "p25", "p50", "p75", "p90"))}
    svg = chart_svg(Figure("f", "spread", "F", columns, {"x": "x", "y": "y"}), 250.0)
    shown = re.findall(r"<text[^>]*>([^<]*)–</text>", svg)
    assert shown == ["0", "200", "400", "600"]


def test_nothing_is_written_where_one_figure_fails(tmp_path: Path) -> None:
    good = Figure("good", "bars", "Good", {"name": ["a"], "value": [1.0]}, {"x": "x"})
    bad = Figure("bad", "bars", "Bad", {"name": ["a"], "value": ["no number"]}, {"x": "x"})
    with pytest.raises(ValueError, match="no number"):
        export_figures([good, bad], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(export_figures([good], tmp_path, formats="svg")) == 1


def test_legends_name_the_models_and_scores_stand_by_model() -> None:
    lineup = sy.compare("weights", TRUTH, {"base": A, "ours": B, "oracle": TRUTH}, metrics=["mae", "bias"], draws=100)
    from steelyard.results.registry import renderer

    figures = {figure.name: figure for figure in renderer("lineup", "figures")(lineup)}
    scores = figures["scores_1"]
    assert list(scores.columns["name"]) == ["base", "ours", "oracle"]
    assert list(scores.columns["value"]) == [lineup[0]["mae"].a.value, lineup[0]["mae"].b.value, 0.0]
    assert next(iter(scores.columns["low"])) == lineup[0]["mae"].a.interval[0]  # type: ignore[index]
    assert "ours" in chart_svg(figures["differences"], 540.0)


def test_names_that_are_cut_stay_different() -> None:
    names = [f"a very long name of a class, number {i} of them" for i in range(3)] + ["short"]
    short = fit_names(names, 90.0)
    assert len(set(short)) == 4
    assert all(text_width(name) <= 100 for name in short)
    assert short[-1] == "short"
    same = fit_names(["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], 90.0)
    assert len(set(same)) == 2
    assert " → " in fit_names(["a very long name of a class → another very long name"], 120.0)[0]


def test_the_old_option_of_figure_formats_works_where_it_is_free(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    done = steelyard("evaluate", "weights", TRUTH, A, "-m", "mae", "--ci", "none", "--figures", "f", "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert "--format is deprecated for figures: write --figure-format." in done.stderr
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".svg"}
    both = steelyard("evaluate", "weights", TRUTH, A, "--figures", "f", "--figure-format", "svg", "--format", "pdf")
    assert both.returncode == 2
    assert "--format and --figure-format both name the figures' formats" in both.stderr


def test_boxes_choose_the_format_of_figures_and_of_files(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    truth, model = (str(SAMPLE / "boxes" / name) for name in ("truth.json", "model_a.json"))
    done = steelyard(
        "evaluate", "boxes", truth, model, "-m", "map50", "--ci", "none", "--format", "coco", "--figures", "f",
        "--figure-format", "svg",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".svg"}
