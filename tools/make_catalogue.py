"""Write docs/catalogue.md and a page for each task, docs/catalogue/TASK.md, from the metric classes.

Run: python tools/make_catalogue.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.core import catalogue
from steelyard.core.metric import Metric, describe
from steelyard.core.task import Task
from steelyard.render.catalogue import range_text, settings_text
from steelyard.render.text import ARROWS, legend

DOCS = Path(__file__).parent.parent / "docs"
MADE = "Made from the code by `tools/make_catalogue.py`."


def entry(metric: Metric) -> list[str]:
    """All that is said of one metric."""
    about = describe(type(metric))
    facts = [
        f"{ARROWS[metric.better]} from {range_text(metric)}"
        + (f", in {metric.measured_in}" if metric.measured_in else ""),
        f"settings: {settings_text(metric)}",
        f"checked with: {metric.reference or 'hand-calculated values'}",
        f"undefined {about.undefined}",
    ]
    body = [f"## `{metric}`", about.summary, f"$$\n{about.formula}\n$$", about.meaning]
    body.append("\n".join(f"- {fact}" for fact in facts))
    body.append("\n".join([*(f"- good: {p}" for p in about.pros), *(f"- beware: {c}" for c in about.cons)]))
    return [text for text in body if text]


def task_page(task: Task) -> str:
    """The page of a task."""
    parts = [
        f"# {task.title}: every metric of `{task.name}`",
        f"Unit: the {task.unit}. By default: " + ", ".join(f"`{spec}`" for spec in task.defaults) + ". "
        f"{legend(ARROWS)}. *Checked with* names the implementation that the tests hold a metric against. {MADE}",
    ]  # fmt: skip
    for metric in catalogue.metrics(task.name):
        parts += entry(metric)
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The page that leads to the others: each metric in a line."""
    parts = ["# Every metric", f"With its formula on the page of its task. {MADE}"]
    for task in catalogue.built_in().values():
        rows = [f"| `{m}` | {describe(type(m)).summary} |" for m in catalogue.metrics(task.name)]
        parts.append(f"## [{task.title}](catalogue/{task.name}.md)")
        parts.append("\n".join([f"| `{task.name}` | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """Every page that is made, with its text."""
    made = {DOCS / "catalogue" / f"{task.name}.md": task_page(task) for task in catalogue.built_in().values()}
    return {DOCS / "catalogue.md": index(), **made}


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Pages that lack, differ, or are of no task any more."""
    there = {DOCS / "catalogue.md", *(DOCS / "catalogue").glob("*.md")} | wanted.keys()
    return [p for p in sorted(there) if not p.exists() or p not in wanted or p.read_text(encoding="utf-8") != wanted[p]]


if __name__ == "__main__":
    wanted = pages()
    changed = stale(wanted)
    if "--check" in sys.argv:
        if changed:
            names = ", ".join(path.relative_to(DOCS.parent).as_posix() for path in changed)
            sys.exit(f"stale: {names}; run python tools/make_catalogue.py")
    else:
        (DOCS / "catalogue").mkdir(exist_ok=True)
        for path in changed:
            if path in wanted:
                path.write_text(wanted[path], encoding="utf-8")
            else:
                path.unlink()
