"""Write the tables of docs/check.md from the checks. Run: python tools/make_checks.py [--check]"""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.checks.catalogue import tables
from steelyard.core.catalogue import built_in

PAGE = Path(__file__).parent.parent / "docs" / "check.md"
BEGIN, END = "<!-- checks: made by tools/make_checks.py -->\n", "<!-- end of checks -->\n"


def page(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables(built_in())}\n{END}{tail}"


if __name__ == "__main__":
    now = PAGE.read_text(encoding="utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(page(now), encoding="utf-8")
    elif now != page(now):
        sys.exit("docs/check.md is stale; run python tools/make_checks.py")
