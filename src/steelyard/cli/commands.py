"""The commands by name: each is loaded when it is run, and the list of all needs none of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

# Each stands in the module of its name; the texts are the first paragraphs of their help.
TEXTS = {
    "evaluate": "Score PREDICTIONS against TRUTH.",
    "compare": "Compare predictions B with predictions A, paired by unit.",
    "report": "Write a report of RESULT, the JSON file of another command.",
    "check": "Find problems in the data that would make scores wrong.",
    "convert": "Convert annotations or predictions to another format.",
    "gate": "Test RESULT against rules: exit 0 pass, 1 fail, 3 undecided.",
    "plan": "Plan how many units a test set needs to show a difference.",
    "pool": "Combine results on several test sets.",
    "drift": "Measure how scores changed from an OLD test set to a NEW one.",
    "pack": "Pack results with everything that is needed to check them.",
    "verify": "Check an evidence pack: exit 0 equal, 1 different.",
    "label-next": "Choose which units of PREDICTIONS to label next.",
    "view": "Browse the results in DIR: runs, comparisons and single units.",
    "tasks": "List the tasks, one line each.",
    "metrics": "List the metrics, or explain one.",
    "draw": "Draw truth, predictions and matches of one image as SVG.",
    "parse": "Print the scene graph of a caption.",
    "vlm": "Run vision-language models on images and score their replies.",
    "compat": "List the packages that Steelyard can stand in for.",
    "demo": "Score sample data, write a report, and compare two models.",
    "completion": "Print the shell completion script.",
}


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module(f"steelyard.cli.{name}"), name)
    return command


class Commands(MutableMapping[str, click.Command]):
    """The commands in the order of the list; others can be added."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command | None] = dict.fromkeys(TEXTS)

    def __getitem__(self, name: str) -> click.Command:
        command = self._loaded[name]
        if command is None:
            command = self._loaded[name] = _command(name.replace("-", "_"))
        return command

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


def list_texts(formatter: click.HelpFormatter) -> None:
    """Write the list of commands, as Click does from commands that are loaded."""
    limit = formatter.width - 6 - max(map(len, TEXTS))
    with formatter.section("Commands"):
        rows = [(name, click.Command(name, help=text).get_short_help_str(limit)) for name, text in TEXTS.items()]
        formatter.write_dl(rows)
