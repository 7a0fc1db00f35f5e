"""Task `masks`: objects found in images, each a mask with a class and a score.

Conventions
    The unit is the image. A mask is a set of pixels; IoU counts pixels. Matching, metrics and settings are those of
    `boxes`. The area of a detection is that of its mask, whatever box stands beside it.
    With the option `overlap=boundary`, masks are compared by the lesser of their IoU and the IoU of their boundaries
    (Cheng et al. 2021): what lies within a share of the image's diagonal of a mask's edge.
    With the option `format=lvis`, LVIS's rules apply, and its classes have their frequencies.

Metrics
    Those of `boxes`; the twelve numbers of COCO are equal to pycocotools' `segm` to the last bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.core.errors import OutOfRange, ShapeMismatch, Unsupported
from steelyard.core.options import Option, Options
from steelyard.core.records import Array, BoxRecords, Column, Records, Schema, box_columns, with_similarity
from steelyard.core.task import Policy
from steelyard.tasks.boxes.pairs import TRUTH as BOXES
from steelyard.tasks.boxes.pairs import BoxPairs, MaskIou, pair
from steelyard.tasks.boxes.task import TASK as BOX_TASK

MASK = Column("mask", "mask", meaning="COCO's size and counts, or polygons with columns height and width")
TRUTH = Schema(key=("image",), columns=(*BOXES.columns[:2], MASK, *BOXES.columns[6:]))
PREDICTION = Schema(
    key=("image",),
    columns=(*BOXES.columns[:2], MASK, Column("score", "number", meaning="confidence; higher is surer")),
)
OPTIONS = (
    Option(
        "format", "choice", "Format of the files; lvis is COCO JSON scored by the rules of LVIS.", "auto",
        ("auto", "coco", "lvis"), reads=True,
    ),
    Option(
        "overlap", "choice", "Compare masks by their pixels, or also by their boundaries.", "mask",
        ("mask", "boundary"), sides=False,
    ),
    Option(
        "dilation", "number", "Width of a boundary as a fraction of the image diagonal.", 0.02, minimum=0,
        sides=False, metavar="SHARE",
    ),
)  # fmt: skip


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Masks with their boxes and areas, and how they are to be compared."""
    for records in (truth, prediction):
        _refuse_empty_images(records)
    ratio = 0.0
    if options.of("overlap") == "boundary":
        ratio = float(options.of("dilation"))
        if ratio > 1:
            raise OutOfRange(f"option dilation: {ratio:g} is out of range", remedy="It is a share, such as 0.02.")
        if options.of("format", "truth") == "lvis":
            raise Unsupported(
                "overlap=boundary is not supported with the rules of LVIS", remedy="Leave out overlap, or format=lvis."
            )
    return _with_measures(truth, ratio), _with_measures(prediction, ratio)


def _refuse_empty_images(records: Records) -> None:
    """An image without a pixel has no mask, and its size is a mistake."""
    if isinstance(records, BoxRecords) and records.sizes is not None and records.images is not None:
        bare = np.flatnonzero((np.asarray(records.sizes) == 0).any(axis=1))
        if len(bare):
            height, width = np.asarray(records.sizes)[bare[0]].tolist()
            raise ShapeMismatch(
                f"the image is {height} × {width}",
                where=f"{records.source}, image {records.images[bare[0]]}",
                remedy="Give its height and width in pixels.",
            )
    bare = np.flatnonzero((_native.mask_sizes(records["mask"].tolist()) == 0).any(axis=1))
    if len(bare):
        raise OutOfRange(
            "the mask is of an image of size 0",
            where=records.where(int(bare[0]), "mask"),
            remedy="Give the image's height and width in pixels.",
        )


def _with_measures(records: Records, ratio: float) -> BoxRecords:
    columns = dict(records.columns)
    masks = columns.pop("mask")
    columns["shape"] = masks
    columns["ignored"] = np.zeros(len(masks), dtype=bool)
    if "x" not in columns:
        columns |= box_columns(_native.mask_box(masks.tolist()))
    if "area" not in columns:
        columns["area"] = _native.mask_area(masks.tolist()).astype(np.float64)
    return with_similarity(records, columns, MaskIou(ratio))


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> BoxPairs:
    """As boxes are joined; all masks of an image must be of one size."""
    pairs = pair(*prepare(truth, prediction, options), policy)
    sides = ((pairs.truth, pairs.image), (pairs.prediction, pairs.d_image))
    image_sizes = np.full((len(pairs.units), 2), -1, dtype=np.int64)
    sizes = [_native.mask_sizes(records["shape"].tolist()) for records, _ in sides]
    for (_, image), size in reversed(list(zip(sides, sizes, strict=True))):
        image_sizes[image[::-1]] = size[::-1]
    for (records, image), size in zip(sides, sizes, strict=True):
        _refuse_other_size(records, image, size, image_sizes)
    return pairs


def _refuse_other_size(records: Records, image: Array, size: Array, image_sizes: Array) -> None:
    odd = np.flatnonzero((image_sizes[image] != size).any(axis=1))
    if len(odd):
        row = int(odd[0])
        (h, w), (a, b) = size[row].tolist(), image_sizes[image[row]].tolist()
        raise ShapeMismatch(
            f"the mask is {h} × {w} and another one of its image {a} × {b}",
            where=records.where(row, "mask"),
            remedy="All masks of an image are of its size: height × width.",
        )


TASK = replace(
    BOX_TASK,
    name="masks",
    title="Instance segmentation",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    options=OPTIONS,
    reader="masks",
    views="steelyard.tasks.masks.views",
    checks="steelyard.tasks.masks.checks",
)
