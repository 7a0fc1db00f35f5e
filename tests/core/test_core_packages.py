"""What other packages bring, and samples that lie in a package: found, and refused in words that name the package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.refusal import refused, refuses

from steelyard.core import catalogue, registry
from steelyard.core.options import Option
from steelyard.core.registry import hidden_names, load, package, plugins
from steelyard.core.sample import Sample, find_sample

GROUP = "core.test.group"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from, and no memory of what was brought."""
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.plugins.cache_clear()
    yield tmp_path
    registry.plugins.cache_clear()
    for name in [name for name in sys.modules if name.startswith("core_test_")]:
        del sys.modules[name]


def install(site: Path, name: str, version: str, *points: str) -> None:
    """A distribution that has nothing but entry points."""
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = [f"[{GROUP}]", *points, "[core.test.other]", "elsewhere = math:pi"]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def refused_load(name: str, type_: type = float) -> str:
    return refused(load, GROUP, name, type_, "thing")


def test_entry_points_by_name(site: Path) -> None:
    install(site, "second", "2.0", "tau = math:tau", "e = math:e")
    install(site, "first", "1.5", "tau = math:pi")
    points = plugins(GROUP)
    assert {name: sorted(package(point) for point in claimed) for name, claimed in points.items()} == {
        "e": ["second 2.0"],
        "tau": ["first 1.5", "second 2.0"],
    }
    assert list(points) == ["e", "tau"]
    assert isinstance(points["tau"], tuple)
    assert plugins(GROUP) is points
    assert list(plugins("core.test.other")) == ["elsewhere"]
    assert plugins("core.test.none") == {}


def test_the_same_claim_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a package is seen that stands on the path twice. Another value, or another package, is another claim."""

    def point(value: str, name: str, version: str = "1") -> Any:
        return SimpleNamespace(name="x", value=value, dist=SimpleNamespace(name=name, version=version))

    points = [point("a:b", "p"), point("a:b", "p"), point("a:c", "p"), point("a:b", "q"), point("a:b", "p", "2")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == GROUP else [])
    registry.plugins.cache_clear()
    assert plugins(GROUP) == {"x": (points[0], points[2], points[3], points[4])}
    registry.plugins.cache_clear()


def test_an_entry_point_without_a_package_is_named_so() -> None:
    assert package(EntryPoint("pi", "math:pi", GROUP)) == "an unknown package"


def test_what_is_brought_is_loaded(site: Path) -> None:
    install(site, "first", "1.5", "pi = math:pi")
    assert load(GROUP, "pi", float, "thing") == 3.141592653589793


def test_what_cannot_be_loaded_is_said_with_its_package(site: Path) -> None:
    (site / "core_test_broken.py").write_text("raise RuntimeError('no luck')\n", encoding="utf-8")
    (site / "core_test_named.py").write_text("class _T:\n    name = 'other'\nthing = _T()\n", encoding="utf-8")
    install(site, "first", "1.5", "tau = math:tau", "broken = core_test_broken:x", "text = math:__name__",
            "named = core_test_named:thing")  # fmt: skip
    install(site, "second", "2.0", "tau = math:pi")
    claims = refused_load("tau")
    assert claims in (
        "thing 'tau' is claimed by first 1.5 and second 2.0. Remove one of them.",
        "thing 'tau' is claimed by second 2.0 and first 1.5. Remove one of them.",
    )
    assert refused_load("broken") == (
        "thing 'broken' of first 1.5 cannot be loaded from 'core_test_broken:x': RuntimeError: no luck. "
        "Update or remove the package."
    )
    assert refused_load("text") == (
        "thing 'text' of first 1.5: 'math:__name__' is str, not float. Update or remove the package."
    )
    assert refused_load("named", object) == (
        "thing 'named' of first 1.5 calls itself 'other'. The name of the entry point must be its own."
    )


def test_what_is_left_out_for_a_built_in_name(site: Path) -> None:
    install(site, "first", "1.5", "pi = math:pi", "e = math:e")
    assert hidden_names(GROUP, ["pi", "phi"], "thing") == (
        "thing 'pi' of first 1.5 is left out: Steelyard has a thing of that name.",
    )
    assert hidden_names(GROUP, [], "thing") == ()


def test_choices_that_packages_bring(site: Path) -> None:
    install(site, "first", "1.5", "pi = math:pi")
    option = Option("format", "choice", "m", choices=("csv",), group=GROUP)
    assert (option.convert("pi"), option.convert("csv")) == ("pi", "csv")
    with refuses("E-invalid-setting", "'tau'", "choice"):
        option.convert("tau")


def sample_of(site: Path, *files: str, about: dict[str, Any] | None = None) -> Path:
    """A package with the sample of the task `things`."""
    folder = site / "core_test_package" / "samples" / "things"
    folder.mkdir(parents=True)
    (site / "core_test_package" / "__init__.py").write_text("", encoding="utf-8")
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(file, encoding="utf-8")
    if about is not None:
        (folder / "sample.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
    return folder


def read_sample(site: Path) -> Sample:
    sample = find_sample("core_test_package.deep.module", "things")
    assert sample is not None
    return sample


def test_a_sample_of_files(site: Path) -> None:
    about = {"by": "città", "options": {"names": "names.txt"}}
    sample_of(site, "truth.csv", "model_a.json", "model_b.tar", "names.txt", about=about)
    sample = read_sample(site)
    assert (sample.truth, sample.a, sample.b) == ("truth.csv", "model_a.json", "model_b.tar")
    assert (sample.by, sample.options) == ("città", {"names": "names.txt"})
    files = dict(sample.files)
    assert sorted(files) == ["model_a.json", "model_b.tar", "names.txt", "truth.csv"]
    assert {file.read_text(encoding="utf-8") for file in files.values()} == set(files)


def test_a_sample_of_folders(site: Path) -> None:
    folder = sample_of(site, "truth/a.txt", "truth/deep/b.txt", "model_a/a.txt", "model_b/a.txt")
    sample = read_sample(site)
    assert (sample.truth, sample.a, sample.b, sample.by, sample.options) == ("truth", "model_a", "model_b", "", {})
    paths = ["model_a/a.txt", "model_b/a.txt", "truth/a.txt", "truth/deep/b.txt"]
    assert sorted(path for path, _ in sample.files) == paths
    (folder / "truth.csv").write_text("x", encoding="utf-8")
    assert read_sample(site).truth == "truth.csv"  # a file goes before a folder of its name


def test_no_sample(site: Path) -> None:
    folder = sample_of(site, "truth.csv", "model_a.csv")
    assert find_sample("core_test_package", "things") is None
    assert find_sample("core_test_package", "other") is None
    (folder / "model_b.csv").write_text("x", encoding="utf-8")
    assert read_sample(site).b == "model_b.csv"


def test_tasks_that_packages_bring(site: Path) -> None:
    """A valid task, one with a built-in name, and an object that is not a task: only the first is listed."""
    (site / "core_test_task.py").write_text(
        "import dataclasses\nfrom steelyard.core.catalogue import find_task\n"
        "TASK = dataclasses.replace(find_task('weights'), name='mine')\n",
        encoding="utf-8",
    )
    tasks = ("boxes = math:pi", "mine = core_test_task:TASK", "none = math:pi")
    install(site, "first", "1.5", f"[{registry.TASKS}]", *tasks)
    assert list(catalogue.TASKS) == [*catalogue.MODULES, "mine", "none"]
    assert len(catalogue.TASKS) == len(catalogue.MODULES) + 2
    assert [name in catalogue.TASKS for name in ("boxes", "mine", "none", "other")] == [True, True, True, False]
    assert [catalogue.TASKS[name].name for name in ("boxes", "mine")] == ["boxes", "mine"]
    with refuses("E-invalid-value", "task 'none'", "first 1.5", "float", "Task"):
        _ = catalogue.TASKS["none"]
    with pytest.raises(KeyError):
        _ = catalogue.TASKS["other"]
    loaded, problems = catalogue.loaded_tasks()
    assert list(loaded) == [*catalogue.MODULES, "mine"]
    assert problems == (
        "task 'boxes' of first 1.5 is left out: Steelyard has a task of that name.",
        "task 'none' of first 1.5: 'math:pi' is float, not Task. Update or remove the package.",
    )
    assert catalogue.find_task("Mine") is catalogue.TASKS["mine"]


def test_samples_of_tasks_that_packages_bring(site: Path) -> None:
    """A package may hold a sample. A single module, or one that cannot be imported, has none."""
    folder = site / "core_test_package" / "samples" / "mine"
    folder.mkdir(parents=True)
    (site / "core_test_package" / "__init__.py").touch()
    (site / "core_test_module.py").touch()
    (site / "core_test_broken.py").write_text("raise RuntimeError('no luck')\n", encoding="utf-8")
    for name in ("truth.csv", "model_a.csv", "model_b.json"):
        (folder / name).touch()
    points = (
        "mine = core_test_package.tasks:T",
        "one = core_test_module:T",
        "two = core_test_broken:T",
        "x = gone_x:T",
    )
    install(site, "first", "1.5", f"[{registry.TASKS}]", *points, "boxes = core_test_package:T")
    samples = catalogue.samples()
    assert {"mine", "one", "two", "x"} & samples.keys() == {"mine"}
    mine = samples["mine"]
    assert (mine.truth, mine.a, mine.b, mine.by, mine.options) == ("truth.csv", "model_a.csv", "model_b.json", "", {})
    assert (samples["boxes"].truth, samples["boxes"].by) == ("truth.json", "label")
