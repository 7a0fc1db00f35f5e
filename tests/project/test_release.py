"""What the project says of itself to those who install, cite, report and join: it names what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.paths import ROOT

from steelyard.version import __version__

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def targets(path: Path) -> set[str]:
    """What a workflow makes: by name, or by the values of its matrix."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    named = {t for job in jobs for t in job.get("strategy", {}).get("matrix", {}).get("target", [])}
    said = {step["run"].split()[1] for job in jobs for step in job["steps"] if "run" in step}
    return (said - {'"$TARGET"'}) | named


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_do_what_make_does(path: Path) -> None:
    """Each command is a call of make, with targets that the Makefile has."""
    assert all(step["run"].startswith("make ") and "\n" not in step["run"] for step in steps(path) if "run" in step)
    assert targets(path) <= TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned(path: Path) -> None:
    """By commit; but for the one action whose makers ask for their branch."""
    used = {step["uses"] for step in steps(path) if "uses" in step} - {"pypa/gh-action-pypi-publish@release/v1"}
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in used), used


def test_everything_long_runs_by_night() -> None:
    """A target that is neither part of a change's checks nor of the night's is run by nobody."""
    run = set().union(*map(targets, WORKFLOWS))
    assert TARGETS - run == {"gpu-test", "test-all", "clean"}  # test-all is test and test-slow


def test_what_security_names_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|fuzz)/[^`]*)`", text)
    assert len(named) > 10
    assert [name for name in named if not list(ROOT.glob(name.rstrip("/")))] == []
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= TARGETS


def test_notice_covers_every_file_of_data() -> None:
    """Data that the package ships, other than the samples, which are drawn by scripts of the project."""
    text = (ROOT / "NOTICE").read_text(encoding="utf-8")
    data = [path for path in (ROOT / "src/steelyard/language/data").iterdir() if path.name != "WORDNET-LICENSE"]
    assert [path.name for path in data if path.relative_to(ROOT).as_posix() not in text] == []
    assert [name for name in re.findall(r"tools/[\w*]+\.py", text) if not list(ROOT.glob(name))] == []


def test_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert cited["license"] == "Apache-2.0"


def test_the_typed_program_runs() -> None:
    """What type checkers are shown is what happens."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "typed_user.py"], capture_output=True, text=True, check=True
    )
    value, verdict, _, message = done.stdout.splitlines()
    assert value.startswith("23.78")  # as the README shows it
    assert verdict == "better"
    assert "there is no such file" in message


def test_requirements_of_make_are_there() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [
        name for name in re.findall(r"requirements/\w+\.txt|tools/\w+\.\w+", text) if not (ROOT / name).exists()
    ] == []


def test_hooks_are_programs_of_lint() -> None:
    """What is checked before a commit is what `make lint` and `make test` check."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert {hook["entry"].split()[0] for hook in hooks} == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/python"}
    assert [
        path for hook in hooks for path in re.findall(r"tests/[\w/]+\.py", hook["entry"]) if not (ROOT / path).exists()
    ] == []


def test_no_host_of_a_registry_is_named() -> None:
    """Packages are asked for by name; where from is the machine's matter."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    hosts = re.compile(rb"pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org|//pypi\.org/simple")
    assert [
        n
        for n in tracked
        if n != "tests/project/test_release.py" and (ROOT / n).is_file() and hosts.search((ROOT / n).read_bytes())
    ] == []


def test_a_whole_build_asks_for_no_backend(tmp_path: Path) -> None:
    """What musl and free-threaded Pythons get: the same needs but for nanobind's backend."""
    source = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(source, encoding="utf-8")
    command = [sys.executable, ROOT / "tools" / "build_whole.py", tmp_path]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("STEELYARD_WHOLE is not set")
    for _ in range(2):
        subprocess.run(command, check=True, env={**os.environ, "STEELYARD_WHOLE": "true"})
        before, after = tomllib.loads(source), tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
        assert before["project"].pop("dependencies") == [
            *after["project"].pop("dependencies"),
            "nanobind-backend>=1.0",
        ]
        assert before == after
