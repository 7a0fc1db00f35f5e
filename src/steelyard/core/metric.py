"""Metric: a value whose fields are its settings and whose text is its spec."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin

from steelyard.core.deprecated import Renamed, adopt_renamed
from steelyard.core.errors import InvalidSpec, InvalidValue
from steelyard.core.frozen import Frozen
from steelyard.core.spec import render_value
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Array, Floats

if TYPE_CHECKING:
    from steelyard.core.metadata import Metadata
    from steelyard.core.state import State


# What subclasses of other packages may define under the old name.
RENAMED = {
    "few": "small_sample",
    "parts": "proportions",
    "why": "undefined_reason",
    "left_out": "excluded",
    "needs": "requirements",
}


class Placements(Frozen):
    """What the interval of an area under a ROC curve rests on: how many positives and negatives there are, and the sum
    of squares of the placements of each around the area.

    A positive's placement is the share of negatives below it, a negative's the share of positives above it, ties half.
    `part` is the share that the negatives have of all that positives are compared with. `names` are those of one each.
    `values` are the placements of positives and of negatives in the order of the units, where each unit is one of them.
    """

    counts: tuple[int, int]
    squares: tuple[float, float]
    part: float = 1.0
    names: tuple[str, str] = ("positive", "negative")
    values: tuple[Floats, Floats] | None = dataclasses.field(default=None, repr=False, compare=False)


class UnitClasses(Frozen):
    """The true classes that units hold: entry k says that the unit at row `unit[k]` of a state holds `code[k]`.

    `names` are those of the classes; without any, 1 is the class that a score is of and 0 are all others. A unit of
    several rows may hold several classes.
    """

    unit: Array
    code: Array
    names: tuple[str, ...] = ()

    __eq__, __hash__ = object.__eq__, object.__hash__


BETTER = ("higher", "lower", "zero", "one", "none")


class Metric(Frozen, ABC):
    """Base of every metric. A subclass is a frozen dataclass without a decorator; its fields are its settings.

    The class says its facts: `name` (of the spec), `title`, `better` ("lower", "higher", "zero", "one" or "none"),
    `range` (the least and the greatest possible value; it has no default), `measured_in` (the unit of measure), `at`
    (the field behind `@` in the spec), `also_at` (a field that a spec may give behind `@`, though it is written by its
    name), `bare` (a field that a value without a name sets: `column(lpips)`), `aliases` (other names that a spec may
    use: case, spaces, hyphens and underscores do not count; an alias of two metrics is refused as ambiguous),
    `reference` (an implementation that the parity tests hold it against). Its docstring is the catalogue's text, in
    parts: see `Description`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    better: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]]
    measured_in: ClassVar[str] = ""
    at: ClassVar[str | None] = None
    also_at: ClassVar[str | None] = None
    bare: ClassVar[str | None] = None
    reference: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    class_axis: ClassVar[str] = "class"  # the axis that `class_scores` goes along
    signed_power: ClassVar[int] = 1  # 2 where `signed` is the square of the value
    class_variance: ClassVar[float] = 1.0  # of a pseudo-unit of a class, as a share of that of a score of 0 or 1
    small_sample: ClassVar[str] = ""  # "t": with few units, a jackknife interval with Student's t, and an exact p
    total: ClassVar[bool] = False  # whether it is a count over all units, which grows with the weights: no interval
    by_count: ClassVar[bool] = False  # whether it depends on how many units there are: a weight of 2 is two units
    chance: ClassVar[float | None] = None  # what guessing scores, where an interval at the best value stops
    reaches_best: ClassVar[bool] = True  # whether perfect predictions score the end of the range, whatever the data
    resampling: ClassVar[str] = (
        ""  # "linear" (value plus influences), "approximate" (those of a like value), or "halves"
    )
    among_units: ClassVar[bool] = False  # whether a unit's own value depends on the other units, and is not its alone
    of_pairs: ClassVar[bool] = False  # whether pairs of units count: a twin is one, so a weight of 2 is not two units
    members: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # of its `family`: names by setting and value

    few = Renamed("small_sample")
    parts = Renamed("proportions")
    why = Renamed("undefined_reason")
    left_out = Renamed("excluded")
    needs = Renamed("requirements")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        adopt_renamed(cls, Metric, RENAMED)
        _check_facts(cls)

    @abstractmethod
    def requirements(self) -> tuple[Requirement, ...]:
        """What a state must keep for it, and the curves that it reads. Nothing else can be read in the others."""

    @abstractmethod
    def reduce(self, *totals: Any, **none: Any) -> Floats:
        """The value for each row of weights, from totals; nan where undefined."""

    def proportions(self, *totals: Any, **none: Any) -> tuple[Floats, Floats] | None:
        """For a plain mean of one proportion or more (of classes, say): the numerators and the denominators.

        Both have the shape (rows, proportions). A proportion whose denominator is 0 is not in the mean. The interval is
        then computed from the proportions.
        """
        return None

    def class_scores(self, *totals: Any, **none: Any) -> Floats | None:
        """For a plain mean over classes: the score of each, (rows, classes); nan where a class is not in the mean.

        The interval is then made from the classes' own, where the range is finite and there are two classes or more.
        """
        return None

    def class_truth(self, state: State) -> Array | None:
        """Whether the truth has each class of `class_scores`; None where that is whether the class has a score."""
        return None

    def signed(self, *totals: Any, **none: Any) -> Floats | None:
        """For a debiased value, or its square: what it is for each row of weights before it is cut at 0."""
        return None

    def part_units(self, state: State) -> Floats | None:
        """How many units, or clusters, each part or class rests on; None where each unit must be looked at.

        Parts of many classes need it: units x classes is never held.
        """
        return None

    def no_interval_of(self, state: State) -> str:
        """Why the value has no interval, though differences may have one; empty where it has."""
        return ""

    def halves(self, state: State) -> Floats | None:
        """With `resampling` "halves": the value in both halves of random splits, (splits, 2); None where units are few.

        Models that share units share their splits.
        """
        return None

    def placements(self, state: State) -> Placements | None:
        """For an area under a ROC curve: the placements, so that the interval rests on how many positives and negatives
        there are. None where units hold both.
        """
        return None

    def unit_classes(self, state: State) -> UnitClasses | None:
        """For a score that rests on how many units each class has (an MCC, say): the true classes of the units.

        The degrees of freedom of its interval are then Welch's, class by class.
        """
        return None

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Metrics of this class that stand for it in the catalogue and in the law tests."""
        return (cls(),)

    @property
    def label(self) -> str:
        """What a table calls it."""
        return self.title

    def label_for(self, metadata: Metadata) -> str:
        """What a table calls it for data with these metadata."""
        return self.label

    def unit_of_measure(self, *facts: Any, **none: Any) -> str:
        """The unit of measure for data with these metadata, where it depends on them."""
        return self.measured_in

    def undefined_reason(self, *totals: Any, **none: Any) -> str:
        """Why the value of the plain score is nan."""
        return self.documented_reason()

    def excluded(self, *totals: Any, **none: Any) -> tuple[float, str]:
        """How much the metric excludes, and what that is; from totals that count units."""
        return 0, ""

    def notes(self, *totals: Any, **none: Any) -> tuple[str, ...]:
        """What a reader must know to read the number rightly; from totals that count units."""
        return ()

    def documented_reason(self) -> str:
        """What the docstring says of an undefined value."""
        return describe(type(self)).undefined.removeprefix("when ").rstrip(".")

    def check(self) -> None:
        """Raise InputError where settings do not fit together. What one setting may be is said by its annotation."""

    def check_settings(self) -> None:
        """Raise InputError where a setting is not what its annotation allows, or where settings do not fit together."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not field.default and value != field.default:
                _check_setting(self, field, value)
        self.check()

    def expand(self, *facts: Any, **none: Any) -> tuple[Metric, ...]:
        """The metrics that this one stands for, where they depend on the data: one for each class, say."""
        return (self,)

    def __str__(self) -> str:
        text = self.name
        parts = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == self.at:
                text += "" if value is None else f"@{render_value(value)}"
            elif isinstance(value, Metric):
                parts.append(str(value))
            elif value != field.default:
                parts.append(f"{spec_name(field)}={render_value(value)}")
        return f"{text}({', '.join(parts)})" if parts else text


def family(base: type[Metric], setting: str, text: str, **rows: Mapping[str, Any]) -> tuple[type[Metric], ...]:
    """A metric class for each value of a setting of `base`, which a spec may write as `wer(part=s)` or as `wer_s`.

    A row holds what is different about the member: its `name`, its `title`, other facts of the class, and the words of
    its docstring. `text` is the docstring of all members, with `{word}` for the words of a row. `base` reads the
    setting as a class variable. The classes are attributes of `base` under their names.
    """
    base.members = {setting: {value: row["name"] for value, row in rows.items()}}
    for value, row in rows.items():
        doc = text
        for word, said in row.items():
            doc = doc.replace(f"{{{word}}}", str(said))
        place = {"__module__": base.__module__, "__qualname__": f"{base.__qualname__}.{row['name']}", "__doc__": doc}
        setattr(base, row["name"], type(row["name"], (base,), {**place, setting: value, **row}))
    return tuple(getattr(base, row["name"]) for row in rows.values())


def _check_facts(cls: type[Metric]) -> None:
    """Raise where a class that has a name declares no range, or no valid direction: verdicts depend on them."""
    if not hasattr(cls, "name"):
        return
    if not isinstance(cls.better, property) and cls.better not in BETTER:
        raise InvalidValue(
            f"metric class '{cls.__name__}': better = {cls.better!r} is not a valid choice",
            remedy=f"Choose {', '.join(BETTER)}.",
        )
    if isinstance(getattr(cls, "range", None), property):
        return
    example = "Add `range = (0, 1)` for a share, or `range = (0, float('inf'))` for an error without an upper end."
    if not hasattr(cls, "range"):
        raise InvalidValue(f"metric class '{cls.__name__}' declares no range", remedy=example)
    ends = cls.range
    numbers = isinstance(ends, tuple) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends)
    if not numbers or not ends[0] < ends[1]:
        raise InvalidValue(f"metric class '{cls.__name__}': {ends!r} is not a range", remedy=example)


def spec_name(field: dataclasses.Field[Any]) -> str:
    """What a spec calls a setting: the field's name, or `spec` in its metadata where a Metric has that name already."""
    return str(field.metadata.get("spec", field.name))


def spec_aliases(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """Other names that a spec may use for a setting: `aliases` in the field's metadata."""
    return tuple(field.metadata.get("aliases", ()))


class Description(Frozen):
    """The parts of a metric's docstring."""

    summary: str
    formula: str
    meaning: str
    undefined: str
    pros: tuple[str, ...]
    cons: tuple[str, ...]


def describe(cls: type[Metric]) -> Description:
    """Take a metric's docstring apart.

    The first paragraph is the summary; a paragraph between dollar signs the formula; "Undefined when ..." says when
    there is no number; lists under "Pros:" and "Cons:" are what the metric is good and bad at; the rest is meaning.
    """
    text = re.sub(r"(?m)^ {4,8}", "", cls.__doc__ or "").strip()
    summary, formula, undefined = "", "", ""
    meaning: list[str] = []
    lists: dict[str, list[str]] = {"Pros:": [], "Cons:": []}
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.strip().splitlines()
        flat = " ".join(line.strip() for line in lines)
        if lines and lines[0] in lists:
            items = " ".join(line.strip() for line in lines[1:])
            lists[lines[0]] += [item.strip() for item in re.split(r"(?:^|\s)- ", items) if item.strip()]
        elif flat.startswith(">>>"):
            continue
        elif not summary:
            summary = flat
        elif flat.startswith("$") and flat.endswith("$"):
            formula = f"{formula} {flat.strip('$')}".strip()
        elif flat.startswith("Undefined "):
            undefined = flat.removeprefix("Undefined ")
        else:
            meaning.append(flat)
    return Description(summary, formula, "\n\n".join(meaning), undefined, tuple(lists["Pros:"]), tuple(lists["Cons:"]))


class Between(Frozen):
    """What a number may be, in the annotation of a setting: `Annotated[float, Between(0, 1)]`.

    Both ends are allowed; with `open_low` the lower one is not, with `open_high` the upper one is not. With `whole` it
    must be an `int`.
    """

    low: float
    high: float = float("inf")
    open_low: bool = False
    whole: bool = False
    open_high: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int if self.whole else int | float) or isinstance(value, bool):
            return False
        ends = (self.open_low and value == self.low) or (self.open_high and value == self.high)
        return self.low <= value <= self.high and not ends

    def __str__(self) -> str:
        low, high = (f"{end:{'' if self.whole else 'g'}}" for end in (self.low, self.high))
        start = f"a {'whole ' if self.whole else ''}number {'above' if self.open_low else 'from'} {low}"
        if self.high == float("inf"):
            return start if self.open_low else f"{start} up"
        to = "and less than" if self.open_high else "and at most" if self.open_low else "to"
        return f"{start} {to} {high}"


def _check_setting(metric: Metric, field: dataclasses.Field[Any], value: Any) -> None:
    """Raise where the annotation of a setting says what it may be, and the value is not that."""
    allowed = _allowed_values(type(metric), field.name)
    if allowed is None or any(value in part for part in allowed):
        return
    values, *ranges = allowed
    named = ", ".join(render_value(one) for one in values if one is not None or not ranges)
    if not ranges:
        remedy = f"Choose one of: {named}."
    else:
        remedy = f"It must be {' or '.join(map(str, ranges))}{f', or one of: {named}' if named else ''}."
    raise InvalidSpec(f"metric '{metric.name}': {field.name} cannot be {render_value(value)}", remedy=remedy)


@functools.cache
def _allowed_values(cls: type[Metric], name: str) -> tuple[Any, ...] | None:
    """The values and the ranges that a setting may have; None where nothing is said.

    A class that only changes the default of a setting keeps what its base says.
    """
    for base in cls.__mro__:
        if name in getattr(base, "__annotations__", ()):
            allowed = _annotated_values(_resolve_annotation(base, name))
            if allowed is not None:
                return allowed
    return None


def _annotated_values(hint: Any) -> tuple[Any, ...] | None:
    """The values that an annotation lists, then its ranges; None where a part of it allows more."""
    values: list[Any] = []
    ranges: list[Between] = []
    for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        choice = next((one for one in getattr(part, "__metadata__", ()) if _says(one)), part)
        if choice is NoneType:
            values.append(None)
        elif choice is bool:
            values += (True, False)
        elif isinstance(choice, Between):
            ranges.append(choice)
        elif get_origin(choice) is Literal:
            values += get_args(choice)
        else:
            return None
    return (tuple(values), *ranges)


def _says(part: Any) -> bool:
    """Whether a part of an annotation says what a setting may be."""
    return isinstance(part, Between) or get_origin(part) is Literal


def _resolve_annotation(cls: type, name: str) -> Any:
    """The annotation of a field, read when it is first needed; None where it names what only type checkers import."""
    text = cls.__annotations__[name]
    if not isinstance(text, str):
        return text
    try:
        return eval(text, vars(sys.modules[cls.__module__]))
    except NameError:
        return None


def one_of(metric: Metric, field: str, *allowed: Any) -> None:
    """Check that a setting has one of the allowed values."""
    value = getattr(metric, field)
    if value not in allowed:
        choices = ", ".join(render_value(a) for a in allowed)
        raise InvalidSpec(
            f"metric '{metric.name}': {field} cannot be {render_value(value)}",
            remedy=f"Choose one of: {choices}.",
        )


def within_range(metric: Metric, field: str, low: float, high: float, *, open_low: bool = False) -> None:
    """Check that a setting is a number between two ends."""
    value = getattr(metric, field)
    allowed = Between(low, high, open_low)
    if value not in allowed:
        raise InvalidSpec(
            f"metric '{metric.name}': {field} cannot be {render_value(value)}", remedy=f"It must be {allowed}."
        )
