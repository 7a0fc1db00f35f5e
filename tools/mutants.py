"""Change the source one small thing at a time, and see whether the tests notice. Run by `make mutants`.

mutmut makes the changes, and `mutant_tests.py` runs the tests that reach each, of those that pyproject.toml lists.
mutmut needs a pytest before 9.2, so it has an environment of its own. What it made is kept in `mutants/`: a second run
looks only at what changed, and at what no test noticed. The table and the changes that no test noticed are written to
`out/mutants.md`, with two shares for each package: that of all changes, and that of all but those of words, as
`mutant_words.py` tells them apart. A package is an error where the second is below 90 %. A change that makes no
difference counts as any other.

    tools/mutants.py --sample 2000 --room tasks     a random sample, with the interval of the share
    tools/mutants.py 'steelyard.engine.judged.*'    what matches a pattern only
    tools/mutants.py --tests tests/tasks            look at what no test noticed so far with these tests alone

A sample is drawn by file, in proportion to the mutants of each and at least five per file, by the digests of the seed
and the names: with the same seed a file's mutants stay in it when other files change. The share of a room weighs the
files by all of their mutants. Tests that are written for the survivors of a sample make its share too good: the share
that is reported comes from another seed.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from mutant_table import FEWEST, NOTICED, File, table, words_only
from mutant_words import names_of

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "mutants-env"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MADE = ROOT / "mutants"
WANTED = 0.90
GENERATE = """
import os
from pathlib import Path
from mutmut import __main__ as mutmut
mutmut.set_mutant_under_test("mutant_generation")
Path("mutants").mkdir(exist_ok=True)
mutmut.copy_src_dir()
mutmut.copy_also_copy_files()
mutmut.setup_source_paths()
mutmut.store_lines_covered_by_tests()
mutmut.create_mutants(os.cpu_count() or 1)
"""


def main() -> None:
    asked = arguments()
    prepare()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    rooms: list[str] = settings["mutants"]["rooms"]
    shutil.rmtree(MADE / "tests", ignore_errors=True)
    print("making the mutants", flush=True)
    subprocess.run([PYTHON, "-c", GENERATE], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    wanted = [room for room in rooms if not asked.room or room in asked.room]
    names = {room: chosen(room, asked) for room in wanted}
    judge(
        still_open([name for room in wanted for name in names[room]], asked),
        [*settings["mutmut"]["pytest_add_cli_args"], *(asked.tests or test_files(settings["mutants"]["tests"]))],
    )
    used = names_of((ROOT / "src").rglob("*.py"))
    verdicts = {room: judged(room, set(names[room]), used) for room in wanted}
    text, shares = table(verdicts, asked.seed if asked.sample else None)
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "mutants.md").write_text(text, encoding="utf-8")
    print("\n\n".join(text.split("\n\n")[1:5]))
    print(f"What was not noticed is listed in {out / 'mutants.md'}")
    if min(shares.values(), default=1.0) < WANTED:
        sys.exit(1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("patterns", nargs="*", help="names of mutants; all without any")
    parser.add_argument("--room", action="append", help="core, engine or tasks; all without any")
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants of each room")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--tests", action="append", help="the tests that judge, in place of those in pyproject.toml")
    return parser.parse_args()


def prepare() -> None:
    """An environment with the packages of this one but without Steelyard, and the native core beside the sources."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        needed = ROOT / "requirements" / "mutants.txt"
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", needed], check=True)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        place = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
        beside = [path for path in sys.path if Path(path).name == "site-packages"]
        (Path(place) / "beside.pth").write_text("\n".join(beside) + "\n", encoding="utf-8")
    ask = "import steelyard._native as n; print(n.__file__)"
    printed = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, cwd=ROOT / "tools"
    )
    native = Path(printed.stdout.strip())
    beside = ROOT / "src" / "steelyard" / native.name
    if native != beside:
        shutil.copyfile(native, beside)


def files(room: str) -> list[Path]:
    """What mutmut keeps of the files of a room."""
    return sorted((MADE / "src" / "steelyard" / room).rglob("*.meta"))


def read(path: Path) -> dict[str, Any]:
    """What mutmut keeps of a file: how the tests of each mutant ended, None where they have not been run."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def chosen(room: str, asked: argparse.Namespace) -> list[str]:
    """The mutants of a room that are looked at."""
    by_file = []
    for path in files(room):
        names = list(read(path)["exit_code_by_key"])
        patterns = asked.patterns or ["*"]
        by_file.append([name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)])
    total = sum(map(len, by_file))
    if asked.sample is None or asked.sample >= total:
        return [name for names in by_file for name in names]
    drawn = []
    for names in by_file:
        count = max(FEWEST, round(asked.sample * len(names) / total))
        drawn += sorted(names, key=lambda name: hashlib.sha256(f"{asked.seed} {name}".encode()).digest())[:count]
    return drawn


def still_open(names: list[str], asked: argparse.Namespace) -> list[str]:
    """Those that no test has noticed. Tests that were asked for look at what others let pass only."""
    codes: dict[str, int | None] = {}
    for path in files("."):
        codes |= read(path)["exit_code_by_key"]
    return [name for name in names if codes[name] not in NOTICED and (codes[name] is not None or not asked.tests)]


def test_files(tests: list[str]) -> list[str]:
    """The files of tests that patterns name."""
    return [path.relative_to(ROOT).as_posix() for pattern in tests for path in sorted(ROOT.glob(pattern))]


def judge(names: list[str], arguments: list[str]) -> None:
    """Run the tests against mutants, with one thread in each process."""
    (MADE / "names.json").write_text(json.dumps(names), encoding="utf-8")
    tests = Path(__file__).with_name("mutant_tests.py")
    command = [PYTHON, tests, str(os.cpu_count() or 1), "names.json", *arguments, "-q", "--rootdir=."]
    if subprocess.run(command, cwd=MADE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).returncode:
        sys.exit("the tests could not be run against the mutants")


def judged(room: str, names: set[str], used: frozenset[str]) -> list[File]:
    """The verdicts of the files of a room; `used` are the strings that the sources use as names."""
    verdicts = []
    for path in files(room):
        codes = read(path)["exit_code_by_key"]
        run = {name: code for name, code in codes.items() if name in names and code is not None}
        if run:
            name = path.relative_to(MADE / "src" / "steelyard").as_posix().removesuffix(".meta")
            mutated = path.with_suffix("")
            verdicts.append(File(name, mutated, len(codes), run, words_only(mutated, codes, used)))
    return verdicts


if __name__ == "__main__":
    main()
