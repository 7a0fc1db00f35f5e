"""The command `steelyard` and how it ends: 0 fine, 1 a check failed, 2 the input is wrong, 3 undecided."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from steelyard.cli.commands import Commands, list_texts
from steelyard.cli.say import in_flags, say
from steelyard.cli.streams import OutputLost, drop_output, open_streams, outcome
from steelyard.core.errors import InvalidText, MissingFile, SteelyardError, nearest
from steelyard.core.visible import visible
from steelyard.version import __version__


class _Commands(click.Group):
    """A group that names the nearest command to one that does not exist, and lists them as they were added."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            from steelyard.cli.first import is_request, spell_out

            if is_request(args[0]):
                return super().resolve_command(ctx, spell_out(args))
            ctx.fail(f"There is no command '{args[0]}'. {nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OutputLost as lost:
            drop_output()
            code = outcome()
            if not lost.gone:
                say(f"steelyard: {lost}", err=True)
            # A reader that has gone, `head` say, has seen enough. A full disk has not.
            return code if code is not None else 0 if lost.gone else 2

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        list_texts(formatter)


@click.group(
    cls=_Commands,
    commands=Commands(),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, prog_name="steelyard", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Score predictions of vision models against ground truth, with a confidence interval on every number.

    Without a command, the task of files is guessed: the first is the ground truth, the others are predictions.

    \b
    steelyard demo
    steelyard truth.json model.json
    steelyard truth.json old.json new.json
    """
    if ctx.invoked_subcommand is None:
        from steelyard.cli.first import OVERVIEW

        say(OVERVIEW)


def main() -> None:
    """Run the command line; what a user caused ends in one message and exit code 2, not in a traceback."""
    open_streams()
    try:
        _check_arguments(sys.argv[1:])
        status = cli(standalone_mode=False)
    except SteelyardError as error:
        first, *more = in_flags(str(error)).split("\n")
        _fail("\n".join([f"{first} [{error.code}]", *more]))
    except OutputLost as lost:  # help and version print before a command begins
        drop_output()
        _fail("" if lost.gone else str(lost), 0 if lost.gone else 2)
    except OSError as error:
        named = f"{error.filename}: " if isinstance(error.filename, str) else ""
        _fail(f"{named}{error.strerror or error}")
    except click.ClickException as error:
        vars(error)["message"] = visible(error.message)  # Click calls it final
        error.show()
        sys.exit(error.exit_code)
    except MemoryError:
        _fail("there is not enough memory for these data. Split them into shards, or ask for fewer metrics or slices.")
    except click.Abort:
        _fail("interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Names of files must be UTF-8: they stand in reports, and those are."""
    for argument in arguments:
        if any("\ud800" <= char <= "\udfff" for char in argument):
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise InvalidText(f"'{shown}' is not UTF-8", remedy="Rename the file: its name is printed in the report.")
    try:
        os.getcwd()
    except OSError:
        raise MissingFile("the current folder is gone", remedy="Change to one that exists.") from None


def _fail(message: str, code: int = 2) -> None:
    if message:
        say(f"steelyard: {message}", err=True)
    sys.exit(code)
