"""`steelyard convert`: annotations from one format into another, with an account of what was lost."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import dialect_options
from steelyard.cli.say import in_flags, say
from steelyard.core.counts import count_text

if TYPE_CHECKING:
    from steelyard.io.formats.convert import Conversion


@click.command()
@click.argument("source", metavar="FROM", type=click.Path())
@click.argument("target", metavar="TO", type=click.Path())
@click.option(
    "--from",
    "from_format",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help="Format of FROM: coco, lvis, voc, yolo, cvat, labelstudio, roboflow, csv, dota, yolo-obb, hrsc, openimages, "
    "kitti, nuscenes, or one from a plugin.",
)
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help="Format of TO; auto goes by its extension (.json, .csv, .xml for CVAT).",
)
@click.option(
    "--images", metavar="DIR", type=click.Path(), help="Directory of the images, if FROM does not contain their sizes."
)
@click.option(
    "--names",
    metavar="FILE",
    type=click.Path(),
    help="Class names in order: data.yaml, or a text file with one name per line.",
)
@click.option(
    "--like",
    metavar="FILE",
    type=click.Path(),
    help="Take image and class ids from this data set, such as the ground truth of the predictions.",
)
@click.option(
    "--pixels",
    type=click.Choice(["inclusive", "edges"]),
    default="inclusive",
    show_default=True,
    help="VOC coordinates: pixels from 1 with the last one included, or pixel edges from 0.",
)
@click.option("--round", "whole", is_flag=True, help="Round VOC coordinates to whole pixels.")
@click.option("--polygons", is_flag=True, help="Write YOLO polygons instead of boxes.")
@click.option("--strict", is_flag=True, help="Write nothing and exit with 2 if something would be lost.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@dialect_options
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def convert(source: str, target: str, as_json: bool, **settings: Any) -> None:
    """Convert annotations or predictions to another format.

    Reports and counts everything that TO cannot store.

    \b
    steelyard convert instances.json labels/ --to yolo
    steelyard convert VOC2007/Annotations truth.json
    steelyard convert runs/labels predictions.json --like truth.json
    steelyard convert label_2 truth.csv --from kitti
    """
    from steelyard import files  # other commands need none of it

    done = files.convert(source, target, **settings)
    if as_json:
        data = {"schema": "steelyard/conversion/1", **asdict(done), "lossless": done.lossless}
        say(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        say(in_flags(account(done)))


def account(done: Conversion) -> str:
    """What was done, in lines."""
    kind = "predictions" if done.predictions else "objects"
    lines = [
        f"{done.source} ({done.source_format}) → {done.target} ({done.target_format}): "
        f"{done.images:,} {done.unit}, {done.boxes:,} {kind}, {count_text(done.classes, 'class')}"
    ]
    lines += [f"  {loss.text()}" for loss in done.losses]
    lines += [f"  note: {note}" for note in done.notes]
    if not done.losses:
        lines.append("  nothing was lost")
    return "\n".join(lines)
