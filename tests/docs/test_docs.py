"""README and docs are true: their commands and examples are run, and what they print is what they show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import mkdocs_nav
import pytest
import run_docs
from support.forked import CommandLine
from support.paths import ROOT
from support.tiers import slow_except

import steelyard
from steelyard.core import catalogue

# The page that runs a local model takes as long as all the others of a task.
SLOW = {ROOT / "docs" / name for name in ("vlm.md", "food.md")}
PAGES = slow_except(run_docs.pages(), *(page for page in run_docs.pages() if page not in SLOW))


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning")  # Lightning's own
@pytest.mark.filterwarnings("ignore:.*does not have many workers")  # its advice on machines with many cores
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples(page: Path, command_line: CommandLine) -> None:
    made = run_docs.run(page, lambda arguments: command_line.run(arguments, Path.cwd(), {}))
    assert made == page.read_text(encoding="utf-8")


def test_the_scorecard_is_what_its_records_say() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "make_trust.py", "--check"], check=True)


@pytest.mark.parametrize("page", [*run_docs.pages(), ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation() -> None:
    """A task's page is found by the task's name; every other one is named."""
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    of_tasks = {f"{folder}{name}.md" for name in catalogue.MODULES for folder in ("", "catalogue/")}
    assert pages - of_tasks == listed


def test_the_reference_holds_every_public_name() -> None:
    named = re.findall(
        r"^::: steelyard\.(?:api\.)?(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(named) == sorted(set(steelyard.__all__) - {"__version__"})


def test_pages_of_tasks_come_into_the_navigation() -> None:
    config = {"nav": [{"Start": "index.md"}, {"Tasks": [{"Formats of boxes": "formats.md"}]}, {"Every metric": []}]}
    nav = mkdocs_nav.on_config(config)["nav"]
    assert {"labels": "catalogue/labels.md"} in nav[2]["Every metric"]
    tasks = nav[1]["Tasks"]
    assert {"Labels": "labels.md"} in tasks
    assert {"Formats of boxes": "formats.md"} in tasks
    assert len(tasks) == 1 + sum((ROOT / "docs" / f"{name}.md").exists() for name in catalogue.MODULES)


def test_samples_are_what_their_script_makes(tmp_path: Path) -> None:
    """The script writes where its argument says; its data must be the committed data."""
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import make_samples as m;"
        "m.SAMPLES = pathlib.Path(sys.argv[2]); m.main()"
    )
    subprocess.run([sys.executable, "-c", code, ROOT / "tools", tmp_path], check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.*"))
    assert made
    for path in made:
        assert (tmp_path / path).read_bytes() == (ROOT / "src/steelyard/samples" / path).read_bytes(), path
