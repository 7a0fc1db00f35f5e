"""Task `grounding`: the data, from what was read to expressions with the objects of both sides.

Conventions
    A row is an object that an expression names in an image; an expression with several objects has several rows, and a
    row without a box says that there is none. The unit is the image; `resample=expression` takes each by itself.
    Truth: `image`, `expression` (an id, or the text itself), the box `x`, `y`, `w`, `h` in pixels or a `mask`, and
    optionally `text`, `type`, `width` and `height` of the image.
    Predictions: `image`, `expression`, and the box, a point `px`, `py`, a `mask`, or the `reply` of a model as text;
    `score` where there are several. A row without a box says that nothing is there; an expression without a row has no
    answer, which is wrong in every metric.
    `coordinates` and `order` say how numbers are meant: they are never chosen by what fits the truth.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from steelyard import _native
from steelyard.align.join import codes, join_rows
from steelyard.core.counts import count_text, share_text
from steelyard.core.errors import (
    Conflict,
    EmptyCell,
    Incompatible,
    MissingColumn,
    OutOfRange,
    ShapeMismatch,
    UnknownName,
    first_few,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import BOX, Column, Records, Schema, as_object, weight_column
from steelyard.core.task import Policy
from steelyard.language.coordinates import ORDERS, Replies, check_space, to_corners, to_pixels

KEY = ("image", "expression")
POINT = ("px", "py")
SAME_CLASS = "same_class_boxes"  # x, y, w, h of all objects of the class in the image, where the data set has them
LARGEST = 1e7  # of a coordinate in pixels
OUTSIDE = 1.0  # pixels by which a box of a reply may lie outside its image


def _number(name: str, meaning: str, low: float | None = None) -> Column:
    return Column(name, "number", False, low, LARGEST, empty=True, meaning=meaning)


BOX_COLUMNS = (
    _number("x", "left side of the box"),
    _number("y", "upper side of the box"),
    _number("w", "width of the box", 0),
    _number("h", "height of the box", 0),
)
MASK = Column(
    "mask", "mask", required=False, meaning="COCO's size and counts, or polygons with columns height and width"
)
NAMES = (
    Column("image", "id", aliases=("image_id",), meaning="the image"),
    Column(
        "expression", "id", aliases=("expression_id", "sent_id", "ref_id"), meaning="the expression: an id, or its text"
    ),
)
TRUTH = Schema(
    key=("image",),
    columns=(
        *NAMES,
        *BOX_COLUMNS,
        MASK,
        Column("text", "text", required=False, aliases=("sent",), meaning="what the expression says"),
        Column("type", "text", required=False, meaning="kinds of the phrase: people, or vehicles/other"),
        _number("width", "width of the image in pixels", 0),
        _number("height", "height of the image in pixels", 0),
        Column("annotator", "id", required=False, meaning="who annotated it, where several people did"),
        Column("crowd", "flag", required=False, meaning="whether the object is a crowd, which is not asked for"),
        Column("exhaustive", "flag", required=False, meaning="whether all objects of the expression are annotated"),
        weight_column("image"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(
        *NAMES,
        *BOX_COLUMNS,
        MASK,
        _number("px", "x of a point"),
        _number("py", "y of a point"),
        Column("reply", "text", required=False, aliases=("response",), meaning="the reply of a model, read as boxes"),
        Column("score", "number", required=False, empty=True, meaning="confidence; higher is surer"),
        Column("none", "flag", required=False, meaning="whether the model says that nothing is there, beside a mask"),
        Column("text", "text", required=False, aliases=("sent",), meaning="what the expression said"),
        _number("shown_width", "width of the image as the model saw it", 0),
        _number("shown_height", "height of the image as the model saw it", 0),
    ),
)
OPTIONS = (
    Option(
        "coordinates",
        "text",
        "Space of the predictions' coordinates: pixels, shown, 1, 100, 1000, 1024 and others.",
        "pixels",
        metavar="SPACE",
    ),
    Option("order", "choice", "Order of the four numbers of a reply's box.", "xyxy", tuple(ORDERS)),
    Option("resample", "choice", "What is resampled: the image, or each expression.", "image", KEY, sides=False),
    Option(
        "split",
        "text",
        "Expressions of this split alone: column 'split' of the truth.",
        "",
        metavar="NAME",
        sides=False,
    ),
    Option(
        "annotators",
        "text",
        "Files of further annotators, beside that of the truth (SA-Co).",
        "",
        metavar="FILE,FILE",
        sides=False,
        reads=True,
    ),
    Option(
        "sizes",
        "path",
        "Sizes of the images where the truth has none: instances.json, or a table of image, width and height.",
        metavar="FILE",
        sides=False,
        reads=True,
    ),
)


def space_of(options: Options, side: str) -> str:
    """The declared space of a side: `coordinates` is that of the predictions; the truth has its own, or pixels."""
    if side == "truth":
        return str(options.values.get("truth.coordinates", "pixels"))
    return str(options.of("coordinates", side))


class Objects(Frozen):
    """Boxes (x1, y1, x2, y2) or points of all expressions of a side: those of group g are `begin[g]:begin[g + 1]`.

    `row` is where each stands in the records. `scored` says whether the scores were given.
    """

    begin: Array
    box: Array
    point: Array
    score: Array
    row: Array
    scored: bool = False
    mask: Array | None = None

    @property
    def count(self) -> Array:
        """How many objects each group has."""
        return np.diff(self.begin)


NO_OBJECTS = Objects(np.zeros(1, np.int64), np.zeros((0, 4)), np.zeros((0, 2)), np.zeros(0), np.zeros(0, np.int64))


class GroundingPairs(Pairs):
    """Expressions with the objects of both sides: `truth_row` and `prediction_row` are groups of `true` and `found`.

    `readable` says of each group of predictions whether it is an answer, and `size` is the width and height of the
    image of each true group, nan where it is not known.
    """

    true: Objects = NO_OBJECTS
    predicted: Objects = NO_OBJECTS
    readable: Array = field(default_factory=lambda: np.zeros(0, bool))
    outcomes: Array = field(default_factory=lambda: np.zeros(0, object))
    size: Array = field(default_factory=lambda: np.zeros((0, 2)))
    held: frozenset[str] = frozenset()
    rows: Records | None = None  # the truth with a row for each object, and where those of each group stand
    row_order: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    row_begin: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    read: Replies | None = None  # what the reply of each group of predictions says, where there are replies
    space: str = "pixels"  # in which the replies are declared to be, and the order of the numbers of a box
    order: str = "xyxy"

    @property
    def metadata(self) -> Metadata:
        """Expressions have no classes; how many objects they name decides what is shown."""
        return Metadata(holds=self.held)

    @property
    def answered(self) -> Array:
        """Whether each expression has an answer that can be read."""
        if not len(self.readable):
            return np.zeros(len(self.owner), dtype=bool)
        return (self.prediction_row >= 0) & self.readable[self.prediction_row]

    @property
    def targets(self) -> Array:
        """How many objects each expression names."""
        return self.true.count[self.truth_row]

    @property
    def replies(self) -> Array:
        """How many objects the reply to each expression names."""
        if not len(self.readable):
            return np.zeros(len(self.owner), dtype=np.int64)
        return np.where(self.answered, self.predicted.count[self.prediction_row], 0)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> GroundingPairs:
    """Join replies and expressions by image and expression."""
    for side in ("truth", "prediction"):
        check_space(space_of(options, side))
    truth, prediction = _of_split(truth, prediction, str(options.of("split")))
    true_order, true_begin = _group_rows(truth)
    found_order, found_begin = _group_rows(prediction)
    first_true, first_found = truth.take(true_order[true_begin[:-1]]), prediction.take(found_order[found_begin[:-1]])
    _refuse_two_sizes(truth, true_order, true_begin)
    pairs = join_rows(first_true, first_found, KEY, policy, "sample_weight")
    _refuse_other_texts(pairs)
    size = _sizes(first_true, "width", "height")
    size_of_found = np.full((len(first_found), 2), np.nan)
    joined = pairs.prediction_row >= 0
    size_of_found[pairs.prediction_row[joined]] = size[pairs.truth_row[joined]]
    true = _true_objects(truth, true_order, true_begin, size, options)
    predicted, readable, outcomes, read = _found_objects(prediction, found_order, found_begin, size_of_found, options)
    _refuse_other_sizes(truth, prediction, true, predicted, pairs)
    units, owner, weight = pairs.units, pairs.owner, pairs.weight
    if options.of("resample") == "expression":
        names = [f"{image}: {text}" for image, text in zip(*(pairs.truth_column(n).tolist() for n in KEY), strict=True)]
        weight = None if weight is None else weight[owner]
        units, owner = as_object(names), np.arange(len(owner))
    return GroundingPairs(
        first_true,
        first_found,
        units,
        owner,
        pairs.truth_row,
        pairs.prediction_row,
        np.zeros(len(units), dtype=bool),
        pairs.coverage,
        weight,
        true,
        predicted,
        readable,
        outcomes,
        size,
        _describe(true, predicted, truth),
        truth,
        true_order,
        true_begin,
        read,
        space_of(options, "prediction"),
        str(options.of("order", "prediction")),
    )


def _of_split(truth: Records, prediction: Records, split: str) -> tuple[Records, Records]:
    """The expressions of one split, and the predictions that are not for those of another."""
    if not split:
        return truth, prediction
    column = truth.find("split")
    if column is None:
        raise MissingColumn(
            "column 'split' is missing, which the option `split` reads",
            where=truth.source,
            remedy="Add it, or leave it out.",
        )
    kept = np.array([str(value) == split for value in column.tolist()], dtype=bool)
    if not kept.any():
        remedy = nearest(split, sorted({str(value) for value in column.tolist()}))
        raise UnknownName(f"no expression is of the split '{split}'", where=truth.source, remedy=remedy)
    left_out = {tuple(map(str, key)) for key in zip(*(truth[name][~kept].tolist() for name in KEY), strict=True)}
    keys = zip(*(prediction[name].tolist() for name in KEY), strict=True)
    wanted = np.array([tuple(map(str, key)) not in left_out for key in keys], dtype=bool)
    return truth.take(np.flatnonzero(kept)), prediction.take(np.flatnonzero(wanted))


def _describe(true: Objects, predicted: Objects, truth: Records) -> frozenset[str]:
    """What the data hold: one object for each expression or any number, points, scores, concepts, annotators."""
    held = {"one" if (true.count == 1).all() else "sets"}
    if true.mask is not None and predicted.mask is not None:
        held.add("masks")
    if len(predicted.box) and np.isnan(predicted.box[:, 0]).all():
        held.add("points")
    if predicted.scored:
        held.add("scores")
    if "exhaustive" in truth:
        held.add("concepts")
    if "annotator" in truth and len(set(truth["annotator"].tolist())) > 1:
        held.add("annotators")
    return frozenset(held)


def _group_rows(records: Records) -> tuple[Array, Array]:
    """The rows by expression, and where those of each begin."""
    image, text = (_place_codes(records[name]) for name in KEY)
    code = image * (int(text.max(initial=0)) + 1) + text
    order = np.argsort(code, kind="stable")
    heads = np.flatnonzero(np.diff(code[order], prepend=-1))
    return order, np.append(heads, len(order)).astype(np.int64)


def _place_codes(column: Array) -> Array:
    """A number for each value of a column, equal for equal values."""
    texts = _native.factor_texts(column.tolist()) if column.dtype == object else None
    return np.asarray(texts[0]) if texts is not None else codes(column)[1][0]


def _sizes(records: Records, width: str, height: str) -> Array:
    if width not in records or height not in records:
        return np.full((len(records), 2), np.nan)
    return np.stack([records[width], records[height]], axis=1)


def _refuse_two_sizes(truth: Records, order: Array, begin: Array) -> None:
    """All rows of an expression give its image one size and one text."""
    group = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    for name in ("width", "height", "text"):
        if name not in truth:
            continue
        values = truth[name][order]
        first = values[begin[group]]
        differs = np.flatnonzero((values != first) & ((values == values) | (first == first)))
        if len(differs):
            row = int(order[differs[0]])
            raise Conflict(
                f"'{values[differs[0]]}' differs from '{first[differs[0]]}', which the same expression has at "
                f"{truth.place(int(order[begin[group[differs[0]]]]))}",
                where=truth.where(row, name),
                remedy="It must be the same in all rows of an expression.",
            )


def _refuse_other_texts(pairs: Pairs) -> None:
    """Where both sides give the text of an expression, it is the same."""
    if "text" not in pairs.truth or "text" not in pairs.prediction:
        return
    joined = np.flatnonzero(pairs.prediction_row >= 0)
    mine, theirs = pairs.truth["text"][pairs.truth_row[joined]], pairs.prediction["text"][pairs.prediction_row[joined]]
    odd = np.flatnonzero(np.asarray(mine != theirs, dtype=bool))
    if len(odd):
        shown = first_few([f"'{mine[i]}' and '{theirs[i]}'" for i in odd[:3].tolist()])
        raise Incompatible(
            f"{count_text(len(odd), 'expression')} {'has' if len(odd) == 1 else 'have'} other words in the predictions:"
            f" {shown}",
            where=pairs.prediction.where(int(pairs.prediction_row[joined[odd[0]]]), "text"),
            remedy="Are these replies to the same expressions?",
        )


def _scale(records: Records, numbers: Array, rows: Array, size: Array, space: str, column: str) -> Array:
    """Numbers in pixels; raises where the space needs a size that is not given."""
    if space == "pixels":
        return numbers
    shown = _sizes(records, "shown_width", "shown_height")[rows]
    needed = shown if space.endswith("shown") else size
    bare = np.flatnonzero(~(needed > 0).all(axis=1) | ~(size > 0).all(axis=1))
    if len(bare):
        row = int(rows[bare[0]])
        names = "shown_width and shown_height" if space.endswith("shown") else "width and height"
        raise MissingColumn(
            f"expression '{records['expression'][row]}': coordinates={space} needs {names} of the image",
            where=records.where(row, column),
            remedy=f"Add the columns {names}, or declare another space.",
        )
    return to_pixels(numbers, space, size, shown)


def _boxes_of_rows(records: Records, rows: Array, size: Array, space: str) -> Array:
    """Corners of the boxes of some rows; nan where a row has none."""
    if "x" not in records:
        return np.full((len(rows), 4), np.nan)
    missing = [name for name in BOX if name not in records]
    if missing:
        raise MissingColumn(
            f"column '{missing[0]}' is missing; a box has x, y, w and h", where=records.source, remedy="Add it."
        )
    box = np.stack([records[name][rows] for name in BOX], axis=1)
    part = np.isnan(box).any(axis=1) & ~np.isnan(box).all(axis=1)
    if part.any():
        row = int(rows[np.argmax(part)])
        name = BOX[int(np.argmax(np.isnan(box[np.argmax(part)])))]
        raise OutOfRange("the box is incomplete", where=records.where(row, name), remedy="Give x, y, w and h, or none.")
    boxed = np.flatnonzero(~np.isnan(box[:, 0]))
    box[boxed] = _scale(records, to_corners(box[boxed], "xywh"), rows[boxed], size[boxed], space, "x")
    return box


def _true_objects(records: Records, order: Array, begin: Array, size: Array, options: Options) -> Objects:
    """The true objects; an expression without one has none."""
    group = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    if "x" not in records and "mask" not in records:
        raise MissingColumn(
            "there is no box and no mask", where=records.source, remedy="The truth has x, y, w and h, or mask."
        )
    box = _boxes_of_rows(records, order, size[group], space_of(options, "truth"))
    mask = _masks_of_rows(records, order, box, size[group])
    objects = ~np.isnan(box[:, 0])
    flat = np.flatnonzero(objects & ~((box[:, 2] > box[:, 0]) & (box[:, 3] > box[:, 1])))
    if len(flat):
        row = int(order[flat[0]])
        raise OutOfRange(
            "the true box has no area", where=records.where(row, "w"), remedy="Width and height must be more than 0."
        )
    beyond = (box[:, 0] >= size[group, 0]) | (box[:, 1] >= size[group, 1]) | (box[:, 2:] <= 0).any(axis=1)
    if beyond.any():
        row, (width, height) = int(order[np.argmax(beyond)]), size[group[np.argmax(beyond)]].tolist()
        raise OutOfRange(
            f"the true box lies outside its image of {width:g} × {height:g}",
            where=records.where(row, "x"),
            remedy="Give it in pixels of the image, or declare truth.coordinates.",
        )
    kept = np.flatnonzero(objects)
    steps = np.append(0, np.cumsum(np.bincount(group[kept], minlength=len(begin) - 1)))
    none, masks = np.full((len(kept), 2), np.nan), None if mask is None else mask[kept]
    return Objects(steps, box[kept], none, np.full(len(kept), np.nan), order[kept], mask=masks)


def _masks_of_rows(records: Records, rows: Array, box: Array, size: Array) -> Array | None:
    """The masks of some rows, and boxes around those that have none; a mask without a pixel is nothing."""
    if "mask" not in records:
        return None
    masks = records["mask"][rows]
    sizes = _native.mask_sizes(masks.tolist())
    odd = np.flatnonzero(((sizes != size[:, ::-1]) & ~np.isnan(size[:, ::-1])).any(axis=1))
    if len(odd):
        (height, width), (own_width, own_height) = sizes[odd[0]].tolist(), size[odd[0]].tolist()
        raise ShapeMismatch(
            f"the mask is {height} × {width} and its image {own_height:g} × {own_width:g}",
            where=records.where(int(rows[odd[0]]), "mask"),
            remedy="A mask has the size of its image: height × width.",
        )
    around = _native.mask_box(masks.tolist())
    filled = _native.mask_area(masks.tolist()) > 0
    bare = filled & np.isnan(box[:, 0])
    box[bare] = to_corners(around[bare], "xywh")
    box[~filled] = np.nan
    return masks


def _refuse_other_sizes(truth: Records, prediction: Records, true: Objects, predicted: Objects, pairs: Pairs) -> None:
    """All masks of an expression, of both sides, have one size."""
    first = np.zeros((len(pairs.owner), 2), dtype=np.int64)
    sides = ((truth, true, pairs.truth_row), (prediction, predicted, pairs.prediction_row))
    for records, objects, groups in sides:
        if objects.mask is None or not len(objects.mask):
            continue
        sizes = _native.mask_sizes(objects.mask.tolist())
        count = np.where(groups >= 0, objects.count[groups], 0)
        expression = np.repeat(np.arange(len(groups)), count)
        place = np.repeat(objects.begin[groups] - np.cumsum(count) + count, count) + np.arange(len(expression))
        bare = np.flatnonzero((count > 0) & (first[:, 0] == 0))
        first[bare] = sizes[objects.begin[groups[bare]]]
        odd = np.flatnonzero((sizes[place] != first[expression]).any(axis=1))
        if len(odd):
            (height, width), (other_height, other_width) = sizes[place[odd[0]]], first[expression[odd[0]]]
            raise ShapeMismatch(
                f"the mask is {height} × {width}, and another of the same expression {other_height} × {other_width}",
                where=records.where(int(objects.row[place[odd[0]]]), "mask"),
                remedy="A mask has the size of its image: height × width.",
            )


def _found_objects(
    records: Records, order: Array, begin: Array, size: Array, options: Options
) -> tuple[Objects, Array, Array, Replies | None]:
    """The predicted objects, which groups are answers, the outcome of each, and the replies as they were read."""
    group = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    space = space_of(options, "prediction")
    if "reply" in records:
        return _replied_objects(records, order, begin, group, size, space, options.of("order", "prediction"))
    if not any(name in records for name in ("x", "px", "mask")):
        raise MissingColumn(
            "there is no box, mask, point or reply",
            where=records.source,
            remedy="Give the columns x, y, w and h, or mask, or px and py, or reply; or map them.",
        )
    box = _boxes_of_rows(records, order, size[group], space)
    mask = _masks_of_rows(records, order, box, size[group])
    point = np.full((len(order), 2), np.nan)
    if "px" in records or "py" in records:
        lacking = [name for name in POINT if name not in records]
        if lacking:
            raise MissingColumn(
                f"column '{lacking[0]}' is missing; a point has px and py", where=records.source, remedy="Add it."
            )
        point = np.stack([records[name][order] for name in POINT], axis=1)
        part = np.flatnonzero(np.isnan(point).any(axis=1) & ~np.isnan(point).all(axis=1))
        if len(part):
            name = POINT[int(np.argmax(np.isnan(point[part[0]])))]
            raise OutOfRange(
                "the point is incomplete",
                where=records.where(int(order[part[0]]), name),
                remedy="Give px and py, or none.",
            )
        pointed = np.flatnonzero(~np.isnan(point[:, 0]))
        point[pointed] = _scale(records, point[pointed], order[pointed], size[group[pointed]], space, "px")
    score = records["score"][order] if "score" in records else np.full(len(order), np.nan)
    kept = np.flatnonzero(~np.isnan(box[:, 0]) | ~np.isnan(point[:, 0]))
    steps = np.append(0, np.cumsum(np.bincount(group[kept], minlength=len(begin) - 1)))
    unscored = np.flatnonzero(np.isnan(score[kept]))
    scored = len(unscored) < len(kept)
    if scored and len(unscored):
        row = int(order[kept[unscored[0]]])
        raise EmptyCell(
            f"{share_text(len(unscored), len(kept), 'object', 'have')} no score",
            where=records.where(row, "score"),
            remedy="Give every box a score, or leave out the column.",
        )
    masks = None if mask is None else mask[kept]
    objects = Objects(steps, box[kept], point[kept], score[kept], order[kept], scored, masks)
    groups = len(begin) - 1
    return objects, np.ones(groups, dtype=bool), as_object(["ok"] * groups), None


def _replied_objects(
    records: Records, order: Array, begin: Array, group: Array, size: Array, space: str, sequence: str
) -> tuple[Objects, Array, Array, Replies | None]:
    """The objects of replies, one reply for each expression."""
    twice = np.flatnonzero(np.diff(begin) > 1)
    for place in twice.tolist():
        rows = order[begin[place] : begin[place + 1]]
        texts = records["reply"][rows]
        if (texts != texts[0]).any():
            raise Conflict(
                f"expression '{records['expression'][rows[0]]}' has another reply at {records.place(int(rows[0]))}",
                where=records.where(int(rows[1]), "reply"),
                remedy="Keep one reply for each expression.",
            )
    heads = order[begin[:-1]]
    replies = Replies(records["reply"][heads].tolist())
    owner, outcomes = replies.owner, replies.outcome.copy()
    pointed = np.isnan(replies.numbers[:, 2])
    placed = np.full((len(owner), 4), np.nan)
    for width, kind in ((4, np.flatnonzero(~pointed)), (2, np.flatnonzero(pointed))):
        own = owner[kind]
        numbers = to_corners(replies.numbers[kind, :width], sequence)
        corners = _scale(records, numbers, heads[own], size[own], space, "reply")
        _judge(outcomes, corners, own, size[own])
        placed[kind, :width] = corners
    readable = outcomes == "ok"
    kept = np.flatnonzero(readable[owner])
    steps = np.append(0, np.cumsum(np.bincount(owner[kept], minlength=len(heads))))
    score, point = replies.score[kept], pointed[kept, None]
    objects = Objects(
        steps,
        np.where(point, np.nan, placed[kept]),
        np.where(point, placed[kept, :2], np.nan),
        score,
        heads[owner[kept]],
        bool(len(score)) and not np.isnan(score).any(),
    )
    return objects, readable, outcomes, replies


def _judge(outcomes: Array, corners: Array, owner: Array, size: Array) -> None:
    """Mark replies with a box that cannot be meant: corners in the wrong order, no area, outside the image."""
    outside = (corners < -OUTSIDE).any(axis=1)
    limit = np.tile(size, corners.shape[1] // 2) + OUTSIDE
    outside |= (corners > limit).any(axis=1)  # a size that is not known (nan) limits nothing
    outcomes[owner[outside]] = "outside the image"
    if corners.shape[1] == 4:
        outcomes[owner[((corners[:, 2:] == corners[:, :2]).any(axis=1))]] = "no area"
        outcomes[owner[(corners[:, 2:] < corners[:, :2]).any(axis=1)]] = "corners reversed"
