"""`steelyard draw`: a picture of one unit."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import TaskCommand, data_options, option, task_argument
from steelyard.cli.say import say
from steelyard.io.write import write_text
from steelyard.pictures import draw as draw_unit


@click.command(cls=TaskCommand)
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("predictions", type=click.Path())
@option("--image", "--unit", "unit", required=True, metavar="ID", group="Data", help="The image to draw.")
@option(
    "--step", "--frame", type=int, metavar="N", group="Data", help="The frame to draw, if a unit has several images."
)
@data_options
@option("-m", "--metric", metavar="SPEC", group="Metrics", help="The metric whose matches are drawn, e.g. score(t=3).")
@option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), group="Output",
        help="Write the SVG to FILE instead of stdout.")  # fmt: skip
def draw(
    task: str, truth: str, predictions: str, unit: str, metric: str | None, output: str | None, **settings: Any
) -> None:
    """Draw truth, predictions and matches of one image as SVG.

    \b
    steelyard draw ellipses truth.csv pred.csv --image img001.png -o pairs.svg
    steelyard draw boxes truth.json pred.json --image 7 -m "f1(iou=0.75)" -o found.svg
    steelyard draw tracking gt results --unit MOT17-04 --frame 128 -o frame.svg
    """
    picture = draw_unit(task, truth, predictions, unit, metric, **settings)
    if output is None:
        say(picture, nl=False)
        return
    write_text(output, picture)
    say(f"wrote {output}", err=True)
