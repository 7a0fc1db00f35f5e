"""Tasks of other packages: the example as its own wheel, without an edit of Steelyard; and packages that are broken."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.tiers import slow_except

EXAMPLE = ROOT / "examples" / "steelyard-example-task"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example as pip builds and installs it."""
    folder = tmp_path_factory.mktemp("example")
    source = shutil.copytree(EXAMPLE, folder / "source")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", folder, source],
        check=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == "steelyard_example_task-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def sample(site: Path) -> Path:
    return site / "steelyard_intervals" / "samples" / "intervals"


def test_the_example_has_the_layout_of_a_task_and_imports_what_is_public() -> None:
    package = EXAMPLE / "src" / "steelyard_intervals"
    files = ["__init__.py", "checks.py", "data.py", "metrics.py", "task.py", "views.py"]
    assert sorted(path.name for path in package.glob("*.py")) == files
    assert not [
        node for node in ast.parse((package / "__init__.py").read_text()).body if not isinstance(node, ast.Expr)
    ]
    for path in EXAMPLE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert (
                module is None
                or module.split(".")[0] != "steelyard"
                or module in ("steelyard.extend", "steelyard.testing")
            )


def test_what_is_public_is_all_named() -> None:
    import steelyard.extend

    named = {name for name in vars(steelyard.extend) if not name.startswith(("_", "@"))}  # pytest's own begin with @
    assert sorted(steelyard.extend.__all__) == sorted(named - {"annotations", "steelyard"})


@pytest.mark.slow
def test_the_examples_own_tests_pass(site: Path) -> None:
    """Its laws and its numbers by hand, by `as_test`, as its author runs them."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(EXAMPLE / "tests")],
        cwd=site.parent, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "failed" not in done.stdout


def test_it_is_evaluated_shown_and_read_back(site: Path, sample: Path, steelyard: Run, tmp_path: Path) -> None:
    done = steelyard(
        "evaluate", "intervals", sample / "truth.csv", sample / "model_a.csv", "--by", "room", "--tables", "t",
        "--html", "r.html", "-o", "r.json", PYTHONPATH=str(site),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Time IoU" in done.stdout
    assert "Lengths of events" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert (tmp_path / "t" / "events.csv").is_file()
    again = steelyard("report", "r.json", PYTHONPATH=str(site))
    assert again.returncode == 0, again.stderr
    assert "Time IoU" in again.stdout


@pytest.mark.slow
def test_it_is_compared_checked_listed_and_shown_as_a_demo(site: Path, sample: Path, steelyard: Run) -> None:
    def run(*words: Any) -> str:
        done = steelyard(*words, PYTHONPATH=str(site))
        assert done.returncode == 0, done.stderr
        return done.stdout

    sides = [sample / name for name in ("truth.csv", "model_a.csv", "model_b.csv")]
    assert "time_iou" in run("compare", "intervals", *sides)
    assert "Nothing was found" in run("check", "intervals", *sides[:2])
    assert "intervals: Events in time" in run("metrics")
    assert "Undefined" in run("metrics", "time_iou") or "undefined" in run("metrics", "time_iou")
    assert "intervals" in run("demo", "intervals")
    assert "--by" in run("evaluate", "intervals", "--help")


def test_ids_that_do_not_meet_are_found_without_a_check_of_its_own(
    site: Path, sample: Path, steelyard: Run, tmp_path: Path
) -> None:
    text = (sample / "model_a.csv").read_text(encoding="utf-8")
    (tmp_path / "upper.csv").write_text(text.replace("\nrec", "\nREC"), encoding="utf-8")
    done = steelyard("check", "intervals", sample / "truth.csv", "upper.csv", PYTHONPATH=str(site))
    assert "without regard to case" in done.stdout


def test_shards_give_the_same_numbers(site: Path, sample: Path, steelyard: Run, tmp_path: Path) -> None:
    for name in ("truth", "model_a"):
        head, *rows = (sample / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        for part in range(3):
            mine = [row for row in rows if int(row[3:5]) % 3 == part]
            (tmp_path / f"{name}{part}.csv").write_text("\n".join([head, *mine]) + "\n", encoding="utf-8")
    many = steelyard("evaluate", "intervals", "truth?.csv", "model_a?.csv", "--json", PYTHONPATH=str(site))
    assert many.returncode == 0, many.stderr
    one = steelyard(
        "evaluate", "intervals", sample / "truth.csv", sample / "model_a.csv", "--json", PYTHONPATH=str(site)
    )
    assert scores(many.stdout) == scores(one.stdout)


def scores(text: str) -> Any:
    data = json.loads(text)
    return data["body"]["scores"] if "body" in data else data["scores"]


def test_the_format_of_the_documentation_is_read_written_and_refused(steelyard: Run, tmp_path: Path) -> None:
    """The page's own code as a package: what it shows is what works."""
    page = (ROOT / "docs" / "extend" / "format.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```\n")[0].partition('Path("truth.dots")')[0]
    site = brought(tmp_path / "site", "acme", "dots = 'brought:FORMAT'", code, "steelyard.formats")
    boxes = ["img1 cup 10 10 50 40", "img1 fork 80 20 10 60", "img2 cup 5 5 30 30"]
    (tmp_path / "truth.dots").write_text("\n".join(boxes) + "\n")
    (tmp_path / "found.dots").write_text("\n".join(f"{box} 0.9" for box in boxes[:2]) + "\nimg2 cup 50 50 3 3 0.8\n")
    scored = steelyard("evaluate", "boxes", "truth.dots", "found.dots", "-m", "recall", "--ci", "none", PYTHONPATH=site)
    assert scored.returncode == 0, scored.stderr
    assert "0.66667" in scored.stdout  # 2 of 3 objects
    there = steelyard("convert", "truth.dots", "truth.json", PYTHONPATH=site)
    assert there.returncode == 0, there.stderr
    back = steelyard("convert", "truth.json", "back.dots", PYTHONPATH=site)
    assert "lost: all but boxes, classes and scores (3)" in back.stdout
    assert (tmp_path / "back.dots").read_text().splitlines()[1].split()[1:] == ["fork", "80.0", "20.0", "10.0", "60.0"]
    (tmp_path / "bad.dots").write_text("img1 cup 10 ten\n")
    bad = steelyard("evaluate", "boxes", "bad.dots", "found.dots", PYTHONPATH=site)
    assert bad.returncode == 2
    assert "bad.dots, line 1: 'img1 cup 10 ten' is not a box" in bad.stderr
    forced = steelyard(
        "evaluate", "boxes", "truth.dots", "found.dots", "--format", "dots", "-m", "recall", PYTHONPATH=site
    )
    assert forced.returncode == 0, forced.stderr


# --- packages that are broken: one message that names the package, and the other tasks work

BROKEN = {
    "no module": ("absent = 'no_such_module:TASK'", "", "absent", "ModuleNotFoundError: No module named 'no_such_module'"),
    "raises": ("raises = 'brought:TASK'", "raise RuntimeError('boom')", "raises", "RuntimeError: boom"),
    "no name": ("bare = 'brought:TASK'", "", "bare", "AttributeError"),
    "no task": ("seven = 'brought:TASK'", "TASK = 7", "seven", "is int, not Task"),
    "a statistic of that name": (
        "needs = 'brought:TASK'",
        "from steelyard.tasks.weights.task import TASK\nfrom steelyard.extend import Sum\n"
        "class Mine(Sum):\n    name = 'weights.dishes'\n",
        "needs", "a statistic 'weights.dishes' is defined already: steelyard.tasks.weights.task.DishSum",
    ),
    "other name": (
        "other = 'brought:TASK'", "import dataclasses\nfrom steelyard.tasks.weights.task import TASK", "other",
        "calls itself 'weights'",
    ),
}  # fmt: skip


def brought(folder: Path, package: str, points: str, code: str = "", group: str = "steelyard.tasks") -> str:
    """A package in a folder, as an installer leaves it; gives the folder as PYTHONPATH."""
    info = folder / f"{package}-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{points.replace(chr(39), '')}\n")
    (folder / "brought.py").write_text(code)
    return str(folder)


@pytest.mark.parametrize("name", slow_except(BROKEN, next(iter(BROKEN)), "other name"))
def test_a_broken_package_is_named(name: str, steelyard: Run, tmp_path: Path) -> None:
    points, code, task, message = BROKEN[name]
    path = brought(tmp_path / "site", "acme", points, code)
    done = steelyard("evaluate", task, "a.csv", "b.csv", PYTHONPATH=path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"task '{task}' of acme 2.1" in done.stderr
    assert message in done.stderr
    listed = steelyard("metrics", PYTHONPATH=path)
    assert listed.returncode == 0
    assert "weights: Food weights" in listed.stdout
    assert f"task '{task}' of acme 2.1" in listed.stderr


def test_a_built_in_task_cannot_be_taken_over(steelyard: Run, tmp_path: Path) -> None:
    path = brought(tmp_path / "site", "acme", "weights = 'brought:TASK'", "TASK = 7")
    listed = steelyard("metrics", "--task", "weights", PYTHONPATH=path)
    assert listed.returncode == 0
    assert "wmae_total" in listed.stdout
    assert "task 'weights' of acme 2.1 is left out" in steelyard("metrics", PYTHONPATH=path).stderr


def test_a_name_that_two_packages_claim(steelyard: Run, tmp_path: Path) -> None:
    path = brought(tmp_path / "site", "acme", "steps = 'brought:TASK'")
    other = brought(tmp_path / "other", "bolt", "steps = 'brought:STEPS'")
    done = steelyard("evaluate", "steps", "a.csv", "b.csv", PYTHONPATH=os.pathsep.join([path, other]))
    assert done.returncode == 2
    assert "task 'steps' is claimed by acme 2.1 and bolt 2.1. Remove one of them." in done.stderr


def test_a_known_task_is_found_without_reading_what_is_installed() -> None:
    code = (
        "import sys; before = 'importlib.metadata' in sys.modules;"
        "from steelyard.core import catalogue; catalogue.find_task('weights');"
        "from steelyard.core import registry; assert registry.plugins.cache_info().currsize == 0;"
        "assert 'importlib.metadata' not in sys.modules or before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
