"""A hook of mkdocs: formulas between dollar signs become MathML, which browsers show without any script."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)
INLINE = re.compile(r"(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<!\s)\$(?![\w$])")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace formulas outside code: display ones, which scroll on a narrow screen, and those inside a line."""
    parts = CODE.split(markdown)
    return "".join(part if place % 2 else _formulas(part) for place, part in enumerate(parts))


def _formulas(text: str) -> str:
    text = re.sub(r"\$\$\n(.*?)\n\$\$", lambda m: _block(m[1].replace("\n", " ")), text, flags=re.S)
    return INLINE.sub(lambda m: convert(m[1].replace("\\|", "|")).replace("|", "&#124;"), text)


def _block(formula: str) -> str:
    return f'<div style="overflow-x: auto">{convert(formula, display="block")}</div>'
