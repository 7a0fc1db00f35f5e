r"""Formulas for a terminal: the small part of LaTeX that our docstrings use, in plain characters.

`\frac{a}{b}` becomes `a / b`, in brackets where something is multiplied with it, `\hat y` becomes `ŷ`, `\sum_i` becomes
`Σᵢ`, `\overline{x}` becomes `mean(x)`. A test holds that no formula of the catalogue keeps a command of LaTeX.
"""

from __future__ import annotations

import re
import unicodedata

_SYMBOLS = {
    "sum": "Σ", "prod": "Π", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "in": "∈", "cdot": "·", "times": "×",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "sigma": "σ", "theta": "θ", "pi": "π", "lambda": "λ",
    "infty": "∞", "log": "log", "max": "max", "min": "min", "exp": "exp", "ln": "ln", "cap": "∩", "cup": "∪",
    "neq": "≠", "approx": "≈", "ldots": "…", "dots": "…", "mid": "|", "lvert": "|", "rvert": "|", "quad": "  ",
    "sin": "sin", "cos": "cos", "pm": "±", "to": "→", "forall": "∀", "mu": "μ", "Sigma": "Σ", "Delta": "Δ",
    "epsilon": "ε", "kappa": "κ", "rho": "ρ", "tau": "τ", "phi": "φ", "Phi": "Φ", "arg": "arg ", "ell": "ℓ", "psi": "ψ",
    "int": "∫", "otimes": "⊗", "wedge": "∧", "notin": "∉", "ne": "≠", "exists": "∃", "triangle": "△", "dagger": "†",
    "lVert": "‖", "rVert": "‖", "circ": "∘", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋",
}  # fmt: skip
_SUBSCRIPT = dict(zip("0123456789aehijklmnoprstuvx+-=()", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ₊₋₌₍₎", strict=True))
_SUPERSCRIPT = dict(zip("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", strict=True))
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303"}
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


_BEFORE, _AFTER = "=+-,;:([{<>≤≥", "=+-,;:)]}<>≤≥"  # what ends a product: beside these a fraction needs no brackets


def plain_formula(latex: str) -> str:
    """The formula in one line of plain characters."""
    text = re.sub(r"\\;/\\;\s*(.+)$", _over, latex)  # a slash with spaces: all that follows is its denominator
    text = text.replace("\\;", " ").replace("\\,", " ").replace("\\!", "").replace("\\ ", " ").replace("\\text{-}", "‐")
    text = text.replace("\\|", "‖").replace("\\#", "#").replace("\\{", "⟨").replace("\\}", "⟩")
    text = re.sub(r"\\(left|right|[Bb]igl?|[Bb]igr)(?![a-z])", "", text)
    text = re.sub(r"\\tfrac\s*(?:12|\{1\}\{2\})", "½", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda m: _SYMBOLS.get(m[1], m[0]), text)
    previous = ""
    while previous != text:
        previous = text
        text = re.sub(r"\\(?:mathrm|text|mathit|operatorname|mathbf)" + _GROUP, r"\1", text)
        text = re.sub(r"\\sqrt" + _GROUP, r"√(\1)", text)
        text = re.sub(r"\\overline" + _GROUP, r"mean(\1)", text)
        text = re.sub(r"\\[dt]?frac" + _GROUP + r"\s*" + _GROUP, _fraction, text)
        for name, accent in _ACCENTS.items():
            text = re.sub(
                rf"\\{name}\s*(?:{_GROUP}|(\w))",
                lambda m, accent=accent: _add_accent(m[1] or m[2], accent),  # type: ignore[misc]
                text,
            )
    text = re.sub(rf"_(?:{_GROUP}|([\w+-]))", lambda m: _script(m[1] or m[2], _SUBSCRIPT, "_"), text)
    text = re.sub(rf"\^(?:{_GROUP}|([\w†]))", lambda m: _script(m[1] or m[2], _SUPERSCRIPT, "^"), text)
    text = text.replace("-", "−").replace("‐", "-").replace("⟨", "{").replace("⟩", "}")
    text = re.sub(r"([(\[]) +| +([)\]])", r"\1\2", " ".join(text.split()))
    return unicodedata.normalize("NFC", text)


def _over(match: re.Match[str]) -> str:
    """A denominator behind a slash, in brackets where it has a fraction of its own."""
    return f" / ({match[1]})" if "frac" in match[1] else f" / {match[1]}"


def _fraction(match: re.Match[str]) -> str:
    """A fraction on one line, in brackets where it is a factor of a product."""
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip()
    alone = (not before or before[-1] in _BEFORE) and (not after or after[0] in _AFTER)
    line = f"{_term(match[1])} / {_term(match[2])}"
    return line if alone else f"({line}) " if after[:1].isalpha() or after[:1] in "ΣΠ" else f"({line})"


def _term(text: str) -> str:
    """Brackets around what a fraction bar would have held together."""
    text = text.strip()
    if re.fullmatch(r"\|[^|]*\||‖[^‖]*‖|√?(?:\w{2,})?\([^()]*\)", text) or not re.search(
        r"[\s+\-/Σ⟨]|\\[dt]?frac", text
    ):
        return text
    return f"({text})"


def _add_accent(text: str, accent: str) -> str:
    return unicodedata.normalize("NFC", text[:1] + accent + text[1:])


def _script(text: str, table: dict[str, str], mark: str) -> str:
    bare = text.replace(" ", "")
    if mark == "^" and bare in "*†":
        return bare
    is_word = len(bare) > 2 and bare.isalpha()
    if not is_word and all(c in table for c in bare):
        return "".join(table[c] for c in bare)
    return f"{mark}{bare}" if bare.isalnum() else f"{mark}({text})"
