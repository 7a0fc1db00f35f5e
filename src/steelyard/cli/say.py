"""The one way in which commands print: nothing that a file or a server wrote can steer the terminal."""

from __future__ import annotations

import click

from steelyard.cli.progress import clear
from steelyard.core.visible import visible


def say(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a text, its control characters made visible; to stderr where it is not a result."""
    clear()
    click.echo(visible(text), nl=nl, err=err)
