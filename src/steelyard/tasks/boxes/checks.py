"""What is looked for in boxes: the names, severities and effects of the findings of `boxes`, `pairs` and `objects`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.checks.check import Check
from steelyard.checks.findings import CheckReport, Finding
from steelyard.core.options import Options
from steelyard.core.task import Task

_QUICK = {
    "corners-as-size", "centres-as-corners", "axes-exchanged", "fractions", "classes-shifted", "nothing-fits",
    "near-duplicates",
}  # fmt: skip


def _rows(side: str, rows: str) -> list[Check]:
    checks = []
    for line in rows.strip().splitlines():
        name, severity, effect = (part.strip() for part in line.split("|"))
        quick = name in _QUICK and (side == "predictions") == (name != "near-duplicates")
        checks.append(Check(name, severity, side, effect, quick=quick))
    return checks


CHECKS = _rows(
    "truth",
    """
    broken-record | error | evaluation refuses the file
    negative-size | error | evaluation refuses the file
    unknown-image | error | objects of images that are not listed: silently dropped by other tools
    unknown-class | error | objects of classes that are not listed: silently dropped by other tools
    duplicate-image-id | error | an id is given twice: refused, and merged or lost by other tools
    duplicate-class-id | error | an id is given twice: refused, and merged or lost by other tools
    duplicate-box-id | error | an id is given twice: refused, and merged or lost by other tools
    corners-as-size | error | x1, y1, x2, y2 where x, y, width, height are expected, by statistics
    fractions | error | coordinates between 0 and 1 where pixels are expected
    off-image | error | boxes fully outside their image
    image-size | error | images of size 0
    outside-image | warning | boxes that reach out of their image by more than 2 %
    zero-area | warning | objects that nothing can match: sure misses
    near-duplicates | warning | two objects of a class with IoU 0.95 or more: one is a sure miss
    area | warning | areas larger than the box, or 0: counted in another range of sizes
    crowds | warning | more than a fifth are crowds, which do not count
    class-names | warning | one class under two ids
    same-file | warning | one picture (VOC, CVAT, tables) under two ids
    id-zero | note | pycocotools loses an annotation with id 0
    groups | note | boxes that hold a group: `ap(rule=openimages)` takes them so, other metrics for one object each
    federated | note | an LVIS truth, which COCO's rules misjudge: `format=lvis`
    empty-images | note | more than half of the images have no object
    """,
) + _rows(
    "predictions",
    """
    unknown-image | error | refused here, silently dropped by other tools
    unknown-class | error | refused here, silently dropped by other tools
    classes-shifted | error | ids off by one, or places in a list where ids are expected
    images-shifted | error | images numbered from another start, or in another order
    corners-as-size | error | boxes are two corners
    centres-as-corners | error | boxes are centres and sizes
    axes-exchanged | error | x and y are exchanged
    fractions | error | boxes are fractions of the image
    score-range | error | scores outside 0 to 1: percent or logits, for which a threshold of 0.5 means something else
    repeated | error | detections that appear twice, as after joining shards twice (a warning below 1 %)
    images-without-predictions | warning | a fifth of the images with objects, or the last ones; else a note
    classes-without-predictions | warning | classes with ten objects or more that are never predicted
    nothing-fits | warning | under 5 % of objects have any prediction on them: other images, or another scale
    score-cut | warning | low scores are cut off at 0.05 or higher: AP lacks the end of the ranking
    score-constant | warning | no ranking at all
    no-suppression | warning | many boxes of a class lie on one another
    copies-of-truth | warning | predictions that are the truth itself
    off-image | warning | boxes that can never be right
    zero-area | warning | boxes that can never be right
    outside-image | note | boxes that reach out of their image by more than 2 %
    over-limit | note | more than 100 detections of a class in an image
    score-ties | note | many equal scores: their order differs between tools
    unverified-classes | note | OpenImages: classes with neither a box nor a verified label in the image are left out
    classes-without-truth | note | classes that are predicted and have no truth
    """,
)


def run(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options) -> CheckReport:
    """Check boxes in any format, as far as they can be read."""
    from steelyard.tasks.boxes.check_run import run_boxes
    from steelyard.tasks.boxes.reader import reading_of

    readings = (reading_of(options, "truth"), reading_of(options, "prediction"))
    return run_boxes(task, truth, predictions, columns, readings)


def quick(task: Task, pairs: Any) -> list[Finding]:
    """What evaluation says of boxes that it has read."""
    from steelyard.tasks.boxes.check_quick import look

    return look(pairs, readings=None)
