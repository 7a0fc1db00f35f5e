"""`steelyard report`: the page of a result that was written before."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard import api
from steelyard.cli.options import WRITERS, Command, Output, option, output_options
from steelyard.results.comparison import Lineup
from steelyard.results.registry import renderer


@click.command(cls=Command)
@click.argument("result", type=click.Path())
@option("--pairs", is_flag=True, group="Output",
        help="With three models or more, also print the differences of each model from the first.")  # fmt: skip
@output_options(*(one for one in WRITERS if one != ".json"), images=True, figures=True, look=True, json=False)
def report(result: str, pairs: bool, out: Output) -> None:
    """Write a report of RESULT, the JSON file of another command.

    RESULT is from 'evaluate', 'compare', 'gate --json', 'plan -o', 'pool', 'drift' or 'vlm score'. The report has
    images, tables and units if RESULT was written with --details. Without -o and --figures, the table is printed.

    \b
    steelyard evaluate weights truth.csv pred.csv -o result.json --details
    steelyard report result.json -o report.html
    """
    outcome = api.load(result)
    for name in (*out.output, *([out.html] if out.html else [])):  # before the first is written
        form = "html" if name == out.html else WRITERS[Path(name).suffix.lower()].removeprefix("to_")
        renderer(outcome.kind, "sheets" if form == "excel" else form)
    if not out.write(outcome):
        out.show(outcome, **({"pairs": True} if pairs and isinstance(outcome, Lineup) else {}))
