"""The list of drop-ins: installing them, running programs with them, and reporting on their evaluators."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import make_drop_ins
import pytest
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard import compat
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.cocoeval import COCOeval

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes"


def python(*arguments, cwd=None):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize("package", compat.DROP_INS)
def test_every_module_of_the_list_can_be_imported_and_has_a_page(package) -> None:
    for part in compat.DROP_INS[package].modules:
        assert import_module(f"steelyard.compat.{package}{part}")
    assert (ROOT / "docs" / "compat" / f"{package}.md").is_file()


def test_the_page_has_the_list() -> None:
    page = (ROOT / "docs" / "compat.md").read_text(encoding="utf-8")
    assert make_drop_ins.page_with_table(page) == page


def test_modules_are_replaced_when_they_are_imported_and_come_back() -> None:
    code = """
import sys
from steelyard import compat
compat.install()
assert not any(name.startswith("steelyard.compat.pycocotools") for name in sys.modules)
import pycocotools.mask
from pycocotools import coco
ours = coco.COCO.__module__, pycocotools.__name__, pycocotools.mask.__name__
compat.install("pycocotools")
compat.uninstall()
import pycocotools.coco
compat.install()
compat.uninstall()
print(*ours, pycocotools.coco.COCO.__module__, sys.modules["pycocotools.coco"].__name__)
"""
    done = python("-c", code)
    ours = "steelyard.compat.pycocotools"
    assert (done.stdout.split(), done.stderr) == (
        [f"{ours}.coco", ours, f"{ours}.mask", "pycocotools.coco", "pycocotools.coco"],
        "",
    )


def test_a_package_without_a_drop_in() -> None:
    with refuses("E-unknown-name", "pycocotool", "pycocotools"):
        compat.install("pycocotool")


def test_a_program_runs_with_them(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, helper, pycocotools\nprint(__name__, pycocotools.__name__, *sys.argv[1:])\nsys.exit(5)\n"
    )
    (tmp_path / "helper.py").write_text("")
    for arguments in ([program], ["--only", "pycocotools", program], ["-m", "program"]):
        done = python("-m", "steelyard.compat", *arguments, "--flag", "x", cwd=tmp_path)
        said = (done.returncode, done.stdout, done.stderr)
        assert said == (5, "__main__ steelyard.compat.pycocotools --flag x\n", "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "usage"),
        (["--only"], "usage"),
        (["nowhere.py"], "E-missing-file"),
        (["--only", "nothing", "nowhere.py"], "E-unknown-name"),
    ],
)
def test_a_program_that_cannot_be_run(arguments, named, tmp_path) -> None:
    done = python("-m", "steelyard.compat", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_lists_them() -> None:
    done = python("-m", "steelyard", "compat", "--json")
    listed = json.loads(done.stdout)
    assert list(listed) == list(compat.DROP_INS)
    assert listed["pycocotools"]["modules"] == ["", ".coco", ".cocoeval", ".mask"]
    plain = python("-m", "steelyard", "compat").stdout
    assert all(f"{name} {compat.DROP_INS[name].version}\n" in plain for name in listed)


def test_a_report_is_that_of_evaluate_and_compare() -> None:
    def evaluator(name: str) -> COCOeval:
        truth = COCO(SAMPLE / "truth.json")
        return COCOeval(truth, truth.loadRes(str(SAMPLE / name)), "bbox")

    sides = [SAMPLE / name for name in ("truth.json", "model_a.json", "model_b.json")]
    a, b = evaluator("model_a.json"), evaluator("model_b.json")
    settings = {"metrics": ["map", "ar@100"], "draws": 100}
    assert dict(compat.report(a, **settings).scores) == dict(sy.evaluate("boxes", *sides[:2], **settings).scores)
    ours, theirs = compat.report(a, b, **settings), sy.compare("boxes", *sides, **settings)
    assert dict(ours.differences) == dict(theirs.differences)
    b.params.imgIds = b.params.imgIds[1:]
    with refuses("E-conflict", "ground truth"):
        compat.report(a, b)
    with refuses("E-unsupported", "str"):
        compat.report("no evaluator")
