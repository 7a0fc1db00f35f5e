"""Options of the command line: no name is taken twice, and tasks go by what people call them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest

import steelyard as sy
from steelyard.cli.main import cli
from steelyard.cli.options import TaskCommand
from steelyard.core import catalogue

SAMPLE = Path(str(files("steelyard") / "samples"))
TRUTH, MODEL = str(SAMPLE / "weights" / "truth.csv"), str(SAMPLE / "weights" / "model_a.csv")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


CALLS = [
    (path, task)
    for path, command in commands(cli)
    for task in (catalogue.MODULES if isinstance(command, TaskCommand) else ("",))
]


@pytest.mark.parametrize(("path", "task"), CALLS, ids=lambda part: "-".join(part) if isinstance(part, tuple) else part)
def test_no_option_of_a_command_is_taken_twice(path: tuple[str, ...], task: str) -> None:
    """For every command, and for every task where the task has options of its own."""
    command = dict(commands(cli))[path]
    context = command.context_class(command)
    arguments = [task, "--help"] if task else ["--help"]
    with pytest.raises(click.exceptions.Exit):
        command.parse_args(context, arguments)
    names = [name for param in command.get_params(context) for name in (*param.opts, *param.secondary_opts)]
    assert sorted(names) == sorted(set(names))
    values = [param.name for param in command.get_params(context)]
    assert sorted(map(str, values)) == sorted(set(map(str, values)))


def test_help_shows_one_option_for_each_format(steelyard: Callable[..., Any]) -> None:
    text = steelyard("evaluate", "boxes", "--help-all").stdout
    assert text.count("\n  --format ") == 1
    assert text.count("\n  --figure-format ") == 1
    assert "--format" not in steelyard("evaluate", "weights", "--help-all").stdout.replace("--figure-format", "")


def test_a_task_by_its_synonym_prints_its_own_name(steelyard: Callable[..., Any]) -> None:
    plain = steelyard("evaluate", "weights", TRUTH, MODEL, "-m", "mae", "--ci", "none")
    for task in ("regression", "Weights", "food-weights"):
        done = steelyard("evaluate", task, TRUTH, MODEL, "-m", "MAE", "--ci", "none")
        assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert plain.stdout.startswith("weights: 60 dishes")


def test_a_synonym_has_the_options_of_its_task(steelyard: Callable[..., Any]) -> None:
    for name, task in (("detection", "boxes"), ("obb", "oriented"), ("3d", "boxes3d"), ("mot", "tracking")):
        assert steelyard("evaluate", name, "--help").stdout == steelyard("evaluate", task, "--help").stdout


@pytest.mark.parametrize("command", ["check", "compare", "demo"])
def test_every_command_takes_synonyms(command: str, steelyard: Callable[..., Any]) -> None:
    files_of = {"check": [TRUTH, MODEL], "compare": [TRUTH, MODEL, MODEL, "-m", "mae"], "demo": []}[command]
    done = steelyard(command, "regression", *files_of)
    assert done.returncode == 0, done.stderr
    assert "weights" in done.stdout


def test_synonyms_in_python_are_kept_as_the_task(tmp_path: Path) -> None:
    report = sy.evaluate("regression", TRUTH, MODEL, "MAE", confidence=None)
    assert (report.task, report.request.task) == ("weights", "weights")
    report.to_json(tmp_path / "r.json")
    assert sy.load(tmp_path / "r.json") == report
    assert sy.score("Regression", TRUTH, MODEL, "mean absolute error") == report["mae"].value
    compared = sy.compare("regression", TRUTH, MODEL, MODEL, "MAE", margin={"Mean Absolute Error": 1})
    assert compared.task == "weights"
    assert compared["mae"].margin == 1
    with pytest.raises(sy.InputError, match="there are two margins for 'mae'"):
        sy.compare("weights", TRUTH, MODEL, MODEL, "MAE", margin={"MAE": 1, "mae": 2})
    assert sy.Accumulator("classification").task.name == "labels"
    assert sy.check("regression", TRUTH, MODEL).task == "weights"


def test_the_catalogue_is_asked_in_any_spelling(steelyard: Callable[..., Any]) -> None:
    spelled = steelyard("metrics", "Macro-F1").stdout  # grounding has a metric of that name, too
    assert spelled.startswith(steelyard("metrics", "macro(f1)").stdout + "\nitem_f1")
    assert steelyard("metrics", "--task", "retrieval", "mAP").stdout.startswith("map  —  Mean average precision\n")
    assert steelyard("metrics", "captioning").stdout == steelyard("metrics", "captions").stdout
    refused = steelyard("metrics", "bxoes")
    assert (refused.returncode, refused.stderr) == (
        2,
        "steelyard: there is no metric 'bxoes'. Did you mean the task 'boxes'? [E-unknown-metric]\n",
    )
    assert "'steelyard metrics' lists them all" in steelyard("metrics", "xyzzyq").stderr


def listed(text: str) -> dict[str, list[str]]:
    """The flags of a help text by section, each by its long name."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            name = line.removesuffix(":")
        elif name and (flag := re.match(r"  (?:-\w, )?(--[\w-]+)", line)):
            sections.setdefault(name, []).append(flag[1])
    return sections


def test_help_groups_the_common_options_and_help_all_shows_every_one(steelyard: Callable[..., Any]) -> None:
    common, every = (listed(steelyard("evaluate", "boxes", word).stdout) for word in ("--help", "--help-all"))
    assert list(common) == ["Task options", "Data", "Metrics", "Statistics", "Output", "Help"]
    assert common["Statistics"] == ["--ci", "--cluster", "--draws", "--seed"]
    assert list(every) == [*list(common)[:-1], "Many files", "Help"]
    assert sum(map(len, common.values())) <= 30
    command = dict(commands(cli))[("evaluate",)]
    context = command.context_class(command)
    with pytest.raises(click.exceptions.Exit):
        command.parse_args(context, ["boxes", "--help"])
    shown = {flag for flags in every.values() for flag in flags}
    for param in command.get_params(context):
        assert isinstance(param, click.Argument) or param.hidden or shown & {*param.opts}


def test_an_option_of_the_task_reaches_it_in_every_command(steelyard: Callable[..., Any]) -> None:
    ellipses = [str(SAMPLE / "ellipses" / name) for name in ("truth.csv", "model_a.csv")]
    for words in (["check"], ["evaluate"], ["draw", "--image", "img001.png"]):
        done = steelyard(words[0], "ellipses", *ellipses, *words[1:], "--angle", "gradians")
        assert (done.returncode, "[E-invalid-setting]" in done.stderr) == (2, True), done.stderr


def test_data_files_without_a_task_are_not_taken_for_results(steelyard: Callable[..., Any]) -> None:
    truth, model = (str(SAMPLE / "boxes" / name) for name in ("truth.json", "model_a.json"))
    done = steelyard("compare", truth, model, model)
    assert done.returncode == 2
    assert f"steelyard compare TASK {truth}" in done.stderr
