"""Which function makes which form of a result: by name, imported when it is asked for.

A result never imports what draws it. Another package adds a form through an entry point of the group
`steelyard.renderers`, named KIND.FORMAT: `"report.slides" = "package.module:function"`. The function takes the result
and the options of `render`, and gives a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from steelyard.core import registry
from steelyard.core.errors import Unsupported

GROUP = "steelyard.renderers"
RENDERERS: Mapping[str, str] = {
    "report.text": "steelyard.render.text:report_text",
    "report.markdown": "steelyard.render.markdown:report_markdown",
    "report.verdict": "steelyard.render.summaries:report_verdict",
    "report.html": "steelyard.render.page.report:report_page",
    "report.frame": "steelyard.render.frames:report_frame",
    "report.csv": "steelyard.render.frames:frame_csv",
    "report.sheets": "steelyard.render.frames:report_sheets",
    "report.notebook": "steelyard.render.notebook:report_notebook",
    "report.latex": "steelyard.render.latex:report_latex",
    "report.figures": "steelyard.render.page.figures:figures_of",
    "comparison.text": "steelyard.render.text:comparison_text",
    "comparison.markdown": "steelyard.render.markdown:comparison_markdown",
    "comparison.verdict": "steelyard.render.summaries:comparison_verdict",
    "comparison.html": "steelyard.render.page.comparison:comparison_page",
    "comparison.frame": "steelyard.render.frames:comparison_frame",
    "comparison.csv": "steelyard.render.frames:frame_csv",
    "comparison.sheets": "steelyard.render.frames:comparison_sheets",
    "comparison.notebook": "steelyard.render.notebook:comparison_notebook",
    "comparison.latex": "steelyard.render.latex:comparison_latex",
    "comparison.figures": "steelyard.render.page.comparison:comparison_figures",
    "lineup.text": "steelyard.render.board:lineup_text",
    "lineup.markdown": "steelyard.render.markdown:lineup_markdown",
    "lineup.verdict": "steelyard.render.summaries:lineup_verdict",
    "lineup.html": "steelyard.render.page.comparison:lineup_page",
    "lineup.frame": "steelyard.render.frames:lineup_frame",
    "lineup.csv": "steelyard.render.frames:frame_csv",
    "lineup.sheets": "steelyard.render.frames:lineup_sheets",
    "lineup.notebook": "steelyard.render.notebook:lineup_notebook",
    "lineup.latex": "steelyard.render.latex:lineup_latex",
    "lineup.figures": "steelyard.render.page.comparison:lineup_figures",
    "vlm-score.text": "steelyard.render.vlm:score_text",
    "vlm-score.markdown": "steelyard.render.vlm:score_markdown",
    "vlm-score.verdict": "steelyard.render.summaries:vlm_verdict",
    "vlm-score.html": "steelyard.render.page.vlm:score_page",
    "gate.text": "steelyard.render.gate:gate_text",
    "gate.markdown": "steelyard.render.gate:gate_markdown",
    "gate.verdict": "steelyard.render.gate:gate_verdict",
    "gate.html": "steelyard.render.page.gate:gate_page",
    "gate.junit": "steelyard.render.gate:gate_junit",
    "pool.text": "steelyard.render.sets:pool_text",
    "pool.markdown": "steelyard.render.sets:pool_markdown",
    "pool.verdict": "steelyard.render.summaries:pool_verdict",
    "pool.html": "steelyard.render.page.sets:pool_page",
    "drift.text": "steelyard.render.sets:drift_text",
    "drift.markdown": "steelyard.render.sets:drift_markdown",
    "drift.verdict": "steelyard.render.summaries:drift_verdict",
    "drift.html": "steelyard.render.page.sets:drift_page",
    "plan.text": "steelyard.render.plan:plan_text",
    "plan.markdown": "steelyard.render.plan:plan_markdown",
    "plan.html": "steelyard.render.page.plan:plan_page",
    "plan.figures": "steelyard.render.page.plan:plan_figures",
}
EVERY = {"json": "steelyard.results.codec:encode_text", "dict": "steelyard.results.codec:encode"}  # of every kind
SHEETS = "steelyard.render.frames:write_sheets"
EXPORT = "steelyard.render.charts.export:export_figures"
PLOT = "steelyard.render.notebook:plot"
GALLERY = "steelyard.render.notebook:gallery"
CHECK_FIGURES = "steelyard.render.charts.export:check_figures"


def renderer(kind: str, form: str) -> Callable[..., Any]:
    """The function that makes a form of a kind of result."""
    name = f"{kind}.{form}"
    if name in RENDERERS or form in EVERY:
        return load(RENDERERS.get(name) or EVERY[form])
    if name in registry.plugins(GROUP):
        render: Any = registry.load(GROUP, name, object, "form")
        return render  # type: ignore[no-any-return]
    names = [one.partition(".") for one in (*RENDERERS, *registry.plugins(GROUP))]
    forms = [
        name for owner, _, name in names if owner == kind and name not in ("figures", "frame", "sheets", "verdict")
    ]
    raise Unsupported(f"a {kind} has no form '{form}'", remedy=f"It has: {', '.join([*forms, 'json'])}.")


def has_form(kind: str, form: str) -> bool:
    """Whether results of a kind have a form."""
    return f"{kind}.{form}" in RENDERERS or form in EVERY


def load(place: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
