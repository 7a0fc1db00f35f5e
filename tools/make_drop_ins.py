"""Write the table of drop-ins in docs/compat.md from the list in `steelyard.compat.packages`.

Run: python tools/make_drop_ins.py
"""

from __future__ import annotations

import re
from pathlib import Path

from steelyard.compat.packages import DROP_INS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compat.md"
TABLE = re.compile(r"(?<=<!-- drop-ins: begin -->\n).*?(?=<!-- drop-ins: end -->)", re.S)


def page_with_table(page: str) -> str:
    """The page with the table as the list has it."""
    rows = ["| package | replaced | what differs |", "|---|---|---|"]
    for name, drop_in in DROP_INS.items():
        rows.append(f"| [{name} {drop_in.version}](compat/{name}.md) | {drop_in.replaces} | {drop_in.differs} |")
    return TABLE.sub(lambda _: "\n".join(rows) + "\n", page)


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
