"""Specs, requests, metrics and tasks by hand: what is taken, what is refused and in which words."""

from __future__ import annotations

import inspect
import math
from dataclasses import field, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from support.refusal import refused

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
        ("", "it ends too early"),
        ("map(", "it ends too early"),
        ("1", "a name is expected where '1' stands"),
        ("map(a=", "it ends too early"),
        ("map(a", "it ends too early"),
        ("map)", "nothing may follow from ')' on"),
        ("map,mae", "nothing may follow from ',' on; give several metrics one by one, or as a list"),
        ("map(a=1 b=2)", "',' is expected where 'b' stands"),
        ("map(a=1, a=2)", "'a' is given twice"),
        ("map(1=2)", "a setting's name is expected where '1' stands"),
        ("map(iou=0.5:x)", "a number is expected where 'x' stands"),
        ("map(iou==)", "a value is expected where '=' stands"),
        ("map(;)", "cannot read it from ';)' on"),
        ('map(a="\\x")', '"\\x" is not a quoted text'),
        ("map(a=[1 2])", "',' is expected where '2' stands"),
        ("map(0:1:2:3)", "',' is expected where ':' stands"),
        ("a(" * 22 + ")" * 22, "it is nested too deeply"),
        ("a@" * 21 + "1", "it is nested too deeply"),
        ("a(b=" + "[" * 21 + "]" * 21 + ")", "it is nested too deeply"),
        ("a" + "(,)" * 4000, "it is too long"),
        ("x" * 79 + ";", "cannot read it from ';' on"),
    ],
)
def test_what_is_no_spec(text: str, why: str) -> None:
    shown = text if len(text) <= 80 else text[:77] + "..."
    assert refused(lambda: parse_spec(text)) == f"'{shown}' is not a metric spec: {why}. Example: map(iou=0.5:0.95)."


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
    assert refused(lambda: parse_spec(long)).startswith(f"'{'x' * 77}...' is not")
    assert refused(lambda: parse_spec(";" + "y" * 40)).split("'")[3] == ";" + "y" * 19


def test_numbers_too_large() -> None:
    assert parse_value("1e308") == 1e308
    assert refused(lambda: parse_value("1" * 40 + "0" * 300)) == (
        f"'{'1' * 37}...' is too large a number for a setting. Numbers go up to 1.79769e+308."
    )
    assert refused(lambda: parse_value("1e999")).startswith("'1e999' is too large a number")
    assert parse_value("1.7976931348623157e308") == 1.7976931348623157e308  # the largest there is
    for digits, shown in ((36, "9" * 36 + "e300"), (37, "9" * 37 + "...")):
        assert refused(lambda digits=digits: parse_value("9" * digits + "e300")).startswith(f"'{shown}' is too large")


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
    assert refused(lambda: Range(0, 100_001, 1)) == "'0:100001:1' has more than 100,000 values. Choose a larger step."
    assert refused(lambda: Range(0, 1000, 0.005)).startswith("'0:1000:0.005' has more than 100,000 values")
    assert refused(lambda: Range(-100, 100, 0.001)).startswith("'-100:100:0.001' has more than 100,000 values")
    for ends in ((1.0, 0.0, 0.1), (0.0, 1.0, 0.0), (0.0, 1.0, -1.0), (math.nan, 1.0, 0.1), (0.0, math.inf, 0.1)):
        assert refused(lambda ends=ends: Range(*ends)) == (
            f"'{ends[0]}:{ends[1]}:{ends[2]}' is not a range. "
            "Write START:STOP or START:STOP:STEP with START <= STOP and STEP > 0."
        )


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
    with pytest.raises(TypeError, match=r"^there is no setting 'confidenc'\. Did you mean 'confidence'\?$"):
        Request.of("weights", None, {"confidenc": 0.9})  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize(
    ("metrics", "settings", "message"),
    [
        (None, {"confidence": "x"}, "confidence is 'x'. It must be a number."),
        (None, {"draws": 100.5}, "draws is 100.5. It must be a whole number."),
        (None, {"seed": "1"}, "seed is '1'. It must be a whole number."),
        (None, {"confidence": 0}, "a confidence of 0 is not between 0 and 1. For 95 % write 0.95."),
        (None, {"confidence": 1.0}, "a confidence of 1 is not between 0 and 1. For 95 % write 0.95."),
        (None, {"confidence": 95}, "a confidence of 95 is not between 0 and 1. For 95 % write 0.95."),
        (None, {"draws": 99}, "99 draws are out of range. Choose from 100 to 1,000,000."),
        (None, {"draws": 1_000_001}, "1000001 draws are out of range. Choose from 100 to 1,000,000."),
        (
            None, {"confidence": 0.9999},
            "1,000 draws cannot show a confidence of 0.9999. Choose a lower level, or more draws: 1 / (1 - level) at least.",
        ),
        (
            None, {"confidence": None, "save_draws": True},
            "without intervals there are no draws to save. Leave `confidence=None` out, or `save_draws`.",
        ),
        (None, {"adjust": "hol"}, "'hol' is not a known correction. Choose one of: max-t, holm, fdr, none."),
        (None, {"margin": 0.5}, "margins are 0.5. Give a mapping: {'map': 0.005}."),
        (None, {"seed": -1}, "the seed -1 is negative. Choose a whole number from 0 up."),
        (None, {"seed": 1 << 63}, "the seed has more than 63 bits. Choose a smaller one."),
        ([3], {}, "3 is not a metric. Give its spec as a text, such as 'mae'."),
        (None, {"by": [3]}, "3 names no column to slice by. Give names of columns as texts."),
        (None, {"by": [()]}, "() names no column to slice by. Give names of columns as texts."),
        (None, {"by": [("a", 3)]}, "('a', 3) names no column to slice by. Give names of columns as texts."),
        (None, {"by": [""]}, "'' names no column to slice by. Give names of columns as texts."),
        (None, {"columns": ["a"]}, "columns are ['a']. Give a mapping: {'weight': 'grams'}."),
        (None, {"options": "a=b"}, "options are 'a=b'. Give a mapping: {'angle': 'radians'}."),
    ],
)  # fmt: skip
def test_a_request_that_is_refused(metrics: Any, settings: Any, message: str) -> None:
    assert refused(lambda: Request.of("weights", metrics, settings)) == message


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

    def needs(self) -> tuple[Any, ...]:
        return ()

    def reduce(self, totals: Any) -> Any:
        return totals


@frozen
class Bare(Metric):
    name, title, range = "bare", "Bare", (0.0, 1.0)

    def needs(self) -> tuple[Any, ...]:
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
    assert (
        refused(lambda: one_of(Spelled(3), "k", 4, None)) == "metric 'spelled': k cannot be 3. Choose one of: 4, none."
    )
    within_range(Spelled(level=0.5), "level", 0.5, 1)
    within_range(Spelled(level=1), "level", 0.5, 1)
    within_range(Spelled(level=0.6), "level", 0.5, 1, open_low=True)
    assert refused(lambda: within_range(Spelled(level=0.4), "level", 0.5, 1)) == (
        "metric 'spelled': level cannot be 0.4. It must be a number from 0.5 to 1."
    )
    assert refused(lambda: within_range(Spelled(level=0.5), "level", 0.5, math.inf, open_low=True)) == (
        "metric 'spelled': level cannot be 0.5. It must be a number more than 0.5 up."
    )
    for value in (True, "x", 1.1, math.nan):
        assert refused(lambda value=value: within_range(Spelled(level=value), "level", 0.5, 1)).startswith(
            "metric 'spelled': level"
        )


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

    def needs(self) -> tuple[Any, ...]:
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
        ({"rule": "mode"}, "rule cannot be mode. Choose one of: mean, median."),
        ({"exact": "yes"}, "exact cannot be yes. Choose one of: true, false."),
        ({"share": 0}, "share cannot be 0. It must be a number more than 0 to 1."),
        ({"share": math.nan}, "share cannot be nan. It must be a number more than 0 to 1."),
        ({"share": True}, "share cannot be true. It must be a number more than 0 to 1."),
        ({"bins": 2.0}, "bins cannot be 2.0. It must be a whole number from 1 to 65535."),
        ({"bins": 65536}, "bins cannot be 65536. It must be a whole number from 1 to 65535."),
        ({"missed": -1}, "missed cannot be -1. It must be a number from 0 up, or one of: skip."),
        ({"missed": "drop"}, "missed cannot be drop. It must be a number from 0 up, or one of: skip."),
        ({"kind": "c"}, "kind cannot be c. Choose one of: a, b."),
    ],
)
def test_settings_that_their_annotations_refuse(settings: dict[str, Any], message: str) -> None:
    assert refused(Settings(**settings).check_settings) == f"metric 'settings': {message}"


def test_settings_are_checked_before_they_are_checked_together() -> None:
    assert refused(Settings("median", True).check_settings) == "exact and median exclude each other. Leave one out."
    assert refused(Settings("mode", True).check_settings).startswith("metric 'settings': rule cannot be mode")


def test_another_default_keeps_the_limits_of_the_base() -> None:
    OtherDefault(share=0.2).check_settings()
    assert refused(OtherDefault(share=2).check_settings) == (
        "metric 'other_default': share cannot be 2. It must be a number more than 0 to 1."
    )


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
