"""Change the source one small thing at a time, and see whether the tests notice. Run by `make mutants`.

mutmut makes the changes and runs the tests that reach each; the settings stand in pyproject.toml. It needs a pytest
before 9.2, so it has an environment of its own. What it made is kept in `mutants/`: a second run looks only at what
changed, and at what no test noticed. The table and the changes that no test noticed are written to `out/mutants.md`;
fewer than 90 % noticed is an error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "mutants-env"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MADE = ROOT / "mutants"
WANTED = 0.90
NOTICED = {1, 3, 24, -24, 36, 152, 255}  # failed, crashed, or ran out of time


def main() -> None:
    prepare()
    forget()
    subprocess.run([PYTHON, "-m", "mutmut", "run", *sys.argv[1:]], cwd=ROOT, check=True)
    verdicts = {
        path.relative_to(MADE / "src" / "steelyard").with_suffix("").as_posix(): read(path)["exit_code_by_key"]
        for path in sorted((MADE / "src").rglob("*.meta"))
    }
    verdicts = {name: codes for name, codes in verdicts.items() if codes}
    text, share = table(verdicts)
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "mutants.md").write_text(text, encoding="utf-8")
    print(text.split("\n\n")[1])
    print(f"{share:.1%} of the mutants are noticed; the others are listed in {out / 'mutants.md'}")
    if share < WANTED:
        sys.exit(1)


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
    """Look again at what no test noticed, and at which tests reach it: the tests may be better now."""
    (MADE / "mutmut-stats.json").unlink(missing_ok=True)
    for path in (MADE / "src").rglob("*.meta"):
        verdicts = read(path)
        codes = verdicts["exit_code_by_key"]
        verdicts["exit_code_by_key"] = {key: code if code in NOTICED else None for key, code in codes.items()}
        path.write_text(json.dumps(verdicts, indent=4), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """What mutmut keeps of a file."""
    verdicts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return verdicts


def table(verdicts: dict[str, dict[str, int | None]]) -> tuple[str, float]:
    """The table by file, what was not noticed, and the share that was."""
    rows, lost, total, noticed = [], [], 0, 0
    for name, codes in verdicts.items():
        kinds = Counter(code in NOTICED for code in codes.values())
        total, noticed = total + len(codes), noticed + kinds[True]
        rows.append(f"| {name} | {len(codes)} | {kinds[True]} | {kinds[True] / len(codes):.1%} |")
        lost += [f"- {key}" for key, code in codes.items() if code not in NOTICED]
    head = ["| file | mutants | noticed | share |", "|---|---|---|---|"]
    parts = ["# Mutants", "\n".join([*head, *rows]), "## Not noticed", "\n".join(lost)]
    return "\n\n".join(parts) + "\n", noticed / max(1, total)


if __name__ == "__main__":
    main()
