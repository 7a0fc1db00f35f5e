"""What commands print: control characters of files and servers are shown, never obeyed."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.cli.say import flag, in_flags
from steelyard.core.request import Settings
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


FLAGS = {
    "Leave `confidence=None` out, or `save_draws`.": "Leave --ci none out, or --save-draws.",
    "Choose `missing='worst'`.": "Choose --missing worst.",
    "Map it: `columns={'dish': 'Dish', 'weight': 'net weight'}`.": "Map it: --map dish=Dish --map 'weight=net weight'.",
    "Set the option `spacing=1,1`, or `truth.palette=FILE`.": "Set the option --spacing 1,1, or --option truth.palette=FILE.",
    "Set `delimiter=';'` or `whole=True`.": "Set --delimiter ';' or --round.",
    "the id '`draws`' and 3`4` stay": "the id '`draws`' and 3`4` stay",
}


@pytest.mark.parametrize("text", FLAGS)
def test_settings_are_printed_as_flags(text: str) -> None:
    assert in_flags(text) == FLAGS[text]


def test_an_error_names_a_setting_in_the_words_of_its_reader(steelyard, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,dish,weight\n1,a,5\n")
    with refuses("E-conflict", "draws"):
        sy.evaluate("weights", tmp_path / "t.csv", tmp_path / "t.csv", confidence=None, save_draws=True)
    done = steelyard("evaluate", "weights", "t.csv", "t.csv", "--ci", "none", "--save-draws")
    assert done.returncode == 2
    assert done.stderr.endswith("Leave --ci none out, or --save-draws. [E-conflict]\n")


FUNCTIONS: dict[str, tuple[Callable[..., Any], set[str]]] = {  # by command, and keywords that it has no flag for
    "evaluate": (sy.evaluate, {"df", "cov", "pair_runs", "adjust", "margin", "superiority"}),
    "compare": (sy.compare, {"df", "cov", "explain", "save_draws"}),
    "gate": (sy.gate, set()),
    "pool": (sy.pool, {"names"}),
    "drift": (sy.drift, {"names"}),
    "convert": (sy.convert, set()),
    "check": (sy.check, set()),
    "label-next": (sy.label_next, set()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_setting_has_the_flag_that_messages_name(name: str) -> None:
    function, without = FUNCTIONS[name]
    command = cli.commands[name]
    known = {word for param in command.params for word in param.opts}
    positional = {param.name for param in command.params if isinstance(param, click.Argument)}
    keywords = {one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY}
    keywords |= set(Settings.__annotations__) if name in ("evaluate", "compare") else set()
    assert {flag(one) for one in keywords - without - positional} <= known
