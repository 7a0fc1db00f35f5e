"""What a user installs: one abi3 wheel that holds all it needs and asks for little."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from support.paths import ROOT

from steelyard import _native


@pytest.mark.slow
def test_wheel(tmp_path: Path) -> None:
    """What is not compiled, with the core that is installed; `make wheel` compiles it, and looks at what comes of it."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path,
         "--config-settings=wheel.cmake=false", "--config-settings=wheel.py-api=py3", "--config-settings=build-dir=" + str(tmp_path / "build"), ROOT],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = Parser().parsestr(archive.read(next(n for n in names if n.endswith("METADATA"))).decode())
        archive.extractall(tmp_path / "site")
    sources = {
        str(p.relative_to(ROOT / "src"))
        for p in (ROOT / "src").rglob("*")
        if p.is_file() and "__pycache__" not in str(p)
    }
    assert {name for name in sources if not name.endswith(".so")} <= names
    shutil.copy(_native.__file__, tmp_path / "site" / "steelyard")
    required = {line.split(";")[0].split(">")[0] for line in metadata.get_all("Requires-Dist") if "extra" not in line}
    assert required == {"numpy", "click", "nanobind-backend"}

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
        "import steelyard; assert steelyard.__file__.startswith(sys.argv[1]), steelyard.__file__;"
        "sys.argv[1:] = ['demo', '--output', 'out']; from steelyard.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "site")],
        cwd=tmp_path,
        env={**os.environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "weights" / "report.html").exists()


@pytest.mark.slow
def test_the_first_command_of_the_readme(tmp_path: Path) -> None:
    assert "make demo" in (ROOT / "README.md").read_text(encoding="utf-8")
    done = subprocess.run(["make", "demo", f"OUT={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "mae" in done.stdout
    assert f"The report was written to {tmp_path / 'weights' / 'report.html'}" in done.stdout
    assert (tmp_path / "weights" / "report.html").exists()


@pytest.mark.slow
def test_sdist(tmp_path: Path) -> None:
    """Made after a build, it holds what is needed to build and to be allowed to, and nothing that a build left behind."""
    copy, out = tmp_path / "copy", tmp_path / "out"
    for name in ("src", "native"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "NOTICE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    left = ["build/cp311/src/x.cpp", "build/native/_native.abi3.so", "out/report.html", ".venv/x", "dist/x.whl"]
    for name in (*left, "src/steelyard/_native.abi3.so", "src/steelyard/__pycache__/x.pyc"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("left behind")
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(out)], cwd=copy, check=True)
    (made,) = out.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
        about = archive.extractfile(f"{made.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert about is not None
        licences = Parser().parsestr(about.read().decode()).get_all("License-File")
    assert {name for name in names if name.split("/")[0] in ("build", "out", ".venv", "dist")} == set()
    assert {name for name in names if name.endswith((".so", ".pyc"))} == set()
    assert licences == ["LICENSE", "NOTICE", "src/steelyard/language/data/WORDNET-LICENSE"]
    assert {*licences, "CMakeLists.txt", "pyproject.toml"} <= names
    kernels = {path.relative_to(ROOT).as_posix() for path in (ROOT / "native").rglob("*") if path.is_file()}
    assert kernels <= names


def test_cmake_minimum() -> None:
    """The version that is asked for knows what is asked of it: SABIModule came with CMake 3.26."""
    text = (ROOT / "CMakeLists.txt").read_text()
    said = re.search(r"cmake_minimum_required\(VERSION (\d+)\.(\d+)", text)
    assert said is not None
    assert "Development.SABIModule" in text
    assert (int(said[1]), int(said[2])) >= (3, 26)
