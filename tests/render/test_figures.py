"""Figures for journals: their size on paper by their own heads, what differs without colours, and what is refused."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.core.figure import Figure
from steelyard.render.charts.export import paper_of
from steelyard.render.charts.layout import apart, fitting, text_width, ticks
from steelyard.render.charts.render import spec_of, svg_text

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
    with pytest.raises(sy.InputError, match="a figure of 5mm is too narrow"):
        paper_of(width=5.0)
    assert paper_of("pdf, .PNG,pdf").formats == ("pdf", "png")
    assert paper_of().formats == ("svg", "png", "pdf")


def test_nothing_is_written_where_one_figure_fails(tmp_path: Path) -> None:
    from steelyard.render.charts.export import export_figures

    good = Figure("good", "bars", "Good", {"name": ["a"], "value": [1.0]}, {"x": "x"})
    bad = Figure("bad", "bars", "Bad", {"name": ["a"], "value": ["no number"]}, {"x": "x"})
    with pytest.raises(ValueError, match="no number"):
        export_figures([good, bad], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(export_figures([good], tmp_path, formats="svg")) == 1


def test_series_differ_without_colours() -> None:
    names = [name for name in ("base", "ours", "third") for _ in range(2)]
    lines = Figure(
        "c", "curves", "C", {"x": [0, 1] * 3, "y": [0, 1, 0, 2, 0, 3], "series": names}, {"x": "x", "y": "y"}
    )
    svg = svg_text(spec_of(lines, 350.0))
    drawn = re.findall(r'<path aria-label="[^"]*series[^"]*"[^>]*?/>', svg)
    assert len({re.search(r'stroke-dasharray="([^"]*)"', line)[1] for line in drawn if "dasharray" in line}) >= 2  # type: ignore[index]
    rows = {"name": ["m"] * 3, "value": [1.0, 2, 3], "low": [0.0, 1, 2], "high": [2.0, 3, 4]}
    points = Figure("i", "intervals", "I", {**rows, "series": ["base", "ours", "third"]}, {"x": "x"})
    spec = spec_of(points, 350.0)
    shapes = spec["layer"][-1]["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == 3


def test_legends_name_the_models_and_scores_stand_by_model() -> None:
    lineup = sy.compare("weights", TRUTH, {"base": A, "ours": B, "oracle": TRUTH}, metrics=["mae", "bias"], draws=100)
    from steelyard.results.registry import renderer

    figures = {figure.name: figure for figure in renderer("lineup", "figures")(lineup)}
    scores = figures["scores_1"]
    assert list(scores.columns["name"]) == ["base", "ours", "oracle"]
    assert list(scores.columns["value"]) == [lineup[0]["mae"].a.value, lineup[0]["mae"].b.value, 0.0]
    assert next(iter(scores.columns["low"])) == lineup[0]["mae"].a.interval[0]  # type: ignore[index]
    assert "ours" in svg_text(spec_of(figures["differences"], 540.0))


def test_names_that_are_cut_stay_different() -> None:
    names = [f"a very long name of a class, number {i} of them" for i in range(3)] + ["short"]
    short = fitting(names, 90.0)
    assert len(set(short)) == 4
    assert all(text_width(name) <= 100 for name in short)
    assert short[-1] == "short"
    same = fitting(["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], 90.0)
    assert len(set(same)) == 2
    assert " → " in fitting(["a very long name of a class → another very long name"], 120.0)[0]


def test_ticks_have_room() -> None:
    assert ticks(0.0, 1.0, 300) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    for high in (0.0123, 3.7, 12345.0):
        at = ticks(0.0, high, 200)
        assert 2 <= len(at) <= 5
        assert at[-1] <= high
    assert ticks(1.0, 1.0, 100) == [1.0]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 23, 24])
@pytest.mark.parametrize("size", [6.0, 11.9, 12.0, 40.0])
def test_names_of_narrow_columns_keep_their_distance_and_the_last(count: int, size: float) -> None:
    """The last is the background of a confusion matrix. Letters are 11 high: names need 12 from one to the next."""
    names = [f"class {place}" for place in range(count)]
    shown = [names.index(name) for name in apart(names, size)]
    assert shown[-1] == count - 1
    assert all((second - first) * size >= 12 for first, second in pairwise(shown))
    assert size < 12 or len(shown) == count


def test_a_matrix_of_narrow_columns_names_the_last() -> None:
    names = [f"class {place}" for place in range(23)] + ["(background)"]
    columns = {"row": names, "column": names, "share": [0.5] * 24, "text": ["1"] * 24}
    figure = Figure("confusion", "matrix", "Confusion", columns, facts={"x": "predicted", "y": "true"})
    encoding = spec_of(figure, 350.0)["layer"][0]["encoding"]
    for side in "xy":
        assert encoding[side]["axis"]["values"][-1] == "(background)"
        assert len(encoding[side]["axis"]["values"]) < 24


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
