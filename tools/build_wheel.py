"""Build the source archive and, from it alone, the wheel; then check both. Run by `make wheel`.

    python tools/build_wheel.py [FOLDER] [--whole]

The wheel is built in isolation out of the source archive, so that what the archive lacks is noticed. On Linux,
auditwheel gives it the tag of the oldest C library that it runs on. `check_wheel.py` then installs it where nothing
else is. `--whole` makes the wheel that does not ask for nanobind-backend, as musl gets it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*command: str | Path) -> None:
    """Run a Python module, with the programs of its environment at hand, and stop where it fails."""
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    if subprocess.run([sys.executable, "-m", *map(str, command)], cwd=ROOT, env=env, check=False).returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def build(folder: Path, whole: bool) -> None:
    """One source archive and one wheel, built out of it."""
    if not whole:
        run("build", "--outdir", folder, ROOT)
        return
    run("build", "--sdist", "--outdir", folder, ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    tree = folder / archive.name.removesuffix(".tar.gz")
    os.environ["STEELYARD_WHOLE"] = "true"
    subprocess.run([sys.executable, ROOT / "tools" / "build_whole.py", tree], check=True)
    run("build", "--wheel", "--outdir", folder, tree)


def main(folder: Path, whole: bool) -> None:
    """Leave one source archive and one wheel in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("steelyard-*.whl"), *folder.glob("steelyard-*.tar.gz")):
        old.unlink()
    with tempfile.TemporaryDirectory() as raw:
        build(Path(raw), whole)
        (archive,) = Path(raw).glob("*.tar.gz")
        (wheel,) = Path(raw).glob("*.whl")
        archive.rename(folder / archive.name)
        if sys.platform == "linux":
            run("auditwheel", "repair", "--wheel-dir", folder, wheel)
        else:
            wheel.rename(folder / wheel.name)
    (wheel,) = folder.glob("steelyard-*.whl")
    if not whole and "-cp311-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} is not for every Python from 3.11 on")
    if "-abi3-" in wheel.name:
        run("abi3audit", "--strict", "--verbose", wheel)
    run("twine", "check", "--strict", folder / archive.name, wheel)
    if subprocess.run([sys.executable, ROOT / "tools" / "check_wheel.py", wheel], check=False).returncode:
        sys.exit(1)


if __name__ == "__main__":
    asked = [argument for argument in sys.argv[1:] if argument != "--whole"]
    main(Path(asked[0] if asked else ROOT / "dist").resolve(), "--whole" in sys.argv)
