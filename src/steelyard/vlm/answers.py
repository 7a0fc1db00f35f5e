"""Reading one number from a reply. The parser never guesses: without exactly one number of grams there is no value.

Every reply ends in an outcome (`OUTCOMES` says what each means). Only `ok` carries a strict value. A lenient reading
(the middle of a range, kilograms turned into grams) may stand beside it, in a column of its own. The rules have a
version, so that a journal can be parsed again and two readings of the same reply can be distinguished.

The time grows with the reply's length and no faster: a number is entered at its beginning only, and white space, once
taken, is not given back (`*+`, `++`).
"""

from __future__ import annotations

import math
import re
import unicodedata

from steelyard.core.errors import InvalidSetting, nearest
from steelyard.core.frozen import Frozen

PARSER_VERSION = 1

OUTCOMES: dict[str, str] = {
    "ok": "the reply is one number of grams",
    "empty": "there is no text",
    "refusal": "the model declines to answer",
    "no_number": "there is text, and no number in it",
    "one_number_in_text": "one number, and words or marks around it",
    "many_numbers": "several numbers",
    "range": "from one number to another",
    "bound": "more or less than a number",
    "ambiguous_separator": "a comma, point or space that may part thousands or decimals",
    "other_unit": "a number with a unit that is not grams",
    "negative": "a number below zero",
    "nonfinite": "infinity, or not a number",
    "implausible": "leading zeros, or more grams than a plate holds",
    "truncated": "the reply was cut off, so its last digits may be missing",
    "failed": "there is no reply: the image, the food's name or the model failed",
}

MODES = {
    "whole": "the whole reply must be the number",
    "last_line": "the last line must be the number; what stands before it is not read",
}
MOST_GRAMS = 10_000.0


class Answer(Frozen):
    """What a reply says: its outcome, the grams where it is `ok`, and a lenient reading where there is one.

    `said` is the answer in one spelling, for answers of every kind.
    """

    outcome: str
    grams: float = math.nan
    lenient: float = math.nan
    said: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a strict value."""
        return self.outcome == "ok"


def check_mode(mode: str) -> None:
    """Refuse a way of reading that does not exist."""
    if mode not in MODES:
        raise InvalidSetting(f"replies cannot be read by '{mode}'", remedy=nearest(mode, MODES))


def parse_reply(text: str | None, finish: str = "stop", *, mode: str = "whole", most: float = MOST_GRAMS) -> Answer:
    """Read a reply; `finish` is why the model stopped, `mode` one of MODES, `most` the largest plausible weight."""
    answer = reply_text(text, finish, mode)
    if isinstance(answer, Answer):
        return answer
    strict = _STRICT.fullmatch(answer)
    return _strict(strict, most) if strict else classify(answer, most)


def reply_text(text: str | None, finish: str, mode: str, *, as_is: bool = False) -> str | Answer:
    """The part of a reply that must be the answer, without what stands around it; an outcome where there is none.

    `as_is` keeps its characters and the marks around it.
    """
    if finish == "content_filter":
        return Answer("refusal")
    folded = (text or "") if as_is else _fold(text or "")
    answer, closed = _without_thoughts(folded)
    if finish == "length" or not closed:
        return Answer("truncated")
    if mode == "last_line":
        lines = [line for line in answer.splitlines() if line.strip()]
        answer = lines[-1] if lines else ""
    return (answer.strip() if as_is else _unwrap(answer)) or Answer("empty")


def declines(text: str) -> bool:
    """Whether a reply reads like a refusal."""
    return _REFUSAL.search(text) is not None


# --- folding -----------------------------------------------------------------------------------------------------

_MARKS = {
    "\u2212": "-", "\ufe63": "-", "\uff0d": "-", "\u2010": "-", "\u2011": "-",
    "\u066b": ".", "\uff0e": ".", "\u066c": ",", "\uff0c": ",",
    "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " ", "\u3000": " ",
    "\uff47": "g", "\u2018": "'", "\u2019": "'",
}  # fmt: skip
# Marks that are not seen: zero width, direction, byte-order, soft hyphen, variation.
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\ufe0f]")
_THOUGHT_TAG = re.compile(r"<(/?)(think|thinking)>", re.I)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking)>", re.I | re.S)
_THOUGHT_START = re.compile(r"<(?:think|thinking)>", re.I)


def _fold(text: str) -> str:
    """Digits of every script and the several minus signs as ASCII. Not NFKC: that makes 2452 of 245²."""
    if text.isascii():
        return text
    text = _UNSEEN.sub("", text)
    return "".join(
        c if c.isascii() else str(unicodedata.decimal(c)) if unicodedata.category(c) == "Nd" else _MARKS.get(c, c)
        for c in text
    )


def _without_thoughts(text: str) -> tuple[str, bool]:
    """The reply behind its thoughts, and whether every thought was closed."""
    if "<" not in text:
        return text, True
    text = _without_closed(text)
    text = _THOUGHT_END.sub("", text)  # opened by the prompt's template, closed by the model
    return text, not _THOUGHT_START.search(text)


def _without_closed(text: str) -> str:
    """The text without its closed thoughts: each from where it opens to the next end of its kind."""
    tags = list(_THOUGHT_TAG.finditer(text))
    behind: dict[str, re.Match[str]] = {}  # the next end of each kind, seen from behind
    ends: dict[int, re.Match[str]] = {}
    for tag in reversed(tags):
        if tag[1]:
            behind[tag[2].lower()] = tag
        elif tag[2].lower() in behind:
            ends[tag.start()] = behind[tag[2].lower()]
    pieces, place = [], 0
    for tag in tags:
        if tag.start() >= place and tag.start() in ends:
            pieces.append(text[place : tag.start()])
            place = ends[tag.start()].end()
    return "".join([*pieces, text[place:]])


_WRAPPED = re.compile(
    r"""```[a-z]*+\n?+(?P<fence>[^`]*)``` | `(?P<tick>[^`]*)` | \*\*(?P<bold>[^*]*)\*\* | \*(?P<slant>[^*\n]*)\*
      | __(?P<under>[^_]*)__ | \$\$(?P<math2>[^$]*)\$\$ | \$(?P<math>[^$]*)\$ | \\\((?P<round>.*)\\\)
      | \\\[(?P<square>.*)\\\] | \\boxed\{(?P<boxed>[^{}]*(?:\{[^{}]*\}[^{}]*)?)\}
      | "(?P<quote>[^"]*)" | '(?P<single>[^']*)'
      | \u201c(?P<curly>[^\u201c\u201d]*)\u201d | \u00ab(?P<angle>[^\u00ab\u00bb]*)\u00bb""",
    re.X | re.S | re.I,
)
_TEX_UNIT = re.compile(r"\\(?:text|mathrm|textrm)\{\s*(g|grams?)\.?\s*\}|\\[,;:! ]", re.I)


def _unwrap(text: str) -> str:
    """The text without the marks that stand around all of it."""
    for _ in range(6):
        text = text.strip()
        if "\\" in text:
            text = _TEX_UNIT.sub(lambda m: f" {m[1] or ''}", text).strip()
        # A full stop may stand behind the closing mark: **245**.
        match = _WRAPPED.fullmatch(text) or (text.endswith(".") and _WRAPPED.fullmatch(text[:-1])) or None
        if match is None:
            return text
        text = next(part for part in match.groups() if part is not None)
    return text.strip()


# --- one number, and nothing else --------------------------------------------------------------------------------

_STRICT = re.compile(
    r"\+?(?:(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?|(?P<fraction>\.\d+))(?P<power>e[+-]?\d+)?"
    r"\s*(?:g|grams?)?\.?",
    re.I | re.A,
)


def _strict(match: re.Match[str], most: float) -> Answer:
    whole, part = match["whole"] or "0", match["part"] or match["fraction"] or ""
    if "," in whole and match["power"]:
        return Answer("ambiguous_separator")
    if whole.startswith("0") and len(whole) > 1:
        # 0,250 may be a quarter; 00000 is what a broken model says.
        return Answer("ambiguous_separator" if "," in whole else "implausible")
    grams = float(whole.replace(",", "") + part + (match["power"] or ""))
    if match["power"] and math.isinf(grams):
        return Answer("nonfinite")
    if grams > most:
        return Answer("implausible")
    return Answer("ok", grams, grams)


# --- what else it may be -----------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?|(?<!\.)\.\d+", re.I | re.A)
_NONFINITE = re.compile(r"[+-]?(?:inf|infinity|infinite|nan|∞)\.?", re.I)
_N = r"\d++(?:[.,]\d++)*+"
_UNIT = r"(?:g|grams?|kg|oz|ml)"
_FROM = rf"(?<!\d)(?<!\d[.,]){_N}\s*+(?:{_UNIT}\s*+)?"
_RANGE = re.compile(
    rf"{_FROM}(?:-|–|—|~|…|\.\.++|±|\+/-|\bto\b|\bor so to\b|\bthrough\b)\s*+{_N}\s*{_UNIT}?"
    rf"|between\s+\D{{0,20}}{_FROM}(?:and|&|-)\s*+{_N}\s*{_UNIT}?",
    re.I | re.A,
)
_BOUND = re.compile(
    r"(?<![\w/\"'|])[<>≤≥]=?\s*+(?:~\s*+)?\d"
    r"|(?:less|more|fewer|greater|lower|higher|heavier|lighter|no more|no less)\s+than\s+\D{0,20}\d"
    r"|(?:at least|at most|up to|under|over|below|above|minimum of|maximum of|exceeds|not exceeding)\s+\D{0,20}\d"
    r"|\d\s*+(?:(?:g|grams?)\s*+)?(?:\+(?!\s*[-/]|\s*\d)|or (?:more|less|fewer|above|below)|and (?:above|below|up))",
    re.I | re.A,
)
_NEGATIVE = re.compile(r"(?:-|\bminus\b|\bnegative\b)\s*\d[\d.,]*\s*(?:g|grams?)?\.?", re.I | re.A)
_SEPARATED = re.compile(
    r"\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?\s*(?:g|grams?)?\.?|\d+(?:[.,]\d+)+\s*(?:g|grams?)?\.?", re.I | re.A
)
_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|cannot|can't|can not|couldn't|could not|unable|not able|won't|as an ai|not possible"
    r"|impossible|don't have|do not have|no way to|not comfortable|decline)\b",
    re.I,
)
# Grams in one of the unit, for the lenient column; nan where it cannot be turned into grams.
_OTHER_UNITS = {
    "kg": 1000.0, "kgs": 1000.0, "kilo": 1000.0, "kilos": 1000.0, "kilogram": 1000.0, "kilograms": 1000.0,
    "mg": 0.001, "milligram": 0.001, "milligrams": 0.001, "oz": 28.349523125, "ounce": 28.349523125,
    "ounces": 28.349523125, "lb": 453.59237, "lbs": 453.59237, "pound": 453.59237, "pounds": 453.59237,
    "ml": math.nan, "milliliter": math.nan, "milliliters": math.nan, "millilitres": math.nan, "l": math.nan,
    "cl": math.nan, "dl": math.nan, "liter": math.nan, "liters": math.nan, "litre": math.nan, "litres": math.nan,
    "cal": math.nan, "kcal": math.nan, "calories": math.nan, "kj": math.nan, "cup": math.nan, "cups": math.nan,
    "tbsp": math.nan, "tsp": math.nan, "cm": math.nan, "mm": math.nan, "%": math.nan, "percent": math.nan,
    "gr": math.nan, "gm": math.nan, "gms": math.nan, "grains": math.nan, "grain": math.nan, "stone": math.nan,
    "serving": math.nan, "servings": math.nan, "slice": math.nan, "slices": math.nan, "piece": math.nan,
    "pieces": math.nan, "bite": math.nan, "bites": math.nan, "usd": math.nan, "$": math.nan, "€": math.nan,
    "£": math.nan, "grams/serving": math.nan,
}  # fmt: skip
_UNIT_BEHIND = re.compile(r"\s*+(?:-\s*+)?([a-zµ]+|[%$€£])", re.I)
_GRAMS_BEHIND = re.compile(r"\s*+(?:g|grams?)\b", re.I)
_CURRENCY_BEFORE = re.compile(r"[$€£]\s*$")


def classify(text: str, most: float) -> Answer:
    """The outcome of a reply that is not plainly one number, and what a lenient reader would make of it."""
    if _NONFINITE.fullmatch(text):
        return Answer("nonfinite")
    numbers = list(_NUMBER.finditer(text))
    odd = any(unicodedata.category(c) in ("No", "Nl") for c in text if not c.isascii())  # ½, ², Ⅳ
    if not numbers and not odd:
        return Answer("refusal" if declines(text) else "no_number")
    if odd:
        return Answer("many_numbers" if numbers else "one_number_in_text")
    if _SEPARATED.fullmatch(text):
        return Answer("ambiguous_separator", lenient=_plausible(_decimal_comma(text), most))
    span = _RANGE.search(text)
    if span:
        ends = [_value(m[0]) for m in _NUMBER.finditer(span[0])]
        whole = len(numbers) == len(ends) == 2 and not re.search(r"±|\+/-", span[0])
        if span[0].strip() != text.strip(" .~≈") and len(numbers) > 2:
            return Answer("many_numbers")
        return Answer("range", lenient=_plausible(sum(ends) / 2, most) if whole else math.nan)
    if _NEGATIVE.fullmatch(text):
        return Answer("negative")
    if len(numbers) > 1:
        return Answer("many_numbers", lenient=_plausible(_only_grams(text, numbers), most))
    return _one(text, numbers[0], most)


def _one(text: str, number: re.Match[str], most: float) -> Answer:
    value = _value(number[0])
    if math.isinf(value):
        return Answer("nonfinite")
    if _BOUND.search(text):
        return Answer("bound", lenient=_plausible(value, most))
    factor = _factor(text, number)
    if factor != 1.0:
        return Answer("other_unit", lenient=_plausible(value * factor, most))
    if re.search(r"(?<![\w)])-\s*$", text[: number.start()]) and not text[: number.start()].strip(" -"):
        return Answer("negative")
    if re.fullmatch(r"\d+(?:[.,]\d+){2,}|\d+,\d+", number[0], re.A) and not _thousands(number[0]):
        return Answer("ambiguous_separator", lenient=_plausible(_decimal_comma(number[0]), most))
    if re.fullmatch(r"0\d.*", number[0], re.A):
        return Answer("implausible")
    return Answer("one_number_in_text", lenient=_plausible(value, most))


def _factor(text: str, number: re.Match[str]) -> float:
    """What one of the number's unit weighs in grams; 1 for grams and for no unit."""
    if _CURRENCY_BEFORE.search(text[: number.start()]):
        return math.nan
    behind = _UNIT_BEHIND.match(text, number.end())
    return _OTHER_UNITS.get(behind[1].lower(), 1.0) if behind else 1.0


def _thousands(text: str) -> bool:
    return bool(re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", text, re.A))


def _value(text: str) -> float:
    if _thousands(text):
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return math.nan


def _decimal_comma(text: str) -> float:
    """245,3 read as a decimal comma; nan for anything that is not that plain."""
    match = re.fullmatch(r"(\d+),(\d{1,2})\D*", text, re.A)
    return float(f"{match[1]}.{match[2]}") if match else math.nan


def _only_grams(text: str, numbers: list[re.Match[str]]) -> float:
    """The one number that has grams behind it, or that all the numbers are equal to; else nan."""
    grams = [_value(m[0]) for m in numbers if _GRAMS_BEHIND.match(text, m.end())]
    values = {_value(m[0]) for m in numbers}
    if len(grams) == 1:
        return grams[0]
    return values.pop() if len(values) == 1 else math.nan


def _plausible(value: float, most: float) -> float:
    return value if 0 <= value <= most else math.nan
