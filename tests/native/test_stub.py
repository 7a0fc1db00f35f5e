"""The stub of the native core: current, typed throughout, and the same functions as the module."""

from __future__ import annotations

import ast

import pytest
from support.paths import ROOT

from steelyard import _native

STUB = ROOT / "src" / "steelyard" / "_native.pyi"


def test_the_stub_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import make_stub

    assert make_stub.stub() == STUB.read_text(encoding="utf-8"), "run tools/make_stub.py"


def test_nothing_is_left_untyped() -> None:
    """No Any, no __getattr__, and no tuple, list or dict that does not say of what."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert "Any" not in names
    assert "__getattr__" not in {function.name for function in functions}
    for function in functions:
        written = [
            function.returns,
            *(argument.annotation for argument in function.args.args if argument.arg != "self"),
        ]
        assert None not in written, function.name
        bare = [
            node for node in written if isinstance(node, ast.Name) and node.id in ("tuple", "list", "dict", "NDArray")
        ]
        assert bare == [], function.name


def test_it_names_what_the_module_has() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert named == {name for name in dir(_native) if not name.startswith("_")}
