"""Programs that tests use and pip cannot install: Chromium and LaTeX.

`python tools/debian.py` installs Debian's packages of those that are missing; `make test SYSTEM_PACKAGES=1` runs it.
Nothing else installs them: without these programs, the tests that need them are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import browser
import latex

PROGRAMS = {"Chromium": (browser, "chromium"), "LaTeX": (latex, "texlive-latex-recommended")}


def main() -> None:
    missing = {name: package for name, (program, package) in PROGRAMS.items() if program.find() is None}
    if not missing:
        return
    packages = list(missing.values())
    if not (hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")):
        sys.exit(f"SYSTEM_PACKAGES=1 needs apt-get and root. On Debian: sudo apt-get install {' '.join(packages)}")
    print(f"Installing {' and '.join(packages)} with apt-get ...", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=env, check=False)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
