"""What a reply says: a number, yes or no, one of several choices; or nothing that can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_IN_WORDS = {word: float(value) for value, word in enumerate(_WORDS.split())} | {"none": 0.0}
_NUMBER = r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|[-+−]?\.\d+"
_ONLY_NUMBER = re.compile(rf"(?:{_NUMBER})\.?", re.ASCII)
_ANY_NUMBER = re.compile(rf"(?<![\w.,])(?:{_NUMBER})(?![\w%]|[.,]\d)", re.ASCII)


def read_number(text: str, read: str = "whole") -> float | None:
    """The number that a reply is, with a point for decimals and commas between thousands.

    `whole`: the reply is a number, or a word from zero to twenty, and nothing else. `only`: it may be a sentence, with
    one number in it.
    """
    text = text.strip()
    word = _IN_WORDS.get(text.rstrip(".!").lower())
    if word is not None:
        return word
    if _ONLY_NUMBER.fullmatch(text):
        return _value(text.removesuffix("."))
    if read == "only":
        numbers = _ANY_NUMBER.findall(text)
        spelt = [_IN_WORDS[w] for w in re.findall(r"[a-z]+", text.lower()) if w in _IN_WORDS and w != "none"]
        if len(numbers) == 1 and not spelt:
            return _value(numbers[0])
        if len(spelt) == 1 and not numbers:
            return spelt[0]
    return None


def _value(text: str) -> float | None:
    value = float(text.replace(",", "").replace("−", "-"))
    return value if abs(value) < 1e300 else None


_WORD = re.compile(r"[^\W_]+")


def _by_word(text: str) -> str:
    words = set(_WORD.findall(text.lower()))
    has = [word for word in ("yes", "no") if word in words]
    return has[0] if len(has) == 1 else "other"


def _by_whole(text: str) -> str:
    whole = text.strip().lower()
    return whole if whole in ("yes", "no") else "other"


def _by_pope(text: str) -> str:
    """As POPE's script reads it: up to the first full stop, no where it has a word for it, else yes."""
    words = text.split(".")[0].replace(",", "").split(" ")
    return "no" if {"No", "not", "no"} & set(words) else "yes"


YES_NO = {"word": _by_word, "whole": _by_whole, "pope": _by_pope}

_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}")
_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]*")
_LETTER_TEXT = re.compile(r"[(\[]?([A-Za-z])[)\].:]+\s*(.+)", re.DOTALL)
_SAID = re.compile(r"\b(?:answer|option|choice)\b(?:\s+is)?\s*:?\s*\**[(\[]?([A-Z])\b(?!['’]\w)")
_NOUN = re.compile(r"A\s+(?!(?:or|and|is|was|because|since|as)\b)[a-z]")
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|neither|nor|cannot)|n['’]t)(?:\s+be)?\s+(?:an?\s+|the\s+)?(?:(?:answer|option|choice)\s+)?[(\[*]*$",
    re.I,
)
_DENIED_BEHIND = re.compile(
    r"[)\]*]*\s+(?:(?:is|was|seems|looks)\s+(?:\w+ly\s+)?(?:not|wrong|incorrect|false)|isn['’]t|wasn['’]t)\b", re.I
)
_ALONE = re.compile(r"(?<![\w'’])([A-Z])(?![\w'’])")


def read_choice(text: str, options: Mapping[str, str], extract: str = "stated") -> str | None:
    """The letter of the option that a reply names; None where it names none or several.

    `strict`: the whole reply is a letter, a letter and that option's text, or an option's text. `stated`: else its
    first line is, or it says "the answer is B", or it names one letter or one option's text and no other. What is
    denied ("not A", "A is wrong") is not named.
    """
    text = _unwrap_reply(text)
    whole = _whole(text, options)
    if whole is not None or extract == "strict" or not text:
        return whole or None
    first = text.splitlines()[0].strip()
    if first != text:
        read = _whole(_unwrap_reply(first), options)
        if read is not None:
            return read or None
    said = (match for match in _SAID.finditer(text) if match[1] in options)
    letters = [match[1] for match in said if not _all_denied(text, [match.span(1)])]
    if letters:
        return letters[-1] if len(set(letters)) == 1 else None
    texts = {letter: spans for letter, option in options.items() if option and (spans := _places(text, option))}
    alone: dict[str, list[tuple[int, int]]] = {}
    for match in _ALONE.finditer(text):
        if match[1] in options and not _article(text, match.start(1)):
            alone.setdefault(match[1], []).append(match.span(1))
    if len(texts) == 1 and alone.keys() <= texts.keys():
        folded = _fold_reply(text)
        return next((letter for letter, spans in texts.items() if not _all_denied(folded, spans)), None)
    if len(alone) != 1 or texts:
        return None
    return next((letter for letter, spans in alone.items() if not _all_denied(text, spans)), None)


def _whole(text: str, options: Mapping[str, str]) -> str | None:
    """The letter, "" where letter and text disagree, None where it is neither."""
    alike = [letter for letter, option in options.items() if option and _fold_reply(option) == _fold_reply(text)]
    if len(alike) == 1:
        return alike[0]
    match = _LETTER.fullmatch(text)
    if match:
        return match[1].upper() if match[1].upper() in options else None
    match = _LETTER_TEXT.fullmatch(text)
    if match and match[1].upper() in options:
        letter, rest = match[1].upper(), match[2]
        named = [other for other, option in options.items() if option and _fold_reply(option) == _fold_reply(rest)]
        if named:
            return letter if letter in named else ""
        if len(rest.splitlines()) == 1 and not options[letter]:
            return letter
    return None


def _fold_reply(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _places(text: str, option: str) -> list[tuple[int, int]]:
    """Where the text of an option stands in a folded reply."""
    return [m.span() for m in re.finditer(rf"(?<!\w){re.escape(_fold_reply(option))}(?!\w)", _fold_reply(text))]


def _all_denied(text: str, places: Iterable[tuple[int, int]]) -> bool:
    """Whether a reply denies what it names, wherever it does: "not A", "A is wrong"."""
    return all(_DENIED_BEFORE.search(text, max(0, a - 40), a) or _DENIED_BEHIND.match(text, b) for a, b in places)


def _article(text: str, place: int) -> bool:
    """Whether an A may be the article: at the start of a sentence, before a small word."""
    starts = not text[:place].strip() or text[:place].rstrip()[-1] in ".!?:"
    return text[place] == "A" and starts and _NOUN.match(text, place) is not None


def _unwrap_reply(text: str) -> str:
    """Without what only frames a reply: emphasis, quotes, a box of LaTeX, JSON with an answer in it."""
    text = text.strip()
    boxed = _BOXED.findall(text)
    if len(boxed) == 1:
        text = boxed[0].strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and isinstance(value.get("answer"), str):
            text = value["answer"].strip()
    return text.strip("*_`\"' \n\t")
