"""`steelyard pool`: results on several test sets, weighed together."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import check_outputs, terminal_width
from steelyard.cli.say import say
from steelyard.core.errors import CannotWrite
from steelyard.results.result import Result

WRITERS = {".json": "to_json", ".md": "to_markdown", ".html": "to_html"}


@click.command()
@click.argument("results", type=click.Path(), nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "--weights", default="equal", show_default=True, metavar="equal|units|FILE",
    help="How sets are weighed: all the same, by their units, or by a CSV with the columns set and weight.",
)  # fmt: skip
@click.option("--shared-units", is_flag=True, help="Allow units in more than one set, and join them by their ids.")
@click.option(
    "--sets", type=click.Choice(["fixed", "random"]), default="fixed", show_default=True,
    help="Whether the numbers are about these sets, or about sets that they are a random sample of.",
)  # fmt: skip
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the page to FILE.")
@click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="Also write the result to FILE: .json, .md or .html.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def pool(
    results: tuple[str, ...],
    weights: str,
    shared_units: bool,
    sets: str,
    html: str | None,
    output: tuple[str, ...],
    as_json: bool,
) -> None:
    """Weigh results on several test sets together.

    RESULT... are JSON files of 'evaluate', or of 'compare' with two models, all made with --save-influences. Scores get
    an interval from those of the sets; differences are tested by sign flips over the units of all sets.

    \b
    steelyard pool day.json night.json rain.json
    steelyard pool day.json night.json rain.json --weights units -o pooled.json
    """
    from steelyard.gating.pool import pool as make_pool

    check_written(output, html)
    made = make_pool(results, weights=weights, shared_units=shared_units, sets=sets)  # type: ignore[arg-type]
    write_result(made, output, html, as_json)


def check_written(output: tuple[str, ...], html: str | None) -> None:
    """Refuse outputs that cannot be written before any work is done."""
    for name in output:
        if Path(name).suffix.lower() not in WRITERS:
            raise CannotWrite(f"cannot write '{name}': unknown file extension", remedy="Use .json, .md or .html.")
    check_outputs(output, html=html, figures=None)


def write_result(made: Result, output: tuple[str, ...], html: str | None, as_json: bool) -> None:
    """Write files, say on stderr where, and print the result."""
    for name in output:
        getattr(made, WRITERS[Path(name).suffix.lower()])(name)
    if html:
        made.to_html(html)
    for path in (*output, *([html] if html else [])):
        say(f"wrote {path}", err=True)
    say(made.to_json() if as_json else made.to_text(terminal_width()), nl=not as_json)
