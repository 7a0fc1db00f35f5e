"""`steelyard drift`: a model on a new test set against the same model on an old one."""

from __future__ import annotations

import click

from steelyard.cli.pool import check_written, write_result


@click.command()
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.option(
    "--by", default="", metavar="COLUMN",
    help="Weigh the new set to the old mix of this column's groups; several joined by commas are crossed.",
)  # fmt: skip
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the page to FILE.")
@click.option("-o", "--output", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="Also write the result to FILE: .json, .md or .html.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def drift(old: str, new: str, by: str, html: str | None, output: tuple[str, ...], as_json: bool) -> None:
    """Say how scores changed from an OLD test set to a NEW one.

    OLD and NEW are JSON files of 'evaluate' for one model, on test sets with units of their own. With --by, for which
    both must be made with --save-influences and that --by, the new set is weighed to the old mix of groups, and the
    rest of the change is shown as the mix.

    \b
    steelyard drift march.json may.json
    steelyard drift march.json may.json --by site --html drift.html
    """
    from steelyard.gating.drift import drift as make_drift

    check_written(output, html)
    write_result(make_drift(old, new, by=by), output, html, as_json)
