"""Errors have a code that does not change, and the fields that their message is made of."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.core import errors

ROOT = Path(__file__).resolve().parent.parent.parent
BASES = (errors.SteelyardError, errors.InputError)
CLASSES = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, BASES[0])]


def test_the_page_lists_every_code() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `E-")]
    expected = [f"| `{kind.code}` | {kind.__doc__.splitlines()[0]} |" for kind in CLASSES if kind not in BASES]
    assert rows == expected


def test_every_error_of_the_package_says_its_kind() -> None:
    """`InputError` itself is for plugins; the package raises one of its kinds."""
    plain = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "src").rglob("*.py")
        for text in [path.read_text(encoding="utf-8")]
        if "InputError(" in text  # parsing is slow
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "InputError"
    ]
    assert plain == []


@pytest.mark.parametrize(
    ("truth", "code", "where"),
    [
        ({"dish": [1, 1], "weight": [300, 310]}, "E-duplicate-key", "truth, row 1"),
        ({"dish": [1, 2]}, "E-missing-column", "truth"),
        ({"dish": [1, 2], "weight": [300, "much"]}, "E-invalid-number", "truth, row 1, column 'weight'"),
    ],
)
def test_codes_and_fields(truth: Any, code: str, where: str) -> None:
    with pytest.raises(sy.InputError) as caught:
        sy.evaluate("weights", truth, {"dish": [1, 2], "weight": [290, 300]})
    assert (caught.value.code, caught.value.where) == (code, where)
    assert str(caught.value).startswith(f"{where}: {caught.value.what}")


def test_the_command_line_prints_the_code(steelyard: Any, tmp_path: Path) -> None:
    done = steelyard("evaluate", "weights", "missing.csv", "missing.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("[E-missing-file]\n")
