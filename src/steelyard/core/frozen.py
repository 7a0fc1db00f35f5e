"""`@frozen`: what `@dataclass(frozen=True)` gives, at a small part of its price at import.

`dataclasses` writes and compiles six methods for each class as it is defined: a millisecond, each time Python starts,
for dozens of classes of which most are never used. Here five of the six are the same functions for all classes, and
`__init__` is compiled when the first instance is made. `fields`, `replace`, `asdict` and `is_dataclass` work as ever.
The losses keep plain dataclasses: `torch.compile` reads through those, and not through these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: C) -> C:
    """Make a class of annotated fields whose instances cannot be changed, and are equal if their fields are."""
    own, text = cls.__dict__, cls.__doc__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
    made.__doc__ = text  # dataclasses write a signature where there is none
    made.__init__ = _first_init(made)
    made.__signature__ = _SIGNATURE
    made.__compared__ = tuple(field.name for field in dataclasses.fields(made) if field.compare)
    made.__setattr__ = _refuse_change
    made.__delattr__ = _refuse_change
    if "__repr__" not in own:
        made.__repr__ = _repr
    if "__eq__" not in own:
        made.__eq__ = _equal
        if "__hash__" not in own or own["__hash__"] is None:
            made.__hash__ = _hash
    return made  # type: ignore[no-any-return]


def _first_init(cls: type) -> Callable[..., None]:
    """An `__init__` that puts the real one into its place, and calls it."""

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        made = _compiled_init(cls)
        cls.__init__ = made  # type: ignore[misc]
        made(self, *values, **named)

    return __init__


class _FieldsAsSignature:
    """What `inspect.signature` and `help` show of a class: its fields. Made when asked for, which few programs do."""

    def __get__(self, instance: Any, cls: Any) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        parameters = []
        for field in dataclasses.fields(cls):
            default: Any = Parameter.empty
            if field.default is not dataclasses.MISSING:
                default = field.default
            elif field.default_factory is not dataclasses.MISSING:
                default = _MadeBy(field.default_factory)
            parameters.append(
                Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=field.type)
            )
        return Signature(parameters, return_annotation=None)


class _MadeBy:
    """A default that is made for each instance, as it is shown."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.text = f"{make.__name__}()" if hasattr(make, "__name__") else "..."

    def __repr__(self) -> str:
        return self.text


_SIGNATURE = _FieldsAsSignature()


def _compiled_init(cls: Any) -> Callable[..., None]:
    given: dict[str, Any] = {"_absent": object(), "_hold": object.__setattr__}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(cls):
        name = field.name
        lines.append(f"_hold(self, {name!r}, {name})")
        if field.default is not dataclasses.MISSING:
            given[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            given[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_absent")
            lines[-1] = f"_hold(self, {name!r}, _make_{name}() if {name} is _absent else {name})"
        else:
            parameters.append(name)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines or ["pass"])
    exec(source, given)
    made: Callable[..., None] = given["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _compared(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in value.__compared__)


def _equal(self: Any, other: object) -> Any:
    if other is self:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_change(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"'{name}' of {type(self).__name__} cannot be changed")
