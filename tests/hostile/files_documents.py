"""Pages, blocks, folders and results of documents that are spoiled."""

from __future__ import annotations

import json
from typing import Any

from hostile.rows import Row, row

TRUTH = "page,block,type,text,order\na,1,title,Head,1\na,2,text,Some words here,2\nb,1,text,Other words,1\n"
PRED = 'page,markdown\na,"# Head\n\nSome words here"\nb,Other words\n'
BLOCK = {"category_type": "text_block", "anno_id": 1, "order": 1, "text": "words"}
PAGE = {"layout_dets": [BLOCK], "extra": {"relation": []}, "page_info": {"image_path": "a.png"}}
MATCH = {"img_id": "a.png", "gt_position": [1], "norm_gt": "words", "norm_pred": "word"}


def table(name: str, text: str | bytes, *says: str, side: str = "truth.csv", options: str = "", **more: Any) -> Row:
    """A table of which one side is spoiled."""
    files = {"truth.csv": TRUTH, "pred.csv": PRED, side: text}
    return row(f"documents, {name}", f"evaluate documents truth.csv pred.csv {options}", *says, files=files, **more)


def option(name: str, line: str, *says: str, **more: Any) -> Row:
    return table(f"option, {name}", TRUTH, *says, options=line, **more)


def data_set(
    name: str,
    value: Any,
    *says: str,
    reply: str | bytes = "words",
    file: str = "a.md",
    quick: bool = False,
    **more: Any,
) -> Row:
    """OmniDocBench's truth and a folder of pages."""
    text = value if isinstance(value, str) else json.dumps(value)
    files = {"truth.json": text, f"pages/{file}": reply}
    return row(
        f"omnidocbench, {name}",
        f"evaluate documents truth.json pages{' -O match=quick' * quick}",
        *says,
        files=files,
        **more,
    )


def results(name: str, value: Any, *says: str, part: str = "text_block", **more: Any) -> Row:
    """OmniDocBench's own results."""
    file = f"m_{part}_result.json"
    text = value if isinstance(value, str) else json.dumps(value)
    return row(f"results, {name}", f"evaluate documents {file}", *says, files={file: text}, **more)


def scores(name: str, value: Any, *says: str, **more: Any) -> Row:
    """Scores of formulas."""
    text = value if isinstance(value, str) else json.dumps(value)
    files = {"truth.csv": TRUTH, "pred.csv": PRED, "cdm.json": text}
    line = "evaluate documents truth.csv pred.csv -m overall --scores cdm.json"
    return row(f"cdm, {name}", line, *says, files=files, **more)


def page(**changes: Any) -> list[Any]:
    return [{**PAGE, **changes}]


def block(**changes: Any) -> list[Any]:
    return page(layout_dets=[{**BLOCK, **changes}])


ROWS = [
    table("an empty file", "", "truth.csv", "empty"),
    table("a header alone", "page,text\n", "truth.csv", "no rows"),
    table("no page", TRUTH.replace("page,", "sheet,"), "truth.csv", "'page' is missing"),
    table("no text", "page,type\na,text\nb,text\n", "truth.csv", "'text' is missing"),
    table("a page that is empty", TRUTH.replace("\nb,", "\n,"), "line 4", "id is empty"),
    table("a type that does not exist", TRUTH.replace(",title,", ",tilte,"), "line 2", "'tilte'", "title"),
    table("an order that is a text", TRUTH.replace("words here,2", "words here,two"), "line 3", "'order'"),
    table("an order without end", TRUTH.replace("words here,2", "words here,inf"), "line 3", "'order'"),
    table("two blocks of one name", TRUTH.replace("a,2,", "a,1,"), "'1'", "page 'a'"),
    table("a table that is not one", TRUTH.replace("a,2,text", "a,2,table"), "line 3", "page 'a'", "Some words here"),
    table("a table in LaTeX", TRUTH.replace("text,Some words here", r"table,\begin{tabular}"), "page 'a'", "tabular"),
    table("pages and blocks at once", "page,text,markdown\na,x,y\nb,x,y\n", "truth.csv", "'markdown'"),
    table("a weight below 0", "page,text,sample_weight\na,x,-1\nb,x,1\n", "'sample_weight'"),
    table("two weights of a page", "page,text,sample_weight\na,x,1\na,y,2\nb,z,1\n", "'sample_weight'"),
    table("bytes", b"page,text\na,\xff\xfe\n", "truth.csv"),
    table("a page that the truth does not have", PRED + "c,more\n", "pred.csv", "'c'", side="pred.csv"),
    table("a form that does not exist", "page,markdown,form\na,x,pdf\n", "pred.csv", "'pdf'", side="pred.csv"),
    table("a CDM above 1", "page,markdown,cdm\na,x,7\n", "pred.csv", "'cdm'", side="pred.csv"),
    option("a matching that does not exist", "-O match=simple", "'simple'", "runs"),
    data_set("too many paragraphs for match=quick", [PAGE], "'a.png'", "70,000", reply="a\n\n" * 70_000, quick=True),
    option("a preset that does not exist", "--preset ocrbench", "ocrbench"),
    option("a normalisation that does not exist", "-m text_edit(norm=none)", "norm", "omnidocbench"),
    option("an average that does not exist", "-m text_edit(average=line)", "average", "block"),
    option("rules of tables that do not exist", "-m table_teds(rules=html)", "rules", "clean"),
    option("an order that does not exist", "-m order_edit(order=none)", "order", "first_table_lost"),
    data_set("not JSON", '[{"layout_dets": [', "truth.json"),
    data_set("no page_info", [{"layout_dets": []}], "page 0", "'page_info'"),
    data_set("no image", page(page_info={}), "page 0", "'image_path'"),
    data_set("blocks that are no list", page(layout_dets=7), "page 0", "layout_dets"),
    data_set("a page twice", [PAGE, PAGE], "page 1", "'a.png'"),
    data_set("a block without an id", page(layout_dets=[{"category_type": "title"}]), "page 0", "'anno_id'"),
    data_set("a block without a kind", page(layout_dets=[{"anno_id": 1}]), "page 0", "'category_type'"),
    data_set("a kind that does not exist", block(category_type="poem"), "'poem'", "'type'"),
    data_set(
        "a relation to nothing",
        page(extra={"relation": [{"relation_type": "truncated", "source_anno_id": 1, "target_anno_id": 4}]}),
        "page 0",
        "block 4",
    ),
    data_set("a file of another page", [PAGE], "b.md", "'b'", file="b.md"),
    data_set("a folder without pages", [PAGE], "pages", "no pages", file="a.txt"),
    data_set("two encodings", [PAGE], "a.md", "byte 6", reply=b"words \xff"),
    data_set("a reply that never ends", [PAGE], "'a.png'", "200,000 lines", reply="again\n" * 200_000),
    data_set("a NUL", [PAGE], "a.md", "byte 5", reply=b"words\0"),
    data_set("entities without end", [PAGE], "documents: 1 page", reply="&lt;" * 5000, code=0),
    data_set("tags without end", [PAGE], "documents: 1 page", reply="<table><tr><td>" * 3000, code=0),
    data_set(
        "a span of 5,000 rows", [PAGE], "documents: 1 page", reply='<table><tr><td rowspan="5000">x</table>', code=0
    ),
    data_set("a page of 3 MB", [PAGE], "'a.png'", "3,000,000 characters", reply="x" * 3_000_000),
    data_set("tables that are not closed", [PAGE], "documents: 1 page", reply="<table><tr><td>" * 50_000, code=0),
    data_set("images that are not closed", [PAGE], "documents: 1 page", reply="![" * 100_000, code=0),
    data_set("bold text that is not closed", [PAGE], "documents: 1 page", reply="**a " * 50_000, code=0),
    data_set("formulas that are not closed", [PAGE], "documents: 1 page", reply="\\[ " * 100_000, code=0),
    data_set("tags that are not closed", [PAGE], "documents: 1 page", reply="<p " * 100_000, code=0),
    data_set("LaTeX that is not closed", [PAGE], "documents: 1 page", reply="\\begin{table}" * 30_000, code=0),
    data_set("a heading with many blanks", [PAGE], "documents: 1 page", reply=f"# a{' ' * 200_000}b", code=0),
    data_set("a long rule", [PAGE], "documents: 1 page", reply=f"| a |\n|{' ' * 200_000}x", code=0),
    data_set(
        "20,000 tables",
        block(category_type="table", text="", html="<table><tr><td>a</td></tr></table>"),
        "20,000 tables",
        reply="<table></table>" * 20_000,
    ),
    results("not a list", {"a": 1}, "m_text_block_result.json"),
    results("nothing", [], "m_text_block_result.json", "empty"),
    results("no page", [{"gt": "x"}], "entry 0", "'img_id'"),
    results("no position", [{"img_id": "a.png", "gt": "x"}], "entry 0", "'gt_position'"),
    results("orders of texts", [{"img_id": "a.png", "gt": ["x"], "pred": []}], "entry 0", part="reading_order"),
    row("results, another file", "evaluate documents truth.csv", "truth.csv", files={"truth.csv": TRUTH}),
    scores("a list", [1], "cdm.json"),
    scores("a score of 3", {"a_0_[0]": 3}, "cdm.json", "'a_0_[0]'"),
    scores("another page", {"c_0_[0]": 0.5}, "cdm.json", "'c'"),
]
