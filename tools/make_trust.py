"""Make the scorecard, docs/trust.md, from what the last runs recorded.

    python tools/make_trust.py            # take in what lies in out/, and write both files
    python tools/make_trust.py --machine "x86_64, Python 3.12.3"    # where another machine left what lies in out/
    python tools/make_trust.py --check    # are they up to date?

`docs/trust.json` keeps the records, each with its version, its date and its machine; a record is replaced when a newer
run has left its result in out/. The tests have a row for each run, out/tests*.xml: runs on other machines are copied
there. Nothing in either file is written by hand. Run by `make trust`, which measures parity first.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mutant_table import BEHAVIOUR
from mutants import WANTED

from steelyard import __version__

ROOT = Path(__file__).parent.parent
OUT = ROOT / "out"
KEPT = ROOT / "docs" / "trust.json"
PAGE = ROOT / "docs" / "trust.md"
GOLDENS = ROOT / "tests" / "goldens"

# Which tests hold which task to which references: installed packages by name, or goldens made by a version.
PARITY: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("boxes, masks, keypoints", ("test_boxes_parity.py", "test_masks.py", "test_compat.py"), ("pycocotools",)),
    ("boxes: LVIS", ("test_lvis.py", "test_class_groups.py"), ("goldens of lvis 0.5.3",)),
    ("boxes: Open Images", ("test_openimages.py",), ("goldens of tensorflow/models e006f5f0",)),
    ("boxes: LRP, calibration, FROC, crowds",
     ("test_lrp.py", "test_box_calibration.py", "test_froc.py", "test_crowds.py"),
     ("goldens of LRP-Error ec408f3, netcal 1.4.0, LUNA16's script, mmdetection cfd5d3a98",)),
    ("oriented", ("test_oriented.py", "test_quads.py"), ("shapely", "goldens of DOTA_devkit and others")),
    ("boxes3d", ("test_boxes3d.py",), ("goldens of KITTI's kit and nuscenes-devkit",)),
    ("documents", ("test_documents.py",), ("goldens of OmniDocBench 1.6.0 (147cd5a)",)),
    ("anomalies", ("test_anomalies.py", "test_anomalies_parity.py"),
     ("goldens of the MVTec scripts and anomalib 2.7.0", "scikit-learn", "scipy")),
    ("distributions", ("test_distributions.py",),
     ("goldens of pytorch-fid, clean-fid, torch-fidelity, torchmetrics, prdc, vendi-score, CMMD",)),
    ("images", ("test_images.py",),
     ("goldens of scikit-image, BasicSR, torchmetrics, piq, pytorch-msssim, TensorFlow, sewar",)),
    ("grounding", ("test_grounding.py", "test_grounding_files.py"), (
        "goldens of lmms-eval, MDETR, TransVG, gRefCOCO, ReLA, LISA, SAM 3",
    )),
    ("depth", ("test_depth.py", "test_depth_explained.py"),
     ("goldens of ZoeDepth d87f17b2, Marigold b1dffaaa, Depth-Anything-V2 a561b849, Depth Pro 9efe5c1d, KITTI's kit",)),
    ("normals", ("test_normals.py",), ("goldens of Marigold b1dffaaa",)),
    ("flow", ("test_flow.py",), ("goldens of KITTI's devkit, RAFT, ptlflow, flow_library, Spring",)),
    ("disparity", ("test_disparity.py",),
     ("goldens of KITTI's devkit, Middlebury SDK 1.6, ETH3D, RAFT-Stereo, Spring",)),
    ("nutrients", ("test_nutrients.py",), ("scikit-learn", "scipy", "goldens of pingouin 0.7.0")),
    ("labels", ("test_labels_parity.py", "test_labels_counts.py"), ("scikit-learn",)),
    ("verification, re-identification", ("test_verification.py", "test_reidentification.py", "test_open_set.py"),
     ("goldens of pyeer 0.5.6, bob.measure 6.1.1, OpenOOD, torch-uncertainty, insightface, torchreid, open-reid",)),
    ("tables", ("test_trees.py", "test_tables.py"),
     ("goldens of PubTabNet 8ffde90, table-transformer 16d124f, OmniDocBench 1.6.0",)),
    ("rankings", ("test_rankings_parity.py",), ("ranx", "goldens of pytrec-eval-terrier 0.5.11, ir-measures 0.4.3")),
    ("captions", ("test_captions.py",), ("sacrebleu", "rouge-score", "goldens of pycocoevalcap")),
    ("segmentation, panoptic, volumes", ("test_segmentation.py", "test_panoptic.py", "test_volumes.py"),
     ("scipy", "goldens of torchmetrics, MONAI, surface-distance, panopticapi")),
    ("tracking", ("test_tracking.py", "test_tracking_native.py"), ("goldens of trackeval 1.3.0, py-motmetrics 1.4.0",)),
    ("answers", ("test_answers.py", "test_edits.py"), ("rapidfuzz", "goldens of the official VQA code and others")),
    ("losses", ("test_losses.py", "test_losses_task.py"), ("goldens of effdet 0.4.1, torchvision 0.29.2",)),
    ("ellipses", ("test_ellipses.py", "test_conic.py", "test_ellipse_distances.py"), ("shapely", "scipy")),
    ("statistics", ("test_stats.py", "test_families.py"), ("scipy",)),
)  # fmt: skip


def stamp() -> dict[str, str]:
    """When, and on what."""
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    if "--machine" in sys.argv:
        machine = sys.argv[sys.argv.index("--machine") + 1]
    return {"version": __version__, "date": time.strftime("%Y-%m-%d"), "machine": machine}


def named(reference: str) -> str:
    """A reference with its version."""
    if reference.startswith("goldens"):
        return reference
    try:
        return f"{reference} {version(reference)}"
    except PackageNotFoundError:
        sys.exit(f"{reference} is not installed: run `make trust`")


def measure_parity() -> None:
    """Run the tests of parity, and write how near they came."""
    OUT.mkdir(exist_ok=True)
    files = [next((ROOT / "tests").rglob(name)) for _, tests, _ in PARITY for name in tests]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-p",
        "note_differences",
        "--differences",
        OUT / "parity.json",
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    if subprocess.run([*command, *files], cwd=ROOT, env=env, check=False).returncode:
        sys.exit("tests of parity failed")


def take_parity() -> dict[str, Any]:
    """Rows of tests, numbers and the largest difference."""
    counts = json.loads((OUT / "parity.json").read_text(encoding="utf-8"))
    rows = []
    for task, tests, references in PARITY:
        own = [counts.get(name, {"tests": 0, "numbers": 0, "largest": 0.0}) for name in tests]
        rows.append({
            "task": task, "references": [named(one) for one in references], "files": list(tests),
            "tests": sum(int(one["tests"]) for one in own), "numbers": sum(int(one["numbers"]) for one in own),
            "largest": max(float(one["largest"]) for one in own),
        })  # fmt: skip
    return {"rows": rows}


def suite_of(path: Path) -> ET.Element:
    """The tests that a run has written."""
    root = ET.parse(path).getroot()
    suite = root if root.tag == "testsuite" else root.find("testsuite")
    assert suite is not None
    return suite


def counts_of(suite: ET.Element) -> dict[str, int]:
    """How many passed, and how many did not."""
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    return {"passed": int(suite.get("tests", 0)) - failed - skipped, "failed": failed}


def where(row: dict[str, Any]) -> tuple[str, str]:
    """The command, and the machine without the last part of Python's number and without NumPy's."""
    return row["command"], re.sub(r"(Python \d+\.\d+).*", r"\1", row["machine"])


def take_tests() -> dict[str, Any]:
    """A row for each run of the tests, and what kinds of tests are in the largest."""
    rows, largest = [], ET.Element("testsuite")
    for path in sorted(OUT.glob("tests*.xml")):
        suite = suite_of(path)
        command, _, machine = suite.get("name", "").partition("; ")  # as the Makefile and tools/name_run.py call it
        if not machine:
            sys.exit(f"{path} does not say where it ran: run `make test`")
        skipped = int(suite.get("skipped", 0))
        when = {"version": __version__, "date": suite.get("timestamp", "")[:10]}
        rows.append({"command": command, "machine": machine, **when, **counts_of(suite), "skipped": skipped})
        largest = max(largest, suite, key=len)
    cases = [case.get("classname", "") for case in largest.iter("testcase")]

    def among(pattern: str) -> int:
        return sum(bool(re.search(pattern, name)) for name in cases)

    return {
        "rows": rows,
        "bad_input": among(r"hostile|bad_input|damage|packed_files|native_checks"),
        "laws": among(r"test_laws|map_laws"),
        "examples": among(r"test_docs"),
    }


def take_peers() -> dict[str, Any]:
    """The suites of the packages that have a drop-in, run on the drop-in."""
    suites: dict[str, Any] = json.loads((OUT / "peer_suites.json").read_text(encoding="utf-8"))
    return suites


def take_mutants() -> dict[str, Any]:
    """By package: the mutants, how many of them were run, and the share that was noticed with its interval.

    The same without the changes of words is under "behaviour".
    """
    text = (OUT / "mutants.md").read_text(encoding="utf-8")
    number, share = r" (\d+) \|", r" ([\d.]+%) \|"
    pattern = rf"^\| (\w+)({BEHAVIOUR})? \|{number}{number}{number}{share}{share}{share}{share}$"
    keys = ("mutants", "run", "noticed", "share", "error", "low", "high")
    rooms: dict[str, dict[str, Any]] = {}
    for room, behaviour, *cells in re.findall(pattern, text, re.MULTILINE):
        row = dict(zip(keys, cells, strict=True))
        if behaviour:
            rooms[room]["behaviour"] = row
        else:
            rooms[room] = row
    return {"rooms": rooms}


def take_coverage() -> dict[str, Any]:
    """Shares of lines and branches."""
    shares: dict[str, Any] = json.loads((OUT / "coverage" / "summary.json").read_text(encoding="utf-8"))
    return shares


def take_fuzz() -> dict[str, Any]:
    """Targets, runs and seconds."""
    lines = (OUT / "fuzz.txt").read_text(encoding="utf-8").splitlines()
    runs = [int(match[1]) for line in lines if (match := re.match(r"\S+: (\d+) runs without a find", line))]
    return {"targets": len(runs), "runs": sum(runs), "seconds": int(lines[0].split()[1])}


def take_sanitizers() -> dict[str, Any]:
    """The C++ tests under sanitizers, by set of instructions."""
    suite = suite_of(OUT / "ctest-sanitized.xml")
    return {**counts_of(suite), "names": sorted(case.get("name", "") for case in suite.iter("testcase"))}


def take_kills() -> dict[str, Any]:
    """Commands that were killed, and how often in time."""
    suite = suite_of(OUT / "kills.xml")
    said = "\n".join(out.text or "" for out in suite.iter("system-out"))
    kills = sum(int(count) for count in re.findall(r"^(\d+) (?:of \d+ )?kills came in time", said, re.MULTILINE))
    return {**counts_of(suite), "kills": kills}


def take_simulate() -> dict[str, Any]:
    """The simulated tests, and the table of coverage."""
    with (ROOT / "docs" / "coverage.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shares = [float(row["coverage"]) for row in rows if row["coverage"] != "nan"]
    metrics = {(row["task"], row["population"], row["metric"]) for row in rows}
    inside = sum(93 <= share <= 97 for share in shares)
    below = sum(row["outside"] == "below" for row in rows)
    suite = suite_of(OUT / "simulate.xml")
    named = re.fullmatch(r"sets-(\d+)", suite.get("name", ""))  # as `make simulate` calls the suite
    if named is None:
        sys.exit("out/simulate.xml does not say how many test sets were drawn: run `make simulate`")
    return {**counts_of(suite), "sets": int(named[1]), "metrics": len(metrics), "shares": len(shares), "inside": inside,
            "below": below, "median": statistics.median(shares)}  # fmt: skip


def take_bench() -> dict[str, Any]:
    """How many groups of the last table Steelyard leads, and where not."""
    table = json.loads((OUT / "bench" / "table.json").read_text(encoding="utf-8"))
    groups: dict[str, dict[str, float]] = {}
    for row in (row for row in table["rows"] if "cpu" in row):
        groups.setdefault(f"{row['script']}: {row['group']}", {})[row["name"]] = row["cpu"]
    compared = {g: rows for g, rows in groups.items() if any("steelyard" in n for n in rows) and len(rows) > 1}
    led = [g for g, rows in compared.items() if "steelyard" in min(rows, key=rows.__getitem__)]
    scripts = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    missing = sorted(scripts - set(table["scripts"]))
    return {"groups": len(compared), "led": len(led), "behind": sorted(set(compared) - set(led)), "missing": missing}


# Each record: the file that a run leaves, what is read from it, and the command that makes it again.
RECORDS: dict[str, tuple[str, Callable[[], dict[str, Any]], str]] = {
    "parity": ("parity.json", take_parity, "make trust"),
    "tests": ("tests*.xml", take_tests, "make test"),
    "peers": ("peer_suites.json", take_peers, "make peer-suites"),
    "mutants": ("mutants.md", take_mutants, "make mutants"),
    "coverage": ("coverage/summary.json", take_coverage, "make coverage"),
    "fuzz": ("fuzz.txt", take_fuzz, "make fuzz"),
    "sanitizers": ("ctest-sanitized.xml", take_sanitizers, "make ctest"),
    "kills": ("kills.xml", take_kills, "make kills"),
    "simulate": ("simulate.xml", take_simulate, "make simulate"),
    "bench": ("bench/table.json", take_bench, "make bench"),
}


def take(kept: dict[str, Any]) -> dict[str, Any]:
    """The records, those of newer runs in place of older ones."""
    for name, (file, read, _) in RECORDS.items():
        written = max((path.stat().st_mtime for path in OUT.glob(file)), default=0.0)
        if written > kept.get(name, {}).get("taken", 0.0):
            before = kept.get(name, {})
            kept[name] = {**stamp(), "taken": int(written) + 1, **read()}
            if name == "tests":  # what was not run again on its machine stays, with its version
                rows = kept[name]["rows"]
                again = {where(row) for row in rows}
                rows += [row for row in before.get("rows", []) if where(row) not in again]
    return kept


def difference(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}"


START = """# Why trust it?

How the numbers are checked, and what the last checks found. `tools/make_trust.py` makes this page from records of the
last runs; each section names the command that repeats it, and says so if there is no record yet."""

END = """## Threats

SECURITY.md lists what a malicious file, result, state, server or page could try, with the tests for each.
`make partitions` cuts the data of every task in 10,000 ways: states and reports stay the same."""


def page(kept: dict[str, Any]) -> str:
    """The scorecard as Markdown."""
    parts = [START]
    for name, (_, _, command) in RECORDS.items():
        parts.append(f"## {TITLES[name]}")
        record = kept.get(name)
        if record is None:
            parts.append(f"Not recorded yet: `{command}`.")
        else:
            version = f"version {record['version']}" if "version" in record else "before version 0.3.0"
            ran = f", {version}, {record['date']}, {record['machine']}"
            parts += [SHOWN[name](record), f"`{command}`{'' if name == 'tests' else ran}."]
    return "\n\n".join([*parts, END]) + "\n"


def shown_parity(record: dict[str, Any]) -> str:
    head = ["| task | reference | tests | numbers compared | largest difference |", "|---|---|---|---|---|"]
    rows = []
    for row in record["rows"]:
        cells = [row["task"], ", ".join(row["references"]), f"{row['tests']:,}", f"{row['numbers']:,}"]
        rows.append(f"| {' | '.join([*cells, difference(row['largest'])])} |")
    return "\n".join([*head, *rows]) + (
        "\n\nA difference is relative to the expected value, or absolute where that is below one. What tests compare "
        "to the bit is not\ncounted among the numbers. Differences above 1e-9 come from references that are less "
        "precise: single precision, few\nprinted digits, polygons for ellipses, draws for statistics."
    )


def shown_tests(record: dict[str, Any]) -> str:
    rows = []
    for row in record["rows"]:
        counts = [f"{row['passed']:,}", str(row["failed"]), str(row["skipped"])]
        rows.append(f"| {' | '.join([row['command'], row['machine'], row['version'], row['date'], *counts])} |")
    head = ["| run | machine | version | date | passed | failed | skipped |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + (
        f"\n\nAmong those of the largest run are {record['laws']:,} laws of metrics (every metric of every task),\n"
        f"{record['bad_input']:,} hostile or wrong inputs and {record['examples']:,} checks of the documentation, "
        "whose examples are all run.\nA test is skipped where the machine lacks what it needs: a package without a "
        "build for that Python, Chromium, LaTeX."
    )


def shown_peers(record: dict[str, Any]) -> str:
    head = ["| package | version | passed | failed | left out | why |", "|---|---|---|---|---|---|"]
    keys = ("package", "version", "passed", "failed", "left_out", "reason")
    ran = [row for row in record["rows"] if row["passed"] or row["failed"]]
    rows = [f"| {' | '.join(str(row[key]) for key in keys)} |" for row in ran]
    others = ", ".join(row["package"] for row in record["rows"] if row not in ran)
    intro = "The tests that these packages have for themselves, run on Steelyard's drop-ins.\n"
    last = f"\nThe published archives of these packages contain no tests: {others}." if others else ""
    return "\n".join([intro, *head, *rows, last]).rstrip()


def shown_mutants(record: dict[str, Any]) -> str:
    rooms = sorted(record["rooms"].items())
    split = all("behaviour" in row for _, row in rooms)  # a record of an older version has the first share alone
    head = ["package", "changes of the source", "run", "noticed by the tests", "95 % interval"]
    head += ["changes but of words", "run", "noticed by the tests", "95 % interval"] if split else []
    rows = []
    for room, row in rooms:
        cells = [cell for one in ([row, row["behaviour"]] if split else [row]) for cell in mutant_cells(one)]
        rows.append(f"| {' | '.join([room, *cells])} |")
    asked = {room: row["behaviour"] if split else row for room, row in rooms}
    below = [room for room, row in asked.items() if float(row["share"].rstrip("%")) < 100 * WANTED]
    table = "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])
    left_out = "Changes\nof messages and changes without any effect count as well."
    if split:
        left_out = (
            "The first share\ncounts every change. The second leaves out those that change words only: the function's "
            "syntax tree stays the same\nexcept for strings that contain white space, that are raised or end as a "
            "sentence does, and that no source compares,\nlooks up, splits or formats. Tests assert the codes and "
            "fields of errors rather than sentences. Changes without any\neffect count in both."
        )
    return (
        f"{table}\n\nWhere not all changes were run, a random sample by file was, drawn after the last test was "
        f"written. {left_out}"
        + (f" **Below the {100 * WANTED:.0f} % that the project asks for**: {', '.join(below)}." if below else "")
        + (f"\n{record['note']}" if "note" in record else "")
    )


def mutant_cells(row: dict[str, str]) -> list[str]:
    """How many mutants there are and were run, the share that was noticed, and its interval."""
    interval = "all were run" if row["run"] == row["mutants"] else f"{row['low']} to {row['high']}"
    return [
        f"{int(row['mutants']):,}",
        f"{int(row['run']):,}",
        *(text.replace("%", " %") for text in (row["share"], interval)),
    ]


def shown_coverage(record: dict[str, Any]) -> str:
    rows = [
        f"| {side} | {record[f'{key}_lines']} % | {record[f'{key}_branches']} % |"
        for side, key in (("Python", "python"), ("native core", "native"))
    ]
    note = ["", record["note"]] if "note" in record else []
    return "\n".join(["| | lines | branches |", "|---|---|---|", *rows, *note])


def shown_fuzz(record: dict[str, Any]) -> str:
    return (
        f"{record['targets']} targets that reach every native entry, {record['seconds']} s each under both sanitizers: "
        f"{record['runs']:,} runs without an error."
    )


def shown_sanitizers(record: dict[str, Any]) -> str:
    names = ", ".join(record["names"])
    return (
        "The C++ tests of the kernels under the address and undefined-behaviour sanitizers, once for each set of\n"
        f"instructions that the machine has ({names}): {record['failed']} failed."
    )


def shown_kills(record: dict[str, Any]) -> str:
    return (
        f"{record['kills']:,} kills in the middle of commands that write: afterwards every file is the old one or the "
        f"complete\nnew one. {record['passed']} tests passed, {record['failed']} failed."
    )


def shown_simulate(record: dict[str, Any]) -> str:
    return (
        f"{record['passed']} simulated tests of intervals, p-values and plans passed, {record['failed']} failed, on "
        f"{record['sets']:,} test sets each.\nThe table of [How sure is a number](statistics.md) has "
        f"{record['metrics']} metrics of simulated populations at several numbers\nof units: of "
        f"{record['shares']:,} coverages {100 * record['inside'] / record['shares']:.0f} % lie in 93 to 97 %, "
        f"their median is {record['median']} %, and {record['below']} lie below 93 % by more than two standard errors."
    )


def shown_bench(record: dict[str, Any]) -> str:
    behind = "".join(f"\n- {name}" for name in record["behind"])
    lacking = f" Not in the table: {', '.join(record['missing'])}." if record["missing"] else ""
    return f"Fastest in {record['led']} of {record['groups']} comparisons.{lacking}" + (
        f" Not the fastest in:\n{behind}" if behind else ""
    )


TITLES = {
    "parity": "Parity with references", "tests": "Tests", "peers": "Test suites of other tools",
    "mutants": "Mutation tests", "coverage": "Coverage", "fuzz": "Fuzzing", "sanitizers": "Memory", "kills": "Kills",
    "simulate": "Intervals and verdicts", "bench": "Speed against other tools",
}  # fmt: skip
SHOWN: dict[str, Callable[[dict[str, Any]], str]] = {
    "parity": shown_parity, "tests": shown_tests, "peers": shown_peers, "mutants": shown_mutants,
    "coverage": shown_coverage, "fuzz": shown_fuzz, "sanitizers": shown_sanitizers, "kills": shown_kills,
    "simulate": shown_simulate, "bench": shown_bench,
}  # fmt: skip


def main() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != page(kept):
            sys.exit("docs/trust.md is stale; run python tools/make_trust.py")
        return
    if "--parity" in sys.argv:
        measure_parity()
    kept = take(kept)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
