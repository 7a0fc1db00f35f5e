"""Packages of Debian that tests need: installed where that can be done without asking, which is as root."""

from __future__ import annotations

import os
import shutil
import subprocess


def install(*packages: str) -> None:
    """Install packages with apt-get where it is there and may be used; elsewhere nothing happens."""
    if not (hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")):
        return
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 900}
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        if subprocess.run(command, env=env, **quiet).returncode:  # type: ignore[call-overload]
            subprocess.run(["apt-get", "update", "-q"], env=env, **quiet)  # type: ignore[call-overload]
            subprocess.run(command, env=env, **quiet)  # type: ignore[call-overload]
    except (OSError, subprocess.TimeoutExpired):
        pass
