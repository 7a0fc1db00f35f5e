"""`steelyard label-next`: which units to label."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from steelyard import api
from steelyard.cli.options import check_outputs
from steelyard.cli.say import say
from steelyard.core.errors import CannotWrite
from steelyard.io.write import write_text


@click.command("label-next")
@click.argument("predictions", type=click.Path())
@click.option("--proxy", required=True, metavar="FILE", type=click.Path(), help="What a judge says of all units.")
@click.option("--budget", required=True, type=float, metavar="N", help="About how many units to label.")
@click.option("--task", metavar="TASK", help="With -m: the proxy is like the truth of this task, and is scored.")
@click.option("-m", "--metric", metavar="SPEC", help="With --task: the mean of unit scores to estimate.")
@click.option("--id", "id_column", default="id", show_default=True, metavar="COLUMN", help="The column of ids.")
@click.option(
    "--judge-probability", default="probability", show_default=True, metavar="COLUMN",
    help="Without --task: the proxy's column of how likely it takes a prediction to be right.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, metavar="N", help="Seed of the units' coins.")
@click.option("-o", "--output", required=True, metavar="FILE.csv", type=click.Path(dir_okay=False),
              help="Write the chosen units to FILE, with the columns id and probability.")  # fmt: skip
def label_next(
    predictions: str, proxy: str, budget: float, task: str | None, metric: str | None, id_column: str,
    judge_probability: str, seed: int, output: str,
) -> None:  # fmt: skip
    """Choose which units of PREDICTIONS to label next.

    Units whose score a judge is unsure of are chosen more often, each by its own coin, so the number is near the budget
    and not exact. Label them, keep the column 'probability' beside the labels, and evaluate with --proxy and
    --label-probability. The gain over units chosen at random is small.

    \b
    steelyard label-next predictions.csv --proxy judge.csv --budget 100 -o to_label.csv
    steelyard evaluate labels labelled.csv predictions.csv -m accuracy --proxy judge.csv --label-probability probability
    """
    if Path(output).suffix.lower() != ".csv":
        raise CannotWrite(f"cannot write '{output}': the units are written as CSV", remedy="Use the ending .csv.")
    if Path(output).resolve() in (Path(predictions).resolve(), Path(proxy).resolve()):
        raise CannotWrite(f"cannot write '{output}': it is read as an input", remedy="Name another file.")
    check_outputs([output])
    chosen = api.label_next(
        predictions, proxy, budget, task=task, metric=metric, id_column=id_column,
        judge_probability=judge_probability, seed=seed,
    )  # fmt: skip
    rows = list(zip(chosen["id"].tolist(), chosen["probability"].tolist(), strict=True))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("id", "probability"), *rows])
    write_text(output, text.getvalue())
    say(f"wrote {len(rows):,} units to {output}", err=True)
