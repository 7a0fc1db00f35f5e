"""Build the source archive and, from it alone, the wheel; then check both. Run by `make wheel`.

    python tools/build_wheel.py [FOLDER]

The wheel is built in isolation out of the source archive, so that what the archive lacks is noticed. On Linux,
auditwheel gives it the tag of the oldest C library that it runs on. `check_wheel.py` then installs it where nothing
else is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*command: str | Path) -> None:
    """Run a Python module, with the programs of its environment at hand, and stop where it fails."""
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    if subprocess.run([sys.executable, "-m", *map(str, command)], cwd=ROOT, env=env, check=False).returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def main(folder: Path) -> None:
    """Leave one source archive and one wheel in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("steelyard-*.whl"), *folder.glob("steelyard-*.tar.gz")):
        old.unlink()
    with tempfile.TemporaryDirectory() as raw:
        run("build", "--outdir", raw, ROOT)
        (archive,) = Path(raw).glob("*.tar.gz")
        (wheel,) = Path(raw).glob("*.whl")
        archive.rename(folder / archive.name)
        if sys.platform == "linux":
            run("auditwheel", "repair", "--wheel-dir", folder, wheel)
        else:
            wheel.rename(folder / wheel.name)
    (wheel,) = folder.glob("steelyard-*.whl")
    if "-cp311-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} is not for every Python from 3.11 on")
    run("abi3audit", "--strict", "--verbose", wheel)
    run("twine", "check", "--strict", folder / archive.name, wheel)
    if subprocess.run([sys.executable, ROOT / "tools" / "check_wheel.py", wheel], check=False).returncode:
        sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve())
