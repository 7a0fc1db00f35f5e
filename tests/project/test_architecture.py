"""Who may import whom. Imports go downward only; a new room needs a row here."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.paths import ROOT

from steelyard.core import catalogue

SOURCE = ROOT / "src" / "steelyard"

# Packages from the ground up. A package imports only what is below it, or on its own floor without a circle.
FLOORS: list[tuple[str, ...]] = [
    ("version", "idle", "_native"),
    ("core",),
    ("align", "match", "maps", "language", "losses"),
    ("io", "results"),
    ("checks",),
    ("engine", "extend"),
    ("api", "partial", "torch"),
    ("tasks",),
    ("render", "scale", "gating", "files", "pictures"),
    ("vlm", "view", "loggers", "testing", "compat", "packs"),
    ("cli", "integrations"),
    ("__init__", "__main__"),
]
# package: what of ours it may import (itself always)
ALLOWED: dict[str, set[str]] = {
    "version": set(),
    "idle": set(),
    "core": {"_native"},
    "align": {"core", "_native"},
    "match": {"core", "_native"},
    "maps": {"core", "_native"},
    "language": {"core", "_native"},
    "losses": {"core", "_native"},
    "io": {"core", "maps", "_native"},
    "results": {"core", "io", "version"},
    "checks": {"core", "io", "results", "version"},
    "engine": {"core", "align", "io", "results", "_native"},
    "extend": {"core", "align", "io", "checks"},
    "api": {"core", "io", "results", "checks", "engine"},
    "partial": {"core", "align", "io", "results", "engine", "api", "version"},
    "torch": {"core", "partial"},
    "tasks": {"core", "align", "match", "maps", "language", "losses", "io", "checks", "partial", "_native"},
    "render": {"core", "io", "results"},
    "scale": {"core", "align", "io", "results", "checks", "engine", "partial", "version"},
    "gating": {"core", "io", "results", "engine"},
    "files": {"core", "io", "checks", "tasks"},
    "pictures": {"core", "io", "engine", "render"},
    "vlm": {"core", "io", "language", "results", "render", "api", "version"},
    "view": {"core", "io", "results", "engine", "render", "gating", "api"},
    "loggers": {"core", "results", "render", "version"},
    "compat": {"core", "io", "language", "maps", "results", "api", "tasks", "_native"},
    "packs": {"core", "io", "results", "render", "gating", "api", "version"},
    "testing": {"core", "io", "results", "engine", "api", "partial", "files"},
    "cli": {
        "core", "io", "language", "results", "render", "api", "files", "pictures", "gating", "scale", "view", "vlm",
        "compat", "packs", "version",
    },
    "integrations": {"core", "io", "results", "engine", "loggers", "api", "partial", "torch"},
    "__init__": {"api", "core", "files", "gating", "idle", "packs", "partial", "pictures", "results", "scale", "version"},
    "__main__": {"cli"},
}  # fmt: skip
# Tasks that build on another task; every task may import `shared`.
BUILT_ON: dict[str, set[str]] = {
    "masks": {"boxes"},
    "keypoints": {"boxes"},
    "oriented": {"boxes"},
    "panoptic": {"segmentation"},
    "volumes": {"segmentation"},
    "documents": {"tables"},
    "flow": {"fields"},
    "disparity": {"fields"},
    "depth": {"fields"},
    "normals": {"fields"},
}
# Third-party packages by room; numpy is everywhere.
OUTSIDE: dict[str, set[str]] = {
    "render": {"PIL", "vl_convert"},
    "io": {"pyarrow", "openpyxl", "PIL"},
    "tasks": {"torch", "zstandard"},
    "testing": {"pytest"},
    "maps": {"PIL", "h5py"},
    "compat": {"PIL", "matplotlib", "pandas", "scipy", "torch", "torchmetrics", "tqdm"},
    "cli": {"click"},
    "losses": {"array_api_compat", "torch", "triton"},
    "scale": {"distributed", "fsspec", "ray"},
    "torch": {"torch"},
    "partial": {"torch"},
    "match": {"torch", "triton"},
    "loggers": {"mlflow", "wandb"},
    "integrations": {
        "torch",
        "torchmetrics",
        "lightning",
        "pytorch_lightning",
        "keras",
        "evaluate",
        "datasets",
        "fiftyone",
    },
    "view": {"starlette", "uvicorn"},
    "vlm": {"PIL", "pillow_heif", "httpx", "httpcore", "tenacity", "torch", "transformers", "huggingface_hub", "yaml"},
}


@cache
def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@dataclass(frozen=True)
class Source:
    """What the tests look at in a file, which is parsed once."""

    pairs: tuple[tuple[str, str], ...]  # (module, name), inside functions too; name is "" for `import x`
    imports: frozenset[str]  # of modules and of names of modules
    texts: frozenset[str]
    docstring: bool


@cache
def read(path: Path) -> Source:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    pairs: list[tuple[str, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            pairs += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            pairs += [(str(node.module), alias.name) for alias in node.names]
    return Source(
        pairs=tuple(pairs),
        imports=frozenset(f"{module}.{name}" if name else module for module, name in pairs),
        texts=frozenset(one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)),
        docstring=ast.get_docstring(tree) is not None,
    )


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> frozenset[str]:
    return read(path).imports


def test_imports_go_downward() -> None:
    assert {room_of(path) for path in modules()} - set(ALLOWED) == set(), "a new package: say what it may import"
    upward = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in modules()
        for name in sorted(imports(path))
        if name.partition(".")[0] == "steelyard" and name.split(".")[1] not in ALLOWED[room_of(path)] | {room_of(path)}
    ]
    assert upward == []


def test_the_floors_hold_every_package() -> None:
    floor = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}
    assert set(floor) == {room_of(path) for path in modules()} | {"_native"}
    upward = [(room, other) for room, others in ALLOWED.items() for other in others if floor[other] > floor[room]]
    assert upward == []


def test_every_arrow_is_used() -> None:
    """An arrow that no module needs leaves the table."""
    used: dict[str, set[str]] = {}
    for path in modules():
        targets = {name.split(".")[1] for name in imports(path) if name.startswith("steelyard.")}
        used.setdefault(room_of(path), set()).update(targets - {room_of(path)})
    assert used == ALLOWED


def module_of(path: Path) -> str:
    return ".".join(("steelyard", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def graph(names: dict[str, Path]) -> dict[str, set[str]]:
    """Which module imports which, inside functions and for type checkers too."""
    by_name = {}
    for name, path in names.items():
        targets = set()
        for module, attribute in read(path).pairs:
            whole = f"{module}.{attribute}" if attribute else module
            targets.add(whole if whole in names or whole == "steelyard._native" else module)
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
    assert circles(graph({module_of(path): path for path in modules()})) == []
    for folder in ("tools", "benchmarks", "fuzz"):
        assert circles(graph({path.stem: path for path in (ROOT / folder).glob("*.py")})) == []


def test_the_api_holds_no_logic() -> None:
    """No function has more than 15 statements, whatever its docstring and signature take."""
    functions = ast.parse((SOURCE / "api.py").read_text(encoding="utf-8")).body
    sizes = {
        one.name: sum(isinstance(inside, ast.stmt) for inside in ast.walk(one)) - 1
        for one in functions
        if isinstance(one, ast.FunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > 15} == {}


def test_a_task_imports_only_the_tasks_it_builds_on() -> None:
    for path in (SOURCE / "tasks").glob("*/*.py"):
        task = path.parent.name
        reached = {name.split(".")[2] for name in imports(path) if name.startswith("steelyard.tasks.")}
        assert reached <= {task, "shared"} | BUILT_ON.get(task, set()), path


def test_every_task_has_the_same_layout() -> None:
    folders = {path.name: path for path in (SOURCE / "tasks").iterdir() if (path / "__init__.py").exists()}
    assert set(folders) == set(catalogue.MODULES) | {"shared", "fields"}
    for name, module in catalogue.MODULES.items():
        task = catalogue.TASKS[name]
        places = (task.views, "views"), (task.checks, "checks"), (task.device, "device")
        assert module == f"steelyard.tasks.{name}.task"
        assert {given for given, _ in places} <= {"", *(f"steelyard.tasks.{name}.{file}" for _, file in places)}


def test_only_declared_packages() -> None:
    everywhere = {*sys.stdlib_module_names, "numpy", "steelyard", "__future__"}
    undeclared = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in modules()
        for name in sorted(imports(path))
        if name.partition(".")[0] not in everywhere | OUTSIDE.get(room_of(path), set())
    ]
    assert undeclared == []


def test_every_file_says_what_belongs_there() -> None:
    assert [path for path in modules() if not read(path).docstring] == []


def base_names(node: ast.ClassDef) -> list[str]:
    named = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [ast.unparse(base).rpartition(".")[2] for base in named]


def test_public_methods_are_documented() -> None:
    """A method has a docstring, or overrides one that has."""
    classes: dict[str, list[tuple[Path, ast.ClassDef]]] = {}
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append((path, node))

    def documented(node: ast.ClassDef, method: str) -> bool:
        own = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == method]
        if any(ast.get_docstring(one) for one in own):
            return True
        return any(documented(base, method) for name in base_names(node) for _, base in classes.get(name, ()))

    lacking = [
        f"{path.relative_to(SOURCE)}: {name}.{one.name}"
        for name, definitions in classes.items()
        for path, node in definitions
        for one in node.body
        if isinstance(one, ast.FunctionDef) and not name.startswith("_") and not one.name.startswith("_")
        if not any(ast.unparse(mark) == "overload" for mark in one.decorator_list) and not documented(node, one.name)
    ]
    assert lacking == []


PUT_OFF = ("if TYPE_CHECKING:", "def __getattr__(name: str) -> Any:", "def __dir__() -> list[str]:")


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
    texts = read(path).texts
    words = {part for text in texts for part in (text, *text.split(":"))}
    parts = {part for name in imports(path) for part in name.split(".")}
    return (words | parts | {path.stem}) & set(catalogue.MODULES)


def test_rooms_that_serve_every_task_name_none() -> None:
    for path in modules():
        if room_of(path) in NAMELESS:
            # The module of units' weights, the tables of a page and the folder of thumbnails have the names of tasks.
            assert names_in_code(path) <= {"weights", "tables", "images"}, path


# A flag of the command line; what other programs take (pip, lmms-eval) is theirs.
FLAG = re.compile(r"(?:^|[\s(`'\"])(?:--(?!upgrade|log_samples)[a-z]|-[mO] [a-z'\"])|\s(?:--|-[mO] )$")


def test_only_the_command_line_names_its_flags() -> None:
    """Messages name settings as Python does, `confidence=None`; `cli.say.in_flags` turns them into flags."""
    for path in modules():
        if room_of(path) != "cli" and path.name != "__main__.py":
            assert not [text for text in read(path).texts if FLAG.search(text)], path
