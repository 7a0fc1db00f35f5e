"""`steelyard evaluate`: score predictions against truth."""

from __future__ import annotations

import click

from steelyard import api
from steelyard.cli.options import (
    TaskCommand,
    check_outputs,
    complete_task,
    given_options,
    parse_confidence,
    parse_mapping,
    put_out,
    shared_options,
)


@click.command(cls=TaskCommand)
@click.argument("task", shell_complete=complete_task)
@click.argument("truth", type=click.Path())
@click.argument("predictions", type=click.Path(), required=False)
@click.option(
    "--by", multiple=True, metavar="COLUMN",
    help="Slice by a column; several joined by commas are crossed. May be given several times.",
)  # fmt: skip
@click.option(
    "--units",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Also write a CSV with every unit's own scores.",
)
@click.option(
    "--tables",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Also write what the task has beside scores, such as a confusion matrix, as CSV files.",
)
@click.option(
    "--save-draws",
    is_flag=True,
    help="Keep every score under the bootstrap draws in the JSON, 11 KB each, so that 'gate' can compare pairwise.",
)
@shared_options
def evaluate(
    task: str,
    truth: str,
    predictions: str | None,
    by: tuple[str, ...],
    units: str | None,
    tables: str | None,
    save_draws: bool,
    metrics: tuple[str, ...],
    confidence: str,
    draws: int,
    seed: int,
    missing: str | None,
    extra: str | None,
    mapping: tuple[str, ...],
    as_json: bool,
    output: tuple[str, ...],
) -> None:
    """Score PREDICTIONS against TRUTH.

    Files are CSV, TSV, JSON lines, JSON or Parquet. Without PREDICTIONS, TRUTH holds both, the predicted value in a
    column 'prediction'. Tasks: see 'steelyard metrics'.

    \b
    steelyard evaluate weights truth.csv pred.csv
    steelyard evaluate weights truth.csv pred.csv -m mae -m within@10 --by food
    steelyard evaluate sequences meals.csv -o report.html
    """
    check_outputs(output)
    report = api.evaluate(
        task,
        truth,
        predictions,
        list(metrics) or None,
        by=[tuple(name.strip() for name in names.split(",")) for names in by],
        confidence=parse_confidence(confidence),
        draws=draws,
        seed=seed,
        missing=missing,
        extra=extra,
        columns=parse_mapping(mapping),
        options=given_options(),
        save_draws=save_draws,
    )
    if units:
        report.units().to_csv(units)
    put_out(report, as_json, output)
    if units:
        click.echo(f"wrote {units}", err=True)
    for path in report.write_tables(tables) if tables else ():
        click.echo(f"wrote {path}", err=True)
