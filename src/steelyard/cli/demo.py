"""`steelyard demo`: the whole way on sample data that comes with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from steelyard import api
from steelyard.cli.options import complete_task, terminal_width
from steelyard.cli.say import say
from steelyard.core.errors import InputError, nearest
from steelyard.io.write import write_text

# The files of a sample, and what to slice by. `b` is a second model's predictions.
SAMPLES: dict[str, dict[str, str]] = {
    "weights": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "cuisine"},
    "sequences": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "food"},
    "losses": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "light"},
    "ellipses": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "scene"},
    "labels": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "light"},
    "rankings": {"truth": "truth.csv", "a": "model_a.run", "b": "model_b.run", "by": "kind"},
    "boxes": {"truth": "truth.json", "a": "model_a.json", "b": "model_b.json", "by": "label"},
    "masks": {"truth": "truth.json", "a": "model_a.json", "b": "model_b.json", "by": "label"},
    "keypoints": {"truth": "truth.json", "a": "model_a.json", "b": "model_b.json", "by": "label"},
    "captions": {"truth": "truth.csv", "a": "model_a.csv", "b": "model_b.csv", "by": "scene"},
}


@click.command()
@click.argument("task", default="weights", shell_complete=complete_task)
@click.option(
    "-o",
    "--output",
    default="steelyard-demo",
    show_default=True,
    metavar="DIR",
    help="Where the report goes.",
)
def demo(task: str, output: str) -> None:
    """Score sample data: print the table, write the report, compare two models."""
    if task == "vlm":
        from steelyard.cli import vlm

        return vlm.demo(Path(output))
    sample = SAMPLES.get(task)
    if sample is None:
        raise InputError(f"there is no sample for '{task}'", remedy=nearest(task, [*SAMPLES, "vlm"]))
    folder = Path(output) / task
    _copy(task, folder)
    truth, a, b = (folder / sample[name] for name in ("truth", "a", "b"))

    say(f"$ steelyard evaluate {task} {truth} {a} --by {sample['by']}\n")
    report = api.evaluate(task, truth, a, by=[sample["by"]])
    say(report.to_text(terminal_width()))
    say(f"\n$ steelyard compare {task} {truth} {a} {b}\n")
    comparison = api.compare(task, truth, a, b)
    say(comparison.to_text(terminal_width()))

    report.to_html(folder / "report.html")
    report.to_json(folder / "result.json")
    comparison.to_html(folder / "comparison.html")
    say(
        f"\nThe report was written to {folder / 'report.html'};\n"
        f"beside it comparison.html, result.json and the data, so that you can run the lines above."
    )


def _copy(task: str, folder: Path) -> None:
    """Lay the sample's files into the folder: the commands shown can then be run by hand."""
    for file in (files("steelyard") / "samples" / task).iterdir():
        if file.is_file():
            write_text(folder / file.name, file.read_text(encoding="utf-8"))
