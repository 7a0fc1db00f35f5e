"""Task `grounding`: goldens of the references that the catalogue names, replies and bad input by hand.

tests/goldens/grounding.json was made by the references themselves; it says which, and at which commits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.grounding_sides import BOXED, GOLDENS, NOWHERE, Side, extents, scores, side
from support.refusal import check_names, refuses
from support.shown import agree, check_listing, check_table

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.scene import BoxShape, PolygonShape
from steelyard.language.coordinates import read_reply, to_corners, to_pixels
from steelyard.tasks.grounding import views
from steelyard.tasks.grounding.overlap import RULES, Rule, overlaps


def one_box() -> tuple[Side, Side]:
    rows = GOLDENS["one_box"]["rows"]
    truth = [(r["id"], r["id"], *extents(r["truth"]), r["width"], r["height"]) for r in rows]
    predicted = [(r["id"], r["id"], *extents(r["prediction"])) for r in rows]
    return side(truth, *BOXED, "width", "height"), side(predicted, *BOXED)


def test_one_box_as_its_references() -> None:
    expected = GOLDENS["one_box"]["expected"]
    lmms, mdetr = expected["lmms-eval refcoco_bbox_rec"], expected["MDETR RefExpEvaluator"]
    transvg = expected["TransVG eval_val (float32, corners clipped to the image)"]
    names = ("acc@0.1", "acc@0.3", "acc@0.5", "acc@0.7", "acc@0.9", "mean_iou")
    assert scores(*one_box(), *names) == [
        *(lmms[f"ACC@{t}"] for t in ("0.1", "0.3", "0.5", "0.7", "0.9")),
        pytest.approx(lmms["IoU"], rel=1e-15),
    ]
    accuracy, other, single = scores(*one_box(), "acc@0.5(like=mdetr)", "acc@0.5(like=transvg)", "acc(edge=open)")
    assert accuracy == mdetr["precision@1"]
    assert other == pytest.approx(transvg["accuracy"], abs=1e-6)
    assert single == 53 / 60  # by hand: two boxes of the 60 reach 0.5 exactly
    # lmms-eval takes "no answer" for a box in the corner, whose centre lies in a truth that begins there.
    assert scores(*one_box(), "centre") == pytest.approx([lmms["Center_ACC"] - 1 / 60])


@pytest.mark.parametrize(
    ("rule", "name", "key"),
    [
        (Rule(), "lmms-eval refcoco_bbox_rec", "iou"),
        (RULES["vlmevalkit"], "VLMEvalKit (its IoU, boxes given in pixels)", "iou"),
        (RULES["mdetr"], "MDETR RefExpEvaluator", "giou"),
        (RULES["qwen-vl"], "MDETR RefExpEvaluator", "iou_float32"),
        (RULES["transvg"], "TransVG eval_val (float32, corners clipped to the image)", "iou"),
    ],
)
def test_overlaps_of_each_rule(rule: Rule, name: str, key: str) -> None:
    rows = GOLDENS["one_box"]["rows"]
    boxes = (np.array([row[side] for row in rows], dtype=float) for side in ("prediction", "truth"))
    size = np.array([(row["width"], row["height"]) for row in rows], dtype=float)
    assert overlaps(*boxes, size, rule).tolist() == GOLDENS["one_box"]["expected"][name][key]


def test_rules_near_the_threshold() -> None:
    """By hand: OFA adds 1e-6 to the union, and MAttNet's intersection must be wider and higher than one pixel."""
    small = np.array([[0.0, 0, 1, 1]]), np.array([[0.0, 0, 1, 2]])
    assert overlaps(*small, np.ones((1, 2)), RULES["ofa"])[0] < 0.5
    assert overlaps(*small, np.ones((1, 2)), RULES["mattnet"])[0] == 0
    assert overlaps(*small, np.ones((1, 2)), Rule())[0] == 0.5
    assert overlaps(small[0] * 30, small[1] * 30, np.ones((1, 2)), RULES["ofa"])[0] == 0.5


def test_sets_as_grefcoco() -> None:
    part = GOLDENS["several_boxes"]
    truth = [(r["expression"], r["expression"], *(r["box_xywh"] or NOWHERE)) for r in part["truth"]]
    predicted = [
        (int(name), int(name), *extents(box), score)
        for name, reply in part["predictions"].items()
        for box, score in zip(reply["boxes"], reply["scores"], strict=True)
    ]
    settings = "(like=grec)"
    values = scores(
        side(truth, *BOXED),
        side(predicted, *BOXED, "score"),
        *(name + settings for name in ("exact_set", "t_acc", "n_acc")),
    )
    expected = next(iter(part["expected"].values()))
    assert values == [expected["F1_score"], expected["T_acc"], expected["N_acc"]]


def masks() -> tuple[Side, Side]:
    rows = GOLDENS["masks"]["rows"]
    sides = [
        [(r["id"], r["id"], np.array([list(map(int, line)) for line in r[name]], dtype=np.uint8)) for r in rows]
        for name in ("truth", "prediction")
    ]
    truth, predicted = (side(own, "image", "expression", "mask") for own in sides)
    return truth, {**predicted, "none": [bool(r["said_no_target"]) for r in rows]}


def test_masks_as_rela_and_lisa() -> None:
    expected = GOLDENS["masks"]["expected"]
    names = ("miou", "oiou", "p@0.7", "p@0.8", "p@0.9")
    for head, key in (
        ("", "ReLA ReferEvaluator, no-target where the mask is empty"),
        ("head", "ReLA ReferEvaluator, no-target by its head"),
    ):
        specs = [f"{name}(no_target=head)" if head else name for name in names]
        reference = [expected[key][name] / 100 for name in ("gIoU", "cIoU", "Pr@0.7", "Pr@0.8", "Pr@0.9")]
        assert scores(*masks(), *specs) == pytest.approx(reference, rel=1e-12)
        presence = ["t_acc(no_target=head)", "n_acc(no_target=head)"] if head else ["t_acc", "n_acc"]
        assert scores(*masks(), *presence) == [expected[key]["T_acc"], expected[key]["N_acc"]]
    lisa, hand = expected["LISA validate (its formula, float32)"], expected["by hand: expressions with a target"]
    assert scores(*masks(), "giou", "ciou") == pytest.approx([lisa["giou"], lisa["ciou"]], abs=1e-6)
    specs = ("oiou(of=target)", "miou(of=target)", "p@0.5", "p@0.6", "p@0.7", "p@0.8", "p@0.9")
    names = ("oiou", "miou", "p@0.5", "p@0.6", "p@0.7", "p@0.8", "p@0.9")
    assert scores(*masks(), *specs) == pytest.approx([hand[name] for name in names], rel=1e-12)


def test_intersections_and_unions_of_masks() -> None:
    """One expression at a time, overall IoU is its intersection by its union."""
    truth, predicted = masks()
    for place, (inter, union) in enumerate(GOLDENS["masks"]["counts"]):
        one = [{name: [column[place]] for name, column in side.items()} for side in (truth, predicted)]
        (value,) = scores(*one, "oiou")
        assert value == inter / union if union else np.isnan(value)


def concept_sides(part: dict[str, Any], people: int) -> tuple[Side, Side]:
    rows = [
        (image, "p", *(box[:4]), f"a{who}", len(box) > 4, exhaustive[who])
        for who, truth in enumerate((part["truth"], part.get("second"))[:people])
        for image, exhaustive in part["prompts"]
        for box in truth.get(str(image)) or [NOWHERE]
    ]
    predicted = [(image, "p", *box, score) for image, box, score in part["predictions"]]
    return side(rows, *BOXED, "annotator", "crowd", "exhaustive"), side(predicted, *BOXED, "score")


CONCEPTS = [(name, who) for name, part in GOLDENS["concepts"].items() for who in part["expected"] if "masks" not in who]


@pytest.mark.parametrize(("name", "who"), CONCEPTS)
def test_concepts_as_sam3(name: str, who: str) -> None:
    part = GOLDENS["concepts"][name]
    specs = [f"{metric}(like=sam3)" for metric in ("cgf1", "pmf1", "il_mcc", "item_f1")]
    keys = ("cgF1", "positive_micro_F1", "IL_MCC", "positive_macro_F1")
    values = scores(*concept_sides(part, 2 if "two" in who else 1), *specs)
    assert values == pytest.approx([part["expected"][who][key] for key in keys], rel=1e-14)


@pytest.mark.parametrize(("name", "who"), CONCEPTS)
def test_concepts_by_threshold_as_sam3(name: str, who: str) -> None:
    part = GOLDENS["concepts"][name]
    expected, sides = part["expected"][who], concept_sides(part, 2 if "two" in who else 1)
    keys = {"cgf1": "cgF1", "pmf1": "positive_micro_F1", "item_f1": "positive_macro_F1"}
    for threshold in ("0.5", "0.75"):
        specs = [f"{metric}(like=sam3, iou={threshold})" for metric in keys]
        values = [expected[f"{key}@{threshold}"] for key in keys.values()]
        assert scores(*sides, *specs) == pytest.approx(values, rel=1e-14)
    if "two" in who:
        return  # the tables of boxes are of one annotator
    counts = sy.evaluate("grounding", *sides, ["pmf1(like=sam3)"], confidence=None).table("concepts").values[:, :3]
    by = expected["by threshold"]
    assert counts.T.tolist() == [by["TPs"], by["positive_micro_FPs"], by["FNs"]]
    with refuses("E-invalid-spec", "0.52"):
        scores(*sides, "cgf1(iou=0.52)")


def test_concepts_without_small_constants() -> None:
    """By hand: 1 for perfect answers, undefined where nothing tells whether presence is known, more matches by number."""
    parts = GOLDENS["concepts"]
    assert scores(*concept_sides(parts["perfect"], 1), "cgf1", "pmf1", "il_mcc", "item_f1") == [1, 1, 1, 1]
    assert np.isnan(scores(*concept_sides(parts["no_negative"], 1), "cgf1", "il_mcc")).all()
    assert scores(*concept_sides(parts["missed_prompt"], 1), "item_f1", "item_f1(missed=zero)") == [1, 0.5]
    # One pair has IoU 0.8 (seven thresholds up to it), one object and one prediction of two are left.
    assert scores(*concept_sides(parts["sum_trap"], 1), "pmf1(matching=count)") == [pytest.approx(0.5 * 7 / 10)]


# --- replies: what each text of the goldens says, by hand -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        ('[{"bbox_2d": [100, 100, 200, 200], "label": "cup"}]', [(100, 100, 200, 200)]),
        ("[0.15625, 0.2083, 0.3125, 0.4167]", [(0.15625, 0.2083, 0.3125, 0.4167)]),
        ("(156,208),(312,416)", [(156, 208, 312, 416)]),
        ("<ref>cup</ref><box>(156,208),(312,416)</box>", [(156, 208, 312, 416)]),
        ('[{"box_2d": [208, 156, 417, 313]}]', [(208, 156, 417, 313)]),
        ("<loc0213><loc0160><loc0427><loc0320> cup", [(213, 160, 427, 320)]),
        ("[100, 100, 200, 200] or rather [300, 300, 400, 400]", [(100, 100, 200, 200), (300, 300, 400, 400)]),
        ('```json\n{"point_2d": [5, 6.5]}\n```', [(5, 6.5)]),
        ("null", []),
        ("[]", []),
        ("None.", []),
        ('{"bbox_2d": null}', []),
        ('[{"bbox_2d": []}]', []),
        ("<think>Perhaps [1, 2, 3, 4]?</think> [5, 6, 7, 8]", [(5, 6, 7, 8)]),
        ('<point x="63.5" y="44" alt="cup">cup</point>', [(63.5, 44)]),
        ('<points x1="1.5" y1="2" x2="3" y2="4" alt="2 cups">cups</points>', [(1.5, 2), (3, 4)]),
        ("It is at (512, 300).", [(512, 300)]),
    ],
)
def test_replies_that_are_read(text: str, boxes: list[tuple[float, ...]]) -> None:
    reply = read_reply(text)
    assert (reply.outcome, list(reply.boxes)) == ("ok", boxes)


@pytest.mark.parametrize(
    "text",
    [
        "The box is at 12, 3 and 4 o'clock; I am 90 % sure.",
        "I cannot see it.",
        "",
        '[{"label": "cup"}]',
        "[1, 2, 3]",
        '[{"bbox": [1, 2, 3, "4"]}]',
        "[[1, 2, 3, 4], [5, 6]]",
        "[1, 2, 3, 1e999]",
        "<think>It may be at [1, 2, 3, 4]",
        '[{"bbox_2d": null}, {"bbox_2d": [1, 2, 3, 4]}]',
        '<point x="63.5" alt="cup">cup</point>',
        "[" * 5000,
    ],
)
def test_replies_that_are_not_read(text: str) -> None:
    assert read_reply(text).outcome == "unreadable"


@pytest.mark.parametrize(
    ("space", "numbers", "pixels"),
    [
        ("pixels", (100, 100, 200, 200), (100, 100, 200, 200)),
        ("1", (0.15625, 0.25, 0.3125, 0.5), (100, 120, 200, 240)),
        ("100", (10, 10), (64, 48)),
        ("1000", (156.25, 250, 312.5, 500), (100, 120, 200, 240)),
        ("1024", (160, 256, 320, 512), (100, 120, 200, 240)),
        ("shown", (50, 60, 100, 120), (100, 120, 200, 240)),
        ("square:corner:1", (0.5, 0.5), (320, 320)),
        ("square:centre:1", (0.5, 0.5), (320, 240)),
    ],
)
def test_coordinate_spaces(space: str, numbers: tuple[float, ...], pixels: tuple[float, ...]) -> None:
    """By hand, for an image of 640 × 480 that was shown at 320 × 240."""
    size, shown = np.array([[640.0, 480]]), np.array([[320.0, 240]])
    assert to_pixels(np.array([numbers], dtype=float), space, size, shown).tolist() == [list(pixels)]


def test_orders_of_a_box() -> None:
    box = np.array([[1.0, 2, 3, 5]])
    assert [to_corners(box, order).tolist() for order in ("xyxy", "yxyx", "xywh")] == [
        [[1, 2, 3, 5]],
        [[2, 1, 5, 3]],
        [[1, 2, 4, 7]],
    ]


TRUTH = {
    "image": ["a", "a", "b"],
    "expression": ["x", "y", "z"],
    "x": [100, 0, 10],
    "y": [100, 0, 10],
    "w": [100, 64, 20],
    "h": [100, 48, 20],
    "width": [640] * 3,
    "height": [480] * 3,
}


def replies(*texts: str) -> Side:
    return {"image": ["a", "a", "b"], "expression": ["x", "y", "z"], "reply": list(texts)}


def test_replies_in_their_declared_space() -> None:
    said = replies(
        '[{"box_2d": [208.33333333333334, 156.25, 416.6666666666667, 312.5]}]', "I cannot see it.", "[10, 10, 9, 30]"
    )
    values = scores(TRUTH, said, "acc@0.5", "answered", "centre", options={"coordinates": "1000", "order": "yxyx"})
    assert values == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert scores(TRUTH, said, "acc@0.5", "answered") == [0, pytest.approx(1 / 3)]  # as pixels: read, and elsewhere


def test_a_reply_outside_its_image_is_wrong() -> None:
    said = replies("[100, 100, 200, 200]", "[-1, -1, 64, 48]", "[10, 10, 700, 30]")
    assert scores(TRUTH, said, "answered", "acc@0.5") == pytest.approx([2 / 3, 2 / 3])


def test_several_boxes_of_a_reply() -> None:
    said = replies("[300, 300, 400, 400] [100, 100, 200, 200]", "[0, 0, 64, 48]", "null")
    assert scores(TRUTH, said, "acc@0.5", "acc@0.5(several=best)", "answered") == pytest.approx([1 / 3, 2 / 3, 1])


def test_counts_and_recall_of_sets() -> None:
    """By hand: of four expressions the counts are right, one short, one too many, and unanswered with one object."""
    truth = side(
        [
            ("a", "w", 0, 0, 9, 9),
            ("a", "x", 0, 0, 9, 9),
            ("a", "x", 20, 20, 9, 9),
            ("b", "y", *NOWHERE),
            ("b", "z", 0, 0, 9, 9),
        ],
        *BOXED,
    )
    said = side([("a", "w", 0, 0, 9, 9), ("a", "x", 20, 20, 9, 9), ("b", "y", 5, 5, 9, 9)], *BOXED)
    assert scores(truth, said, "count_exact", "count_mae") == [0.25, 0.75]
    # Of three expressions that name something two have a hit; the box around both objects of 'x' is missed.
    assert scores(truth, said, "recall@1(boxes=any)", "recall@1(boxes=merged)") == pytest.approx([2 / 3, 1 / 3])
    with refuses("E-conflict", "boxes"):
        scores(truth, said, "recall@1")


def test_what_is_wrong_with_boxes() -> None:
    """By hand: a hit, a loose box (IoU 100/300), the neighbour's box, one elsewhere, and no answer."""
    names = ["hit", "loose", "neighbour", "elsewhere", "silent"]
    truth = side([("a", name, 100 * i, 0, 20, 10) for i, name in enumerate(names)], *BOXED)
    said = side(
        [
            ("a", "hit", 0, 0, 20, 10),
            ("a", "loose", 110, 0, 20, 10),
            ("a", "neighbour", 0, 0, 20, 10),
            ("a", "elsewhere", 0, 300, 20, 10),
        ],
        *BOXED,
    )
    report = sy.evaluate("grounding", truth, said, ["acc"], confidence=None)
    assert report.table("errors").values[:, 0].tolist() == [1, 1, 1, 1, 1]
    # Of a word each: accuracy 1/5 and mean IoU (1 + 1/3) / 5.
    assert report.table("by_words").values.tolist() == [[5, 0.2, pytest.approx(4 / 15)]]
    assert report.table("by_area").values.tolist() == [[5, 0.2, pytest.approx(4 / 15)]]
    assert sorted(report.figure("offsets").columns["x"].tolist()) == pytest.approx([-15, -10, 0, 0.5])


def test_boxes_and_points_of_one_file_are_shown() -> None:
    """By hand: a box half a width off, a point inside its object, one outside, and nothing."""
    sized = (*BOXED, "width", "height")
    rows = [("a", name, 50 * i, 0, 20, 10, 200, 80) for i, name in enumerate(("box", "inside", "outside", "silent"))]
    replies = ["[10, 0, 30, 10]", "[60, 5]", "[60, 15]", "none"]
    said = {"image": ["a"] * 4, "expression": [row[1] for row in rows], "reply": replies}
    report = sy.evaluate("grounding", side(rows, *sized), said, ["acc"], confidence=None)
    columns = {
        "image": ["a"] * 4,
        "expression": ["box", "inside", "outside", "silent"],
        "answer": ["answered"] * 4,
        "objects": [1] * 4,
        "found": [1, 1, 1, 0],
        "IoU": [1 / 3, 0, 0, 0],
    }
    check_listing(report.listing(), ("expressions", "Expressions"), columns, "answer", "IoU")
    overlap = report.figure("overlaps").columns["count"].tolist()
    assert (overlap[0], overlap[6], sum(overlap)) == (3, 1, 4)
    offsets = report.figure("offsets")
    agree(offsets.columns, {"x": [0.5], "y": [0]})
    check_table(
        offsets.table,
        ("offsets", "Offsets of the centres", "axis"),
        ("to the right, in true widths", "upwards, in true heights"),
        ("median", "middle half, from", "to"),
        [[0.5, 0.5, 0.5], [0, 0, 0]],
    )
    agree(report.figure("corners").columns, {"x": [0, 0, 20, 10], "y": [10, 0, 30, 10]})
    shown = views.scene(report.details.pairs, 0, catalogue.parse("acc", "grounding"))
    assert (shown.title, shown.summary) == ("Image a", "1 box; 2 inside; 3 outside; 4 silent")
    assert (shown.bounds, shown.images) == ((0, 0, 200, 80), ("a",))
    assert shown.shapes == (
        BoxShape("truth", 0, 0, 20, 10, "1", False),
        BoxShape("prediction", 10, 0, 20, 10, "1", False),
        BoxShape("truth", 50, 0, 20, 10, "2", True),
        BoxShape("prediction", 56, 1, 8, 8, "2", True),
        BoxShape("truth", 100, 0, 20, 10, "3", False),
        BoxShape("prediction", 56, 11, 8, 8, "3", False),
        BoxShape("truth", 150, 0, 20, 10, "4", False),
    )


def test_points_alone_have_no_figures_of_boxes() -> None:
    truth = side([("a", "p", 0, 0, 20, 10)], *BOXED)
    said = {"image": ["a"], "expression": ["p"], "reply": ["[60, 5]"]}
    assert list(sy.evaluate("grounding", truth, said, ["pointing"], confidence=None).figures) == []


def test_outlines_of_what_masks_share_miss_and_add() -> None:
    """By hand, in an image of 8 by 4: columns 0 to 3 are true and 2 to 5 marked; the second object has no reply."""

    def mask(first: int, last: int) -> dict[str, Any]:
        return {"size": [4, 8], "counts": [4 * first, 4 * (last - first), 4 * (8 - last)]}

    names = {"image": ["a", "a"], "expression": ["cup", "dish"]}
    truth = names | {"mask": [mask(0, 4), mask(6, 8)], "width": [8, 8], "height": [4, 4]}
    said = {"image": ["a"], "expression": ["cup"], "mask": [mask(2, 6)]}
    report = sy.evaluate("grounding", truth, said, ["oiou"], confidence=None)
    assert report["oiou"].value == 8 / (24 + 8)
    assert report.listing().columns["IoU"].tolist() == pytest.approx([1 / 3, 0])
    shown = views.scene(report.details.pairs, 0, catalogue.parse("oiou", "grounding"))
    spans = [
        (
            shape.role,
            min(shape.points[::2]),
            max(shape.points[::2]),
            max(shape.points[1::2]),
            shape.label,
            shape.matched,
        )
        for shape in shown.shapes
        if isinstance(shape, PolygonShape)
    ]
    assert spans == [
        ("prediction", 2, 4, 4, "1", True),
        ("truth", 0, 2, 4, "1", False),
        ("prediction", 4, 6, 4, "1", False),
        ("truth", 6, 8, 4, "2", False),
    ]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "truth", "predicted", "options"),
    [
        ("E-conflict", {**TRUTH, "expression": ["x", "x", "z"]}, {k: v[::2] for k, v in TRUTH.items()}, {}),
        (
            "E-missing-column",
            {k: v for k, v in TRUTH.items() if k != "width"},
            replies(*["[1, 2, 3, 4]"] * 3),
            {"coordinates": "1000"},
        ),
        ("E-out-of-range", {**TRUTH, "w": [0, 64, 20]}, TRUTH, {}),
        ("E-out-of-range", {**TRUTH, "x": [650, 0, 10]}, TRUTH, {}),
        ("E-out-of-range", {**TRUTH, "x": [float("nan"), 0, 10]}, TRUTH, {}),
        (
            "E-conflict",
            TRUTH,
            {k: [*v, v[0]] for k, v in replies("[1, 2, 3, 4]", "null", "null").items()}
            | {"reply": ["[1, 2, 3, 4]", "null", "null", "null"]},
            {},
        ),
        ("E-unmatched", TRUTH, {**TRUTH, "expression": ["x", "y", "other"]}, {}),
        ("E-invalid-setting", TRUTH, TRUTH, {"coordinates": "999999"}),
        ("E-incompatible", {**TRUTH, "text": ["a", "b", "c"]}, {**TRUTH, "text": ["a", "b", "d"]}, {}),
        ("E-missing-column", TRUTH, {"image": ["a"], "expression": ["x"]}, {}),
        ("E-missing-column", TRUTH, {"image": ["a"], "expression": ["x"], "px": [3]}, {}),
        ("E-out-of-range", TRUTH, {"image": ["a"], "expression": ["x"], "px": [float("nan")], "py": [3]}, {}),
    ],
)
def test_bad_input(code: str, truth: Side, predicted: Side, options: dict[str, str]) -> None:
    with refuses(code):
        scores(truth, predicted, "acc@0.5", options=options)


FULL: dict[str, Any] = {"size": [4, 8], "counts": [0, 32]}
SQUARE: dict[str, Any] = {"size": [4, 4], "counts": [0, 16]}


@pytest.mark.parametrize(
    ("code", "truth", "predicted", "metric"),
    [
        ("E-shape-mismatch", [FULL], [SQUARE], "miou"),
        ("E-shape-mismatch", [FULL], [SQUARE], "cgf1"),
        ("E-shape-mismatch", [FULL, SQUARE], [FULL], "miou"),
        ("E-shape-mismatch", [FULL], [FULL, SQUARE], "miou"),
        ("E-empty-cell", [FULL, None], [FULL], "miou"),
        ("E-empty-cell", [FULL], [""], "miou"),
        ("E-invalid-value", [5], [FULL], "miou"),
    ],
)
def test_masks_that_do_not_fit(code: str, truth: list[Any], predicted: list[Any], metric: str) -> None:
    sides = [{"image": ["a"] * len(of), "expression": ["cup"] * len(of), "mask": of} for of in (truth, predicted)]
    with refuses(code, "mask"):
        scores(*sides, metric)


def test_what_sets_and_concepts_leave_out_is_counted() -> None:
    """Boxes with a score below 0.5, and expressions that are not annotated exhaustively."""
    truth = {**TRUTH, "exhaustive": [True, True, False]}
    boxes = {**TRUTH, "score": [0.4, 0.9, 0.3]}
    report = sy.evaluate("grounding", truth, boxes, ["exact_set", "box_recall", "pmf1"], confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    low = "2 of 3 boxes have a score below 0.5 and are left out."
    assert [score.notes for score in report.scores.values()] == [
        (low,),
        (low,),
        (
            "1 of 3 expressions is not annotated exhaustively and left out.",
            "1 of 2 boxes has a score below 0.5 and is left out.",
        ),
    ]


def test_presence_rests_on_the_rarer_kind_of_image() -> None:
    """Two images of 60 without the object, all right: the exact limit of two units that agree, above chance."""
    nowhere = [k < 2 for k in range(60)]
    truth = {"image": list(range(60)), "expression": ["cup"] * 60}
    truth |= {name: [None if none else 5 for none in nowhere] for name in ("x", "y", "w", "h")}
    report = sy.evaluate("grounding", truth, truth, ["cgf1", "il_mcc", "pmf1"])
    for spec in ("cgf1", "il_mcc"):
        assert report[spec].interval == (pytest.approx(0.025**0.5, abs=1e-12), 1.0)
        assert "2 units of class 'without objects'" in " ".join(report[spec].notes)
    assert report["pmf1"].interval == (pytest.approx(0.025 ** (1 / 58), abs=1e-12), 1.0)


def test_checks_of_replies() -> None:
    """Replies above the declared scale, and replies that are not boxes."""
    rows = 40
    truth = {
        "image": list(range(rows)),
        "expression": ["e"] * rows,
        "x": [100] * rows,
        "y": [100] * rows,
        "w": [100 + i for i in range(rows)],
        "h": [100] * rows,
        "width": [640] * rows,
        "height": [480] * rows,
    }
    names = {"image": list(range(rows)), "expression": ["e"] * rows}
    far = {**names, "reply": [f"[100, 100, {1100 + i}, 200]" for i in range(rows)]}
    predicted = sy.check("grounding", truth, far, options={"coordinates": "1000"})
    assert (predicted["above-the-scale"].severity, predicted["above-the-scale"].count) == ("error", rows)
    silent = {**names, "reply": ["I cannot see it." if i % 4 else f"[100, 100, {200 + i}, 200]" for i in range(rows)]}
    predicted = sy.check("grounding", truth, silent)
    assert (predicted["unreadable-replies"].severity, predicted["unreadable-replies"].count) == ("warning", 30)
    turned = {**names, "reply": [f"[100, 100, 200, {200 + i}]" for i in range(rows)]}
    assert "coordinate-space" not in sy.check("grounding", truth, turned)
    thousandths = {**names, "reply": [f"[208.3, 156.25, 416.7, {(200 + i) / 0.64}]" for i in range(rows)]}
    predicted = sy.check("grounding", truth, thousandths)
    assert predicted["coordinate-space"].severity == "error"
    check_names(predicted["coordinate-space"].what, "coordinates=1000 order=yxyx")
    padded = {**names, "reply": [f"[156.25, 281.25, {(200 + i) / 0.64}, 437.5]" for i in range(rows)]}
    padding = sy.check("grounding", truth, padded)["coordinate-space"]
    check_names(padding.what, "coordinates=square:centre:1000")
    clean = sy.check("grounding", truth, thousandths, options={"coordinates": "1000", "order": "yxyx"})
    assert not clean.errors


# --- other tools ------------------------------------------------------------------------------------------------------


def explained(truth: Side, replied: Side, *tools: str) -> dict[str, sy.Explanation]:
    report = sy.evaluate("grounding", truth, replied, ["answered"], explain=list(tools), confidence=None)
    return {explanation.tool: explanation for explanation in report.explanations}


def test_replies_as_harnesses_read_them() -> None:
    rows = GOLDENS["replies"]["rows"]
    names = [str(number) for number in range(len(rows))]
    truth = side(
        [(n, n, *extents(r["truth"]), r["width"], r["height"]) for n, r in zip(names, rows, strict=True)],
        *BOXED,
        "width",
        "height",
    )
    said = {"image": names, "expression": names, "reply": [r["reply"] for r in rows]}
    tools = explained(truth, said, "lmms-eval", "vlmevalkit")
    ground, kit = ([r[name] for r in rows] for name in ("lmms-eval refcoco_grounding", "VLMEvalKit RefCOCO"))
    assert tools["lmms-eval"].theirs == {
        "acc@0.5": np.mean([r["iou"] >= 0.5 for r in ground]),
        "mean_iou": pytest.approx(np.mean([r["iou"] for r in ground]), rel=1e-15),
        "centre": np.mean([r["centre"] for r in ground]),
    }
    assert tools["vlmevalkit"].theirs == {
        "acc@0.5": np.mean([r["iou"] >= 0.5 for r in kit]),
        "mean_iou": pytest.approx(np.mean([r["iou"] for r in kit]), rel=1e-15),
    }
    ours = sy.evaluate("grounding", truth, said, ["acc@0.5", "mean_iou", "centre"], confidence=None)
    assert tools["lmms-eval"].ours == {name: ours[name].value for name in ("acc@0.5", "mean_iou", "centre")}


def one_row(row: dict[str, Any], there: bool = True) -> tuple[Side, Side]:
    """An expression with its reply; where nothing is there, without the true box."""
    box = extents(row["truth"]) if there else NOWHERE
    truth = side([("a", "x", *box, row["width"], row["height"])], *BOXED, "width", "height")
    return truth, {"image": ["a"], "expression": ["x"], "reply": [row["reply"]]}


def overlap(first: list[float], second: list[float]) -> float:
    """IoU of two boxes with an area, by its definition; 0 where the first has none."""
    width, height = (max(0.0, min(first[i + 2], second[i + 2]) - max(first[i], second[i])) for i in (0, 1))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return width * height / (sum(areas) - width * height)


@pytest.mark.parametrize("row", GOLDENS["replies"]["rows"], ids=[r["meant"] for r in GOLDENS["replies"]["rows"]])
def test_replies_as_other_tasks_of_lmms_eval_read_them(row: dict[str, Any]) -> None:
    """GroundingMe keeps the best of four readings, and takes garbage for a rejection; refcoco_bbox_rec reads 0 to 1."""
    expected = row["lmms-eval groundingme"]
    theirs = explained(*one_row(row), "groundingme")["groundingme"].theirs
    assert theirs["mean_iou"] == pytest.approx(max(overlap(box, row["truth"]) for box in expected["tried"]), abs=1e-12)
    rejected = explained(*one_row(row, there=False), "groundingme")["groundingme"]
    assert rejected.theirs["acc@0.5"] == expected["rejection right"]
    assert rejected.ours["acc@0.5"] == 0  # no reply of these says that nothing is there
    read = row["lmms-eval refcoco_bbox_rec"]["read"]
    pixels = [number * row[name] for number, name in zip(read, ("width", "height") * 2, strict=True)]
    theirs = explained(*one_row(row), "lmms-eval-rec")["lmms-eval-rec"].theirs
    assert theirs["mean_iou"] == pytest.approx(overlap(pixels, row["truth"]), abs=1e-12)


def test_rejections_and_several_objects_are_not_for_every_tool() -> None:
    nothing, said = one_row({"reply": "null", "truth": [], "width": 640, "height": 480}, there=False)
    assert explained(nothing, said, "groundingme")["groundingme"].ours == {"acc@0.5": 1, "mean_iou": 1}
    with refuses("E-conflict"):
        explained(nothing, said, "lmms-eval")


def test_choosing_the_space_by_the_truth_pays() -> None:
    """Random boxes, as the script of the goldens drew them: the better of two readings is right more often."""
    draw = np.random.default_rng(7)
    truth, said = [], []
    for number in range(20_000):
        (x, y), (w, h) = (draw.uniform(*bounds, 2) * [640, 480] for bounds in ((0, 0.5), (0.2, 0.5)))
        across, down = np.sort(draw.uniform(0, 640, 2)), np.sort(draw.uniform(0, 480, 2))
        truth.append((number, number, x, y, w, h, 640, 480))
        said.append((number, number, repr([across[0].item(), down[0].item(), across[1].item(), down[1].item()])))
    sides = side(truth, *BOXED, "width", "height"), side(said, "image", "expression", "reply")
    expected = GOLDENS["best_reading"]
    explanation = explained(*sides, "lmms-eval")["lmms-eval"]
    assert explanation.ours["acc@0.5"] == expected["as pixels"]
    assert explanation.theirs["acc@0.5"] == expected["lmms-eval: the better"]
    assert scores(*sides, "acc@0.5", options={"coordinates": "1000"}) == [expected["as 0-1000"]]


def test_other_rules_explained() -> None:
    expected = GOLDENS["one_box"]["expected"]
    tools = explained(*one_box(), "mdetr", "transvg")
    assert tools["mdetr"].theirs["acc@0.5"] == expected["MDETR RefExpEvaluator"]["precision@1"]
    share = expected["TransVG eval_val (float32, corners clipped to the image)"]["accuracy"]
    assert tools["transvg"].theirs["acc@0.5"] == pytest.approx(share, abs=1e-6)
    with refuses("E-missing-column", "reply"):
        explained(*one_box(), "vlmevalkit")
