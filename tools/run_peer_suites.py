"""Run the tests that the replaced packages have for themselves on the drop-ins. Run by `make peer-suites`.

The tests come from the archives of the package index, in the versions that the drop-ins reproduce, and are unpacked
into a temporary folder without the package itself. Each suite runs in a process of its own, started by `python -m
steelyard.compat --only PACKAGE`; with the package itself its tests are only counted. What the runs need beside the
packages of the tests is in requirements/peers.txt, and is installed in build/peers.

The counts are written to out/peer_suites.json and, if all suites were run, to the table in docs/compat.md.

    tools/run_peer_suites.py --only jiwer     one suite, and what it prints
    tools/run_peer_suites.py --table          write the table again, from out/peer_suites.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.compat import DROP_INS

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "peers"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
RECORD = ROOT / "out" / "peer_suites.json"
PAGE = ROOT / "docs" / "compat.md"
TABLE = re.compile(r"(?<=<!-- peer suites: begin -->\n).*?(?=<!-- peer suites: end -->)", re.DOTALL)
SECONDS = 600  # a suite may take
KEYS = ("package", "version", "passed", "failed", "left_out", "reason")


@dataclass(frozen=True)
class Suite:
    """Where the tests of a package are, and which of them cannot be run on the drop-in."""

    folders: tuple[str, ...]  # of the archive that are unpacked; the first has the tests
    wheel: bool = False  # the tests are in the wheel
    left_out: dict[str, str] = field(default_factory=dict)  # files and folders: why
    conftest: str = ""  # what the tests use of other packages that newer versions of these no longer have
    note: str = ""


# motmetrics 1.4.0 was written for NumPy 1 and pandas 1.
OLD_NAMES = """import numpy, pandas, types
numpy.asfarray = lambda values: numpy.asarray(values, dtype=float)
pandas.util.testing = types.SimpleNamespace(assert_frame_equal=pandas.testing.assert_frame_equal)
"""

SUITES = {
    "jiwer": Suite(("tests",)),
    "trackeval": Suite(("tests",), left_out={"tests/cli": "the commands are not replaced"}),
    "motmetrics": Suite(
        ("motmetrics/tests", "motmetrics/data"),
        wheel=True,
        conftest=OLD_NAMES,
        note="run with pandas 2; `np.asfarray` and `pandas.util.testing`, which the tests use, are put in place",
    ),
    "sacrebleu": Suite(
        ("test",),
        left_out={
            "test/test_api.py": "test sets are not replaced",
            "test/test_dataset.py": "test sets are not replaced",
            "test/test_chrf.py": "chrF is not replaced",
            "test/test_significance.py": "paired tests are not replaced",
            "test/test_ter.py": "TER is not replaced",
            "test/test_tokenizer_ter.py": "TER is not replaced",
        },
    ),
}

REPOSITORY = "the tests are only in the repository, not in the archives of the package index"
NONE = "the package has no tests"
NOT_RUN = {
    "pycocotools": REPOSITORY,
    "lvis": REPOSITORY,
    "pytrec_eval": REPOSITORY,
    "vqaEvaluation": NONE,
    "vqaTools": NONE,
    "pycocoevalcap": NONE,
    "torchmetrics": REPOSITORY,
    "panopticapi": NONE,
    "cityscapesscripts": NONE,
    "ranx": REPOSITORY,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=sorted(SUITES), help="run this suite, and write nothing")
    parser.add_argument("--table", action="store_true", help="write the table again, from out/peer_suites.json")
    asked = parser.parse_args()
    if asked.table:
        rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    else:
        prepare()
        rows = [row(package, bool(asked.only)) for package in asked.only or DROP_INS]
    print("\n".join(table(rows)))
    if not asked.only:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
        lines = [*table(rows), "", f"`make peer-suites`, {datetime.datetime.now(datetime.UTC).date()}."]
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda _: "\n".join(lines) + "\n", page), encoding="utf-8")
    if any(row["failed"] for row in rows):
        sys.exit(1)


def prepare() -> None:
    """An environment that sees the packages of this one, with Steelyard, and has what the suites need beside them."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    beside = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(place) / "beside.pth").write_text(beside, encoding="utf-8")
    needed = ROOT / "requirements" / "peers.txt"
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", needed], check=True)


def row(package: str, say: bool) -> dict[str, Any]:
    """The line of the record about a package."""
    version = DROP_INS[package].version
    if package in NOT_RUN:
        why = NOT_RUN[package]
        return dict(zip(KEYS, (package, version, 0, 0, 0 if why == NONE else "all", why), strict=True))
    suite = SUITES[package]
    print(f"{package} {version} ...", flush=True)
    try:
        passed, failed, total = run(package, archive(package, version, suite.wheel), say)
    except subprocess.TimeoutExpired:
        sys.exit(f"the tests of {package} {version} did not end within {SECONDS} s")
    values = (package, version, passed, len(failed), total - passed - len(failed), reason(suite, failed))
    return dict(zip(KEYS, values, strict=True))


def run(package: str, archive: Path, say: bool) -> tuple[int, list[str], int]:
    """How many tests passed on the drop-in, the names of those that failed, and how many the package itself has."""
    suite = SUITES[package]
    with tempfile.TemporaryDirectory() as raw:
        folder = Path(raw)
        unpack(archive, suite.folders, folder)
        (folder / "conftest.py").write_text(suite.conftest, encoding="utf-8")
        options = [Path(suite.folders[0]).name, "--rootdir", folder, "-p", "pytest_benchmark.plugin"]
        printed = python(folder, "-m", "pytest", "--collect-only", "--quiet", *options)
        total = collected(printed.stdout)
        junit = folder / "junit.xml"
        left_out = [f"--ignore={name}" for name in suite.left_out]
        command = ["-m", "steelyard.compat", "--only", package, "-m", "pytest", "--continue-on-collection-errors"]
        printed = python(folder, *command, "--benchmark-disable", f"--junitxml={junit}", *options, *left_out)
        if say:
            print(printed.stdout + printed.stderr)
        return *counts(junit.read_text(encoding="utf-8")), total


def python(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, without the plugins of pytest that happen to be installed."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(PYTHON), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def archive(package: str, version: str, wheel: bool) -> Path:
    """The archive of a package, downloaded once."""
    kept = FOLDER / "archives" / f"{package}-{version}"
    if not kept.exists():
        kind = "--only-binary" if wheel else "--no-binary"
        with tempfile.TemporaryDirectory() as raw:
            asked = ["--no-deps", kind, package, "--dest", raw, f"{package}=={version}"]
            if subprocess.run([PYTHON, "-m", "pip", "download", "--quiet", *asked], check=False).returncode:
                sys.exit(f"{package} {version} cannot be downloaded; pip says why above")
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(next(Path(raw).iterdir()).read_bytes())
    return kept


def unpack(path: Path, folders: tuple[str, ...], to: Path) -> None:
    """Take these folders out of an archive, under their last names, so that the package is not beside its tests."""
    with tempfile.TemporaryDirectory() as raw:
        whole = Path(raw)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(whole)
        else:
            with tarfile.open(path) as source:
                source.extractall(whole, filter="data")
            whole = next(whole.iterdir())
        for folder in folders:
            shutil.copytree(whole / folder, to / Path(folder).name)


def collected(printed: str) -> int:
    """How many tests pytest says that it has collected."""
    match = re.search(r"^(\d+) tests? collected", printed, re.MULTILINE)
    if match is None:
        sys.exit(f"the tests cannot be collected with the package itself:\n{printed}")
    return int(match[1])


def counts(junit: str) -> tuple[int, list[str]]:
    """How many tests passed, and the names of those that failed or stopped, as a report in JUnit's format has them."""
    passed, failed = 0, []
    for case in ElementTree.fromstring(junit).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(case.attrib["name"])
        elif case.find("skipped") is None:
            passed += 1
    return passed, failed


def reason(suite: Suite, failed: list[str]) -> str:
    """Which tests failed, why others were left out, and what was put in place for the run."""
    parts = ["failed: " + ", ".join(f"`{name}`" for name in failed)] if failed else []
    parts += dict.fromkeys(suite.left_out.values())
    return "; ".join([*parts, suite.note] if suite.note else parts)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of the table."""
    head = ["| package | version | passed | failed | left out | why |", "|---|---|---|---|---|---|"]
    return head + [f"| {' | '.join(str(row[key]) for key in KEYS)} |" for row in rows]


if __name__ == "__main__":
    main()
