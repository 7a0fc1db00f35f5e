"""Build the documentation into site/: run its examples, make the catalogue, then mkdocs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

for command in (
    [sys.executable, "tools/make_catalogue.py", "--check"],
    [sys.executable, "tools/run_docs.py"],
    [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
):
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(1)
print("The documentation is in site/index.html.")
