"""`steelyard check`: what would make numbers silently wrong."""

from __future__ import annotations

import click

from steelyard.cli.options import given_options, keep_options, parse_mapping, task_argument, terminal_width
from steelyard.cli.say import say
from steelyard.cli.streams import end_with


@click.command()
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("predictions", type=click.Path(), required=False)
@click.option(
    "--map", "mapping", multiple=True, metavar="NAME=COLUMN", help="The file's column for a name, such as x=left."
)
@click.option(
    "--option",
    "-O",
    multiple=True,
    metavar="NAME=VALUE",
    expose_value=False,
    callback=keep_options,
    help="The task's options, as those of evaluate: format=voc, angle=radians; for one side truth.format=voc.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Also write the JSON to FILE.")
def check(
    task: str, truth: str, predictions: str | None, mapping: tuple[str, ...], as_json: bool, output: str | None
) -> int:
    """Find what would make numbers silently wrong, before you believe one.

    TASK is one of those of `evaluate`, and files are in any format that it reads. Ends with 1 where there are errors,
    with 0 where there are only warnings and notes.

    \b
    steelyard check boxes truth.json
    steelyard check boxes truth.json predictions.json
    steelyard check labels truth.csv predictions.csv
    """
    from steelyard import files  # other commands need none of it

    report = files.check(task, truth, predictions, columns=parse_mapping(mapping), options=given_options())
    code = end_with(0 if report.ok else 1)
    if output:
        report.to_json(output)
        say(f"wrote {output}", err=True)
    say(report.to_json() if as_json else report.to_text(terminal_width()), nl=not as_json)
    return code
