"""The server: this machine alone, behind a random token, with a strict policy on every answer.

It listens on the loopback address and has no setting for another. Every address begins with a token that is drawn again
for each start. The Host header must be the server's own, so that no name that somebody points at this machine reaches
it. Addresses hold hashes and numbers, never a path; files are opened by `folder.py` alone.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from steelyard.core.counts import count_text
from steelyard.core.errors import SteelyardError
from steelyard.core.opening import confine_to
from steelyard.render.numbers import interval_text, signed_text, value_text
from steelyard.render.text import ARROWS
from steelyard.render.verdicts import verdict_text
from steelyard.results.comparison import Lineup
from steelyard.results.score import Difference, Score
from steelyard.view import pages
from steelyard.view.connections import Workers
from steelyard.view.entry import Shown
from steelyard.view.folder import Folder
from steelyard.view.frame import CLOSED, Site, document, policy, report_policy, shared_scale, strip, with_bar, wrapped
from steelyard.view.listing import MOST_COMPARED, list_page
from steelyard.view.query import parse_query
from steelyard.view.runs import RereadRun, Runs, StoredRun, distinct_titles
from steelyard.view.units import Images, unit_rows, unit_scene


def board_page(site: Site, runs: Sequence[StoredRun], lineup: Lineup) -> str:
    """The page. The first run is the one that the others are held against."""
    first, titles = lineup.comparisons[0], distinct_titles(runs)
    specs = dict.fromkeys(spec for one in lineup.comparisons for spec in one.differences)
    blocks = "".join(_block(titles, lineup, spec) for spec in specs)
    notes = "".join(
        f"<li>{escape(note)}</li>" for note in dict.fromkeys(n for c in lineup.comparisons for n in c.notes)
    )
    family = max((d.family for one in lineup.comparisons for d in one.differences.values()), default=0)
    hint = (
        f"<li>An interval is that of its own difference. Verdicts hold for all {family:,} differences together (Holm), "
        "so that one may be called not shown whose own interval lies on one side of zero.</li>"
    )
    pairs = "".join(
        f'<li><a href="{escape(site.base)}/compare?a={runs[0].id}&amp;b={run.id}">{escape(title)} against '
        f"{escape(titles[0])}</a></li>"
        for run, title in zip(runs[1:], titles[1:], strict=True)
    )
    body = (
        f"{_base(site, runs, titles)}{blocks}<h2>How these were computed</h2><ul>{notes}{hint}</ul>"
        f"<h2>Two by two</h2><ul>{pairs}</ul>"
    )
    truth = first.a.sources.truth.source
    back = f"{site.base}/?{urlencode([('run', run.id) for run in runs])}"
    return document(
        f"{count_text(len(runs), 'run')} compared",
        f"{first.task} on {truth}",
        body,
        [site.top(), (back, "Pick others")],
    )


def _base(site: Site, runs: Sequence[StoredRun], titles: Sequence[str]) -> str:
    """The field that selects the baseline run."""
    hidden = "".join(f'<input type="hidden" name="run" value="{run.id}">' for run in runs)
    options = "".join(
        f'<option value="{run.id}">{escape(title)}</option>' for run, title in zip(runs, titles, strict=True)
    )
    return (
        f'<form class="base" action="{escape(site.base)}/compare" method="get">{hidden}<label class="field">'
        f'<span>Baseline</span><select name="base">{options}</select></label>'
        '<button type="submit">Show</button></form>'
    )


def _shown_score(score: Score) -> Shown:
    return Shown(score.value, score.interval, score.better, score.measured_in, score.label)


def _block(titles: Sequence[str], lineup: Lineup, spec: str) -> str:
    """One metric: a row per run that has it."""
    rows: list[tuple[str, Score, Difference | None]] = []
    for run, comparison in zip(titles[1:], lineup.comparisons, strict=True):
        if spec in comparison.differences:
            rows.append((run, comparison.differences[spec].b, comparison.differences[spec]))
    score = next(comparison.differences[spec].a for comparison in lineup.comparisons if spec in comparison.differences)
    rows.insert(0, (titles[0], score, None))
    scale = shared_scale(_shown_score(comparison) for _, comparison, _ in rows)
    lines = "".join(
        _line(run, comparison, difference, strip(_shown_score(comparison), scale))
        for run, comparison, difference in rows
    )
    unit = f", {score.measured_in}" if score.measured_in else ""
    head = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("run", ""), ("value", ' class="number"'), ("interval", ' class="between"'), ("", ' class="strips"'),
            ("difference", ' class="moved"'), ("verdict", ""),
        )
    )  # fmt: skip
    label = escape(f"{score.label}{unit}")
    return (
        f"<h2>{ARROWS[score.better]} <code>{escape(spec)}</code> <small>{label}</small></h2>"
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(spec)}"><table class="board"><caption>'
        f"{escape(spec)}</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _line(title: str, score: Score, difference: Difference | None, drawn: str) -> str:
    value = value_text(score.value, score.interval) if score.defined else "undefined"
    moved, word = "<small>baseline</small>", ""
    if difference is not None:
        between = interval_text(difference.difference, difference.interval)
        moved = f"{escape(signed_text(difference.difference, difference.interval))} <small>{escape(between)}</small>"
        kind = {"better": "good", "worse": "bad"}.get(difference.verdict, "plain")
        word = f'<span class="{kind}">{escape(verdict_text(difference.verdict))}</span>'
    return (
        f'<tr><th scope="row" class="run">{wrapped(title)}</th><td class="number">{escape(value)}</td>'
        f'<td class="between"><small>{escape(interval_text(score.value, score.interval))}</small></td>'
        f'<td class="strips">{drawn}</td><td class="moved">{moved}</td><td class="verdict">{word}</td></tr>'
    )


Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
_PLAIN = re.compile(rb"[A-Za-z0-9/_-]*\Z")


class Missing(Exception):
    """There is no such page."""


class Guard:
    """In front of everything: who asks, for what, and how; and what every answer says."""

    def __init__(self, app: Any, token: str, hosts: frozenset[str], workers: Workers | None = None) -> None:
        self.app, self.token, self.hosts = app, token, hosts
        self.workers = workers or Workers(_plain(503, "The server ends."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on below the token."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        refused = self.refusal(scope)
        if refused is not None:
            await _plain(*refused)(scope, receive, _with_headers(send))
            return
        scope = {**scope, "path": scope["path"][len(self.token) + 1 :] or "/"}
        await self.app(scope, receive, _with_headers(send))

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and words, where the request is not to be served."""
        headers = scope["headers"]
        hosts = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 403, "This server answers to its own address only."
        if any(name.lower() == b"sec-fetch-site" and value.lower() == b"cross-site" for name, value in headers):
            return 403, "Another site may not ask this server."
        raw = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self.token.encode("ascii")):
            return 403, "The address lacks the token that was shown when the server started."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This server only shows."
        lengths = [value for name, value in headers if name.lower() == b"content-length"]
        if any(name.lower() == b"transfer-encoding" for name, _ in headers) or any(v != b"0" for v in lengths):
            return 413, "A request to this server has no body."
        if not _PLAIN.match(raw.split(b"?")[0]) or b"//" in raw.split(b"?")[0]:
            return 404, "There is no such page."
        return None


def _with_headers(send: Send) -> Send:
    async def sealed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            more = HEADERS if b"content-security-policy" in present else {**HEADERS, "content-security-policy": CLOSED}
            added = [(name.encode(), value.encode()) for name, value in more.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sealed


def _plain(status: int, text: str) -> Response:
    return Response(f"{text}\n", status, media_type="text/plain; charset=utf-8")


def make_app(folder: Folder, token: str, port: int) -> Guard:
    """The application for a folder, answering to 127.0.0.1 and localhost at that port."""
    runs = Runs(folder)
    site = Site(f"/{token}", Images(runs))
    view, workers = _View(runs, site), Workers(_plain(503, "The server ends."))

    def route(path: str, endpoint: Callable[[Request], Response]) -> Route:
        def confined_answer(request: Request) -> Response:
            with confine_to(folder.root):  # whatever a reader opens lies in the folder
                return endpoint(request)

        async def answer(request: Request) -> Response:
            response: Response = await workers.run(lambda: confined_answer(request))
            return response

        return Route(path, answer)

    routes = [
        route("/", view.listing),
        route("/compare", view.compare),
        route("/run/{run}", view.report),
        route("/run/{run}/units", view.units),
        route("/run/{run}/unit/{unit:int}", view.unit),
        route("/run/{run}/image/{unit:int}", view.image),
        route("/run/{run}/image/{unit:int}/{row:int}", view.image),
        route("/both/{a}/{b}", view.both),
        route("/both/{a}/{b}/unit/{unit:int}", view.both_unit),
    ]
    hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
    app = Starlette(
        routes=routes, exception_handlers={404: view.missing, Missing: view.missing, Exception: view.answer_failure}
    )
    app.router.redirect_slashes = False
    return Guard(app, token, hosts, workers)


class _View:
    """One method a page."""

    def __init__(self, runs: Runs, site: Site) -> None:
        self.runs, self.site = runs, site

    def listing(self, request: Request) -> Response:
        """Every run that the address asks for."""
        query, canonical = parse_query(request.url.query)
        text = query.text()
        if canonical and sorted(request.url.query.split("&")) != sorted(
            text.split("&")
        ):  # a form sends empty fields too
            return Response(status_code=303, headers={"location": f"{self.site.base}/" + (f"?{text}" if text else "")})
        return _page(list_page(self.site, self.runs.index.entries(), self.runs.folder.root, query))

    def report(self, request: Request) -> Response:
        """The page of a report or of a comparison, with the way back on top of it."""
        run = self._run(request, "run")
        links = [self.site.top()]
        if run.result is None:
            return self._problem("This result cannot be shown", run.problem, 422)
        if run.report is None:
            return _report(run.result.to_html(), links)
        data = self.runs.data(run)[0]
        if data is None:
            return _report(run.result.to_html(), links)
        units = data.report.unit
        links.append((self.site.run(run, "units"), f"{units.capitalize()} by {units}, with pictures"))
        return _report(self.runs.once(("page", run.id, run.changed), data.report.to_html), links)

    def units(self, request: Request) -> Response:
        """A run's units."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            return self._problem("No units to show", data, 404)
        by = _number(request, "by", 0, len(data.specs) - 1)
        return _page(pages.units_page(self.site, run, data, by, _number(request, "from", 0, 1 << 40)))

    def unit(self, request: Request) -> Response:
        """One unit."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            return self._problem("No units to show", data, 404)
        return _page(pages.unit_page(self.site, run, data, _unit(request, data), _step(request)))

    def image(self, request: Request) -> Response:
        """The image of a unit, or of a row of it."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            raise Missing
        unit, row = _unit(request, data), request.path_params.get("row")
        if row is None:
            step = _step(request)
            scene = None if step is None else unit_scene(data, unit, step)
            image = self.site.images.of_unit(run, data, unit, scene)
            row = pages.first_row(self.site, run, data, unit) if image is None else None
        if row is not None:
            tables = unit_rows(data, unit)
            names = tables[0].images if tables else ()
            image = self.site.images.find_image(run, data, names[row]) if row < len(names) and names[row] else None
        if image is None:
            raise Missing
        return Response(
            image.data, media_type=image.kind.media, headers={"content-security-policy": f"{CLOSED}; sandbox"}
        )

    def compare(self, request: Request) -> Response:
        """Two runs against each other, as `compare` does; or up to eight, from their results."""
        asked = parse_qs(request.url.query)
        if "a" not in asked and "b" not in asked:
            return self._several(asked)
        a, b = (self.runs.get(asked.get(side, [""])[0]) for side in "ab")
        if a is None or b is None:
            return self._problem("Pick two runs", "One of the two is not there.", 404)
        if a.id == b.id:
            return self._problem("Pick two runs", "A and B are the same run.", 422)
        try:
            compared = self.runs.comparison(a, b)
        except SteelyardError as error:
            return self._problem("These two cannot be compared", str(error), 422)
        titles = distinct_titles((a, b))
        links = [self.site.top(), (self.site.run(a), f"A: {titles[0]}"), (self.site.run(b), f"B: {titles[1]}")]
        data = self.runs.data(a)[0], self.runs.data(b)[0]
        if data[0] is not None and data[1] is not None and pages.changes(data[0], data[1])[1]:
            links.append((self.site.both(a, b), "What changed most, side by side"))
        return _report(compared.to_html(), links)

    def _several(self, asked: dict[str, list[str]]) -> Response:
        ids = list(dict.fromkeys(asked.get("run", [])))
        dates = {entry.id: entry.date for entry in self.runs.index.entries()}
        ids = sorted(
            (one for one in ids if one in dates), key=lambda one: (one not in asked.get("base", []), dates[one])
        )
        if not 2 <= len(ids) <= MOST_COMPARED:
            what = f"Tick two to {MOST_COMPARED} runs of the list; {len(ids):,} are picked."
            return self._problem("Pick some runs", what, 404 if len(ids) < 2 else 422)
        runs = [run for run in map(self.runs.get, ids) if run is not None]
        try:
            lineup = self.runs.lineup(runs)
        except SteelyardError as error:
            return self._problem("These runs cannot be compared", str(error), 422)
        return _page(board_page(self.site, runs, lineup))

    def both(self, request: Request) -> Response:
        """What changed most between two runs."""
        a, b, data = self._both(request)
        return _page(pages.both_page(self.site, a, b, data, _number(request, "from", 0, 1 << 40)))

    def both_unit(self, request: Request) -> Response:
        """A unit under two models."""
        a, b, data = self._both(request)
        return _page(pages.both_unit_page(self.site, a, b, data, _unit(request, data[1]), _step(request)))

    async def missing(self, request: Request, error: Exception) -> Response:
        """There is no such page."""
        return self._problem("There is no such page", "It may be that a result was moved or removed.", 404)

    async def answer_failure(self, request: Request, error: Exception) -> Response:
        """Something went wrong here; the terminal has the whole story."""
        return self._problem("This page cannot be shown", f"{type(error).__name__}. See the terminal.", 500)

    def _run(self, request: Request, side: str) -> StoredRun:
        run = self.runs.get(str(request.path_params[side]))
        if run is None:
            raise Missing
        return run

    def _with_data(self, request: Request) -> tuple[StoredRun, RereadRun | str]:
        run = self._run(request, "run")
        data, why = self.runs.data(run)
        return run, why if data is None else data

    def _both(self, request: Request) -> tuple[StoredRun, StoredRun, tuple[RereadRun, RereadRun]]:
        a, b = self._run(request, "a"), self._run(request, "b")
        first, second = self.runs.data(a)[0], self.runs.data(b)[0]
        if first is None or second is None or not pages.changes(first, second)[1]:
            raise Missing
        return a, b, (first, second)

    def _problem(self, title: str, what: str, status: int) -> Response:
        return _page(pages.problem_page(self.site.base, title, what), status)


def _page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, {"content-security-policy": policy()})


def _report(html: str, links: list[tuple[str, str]]) -> Response:
    return HTMLResponse(with_bar(html, links), headers={"content-security-policy": report_policy(html)})


def _number(request: Request, name: str, low: int, high: int) -> int:
    text = request.query_params.get(name, "0")
    if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
        raise Missing
    return int(text)


def _step(request: Request) -> int | None:
    """The step of a unit that has many, where one is asked for."""
    return _number(request, "at", 0, 1 << 40) if "at" in request.query_params else None


def _unit(request: Request, data: RereadRun) -> int:
    unit = int(request.path_params["unit"])
    if unit >= len(data.units):
        raise Missing
    return unit
