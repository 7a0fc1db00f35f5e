"""Details: what lies behind the numbers of a result. They are lazy (computed on request), stored, or absent.

Two results are equal whatever their details. Pickle and `detach()` drop lazy details; `with_details()` stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from os import PathLike
from typing import Any, ClassVar

from numpy.typing import NDArray

from steelyard.core.errors import nearest
from steelyard.core.figure import Figure, Listing
from steelyard.core.framed import Framed
from steelyard.core.frozen import Frozen
from steelyard.core.gallery import Gallery
from steelyard.core.metric import Description
from steelyard.core.table import Table
from steelyard.results.registry import load
from steelyard.results.same import equal, units_repr
from steelyard.results.score import Difference


class UnitTable(Frozen, Framed):
    """Every metric for each unit alone; nan where a unit has none."""

    unit: str
    units: NDArray[Any]
    values: Mapping[str, NDArray[Any]]

    __eq__ = equal
    __repr__ = units_repr

    def to_frame(self) -> Any:
        """A column of the units' names, and one per metric."""
        return load("steelyard.render.frames:units_frame")(self)

    def _repr_html_(self) -> str:
        return str(load("steelyard.render.notebook:units_html")(self))

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write it, one row per unit."""
        from steelyard.io.write import sheet_text, write_text  # most programs write nothing

        rows = zip(self.units.tolist(), *(column.tolist() for column in self.values.values()), strict=True)
        write_text(path, sheet_text([self.unit, *self.values], rows))


LACKING = (
    "this result holds {}: it was read from a file, pickled or detached without them. Call with_details() before, or "
    "write the result with `details=True`"
)


class Turn(Frozen):
    """One question of a conversation, and the reply or the error."""

    ask: str
    reply: str
    error: str = ""


class Heard(Frozen):
    """What a model said of a frame: the reading in words, how far it is off, and the conversation."""

    model: str
    prompt: str
    answer: str
    off: str
    problem: str
    turns: tuple[Turn, ...]


class Example(Frozen):
    """A frame that is worth a look: its true weight in words, a small picture as a data address, what was said."""

    title: str
    truth: str
    picture: str
    width: int
    height: int
    heard: tuple[Heard, ...]


class DetailsData(Frozen):
    """All that a page shows beside the numbers, as data. `parts` are the details of the results inside this one."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    units: UnitTable | None = None
    units_b: UnitTable | None = None
    rows: Listing | None = None
    classes: Mapping[str, Difference] = field(default_factory=dict)
    definitions: Mapping[str, Description] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    gallery: Gallery | None = None
    parts: tuple[DetailsData | None, ...] = ()

    __eq__ = equal


class Details:
    """What lies behind a result. The base class holds nothing; subclasses return what they have."""

    lazy: ClassVar[bool] = False  # whether it holds data, which neither pickle nor detach keep

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return ()

    @property
    def long_tables(self) -> tuple[str, ...]:
        """Names of tables with a row for each object or point, which pages do not show."""
        return ()

    def table(self, name: str) -> Table:
        """A table by name, also a long one."""
        raise KeyError(name)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures."""
        return ()

    def figure(self, name: str) -> Figure:
        """A figure by name."""
        raise KeyError(name)

    def units(self) -> UnitTable | None:
        """Every metric for each unit alone, of a report or of a comparison's A."""
        return None

    def units_b(self) -> UnitTable | None:
        """Every metric for each unit alone, of a comparison's B."""
        return None

    def listing(self) -> Listing | None:
        """The rows that a reader may look through."""
        return None

    def classes(self) -> Mapping[str, Difference]:
        """The differences of a comparison class by class."""
        return {}

    def definitions(self) -> Mapping[str, Description]:
        """What the metrics mean, by spec."""
        return {}

    def examples(self, images: str | PathLike[str] | None = None) -> tuple[Example, ...]:
        """Frames that are worth a look, of the score of a VLM; `images` is the folder of their pictures."""
        return ()

    def gallery(self) -> Gallery | None:
        """Units that are worth a look, with what is drawn over their images, where the task draws."""
        return None

    def data(self) -> DetailsData:
        """All of it as data."""
        return DetailsData(
            tuple(self.table(name) for name in self.tables),
            tuple(self.figure(name) for name in self.figures),
            self.units(),
            self.units_b(),
            self.listing(),
            self.classes(),
            self.definitions(),
            self.examples(),
            self.gallery(),
        )


NONE = Details()


class StoredDetails(Frozen, Details):
    """Details that were stored as data, or read from a file."""

    kept: DetailsData

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(table.name for table in self.kept.tables)

    def table(self, name: str) -> Table:
        return next(table for table in self.kept.tables if table.name == name)

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(figure.name for figure in self.kept.figures)

    def figure(self, name: str) -> Figure:
        return next(figure for figure in self.kept.figures if figure.name == name)

    def units(self) -> UnitTable | None:
        return self.kept.units

    def units_b(self) -> UnitTable | None:
        return self.kept.units_b

    def listing(self) -> Listing | None:
        return self.kept.rows

    def classes(self) -> Mapping[str, Difference]:
        return self.kept.classes

    def definitions(self) -> Mapping[str, Description]:
        return self.kept.definitions

    def examples(self, images: str | PathLike[str] | None = None) -> tuple[Example, ...]:
        return self.kept.examples

    def gallery(self) -> Gallery | None:
        return self.kept.gallery


def check_name(name: str, names: tuple[str, ...], what: str) -> str:
    """The name, where it is known; else a KeyError that says the nearest, or what to do where there is none."""
    if name not in names:
        remedy = nearest(name, names) if names else f"{LACKING.format(f'no {what}s')}, where the task has them."
        raise KeyError(f"'{name}' is not a {what} of this result. {remedy}")
    return name
