"""The page of 500,000 detections: how large it is, when it is ready, and how long a filter and a sort take in Chromium.

    python benchmarks/bench_pages.py [DETECTIONS]

Targets: at most 8 MB, ready within 1.5 s, a filter within 150 ms. Times in the browser are its own clock's
(performance.now), from the start of loading until the explorer can be used, and from an input until the rows and the
picture have been laid out again; each is the median of five.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Run, record, sized

import steelyard as sy

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from browser import Browser, find

PER_IMAGE, CLASSES = 100, 80


def drawn(detections: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Images with seven objects each, found more or less well among many false positives."""
    rng = np.random.default_rng(0)
    images = max(1, detections // PER_IMAGE)
    objects = images * 7
    size = rng.lognormal(4, 0.8, (objects, 2)).clip(4, 400)
    place = rng.uniform(0, 600, (objects, 2))
    label = rng.zipf(1.3, objects).clip(1, CLASSES)
    image = np.repeat(np.arange(images), 7)
    truth = {"image": image, "label": label, "x": place[:, 0], "y": place[:, 1], "w": size[:, 0], "h": size[:, 1]}
    near = rng.integers(0, objects, detections)
    near = np.where(rng.random(detections) < 0.3, near, -1)
    chosen = np.maximum(near, 0)
    shift = rng.normal(0, 0.1, (detections, 2)) * size[chosen]
    free = rng.uniform(0, 600, (detections, 2))
    box = np.where((near >= 0)[:, None], place[chosen] + shift, free)
    predicted = {
        "image": np.where(near >= 0, image[chosen], rng.integers(0, images, detections)),
        "label": np.where(near >= 0, label[chosen], rng.integers(1, CLASSES + 1, detections)),
        "x": box[:, 0], "y": box[:, 1], "w": size[chosen, 0], "h": size[chosen, 1],
        "score": np.where(near >= 0, rng.beta(4, 2, detections), rng.beta(1, 4, detections)),
    }  # fmt: skip
    return truth, predicted


FILTER = """(async () => {
  const place = document.querySelector('.explorer'), times = [];
  const search = place.querySelector('input[type=search]'), inputs = place.querySelectorAll('input[type=number]');
  const laid = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const steps = [[inputs[0], '0.5'], [search, '12'], [inputs[1], '0.9'], [search, ''], [inputs[0], '']];
  for (const [input, value] of steps) {
    await laid();
    const start = performance.now();
    input.value = value;
    input.dispatchEvent(new Event('input'));
    place.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
})()"""
SORT = """(async () => {
  const place = document.querySelector('.explorer'), times = [];
  for (const head of [...place.querySelectorAll('[role=columnheader] button')].slice(0, 5)) {
    const start = performance.now();
    head.click();
    place.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
})()"""


def main() -> None:
    detections = int(sys.argv[1]) if len(sys.argv) > 1 else sized(500_000, 5_000)
    if find() is None:
        print("no Chromium here: apt-get install chromium")
        record("Page of a report of boxes", "steelyard, the page is written", "no Chromium here")
        return
    truth, predicted = drawn(detections)
    report = sy.evaluate("boxes", truth, predicted, confidence=None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.process_time()
        report.to_html(path)
        seconds = time.process_time() - start
        record("Page of a report of boxes", "steelyard, the page is written", Run(seconds, seconds, 0))
        size = path.stat().st_size / 1e6
        print(f"page of {detections:,} detections: {size:.2f} MB (at most 8), written in {seconds:.1f} s CPU")
        ready, filters, sorts = [], [], []
        with Browser() as browser:
            for _ in range(sized(5, 1)):
                page = browser.open(path)
                ready.append(float(page.run("document.documentElement.dataset.ready")))
                filters += page.run(FILTER)
                sorts += page.run(SORT)
                assert not page.errors, page.errors
                page.close()
        print(f"ready   {statistics.median(ready):7.0f} ms (at most 1500), slowest {max(ready):.0f}")
        print(f"filter  {statistics.median(filters):7.0f} ms (at most 150), slowest {max(filters):.0f}")
        print(f"sort    {statistics.median(sorts):7.0f} ms, slowest {max(sorts):.0f}")


if __name__ == "__main__":
    main()
