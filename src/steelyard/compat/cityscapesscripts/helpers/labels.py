"""`cityscapesscripts.helpers.labels`: the labels of Cityscapes."""

from __future__ import annotations

from typing import NamedTuple


class Label(NamedTuple):
    """A class: its value in labelIds images, its value in training, its category and how it is evaluated."""

    name: str
    id: int
    trainId: int
    category: str
    categoryId: int
    hasInstances: bool
    ignoreInEval: bool
    color: tuple[int, int, int]


_CATEGORIES = ("void", "flat", "construction", "object", "nature", "sky", "human", "vehicle")
_THINGS = range(24, 34)
# id, number of its category, colour and name; a class that is not evaluated has a minus in front of its name.
_TABLE = """
 0 0 000000 -unlabeled
 1 0 000000 -ego vehicle
 2 0 000000 -rectification border
 3 0 000000 -out of roi
 4 0 000000 -static
 5 0 6f4a00 -dynamic
 6 0 510051 -ground
 7 1 804080 road
 8 1 f423e8 sidewalk
 9 1 faaaa0 -parking
10 1 e6968c -rail track
11 2 464646 building
12 2 66669c wall
13 2 be9999 fence
14 2 b4a5b4 -guard rail
15 2 966464 -bridge
16 2 96785a -tunnel
17 3 999999 pole
18 3 999999 -polegroup
19 3 faaa1e traffic light
20 3 dcdc00 traffic sign
21 4 6b8e23 vegetation
22 4 98fb98 terrain
23 5 4682b4 sky
24 6 dc143c person
25 6 ff0000 rider
26 7 00008e car
27 7 000046 truck
28 7 003c64 bus
29 7 00005a -caravan
30 7 00006e -trailer
31 7 005064 train
32 7 0000e6 motorcycle
33 7 770b20 bicycle
-1 7 00008e -license plate
"""


def _read_labels() -> list[Label]:
    rows: list[Label] = []
    train = 0
    for line in _TABLE.strip().splitlines():
        number, category, color, name = line.split(maxsplit=3)
        ignored = name.startswith("-")
        unused = -1 if number == "-1" else 255
        red, green, blue = bytes.fromhex(color)
        rows.append(
            Label(
                name.lstrip("-"),
                int(number),
                unused if ignored else train,
                _CATEGORIES[int(category)],
                int(category),
                int(number) in _THINGS,
                ignored,
                (red, green, blue),
            )
        )
        train += not ignored
    return rows


labels = _read_labels()
name2label = {label.name: label for label in labels}
id2label = {label.id: label for label in labels}
trainId2label = {label.trainId: label for label in reversed(labels)}  # noqa: N816
category2labels: dict[str, list[Label]] = {}
for label in labels:
    category2labels.setdefault(label.category, []).append(label)
category = labels[-1].category


def assureSingleInstanceName(name: str) -> str | None:
    """The name of a label, also for a group of its instances such as 'cargroup'; None for other names."""
    if name in name2label:
        return name
    single = name2label.get(name.removesuffix("group"))
    return single.name if single is not None and single.hasInstances else None
