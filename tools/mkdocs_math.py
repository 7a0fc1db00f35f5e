"""A hook of mkdocs: formulas between double dollar signs become MathML, which browsers show without any script."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each display formula."""
    return re.sub(
        r"\$\$\n(.*?)\n\$\$", lambda m: convert(m[1].replace("\n", " "), display="block"), markdown, flags=re.S
    )
