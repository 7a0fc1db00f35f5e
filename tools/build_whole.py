"""Make a source tree that builds a whole module: one that does not ask for the package nanobind-backend.

    STEELYARD_WHOLE=true python tools/build_whole.py FOLDER

That package has no wheels for musl and for free-threaded Pythons. The variable makes the build put nanobind's own half
into the module (CMakeLists.txt), and this script takes the package out of what pyproject.toml asks for: no marker of an
environment can tell musl from glibc. cibuildwheel runs it in its own copy of the project; `make wheel WHOLE=1` in an
unpacked source archive. A second run changes nothing.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Rewrite pyproject.toml of the tree."""
    if not os.environ.get("STEELYARD_WHOLE"):
        sys.exit("STEELYARD_WHOLE is not set: the build would still need nanobind-backend")
    path = folder / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'^ *"nanobind-backend[^"]*",\n', "", text, flags=re.MULTILINE), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
