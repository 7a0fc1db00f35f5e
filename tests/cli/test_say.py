"""What commands print: control characters of files and servers are shown, never obeyed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from support.paths import ROOT

from steelyard.core.visible import visible

STEERING = {
    "a title": ("\x1b]0;owned\x07", r"\u001b]0;owned\u0007"),
    "colours": ("\x1b[31mred", r"\u001b[31mred"),
    "one byte that begins a sequence": ("\x9b31m", r"\u009b31m"),
    "over the line": ("good\rbad", r"good\u000dbad"),
    "backspace and delete": ("ab\x08\x7f", r"ab\u0008\u007f"),
    "nul": ("a\0b", r"a\u0000b"),
    "written backwards": ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
    "half a pair": ("\ud83d", r"\ud83d"),
}


@pytest.mark.parametrize("name", STEERING)
def test_what_steers_is_made_visible(name: str) -> None:
    text, shown = STEERING[name]
    assert visible(text) == shown
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text  # JSON says the same


def test_what_is_plain_stays() -> None:
    for text in ("a\tb\nc", "ø é 漢 😀 │ − ²", ""):
        assert visible(text) == text


def test_a_message_about_a_file_cannot_steer(steelyard, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("item,dish,weight\n1,a,5\n")
    (tmp_path / "pred.csv").write_text("item,dish,weight\n1,a,\x1b]0;owned\x07\n")
    done = steelyard("evaluate", "weights", "truth.csv", "pred.csv")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\u001b]0;owned\u0007" in done.stderr


def test_a_wrong_argument_cannot_steer(steelyard) -> None:
    done = steelyard("evalute\x1b]0;owned\x07")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_every_command_prints_in_the_one_way() -> None:
    """`click.echo` stands in say.py, in the progress line, and in completion, whose script must stay as it is."""
    folder = ROOT / "src" / "steelyard" / "cli"
    result = {
        path.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("echo", "secho")
    }
    assert result == {"say.py", "vlm.py", "completion.py"}
