"""What released versions wrote and promised holds: docs/promises.md. tools/keep_release.py keeps it, one folder a version."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import keep_release
import pytest
from support.paths import ROOT

import steelyard as sy
from steelyard.results import codec

VERSIONS = sorted((ROOT / "tests" / "released").iterdir())
RESULTS = [path for folder in VERSIONS for path in sorted(folder.glob("*.json")) if path.name != "public.json"]
STATES = [path for folder in VERSIONS for path in sorted(folder.glob("*.state"))]
# Values that a later version moved, each with its line under "Numbers that change": (version, task, metric).
MOVED: set[tuple[str, str, str]] = set()


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


def same(a: float, b: float) -> bool:
    """The same number: reports of another kind of machine may differ in the last bits."""
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("path", RESULTS, ids=named)
def test_a_result_is_read_for_ever(path: Path) -> None:
    """It is read, shown, and written again with every value that it had."""
    result = sy.load(path)
    assert result.to_text()
    assert result.to_markdown()
    missing: list[str] = []
    lost(json.loads(path.read_text(encoding="utf-8")), json.loads(result.to_json()), "", missing)
    assert missing == []


def lost(old: Any, new: Any, at: str, missing: list[str]) -> None:
    """Where something of the old file is not in the new one. New keys may stand beside the old."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            lost(value, new[key], f"{at}/{key}", missing) if key in new else missing.append(f"{at}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            lost(a, b, f"{at}/{i}", missing)
    elif old != new:
        missing.append(f"{at}: {old!r} became {new!r}")


@pytest.mark.parametrize("path", STATES, ids=named)
def test_a_state_is_read_for_ever(path: Path) -> None:
    """It gives the values that its version reported, for every metric that it reported."""
    task = path.name.partition(".")[0]
    report = sy.load(path.parent / f"{task}.report.json")
    again = sy.Accumulator.load(path).report(list(report.scores), confidence=None)
    version = path.parent.name
    off = {
        spec: (score.value, again[spec].value)
        for spec, score in report.scores.items()
        if not same(score.value, again[spec].value) and (version, task, spec) not in MOVED
    }
    assert off == {}


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_public_names_stay(folder: Path) -> None:
    """Names, parameters in their order, methods, and specs of metrics are still there."""
    old, new = json.loads((folder / "public.json").read_text(encoding="utf-8")), keep_release.public()
    for name, parts in old["names"].items():
        assert name in new["names"]
        assert [part for part in parts if part not in new["names"][name]] == [], name
    for task, specs in old["metrics"].items():
        assert [spec for spec in specs if spec not in new["metrics"][task]] == [], task


def test_every_kind_of_result_is_kept() -> None:
    """A kind that no version kept would be held to nothing."""
    kept = {json.loads(path.read_text(encoding="utf-8"))["kind"] for path in RESULTS}
    assert kept == set(codec.KINDS)
