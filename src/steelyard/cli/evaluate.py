"""`steelyard evaluate`: score predictions against truth."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any

import click

from steelyard import api
from steelyard.cli.options import (
    WRITERS,
    Output,
    TaskCommand,
    apply,
    option,
    output_options,
    shared_options,
    split_runs,
    taking,
    task_argument,
)
from steelyard.core.errors import Conflict, Unsupported
from steelyard.core.progress import advance
from steelyard.core.request import CORRECTIONS
from steelyard.io.parts import scratch

_shards = partial(option, group="Many files", rare=True)
_OPTIONS = (
    _shards("--engine", type=click.Choice(["local", "dask", "ray"]),
            help="What runs the work on many files: processes of this machine, Dask or Ray.  [default: local]"),
    _shards("--address", metavar="URL", help="Address of the Dask scheduler or Ray head; default: start one."),
    _shards("--workers", type=int, metavar="N", help="Number of processes on this machine; default: its cores."),
    _shards("--work", metavar="DIR", type=click.Path(file_okay=False),
            help="Keep intermediate states in DIR, which all workers must see; an interrupted run resumes from there."),
    _shards("--join", type=click.Choice(["auto", "pairs", "hash"]), default="auto", show_default=True,
            help="How files of the two sides are matched: file by file, or by a hash of the unit id."),
    _shards("--approximate", type=int, metavar="BINS",
            help="Compute rankings from a histogram of scores: faster, with guaranteed bounds, without intervals."),
    _shards("--skip-bad-shards", is_flag=True, help="Skip files that cannot be read, and report them."),
)  # fmt: skip
_NAMES = ("engine", "address", "workers", "work", "join", "approximate", "skip_bad_shards")


def shard_options(function: Any) -> Any:
    """Give a command the options about many files; it gets them as `shards`."""

    @wraps(function)
    def run(**given: Any) -> Any:
        return function(shards={name: given.pop(name) for name in _NAMES}, **given)

    return apply(_OPTIONS)(run)


def are_shards(*paths: str | None) -> bool:
    """Whether a path names many files, or one that is not of this machine."""
    return any(
        path is not None and ("://" in path or "::" in path or (glob.has_magic(path) and not os.path.exists(path)))
        for path in paths
    )


@contextlib.contextmanager
def work_folder(given: str | None) -> Iterator[str]:
    """The folder for states: the user's, or one that goes with the run."""
    if given is not None:
        yield given
        return
    with scratch() as folder:
        yield str(folder)


@click.command(cls=TaskCommand)
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("files", type=click.Path(), nargs=-1, metavar="[PREDICTIONS]...")
@output_options(*WRITERS, images=True, figures=True, look=True, progress=True, files=("units",), folders=("tables",))
@shared_options
@option(
    "--explain", metavar="TOOLS", group="Metrics", rare=True, callback=taking(lambda tools: tools or ()),
    help="Explain why other tools print other numbers: pycocotools, torchmetrics, ultralytics (boxes), py-motmetrics "
    "(tracking), mmseg, torchmetrics (segmentation), panopticapi (panoptic), monai, surface-distance, medpy (volumes), "
    "lmms-eval, vlmevalkit, inspect, lm-eval, vqa (answers), "
    "basicsr, skimage, torchmetrics, piq, pyiqa (images). Join several with commas.",
)  # fmt: skip
@option(
    "--judge-correction", type=click.Choice(CORRECTIONS), default="difference", show_default=True, group="Statistics",
    rare=True, help="With --proxy: correct its mean error, or its error rates on labelled units.",
)  # fmt: skip
@option(
    "--label-probability", metavar="COLUMN", group="Statistics", rare=True,
    help="With --proxy: column of the ground truth with the probability by which 'label-next' chose each unit.",
)  # fmt: skip
@option(
    "--units", metavar="FILE", type=click.Path(dir_okay=False), group="Output",
    help="Also write the scores of every unit to a CSV file.",
)  # fmt: skip
@option(
    "--tables", metavar="DIR", type=click.Path(file_okay=False), group="Output",
    help="Also write other tables of the task, such as a confusion matrix, as CSV files.",
)  # fmt: skip
@option(
    "--details",
    is_flag=True,
    group="Output",
    help="Keep everything that the HTML report shows in the JSON, so that 'report' can make the page later.",
)
@option(
    "--save-draws", is_flag=True, group="Output", rare=True,
    help="Keep every score under the bootstrap draws in the JSON. The next version drops it for --save-influences.",
)  # fmt: skip
@shard_options
def evaluate(
    task: str, truth: str, files: tuple[str, ...], metrics: tuple[str, ...], units: str | None, tables: str | None,
    details: bool, shards: dict[str, Any], out: Output, **settings: Any,
) -> None:  # fmt: skip
    """Score PREDICTIONS against TRUTH.

    Files are CSV, TSV, JSON lines, JSON, Parquet or .xlsx; boxes may be COCO, LVIS, VOC, YOLO or CVAT. Without
    PREDICTIONS, TRUTH holds both, with predicted values in a column 'prediction'. 'steelyard tasks' lists the tasks.

    \b
    steelyard evaluate weights truth.csv pred.csv
    steelyard evaluate weights truth.csv pred.csv -m mae -m within@10 --by food
    steelyard evaluate sequences meals.csv --html report.html

    To score several runs of one model together, say with --runs how they differ. For annotators, give several TRUTH.

    \b
    steelyard evaluate labels truth.csv seed1.csv seed2.csv seed3.csv --runs seeds
    steelyard evaluate labels ann.csv bob.csv eve.csv predictions.csv --runs annotators

    TRUTH and PREDICTIONS may be patterns or URLs that match many files. --engine then chooses what runs the work, and
    --work the directory for intermediate states, from which an interrupted run resumes.

    \b
    steelyard evaluate boxes 'truth/*.parquet' 'pred/*.parquet' --work states
    """
    named = list(metrics) or None
    runs = settings["runs"]
    if len(files) > 1 and runs is None:
        raise click.UsageError(f"Got several PREDICTIONS ({', '.join(files)}): say with --runs what they are.")
    predictions = files[0] if files else None
    sharded = any(value for name, value in shards.items() if name != "join")
    if runs is not None:
        beside = {"--units": units, "--tables": tables, "--details": details, "shards": sharded}
        if given := next((name for name, value in beside.items() if value), None):
            raise Conflict(f"--runs cannot be combined with {given}", remedy="Leave one of them out.")
        true, predicted = split_runs([truth, *files], runs)
        report = api.evaluate(task, true, predicted, named, **settings)
        out.write(report)
        out.show(report)
        return
    with ExitStack() as held:
        if sharded or are_shards(truth, predictions):
            alone = {name: settings.pop(name) for name in ALONE}
            if alone["delimiter"] or alone["decimal"]:
                raise Conflict("--delimiter and --decimal are for single files", remedy="Convert the files first.")
            for name in ("proxy", "explain"):
                if alone[name]:
                    raise Unsupported(f"`{name}` needs all data in one place", remedy="Evaluate one file.")
            folder = held.enter_context(work_folder(shards.pop("work")))  # units, tables and figures are made from it
            engine = shards.pop("engine") or "local"
            from steelyard.scale import evaluate_shards

            report = evaluate_shards(
                task, truth, predictions, named, engine=engine, work=folder, progress=advance, **shards, **settings
            )
        else:
            report = api.evaluate(task, truth, predictions, named, **settings)
        if units:
            report.units().to_csv(units)
        more = [*([units] if units else []), *(report.write_tables(tables) if tables else ())]
        out.write(report, details, more)
        out.show(report, details)


# What shards do not take.
ALONE = ("proxy", "judge_correction", "label_probability", "explain", "runs", "fixed", "like", "delimiter", "decimal")
