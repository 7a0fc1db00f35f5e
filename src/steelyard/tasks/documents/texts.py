"""Normalised texts and formulas: what is compared, by rule.

`words` folds compatibility characters (NFKC) and blanks and keeps case and punctuation. `omnidocbench` keeps letters,
digits and underscores, as OmniDocBench 1.6.0 does: blanks, punctuation and currency are free. `as_is` keeps the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

Norm = Literal["words", "omnidocbench", "as_is"]

# No pattern may take quadratic time on a reply that loops; formulas are at most MOST_FORMULA long.
MOST_FORMULA = 4096  # characters; a longer one is compared without its blanks alone
_INLINE = re.compile(r"\$([^$\n]*)\$|\\\(((?:(?!\\[()])[^\n])*)\\\)")
_CIRCLED = {
    **{0x2460 + i: str(i + 1) for i in range(20)},
    **{0x24D0 + i: chr(ord("a") + i) for i in range(26)},
    **{0x24B6 + i: chr(ord("A") + i) for i in range(26)},
}
_CIRCLE = re.compile(r"\\textcircled\s*\{([^{}]+)\}")
_NOT_A_LETTER = re.compile(r"[^\w\u4e00-\u9fff]")
_MARKS = re.compile(r"\\t|\\n|\t|\n|/t|/n")
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"  # noqa: E501
_LETTERS = {
    **{name: chr(c) for name, c in zip(_GREEK.split(), (*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA)), strict=True)},
    **{
        name.capitalize(): chr(c)
        for name, c in zip(_GREEK.split(), (*range(0x391, 0x3A2), *range(0x3A3, 0x3AA)), strict=True)
    },
    "epsilon": "ϵ",
    "varepsilon": "ε",
    "vartheta": "ϑ",
    "varpi": "ϖ",
    "varrho": "ϱ",
    "varsigma": "ς",
    "phi": "ϕ",
    "varphi": "φ",
    "ell": "ℓ",
    "varkappa": "ϰ",
    "digamma": "ϝ",
    "hbar": "ħ",
    "hslash": "ℏ",
    "aleph": "ℵ",
    "beth": "ℶ",
    "gimel": "ℷ",
    "daleth": "ℸ",
    "i": "ı",
    "j": "ȷ",
    "AA": "Å",
    "aa": "å",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "ss": "ß",
    "l": "ł",
    "L": "Ł",
}
_FUNCTIONS = re.compile(
    "arccos|arcsin|arctan|cosh?|coth?|csc|deg|det|dim|exp|gcd|hom|inf|ker|lg|lim|liminf|limsup|ln|log|max|min|sec|sinh?|"
    "sup|tanh?"
)
_FONT = re.compile(r"\\(mathbf|mathit|mathbb|mathcal|mathscr|mathfrak|mathsf|mathtt)(?![A-Za-z]) *")
# Of each font: the names of its letters in Unicode, of which a letter has the first that exists.
_FONT_NAMES = {
    "mathbf": ("MATHEMATICAL BOLD",),
    "mathit": ("MATHEMATICAL ITALIC",),
    "mathbb": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    "mathcal": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "mathscr": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "mathfrak": ("MATHEMATICAL FRAKTUR", "BLACK-LETTER"),
    "mathsf": ("MATHEMATICAL SANS-SERIF",),
    "mathtt": ("MATHEMATICAL MONOSPACE",),
}
_DEGREE = re.compile(r"\\sqrt *\[[^\[\]]*\]")
# What pylatexenc leaves out together with its argument.
_LEFT_OUT = re.compile(
    r"\\([hv]space|[hv]phantom|x(?:left|right)arrow|text(?:sf|tt|up|md|color)|(?:color|m)box|color|label)"
    r"(?![A-Za-z])\*? *(?:\[[^\[\]]*\])? *"
)
_ACCENTS = {
    **dict.fromkeys(("hat", "^"), "\u0302"),
    **dict.fromkeys(("tilde", "~"), "\u0303"),
    **dict.fromkeys(("acute", "'"), "\u0301"),
    **dict.fromkeys(("grave", "`"), "\u0300"),
    **dict.fromkeys(("dot", "."), "\u0307"),
    **dict.fromkeys(("ddot", '"'), "\u0308"),
    **dict.fromkeys(("check", "v"), "\u030c"),
    **dict.fromkeys(("breve", "u"), "\u0306"),
    "=": "\u0304",
    "c": "\u0327",
    "H": "\u030b",
    "k": "\u0328",
    "b": "\u0331",
    "d": "\u0323",
    "r": "\u030a",
}
_ACCENT = re.compile(r"\\((?:" + "|".join(filter(str.isalpha, _ACCENTS)) + r")(?![A-Za-z])|[.=^~\"'`]) *")
_MACRO = re.compile(r"\\([^\W\d_²³¹⁰-₉¼-¾]+)\*? *|\\(.)|[{}~]", re.DOTALL)
_COMPLEX = ("\\begin{", "\\end{", "\\array", "\\matrix", "\\tabular", "\\cases", "\\align", "\\\\", "&")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}")


def normalise(text: str, norm: Norm) -> str:
    """A text as a rule compares it."""
    if norm == "as_is":
        return text.strip()
    if norm == "words":
        return " ".join(unicodedata.normalize("NFKC", text).split())
    return letters_only(inline_to_unicode(text))


def letters_only(text: str) -> str:
    """Letters, digits and underscores."""
    return _NOT_A_LETTER.sub("", _MARKS.sub("", _circles(text)))


def _circles(text: str) -> str:
    return _CIRCLE.sub(lambda match: match.group(1).strip(), text).translate(_CIRCLED)


def inline_to_unicode(text: str) -> str:
    """The text with its inline formulas as Unicode, where these are simple."""

    def convert(match: re.Match[str]) -> str:
        content = match.group(1) if match.group(1) is not None else match.group(2)
        content = re.sub(r"\\([\\_&%^])", "", content)
        if not any(mark in content for mark in "\\^_"):
            return match.group(0)
        content += " " * content.endswith("\\")
        bare = content.strip()
        if len(bare) > 128 or any(token in bare for token in _COMPLEX) or bare.count("{") != bare.count("}"):
            return match.group(0)
        return latex_to_text(content).strip()

    return _INLINE.sub(convert, _circles(text))


def latex_to_text(latex: str) -> str:
    """What a formula says in Unicode; letters and digits are what matters, signs of operators are left out."""
    bare = latex.strip()
    if not bare or not any(mark in bare for mark in "\\{}$") or _is_weak(bare) or not _is_balanced(bare):
        return latex

    bare = _with_arguments(_DEGREE.sub("", bare), _LEFT_OUT, lambda *_: "{}")
    return " ".join(_spoken(_with_arguments(bare, _FONT, _in_font)).split())


def _with_arguments(latex: str, command: re.Pattern[str], say: Callable[[str, str], str]) -> str:
    """The formula with what is said for a command and its argument in the place of both."""
    parts, last = [], 0
    for match in command.finditer(latex):
        if match.start() < last:
            continue
        end = _argument_end(latex, match.end())
        parts += [latex[last : match.start()], say(match[1], latex[match.end() : end])]
        last = end
    return "".join([*parts, latex[last:]])


def _in_font(font: str, argument: str) -> str:
    """The letters of Unicode for those in a font: `\\mathbb{R}` is ℝ."""
    letters = re.sub(r"(\\[A-Za-z]+)|([A-Za-z])", lambda match: match[1] or _letter(match[2], font), argument)
    return f"{{{letters}}}"


def _spoken(latex: str) -> str:
    """The letters of a formula without its commands; `\\hat{a}` is â."""

    def convert(match: re.Match[str]) -> str:
        name, sign = match.group(1), match.group(2)
        if name is None:
            return sign if sign is not None and sign in "{}$&%#_" else " " if match.group(0) == "~" else ""
        return _LETTERS.get(name, name if _FUNCTIONS.fullmatch(name) else "")

    return _MACRO.sub(convert, _with_arguments(latex, _ACCENT, _accented))


def _accented(accent: str, argument: str) -> str:
    """Each letter with the accent, as one character where Unicode has it."""
    letters = _spoken(argument).strip().translate({0x131: "i", 0x237: "j"})
    return f"{{{''.join(unicodedata.normalize('NFC', letter + _ACCENTS[accent]) for letter in letters)}}}"


def _argument_end(latex: str, start: int) -> int:
    """Where the argument of a command ends: a group, a command or a letter."""
    if command := re.compile(r"\\[A-Za-z]+").match(latex, start):
        return command.end()
    depth = 0
    for at in range(start, len(latex)):
        depth += {"{": 1, "}": -1}.get(latex[at], 0)
        if depth <= 0:
            return at + 1
    return len(latex)


def _letter(letter: str, font: str) -> str:
    """A letter in a font."""
    size = "SMALL" if letter.islower() else "CAPITAL"
    for names in _FONT_NAMES[font]:
        try:
            return unicodedata.lookup(f"{names} {size} {letter.upper()}")
        except KeyError:
            continue
    return "ℎ"  # the italic h is that of Planck's constant


def _is_weak(latex: str) -> bool:
    """Whether it is prose that happens to stand between dollars."""
    commands, words = len(_COMMAND.findall(latex)), len(_WORD.findall(latex))
    signs = sum(mark in "{}$^_=&%#" for mark in latex)
    if "\\" in latex and not commands and not signs:
        return True
    return (words >= 2 and not commands and signs <= 1) or (words >= 4 and commands <= 1 and signs <= 2)


def _is_balanced(latex: str) -> bool:
    depth = 0
    for token in re.findall(r"\\.|[{}]", latex, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth < 0:
            return False
    sides = [len(re.findall(rf"\\{side}\b", latex)) for side in ("left", "right")]
    return depth == 0 and sides[0] == sides[1]


_DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_DROPPED = (
    "\\mathbf",
    "\\mathrm",
    "\\mathnormal",
    "\\mathit",
    "\\mathbb",
    "\\mathcal",
    "\\mathscr",
    "\\mathfrak",
    "\\mathsf",
    "\\mathtt",
    "\\textbf",
    "\\text",
    "\\boldmath",
    "\\boldsymbol",
    "\\operatorname",
    "\\bm",
    "\\symbfit",
    "\\mathbfcal",
    "\\symbf",
    "\\scriptscriptstyle",
    "\\notag",
    "\\setlength",
    "\\coloneqq",
    "\\space",
    "\\thickspace",
    "\\thinspace",
    "\\medspace",
    "\\nobreakspace",
    "\\negmedspace",
    "\\quad",
    "\\qquad",
    "\\enspace",
    "\\substackw",
    " ",
    "$$",
    "\\left",
    "\\right",
    "\\displaystyle",
    "\\text",
)
_FORMULA_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\\[!,;:]", ""),
        (r"(?<!\\)&", ""),
        (r"\\mid|\\vert", "|"),
        (r"\\\{|\\\}|~", ""),
        (r"\\hspace\{.*?\}", ""),
        (r"\\begin\{.*?\}", ""),
        (r"\\end\{.*?\}", ""),
        (r"\\arraycolsep.*?\}", ""),
        (r"\{[lcr| ]+\}", ""),
    )
)
_INNER = re.compile(r"\\\[(.+?)(?<!\\)\\\]|\\\((.+?)(?<!\\)\\\)")
_PLAIN_GROUP = re.compile(r"\{([A-Za-z0-9.+\-]+)\}")
_ANY_GROUP = re.compile(r"\{([^{}]{1,160})\}")
_OPERATORS = ("=", "+", "-", "\\\\", "^", "_", "[", "]", "(", ")")


def strip_delimiters(formula: str) -> str:
    """The formula without what encloses it."""
    formula = formula.strip()
    while len(formula) <= MOST_FORMULA:
        for left, right in _DELIMITERS:
            if formula.startswith(left) and formula.endswith(right) and len(formula) >= len(left) + len(right):
                formula = formula[len(left) : len(formula) - len(right)].strip()
                break
        else:
            break
    return formula


def _without_command(text: str, command: str, star: bool) -> str:
    """The text without a command and its argument; a command whose argument does not end loses its name alone."""
    pattern = re.compile(re.escape(command) + (r"(?![A-Za-z])\s*\*?\s*\{" if star else r"\{"))
    while match := pattern.search(text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        if depth:
            return text[: match.start()] + text[match.start() + len(command) :]
        text = text[: match.start()] + text[at:]
    return text


def normalise_formula(formula: str, norm: Norm = "words") -> str:
    """A formula without fonts, spacing, tags and braces that change nothing, in lower case; OmniDocBench's rule."""
    if norm == "as_is":
        return strip_delimiters(formula)
    if len(formula) > MOST_FORMULA:
        return re.sub(r"\s+", "", formula)
    text = strip_delimiters(_circles(formula))
    text = _without_command(text, "\\tag", star=True).replace("\\notag", "").replace("\\nonumber", "")
    if match := _INNER.search(text):
        text = (match.group(1) or match.group(2) or "").strip()
    text = _without_command(text, "\\phantom", star=False)
    for pattern, replacement in _FORMULA_STEPS:
        text = pattern.sub(replacement, text)
    text = text.strip(".")
    for command in _DROPPED:
        text = text.replace(command, "")
    before = ""
    while text != before:
        before = text
        text = _PLAIN_GROUP.sub(r"\1", text).replace("{}", "")
        text = re.sub(r"}}+", "}", re.sub(r"\{\{+", "{", text))
        text = _ANY_GROUP.sub(
            lambda m: m.group(1) if any(sign in m.group(1) for sign in _OPERATORS) else m.group(0), text
        )
    return re.sub(r"\s+", "", text.lower())


def glue(texts: Sequence[str], norm: Norm) -> list[int]:
    """The code point that goes before each text where it is joined to the one before it; 0 for none."""
    if norm == "omnidocbench":
        return [0] * len(texts)
    if norm == "as_is":
        return [10] * len(texts)
    return [0 if before and after and _joins(before[-1], after[0]) else 32 for before, after in _neighbours(texts)]


def _neighbours(texts: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(["", *texts[:-1]], texts, strict=True)) if texts else []


def _joins(before: str, after: str) -> bool:
    """Whether a line that ends so goes on without a blank: Chinese and Japanese."""
    return _is_wide(before) and _is_wide(after)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF" and not "\uac00" <= letter <= "\ud7a3"


def join_texts(texts: Sequence[str], norm: Norm) -> str:
    """Texts as one, as `glue` joins them."""
    marks = glue(texts, norm)
    return "".join(
        (chr(mark) if mark and place else "") + text
        for place, (mark, text) in enumerate(zip(marks, texts, strict=True))
    )


FOLD: Callable[[str], str] = lambda text: " ".join(text.split())  # noqa: E731  # blanks folded, all else kept
