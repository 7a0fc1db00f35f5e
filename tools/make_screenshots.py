"""Screenshots of the pages of every task, from the sample data, into docs/images. Run: python tools/make_screenshots.py

Needs Chromium (see tools/browser.py) and, for the vision-language page, the extra vlm.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import run_docs
from browser import Browser, Page
from PIL import Image

import steelyard as sy
from steelyard.cli.demo import copy_sample
from steelyard.core import catalogue
from steelyard.view.runs import run_id

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "src" / "steelyard" / "samples"
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1100, 2400
COLOURS = 96  # of a picture; a page has few, and a small palette keeps the repository small


def main() -> None:
    wanted = set(sys.argv[1:])
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for task, sample in catalogue.samples().items():
            if wanted and task not in wanted:
                continue
            place = Path(folder) / task
            copy_sample(sample, place)
            os.chdir(place)
            truth, a, b, by = sample.truth, sample.a, sample.b, [sample.by] if sample.by else []
            sy.evaluate(task, truth, a, by=by, options=sample.options).to_html(place / "report.html")
            _shoot(browser, place / "report.html", task)
            if task == "weights":
                _shoot(browser, place / "report.html", "weights_dark", dark=True)
                _shoot(browser, place / "report.html", "weights_phone", width=390, phone=True)
                sy.compare(task, truth, a, b, by=by).to_html(place / "compared.html")
                _shoot(browser, place / "compared.html", "compared")
            if task == "boxes":
                models = {"old": a, "new": b}
                sy.compare(task, truth, models, by=by)[0].to_html(place / "compared.html")
                _save(browser.open(place / "compared.html", width=WIDTH, height=895), "comparison", whole=False)
                page = browser.open(place / "report.html", width=WIDTH, height=760)
                page.run("document.getElementById('explorer').scrollIntoView({ behavior: 'instant' })")
                page.wait(lambda page=page: page.run("document.querySelectorAll('.explorer .grid .row').length") > 2)
                _save(page, "explorer", whole=False)
        place = Path(folder)
        os.chdir(place)
        if not wanted or "week" in wanted:
            for file in (SAMPLE / "weights").iterdir():
                (place / file.name).write_bytes(file.read_bytes())
            _week(browser, place)
        if not wanted or "vlm" in wanted:
            _vlm(place)
            _shoot(browser, place / "vlm.html", "vlm")


def _vlm(place: Path) -> None:
    import steelyard.vlm.run as runner
    from steelyard.vlm.backend import ModelOptions
    from steelyard.vlm.frames import read_frames
    from steelyard.vlm.models import open_backend
    from steelyard.vlm.prompts import PROMPTS
    from steelyard.vlm.score import score

    model = f"hf:{SAMPLE / 'vlm' / 'model'}"
    backend = open_backend(model, ModelOptions(device="cpu"))
    frames = read_frames(SAMPLE / "vlm" / "frames.csv")
    runner.run(frames, backend, tuple(PROMPTS.values()), "run", model="hf:model", controls=True)
    backend.close()
    score("run").to_html(place / "vlm.html", images=SAMPLE / "vlm")


def _week(browser: Browser, place: Path) -> None:
    """What docs/week.md looks at: its own blocks make the runs."""
    blocks = [match["code"] for match in run_docs.BLOCK.finditer((ROOT / "docs" / "week.md").read_text("utf-8"))]
    made: dict[str, object] = {}
    for code in [code for code in blocks if code and code.startswith(("import csv", "import steelyard"))]:
        exec(compile(code, "week.md", "exec"), made)
    viewer = subprocess.Popen([sys.executable, "-m", "steelyard", "view", "runs"], stdout=subprocess.PIPE, text=True)
    assert viewer.stdout is not None
    address = viewer.stdout.readline().strip()
    runs = (place / "runs").resolve()
    names = [f"{model}_2026-03-{day}.json" for day in ("02", "06") for model in ("small", "large")]
    picked = "&".join(f"run={run_id(name)}" for name in names)
    try:
        for name, query in (("week", "?metric=mae&group=model"), ("week_compared", f"compare?as=table&{picked}")):
            page = browser.page(width=WIDTH, height=1000)
            page.visit(address + query)
            page.errors.clear()  # a browser asks for an icon, without the token
            page.run(
                "for (const p of document.querySelectorAll('p'))"
                f" if (p.textContent === {json.dumps(str(runs))}) p.textContent = 'runs'"
            )
            _save(page, name, whole=False)
    finally:
        viewer.terminate()
        viewer.wait()


def _shoot(browser: Browser, path: Path, name: str, width: int = WIDTH, **options: object) -> None:
    page = browser.open(path, width=width, height=900, **options)
    _save(page, name)


def _save(page: Page, name: str, *, whole: bool = True) -> None:
    """Keep the top of the page, in few colours."""
    if page.errors:
        sys.exit(f"{name}: {page.errors}")
    target = IMAGES / f"{name}.png"
    page.screenshot(target, whole=whole, most=HEIGHT)
    image = Image.open(io.BytesIO(target.read_bytes())).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(target, optimize=True)
    page.close()


if __name__ == "__main__":
    main()
