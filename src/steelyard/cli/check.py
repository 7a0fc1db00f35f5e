"""`steelyard check`: what would make numbers silently wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from steelyard.cli.options import TaskCommand, data_options, option, task_argument, terminal_width
from steelyard.cli.say import in_flags, say
from steelyard.cli.streams import end_with


@click.command(cls=TaskCommand)
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("predictions", type=click.Path(), required=False)
@data_options
@option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), group="Output",
        help="Also write the findings as JSON to FILE.")  # fmt: skip
@option("--json", "as_json", is_flag=True, group="Output", help="Print the findings as JSON.")
def check(task: str, truth: str, predictions: str | None, as_json: bool, output: str | None, **settings: Any) -> int:
    """Find problems in the data that would make scores wrong.

    Takes the tasks and file formats of 'evaluate'. Exits with 1 if there are errors, and with 0 if there are only
    warnings and notes.

    \b
    steelyard check boxes truth.json
    steelyard check boxes truth.json predictions.json
    steelyard check labels truth.csv predictions.csv
    """
    from steelyard import files  # other commands need none of it

    report = files.check(task, truth, predictions, **settings)
    code = end_with(0 if report.ok else 1)
    if output:
        report.to_json(output)
        say(f"wrote {output}", err=True)
    say(report.to_json() if as_json else _in_flags(report).to_text(terminal_width()), nl=not as_json)
    return code


def _in_flags(report: Any) -> Any:
    """The findings with settings named as flags."""
    findings = [
        replace(one, what=in_flags(one.what), examples=tuple(map(in_flags, one.examples)), remedy=in_flags(one.remedy))
        for one in report.findings
    ]
    return replace(report, findings=tuple(findings))
