"""Task `documents`: goldens of OmniDocBench, the matching of runs against a plain sketch, laws of the design by hand.

tests/goldens/documents.json was made by OmniDocBench 1.6.0 and by a sketch of the matching in Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import check_names, refuses
from support.shown import check_listing

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.scene import BoxShape, LineShape
from steelyard.language import edits
from steelyard.tasks.documents import views
from steelyard.tasks.documents.data import document_of
from steelyard.tasks.documents.markup import cut_page
from steelyard.tasks.documents.matching import FORMULA, TEXT, TITLE
from steelyard.tasks.documents.texts import normalise, normalise_formula

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "documents.json").read_text(encoding="utf-8"))
PAGES: dict[str, Any] = GOLDENS["pages"]
A = "The first paragraph says that scales are read with care and that numbers are kept."
B = "A second paragraph goes on about tables, their rows and what columns may hold."
C = "In the third one nothing much happens except that the page comes to an end."
STRANGE = "Completely other words were written here by a model that dreams of rivers and boats."
Side = dict[str, list[Any]]


def blocks(*texts: str | tuple[str, str], page: str = "p") -> Side:
    """A page of blocks in reading order."""
    pairs = [("text", text) if isinstance(text, str) else text for text in texts]
    return {
        "page": [page] * len(pairs),
        "block": [f"{page}{i}" for i in range(len(pairs))],
        "type": [kind for kind, _ in pairs],
        "text": [text for _, text in pairs],
        "order": list(range(1, len(pairs) + 1)),
    }


def pages(*sides: Side) -> Side:
    return {name: [value for side in sides for value in side[name]] for name in sides[0]}


def markdown(*lines: str, page: str = "p", between: str = "\n\n") -> Side:
    return {"page": [page], "markdown": [between.join(lines)]}


def scores(truth: Any, predictions: Any, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("documents", truth, predictions, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def golden_page(name: str) -> tuple[Side, Side]:
    page = PAGES[name]
    text = page["prediction"]
    return blocks(*map(tuple, page["blocks"]), page=name), {"page": [name], "markdown": [text or ""]}


@pytest.mark.parametrize(("text", "expected"), GOLDENS["texts"]["text"])
def test_texts_as_omnidocbench(text: str, expected: str) -> None:
    assert normalise(text, "omnidocbench") == expected


@pytest.mark.parametrize(("formula", "expected"), GOLDENS["texts"]["formula"])
def test_formulas_as_omnidocbench(formula: str, expected: str) -> None:
    assert normalise_formula(formula) == expected


IN_TEXTS = [
    ("speed $\\hbar\\omega$, real part $\\Re z$", "speedħωrealpartz"),
    ("$\\varkappa \\beth$", "ϰℶ"),
    ("\\(\\hat{a}\\) and \\(\\tilde n\\)", "âandñ"),
    ("M$\\ddot{u}$ller, Andr\\(\\acute{e}\\)", "MüllerAndré"),
    ("$\\dot{x}_1 = \\ddot{x}$", "ẋ_1ẍ"),
    ("$\\Gamma\\hat x$", "Γx"),
    ("$\\hat{\\i}$", "î"),
    ("$\\bar{x} + \\vec{v}$", "xv"),
    ("$\\sqrt[3]{x}$", "x"),
    ("$a\\hspace{1cm}b$", "ab"),
    ("$\\texttt{id}_1$", "_1"),
    ("$\\textcolor{red}{x}$", "x"),
    ("$\\mathbb{R}^n$", "ℝn"),
    ("$\\mathbf x$", "𝐱"),
    ("$\\mathit{h}$", "ℎ"),
    ("$\\mathcal{F}_{1}$", "ℱ_1"),
    ("$\\mathfrak{C}$", "ℭ"),
    ("$\\frac{a}{b}$", "ab"),
    ("$x_{i}^{2}$", "x_i2"),
    ("$\\alpha²$", "α²"),
    ("$\\alpha角$", ""),  # one name of a command
    ("$\\sin\\theta$", "sinθ"),
    ("costs \\$5 and \\$6", "costs5and6"),
    ("$a & b_1$", "ab_1"),
    ("$x^{2$", "x2"),
    ("$\\left( x \\right)^2$", "x2"),
    ("$\\left( x^2$", "leftx2"),
    ("$the whole story ends here_$", "thewholestoryendshere_"),
    ("Ⓐ ⓑ ⑳", "Ab20"),
]


@pytest.mark.parametrize(("text", "expected"), IN_TEXTS)
def test_formulas_in_texts_as_omnidocbench(text: str, expected: str) -> None:
    """What OmniDocBench 1.6.0 with pylatexenc 2.10 leaves of texts with inline formulas."""
    assert normalise(text, "omnidocbench") == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("\\(x\\) and \\[y = 1\\]", "x"),
        ("\\tag*{a} x_{1}", "x_1"),
        ("x\\tag{1\\\\ y", "x{1\\\\y"),
        ("\\phantom{00}1", "1"),
        ("\\phantom{0 1", "{01"),
        ("{{a}}+{b+c}", "a+b+c"),
        ("\\hspace{1cm}x\\mid y", "x|y"),
        ("$$\\[x\\]$$", "x"),
        ("\\operatorname{rank} A^{T}", "ranka^t"),
        ("\\left\\{ a \\right\\}.", "a"),
    ],
)
def test_marks_of_formulas_as_omnidocbench(formula: str, expected: str) -> None:
    """What OmniDocBench 1.6.0 leaves of formulas with tags, fonts and braces."""
    assert normalise_formula(formula) == expected


@pytest.mark.parametrize("name", PAGES)
def test_runs_as_the_sketch(name: str) -> None:
    """Edits and lengths of each page, with surplus text free and charged."""
    sketch = PAGES[name]["sketch of runs"]
    values = scores(*golden_page(name), "text_edit(norm=omnidocbench, surplus=free)", "text_edit(norm=omnidocbench)")
    expected = [sketch[way][0] / sketch[way][1] if sketch[way][1] else float("nan") for way in ("free", "charged")]
    assert values == pytest.approx(expected, abs=0, nan_ok=True)


def test_runs_as_omnidocbench_where_nothing_is_invented() -> None:
    """The number of quick_match on 37 of 39 pages; a stranger is not a match here, and letters of the other case count."""
    differ = set()
    for name, page in PAGES.items():
        quick = page["OmniDocBench quick_match"].get("text_block")
        if quick is None:
            continue
        (values,) = scores(*golden_page(name), "text_edit(norm=omnidocbench, surplus=free)")
        if values != pytest.approx(quick["Edit_dist"]["ALL_page_avg"], abs=1e-12):
            differ.add(name)
    assert differ == {"invented", "case"}


def plain_runs(truth: list[str], said: list[str]) -> list[list[int]]:
    """The matching of runs, written plainly: all candidates, sorted."""
    values = []

    def offer(one: str, other: str, places: tuple[int, int, int, int]) -> None:
        longer = max(len(one), len(other))
        distance = int(edits.text_distances([one], [other])[0])
        if distance <= 0.7 * longer:
            values.append((-(len(one) + len(other) - 2 * distance), places, distance, longer))

    for i, block in enumerate(truth):
        for a in range(len(said)):
            for b in range(a, len(said)):
                joined = "".join(said[a : b + 1])
                if b > a and len(joined) > 1.35 * len(block) + 40:
                    break
                offer(block, joined, (i, i, a, b))
    for a, piece in enumerate(said):
        for i in range(len(truth)):
            for j in range(i + 1, len(truth)):
                joined = "".join(truth[i : j + 1])
                if len(joined) > 1.35 * len(piece) + 40:
                    break
                offer(joined, piece, (i, j, a, a))
    taken: tuple[set[int], set[int]] = (set(), set())
    result = []
    for _, (i, j, a, b), distance, longer in sorted(values):
        if taken[0].isdisjoint(range(i, j + 1)) and taken[1].isdisjoint(range(a, b + 1)):
            taken[0].update(range(i, j + 1))
            taken[1].update(range(a, b + 1))
            result.append([i, j, a, b, distance, longer])
    return result


def native_runs(truth: list[str], said: list[str]) -> list[list[int]]:
    sides = []
    for texts in (truth, said):
        sides += [*edits.characters(texts), np.zeros(len(texts), np.uint32), np.array([len(texts)], np.int64)]
    return _native.match_runs(*sides, 1.35, 40.0, 0.7).tolist()


def test_lazy_matching_is_the_plain_one() -> None:
    """Drawn pages whose texts are near to one another, so that many candidates compete and tie."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        alphabet = list("abcd")[: int(rng.integers(1, 5))]
        sides = [
            ["".join(rng.choice(alphabet, rng.integers(1, 90))) for _ in range(int(rng.integers(0, 8)))]
            for _ in range(2)
        ]
        if rng.random() < 0.5 and sides[0]:
            sides[1] += [text[: int(rng.integers(1, len(text) + 1))] for text in sides[0]]
        assert native_runs(*sides) == plain_runs(*sides)


# Laws of the design ------------------------------------------------------------------------------------------------------
TABLE = "<table><tr><td>a</td><td>1</td></tr></table>"
PAGE = blocks(("header", "Annual report"), ("title", "Results"), A, ("table", TABLE), B, ("formula", "$$x = 1$$"), C)
LINES = ("Annual report", "# Results", A, TABLE, B, "$$x = 1$$", C)
BEST_ZERO = ("text_edit", "missing", "surplus", "order_edit", "order_moved", "formula_edit", "page_edit", "cer", "wer")


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n\n\n"])
@pytest.mark.parametrize("norm", ["words", "omnidocbench", "as_is"])
def test_truth_as_its_own_reply(between: str, norm: str) -> None:
    names = [f"{name}(norm={norm})" for name in BEST_ZERO]
    assert scores(PAGE, markdown(*LINES, between=between), *names) == [0] * len(names)


def test_permuting_a_reply_changes_the_order_alone() -> None:
    names = ("text_edit", "missing", "surplus", "cer", "order_edit", "order_moved")
    straight = scores(blocks(A, B, C), markdown(A, B, C), *names)
    swapped = scores(blocks(A, B, C), markdown(B, A, C), *names)
    assert straight == [0, 0, 0, 0, 0, 0]
    assert swapped == [0, 0, 0, 0, 2 / 3, 1 / 3]


def test_surplus_never_improves() -> None:
    """Text that is like no block of the page: it has none of its letters."""
    digits = "0123456789" * 8
    names = ("text_edit", "surplus", "missing", "order_edit")
    for reply in ((A, B[:50], C), (A, B, C), (A, C[:30]), (B,)):
        before = scores(blocks(A, B, C), markdown(*reply), *names)
        after = scores(blocks(A, B, C), markdown(*reply, digits), *names)
        assert all(late >= early for early, late in zip(before, after, strict=True))
        assert after[0] > before[0]
    (surplus,) = scores(blocks(A, B), markdown(A, B, digits), "surplus")
    assert surplus == 80 / (len(A) + len(B) + 80)


def test_splitting_and_joining_costs_nothing() -> None:
    """Where a reply is cut or joined at blanks, the text is as good as before."""
    first, second = A[:41].rstrip(), A[41:].lstrip()
    for reply in ([first, second, B, C], [f"{A} {B}", C], [f"{A} {B} {C}"], [f"{A}\n{B}", C]):
        assert scores(blocks(A, B, C), markdown(*reply), "text_edit", "order_edit") == [0, 0]


def test_pages_in_any_order() -> None:
    sides = [blocks(A, B, page="x"), blocks(C, page="y"), blocks(B, A, page="z")]
    reply = {"page": ["x", "y", "z"], "markdown": [B, STRANGE, f"{A}\n{B}"]}
    turned = {name: values[::-1] for name, values in reply.items()}
    names = ("text_edit", "order_edit", "surplus", "missing")
    assert scores(pages(*sides), reply, *names) == scores(pages(*sides[::-1]), turned, *names)


def test_tables_as_omnidocbench() -> None:
    """TEDS of all golden pages with a table, over tables and over pages; a surplus table is free there."""
    for name, page in PAGES.items():
        golden = page["OmniDocBench quick_match"].get("table")
        if golden is None:
            continue
        settings = "rules=omnidocbench, surplus=free"
        values = scores(
            *golden_page(name),
            f"table_teds({settings}, average=table)",
            f"table_teds({settings})",
            f"table_teds_struct({settings})",
        )
        means = golden["mean over pages"]
        expected = [golden["TEDS"]["all"], means["TEDS"], means["TEDS_structure_only"]]
        assert values == pytest.approx(expected, abs=1e-12), name


def test_surplus_and_lost_tables() -> None:
    """One right table and one that the page does not have; a page without tables whose reply has one; a lost table."""
    truth = pages(blocks(A, ("table", TABLE), page="x"), blocks(A, page="y"), blocks(A, ("table", TABLE), page="z"))
    other = TABLE.replace(">a<", ">q<")
    reply = {"page": ["x", "y", "z"], "markdown": [f"{A}\n{TABLE}\n{other}", f"{A}\n{TABLE}", A]}
    names = ("table_teds", "table_teds(surplus=free)", "table_teds(average=table)", "table_grits_con", "order_edit")
    assert scores(truth, reply, *names) == pytest.approx([0.5 / 3, 0.5, 0.25, 0.5 / 3, 0.5 / 3])


PRESET = (
    "text_edit(norm=omnidocbench, surplus=free)",
    "text_edit(norm=omnidocbench, average=whole, surplus=free)",
    "text_edit(norm=omnidocbench, average=block, surplus=free)",
    "order_edit(norm=omnidocbench, order=first_table_lost)",
    "formula_edit(norm=omnidocbench, surplus=free)",
)


@pytest.mark.parametrize("name", PAGES)
def test_preset_as_omnidocbench(name: str) -> None:
    """Text, order and formulas of quick_match on every golden page, its faults of the order included."""
    quick = PAGES[name]["OmniDocBench quick_match"]

    def golden(element: str, mean: str) -> float:
        return quick.get(element, {}).get("Edit_dist", {}).get(mean, float("nan"))

    expected = [
        golden("text_block", "ALL_page_avg"),
        golden("text_block", "edit_whole"),
        golden("text_block", "edit_sample_avg"),
        golden("reading_order", "ALL_page_avg"),
        golden("display_formula", "ALL_page_avg"),
    ]
    values = scores(*golden_page(name), *PRESET, options={"preset": "omnidocbench"})
    assert values == pytest.approx(expected, abs=1e-12, nan_ok=True)


COUNTS = ("edits", "length")


def matches_of(name: str, **options: str) -> tuple[Any, Any]:
    """Pairs and matches of a golden page."""
    report = sy.evaluate(
        "documents", *golden_page(name), "text_edit(norm=omnidocbench)", confidence=None, options=options
    )
    pairs = report.details.pairs
    return pairs, pairs.matches("omnidocbench")


@pytest.mark.parametrize("name", PAGES)
def test_matches_as_omnidocbench(name: str) -> None:
    """Blocks, place on the page, edits and length of each match of a text, and what is lost.

    Places behind a table of pipes differ: OmniDocBench writes it as HTML first, which is longer.
    """
    pairs, matches = matches_of(name, preset="omnidocbench")
    number = np.cumsum(matches.length > 0) - 1
    scored = ~pairs.left & np.isin(pairs.true.kind, (TEXT, TITLE)) & (matches.length > 0)
    ours = [
        ([int(number[place]) for place in group], position, edited, longer)
        for group, position, edited, longer in zip(
            matches.block.lists(),
            matches.position.tolist(),
            matches.edits.tolist(),
            matches.longer.tolist(),
            strict=True,
        )
        if scored[group].any()
    ]
    for place in matches.missing[scored[matches.missing]].tolist():
        ours.append(([int(number[place])], "", int(matches.length[place]), int(matches.length[place])))
    golden = [
        (
            m["gt_idx"],
            m["pred_position"] if m["pred_position"] == "" else float(m["pred_position"]),
            *map(m.get, COUNTS),
        )
        for m in PAGES[name]["matches"]["text_block"]
    ]
    if name == "pipe_table":
        ours, golden = ([(blocks, "", *counts) for blocks, _, *counts in side] for side in (ours, golden))
    assert sorted(ours, key=str) == sorted(golden, key=str)


FAR = [
    (  # an inline formula is an item of its own, which the repair of far texts may not leave
        [("text_block", "$\\alpha$"), ("header", "read mean bread menu")],
        "$\\aljha$",
        [([1], 0, 5, 5)],
    ),
    (  # a text that only a formula is left for is compared with it as a text
        [("text_block", "lunch")],
        "soup $x_i \\le y_i$ menu menu warm",
        [([1], 5, 7, 8)],
    ),
    (  # runs that overlap compete
        [
            ("title", "bread river"),
            ("equation_isolated", "$$E = mc^2$$"),
            ("header", "rice $N$"),
            ("title", "river boat"),
            ("text_block", "happens care care lunch"),
        ],
        "bread\n\nriver\n\n$$f(x)=\\sin x$$\n\nrice $N$\n\nriver boat happens scale \\(a_b\\) end nothing happens third boat "
        "soup $10^{-3}$ grams $10^{-3}$ plate end $x_1^2$ guests twice third $x_1^2$ number boat scale third paper",
        [([1], 0, 0, 10), ([4], 33, 113, 122), ([5], 14, 18, 20)],
    ),
    (  # items of which nothing is left stand before the text that the repair finds
        [
            ("text_block", "third $x_i \\le y_i$"),
            ("text_block", "sheet twice"),
            ("equation_isolated", "$$\\int_0^1 x dx = 3$$"),
            ("text_block", "bread nothing"),
        ],
        "$\\int_0^1 x dx = 3$\n\n***\n\n—\n\nthird $x_i \\le y_i$ sheet twice\n\nbread nothing\n\n***",
        [([1], 35, 7, 11), ([2], 19, 11, 21), ([4], 22, 0, 12)],
    ),
    (  # two formulas that a text is compared with are written as an array, whose letters count
        [("text_block", "mean = 12 and x = y"), ("text_block", "rice soup")],
        "rice soup\n\n$$mean = 12$$\n\n$$and x = y$$",
        [([1], 11, 19, 30), ([2], 0, 0, 8)],
    ),
]


@pytest.mark.parametrize(("truth", "reply", "expected"), FAR, ids=["lone", "other", "runs", "vanished", "array"])
def test_far_texts_and_inline_formulas_as_omnidocbench(
    truth: list[tuple[str, str]], reply: str, expected: list[tuple[list[int], int, int, int]]
) -> None:
    """Order, place on the page, edits and length of each match of a text that OmniDocBench 1.6.0 makes."""
    report = sy.evaluate(
        "documents",
        blocks(*truth),
        markdown(reply),
        "text_edit(norm=omnidocbench)",
        confidence=None,
        options={"preset": "omnidocbench"},
    )
    matches = report.details.pairs.matches("omnidocbench")
    columns = (matches.block.lists(), matches.position, matches.edits, matches.longer)
    ours = [
        ([int(place) + 1 for place in group], int(position), int(edited), int(longer))
        for group, position, edited, longer in zip(*columns, strict=True)
        if {truth[place][0] for place in group} & {"title", "text_block"}
    ]
    assert sorted(ours) == expected


@pytest.mark.parametrize("name", PAGES)
def test_pairs_as_the_sketch(name: str) -> None:
    """Runs of blocks and lines, in the places of those that the sketch compares: texts of which something is left."""
    pairs, matches = matches_of(name)
    is_text = [
        (side.kind != FORMULA) & (size > 0)
        for side, size in ((pairs.true, matches.length), (pairs.reply, matches.size))
    ]
    first, second = (np.cumsum(mask) - 1 for mask in is_text)
    ours = [
        [[int(first[blocks[0]]), int(first[blocks[-1]])], [int(second[said[0]]), int(second[said[-1]])], edited, longer]
        for blocks, said, edited, longer in zip(
            matches.block.lists(), matches.piece.lists(), matches.edits.tolist(), matches.longer.tolist(), strict=True
        )
        if is_text[0][blocks[0]]
    ]
    sketch = PAGES[name]["sketch of runs"]
    assert sorted(ours) == sorted(sketch["pairs"])
    assert [int(first[i]) for i in matches.missing if is_text[0][i]] == sketch["missing"]
    assert [int(second[i]) for i in matches.surplus if is_text[1][i]] == sketch["surplus"]


def write_results(folder: Path, demo: dict[str, Any]) -> Path:
    """Result files with the edits, lengths, orders and TEDS of OmniDocBench's own 18 pages, and other texts."""
    texts = []
    for page, sums in demo["text by page"].items():
        right = "a" * (sums["length"] - sums["edits"])
        entry = {"gt": "", "pred": "", "norm_gt": "a" * sums["length"], "norm_pred": "b" * sums["edits"] + right}
        texts.append({"img_id": page, "gt_position": [1], "gt_attribute": [{}], **entry})
    tables = [
        {
            "img_id": page,
            "norm_gt": TABLE,
            "norm_pred": TABLE if said != [""] else "",
            "gt_position": [1],
            "metric": {"TEDS": teds, "TEDS_structure_only": structure},
        }
        for page, _, said, teds, structure in demo["tables"]
    ]
    orders = [{"img_id": page, "gt": true, "pred": said} for page, (true, said) in demo["order by page"].items()]
    for name, value in (("text_block", texts), ("table", tables), ("reading_order", orders)):
        (folder / f"model_quick_match_{name}_result.json").write_text(json.dumps(value), encoding="utf-8")
    return folder / "model_quick_match_text_block_result.json"


@pytest.mark.parametrize("name", ["end2end", "truth as Markdown"])
def test_results_of_omnidocbench_scored_again(name: str, tmp_path: Path) -> None:
    demo = GOLDENS["demo"][name]
    path = write_results(tmp_path, demo)
    for source in (path, tmp_path):
        report = sy.evaluate("documents", str(source), confidence=None)
        values = [report[spec].value for spec in report.scores]
        text, table = demo["scores"]["text_block"]["Edit_dist"], demo["scores"]["table"]
        assert values[:2] == pytest.approx([text["ALL_page_avg"], text["edit_whole"]], abs=1e-15)
        assert values[3] == pytest.approx(demo["scores"]["reading_order"]["Edit_dist"]["ALL_page_avg"], abs=1e-15)
        means = table["mean over pages"]
        expected = [means["TEDS"], table["TEDS"]["all"], means["TEDS_structure_only"]]
        assert values[4:7] == pytest.approx(expected, abs=1e-15)


def test_results_know_no_surplus_and_one_normalisation(tmp_path: Path) -> None:
    path = str(write_results(tmp_path, GOLDENS["demo"]["end2end"]))
    assert np.isnan(scores(path, None, "surplus(norm=omnidocbench)")[0])
    with refuses("E-conflict", "norm=words"):
        scores(path, None, "text_edit")
    (tmp_path / "other_table_result.json").write_text("[]", encoding="utf-8")
    with refuses("E-invalid-file", "2"):
        scores(str(tmp_path), None, *PRESET)


def test_overall_with_scores_of_formulas(tmp_path: Path) -> None:
    """Page p: text and table right, CDM 0.5 of two formulas; page q: a formula without a score counts 0."""
    formulas = [("formula", "$$x = 1$$"), ("formula", "$$y = 2$$")]
    truth = pages(blocks(A, ("table", TABLE), *formulas, page="p.jpg"), blocks(B, formulas[0], page="q.jpg"))
    reply = {"page": ["p.jpg", "q.jpg"], "markdown": [f"{A}\n{TABLE}\n$$x = 1$$\n$$y = 2$$", f"{B}\n$$x = 1$$"]}
    path = tmp_path / "cdm.json"
    path.write_text(json.dumps({"p.jpg_0_[0]": 0.25, "p.jpg_1_[1]": 0.75}), encoding="utf-8")
    scored = sy.evaluate("documents", truth, reply, "overall", confidence=None, options={"scores": str(path)})[
        "overall"
    ]
    assert scored.value == pytest.approx((1 + 1 + 0.25) / 3 * 100)
    assert scored.notes == ("1 of 2 pages has formulas without a CDM, and counts as 0.",)
    bare = sy.evaluate("documents", truth, reply, "overall", confidence=None)
    assert "CDM" in bare["overall"].undefined_reason
    path.write_text(json.dumps({"r.jpg_0_[0]": 0.25}), encoding="utf-8")
    with refuses("E-unmatched", "r"):
        scores(truth, reply, "overall", options={"scores": str(path)})


def test_a_page_given_twice_is_refused() -> None:
    with refuses("E-duplicate-key", "p"):
        scores(blocks(A), {"page": ["p", "p"], "markdown": [A, A]}, "text_edit")


def test_one_html_file_of_pages(tmp_path: Path) -> None:
    path = tmp_path / "reply.html"
    path.write_text(f"<!-- page x --><p>{A}</p><!-- page: y --><h1>{B}</h1>", encoding="utf-8")
    assert scores(pages(blocks(A, page="x"), blocks(B, page="y")), str(path), "text_edit", "order_edit") == [0, 0]


# By hand -----------------------------------------------------------------------------------------------------------------
def test_averages_by_hand() -> None:
    """Page x: 1 of 10 letters; page y: 2 missing of 4 letters, 4 of which are another piece's."""
    truth = pages(blocks("abcdefghij", page="x"), blocks("kl", "mnopqrst", page="y"))
    reply = {"page": ["x", "y"], "markdown": ["abcdefghix", "mnopqrsX\n0123456789"]}
    by_page = (1 / 10 + (1 + 2 + 10) / (8 + 2 + 10)) / 2
    assert scores(truth, reply, "text_edit") == [pytest.approx(by_page)]
    assert scores(truth, reply, "text_edit(average=whole)") == [pytest.approx((1 + 1 + 2 + 10) / (10 + 8 + 2 + 10))]
    assert scores(truth, reply, "text_edit(average=block)") == [pytest.approx((0.1 + 1 / 8 + 1 + 1) / 4)]
    assert scores(truth, reply, "text_edit(surplus=free)") == [pytest.approx((1 / 10 + (1 + 2) / (8 + 2)) / 2)]
    assert scores(truth, reply, "missing", "surplus") == [pytest.approx(2 / 20), pytest.approx(10 / 28)]


def test_repeated_text() -> None:
    """One of the two surplus lines is said again: a share of all characters of the reply."""
    said = len(A) + 2 * len(B) + len(STRANGE)
    expected = [len(B) / said, (len(B) + len(STRANGE)) / said]
    assert scores(blocks(A, B), markdown(A, B, B, STRANGE), "repeated", "surplus") == expected
    assert scores(blocks(A, B), markdown(A, B), "repeated") == [0]


def test_page_that_should_be_blank() -> None:
    """Charged it is all wrong, free it is left out; a blank page for a blank page is left out of both."""
    blank = {"page": ["p"], "block": ["none"], "type": ["blank"], "text": [""], "order": [None]}
    names = ("text_edit", "text_edit(surplus=free)", "surplus")
    assert scores(blank, markdown(A), *names) == pytest.approx([1, float("nan"), 1], nan_ok=True)
    assert all(np.isnan(scores(blank, {"page": ["p"], "markdown": [""]}, *names)))


def test_error_rates_keep_punctuation() -> None:
    """`norm=omnidocbench` hides what cer shows: 2 of 10 characters, 2 of 2 words."""
    truth, reply = blocks("ab, cd. ef"), markdown("ab; cd: ef")
    assert scores(truth, reply, "text_edit(norm=omnidocbench)", "cer", "wer") == pytest.approx([0, 0.2, 2 / 3])


def test_order_is_undefined_without_one() -> None:
    truth = blocks(A, B)
    del truth["order"]
    assert np.isnan(scores(truth, markdown(A, B), "order_edit")[0])
    assert np.isnan(scores({**truth, "order": [1, 1]}, markdown(A, B), "order_edit")[0])


def test_slices_match_whole_pages() -> None:
    """Block B is found among all pieces of its page; what belongs to no block is not in a slice of blocks."""
    truth = {**blocks(A, B, C), "language": ["en", "de", "en"]}
    report = sy.evaluate(
        "documents", truth, markdown(A, STRANGE, B[:-1] + "!"), ["text_edit"], by="language", confidence=None
    )
    values = {name: part["text_edit"].value for name, part in report.slices["language"].items()}
    assert values["de"] == pytest.approx(1 / len(B))
    assert values["en"] == pytest.approx(len(C) / (len(A) + len(C)))


def test_documents_of_pages() -> None:
    assert document_of("report_03_page_2.png") == "report_03"
    assert document_of("scan.pdf_7.jpg") == "scan"
    assert document_of("12.md") == "12"


def test_pages_without_a_document_are_grouped_by_their_names() -> None:
    """Two documents of two pages: as with the column, and a note says how they were named; other groups have none."""
    names = ["a_page_1.png", "a_page_2.png", "b_page_1.png", "b_page_2.png"]
    truth = pages(*(blocks(text, page=name) for name, text in zip(names, (A, B, C, A), strict=True)))
    reply = {"page": names, "markdown": [A, B[:-1] + "!", C, STRANGE]}
    named = {**truth, "document": ["a", "a", "b", "b"]}
    settings: Any = {"metrics": ["text_edit"], "draws": 100}
    for asked in ({"cluster": "document"}, {"by": "document"}, {"by": "document", "missing": "skip"}):
        derived = sy.evaluate("documents", truth, reply, **settings, **asked)
        stated = sy.evaluate("documents", named, reply, **settings, **asked)
        assert derived["text_edit"].interval == stated["text_edit"].interval
        (note,) = set(derived.notes) - set(stated.notes)
        check_names(note, "'document'", "`_page`")
        if "by" in asked:
            values = {name: part["text_edit"].value for name, part in derived.slices["document"].items()}
            assert values["a"] == pytest.approx((0 + 1 / len(B)) / 2)  # the mean of its two pages
            assert values == {name: part["text_edit"].value for name, part in stated.slices["document"].items()}
    compared = sy.compare("documents", truth, reply, reply, **settings, cluster="document")
    gathered = sy.Accumulator("documents", cluster="document", draws=100)
    gathered.update(truth, reply)
    gathered.compact(["text_edit"])
    for notes in (compared.notes, gathered.report(["text_edit"]).notes):
        assert sum("`_page`" in note for note in notes) == 1
    fewer = {name: column[:3] for name, column in reply.items()}
    report = sy.evaluate("documents", truth, fewer, **settings, cluster="document", missing="skip")
    assert any("`_page`" in note for note in report.notes)
    assert not any("`_page`" in note for note in sy.evaluate("documents", truth, reply, **settings).notes)


def test_reports_note_fences_and_open_tables() -> None:
    """A fence around a page is taken off, and a table without an end is read to the end of the page."""
    names = [f"p{i}" for i in range(4)]
    texts = [f"{A} {i}" for i in range(4)]
    truth = pages(*(blocks(text, page=name) for name, text in zip(names, texts, strict=True)))

    def notes(*changed: str) -> dict[str, str]:
        replies = {"page": names, "markdown": [*changed, *texts[len(changed) :]]}
        report = sy.evaluate("documents", truth, replies, ["text_edit"], confidence=None)
        return {code: note for code in ("fences", "cut-off") for note in report.notes if f"({code})" in note}

    assert notes() == {}
    fenced = notes(f"```markdown\n{texts[0]}\n```")
    check_names(fenced["fences"], "1 of 4", "has", "'p0'", "taken off")
    opened = notes(texts[0], f"{texts[1]}\n<table><tr><td>a")
    check_names(opened["cut-off"], "1 of 4", "has", "'p1'", "table", "read to the end")
    assert (len(fenced), len(opened)) == (1, 1)
    code = f"```\nx = 1\n```\n\n{texts[0]}"  # a page that begins with code is not a fenced one
    assert notes(code) == {}


# Readers -----------------------------------------------------------------------------------------------------------------
def test_markdown_is_cut() -> None:
    text = f"# Title\n\n**Bold** and <sup>up</sup> &amp; on\n![x](y.png)\n{TABLE}\n\\[ a = b \\]\n| a | 1 |\n|---|---|\n| b | 2 |\nend"
    cut = [(piece.kind, piece.text) for piece in cut_page(text).pieces]
    assert cut == [
        ("title", "Title"),
        ("text", "Bold and up & on"),
        ("table", TABLE),
        ("formula", "\\[ a = b \\]"),
        ("table", "<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>"),
        ("text", "end"),
    ]


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("## Head ##", "title", "Head"),
        ("# C#", "title", "C#"),
        ("####### seven", "text", "####### seven"),
        ("    # code", "text", "# code"),
        ("#tag", "text", "#tag"),
        ("a **b c** d **e", "text", "a b c d **e"),
        ("2 ** 3 ** 4", "text", "2 ** 3 ** 4"),
        ("![x](y.png) z", "text", "z"),
        ("![x] (y)", "text", "![x] (y)"),
        ("\\[ a = b", "text", "\\[ a = b"),
    ],
)
def test_lines_of_markdown(line: str, kind: str, text: str) -> None:
    assert [(piece.kind, piece.text) for piece in cut_page(line).pieces] == [(kind, text)]


def test_html_is_cut_by_tag() -> None:
    text = f"<html><head><title>x</title></head><body><h1>Head</h1><p>One <b>two</b></p><script>bad()</script>{TABLE}<footer>7</footer></body>"
    cut = [(piece.kind, piece.text) for piece in cut_page(text, "html").pieces]
    assert cut == [("title", "Head"), ("text", "One two"), ("table", TABLE), ("left_out", "7")]


def test_odd_pages() -> None:
    fenced = cut_page(f"```markdown\n{A}\n```")
    assert [piece.text for piece in fenced.pieces] == [A]
    assert fenced.odd == {"fence"}
    opened = cut_page("before\n<table><tr><td>a</td>")
    assert [piece.kind for piece in opened.pieces] == ["text", "table"]
    assert opened.odd == {"open table"}


def omnidocbench(*dets: dict[str, Any], relations: list[Any] | None = None, image: str = "a.pdf_3.png") -> list[Any]:
    info = {"image_path": f"images/{image}", "page_attribute": {"language": "english"}}
    return [{"layout_dets": list(dets), "extra": {"relation": relations or []}, "page_info": info}]


def det(number: int, text: str, kind: str = "text_block", **more: Any) -> dict[str, Any]:
    return {"category_type": kind, "anno_id": number, "order": number, "text": text, "attribute": {}, **more}


def test_omnidocbench_and_folders(tmp_path: Path) -> None:
    """Blocks that a relation joins are one; files may leave `.pdf` out of the page's name."""
    relation = {"source_anno_id": 1, "target_anno_id": 3, "relation_type": "truncated"}
    truth = omnidocbench(det(1, A[:40]), det(3, A[40:]), det(2, B), relations=[relation])
    (tmp_path / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    (tmp_path / "md").mkdir()
    (tmp_path / "md" / "a_3.md").write_text(f"{A}\n\n{B}\n", encoding="utf-8")
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "a.pdf_3.html").write_text(f"<p>{A}</p><div>{B}</div>", encoding="utf-8")
    for folder in ("md", "html"):
        report = sy.evaluate(
            "documents", str(tmp_path / "truth.json"), str(tmp_path / folder), by="language", confidence=None
        )
        assert [score.value for score in report.scores.values()] == [0, 0, 0, 0]
        assert list(report.slices["language"]) == ["english"]


@pytest.mark.parametrize(
    ("first", "second", "reply"),
    [
        (A[:40], A[41:], A),
        (f"{A[:40]} ", A[41:], A),
        ("Weights are given in milli-", "grams and in cups.", "Weights are given in milli-grams and in cups."),
        ("这是第一段的开头部分文字", "它在另一栏继续下去。", "这是第一段的开头部分文字它在另一栏继续下去。"),
    ],
)
def test_words_of_blocks_that_a_relation_joins_stay_apart(tmp_path: Path, first: str, second: str, reply: str) -> None:
    """The first block does not end in a blank; a hyphen and Chinese need none. A page of HTML is named like a file."""
    relation = {"source_anno_id": 1, "target_anno_id": 2, "relation_type": "truncated"}
    truth = omnidocbench(det(1, first), det(2, second), relations=[relation])
    (tmp_path / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    (tmp_path / "reply.html").write_text(f"<!-- page a_3 --><p>{reply}</p>", encoding="utf-8")
    assert scores(str(tmp_path / "truth.json"), str(tmp_path / "reply.html"), "text_edit") == [0]


def test_tables_and_formulas_that_also_have_a_text(tmp_path: Path) -> None:
    """The HTML of a table and the LaTeX of a formula count, not a text beside them."""
    kinds = ("table", "equation_isolated")
    dets = [det(1, "a 1", kinds[0], html=TABLE, latex="x"), det(2, "x is 1", kinds[1], latex="$$x = 1$$")]
    (tmp_path / "truth.json").write_text(json.dumps(omnidocbench(*dets)), encoding="utf-8")
    reply = {"page": ["a.pdf_3.png"], "markdown": [f"{TABLE}\n\n$$x = 1$$"]}
    rows = {"page": ["a.pdf_3.png"] * 2, "type": kinds, "text": ["a 1", "x is 1"], "order": [1, 2]}
    for truth in (str(tmp_path / "truth.json"), {**rows, "html": [TABLE, ""], "latex": ["", "$$x = 1$$"]}):
        assert scores(truth, reply, "table_teds", "formula_edit") == [1, 0]


def test_relations_and_names_that_do_not_fit(tmp_path: Path) -> None:
    truth, folder = tmp_path / "truth.json", tmp_path / "md"
    folder.mkdir()
    (folder / "a.pdf_3.md").write_text(A, encoding="utf-8")
    relation = {"source_anno_id": 1, "target_anno_id": 9, "relation_type": "truncated"}
    truth.write_text(json.dumps(omnidocbench(det(1, A), relations=[relation])), encoding="utf-8")
    with refuses("E-unmatched", "9", "page 0"):
        scores(str(truth), str(folder), "text_edit")
    truth.write_text(json.dumps(omnidocbench(det(1, A))), encoding="utf-8")
    (folder / "a_3.md").write_text(A, encoding="utf-8")
    with refuses("E-conflict", "a.pdf_3.md", "a_3.md"):
        scores(str(truth), str(folder), "text_edit")
    (folder / "a_3.md").rename(folder / "b_3.md")
    with refuses("E-unmatched", "b_3"):
        scores(str(truth), str(folder), "text_edit")


# Checks ------------------------------------------------------------------------------------------------------------------
def many(text: str, count: int = 6) -> Side:
    return {"page": [f"p{i}" for i in range(count)], "markdown": [text.replace("#", str(i)) for i in range(count)]}


LONG = "page # has many words " * 30
CHECKED = {
    "single-line-feeds": "one #\ntwo\nthree\nfour\nfive",
    "page-repeated": "the very same reply for every page of the document",
    "fences": "```markdown\none #\n```",
    "cut-off": LONG,
    "latex-tables": "one #\n\n\\begin{tabular}{l} a \\end{tabular}",
}


@pytest.mark.parametrize("code", CHECKED)
def test_checks_of_replies(code: str) -> None:
    truth = pages(*(blocks(f"{A} {i}", page=f"p{i}") for i in range(6)))
    healthy = {"page": truth["page"], "markdown": [f"# Head\n\n{text}." for text in truth["text"]]}
    assert not sy.check("documents", truth, healthy).findings
    assert sy.check("documents", truth, many(CHECKED[code]))[code].count >= 2


def test_checks_of_sides_and_orders() -> None:
    truth = pages(*(blocks(f"{A} {i}", B, page=f"p{i}") for i in range(6)))
    reply = {"page": [f"p{i}" for i in range(6)], "markdown": [f"{A} {i}.\n\n{B}" for i in range(6)]}
    assert sy.check("documents", reply, truth)["sides-swapped"].severity == "error"
    assert sy.check("documents", {**truth, "order": [1] * 12}, reply)["no-order"].count == 6
    one = {**truth, "order": [1, 1, *truth["order"][2:]]}
    check_names(sy.check("documents", one, reply)["no-order"].what, "1 of 6 pages has no reading order", "'p0'")
    empty = {**reply, "markdown": [*reply["markdown"][:5], " "]}
    assert sy.check("documents", truth, empty)["empty-replies"].count == 1


# Views and explanations --------------------------------------------------------------------------------------------------
def test_explain_omnidocbench() -> None:
    """Each rule alone: punctuation costs 1 of 10 letters, a surplus text of 40, and the first table its place."""
    truth = blocks("ab cd, efg", ("table", TABLE), "hijklmnopq")
    reply = markdown("ab cd. efg", TABLE, "hijklmnopq", "0123456789" * 4)
    report = sy.evaluate("documents", truth, reply, ["text_edit"], explain="omnidocbench", confidence=None)
    (said,) = report.explanations
    steps = {step.setting: step.values for step in said.steps}
    assert said.ours["text_edit"] == pytest.approx(41 / 60)
    assert steps["punctuation and blanks"]["text_edit"] == pytest.approx(40 / 57)
    assert steps["surplus text and tables"]["text_edit"] == pytest.approx(1 / 20)
    assert (said.ours["order_edit"], steps["the first table of a reply"]["order_edit"]) == (0, pytest.approx(1 / 3))
    assert said.theirs == pytest.approx(
        {
            "text_edit": 0,
            "text_edit(average=whole)": 0,
            "text_edit(average=block)": 0,
            "order_edit": 1 / 3,
            "table_teds": 1,
        }
    )


@pytest.mark.parametrize("name", PAGES)
def test_explained_numbers_are_those_of_omnidocbench(name: str) -> None:
    """Its faults are in them: free surplus text, inventing that beats leaving out, tables lost from the order."""
    report = sy.evaluate("documents", *golden_page(name), ["text_edit"], explain="omnidocbench", confidence=None)
    theirs = report.explanations[0].theirs
    quick = PAGES[name]["OmniDocBench quick_match"]
    nan = float("nan")
    edit = {part: quick.get(part, {}).get("Edit_dist", {}) for part in ("text_block", "reading_order")}
    expected = {
        "text_edit": edit["text_block"].get("ALL_page_avg", nan),
        "text_edit(average=whole)": edit["text_block"].get("edit_whole", nan),
        "text_edit(average=block)": edit["text_block"].get("edit_sample_avg", nan),
        "order_edit": edit["reading_order"].get("ALL_page_avg", nan),
        "table_teds": quick.get("table", {}).get("mean over pages", {}).get("TEDS", nan),
    }
    assert theirs == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_tables_and_figures_of_a_page() -> None:
    """A title read as text, a lost block, a table read as one, a formula, and one surplus line."""
    truth = blocks(("title", "Results and discussion"), A, ("table", TABLE), B, ("formula", "$$x = 1$$"))
    reply = markdown("Results and discussion", A, TABLE, "$$x = 1$$", "0123456789" * 4)
    report = sy.evaluate("documents", truth, reply, confidence=None)
    kinds = report.table("kinds")
    counts = {
        (row, column): kinds.values[i][j] for i, row in enumerate(kinds.rows) for j, column in enumerate(kinds.columns)
    }
    assert {key: value for key, value in counts.items() if value} == {
        ("title", "text"): 1,
        ("text", "text"): 1,
        ("text", "no match"): 1,
        ("table", "table"): 1,
        ("formula", "formula"): 1,
        ("not on the page", "text"): 1,
    }
    assert report.table("surplus").values.tolist() == [[40, 0]]
    assert sum(report.figure("distances").columns["count"]) == 5


def test_report_shows_what_normalisation_hides() -> None:
    """One of ten letters is punctuation; page x invents 40 letters, and its table of 4 cells is right, that of y lost."""
    truth = pages(blocks("ab cd, efg", ("table", TABLE), page="x"), blocks(A, ("table", TABLE), page="y"))
    reply = {"page": ["x", "y"], "markdown": [f"ab cd. efg\n{TABLE}\n{'0123456789' * 4}", A]}
    report = sy.evaluate("documents", truth, reply, confidence=None)
    hidden = report.table("norms").values
    shares = [(1 + 40) / (10 + 40), (1 + 40) / (10 + len(A) + 40), (0.1 + 1) / 3]
    bare = sum(letter.isalpha() for letter in A)
    assert hidden.tolist() == pytest.approx(
        np.array([[shares[0] / 2, *shares[1:]], [40 / 47 / 2, 40 / (47 + bare), 1 / 3]])
    )
    invented = report.figure("invented").columns
    assert (list(invented["name"]), invented["value"].tolist()) == (["none", "above 20 %"], [0, 0.1])
    sizes = report.figure("sizes").columns
    assert (list(sizes["name"]), sizes["value"].tolist()) == (["up to 10"], [0.5])


def test_blocks_as_rows_and_as_a_page() -> None:
    """A title is right, the second text is lost, the first is read behind it, and a header counts nothing."""
    truth = blocks(("header", "Annual report"), ("title", "Results"), A, B, C)
    report = sy.evaluate("documents", truth, markdown("# Results", C, A), ["text_edit"], confidence=None)
    columns = {
        "page": ["p"] * 5,
        "kind": ["left_out", "title", "text", "text", "text"],
        "outcome": ["left out", "right", "right", "lost", "right"],
        "text": ["Annual report", "Results", A, B, C],
        "reply": ["", "Results", A, "", C],
        "characters": [13, 7, len(A), len(B), len(C)],
        "distance": [1, 0, 0, 1, 0],
    }
    check_listing(report.listing(), ("blocks", "Blocks"), columns, "outcome", "distance")
    shown = views.scene(report.details.pairs, 0, catalogue.parse("text_edit", "documents"))
    assert (shown.title, shown.bounds) == ("Page p: reading order, truth on the left", (-10, 20, 280, 160))
    assert shown.summary == f"3 lost: {B[:60]}"
    left = [BoxShape("truth", 0, 30 * number, 90, 22, str(number), number != 3) for number in (1, 2, 3, 4)]
    right = {
        number: BoxShape("prediction", 180, 30 * at, 90, 22, str(number), True)
        for number, at in ((1, 1), (2, 3), (4, 2))
    }
    lines = {
        number: LineShape("pair", 90, 30 * number + 11, 180, 30 * at + 11) for number, at in ((1, 1), (2, 3), (4, 2))
    }
    drawn = [shape for n in (1, 2, 3, 4) for shape in (left[n - 1], right.get(n), lines.get(n)) if shape is not None]
    assert list(shown.shapes) == drawn


def test_blocks_where_they_are_on_the_page() -> None:
    """Of three blocks with boxes one is lost, and one has no width: it is not drawn."""
    places = {"x": [10, 10, 10], "y": [0, 40, 80], "w": [300, 300, ""], "h": [30, 30, 30]}
    truth = blocks(A, ("table", TABLE), C) | places | {"width": [600] * 3, "height": [800] * 3}
    pairs = sy.evaluate("documents", truth, markdown(A, C), ["text_edit"], confidence=None).details.pairs
    shown = views.scene(pairs, 0, catalogue.parse("text_edit", "documents"))
    assert (shown.title, shown.bounds, shown.summary) == ("Page p", (0, 0, 600, 800), "2 lost: table a | 1")
    assert list(shown.shapes) == [
        BoxShape("truth", 10, 0, 300, 30, "1", True),
        BoxShape("truth", 10, 40, 300, 30, "2", False),
    ]
