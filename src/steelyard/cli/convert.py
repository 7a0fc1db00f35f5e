"""`steelyard convert`: annotations from one format into another, with an account of what was lost."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from steelyard.cli.say import in_flags, say

if TYPE_CHECKING:
    from steelyard.io.formats.convert import Conversion


@click.command()
@click.argument("source", metavar="FROM", type=click.Path())
@click.argument("target", metavar="TO", type=click.Path())
@click.option(
    "--from",
    "given",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help="The format of FROM: coco, lvis, voc, yolo, cvat, csv, dota, yolo-obb, hrsc, openimages, kitti, nuscenes, or "
    "one that another package brings.",
)
@click.option(
    "--to",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help="The format of TO; its ending says it where it is .json, .csv or .xml (CVAT).",
)
@click.option("--images", metavar="FOLDER", type=click.Path(), help="The pictures, for sizes that FROM does not give.")
@click.option(
    "--names",
    metavar="FILE",
    type=click.Path(),
    help="The names of the classes in their order: data.yaml, or a text file with one per line.",
)
@click.option(
    "--like",
    metavar="FILE",
    type=click.Path(),
    help="Another data set whose image and class ids TO takes over, such as the truth of predictions.",
)
@click.option(
    "--pixels",
    type=click.Choice(["inclusive", "edges"]),
    default="inclusive",
    show_default=True,
    help="How VOC's coordinates count: pixels from 1 with the last included, or edges from 0.",
)
@click.option("--round", "whole", is_flag=True, help="Round VOC's coordinates to whole pixels.")
@click.option("--polygons", is_flag=True, help="Write YOLO's polygons in place of boxes.")
@click.option("--strict", is_flag=True, help="Write nothing, and end with 2, where something would be lost.")
@click.option("--force", is_flag=True, help="Write over what exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON.")
def convert(
    source: str, target: str, given: str, to: str, images: str | None, names: str | None, like: str | None,
    pixels: str, whole: bool, polygons: bool, strict: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """Convert annotations or predictions from one format into another.

    What TO cannot hold is named and counted.

    \b
    steelyard convert instances.json labels/ --to yolo
    steelyard convert VOC2007/Annotations truth.json
    steelyard convert runs/labels predictions.json --like truth.json
    steelyard convert label_2 truth.csv --from kitti
    """
    from steelyard import files  # other commands need none of it

    done = files.convert(
        source, target, from_format=given, to_format=to, images=images, names=names, like=like, pixels=pixels,
        whole=whole, polygons=polygons, strict=strict, force=force,
    )  # fmt: skip
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
        f"{done.images:,} {done.unit}, {done.boxes:,} {kind}, {done.classes:,} classes"
    ]
    lines += [f"  {loss.text()}" for loss in done.losses]
    lines += [f"  note: {note}" for note in done.notes]
    if not done.losses:
        lines.append("  nothing was lost")
    return "\n".join(lines)
