"""Tracks by hand: every number of one object under three names, classes, what is taken out, masks, other tools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of
from support.shown import check_figure

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.explanation import Explanation, Step
from steelyard.core.scene import BoxShape, LineShape, Scene
from steelyard.core.state import State
from steelyard.tasks.tracking import statistics as needs
from steelyard.tasks.tracking import views
from steelyard.tasks.tracking import views as tracking_views
from steelyard.tasks.tracking.hota import Hota

nan = math.nan
Rows = dict[str, list[Any]]


def boxes(*rows: tuple[Any, ...], names: tuple[str, ...] = ("sequence", "frame", "track", "x"), **more: Any) -> Rows:
    """Rows of sequence, frame, track and left edge; boxes are 10 by 10 on one line."""
    columns: Rows = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    size = len(rows)
    return columns | {"y": [0.0] * size, "w": [10.0] * size, "h": [10.0] * size} | more


def joined(*parts: Rows) -> Rows:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


# Frames 1 to 6 of one object, found as p, p, q, p, not, r; and a sequence of two frames without a fault. A frame in which
# nothing at all is predicted breaks no track into fragments, as TrackEval has it.
TRUTH = boxes(*(("a", k, "t", 0.0) for k in range(1, 7)))
FOUND = boxes(*(("a", k, name, 0.0) for k, name in ((1, "p"), (2, "p"), (3, "q"), (4, "p"), (6, "r"))))
PERFECT = boxes(("b", 1, "t", 0.0), ("b", 2, "t", 0.0))
DETA, ASSA = 5 / 6, (3 * 3 / 6 + 2 * 1 / 6) / 5
HOTA = math.sqrt(DETA * ASSA)
NUMBERS = {
    "hota": HOTA, "hota@0.5": HOTA, "deta": DETA, "assa": ASSA, "detre": 5 / 6, "detpr": 1, "assre": ASSA, "asspr": 1,
    "loca": 1, "hota_sequence": HOTA, "assa_loss": (3 * 2 / 6 + 2 * 4 / 6) / 5, "assa_loss(part=miss)": 1 / 6,
    "assa_loss(part=merge)": 0, "assa_loss(part=extra)": 0, "mota": 2 / 6, "moda": 5 / 6, "smota": 2 / 6, "motp": 1,
    "recall": 5 / 6, "precision": 1, "mota_sequence": 2 / 6, "idf1": 6 / 11, "idp": 3 / 5, "idr": 3 / 6, "idsw": 3,
    "fragments": 0, "fp": 0, "fn": 1, "mt": 1, "pt": 0, "ml": 0, "mtr": 1, "mlr": 0, "idsw_per_track": 3, "fpf": 0,
}  # fmt: skip


def values(truth: Rows, predicted: Rows, specs: Any, **settings: Any) -> list[float]:
    report = sy.evaluate("tracking", truth, predicted, list(specs), confidence=None, **settings)
    return [report[spec].value for spec in specs]


def test_every_number() -> None:
    assert values(TRUTH, FOUND, NUMBERS) == pytest.approx(list(NUMBERS.values()), abs=1e-12)


def test_fragments() -> None:
    """Something is predicted in frame 5, far away: the track is lost there, and goes on as a new fragment."""
    far = joined(FOUND, boxes(("a", 5, "z", 500.0)))
    assert values(TRUTH, far, ["fragments", "idsw", "fp"]) == [1, 3, 1]


def test_numbers_and_texts_name_tracks_and_rows_stand_anyhow() -> None:
    truth, predicted = ({name: column[::-1] for name, column in side.items()} for side in (TRUTH, FOUND))
    number = {"t": 8, "p": 300, "q": 5, "r": 20}
    for side in (truth, predicted):
        side["track"] = [number[name] for name in side["track"]]
    assert values(truth, predicted, NUMBERS) == pytest.approx(list(NUMBERS.values()), abs=1e-12)
    mixed = values(truth, {**predicted, "track": [str(name) for name in predicted["track"]]}, ["idsw", "hota"])
    assert mixed == pytest.approx([3, HOTA])


def test_corners_and_sizes_say_the_same() -> None:
    truth, predicted = (
        {name: column for name, column in side.items() if name not in "wh"}
        | {"right": [10.0] * n, "bottom": [10.0] * n}
        for side, n in ((TRUTH, 6), (FOUND, 5))
    )
    assert values(truth, predicted, NUMBERS) == pytest.approx(list(NUMBERS.values()), abs=1e-12)
    for name in ("right", "bottom"):  # one of them alone says nothing
        sides = [{**side, name: [nan] * len(side["x"])} for side in (TRUTH, FOUND)]
        assert values(*sides, ["mota", "hota"]) == pytest.approx([2 / 6, HOTA])


def test_one_frame() -> None:
    one = boxes(("a", 1, "t", 0.0))
    assert values(one, one, ["hota_sequence", "mota_sequence", "hota", "idf1"]) == pytest.approx([1, 1, 1, 1])
    shown = tracking_views.scene(pairs_of("tracking", one, one), 0, Hota())
    assert shown.summary == "matched 1, switches 0, missed 0, extra 0"
    assert [shape.matched for shape in shown.shapes if isinstance(shape, BoxShape)] == [True, True]


def test_few_boxes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (2, 3, 4, 7):
        monkeypatch.setattr(needs, "MOST_BOXES", most)
        assert values(TRUTH, FOUND, NUMBERS) == pytest.approx(list(NUMBERS.values()), abs=1e-12)
        both = values(joined(PERFECT, TRUTH), joined(PERFECT, FOUND), ["idsw", "fn", "mota"])
        assert both == pytest.approx([3, 1, (7 - 3) / 8])


def test_sequences_count_alike() -> None:
    specs = ["hota_sequence", "mota_sequence", "mota", "deta"]
    both = values(joined(TRUTH, PERFECT), joined(FOUND, PERFECT), specs)
    assert both == pytest.approx([(HOTA + 1) / 2, (1 / 3 + 1) / 2, 4 / 8, 7 / 8])
    empty = boxes(("c", nan, "", nan), y=[nan], w=[nan], h=[nan])
    with_nothing = values(joined(TRUTH, PERFECT, empty), joined(FOUND, PERFECT, empty), specs)
    assert with_nothing == pytest.approx(both)


def test_weights_of_sequences() -> None:
    """Three times two of six, and two of two."""
    truth = {**joined(TRUTH, PERFECT), "sample_weight": [3.0] * 6 + [1.0] * 2}
    assert values(truth, joined(FOUND, PERFECT), ["mota"]) == pytest.approx([(3 * 2 + 2) / (3 * 6 + 2)])


def test_counts_at_a_stricter_overlap() -> None:
    """Boxes that are one pixel off have IoU 9/11: matched at 0.8, not at 0.82."""
    predicted = {**FOUND, "x": [1.0] * 5}
    specs = ["mota(iou=0.8)", "mota(iou=0.82)", "motp(iou=0.8)", "smota(iou=0.8)", "idf1(iou=0.82)", "loca", "deta@0.8"]
    smota = (5 * 9 / 11 - 3) / 6
    assert values(TRUTH, predicted, specs) == pytest.approx([2 / 6, -5 / 6, 9 / 11, smota, 0, loca_of(9 / 11), 5 / 6])
    assert values(TRUTH, predicted, ["deta@0.85", "hota@0.85"]) == [0, 0]


def loca_of(iou: float) -> float:
    """The mean over 19 thresholds of what is matched there; a threshold without a match counts as 1."""
    return sum(iou if 0.05 * k <= iou else 1 for k in range(1, 20)) / 19


COW, DOG = {**TRUTH, "label": ["cow"] * 6}, {**PERFECT, "label": ["dog"] * 2}
FOUND_COW = {**FOUND, "label": ["cow"] * 5}


def test_classes() -> None:
    truth, predicted = joined(COW, DOG), joined(FOUND_COW, DOG)
    specs = [
        "mota", "mota(over=det)", "mota(label=cow)", "mota(label=dog)", "deta", "deta(over=det)", "idsw", "idsw(over=det)",
        "idsw(label=dog)", "hota(label=cow)",
    ]  # fmt: skip
    expected = [2 / 3, 4 / 8, 1 / 3, 1, (DETA + 1) / 2, 7 / 8, 3, 3, 0, HOTA]
    assert values(truth, predicted, specs)[:6] == pytest.approx(expected[:6])
    assert values(truth, predicted, specs)[7:] == pytest.approx(expected[7:])
    with refuses("E-unknown-name", "'hen'", "cow", "dog"):
        sy.evaluate("tracking", truth, predicted, ["hota(label=hen)"], confidence=None)
    far = {**predicted, "x": [99.0] * 7}
    score = sy.evaluate("tracking", truth, far, ["motp(label=cow)"], confidence=None)["motp(label=cow)"]
    assert (score.defined, score.undefined_reason) == (False, "nothing is matched")
    parts = sy.evaluate("tracking", truth, predicted, ["mota"], by=["label"], confidence=None).slices["label"]
    assert {name: part["mota"].value for name, part in parts.items()} == pytest.approx({"cow": 1 / 3, "dog": 1})
    assert not any("leaves out" in note for part in parts.values() for note in part["mota"].notes)
    chosen = values(truth, predicted, ["mota"], options={"classes": ["dog"]})
    assert chosen == [1]


def test_classes_that_are_numbers_are_in_order() -> None:
    truth = joined({**COW, "label": [10] * 6}, {**DOG, "label": [9] * 2})
    predicted = joined({**FOUND_COW, "label": [10] * 5}, {**DOG, "label": [9] * 2})
    assert pairs_of("tracking", truth, predicted).metadata.axes["class"].ids == ("9", "10")
    assert values(truth, predicted, ["mota(label=10)", "mota(label=9)"]) == pytest.approx([1 / 3, 1])


def test_classes_to_compare() -> None:
    two = pairs_of("tracking", joined(COW, DOG), joined(FOUND_COW, DOG))
    own = list(Hota().requirements())
    assert views.class_metrics(State.of(two, own)) == {"cow": Hota(only="cow"), "dog": Hota(only="dog")}
    assert views.class_metrics(State.of(two, own[:0])) == {}
    assert views.class_metrics(State.of(pairs_of("tracking", TRUTH, FOUND), own)) == {}


def notes(truth: Rows, predicted: Rows, **settings: Any) -> tuple[str, ...]:
    return sy.evaluate("tracking", truth, predicted, ["fp"], confidence=None, **settings)["fp"].notes


def test_few_sequences() -> None:
    for count, said in (
        (1, ()), (2, ("2 sequences: too few for an interval (the jackknife's, with Student's t).",)),
        (3, ("3 sequences: too few for an interval (the jackknife's, with Student's t).",)),
        (4, ("4 sequences: the intervals speak of videos like these (the jackknife's, with Student's t).",)),
        (29, ("29 sequences: the intervals speak of videos like these (the jackknife's, with Student's t).",)),
        (30, ()),
    ):  # fmt: skip
        rows = boxes(*((f"s{k}", 1, "t", 0.0) for k in range(count)))
        assert notes(rows, rows) == said


KITTI_TRUTH = boxes(
    ("a", 1, 1, 0.0, "Car"), ("a", 1, 2, 100.0, "Van"), ("a", 1, 3, 200.0, "Car"), ("a", 1, 4, 300.0, "Pedestrian"),
    ("a", 1, 5, 400.0, "Cyclist"), ("a", 1, 6, 800.0, "DontCare"), ("a", 1, 7, 900.0, "Car"),
    names=("sequence", "frame", "track", "x", "label"), h=[30.0] * 7, occluded=[0, 0, 3, 2, 0, 0, 0],
    truncated=[0, 0, 0, 0.9, 0, 0, 1], ignore=[False] * 5 + [True, False],
)  # fmt: skip
KITTI_FOUND = boxes(
    ("a", 1, 1, 0.0, "car"), ("a", 1, 2, 100.0, "car"), ("a", 1, 3, 200.0, "car"), ("a", 1, 4, 600.0, "car"),
    ("a", 1, 5, 700.0, "car"), ("a", 1, 6, 800.0, "car"), ("a", 1, 7, 400.0, "cyclist"), ("a", 1, 8, 804.0, "car"),
    ("a", 1, 9, 806.0, "car"), ("a", 1, 10, 900.0, "car"),
    names=("sequence", "frame", "track", "x", "label"), h=[30.0, 30, 30, 25, 25.5, 30, 30, 30, 30, 30],
)  # fmt: skip


def test_what_kitti_takes_out() -> None:
    """A van, what is hidden, and what is low or in a region count neither way. More than half of a box must be inside."""
    options = {"benchmark": "kitti"}
    specs = ["fp(label=car)", "fn(label=car)", "fn(label=pedestrian)", "fp(label=pedestrian)", "recall(label=car)"]
    # 700 is high enough, and of 806 four of ten columns lie in the region
    assert values(KITTI_TRUTH, KITTI_FOUND, specs, options=options) == [2, 0, 1, 0, 1]
    assert notes(KITTI_TRUTH, KITTI_FOUND, options=options) == (
        "Taken out before scoring: 3 predictions on objects that are not scored, 2 predictions inside regions to ignore, 1 "
        "prediction below the least size, 1 prediction of other classes, 4 truth rows outside of what is scored.",
    )


def test_half_a_box_in_a_region_counts() -> None:
    truth = boxes(("a", 1, 1, 0.0), ("a", 1, 2, 500.0), ("a", 2, 3, 700.0), ignore=[False, True, True])
    for x, fp in ((505.0, 1), (504.9, 0), (495.0, 1), (495.1, 0), (700.0, 1)):
        assert values(truth, boxes(("a", 1, 1, 0.0), ("a", 1, 2, x)), ["fp"]) == [fp]


BENCHMARKS: list[tuple[Any, ...]] = [
    ("mot15", 2, "Taken out before scoring: 1 truth row outside of what is scored."),
    ("mot17", 3, "Taken out before scoring: 3 predictions on objects that are not scored, 5 truth rows outside of what "
                 "is scored."),
    ("mot20", 2, "Taken out before scoring: 4 predictions on objects that are not scored, 5 truth rows outside of what "
                 "is scored."),
    ("none", 2, "Taken out before scoring: 1 truth row outside of what is scored."),
]  # fmt: skip


def test_what_mot_takes_out() -> None:
    """A pedestrian, one that is not scored, one on a vehicle, one that stands, a vehicle without a motor, a reflection."""
    for benchmark, fp, said in BENCHMARKS:
        kinds = [1, 1, 2, 7, 6, 12]
        rows = [("a", 1, k + 1, 100.0 * k) for k in range(6)]
        truth = boxes(*rows, label=kinds, flag=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
        predicted = boxes(*rows, ("a", 1, 9, 900.0))
        made = sy.evaluate("tracking", truth, predicted, ["fp"], options={"benchmark": benchmark}, confidence=None)[
            "fp"
        ]
        assert (made.value, made.notes) == (fp, (said,))


def mask(start: int, stop: int) -> dict[str, Any]:
    """Some columns of an image of twelve."""
    return {"size": [1, 12], "counts": [start, stop - start, 12 - stop]}


def masks(*rows: tuple[Any, ...], **more: Any) -> Rows:
    return {name: [row[k] for row in rows] for k, name in enumerate(("sequence", "frame", "track", "mask"))} | more


def test_masks() -> None:
    """Found with IoU 1/2 and 3/4, then in a frame that the truth has not; three of four pixels in regions count nothing."""
    truth = masks(
        ("a", 1, 1, mask(0, 2)), ("a", 2, 1, mask(0, 3)), ("a", 2, 8, mask(6, 7)), ("a", 2, 9, mask(7, 9)),
        ("a", 4, 1, mask(0, 3)), ignore=[False, False, True, True, False],
    )  # fmt: skip
    predicted = masks(
        ("a", 1, 1, mask(0, 4)), ("a", 2, 1, mask(0, 4)), ("a", 2, 2, mask(6, 10)), ("a", 2, 3, mask(10, 12)),
        ("a", 3, 1, mask(0, 4)),
    )  # fmt: skip
    specs = ["motp", "fp", "fn", "recall", "motp(iou=0.6)", "fn(iou=0.6)"]
    assert values(truth, predicted, specs) == pytest.approx([5 / 8, 2, 1, 2 / 3, 3 / 4, 2])
    assert notes(truth, predicted)[0] == "Taken out before scoring: 1 prediction inside regions to ignore."
    shown = tracking_views.scene(pairs_of("tracking", truth, predicted), 0, catalogue.parse("hota", "tracking"), 2)
    assert shown.shapes == (
        BoxShape("truth", 0, 0, 3, 1, "T1", True), LineShape("pair", 1.5, 0.5, 2, 0.5, ""),
        BoxShape("prediction", 0, 0, 4, 1, "P1", True), BoxShape("prediction", 10, 0, 2, 1, "P3", False),
    )  # fmt: skip
    assert shown.bounds == pytest.approx((-1.92, -1.92, 13.92, 2.92))


def test_the_second_sequence() -> None:
    """The worst sequence stands second, and its frames are drawn from its own rows; a class of its own each, or none."""
    for first, second in (({}, {}), ({"label": ["dog"] * 2}, {"label": ["cow"] * 6})):
        truth = joined({**PERFECT, "sequence": ["a"] * 2, **first}, {**TRUTH, "sequence": ["b"] * 6, **second})
        second = {name: column[:5] for name, column in second.items()}
        predicted = joined({**PERFECT, "sequence": ["a"] * 2, **first}, {**FOUND, "sequence": ["b"] * 5, **second})
        pairs = pairs_of("tracking", truth, predicted)
        shown = tracking_views.scene(pairs, 1, Hota(), 4)
        assert (shown.title, shown.summary) == ("Sequence b, frame 4", "matched 1, switches 1, missed 0, extra 0")
        assert [shape.label for shape in shown.shapes] == ["Tt", "switch", "Pp"]
        assert tracking_views.steps(pairs, 1).counts["switches"] == (0, 0, 1, 1, 0, 1)
        assert tracking_views.steps(pairs, 0).numbers == (1, 2)
        assert tracking_views.scene(pairs, 0, Hota()).title == "Sequence a, frame 1"
        state = State.of(pairs, list(Hota().requirements()))
        assert views.worst_unit(state) == 1
        made = views.figures(pairs, state, ())
        assert list(made) == ["thresholds", "plane", "losses", "timeline"]
        assert made["timeline"]().title == "Sequence b, track by track"
        listed = views.listing(pairs, state)
        names = listed.columns["sequence"]
        assert [names.names[code] for code in names.codes] == ["b"] * 3  # type: ignore[union-attr]


def test_nothing_to_draw() -> None:
    empty = boxes(("c", nan, "", nan), y=[nan], w=[nan], h=[nan])
    pairs = pairs_of("tracking", joined(TRUTH, empty), joined(FOUND, empty))
    assert tracking_views.steps(pairs, 1).numbers == ()
    assert tracking_views.scene(pairs, 1, Hota()) == Scene("Sequence c", "nothing is there", ())


def test_nothing_on_either_side() -> None:
    empty = boxes(("c", nan, "", nan), y=[nan], w=[nan], h=[nan])
    report = sy.evaluate("tracking", empty, empty, confidence=None)
    assert (report["hota"].defined, report["mota"].defined, report["idsw"].value) == (False, False, 0)
    assert report["hota"].undefined_reason == "there is neither a truth nor a prediction"
    assert report.figures == ()


def test_the_timeline_of_two_tracks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second track begins first, and is missed in frame 2; its name changes when it comes back."""
    truth = boxes(
        ("a", 1, "u", 100.0), ("a", 2, "u", 100.0), ("a", 3, "u", 100.0), ("a", 2, "t", 0.0), ("a", 3, "t", 0.0)
    )
    predicted = boxes(("a", 1, "p", 100.0), ("a", 3, "q", 100.0), ("a", 2, "z", 0.0), ("a", 3, "z", 0.0))
    pairs = pairs_of("tracking", truth, predicted)
    said = "Each row is a true track, coloured by the name that it is found under; grey is missed, a tick is a switch."
    columns = {
        "row": ["u", "u", "u", "t"], "x": [1, 2, 3, 2], "x2": [2, 3, 4, 4], "series": ["p", "missed", "q", "z"],
        "event": ["", "", "switch", ""],
    }  # fmt: skip
    head = ("timeline", "timeline", "Sequence a, track by track")
    check_figure(views.timeline(pairs, 0), head, columns, {"x": "frame", "y": "true track"}, said)
    monkeypatch.setattr(views, "MOST_FRAMES", 2)
    assert views.timeline(pairs, 0).columns["x2"] == [2, 3, 4]


# Matched with p, missed while z is far away, then q fits better than p. Four of five frames are matched: 80 %.
LOST = boxes(*(("a", k, "t", 0.0) for k in range(1, 6)))
AGAIN = boxes(
    ("a", 1, "p", 0.0), ("a", 2, "p", 0.0), ("a", 3, "z", 500.0), ("a", 4, "p", 1.0), ("a", 4, "q", 0.0),
    ("a", 5, "p", 1.0), ("a", 5, "q", 0.0),
)  # fmt: skip
PLAIN = {"mota": 0.0, "motp": 1.0, "idsw": 1.0, "mt": 0.0}
SUMMED = "Counts of all classes are summed here: mota(over=det)."


def same(made: Explanation, expected: Explanation) -> None:
    assert (made.tool, made.version, made.remarks) == (expected.tool, expected.version, expected.remarks)
    assert (made.ours, made.theirs) == (pytest.approx(dict(expected.ours)), pytest.approx(dict(expected.theirs)))
    for one, other in zip(made.steps, expected.steps, strict=True):
        assert (one.setting, one.ours, one.theirs, one.reason) == (
            other.setting,
            other.ours,
            other.theirs,
            other.reason,
        )
        assert one.values == pytest.approx(dict(other.values))


def test_other_tools() -> None:
    old = {"mota": 0.2, "motp": 10 / 11, "idsw": 0.0, "mt": 0.0}
    steps = (
        Step("which pair goes on", "that of the last frame with both sides", "that of the last match, however long ago",
             "A track that is lost takes its old name again where it still fits, before others are paired.", old),
        Step("mostly tracked", "more than 80 % of the frames", "at least 80 %", "A track at exactly 80 % is counted.",
             {**PLAIN, "mt": 1.0}),
        Step("motp", "a similarity", "a distance", "It prints 1 - IoU: lower is better.", {**PLAIN, "motp": 0.0}),
    )  # fmt: skip
    remarks = (
        "It takes nothing out before scoring: these numbers are of the rows that are left here.",
        "IoU below 0.5 counts as no pair, as here.",
    )
    evaluated = (
        "Undefined numbers are printed as 0, and LocA without a match as 1.",
        "Frames of a sequence that is empty on one side are not counted, so FP per frame is higher there.",
    )
    theirs = {**old, "motp": 1 / 11, "mt": 1.0}
    first, second = views.explain(pairs_of("tracking", LOST, AGAIN), ["py-motmetrics", "trackeval"])
    same(first, Explanation("py-motmetrics", "1.4.0", PLAIN, steps, theirs, remarks))
    same(second, Explanation("trackeval", "1.3.0", PLAIN, (), PLAIN, evaluated))
    lost = joined(LOST, boxes(*(("a", k, "u", 900.0) for k in range(1, 6))))  # another one that is never found
    (more,) = views.explain(pairs_of("tracking", lost, AGAIN), ["py-motmetrics"])
    assert [step.values["mt"] for step in more.steps] == [0, 1, 0]
    other = joined(LOST, {**LOST, "sequence": ["b"] * 5})  # of the same name, in another sequence without a prediction
    far = joined(AGAIN, boxes(("b", 1, "p", 900.0)))
    (more,) = views.explain(pairs_of("tracking", other, far), ["py-motmetrics"])
    assert [step.values["mt"] for step in more.steps] == [0, 1, 0]
    two = pairs_of("tracking", joined(COW, DOG), joined(FOUND_COW, DOG))
    (third, fourth) = views.explain(two, ["py-motmetrics", "trackeval"])
    assert (third.remarks, fourth.remarks) == ((*remarks, SUMMED), (*evaluated, SUMMED))
    assert third.ours == pytest.approx({"mota": 0.5, "motp": 1, "idsw": 3, "mt": 2})


def test_other_tools_without_a_match() -> None:
    far = {**FOUND, "x": [99.0] * 5}
    (made,) = views.explain(pairs_of("tracking", TRUTH, far), ["trackeval"])
    assert np.isnan(made.ours["motp"])
    assert made.theirs == {"mota": pytest.approx(-5 / 6), "motp": 0, "idsw": 0, "mt": 0}
    with refuses("E-unknown-name", "'motmetrics'", "'py-motmetrics'"):
        views.explain(pairs_of("tracking", TRUTH, far), ["motmetrics"])
