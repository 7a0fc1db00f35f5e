"""Change the source one small thing at a time, and see whether the tests notice. Run by `make mutants`.

mutmut makes the changes, and `mutant_tests.py` runs the tests that reach each; the settings stand in pyproject.toml.
mutmut needs a pytest before 9.2, so it has an environment of its own. What it made is kept in `mutants/`: a second run
looks only at what changed, and at what no test noticed. The table and the changes that no test noticed are written to
`out/mutants.md`; fewer than 90 % noticed is an error.

Patterns of names look at some only: `tools/mutants.py 'steelyard.engine.judged.*'`.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "mutants-env"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MADE = ROOT / "mutants"
WANTED = 0.90
NOTICED = {1, 3, 24, -24, 36, 152, 255, -14}  # failed, crashed, or ran out of time
UNTESTED = 33
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
    prepare()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    shutil.rmtree(MADE / "tests", ignore_errors=True)
    print("making the mutants", flush=True)
    subprocess.run([PYTHON, "-c", GENERATE], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    forget()
    judge(sys.argv[1:], [*settings["pytest_add_cli_args"], *settings["pytest_add_cli_args_test_selection"]])
    verdicts = {
        path: {key: code for key, code in read(path)["exit_code_by_key"].items() if code is not None}
        for path in sorted((MADE / "src").rglob("*.meta"))
    }
    text, share = table({path: codes for path, codes in verdicts.items() if codes})
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "mutants.md").write_text(text, encoding="utf-8")
    print(text.split("\n\n")[1])
    print(f"{share:.1%} of the mutants are noticed; the others are listed in {out / 'mutants.md'}")
    if share < WANTED:
        sys.exit(1)


def judge(patterns: list[str], arguments: list[str]) -> None:
    """Run the tests, with one thread in each process."""
    tests = Path(__file__).with_name("mutant_tests.py")
    command = [PYTHON, tests, str(os.cpu_count() or 1), *patterns, "--", *arguments, "-q", "--rootdir=."]
    if subprocess.run(command, cwd=MADE, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).returncode:
        sys.exit("the tests could not be run against the mutants")


def prepare() -> None:
    """An environment without the package, and the native core beside the sources."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        needed = ROOT / "requirements" / "mutants.txt"
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", needed], check=True)
    ask = "import steelyard._native as n; print(n.__file__)"
    printed = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, cwd=ROOT / "tools"
    )
    native = Path(printed.stdout.strip())
    beside = ROOT / "src" / "steelyard" / native.name
    if native != beside:
        shutil.copyfile(native, beside)


def forget() -> None:
    """Look again at what no test noticed: the tests may be better now."""
    for path in (MADE / "src").rglob("*.meta"):
        verdicts = read(path)
        codes = verdicts["exit_code_by_key"]
        verdicts["exit_code_by_key"] = {key: code if code in NOTICED else None for key, code in codes.items()}
        path.write_text(json.dumps(verdicts, indent=4), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """What mutmut keeps of a file."""
    verdicts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return verdicts


def table(verdicts: dict[Path, dict[str, int]]) -> tuple[str, float]:
    """The table by file, what was not noticed, and the share that was."""
    rows, lost, total = [], [], [0, 0, 0, 0]
    for path, codes in verdicts.items():
        noticed = sum(code in NOTICED for code in codes.values())
        untested = sum(code == UNTESTED for code in codes.values())
        counts = [len(codes), noticed, untested, len(codes) - noticed - untested]
        total = [before + now for before, now in zip(total, counts, strict=True)]
        rows.append(row(path.relative_to(MADE / "src" / "steelyard").as_posix().removesuffix(".meta"), counts))
        lost += [change(path.with_suffix(""), key) for key, code in codes.items() if code not in NOTICED]
    head = ["| file | mutants | noticed | untested | survived | share |", "|---|---|---|---|---|---|"]
    parts = ["# Mutants", "\n".join([*head, *rows, row("all", total)]), "## Not noticed", "\n\n".join(lost)]
    return "\n\n".join(parts) + "\n", total[1] / max(1, total[0])


def row(name: str, counts: list[int]) -> str:
    """A row of the table."""
    return f"| {name} | {' | '.join(map(str, counts))} | {counts[1] / max(1, counts[0]):.1%} |"


def change(path: Path, key: str) -> str:
    """The lines that a mutant changes, under its name."""
    name = key.rpartition(".")[2]
    original = f"{name.partition('__mutmut_')[0]}__mutmut_orig"
    spans = read(path.with_name(f"{path.name}.spans"))["spans"]
    lines = path.read_text(encoding="utf-8").splitlines()
    sources = []
    for function in (original, name):
        first, last = spans.get(function, (1, 0))
        sources.append([line.replace(function, "f") for line in lines[first - 1 : last]])
    changed = [line for line in difflib.ndiff(*sources) if line[:2] in ("- ", "+ ")]
    return "\n".join([f"- {key}", *(f"      {line}" for line in changed)])


if __name__ == "__main__":
    main()
