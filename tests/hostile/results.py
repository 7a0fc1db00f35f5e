"""Results (JSON of a report, a comparison) that are spoiled: `report`, `gate` and `view` meet them."""

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


@cache
def pilot() -> str:
    """A comparison of two models that differ."""
    t = {"dish": list("ABCDEF"), "weight": [100.0, 50, 200, 80, 90, 120]}
    p, q = ({"dish": t["dish"], "weight": [w + e for w, e in zip(t["weight"], errors, strict=True)]}  # type: ignore[operator]
            for errors in ((9, 7, 12, 8, 14, 10), (3, 5, 2, 6, 1, 4)))  # fmt: skip
    return json.dumps(sy.compare("weights", t, p, q, ["mae"], draws=100).to_dict())


def spoiled(path: str, value: Any, which: int = 0) -> str:
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
    *both("a list", '[{"format": "steelyard"}]'),
    *both("a text that is a path", '"/etc/hostname"'),
    *both("null", "null"),
    *both("a foreign format", '{"format": "coco"}', "coco"),
    *both("version 1", '{"schema": "steelyard/report/1"}', "a result of version 1", "reads version 2"),
    *both("another version", spoiled("version", 99), "version is 99", "2 is expected"),
    *both("a version that is true", spoiled("version", True), "version is true"),
    *both("a format that is a list", spoiled("format", ["steelyard"]), "format"),
    *both("a kind that is unknown", spoiled("kind", "raport"), "raport", "report"),
    *both("a kind that is a list", spoiled("kind", ["report"]), "kind"),
    *both("a body that is a list", spoiled("body", []), "body is []", "an object"),
    *both("the body of another kind", spoiled("kind", "comparison"), "'body.a' is missing"),
    *both("an integer of 5,000 digits", GOOD.replace('"seed": 0', '"seed": ' + "9" * 5000), "more than 4,300 digits"),
    *both("a value of 10^400", spoiled("body.scores.mae.value", HUGE), "body.scores.mae.value"),
    *both("a value of NaN", GOOD.replace('"value": ', '"value": NaN, "was": ', 1), "body.scores.mae.value"),
    *both("a value of 1e400", GOOD.replace('"value": ', '"value": 1e400, "was": ', 1), "body.scores.mae.value"),
    *both("a value that is a text", spoiled("body.scores.mae.value", "good"), "body.scores.mae.value", "good"),
    *both("a value that is true", spoiled("body.scores.mae.value", True), "body.scores.mae.value"),
    *both("an interval of one end", spoiled("body.scores.mae.interval", [1]), "body.scores.mae.interval"),
    *both("an interval upside down", spoiled("body.scores.mae.interval", [9, 1]), "body.scores.mae.interval", "the lower end comes first"),
    *both("an interval of texts", spoiled("body.scores.mae.interval", ["a", "b"]), "body.scores.mae.interval"),
    *both("an interval of 10^400", spoiled("body.scores.mae.interval", [0, HUGE]), "body.scores.mae.interval"),
    *both("units that are negative", spoiled("body.scores.mae.units", -1), "body.scores.mae.units"),
    *both("units of 10^400", spoiled("body.scores.mae.units", HUGE), "body.scores.mae.units"),
    *both("no scores", spoiled("body.scores", KeyError), "'body.scores' is missing"),
    *both("scores that are an array", spoiled("body.scores", []), "body.scores", "object"),
    *both("a score under another name", spoiled("body.scores.mae.spec", "mape"), "body.scores", "another score under 'mae'"),
    *both("a metric that is a number", spoiled("body.scores.mae.spec", 7), "body.scores.mae.spec"),
    *both("half a character", spoiled("body.scores.mae.label", "\ud800"), "body.scores.mae.label", "whole characters"),
    *both("a direction that is unknown", spoiled("body.scores.mae.better", "sideways"), "body.scores.mae.better", "sideways"),
    *both("notes that are a text", spoiled("body.notes", "all is well"), "notes", "array"),
    *both("no sources", spoiled("body.sources", KeyError), "'body.sources' is missing"),
    *both("a confidence of 95", spoiled("body.request.confidence", 95), "confidence", "95"),
    *both("draws that are negative", spoiled("body.request.draws", -1), "draws"),
    *both("draws of scores that are garbage", spoiled("body.scores.mae.draws", "!!!"), "body.scores.mae.draws", "base64"),
    *both("draws of scores that are too few", spoiled("body.scores.mae.draws", "AAAAAAAA8D8="), "body.scores.mae.draws", "1 value"),
    *both("options that are lists", spoiled("body.request.options", {"names": ["/etc"]}), "options"),
    *both("details that are broken", spoiled("details", {"tables": 7}), "details"),
    *both("counts of texts", spoiled("body.coverage.truth", "all"), "body.coverage.truth"),
    *both("a slice without scores", spoiled("body.slices", [{"by": ["food"], "value": ["x"]}]), "slices[0].scores"),
    *both("a slice by a text", spoiled("body.slices", [{"by": "food", "value": "x", "scores": {}}]), "slices[0].by"),
    row("report: not there", "report nowhere.json", "nowhere.json", "no such file"),
    row("report: a folder", "report d", "d:", "is a folder", files={"d/x": ""}),
    row("report: JSON again", "report r.json -o out.json", "[E-cannot-write]", files={"r.json": GOOD}),
    row("report: unknown ending", "report r.json -o out.pdf", "out.pdf", ".html", files={"r.json": GOOD}),
    row("report: a folder that cannot be", "report r.json -o r.json/out.html", "r.json/out.html", "cannot be written", files={"r.json": GOOD}),
    row("report: the page is a folder", "report r.json -o d.html", "d.html", files={"r.json": GOOD, "d.html/x": ""}),
    row("report: markup everywhere", "report r.json -o out.html", "out.html", code=0, writes=("out.html",), task="weights",
        files={"r.json": spoiled("body.scores.mae.label", "<script>alert(1)</script>").replace('"notes": []', '"notes": ["<img src=x onerror=alert(2)>"]')},
        after=lambda folder: _escaped((folder / "out.html").read_text(encoding="utf-8"))),
    row("report: escape sequences everywhere", "report r.json", "mae", code=0, task="weights", files={"r.json": spoiled("body.scores.mae.label", "\x1b]0;owned\x07\x1b[2Jmae").replace('"weights"', '"weights\\u001b[31m"')}),
    row("report: text that turns the writing", "report r.json", "mae", code=0, task="weights", files={"r.json": spoiled("body.notes", ["\u202egnp.exe mae"])}),
    row("compare: results that are not there", "compare nowhere.json r.json", "nowhere.json", "no such file", files={"r.json": GOOD}),
    row("compare: results that are cut off", "compare r.json c.json", "c.json", "not valid JSON", files={"r.json": GOOD, "c.json": GOOD[:50]}),
    row("compare: one result alone", "compare r.json", "r.json", "one result alone", files={"r.json": GOOD}),
    row("compare: three results, one cut off", "compare r.json r.json c.json", "c.json", "not valid JSON", files={"r.json": GOOD, "c.json": GOOD[:50]}),
    row("compare: a prompt of a result that has none", "compare weights t.csv a.csv b.csv --model direct", "--model"),
    row("plan: not there", "plan nowhere.json", "nowhere.json", "no such file"),
    row("plan: cut off", "plan c.json", "c.json", "not valid JSON", files={"c.json": pilot()[:50]}),
    row("plan: a result without its baseline", "plan r.json", "r.json", "--baseline", files={"r.json": GOOD}),
    row("plan: a target without a size", "plan c.json --target mae", "mae", files={"c.json": pilot()}),
    row("plan: a target that is not a number", "plan c.json --target mae=much", "much", files={"c.json": pilot()}),
    row("plan: a target of a metric that is not there", "plan c.json --target rmse=1", "rmse", files={"c.json": pilot()}),
    row("plan: a target of nan", "plan c.json --target mae=nan", "nan", files={"c.json": pilot()}),
    row("plan: a negative target", "plan c.json --target mae=-1", "-1", files={"c.json": pilot()}),
    row("plan: a power of 7", "plan c.json --power 7", "7", files={"c.json": pilot()}),
    row("plan: a power of nan", "plan c.json --power nan", "nan", files={"c.json": pilot()}),
    row("plan: one unit", "plan c.json --units 1", "1", files={"c.json": pilot()}),
    row("plan: an error of 10^400", "plan c.json", "c.json", files={"c.json": spoiled("body.differences.mae.se", HUGE, 1)}),
    row("gate: rule that is cut off", ["gate", "r.json", "--fail-if", "mae >"], "mae >", files={"r.json": GOOD}),
    row("gate: rule without a number", ["gate", "r.json", "--fail-if", "mae > much"], "much", files={"r.json": GOOD}),
    row("gate: rule of 10,000 characters", ["gate", "r.json", "--fail-if", "mae > " + "9" * 10_000], "rule", files={"r.json": GOOD}),
    row("gate: rule of nan", ["gate", "r.json", "--fail-if", "mae > nan"], "nan", files={"r.json": GOOD}),
    row("gate: rule of a metric that is not there", ["gate", "r.json", "--fail-if", "rmse > 3"], "rmse", "mae", files={"r.json": GOOD}),
    row("gate: rule with a p of 7", ["gate", "r.json", "--fail-if", "mae < baseline, p < 7"], "p", "7", files={"r.json": GOOD}),
    row("gate: rule that runs code", ["gate", "r.json", "--fail-if", "__import__('os').system('touch owned') > 1"], "__import__", files={"r.json": GOOD}),
    row("gate: baseline that is cut off", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "not valid JSON", files={"r.json": GOOD, "b.json": GOOD[:50]}),
    row("gate: baseline that is a comparison", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "comparison", files={"r.json": GOOD, "b.json": json.dumps(reports()[1])}),
    row("gate: baseline of another truth", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "--other-truth", files={"r.json": GOOD, "b.json": spoiled("body.sources.truth.digest", "0")}),
    row("gate: baseline of another task", ["gate", "r.json", "--baseline", "b.json", "--fail-if", "mae > baseline"], "b.json", "'labels'", files={"r.json": GOOD, "b.json": spoiled("body.request.task", "labels")}),
    row("gate: no baseline", ["gate", "r.json", "--fail-if", "mae > baseline"], "baseline", files={"r.json": GOOD}),
    row("gate: no rule", "gate r.json", "--fail-if", files={"r.json": GOOD}),
    row("gate: summary that cannot be written", ["gate", "r.json", "--fail-if", "mae > 1000"], "GITHUB_STEP_SUMMARY", files={"r.json": GOOD}, env={"GITHUB_STEP_SUMMARY": "r.json/x"}),
    row("gate: JUnit into a folder that cannot be", ["gate", "r.json", "--fail-if", "mae > 1", "--junit", "r.json/x.xml"], "r.json/x.xml", "cannot be written", files={"r.json": GOOD}),
    row("gate: comparison whose differences are texts", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences.mae", files={"c.json": spoiled("body.differences.mae.difference", "big", 1)}),
    row("gate: comparison whose p is 10^400", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences.mae.p", files={"c.json": spoiled("body.differences.mae.p", HUGE, 1)}),
    row("gate: comparison whose p is 7", ["gate", "c.json", "--fail-if", "mae > baseline"], "c.json", "differences.mae.p", files={"c.json": spoiled("body.differences.mae.p", 7, 1)}),
    row("gate: truth in place of a result", ["gate", "truth.json", "--fail-if", "map > 1"], "truth.json", "'format' is missing", files=good("boxes"), task="boxes"),
]  # fmt: skip


def _escaped(page: str) -> None:
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page
