"""Put the documentation beside that of other versions, on the branch gh-pages.

Run by `make docs-publish VERSION=v0.3.0`. A tag vX.Y.Z becomes the version X.Y and the newest one is `latest`; anything
else becomes `dev`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def arguments(name: str) -> list[str]:
    """What mike is asked for, for a tag or a branch."""
    tag = re.fullmatch(r"v(\d+)\.(\d+)\.\d+", name)
    return (
        ["deploy", "--push", "--update-aliases", f"{tag[1]}.{tag[2]}", "latest"] if tag else ["deploy", "--push", "dev"]
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("say which version: make docs-publish VERSION=v0.3.0")
    sys.exit(subprocess.run([sys.executable, "-m", "mike", *arguments(sys.argv[1])], cwd=ROOT, check=False).returncode)
