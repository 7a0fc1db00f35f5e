"""The truth is read once where several models are scored against it, whatever reads it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli.demo import copy_sample
from steelyard.core import catalogue
from steelyard.io.once import of_truth, truth_read_once

TASKS = sorted(catalogue.samples())


@contextlib.contextmanager
def after_first_reading(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` when the first model has been read."""
    done = False

    def progress(stage: str, *_: int) -> None:
        nonlocal done
        if stage == "matching" and not done:
            done = True
            act()

    with sy.use_progress(progress):
        yield
    assert done


def spoil(truth: Path) -> None:
    """Remove a truth; a folder of maps, whose files are read when they are counted, gets one that has no prediction."""
    if not truth.is_dir():
        truth.unlink()
        return
    file = next(path for path in sorted(truth.rglob("*")) if path.is_file())
    ending = "".join(file.suffixes)
    shutil.copy(file, file.with_name(f"unpredicted{ending}"))


@pytest.mark.parametrize("task", TASKS)
def test_truth_is_read_for_the_first_model_only(task: str, tmp_path: Path) -> None:
    sample = catalogue.samples()[task]
    copy_sample(sample, tmp_path)
    truth, a, b = (tmp_path / name for name in (sample.truth, sample.a, sample.b))
    named = {path for path, _ in sample.files}
    options = {name: str(tmp_path / value) if value in named else value for name, value in sample.options.items()}
    metric = catalogue.find_task(task).defaults[0]
    expected = {
        name: sy.evaluate(task, truth, model, metric, confidence=None, options=options).scores
        for name, model in {"A": a, "B": b}.items()
    }
    with after_first_reading(lambda: spoil(truth)):
        lineup = sy.compare(task, truth, {"A": a, "B": b, "C": a}, metrics=metric, draws=100, options=options)
    first, second = lineup.comparisons
    for spec, difference in first.differences.items():
        assert (difference.a.value, difference.b.value) == (expected["A"][spec].value, expected["B"][spec].value)
        assert second.differences[spec].difference == 0


def write_weights(folder: Path) -> tuple[Path, list[Path]]:
    truth = folder / "truth.csv"
    truth.write_text("dish;item;weight\na;0;1,5\nb;0;2,5\nc;0;4,5\n")
    models = [folder / f"{name}.csv" for name in "abcd"]
    for i, model in enumerate(models):
        model.write_text(f"dish,item,weight\na,0,{2 + i}\nb,0,3\nc,0,4\n")
    return truth, models


def test_truth_is_read_once_for_runs_of_two_models(tmp_path: Path) -> None:
    truth, (a, b, c, d) = write_weights(tmp_path)
    with after_first_reading(truth.unlink):
        compared = sy.compare("weights", truth, [a, b], [c, d], "mae", runs="seeds")
    # errors of dish a are 0.5, 1.5, 2.5 and 3.5; those of b and c are 0.5
    assert compared["mae"].a.value == pytest.approx((1.5 / 3 + 2.5 / 3) / 2)
    assert compared["mae"].b.value == pytest.approx((3.5 / 3 + 4.5 / 3) / 2)


def test_notes_on_reading_the_truth_stand_in_the_comparison(tmp_path: Path) -> None:
    truth, models = write_weights(tmp_path)
    lineup = sy.compare("weights", truth, models, metrics="mae", draws=100)
    for comparison in lineup.comparisons:
        assert [note for note in comparison.notes if "decimal commas" in note] == [
            f"{truth}: column 'weight' is read with decimal commas."
        ]


def test_readings_are_shared_inside_the_block_alone() -> None:
    calls = []

    def read(data: str, setting: int) -> list[str]:
        calls.append((data, setting))
        return [data]

    with truth_read_once():
        first = of_truth(read, "a", 1)
        with truth_read_once():
            assert of_truth(read, "a", 1) is first
        assert of_truth(read, "b", 1) == ["b"]
        assert of_truth(read, "a", 1) is first
    assert of_truth(read, "a", 1) is not first
    assert calls == [("a", 1), ("b", 1), ("a", 1)]
