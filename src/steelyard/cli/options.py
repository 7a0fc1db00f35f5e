"""Options that several commands share, and how results are put out."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from steelyard import api
from steelyard.cli.outputs import check_targets
from steelyard.cli.progress import listener
from steelyard.cli.say import say
from steelyard.core import catalogue
from steelyard.core.errors import (
    CannotWrite,
    Conflict,
    DuplicateKey,
    InvalidNumber,
    InvalidSetting,
    MissingKey,
    Unsupported,
)
from steelyard.core.options import Option
from steelyard.core.progress import steps, use_progress
from steelyard.core.request import FACTORS, FIXED, LIKE, SEQUENCES
from steelyard.io.dialect import csv_dialect
from steelyard.results.registry import CHECK_FIGURES, load
from steelyard.results.result import Result

WRITERS = {
    ".json": "to_json",
    ".md": "to_markdown",
    ".html": "to_html",
    ".tex": "to_latex",
    ".csv": "to_csv",
    ".xlsx": "to_excel",
}


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tasks that begin so."""
    known, _ = catalogue.loaded()
    return [CompletionItem(name, help=task.title) for name, task in known.items() if name.startswith(incomplete)]


def _known_task(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The task's own name, where a synonym or another spelling was given."""
    return catalogue.task_name(value) or value


def task_argument(**attributes: Any) -> Callable[[Any], Any]:
    """The argument TASK, by its name or a synonym."""
    return click.argument("task", shell_complete=complete_task, callback=_known_task, **attributes)


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Specs of the chosen task's metrics, or of all, that begin so."""
    chosen = catalogue.task_name(str(ctx.params.get("task")))
    tasks = [chosen] if chosen else list(catalogue.loaded()[0])
    specs = dict.fromkeys(str(metric) for task in tasks for metric in catalogue.metrics(task))
    return [CompletionItem(spec) for spec in specs if spec.startswith(incomplete)]


_GIVEN, _DECLARED = "steelyard.options.given", "steelyard.options.declared"
_WEIGHT, _DIALECT, _QUIET = "steelyard.weight", "steelyard.dialect", "steelyard.quiet"
WEIGHT_NAMES = ("sample_weight", "weight")  # what tasks call the units' own weights, the first that one has


def keep_option(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Lay aside a task's option that was given by its own name."""
    if value is not None and param.name is not None:
        _keep(ctx, param.name, value)


def keep_options(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> None:
    """Lay aside options given as NAME=VALUE."""
    for pair in value:
        name, equals, text = pair.partition("=")
        if not (name and equals and text):
            raise InvalidSetting(
                f"--option '{pair}' is not NAME=VALUE", remedy="Example: --option truth.angle=radians."
            )
        _keep(ctx, name, text)


def keep_weight(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Lay aside the column of the units' own weights."""
    if value is not None:
        ctx.meta[_WEIGHT] = value


def _keep(ctx: click.Context, name: str, value: str) -> None:
    given = ctx.meta.setdefault(_GIVEN, {})
    if name in given:
        raise DuplicateKey(f"option {name} is given twice", remedy="Give it once.")
    given[name] = value


def given_options() -> dict[str, str]:
    """The task's options that the command line gave, by name."""
    return dict(click.get_current_context().meta.get(_GIVEN, {}))


class TaskCommand(click.Command):
    """A command whose first argument is a task, and that takes the options which that task declares.

    Only the named task is loaded. `steelyard evaluate TASK --help` shows its options; without a task, only the common
    ones are shown.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take in the named task's options, then parse."""
        words = [arg for arg in args if arg.replace("-", "_").isidentifier() and not arg.startswith("-")]
        first = catalogue.task_name(args[0]) if args and not args[0].startswith("-") else None
        named = first or next(filter(None, (word if word in catalogue.TASKS else None for word in words)), None)
        if named is not None:
            ctx.meta[_DECLARED] = [_option(option) for option in catalogue.TASKS[named].options]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The common parameters, then those of the task; a deprecated option gives way to one of the task."""
        *common, last = super().get_params(ctx)
        declared = ctx.meta.get(_DECLARED, [])
        taken = {name for option in declared for name in option.opts}
        kept = [param for param in common if not (getattr(param, "hidden", False) and taken & {*param.opts})]
        return [*kept, *declared, last]


def _option(option: Option) -> click.Option:
    return click.Option(
        [f"--{option.name.replace('_', '-')}", option.name],
        expose_value=False,
        callback=keep_option,
        metavar=option.metavar or "|".join(option.choices) or option.name.upper(),
        help=option.meaning,
    )


def hold_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    """Hold the native core to so many threads until the command ends."""
    ctx.with_resource(api.use_threads(value))


def hold_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Show how far the work is until the command ends, unless nobody wants to know."""
    ctx.meta[_QUIET] = value
    ctx.with_resource(use_progress(None if value else listener()))


def hold_dialect(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Read text files as the options say until the command ends."""
    if value is not None:
        said = ctx.meta.setdefault(_DIALECT, {})
        said[param.name] = value
        ctx.with_resource(csv_dialect(said.get("delimiter"), said.get("decimal")))


def says_dialect() -> bool:
    """Whether the command line says how text files are read."""
    return _DIALECT in click.get_current_context().meta


_SHARED: Sequence[Callable[[Any], Any]] = (
    click.option(
        "-m", "--metric", "metrics", multiple=True, metavar="SPEC", shell_complete=complete_metric,
        help="A metric with its settings, such as mape or within@10. May be given several times.",
    ),
    click.option("--ci", "confidence", default="0.95", show_default=True, metavar="LEVEL",
                 help="Confidence of the intervals; 'none' makes none."),
    click.option("--draws", default=1000, show_default=True, metavar="N", help="Bootstrap draws of units."),
    click.option("--seed", default=0, show_default=True, metavar="N", help="Seed of the draws."),
    click.option("--cluster", metavar="COLUMN[@FILE]",
                 help="Draw units of one value together, such as the images of a video or the visits of a person. The "
                 "column stands in the truth, or in a table beside it with the ids of the units."),
    click.option("--strata", metavar="COLUMN[@FILE]",
                 help="Keep the share of each value in every draw: for sizes that were fixed by design."),
    click.option("--sequence", type=click.Choice(SEQUENCES),
                 help="Intervals that hold at every look while data grow; for means of bounded scores they are exact."),
    click.option("--missing", default=None, show_default="error, or the task's own",
                 type=click.Choice(["error", "worst", "skip", "common"]),
                 help="What to do with truth that has no prediction. Several models are compared on the same data: "
                 "'skip' leaves out what any of them lacks, as 'common' does."),
    click.option("--extra", default=None, show_default="error, or the task's own", type=click.Choice(["error", "skip"]),
                 help="What to do with predictions that have no truth."),
    click.option("--map", "mapping", multiple=True, metavar="NAME=COLUMN",
                 help="The file's column for a name, such as weight=grams or truth.weight=grams; of compared models "
                 "a.weight=x, b.weight=y."),
    click.option("--delimiter", metavar="CHAR", expose_value=False, callback=hold_dialect,
                 help="What separates fields in text files, where neither name nor header says it: ';', tab, '|'."),
    click.option("--decimal", type=click.Choice(["comma", "point"]), expose_value=False, callback=hold_dialect,
                 help="The mark of decimals in text files, where fields are separated by semicolons or as you say."),
    click.option("--weight", metavar="COLUMN", expose_value=False, callback=keep_weight,
                 help="The truth's column with the units' own weights, where the task takes some."),
    click.option("--option", "-O", multiple=True, metavar="NAME=VALUE", expose_value=False, callback=keep_options,
                 help="An option of the task for one side only, such as truth.angle=radians."),
    click.option("--threads", type=int, metavar="N", expose_value=False, callback=hold_threads,
                 help="Threads of the native core; all of the machine's where not given. No result depends on it."),
    click.option("--tag", "tags", multiple=True, metavar="NAME=VALUE",
                 help="Keep a tag in the result, such as model=small or date=now; 'view' finds runs by it."),
    click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=hold_quiet,
                 help="Show no progress, and do not say what was written."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
                 help="Also write the result to FILE: .json, .md, .html, .tex, .csv or .xlsx."),
    click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the page to FILE."),
    click.option("--figures", metavar="DIR", type=click.Path(file_okay=False),
                 help="Also write the page's charts as SVG, PNG and PDF. Needs steelyard[report]."),
)  # fmt: skip
_LOOK = "steelyard.figures"


def keep_look(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Lay aside how figures are to look."""
    if value is not None and param.name is not None:
        ctx.meta.setdefault(_LOOK, {})[param.name] = value


def keep_old_look(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Take the formats of figures by the option's old name."""
    if value is not None:
        if "formats" in ctx.meta.get(_LOOK, {}):
            raise Conflict("--format and --figure-format both name the figures' formats", remedy="Give the latter.")
        say("--format is deprecated for figures: write --figure-format.", err=True)
        ctx.meta.setdefault(_LOOK, {})["formats"] = value


_FIGURES: Sequence[Callable[[Any], Any]] = (
    click.option("--figure-format", "formats", metavar="LIST", expose_value=False, callback=keep_look,
                 help="Formats of the figures: pdf,svg,png or some of them."),
    click.option("--format", "old_formats", hidden=True, expose_value=False, callback=keep_old_look),
    click.option("--width", metavar="LENGTH", expose_value=False, callback=keep_look,
                 help="How wide figures are on paper: 85mm, 3.35in, or 1col, 1.5col, 2col."),
    click.option("--dpi", type=int, metavar="N", expose_value=False, callback=keep_look,
                 help="Dots per inch of the PNG figures."),
    click.option("--font", metavar="NAME", expose_value=False, callback=keep_look,
                 help="Font family of the figures."),
)  # fmt: skip


proxy_option = click.option(
    "--proxy", metavar="FILE|COLUMN",
    help="For truth that some units lack: a judge or a cheap measurement on all of them, in a file like the truth or a "
    "column of it.",
)  # fmt: skip


def refuse_together(option: str, given: Any, others: Mapping[str, Any]) -> None:
    """Refuse an option with any of others that are given, by the names of both."""
    for name, value in others.items():
        if given and value:
            raise Conflict(f"{option} cannot be combined with {name}", remedy="Leave one of them out.")


def figure_options(function: Any) -> Any:
    """Give a command the options that say how figures look."""
    for option in reversed(_FIGURES):
        function = option(function)
    return function


def run_options(function: Any) -> Any:
    """Give a command the options about several runs of a model."""
    for option in (
        click.option("--like", type=click.Choice(list(LIKE)),
                     help="With --runs readers: the numbers of OR-DBM MRMC, or of MRMCaov with DeLong's covariances."),
        click.option("--fixed", type=click.Choice(FIXED),
                     help="With --runs: speak of these runs alone, or of these units alone."),
        click.option("--runs", type=click.Choice(FACTORS),
                     help="What several PREDICTIONS on the same units are; annotators are several TRUTH. Intervals "
                     "hold for other runs and other units."),
    ):  # fmt: skip
        function = option(function)
    return function


def split_runs(files: Sequence[str], runs: str | None) -> tuple[Any, Any]:
    """The truth and the predictions of files in their order, where one of both has several runs.

    A pattern stands for all files that it matches, as in a shell.
    """
    files = [path for file in files for path in _matching(file)]
    if len(files) < 2:
        raise click.UsageError("Missing argument 'PREDICTIONS...': --runs needs the files of several runs.")
    if runs == "annotators":
        return parse_models(files[:-1]), files[-1]
    return files[0], parse_models(files[1:])


def _matching(file: str) -> list[str]:
    """The files that a pattern matches, sorted by name; a path without wildcards is returned as it is."""
    if not glob.has_magic(file) or os.path.exists(file):
        return [file]
    return sorted(glob.glob(file)) or [file]


def shared_options(function: Any) -> Any:
    """Give a command the options that evaluate and compare have in common."""
    for option in reversed(_SHARED):
        function = option(function)
    return figure_options(function)


def figure_look() -> dict[str, Any]:
    """How figures are to look, as the command line says."""
    return dict(click.get_current_context().meta.get(_LOOK, {}))


def check_figures(figures: str | None) -> None:
    """Refuse figures that cannot be drawn before any work is done."""
    look = figure_look()
    if look and not figures:
        name = {"formats": "figure-format"}.get(next(iter(look)), next(iter(look)))
        raise InvalidSetting(f"--{name} says how figures look, and none are asked for", remedy="Add --figures DIR.")
    if figures:
        load(CHECK_FIGURES)(**look)


def parse_confidence(text: str) -> float | None:
    """A level between 0 and 1, or 'none'."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(f"--ci '{text}' is not a level", remedy="Write 0.95, or none.") from None


def _named_values(
    pairs: Sequence[str],
    option: str,
    form: str,
    example: str,
    *,
    split: Callable[[str, str], Sequence[str]] = str.partition,
) -> dict[str, str]:
    """Pairs of NAME=VALUE, each name once; `split` cuts at the first = or at the last."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = split(pair, "=")
        if not (name and equals and value):
            raise InvalidSetting(f"{option} '{pair}' is not {form}", remedy=f"Example: {option} {example}.")
        if name in values:
            raise DuplicateKey(f"{option} names '{name}' twice", remedy="Give each name once.")
        values[name] = value
    return values


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=COLUMN pairs as a mapping."""
    mapping = _named_values(pairs, "--map", "NAME=COLUMN", "weight=grams")
    ctx = click.get_current_context()
    if _WEIGHT in ctx.meta:
        name = _weight_name(str(ctx.params["task"]))
        if {name, f"truth.{name}"} & mapping.keys():
            raise Conflict("--weight and --map both name the weights", remedy="Give one of them.")
        mapping[f"truth.{name}"] = ctx.meta[_WEIGHT]
    return mapping


def parse_models(given: Sequence[str]) -> list[str] | dict[str, str]:
    """Files, or files by name where any is NAME=FILE; a file that is there is taken as it stands."""
    models: dict[str, str] = {}
    named = False
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or os.path.exists(text) or "/" in name or "\\" in name:
            name, path = "", text
        elif not (name and path):
            raise InvalidSetting(f"'{text}' is not NAME=FILE", remedy="Example: ours=predictions.csv.")
        if name and name in models:
            raise DuplicateKey(f"two models are called '{name}'", remedy="Give each another name.")
        models[name or f"\0{len(models)}"] = path
        named = named or bool(name)
    if not named:
        return list(models.values())
    lacking = [path for name, path in models.items() if name.startswith("\0")]
    if lacking:
        raise MissingKey(f"'{lacking[0]}' has no name, and other models have", remedy="Name all models, or none.")
    return models


def parse_tags(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE pairs as tags; `date=now` is the present time, to the second."""
    tags = _named_values(pairs, "--tag", "NAME=VALUE", "model=small")
    if tags.get("date") == "now":
        tags["date"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tags


def _weight_name(task: str) -> str:
    """What a task calls the units' own weights."""
    own = {column.name for column in catalogue.find_task(task).truth.columns if not column.required}
    name = next((name for name in WEIGHT_NAMES if name in own), None)
    if name is None:
        raise Unsupported(f"task '{task}' takes no weights of units, which --weight names", remedy="Leave it out.")
    return name


def parse_margins(pairs: Sequence[str], option: str = "--margin") -> dict[str, str]:
    """SPEC=SIZE pairs as a mapping; a spec may hold a = inside its brackets."""
    return _named_values(pairs, option, "SPEC=SIZE", "map=0.005", split=str.rpartition)


def check_outputs(
    outputs: Sequence[str], *, html: str | None = None, figures: str | None = None, files: Sequence[str | None] = (),
    folders: Sequence[str | None] = (),
) -> None:  # fmt: skip
    """Refuse, before any work is done, what cannot be written; `files` and `folders` are what else a command writes."""
    for output in outputs:
        if Path(output).suffix.lower() not in WRITERS:
            raise CannotWrite(
                f"cannot write '{output}': the ending names no format",
                remedy=f"Use one of {', '.join(WRITERS)}.",
            )
    check_figures(figures)
    every = [*outputs, *(file for file in (html, *files) if file)]
    check_targets(every, [folder for folder in (figures, *folders) if folder])


def put_out(
    result: Result,
    as_json: bool,
    outputs: Sequence[str],
    *,
    html: str | None = None,
    figures: str | None = None,
    details: bool = False,
    more: Sequence[str] = (),
    **shown: Any,
) -> None:
    """Write files, say on stderr where, and print the result on stdout last: what is lost there loses no file.

    `more` names files that were written already, `shown` are settings of the text.
    """
    json_text = partial(result.to_json, details=details)
    for output in steps("writing", outputs):
        writer = WRITERS[Path(output).suffix.lower()]
        (json_text if writer == "to_json" else getattr(result, writer))(output)
    if html:
        result.to_html(html)
    drawn = result.write_figures(figures, **figure_look()) if figures else ()
    if not click.get_current_context().meta.get(_QUIET):
        if figures and not drawn:
            say(f"wrote nothing to {figures}: this result has no chart", err=True)
        for output in (*outputs, *([html] if html else []), *drawn, *more):
            say(f"wrote {output}", err=True)
    say(json_text() if as_json else result.to_text(terminal_width(), **shown), nl=not as_json)


def terminal_width() -> int:
    """Columns to fill: the terminal's, between 80 and 120; 80 when piped."""
    if not sys.stdout.isatty():
        return 80
    return max(80, min(120, shutil.get_terminal_size((80, 24)).columns))
