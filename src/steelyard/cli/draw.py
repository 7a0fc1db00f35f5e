"""`steelyard draw`: a picture of one unit."""

from __future__ import annotations

import click

from steelyard.cli.options import TaskCommand, given_options, keep_options, parse_mapping, task_argument
from steelyard.cli.say import say
from steelyard.io.write import write_text
from steelyard.pictures import draw as draw_unit


@click.command(cls=TaskCommand)
@task_argument()
@click.argument("truth", type=click.Path())
@click.argument("predictions", type=click.Path())
@click.option("--image", "--unit", "unit", required=True, metavar="ID", help="The image to draw.")
@click.option("--step", "--frame", type=int, metavar="N", help="The picture of a unit that has many: a frame's number.")
@click.option("-m", "--metric", metavar="SPEC", help="The metric whose pairs are shown, such as score(t=3).")
@click.option("--map", "mapping", multiple=True, metavar="NAME=COLUMN", help="The file's column for a name.")
@click.option(
    "--option", "-O", multiple=True, metavar="NAME=VALUE", expose_value=False, callback=keep_options,
    help="An option of the task for one side only, such as truth.angle=radians.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the SVG to FILE.")
def draw(
    task: str,
    truth: str,
    predictions: str,
    unit: str,
    step: int | None,
    metric: str | None,
    mapping: tuple[str, ...],
    output: str | None,
) -> None:
    """Draw truth, predictions and their pairs in one image, as SVG.

    Without -o the picture goes to stdout.

    \b
    steelyard draw ellipses truth.csv pred.csv --image img001.png -o pairs.svg
    steelyard draw boxes truth.json pred.json --image 7 -m "f1(iou=0.75)" -o found.svg
    steelyard draw tracking gt results --unit MOT17-04 --frame 128 -o frame.svg
    """
    picture = draw_unit(
        task, truth, predictions, unit, metric, step=step, columns=parse_mapping(mapping), options=given_options()
    )
    if output is None:
        say(picture, nl=False)
        return
    write_text(output, picture)
    say(f"wrote {output}", err=True)
