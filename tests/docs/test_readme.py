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


HOW = (ROOT / "docs" / "how.md").read_text(encoding="utf-8")
ANSWERS = re.findall(r"^\*\*\.\.\. (.*?)\*\*\s(.*?)(?=^\*\*\.\.\. |^## |\Z)", HOW, re.M | re.S)


def test_answers_start_with_the_command() -> None:
    assert len(ANSWERS) >= 40
    wrong = [question for question, answer in ANSWERS if not answer.startswith(("`steelyard ", "In Python"))]
    assert wrong == []
    assert sum(answer.startswith("In Python") for _, answer in ANSWERS) <= 6


@pytest.mark.slow
def test_commands_of_answers_run(tmp_path: Path, steelyard) -> None:
    """Each in the order of the page, on the samples; files that the page writes itself are laid there."""
    for task in ("labels", "boxes"):
        shutil.copytree(ROOT / "src" / "steelyard" / "samples" / task, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "truth.csv").read_text(encoding="utf-8")
    (tmp_path / "office.csv").write_text(text.replace(",", ";"), encoding="utf-8")
    head, *rows = text.splitlines()
    own = [
        head.replace("label", "species") + ",importance,video",
        *(f"{row},1,{row.split(',')[2][:-1]}" for row in rows),
    ]
    (tmp_path / "mine.csv").write_text("\n".join(own), encoding="utf-8")
    steelyard("compare", "labels", "truth.csv", "model_a.csv", "model_b.csv", "-m", "accuracy", "-o", "pilot.json")
    steelyard("evaluate", "labels", "truth.csv", "model_a.csv", "-m", "accuracy", "-o", "result.json")
    for question, answer in ANSWERS:
        if not answer.startswith("`"):
            continue
        words = shlex.split(re.match(r"`(.*?)`", answer, re.S)[1].replace("\n", " "))[1:]
        if any(word.endswith((".gz", ".xlsx")) or word == "table.csv" for word in words):
            continue  # the page's own Python writes these, or they are only described
        if "mine.csv" in words and "--map" not in words:
            words += ["--map", "truth.label=species"]
        result = steelyard(*words)
        assert result.returncode == 0, (question, words, result.stderr)
