"""Which function makes which form of a result: by name, imported when it is asked for.

A result never imports what draws it. Another package adds a form through an entry point of the group
`steelyard.renderers`, named KIND.FORMAT: `"report.latex" = "package.module:function"`. The function takes the result
and the options of `render`, and gives a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from steelyard.core.errors import InputError, nearest

GROUP = "steelyard.renderers"
RENDERERS: Mapping[str, str] = {
    "report.text": "steelyard.render.text:report_text",
    "report.markdown": "steelyard.render.markdown:report_markdown",
    "report.html": "steelyard.render.page.report:report_page",
    "report.figures": "steelyard.render.page.figures:figures_of",
    "comparison.text": "steelyard.render.text:comparison_text",
    "comparison.markdown": "steelyard.render.markdown:comparison_markdown",
    "comparison.html": "steelyard.render.page.comparison:comparison_page",
    "comparison.figures": "steelyard.render.page.comparison:comparison_figures",
    "lineup.text": "steelyard.render.text:lineup_text",
    "lineup.markdown": "steelyard.render.markdown:lineup_markdown",
    "lineup.html": "steelyard.render.page.comparison:lineup_page",
    "lineup.figures": "steelyard.render.page.comparison:lineup_figures",
    "gate.text": "steelyard.render.gate:gate_text",
    "gate.markdown": "steelyard.render.gate:gate_markdown",
    "gate.dict": "steelyard.render.gate:gate_dict",
    "gate.json": "steelyard.render.gate:gate_json",
    "gate.junit": "steelyard.render.junit:gate_junit",
}
EXPORT = "steelyard.render.charts.export:export_figures"


def renderer(kind: str, form: str) -> Callable[..., Any]:
    """The function that makes a form of a kind of result."""
    name = f"{kind}.{form}"
    if name in RENDERERS:
        return load(RENDERERS[name])
    others = _others()
    if name in others:
        return others[name]()
    forms = [known.partition(".")[2] for known in (*RENDERERS, *others) if known.partition(".")[0] == kind]
    raise InputError(f"a {kind} has no form '{form}'", remedy=nearest(form, forms))


def load(place: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, name = place.partition(":")
    made: Callable[..., Any] = getattr(import_module(module), name)
    return made


def _others() -> dict[str, Callable[[], Callable[..., Any]]]:
    """What other packages add."""
    from importlib.metadata import entry_points

    return {point.name: point.load for point in entry_points(group=GROUP)}
