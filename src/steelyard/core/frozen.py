"""`@frozen`: what `@dataclass(frozen=True)` gives, at a small part of its price at import.

`dataclasses` writes and compiles six methods for each class as it is defined: a millisecond, each time Python starts,
for dozens of classes of which most are never used. Here five of the six are the same functions for all classes, fields
are read when they are first asked for, and `__init__` is compiled once a class has some instances. `fields`, `replace`,
`asdict` and `is_dataclass` work as ever.
The losses keep plain dataclasses: `torch.compile` reads through those, and not through these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: C) -> C:
    """Make a class of annotated fields whose instances cannot be changed, and are equal if their fields are."""
    own, made = cls.__dict__, cast(Any, cls)
    defaults = [own.get(name) for name in made.__annotations__]
    if any(isinstance(value, dataclasses.Field) or value.__class__.__hash__ is None for value in defaults):
        _read_fields(made)  # their defaults take their places, and one that would be shared is refused
    else:
        for name in _READ:
            setattr(made, name, _Later(made, name))
    made.__init__ = _first_init(made)
    made.__signature__ = _SIGNATURE
    made.__setattr__ = _refuse_change
    made.__delattr__ = _refuse_change
    if "__repr__" not in own:
        made.__repr__ = _repr
    if "__eq__" not in own:
        made.__eq__ = _equal
        if "__hash__" not in own or own["__hash__"] is None:
            made.__hash__ = _hash
    return made  # type: ignore[no-any-return]


_READ = ("__dataclass_fields__", "__dataclass_params__", "__compared__")


def _read_fields(cls: Any) -> None:
    """Let `dataclasses` read the fields, and nothing else."""
    text = cls.__doc__
    dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
    cls.__doc__ = text  # dataclasses write a signature where there is none
    cls.__compared__ = tuple(field.name for field in dataclasses.fields(cls) if field.compare)


class _Later:
    """What is known of a class once its fields are read: they are read when it is first asked for."""

    def __init__(self, cls: Any, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: Any, cls: Any) -> Any:
        _read_fields(self.cls)
        return self.cls.__dict__[self.name]


_MISSING = dataclasses.MISSING
_FEW = 40  # instances: as long as they take here, compiling takes


def _first_init(cls: type) -> Callable[..., None]:
    """An `__init__` that needs no compiling. It gives way to the real one after some instances."""
    parts: dict[str, tuple[Any, Any]] = {}
    left = _FEW

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        nonlocal left, parts
        left, parts = left - 1, parts or _parts(cls)
        if left < 0 or not _fill(self, parts, values, named):
            made = _compiled_init(cls)
            cls.__init__ = made  # type: ignore[misc]
            made(self, *values, **named)
        elif hasattr(self, "__post_init__"):
            self.__post_init__()

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _parts(cls: type) -> dict[str, tuple[Any, Any]]:
    """The default of each field, and what makes one; as `dataclasses` read them, and without their price."""
    parts: dict[str, tuple[Any, Any]] = {}
    for base in reversed(cls.__mro__):
        known = base.__dict__.get("__dataclass_fields__")
        if isinstance(known, _Later):
            own = {name: base.__dict__.get(name, _MISSING) for name, kind in base.__annotations__.items()
                   if "ClassVar" not in str(kind)}  # fmt: skip
            parts |= {name: (default, _MISSING) for name, default in own.items()}
        elif known is not None:
            parts |= {field.name: (field.default, field.default_factory) for field in dataclasses.fields(base)}
    return parts


def _fill(value: Any, parts: dict[str, tuple[Any, Any]], values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Give each field its value, unless the arguments do not fit."""
    names = list(parts)
    rest = names[len(values) :]
    if len(values) > len(names) or not named.keys() <= set(rest):
        return False
    filled = dict(zip(names, values, strict=False)) | named
    for name in rest:
        default, make = parts[name]
        if name in filled:
            continue
        if default is _MISSING and make is _MISSING:
            return False
        filled[name] = make() if default is _MISSING else default
    for name in names:
        object.__setattr__(value, name, filled[name])
    return True


class _FieldsAsSignature:
    """What `inspect.signature` and `help` show of a class: its fields. Made when asked for, which few programs do."""

    def __get__(self, instance: Any, cls: Any) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        parameters = []
        for field in dataclasses.fields(cls):
            default: Any = Parameter.empty
            if field.default is not _MISSING:
                default = field.default
            elif field.default_factory is not _MISSING:
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
        if field.default is not _MISSING:
            given[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not _MISSING:
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
