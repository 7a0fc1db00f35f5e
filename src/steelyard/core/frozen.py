"""`Frozen` and `@frozen`: what `@dataclass(frozen=True)` gives, at a small part of its price at import.

A subclass of `Frozen` needs no decorator; `@frozen` is for a class that cannot have this base.

`dataclasses` writes and compiles six methods for each class as it is defined: a millisecond for each of dozens of
classes every time Python starts. Here the methods are the same functions for all classes, and the fields of a class
are read when they are first needed. `dataclasses.fields`, `replace`, `asdict` and `is_dataclass` work as ever.
The losses keep plain dataclasses: `torch.compile` can trace those, and not these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

C = TypeVar("C", bound=type)
_MISSING = dataclasses.MISSING


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: C) -> C:
    """Make a class of annotated fields whose instances cannot be changed, and are equal if their fields are."""
    own, changed = cls.__dict__, cast(Any, cls)
    if "__fields_plan__" in own:  # a subclass of `Frozen` that is decorated too
        return cls
    defaults = [own.get(name) for name in changed.__annotations__]
    if any(isinstance(value, dataclasses.Field) or value.__class__.__hash__ is None for value in defaults):
        _read_fields(changed)  # replaces each `field(...)` by its default, and refuses a mutable default
    else:
        for name in _READ:
            setattr(changed, name, _ReadOnDemand(changed, name))
    changed.__fields_plan__ = _PlanOnDemand(changed)
    changed.__init__ = _init_of(changed)
    changed.__signature__ = _SIGNATURE
    changed.__setattr__ = _refuse_change
    changed.__delattr__ = _refuse_change
    if "__repr__" not in own:
        changed.__repr__ = _repr
    if "__eq__" not in own:
        changed.__eq__ = _equal
        if "__hash__" not in own or own["__hash__"] is None:
            changed.__hash__ = _hash
    return changed  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Frozen:
    """A base whose subclasses are frozen without a decorator, unless they have an `__init__` of their own."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "__init__" not in cls.__dict__:
            frozen(cls)


_READ = ("__dataclass_fields__", "__dataclass_params__")


def _read_fields(cls: Any) -> None:
    """Let `dataclasses` read the fields, and write no method."""
    text = cls.__doc__
    dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
    cls.__doc__ = text  # dataclasses write a signature where there is none


class _ReadOnDemand:
    """Stands for an attribute that `dataclasses` sets, until it is first asked for."""

    def __init__(self, cls: Any, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: Any, cls: Any) -> Any:
        _read_fields(self.cls)
        return self.cls.__dict__[self.name]


class _Plan:
    """What `__init__`, `==` and `hash` need to know about the fields of a class."""

    def __init__(self, cls: type) -> None:
        self.defaults: dict[str, Any] = {}
        self.factories: dict[str, Callable[[], Any]] = {}
        compared: dict[str, bool] = {}
        for base in reversed(cls.__mro__):
            for name, default, factory, is_compared in _own_fields(base):
                compared[name] = is_compared
                self.defaults[name] = default
                self.factories.pop(name, None)
                if factory is not _MISSING:
                    self.factories[name] = factory
        self.places = {name: place for place, name in enumerate(compared)}
        self.compared = tuple(name for name, is_compared in compared.items() if is_compared)
        self.has_post_init = hasattr(cls, "__post_init__")

    def fill(self, held: dict[str, Any]) -> None:
        """Give a default to each field that has no value yet."""
        for name, default in self.defaults.items():
            if name not in held:
                if default is not _MISSING:
                    held[name] = default
                elif name in self.factories:
                    held[name] = self.factories[name]()


def _own_fields(cls: type) -> list[tuple[str, Any, Any, bool]]:
    """Name, default, factory and whether it is compared, of each field; without the price of `dataclasses`."""
    read = cls.__dict__.get("__dataclass_fields__")
    if isinstance(read, _ReadOnDemand):
        own = {name: kind for name, kind in cls.__annotations__.items() if "ClassVar" not in str(kind)}
        return [(name, cls.__dict__.get(name, _MISSING), _MISSING, True) for name in own]
    fields = dataclasses.fields(cls) if read is not None else ()
    return [(field.name, field.default, field.default_factory, field.compare) for field in fields]


class _PlanOnDemand:
    """Makes the plan of a class when it is first asked for, and stores it in its place."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def __get__(self, instance: Any, cls: Any) -> _Plan:
        self.cls.__fields_plan__ = plan = _Plan(self.cls)
        return plan


def _init_of(cls: Any) -> Callable[..., None]:
    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        plan: _Plan = cls.__fields_plan__
        places, held = plan.places, self.__dict__
        held.update(zip(places, values, strict=False))
        for name in named:
            if places.get(name, -1) < len(values):
                raise _wrong_arguments(cls, values, named)
        held.update(named)
        if len(held) < len(places):
            plan.fill(held)
        if len(held) < len(places) or len(values) > len(places):
            raise _wrong_arguments(cls, values, named)
        if plan.has_post_init:
            self.__post_init__()

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _wrong_arguments(cls: Any, values: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
    """What Python says about a call that does not fit the signature."""
    from inspect import signature

    try:
        signature(cls).bind(*values, **named)
    except TypeError as error:
        return TypeError(f"{cls.__qualname__}: {error}")
    raise AssertionError  # the arguments fit


class _FieldsAsSignature:
    """What `inspect.signature` and `help` show of a class: its fields."""

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
                default = _ShownFactory(field.default_factory)
            parameters.append(
                Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=field.type)
            )
        return Signature(parameters, return_annotation=None)


class _ShownFactory:
    """A default that is made for each instance, as a signature shows it."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.text = f"{factory.__name__}()" if hasattr(factory, "__name__") else "..."

    def __repr__(self) -> str:
        return self.text


_SIGNATURE = _FieldsAsSignature()


def compared_values(value: Any) -> tuple[Any, ...]:
    """The values of the fields that `==` compares."""
    held = value.__dict__
    return tuple([held[name] for name in value.__fields_plan__.compared])


def _equal(self: Any, other: object) -> Any:
    if other is self:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    return compared_values(self) == compared_values(other)


def _hash(self: Any) -> int:
    return hash(compared_values(self))


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_change(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"'{name}' of {type(self).__name__} cannot be changed")
