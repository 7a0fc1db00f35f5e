"""Texts, tables and drawings of results, part by part: undefined scores, empty figures, single models."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.refusal import refused

import steelyard as sy
from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.scene import RasterShape, Scene
from steelyard.render import explanation, gate, latex, notebook, text, verdicts, vlm
from steelyard.render import vlm as vlm_text
from steelyard.render.brief import score_brief
from steelyard.render.charts import overlays
from steelyard.render.charts.draw import chart_svg
from steelyard.render.charts.export import export_figures
from steelyard.render.frames import report_sheets
from steelyard.render.page import comparison as compared
from steelyard.render.page import figures, scores
from steelyard.render.page import report as report_page
from steelyard.render.page import vlm as vlm_page
from steelyard.render.page.comparison import _cell, score_figures, unit_figures
from steelyard.render.scene import as_svg
from steelyard.render.svg import Backdrop, rasters_svg
from steelyard.render.text import grid
from steelyard.results.details import UnitTable
from steelyard.results.vlm import Effort, PromptScore, VlmScore

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("weights", TRUTH, A, ["mae", "bias"], draws=100, by=["hall"])


@pytest.fixture(scope="module")
def both() -> sy.Comparison:
    return sy.compare("weights", TRUTH, A, B, ["mae"], draws=100)


@pytest.fixture(scope="module")
def undefined(report: sy.Report) -> sy.Score:
    return replace(report.scores["mae"], value=math.nan, interval=None, undefined_reason="nothing was weighed")


def test_one_pair_is_shown_as_a_comparison() -> None:
    two = sy.compare("weights", TRUTH, [A, B], metrics=["mae"], draws=100)
    assert two.to_text() == two[0].to_text()
    assert two.to_markdown() == two[0].to_markdown()
    assert refused(lambda: latex.lineup_latex(two, marks="letters")) == (
        "these models have no letters. Compare three models or more, or leave marks out."
    )


def test_a_score_that_is_undefined(undefined: sy.Score) -> None:
    assert score_brief(undefined) == "Score(mae is undefined: nothing was weighed)"
    assert latex._value(undefined, "sub") == "--"
    table = scores.score_table([undefined], {}, 0.95)
    assert "undefined: nothing was weighed" in table


def test_the_best_of_one_value_or_of_none_that_is_better(report: sy.Report) -> None:
    one, other = report.scores["mae"], replace(report.scores["mae"], value=3.0)
    assert latex._best({0: one, 1: other}, "lower") == {0}
    assert latex._best({0: one, 1: other}, "none") == set()
    assert latex._best({0: one}, "lower") == set()


def test_a_table_without_descriptions_does_not_point_at_them(report: sy.Report) -> None:
    table = scores.score_table(list(report.scores.values()), {}, None)
    assert "Point at a metric" not in table
    assert table.count("<tr") == 3


def test_empty_pictures_are_not_written(tmp_path: Any) -> None:
    empty = Figure("none", "histogram", "None", {"low": [], "high": [], "count": []})
    assert export_figures([empty], tmp_path, formats=["svg"]) == ()
    assert list(tmp_path.iterdir()) == []


def test_maps_of_odd_texts_are_left_out() -> None:
    assert (overlays._panel("<b>", "truth", "a"), overlays._entry("tree", "red")) == ("", "")
    assert 'fill="#ff0000"' in overlays._entry("tree", "ff0000")


def test_ellipses_of_an_image_by_hand() -> None:
    """A true ellipse of 40 by 20 that stands upright, a detected circle of 20 without a partner, and a line."""
    columns = {
        "image": [0, 0, 0],
        "role": ["truth", "prediction", "pair"],
        "x": [50.0, 150.0, 50.0],
        "y": [40.0, 60.0, 40.0],
        "degrees": [90.0, 0.0, 0.0],
        "a": [40.0, 20.0, 0.0],
        "b": [20.0, 20.0, 0.0],
        "x2": [0.0, 0.0, 150.0],
        "y2": [0.0, 0.0, 60.0],
        "matched": [1, 0, 1],
        "label": ["T1", "D1", "<102>"],
    }
    facts = {"titles": ["Image <a>", "Image b"], "summaries": ["one & one", "none"]}
    drawn = overlays.markup_of(Figure("overlays", "overlays", "Images", columns, facts))
    whole = ElementTree.fromstring(drawn)
    assert [[p.text for p in part.findall("p")] for part in whole] == [["Image <a>", "one & one"], ["Image b", "none"]]
    assert [len(part.findall("svg")) for part in whole] == [1, 0]  # nothing to draw
    svg = whole[0].find("svg")
    assert svg is not None
    # From 30 to 170 and from 0 to 80, with 8 % of 140 around: 162.4 by 102.4 become 330 by 208.
    scale, left, top = 330 / 162.4, 30 - 11.2, -11.2
    assert svg.get("viewBox") == f"0 0 330 {102.4 * scale:.0f}"
    true, predicted = svg.findall("ellipse")
    for shape, x, y, a, b in ((true, 50, 40, 40, 20), (predicted, 150, 60, 20, 20)):
        numbers = [float(shape.attrib[name]) for name in ("cx", "cy", "rx", "ry")]
        assert numbers == pytest.approx([(x - left) * scale, (y - top) * scale, a * scale, b * scale], abs=0.06)
    assert true.attrib["transform"].startswith("rotate(90.0 ")
    assert ["none" in shape.attrib["class"].split() for shape in (true, predicted)] == [True, False]
    assert ["stroke-dasharray" in shape.attrib for shape in (true, predicted)] == [False, True]
    line, label = svg.find("line"), svg.find("text")
    assert line is not None
    assert label is not None
    ends = [(50 - left) * scale, (40 - top) * scale, (150 - left) * scale, (60 - top) * scale]
    assert [float(line.attrib[name]) for name in ("x1", "y1", "x2", "y2")] == pytest.approx(ends, abs=0.06)
    assert label.text == "<102>"


def test_sentences_are_marked_word_by_word() -> None:
    said = {
        "words": [["a", "hit"], ["<b>", "miss"], ["is", ""]],
        "references": ["a & b"],
        "matched": ["(a)"],
        "wrong": [],
        "missed": ["(b, is)"],
    }
    empty: dict[str, Any] = {"words": [], "references": [], "matched": [], "wrong": [], "missed": []}
    columns = {"image": ["i & j", "k"], "spice": [0.5, math.nan]}
    figure = Figure("sentences", "sentences", "Captions", columns, {"sentences": [said, empty]})
    markup = overlays.markup_of(figure).replace("class=said", 'class="said"')
    first, second = ElementTree.fromstring(f"<page>{markup}</page>")
    shown = first.find("p")
    assert shown is not None
    assert [(mark.tag, mark.text) for mark in shown] == [("ins", "a"), ("del", "<b>")]
    assert "".join(shown.itertext()) == "a <b> is"
    assert "".join(first[0].itertext()).startswith("i & j SPICE 0.5")
    assert [[item.text for item in entry.iter("li")] for entry in first.iter("dd")] == [["(a)"], ["none"], ["(b, is)"]]
    assert [item.text for item in first.findall("details/ul/li")] == ["a & b"]
    assert [p.text for p in second.findall("p")] == ["(empty)"]


def test_a_figure_of_another_kind_has_no_markup() -> None:
    assert overlays.markup_of(Figure("none", "histogram", "None", {"low": [], "high": [], "count": []})) == ""


def test_settings_that_leave_a_number_undefined() -> None:
    nan = math.nan
    pairs = [(nan, nan), (nan, 1.0), (1.0, nan), (1.0, 1.0), (1.5, 1.0), (0.5, 1.0)]
    shown = [explanation.difference_shown(*pair) for pair in pairs]
    assert shown == ["=", "undefined", "1.00000", "=", "+0.50000", "−0.50000"]
    assert [explanation._moves(*pair) for pair in pairs] == [False, True, True, False, True, True]


def test_a_verdict_of_an_undefined_difference_shows_the_score_alone(both: sy.Comparison) -> None:
    verdict = sy.gate(both, "mae > baseline, p < 0.05").verdicts[0]
    bare = replace(verdict, difference=math.nan, interval=(1.0, 7.0))
    assert gate.deciding_numbers(bare) == "4.00 g"


def test_a_strip_needs_an_interval_and_a_scale() -> None:
    held = [
        notebook._strip(2.0, *ends) for ends in ((None, (0.0, 4.0)), ((1.0, 3.0), None), ((1.0, math.inf), (0.0, 4.0)))
    ]
    assert held == ["", "", ""]
    assert notebook._strip(2.0, (1.0, 3.0), (0.0, 4.0)) != ""


def test_a_cell_without_a_standing_has_no_rank(report: sy.Report) -> None:
    assert "rank" not in _cell(report.scores["mae"], 0, None, None).html


def test_figures_of_what_nobody_knows(both: sy.Comparison, undefined: sy.Score) -> None:
    mae = both.differences["mae"]
    bare = replace(both, differences={"mae": replace(mae, a=undefined)})
    assert score_figures([bare]) == []
    assert len(score_figures([both])) == 1
    one = UnitTable("dish", np.array(["a", "b"]), {"mae": np.array([1.0, math.nan])})
    held = SimpleNamespace(details=SimpleNamespace(units=lambda: one), units=lambda: (one, one), a=both.a, b=both.b)
    held.differences = both.differences
    assert unit_figures([held]) == []  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("gain", "better", "text"),
    [
        (0.0, "higher", "equal"),
        (2.0, "none", "changed"),
        (2.0, "lower", '<span class="verdict better">better</span>'),
        (-2.0, "lower", '<span class="verdict worse">worse</span>'),
    ],
)
def test_how_a_unit_changed(gain: float, better: str, text: str) -> None:
    assert compared._change(gain, better) == text


def test_gains_of_what_is_best_at_zero() -> None:
    """Of −2 to −1 the size falls, of 1 to 3 it grows, and of 2 to −2 it stays."""
    near = {"dish": list("abc"), "weight": [10.0, 20.0, 30.0]}
    first, second = ({"dish": list("abc"), "weight": weights} for weights in ([8.0, 21.0, 32.0], [9.0, 23.0, 28.0]))
    page = compared._units([sy.compare("weights", near, first, second, ["bias"], draws=100)])
    assert "<p>By Bias (mean signed error) B is better on 1 dish, worse on 1, equal on 1.</p>" in page
    rows = page.rpartition("<tbody")[2]
    assert (rows.count("verdict better"), rows.count("verdict worse"), rows.count("<td>equal</td>")) == (1, 1, 1)


def test_distributions_of_as_many_scores_as_wanted(report: sy.Report) -> None:
    spread = np.arange(8.0)
    units = UnitTable("dish", np.arange(8), {"mae": spread, "bias": spread})
    assert [len(figures.unit_histograms(units, report.scores, most)) for most in (1, 2, 3)] == [1, 2, 2]


def test_pages_of_models_without_an_answer() -> None:
    score = VlmScore("weights", (), (), 4, None, 1)
    assert vlm_page._every_prompt(score, [], {}) == "<p>No reading gave a number.</p>"
    assert vlm_page._controls(score) == ""
    assert "intervals" not in vlm_page._source(score)
    assert "95 %, bootstrap over sequences" in vlm_page._source(replace(score, confidence=0.95))
    assert list(vlm.slice_tables(score, [])) == []
    assert vlm._tokens(Effort(replies=2, uncounted=2), 5, 0, "cached") == vlm.NONE


def test_worst_units_of_nothing_known(report: sy.Report) -> None:
    units = UnitTable("dish", np.array(["a", "b"]), {"mae": np.array([math.nan, math.nan])})
    assert report_page.worst_table(report, units, None) == ""


def test_listings_that_do_not_name_the_units() -> None:
    names = Texts(np.array([0, 0, 1]), ["a", "b"])
    listing = Listing("l", "L", {"dish": names, "off": np.array([math.nan, math.nan, 1.0])}, x="off")
    assert report_page.fields_of(listing, ["z"]) == {}
    assert report_page._wrong(listing, "dish", np.array([0, 1])) == ""


def test_a_scene_with_relations_and_attributes() -> None:
    drawn = as_svg(
        "a red car beside a car", [("car",), ("car", "red"), ("car", "beside", "house"), ("car", "on", "car")]
    )
    assert drawn.count('<path class="edge" marker-end') == 2
    assert drawn.count('v-8"/>') == 1
    for word in ("red", "car", "house", "beside", "on"):
        assert f">{word}</text>" in drawn


def test_rasters_lie_over_the_image_or_are_left_out() -> None:
    scene = Scene("t", "s", (), rasters=(RasterShape("truth", "QUJD", 2.0, 1.0), RasterShape("odd", "<b>", 2.0, 1.0)))
    plain, over = rasters_svg(scene), rasters_svg(scene, Backdrop("there.png", 2.0, 1.0))
    assert (plain.count("<image"), over.count("<image"), over.count('href="there.png"')) == (1, 3, 2)
    assert ('opacity="0.62"' in plain, over.count('opacity="0.62"')) == (False, 1)


def test_differences_that_were_not_corrected_and_flagged(both: sy.Comparison) -> None:
    mae = both.differences["mae"]
    assert verdicts.correction_text([replace(mae, p=math.nan)]) == "not corrected"
    assert verdicts.verdict_remarks([replace(mae, verdict="flagged")], "dish")[0] == (
        "flagged: worth a look; one in ten of those flagged may be chance."
    )
    assert [verdicts.size_text(value) for value in (math.nan, 0.0, 0.0123, 12.3)] == ["0", "0", "0.012", "12"]


def test_tables_are_sheets() -> None:
    """Of a, b, b as a, a, b: a is right, one b is taken for a, the other is right."""
    truth, given = {"id": [1, 2, 3], "label": list("abb")}, {"id": [1, 2, 3], "label": list("aab")}
    header, rows = report_sheets(sy.evaluate("labels", truth, given, ["accuracy"], draws=100))["confusion"]
    assert [header, *map(list, rows)] == [["truth", "a", "b"], ["a", 1.0, 0.0], ["b", 1.0, 1.0]]


def prompt_score(name: str, held: sy.Report | None, **more: Any) -> PromptScore:
    whole: dict[str, Any] = {"outcomes": {"ok": 4}, "lost": {}, "problems": {}, "controls": {}, **more}
    return PromptScore(
        model="m", prompt=name, report=held, readings=4, parsed=4, followed_up=0, constant=None, guess=math.nan, **whole
    )


def test_prompts_stand_below_each_other_where_there_is_no_room(report: sy.Report) -> None:
    rows = tuple(prompt_score(f"a prompt with a long name, number {i}", report) for i in range(2))
    wide, narrow = (vlm_text._side_by_side(VlmScore("weights", rows, (), 4, 0.95, 1), rows, w) for w in (400, 40))
    assert [len(tables) for tables in (wide, narrow)] == [1, 2]


def test_prompts_of_which_nothing_is_known(report: sy.Report, undefined: sy.Score) -> None:
    bare = prompt_score("none", None, outcomes={"no_number": 4}, lost={"no_number": "no number"})
    score = VlmScore("weights", (bare,), (), 4, 0.95, 1)
    assert vlm_text.remarks(score)[0] == "m, none: no number from 4 readings: 4 no_number (no number)."
    unknown = replace(report, scores={"mae": undefined})
    page = vlm_page._prompts(score, [prompt_score("p", unknown)], {}, "p")
    assert "<figure" not in page


def test_a_waterfall_leads_from_their_number_to_ours() -> None:
    steps = (
        Step("crowds", "ignored", "counted", "", {"map": 0.52}),
        Step("grid", "101 points", "11 points", "", {"map": 0.49}),
        Step("scores", "double", "single", "", {"map": 0.5}),
    )
    figure = explanation.waterfall_of(Explanation("other tool", "1.2", {"map": 0.5}, steps, {"map": 0.515}))
    assert figure is not None
    assert figure.name == "explain_other_tool"
    # Taken back alone: -0.02 and +0.01. From 0.515 that leaves -0.005 to 0.5, which both make together.
    assert list(figure.columns["name"]) == ["other tool 1.2", "crowds", "grid", "settings together", "Steelyard"]
    assert list(figure.columns["text"]) == ["0.51500", "−0.02000", "+0.01000", "−0.00500", "0.50000"]
    assert np.allclose(figure.columns["start"], [0.515, 0.515, 0.495, 0.505, 0.5])
    assert np.allclose(figure.columns["end"], [0.515, 0.495, 0.505, 0.5, 0.5])
    svg = chart_svg(figure, 540)
    assert svg.count("<rect") == 3
    assert "<title>crowds: −0.02000</title>" in svg
    assert explanation.waterfall_of(Explanation("t", "1", {"map": 0.5}, (), {"map": 0.5})) is None


def test_a_spec_that_is_too_long_keeps_the_values_of_its_settings() -> None:
    rows = [["mae(target=energy)", "1"], ["mae(target=carbohydrate)", "2"], ["pmae(target=fat, scaled=mass)", "3"]]
    shown = grid(["metric", "score"], rows, "lr", 20, shrink=0).splitlines()
    assert [line[:13] for line in shown[2:]] == ["mae(…energy) ", "mae(…carbohy…", "pmae(…fat, ……"]


def test_texts_that_are_cut_stay_different() -> None:
    """Equal beginnings are cut in the middle; others keep as much of their beginning as fits."""
    names = ["ingredient_f1_score", "ingredient_jaccard", "a_long_name_of_its_own", "short"]
    shown = text.grid(["", "n"], [[name, "1"] for name in names], "lr", 15, shrink=0).splitlines()[2:]
    assert [line.split()[0] for line in shown] == ["ingred…score", "ingred…ccard", "a_long_name…", "short"]
