"""Install a wheel where nothing else is, without a compiler, and see that it works.

    python tools/check_wheel.py WHEEL [PYTHON]

An empty environment of that Python (this one, unless named) gets the wheel and what it asks for, ready-made only. It
then runs `steelyard demo` and the laws of every metric on the installed package: the tests are copied to an empty
folder, from which the sources cannot be imported. It needs no package itself, so that any Python can run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# No compiler is to be found, by whatever name a build would look for one.
WITHOUT_COMPILER = {"CC": "/no/compiler", "CXX": "/no/compiler", "CMAKE_GENERATOR": "none"}
WHERE = """
import steelyard, sys
print(f"steelyard {steelyard.__version__} on Python {sys.version.split()[0]}")
print(steelyard.__file__)
"""
TASKS = """
from steelyard.core import catalogue
print(*catalogue.samples())
"""


def main(wheel: Path, python: str) -> None:
    """Stop at the first thing that fails."""
    with tempfile.TemporaryDirectory() as raw:
        folder = Path(raw)
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        inside = scripts / "python"
        quiet = [inside, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--only-binary", ":all:"]
        env = {**os.environ, **WITHOUT_COMPILER}
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            env.pop(name, None)

        def run(*command: str | Path) -> str:
            done = subprocess.run(list(command), cwd=folder, env=env, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
            return done.stdout

        run(*quiet, wheel)
        version, where = run(inside, "-c", WHERE).splitlines()
        if not Path(where).resolve().is_relative_to(folder.resolve()):
            sys.exit(f"{where} is not the installed package")
        print(f"{version}, from {wheel.name} alone")
        run(scripts / "steelyard", "demo", "--output", folder / "out")
        pages = len(list((folder / "out").rglob("*.html")))
        print(f"steelyard demo: {pages} pages")
        tasks = run(inside, "-c", TASKS).split()
        for task in tasks:
            run(scripts / "steelyard", "demo", task, "--output", folder / "out" / task)
        print(f"steelyard demo TASK: {len(tasks)} tasks")
        run(*quiet, "pytest", "pytest-xdist", "hypothesis")
        for part in ("tests", "tools"):  # tests use two of the tools
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        said = run(inside, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests/laws/test_laws.py")
        print(f"laws on the installed package: {said.splitlines()[-1]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else sys.executable)
