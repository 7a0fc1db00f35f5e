"""Open every page of the built documentation in a browser, wide and narrow, and search in it. Run by `make docs`.

A page must be quiet (no error of a script, no file that lacks, nothing asked of another machine), show all of its
pictures, and fit the screen's width. The search must find a metric.
"""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from pathlib import Path

from browser import Browser, Page

SITE = Path(__file__).parent.parent / "site"
SIZES = {"wide": {"width": 1200}, "narrow": {"width": 390, "phone": True}}
BROKEN = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SEARCH = """
(() => { const box = document.querySelector('[data-md-component=search-query]');
  box.focus(); box.value = 'recall'; box.dispatchEvent(new Event('keyup', {bubbles: true}));
  box.dispatchEvent(new Event('input', {bubbles: true})); })()
"""
HITS = "document.querySelectorAll('.md-search-result__item').length"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves without a line for each request, and remembers what lacked."""

    lacking: list[str] = []

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Send a file, or the list of versions that stands above the site where it is published."""
        if not self.path.endswith("versions.json"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'[{"version": "dev", "title": "dev", "aliases": []}]')

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Remember what lacked."""
        self.lacking.append(f"{code} {self.path}")
        super().send_error(code, message, explain)


def faults(page: Page, base: str) -> list[str]:
    """What is wrong with the page that is open."""
    wrong = [f"says: {text}" for text in page.errors]
    wrong += [f"asks for {url}" for url in page.requests if not url.startswith((base, "data:", "blob:", "about:"))]
    wrong += [f"does not show {source}" for source in page.run(BROKEN)]
    wider = page.run(WIDER)
    return wrong + ([f"is {wider} pixels wider than the screen"] if wider > 0 else [])


def load(page: Page, address: str) -> None:
    page.loaded = False
    page.errors.clear()
    page.requests.clear()
    page.call("Page.navigate", url=address)
    page.wait(lambda: page.loaded)


def main() -> None:
    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    names = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    wrong: list[str] = []
    with Browser() as browser:
        for size, options in SIZES.items():
            page = browser.page(**options)  # type: ignore[arg-type]
            for name in names:
                load(page, base + name)
                wrong += [f"{name} ({size}): {text}" for text in faults(page, base)]
        page = browser.page()
        load(page, base + "index.html")
        page.run(SEARCH)
        try:
            page.wait(lambda: page.run(HITS) > 0, 20)
        except TimeoutError:
            wrong.append("the search does not find 'recall'")
    server.shutdown()
    wrong += [f"lacks {text}" for text in sorted(set(Quiet.lacking))]
    for text in wrong:
        print(text, file=sys.stderr)
    print(f"{len(names)} pages at {len(SIZES)} widths: {len(wrong)} faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
