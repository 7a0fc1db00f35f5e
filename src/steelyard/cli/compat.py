"""`steelyard compat`: the packages that have a drop-in."""

from __future__ import annotations

import json
import textwrap

import click

from steelyard.cli.options import terminal_width
from steelyard.cli.say import say
from steelyard.compat.packages import DROP_INS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def compat(as_json: bool) -> None:
    """List the packages that Steelyard can stand in for.

    \b
    python -m steelyard.compat train.py --epochs 3    run a program with all drop-ins
    python -m steelyard.compat --only pycocotools train.py
    """
    if as_json:
        say(json.dumps({name: drop_in._asdict() for name, drop_in in DROP_INS.items()}, indent=2))
        return
    width = terminal_width()
    blocks = []
    for name, drop_in in DROP_INS.items():
        lines = [f"{name} {drop_in.version}"]
        lines += textwrap.wrap(f"replaces: {drop_in.replaces}", width, initial_indent="  ", subsequent_indent="    ")
        lines += textwrap.wrap(f"differs: {drop_in.differs}", width, initial_indent="  ", subsequent_indent="    ")
        blocks.append("\n".join(lines))
    say("\n\n".join(blocks))
    say("\nRun a program with all of them: python -m steelyard.compat PROGRAM [ARGS]")
