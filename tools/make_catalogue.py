"""Write docs/catalogue.md from the metric classes. Run: python tools/make_catalogue.py [--check]"""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.core.metric import describe
from steelyard.metrics import catalogue
from steelyard.render.catalogue import range_text, settings_text
from steelyard.render.text import ARROWS, legend

PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"


def page() -> str:
    parts = [
        "# Every metric",
        "Made from the code by `tools/make_catalogue.py`. *Checked with* names the implementation that the tests hold "
        "a metric against.",
        f"{legend(ARROWS)}.",
    ]
    for task in catalogue.built_in().values():
        parts.append(f"## {task.name}: {task.title}\n\nUnit: the {task.unit}. By default: "
                     + ", ".join(f"`{spec}`" for spec in task.defaults) + ".")  # fmt: skip
        for metric in catalogue.metrics(task.name):
            about = describe(type(metric))
            facts = [
                f"{ARROWS[metric.better]} from {range_text(metric)}"
                + (f", in {metric.measured_in}" if metric.measured_in else ""),
                f"settings: {settings_text(metric)}",
                f"checked with: {metric.reference or 'hand-calculated values'}",
                f"undefined {about.undefined}",
            ]
            body = [f"### `{metric}`", about.summary, f"$$\n{about.formula}\n$$", about.meaning]
            body.append("\n".join(f"- {fact}" for fact in facts))
            body.append("\n".join([*(f"- good: {p}" for p in about.pros), *(f"- beware: {c}" for c in about.cons)]))
            parts += [text for text in body if text]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/catalogue.md is stale; run python tools/make_catalogue.py")
