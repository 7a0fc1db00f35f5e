"""A hook of mkdocs: formulas between double dollar signs become MathML, which browsers show without any script."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each display formula; a long one scrolls by itself on a narrow screen."""
    return re.sub(r"\$\$\n(.*?)\n\$\$", lambda m: _block(m[1].replace("\n", " ")), markdown, flags=re.S)


def _block(formula: str) -> str:
    return f'<div style="overflow-x: auto">{convert(formula, display="block")}</div>'
