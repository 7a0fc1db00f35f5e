"""Make a notebook of a page of the docs: prose becomes Markdown cells, Python blocks become code cells.

    python tools/make_notebook.py [--check]

Output is left out: a notebook makes its own. `--check` says whether the committed notebooks are up to date.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"docs/training.md": "examples/notebooks/training.ipynb"}
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n.*?^```\n)?", re.M | re.S)


def notebook(page: Path) -> dict[str, Any]:
    """The notebook of a page."""
    cells: list[dict[str, Any]] = []
    text, at = page.read_text(encoding="utf-8"), 0
    for match in [*BLOCK.finditer(text), None]:
        prose = text[at : match.start() if match else len(text)].strip()
        if prose:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": prose})
        if match:
            code = match[1].rstrip("\n")
            cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code})
            at = match.end()
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def main() -> None:
    for page, target in PAGES.items():
        text = json.dumps(notebook(ROOT / page), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        path = ROOT / target
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{target} is not that of {page}: run tools/make_notebook.py")


if __name__ == "__main__":
    main()
