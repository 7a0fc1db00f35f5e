"""What `steelyard` does without a command: an overview, or the command that the named files are for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

import click

from steelyard.cli.commands import Commands
from steelyard.cli.options import parse_columns
from steelyard.cli.say import say
from steelyard.core import catalogue
from steelyard.core.errors import UnknownTask
from steelyard.io.dialect import csv_dialect
from steelyard.io.guess import Guess, guess

OVERVIEW = """\
Steelyard scores predictions of vision models against ground truth, with a confidence interval on every number.

  steelyard demo boxes                       try it on sample data
  steelyard truth.json model.json            score your files; the task is recognized, and said first
  steelyard truth.json old.json new.json     compare models on the same data

  steelyard tasks                            all tasks, one line each
  steelyard metrics boxes                    the metrics of a task
  steelyard --help                           all commands

Every command has --help. The documentation is in docs/ of the source; docs/install.md is five minutes long."""
MOST_LISTED = 5  # candidates of a guess


def is_request(word: str) -> bool:
    """Whether the first word of a command line names a file or a task, rather than a command."""
    return _is_path(word) or catalogue.task_name(word) is not None


def _is_path(word: str) -> bool:
    return os.path.lexists(word) or "." in word or os.sep in word or "/" in word


def spell_out(args: Sequence[str]) -> list[str]:
    """The command that files are for, in words; it is printed first, with what the files look like."""
    files, options = _split(args)
    task = None if _is_path(files[0]) else catalogue.task_name(files[0])
    if task is not None:
        if len(files) == 1:
            raise click.UsageError(
                f"'{files[0]}' is a task. Score files with 'steelyard evaluate {task} TRUTH PREDICTIONS', "
                f"or try 'steelyard demo {task}'."
            )
        seen, command = "", _command(task, files[1:], options)
    else:
        if any("://" in name for name in files):
            raise UnknownTask(
                "the task cannot be guessed from a URL",
                remedy=f"Name it: steelyard {shlex.join(_command('TASK', files, options))}",
            )
        with csv_dialect(next(iter(_values("--delimiter", options)), None), None):
            guessed = guess([_file(name) for name in files], _mapping(options))
        seen = _seen_text(files, guessed)
        if all(side.is_result for side in guessed.seen):
            command = ["report" if len(files) == 1 else "compare", *files]
        elif len(guessed.tasks) == 1 and guessed.truth == 0:
            command = _command(guessed.tasks[0], files, options, guessed.options)
        else:
            raise _unclear(files, options, guessed)
    words = [*command, *options]
    say(f"{seen}Running: {shlex.join(['steelyard', *words])}\n", err="--json" in options)
    return words


def _split(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Files and options, where an option takes its value along."""
    commands = Commands()
    flags = {
        name
        for command in (commands["evaluate"], commands["compare"])
        for param in command.params
        if isinstance(param, click.Option) and (param.is_flag or param.count)
        for name in (*param.opts, *param.secondary_opts)
    } | {"-h", "--help", "--help-all"}
    files: list[str] = []
    options: list[str] = []
    rest = iter(args)
    for word in rest:
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        options.append(word)
        if word not in flags and "=" not in word and (len(word) == 2 or word.startswith("--")):
            options.extend(value for value in (next(rest, None),) if value is not None)
    return files, options


def _mapping(options: Sequence[str]) -> dict[str, str]:
    """What --map says about columns."""
    return parse_columns(_values("--map", options))


def _values(name: str, options: Sequence[str]) -> list[str]:
    """The values of an option."""
    apart = [value for word, value in pairwise(options) if word == name]
    return [*apart, *(word.partition("=")[2] for word in options if word.startswith(f"{name}="))]


def _file(name: str) -> str:
    """The path of FILE or NAME=FILE."""
    model, equals, path = name.partition("=")
    return path if equals and not os.path.lexists(name) and "/" not in model and os.sep not in model else name


def _command(
    task: str, files: Sequence[str], options: Sequence[str], more: Mapping[str, str] | None = None
) -> list[str]:
    own = [word for name, value in (more or {}).items() for word in (f"--{name}", value)]
    runs = bool(_values("--runs", options)) and "--against" not in options
    return ["evaluate" if len(files) < 3 or runs else "compare", task, *files, *own]


def _seen_text(files: Sequence[str], guessed: Guess) -> str:
    """A line for each kind of file."""
    order = [files[guessed.truth], *files[: guessed.truth], *files[guessed.truth + 1 :]]
    names: dict[str, list[str]] = {}
    for name, side in zip(order, guessed.seen, strict=True):
        names.setdefault(side.what, []).append(name)
    return "".join(f"{', '.join(group)}: {what}\n" for what, group in names.items())


def _unclear(files: Sequence[str], options: Sequence[str], guessed: Guess) -> UnknownTask:
    """The error for files that fit several tasks, or none."""
    order = [files[guessed.truth], *files[: guessed.truth], *files[guessed.truth + 1 :]]
    rows = [_row(task, [*_command(task, order, options, guessed.options), *options]) for task in guessed.tasks]
    if guessed.tasks and guessed.truth:
        what, remedy = f"{order[0]} looks like the ground truth, which comes first", "Run:"
    elif guessed.tasks:
        what, remedy = "the files fit several tasks", "Run the one that you mean:"
    else:
        what = "the task cannot be guessed from these files"
        lacking = {
            task: [f"--map={name}={column or 'YOUR_COLUMN'}" for name, column in names.items()]
            for task, names in guessed.near.items()
        }
        rows = [_row(task, [*_command(task, files, options), *maps, *options]) for task, maps in lacking.items()]
        remedy = "Nearest are:" if rows else f"Name it: steelyard {shlex.join(_command('TASK', files, options))}"
    seen = _seen_text(files, guessed).splitlines()
    lines = [f"{what}. {remedy}", *rows[:MOST_LISTED], "", *seen, "", "'steelyard tasks' lists all tasks."]
    return UnknownTask("\n".join(lines))


def _row(task: str, words: Sequence[str]) -> str:
    spelled = shlex.join(["steelyard", *words]).replace("--map=", "--map ")
    return f"  {spelled}   ({catalogue.TASKS[task].title.lower()})"
