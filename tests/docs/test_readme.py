"""The README: its length, its tables and its picture. Its examples are run by test_docs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.paths import ROOT

from steelyard.core import catalogue

README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\d, ]+) [^|]*\| \[(\w+)\][^|]*\| [^|]*\| `(steelyard [^`]*)` \|$", README, re.M)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
    assert (ROOT / re.findall(r"!\[.*?\]\((.*?)\)", README)[0]).is_file()
    assert README.index("docs/trust.md") < README.index("pip install") < README.index("make demo")


def test_every_task_is_named() -> None:
    tasks = README[README.index("## Tasks") :]
    assert [task for task in catalogue.MODULES if f"[{task}](docs/" not in tasks] == []


def test_documents_come_first() -> None:
    assert [task for _, task, _ in ROWS] == [
        "weights",
        "sequences",
        "vlm",
        "ellipses",
        "labels",
        "boxes",
        "rankings",
        "captions",
        "losses",
    ]
    assert {number for numbers, _, _ in ROWS for number in numbers.split(", ")} == set("12345")


@pytest.mark.parametrize(("task", "command"), [(task, command) for _, task, command in ROWS if task != "vlm"])
def test_commands_run(task: str, command: str, tmp_path: Path, steelyard) -> None:
    shutil.copytree(ROOT / "src" / "steelyard" / "samples" / task, tmp_path, dirs_exist_ok=True)
    result = steelyard(*shlex.split(command)[1:], "--ci", "none")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n↓") + result.stdout.count("\n↑") > command.count(" -m ")
