"""The one way in which commands print: nothing that a file or a server wrote can steer the terminal.

Below the command line, messages name settings as Python does; here they become flags.
"""

from __future__ import annotations

import re
from typing import Any

import click

from steelyard.cli.progress import clear
from steelyard.core.visible import visible

# Settings whose flag has another name; every other flag is the setting's name with dashes.
NAMES = {
    "columns": "map",
    "confidence": "ci",
    "from_format": "from",
    "id_column": "id",
    "key_variable": "key-env",
    "metrics": "metric",
    "options": "option",
    "params": "param",
    "rules": "fail-if",
    "tags": "tag",
    "targets": "target",
    "to_format": "to",
    "whole": "round",
}
_SETTING = re.compile(r"(?<![\w'`])`([a-z][a-z_.]*)(?:=([^`\n]+))?`")


def say(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a text, its control characters made visible; to stderr where it is not a result."""
    clear()
    click.echo(visible(text), nl=nl, err=err)


def flag(name: str) -> str:
    """The flag of a setting: `save_draws` is --save-draws."""
    return f"--{NAMES.get(name, name).replace('_', '-')}"


def in_flags(text: str) -> str:
    """A message whose settings are flags: `confidence=None` becomes --ci none."""
    return _SETTING.sub(lambda match: _as_flag(*match.groups()), text)


def _as_flag(name: str, said: str | None) -> str:
    from ast import literal_eval  # errors are rare
    from shlex import quote

    try:
        value: Any = True if said is None else literal_eval(said)
    except (ValueError, SyntaxError):  # a placeholder such as FILE
        value = said
    if "." in name:  # an option of the task for one side
        name, value = "options", {name: said}
    if isinstance(value, dict):
        return " ".join(f"{flag(name)} {quote(f'{key}={one}')}" for key, one in value.items())
    text = "none" if value is None else value if isinstance(value, str) else said
    return flag(name) if value is True else f"{flag(name)} {quote(str(text))}"
