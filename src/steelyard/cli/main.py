"""The command `steelyard` and how it ends: 0 fine, 1 a check failed, 2 the input is wrong, 3 undecided."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from steelyard.cli.check import check
from steelyard.cli.compare import compare
from steelyard.cli.completion import completion
from steelyard.cli.convert import convert
from steelyard.cli.demo import demo
from steelyard.cli.draw import draw
from steelyard.cli.evaluate import evaluate
from steelyard.cli.gate import gate
from steelyard.cli.metrics import metrics
from steelyard.cli.parse import parse
from steelyard.cli.report import report
from steelyard.cli.say import say
from steelyard.cli.view import view
from steelyard.cli.vlm import vlm
from steelyard.core.errors import SteelyardError, nearest
from steelyard.core.visible import visible
from steelyard.version import __version__


class _Commands(click.Group):
    """A group that names the nearest command to one that does not exist, and lists them as they were added."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"There is no command '{args[0]}'. {nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steelyard", message="%(prog)s %(version)s")
def cli() -> None:
    """Steelyard weighs predictions of vision models against the truth.

    Every score comes with an interval. Start with: steelyard demo
    """


for command in (
    evaluate, compare, report, check, convert, gate, view, metrics, draw, parse, vlm, demo, completion,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run the command line; what a user caused ends in one message and exit code 2, not in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
    try:
        status = cli(standalone_mode=False)
    except SteelyardError as error:
        _fail(str(error))
    except click.ClickException as error:
        error.message = visible(error.message)
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        _fail("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, code: int = 2) -> None:
    say(f"steelyard: {message}", err=True)
    sys.exit(code)
