"""What values of label maps mean: every option, every data set that is known by name, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.asked import refusal

from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.tasks.segmentation.labelling import IGNORED, OPTIONS, UNKNOWN, Labelling, labelling_of

ROADS = (
    "road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign", "vegetation", "terrain", "sky",
    "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle",
)  # fmt: skip
GROUPS = {
    "road": "flat", "sidewalk": "flat", "building": "construction", "wall": "construction", "fence": "construction",
    "pole": "object", "traffic light": "object", "traffic sign": "object", "vegetation": "nature", "terrain": "nature",
    "sky": "sky", "person": "human", "rider": "human", "car": "vehicle", "truck": "vehicle", "bus": "vehicle",
    "train": "vehicle", "motorcycle": "vehicle", "bicycle": "vehicle",
}  # fmt: skip
THINGS = (
    "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
# What Cityscapes calls the classes that it evaluates, in their order.
ROAD_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)


def labelling(given: dict[str, Any]) -> Labelling:
    """Lists as they come from files."""
    read = {
        name: Records("", {"entry": np.array(value, dtype=object)}) if isinstance(value, list) else value
        for name, value in given.items()
    }
    return labelling_of(Options(OPTIONS, read))


ROAD_TABLE = {value: ROAD_IDS.index(value) if value in ROAD_IDS else -1 for value in range(34)}
MEANT: dict[str, tuple[dict[str, Any], Labelling]] = {
    "nothing": ({}, Labelling(None, (), {}, frozenset(), (0, 0), (None, None), (False, False), "error")),
    "names": ({"names": ["a", "b", "c"]}, Labelling((0, 1, 2), ("a", "b", "c"))),
    "classes": ({"classes": 3.0}, Labelling((0, 1, 2))),
    "as many": ({"classes": 2.0, "names": ["a", "b"]}, Labelling((0, 1), ("a", "b"))),
    "ignored": ({"ignore": (255.0, 0.0)}, Labelling(ignore=frozenset({0, 255}))),
    "moved": ({"shift": -1.0}, Labelling(shift=(-1, -1))),
    "truth moved": ({"truth.shift": -2.0}, Labelling(shift=(-2, 0))),
    "predictions moved": ({"prediction.shift": 3.0}, Labelling(shift=(0, 3))),
    "without 0": ({"reduce_zero": "truth"}, Labelling(ignore=frozenset({0}), shift=(-1, 0))),
    "without 0 in both": ({"reduce_zero": "both"}, Labelling(ignore=frozenset({0}), shift=(-1, -1))),
    "moved and without 0": (
        {"reduce_zero": "truth", "shift": 3.0, "ignore": (9.0,)}, Labelling(ignore=frozenset({0, 9}), shift=(2, 3)),
    ),
    "truth moved and without 0": ({"reduce_zero": "truth", "truth.shift": 3.0}, Labelling(ignore=frozenset({0}), shift=(2, 0))),
    "both moved and without 0": ({"reduce_zero": "both", "shift": 3.0}, Labelling(ignore=frozenset({0}), shift=(2, 2))),
    "unknown is wrong": ({"unknown": "wrong"}, Labelling(unknown="wrong")),
    "ade20k": ({"labels": "ade20k"}, Labelling(tuple(range(150)), ignore=frozenset({0}), shift=(-1, 0))),
    "ade20k and more": (
        {"labels": "ade20k", "ignore": (255.0,), "truth.shift": -2.0},
        Labelling(tuple(range(150)), ignore=frozenset({0, 255}), shift=(-2, 0)),
    ),
    "voc": ({"labels": "voc"}, Labelling(tuple(range(21)), THINGS, ignore=frozenset({255}))),
    "voc with names": (
        {"labels": "voc", "names": ["no", "yes"], "unknown": "wrong"},
        Labelling((0, 1), ("no", "yes"), ignore=frozenset({255}), unknown="wrong"),
    ),
    "cityscapes-train": (
        {"labels": "cityscapes-train"},
        Labelling(tuple(range(19)), ROADS, GROUPS, frozenset({255}), unknown="wrong"),
    ),
    "cityscapes": (
        {"labels": "cityscapes"},
        Labelling(tuple(range(19)), ROADS, GROUPS, tables=(ROAD_TABLE, ROAD_TABLE), unknown="wrong"),
    ),
    "relabelled": (
        {"relabel": ["7=road", " 8 = 1 ", "9=ignore"], "names": ["road", "kerb"]},
        Labelling((0, 1), ("road", "kerb"), tables=({7: 0, 8: 1, 9: IGNORED}, {7: 0, 8: 1, 9: UNKNOWN})),
    ),
    "truth relabelled": (
        {"truth.relabel": ["7=5", "8=3", "9=ignore"]}, Labelling((3, 5), tables=({7: 5, 8: 3, 9: IGNORED}, None)),
    ),
    "relabelled alike": ({"truth.relabel": ["7=0", "7=0"]}, Labelling((0,), tables=({7: 0}, None))),
    "predictions relabelled": (
        {"prediction.relabel": ["7=0", "0=0"]}, Labelling((0,), tables=(None, {7: 0, 0: 0})),
    ),
    "relabelled to a data set": (
        {"truth.relabel": ["1=bicycle", "2=0"], "labels": "cityscapes-train"},
        Labelling(tuple(range(19)), ROADS, GROUPS, frozenset({255}), tables=({1: 18, 2: 0}, None), unknown="wrong"),
    ),
    "colours": (
        {"palette": ["road=804080", "car,0,0,142", "sky=#0000ff", "a=b = 000000", " c , 255, 255 ,255"]},
        Labelling(
            (0, 1, 2, 3, 4), ("road", "car", "sky", "a=b", "c"), colours=(True, True),
            tables=({128 + 256 * 64 + 65536 * 128: 0, 65536 * 142: 1, 65536 * 255: 2, 0: 3, 0xFFFFFF: 4},) * 2,
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MEANT)
def test_what_options_mean(case: str) -> None:
    given, meant = MEANT[case]
    made = labelling(given)
    for name in Labelling.__dataclass_fields__:
        assert getattr(made, name) == getattr(meant, name), name


WHOLE = "Values of maps are whole."
COLOUR = ("option palette", "Example: road=804080.")
ENTRY = ("option relabel", "Example: 7=0, or 7=road.")
REFUSED: list[tuple[dict[str, Any], tuple[str, str, str]]] = [
    ({"classes": 2.5}, ("option classes: 2.5 is not a whole number", "", "Give as many as there are names.")),
    ({"classes": 3.0, "names": ["a", "b"]}, ("option classes: 3 does not match the 2 names", "", "Give as many as there are names.")),
    ({"ignore": (1.0, 1.5)}, ("option ignore: 1.5 is not a whole number", "", WHOLE)),
    ({"truth.shift": 0.25}, ("option shift: 0.25 is not a whole number", "", WHOLE)),
    ({"names": ["a", "b", "a"]}, ("two classes have one name", "option names", "Name each otherwise.")),
    *(({"palette": [line]}, (f"'{line}' is not a colour", *COLOUR)) for line in (
        "road=zz", "road", "road,1,2", "road,1,2,256", "road,-1,2,3", "road,1,x,3", "=804080", " ,1,2,3", "road=1000000",
        "road=", "road=-000001",
    )),
    (
        {"palette": ["road=804080", "kerb,128,64,128"]},
        ("'kerb,128,64,128': another class has this colour", "option palette", ""),
    ),
    (
        {"palette": ["road=804080", "kerb=000001", "road = 000002"]},
        ("'road = 000002': 'road' has another colour too", "option palette", "Give each class one."),
    ),
    ({"relabel": ["7=0", "07=1"]}, ("'07=1': value 7 means another class too", "option relabel", "Give it one.")),
    ({"relabel": ["7=0", "7=ignore"]}, ("'7=ignore': value 7 means another class too", "option relabel", "Give it one.")),
    *(({"relabel": [line]}, (f"'{line}' is not VALUE=CLASS", *ENTRY)) for line in ("7:2", "=2", "a=2", "-1=2", "7", "²=0", f"{10**300}=0")),
    (
        {"relabel": ["7=rod"], "names": ["road", "kerb"]},
        ("'7=rod': there is no class 'rod'", "option relabel", "Did you mean 'road'?"),
    ),
    (
        {"relabel": ["7=2"], "names": ["road", "kerb"]},
        ("'7=2': there is no class '2'", "option relabel", "Known: ignore, kerb, road."),
    ),
    ({"relabel": ["7=3"], "classes": 3.0}, ("'7=3': there is no class '3'", "option relabel", "Known: 0, 1, 2, ignore.")),
    ({"relabel": ["7=²"]}, ("'7=²': there is no class '²'", "option relabel", "Known: ignore.")),
    ({"relabel": ["7=x"]}, ("'7=x': there is no class 'x'", "option relabel", "Known: ignore.")),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), REFUSED, ids=[case[1][0] for case in REFUSED])
def test_what_is_refused(given: dict[str, Any], said: tuple[str, str, str]) -> None:
    assert refusal(labelling, given) == said


def test_classes_of_values() -> None:
    """Side 0 is the truth, side 1 the predictions: what is ignored is ignored in the truth alone."""
    named, open_ended = Labelling((0, 1), ignore=frozenset({255})), Labelling(ignore=frozenset({255}))
    values = np.array([0, 1, 2, 255], dtype=np.uint8)
    assert named.classes(values, 0).tolist() == [0, 1, UNKNOWN, IGNORED]
    assert named.classes(values, 1).tolist() == [0, 1, UNKNOWN, UNKNOWN]
    assert open_ended.classes(values, 0).tolist() == [0, 1, 2, IGNORED]
    assert open_ended.classes(values, 1).tolist() == [0, 1, 2, 255]
    moved = Labelling(shift=(-1, -2))
    assert moved.classes(values, 0).tolist() == [UNKNOWN, 0, 1, 254]
    assert moved.classes(values, 1).tolist() == [UNKNOWN, UNKNOWN, 0, 253]
    listed = Labelling((0,), shift=(-1, -1), tables=({1: 0, 2: IGNORED}, {1: 0, 2: IGNORED}))
    assert listed.classes(values, 0).tolist() == [UNKNOWN, 0, IGNORED, UNKNOWN]
    assert listed.classes(values, 1).tolist() == [UNKNOWN, 0, UNKNOWN, UNKNOWN]
