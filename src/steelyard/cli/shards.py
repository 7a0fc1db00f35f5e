"""What `evaluate` takes and shows when the data are many files."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from typing import Any

import click

from steelyard.io.parts import scratch
from steelyard.results.report import Report

_OPTIONS = (
    click.option("--engine", type=click.Choice(["local", "dask", "ray"]),
                 help="Who works on many files: processes of this machine, Dask or Ray."),
    click.option("--address", metavar="URL", help="Of the Dask scheduler or the Ray head; without it one is started."),
    click.option("--workers", type=int, metavar="N", help="Processes of this machine; its cores where not given."),
    click.option("--work", metavar="DIR", type=click.Path(file_okay=False),
                 help="Keep states in DIR, which all workers see; a run that died is resumed from there."),
    click.option("--join", type=click.Choice(["auto", "pairs", "hash"]), default="auto", show_default=True,
                 help="How files of both sides meet: one by one, or by a hash of the unit's id."),
    click.option("--approximate", type=int, metavar="BINS",
                 help="Rankings from a histogram of scores: faster, with sure bounds, without intervals."),
    click.option("--skip-bad-shards", is_flag=True, help="Leave out files that cannot be read, and say so."),
)  # fmt: skip


def shard_options(function: Any) -> Any:
    """Give a command the options about many files."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def are_shards(*paths: str | None) -> bool:
    """Whether a path names many files, or one that is not of this machine."""
    return any(
        path is not None and ("://" in path or "::" in path or (glob.has_magic(path) and not os.path.exists(path)))
        for path in paths
    )


def evaluate_shards(*args: Any, **kwargs: Any) -> Report:
    """The evaluation over shards; imported where it is used, since few commands need it."""
    from steelyard import scale

    return scale.evaluate_shards(*args, **kwargs)


@contextlib.contextmanager
def work_folder(given: str | None) -> Iterator[str]:
    """The folder for states: the user's, or one that goes with the run."""
    if given is not None:
        yield given
        return
    with scratch() as folder:
        yield str(folder)
