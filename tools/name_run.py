"""Print the name of a run of the tests: name_run.py COMMAND prints "COMMAND; machine, Python, NumPy"."""

from __future__ import annotations

import platform
import sys

import numpy

print(f"{sys.argv[1]}; {platform.machine()}, Python {platform.python_version()}, NumPy {numpy.__version__}")
