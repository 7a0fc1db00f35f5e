"""Results (JSON of a report, a comparison) that are spoilt: `report`, `gate` and `view` meet them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import steelyard as sy
from hostile.rows import Row, good, row


@cache
def reports() -> tuple[dict[str, Any], dict[str, Any]]:
    """A report and a comparison that nothing is wrong with."""
    t = {"dish": ["A", "B", "C"], "weight": [100.0, 50.0, 200.0]}
    p = {"dish": ["A", "B", "C"], "weight": [110.0, 40.0, 190.0]}
    return (
        sy.evaluate("weights", t, p, ["mae", "mape"], draws=100).to_dict(),
        sy.compare("weights", t, p, t, ["mae"], draws=100).to_dict(),
    )


def spoilt(path: str, value: Any, which: int = 0) -> str:
    """A result of which one value, named by its path, is another."""
    data = json.loads(json.dumps(reports()[which]))
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inner = data
    for part in way:
        inner = inner[part]
    if value is KeyError:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(data)


def both(name: str, text: str | bytes, *says: str) -> list[Row]:
    """The same result for `report` and for `gate`."""
    files = {"r.json": text}
    return [
        row(f"report: {name}", "report r.json -o out.html", "r.json", *says, files=files, task="weights"),
        row(f"gate: {name}", ["gate", "r.json", "--fail-if", "mae > 1", "--junit", "out.xml"], "r.json", *says, files=files, task="weights"),
    ]  # fmt: skip


GOOD = json.dumps(reports()[0])
HUGE = int("9" * 400)
ROWS: list[Row] = [
    *both("empty", "", "not valid JSON"),
    *both("cut off", GOOD[: len(GOOD) // 2], "not valid JSON"),
    *both("NUL bytes", b"\0" * 100),
    *both("not UTF-8", GOOD.encode().replace(b"mae", b"\xff\xfe\xff"), "UTF-8"),
    *both("UTF-16", GOOD.encode("utf-16"), "UTF-16"),
    *both("100,000 deep", "[" * 100_000, "nested too deeply"),
    *both("a list", '["steelyard/report/1"]'),
    *both("a text that is a path", '"/etc/hostname"'),
    *both("null", "null"),
    *both("a foreign schema", '{"schema": "coco/1"}', "coco/1"),
    *both("a schema of another version", spoilt("schema", "steelyard/report/99"), "steelyard/report/99", "report/1"),
    *both("a schema that is a list", spoilt("schema", ["steelyard/report/1"]), "schema"),
    *both("an integer of 5,000 digits", GOOD.replace('"seed": 0', '"seed": ' + "9" * 5000), "more than 4,300 digits"),
    *both("a value of 10^400", spoilt("scores.0.value", HUGE), "scores[0].value"),
    *both("a value of NaN", GOOD.replace('"value": ', '"value": NaN, "was": ', 1), "scores[0].value"),
    *both("a value of 1e400", GOOD.replace('"value": ', '"value": 1e400, "was": ', 1), "scores[0].value"),
    *both("a value that is a text", spoilt("scores.0.value", "good"), "scores[0].value", "good"),
    *both("a value that is true", spoilt("scores.0.value", True), "scores[0].value"),
    *both("an interval of one end", spoilt("scores.0.interval", [1]), "scores[0].interval"),
    *both("an interval upside down", spoilt("scores.0.interval", [9, 1]), "scores[0].interval", "lower first"),
    *both("an interval of texts", spoilt("scores.0.interval", ["a", "b"]), "scores[0].interval"),
    *both("an interval of 10^400", spoilt("scores.0.interval", [0, HUGE]), "scores[0].interval"),
    *both("units that are negative", spoilt("scores.0.units", -1), "scores[0].units"),
    *both("units of 10^400", spoilt("scores.0.units", HUGE), "scores[0].units"),
    *both("no scores", spoilt("scores", KeyError), "'scores' is missing"),
    *both("scores that are an object", spoilt("scores", {}), "scores", "array"),
    *both("a score twice", GOOD.replace('"mape"', '"mae"'), "mae", "twice"),
    *both("a metric with an escape sequence", spoilt("scores.0.metric", 7), "scores[0].metric"),
    *both("half a character", spoilt("scores.0.label", "\ud800"), "scores[0].label", "whole characters"),
    *both("a direction that is unknown", spoilt("scores.0.better", "sideways"), "scores[0].better", "sideways"),
    *both("notes that are a text", spoilt("notes", "all is well"), "notes", "array"),
    *both("no provenance", spoilt("provenance", KeyError), "'provenance' is missing"),
    *both("a confidence of 95", spoilt("provenance.settings.confidence", 95), "confidence", "95"),
    *both("draws that are negative", spoilt("provenance.settings.draws", -1), "draws"),
    *both("draws of scores that are garbage", spoilt("scores.0.draws", "!!!"), "scores[0].draws", "base64"),
    *both("draws of scores that are too few", spoilt("scores.0.draws", "AAAAAAAA8D8="), "scores[0].draws", "1 value"),
    *both("options that are lists", spoilt("provenance.settings.options", {"names": ["/etc"]}), "options"),
    *both("details that are broken", spoilt("details", {"tables": 7}), "details"),
    *both("counts of texts", spoilt("counts.truth", "all"), "counts.truth"),
    *both("a slice without scores", spoilt("slices", [{"by": ["food"], "value": "x"}]), "slices[0]"),
    *both("a slice by a text", spoilt("slices", [{"by": "food", "value": "x", "scores": []}]), "slices[0].by"),
    row("report: not there", "report nowhere.json", "nowhere.json", "no such file"),
    row("report: a folder", "report d", "d:", "is a folder", files={"d/x": ""}),
    row("report: JSON again", "report r.json -o out.json", "JSON again", files={"r.json": GOOD}),
    row("report: unknown ending", "report r.json -o out.pdf", "out.pdf", ".html", files={"r.json": GOOD}),
    row("report: a folder that cannot be", "report r.json -o r.json/out.html", "r.json/out.html", "cannot be written", files={"r.json": GOOD}),
    row("report: the page is a folder", "report r.json -o d.html", "d.html", files={"r.json": GOOD, "d.html/x": ""}),
    row("report: markup everywhere", "report r.json -o out.html", "out.html", code=0, writes=("out.html",), task="weights",
        files={"r.json": spoilt("scores.0.label", "<script>alert(1)</script>").replace('"notes": []', '"notes": ["<img src=x onerror=alert(2)>"]')},
        after=lambda folder: _escaped((folder / "out.html").read_text(encoding="utf-8"))),
    row("report: escape sequences everywhere", "report r.json", "mae", code=0, task="weights", files={"r.json": spoilt("scores.0.label", "\x1b]0;owned\x07\x1b[2Jmae").replace('"weights"', '"weights\\u001b[31m"')}),
    row("report: text that turns the writing", "report r.json", "mae", code=0, task="weights", files={"r.json": spoilt("notes", ["\u202egnp.exe mae"])}),
    row("gate: rule that is cut off", ["gate", "r.json", "--fail-if", "mae >"], "mae >", files={"r.json": GOOD}),
    row("gate: rule without a number", ["gate", "r.json", "--fail-if", "mae > much"], "much", files={"r.json": GOOD}),
    row("gate: rule of 10,000 characters", ["gate", "r.json", "--fail-if", "mae > " + "9" * 10_000], "rule", files={"r.json": GOOD}),
    row("gate: rule of nan", ["gate", "r.json", "--fail-if", "mae > nan"], "nan", files={"r.json": GOOD}),
    row("gate: rule of a metric that is not there", ["gate", "r.json", "--fail-if", "rmse > 3"], "rmse", "mae", files={"r.json": GOOD}),
    row("gate: rule with a p of 7", ["gate", "r.json", "--fail-if", "mae < baseline, p < 7"], "p", "7", files={"r.json": GOOD}),
    row("gate: rule that runs code", ["gate", "r.json", "--fail-if", "__import__('os').system('touch owned') > 1"], "__import__", files={"r.json": GOOD}),
    row("gate: baseline that is cut off", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "not valid JSON", files={"r.json": GOOD, "b.json": GOOD[:50]}),
    row("gate: baseline that is a comparison", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "comparison", files={"r.json": GOOD, "b.json": json.dumps(reports()[1])}),
    row("gate: baseline of another truth", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "--other-truth", files={"r.json": GOOD, "b.json": spoilt("provenance.truth.digest", "0")}),
    row("gate: baseline of another task", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "'labels'", files={"r.json": GOOD, "b.json": spoilt("task", "labels")}),
    row("gate: no baseline", ["gate", "r.json", "--fail-if", "mae > baseline"], "baseline", files={"r.json": GOOD}),
    row("gate: no rule", "gate r.json", "--fail-if", files={"r.json": GOOD}),
    row("gate: summary that cannot be written", ["gate", "r.json", "--fail-if", "mae > 1000"], "GITHUB_STEP_SUMMARY", files={"r.json": GOOD}, env={"GITHUB_STEP_SUMMARY": "r.json/x"}),
    row("gate: JUnit into a folder that cannot be", ["gate", "r.json", "--fail-if", "mae > 1", "--junit", "r.json/x.xml"], "r.json/x.xml", "cannot be written", files={"r.json": GOOD}),
    row("gate: comparison whose differences are texts", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences[0]", files={"c.json": spoilt("differences.0.difference", "big", 1)}),
    row("gate: comparison whose p is 10^400", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences[0].p", files={"c.json": spoilt("differences.0.p", HUGE, 1)}),
    row("gate: comparison whose p is 7", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences[0].p", files={"c.json": spoilt("differences.0.p", 7, 1)}),
    row("gate: truth in place of a result", ["gate", "truth.json", "--fail-if", "map > 1"], "truth.json", "'schema' is missing", files=good("boxes"), task="boxes"),
]  # fmt: skip


def _escaped(page: str) -> None:
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page
