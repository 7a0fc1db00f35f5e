"""A hook of mkdocs: the pages of each task come into the navigation by themselves.

`docs/NAME.md` stands in the section Tasks under its heading, `docs/catalogue/NAME.md` in the section of every metric.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.core import catalogue

DOCS = Path(__file__).resolve().parent.parent / "docs"


def on_config(config: Any) -> Any:
    """Put the pages of tasks in front of the section's own, and those of metrics behind."""
    pages = []
    metrics = [{name: f"catalogue/{name}.md"} for name in catalogue.MODULES]
    for name in catalogue.MODULES:
        page = DOCS / f"{name}.md"
        if page.exists():
            heading = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
            pages.append({heading: page.name})
    for section in config["nav"]:
        if "Tasks" in section:
            section["Tasks"] = [*pages, *section["Tasks"]]
        if "Every metric" in section:
            section["Every metric"] = [*section["Every metric"], *metrics]
    return config
