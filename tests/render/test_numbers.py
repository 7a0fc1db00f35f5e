"""How numbers are written."""

from __future__ import annotations

import math

import pytest

from steelyard.core.counts import count_text, counted, share_text
from steelyard.render.formula import plain_formula
from steelyard.render.numbers import interval_text, number, p_text, percent_text, signed_text, value_text


@pytest.mark.parametrize(
    ("value", "interval", "shown", "between"),
    [
        (22.5, (10.0, 35.0), "22.5", "[10.0, 35.0]"),
        (22.5, None, "22.5", ""),
        (0.76912, (0.627, 0.832), "0.769", "[0.627, 0.832]"),
        (-3.4512, (-10.97, 2.72), "−3.45", "[−10.97, 2.72]"),
        (123456.0, (120000.0, 130000.0), "123456", "[120000, 130000]"),
        (1.0, (1.0, 1.0), "1.0000", "[1.0000, 1.0000]"),
        (0.0, None, "0", ""),
        (-1e-12, (-1.0, 1.0), "0.00", "[−1.00, 1.00]"),
        (math.nan, None, "–", ""),
        (math.inf, None, "∞", ""),
        (1e300, None, "1e+300", ""),
        (0.000012345678, None, "0.00001235", ""),
    ],
)
def test_value_and_interval(value: float, interval: tuple[float, float] | None, shown: str, between: str) -> None:
    assert value_text(value, interval) == shown
    assert interval_text(value, interval) == between


def test_signs() -> None:
    assert signed_text(1.5) == "+1.5"
    assert signed_text(-1.5) == "−1.5"
    assert signed_text(0.0) == "0"
    assert signed_text(math.inf) == "+∞"
    assert signed_text(-math.inf) == "−∞"
    assert signed_text(0.0001, (-1.0, 1.0)) == "0.00"
    assert number(-0.001, 1) == "0.0"


def test_words() -> None:
    assert count_text(1, "dish") == "1 dish"
    assert count_text(1200, "dish") == "1,200 dishes"
    assert count_text(2, "query") == "2 queries"
    assert count_text(0, "sequence") == "0 sequences"
    assert count_text(1, "axis") == "1 axis"
    assert count_text(3, "axis") == "3 axes"
    assert count_text(1, "question", "have") == "1 question has"
    assert count_text(2, "question", "have") == "2 questions have"
    assert count_text(1, "box", "begin") == "1 box begins"
    assert count_text(1, "shape", "are", "of kind <point>") == "1 shape of kind <point> is"
    assert count_text(4, "shape", "are", "of kind <point>") == "4 shapes of kind <point> are"
    assert share_text(1, 3, "row", "have") == "1 of 3 rows has"
    assert share_text(2, 1200, "query", "are", "of the run") == "2 of 1,200 queries of the run are"
    assert share_text(1, 1, "reply", "name") == "1 of 1 reply names"
    assert percent_text(0.95) == "95 %"
    assert percent_text(0.995) == "99.5 %"
    assert p_text(0.0004) == "<0.001"
    assert p_text(0.25) == "0.250"
    assert p_text(math.nan) == "–"


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"\frac{1}{n} \sum_i |\hat y_i - y_i|", "(1 / n) Σᵢ |ŷᵢ − yᵢ|"),
        (r"\sqrt{x^2}", "√(x²)"),
        (r"\mathrm{MAE}_{\mathrm{total}} \;/\; T_i", "MAE_total / Tᵢ"),
        (r"\frac{a + b}{\frac{c}{d}}", "(a + b) / (c / d)"),
        (r"\unknown x", r"\unknown x"),
    ],
)
def test_formulas(latex: str, plain: str) -> None:
    assert plain_formula(latex) == plain


@pytest.mark.parametrize(
    ("words", "one"),
    [
        ("images without a number", "1 image without a number"),
        ("queries without a relevant document", "1 query without a relevant document"),
        ("dishes whose true weights add up to 0", "1 dish whose true weights add up to 0"),
        ("classes that have no pixel", "1 class that has no pixel"),
        ("expressions that name several objects or none", "1 expression that names several objects or none"),
        ("structures of cases, which have no number", "1 structure of cases, which has no number"),
        ("images whose references have no colour", "1 image whose references have no colour"),
        ("rows with a true weight of 0", "1 row with a true weight of 0"),
    ],
)
def test_counts_before_words(words: str, one: str) -> None:
    assert counted(1, words) == one
    assert counted(1200, words) == f"1,200 {words}"
