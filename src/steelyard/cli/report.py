"""`steelyard report`: the page of a result that was written before."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard import api
from steelyard.cli.options import WRITERS, check_outputs, figure_look, figure_options, terminal_width
from steelyard.cli.say import say
from steelyard.core.errors import CannotWrite
from steelyard.results.comparison import Lineup
from steelyard.results.registry import renderer


@click.command()
@click.argument("result", type=click.Path())
@click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="Write the page to FILE: .html, .md, .tex, .csv or .xlsx.")  # fmt: skip
@click.option("--figures", metavar="DIR", type=click.Path(file_okay=False),
              help="Write the page's charts as SVG, PNG and PDF. Needs steelyard[report].")  # fmt: skip
@click.option(
    "--pairs", is_flag=True, help="With three models or more, print each one's differences from the first too."
)
@figure_options
def report(result: str, output: tuple[str, ...], figures: str | None, pairs: bool) -> None:
    """Make the page of RESULT, a JSON file of 'evaluate', 'compare', 'gate --json', 'plan -o' or 'vlm score'.

    Pictures, tables and units are on the page where RESULT was written with --details. Without -o and --figures the
    table is printed.

    \b
    steelyard evaluate weights truth.csv pred.csv -o result.json --details
    steelyard report result.json -o report.html
    """
    check_outputs(output, figures=figures)
    if any(name.lower().endswith(".json") for name in output):
        raise CannotWrite("a report is not written as JSON again", remedy="Use .html, .md, .tex, .csv or .xlsx.")
    outcome = api.load(result)
    for name in output:  # before the first is written
        form = WRITERS[Path(name).suffix.lower()].removeprefix("to_")
        renderer(outcome.kind, "sheets" if form == "excel" else form)
    for name in output:
        getattr(outcome, WRITERS[Path(name).suffix.lower()])(name)
    paths = (*output, *(outcome.write_figures(figures, **figure_look()) if figures else ()))
    if not paths:
        shown = {"pairs": True} if pairs and isinstance(outcome, Lineup) else {}
        say(outcome.to_text(terminal_width(), **shown))
    for path in paths:
        say(f"wrote {path}", err=True)
