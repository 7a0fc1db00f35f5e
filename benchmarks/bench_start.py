"""The start of a process: `import steelyard`, `steelyard --help` and a first evaluation beside `import numpy`.

Each is a whole process with compiled bytecode, as an installed package has it: the first round, which writes it, does
not count. The goal is 30 ms of CPU above `import numpy` alone.
"""

from __future__ import annotations

import os
import tempfile

from measure import measure, sized, table

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
CODES = {
    "import numpy": "import numpy",
    "python alone": "pass",
    "import steelyard": "import steelyard",
    "steelyard --help": HELP,
    "ready to evaluate: steelyard.evaluate": "import steelyard\nsteelyard.evaluate",
    "steelyard, three dishes, the value alone": EVALUATE % ", confidence=None",
    "steelyard, three dishes, with intervals": EVALUATE % "",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        for code in CODES.values():
            measure(code, repeat=1)
        runs = {name: measure(code, whole=True, repeat=sized(11, 1)) for name, code in CODES.items()}
    table("Start of a process, bytecode compiled (goal: 0.03 CPU s above import numpy)", "import numpy", runs)


if __name__ == "__main__":
    main()
