"""The frame of every page: head, content security policy, style and script by their hashes, and nothing from outside.

The policy allows our one style sheet and our one script, each by its hash, and pictures that are inside the page; no
style attribute, no handler, no request. Texts that come from data go through `escape`, always.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Description, describe
from steelyard.core.visible import visible
from steelyard.results.result import Result

STYLES = ("page.css", "gallery.css")
SCRIPTS = ("page.js", "gallery.js", "explorer.js")


class Section(Frozen):
    """A part of the page with its heading; `id` is where the list of sections leads, `short` its name there."""

    id: str
    title: str
    body: str
    short: str = ""


def document(title: str, top: str, sections: Sequence[Section], *, pictures: bool = False, verdict: str = "") -> str:
    """The whole page. `pictures` allows images that are inside it; `verdict` says in words what it comes to."""
    style, script = _asset(STYLES), _asset(SCRIPTS)
    shown = [section for section in sections if section.body]
    links = "".join(f'<li><a href="#{s.id}">{escape(s.short or s.title)}</a></li>' for s in shown)
    body = "\n".join(
        f'<section id="{s.id}" aria-labelledby="{s.id}-title">\n<h2 id="{s.id}-title">{escape(s.title)}</h2>\n'
        f"{s.body}\n</section>"
        for s in shown
    )
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(style, script, pictures)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<div class="inner">
{top}{f'<p class="says" role="note" aria-label="Summary">{escape(verdict)}</p>' if verdict else ""}
<button type="button" id="theme" hidden>Theme: auto</button>
</div>
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main id="content" tabindex="-1">
{body}
</main>
<script>{script}</script>
</body>
</html>
"""
    return visible(page.encode("utf-8", "replace").decode("utf-8"))


def policy(style: str, script: str, pictures: bool = False) -> str:
    """The content security policy of a page with this style and this script."""
    parts = ["default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}"]
    if pictures:
        parts.append("img-src data:")
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _asset(names: tuple[str, ...]) -> str:
    folder = files("steelyard.render.page")
    return "\n" + "".join(folder.joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n") for name in names)


def bullets(items: Iterable[str]) -> str:
    """A list of texts."""
    inside = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{inside}</ul>" if inside else ""


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what they are."""
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return f'<dl class="facts">{inside}</dl>'


def definitions_of(result: Result, task: str, specs: Iterable[str]) -> dict[str, Description]:
    """Descriptions by spec; a metric that this version does not know has none."""
    descriptions = dict(result.details.definitions())
    for spec in specs:
        if spec in descriptions or task not in catalogue.TASKS:
            continue
        try:
            descriptions[spec] = describe(type(catalogue.parse(spec, task)))
        except InputError:  # a metric of another version
            continue
    return descriptions
