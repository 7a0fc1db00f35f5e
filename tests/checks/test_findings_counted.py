"""How many rows a finding counts, of how many, and where it says that they are, fault by fault."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.check_faults import every_fault, healthy

import steelyard as sy

SIDES = ("truth", "predictions")
FAULTS = every_fault()
Expected = tuple[str, int, int, tuple[str, ...]]


def shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def first(side: int, column: str = "", where: Any = None) -> Callable[[Any], tuple[str, ...]]:
    """The first three rows of a side, or of those that a function chooses, with what a column has there."""

    def places(data: Any) -> tuple[str, ...]:
        count = len(next(iter(data[side].values())))
        rows = np.arange(count) if where is None else np.flatnonzero(where(data))
        named = [f"{SIDES[side]}, row {row}" for row in rows[:3]]
        if column:
            named = [
                f"{name}: {column} {shown(data[side][column][row])}" for name, row in zip(named, rows[:3], strict=True)
            ]
        return tuple(named)

    return places


def size(data: Any, side: int = 1) -> int:
    return len(next(iter(data[side].values())))


def every(column: str = "", side: int = 1, examples: bool = True) -> Callable[[Any], Expected]:
    """All rows of a side, of which the first three are named."""
    return lambda d: (SIDES[side], size(d, side), size(d, side), first(side, column)(d) if examples else ())


def those(choose: Callable[[Any], Any], column: str = "", side: int = 1, named: int = 1) -> Callable[[Any], Expected]:
    """The rows that a function chooses, of all; those of `named` are the examples."""
    return lambda d: (SIDES[side], int(choose(d).sum()), size(d, side), first(named, column, choose)(d))


def among(
    choose: Callable[[Any], Any], of: Callable[[Any], Any], column: str, side: int = 1
) -> Callable[[Any], Expected]:
    """The rows that a function chooses, of those that another does."""
    return lambda d: (SIDES[side], int(choose(d).sum()), int(of(d).sum()), first(side, column, choose)(d))


def counted(count: int, total: int, *examples: str, side: int = 1) -> Callable[[Any], Expected]:
    return lambda d: (SIDES[side], count, total, examples)


def by_dish(column: str) -> Callable[[Any], Expected]:
    """Predictions below 0, of all; the first three by the names of their dishes as texts: d0, d1, d10."""

    def below(d: Any) -> Expected:
        rows = sorted(np.flatnonzero(d[1][column] < 0), key=lambda row: str(d[1]["dish"][row]))
        places = tuple(f"predictions, row {row}: {column} {d[1][column][row]:g}" for row in rows[:3])
        return "predictions", len(rows), size(d), places

    return below


def off_energy(side: int) -> Callable[[Any], Expected]:
    """Of the rows with all amounts, those whose energy is a quarter and 25 kcal off 4, 4 and 9 kcal per gram."""

    def rows(d: Any) -> Expected:
        own = d[side]
        expected, energy = 4 * own["protein"] + 4 * own["carbohydrate"] + 9 * own["fat"], own["energy"]
        off = np.abs(energy - expected)
        wrong = (off > 0.25 * energy) & (off > 0.25 * expected) & (off > 25)
        complete = int((~np.isnan(energy + expected)).sum())
        return "truth", int(wrong.sum()), complete, first(side, "energy", lambda d: wrong)(d)

    return rows


def valid(d: Any) -> Any:
    """The frames that are scored; both sides have the same ones, in the same order."""
    return d[0]["valid"]


EXPECTED: dict[str, dict[str, Callable[[Any], Expected]]] = {
    "weights": {
        # A ratio needs a true weight above 0; each row of the predictions stands at the place of its true one.
        **dict.fromkeys(
            ("kilograms", "truth in kilograms", "ounces", "pounds"),
            lambda d: ("predictions", int((d[0]["weight"] > 0).sum()), 155, first(1, "weight")(d)),
        ),
        **dict.fromkeys(("next row", "one number", "the truth"), every("weight")),
        "below 0": by_dish("weight"),
        "capitals": counted(60, 60, "'D0' beside 'd0'"),  # sixty dishes
        "zeros in front": counted(60, 60, "'d00000' beside 'd0'"),
        "endings": counted(60, 60, "'d0.jpg' beside 'd0'"),
        "folders": counted(60, 60, "'test/d0' beside 'd0'"),
        "twice": counted(2, 157, "predictions, row 155: item 'i0'", "predictions, row 156: item 'i1'"),
        "truth twice": counted(1, 156, "truth, row 155: item 'i0'", side=0),
        "some missing": counted(5, 155),
        "some more": counted(5, 155),
        "a text": counted(1, 1, "predictions, row 0, column 'weight': 'much' is not a number"),
    },
    "sequences": {
        "from 1": every("t"),
        "milliseconds": every("t"),
        "truth at 25 a second": every("t"),
        "turned round": every("t"),
        **dict.fromkeys(("one number", "the truth"), among(valid, valid, "weight")),
        "below 0": among(lambda d: valid(d) & (d[1]["weight"] < 0), valid, "weight"),
        "kcal per 100 g": those(lambda d: d[0]["kcal_per_g"] > 10, "kcal_per_g", 0, 0),
        "capitals": counted(60, 60, "'S0' beside 's0'"),
    },
    "ellipses": {
        "fractions": every("xc"),
        "twice": lambda d: (
            "predictions",
            1,
            int((~np.isnan(np.array(d[1]["xc"], float))).sum()),
            (f"predictions, row 141: xc {d[1]['xc'][141]:g}",),
        ),
        "endings": counted(60, 60, "'i0.png' beside 'i0'"),
    },
    "labels": {
        **dict.fromkeys(("one label", "all right", "the truth"), every(examples=False)),
        "twice": counted(1, 151, "predictions, row 150: id 'r0'"),
        "capitals": counted(150, 150, "'R0' beside 'r0'"),
    },
    "rankings": {
        "queries with a prefix": counted(60, 60, "'topic-0' beside 'q0'"),
        "documents with an ending": lambda d: (
            "predictions",
            len(set(d[1]["doc"])),
            len(set(d[1]["doc"])),
            ("'d000.jpg' beside 'd000'",),
        ),
        "one score": counted(60, 60, "query 'q0'", "query 'q1'", "query 'q2'"),
        "twice": lambda d: ("predictions", 1, 1915, (f"predictions, row 1914: document '{d[1]['doc'][0]}'",)),
        "one list": counted(60, 60),
        "the truth": counted(1200, 1200, "query 'q0'", "query 'q1'", "query 'q10'"),
    },
    "answers": {"one reply": every(examples=False)},
    "distributions": {
        "one vector again": counted(1, 30, "predictions, row 0"),  # the first vector is repeated
        "real vectors": every(),
        "one side of length 1": counted(30, 60),
        "a place that never changes": counted(1, 2),
    },
    "depth": {  # 40 of the 60 images are looked at
        **dict.fromkeys(
            ("millimetres", "disparity", "turned over", "a scale for each image", "one depth"), counted(40, 40)
        ),
        "no truth": counted(1, 40, "i000", side=0),
    },
    "normals": dict.fromkeys(("flipped", "turned over", "0 to 1"), counted(20, 20)),
    "grounding": {"one box": counted(112, 112)},
    "tables": {
        **dict.fromkeys(("pipes", "one table"), every("html")),
        "next table": every(examples=False),
    },
    "captions": {
        "empty": counted(1, 60, "predictions, row 3: caption ''"),
        "none": counted(1, 60, "predictions, row 3: caption ''"),
        "words for nothing": counted(1, 60, "predictions, row 3: caption 'None'"),
        "one caption": counted(60, 60, "'a man on a bench'"),
    },
    "losses": {
        "probabilities": lambda d: (
            "predictions",
            int((~np.isnan(d[1]["logit"])).sum()),
            int((~np.isnan(d[1]["logit"])).sum()),
            first(1, "logit")(d),
        ),
        "one logit": lambda d: (
            "predictions",
            int((~np.isnan(d[1]["logit"])).sum()),
            int((~np.isnan(d[1]["logit"])).sum()),
            first(1, "logit")(d),
        ),
    },
    "anomalies": {"distances": every(examples=False)},
    "flow": dict.fromkeys(("swapped", "v upwards", "backward", "turned over", "scale"), counted(20, 20)),
    "disparity": dict.fromkeys(("negated", "turned over", "scale", "negative"), counted(20, 20)),
    "segmentation": {
        "one off": lambda d: ("predictions", *2 * (sum(m.size for m in d[0]["map"]),), ()),
        "one class": lambda d: ("predictions", *2 * (sum(m.size for m in d[0]["map"]),), ()),
        "void": lambda d: ("truth", sum(m.shape[1] for m in d[0]["map"]), sum(m.size for m in d[0]["map"]), ()),
    },
    "volumes": {"twice": counted(1, 61, "predictions, row 60: case 'c000'")},
    "panoptic": {
        "twice": counted(1, 61, "predictions, row 60: image 'i000'"),
    },
    "tracking": {
        **dict.fromkeys(("corners", "elsewhere", "the truth itself"), every()),
        "one frame late": every("frame"),
        "names": counted(60, 60, "'V0' beside 'v0'"),
        # only the first of the twelve classes is scored
        "no benchmark": those(lambda d: d[0]["label"] > 1, "label", 0, 0),
    },
    "oriented": {
        "degrees in a few": counted(1, 248, "predictions, row 3: angle 40"),
        "row by row": every(),
        "no area": counted(1, 184, "truth, row 3", side=0),
        "percent": every("score"),
        "tiles": every("image"),
    },
    "boxes3d": {"names": counted(60, 60, "'F000' beside 'f000'")},
    "keypoints": {
        "left and right": every(),
        "percent": every("score"),
        **dict.fromkeys(("not counted", "nothing visible", "at the corner"), every(side=0)),
    },
    "nutrients": {
        **dict.fromkeys(("kilograms", "ounces", "truth in pounds"), every("mass")),
        "milligrams of fat": lambda d: ("predictions", int((d[0]["fat"] > 0).sum()), 77, first(1, "fat")(d)),
        **dict.fromkeys(("kilojoules", "truth in kilojoules"), every("energy")),
        "per 100 g": every("energy"),
        "both in kilojoules": off_energy(0),
        "whole days": lambda d: ("truth", int((d[0]["energy"] > 1500).sum()), 77, ()),
        **dict.fromkeys(("next row", "the truth"), every("mass")),
        "one number": every("protein"),
        "below 0": by_dish("protein"),
        "capitals": counted(60, 60, "'D0' beside 'd0'"),
    },
}
CASES = [(task, fault) for task, faults in EXPECTED.items() for fault in faults]


@cache
def data_of(task: str) -> list[Any]:
    return list(healthy(task))


@pytest.mark.parametrize(("task", "fault"), CASES, ids=[f"{task}: {fault}" for task, fault in CASES])
def test_rows_of_a_finding(task: str, fault: str) -> None:
    apply, code, _ = FAULTS[task][fault]
    data = copy.deepcopy(data_of(task))
    apply(data)
    finding = sy.check(task, *data)[code]
    assert (finding.side, finding.count, finding.total, finding.examples) == EXPECTED[task][fault](data)
