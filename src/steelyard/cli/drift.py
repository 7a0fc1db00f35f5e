"""`steelyard drift`: a model on a new test set against the same model on an old one."""

from __future__ import annotations

import click

from steelyard.cli.options import PAGES, Command, Output, option, output_options


@click.command(cls=Command)
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@option(
    "--by",
    default="",
    metavar="COLUMN",
    help="Reweight the new set to the old mix of groups in this column; join columns with commas to cross them.",
)
@output_options(*PAGES)
def drift(old: str, new: str, by: str, out: Output) -> None:
    """Measure how scores changed from an OLD test set to a NEW one.

    OLD and NEW are JSON files of 'evaluate' for one model, on test sets that share no units. With --by, the new set is
    reweighted to the old mix of groups, and the rest of the change is attributed to the mix. This needs results made
    with --save-influences and the same --by.

    \b
    steelyard drift march.json may.json
    steelyard drift march.json may.json --by site --html drift.html
    """
    from steelyard.gating.drift import drift as make_drift

    made = make_drift(old, new, by=by)
    out.write(made)
    out.show(made)
