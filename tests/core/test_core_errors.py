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


def test_a_message_is_bounded_and_printable() -> None:
    """At most 1,500 characters of what is wrong and of the remedy, 500 of the place: the middle is left out."""
    error = errors.InvalidValue("a" * 750 + "b" * 751, where="c" * 250 + "\n" * 251, remedy="d" * 750 + "e" * 751)
    assert error.what == "a" * 750 + " ... " + "b" * 750
    assert error.where == "c" * 250 + " ... " + "\\n" * 250
    assert error.remedy == "d" * 750 + " ... " + "e" * 750
    whole = errors.InvalidValue("a" * 1500, where="c" * 500, remedy="d" * 1500)
    assert (whole.what, whole.where, whole.remedy) == ("a" * 1500, "c" * 500, "d" * 1500)
    assert str(whole) == f"{'c' * 500}: {'a' * 1500}. {'d' * 1500}"


@pytest.mark.parametrize(
    ("what", "where", "remedy", "text"),
    [
        ("it is empty", "", "", "it is empty"),
        ("it is empty", "row 1", "", "row 1: it is empty"),
        ("it is empty.", "", "", "it is empty."),
        ("it is empty...", "row 1", "Fill it.", "row 1: it is empty. Fill it."),
        ("'\ud800' is half a character", "\udfff", "", "\\udfff: '\\ud800' is half a character"),
    ],
)
def test_the_message_is_made_of_its_parts(what: str, where: str, remedy: str, text: str) -> None:
    error = errors.InvalidValue(what, where=where, remedy=remedy)
    assert str(error) == text
    assert error.without_remedy == (text.removesuffix(". Fill it.") + ("..." if remedy else ""))


def test_the_nearest_name() -> None:
    assert errors.nearest_of("Acuracy", ["recall", "accuracy", "Accuracy"]) == "Accuracy"  # the first in their order
    assert errors.nearest_of("abcd", ["abxy"]) == "abxy"  # half of the letters are the same
    assert errors.nearest_of("abcd", ["axyz"]) == ""
    assert errors.nearest_of("abcd", ["abxy"], cutoff=0.6) == ""
    assert errors.nearest("mae2", ["rmse", "mae"]) == "Did you mean 'mae'?"
    assert errors.nearest("zzz", ["rmse", "mae"]) == "Known: mae, rmse."
    assert errors.nearest("zzz", []) == ""


def test_the_first_few() -> None:
    assert errors.first_few([]) == ""
    assert errors.first_few(iter("abc")) == "'a', 'b', 'c'"
    assert errors.first_few("abcd") == "'a', 'b', 'c' and 1 more"
    assert errors.first_few(range(5), 2) == "'0', '1' and 3 more"


def test_what_is_not_installed_names_the_command() -> None:
    assert str(errors.MissingExtra("the viewer", "view")) == (
        "the viewer needs an optional part: pip install 'steelyard[view]'"
    )
    try:
        raise ModuleNotFoundError("No module named 'uvicorn'")
    except ImportError:
        assert str(errors.MissingExtra("the viewer", "view")).endswith("pip install 'steelyard[view]'")
    try:
        raise ImportError("libGL.so.1:\n  cannot open" + " x" * 200)
    except ImportError:
        message = str(errors.MissingExtra("the viewer", "view"))
    assert message.startswith(
        "the viewer needs an optional part that is installed but does not load: libGL.so.1: cannot open x x"
    )
    assert len(message.partition("load: ")[2]) == 305  # 150 of each end, and " ... " between them
    assert (
        str(errors.MissingPackage("the logger", "mlflow")) == "the logger needs the package mlflow: pip install mlflow"
    )


def test_the_command_line_prints_the_code(steelyard: Any, tmp_path: Path) -> None:
    done = steelyard("evaluate", "weights", "missing.csv", "missing.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("[E-missing-file]\n")
