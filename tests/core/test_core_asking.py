"""Specs, requests, metrics and tasks by hand: what is taken, what is refused and in which words."""

from __future__ import annotations

import inspect
import math
from dataclasses import field, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from support.refusal import refused, refuses

from steelyard.core.errors import InvalidSpec
from steelyard.core.frozen import frozen
from steelyard.core.metric import Between, Metric, describe, one_of, within_range
from steelyard.core.records import Column, Records, Schema
from steelyard.core.request import Request, takes_settings
from steelyard.core.spec import Call, Range, parse_spec, parse_value, render_value
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Role


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-2", -2), ("+3", 3), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-inf", -math.inf),
        ("inf", math.inf), ("true", True), ("false", False), ("none", None), ("word", "word"), ("a.b-c/d", "a.b-c/d"),
        ('"hot dog"', "hot dog"), (r'"a\"b"', 'a"b'), ("[]", ()), ("[1, two, [3]]", (1, "two", (3,))), ("[1,]", (1,)),
        ("0.5:0.95", Range(0.5, 0.95)), ("0:1:0.1", Range(0, 1, 0.1)), ("f1(a=1)", Call("f1", None, (), {"a": 1})),
        ("ap@10", Call("ap", 10)), ("ap@[1]()", Call("ap", (1,))), ("m(f1, 2, k=x)", Call("m", None, ("f1", 2), {"k": "x"})),
        ("m(f1(a=1))", Call("m", None, (Call("f1", None, (), {"a": 1}),), {})), (" 1 ", 1),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    parsed = parse_value(text)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ("E-invalid-spec", "early")),
        ("map(", ("E-invalid-spec", "early")),
        ("1", ("E-invalid-spec", "'1'")),
        ("map(a=", ("E-invalid-spec", "early")),
        ("map(a", ("E-invalid-spec", "early")),
        ("map)", ("E-invalid-spec", "')'")),
        ("map,mae", ("E-invalid-spec", "','")),
        ("map(a=1 b=2)", ("E-invalid-spec", "','", "'b'")),
        ("map(a=1, a=2)", ("E-invalid-spec", "'a'")),
        ("map(1=2)", ("E-invalid-spec", "'1'", "setting")),
        ("map(iou=0.5:x)", ("E-invalid-spec", "'x'")),
        ("map(iou==)", ("E-invalid-spec", "'='")),
        ("map(;)", ("E-invalid-spec", "';)'")),
        ('map(a="\\x")', ("E-invalid-spec", "quoted")),
        ("map(a=[1 2])", ("E-invalid-spec", "','", "'2'")),
        ("map(0:1:2:3)", ("E-invalid-spec", "','", "':'")),
        ("a(" * 22 + ")" * 22, ("E-invalid-spec", "nested")),
        ("a@" * 21 + "1", ("E-invalid-spec", "nested")),
        ("a(b=" + "[" * 21 + "]" * 21 + ")", ("E-invalid-spec", "nested")),
        ("a" + "(,)" * 4000, ("E-invalid-spec", "long")),
        ("x" * 79 + ";", ("E-invalid-spec", "';'")),
    ],
)
def test_what_is_no_spec(text: str, why: tuple[str, ...]) -> None:
    shown = text if len(text) <= 80 else text[:77] + "..."
    with refuses(*why, f"'{shown}'"):
        parse_spec(text)


def test_the_limits_of_a_spec() -> None:
    assert parse_spec("a(" * 21 + ")" * 21).name == "a"
    assert parse_value("[" * 21 + "]" * 21) is not None
    deep = parse_spec("a(b=" + "[" * 20 + "]" * 20 + ")")
    assert deep.name == "a"
    assert parse_value("a@" * 20 + "1").name == "a"
    many = "[" + "1," * 4999 + "]"
    assert len(parse_value(many)) == 4999
    assert refused(lambda: parse_value("[" + "1," * 5000 + "]")).split(": ")[1].startswith("it is too long")
    assert refused(lambda: parse_value("[" + "1," * 4999 + "1]")).split(": ")[1].startswith("it is too long")  # 10,001
    text = "x" * 80
    assert parse_spec(text).name == text
    long = "x" * 80 + ";"
    with refuses("E-invalid-spec", f"'{'x' * 77}...'"):
        parse_spec(long)
    assert refused(lambda: parse_spec(";" + "y" * 40)).split("'")[3] == ";" + "y" * 19


def test_numbers_too_large() -> None:
    assert parse_value("1e308") == 1e308
    with refuses("E-too-large", f"'{'1' * 37}...'"):
        parse_value("1" * 40 + "0" * 300)
    with refuses("E-too-large", "'1e999'"):
        parse_value("1e999")
    assert parse_value("1.7976931348623157e308") == 1.7976931348623157e308  # the largest there is
    for digits, shown in ((36, "9" * 36 + "e300"), (37, "9" * 37 + "...")):
        with refuses("E-too-large", f"'{shown}'"):
            parse_value("9" * digits + "e300")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "true"), (False, "false"), (3, "3"), (3.0, "3.0"), (0.1, "0.1"), (1e15, "1000000000000000.0"), (1e16, "1e+16"), (np.float64(0.1), "0.1"),
        (999999999999999.0, "999999999999999.0"), (-2.0, "-2.0"), (math.inf, "inf"), ("word", "word"), ("true", '"true"'),
        ("inf", '"inf"'), ("nan", '"nan"'), ("hot dog", '"hot dog"'), ("é", "é"), ("日 本", '"日 本"'), ((1, "a"), "[1, a]"),
        ([0.5], "[0.5]"), (Range(0.5, 0.95), "0.5:0.95"), (Range(0, 1, 0.25), "0:1:0.25"),
    ],
)  # fmt: skip
def test_values_as_texts(value: Any, text: str) -> None:
    assert render_value(value) == text


def test_ranges() -> None:
    assert Range(0.5, 0.95).values == tuple(np.linspace(0.5, 0.95, 10).tolist())
    assert (Range(0.5, 0.5).values, Range(0, 1, 0.5).values) == ((0.5,), (0.0, 0.5, 1.0))
    assert isinstance(Range(1, 1).values[0], float)
    assert isinstance(Range(0, 2, 1).values[-1], float)
    assert len(Range(0, 100_000, 1).values) == 100_001
    with refuses("E-invalid-spec", "'0:100001:1'", "100,000"):
        Range(0, 100_001, 1)
    with refuses("E-invalid-spec", "'0:1000:0.005'", "100,000"):
        Range(0, 1000, 0.005)
    with refuses("E-invalid-spec", "'-100:100:0.001'", "100,000"):
        Range(-100, 100, 0.001)
    for ends in ((1.0, 0.0, 0.1), (0.0, 1.0, 0.0), (0.0, 1.0, -1.0), (math.nan, 1.0, 0.1), (0.0, math.inf, 0.1)):
        with refuses("E-invalid-spec", f"'{ends[0]}:{ends[1]}:{ends[2]}'"):
            Range(*ends)


def test_a_request_keeps_what_it_is_given() -> None:
    request = Request.of(
        "weights", "mae",
        {
            "by": ["food", ("food", "cut")], "missing": "skip", "extra": "error", "columns": {"weight": "g"},
            "options": {"a": 1}, "explain": "tool", "confidence": 0.9, "draws": 200, "seed": 3, "save_draws": True,
        },
    )  # fmt: skip
    assert request == Request(
        "weights", ("mae",), (("food",), ("food", "cut")), "skip", "error", {"weight": "g"}, {"a": 1}, ("tool",), 0.9, 200, 3, True
    )  # fmt: skip
    margins = Request.of("weights", None, {"adjust": "holm", "margin": {"mae": 0.5, "mape": "2%"}})
    assert (margins.adjust, margins.margin) == ("holm", {"mae": "0.5", "mape": "2%"})
    assert margins.measuring() == Request("weights", confidence=None, draws=0)
    assert Request.of("weights") == Request("weights", None, (), None, None, {}, {}, (), 0.95, 1000, 0, False)
    assert Request.of("weights", ["mae", "mape"], {"by": "food"}).by == (("food",),)
    assert Request.of("weights", ("mae",), {"explain": ["a", "b"]}).explain == ("a", "b")
    assert request.measuring() == Request(
        "weights", None, (("food",), ("food", "cut")), "skip", "error", {"weight": "g"}, {"a": 1}, (), None, 0, 0, False
    )
    assert (request.plan.role, request.plan.seed, request.plan.rows, request.plan.first) == (Role.DRAWS, 3, 200, 0)
    with refuses(TypeError, "'confidenc'", "'confidence'"):
        Request.of("weights", None, {"confidenc": 0.9})  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize(
    ("metrics", "settings", "message"),
    [
        (None, {"confidence": "x"}, ("E-invalid-setting", "confidence", "'x'")),
        (None, {"draws": 100.5}, ("E-invalid-setting", "draws", "100.5")),
        (None, {"seed": "1"}, ("E-invalid-setting", "seed", "'1'")),
        (None, {"confidence": 0}, ("E-out-of-range", "confidence", "0", "1")),
        (None, {"confidence": 1.0}, ("E-out-of-range", "confidence", "1", "0")),
        (None, {"confidence": 95}, ("E-out-of-range", "confidence", "95", "0", "1")),
        (None, {"draws": 99}, ("E-out-of-range", "99", "draws")),
        (None, {"draws": 1_000_001}, ("E-out-of-range", "1000001", "draws")),
        (
            None, {"confidence": 0.9999},
            ("E-invalid-setting", "1,000", "confidence", "0.9999"),
        ),
        (
            None, {"confidence": None, "save_draws": True},
            ("E-conflict", "intervals"),
        ),
        (None, {"adjust": "hol"}, ("E-invalid-setting", "'hol'")),
        (None, {"margin": 0.5}, ("E-invalid-setting", "0.5")),
        (None, {"seed": -1}, ("E-out-of-range", "seed")),
        (None, {"seed": 1 << 63}, ("E-out-of-range", "seed", "63")),
        ([3], {}, ("E-invalid-spec", "3")),
        (None, {"by": [3]}, ("E-invalid-setting", "3")),
        (None, {"by": [()]}, ("E-invalid-setting",)),
        (None, {"by": [("a", 3)]}, ("E-invalid-setting", "3")),
        (None, {"by": [""]}, ("E-invalid-setting",)),
        (None, {"columns": ["a"]}, ("E-invalid-setting", "columns")),
        (None, {"options": "a=b"}, ("E-invalid-setting", "'a=b'")),
    ],
)  # fmt: skip
def test_a_request_that_is_refused(metrics: Any, settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        Request.of("weights", metrics, settings)


def test_the_ends_of_what_a_request_takes() -> None:
    for settings in (
        {"draws": 100}, {"draws": 1_000_000}, {"seed": (1 << 63) - 1}, {"seed": 0}, {"confidence": None, "draws": 1},
        {"confidence": 0.99, "draws": 200}, {"confidence": 0.875, "draws": 100},
        {"confidence": 127 / 128, "draws": 128},
    ):  # fmt: skip
        Request.of("weights", None, settings)  # type: ignore[arg-type]


def test_settings_are_shown_in_a_signature() -> None:
    @takes_settings("explain", "save_draws")
    def function(task: str, seed: int = 7, **settings: Any) -> None: ...

    shown = inspect.signature(function).parameters
    assert list(shown) == [
        "task",
        "seed",
        "by",
        "missing",
        "extra",
        "columns",
        "options",
        "confidence",
        "draws",
        "save_influences",
        "adjust",
        "margin",
        "superiority",
        "cluster",
        "strata",
        "sequence",
        "tags",
        "delimiter",
        "decimal",
    ]
    defaults = [shown[name].default for name in ("seed", "by", "missing", "columns", "options", "confidence", "draws")]
    assert defaults == [7, (), None, None, None, 0.95, 1000]
    assert {shown[name].kind for name in list(shown)[2:]} == {inspect.Parameter.KEYWORD_ONLY}


@frozen
class Spelled(Metric):
    """A mean of things.

    $a + b$

    $= X$

    Its meaning is
    on two lines.

    And on another, $n

    Undefined when there is no X.

    Pros:
    - one
    - two
      lines

    Cons:
    - three

    >>> 1 + 1
    2

    Pros:
    - four

    $ 5 is what it costs
    """

    name, title, at, range = "spelled", "Spelled", "k", (0.0, 1.0)
    k: int | None = None
    level: float = 0.5
    inner: Metric | None = None
    text: str = field(default="x", metadata={"spec": "range"})

    def requirements(self) -> tuple[Any, ...]:
        return ()

    def reduce(self, totals: Any) -> Any:
        return totals


@frozen
class Bare(Metric):
    name, title, range = "bare", "Bare", (0.0, 1.0)

    def requirements(self) -> tuple[Any, ...]:
        return ()

    def reduce(self, totals: Any) -> Any:
        return totals


def test_a_metric_is_its_spec() -> None:
    assert str(Spelled()) == "spelled"
    assert str(Spelled(3)) == "spelled@3"
    assert str(Spelled(3, 0.25, Bare(), "hot dog")) == 'spelled@3(level=0.25, bare, range="hot dog")'
    assert (Spelled.examples(), Spelled().label, Spelled().expand()) == ((Spelled(),), "Spelled", (Spelled(),))
    assert (Spelled().undefined_reason(), Spelled().excluded(), Spelled().notes(), Spelled().documented_reason()) == (
        "there is no X", (0, ""), (), "there is no X",
    )  # fmt: skip
    assert (Bare.better, Bare.range, Bare.measured_in, Bare.reference, Bare.aliases, Bare.reaches_best) == (
        "higher", (0.0, 1.0), "", "", (), True,
    )  # fmt: skip


def test_a_docstring_is_taken_apart() -> None:
    description = describe(Spelled)
    assert (description.summary, description.formula) == ("A mean of things.", "a + b = X")
    assert description.meaning == "Its meaning is on two lines.\n\nAnd on another, $n\n\n$ 5 is what it costs"
    assert (description.undefined, description.pros, description.cons) == (
        "when there is no X.",
        ("one", "two lines", "four"),
        ("three",),
    )
    bare = describe(Bare)
    assert (bare.summary, bare.formula, bare.meaning, bare.undefined, bare.pros, bare.cons) == ("", "", "", "", (), ())


def test_settings_out_of_range() -> None:
    one_of(Spelled(3), "k", 3, None)
    with refuses("E-invalid-spec", "'spelled'", "3"):
        one_of(Spelled(3), "k", 4, None)
    within_range(Spelled(level=0.5), "level", 0.5, 1)
    within_range(Spelled(level=1), "level", 0.5, 1)
    within_range(Spelled(level=0.6), "level", 0.5, 1, open_low=True)
    with refuses("E-invalid-spec", "'spelled'", "0.4"):
        within_range(Spelled(level=0.4), "level", 0.5, 1)
    with refuses("E-invalid-spec", "'spelled'", "0.5"):
        within_range(Spelled(level=0.5), "level", 0.5, math.inf, open_low=True)
    for value in (True, "x", 1.1, math.nan):
        with refuses("E-invalid-spec", "'spelled'"):
            within_range(Spelled(level=value), "level", 0.5, 1)


@frozen
class Settings(Metric):
    """A metric whose annotations say what its settings may be."""

    name = "settings"
    title = "Settings"
    range = (0, 1)

    rule: Literal["mean", "median"] = "mean"
    exact: bool = False
    share: Annotated[float, Between(0, 1, open_low=True)] = 0.5
    bins: Annotated[int, Between(1, 65535, whole=True)] | None = None
    missed: Literal["skip"] | Annotated[float, Between(0)] = "skip"
    kind: Annotated[str, Literal["a", "b"]] = "a"
    other: float | str = 1
    unknown: NameOfTypeCheckers = 1  # type: ignore[name-defined]  # noqa: F821

    def requirements(self) -> tuple[Any, ...]:
        return ()

    def reduce(self, totals: Any) -> Any:
        return None

    def check(self) -> None:
        if self.exact and self.rule == "median":
            raise InvalidSpec("exact and median exclude each other", remedy="Leave one out.")


@frozen
class OtherDefault(Settings):
    """The base's limits, with another default."""

    name = "other_default"
    share: float = 0.7


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rule": "median"},
        {"exact": True},
        {"share": 1},
        {"share": 1e-9},
        {"bins": 1},
        {"bins": 65535},
        {"missed": 0},
        {"missed": 3.5},
        {"kind": "b"},
        {"other": "anything"},
        {"unknown": -5},
    ],
)
def test_settings_that_their_annotations_allow(settings: dict[str, Any]) -> None:
    Settings(**settings).check_settings()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "mode"}, ("E-invalid-spec", "rule", "mode")),
        ({"exact": "yes"}, ("E-invalid-spec", "exact", "yes")),
        ({"share": 0}, ("E-invalid-spec", "share", "0")),
        ({"share": math.nan}, ("E-invalid-spec", "share", "nan")),
        ({"share": True}, ("E-invalid-spec", "share", "true")),
        ({"bins": 2.0}, ("E-invalid-spec", "bins", "2.0")),
        ({"bins": 65536}, ("E-invalid-spec", "bins", "65536")),
        ({"missed": -1}, ("E-invalid-spec", "missed")),
        ({"missed": "drop"}, ("E-invalid-spec", "missed", "drop")),
        ({"kind": "c"}, ("E-invalid-spec", "kind")),
    ],
)
def test_settings_that_their_annotations_refuse(settings: dict[str, Any], message: tuple[str, ...]) -> None:
    with refuses(*message, "'settings'"):
        Settings(**settings).check_settings()


def test_settings_are_checked_before_they_are_checked_together() -> None:
    with refuses("E-invalid-spec", "median"):
        Settings("median", True).check_settings()
    with refuses("E-invalid-spec", "'settings'", "mode"):
        Settings("mode", True).check_settings()


def test_another_default_keeps_the_limits_of_the_base() -> None:
    OtherDefault(share=0.2).check_settings()
    with refuses("E-invalid-spec", "'other_default'", "share", "2"):
        OtherDefault(share=2).check_settings()


SCHEMA = Schema(
    ("id",), (Column("id", "id"), Column("weight", "number", beside="guess"), Column("note", "text", required=False))
)
TRUTH = Schema(("id",), (Column("id", "id"), Column("weight", "number"), Column("note", "text", required=False)))


def task(**more: Any) -> Task:
    return Task("t", "T", "dish", "food", TRUTH, SCHEMA, lambda *given: given, (Spelled,), ("spelled",), **more)


def test_a_task_names_its_views() -> None:
    assert Request("t", missing="skip").policy(task(policy=Policy("worst", "skip"))) == Policy("skip", "skip")
    assert Request("t", extra="error").policy(task(policy=Policy("worst", "skip"))) == Policy("worst", "error")
    assert task().view("figures") is None
    assert task(views="math").view("sqrt") is math.sqrt
    assert task(views="math").view("nothing") is None
    assert task(views="os").view("path") is None  # a module that it imports
    assert (task(views="math").tables, task(views="math").scene, task(views="math").explain) == (None, None, None)


def test_one_source_holds_both_sides() -> None:
    both = task().both_sides()
    assert (both.key, both.names) == (("id",), ("id", "weight", "note", "guess"))
    assert both.columns[-1] == Column("guess", "number", empty=True, beside="guess")
    records = Records(
        "b.csv",
        {
            "id": np.array([1, 2, 3]), "weight": np.array([1.0, 2, 3]), "guess": np.array([4.0, math.nan, 6]),
            "guess:a": np.array([7.0, 8, 9]), "guess:b:c": np.array([1.0, 2, 3]),
        },
        names={"guess": "Guess"},
    )  # fmt: skip
    split = task().split(records)
    assert {name: column.tolist() for name, column in split.columns.items()} == {
        "id": [1, 3], "weight": [4, 6], "weight:a": [7, 9], "weight:b:c": [1, 3],
    }  # fmt: skip
    assert split.names == {"id": "id", "weight": "Guess", "weight:a": "guess:a", "weight:b:c": "guess:b:c"}
    assert split.place(1) == "row 2"
    two = replace(
        task(), prediction=Schema(("id",), (Column("x", "number", beside="px"), Column("y", "number", beside="py")))
    )
    gaps = Records("b", {"px": np.array([math.nan, 2, 3]), "py": np.array([4, 5, math.nan])})
    assert {name: column.tolist() for name, column in two.split(gaps).columns.items()} == {"x": [2], "y": [5]}
    texts = Records("b", {"id": np.array([1, 2]), "guess": np.array(["", "x"], dtype=object)})
    assert task().split(texts)["weight"].tolist() == ["x"]
