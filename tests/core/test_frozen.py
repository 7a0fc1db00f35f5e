"""`@frozen` behaves as `@dataclass(frozen=True)` does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
from typing import Any, ClassVar

import pytest

from steelyard.core.frozen import Frozen, frozen


@frozen
class Base:
    """A class with a field of each kind."""

    kind: ClassVar[str] = "kind"
    first: int
    second: float = 2.0
    hidden: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")


@frozen
class Derived(Base):
    """A class that adds a field, and gives another one a default."""

    first: int = 5
    third: str = "c"


@dataclasses.dataclass(frozen=True)
class PlainBase:
    """`Base` as dataclasses make it."""

    first: int
    second: float = 2.0
    hidden: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class PlainDerived(PlainBase):
    """`Derived` as dataclasses make it."""

    first: int = 5
    third: str = "c"


CALLS: list[tuple[type, type, tuple[Any, ...], dict[str, Any]]] = [
    (Base, PlainBase, (1,), {}),
    (Base, PlainBase, (1, 3.0), {}),
    (Base, PlainBase, (), {"second": 1.0, "first": 4}),
    (Base, PlainBase, (1,), {"hidden": [1, 2]}),
    (Derived, PlainDerived, (), {}),
    (Derived, PlainDerived, (1, 2.0, [3], "d"), {}),
    (Derived, PlainDerived, (), {"third": "x"}),
]


@pytest.mark.parametrize(("ours", "plain", "values", "named"), CALLS)
def test_same_instances(ours: Any, plain: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    mine, theirs = ours(*values, **named), plain(*values, **named)
    assert dataclasses.asdict(mine) == dataclasses.asdict(theirs)
    assert repr(mine) == repr(theirs).replace("Plain", "")
    assert hash(mine) == hash(theirs)
    assert [f.name for f in dataclasses.fields(mine)] == [f.name for f in dataclasses.fields(theirs)]
    assert mine == ours(*values, **named)
    changed = dataclasses.replace(mine, first=77)
    assert changed.first == 77
    assert changed != mine
    for again in (pickle.loads(pickle.dumps(mine)), copy.copy(mine), copy.deepcopy(mine)):
        assert again == mine
        assert again.hidden == mine.hidden


def test_cannot_be_changed() -> None:
    value = Base(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^'first' of Base cannot be changed$"):
        value.first = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="first"):
        del value.first
    with pytest.raises(dataclasses.FrozenInstanceError, match="other"):
        value.other = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("named", [{}, {"first": 1, "fourth": 2}])
def test_wrong_arguments(named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"first|fourth"):
        Base(**named)


def test_defaults_are_not_shared_and_post_init_runs() -> None:
    assert Base(1).hidden is not Base(1).hidden
    with pytest.raises(ValueError, match="negative"):
        Base(-1)
    with pytest.raises(ValueError, match="negative"):
        Derived(-1)


def test_equality_is_that_of_tuples() -> None:
    nan = math.nan
    assert Base(1, nan) == Base(1, nan)
    assert Base(5) != Derived(5)
    assert Base(1, hidden=[1]) == Base(1, hidden=[2])


def test_the_first_instance_is_made_as_the_others_are() -> None:
    """With positions, with names, and with nothing."""
    made: list[str] = []

    def define() -> Any:
        @frozen
        class Fresh:
            """A class with a field of each kind."""

            kind: ClassVar[str] = "kind"
            first: int
            second: list[int] = dataclasses.field(default_factory=lambda: [7])
            third: float = 2.0
            fourth: dict[str, int] = dataclasses.field(default_factory=dict)

            def __post_init__(self) -> None:
                made.append(self.kind)

        return Fresh

    for values, named, expected in (
        ((1,), {}, (1, [7], 2.0, {})),
        ((1, [2], 3.0, {"a": 4}), {}, (1, [2], 3.0, {"a": 4})),
        ((), {"third": 5.0, "first": 6}, (6, [7], 5.0, {})),
        ((1,), {"second": [], "fourth": {"b": 1}}, (1, [], 2.0, {"b": 1})),
    ):
        fresh = define()
        for _ in range(2):
            value = fresh(*values, **named)
            assert (value.first, value.second, value.third, value.fourth) == expected
    assert made == ["kind"] * 8
    with pytest.raises(TypeError, match=r"Fresh.*'first'"):
        define()()


@frozen
class Flat:
    """A class whose fields are read late: no field has a default that is made."""

    kind: ClassVar[str] = "kind"
    first: int
    second: float = 2.0


@frozen
class Deep(Flat, Base):
    """Fields of a class that is read at once, of one that is read late, and its own."""

    second: float = 3.0
    third: str = "c"


class Undecorated(Flat):
    """A class that adds nothing."""


def test_fields_that_are_read_late() -> None:
    """Made before they are read, and the same ones after."""
    early = Deep(1), Undecorated(4, second=5.0)
    assert (early[0].first, early[0].second, early[0].hidden, early[0].third) == (1, 3.0, [], "c")
    assert [field.name for field in dataclasses.fields(Deep)] == ["first", "second", "hidden", "third"]
    assert [field.name for field in dataclasses.fields(Undecorated)] == ["first", "second"]
    assert dataclasses.is_dataclass(Flat)
    assert dataclasses.asdict(early[1]) == {"first": 4, "second": 5.0}
    assert dataclasses.replace(early[0], third="d") == Deep(1, third="d")


def test_many_instances_and_wrong_arguments() -> None:
    @frozen
    class Many:
        """Two fields."""

        first: int
        second: str = "b"

    made = [Many(1) for _ in range(100)]
    assert set(made) == {Many(first=1, second="b")}
    with pytest.raises(TypeError, match="first"):
        Many()
    with pytest.raises(TypeError, match="multiple values for argument 'first'"):
        Many(1, first=2)


def test_a_default_that_would_be_shared_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @frozen
        class Shared:
            """A list for all instances."""

            values: list[int] = []


def test_a_class_without_fields() -> None:
    @frozen
    class Bare:
        """Nothing."""

    assert (repr(Bare()), Bare() == Bare(), hash(Bare()) == hash(())) == (f"{Bare.__qualname__}()", True, True)
    assert Bare.__init__.__qualname__ == f"{Bare.__qualname__}.__init__"


def test_what_a_class_says_itself_is_kept() -> None:
    @frozen
    class Own:
        """With a text, an equality and a hash of its own."""

        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(1))) == ("own", True, 3)
    assert Own.__doc__ == "With a text, an equality and a hash of its own."

    @frozen
    class Silent:
        value: int

    assert Silent.__doc__ is None


@pytest.mark.parametrize(("ours", "plain"), [(Base, PlainBase), (Derived, PlainDerived)])
def test_signature_is_that_of_a_dataclass(ours: type, plain: type) -> None:
    """Before and after the first instance is made: names, order, defaults, annotations."""
    for _ in range(2):
        shown, wanted = inspect.signature(ours), inspect.signature(plain)
        assert list(shown.parameters) == list(wanted.parameters)
        for name, parameter in shown.parameters.items():
            other = wanted.parameters[name]
            assert (parameter.kind, parameter.annotation) == (other.kind, other.annotation)
            if name != "hidden":
                assert parameter.default == other.default
        ours(1)


def test_signature_of_what_is_made_for_each_instance() -> None:
    assert str(inspect.signature(Base)) == "(first: 'int', second: 'float' = 2.0, hidden: 'list[int]' = list()) -> None"


def test_an_instance_has_no_signature() -> None:
    assert not hasattr(Base(1), "__signature__")


def test_subclasses_of_frozen_need_no_decorator() -> None:
    """Decorated or not, a subclass has its own fields, and those of its bases first."""

    class Bare(Frozen):
        first: int
        second: int = dataclasses.field(default=2, repr=False, metadata={"unit": "g"})

    class Longer(Bare):
        third: int = 3

    @frozen
    class Decorated(Bare):
        third: int = dataclasses.field(default=3, repr=False, metadata={"unit": "kg"})

    assert repr(Bare(1)) == f"{Bare.__qualname__}(first=1)"
    assert (Bare(1), hash(Bare(1))) == (Bare(1, 2), hash(Bare(1, second=2)))
    assert vars(Longer(1)) == vars(Decorated(1)) == {"first": 1, "second": 2, "third": 3}
    assert [field.metadata.get("unit") for field in dataclasses.fields(Decorated)] == [None, "g", "kg"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Longer(1).third = 4  # type: ignore[misc]
