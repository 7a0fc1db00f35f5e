"""How OmniDocBench 1.6.0 rewrites the HTML of a table before it is compared.

Headers become cells, sections and spans go, texts of cells are normalised (NFKC, LaTeX names and signs of one meaning
to one character), style goes, and everything from the first `<table>` to the last `</table>` becomes one table.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter

VOID = frozenset(
    (
        "area",
        "base",
        "basefont",
        "bgsound",
        "br",
        "col",
        "command",
        "embed",
        "frame",
        "hr",
        "image",
        "img",
        "input",
        "isindex",
        "keygen",
        "link",
    )
)
VOID |= frozenset(("menuitem", "meta", "nextid", "param", "source", "spacer", "track", "wbr"))
DROPPED = ("thead", "tbody", "span")
# Names of LaTeX and signs, replaced in this order.
_LATEX = (
    "√ checkmark checked surd; × times xmark crossmark; ± pm; ∓ mp; α alpha; β beta; γ gamma gama; μ mu; λ lambda; "
    "θ theta; η eta; π pi; ρ rho; σ sigma; ω omega; δ delta; Δ Delta; ε epsilon varepsilon; φ phi varphi; τ tau; "
    "∂ partial; ∅ varnothing emptyset; ～ sim"
)
SIGNS = (
    *(("\\" + name, part.split()[0]) for part in _LATEX.split(";") for name in part.split()[1:]),
    *((sign, "√") for sign in "✓✔☑✅🗸"),
    *((sign, "×") for sign in "✗✘✕✖☒❌╳⨯"),
    ("Ø", "∅"),
    ("∼", "～"),
    ("〜", "～"),
    *(("\\" + sign, sign) for sign in "%#&_"),
)
DASHES = frozenset("-–−－—")
MATH = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
LONGEST_MATH = 128
_TAG = re.compile(r"<!--(.*?)-->|<(/?)([A-Za-z][^\s/>]*)((?:\"[^\"]*\"|'[^']*'|[^'\">])*)>|<![^>]*>", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([^\s/>=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")


def _replace_signs(text: str) -> str:
    for sign, meant in SIGNS:
        text = text.replace(sign, meant)
    return text


def _without_math_marks(text: str) -> str:
    text = text.strip()
    while True:
        for left, right in MATH:
            if text.startswith(left) and text.endswith(right) and len(text) >= len(left) + len(right):
                inner = text[len(left) : len(text) - len(right)].strip()
                if inner and len(inner) <= LONGEST_MATH and not set(inner) & set("<>$"):
                    text = inner
                    break
        else:
            return text


def normalised_cell(text: str) -> str:
    """A text of a cell as it is compared."""
    if not text.isascii() or "\\" in text or "$" in text:
        text = unicodedata.normalize("NFKC", text).replace("\xa0", " ").replace("\u200b", "")
        text = _replace_signs(_without_math_marks(_replace_signs(text)))
    if text.strip() in DASHES:
        text = "—"
    return " ".join(text.split())


class _Rewriting:
    """Tags and texts of the output; open elements close where one around them does."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.open: list[str] = []
        self.count: Counter[str] = Counter()  # of each name in `open`: deep tables must not take quadratic time

    def add_text(self, text: str) -> None:
        if not self.count["math"]:
            self.out.append(normalised_cell(text) if self.count["td"] else text)

    def add_comment(self, text: str) -> None:
        """A comment in a cell becomes text where normalising changes it."""
        if self.count["td"] and normalised_cell(text) != text:
            self.out.append(normalised_cell(text))

    def start(self, name: str, attributes: str) -> None:
        name = "td" if name == "th" else name
        if name == "math":
            self.out.append(f"${_attributes(attributes).get('alttext', '')}$")
        elif name not in DROPPED and not self.count["math"]:
            pairs = sorted(_attributes(attributes).items())
            shown = "".join(f' {key}="{value}"' for key, value in pairs)
            self.out.append(f"<{name}{shown}/>" if name in VOID else f"<{name}{shown}>")
        if name not in VOID:
            self.open.append(name)
            self.count[name] += 1

    def end(self, name: str) -> None:
        name = "td" if name == "th" else name
        while self.count[name] and self._close() != name:
            pass

    def _close(self) -> str:
        name = self.open.pop()
        self.count[name] -= 1
        if name not in DROPPED and name != "math" and not self.count["math"]:
            self.out.append(f"</{name}>")
        return name

    def finish(self) -> str:
        while self.open:
            self._close()
        return "".join(self.out)


def _attributes(text: str) -> dict[str, str]:
    return {
        match[1].lower(): html.unescape((match[2] or "").strip("\"'")) for match in _ATTRIBUTE.finditer(text.strip())
    }


def _rewrite(text: str) -> str:
    rewriting, place = _Rewriting(), 0
    for tag in _TAG.finditer(text):
        if tag.start() > place:
            rewriting.add_text(html.unescape(text[place : tag.start()]))
        place = tag.end()
        if tag[1] is not None:
            rewriting.add_comment(tag[1])
        elif tag[3] is not None:
            name = tag[3].lower()
            if tag[2]:
                rewriting.end(name)
            else:
                rewriting.start(name, tag[4].strip().removesuffix("/"))
    if place < len(text):
        rewriting.add_text(html.unescape(text[place:]))
    return rewriting.finish()


def normalised_table(text: str) -> str:
    """The HTML that is compared; nothing where there is no table."""
    if "<table" not in text.replace(" ", ""):
        return ""
    text = unicodedata.normalize("NFKC", _rewrite(text).replace("\n", "")).strip()
    match = re.search(r"<table\b[^>]*>(.*)</table>", text, re.DOTALL | re.IGNORECASE)
    text = match[1] if match else ""
    for name in ("style", "height", "width", "align", "class"):
        text = re.sub(f' {name}=".*?"', "", text)
    text = f'<html><body><table border="1" >{re.sub(chr(92) + "s+", " ", text)}</table></body></html>'
    text = re.sub(r"</?(?:tbody|sup|sub|span|div|p)>", "", text)
    return re.sub("<colgroup>.*?</colgroup>", "", text)
