r"""Formulas for a terminal: the small part of LaTeX that our docstrings use, in plain characters.

`\frac{a}{b}` becomes `a / b`, `\hat y` becomes `ŷ`, `\sum_i` becomes `Σᵢ`. What is not known is left as it stands.
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
    "epsilon": "ε", "kappa": "κ", "rho": "ρ", "tau": "τ", "phi": "φ", "Phi": "Φ", "arg": "arg", "ell": "ℓ",
}  # fmt: skip
_SUBSCRIPT = dict(zip("0123456789aehijklmnoprstuvx+-=()", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ₊₋₌₍₎", strict=True))
_SUPERSCRIPT = dict(zip("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", strict=True))
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303"}
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"


def plain_formula(latex: str) -> str:
    """The formula in one line of plain characters."""
    text = latex.replace("\\;", " ").replace("\\,", " ").replace("\\!", "").replace("\\ ", " ")
    text = re.sub(r"\\(left|right|bigl|bigr|big)\b", "", text)
    previous = ""
    while previous != text:
        previous = text
        text = re.sub(r"\\(?:mathrm|text|mathit|operatorname|mathbf)" + _GROUP, r"\1", text)
        text = re.sub(r"\\sqrt" + _GROUP, r"√(\1)", text)
        text = re.sub(r"\\[dt]?frac" + _GROUP + _GROUP, lambda m: f"{_term(m[1])} / {_term(m[2])}", text)
        for name, accent in _ACCENTS.items():
            text = re.sub(
                rf"\\{name}\s*(?:{_GROUP}|(\w))",
                lambda m, accent=accent: _accented(m[1] or m[2], accent),  # type: ignore[misc]
                text,
            )
    text = re.sub(r"\\([A-Za-z]+)", lambda m: _SYMBOLS.get(m[1], m[0]), text)
    text = re.sub(rf"_(?:{_GROUP}|(\w))", lambda m: _script(m[1] or m[2], _SUBSCRIPT, "_"), text)
    text = re.sub(rf"\^(?:{_GROUP}|(\w))", lambda m: _script(m[1] or m[2], _SUPERSCRIPT, "^"), text)
    text = text.replace("\\{", "{").replace("\\}", "}").replace("\\%", "%").replace("-", "−")
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _term(text: str) -> str:
    """Brackets around what a fraction bar would have held together."""
    return f"({text})" if re.search(r"[\s+\-/]|\\sum|\\[dt]?frac", text.strip()) else text


def _accented(text: str, accent: str) -> str:
    return unicodedata.normalize("NFC", text[:1] + accent + text[1:])


def _script(text: str, table: dict[str, str], mark: str) -> str:
    bare = text.replace(" ", "")
    is_word = len(bare) > 2 and bare.isalpha()
    if not is_word and all(c in table for c in bare):
        return "".join(table[c] for c in bare)
    return f"{mark}{bare}" if bare.isalnum() else f"{mark}({text})"
