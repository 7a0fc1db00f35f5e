"""The frame of the viewer's own pages: one style sheet and one script by their hashes, images from this server alone.

Where pages lead: the address in front of every path.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from steelyard.core.frozen import Frozen
from steelyard.core.visible import visible
from steelyard.view.entry import Entry, Shown
from steelyard.view.runs import StoredRun
from steelyard.view.units import Images

_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@cache
def style() -> str:
    """The style sheet."""
    return files("steelyard.view").joinpath("view.css").read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def script() -> str:
    """The script of the list, which watches the folder."""
    return files("steelyard.view").joinpath("view.js").read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def policy(watching: bool = False) -> str:
    """The content security policy of the viewer's own pages; only those that watch the folder have a script."""

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"

    runs = f"script-src {source(script())}; connect-src 'self'; " if watching else ""
    return (
        f"default-src 'none'; {runs}style-src {source(style())}; img-src 'self' data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def report_policy(page: str) -> str:
    """The policy that a self-contained page asks for, with what only a header can say."""
    match = _META.search(page)
    own = match[1].replace("&#x27;", "'").replace("&amp;", "&") if match else CLOSED
    return f"{own}; frame-ancestors 'none'"


class Watch(Frozen):
    """What a page that watches the folder starts from: where the state is asked for, and what it was."""

    address: str
    version: str
    count: int


def document(
    title: str, line: str, body: str, links: Sequence[tuple[str, str]] = (), watch: Watch | None = None
) -> str:
    """A whole page; `links` are places and names, and texts are escaped here, the body's by whoever made it."""
    watching = f"<script>{script()}</script>\n" if watch is not None else ""
    state = (
        ""
        if watch is None
        else (
            f' data-state="{escape(watch.address)}" data-version="{escape(watch.version)}" data-count="{watch.count}"'
        )
    )
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)} · Steelyard</title>
<style>{style()}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
{bar(links)}<header><div class="inner">
<p class="kicker">Steelyard</p>
<h1>{escape(title)}</h1>
<p class="line">{escape(line)}</p>
<p id="news" class="news" role="status" aria-live="polite"></p>
</div></header>
<main id="content" tabindex="-1"{state}>
{body}
</main>
{watching}</body>
</html>
"""
    return visible(page)


def bar(links: Sequence[tuple[str, str]]) -> str:
    """The bar on top of every page: the way back."""
    if not links:
        return ""
    items = "".join(f'<li><a href="{escape(place)}">{escape(name)}</a></li>' for place, name in links)
    return f'<nav aria-label="Runs"><ul>{items}</ul></nav>\n'


def with_bar(page: str, links: Sequence[tuple[str, str]]) -> str:
    """A self-contained page with the bar on top of it."""
    return page.replace("<body>\n", f"<body>\n{bar(links)}", 1)


def wrapped(text: str) -> str:
    """A name as HTML that may be broken at its slashes and underscores."""
    return escape(text).replace("/", "/<wbr>").replace("_", "_<wbr>")


class Site(Frozen):
    """Where pages lead: the address in front of every path, and the images."""

    base: str
    images: Images

    def run(self, run: StoredRun, *more: object) -> str:
        """The address of a run, or of something of it."""
        return "/".join([self.base, "run", run.id, *map(str, more)])

    def entry(self, entry: Entry) -> str:
        """The address of a run of the list."""
        return f"{self.base}/run/{entry.id}"

    def beside(self, query: str, *unit: object) -> str:
        """The address of runs side by side, or of one unit of them."""
        return f"{'/'.join([self.base, 'beside', *map(str, unit)])}?{query}"

    def top(self) -> tuple[str, str]:
        """The link to all runs."""
        return f"{self.base}/", "All runs"


WIDE, HIGH = 160, 16


class Scale(Frozen):
    """From the lowest end to the highest; None of a strip is drawn where there is nothing to draw."""

    low: float
    high: float

    def x(self, value: float, wide: float = WIDE) -> float:
        """Where a value stands."""
        return wide * (value - self.low) / (self.high - self.low)


def shared_scale(scores: Iterable[Shown]) -> Scale | None:
    """A scale with room for every value and every finite end; None where no value is finite."""
    ends = [end for score in scores for end in (score.value, *(score.interval or ())) if abs(end) < 1e300]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.06 or max(abs(high) * 0.06, 1e-12)
    return Scale(low - margin, high + margin)


def strip(score: Shown, scale: Scale | None) -> str:
    """The strip of one score; an end that is infinite is cut at the edge."""
    if scale is None or not math.isfinite(score.value):
        return ""
    line = ""
    if score.interval is not None and not any(math.isnan(end) for end in score.interval):
        a, b = (min(max(scale.x(end), 0.0), WIDE) for end in score.interval)
        line = (
            f'<line x1="{a:.1f}" x2="{b:.1f}" y1="8" y2="8"/><line x1="{a:.1f}" x2="{a:.1f}" y1="4.5" y2="11.5"/>'
            f'<line x1="{b:.1f}" x2="{b:.1f}" y1="4.5" y2="11.5"/>'
        )
    return (
        f'<svg class="strip" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" aria-hidden="true">'
        f'<line class="axis" x1="0" x2="{WIDE}" y1="15.5" y2="15.5"/>{line}'
        f'<circle cx="{scale.x(score.value):.1f}" cy="8" r="4"/></svg>'
    )
