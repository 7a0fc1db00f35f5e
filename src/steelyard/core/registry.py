"""What other packages bring: tasks and formats, named in their entry points.

Built-in things stand in static tables. Entry points are read for a name that no table has, or to list all names, so a
program that asks for none of them starts as fast as without. What a package brings is imported when it is asked for,
and what is wrong with it is one message that names the package.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from steelyard.core.errors import DuplicateKey, InvalidValue

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
TASKS, FORMATS = "steelyard.tasks", "steelyard.formats"


@cache
def plugins(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name; more than one where packages claim the same name."""
    from importlib.metadata import entry_points  # takes longer than all of this package, and few programs need it

    named: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        listed = named.setdefault(point.name, [])
        if all((point.value, package(point)) != (other.value, package(other)) for other in listed):
            listed.append(point)
    return {name: tuple(points) for name, points in sorted(named.items())}


def package(point: EntryPoint) -> str:
    """The package that an entry point is of, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"


def load(group: str, name: str, type_: type[T], what: str) -> T:
    """What a package brings under a name; `what` says what it should be, such as "task"."""
    points = plugins(group)[name]
    if len(points) > 1:
        packages = " and ".join(package(point) for point in points)
        raise DuplicateKey(f"{what} '{name}' is claimed by {packages}", remedy="Remove one of them.")
    (point,) = points
    try:
        thing = point.load()
    except Exception as error:  # whatever a foreign module raises when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise InvalidValue(
            f"{what} '{name}' of {package(point)} cannot be loaded from '{point.value}': {reason}",
            remedy="Update or remove the package.",
        ) from error
    if not isinstance(thing, type_):
        raise InvalidValue(
            f"{what} '{name}' of {package(point)}: '{point.value}' is {type(thing).__name__}, not {type_.__name__}",
            remedy="Update or remove the package.",
        )
    if getattr(thing, "name", name) != name:
        raise InvalidValue(
            f"{what} '{name}' of {package(point)} calls itself '{thing.name}'",  # type: ignore[attr-defined]
            remedy="The name of the entry point must be its own.",
        )
    return thing


def hidden_names(group: str, taken: Collection[str], what: str) -> tuple[str, ...]:
    """A sentence for each thing that is left out, because a built-in one has its name."""
    return tuple(
        f"{what} '{name}' of {package(point)} is left out: Steelyard has a {what} of that name."
        for name, points in plugins(group).items()
        if name in taken
        for point in points
    )
