"""The grammar of specs: what it reads, what it refuses, and that text and value are the same thing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.spec import Call, Range, parse_spec, parse_value, render_value


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("mae", Call("mae")),
        ("within@10", Call("within", at=10)),
        ("ap@10(norm=hits)", Call("ap", at=10, settings={"norm": "hits"})),
        ("map(iou=0.5:0.95)", Call("map", settings={"iou": Range(0.5, 0.95)})),
        ("map(iou=0:1:0.1)", Call("map", settings={"iou": Range(0, 1, 0.1)})),
        ("macro(f1)", Call("macro", values=("f1",))),
        ("macro(fbeta(beta=2))", Call("macro", values=(Call("fbeta", settings={"beta": 2}),))),
        (' precision ( label = "hot dog" ) ', Call("precision", settings={"label": "hot dog"})),
        ("a(x=none, y=true, z=[1, two, -3.5e2])", Call("a", settings={"x": None, "y": True, "z": (1, "two", -350.0)})),
        ("a()", Call("a")),
        ("Weighted  MAE", Call("Weighted MAE")),
        ("Smooth L1 Loss(delta=2)", Call("Smooth L1 Loss", settings={"delta": 2})),
        ("mAP@0.5:0.95", Call("mAP", at=Range(0.5, 0.95))),
        (r"mAP\@0.5", Call("mAP", at=0.5)),
        ("mAP@IoU=0.5", Call("mAP", at=0.5, at_key="IoU")),
        ("mAP (mean Average Precision)", Call("mAP", values=("mean Average Precision",))),
    ],
)
def test_reads(text: str, call: Call) -> None:
    assert parse_spec(text) == call


@pytest.mark.parametrize(
    "text",
    ["", "(", "a(", "a)", "a(b=)", "a(=b)", "a(b=1,b=2)", "@5", "a@", "a 5", "a(1:)", "a(x=2:1)", "5", 'a("x)', "a;b"]
    + ["a(x=0:1:0)", "a(x=0:1:1e-9)", "a(" * 5000, "a(x=" + "[" * 5000, "a(x=1:2:3:4)"],
)
def test_refuses(text: str) -> None:
    with pytest.raises(InputError):
        parse_spec(text)


def test_range_is_numpys_grid() -> None:
    for start, stop, step in ((0.5, 0.95, 0.05), (0, 1, 0.01), (0.1, 0.3, 0.1), (2, 2, 1)):
        values = Range(start, stop, step).values
        assert values == tuple(np.linspace(start, stop, round((stop - start) / step) + 1).tolist())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine draws slowly
@given(values)
def test_value_round_trip(value: object) -> None:
    back = parse_value(render_value(value))
    assert back == value
    assert type(back) is type(value)


@given(st.text(max_size=60) | st.text('am@()[]=:,."0123456789- e', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_spec(text)
    except InputError:
        pass


@given(st.floats(min_value=0, exclude_min=True, allow_nan=False))
def test_metric_settings_round_trip(percent: float) -> None:
    metric = catalogue.parse(f"within@{render_value(percent)}", "weights")
    assert catalogue.parse(str(metric), "weights") == metric
    assert metric.percent == percent or math.isinf(percent)
