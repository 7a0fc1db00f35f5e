"""The server: behind a token, with a strict policy on every answer. Nothing can be changed through it.

Every address begins with the token, or the request carries it as `Authorization: Bearer`, which a reverse proxy adds.
The Host header must be one of the server's own, so that no name that somebody points at this machine reaches it.
Addresses hold hashes and numbers, never a path; files are opened by `folder.py` alone.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from steelyard.core.counts import count_text, plural
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
from steelyard.view.listing import EXPORTS, MOST_COMPARED, export_csv, export_page, export_rows, list_page
from steelyard.view.query import matching, parse_query
from steelyard.view.runs import RereadRun, Runs, StoredRun, Watcher, distinct_titles
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
    picked = urlencode([("run", run.id) for run in runs])
    return document(
        f"{count_text(len(runs), 'run')} compared",
        f"{first.task} on {truth}",
        body,
        [
            site.top(),
            (f"{site.base}/?{picked}", "Pick others"),
            (f"{site.base}/compare?{picked}&base={runs[0].id}", "The comparison's page"),
        ],
    )


def _base(site: Site, runs: Sequence[StoredRun], titles: Sequence[str]) -> str:
    """The field that selects the baseline run."""
    hidden = "".join(f'<input type="hidden" name="run" value="{run.id}">' for run in runs)
    options = "".join(
        f'<option value="{run.id}">{escape(title)}</option>' for run, title in zip(runs, titles, strict=True)
    )
    return (
        f'<form class="base" action="{escape(site.base)}/compare" method="get">{hidden}<input type="hidden" name="as" '
        f'value="table"><label class="field"><span>Baseline</span><select name="base">{options}</select></label>'
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

    def __init__(
        self,
        app: Any,
        token: str,
        hosts: frozenset[str],
        workers: Workers | None = None,
        prefix: str = "",
        watcher: Watcher | None = None,
    ) -> None:
        self.app, self.token, self.hosts, self.prefix, self.watcher = app, token, hosts, prefix, watcher
        self.workers = workers or Workers(_plain(503, "The server ends."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on below the prefix and the token; `base` is what links begin with."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        refused = self.refusal(scope)
        if refused is not None:
            await _plain(*refused)(scope, receive, _with_headers(send))
            return
        base = f"{self.prefix}/{self.token}" if self._in_path(scope) else self.prefix
        scope = {**scope, "path": scope["path"][len(base) :] or "/", "base": base}
        await self.app(scope, receive, _with_headers(send))

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and words, where the request is not to be served."""
        headers = [(name.lower(), value) for name, value in scope["headers"]]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 403, "This server answers to its own address only."
        fetch = {name: value.lower() for name, value in headers if name.startswith(b"sec-fetch-")}
        followed = (fetch.get(b"sec-fetch-mode"), fetch.get(b"sec-fetch-dest")) == (b"navigate", b"document")
        if fetch.get(b"sec-fetch-site") == b"cross-site" and not followed:  # a link in a message may be followed
            return 403, "Another site may not ask this server."
        raw = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
        if not self._in_path(scope) and not self._in_header(headers, scope["path"]):
            return 403, "The address lacks the token that was shown when the server started."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This server only shows."
        lengths = [value for name, value in headers if name == b"content-length"]
        if any(name == b"transfer-encoding" for name, _ in headers) or any(v != b"0" for v in lengths):
            return 413, "A request to this server has no body."
        if not _PLAIN.match(raw.split(b"?")[0]) or b"//" in raw.split(b"?")[0]:
            return 404, "There is no such page."
        return None

    def _in_path(self, scope: Scope) -> bool:
        """Whether the address begins with the prefix and the token."""
        path: str = scope["path"]
        first = path[len(self.prefix) + 1 :].split("/")[0] if path.startswith(f"{self.prefix}/") else ""
        return self._is_token(first.encode("utf-8", "replace"))

    def _in_header(self, headers: Sequence[tuple[bytes, bytes]], path: str) -> bool:
        """Whether the request carries the token itself, and asks below the prefix."""
        sent = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
        return path.startswith(f"{self.prefix}/") and scheme.lower() == b"bearer" and self._is_token(token.strip())

    def _is_token(self, text: bytes) -> bool:
        return secrets.compare_digest(text, self.token.encode("ascii"))


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


def make_app(
    folder: Folder,
    token: str,
    port: int,
    *,
    hosts: Iterable[str] = (),
    prefix: str = "",
    clock: Callable[[], float] = time.time,
) -> Guard:
    """The application for a folder. It answers to 127.0.0.1 and localhost at that port, and to the `hosts`.

    `prefix` is the path that links begin with, and `clock` what the age of files is measured by.
    """
    runs = Runs(folder, clock)
    view, workers = _View(runs), Workers(_plain(503, "The server ends."))

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
        route("/beside", view.beside),
        route("/beside/{unit:int}", view.beside_unit),
        route("/state", view.state),
        route("/export/{form}", view.export),
    ]
    names = frozenset([*(f"{name}:{port}" for name in ("127.0.0.1", "localhost")), *map(str.lower, hosts)])
    app = Starlette(
        routes=routes, exception_handlers={404: view.missing, Missing: view.missing, Exception: view.answer_failure}
    )
    app.router.redirect_slashes = False
    return Guard(app, token, names, workers, prefix, view.watcher)


class _View:
    """One method per page."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.images, self.watcher = runs, Images(runs), Watcher(runs.index)

    def site(self, request: Request) -> Site:
        """Where links of an answer lead: with the token in the path, or below the prefix alone."""
        return Site(request.scope["base"], self.images)

    def listing(self, request: Request) -> Response:
        """Every run that the address asks for."""
        query, canonical = parse_query(request.url.query)
        text, site = query.text(), self.site(request)
        if canonical and sorted(request.url.query.split("&")) != sorted(
            text.split("&")
        ):  # a form sends empty fields too
            return Response(status_code=303, headers={"location": f"{site.base}/" + (f"?{text}" if text else "")})
        page = list_page(site, self.runs.index.entries(), self.runs.folder.root, query)
        return HTMLResponse(page, headers={"content-security-policy": policy(watching=True)})

    def state(self, request: Request) -> Response:
        """What a page that watches the folder asks for: whether anything has changed."""
        version, count = self.watcher.state()
        return _json({"version": version, "runs": count})

    def export(self, request: Request) -> Response:
        """A file of the list: every run that the address asks for."""
        query, form = parse_query(request.url.query)[0], str(request.path_params["form"])
        shown = matching([entry for entry in self.runs.index.entries() if not entry.foreign], query)
        if form == "csv":
            return _file(export_csv(shown), "runs.csv")
        if form == "json":
            return _file(json.dumps(export_rows(shown), ensure_ascii=False, indent=2) + "\n", "runs.json")
        if form == "html":
            return _file(export_page(self.site(request), shown, self.runs.folder.root, query), "runs.html")
        raise Missing

    def report(self, request: Request) -> Response:
        """The page of a report or of a comparison, with the way back on top of it."""
        run, site = self._run(request, "run"), self.site(request)
        links = [site.top()]
        if run.result is None:
            return self._problem(request, "This result cannot be shown", run.problem, 422)
        if run.report is None:
            return _report(run.result.to_html(), links)
        data = self.runs.data(run)[0]
        if data is None:
            return _report(run.result.to_html(), links)
        units = data.report.unit
        links.append((site.run(run, "units"), f"All {plural(units)}"))
        return _report(self.runs.once(("page", run.id, run.changed), data.report.to_html), links)

    def units(self, request: Request) -> Response:
        """A run's units."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            return self._problem(request, "No units to show", data, 404)
        by = _number(request, "by", 0, len(data.specs) - 1)
        return _page(pages.units_page(self.site(request), run, data, by, _number(request, "from", 0, 1 << 40)))

    def unit(self, request: Request) -> Response:
        """One unit."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            return self._problem(request, "No units to show", data, 404)
        shown = _unit(request, data), _step(request), _threshold(request)
        return _page(pages.unit_page(self.site(request), run, data, *shown))

    def image(self, request: Request) -> Response:
        """The image of a unit, or of a row of it."""
        run, data = self._with_data(request)
        if isinstance(data, str):
            raise Missing
        unit, row = _unit(request, data), request.path_params.get("row")
        if row is None:
            step = _step(request)
            scene = None if step is None else unit_scene(data, unit, step)
            image = self.images.of_unit(run, data, unit, scene)
            row = pages.first_row(self.site(request), run, data, unit) if image is None else None
        if row is not None:
            tables = unit_rows(data, unit)
            names = tables[0].images if tables else ()
            image = self.images.find_image(run, data, names[row]) if row < len(names) and names[row] else None
        if image is None:
            raise Missing
        return Response(
            image.data, media_type=image.kind.media, headers={"content-security-policy": f"{CLOSED}; sandbox"}
        )

    def compare(self, request: Request) -> Response:
        """Two to eight runs: the page of a comparison, a table with a choice of the baseline, or a file of it.

        Of two runs the comparison is that of `compare`, from the data where they are in the folder; of more it is
        made from the results. `a` and `b` name two runs, and `run` any number of them.
        """
        asked = parse_qs(request.url.query)
        named = [asked.get(side, [""])[0] for side in "ab"] if "a" in asked or "b" in asked else asked.get("run", [])
        dates = {entry.id: entry.date for entry in self.runs.index.entries()}
        ids = [run for run in dict.fromkeys(named) if run in dates]
        if "a" not in asked:
            ids.sort(key=lambda run: (run not in asked.get("base", []), dates[run]))
        elif len(ids) < 2:
            same = len(set(named)) == 1 and len(ids) == 1
            what = "A and B are the same run." if same else "One of the two is not there."
            return self._problem(request, "Pick two runs", what, 422 if same else 404)
        if not 2 <= len(ids) <= MOST_COMPARED:
            what = f"Tick two to {MOST_COMPARED} runs of the list; {len(ids):,} are picked."
            return self._problem(request, "Pick some runs", what, 404 if len(ids) < 2 else 422)
        runs = [run for run in map(self.runs.get, ids) if run is not None]
        form = asked.get("as", ["page"])[0]
        try:
            if form == "table":
                return _page(board_page(self.site(request), runs, self.runs.lineup(runs)))
            compared = self.runs.comparison(runs[0], runs[1]) if len(runs) == 2 else self.runs.lineup(runs)
        except SteelyardError as error:
            return self._problem(request, "These runs cannot be compared", str(error), 422)
        if form in EXPORTS:
            made = {"csv": compared.to_csv, "json": compared.to_json, "html": compared.to_html}[form]()
            return _file(made, f"comparison.{form}")
        return _report(compared.to_html(), self._compare_links(self.site(request), runs))

    def _compare_links(self, site: Site, runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
        here = f"{site.base}/compare?{urlencode([*(('run', run.id) for run in runs), ('base', runs[0].id)])}"
        picked = urlencode([("run", run.id) for run in runs])
        links = [site.top(), (f"{site.base}/?{picked}", "Pick others"), (f"{here}&as=table", "Table and baseline")]
        beside = self._side_by_side(runs[: pages.MOST_BESIDE])
        if beside is not None:
            links.append((site.beside(beside.query()), "Side by side"))
        links += [(site.run(run), title) for run, title in zip(runs, distinct_titles(runs), strict=True)]
        return links + [(f"{here}&as={form}", form.upper()) for form in EXPORTS]

    def _side_by_side(
        self, runs: Sequence[StoredRun], by: str = "", threshold: float | None = None
    ) -> pages.Beside | None:
        """The runs with their data, where all of them have the same units."""
        data = [self.runs.data(run)[0] for run in runs]
        present = [one for one in data if one is not None]
        beside = pages.Beside(tuple(runs), tuple(present), by, threshold)
        return beside if 2 <= len(runs) == len(present) and beside.order()[1] else None

    def beside(self, request: Request) -> Response:
        """Units of two to four runs, those on which they differ most first."""
        return _page(pages.beside_page(self.site(request), self._beside(request), _number(request, "from", 0, 1 << 40)))

    def beside_unit(self, request: Request) -> Response:
        """A unit under two to four models."""
        beside = self._beside(request)
        unit, step = _unit(request, beside.data[-1]), _step(request)
        return _page(pages.beside_unit_page(self.site(request), beside, unit, step))

    def _beside(self, request: Request) -> pages.Beside:
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        runs = [self.runs.get(run) for run in ids] if 2 <= len(ids) <= pages.MOST_BESIDE else []
        present = [run for run in runs if run is not None]
        by, threshold = request.query_params.get("by", ""), _threshold(request)
        beside = self._side_by_side(present, by, threshold) if len(present) == len(ids) else None
        if beside is None or (by and by not in beside.specs):
            raise Missing
        return beside

    async def missing(self, request: Request, error: Exception) -> Response:
        """There is no such page."""
        return self._problem(request, "There is no such page", "It may be that a result was moved or removed.", 404)

    async def answer_failure(self, request: Request, error: Exception) -> Response:
        """Something went wrong here; the terminal has the whole story."""
        return self._problem(request, "This page cannot be shown", f"{type(error).__name__}. See the terminal.", 500)

    def _run(self, request: Request, side: str) -> StoredRun:
        run = self.runs.get(str(request.path_params[side]))
        if run is None:
            raise Missing
        return run

    def _with_data(self, request: Request) -> tuple[StoredRun, RereadRun | str]:
        run = self._run(request, "run")
        data, why = self.runs.data(run)
        return run, why if data is None else data

    def _problem(self, request: Request, title: str, what: str, status: int) -> Response:
        return _page(pages.problem_page(request.scope["base"], title, what), status)


def _json(value: object) -> Response:
    return Response(json.dumps(value), media_type="application/json")


def _file(text: str, name: str) -> Response:
    media = {"csv": "text/csv", "json": "application/json", "html": "text/html"}[name.rpartition(".")[2]]
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-security-policy": f"{CLOSED}; sandbox"}
    return Response(text, media_type=f"{media}; charset=utf-8", headers=headers)


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


def _threshold(request: Request) -> float | None:
    """The score from which detections are shown, where one is asked for."""
    text = request.query_params.get("score", "")
    if not text:
        return None
    if not re.fullmatch(r"[01]?(\.[0-9]{1,9})?", text) or not 0 <= float(text) <= 1:
        raise Missing
    return float(text)


def _unit(request: Request, data: RereadRun) -> int:
    unit = int(request.path_params["unit"])
    if unit >= len(data.units):
        raise Missing
    return unit
