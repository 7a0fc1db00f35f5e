"""Results that last: the JSON schema, the texts, the pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from support.lazy import lazy
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy

jsonschema = lazy("jsonschema")

TRUTH = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [100, 50, 200, 10, 80, 0], "food": list("rstrst")}
A = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [110, 40, 150, 30, 90, 5]}
B = {"dish": list("AABBCC"), "item": list("xyxyxy"), "weight": [101, 51, 199, 11, 81, 1]}


def schema(name: str) -> Any:
    return json.loads((files("steelyard.results") / "schema" / name).read_text(encoding="utf-8"))


def test_schemas_are_up_to_date() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "make_schema.py", "--check"], check=True)


@pytest.mark.parametrize("options", [{}, {"confidence": None}, {"by": ["food", ("food", "dish")]}, {"missing": "skip"}])
def test_report_follows_its_schema(options: dict[str, Any]) -> None:
    predictions = {k: v[:5] for k, v in A.items()} if options.get("missing") else A
    report = sy.evaluate("weights", TRUTH, predictions, **options)
    data = json.loads(report.to_json())
    jsonschema.Draft202012Validator(schema("result-2.json")).validate(data)
    assert data == report.to_dict()
    assert list(data["body"]["scores"]) == data["body"]["request"]["metrics"]
    assert data["body"]["coverage"]["missing"] == (1 if options.get("missing") else 0)
    assert data["body"]["coverage"]["share"] == (5 / 6 if options.get("missing") else 1)


def test_comparison_follows_its_schema() -> None:
    data = json.loads(sy.compare("weights", TRUTH, A, B).to_json())
    jsonschema.Draft202012Validator(schema("result-2.json")).validate(data)


def test_undefined_is_null_with_a_reason() -> None:
    report = sy.evaluate("weights", {"dish": ["a"], "weight": [0]}, {"dish": ["a"], "weight": [3]}, "mape")
    score = report.to_dict()["body"]["scores"]["mape"]
    assert score["value"] is None
    assert score["why"] == "no row has a positive true weight"
    assert "mape is undefined: no row has a positive true weight." in str(report)


def test_same_data_same_bytes() -> None:
    assert sy.evaluate("weights", TRUTH, A).to_json() == sy.evaluate("weights", TRUTH, A).to_json()


def test_digest_sees_every_value() -> None:
    digest = sy.evaluate("weights", TRUTH, A).sources.predictions.digest
    changed = {**A, "weight": [*A["weight"][:-1], 5.0000001]}
    assert sy.evaluate("weights", TRUTH, changed).sources.predictions.digest != digest


def test_unknown_score_names_the_nearest() -> None:
    report = sy.evaluate("weights", TRUTH, A, confidence=None)
    with refuses(KeyError, "'mae'"):
        report["maee"]


@pytest.mark.parametrize("by", [[], ["food"], [("dish", "food")]])
def test_text_fits_eighty_columns(by: list[Any]) -> None:
    for text in (str(sy.evaluate("weights", TRUTH, A, by=by)), str(sy.compare("weights", TRUTH, A, B))):
        assert max(map(len, text.splitlines())) <= 80, text
        assert text.isprintable() or "\n" in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in {"meta", "br", "wbr"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


HOSTILE = "<script>alert(1)</script>\"'&`|*_]"


def test_page_holds_no_foreign_script_and_no_address() -> None:
    truth = {**TRUTH, "food": [HOSTILE] * 6}
    for page in (sy.evaluate("weights", truth, A, by=["food"]).to_html(), sy.compare("weights", TRUTH, A, B).to_html()):
        tags = _Tags()
        tags.feed(page)
        assert tags.open == []
        assert tags.seen.count("script") == page.count("<script")  # ours, and the data that it reads
        assert "<script>alert" not in page
        assert not re.search(r"https?://", page)


def test_markdown_escapes_what_data_holds() -> None:
    text = sy.evaluate("weights", {**TRUTH, "food": [HOSTILE] * 6}, A, by=["food"]).to_markdown()
    assert "<script>" not in text
    widths = {line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 2  # one table of scores, one of slices


def test_files_are_whole_or_absent(tmp_path: Path) -> None:
    report = sy.evaluate("weights", TRUTH, A)
    report.to_json(tmp_path / "new" / "r.json")
    report.units().to_csv(tmp_path / "u.csv")
    assert json.loads((tmp_path / "new" / "r.json").read_text()) == report.to_dict()
    lines = (tmp_path / "u.csv").read_text().splitlines()
    assert lines[0].startswith("dish,mae,mape")
    assert len(lines) == 4
    with refuses("E-write-error", "r.json"):
        report.to_json(tmp_path / "u.csv" / "r.json")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["new", "r.json", "u.csv"]
