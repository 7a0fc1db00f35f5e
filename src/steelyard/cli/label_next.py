"""`steelyard label-next`: which units to label."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click

from steelyard import api
from steelyard.cli.options import dialect_options
from steelyard.cli.outputs import check_targets
from steelyard.cli.say import say
from steelyard.core.counts import count_text
from steelyard.core.errors import CannotWrite
from steelyard.io.write import write_text


@click.command("label-next")
@click.argument("predictions", type=click.Path())
@click.option("--proxy", required=True, metavar="FILE", type=click.Path(), help="A judge's output for all units.")
@click.option("--budget", required=True, type=float, metavar="N", help="Approximate number of units to label.")
@click.option("--task", metavar="TASK", help="With -m: score the proxy as ground truth of this task.")
@click.option("-m", "--metric", metavar="SPEC", help="With --task: the metric to estimate, a mean of unit scores.")
@click.option("--id", "id_column", default="id", show_default=True, metavar="COLUMN", help="Column with the ids.")
@click.option(
    "--judge-probability", default="probability", show_default=True, metavar="COLUMN",
    help="Without --task: column of the proxy with the probability that the prediction is right.",
)  # fmt: skip
@dialect_options
@click.option("--seed", default=0, show_default=True, metavar="N", help="Random seed.")
@click.option("-o", "--output", required=True, metavar="FILE.csv", type=click.Path(dir_okay=False),
              help="Write the chosen units to FILE (columns id and probability).")  # fmt: skip
def label_next(predictions: str, proxy: str, budget: float, output: str, **settings: Any) -> None:
    """Choose which units of PREDICTIONS to label next.

    Units that the judge is unsure about are chosen more often. Each unit is drawn independently, so their number is
    close to the budget but not exact. Label them, keep the column 'probability' next to the labels, and evaluate with
    --proxy and --label-probability. The gain over a simple random sample is small.

    \b
    steelyard label-next predictions.csv --proxy judge.csv --budget 100 -o to_label.csv
    steelyard evaluate labels labelled.csv predictions.csv -m accuracy --proxy judge.csv --label-probability probability
    """
    if Path(output).suffix.lower() != ".csv":
        raise CannotWrite(f"cannot write '{output}': the units are written as CSV", remedy="Use the ending .csv.")
    if Path(output).resolve() in (Path(predictions).resolve(), Path(proxy).resolve()):
        raise CannotWrite(f"cannot write '{output}': it is read as an input", remedy="Name another file.")
    check_targets([output])
    chosen = api.label_next(predictions, proxy, budget, **settings)
    rows = list(zip(chosen["id"].tolist(), chosen["probability"].tolist(), strict=True))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("id", "probability"), *rows])
    write_text(output, text.getvalue())
    say(f"wrote {count_text(len(rows), 'unit')} to {output}", err=True)
