"""The parser of replies on a written-down corpus: every outcome, and never a wrong value in the strict column."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import InputError
from steelyard.vlm.answers import MODES, OUTCOMES, Answer, check_mode, classify, parse_reply

# Replies that are one number of grams, and that number.
OK: dict[str, float] = {
    "2.5e2": 250, "1e3": 1000, ".5": 0.5, "+200": 200, "2.45E+2 g": 245, "5e1 g": 50, "+.5 grams.": 0.5, "25e-1": 2.5,
    "245": 245, "245.3": 245.3, "180": 180, "0": 0, "0.0": 0, "0.5": 0.5, "7": 7, "10000": 10000, "9999.99": 9999.99,
    " 245 ": 245, "\n245\n": 245, "245\n\n": 245, "\t245": 245, "245.": 245, "245.3.": 245.3,
    "245g": 245, "245 g": 245, "245 G": 245, "245 gram": 245, "245 grams": 245, "245 Grams.": 245, "245.30 g.": 245.3,
    "1,250": 1250, "1,250 g": 1250, "1,250.5": 1250.5, "1,250.5 grams": 1250.5,
    "**245**": 245, "**245 g**": 245, "**245**.": 245, "*245*": 245, "__245__": 245, "`245`": 245, "```\n245\n```": 245,
    "```text\n245\n```": 245, '"245"': 245, "'245'": 245, "“245”": 245, "‘245’": 245, "«245»": 245, "$245$": 245, "$$245$$": 245,
    "\\(245\\)": 245, "\\[ 245.3 \\]": 245.3, "\\boxed{245}": 245, "$\\boxed{245}$": 245, "\\boxed{245 g}": 245,
    "\\boxed{245\\text{ g}}": 245, "$\\boxed{245\\,\\text{grams}}$": 245, "**\\boxed{180}**": 180, '"**245**"': 245,
    "٢٤٥": 245, "२४५": 245, "２４５": 245, "２４５．３": 245.3, "٢٤٥٫٣": 245.3, "245\u00a0g": 245, "245\u202fg": 245,
    "\ufeff245": 245, "2\u200b45": 245, "245ｇ": 245,
    "<think>300 or 200</think>245": 245, "<think>300\n200</think>\n\n245 g": 245, "300, no, 200</think>245": 245,
    "<THINK>a</THINK>180": 180, "<thinking>maybe 90</thinking>95.5": 95.5, "<think></think>12": 12,
    "<think>a<think>300</think>b 200</think>245": 245,
}  # fmt: skip

# Replies that give no value: the outcome, and the lenient reading where there is one.
OTHER: dict[str, tuple[str, float | None]] = {
    "": ("empty", None), "   \n": ("empty", None), "<think>300</think>": ("empty", None), '""': ("empty", None), "****": ("empty", None),
    "I'm sorry, but I can't help with that.": ("refusal", None), "I cannot determine the weight from an image.": ("refusal", None),
    "I am unable to estimate this.": ("refusal", None), "As an AI, I can only describe it.": ("refusal", None),
    "It is impossible to know without a scale.": ("refusal", None), "I do not have enough information.": ("refusal", None),
    "Sorry.": ("refusal", None), "I can’t see any food.": ("refusal", None),
    "two hundred": ("no_number", None), "A plate of rice.": ("no_number", None), "none": ("no_number", None), "N/A": ("no_number", None),
    "?": ("no_number", None), "grams": ("no_number", None), "---": ("no_number", None), "zero": ("no_number", None), "g": ("no_number", None),
    "The weight is heavy.": ("no_number", None), "约两百克": ("no_number", None), ".": ("no_number", None),
    "about 245": ("one_number_in_text", 245), "About 245 g": ("one_number_in_text", 245), "~245": ("one_number_in_text", 245),
    "≈ 245 g": ("one_number_in_text", 245), "approximately 245 grams": ("one_number_in_text", 245), "ca. 245 g": ("one_number_in_text", 245),
    "The estimated weight is 245 grams.": ("one_number_in_text", 245), "Answer: 245": ("one_number_in_text", 245), "245 grams of rice": ("one_number_in_text", 245),
    "Weight: **245 g**": ("one_number_in_text", 245), '{"weight": 245}': ("one_number_in_text", 245), "[245]": ("one_number_in_text", 245),
    "(245)": ("one_number_in_text", 245), "<answer>245</answer>": ("one_number_in_text", 245), "245<|im_end|>": ("one_number_in_text", 245),
    "245</s>": ("one_number_in_text", 245), "+ 245": ("one_number_in_text", 245), "= 245": ("one_number_in_text", 245), "245!": ("one_number_in_text", 245),
    "245?": ("one_number_in_text", 245), "245...": ("one_number_in_text", 245), "about 2.45e2": ("one_number_in_text", 245), "1,000e1": ("ambiguous_separator", None), "1e999": ("nonfinite", None),
    "9e9": ("implausible", None), "2.5e2e2": ("many_numbers", None), "245克": ("one_number_in_text", 245), "245 г": ("one_number_in_text", 245), "½": ("one_number_in_text", None),
    "Total = 1,250 g": ("one_number_in_text", 1250), "245 grams\n": ("ok", 245), "The plate holds 245.3 g of food": ("one_number_in_text", 245.3),
    "I'm sorry, I can only guess: 245": ("one_number_in_text", 245), "# 245": ("one_number_in_text", 245), "245,": ("one_number_in_text", 245),
    "245;": ("one_number_in_text", 245), "245 .": ("ok", 245), "**245": ("one_number_in_text", 245), "`245": ("one_number_in_text", 245),
    "245 g (8.6 oz)": ("many_numbers", 245), "80 80 80": ("many_numbers", 80), "245\n245": ("many_numbers", 245), "245 or 200": ("many_numbers", None),
    "1. 245": ("many_numbers", None), "245, 200": ("many_numbers", None), "1/2": ("many_numbers", None), "3 x 80 = 240": ("many_numbers", None),
    "245.3 or 180": ("many_numbers", None), "The 2 eggs weigh 100 g": ("many_numbers", 100), "100 g rice + 50 g peas": ("many_numbers", None),
    "245²": ("many_numbers", None), "2½": ("many_numbers", None), "2️⃣4️⃣5️⃣": ("many_numbers", None), "245\n\n(0.245 kg)": ("many_numbers", None),
    "Rice: 120\nPeas: 80\nTotal: 200": ("many_numbers", None), "12 34": ("many_numbers", None), "20 × 12": ("many_numbers", None), "4 * 60": ("many_numbers", None),
    "180-200": ("range", 190), "180 - 200 g": ("range", 190), "180–200": ("range", 190), "180—200": ("range", 190), "180 to 200": ("range", 190),
    "180 to 200 grams": ("range", 190), "between 180 and 200": ("range", 190), "Between 180 g and 200 g": ("range", 190), "180~200": ("range", 190),
    "about 180-200 g": ("range", 190), "245 ± 10": ("range", None), "245 +/- 10 g": ("range", None), "180 g - 200 g": ("range", 190), "180..200": ("range", 190),
    "100−150": ("range", 125), "1,000-1,200": ("range", 1100), "1-2": ("range", 1.5),
    "> 200": ("bound", 200), "<200": ("bound", 200), "≥ 150 g": ("bound", 150), "≤150": ("bound", 150), "less than 200": ("bound", 200),
    "more than 150 grams": ("bound", 150), "at least 150": ("bound", 150), "at most 90 g": ("bound", 90), "up to 300": ("bound", 300), "under 200 g": ("bound", 200),
    "over 150": ("bound", 150), "200+": ("bound", 200), "200 g or more": ("bound", 200), "200 or less": ("bound", 200), "below 50": ("bound", 50),
    "245,3": ("ambiguous_separator", 245.3), "245,3 g": ("ambiguous_separator", 245.3), "1.250,5": ("ambiguous_separator", None), "1.250.000": ("ambiguous_separator", None),
    "1 250": ("ambiguous_separator", None), "245 245": ("ambiguous_separator", None), "1\u202f250 g": ("ambiguous_separator", None), "1'250": ("ambiguous_separator", None), "0,250": ("ambiguous_separator", None),
    "12,34,567": ("ambiguous_separator", None), "1250,000": ("ambiguous_separator", None), "1,25": ("ambiguous_separator", 1.25), "about 245,3 g": ("ambiguous_separator", 245.3),
    "1_250": ("ambiguous_separator", None), "245.3.1": ("ambiguous_separator", None), "1,2345": ("ambiguous_separator", None),
    "0.245 kg": ("other_unit", 245), "8.6 oz": ("other_unit", 8.6 * 28.349523125), "8 ounces": ("other_unit", 8 * 28.349523125), "1 lb": ("other_unit", 453.59237), "245 ml": ("other_unit", None),
    "245000 mg": ("other_unit", 245), "320 kcal": ("other_unit", None), "320 calories": ("other_unit", None), "45%": ("other_unit", None), "45 percent": ("other_unit", None),
    "1 cup": ("other_unit", None), "2 slices": ("other_unit", None), "$245": ("other_unit", None), "245 $": ("other_unit", None), "245 gr": ("other_unit", None), "245 gm": ("other_unit", None), "€5": ("other_unit", None),
    "about 0.2 kilograms": ("other_unit", 200), "2kg": ("other_unit", 2000), "20 kg": ("other_unit", None),
    "-245": ("negative", None), "−245": ("negative", None), "- 245": ("negative", None), "-5 g": ("negative", None), "minus 5": ("negative", None), "－２４５": ("negative", None), "-0": ("negative", None), "**-245**": ("negative", None),
    "inf": ("nonfinite", None), "NaN": ("nonfinite", None), "-infinity": ("nonfinite", None), "∞": ("nonfinite", None), "1e400": ("nonfinite", None),
    "00000": ("implausible", None), "0245": ("implausible", None), "007 g": ("implausible", None), "10001": ("implausible", None), "245245245": ("implausible", None), "99,999": ("implausible", None),
    "about 0245": ("implausible", None), "9" * 400: ("implausible", None),
    "<think>300 or": ("truncated", None), "<think>300</think>245<think>": ("truncated", None), "<thinking>": ("truncated", None),
}  # fmt: skip


def reading(text: str) -> tuple[str, float, float]:
    answer = parse_reply(text)
    return answer.outcome, answer.grams, answer.lenient


def test_the_corpus_is_large_and_has_every_outcome() -> None:
    assert len(OK) + len(OTHER) >= 220
    assert {outcome for outcome, _ in OTHER.values()} | {"ok", "failed"} == set(OUTCOMES)  # `failed` has no reply


@pytest.mark.parametrize(("text", "grams"), OK.items())
def test_one_number(text: str, grams: float) -> None:
    assert reading(text) == ("ok", grams, grams)


@pytest.mark.parametrize(("text", "expected"), OTHER.items())
def test_no_value(text: str, expected: tuple[str, float | None]) -> None:
    outcome, grams, lenient = reading(text)
    assert outcome == expected[0]
    if outcome == "ok":
        assert grams == expected[1]
    else:
        assert math.isnan(grams)
        assert lenient == pytest.approx(math.nan if expected[1] is None else expected[1], nan_ok=True)


@pytest.mark.parametrize("text", ["24", "245.", "about 2", "", "<think>a</think>24"])
def test_a_reply_that_was_cut_off_has_no_value(text: str) -> None:
    assert parse_reply(text, "length").outcome == "truncated"


def test_why_the_model_stopped() -> None:
    assert parse_reply("245", "content_filter").outcome == "refusal"
    assert parse_reply(None).outcome == "empty"
    assert parse_reply("245", "stop").ok


def test_the_last_line_is_a_setting() -> None:
    reply = "The plate is half full.\nThat is 3 spoons of 80 g.\n\n**240**\n"
    assert parse_reply(reply).outcome == "many_numbers"
    assert parse_reply(reply, mode="last_line").grams == 240
    assert parse_reply("A\nabout 240", mode="last_line").outcome == "one_number_in_text"
    assert parse_reply("", mode="last_line").outcome == "empty"
    with pytest.raises(InputError, match="last_line"):
        check_mode("last line")
    for mode in MODES:
        check_mode(mode)


def test_the_largest_plausible_weight_is_a_setting() -> None:
    assert parse_reply("600", most=500).outcome == "implausible"
    assert parse_reply("500", most=500).ok
    assert math.isnan(parse_reply("about 600", most=500).lenient)


@given(
    st.floats(0, 9999, allow_nan=False).map(lambda x: round(x, 2)),
    st.sampled_from(["{}", "{} g", "**{}**", "`{}`", "{}.", "\\boxed{{{}}}"]),
)
def test_what_is_written_plainly_is_read(value: float, around: str) -> None:
    text = f"{value:.2f}"
    answer = parse_reply(around.format(text))
    assert (answer.outcome, answer.grams) == ("ok", float(text))


@given(st.text(alphabet=st.sampled_from("0123456789.,-–~ gkoz<>%()*`$\\{}\n\"'eE+/½²∞thinkor"), max_size=24))
def test_never_a_value_that_the_reply_does_not_spell(text: str) -> None:
    """Whatever marks stand around it, a strict value is the reply's only run of digits."""
    answer = parse_reply(text)
    assert answer.outcome in OUTCOMES
    behind = text.lower().rpartition("</think>")[2]
    if answer.ok:
        runs = "".join(c if c.isdigit() or c in ".," else " " for c in behind).split()
        runs = [run for run in runs if any(c.isdigit() for c in run)]
        assert len(runs) == 1
        assert float(runs[0].lstrip(",").rstrip(".,").replace(",", "")) == answer.grams
        assert "-" not in behind
        assert "%" not in behind
    else:
        assert math.isnan(answer.grams)


@given(st.text(max_size=60))
def test_any_text_has_an_outcome(text: str) -> None:
    for mode in MODES:
        assert parse_reply(text, mode=mode).outcome in OUTCOMES


LONG = {
    "commas": "1,", "thoughts": "<think>", "thoughts of two kinds": "<think><thinking>", "letters behind a fence": "```a",
    "numbers": "1 ", "lines": "1\n", "ranges": "1-", "full stops": "1.", "signs": "< ", "words": "between ", "bounds": "less than ",
    "boxes": "\\boxed{", "marks": "\\text{", "money": "$", "minus": "-", "exponents": "1e", "spaces": " ", "digits": "1",
}  # fmt: skip
PARSE_LONG = """
import sys
from steelyard.vlm.answers import parse_reply
for unit in sys.argv[1:]:
    body = unit * (80_000 // len(unit))
    for text in (body + "x", "1" + body + "</thinking>", "< " + body + " 1"):
        parse_reply(text)
parse_reply("```" + "a" * 200_000)
"""


def test_a_long_reply_is_read_in_linear_time() -> None:
    """Seconds; a square number of steps would take hours. The deadline is not a measure of speed."""
    subprocess.run([sys.executable, "-c", PARSE_LONG, *LONG.values()], check=True, timeout=110)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>245", "245"),
        ("<think>a<think>b</think>245", "245"),
        ("<thinking>a</think>b</thinking>245", "245"),
        ("<Think>a</THINK>2<think>b</think>45", "245"),
        ("a</think>245", "245"),
    ],
)
def test_closed_thoughts_are_passed_over(text: str, rest: str) -> None:
    assert parse_reply(text) == parse_reply(rest)
    assert parse_reply(text).ok


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("\"'`**__$7$__**`'\"", "ok"), ("²", "one_number_in_text"), ("- 5 g", "negative")],
)
def test_replies_of_seldom_forms(text: str, outcome: str) -> None:
    assert parse_reply(text).outcome == outcome


def test_a_sign_before_a_number_in_words_is_a_sign() -> None:
    assert classify("- 5 of them", 1000.0) == Answer("negative")
