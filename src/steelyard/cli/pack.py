"""`steelyard pack`: results with all that is needed to check them, in one archive."""

from __future__ import annotations

import click

from steelyard.cli.options import dialect_options
from steelyard.cli.outputs import check_targets
from steelyard.cli.say import say
from steelyard.core.counts import count_text


@click.command()
@click.argument("results", type=click.Path(), nargs=-1, required=True, metavar="RESULTS...")
@click.option(
    "-o",
    "--output",
    default="pack.zip",
    show_default=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Name of the pack.",
)
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(),
    show_default="where the results say, or beside them",
    help="Directory of the data.",
)
@click.option("--include-data", is_flag=True, help="Put the data into the pack, not only their digests.")
@click.option("--unchecked", is_flag=True, help="Do not compute the results again before they are packed.")
@click.option("--by", metavar="NAME", default="", help="Who makes the pack.")
@click.option("--title", metavar="TEXT", default="", help="Title of the test report and the model card.")
@click.option("--purpose", metavar="TEXT", default="", help="What the model is for, and what the test is to show.")
@dialect_options
def pack(
    results: tuple[str, ...],
    output: str,
    data: str | None,
    include_data: bool,
    unchecked: bool,
    by: str,
    title: str,
    purpose: str,
    delimiter: str | None,
    decimal: str | None,
) -> None:
    """Pack results with everything that is needed to check them.

    RESULTS is a directory of results, or several files. The pack is a ZIP archive with a manifest: the results, their
    pages, digests of the data, versions, who and when, a test report and a model card. Results whose data are at hand
    are computed again first. The same files at the same time (SOURCE_DATE_EPOCH) give the same archive. 'steelyard
    verify' checks it.

    \b
    steelyard evaluate weights truth.csv pred.csv -o results/result.json
    steelyard pack results -o pack.zip --by "A. Person" --include-data
    """
    from steelyard.packs.write import pack as write_pack

    check_targets([output])
    manifest = write_pack(
        results,
        output,
        data=data,
        include_data=include_data,
        by=by,
        title=title,
        purpose=purpose,
        unchecked=unchecked,
        delimiter=delimiter,
        decimal=decimal,
    )
    held = f"{count_text(len(manifest.results), 'result')}, {count_text(len(manifest.members), 'file')}"
    files = sum(len(entry.files) for entry in manifest.data)
    say(f"wrote {output}: {held}, digests of {count_text(files, 'data file')}", err=True)
    for one in manifest.results:
        if one.not_repeatable:
            say(f"{one.member} cannot be computed again: {one.not_repeatable}.", err=True)
    absent = [entry.name for entry in manifest.data if not entry.files]
    if absent:
        listed = ", ".join(absent[:5]) + (f" and {len(absent) - 5} more" if len(absent) > 5 else "")
        say(f"The data are not at hand: {listed}. Name their directory with --data.", err=True)
    for note in manifest.notes:
        say(note, err=True)
    say(f"Check it with: steelyard verify {output}{'' if include_data else ' --data DIR'}", err=True)
