"""A hook of mkdocs: the page of each task, `docs/NAME.md`, comes into the section Tasks under its heading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.metrics import catalogue

DOCS = Path(__file__).resolve().parent.parent / "docs"


def on_config(config: Any) -> Any:
    """Put the pages of tasks in front of the section's own."""
    pages = []
    for name in catalogue.MODULES:
        page = DOCS / f"{name}.md"
        if page.exists():
            heading = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
            pages.append({heading: page.name})
    for section in config["nav"]:
        if "Tasks" in section:
            section["Tasks"] = [*pages, *section["Tasks"]]
    return config
