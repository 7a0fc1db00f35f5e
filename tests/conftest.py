"""What all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent


@pytest.fixture
def steelyard(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in an empty folder, as a user would."""

    def run(*args: str | Path, cwd: Path = tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *map(str, args)],
            cwd=cwd,
            env={**os.environ, "PYTHONWARNINGS": "error", **env},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )

    return run
