"""Task `tables`: the decisions of both tables of facts, laws, formats and notes, with values by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import tables_reference as reference
from support.drawn_tables import changed_rows, draw_rows, html
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.tables import trees, views
from steelyard.tasks.tables.paths import edit_path, in_words
from steelyard.tasks.tables.trees import grid_scores, grits_con, grits_top, parse_tables, scan, teds, teds_struct

TWO = "<tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr>"
GOLDENS = json.loads((Path(__file__).parents[2] / "goldens" / "tables.json").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = GOLDENS["tables"]


def wrapped(inside: str) -> str:
    return f"<html><body><table>{inside}</table></body></html>"


def scores(truth: Any, predictions: Any, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("tables", truth, predictions, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def side(*texts: str) -> dict[str, list[str]]:
    return {"table": [f"t{i}" for i in range(len(texts))], "html": list(texts)}


# What the clean rules make of the cases that tell tools apart; the fractions are edits by nodes.
CLEAN = {
    "bare_table": 1.0,
    "fragment_in_div": 1.0,
    "th_text_free": 1 - 2 / 9,  # both texts of two header cells
    "th_for_td": 1.0,
    "thead_for_none": 1.0,
    "bold_dilutes": 1 - 1 / 6,
    "bold_lost": 1.0,
    "spaces_in_cell": 1.0,
    "negative": -1 / 30,
    "colspan_word": 1.0,
    "colspan_zero": 1.0,
    "open_tags": 1.0,
    "entities_and_comment": 1.0,
    "nothing": 0.0,
    "no_table": 0.0,
    "nested": 1.0,
}


@pytest.mark.parametrize("name", list(CLEAN))
def test_decisions_of_teds(name: str) -> None:
    case = CASES[name]
    assert teds(case["truth"], case["prediction"]) == pytest.approx(CLEAN[name], abs=1e-12)


def test_settings_of_teds() -> None:
    th, thead = CASES["th_for_td"], CASES["thead_for_none"]
    assert teds(th["truth"], th["prediction"], header=True) == pytest.approx(1 / 3)  # two cells of three nodes
    assert teds(thead["truth"], thead["prediction"], header=True) == pytest.approx(1 - 1 / 10)  # thead, of 10 nodes
    bold = CASES["bold_lost"]
    # "<b>", "a", "</b>" for "a": two of three tokens.
    assert teds(bold["truth"], bold["prediction"], inline="tokens") == pytest.approx(1 - 2 / 3 / 6)


def test_the_published_code_stops_at_a_word_for_a_span() -> None:
    case = CASES["colspan_word"]
    for rules in ("pubtabnet", "omnidocbench"):
        assert case["IBM TEDS"].startswith("ValueError")
        values, status = trees.tree_scores([case["truth"]], [case["prediction"]], rules=rules)  # type: ignore[arg-type]
        assert (values[0], trees.STATUS[status[0]]) == (0.0, "unreadable span")


def test_decisions_of_grits() -> None:
    crossed = CASES["crossed_spans"]
    # Of six places four are alike, and one pair overlaps by 1/4 of the hull or 1/3 of the union.
    assert grits_top(crossed["truth"], crossed["prediction"]).f == pytest.approx(4.25 / 6)
    assert grits_top(crossed["truth"], crossed["prediction"], overlap="union").f == pytest.approx((4 + 1 / 3) / 6)
    long = CASES["long_cell_autojunk"]
    assert grits_con(long["truth"], long["prediction"], text="difflib").f != pytest.approx(238 / 239)
    assert grits_con(long["truth"], long["prediction"]).f == pytest.approx(238 / 239)  # 239 letters without the blank
    ragged, lost = CASES["ragged"], CASES["colspan_lost"]
    assert grits_con(ragged["truth"], ragged["prediction"]).f == pytest.approx(3 / 4)  # "1" is lost, its place open
    assert grits_con(lost["truth"], lost["prediction"]).f == pytest.approx(5 / 6)
    assert grits_con(CASES["nothing"]["truth"], "").f == 0.0
    assert grits_con(CASES["empty_cells"]["truth"], CASES["empty_cells"]["prediction"]).f == 1.0
    assert grits_con(wrapped("<tr><td>a&nbsp;b<br>c</td></tr>"), wrapped("<tr><td>a b c</td></tr>")).f == 1.0
    assert scan([CASES["ragged"]["prediction"]])[0, 4] & 32


@pytest.mark.parametrize("place", range(6))
def test_goldens_of_located_grids(place: int) -> None:
    case = GOLDENS["located"][place]
    texts, boxes = [], []
    for name in ("truth", "prediction"):
        grid = case[name]
        texts.append(wrapped("".join(f"<tr>{'<td></td>' * len(row)}</tr>" for row in grid)))
        flat = np.array(grid, dtype=float).reshape(-1, 4)
        boxes.append((flat, np.array([len(flat)], dtype=np.int64)))
    values, _ = grid_scores(texts[:1], texts[1:], "loc", truth_boxes=boxes[0], reply_boxes=boxes[1])
    assert values[0].tolist() == pytest.approx(case["fscore, precision, recall, upper bound"], rel=0, abs=1e-6)


def test_whole_results_of_goldens() -> None:
    """Each golden through `evaluate`, as a table of its own under the preset."""
    names = [name for name in CASES if name != "colspan_word"]
    truth = {"table": names, "html": [CASES[name]["truth"] for name in names]}
    reply = {"table": names, "html": [CASES[name]["prediction"] for name in names]}
    settings = {"options": {"several": "first"}}
    values = scores(
        truth, reply, "teds(rules=pubtabnet)", "teds(rules=pubtabnet, ignore=b)", "teds(rules=omnidocbench)", **settings
    )
    keys = ("IBM TEDS", "IBM TEDS, ignore b", "OmniDocBench TEDS")
    assert values == pytest.approx([np.mean([CASES[name][key] for name in names]) for key in keys], abs=1e-12)
    structure = scores(truth, reply, "teds_struct(rules=pubtabnet)", **settings)
    assert structure == pytest.approx([np.mean([CASES[name]["IBM TEDS, structure"] for name in names])], abs=1e-12)
    whole = [name for name in CASES if isinstance(CASES[name]["GriTS"], dict)]
    truth = {"table": whole, "html": [CASES[name]["truth"] for name in whole]}
    reply = {"table": whole, "html": [CASES[name]["prediction"] for name in whole]}
    top, con = scores(
        truth, reply, "grits_top(rules=microsoft)", "grits_con(rules=microsoft, text=difflib)", **settings
    )
    assert top == pytest.approx(np.mean([CASES[name]["GriTS"]["grits_top"] for name in whole]), abs=1e-6)
    assert con == pytest.approx(np.mean([CASES[name]["GriTS"]["grits_con"] for name in whole]), abs=1e-12)


@pytest.mark.parametrize(
    ("preset", "keys"),
    [
        ("pubtabnet", ("IBM TEDS", "IBM TEDS, structure")),
        ("omnidocbench", ("OmniDocBench TEDS", "OmniDocBench TEDS, structure")),
        ("microsoft", ("grits_top", "grits_con")),
    ],
)
def test_presets_of_goldens(preset: str, keys: tuple[str, str]) -> None:
    """The default metrics of a preset, with replies of several tables, are the numbers of its tool."""
    expected: dict[str, dict[str, Any]] = {
        name: case["GriTS"] if preset == "microsoft" else case
        for name, case in CASES.items()
        if name != "colspan_word" and isinstance(case["GriTS"] if preset == "microsoft" else case, dict)
    }
    truth, reply = (
        {"table": list(expected), "html": [CASES[name][side] for name in expected]} for side in ("truth", "prediction")
    )
    report = sy.evaluate("tables", truth, reply, confidence=None, options={"preset": preset})
    means = [np.mean([values[key] for values in expected.values()]) for key in keys]
    assert [score.value for score in report.scores.values()] == pytest.approx(means, abs=1e-6)
    assert len(report.scores) == 2


def test_cells_and_shape_by_hand() -> None:
    truth = side(wrapped(TWO), wrapped(TWO), wrapped(TWO))
    reply = side(wrapped(TWO), wrapped(TWO.replace(">b<", ">c<")), wrapped("<tr><td>a</td><td>1</td></tr>"))
    # 4 of 4; 3 of 4; 2 of 4 and 2: 1, 3/4 and 2/3. Together 9 of 12 and 10.
    assert scores(truth, reply, "cell_f1", "cell_f1(average=cell)", "shape") == pytest.approx(
        [(1 + 3 / 4 + 2 / 3) / 3, 18 / 22, 2 / 3]
    )


def test_laws_of_the_page() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        rows = draw_rows(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
        truth, reply = html(rows), html(changed_rows(rng, rows))
        assert teds(truth, reply) == pytest.approx(teds(reply, truth), abs=1e-12)
        assert teds(truth, truth) == teds_struct(truth, truth) == grits_top(truth, truth).f == 1.0
        nodes = scan([truth])[0, 1] + scan([truth])[0, 3]
        one = [list(row) for row in rows]
        full = next(row for row in one if row)
        full[0] = ("other words", *full[0][1:])
        assert teds(truth, html(one)) >= 1 - 1 / nodes - 1e-12


def test_transposing_both_keeps_grits() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        grids = [rng.choice(["a", "ab", "b", ""], (int(rng.integers(1, 5)), int(rng.integers(1, 5)))) for _ in range(2)]
        plain, turned = (
            [html([[(str(t), 1, 1) for t in row] for row in g]) for g in gs] for gs in (grids, [g.T for g in grids])
        )
        first, second = grits_con(*plain), grits_con(*turned)
        assert (first.f, first.bound) == pytest.approx((second.f, second.bound), abs=1e-12)


PIECES = (
    "<b>",
    "</b>",
    "<br>",
    "<td>",
    "</td>",
    "<th colspan='2'>",
    "<tr>",
    "</tr>",
    "<thead>",
    "<p>",
    "&amp;",
    "&nbsp;x",
    "<td rowspan=2>",
    "<td colspan=zz>",
    "<!-- c -->",
    "<",
    "<caption>c</caption>",
    "<li>",
    "<script>a<b</script>",
    "&#65;",
    "<table>",
)


def test_the_native_core_is_the_definition() -> None:
    """Damaged HTML: the same cells, trees and grids as plain Python makes of it."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        rows = draw_rows(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
        pair = []
        for text in (html(rows), html(changed_rows(rng, rows))):
            for _ in range(int(rng.integers(0, 5))):
                at = int(rng.integers(14, len(text)))
                text = text[:at] + str(rng.choice(PIECES)) + text[at:]
            pair.append(text)
        truth, reply = pair
        cells = [
            [tuple(c.__dict__.values()) for t in read(reply) for c in t.cells]
            for read in (parse_tables, reference.parse_tables)
        ]
        assert cells[0] == cells[1]
        for settings in ({}, {"header": True}, {"inline": "tokens"}, {"structure": True}):
            assert teds(truth, reply, **settings) == pytest.approx(reference.teds(truth, reply, **settings), abs=1e-12)  # type: ignore[arg-type]
        assert grits_top(truth, reply).f == pytest.approx(reference.grits_top(truth, reply).f, abs=1e-12)
        for text in ("lcs", "difflib"):
            own, other = grits_con(truth, reply, text=text), reference.grits_con(truth, reply, text=text)  # type: ignore[arg-type]
            assert (own.f, own.bound) == pytest.approx((other.f, other.bound), abs=1e-12)


def test_replies_that_are_none_score_zero_and_are_counted() -> None:
    truth = side(*[wrapped(TWO)] * 4)
    reply = {"table": ["t0", "t1", "t2"], "html": [wrapped(TWO), "a list", "<table><tr><td>a<td>1<tr><td>b<td>2"]}
    report = sy.evaluate("tables", truth, reply, ["teds"], confidence=None)
    assert report["teds"].value == pytest.approx(2 / 4)
    notes = " ".join(report["teds"].notes)
    assert "1 of 4 tables has no reply" in notes
    assert "1 of 4 replies holds no table" in notes
    assert "</table>" in notes


def test_bare_tables_are_named_under_the_published_rules() -> None:
    report = sy.evaluate(
        "tables",
        side(f"<table>{TWO}</table>"),
        side(f"<table>{TWO}</table>"),
        ["teds(rules=pubtabnet)"],
        confidence=None,
    )
    assert report["teds(rules=pubtabnet)"].value == 0.0
    assert "<html><body>" in " ".join(report["teds(rules=pubtabnet)"].notes)


def test_pubtabnet_lines_and_replies_by_name(tmp_path: Path) -> None:
    tokens = [
        "<thead>",
        "<tr>",
        "<td",
        ' colspan="2"',
        ">",
        "</td>",
        "</tr>",
        "</thead>",
        "<tbody>",
        "<tr>",
        "<td>",
        "</td>",
        "<td>",
        "</td>",
        "</tr>",
        "</tbody>",
    ]
    cells = [{"tokens": ["<b>", "h", "</b>"], "bbox": [0, 0, 2, 1]}, {"tokens": ["a", "&"]}, {"tokens": []}]
    entry = {"filename": "x.png", "split": "val", "imgid": 1, "html": {"structure": {"tokens": tokens}, "cells": cells}}
    (tmp_path / "truth.jsonl").write_text(json.dumps(entry) + "\n")
    (tmp_path / "reply.json").write_text(json.dumps({"x": "<table><tr><td colspan=2>h<tr><td>a&amp;<td></table>"}))
    assert scores(str(tmp_path / "truth.jsonl"), str(tmp_path / "reply.json"), "teds", "shape") == [1.0, 1.0]
    (tmp_path / "reply.json").write_text(json.dumps({"x": "| h |"}))  # a reply without a table is read, too
    assert scores(str(tmp_path / "truth.jsonl"), str(tmp_path / "reply.json"), "teds") == [0.0]
    values = scores(str(tmp_path / "truth.jsonl"), str(tmp_path / "truth.jsonl"), "grits_loc")
    assert values == pytest.approx([2 / 4])  # of four places two have a box


def test_a_line_of_pubtabnet_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    """Separators of lines and paragraphs (U+2028, U+2029, U+0085) may stand in a text of JSON."""
    text = "<table><tr><td>a\u2028b\u2029c\x85d</td></tr></table>"
    entry = {"filename": "x.png", "html": {"structure": {"tokens": ["<tr>", "<td>", "</td>", "</tr>"]}, "cells": []}}
    entry["html"]["cells"] = [{"tokens": list("a\u2028b\u2029c\x85d")}]  # type: ignore[index]
    (tmp_path / "truth.jsonl").write_text(json.dumps(entry, ensure_ascii=False) + "\r\n", encoding="utf-8")
    (tmp_path / "reply.json").write_text(json.dumps({"x": text}))
    assert scores(str(tmp_path / "truth.jsonl"), str(tmp_path / "reply.json"), "teds") == [1.0]


def test_a_folder_of_html(tmp_path: Path) -> None:
    for name in ("truth", "reply"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.html").write_text(wrapped(TWO))
    assert scores(str(tmp_path / "truth"), str(tmp_path / "reply"), "teds") == [1.0]


def test_cells_and_annotations_of_pubtables(tmp_path: Path) -> None:
    cells = [
        {"row_nums": [0], "column_nums": [0, 1], "bbox": [0, 0, 20, 10], "cell_text": "h", "is_column_header": True},
        {"row_nums": [1], "column_nums": [0], "bbox": [0, 10, 10, 20], "cell_text": "a"},
        {"row_nums": [1], "column_nums": [1], "bbox": [10, 10, 20, 20], "cell_text": "b"},
    ]
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "t.json").write_text(json.dumps(cells))
    boxes = [
        ("table row", 0, 0, 20, 10),
        ("table row", 0, 10, 20, 20),
        ("table column", 0, 0, 10, 20),
        ("table column", 10, 0, 20, 20),
        ("table spanning cell", 0, 0, 20, 10),
        ("table column header", 0, 0, 20, 10),
    ]
    objects = "".join(
        f"<object><name>{n}</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax><ymax>{d}</ymax></bndbox></object>"
        for n, a, b, c, d in boxes
    )
    words = [
        {"bbox": [9, 4, 11, 6], "text": "h"},
        {"bbox": [4, 14, 6, 16], "text": "a"},
        {"bbox": [14, 14, 16, 16], "text": "b"},
    ]
    (tmp_path / "voc").mkdir()
    (tmp_path / "voc" / "t.xml").write_text(f"<annotation>{objects}</annotation>")
    (tmp_path / "voc" / "t_words.json").write_text(json.dumps(words))
    values = scores(str(tmp_path / "voc"), str(tmp_path / "cells"), "teds", "grits_loc", "cell_f1", "teds(header=true)")
    assert values == [1.0, 1.0, 1.0, 1.0]


def test_bad_truths_and_replies_are_refused() -> None:
    good = side(wrapped(TWO))
    with refuses("E-invalid-value"):
        scores(side("a list"), good, "teds")
    with refuses("E-conflict"):
        scores(good, side(wrapped(TWO) + wrapped(TWO)), "teds")
    assert scores(good, side(wrapped(TWO) + wrapped(TWO)), "teds", options={"several": "first"}) == [1.0]
    with refuses("E-too-large"):
        scores(side(wrapped("<tr>" + "<td>" * 5000)), good, "teds")
    with refuses("E-missing-column"):
        scores(good, good, "grits_loc")
    with refuses("E-shape-mismatch"):
        scores({**good, "boxes": ["[null]"]}, {**good, "boxes": ["[]"]}, "grits_loc")
    for code, box in (
        ("E-out-of-range", "[10, 10, 8, 8]"),
        ("E-invalid-value", "[NaN, 0, 1, 1]"),
        ("E-invalid-value", "5"),
    ):
        boxed = {**good, "boxes": [f"[{', '.join([box] * 2)}]"]}
        with refuses(code, "boxes"):
            scores(boxed, boxed, "grits_loc")
    large = side(wrapped("<tr>" + "<td>" * 5000))
    report = sy.evaluate("tables", good, large, ["teds", "grits_con", "cell_f1"], confidence=None)
    assert [report[name].value for name in ("teds", "grits_con", "cell_f1")] == [0.0, 0.0, 0.0]
    assert "too large" in " ".join(report["teds"].notes)


def test_edits_in_words() -> None:
    head = '<tr><td colspan="2">h</td></tr>'
    path = edit_path(wrapped(head + TWO), wrapped("<tr><td>h</td></tr><tr><td>a</td><td>7</td></tr>"))
    assert path is not None
    assert path.words == ("colspan 2 → 1 in row 1, column 1", "'1' → '7' in row 2, column 2", "row 3 lost")
    assert path.true_cells == ("span", "right", "text", "lost", "lost")
    assert path.reply_cells == ("span", "right", "text")
    assert in_words(path) == "; ".join(path.words) + "."
    same = edit_path(wrapped(TWO), wrapped(TWO))
    assert same is not None
    assert in_words(same) == "No edits."
    more = edit_path(wrapped(TWO), wrapped("<tr><td>a</td><td>1</td><td>x</td></tr><tr><td>b</td></tr>"))
    assert more is not None
    assert more.words == ("row 1, column 3 of the reply is new", "row 2, column 2 lost")
    assert edit_path(wrapped(TWO), "a list") is None


def test_costs_of_the_path_are_the_distance() -> None:
    """Without texts, rows and cells that are lost or new and cells with other spans are what TEDS charges."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        rows = draw_rows(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
        texts = [html([[("", *cell[1:]) for cell in row] for row in r]) for r in (rows, changed_rows(rng, rows))]
        path = edit_path(*texts)
        assert path is not None
        nodes = max(table.rows + len(table.cells) for table in (path.truth, path.reply))
        cells = path.true_cells.count("lost") + path.true_cells.count("span") + path.reply_cells.count("new")
        whole = sum("column" not in word for word in path.words)
        assert teds_struct(*texts) == pytest.approx(1 - (cells + whole) / nodes, abs=1e-12)


def test_tools_explained() -> None:
    bold = CASES["bold_lost"]
    report = sy.evaluate(
        "tables",
        side(bold["truth"], f"<table>{TWO}</table>"),
        side(bold["prediction"], f"<table>{TWO}</table>"),
        ["teds"],
        explain=["pubtabnet", "omnidocbench", "microsoft"],
        confidence=None,
    )
    tools = {explanation.tool: explanation for explanation in report.explanations}
    ibm = tools["pubtabnet"]
    assert ibm.ours["teds"] == 1.0
    assert ibm.theirs["teds"] == pytest.approx(bold["IBM TEDS"] / 2)  # the bare table scores 0
    steps = {step.setting: step.values["teds"] for step in ibm.steps}
    assert steps["where a table is looked for"] == pytest.approx(0.5)
    assert steps["tags inside cells"] == pytest.approx((1 + 1 - 2 / 3 / 6) / 2)
    blanks = CASES["spaces_in_cell"]
    report = sy.evaluate("tables", side(blanks["truth"]), side(blanks["prediction"]), ["teds"], explain=["pubtabnet"])
    steps = {step.setting: step.values["teds"] for step in report.explanations[0].steps}
    assert steps["texts of cells"] == pytest.approx(blanks["IBM TEDS"])
    assert tools["omnidocbench"].theirs["teds"] == pytest.approx((bold["OmniDocBench TEDS"] + 1) / 2)
    assert tools["microsoft"].theirs["grits_con"] == pytest.approx(1.0)


def test_what_the_page_shows() -> None:
    truth = side(wrapped(TWO), wrapped(TWO), wrapped(TWO))
    reply = side(wrapped(TWO), wrapped(TWO.replace(">b<", ">c<")), "a list")
    report = sy.evaluate("tables", truth, reply, ["teds"])
    pairs, state = report.details.pairs, report.details.state
    counts = views.cell_outcomes(pairs)
    assert counts.values[:, 0].tolist() == [7, 1, 0, 4, 0]
    assert views.score_histogram(pairs).columns["count"].sum() == 3
    assert views.score_by_size(pairs).columns["y"] == pytest.approx([5 / 6])  # of 1, 5/6 and 0
    listed = views.listing(pairs, state)
    assert listed.columns["edits"].names[1] == "'b' → 'c' in row 2, column 1."
    scene = views.scene(pairs, 1, report.details.metrics[0])
    assert [raster.title for raster in scene.rasters] == ["Truth", "Reply"]
    assert scene.summary == "'b' → 'c' in row 2, column 1."
    silent = views.scene(pairs, 2, report.details.metrics[0])
    assert [raster.title for raster in silent.rasters] == ["Truth"]
    assert [name for name, _ in silent.legend] == ["lost"]
