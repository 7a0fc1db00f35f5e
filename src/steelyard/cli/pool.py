"""`steelyard pool`: results on several test sets, combined."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import PAGES, Command, Output, option, output_options


@click.command(cls=Command)
@click.argument("results", type=click.Path(), nargs=-1, required=True, metavar="RESULT...")
@option(
    "--weights", default="equal", show_default=True, metavar="equal|units|FILE",
    help="Weights of the sets: equal, by number of units, or from a CSV file with the columns set and weight.",
)  # fmt: skip
@option("--shared-units", is_flag=True, help="Allow units that are in more than one set, matched by id.")
@option(
    "--sets", type=click.Choice(["fixed", "random"]), default="fixed", show_default=True,
    help="Draw conclusions for these sets only, or treat them as a random sample of sets.",
)  # fmt: skip
@output_options(*PAGES)
def pool(results: tuple[str, ...], out: Output, **settings: Any) -> None:
    """Combine results on several test sets.

    RESULT... are JSON files of 'evaluate', or of 'compare' with two models, all made with --save-influences. Scores get
    an interval from those of the sets; differences are tested by sign flips over the units of all sets.

    \b
    steelyard pool day.json night.json rain.json
    steelyard pool day.json night.json rain.json --weights units -o pooled.json
    """
    from steelyard.gating.pool import pool as make_pool

    made = make_pool(results, **settings)
    out.write(made)
    out.show(made)
