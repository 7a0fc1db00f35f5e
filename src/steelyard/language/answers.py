"""How short answers are made alike before they are compared, each way under its name.

`vqa` is the text rule of VQA's own script (GT-Vision-Lab/VQA a013f00), with what it does by mistake: of a text's full
stops that no digit follows only 32 go, and contractions are looked up after lowering, so that those of "I" are never
met. `squad` is that of SQuAD 1.1's script.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable

MARKS = ';/[]"{}()=+\\_-><@`,?!'
_HAS_MARK = re.compile("[" + re.escape(MARKS) + "]")
_DIGIT_COMMA = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_FULL_STOPS = 32  # the value of re.UNICODE, which stands where the script means a flag
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(value) for value, word in enumerate(_WORDS)} | {"none": "0"}
_ARTICLES = frozenset(("a", "an", "the"))
_SPELT = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
    he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've needn't not've
    o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
    someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've
    there're there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's
    what've when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've
    wouldn't wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""
CONTRACTIONS = {
    word[:i] + word[i + 1 :]: word for word in _SPELT.split() for i, letter in enumerate(word) if letter == "'"
} | {"somebody'd": "somebodyd"}


def plain(text: str) -> str:
    """Line ends and tabs as blanks, none around: what VQA's script does to every answer."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def strip_marks(text: str, stops: re.Pattern[str] = _FULL_STOP) -> str:
    """VQA's rule for marks: some are blanks, some vanish; `stops` are the full stops that go."""
    cleaned = text
    if _HAS_MARK.search(text):
        drop = _DIGIT_COMMA.search(text) is not None
        for mark in MARKS:
            if mark in text:
                cleaned = cleaned.replace(mark, "" if drop or f"{mark} " in text or f" {mark}" in text else " ")
    return stops.sub("", cleaned, count=_FULL_STOPS) if "." in cleaned else cleaned


def vqa(text: str, stops: re.Pattern[str] = _FULL_STOP) -> str:
    """VQA's rule for marks, numbers, articles and contractions."""
    words = [NUMBERS.get(word, word) for word in strip_marks(plain(text), stops).lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def squad(text: str) -> str:
    """SQuAD's rule: lower, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalise_spaces(text: str) -> str:
    """Lower, with single blanks and none around."""
    return " ".join(text.lower().split())


def number(text: str) -> str:
    """A number by its value, so that 5, 5.0 and 05 are alike; another text as it is, stripped."""
    value = to_float(text.strip())
    return text.strip() if value is None or value != value else repr(value + 0.0)


NORMS: dict[str, Callable[[str], str]] = {
    "as_is": lambda text: text,
    "strip": str.strip,
    "lower": lambda text: text.strip().lower(),
    "space": normalise_spaces,
    "squad": squad,
    "vqa": vqa,
    "number": number,
}


def unicode_form(form: str) -> Callable[[str], str]:
    """What brings a text to a form of Unicode: "as_is", "nfc" or "nfkc"."""
    if form == "as_is":
        return lambda text: text
    name = form.upper()
    return lambda text: text if text.isascii() else unicodedata.normalize(name, text)  # type: ignore[arg-type]


def to_float(text: str) -> float | None:
    """As Python reads a number; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def chart_number(text: str, lenient: bool = False) -> float | None:
    """A number as ChartQA's scripts read it: a percentage is divided by 100.

    `lenient` takes currency signs, thousands between commas, and a full stop behind it.
    """
    if lenient:
        text = text.strip().rstrip(".").lstrip("$€£").replace(",", "")
    if text.endswith("%"):
        value = to_float(text.rstrip("%"))
        return None if value is None else value / 100.0
    return to_float(text)


def relaxed_match(
    reply: str, answer: str, tolerance: float = 0.05, years: str = "relaxed", lenient: bool = False
) -> bool:
    """Whether a number is within a share of the true one, or else a text equal without case (Masry et al. 2022).

    `years="exact"` asks whole numbers from 1900 to 2100 to be equal.
    """
    replied, wanted = chart_number(reply, lenient), chart_number(answer, lenient)
    if replied is None or wanted is None or (wanted == 0 and not lenient):
        if lenient:
            return normalise_spaces(reply).rstrip(".!") == normalise_spaces(answer).rstrip(".!")
        return reply.lower() == answer.lower()
    if years == "exact" and wanted.is_integer() and 1900 <= wanted <= 2100:
        return replied == wanted
    return (
        abs(replied - wanted) <= tolerance * abs(wanted)
        if wanted == 0
        else abs(replied - wanted) / abs(wanted) <= tolerance
    )


def bag_f1(reply: list[str] | str, answer: list[str] | str) -> float:
    """F1 of two bags of words or characters, 0 where they share none."""
    if not reply or not answer:
        return 0.0
    shared = (Counter(reply) & Counter(answer)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(reply), shared / len(answer)
    return 2 * precision * recall / (precision + recall)


_BLANKS = re.compile(r"\s\s+")


def transcript_words(text: str, space: str = "blank") -> list[str]:
    """Words as jiwer has them: runs of white space are one blank, and words stand between blanks only."""
    if space == "any":
        return text.split()
    return [word for word in _BLANKS.sub(" ", text).strip().split(" ") if word]
