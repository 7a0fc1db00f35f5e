"""Build the documentation into site/: run its examples, make the catalogue, mkdocs, then look at every page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

for command in (
    [sys.executable, "tools/make_catalogue.py", "--check"],
    [sys.executable, "tools/run_docs.py"],
    [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
    [sys.executable, "tools/look_at_docs.py"],
):
    if subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False).returncode:
        sys.exit(1)
print("The documentation is in site/index.html.")
