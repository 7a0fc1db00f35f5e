"""Every entry of the native core is reached by a fuzz target; `make fuzz` runs them on a build with sanitizers."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from support.paths import ROOT

from steelyard import _native

FUZZ = ROOT / "fuzz"


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FUZZ))
    try:
        import run  # registers every target

        yield run
    finally:
        sys.path.remove(str(FUZZ))


def entries() -> dict[str, tuple[str, ...]]:
    space: dict[str, Any] = {}
    exec((FUZZ / "entries.py").read_text(), space)
    result: dict[str, tuple[str, ...]] = space["REACHED_BY"]
    return result


def test_no_entry_is_forgotten() -> None:
    named = [name for names in entries().values() for name in names]
    assert sorted(named) == sorted(name for name in dir(_native) if not name.startswith("_"))


@pytest.mark.parametrize("target", entries())
def test_target_reaches_its_entries(fuzz: ModuleType, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = set(entries()[target])
    for name in entries()[target]:
        real = getattr(_native, name)

        def noted(*given: Any, _name: str = name, _real: Any = real) -> Any:
            wanted.discard(_name)
            return _real(*given)

        monkeypatch.setattr(_native, name, noted)
    for number in range(60):
        fuzz.harness.TARGETS[target](random.Random(number))
        if not wanted:
            break
    assert wanted == set()


def test_run_names_what_there_is() -> None:
    def run(*given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, FUZZ / "run.py", *given], capture_output=True, text=True, check=False)

    assert set(entries()) <= set(run("--list").stdout.split())
    wrong = run("labels.none")
    assert wrong.returncode == 2
    assert "there is no target labels.none" in wrong.stderr
    assert (
        "labels.counts: 1 runs without a find (seed 3)" in run("labels.counts", "--seconds", "0", "--seed", "3").stdout
    )
