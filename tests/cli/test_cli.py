"""The command line as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support.forked import started
from support.tiers import slow_except

from steelyard.core import catalogue


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("dish,item,weight,food\nA,1,100,rice\nA,2,50,egg\nB,1,200,rice\nB,2,10,egg\n")
    (tmp_path / "a.csv").write_text("dish,item,weight\nA,1,110\nA,2,40\nB,1,150\nB,2,30\n")
    (tmp_path / "b.csv").write_text("dish,item,weight\nA,1,101\nA,2,49\nB,1,190\nB,2,12\n")
    return tmp_path


def test_evaluate(files: Path, steelyard) -> None:
    result = steelyard(
        "evaluate", "weights", "t.csv", "a.csv", "--by", "food", "--units", "u.csv", "-o", "r.html", "-o", "r.json"
    )
    assert result.returncode == 0, result.stderr
    assert "mae" in result.stdout
    assert "22.5" in steelyard("evaluate", "weights", "t.csv", "a.csv", "--ci", "none").stdout
    assert "rice" in result.stdout
    assert result.stderr == "wrote r.html\nwrote r.json\nwrote u.csv\n"
    data = json.loads((files / "r.json").read_text())
    assert data["body"]["scores"]["mae"]["value"] == 22.5
    assert data["body"]["sources"]["truth"]["source"] == "t.csv"
    assert (files / "u.csv").read_text().startswith("dish,")


def test_json_is_all_of_stdout(files: Path, steelyard) -> None:
    result = steelyard("evaluate", "weights", "t.csv", "a.csv", "-m", "mae", "--ci", "none", "--json")
    assert json.loads(result.stdout)["body"]["scores"]["mae"] | {"units": 2} == {
        "spec": "mae", "label": "Mean absolute error", "value": 22.5, "interval": None, "why": "", "units": 2,
        "undefined": 0, "left_out": "", "notes": [], "better": "lower", "measured_in": "g",
        "why_no_interval": "", "se": None, "df": None, "clusters": 0, "few_labels": None, "runs": None,
        "classes_absent": [], "classes_few": [], "signed": None, "rests_on": None, "unseen": None, "largest_share": None, "largest_unit": "",
    }  # fmt: skip
    assert result.stderr == ""


def test_compare(files: Path, steelyard) -> None:
    result = steelyard("compare", "weights", "t.csv", "a.csv", "b.csv", "-m", "mae", "--json")
    difference = json.loads(result.stdout)["body"]["differences"]["mae"]
    assert difference["difference"] == pytest.approx(3.5 - 22.5)
    assert difference["verdict"] == "cannot be shown"
    table = steelyard("compare", "weights", "t.csv", "a.csv", "b.csv").stdout
    assert "B − A" in table


def test_metrics_explains_every_one(steelyard) -> None:
    listed = steelyard("metrics").stdout
    for task in catalogue.TASKS:
        for metric in catalogue.metrics(task):
            assert str(metric) in listed
    text = steelyard("metrics", "wmae_total").stdout
    for part in ("Σ", "range:", "0 to ∞", "lower is better", "undefined:", "good for:", "beware:", "partial"):
        assert part in text
    data = json.loads(steelyard("metrics", "--task", "sequences", "--json").stdout)
    assert {entry["task"] for entry in data} == {"sequences"}


@pytest.mark.parametrize("task", slow_except(catalogue.TASKS, "labels"))
def test_demo(task: str, tmp_path: Path, steelyard) -> None:
    result = steelyard("demo", task, "--output", "here")
    assert result.returncode == 0, result.stderr
    for name in ("report.html", "result.json", "comparison.html"):
        assert (tmp_path / "here" / task / name).stat().st_size > 1000
    assert str(Path("here") / task / "report.html") in result.stdout
    assert result.stdout.startswith(f"Scoring the sample data of '{task}': model A against the ground truth")
    steps = result.stdout.partition("\nNext:\n")[2]
    assert f"steelyard evaluate {task} truth" in steps
    assert f"steelyard check {task} truth" in steps
    assert ("steelyard instances.json detections.json" in steps) == (task != "boxes")
    assert f"steelyard metrics {task} " in steps
    assert f"steelyard view {Path('here') / task}" in steps


def test_version_help_and_completion(steelyard) -> None:
    assert steelyard("--version").stdout == f"steelyard {version('steelyard')}\n"
    assert "evaluate" in steelyard("--help").stdout
    for shell in ("bash", "zsh", "fish"):
        assert "_STEELYARD_COMPLETE" in steelyard("completion", shell).stdout
    env = {"_STEELYARD_COMPLETE": "bash_complete", "COMP_WORDS": "steelyard evaluate wei", "COMP_CWORD": "2"}
    completed = subprocess.run(
        [sys.executable, "-c", "from steelyard.cli.main import cli; cli(prog_name='steelyard')"],
        env={**__import__("os").environ, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.stdout.strip().endswith("weights")


def test_a_closed_pipe_is_no_error(files: Path) -> None:
    command = [sys.executable, "-m", "steelyard", "metrics"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_import_is_light() -> None:
    code = "import sys, steelyard; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("torch", "pandas", "polars", "pyarrow", "scipy", "sklearn", "click", "PIL"):
        assert f"'{heavy}'" not in loaded
