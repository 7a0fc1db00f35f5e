"""Options that several commands share, how their help is grouped, and how results are put out."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from steelyard import api
from steelyard.cli.outputs import check_targets
from steelyard.cli.progress import listener
from steelyard.cli.say import flag, say
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
from steelyard.core.progress import steps, use_progress
from steelyard.core.request import FACTORS, FIXED, LIKE, SEQUENCES
from steelyard.results.comparison import Lineup
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
GROUPS = ("Options", "Task options", "Data", "Metrics", "Statistics", "Output")  # sections of the help; others follow
MOST_RARE = 5  # so many rare options are listed with the others
PAGES = (".json", ".md", ".html")  # what results without a table of scores are written as
WEIGHT_NAMES = ("sample_weight", "weight")  # what tasks call the units' own weights, the first that one has


class Option(click.Option):
    """An option in a group of the help. Only --help-all lists rare ones."""

    def __init__(self, *args: Any, group: str = "Options", rare: bool = False, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.group, self.rare = group, rare


option = partial(click.option, cls=Option)


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        assert isinstance(ctx, Context)
        ctx.help_all = True
        say(ctx.get_help())
        ctx.exit()


class Context(click.Context):
    """What a command knows beside its parameters: the options of the named task, and whether help lists all."""

    task_options: Sequence[Option] = ()
    help_all = False


class Command(click.Command):
    """A command whose help lists options by group, and rare ones on demand."""

    context_class = Context

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with --help-all before --help where it lists more."""
        *params, last = super().get_params(ctx)
        if not self.hides():
            return [*params, last]
        show = Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                      group="Help", help="Show every option and exit.")  # fmt: skip
        return [*params, show, last]

    def hides(self) -> bool:
        """Whether --help leaves rare options out: a few are no burden."""
        return len([param for param in self.params if getattr(param, "rare", False)]) > MOST_RARE

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per group."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        more = 0
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is None:
                continue
            if getattr(param, "rare", False) and self.hides() and not getattr(ctx, "help_all", False):
                more += 1
            else:
                groups.setdefault(getattr(param, "group", "Help"), []).append(record)
        groups["Help"] = groups.pop("Help")
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if more:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all lists {more} more options.")


class TaskCommand(Command):
    """A command whose first argument is a task, and that takes the options which that task declares.

    Only the named task is loaded. `steelyard evaluate TASK --help` shows its options; without a task, only the common
    ones are shown. The command gets options of the task in `options`, as the functions of Python do.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take in the named task's options, then parse."""
        words = [arg for arg in args if arg.replace("-", "_").isidentifier() and not arg.startswith("-")]
        first = catalogue.task_name(args[0]) if args and not args[0].startswith("-") else None
        if first is None and self.name in ("evaluate", "check") and args and os.path.isfile(args[0]):
            raise click.UsageError(
                f"'{args[0]}' is a file, and the task comes first: 'steelyard {self.name} TASK {args[0]} ...'. "
                "'steelyard tasks' lists the tasks."
            )
        named = first or next((word for word in words if word in catalogue.TASKS), None)
        if named is not None:
            assert isinstance(ctx, Context)
            ctx.task_options = [
                Option(
                    [f"--{one.name.replace('_', '-')}", one.name],
                    group="Task options",
                    help=one.meaning,
                    metavar=one.metavar or "|".join(one.choices) or one.name.upper(),
                    multiple=one.type == "pairs",
                )
                for one in catalogue.TASKS[named].options
            ]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of the task, then the common parameters; deprecated ones and --images give way to the task's."""
        params = super().get_params(ctx)
        own = list(getattr(ctx, "task_options", ()))
        taken = {name for one in own for name in one.opts}
        yielding = {param.name for param in params if getattr(param, "hidden", False) or param.name == "images"}
        return [*own, *(param for param in params if not (param.name in yielding and taken & {*param.opts}))]

    def invoke(self, ctx: click.Context) -> Any:
        """Hand over the task's options as one mapping."""
        params = ctx.params
        assert isinstance(ctx, Context)
        for one in ctx.task_options:
            value = params.pop(str(one.name), None)
            if value is not None and value != ():
                if one.name in params["options"]:
                    raise DuplicateKey(f"option {one.name} is given twice", remedy="Give it once.")
                if one.name == "images" and Path(str(value)).is_dir() and _writes_page(params):
                    params["images"] = value  # the images that a reader takes sizes from are those that a page shows
                    if _are_json(params):
                        continue  # COCO has the sizes
                params["options"][one.name] = ",".join(value) if one.multiple else value
        if (weight := params.pop("weight", None)) is not None:
            name = _weight_name(params["task"])
            if {name, f"truth.{name}"} & params["columns"].keys():
                raise Conflict("--weight and --map both name the weights", remedy="Give one of them.")
            params["columns"][f"truth.{name}"] = weight
        return super().invoke(ctx)


def _are_json(params: Mapping[str, Any]) -> bool:
    """Whether truth and predictions are JSON files."""
    files = [params.get("truth"), params.get("a"), *(params.get("files") or ()), *(params.get("b") or ())]
    return all(str(name).rpartition("=")[2].lower().endswith(".json") for name in files if name)


def _writes_page(params: Mapping[str, Any]) -> bool:
    return bool(params.get("html")) or any(name.lower().endswith(".html") for name in params.get("output") or ())


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tasks that begin so."""
    known, _ = catalogue.loaded_tasks()
    return [CompletionItem(name, help=task.title) for name, task in known.items() if name.startswith(incomplete)]


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Specs of the chosen task's metrics, or of all, that begin so."""
    chosen = catalogue.task_name(str(ctx.params.get("task")))
    tasks = [chosen] if chosen else list(catalogue.loaded_tasks()[0])
    specs = dict.fromkeys(str(metric) for task in tasks for metric in catalogue.metrics(task))
    return [CompletionItem(spec) for spec in specs if spec.startswith(incomplete)]


def taking(parse: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback that hands on what `parse` makes of the value."""
    return lambda ctx, param, value: parse(value)


def task_argument(**attributes: Any) -> Callable[[Any], Any]:
    """The argument TASK, by its name or a synonym."""
    known = taking(lambda name: catalogue.task_name(name) or name)
    return click.argument("task", shell_complete=complete_task, callback=known, **attributes)


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


def parse_confidence(text: str) -> float | None:
    """A level between 0 and 1, or 'none'."""
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(f"--ci '{text}' is not a level", remedy="Write 0.95, or none.") from None


def parse_columns(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=COLUMN pairs as a mapping."""
    return _named_values(pairs, "--map", "NAME=COLUMN", "weight=grams")


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


def parse_margins(pairs: Sequence[str], option: str = "--margin") -> dict[str, str]:
    """SPEC=SIZE pairs as a mapping; a spec may hold a = inside its brackets."""
    return _named_values(pairs, option, "SPEC=SIZE", "map=0.005", split=str.rpartition)


def _weight_name(task: str) -> str:
    """What a task calls the units' own weights."""
    own = {column.name for column in catalogue.find_task(task).truth.columns if not column.required}
    name = next((name for name in WEIGHT_NAMES if name in own), None)
    if name is None:
        raise Unsupported(f"task '{task}' takes no weights of units, which --weight names", remedy="Leave it out.")
    return name


def split_runs(files: Sequence[str], runs: str) -> tuple[Any, Any]:
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


def _hold_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    """Hold the native core to so many threads until the command ends."""
    ctx.with_resource(api.use_threads(value))


def _hold_progress(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    """Show how far the work is until the command ends, unless nobody wants to know."""
    ctx.with_resource(use_progress(None if value else listener()))
    return value


def apply(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """A decorator that gives a command these options, in their order."""

    def decorate(function: Any) -> Any:
        for one in reversed(options):
            function = one(function)
        return function

    return decorate


_data, _statistics, _output = (partial(option, group=name) for name in ("Data", "Statistics", "Output"))
by_option = option(
    "--by", multiple=True, metavar="COLUMN[@FILE]", group="Metrics",
    help="Also score each slice of a column; join columns with commas to cross them. Repeatable.",
)  # fmt: skip
save_influences_option = _output(
    "--save-influences", is_flag=True,
    help="Keep the contribution of each unit in the JSON (at most 11 KB per score), so that 'compare', 'gate', 'plan', "
    "'pool' and 'drift' work without the data.",
)  # fmt: skip
dialect_options = apply((
    _data("--delimiter", metavar="CHAR", rare=True,
          help="Field separator of text files if the name or header does not tell: ';', tab, '|'."),
    _data("--decimal", type=click.Choice(["comma", "point"]), rare=True, help="Decimal mark in text files."),
))  # fmt: skip
data_options = apply((
    _data("--map", "columns", multiple=True, metavar="NAME=COLUMN",
          callback=taking(parse_columns),
          help="Read NAME from this column: weight=grams, truth.weight=grams, or for compared models a.weight=x. "
          "Repeatable."),
    _data("--option", "-O", "options", multiple=True, metavar="NAME=VALUE", rare=True,
          callback=taking(lambda pairs: _named_values(pairs, "--option", "NAME=VALUE", "truth.angle=radians")),
          help="Set an option of the task; for one side only: truth.angle=radians. Repeatable."),
    dialect_options,
))  # fmt: skip
metric_option = option(
    "-m", "--metric", "metrics", multiple=True, metavar="SPEC", group="Metrics", shell_complete=complete_metric,
    help="A metric, with settings if needed: mape, within@10. Repeatable; default: the main metrics of the task.",
)  # fmt: skip
confidence_option = _statistics(
    "--ci", "confidence", default="0.95", show_default=True, metavar="LEVEL", callback=taking(parse_confidence),
    help="Confidence level of the intervals, or 'none'.",
)  # fmt: skip
draw_options = apply((
    _statistics("--cluster", metavar="COLUMN[@FILE]",
                help="Resample units with the same value together, such as the images of a video. The column is in the "
                "ground truth, or in FILE next to the unit ids."),
    _statistics("--strata", metavar="COLUMN[@FILE]", rare=True,
                help="Resample within each value of a column, for group sizes that were fixed by design."),
    _statistics("--draws", default=1000, show_default=True, metavar="N", help="Number of bootstrap draws."),
    _statistics("--seed", default=0, show_default=True, metavar="N", help="Random seed of the draws."),
))  # fmt: skip
shared_options = apply((
    data_options,
    _data("--missing", show_default="error, or the task's default",
          type=click.Choice(["error", "worst", "skip", "common"]),
          help="What to do with ground truth without a prediction. In comparisons, 'skip' and 'common' drop what any "
          "model lacks."),
    _data("--extra", show_default="error, or the task's default", type=click.Choice(["error", "skip"]),
          help="What to do with predictions without ground truth."),
    _data("--weight", metavar="COLUMN", rare=True,
          help="Column of the ground truth with unit weights, if the task supports them."),
    metric_option,
    by_option,
    confidence_option,
    draw_options,
    _statistics("--sequence", type=click.Choice(SEQUENCES), rare=True,
                help="Intervals that stay valid however often you look while data grow; exact for means of bounded "
                "scores."),
    _statistics("--runs", type=click.Choice(FACTORS), rare=True,
                help="Several PREDICTIONS are runs of one model that differ in this; for annotators, give several "
                "TRUTH. Intervals then cover new runs and new units."),
    _statistics("--fixed", type=click.Choice(FIXED), rare=True,
                help="With --runs: draw conclusions for these runs only, or for these units only."),
    _statistics("--like", type=click.Choice(list(LIKE)), rare=True,
                help="With --runs readers: reproduce OR-DBM MRMC, or MRMCaov with DeLong covariances."),
    _statistics("--proxy", metavar="FILE|COLUMN", rare=True,
                help="If only some units have ground truth: a judge or a cheap measurement of all units, as a file "
                "like the ground truth or a column of it."),
    save_influences_option,
    _output("--tag", "tags", multiple=True, metavar="NAME=VALUE", rare=True, callback=taking(parse_tags),
            help="Store a tag in the result, such as model=small or date=now; 'view' filters by tags. Repeatable."),
    _output("--threads", type=int, metavar="N", rare=True, expose_value=False, callback=_hold_threads,
            help="Threads of the native core; default: all. Results do not depend on it."),
))  # fmt: skip


PICTURED = ("report", "comparison", "lineup", "vlm-score")  # kinds of results whose page shows images


@dataclass(frozen=True)
class Output:
    """Where a result goes: files by their endings, charts and how they look, and stdout as text or JSON."""

    output: tuple[str, ...] = ()
    html: str | None = None
    images: str | None = None
    figures: str | None = None
    look: Mapping[str, Any] = field(default_factory=dict)
    as_json: bool = False
    quiet: bool = False
    latex: str | None = None

    def check(self, endings: Sequence[str], files: Sequence[str | None], folders: Sequence[str | None]) -> None:
        """Refuse, before any work is done, what cannot be written; a command writes `files` and `folders` too."""
        for output in self.output:
            if Path(output).suffix.lower() not in endings:
                remedy = f"Use one of {', '.join(endings)}."
                raise CannotWrite(f"cannot write '{output}': unknown file extension", remedy=remedy)
        if self.look and not self.figures:
            name = {"formats": "figure-format"}.get(next(iter(self.look)), next(iter(self.look)))
            raise InvalidSetting(f"{flag(name)} is for figures, and none are written", remedy="Add --figures DIR.")
        if self.images and not self.html and not any(Path(output).suffix.lower() == ".html" for output in self.output):
            raise InvalidSetting("--images is for an HTML report, and none is written", remedy="Add --html FILE.")
        if self.figures:
            load(CHECK_FIGURES)(**self.look)
        every = [*self.output, *(file for file in (self.html, self.latex, *files) if file)]
        check_targets(every, [folder for folder in (self.figures, *folders) if folder])

    def write(self, result: Result, details: bool = False, more: Sequence[str] = (), **page: Any) -> Sequence[str]:
        """Write files, say on stderr where, and return their names; `more` were written already, `page` is for HTML."""
        if self.images and result.kind not in PICTURED:
            raise InvalidSetting(f"a {result.kind} shows no images", remedy="Leave out --images.")
        page = {**({"images": self.images} if self.images else {}), **page}
        options = {"to_json": {"details": details}, "to_html": page}
        for output in steps("writing", self.output):
            writer = WRITERS[Path(output).suffix.lower()]
            getattr(result, writer)(output, **options.get(writer, {}))
        if self.html:
            result.to_html(self.html, **page)
        if self.latex:
            lettered = isinstance(result, Lineup) and any(one.letters for one in result.standings.values())
            result.to_latex(self.latex, **({"marks": "letters"} if lettered else {}))
        drawn = result.write_figures(self.figures, **self.look) if self.figures else ()
        written = [*self.output, *(file for file in (self.html, self.latex) if file), *drawn, *more]
        if not self.quiet:
            if self.figures and not drawn:
                say(f"wrote nothing to {self.figures}: this result has no chart", err=True)
            for path in written:
                say(f"wrote {path}", err=True)
        return written

    def show(self, result: Result, details: bool = False, **shown: Any) -> None:
        """Print the result; `shown` are settings of the text."""
        text = result.to_json(details=details) if self.as_json else result.to_text(terminal_width(), **shown)
        say(text, nl=not self.as_json)


LOOK = ("formats", "width", "dpi", "font", "transparent")  # the parameters of these options
_LOOK = (
    _output("--figure-format", "formats", metavar="LIST", rare=True,
            help="Formats of the charts, joined by commas: pdf,svg,png."),
    click.option("--format", "old_formats", hidden=True),
    _output("--width", metavar="LENGTH", rare=True,
            help="Width of the charts on paper: 85mm, 3.35in, 1col, 1.5col or 2col."),
    _output("--dpi", type=int, metavar="N", rare=True, help="Resolution of PNG charts."),
    _output("--font", metavar="NAME", rare=True, help="Font family of the charts."),
    _output("--transparent", is_flag=True, default=None, rare=True,
            help="Leave the background of the charts transparent instead of white."),
)  # fmt: skip


def output_options(
    *endings: str, html: bool = True, images: bool = False, latex: bool = False, figures: bool = False,
    look: bool = False, json: bool = True, progress: bool = False, files: Sequence[str] = (),
    folders: Sequence[str] = (),
) -> Callable[[Any], Any]:  # fmt: skip
    """Give a command the options about its results. It gets them as `out`, which is checked before it runs.

    `endings` are those that -o takes; `files` and `folders` are parameters that name what else the command writes.
    """
    listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
    options = [
        _output("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
                help=f"Also write the result to FILE ({listed}). Repeatable."),
        _output("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write an HTML report to FILE.")
        if html else None,
        _output("--latex", metavar="FILE", type=click.Path(dir_okay=False),
                help="Also write a LaTeX table (booktabs) to FILE: best values in bold, and letters for three models "
                "or more.")
        if latex else None,
        _output("--images", metavar="DIR", type=click.Path(file_okay=False, exists=True),
                help="Show thumbnails of the images in DIR in the HTML report. Needs Pillow.") if images else None,
        _output("--figures", metavar="DIR", type=click.Path(file_okay=False),
                help="Also write the report's charts to DIR as SVG, PNG and PDF. PNG and PDF need steelyard[report].")
        if figures else None,
        *(_LOOK if look else ()),
        _output("--json", "as_json", is_flag=True, help="Print the result as JSON.") if json else None,
        _output("-q", "--quiet", is_flag=True, callback=_hold_progress, help="Do not show progress or written files.")
        if progress else None,
    ]  # fmt: skip

    def decorate(function: Any) -> Any:
        @wraps(function)
        def run(**given: Any) -> Any:
            old = given.pop("old_formats", None)
            styled = {name: given.pop(name, None) for name in LOOK} if look else {}
            if old is not None:
                if styled["formats"] is not None:
                    what = "--format and --figure-format both name the figures' formats"
                    raise Conflict(what, remedy="Give the latter.")
                say("--format is deprecated for figures: write --figure-format.", err=True)
                styled["formats"] = old
            names = ("output", "html", "images", "latex", "figures", "as_json", "quiet")
            own = {name: given.pop(name) for name in names if name in given}
            out = Output(look={name: value for name, value in styled.items() if value is not None}, **own)
            out.check(endings, [given[name] for name in files], [given[name] for name in folders])
            return function(out=out, **given)

        return apply([one for one in options if one is not None])(run)

    return decorate


def terminal_width() -> int:
    """Columns to fill: the terminal's, between 80 and 120; 80 when piped."""
    if not sys.stdout.isatty():
        return 80
    return max(80, min(120, shutil.get_terminal_size((80, 24)).columns))
