"""Who may import whom. Imports go downward only; a new room needs a row here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from steelyard.metrics import catalogue

SOURCE = Path(__file__).parent.parent / "src" / "steelyard"

# room: what of ours it may import (itself always)
ALLOWED: dict[str, set[str]] = {
    "core": {"_native"},
    "version": set(),
    "idle": set(),
    "maps": {"core", "_native"},
    "io": {"core", "maps", "_native"},
    "align": {"core", "_native"},
    "match": {"core", "_native"},
    "losses": {"core", "_native"},
    "language": {"core", "_native"},
    "metrics": {"core", "align", "match", "losses", "language", "maps", "_native"},
    "engine": {"core", "io", "align", "metrics", "results", "_native"},
    "results": {"core", "io", "version"},
    "render": {"core", "io", "metrics", "results"},
    "api": {"core", "io", "align", "metrics", "engine", "results", "render", "checks"},
    "compacted": {"core", "io", "align", "metrics", "engine", "results", "api"},
    "counted": {"core", "engine", "results", "api"},
    "accumulator": {"core", "io", "align", "metrics", "engine", "results", "api", "compacted", "counted", "version"},
    "torch": {"core", "accumulator"},
    "device": {"core", "maps", "metrics"},
    "scale": {
        "checks",
        "core",
        "io",
        "align",
        "metrics",
        "engine",
        "results",
        "api",
        "compacted",
        "accumulator",
        "version",
    },
    "checks": {"core", "io", "render", "version", "_native"},
    "pictures": {"core", "metrics", "engine", "render"},
    "files": {"core", "io", "metrics", "checks", "results"},
    "gating": {"core", "io", "metrics", "engine", "results"},
    "loggers": {"core", "results", "render", "version"},
    "integrations": {"core", "io", "metrics", "engine", "results", "loggers", "api", "accumulator", "torch"},
    "view": {"core", "io", "metrics", "engine", "results", "render", "gating", "api"},
    "vlm": {"core", "io", "language", "metrics", "results", "render", "api", "version"},
    "compat": {"core", "_native"},
    "extend": {"core", "align", "checks", "io", "metrics"},
    "testing": {"core", "io", "engine", "metrics", "results", "api", "accumulator", "files"},
    "cli": {
        "core",
        "io",
        "language",
        "metrics",
        "results",
        "render",
        "api",
        "files",
        "pictures",
        "gating",
        "scale",
        "view",
        "vlm",
        "version",
    },
    "__init__": {
        "accumulator",
        "api",
        "core",
        "files",
        "gating",
        "idle",
        "io",
        "pictures",
        "results",
        "scale",
        "version",
    },
    "__main__": {"cli"},
}
# Third-party packages by room; numpy is everywhere.
OUTSIDE: dict[str, set[str]] = {
    "render": {"altair", "vl_convert"},
    "io": {"pyarrow", "zstandard", "openpyxl"},
    "testing": {"pytest"},
    "maps": {"PIL"},
    "compat": {"matplotlib"},
    "cli": {"click"},
    "losses": {"array_api_compat", "torch", "triton"},
    "scale": {"distributed", "fsspec", "ray"},
    "torch": {"torch"},
    "device": {"torch"},
    "match": {"torch", "triton"},
    "loggers": {"mlflow", "wandb"},
    "integrations": {"torch", "torchmetrics", "lightning", "pytorch_lightning", "keras", "evaluate", "datasets"},
    "view": {"starlette", "uvicorn"},
    "vlm": {"PIL", "pillow_heif", "httpx", "httpcore", "tenacity", "torch", "transformers", "huggingface_hub", "yaml"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_downward(path: Path) -> None:
    room = room_of(path)
    assert room in ALLOWED, f"room '{room}' is new: say what it may import"
    for name in imports(path):
        first, _, rest = name.partition(".")
        if first == "steelyard":
            target = rest.split(".")[0]
            assert target in ALLOWED[room] | {room}, f"{path.name} imports {name}"


def module_of(path: Path) -> str:
    return ".".join(("steelyard", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def graph() -> dict[str, set[str]]:
    """Which module imports which, inside functions too; what only a type checker reads is left out."""
    names = {module_of(path): path for path in modules()}
    by_name = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        targets = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= {one if one in names or one == "steelyard._native" else str(node.module) for one in whole}
        by_name[name] = (targets & set(names)) - {name}
    return by_name


def circles(imported: dict[str, set[str]]) -> list[str]:
    """What is left of a graph once modules that import nothing of it are taken away, again and again."""
    left = dict(imported)
    while True:
        ends = [name for name, targets in left.items() if not targets & set(left)]
        if not ends:
            return sorted(left)
        for name in ends:
            del left[name]


def test_no_import_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]
    assert circles(graph()) == []


def test_the_api_holds_no_logic() -> None:
    """No function has more than 15 statements, whatever its docstring and signature take."""
    functions = ast.parse((SOURCE / "api.py").read_text(encoding="utf-8")).body
    sizes = {
        one.name: sum(isinstance(inside, ast.stmt) for inside in ast.walk(one)) - 1
        for one in functions
        if isinstance(one, ast.FunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > 15} == {}


# Rooms that may look at tasks through the catalogue alone.
BLIND = ("engine", "render", "results")


@pytest.mark.parametrize(
    "path", [p for p in modules() if room_of(p) in BLIND], ids=lambda p: str(p.relative_to(SOURCE))
)
def test_tasks_are_reached_through_the_catalogue(path: Path) -> None:
    own = {name for name in imports(path) if name.startswith("steelyard.metrics")}
    assert own <= {"steelyard.metrics.catalogue"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_declared_packages(path: Path) -> None:
    import sys

    room = room_of(path)
    for name in imports(path):
        first = name.partition(".")[0]
        known = first in sys.stdlib_module_names or first in {"numpy", "steelyard", "__future__"}
        assert known or first in OUTSIDE.get(room, set()), f"{path.name} imports {first}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_file_says_what_belongs_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


PUT_OFF = (
    "if TYPE_CHECKING:", "def __getattr__(name: str) -> Any:", "def __dir__() -> list[str]:",
    "class _Metrics(ModuleType):",
)  # fmt: skip


def test_rooms_have_no_logic_in_their_door() -> None:
    for path in SOURCE.rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign)
        logic = [node for node in tree.body if not isinstance(node, kinds)]
        if path.parent == SOURCE:  # the front door may put off what few programs need
            logic = [node for node in logic if ast.unparse(node).splitlines()[0] not in PUT_OFF]
        assert not logic, path


NATIVE = SOURCE.parent.parent / "native"


def test_native_files_say_why_they_are_shaped_so() -> None:
    for path in [*NATIVE.rglob("*.cpp"), *NATIVE.rglob("*.hpp")]:
        said = [
            path.read_text(encoding="utf-8"),
            *(h.read_text(encoding="utf-8") for h in [path.with_suffix(".hpp")] if h.exists()),
        ]
        assert any(text.startswith("//") for text in said), path


def test_native_files_have_one_purpose() -> None:
    """A file above 700 lines deserves a look: it often has two."""
    long = {
        path.name: n
        for path in NATIVE.rglob("*.?pp")
        if (n := len(path.read_text(encoding="utf-8").splitlines())) > 700
    }
    assert long == {}


def test_kernels_know_no_python() -> None:
    """A kernel takes spans and sizes; only bindings know nanobind, and no kernel includes one of theirs."""
    bindings = {path.name for path in (NATIVE / "bindings").glob("*.hpp")}
    for path in (NATIVE / "kernels").rglob("*.?pp"):
        text = path.read_text(encoding="utf-8")
        included = re.findall(r'#include ["<]([^">]+)', text)
        assert not [
            name for name in included if name == "Python.h" or name.startswith("nanobind") or name in bindings
        ], path
        assert "PyObject" not in text, path


# Rooms that work for every task, and so may name none.
NAMELESS = ("engine", "results", "render", "scale")


def names_in_code(path: Path) -> set[str]:
    """Texts and names of modules of a file that are the name of a task: strings, imports, and the file's own name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words = {part for text in texts for part in (text, *text.split(":"))}
    parts = {part for name in imports(path) for part in name.split(".")}
    return (words | parts | {path.stem}) & set(catalogue.MODULES)


@pytest.mark.parametrize(
    "path", [p for p in modules() if room_of(p) in NAMELESS], ids=lambda p: str(p.relative_to(SOURCE))
)
def test_rooms_that_serve_every_task_name_none(path: Path) -> None:
    assert names_in_code(path) <= {"weights"}  # the module of units' weights has the name of a task
