"""What a value of a map means: its class, nothing (ignored), or a value that no class has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.core.errors import Conflict, DuplicateKey, InvalidNumber, InvalidSetting, UnknownName, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.numerals import is_whole
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array
from steelyard.maps.scores import ScoreRules

IGNORED, UNKNOWN = -1, -2
SIDES = ("truth", "prediction")

# id, name, category of the classes that Cityscapes evaluates (cityscapesScripts, helpers/labels.py).
CITYSCAPES = (
    (7, "road", "flat"), (8, "sidewalk", "flat"), (11, "building", "construction"), (12, "wall", "construction"),
    (13, "fence", "construction"), (17, "pole", "object"), (19, "traffic light", "object"),
    (20, "traffic sign", "object"), (21, "vegetation", "nature"), (22, "terrain", "nature"), (23, "sky", "sky"),
    (24, "person", "human"), (25, "rider", "human"), (26, "car", "vehicle"), (27, "truck", "vehicle"),
    (28, "bus", "vehicle"), (31, "train", "vehicle"), (32, "motorcycle", "vehicle"), (33, "bicycle", "vehicle"),
)  # fmt: skip
VOC = (
    "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
PRESETS = ("none", "cityscapes", "cityscapes-train", "ade20k", "voc")

OPTIONS = (
    Option("names", "ids", "Class names from value 0 on: a list, or a file with one per line.",
           sides=False, column="name", metavar="FILE"),
    Option("classes", "number", "Number of classes from value 0 on, if they have no names.", minimum=0,
           sides=False, metavar="N"),
    Option("ignore", "numbers", "Values of the ground truth to ignore, such as 255.", sides=False, metavar="VALUES"),
    Option("shift", "number", "Number added to every value, such as -1; truth.shift and prediction.shift for one side.",
           metavar="NUMBER"),
    Option("reduce_zero", "choice", "Class k is stored as k + 1 and 0 is not a class: in the ground truth, or in both.",
           default="no", choices=("no", "truth", "both"), sides=False),
    Option("relabel", "ids", "Map values to classes, as VALUE=CLASS or VALUE=ignore: a list, or a file with one per "
           "line. Other values have no class.", column="entry", metavar="FILE"),
    Option("palette", "ids", "Colours of RGB maps, as NAME=RRGGBB or NAME,R,G,B: a list, or a file with one per line. "
           "The name ignore is for pixels to ignore.", column="entry", metavar="FILE"),
    Option("labels", "choice", "Use the classes and ignored values of a dataset.", default="none", choices=PRESETS,
           sides=False),
    Option("unknown", "choice", "Treat predicted values without a class as an error, or as wrong.", default="error",
           choices=("error", "wrong"), sides=False),
    Option("threshold", "number", "Score from which a pixel belongs to class 1, for one channel of predicted scores.",
           sides=False, reads=True, metavar="SCORE"),
    Option("suffix", "text", "Suffix of the file names, such as _labelIds; other files are skipped.",
           reads=True, metavar="TEXT"),
)  # fmt: skip


class Labelling(Frozen):
    """How values become classes.

    `ids` are the classes where they are declared, else None: then every value is one. `tables` say for each side which
    class a value means (None: the value plus the side's shift), `colours` whether its values are colours.
    """

    ids: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    ignore: frozenset[int] = frozenset()
    shift: tuple[int, int] = (0, 0)
    tables: tuple[Mapping[int, int] | None, Mapping[int, int] | None] = (None, None)
    colours: tuple[bool, bool] = (False, False)
    unknown: str = "error"

    def classes(self, values: Array, side: int) -> Array:
        """The class of each value, IGNORED or UNKNOWN."""
        return np.array([self.class_of(int(value), side) for value in values.tolist()], dtype=np.int64)

    def class_of(self, value: int, side: int) -> int:
        """The class of one value of a side: 0 for the truth, 1 for predictions."""
        if side == 0 and value in self.ignore:
            return IGNORED
        table = self.tables[side]
        label = value + self.shift[side] if table is None else table.get(value, UNKNOWN)
        if label < 0:
            return IGNORED if label == IGNORED and side == 0 and table is not None else UNKNOWN
        return label if self.ids is None or label in self.ids else UNKNOWN


def labelling_of(options: Options) -> Labelling:
    """What the options say; what contradicts itself is an error."""
    preset = _preset(options.of("labels"))
    names = _listed_values(options.of("names"))
    classes = options.of("classes")
    if classes is not None and (classes != int(classes) or (names and len(names) != classes)):
        what = f"does not match the {len(names)} names" if names else "is not a whole number"
        raise InvalidSetting(f"option classes: {classes:g} {what}", remedy="Give as many as there are names.")
    ids = preset.ids
    tables = list(preset.tables)
    if names or classes is not None:
        ids = tuple(range(len(names) or int(classes)))
    palettes, void = zip(*(_palette(options.of("palette", side)) for side in SIDES), strict=True)
    colours = (bool(palettes[0]), bool(palettes[1]))
    if any(colours):
        names = _coloured_names(palettes, names)
        ids = tuple(range(len(names)))
        for side, palette in enumerate(palettes):
            if palette:
                ignored = dict.fromkeys(void[side], IGNORED if side == 0 else UNKNOWN)
                tables[side] = ignored | {colour: names.index(name) for name, colour in palette.items()}
    names = names or preset.names
    if len(set(names)) < len(names):
        raise DuplicateKey("two classes have one name", where="option names", remedy="Name each otherwise.")
    for side, name in enumerate(SIDES):
        relabel = options.of("relabel", name)
        if relabel is not None:
            tables[side] = _relabel_table(_listed_values(relabel), ids, names, side)
    if ids is None and any(table is not None for table in tables):
        ids = tuple(sorted({label for table in tables if table for label in table.values() if label >= 0}))
    ignore = {_whole(value, "ignore") for value in options.of("ignore") or ()}
    if colours[0]:
        _refuse_class_numbers(ignore)
    else:
        ignore |= preset.ignore
    shift = [_whole(options.of("shift", side) or 0, "shift") or preset.shift[i] for i, side in enumerate(SIDES)]
    reduced = options.of("reduce_zero")
    if reduced != "no":
        ignore, shift = ignore | {0}, [shift[0] - 1, shift[1] - (reduced == "both")]
    return Labelling(
        ids, names, preset.groups, frozenset(ignore), (shift[0], shift[1]), (tables[0], tables[1]), colours,
        "wrong" if options.of("labels").startswith("cityscapes") else options.of("unknown"),
    )  # fmt: skip


def score_rules(options: Options) -> ScoreRules:
    """How predicted scores become classes: as many channels as the values of the declared classes need.

    More are allowed where the options say what other values mean.
    """
    labelling, threshold = labelling_of(options), options.of("threshold")
    if labelling.colours[1] or labelling.ids is None:
        return ScoreRules(threshold=threshold, colours=labelling.colours[1])
    table = labelling.tables[1]
    if table is None:
        least = most = max(labelling.ids, default=-1) - labelling.shift[1] + 1
    else:
        least, most = (1 + max(values, default=-1) for values in ((v for v in table if table[v] >= 0), table))
    return ScoreRules(least, None if labelling.unknown == "wrong" else most, threshold)


def _preset(name: str) -> Labelling:
    if name.startswith("cityscapes"):
        names = tuple(entry[1] for entry in CITYSCAPES)
        groups = {entry[1]: entry[2] for entry in CITYSCAPES}
        if name == "cityscapes-train":
            return Labelling(tuple(range(len(names))), names, groups, frozenset({255}))
        table = dict.fromkeys(range(34), IGNORED) | {entry[0]: i for i, entry in enumerate(CITYSCAPES)}
        return Labelling(tuple(range(len(names))), names, groups, tables=(table, table))
    if name == "ade20k":
        return Labelling(tuple(range(150)), ignore=frozenset({0}), shift=(-1, 0))
    if name == "voc":
        return Labelling(tuple(range(len(VOC))), VOC, ignore=frozenset({255}))
    return Labelling()


def _listed_values(records: Any) -> tuple[str, ...]:
    return () if records is None else tuple(str(value) for value in next(iter(records.columns.values())).tolist())


def _whole(value: float, name: str) -> int:
    if value != int(value):
        raise InvalidNumber(f"option {name}: {value:g} is not a whole number", remedy="Values of maps are whole.")
    return int(value)


def _refuse_class_numbers(ignore: set[int]) -> None:
    """Raise for numbers to ignore that no colour but a pure red has, where the truth has colours."""
    number = next((value for value in sorted(ignore) if 0 < value < 256), None)
    if number is not None:
        raise Conflict(
            f"option ignore: {number} is the colour #{number:02x}0000, since the truth has colours",
            where="option palette",
            remedy="Name the colours to ignore in the palette: ignore=RRGGBB.",
        )


def _palette(given: Any) -> tuple[dict[str, int], list[int]]:
    """Colours by name, each as a map of colours holds it, and those that are ignored; nothing without a palette."""
    colours: dict[str, int] = {}
    void: list[int] = []
    lines = _listed_values(given)
    if given is not None and not lines:
        raise InvalidSetting("no colour is given", where="option palette", remedy="Example: road=804080.")
    for line in lines:
        try:
            if "=" in line:
                name, _, text = line.rpartition("=")
                code = int(text.strip().removeprefix("#"), 16)
                rgb = [code >> 16, code >> 8 & 255, code & 255]
            else:
                name, *parts = (part.strip() for part in line.rsplit(",", 3))
                rgb = [int(part) for part in parts]
            if len(rgb) != 3 or not all(0 <= v <= 255 for v in rgb) or not name.strip():
                raise ValueError
        except ValueError:
            raise InvalidSetting(
                f"'{line}' is not a colour", where="option palette", remedy="Example: road=804080."
            ) from None
        value = rgb[0] + 256 * rgb[1] + 65536 * rgb[2]
        if value in colours.values() or value in void:
            raise DuplicateKey(f"'{line}': another class has this colour", where="option palette")
        if name.strip() == "ignore":
            void.append(value)
            continue
        if name.strip() in colours:
            raise DuplicateKey(
                f"'{line}': '{name.strip()}' has another colour too",
                where="option palette",
                remedy="Give each class one.",
            )
        colours[name.strip()] = value
    if void and not colours:
        raise InvalidSetting("no colour of a class is given", where="option palette", remedy="Example: road=804080.")
    return colours, void


def _coloured_names(palettes: Sequence[Mapping[str, int]], names: Sequence[str]) -> tuple[str, ...]:
    """The classes where maps are colours: those of the palettes, which agree where there are two.

    The values of a side without a palette are numbers of classes: of the names where they are given, else of the
    palette's lines.
    """
    first, second = (tuple(palette) for palette in palettes)
    if first and second:
        other = sorted(set(first) ^ set(second))
        if other:
            raise InvalidSetting(
                f"class '{other[0]}' has a colour on one side only",
                where="option palette",
                remedy="Name the same classes in truth.palette and prediction.palette.",
            )
        return first
    lines = first or second
    other = [name for name in lines if names and name not in names]
    if other:
        raise UnknownName(
            f"class '{other[0]}' is not among the names", where="option palette", remedy=nearest(other[0], names)
        )
    return tuple(names) or lines


def _relabel_table(
    lines: Sequence[str], ids: tuple[int, ...] | None, names: Sequence[str], side: int
) -> Mapping[int, int]:
    table: dict[int, int] = {}
    for line in lines:
        value, equals, label = (part.strip() for part in line.partition("="))
        if not equals or not is_whole(value):
            raise InvalidSetting(
                f"'{line}' is not VALUE=CLASS", where="option relabel", remedy="Example: 7=0, or 7=road."
            )
        if label == "ignore":
            meant = IGNORED if side == 0 else UNKNOWN
        elif label in names:
            meant = list(names).index(label)
        elif is_whole(label) and (ids is None or int(label) in ids):
            meant = int(label)
        else:
            targets = [*names, "ignore"] if names else [*map(str, ids or ()), "ignore"]
            raise UnknownName(
                f"'{line}': there is no class '{label}'", where="option relabel", remedy=nearest(label, targets)
            )
        if table.setdefault(int(value), meant) != meant:
            raise DuplicateKey(
                f"'{line}': value {int(value)} means another class too", where="option relabel", remedy="Give it one."
            )
    return table
