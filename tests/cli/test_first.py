"""The first minute: `steelyard`, `steelyard FILE FILE`, `steelyard tasks` and `steelyard metrics TASK`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli.commands import TEXTS
from steelyard.cli.first import OVERVIEW
from steelyard.core import catalogue

TRUTH = {
    "images": [{"id": 1}, {"id": 2}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [
        {
            "id": i,
            "image_id": i,
            "category_id": 1,
            "bbox": [0, 0, 10, 10],
            "area": 100,
            "iscrowd": 0,
            "segmentation": [[0, 0, 10, 0, 10, 10, 0, 10]],
        }
        for i in (1, 2)
    ],
}
FOUND = {"image_id": 1, "category_id": 1, "score": 0.9}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.json").write_text(json.dumps(TRUTH))
    (tmp_path / "a.json").write_text(json.dumps([FOUND | {"bbox": [0, 0, 10, 10]}]))
    (tmp_path / "b.json").write_text(json.dumps([FOUND | {"bbox": [0, 0, 10, 10], "image_id": i} for i in (1, 2)]))
    both = FOUND | {"bbox": [0, 0, 10, 10], "segmentation": TRUTH["annotations"][0]["segmentation"]}
    (tmp_path / "both.json").write_text(json.dumps([both]))
    return tmp_path


def test_without_arguments(steelyard) -> None:
    result = steelyard()
    assert (result.returncode, result.stdout, result.stderr) == (0, OVERVIEW + "\n", "")
    for line in OVERVIEW.splitlines():
        if line.startswith("  steelyard "):
            word = line.split()[1]
            assert word in TEXTS or word in ("truth.json", "--help")


def test_two_files_are_evaluated(files: Path, steelyard) -> None:
    result = steelyard("t.json", "a.json", "-m", "recall", "--ci", "none")
    first, second, command, blank, *rest = result.stdout.splitlines()
    assert (result.returncode, blank) == (0, "")
    assert (first.partition(":")[0], second.partition(":")[0]) == ("t.json", "a.json")
    assert command == "Running: steelyard evaluate boxes t.json a.json -m recall --ci none"
    assert "\n".join(rest) + "\n" == steelyard(*command.split()[2:]).stdout
    assert "0.5" in rest[4]  # one of two objects is found


def test_three_files_are_compared(files: Path, steelyard) -> None:
    result = steelyard("t.json", "old=a.json", "new=b.json", "-m", "recall", "--json")
    assert result.stderr.splitlines()[-2:] == [
        "Running: steelyard compare boxes t.json old=a.json new=b.json -m recall --json",
        "",
    ]
    assert json.loads(result.stdout)["body"]["differences"]["recall"]["difference"] == 0.5


def test_options_may_stand_between_files(files: Path, steelyard) -> None:
    result = steelyard("t.json", "--json", "a.json", "-m", "recall", "--ci", "none")
    assert json.loads(result.stdout)["body"]["scores"]["recall"]["value"] == 0.5


def test_what_fits_several_tasks_is_not_run(files: Path, steelyard) -> None:
    result = steelyard("t.json", "both.json", "--ci", "none")
    assert (result.returncode, result.stdout) == (2, "")
    assert "[E-unknown-task]" in result.stderr.splitlines()[0]
    for task in ("boxes", "masks"):
        assert f"  steelyard evaluate {task} t.json both.json --ci none   (" in result.stderr


def test_the_truth_comes_first(files: Path, steelyard) -> None:
    result = steelyard("a.json", "t.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert "  steelyard evaluate boxes t.json a.json   (" in result.stderr


def test_what_fits_no_task(files: Path, steelyard) -> None:
    (files / "t.csv").write_text("dish,weight\n1,2\n")
    (files / "p.csv").write_text("plate,guess\n1,2\n")
    result = steelyard("t.csv", "p.csv")
    assert (result.returncode, result.stdout) == (2, "")
    nearest = "--map prediction.dish=YOUR_COLUMN --map prediction.weight=YOUR_COLUMN"
    assert f"  steelyard evaluate weights t.csv p.csv {nearest}   (" in result.stderr
    (files / "p.doc").write_text("?")
    result = steelyard("p.doc", "p.doc")
    assert (result.returncode, result.stdout) == (2, "")
    assert "steelyard evaluate TASK p.doc p.doc" in result.stderr


def test_urls_are_not_opened(steelyard) -> None:
    result = steelyard("https://example.invalid/t.csv", "p.csv")
    assert (result.returncode, result.stdout) == (2, "")
    assert "[E-unknown-task]" in result.stderr
    assert "steelyard evaluate TASK https://example.invalid/t.csv p.csv" in result.stderr


def test_stored_results(files: Path, steelyard) -> None:
    for name in ("a", "b"):
        steelyard("t.json", f"{name}.json", "-m", "recall", "-o", f"r{name}.json", "--save-influences")
    one, two = steelyard("ra.json"), steelyard("ra.json", "rb.json")
    assert one.stdout.splitlines()[1] == "Running: steelyard report ra.json"
    assert two.stdout.splitlines()[1] == "Running: steelyard compare ra.json rb.json"
    assert one.returncode == two.returncode == 0


def test_a_task_in_the_place_of_a_command(files: Path, steelyard) -> None:
    result = steelyard("detection", "t.json", "a.json", "-m", "recall", "--ci", "none")
    assert result.stdout.splitlines()[0] == "Running: steelyard evaluate boxes t.json a.json -m recall --ci none"
    assert result.returncode == 0
    alone = steelyard("detection")
    assert alone.returncode == 2
    assert "steelyard demo boxes" in alone.stderr


def test_a_file_that_is_missing_and_a_command_that_is_misspelled(files: Path, steelyard) -> None:
    assert "[E-missing-file]" in steelyard("tt.json", "a.json").stderr
    misspelled = steelyard("evalute", "boxes")
    assert misspelled.returncode == 2
    assert "'evaluate'" in misspelled.stderr


def test_a_task_that_is_forgotten_or_misspelled(files: Path, steelyard) -> None:
    for command in ("evaluate", "check"):
        result = steelyard(command, "t.json", "a.json")
        assert result.returncode == 2
        assert f"steelyard {command} TASK t.json" in result.stderr
    result = steelyard("demo", "detction")
    assert result.returncode == 2
    assert "[E-unknown-task]" in result.stderr
    assert "'boxes'" in result.stderr


def test_tasks(steelyard) -> None:
    lines = steelyard("tasks").stdout.splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(catalogue.MODULES)]] == list(catalogue.MODULES)
    assert all(len(line) <= 80 for line in lines[: 2 + len(catalogue.MODULES)])
    rows = json.loads(steelyard("tasks", "--json").stdout)
    assert [row["task"] for row in rows] == list(catalogue.MODULES)
    assert "detection" in rows[2]["synonyms"]


def test_metrics_of_a_task_are_a_short_table(steelyard) -> None:
    for task in catalogue.MODULES:
        lines = steelyard("metrics", task).stdout.splitlines()
        specs = catalogue.TASKS[task].defaults
        assert [line.lstrip("↓↑→01 ")[: len(spec)] for spec, line in zip(specs, lines[3:], strict=False)] == [*specs]
        assert len(lines) <= len(catalogue.TASKS[task].metrics) + len(specs) + 10  # a line for each, and the legend
        for cls in catalogue.TASKS[task].metrics:
            assert any(cls.name in line for line in lines)


def test_metrics_of_a_name(steelyard) -> None:
    assert steelyard("metrics", "boxes", "recall").stdout.startswith("recall  —  Recall")
    assert steelyard("metrics", "detection", "recall").stdout == steelyard("metrics", "boxes", "recall").stdout
    assert steelyard("metrics", "labels", "--task", "boxes").returncode == 2
    assert steelyard("metrics", "detection").stdout == steelyard("metrics", "boxes").stdout  # a metric of losses, too
    assert steelyard("metrics", "losses", "detection").stdout.startswith("detection  —  Detection loss")
    assert "'rankings'" in steelyard("metrics", "weights", "r_precision").stderr
    for words, meant in (
        (("metrics", "bxoes"), "'boxes'"),
        (("metrics", "bxoes", "map"), "'boxes'"),
        (("metrics", "boxes", "precison"), "'precision'"),
    ):
        result = steelyard(*words)
        assert result.returncode == 2
        assert meant in result.stderr
