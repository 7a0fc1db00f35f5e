"""Ask every installed drop-in for pycocotools what tests/support/compat_probes.py asks, for docs/compat/pycocotools.md.

Run: python tools/make_compat_table.py. Each question runs in a process of its own, so that a crash is an answer too.
Peers: pip install hotcoco ultrafast-pycocotools faster-coco-eval vernier (requirements/bench.txt).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "compat" / "pycocotools.md"
BEGIN, END = "<!-- probes: begin -->", "<!-- probes: end -->"
sys.path.insert(0, str(ROOT / "tests"))

from support import compat_probes  # noqa: E402


def _steelyard() -> Any:
    from steelyard.compat import pycocotools

    return pycocotools


def _hotcoco() -> Any:
    from hotcoco import COCO, COCOeval, mask

    return SimpleNamespace(COCO=COCO, COCOeval=COCOeval, mask=mask)


def _ultrafast() -> Any:
    from ultrafast_pycocotools import COCO, COCOeval, mask

    return SimpleNamespace(COCO=COCO, COCOeval=COCOeval, mask=mask)


def _faster() -> Any:
    from faster_coco_eval import COCO, COCOeval_faster, mask

    return SimpleNamespace(COCO=COCO, COCOeval=COCOeval_faster, mask=mask)


def _vernier() -> Any:  # it brings an evaluator only, for pycocotools' own COCO
    from pycocotools import mask
    from pycocotools.coco import COCO
    from vernier import COCOeval

    return SimpleNamespace(COCO=COCO, COCOeval=COCOeval, mask=mask)


# name: (package, module, its tools)
PEERS: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "Steelyard": ("steelyard", "steelyard", _steelyard),
    "hotcoco": ("hotcoco", "hotcoco", _hotcoco),
    "ultrafast-pycocotools": ("ultrafast-pycocotools", "ultrafast_pycocotools", _ultrafast),
    "vernier": ("vernier", "vernier", _vernier),
    "faster-coco-eval": ("faster-coco-eval", "faster_coco_eval", _faster),
    "pycocotools": ("pycocotools", "pycocotools", compat_probes.pycocotools_tools),
}


def ask(tools: Callable[[], Any], question: str) -> tuple[str, str]:
    """The answer of one implementation to one question, and what it said."""
    probe = compat_probes.PROBES[question]
    compat_probes.TOLERANCE = 0.0 if "bit" in question else 1e-9
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        try:
            probe(tools(), compat_probes.pycocotools_tools())
            answer = "yes"
        except AssertionError as error:
            answer = f"differs\n{error}"
        except BaseException as error:
            answer = f"error\n{type(error).__name__}: {error}"
        os.write(write, answer.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    if os.waitstatus_to_exitcode(status) != 0 or not text:
        return "crash", f"exit {os.waitstatus_to_exitcode(status)}"
    answer, _, said = text.partition("\n")
    return answer, said.splitlines()[0] if said else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--say", action="store_true", help="print what went wrong, too")
    parser.add_argument("--only", nargs="*", help="ask these only, and write nothing")
    asked = parser.parse_args()
    peers = {name: peer for name, peer in PEERS.items() if importlib.util.find_spec(peer[1]) is not None}
    if asked.only:
        peers = {name: peer for name, peer in peers.items() if name in asked.only}
    lacking = sorted(set(PEERS) - set(peers))
    heads = [name if name == "Steelyard" else f"{name} {version(peer[0])}" for name, peer in peers.items()]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    passed = dict.fromkeys(peers, 0)
    for question in compat_probes.PROBES:
        cells = []
        for name, (_, _, tools) in peers.items():
            answer, said = ask(tools, question)
            cells.append("yes" if answer == "yes" else f"**{answer}**")
            passed[name] += answer == "yes"
            if asked.say and answer != "yes":
                print(f"{name}: {question}: {answer}: {said}")
        lines.append(f"| {question} | {' | '.join(cells)} |")
    total = len(compat_probes.PROBES)
    lines.append(f"| of {total} | {' | '.join(str(n) for n in passed.values())} |")
    table = "\n".join(lines)
    print(table)
    if asked.only or lacking:
        print(f"not written: not installed or not asked: {', '.join(lacking)}", file=sys.stderr)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
