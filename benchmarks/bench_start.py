"""The start of a process: `import steelyard`, `steelyard --help` and a first evaluation beside `import numpy`.

Each is a whole process of the package as it is installed: a folder without the hook of an editable installation, with
compiled bytecode (the first round, which writes it, does not count). The goal is 30 ms of CPU above `import numpy`
alone until a small evaluation begins to work, which is once all that it needs is loaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import measure, sized, table

from steelyard import _native, version

HELP = """
import contextlib, io
from steelyard.cli.main import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli(["--help"], standalone_mode=False)
"""
EVALUATE = """
import steelyard as sy
keys = {"dish": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 1, 2]}
sy.evaluate("weights", keys | {"weight": [10, 20, 30, 40, 50, 60]}, keys | {"weight": [11, 20, 32, 40, 48, 60]}%s)
"""
LIST = "import sys, numpy\nbefore = set(sys.modules)\n%s\nprint(*[m for m in sys.modules if m not in before])"


def installed(folder: Path) -> str:
    """Copy the package there; code that makes it the one that is imported."""
    shutil.copytree(Path(version.__file__).parent, folder / "steelyard", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_native.__file__, folder / "steelyard")
    finders = "[f for f in sys.meta_path if 'editable' not in type(f).__module__]"
    return f"import sys\nsys.meta_path[:] = {finders}\nsys.path.insert(0, {str(folder)!r})\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        first = installed(Path(folder))
        command = [sys.executable, "-c", first + LIST % (EVALUATE % "")]
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        codes = {
            "import numpy": "import numpy",
            "python alone": "pass",
            "import steelyard": "import steelyard",
            "steelyard --help": HELP,
            "ready to evaluate: steelyard.evaluate": "import steelyard\nsteelyard.evaluate",
            "steelyard, all that three dishes load": "\n".join(f"import {name}" for name in ["steelyard", *names]),
            "steelyard, three dishes, the value alone": EVALUATE % ", confidence=None",
            "steelyard, three dishes, with intervals": EVALUATE % "",
        }
        for code in codes.values():
            measure(first + code, repeat=1)
        runs = {name: measure(first + code, whole=True, repeat=sized(11, 1)) for name, code in codes.items()}
    table("Start of a process, bytecode compiled (goal: 0.03 CPU s above import numpy)", "import numpy", runs)


if __name__ == "__main__":
    main()
