"""Try the package with the oldest versions of what it allows. Run by `make oldest`.

uv finds the lowest versions of the package's direct needs that have a wheel for this Python, with the extras that need
no large download, and installs them beside a wheel of the package. The tests named here then run on that: laws of every
metric, the command line, results, pages, reading of files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("parquet", "losses", "remote", "report", "view", "logs", "excel", "vlm")
TESTS = (
    "test_laws.py", "test_cli.py", "test_results.py", "test_bad_input.py", "test_output.py", "test_vlm_openai.py",
)  # fmt: skip
RUNNER = ("pytest", "pytest-xdist", "hypothesis", "jsonschema", "junitparser", "psutil", "websockets")


def main() -> None:
    """Stop at the first thing that fails."""
    with tempfile.TemporaryDirectory() as raw:
        folder = Path(raw)
        python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        uv = [sys.executable, "-m", "uv"]
        wheels = sorted((ROOT / "dist").glob("steelyard-*.whl"), key=lambda path: path.stat().st_mtime)
        if not wheels:
            subprocess.run([*uv, "build", "--wheel", "--out-dir", ROOT / "dist", ROOT], check=True)
            wheels = list((ROOT / "dist").glob("steelyard-*.whl"))
        subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, folder / "env"], check=True)
        install = [*uv, "pip", "install", "--quiet", "--python", python, "--only-binary", ":all:"]
        subprocess.run([*install, *RUNNER], check=True)
        extras = [part for extra in EXTRAS for part in ("--extra", extra)]
        needs = ["--resolution", "lowest-direct", "--requirement", ROOT / "pyproject.toml", *extras]
        subprocess.run([*install, *needs], check=True)
        subprocess.run([*install, "--no-deps", wheels[-1]], check=True)
        subprocess.run([*uv, "pip", "list", "--python", python], check=True)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tools", "docs", "examples", "README.md", "pyproject.toml"):  # what tests read beside them
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        tests = [
            *(next((folder / "tests").rglob(name)) for name in TESTS),
            "-k",
            "not schemas_are_up_to_date",
        ]  # which compares with sources
        sys.exit(subprocess.run([python, "-m", "pytest", "-n", "2", *tests], cwd=folder, check=False).returncode)


if __name__ == "__main__":
    main()
