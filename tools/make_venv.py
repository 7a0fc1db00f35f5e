"""Make the virtual environment, or say in one line what the machine lacks. Run by the Makefile: make_venv.py FOLDER"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def lacking() -> list[str]:
    """Debian's packages that would supply what is missing."""
    packages = []
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        packages.append("python3-venv")
    if os.name == "posix" and not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        packages.append("python3-dev")
    if os.name == "posix" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        packages.append("g++")
    return packages


def main(folder: str) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 (it may be run by an older Python: that is the point)
        sys.exit(f"Steelyard needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.11")
    packages = lacking()
    if packages and shutil.which("apt-get") and os.geteuid() == 0:
        print(f"Installing {' '.join(packages)} with apt-get ...", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", *packages], check=True)
    elif packages:
        sys.exit(f"This machine lacks {' and '.join(packages)}. On Debian: sudo apt-get install {' '.join(packages)}")
    print(f"Making a virtual environment in {folder} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
