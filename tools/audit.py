"""Ask for known holes in what a user's install may bring: the package's own needs, with every extra.

Run by `make audit`. The needs are read from pyproject.toml, so that tools of the tests are not counted. A package that
could not be asked for is a failure too: where the list of known holes cannot be reached, nothing was audited.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Exit with pip-audit's own code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = {*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)}
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "needs.txt"
        wanted.write_text("\n".join(sorted(needs)) + "\n", encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "pip_audit", "--strict", "--requirement", wanted], check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
