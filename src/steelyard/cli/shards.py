"""What `evaluate` takes and shows when the data are many files."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from functools import partial, wraps
from typing import Any

import click

from steelyard.cli.options import apply, option
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
